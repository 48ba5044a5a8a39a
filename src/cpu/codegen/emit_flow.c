/* SPDX-License-Identifier: MIT */
/*
 * The ends of blocks: branches, exits, traps, and the yields that make a kernel a coroutine.
 *
 * To yield, a kernel stores its live registers to the frame, notes the reason in the warp, and
 * returns a number.  When it is resumed with that number it loads the registers and goes on.
 * Converged code returns the number of the next block plus one, and stores the registers that are
 * live into that block.  Diverged code has lanes in many blocks, so it stores the registers that
 * are live into any block, and returns RT_SWEEP.  The frame begins with the lanes that are pending
 * for each block.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/codegen/emit_flow.h"
#include "cpu/codegen/emit_inst.h"
#include "cpu/codegen/emit_lanes.h"
#include "cpu/codegen/emit_memory.h"
#include "cpu/codegen/emit_value.h"

/* --- Yields --- */

static void note_yield(struct emit *e, enum rt_yield why)
{
	emit_set_field(e, e->warp, offsetof(struct rt_warp, yield), emit_u32(e, why));
	emit_set_field(e, e->warp, offsetof(struct rt_warp, line),
		emit_u32(e, (uint64_t)e->inst->line));
}

/* Where a converged warp goes on that yielded in front of a block. */
static void make_resume(struct emit *e, size_t block)
{
	if (e->resumes[block]) {
		return;
	}
	LLVMBasicBlockRef back = LLVMGetInsertBlock(e->builder);
	e->resumes[block] = emit_block(e, "resume");
	LLVMAddCase(e->entry_end, emit_u32(e, block + 1), e->resumes[block]);
	emit_enter(e, e->resumes[block]);
	emit_move_regs(e, e->func->blocks[block].live_in, false);
	LLVMBuildBr(e->builder, e->blocks[block]);
	emit_enter(e, back);
}

/* Leave a converged version. */
void emit_yield_before(struct emit *e, enum rt_yield why, size_t block)
{
	e->yields = true;
	make_resume(e, block);
	note_yield(e, why);
	emit_move_regs(e, e->func->blocks[block].live_in, true);
	LLVMBuildRet(e->builder, emit_u32(e, block + 1));
}

void emit_add_pending(struct emit *e, size_t block, LLVMValueRef lanes)
{
	LLVMValueRef place = emit_pending_place(e, block);
	LLVMValueRef old = LLVMBuildLoad2(e->builder, e->s.i32, place, "");
	LLVMBuildStore(e->builder, ir_or(e, old, lanes), place);
}

/* Leave for the scheduler because of the lanes that run, which go on in `block`. */
void emit_park(struct emit *e, enum rt_yield why, size_t block)
{
	e->yields = true;
	e->has_diverged = true;
	emit_add_pending(e, block, emit_active(e));
	note_yield(e, why);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, lanes), emit_active(e));
	LLVMBuildBr(e->builder, e->leave);
}

/* --- Branches --- */

static size_t rpo_of(const struct emit *e, size_t block)
{
	return e->func->blocks[block].rpo;
}

static bool is_back_edge(const struct emit *e, size_t to)
{
	return rpo_of(e, to) <= rpo_of(e, e->block);
}

LLVMBasicBlockRef emit_next_diverged(const struct emit *e)
{
	size_t next = rpo_of(e, e->block) + 1;
	return next < e->order_count ? e->diverged[e->order[next]] : e->sweep_end;
}

/* Go on behind a diverged block.  `lanes` of it have gone back to `block`, unless that is SIZE_MAX:
 * if there are any they run first, for a loop has to end.  Lanes that spin run when the others have
 * moved. */
static void sweep_on(struct emit *e, size_t block, LLVMValueRef lanes)
{
	if (block == SIZE_MAX) {
		LLVMBuildBr(e->builder, emit_next_diverged(e));
		return;
	}
	LLVMValueRef any = ir_icmp(e, LLVMIntNE, lanes, emit_u32(e, 0));
	LLVMBuildCondBr(e->builder, any, e->diverged[block], emit_next_diverged(e));
}

/* Diverged lanes go to a block; for the message about those that spin without end. */
static void note_spin(struct emit *e, size_t block)
{
	if (emit_is_diverged(e) && is_back_edge(e, block) && e->yield_points[block]) {
		emit_set_field(e, e->warp, offsetof(struct rt_warp, line),
			emit_u32(e, (uint64_t)e->inst->line));
	}
}

static void go_diverged(struct emit *e, size_t block)
{
	note_spin(e, block);
	emit_add_pending(e, block, emit_active(e));
	bool back = is_back_edge(e, block) && !e->yield_points[block];
	sweep_on(e, back ? block : SIZE_MAX, emit_active(e));
}

void emit_go_converged(struct emit *e, size_t block)
{
	if (is_back_edge(e, block) && e->yield_points[block]) {
		emit_yield_before(e, RT_YIELD_SPIN, block);
	} else {
		emit_fill_phis(e, block, false);
		LLVMBuildBr(e->builder, e->blocks[block]);
	}
}

