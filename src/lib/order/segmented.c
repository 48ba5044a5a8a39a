/* SPDX-License-Identifier: MIT */
/*
 * Segments of an array (kernels/segmented.cuh), and runs of equal elements.
 *
 * Runs are segments: they begin where an element differs from the one before, which a comparison
 * and kz_array_nonzero find.  To decode them is to search for each place of the result among the
 * ends of the runs.
 */
#include "base/common.h"

#include "lib/order/runs.h"
#include "lib/order/search.h"
#include "lib/ops/device_code.h"
#include "lib/ops/indexing.h"
#include "lib/ops/kernels.h"
#include "lib/ops/user_text.h"

#include <kudzu/create.h>
#include <kudzu/scan.h>
#include <kudzu/segment.h>
#include <kudzu/view.h>

#include <stdio.h>
#include <string.h>

enum { CHUNK = 256, BLOCK = 256, TEXT = 512 };

/* How elements are combined. */
struct segmented {
	const char *call;
	const char *operation, *neutral;
	kz_dtype dtype, result; /* of the elements, of the result */
	struct kz_stream *stream;
};

/* Kernels */

static void segmented_write_function(struct str *source, const char *head, const char *what,
	const char *text)
{
	str_addf(source, "static __device__ inline kz_acc %s\n{\nreturn", head);
	user_text_add(source, "segments", what, text, ";");
	str_add(source, "}\n");
}

static void segmented_write(struct str *source, const void *context)
{
	const struct segmented *how = context;
	generate_prelude(source, dtype_bit(how->dtype) | dtype_bit(how->result),
		dtype_is_exact(how->dtype));
	str_add(source, "#define INFINITY __int_as_float(0x7f800000)\ntypedef ");
	generate_storage(source, how->dtype);
	str_add(source, " kz_stored;\ntypedef ");
	generate_storage(source, how->result);
	str_addf(source, " kz_result;\ntypedef %s kz_acc;\n"
		"static __device__ inline kz_acc kz_load(kz_stored a) { return ",
		generate_value(how->result));
	generate_load(source, how->dtype, "a");
	str_add(source, "; }\nstatic __device__ inline kz_result kz_save(kz_acc a)\n{\n\tkz_result "
		"b;\n\t");
	generate_store(source, how->result, "b", "a");
	str_add(source, "\treturn b;\n}\n");
	segmented_write_function(source, "kz_op(kz_acc a, kz_acc b)", "operation", how->operation);
	segmented_write_function(source, "kz_neutral()", "neutral element", how->neutral);
	str_addf(source, "#line 1 \"segmented.cuh\"\n%s", device_segmented);
}

/* `tile` is the segments of a block. */
static const struct kernel_family segmented_family = {
	"segments", segmented_write,
	{[SCHEDULE_MANY] = {BLOCK, CHUNK}, [SCHEDULE_ONE] = {1, CHUNK}},
};

static kz_status segmented_launch(struct kz_array *to, struct kz_array *from,
	struct kz_array *offsets, const struct segmented *how, kz_error *err)
{
	struct {
		kz_dtype dtype, result;
		char text[2 * TEXT];
	} class = {how->dtype, how->result, ""};
	int len = snprintf(class.text, sizeof(class.text), "%s%c%s", how->operation, '\n',
		how->neutral);
	CUdeviceptr address[3] = {array_address(to), array_address(from), array_address(offsets)};
	void *params[] = {&address[0], &address[1], &address[2], &to->count};
	struct kz_array *const arrays[] = {to, from, offsets};
	const struct kernels_run run = {
		.want = {&segmented_family, &class, offsetof(__typeof__(class), text) + (size_t)len,
			how},
		.stream = how->stream, .grid = kz_dim(divide_up(to->count, CHUNK), 1, 1),
		.params = params, .arrays = arrays, .array_count = countof(arrays),
	};
	return kernels_run(&run, err);
}

