// SPDX-License-Identifier: MIT
// run: --grid 1 --block 64 i32[200]=random i32[200] i32:200
/* An inclusive scan of 'n' elements, a block's width at a time, by one block. */
__global__ void scan(const int *in, int *out, int n)
{
	__shared__ int s[64];
	__shared__ int carry;
	int t = threadIdx.x;
	if (t == 0) {
		carry = 0;
	}
#ifdef FIXED
	for (int first = 0; first < n; first += blockDim.x) {
		int i = first + t;
#else
	for (int i = t; i < n; i += blockDim.x) {
#endif
		s[t] = i < n ? in[i] : 0;
		__syncthreads(); // BUG
		for (int d = 1; d < 64; d *= 2) {
			int v = t >= d ? s[t - d] : 0;
			__syncthreads(); // BUG
			s[t] += v;
			__syncthreads(); // BUG
		}
		if (i < n) {
			out[i] = s[t] + carry;
		}
		__syncthreads(); // BUG
		if (t == 63) {
			carry += s[63];
		}
		__syncthreads(); // BUG
	}
}
