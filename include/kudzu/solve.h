/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_SOLVE_H
#define KUDZU_SOLVE_H

/*
 * Solvers and factorizations, with the names and conventions of numpy.linalg.
 *
 *	kz_array *x = NULL, *u = NULL, *s = NULL, *vh = NULL;
 *	if (kz_solve(&x, a, b, NULL, &err)                            (a x = b)
 *	    || kz_svd(&u, &s, &vh, a, 0, NULL, &err)) {               (a = u diag(s) vh)
 *		kz_error_print(&err, stderr);                 (singular: pivot 3 is 0)
 *	}
 *
 * Matrices are the last two extents of an array; those before are batches.  Arrays are row-major,
 * in and out, and may have any strides.  Float32, float64, complex64 and complex128 are computed as
 * such.  Integers and bool become float64, halves float32; structs are KZ_INVALID.
 *
 * A LAPACK does the work (see linalg.h); where there is none, our own kernels do what they can.
 * What nobody does is KZ_UNSUPPORTED, with the package to install.
 *
 * Every function waits for what LAPACK reports, and so cannot be captured: KZ_STATE.  What the
 * numbers do not allow is KZ_NUMERIC: singular matrices, matrices that are not positive definite,
 * iterations that do not converge, and NaN or infinity where a library might not end.  In a batch
 * the message names the matrix.  The error's domain is KZ_DOMAIN_LAPACK, its code LAPACK's `info`.
 *
 * `options` may be NULL.  A function with one result takes all of them, one with several only
 * the stream.  KZ_INVALID is the answer to shapes that do not fit, with both, to matrices that must
 * be square and are not, and to operands on different devices.
 *
 * Ownership: release every result with kz_array_release.  On failure they are NULL.
 */
#include <kudzu/linalg.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Equations */

/**
 * Solve a x = b by LU factorization; numpy.linalg.solve.
 *
 * @param a (..., n, n).
 * @param b (n,), a vector for all matrices, or (..., n, k), columns.  Batches broadcast.
 * @return KZ_OK; KZ_NUMERIC for a singular matrix, with the pivot that is 0, from 1.
 */
KZ_API KZ_NODISCARD kz_status kz_solve(kz_array **out, kz_array *a, kz_array *b,
	const kz_op_options *options, kz_error *err);

/** Invert matrices, (..., n, n); numpy.linalg.inv.  KZ_NUMERIC as kz_solve. */
KZ_API KZ_NODISCARD kz_status kz_inv(kz_array **out, kz_array *array, const kz_op_options *options,
	kz_error *err);

/**
 * Compute determinants of (..., n, n); numpy.linalg.det.
 *
 * The determinant of a singular matrix is 0, that of a 0 x 0 matrix is 1.  Only the result can
 * overflow.
 */
KZ_API KZ_NODISCARD kz_status kz_det(kz_array **out, kz_array *array, const kz_op_options *options,
	kz_error *err);

/**
 * Compute signs and natural logarithms of determinants: det = sign exp(logabsdet).
 *
 * @param sign set to -1, 0 or 1, or a complex number of that size.
 * @param logabsdet set to real numbers; minus infinity for a singular matrix.
 */
KZ_API KZ_NODISCARD kz_status kz_slogdet(kz_array **sign, kz_array **logabsdet, kz_array *array,
	const kz_op_options *options, kz_error *err);

/** A triangle of a matrix, with its diagonal.  The numbers never change. */
typedef enum kz_triangle {
	KZ_LOWER = 0,
	KZ_UPPER = 1
} kz_triangle;

/**
 * Solve op(a) x = b for triangular a; scipy.linalg.solve_triangular.
 *
 * @param a (..., n, n); only one triangle is read.
 * @param b as kz_solve.
 * @param triangle of `a` itself, which op(a) may turn.
 * @param is_unit 1 if the diagonal counts as ones, and is not read.
 * @return KZ_OK; KZ_NUMERIC as kz_solve.
 */
KZ_API KZ_NODISCARD kz_status kz_solve_triangular(kz_array **out, kz_array *a, kz_array *b,
	kz_triangle triangle, kz_matrix_op op, int is_unit, const kz_op_options *options,
	kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
