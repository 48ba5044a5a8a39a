/* SPDX-License-Identifier: MIT */
/*
 * Calls like one before.
 *
 * For small arrays a call is all host time.  Most calls differ from an earlier one only in the
 * arrays, which have one shape.  Then types, checks and kernel are the same, too.  What decides
 * about them is a key of a few bits: the operation, and of each operand whether it is an array or a
 * C number, its type, and whether it is the target.  Not kept are: views with gaps, other shapes,
 * addresses that are not multiples of 16, what overlaps, an array that is there twice, and C
 * numbers that do not become floats, whose values would matter.
 *
 * What such a call came to is in the table of kernels (kernels.c), under that key.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/ops/kernels.h"
#include "lib/array/shape.h"
#include "lib/ops/shortcut.h"

enum { OPERANDS = 3, ALIGNMENT = 16 };

/* From the lowest bit on: 1, 8 bits of the operation, 1 of the schedule, 5 of the target's type, 8
 * of each operand. */
enum { OP_AT = 1, SCHEDULE_AT = 9, TARGET_AT = 10, OPERANDS_AT = 15 };
enum { OPERAND_BITS = 8, IS_ARRAY = 1, IS_INT, IS_FLOAT, DTYPE_AT = 2, IS_TARGET_AT = 7 };
static_assert(EXPR_OPS <= 1 << (SCHEDULE_AT - OP_AT),
	"an operation fits between 1 and the schedule");
static_assert(SCHEDULES <= 1 << (TARGET_AT - SCHEDULE_AT), "so does the kind of schedule");
static_assert(DTYPE_BUILTIN <= 1 << (OPERANDS_AT - TARGET_AT), "so does the type of the target");
static_assert(IS_FLOAT < 1 << DTYPE_AT, "so does what an operand is");
static_assert(DTYPE_BUILTIN <= 1 << (IS_TARGET_AT - DTYPE_AT), "so does the type of an operand");
static_assert(IS_TARGET_AT < OPERAND_BITS, "so does whether it is the target");
static_assert(OPERANDS_AT + OPERANDS * OPERAND_BITS <= 64, "so do all operands");

/* Whether an array is row-major, of a built-in type, and of this shape and device. */
static bool shortcut_is_like(const struct shortcut *call, const struct kz_array *array)
{
	return object_is(array, OBJECT_ARRAY) && dtype_is_builtin(array->dtype)
		&& array_device(array) == call->device && array->count == call->like->count
		&& shape_equal(&array->shape, &call->like->shape) && array_is_contiguous(array)
		&& array_address(array) % ALIGNMENT == 0;
}

/* An array's place beside the target: the same, or elsewhere; false: they overlap. */
static bool shortcut_find_place(bool *is_target, const struct kz_array *target,
	const struct kz_array *array)
{
	CUdeviceptr to = array_address(target), from = array_address(array);
	*is_target = to == from && target->dtype == array->dtype;
	return *is_target || to + (CUdeviceptr)(target->count * dtype_size(target->dtype)) <= from
		|| from + (CUdeviceptr)(array->count * dtype_size(array->dtype)) <= to;
}

/* The bits of an operand; 0 if calls with such a one are not kept. */
static uint64_t shortcut_read_operand(const struct shortcut *call, const struct kz_array *target,
	const kz_args *args, size_t i)
{
	const kz_arg *arg = &args->items[i];
	const struct kz_array *array = arg->value.p;
	bool is_target = false;
	if (arg->kind != KZ_ARG_ARRAY) {
		return arg->kind == KZ_ARG_INT ? IS_INT
			: arg->kind == KZ_ARG_F32 || arg->kind == KZ_ARG_F64 ? IS_FLOAT : 0;
	}
	for (size_t j = 0; j < i; j++) {
		if (args->items[j].kind == KZ_ARG_ARRAY && args->items[j].value.p == array) {
			return 0;
		}
	}
	if (!shortcut_is_like(call, array)
	    || (target && !shortcut_find_place(&is_target, target, array))) {
		return 0;
	}
	return IS_ARRAY | (uint64_t)array->dtype << DTYPE_AT | (uint64_t)is_target << IS_TARGET_AT;
}

