/* SPDX-License-Identifier: MIT */
/*
 * Ordered accesses: loads and stores of a warp that are volatile, relaxed, acquire or release.
 * Each element has to be one access, made once.  A C function makes them lane after lane, where
 * LLVM's passes over the kernel cannot see them.
 */
#include "base/common.h"

#include "cpu/codegen/memory/emit_memory.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"

bool emit_is_ordered(struct emit *e, const struct ptx_inst *inst)
{
	return emit_is_vector(e) && emit_order(inst) != LLVMAtomicOrderingNotAtomic
		&& inst->types[0] != PTX_PRED && ptx_type_size(inst->types[0]) <= sizeof(uint64_t);
}

/* Nothing moves past here that the order forbids. */
static void fence(struct emit *e, const struct ptx_inst *inst, LLVMAtomicOrdering order)
{
	LLVMAtomicOrdering asked = emit_order(inst);
	if (asked == LLVMAtomicOrderingSequentiallyConsistent || asked == order) {
		LLVMBuildFence(e->builder, asked, false, "");
	}
}

static size_t strong_parts_of(const struct ptx_operand *operand, const struct ptx_operand **parts)
{
	bool vector = operand->kind == PTX_VECTOR;
	*parts = vector ? operand->elements : operand;
	return vector ? operand->count : 1;
}

static void strong_move(struct emit *e, const struct ptx_inst *inst, size_t count, bool store)
{
	emit_call_lanes(e, offsetof(struct rt_calls, move_lanes), ptx_type_size(inst->types[0]),
		(unsigned)count, store);
}

void emit_ordered_load(struct emit *e, const struct ptx_inst *inst)
{
	const struct ptx_operand *parts;
	enum ptx_type type = inst->types[0];
	size_t count = strong_parts_of(&inst->operands[0], &parts);
	LLVMValueRef values[RT_PARTS];
	assert(count <= RT_PARTS);
	emit_put_lanes(e, emit_lane_addresses(e, inst, &inst->operands[1]), NULL, 0);
	strong_move(e, inst, count, false);
	fence(e, inst, LLVMAtomicOrderingAcquire);
	for (size_t i = 0; i < count; i++) {
		values[i] = emit_take_lanes(e, emit_type(e, type), (unsigned)i);
	}
	for (size_t i = 0; i < count; i++) {
		emit_def(e, &parts[i], type, values[i]);
	}
}

void emit_ordered_store(struct emit *e, const struct ptx_inst *inst)
{
	const struct ptx_operand *parts;
	size_t count = strong_parts_of(&inst->operands[1], &parts);
	LLVMValueRef values[RT_PARTS];
	assert(count <= RT_PARTS);
	for (size_t i = 0; i < count; i++) {
		values[i] = emit_use(e, &parts[i], inst->types[0]);
	}
	fence(e, inst, LLVMAtomicOrderingRelease);
	emit_put_lanes(e, emit_lane_addresses(e, inst, &inst->operands[0]), values, (unsigned)count);
	strong_move(e, inst, count, true);
	fence(e, inst, LLVMAtomicOrderingSequentiallyConsistent);
}
