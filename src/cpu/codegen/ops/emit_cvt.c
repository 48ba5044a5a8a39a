/* SPDX-License-Identifier: MIT */
/*
 * Moves and conversions.  A value wider than f32 becomes an f32 rounded to odd on its way to f16 or
 * bf16, so that the second rounding gives the result of a single one.
 */
#include "base/common.h"

#include "cpu/codegen/ops/emit_float.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_value.h"

static bool cvt_is_real(enum ptx_type type)
{
	return ptx_type_class(type) == 'f';
}

/* mov {a, b}, c: the first element takes the lowest bits. */
static void cvt_unpack(struct emit *e, const struct ptx_operand *to, LLVMValueRef value)
{
	value = emit_bits(e, value);
	unsigned width = ir_width(value);
	unsigned part = width / (unsigned)to->count;
	for (size_t i = 0; i < to->count; i++) {
		LLVMValueRef shift = ir_zext(e, emit_int(e, 32, i * part), LLVMTypeOf(value));
		LLVMValueRef low = ir_trunc(e, ir_lshr(e, value, shift), emit_int_type(e, part));
		emit_def(e, &to->elements[i], PTX_NONE, low);
	}
}

void emit_mov(struct emit *e, const struct ptx_inst *inst)
{
	const struct ptx_operand *to = &inst->operands[0];
	LLVMValueRef value = emit_use(e, &inst->operands[1], inst->types[0]);
	if (to->kind == PTX_VECTOR) {
		cvt_unpack(e, to, value);
	} else {
		emit_def(e, to, inst->types[0], value);
	}
}

/* Round to an integral value. */
static LLVMValueRef cvt_integral(struct emit *e, LLVMValueRef value, enum emit_round round)
{
	static const char *const names[] = {
		[EMIT_NEAREST] = "llvm.rint",
		[EMIT_DOWN] = "llvm.floor",
		[EMIT_UP] = "llvm.ceil",
		[EMIT_ZERO] = "llvm.trunc",
	};
	return ir_call1(e, names[round], value);
}

static bool cvt_is_integral(const struct ptx_inst *inst)
{
	return ptx_has(&inst->mods, PTX_MOD_RNI) || ptx_has(&inst->mods, PTX_MOD_RZI)
		|| ptx_has(&inst->mods, PTX_MOD_RMI) || ptx_has(&inst->mods, PTX_MOD_RPI);
}

/* The smallest or largest value of an integer type, in `width` bits, more than the type has. */
static LLVMValueRef cvt_limit(struct emit *e, enum ptx_type type, unsigned width, bool largest)
{
	unsigned bits = ptx_type_bits(type);
	LLVMTypeRef own = emit_int_type(e, bits);
	LLVMValueRef top = emit_int(e, bits, UINT64_C(1) << (bits - 1));
	LLVMValueRef value;
	if (emit_is_signed(type)) {
		value = largest ? ir_not(e, top) : top;
	} else {
		value = largest ? LLVMConstAllOnes(own) : LLVMConstNull(own);
	}
	return ir_resize(e, value, emit_int_type(e, width), emit_is_signed(type));
}

static LLVMValueRef cvt_int_to_int(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value)
{
	enum ptx_type to = inst->types[0];
	bool sign = emit_is_signed(inst->types[1]);
	LLVMTypeRef type = emit_int_type(e, ptx_type_bits(to));
	if (!ptx_has(&inst->mods, PTX_MOD_SAT)) {
		return ir_resize(e, value, type, sign);
	}

	unsigned from_bits = ptx_type_bits(inst->types[1]);
	unsigned width = 2 * (from_bits > ptx_type_bits(to) ? from_bits : ptx_type_bits(to));
	value = ir_resize(e, value, emit_int_type(e, width), sign);
	value = ir_call2(e, "llvm.smax", value, cvt_limit(e, to, width, false));
	value = ir_call2(e, "llvm.smin", value, cvt_limit(e, to, width, true));
	return ir_trunc(e, value, type);
}

/* A number toward zero, or the nearest integer that fits; not a number is 0.  In parts, of which
 * LLVM makes vectors in loops: of its own saturating conversion it does not. */
