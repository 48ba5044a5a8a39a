/* SPDX-License-Identifier: MIT */
#ifndef LIB_LINALG_CONTRACT_H
#define LIB_LINALG_CONTRACT_H

/* One contraction: multiply two arrays whose axes have labels, and add along shared labels. */
#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/ops/elementwise.h"

#include <kudzu/join.h>

enum { CONTRACT_LABELS = 64 };
static_assert(CONTRACT_LABELS <= 64, "a set of labels has 64 bits");

/* An array, each of whose axes has a label from 0 on, no two the same. */
struct contract_term {
	struct kz_array *array;
	uint8_t labels[KZ_MAX_DIMS];
};

/* Labels of axes, in their order. */
struct contract_labels {
	int64_t count;
	uint8_t items[KZ_MAX_DIMS];
};

/* What a caller's options say, checked against the operands. */
struct contract_how {
	const char *name;         /* of the function, for errors: "tensordot" */
	kz_dtype dtype;           /* of the result.  Operands are converted to it, but halves are
	                             computed as float32 and rounded once */
	struct kz_array *into;    /* NULL: a new array */
	struct kz_stream *stream; /* the one of the options, or the default one */
};

/* Clear *out, and check what all products have: operands on one device, options, a place for the
 * result.  The dtype is the options' one, else the common one of all operands. */
kz_status contract_begin(struct contract_how *how, const char *name, kz_array **out,
	kz_arrays operands, const kz_op_options *options, kz_error *err);
/* Check that a result of this shape goes into the options' array, if there is one. */
kz_status contract_check_into(const struct contract_how *how, const kz_shape *shape,
	kz_error *err);

/* A view of a term's axes in the order of these labels, with extent 1 for each that the term lacks.
 * Labels that are left out have extent 1. */
kz_status contract_arrange(kz_array **out, const struct contract_term *term,
	const uint8_t *labels, int64_t ndim, kz_error *err);
/* The elements of an array as how->dtype, in how->into or a new row-major array. */
kz_status contract_copy(kz_array **out, const struct kz_array *array,
	const struct contract_how *how, kz_error *err);
/* The products of the elements of two arrays, which broadcast. */
kz_status contract_multiply(kz_array **out, const struct kz_array *a, const struct kz_array *b,
	const struct contract_how *how, kz_error *err);

/*
 * The result has these labels in this order, with any strides.  Each is one of a or b.  A label of
 * both that is not among them is summed; one of a or b alone is always among them.  Equal labels
 * have equal extents.  how->into, if there is one, has been checked.
 */
kz_status contract_pair(kz_array **out, const struct contract_term *a,
	const struct contract_term *b, const struct contract_labels *result,
	const struct contract_how *how, kz_error *err);

#endif
