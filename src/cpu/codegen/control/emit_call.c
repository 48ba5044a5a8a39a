/* SPDX-License-Identifier: MIT */
/*
 * Calls of the functions that the device provides: printf, assert, malloc, free,
 * cudaGraphSetConditional.  flatten.c has
 * replaced all other calls, and has put every argument into a register or a number.
 */
#include "base/common.h"

#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"

/* Argument i as an integer of its size. */
static LLVMValueRef call_argument(struct emit *e, const struct ptx_inst *inst, size_t i)
{
	const struct ptx_func *callee = inst->operands[0].func;
	return emit_use(e, &inst->operands[2].elements[i],
		callee->params[i]->size == 8 ? PTX_B64 : PTX_B32);
}

/* The message, the file, the line, the function and the size of a character, which is 1; and the
 * thread that fails. */
static void emit_assert(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef args[7];
	for (size_t i = 0; i < 4; i++) {
		args[i] = call_argument(e, inst, i);
	}
	for (unsigned axis = 0; axis < 3; axis++) {
		args[4 + axis] = emit_sreg(e, (enum ptx_sreg)(PTX_SREG_TID_X + axis));
	}
	emit_rt_call(e, offsetof(struct rt_calls, assert_fail),
		LLVMVoidTypeInContext(e->context), args, countof(args));
}

void emit_call(struct emit *e, const struct ptx_inst *inst)
{
	static const struct {
		size_t slot;
		size_t args;
		enum ptx_type result;
	} rows[PTX_RUNTIME_COUNT] = {
		[PTX_RUNTIME_PRINT] = {offsetof(struct rt_calls, print), 2, PTX_U32},
		[PTX_RUNTIME_MALLOC] = {offsetof(struct rt_calls, malloc), 1, PTX_U64},
		[PTX_RUNTIME_FREE] = {offsetof(struct rt_calls, free), 1, PTX_U32},
		[PTX_RUNTIME_CONDITION] = {offsetof(struct rt_calls, set_condition), 2, PTX_U32},
	};
	enum ptx_runtime runtime = ptx_runtime_find(inst->operands[0].func);
	LLVMValueRef args[2];
	if (runtime == PTX_RUNTIME_COUNT) {
		emit_fail(e, "of a function that is not there");
		return;
	}
	if (runtime == PTX_RUNTIME_ASSERT) {
		emit_assert(e, inst);
		return;
	}
	for (size_t i = 0; i < rows[runtime].args; i++) {
		args[i] = call_argument(e, inst, i);
	}
	LLVMValueRef result = emit_rt_call(e, rows[runtime].slot,
		emit_type(e, rows[runtime].result), args, (unsigned)rows[runtime].args);
	emit_def(e, &inst->operands[1].elements[0], rows[runtime].result, result);
}

void emit_fail_launch(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef code = emit_int(e, 32, (uint64_t)inst->operands[0].value);
	emit_rt_call(e, offsetof(struct rt_calls, fail), LLVMVoidTypeInContext(e->context), &code,
		1);
}

/* Write down what a lane has made, and tell the runtime. */
static void call_made(struct emit *e, const struct ptx_inst *inst)
{
	uint32_t types = 0;
	if (!e->made) {
		e->made = emit_room(e, LLVMArrayType(e->s.i64,
			sizeof(struct rt_made) / sizeof(uint64_t)), "made");
	}
	LLVMValueRef made = ir_bitcast(e, e->made, e->ptr);
	for (unsigned i = 0; i + 1 < inst->operand_count; i++) {
		LLVMValueRef value = emit_use(e, &inst->operands[i + 1], inst->types[i]);
		types |= (uint32_t)inst->types[i] << 8 * i;
		emit_set_field(e, made, offsetof(struct rt_made, values[i]),
			ir_zext(e, emit_bits(e, value), e->s.i64));
	}
	emit_set_field(e, made, offsetof(struct rt_made, line), emit_u32(e, (uint64_t)inst->line));
	emit_set_field(e, made, offsetof(struct rt_made, op),
		emit_u32(e, (uint64_t)inst->operands[0].value));
	emit_set_field(e, made, offsetof(struct rt_made, types), emit_u32(e, types));
	LLVMValueRef args[] = {emit_lane_number(e), made};
	emit_call_once(e, offsetof(struct rt_calls, made), LLVMVoidTypeInContext(e->context), args,
		countof(args));
}

void emit_made(struct emit *e, const struct ptx_inst *inst)
{
	emit_each_lane(e, inst, call_made);
}

void emit_blame(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef args[] = {emit_lane_number(e), emit_arg(e, inst, 0)};
	emit_rt_call(e, offsetof(struct rt_calls, blame), LLVMVoidTypeInContext(e->context), args,
		countof(args));
}
