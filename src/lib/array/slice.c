/* SPDX-License-Identifier: MIT */
/*
 * Slices and splits: parts of an array along its axes.
 *
 * A list of slices is walked beside the axes.  A range or an index takes an axis, a new axis takes
 * none, and an ellipsis takes those that nothing else names.  Ranges follow Python's rule: negative
 * bounds count from the end, then bounds are clipped to the axis, so no range is an error.
 */
#include "base/common.h"

#include "lib/array/shape.h"
#include "lib/array/view.h"

#include <kudzu/view.h>

/* The elements of a range: `count` of an axis of so many, from *start on. */
static int64_t slice_clip(int64_t *start, int64_t stop, int64_t step, int64_t extent)
{
	int64_t lowest = step < 0 ? -1 : 0;
	int64_t highest = step < 0 ? extent - 1 : extent;
	int64_t bounds[] = {*start, stop};
	const int64_t omitted[] = {step < 0 ? highest : lowest, step < 0 ? lowest : highest};
	for (int i = 0; i < 2; i++) {
		if (bounds[i] == KZ_OMIT) {
			bounds[i] = omitted[i];
			continue;
		}
		bounds[i] += bounds[i] < 0 ? extent : 0;
		bounds[i] = bounds[i] < lowest ? lowest : bounds[i] > highest ? highest : bounds[i];
	}
	*start = bounds[0];
	if (step < 0) {
		return bounds[1] < bounds[0] ? (bounds[0] - bounds[1] - 1) / -step + 1 : 0;
	}
	return bounds[0] < bounds[1] ? (bounds[1] - bounds[0] - 1) / step + 1 : 0;
}

/* How many axes an ellipsis stands for; without one they follow the last entry. */
static kz_status slice_count_rest(int64_t *rest, kz_slices at, const kz_shape *shape, kz_error *err)
{
	int64_t named = 0, ellipses = 0;
	if (at.count < 0 || (at.count > 0 && !at.items)) {
		return error_set(err, KZ_INVALID, "expected a list of slices, got %lld at %s",
			(long long)at.count, at.items ? "an address" : "NULL");
	}
	for (int64_t i = 0; i < at.count; i++) {
		int32_t kind = at.items[i].kind;
		if (kind < KZ_SLICE_RANGE || kind > KZ_SLICE_ELLIPSIS) {
			return error_set(err, KZ_INVALID, "slice %lld: %d is not a kind of slice",
				(long long)i, (int)kind);
		}
		named += kind == KZ_SLICE_RANGE || kind == KZ_SLICE_INDEX;
		ellipses += kind == KZ_SLICE_ELLIPSIS;
	}
	if (named > shape->ndim) {
		return error_set(err, KZ_INVALID,
			"%lld indexes are too many for an array of shape %s",
			(long long)named, shape_text(shape).text);
	}
	if (ellipses > 1) {
		return error_set(err, KZ_INVALID, "expected at most one ellipsis, got %lld",
			(long long)ellipses);
	}
	*rest = shape->ndim - named;
	return KZ_OK;
}

/* Take what a range or an index says of axis `axis` of the draft. */
static kz_status slice_take_axis(struct kz_array *view, int64_t axis, const kz_slice *slice,
	const struct kz_array *array, kz_error *err)
{
	int64_t extent = view->shape.dims[axis];
	int64_t start = slice->start;
	if (slice->kind == KZ_SLICE_RANGE) {
		int64_t step = slice->step == KZ_OMIT ? 1 : slice->step;
		if (step == 0) {
			return error_set(err, KZ_INVALID, "the slice of axis %lld has step 0",
				(long long)axis);
		}
		int64_t count = slice_clip(&start, slice->stop, step, extent);
		view_keep(view, axis, start, step, count);
		return KZ_OK;
	}
	if (start < -extent || start >= extent) {
		return error_set(err, KZ_RANGE,
			"index %lld is out of range for axis %lld of shape %s", (long long)start,
			(long long)axis, shape_text(&array->shape).text);
	}
	view_keep(view, axis, start < 0 ? start + extent : start, 1, 1);
	return KZ_OK;
}

/* The state of a walk over a list of slices: the draft's axes, the result's, and how far it is. */
struct walk {
	struct kz_array *view;
	int64_t axis;
	kz_shape shape;
	int64_t strides[KZ_MAX_DIMS];
};

static kz_status slice_put_axis(struct walk *walk, int64_t extent, int64_t stride, kz_error *err)
{
	kz_shape *shape = &walk->shape;
	if (shape->ndim == KZ_MAX_DIMS) {
		return error_set(err, KZ_INVALID, "expected at most %d axes in the result",
			KZ_MAX_DIMS);
	}
	walk->strides[shape->ndim] = stride;
	shape->dims[shape->ndim++] = extent;
	return KZ_OK;
}

static kz_status slice_put_whole(struct walk *walk, int64_t count, kz_error *err)
{
	kz_status st = KZ_OK;
	for (; !st && count > 0; count--, walk->axis++) {
		st = slice_put_axis(walk, walk->view->shape.dims[walk->axis],
			walk->view->strides[walk->axis], err);
	}
	return st;
}

