/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_PLAN_H
#define LIB_OPS_PLAN_H

/* The layout of an expression's arrays, and the launch that follows from it. */
#include "lib/ops/elementwise.h"
#include "lib/ops/kernels.h"
#include "lib/array/strided.h"

/* Where a block has one thread it walks over its elements. */
extern const struct kernel_family elementwise_family;

enum { PLAN_OPERANDS = 1 + EXPR_ARRAYS };

/* One run; operand 0 is the target, operand 1 + i the expression's array i. */
struct plan {
	struct expr *expr;
	struct kz_device *device;
	struct kz_stream *stream;
	struct kz_array *target;
	kz_dtype dtype;                           /* of the target, as the kernel sees it */
	int count;                                /* operands */
	int ndim;                                 /* of what is left of the shape */
	int64_t dims[KZ_MAX_DIMS];
	int64_t strides[PLAN_OPERANDS][STRIDED_ROOM];
	CUdeviceptr address[PLAN_OPERANDS];       /* of the first element */
	struct layout layout;
	bool compile_only;
	struct elementwise_done *done;            /* may be NULL */
};

static inline const struct kz_array *plan_operand(const struct plan *plan, int k)
{
	return k ? plan->expr->arrays[k - 1] : plan->target;
}

/* The operation that errors speak of: the last one. */
static inline const char *expr_name(const struct expr *expr)
{
	const struct expr_op *op = expr_op(expr->nodes[expr->node_count - 1].op);
	return op ? op->name : "copy";
}

/* Settle the operands' places and the layout; expression, device and target are there.  The arrays
 * are broadcast to the shape, and their axes put in the order of the target's memory. */
kz_status plan_layout(struct plan *plan, const kz_shape *shape, kz_error *err);
/* Launch the plan's kernel. */
kz_status plan_launch(const struct plan *plan, struct kz_kernel *kernel, kz_error *err);

#endif
