/* SPDX-License-Identifier: MIT */
/*
 * Triangles, diagonals, differences, powers and scaling.
 *
 * All are expressions of views.  A triangle is a choice between the matrix and 0.  What decides is
 * the distance of column and row, which is the same along each diagonal: so the choices are a row
 * of m + n - 1 bools, read through a view that moves one back for each row and one ahead for each
 * column.  Powers are an exclusive scan with products.
 */
#include "base/common.h"

#include "lib/array/view.h"
#include "lib/core/stream.h"
#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/ops/elementwise.h"

#include <kudzu/linalg.h>
#include <kudzu/scan.h>
#include <kudzu/view.h>

/* One call, as its options have it. */
struct matrix_call {
	const char *name;        /* for errors */
	struct elementwise how;  /* how the last step runs */
	kz_dtype dtype;          /* of the result; 0: by the rules */
};

static kz_status matrix_begin(struct matrix_call *call, kz_array **out, kz_array *array,
	const kz_op_options *options, kz_error *err)
{
	kz_status st;
	out_clear(out, sizeof(*out), call->name);
	if ((st = elementwise_options(&call->how, &call->dtype, options, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))) {
		return st;
	}
	if (!out && !call->how.into) {
		return error_set(err, KZ_INVALID, "kz_%s: out is NULL", call->name);
	}
	return stream_pick(&call->how.stream, array_device(array), call->how.stream, err);
}

/* The end: the expression's last node, as the dtype that the call wants. */
static kz_status matrix_end(kz_array **out, const struct matrix_call *call, struct expr *expr,
	int node, kz_error *err)
{
	node = node >= 0 && call->dtype ? expr_cast(expr, node, call->dtype, err) : node;
	return node < 0 ? KZ_INVALID : elementwise_run(out, expr, &call->how, err);
}

/* An array as it is. */
static kz_status matrix_end_with(kz_array **out, const struct matrix_call *call,
	const struct kz_array *array, kz_error *err)
{
	struct expr expr;
	expr_init(&expr);
	return matrix_end(out, call, &expr, expr_array(&expr, array, err), err);
}

/* Triangles */

/* Bools of which element i is i <= bound, or i >= bound; `how` says how many. */
static kz_status matrix_make_steps(kz_array **out, const struct elementwise *how, kz_op compare,
	int64_t bound, kz_error *err)
{
	struct expr expr;
	expr_init(&expr);
	int index = expr_index(&expr, err);
	int node = expr_apply_two(&expr, compare, index, expr_int(&expr, bound, err), err);
	return node < 0 ? KZ_INVALID : elementwise_run(out, &expr, how, err);
}

/* Keep the elements whose column less their row compares like this with k. */
static kz_status matrix_keep(kz_array **out, struct kz_array *array, int64_t k, kz_op compare,
	struct matrix_call *call, kz_error *err)
{
	const int64_t ndim = array->shape.ndim;
	struct kz_array *steps = NULL, *made = NULL, mask;
	struct expr expr;
	if (ndim < 2 || !dtype_is_number(array->dtype)) {
		return ndim < 2 ? error_set(err, KZ_INVALID, "%s: expected two extents or more, "
			"got shape %s", call->name, shape_text(&array->shape).text)
			: error_set(err, KZ_INVALID, "%s does not take %s", call->name,
			dtype_refused(array->dtype));
	}
	const int64_t rows = array->shape.dims[ndim - 2], columns = array->shape.dims[ndim - 1];
	if (array->count == 0) {
		return matrix_end_with(out, call, array, err);
	}
	k = k < -rows ? -rows : k > columns ? columns : k;
	const struct elementwise_result result = {array->shape,
		call->dtype ? call->dtype : array->dtype, array};
	const struct elementwise line = {.device = array_device(array),
		.shape = &KZ_SHAPE(rows + columns - 1), .stream = call->how.stream};
	kz_status st = elementwise_reserve(&made, &call->how, call->name, &result, err);
	st = st ? st : matrix_make_steps(&steps, &line, compare, k + rows - 1, err);
	if (st) {
		kz_array_release(made);
		return st;
	}
	view_draft(&mask, steps);
	mask.shape = KZ_SHAPE(rows, columns);
	mask.offset += rows - 1;
	mask.strides[0] = -1;
	mask.strides[1] = 1;
	mask.count = rows * columns;
	expr_init(&expr);
	int choice[3] = {expr_array(&expr, &mask, err), -1, -1};
	choice[1] = expr_array(&expr, array, err);
	int node = array->dtype == KZ_BOOL
		? expr_apply_two(&expr, KZ_OP_LOGICAL_AND, choice[0], choice[1], err) : -1;
	if (array->dtype != KZ_BOOL && (choice[2] = expr_int(&expr, 0, err)) >= 0) {
		node = expr_apply(&expr, KZ_OP_WHERE, choice, err);
	}
	st = matrix_end(out, call, &expr, node, err);
	kz_array_release(steps);
	kz_array_release(made);
	return st;
}

