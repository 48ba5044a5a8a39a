/* SPDX-License-Identifier: MIT */
/*
 * An array of random numbers, by kernels/random.cuh.
 *
 * An offset gives KZ_PER numbers of kz_element, the first of them KZ_VALUE with x, which is of
 * kz_work, and the parameters a and b.  The kind of x is KZ_UNIT, KZ_UPPER_UNIT, KZ_NORMAL,
 * KZ_BELOW or KZ_PLACE.  Blocks have KZ_TILE_SIZE offsets, and chunks.cuh has their loops.
 */
struct __align__(sizeof(kz_element) * KZ_PER) kz_numbers {
	kz_element at[KZ_PER];
};

static __device__ __forceinline__ kz_numbers kz_draw(const kz_place &place, kz_param a, kz_param b)
{
	kz_numbers out;
#if defined(KZ_PLACE)
	out.at[0] = (kz_element)(KZ_VALUE);
#else
	const kz_bits bits = place.bits(0);
	kz_work all[KZ_PER];
#pragma unroll
	for (int i = 0; i < KZ_PER; i++) {
#if defined(KZ_UNIT)
		kz_unit<KZ_DIGITS>(all + i, bits, i);
#elif defined(KZ_UPPER_UNIT)
		kz_upper_unit(all + i, bits, i);
#elif defined(KZ_BELOW)
		all[i] = kz_below(place, kz_join(bits, i), i, (kz_u64)b);
#elif defined(KZ_NORMAL)
		if (i % 2 == 0) {
			kz_normal_pair(all + i, bits, i);
		}
#endif
	}
#pragma unroll
	for (int i = 0; i < KZ_PER; i++) {
		const kz_work x = all[i];
		out.at[i] = (kz_element)(KZ_VALUE);
	}
#endif
	return out;
}

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