/* The offsets are good, contiguous int64. */
static kz_status segmented_run(kz_array **out, struct kz_array *array, struct kz_array *offsets,
	const struct segmented *how, kz_error *err)
{
	const kz_shape shape = KZ_SHAPE(offsets->count - 1);
	struct kz_array *from = NULL, *result = NULL;
	kz_status st;
	if (!(st = elementwise_contiguous(&from, array, how->dtype, how->stream, err))
	    && !(st = array_create_on(&result, array_device(array), how->result, &shape,
		how->stream, err))
	    && result->count) {
		st = segmented_launch(result, from, offsets, how, err);
	}
	kz_array_release(from);
	return array_finish(out, result, st);
}

/* Operations */

/* The least and the greatest value of a type. */
static const char *segmented_end(kz_dtype dtype, bool greatest)
{
	static const char *const ends[][2] = {
		[KZ_BOOL] = {"false", "true"}, [KZ_I8] = {"-128", "127"}, [KZ_U8] = {"0", "255"},
		[KZ_I16] = {"-32768", "32767"}, [KZ_U16] = {"0", "65535"},
		[KZ_I32] = {"-2147483647 - 1", "2147483647"}, [KZ_U32] = {"0", "4294967295u"},
		[KZ_I64] = {"-9223372036854775807ll - 1", "9223372036854775807ll"},
		[KZ_U64] = {"0", "18446744073709551615ull"},
	};
	return dtype_is_exact(dtype) ? ends[dtype][greatest] : greatest ? "INFINITY" : "-INFINITY";
}

/* What a reduction of elements of a type is. */
static kz_status segmented_find_op(struct segmented *how, kz_reduce_op op, kz_dtype dtype,
	kz_error *err)
{
	bool adds = op == KZ_REDUCE_SUM || op == KZ_REDUCE_PROD;
	bool extreme = op == KZ_REDUCE_MIN || op == KZ_REDUCE_MAX;
	if (!adds && !extreme) {
		return error_set(err, KZ_INVALID, "%s: expected a sum, a product or an extreme, "
			"got reduction %d", how->call, (int)op);
	}
	if (extreme ? !dtype_is_real(dtype) : !dtype_is_number(dtype)) {
		return error_set(err, KZ_INVALID, "%s: %s has no %s", how->call,
			dtype_refused(dtype),
			extreme ? "order" : "sum");
	}
	how->dtype = dtype;
	how->result = extreme ? dtype : dtype_total(dtype);
	if (extreme) {
		bool least = op == KZ_REDUCE_MIN;
		how->operation = least ? "kz_minimum(a, b)" : "kz_maximum(a, b)";
		how->neutral = segmented_end(dtype, least);
	} else {
		how->operation = op == KZ_REDUCE_SUM ? "a + b" : "a * b";
		how->neutral = op == KZ_REDUCE_SUM ? "kz_acc()" : dtype_is_complex(dtype)
			? "kz_acc{1, 0}" : "1";
	}
	return KZ_OK;
}

/* Callers */

static kz_status segmented_check_line(const struct kz_array *array, kz_error *err)
{
	kz_status st = object_check(array, OBJECT_ARRAY, err);
	return st || array->shape.ndim == 1 ? st : error_set(err, KZ_INVALID,
		"expected one extent, got shape %s", shape_text(&array->shape).text);
}

static kz_status segmented_check_pair(const struct kz_array *a, const struct kz_array *b,
	const char *call, kz_error *err)
{
	kz_status st;
	if ((st = segmented_check_line(a, err))
	    || (st = segmented_check_line(b, err))) {
		return st;
	}
	return array_same_device(call, a, b, err);
}

static kz_status segmented_options(struct kz_stream **stream, const struct kz_array *array,
	const kz_segment_options *options, kz_error *err)
{
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_segment_options", options->size, sizeof(*options), err);
	}
	kz_status st = stream_pick(stream, array_device(array), options ? options->stream : NULL,
		err);
	return st ? st : indexing_check_wait(array, *stream, err);
}

