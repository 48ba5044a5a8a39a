/* SPDX-License-Identifier: MIT */
/* Quantiles: elements at places of the sorted rows, which are selected where rows are long. */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/core/object.h"
#include "lib/order/select.h"
#include "lib/order/sort.h"

#include <kudzu/eval.h>

#include <math.h>

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

/* The elements on both sides and the last one, by a sort along the axis. */
static kz_status quantile_sort(struct kz_array *parts[3], struct kz_array *array, int64_t axis,
	const struct quantile_place *place, struct kz_stream *stream, kz_error *err)
{
	const int64_t at[] = {place->low, place->high, array->shape.dims[axis] - 1};
	kz_sort_options sort = KZ_SORT_OPTIONS_INIT;
	struct kz_array *sorted = NULL;
	sort.stream = stream;
	kz_status st = kz_sort(&sorted, array, axis, &sort, err);
	for (int i = 0; i < 3 && !st; i++) {
		st = sort_slice(&parts[i], sorted, axis, kz_slice_index(at[i]), err);
	}
	kz_array_release(sorted);
	return st;
}

/* The same without a sort. */
static kz_status quantile_select(struct kz_array *parts[3], struct kz_array *array, int64_t axis,
	const struct quantile_place *place, struct kz_stream *stream, kz_error *err)
{
	struct select select = {.device = array_device(array), .stream = stream};
	struct sort_axis along = {.axis = axis, .stream = stream};
	struct kz_array *found[3] = {NULL, NULL, NULL};
	kz_status st;
	if (!(st = sort_take_rows(&select.rows, &along, array, err))
	    && !(st = select_run(&select, &place->low, 1, err))) {
		st = select_give(found, &select, place->low, err);
	}
	along.moved.ndim--;
	for (int i = 0; i < 3 && !st; i++) {
		const bool is_first = i == 1 && place->high == place->low;
		st = kz_array_view(&parts[i], found[is_first ? 0 : i], along.moved, NULL, 0, err);
	}
	for (int i = 0; i < 3; i++) {
		kz_array_release(found[i]);
	}
	select_finish(&select);
	return st;
}

/* Between two elements, from the nearer one; a share of both if their distance overflows; NaN if
 * there is one among all, which is the last. */
#define QUANTILE_MIX(near)                                                                         \
	"where(last != last, last, where(a == b, a, "                                              \
	"where(isinf(b - a) & isfinite(a) & isfinite(b), a * (1 - share) + b * share, " near ")))"

static kz_status quantile_mix(kz_array **out, struct kz_array *const parts[3], double share,
	kz_dtype dtype, kz_stream *stream, kz_error *err)
{
	struct kz_array *floats[3] = {NULL, NULL, NULL};
	kz_op_options op = KZ_OP_OPTIONS_INIT;
	kz_status st = KZ_OK;
	op.stream = stream;
	op.dtype = dtype;
	for (int i = 0; i < 3 && !st; i++) {
		st = kz_array_astype_on(&floats[i], parts[i], dtype, stream, err);
	}
	st = st ? st : kz_eval(out, share < 0.5
		? QUANTILE_MIX("a + (b - a) * share")
		: QUANTILE_MIX("b - (b - a) * (1 - share)"), &op, err,
		KZ_VARS(KZ_VAR("a", floats[0]), KZ_VAR("b", floats[1]),
			KZ_VAR("last", floats[2]), KZ_VAR("share", share)));
	for (int i = 0; i < 3; i++) {
		kz_array_release(floats[i]);
	}
	return st;
}

static kz_status quantile_check(kz_array *array, double q, kz_quantile_method method, kz_error *err)
{
	if (!dtype_is_real(array->dtype)) {
		return error_set(err, KZ_INVALID, "kz_quantile: expected real numbers, got %s",
			dtype_refused(array->dtype));
	}
	if (!(q >= 0 && q <= 1)) {
		return error_set(err, KZ_RANGE,
			"kz_quantile: expected quantiles from 0 to 1, got %g", q);
	}
	return method >= KZ_QUANTILE_LINEAR && method <= KZ_QUANTILE_MIDPOINT ? KZ_OK
		: error_set(err, KZ_INVALID, "kz_quantile: %d is not a kz_quantile_method",
			(int)method);
}

kz_status kz_quantile(kz_array **out, kz_array *array, double q, kz_axes axes,
	kz_quantile_method method, const kz_sort_options *options, kz_error *err)
{
	error_scope(err);
	struct kz_array *flat = NULL, *parts[3] = {NULL, NULL, NULL};
	struct kz_stream *stream = NULL;
	int descending;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))
	    || (st = quantile_check(array, q, method, err))
	    || (st = axes_resolve(&axes, NULL, &array->shape, err))
	    || (st = sort_options_read(&stream, &descending, array_device(array), options, err))) {
		return st;
	}
	if (axes.count != 1 && axes.count != array->shape.ndim) {
		return error_set(err, KZ_INVALID, "kz_quantile: expected one axis or KZ_ALL_AXES, "
			"got %lld of %lld", (long long)axes.count, (long long)array->shape.ndim);
	}
	bool is_flat = axes.count != 1;
	int64_t axis = is_flat ? 0 : axes.items[0];
	int64_t n = is_flat ? array->count : array->shape.dims[axis];
	if (n == 0) {
		return error_set(err, KZ_INVALID,
			"kz_quantile: expected at least one element, got none");
	}
	const struct quantile_place place = quantile_place(q, n, method);
	const kz_dtype dtype = dtype_is_float(array->dtype) ? array->dtype : KZ_F64;
	if (!(st = is_flat ? kz_array_ravel_on(&flat, array, stream, err) : KZ_OK)
	    && !(st = (select_is_worth(array->dtype, n, 1) ? quantile_select : quantile_sort)(parts,
		flat ? flat : array, axis, &place, stream, err))) {
		st = quantile_mix(out, parts, place.share, dtype, stream, err);
	}
	for (int i = 0; i < 3; i++) {
		kz_array_release(parts[i]);
	}
	kz_array_release(flat);
	return st;
}
