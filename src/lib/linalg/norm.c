/* SPDX-License-Identifier: MIT */
/*
 * Numbers that describe a matrix: trace, norms, condition.
 *
 * Norms are reductions over axes, which stay as extents of 1 until the end, and for three orders of
 * matrix norms a function of the singular values.
 */
#include "base/common.h"

#include "lib/linalg/lapack.h"

#include <kudzu/solve.h>
#include <kudzu/view.h>

#include <math.h>

/* trace */

kz_status kz_trace(kz_array **out, kz_array *array, int64_t offset, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct elementwise how = {.into = NULL};
	kz_reduce_options sum = KZ_REDUCE_OPTIONS_INIT;
	kz_array *diagonal = NULL;
	kz_status st;
	if ((st = lapack_clear(out, "trace", options, err))
	    || (st = elementwise_options(&how, &sum.dtype, options, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))) {
		return st;
	}
	if (array->shape.ndim < 2) {
		return error_set(err, KZ_INVALID, "trace: expected a matrix, got shape %s",
			shape_text(&array->shape).text);
	}
	sum.into = how.into;
	sum.stream = how.stream;
	if (!(st = kz_array_diagonal(&diagonal, array, offset, -2, -1, err))) {
		st = kz_reduce(out, KZ_REDUCE_SUM, diagonal, KZ_AXES(-1), &sum, err);
	}
	kz_array_release(diagonal);
	return st;
}

/* Norms */

/* What a norm is computed from, in which order. */
struct norm {
	kz_norm_kind kind;
	double p;
	kz_array *array; /* floats or complex numbers */
	kz_stream *stream;
};

/* One step of it: reduced axes stay. */
static kz_status norm_reduce(kz_array **out, const struct norm *norm, kz_reduce_op op,
	kz_array *array, kz_axes axes, kz_error *err)
{
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	options.stream = norm->stream;
	options.keepdims = 1;
	return kz_reduce(out, op, array, axes, &options, err);
}

static kz_status norm_apply(kz_array **out, const struct norm *norm, kz_op op, kz_args args,
	kz_error *err)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	options.stream = norm->stream;
	return kz_apply(out, op, &options, err, args);
}

/* (sum |x|^p)^(1/p) */
static kz_status norm_power(kz_array **out, const struct norm *norm, kz_array *sizes, kz_axes axes,
	kz_error *err)
{
	kz_array *powers = NULL, *sum = NULL;
	kz_status st;
	if (!(st = norm_apply(&powers, norm, KZ_OP_POWER, KZ_ARGS(sizes, norm->p), err))
	    && !(st = norm_reduce(&sum, norm, KZ_REDUCE_SUM, powers, axes, err))) {
		st = norm_apply(out, norm, KZ_OP_POWER, KZ_ARGS(sum, 1 / norm->p), err);
	}
	kz_array_release(powers);
	kz_array_release(sum);
	return st;
}

static kz_status norm_vector(kz_array **out, const struct norm *norm, kz_axes axes, kz_error *err)
{
	kz_array *sizes = NULL, *count = NULL;
	double p = norm->kind == KZ_NORM_DEFAULT ? 2 : norm->p;
	if (p == 2) {
		return norm_reduce(out, norm, KZ_REDUCE_NORM, norm->array, axes, err);
	}
	kz_status st = norm_apply(&sizes, norm, KZ_OP_ABSOLUTE, KZ_ARGS(norm->array), err);
	if (!st && p == 0) {
		kz_dtype dtype = sizes->dtype;
		st = norm_reduce(&count, norm, KZ_REDUCE_COUNT_NONZERO, sizes, axes, err);
		st = st ? st : kz_array_astype_on(out, count, dtype, norm->stream, err);
	} else if (!st && (isinf(p) || p == 1)) {
		st = norm_reduce(out, norm, p == 1 ? KZ_REDUCE_SUM : p > 0 ? KZ_REDUCE_MAX
			: KZ_REDUCE_MIN, sizes, axes, err);
	} else if (!st) {
		st = norm_power(out, norm, sizes, axes, err);
	}
	kz_array_release(sizes);
	kz_array_release(count);
	return st;
}

