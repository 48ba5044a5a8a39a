/* SPDX-License-Identifier: MIT */
#ifndef LIB_LINALG_LAPACK_H
#define LIB_LINALG_LAPACK_H

/*
 * What the functions of solve.h share: reading operands, work arrays, tasks that report.
 *
 * A *work array* is row-major without gaps, of shape (batches, rows, columns), in the type of the
 * computation.  LAPACK is column-major and sees the transpose of each matrix.  So a function either
 * lets LAPACK compute what it wants from the transpose, or makes a `turned` work array, of shape
 * (batches, columns, rows), which LAPACK sees as the matrix itself.
 */
#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/ops/elementwise.h"
#include "lib/linalg/provider.h"

/* One call of a public function. */
struct lapack {
	const char *name;         /* for errors: "solve" */
	struct kz_device *device;
	struct kz_stream *stream;
	struct kz_array *into;    /* NULL: a new array */
	kz_dtype wanted;          /* the result's type; 0: as computed */
	kz_dtype dtype, real;     /* of the computation, and of its real numbers */
	enum linalg_type type;
	kz_shape batch;           /* all extents but those of a matrix */
	int64_t count;            /* matrices */
	bool is_own;              /* tasks are for our own kernels */
};

/* Read the options.  The common type of the operands decides what is computed: integers and bool
 * become float64, halves float32.  Fails for operands on different devices, and while the stream is
 * captured, since the call waits. */
kz_status lapack_begin(struct lapack *call, const char *name, kz_array *const *operands, int count,
	const kz_op_options *options, kz_error *err);
/* The same for functions with several results, which go into no arrays of the caller's. */
kz_status lapack_begin_several(struct lapack *call, const char *name, kz_array *array,
	const kz_op_options *options, kz_error *err);
/* Clear the place for a result; it is needed unless the options name an array. */
kz_status lapack_clear(kz_array **out, const char *name, const kz_op_options *options,
	kz_error *err);

/* Check that an array is one of matrices, or of square ones; they become the call's batch. */
kz_status lapack_take_batch(struct lapack *call, const kz_array *array, bool is_square,
	kz_error *err);
void lapack_set_batch(struct lapack *call, const kz_shape *batch);

/* The call's batch, followed by a matrix, or by a vector of `last` elements. */
kz_shape lapack_matrices(const struct lapack *call, int64_t rows, int64_t columns);
kz_shape lapack_vectors(const struct lapack *call, int64_t last);
kz_status lapack_create(kz_array **out, const struct lapack *call, kz_dtype dtype,
	const kz_shape *shape, kz_error *err);
/* A new row-major array with what an expression computes. */
kz_status lapack_evaluate(kz_array **out, const struct lapack *call, struct expr *expr,
	kz_dtype dtype, const kz_shape *shape, kz_error *err);
/* A new work array with the elements of an array, which broadcasts to the call's batch. */
kz_status lapack_copy(kz_array **out, const struct lapack *call, kz_array *array, bool turned,
	kz_error *err);
/* Identity matrices, as many as `out`, an array of the call's, has. */
kz_status lapack_fill_identity(const struct lapack *call, kz_array *matrices, kz_error *err);

/* What lapack_select keeps of matrices. */
enum lapack_part {
	LAPACK_LOWER,
	LAPACK_UPPER,
	LAPACK_UNIT_LOWER /* what is below the diagonal, and ones on it */
};
/* A new row-major array with a part of each matrix, and zeros elsewhere. */
kz_status lapack_select(kz_array **out, const struct lapack *call, kz_array *matrices,
	enum lapack_part part, kz_error *err);
/* Check that all elements are finite; or those of one triangle, 'L' or 'U'.  Otherwise some
 * libraries do not end. */
kz_status lapack_check_finite(const struct lapack *call, kz_array *matrices, char triangle,
	kz_error *err);

/* A task's operands: each matrix of a work array, each vector. */
struct linalg_matrix lapack_matrix(const kz_array *work);
struct linalg_matrix lapack_vector(const kz_array *vectors);

/* Put a task into the stream, wait, and make an error of what it reports.  With `info`, what is
 * positive is no error, and *info is an int32 array of the call's batch. */
kz_status lapack_run(const struct lapack *call, struct linalg_task *task, kz_array **info,
	kz_error *err);

/* P L U of matrices. */
struct lapack_factors {
	kz_array *lu;      /* a work array */
	kz_array *pivots;  /* int32; NULL if there are no elements */
	kz_array *info;    /* of LAPACK_SINGULAR, as lapack_run */
};

enum lapack_factoring {
	LAPACK_TURNED = 1,   /* factor the matrices themselves, not their transposes */
	LAPACK_SINGULAR = 2, /* a singular matrix is no error */
};

/* Factor matrices; `how` has bits of the enum.  What a library refuses to factor our own kernels
 * do; then the call is theirs, as the factors are for no library.  The caller releases the
 * factors, also after a failure. */
kz_status lapack_factor(struct lapack_factors *out, struct lapack *call, kz_array *array,
	unsigned how, kz_error *err);
void lapack_release_factors(struct lapack_factors *factors);

/* Give a result to the caller, in the array and type that the options want.  Owns `result`. */
kz_status lapack_finish(kz_array **out, const struct lapack *call, kz_array *result, kz_error *err);

/* solve.c: invert matrices.  With `info`, as lapack_run: those of singular matrices are
 * undefined. */
kz_status solve_invert(kz_array **out, struct lapack *call, kz_array *array, kz_array **info,
	kz_error *err);
/* svd.c: a = u diag(s) vh. */
struct svd {
	kz_array *u, *s, *vh;
};

enum svd_job {
	SVD_VALUES,  /* s alone */
	SVD_REDUCED, /* u with as many columns, and vh with as many rows, as there are values */
	SVD_FULL,    /* square ones */
};

kz_status svd_compute(struct svd *out, struct lapack *call, kz_array *array, enum svd_job job,
	kz_error *err);
void svd_release(struct svd *svd);

/* An operation on nodes of an expression; -1 if one of them failed, as expr_apply. */
static inline int lapack_apply(struct expr *expr, kz_op op, int a, int b, int c, kz_error *err)
{
	const int args[3] = {a, b, c};
	return a < 0 || b < 0 || c < 0 ? -1 : expr_apply(expr, op, args, err);
}

#endif
