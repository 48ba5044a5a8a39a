/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_INDEXING_H
#define LIB_OPS_INDEXING_H

/* Indexes from callers, for whoever computes with them. */
#include "lib/ops/expr.h"

#include <kudzu/indexing.h>

/* Check that two arrays are there and on one device, and that the second has integers; `what` says
 * which call, for errors. */
kz_status indexing_check_as(const struct kz_array *array, const struct kz_array *indexes,
	const char *const names[2], const char *what, const char *call, kz_error *err);
/* ... whose parameters of `call` have the variables' names. */
#define indexing_check(array, indexes, what, call, err) \
	indexing_check_as(array, indexes, (const char *const[2]){#array, #indexes}, what, call, err)
/* For calls that wait for what they read in an array: none of it is captured. */
kz_status indexing_check_wait(const struct kz_array *array, struct kz_stream *stream, const char *call,
	kz_error *err);
kz_status indexing_check_mode(kz_index_mode mode, kz_error *err);
/* array.shape[:axis] + indexes.shape + array.shape[axis + 1:] */
kz_status indexing_shape_taken(kz_shape *out, const kz_shape *shape, const kz_shape *indexes,
	int64_t axis, kz_error *err);
/* The indexes as contiguous int64.  For KZ_INDEX_CHECK they are from `low` to before `extent`, else
 * KZ_RANGE; this waits for the stream.  The message says "for `where` of `extent`". */
kz_status indexing_prepare(struct kz_array **out, struct kz_array *indexes, int64_t low,
	int64_t extent, const char *where, kz_index_mode mode, struct kz_stream *stream,
	kz_error *err);

#endif