static LLVMValueRef cvt_fit_int(struct emit *e, enum ptx_type to, LLVMValueRef x)
{
	bool sign = emit_is_signed(to);
	unsigned bits = ptx_type_bits(to);
	LLVMTypeRef type = emit_int_type(e, bits);
	LLVMTypeRef real = ir_is_f32(e, x) ? e->f32 : e->f64;
	double half = (double)(UINT64_C(1) << (bits - 1));
	LLVMValueRef low = emit_real(e, real, sign ? -half : 0);
	LLVMValueRef high = emit_real(e, real, sign ? half : 2 * half);
	LLVMValueRef above = ir_fcmp(e, LLVMRealOGE, x, high);
	LLVMValueRef below = ir_fcmp(e, LLVMRealOLT, x, low);
	LLVMValueRef fits = ir_and(e, ir_fcmp(e, LLVMRealOGE, x, low),
		ir_fcmp(e, LLVMRealOLT, x, high));
	LLVMValueRef inner = ir_select(e, fits, x, emit_real(e, real, 0));
	LLVMValueRef value = sign ? LLVMBuildFPToSI(e->builder, inner, type, "")
		: LLVMBuildFPToUI(e->builder, inner, type, "");
	value = ir_select(e, above, cvt_limit(e, to, bits, true), value);
	return sign ? ir_select(e, below, cvt_limit(e, to, bits, false), value) : value;
}

/* Out of range gives the nearest integer that fits.  PTX ISA, cvt: not a number gives 0, but the
 * highest bit alone when either side has 64 bits. */
static LLVMValueRef cvt_real_to_int(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value)
{
	enum ptx_type to = inst->types[0];
	enum emit_round round = emit_round_of(inst);
	unsigned bits = ptx_type_bits(to);
	LLVMValueRef fit = cvt_fit_int(e, to,
		round == EMIT_ZERO ? value : cvt_integral(e, value, round));
	if (bits < 64 && inst->types[1] != PTX_F64) {
		return fit;
	}
	LLVMValueRef is_nan = ir_fcmp(e, LLVMRealUNO, value, value);
	return ir_select(e, is_nan, emit_int(e, bits, UINT64_C(1) << (bits - 1)), fit);
}

/* An integer as the exact sum of two f64. */
static LLVMValueRef cvt_int_parts(struct emit *e, LLVMValueRef value, bool sign, LLVMValueRef *low)
{
	if (ir_width(value) < 64) {
		*low = emit_real(e, e->f64, 0);
		return sign ? ir_sitofp(e, value, e->f64) : ir_uitofp(e, value, e->f64);
	}

	LLVMValueRef half = emit_int(e, 64, 32);
	LLVMValueRef high = sign ? ir_ashr(e, value, half) : ir_lshr(e, value, half);
	high = sign ? ir_sitofp(e, high, e->f64) : ir_uitofp(e, high, e->f64);
	*low = ir_uitofp(e, ir_trunc(e, value, e->i32), e->f64);
	return ir_fmul(e, high, emit_real(e, e->f64, 0x1p32));
}

/* The f32 or half next to the exact sum of two f64 of which the first is the larger. */
static LLVMValueRef cvt_round_parts(struct emit *e, enum ptx_type to, LLVMValueRef high,
	LLVMValueRef low, enum emit_round round)
{
	LLVMValueRef sum = ir_fadd(e, high, low);
	LLVMValueRef err = ir_fsub(e, low, ir_fsub(e, sum, high));
	if (!emit_is_half(to)) {
		return emit_round_f32(e, sum, err, round);
	}
	return emit_to_half(e, emit_round_f32(e, sum, err, EMIT_ODD), to, round);
}

/* An integer that an f32 holds, and that rounds to an f16 as the given one does: the large ones all
 * become the same, beyond the largest f16. */
static LLVMValueRef cvt_limit_int(struct emit *e, LLVMValueRef value, bool sign)
{
	enum { LIMIT = 1 << 17 };
	LLVMTypeRef type = LLVMTypeOf(value);
	if (ir_width(value) < 32) {
		return value;
	}
	value = ir_call2(e, sign ? "llvm.smin" : "llvm.umin", value, emit_const(e, type, LIMIT));
	value = sign ? ir_call2(e, "llvm.smax", value, ir_neg(e, emit_const(e, type, LIMIT)))
		: value;
	return ir_trunc(e, value, e->i32);
}

