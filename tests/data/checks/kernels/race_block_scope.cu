// SPDX-License-Identifier: MIT
// run: --grid 4 --block 32 i32[128]=random u64[1]
/* Sums positive elements; one atomic operation for each warp. */
__global__ void sum_positive(const int *x, unsigned long long *total)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int v = x[i] > 0 ? x[i] : 0;
	unsigned s = __reduce_add_sync(0xffffffffu, (unsigned)v);
	if ((threadIdx.x & 31) == 0) {
#ifdef FIXED
		atomicAdd(total, (unsigned long long)s);
#else
		atomicAdd_block(total, (unsigned long long)s); // BUG
#endif
	}
}