/* The offsets as contiguous int64, which ascend from 0 to the end of the array. */
static kz_status segmented_offsets(struct kz_array **out, struct kz_array *offsets,
	const struct kz_array *array, const struct segmented *how, kz_error *err)
{
	struct search_order order;
	kz_status st = indexing_check(array, offsets, how->call, err);
	if (st) {
		return st;
	}
	if (offsets->count == 0) {
		return error_set(err, KZ_INVALID, "%s: expected at least one offset", how->call);
	}
	const struct index_range range = {0, array->count + 1, "offsets, with the end an extent",
		KZ_INDEX_CHECK};
	if ((st = indexing_prepare(out, offsets, &range, how->stream, err))) {
		return st;
	}
	st = search_find_order(&order, *out, how->stream, err);
	if (!st && order.fall != SEARCH_NONE) {
		st = error_set(err, KZ_INVALID, "%s: expected offsets that ascend, but offset %llu "
			"is below offset %llu", how->call, (unsigned long long)order.fall + 1,
			(unsigned long long)order.fall);
	}
	if (st) {
		kz_array_release(*out);
		*out = NULL;
	}
	return st;
}

static kz_status segmented_reduce(kz_array **out, kz_array *array, kz_array *offsets,
	const struct segmented *how, kz_error *err)
{
	struct kz_array *good = NULL;
	kz_status st = segmented_offsets(&good, offsets, array, how, err);
	st = st ? st : segmented_run(out, array, good, how, err);
	kz_array_release(good);
	return st;
}

kz_status kz_segment_reduce(kz_array **out, kz_array *array, kz_array *offsets, kz_reduce_op op,
	const kz_segment_options *options, kz_error *err)
{
	error_scope(err);
	struct segmented how = {.call = "segment_reduce"};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = segmented_check_pair(array, offsets, how.call, err))
	    || (st = segmented_find_op(&how, op, array->dtype, err))
	    || (st = segmented_options(&how.stream, offsets, options, err))) {
		return st;
	}
	return segmented_reduce(out, array, offsets, &how, err);
}

kz_status kz_segment_combine(kz_array **out, kz_array *array, kz_array *offsets,
	const char *operation,
	const char *neutral, const kz_segment_options *options, kz_error *err)
{
	error_scope(err);
	struct segmented how = {"segment_combine", operation, neutral, 0, 0, NULL};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = segmented_check_pair(array, offsets, how.call, err))
	    || (st = pointer_check(operation, "an operation", err))
	    || (st = pointer_check(neutral, "a neutral element", err))
	    || (st = segmented_options(&how.stream, offsets, options, err))) {
		return st;
	}
	if (strlen(operation) >= TEXT || strlen(neutral) >= TEXT - 1) {
		return error_set(err, KZ_INVALID, "segment_combine: operation and neutral element "
			"have at most %d characters", TEXT - 1);
	}
	if (!dtype_is_number(array->dtype)) {
		return error_set(err, KZ_INVALID, "segment_combine does not take %s",
			dtype_refused(array->dtype));
	}
	how.dtype = how.result = array->dtype;
	return segmented_reduce(out, array, offsets, &how, err);
}

/* Runs */

static kz_status segmented_pair_out(kz_array **first, kz_array **second, const char *call,
	kz_error *err)
{
	out_clear(second, sizeof(*second), call);
	kz_status st = out_check(first, sizeof(*first), call, err);
	return st ? st : out_check(second, sizeof(*second), call, err);
}

