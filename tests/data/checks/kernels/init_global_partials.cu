// SPDX-License-Identifier: MIT
// run: --grid 4 --block 32 f32[100]=1 f32[1] f32[8]=empty u32[1] i32:100
/* Each block writes a partial sum, and the last block to finish adds the partial sums up. */
__global__ void sum_all(const float *x, float *total, float *partial, unsigned *done, int n)
{
	__shared__ bool last;
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = i < n ? x[i] : 0.0f;
	for (int d = 16; d > 0; d >>= 1) {
		v += __shfl_down_sync(0xffffffffu, v, d);
	}
	if (threadIdx.x == 0) {
		partial[blockIdx.x] = v;
		__threadfence();
		last = atomicAdd(done, 1u) == gridDim.x - 1;
		__threadfence();
	}
	__syncthreads();
	if (last && threadIdx.x == 0) {
		float sum = 0.0f;
#ifdef FIXED
		for (int b = 0; b < (int)gridDim.x; b++) {
#else
		for (int b = 0; b <= (int)gridDim.x; b++) {
#endif
			sum += ((volatile float *)partial)[b]; // BUG
		}
		*total = sum;
	}
}
