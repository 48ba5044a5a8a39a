// SPDX-License-Identifier: MIT
// run: --grid 1 --block 32 i32[70]=random u32[3] i32[1] i32:70
/* A bit for each odd element, and the number of odd elements. */
__global__ void odd_bits(const int *in, unsigned *bits, int *count, int n)
{
	int lane = threadIdx.x, odd = 0;
#ifdef FIXED
	for (int first = 0; first < n; first += 32) {
		int i = first + lane;
		unsigned m = __ballot_sync(0xffffffffu, i < n && (in[i] & 1));
#else
	for (int i = lane; i < n; i += 32) {
		unsigned m = __ballot_sync(0xffffffffu, in[i] & 1); // BUG
#endif
		if (lane == 0) {
			bits[i / 32] = m;
		}
		odd += (m >> lane) & 1u;
	}
	for (int d = 16; d > 0; d >>= 1) {
		odd += __shfl_xor_sync(0xffffffffu, odd, d); // BUG
	}
	if (lane == 0) {
		*count = odd;
	}
}