/* The largest or smallest sum of a column (1), or of a row (infinity). */
static kz_status norm_sums(kz_array **out, const struct norm *norm, kz_axes axes, kz_error *err)
{
	kz_array *sizes = NULL, *sums = NULL;
	int along = isinf(norm->p) ? 1 : 0;
	kz_status st = norm_apply(&sizes, norm, KZ_OP_ABSOLUTE, KZ_ARGS(norm->array), err);
	if (!st && !(st = norm_reduce(&sums, norm, KZ_REDUCE_SUM, sizes,
			KZ_AXES(axes.items[along]), err))) {
		st = norm_reduce(out, norm, norm->p > 0 ? KZ_REDUCE_MAX : KZ_REDUCE_MIN, sums,
			KZ_AXES(axes.items[1 - along]), err);
	}
	kz_array_release(sizes);
	kz_array_release(sums);
	return st;
}

/* The sum, the largest or the smallest singular value. */
static kz_status norm_values(kz_array **out, const struct norm *norm, kz_axes axes, kz_error *err)
{
	kz_array *moved = NULL, *values = NULL, *result = NULL;
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	options.stream = norm->stream;
	kz_reduce_op op = norm->kind == KZ_NORM_NUCLEAR ? KZ_REDUCE_SUM
		: norm->p > 0 ? KZ_REDUCE_MAX : KZ_REDUCE_MIN;
	kz_status st;
	if (!(st = kz_array_moveaxis(&moved, norm->array, axes, KZ_AXES(-2, -1), err))
	    && !(st = kz_svdvals(&values, moved, &options, err))
	    && !(st = kz_reduce(&result, op, values, KZ_AXES(-1), NULL, err))) {
		st = kz_array_expand(out, result, axes, err);
	}
	kz_array_release(moved);
	kz_array_release(values);
	kz_array_release(result);
	return st;
}

static kz_status norm_matrix(kz_array **out, const struct norm *norm, kz_axes axes, kz_error *err)
{
	if (norm->kind == KZ_NORM_DEFAULT || norm->kind == KZ_NORM_FROBENIUS) {
		return norm_reduce(out, norm, KZ_REDUCE_NORM, norm->array, axes, err);
	}
	if (norm->kind == KZ_NORM_NUCLEAR || fabs(norm->p) == 2) {
		return norm_values(out, norm, axes, err);
	}
	if (fabs(norm->p) == 1 || isinf(norm->p)) {
		return norm_sums(out, norm, axes, err);
	}
	return error_set(err, KZ_INVALID, "norm: matrices have the orders 1, -1, 2, -2, inf and "
		"-inf, got %g", norm->p);
}

/* Check the kind, and settle the axes: *axes are one or two, or more for the norm of all. */
static kz_status norm_check(const struct norm *norm, kz_axes *axes, kz_error *err)
{
	const kz_shape *shape = &norm->array->shape;
	kz_status st = axes_resolve(axes, NULL, shape, err);
	if (st) {
		return st;
	}
	if ((unsigned)norm->kind > KZ_NORM_NUCLEAR || (norm->kind == KZ_NORM_P && isnan(norm->p))) {
		return error_set(err, KZ_INVALID, norm->kind == KZ_NORM_P ? "norm: the order is NaN"
			: "norm: unknown kz_norm_kind %d", (int)norm->kind);
	}
	bool is_of_matrices = norm->kind == KZ_NORM_FROBENIUS || norm->kind == KZ_NORM_NUCLEAR;
	if (is_of_matrices && axes->count != 2) {
		return error_set(err, KZ_INVALID, "norm: matrices have two axes, got %lld of shape "
			"%s", (long long)axes->count, shape_text(shape).text);
	}
	if (norm->kind == KZ_NORM_P && axes->count != 1 && axes->count != 2) {
		return error_set(err, KZ_INVALID, "norm: expected one axis or two, got %lld of "
			"shape %s", (long long)axes->count, shape_text(shape).text);
	}
	return KZ_OK;
}

