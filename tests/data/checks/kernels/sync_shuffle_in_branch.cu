// SPDX-License-Identifier: MIT
// run: --grid 1 --block 96 f32[96]=arange f32[3]
/* Sums the first half of each warp, then writes the sum after a barrier. */
__global__ void half_sums(const float *x, float *out)
{
	__shared__ float sums[3];
	int lane = threadIdx.x & 31;
	float v = x[threadIdx.x];
#ifdef FIXED
	const unsigned mask = 0x0000ffffu;
#else
	const unsigned mask = 0xffffffffu;
#endif
	if (lane < 16) {
		for (int d = 8; d > 0; d >>= 1) {
			v += __shfl_down_sync(mask, v, d, 16); // BUG
		}
		if (lane == 0) {
			sums[threadIdx.x >> 5] = v;
		}
	}
	__syncthreads(); // BUG
	if (threadIdx.x < 3) {
		out[threadIdx.x] = sums[threadIdx.x];
	}
}
