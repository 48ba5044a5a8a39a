/* SPDX-License-Identifier: MIT */
#ifndef LIB_LINALG_MATMUL_H
#define LIB_LINALG_MATMUL_H

/* Products of matrices: c = alpha a b + beta c over batches.  matmul.c has the shapes and calls
 * libraries; matmul_kernel.c has our own kernel. */
#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/ops/elementwise.h"
#include "lib/linalg/provider.h"

/* A matrix of each batch; strides in elements. */
struct matmul_operand {
	struct kz_array *array;
	int64_t rows, columns;
	int64_t row, column;            /* from row to row, from column to column */
	int64_t batches[KZ_MAX_DIMS];   /* from batch to batch, in bytes */
};

struct product {
	struct kz_device *device;
	struct kz_stream *stream;
	kz_dtype dtype;                 /* of all three; sums are of it, too */
	int64_t size;                   /* of an element */
	struct matmul_operand a, b, c;
	kz_shape batch;                 /* all extents but those of a matrix */
	double alpha[2], beta[2];       /* 1 and 0 but for types of libraries */
	bool is_own;                    /* our kernel does it; else the device's provider */
	bool is_turned;                 /* a or b is not as the caller gave it */
	bool is_ascending;              /* the provider wants the matrices of a batch so */
};

/* The types that libraries have; false for others. */
static inline bool linalg_type_of(enum linalg_type *out, kz_dtype dtype)
{
	*out = dtype == KZ_F32 ? LINALG_S : dtype == KZ_F64 ? LINALG_D : dtype == KZ_C64 ? LINALG_C
		: LINALG_Z;
	return dtype == KZ_F32 || dtype == KZ_F64 || dtype == KZ_C64 || dtype == KZ_C128;
}

/* matmul_kernel.c */

/* Matrices as the kernel takes them: any strides, in elements. */
struct matmul_view {
	CUdeviceptr address;
	int64_t row, column, next; /* next: from matrix to matrix */
	bool is_conjugate;         /* operands only */
};

/* Which elements of the result are written. */
enum matmul_triangle { MATMUL_ALL, MATMUL_LOWER, MATMUL_UPPER };

/* `count` products c(m, n) = alpha a(m, k) b(k, n) + beta c.  Rows or columns of c have no gaps.
 * Types that are not linalg_type_of have alpha 1 and beta 0. */
struct matmul_job {
	struct kz_device *device;
	struct kz_stream *stream;
	kz_dtype dtype;
	int64_t m, n, k, count;
	struct matmul_view a, b, c;
	double alpha[2], beta[2];
	enum matmul_triangle triangle;
	struct memory *const *used;     /* what it reads and writes, as kernels_run has it */
	int used_count;
};

kz_status matmul_kernel_launch(const struct matmul_job *job, kz_error *err);

#endif
