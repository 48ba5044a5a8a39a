/* SPDX-License-Identifier: MIT */
/*
 * The approximate functions of PTX (.approx), as IR and not as calls, so that they are fast and
 * give the same bits on every host.  Each reduces its argument to a short interval, on which it is
 * a polynomial.  The coefficients are minimax fits, rounded to f32.  A comment at each function
 * says which error PTX allows and which it has.  Reciprocals and roots are in emit_float.c.
 */
#include "base/common.h"

#include "cpu/codegen/ops/emit_float.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_value.h"

/* Coefficients from the constant term up. */
#define COUNT_AND(...) sizeof((float[]){__VA_ARGS__}) / sizeof(float), {__VA_ARGS__}

struct polynomial {
	size_t count;
	float coefficients[9];
};

/* 2^f, |f| <= 0.5: relative error 2^-29. */
static const struct polynomial exponential = {COUNT_AND(0x1p+0f, 0x1.62e430p-1f, 0x1.ebfbdap-3f,
	0x1.c6aed4p-5f, 0x1.3b2dbcp-7f, 0x1.5f456ap-10f, 0x1.41d334p-13f)};

/* log2(1 + f) / f, 1 + f between the roots of 1/2 and 2: relative error 2^-25. */
static const struct polynomial logarithm = {COUNT_AND(0x1.715476p+0f, -0x1.715470p-1f,
	0x1.ec73d6p-2f, -0x1.715c4ep-2f, 0x1.26d384p-2f, -0x1.e95be8p-3f, 0x1.b9c91ap-3f,
	-0x1.a87d08p-3f, 0x1.01b6d6p-3f)};

/* In z = r^2, |r| <= 0.25: sin(2 pi r) / r to 2^-27, (cos(2 pi r) - 1) / z to 2^-28 after * z. */
static const struct polynomial sine = {COUNT_AND(0x1.921fb6p+2f, -0x1.4abbc2p+5f, 0x1.4668b0p+6f,
	-0x1.324ccap+6f, 0x1.3daff6p+5f)};
static const struct polynomial cosine = {COUNT_AND(-0x1.3bd3ccp+4f, 0x1.03c1e6p+6f,
	-0x1.55d0b8p+6f, 0x1.e12f86p+5f, -0x1.901bd6p+4f)};

/* In z = x^2, |x| <= 0.6: (tanh(x) / x - 1) / z to 2^-23 after * z. */
static const struct polynomial tangent = {COUNT_AND(-0x1.555378p-2f, 0x1.10a932p-3f,
	-0x1.abe092p-5f, 0x1.0040f0p-6f)};

static LLVMValueRef math_real(struct emit *e, double value)
{
	return emit_real(e, e->f32, value);
}

static LLVMValueRef math_fma(struct emit *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
	return ir_call3(e, "llvm.fma", a, b, c);
}

static LLVMValueRef math_evaluate(struct emit *e, const struct polynomial *p, LLVMValueRef x)
{
	size_t i = p->count - 1;
	LLVMValueRef sum = math_real(e, p->coefficients[i]);
	while (i-- > 0) {
		sum = math_fma(e, sum, x, math_real(e, p->coefficients[i]));
	}
	return sum;
}

/* 2^n for -126 <= n <= 127. */
static LLVMValueRef math_power_of_two(struct emit *e, LLVMValueRef n)
{
	LLVMValueRef exponent = ir_add(e, n, emit_int(e, 32, 127));
	return ir_bitcast(e, ir_shl_by(e, exponent, 23), e->f32);
}

/* 2^x = 2^n * 2^f.  The factor 2^n goes in two halves, since n may leave the range of one f32; only
 * the second multiplication rounds.  PTX: 2 units in the last place; here 1. */
LLVMValueRef emit_exp2_of(struct emit *e, LLVMValueRef x)
{
	LLVMValueRef low = math_real(e, -160);
	LLVMValueRef high = math_real(e, 160);
	LLVMValueRef near = ir_select(e, ir_fcmp(e, LLVMRealOGT, x, low), x, low);
	near = ir_select(e, ir_fcmp(e, LLVMRealOLT, near, high), near, high);
	LLVMValueRef whole = ir_call1(e, "llvm.rint", near);
	LLVMValueRef value = math_evaluate(e, &exponential, ir_fsub(e, near, whole));

	LLVMValueRef n = LLVMBuildFPToSI(e->builder, whole, e->i32, "");
	LLVMValueRef half = ir_ashr(e, n, emit_int(e, 32, 1));
	value = ir_fmul(e, value, math_power_of_two(e, half));
	value = ir_fmul(e, value, math_power_of_two(e, ir_sub(e, n, half)));
	return ir_select(e, ir_fcmp(e, LLVMRealUNO, x, x), x, value);
}

void emit_ex2(struct emit *e, const struct ptx_inst *inst)
{
	emit_float_result(e, inst, emit_exp2_of(e, emit_float_arg(e, inst, 1)));
}

/* x = 2^n * (1 + f).  PTX: absolute error 2^-22 for x in (0.5, 2), relative elsewhere; here the
 * relative error is below 2^-22 everywhere. */
