/* SPDX-License-Identifier: MIT */
#ifndef LIB_ARRAY_STRIDED_H
#define LIB_ARRAY_STRIDED_H

/* Elements at strides, on a device or on the host: where they lie, and moving those of the host. */
#include "base/error.h"

#include <kudzu/shape.h>

/* Elements of `size` bytes; strides are in bytes, one for each extent.  The shape was checked. */
struct strided {
	kz_shape shape;
	const int64_t *strides;
	int64_t size;
};

/* Row-major strides.  An extent of 0 counts as 1, so that they stay meaningful.  A stride beyond 64
 * bits is INT64_MAX: of a shape that has it, no other check accepts an element there. */
void strided_row_major(int64_t strides[KZ_MAX_DIMS], const kz_shape *shape, int64_t size);
/* The bytes that the elements cover, from the first one's address: [low, high).  False if they do
 * not fit in 64 bits. */
bool strided_span(int64_t *low, int64_t *high, const struct strided *elements);
/* Check that all elements lie in bytes 0 to `end`, if the first one is at byte `offset`.  The
 * message counts from `base` and says "`what` within bytes 0 to 96 of `of`". */
struct strided_bounds {
	int64_t end;
	int64_t base;
	const char *what;
	const char *of;
};
kz_status strided_check(const struct strided *elements, int64_t offset,
	const struct strided_bounds *bounds, kz_error *err);
/* The trailing extents whose elements lie row-major without gaps, as a number of bytes; *outer is
 * set to how many extents are left. */
int64_t strided_run(const struct strided *elements, int64_t *outer);
/* Check that no two elements share memory, so that they can be written.  The message begins "cannot
 * set `what` whose ..." */
kz_status strided_distinct(const struct strided *elements, const char *what, kz_error *err);
/* Copy elements to places with other strides; neither overlaps the other. */
void strided_copy(const struct strided *elements, char *to, const int64_t *to_strides,
	const char *from);

/* Extents with the strides of several operands; one place is free, to move others there. */
enum { STRIDED_ROOM = KZ_MAX_DIMS + 1 };
struct strided_axes {
	int64_t *dims;
	int64_t (*strides)[STRIDED_ROOM]; /* of each operand */
	int operands;
	bool *kinds;                      /* those of two kinds are not merged; may be NULL */
};
/* Drop extents of 1, and merge neighbours that are one run for every operand.  Returns how many of
 * `ndim` are left. */
int strided_merge(const struct strided_axes *axes, int ndim);

#endif
