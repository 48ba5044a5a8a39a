/* SPDX-License-Identifier: MIT */
/*
 * Registers as values and as slots, and the frame in which they are saved.
 *
 * In the converged version each value of SSA form (ssa.h) is one of LLVM.  But control can enter it
 * in the middle: after a yield, and where diverged lanes come together.  A register that is live
 * into such a block has a slot instead, and so has every register in diverged code: an alloca, of
 * which LLVM makes values, or, in huge kernels, a place in the frame.  Converged code that goes to
 * diverged code puts its values into the slots.
 *
 * Most registers live within one basic block.  The others are kept: they are saved when the kernel
 * yields, and lanes that do not run keep their values.
 *
 * A warp that is not one of a team has registers that are live after a barrier of the block in the
 * frame for good, as loops over work-items have theirs in arrays (Jaaskelainen et al., 2015).  What
 * does not change is written once then, and what comes after a barrier reads what it needs.  A
 * register that a loop without a barrier uses is saved at each barrier instead.
 *
 * The frame begins with the lanes that are pending for each block, a word of bits each (W = 32); or
 * with what a debugger sees of the thread (emit_debug.c).
 * The slots in the frame follow, and then the other registers that are live where the warp yields,
 * in the order of their numbers.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_debug.h"
#include "cpu/codegen/values/emit_slots.h"
#include "cpu/codegen/values/emit_value.h"
#include "cpu/ir/cfg.h"

#include <stdlib.h>
#include <string.h>

enum { MANY_PHIS = 2048, MANY_SAVED = 30000 };

/* Vectors begin at a cache line: one that lies in two takes longer. */
enum { LINE = 64 };

static size_t slots_count(const struct emit *e, const uint64_t *set)
{
	size_t count = 0;
	for (size_t w = 0; w < cfg_live_words(e->func); w++) {
		count += (size_t)__builtin_popcountll(set[w]);
	}
	return count;
}

/* The registers that are live at the start of a block, until the next call. */
static const uint64_t *slots_live_at(const struct emit *e, size_t block)
{
	memset(e->live, 0, cfg_live_words(e->func) * sizeof(*e->live));
	cfg_add_live_in(e->live, e->func, block);
	return e->live;
}

/* Registers that are saved and loaded again, at all waits together. */
static size_t slots_count_saved(const struct emit *e)
{
	const struct ptx_func *func = e->func;
	size_t count = 0;
	for (size_t i = 0; i < e->order_count; i++) {
		const struct ptx_block *block = &func->blocks[e->order[i]];
		if (block->end > block->first && block->succ_count > 0
		    && ptx_waits(func->insts[block->end - 1].op)) {
			count += slots_count(e, slots_live_at(e, block->succ[0]));
		}
	}
	return count;
}

static bool slots_ends_in_wait(const struct ptx_func *func, const struct ptx_block *block)
{
	const struct ptx_inst *last = &func->insts[block->end - 1];
	return ptx_waits(last->op) && !last->is_second;
}

static void slots_note_entry(struct emit *e, size_t block)
{
	e->entries[block] = true;
	cfg_add_live_in(e->entering, e->func, block);
}

/* Whether diverged code can follow a block. */
static bool slots_parts(const struct emit *e, size_t index)
{
	struct if_region region;
	const struct ptx_block *block = &e->func->blocks[index];
	const struct ptx_inst *last = &e->func->insts[block->end - 1];
	return e->width > 1 && !e->serial && block->succ_count > 1
		&& !(last->op == PTX_OP_BRA && emit_is_same(e, last->guard))
		&& !emit_converts_if(e, index, &region);
}

