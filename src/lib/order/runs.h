/* SPDX-License-Identifier: MIT */
#ifndef LIB_ORDER_RUNS_H
#define LIB_ORDER_RUNS_H

/* Runs of equal neighbours in a 1-d array without structs. */
#include "lib/core/stream.h"

#include <kudzu/array.h>

/* Where runs begin, and the end of the array after them: contiguous int64.  `differ` is an
 * expression that says whether an element `a` is no more in the run of the one before it, `b`.
 * *marks, unless it is NULL, is True where a run begins.  Waits for the array. */
kz_status runs_find(struct kz_array **out, struct kz_array **marks, struct kz_array *array,
	const char *differ, struct kz_stream *stream, kz_error *err);
/* The first element of each run in another array of the same length. */
kz_status runs_take(struct kz_array **out, struct kz_array *array, struct kz_array *offsets,
	struct kz_stream *stream, kz_error *err);

#endif
