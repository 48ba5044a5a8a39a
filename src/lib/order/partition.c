/* SPDX-License-Identifier: MIT */
/*
 * The greatest elements, and partitions: rows split by elements at given places
 * (lib/order/select.h).  What a selection is not worth is sorted.
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
static kz_status partition_sort_top(kz_array **values, kz_array **indexes, struct kz_array *array,
	int64_t count, struct sort_axis *along, kz_error *err)
{
	const kz_sort_options sort = sort_axis_options(along);
	struct kz_array *order = NULL, *part = NULL, *copy = NULL;
	kz_status st;
	if (!(st = kz_argsort(&order, array, along->axis, &sort, err))
	    && !(st = sort_slice(&part, order, along->axis, kz_slice_range(0, count, 1), err))
	    && !(st = kz_array_copy_on(&copy, part, along->stream, err)) && values) {
		st = kz_array_take_along_axis_on(values, array, copy, along->axis, KZ_INDEX_WRAP,
			along->stream, err);
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
static kz_status partition_select_top(kz_array **values, kz_array **indexes, struct kz_array *array,
	int64_t count, struct sort_axis *along, kz_error *err)
{
	const kz_sort_options sort = sort_axis_options(along);
	struct select select = {.device = array_device(array), .stream = along->stream,
		.descending = along->descending};
	struct kz_array *parts[2] = {NULL, NULL}, *sorted[2] = {NULL, NULL};
	kz_status st;
	if (!(st = sort_take_rows(&select.rows, along, array, err))
	    && !(st = select_run(&select, &(int64_t){count - 1}, 1, err))
	    && !(st = select_split(&parts[0], &parts[1], &select, count, err))) {
		st = kz_sort_by_key(&sorted[0], &sorted[1], parts[0], parts[1], 1, &sort, err);
	}
	if (!st && values) {
		st = sort_give_rows(values, along, sorted[0], err);
	}
	if (!st && indexes) {
		st = sort_give_rows(indexes, along, sorted[1], err);
	}
	for (int i = 0; i < 2; i++) {
		kz_array_release(parts[i]);
		kz_array_release(sorted[i]);
	}
	select_finish(&select);
	return st;
}

kz_status kz_topk(kz_array **values, kz_array **indexes, kz_array *array, int64_t count,
	int64_t axis, int largest, const kz_sort_options *options, kz_error *err)
{
	error_scope(err);
	struct sort_axis along = {.axis = axis};
	kz_status st;
	out_clear(values, sizeof(*values), __func__);
	out_clear(indexes, sizeof(*indexes), __func__);
	if ((st = object_check(array, OBJECT_ARRAY, err))
	    || (st = axis_resolve(&along.axis, &array->shape, err))
	    || (st = sort_options_read(&along.stream, &along.descending, array_device(array),
		options, err))) {
		return st;
	}
	const int64_t n = array->shape.dims[along.axis];
	if (count < 0 || count > n) {
		return error_set(err, KZ_RANGE, "kz_topk: expected 0 to %lld elements of axis "
			"%lld, got %lld", (long long)n, (long long)along.axis, (long long)count);
	}
	along.descending = largest;
	st = (count && count <= n / 2 && select_is_worth(array->dtype, n, 1) ? partition_select_top
		: partition_sort_top)(values, indexes, array, count, &along, err);
	if (st && values) {
		kz_array_release(*values);
		*values = NULL;
	}
	return st;
}

/* Partitions */

/* One call: split the rows along an axis by the elements at places of the sorted row. */
struct partition {
	const char *call;
	const int64_t *kth;   /* as the caller gave them */
	int64_t count;
	bool wants_indexes;   /* of the elements, not the elements */
	struct sort_axis along;
};

/* Places from 0, in rising order, as many as there is room for, in rows of n. */
static kz_status partition_places(int64_t places[SELECT_RANKS], const struct partition *partition,
	int64_t n, kz_error *err)
{
	const int64_t *kth = partition->kth;
	if (partition->count < 0 || (partition->count && !kth)) {
		return error_set(err, KZ_INVALID, "%s: expected a list of places, got %lld%s",
			partition->call, (long long)partition->count, kth ? "" : " at NULL");
	}
	for (int64_t i = 0; i < partition->count; i++) {
		const int64_t place = kth[i] < 0 ? kth[i] + n : kth[i];
		if (place < 0 || place >= n) {
			return error_set(err, KZ_RANGE, "%s: place %lld is out of range for axis "
				"%lld of %lld elements", partition->call, (long long)kth[i],
				(long long)partition->along.axis, (long long)n);
		}
		int64_t at = min64(i, SELECT_RANKS - 1);
		for (; at > 0 && places[at - 1] > place; at--) {
			places[at] = places[at - 1];
		}
		places[at] = place;
	}
	return KZ_OK;
}

static kz_status partition_select(kz_array **out, struct partition *partition,
	struct kz_array *array, const int64_t *places, kz_error *err)
{
	struct sort_axis *along = &partition->along;
	struct select select = {.device = array_device(array), .stream = along->stream,
		.descending = along->descending};
	struct kz_array *part = NULL;
	const bool wants_indexes = partition->wants_indexes;
	kz_status st;
	if (!(st = sort_take_rows(&select.rows, along, array, err))
	    && !(st = select_run(&select, places, (int)partition->count, err))
	    && !(st = select_split(wants_indexes ? NULL : &part, wants_indexes ? &part : NULL,
		&select, array->shape.dims[along->axis], err))) {
		st = sort_give_rows(out, along, part, err);
	}
	kz_array_release(part);
	select_finish(&select);
	return st;
}

static kz_status partition_run(kz_array **out, struct partition *partition, kz_array *array,
	const kz_sort_options *options, kz_error *err)
{
	struct sort_axis *along = &partition->along;
	int64_t places[SELECT_RANKS];
	kz_status st;
	if ((st = out_check(out, sizeof(*out), partition->call, err))
	    || (st = sort_axis_read(along, array, options, err))) {
		return st;
	}
	const int64_t n = array->shape.ndim ? array->shape.dims[along->axis] : 1;
	if (!key_order_bits(array->dtype)) {
		return error_set(err, KZ_INVALID, "%s: %s has no order", partition->call,
			dtype_refused(array->dtype));
	}
	if ((st = partition_places(places, partition, n, err))) {
		return st;
	}
	if (select_is_worth(array->dtype, n, partition->count)) {
		return partition_select(out, partition, array, places, err);
	}
	const kz_sort_options sort = sort_axis_options(along);
	return (partition->wants_indexes ? kz_argsort : kz_sort)(out, array, along->axis, &sort,
		err);
}

kz_status kz_partition(kz_array **out, kz_array *array, const int64_t *kth, int64_t count,
	int64_t axis, const kz_sort_options *options, kz_error *err)
{
	error_scope(err);
	struct partition partition = {.call = __func__, .kth = kth, .count = count,
		.along.axis = axis};
	return partition_run(out, &partition, array, options, err);
}

kz_status kz_argpartition(kz_array **out, kz_array *array, const int64_t *kth, int64_t count,
	int64_t axis, const kz_sort_options *options, kz_error *err)
{
	error_scope(err);
	struct partition partition = {.call = __func__, .kth = kth, .count = count,
		.along.axis = axis, .wants_indexes = true};
	return partition_run(out, &partition, array, options, err);
}
