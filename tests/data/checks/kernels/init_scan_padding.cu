// SPDX-License-Identifier: MIT
// run: --grid 1 --block 64 --shared 512 i32[100]=1 i32[100] i32:100 i32:128
/* Blelloch's exclusive scan of n elements in dynamic shared memory, padded to 'size', a power of two. */
__global__ void scan(const int *in, int *out, int n, int size)
{
	extern __shared__ int s[];
	int t = threadIdx.x;
	for (int i = t; i < size; i += blockDim.x) {
#ifdef FIXED
		s[i] = i < n ? in[i] : 0;
#else
		if (i < n) {
			s[i] = in[i];
		}
#endif
	}
	int offset = 1;
	for (int d = size >> 1; d > 0; d >>= 1) {
		__syncthreads();
		if (t < d) {
			s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1]; // BUG
		}
		offset *= 2;
	}
	if (t == 0) {
		s[size - 1] = 0;
	}
	for (int d = 1; d < size; d *= 2) {
		offset >>= 1;
		__syncthreads();
		if (t < d) {
			int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
			int v = s[left]; // BUG
			s[left] = s[right]; // BUG
			s[right] += v; // BUG
		}
	}
	__syncthreads();
	for (int i = t; i < n; i += blockDim.x) {
		out[i] = s[i];
	}
}
