/* SPDX-License-Identifier: MIT */
/*
 * Joining and repeating arrays.
 *
 * The result is made first.  Then each array is copied to the view of the result that is its place.
 * Repeating is one copy to a view of the result in which the repeated axis is two axes; the copy
 * broadcasts the array along the added one.
 */
#include "base/common.h"

#include "lib/ops/elementwise.h"
#include "lib/array/overlap.h"
#include "lib/array/shape.h"
#include "lib/array/view.h"

#include <kudzu/join.h>

/* The result that is being made, and its sources. */
struct join {
	const char *call;            /* for errors: "kz_array_concatenate" */
	const char *verb;            /* "concatenate" */
	kz_arrays arrays;
	kz_shape shape;              /* of the result */
	kz_dtype dtype;              /* likewise */
	kz_dtype asked;              /* the options' one, 0 if they have none */
	struct elementwise how;      /* how to copy a part */
	struct kz_array *result;
};

/* Beginning and ending */

/* Check the arrays and the options.  The shape is that of the first array, the dtype the common one
 * of all. */
static kz_status join_begin(struct join *join, kz_array **out, const kz_op_options *options,
	kz_error *err)
{
	struct kz_array *const *items = join->arrays.items;
	out_clear(out, sizeof(*out), join->call);
	kz_status st = elementwise_options(&join->how, &join->asked, options, err);
	if (!st && !out && !join->how.into) {
		st = error_set(err, KZ_INVALID, "%s: out is NULL", join->call);
	}
	if (!st && (join->arrays.count < 1 || !items)) {
		st = error_set(err, KZ_INVALID, "%s: expected one array or more, got none",
			join->call);
	}
	for (int64_t i = 0; !st && i < join->arrays.count; i++) {
		st = object_check_as(items[i], OBJECT_ARRAY, "arrays", err);
		st = st ? st : array_same_device(join->call, items[0], items[i], err);
		if (st) {
			break;
		}
		kz_dtype dtype = i ? join->dtype : items[i]->dtype;
		join->dtype = join->asked ? join->asked : kz_dtype_promote(dtype, items[i]->dtype);
		if (!join->dtype) {
			st = error_set(err, KZ_INVALID, "%s: %s and %s have no type in common",
				join->call, dtype_refused(dtype), kz_dtype_name(items[i]->dtype));
		}
	}
	if (!st) {
		join->shape = items[0]->shape;
		join->how.unsafe = join->asked != 0;
	}
	return st;
}

static kz_status join_check_into(const struct join *join, const struct kz_array *into,
	kz_error *err)
{
	if (!shape_equal(&into->shape, &join->shape)) {
		return error_set(err, KZ_INVALID, "%s gives shape %s, which does not fit into %s",
			join->call, shape_text(&join->shape).text, shape_text(&into->shape).text);
	}
	if (!kz_dtype_can_cast(join->dtype, into->dtype)) {
		return error_set(err, KZ_INVALID, "%s gives %s, which does not fit into %s",
			join->call, dtype_refused(join->dtype), dtype_refused(into->dtype));
	}
	return array_same_device(join->call, into, join->arrays.items[0], err);
}

/* Choose the place for the result: the target of the options, if it has the wanted type and shares
 * no memory with an array that is yet to be read; else a new array. */
static kz_status join_open_result(struct join *join, kz_error *err)
{
	struct kz_array *into = join->how.into;
	bool is_free = into && (!join->asked || join->asked == into->dtype);
	kz_status st = into ? join_check_into(join, into, err) : KZ_OK;
	for (int64_t i = 0; !st && is_free && i < join->arrays.count; i++) {
		is_free = !overlap_memory(into, join->arrays.items[i]);
	}
	if (st || is_free) {
		join->result = into;
		return st;
	}
	return kz_array_create_on(&join->result, kz_array_device(join->arrays.items[0]),
		into && !join->asked ? into->dtype : join->dtype, join->shape, join->how.stream,
		err);
}

static kz_status join_copy(const struct join *join, struct kz_array *to,
	const struct kz_array *from, kz_error *err)
{
	struct expr expr;
	struct elementwise how = join->how;
	how.into = to;
	expr_init(&expr);
	return expr_array(&expr, from, err) < 0 ? KZ_INVALID
		: elementwise_run(NULL, &expr, &how, err);
}

/* Copy all of an array to a part of the result, whose draft this is. */
static kz_status join_copy_part(const struct join *join, const struct kz_array *part,
	const struct kz_array *from, kz_error *err)
{
	struct kz_array *to = NULL;
	kz_status st = view_end(&to, part, join->result, err);
	st = st ? st : join_copy(join, to, from, err);
	kz_array_release(to);
	return st;
}

