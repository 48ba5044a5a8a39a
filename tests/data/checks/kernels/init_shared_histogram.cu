// SPDX-License-Identifier: MIT
// run: --grid 4 --block 64 u8[1000]=random u32[256] i32:1000
/* Bytes are counted in shared memory first, so that few atomics reach global memory. */
__global__ void bytes_histogram(const unsigned char *data, unsigned *counts, int n)
{
	__shared__ unsigned local[256];
#ifdef FIXED
	for (int b = threadIdx.x; b < 256; b += blockDim.x) {
#else
	for (int b = threadIdx.x; b < 256; b += 2 * blockDim.x) {
#endif
		local[b] = 0;
	}
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		atomicAdd(&local[data[i]], 1u); // BUG
	}
	__syncthreads();
	for (int b = threadIdx.x; b < 256; b += blockDim.x) {
		unsigned c = local[b]; // BUG
		if (c) { // BUG
			atomicAdd(&counts[b], c); // BUG
		}
	}
}
