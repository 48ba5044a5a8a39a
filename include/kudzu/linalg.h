/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_LINALG_H
#define KUDZU_LINALG_H

/*
 * Linear algebra, with numpy's names and conventions: products of matrices and of arrays,
 * covariances, matrices from parts of others.  solve.h has equations, factorizations, eigenvalues
 * and norms.
 *
 *	kz_array *c = NULL, *d = NULL, *upper = NULL, *covariances = NULL;
 *	if (kz_matmul_op(&c, a, KZ_MATRIX_TRANSPOSED, b, KZ_MATRIX_AS_IS, NULL, &err)    (a' b)
 *	    || kz_gemm(c, KZ_ARG(2), a, KZ_MATRIX_TRANSPOSED, b, KZ_MATRIX_AS_IS, KZ_ARG(1), NULL,
 *		    &err)                                 (c = 2 a' b + c)
 *	    || kz_einsum(&d, "ij,jk->ki", KZ_ARRAYS(a, b), NULL, &err)
 *	    || kz_triu(&upper, c, 1, NULL, &err)          (above the diagonal)
 *	    || kz_cov(&covariances, a, NULL, &err)        (of the rows of a)
 *	    || kz_scale(c, 0.5, &err)) {                  (c *= 0.5)
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
 *
 * The operands of a product become their common type (kz_dtype_promote), or the options' dtype,
 * which is also the result's.  So sums of small integers wrap as in numpy; an options' dtype of
 * int64 keeps them.  For bool, "and" multiplies and "or" adds.  Halves are multiplied and added as
 * float32 and rounded once.
 *
 * The options are those of kz_apply: an array to write into, a stream, a dtype; NULL means none of
 * them.  Without an array to write into the result is a new one, of any order of axes in memory.
 * The array may be an operand.
 *
 * Each function returns KZ_OK; KZ_INVALID for NULL, structs, arrays of different devices, and
 * shapes that do not fit, with these; KZ_DEVICE_MEMORY; KZ_NO_MEMORY; KZ_NO_COMPILER.  On failure
 * *out is NULL.
 *
 * Ownership: release the results with kz_array_release.
 * Async: the functions return before the work is done.  You may release the operands at once.
 */
#include <kudzu/join.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Products of matrices */

/**
 * Multiply matrices, as numpy's matmul: (..., m, k) by (..., k, n) gives (..., m, n).
 *
 * The extents before the last two broadcast.  A 1-d first operand is a row, and a 1-d second one
 * is a column; the result lacks that extent.  The operands become their common type
 * (kz_dtype_promote).  Integers wrap.  Halves are multiplied and added as float32, and rounded
 * once.  For bool the result is true where any pair of elements is true.
 *
 * A library adds the products of floats in an order of its own, and promises no order: the last
 * bits may differ between libraries, their versions and devices.  Where cuBLAS is installed it
 * multiplies all floats, complex numbers and halves on a GPU.  On the CPU device a BLAS leaves
 * small products to our kernels.
 *
 * Our kernels multiply everything else, and everything without a library (KUDZU_BLAS=none,
 * KUDZU_CUBLAS=none).  They add the products one after the other in the order of k, each by a fused
 * multiply-add.  Where the result is a column and the rows of the matrix have no gaps they make 32
 * sums, each of every 32nd product, and add these.  So their bits depend on shapes and strides, and
 * are the same on every device.
 *
 * @param a any strides.
 * @param b any strides.  Operands whose rows and columns both have gaps are copied first; for
 *        cuBLAS, so are batches whose matrices lie in descending order.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for a 0-d operand, structs, another device, and extents that do not
 *         fit, with both shapes.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_matmul(kz_array **out, kz_array *a, kz_array *b,
	const kz_op_options *options, kz_error *err);

/** What is made of an operand before it is multiplied.  The numbers never change. */
typedef enum kz_matrix_op {
	KZ_MATRIX_AS_IS = 0,
	KZ_MATRIX_TRANSPOSED = 1,
	KZ_MATRIX_ADJOINT = 2      /**< transposed, and conjugated if it is complex */
} kz_matrix_op;

