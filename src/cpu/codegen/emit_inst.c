/* SPDX-License-Identifier: MIT */
/*
 * Instructions: each goes to the function that its row of ptx.def names, under its guard.
 *
 * At W = 1 a guarded instruction becomes a branch around it, of which LLVM makes a select where
 * that pays.  At W = 32 its guard is a mask.  An instruction whose result is uniform is made once,
 * with scalars (emit_begin_once).
 */
#include "base/common.h"

#include "cpu/codegen/emit_blocks.h"
#include "cpu/codegen/values/emit_count.h"
#include "cpu/codegen/memory/emit_memory.h"
#include "cpu/codegen/values/emit_debug.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_value.h"

static emit_fn *const emitters[PTX_OP_COUNT] = {
#define X(op, spelling, operands, types, mods, kind, emit, note) [PTX_OP_##op] = emit,
#include "cpu/ptx/ptx.def"
#undef X
};

static void inst_call_plain(struct emit *e, const struct ptx_inst *inst)
{
	if (emitters[inst->op]) {
		emitters[inst->op](e, inst);
	} else {
		emit_fail(e, "is not supported by the CPU device");
	}
}

/* W = 32: once for all lanes if they have it alike. */
static void inst_call_once(struct emit *e, const struct ptx_inst *inst)
{
	struct uniformity made = {.is_vector = true};
	if (!e->strategy->is_scalar) {
		made = uniformity_of_result(&e->uniformity, inst);
	}
	if (made.is_vector) {
		inst_call_plain(e, inst);
		emit_count_rest(e);
		return;
	}
	e->offsets = made.offsets;
	struct emit_mode vectors = emit_begin_once(e);
	inst_call_plain(e, inst);
	emit_set_mode(e, vectors);
	e->offsets = NULL;
	emit_count_rest(e);
}

static void inst_call_emitter(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef at = NULL;
	if (e->asks) {
		emit_check(e, inst);
		at = emit_check_uses(e, inst) ? emit_check_address(e, inst) : NULL;
	}
	emit_count_access(e, inst);
	inst_call_once(e, inst);
	if (at) {
		emit_check_loaded(e, inst, at);
	}
}

/* Around the instruction: all lanes do it, or none. */
static void inst_branch_guarded(struct emit *e, const struct ptx_inst *inst, LLVMValueRef guard)
{
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
	LLVMBasicBlockRef then = emit_block(e, "then");
	LLVMBasicBlockRef after = emit_block(e, "after");
	struct emit_merge merge = {.count = 0};
	LLVMBuildCondBr(e->builder, guard, then, after);
	emit_enter(e, then);
	e->merge = &merge;
	inst_call_emitter(e, inst);
	LLVMBasicBlockRef end = LLVMGetInsertBlock(e->builder);
	bool is_open = emit_is_open(e);
	if (is_open) {
		LLVMBuildBr(e->builder, after);
	}
	emit_enter(e, after);
	if (is_open) {
		emit_merge_values(e, end, before);
	}
	e->merge = NULL;
}

/* W = 32: for those lanes. */
static void inst_mask_guarded(struct emit *e, const struct ptx_inst *inst, LLVMValueRef guard)
{
	LLVMValueRef mask = e->mask;
	LLVMValueRef lanes = e->mask_lanes;
	e->mask_lanes = lanes ? ir_and(e, lanes, guard) : guard;
	e->mask = emit_lane_bits(e, e->mask_lanes);
	inst_call_emitter(e, inst);
	e->mask = mask;
	e->mask_lanes = lanes;
}

/* Only branches end a block under a guard: lower.c has seen to that. */
void emit_inst(struct emit *e, const struct ptx_inst *inst)
{
	e->inst = inst;
	emit_debug_at(e, inst);
	if (!inst->has_guard || inst->op == PTX_OP_BRA) {
		inst_call_emitter(e, inst);
		return;
	}
	bool all_or_none = e->strategy->is_scalar || emit_is_same(e, inst->guard);
	LLVMValueRef guard = emit_use_guard(e, inst);
	if (all_or_none) {
		inst_branch_guarded(e, inst, guard);
	} else {
		inst_mask_guarded(e, inst, guard);
	}
}
