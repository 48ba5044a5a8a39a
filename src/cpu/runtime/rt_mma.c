/* SPDX-License-Identifier: MIT */
/* Matrix multiplication (mma, wmma); see rt_mma.h. */
#include "base/common.h"

#include "cpu/ptx/ptx_mma.h"
#include "cpu/runtime/rt_mma.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

/* Room for the largest factors and sums.  Elements are f64, which holds the elements of all types
 * exactly. */
enum { MAX_A = 16 * 256, MAX_B = 256 * 8, MAX_SUMS = 256 };

/* The format of a small float.  `top`: the largest exponent is for infinities and NaNs. */
static double rt_mma_small_float(uint32_t bits, unsigned exponent_bits, unsigned fraction_bits,
	bool top)
{
	int bias = (1 << (exponent_bits - 1)) - 1;
	int exponent = (int)(bits >> fraction_bits & ((1u << exponent_bits) - 1));
	uint32_t fraction = bits & ((1u << fraction_bits) - 1);
	bool negative = bits >> (exponent_bits + fraction_bits) & 1;
	bool last = exponent == (1 << exponent_bits) - 1;
	double value;
	if (last && (top || fraction + 1 == 1u << fraction_bits)) {
		value = fraction == 0 ? (double)INFINITY : (double)NAN;
	} else {
		double digits = fraction + (exponent ? (double)(1u << fraction_bits) : 0);
		value = ldexp(digits, (exponent ? exponent : 1) - bias - (int)fraction_bits);
	}
	return negative ? -value : value;
}

static double rt_mma_real(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof(value));
	return (double)value;
}

/* Read element `index` from the words of one thread. */
static double rt_mma_decode(const struct rt_exchange *x, unsigned lane, unsigned first,
	enum mma_type type, unsigned index)
{
	unsigned bits = mma_bits(type);
	unsigned at = index * bits;
	uint32_t word = x->words[first + at / 32][lane] >> at % 32;
	uint64_t both;
	double wide;
	switch (type) {
	case MMA_F16:
		return rt_mma_small_float(word & 0xffff, 5, 10, true);
	case MMA_BF16:
		return rt_mma_real(word << 16);
	case MMA_TF32:
		return rt_mma_real(word & ~0x1fffu);
	case MMA_F32:
		return rt_mma_real(word);
	case MMA_F64:
		both = word | (uint64_t)x->words[first + at / 32 + 1][lane] << 32;
		memcpy(&wide, &both, sizeof(wide));
		return wide;
	case MMA_E4M3:
		return rt_mma_small_float(word & 0xff, 4, 3, false);
	case MMA_E5M2:
		return rt_mma_small_float(word & 0xff, 5, 2, true);
	case MMA_S32:
		return (int32_t)word;
	case MMA_S8:
		return (int8_t)word;
	case MMA_S4:
		return (int32_t)(word << 28) >> 28;
	default:
		return word & ((1u << bits) - 1);
	}
}

/* PTX does not say which bits a NaN has. */
static uint32_t rt_mma_encode_real(double value)
{
	float rounded = (float)value;
	uint32_t bits;
	memcpy(&bits, &rounded, sizeof(bits));
	return isnan(value) ? 0x7fffffff : bits;
}

/* Round to the nearest, ties to even. */
static uint32_t rt_mma_encode_half(double value)
{
	uint32_t sign = signbit(value) ? 0x8000 : 0;
	if (isnan(value)) {
		return 0x7fff;
	}
	if (isinf(value)) {
		return sign | 0x7c00;
	}
	int exponent = value == 0 ? -14 : ilogb(value);
	if (exponent < -14) {
		exponent = -14;
	}
	if (exponent > 15) {
		return sign | 0x7c00;
	}
	/* the leading digit adds one to the field of the exponent */
	uint32_t digits = (uint32_t)rint(ldexp(fabs(value), 10 - exponent));
	uint32_t bits = digits + ((uint32_t)(exponent + 14) << 10);
	return sign | (bits < 0x7c00 ? bits : 0x7c00);
}

static uint32_t rt_mma_encode_int(double value, bool saturates)
{
	if (saturates) {
		value = fmin(fmax(value, INT32_MIN), INT32_MAX);
	}
	return (uint32_t)(int64_t)value;
}

