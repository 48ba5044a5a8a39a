/* SPDX-License-Identifier: MIT */
/*
 * Matrices of a warp: mma and wmma, and moves of fragments to and from memory.  All threads of the
 * warp write their fragments and addresses to the exchange, and rt_mma.c and rt_matrix.c do the
 * rest.
 */
#include "base/common.h"

#include "cpu/ptx/ptx_mma.h"
#include "cpu/runtime/rt_collect.h"
#include "cpu/runtime/rt_mma.h"
#include "cpu/codegen/control/emit_collect.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"

/* The registers of a list, or the one register. */
static const struct ptx_operand *matrix_registers(const struct ptx_operand *operand, size_t *count)
{
	bool list = operand->kind == PTX_VECTOR;
	*count = list ? operand->count : 1;
	return list ? operand->elements : operand;
}

/* Put the words of fragment `index` after the first *word. */
static void matrix_put_fragment(struct emit *e, const struct ptx_inst *inst, size_t index,
	unsigned *word)
{
	enum ptx_type type = PTX_NONE;
	size_t count;
	mma_operand(inst, index, &type, &count);
	const struct ptx_operand *regs = matrix_registers(&inst->operands[index], &count);
	for (size_t i = 0; i < count; i++) {
		LLVMValueRef value = emit_bits(e, emit_use(e, &regs[i], type));
		emit_put_word(e, (*word)++, ir_trunc(e, value, e->i32));
		if (type == PTX_F64) {
			value = ir_lshr_by(e, value, 32);
			emit_put_word(e, (*word)++, ir_trunc(e, value, e->i32));
		}
	}
}

/* Write operand 0 from the results. */
static void matrix_take_fragment(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type type = PTX_NONE;
	size_t count;
	unsigned word = 0;
	mma_operand(inst, 0, &type, &count);
	const struct ptx_operand *regs = matrix_registers(&inst->operands[0], &count);
	for (size_t i = 0; i < count; i++) {
		LLVMValueRef value = emit_collected(e, word++);
		if (type == PTX_F64) {
			LLVMValueRef high = ir_zext(e, emit_collected(e, word++), e->i64);
			value = ir_or(e, ir_zext(e, value, e->i64), ir_shl_by(e, high, 32));
		}
		emit_def(e, &regs[i], type, emit_cast(e, value, emit_type(e, type)));
	}
}

static void matrix_collect(struct emit *e, enum collect op, uint32_t details)
{
	emit_collect(e, collect_what(op, details), emit_int(e, 32, UINT32_MAX), NULL, 0);
}

/* The address that is operand 0 of a store, 1 of a load. */
static void matrix_put_address_lane(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_space space = inst->space;
	const struct ptx_operand *address = &inst->operands[inst->operands[0].bracketed ? 0 : 1];
	LLVMValueRef place = emit_address(e, address, &space, e->i8);
	place = LLVMBuildPtrToInt(e->builder, place, e->i64, "");
	emit_put_word(e, 0, ir_trunc(e, place, e->i32));
	emit_put_word(e, 1, ir_trunc(e, ir_lshr_by(e, place, 32), e->i32));
}

static struct mma matrix_describe(const struct ptx_inst *inst)
{
	struct mma mma;
	mma_of(&mma, inst);
	return mma;
}

void emit_mma(struct emit *e, const struct ptx_inst *inst)
{
	if (inst->is_second) {
		matrix_take_fragment(e, inst);
		return;
	}
	struct mma mma = matrix_describe(inst);
	unsigned word = 0;
	for (size_t i = 1; i <= 3; i++) {
		matrix_put_fragment(e, inst, i, &word);
	}
	matrix_collect(e, COLLECT_MMA, mma_encode(&mma));
}

void emit_wmma_load(struct emit *e, const struct ptx_inst *inst)
{
	static const enum collect loads[] = {[MMA_A] = COLLECT_LOAD_A, [MMA_B] = COLLECT_LOAD_B,
		[MMA_C] = COLLECT_LOAD_C};
	if (inst->is_second) {
		matrix_take_fragment(e, inst);
		return;
	}
	struct mma mma = matrix_describe(inst);
	enum mma_matrix matrix = mma_moved(inst);
	emit_each_lane(e, inst, matrix_put_address_lane);
	emit_put_word(e, 2, emit_matrix_stride(e, inst, &mma));
	matrix_collect(e, loads[matrix], mma_encode(&mma));
}

void emit_wmma_store(struct emit *e, const struct ptx_inst *inst)
{
	struct mma mma = matrix_describe(inst);
	unsigned word = 3;
	emit_each_lane(e, inst, matrix_put_address_lane);
	emit_put_word(e, 2, emit_matrix_stride(e, inst, &mma));
	matrix_put_fragment(e, inst, 1, &word);
	matrix_collect(e, COLLECT_STORE_D, mma_encode(&mma));
}

/* How many matrices, and whether transposed. */
static uint32_t matrix_details(const struct ptx_inst *inst)
{
	enum ptx_type type;
	size_t count = 0;
	mma_operand(inst, 0, &type, &count);
	return (uint32_t)count | (ptx_has(&inst->mods, PTX_MOD_TRANS) ? MATRIX_TRANSPOSED : 0);
}

void emit_ldmatrix(struct emit *e, const struct ptx_inst *inst)
{
	if (inst->is_second) {
		matrix_take_fragment(e, inst);
		return;
	}
	emit_each_lane(e, inst, matrix_put_address_lane);
	matrix_collect(e, COLLECT_LDMATRIX, matrix_details(inst));
}

void emit_stmatrix(struct emit *e, const struct ptx_inst *inst)
{
	unsigned word = 2;
	emit_each_lane(e, inst, matrix_put_address_lane);
	matrix_put_fragment(e, inst, 1, &word);
	matrix_collect(e, COLLECT_STMATRIX, matrix_details(inst));
}

void emit_movmatrix(struct emit *e, const struct ptx_inst *inst)
{
	if (inst->is_second) {
		emit_def(e, &inst->operands[0], PTX_B32, emit_collected(e, 0));
		return;
	}
	emit_put_word(e, 0, emit_use(e, &inst->operands[1], PTX_B32));
	matrix_collect(e, COLLECT_MOVMATRIX, 0);
}