/* Integers count as float64. */
static kz_status norm_begin(struct norm *norm, kz_array *array, const kz_reduce_options *options,
	kz_error *err)
{
	kz_status st = object_check(array, OBJECT_ARRAY, err);
	if (st) {
		return st;
	}
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_reduce_options", options->size, sizeof(*options), err);
	}
	if (!dtype_is_number(array->dtype)) {
		return error_set(err, KZ_INVALID, "norm does not take %s",
			dtype_refused(array->dtype));
	}
	norm->stream = options ? options->stream : NULL;
	if (dtype_is_exact(array->dtype)) {
		return kz_array_astype_on(&norm->array, array, KZ_F64, norm->stream, err);
	}
	norm->array = kz_array_retain(array);
	return KZ_OK;
}

kz_status kz_linalg_norm(kz_array **out, kz_array *array, kz_norm_kind kind, double p, kz_axes axes,
	const kz_reduce_options *options, kz_error *err)
{
	error_scope(err);
	struct norm norm = {.kind = kind, .p = p};
	kz_array *kept = NULL, *result = NULL;
	struct lapack call = {.into = NULL};
	kz_status st;
	out_clear(out, sizeof(*out), __func__);
	if ((st = norm_begin(&norm, array, options, err))) {
		return st;
	}
	call.into = options ? options->into : NULL;
	call.wanted = options ? options->dtype : 0;
	if (!out && !call.into) {
		st = error_set(err, KZ_INVALID, "norm: out is NULL");
	}
	if (st || (st = norm_check(&norm, &axes, err))
	    || (st = stream_pick(&call.stream, array_device(array), norm.stream, err))) {
		goto out;
	}
	bool is_matrix = axes.count == 2 && !(kind == KZ_NORM_DEFAULT);
	if ((st = (is_matrix ? norm_matrix : norm_vector)(&kept, &norm, axes, err))) {
		goto out;
	}
	if (options && options->keepdims) {
		result = kz_array_retain(kept);
	} else {
		st = kz_array_squeeze(&result, kept, axes, err);
	}
	st = st ? st : lapack_finish(out, &call, result, err);
out:
	kz_array_release(norm.array);
	kz_array_release(kept);
	return st;
}

/* cond */

/* Inverses; of singular matrices zeros, since what a library leaves there is undefined. */
static kz_status norm_invert(kz_array **out, kz_array **info, struct lapack *call, kz_array *array,
	kz_error *err)
{
	struct expr expr;
	kz_array *inverse = NULL, *each = NULL;
	kz_status st = solve_invert(&inverse, call, array, info, err);
	*out = NULL;
	if (!st && !(st = kz_array_expand(&each, *info, KZ_AXES(-2, -1), err))) {
		expr_init(&expr);
		int is_singular = lapack_apply(&expr, KZ_OP_GREATER, expr_array(&expr, each, err),
			expr_int(&expr, 0, err), 0, err);
		int node = lapack_apply(&expr, KZ_OP_WHERE, is_singular, expr_int(&expr, 0, err),
			expr_array(&expr, inverse, err), err);
		st = node < 0 ? KZ_INVALID
			: lapack_evaluate(out, call, &expr, call->dtype, &inverse->shape, err);
	}
	kz_array_release(inverse);
	kz_array_release(each);
	return st;
}

