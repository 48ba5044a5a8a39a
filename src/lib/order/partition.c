/* SPDX-License-Identifier: MIT */
/*
 * The greatest elements, and partitions: rows split by elements at given places (lib/order/select.h).  What
 * a selection is not worth is sorted.
 */
#include "base/common.h"

#include "lib/array/shape.h"
#include "lib/core/object.h"
#include "lib/order/key_order.h"
#include "lib/order/select.h"
#include "lib/order/sort.h"

#include <kudzu/indexing.h>

/* The greatest elements */

/* The first `count` elements of sorted rows. */
static kz_status topk_sort(kz_array **values, kz_array **indexes, struct kz_array *array, int64_t count,
	int64_t axis, const kz_sort_options *sort, kz_error *err)
{
	struct kz_array *order = NULL, *part = NULL, *copy = NULL;
	kz_status st;
	if (!(st = kz_argsort(&order, array, axis, sort, err))
	    && !(st = sort_slice(&part, order, axis, kz_slice_range(0, count, 1), err))
	    && !(st = kz_array_copy_on(&copy, part, sort->stream, err)) && values) {
		st = kz_array_take_along_axis_on(values, array, copy, axis, KZ_INDEX_WRAP, sort->stream, err);
	}
	if (!st && indexes) {
		*indexes = kz_array_retain(copy);
	}
	kz_array_release(copy);
	kz_array_release(part);
	kz_array_release(order);
	return st;
}

/* The same: the last of them is selected, those before it and enough that equal it are sorted. */
static kz_status topk_select(kz_array **values, kz_array **indexes, struct kz_array *array, int64_t count,
	int64_t axis, const kz_sort_options *sort, kz_error *err)
{
	struct select select = {.device = array_device(array), .stream = sort->stream,
		.descending = sort->descending};
	struct kz_array *parts[2] = {NULL, NULL}, *sorted[2] = {NULL, NULL};
	kz_shape moved = {.ndim = 0}, shape = array->shape;
	kz_status st;
	shape.dims[axis] = count;
	if (!(st = sort_take_rows(&select.rows, &moved, array, axis, sort->stream, err))
	    && !(st = select_run(&select, &(int64_t){count - 1}, 1, err))
	    && !(st = select_split(&parts[0], &parts[1], &select, count, err))) {
		st = kz_sort_by_key(&sorted[0], &sorted[1], parts[0], parts[1], 1, sort, err);
		moved.dims[moved.ndim - 1] = count;
	}
	if (!st && values) {
		st = sort_give_rows(values, sorted[0], &moved, axis, &shape, sort->stream, err);
	}
	if (!st && indexes) {
		st = sort_give_rows(indexes, sorted[1], &moved, axis, &shape, sort->stream, err);
	}
	for (int i = 0; i < 2; i++) {
		kz_array_release(parts[i]);
		kz_array_release(sorted[i]);
	}
	select_finish(&select);
	return st;
}

kz_status kz_topk(kz_array **values, kz_array **indexes, kz_array *array, int64_t count, int64_t axis,
	int largest, const kz_sort_options *options, kz_error *err)
{
	kz_sort_options sort = KZ_SORT_OPTIONS_INIT;
	kz_status st;
	out_clear(values, sizeof(*values), __func__);
	out_clear(indexes, sizeof(*indexes), __func__);
	if ((st = object_check(array, OBJECT_ARRAY, err))
	    || (st = axis_resolve(&axis, &array->shape, err))
	    || (st = sort_options_read(&sort.stream, &sort.descending, array_device(array), options, err))) {
		return st;
	}
	const int64_t n = array->shape.dims[axis];
	if (count < 0 || count > n) {
		return error_set(err, KZ_RANGE, "kz_topk: expected 0 to %lld elements of axis %lld, got %lld",
			(long long)n, (long long)axis, (long long)count);
	}
	sort.descending = largest;
	st = (count && count <= n / 2 && select_is_worth(array->dtype, n, 1) ? topk_select
		: topk_sort)(values, indexes, array, count, axis, &sort, err);
	if (st && values) {
		kz_array_release(*values);
		*values = NULL;
	}
	return st;
}

/* Partitions */

/* Places from 0, in rising order, as many as there is room for. */
static kz_status partition_places(int64_t places[SELECT_RANKS], const char *call, const int64_t *kth,
	int64_t count, int64_t axis, int64_t n, kz_error *err)
{
	if (count < 0 || (count && !kth)) {
		return error_set(err, KZ_INVALID, "%s: expected a list of places, got %lld%s", call,
			(long long)count, kth ? "" : " at NULL");
	}
	for (int64_t i = 0; i < count; i++) {
		const int64_t place = kth[i] < 0 ? kth[i] + n : kth[i];
		if (place < 0 || place >= n) {
			return error_set(err, KZ_RANGE, "%s: place %lld is out of range for axis %lld of %lld "
				"elements", call, (long long)kth[i], (long long)axis, (long long)n);
		}
		int64_t at = min64(i, SELECT_RANKS - 1);
		for (; at > 0 && places[at - 1] > place; at--) {
			places[at] = places[at - 1];
		}
		places[at] = place;
	}
	return KZ_OK;
}

static kz_status partition_select(kz_array **out, struct kz_array *array, const int64_t *places,
	int64_t count, int64_t axis, const kz_sort_options *sort, bool want_indexes, kz_error *err)
{
	struct select select = {.device = array_device(array), .stream = sort->stream,
		.descending = sort->descending};
	struct kz_array *part = NULL;
	kz_shape moved = {.ndim = 0};
	kz_status st;
	if (!(st = sort_take_rows(&select.rows, &moved, array, axis, sort->stream, err))
	    && !(st = select_run(&select, places, (int)count, err))
	    && !(st = select_split(want_indexes ? NULL : &part, want_indexes ? &part : NULL, &select,
		array->shape.dims[axis], err))) {
		st = sort_give_rows(out, part, &moved, axis, &array->shape, sort->stream, err);
	}
	kz_array_release(part);
	select_finish(&select);
	return st;
}

static kz_status partition_run(kz_array **out, const char *call, kz_array *array, const int64_t *kth,
	int64_t count, int64_t axis, const kz_sort_options *options, bool want_indexes, kz_error *err)
{
	int64_t places[SELECT_RANKS];
	kz_sort_options sort = KZ_SORT_OPTIONS_INIT;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), call, err))
	    || (st = sort_check_axis(&axis, array, call, err))
	    || (st = sort_options_read(&sort.stream, &sort.descending, array_device(array), options, err))) {
		return st;
	}
	const int64_t n = array->shape.ndim ? array->shape.dims[axis] : 1;
	if (!key_order_bits(array->dtype)) {
		return error_set(err, KZ_INVALID, "%s: %s has no order", call,
			dtype_refused(array->dtype));
	}
	if ((st = partition_places(places, call, kth, count, axis, n, err))) {
		return st;
	}
	if (select_is_worth(array->dtype, n, count)) {
		return partition_select(out, array, places, count, axis, &sort, want_indexes, err);
	}
	return (want_indexes ? kz_argsort : kz_sort)(out, array, axis, &sort, err);
}

kz_status kz_partition(kz_array **out, kz_array *array, const int64_t *kth, int64_t count, int64_t axis,
	const kz_sort_options *options, kz_error *err)
{
	return partition_run(out, __func__, array, kth, count, axis, options, false, err);
}

kz_status kz_argpartition(kz_array **out, kz_array *array, const int64_t *kth, int64_t count,
	int64_t axis, const kz_sort_options *options, kz_error *err)
{
	return partition_run(out, __func__, array, kth, count, axis, options, true, err);
}
