/* SPDX-License-Identifier: MIT */
/*
 * Collectives of a warp, and barriers of a block.  In a collective each thread writes its operands
 * to the exchange, and rt_collect.c computes the results when all have come (see emit_collect.c).
 * At a barrier each thread waits.
 *
 * The forms without .sync, of PTX before 6.0, name no members.  Their members are the threads that
 * are there, which at W = 1 are known only when no thread of the warp can do anything else.
 */
#include "base/common.h"

#include "base/checks.h"
#include "cpu/runtime/rt_collect.h"
#include "cpu/codegen/control/emit_collect.h"
#include "cpu/codegen/control/emit_flow.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"

/* Of COLLECT_OPEN, which ends its block. */
static LLVMValueRef warp_place(struct emit *e)
{
	return emit_int(e, 32, e->func->blocks[e->block].rpo);
}

/* The lanes that take part: operand `index`, or the lanes that run if the instruction has none. */
static void warp_collect(struct emit *e, const struct ptx_inst *inst, uint32_t what, size_t index,
	LLVMValueRef *words, unsigned count)
{
	bool is_named = index < inst->operand_count;
	if (emit_collective(e, what, is_named ? &inst->operands[index] : NULL, words)) {
		return;
	}
	if (is_named) {
		emit_collect(e, what, emit_use(e, &inst->operands[index], PTX_U32), words, count);
	} else if (e->width > 1) {
		emit_collect(e, what, emit_splat(e, emit_active(e)), words, count);
	} else {
		emit_collect(e, what | COLLECT_OPEN, warp_place(e), words, count);
	}
}

/* The value d of d or d|p, and its predicate. */
static void warp_define(struct emit *e, const struct ptx_operand *operand, enum ptx_type type,
	LLVMValueRef value, LLVMValueRef pred)
{
	if (operand->kind != PTX_PAIR) {
		emit_def(e, operand, type, value);
		return;
	}
	if (e->func->regs[operand->reg].type != PTX_PRED) {
		emit_def_reg(e, emit_reg_of(operand), type, value);
	}
	pred = ir_icmp(e, LLVMIntNE, pred, emit_int(e, 32, 0));
	emit_def_reg(e, emit_second_reg(operand), PTX_PRED, pred);
}

/* A modifier, and the mode that it stands for in the exchange. */
struct mode {
	enum ptx_mod mod;
	uint32_t mode;
};

static uint32_t warp_mode_of(const struct ptx_inst *inst, const struct mode *modes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (ptx_has(&inst->mods, modes[i].mod)) {
			return modes[i].mode;
		}
	}
	return 0;
}

/* Operands: d|p, a, b, c, ?members. */
void emit_shfl(struct emit *e, const struct ptx_inst *inst)
{
	static const struct mode modes[] = {{PTX_MOD_UP, SHFL_UP}, {PTX_MOD_DOWN, SHFL_DOWN},
		{PTX_MOD_BFLY, SHFL_BFLY}, {PTX_MOD_IDX, SHFL_IDX}};
	if (inst->is_second) {
		warp_define(e, &inst->operands[0], PTX_B32, emit_collected(e, 0),
			emit_collected(e, 1));
		return;
	}
	LLVMValueRef words[3];
	for (size_t i = 0; i < countof(words); i++) {
		words[i] = emit_use(e, &inst->operands[i + 1], PTX_B32);
	}
	uint32_t mode = warp_mode_of(inst, modes, countof(modes));
	warp_collect(e, inst, collect_what(COLLECT_SHFL, mode), 4, words, countof(words));
}

/* Operands: p or d, q, ?members. */
void emit_vote(struct emit *e, const struct ptx_inst *inst)
{
	static const struct mode modes[] = {{PTX_MOD_ALL, VOTE_ALL}, {PTX_MOD_ANY, VOTE_ANY},
		{PTX_MOD_UNI, VOTE_UNI}};
	bool is_ballot = ptx_has(&inst->mods, PTX_MOD_BALLOT);
	if (inst->is_second) {
		LLVMValueRef result = emit_collected(e, 0);
		emit_def(e, &inst->operands[0], is_ballot ? PTX_B32 : PTX_PRED, is_ballot ? result
			: ir_icmp(e, LLVMIntNE, result, emit_int(e, 32, 0)));
		return;
	}
	LLVMValueRef mine = ir_zext(e, emit_use(e, &inst->operands[1], PTX_PRED), e->i32);
	uint32_t what = is_ballot ? collect_what(COLLECT_BALLOT, 0)
		: collect_what(COLLECT_VOTE, warp_mode_of(inst, modes, countof(modes)));
	warp_collect(e, inst, what, 2, &mine, 1);
}

