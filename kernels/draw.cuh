/* SPDX-License-Identifier: MIT */
/*
 * The numbers of an offset, by kernels/random.cuh.
 *
 * An offset gives KZ_PER numbers of kz_element, the first of them KZ_VALUE with x, which is of
 * kz_work, and the parameters a and b.  The kind of x is KZ_UNIT, KZ_UPPER_UNIT, KZ_NORMAL,
 * KZ_INVERSE_NORMAL, KZ_BELOW or KZ_PLACE.  The place says what the words of the offset are.
 */
struct __align__(sizeof(kz_element) * KZ_PER) kz_numbers {
	kz_element at[KZ_PER];
};

/* A normal number of one word, by the inverse of its distribution; symmetric. */
static __device__ __forceinline__ void kz_inverse_normal(float *out, unsigned word)
{
	const unsigned lower = word >> 31 ? ~word : word;
	const float x = normcdfinvf(((float)lower + 0.5f) * 0x1p-32f);
	*out = word >> 31 ? -x : x;
}

static __device__ __forceinline__ void kz_inverse_normal(double *out, unsigned word)
{
	*out = normcdfinv(((double)word + 0.5) * 0x1p-32);
}

template <class P> __device__ __forceinline__ kz_numbers kz_draw(const P &place, kz_param a,
	kz_param b)
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
#elif defined(KZ_INVERSE_NORMAL)
		kz_inverse_normal(all + i, bits.at[i]);
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