bool shortcut_read(struct shortcut *call, kz_op op, const struct elementwise *how,
	const kz_args *args)
{
	call->key = 0;
	call->like = how->into;
	for (size_t i = 0; i < args->count && !call->like; i++) {
		call->like = args->items[i].kind == KZ_ARG_ARRAY ? args->items[i].value.p : NULL;
	}
	if (!object_is(call->like, OBJECT_ARRAY) || call->like->count == 0
	    || call->like->count > INT32_MAX
	    || args->count > OPERANDS) {
		return false;
	}
	call->device = array_device(call->like);
	if (how->into && !shortcut_is_like(call, how->into)) {
		return false;
	}
	uint64_t key = 1 | (uint64_t)op << OP_AT | (uint64_t)schedule_kind(call->device)
		<< SCHEDULE_AT
		| (uint64_t)(how->into ? how->into->dtype : 0) << TARGET_AT;
	for (size_t i = 0; i < args->count; i++) {
		uint64_t bits = shortcut_read_operand(call, how->into, args, i);
		if (!bits) {
			return false;
		}
		key |= bits << (OPERANDS_AT + OPERAND_BITS * i);
	}
	call->key = key;
	return true;
}

/* No key of a source is like it: those say more in their first bytes. */
struct shortcut_key {
	uint64_t zero, key;
};

/* Whether all C numbers of an expression are floats in its kernel. */
static bool shortcut_has_floats(const struct expr *expr)
{
	bool all = true;
	for (int i = 0; i < expr->node_count && all; i++) {
		const struct expr_node *node = &expr->nodes[i];
		all = node->op != EXPR_SCALAR || dtype_is_float(node->dtype);
	}
	return all;
}

void shortcut_keep(const struct shortcut *call, const struct expr *expr,
	const struct elementwise_done *done)
{
	const struct shortcut_key key = {0, call->key};
	if (done->kernel && !done->layout.ndim && shortcut_has_floats(expr)) {
		kernels_keep(call->device, &key, sizeof(key), done, sizeof(*done), done->kernel);
	}
}

/* What a kernel gets of a C number, all of which are floats for it. */
static union expr_value shortcut_value(const kz_arg *arg)
{
	double value = arg->kind == KZ_ARG_INT ? (double)arg->value.i
		: arg->kind == KZ_ARG_F32 ? (double)arg->value.f : arg->value.d;
	return (union expr_value){.parts = {value, 0}};
}

static kz_status shortcut_launch(struct kz_array *target, const struct shortcut *call,
	const struct elementwise_done *done, struct kz_stream *stream, const kz_args *args,
	kz_error *err)
{
	struct expr expr;
	struct plan plan;
	expr_init(&expr);
	plan.expr = &expr;
	plan.device = call->device;
	plan.stream = stream;
	plan.target = target;
	plan.dtype = done->dtype;
	plan.layout = done->layout;
	plan.address[0] = array_address(target);
	for (size_t i = 0; i < args->count; i++) {
		if (args->items[i].kind == KZ_ARG_ARRAY) {
			const struct kz_array *array = args->items[i].value.p;
			expr.arrays[expr.array_count++] = array;
			plan.address[expr.array_count] = array_address(array);
		} else {
			expr.scalars[expr.scalar_count++] = shortcut_value(&args->items[i]);
		}
	}
	plan.count = 1 + expr.array_count;
	return plan_launch(&plan, done->kernel, err);
}

bool shortcut_run(kz_status *st, kz_array **out, const struct shortcut *call,
	const struct elementwise *how, const kz_args *args, kz_error *err)
{
	struct kz_array *target = how->into;
	struct kz_stream *stream = NULL;
	const struct shortcut_key key = {0, call->key};
	const struct elementwise_done *done = kernels_find(call->device, &key, sizeof(key));
	if (!done || stream_pick(&stream, call->device, how->stream, NULL)) {
		return false;
	}
	if (!target && (*st = array_create_on(&target, call->device, done->dtype,
		&call->like->shape, stream, err))) {
		return true;
	}
	if (unlikely(array_address(target) % ALIGNMENT)) {
		kz_array_release(target); /* by an allocator of the program's */
		return false;
	}
	kernels_hit(call->device);
	*st = shortcut_launch(target, call, done, stream, args, err);
	if (*st && !how->into) {
		kz_array_release(target);
	} else if (!*st && out) {
		*out = how->into ? kz_array_retain(target) : target;
	}
	return true;
}
