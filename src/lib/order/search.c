/* SPDX-License-Identifier: MIT */
/*
 * Places among sorted elements (kernels/search.cuh): searchsorted, digitize.
 *
 * The kernels take elements of one type without gaps, so both arrays become their common type
 * first.  On the CPU device a block is a warp, whose lanes bisect together.
 */
#include "base/common.h"

#include "lib/order/search.h"
#include "lib/ops/device_code.h"
#include "lib/ops/indexing.h"
#include "lib/ops/kernels.h"

#include <kudzu/search.h>
#include <kudzu/view.h>

#include <string.h>

enum { CHUNK = 8192, BLOCK = 256, WARP = 32 };

/* Kernels */

struct search_class {
	enum search_kind kind;
	kz_dtype dtype;
	int wide; /* places need 64 bits */
	kz_dtype place;
};

static void search_write(struct str *source, const void *context)
{
	static const char *const names[] = {"ORDER", "LEFT", "RIGHT", "BINS"};
	const struct search_class *class = context;
	generate_prelude(source, dtype_bit(class->dtype), false);
	str_add(source, "typedef ");
	generate_storage(source, class->dtype);
	str_addf(source, " kz_stored;\ntypedef %s kz_value;\ntypedef %s kz_index;\ntypedef %s "
		"kz_place;\n", generate_value(class->dtype), class->wide ? "long long" : "int",
		generate_value(class->place));
	str_add(source, "static __device__ inline kz_value kz_load(kz_stored a) { return ");
	generate_load(source, class->dtype, "a");
	str_addf(source, "; }\n#define KZ_%s\n%s%s", names[class->kind],
		dtype_is_complex(class->dtype) ? "#define KZ_COMPLEX\n" : "", device_search);
}

static const struct kernel_family search_family = {
	"search", search_write, {[SCHEDULE_MANY] = {BLOCK, CHUNK}, [SCHEDULE_ONE] = {WARP, CHUNK}},
};

/* One kernel for `count` elements; two or three arrays are what it uses. */
static kz_status search_launch(const struct search_class *class, int64_t count, void **params,
	struct kz_array *const arrays[3], struct kz_stream *stream, kz_error *err)
{
	const struct kernels_run run = {
		.want = {&search_family, class, sizeof(*class)}, .stream = stream,
		.grid = kz_dim(divide_up(count, CHUNK), 1, 1), .params = params,
		.arrays = arrays, .array_count = 3,
	};
	return count ? kernels_run(&run, err) : KZ_OK;
}

kz_status search_find_order(struct search_order *order, kz_array *sorted, struct kz_stream *stream,
	kz_error *err)
{
	struct kz_array *elements = NULL, *found = NULL;
	const struct search_class class = {SEARCH_ORDER, sorted->dtype, 0, KZ_I64};
	int64_t pairs = sorted->count > 1 ? sorted->count - 1 : 0;
	kz_status st;
	if ((st = elementwise_contiguous(&elements, sorted, sorted->dtype, stream, err))
	    || (st = kz_array_zeros_on(&found, array_device(sorted), KZ_U64, KZ_SHAPE(2), stream,
			err))) {
		goto done;
	}
	CUdeviceptr address[2] = {array_address(found), array_address(elements)};
	void *params[] = {&address[0], &address[1], &pairs};
	struct kz_array *const arrays[3] = {found, elements};
	if (!(st = search_launch(&class, pairs, params, arrays, stream, err))) {
		st = kz_array_get(found, order, sizeof(*order), err);
		*order = (struct search_order){~order->rise, ~order->fall};
	}
done:
	kz_array_release(elements);
	kz_array_release(found);
	return st;
}

kz_status search_run(kz_array **out, const struct search *search, kz_array *values, kz_error *err)
{
	struct kz_array *sorted = search->sorted;
	struct kz_stream *stream = search->stream;
	struct kz_array *elements = NULL, *from = NULL, *places = NULL;
	kz_dtype dtype = kz_dtype_promote(sorted->dtype, values->dtype);
	int64_t length = sorted->count;
	/* Numbers of bins are read but once: the fewer bytes, the better. */
	kz_dtype place = search->kind != SEARCH_BINS || length > UINT32_MAX ? KZ_I64
		: length > UINT16_MAX ? KZ_U32
		: length > UINT8_MAX ? KZ_U16 : KZ_U8;
	const struct search_class class = {search->kind, dtype, length > INT32_MAX, place};
	int64_t origin = search->down ? length : 0, sign = search->down ? -1 : 1;
	kz_status st;
	if ((st = elementwise_contiguous(&elements, sorted, dtype, stream, err))
	    || (st = elementwise_contiguous(&from, values, dtype, stream, err))
	    || (st = array_create_on(&places, array_device(sorted), place, &values->shape, stream,
		err))) {
		goto done;
	}
	CUdeviceptr address[3] = {array_address(places), array_address(from),
		array_address(elements)};
	void *params[] = {&address[0], &address[1], &address[2], &places->count, &length, &origin,
		&sign};
	struct kz_array *const arrays[3] = {places, from, elements};
	st = search_launch(&class, places->count, params, arrays, stream, err);
done:
	kz_array_release(elements);
	kz_array_release(from);
	return array_finish(out, places, st);
}

