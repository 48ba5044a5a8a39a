/* SPDX-License-Identifier: MIT */
/*
 * Eigenvalues: eigh, eigvalsh, eig, eigvals.
 *
 * The transpose of a Hermitian matrix, which LAPACK sees, is its conjugate: it has the same
 * eigenvalues, conjugate vectors, and the other triangle.  A general matrix is turned first where
 * vectors are wanted, since those of its transpose are others.
 */
#include "base/common.h"

#include "lib/linalg/lapack.h"

#include <kudzu/solve.h>
#include <kudzu/view.h>

/* Hermitian matrices */

/* The transposes of a work array, conjugated: what LAPACK has as columns, and for complex matrices
 * as conjugate ones, row by row. */
static kz_status eigen_turn(kz_array **out, const struct lapack *call, kz_array *work,
	kz_error *err)
{
	struct expr expr;
	kz_array *view = NULL;
	if (!dtype_is_complex(call->dtype)) {
		return lapack_copy(out, call, work, true, err);
	}
	kz_status st = kz_array_swapaxes(&view, work, -2, -1, err);
	if (!st) {
		expr_init(&expr);
		int node = lapack_apply(&expr, KZ_OP_CONJUGATE, expr_array(&expr, view, err), 0, 0,
			err);
		st = node < 0 ? KZ_INVALID
			: lapack_evaluate(out, call, &expr, call->dtype, &view->shape, err);
	}
	kz_array_release(view);
	return st;
}

/* Values, and vectors unless v is NULL. */
static kz_status eigen_hermitian(kz_array **w, kz_array **v, struct lapack *call, kz_array *array,
	kz_triangle triangle, kz_error *err)
{
	int64_t n = array->shape.dims[array->shape.ndim - 1];
	kz_array *work = NULL, *values = NULL;
	kz_shape shape = lapack_vectors(call, n);
	kz_status st;
	if ((unsigned)triangle > KZ_UPPER) {
		return error_set(err, KZ_INVALID, "%s: unknown kz_triangle %d", call->name,
			(int)triangle);
	}
	if (!(st = lapack_copy(&work, call, array, false, err))
	    && !(st = lapack_create(&values, call, call->real, &shape, err)) && work->count
	    && !(st = lapack_check_finite(call, work, triangle == KZ_LOWER ? 'L' : 'U', err))) {
		struct linalg_task task = {
			.op = LINALG_SYEVD, .n = n, .uplo = triangle == KZ_LOWER ? 'U' : 'L',
			.job = v ? 'V' : 'N', .a = lapack_matrix(work), .b = lapack_vector(values),
		};
		st = lapack_run(call, &task, NULL, err);
	}
	st = st || !v ? st : eigen_turn(v, call, work, err);
	kz_array_release(work);
	return array_finish(w, values, st);
}

kz_status kz_eigh(kz_array **w, kz_array **v, kz_array *array, kz_triangle triangle,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct lapack call;
	kz_status st = out_check(w, sizeof(*w), "eigh", err);
	kz_status st_v = out_check(v, sizeof(*v), "eigh", st ? NULL : err);
	if (st || (st = st_v) || (st = lapack_begin_several(&call, "eigh", array, options, err))
	    || (st = lapack_take_batch(&call, array, true, err))) {
		return st;
	}
	return eigen_hermitian(w, v, &call, array, triangle, err);
}

kz_status kz_eigvalsh(kz_array **out, kz_array *array, kz_triangle triangle,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct lapack call;
	kz_array *w = NULL;
	kz_status st;
	if ((st = lapack_clear(out, "eigvalsh", options, err))
	    || (st = lapack_begin(&call, "eigvalsh", &array, 1, options, err))
	    || (st = lapack_take_batch(&call, array, true, err))
	    || (st = eigen_hermitian(&w, NULL, &call, array, triangle, err))) {
		return st;
	}
	return lapack_finish(out, &call, w, err);
}

/* General matrices */

/* Values, and vectors unless v is NULL; complex. */
static kz_status eigen_general(kz_array **w, kz_array **v, struct lapack *call, kz_array *array,
	kz_error *err)
{
	int64_t n = array->shape.dims[array->shape.ndim - 1];
	struct lapack wide = *call;
	wide.dtype = call->real == KZ_F32 ? KZ_C64 : KZ_C128;
	kz_array *work = NULL, *values = NULL, *vectors = NULL;
	kz_shape shape = lapack_vectors(call, n);
	kz_status st;
	if (!(st = lapack_copy(&work, call, array, v, err))
	    && !(st = lapack_create(&values, call, wide.dtype, &shape, err))
	    && !(v && (st = lapack_create(&vectors, call, wide.dtype, &work->shape, err)))
	    && work->count && !(st = lapack_check_finite(call, work, 0, err))) {
		struct linalg_task task = {.op = LINALG_GEEV, .n = n, .job = v ? 'V' : 'N',
			.a = lapack_matrix(work), .b = lapack_vector(values)};
		if (v) {
			task.c = lapack_matrix(vectors);
		}
		st = lapack_run(call, &task, NULL, err);
	}
	st = st || !v ? st : lapack_copy(v, &wide, vectors, true, err);
	kz_array_release(work);
	kz_array_release(vectors);
	return array_finish(w, values, st);
}

kz_status kz_eig(kz_array **w, kz_array **v, kz_array *array, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct lapack call;
	kz_status st = out_check(w, sizeof(*w), "eig", err);
	kz_status st_v = out_check(v, sizeof(*v), "eig", st ? NULL : err);
	if (st || (st = st_v) || (st = lapack_begin_several(&call, "eig", array, options, err))
	    || (st = lapack_take_batch(&call, array, true, err))) {
		return st;
	}
	return eigen_general(w, v, &call, array, err);
}

kz_status kz_eigvals(kz_array **out, kz_array *array, const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct lapack call;
	kz_array *w = NULL;
	kz_status st;
	if ((st = lapack_clear(out, "eigvals", options, err))
	    || (st = lapack_begin(&call, "eigvals", &array, 1, options, err))
	    || (st = lapack_take_batch(&call, array, true, err))
	    || (st = eigen_general(&w, NULL, &call, array, err))) {
		return st;
	}
	return lapack_finish(out, &call, w, err);
}
