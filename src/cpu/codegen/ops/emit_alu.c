/* SPDX-License-Identifier: MIT */
/*
 * Integer arithmetic, with extended precision.  The CC register is one carry bit.  A borrow clears
 * it: the PTX ISA says otherwise, but processors add the complement, and the 128-bit division that
 * NVRTC makes relies on that.  Division by zero, which PTX leaves open, gives what NVIDIA's
 * processors give and never traps.
 */
#include "base/common.h"

#include "cpu/codegen/ops/emit_float.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_value.h"

/* An overflow-reporting intrinsic: the value, and the flag in *overflow. */
static LLVMValueRef alu_with_overflow(struct emit *e, const char *name, LLVMValueRef a,
	LLVMValueRef b, LLVMValueRef *overflow)
{
	LLVMValueRef both = ir_call2(e, name, a, b);
	*overflow = LLVMBuildExtractValue(e->builder, both, 1, "");
	return LLVMBuildExtractValue(e->builder, both, 0, "");
}

static void alu_set_carry(struct emit *e, const struct ptx_inst *inst, LLVMValueRef carry)
{
	if (ptx_has(&inst->mods, PTX_MOD_CC)) {
		struct ptx_held to = {inst->carry_out, inst->carry_out_value};
		emit_def_reg(e, to, PTX_PRED, carry);
	}
}

/* a + b + carry, or a - b - !carry; `with` says whether the carry counts.  Sets it under .cc. */
static LLVMValueRef alu_with_carry(struct emit *e, const struct ptx_inst *inst, bool subtract,
	bool with, LLVMValueRef a, LLVMValueRef b)
{
	const char *name = subtract ? "llvm.usub.with.overflow" : "llvm.uadd.with.overflow";
	LLVMValueRef over;
	LLVMValueRef sum = alu_with_overflow(e, name, a, b, &over);
	if (with) {
		LLVMValueRef over2;
		struct ptx_held from = {inst->carry_in, inst->carry_in_value};
		LLVMValueRef carry = emit_use_reg(e, from, PTX_PRED);
		carry = subtract ? ir_not(e, carry) : carry;
		sum = alu_with_overflow(e, name, sum, ir_zext(e, carry, LLVMTypeOf(sum)), &over2);
		over = ir_or(e, over, over2);
	}
	alu_set_carry(e, inst, subtract ? ir_not(e, over) : over);
	return sum;
}

static void alu_add_or_subtract(struct emit *e, const struct ptx_inst *inst, bool subtract)
{
	LLVMValueRef a = emit_arg(e, inst, 1);
	LLVMValueRef b = emit_arg(e, inst, 2);
	if (ptx_has(&inst->mods, PTX_MOD_SAT)) {
		emit_result(e, inst,
			ir_call2(e, subtract ? "llvm.ssub.sat" : "llvm.sadd.sat", a, b));
	} else if (ptx_has(&inst->mods, PTX_MOD_CC)) {
		emit_result(e, inst, alu_with_carry(e, inst, subtract, false, a, b));
	} else {
		emit_result(e, inst, subtract ? ir_sub(e, a, b) : ir_add(e, a, b));
	}
}

void emit_add(struct emit *e, const struct ptx_inst *inst)
{
	alu_add_or_subtract(e, inst, false);
}

void emit_sub(struct emit *e, const struct ptx_inst *inst)
{
	alu_add_or_subtract(e, inst, true);
}

void emit_addc(struct emit *e, const struct ptx_inst *inst)
{
	emit_result(e, inst,
		alu_with_carry(e, inst, false, true, emit_arg(e, inst, 1), emit_arg(e, inst, 2)));
}

void emit_subc(struct emit *e, const struct ptx_inst *inst)
{
	emit_result(e, inst,
		alu_with_carry(e, inst, true, true, emit_arg(e, inst, 1), emit_arg(e, inst, 2)));
}

/* The product of two N-bit values in 2N bits. */
static LLVMValueRef alu_wide_product(struct emit *e, LLVMValueRef a, LLVMValueRef b, bool sign)
{
	LLVMTypeRef wide = emit_int_type(e, 2 * ir_width(a));
	return ir_mul(e, ir_resize(e, a, wide, sign), ir_resize(e, b, wide, sign));
}

