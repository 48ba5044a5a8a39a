/* SPDX-License-Identifier: MIT */
/*
 * Operations that are expressions of others: isclose, nan_to_num.
 *
 * They have a row of ops.def, for their number and name, but no text: what is asked of them becomes
 * nodes of other operations.  Some of their operands may be left out.
 */
#include "base/common.h"

#include "lib/ops/expr.h"

#include <float.h>
#include <math.h>

/* A failed node is -1, and what is made of it fails, too. */
static int compose_one(struct expr *expr, kz_op op, int a, kz_error *err)
{
	return a < 0 ? -1 : expr_apply(expr, op, &a, err);
}

static int compose_choice(struct expr *expr, int condition, int yes, int no, kz_error *err)
{
	const int nodes[3] = {condition, yes, no};
	return condition < 0 || yes < 0 || no < 0 ? -1 : expr_apply(expr, KZ_OP_WHERE, nodes, err);
}

/* |x - y| <= atol + rtol |y|, and y is finite; or both are equal, or, if that is wanted, NaN. */
static int compose_isclose(struct expr *expr, const int *args, int count, kz_error *err)
{
	int both[2] = {args[0], args[1]};
	if (!expr_unify(expr, both, 2, err)) {
		return -1;
	}
	const int x = both[0], y = both[1];
	const int rtol = count > 2 ? args[2] : expr_float(expr, 1e-5, err);
	const int atol = count > 3 ? args[3] : expr_float(expr, 1e-8, err);
	const int apart = compose_one(expr, KZ_OP_ABSOLUTE,
		expr_apply_two(expr, KZ_OP_SUBTRACT, x, y, err), err);
	const int size = compose_one(expr, KZ_OP_ABSOLUTE, y, err);
	const int allowed = expr_apply_two(expr, KZ_OP_ADD, atol,
		expr_apply_two(expr, KZ_OP_MULTIPLY, rtol, size, err), err);
	const int near = expr_apply_two(expr, KZ_OP_LOGICAL_AND,
		expr_apply_two(expr, KZ_OP_LESS_EQUAL, apart, allowed, err),
		compose_one(expr, KZ_OP_ISFINITE, y, err), err);
	const int result = expr_apply_two(expr, KZ_OP_LOGICAL_OR, near,
		expr_apply_two(expr, KZ_OP_EQUAL, x, y, err), err);
	if (count < 5) {
		return result;
	}
	const int nan = expr_apply_two(expr, KZ_OP_LOGICAL_AND,
		compose_one(expr, KZ_OP_ISNAN, x, err), compose_one(expr, KZ_OP_ISNAN, y, err),
		err);
	return expr_apply_two(expr, KZ_OP_LOGICAL_OR, result,
		expr_apply_two(expr, KZ_OP_LOGICAL_AND, args[4], nan, err), err);
}

static double compose_largest(kz_dtype real)
{
	return real == KZ_F16 ? 65504 : real == KZ_BF16 ? 0x1.fep127
		: real == KZ_F32 ? (double)FLT_MAX : DBL_MAX;
}

/* What stands for NaN and for the infinities, and the infinities themselves. */
struct replaced {
	int nan, high, low, infinite, minus_infinite;
};

static int compose_replace(struct expr *expr, int x, const struct replaced *by, kz_error *err)
{
	int value = compose_choice(expr, compose_one(expr, KZ_OP_ISNAN, x, err), by->nan, x, err);
	value = compose_choice(expr, expr_apply_two(expr, KZ_OP_EQUAL, x, by->infinite, err),
		by->high, value, err);
	return compose_choice(expr, expr_apply_two(expr, KZ_OP_EQUAL, x, by->minus_infinite, err),
		by->low, value, err);
}

/* What stands for NaN or an infinity, as a number of the type. */
static int compose_real(struct expr *expr, int node, kz_dtype dtype, kz_error *err)
{
	if (node >= 0 && dtype_is_complex(expr->nodes[node].dtype)) {
		error_set(err, KZ_INVALID, "nan_to_num does not take %s in the place of NaN or "
			"infinity", kz_dtype_name(expr->nodes[node].dtype));
		return -1;
	}
	return node < 0 ? -1 : expr_cast(expr, node, dtype, err);
}

static int compose_nan_to_num(struct expr *expr, const int *args, int count, kz_error *err)
{
	const kz_dtype dtype = expr->nodes[args[0]].dtype, part = dtype_part(dtype);
	const bool weak = expr->nodes[args[0]].weak;
	if (!dtype_is_inexact(dtype)) {
		return compose_one(expr, KZ_OP_REAL, args[0], err); /* refuses structs */
	}
	const int x = expr_cast(expr, args[0], dtype, err);
	const double most = compose_largest(part);
	const int nan = count > 1 ? args[1] : expr_float(expr, 0, err);
	const int high = count > 2 ? args[2] : expr_float(expr, most, err);
	const int low = count > 3 ? args[3] : expr_float(expr, -most, err);
	const struct replaced by = {
		compose_real(expr, nan, part, err), compose_real(expr, high, part, err),
		compose_real(expr, low, part, err),
		compose_real(expr, expr_float(expr, INFINITY, err), part, err),
		compose_real(expr, expr_float(expr, -INFINITY, err), part, err),
	};
	int result = -1;
	if (dtype_is_complex(dtype)) {
		const int re = compose_replace(expr, compose_one(expr, KZ_OP_REAL, x, err), &by,
			err);
		const int im = compose_replace(expr, compose_one(expr, KZ_OP_IMAG, x, err), &by,
			err);
		result = expr_apply_two(expr, KZ_OP_COMPLEX, re, im, err);
	} else {
		result = compose_replace(expr, x, &by, err);
	}
	if (result >= 0) {
		expr->nodes[result].weak = weak;
	}
	return result;
}

int expr_op_most(kz_op op)
{
	return op == KZ_OP_ISCLOSE ? 5 : op == KZ_OP_NAN_TO_NUM ? 4 : kz_op_arity(op);
}

int expr_apply_some(struct expr *expr, kz_op op, const int *args, int count, kz_error *err)
{
	return op == KZ_OP_ISCLOSE ? compose_isclose(expr, args, count, err)
		: op == KZ_OP_NAN_TO_NUM ? compose_nan_to_num(expr, args, count, err)
		: expr_apply(expr, op, args, err);
}
