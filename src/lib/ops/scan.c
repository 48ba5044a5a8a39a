/* SPDX-License-Identifier: MIT */
/*
 * Scans along an axis, in three steps: the total of every chunk of 4096 elements; an exclusive scan
 * of these totals, which is the same problem with fewer elements; and the scan of each chunk from
 * its prefix.  kernels/scan.cuh has the order within a chunk.
 *
 * The kernels take rows without gaps.  Any other array is copied first, with its axis moved to the
 * end, and the axis of the result is moved back.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/ops/device_code.h"
#include "lib/ops/elementwise.h"
#include "lib/ops/generate.h"
#include "lib/ops/kernels.h"
#include "lib/ops/user_text.h"
#include "lib/array/overlap.h"
#include "lib/array/shape.h"

#include <kudzu/scan.h>
#include <kudzu/view.h>

#include <string.h>

enum { SEGMENTS = 256, CHUNK = 16 * SEGMENTS };
enum { STRUCT_MAX = 128 }; /* bytes; 272 elements have to fit into shared memory */

struct scan {
	struct kz_device *device;
	struct kz_stream *stream;
	const char *operation;
	const char *neutral;
	const char *preamble;     /* NULL: none */
	struct str *key;          /* of its kernels: a byte for which one, the dtype, the texts */
	kz_dtype dtype;           /* of the computation */
	kz_dtype result;
	struct kz_array *into;    /* for the result; NULL: a new one */
	int exclusive;
};

/* Kernels */

struct wanted {
	const struct scan *scan;
	bool totals;
};

static void scan_write_function(struct str *source, const char *head, const char *what,
	const char *text)
{
	str_addf(source, "static __device__ inline kz_element %s\n{\nreturn", head);
	user_text_add(source, "scan", what, text, ";");
	str_add(source, "}\n");
}

static void scan_write_source(struct str *source, const void *context)
{
	const struct wanted *wanted = context;
	const struct scan *scan = wanted->scan;
	const bool is_struct = dtype_is_struct(scan->dtype);
	const char *type = is_struct ? kz_dtype_ctype(scan->dtype) : generate_value(scan->dtype);
	generate_prelude(source, dtype_bit(scan->dtype), dtype_is_exact(scan->dtype));
	str_addf(source, "#define INFINITY __int_as_float(0x7f800000)\n#define KZ_%s\n",
		wanted->totals ? "TOTALS" : "SCAN");
	if (scan->preamble) {
		user_text_add(source, "scan", "preamble", scan->preamble, "");
	}
	str_addf(source, "typedef %s kz_element;\n", type);
	if (is_struct) {
		str_addf(source, "static_assert(sizeof(%s) == %lld, \"%s was registered with %lld "
			"bytes\");\n", type, (long long)kz_dtype_size(scan->dtype), type,
			(long long)kz_dtype_size(scan->dtype));
	}
	scan_write_function(source, "kz_op(kz_element a, kz_element b)", "operation",
		scan->operation);
	scan_write_function(source, "kz_neutral()", "neutral element", scan->neutral);
	str_addf(source, "#line 1 \"scan.cuh\"\n%s", device_scan);
}

static const struct kernel_family scan_family = {
	"scan", scan_write_source,
	{[SCHEDULE_MANY] = {SEGMENTS, CHUNK}, [SCHEDULE_ONE] = {1, CHUNK}},
};

/* One kernel over all chunks; `prefixes` may be NULL. */
static kz_status scan_run_kernel(const struct scan *scan, bool totals, struct kz_array *to,
	struct kz_array *from, struct kz_array *prefixes, kz_error *err)
{
	const struct wanted wanted = {scan, totals};
	int64_t n = from->shape.dims[1];
	int64_t chunks = divide_up(n, CHUNK);
	int exclusive = scan->exclusive;
	CUdeviceptr address[3] = {array_address(to), array_address(from),
		prefixes ? array_address(prefixes) : 0};
	void *total_params[] = {&address[0], &address[1], &n, &chunks};
	void *scan_params[] = {&address[0], &address[1], &address[2], &n, &chunks, &exclusive};
	struct kz_array *const arrays[] = {to, from, prefixes};
	scan->key->data[0] = totals ? 't' : 's';
	const struct kernels_run run = {
		.want = {&scan_family, scan->key->data, scan->key->len, &wanted},
		.stream = scan->stream, .grid = kz_dim(from->shape.dims[0] * chunks, 1, 1),
		.params = totals ? total_params : scan_params,
		.arrays = arrays, .array_count = countof(arrays),
	};
	return kernels_run(&run, err);
}

