/* SPDX-License-Identifier: MIT */
/*
 * Run an expression over arrays.
 *
 * The arrays are broadcast to one shape, and how they lie then (plan.c) decides which kernel is
 * needed. The kernel's key is the expression's nodes and the class of the layout; it has no size
 * and no stride.
 *
 * A target may overlap an operand other than element by element.  Then the result is written to a
 * new array first, and copied.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/array/overlap.h"
#include "lib/ops/elementwise.h"
#include "lib/ops/generate.h"
#include "lib/ops/kernels.h"
#include "lib/ops/plan.h"
#include "lib/array/shape.h"
#include "lib/array/strided.h"
#include "lib/ops/transpose.h"

#include <stdlib.h>
#include <string.h>

/* Devices and shapes */

static kz_status elementwise_pick_device(struct plan *plan, const struct elementwise *how,
	kz_error *err)
{
	const struct expr *expr = plan->expr;
	const struct kz_array *first = how->into ? how->into : expr->array_count
		? expr->arrays[0] : NULL;
	plan->device = how->device ? how->device : first ? array_device(first) : NULL;
	if (!plan->device) {
		return error_set(err, KZ_INVALID, "%s: expected at least one array",
			expr_name(expr));
	}
	for (int i = 0; i < expr->array_count; i++) {
		if (unlikely(array_device(expr->arrays[i]) != array_device(first))) {
			return array_same_device(expr_name(expr), first, expr->arrays[i], err);
		}
	}
	return stream_pick(&plan->stream, plan->device, how->stream, err);
}

static kz_status elementwise_check_room(const char *name, const kz_shape *all,
	const struct kz_array *into, kz_error *err)
{
	kz_shape both;
	kz_status st = shape_broadcast(&both, *all, into->shape, NULL);
	if (!st && shape_equal(&both, &into->shape)) {
		return KZ_OK;
	}
	return error_set(err, KZ_INVALID, "%s gives shape %s, which does not fit into %s", name,
		shape_text(all).text, shape_text(&into->shape).text);
}

/* The shape of the result: that of the target, or what the arrays broadcast to.  Usually all have
 * that shape, and `room` is not needed. */
static kz_status elementwise_find_shape(const kz_shape **out, kz_shape *room,
	const struct expr *expr, const struct elementwise *how, kz_error *err)
{
	static const kz_shape number = {0, {0}};
	const kz_shape *all = how->shape ? how->shape : how->into && !expr->array_count
		? &how->into->shape : expr->array_count ? &expr->arrays[0]->shape : &number;
	for (int i = 0; i < expr->array_count; i++) {
		if (!shape_equal(all, &expr->arrays[i]->shape)) {
			kz_status st = shape_broadcast(room, *all, expr->arrays[i]->shape, err);
			if (st) {
				return st;
			}
			all = room;
		}
	}
	*out = all;
	if (!how->into || shape_equal(all, &how->into->shape)) {
		return KZ_OK;
	}
	*out = &how->into->shape;
	return elementwise_check_room(expr_name(expr), all, how->into, err);
}

/* The target */

/* The index of an element counts in row-major order, so the target must have that order. */
static bool elementwise_has_index(const struct expr *expr)
{
	for (int i = 0; i < expr->node_count; i++) {
		if (expr->nodes[i].op == EXPR_INDEX) {
			return true;
		}
	}
	return false;
}

/* A new array gets its axes in the order of another of its shape. */
static void elementwise_keep_order_of(struct kz_array *target, const struct kz_array *like)
{
	int64_t stride = dtype_size(target->dtype);
	bool done[KZ_MAX_DIMS] = {false};
	for (int64_t n = 0; n < target->shape.ndim; n++) {
		int64_t next = -1;
		for (int64_t i = target->shape.ndim; i-- > 0;) {
			if (!done[i] && (next < 0
				|| llabs(like->strides[i]) < llabs(like->strides[next]))) {
				next = i;
			}
		}
		done[next] = true;
		target->strides[next] = stride;
		stride *= target->shape.dims[next] ? target->shape.dims[next] : 1;
	}
}

