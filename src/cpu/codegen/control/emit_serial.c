/* SPDX-License-Identifier: MIT */
/*
 * Lane serialisation (W = 32): diverged lanes run one after the other, each to the end of the
 * kernel, in a version of the blocks in which all values are scalars.
 *
 * Masks gain nothing in a small kernel whose lanes go through a loop of different length each and
 * read from scattered addresses.  An access takes one step for each lane anyway, and a warp takes
 * as long as its longest lane.  Such a kernel must never wait.  It has no diverged versions of its
 * blocks.
 *
 * The registers that are live where lanes diverge are written to memory once, and each lane begins
 * by loading its own.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/codegen/control/emit_flow.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_slots.h"
#include "cpu/codegen/values/emit_value.h"
#include "cpu/ir/cfg.h"

enum { SCATTERED = 6, WHOLE = 4 };

/* --- Which kernels --- */

static bool serial_is_access(const struct ptx_inst *inst)
{
	return inst->op == PTX_OP_LD || inst->op == PTX_OP_LDU || inst->op == PTX_OP_ST;
}

static bool serial_is_simple(const struct ptx_inst *inst)
{
	if (serial_is_access(inst)) {
		return inst->space != PTX_LOCAL && emit_order(inst) == LLVMAtomicOrderingNotAtomic;
	}
	bool ends = inst->op == PTX_OP_BRA || inst->op == PTX_OP_EXIT || inst->op == PTX_OP_RET;
	return ends || (ptx_computes(inst->op) && !ptx_uses_carry(inst));
}

static bool serial_is_scattered(const struct emit *e, const struct ptx_inst *inst)
{
	const struct ptx_operand *place = &inst->operands[inst->op != PTX_OP_ST];
	return serial_is_access(inst)
		&& uniformity_of_address(&e->uniformity, inst, place).is_vector;
}

/* Whether lanes leave the loop of blocks first..last, in the order, one by one; and it is mostly
 * accesses here and there, and most of the kernel. */
static bool serial_is_ragged(const struct emit *e, size_t first, size_t last)
{
	const struct ptx_func *func = e->func;
	size_t count = 0, scattered = 0;
	bool parts = false;
	for (size_t i = first; i <= last; i++) {
		const struct ptx_block *block = &func->blocks[e->order[i]];
		const struct ptx_inst *end = &func->insts[block->end - 1];
		bool leaves = false;
		for (size_t k = 0; k < block->succ_count; k++) {
			size_t to = func->blocks[block->succ[k]].rpo;
			leaves |= to < first || to > last;
		}
		parts |= leaves && end->has_guard && e->uniformity.regs[end->guard].is_vector;
		for (size_t k = block->first; k < block->end; k++) {
			count++;
			scattered += serial_is_scattered(e, &func->insts[k]);
		}
	}
	return parts && scattered * SCATTERED >= count && count * WHOLE >= func->inst_count;
}

static bool is_serial_kernel(const struct emit *e)
{
	const struct ptx_func *func = e->func;
	bool simple = e->width > 1 && !e->in_frame && !e->counts;
	for (size_t i = 0; i < func->inst_count && simple; i++) {
		simple = serial_is_simple(&func->insts[i]);
	}
	for (size_t i = 0; i < func->block_count && simple; i++) {
		simple = !e->yield_points[i];
	}
	bool serial_has_ragged_loop = false;
	for (size_t i = 0; i < e->order_count && simple && !serial_has_ragged_loop; i++) {
		const struct ptx_block *block = &func->blocks[e->order[i]];
		for (size_t k = 0; k < block->succ_count && !serial_has_ragged_loop; k++) {
			size_t to = func->blocks[block->succ[k]].rpo;
			serial_has_ragged_loop = to <= i && serial_is_ragged(e, to, i);
		}
	}
	return serial_has_ragged_loop;
}

/* --- From all lanes to one --- */

