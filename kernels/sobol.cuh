/* SPDX-License-Identifier: MIT */
/*
 * Points of a Sobol sequence in the order of the Gray code (Antonov and Saleev, 1979): word d of
 * point n is the exclusive or of the direction numbers of dimension d for the bits of n ^ n / 2.
 * The table has 32 of these and a shift for each dimension.  A word is one number.
 */
struct kz_sobol_place {
	kz_bits words;

	__device__ __forceinline__ kz_bits bits(unsigned) const
	{
		return words;
	}
};

extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to, kz_i64 count, kz_i64 dimensions,
	kz_u64 offset, const unsigned *table, kz_param a, kz_param b)
{
	KZ_CHUNK(count);
	KZ_FOR(i, begin, end) {
		const kz_i64 point = kz_divide(i, dimensions);
		const unsigned n = (unsigned)(offset + point);
		const unsigned *row = table + (i - point * dimensions) * 33;
		unsigned word = row[32];
		for (unsigned gray = n ^ n >> 1; gray; gray >>= 1, row++) {
			word ^= gray & 1 ? *row : 0;
		}
		to[i] = kz_draw(kz_sobol_place{kz_bits{{word, 0, 0, 0}}}, a, b).at[0];
	}
}