void emit_note_entries(struct emit *e)
{
	for (size_t i = 0; i < e->order_count; i++) {
		const struct ptx_block *block = &e->func->blocks[e->order[i]];
		if (slots_ends_in_wait(e->func, block)) {
			slots_note_entry(e, block->succ[0]);
		}
		if (e->yield_points[e->order[i]]) {
			slots_note_entry(e, e->order[i]);
		}
		if (slots_parts(e, e->order[i]) && block->ipdom != SIZE_MAX) {
			slots_note_entry(e, block->ipdom);
		}
		/* a team breaks up where its warps part */
		for (size_t k = 0; e->team && block->succ_count > 1 && k < block->succ_count; k++) {
			slots_note_entry(e, block->succ[k]);
		}
	}
}

/* In diverged code each block can be skipped, so that after it LLVM has a phi for all that is
 * kept: blocks times registers, with which some thousand lines of PTX take minutes.  So do hundreds
 * of registers at hundreds of barriers for one lane.  So many stay in memory. */
void emit_note_kept(struct emit *e)
{
	for (size_t i = 0; i < e->order_count; i++) {
		cfg_add_live_in(e->kept, e->func, e->order[i]);
	}
	e->in_frame = e->width > 1 ? slots_count(e, e->kept) * e->order_count > MANY_PHIS
		: slots_count_saved(e) > MANY_SAVED;
}

/* The blocks that are in loops without a barrier: how many of them begin, less those that end, by
 * place in the order.  A loop is what lies from the target of a way back to its start. */
static void slots_note_loops(const struct emit *e, int *begins)
{
	const struct ptx_func *func = e->func;
	size_t after_barrier = 0; /* the place after the last one */
	for (size_t i = 0; i < e->order_count; i++) {
		const struct ptx_block *block = &func->blocks[e->order[i]];
		if (ptx_is_barrier(func->insts[block->end - 1].op)) {
			after_barrier = i + 1;
		}
		for (size_t k = 0; k < block->succ_count; k++) {
			size_t to = func->blocks[block->succ[k]].rpo;
			if (to <= i && to >= after_barrier) {
				begins[to]++;
				begins[i + 1]--;
			}
		}
	}
}

/* Leave out the registers that such loops write, or else those that they read. */
static void slots_leave_out(struct emit *e, const int *begins, bool written)
{
	const struct ptx_func *func = e->func;
	const size_t words = cfg_live_words(func);
	int loops = 0;
	memset(e->live, 0, words * sizeof(*e->live));
	for (size_t i = 0; i < e->order_count; i++) {
		const struct ptx_block *block = &func->blocks[e->order[i]];
		loops += begins[i];
		for (size_t k = block->first; loops > 0 && k < block->end; k++) {
			(written ? cfg_written : cfg_live_before)(e->live, &func->insts[k]);
		}
	}
	for (size_t w = 0; w < words; w++) {
		e->framed[w] &= ~e->live[w];
	}
}

bool emit_note_framed(struct emit *e)
{
	if (e->in_frame) {
		memcpy(e->framed, e->kept, cfg_live_words(e->func) * sizeof(*e->framed));
	}
	if (e->in_frame || e->width == 1 || e->team || e->serial) {
		return true;
	}
	int *begins = mem_zalloc(e->order_count + 1, sizeof(*begins));
	if (!begins) {
		return false;
	}
	for (size_t i = 0; i < e->order_count; i++) {
		const struct ptx_block *block = &e->func->blocks[e->order[i]];
		const struct ptx_inst *last = &e->func->insts[block->end - 1];
		if (ptx_is_barrier(last->op) && !last->is_second) {
			cfg_add_live_in(e->framed, e->func, block->succ[0]);
		}
	}
	slots_note_loops(e, begins);
	slots_leave_out(e, begins, true);
	slots_leave_out(e, begins, false);
	mem_free(begins);
	return true;
}

/* --- Where they are --- */

LLVMValueRef emit_pending_place(struct emit *e, size_t block)
{
	return emit_at(e, e->frame, emit_scalar(e, 64, block * 4), e->s.i32);
}

