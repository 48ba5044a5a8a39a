/* SPDX-License-Identifier: MIT */
#ifndef LIB_MATH_MATH_H
#define LIB_MATH_MATH_H

/*
 * math has what programs compute with arrays beyond single operations: products of matrices,
 * solvers and factors, integration, random numbers, and what networks need.
 *
 * Everything here is made of views, expressions and reductions of src/lib/ops where these will do.
 * Products, solvers and factors are the work of libraries, which are loaded at run time.
 */
#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/ops/elementwise.h"

/* A node of an operation on one or two nodes, of which each may be -1 after a failure: then this is
 * -1, too. */
static inline int math_apply(struct expr *expr, kz_op op, int a, int b, kz_error *err)
{
	const int nodes[2] = {a, b};
	return a < 0 || b < 0 ? -1 : expr_apply(expr, op, nodes, err);
}

#endif
