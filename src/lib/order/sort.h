/* SPDX-License-Identifier: MIT */
#ifndef LIB_ORDER_SORT_H
#define LIB_ORDER_SORT_H

/* What sorts of all kinds share: options, and the way to rows and back. */
#include "lib/array/shape.h"
#include "lib/core/stream.h"

#include <kudzu/sort.h>
#include <kudzu/view.h>

/* Read a caller's options, which may be NULL, for arrays on a device. */
kz_status sort_options_read(struct kz_stream **stream, int *descending, struct kz_device *dev,
	const kz_sort_options *options, kz_error *err);

/* The axis along which a call sorts, and how.  sort_take_rows notes in it how the rows of an array
 * become an array again. */
struct sort_axis {
	int64_t axis;             /* from 0 */
	struct kz_stream *stream;
	int descending;
	int64_t ndim;             /* of the array */
	kz_shape moved;           /* its extents, the axis last; (1) for a 0-d array */
};

/* Check an array and the axis of `along`, which becomes one from 0, and read the options. */
kz_status sort_axis_read(struct sort_axis *along, const struct kz_array *array,
	const kz_sort_options *options, kz_error *err);
/* The options for another sort in the same direction and stream. */
kz_sort_options sort_axis_options(const struct sort_axis *along);
/* The array with its axis moved to the end, as rows without gaps, counted: the array's own memory
 * or a copy. */
kz_status sort_take_rows(struct kz_array **out, struct sort_axis *along, struct kz_array *array,
	kz_error *err);
/* Rows, which may be shorter than those taken, back to a row-major array. */
kz_status sort_give_rows(struct kz_array **out, const struct sort_axis *along,
	struct kz_array *rows, kz_error *err);
/* A view of a part of an axis, and of all of the others. */
kz_status sort_slice(kz_array **out, kz_array *array, int64_t axis, kz_slice part, kz_error *err);

#endif
