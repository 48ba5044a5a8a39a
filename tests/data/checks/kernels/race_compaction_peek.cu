// SPDX-License-Identifier: MIT
// run: --grid 4 --block 64 i32[256]=random i32[64] u32[1] u32:64
/* Keeps up to 'room' even elements, in any order. */
__global__ void keep_even(const int *in, int *out, unsigned *count, unsigned room)
{
	int v = in[blockIdx.x * blockDim.x + threadIdx.x];
	if (v & 1) {
		return;
	}
#ifndef FIXED
	if (*count >= room) { // BUG
		return; /* full: do not even try */
	}
#endif
	unsigned at = atomicAdd(count, 1u); // BUG
	if (at < room) {
		out[at] = v;
	}
}
