// SPDX-License-Identifier: MIT
// run: --grid 6 --block 32 f64[192]=random f64[2] i32[1]
/* Keeps the sum and the largest element under one lock. */
struct stats {
	double sum, top;
};

__device__ void lock(int *l)
{
	while (atomicCAS(l, 0, 1) != 0) {
	}
#ifdef FIXED
	__threadfence();
#endif
}

__device__ void unlock(int *l)
{
#ifdef FIXED
	__threadfence();
#endif
	atomicExch(l, 0);
}

__global__ void gather_stats(const double *x, double *out, int *l)
{
	stats *s = (stats *)out;
	double v = x[blockIdx.x * blockDim.x + threadIdx.x], top = v;
	for (int d = 16; d > 0; d >>= 1) {
		v += __shfl_xor_sync(0xffffffffu, v, d);
		top = fmax(top, __shfl_xor_sync(0xffffffffu, top, d));
	}
	if (threadIdx.x == 0) {
		lock(l);
		s->sum += v; // BUG
		s->top = fmax(s->top, top); // BUG
		unlock(l);
	}
}
