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
 * A LAPACK library does the work (see linalg.h).  Without one, our own kernels do what they can.
 * What nobody does is KZ_UNSUPPORTED, with the package to install.
 *
 * Every function waits for what LAPACK reports, and so cannot be captured: KZ_STATE.  What the
 * numbers do not allow is KZ_NUMERIC: singular matrices, matrices that are not positive definite,
 * iterations that do not converge, and NaN or infinity where a library might not end.  In a batch
 * the message names the matrix.  The error's domain is KZ_DOMAIN_LAPACK, its code LAPACK's `info`.
 * Elsewhere a NaN gives results with NaN.  Matrices with NaN or infinity, and those with pivots
 * that have no reciprocal, are factored by our own LU factorization, whatever libraries there are.
 *
 * `options` may be NULL.  A function with one result takes all of them, one with several only
 * the stream.  KZ_INVALID is the answer to shapes that do not fit, with both, to matrices that must
 * be square and are not, and to operands on different devices.
 *
 * Ownership: release every result with kz_array_release.  On failure they are NULL.
 */
#include <kudzu/linalg.h>
#include <kudzu/reduce.h>

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
 * The determinant of a singular matrix is 0, that of a 0 x 0 matrix is 1, that of a matrix with a
 * NaN is NaN.  Only the result can overflow.
 */
KZ_API KZ_NODISCARD kz_status kz_det(kz_array **out, kz_array *array, const kz_op_options *options,
	kz_error *err);

/**
 * Compute signs and natural logarithms of determinants: det = sign exp(logabsdet).
 *
 * Both are NaN for a matrix with a NaN.
 *
 * @param sign set to -1, 0 or 1, or a complex number of that size.
 * @param logabsdet set to real numbers; minus infinity for a singular matrix.
 */
KZ_API KZ_NODISCARD kz_status kz_slogdet(kz_array **sign, kz_array **logabsdet, kz_array *array,
	const kz_op_options *options, kz_error *err);

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

/**
 * Find x that makes the norm of b - a x least; numpy.linalg.lstsq.
 *
 * Of several such x it is the one of least norm.  It is computed from the singular values of a.
 *
 * @param x set to (n,), or (n, k).
 * @param residuals set to the squared norms of the columns of b - a x, real; of shape (0,) unless
 *        the rank is n and m > n.  May be NULL, as the next two.
 * @param rank set to a 0-d int64.
 * @param s set to the min(m, n) singular values.
 * @param a (m, n).
 * @param b (m,) or (m, k).
 * @param rcond singular values up to this share of the largest count as 0; negative: the type's
 *        epsilon times max(m, n).
 * @return KZ_OK; KZ_NUMERIC as kz_svd.
 */
KZ_API KZ_NODISCARD kz_status kz_lstsq(kz_array **x, kz_array **residuals, kz_array **rank,
	kz_array **s, kz_array *a, kz_array *b, double rcond, const kz_op_options *options,
	kz_error *err);

/**
 * Compute pseudo-inverses: (..., m, n) gives (..., n, m); numpy.linalg.pinv.
 *
 * @param rcond as kz_lstsq, for each matrix; negative: 1e-15.
 */
KZ_API KZ_NODISCARD kz_status kz_pinv(kz_array **out, kz_array *array, double rcond,
	const kz_op_options *options, kz_error *err);

/* Factorizations */

/**
 * Factor matrices: array = p l u; scipy.linalg.lu.
 *
 * A singular matrix has factors, too.
 *
 * @param p set to permutations, (..., m, m), real.
 * @param l set to lower triangles with ones on the diagonal, (..., m, min(m, n)).
 * @param u set to upper triangles, (..., min(m, n), n).
 */
KZ_API KZ_NODISCARD kz_status kz_lu(kz_array **p, kz_array **l, kz_array **u, kz_array *array,
	const kz_op_options *options, kz_error *err);

/**
 * Factor Hermitian matrices: array = l l^H, or u^H u; numpy.linalg.cholesky.
 *
 * @param array (..., n, n).  One triangle is read; the other counts as its conjugate.
 * @param triangle the triangle that is read, and that the result has.  The rest of the result is 0.
 * @return KZ_OK; KZ_NUMERIC for a matrix that is not positive definite, with the order of the first
 *         leading minor that is not positive.
 */
KZ_API KZ_NODISCARD kz_status kz_cholesky(kz_array **out, kz_array *array, kz_triangle triangle,
	const kz_op_options *options, kz_error *err);

