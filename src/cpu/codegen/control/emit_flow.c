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
#include "cpu/codegen/control/emit_flow.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_debug.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_slots.h"
#include "cpu/codegen/values/emit_value.h"

/* --- Yields --- */

static void flow_note_yield(struct emit *e, enum rt_yield why)
{
	emit_set_field(e, e->warp, offsetof(struct rt_warp, yield), emit_u32(e, why));
	emit_set_field(e, e->warp, offsetof(struct rt_warp, line),
		emit_u32(e, (uint64_t)e->inst->line));
	emit_debug_wait(e);
}

/* Leave a converged version, and go on in front of the block. */
void emit_yield_before(struct emit *e, enum rt_yield why, size_t block)
{
	e->yields = true;
	if (!e->resumes[block]) {
		LLVMBasicBlockRef back = LLVMGetInsertBlock(e->builder);
		e->resumes[block] = emit_block(e, "resume");
		LLVMAddCase(e->entry_end, emit_u32(e, block + 1), e->resumes[block]);
		emit_enter(e, e->resumes[block]);
		emit_move_live(e, block, false);
		LLVMBuildBr(e->builder, e->blocks[block]);
		emit_enter(e, back);
	}
	flow_note_yield(e, why);
	emit_move_live(e, block, true);
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
	flow_note_yield(e, why);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, lanes), emit_active(e));
	LLVMBuildBr(e->builder, e->leave);
}

/* --- Branches --- */

static size_t flow_rpo_of(const struct emit *e, size_t block)
{
	return e->func->blocks[block].rpo;
}

static bool flow_is_back_edge(const struct emit *e, size_t to)
{
	return flow_rpo_of(e, to) <= flow_rpo_of(e, e->block);
}

LLVMBasicBlockRef emit_next_diverged(const struct emit *e)
{
	size_t next = flow_rpo_of(e, e->block) + 1;
	return next < e->order_count ? e->diverged[e->order[next]] : e->sweep_end;
}

/* Go on after a diverged block.  `lanes` of it have gone back to `block`, unless that is SIZE_MAX:
 * if there are any they run first, for a loop has to end.  Lanes that spin run when the others have
 * moved. */
static void flow_sweep_on(struct emit *e, size_t block, LLVMValueRef lanes)
{
	if (block == SIZE_MAX) {
		LLVMBuildBr(e->builder, emit_next_diverged(e));
		return;
	}
	LLVMValueRef any = ir_icmp(e, LLVMIntNE, lanes, emit_u32(e, 0));
	LLVMBuildCondBr(e->builder, any, e->diverged[block], emit_next_diverged(e));
}

/* Diverged lanes go to a block; for the message about lanes that spin without end. */
static void flow_note_spin(struct emit *e, size_t block)
{
	if (flow_is_back_edge(e, block) && e->yield_points[block]) {
		emit_set_field(e, e->warp, offsetof(struct rt_warp, line),
			emit_u32(e, (uint64_t)e->inst->line));
	}
}

static void flow_go_diverged(struct emit *e, size_t block)
{
	flow_note_spin(e, block);
	emit_add_pending(e, block, emit_active(e));
	bool back = flow_is_back_edge(e, block) && !e->yield_points[block];
	flow_sweep_on(e, back ? block : SIZE_MAX, emit_active(e));
}

bool emit_goes_on(const struct emit *e, size_t block)
{
	const struct ptx_block *to = &e->func->blocks[block];
	if (e->width > 1 || e->debug || block == 0 || to->pred_count != 1) {
		return false;
	}
	const struct ptx_block *from = &e->func->blocks[to->pred[0]];
	const struct ptx_inst *last = &e->func->insts[from->end - 1];
	return last->op == PTX_OP_BRA && !last->has_guard && from->rpo + 1 == to->rpo
		&& !e->yield_points[block];
}

