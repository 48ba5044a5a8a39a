/* SPDX-License-Identifier: MIT */
#ifndef ORDERED_H
#define ORDERED_H

/* Arrays of every type and content, and a reference for their order: the C library's qsort. */
#include <kudzu/kudzu.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The reference: indexes, sorted by keys as long doubles, and by place where these are equal.  NaN
 * has class 1, or a class for each part of a complex number. */
struct item {
	long double re, im;
	int class;
	int64_t place;
};

static int sign_of_order;

static inline int compare_items(const void *x, const void *y)
{
	const struct item *a = x, *b = y;
	int order = a->class != b->class ? (a->class > b->class) - (a->class < b->class)
		: a->re != b->re ? (a->re > b->re) - (a->re < b->re)
		: (a->im > b->im) - (a->im < b->im);
	return order ? sign_of_order * order : (a->place > b->place) - (a->place < b->place);
}

static inline double half_value(uint16_t bits, bool brain)
{
	if (brain) {
		uint32_t wide = (uint32_t)bits << 16;
		float value;
		memcpy(&value, &wide, 4);
		return value;
	}
	int exponent = bits >> 10 & 31, fraction = bits & 1023;
	double size = exponent == 31 ? (fraction ? NAN : INFINITY)
		: exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
	return bits >> 15 ? -size : size;
}

static inline long double value_of(const void *host, kz_dtype dtype, int64_t i)
{
	switch (dtype) {
	case KZ_I8: return ((const int8_t *)host)[i];
	case KZ_I16: return ((const int16_t *)host)[i];
	case KZ_I32: return ((const int32_t *)host)[i];
	case KZ_I64: return ((const int64_t *)host)[i];
	case KZ_BOOL:
	case KZ_U8: return ((const uint8_t *)host)[i];
	case KZ_U16: return ((const uint16_t *)host)[i];
	case KZ_U32: return ((const uint32_t *)host)[i];
	case KZ_U64: return ((const uint64_t *)host)[i];
	case KZ_F16: return half_value(((const uint16_t *)host)[i], false);
	case KZ_BF16: return half_value(((const uint16_t *)host)[i], true);
	case KZ_F32:
	case KZ_C64: return ((const float *)host)[i];
	default: return ((const double *)host)[i];
	}
}

static inline struct item item_of(const void *host, kz_dtype dtype, int64_t i)
{
	bool pair = dtype == KZ_C64 || dtype == KZ_C128;
	struct item item = {value_of(host, dtype, pair ? 2 * i : i), 0, 0, i};
	item.im = pair ? value_of(host, dtype, 2 * i + 1) : 0;
	item.class = 2 * (isnan(item.re) != 0) + (isnan(item.im) != 0);
	item.re = isnan(item.re) ? 0 : item.re;
	item.im = isnan(item.im) ? 0 : item.im;
	return item;
}

/* What is in the array. */
enum content { RANDOM, SORTED, REVERSED, EQUAL, FEW, SMALL, CLUSTERS, CONTENTS };

static inline uint64_t next_bits(uint64_t *state)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = (*state ^ *state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Any bits: of floats these are NaN of both signs, zeros of both signs, infinities too. */
static inline void fill(unsigned char *host, kz_dtype dtype, int64_t count, enum content content)
{
	static const uint64_t few[4] = {0, UINT64_C(0x8000800080008000),
		UINT64_C(0x7fff7fff7fff7fff), UINT64_C(0xfff3fff3fff3fff3)};
	const bool pair = dtype == KZ_C64 || dtype == KZ_C128;
	const int64_t size = kz_dtype_size(dtype) / (pair ? 2 : 1);
	uint64_t state = dtype * 1000 + content + (uint64_t)count;
	for (int64_t i = 0; i < count * (pair ? 2 : 1); i++) {
		uint64_t random = next_bits(&state);
		uint64_t bits = content == RANDOM ? random : content == SORTED ? (uint64_t)i
			: content == REVERSED ? (uint64_t)(count - i) : content == EQUAL ? 77
			: content == FEW ? few[random % 4] : content == SMALL ? random % 1000
			: UINT64_C(0x4000000000000000) + (random % 100 == 0 ? random >> 2
				: random % 999983);
		bits = dtype == KZ_BOOL ? bits & 1 : bits;
		memcpy(host + i * size, &bits, (size_t)size);
	}
}

#endif
