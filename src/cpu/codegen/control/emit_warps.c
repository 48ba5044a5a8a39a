/* SPDX-License-Identifier: MIT */
/*
 * Loops over the warps of a block, and over blocks of the grid, in one call.
 *
 * A kernel that never yields has finished a warp when it comes to its end, and needs nothing of it.
 * So it goes on with the next warp by itself.  The frame is as it was at the start, for no lanes
 * are pending.  Parameters, which never change, are loaded before the loop.  The number of the warp
 * is stored in struct rt_warp for messages, but never read from there.
 */
#include "base/common.h"

#include "cpu/codegen/control/emit_flow.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_value.h"

/* More than these stay where they are: a kernel may read few of very many. */
enum { MOST_PARAMS = 64 };

static void warps_move_up(struct emit *e, LLVMValueRef inst)
{
	LLVMInstructionRemoveFromParent(inst);
	LLVMPositionBuilderBefore(e->builder, e->call_end);
	LLVMInsertIntoBuilder(e->builder, inst);
}

static bool warps_is_cast(LLVMValueRef value)
{
	return LLVMIsABitCastInst(value);
}

/* A parameter at a constant offset, or at the start: its address in instructions of the same block.
 * False: it is something else. */
static bool warps_move_address(struct emit *e, LLVMValueRef address)
{
	if (address == e->params) {
		return true;
	}
	if (warps_is_cast(address)) {
		if (!warps_move_address(e, LLVMGetOperand(address, 0))) {
			return false;
		}
	} else if (!LLVMIsAGetElementPtrInst(address) || LLVMGetOperand(address, 0) != e->params
		|| LLVMGetNumOperands(address) != 2
		|| !LLVMIsConstant(LLVMGetOperand(address, 1))) {
		return false;
	}
	if (LLVMGetInstructionParent(address) != LLVMGetInstructionParent(e->call_end)) {
		warps_move_up(e, address);
	}
	return true;
}

static void warps_move_params(struct emit *e)
{
	LLVMBasicBlockRef entry = LLVMGetInstructionParent(e->call_end);
	LLVMBasicBlockRef block = LLVMGetNextBasicBlock(entry);
	unsigned left = MOST_PARAMS;
	for (; block; block = LLVMGetNextBasicBlock(block)) {
		LLVMValueRef next;
		for (LLVMValueRef inst = LLVMGetFirstInstruction(block); inst && left > 0;
			inst = next) {
			next = LLVMGetNextInstruction(inst);
			if (LLVMIsALoadInst(inst)
			    && warps_move_address(e, LLVMGetOperand(inst, 0))) {
				warps_move_up(e, inst);
				left--;
			}
		}
	}
}

static LLVMValueRef warps_entry_field(struct emit *e, size_t offset)
{
	LLVMBasicBlockRef back = emit_call_visit(e);
	LLVMValueRef value = emit_field(e, e->warp, offset, e->s.i32);
	emit_entry_leave(e, back);
	return value;
}

/* A warp that has made no access so far. */
static void warps_begin_warp(struct emit *e, LLVMValueRef first)
{
	LLVMBuildStore(e->builder, first, e->first);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, first), first);
	emit_note_lane(e, emit_scalar(e, 64, RT_GROUP));
}

void emit_end_warps(struct emit *e, LLVMValueRef clear)
{
	emit_enter(e, e->done);
	if (e->width == 1 || e->yields) {
		LLVMBuildRet(e->builder, emit_scalar(e, 32, RT_DONE));
		return;
	}

	/* on to the next warp if there is one */
	LLVMBasicBlockRef more = emit_block(e, "more"), last = emit_block(e, "last");
	LLVMValueRef end = warps_entry_field(e, offsetof(struct rt_warp, end));
	LLVMValueRef first = LLVMBuildLoad2(e->builder, e->s.i32, e->first, "");
	LLVMValueRef next = ir_add(e, first, emit_scalar(e, 32, e->width));
	LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntULT, next, end), more, last);
	emit_enter(e, more);
	warps_begin_warp(e, next);
	LLVMBuildBr(e->builder, LLVMGetInstructionParent(e->entry_end));

	/* and on to the next block */
	emit_enter(e, last);
	more = emit_block(e, "more_blocks");
	last = emit_block(e, "last_block");
	end = warps_entry_field(e, offsetof(struct rt_warp, end_block));
	LLVMValueRef block = emit_field(e, e->warp, offsetof(struct rt_warp, ctaid), e->s.i32);
	next = ir_add(e, block, emit_scalar(e, 32, 1));
	LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntULT, next, end), more, last);
	emit_enter(e, more);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, ctaid), next);
	warps_begin_warp(e, emit_scalar(e, 32, 0));
	LLVMBuildBr(e->builder, LLVMGetInstructionParent(e->block_end));

	emit_enter(e, last);
	LLVMBuildRet(e->builder, emit_scalar(e, 32, RT_DONE));
	warps_move_up(e, clear);
	warps_move_params(e);
}