/* Callers */

kz_status search_check(const kz_array *sorted, const kz_array *values, const char *call,
	kz_error *err)
{
	kz_status st;
	if ((st = object_check(sorted, OBJECT_ARRAY, err))
	    || (st = object_check(values, OBJECT_ARRAY, err))
	    || (st = array_same_device(call, sorted, values, err))) {
		return st;
	}
	for (int i = 0; i < 2; i++) {
		kz_dtype dtype = i ? values->dtype : sorted->dtype;
		if (!dtype_is_number(dtype)) {
			return error_set(err, KZ_INVALID, "%s: %s has no order", call,
				dtype_refused(dtype));
		}
	}
	if (sorted->shape.ndim != 1) {
		return error_set(err, KZ_INVALID, "%s: expected one extent of sorted elements, got "
			"shape %s", call, shape_text(&sorted->shape).text);
	}
	return KZ_OK;
}

static kz_status search_options(kz_search_options *read, const kz_search_options *options,
	const kz_array *array, kz_error *err)
{
	*read = (kz_search_options)KZ_SEARCH_OPTIONS_INIT;
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_search_options", options->size, sizeof(*options), err);
	}
	*read = options ? *options : *read;
	return stream_pick(&read->stream, array_device(array), read->stream, err);
}

/* The elements in the order that a sorter gives. */
static kz_status search_sort(kz_array **out, kz_array *elements, kz_array *sorter,
	struct kz_stream *stream, kz_error *err)
{
	kz_status st = object_check(sorter, OBJECT_ARRAY, err);
	if (!st && !shape_equal(&sorter->shape, &elements->shape)) {
		st = error_set(err, KZ_INVALID, "searchsorted: expected a sorter of shape %s, got "
			"%s", shape_text(&elements->shape).text, shape_text(&sorter->shape).text);
	}
	return st ? st : kz_array_take_on(out, elements, sorter, 0, KZ_INDEX_CHECK, stream, err);
}

kz_status kz_searchsorted(kz_array **out, kz_array *sorted, kz_array *values,
	const kz_search_options *options, kz_error *err)
{
	error_scope(err);
	kz_search_options how;
	kz_array *in_order = NULL;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = search_check(sorted, values, "searchsorted", err))
	    || (st = search_options(&how, options, sorted, err))
	    || (how.sorter && (st = search_sort(&in_order, sorted, how.sorter, how.stream, err)))) {
		return st;
	}
	const struct search search = {.sorted = in_order ? in_order : sorted,
		.kind = how.right ? SEARCH_RIGHT : SEARCH_LEFT, .stream = how.stream};
	st = search_run(out, &search, values, err);
	kz_array_release(in_order);
	return st;
}

/* Descending edges are searched from their end. */
static kz_status search_bins(kz_array **out, kz_array *array, kz_array *bins, bool down,
	const kz_search_options *how, kz_error *err)
{
	kz_array *edges = NULL;
	kz_status st = down ? kz_array_slice(&edges, bins,
		KZ_AT(KZ_SLICE(KZ_OMIT, KZ_OMIT, -1)), err) : KZ_OK;
	const struct search search = {.sorted = down ? edges : bins,
		.kind = how->right ? SEARCH_LEFT : SEARCH_RIGHT, .down = down,
		.stream = how->stream};
	st = st ? st : search_run(out, &search, array, err);
	kz_array_release(edges);
	return st;
}

kz_status kz_digitize(kz_array **out, kz_array *array, kz_array *bins,
	const kz_search_options *options, kz_error *err)
{
	error_scope(err);
	struct search_order order;
	kz_search_options how;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = search_check(bins, array, "digitize", err))
	    || (st = search_options(&how, options, array, err))
	    || (st = indexing_check_wait(bins, how.stream, err))) {
		return st;
	}
	if (how.sorter) {
		return error_set(err, KZ_INVALID, "digitize: expected no sorter");
	}
	if (dtype_is_complex(array->dtype) || dtype_is_complex(bins->dtype)) {
		return error_set(err, KZ_INVALID, "digitize: expected real numbers, got %s",
			dtype_refused(dtype_is_complex(bins->dtype) ? bins->dtype : array->dtype));
	}
	if ((st = search_find_order(&order, bins, how.stream, err))) {
		return st;
	}
	if (order.rise != SEARCH_NONE && order.fall != SEARCH_NONE) {
		return error_set(err, KZ_INVALID, "digitize: expected bins in ascending or "
			"descending order, but bin %llu is below bin %llu, and bin %llu is below "
			"bin %llu", (unsigned long long)order.rise,
			(unsigned long long)order.rise + 1, (unsigned long long)order.fall + 1,
			(unsigned long long)order.fall);
	}
	return search_bins(out, array, bins, order.fall != SEARCH_NONE, &how, err);
}
