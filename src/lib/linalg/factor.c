/* SPDX-License-Identifier: MIT */
/*
 * Factorizations without iterations: Cholesky, LU, QR.
 *
 * LAPACK sees the transpose of a row-major matrix.  The lower factor of a Hermitian matrix lies,
 * row by row, where LAPACK puts the upper one of its transpose, so Cholesky turns nothing.  LU
 * exchanges rows, and QR makes columns orthogonal, so these turn the matrix first.
 */
#include "base/common.h"

#include "lib/linalg/lapack.h"

#include "base/alloc.h"

#include <kudzu/create.h>
#include <kudzu/solve.h>
#include <kudzu/view.h>

/* cholesky */

static kz_status factor_cholesky(kz_array **out, struct lapack *call, kz_array *array,
	kz_triangle triangle, kz_error *err)
{
	kz_array *work = NULL;
	kz_status st = lapack_copy(&work, call, array, false, err);
	if (!st && work->count) {
		struct linalg_task task = {
			.op = LINALG_POTRF, .uplo = triangle == KZ_LOWER ? 'U' : 'L',
			.n = work->shape.dims[work->shape.ndim - 1], .a = lapack_matrix(work),
		};
		st = lapack_run(call, &task, NULL, err);
	}
	st = st ? st : lapack_select(out, call, work,
		triangle == KZ_LOWER ? LAPACK_LOWER : LAPACK_UPPER, err);
	kz_array_release(work);
	return st;
}

kz_status kz_cholesky(kz_array **out, kz_array *array, kz_triangle triangle,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct lapack call;
	kz_array *result = NULL;
	kz_status st;
	if ((st = lapack_clear(out, "cholesky", options, err))
	    || (st = lapack_begin(&call, "cholesky", &array, 1, options, err))
	    || (st = lapack_take_batch(&call, array, true, err))) {
		return st;
	}
	if ((unsigned)triangle > KZ_UPPER) {
		return error_set(err, KZ_INVALID, "cholesky: unknown kz_triangle %d",
			(int)triangle);
	}
	if ((st = factor_cholesky(&result, &call, array, triangle, err))) {
		return st;
	}
	return lapack_finish(out, &call, result, err);
}

/* LU */

/* Matrices of a turned work array, of which only some rows and columns count: a view. */
static kz_status factor_view(kz_array **out, kz_array *work, kz_shape matrix, kz_error *err)
{
	kz_array *part = NULL;
	kz_status st = kz_array_slice(&part, work, KZ_AT(KZ_ELLIPSIS, KZ_SLICE(0, matrix.dims[1]),
		KZ_SLICE(0, matrix.dims[0])), err);
	st = st ? st : kz_array_swapaxes(out, part, -2, -1, err);
	kz_array_release(part);
	return st;
}

/* A part of such matrices as a new array. */
static kz_status factor_select(kz_array **out, const struct lapack *call, kz_array *work,
	kz_shape matrix, enum lapack_part part, kz_error *err)
{
	kz_array *view = NULL;
	kz_status st = factor_view(&view, work, matrix, err);
	st = st ? st : lapack_select(out, call, view, part, err);
	kz_array_release(view);
	return st;
}

/* Which row of the matrix became row i, for each i: the exchanges that the pivots stand for. */
static kz_status factor_permute(kz_array **out, const struct lapack *call, kz_array *pivots,
	int64_t rows, kz_error *err)
{
	int64_t steps = pivots ? pivots->shape.dims[pivots->shape.ndim - 1] : 0;
	size_t cells, pivot_count;
	if (!size_mul(&cells, (size_t)call->count, (size_t)rows)
	    || !size_mul(&pivot_count, (size_t)call->count, (size_t)steps)) {
		return error_no_memory(err);
	}
	kz_shape shape = lapack_matrices(call, 1, rows);
	int32_t *exchanges = mem_zalloc(pivot_count + 1, sizeof(*exchanges));
	int64_t *order = mem_zalloc(cells + 1, sizeof(*order));
	kz_status st = exchanges && order ? KZ_OK : error_no_memory(err);
	if (!st && pivots && pivot_count) {
		st = kz_array_get(pivots, exchanges, kz_array_size(pivots), err);
	}
	for (int64_t i = 0; !st && i < call->count; i++) {
		int64_t *own = order + i * rows;
		for (int64_t k = 0; k < rows; k++) {
			own[k] = k;
		}
		for (int64_t k = 0; !st && k < steps; k++) {
			int64_t with = exchanges[i * steps + k] - 1, was = own[k];
			if (with < k || with >= rows) {
				st = error_set(err, KZ_NUMERIC,
					"%s: expected a pivot in rows %lld to %lld, got row %lld",
					call->name, (long long)k + 1, (long long)rows,
					(long long)with + 1);
				break;
			}
			own[k] = own[with];
			own[with] = was;
		}
	}
	st = st ? st : kz_array_from(out, call->device, KZ_I64, shape, order,
		(int64_t)(cells * sizeof(*order)), err);
	mem_free(exchanges);
	mem_free(order);
	return st;
}

