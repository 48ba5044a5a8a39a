/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_SPARSE_H
#define KUDZU_SPARSE_H

/*
 * Sparse matrices, which store only the entries that are not 0, as scipy.sparse does.
 *
 *	kz_sparse *a = NULL;
 *	kz_array *y = NULL, *x = NULL;
 *	if (kz_sparse_create_csr(&a, 1000, 1000, data, columns, pointers, NULL, &err)
 *	    || kz_sparse_matmul(&y, a, KZ_MATRIX_AS_IS, b, NULL, &err)       (y = a b)
 *	    || kz_sparse_cg(&x, a, b, NULL, NULL, &err)) {                   (a x = b)
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_sparse_release(a);
 *
 * A matrix has `count` entries: values, the columns of these, and
 *
 *	CSR: pointers, (rows + 1,): the entries of row r are those from pointers[r] to before
 *	     pointers[r + 1].  Rows may have their columns in any order.
 *	COO: the row of each entry.  Entries may have any order.
 *
 * Entries of one row and column count as their sum.  Values are floats or complex numbers; halves
 * are computed as float32 and rounded once.  Columns, rows and pointers are int32, or int64.
 *
 * A matrix never changes, and keeps its parts alive.  Arrays without gaps, of one type of index,
 * are shared and not copied: do not write to them while there is a matrix of them.
 *
 * Each sum has one order, so results have the same bits in every run.  The results of conversions,
 * and of products with a CSR matrix that is not transposed, do not depend on the device either.
 * Products return before the work is done; where a call waits for the device, its comment says so.
 *
 * `options` may be NULL.  Every function refuses, with KZ_INVALID, arrays and matrices of different
 * devices, shapes that do not fit, with both, and types that it does not take.
 */
#include <kudzu/linalg.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A sparse matrix on a device; opaque. */
typedef struct kz_sparse kz_sparse;

/** How the places of the entries are stored.  The numbers never change. */
typedef enum kz_sparse_format {
	KZ_SPARSE_CSR = 0, /**< entries in the order of their rows, and where each row begins */
	KZ_SPARSE_COO = 1  /**< entries in any order, and the row of each */
} kz_sparse_format;

/** How to make a matrix.  Initialize with KZ_SPARSE_OPTIONS_INIT. */
typedef struct kz_sparse_options {
	size_t size;        /**< sizeof(kz_sparse_options) */
	kz_stream *stream;  /**< NULL: the device's default stream */
	int32_t trusted;    /**< nonzero: the numbers in the parts are not checked.  A product with
	                         wrong ones reads and writes outside of its arrays */
	int32_t reserved_int;
	void *reserved[4];
} kz_sparse_options;

#ifdef __cplusplus
#define KZ_SPARSE_OPTIONS_INIT kz_sized_init<kz_sparse_options>()
#else
#define KZ_SPARSE_OPTIONS_INIT {.size = sizeof(kz_sparse_options)}
#endif

/**
 * What a matrix is.  Initialize with KZ_SPARSE_INFO_INIT.  The arrays are borrowed from the
 * matrix.
 */
typedef struct kz_sparse_info {
	size_t size;             /**< sizeof(kz_sparse_info) */
	kz_sparse_format format; /**< how it is stored */
	kz_dtype dtype;          /**< of the values */
	kz_dtype index_dtype;    /**< KZ_I32 or KZ_I64 */
	int32_t reserved_int;    /**< 0 */
	int64_t rows;            /**< the height */
	int64_t columns;         /**< the width */
	int64_t count;           /**< stored entries */
	kz_array *data;          /**< the values, (count,) */
	kz_array *column_indices; /**< (count,) */
	kz_array *row_indices;   /**< (count,); NULL for CSR */
	kz_array *row_pointers;  /**< (rows + 1,); NULL for COO */
	kz_device *device;       /**< that has it */
	void *reserved[4];
} kz_sparse_info;

