/* SPDX-License-Identifier: MIT */
/* See softfloat.h. */
#include "base/common.h"

#include "softfloat.h"

#include <math.h>

typedef unsigned __int128 wide;

const struct soft_format soft_f16 = {10, 5, 15, SOFT_IEEE};
const struct soft_format soft_bf16 = {7, 8, 127, SOFT_IEEE};
const struct soft_format soft_tf32 = {10, 8, 127, SOFT_IEEE};
const struct soft_format soft_f32 = {23, 8, 127, SOFT_IEEE};
const struct soft_format soft_f64 = {52, 11, 1023, SOFT_IEEE};
const struct soft_format soft_e4m3 = {3, 4, 7, SOFT_ONE_NAN};
const struct soft_format soft_e5m2 = {2, 5, 15, SOFT_IEEE};
const struct soft_format soft_e2m3 = {3, 2, 1, SOFT_FINITE};
const struct soft_format soft_e3m2 = {2, 3, 3, SOFT_FINITE};
const struct soft_format soft_e2m1 = {1, 2, 1, SOFT_FINITE};

static uint64_t ones(unsigned count)
{
	return (UINT64_C(1) << count) - 1;
}

/* The bits, without a sign, of the largest number. */
static uint64_t largest(const struct soft_format *format)
{
	uint64_t all = ones(format->exponent + format->fraction);
	return format->top == SOFT_IEEE ? (ones(format->exponent) << format->fraction) - 1
		: format->top == SOFT_ONE_NAN ? all - 1 : all;
}

struct soft soft_decode(const struct soft_format *format, uint64_t bits)
{
	unsigned size = format->exponent + format->fraction;
	uint64_t magnitude = bits & ones(size);
	int exponent = (int)(magnitude >> format->fraction);
	struct soft value = {.negative = bits >> size & 1};
	if (magnitude > largest(format)) {
		value.inf = format->top == SOFT_IEEE && (magnitude & ones(format->fraction)) == 0;
		value.nan = !value.inf;
		return value;
	}
	value.digits = magnitude & ones(format->fraction);
	if (exponent > 0) {
		value.digits |= (wide)1 << format->fraction;
	}
	value.exponent = (exponent ? exponent : 1) - format->bias - (int)format->fraction;
	return value;
}

static int bit_length(wide value)
{
	int length = 0;
	for (; value; value >>= 1) {
		length++;
	}
	return length;
}

/* Digits in units of 2^shift, rounded. */
static uint64_t rounded(struct soft value, int shift, enum soft_round round)
{
	if (shift <= 0) {
		return (uint64_t)(value.digits << -shift);
	}
	wide units = shift > 127 ? 0 : value.digits >> shift;
	wide rest = value.digits - (shift > 127 ? 0 : units << shift);
	bool tie = shift < 128 && rest == (wide)1 << (shift - 1);
	bool above = shift < 128 && rest > (wide)1 << (shift - 1);
	switch (round) {
	case SOFT_NEAREST:
		return (uint64_t)units + (above || (tie && (units & 1)));
	case SOFT_AWAY:
		return (uint64_t)units + (above || tie);
	case SOFT_DOWN:
		return (uint64_t)units + (value.negative && rest);
	case SOFT_UP:
		return (uint64_t)units + (!value.negative && rest);
	default:
		return (uint64_t)units;
	}
}

uint64_t soft_encode(const struct soft_format *format, struct soft value, enum soft_round round,
	bool finite)
{
	int fraction = (int)format->fraction;
	uint64_t sign = (uint64_t)value.negative << (format->exponent + format->fraction);
	uint64_t most = largest(format);
	if (value.nan) {
		return ones(format->exponent + format->fraction);
	}
	if (value.inf) {
		return sign | (most + (format->top == SOFT_IEEE && !finite));
	}
	if (value.digits == 0) {
		return sign;
	}

	int lowest = 1 - format->bias - fraction;
	int place = value.exponent + bit_length(value.digits) - 1 - fraction;
	place = place > lowest ? place : lowest;
	uint64_t units = rounded(value, place - value.exponent, round);
	if (place - lowest > (int)ones(format->exponent)) {
		units = most + 1;
		place = lowest;
	}
	uint64_t code = units + ((uint64_t)(place - lowest) << format->fraction);
	if (code <= most) {
		return sign | code;
	}
	bool inward = round == SOFT_ZERO || round == (value.negative ? SOFT_UP : SOFT_DOWN);
	return sign | (most + (format->top == SOFT_IEEE && !finite && !inward));
}

/* The sum of two terms of which `big` has the larger exponent. */
static struct soft add_aligned(struct soft big, struct soft small)
{
	int room = 120 - bit_length(big.digits);
	int gap = big.exponent - small.exponent;
	int shift = gap < room ? gap : room;
	wide digits = small.digits;
	big.digits <<= shift;
	big.exponent -= shift;
	if (gap > shift) {
		/* One digit more, for all that the smaller one has below. */
		int rest = gap - shift < 127 ? gap - shift : 127;
		wide kept = digits >> rest;
		digits = kept << 1 | (digits != kept << rest);
		big.digits <<= 1;
		big.exponent--;
	}
	if (big.negative == small.negative) {
		big.digits += digits;
	} else if (big.digits >= digits) {
		big.digits -= digits;
		big.negative = big.digits ? big.negative : false;
	} else {
		big.digits = digits - big.digits;
		big.negative = small.negative;
	}
	return big;
}

struct soft soft_add(struct soft a, struct soft b)
{
	if (a.nan || b.nan || (a.inf && b.inf && a.negative != b.negative)) {
		return (struct soft){.nan = true};
	}
	if (a.inf || b.inf) {
		return a.inf ? a : b;
	}
	if (a.digits == 0 && b.digits == 0) {
		a.negative = a.negative && b.negative;
		return a;
	}
	if (a.digits == 0 || b.digits == 0) {
		return a.digits ? a : b;
	}
	return a.exponent > b.exponent ? add_aligned(a, b) : add_aligned(b, a);
}

struct soft soft_mul(struct soft a, struct soft b)
{
	bool a_zero = !a.inf && a.digits == 0, b_zero = !b.inf && b.digits == 0;
	struct soft product = {.negative = a.negative != b.negative,
		.nan = a.nan || b.nan || (a.inf && b_zero) || (b.inf && a_zero),
		.inf = a.inf || b.inf};
	if (!product.nan && !product.inf) {
		product.digits = a.digits * b.digits;
		product.exponent = a.exponent + b.exponent;
	}
	return product;
}

struct soft soft_neg(struct soft a)
{
	a.negative = !a.negative;
	return a;
}

double soft_double(struct soft a)
{
	double size = a.nan ? NAN : a.inf ? INFINITY : ldexp((double)a.digits, a.exponent);
	return a.negative ? -size : size;
}
