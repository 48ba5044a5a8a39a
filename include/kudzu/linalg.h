/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_LINALG_H
#define KUDZU_LINALG_H

/*
 * Linear algebra, with numpy's names and conventions.
 *
 *	kz_array *c = NULL;
 *	if (kz_matmul(&c, a, b, NULL, &err)
 *	    || kz_gemm(c, KZ_ARG(2), a, KZ_MATRIX_TRANSPOSED, b, KZ_MATRIX_AS_IS, KZ_ARG(1), NULL,
 *		    &err)) {                                (c = 2 a' b + c)
 *		kz_error_print(&err, stderr);
 *	}
 *
 * Libraries do the work where they are installed.  They are loaded when they are first needed.  On
 * the CPU device these are a BLAS and a LAPACK: OpenBLAS, MKL, BLIS or another.  KUDZU_BLAS and
 * KUDZU_LAPACK name one, or say `none`.  They work in the order of the stream, on as many threads
 * as the device has, and can be captured into a graph.  Without libraries our own kernels multiply.
 * `kudzu doctor` says what is there.
 *
 * Matrices are the last two extents of an array; those before are batches.  Arrays are row-major,
 * in and out, and have any strides.
 */
#include <kudzu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Multiply matrices, as numpy's matmul: (..., m, k) by (..., k, n) gives (..., m, n).
 *
 * The extents before the last two broadcast.  A 1-d first operand is a row, and a 1-d second one
 * is a column; the result lacks that extent.  The operands become their common type
 * (kz_dtype_promote).  Integers wrap.  Halves are multiplied and added as float32, and rounded
 * once.  For bool the result is true where any pair of elements is true.
 *
 * A library adds the products of floats in an order of its own, and promises no order: the last bits
 * may differ between libraries, their versions and devices.  Where cuBLAS is installed it multiplies
 * all floats, complex numbers and halves on a GPU.  On the CPU device a BLAS leaves small products to
 * our kernels.
 *
 * Our kernels multiply everything else, and everything without a library (KUDZU_BLAS=none,
 * KUDZU_CUBLAS=none).  They add the products one after the other in the order of k, each by a fused
 * multiply-add.  Where the result is a column and the rows of the matrix have no gaps they make 32
 * sums, each of every 32nd product, and add these.  So their bits depend on shapes and strides, and
 * are the same on every device.
 *
 * @param a any strides.
 * @param b any strides.  Operands whose rows and columns both have gaps are copied first; for cuBLAS,
 *        so are batches whose matrices lie in descending order.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for a 0-d operand, structs, another device, and extents that do not
 *         fit, with both shapes.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_matmul(kz_array **out, kz_array *a, kz_array *b,
	const kz_op_options *options, kz_error *err);

/** What kz_gemm makes of an operand first.  The numbers never change. */
typedef enum kz_matrix_op {
	KZ_MATRIX_AS_IS = 0,
	KZ_MATRIX_TRANSPOSED = 1,
	KZ_MATRIX_ADJOINT = 2      /**< transposed, and conjugated if it is complex */
} kz_matrix_op;

/**
 * Multiply matrices and add to an array: c = alpha op(a) op(b) + beta c.
 *
 * With beta 0 the result does not depend on what c holds.
 *
 * @param c (..., m, n), any strides, but no two elements in one place.  It may overlap a and b.
 * @param alpha a number, KZ_ARG(2.0).  A complex one needs a complex c.
 * @param a (..., m, k), or (..., k, m) if it is transposed.  Batches broadcast to those of c.
 * @param b (..., k, n), or (..., n, k).
 * @param beta a number.
 * @param stream NULL for the default stream.
 * @return KZ_OK; KZ_INVALID for extents that do not fit, with the shapes, for types that do not go
 *         into c's, and for other devices.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_gemm(kz_array *c, kz_arg alpha, kz_array *a, kz_matrix_op op_a,
	kz_array *b, kz_matrix_op op_b, kz_arg beta, kz_stream *stream, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
