/* SPDX-License-Identifier: MIT */
/*
 * Singular values, and what they are good for: svd, svdvals, pinv, lstsq, matrix_rank.
 *
 * LAPACK sees a' and gives a' = U S V^H, so a = (V^H)' S U'.  Row by row, u lies where LAPACK puts
 * V^H by columns, and vh where it puts U: nothing is turned.
 *
 * Least squares go through the same values for every provider, which gives the solution of least
 * norm and the rank.
 */
#include "base/common.h"

#include "lib/linalg/lapack.h"

#include <kudzu/solve.h>
#include <kudzu/view.h>

#include <float.h>
#include <math.h>

/* svd */

/* Where there is nothing to decompose, full factors are identities. */
static kz_status svd_fill_empty(const struct lapack *call, kz_array *matrices, kz_error *err)
{
	return matrices && matrices->count ? lapack_fill_identity(call, matrices, err) : KZ_OK;
}

void svd_release(struct svd *svd)
{
	kz_array_release(svd->u);
	kz_array_release(svd->s);
	kz_array_release(svd->vh);
	*svd = (struct svd){NULL, NULL, NULL};
}

kz_status svd_compute(struct svd *out, struct lapack *call, kz_array *array, enum svd_job job,
	kz_error *err)
{
	const int64_t *ends = array->shape.dims + array->shape.ndim - 2;
	int64_t m = ends[0], n = ends[1], least = min64(m, n);
	const bool is_full = job == SVD_FULL, has_vectors = job != SVD_VALUES;
	const kz_shape left = lapack_matrices(call, m, is_full ? m : least);
	const kz_shape right = lapack_matrices(call, is_full ? n : least, n);
	const kz_shape values = lapack_vectors(call, least);
	kz_array *work = NULL;
	kz_status st;
	*out = (struct svd){NULL, NULL, NULL};
	if ((has_vectors && (st = lapack_create(&out->u, call, call->dtype, &left, err)))
	    || (st = lapack_create(&out->s, call, call->real, &values, err))
	    || (has_vectors && (st = lapack_create(&out->vh, call, call->dtype, &right, err)))) {
		goto out;
	}
	if (array->count == 0) {
		st = svd_fill_empty(call, out->u, err);
		st = st ? st : svd_fill_empty(call, out->vh, err);
	} else if (!(st = lapack_copy(&work, call, array, false, err))
	    && !(st = lapack_check_finite(call, work, 0, err))) {
		struct linalg_task task = {
			.op = LINALG_GESDD, .m = n, .n = m, .job = !has_vectors ? 'N' : is_full
				? 'A' : 'S',
			.a = lapack_matrix(work), .b = lapack_vector(out->s),
		};
		if (has_vectors) {
			task.c = lapack_matrix(out->vh);
			task.d = lapack_matrix(out->u);
		}
		st = lapack_run(call, &task, NULL, err);
	}
out:
	kz_array_release(work);
	if (st) {
		svd_release(out);
	}
	return st;
}

kz_status kz_svd(kz_array **u, kz_array **s, kz_array **vh, kz_array *array, int full_matrices,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct lapack call;
	struct svd made;
	kz_status st = out_check(u, sizeof(*u), "svd", err);
	kz_status st_s = out_check(s, sizeof(*s), "svd", st ? NULL : err);
	kz_status st_vh = out_check(vh, sizeof(*vh), "svd", st || st_s ? NULL : err);
	st = st ? st : st_s ? st_s : st_vh;
	if (st || (st = lapack_begin_several(&call, "svd", array, options, err))
	    || (st = lapack_take_batch(&call, array, false, err))
	    || (st = svd_compute(&made, &call, array, full_matrices ? SVD_FULL : SVD_REDUCED,
		err))) {
		return st;
	}
	*u = made.u;
	*s = made.s;
	*vh = made.vh;
	return KZ_OK;
}

