/* SPDX-License-Identifier: MIT */
/*
 * How the arrays of an expression lie, and the launch of its kernel.
 *
 * Axes are put in the order of the target's memory, and merged where that leaves the same elements.
 * So most expressions become flat, whatever their shapes are.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/ops/kernels.h"
#include "lib/ops/plan.h"
#include "lib/array/shape.h"

#include <string.h>

enum { BLOCK = 256, WARP = 32, MOST_Y = 1 << 15, MOST_BYTES = 16, MOST_LONG = 4 };

/* The work of a block that walks.  It is so much that starting a block costs nothing beside
 * it, and so little that cores that come late get their share.  Simple operations take as long as
 * their widest operand in bytes, branchy ones longer.  Between these limits each core gets one
 * block. */
enum {
	BLOCK_BYTES_MIN = 1 << 15,
	BLOCK_BYTES_MAX = 1 << 17,
	BRANCHY_MIN = 1 << 11,
	BRANCHY_MAX = 1 << 12
};

/* Layout */

/* generate_alignment, of the built-in types without a call. */
static uint64_t plan_alignment(kz_dtype dtype)
{
	return (uint64_t)(dtype_is_struct(dtype) ? generate_alignment(dtype) : dtype_size(dtype));
}

/* The usual case, which needs no ordering: all arrays have the shape of the result, and are
 * row-major without gaps. */
static bool plan_is_flat(struct plan *plan, const kz_shape *shape)
{
	for (int k = 0; k < plan->count; k++) {
		const struct kz_array *array = plan_operand(plan, k);
		plan->address[k] = array_address(array);
		if (!shape_equal(&array->shape, shape) || !array_is_contiguous(array)
		    || plan->address[k] & (plan_alignment(array->dtype) - 1)) {
			return false;
		}
	}
	return true;
}

static kz_status plan_find_strides(struct plan *plan, const kz_shape *shape, kz_error *err)
{
	plan->ndim = (int)shape->ndim;
	memcpy(plan->dims, shape->dims, (size_t)plan->ndim * sizeof(plan->dims[0]));
	for (int k = 0; k < plan->count; k++) {
		const struct kz_array *array = plan_operand(plan, k);
		int64_t missing = shape->ndim - array->shape.ndim;
		uint64_t bits = array_address(array);
		for (int64_t i = 0; i < shape->ndim; i++) {
			bool moves = i >= missing && array->shape.dims[i - missing] != 1;
			plan->strides[k][i] = moves ? array->strides[i - missing] : 0;
			bits |= (uint64_t)plan->strides[k][i];
		}
		plan->address[k] = array_address(array);
		if (bits & (plan_alignment(array->dtype) - 1)) {
			return error_set(err, KZ_INVALID, "%s: the elements of a view of %s do not "
				"lie at multiples of %lld bytes", expr_name(plan->expr),
				dtype_refused(array->dtype),
				(long long)generate_alignment(array->dtype));
		}
	}
	return KZ_OK;
}

static void plan_swap_axes(struct plan *plan, int i, int j)
{
	int64_t extent = plan->dims[i];
	plan->dims[i] = plan->dims[j];
	plan->dims[j] = extent;
	for (int k = 0; k < plan->count; k++) {
		int64_t stride = plan->strides[k][i];
		plan->strides[k][i] = plan->strides[k][j];
		plan->strides[k][j] = stride;
	}
}

/* Let the target's strides be positive and fall. */
static void plan_follow_target(struct plan *plan)
{
	for (int i = 0; i < plan->ndim; i++) {
		for (int k = 0; plan->strides[0][i] < 0 && k < plan->count; k++) {
			int other = plan->count - 1 - k; /* the target, which is asked, last */
			plan->address[other] += (CUdeviceptr)(plan->strides[other][i]
				* (plan->dims[i] - 1));
			plan->strides[other][i] = -plan->strides[other][i];
		}
		for (int j = i; j > 0 && plan->strides[0][j - 1] < plan->strides[0][j]; j--) {
			plan_swap_axes(plan, j - 1, j);
		}
	}
}

/* Whether all operands of a flat expression have `pack` elements at multiples of their size from
 * the same element on. */
