/* SPDX-License-Identifier: MIT */
/*
 * Matrix multiplication (mma, wmma); see rt_mma.h.
 *
 * Word i of all fragments is an array, with an element of each lane.  It becomes 32 f64 at once,
 * which hold the elements of all types exactly, and these go to their places in a matrix, row by
 * row.  The product takes eight columns at a time, and D goes back in the same way.
 */
#include "base/common.h"

#include "cpu/ptx/ptx_mma.h"
#include "cpu/runtime/rt_half.h"
#include "cpu/runtime/rt_mma.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

/* Room for the largest factors and sums. */
enum { MAX_A = 16 * 256, MAX_B = 256 * 8, MAX_SUMS = 256 };

/* Neighbours in a row, in the registers that any processor has. */
typedef double mma_pair __attribute__((vector_size(16)));
enum { COLUMNS = 8 };

void mma_lay_out(struct mma_layout *out, const struct mma *mma, enum mma_matrix matrix,
	size_t row_step, size_t column_step)
{
	*out = (struct mma_layout){.count = mma_elements(mma, matrix)};
	for (unsigned bit = 1; bit < RT_GROUP; bit *= 2) {
		struct mma_place place = mma_place(mma, matrix, bit, 0);
		size_t step = place.row * row_step + place.column * column_step;
		for (unsigned i = 0; i < bit; i++) {
			out->lanes[bit + i] = out->lanes[i] + step;
		}
	}
	for (unsigned bit = 1; bit < out->count; bit *= 2) {
		struct mma_place place = mma_place(mma, matrix, 0, bit);
		size_t step = place.row * row_step + place.column * column_step;
		for (unsigned i = 0; i < bit; i++) {
			out->elements[bit + i] = out->elements[i] + step;
		}
	}
}

/* --- Elements of 32 lanes --- */

/* Four bits of exponent, three of fraction, and one NaN in place of infinities. */
static double rt_mma_e4m3(uint32_t bits)
{
	uint32_t size = bits & 0x7f;
	float value = size < 0x7f ? rt_bits_float(size << 20) * 0x1p120f : NAN;
	return (double)(bits & 0x80 ? -value : value);
}

static double rt_mma_f64(uint32_t low, uint32_t high)
{
	uint64_t both = low | (uint64_t)high << 32;
	double value;
	memcpy(&value, &both, sizeof(value));
	return value;
}

/* Read element `index` from the words of all lanes, the first of which is given. */
static void rt_mma_decode(double out[RT_GROUP], const uint32_t (*words)[RT_GROUP],
	enum mma_type type, unsigned index)
{
	const unsigned bits = mma_bits(type), at = index * bits, shift = at % 32;
	const uint32_t *word = words[at / 32], most = bits < 32 ? (1u << bits) - 1 : UINT32_MAX;
	uint32_t in[RT_GROUP];
	for (unsigned i = 0; i < RT_GROUP; i++) {
		in[i] = word[i] >> shift & most;
	}
#define EACH(value) \
	for (unsigned i = 0; i < RT_GROUP; i++) { \
		out[i] = value; \
	} \
	break
	switch (type) {
	case MMA_F16:
		EACH((double)rt_bits_float(rt_half_to_float(in[i])));
	case MMA_BF16:
		EACH((double)rt_bits_float(in[i] << 16));
	case MMA_TF32:
		EACH((double)rt_bits_float(in[i] & ~0x1fffu));
	case MMA_F32:
		EACH((double)rt_bits_float(in[i]));
	case MMA_F64:
		EACH(rt_mma_f64(in[i], words[at / 32 + 1][i]));
	case MMA_E4M3:
		EACH(rt_mma_e4m3(in[i]));
	case MMA_E5M2:
		EACH((double)rt_bits_float(rt_half_to_float(in[i] << 8)));
	case MMA_S32:
		EACH((int32_t)in[i]);
	case MMA_S8:
		EACH((int8_t)in[i]);
	case MMA_S4:
		EACH((int32_t)(in[i] << 28) >> 28);
	default:
		EACH((int32_t)in[i]);
	}
#undef EACH
}

