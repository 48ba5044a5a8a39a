/* SPDX-License-Identifier: MIT */
/*
 * The versions of the blocks of a kernel, and the code from the start of a warp into them.
 *
 * At W = 1 there is only the converged version.  At W = 32 there is a second one.  Mostly it is the
 * diverged version, which goes through the blocks in their order and runs, in each, the lanes that
 * are pending for it.  In some kernels it is the version of lane serialisation (emit_serial.c).  A
 * team of warps has a third version (emit_interleave.c).
 */
#include "base/common.h"

#include "cpu/codegen/control/emit_collect.h"
#include "cpu/codegen/control/emit_flow.h"
#include "cpu/codegen/emit_blocks.h"
#include "cpu/codegen/values/emit_count.h"
#include "cpu/codegen/emit_lines.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_debug.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_slots.h"
#include "cpu/codegen/values/emit_value.h"

/* Gathers and scatters in a block of LLVM. */
enum { MOST_LANE_ACCESSES = 32, MOST_INSTS = 1000 };

/*
 * LLVM compares each access to memory with all others in a block, and schedules each block as a
 * whole: for a thousand lines that gather and scatter that takes seconds.  After some of them begin
 * another block, by a branch that is never taken, but LLVM cannot know: no warp ends at that
 * thread.
 */
static void blocks_begin_anew(struct emit *e)
{
	LLVMBasicBlockRef next = emit_block(e, "next"), never = emit_block(e, "never");
	LLVMValueRef end = emit_field(e, e->warp, offsetof(struct rt_warp, end), e->s.i32);
	LLVMSetVolatile(end, true);
	LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntEQ, end, emit_scalar(e, 32, UINT32_MAX)),
		never, next);
	emit_enter(e, never);
	LLVMBuildRet(e->builder, emit_scalar(e, 32, RT_DONE));
	emit_enter(e, next);
	e->lane_accesses = 0;
	e->inst_count = 0;
}

/* The instructions of a block, in the version that is being made. */
static void blocks_make_body(struct emit *e, size_t index)
{
	const struct ptx_block *block = &e->func->blocks[index];
	e->block = index;
	e->body++;
	if (!emit_goes_on(e, index)) {
		e->lane_accesses = 0;
		e->inst_count = 0;
	}
	emit_count_block(e, index, e->strategy == &emit_interleaved ? e->team->count : 1);
	size_t made = 1;
	for (size_t i = block->first; i < block->end && !e->failed && emit_is_open(e); i += made) {
		const struct ptx_inst *inst = &e->func->insts[i];
		const bool is_long = e->inst_count >= MOST_INSTS;
		if ((e->lane_accesses >= MOST_LANE_ACCESSES || is_long) && !e->team) {
			blocks_begin_anew(e);
		}
		e->inst_count++;
		emit_lines_set(e, inst);
		if (e->strategy->inst) {
			made = e->strategy->inst(e, inst);
		} else if (!emit_if(e, inst)) {
			emit_inst(e, inst);
		}
	}
	if (emit_is_open(e)) {
		emit_goto(e, block->succ[0]);
	}
	emit_lines_set(e, NULL);
}

static void blocks_make_version(struct emit *e, const LLVMBasicBlockRef *blocks)
{
	for (size_t i = 0; i < e->order_count && !e->failed; i++) {
		if (!emit_goes_on(e, e->order[i])) {
			emit_enter(e, blocks[e->order[i]]);
		}
		blocks_make_body(e, e->order[i]);
	}
}

/* Take the lanes that are pending and may run; on with none of them, all of them, or some. */
static void blocks_enter_diverged(struct emit *e, size_t block)
{
	LLVMBasicBlockRef some = emit_block(e, "some");
	LLVMBasicBlockRef body = emit_block(e, "diverged");
	e->block = block;
	emit_enter(e, e->diverged[block]);
	LLVMValueRef place = emit_pending_place(e, block);
	LLVMValueRef pending = LLVMBuildLoad2(e->builder, e->s.i32, place, "");
	LLVMValueRef mask = ir_and(e, pending, e->ready);
	LLVMValueRef none = ir_icmp(e, LLVMIntEQ, mask, emit_u32(e, 0));
	LLVMBuildCondBr(e->builder, none, emit_next_diverged(e), some);

	emit_enter(e, some);
	LLVMBuildStore(e->builder, ir_xor(e, pending, mask), place);
	LLVMValueRef all = ir_icmp(e, LLVMIntEQ, mask, emit_all_lanes(e));
	/* results of a diverged warp are in the exchange */
	bool rejoins = e->entries[block] && !emit_has_results(e, block);
	LLVMBuildCondBr(e->builder, all, rejoins ? e->blocks[block] : body, body);

	emit_enter(e, body);
	e->mask = mask;
	e->mask_lanes = emit_lanes_of(e, mask);
}

