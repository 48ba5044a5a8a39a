/* SPDX-License-Identifier: MIT */
/*
 * Build expressions, node by node; the rule of an operation settles its types.
 *
 * A rule is a short function.  From the types of the operands it says which types they are
 * converted to, and which one the result has.  The conversions become nodes of their own, so that a
 * reader of an expression meets operations only on the types that they are for.
 */
#include "base/common.h"

#include "lib/module/module.h"
#include "lib/ops/expr.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The operations */

enum { SHORT_NODES = 12 };

enum rule {
	ARITHMETIC,  /* the common type */
	NOT_BOOL,    /* the same, but of bool: refused */
	NUMBER,      /* the same, but of bool: int8 */
	DIVIDE,      /* the same, but of integers: float64 */
	FLOAT,       /* the same, but of integers: the smallest float that holds them */
	FLOAT_32,    /* the same, but of halves: float32 */
	FLOAT_PART,  /* as FLOAT; the result is the real type of complex operands */
	PART,        /* the same for the common type */
	ROUND,       /* the common type */
	LDEXP,       /* FLOAT, an integer */
	EXPONENT,    /* FLOAT; the result is int32 */
	PREDICATE,   /* the common type; the result is bool */
	WHERE,       /* bool, the common type of the other two */
	IF_POSITIVE, /* any type, the common type of the other two */
	COMPARE,     /* the common type, or int64 and uint64 as they are; the result is bool */
	LOGICAL,     /* all bool */
	BITS,        /* the common type, of integers or bool */
	COUNT_BITS,  /* the same; the result is uint8 */
	SHIFT,       /* the common type, of integers; bool: int8 */
	COMPLEX,     /* FLOAT_32; the result is complex */
	COMPOSED     /* by compose.c */
};

