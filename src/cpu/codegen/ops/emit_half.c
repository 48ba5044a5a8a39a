/* SPDX-License-Identifier: MIT */
/*
 * f16, bf16 and their pairs.  A half is an integer of 16 bits.  For arithmetic it becomes an f32,
 * which holds both formats exactly, and the result is rounded to a half.
 *
 * That rounds twice, and still gives the result of one rounding.  A product of two halves is exact
 * in f32; a bf16 product that is not lies below half of the smallest bf16.  A sum is exact, too,
 * unless it has more than twice the digits of a half plus two, and then the second rounding is
 * known to do no harm.  A fused sum becomes an f32 rounded to odd, whose last bit keeps what was
 * lost (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
 *
 * The halves of a warp's pairs are 64 values that lie one after the other.  What treats all alike
 * takes 32 at a time, and the two of a pair need not be taken apart.
 */
#include "base/common.h"

#include "cpu/codegen/ops/emit_float.h"
#include "cpu/codegen/passes/ir_passes.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_value.h"

enum { CANONICAL_NAN = 0x7fff };

bool emit_is_half(enum ptx_type type)
{
	return type == PTX_F16 || type == PTX_BF16;
}

enum ptx_type emit_half_type(enum ptx_type type)
{
	return type == PTX_F16X2 ? PTX_F16 : type == PTX_BF16X2 ? PTX_BF16 : type;
}

LLVMValueRef emit_half_part(struct emit *e, LLVMValueRef pair, unsigned part)
{
	return ir_trunc(e, ir_lshr_by(e, pair, 16 * part), e->i16);
}

LLVMValueRef emit_pair(struct emit *e, LLVMValueRef low, LLVMValueRef high)
{
	high = ir_shl_by(e, ir_zext(e, high, e->i32), 16);
	return ir_or(e, high, ir_zext(e, low, e->i32));
}

/* Of pairs that are constants: LLVM's builder finds constants through all but the bitcast. */
static LLVMValueRef half_known_share(struct emit *e, LLVMValueRef pairs, unsigned share)
{
	unsigned order[RT_MAX_WIDTH];
	for (unsigned i = 0; i < RT_MAX_WIDTH; i++) {
		order[i] = (share * RT_MAX_WIDTH + i) / 2 + i % 2 * RT_MAX_WIDTH;
	}
	return emit_shuffle(e, emit_half_part(e, pairs, 0), emit_half_part(e, pairs, 1), order,
		RT_MAX_WIDTH);
}

LLVMValueRef emit_half_share(struct emit *e, LLVMValueRef pair, unsigned share)
{
	if (!emit_is_vector(e)) {
		return emit_half_part(e, pair, share);
	}
	if (LLVMIsConstant(pair)) {
		return half_known_share(e, pair, share);
	}
	LLVMValueRef all = ir_bitcast(e, pair, LLVMVectorType(e->s.i16, 2 * e->width));
	return emit_some_lanes(e, all, share * e->width, e->width);
}

LLVMValueRef emit_half_shares(struct emit *e, const LLVMValueRef shares[2])
{
	return !emit_is_vector(e) ? emit_pair(e, shares[0], shares[1])
		: ir_bitcast(e, emit_join(e, shares[0], shares[1]), e->i32);
}

LLVMValueRef emit_flush_half(struct emit *e, LLVMValueRef half, enum ptx_type type)
{
	LLVMValueRef exponent = ir_mask(e, half, type == PTX_F16 ? 0x7c00 : 0x7f80);
	LLVMValueRef small = ir_icmp(e, LLVMIntEQ, exponent, emit_int(e, 16, 0));
	return ir_select(e, small, ir_mask(e, half, 0x8000), half);
}

/* Whether the processor converts, for a warp.  It does so by intrinsics: of conversions LLVM would
 * make comparisons of halves, which the processor has not. */
static bool half_converts_halves(const struct emit *e)
{
	return (e->has_avx512 || e->has_f16c) && emit_is_vector(e);
}

static LLVMValueRef half_widen_16(struct emit *e, LLVMValueRef half, unsigned unused)
{
	LLVMValueRef args[] = {half, LLVMGetUndef(LLVMVectorType(e->s.f32, 16)),
		emit_scalar(e, 16, 0xffff), emit_scalar(e, 32, 4)};
	(void)unused;
	return ir_intrinsic(e, PASS_HALVES_WIDEN, NULL, 0, args, countof(args));
}

/* The processor's number of a direction. */
static LLVMValueRef half_rounding(struct emit *e, unsigned round)
{
	static const unsigned numbers[] = {[EMIT_NEAREST] = 0, [EMIT_DOWN] = 1, [EMIT_UP] = 2,
		[EMIT_ZERO] = 3};
	return emit_u32(e, numbers[round]);
}

