/* SPDX-License-Identifier: MIT */
#ifndef LIB_ARRAY_VIEW_H
#define LIB_ARRAY_VIEW_H

/* How views are made; see view.c. */
#include "lib/array/array.h"

/* Make `view` a draft of all of the array, as it is.  It holds no reference: drop it, or give it to
 * view_end. */
void view_draft(struct kz_array *view, const struct kz_array *array);
/* Check the arguments that every view has, and make `view` a draft. */
kz_status view_begin(struct kz_array *view, struct kz_array **out, const struct kz_array *array,
	const char *call, kz_error *err);
/* Make a view of the draft's dtype, offset, shape and strides; its count is computed here. */
kz_status view_end(struct kz_array **out, const struct kz_array *view,
	const struct kz_array *array, kz_error *err);

/* Numbers of extents below 2 may be any: they are computed without harm. */
static inline int64_t wrap_mul(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

static inline int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Keep `count` elements of an axis of a draft, every step-th from `start` on; those must exist.  If
 * there are none, view_end drops their offset. */
static inline void view_keep(struct kz_array *view, int64_t axis, int64_t start, int64_t step,
	int64_t count)
{
	view->offset = wrap_add(view->offset, wrap_mul(start, view->strides[axis]));
	view->strides[axis] = wrap_mul(view->strides[axis], step);
	view->shape.dims[axis] = count;
}

/* Let an axis of one element go. */
static inline void view_drop(struct kz_array *view, int64_t axis)
{
	view->shape.ndim--;
	for (int64_t i = axis; i < view->shape.ndim; i++) {
		view->shape.dims[i] = view->shape.dims[i + 1];
		view->strides[i] = view->strides[i + 1];
	}
}

#endif
