/* SPDX-License-Identifier: MIT */
/*
 * Warp interleaving (W = 32): all warps of a block run as a team.
 *
 * A barrier makes a coroutine of each warp, which saves its registers and loads them again.  And
 * between two barriers a warp may have only one sum, so that each addition waits for the one
 * before.  So a kernel that suits (team.c) gets a third version of its blocks.  There each
 * instruction is made once for each warp of the block, one after the other.  A barrier costs
 * nothing, results of different warps do not wait for each other, and values that all warps share
 * are loaded once: a register that is the same in all warps has one slot, and its instructions are
 * made once.
 *
 * Where the sums of all warps do not fit into the vector registers of the processor, some warps
 * take their turn after others, between two barriers or writes.
 *
 * This works as long as all warps branch alike.  If they do not, each goes on by itself in the
 * diverged version, with its lanes pending for the blocks that they branched to.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/ir/cfg.h"
#include "cpu/codegen/emit_blocks.h"
#include "cpu/codegen/memory/emit_memory.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_count.h"
#include "cpu/codegen/values/emit_slots.h"
#include "cpu/codegen/values/emit_value.h"
#include "cpu/ir/team.h"

#include <string.h>

/* Taking turns is for so many terms of a sum, at least. */
enum { LEAST_TERMS = 4 };

/* --- What all warps have alike --- */

static size_t interleave_words_of(const struct emit *e)
{
	return e->func->reg_count / 64 + 1;
}

static bool interleave_is_same_operand(const struct emit *e, const struct ptx_operand *operand)
{
	const uint64_t *same = e->team->same;
	struct uniformity lanes;
	switch (operand->kind) {
	case PTX_REG:
		return ptx_has_bit(same, operand->reg);
	case PTX_INT:
	case PTX_FLOAT:
		return true;
	case PTX_SREG:
		lanes = uniformity_of_operand(&e->uniformity, operand);
		return !emit_is_of_warp(operand->sreg) || (!lanes.is_vector && lanes.has_value);
	case PTX_ADDRESS:
		return (!operand->has_base || ptx_has_bit(same, operand->reg))
			&& !(operand->var && (operand->var->space == PTX_LOCAL
				|| operand->var->is_argument));
	case PTX_VECTOR:
		for (size_t i = 0; i < operand->count; i++) {
			if (!interleave_is_same_operand(e, &operand->elements[i])) {
				return false;
			}
		}
		return true;
	default:
		return false;
	}
}

/* Whether it computes the same in all warps. */
static bool interleave_computes_same(const struct emit *e, const struct ptx_inst *inst)
{
	bool same = ptx_computes(inst->op) || inst->op == PTX_OP_LD || inst->op == PTX_OP_LDU;
	same &= !inst->has_guard || ptx_has_bit(e->team->same, inst->guard);
	for (size_t i = 1; i < inst->operand_count && same; i++) {
		same = interleave_is_same_operand(e, &inst->operands[i]);
	}
	return same;
}

static void interleave_find_written(const struct emit *e, const struct ptx_inst *inst)
{
	memset(e->team->written, 0, interleave_words_of(e) * sizeof(uint64_t));
	cfg_written(e->team->written, inst);
}

static void interleave_find_same(struct emit *e)
{
	struct emit_team *t = e->team;
	bool changed = true;
	memset(t->same, 0xff, interleave_words_of(e) * sizeof(uint64_t));
	while (changed) {
		changed = false;
		for (size_t i = 0; i < e->func->inst_count; i++) {
			const struct ptx_inst *inst = &e->func->insts[i];
			if (interleave_computes_same(e, inst)) {
				continue;
			}
			interleave_find_written(e, inst);
			for (size_t w = 0; w < interleave_words_of(e); w++) {
				changed |= (t->same[w] & t->written[w]) != 0;
				t->same[w] &= ~t->written[w];
			}
		}
	}
}

/* Whether one does for all. */
static bool interleave_is_done_once(const struct emit *e, const struct ptx_inst *inst)
{
	bool once = interleave_computes_same(e, inst);
	interleave_find_written(e, inst);
	for (size_t w = 0; w < interleave_words_of(e) && once; w++) {
		once = (e->team->written[w] & ~e->team->same[w]) == 0;
	}
	return once;
}

