// SPDX-License-Identifier: MIT
// run: --grid 1 --block 32,4 u32[128]=arange u32[128]
/* Transposes 4x8 elements in each warp. */
__global__ void shuffle_rows(const unsigned *in, unsigned *out)
{
	__shared__ unsigned s[4][32];
	int lane = threadIdx.x, w = threadIdx.y;
	s[w][lane] = in[w * 32 + lane]; // BUG
#ifdef FIXED
	__syncwarp();
#else
	__syncwarp(lane < 16 ? 0x0000ffffu : 0xffff0000u);
#endif
	out[w * 32 + lane] = s[w][(lane % 4) * 8 + lane / 4]; // BUG
}