/**
 * Multiply matrices that are transposed first: numpy's a.mT @ b in one call.  As kz_matmul.
 *
 *	kz_matmul_op(&c, a, KZ_MATRIX_TRANSPOSED, b, KZ_MATRIX_AS_IS, NULL, &err)    (c = a' b)
 *
 * A transposed operand is read where it lies, without a copy.  The adjoint of a complex one is
 * copied.  A 1-d operand stays a row or a column; its adjoint is conjugated.
 *
 * @param a (..., m, k), or (..., k, m) if op_a turns it.
 * @param op_a what is made of each matrix of `a` first.
 * @param b (..., k, n), or (..., n, k) if op_b turns it.  It may be `a`.
 * @return as kz_matmul; KZ_INVALID also for an unknown op.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_matmul_op(kz_array **out, kz_array *a, kz_matrix_op op_a,
	kz_array *b, kz_matrix_op op_b, const kz_op_options *options, kz_error *err);

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

/* Products of matrices that one triangle describes completely: BLAS's symm, syrk and trmm.  They do
 * not read the other triangle of an operand, which may hold NaN, and do not write that of a result.
 * They work as kz_gemm does, whose comment says which types, batches, libraries and strides there
 * are.  A NaN or an infinity of another operand may spread to its whole row or column. */

/** A triangle of a matrix, with its diagonal.  The numbers never change. */
typedef enum kz_triangle {
	KZ_LOWER = 0,
	KZ_UPPER = 1
} kz_triangle;

/** On which side of another matrix a matrix is.  The numbers never change. */
typedef enum kz_side {
	KZ_LEFT = 0,
	KZ_RIGHT = 1
} kz_side;

/**
 * Multiply by a symmetric matrix and add: c = alpha a b + beta c, or alpha b a + beta c.
 *
 * @param c (..., m, n); it may overlap a and b.
 * @param alpha a number, KZ_ARG(2.0), as beta; see kz_gemm.
 * @param a (..., m, m), or (..., n, n) on the right.  Batches broadcast to those of c.
 * @param triangle of `a` that is read.
 * @param side where `a` is.
 * @param b (..., m, n).
 * @param stream NULL for the default stream.
 * @return KZ_OK; KZ_INVALID for a matrix that is not square, and as kz_gemm.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_symm(kz_array *c, kz_arg alpha, kz_array *a, kz_triangle triangle,
	kz_side side, kz_array *b, kz_arg beta, kz_stream *stream, kz_error *err);

/**
 * Multiply by a Hermitian matrix and add; as kz_symm.
 *
 * The other triangle of `a` is the conjugate of this one, and imaginary parts on the diagonal count
 * as 0.
 */
KZ_API KZ_NODISCARD kz_status kz_hemm(kz_array *c, kz_arg alpha, kz_array *a, kz_triangle triangle,
	kz_side side, kz_array *b, kz_arg beta, kz_stream *stream, kz_error *err);

/**
 * Multiply a matrix by its transpose and add, in one triangle: c = alpha op(a) op(a)' + beta c.
 *
 * @param c (..., n, n).
 * @param triangle of `c` that is read and written.
 * @param alpha a number, KZ_ARG(2.0), as beta.  With beta 0 the result does not depend on what c
 *        holds.
 * @param a (..., n, k), or (..., k, n) if it is transposed.  Batches broadcast to those of c.
 * @param op KZ_MATRIX_AS_IS or KZ_MATRIX_TRANSPOSED; for real matrices the adjoint is the same.
 * @param stream NULL for the default stream.
 * @return as kz_symm; KZ_INVALID also for the adjoint of a complex matrix.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_syrk(kz_array *c, kz_triangle triangle, kz_arg alpha, kz_array *a,
	kz_matrix_op op, kz_arg beta, kz_stream *stream, kz_error *err);

/**
 * Multiply a matrix by its adjoint and add, in one triangle: c = alpha op(a) op(a)^H + beta c; as
 * kz_syrk.
 *
 * Imaginary parts on the diagonal of c are not read, and become 0.
 *
 * @param alpha a real number, as beta.
 * @param op KZ_MATRIX_AS_IS or KZ_MATRIX_ADJOINT; for real matrices the transpose is the same.
 * @return as kz_syrk; KZ_INVALID for a factor that is not real, and for the transpose of a complex
 *         matrix.
 */
