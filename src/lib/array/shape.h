/* SPDX-License-Identifier: MIT */
#ifndef LIB_ARRAY_SHAPE_H
#define LIB_ARRAY_SHAPE_H

/* Shapes: as text for messages, checked, and with axes that count from either end. */
#include "base/error.h"

#include <kudzu/shape.h>

/* A shape as numpy writes it: "(2, 3)", "(4,)", "()"; a long one ends in "...".  It is a value, so
 * that a message can say shape_text(&shape).text. */
struct shape_text {
	char text[100];
};

struct shape_text shape_text(const kz_shape *shape);

/* Check that there are 0 to KZ_MAX_DIMS extents, each from 0. */
kz_status shape_check(const kz_shape *shape, kz_error *err);
/* The number of elements of a checked shape.  Fails, too, if the bytes of all extents overflow,
 * with 1 for those of 0: a view may have any of these.  `dtype` is for the message. */
kz_status shape_count(int64_t *count, const kz_shape *shape, int64_t element_size,
	const char *dtype, kz_error *err);

static inline bool shape_equal(const kz_shape *a, const kz_shape *b)
{
	bool equal = a->ndim == b->ndim;
	for (int64_t i = 0; i < a->ndim && equal; i++) {
		equal = a->dims[i] == b->dims[i];
	}
	return equal;
}

/* kz_shape_broadcast, of checked shapes. */
kz_status shape_broadcast(kz_shape *out, kz_shape a, kz_shape b, kz_error *err);

/* An axis of a shape, from its end if it is negative, becomes a number from 0. */
kz_status axis_resolve(int64_t *axis, const kz_shape *shape, kz_error *err);
/* The same for a list without repetitions; KZ_ALL_AXES becomes 0, 1, ...  *set, which may be NULL,
 * has bit i for axis i. */
kz_status axes_resolve(kz_axes *axes, uint32_t *set, const kz_shape *shape, kz_error *err);

#endif
