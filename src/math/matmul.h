/* SPDX-License-Identifier: MIT */
#ifndef MATH_MATMUL_H
#define MATH_MATMUL_H

/* Products of matrices: c = alpha a b + beta c over batches.  matmul.c has the shapes and calls
 * libraries; matmul_kernel.c has our own kernel. */
#include "math/math.h"
#include "math/provider.h"

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
	double alpha[2], beta[2];       /* libraries only */
	struct kz_kernel *kernel;       /* NULL: a library does it */
};

/* The types that libraries have; false for others. */
static inline bool math_type_of(enum math_type *out, kz_dtype dtype)
{
	*out = dtype == KZ_F32 ? MATH_S : dtype == KZ_F64 ? MATH_D : dtype == KZ_C64 ? MATH_C
		: MATH_Z;
	return dtype == KZ_F32 || dtype == KZ_F64 || dtype == KZ_C64 || dtype == KZ_C128;
}

/* matmul_kernel.c: alpha is 1, beta is 0, rows of b and of c have no gaps. */
kz_status matmul_kernel_find(struct product *p, kz_error *err);
/* `count` products; the first matrices are these bytes behind those of c, a and b. */
kz_status matmul_kernel_launch(const struct product *p, int64_t count, const int64_t offset[3],
	kz_error *err);

#endif
