/* SPDX-License-Identifier: MIT */
/*
 * Views: a new shape, new strides and a new offset over the memory of an array.
 *
 * Each function copies its array into a draft, changes that, and hands it out.  The elements of a
 * draft are elements of the array, which lie in its buffer, so they need no check.  Strides of
 * extents below 2 are an exception: they may be any number (kz_array_view), so they are computed
 * with wrapping.
 *
 * Parts of an axis are in slice.c, new shapes for the same elements in lib/ops/reshape.c.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/array/shape.h"
#include "lib/array/view.h"

#include <kudzu/view.h>

/* Drafts */

void view_draft(struct kz_array *view, const struct kz_array *array)
{
	view->tag = OBJECT_ARRAY;
	view->buffer = array->buffer;
	view->dtype = array->dtype;
	view->offset = array->offset;
	view->shape = array->shape;
	memcpy(view->strides, array->strides, sizeof(view->strides));
	view->count = array->count;
}

kz_status view_begin(struct kz_array *view, struct kz_array **out, const struct kz_array *array,
	const char *call, kz_error *err)
{
	kz_status st;
	if ((st = out_check(out, sizeof(*out), call, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))) {
		return st;
	}
	view_draft(view, array);
	return KZ_OK;
}

kz_status view_end(struct kz_array **out, const struct kz_array *view,
	const struct kz_array *array, kz_error *err)
{
	int64_t count;
	kz_status st = shape_count(&count, &view->shape, kz_dtype_size(view->dtype),
		kz_dtype_name(view->dtype), err);
	if (st) {
		return st;
	}
	struct kz_array *made = mem_zalloc(1, sizeof(*made));
	if (!made) {
		return error_no_memory(err);
	}
	made->tag = OBJECT_ARRAY;
	atomic_init(&made->refs, 1);
	made->buffer = buffer_retain(array->buffer);
	made->dtype = view->dtype;
	/* No elements are nowhere: an offset for them might lie outside the buffer. */
	made->offset = count ? view->offset : array->offset;
	made->shape = view->shape;
	memcpy(made->strides, view->strides, sizeof(made->strides));
	made->count = count;
	made->is_plain = array_is_contiguous(made);
	object_give(made, array_device(made));
	*out = made;
	return KZ_OK;
}

/* Any shape and strides */

kz_status kz_array_view(kz_array **out, kz_array *array, kz_shape shape, const int64_t *strides,
	int64_t offset, kz_error *err)
{
	error_scope(err);
	struct kz_array view;
	kz_status st;
	if ((st = view_begin(&view, out, array, __func__, err))
	    || (st = shape_check(&shape, err))) {
		return st;
	}
	view.shape = shape;
	strided_row_major(view.strides, &shape, kz_dtype_size(view.dtype));
	if (strides) {
		memcpy(view.strides, strides, (size_t)shape.ndim * sizeof(*strides));
	}
	if (__builtin_add_overflow(array->offset, offset, &view.offset)) {
		return error_set(err, KZ_RANGE, "an offset of %lld bytes overflows",
			(long long)offset);
	}
	const struct strided elements = array_elements(&view);
	const struct strided_bounds bounds = {
		array->buffer->size, array->offset, "a view", "the array"};
	st = strided_check(&elements, view.offset, &bounds, err);
	return st ? st : view_end(out, &view, array, err);
}

kz_status kz_array_broadcast_to(kz_array **out, kz_array *array, kz_shape shape, kz_error *err)
{
	error_scope(err);
	struct kz_array view;
	kz_status st;
	if ((st = view_begin(&view, out, array, __func__, err))
	    || (st = shape_check(&shape, err))) {
		return st;
	}
	int64_t added = shape.ndim - array->shape.ndim;
	bool fits = added >= 0;
	view.shape = shape;
	for (int64_t i = 0; fits && i < shape.ndim; i++) {
		int64_t extent = i < added ? 1 : array->shape.dims[i - added];
		bool repeated = i < added || (extent == 1 && shape.dims[i] != 1);
		view.strides[i] = repeated ? 0 : array->strides[i - added];
		fits = extent == 1 || extent == shape.dims[i];
	}
	if (!fits) {
		return error_set(err, KZ_INVALID, "shape %s does not broadcast to %s",
			shape_text(&array->shape).text, shape_text(&shape).text);
	}
	return view_end(out, &view, array, err);
}

