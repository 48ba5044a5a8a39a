/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_PRODUCTS_H
#define KUDZU_PRODUCTS_H

/*
 * Products of arrays, with numpy's names and rules.
 *
 *	kz_array *c = NULL, *d = NULL, *e = NULL;
 *	if (kz_dot(&c, a, b, NULL, &err)
 *	    || kz_tensordot(&d, a, b, 1, NULL, &err)
 *	    || kz_einsum(&e, "ij,jk->ki", KZ_ARRAYS(a, b), NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * The operands become their common type (kz_dtype_promote), or the options' dtype, which is also
 * the result's.  So sums of small integers wrap as in numpy; an options' dtype of int64 keeps them.
 * For bool, "and" multiplies and "or" adds.  Halves are multiplied and added as float32 and rounded
 * once.
 *
 * Operands can have any strides.  The result is a new array of any order of axes in memory, or it
 * goes into the options' `into`, which may be an operand.
 *
 * Each returns KZ_OK; KZ_INVALID for NULL, structs, arrays of different devices, and shapes that do
 * not fit, with these; KZ_DEVICE_MEMORY; KZ_NO_MEMORY; KZ_NO_COMPILER.  On failure *out is NULL.
 *
 * Ownership: release the results with kz_array_release.
 * Async: returns before the work is done.  You may release the operands at once.
 */
#include <kudzu/join.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Multiply two arrays as numpy's dot.
 *
 * A 0-d operand multiplies each element of the other.  Otherwise the sum is along the last axis of
 * `a` and the last but one of `b`, or the only one.  The result has the other axes of `a`, then
 * those of `b`.  So two 1-d arrays give a 0-d one, and matrices their product.
 */
KZ_API KZ_NODISCARD kz_status kz_dot(kz_array **out, kz_array *a, kz_array *b,
	const kz_op_options *options, kz_error *err);

/**
 * Add the products of the elements of two arrays in row-major order, with `a` conjugated.
 *
 * @param b any shape with as many elements as `a`.
 */
KZ_API KZ_NODISCARD kz_status kz_vdot(kz_array **out, kz_array *a, kz_array *b,
	const kz_op_options *options, kz_error *err);

/**
 * Add products along the last axis of both operands.
 *
 * The result has the other axes of `a`, then those of `b`.  A 0-d operand multiplies each element
 * of the other.
 */
KZ_API KZ_NODISCARD kz_status kz_inner(kz_array **out, kz_array *a, kz_array *b,
	const kz_op_options *options, kz_error *err);

/** Multiply each of the m elements of `a` by each of the n of `b`: (m, n), in row-major order. */
KZ_API KZ_NODISCARD kz_status kz_outer(kz_array **out, kz_array *a, kz_array *b,
	const kz_op_options *options, kz_error *err);

/**
 * Replace each element of `a` by its product with all of `b`: the Kronecker product.
 *
 * The operand of fewer axes gets new ones of extent 1 before its own.  Each extent of the result is
 * the product of the operands' ones.
 */
KZ_API KZ_NODISCARD kz_status kz_kron(kz_array **out, kz_array *a, kz_array *b,
	const kz_op_options *options, kz_error *err);

/**
 * Add products along the last `count` axes of `a` and the first `count` axes of `b`, in this order.
 *
 * The result has the other axes of `a`, then those of `b`.
 *
 * @param count from 0, which gives the product of each element of `a` with each of `b`.
 */
KZ_API KZ_NODISCARD kz_status kz_tensordot(kz_array **out, kz_array *a, kz_array *b, int64_t count,
	const kz_op_options *options, kz_error *err);

/**
 * Add products along any axes; as kz_tensordot.
 *
 * @param a_axes the axes of `a`, KZ_AXES(1, 0).
 * @param b_axes for each of these the axis of `b` with which it is summed.
 * @return also KZ_RANGE for an axis that an array does not have.
 */