/* The norm of a matrix times that of its inverse; infinite for a singular matrix without NaN. */
static kz_status norm_cond(kz_array **out, struct lapack *call, kz_array *array,
	const struct norm *norm, kz_error *err)
{
	struct expr expr;
	struct norm each = *norm;
	kz_array *inverse = NULL, *info = NULL, *sizes[2] = {NULL, NULL};
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	kz_status st;
	options.stream = call->stream;
	if ((st = norm_invert(&inverse, &info, call, array, err))
	    || (st = kz_linalg_norm(&sizes[0], array, each.kind, each.p, KZ_AXES(-2, -1), &options,
		err))
	    || (st = kz_linalg_norm(&sizes[1], inverse, each.kind, each.p, KZ_AXES(-2, -1),
		&options, err))) {
		goto out;
	}
	expr_init(&expr);
	int is_singular = lapack_apply(&expr, KZ_OP_GREATER, expr_array(&expr, info, err),
		expr_int(&expr, 0, err), 0, err);
	int size = expr_array(&expr, sizes[0], err);
	int product = lapack_apply(&expr, KZ_OP_MULTIPLY, size, expr_array(&expr, sizes[1], err), 0,
		err);
	int known = lapack_apply(&expr, KZ_OP_WHERE, is_singular,
		expr_float(&expr, (double)INFINITY, err), product, err);
	int node = lapack_apply(&expr, KZ_OP_WHERE,
		lapack_apply(&expr, KZ_OP_ISNAN, size, 0, 0, err), size, known, err);
	st = node < 0 ? KZ_INVALID
		: lapack_evaluate(out, call, &expr, call->real, &call->batch, err);
out:
	kz_array_release(inverse);
	kz_array_release(info);
	kz_array_release(sizes[0]);
	kz_array_release(sizes[1]);
	return st;
}

/* The largest singular value by the smallest, or the other way round; 0 by 0 is infinite. */
static kz_status norm_cond_values(kz_array **out, struct lapack *call, kz_array *array,
	bool is_inverse, kz_error *err)
{
	struct expr expr;
	struct svd svd;
	kz_array *ends[2] = {NULL, NULL};
	kz_status st;
	if (!(st = svd_compute(&svd, call, array, SVD_VALUES, err))
	    && !(st = kz_array_slice(&ends[is_inverse], svd.s, KZ_AT(KZ_ELLIPSIS, 0), err))
	    && !(st = kz_array_slice(&ends[!is_inverse], svd.s, KZ_AT(KZ_ELLIPSIS, -1), err))) {
		expr_init(&expr);
		int quotient = lapack_apply(&expr, KZ_OP_DIVIDE, expr_array(&expr, ends[0], err),
			expr_array(&expr, ends[1], err), 0, err);
		int is_nan = lapack_apply(&expr, KZ_OP_ISNAN, quotient, 0, 0, err);
		int node = lapack_apply(&expr, KZ_OP_WHERE, is_nan,
			expr_float(&expr, (double)INFINITY, err), quotient, err);
		st = node < 0 ? KZ_INVALID
			: lapack_evaluate(out, call, &expr, call->real, &call->batch, err);
	}
	svd_release(&svd);
	kz_array_release(ends[0]);
	kz_array_release(ends[1]);
	return st;
}

kz_status kz_cond(kz_array **out, kz_array *array, kz_norm_kind kind, double p,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct lapack call;
	struct norm norm = {.kind = kind, .p = p, .array = array};
	kz_axes axes = KZ_AXES(-2, -1);
	kz_array *result = NULL;
	bool by_values = kind == KZ_NORM_DEFAULT || (kind == KZ_NORM_P && fabs(p) == 2);
	kz_status st;
	if ((st = lapack_clear(out, "cond", options, err))
	    || (st = lapack_begin(&call, "cond", &array, 1, options, err))
	    || (st = lapack_take_batch(&call, array, !by_values, err))
	    || (st = norm_check(&norm, &axes, err))) {
		return st;
	}
	if (array->count == 0) {
		return error_set(err, KZ_INVALID, "cond: expected elements, got shape %s",
			shape_text(&array->shape).text);
	}
	st = by_values ? norm_cond_values(&result, &call, array, kind == KZ_NORM_P && p < 0, err)
		: norm_cond(&result, &call, array, &norm, err);
	return st ? st : lapack_finish(out, &call, result, err);
}
