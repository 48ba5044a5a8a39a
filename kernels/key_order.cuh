/* SPDX-License-Identifier: MIT */
/*
 * Elements as keys of a sort: unsigned numbers in the order of the elements.
 *
 * Before this text: kz_bits, the unsigned type of an element's part; KZ_PARTS, 1, or 2 for complex
 * numbers; KZ_ORDER, 0 unsigned, 1 signed, 2 floats, with the bits of infinity in KZ_INFINITY.
 */
typedef long long kz_i64;
#define SIGN ((kz_bits)((kz_bits)1 << (8 * sizeof(kz_bits) - 1)))

struct __align__(KZ_PARTS * sizeof(kz_bits)) kz_key {
	kz_bits part[KZ_PARTS];
};

/* A number in the order of the bits: NaN last, both zeros equal. */
static __device__ inline kz_bits kz_order(kz_bits bits, kz_bits flip)
{
#if KZ_ORDER == 1
	bits = (kz_bits)(bits ^ SIGN);
#elif KZ_ORDER == 2
	const kz_bits size = (kz_bits)(bits & (kz_bits)~SIGN);
	bits = size > (kz_bits)KZ_INFINITY ? (kz_bits)~(kz_bits)0 : size == 0 ? SIGN
		: bits & SIGN ? (kz_bits)~bits : (kz_bits)(bits | SIGN);
#endif
	return (kz_bits)(bits ^ flip);
}

static __device__ inline unsigned kz_is_nan(kz_bits bits)
{
	return (kz_bits)(bits & (kz_bits)~SIGN) > (kz_bits)KZ_INFINITY;
}
