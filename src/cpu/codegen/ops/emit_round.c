/* SPDX-License-Identifier: MIT */
/*
 * Rounding in every direction, and the modifiers of small results, .ftz and .sat.
 *
 * Compiled code runs with the processor rounding to nearest, and to change that costs more than an
 * operation.  So directed f32 arithmetic is done exactly, in f64.  A result is a pair, the sum
 * rounded to nearest and its error, which together are the true value.  emit_round_f32 rounds the
 * sum, and steps to the neighbour if the pair says so.  f64 has no wider type.  There a sum or a
 * product is rounded to nearest, and the sign of its error, which is exact, says whether to step.
 * Fused sums, quotients and roots are rare: for them rt.c changes the processor's mode.
 */
#include "base/common.h"

#include "cpu/codegen/ops/emit_float.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"

enum emit_round emit_round_of(const struct ptx_inst *inst)
{
	static const enum ptx_mod mods[][2] = {
		[EMIT_DOWN] = {PTX_MOD_RM, PTX_MOD_RMI},
		[EMIT_UP] = {PTX_MOD_RP, PTX_MOD_RPI},
		[EMIT_ZERO] = {PTX_MOD_RZ, PTX_MOD_RZI},
	};
	for (enum emit_round round = EMIT_DOWN; round <= EMIT_ZERO; round++) {
		if (ptx_has(&inst->mods, mods[round][0]) || ptx_has(&inst->mods, mods[round][1])) {
			return round;
		}
	}
	return EMIT_NEAREST;
}

/* Small f32 values to zeros of their sign. */
static LLVMValueRef round_flush_small(struct emit *e, LLVMValueRef value, LLVMValueRef small)
{
	LLVMValueRef zero = ir_mask(e, emit_bits(e, value), 0x80000000);
	return ir_select(e, small, ir_bitcast(e, zero, e->f32), value);
}

/* Subnormal f32 values to zeros of their sign. */
LLVMValueRef emit_flush(struct emit *e, LLVMValueRef value)
{
	LLVMValueRef exponent = ir_mask(e, emit_bits(e, value), 0x7f800000);
	return round_flush_small(e, value, ir_icmp(e, LLVMIntEQ, exponent, emit_int(e, 32, 0)));
}

/*
 * GPUs (as seen on an H100) flush a result that is too small after it is rounded to 24 bits;
 * rounded to the fewer bits of a subnormal it may be 2^-126 already.
 */
LLVMValueRef emit_enlarge(struct emit *e, LLVMValueRef value)
{
	return ir_fmul(e, value, emit_real(e, LLVMTypeOf(value), 0x1p24));
}

LLVMValueRef emit_flush_rounded(struct emit *e, LLVMValueRef value, LLVMValueRef larger)
{
	LLVMValueRef limit = emit_real(e, e->f32, 0x1p-102);
	larger = ir_call1(e, "llvm.fabs", larger);
	return round_flush_small(e, value, ir_fcmp(e, LLVMRealOLT, larger, limit));
}

LLVMValueRef emit_saturate(struct emit *e, LLVMValueRef value)
{
	LLVMTypeRef type = LLVMTypeOf(value);
	LLVMValueRef zero = emit_real(e, type, 0);
	LLVMValueRef one = emit_real(e, type, 1);
	value = ir_select(e, ir_fcmp(e, LLVMRealOGT, value, zero), value, zero);
	return ir_select(e, ir_fcmp(e, LLVMRealOLT, value, one), value, one);
}

bool emit_is_flushed(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value)
{
	return ir_is_f32(e, value) && ptx_has(&inst->mods, PTX_MOD_FTZ);
}

LLVMValueRef emit_float_arg(struct emit *e, const struct ptx_inst *inst, size_t i)
{
	LLVMValueRef value = emit_use(e, &inst->operands[i], inst->types[0]);
	return emit_is_flushed(e, inst, value) ? emit_flush(e, value) : value;
}

LLVMValueRef emit_float_finish(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value,
	LLVMValueRef larger)
{
	if (emit_is_flushed(e, inst, value)) {
		value = larger ? emit_flush_rounded(e, value, larger) : emit_flush(e, value);
	}
	return ptx_has(&inst->mods, PTX_MOD_SAT) ? emit_saturate(e, value) : value;
}

void emit_float_result(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value)
{
	emit_def(e, &inst->operands[0], inst->types[0], emit_float_finish(e, inst, value, NULL));
}

