/* SPDX-License-Identifier: MIT */
/* Quantiles, and the greatest elements: parts of sorted arrays. */
#include "base/common.h"

#include "array/array.h"
#include "array/shape.h"
#include "core/object.h"
#include "math/sort.h"

#include <kudzu/eval.h>
#include <kudzu/indexing.h>

#include <math.h>

/* A view of the elements from `first` on along an axis. */
static kz_status quantile_slice(kz_array **out, kz_array *array, int64_t axis, kz_slice part,
	kz_error *err)
{
	kz_slice items[KZ_MAX_DIMS];
	for (int64_t i = 0; i < axis; i++) {
		items[i] = KZ_ALL;
	}
	items[axis] = part;
	return kz_array_slice(out, array, (kz_slices){items, axis + 1}, err);
}

/* The greatest elements */

kz_status kz_topk(kz_array **values, kz_array **indexes, kz_array *array, int64_t count, int64_t axis,
	int largest, const kz_sort_options *options, kz_error *err)
{
	struct kz_array *order = NULL, *part = NULL, *copy = NULL;
	kz_sort_options sort = KZ_SORT_OPTIONS_INIT;
	kz_status st;
	if (values) {
		*values = NULL;
	}
	if (indexes) {
		*indexes = NULL;
	}
	if ((st = object_check(array, OBJECT_ARRAY, err))
	    || (st = axis_resolve(&axis, &array->shape, err))
	    || (st = sort_options_read(&sort.stream, &sort.descending, array_device(array), options, err))) {
		return st;
	}
	if (count < 0 || count > array->shape.dims[axis]) {
		return error_set(err, KZ_RANGE, "kz_topk: expected 0 to %lld elements of axis %lld, got %lld",
			(long long)array->shape.dims[axis], (long long)axis, (long long)count);
	}
	sort.descending = largest;
	if (!(st = kz_argsort(&order, array, axis, &sort, err))
	    && !(st = quantile_slice(&part, order, axis, kz_slice_range(0, count, 1), err))
	    && !(st = kz_array_copy_on(&copy, part, sort.stream, err)) && values) {
		st = kz_array_take_along_axis_on(values, array, copy, axis, KZ_INDEX_WRAP, sort.stream, err);
	}
	if (!st && indexes) {
		*indexes = kz_array_retain(copy);
	}
	kz_array_release(copy);
	kz_array_release(part);
	kz_array_release(order);
	return st;
}

/* Quantiles */

/* The elements on both sides of a place in n sorted ones, and the share of the second. */
struct quantile_place {
	int64_t low, high;
	double share;
};

static struct quantile_place quantile_place(double q, int64_t n, kz_quantile_method method)
{
	double at = q * (double)(n - 1);
	struct quantile_place place = {(int64_t)floor(at), (int64_t)floor(at), at - floor(at)};
	bool between = place.share > 0;
	place.high += between;
	switch (method) {
	case KZ_QUANTILE_LOWER: place.high = place.low; break;
	case KZ_QUANTILE_HIGHER: place.low = place.high; break;
	case KZ_QUANTILE_NEAREST: place.low = place.high = (int64_t)nearbyint(at); break;
	case KZ_QUANTILE_MIDPOINT: place.share = 0.5; break;
	default: break;
	}
	return place;
}

/* Between two elements, from the nearer one; NaN if there is one among all, which is the last. */
static kz_status quantile_mix(kz_array **out, kz_array *sorted, int64_t axis,
	const struct quantile_place *place, kz_stream *stream, kz_error *err)
{
	const int64_t at[] = {place->low, place->high, sorted->shape.dims[axis] - 1};
	struct kz_array *parts[3] = {NULL, NULL, NULL};
	kz_op_options op = KZ_OP_OPTIONS_INIT;
	kz_status st = KZ_OK;
	op.stream = stream;
	op.dtype = sorted->dtype;
	for (int i = 0; i < 3 && !st; i++) {
		st = quantile_slice(&parts[i], sorted, axis, kz_slice_index(at[i]), err);
	}
	if (!st) {
		st = kz_eval(out, place->share < 0.5
			? "where(last != last, last, where(a == b, a, a + (b - a) * share))"
			: "where(last != last, last, where(a == b, a, b - (b - a) * (1 - share)))",
			&op, err, KZ_VARS(KZ_VAR("a", parts[0]), KZ_VAR("b", parts[1]),
			KZ_VAR("last", parts[2]), KZ_VAR("share", place->share)));
	}
	for (int i = 0; i < 3; i++) {
		kz_array_release(parts[i]);
	}
	return st;
}

static kz_status quantile_check(kz_array *array, double q, kz_quantile_method method, kz_error *err)
{
	if (array->dtype >= KZ_DTYPE_STRUCT || dtype_is_complex(array->dtype)) {
		return error_set(err, KZ_INVALID, "kz_quantile: expected real numbers, got %s",
			kz_dtype_name(array->dtype));
	}
	if (!(q >= 0 && q <= 1)) {
		return error_set(err, KZ_RANGE, "kz_quantile: expected 0 to 1, got %g", q);
	}
	return method >= KZ_QUANTILE_LINEAR && method <= KZ_QUANTILE_MIDPOINT ? KZ_OK
		: error_set(err, KZ_INVALID, "kz_quantile: method %d is none", (int)method);
}

kz_status kz_quantile(kz_array **out, kz_array *array, double q, kz_axes axes,
	kz_quantile_method method, const kz_sort_options *options, kz_error *err)
{
	struct kz_array *flat = NULL, *floats = NULL, *sorted = NULL;
	kz_sort_options sort = KZ_SORT_OPTIONS_INIT;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))
	    || (st = quantile_check(array, q, method, err))
	    || (st = axes_resolve(&axes, NULL, &array->shape, err))
	    || (st = sort_options_read(&sort.stream, &sort.descending, array_device(array), options, err))) {
		return st;
	}
	if (axes.count != 1 && axes.count != array->shape.ndim) {
		return error_set(err, KZ_INVALID, "kz_quantile: expected one axis or KZ_ALL_AXES, got %lld "
			"of %lld", (long long)axes.count, (long long)array->shape.ndim);
	}
	bool is_flat = axes.count != 1;
	int64_t axis = is_flat ? 0 : axes.items[0];
	int64_t n = is_flat ? array->count : array->shape.dims[axis];
	if (n == 0) {
		return error_set(err, KZ_INVALID, "kz_quantile: there are no elements");
	}
	const struct quantile_place place = quantile_place(q, n, method);
	sort.descending = 0;
	if (!(st = is_flat ? kz_array_ravel_on(&flat, array, sort.stream, err) : KZ_OK)
	    && !(st = kz_array_astype_on(&floats, flat ? flat : array,
		dtype_is_float(array->dtype) ? array->dtype : KZ_F64, sort.stream, err))
	    && !(st = kz_sort(&sorted, floats, axis, &sort, err))) {
		st = quantile_mix(out, sorted, axis, &place, sort.stream, err);
	}
	kz_array_release(sorted);
	kz_array_release(floats);
	kz_array_release(flat);
	return st;
}