/* Ones where a row went: p[order[i], i] = 1. */
static kz_status factor_permutation(kz_array **out, const struct lapack *call, kz_array *pivots,
	int64_t rows, kz_error *err)
{
	struct expr expr;
	kz_array *order = NULL, *count = NULL, *index = NULL;
	kz_shape shape = lapack_matrices(call, rows, rows);
	kz_status st;
	if (!(st = factor_permute(&order, call, pivots, rows, err))
	    && !(st = kz_arange(&count, call->device, KZ_I64, 0, rows, 1, err))
	    && !(st = kz_array_expand(&index, count, KZ_AXES(1), err))) {
		expr_init(&expr);
		int node = lapack_apply(&expr, KZ_OP_EQUAL, expr_array(&expr, index, err),
			expr_array(&expr, order, err), 0, err);
		st = node < 0 ? KZ_INVALID
			: lapack_evaluate(out, call, &expr, call->real, &shape, err);
	}
	kz_array_release(order);
	kz_array_release(count);
	kz_array_release(index);
	return st;
}

/* The results of a function: all of them, or none. */
static kz_status factor_hand_out(kz_array **const outs[], kz_array *const made[], int count,
	kz_status st)
{
	for (int i = 0; i < count; i++) {
		if (st || !outs[i]) {
			kz_array_release(made[i]);
		} else {
			*outs[i] = made[i];
		}
	}
	return st;
}

kz_status kz_lu(kz_array **p, kz_array **l, kz_array **u, kz_array *array,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct lapack call;
	struct lapack_factors factors;
	kz_array *made[3] = {NULL, NULL, NULL};
	kz_array **const outs[3] = {p, l, u};
	kz_status st = KZ_OK, first = KZ_OK;
	for (int i = 0; i < 3; i++) {
		st = out_check(outs[i], sizeof(*outs[i]), "lu", first ? NULL : err);
		first = first ? first : st;
	}
	if ((st = first) || (st = lapack_begin_several(&call, "lu", array, options, err))
	    || (st = lapack_take_batch(&call, array, false, err))) {
		return st;
	}
	int64_t m = array->shape.dims[array->shape.ndim - 2];
	int64_t n = array->shape.dims[array->shape.ndim - 1], least = min64(m, n);
	if (!(st = lapack_factor(&factors, &call, array, LAPACK_TURNED | LAPACK_SINGULAR, err))
	    && !(st = factor_permutation(&made[0], &call, factors.pivots, m, err))
	    && !(st = factor_select(&made[1], &call, factors.lu, KZ_SHAPE(m, least),
		LAPACK_UNIT_LOWER, err))) {
		st = factor_select(&made[2], &call, factors.lu, KZ_SHAPE(least, n), LAPACK_UPPER,
			err);
	}
	lapack_release_factors(&factors);
	return factor_hand_out(outs, made, 3, st);
}

/* QR */

/* Turned work arrays with room for `room` columns of Q. */
static kz_status factor_prepare_qr(kz_array **out, const struct lapack *call, kz_array *array,
	int64_t room, kz_error *err)
{
	const int64_t *ends = array->shape.dims + array->shape.ndim - 2;
	kz_array *work = NULL, *part = NULL;
	if (room <= ends[1]) {
		return lapack_copy(out, call, array, true, err);
	}
	kz_shape shape = lapack_matrices(call, room, ends[0]);
	kz_status st = lapack_create(&work, call, call->dtype, &shape, err);
	if (!st && !(st = factor_view(&part, work, KZ_SHAPE(ends[0], ends[1]), err))) {
		st = kz_array_assign_on(part, array, call->stream, err);
	}
	kz_array_release(part);
	return array_finish(out, work, st);
}

