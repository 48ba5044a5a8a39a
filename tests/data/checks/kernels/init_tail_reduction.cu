// SPDX-License-Identifier: MIT
// run: --grid 3 --block 128 f32[300]=1 f32[3] i32:300
/* One sum for each block. */
__global__ void block_sums(const float *x, float *sums, int n)
{
	__shared__ float part[128];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
	part[threadIdx.x] = i < n ? x[i] : 0.0f;
#else
	if (i < n) {
		part[threadIdx.x] = x[i];
	}
#endif
	__syncthreads();
	for (int half = blockDim.x / 2; half > 0; half /= 2) {
		if (threadIdx.x < half) {
			part[threadIdx.x] += part[threadIdx.x + half]; // BUG
		}
		__syncthreads();
	}
	if (threadIdx.x == 0) {
		sums[blockIdx.x] = part[0];
	}
}