kz_status kz_svdvals(kz_array **out, kz_array *array, const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct lapack call;
	struct svd made;
	kz_status st;
	if ((st = lapack_clear(out, "svdvals", options, err))
	    || (st = lapack_begin(&call, "svdvals", &array, 1, options, err))
	    || (st = lapack_take_batch(&call, array, false, err))
	    || (st = svd_compute(&made, &call, array, SVD_VALUES, err))) {
		return st;
	}
	return lapack_finish(out, &call, made.s, err);
}

/* What follows from it */

/* The first, and so largest, of each matrix's values: a view that broadcasts against them. */
static kz_status svd_largest(kz_array **out, kz_array *s, kz_error *err)
{
	return kz_array_slice(out, s, KZ_AT(KZ_ELLIPSIS, KZ_SLICE(0, 1)), err);
}

/* 1 / s, but 0 where s is not above `share` of the largest. */
static kz_status svd_invert(kz_array **out, const struct lapack *call, kz_array *s, double share,
	kz_error *err)
{
	struct expr expr;
	kz_array *largest = NULL;
	kz_status st = svd_largest(&largest, s, err);
	if (!st) {
		expr_init(&expr);
		int value = expr_array(&expr, s, err);
		int limit = lapack_apply(&expr, KZ_OP_MULTIPLY, expr_array(&expr, largest, err),
			expr_float(&expr, share, err), 0, err);
		int is_large = lapack_apply(&expr, KZ_OP_GREATER, value, limit, 0, err);
		int inverse = lapack_apply(&expr, KZ_OP_RECIPROCAL, value, 0, 0, err);
		int node = lapack_apply(&expr, KZ_OP_WHERE, is_large, inverse,
			expr_int(&expr, 0, err), err);
		st = node < 0 ? KZ_INVALID
			: lapack_evaluate(out, call, &expr, call->real, &s->shape, err);
	}
	kz_array_release(largest);
	return st;
}

/* How many values are above `share` of the largest, or above `least` if the share is negative. */
static kz_status svd_count(kz_array **out, const struct lapack *call, kz_array *s, double share,
	double least, kz_error *err)
{
	struct expr expr;
	kz_array *largest = NULL, *are_large = NULL;
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	options.stream = call->stream;
	kz_status st = svd_largest(&largest, s, err);
	if (!st) {
		expr_init(&expr);
		int value = expr_array(&expr, s, err);
		int limit = share < 0 ? expr_float(&expr, least, err)
			: lapack_apply(&expr, KZ_OP_MULTIPLY, expr_array(&expr, largest, err),
				expr_float(&expr, share, err), 0, err);
		int node = lapack_apply(&expr, KZ_OP_GREATER, value, limit, 0, err);
		st = node < 0 ? KZ_INVALID
			: lapack_evaluate(&are_large, call, &expr, KZ_BOOL, &s->shape, err);
	}
	st = st ? st : kz_reduce(out, KZ_REDUCE_COUNT_NONZERO, are_large, KZ_AXES(-1), &options,
		err);
	kz_array_release(largest);
	kz_array_release(are_large);
	return st;
}

/* Transposed and conjugated: a view, or for complex numbers an array. */
static kz_status svd_adjoint(kz_array **out, kz_array *array, kz_error *err)
{
	kz_array *view = NULL;
	kz_status st = kz_array_swapaxes(&view, array, -2, -1, err);
	if (st || !dtype_is_complex(array->dtype)) {
		*out = view;
		return st;
	}
	st = kz_conjugate(out, view, err);
	kz_array_release(view);
	return st;
}

