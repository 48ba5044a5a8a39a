// SPDX-License-Identifier: MIT
// run: --grid 2 --block 128 f32[256]=arange f32[256]
/* Half of the block prepares a table of sines, the other half one of cosines. */
__global__ void rotate(const float *angle, float *out)
{
	__shared__ float table[2][64];
	int t = threadIdx.x & 63;
	float a = angle[blockIdx.x * blockDim.x + threadIdx.x];
	if (threadIdx.x < 64) {
		table[0][t] = __sinf(a);
#ifndef FIXED
		__syncthreads(); // BUG
#endif
	} else {
		table[1][t] = __cosf(a);
#ifndef FIXED
		__syncthreads(); // BUG
#endif
	}
#ifdef FIXED
	__syncthreads();
#endif
	out[blockIdx.x * blockDim.x + threadIdx.x] = table[0][t] + table[1][t];
}