/* PTX does not say which bits a NaN has. */
static uint32_t rt_mma_encode_real(double value)
{
	uint32_t bits = rt_float_bits((float)value);
	return isnan(value) ? 0x7fffffff : bits;
}

/* By an f32 that is rounded to odd: the last bit keeps what was lost, and the second rounding is
 * the only one that counts. */
static uint32_t rt_mma_encode_half(double value)
{
	float near = (float)value;
	uint32_t bits = rt_float_bits(near) - (fabs((double)near) > fabs(value));
	return rt_float_to_half(rt_bits_float(bits | ((double)near != value && !isnan(value))));
}

static uint32_t rt_mma_encode_int(double value, bool saturates)
{
	if (saturates) {
		value = value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : value;
	}
	return (uint32_t)(int64_t)value;
}

/* Write element `index` of D to the words of all lanes. */
static void rt_mma_encode(uint32_t (*words)[RT_GROUP], const struct mma *mma, unsigned index,
	const double in[RT_GROUP])
{
	uint64_t wide;
	switch (mma->types[MMA_D]) {
	case MMA_F16:
		for (unsigned i = 0; i < RT_GROUP; i++) {
			uint32_t half = rt_mma_encode_half(in[i]);
			words[index / 2][i] = index % 2 ? half << 16 | words[index / 2][i] : half;
		}
		break;
	case MMA_F64:
		for (unsigned i = 0; i < RT_GROUP; i++) {
			memcpy(&wide, &in[i], sizeof(wide));
			words[index * 2][i] = (uint32_t)wide;
			words[index * 2 + 1][i] = (uint32_t)(wide >> 32);
		}
		break;
	case MMA_F32:
		for (unsigned i = 0; i < RT_GROUP; i++) {
			words[index][i] = rt_mma_encode_real(in[i]);
		}
		break;
	default:
		for (unsigned i = 0; i < RT_GROUP; i++) {
			words[index][i] = rt_mma_encode_int(in[i], mma->saturates);
		}
		break;
	}
}

/* --- Matrices --- */

/* The threads that work on one product: all, or, of four products at once, every fourth group of
 * four. */
static uint32_t rt_mma_part(const struct mma *mma, unsigned batch)
{
	return mma_is_quad(mma) ? 0x000f000fu << 4 * batch : UINT32_MAX;
}

/* One of the products of a warp, from the fragments of the threads in `set`. */
struct mma_product {
	const struct rt_exchange *x;
	const struct mma *mma;
	uint32_t set, part;
};

/* The elements of lanes at their places.  Those of other products have the same places. */
static void rt_mma_place_lanes(double *out, const struct mma_layout *layout, uint32_t part,
	const double in[RT_GROUP])
{
	for (unsigned group = 0; group < RT_GROUP; group += 4) {
		for (unsigned i = group; i < group + 4 && part >> group & 1; i++) {
			out[layout->lanes[i]] = in[i];
		}
	}
}

/* Collect a matrix, row by row, from its fragments, which begin in word `first`.  The elements of a
 * missing thread are zero.  A factor of wmma may have each element several times; the last one
 * counts. */
static void rt_mma_gather(double *out, const struct mma_product *p, enum mma_matrix matrix,
	unsigned first)
{
	struct mma_layout layout;
	mma_lay_out(&layout, p->mma, matrix, matrix == MMA_A ? p->mma->k : p->mma->n, 1);
	unsigned own = layout.count;
	while (own > 1 && layout.elements[own / 2] == 0) {
		own /= 2;
	}
	for (unsigned i = layout.count - own; i < layout.count; i++) {
		double values[RT_GROUP];
		rt_mma_decode(values, &p->x->words[first], p->mma->types[matrix], i);
		for (uint32_t left = ~p->set; left != 0; left &= left - 1) {
			values[__builtin_ctz(left)] = 0;
		}
		rt_mma_place_lanes(&out[layout.elements[i]], &layout, p->part, values);
	}
}

/* Eight columns of a row of D, in order of k.  All elements are there, which the analyzer does not
 * see: NOLINTBEGIN(clang-analyzer-core.*) */