size_t emit_pending_size(const struct emit *e)
{
	return e->width > 1 ? round_up(e->func->block_count * 4, 64)
		: emit_debug_size(e);
}

/* A place in the frame for a register that has its slot there. */
static LLVMValueRef frame_slot(struct emit *e, enum ptx_type type)
{
	bool wide = emit_is_vector(e);
	size_t one = type == PTX_PRED ? 1 : ptx_type_size(type);
	size_t size = type == PTX_PRED && wide ? 4 : wide ? one * e->width : one;
	size_t used = e->frame_size > 0 ? e->frame_size : emit_pending_size(e);
	size_t offset = round_up(used, size < 64 ? size : 64);
	e->frame_size = offset + size;
	return emit_at(e, e->frame, emit_scalar(e, 64, offset), emit_type(e, type));
}

/* In the mode of values in the slot. */
static LLVMValueRef make_slot(struct emit *e, unsigned reg)
{
	const enum ptx_type type = e->func->regs[reg].type;
	return ptx_has_bit(e->framed, reg) ? frame_slot(e, type)
		: LLVMBuildAlloca(e->builder, emit_type(e, type), "");
}

struct emit_mode emit_slot_mode(struct emit *e, unsigned reg)
{
	if (emit_is_serial(e)) {
		return emit_set_mode(e, (struct emit_mode){e->lane, false});
	}
	bool once = e->width > 1 && !e->uniformity.regs[reg].is_vector;
	return emit_set_mode(e, (struct emit_mode){NULL, once});
}

void emit_make_slots(struct emit *e)
{
	const struct ptx_func *func = e->func;
	bool all = e->width > 1 && !e->serial;
	for (unsigned i = 0; i < func->reg_count; i++) {
		if (!all && !ptx_has_bit(e->entering, i)) {
			continue;
		}
		struct emit_mode mode = emit_slot_mode(e, i);
		e->regs[i] = make_slot(e, i);
		emit_set_mode(e, mode);
	}
	e->slots_end = e->frame_size > 0 ? e->frame_size : emit_pending_size(e);
}

void emit_clear_slots(struct emit *e)
{
	const struct ptx_func *func = e->func;
	for (unsigned i = 0; i < func->reg_count; i++) {
		if (e->regs[i] && cfg_is_live(&func->blocks[0], i)) {
			struct emit_mode mode = emit_slot_mode(e, i);
			LLVMTypeRef type = emit_type(e, func->regs[i].type);
			emit_store_slot(e, LLVMConstNull(type), e->regs[i]);
			emit_set_mode(e, mode);
		}
	}
}

/* As one element: a place in the frame may have no better alignment. */
static unsigned slot_align(struct emit *e, LLVMTypeRef type)
{
	bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
	LLVMTypeRef one = vector ? LLVMGetElementType(type) : type;
	if (one == e->s.i1) {
		return vector ? e->width / 8 : 1;
	}
	return one == e->s.f64 ? 8 : one == e->s.f32 ? 4 : LLVMGetIntTypeWidth(one) / 8;
}

static LLVMValueRef load_slot(struct emit *e, LLVMTypeRef type, LLVMValueRef slot)
{
	LLVMValueRef value = LLVMBuildLoad2(e->builder, type, slot, "");
	LLVMSetAlignment(value, slot_align(e, type));
	return value;
}

/* Whether the version that is being made has a register in its slot. */
static bool is_in_slot(const struct emit *e, unsigned reg)
{
	return e->strategy->in_slots || (!e->member && ptx_has_bit(e->entering, reg));
}

/* The whole register, in the mode of its slot. */
static LLVMValueRef slots_load_reg(struct emit *e, struct ptx_held from)
{
	struct emit_mode mode = emit_slot_mode(e, from.reg);
	LLVMTypeRef type = emit_type(e, e->func->regs[from.reg].type);
	emit_set_mode(e, mode);
	if (is_in_slot(e, from.reg)) {
		return load_slot(e, type, e->regs[from.reg]);
	}
	bool shared = e->member && ptx_has_bit(e->team->same, from.reg);
	LLVMValueRef *values = shared ? e->team->members[0].values : e->values;
	LLVMValueRef value = from.value == PTX_NO_VALUE ? NULL : values[from.value];
	return value ? value : LLVMConstNull(type);
}

