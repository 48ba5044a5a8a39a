/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous copies into shared memory, and barriers there (mbarrier).  A copy is done at once,
 * so a wait for a group of copies does nothing, and an arrival that waits for copies arrives at
 * once.
 */
#include "base/common.h"

#include "cpu/codegen/memory/emit_memory.h"
#include "cpu/runtime/rt_mbarrier.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"

/* The number of bytes that a copy reads, i32: operand 3 is the number, or a predicate that makes it
 * 0. */
static LLVMValueRef async_read_size(struct emit *e, const struct ptx_inst *inst)
{
	const struct ptx_operand *size = &inst->operands[2];
	const struct ptx_operand *read = &inst->operands[3];
	size_t policy = ptx_has(&inst->mods, PTX_MOD_CACHE_HINT);
	LLVMValueRef whole = emit_int(e, 32, (uint64_t)size->value);
	if (inst->operand_count - policy < 4) {
		return whole;
	}
	if (read->kind == PTX_REG && e->func->regs[read->reg].type == PTX_PRED) {
		return ir_select(e, emit_use(e, read, PTX_PRED), emit_int(e, 32, 0), whole);
	}
	return emit_use(e, read, PTX_U32);
}

/* Operands: [to], [from], bytes, ?bytes to read or predicate not to read, ?policy.  Bytes that are
 * not read are zero. */
static void async_copy_lane(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_space shared = PTX_SHARED, global = PTX_GLOBAL;
	LLVMValueRef read = async_read_size(e, inst);
	if (!LLVMIsConstant(read)) { // else emit_check has asked
		emit_check_bytes(e, inst, (struct emit_bytes){&inst->operands[1], global, RT_READS,
			read, (uint32_t)inst->operands[2].value});
	}
	LLVMValueRef args[] = {
		emit_address(e, &inst->operands[0], &shared, e->i8),
		emit_address(e, &inst->operands[1], &global, e->i8),
		emit_int(e, 32, (uint64_t)inst->operands[2].value), read
	};
	emit_rt_call(e, offsetof(struct rt_calls, copy), LLVMVoidTypeInContext(e->context), args,
		countof(args));
}

void emit_cp_async(struct emit *e, const struct ptx_inst *inst)
{
	emit_each_lane(e, inst, async_copy_lane);
}

static LLVMValueRef async_call_at(struct emit *e, enum ptx_space space,
	const struct ptx_operand *address, enum mbarrier_op op, LLVMValueRef argument)
{
	LLVMValueRef args[] = {emit_int(e, 32, op), emit_lane_number(e),
		emit_address(e, address, &space, e->i64), argument};
	return emit_rt_call(e, offsetof(struct rt_calls, mbarrier), e->i64, args, countof(args));
}

static LLVMValueRef async_call(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *address, enum mbarrier_op op, LLVMValueRef argument)
{
	return async_call_at(e, inst->space, address, op, argument);
}

/* PTX ISA 9.7.9.25.4.1: addresses of bulk copies are multiples of 16. */
enum { ASYNC_BULK_ALIGN = 16 };

/* Operands: [to], [from], bytes, and the barrier that counts them. */
static void async_bulk_copy_lane(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_space to = inst->op == PTX_OP_CP_BULK_OUT ? PTX_GLOBAL : PTX_SHARED;
	enum ptx_space from = inst->op == PTX_OP_CP_BULK_IN ? PTX_GLOBAL : PTX_SHARED;
	LLVMValueRef size = emit_use(e, &inst->operands[2], PTX_U32);
	emit_check_bytes(e, inst, (struct emit_bytes){&inst->operands[0], to, RT_WRITES, size,
		ASYNC_BULK_ALIGN});
	emit_check_bytes(e, inst, (struct emit_bytes){&inst->operands[1], from, RT_READS, size,
		ASYNC_BULK_ALIGN});
	LLVMValueRef args[] = {
		emit_address(e, &inst->operands[0], &to, e->i8),
		emit_address(e, &inst->operands[1], &from, e->i8), size, size
	};
	emit_rt_call(e, offsetof(struct rt_calls, copy), LLVMVoidTypeInContext(e->context), args,
		countof(args));
	if (inst->op != PTX_OP_CP_BULK_OUT) {
		// A thread that waits for the barrier knows of the copy.
		emit_check_bytes(e, inst, (struct emit_bytes){&inst->operands[3], PTX_SHARED,
			RT_CHANGES, emit_u32(e, sizeof(uint64_t)), sizeof(uint64_t),
			RT_ACCESS_STRONG | RT_ACCESS_CTA | RT_ACCESS_RELEASE | RT_ACCESS_MBARRIER});
		async_call_at(e, PTX_SHARED, &inst->operands[3], MBARRIER_COMPLETE,
			ir_zext(e, size, e->i64));
	}
}