/* What .lo, .hi or .wide takes of operands 1 and 2. */
static LLVMValueRef alu_product(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef a = emit_arg(e, inst, 1);
	LLVMValueRef b = emit_arg(e, inst, 2);
	bool sign = emit_is_signed(inst->types[0]);
	if (ptx_has(&inst->mods, PTX_MOD_WIDE)) {
		return alu_wide_product(e, a, b, sign);
	}
	if (!ptx_has(&inst->mods, PTX_MOD_HI)) {
		return ir_mul(e, a, b);
	}

	LLVMValueRef wide = alu_wide_product(e, a, b, sign);
	LLVMValueRef half = emit_int(e, ir_width(wide), ir_width(a));
	return ir_trunc(e, ir_lshr(e, wide, half), LLVMTypeOf(a));
}

static enum ptx_type alu_product_type(const struct ptx_inst *inst)
{
	return ptx_has(&inst->mods, PTX_MOD_WIDE) ? ptx_widen(inst->types[0]) : inst->types[0];
}

void emit_mul(struct emit *e, const struct ptx_inst *inst)
{
	emit_def(e, &inst->operands[0], alu_product_type(inst), alu_product(e, inst));
}

void emit_mad(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type type = alu_product_type(inst);
	LLVMValueRef a = alu_product(e, inst);
	LLVMValueRef c = emit_use(e, &inst->operands[3], type);
	LLVMValueRef sum;
	if (ptx_has(&inst->mods, PTX_MOD_SAT)) {
		sum = ir_call2(e, "llvm.sadd.sat", a, c);
	} else if (ptx_has(&inst->mods, PTX_MOD_CC)) {
		sum = alu_with_carry(e, inst, false, false, a, c);
	} else {
		sum = ir_add(e, a, c);
	}
	emit_def(e, &inst->operands[0], type, sum);
}

void emit_madc(struct emit *e, const struct ptx_inst *inst)
{
	emit_result(e, inst,
		alu_with_carry(e, inst, false, true, alu_product(e, inst), emit_arg(e, inst, 3)));
}

/* Bits 0 to 31 (.lo) or 16 to 47 (.hi) of the product of two 24-bit values. */
static LLVMValueRef alu_product24(struct emit *e, const struct ptx_inst *inst)
{
	bool sign = emit_is_signed(inst->types[0]);
	LLVMTypeRef i24 = emit_int_type(e, 24);
	LLVMValueRef a = ir_trunc(e, emit_arg(e, inst, 1), i24);
	LLVMValueRef b = ir_trunc(e, emit_arg(e, inst, 2), i24);
	LLVMValueRef wide = ir_mul(e, ir_resize(e, a, e->i64, sign), ir_resize(e, b, e->i64, sign));
	if (ptx_has(&inst->mods, PTX_MOD_HI)) {
		wide = ir_lshr_by(e, wide, 16);
	}
	return ir_trunc(e, wide, e->i32);
}

void emit_mul24(struct emit *e, const struct ptx_inst *inst)
{
	emit_result(e, inst, alu_product24(e, inst));
}

void emit_mad24(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef a = alu_product24(e, inst);
	LLVMValueRef c = emit_arg(e, inst, 3);
	emit_result(e, inst, ptx_has(&inst->mods, PTX_MOD_SAT) ? ir_call2(e, "llvm.sadd.sat", a, c)
		: ir_add(e, a, c));
}

/* The quotient of integers, of which the divisor is not zero.  Of a warp's words it is that of f64,
 * the vectors of which processors divide: with 53 bits no quotient of 32-bit numbers is rounded up
 * to the next integer.
 *
 * Where all lanes have one divisor, mostly for all turns of a loop, its inverse is made once.  What
 * is to be divided moves away from zero by 1/2, so the exact quotient is 1/2b or more from the next
 * integer on either side, and the product is nearer to it than that. */
