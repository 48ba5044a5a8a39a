// SPDX-License-Identifier: MIT
// run: --grid 4 --block 32 f32[90]=1 f32[4] u32[1] i32:90
/* A barrier of the grid by hand: each block counts itself, then waits for the others. */
__device__ void grid_barrier(unsigned *arrived)
{
	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence();
		atomicAdd(arrived, 1u);
		while (atomicAdd(arrived, 0u) < gridDim.x) { // BUG
		}
		__threadfence();
	}
	__syncthreads();
}

__global__ void smooth(const float *x, float *sums, unsigned *arrived, int n)
{
	int first = blockIdx.x * blockDim.x, i = first + threadIdx.x;
#ifdef FIXED
	bool busy = first < n;
#else
	bool busy = true;
	if (first + (int)blockDim.x > n) {
		return; /* "this block has nothing whole to do" */
	}
#endif
	float v = busy && i < n ? x[i] : 0.0f;
	for (int d = 16; d > 0; d >>= 1) {
		v += __shfl_down_sync(0xffffffffu, v, d);
	}
	if (threadIdx.x == 0) {
		sums[blockIdx.x] = v;
	}
	grid_barrier(arrived);
	if (threadIdx.x == 0) {
		float all = 0.0f;
		for (int b = 0; b < gridDim.x; b++) {
			all += ((volatile float *)sums)[b];
		}
		if (all < 0.0f) {
			printf("negative\n");
		}
	}
}
