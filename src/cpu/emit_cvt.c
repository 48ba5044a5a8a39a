/* SPDX-License-Identifier: MIT */

/*
 * Moving and converting.  f16 and bf16 exist only here: they are read as f32, which holds both
 * exactly, and written by rounding an f32.  What is wider than f32 becomes an f32 rounded to odd
 * first, so that the second rounding gives what a single one would.
 */
#include "../base/common.h"

#include "emit.h"

static bool is_real(enum ptx_type type)
{
	return ptx_type_class(type) == 'f';
}

static bool is_half(enum ptx_type type)
{
	return type == PTX_F16 || type == PTX_BF16;
}

/* mov {a, b}, c: the first element takes the lowest bits. */
static void unpack(struct emit *e, const struct ptx_operand *to, LLVMValueRef value)
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
		unpack(e, to, value);
	} else {
		emit_def(e, to, inst->types[0], value);
	}
}

/* The bits of an f16 in place of those of an f32 are the number times 2^-112, subnormals too. */
static LLVMValueRef from_half(struct emit *e, LLVMValueRef half, enum ptx_type type)
{
	LLVMValueRef bits = ir_zext(e, half, e->i32);
	if (type == PTX_BF16) {
		return ir_bitcast(e, ir_shl_by(e, bits, 16), e->f32);
	}

	LLVMValueRef size = ir_shl_by(e, ir_mask(e, bits, 0x7fff), 13);
	LLVMValueRef sign = ir_shl_by(e, ir_mask(e, bits, 0x8000), 16);
	LLVMValueRef finite = ir_icmp(e, LLVMIntULT, size, emit_int(e, 32, 0x7c00 << 13));
	LLVMValueRef scale = emit_real(e, e->f32, 0x1p112);
	LLVMValueRef scaled = ir_fmul(e, ir_bitcast(e, size, e->f32), scale);
	LLVMValueRef special = ir_or(e, size, emit_int(e, 32, 0x7f800000));
	size = ir_select(e, finite, emit_bits(e, scaled), special);
	return ir_bitcast(e, ir_or(e, size, sign), e->f32);
}

/* Drop the last bits of an integer, rounding to nearest even. */
static LLVMValueRef drop_bits(struct emit *e, LLVMValueRef value, unsigned count)
{
	LLVMValueRef odd = ir_mask(e, ir_lshr_by(e, value, count), 1);
	value = ir_add(e, value, emit_int(e, 32, (1u << (count - 1)) - 1));
	return ir_lshr_by(e, ir_add(e, value, odd), count);
}

/* The magnitude of an f32, given as bits, to the nearest f16.  Adding 0.5 to a number below 2^-14
 * rounds it where the last bit of a subnormal f16 is. */
static LLVMValueRef nearest_f16(struct emit *e, LLVMValueRef size)
{
	LLVMValueRef normal = drop_bits(e, ir_sub(e, size, emit_int(e, 32, 112 << 23)), 13);
	normal = ir_call2(e, "llvm.umin", normal, emit_int(e, 32, 0x7c00));
	LLVMValueRef half = emit_real(e, e->f32, 0.5);
	LLVMValueRef tiny = ir_fadd(e, ir_bitcast(e, size, e->f32), half);
	tiny = ir_sub(e, emit_bits(e, tiny), emit_bits(e, half));
	return ir_select(e, ir_icmp(e, LLVMIntULT, size, emit_int(e, 32, 113 << 23)), tiny, normal);
}