static LLVMValueRef half_narrow_8(struct emit *e, LLVMValueRef value, unsigned first,
	unsigned round)
{
	LLVMValueRef args[] = {emit_some_lanes(e, value, first, 8), half_rounding(e, round)};
	return ir_intrinsic(e, "llvm.x86.vcvtps2ph.256", NULL, 0, args, countof(args));
}

static LLVMValueRef half_narrow_16(struct emit *e, LLVMValueRef value, unsigned round)
{
	if (!e->has_avx512) {
		return emit_join(e, half_narrow_8(e, value, 0, round),
			half_narrow_8(e, value, 8, round));
	}
	LLVMValueRef args[] = {value, half_rounding(e, round),
		LLVMGetUndef(LLVMVectorType(e->s.i16, 16)), emit_scalar(e, 16, 0xffff)};
	return ir_intrinsic(e, "llvm.x86.avx512.mask.vcvtps2ph.512", NULL, 0, args, countof(args));
}

/* The bits of an f16, read as bits of an f32, are the number times 2^-112, subnormals included.  A
 * NaN becomes a quiet one, as by the processor's instruction. */
LLVMValueRef emit_from_half(struct emit *e, LLVMValueRef half, enum ptx_type type)
{
	LLVMValueRef bits = ir_zext(e, half, e->i32);
	if (type == PTX_BF16) {
		return ir_bitcast(e, ir_shl_by(e, bits, 16), e->f32);
	}

	if (half_converts_halves(e)) {
		return emit_by_16(e, half, half_widen_16, 0);
	}

	LLVMValueRef size = ir_shl_by(e, ir_mask(e, bits, 0x7fff), 13);
	LLVMValueRef sign = ir_shl_by(e, ir_mask(e, bits, 0x8000), 16);
	LLVMValueRef finite = ir_icmp(e, LLVMIntULT, size, emit_int(e, 32, 0x7c00 << 13));
	LLVMValueRef scale = emit_real(e, e->f32, 0x1p112);
	LLVMValueRef scaled = ir_fmul(e, ir_bitcast(e, size, e->f32), scale);
	LLVMValueRef is_nan = ir_icmp(e, LLVMIntUGT, size, emit_int(e, 32, 0x7c00 << 13));
	LLVMValueRef special = ir_or(e, size, ir_select(e, is_nan, emit_int(e, 32, 0x7fc00000),
		emit_int(e, 32, 0x7f800000)));
	size = ir_select(e, finite, emit_bits(e, scaled), special);
	return ir_bitcast(e, ir_or(e, size, sign), e->f32);
}

/* Drop the last bits of an integer, rounding to nearest even. */
static LLVMValueRef half_drop_bits(struct emit *e, LLVMValueRef value, unsigned count)
{
	LLVMValueRef odd = ir_mask(e, ir_lshr_by(e, value, count), 1);
	value = ir_add(e, value, emit_int(e, 32, (1u << (count - 1)) - 1));
	return ir_lshr_by(e, ir_add(e, value, odd), count);
}

/* The magnitude of an f32, given as bits, to the nearest f16.  Adding 0.5 to a number below 2^-14
 * rounds it where the last bit of a subnormal f16 is. */
static LLVMValueRef half_nearest_f16(struct emit *e, LLVMValueRef size)
{
	LLVMValueRef normal = half_drop_bits(e, ir_sub(e, size, emit_int(e, 32, 112 << 23)), 13);
	normal = ir_call2(e, "llvm.umin", normal, emit_int(e, 32, 0x7c00));
	LLVMValueRef half = emit_real(e, e->f32, 0.5);
	LLVMValueRef tiny = ir_fadd(e, ir_bitcast(e, size, e->f32), half);
	tiny = ir_sub(e, emit_bits(e, tiny), emit_bits(e, half));
	return ir_select(e, ir_icmp(e, LLVMIntULT, size, emit_int(e, 32, 113 << 23)), tiny, normal);
}

/* Step from the nearest f16 to its neighbour, where the direction of rounding asks for it. */
static LLVMValueRef half_step(struct emit *e, LLVMValueRef half, LLVMValueRef value,
	enum emit_round round)
{
	LLVMValueRef back = emit_from_half(e, half, PTX_F16);
	LLVMValueRef negative = ir_icmp(e, LLVMIntSLT, half, emit_int(e, 16, 0));
	LLVMValueRef above = ir_fcmp(e, LLVMRealOGT, back, value);
	LLVMValueRef below = ir_fcmp(e, LLVMRealOLT, back, value);
	LLVMValueRef one = emit_int(e, 16, 1);
	LLVMValueRef out = ir_add(e, half, one);
	LLVMValueRef in = ir_sub(e, half, one);