void emit_goto(struct emit *e, size_t block)
{
	e->strategy->go(e, block);
}

/* Where lanes part: how many targets, and which lanes go to each. */
struct parting {
	size_t first;       /* the target that comes first in the sweep */
	size_t back;        /* the first one that is behind us; SIZE_MAX: none */
	LLVMValueRef lanes; /* that go back */
};

static void flow_part(struct emit *e, struct parting *p, size_t block, LLVMValueRef lanes)
{
	emit_add_pending(e, block, lanes);
	note_spin(e, block);
	if (p->first == SIZE_MAX || rpo_of(e, block) < rpo_of(e, p->first)) {
		p->first = block;
	}
	if (emit_is_diverged(e) && is_back_edge(e, block) && !e->yield_points[block]) {
		p->lanes = p->lanes ? ir_or(e, p->lanes, lanes) : lanes;
		if (p->back == SIZE_MAX || rpo_of(e, block) < rpo_of(e, p->back)) {
			p->back = block;
		}
	}
}

static void end_parting(struct emit *e, const struct parting *p)
{
	if (emit_is_diverged(e)) {
		sweep_on(e, p->back, p->lanes);
	} else {
		LLVMBuildBr(e->builder, e->diverged[p->first]);
	}
}

/* All lanes that run branch alike. */
static void branch_one(struct emit *e, LLVMValueRef condition, size_t yes, size_t no)
{
	LLVMBasicBlockRef then = emit_block(e, "then");
	LLVMBasicBlockRef other = emit_block(e, "else");
	LLVMBuildCondBr(e->builder, condition, then, other);
	emit_enter(e, then);
	emit_goto(e, yes);
	emit_enter(e, other);
	emit_goto(e, no);
}

static void part_diverged(struct emit *e, LLVMValueRef taken, size_t yes, size_t no)
{
	struct parting p = {SIZE_MAX, SIZE_MAX, NULL};
	flow_part(e, &p, yes, ir_and(e, emit_active(e), taken));
	flow_part(e, &p, no, ir_and(e, emit_active(e), ir_not(e, taken)));
	end_parting(e, &p);
}

static void part_converged(struct emit *e, LLVMValueRef taken, size_t yes, size_t no)
{
	emit_put_slots(e);
	part_diverged(e, taken, yes, no);
}

static void switch_one(struct emit *e, LLVMValueRef value, const size_t *blocks, size_t count,
	size_t other)
{
	LLVMBasicBlockRef rest = emit_block(e, "other");
	LLVMValueRef branch = LLVMBuildSwitch(e->builder, value, rest, (unsigned)count);
	for (size_t i = 0; i < count; i++) {
		LLVMBasicBlockRef target = emit_block(e, "target");
		LLVMAddCase(branch, emit_u32(e, i), target);
		emit_enter(e, target);
		emit_goto(e, blocks[i]);
	}

	emit_enter(e, rest);
	if (other == SIZE_MAX) {
		LLVMBuildUnreachable(e->builder);
	} else {
		emit_goto(e, other);
	}
}

/* Each lane goes to blocks[value], or to `other` if there is no such one; SIZE_MAX: there always
 * is. */
static void branch_switch(struct emit *e, LLVMValueRef value, const size_t *blocks, size_t count,
	size_t other)
{
	if (LLVMTypeOf(value) == e->s.i32) {
		switch_one(e, value, blocks, count, other);
		return;
	}

	if (!emit_is_diverged(e)) {
		LLVMBasicBlockRef same = emit_block(e, "same");
		LLVMBasicBlockRef mixed = emit_block(e, "mixed");
		LLVMValueRef first = LLVMBuildExtractElement(e->builder, value, emit_u32(e, 0), "");
		LLVMValueRef equal = ir_icmp(e, LLVMIntEQ, value, emit_splat(e, first));
		LLVMValueRef all = ir_icmp(e, LLVMIntEQ, emit_lane_bits(e, equal), emit_u32(e, UINT32_MAX));
		LLVMBuildCondBr(e->builder, all, same, mixed);
		emit_enter(e, same);
		switch_one(e, first, blocks, count, other);
		emit_enter(e, mixed);
		emit_put_slots(e);
	}
	struct parting p = {SIZE_MAX, SIZE_MAX, NULL};
	LLVMValueRef left = emit_active(e);
	for (size_t i = 0; i < count; i++) {
		LLVMValueRef bits = emit_lane_bits(e, ir_icmp(e, LLVMIntEQ, value, emit_int(e, 32, i)));
		flow_part(e, &p, blocks[i], ir_and(e, emit_active(e), bits));
		left = ir_and(e, left, ir_not(e, bits));
	}
	if (other != SIZE_MAX) {
		flow_part(e, &p, other, left);
	}
	end_parting(e, &p);
}