/* --- Members --- */

static bool interleave_make_members(struct emit *e)
{
	struct emit_team *t = e->team;
	bool ok = (t->members = mem_zalloc(t->count, sizeof(*t->members)));
	for (unsigned i = 0; i < t->count && ok; i++) {
		struct emit_member *m = &t->members[i];
		m->values = mem_zalloc(e->func->value_count + 1, sizeof(*m->values));
		m->first = emit_u32(e, i * RT_GROUP);
		ok = m->values;
	}
	return ok;
}

bool emit_interleave_init(struct emit *e, unsigned count)
{
	bool possible = emit_does(e, PASS_WARP_INTERLEAVING) && e->width == WARP_LANES && count > 1
		&& !e->serial && !e->in_frame && !e->asks && e->checks == 0;
	for (size_t i = 0; i < e->func->block_count && possible; i++) {
		possible = !e->yield_points[i];
	}
	if (!possible) {
		return true;
	}
	struct emit_team *t = mem_zalloc(1, sizeof(*t));
	e->team = t;
	if (!t) {
		return false;
	}
	t->count = count;
	t->end = count;
	t->same = mem_zalloc(interleave_words_of(e), sizeof(*t->same));
	t->written = mem_zalloc(interleave_words_of(e), sizeof(*t->written));
	t->blocks = mem_zalloc(e->func->block_count, sizeof(LLVMBasicBlockRef));
	bool ok = t->same && t->written && t->blocks && interleave_make_members(e);
	if (ok) {
		interleave_find_same(e);
	}
	return ok;
}

void emit_interleave_finish(struct emit *e)
{
	struct emit_team *t = e->team;
	for (unsigned i = 0; t && t->members && i < t->count; i++) {
		mem_free(t->members[i].values);
	}
	if (t) {
		mem_free(t->members);
		mem_free(t->same);
		mem_free(t->written);
		mem_free(t->blocks);
		mem_free(t);
	}
}

/* --- The beginning and the end --- */

void emit_interleave_start(struct emit *e)
{
	struct emit_team *t = e->team;
	LLVMBasicBlockRef one = emit_block(e, "one_warp");
	t->start = emit_block(e, "team");
	LLVMValueRef end = emit_field(e, e->warp, offsetof(struct rt_warp, end), e->s.i32);
	LLVMValueRef all = ir_icmp(e, LLVMIntEQ, end, emit_u32(e, t->count * RT_GROUP));
	emit_expect_first(e, LLVMBuildCondBr(e->builder, all, t->start, one));
	emit_enter(e, one);
}

/* From the block that is being made, or from the start. */
static void interleave_team_fill_phis(struct emit *e, size_t to, bool is_start)
{
	struct emit_team *t = e->team;
	for (unsigned i = 0; i < t->count; i++) {
		emit_use_member(e, &t->members[i]);
		emit_fill_phis(e, to, is_start);
	}
	emit_use_member(e, NULL);
}

/* The warps begin as the caller begins one. */
void emit_interleave_begin(struct emit *e)
{
	struct emit_team *t = e->team;
	for (size_t i = 0; i < e->order_count; i++) {
		t->blocks[e->order[i]] = emit_block(e, "together");
	}
	/* the places of the warps, and their phis */
	for (unsigned i = 0; i < t->count; i++) {
		struct emit_member *m = &t->members[i];
		LLVMBasicBlockRef back = emit_call_visit(e);
		m->warp = emit_at(e, e->warp, emit_scalar(e, 64, i * sizeof(struct slot)), e->s.i8);
		emit_entry_leave(e, back);
		emit_use_member(e, m);
		emit_make_phis(e, t->blocks);
		emit_use_member(e, NULL);
	}
	emit_enter(e, t->start);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, team), emit_u32(e, t->count));
	for (unsigned i = 0; i < t->count; i++) {
		emit_use_member(e, &t->members[i]);
		emit_set_field(e, e->warp, offsetof(struct rt_warp, lane),
			emit_scalar(e, 64, RT_GROUP));
	}
	emit_use_member(e, NULL);
	interleave_team_fill_phis(e, 0, true);
	LLVMBuildBr(e->builder, t->blocks[0]);
}