LLVMValueRef emit_is_negative(struct emit *e, LLVMValueRef real)
{
	LLVMValueRef bits = emit_bits(e, real);
	return ir_icmp(e, LLVMIntSLT, bits, LLVMConstNull(LLVMTypeOf(bits)));
}

/* Whether the first of two f64 is above the value of a pair, or below it; false for a NaN. */
static LLVMValueRef round_is_beyond(struct emit *e, bool above, LLVMValueRef value,
	LLVMValueRef sum, LLVMValueRef err)
{
	LLVMRealPredicate more = above ? LLVMRealOGT : LLVMRealOLT;
	LLVMRealPredicate less = above ? LLVMRealOLT : LLVMRealOGT;
	LLVMValueRef same = ir_fcmp(e, LLVMRealOEQ, value, sum);
	LLVMValueRef rest = ir_fcmp(e, less, err, emit_real(e, e->f64, 0));
	return ir_or(e, ir_fcmp(e, more, value, sum), ir_and(e, same, rest));
}

/* The next f32 below; of zeros only -0 needs it, since rounding to nearest keeps the sign. */
static LLVMValueRef round_step_down(struct emit *e, LLVMValueRef value)
{
	LLVMValueRef bits = emit_bits(e, value);
	LLVMValueRef one = emit_int(e, 32, 1);
	LLVMValueRef next = ir_select(e, emit_is_negative(e, value), ir_add(e, bits, one),
		ir_sub(e, bits, one));
	return ir_bitcast(e, next, e->f32);
}

/* Toward zero: a value that is too large gets smaller; it cannot be zero.  To odd: the same, and
 * the last bit says that something was lost, so that rounding once more cannot go wrong. */
static LLVMValueRef round_inward(struct emit *e, LLVMValueRef near, LLVMValueRef sum,
	LLVMValueRef err, bool odd)
{
	LLVMValueRef wide = ir_fpext(e, near, e->f64);
	LLVMValueRef outside = ir_select(e, emit_is_negative(e, sum),
		round_is_beyond(e, false, wide, sum, err),
		round_is_beyond(e, true, wide, sum, err));
	LLVMValueRef bits = ir_sub(e, emit_bits(e, near), ir_zext(e, outside, e->i32));
	if (odd) {
		LLVMValueRef lost = ir_or(e, ir_fcmp(e, LLVMRealONE, wide, sum),
			ir_fcmp(e, LLVMRealONE, err, emit_real(e, e->f64, 0)));
		bits = ir_or(e, bits, ir_zext(e, lost, e->i32));
	}
	return ir_bitcast(e, bits, e->f32);
}

LLVMValueRef emit_round_f32(struct emit *e, LLVMValueRef sum, LLVMValueRef err,
	enum emit_round round)
{
	if (round == EMIT_UP) {
		sum = ir_fneg(e, sum);
		err = ir_fneg(e, err);
		return ir_fneg(e, emit_round_f32(e, sum, err, EMIT_DOWN));
	}

	LLVMValueRef near = ir_fptrunc(e, sum, e->f32);
	if (round == EMIT_ZERO || round == EMIT_ODD) {
		return round_inward(e, near, sum, err, round == EMIT_ODD);
	}
	LLVMValueRef above = round_is_beyond(e, true, ir_fpext(e, near, e->f64), sum, err);
	return ir_select(e, above, round_step_down(e, near), near);
}

LLVMValueRef emit_round_f64(struct emit *e, enum rt_op op, enum emit_round round, LLVMValueRef a,
	LLVMValueRef b, LLVMValueRef c)
{
	static const enum rt_round directions[] = {
		[EMIT_DOWN] = RT_ROUND_DOWN,
		[EMIT_UP] = RT_ROUND_UP,
		[EMIT_ZERO] = RT_ROUND_ZERO,
	};
	LLVMValueRef zero = emit_real(e, e->f64, 0);
	LLVMValueRef args[] = {emit_int(e, 32, op), emit_int(e, 32, directions[round]), a,
		b ? b : zero, c ? c : zero};
	return emit_rt_call(e, offsetof(struct rt_calls, round_f64), e->f64, args, countof(args));
}

/*
 * The f64 next to a value in a direction, given that value rounded to nearest and what rounding
 * lost, of which only the sign counts.  The bits of a number one step further from zero are one
 * more.  A result that overflowed has lost an infinity of the other sign, and the neighbour of an
 * infinity is the largest finite number.  If an operand is infinite, the loss is a NaN, and the
 * result stays as it is.
 */
