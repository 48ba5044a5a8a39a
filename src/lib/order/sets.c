/* SPDX-License-Identifier: MIT */
/*
 * The different elements of arrays: an array is sorted, and marks say where a run of equal elements
 * begins.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/core/object.h"
#include "lib/order/runs.h"
#include "lib/order/sort.h"

#include <kudzu/eval.h>
#include <kudzu/indexing.h>
#include <kudzu/join.h>
#include <kudzu/scan.h>
#include <kudzu/search.h>
#include <kudzu/sets.h>

/* One call, and what is made on the way; sets_end releases it. */
struct sets {
	const char *call;
	bool inverts;  /* isin and setdiff1d: elements that are not in the other array */
	struct kz_stream *stream;
	kz_sort_options sort;
	kz_op_options op;
	struct kz_array *flat, *order, *sorted, *offsets, *marks;
};

static kz_status sets_begin(struct sets *sets, kz_array *array, const kz_set_options *options,
	kz_error *err)
{
	struct kz_stream *stream = options ? options->stream : NULL;
	kz_status st;
	sets->sort = (kz_sort_options)KZ_SORT_OPTIONS_INIT;
	sets->op = (kz_op_options)KZ_OP_OPTIONS_INIT;
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_set_options", options->size, sizeof(*options), err);
	}
	if ((st = object_check(array, OBJECT_ARRAY, err))
	    || (st = stream_pick(&stream, array_device(array), stream, err))) {
		return st;
	}
	sets->stream = sets->sort.stream = sets->op.stream = stream;
	return kz_array_ravel_on(&sets->flat, array, stream, err);
}

static void sets_end(struct sets *sets)
{
	struct kz_array *all[] = {sets->flat, sets->order, sets->sorted, sets->offsets,
		sets->marks};
	for (size_t i = 0; i < countof(all); i++) {
		kz_array_release(all[i]);
	}
}

/* For each element the number of its run: the marks before it in the order, put where it came
 * from. */
static kz_status sets_invert(kz_array **out, const struct sets *sets, const kz_shape *shape,
	kz_error *err)
{
	kz_scan_options scan = KZ_SCAN_OPTIONS_INIT;
	struct kz_array *marks = NULL, *runs = NULL, *places = NULL, *numbers = NULL;
	kz_status st;
	scan.stream = sets->stream;
	if (!(st = kz_array_astype_on(&marks, sets->marks, KZ_I64, sets->stream, err))
	    && !(st = kz_scan(&runs, marks, "a + b", "0", &scan, err))
	    && !(st = kz_eval(&numbers, "a - 1", &sets->op, err, KZ_VARS(KZ_VAR("a", runs))))
	    && !(st = kz_array_create_on(&places, array_device(sets->flat), KZ_I64,
		KZ_SHAPE(sets->flat->count), sets->stream, err))
	    && !(st = kz_array_put_on(places, sets->order, numbers, KZ_INDEX_WRAP, sets->stream,
		err))) {
		st = kz_array_reshape_view(out, places, *shape, err);
	}
	kz_array_release(marks);
	kz_array_release(runs);
	kz_array_release(numbers);
	kz_array_release(places);
	return st;
}

/* The elements in order; with their indexes only if these are needed, since they take more
 * memory. */
static kz_status sets_sort(struct sets *sets, bool with_order, kz_error *err)
{
	if (!with_order) {
		return kz_sort(&sets->sorted, sets->flat, 0, &sets->sort, err);
	}
	kz_status st = kz_argsort(&sets->order, sets->flat, 0, &sets->sort, err);
	return st ? st : kz_array_take_on(&sets->sorted, sets->flat, sets->order, 0, KZ_INDEX_WRAP,
		sets->stream, err);
}

static const char nan_are_equal[] = "(a != b) & ((a == a) | (b == b))";

/* A result if it is wanted: *out is NULL or the array. */
#define WANTED(out, call) ((out) ? (call) : KZ_OK)

static void sets_release_all(kz_array **const out[4])
{
	for (int i = 0; i < 4; i++) {
		if (out[i]) {
			kz_array_release(*out[i]);
			*out[i] = NULL;
		}
	}
}