void emit_branch_alike(struct emit *e, LLVMValueRef guard, size_t yes, size_t no)
{
	LLVMBasicBlockRef same = emit_block(e, "same");
	LLVMBasicBlockRef mixed = emit_block(e, "mixed");
	LLVMValueRef bits = emit_lane_bits(e, guard);
	LLVMValueRef all = ir_icmp(e, LLVMIntEQ, bits, emit_u32(e, UINT32_MAX));
	LLVMValueRef none = ir_icmp(e, LLVMIntEQ, bits, emit_u32(e, 0));
	LLVMBuildCondBr(e->builder, ir_or(e, all, none), same, mixed);
	emit_enter(e, same);
	branch_one(e, all, yes, no);
	emit_enter(e, mixed);
}

/* Under a guard the branch is taken or not. */
void emit_bra(struct emit *e, const struct ptx_inst *inst)
{
	size_t target = (size_t)inst->operands[0].value;
	if (!inst->has_guard) {
		emit_goto(e, target);
		return;
	}
	size_t other = e->func->blocks[e->block].succ[0];
	LLVMValueRef guard = emit_use_guard(e, inst);
	if (LLVMTypeOf(guard) == e->s.i1) {
		branch_one(e, guard, target, other);
		return;
	}
	if (!emit_is_diverged(e)) {
		emit_branch_alike(e, guard, target, other);
	}
	e->strategy->part(e, emit_lane_bits(e, guard), target, other);
}

/* A scalar if all lanes have it alike. */
static LLVMValueRef use_index(struct emit *e, const struct ptx_operand *operand)
{
	struct uniformity lanes = {.is_vector = true};
	if (e->width > 1) {
		lanes = uniformity_of_operand(&e->uniformity, operand);
	}
	struct emit_mode mode = emit_set_mode(e,
		(struct emit_mode){NULL, uniformity_is_uniform(&lanes)});
	LLVMValueRef index = emit_use(e, operand, PTX_U32);
	emit_set_mode(e, mode);
	return index;
}

/* An index beyond the list is undefined in PTX; here it takes the first target. */
void emit_brx(struct emit *e, const struct ptx_inst *inst)
{
	const struct ptx_operand *list = &inst->operands[1];
	size_t *blocks = mem_zalloc(list->count, sizeof(*blocks));
	if (!blocks) {
		e->failed = true;
		ptx_no_memory(e->diag);
		return;
	}
	for (size_t i = 0; i < list->count; i++) {
		blocks[i] = (size_t)list->elements[i].value;
	}
	branch_switch(e, use_index(e, &inst->operands[0]), blocks, list->count, blocks[0]);
	mem_free(blocks);
}

void emit_exit_converged(struct emit *e)
{
	LLVMBuildBr(e->builder, e->done);
}

static void exit_diverged(struct emit *e)
{
	size_t field = offsetof(struct rt_warp, exited);
	LLVMValueRef exited = emit_field(e, e->warp, field, e->s.i32);
	emit_set_field(e, e->warp, field, ir_or(e, exited, emit_active(e)));
	sweep_on(e, SIZE_MAX, NULL);
}

void emit_exit(struct emit *e, const struct ptx_inst *inst)
{
	(void)inst;
	e->strategy->exit(e);
}

/* Nothing resumes after this, but the number must not say that the warp is done. */
static void build_trap(struct emit *e)
{
	note_yield(e, RT_YIELD_TRAP);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, lanes), emit_active(e));
	LLVMBuildRet(e->builder, emit_u32(e, RT_SWEEP));
}

void emit_trap(struct emit *e, const struct ptx_inst *inst)
{
	(void)inst;
	build_trap(e);
}

void emit_trap_if(struct emit *e, LLVMValueRef condition)
{
	LLVMBasicBlockRef trap = emit_block(e, "trap");
	LLVMBasicBlockRef fine = emit_block(e, "fine");
	LLVMBuildCondBr(e->builder, condition, trap, fine);
	emit_enter(e, trap);
	LLVMValueRef mask = e->mask;
	if (e->lane) {
		e->mask = ir_shl(e, emit_u32(e, 1), e->lane);
	}
	build_trap(e);
	e->mask = mask;
	emit_enter(e, fine);
}

/* --- Waiting --- */

size_t emit_block_after(const struct emit *e)
{
	return e->func->blocks[e->block].succ[0];
}

void emit_wait(struct emit *e, enum rt_yield why)
{
	e->strategy->wait(e, why, emit_block_after(e));
}

void emit_nanosleep(struct emit *e, const struct ptx_inst *inst)
{
	(void)inst;
	emit_wait(e, RT_YIELD_SPIN);
}

/* --- Strategies --- */

const struct emit_strategy emit_one_lane = {
	.is_scalar = true,
	.go = emit_go_converged,
	.exit = emit_exit_converged,
	.wait = emit_yield_before,
};

const struct emit_strategy emit_converged = {
	.go = emit_go_converged,
	.part = part_converged,
	.exit = emit_exit_converged,
	.wait = emit_yield_before,
};

const struct emit_strategy emit_diverged = {
	.in_slots = true,
	.go = go_diverged,
	.part = part_diverged,
	.exit = exit_diverged,
	.wait = emit_park,
};
