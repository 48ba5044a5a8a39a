/* SPDX-License-Identifier: MIT */
/*
 * Operands as values and as places: what an instruction reads, where it writes, and what a memory
 * operand points to.
 *
 * Generic, .global, .const, .param and .local addresses are host addresses.  A .shared address is
 * an offset of 32 bits from warp->shared, and cvta adds or subtracts the base.  The offset and the
 * displacement are taken as signed.  For every address that exists this is the sum modulo 4 GiB,
 * and it cannot leave the guards of launch.c.
 */
#include "base/common.h"

#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_value.h"
#include "cpu/ptx/ptx_mma.h"

/* --- Addresses --- */

/* The local memory of a lane that is a scalar. */
static LLVMValueRef operand_own_local(struct emit *e)
{
	return e->lane ? emit_at(e, emit_local_base(e), emit_local_offset(e), e->s.i8)
		: emit_local_base(e);
}

LLVMValueRef emit_var_base(struct emit *e, const struct ptx_var *var, uint64_t *offset)
{
	*offset = var->space == PTX_GLOBAL || var->space == PTX_CONST ? 0 : var->offset;
	switch (var->space) {
	case PTX_SHARED:
		return emit_shared_base(e);
	case PTX_LOCAL:
		return operand_own_local(e);
	case PTX_PARAM:
		return emit_params_base(e);
	default:
		return emit_global_base(e, var);
	}
}

LLVMValueRef emit_var(struct emit *e, const struct ptx_var *var)
{
	if (var->space == PTX_SHARED) {
		return emit_int(e, 64, var->offset);
	}
	if (var->space == PTX_LOCAL && emit_is_vector(e)) {
		LLVMValueRef base = emit_splat(e, emit_pointer_bits(e, emit_local_base(e)));
		return ir_add(e, ir_add(e, base, emit_local_offset(e)),
			emit_int(e, 64, var->offset));
	}

	uint64_t offset;
	LLVMValueRef base = emit_var_base(e, var, &offset);
	base = emit_at(e, base, emit_scalar(e, 64, offset), e->s.i8);
	return emit_splat(e, emit_pointer_bits(e, base));
}

LLVMValueRef emit_address(struct emit *e, const struct ptx_operand *operand,
	enum ptx_space *space, LLVMTypeRef type)
{
	uint64_t offset = 0;
	LLVMValueRef base = NULL;
	LLVMValueRef place;

	if (operand->var) {
		*space = operand->var->space;
		base = emit_var_base(e, operand->var, &offset);
	} else if (*space == PTX_SHARED) {
		base = emit_shared_base(e);
	}
	offset += (uint64_t)operand->value;
	if (*space == PTX_SHARED) {
		offset = (uint64_t)(int32_t)offset;
	}

	if (operand->has_base) {
		LLVMValueRef reg = *space == PTX_SHARED
			? ir_sext(e, emit_use_reg(e, emit_reg_of(operand), PTX_U32), e->i64)
			: emit_use_reg(e, emit_reg_of(operand), PTX_U64);
		base = base ? emit_at(e, base, reg, e->i8)
			: LLVMBuildIntToPtr(e->builder, reg, e->ptr, "");
	}
	if (!base) {
		place = emit_int(e, 64, offset);
		return LLVMBuildIntToPtr(e->builder, place, LLVMPointerType(type, 0), "");
	}
	return emit_at(e, base, emit_int(e, 64, offset), type);
}

LLVMValueRef emit_lane_addresses(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *operand)
{
	enum ptx_space space = operand->var ? operand->var->space : inst->space;
	LLVMValueRef at = emit_int(e, 64, space == PTX_SHARED
		? (uint64_t)(int32_t)operand->value : (uint64_t)operand->value);
	if (operand->var) {
		at = ir_add(e, at, emit_var(e, operand->var));
	}
	if (operand->has_base) {
		at = ir_add(e, at, space == PTX_SHARED
			? ir_sext(e, emit_use_reg(e, emit_reg_of(operand), PTX_U32), e->i64)
			: emit_use_reg(e, emit_reg_of(operand), PTX_U64));
	}
	if (space == PTX_SHARED) {
		at = ir_add(e, at, emit_splat(e, emit_pointer_bits(e, emit_shared_base(e))));
	}
	return at;
}