/* What a lane has of a scalar. */
static LLVMValueRef slots_add_offset(struct emit *e, LLVMValueRef base, const int64_t *offsets)
{
	LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(base));
	LLVMValueRef lane = e->lane;
	if (!offsets || e->once) {
		return base;
	}
	struct emit_mode mode = emit_set_mode(e, (struct emit_mode){NULL, false});
	LLVMValueRef all = emit_spread(e, zero, offsets);
	emit_set_mode(e, mode);
	return ir_add(e, base, LLVMBuildExtractElement(e->builder, all, lane, ""));
}

LLVMValueRef emit_use_reg(struct emit *e, struct ptx_held from, enum ptx_type type)
{
	LLVMValueRef value = slots_load_reg(e, from);
	const struct uniformity *lanes =
		!e->strategy->is_scalar ? &e->uniformity.regs[from.reg] : NULL;
	if (lanes && !lanes->is_vector) {
		value = emit_is_vector(e) ? emit_spread(e, value, lanes->offsets)
			: slots_add_offset(e, value, lanes->offsets);
	} else if (e->lane && !e->strategy->is_scalar) {
		value = LLVMBuildExtractElement(e->builder, value, e->lane, "");
	}
	assert(!e->once || !lanes || !lanes->is_vector);
	return emit_resize(e, value, emit_type(e, type), false);
}

LLVMValueRef emit_use_guard(struct emit *e, const struct ptx_inst *inst)
{
	bool same = emit_is_same(e, inst->guard);
	struct emit_mode mode = emit_set_mode(e, (struct emit_mode){e->lane, e->once || same});
	struct ptx_held from = {inst->guard, inst->guard_value};
	LLVMValueRef guard = emit_use_reg(e, from, PTX_PRED);
	guard = inst->guard_negated ? ir_not(e, guard) : guard;
	emit_set_mode(e, mode);
	return guard;
}

static void slots_store_whole(struct emit *e, LLVMValueRef value, LLVMValueRef slot)
{
	LLVMValueRef store = LLVMBuildStore(e->builder, value, slot);
	LLVMSetAlignment(store, slot_align(e, LLVMTypeOf(value)));
}

void emit_store_slot(struct emit *e, LLVMValueRef value, LLVMValueRef slot)
{
	LLVMTypeRef type = LLVMTypeOf(value);
	if (e->once) {
		slots_store_whole(e, value, slot);
		return;
	}
	if (e->lane) {
		type = LLVMVectorType(type, e->width);
		LLVMValueRef old = load_slot(e, type, slot);
		value = LLVMBuildInsertElement(e->builder, old, value, e->lane, "");
	} else if (e->mask_lanes) {
		value = ir_select(e, e->mask_lanes, value, load_slot(e, type, slot));
	}
	slots_store_whole(e, value, slot);
}

/* The first value in a block of a register that lives within blocks only: whatever the other lanes
 * had is gone.  To keep it all the same would have it live through all diverged code. */
static void slots_store_first(struct emit *e, LLVMValueRef value, LLVMValueRef slot)
{
	if (!e->lane) {
		slots_store_whole(e, value, slot);
		return;
	}
	LLVMBasicBlockRef back = LLVMGetInsertBlock(e->builder);
	LLVMTypeRef all = LLVMVectorType(LLVMTypeOf(value), e->width);
	LLVMPositionBuilderBefore(e->builder, LLVMGetBasicBlockTerminator(e->before_lanes));
	slots_store_whole(e, LLVMConstNull(all), slot);
	emit_enter(e, back);
	emit_store_slot(e, value, slot);
}