kz_status kz_tril(kz_array **out, kz_array *array, int64_t k, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct matrix_call call = {.name = "tril"};
	kz_status st = matrix_begin(&call, out, array, options, err);
	return st ? st : matrix_keep(out, array, k, KZ_OP_LESS_EQUAL, &call, err);
}

kz_status kz_triu(kz_array **out, kz_array *array, int64_t k, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct matrix_call call = {.name = "triu"};
	kz_status st = matrix_begin(&call, out, array, options, err);
	return st ? st : matrix_keep(out, array, k, KZ_OP_GREATER_EQUAL, &call, err);
}

/* Diagonals */

static kz_status matrix_fill_diagonal(struct kz_array *matrix, const struct kz_array *line,
	int64_t k, struct kz_stream *stream, kz_error *err)
{
	struct kz_array *place = NULL;
	struct expr expr;
	kz_status st = kz_array_diagonal(&place, matrix, k, 0, 1, err);
	if (st) {
		return st;
	}
	const struct elementwise how = {.into = place, .stream = stream};
	expr_init(&expr);
	st = expr_array(&expr, line, err) < 0 ? KZ_INVALID
		: elementwise_run(NULL, &expr, &how, err);
	kz_array_release(place);
	return st;
}

/* A matrix of the array's dtype with it on diagonal k. */
static kz_status matrix_from_diagonal(kz_array **out, struct kz_array *line, int64_t k,
	const struct matrix_call *call, kz_error *err)
{
	int64_t side = 0;
	struct kz_array *matrix = NULL;
	if (k == INT64_MIN || !size64_add(&side, line->count, k < 0 ? -k : k)) {
		return error_set(err, KZ_RANGE, "diag: a matrix with diagonal %lld is too large",
			(long long)k);
	}
	const kz_shape shape = KZ_SHAPE(side, side);
	kz_status st = array_create_on(&matrix, array_device(line), line->dtype, &shape,
		call->how.stream, err);
	if (st) {
		return st;
	}
	st = buffer_fill(matrix->buffer, kz_array_size(matrix), PATTERN_ZERO, call->how.stream,
		err);
	st = st ? st : matrix_fill_diagonal(matrix, line, k, call->how.stream, err);
	return array_finish(out, matrix, st);
}

kz_status kz_diag(kz_array **out, kz_array *array, int64_t k, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct matrix_call call = {.name = "diag"};
	struct kz_array *found = NULL;
	kz_status st = matrix_begin(&call, out, array, options, err);
	if (st) {
		return st;
	}
	if (array->shape.ndim != 1 && array->shape.ndim != 2) {
		return error_set(err, KZ_INVALID, "diag: expected one extent or two, got shape %s",
			shape_text(&array->shape).text);
	}
	bool has_line = array->shape.ndim == 1;
	st = has_line ? matrix_from_diagonal(&found, array, k, &call, err)
		: kz_array_diagonal(&found, array, k, 0, 1, err);
	if (!st && has_line && !call.how.into && (!call.dtype || call.dtype == array->dtype)) {
		assert(out);
		*out = found;
		return KZ_OK;
	}
	st = st ? st : matrix_end_with(out, &call, found, err);
	kz_array_release(found);
	return st;
}

/* Differences */

/* One less along the axis. */
static kz_status matrix_subtract(kz_array **out, const struct matrix_call *call,
	const struct kz_array *array, int64_t axis, kz_error *err)
{
	struct kz_array views[2];
	struct expr expr;
	const int64_t extent = array->shape.dims[axis], count = extent > 0 ? extent - 1 : 0;
	int nodes[2];
	expr_init(&expr);
	for (int i = 0; i < 2; i++) {
		view_draft(&views[i], array);
		view_keep(&views[i], axis, count > 0 ? i : 0, 1, count);
		views[i].count = extent > 0 ? array->count / extent * count : 0;
		nodes[i] = expr_array(&expr, &views[i], err);
	}
	int node = expr_apply_two(&expr, array->dtype == KZ_BOOL ? KZ_OP_NOT_EQUAL : KZ_OP_SUBTRACT,
		nodes[1], nodes[0], err);
	return matrix_end(out, call, &expr, node, err);
}

kz_status kz_diff(kz_array **out, kz_array *array, int64_t n, int64_t axis,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct matrix_call call = {.name = "diff"};
	kz_status st = matrix_begin(&call, out, array, options, err);
	if (st || (st = axis_resolve(&axis, &array->shape, err))) {
		return st;
	}
	if (n < 0) {
		return error_set(err, KZ_INVALID, "diff: expected n of at least 0, got %lld",
			(long long)n);
	}
	if (n == 0) {
		return matrix_end_with(out, &call, array, err);
	}
	const struct matrix_call between = {.name = "diff", .how.stream = call.how.stream};
	struct kz_array *from = kz_array_retain(array);
	for (; !st && n > 1 && from->shape.dims[axis] > 0; n--) {
		struct kz_array *less = NULL;
		st = matrix_subtract(&less, &between, from, axis, err);
		kz_array_release(from);
		from = less;
	}
	st = st ? st : matrix_subtract(out, &call, from, axis, err);
	kz_array_release(from);
	return st;
}