KZ_API KZ_NODISCARD kz_status kz_tensordot_axes(kz_array **out, kz_array *a, kz_array *b,
	kz_axes a_axes, kz_axes b_axes, const kz_op_options *options, kz_error *err);

/**
 * Add products of elements of arrays whose axes have letters: numpy's einsum.
 *
 * "ij,jk->ik" multiplies matrices: element (i, k) of the result is the sum over j of a[i, j] *
 * b[j, k].  Each operand has a term, with a letter for each axis.  A letter that the output lacks
 * is summed.  A letter that is twice in a term takes the diagonal: "ii->i".  An ellipsis stands for
 * any number of axes, which broadcast: "...ij,...jk->...ik".  Without "->" the output has the
 * ellipsis, then the letters that occur once, capitals first: "ij" is a copy, "ji" the transpose,
 * "ii" the trace.  An extent of 1 fits any other of its letter in another operand.
 *
 * Operands are contracted two at a time, in an order of the fewest operations for up to 8 of them.
 * The result is a new array even where numpy gives a view.
 *
 * @param subscripts letters a-z and A-Z, at most 64 different ones and extents of the ellipsis.
 *        Spaces do not count.
 * @param arrays 1 to 64 operands.
 * @return also KZ_INVALID for bad subscripts, with the column from 1, and for extents of one letter
 *         that differ, with both shapes; KZ_UNSUPPORTED if every order needs an array of more than
 *         KZ_MAX_DIMS extents.
 */
KZ_API KZ_NODISCARD kz_status kz_einsum(kz_array **out, const char *subscripts, kz_arrays arrays,
	const kz_op_options *options, kz_error *err);

/**
 * Write the order in which kz_einsum contracts, as text: numpy's einsum_path.
 *
 * The first line has the number of operations, also of a single loop over all letters.  A line for
 * each step follows: "3 = 0, 2: ij,jk->ik, 2.4e+03 operations" contracts operands 0 and 2 to what
 * later lines call 3.
 *
 * @param buffer host memory; NULL to learn the length.
 * @param size bytes at `buffer`, with the terminating zero.
 * @param length set to the length of the whole text in bytes, without the terminating zero; 0 on
 *        failure.  May be NULL.
 * @return as kz_einsum.
 */
KZ_API KZ_NODISCARD kz_status kz_einsum_path(char *buffer, int64_t size, int64_t *length,
	const char *subscripts, kz_arrays arrays, kz_error *err);

/**
 * Multiply a chain of matrices in the order of the fewest operations; numpy's linalg.multi_dot.
 *
 * @param arrays two matrices or more.  The first may be 1-d, a row; the last may be 1-d, a column;
 *        the result lacks that extent.
 */
KZ_API KZ_NODISCARD kz_status kz_mdot(kz_array **out, kz_arrays arrays,
	const kz_op_options *options, kz_error *err);

/**
 * Multiply square matrices (..., n, n) by themselves `power` times, by repeated squaring.
 *
 * @param power 0 gives identity matrices; a negative one multiplies the inverses (kz_inv).
 * @return for a negative power also what kz_inv returns, KZ_NUMERIC for a singular matrix.
 */
KZ_API KZ_NODISCARD kz_status kz_matrix_power(kz_array **out, kz_array *array, int64_t power,
	const kz_op_options *options, kz_error *err);

/**
 * Multiply two arrays of matrices and add the product to a third: c = alpha a b + beta c.
 *
 * This is scikit-cuda's add_dot.  kz_gemm of linalg.h also transposes and takes a stream.
 *
 * @param c (..., m, n) for a of shape (..., m, k) and b of shape (..., k, n).
 * @param alpha a number, KZ_ARG(1).
 * @param beta a number; with 0 the result does not depend on what c holds.
 */
KZ_API KZ_NODISCARD kz_status kz_add_dot(kz_array *c, kz_arg alpha, kz_array *a, kz_array *b,
	kz_arg beta, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