/* The lanes of a value, which a loop makes one by one: the others have what there was. */
static LLVMValueRef slots_gather_lanes(struct emit *e, LLVMValueRef value, LLVMValueRef old)
{
	LLVMBasicBlockRef back = LLVMGetInsertBlock(e->builder);
	LLVMTypeRef all = LLVMTypeOf(old);
	LLVMValueRef room = emit_room(e, all, "");
	LLVMPositionBuilderBefore(e->builder, LLVMGetBasicBlockTerminator(e->before_lanes));
	slots_store_whole(e, old, room);
	emit_enter(e, back);
	LLVMValueRef some = load_slot(e, all, room);
	slots_store_whole(e, LLVMBuildInsertElement(e->builder, some, value, e->lane, ""), room);
	emit_enter(e, e->after_lanes);
	LLVMValueRef whole = load_slot(e, all, room);
	emit_enter(e, back);
	return whole;
}

/* What a guarded write leaves in lanes that do not run; zero if all do. */
static LLVMValueRef slots_old_value(struct emit *e, struct ptx_held to)
{
	return slots_load_reg(e, (struct ptx_held){to.reg, e->func->values[to.value].old});
}

/* In the converged version. */
static void slots_define_value(struct emit *e, struct ptx_held to, LLVMValueRef value)
{
	unsigned number = to.value;
	if (e->lane) {
		value = slots_gather_lanes(e, value, slots_old_value(e, to));
	} else if (e->mask_lanes && !e->once && e->func->values[number].old != PTX_NO_VALUE) {
		value = ir_select(e, e->mask_lanes, value, slots_old_value(e, to));
	}
	e->values[number] = value;
	if (e->merge) {
		assert(e->merge->count < countof(e->merge->values));
		e->merge->values[e->merge->count++] = number;
	}
}

void emit_def_reg(struct emit *e, struct ptx_held to, enum ptx_type type, LLVMValueRef value)
{
	unsigned reg = to.reg;
	LLVMTypeRef stored = emit_type(e, e->func->regs[reg].type);
	bool sign = emit_is_signed(type);
	value = emit_resize(e, value, stored, sign);
	if (emit_is_serial(e)) {
		slots_store_whole(e, value, e->regs[reg]);
		return;
	}
	if (e->once && e->uniformity.regs[reg].is_vector) {
		struct emit_mode mode = emit_set_mode(e, (struct emit_mode){NULL, false});
		emit_def_reg(e, to, e->func->regs[reg].type, emit_spread(e, value, e->offsets));
		emit_set_mode(e, mode);
		return;
	}
	assert(e->once || e->width == 1 || e->uniformity.regs[reg].is_vector);
	if (!is_in_slot(e, reg)) {
		slots_define_value(e, to, value);
		return;
	}
	if (ptx_has_bit(e->kept, reg) || e->written[reg] == e->body) {
		emit_store_slot(e, value, e->regs[reg]);
	} else {
		e->written[reg] = e->body;
		slots_store_first(e, value, e->regs[reg]);
	}
}

/* --- Values --- */

/* Whether it has phis of its own: one member does for all where warps have a register alike. */
static bool slots_has_phi(const struct emit *e, unsigned reg)
{
	bool shared = e->member && e->member != e->team->members
		&& ptx_has_bit(e->team->same, reg);
	return !shared && !is_in_slot(e, reg);
}

void emit_make_phis(struct emit *e, const LLVMBasicBlockRef *blocks)
{
	const struct ptx_func *func = e->func;
	LLVMBasicBlockRef back = LLVMGetInsertBlock(e->builder);
	for (size_t i = 0; i < e->order_count; i++) {
		const struct ptx_block *block = &func->blocks[e->order[i]];
		if (block->phi_count > 0) {
			emit_enter(e, blocks[e->order[i]]);
		}
		for (size_t k = 0; k < block->phi_count; k++) {
			unsigned value = block->phis[k].value, reg = func->values[value].reg;
			if (slots_has_phi(e, reg)) {
				struct emit_mode mode = emit_slot_mode(e, reg);
				LLVMTypeRef type = emit_type(e, func->regs[reg].type);
				e->values[value] = LLVMBuildPhi(e->builder, type, "");
				emit_set_mode(e, mode);
			}
		}
	}
	emit_enter(e, back);
}

