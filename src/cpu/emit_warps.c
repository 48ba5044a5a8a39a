/* SPDX-License-Identifier: MIT */

/*
 * All warps of a block in one call.
 *
 * A kernel that never yields is done with a warp when it comes to its end, and needs nothing of it:
 * so it goes on with the next one by itself, in the same frame, which is as it was at the start, as
 * no lanes are pending.  The parameters, which never change, are loaded before the first of them.
 */
#include "../base/common.h"

#include "emit.h"

/* More than these stay where they are: a kernel may read few of very many. */
enum { MOST_PARAMS = 64 };

static void move_up(struct emit *e, LLVMValueRef inst)
{
	LLVMInstructionRemoveFromParent(inst);
	LLVMPositionBuilderBefore(e->builder, e->call_end);
	LLVMInsertIntoBuilder(e->builder, inst);
}

static bool is_cast(LLVMValueRef value)
{
	return LLVMIsABitCastInst(value) != NULL;
}

/* A parameter at a constant offset, or at the start: its address in instructions of the same block.
 * False: it is something else. */
static bool move_address(struct emit *e, LLVMValueRef address)
{
	if (address == e->params) {
		return true;
	}
	if (is_cast(address)) {
		if (!move_address(e, LLVMGetOperand(address, 0))) {
			return false;
		}
	} else if (!LLVMIsAGetElementPtrInst(address) || LLVMGetOperand(address, 0) != e->params
		|| LLVMGetNumOperands(address) != 2 || !LLVMIsConstant(LLVMGetOperand(address, 1))) {
		return false;
	}
	if (LLVMGetInstructionParent(address) != LLVMGetInstructionParent(e->call_end)) {
		move_up(e, address);
	}
	return true;
}

static void move_params(struct emit *e)
{
	LLVMBasicBlockRef entry = LLVMGetInstructionParent(e->call_end);
	LLVMBasicBlockRef block = LLVMGetNextBasicBlock(entry);
	unsigned left = MOST_PARAMS;
	for (; block; block = LLVMGetNextBasicBlock(block)) {
		LLVMValueRef next;
		for (LLVMValueRef inst = LLVMGetFirstInstruction(block); inst && left > 0; inst = next) {
			next = LLVMGetNextInstruction(inst);
			if (LLVMIsALoadInst(inst) && move_address(e, LLVMGetOperand(inst, 0))) {
				move_up(e, inst);
				left--;
			}
		}
	}
}

/* On to the next warp if there is one. */
static void go_on(struct emit *e)
{
	LLVMBasicBlockRef more = emit_block(e, "more");
	LLVMBasicBlockRef last = emit_block(e, "last");
	LLVMValueRef first = emit_field(e, e->warp, offsetof(struct rt_warp, first), e->s.i32);
	LLVMValueRef end = emit_field(e, e->warp, offsetof(struct rt_warp, end), e->s.i32);
	LLVMValueRef next = ir_add(e, first, emit_scalar(e, 32, e->width));
	LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntULT, next, end), more, last);

	emit_enter(e, more);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, first), next);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, lane), emit_scalar(e, 32, RT_GROUP));
	emit_set_field(e, e->warp, offsetof(struct rt_warp, step), emit_scalar(e, 32, 0));
	LLVMBuildBr(e->builder, LLVMGetInstructionParent(e->entry_end));
	emit_enter(e, last);
}

void emit_end_warps(struct emit *e, LLVMValueRef clear)
{
	emit_enter(e, e->done);
	if (e->width > 1 && !e->yields) {
		go_on(e);
	}
	LLVMBuildRet(e->builder, emit_scalar(e, 32, RT_DONE));
	if (e->width > 1 && !e->yields) {
		move_up(e, clear);
		move_params(e);
	}
}