/* numpy's order "K": that of the first array of its shape. */
static void elementwise_keep_order(struct kz_array *target, const struct expr *expr)
{
	const struct kz_array *like = NULL;
	for (int i = 0; i < expr->array_count && !like; i++) {
		like = shape_equal(&expr->arrays[i]->shape, &target->shape) ? expr->arrays[i]
			: NULL;
	}
	if (like && !array_is_contiguous(like) && !elementwise_has_index(expr)) {
		elementwise_keep_order_of(target, like);
	}
}

static kz_status elementwise_check_target(const struct kz_array *into, const struct expr *expr,
	bool unsafe, kz_error *err)
{
	kz_dtype dtype = expr_dtype(expr);
	if (dtype == into->dtype && array_is_contiguous(into)) {
		return KZ_OK; /* mostly */
	}
	if (expr->nodes[expr->node_count - 1].weak && !dtype_is_complex(dtype)) {
		/* A C number takes the target's type, but keeps both parts. */
		dtype = dtype_is_storage(into->dtype) ? into->dtype : KZ_BOOL;
	}
	if (!unsafe && !kz_dtype_can_cast(dtype, into->dtype)) {
		return error_set(err, KZ_INVALID, "%s gives %s, which does not fit into %s",
			expr_name(expr), kz_dtype_name(dtype), kz_dtype_name(into->dtype));
	}
	if (!dtype_converts(dtype, into->dtype)) {
		return error_set(err, KZ_INVALID, "%s cannot be converted to %s",
			kz_dtype_name(dtype), kz_dtype_name(into->dtype));
	}
	if (array_is_contiguous(into)) {
		return KZ_OK;
	}
	const struct strided elements = array_elements(into);
	return strided_distinct(&elements, "an array", err);
}

/* Whether the target's elements share memory with an array's, other than each with its own. */
static bool elementwise_interleave(const struct kz_array *target, const struct kz_array *array)
{
	int64_t low[2], high[2];
	const struct strided elements[2] = {array_elements(target), array_elements(array)};
	int64_t apart = (int64_t)(array_address(array) - array_address(target));
	if (apart == 0 && elements[0].size == elements[1].size
	    && shape_equal(&target->shape, &array->shape)
	    && memcmp(target->strides, array->strides,
		(size_t)target->shape.ndim * sizeof(target->strides[0])) == 0) {
		return false;
	}
	(void)strided_span(&low[0], &high[0], &elements[0]); /* those of arrays fit */
	(void)strided_span(&low[1], &high[1], &elements[1]);
	return apart + low[1] < high[0] && low[0] < apart + high[1];
}

/* The same, at once where they lie in different pieces of memory. */
static bool elementwise_overlaps(const struct kz_array *target, const struct kz_array *array)
{
	return overlap_memory(target, array) && array->count && target->count
		&& elementwise_interleave(target, array);
}

static bool elementwise_needs_detour(const struct expr *expr, const struct kz_array *into)
{
	for (int i = 0; i < expr->array_count; i++) {
		if (elementwise_overlaps(into, expr->arrays[i])) {
			return true;
		}
	}
	return elementwise_has_index(expr) && !array_is_contiguous(into);
}

static kz_status elementwise_find_kernel(struct kz_kernel **out, const struct plan *plan,
	kz_error *err)
{
	const struct expr *expr = plan->expr;
	struct {
		kz_dtype dtype;
		struct layout layout;
		struct expr_node nodes[EXPR_NODES];
	} key;
	size_t size = (size_t)expr->node_count * sizeof(expr->nodes[0]);
	memset(&key, 0, offsetof(__typeof__(key), nodes));
	key.dtype = plan->dtype;
	key.layout = plan->layout;
	memcpy(key.nodes, expr->nodes, size);
	struct generate generate = {expr, plan->dtype, plan->layout, false};
	struct kernels_want want = {
		.family = &elementwise_family,
		.key = &key, .size = offsetof(__typeof__(key), nodes) + size, .context = &generate,
		.what = expr_name(expr),
	};
	return kernels_get(out, plan->device, &want, err);
}

