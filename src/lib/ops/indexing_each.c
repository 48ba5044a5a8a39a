/* SPDX-License-Identifier: MIT */
/*
 * One array of indexes for several arrays: take_each, put_each.
 *
 * Every array is checked before the indexes are, and all of them before the first array is taken
 * from or written.  The indexes are converted and checked once for all arrays of the same extent.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/array/overlap.h"
#include "base/alloc.h"
#include "lib/ops/elementwise.h"
#include "lib/ops/indexing.h"

/* One array of the list, with what its call needs. */
struct each {
	struct indexing call;
	struct kz_array *places; /* the indexes, ready for this array */
	struct kz_array *values; /* put: ready for it, too */
};

static void each_release(struct each *items, int64_t count)
{
	for (int64_t i = 0; items && i < count; i++) {
		kz_array_release(items[i].places);
		kz_array_release(items[i].values);
	}
	mem_free(items);
}

/* An item for each array of a list, of which only the call's arguments are set. */
static kz_status each_create(struct each **out, kz_arrays arrays, const struct indexing *call,
	kz_error *err)
{
	if (arrays.count < 1 || !arrays.items) {
		return error_set(err, KZ_INVALID, "expected one array or more, got none");
	}
	struct each *items = mem_zalloc((size_t)arrays.count, sizeof(*items));
	if (!items) {
		return error_no_memory(err);
	}
	for (int64_t i = 0; i < arrays.count; i++) {
		items[i].call = *call;
		items[i].call.array = arrays.items[i];
	}
	*out = items;
	return KZ_OK;
}

/* Make the indexes ready for all arrays, once for those of one extent. */
static kz_status each_prepare(struct each *items, int64_t count, kz_error *err)
{
	kz_status st = KZ_OK;
	for (int64_t i = 0; !st && i < count; i++) {
		const struct indexing *call = &items[i].call;
		int64_t same = 0;
		while (items[same].call.range.extent != call->range.extent) {
			same++;
		}
		if (same < i) {
			items[i].places = kz_array_retain(items[same].places);
		} else {
			st = indexing_prepare(&items[i].places, call->indexes, &call->range,
				call->stream, err);
		}
	}
	return st;
}

/* Take */

static kz_status each_take(kz_array **out, kz_arrays arrays, const struct indexing *call,
	kz_error *err)
{
	const int64_t count = arrays.count;
	struct each *items = NULL;
	kz_status st;
	if ((st = out_check(out, (size_t)(count > 0 ? count : 0) * sizeof(*out), call->call, err))
	    || (st = each_create(&items, arrays, call, err))) {
		return st;
	}
	for (int64_t i = 0; !st && i < count; i++) {
		st = indexing_check_take(&items[i].call, err);
	}
	st = st ? st : each_prepare(items, count, err);
	for (int64_t i = 0; !st && i < count; i++) {
		st = indexing_take_checked(&out[i], &items[i].call, items[i].places, err);
	}
	for (int64_t i = 0; st && i < count; i++) {
		kz_array_release(out[i]);
		out[i] = NULL;
	}
	each_release(items, count);
	return st;
}

kz_status kz_array_take_each(kz_array **out, kz_arrays arrays, kz_array *indexes, int64_t axis,
	kz_index_mode mode, kz_error *err)
{
	error_scope(err);
	const struct indexing call = {__func__, NULL, indexes, axis, mode, .stream = NULL};
	return each_take(out, arrays, &call, err);
}

kz_status kz_array_take_each_on(kz_array **out, kz_arrays arrays, kz_array *indexes, int64_t axis,
	kz_index_mode mode, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	const struct indexing call = {__func__, NULL, indexes, axis, mode, .stream = stream};
	return each_take(out, arrays, &call, err);
}

/* Put */

/* Replace what is read for one array by a copy if the put into an earlier array could change it. */
static kz_status each_keep(struct kz_array **read, const struct each *items, int64_t place,
	kz_error *err)
{
	for (int64_t i = 0; i < place; i++) {
		if (overlap_memory(items[i].call.array, *read)) {
			struct kz_array *copy = NULL;
			kz_status st = kz_array_copy_on(&copy, *read, items[i].call.stream, err);
			if (!st) {
				kz_array_release(*read);
				*read = copy;
			}
			return st;
		}
	}
	return KZ_OK;
}

/* Make the values ready, and all that is read safe from what is written. */
static kz_status each_prepare_values(struct each *items, kz_arrays values, kz_error *err)
{
	kz_status st = KZ_OK;
	for (int64_t i = 0; !st && i < values.count; i++) {
		const struct indexing *call = &items[i].call;
		if (!(st = elementwise_contiguous(&items[i].values, values.items[i],
			call->array->dtype, call->stream, err))
		    && !(st = each_keep(&items[i].values, items, i, err))) {
			st = each_keep(&items[i].places, items, i, err);
		}
	}
	return st;
}

static kz_status each_put(kz_arrays arrays, kz_arrays values, const struct indexing *call,
	kz_error *err)
{
	const int64_t count = arrays.count;
	struct each *items = NULL;
	if (values.count != count || !values.items) {
		return error_set(err, KZ_INVALID, "expected as many arrays of values as arrays, "
			"got %lld for %lld", (long long)(values.items ? values.count : 0),
			(long long)count);
	}
	kz_status st = each_create(&items, arrays, call, err);
	if (st) {
		return st;
	}
	for (int64_t i = 0; !st && i < count; i++) {
		st = indexing_check_put(&items[i].call, values.items[i], err);
	}
	if (!st && !(st = each_prepare(items, count, err))) {
		st = each_prepare_values(items, values, err);
	}
	for (int64_t i = 0; !st && i < count; i++) {
		st = indexing_put_checked(&items[i].call, items[i].places, items[i].values, err);
	}
	each_release(items, count);
	return st;
}

kz_status kz_array_put_each(kz_arrays arrays, kz_array *indexes, kz_arrays values,
	kz_index_mode mode, kz_error *err)
{
	error_scope(err);
	const struct indexing call = {__func__, NULL, indexes, 0, mode, .stream = NULL};
	return each_put(arrays, values, &call, err);
}

kz_status kz_array_put_each_on(kz_arrays arrays, kz_array *indexes, kz_arrays values,
	kz_index_mode mode, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	const struct indexing call = {__func__, NULL, indexes, 0, mode, .stream = stream};
	return each_put(arrays, values, &call, err);
}