void emit_fill_phis(struct emit *e, size_t to, bool is_start)
{
	const struct ptx_block *block = &e->func->blocks[to];
	size_t place = is_start ? block->pred_count : cfg_place_of_pred(block, e->block);
	LLVMBasicBlockRef from = LLVMGetInsertBlock(e->builder);
	for (size_t k = 0; k < block->phi_count; k++) {
		const struct ptx_phi *phi = &block->phis[k];
		struct ptx_held held = {e->func->values[phi->value].reg, phi->args[place]};
		if (slots_has_phi(e, held.reg)) {
			LLVMValueRef value = slots_load_reg(e, held);
			LLVMAddIncoming(e->values[phi->value], &value, &from, 1);
		}
	}
}

/* --- Where lanes part under masks --- */

/* What the lanes of some ways into a block have of a phi. */
static LLVMValueRef slots_select_phi(struct emit *e, size_t to, const struct ptx_phi *phi,
	const struct emit_way *ways, size_t count)
{
	const unsigned reg = e->func->values[phi->value].reg;
	const bool is_vector = e->uniformity.regs[reg].is_vector;
	LLVMValueRef value = NULL;
	unsigned first = PTX_NO_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (ways[i].to != to) {
			continue;
		}
		unsigned arg = phi->args[cfg_place_of_pred(&e->func->blocks[to], ways[i].from)];
		if (value && arg == first) {
			continue;
		}
		LLVMValueRef here = slots_load_reg(e, (struct ptx_held){reg, arg});
		LLVMValueRef lanes = ways[i].lanes;
		if (value && !is_vector) {
			lanes = ir_icmp(e, LLVMIntNE, emit_lane_bits(e, lanes), emit_u32(e, 0));
		}
		first = value ? first : arg;
		value = value ? ir_select(e, lanes, here, value) : here;
	}
	return value;
}

void emit_take_phis(struct emit *e, size_t to, const struct emit_way *ways, size_t count,
	LLVMValueRef *old)
{
	const struct ptx_block *block = &e->func->blocks[to];
	for (size_t k = 0; k < block->phi_count; k++) {
		old[k] = e->values[block->phis[k].value];
	}
	for (size_t k = 0; k < block->phi_count; k++) {
		const struct ptx_phi *phi = &block->phis[k];
		if (slots_has_phi(e, e->func->values[phi->value].reg)) {
			e->values[phi->value] = slots_select_phi(e, to, phi, ways, count);
		}
	}
}

void emit_give_phis(struct emit *e, size_t of, const LLVMValueRef *old)
{
	const struct ptx_block *block = &e->func->blocks[of];
	for (size_t k = 0; k < block->phi_count; k++) {
		e->values[block->phis[k].value] = old[k];
	}
}

void emit_select_phis(struct emit *e, size_t to, const struct emit_way *ways, size_t count)
{
	const struct ptx_block *block = &e->func->blocks[to];
	LLVMBasicBlockRef from = LLVMGetInsertBlock(e->builder);
	for (size_t k = 0; k < block->phi_count; k++) {
		const struct ptx_phi *phi = &block->phis[k];
		if (slots_has_phi(e, e->func->values[phi->value].reg)) {
			LLVMValueRef value = slots_select_phi(e, to, phi, ways, count);
			LLVMAddIncoming(e->values[phi->value], &value, &from, 1);
		}
	}
}

struct slots_skip {
	struct emit *e;
	LLVMBasicBlockRef made, before;
};