/* The type by which a kernel moves elements that it does not compute with. */
static kz_dtype elementwise_bits_type(kz_dtype dtype)
{
	switch (dtype_size(dtype)) {
	case 1:
		return KZ_U8;
	case 2:
		return KZ_U16;
	case 4:
		return KZ_U32;
	case 8:
		return KZ_U64;
	default:
		return dtype;
	}
}

/* A copy moves bits.  So one kernel serves all types of a size, and halves keep their NaNs. */
static bool elementwise_is_copy(const struct plan *plan)
{
	const struct expr_node *node = plan->expr->nodes;
	return plan->expr->node_count == 1 && node->op == EXPR_ARRAY
		&& node->dtype == plan->target->dtype;
}

/* The driver copies arrays without gaps: nothing is compiled, and no kernel runs. */
static kz_status elementwise_copy_flat(const struct plan *plan, kz_error *err)
{
	const struct kz_array *from = plan->expr->arrays[0];
	struct kz_buffer *target = plan->target->buffer;
	CUdeviceptr to_offset = plan->address[0] - buffer_address(target);
	CUdeviceptr from_offset = plan->address[1] - buffer_address(from->buffer);
	if (plan->compile_only || plan->address[0] == plan->address[1]) {
		return KZ_OK;
	}
	return kz_copy_dtod_on(target, (int64_t)to_offset, from->buffer, (int64_t)from_offset,
		kz_array_size(plan->target), plan->stream, err);
}

/* Transposing copies have a kernel of their own; false if this is not one. */
static bool elementwise_turn(const struct plan *plan, kz_status *st, kz_error *err)
{
	const struct expr *expr = plan->expr;
	struct transpose copy = {
		.device = plan->device, .stream = plan->stream,
		.memory = {plan->target->buffer->memory, NULL},
		.address = {plan->address[0], plan->address[1]},
		.strides = {plan->strides[0], plan->strides[1]}, .dims = plan->dims,
		.ndim = plan->ndim, .size = dtype_size(plan->dtype),
		.compile_only = plan->compile_only,
	};
	if (!transpose_suits(&copy)) {
		return false;
	}
	copy.memory[1] = expr->arrays[0]->buffer->memory;
	*st = transpose_run(&copy, err);
	return true;
}

/* Run the plan.  All is checked; the target is there, and overlaps nothing. */
static kz_status elementwise_run_plan(struct plan *plan, const kz_shape *shape, kz_error *err)
{
	struct kz_kernel *kernel = NULL;
	kz_status st;
	if (plan->target->count == 0) {
		return KZ_OK;
	}
	if ((st = plan_layout(plan, shape, err))) {
		return st;
	}
	plan->dtype = plan->target->dtype;
	if (elementwise_is_copy(plan)) {
		if (!plan->layout.ndim && !plan->layout.constant) {
			return elementwise_copy_flat(plan, err);
		}
		if (elementwise_turn(plan, &st, err)) {
			return st;
		}
		plan->expr->nodes[0].dtype = plan->dtype = elementwise_bits_type(plan->dtype);
	}
	st = elementwise_find_kernel(&kernel, plan, err);
	if (plan->done) {
		*plan->done = (struct elementwise_done){kernel, plan->layout, plan->dtype};
	}
	return st || plan->compile_only ? st : plan_launch(plan, kernel, err);
}

/* Into a new array. */
static kz_status elementwise_run_new(kz_array **out, struct plan *plan, kz_dtype dtype,
	const kz_shape *shape, kz_error *err)
{
	kz_status st = array_create_on(&plan->target, plan->device, dtype, shape,
		plan->stream, err);
	if (st) {
		return st;
	}
	elementwise_keep_order(plan->target, plan->expr);
	st = elementwise_run_plan(plan, shape, err);
	if (st) {
		kz_array_release(plan->target);
		return st;
	}
	*out = plan->target;
	return KZ_OK;
}