static const struct expr_op ops[EXPR_OPS] = {
#define OP(number, id, name, arity, rule, cost, integer, real, complex) \
	[number] = {#name, arity, rule, OP_##cost, {integer, real, complex}},
#include "lib/ops/ops.def"
#undef OP
};

const struct expr_op *expr_op(int op)
{
	return op > 0 && op < (int)countof(ops) && ops[op].name ? &ops[op] : NULL;
}

/* Whether the code has what keeps LLVM from vectors: branches, quotients of integers, halves.
 * Sines and cosines of doubles have branches, too, but are faster as vectors. */
static bool expr_op_is_branchy(kz_op op, kz_dtype dtype)
{
	bool complex = dtype_is_complex(dtype);
	if (dtype == KZ_F16) {
		return true;
	}
	switch (op) {
	case KZ_OP_FLOOR_DIVIDE:
	case KZ_OP_REMAINDER:
	case KZ_OP_FMOD:
		return dtype_size(dtype) <= 4 || dtype_is_inexact(dtype);
	case KZ_OP_POWER: /* of floats it has none */
		return dtype == KZ_F64 || complex;
	case KZ_OP_TAN:
	case KZ_OP_LGAMMA:
	case KZ_OP_TGAMMA:
	case KZ_OP_DIGAMMA:
		return dtype_is_inexact(dtype);
	case KZ_OP_SIN:
	case KZ_OP_COS:
		return dtype_size(dtype) <= 4 || dtype == KZ_C64;
	case KZ_OP_EXP:
	case KZ_OP_SINH:
	case KZ_OP_COSH:
	case KZ_OP_TANH:
		return dtype == KZ_C64;
	case KZ_OP_MULTIPLY:
	case KZ_OP_DIVIDE:
	case KZ_OP_SQUARE:
	case KZ_OP_RECIPROCAL:
		return complex;
	default:
		return false;
	}
}

bool expr_divides_by_number(const struct expr *expr, const struct expr_node *node)
{
	const bool divides = node->op == KZ_OP_FLOOR_DIVIDE || node->op == KZ_OP_REMAINDER
		|| node->op == KZ_OP_FMOD;
	return divides && dtype_is_integer(expr->nodes[node->args[0]].dtype)
		&& expr->nodes[node->args[1]].op == EXPR_SCALAR;
}

bool expr_is_branchy(const struct expr *expr)
{
	for (int i = 0; i < expr->node_count; i++) {
		const struct expr_node *node = &expr->nodes[i];
		if (expr_is_operation(node) && !expr_divides_by_number(expr, node)
		    && expr_op_is_branchy((kz_op)node->op, expr->nodes[node->args[0]].dtype)) {
			return true;
		}
	}
	return false;
}

bool expr_is_short(const struct expr *expr)
{
	bool all = expr->node_count <= SHORT_NODES;
	for (int i = 0; i < expr->node_count && all; i++) {
		const struct expr_node *node = &expr->nodes[i];
		all = !expr_is_operation(node) || ops[node->op].cost == OP_SHORT;
	}
	return all;
}

kz_op expr_find(const char *name, size_t len)
{
	for (int i = 1; i < EXPR_OPS; i++) {
		const char *known = ops[i].name;
		if (known && known[0] == name[0] && strncmp(known, name, len) == 0
		    && known[len] == '\0') {
			return (kz_op)i;
		}
	}
	return KZ_OP_NONE;
}

const char *kz_op_name(kz_op op)
{
	const struct expr_op *known = expr_op((int)op);
	return known ? known->name : NULL;
}

int kz_op_arity(kz_op op)
{
	const struct expr_op *known = expr_op((int)op);
	return known ? known->arity : 0;
}

/* Kinds of types */

/* numpy: the smallest float that holds the integers. */
static kz_dtype expr_float_dtype(kz_dtype dtype, bool weak)
{
	if (!dtype_is_exact(dtype)) {
		return dtype;
	}
	return weak || kz_dtype_size(dtype) > 2 ? KZ_F64
		: kz_dtype_size(dtype) == 2 ? KZ_F32 : KZ_F16;
}

/* Nodes */

static int expr_add_node(struct expr *expr, int op, kz_dtype dtype, const int *args, int arity,
	kz_error *err)
{
	if (expr->node_count == EXPR_NODES) {
		error_set(err, KZ_INVALID, "an expression has at most %d operations and operands",
			EXPR_NODES);
		return -1;
	}
	struct expr_node *node = &expr->nodes[expr->node_count];
	*node = (struct expr_node){.op = (uint8_t)op, .dtype = dtype};
	for (int i = 0; i < arity; i++) {
		node->args[i] = (uint16_t)args[i];
	}
	return expr->node_count++;
}

int expr_array(struct expr *expr, const struct kz_array *array, kz_error *err)
{
	int which = 0;
	if (!object_is(array, OBJECT_ARRAY)) {
		(void)object_refuse(array, OBJECT_ARRAY, "array", err);
		return -1;
	}
	while (which < expr->array_count && expr->arrays[which] != array) {
		which++;
	}
	if (which < expr->array_count) {
		return expr->loads[which];
	}
	if (which == EXPR_ARRAYS) {
		error_set(err, KZ_INVALID, "an expression has at most %d arrays", EXPR_ARRAYS);
		return -1;
	}
	int node = expr_add_node(expr, EXPR_ARRAY, array->dtype, &which, 1, err);
	if (node >= 0) {
		expr->arrays[which] = array;
		expr->loads[which] = (uint16_t)node;
		expr->array_count++;
	}
	return node;
}

static int expr_add_scalar(struct expr *expr, kz_dtype dtype, union expr_value value, kz_error *err)
{
	int which = expr->scalar_count;
	if (which == EXPR_SCALARS) {
		error_set(err, KZ_INVALID, "an expression has at most %d numbers", EXPR_SCALARS);
		return -1;
	}
	int node = expr_add_node(expr, EXPR_SCALAR, dtype, &which, 1, err);
	if (node >= 0) {
		expr->scalars[expr->scalar_count++] = value;
		expr->nodes[node].weak = dtype != KZ_BOOL;
	}
	return node;
}

int expr_int(struct expr *expr, int64_t value, kz_error *err)
{
	return expr_add_scalar(expr, KZ_I64, (union expr_value){.i = value}, err);
}

int expr_float(struct expr *expr, double value, kz_error *err)
{
	return expr_add_scalar(expr, KZ_F64, (union expr_value){.parts = {value, 0}}, err);
}

int expr_complex(struct expr *expr, double real, double imaginary, kz_error *err)
{
	return expr_add_scalar(expr, KZ_C128, (union expr_value){.parts = {real, imaginary}}, err);
}

static const char *expr_describe_arg(char *text, size_t size, const kz_arg *arg)
{
	switch ((kz_arg_kind)arg->kind) {
	case KZ_ARG_ARRAY:
		return object_describe(text, size, arg->value.p);
	case KZ_ARG_BUFFER:
		return "a buffer";
	case KZ_ARG_POINTER:
		return arg->value.p ? "a pointer to host memory" : "NULL";
	case KZ_ARG_IN:
	case KZ_ARG_OUT:
	case KZ_ARG_INOUT:
		return "host memory";
	case KZ_ARG_VALUE:
		return "the bytes of a value";
	case KZ_ARG_TEXTURE:
		return "a texture";
	case KZ_ARG_SURFACE:
		return "a surface";
	case KZ_ARG_DEVICE_ADDRESS:
		return "a device address";
	default:
		return "another kind of kernel argument";
	}
}

/* The kinds that expr_arg takes beside arrays. */
static bool expr_is_number(int kind)
{
	return kind == KZ_ARG_BOOL || kind == KZ_ARG_INT || kind == KZ_ARG_UINT
		|| kind == KZ_ARG_F32 || kind == KZ_ARG_F64 || kind == KZ_ARG_COMPLEX;
}

kz_status expr_check_arg(const kz_arg *arg, const char *argument, kz_error *err)
{
	char found[80];
	const int kind = arg->kind;
	if (expr_is_number(kind)
	    || (kind == KZ_ARG_ARRAY && object_is(arg->value.p, OBJECT_ARRAY))) {
		return KZ_OK;
	}
	const bool mine = error_is_clean(err);
	const bool is_host = args_is_host(arg) || (kind == KZ_ARG_POINTER && arg->value.p);
	(void)error_set(err, KZ_INVALID, "%s: expected an array%s, got %s", argument,
		kind == KZ_ARG_ARRAY ? "" : " or a number",
		expr_describe_arg(found, sizeof(found), arg));
	if (mine && is_host) {
		error_add_hint(err, "kz_array_from makes an array of numbers in host memory");
	} else if (mine && kind == KZ_ARG_BUFFER) {
		error_add_hint(err, "kz_array_wrap makes an array of a buffer");
	}
	return KZ_INVALID;
}

int expr_arg(struct expr *expr, const kz_arg *arg, int index, kz_error *err)
{
	switch ((kz_arg_kind)arg->kind) {
	case KZ_ARG_ARRAY:
		return expr_array(expr, arg->value.p, err);
	case KZ_ARG_BOOL:
		return expr_add_scalar(expr, KZ_BOOL, (union expr_value){.i = arg->value.u != 0},
			err);
	case KZ_ARG_INT:
		return expr_int(expr, arg->value.i, err);
	case KZ_ARG_UINT:
		return expr_add_scalar(expr, arg->value.u > INT64_MAX ? KZ_U64 : KZ_I64,
			(union expr_value){.u = arg->value.u}, err);
	case KZ_ARG_F32:
		return expr_float(expr, (double)arg->value.f, err);
	case KZ_ARG_F64:
		return expr_float(expr, arg->value.d, err);
	case KZ_ARG_COMPLEX:
		return expr_complex(expr, arg->value.d, arg->imaginary, err);
	default:
		break;
	}
	char operand[24];
	snprintf(operand, sizeof(operand), "operand %d", index);
	(void)expr_check_arg(arg, operand, err);
	return -1;
}

int expr_index(struct expr *expr, kz_error *err)
{
	return expr_add_node(expr, EXPR_INDEX, KZ_I64, NULL, 0, err);
}

/* Types of operands */

/* Whether a weak integer fits the integer type. */
static bool expr_value_fits(const struct expr *expr, const struct expr_node *node, kz_dtype dtype)
{
	const union expr_value *value = &expr->scalars[node->args[0]];
	int bits = 8 * (int)kz_dtype_size(dtype);
	if (node->dtype == KZ_U64) {
		return dtype == KZ_U64;
	}
	if (!dtype_is_signed(dtype)) {
		return value->i >= 0 && (bits == 64 || value->i >> bits == 0);
	}
	return bits == 64 || (value->i >= -(INT64_C(1) << (bits - 1))
		&& value->i < INT64_C(1) << (bits - 1));
}

/* Give a weak number the type; its value is converted here, on the host. */
static bool expr_settle_scalar(struct expr *expr, struct expr_node *node, kz_dtype dtype,
	kz_error *err)
{
	union expr_value *value = &expr->scalars[node->args[0]];
	if (dtype_is_integer(dtype) && dtype_is_integer(node->dtype)) {
		if (!expr_value_fits(expr, node, dtype)) {
			error_set(err, KZ_RANGE, node->dtype == KZ_U64 ? "%llu does not fit in %s"
				: "%lld does not fit in %s", (long long)value->i,
				kz_dtype_name(dtype));
			return false;
		}
	} else if (dtype_is_integer(node->dtype)) {
		double number = node->dtype == KZ_U64 ? (double)value->u : (double)value->i;
		value->parts[0] = number;
		value->parts[1] = 0;
	}
	node->dtype = dtype;
	node->weak = 0;
	return true;
}

int expr_cast(struct expr *expr, int index, kz_dtype dtype, kz_error *err)
{
	struct expr_node *node = &expr->nodes[index];
	if (node->dtype == dtype && !node->weak) {
		return index;
	}
	bool can_settle = node->weak && node->op == EXPR_SCALAR
		&& (dtype_is_float(dtype) || dtype_is_complex(dtype)
			|| (dtype_is_integer(dtype) && dtype_is_integer(node->dtype)))
		&& kz_dtype_can_cast(node->dtype == KZ_U64 ? KZ_I64 : node->dtype,
			dtype_is_integer(dtype) ? KZ_I64 : dtype);
	if (can_settle) {
		return expr_settle_scalar(expr, node, dtype, err) ? index : -1;
	}
	node->weak = 0;
	if (node->dtype == dtype) {
		return index;
	}
	if (!dtype_converts(node->dtype, dtype)) {
		error_set(err, KZ_INVALID, "%s cannot be converted to %s",
			kz_dtype_name(node->dtype), kz_dtype_name(dtype));
		return -1;
	}
	return expr_add_node(expr, EXPR_CAST, dtype, &index, 1, err);
}

/* The types of an operation's operands. */
struct typing {
	const struct expr *expr;
	const int *nodes;
	int count;
	kz_dtype dtype[3]; /* what each operand becomes */
	kz_dtype result;
	bool weak;         /* all that count are weak */
};

/* The type of C numbers among themselves, and beside arrays of a type. */
static kz_dtype expr_weak_dtype(kz_dtype strong, kz_dtype weak)
{
	if (!strong) {
		return weak;
	}
	if (dtype_is_integer(weak)) {
		return strong == KZ_BOOL ? KZ_I64 : strong;
	}
	if (dtype_is_float(weak)) {
		return dtype_is_exact(strong) ? KZ_F64 : strong;
	}
	return dtype_is_complex(strong) ? strong
		: dtype_is_exact(strong) || strong == KZ_F64 ? KZ_C128 : KZ_C64;
}

/* The common type of the operands from `first` on; 0 if there is none. */
static kz_dtype expr_common_dtype(struct typing *t, int first)
{
	kz_dtype strong = 0;
	kz_dtype weak = 0;
	for (int i = first; i < t->count; i++) {
		const struct expr_node *node = &t->expr->nodes[t->nodes[i]];
		kz_dtype *to = node->weak ? &weak : &strong;
		*to = *to && *to != node->dtype ? kz_dtype_promote(*to, node->dtype) : node->dtype;
		if (!*to) {
			return 0;
		}
	}
	t->weak = !strong;
	return !weak ? strong : strong && !dtype_is_number(strong) ? 0 : expr_weak_dtype(strong,
		weak);
}

static void expr_become(struct typing *t, kz_dtype operands, kz_dtype result)
{
	for (int i = 0; i < t->count; i++) {
		t->dtype[i] = operands;
	}
	t->result = result;
}

/* Numbers that the arrays' type cannot hold, and int64 beside uint64, are compared as they are. */
static void expr_type_comparison(struct typing *t, kz_dtype common)
{
	expr_become(t, common, KZ_BOOL);
	for (int i = 0; i < 2; i++) {
		const struct expr_node *node = &t->expr->nodes[t->nodes[i]];
		const struct expr_node *other = &t->expr->nodes[t->nodes[1 - i]];
		bool stays = node->weak ? node->op == EXPR_SCALAR && dtype_is_integer(node->dtype)
				&& dtype_is_integer(common)
				&& !expr_value_fits(t->expr, node, common)
			: common == KZ_F64 && dtype_is_integer(node->dtype)
				&& dtype_is_integer(other->dtype);
		t->dtype[i] = stays ? node->dtype : t->dtype[i];
	}
}

static bool expr_is_of_numbers(const struct expr *expr, int index)
{
	const struct expr_node *node = &expr->nodes[index];
	const struct expr_op *op = expr_op(node->op);
	int arity = op ? op->arity : node->op == EXPR_CAST;
	bool all = node->op != EXPR_ARRAY && node->op != EXPR_INDEX;
	for (int k = 0; k < arity && all; k++) {
		all = expr_is_of_numbers(expr, node->args[k]);
	}
	return all;
}

/* Numbers that an array chooses between make an array: its type is no longer weak. */
static bool expr_type_choice(struct typing *t, enum rule rule)
{
	kz_dtype common = expr_common_dtype(t, 1);
	t->weak = t->weak && expr_is_of_numbers(t->expr, t->nodes[0]);
	const struct expr_node *condition = &t->expr->nodes[t->nodes[0]];
	expr_become(t, common, common);
	t->dtype[0] = rule == WHERE ? KZ_BOOL : condition->dtype;
	return common && dtype_is_number(condition->dtype);
}

/* Types are not listed here: an operation is refused if ops.def has no text for its type. */
static bool expr_type_operation(struct typing *t, enum rule rule)
{
	kz_dtype common = rule == WHERE || rule == IF_POSITIVE ? 0 : expr_common_dtype(t, 0);
	kz_dtype real = expr_float_dtype(common, t->weak);
	switch (rule) {
	case WHERE:
	case IF_POSITIVE:
		return expr_type_choice(t, rule);
	case ARITHMETIC:
	case ROUND:
		expr_become(t, common, common);
		break;
	case NOT_BOOL:
		expr_become(t, common, common);
		return dtype_is_number(common) && common != KZ_BOOL;
	case NUMBER:
		expr_become(t, common == KZ_BOOL ? KZ_I8 : common,
			common == KZ_BOOL ? KZ_I8 : common);
		break;
	case DIVIDE:
		real = dtype_is_exact(common) ? KZ_F64 : common;
		expr_become(t, real, real);
		break;
	case FLOAT:
		expr_become(t, real, real);
		break;
	case FLOAT_32:
		real = dtype_wide(real);
		expr_become(t, real, real);
		break;
	case FLOAT_PART:
		expr_become(t, real, dtype_part(real));
		break;
	case PART:
		expr_become(t, common, dtype_part(common));
		break;
	case LDEXP:
		common = t->expr->nodes[t->nodes[0]].dtype;
		real = expr_float_dtype(common, t->expr->nodes[t->nodes[0]].weak);
		expr_become(t, real, real);
		t->dtype[1] = t->expr->nodes[t->nodes[1]].dtype == KZ_U64 ? KZ_U64 : KZ_I64;
		return dtype_is_number(common) && dtype_is_exact(t->expr->nodes[t->nodes[1]].dtype);
	case EXPONENT:
		expr_become(t, real, KZ_I32);
		break;
	case COMPLEX:
		real = dtype_wide(real);
		expr_become(t, real, real == KZ_F32 ? KZ_C64 : KZ_C128);
		return dtype_is_number(common) && !dtype_is_complex(common);
	case COMPOSED:
		return false;
	case PREDICATE:
		expr_become(t, common, KZ_BOOL);
		break;
	case COMPARE:
		expr_type_comparison(t, common);
		break;
	case LOGICAL:
		expr_become(t, KZ_BOOL, KZ_BOOL);
		break;
	case BITS:
	case COUNT_BITS:
		expr_become(t, common, rule == COUNT_BITS ? KZ_U8 : common);
		return dtype_is_exact(common);
	case SHIFT:
		common = common == KZ_BOOL ? KZ_I8 : common;
		expr_become(t, common, common);
		return dtype_is_exact(common);
	}
	return dtype_is_number(common);
}

static int expr_refuse_types(const struct expr *expr, const struct expr_op *op, const int *args,
	kz_error *err)
{
	const char *names[3] = {"", "", ""};
	for (int i = 0; i < op->arity; i++) {
		names[i] = dtype_refused(expr->nodes[args[i]].dtype);
	}
	error_set(err, KZ_INVALID, "%s does not take %s%s%s%s%s", op->name, names[0],
		op->arity > 1 ? op->arity > 2 ? ", " : " and " : "", names[1],
		op->arity > 2 ? " and " : "", names[2]);
	return -1;
}

int expr_apply(struct expr *expr, kz_op number, const int *args, kz_error *err)
{
	const struct expr_op *op = expr_op((int)number);
	struct typing t = {.expr = expr, .nodes = args};
	int cast[3];
	if (!op) {
		error_set(err, KZ_INVALID, "%d is not a kz_op", (int)number);
		return -1;
	}
	t.count = op->arity;
	if (!expr_type_operation(&t, (enum rule)op->rule) || !expr_op_text(op, t.dtype[0])) {
		return expr_refuse_types(expr, op, args, err);
	}
	/* A weak operation stays weak: it is computed in its default type. */
	for (int i = 0; i < op->arity; i++) {
		cast[i] = expr_cast(expr, args[i], t.dtype[i], err);
		if (cast[i] < 0) {
			return -1;
		}
	}
	int node = expr_add_node(expr, (int)number, t.result, cast, op->arity, err);
	if (node >= 0) {
		expr->nodes[node].weak = t.weak && t.result != KZ_BOOL;
	}
	return node;
}

bool expr_unify(struct expr *expr, int *nodes, int count, kz_error *err)
{
	struct typing t = {.expr = expr, .nodes = nodes, .count = count};
	if (!expr_type_operation(&t, DIVIDE)) {
		const char *first = dtype_refused(expr->nodes[nodes[0]].dtype);
		error_set(err, KZ_INVALID, "isclose does not take %s and %s", first,
			dtype_refused(expr->nodes[nodes[1]].dtype));
		return false;
	}
	for (int i = 0; i < count; i++) {
		nodes[i] = expr_cast(expr, nodes[i], t.dtype[i], err);
		if (nodes[i] < 0) {
			return false;
		}
	}
	return true;
}
