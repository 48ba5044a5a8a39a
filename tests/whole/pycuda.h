/* SPDX-License-Identifier: MIT */
#ifndef PYCUDA_H
#define PYCUDA_H

/* What the tests by PyCUDA's names share: a device, random numbers, comparing. */
#include "support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 200000 };

static kz_error err;
static kz_device *dev;
static float a[MANY], b[MANY], want[MANY];

/* Numbers in [0, 1), the same ones every time. */
static inline void draw(float *to, int64_t count, uint32_t seed)
{
	for (int64_t i = 0; i < count; i++) {
		seed = seed * 1664525u + 1013904223u;
		to[i] = (float)(seed >> 8) / (1 << 24);
	}
}

static inline void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open(index);
	draw(a, MANY, 1);
	draw(b, MANY, 2);
}

static inline void teardown(void)
{
	support_close(dev);
}

static inline kz_array *floats(const float *host, int64_t count)
{
	kz_array *array = NULL;
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(count), host, 4 * count, &err));
	return array;
}

static inline kz_array *doubles(const double *host, int64_t count)
{
	kz_array *array = NULL;
	ok(kz_array_from(&array, dev, KZ_F64, KZ_SHAPE(count), host, 8 * count, &err));
	return array;
}

/* The array holds these floats, each within a relative error; it is released. */
static inline void check(kz_array *array, const float *expected, int64_t count, double tolerance)
{
	static float got[MANY];
	int64_t wrong = 0;
	ck_assert_uint_eq(kz_array_dtype(array), KZ_F32);
	ck_assert_int_eq(kz_array_count(array), count);
	ok(kz_array_get(array, got, 4 * count, &err));
	for (int64_t i = 0; i < count; i++) {
		double off = fabs((double)got[i] - (double)expected[i]);
		wrong += !(off <= tolerance * fabs((double)expected[i]))
			&& !(isnan(got[i]) && isnan(expected[i]));
	}
	ck_assert_int_eq(wrong, 0);
	kz_array_release(array);
}

/* The array holds these bytes; it is released. */
static inline void check_bytes(kz_array *array, kz_dtype dtype, const void *expected, int64_t size)
{
	char *got = malloc((size_t)size + 1);
	ck_assert_uint_eq(kz_array_dtype(array), dtype);
	ok(kz_array_get(array, got, size, &err));
	ck_assert_mem_eq(got, expected, (size_t)size);
	free(got);
	kz_array_release(array);
}

static inline void release(kz_array *x, kz_array *y)
{
	kz_array_release(x);
	kz_array_release(y);
}

#endif