static bool plan_packs_meet(const struct plan *plan, unsigned pack)
{
	CUdeviceptr apart = 0, first = 0;
	for (int k = 0; k < plan->count; k++) {
		const int64_t size = dtype_size(plan_operand(plan, k)->dtype);
		const CUdeviceptr at = plan->address[k] >> __builtin_ctzll((uint64_t)size);
		first = k ? first : at;
		apart |= k && plan->layout.constant >> (k - 1) & 1 ? 0 : at ^ first;
	}
	return (apart & (pack - 1)) == 0;
}

/* The pack of a thread of a GPU, 16 bytes of the widest elements: at once where some have less than
 * 4 bytes, or 4 bytes of the smallest at once; else one by one.  Constants are read once. */
static void plan_choose_pack(struct plan *plan)
{
	struct layout *layout = &plan->layout;
	unsigned smallest = 4, widest = 1;
	bool packs = !layout->ndim;
	for (int k = 0; k < plan->count; k++) {
		unsigned size = (unsigned)dtype_size(plan_operand(plan, k)->dtype);
		if (!k || !(layout->constant >> (k - 1) & 1)) {
			smallest = size < smallest ? size : smallest;
			widest = size > widest ? size : widest;
			packs = packs && (size & (size - 1)) == 0; /* alignments are powers of
			                                              two */
		}
	}
	unsigned most = widest < MOST_BYTES ? MOST_BYTES / widest : 1;
	if (most > MOST_LONG && (layout->ndim || !expr_is_short(plan->expr))) {
		most = MOST_LONG;
	}
	unsigned pack = packs && smallest < 4 ? most : 1;
	if (pack > 1 && !plan_packs_meet(plan, pack)) {
		pack = 4 / smallest < most ? 4 / smallest : most;
		pack = plan_packs_meet(plan, pack) ? pack : 1;
	}
	layout->pack = (uint16_t)pack;
	layout->turns = (uint16_t)(most / pack);
}

/* Classify the operands along the last axis that is left. */
static void plan_classify_axes(struct plan *plan)
{
	struct layout *layout = &plan->layout;
	int last = plan->ndim - 1;
	bool unit = true;
	for (int k = 0; last >= 0 && k < plan->count; k++) {
		int64_t stride = plan->strides[k][last];
		const int64_t size = dtype_size(plan_operand(plan, k)->dtype);
		layout->constant |= k && stride == 0 ? 1u << (k - 1) : 0;
		layout->backward |= k && stride == -size ? 1u << (k - 1) : 0;
		unit = unit && ((k && stride == 0) || stride == size || (k && stride == -size));
	}
	layout->backward = unit ? layout->backward : 0;
	const bool flat = last <= 0 && unit && !layout->backward;
	layout->ndim = flat ? 0 : (uint8_t)(last + 1);
	layout->unit = !flat && unit;
}

const struct kernel_family elementwise_family = {
	"elementwise", generate_elementwise, {[SCHEDULE_MANY] = {BLOCK}, [SCHEDULE_ONE] = {1}},
};

static void plan_classify_device(struct plan *plan)
{
	struct layout *layout = &plan->layout;
	layout->wide = plan->target->count > INT32_MAX;
	if (!kernels_walk(&elementwise_family, plan->device)) {
		plan_choose_pack(plan);
		return;
	}
	layout->wide = true;
	layout->walk = expr_is_branchy(plan->expr) ? WARP : 1;
	for (int k = 1; k < plan->count; k++) {
		bool same = plan->address[k] == plan->address[0]
			&& plan_operand(plan, k)->dtype == plan->target->dtype;
		layout->target |= same ? 1u << (k - 1) : 0;
	}
}

kz_status plan_layout(struct plan *plan, const kz_shape *shape, kz_error *err)
{
	plan->count = 1 + plan->expr->array_count;
	plan->layout = (struct layout){0};
	if (!plan_is_flat(plan, shape)) {
		kz_status st = plan_find_strides(plan, shape, err);
		if (st) {
			return st;
		}
		plan_follow_target(plan);
		const struct strided_axes axes = {plan->dims, plan->strides, plan->count, NULL};
		plan->ndim = strided_merge(&axes, plan->ndim);
		plan_classify_axes(plan);
	}
	plan_classify_device(plan);
	return KZ_OK;
}