/* v diag(1 / s) u^H b, with small values left out; u^H alone without b.  Shapes as of matmul. */
static kz_status svd_divide(kz_array **out, const struct lapack *call, const struct svd *svd,
	double share, kz_array *b, kz_error *err)
{
	kz_array *inverse = NULL, *u = NULL, *v = NULL, *row = NULL, *scaled = NULL, *right = NULL;
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	options.stream = call->stream;
	kz_status st;
	if ((st = svd_invert(&inverse, call, svd->s, share, err))
	    || (st = svd_adjoint(&u, svd->u, err)) || (st = svd_adjoint(&v, svd->vh, err))
	    || (st = kz_array_expand(&row, inverse, KZ_AXES(-2), err))
	    || (st = kz_apply(&scaled, KZ_OP_MULTIPLY, &options, err, KZ_ARGS(v, row)))) {
		goto out;
	}
	if (!b) {
		right = kz_array_retain(u);
	} else if ((st = kz_matmul(&right, u, b, &options, err))) {
		goto out;
	}
	st = kz_matmul(out, scaled, right, &options, err);
out:
	kz_array_release(inverse);
	kz_array_release(u);
	kz_array_release(v);
	kz_array_release(row);
	kz_array_release(scaled);
	kz_array_release(right);
	return st;
}

static double svd_eps(const struct lapack *call)
{
	return call->real == KZ_F32 ? FLT_EPSILON : DBL_EPSILON;
}

/* The larger extent of a matrix. */
static double svd_most(const kz_array *array)
{
	const int64_t *ends = array->shape.dims + array->shape.ndim - 2;
	return (double)(ends[0] > ends[1] ? ends[0] : ends[1]);
}

kz_status kz_pinv(kz_array **out, kz_array *array, double rcond, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct lapack call;
	struct svd svd;
	kz_array *result = NULL;
	kz_status st;
	if ((st = lapack_clear(out, "pinv", options, err))
	    || (st = lapack_begin(&call, "pinv", &array, 1, options, err))
	    || (st = lapack_take_batch(&call, array, false, err))) {
		return st;
	}
	if (!(st = svd_compute(&svd, &call, array, SVD_REDUCED, err))) {
		st = svd_divide(&result, &call, &svd, rcond < 0 ? 1e-15 : rcond, NULL, err);
	}
	svd_release(&svd);
	return st ? st : lapack_finish(out, &call, result, err);
}

kz_status kz_matrix_rank(kz_array **out, kz_array *array, double tolerance,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct lapack call;
	struct svd svd = {NULL, NULL, NULL};
	kz_array *rank = NULL, *any = NULL;
	kz_status st;
	if ((st = lapack_clear(out, "matrix_rank", options, err))
	    || (st = lapack_begin(&call, "matrix_rank", &array, 1, options, err))) {
		return st;
	}
	if (array->shape.ndim < 2) { // a vector has rank 1, unless it is 0
		const kz_reduce_options how = {.size = sizeof(how), .stream = call.stream};
		st = kz_reduce(&any, KZ_REDUCE_ANY, array, KZ_ALL_AXES, &how, err);
		st = st ? st : kz_array_astype_on(&rank, any, KZ_I64, call.stream, err);
	} else if (!(st = lapack_take_batch(&call, array, false, err))
	    && !(st = svd_compute(&svd, &call, array, SVD_VALUES, err))) {
		double share = tolerance < 0 ? svd_most(array) * svd_eps(&call) : -1;
		st = svd_count(&rank, &call, svd.s, share, tolerance, err);
	}
	svd_release(&svd);
	kz_array_release(any);
	return st ? st : lapack_finish(out, &call, rank, err);
}

/* lstsq */

/* Sums of the squares of a x - b, a column each. */
static kz_status svd_residuals(kz_array **out, const struct lapack *call, kz_array *a, kz_array *b,
	kz_array *x, kz_error *err)
{
	kz_array *product = NULL, *rest = NULL, *sizes = NULL, *squares = NULL;
	const kz_op_options how = {.size = sizeof(how), .stream = call->stream};
	const kz_reduce_options sum = {.size = sizeof(sum), .stream = call->stream};
	kz_status st;
	if (!(st = kz_matmul(&product, a, x, &how, err))
	    && !(st = kz_apply(&rest, KZ_OP_SUBTRACT, &how, err, KZ_ARGS(b, product)))
	    && !(st = kz_apply(&sizes, KZ_OP_ABSOLUTE, &how, err, KZ_ARGS(rest)))
	    && !(st = kz_apply(&squares, KZ_OP_SQUARE, &how, err, KZ_ARGS(sizes)))) {
		st = kz_reduce(out, KZ_REDUCE_SUM, squares, KZ_AXES(0), &sum, err);
	}
	kz_array_release(product);
	kz_array_release(rest);
	kz_array_release(sizes);
	kz_array_release(squares);
	return st;
}