KZ_API KZ_NODISCARD kz_status kz_herk(kz_array *c, kz_triangle triangle, kz_arg alpha, kz_array *a,
	kz_matrix_op op, kz_arg beta, kz_stream *stream, kz_error *err);

/**
 * Multiply by a triangular matrix in place: b = alpha op(a) b, or alpha b op(a).
 *
 * kz_solve_triangular (solve.h) divides by one.
 *
 * @param b (..., m, n), any strides, but no two elements in one place.
 * @param a (..., m, m), or (..., n, n) on the right.  Batches broadcast to those of b.
 * @param triangle of `a` itself, which op(a) may turn.
 * @param is_unit 1 if the diagonal counts as ones, and is not read.
 * @param side where `a` is.
 * @param stream NULL for the default stream.
 * @return as kz_symm.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_trmm(kz_array *b, kz_arg alpha, kz_array *a, kz_triangle triangle,
	kz_matrix_op op, int is_unit, kz_side side, kz_stream *stream, kz_error *err);

/* Products of arrays */

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
 * Multiply two arrays to one number of a C type in host memory: kz_dot without options.
 *
 * @param out set to the number; unchanged on failure.
 * @param dtype of the number at `out`: that of the result, or a wider one of the same kind (signed,
 *        unsigned, float, complex), as float64 for a result of float32 or float16.
 * @return as kz_dot; KZ_INVALID also for another dtype, with both, and for a result of more
 *         elements, with its shape; KZ_STATE where the work would go into a graph.
 * Async: waits for the result.
 */
KZ_API KZ_NODISCARD kz_status kz_dot_get_as(void *out, kz_dtype dtype, kz_array *a, kz_array *b,
	kz_error *err);

/** Multiply two arrays to one number in host memory; as kz_dot_get_as, and kz_vdot. */
KZ_API KZ_NODISCARD kz_status kz_vdot_get_as(void *out, kz_dtype dtype, kz_array *a, kz_array *b,
	kz_error *err);

#ifndef __cplusplus
/** Multiply to a number of the program's, by its C type: double r; kz_dot_get(&r, a, b, &err). */
#define kz_dot_get(out, a, b, err) \
	kz_dot_get_as((out), KZ_PP_DTYPE_AT(out), (a), (b), (err))
/** Multiply to a number of the program's, by its C type, with `a` conjugated. */
#define kz_vdot_get(out, a, b, err) \
	kz_vdot_get_as((out), KZ_PP_DTYPE_AT(out), (a), (b), (err))
#endif

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
 * This is scikit-cuda's add_dot.  kz_gemm also transposes and takes a stream.
 *
 * @param c (..., m, n) for a of shape (..., m, k) and b of shape (..., k, n).
 * @param alpha a number, KZ_ARG(1).
 * @param beta a number; with 0 the result does not depend on what c holds.
 */
KZ_API KZ_NODISCARD kz_status kz_add_dot(kz_array *c, kz_arg alpha, kz_array *a, kz_array *b,
	kz_arg beta, kz_error *err);

/* Covariances */

/** What to compute of variables.  Initialize with KZ_COV_OPTIONS_INIT. */
typedef struct kz_cov_options {
	size_t size;       /**< sizeof(kz_cov_options) */
	kz_array *into;    /**< the array for the result; NULL: a new one */
	kz_stream *stream; /**< NULL: the device's default stream */
	kz_dtype dtype;    /**< of the result and the computation, floats or complex numbers; 0:
	                        float64, or complex128, also for float32, as numpy has it */
	int32_t columns;   /**< nonzero: each column is a variable and each row an observation; 0:
	                        each row is a variable (numpy's rowvar) */
	kz_array *y;       /**< more variables, with as many observations; or NULL */
	double ddof;       /**< covariances divide by the number of observations minus this; the
	                        macro sets 1.  Correlations do not depend on it */
	void *reserved[4];
} kz_cov_options;