/* Launch */

/* Fill in struct kz_extents of the kernel; generate.h has the order. */
struct extents {
	int64_t words[2 + KZ_MAX_DIMS + PLAN_OPERANDS * KZ_MAX_DIMS];
};

static void plan_fill_extents(struct extents *extents, const struct plan *plan)
{
	int ndim = plan->ndim;
	int64_t inner = plan->dims[ndim - 1];
	int64_t *at = extents->words;
	if (plan->layout.wide) {
		at[0] = inner;
		at[1] = plan->target->count / inner;
		memcpy(at + 2, plan->dims, (size_t)ndim * sizeof(*at));
		at += 2 + ndim;
	} else {
		int32_t *narrow = (int32_t *)at;
		narrow[0] = (int32_t)inner;
		narrow[1] = (int32_t)(plan->target->count / inner);
		for (int i = 0; i < ndim; i++) {
			narrow[2 + i] = (int32_t)plan->dims[i];
		}
		at += (2 + ndim + 1) / 2;
	}
	for (int k = 0; k < plan->count; k++, at += ndim) {
		memcpy(at, plan->strides[k], (size_t)ndim * sizeof(*at));
	}
}

/* Elements of a block that walks. */
static int64_t plan_walk_chunk(const struct plan *plan)
{
	int64_t share = divide_up(plan->target->count, plan->device->info.multiprocessors);
	int64_t widest = dtype_size(plan->dtype);
	for (int i = 0; i < plan->expr->array_count; i++) {
		int64_t size = dtype_size(plan->expr->arrays[i]->dtype);
		widest = size > widest ? size : widest;
	}
	bool branchy = plan->layout.walk != 1;
	int64_t least = branchy ? BRANCHY_MIN : divide_up(BLOCK_BYTES_MIN, widest);
	int64_t most = branchy ? BRANCHY_MAX : divide_up(BLOCK_BYTES_MAX, widest);
	return share >= most ? most : share > least ? share : least;
}

static void plan_choose_grid(struct kernels_run *run, const struct plan *plan)
{
	int64_t count = plan->target->count;
	const struct layout *layout = &plan->layout;
	if (layout->walk) {
		run->block.x = layout->walk;
		run->grid.x = divide_up(count, plan_walk_chunk(plan));
	} else if (!layout->ndim) {
		run->block.x = BLOCK;
		run->grid.x = divide_up(count, BLOCK * layout->pack * layout->turns);
	} else {
		int64_t inner = plan->dims[plan->ndim - 1];
		while (run->block.x < BLOCK && run->block.x * layout->turns < inner) {
			run->block.x *= 2;
		}
		run->block.y = BLOCK / run->block.x;
		run->grid.x = divide_up(inner, run->block.x * layout->turns);
		run->grid.y = min64(divide_up(count / inner, run->block.y), MOST_Y);
	}
}

kz_status plan_launch(const struct plan *plan, struct kz_kernel *kernel, kz_error *err)
{
	struct extents extents;
	int64_t count = plan->target->count;
	void *params[PLAN_OPERANDS + 1 + EXPR_SCALARS];
	struct memory *used[PLAN_OPERANDS];
	int n = 0;
	for (int k = 0; k < plan->count; k++) {
		params[n++] = (void *)&plan->address[k];
		used[k] = plan_operand(plan, k)->buffer->memory;
	}
	if (plan->layout.ndim) {
		plan_fill_extents(&extents, plan);
	}
	params[n++] = plan->layout.ndim ? (void *)&extents : &count;
	for (int i = 0; i < plan->expr->scalar_count; i++) {
		params[n++] = &plan->expr->scalars[i];
	}
	struct kernels_run run = {
		.kernel = kernel, .stream = plan->stream, .grid = kz_dim(1, 1, 1),
		.block = kz_dim(1, 1, 1), .params = params, .used = used,
		.used_count = plan->count,
	};
	plan_choose_grid(&run, plan);
	return kernels_run(&run, err);
}