/** Which parts of a QR factorization kz_qr computes.  The numbers never change. */
typedef enum kz_qr_mode {
	KZ_QR_REDUCED = 0,  /**< q (m, k) and r (k, n), k = min(m, n) */
	KZ_QR_COMPLETE = 1, /**< q (m, m) and r (m, n) */
	KZ_QR_R = 2         /**< r (k, n) alone */
} kz_qr_mode;

/**
 * Factor matrices: array = q r; numpy.linalg.qr.
 *
 * @param q set to orthonormal columns.  May be NULL for KZ_QR_R, which sets it to NULL.
 * @param r set to upper triangles.
 */
KZ_API KZ_NODISCARD kz_status kz_qr(kz_array **q, kz_array **r, kz_array *array, kz_qr_mode mode,
	const kz_op_options *options, kz_error *err);

/**
 * Decompose matrices: array = u diag(s) vh; numpy.linalg.svd.
 *
 * @param u set to orthonormal columns, (..., m, m), or (..., m, k), k = min(m, n).
 * @param s set to singular values, (..., k), real, the largest first.
 * @param vh set to orthonormal rows, (..., n, n), or (..., k, n).
 * @param full_matrices 1 for square u and vh, 0 for those of k columns and rows.
 * @return KZ_OK; KZ_NUMERIC for elements that are infinite or NaN, and if there is no convergence.
 */
KZ_API KZ_NODISCARD kz_status kz_svd(kz_array **u, kz_array **s, kz_array **vh, kz_array *array,
	int full_matrices, const kz_op_options *options, kz_error *err);

/** Compute singular values alone; as kz_svd. */
KZ_API KZ_NODISCARD kz_status kz_svdvals(kz_array **out, kz_array *array,
	const kz_op_options *options, kz_error *err);

/** How kz_rsvd works.  Initialize with KZ_RSVD_OPTIONS_INIT. */
typedef struct kz_rsvd_options {
	size_t size;          /**< sizeof(kz_rsvd_options) */
	kz_stream *stream;    /**< NULL: the device's default stream */
	int64_t oversampling; /**< random columns more than the rank; the macro sets 10 */
	int64_t iterations;   /**< more products with the adjoint and the matrix; the macro sets
	                           2 */
	uint64_t seed;        /**< of the random columns (random.h) */
	void *reserved[4];
} kz_rsvd_options;

#ifdef __cplusplus
#define KZ_RSVD_OPTIONS_INIT kz_rsvd_options{sizeof(kz_rsvd_options), nullptr, 10, 2, 0, {}}
#else
#define KZ_PP_DEFAULTS_kz_rsvd_options \
	.size = sizeof(kz_rsvd_options), .oversampling = 10, .iterations = 2
#define KZ_RSVD_OPTIONS_INIT {KZ_PP_DEFAULTS_kz_rsvd_options}
#endif

/**
 * Find the largest singular values and their vectors by random projections: array is about
 * u diag(s) vh; scikit-cuda's rlinalg.rsvd.
 *
 * The method is that of Halko, Martinsson and Tropp ("Finding Structure with Randomness", 2011).
 * The error is small if the values after the rank are: with oversampling p and q iterations its
 * mean is at most the next value times (1 + 4 sqrt(2 min(m, n) / (rank - 1)))^(1 / (2 q + 1)), for
 * p = rank.  One seed gives one result on a device.  With rank + p = min(m, n) it is kz_svd's but
 * for rounding.
 *
 * @param u set to orthonormal columns, (..., m, rank).
 * @param s set to singular values, (..., rank), real, the largest first.
 * @param vh set to orthonormal rows, (..., rank, n).
 * @param array (..., m, n).
 * @param rank 1 to min(m, n).
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for a rank that the shape does not have, and for negative numbers;
 *         KZ_NUMERIC as kz_svd.
 */
KZ_API KZ_NODISCARD kz_status kz_rsvd(kz_array **u, kz_array **s, kz_array **vh, kz_array *array,
	int64_t rank, const kz_rsvd_options *options, kz_error *err);