/* Hand the result out, or undo it after a failure. */
static kz_status join_end(kz_array **out, struct join *join, kz_status st, kz_error *err)
{
	struct kz_array *into = join->how.into;
	if (into && join->result != into) {
		st = st ? st : join_copy(join, into, join->result, err);
		kz_array_release(join->result);
		join->result = into;
	}
	if (st && !into) {
		kz_array_release(join->result);
	}
	if (out) {
		*out = st ? NULL : into ? kz_array_retain(into) : join->result;
	}
	return st;
}

/* Several arrays */

/* All extents but that along `axis` must be those of the first array; *total is the sum along
 * `axis`. */
static kz_status join_check_shapes(const struct join *join, int64_t axis, int64_t *total,
	kz_error *err)
{
	*total = 0;
	for (int64_t i = 0; i < join->arrays.count; i++) {
		kz_shape shape = join->arrays.items[i]->shape;
		if (axis >= 0 && axis < shape.ndim) {
			if (!size64_add(total, *total, shape.dims[axis])) {
				return error_set(err, KZ_RANGE,
					"%s: the extent along axis %lld overflows", join->call,
					(long long)axis);
			}
			shape.dims[axis] = join->shape.dims[axis];
		}
		if (!shape_equal(&shape, &join->shape)) {
			return error_set(err, KZ_INVALID, "cannot %s shapes %s and %s", join->verb,
				shape_text(&join->shape).text,
				shape_text(&join->arrays.items[i]->shape).text);
		}
	}
	return KZ_OK;
}

kz_status kz_array_concatenate(kz_array **out, kz_arrays arrays, int64_t axis,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct join join = {.call = __func__, .verb = "concatenate", .arrays = arrays};
	int64_t total, start = 0;
	kz_status st;
	if ((st = join_begin(&join, out, options, err))
	    || (st = axis_resolve(&axis, &join.shape, err))
	    || (st = join_check_shapes(&join, axis, &total, err))) {
		return st;
	}
	join.shape.dims[axis] = total;
	st = join_open_result(&join, err);
	for (int64_t i = 0; !st && i < arrays.count; i++) {
		struct kz_array part;
		int64_t extent = arrays.items[i]->shape.dims[axis];
		view_draft(&part, join.result);
		view_keep(&part, axis, start, 1, extent);
		st = join_copy_part(&join, &part, arrays.items[i], err);
		start += extent;
	}
	return join_end(out, &join, st, err);
}

/* The shape of a stack: a new axis of so many. */
static kz_status join_add_axis(kz_shape *shape, int64_t *axis, int64_t extent, kz_error *err)
{
	if (shape->ndim == KZ_MAX_DIMS) {
		return error_set(err, KZ_INVALID, "cannot stack shape %s: it has %d axes already",
			shape_text(shape).text, KZ_MAX_DIMS);
	}
	shape->dims[shape->ndim++] = extent;
	kz_status st = axis_resolve(axis, shape, err);
	for (int64_t i = shape->ndim - 1; !st && i > *axis; i--) {
		shape->dims[i] = shape->dims[i - 1];
		shape->dims[i - 1] = extent;
	}
	return st;
}

kz_status kz_array_stack(kz_array **out, kz_arrays arrays, int64_t axis,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct join join = {.call = __func__, .verb = "stack", .arrays = arrays};
	int64_t total;
	kz_status st;
	if ((st = join_begin(&join, out, options, err))
	    || (st = join_check_shapes(&join, -1, &total, err))
	    || (st = join_add_axis(&join.shape, &axis, arrays.count, err))) {
		return st;
	}
	st = join_open_result(&join, err);
	for (int64_t i = 0; !st && i < arrays.count; i++) {
		struct kz_array part;
		view_draft(&part, join.result);
		view_keep(&part, axis, i, 1, 1);
		view_drop(&part, axis);
		st = join_copy_part(&join, &part, arrays.items[i], err);
	}
	return join_end(out, &join, st, err);
}

/* One array, several times */

static void join_add_to_draft(struct kz_array *draft, int64_t extent, int64_t stride)
{
	draft->shape.dims[draft->shape.ndim] = extent;
	draft->strides[draft->shape.ndim++] = stride;
}

/* Multiply the extents of the result by the counts; both have as many axes. */
static kz_status join_multiply(struct join *join, const kz_shape *counts, kz_error *err)
{
	for (int64_t i = 0; i < counts->ndim; i++) {
		int64_t *extent = &join->shape.dims[i];
		if (!size64_mul(extent, *extent, counts->dims[i])) {
			return error_set(err, KZ_RANGE,
				"%s: %lld times %lld elements along axis %lld overflow", join->call,
				(long long)counts->dims[i], (long long)*extent, (long long)i);
		}
	}
	return KZ_OK;
}

/* Copy the array to all its places.  Along a repeated axis the result has two: the copies, and the
 * elements of one copy; `inside` says that the copies of an element are together. */
