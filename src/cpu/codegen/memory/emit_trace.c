/* SPDX-License-Identifier: MIT */
/*
 * Tracing: a kernel notes where it is and what it is about to access, so that a fault can be
 * reported with its line, thread and address.
 *
 * Before each access the warp notes the line of PTX, the address of every lane, and the lanes that
 * run.  LLVM moves no access over these stores, for it may be to the same memory.  Kernels become
 * several times slower, so only KUDZU_CPU_GUARD and KUDZU_CPU_DEVICES turn tracing on.  Without it
 * a fault of a vector access is reported with less (emit_note_access).
 *
 * Where there are several devices, a kernel then checks the addresses (struct memory_parts): it
 * asks the driver about addresses that may be in the memory of another device, and traps if it must
 * not go there.  With KUDZU_CPU_GUARD=init it asks before each read whether the bytes were ever
 * written.
 */
#include "base/common.h"

#include "cpu/codegen/memory/emit_memory.h"
#include "cpu/codegen/control/emit_flow.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"

#include <string.h>

/* The place that an instruction accesses; NULL: none, or one that is only its own. */
static const struct ptx_operand *trace_place_of(const struct ptx_inst *inst)
{
	const struct ptx_operand *place = NULL;
	bool may = inst->space != PTX_PARAM && inst->space != PTX_LOCAL
		&& strchr(ptx_rows[inst->op].operands, 'm');
	for (size_t i = 0; may && i < inst->operand_count; i++) {
		const struct ptx_operand *operand = &inst->operands[i];
		if (operand->kind == PTX_ADDRESS && operand->bracketed
		    && !(operand->var && operand->var->space == PTX_LOCAL)) {
			place = operand; /* of cp.async the second one is in global memory */
		}
	}
	return place;
}

/* Bytes for each lane. */
static uint32_t trace_access_size(const struct ptx_inst *inst)
{
	uint32_t size = 0;
	for (size_t i = 0; i < countof(inst->types) && inst->types[i] != PTX_NONE; i++) {
		size = ptx_type_size(inst->types[i]);
	}
	return size * (ptx_has(&inst->mods, PTX_MOD_V8) ? 8 : ptx_has(&inst->mods, PTX_MOD_V4) ? 4
		: ptx_has(&inst->mods, PTX_MOD_V2) ? 2 : 1);
}

/* The address of the lane that is being made, as a number. */
static LLVMValueRef trace_lane_address(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *operand)
{
	enum ptx_space space = inst->space;
	return LLVMBuildPtrToInt(e->builder, emit_address(e, operand, &space, e->i8), e->s.i64, "");
}

/* The lanes, as a scalar, whose addresses lie in parts of the devices' memory that are not simply
 * allowed. */
static LLVMValueRef trace_doubtful(struct emit *e, LLVMValueRef at)
{
	const bool all = LLVMGetTypeKind(LLVMTypeOf(at)) == LLVMVectorTypeKind;
	LLVMValueRef launch = emit_launch_base(e);
	LLVMValueRef base = emit_field(e, launch, offsetof(struct rt_launch, parts_base), e->s.i64);
	LLVMValueRef shift = ir_zext(e,
		emit_field(e, launch, offsetof(struct rt_launch, parts_shift), e->s.i32), e->s.i64);
	LLVMValueRef mask = ir_zext(e, emit_field(e, launch, offsetof(struct rt_launch, parts_mask),
		e->s.i32), e->s.i64);
	LLVMValueRef most = emit_scalar(e, 64, 31), one = emit_scalar(e, 64, 1);
	if (all) {
		base = emit_splat(e, base);
		shift = emit_splat(e, shift);
		mask = emit_splat(e, mask);
		most = emit_splat(e, most);
		one = emit_splat(e, one);
	}
	LLVMValueRef part = ir_lshr(e, ir_sub(e, at, base), shift);
	part = LLVMBuildSelect(e->builder, ir_icmp(e, LLVMIntULT, part, most), part, most, "");
	LLVMValueRef is_doubtful = ir_icmp(e, LLVMIntEQ, ir_and(e, ir_lshr(e, mask, part), one),
		LLVMConstNull(LLVMTypeOf(at)));
	return all ? ir_and(e, emit_lane_bits(e, is_doubtful), emit_active(e))
		: ir_zext(e, is_doubtful, e->s.i32);
}

/* Ask a function of rt_calls about these lanes, whose addresses were noted, and trap the first lane
 * that must not go there. */
static void trace_ask(struct emit *e, LLVMValueRef doubtful, size_t function)
{
	LLVMValueRef none = emit_u32(e, 0);
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
	LLVMBasicBlockRef ask = emit_block(e, "ask");
	LLVMBasicBlockRef asked = emit_block(e, "asked");
	emit_expect_first(e, LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntEQ, doubtful, none),
		asked, ask));
	emit_enter(e, ask);
	LLVMValueRef denied = emit_call_once(e, function, e->s.i32, NULL, 0);
	LLVMBuildBr(e->builder, asked);
	emit_enter(e, asked);
	LLVMValueRef lanes = LLVMBuildPhi(e->builder, e->s.i32, "");
	LLVMAddIncoming(lanes, (LLVMValueRef[]){none, denied}, (LLVMBasicBlockRef[]){before, ask},
		2);
	LLVMValueRef mask = e->mask;
	e->mask = lanes;
	emit_trap_if(e, ir_icmp(e, LLVMIntNE, lanes, none));
	e->mask = mask;
}

static bool trace_is_read(const struct ptx_inst *inst)
{
	return inst->op == PTX_OP_LD || inst->op == PTX_OP_LDU || inst->op == PTX_OP_ATOM
		|| inst->op == PTX_OP_RED;
}

static void trace_place(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *operand)
{
	bool all = emit_is_vector(e);
	LLVMValueRef lane = all ? emit_u32(e, 0) : emit_lane_number(e);
	LLVMValueRef at = all ? emit_lane_addresses(e, inst, operand)
		: trace_lane_address(e, inst, operand);
	LLVMValueRef offset = ir_add(e, emit_scalar(e, 64, offsetof(struct rt_warp, at)),
		ir_zext(e, ir_shl(e, lane, emit_u32(e, 3)), e->s.i64));
	LLVMValueRef place = emit_at(e, e->warp, offset, LLVMTypeOf(at));
	LLVMSetAlignment(LLVMBuildStore(e->builder, at, place), sizeof(uint64_t));
	LLVMValueRef lanes = all ? emit_active(e) : ir_shl(e, emit_u32(e, 1), lane);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, gathers), lanes);
	if (e->is_checked) {
		trace_ask(e, trace_doubtful(e, at), offsetof(struct rt_calls, ask));
	}
	if (e->is_watched && trace_is_read(inst)) {
		trace_ask(e, lanes, offsetof(struct rt_calls, ask_written));
	}
}

void emit_trace(struct emit *e, const struct ptx_inst *inst)
{
	const struct ptx_operand *place = trace_place_of(inst);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, line),
		emit_u32(e, (uint64_t)inst->line));
	emit_set_field(e, e->warp, offsetof(struct rt_warp, access),
		emit_u32(e, place ? trace_access_size(inst) : 0));
	if (place) {
		trace_place(e, inst, place);
	}
}
