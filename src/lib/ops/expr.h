/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_EXPR_H
#define LIB_OPS_EXPR_H

/*
 * Operations on arrays become kernels.  This folder has the operations of ops.def, expressions of
 * them, and what makes, finds and launches their kernels; also reductions, scans, indexing,
 * products of matrices, and users' own kernels.
 *
 * This header has the data structure that most of them share: an elementwise computation as nodes
 * in an array.  A node uses only nodes before it, and the last one is the result.  Leaves are
 * arrays, C numbers and the index of the element.  All other nodes are operations of ops.def, or
 * conversions.
 *
 * Types are settled while the expression is built: expr_apply converts the operands to the types
 * that the operation's rule asks for.  A C number is weak (numpy's NEP 50): it takes the type of
 * what it meets, so `weak` nodes have no final type until then.
 *
 * `nodes` alone identifies the kernel of an expression: values and sizes are arguments.
 */
#include "lib/array/array.h"
#include "lib/core/dtype.h"

#include <kudzu/ops.h>

enum { EXPR_NODES = 192, EXPR_ARRAYS = 24, EXPR_SCALARS = 32, EXPR_OPERANDS = 5 };

/* The operations have the numbers from 1 on, without a gap. */
enum {
	EXPR_OPS = 1
#define OP(...) + 1
#include "lib/ops/ops.def"
#undef OP
};

/* A node's `op`: a kz_op, or one of these. */
enum {
	EXPR_ARRAY = 200, /* args[0]: which array */
	EXPR_SCALAR,      /* args[0]: which number */
	EXPR_INDEX,       /* the row-major index of the element, int64 */
	EXPR_CAST         /* of args[0] to dtype */
};

static_assert((int)EXPR_OPS <= (int)EXPR_ARRAY && EXPR_CAST <= UINT8_MAX,
	"a node's op tells them apart");
static_assert(EXPR_NODES <= UINT16_MAX && EXPR_SCALARS <= UINT16_MAX, "a node's args are 16 bits");

struct expr_node {
	uint8_t op;
	uint8_t weak;
	uint16_t args[3];
	kz_dtype dtype;
};

union expr_value {
	int64_t i;
	uint64_t u;
	double parts[2]; /* of a float or complex number: real, imaginary */
};

struct expr {
	int node_count;
	int array_count;
	int scalar_count;
	struct expr_node nodes[EXPR_NODES];
	const struct kz_array *arrays[EXPR_ARRAYS];
	uint16_t loads[EXPR_ARRAYS]; /* their nodes */
	union expr_value scalars[EXPR_SCALARS]; /* i for integer types and bool, u for uint64 */
};

/* Each adds a node and returns its index, or -1 and an error.  An array has one node. */
int expr_array(struct expr *expr, const struct kz_array *array, kz_error *err);
/* Fail if an argument is neither an array nor a number.  The message names the public function and
 * the argument: "operand 2", "variable 'a'". */
kz_status expr_check_arg(const kz_arg *arg, const char *argument, kz_error *err);
/* A C number or, for KZ_ARG_ARRAY, an array; `index` names it in errors, from 1. */
int expr_arg(struct expr *expr, const kz_arg *arg, int index, kz_error *err);
int expr_int(struct expr *expr, int64_t value, kz_error *err);
int expr_float(struct expr *expr, double value, kz_error *err);
int expr_complex(struct expr *expr, double real, double imaginary, kz_error *err);
int expr_index(struct expr *expr, kz_error *err);
int expr_cast(struct expr *expr, int node, kz_dtype dtype, kz_error *err);
/* An operation on kz_op_arity(op) nodes. */
int expr_apply(struct expr *expr, kz_op op, const int *args, kz_error *err);
/* An operation of which some operands may be left out, on `count` nodes: from kz_op_arity(op) to
 * expr_op_most(op). */
int expr_apply_some(struct expr *expr, kz_op op, const int *args, int count, kz_error *err);
int expr_op_most(kz_op op);
/* Convert the operands of isclose to their common type; of integers: float64. */
bool expr_unify(struct expr *expr, int *nodes, int count, kz_error *err);

/* An operation on one or two nodes, of which each may be -1 after a failure: then this is -1,
 * too. */
static inline int expr_apply_two(struct expr *expr, kz_op op, int a, int b, kz_error *err)
{
	const int nodes[2] = {a, b};
	return a < 0 || b < 0 ? -1 : expr_apply(expr, op, nodes, err);
}

static inline void expr_init(struct expr *expr)
{
	expr->node_count = 0;
	expr->array_count = 0;
	expr->scalar_count = 0;
}

/* Whether a node is an operation of ops.def; the others are at EXPR_ARRAY. */
static inline bool expr_is_operation(const struct expr_node *node)
{
	return node->op < EXPR_OPS;
}

/* The type of the result.  Weak results have numpy's default: int64, float64, complex128. */
static inline kz_dtype expr_dtype(const struct expr *expr)
{
	return expr->nodes[expr->node_count - 1].dtype;
}

/* Whether a node divides integers by a C number, for which a kernel makes the inverse once. */
bool expr_divides_by_number(const struct expr *expr, const struct expr_node *node);

/* Whether the code of an operation has loops or calls, so that compilers do not vectorize it. */
bool expr_is_branchy(const struct expr *expr);

/* Whether its code is so short that it may be in a kernel many times. */
bool expr_is_short(const struct expr *expr);

enum expr_cost { OP_LONG, OP_SHORT, OP_SPECIAL };

/* An operation, as ops.def has it. */
struct expr_op {
	const char *name;
	int arity;
	int rule;
	enum expr_cost cost;
	const char *text[3]; /* for integers, reals, complex numbers; NULL: none */
};

const struct expr_op *expr_op(int op); /* NULL if there is none */

/* Its text for operands of which the first has this type; NULL if it does not take them. */
static inline const char *expr_op_text(const struct expr_op *op, kz_dtype first)
{
	return op->text[dtype_is_complex(first) ? 2 : dtype_is_float(first) ? 1 : 0];
}
kz_op expr_find(const char *name, size_t len); /* KZ_OP_NONE if there is none */

#endif