static void rt_mma_encode(struct rt_exchange *x, unsigned lane, const struct mma *mma,
	unsigned index, double value)
{
	uint32_t bits;
	uint64_t wide;
	switch (mma->types[MMA_D]) {
	case MMA_F16:
		bits = rt_mma_encode_half(value);
		if (index % 2) {
			bits = bits << 16 | (x->words[index / 2][lane] & 0xffff);
		}
		x->words[index / 2][lane] = bits;
		break;
	case MMA_F64:
		memcpy(&wide, &value, sizeof(wide));
		x->words[index * 2][lane] = (uint32_t)wide;
		x->words[index * 2 + 1][lane] = (uint32_t)(wide >> 32);
		break;
	case MMA_F32:
		x->words[index][lane] = rt_mma_encode_real(value);
		break;
	default:
		x->words[index][lane] = rt_mma_encode_int(value, mma->saturates);
		break;
	}
}

/* The threads that work on one product: all, or, of four products at once, every fourth group of
 * four. */
static bool rt_mma_takes_part(const struct mma *mma, unsigned lane, unsigned batch)
{
	return !mma_is_quad(mma) || lane / 4 % 4 == batch;
}

static size_t rt_mma_place_in(const struct mma *mma, enum mma_matrix matrix, unsigned lane,
	unsigned i)
{
	struct mma_place place = mma_place(mma, matrix, lane, i);
	return place.row * (matrix == MMA_A ? mma->k : mma->n) + place.column;
}

/* One of the products of a warp, from the fragments of the threads in `set`. */
struct mma_product {
	const struct rt_exchange *x;
	const struct mma *mma;
	uint32_t set;
	unsigned batch;
};

/* Collect a matrix, row by row, from its fragments, which begin in word `first`.  The elements of a
 * missing thread are zero. */
static void rt_mma_gather(double *out, const struct mma_product *p, enum mma_matrix matrix,
	unsigned first)
{
	const struct mma *mma = p->mma;
	unsigned count = mma_elements(mma, matrix);
	for (unsigned lane = 0; lane < RT_GROUP; lane++) {
		for (unsigned i = 0; i < count && rt_mma_takes_part(mma, lane, p->batch); i++) {
			out[rt_mma_place_in(mma, matrix, lane, i)] = p->set >> lane & 1
				? rt_mma_decode(p->x, lane, first, mma->types[matrix], i) : 0;
		}
	}
}

/* Volatile, for the compiler does not know that the rounding mode matters. */
static double rt_mma_fma(enum mma_round round, volatile double a, volatile double b,
	volatile double c)
{
	static const int modes[] = {[MMA_ZERO] = FE_TOWARDZERO, [MMA_DOWN] = FE_DOWNWARD,
		[MMA_UP] = FE_UPWARD};
	if (round == MMA_NEAREST) {
		return fma(a, b, c);
	}
	int old = fegetround();
	fesetround(modes[round]);
	volatile double sum = fma(a, b, c);
	fesetround(old);
	return sum;
}

/* One element of D from a row of A and a column of B. */
static double rt_mma_product(const struct mma *mma, const double *a, const double *b, double sum)
{
	for (unsigned k = 0; k < mma->k; k++) {
		double left = a[k];
		double right = b[(size_t)k * mma->n];
		switch (mma->types[MMA_A]) {
		case MMA_F64:
			sum = rt_mma_fma(mma->round, left, right, sum);
			break;
		case MMA_B1:
			sum += mma->is_and ? left * right : left != right;
			break;
		default:
			sum += left * right;
			break;
		}
	}
	return sum;
}

static void rt_mma_multiply(const struct mma_product *p, double *d)
{
	const struct mma *mma = p->mma;
	double a[MAX_A];
	double b[MAX_B];
	unsigned words_a = mma_words(mma, MMA_A);
	unsigned words_b = mma_words(mma, MMA_B);
	rt_mma_gather(a, p, MMA_A, 0);
	rt_mma_gather(b, p, MMA_B, words_a);
	rt_mma_gather(d, p, MMA_C, words_a + words_b);
	for (unsigned row = 0; row < mma->m; row++) {
		for (unsigned column = 0; column < mma->n; column++) {
			double *sum = &d[row * mma->n + column];
			*sum = rt_mma_product(mma, &a[(size_t)row * mma->k], &b[column], *sum);
		}
	}
}

void mma_compute(struct rt_exchange *x, uint32_t details, uint32_t set)
{
	struct mma mma = mma_decode(details);
	unsigned count = mma_elements(&mma, MMA_D);
	for (unsigned batch = 0; batch < (mma_is_quad(&mma) ? 4 : 1); batch++) {
		double d[MAX_SUMS];
		rt_mma_multiply(&(struct mma_product){x, &mma, set, batch}, d);
		for (unsigned lane = 0; lane < RT_GROUP; lane++) {
			bool writes = (set >> lane & 1) && rt_mma_takes_part(&mma, lane, batch);
			for (unsigned i = 0; i < count && writes; i++) {
				rt_mma_encode(x, lane, &mma, i,
					d[rt_mma_place_in(&mma, MMA_D, lane, i)]);
			}
		}
	}
}