/**
 * Find principal components: array - mean = scores loadings; scikit-cuda's PCA, sklearn's.
 *
 * They are computed from the singular values.  Vectors are unique but for a factor of magnitude 1:
 * it is chosen so that the loading of the largest magnitude, the first of several, is real and
 * positive in each component.
 *
 * @param scores set to the observations in terms of the components, (..., m, k).
 * @param loadings set to the components, orthonormal rows, (..., k, n).  May be NULL, as the next
 *        two.
 * @param variances set to the variances of the scores, (..., k), real, the largest first, with a
 *        divisor of m - 1.
 * @param mean set to the mean observation, (..., n).
 * @param array (..., m, n): a row is an observation of n variables.  At least two rows.
 * @param components k, 1 to min(m, n); 0 for all.
 * @return KZ_OK; KZ_INVALID for too few rows or too many components; KZ_NUMERIC as kz_svd.
 */
KZ_API KZ_NODISCARD kz_status kz_pca(kz_array **scores, kz_array **loadings, kz_array **variances,
	kz_array **mean, kz_array *array, int64_t components, const kz_op_options *options,
	kz_error *err);

/* Eigenvalues */

/**
 * Find eigenvalues and eigenvectors of Hermitian matrices: array = v diag(w) v^H;
 * numpy.linalg.eigh.
 *
 * @param w set to eigenvalues, (..., n), real, ascending.
 * @param v set to (..., n, n); column i belongs to value i.
 * @param array (..., n, n).
 * @param triangle which one is read; the other counts as its conjugate.
 * @return KZ_OK; KZ_NUMERIC as kz_svd.
 */
KZ_API KZ_NODISCARD kz_status kz_eigh(kz_array **w, kz_array **v, kz_array *array,
	kz_triangle triangle, const kz_op_options *options, kz_error *err);

/** Find eigenvalues of Hermitian matrices alone; as kz_eigh. */
KZ_API KZ_NODISCARD kz_status kz_eigvalsh(kz_array **out, kz_array *array, kz_triangle triangle,
	const kz_op_options *options, kz_error *err);

/**
 * Find eigenvalues and right eigenvectors of any square matrices: array v = v diag(w);
 * numpy.linalg.eig.
 *
 * The results are always complex, so that their type does not depend on the numbers.  (numpy's are
 * real if all imaginary parts are 0.)  For symmetric and Hermitian matrices use kz_eigh.
 *
 * @param w set to eigenvalues, (..., n), in no order.
 * @param v set to vectors of norm 1, (..., n, n); column i belongs to value i.
 * @return KZ_OK; KZ_NUMERIC as kz_svd.
 */
KZ_API KZ_NODISCARD kz_status kz_eig(kz_array **w, kz_array **v, kz_array *array,
	const kz_op_options *options, kz_error *err);

/** Find eigenvalues of any square matrices alone; as kz_eig. */
KZ_API KZ_NODISCARD kz_status kz_eigvals(kz_array **out, kz_array *array,
	const kz_op_options *options, kz_error *err);

/* Numbers that describe a matrix */

/**
 * Add the elements of a diagonal: (..., m, n) gives (...); numpy.linalg.trace.
 *
 * The array has any dtype of numbers, and the result the dtype of its sum.  The call waits for
 * nothing, and can be captured.
 *
 * @param offset 0 for the main diagonal, positive for one to the right, negative for one below.
 */
KZ_API KZ_NODISCARD kz_status kz_trace(kz_array **out, kz_array *array, int64_t offset,
	const kz_op_options *options, kz_error *err);

/** Which norm.  The numbers never change. */
typedef enum kz_norm_kind {
	KZ_NORM_DEFAULT = 0,   /**< the root of the sum of squares, over any axes */
	KZ_NORM_P = 1,         /**< of order p, below */
	KZ_NORM_FROBENIUS = 2, /**< of matrices: the root of the sum of squares */
	KZ_NORM_NUCLEAR = 3    /**< of matrices: the sum of the singular values */
} kz_norm_kind;

/**
 * Compute norms of vectors or matrices; numpy.linalg.norm.
 *
 * Integers and bool count as float64.  The result is real.
 *
 * @param kind see there.
 * @param p with KZ_NORM_P.  Along one axis: INFINITY and -INFINITY, the largest and the smallest
 *        |x|; 0, how many are not 0; else (sum |x|^p)^(1/p).  Along two: 1 and -1, the largest and
 *        the smallest sum of a column; INFINITY and -INFINITY, of a row; 2 and -2, the largest and
 *        the smallest singular value, which waits as kz_svd does.
 * @param axes KZ_AXES(1) for vectors; KZ_AXES(-2, -1) for matrices with these rows and columns;
 *        KZ_ALL_AXES.
 * @param options NULL for the defaults; `ddof` is not used.
 * @return KZ_OK; KZ_INVALID for an order that does not exist for so many axes, and for the largest
 *         or smallest of no elements; KZ_RANGE for an axis that the array does not have.
 */