/* Powers */

/* x beside itself `columns` times; the scan leaves out the last one, and begins with 1. */
static kz_status matrix_scan_powers(kz_array **out, struct kz_array *x, int64_t columns,
	kz_dtype dtype, struct kz_stream *stream, kz_error *err)
{
	kz_scan_options scan = KZ_SCAN_OPTIONS_INIT;
	struct kz_array *wide = NULL;
	const int64_t strides[2] = {x->strides[0], 0};
	scan.dtype = dtype;
	scan.exclusive = 1;
	scan.stream = stream;
	kz_status st = kz_array_view(&wide, x, KZ_SHAPE(x->count, columns), strides, 0, err);
	if (!st) {
		st = kz_scan(out, wide, "a * b", dtype_is_complex(dtype) ? "kz_element{1, 0}" : "1",
			&scan, err);
		kz_array_release(wide);
	}
	return st;
}

kz_status kz_vander(kz_array **out, kz_array *x, int64_t columns, int increasing,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct matrix_call call = {.name = "vander"};
	struct kz_array *powers = NULL, turned;
	kz_status st = matrix_begin(&call, out, x, options, err);
	if (st) {
		return st;
	}
	kz_dtype dtype = call.dtype ? call.dtype : kz_dtype_promote(x->dtype, KZ_I64);
	if (x->shape.ndim != 1 || columns < -1 || !dtype) {
		return columns < -1 ? error_set(err, KZ_INVALID, "vander: expected columns of at "
			"least 0, or -1, got %lld",
			(long long)columns) : !dtype ? error_set(err, KZ_INVALID,
			"vander does not take %s", dtype_refused(x->dtype)) : error_set(err,
			KZ_INVALID, "vander: expected one extent, got shape %s",
			shape_text(&x->shape).text);
	}
	columns = columns < 0 ? x->count : columns;
	if ((st = matrix_scan_powers(&powers, x, columns, dtype, call.how.stream, err))) {
		return st;
	}
	if (increasing && !call.how.into) {
		assert(out);
		*out = powers;
		return KZ_OK;
	}
	view_draft(&turned, powers);
	if (!increasing && columns > 0) {
		view_keep(&turned, 1, columns - 1, -1, columns);
	}
	st = matrix_end_with(out, &call, &turned, err);
	kz_array_release(powers);
	return st;
}

/* In place */

static kz_status matrix_scale(kz_array *array, kz_arg alpha, kz_stream *stream,
	kz_error *err)
{
	const kz_arg items[2] = {KZ_ARG(array), alpha};
	const kz_op_options options = {.size = sizeof(options), .into = array, .stream = stream};
	kz_status st;
	if ((st = object_check(array, OBJECT_ARRAY, err))
	    || (st = expr_check_arg(&alpha, "argument 'alpha'", err))) {
		return st;
	}
	return kz_apply(NULL, KZ_OP_MULTIPLY, &options, err, (kz_args){items, 2});
}

kz_status kz_array_scale(kz_array *array, kz_arg alpha, kz_error *err)
{
	error_scope(err);
	return matrix_scale(array, alpha, NULL, err);
}

kz_status kz_array_scale_on(kz_array *array, kz_arg alpha, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	return matrix_scale(array, alpha, stream, err);
}

static kz_status matrix_scale_along(kz_array *array, kz_array *factors, int64_t axis,
	kz_stream *stream, kz_error *err)
{
	const kz_op_options options = {.size = sizeof(options), .into = array, .stream = stream};
	struct kz_array *beside = NULL;
	int64_t strides[KZ_MAX_DIMS] = {0};
	kz_status st;
	if ((st = object_check(array, OBJECT_ARRAY, err))
	    || (st = object_check(factors, OBJECT_ARRAY, err))
	    || (st = axis_resolve(&axis, &array->shape, err))) {
		return st;
	}
	if (factors->shape.ndim != 1 || factors->count != array->shape.dims[axis]) {
		return error_set(err, KZ_INVALID, "scale_along: factors of shape %s do not fit "
			"axis %lld of shape %s", shape_text(&factors->shape).text, (long long)axis,
			shape_text(&array->shape).text);
	}
	kz_shape shape = {.ndim = array->shape.ndim - axis, .dims = {factors->count}};
	for (int64_t i = 1; i < shape.ndim; i++) {
		shape.dims[i] = 1;
	}
	strides[0] = factors->strides[0];
	if ((st = kz_array_view(&beside, factors, shape, strides, 0, err))) {
		return st;
	}
	st = kz_apply(NULL, KZ_OP_MULTIPLY, &options, err, KZ_ARGS(array, beside));
	kz_array_release(beside);
	return st;
}

kz_status kz_scale_along(kz_array *array, kz_array *factors, int64_t axis, kz_error *err)
{
	error_scope(err);
	return matrix_scale_along(array, factors, axis, NULL, err);
}

kz_status kz_scale_along_on(kz_array *array, kz_array *factors, int64_t axis, kz_stream *stream,
	kz_error *err)
{
	error_scope(err);
	return matrix_scale_along(array, factors, axis, stream, err);
}