static kz_status svd_check_lstsq(const struct lapack *call, const kz_array *a, const kz_array *b,
	kz_error *err)
{
	if (a->shape.ndim != 2 || b->shape.ndim < 1 || b->shape.ndim > 2
	    || a->shape.dims[0] != b->shape.dims[0]) {
		return error_set(err, KZ_INVALID, "%s: shapes %s and %s do not fit: expected (m, "
			"n) and (m,) or (m, k)", call->name, shape_text(&a->shape).text,
			shape_text(&b->shape).text);
	}
	return KZ_OK;
}

/* made: x, residuals, rank, s, where b is a matrix. */
static kz_status svd_lstsq(kz_array *made[4], struct lapack *call, kz_array *a, kz_array *b,
	double rcond, kz_error *err)
{
	struct svd svd = {NULL, NULL, NULL};
	kz_array *right = NULL, *left = NULL;
	int64_t rank = 0, m = a->shape.dims[0], n = a->shape.dims[1];
	kz_status st;
	double share = rcond >= 0 ? rcond : svd_most(a) * svd_eps(call);
	if (!(st = lapack_copy(&left, call, a, false, err))
	    && !(st = lapack_copy(&right, call, b, false, err))
	    && !(st = svd_compute(&svd, call, a, SVD_REDUCED, err))
	    && !(st = svd_divide(&made[0], call, &svd, share, right, err))
	    && !(st = svd_count(&made[2], call, svd.s, share, 0, err))
	    && !(st = kz_array_get(made[2], &rank, sizeof(rank), err))) {
		/* There are none unless the rank is full and there are more rows than columns. */
		st = rank == n && m > n ? svd_residuals(&made[1], call, left, right, made[0], err)
			: lapack_create(&made[1], call, call->real, &KZ_SHAPE(0), err);
	}
	made[3] = kz_array_retain(svd.s);
	svd_release(&svd);
	kz_array_release(left);
	kz_array_release(right);
	return st;
}

kz_status kz_lstsq(kz_array **x, kz_array **residuals, kz_array **rank, kz_array **s, kz_array *a,
	kz_array *b, double rcond, const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct lapack call;
	kz_array **const outs[4] = {x, residuals, rank, s};
	kz_array *made[4] = {NULL, NULL, NULL, NULL}, *columns = NULL, *vector = NULL;
	kz_array *const operands[2] = {a, b};
	kz_status st = out_check(x, sizeof(*x), "lstsq", err);
	for (int i = 1; i < 4; i++) {
		if (outs[i]) {
			*outs[i] = NULL;
		}
	}
	if (!st && options && options->size == sizeof(*options)
	    && (options->into || options->dtype)) {
		st = error_set(err, KZ_INVALID,
			"lstsq: expected options without `into` and `dtype`");
	}
	if (st || (st = lapack_begin(&call, "lstsq", operands, 2, options, err))
	    || (st = svd_check_lstsq(&call, a, b, err))
	    || (st = lapack_take_batch(&call, a, false, err))) {
		return st;
	}
	bool is_vector = b->shape.ndim == 1;
	if (!is_vector) {
		columns = kz_array_retain(b);
	} else {
		st = kz_array_expand(&columns, b, KZ_AXES(1), err);
	}
	st = st ? st : svd_lstsq(made, &call, a, columns, rcond, err);
	if (!st && is_vector && !(st = kz_array_squeeze(&vector, made[0], KZ_AXES(1), err))) {
		kz_array_release(made[0]);
		made[0] = vector;
	}
	kz_array_release(columns);
	for (int i = 0; i < 4; i++) {
		if (st || !outs[i]) {
			kz_array_release(made[i]);
		} else {
			*outs[i] = made[i];
		}
	}
	return st;
}