static LLVMValueRef round_f64_by_sign(struct emit *e, LLVMValueRef near, LLVMValueRef lost,
	enum emit_round round)
{
	LLVMValueRef zero = emit_real(e, e->f64, 0);
	LLVMValueRef one = emit_int(e, 64, 1);
	LLVMValueRef bits = emit_bits(e, near), negative = emit_is_negative(e, near);
	LLVMValueRef further = ir_add(e, bits, one), nearer = ir_sub(e, bits, one);
	LLVMValueRef above = ir_fcmp(e, LLVMRealOLT, lost, zero);
	LLVMValueRef below = ir_fcmp(e, LLVMRealOGT, lost, zero);
	LLVMValueRef steps = above, next = nearer;
	if (round == EMIT_DOWN) {
		next = ir_select(e, negative, further, nearer);
	} else if (round == EMIT_UP) {
		steps = below;
		next = ir_select(e, negative, nearer, further);
	} else {
		steps = ir_select(e, negative, below, above);
	}
	return ir_bitcast(e, ir_select(e, steps, next, bits), e->f64);
}

/* Rounded down, the f64 sum of two numbers that cancel to zero is -0; `value` is any other sum as
 * it was rounded. */
static LLVMValueRef round_cancelled(struct emit *e, LLVMValueRef a, LLVMValueRef b,
	LLVMValueRef sum, LLVMValueRef value)
{
	LLVMValueRef cancels = ir_and(e, ir_fcmp(e, LLVMRealOEQ, sum, emit_real(e, e->f64, 0)),
		ir_xor(e, emit_is_negative(e, a), emit_is_negative(e, b)));
	return ir_select(e, cancels, emit_real(e, LLVMTypeOf(value), -0.0), value);
}

/* Dekker's fast two-sum: with the larger operand first, nothing but the sum can overflow. */
LLVMValueRef emit_sum_f64(struct emit *e, LLVMValueRef a, LLVMValueRef b, enum emit_round round)
{
	LLVMValueRef swaps = ir_fcmp(e, LLVMRealOLT, ir_call1(e, "llvm.fabs", a),
		ir_call1(e, "llvm.fabs", b));
	LLVMValueRef large = ir_select(e, swaps, b, a), small = ir_select(e, swaps, a, b);
	LLVMValueRef sum = ir_fadd(e, a, b);
	LLVMValueRef lost = ir_fsub(e, small, ir_fsub(e, sum, large));
	LLVMValueRef value = round_f64_by_sign(e, sum, lost, round);
	return round == EMIT_DOWN ? round_cancelled(e, a, b, sum, value) : value;
}

/* One fma gives what the product lost.  Where that could be too small for an f64, the factors are
 * scaled first.  A scaled factor overflows only if the other one is zero; the loss is a NaN then,
 * and zero is right. */
LLVMValueRef emit_product_f64(struct emit *e, LLVMValueRef a, LLVMValueRef b, enum emit_round round)
{
	if (!e->has_avx2) { /* the processor has no fma */
		return emit_round_f64(e, RT_MUL, round, a, b, NULL);
	}

	LLVMValueRef product = ir_fmul(e, a, b);
	LLVMValueRef is_small = ir_fcmp(e, LLVMRealOLT, ir_call1(e, "llvm.fabs", product),
		emit_real(e, e->f64, 0x1p-900));
	LLVMValueRef scale = ir_select(e, is_small, emit_real(e, e->f64, 0x1p600),
		emit_real(e, e->f64, 1));
	LLVMValueRef scaled = ir_fmul(e, ir_fmul(e, product, scale), scale);
	LLVMValueRef lost = ir_call3(e, "llvm.fma", ir_fmul(e, a, scale), ir_fmul(e, b, scale),
		ir_fneg(e, scaled));
	return round_f64_by_sign(e, product, lost, round);
}

/* Knuth's two-sum finds the error. */
LLVMValueRef emit_sum_f32(struct emit *e, LLVMValueRef a, LLVMValueRef b,
	enum emit_round round)
{
	if (round == EMIT_UP) {
		return ir_fneg(e, emit_sum_f32(e, ir_fneg(e, a), ir_fneg(e, b), EMIT_DOWN));
	}

	LLVMValueRef sum = ir_fadd(e, a, b);
	LLVMValueRef b_part = ir_fsub(e, sum, a);
	LLVMValueRef a_part = ir_fsub(e, sum, b_part);
	LLVMValueRef err = ir_fadd(e, ir_fsub(e, a, a_part), ir_fsub(e, b, b_part));
	LLVMValueRef value = emit_round_f32(e, sum, err, round);
	return round == EMIT_DOWN ? round_cancelled(e, a, b, sum, value) : value;
}
