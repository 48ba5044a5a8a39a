/* SPDX-License-Identifier: MIT */
/*
 * IEEE arithmetic of f32, f64 and pairs of f32: sums, products, quotients, roots, minima.
 *
 * To round to nearest is what LLVM's instructions do.  For other directions an operation gives a
 * value and its error, and emit_round.c rounds the pair.
 */
#include "base/common.h"

#include "cpu/codegen/ops/emit_float.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_value.h"

static LLVMValueRef float_widen(struct emit *e, LLVMValueRef value)
{
	return ir_fpext(e, value, e->f64);
}

/* What add, sub, mul and fma compute, rounded as the instruction says. */
typedef LLVMValueRef float_fn(struct emit *e, enum emit_round round, LLVMValueRef *args);

static LLVMValueRef float_sum(struct emit *e, enum emit_round round, LLVMValueRef *args)
{
	if (round == EMIT_NEAREST) {
		return ir_fadd(e, args[0], args[1]);
	}
	if (ir_is_f32(e, args[0])) {
		return emit_sum_f32(e, float_widen(e, args[0]), float_widen(e, args[1]), round);
	}
	return emit_sum_f64(e, args[0], args[1], round);
}

static LLVMValueRef float_difference(struct emit *e, enum emit_round round, LLVMValueRef *args)
{
	LLVMValueRef terms[] = {args[0], ir_fneg(e, args[1])};
	return float_sum(e, round, terms);
}

static LLVMValueRef float_product(struct emit *e, enum emit_round round, LLVMValueRef *args)
{
	if (round == EMIT_NEAREST) {
		return ir_fmul(e, args[0], args[1]);
	}
	if (ir_is_f32(e, args[0])) {
		LLVMValueRef exact = ir_fmul(e, float_widen(e, args[0]), float_widen(e, args[1]));
		return emit_round_f32(e, exact, emit_real(e, e->f64, 0), round);
	}
	return emit_product_f64(e, args[0], args[1], round);
}

static LLVMValueRef float_fma(struct emit *e, enum emit_round round, LLVMValueRef *args)
{
	if (round == EMIT_NEAREST) {
		return ir_call3(e, "llvm.fma", args[0], args[1], args[2]);
	}
	if (ir_is_f32(e, args[0])) {
		LLVMValueRef exact = ir_fmul(e, float_widen(e, args[0]), float_widen(e, args[1]));
		return emit_sum_f32(e, exact, float_widen(e, args[2]), round);
	}
	return emit_round_f64(e, RT_FMA, round, args[0], args[1], args[2]);
}

/* Operand i, or of an f32x2 the half `part`.  With two types the first operands are f16 or bf16,
 * only the last one is an f32. */
static LLVMValueRef float_mixed_arg(struct emit *e, const struct ptx_inst *inst, size_t i,
	unsigned part)
{
	LLVMValueRef value;
	if (inst->types[0] == PTX_F32X2) {
		value = ir_trunc(e, ir_lshr_by(e, emit_arg(e, inst, i), 32 * part), e->i32);
		value = ir_bitcast(e, value, e->f32);
	} else if (inst->types[1] && i + 1 < inst->operand_count) {
		value = emit_use(e, &inst->operands[i], inst->types[1]);
		value = emit_from_half(e, value, inst->types[1]);
	} else {
		value = emit_arg(e, inst, i);
	}
	return emit_is_flushed(e, inst, value) ? emit_flush(e, value) : value;
}

static LLVMValueRef float_compute_part(struct emit *e, const struct ptx_inst *inst, float_fn *fn,
	LLVMValueRef *args)
{
	enum emit_round round = emit_round_of(inst);
	LLVMValueRef value = fn(e, round, args), larger = NULL;
	if (emit_is_flushed(e, inst, value) && (fn == float_product || fn == float_fma)) {
		args[0] = emit_enlarge(e, args[0]);
		args[2] = args[2] ? emit_enlarge(e, args[2]) : NULL;
		larger = fn(e, round, args);
	}
	return emit_float_finish(e, inst, value, larger);
}