static kz_status elementwise_run_plan_into(struct plan *plan, struct kz_array *into,
	const kz_shape *shape, kz_error *err)
{
	struct kz_array *detour = NULL;
	if (!elementwise_needs_detour(plan->expr, into)) {
		plan->target = into;
		return elementwise_run_plan(plan, shape, err);
	}
	kz_status st = elementwise_run_new(&detour, plan, into->dtype, shape, err);
	if (!st) {
		struct expr copy;
		struct plan second = {.expr = &copy, .device = plan->device,
			.stream = plan->stream, .target = into,
			.compile_only = plan->compile_only};
		expr_init(&copy);
		st = expr_array(&copy, detour, err) < 0 ? KZ_INVALID
			: elementwise_run_plan(&second, shape, err);
		kz_array_release(detour);
	}
	return st;
}

kz_status elementwise_options(struct elementwise *how, kz_dtype *dtype,
	const kz_op_options *options, kz_error *err)
{
	*dtype = 0;
	if (!options) {
		return KZ_OK;
	}
	if (options->size != sizeof(*options)) {
		return struct_refuse("kz_op_options", options->size, sizeof(*options), err);
	}
	how->into = options->into;
	how->stream = options->stream;
	*dtype = options->dtype;
	if (*dtype && !dtype_size(*dtype)) {
		return error_set(err, KZ_INVALID, "%u is not a dtype", (unsigned)*dtype);
	}
	return KZ_OK;
}

kz_status elementwise_run(kz_array **out, struct expr *expr, const struct elementwise *how,
	kz_error *err)
{
	struct plan plan;
	const kz_shape *shape;
	kz_shape room;
	kz_status st;
	plan.expr = expr;
	plan.compile_only = how->compile_only;
	plan.done = how->done;
	if ((st = elementwise_pick_device(&plan, how, err))
	    || (st = elementwise_find_shape(&shape, &room, expr, how, err))) {
		return st;
	}
	kz_dtype dtype = how->into ? how->into->dtype : expr_dtype(expr);
	if (how->into && (st = elementwise_check_target(how->into, expr, how->unsafe, err))) {
		return st;
	}
	if (expr->nodes[expr->node_count - 1].weak
	    && expr_cast(expr, expr->node_count - 1, dtype, err) < 0) {
		return KZ_RANGE; /* all else was checked */
	}
	if (!how->into) {
		assert(out);
		return elementwise_run_new(out, &plan, dtype, shape, err);
	}
	if ((st = elementwise_run_plan_into(&plan, how->into, shape, err))) {
		return st;
	}
	if (out) {
		*out = kz_array_retain(how->into);
	}
	return KZ_OK;
}

kz_status elementwise_reserve(struct kz_array **made, struct elementwise *how, const char *name,
	const struct elementwise_result *result, kz_error *err)
{
	*made = NULL;
	if (how->into) {
		return elementwise_check_room(name, &result->shape, how->into, err);
	}
	kz_status st = array_create_on(made, array_device(result->like), result->dtype,
		&result->shape, how->stream, err);
	if (!st && shape_equal(&result->shape, &result->like->shape)) {
		elementwise_keep_order_of(*made, result->like);
	}
	how->into = *made;
	return st;
}

kz_status elementwise_contiguous(struct kz_array **out, struct kz_array *array, kz_dtype dtype,
	struct kz_stream *stream, kz_error *err)
{
	struct elementwise how = {.unsafe = true, .stream = stream};
	struct expr copy;
	kz_status st;
	if (array->dtype == dtype && array_is_contiguous(array)) {
		*out = kz_array_retain(array);
		return KZ_OK;
	}
	expr_init(&copy);
	if (expr_array(&copy, array, err) < 0) {
		return KZ_INVALID;
	}
	if ((st = array_create_on(&how.into, array_device(array), dtype, &array->shape, stream,
		err))) {
		return st;
	}
	assert(how.into);
	st = elementwise_run(NULL, &copy, &how, err);
	return array_finish(out, how.into, st);
}