LLVMValueRef emit_matrix_stride(struct emit *e, const struct ptx_inst *inst,
	const struct mma *mma)
{
	return inst->operand_count > 2 ? emit_use(e, &inst->operands[2], PTX_U32)
		: emit_int(e, 32, mma_line_length(mma, mma_moved(inst)));
}

LLVMValueRef emit_is_within(struct emit *e, LLVMValueRef address, LLVMValueRef base,
	LLVMValueRef size)
{
	return ir_icmp(e, LLVMIntULT, ir_sub(e, address, base), size);
}

LLVMValueRef emit_all_bits(struct emit *e, LLVMValueRef pointer)
{
	return emit_splat(e, emit_pointer_bits(e, pointer));
}

LLVMValueRef emit_is_shared(struct emit *e, LLVMValueRef address)
{
	return emit_is_within(e, address, emit_all_bits(e, emit_shared_base(e)),
		emit_int(e, 64, RT_SHARED_WINDOW));
}

/* --- Values --- */

bool emit_is_known(const struct emit *e, const struct ptx_operand *operand, uint64_t *value)
{
	struct uniformity lanes = uniformity_of_operand(&e->uniformity, operand);
	*value = lanes.value;
	return lanes.is_known && lanes.has_value && uniformity_is_uniform(&lanes);
}

void emit_def(struct emit *e, const struct ptx_operand *operand, enum ptx_type type,
	LLVMValueRef value)
{
	if (operand->kind == PTX_REG) {
		emit_def_reg(e, emit_reg_of(operand), type, value);
	}
}

/* A float constant keeps its bits if it has the size of the type, else its value. */
static LLVMValueRef operand_use_real(struct emit *e, const struct ptx_operand *operand,
	enum ptx_type type)
{
	unsigned bits = ptx_type_bits(type);
	if (operand->real_width == bits) {
		return emit_cast(e, emit_int(e, bits, operand->real_bits), emit_type(e, type));
	}

	LLVMTypeRef real = bits == 64 ? e->f64 : e->f32;
	return emit_resize(e, emit_real(e, real, operand->real), emit_type(e, type), false);
}

/* mov's {a, b, ...}: the first element is the lowest. */
static LLVMValueRef operand_use_vector(struct emit *e, const struct ptx_operand *operand,
	enum ptx_type type)
{
	static const enum ptx_type parts[] = {PTX_B8, PTX_B16, PTX_B32, PTX_B64};
	unsigned bits = ptx_type_bits(type);
	unsigned part_bits = bits / (unsigned)operand->count;
	LLVMTypeRef whole = emit_int_type(e, bits);
	LLVMValueRef all = emit_int(e, bits, 0);

	for (size_t i = 0; i < operand->count; i++) {
		enum ptx_type part = parts[__builtin_ctz(part_bits) - 3];
		LLVMValueRef value = ir_zext(e, emit_use(e, &operand->elements[i], part), whole);
		LLVMValueRef shift = ir_zext(e, emit_int(e, 32, i * part_bits), whole);
		all = ir_or(e, all, ir_shl(e, value, shift));
	}
	return emit_cast(e, all, emit_type(e, type));
}

LLVMValueRef emit_use(struct emit *e, const struct ptx_operand *operand, enum ptx_type type)
{
	LLVMTypeRef as = emit_type(e, type);
	LLVMValueRef value;

	switch (operand->kind) {
	case PTX_REG:
		value = emit_use_reg(e, emit_reg_of(operand), type);
		return operand->negated ? ir_not(e, value) : value;
	case PTX_INT:
		if (type == PTX_PRED) {
			return emit_int(e, 1, operand->value != 0);
		}
		value = LLVMConstInt(LLVMIntTypeInContext(e->context, ptx_type_bits(type)),
			(uint64_t)operand->value, true);
		return emit_cast(e, emit_is_vector(e) ? emit_repeat(e, value) : value, as);
	case PTX_FLOAT:
		return operand_use_real(e, operand, type);
	case PTX_SREG:
		return emit_resize(e, emit_sreg(e, operand->sreg), as, false);
	case PTX_ADDRESS:
		value = operand->var ? emit_var(e, operand->var) : emit_int(e, 64, 0);
		value = ir_add(e, value, emit_int(e, 64, (uint64_t)operand->value));
		return emit_resize(e, value, as, false);
	case PTX_VECTOR:
		return operand_use_vector(e, operand, type);
	default:
		emit_fail(e, "has an operand that is not supported");
		return LLVMGetUndef(as);
	}
}