static void rt_mma_add_row(const struct mma *mma, const double *a, const double *b, double *d)
{
	struct {
		mma_pair a, b, c, d;
	} sum, right;
	memcpy(&sum, d, sizeof(sum));
	for (unsigned k = 0; k < mma->k; k++) {
		const mma_pair left = {a[k], a[k]};
		memcpy(&right, &b[(size_t)k * mma->n], sizeof(right));
		sum.a += left * right.a;
		sum.b += left * right.b;
		sum.c += left * right.c;
		sum.d += left * right.d;
	}
	memcpy(d, &sum, sizeof(sum));
}

/* Single bits: how many differ. */
static void rt_mma_count_row(const struct mma *mma, const double *a, const double *b, double *d)
{
	for (unsigned k = 0; k < mma->k; k++) {
		for (unsigned i = 0; i < COLUMNS; i++) {
			d[i] += a[k] != b[(size_t)k * mma->n + i];
		}
	}
}

/* f64.  Volatile, for the compiler does not know that the rounding mode matters. */
static void rt_mma_fuse_row(const struct mma *mma, const double *a, const double *b, double *d)
{
	for (unsigned i = 0; i < COLUMNS; i++) {
		volatile double sum = d[i];
		for (unsigned k = 0; k < mma->k; k++) {
			sum = fma(a[k], b[(size_t)k * mma->n + i], sum);
		}
		d[i] = sum;
	}
}

/* NOLINTEND(clang-analyzer-core.*) */

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
	enum mma_type type = mma->types[MMA_A];
	void (*const row_of)(const struct mma *, const double *, const double *, double *) =
		type == MMA_F64 ? rt_mma_fuse_row
		: type == MMA_B1 && !mma->is_and ? rt_mma_count_row : rt_mma_add_row;
	for (unsigned row = 0; row < mma->m; row++) {
		for (unsigned column = 0; column < mma->n; column += COLUMNS) {
			row_of(mma, &a[(size_t)row * mma->k], &b[column],
				&d[row * mma->n + column]);
		}
	}
}

/* Sums of f64 are rounded as the instruction says, all others to nearest. */
static void rt_mma_multiply_rounded(const struct mma_product *p, double *d)
{
	static const int modes[] = {[MMA_ZERO] = FE_TOWARDZERO, [MMA_DOWN] = FE_DOWNWARD,
		[MMA_UP] = FE_UPWARD};
	if (p->mma->round == MMA_NEAREST) {
		rt_mma_multiply(p, d);
		return;
	}
	int old = fegetround();
	fesetround(modes[p->mma->round]);
	rt_mma_multiply(p, d);
	fesetround(old);
}

/* Give D to its threads, those of the product that are in `set`. */
static void rt_mma_scatter(struct rt_exchange *x, const struct mma_product *p, const double *d)
{
	struct mma_layout layout;
	uint32_t out[RT_WORDS][RT_GROUP] = {{0}};
	mma_lay_out(&layout, p->mma, MMA_D, p->mma->n, 1);
	for (unsigned i = 0; i < layout.count; i++) {
		double values[RT_GROUP];
		for (unsigned lane = 0; lane < RT_GROUP; lane++) {
			values[lane] = d[layout.elements[i] + layout.lanes[lane]];
		}
		rt_mma_encode(out, p->mma, i, values);
	}
	for (unsigned i = 0; i < mma_words(p->mma, MMA_D); i++) {
		for (unsigned lane = 0; lane < RT_GROUP; lane++) {
			x->words[i][lane] = p->set & p->part & 1u << lane ? out[i][lane]
				: x->words[i][lane];
		}
	}
}

void mma_compute(struct rt_exchange *x, uint32_t details, uint32_t set)
{
	struct mma mma = mma_decode(details);
	for (unsigned batch = 0; batch < (mma_is_quad(&mma) ? 4 : 1); batch++) {
		struct mma_product product = {x, &mma, set, rt_mma_part(&mma, batch)};
		double d[MAX_SUMS];
		rt_mma_multiply_rounded(&product, d);
		rt_mma_scatter(x, &product, d);
	}
}
