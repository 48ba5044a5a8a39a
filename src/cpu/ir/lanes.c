/* SPDX-License-Identifier: MIT */
/*
 * How many lanes of a warp run together.
 *
 * Usually a warp runs as one vector of 32 lanes.  A kernel whose threads exchange nothing within a
 * warp can run 16 or 8 lanes at a time instead.  The scheduler then takes the parts of a warp for
 * warps, which only meet at barriers of the whole block.
 *
 * A block of at most 16 threads would leave half of the lanes empty, and a warp that is not whole
 * never converges.  With fewer lanes it is whole, and its code is half as long or less.
 *
 * The halves of a warp may do different work: `if (tid.x < 16)`.  Together they would do both, one
 * after the other.  So a kernel that mostly consists of such work runs 16 lanes at a time.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/ir/block_class.h"
#include "cpu/ir/if_convert.h"
#include "cpu/ir/lanes.h"
#include "cpu/ir/uniformity.h"
#include "cpu/ir/yield.h"

/* What a thread does by itself, or with all threads of its block. */
static bool lanes_are_apart_at(const struct ptx_inst *inst)
{
	return ptx_computes(inst->op) || ptx_rows[inst->op].kind == PTX_KIND_OTHER
		|| ptx_is_for_all(inst);
}

static bool lanes_are_apart(const struct ptx_func *func)
{
	bool apart = !func->uses_stack;
	for (size_t i = 0; i < func->inst_count && apart; i++) {
		apart = lanes_are_apart_at(&func->insts[i]);
	}
	return apart;
}

/* --- Halves that part --- */

/* Whether a comparison may be one that tells the halves of a warp apart. */
static bool lanes_compares_by_half(const struct ptx_inst *inst)
{
	const struct ptx_operand *to = &inst->operands[2];
	return inst->op == PTX_OP_SETP && to->kind == PTX_INT
		&& (to->value % WARP_LANES == WARP_LANES / 2
			|| to->value % WARP_LANES == WARP_LANES / 2 - 1);
}

/* A volatile access may mean that the threads of a warp run in step, in programs of before 2017. */
static bool lanes_may_part_by_half(const struct ptx_func *func)
{
	bool compares = false, is_in_step = false;
	for (size_t i = 0; i < func->inst_count; i++) {
		compares |= lanes_compares_by_half(&func->insts[i]);
		is_in_step |= ptx_is_strong(&func->insts[i]);
	}
	return compares && !is_in_step;
}

/* How many instructions lie between a branch and where its ways meet. */
static size_t lanes_count_between(const struct ptx_func *func, size_t branch)
{
	const struct ptx_block *from = &func->blocks[branch];
	size_t join = from->ipdom == SIZE_MAX ? SIZE_MAX : func->blocks[from->ipdom].rpo;
	size_t count = 0;
	for (size_t i = 0; i < func->block_count; i++) {
		const struct ptx_block *block = &func->blocks[i];
		bool between = block->rpo > from->rpo && block->rpo < join;
		count += between ? block->end - block->first : 0;
	}
	return count;
}

/* How many lie where so many lanes have parted, but for small branches, which become masks.
 * SIZE_MAX: no memory. */
static size_t lanes_count_parted(const struct ptx_func *func, unsigned class, unsigned lanes)
{
	struct uniformity_info info = {.func = NULL};
	bool *yield_points = mem_zalloc(func->block_count, sizeof(*yield_points));
	bool ok = yield_points && yield_find_points(func, yield_points)
		&& uniformity_analyze(&info, func, block_class_base(class), lanes, yield_points);
	size_t count = 0;
	for (size_t i = 0; i < func->block_count && ok; i++) {
		const struct ptx_block *block = &func->blocks[i];
		const struct ptx_inst *last = &func->insts[block->end - 1];
		bool parts = block->rpo != SIZE_MAX && last->op == PTX_OP_BRA && last->has_guard
			&& info.regs[last->guard].is_vector && !if_convert_suits(func, i);
		count += parts ? lanes_count_between(func, i) : 0;
	}
	uniformity_free(&info);
	mem_free(yield_points);
	return ok ? count : SIZE_MAX;
}

/* Whether half of the kernel is where the halves of a warp have parted. */
static bool lanes_part_by_half(const struct ptx_func *func, unsigned class)
{
	const size_t all = lanes_count_parted(func, class, WARP_LANES);
	const size_t half = lanes_count_parted(func, class, WARP_LANES / 2);
	return all != SIZE_MAX && half < all && 2 * (all - half) >= func->inst_count;
}

unsigned lanes_for(const struct ptx_func *func, unsigned class, unsigned wanted)
{
	const unsigned lanes = wanted > 0 ? wanted : block_class_lanes(class);
	if (wanted == WARP_LANES || !lanes_are_apart(func)) {
		return WARP_LANES;
	}
	bool part = wanted == 0 && lanes == WARP_LANES && block_class_team(class) == 0
		&& lanes_may_part_by_half(func) && lanes_part_by_half(func, class);
	return part ? WARP_LANES / 2 : lanes;
}
