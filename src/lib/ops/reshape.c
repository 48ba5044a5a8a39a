/* SPDX-License-Identifier: MIT */
/*
 * The same elements in the same order, in another shape.
 *
 * The axes of an array fall into runs: neighbouring axes whose elements follow each other at one
 * stride, as all axes of a row-major array do.  A run can be cut into any axes again.  So there is
 * a view if each new axis lies within one run; otherwise the elements are copied.  Copies are
 * row-major, of which there is always a view.
 */
#include "base/common.h"

#include "lib/array/shape.h"
#include "lib/array/view.h"

#include <kudzu/ops.h>
#include <kudzu/view.h>

struct run {
	int64_t count;
	int64_t stride;
};

/* The runs of an array that has elements, innermost first; at most KZ_MAX_DIMS.  Axes of one
 * element are in none. */
static int reshape_find_runs(struct run *runs, const struct kz_array *array)
{
	int count = 0;
	for (int64_t i = array->shape.ndim; i-- > 0;) {
		int64_t extent = array->shape.dims[i];
		struct run *last = count ? &runs[count - 1] : NULL;
		if (extent == 1) {
			continue;
		}
		if (last && array->strides[i] == wrap_mul(last->count, last->stride)) {
			last->count *= extent;
		} else {
			runs[count++] = (struct run){extent, array->strides[i]};
		}
	}
	return count;
}

/* The strides of the draft in its new shape; false where there are none. */
static bool reshape_cut_runs(struct kz_array *view, const struct kz_array *array)
{
	struct run runs[KZ_MAX_DIMS + 1] = {{0, 0}};
	int count = reshape_find_runs(runs, array);
	struct run *run = runs;
	if (count == 0) {
		*run = (struct run){1, kz_dtype_size(view->dtype)};
	}
	for (int64_t i = view->shape.ndim; i-- > 0;) {
		int64_t extent = view->shape.dims[i];
		view->strides[i] = run->stride;
		if (extent == 1) {
			continue;
		}
		if (run->count == 1) {
			view->strides[i] = (++run)->stride;
		}
		if (run->count % extent != 0) {
			return false;
		}
		run->count /= extent;
		run->stride = wrap_mul(run->stride, extent);
	}
	return true;
}

/* The one extent that may be -1 becomes what the others leave. */
static kz_status reshape_infer(kz_shape *shape, const struct kz_array *array, kz_error *err)
{
	kz_shape known = *shape;
	int64_t unknown = -1, count = 0;
	for (int64_t i = 0; i < shape->ndim && i < KZ_MAX_DIMS; i++) {
		if (shape->dims[i] == -1 && unknown < 0) {
			unknown = i;
			known.dims[i] = 1;
		}
	}
	kz_status st = shape_check(&known, err);
	st = st ? st : shape_count(&count, &known, kz_dtype_size(array->dtype),
		dtype_refused(array->dtype), err);
	if (st) {
		return st;
	}
	if (unknown >= 0 && count > 0 && array->count % count == 0) {
		shape->dims[unknown] = array->count / count;
	} else if (unknown >= 0 || count != array->count) {
		return error_set(err, KZ_INVALID, "cannot reshape %s into %s",
			shape_text(&array->shape).text, shape_text(shape).text);
	}
	return KZ_OK;
}

/* A draft of the new shape; *fits says whether its strides could be found. */
static kz_status reshape_to(struct kz_array *view, bool *fits, const struct kz_array *array,
	kz_shape shape, kz_error *err)
{
	kz_status st = reshape_infer(&shape, array, err);
	if (st) {
		return st;
	}
	view->shape = shape;
	*fits = true;
	if (array->count == 0) {
		strided_row_major(view->strides, &shape, kz_dtype_size(view->dtype));
	} else {
		*fits = reshape_cut_runs(view, array);
	}
	return KZ_OK;
}

kz_status kz_array_reshape_view(kz_array **out, kz_array *array, kz_shape shape, kz_error *err)
{
	error_scope(err);
	struct kz_array view;
	bool fits;
	kz_status st;
	if ((st = view_begin(&view, out, array, __func__, err))
	    || (st = reshape_to(&view, &fits, array, shape, err))) {
		return st;
	}
	if (!fits) {
		return error_set(err, KZ_INVALID,
			"an array of shape %s with these strides cannot be viewed as shape %s",
			shape_text(&array->shape).text, shape_text(&view.shape).text);
	}
	return view_end(out, &view, array, err);
}

kz_status kz_array_contiguous(kz_array **out, kz_array *array, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	st = st ? st : object_check(array, OBJECT_ARRAY, err);
	return st ? st : kz_array_contiguous_on(out, array, NULL, err);
}

kz_status kz_array_contiguous_on(kz_array **out, kz_array *array, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	struct kz_array *made;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))) {
		return st;
	}
	if ((st = stream_pick(&stream, array_device(array), stream, err))) {
		return st;
	}
	if (kz_array_is_contiguous(array)) {
		*out = kz_array_retain(array);
		return KZ_OK;
	}
	if ((st = array_create_on(&made, array_device(array), array->dtype, &array->shape, stream,
		err))) {
		return st;
	}
	return array_finish(out, made, kz_array_assign_on(made, array, stream, err));
}

kz_status kz_array_reshape(kz_array **out, kz_array *array, kz_shape shape, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	st = st ? st : object_check(array, OBJECT_ARRAY, err);
	return st ? st : kz_array_reshape_on(out, array, shape, NULL, err);
}

kz_status kz_array_reshape_on(kz_array **out, kz_array *array, kz_shape shape, kz_stream *stream,
	kz_error *err)
{
	error_scope(err);
	struct kz_array view, *whole;
	bool fits;
	kz_status st;
	if ((st = view_begin(&view, out, array, __func__, err))
	    || (st = stream_pick(&stream, array_device(array), stream, err))
	    || (st = reshape_to(&view, &fits, array, shape, err))) {
		return st;
	}
	if (fits) {
		return view_end(out, &view, array, err);
	}
	if (!(st = kz_array_contiguous_on(&whole, array, stream, err))) {
		st = kz_array_reshape_view(out, whole, view.shape, err);
		kz_array_release(whole);
	}
	return st;
}

kz_status kz_array_ravel(kz_array **out, kz_array *array, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	st = st ? st : object_check(array, OBJECT_ARRAY, err);
	return st ? st : kz_array_ravel_on(out, array, NULL, err);
}

kz_status kz_array_ravel_on(kz_array **out, kz_array *array, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))) {
		return st;
	}
	return kz_array_reshape_on(out, array, KZ_SHAPE(array->count), stream, err);
}
