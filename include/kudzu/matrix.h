/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_MATRIX_H
#define KUDZU_MATRIX_H

/*
 * Matrices from parts of others: triangles, diagonals, differences, powers, scaled rows.
 *
 *	kz_array *upper = NULL, *line = NULL;
 *	if (kz_triu(&upper, a, 1, NULL, &err)          (above the diagonal)
 *	    || kz_diag(&line, a, 0, NULL, &err)        (the diagonal)
 *	    || kz_scale(a, 0.5, &err)                  (a *= 0.5)
 *	    || kz_scale_along(a, line, 0, &err)) {     (each row times a number of its own)
 *		kz_error_print(&err, stderr);
 *	}
 *
 * The options are those of kz_apply: an array to write into, a stream, a dtype; NULL means none of
 * them.  create.h has the identity matrix, view.h the diagonal as a view.
 *
 * Ownership: release the results with kz_array_release.
 * Async: the functions return before the work is done.  You may release the arrays at once.
 */
#include <kudzu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Copy the lower triangle of matrices, with zeros above it: numpy's tril.
 *
 * @param out set to the result, NULL on failure.  If the options have `into`, it is set to that
 *        array with one more reference, and may be NULL.
 * @param array at least 2-d; extents before the last two are batches.
 * @param k the last diagonal that is kept: 0 for the main one, above 0 for one to the right.
 * @param options NULL for the defaults; `into` may be the array itself.
 * @return KZ_OK; KZ_INVALID for fewer than two extents, with the shape, for a struct, and for `into`
 *         or a stream that do not fit; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 */
KZ_API KZ_NODISCARD kz_status kz_tril(kz_array **out, kz_array *array, int64_t k,
	const kz_op_options *options, kz_error *err);

/** Copy the upper triangle of matrices, from diagonal `k` on; numpy's triu.  As kz_tril. */
KZ_API KZ_NODISCARD kz_status kz_triu(kz_array **out, kz_array *array, int64_t k,
	const kz_op_options *options, kz_error *err);

/**
 * Make a matrix with a 1-d array on its diagonal and zeros elsewhere, or copy the diagonal of a
 * matrix: numpy's diag.
 *
 * @param array 1-d: n elements give a square of n + |k|.  2-d: the elements whose column is their
 *        row plus k; none if there are none.
 * @return as kz_tril, for any dtype; KZ_INVALID for another number of extents; KZ_RANGE for a matrix
 *         whose size overflows.
 */
KZ_API KZ_NODISCARD kz_status kz_diag(kz_array **out, kz_array *array, int64_t k,
	const kz_op_options *options, kz_error *err);

/**
 * Compute differences of neighbours along an axis, a[i + 1] - a[i]: numpy's diff.
 *
 * Those of bool are bool: whether two differ.  Unsigned integers wrap.
 *
 * @param n how many times: the differences of the differences ...; 0 copies.  Each time takes one
 *        element of the axis, down to none.
 * @param axis from 0, or negative from the end.
 * @return as kz_tril; KZ_RANGE for an axis that the array does not have; KZ_INVALID for n below 0.
 */
KZ_API KZ_NODISCARD kz_status kz_diff(kz_array **out, kz_array *array, int64_t n, int64_t axis,
	const kz_op_options *options, kz_error *err);

/**
 * Make the matrix of the powers of numbers: numpy's vander.
 *
 * Row i has the powers of x[i].  Each power is a product of the ones before.  As in numpy the dtype
 * is the common one of x and int64, so float32 gives float64; the options' dtype says otherwise.
 *
 * @param x 1-d.
 * @param columns from 0; -1 for as many as there are numbers.
 * @param increasing 1: the powers are 0, 1, 2 ...; 0: they fall to 0, as numpy has it.
 * @return as kz_tril; KZ_INVALID for an x that is not 1-d, and for columns below -1.
 */
KZ_API KZ_NODISCARD kz_status kz_vander(kz_array **out, kz_array *x, int64_t columns,
	int increasing, const kz_op_options *options, kz_error *err);

/**
 * Multiply all elements of an array by a number, in place; BLAS's scal.  kz_scale(a, 0.5, &err)
 * captures the number.
 *
 * @param array any array or view whose elements share no memory.
 * @param alpha KZ_ARG(number); a complex one for complex arrays only.
 * @return KZ_OK; KZ_INVALID for a number of a kind that the array cannot hold; KZ_RANGE for an
 *         integer that is too large for it.
 */
KZ_API KZ_NODISCARD kz_status kz_array_scale(kz_array *array, kz_arg alpha, kz_error *err);

/** Multiply all elements in a stream; as kz_array_scale. */
KZ_API KZ_NODISCARD kz_status kz_array_scale_on(kz_array *array, kz_arg alpha, kz_stream *stream,
	kz_error *err);

/**
 * Multiply the elements of an array in place, each by the number that a 1-d array has for its place
 * along an axis: diag(v) a for the axis 0 of a matrix, a diag(v) for 1; scikit-cuda's dot_diag and
 * mult_matvec.
 *
 * @param array any array or view whose elements share no memory.
 * @param factors 1-d, one for each place; of a kind that the array can hold.
 * @param axis from 0, or negative from the end.
 * @return KZ_OK; KZ_RANGE for an axis that the array does not have; KZ_INVALID for shapes that do
 *         not fit, with both, another device, and a kind that does not fit.
 */
KZ_API KZ_NODISCARD kz_status kz_scale_along(kz_array *array, kz_array *factors, int64_t axis,
	kz_error *err);

/** Multiply the elements in a stream; as kz_scale_along. */
KZ_API KZ_NODISCARD kz_status kz_scale_along_on(kz_array *array, kz_array *factors, int64_t axis,
	kz_stream *stream, kz_error *err);

#ifdef __cplusplus
}
#endif

/** kz_array_scale with a C number. */
#define kz_scale(array, alpha, err) kz_array_scale((array), KZ_ARG(alpha), (err))

#endif
