/* SPDX-License-Identifier: MIT */
/*
 * Calls like one before.
 *
 * For small arrays a call is all host time.  Mostly it differs from an earlier one in nothing but
 * which arrays of one shape it is about: then types, checks and kernel are the same, too.  What
 * decides about them is a key of a few bits: the operation, and of each operand whether it is an
 * array or a C number, its type, and whether it is the target.  Not kept are: views with gaps, other
 * shapes, addresses that are not multiples of 16, what overlaps, an array that is there twice, and
 * C numbers that do not become floats, whose values would matter.
 *
 * Each device has a table of fixed size, whose places are taken once and never change: readers need
 * no lock.  When it is full, further calls go the long way.
 */
#include "base/common.h"

#include "array/array.h"
#include "base/alloc.h"
#include "ops/kernels.h"
#include "array/shape.h"
#include "ops/shortcut.h"

enum { PLACES = 256, TRIES = 8, OPERANDS = 3, ALIGNMENT = 16 };

/* Keys are odd: 1, and from there on 8 bits of the operation, 1 of the device, 4 of the target's
 * type, 8 of each operand. */
enum { EMPTY = 0, BUSY = 2, OP_AT = 1, SERIAL_AT = 9, TARGET_AT = 10, OPERANDS_AT = 14 };
enum { OPERAND_BITS = 8, IS_ARRAY = 1, IS_INT, IS_FLOAT, DTYPE_AT = 2, IS_TARGET_AT = 6 };

struct way {
	_Atomic(uint64_t) key; /* EMPTY, BUSY while the rest is being written, or a key */
	struct elementwise_done done;
};

struct shortcuts {
	struct device_table base;
	struct way ways[PLACES];
};

/* Keys */

/* Whether an array is row-major, of a built-in type, and of this shape and device. */
static bool is_like(const struct shortcut *call, const struct kz_array *array)
{
	return array && array->dtype < DTYPE_BUILTIN && array_device(array) == call->device
		&& array->count == call->like->count
		&& shape_equal(&array->shape, &call->like->shape) && array_is_contiguous(array)
		&& array_address(array) % ALIGNMENT == 0;
}

/* An array's place beside the target: the same, or elsewhere; false: they overlap. */
static bool find_place(bool *is_target, const struct kz_array *target, const struct kz_array *array)
{
	CUdeviceptr to = array_address(target), from = array_address(array);
	*is_target = to == from && target->dtype == array->dtype;
	return *is_target || to + (CUdeviceptr)(target->count * dtype_size(target->dtype)) <= from
		|| from + (CUdeviceptr)(array->count * dtype_size(array->dtype)) <= to;
}

/* The bits of an operand; 0 if calls with such a one are not kept. */
static uint64_t read_operand(const struct shortcut *call, const struct kz_array *target,
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
	if (!is_like(call, array) || (target && !find_place(&is_target, target, array))) {
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
	if (!call->like || call->like->count == 0 || call->like->count > INT32_MAX
	    || args->count > OPERANDS) {
		return false;
	}
	call->device = array_device(call->like);
	if (how->into && !is_like(call, how->into)) {
		return false;
	}
	uint64_t key = 1 | (uint64_t)op << OP_AT | (uint64_t)call->device->serial << SERIAL_AT
		| (uint64_t)(how->into ? how->into->dtype : 0) << TARGET_AT;
	for (size_t i = 0; i < args->count; i++) {
		uint64_t bits = read_operand(call, how->into, args, i);
		if (!bits) {
			return false;
		}
		key |= bits << (OPERANDS_AT + OPERAND_BITS * i);
	}
	call->key = key;
	return true;
}

/* The table */

static struct way *way_at(struct shortcuts *table, uint64_t key, int try)
{
	uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	return &table->ways[(hash + (uint64_t)try) % PLACES];
}

static const struct way *find(struct shortcuts *table, uint64_t key)
{
	for (int try = 0; table && try < TRIES; try++) {
		struct way *way = way_at(table, key, try);
		uint64_t there = atomic_load_explicit(&way->key, memory_order_acquire);
		if (there == key) {
			return way;
		}
		if (there == EMPTY) {
			return NULL;
		}
	}
	return NULL;
}

/* The table of a device; NULL if nobody has made one. */
static struct shortcuts *table_there(const struct kz_device *dev)
{
	return (struct shortcuts *)device_table(dev, DEVICE_SHORTCUTS);
}

static void shortcuts_end(struct device_table *base)
{
	mem_free(base);
}

static struct shortcuts *table_of(struct kz_device *dev)
{
	struct shortcuts *table = table_there(dev);
	if (table) {
		return table;
	}
	struct shortcuts *made = mem_zalloc(1, sizeof(*made));
	if (!made) {
		return NULL;
	}
	made->base.end = shortcuts_end;
	return (struct shortcuts *)device_put_table(dev, DEVICE_SHORTCUTS, &made->base);
}

/* Whether all C numbers of an expression are floats in its kernel. */
static bool numbers_are_floats(const struct expr *expr)
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
	struct shortcuts *table = table_of(call->device);
	if (!table || !done->kernel || done->layout.ndim || !numbers_are_floats(expr)) {
		return;
	}
	for (int try = 0; try < TRIES; try++) {
		struct way *way = way_at(table, call->key, try);
		uint64_t there = EMPTY;
		if (atomic_compare_exchange_strong(&way->key, &there, BUSY)) {
			way->done = *done;
			atomic_store_explicit(&way->key, call->key, memory_order_release);
			return;
		}
	}
}

/* Running */

/* What a kernel gets of a C number, all of which are floats for it. */
static union expr_value value_of(const kz_arg *arg)
{
	double value = arg->kind == KZ_ARG_INT ? (double)arg->value.i
		: arg->kind == KZ_ARG_F32 ? (double)arg->value.f : arg->value.d;
	return (union expr_value){.parts = {value, 0}};
}

static kz_status launch(struct kz_array *target, const struct shortcut *call,
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
			expr.scalars[expr.scalar_count++] = value_of(&args->items[i]);
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
	const struct way *way = find(table_there(call->device), call->key);
	if (!way || stream_pick(&stream, call->device, how->stream, NULL)) {
		return false;
	}
	if (!target && (*st = array_create_on(&target, call->device, way->done.dtype,
		&call->like->shape, stream, err))) {
		return true;
	}
	if (unlikely(array_address(target) % ALIGNMENT)) {
		kz_array_release(target); /* by an allocator of the program's */
		return false;
	}
	kernels_hit(call->device);
	*st = launch(target, call, &way->done, stream, args, err);
	if (*st && !how->into) {
		kz_array_release(target);
	} else if (!*st && out) {
		*out = how->into ? kz_array_retain(target) : target;
	}
	return true;
}