void emit_go_converged(struct emit *e, size_t block)
{
	if (emit_goes_on(e, block)) {
		return;
	}
	if (flow_is_back_edge(e, block) && e->yield_points[block]) {
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

/* Where lanes part: the block that runs next, and in diverged code the lanes that go back. */
struct parting {
	size_t next; /* SIZE_MAX: none, so far */
	LLVMValueRef back;
};

static size_t flow_first_in_order(const struct emit *e, size_t a, size_t b)
{
	return a == SIZE_MAX || flow_rpo_of(e, b) < flow_rpo_of(e, a) ? b : a;
}

typedef void send_fn(struct emit *e, struct parting *p, size_t block, LLVMValueRef lanes);

/* Lanes that part in converged code go on in the first of their diverged blocks. */
static void flow_send_converged(struct emit *e, struct parting *p, size_t block, LLVMValueRef lanes)
{
	emit_add_pending(e, block, lanes);
	p->next = flow_first_in_order(e, p->next, block);
}

/* Diverged lanes go on after the block, or in the first of the blocks before it. */
static void flow_send_diverged(struct emit *e, struct parting *p, size_t block, LLVMValueRef lanes)
{
	emit_add_pending(e, block, lanes);
	flow_note_spin(e, block);
	if (flow_is_back_edge(e, block) && !e->yield_points[block]) {
		p->back = p->back ? ir_or(e, p->back, lanes) : lanes;
		p->next = flow_first_in_order(e, p->next, block);
	}
}

static struct parting flow_send_both(struct emit *e, send_fn *send, LLVMValueRef taken, size_t yes,
	size_t no)
{
	struct parting p = {SIZE_MAX, NULL};
	send(e, &p, yes, ir_and(e, emit_active(e), taken));
	send(e, &p, no, ir_and(e, emit_active(e), ir_not(e, taken)));
	return p;
}

static struct parting flow_send_each(struct emit *e, send_fn *send, LLVMValueRef index,
	const size_t *blocks, size_t count)
{
	struct parting p = {SIZE_MAX, NULL};
	LLVMValueRef left = emit_active(e);
	for (size_t i = 0; i < count; i++) {
		LLVMValueRef bits = emit_lane_bits(e,
			ir_icmp(e, LLVMIntEQ, index, emit_int(e, 32, i)));
		send(e, &p, blocks[i], ir_and(e, emit_active(e), bits));
		left = ir_and(e, left, ir_not(e, bits));
	}
	send(e, &p, blocks[0], left);
	return p;
}

/* --- By a guard --- */

/* All lanes that run branch alike. */
static void flow_branch_one(struct emit *e, LLVMValueRef condition, size_t yes, size_t no)
{
	LLVMBasicBlockRef then = emit_block(e, "then");
	LLVMBasicBlockRef other = emit_block(e, "else");
	LLVMBuildCondBr(e->builder, condition, then, other);
	emit_enter(e, then);
	emit_goto(e, yes);
	emit_enter(e, other);
	emit_goto(e, no);
}

void emit_branch_one(struct emit *e, const struct ptx_inst *inst, size_t yes, size_t no)
{
	flow_branch_one(e, emit_use_guard(e, inst), yes, no);
}

bool emit_branch_alike(struct emit *e, LLVMValueRef guard, size_t yes, size_t no)
{
	if (LLVMTypeOf(guard) == e->s.i1) {
		flow_branch_one(e, guard, yes, no);
		return false;
	}
	LLVMBasicBlockRef same = emit_block(e, "same");
	LLVMBasicBlockRef mixed = emit_block(e, "mixed");
	LLVMValueRef bits = emit_lane_bits(e, guard);
	LLVMValueRef all = ir_icmp(e, LLVMIntEQ, bits, emit_all_lanes(e));
	LLVMValueRef none = ir_icmp(e, LLVMIntEQ, bits, emit_u32(e, 0));
	LLVMBuildCondBr(e->builder, ir_or(e, all, none), same, mixed);
	emit_enter(e, same);
	flow_branch_one(e, all, yes, no);
	emit_enter(e, mixed);
	return true;
}

static void flow_branch_converged(struct emit *e, const struct ptx_inst *inst, size_t yes,
	size_t no)
{
	LLVMValueRef guard = emit_use_guard(e, inst);
	if (!emit_branch_alike(e, guard, yes, no)) {
		return;
	}
	LLVMValueRef taken = emit_lane_bits(e, guard);
	emit_put_slots(e);
	struct parting p = flow_send_both(e, flow_send_converged, taken, yes, no);
	LLVMBuildBr(e->builder, e->diverged[p.next]);
}

static void flow_branch_diverged(struct emit *e, const struct ptx_inst *inst, size_t yes, size_t no)
{
	LLVMValueRef guard = emit_use_guard(e, inst);
	if (LLVMTypeOf(guard) == e->s.i1) {
		flow_branch_one(e, guard, yes, no);
		return;
	}
	struct parting p = flow_send_both(e, flow_send_diverged, emit_lane_bits(e, guard), yes, no);
	flow_sweep_on(e, p.next, p.back);
}

void emit_bra(struct emit *e, const struct ptx_inst *inst)
{
	size_t target = (size_t)inst->operands[0].value;
	if (inst->has_guard && emit_may_part(e)) {
		e->strategy->branch(e, inst, target, e->func->blocks[e->block].succ[0]);
	} else {
		emit_goto(e, target);
	}
}

/* --- By an index --- */

static void flow_switch_one(struct emit *e, LLVMValueRef index, const size_t *blocks, size_t count)
{
	LLVMBasicBlockRef rest = emit_block(e, "other");
	LLVMValueRef branch = LLVMBuildSwitch(e->builder, index, rest, (unsigned)count);
	for (size_t i = 0; i < count; i++) {
		LLVMBasicBlockRef target = emit_block(e, "target");
		LLVMAddCase(branch, emit_u32(e, i), target);
		emit_enter(e, target);
		emit_goto(e, blocks[i]);
	}
	emit_enter(e, rest);
	emit_goto(e, blocks[0]);
}

static void flow_choose_converged(struct emit *e, LLVMValueRef index, const size_t *blocks,
	size_t count)
{
	LLVMBasicBlockRef same = emit_block(e, "same");
	LLVMBasicBlockRef mixed = emit_block(e, "mixed");
	LLVMValueRef first = LLVMBuildExtractElement(e->builder, index, emit_u32(e, 0), "");
	LLVMValueRef equal = ir_icmp(e, LLVMIntEQ, index, emit_splat(e, first));
	LLVMValueRef all = ir_icmp(e, LLVMIntEQ, emit_lane_bits(e, equal), emit_all_lanes(e));
	LLVMBuildCondBr(e->builder, all, same, mixed);
	emit_enter(e, same);
	flow_switch_one(e, first, blocks, count);
	emit_enter(e, mixed);
	emit_put_slots(e);
	struct parting p = flow_send_each(e, flow_send_converged, index, blocks, count);
	LLVMBuildBr(e->builder, e->diverged[p.next]);
}

static void flow_choose_diverged(struct emit *e, LLVMValueRef index, const size_t *blocks,
	size_t count)
{
	struct parting p = flow_send_each(e, flow_send_diverged, index, blocks, count);
	flow_sweep_on(e, p.next, p.back);
}

/* A scalar if all lanes have it alike. */
static LLVMValueRef flow_use_index(struct emit *e, const struct ptx_operand *operand)
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
	if (!emit_may_part(e)) {
		emit_goto(e, e->func->blocks[e->block].succ[0]);
		return;
	}
	size_t *blocks = mem_zalloc(list->count, sizeof(*blocks));
	if (!blocks) {
		e->failed = true;
		ptx_no_memory(e->diag);
		return;
	}
	for (size_t i = 0; i < list->count; i++) {
		blocks[i] = (size_t)list->elements[i].value;
	}
	LLVMValueRef index = flow_use_index(e, &inst->operands[0]);
	if (LLVMTypeOf(index) == e->s.i32) {
		flow_switch_one(e, index, blocks, list->count);
	} else {
		e->strategy->choose(e, index, blocks, list->count);
	}
	mem_free(blocks);
}

void emit_exit_converged(struct emit *e)
{
	LLVMBuildBr(e->builder, e->done);
}

static void flow_exit_diverged(struct emit *e)
{
	size_t field = offsetof(struct rt_warp, exited);
	LLVMValueRef exited = emit_field(e, e->warp, field, e->s.i32);
	emit_set_field(e, e->warp, field, ir_or(e, exited, emit_active(e)));
	flow_sweep_on(e, SIZE_MAX, NULL);
}

void emit_exit(struct emit *e, const struct ptx_inst *inst)
{
	(void)inst;
	e->strategy->exit(e);
}

/* Nothing resumes after this, but the number must not say that the warp is done. */
static void flow_build_trap(struct emit *e)
{
	flow_note_yield(e, RT_YIELD_TRAP);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, lanes), emit_active(e));
	LLVMBuildRet(e->builder, emit_u32(e, RT_SWEEP));
}

void emit_trap(struct emit *e, const struct ptx_inst *inst)
{
	(void)inst;
	flow_build_trap(e);
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
	flow_build_trap(e);
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
	/* without an operand it is lower.c's, and the thread has something to do */
	emit_wait(e, inst->operand_count > 0 ? RT_YIELD_SPIN : RT_YIELD_NONE);
}

/* --- Strategies --- */

const struct emit_strategy emit_one_lane = {
	.is_scalar = true,
	.go = emit_go_converged,
	.branch = emit_branch_one,
	.exit = emit_exit_converged,
	.wait = emit_yield_before,
};

const struct emit_strategy emit_converged = {
	.go = emit_go_converged,
	.branch = flow_branch_converged,
	.choose = flow_choose_converged,
	.exit = emit_exit_converged,
	.wait = emit_yield_before,
};

const struct emit_strategy emit_diverged = {
	.in_slots = true,
	.go = flow_go_diverged,
	.branch = flow_branch_diverged,
	.choose = flow_choose_diverged,
	.exit = flow_exit_diverged,
	.wait = emit_park,
};