static void blocks_make_diverged(struct emit *e)
{
	e->strategy = &emit_diverged;
	for (size_t i = 0; i < e->order_count && !e->failed; i++) {
		blocks_enter_diverged(e, e->order[i]);
		blocks_make_body(e, e->order[i]);
		e->mask = NULL;
		e->mask_lanes = NULL;
	}
	e->strategy = &emit_converged;

	emit_enter(e, e->sweep_end);
	if (!e->yields) { /* no thread waits: all lanes have exited */
		LLVMBuildBr(e->builder, e->done);
		emit_enter(e, e->leave);
		LLVMBuildUnreachable(e->builder);
		return;
	}
	LLVMBasicBlockRef back = emit_block(e, "back"), sweep = emit_block(e, "sweep");
	LLVMValueRef exited = emit_field(e, e->warp, offsetof(struct rt_warp, exited), e->s.i32);
	LLVMValueRef alive = emit_field(e, e->warp, offsetof(struct rt_warp, alive), e->s.i32);
	LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntEQ, exited, alive), e->done, back);

	/* a lane that may run still is in a loop that waits */
	emit_enter(e, back);
	LLVMValueRef spin = ir_and(e, e->ready, ir_not(e, exited));
	LLVMValueRef any = ir_icmp(e, LLVMIntNE, spin, emit_u32(e, 0));
	LLVMValueRef why = ir_select(e, any, emit_u32(e, RT_YIELD_SPIN),
		emit_u32(e, RT_YIELD_NONE));
	emit_set_field(e, e->warp, offsetof(struct rt_warp, yield), why);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, lanes), spin);
	LLVMBuildBr(e->builder, e->leave);

	emit_enter(e, e->leave);
	emit_move_regs(e, e->kept, true);
	LLVMBuildRet(e->builder, emit_u32(e, RT_SWEEP));
	LLVMAddCase(e->entry_end, emit_u32(e, RT_SWEEP), sweep);
	emit_enter(e, sweep);
	emit_move_regs(e, e->kept, false);
	LLVMBuildBr(e->builder, e->diverged[e->order[0]]);
}

/* One lane after the other (emit_serial.c). */
static void blocks_make_serial(struct emit *e)
{
	struct emit_serial *a = e->serial;
	LLVMValueRef *all = e->regs;
	e->regs = a->regs;
	e->strategy = &emit_serial;
	for (size_t i = 0; i < e->order_count && !e->failed; i++) {
		emit_enter(e, a->blocks[e->order[i]]);
		LLVMValueRef lane = LLVMBuildLoad2(e->builder, e->s.i32, a->lane, "");
		struct emit_mode mode = emit_set_mode(e, (struct emit_mode){lane, false});
		blocks_make_body(e, e->order[i]);
		emit_set_mode(e, mode);
	}
	e->strategy = &emit_before_serial;
	e->regs = all;
}

/* A warp that is not whole never converges; in blocks of rows all are.  The result is what clears
 * the pending lanes. */
static LLVMValueRef blocks_begin_warp(struct emit *e, LLVMBasicBlockRef start)
{
	const size_t pending = emit_pending_size(e);
	e->frame_size = e->frame_size > pending ? e->frame_size : pending;
	emit_make_phis(e, e->blocks);
	emit_enter(e, start);
	if (e->team) {
		emit_interleave_start(e);
	}
	LLVMValueRef clear = LLVMBuildMemSet(e->builder, e->frame, LLVMConstNull(e->s.i8),
		emit_scalar(e, 64, pending), 4);
	emit_clear_slots(e);
	if (e->uniformity.class == BLOCK_CLASS_ROWS || e->is_alone) {
		emit_fill_phis(e, 0, true);
		LLVMBuildBr(e->builder, e->blocks[0]);
		return clear;
	}
	LLVMBasicBlockRef partial = emit_block(e, "partial");
	LLVMValueRef alive = emit_field(e, e->warp, offsetof(struct rt_warp, alive), e->s.i32);
	LLVMValueRef whole = ir_icmp(e, LLVMIntEQ, alive, emit_all_lanes(e));
	emit_fill_phis(e, 0, true);
	LLVMBuildCondBr(e->builder, whole, e->blocks[0], partial);
	emit_enter(e, partial);
	if (e->serial) {
		emit_part_serial(e, alive, alive, 0, 0);
		return clear;
	}
	e->has_diverged = true;
	emit_add_pending(e, 0, alive);
	LLVMBuildBr(e->builder, e->diverged[0]);
	return clear;
}

void emit_blocks(struct emit *e)
{
	LLVMBasicBlockRef start = LLVMGetSwitchDefaultDest(e->entry_end);
	e->done = emit_block(e, "done");
	if (e->width == 1) {
		emit_enter(e, start);
		emit_debug_start(e);
		emit_clear_slots(e);
		emit_make_phis(e, e->blocks);
		emit_fill_phis(e, 0, true);
		LLVMBuildBr(e->builder, e->blocks[0]);
		blocks_make_version(e, e->blocks);
		emit_end_warps(e, NULL);
		return;
	}

	if (e->serial) {
		emit_serial_begin(e);
		LLVMValueRef clear = blocks_begin_warp(e, start);
		blocks_make_version(e, e->blocks);
		blocks_make_serial(e);
		emit_end_warps(e, clear);
		return;
	}
	e->sweep_end = emit_block(e, "sweep_end");
	e->leave = emit_block(e, "leave");
	LLVMValueRef clear = blocks_begin_warp(e, start);
	blocks_make_version(e, e->blocks);
	if (e->has_diverged || e->team) {
		blocks_make_diverged(e);
	} else { /* no lane ever goes there */
		for (size_t i = 0; i < e->order_count; i++) {
			LLVMDeleteBasicBlock(e->diverged[e->order[i]]);
		}
		LLVMDeleteBasicBlock(e->sweep_end);
		LLVMDeleteBasicBlock(e->leave);
	}
	if (e->team) { /* all warps together (emit_interleave.c) */
		emit_interleave_begin(e);
		e->strategy = &emit_interleaved;
		blocks_make_version(e, e->team->blocks);
		e->strategy = &emit_converged;
	}
	emit_end_warps(e, clear);
}
