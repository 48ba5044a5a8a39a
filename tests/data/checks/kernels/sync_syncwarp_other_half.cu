// SPDX-License-Identifier: MIT
// run: --grid 1 --block 32,2 f64[64]=arange f64[64]
/* Swaps neighbours in each half of a warp; 'half' is computed from the wrong index. */
__global__ void swap(const double *in, double *out)
{
	__shared__ double s[64];
	int lane = threadIdx.x, i = threadIdx.y * 32 + lane;
#ifdef FIXED
	unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
#else
	unsigned half = i < 16 ? 0x0000ffffu : 0xffff0000u; /* right in the first warp only */
#endif
	s[i] = in[i];
	__syncwarp(half); // BUG
	out[i] = s[i ^ 1];
}