static LLVMValueRef alu_quotient(struct emit *e, LLVMValueRef a, LLVMValueRef b, bool sign,
	bool is_uniform)
{
	if (!emit_is_vector(e) || ir_width(a) != 32 || LLVMIsConstant(b)) {
		return sign ? ir_sdiv(e, a, b) : ir_udiv(e, a, b);
	}
	LLVMTypeRef type = LLVMTypeOf(a);
	a = sign ? ir_sitofp(e, a, e->f64) : ir_uitofp(e, a, e->f64);
	b = sign ? ir_sitofp(e, b, e->f64) : ir_uitofp(e, b, e->f64);
	LLVMValueRef value;
	if (is_uniform) {
		LLVMValueRef half = emit_real(e, e->f64, 0.5);
		half = sign ? ir_call2(e, "llvm.copysign", half, a) : half;
		value = ir_fmul(e, ir_fadd(e, a, half), ir_fdiv(e, emit_real(e, e->f64, 1), b));
	} else {
		value = ir_fdiv(e, a, b);
	}
	return sign ? LLVMBuildFPToSI(e->builder, value, type, "")
		: LLVMBuildFPToUI(e->builder, value, type, "");
}

static LLVMValueRef alu_rest(struct emit *e, LLVMValueRef a, LLVMValueRef b, bool sign,
	bool is_uniform)
{
	if (!emit_is_vector(e) || ir_width(a) != 32 || LLVMIsConstant(b)) {
		return sign ? ir_srem(e, a, b) : ir_urem(e, a, b);
	}
	return ir_sub(e, a, ir_mul(e, alu_quotient(e, a, b, sign, is_uniform), b));
}

/*
 * Quotient or remainder.  By zero: all bits set.  The smallest integer by -1 would trap on the
 * host; every division by -1 is done as one by 1, and the quotient negated.
 */
static void alu_divide(struct emit *e, const struct ptx_inst *inst, bool remainder)
{
	LLVMValueRef a = emit_arg(e, inst, 1);
	LLVMValueRef b = emit_arg(e, inst, 2);
	LLVMTypeRef type = LLVMTypeOf(a);
	LLVMValueRef one = emit_int(e, ir_width(a), 1);
	LLVMValueRef ones = LLVMConstAllOnes(type);
	LLVMValueRef by_zero = ir_icmp(e, LLVMIntEQ, b, LLVMConstNull(type));
	LLVMValueRef value;
	bool is_uniform = false;
	if (emit_is_vector(e)) {
		struct uniformity divisor = uniformity_of_operand(&e->uniformity,
			&inst->operands[2]);
		is_uniform = uniformity_is_uniform(&divisor);
	}

	if (emit_is_signed(inst->types[0])) {
		LLVMValueRef by_minus = ir_icmp(e, LLVMIntEQ, b, ones);
		b = ir_select(e, ir_or(e, by_zero, by_minus), one, b);
		value = remainder ? alu_rest(e, a, b, true, is_uniform)
			: ir_select(e, by_minus, ir_neg(e, a),
				alu_quotient(e, a, b, true, is_uniform));
	} else {
		b = ir_select(e, by_zero, one, b);
		value = remainder ? alu_rest(e, a, b, false, is_uniform)
			: alu_quotient(e, a, b, false, is_uniform);
	}
	emit_result(e, inst, ir_select(e, by_zero, ones, value));
}

void emit_div(struct emit *e, const struct ptx_inst *inst)
{
	alu_divide(e, inst, false);
}

void emit_rem(struct emit *e, const struct ptx_inst *inst)
{
	alu_divide(e, inst, true);
}

static LLVMValueRef alu_min(struct emit *e, LLVMValueRef a, LLVMValueRef b, bool sign)
{
	return ir_call2(e, sign ? "llvm.smin" : "llvm.umin", a, b);
}

static LLVMValueRef alu_max(struct emit *e, LLVMValueRef a, LLVMValueRef b, bool sign)
{
	return ir_call2(e, sign ? "llvm.smax" : "llvm.umax", a, b);
}

/* |a - b| without overflow: the result is unsigned. */
static LLVMValueRef alu_distance(struct emit *e, LLVMValueRef a, LLVMValueRef b, bool sign)
{
	return ir_sub(e, alu_max(e, a, b, sign), alu_min(e, a, b, sign));
}