/* The reflectors become q; work is as factor_prepare_qr made it. */
static kz_status factor_make_q(kz_array **out, const struct lapack *call, kz_array *work,
	kz_array *factors, int64_t columns, kz_error *err)
{
	int64_t m = work->shape.dims[work->shape.ndim - 1];
	kz_array *part = NULL;
	struct linalg_task task = {
		.op = LINALG_ORGQR, .m = m, .n = columns,
		.k = factors->shape.dims[factors->shape.ndim - 1], .a = lapack_matrix(work),
		.b = lapack_vector(factors),
	};
	kz_status st = lapack_run(call, &task, NULL, err);
	if (!st && !(st = kz_array_slice(&part, work, KZ_AT(KZ_ELLIPSIS, KZ_SLICE(0, columns),
			KZ_ALL), err))) {
		st = lapack_copy(out, call, part, true, err);
	}
	kz_array_release(part);
	return st;
}

/* Factors of matrices that have elements; made[0], unless it is not wanted, and made[1]. */
static kz_status factor_qr(kz_array *made[2], const struct lapack *call, kz_array *array,
	kz_qr_mode mode, kz_error *err)
{
	const int64_t *ends = array->shape.dims + array->shape.ndim - 2;
	int64_t m = ends[0], n = ends[1], least = min64(m, n);
	int64_t columns = mode == KZ_QR_COMPLETE ? m : least;
	kz_array *work = NULL, *factors = NULL;
	kz_shape shape = lapack_vectors(call, least);
	kz_status st;
	if (!(st = factor_prepare_qr(&work, call, array, columns, err))
	    && !(st = lapack_create(&factors, call, call->dtype, &shape, err))) {
		struct linalg_task task = {.op = LINALG_GEQRF, .m = m, .n = n,
			.a = lapack_matrix(work), .b = lapack_vector(factors)};
		st = lapack_run(call, &task, NULL, err);
	}
	if (!st && !(st = factor_select(&made[1], call, work, KZ_SHAPE(columns, n), LAPACK_UPPER,
		err))
	    && mode != KZ_QR_R) {
		st = factor_make_q(&made[0], call, work, factors, columns, err);
	}
	kz_array_release(work);
	kz_array_release(factors);
	return st;
}

/* The same where there is nothing to factor. */
static kz_status factor_empty_qr(kz_array *made[2], const struct lapack *call, kz_array *array,
	kz_qr_mode mode, kz_error *err)
{
	const int64_t *ends = array->shape.dims + array->shape.ndim - 2;
	int64_t columns = mode == KZ_QR_COMPLETE ? ends[0] : min64(ends[0], ends[1]);
	kz_shape shapes[2] = {lapack_matrices(call, ends[0], columns),
		lapack_matrices(call, columns, ends[1])};
	kz_status st = lapack_create(&made[1], call, call->dtype, &shapes[1], err);
	if (!st && mode != KZ_QR_R
	    && !(st = lapack_create(&made[0], call, call->dtype, &shapes[0], err))
	    && made[0]->count) {
		st = lapack_fill_identity(call, made[0], err);
	}
	return st;
}

kz_status kz_qr(kz_array **q, kz_array **r, kz_array *array, kz_qr_mode mode,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct lapack call;
	kz_array *made[2] = {NULL, NULL};
	kz_array **const outs[2] = {q, r};
	kz_status st = out_check(r, sizeof(*r), "qr", err);
	out_clear(q, sizeof(*q), __func__);
	if (!st && !q && mode != KZ_QR_R) {
		st = error_set(err, KZ_INVALID, "qr: out is NULL");
	}
	if (st || (st = lapack_begin_several(&call, "qr", array, options, err))
	    || (st = lapack_take_batch(&call, array, false, err))) {
		return st;
	}
	if ((unsigned)mode > KZ_QR_R) {
		return error_set(err, KZ_INVALID, "qr: unknown kz_qr_mode %d", (int)mode);
	}
	st = (array->count ? factor_qr : factor_empty_qr)(made, &call, array, mode, err);
	return factor_hand_out(outs, made, 2, st);
}