	switch (round) {
	case EMIT_NEAREST:
		return half;
	case EMIT_DOWN:
		return ir_select(e, above, ir_select(e, negative, out, in), half);
	case EMIT_UP:
		return ir_select(e, below, ir_select(e, negative, in, out), half);
	default:
		return ir_select(e, ir_select(e, negative, below, above), in, half);
	}
}

/* Without an instruction for it. */
static LLVMValueRef half_f16_by_integers(struct emit *e, LLVMValueRef value, enum emit_round round)
{
	LLVMValueRef bits = emit_bits(e, value);
	LLVMValueRef half = half_nearest_f16(e, ir_mask(e, bits, 0x7fffffff));
	half = ir_or(e, half, ir_mask(e, ir_lshr_by(e, bits, 16), 0x8000));
	half = half_step(e, ir_trunc(e, half, e->i16), value, round);
	LLVMValueRef is_nan = ir_fcmp(e, LLVMRealUNO, value, value);
	return ir_select(e, is_nan, emit_int(e, 16, CANONICAL_NAN), half);
}

/* The upper half of an f32.  Before that its size grows, where it is rounded up, by what carries
 * out of the lower half. */
static LLVMValueRef half_upper(struct emit *e, LLVMValueRef value, enum emit_round round)
{
	LLVMValueRef bits = emit_bits(e, value), most = emit_int(e, 32, 0xffff);
	LLVMValueRef sign = ir_ashr(e, bits, emit_int(e, 32, 31));
	switch (round) {
	case EMIT_NEAREST:
		bits = half_drop_bits(e, bits, 16);
		return ir_trunc(e, bits, e->i16);
	case EMIT_DOWN:
		bits = ir_add(e, bits, ir_and(e, sign, most));
		break;
	case EMIT_UP:
		bits = ir_add(e, bits, ir_and(e, ir_not(e, sign), most));
		break;
	default:
		break;
	}
	return ir_trunc(e, ir_lshr_by(e, bits, 16), e->i16);
}

LLVMValueRef emit_to_half(struct emit *e, LLVMValueRef value, enum ptx_type type,
	enum emit_round round)
{
	if (type == PTX_F16 && !half_converts_halves(e)) {
		return half_f16_by_integers(e, value, round);
	}
	/* This NaN becomes the canonical one. */
	LLVMValueRef nan = emit_int(e, 32, type == PTX_F16 ? 0x7fffe000 : 0x7fff0000);
	value = ir_select(e, ir_fcmp(e, LLVMRealUNO, value, value), ir_bitcast(e, nan, e->f32),
		value);
	return type == PTX_F16 ? emit_by_16(e, value, half_narrow_16, round)
		: half_upper(e, value, round);
}

/* What an instruction does with its operands, given as bits of halves of one type. */
typedef LLVMValueRef half_fn(struct emit *e, const struct ptx_inst *inst, enum ptx_type type,
	LLVMValueRef *args);

/* Do it with each half of the operands, subnormals flushed under .ftz. */
static void half_compute(struct emit *e, const struct ptx_inst *inst, half_fn *fn)
{
	enum ptx_type type = emit_half_type(inst->types[0]);
	bool pair = type != inst->types[0];
	bool flush = ptx_has(&inst->mods, PTX_MOD_FTZ);
	LLVMValueRef halves[2];
	for (unsigned share = 0; share <= pair; share++) {
		LLVMValueRef args[3] = {NULL};
		for (size_t i = 1; i < inst->operand_count; i++) {
			LLVMValueRef arg = emit_arg(e, inst, i);
			arg = pair ? emit_half_share(e, arg, share) : arg;
			args[i - 1] = flush ? emit_flush_half(e, arg, type) : arg;
		}
		halves[share] = fn(e, inst, type, args);
	}
	emit_result(e, inst, pair ? emit_half_shares(e, halves) : halves[0]);
}

LLVMValueRef emit_relu(struct emit *e, LLVMValueRef value)
{
	LLVMValueRef zero = emit_real(e, LLVMTypeOf(value), 0);
	return ir_select(e, ir_fcmp(e, LLVMRealUGT, value, zero), value, zero);
}