kz_status kz_reduce_by_key(kz_array **out_keys, kz_array **out_values, kz_array *keys,
	kz_array *values, kz_reduce_op op, const kz_segment_options *options, kz_error *err)
{
	error_scope(err);
	struct segmented how = {.call = "reduce_by_key"};
	struct kz_array *offsets = NULL, *each = NULL;
	kz_status st;
	if ((st = segmented_pair_out(out_keys, out_values, __func__, err))
	    || (st = segmented_check_pair(keys, values, how.call, err))
	    || (st = segmented_find_op(&how, op, values->dtype, err))
	    || (st = segmented_options(&how.stream, keys, options, err))) {
		return st;
	}
	if (keys->count != values->count) {
		return error_set(err, KZ_INVALID, "reduce_by_key: expected as many values as keys, "
			"%lld, got %lld", (long long)keys->count, (long long)values->count);
	}
	if (!(st = runs_find(&offsets, NULL, keys, "a != b", how.stream, err))
	    && !(st = runs_take(&each, keys, offsets, how.stream, err))
	    && !(st = segmented_run(out_values, values, offsets, &how, err))) {
		*out_keys = kz_array_retain(each);
	}
	kz_array_release(offsets);
	kz_array_release(each);
	return st;
}

kz_status kz_run_length_encode(kz_array **out_values, kz_array **out_lengths, kz_array *array,
	const kz_segment_options *options, kz_error *err)
{
	error_scope(err);
	kz_op_options op = {.size = sizeof(op)};
	struct kz_array *offsets = NULL, *each = NULL;
	kz_status st;
	if ((st = segmented_pair_out(out_values, out_lengths, __func__, err))
	    || (st = segmented_check_line(array, err))
	    || (st = segmented_options(&op.stream, array, options, err))) {
		return st;
	}
	if (!(st = runs_find(&offsets, NULL, array, "a != b", op.stream, err))
	    && !(st = runs_take(&each, array, offsets, op.stream, err))
	    && !(st = kz_diff(out_lengths, offsets, 1, 0, &op, err))) {
		*out_values = kz_array_retain(each);
	}
	kz_array_release(offsets);
	kz_array_release(each);
	return st;
}

/* Where runs end; *total of the last one. */
static kz_status segmented_find_ends(struct kz_array **out, int64_t *total,
	struct kz_array *lengths, struct kz_stream *stream, kz_error *err)
{
	const struct index_range range = {0, INT64_MAX, "lengths", KZ_INDEX_CHECK};
	struct kz_array *good = NULL, *last = NULL;
	kz_status st;
	*total = 0;
	if (!(st = indexing_prepare(&good, lengths, &range, stream, err))
	    && !(st = kz_cumsum_on(out, good, 0, stream, err)) && lengths->count
	    && !(st = kz_array_slice(&last, *out, KZ_AT(KZ_SLICE(-1, KZ_OMIT)), err))) {
		st = kz_array_get(last, total, sizeof(*total), err);
	}
	kz_array_release(good);
	kz_array_release(last);
	return st;
}

kz_status kz_run_length_decode(kz_array **out, kz_array *values, kz_array *lengths,
	const kz_segment_options *options, kz_error *err)
{
	error_scope(err);
	struct kz_array *ends = NULL, *line = NULL, *places = NULL;
	struct kz_stream *stream = NULL;
	int64_t total = 0;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = segmented_check_pair(values, lengths, __func__, err))
	    || (st = indexing_check(values, lengths, "run_length_decode", err))
	    || (st = segmented_options(&stream, lengths, options, err))) {
		return st;
	}
	if (values->count != lengths->count) {
		return error_set(err, KZ_INVALID, "run_length_decode: expected as many lengths as "
			"values, %lld, got %lld", (long long)values->count,
			(long long)lengths->count);
	}
	if (!(st = segmented_find_ends(&ends, &total, lengths, stream, err)) && total == 0) {
		st = kz_array_zeros_on(out, array_device(values), values->dtype, KZ_SHAPE(0),
			stream, err);
	} else if (!st && !(st = kz_array_arange_on(&line, array_device(values), KZ_I64, KZ_ARG(0),
			KZ_ARG(total), KZ_ARG(1), stream, err))
	    && !(st = search_run(&places, &(struct search){ends, SEARCH_RIGHT, false, stream}, line,
		err))) {
		st = kz_array_take_on(out, values, places, 0, KZ_INDEX_CLIP, stream, err);
	}
	kz_array_release(ends);
	kz_array_release(line);
	kz_array_release(places);
	return st;
}
