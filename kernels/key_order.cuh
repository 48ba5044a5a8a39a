/* SPDX-License-Identifier: MIT */
/*
 * Elements as keys of a sort: unsigned numbers in the order of the elements.
 *
 * Before this text: kz_bits, the unsigned type of an element's part; KZ_PARTS, 1, or 2 for complex
 * numbers.  The order is a value, so that all types of a size share their kernels.
 */
typedef long long kz_i64;
struct kz_order_of {
	unsigned long long floats;   /* all bits for floats, else 0 */
	unsigned long long infinity; /* its bits for floats, else all bits */
	unsigned long long flip;     /* of numbers: the sign but for unsigned ones, and the rest to
	                                descend */
};

#ifdef __CUDACC_RTC__
#define SIGN ((kz_bits)((kz_bits)1 << (8 * sizeof(kz_bits) - 1)))

struct __align__(KZ_PARTS * sizeof(kz_bits)) kz_key {
	kz_bits part[KZ_PARTS];
};

/* The same with the bits that kz_bits has. */
struct kz_ordering {
	kz_bits floats, infinity, flip;
	__device__ kz_ordering(const kz_order_of &order) : floats((kz_bits)order.floats),
		infinity((kz_bits)order.infinity), flip((kz_bits)order.flip) {}
};

/* All bits for a negative float, else 0. */
static __device__ inline kz_bits kz_negative(kz_bits bits, const kz_ordering &order)
{
	return (kz_bits)(0 - (bits >> (8 * sizeof(kz_bits) - 1))) & order.floats;
}

static __device__ inline kz_bits kz_size(kz_bits bits, const kz_ordering &order)
{
	return (kz_bits)(bits & ~(order.floats & SIGN));
}

static __device__ inline unsigned kz_is_nan(kz_bits bits, const kz_ordering &order)
{
	return kz_size(bits, order) > order.infinity;
}

/* A number in the order of the bits: NaN last, both zeros equal. */
static __device__ inline kz_bits kz_order(kz_bits bits, const kz_ordering &order)
{
	const kz_bits size = kz_size(bits, order), negative = kz_negative(bits, order);
	const kz_bits number = (kz_bits)((size ^ negative) - negative);
	return (kz_bits)((size > order.infinity ? (kz_bits)(order.infinity + 1) : number)
		^ order.flip);
}

/* A number in the order of bits that are neither NaN nor zero, and the way back. */
static __device__ inline kz_bits kz_rank(kz_bits bits, const kz_ordering &order)
{
	return (kz_bits)(bits ^ (kz_negative(bits, order) & (kz_bits)~SIGN) ^ order.flip);
}

static __device__ inline kz_bits kz_rank_back(kz_bits rank, const kz_ordering &order)
{
	const kz_bits bits = (kz_bits)(rank ^ order.flip);
	return (kz_bits)(bits ^ (kz_negative(bits, order) & (kz_bits)~SIGN));
}
#endif