#ifdef __cplusplus
#define KZ_COV_OPTIONS_INIT \
	kz_cov_options{sizeof(kz_cov_options), nullptr, nullptr, 0, 0, nullptr, 1, {}}
#else
#define KZ_PP_DEFAULTS_kz_cov_options .size = sizeof(kz_cov_options), .ddof = 1
#define KZ_COV_OPTIONS_INIT {KZ_PP_DEFAULTS_kz_cov_options}
#endif

/**
 * Compute the covariances of variables: numpy's cov.
 *
 *	kz_cov(&c, x, NULL, &err)                                          (rows are variables)
 *	kz_cov(&c, x, KZ_WITH(kz_cov_options, .columns = 1, .ddof = 0), &err)
 *
 * Element (i, j) is the mean of (x_i - mean_i) conj(x_j - mean_j), with a divisor of n - ddof for n
 * observations.  The means are subtracted first, so large ones cost no digits.  The result is
 * exactly symmetric, or Hermitian.  A variable with a NaN has NaN in its row and column.  If n -
 * ddof is not above 0, zeros become NaN and other elements infinite, as in numpy: one observation
 * and ddof 1 give NaN.  There are no weights.
 *
 * @param out set to (k, k) for k variables, those of y after those of x; 0-d for one variable.
 *        NULL on failure.  If the options have `into`, it is set to that array with one more
 *        reference, and may be NULL.
 * @param x (variables, observations), any strides.  A 1-d array is one variable, and a 0-d one is
 *        one observation of it.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for more than two extents, numbers of observations that differ, another
 *         device, a dtype that is not one of floats or complex numbers or cannot hold the operands'
 *         kind, and `into` or a stream that do not fit; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_cov(kz_array **out, kz_array *x, const kz_cov_options *options,
	kz_error *err);

/**
 * Compute the correlation coefficients of variables (Pearson's): numpy's corrcoef.  As kz_cov.
 *
 * Element (i, j) is cov(i, j) / sqrt(cov(i, i) cov(j, j)).  Its real and its imaginary part are
 * between -1 and 1.  A variable that never changes has NaN in its row and column.
 */
KZ_API KZ_NODISCARD kz_status kz_corrcoef(kz_array **out, kz_array *x,
	const kz_cov_options *options, kz_error *err);

/* Matrices from parts of others */

/**
 * Copy the lower triangle of matrices, with zeros above it: numpy's tril.
 *
 * @param out set to the result, NULL on failure.  If the options have `into`, it is set to that
 *        array with one more reference, and may be NULL.
 * @param array at least 2-d; extents before the last two are batches.
 * @param k the last diagonal that is kept: 0 for the main one, above 0 for one to the right.
 * @param options NULL for the defaults; `into` may be the array itself.
 * @return KZ_OK; KZ_INVALID for fewer than two extents, with the shape, for a struct, and for
 *         `into` or a stream that do not fit; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
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
 *        row plus k, which may be none.
 * @return as kz_tril, for any dtype; KZ_INVALID for another number of extents; KZ_RANGE for a
 *         matrix whose size overflows.
 */
KZ_API KZ_NODISCARD kz_status kz_diag(kz_array **out, kz_array *array, int64_t k,
	const kz_op_options *options, kz_error *err);

/**
 * Make the matrix of the powers of numbers: numpy's vander.
 *
 * Row i has the powers of x[i].  Each power is a product of the ones before.  As in numpy the dtype
 * is the common one of x and int64, so float32 gives float64; the options' dtype says otherwise.
 *
 * @param x 1-d.
 * @param columns from 0; -1 for as many as x has numbers.
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