static void float_compute(struct emit *e, const struct ptx_inst *inst, float_fn *fn)
{
	LLVMValueRef parts[2];
	bool pair = inst->types[0] == PTX_F32X2;
	for (unsigned part = 0; part <= pair; part++) {
		LLVMValueRef args[3] = {NULL};
		for (size_t i = 1; i < inst->operand_count; i++) {
			args[i - 1] = float_mixed_arg(e, inst, i, part);
		}
		parts[part] = float_compute_part(e, inst, fn, args);
	}
	if (!pair) {
		emit_result(e, inst, parts[0]);
		return;
	}
	LLVMValueRef low = ir_zext(e, emit_bits(e, parts[0]), e->i64);
	LLVMValueRef high = ir_zext(e, emit_bits(e, parts[1]), e->i64);
	emit_result(e, inst, ir_or(e, ir_shl_by(e, high, 32), low));
}

void emit_fadd(struct emit *e, const struct ptx_inst *inst)
{
	float_compute(e, inst, float_sum);
}

void emit_fsub(struct emit *e, const struct ptx_inst *inst)
{
	float_compute(e, inst, float_difference);
}

void emit_fmul(struct emit *e, const struct ptx_inst *inst)
{
	float_compute(e, inst, float_product);
}

void emit_fma(struct emit *e, const struct ptx_inst *inst)
{
	float_compute(e, inst, float_fma);
}

/* Where the true quotient lies beside the f32 nearest to it is the sign of the remainder, which
 * one fma gives exactly. */
static LLVMValueRef float_divide(struct emit *e, LLVMValueRef a, LLVMValueRef b,
	enum emit_round round)
{
	if (round == EMIT_NEAREST) {
		return ir_fdiv(e, a, b);
	}
	if (!ir_is_f32(e, a)) {
		return emit_round_f64(e, RT_DIV, round, a, b, NULL);
	}

	a = float_widen(e, a);
	b = float_widen(e, b);
	LLVMValueRef near = float_widen(e, ir_fptrunc(e, ir_fdiv(e, a, b), e->f32));
	LLVMValueRef rest = ir_call3(e, "llvm.fma", ir_fneg(e, near), b, a);
	rest = ir_select(e, emit_is_negative(e, b), ir_fneg(e, rest), rest);
	return emit_round_f32(e, near, rest, round);
}

/* As the processors do it: a times the reciprocal, which is 0 for |b| above 2^126.  Good to 2 units
 * in the last place, as PTX asks.  The reciprocal of a subnormal b would be infinite: both are
 * scaled, which PTX does not ask for, but fmodf of CUDA's library relies on. */
static LLVMValueRef float_divide_approx(struct emit *e, LLVMValueRef a, LLVMValueRef b)
{
	LLVMValueRef one = emit_real(e, e->f32, 1);
	LLVMValueRef is_small = ir_fcmp(e, LLVMRealOLT, ir_call1(e, "llvm.fabs", b),
		emit_real(e, e->f32, 0x1p-126));
	LLVMValueRef scale = ir_select(e, is_small, emit_real(e, e->f32, 0x1p24), one);
	LLVMValueRef reciprocal = ir_fdiv(e, one, ir_fmul(e, b, scale));
	return ir_fmul(e, ir_fmul(e, a, emit_flush(e, reciprocal)), scale);
}

static void emit_quotient(struct emit *e, const struct ptx_inst *inst, LLVMValueRef a,
	LLVMValueRef b)
{
	enum emit_round round = emit_round_of(inst);
	LLVMValueRef value = float_divide(e, a, b, round);
	LLVMValueRef larger = emit_is_flushed(e, inst, value)
		? float_divide(e, emit_enlarge(e, a), b, round) : NULL;
	emit_result(e, inst, emit_float_finish(e, inst, value, larger));
}

void emit_fdiv(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef a = emit_float_arg(e, inst, 1);
	LLVMValueRef b = emit_float_arg(e, inst, 2);
	if (ptx_has(&inst->mods, PTX_MOD_APPROX)) {
		emit_float_result(e, inst, float_divide_approx(e, a, b));
	} else {
		emit_quotient(e, inst, a, b);
	}
}

static LLVMValueRef float_square_root(struct emit *e, LLVMValueRef a, enum emit_round round)
{
	if (round == EMIT_NEAREST) {
		return ir_call1(e, "llvm.sqrt", a);
	}
	if (!ir_is_f32(e, a)) {
		return emit_round_f64(e, RT_SQRT, round, a, NULL, NULL);
	}

	a = float_widen(e, a);
	LLVMValueRef near = float_widen(e, ir_fptrunc(e, ir_call1(e, "llvm.sqrt", a), e->f32));
	LLVMValueRef rest = ir_call3(e, "llvm.fma", ir_fneg(e, near), near, a);
	return emit_round_f32(e, near, rest, round);
}

