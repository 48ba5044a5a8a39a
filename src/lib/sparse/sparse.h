/* SPDX-License-Identifier: MIT */
#ifndef LIB_SPARSE_SPARSE_H
#define LIB_SPARSE_SPARSE_H

/*
 * Sparse matrices: what they are made of, and the launch of their kernels (kernels/sparse.cuh).
 *
 * A matrix holds three arrays of its own, contiguous views of what it was given.  Products work on
 * CSR matrices; anything else becomes one first.
 */
#include "lib/core/object.h"
#include "lib/linalg/contract.h"
#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/ops/elementwise.h"

#include <kudzu/sparse.h>

struct kz_sparse {
	uint32_t tag;               /* OBJECT_SPARSE */
	atomic_int refs;
	kz_sparse_format format;
	kz_dtype dtype;             /* of the values */
	kz_dtype index;             /* KZ_I32 if all numbers of the matrix fit, else KZ_I64 */
	int64_t rows, columns, count;
	struct kz_array *data;
	struct kz_array *indices;   /* the columns */
	struct kz_array *places;    /* CSR: the pointers of the rows; COO: the rows */
};

/* What a matrix is made of; the arrays are contiguous and of these types, and are borrowed. */
struct sparse_parts {
	kz_sparse_format format;
	int64_t rows, columns;
	struct kz_array *data, *indices, *places;
};

static inline struct kz_device *sparse_device(const struct kz_sparse *sparse)
{
	return array_device(sparse->data);
}

/* A matrix of checked parts, which the program does not have yet: object_give. */
kz_status sparse_new(struct kz_sparse **out, const struct sparse_parts *parts, kz_error *err);
/* Give a new matrix to the program, or undo it after a failure. */
kz_status sparse_finish(kz_sparse **out, struct kz_sparse *sparse, kz_status st);
/* int32 if a matrix of this size has room in it. */
kz_dtype sparse_index_type(int64_t rows, int64_t columns, int64_t count);
/* Read a caller's options, which may be NULL. */
kz_status sparse_read_options(struct kz_stream **stream, bool *trusted, struct kz_device *dev,
	const kz_sparse_options *options, kz_error *err);
/* Fail unless values of a type can be those of a matrix. */
kz_status sparse_check_dtype(kz_dtype dtype, kz_error *err);
kz_status sparse_check_op(kz_matrix_op op, kz_error *err);
/* The end of a call that has computed an array: it is the result, or is copied to where that
 * goes. */
kz_status sparse_hand_out(kz_array **out, struct kz_array *made, const struct contract_how *how,
	kz_error *err);

/* Values, or those of their conjugates if op has them, counted. */
kz_status sparse_read_values(kz_array **out, const struct kz_sparse *sparse, kz_matrix_op op,
	struct kz_stream *stream, kz_error *err);
/* op(sparse) as CSR, counted.  Rows of what was COO need not be in order, and nothing is added
 * up. */
kz_status sparse_as_csr(struct kz_sparse **out, struct kz_sparse *sparse, kz_matrix_op op,
	struct kz_stream *stream, kz_error *err);
/* y = a x of a CSR matrix for contiguous arrays of its type; x has `width` columns. */
kz_status sparse_multiply(struct kz_array *y, const struct kz_sparse *csr, struct kz_array *x,
	int64_t width, struct kz_stream *stream, kz_error *err);
/* The diagonal of a CSR matrix, a contiguous array of its type. */
kz_status sparse_read_diagonal(kz_array **out, const struct kz_sparse *csr,
	struct kz_stream *stream, kz_error *err);
/* The matrix with values of another type, counted; itself if it has them. */
kz_status sparse_cast(struct kz_sparse **out, struct kz_sparse *sparse, kz_dtype dtype,
	struct kz_stream *stream, kz_error *err);

/* Kernels */

#define SPARSE_KERNELS(X) \
	X(CHECK) X(ORDER) X(ROWS) X(POINTERS) X(COUNT) X(PLACE) X(HEADS) X(MERGE) X(DENSE) X( \
		DIAGONAL) X(VECTOR) \
	X(MATRIX) X(SCATTER) X(SCATTER_ROWS) X(PARTS)

enum sparse_kernel {
#define X(name) SPARSE_##name,
	SPARSE_KERNELS(X)
#undef X
};

enum { SPARSE_CHUNK = 8192 }; /* rows or entries of a block */
enum { SPARSE_ARRAYS = 7, SPARSE_NUMBERS = 5 };

/* A launch.  The kernel's parameters are the arrays, of which each may be NULL, then the
 * numbers. */
struct sparse_job {
	enum sparse_kernel kernel;
	kz_dtype dtype;       /* of values; 0: there are none */
	kz_dtype index;
	int lanes;            /* of SPARSE_VECTOR, else 0 */
	int64_t count;        /* what blocks share out */
	int64_t per;          /* and how much of it each has */
	kz_dim3 block;        /* where blocks have many threads: their shape; zeros: 256 along x */
	int64_t grid_y;       /* 0: 1 */
	int array_count;
	struct kz_array *arrays[SPARSE_ARRAYS];
	int number_count;
	int64_t numbers[SPARSE_NUMBERS];
};

/* Whether a block has one thread, which walks over rows. */
bool sparse_walks(const struct kz_device *dev);
kz_status sparse_run(const struct sparse_job *job, struct kz_stream *stream, kz_error *err);
/* Run a kernel that looks for something: *place is the first one where it is, or UINT64_MAX.  The
 * first of the job's arrays is left for that number.  Waits. */
kz_status sparse_find(uint64_t *place, const struct sparse_job *job, struct kz_stream *stream,
	kz_error *err);

#endif