/* Rows (2-d, without gaps) into an array of their shape. */
static kz_status scan_rows(const struct scan *scan, struct kz_array *to, struct kz_array *from,
	kz_error *err)
{
	struct kz_array *totals = NULL;
	struct kz_array *prefixes = NULL;
	struct scan next = *scan;
	int64_t n = from->shape.dims[1];
	kz_shape shape = KZ_SHAPE(from->shape.dims[0], divide_up(n, CHUNK));
	kz_status st;
	if (shape.dims[1] == 1) {
		return scan_run_kernel(scan, false, to, from, NULL, err);
	}
	next.exclusive = 1;
	if (!(st = array_create_on(&totals, scan->device, scan->dtype, &shape,
		scan->stream, err))
	    && !(st = array_create_on(&prefixes, scan->device, scan->dtype, &shape,
		scan->stream, err))
	    && !(st = scan_run_kernel(scan, true, totals, from, NULL, err))
	    && !(st = scan_rows(&next, prefixes, totals, err))) {
		st = scan_run_kernel(scan, false, to, from, prefixes, err);
	}
	kz_array_release(totals);
	kz_array_release(prefixes);
	return st;
}

/* Axes */

/* The array with its axis moved to the end, as rows without gaps; *moved has the shape in
 * between. */
static kz_status scan_take_rows(struct kz_array **out, kz_shape *moved, const struct scan *scan,
	struct kz_array *array, int64_t axis, kz_error *err)
{
	struct kz_array *view = NULL;
	struct kz_array *copy = NULL;
	kz_status st = kz_array_moveaxis(&view, array, KZ_AXES(axis), KZ_AXES(-1), err);
	if (!st && !(st = elementwise_contiguous(&copy, view, scan->dtype, scan->stream, err))) {
		int64_t n = array->shape.dims[axis];
		*moved = view->shape;
		st = kz_array_view(out, copy, KZ_SHAPE(n ? array->count / n : 0, n), NULL, 0, err);
	}
	kz_array_release(view);
	kz_array_release(copy);
	return st;
}

/* Rows back to the array's shape: to `into`, or to a new array, row-major, of the wanted type. */
static kz_status scan_give_back(kz_array **out, const struct scan *scan, struct kz_array *rows,
	const kz_shape *moved, int64_t axis, kz_error *err)
{
	struct kz_array *view = NULL;
	struct kz_array *turned = NULL;
	kz_status st = kz_array_view(&view, rows, *moved, NULL, 0, err);
	if (!st && !(st = kz_array_moveaxis(&turned, view, KZ_AXES(-1), KZ_AXES(axis), err))) {
		st = scan->into ? ops_copy(scan->into, turned, scan->stream, err)
			: elementwise_contiguous(out, turned, scan->result, scan->stream, err);
	}
	kz_array_release(view);
	kz_array_release(turned);
	return st;
}

/* Whether the rows of the result can be written where they are to be. */
static bool scan_is_direct(const struct scan *scan, const struct kz_array *from, int64_t axis)
{
	const struct kz_array *into = scan->into;
	return into && into->dtype == scan->dtype && axis == into->shape.ndim - 1
		&& array_is_contiguous(into) && !overlap_memory(into, from);
}

/* A 0-d array is scanned as one of one element. */
static kz_status scan_axis(kz_array **out, const struct scan *scan, struct kz_array *array,
	int64_t axis, kz_error *err)
{
	struct kz_array *from = NULL;
	struct kz_array *to = NULL;
	kz_shape moved = {0, {0}};
	kz_status st;
	if ((st = scan_take_rows(&from, &moved, scan, array, axis, err))) {
		return st;
	}
	bool direct = scan_is_direct(scan, from, axis);
	st = direct ? kz_array_view(&to, scan->into, from->shape, NULL, 0, err)
		: array_create_on(&to, scan->device, scan->dtype, &from->shape, scan->stream, err);
	if (!st && to->count) {
		st = scan_rows(scan, to, from, err);
	}
	st = st || direct ? st : scan_give_back(out, scan, to, &moved, axis, err);
	kz_array_release(from);
	kz_array_release(to);
	return st;
}

static kz_status scan_check_into(const struct scan *scan, const struct kz_array *array,
	const struct kz_array *into, kz_error *err)
{
	const struct strided elements = array_elements(into);
	kz_status st = array_same_device("scan", array, into, err);
	if (st) {
		return st;
	}
	if (!shape_equal(&array->shape, &into->shape)) {
		return error_set(err, KZ_INVALID, "scan: expected an array of shape %s for the "
			"result, got %s", shape_text(&array->shape).text,
			shape_text(&into->shape).text);
	}
	if (!kz_dtype_can_cast(scan->result, into->dtype)) {
		return error_set(err, KZ_INVALID, "scan: %s does not fit into %s",
			dtype_refused(scan->result), dtype_refused(into->dtype));
	}
	return strided_distinct(&elements, "an array", err);
}