/* The order of axes */

/* The axes of the draft become those that `order` lists, all of them. */
static void view_permute(struct kz_array *view, const struct kz_array *array, const kz_axes *order)
{
	for (int64_t i = 0; i < order->count; i++) {
		view->shape.dims[i] = array->shape.dims[order->items[i]];
		view->strides[i] = array->strides[order->items[i]];
	}
}

kz_status kz_array_transpose(kz_array **out, kz_array *array, kz_axes order, kz_error *err)
{
	error_scope(err);
	struct kz_array view;
	kz_status st = view_begin(&view, out, array, __func__, err);
	if (st) {
		return st;
	}
	if (order.count == 0) {
		order.count = array->shape.ndim;
		for (int64_t i = 0; i < order.count; i++) {
			order.items[i] = order.count - 1 - i;
		}
	}
	if ((st = axes_resolve(&order, NULL, &array->shape, err))) {
		return st;
	}
	if (order.count != array->shape.ndim) {
		return error_set(err, KZ_INVALID, "expected %lld axes for shape %s, got %lld",
			(long long)array->shape.ndim, shape_text(&array->shape).text,
			(long long)order.count);
	}
	view_permute(&view, array, &order);
	return view_end(out, &view, array, err);
}

kz_status kz_array_swapaxes(kz_array **out, kz_array *array, int64_t a, int64_t b, kz_error *err)
{
	error_scope(err);
	struct kz_array view;
	kz_status st;
	if ((st = view_begin(&view, out, array, __func__, err))
	    || (st = axis_resolve(&a, &array->shape, err))
	    || (st = axis_resolve(&b, &array->shape, err))) {
		return st;
	}
	view.shape.dims[a] = array->shape.dims[b];
	view.shape.dims[b] = array->shape.dims[a];
	view.strides[a] = array->strides[b];
	view.strides[b] = array->strides[a];
	return view_end(out, &view, array, err);
}

kz_status kz_array_moveaxis(kz_array **out, kz_array *array, kz_axes from, kz_axes to,
	kz_error *err)
{
	error_scope(err);
	struct kz_array view;
	uint32_t moved, taken;
	kz_status st;
	if ((st = view_begin(&view, out, array, __func__, err))
	    || (st = axes_resolve(&from, &moved, &array->shape, err))
	    || (st = axes_resolve(&to, &taken, &array->shape, err))) {
		return st;
	}
	if (from.count != to.count) {
		return error_set(err, KZ_INVALID, "cannot move %lld axes to %lld positions",
			(long long)from.count, (long long)to.count);
	}
	kz_axes order = {.count = array->shape.ndim};
	for (int64_t i = 0; i < from.count; i++) {
		order.items[to.items[i]] = from.items[i];
	}
	/* The others keep their order in the places that are left. */
	int64_t axis = 0;
	for (int64_t place = 0; place < order.count; place++) {
		if (!(taken >> place & 1)) {
			while (moved >> axis & 1) {
				axis++;
			}
			order.items[place] = axis++;
		}
	}
	view_permute(&view, array, &order);
	return view_end(out, &view, array, err);
}

kz_status kz_array_flip(kz_array **out, kz_array *array, kz_axes axes, kz_error *err)
{
	error_scope(err);
	struct kz_array view;
	kz_status st;
	if ((st = view_begin(&view, out, array, __func__, err))
	    || (st = axes_resolve(&axes, NULL, &array->shape, err))) {
		return st;
	}
	for (int64_t i = 0; i < axes.count; i++) {
		int64_t extent = array->shape.dims[axes.items[i]];
		view_keep(&view, axes.items[i], extent - 1, -1, extent);
	}
	return view_end(out, &view, array, err);
}