/* An f32 that is exact, or rounded so that this rounding is the only one that counts. */
static LLVMValueRef half_finish(struct emit *e, const struct ptx_inst *inst, enum ptx_type type,
	LLVMValueRef value)
{
	if (ptx_has(&inst->mods, PTX_MOD_RELU)) {
		value = emit_relu(e, value);
	}
	if (ptx_has(&inst->mods, PTX_MOD_SAT)) {
		value = emit_saturate(e, value);
	}
	LLVMValueRef half = emit_to_half(e, value, type, EMIT_NEAREST);
	return ptx_has(&inst->mods, PTX_MOD_FTZ) ? emit_flush_half(e, half, type) : half;
}

static LLVMValueRef half_binary(struct emit *e, const struct ptx_inst *inst, enum ptx_type type,
	LLVMValueRef *args)
{
	LLVMValueRef a = emit_from_half(e, args[0], type);
	LLVMValueRef b = emit_from_half(e, args[1], type);
	return half_finish(e, inst, type, inst->op == PTX_OP_HADD ? ir_fadd(e, a, b)
		: inst->op == PTX_OP_HSUB ? ir_fsub(e, a, b) : ir_fmul(e, a, b));
}

/* --- Fused sums --- */

/*
 * What a fused sum in f32, rounded to nearest, has lost: Knuth's two-sum, the product of which is
 * never rounded by itself.  Infinities give a NaN.
 *
 * It is exact where `sum` is in the middle between two halves, and elsewhere it does not count: the
 * numbers are multiples of 2^-149 then.  A product of bf16 that has digits below is at most 255 *
 * 255 * 2^-150, which is too far from the middle between 0 and the smallest bf16, 2^-134.
 */
static LLVMValueRef half_fma_error(struct emit *e, LLVMValueRef *args, LLVMValueRef sum)
{
	LLVMValueRef c_part = ir_fneg(e, ir_call3(e, "llvm.fma", args[0], args[1],
		ir_fneg(e, sum)));
	LLVMValueRef product_part = ir_fsub(e, sum, c_part);
	LLVMValueRef err = ir_fadd(e, ir_fsub(e, args[2], c_part),
		ir_call3(e, "llvm.fma", args[0], args[1], ir_fneg(e, product_part)));
	/* Of a product beyond f32 the error is infinite, but the sum exact if it is finite. */
	return ir_call3(e, "llvm.fma", err, emit_real(e, e->f32, 0), err);
}

/* A fused sum rounded to odd, in f32: to nearest, and the error says whether that is exact, else
 * whether it is too far from zero. */
static LLVMValueRef half_odd_fma(struct emit *e, LLVMValueRef *args)
{
	LLVMValueRef sum = ir_call3(e, "llvm.fma", args[0], args[1], args[2]);
	LLVMValueRef err = half_fma_error(e, args, sum);
	LLVMValueRef lost = ir_fcmp(e, LLVMRealONE, err, emit_real(e, e->f32, 0));
	LLVMValueRef far = ir_ashr(e, ir_xor(e, emit_bits(e, err), emit_bits(e, sum)),
		emit_int(e, 32, 31));
	LLVMValueRef odd = ir_or(e, ir_add(e, emit_bits(e, sum), far), emit_int(e, 32, 1));
	return ir_select(e, lost, ir_bitcast(e, odd, e->f32), sum);
}

/* The same in f64, for processors that have no fma. */
static LLVMValueRef half_odd_sum(struct emit *e, LLVMValueRef *args)
{
	LLVMValueRef wide[3];
	for (size_t i = 0; i < countof(wide); i++) {
		wide[i] = ir_fpext(e, args[i], e->f64);
	}
	return emit_sum_f32(e, ir_fmul(e, wide[0], wide[1]), wide[2], EMIT_ODD);
}

/* Where PTX has no sum or product of bf16 (before sm_90), CUDA's headers make them of fused ones by
 * a factor of 1 or -1, or by a sum with -0. */
static LLVMValueRef half_fma(struct emit *e, const struct ptx_inst *inst, enum ptx_type type,
	LLVMValueRef *args)
{
	LLVMValueRef wide[3];
	for (size_t i = 0; i < countof(wide); i++) {
		wide[i] = emit_from_half(e, args[i], type);
	}
	const bool is_one = wide[1] == emit_real(e, e->f32, 1);
	const bool is_minus_one = wide[1] == emit_real(e, e->f32, -1);
	return half_finish(e, inst, type,
		is_one ? ir_fadd(e, wide[0], wide[2])
		: is_minus_one ? ir_fsub(e, wide[2], wide[0])
		: wide[2] == emit_real(e, e->f32, -0.0) ? ir_fmul(e, wide[0], wide[1])
		: e->has_avx2 ? half_odd_fma(e, wide) : half_odd_sum(e, wide));
}

