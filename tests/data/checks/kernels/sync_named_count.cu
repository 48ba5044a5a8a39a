// SPDX-License-Identifier: MIT
// run: -k group_sum<64> --grid 1 --block 128 i32[128]=arange i32[2]
/* The first two warps sum with a barrier of their own; the others do not take part. */
template <int THREADS>
__device__ void group_sync()
{
	asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory"); // BUG
}

template <int GROUP>
__global__ void group_sum(const int *x, int *out)
{
	__shared__ int s[GROUP];
	int t = threadIdx.x;
	if (t >= GROUP) {
		if (t == GROUP) {
			out[1] = x[GROUP];
		}
		return;
	}
	s[t] = x[t];
#ifdef FIXED
	group_sync<GROUP>();
#else
	group_sync<GROUP + 32>();
#endif
	int sum = 0;
	if (t == 0) {
		for (int j = 0; j < GROUP; j++) {
			sum += s[j];
		}
		out[0] = sum;
	}
}