/* Step from the nearest half to its neighbour, where the direction of rounding asks for it. */
static LLVMValueRef step_half(struct emit *e, LLVMValueRef half, enum ptx_type type,
	LLVMValueRef value, enum emit_round round)
{
	LLVMValueRef back = from_half(e, half, type);
	LLVMValueRef negative = ir_icmp(e, LLVMIntSLT, half, emit_int(e, 16, 0));
	LLVMValueRef above = ir_fcmp(e, LLVMRealOGT, back, value);
	LLVMValueRef below = ir_fcmp(e, LLVMRealOLT, back, value);
	LLVMValueRef one = emit_int(e, 16, 1);
	LLVMValueRef out = ir_add(e, half, one);
	LLVMValueRef in = ir_sub(e, half, one);

	switch (round) {
	case EMIT_DOWN:
		return ir_select(e, above, ir_select(e, negative, out, in), half);
	case EMIT_UP:
		return ir_select(e, below, ir_select(e, negative, in, out), half);
	default:
		return ir_select(e, ir_select(e, negative, below, above), in, half);
	}
}

static LLVMValueRef to_half(struct emit *e, LLVMValueRef value, enum ptx_type type,
	enum emit_round round)
{
	LLVMValueRef bits = emit_bits(e, value);
	LLVMValueRef size = ir_mask(e, bits, 0x7fffffff);
	LLVMValueRef sign = ir_lshr_by(e, bits, 16);
	LLVMValueRef half = type == PTX_F16 ? nearest_f16(e, size) : drop_bits(e, size, 16);

	half = ir_or(e, half, ir_mask(e, sign, 0x8000));
	half = ir_trunc(e, half, e->i16);
	if (round != EMIT_NEAREST) {
		half = step_half(e, half, type, value, round);
	}
	LLVMValueRef is_nan = ir_fcmp(e, LLVMRealUNO, value, value);
	return ir_select(e, is_nan, emit_int(e, 16, 0x7fff), half);
}

/* Round to an integral value. */
static LLVMValueRef integral(struct emit *e, LLVMValueRef value, enum emit_round round)
{
	static const char *const names[] = {
		[EMIT_NEAREST] = "llvm.rint",
		[EMIT_DOWN] = "llvm.floor",
		[EMIT_UP] = "llvm.ceil",
		[EMIT_ZERO] = "llvm.trunc",
	};
	return ir_call1(e, names[round], value);
}

static bool is_integral(const struct ptx_inst *inst)
{
	return ptx_has(&inst->mods, PTX_MOD_RNI) || ptx_has(&inst->mods, PTX_MOD_RZI)
		|| ptx_has(&inst->mods, PTX_MOD_RMI) || ptx_has(&inst->mods, PTX_MOD_RPI);
}

/* The smallest or largest value of an integer type, in `width` bits, more than the type has. */
static LLVMValueRef limit(struct emit *e, enum ptx_type type, unsigned width, bool largest)
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

static LLVMValueRef int_to_int(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value)
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
	value = ir_call2(e, "llvm.smax", value, limit(e, to, width, false));
	value = ir_call2(e, "llvm.smin", value, limit(e, to, width, true));
	return ir_trunc(e, value, type);
}

/* Out of range gives the nearest integer that fits.  PTX ISA, cvt: not a number gives 0, but the
 * highest bit alone when either side has 64 bits. */
static LLVMValueRef real_to_int(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value)
{
	enum ptx_type to = inst->types[0];
	enum emit_round round = emit_round_of(inst);
	unsigned bits = ptx_type_bits(to);
	LLVMTypeRef types[] = {emit_int_type(e, bits), LLVMTypeOf(value)};
	LLVMValueRef whole = round == EMIT_ZERO ? value : integral(e, value, round);
	const char *name = emit_is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
	LLVMValueRef fit = ir_intrinsic(e, name, types, 2, &whole, 1);
	if (bits < 64 && inst->types[1] != PTX_F64) {
		return fit;
	}
	LLVMValueRef is_nan = ir_fcmp(e, LLVMRealUNO, value, value);
	return ir_select(e, is_nan, emit_int(e, bits, UINT64_C(1) << (bits - 1)), fit);
}