KZ_API KZ_NODISCARD kz_status kz_linalg_norm(kz_array **out, kz_array *array, kz_norm_kind kind,
	double p, kz_axes axes, const kz_reduce_options *options, kz_error *err);

/**
 * Compute condition numbers of (..., n, n): the norm of the matrix times that of its inverse;
 * numpy.linalg.cond.
 *
 * That of a singular matrix is infinite, that of a matrix with a NaN is NaN.
 *
 * @param kind as kz_linalg_norm; KZ_NORM_DEFAULT is order 2, for which matrices need not be square.
 * @param p as kz_linalg_norm, of matrices.
 * @return KZ_OK; KZ_INVALID for matrices without elements; KZ_NUMERIC as kz_svd.
 */
KZ_API KZ_NODISCARD kz_status kz_cond(kz_array **out, kz_array *array, kz_norm_kind kind, double p,
	const kz_op_options *options, kz_error *err);

/**
 * Count the singular values that are not small: (..., m, n) gives (...), int64;
 * numpy.linalg.matrix_rank.
 *
 * @param array an array of less than two axes has rank 1, or 0 if all elements are 0.
 * @param tolerance values up to it do not count; negative: the largest value times max(m, n) and
 *        the type's epsilon.
 */
KZ_API KZ_NODISCARD kz_status kz_matrix_rank(kz_array **out, kz_array *array, double tolerance,
	const kz_op_options *options, kz_error *err);

/* The numbers of one matrix, in host memory.  `out`, `dtype` and the failures are those of
 * kz_dot_get_as (linalg.h), the other parameters those of the function of the same name. */

/** Compute a determinant to host memory; kz_det. */
KZ_API KZ_NODISCARD kz_status kz_det_get_as(void *out, kz_dtype dtype, kz_array *array,
	kz_error *err);

/** Add the elements of a diagonal to a number in host memory; kz_trace. */
KZ_API KZ_NODISCARD kz_status kz_trace_get_as(void *out, kz_dtype dtype, kz_array *array,
	int64_t offset, kz_error *err);

/** Compute the norm of a whole array to host memory; kz_linalg_norm with KZ_ALL_AXES. */
KZ_API KZ_NODISCARD kz_status kz_linalg_norm_get_as(void *out, kz_dtype dtype, kz_array *array,
	kz_norm_kind kind, double p, kz_error *err);

/** Compute a condition number to host memory; kz_cond. */
KZ_API KZ_NODISCARD kz_status kz_cond_get_as(void *out, kz_dtype dtype, kz_array *array,
	kz_norm_kind kind, double p, kz_error *err);

/** Compute a rank, an int64, to host memory; kz_matrix_rank. */
KZ_API KZ_NODISCARD kz_status kz_matrix_rank_get_as(void *out, kz_dtype dtype, kz_array *array,
	double tolerance, kz_error *err);

#ifdef __cplusplus
}
#else
/** Compute a determinant by the C type of a number: double r; kz_det_get(&r, a, &err). */
#define kz_det_get(out, array, err) \
	kz_det_get_as((out), KZ_PP_DTYPE_AT(out), (array), (err))
/** Add the elements of a diagonal by the C type of a number. */
#define kz_trace_get(out, array, offset, err) \
	kz_trace_get_as((out), KZ_PP_DTYPE_AT(out), (array), (offset), (err))
/** Compute a norm by the C type of a number. */
#define kz_linalg_norm_get(out, array, kind, p, err) \
	kz_linalg_norm_get_as((out), KZ_PP_DTYPE_AT(out), (array), (kind), (p), (err))
/** Compute a condition number by the C type of a number. */
#define kz_cond_get(out, array, kind, p, err) \
	kz_cond_get_as((out), KZ_PP_DTYPE_AT(out), (array), (kind), (p), (err))
/** Compute a rank by the C type of a number. */
#define kz_matrix_rank_get(out, array, tolerance, err) \
	kz_matrix_rank_get_as((out), KZ_PP_DTYPE_AT(out), (array), (tolerance), (err))
#endif

#endif
