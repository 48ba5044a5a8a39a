/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SAMPLED_H
#define TESTS_SAMPLED_H

/*
 * Arrays of small numbers that every dtype holds exactly, with any strides: the elements are on the
 * host, row-major, as complex doubles.  For files that include cpu/support/both_shapes.h.
 */
#include "lib/core/dtype.h"
#include "support/suite.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

static uint64_t sampled_state = 1;

static inline int64_t sampled_below(int64_t below)
{
	sampled_state = sampled_state * UINT64_C(6364136223846793005)
		+ UINT64_C(1442695040888963407);
	return (int64_t)(sampled_state >> 33) % below;
}

/* A multiple of 1/8 between -4 and 4, or an integer from 0 to 7. */
static inline double complex sampled_number(kz_dtype dtype)
{
	double real = (double)(sampled_below(65) - 32) / 8;
	if (dtype == KZ_BOOL || dtype_is_unsigned(dtype)) {
		return (double)sampled_below(dtype == KZ_BOOL ? 2 : 8);
	}
	if (dtype_is_exact(dtype)) {
		return (double)(sampled_below(15) - 7);
	}
	return !dtype_is_complex(dtype) ? real : CMPLX(real, (double)(sampled_below(65) - 32) / 8);
}

/* An array of random strides, some negative, in which the elements have gaps. */
static inline kz_array *sampled_room(kz_dtype dtype, const kz_shape *shape)
{
	kz_shape room = *shape;
	kz_slice slices[KZ_MAX_DIMS];
	kz_axes order = {shape->ndim, {0}};
	kz_array *all, *some, *view;
	for (int64_t i = 0; i < shape->ndim; i++) {
		order.items[i] = i;
	}
	for (int64_t i = shape->ndim - 1; i > 0; i--) { /* Fisher and Yates */
		int64_t j = sampled_below(i + 1), kept = order.items[i];
		order.items[i] = order.items[j];
		order.items[j] = kept;
	}
	for (int64_t i = 0; i < shape->ndim; i++) {
		int64_t step = sampled_below(2) + 1;
		bool back = sampled_below(3) == 0;
		room.dims[order.items[i]] = shape->dims[i] * step;
		slices[order.items[i]] = back ? KZ_SLICE(KZ_OMIT, KZ_OMIT, -step)
			: KZ_SLICE(0, KZ_OMIT, step);
	}
	ok(kz_array_zeros(&all, dev, dtype, room, &err));
	ok(kz_array_slice(&some, all, (kz_slices){slices, shape->ndim}, &err));
	ok(kz_array_transpose(&view, some, order, &err));
	release_arrays(all, some);
	return view;
}

/* The elements of `host` as an array of some dtype. */
static inline kz_array *sampled_from(kz_dtype dtype, kz_shape shape, const double complex *host)
{
	kz_array *wide, *converted, *view = sampled_room(dtype, &shape);
	ok(kz_array_from(&wide, dev, KZ_C128, shape, host, 16 * support_count(&shape), &err));
	ok(kz_array_astype(&converted, wide, dtype, &err));
	ok(kz_array_assign(view, converted, &err));
	release_arrays(wide, converted);
	return view;
}

static inline kz_array *sampled_array(kz_dtype dtype, kz_shape shape, double complex *host)
{
	for (int64_t i = 0; i < support_count(&shape); i++) {
		host[i] = sampled_number(dtype);
	}
	return sampled_from(dtype, shape, host);
}

/* The elements of an array are these but for `tolerance`, and its shape is this one. */
static inline void sampled_check(kz_array *array, kz_shape shape, const double complex *want,
	double tolerance)
{
	int64_t count = support_count(&shape);
	double complex *got = malloc((size_t)count * sizeof(*got) + 1);
	kz_array *wide;
	ck_assert_int_eq(kz_array_ndim(array), shape.ndim);
	for (int64_t i = 0; i < shape.ndim; i++) {
		ck_assert_int_eq(kz_array_shape(array).dims[i], shape.dims[i]);
	}
	ok(kz_array_astype(&wide, array, KZ_C128, &err));
	ok(kz_array_get(wide, got, 16 * count, &err));
	for (int64_t i = 0; i < count; i++) {
		ck_assert_msg(cabs(got[i] - want[i]) <= tolerance
			|| (isnan(creal(want[i])) && isnan(creal(got[i]))),
			"element %lld: %.17g %+.17gi, expected %.17g %+.17gi", (long long)i,
			creal(got[i]), cimag(got[i]), creal(want[i]), cimag(want[i]));
	}
	free(got);
	kz_array_release(wide);
}

/* A distance of neighbours of the type's numbers around 1; of complex types, their parts'. */
static inline double sampled_epsilon(kz_dtype dtype)
{
	return dtype == KZ_BF16 ? 0x1p-7 : dtype == KZ_F16 ? 0x1p-10
		: dtype == KZ_F32 || dtype == KZ_C64 ? 0x1p-23 : 0x1p-52;
}

#endif