static kz_status scan_read_options(struct scan *scan, int64_t *axis, struct kz_array *array,
	const kz_scan_options *options, kz_error *err)
{
	kz_dtype dtype = array->dtype;
	*axis = -1;
	scan->device = array_device(array);
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_scan_options", options->size, sizeof(*options), err);
	}
	if (options) {
		*axis = options->axis;
		dtype = options->dtype ? options->dtype : dtype;
		scan->exclusive = options->exclusive != 0;
		scan->stream = options->stream;
		scan->into = options->into;
		scan->preamble = options->preamble;
	}
	const bool is_known = dtype_is_struct(dtype) && scan->preamble
		&& dtype == array->dtype;
	if (is_known && kz_dtype_size(dtype) > STRUCT_MAX) {
		return error_set(err, KZ_INVALID, "scan: expected a struct of at most %d bytes, "
			"got %s with %lld", STRUCT_MAX, kz_dtype_name(dtype),
			(long long)kz_dtype_size(dtype));
	}
	if (!dtype_is_number(dtype) && !is_known) {
		error_set(err, KZ_INVALID, "scan does not take %s", dtype_refused(dtype)
			? dtype_refused(dtype) : "a number that is not a dtype");
		return KZ_INVALID;
	}
	scan->result = dtype;
	scan->dtype = dtype_wide(dtype);
	kz_status st = stream_pick(&scan->stream, scan->device, scan->stream, err);
	return st || !scan->into ? st : scan_check_into(scan, array, scan->into, err);
}

/* An array, or what a 0-d array is to a scan; counted. */
static kz_status scan_view(struct kz_array **out, struct kz_array *array, kz_error *err)
{
	if (array->shape.ndim) {
		*out = kz_array_retain(array);
		return KZ_OK;
	}
	return kz_array_view(out, array, KZ_SHAPE(1), NULL, 0, err);
}

static kz_status scan_run(kz_array **out, struct scan *scan, struct kz_array *array, int64_t axis,
	kz_error *err)
{
	struct kz_array *line = NULL, *into = scan->into;
	kz_status st;
	scan->into = NULL;
	if ((st = scan_view(&line, array, err)) || (st = axis_resolve(&axis, &line->shape, err))
	    || (into && (st = scan_view(&scan->into, into, err)))
	    || (st = scan_axis(out, scan, line, axis, err))) {
		goto done;
	}
	if (into && out) {
		*out = kz_array_retain(into);
	} else if (!into && !array->shape.ndim) {
		(*out)->shape.ndim = 0;
	}
done:
	kz_array_release(line);
	kz_array_release(scan->into);
	return st;
}

/* The texts are parted by a zero, which none of them has. */
static void scan_write_key(const struct scan *scan)
{
	const char *const texts[] = {scan->operation, scan->neutral,
		scan->preamble ? scan->preamble : ""};
	str_addf(scan->key, "?%u ", (unsigned)scan->dtype);
	for (size_t i = 0; i < countof(texts); i++) {
		str_addn(scan->key, texts[i], strlen(texts[i]) + 1);
	}
}

kz_status kz_scan(kz_array **out, kz_array *array, const char *operation, const char *neutral,
	const kz_scan_options *options, kz_error *err)
{
	error_scope(err);
	struct scan scan = {.operation = operation, .neutral = neutral};
	int64_t axis;
	kz_status st;
	out_clear(out, sizeof(*out), __func__);
	if ((st = object_check(array, OBJECT_ARRAY, err))
	    || (st = pointer_check(operation, "an operation", err))
	    || (st = pointer_check(neutral, "a neutral element", err))) {
		return st;
	}
	if ((st = scan_read_options(&scan, &axis, array, options, err))) {
		return st;
	}
	if (!out && !scan.into) {
		return error_set(err, KZ_INVALID, "%s: out is NULL", __func__);
	}
	struct str key = STR_INIT;
	scan.key = &key;
	scan_write_key(&scan);
	st = key.failed ? error_no_memory(err) : scan_run(out, &scan, array, axis, err);
	str_free(&key);
	return st;
}

static const char scan_sum[] = "a + b", scan_product[] = "a * b";

/* Sums or products.  numpy sums small integers as int64 or uint64. */
static kz_status scan_accumulate(kz_array **out, kz_array *array, int64_t axis, kz_stream *stream,
	const char *operation, kz_error *err)
{
	kz_status st = object_check(array, OBJECT_ARRAY, err);
	if (st) {
		return st;
	}
	const kz_dtype dtype = array->dtype;
	const char *neutral = operation == scan_sum ? "kz_element()"
		: dtype_is_complex(dtype) ? "kz_element{1, 0}" : "1";
	kz_scan_options options = KZ_SCAN_OPTIONS_INIT;
	options.axis = axis;
	options.stream = stream;
	options.dtype = dtype_is_exact(dtype) ? dtype_total(dtype) : 0;
	return kz_scan(out, array, operation, neutral, &options, err);
}

kz_status kz_cumsum_on(kz_array **out, kz_array *array, int64_t axis, kz_stream *stream,
	kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	return st ? st : scan_accumulate(out, array, axis, stream, scan_sum, err);
}

kz_status kz_cumsum(kz_array **out, kz_array *array, int64_t axis, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	return st ? st : scan_accumulate(out, array, axis, NULL, scan_sum, err);
}

kz_status kz_cumprod_on(kz_array **out, kz_array *array, int64_t axis, kz_stream *stream,
	kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	return st ? st : scan_accumulate(out, array, axis, stream, scan_product, err);
}

kz_status kz_cumprod(kz_array **out, kz_array *array, int64_t axis, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	return st ? st : scan_accumulate(out, array, axis, NULL, scan_product, err);
}
