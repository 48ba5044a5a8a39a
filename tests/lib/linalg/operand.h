/* SPDX-License-Identifier: MIT */
#ifndef MATH_OPERAND_H
#define MATH_OPERAND_H

/*
 * Random operands of products, with their elements on the host as complex doubles.
 *
 * Elements are small integers, so that products and sums of them are exact in every type but for
 * the last rounding to a half, and for integers that wrap.
 */
#include "lib/core/dtype.h"
#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t state;

static inline int32_t draw(int32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (int32_t)((state >> 8) % (uint32_t)below);
}

struct operand {
	kz_array *array;
	kz_shape shape;
	double complex *host;
};

/* How an operand lies in memory. */
enum layout_kind { PLAIN, TURNED, BACKWARDS, GAPS, REPEATED, LAYOUTS };

static inline kz_array *operand_base(kz_dtype dtype, kz_shape shape)
{
	int64_t count = support_count(&shape);
	double complex *host = malloc(sizeof(*host) * (size_t)count + 1);
	bool is_unsigned = dtype_is_unsigned(dtype);
	kz_array *wide, *array;
	for (int64_t i = 0; i < count; i++) {
		double re = dtype == KZ_BOOL ? draw(4) == 0 : is_unsigned ? draw(3) : draw(5) - 2;
		host[i] = re + (dtype_is_complex(dtype) ? (draw(5) - 2) * I : 0);
	}
	ok(kz_array_from(&wide, dev, KZ_C128, shape, host, count * (int64_t)sizeof(*host), &err));
	ok(kz_array_astype(&array, wide, dtype, &err));
	kz_array_release(wide);
	free(host);
	return array;
}

/* An operand that lies in memory in this way, where the shape allows it. */
static inline struct operand operand_make(kz_dtype dtype, kz_shape shape, enum layout_kind layout)
{
	struct operand out = {NULL, shape, NULL};
	kz_shape base = shape;
	kz_slice slices[KZ_MAX_DIMS];
	kz_array *array;
	int64_t ndim = shape.ndim;
	for (int64_t i = 0; i < ndim; i++) {
		base.dims[i] = layout == TURNED ? shape.dims[ndim - 1 - i]
			: layout == GAPS && ndim < 5 ? 2 * shape.dims[i]
			: layout == REPEATED && i == ndim / 2 && shape.dims[i] ? 1 : shape.dims[i];
		slices[i] = KZ_SLICE(KZ_OMIT, KZ_OMIT, 2);
	}
	array = operand_base(dtype, base);
	if (layout == TURNED) {
		ok(kz_array_transpose(&out.array, array, KZ_AXES(), &err));
	} else if (layout == BACKWARDS) {
		ok(kz_array_flip(&out.array, array, KZ_ALL_AXES, &err));
	} else if (layout == GAPS && ndim < 5) {
		ok(kz_array_slice(&out.array, array, (kz_slices){slices, ndim}, &err));
	} else {
		ok(kz_array_broadcast_to(&out.array, array, shape, &err));
	}
	kz_array_release(array);
	out.host = support_read(out.array, KZ_C128);
	return out;
}

static inline void operand_free(struct operand *operand)
{
	kz_array_release(operand->array);
	free(operand->host);
}

/* What an exact number becomes in a type: integers wrap, anything but 0 is true. */
static inline bool operand_agrees(kz_dtype dtype, double complex got, double complex want)
{
	double unit = dtype == KZ_F16 ? 0x1p-11 : dtype == KZ_BF16 ? 0x1p-8 : 0;
	if (dtype == KZ_BOOL) {
		return (creal(got) != 0) == (creal(want) != 0);
	}
	if (dtype_is_integer(dtype)) {
		return fmod(creal(got) - creal(want), pow(2, 8.0 * (double)kz_dtype_size(dtype)))
			== 0;
	}
	if (dtype == KZ_F16 && cabs(want) > 65504) {
		return isinf(creal(got)) != 0;
	}
	return cabs(got - want) <= unit * cabs(want);
}

/* The array has this type and shape, and these elements.  `what` says which case it is. */
static inline void operand_expect(kz_array *array, kz_dtype dtype, const kz_shape *shape,
	const double complex *want, const char *what)
{
	kz_shape got = kz_array_shape(array);
	ck_assert_msg(kz_array_dtype(array) == dtype, "%s: expected %s, got %s", what,
		kz_dtype_name(dtype), kz_dtype_name(kz_array_dtype(array)));
	ck_assert_msg(got.ndim == shape->ndim && memcmp(got.dims, shape->dims,
		(size_t)got.ndim * sizeof(got.dims[0])) == 0, "%s: another shape", what);
	double complex *host = support_read(array, KZ_C128);
	for (int64_t i = 0; i < kz_array_count(array); i++) {
		ck_assert_msg(operand_agrees(dtype, host[i], want[i]),
			"%s: element %lld: expected %g%+gi, got %g%+gi", what, (long long)i,
			creal(want[i]), cimag(want[i]), creal(host[i]), cimag(host[i]));
	}
	free(host);
}

#endif