bool emit_serial_init(struct emit *e)
{
	if (!emit_does(e, PASS_LANE_SERIALISATION) || !is_serial_kernel(e)) {
		return true;
	}
	struct emit_serial *a = mem_zalloc(1, sizeof(*a));
	e->serial = a;
	if (!a) {
		return false;
	}
	a->blocks = mem_zalloc(e->func->block_count, sizeof(*a->blocks));
	a->regs = mem_zalloc(e->func->reg_count + 1, sizeof(*a->regs));
	a->rooms = mem_zalloc(e->func->reg_count + 1, sizeof(*a->rooms));
	return a->blocks && a->regs && a->rooms;
}

void emit_serial_finish(struct emit *e)
{
	if (e->serial) {
		mem_free(e->serial->blocks);
		mem_free(e->serial->regs);
		mem_free(e->serial->rooms);
		mem_free(e->serial);
	}
}

void emit_serial_begin(struct emit *e)
{
	struct emit_serial *a = e->serial;
	struct emit_mode mode = emit_begin_once(e);
	for (unsigned i = 0; i < e->func->reg_count; i++) {
		a->regs[i] = emit_room(e, emit_type(e, e->func->regs[i].type), "");
	}
	emit_set_mode(e, mode);
	LLVMValueRef *const slots[] = {&a->lane, &a->left, &a->taken, &a->from};
	for (size_t i = 0; i < countof(slots); i++) {
		*slots[i] = emit_room(e, e->s.i32, "");
	}
	for (size_t i = 0; i < e->order_count; i++) {
		a->blocks[e->order[i]] = emit_block(e, "alone");
	}

	LLVMBasicBlockRef back = LLVMGetInsertBlock(e->builder);
	LLVMBasicBlockRef nowhere = emit_block(e, "nowhere");
	a->next = emit_block(e, "next_lane");
	emit_enter(e, nowhere);
	LLVMBuildUnreachable(e->builder);
	emit_enter(e, a->next);
	LLVMValueRef from = LLVMBuildLoad2(e->builder, e->s.i32, a->from, "");
	a->heads = LLVMBuildSwitch(e->builder, from, nowhere, 1);
	emit_enter(e, back);
}

static bool serial_just_ends(const struct emit *e, size_t block)
{
	const struct ptx_inst *inst = &e->func->insts[e->func->blocks[block].first];
	return (inst->op == PTX_OP_RET || inst->op == PTX_OP_EXIT) && !inst->has_guard;
}

/* Whether lanes need a register in one of two blocks. */
static bool serial_is_live(const struct emit *e, unsigned reg, size_t yes, size_t no)
{
	const struct ptx_block *blocks = e->func->blocks;
	return cfg_is_live(&blocks[yes], reg) || cfg_is_live(&blocks[no], reg);
}

/* Write what all lanes have. */
static void serial_spread_reg(struct emit *e, unsigned reg)
{
	LLVMValueRef *room = &e->serial->rooms[reg];
	enum ptx_type type = e->func->regs[reg].type;
	struct emit_mode mode = emit_set_mode(e, (struct emit_mode){NULL, emit_is_same(e, reg)});
	LLVMValueRef value = emit_use_reg(e, emit_reg_at_end(e, reg), type);
	value = type == PTX_PRED && emit_is_vector(e) ? emit_lane_bits(e, value) : value;
	emit_set_mode(e, mode);
	if (!*room) {
		*room = emit_room(e, LLVMTypeOf(value), "spread");
	}
	LLVMBuildStore(e->builder, value, *room);
}

/* What one lane has. */
static LLVMValueRef serial_own_value(struct emit *e, unsigned reg, LLVMValueRef lane)
{
	enum ptx_type type = e->func->regs[reg].type;
	LLVMValueRef room = e->serial->rooms[reg];
	if (emit_is_same(e, reg)) {
		return LLVMBuildLoad2(e->builder, emit_type(e, type), room, "");
	}
	if (type == PTX_PRED) {
		LLVMValueRef all = LLVMBuildLoad2(e->builder, e->s.i32, room, "");
		return ir_trunc(e, ir_lshr(e, all, lane), e->s.i1);
	}
	LLVMTypeRef one = emit_type(e, type);
	LLVMValueRef base = ir_bitcast(e, room, LLVMPointerType(one, 0));
	LLVMValueRef place = LLVMBuildGEP2(e->builder, one, base, &lane, 1, "");
	return LLVMBuildLoad2(e->builder, one, place, "");
}