/* Operands: d or d|p, a, members.  match.all gives the lanes that have the same value only if all
 * have. */
void emit_match(struct emit *e, const struct ptx_inst *inst)
{
	if (inst->is_second) {
		LLVMValueRef same = emit_collected(e, 0);
		LLVMValueRef all = emit_collected(e, 1);
		if (ptx_has(&inst->mods, PTX_MOD_ALL)) {
			same = ir_and(e, same, ir_neg(e, all));
		}
		warp_define(e, &inst->operands[0], PTX_B32, same, all);
		return;
	}
	LLVMValueRef value = ir_zext(e, emit_arg(e, inst, 1), e->i64);
	LLVMValueRef words[] = {ir_trunc(e, value, e->i32),
		ir_trunc(e, ir_lshr_by(e, value, 32), e->i32)};
	/* only threads with the same qualifiers meet */
	uint32_t details = ptx_type_size(inst->types[0]) + ptx_has(&inst->mods, PTX_MOD_ALL);
	warp_collect(e, inst, collect_what(COLLECT_MATCH, details), 2, words, countof(words));
}

/* Operands: d, a, members. */
void emit_redux(struct emit *e, const struct ptx_inst *inst)
{
	static const struct mode unsigned_modes[] = {{PTX_MOD_ADD, REDUX_ADD},
		{PTX_MOD_AND, REDUX_AND}, {PTX_MOD_OR, REDUX_OR}, {PTX_MOD_XOR, REDUX_XOR},
		{PTX_MOD_MIN, REDUX_UMIN}, {PTX_MOD_MAX, REDUX_UMAX}};
	static const struct mode signed_modes[] = {{PTX_MOD_ADD, REDUX_ADD},
		{PTX_MOD_MIN, REDUX_SMIN}, {PTX_MOD_MAX, REDUX_SMAX}};
	static const struct mode real_modes[] = {{PTX_MOD_MIN, REDUX_FMIN},
		{PTX_MOD_MAX, REDUX_FMAX}};
	if (inst->is_second) {
		emit_result(e, inst, emit_cast(e, emit_collected(e, 0),
			emit_type(e, inst->types[0])));
		return;
	}
	uint32_t mode = inst->types[0] == PTX_F32
		? warp_mode_of(inst, real_modes, countof(real_modes))
		: inst->types[0] == PTX_S32 ? warp_mode_of(inst, signed_modes,
			countof(signed_modes))
		: warp_mode_of(inst, unsigned_modes, countof(unsigned_modes));
	if (ptx_has(&inst->mods, PTX_MOD_NAN)) {
		mode += REDUX_FMIN_NAN - REDUX_FMIN;
	}
	if (ptx_has(&inst->mods, PTX_MOD_ABS)) {
		mode |= REDUX_ABS;
	}
	LLVMValueRef mine = emit_bits(e, emit_arg(e, inst, 1));
	warp_collect(e, inst, collect_what(COLLECT_REDUX, mode), 2, &mine, 1);
}

/* Operands: d|p, members. */
void emit_elect(struct emit *e, const struct ptx_inst *inst)
{
	if (inst->is_second) {
		warp_define(e, &inst->operands[0], PTX_B32, emit_collected(e, 0),
			emit_collected(e, 1));
		return;
	}
	warp_collect(e, inst, collect_what(COLLECT_ELECT, 0), 1, NULL, 0);
}

/* --- Lanes that wait for each other, or are there --- */

void emit_bar_warp_sync(struct emit *e, const struct ptx_inst *inst)
{
	if (!emit_collective(e, COLLECT_SYNC, &inst->operands[0], NULL)) {
		emit_collect(e, COLLECT_SYNC, emit_use(e, &inst->operands[0], PTX_U32), NULL, 0);
	}
}