void emit_lg2(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef x = emit_float_arg(e, inst, 1);
	LLVMValueRef tiny = ir_fcmp(e, LLVMRealOLT, x, math_real(e, 0x1p-126));
	LLVMValueRef scaled = ir_select(e, tiny, ir_fmul(e, x, math_real(e, 0x1p24)), x);
	LLVMValueRef bits = emit_bits(e, scaled);

	/* Counted from the root of 1/2, the exponent's bits are n. */
	LLVMValueRef root = emit_int(e, 32, 0x3f3504f3);
	LLVMValueRef place = emit_int(e, 32, 23);
	LLVMValueRef n = ir_ashr(e, ir_sub(e, bits, root), place);
	LLVMValueRef rest = ir_bitcast(e, ir_sub(e, bits, ir_shl(e, n, place)), e->f32);
	n = ir_sub(e, n, ir_select(e, tiny, emit_int(e, 32, 24), emit_int(e, 32, 0)));

	LLVMValueRef f = ir_fsub(e, rest, math_real(e, 1));
	LLVMValueRef value = math_fma(e, f, math_evaluate(e, &logarithm, f),
		ir_sitofp(e, n, e->f32));

	LLVMValueRef infinity = math_real(e, __builtin_inf());
	LLVMValueRef zero = ir_fcmp(e, LLVMRealOEQ, x, math_real(e, 0));
	LLVMValueRef outside = ir_select(e, zero, ir_fneg(e, infinity),
		math_real(e, __builtin_nan("")));
	value = ir_select(e, ir_fcmp(e, LLVMRealOEQ, x, infinity), infinity, value);
	emit_float_result(e, inst,
		ir_select(e, ir_fcmp(e, LLVMRealOGT, x, math_real(e, 0)), value, outside));
}

/* The fraction of a turn that x is, in [-0.5, 0.5], to about 2^-27: 1 / (2 pi) is kept in two
 * parts. */
static LLVMValueRef math_turn(struct emit *e, LLVMValueRef x)
{
	LLVMValueRef high = math_real(e, 0x1.45f306p-3);
	LLVMValueRef turns = ir_fmul(e, x, high);
	LLVMValueRef rest = math_fma(e, x, high, ir_fneg(e, turns));
	rest = math_fma(e, x, math_real(e, 0x1.b9391p-28), rest);

	LLVMValueRef part = ir_fsub(e, turns, ir_call1(e, "llvm.rint", turns));
	part = ir_fadd(e, part, rest);
	return ir_fsub(e, part, ir_call1(e, "llvm.rint", part));
}

/* The turns of an angle, or with .2pi the number itself, between -1/2 and 1/2. */
static LLVMValueRef math_turn_arg(struct emit *e, const struct ptx_inst *inst, LLVMValueRef x)
{
	return ptx_has(&inst->mods, PTX_MOD_TWO_PI)
		? ir_fsub(e, x, ir_call1(e, "llvm.rint", x)) : math_turn(e, x);
}

/* PTX: absolute error 2^-20.5 for x in [-pi, pi], 2^-14.7 in [-100 pi, 100 pi]; here 2^-22 in both.
 * The half of the turn around half a turn is the mirrored other half. */
void emit_sin(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef x = emit_float_arg(e, inst, 1);
	LLVMValueRef r = math_turn_arg(e, inst, x);
	LLVMValueRef size = ir_call1(e, "llvm.fabs", r);
	LLVMValueRef mirrored = ir_fsub(e, ir_call2(e, "llvm.copysign", math_real(e, 0.5), r), r);
	r = ir_select(e, ir_fcmp(e, LLVMRealOGT, size, math_real(e, 0.25)), mirrored, r);
	LLVMValueRef value = ir_fmul(e, r, math_evaluate(e, &sine, ir_fmul(e, r, r)));
	LLVMValueRef zero = ir_fcmp(e, LLVMRealOEQ, x, math_real(e, 0));
	emit_float_result(e, inst, ir_select(e, zero, x, value)); /* -0 stays -0 */
}

void emit_cos(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef x = emit_float_arg(e, inst, 1);
	LLVMValueRef r = ir_call1(e, "llvm.fabs", math_turn_arg(e, inst, x));
	LLVMValueRef far = ir_fcmp(e, LLVMRealOGT, r, math_real(e, 0.25));
	r = ir_select(e, far, ir_fsub(e, math_real(e, 0.5), r), r);
	LLVMValueRef z = ir_fmul(e, r, r);
	LLVMValueRef value = math_fma(e, z, math_evaluate(e, &cosine, z), math_real(e, 1));
	emit_float_result(e, inst, ir_select(e, far, ir_fneg(e, value), value));
}

/* PTX: relative error 2^-11; here 2^-22.  Near zero a polynomial, else 1 - 2 / (e^2x + 1). */
LLVMValueRef emit_tanh_of(struct emit *e, LLVMValueRef x)
{
	LLVMValueRef size = ir_call1(e, "llvm.fabs", x);
	LLVMValueRef z = ir_fmul(e, x, x);
	LLVMValueRef small = math_fma(e, ir_fmul(e, x, z), math_evaluate(e, &tangent, z), x);

	LLVMValueRef grown = emit_exp2_of(e, ir_fmul(e, size, math_real(e, 0x1.715476p+1)));
	LLVMValueRef part = ir_fdiv(e, math_real(e, 2), ir_fadd(e, grown, math_real(e, 1)));
	LLVMValueRef large = ir_fsub(e, math_real(e, 1), part);
	large = ir_call2(e, "llvm.copysign", large, x);
	return ir_select(e, ir_fcmp(e, LLVMRealOLT, size, math_real(e, 0.6)), small, large);
}

void emit_tanh(struct emit *e, const struct ptx_inst *inst)
{
	emit_float_result(e, inst, emit_tanh_of(e, emit_float_arg(e, inst, 1)));
}