/* Take the next lane and its registers, and go where it branched to. */
static void serial_begin_lane(struct emit *e, size_t yes, size_t no)
{
	struct emit_serial *a = e->serial;
	LLVMBasicBlockRef some = emit_block(e, "some");
	LLVMValueRef left = LLVMBuildLoad2(e->builder, e->s.i32, a->left, "");
	LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntEQ, left, emit_u32(e, 0)), e->done, some);
	emit_enter(e, some);
	LLVMValueRef args[] = {left, LLVMConstInt(e->s.i1, 1, false)};
	LLVMValueRef lane = ir_intrinsic(e, "llvm.cttz", &e->s.i32, 1, args, 2);
	LLVMBuildStore(e->builder, ir_and(e, left, ir_sub(e, left, emit_u32(e, 1))), a->left);
	LLVMBuildStore(e->builder, lane, a->lane);
	emit_note_lane(e, lane);
	struct emit_mode mode = emit_begin_once(e);
	for (unsigned i = 0; i < e->func->reg_count; i++) {
		if (serial_is_live(e, i, yes, no)) {
			LLVMBuildStore(e->builder, serial_own_value(e, i, lane), a->regs[i]);
		}
	}
	emit_set_mode(e, mode);
	LLVMValueRef taken = LLVMBuildLoad2(e->builder, e->s.i32, a->taken, "");
	taken = ir_trunc(e, ir_lshr(e, taken, lane), e->s.i1);
	LLVMBuildCondBr(e->builder, taken, a->blocks[yes], a->blocks[no]);
}

void emit_part_serial(struct emit *e, LLVMValueRef lanes, LLVMValueRef taken, size_t yes, size_t no)
{
	struct emit_serial *a = e->serial;
	LLVMBasicBlockRef head = emit_block(e, "each_lane");
	LLVMValueRef from = emit_u32(e, a->head_count++);
	LLVMAddCase(a->heads, from, head);
	for (unsigned i = 0; i < e->func->reg_count; i++) {
		if (serial_is_live(e, i, yes, no)) {
			serial_spread_reg(e, i);
		}
	}
	lanes = serial_just_ends(e, yes) ? ir_and(e, lanes, ir_not(e, taken)) : lanes;
	lanes = serial_just_ends(e, no) ? ir_and(e, lanes, taken) : lanes;
	LLVMBuildStore(e->builder, lanes, a->left);
	LLVMBuildStore(e->builder, taken, a->taken);
	LLVMBuildStore(e->builder, from, a->from);
	LLVMBuildBr(e->builder, head);
	emit_enter(e, head);
	serial_begin_lane(e, yes, no);
}

/* --- Strategies --- */

static void branch_before_serial(struct emit *e, const struct ptx_inst *inst, size_t yes, size_t no)
{
	LLVMValueRef guard = emit_use_guard(e, inst);
	if (emit_branch_alike(e, guard, yes, no)) {
		emit_part_serial(e, emit_active(e), emit_lane_bits(e, guard), yes, no);
	}
}

static void go_serial(struct emit *e, size_t block)
{
	LLVMBuildBr(e->builder, e->serial->blocks[block]);
}

static void exit_serial(struct emit *e)
{
	LLVMBuildBr(e->builder, e->serial->next);
}

/* These kernels never wait, and have no brx. */
const struct emit_strategy emit_before_serial = {
	.go = emit_go_converged,
	.branch = branch_before_serial,
	.exit = emit_exit_converged,
};

const struct emit_strategy emit_serial = {
	.is_scalar = true,
	.in_slots = true,
	.go = go_serial,
	.branch = emit_branch_one,
	.exit = exit_serial,
};
