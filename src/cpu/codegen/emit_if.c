/* SPDX-License-Identifier: MIT */
/*
 * If-conversion at W = 32 (if_convert.h): where lanes of a converged warp part at a small branch,
 * the warp does both sides under masks and stays converged.
 */
#include "base/common.h"

#include "cpu/codegen/control/emit_flow.h"
#include "cpu/codegen/emit_blocks.h"
#include "cpu/codegen/values/emit_count.h"
#include "cpu/codegen/emit_lines.h"
#include "cpu/codegen/values/emit_slots.h"
#include "cpu/codegen/values/emit_value.h"

static void if_make_side(struct emit *e, size_t side, LLVMValueRef lanes)
{
	const struct ptx_block *block = &e->func->blocks[side];
	e->block = side;
	e->body++;
	e->mask_lanes = lanes;
	e->mask = emit_lane_bits(e, lanes);
	emit_count_block(e, side, 1);
	for (size_t i = block->first; i < block->end && !e->failed; i++) {
		const struct ptx_inst *inst = &e->func->insts[i];
		if (inst->op != PTX_OP_BRA) {
			emit_lines_set(e, inst);
			emit_inst(e, inst);
		}
	}
	e->mask_lanes = NULL;
	e->mask = NULL;
}

static bool is_small_if(const struct emit *e, const struct ptx_inst *inst)
{
	bool may_part = inst->op == PTX_OP_BRA && inst->has_guard && !emit_is_same(e, inst->guard);
	return may_part && emit_may_part(e) && e->strategy == &emit_converged
		&& emit_converts_if(e, e->block);
}

bool emit_if(struct emit *e, const struct ptx_inst *inst)
{
	size_t from = e->block;
	if (!is_small_if(e, inst)) {
		return false;
	}
	const struct ptx_block *block = &e->func->blocks[from];
	size_t yes = (size_t)inst->operands[0].value, no = block->succ[0], join = block->ipdom;
	LLVMValueRef guard = emit_use_guard(e, inst);
	e->inst = inst;
	emit_branch_alike(e, guard, yes, no);
	if (yes != join) {
		if_make_side(e, yes, guard);
	}
	if (no != join) {
		if_make_side(e, no, ir_not(e, guard));
	}
	e->block = from;
	emit_select_phis(e, join, guard, yes != join ? yes : from, no != join ? no : from);
	LLVMBuildBr(e->builder, e->blocks[join]);
	return true;
}