#ifdef __cplusplus
#define KZ_SPARSE_INFO_INIT kz_sized_init<kz_sparse_info>()
#else
#define KZ_SPARSE_INFO_INIT {.size = sizeof(kz_sparse_info)}
#endif

/**
 * Create a CSR matrix from its parts; scipy's csr_matrix((data, indices, indptr)).
 *
 * @param rows number of rows, from 0.
 * @param columns number of columns, from 0.
 * @param data (count,) values: floats, halves or complex numbers.
 * @param indices (count,) columns, int32 or int64.
 * @param indptr (rows + 1,) pointers, int32 or int64: ascending from 0 to count.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for types, and for lengths that do not fit; KZ_RANGE for a column or a
 *         pointer that is out of range, with the first one; KZ_STATE in a capture, unless the parts
 *         are trusted; KZ_NO_MEMORY; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Ownership: release it with kz_sparse_release.
 * Async: waits for the check; trusted parts are not looked at.
 */
KZ_API KZ_NODISCARD kz_status kz_sparse_create_csr(kz_sparse **out, int64_t rows, int64_t columns,
	kz_array *data, kz_array *indices, kz_array *indptr, const kz_sparse_options *options,
	kz_error *err);

/**
 * Create a COO matrix from its parts; scipy's coo_matrix((data, (row, col))).  As
 * kz_sparse_create_csr.
 *
 * @param row_indices (count,) rows, int32 or int64.
 * @param column_indices (count,) columns.
 */
KZ_API KZ_NODISCARD kz_status kz_sparse_create_coo(kz_sparse **out, int64_t rows, int64_t columns,
	kz_array *data, kz_array *row_indices, kz_array *column_indices,
	const kz_sparse_options *options, kz_error *err);

/**
 * Make a matrix of the elements of an array that are not 0, in row-major order.
 *
 * @param array (rows, columns), floats, halves or complex numbers, any strides.
 * @return KZ_OK; KZ_INVALID; KZ_STATE in a capture; otherwise as kz_sparse_create_csr.
 * Ownership: release it with kz_sparse_release.
 * Async: waits for the number of elements.
 */
KZ_API KZ_NODISCARD kz_status kz_sparse_from_dense(kz_sparse **out, kz_array *array,
	kz_sparse_format format, const kz_sparse_options *options, kz_error *err);

/**
 * Count one more reference on a matrix, for kz_sparse_release to take.  Returns it.  Any
 * thread.
 */
KZ_API kz_sparse *kz_sparse_retain(kz_sparse *sparse);

/** Release a matrix.  NULL is fine.  Work in flight keeps the memory that it needs. */
KZ_API void kz_sparse_release(kz_sparse *sparse);

/**
 * Tell what a matrix is.
 *
 * @param info initialized with KZ_SPARSE_INFO_INIT.  Its arrays live as long as the matrix.
 * @return KZ_OK; KZ_INVALID.
 */
KZ_API KZ_NODISCARD kz_status kz_sparse_describe(kz_sparse *sparse, kz_sparse_info *info,
	kz_error *err);

/**
 * Convert a matrix; scipy's tocsr and tocoo.
 *
 * COO becomes a CSR matrix whose rows have ascending columns.  Entries of one row and column are
 * added in their order.  CSR becomes COO with the same entries.  The same format gives the same
 * matrix.
 *
 * @return KZ_OK; KZ_INVALID; KZ_STATE in a capture, from COO to CSR; KZ_DEVICE_MEMORY;
 *         KZ_NO_COMPILER.
 * Ownership: release it with kz_sparse_release.
 * Async: COO to CSR waits for the order and the number of entries.
 */
KZ_API KZ_NODISCARD kz_status kz_sparse_convert(kz_sparse **out, kz_sparse *sparse,
	kz_sparse_format format, const kz_sparse_options *options, kz_error *err);

