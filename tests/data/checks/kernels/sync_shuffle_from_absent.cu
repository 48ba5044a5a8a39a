// SPDX-License-Identifier: MIT
// run: --grid 1 --block 64 i32[45]=arange i32[45] i32:45
/* Differences of neighbours; the last element has no neighbour. */
__device__ int neighbour(unsigned mask, int v)
{
	return __shfl_down_sync(mask, v, 1); // BUG
}

__global__ void differences(const int *in, int *out, int n)
{
	__shared__ int first[3];
	int i = threadIdx.x;
	if (i < 3) {
		first[i] = i * 32 < n ? in[i * 32] : 0;
	}
	__syncthreads();
	unsigned mask = __ballot_sync(0xffffffffu, i < n);
	if (i < n) {
		int v = in[i];
#ifdef FIXED
		int lane = i & 31, last = 31 - __clz(mask);
		int next = __shfl_sync(mask, v, lane < last ? lane + 1 : lane);
#else
		int next = neighbour(mask, v);
#endif
		if ((i & 31) == 31) {
			next = first[i / 32 + 1];
		}
		out[i] = next - v;
	}
}