void emit_sqrt(struct emit *e, const struct ptx_inst *inst)
{
	emit_float_result(e, inst,
		float_square_root(e, emit_float_arg(e, inst, 1), emit_round_of(inst)));
}

/*
 * The f64 reciprocals of .approx.ftz are seeds for Newton's method: PTX has them look only at the
 * upper half of the operand and give only the upper half of the result, subnormals being zero.
 * Here that result is the exact one, rounded to those 20 bits.
 */
static LLVMValueRef float_upper_half(struct emit *e, LLVMValueRef value, bool round)
{
	LLVMValueRef bits = emit_bits(e, value);
	if (round) {
		bits = ir_add(e, bits, emit_int(e, 64, UINT64_C(0x80000000)));
	}
	bits = ir_mask(e, bits, UINT64_C(0xffffffff00000000));

	LLVMValueRef exponent = ir_mask(e, bits, UINT64_C(0x7ff) << 52);
	LLVMValueRef small = ir_icmp(e, LLVMIntEQ, exponent, emit_int(e, 64, 0));
	LLVMValueRef zero = ir_mask(e, bits, UINT64_C(1) << 63);
	bits = ir_bitcast(e, ir_select(e, small, zero, bits), e->f64);
	/* A NaN that has its bits in the lower half only must stay one. */
	return ir_select(e, ir_fcmp(e, LLVMRealUNO, value, value), value, bits);
}

static bool float_is_seed(const struct ptx_inst *inst)
{
	return inst->types[0] == PTX_F64 && ptx_has(&inst->mods, PTX_MOD_APPROX)
		&& ptx_has(&inst->mods, PTX_MOD_FTZ);
}

/* For f32 the approximate reciprocal is the exact one. */
void emit_rcp(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef a = emit_float_arg(e, inst, 1);
	LLVMValueRef one = emit_real(e, LLVMTypeOf(a), 1);
	if (float_is_seed(inst)) {
		emit_float_result(e, inst,
			float_upper_half(e, ir_fdiv(e, one, float_upper_half(e, a, false)), true));
	} else {
		emit_quotient(e, inst, one, a);
	}
}

/* --- 1 / sqrt(a) --- */

/* 16 lanes of AVX-512's vrsqrt14. */
static LLVMValueRef float_seed_16(struct emit *e, LLVMValueRef a, unsigned unused)
{
	(void)unused;
	LLVMTypeRef mask = LLVMInt16TypeInContext(e->context);
	LLVMValueRef args[] = {a, LLVMConstNull(LLVMTypeOf(a)), LLVMConstAllOnes(mask)};
	return ir_intrinsic(e, "llvm.x86.avx512.rsqrt14.ps.512", NULL, 0, args, countof(args));
}

static LLVMValueRef float_seed_1(struct emit *e, LLVMValueRef a)
{
	LLVMValueRef none = LLVMConstNull(LLVMVectorType(e->s.f32, 4));
	LLVMValueRef zero = emit_scalar(e, 32, 0);
	a = LLVMBuildInsertElement(e->builder, none, a, zero, "");
	LLVMValueRef args[] = {a, a, none, emit_scalar(e, 8, 0xff)};
	LLVMValueRef seed = ir_intrinsic(e, "llvm.x86.avx512.rsqrt14.ss", NULL, 0, args,
		countof(args));
	return LLVMBuildExtractElement(e->builder, seed, zero, "");
}

/* Within 2^-14; the same bits for one lane as for many. */
static LLVMValueRef float_root_seed(struct emit *e, LLVMValueRef a)
{
	if (!emit_is_vector(e)) {
		return float_seed_1(e, a);
	}
	return emit_by_16(e, a, float_seed_16, 0);
}

/*
 * A step of Newton's method from there, y + y/2 * (1 - a * y * y): within 2^-23.6, as all positive
 * floats were asked.  The rest in brackets is at most 2^-13; where y is 0 or infinite it is a NaN,
 * and any small number leaves y as it is.
 */