kz_status kz_unique(kz_array **values, kz_array **index, kz_array **inverse, kz_array **counts,
	kz_array *array, const kz_set_options *options, kz_error *err)
{
	error_scope(err);
	kz_array **const out[4] = {values, index, inverse, counts};
	struct sets sets = {.call = __func__};
	for (int i = 0; i < 4; i++) {
		if (out[i]) {
			*out[i] = NULL;
		}
	}
	kz_status st = sets_begin(&sets, array, options, err);
	if (!st && !(st = sets_sort(&sets, index || inverse, err))
	    && !(st = runs_find(&sets.offsets, &sets.marks, sets.sorted, nan_are_equal, sets.stream,
		err))
	    && !(st = WANTED(values,
		runs_take(values, sets.sorted, sets.offsets, sets.stream, err)))
	    && !(st = WANTED(index, runs_take(index, sets.order, sets.offsets, sets.stream, err)))
	    && !(st = WANTED(inverse, sets_invert(inverse, &sets, &array->shape, err)))) {
		st = WANTED(counts, kz_diff(counts, sets.offsets, 1, 0, &sets.op, err));
	}
	if (st) {
		sets_release_all(out);
	}
	sets_end(&sets);
	return st;
}

/* Whether each element of an array, of any shape, is one of those that sets_begin has laid flat. */
static kz_status sets_find_among(kz_array **out, const struct sets *others,
	const struct kz_array *among, struct kz_array *array, kz_error *err)
{
	kz_search_options search = KZ_SEARCH_OPTIONS_INIT;
	struct kz_array *sorted = NULL, *places = NULL, *nearest = NULL;
	uint8_t value = others->inverts;
	kz_status st;
	search.stream = others->stream;
	if (among->count == 0) {
		return kz_array_full_on(out, array_device(array), KZ_BOOL, array->shape,
			&value, sizeof(value), others->stream, err);
	}
	if (!(st = kz_sort(&sorted, others->flat, 0, &others->sort, err))
	    && !(st = kz_searchsorted(&places, sorted, array, &search, err))
	    && !(st = kz_array_take_on(&nearest, sorted, places, 0, KZ_INDEX_CLIP, others->stream,
		err))) {
		st = kz_eval(out, others->inverts ? "a != b" : "a == b", &others->op, err,
			KZ_VARS(KZ_VAR("a", array), KZ_VAR("b", nearest)));
	}
	kz_array_release(nearest);
	kz_array_release(places);
	kz_array_release(sorted);
	return st;
}

kz_status kz_isin(kz_array **out, kz_array *array, kz_array *among, int invert,
	const kz_set_options *options, kz_error *err)
{
	error_scope(err);
	struct sets others = {.call = __func__, .inverts = invert};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))) {
		return st;
	}
	if (!(st = sets_begin(&others, among, options, err))) {
		st = sets_find_among(out, &others, among, array, err);
	}
	sets_end(&others);
	return st;
}

kz_status kz_union1d(kz_array **out, kz_array *a, kz_array *b, const kz_set_options *options,
	kz_error *err)
{
	error_scope(err);
	struct sets first = {.call = __func__}, second = {.call = __func__};
	struct kz_array *both = NULL;
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	if (!st && !(st = sets_begin(&first, a, options, err))
	    && !(st = sets_begin(&second, b, options, err))
	    && !(st = kz_array_concatenate(&both, KZ_ARRAYS(first.flat, second.flat), 0, &first.op,
		err))) {
		st = kz_unique(out, NULL, NULL, NULL, both, options, err);
	}
	kz_array_release(both);
	sets_end(&first);
	sets_end(&second);
	return st;
}

/* The different elements of `a` that are, or are not, in `b`. */
static kz_status sets_filter(kz_array **out, struct sets *others, kz_array *a, kz_array *b,
	const kz_set_options *options, kz_error *err)
{
	struct kz_array *values = NULL, *mask = NULL;
	kz_status st;
	if (!(st = kz_unique(&values, NULL, NULL, NULL, a, options, err))
	    && !(st = sets_begin(others, b, options, err))
	    && !(st = sets_find_among(&mask, others, b, values, err))) {
		st = kz_array_compress_on(out, values, mask, others->stream, err);
	}
	sets_end(others);
	kz_array_release(mask);
	kz_array_release(values);
	return st;
}

kz_status kz_intersect1d(kz_array **out, kz_array *a, kz_array *b, const kz_set_options *options,
	kz_error *err)
{
	error_scope(err);
	struct sets others = {.call = __func__};
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	return st ? st : sets_filter(out, &others, a, b, options, err);
}

kz_status kz_setdiff1d(kz_array **out, kz_array *a, kz_array *b, const kz_set_options *options,
	kz_error *err)
{
	error_scope(err);
	struct sets others = {.call = __func__, .inverts = true};
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	return st ? st : sets_filter(out, &others, a, b, options, err);
}
