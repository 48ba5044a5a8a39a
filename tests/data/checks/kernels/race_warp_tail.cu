// SPDX-License-Identifier: MIT
// run: --grid 2 --block 64 i32[128]=arange i32[2]
/* A reduction whose last steps are in one warp; since Volta a warp does not run in step. */
__device__ void warp_tail(int *s, int t)
{
#ifdef FIXED
	int v = s[t] + s[t + 32];
	for (int d = 16; d > 0; d /= 2) {
		v += __shfl_down_sync(0xffffffffu, v, d);
	}
	s[t] = v;
#else
	s[t] += s[t + 32];
	s[t] += s[t + 16]; // BUG
	s[t] += s[t + 8]; // BUG
	s[t] += s[t + 4]; // BUG
	s[t] += s[t + 2]; // BUG
	s[t] += s[t + 1]; // BUG
#endif
}

__global__ void sum(const int *x, int *out)
{
	__shared__ int s[96];
	int t = threadIdx.x;
	s[t] = x[blockIdx.x * blockDim.x + t];
	if (t < 32) {
		s[t + 64] = 0; /* so that the tail reads no garbage */
	}
	__syncthreads();
	if (t < 32) {
		warp_tail(s, t);
	}
	if (t == 0) {
		out[blockIdx.x] = s[0];
	}
}