/* W = 32: the lanes that run this now.  W = 1: the threads of the warp that come here before it
 * stands still. */
void emit_activemask(struct emit *e, const struct ptx_inst *inst)
{
	if (inst->is_second) {
		emit_def(e, &inst->operands[0], PTX_B32,
			e->width > 1 ? emit_splat(e, emit_active(e)) : emit_collected(e, 0));
	} else if (e->width > 1) {
		emit_goto(e, e->func->blocks[e->block].succ[0]);
	} else {
		emit_collect(e, COLLECT_WHO | COLLECT_OPEN, warp_place(e), NULL, 0);
	}
}

/* --- Barriers of a block --- */

static bool warp_is_constant(const struct ptx_operand *operand)
{
	return !operand || operand->kind == PTX_INT;
}

/* Wait at a barrier; its number, and the threads expected, none for all. */
static void warp_wait_at(struct emit *e, enum rt_yield why, const struct ptx_operand *id,
	const struct ptx_operand *count, enum rt_barrier_red red)
{
	bool each = e->width > 1 && !(warp_is_constant(id) && warp_is_constant(count));
	LLVMValueRef ids = each ? emit_u32(e, RT_BAR_EACH)
		: e->width > 1 ? emit_u32(e, (uint32_t)id->value) : emit_use(e, id, PTX_U32);
	LLVMValueRef counts = each || !count ? emit_u32(e, 0)
		: e->width > 1 ? emit_u32(e, (uint32_t)count->value) : emit_use(e, count, PTX_U32);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, bar_id), ids);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, bar_count), counts);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, bar_red), emit_u32(e, red));
	if (!each) {
		emit_wait(e, why);
		return;
	}
	emit_put_word(e, 1, emit_use(e, id, PTX_U32));
	emit_put_word(e, 2, count ? emit_use(e, count, PTX_U32) : emit_int(e, 32, 0));
	emit_park(e, why, emit_block_after(e));
}

void emit_bar_sync(struct emit *e, const struct ptx_inst *inst)
{
	// A warp that is a block waits for nobody, but some checks have to know that it has met.
	const bool is_noted = e->checks & (check_bit(CHECK_RACE) | check_bit(CHECK_SYNC));
	if (e->is_alone && !is_noted && !emit_is_diverged(e) && !e->mask
	    && ptx_is_for_all(inst)) {
		emit_goto(e, emit_block_after(e));
		return;
	}
	warp_wait_at(e, RT_YIELD_BARRIER, &inst->operands[0],
		inst->operand_count > 1 ? &inst->operands[1] : NULL, RT_RED_NONE);
}

void emit_bar_arrive(struct emit *e, const struct ptx_inst *inst)
{
	warp_wait_at(e, RT_YIELD_ARRIVE, &inst->operands[0], &inst->operands[1], RT_RED_NONE);
}

static void warp_take_red(struct emit *e, const struct ptx_inst *inst, bool is_count)
{
	LLVMValueRef result = emit_collected(e, 0);
	if (is_count) {
		emit_def(e, &inst->operands[0], PTX_U32, result);
	} else {
		emit_def(e, &inst->operands[0], PTX_PRED,
			ir_icmp(e, LLVMIntNE, result, emit_int(e, 32, 0)));
	}
}

void emit_bar_red(struct emit *e, const struct ptx_inst *inst)
{
	enum rt_barrier_red red = ptx_has(&inst->mods, PTX_MOD_POPC) ? RT_RED_POPC
		: ptx_has(&inst->mods, PTX_MOD_AND) ? RT_RED_AND : RT_RED_OR;
	size_t last = inst->operand_count - 1;
	if (inst->is_second) {
		warp_take_red(e, inst, red == RT_RED_POPC);
		return;
	}

	LLVMValueRef mine = emit_use(e, &inst->operands[last], PTX_PRED);
	mine = e->width > 1 ? emit_lane_bits(e, mine) : ir_zext(e, mine, e->i32);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, bar_value), mine);
	warp_wait_at(e, RT_YIELD_BARRIER, &inst->operands[1], last > 2 ? &inst->operands[2] : NULL,
		red);
}