static LLVMValueRef cvt_int_to_real(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value)
{
	enum ptx_type to = inst->types[0];
	enum emit_round round = emit_round_of(inst);
	bool sign = emit_is_signed(inst->types[1]);
	if (ptx_has(&inst->mods, PTX_MOD_SAT)) {
		/* Of whole numbers [0, 1] has two. */
		LLVMTypeRef type = LLVMTypeOf(value);
		LLVMValueRef above = ir_icmp(e, sign ? LLVMIntSGT : LLVMIntUGT, value,
			LLVMConstNull(type));
		value = ir_zext(e, above, type);
	}
	if (!emit_is_half(to) && round == EMIT_NEAREST) {
		LLVMTypeRef type = emit_type(e, to);
		return sign ? ir_sitofp(e, value, type) : ir_uitofp(e, value, type);
	}

	if (to == PTX_F16 || (to == PTX_BF16 && ir_width(value) < 32)) {
		value = to == PTX_F16 ? cvt_limit_int(e, value, sign) : value;
		value = sign ? ir_sitofp(e, value, e->f32) : ir_uitofp(e, value, e->f32);
		return emit_to_half(e, value, to, round);
	}

	LLVMValueRef low;
	LLVMValueRef high = cvt_int_parts(e, value, sign, &low);
	if (to != PTX_F64) {
		return cvt_round_parts(e, to, high, low, round);
	}
	return ir_width(value) < 64 ? high : emit_sum_f64(e, high, low, round);
}

static LLVMValueRef cvt_narrow_f64(struct emit *e, LLVMValueRef value, enum emit_round round)
{
	return round == EMIT_NEAREST ? ir_fptrunc(e, value, e->f32)
		: emit_round_f32(e, value, emit_real(e, e->f64, 0), round);
}

static LLVMValueRef cvt_real_to_real(struct emit *e, const struct ptx_inst *inst,
	LLVMValueRef value)
{
	enum ptx_type to = inst->types[0];
	enum emit_round round = emit_round_of(inst);
	LLVMValueRef zero = emit_real(e, e->f64, 0);

	if (cvt_is_integral(inst)) {
		value = cvt_integral(e, value, round);
	}
	if (ptx_has(&inst->mods, PTX_MOD_SAT)) {
		value = emit_saturate(e, value);
	}
	if (emit_is_half(to)) {
		value = ir_is_f32(e, value) ? value : emit_round_f32(e, value, zero, EMIT_ODD);
		return emit_to_half(e, value, to, round);
	}
	if (LLVMTypeOf(value) == emit_type(e, to)) {
		return value;
	}
	if (to == PTX_F64) {
		return ir_fpext(e, value, e->f64);
	}
	LLVMValueRef near = cvt_narrow_f64(e, value, round);
	return !ptx_has(&inst->mods, PTX_MOD_FTZ) ? near
		: emit_flush_rounded(e, near, cvt_narrow_f64(e, emit_enlarge(e, value), round));
}

void emit_cvt(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type to = inst->types[0];
	enum ptx_type from = inst->types[1];
	bool flush = ptx_has(&inst->mods, PTX_MOD_FTZ);
	LLVMValueRef value = emit_use(e, &inst->operands[1], from);

	if (emit_is_half(from)) {
		value = emit_from_half(e, value, from);
	} else if (from == PTX_F32 && flush) {
		value = emit_flush(e, value);
	}
	if (cvt_is_real(from)) {
		value = cvt_is_real(to) ? cvt_real_to_real(e, inst, value)
			: cvt_real_to_int(e, inst, value);
	} else {
		value = cvt_is_real(to) ? cvt_int_to_real(e, inst, value)
			: cvt_int_to_int(e, inst, value);
	}
	flush = flush && to == PTX_F32 && from != PTX_F64; /* which has been rounded and flushed */
	emit_def(e, &inst->operands[0], to, flush ? emit_flush(e, value) : value);
}

/* What only cvt from f32 to a half may say: .relu and .satfinite. */
static LLVMValueRef cvt_limit_half(struct emit *e, const struct ptx_inst *inst, enum ptx_type type,
	LLVMValueRef value)
{
	if (ptx_has(&inst->mods, PTX_MOD_RELU)) {
		value = emit_relu(e, value);
	}
	if (ptx_has(&inst->mods, PTX_MOD_SATFINITE)) {
		value = emit_satfinite(e, value, type == PTX_F16 ? 0x1.ffcp15 : 0x1.fep127);
	}
	return value;
}