static LLVMValueRef slots_or_zero(const struct slots_skip *skip, LLVMValueRef made)
{
	LLVMValueRef values[] = {made, LLVMConstNull(LLVMTypeOf(made))};
	LLVMBasicBlockRef from[] = {skip->made, skip->before};
	LLVMValueRef phi = LLVMBuildPhi(skip->e->builder, LLVMTypeOf(made), "");
	LLVMAddIncoming(phi, values, from, countof(from));
	return phi;
}

static void slots_skip_value(void *data, unsigned *reg, unsigned *value)
{
	const struct slots_skip *skip = data;
	struct emit *e = skip->e;
	if (*value != PTX_NO_VALUE && e->values[*value] && ptx_has_bit(e->kept, *reg)
	    && !is_in_slot(e, *reg)) {
		e->values[*value] = slots_or_zero(skip, e->values[*value]);
	}
}

void emit_merge_skipped(struct emit *e, size_t index, LLVMBasicBlockRef before,
	LLVMBasicBlockRef after, struct emit_way *ways, size_t count)
{
	struct slots_skip skip = {e, LLVMGetInsertBlock(e->builder), before};
	const struct ptx_block *block = &e->func->blocks[index];
	LLVMBuildBr(e->builder, after);
	emit_enter(e, after);
	for (size_t i = block->first; i < block->end; i++) {
		cfg_visit(&e->func->insts[i], true, slots_skip_value, &skip);
	}
	for (size_t i = 0; i < count; i++) {
		ways[i].lanes = slots_or_zero(&skip, ways[i].lanes);
	}
}

void emit_merge_values(struct emit *e, LLVMBasicBlockRef then, LLVMBasicBlockRef before)
{
	for (unsigned i = 0; i < e->merge->count; i++) {
		const struct ptx_value *made = &e->func->values[e->merge->values[i]];
		LLVMValueRef *value = &e->values[e->merge->values[i]];
		unsigned old = made->old;
		for (unsigned j = i; j-- > 0;) { // an instruction may write a register twice
			old = e->merge->values[j] == old ? e->func->values[old].old : old;
		}
		LLVMValueRef ways[] = {*value,
			slots_load_reg(e, (struct ptx_held){made->reg, old})};
		LLVMBasicBlockRef from[] = {then, before};
		*value = LLVMBuildPhi(e->builder, LLVMTypeOf(ways[0]), "");
		LLVMAddIncoming(*value, ways, from, countof(ways));
	}
}

static int slots_compare_held(const void *reg, const void *held)
{
	const unsigned *a = reg;
	const struct ptx_held *b = held;
	return (*a > b->reg) - (*a < b->reg);
}

struct ptx_held emit_reg_at_end(const struct emit *e, unsigned reg)
{
	const struct ptx_block *block = &e->func->blocks[e->block];
	const struct ptx_held *found = e->body == 0 ? NULL
		: bsearch(&reg, block->held, block->held_count, sizeof(*block->held),
			slots_compare_held);
	return (struct ptx_held){reg, found ? found->value : PTX_NO_VALUE};
}

void emit_put_slots(struct emit *e)
{
	const struct ptx_block *block = &e->func->blocks[e->block];
	e->has_diverged = true;
	for (size_t i = 0; i < block->held_count; i++) {
		struct ptx_held from = block->held[i];
		if (!is_in_slot(e, from.reg)) {
			slots_store_whole(e, slots_load_reg(e, from), e->regs[from.reg]);
		}
	}
}

/* --- Saving them in the frame --- */

/* Save what a register has in its place in the frame, which follows *offset; NULL: load it from
 * there into its slot. */