/**
 * Make op(sparse), a matrix of the same format.
 *
 * On a GPU each product with a transposed matrix, or with a COO matrix, makes a CSR matrix of it.
 * Do it once if there are several products.
 *
 * @return as kz_sparse_convert; it waits for nothing.
 * Ownership: release it with kz_sparse_release.
 */
KZ_API KZ_NODISCARD kz_status kz_sparse_transpose(kz_sparse **out, kz_sparse *sparse,
	kz_matrix_op op, const kz_sparse_options *options, kz_error *err);

/**
 * Make an array of a matrix, (rows, columns); scipy's toarray.
 *
 * @param options as kz_apply has them.
 * @return KZ_OK; KZ_INVALID; KZ_RANGE for a matrix whose size overflows; KZ_DEVICE_MEMORY;
 *         KZ_NO_COMPILER.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_sparse_to_dense(kz_array **out, kz_sparse *sparse,
	const kz_op_options *options, kz_error *err);

/** Copy the diagonal of a matrix, (min(rows, columns),); as kz_sparse_to_dense. */
KZ_API KZ_NODISCARD kz_status kz_sparse_diagonal(kz_array **out, kz_sparse *sparse,
	const kz_op_options *options, kz_error *err);

/**
 * Multiply op(sparse), (m, n), by a vector or a matrix: (n,) gives (m,), (n, k) gives (m, k).
 *
 * The operands become their common type (kz_dtype_promote).  Sums are of fused multiply-adds.  With
 * a vector, or one column, a row of CSR has several sums, 1 to 32 as rows are long on average,
 * which are added by halves.  With more columns its products are added one after the other.
 *
 * @param op KZ_MATRIX_AS_IS, or what is made of the matrix first: see kz_sparse_transpose.
 * @param x 1-d or 2-d, any strides; what has gaps is copied first.
 * @param options as kz_apply has them; `into` may be x.
 * @return KZ_OK; KZ_INVALID; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_sparse_matmul(kz_array **out, kz_sparse *sparse, kz_matrix_op op,
	kz_array *x, const kz_op_options *options, kz_error *err);

/** What conjugate gradients are preconditioned with.  The numbers never change. */
typedef enum kz_preconditioner {
	KZ_PRECONDITIONER_NONE = 0,
	KZ_PRECONDITIONER_JACOBI = 1 /**< the inverse of the diagonal */
} kz_preconditioner;

/**
 * A square matrix (n, n) that is known by its products only.  Initialize with KZ_OPERATOR_INIT.
 *
 * `apply` makes `to` the product of the matrix and `from`, both (n,), on one device, of one dtype,
 * and without gaps.  It may return before the work is done.  Its work goes into `stream`, or into
 * others: Kudzu orders what its functions do with the arrays.  If it fails, its status and its
 * error are those of the call that called it; `err` is that call's, and may be NULL.
 */
typedef struct kz_operator {
	size_t size;             /**< sizeof(kz_operator) */
	kz_status (*apply)(void *data, kz_array *to, kz_array *from, kz_stream *stream,
		kz_error *err);  /**< called by the thread of the call, before that returns */
	void *data;              /**< what apply is given */
	void *reserved[2];
} kz_operator;

#ifdef __cplusplus
#define KZ_OPERATOR_INIT kz_sized_init<kz_operator>()
#else
#define KZ_OPERATOR_INIT {.size = sizeof(kz_operator)}
#endif

/** How to solve.  Initialize with KZ_SPARSE_CG_OPTIONS_INIT. */
typedef struct kz_sparse_cg_options {
	size_t size;             /**< sizeof(kz_sparse_cg_options) */
	kz_stream *stream;       /**< NULL: the device's default stream */
	kz_array *initial;       /**< (n,) what x begins with; NULL: zeros */
	double rtol;             /**< the norm of b - a x is to be at most this share of that of b;
	                              the macro sets 1e-5 */
	double atol;             /**< or at most this number, if that is larger; 0 */
	int64_t iterations;      /**< at most; 0: ten times n */
	kz_preconditioner preconditioner; /**< KZ_PRECONDITIONER_NONE or KZ_PRECONDITIONER_JACOBI */
	int32_t reserved_int;
	const kz_operator *custom; /**< a preconditioner of the caller's: an operator close to the
	                              inverse of a, Hermitian and positive definite; NULL: none */
	void *reserved[3];
} kz_sparse_cg_options;

