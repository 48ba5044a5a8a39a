/* SPDX-License-Identifier: MIT */
#ifndef LIB_ORDER_SORT_H
#define LIB_ORDER_SORT_H

/* What sorts of all kinds share: options, and the way to rows and back. */
#include "lib/core/stream.h"

#include <kudzu/sort.h>
#include <kudzu/view.h>

/* Read a caller's options, which may be NULL, for arrays on a device. */
kz_status sort_options_read(struct kz_stream **stream, int *descending, struct kz_device *dev,
	const kz_sort_options *options, kz_error *err);
/* The array with its axis, which was resolved, moved to the end, as rows without gaps, counted: the
 * array's own memory or a copy.  *moved has the shape in between. */
kz_status sort_take_rows(struct kz_array **out, kz_shape *moved, struct kz_array *array,
	int64_t axis, struct kz_stream *stream, kz_error *err);
/* Check an array and its axis, which becomes one from 0. */
kz_status sort_check_axis(int64_t *axis, const struct kz_array *array,
	const char *call, kz_error *err);
/* Rows back to an array of `shape`, row-major. */
kz_status sort_give_rows(struct kz_array **out, struct kz_array *rows, const kz_shape *moved,
	int64_t axis, const kz_shape *shape, struct kz_stream *stream, kz_error *err);
/* A view of a part of an axis, and of all of the others. */
kz_status sort_slice(kz_array **out, kz_array *array, int64_t axis, kz_slice part, kz_error *err);

#endif
