/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_ELEMENTWISE_H
#define LIB_OPS_ELEMENTWISE_H

/* Run an expression over arrays: broadcast, copy where the target overlaps, launch one kernel. */
#include "lib/ops/expr.h"
#include "lib/ops/generate.h"

/* The outcome of a run. */
struct elementwise_done {
	struct kz_kernel *kernel; /* NULL: it was more, or less, than the launch of one */
	struct layout layout;
	kz_dtype dtype;           /* of the target */
};

/* How to run one; zeros for the defaults. */
struct elementwise {
	struct kz_device *device;      /* NULL: that of the arrays */
	const kz_shape *shape;         /* NULL: what the arrays broadcast to */
	struct kz_array *into;         /* NULL: a new array */
	struct kz_stream *stream;      /* NULL: the device's default stream */
	bool unsafe;                   /* into may be of any type */
	bool compile_only;             /* have the kernels, launch none; a new array is not
	                                  filled */
	struct elementwise_done *done; /* may be NULL */
};

/* Read a caller's options, which may be NULL; *dtype is that of the result, or 0. */
kz_status elementwise_options(struct elementwise *how, kz_dtype *dtype,
	const kz_op_options *options, kz_error *err);

/* Run it; the result is *out, with a count of its own, if out is not NULL. */
kz_status elementwise_run(kz_array **out, struct expr *expr, const struct elementwise *how,
	kz_error *err);

/* What the last step of a call makes. */
struct elementwise_result {
	kz_shape shape;
	kz_dtype dtype;
	const struct kz_array *like; /* of the device; if it has the shape, the result has its
	                                order */
};

/* Have room for the result of a call before its first step, so that nothing is computed for a
 * result that fits nowhere: how->into becomes a new array, *made, unless the caller gave one, which
 * must have room.  Release *made at the end, also after a failure. */
kz_status elementwise_reserve(struct kz_array **made, struct elementwise *how, const char *name,
	const struct elementwise_result *result, kz_error *err);

/* The array itself, with its count raised, if it is row-major without gaps and of this dtype; else
 * a copy that is, made in a stream (NULL: the default one). */
kz_status elementwise_contiguous(struct kz_array **out, struct kz_array *array, kz_dtype dtype,
	struct kz_stream *stream, kz_error *err);

/* Copy all elements to an array of the same shape and device; it is array_copy_by_kernel. */
kz_status ops_copy(struct kz_array *to, const struct kz_array *from, struct kz_stream *stream,
	kz_error *err);

#endif
