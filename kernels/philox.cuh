/* SPDX-License-Identifier: MIT */
/*
 * An array of numbers by Philox.  Blocks have KZ_TILE_SIZE offsets, and chunks.cuh has their loops.
 */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to, kz_i64 count, kz_u64 seed,
	kz_u64 offset, unsigned stream, kz_param a, kz_param b)
{
	const kz_i64 begin = (kz_i64)blockIdx.x * KZ_TILE_SIZE, end = begin + KZ_TILE_SIZE,
		whole = count / KZ_PER;
	KZ_FOR(i, begin, (end < whole ? end : whole)) {
		((kz_numbers *)to)[i] = kz_draw(kz_place{seed, offset + i, stream}, a, b);
	}
	if (count % KZ_PER && whole >= begin && whole < end && threadIdx.x == 0) {
		const kz_numbers last = kz_draw(kz_place{seed, offset + whole, stream}, a, b);
		for (int k = 0; k < count % KZ_PER; k++) {
			to[whole * KZ_PER + k] = last.at[k];
		}
	}
}
