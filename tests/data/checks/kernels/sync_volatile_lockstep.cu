// SPDX-License-Identifier: MIT
// run: -k reduce<128> --grid 2 --block 128 i32[256]=1 i32[2]
/* The reduction of the CUDA 4 samples: the last warp has no barriers, only 'volatile'. */
template <unsigned BLOCK>
__global__ void reduce(const int *x, int *out)
{
	__shared__ volatile int s[BLOCK];
	unsigned t = threadIdx.x;
	s[t] = x[blockIdx.x * BLOCK + t];
	__syncthreads();
	if (BLOCK >= 128 && t < 64) {
		s[t] = s[t] + s[t + 64];
	}
	__syncthreads();
#ifdef FIXED
	for (unsigned d = 32; d > 0; d >>= 1) {
		int v = t < d ? s[t + d] : 0;
		__syncthreads();
		if (t < d) {
			s[t] = s[t] + v;
		}
		__syncthreads();
	}
#else
	if (t < 32) {
		s[t] = s[t] + s[t + 32];
		s[t] = s[t] + s[t + 16]; // BUG
		s[t] = s[t] + s[t + 8]; // BUG
		s[t] = s[t] + s[t + 4]; // BUG
		s[t] = s[t] + s[t + 2]; // BUG
		s[t] = s[t] + s[t + 1]; // BUG
	}
#endif
	if (t == 0) {
		out[blockIdx.x] = s[0];
	}
}
