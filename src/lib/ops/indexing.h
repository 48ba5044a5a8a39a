/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_INDEXING_H
#define LIB_OPS_INDEXING_H

/* Indexes from callers, for functions that compute with them. */
#include "lib/ops/expr.h"

#include <kudzu/indexing.h>

/* Check that two arrays are there and on one device, and that the second has integers; `what` says
 * which operation, for errors. */
kz_status indexing_check_as(const struct kz_array *array, const struct kz_array *indexes,
	const char *const names[2], const char *what, kz_error *err);
/* ... that are parameters of the variables' names. */
#define indexing_check(array, indexes, what, err) \
	indexing_check_as(array, indexes, (const char *const[2]){#array, #indexes}, what, err)
/* For calls that wait for what they read in an array: none of it is captured. */
kz_status indexing_check_wait(const struct kz_array *array, struct kz_stream *stream,
	kz_error *err);
kz_status indexing_check_mode(kz_index_mode mode, kz_error *err);
/* array.shape[:axis] + indexes.shape + array.shape[axis + 1:] */
kz_status indexing_shape_taken(kz_shape *out, const kz_shape *shape, const kz_shape *indexes,
	int64_t axis, kz_error *err);

/* What indexes may be: from `low` to before `extent`. */
struct index_range {
	int64_t low, extent;
	char where[48];      /* a message says "for `where` of `extent`" */
	kz_index_mode mode;  /* what becomes of the others */
};

/* Those along an axis of so many elements. */
struct index_range indexing_range(int64_t axis, int64_t extent, kz_index_mode mode);
/* The indexes as contiguous int64.  For KZ_INDEX_CHECK they are in the range, else KZ_RANGE; this
 * waits for the stream. */
kz_status indexing_prepare(struct kz_array **out, struct kz_array *indexes,
	const struct index_range *range, struct kz_stream *stream, kz_error *err);
/* The elements, converted and broadcast to a shape, in row-major order without gaps. */
kz_status indexing_spread(struct kz_array **out, struct kz_array *array, kz_dtype dtype,
	const kz_shape *shape, struct kz_stream *stream, kz_error *err);

/* One call that reads or writes the elements of an array that indexes name. */
struct indexing {
	const char *call;
	struct kz_array *array, *indexes;
	int64_t axis;
	kz_index_mode mode;
	struct index_range range;    /* set by a check */
	struct kz_stream *stream;    /* NULL until a check: the device's own */
};

/* A call has three steps: check it, make its indexes ready by indexing_prepare, do it.  The values
 * of the last step are contiguous and have the array's dtype. */
kz_status indexing_check_take(struct indexing *taking, kz_error *err);
kz_status indexing_take_checked(struct kz_array **out, const struct indexing *taking,
	struct kz_array *places, kz_error *err);
kz_status indexing_check_put(struct indexing *putting, const struct kz_array *values,
	kz_error *err);
kz_status indexing_put_checked(const struct indexing *putting, struct kz_array *places,
	struct kz_array *values, kz_error *err);

#endif