#ifdef __cplusplus
#define KZ_SPARSE_CG_OPTIONS_INIT kz_sparse_cg_options{sizeof(kz_sparse_cg_options), nullptr, \
	nullptr, \
	1e-5, 0, 0, KZ_PRECONDITIONER_NONE, 0, nullptr, {}}
#else
#define KZ_PP_DEFAULTS_kz_sparse_cg_options .size = sizeof(kz_sparse_cg_options), .rtol = 1e-5
#define KZ_SPARSE_CG_OPTIONS_INIT {KZ_PP_DEFAULTS_kz_sparse_cg_options}
#endif

/** How a solution went.  Initialize with KZ_SPARSE_CG_RESULT_INIT. */
typedef struct kz_sparse_cg_result {
	size_t size;             /**< sizeof(kz_sparse_cg_result) */
	int64_t iterations;      /**< that were done */
	double residual;         /**< the norm of b - a x, as the iterations carry it on */
	int32_t converged;       /**< 1; 0 if the most iterations were too few */
	int32_t reserved_int;
	void *reserved[2];
} kz_sparse_cg_result;

#ifdef __cplusplus
#define KZ_SPARSE_CG_RESULT_INIT kz_sized_init<kz_sparse_cg_result>()
#else
#define KZ_SPARSE_CG_RESULT_INIT {.size = sizeof(kz_sparse_cg_result)}
#endif

/**
 * Solve a x = b by conjugate gradients; scipy.sparse.linalg.cg.
 *
 * The method is that of Hestenes and Stiefel ("Methods of Conjugate Gradients for Solving Linear
 * Systems", 1952), with a preconditioner as in Golub and Van Loan, "Matrix Computations", 11.5.
 *
 * @param out set to x, (n,), of the common type of a and b, float32 for halves.
 * @param a (n, n), Hermitian and positive definite; neither is checked.
 * @param b (n,).
 * @param options NULL for the defaults.
 * @param result set if it is not NULL.  Then x that has not converged is KZ_OK, with `converged` 0.
 * @return KZ_OK; KZ_INVALID for a matrix that is not square, tolerances below 0; KZ_NUMERIC if x
 *         has not converged and result is NULL, if a direction p has p^H a p that is not above 0
 *         (then the matrix is not positive definite), if numbers become NaN or infinite, and for
 *         Jacobi if an element of the diagonal is not above 0, with the first one; KZ_STATE in a
 *         capture; what options->custom returns if it fails.
 * Ownership: release x with kz_array_release.
 * Async: waits for each iteration.
 */
KZ_API KZ_NODISCARD kz_status kz_sparse_cg(kz_array **out, kz_sparse *a, kz_array *b,
	const kz_sparse_cg_options *options, kz_sparse_cg_result *result, kz_error *err);

/**
 * Solve a x = b by conjugate gradients, where `a` is an operator of the caller's; as kz_sparse_cg.
 *
 * @param out set to x, (n,): float32 if b is float32 or a half, complex if b is complex, else
 *        float64.  The operators get arrays of this dtype.
 * @param a Hermitian and positive definite.
 * @param b (n,), which says what n is.
 * @param options NULL for the defaults; Jacobi's preconditioner is refused.
 * @return as kz_sparse_cg; KZ_INVALID also for an operator without `apply`; KZ_NUMERIC also if the
 *         preconditioner turns a residual r into z with r^H z not above 0; what an operator returns
 *         if it fails.
 */
KZ_API KZ_NODISCARD kz_status kz_cg(kz_array **out, const kz_operator *a, kz_array *b,
	const kz_sparse_cg_options *options, kz_sparse_cg_result *result, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