/* Axes of one element */

kz_status kz_array_squeeze(kz_array **out, kz_array *array, kz_axes axes, kz_error *err)
{
	error_scope(err);
	struct kz_array view;
	uint32_t gone;
	bool all = axes.count == KZ_ALL_AXES.count;
	kz_status st;
	if ((st = view_begin(&view, out, array, __func__, err))
	    || (st = axes_resolve(&axes, &gone, &array->shape, err))) {
		return st;
	}
	view.shape.ndim = 0;
	for (int64_t i = 0; i < array->shape.ndim; i++) {
		int64_t extent = array->shape.dims[i];
		if (extent == 1 && gone >> i & 1) {
			continue;
		}
		if (!all && gone >> i & 1) {
			return error_set(err, KZ_INVALID,
				"cannot squeeze axis %lld of shape %s: its extent is %lld",
				(long long)i, shape_text(&array->shape).text, (long long)extent);
		}
		view.strides[view.shape.ndim] = array->strides[i];
		view.shape.dims[view.shape.ndim++] = extent;
	}
	return view_end(out, &view, array, err);
}

kz_status kz_array_expand(kz_array **out, kz_array *array, kz_axes axes, kz_error *err)
{
	error_scope(err);
	struct kz_array view;
	uint32_t added;
	kz_status st = view_begin(&view, out, array, __func__, err);
	if (st) {
		return st;
	}
	if (axes.count < 0 || axes.count > KZ_MAX_DIMS - array->shape.ndim) {
		return error_set(err, KZ_INVALID, "cannot add %lld axes to shape %s, at most %lld",
			(long long)axes.count, shape_text(&array->shape).text,
			(long long)(KZ_MAX_DIMS - array->shape.ndim));
	}
	/* In messages the new axes follow the array's. */
	for (int64_t i = 0; i < axes.count; i++) {
		view.shape.dims[view.shape.ndim++] = 1;
	}
	if ((st = axes_resolve(&axes, &added, &view.shape, err))) {
		return st;
	}
	for (int64_t i = 0, axis = 0; i < view.shape.ndim; i++) {
		bool is_new = added >> i & 1;
		view.shape.dims[i] = is_new ? 1 : array->shape.dims[axis];
		view.strides[i] = is_new ? 0 : array->strides[axis];
		axis += !is_new;
	}
	return view_end(out, &view, array, err);
}

kz_status kz_array_diagonal(kz_array **out, kz_array *array, int64_t offset, int64_t a, int64_t b,
	kz_error *err)
{
	error_scope(err);
	struct kz_array view;
	kz_status st;
	if ((st = view_begin(&view, out, array, __func__, err))
	    || (st = axis_resolve(&a, &array->shape, err))
	    || (st = axis_resolve(&b, &array->shape, err))) {
		return st;
	}
	if (a == b) {
		return error_set(err, KZ_INVALID, "expected two different axes for a diagonal, got "
			"axis %lld twice",
			(long long)a);
	}
	int64_t rows = array->shape.dims[a], columns = array->shape.dims[b];
	int64_t down = offset < 0 ? (offset < -rows ? rows : -offset) : 0;
	int64_t right = offset > 0 ? (offset > columns ? columns : offset) : 0;
	int64_t count = rows - down < columns - right ? rows - down : columns - right;
	kz_axes order = {.count = 0};
	for (int64_t i = 0; i < array->shape.ndim; i++) {
		if (i != a && i != b) {
			order.items[order.count++] = i;
		}
	}
	view_permute(&view, array, &order);
	view.offset = wrap_add(view.offset, wrap_add(wrap_mul(down, array->strides[a]),
		wrap_mul(right, array->strides[b])));
	view.shape.ndim = order.count + 1;
	view.shape.dims[order.count] = count;
	view.strides[order.count] = wrap_add(array->strides[a], array->strides[b]);
	return view_end(out, &view, array, err);
}

/* Other element types */