static kz_status join_copy_times(const struct join *join, const kz_shape *counts, bool inside,
	kz_error *err)
{
	const struct kz_array *array = join->arrays.items[0];
	struct kz_array to, from, *source = NULL;
	int64_t missing = counts->ndim - array->shape.ndim;
	view_draft(&to, join->result);
	view_draft(&from, array);
	to.shape.ndim = from.shape.ndim = 0;
	for (int64_t i = 0; i < counts->ndim; i++) {
		int64_t extent = i < missing ? 1 : array->shape.dims[i - missing];
		int64_t stride = i < missing ? 0 : array->strides[i - missing];
		int64_t count = counts->dims[i], step = join->result->strides[i];
		if (count != 1 && !inside) {
			join_add_to_draft(&to, count, wrap_mul(step, extent));
			join_add_to_draft(&from, 1, 0);
		}
		join_add_to_draft(&to, extent, inside ? wrap_mul(step, count) : step);
		join_add_to_draft(&from, extent, stride);
		if (count != 1 && inside) {
			join_add_to_draft(&to, count, step);
			join_add_to_draft(&from, 1, 0);
		}
	}
	kz_status st = view_end(&source, &from, array, err);
	st = st ? st : join_copy_part(join, &to, source, err);
	kz_array_release(source);
	return st;
}

static kz_status join_run_times(kz_array **out, struct join *join, const kz_shape *counts,
	bool inside, kz_error *err)
{
	int64_t axes = counts->ndim;
	kz_status st = join_multiply(join, counts, err);
	for (int64_t i = 0; i < counts->ndim; i++) {
		axes += counts->dims[i] != 1;
	}
	if (!st && axes > KZ_MAX_DIMS) {
		st = error_set(err, KZ_INVALID,
			"%s: expected at most %d axes, each repeated one counted twice, got %lld",
			join->call, KZ_MAX_DIMS, (long long)axes);
	}
	if (st || (st = join_open_result(join, err))) {
		return st;
	}
	return join_end(out, join, join_copy_times(join, counts, inside, err), err);
}

/* Fill a shape up with ones in front. */
static void join_pad(kz_shape *shape, int64_t ndim)
{
	int64_t missing = ndim - shape->ndim;
	for (int64_t i = ndim; i-- > 0;) {
		shape->dims[i] = i < missing ? 1 : shape->dims[i - missing];
	}
	shape->ndim = ndim;
}

kz_status kz_array_tile(kz_array **out, kz_array *array, kz_shape counts,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct join join = {.call = __func__, .verb = "tile", .arrays = {&array, 1}};
	kz_status st;
	if ((st = join_begin(&join, out, options, err)) || (st = shape_check(&counts, err))) {
		return st;
	}
	int64_t ndim = counts.ndim > join.shape.ndim ? counts.ndim : join.shape.ndim;
	join_pad(&counts, ndim);
	join_pad(&join.shape, ndim);
	return join_run_times(out, &join, &counts, false, err);
}

kz_status kz_array_repeat(kz_array **out, kz_array *array, int64_t count, int64_t axis,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct join join = {.call = __func__, .verb = "repeat", .arrays = {&array, 1}};
	kz_shape counts = {0, {0}};
	kz_status st = join_begin(&join, out, options, err);
	if (st) {
		return st;
	}
	/* As in numpy, () is (1,) here. */
	join_pad(&join.shape, join.shape.ndim ? join.shape.ndim : 1);
	if ((st = axis_resolve(&axis, &join.shape, err))) {
		return st;
	}
	if (count < 0) {
		return error_set(err, KZ_INVALID, "cannot repeat elements %lld times",
			(long long)count);
	}
	join_pad(&counts, join.shape.ndim);
	counts.dims[axis] = count;
	return join_run_times(out, &join, &counts, true, err);
}

/* Copy `count` elements along an axis of the array to others of the result. */
static kz_status join_copy_range(const struct join *join, int64_t axis, int64_t to, int64_t from,
	int64_t count, kz_error *err)
{
	const struct kz_array *array = join->arrays.items[0];
	struct kz_array target, source, *made = NULL;
	view_draft(&target, join->result);
	view_draft(&source, array);
	view_keep(&target, axis, to, 1, count);
	view_keep(&source, axis, from, 1, count);
	kz_status st = view_end(&made, &source, array, err);
	st = st ? st : join_copy_part(join, &target, made, err);
	kz_array_release(made);
	return st;
}

kz_status kz_array_roll(kz_array **out, kz_array *array, int64_t shift, int64_t axis,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct join join = {.call = __func__, .verb = "roll", .arrays = {&array, 1}};
	kz_status st;
	if ((st = join_begin(&join, out, options, err))
	    || (st = axis_resolve(&axis, &join.shape, err))
	    || (st = join_open_result(&join, err))) {
		return st;
	}
	int64_t extent = join.shape.dims[axis];
	int64_t moved = extent ? shift % extent : 0;
	moved += moved < 0 ? extent : 0;
	st = join_copy_range(&join, axis, moved, 0, extent - moved, err);
	st = st ? st : join_copy_range(&join, axis, 0, extent - moved, moved, err);
	return join_end(out, &join, st, err);
}
