/* SPDX-License-Identifier: MIT */
/*
 * If-conversion at W = 32 (if_convert.h): where lanes of a converged warp part at a small branch,
 * the warp goes through the blocks up to where they meet again under masks, and stays converged.
 *
 * A block runs for the lanes of all ways that lead into it.  If no lane comes to it, the warp skips
 * it: an instruction that a warp does once for all its lanes must not run for no lane.
 */
#include "base/common.h"

#include "cpu/codegen/control/emit_flow.h"
#include "cpu/codegen/emit_blocks.h"
#include "cpu/codegen/values/emit_count.h"
#include "cpu/codegen/emit_lines.h"
#include "cpu/codegen/values/emit_slots.h"
#include "cpu/codegen/values/emit_value.h"

struct if_ways {
	struct emit_way all[2 * (IF_CONVERT_BLOCKS + 1)];
	size_t count;
};

static void if_add_way(struct if_ways *ways, size_t from, size_t to, LLVMValueRef lanes)
{
	ways->all[ways->count++] = (struct emit_way){from, to, lanes};
}

/* The ways out of a block in which these lanes are. */
static void if_add_ways(struct emit *e, struct if_ways *ways, size_t index, LLVMValueRef lanes)
{
	const struct ptx_block *block = &e->func->blocks[index];
	const struct ptx_inst *last = &e->func->insts[block->end - 1];
	if (block->succ_count == 1) {
		if_add_way(ways, index, block->succ[0], lanes);
		return;
	}
	LLVMValueRef guard = emit_use_guard(e, last);
	guard = LLVMTypeOf(guard) == e->s.i1 ? emit_splat(e, guard) : guard;
	if_add_way(ways, index, (size_t)last->operands[0].value, ir_and(e, lanes, guard));
	if_add_way(ways, index, block->succ[0], ir_and(e, lanes, ir_not(e, guard)));
}

static LLVMValueRef if_lanes_into(struct emit *e, const struct if_ways *ways, size_t block)
{
	LLVMValueRef lanes = NULL;
	for (size_t i = 0; i < ways->count; i++) {
		if (ways->all[i].to == block) {
			lanes = lanes ? ir_or(e, lanes, ways->all[i].lanes) : ways->all[i].lanes;
		}
	}
	return lanes;
}

/* Lanes come to the blocks that the branch leads to itself. */
static bool if_may_be_empty(const struct emit *e, const struct if_region *region, size_t index)
{
	const struct ptx_block *from = &e->func->blocks[region->from];
	return from->succ[0] != index && from->succ[1] != index;
}

static void if_make_insts(struct emit *e, size_t index)
{
	const struct ptx_block *block = &e->func->blocks[index];
	emit_count_block(e, index, 1);
	for (size_t i = block->first; i < block->end && !e->failed; i++) {
		const struct ptx_inst *inst = &e->func->insts[i];
		if (inst->op != PTX_OP_BRA) {
			emit_lines_set(e, inst);
			emit_inst(e, inst);
		}
	}
}

static void if_make_block(struct emit *e, const struct if_region *region, struct if_ways *ways,
	size_t index)
{
	const size_t first = ways->count;
	const bool skips = if_may_be_empty(e, region, index);
	LLVMValueRef lanes = if_lanes_into(e, ways, index);
	LLVMValueRef bits = emit_lane_bits(e, lanes);
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), after = NULL;
	if (skips) {
		LLVMBasicBlockRef some = emit_block(e, "some");
		after = emit_block(e, "after");
		LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntNE, bits, emit_u32(e, 0)), some,
			after);
		emit_enter(e, some);
	}
	e->block = index;
	e->body++;
	e->mask_lanes = lanes;
	e->mask = bits;
	if_make_insts(e, index);
	if_add_ways(e, ways, index, lanes);
	e->mask_lanes = NULL;
	e->mask = NULL;
	if (skips) {
		emit_merge_skipped(e, index, before, after, &ways->all[first],
			ways->count - first);
	}
}

static void if_make_region(struct emit *e, const struct if_region *region, LLVMValueRef guard)
{
	const struct ptx_block *blocks = e->func->blocks;
	struct if_ways ways = {.count = 0};
	LLVMValueRef kept[IF_CONVERT_PHIS];
	size_t first[IF_CONVERT_BLOCKS], count = 0;
	if_add_way(&ways, region->from, (size_t)e->inst->operands[0].value, guard);
	if_add_way(&ways, region->from, blocks[region->from].succ[0], ir_not(e, guard));
	for (size_t i = 0; i < region->count; i++) {
		const size_t index = region->blocks[i];
		first[i] = count;
		count += blocks[index].phi_count;
		emit_take_phis(e, index, ways.all, ways.count, &kept[first[i]]);
		if_make_block(e, region, &ways, index);
	}
	e->block = region->from;
	emit_select_phis(e, region->join, ways.all, ways.count);
	for (size_t i = 0; i < region->count; i++) {
		emit_give_phis(e, region->blocks[i], &kept[first[i]]);
	}
}

bool emit_if(struct emit *e, const struct ptx_inst *inst)
{
	struct if_region region;
	bool may_part = inst->op == PTX_OP_BRA && inst->has_guard && !emit_is_same(e, inst->guard);
	if (!may_part || !emit_may_part(e) || e->strategy != &emit_converged
	    || !emit_converts_if(e, e->block, &region)) {
		return false;
	}
	LLVMValueRef guard = emit_use_guard(e, inst);
	e->inst = inst;
	emit_branch_alike(e, guard, (size_t)inst->operands[0].value,
		e->func->blocks[e->block].succ[0]);
	if_make_region(e, &region, guard);
	LLVMBuildBr(e->builder, e->blocks[region.join]);
	return true;
}
