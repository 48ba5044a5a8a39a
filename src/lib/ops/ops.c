/* SPDX-License-Identifier: MIT */
/* Operations by number.  Each is an expression of one node, which elementwise.c runs. */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/ops/shortcut.h"

#include <stdio.h>

/* An operation that was asked for. */
struct ops_call {
	kz_op op;
	kz_dtype dtype;      /* of the result; 0: what the operands make it */
	const char *suffix;  /* "_into" for the functions whose names end so, else "" */
	const kz_args *args;
};

static bool ops_try_build(struct expr *expr, const struct ops_call *call, kz_error *err)
{
	int nodes[EXPR_OPERANDS] = {0};
	expr_init(expr);
	for (size_t i = 0; i < call->args->count; i++) {
		nodes[i] = expr_arg(expr, &call->args->items[i], (int)i + 1, err);
		if (nodes[i] < 0) {
			return false;
		}
	}
	int node = expr_apply_some(expr, call->op, nodes, (int)call->args->count, err);
	return node >= 0 && (!call->dtype || expr_cast(expr, node, call->dtype, err) >= 0);
}

/* The expression of one operation; what failed is in `err`. */
static kz_status ops_build(struct expr *expr, const struct ops_call *call, kz_error *err)
{
	if (likely(ops_try_build(expr, call, NULL))) {
		return KZ_OK;
	}
	/* Nodes know that they failed, not how: build once more, with an error value. */
	kz_error first = KZ_ERROR_INIT;
	kz_status st = KZ_OK;
	for (size_t i = 0; i < call->args->count && !st; i++) {
		char name[40], operand[32];
		snprintf(name, sizeof(name), "kz_%s%s", kz_op_name(call->op), call->suffix);
		snprintf(operand, sizeof(operand), "operand %zu", i + 1);
		st = expr_check_arg(&call->args->items[i], operand, &first);
	}
	if (!st) {
		(void)ops_try_build(expr, call, &first);
	}
	st = first.status;
	error_copy(err, &first);
	kz_error_clear(&first);
	return st;
}

static kz_status ops_apply(kz_array **out, const struct ops_call *call,
	const struct elementwise *how, kz_error *err)
{
	const kz_op op = call->op;
	const kz_args *args = call->args;
	struct expr expr;
	struct shortcut like;
	struct elementwise_done done = {.kernel = NULL};
	struct elementwise noted = *how;
	const bool mine = error_is_clean(err);
	kz_status st = KZ_OK;
	const int arity = kz_op_arity(op), most = expr_op_most(op);
	if (!arity) {
		return error_set(err, KZ_INVALID, "%d is not a kz_op", (int)op);
	}
	if (args->count < (size_t)arity || args->count > (size_t)most) {
		return most > arity ? error_set(err, KZ_INVALID,
			"kz_%s%s takes %d to %d operands, got %zu", kz_op_name(op), call->suffix,
			arity, most, args->count)
			: error_set(err, KZ_INVALID, "kz_%s%s takes %d operand%s, got %zu",
			kz_op_name(op), call->suffix, arity, plural(arity), args->count);
	}
	const bool known = !call->dtype && most == arity && shortcut_read(&like, op, how, args);
	if (known && shortcut_run(&st, out, &like, how, args, err)) {
		return st;
	}
	noted.done = known ? &done : NULL;
	if ((st = ops_build(&expr, call, err))
	    || (st = elementwise_run(out, &expr, &noted, err))) {
		if (mine) {
			char name[40];
			snprintf(name, sizeof(name), "kz_%s%s", kz_op_name(op), call->suffix);
			error_name_call(err, name);
		}
		return st;
	}
	if (known) {
		shortcut_keep(&like, &expr, &done);
	}
	return KZ_OK;
}

kz_status kz_apply(kz_array **out, kz_op op, const kz_op_options *options, kz_error *err,
	kz_args args)
{
	/* No error_scope: a message names the operation. */
	struct elementwise how = {.into = NULL};
	kz_dtype dtype = 0;
	kz_status st = KZ_OK;
	out_clear(out, sizeof(*out), leaks_are_kept() ? kz_op_name(op) : NULL);
	if ((st = elementwise_options(&how, &dtype, options, err))) {
		return st;
	}
	if (!out && !how.into) {
		return error_set(err, KZ_INVALID, "%s: out is NULL", __func__);
	}
	return ops_apply(out, &(struct ops_call){op, dtype, "", &args}, &how, err);
}