void emit_hbinary(struct emit *e, const struct ptx_inst *inst)
{
	half_compute(e, inst, half_binary);
}

void emit_hfma(struct emit *e, const struct ptx_inst *inst)
{
	half_compute(e, inst, half_fma);
}

static LLVMValueRef half_negated(struct emit *e, const struct ptx_inst *inst, enum ptx_type type,
	LLVMValueRef *args)
{
	(void)inst, (void)type;
	return ir_xor(e, args[0], emit_int(e, 16, 0x8000));
}

static LLVMValueRef half_magnitude(struct emit *e, const struct ptx_inst *inst, enum ptx_type type,
	LLVMValueRef *args)
{
	(void)inst, (void)type;
	return ir_mask(e, args[0], 0x7fff);
}

void emit_hneg(struct emit *e, const struct ptx_inst *inst)
{
	half_compute(e, inst, half_negated);
}

void emit_habs(struct emit *e, const struct ptx_inst *inst)
{
	half_compute(e, inst, half_magnitude);
}

/* Halves as integers of the same order, and back. */
static LLVMValueRef half_ordered(struct emit *e, LLVMValueRef half)
{
	LLVMValueRef sign = ir_ashr(e, half, emit_int(e, 16, 15));
	return ir_xor(e, half, ir_lshr_by(e, sign, 1));
}

static LLVMValueRef half_is_nan(struct emit *e, enum ptx_type type, LLVMValueRef half)
{
	LLVMValueRef infinity = emit_int(e, 16, type == PTX_F16 ? 0x7c00 : 0x7f80);
	return ir_icmp(e, LLVMIntSGT, ir_mask(e, half, 0x7fff), infinity);
}

LLVMValueRef emit_half_min(struct emit *e, enum ptx_type type, bool min, bool keep_nan,
	LLVMValueRef a, LLVMValueRef b)
{
	LLVMValueRef value = half_ordered(e, ir_call2(e, min ? "llvm.smin" : "llvm.smax",
		half_ordered(e, a), half_ordered(e, b)));
	LLVMValueRef no_a = half_is_nan(e, type, a), no_b = half_is_nan(e, type, b);
	LLVMValueRef none = keep_nan ? ir_or(e, no_a, no_b) : ir_and(e, no_a, no_b);
	if (!keep_nan) {
		value = ir_select(e, no_a, b, ir_select(e, no_b, a, value));
	}
	return ir_select(e, none, emit_int(e, 16, CANONICAL_NAN), value);
}

/* .xorsign.abs: of the magnitudes, with the signs multiplied. */
static LLVMValueRef half_min_max(struct emit *e, const struct ptx_inst *inst, enum ptx_type type,
	LLVMValueRef *args)
{
	bool min = inst->op == PTX_OP_HMIN;
	bool keep_nan = ptx_has(&inst->mods, PTX_MOD_NAN);
	if (!ptx_has(&inst->mods, PTX_MOD_XORSIGN)) {
		return emit_half_min(e, type, min, keep_nan, args[0], args[1]);
	}

	LLVMValueRef sign = ir_mask(e, ir_xor(e, args[0], args[1]), 0x8000);
	LLVMValueRef value = emit_half_min(e, type, min, keep_nan, ir_mask(e, args[0], 0x7fff),
		ir_mask(e, args[1], 0x7fff));
	LLVMValueRef is_nan = ir_icmp(e, LLVMIntEQ, value, emit_int(e, 16, CANONICAL_NAN));
	return ir_select(e, is_nan, value, ir_or(e, value, sign));
}

void emit_hminmax(struct emit *e, const struct ptx_inst *inst)
{
	half_compute(e, inst, half_min_max);
}

/* PTX: relative error 2^-9.9 for f16, 2^-7 for bf16; here little more than half a unit in the last
 * place. */
static LLVMValueRef half_exp2(struct emit *e, const struct ptx_inst *inst, enum ptx_type type,
	LLVMValueRef *args)
{
	return half_finish(e, inst, type, emit_exp2_of(e, emit_from_half(e, args[0], type)));
}

void emit_hex2(struct emit *e, const struct ptx_inst *inst)
{
	half_compute(e, inst, half_exp2);
}

/* PTX: absolute error 2^-10.987 for f16, 2^-8 for bf16. */
static LLVMValueRef half_tangent(struct emit *e, const struct ptx_inst *inst, enum ptx_type type,
	LLVMValueRef *args)
{
	return half_finish(e, inst, type, emit_tanh_of(e, emit_from_half(e, args[0], type)));
}

void emit_htanh(struct emit *e, const struct ptx_inst *inst)
{
	half_compute(e, inst, half_tangent);
}
