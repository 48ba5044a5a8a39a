/* SPDX-License-Identifier: MIT */
/*
 * XORWOW (Marsaglia, "Xorshift RNGs", 2003) and MRG32k3a (L'Ecuyer, "Good Parameters and
 * Implementations for Combined Multiple Recursive Random Number Generators", 1999): one step, and
 * many.  Both are linear, so 4 * 2^i steps at once are one product.  The host computes a table of
 * these products, KZ_POWERS rows of KZ_SKIP words, from which a thread goes to its offset.
 *
 * XORWOW without its counter is a matrix A over GF(2) with a characteristic polynomial P, and A^n
 * is r(A) with r(x) = x^n mod P (Haramoto, Matsumoto, Nishimura, Panneton and L'Ecuyer, "Efficient
 * Jump Ahead for F2-Linear Random Number Generators", 2008).  A row has the 160 coefficients of r.
 * Of MRG32k3a it has the powers of both matrices.
 */
#define KZ_POWERS 64
#define KZ_BITS 160             /* of XORWOW without its counter */
#define KZ_COUNT_UP 362437
#define KZ_MRG_1 4294967087u
#define KZ_MRG_2 4294944443u

#ifdef __CUDACC_RTC__
#define KZ_BOTH static __device__ __forceinline__
#else
#define KZ_BOTH static inline
#endif

/* XORWOW: five words and the counter.  MRG32k3a: three words of each component, the oldest
 * first. */
struct kz_sequence {
	unsigned at[6];
};

KZ_BOTH unsigned kz_xorwow_next(struct kz_sequence *s)
{
	const unsigned oldest = s->at[0] ^ s->at[0] >> 2, newest = s->at[4];
	s->at[0] = s->at[1];
	s->at[1] = s->at[2];
	s->at[2] = s->at[3];
	s->at[3] = newest;
	s->at[4] = newest ^ newest << 4 ^ oldest ^ oldest << 1;
	s->at[5] += KZ_COUNT_UP;
	return s->at[4] + s->at[5];
}

/* 4 * 2^power steps. */
KZ_BOTH void kz_xorwow_skip(struct kz_sequence *s, const unsigned *row, int power)
{
	struct kz_sequence sum = {{0, 0, 0, 0, 0, 0}};
	sum.at[5] = s->at[5] + (power < 30 ? (unsigned)KZ_COUNT_UP * (4u << power) : 0);
	for (int i = 0; i < KZ_BITS; i++) {
		const unsigned mask = 0u - (row[i / 32] >> i % 32 & 1);
		for (int k = 0; k < 5; k++) {
			sum.at[k] ^= s->at[k] & mask;
		}
		kz_xorwow_next(s);
	}
	*s = sum;
}

/* 1 to KZ_MRG_1 */
KZ_BOTH unsigned kz_mrg_next(struct kz_sequence *s)
{
	const unsigned long long one = 1403580ull * s->at[1] + 810728ull * (KZ_MRG_1 - s->at[0]);
	const unsigned long long two = 527612ull * s->at[5] + 1370589ull * (KZ_MRG_2 - s->at[3]);
	const unsigned x = (unsigned)(one % KZ_MRG_1), y = (unsigned)(two % KZ_MRG_2);
	s->at[0] = s->at[1];
	s->at[1] = s->at[2];
	s->at[2] = x;
	s->at[3] = s->at[4];
	s->at[4] = s->at[5];
	s->at[5] = y;
	return x > y ? x - y : x - y + KZ_MRG_1;
}

KZ_BOTH void kz_mrg_skip(struct kz_sequence *s, const unsigned *row)
{
	const struct kz_sequence old = *s;
	for (int i = 0; i < 6; i++) {
		const unsigned modulus = i < 3 ? KZ_MRG_1 : KZ_MRG_2;
		const unsigned *from = old.at + i / 3 * 3;
		unsigned long long sum = 0;
		for (int k = 0; k < 3; k++) {
			sum += (unsigned long long)row[3 * i + k] * from[k] % modulus;
		}
		s->at[i] = (unsigned)(sum % modulus);
	}
}

#ifdef __CUDACC_RTC__
/* The words of an offset.  Further attempts are Philox's of these words. */
struct kz_sequence_place {
	kz_bits words;

	__device__ __forceinline__ kz_bits bits(unsigned attempt) const
	{
		return attempt ? kz_philox(words, attempt, 0) : words;
	}
};

/* Each thread has a run of offsets. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to, kz_i64 count, kz_sequence state,
	kz_u64 offset, const unsigned *table, kz_param a, kz_param b)
{
	const kz_i64 each = KZ_TILE_SIZE / KZ_THREADS, whole = count / KZ_PER;
	const kz_i64 begin = ((kz_i64)blockIdx.x * KZ_THREADS + threadIdx.x) * each;
	const kz_i64 end = kz_min(begin + each, (count + KZ_PER - 1) / KZ_PER);
	const kz_u64 first = offset + begin;
	if (begin >= end) {
		return;
	}
	for (int i = 0; i < KZ_POWERS && first >> i; i++) {
		if (first >> i & 1) {
			KZ_SKIP_ROW(&state, table + i * KZ_SKIP, i);
		}
	}
	for (kz_i64 i = begin; i < end; i++) {
		kz_sequence_place place;
		for (int k = 0; k < 4; k++) {
			place.words.at[k] = KZ_NEXT(&state);
		}
		const kz_numbers numbers = kz_draw(place, a, b);
		if (i < whole) {
			((kz_numbers *)to)[i] = numbers;
		} else {
			for (int k = 0; k < count % KZ_PER; k++) {
				to[whole * KZ_PER + k] = numbers.at[k];
			}
		}
	}
}
#endif