static kz_status walk_slices(struct walk *walk, kz_slices at, const struct kz_array *array,
	kz_error *err)
{
	int64_t rest = 0;
	kz_status st = slice_count_rest(&rest, at, &array->shape, err);
	for (int64_t i = 0; !st && i < at.count; i++) {
		const kz_slice *slice = &at.items[i];
		if (slice->kind == KZ_SLICE_NEWAXIS) {
			st = slice_put_axis(walk, 1, 0, err);
		} else if (slice->kind == KZ_SLICE_ELLIPSIS) {
			st = slice_put_whole(walk, rest, err);
		} else if (!(st = slice_take_axis(walk->view, walk->axis, slice, array, err))) {
			if (slice->kind == KZ_SLICE_INDEX) {
				walk->axis++;
			} else {
				st = slice_put_whole(walk, 1, err);
			}
		}
	}
	return st ? st : slice_put_whole(walk, array->shape.ndim - walk->axis, err);
}

kz_status kz_array_slice(kz_array **out, kz_array *array, kz_slices at, kz_error *err)
{
	error_scope(err);
	struct kz_array view;
	struct walk walk = {.view = &view};
	kz_status st;
	if ((st = view_begin(&view, out, array, __func__, err))
	    || (st = walk_slices(&walk, at, array, err))) {
		return st;
	}
	view.shape = walk.shape;
	memcpy(view.strides, walk.strides, sizeof(view.strides));
	return view_end(out, &view, array, err);
}

/* Splits */

/* Parts of an array along an axis, and where they go. */
struct split {
	kz_array **out;
	int64_t count;
	kz_array *array;
	int64_t axis; /* slice_split_begin makes it one from 0 */
};

/* Check what all splits share; nothing is in `out` then. */
static kz_status slice_split_begin(struct split *split, const char *call, kz_error *err)
{
	const int64_t count = split->count;
	kz_status st;
	if (count < 1 || count > INT64_MAX / (int64_t)sizeof(*split->out)) {
		return error_set(err, KZ_INVALID,
			"%s: expected to split into 1 or more parts, got %lld",
			call, (long long)count);
	}
	if ((st = out_check(split->out, (size_t)count * sizeof(*split->out), call, err))
	    || (st = object_check_as(split->array, OBJECT_ARRAY, "array", err))) {
		return st;
	}
	return axis_resolve(&split->axis, &split->array->shape, err);
}

/* Part `index`: from `start` to before `stop`.  A failure takes the earlier ones back. */
static kz_status slice_split_part(const struct split *split, int64_t index, int64_t start,
	int64_t stop, kz_error *err)
{
	struct kz_array view;
	kz_array **out = split->out;
	kz_status st = view_begin(&view, &out[index], split->array, __func__, err);
	if (!st) {
		view_keep(&view, split->axis, start, 1, stop > start ? stop - start : 0);
		st = view_end(&out[index], &view, split->array, err);
	}
	for (int64_t i = 0; st && i < index; i++) {
		kz_array_release(out[i]);
		out[i] = NULL;
	}
	return st;
}

static kz_status slice_split_unevenly(const struct split *split, kz_error *err)
{
	const int64_t extent = split->array->shape.dims[split->axis];
	int64_t start = 0;
	kz_status st = KZ_OK;
	for (int64_t i = 0; !st && i < split->count; i++) {
		int64_t stop = start + extent / split->count + (i < extent % split->count);
		st = slice_split_part(split, i, start, stop, err);
		start = stop;
	}
	return st;
}

kz_status kz_array_split_uneven(kz_array **out, int64_t count, kz_array *array, int64_t axis,
	kz_error *err)
{
	error_scope(err);
	struct split split = {out, count, array, axis};
	kz_status st = slice_split_begin(&split, __func__, err);
	return st ? st : slice_split_unevenly(&split, err);
}

kz_status kz_array_split(kz_array **out, int64_t count, kz_array *array, int64_t axis,
	kz_error *err)
{
	error_scope(err);
	struct split split = {out, count, array, axis};
	kz_status st = slice_split_begin(&split, __func__, err);
	if (!st && array->shape.dims[split.axis] % count != 0) {
		st = error_set(err, KZ_INVALID,
			"%s: axis %lld of shape %s does not split into %lld equal parts", __func__,
			(long long)split.axis, shape_text(&array->shape).text, (long long)count);
	}
	return st ? st : slice_split_unevenly(&split, err);
}

kz_status kz_array_split_at(kz_array **out, int64_t count, kz_array *array, int64_t axis,
	const int64_t *indexes, int64_t index_count, kz_error *err)
{
	error_scope(err);
	struct split split = {out, count, array, axis};
	kz_status st = slice_split_begin(&split, __func__, err);
	if (st) {
		return st;
	}
	if (index_count != count - 1) {
		return error_set(err, KZ_INVALID,
			"%s: expected %lld indexes for %lld parts, got %lld",
			__func__, (long long)count - 1, (long long)count, (long long)index_count);
	}
	if (index_count > 0 && !indexes) {
		return error_set(err, KZ_INVALID, "%s: expected %lld indexes, got NULL", __func__,
			(long long)index_count);
	}
	for (int64_t i = 0; !st && i < count; i++) {
		int64_t start = i > 0 ? indexes[i - 1] : KZ_OMIT;
		int64_t stop = i < index_count ? indexes[i] : KZ_OMIT;
		int64_t extent = slice_clip(&start, stop, 1, array->shape.dims[split.axis]);
		st = slice_split_part(&split, i, start, start + extent, err);
	}
	return st;
}
