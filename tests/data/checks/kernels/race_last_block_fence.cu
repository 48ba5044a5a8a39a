// SPDX-License-Identifier: MIT
// run: --grid 8 --block 64 f32[512]=1 f32[8] f32[1]
/* The last block to finish adds up what the others left in 'partial'. */
__device__ unsigned ticket;

__global__ void sum(const float *x, float *partial, float *total)
{
	__shared__ float s[64];
	__shared__ bool last;
	int t = threadIdx.x;
	s[t] = x[blockIdx.x * blockDim.x + t];
	__syncthreads();
	for (int d = 32; d > 0; d >>= 1) {
		if (t < d) {
			s[t] += s[t + d];
		}
		__syncthreads();
	}
	if (t == 0) {
		partial[blockIdx.x] = s[0]; // BUG
#ifdef FIXED
		__threadfence();
#endif
		last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
#ifdef FIXED
		__threadfence();
#endif
	}
	__syncthreads();
	if (last && t < gridDim.x) {
		atomicAdd(total, partial[t]); // BUG
	}
}