static LLVMValueRef float_inverse_root_by_seed(struct emit *e, LLVMValueRef a)
{
	LLVMValueRef seed = float_root_seed(e, a);
	LLVMValueRef most = emit_real(e, e->f32, 0x1p-10);
	LLVMValueRef rest = ir_call3(e, "llvm.fma", ir_fneg(e, ir_fmul(e, a, seed)), seed,
		emit_real(e, e->f32, 1));
	rest = ir_select(e, ir_fcmp(e, LLVMRealOLT, rest, most), rest, most);
	LLVMValueRef half = ir_fmul(e, seed, emit_real(e, e->f32, 0.5));
	return ir_call3(e, "llvm.fma", half, rest, seed);
}

/* By a division there are two roundings: within 2^-23 of the true value, PTX allows 2^-22.9. */
void emit_rsqrt(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef a = emit_float_arg(e, inst, 1);
	if (ir_is_f32(e, a) && e->has_avx512) {
		emit_float_result(e, inst, float_inverse_root_by_seed(e, a));
		return;
	}
	bool seed = float_is_seed(inst);
	a = seed ? float_upper_half(e, a, false) : a;
	LLVMValueRef one = emit_real(e, LLVMTypeOf(a), 1);
	LLVMValueRef value = ir_fdiv(e, one, ir_call1(e, "llvm.sqrt", a));
	emit_float_result(e, inst, seed ? float_upper_half(e, value, true) : value);
}

/* --- Signs --- */

void emit_fabs(struct emit *e, const struct ptx_inst *inst)
{
	emit_float_result(e, inst, ir_call1(e, "llvm.fabs", emit_float_arg(e, inst, 1)));
}

void emit_fneg(struct emit *e, const struct ptx_inst *inst)
{
	emit_float_result(e, inst, ir_fneg(e, emit_float_arg(e, inst, 1)));
}

/* d has the magnitude of b and the sign of a. */
void emit_copysign(struct emit *e, const struct ptx_inst *inst)
{
	emit_float_result(e, inst, ir_call2(e, "llvm.copysign", emit_float_arg(e, inst, 2),
		emit_float_arg(e, inst, 1)));
}

/*
 * The smaller or the larger operand.  If one operand is a NaN the result is the other, but with
 * .NaN it is the NaN.  -0 is below +0: of two equal values min takes the bits that either has, and
 * max the bits that both have.
 */
static LLVMValueRef float_pick(struct emit *e, const struct ptx_inst *inst, LLVMValueRef a,
	LLVMValueRef b)
{
	bool min = inst->op == PTX_OP_FMIN;
	LLVMValueRef a_bits = emit_bits(e, a);
	LLVMValueRef b_bits = emit_bits(e, b);
	LLVMValueRef both = min ? ir_or(e, a_bits, b_bits) : ir_and(e, a_bits, b_bits);
	both = emit_cast(e, both, LLVMTypeOf(a));

	LLVMValueRef a_wins = ir_fcmp(e, min ? LLVMRealOLT : LLVMRealOGT, a, b);
	LLVMValueRef value = ir_select(e, a_wins, a, b);
	value = ir_select(e, ir_fcmp(e, LLVMRealOEQ, a, b), both, value);
	bool keep_nan = ptx_has(&inst->mods, PTX_MOD_NAN);
	LLVMValueRef suspect = keep_nan ? a : b;
	return ir_select(e, ir_fcmp(e, LLVMRealUNO, suspect, suspect), a, value);
}

/* .xorsign.abs: of the magnitudes, with the signs multiplied.  Three operands have .abs alone. */
void emit_fminmax(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef args[3] = {NULL};
	size_t count = inst->operand_count - 1;
	for (size_t i = 0; i < count; i++) {
		args[i] = emit_float_arg(e, inst, i + 1);
	}
	LLVMValueRef signs = ir_xor(e, emit_bits(e, args[0]), emit_bits(e, args[1]));
	for (size_t i = 0; i < count && ptx_has(&inst->mods, PTX_MOD_ABS); i++) {
		args[i] = ir_call1(e, "llvm.fabs", args[i]);
	}

	LLVMValueRef value = float_pick(e, inst, args[0], args[1]);
	if (count == 3) {
		value = float_pick(e, inst, value, args[2]);
	}
	if (ptx_has(&inst->mods, PTX_MOD_XORSIGN)) {
		signs = emit_cast(e, signs, LLVMTypeOf(value));
		value = ir_call2(e, "llvm.copysign", value, signs);
	}
	emit_float_result(e, inst, value);
}