static LLVMValueRef alu_min_max(struct emit *e, const struct ptx_inst *inst, LLVMValueRef a,
	LLVMValueRef b)
{
	bool sign = emit_is_signed(inst->types[0]) || inst->types[0] == PTX_S16X2;
	bool min = inst->op == PTX_OP_MIN || inst->op == PTX_OP_MIN_X2
		|| inst->op == PTX_OP_MIN_RELU;
	LLVMValueRef value = min ? alu_min(e, a, b, sign) : alu_max(e, a, b, sign);
	return ptx_has(&inst->mods, PTX_MOD_RELU)
		? alu_max(e, value, LLVMConstNull(LLVMTypeOf(value)), true) : value;
}

void emit_minmax(struct emit *e, const struct ptx_inst *inst)
{
	emit_result(e, inst, alu_min_max(e, inst, emit_arg(e, inst, 1), emit_arg(e, inst, 2)));
}

static LLVMValueRef alu_sum_of(struct emit *e, const struct ptx_inst *inst, LLVMValueRef a,
	LLVMValueRef b)
{
	(void)inst;
	return ir_add(e, a, b);
}

/* The same with each half of two 32-bit values. */
static void alu_each_half(struct emit *e, const struct ptx_inst *inst,
	LLVMValueRef (*fn)(struct emit *, const struct ptx_inst *, LLVMValueRef, LLVMValueRef))
{
	LLVMValueRef a = emit_arg(e, inst, 1), b = emit_arg(e, inst, 2);
	LLVMValueRef shares[2];
	for (unsigned i = 0; i < 2; i++) {
		shares[i] = fn(e, inst, emit_half_share(e, a, i), emit_half_share(e, b, i));
	}
	emit_result(e, inst, emit_half_shares(e, shares));
}

void emit_add_x2(struct emit *e, const struct ptx_inst *inst)
{
	alu_each_half(e, inst, alu_sum_of);
}

void emit_minmax_x2(struct emit *e, const struct ptx_inst *inst)
{
	alu_each_half(e, inst, alu_min_max);
}

void emit_sad(struct emit *e, const struct ptx_inst *inst)
{
	bool sign = emit_is_signed(inst->types[0]);
	LLVMValueRef far = alu_distance(e, emit_arg(e, inst, 1), emit_arg(e, inst, 2), sign);
	emit_result(e, inst, ir_add(e, far, emit_arg(e, inst, 3)));
}

void emit_neg(struct emit *e, const struct ptx_inst *inst)
{
	emit_result(e, inst, ir_neg(e, emit_arg(e, inst, 1)));
}

void emit_abs(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef a = emit_arg(e, inst, 1);
	LLVMValueRef negative = ir_icmp(e, LLVMIntSLT, a, LLVMConstNull(LLVMTypeOf(a)));
	emit_result(e, inst, ir_select(e, negative, ir_neg(e, a), a));
}

/* Part `index` of a 32-bit value that holds parts of `bits` bits, as i32. */
static LLVMValueRef alu_part(struct emit *e, LLVMValueRef value, unsigned bits, unsigned index,
	bool sign)
{
	LLVMValueRef low = ir_lshr_by(e, value, index * bits);
	return ir_resize(e, ir_trunc(e, low, emit_int_type(e, bits)), e->i32, sign);
}

/* A dot product added to c: `a` in parts of a_bits, `b` in bytes from `first` on. */
static void alu_dot(struct emit *e, const struct ptx_inst *inst, unsigned a_bits, unsigned first)
{
	LLVMValueRef a = emit_use(e, &inst->operands[1], PTX_B32);
	LLVMValueRef b = emit_use(e, &inst->operands[2], PTX_B32);
	LLVMValueRef sum = emit_use(e, &inst->operands[3], PTX_B32);
	for (unsigned i = 0; i < 32 / a_bits; i++) {
		LLVMValueRef x = alu_part(e, a, a_bits, i, emit_is_signed(inst->types[0]));
		LLVMValueRef y = alu_part(e, b, 8, first + i, emit_is_signed(inst->types[1]));
		sum = ir_add(e, sum, ir_mul(e, x, y));
	}
	emit_def(e, &inst->operands[0], PTX_B32, sum);
}

void emit_dp4a(struct emit *e, const struct ptx_inst *inst)
{
	alu_dot(e, inst, 8, 0);
}

void emit_dp2a(struct emit *e, const struct ptx_inst *inst)
{
	alu_dot(e, inst, 16, ptx_has(&inst->mods, PTX_MOD_HI) ? 2 : 0);
}