/* Elements of another size: the last axis takes it up. */
static kz_status view_resize_elements(struct kz_array *view, int64_t size, kz_error *err)
{
	int64_t old = kz_dtype_size(view->dtype);
	int64_t axis = view->shape.ndim - 1;
	const char *name = kz_dtype_name(view->dtype);
	if (axis < 0) {
		return error_set(err, KZ_INVALID,
			"cannot view a single %s of %lld bytes as an element of %lld", name,
			(long long)old, (long long)size);
	}
	int64_t extent = view->shape.dims[axis];
	if (extent != 1 && view->count != 0 && view->strides[axis] != old) {
		return error_set(err, KZ_INVALID,
			"expected a last axis without gaps, stride %lld for %s, got %lld",
			(long long)old, name, (long long)view->strides[axis]);
	}
	/* A smaller element must divide each old one, a larger one all of the axis. */
	int64_t bytes = size < old ? old : extent * old;
	if (bytes % size != 0) {
		return error_set(err, KZ_INVALID, "%lld bytes of %s are not a multiple of %lld",
			(long long)bytes, name, (long long)size);
	}
	view->shape.dims[axis] = extent * old / size;
	view->strides[axis] = size;
	return KZ_OK;
}

/* Check that the device can read every element at once, by its alignment. */
static kz_status view_check_alignment(const struct kz_array *view, kz_error *err)
{
	int64_t size = kz_dtype_size(view->dtype);
	uint64_t misplaced = buffer_address(view->buffer) + (uint64_t)view->offset;
	if (view->count == 0 || dtype_is_struct(view->dtype)) {
		return KZ_OK;
	}
	for (int64_t i = 0; i < view->shape.ndim; i++) {
		misplaced |= view->shape.dims[i] > 1 ? (uint64_t)view->strides[i] : 0;
	}
	if (misplaced & (uint64_t)(size - 1)) {
		return error_set(err, KZ_INVALID,
			"expected elements at multiples of %lld bytes for a view as %s",
			(long long)size, kz_dtype_name(view->dtype));
	}
	return KZ_OK;
}

kz_status kz_array_view_as(kz_array **out, kz_array *array, kz_dtype dtype, kz_error *err)
{
	error_scope(err);
	struct kz_array view;
	int64_t size = kz_dtype_size(dtype);
	kz_status st = view_begin(&view, out, array, __func__, err);
	if (st) {
		return st;
	}
	if (size == 0) {
		return error_set(err, KZ_INVALID, "%u is not a dtype", (unsigned)dtype);
	}
	if (size != kz_dtype_size(array->dtype) && (st = view_resize_elements(&view, size, err))) {
		return st;
	}
	view.dtype = dtype;
	st = view_check_alignment(&view, err);
	return st ? st : view_end(out, &view, array, err);
}

/* One half of each complex number; `half` is 0 or 1. */
static void view_halve(struct kz_array *view, int half)
{
	view->dtype = dtype_part(view->dtype);
	view->offset += half * kz_dtype_size(view->dtype);
}

kz_status kz_array_real(kz_array **out, kz_array *array, kz_error *err)
{
	error_scope(err);
	struct kz_array view;
	kz_status st = view_begin(&view, out, array, __func__, err);
	if (st) {
		return st;
	}
	if (dtype_is_complex(array->dtype)) {
		view_halve(&view, 0);
	}
	return view_end(out, &view, array, err);
}

kz_status kz_array_imag(kz_array **out, kz_array *array, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	st = st ? st : object_check(array, OBJECT_ARRAY, err);
	return st ? st : kz_array_imag_on(out, array, NULL, err);
}

kz_status kz_array_imag_on(kz_array **out, kz_array *array, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	struct kz_array view;
	kz_status st = view_begin(&view, out, array, __func__, err);
	if (st) {
		return st;
	}
	if (!dtype_is_complex(array->dtype)) {
		return kz_array_zeros_on(out, kz_array_device(array), array->dtype, array->shape,
			stream, err);
	}
	view_halve(&view, 1);
	return view_end(out, &view, array, err);
}