static void slots_move_reg(struct emit *e, unsigned reg, LLVMValueRef value, size_t *offset)
{
	enum ptx_type type = e->func->regs[reg].type;
	LLVMTypeRef as = emit_type(e, type);
	bool is_pred = type == PTX_PRED, wide = emit_is_vector(e);
	LLVMTypeRef kept = is_pred ? (wide ? e->s.i32 : e->s.i8) : as;
	size_t unit = is_pred ? (wide ? 4 : 1) : ptx_type_size(type);
	size_t size = is_pred || !wide ? unit : unit * e->width;
	size_t align = size < LINE ? unit : LINE;

	*offset = round_up(*offset, align);
	LLVMValueRef place = emit_at(e, e->frame, emit_scalar(e, 64, *offset), kept);
	*offset += size;
	if (value) {
		value = kept == as ? value : wide ? emit_lane_bits(e, value)
			: ir_zext(e, value, kept);
		LLVMSetAlignment(LLVMBuildStore(e->builder, value, place), (unsigned)align);
	} else {
		value = LLVMBuildLoad2(e->builder, kept, place, "");
		LLVMSetAlignment(value, (unsigned)align);
		value = kept == as ? value : wide ? emit_lanes_of_bits(e, value)
			: ir_trunc(e, value, as);
		slots_store_whole(e, value, e->regs[reg]);
	}
}

/* Where a register that is not moved would be. */
static void slots_skip_reg(struct emit *e, enum ptx_type type, size_t *offset)
{
	bool is_pred = type == PTX_PRED, wide = emit_is_vector(e);
	size_t unit = is_pred ? (wide ? 4 : 1) : ptx_type_size(type);
	size_t size = is_pred || !wide ? unit : unit * e->width;
	*offset = round_up(*offset, size < LINE ? unit : LINE) + size;
}

static void slots_note_frame(struct emit *e, size_t end)
{
	if (end > e->frame_size) {
		e->frame_size = round_up(end, 16);
	}
}

void emit_move_regs(struct emit *e, const uint64_t *set, bool save)
{
	size_t offset = e->slots_end;
	for (unsigned i = 0; i < e->func->reg_count; i++) {
		if (ptx_has_bit(set, i) && !ptx_has_bit(e->framed, i)) {
			struct emit_mode mode = emit_slot_mode(e, i);
			LLVMTypeRef type = emit_type(e, e->func->regs[i].type);
			slots_move_reg(e, i, save ? load_slot(e, type, e->regs[i]) : NULL, &offset);
			emit_set_mode(e, mode);
		}
	}
	slots_note_frame(e, offset);
}

void emit_move_live(struct emit *e, size_t block, bool save)
{
	emit_move_regs(e, slots_live_at(e, block), save);
}

/* What a member has at the end of a block, where all that is kept is saved. */
static void slots_save_member(struct emit *e, size_t yes, size_t no)
{
	const struct ptx_block *blocks = e->func->blocks;
	size_t offset = emit_pending_size(e);
	for (unsigned i = 0; i < e->func->reg_count; i++) {
		if (!ptx_has_bit(e->kept, i)) {
			continue;
		}
		struct emit_mode mode = emit_slot_mode(e, i);
		if (cfg_is_live(&blocks[yes], i) || cfg_is_live(&blocks[no], i)) {
			slots_move_reg(e, i, slots_load_reg(e, emit_reg_at_end(e, i)), &offset);
		} else {
			slots_skip_reg(e, e->func->regs[i].type, &offset);
		}
		emit_set_mode(e, mode);
	}
	slots_note_frame(e, offset);
}

void emit_put_apart(struct emit *e, size_t yes, size_t no, LLVMValueRef lanes)
{
	LLVMBuildMemSet(e->builder, e->frame, LLVMConstNull(e->s.i8),
		emit_scalar(e, 64, emit_pending_size(e)), 4);
	LLVMBuildStore(e->builder, lanes, emit_pending_place(e, yes));
	LLVMBuildStore(e->builder, ir_not(e, lanes), emit_pending_place(e, no));
	slots_save_member(e, yes, no);
}