/* An integer as the exact sum of two f64. */
static LLVMValueRef int_parts(struct emit *e, LLVMValueRef value, bool sign, LLVMValueRef *low)
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
static LLVMValueRef round_parts(struct emit *e, enum ptx_type to, LLVMValueRef high,
	LLVMValueRef low, enum emit_round round)
{
	LLVMValueRef sum = ir_fadd(e, high, low);
	LLVMValueRef err = ir_fsub(e, low, ir_fsub(e, sum, high));
	if (!is_half(to)) {
		return emit_round_f32(e, sum, err, round);
	}
	return to_half(e, emit_round_f32(e, sum, err, EMIT_ODD), to, round);
}

static LLVMValueRef int_to_real(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value)
{
	enum ptx_type to = inst->types[0];
	enum emit_round round = emit_round_of(inst);
	bool sign = emit_is_signed(inst->types[1]);
	if (!is_half(to) && round == EMIT_NEAREST) {
		LLVMTypeRef type = emit_type(e, to);
		return sign ? ir_sitofp(e, value, type) : ir_uitofp(e, value, type);
	}

	LLVMValueRef low;
	LLVMValueRef high = int_parts(e, value, sign, &low);
	if (to != PTX_F64) {
		return round_parts(e, to, high, low, round);
	}
	return ir_width(value) < 64 ? high : emit_round_f64(e, RT_ADD, round, high, low, NULL);
}

static LLVMValueRef real_to_real(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value)
{
	enum ptx_type to = inst->types[0];
	enum emit_round round = emit_round_of(inst);
	LLVMValueRef zero = emit_real(e, e->f64, 0);

	if (is_integral(inst)) {
		value = integral(e, value, round);
	}
	if (ptx_has(&inst->mods, PTX_MOD_SAT)) {
		value = emit_saturate(e, value);
	}
	if (is_half(to)) {
		value = ir_is_f32(e, value) ? value : emit_round_f32(e, value, zero, EMIT_ODD);
		return to_half(e, value, to, round);
	}
	if (LLVMTypeOf(value) == emit_type(e, to)) {
		return value;
	}
	if (to == PTX_F64) {
		return ir_fpext(e, value, e->f64);
	}
	return round == EMIT_NEAREST ? ir_fptrunc(e, value, e->f32)
		: emit_round_f32(e, value, zero, round);
}

void emit_cvt(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type to = inst->types[0];
	enum ptx_type from = inst->types[1];
	bool flush = ptx_has(&inst->mods, PTX_MOD_FTZ);
	LLVMValueRef value = emit_use(e, &inst->operands[1], from);

	if (is_half(from)) {
		value = from_half(e, value, from);
	} else if (from == PTX_F32 && flush) {
		value = emit_flush(e, value);
	}
	if (is_real(from)) {
		value = is_real(to) ? real_to_real(e, inst, value) : real_to_int(e, inst, value);
	} else {
		value = is_real(to) ? int_to_real(e, inst, value) : int_to_int(e, inst, value);
	}
	emit_def(e, &inst->operands[0], to, to == PTX_F32 && flush ? emit_flush(e, value) : value);
}

/* Two f32 to a pair of halves, the first in the upper one. */
void emit_cvt_pair(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type type = inst->types[0] == PTX_F16X2 ? PTX_F16 : PTX_BF16;
	LLVMValueRef zero = emit_real(e, e->f32, 0);
	LLVMValueRef halves[2];
	for (size_t i = 0; i < 2; i++) {
		LLVMValueRef value = emit_use(e, &inst->operands[i + 1], PTX_F32);
		if (ptx_has(&inst->mods, PTX_MOD_RELU)) {
			value = ir_select(e, ir_fcmp(e, LLVMRealUGT, value, zero), value, zero);
		}
		halves[i] = ir_zext(e, to_half(e, value, type, emit_round_of(inst)), e->i32);
	}
	LLVMValueRef high = ir_shl_by(e, halves[0], 16);
	emit_def(e, &inst->operands[0], inst->types[0], ir_or(e, high, halves[1]));
}