kz_status kz_apply_into(kz_array *into, kz_op op, kz_error *err, kz_args args)
{
	/* No error_scope for what follows the check: a message names the operation. */
	const struct elementwise how = {.into = into};
	{
		error_scope(err);
		kz_status st = object_check(into, OBJECT_ARRAY, err);
		if (st) {
			return st;
		}
	}
	return ops_apply(NULL, &(struct ops_call){op, 0, "_into", &args}, &how, err);
}

/* Copies: expressions of nothing but an array. */

static kz_status ops_copy_as(kz_array **out, const kz_array *array, kz_dtype dtype,
	struct kz_stream *stream, kz_error *err)
{
	struct expr expr;
	struct elementwise how = {.stream = stream};
	kz_status st = object_check(array, OBJECT_ARRAY, err);
	if (st) {
		return st;
	}
	expr_init(&expr);
	int node = expr_array(&expr, array, err);
	if (!kz_dtype_size(dtype)) {
		return error_set(err, KZ_INVALID, "%u is not a dtype", (unsigned)dtype);
	}
	return expr_cast(&expr, node, dtype, err) < 0 ? KZ_INVALID
		: elementwise_run(out, &expr, &how, err);
}

kz_status kz_array_astype(kz_array **out, kz_array *array, kz_dtype dtype, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	return st ? st : ops_copy_as(out, array, dtype, NULL, err);
}

kz_status kz_array_astype_on(kz_array **out, kz_array *array, kz_dtype dtype, kz_stream *stream,
	kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	return st ? st : ops_copy_as(out, array, dtype, stream, err);
}

kz_status kz_array_copy(kz_array **out, kz_array *array, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	return st ? st : ops_copy_as(out, array, array ? array->dtype : 0, NULL,
		err);
}

kz_status kz_array_copy_on(kz_array **out, kz_array *array, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	return st ? st : ops_copy_as(out, array, array ? array->dtype : 0, stream,
		err);
}

kz_status ops_copy(struct kz_array *to, const struct kz_array *from, struct kz_stream *stream,
	kz_error *err)
{
	struct expr expr;
	const struct elementwise how = {.into = to, .stream = stream};
	expr_init(&expr);
	return expr_array(&expr, from, err) < 0 ? KZ_INVALID
		: elementwise_run(NULL, &expr, &how, err);
}

static kz_status ops_assign(kz_array *to, kz_array *from, kz_stream *stream,
	kz_error *err)
{
	kz_status st;
	if ((st = object_check(to, OBJECT_ARRAY, err))
	    || (st = object_check(from, OBJECT_ARRAY, err))) {
		return st;
	}
	return ops_copy(to, from, stream, err);
}

kz_status kz_array_assign(kz_array *to, kz_array *from, kz_error *err)
{
	error_scope(err);
	return ops_assign(to, from, NULL, err);
}

kz_status kz_array_assign_on(kz_array *to, kz_array *from, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	return ops_assign(to, from, stream, err);
}

/* For a value that is not a number, assign an array that has it as its only element. */
static kz_status ops_fill_bytes(kz_array *to, const kz_arg *value, struct kz_stream *stream,
	kz_error *err)
{
	static const kz_shape one_element = {0};
	kz_array *one = NULL;
	kz_status st = kz_array_full_on(&one, kz_array_device(to), to->dtype, one_element,
		value->value.p, value->size, stream, err);
	st = st ? st : kz_array_assign_on(to, one, stream, err);
	kz_array_release(one);
	return st;
}

static kz_status ops_fill(kz_array *to, kz_arg value, kz_stream *stream,
	kz_error *err)
{
	struct expr expr;
	struct elementwise how = {.into = to, .stream = stream};
	kz_status st = object_check(to, OBJECT_ARRAY, err);
	expr_init(&expr);
	if (!st && value.kind == KZ_ARG_VALUE) {
		return ops_fill_bytes(to, &value, stream, err);
	}
	if (!st && dtype_is_struct(to->dtype) && value.kind != KZ_ARG_ARRAY) {
		return error_set(err, KZ_INVALID, "argument 'value': expected KZ_VALUE of a %s",
			dtype_refused(to->dtype));
	}
	if (st || (st = expr_check_arg(&value, "argument 'value'", err))) {
		return st;
	}
	if (expr_arg(&expr, &value, 1, err) < 0) {
		return KZ_INVALID;
	}
	return elementwise_run(NULL, &expr, &how, err);
}

kz_status kz_array_fill(kz_array *to, kz_arg value, kz_error *err)
{
	error_scope(err);
	return ops_fill(to, value, NULL, err);
}

kz_status kz_array_fill_on(kz_array *to, kz_arg value, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	return ops_fill(to, value, stream, err);
}