/* An f32 to a half. */
static LLVMValueRef cvt_narrow(struct emit *e, const struct ptx_inst *inst, enum ptx_type type,
	LLVMValueRef value)
{
	return emit_to_half(e, cvt_limit_half(e, inst, type, value), type, emit_round_of(inst));
}

void emit_cvt_half(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef value = emit_use(e, &inst->operands[1], PTX_F32);
	emit_result(e, inst, cvt_narrow(e, inst, inst->types[0], value));
}

/* Two f32 to a pair of halves, the first in the upper one. */
void emit_cvt_pair(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type type = emit_half_type(inst->types[0]);
	LLVMValueRef high = cvt_narrow(e, inst, type, emit_use(e, &inst->operands[1], PTX_F32));
	LLVMValueRef low = cvt_narrow(e, inst, type, emit_use(e, &inst->operands[2], PTX_F32));
	emit_result(e, inst, emit_pair(e, low, high));
}

/* An f32 to a bf16: what carries out of the sum of 16 random bits and the 16 that go rounds away
 * from zero, maybe to infinity. */
static LLVMValueRef cvt_narrow_randomly(struct emit *e, const struct ptx_inst *inst,
	LLVMValueRef value, LLVMValueRef random)
{
	value = cvt_limit_half(e, inst, PTX_BF16, value);
	LLVMValueRef is_nan = ir_fcmp(e, LLVMRealUNO, value, value);
	LLVMValueRef bits = ir_mask(e, ir_add(e, emit_bits(e, value), random), 0xffff0000);
	value = ir_select(e, is_nan, value, ir_bitcast(e, bits, e->f32));
	return emit_to_half(e, value, PTX_BF16, EMIT_NEAREST);
}

/* emit_cvt_pair() by random bits: the upper 16 of operand 3 for the first f32. */
void emit_cvt_pair_rs(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef high = emit_use(e, &inst->operands[1], PTX_F32);
	LLVMValueRef low = emit_use(e, &inst->operands[2], PTX_F32);
	LLVMValueRef random = emit_use(e, &inst->operands[3], PTX_U32);
	high = cvt_narrow_randomly(e, inst, high, ir_lshr_by(e, random, 16));
	low = cvt_narrow_randomly(e, inst, low, ir_mask(e, random, 0xffff));
	emit_result(e, inst, emit_pair(e, low, high));
}

/* The width of what cvt.pack makes. */
static unsigned cvt_packed_bits(const struct ptx_inst *inst, bool *sign)
{
	if (ptx_type_bits(inst->types[0]) < 32) {
		*sign = emit_is_signed(inst->types[0]);
		return ptx_type_bits(inst->types[0]);
	}
	*sign = ptx_has(&inst->mods, PTX_MOD_S2) || ptx_has(&inst->mods, PTX_MOD_S4);
	return ptx_has(&inst->mods, PTX_MOD_S2) || ptx_has(&inst->mods, PTX_MOD_U2) ? 2 : 4;
}

/* Two s32, saturated, the first above the second; above them the low bits of a third operand. */
void emit_cvt_pack(struct emit *e, const struct ptx_inst *inst)
{
	bool sign;
	unsigned bits = cvt_packed_bits(inst, &sign);
	uint32_t most = (1u << (bits - sign)) - 1;
	LLVMValueRef all = inst->operand_count < 4 ? emit_int(e, 32, 0)
		: emit_use(e, &inst->operands[3], PTX_B32);
	for (size_t i = 1; i <= 2; i++) {
		LLVMValueRef value = emit_use(e, &inst->operands[i], PTX_S32);
		value = ir_call2(e, "llvm.smax", value, emit_int(e, 32, sign ? ~most : 0));
		value = ir_call2(e, "llvm.smin", value, emit_int(e, 32, most));
		all = ir_or(e, ir_shl_by(e, all, bits), ir_mask(e, value, (1u << bits) - 1));
	}
	emit_def(e, &inst->operands[0], PTX_U32, all);
}