/* --- Branches --- */

/* Where warps or lanes may part. */
static void interleave_branch_mixed(struct emit *e, const struct ptx_inst *inst, size_t yes,
	size_t no)
{
	struct emit_team *t = e->team;
	LLVMBasicBlockRef some = emit_block(e, "some"), apart = emit_block(e, "apart");
	LLVMValueRef bits[TEAM_MOST] = {NULL}; /* of lanes that take the branch */
	LLVMValueRef all = NULL, any = NULL;
	for (unsigned i = 0; i < t->count; i++) {
		bool again = i > 0 && ptx_has_bit(t->same, inst->guard);
		bits[i] = bits[0];
		if (!again) {
			emit_use_member(e, &t->members[i]);
			LLVMValueRef guard = emit_use_guard(e, inst);
			bits[i] = LLVMTypeOf(guard) != e->s.i1 ? emit_lane_bits(e, guard)
				: ir_select(e, guard, emit_u32(e, UINT32_MAX), emit_u32(e, 0));
			emit_use_member(e, NULL);
		}
		all = i > 0 ? ir_and(e, all, bits[i]) : bits[i];
		any = i > 0 ? ir_or(e, any, bits[i]) : bits[i];
	}
	interleave_team_fill_phis(e, yes, false);
	LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntEQ, all, emit_u32(e, UINT32_MAX)),
		t->blocks[yes], some);
	emit_enter(e, some);
	interleave_team_fill_phis(e, no, false);
	emit_expect_first(e, LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntEQ, any, emit_u32(e, 0)),
		t->blocks[no], apart));
	emit_enter(e, apart);
	for (unsigned i = 0; i < t->count; i++) {
		emit_use_member(e, &t->members[i]);
		e->frame = emit_field(e, e->warp, offsetof(struct slot, frame), e->ptr);
		emit_put_apart(e, yes, no, bits[i]);
		emit_use_member(e, NULL);
	}
	LLVMBuildRet(e->builder, emit_u32(e, RT_APART));
}

static void interleave_go_interleaved(struct emit *e, size_t block)
{
	interleave_team_fill_phis(e, block, false);
	LLVMBuildBr(e->builder, e->team->blocks[block]);
}

static void interleave_branch_interleaved(struct emit *e, const struct ptx_inst *inst, size_t yes,
	size_t no)
{
	struct emit_team *t = e->team;
	if (yes == no) {
		interleave_go_interleaved(e, yes);
	} else if (emit_is_same(e, inst->guard) && ptx_has_bit(t->same, inst->guard)) {
		interleave_team_fill_phis(e, yes, false);
		interleave_team_fill_phis(e, no, false);
		emit_use_member(e, &t->members[0]);
		LLVMBuildCondBr(e->builder, emit_use_guard(e, inst), t->blocks[yes], t->blocks[no]);
		emit_use_member(e, NULL);
	} else {
		interleave_branch_mixed(e, inst, yes, no);
	}
}

static void interleave_exit_interleaved(struct emit *e)
{
	emit_set_field(e, e->warp, offsetof(struct rt_warp, first),
		emit_u32(e, (e->team->count - 1) * RT_GROUP));
	LLVMBuildBr(e->builder, e->done);
}

/* --- Instructions --- */

/* A load or store of several warps is one test whether their lanes lie side by side, and long
 * blocks. */
static void interleave_make_wide(struct emit *e, const struct ptx_inst *inst)
{
	struct emit_team *t = e->team;
	struct emit_vector all[TEAM_MOST];
	const unsigned count = t->end - t->first;
	for (unsigned i = 0; i < count; i++) {
		all[i] = (struct emit_vector){.member = &t->members[t->first + i]};
		emit_use_member(e, all[i].member);
		emit_count_access(e, inst);
		emit_begin_vector(e, inst, &all[i]);
	}
	if (inst->op == PTX_OP_ST) {
		emit_vector_store(e, all, count);
	} else {
		emit_vector_load(e, all, count);
	}
	for (unsigned i = 0; i < count; i++) {
		emit_use_member(e, all[i].member);
		emit_end_vector(e, inst, &all[i]);
	}
	emit_use_member(e, NULL);
	emit_count_rest(e);
}