void emit_cp_bulk(struct emit *e, const struct ptx_inst *inst)
{
	emit_each_lane(e, inst, async_bulk_copy_lane);
}

/* Operands: [to], bytes, 0.  Sizes of 4 GiB and more do not fit into shared memory. */
static void async_bulk_store_lane(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_space space = inst->space;
	LLVMValueRef to = emit_address(e, &inst->operands[0], &space, e->i8);
	LLVMValueRef size = emit_use(e, &inst->operands[1], PTX_U64);
	size = ir_call2(e, "llvm.umin", size, emit_int(e, 64, UINT32_MAX));
	size = ir_trunc(e, size, e->i32);
	emit_check_bytes(e, inst, (struct emit_bytes){&inst->operands[0], inst->space, RT_WRITES,
		size, 8});
	LLVMValueRef args[] = {to, to, size, emit_int(e, 32, 0)};
	emit_rt_call(e, offsetof(struct rt_calls, copy), LLVMVoidTypeInContext(e->context), args,
		countof(args));
}

void emit_st_bulk(struct emit *e, const struct ptx_inst *inst)
{
	emit_each_lane(e, inst, async_bulk_store_lane);
}

/* Without .noinc one more thread is expected before this one arrives, so nothing changes. */
static void async_arrive_lane(struct emit *e, const struct ptx_inst *inst)
{
	if (ptx_has(&inst->mods, PTX_MOD_NOINC)) {
		async_call(e, inst, &inst->operands[0], MBARRIER_ARRIVE, emit_int(e, 64, 1));
	}
}

void emit_cp_arrive(struct emit *e, const struct ptx_inst *inst)
{
	emit_each_lane(e, inst, async_arrive_lane);
}

/* An argument of 32 bits. */
static LLVMValueRef async_argument(struct emit *e, const struct ptx_inst *inst, size_t index)
{
	return index < inst->operand_count
		? ir_zext(e, emit_use(e, &inst->operands[index], PTX_U32), e->i64)
		: emit_int(e, 64, 1);
}

static void async_arrive(struct emit *e, const struct ptx_inst *inst)
{
	bool drop = ptx_has(&inst->mods, PTX_MOD_ARRIVE_DROP);
	enum mbarrier_op op = ptx_has(&inst->mods, PTX_MOD_EXPECT_TX)
		? drop ? MBARRIER_DROP_TX : MBARRIER_ARRIVE_TX
		: drop ? MBARRIER_DROP : MBARRIER_ARRIVE;
	emit_def(e, &inst->operands[0], PTX_B64,
		async_call(e, inst, &inst->operands[1], op, async_argument(e, inst, 2)));
}

static void async_test(struct emit *e, const struct ptx_inst *inst)
{
	bool parity = inst->op == PTX_OP_MBARRIER_PARITY;
	LLVMValueRef what = parity ? async_argument(e, inst, 2)
		: emit_use(e, &inst->operands[2], PTX_B64);
	LLVMValueRef over = async_call(e, inst, &inst->operands[1],
		parity ? MBARRIER_TEST_PARITY : MBARRIER_TEST, what);
	emit_def(e, &inst->operands[0], PTX_PRED, ir_trunc(e, over, e->i1));
}

static void async_mbarrier_lane(struct emit *e, const struct ptx_inst *inst)
{
	switch (inst->op) {
	case PTX_OP_MBARRIER_INIT:
		async_call(e, inst, &inst->operands[0], MBARRIER_INIT, async_argument(e, inst, 1));
		break;
	case PTX_OP_MBARRIER_TX:
		async_call(e, inst, &inst->operands[0], ptx_has(&inst->mods, PTX_MOD_EXPECT_TX)
			? MBARRIER_EXPECT : MBARRIER_COMPLETE, async_argument(e, inst, 1));
		break;
	case PTX_OP_MBARRIER_WAIT:
	case PTX_OP_MBARRIER_PARITY:
		async_test(e, inst);
		break;
	default:
		async_arrive(e, inst);
		break;
	}
}

void emit_mbarrier(struct emit *e, const struct ptx_inst *inst)
{
	emit_each_lane(e, inst, async_mbarrier_lane);
}

/* The number of pending arrivals in a state. */
void emit_mbarrier_pending(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef state = emit_use(e, &inst->operands[1], PTX_B64);
	state = ir_mask(e, ir_lshr_by(e, state, MBARRIER_PENDING_SHIFT), MBARRIER_COUNT_MASK);
	emit_def(e, &inst->operands[0], PTX_U32, ir_trunc(e, state, e->i32));
}