/* Of the warps that take their turn. */
static void interleave_make_inst(struct emit *e, const struct ptx_inst *inst)
{
	struct emit_team *t = e->team;
	bool once = interleave_is_done_once(e, inst);
	e->inst = inst;
	if (!once && emit_is_vector_access(e, inst)) {
		interleave_make_wide(e, inst);
		return;
	}
	emit_count_for(e, once ? t->end - t->first : 1);
	for (unsigned i = once ? 0 : t->first; i < (once ? 1 : t->end); i++) {
		emit_use_member(e, &t->members[i]);
		emit_inst(e, inst);
	}
	emit_use_member(e, NULL);
	emit_count_for(e, 1);
}

/* --- Sums that registers do not hold --- */

static bool interleave_is_in_turns(const struct ptx_inst *inst)
{
	return ptx_computes(inst->op) || inst->op == PTX_OP_LD || inst->op == PTX_OP_LDU;
}

/* How many warps at a time compute from an instruction on: those whose sums have room in half of
 * the vector registers.  Where the sums have few terms, or all of them nearly fit, the whole team
 * does. */
static unsigned interleave_warps_at_a_time(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_inst *end)
{
	struct emit_team *t = e->team;
	const unsigned room = e->has_avx512 ? 32 * 512 / 2 : 16 * 256 / 2;
	unsigned terms = 0, sums = 0, bits = 0;
	memset(t->written, 0, interleave_words_of(e) * sizeof(uint64_t));
	for (; inst < end; inst++) {
		const struct ptx_operand *sum = &inst->operands[3];
		if (inst->op == PTX_OP_FMA) {
			bool is_new = sum->kind != PTX_REG || !ptx_has_bit(t->written, sum->reg);
			terms++;
			sums += is_new;
			bits += is_new ? WARP_LANES * ptx_type_bits(inst->types[0]) : 0;
			cfg_written(t->written, inst);
		}
	}
	bool fits = t->count * bits <= room + room / 2 || !emit_does(e, PASS_WARP_TURNS);
	return fits || terms < LEAST_TERMS * sums ? t->count : bits < room ? room / bits : 1;
}

/* The instructions before the next write, barrier or branch.  A fence within a thread, for which
 * the processor has no instruction, keeps LLVM from mixing the turns; each turn loads again what
 * the warps share. */
static size_t interleave_make_in_turns(struct emit *e, const struct ptx_inst *inst)
{
	struct emit_team *t = e->team;
	const struct ptx_inst *end = inst, *last = &e->func->insts[e->func->blocks[e->block].end];
	while (end < last && interleave_is_in_turns(end)) {
		end++;
	}
	const unsigned step = interleave_warps_at_a_time(e, inst, end);
	for (t->first = 0; t->first < t->count; t->first += step) {
		t->end = t->first + step < t->count ? t->first + step : t->count;
		if (t->first > 0) {
			LLVMBuildFence(e->builder, LLVMAtomicOrderingAcquireRelease, true, "");
		}
		for (const struct ptx_inst *i = inst; i < end && !e->failed; i++) {
			interleave_make_inst(e, i);
		}
	}
	t->first = 0;
	t->end = t->count;
	return (size_t)(end - inst);
}

static size_t interleave_inst_interleaved(struct emit *e, const struct ptx_inst *inst)
{
	if (interleave_is_in_turns(inst)) {
		return interleave_make_in_turns(e, inst);
	}
	if (inst->op == PTX_OP_ST) {
		interleave_make_inst(e, inst);
	} else if (!ptx_waits(inst->op)) { /* all warps have come to a barrier */
		emit_inst(e, inst);
	}
	return 1;
}

const struct emit_strategy emit_interleaved = {
	.go = interleave_go_interleaved,
	.branch = interleave_branch_interleaved,
	.exit = interleave_exit_interleaved,
	.inst = interleave_inst_interleaved,
};
