/* SPDX-License-Identifier: MIT */
/*
 * Floats of 8 bits and fewer, in pairs, and the other formats that only cvt knows: tf32, ue8m0.
 *
 * A small float is made from the bits of an f32: the exponent moves to the new bias, and the lowest
 * bits are rounded away.  Below the smallest normal number, adding a power of two makes the
 * processor round at the last bit of a subnormal.  The way back is exact.
 */
#include "base/common.h"

#include "cpu/codegen/ops/emit_float.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_value.h"

struct small {
	enum ptx_type type;
	unsigned fraction; /* bits */
	unsigned size;     /* bits, but for the sign */
	int bias;
	unsigned most;     /* the largest number */
	unsigned infinity; /* the bits from here up to nan are not numbers; 0: no infinity */
	unsigned nan;      /* the one that a NaN becomes */
	unsigned width;    /* bits that one of a pair takes */
};

static const struct small smalls[] = {
	{PTX_E4M3X2, 3, 7, 7, 0x7e, 0, 0x7f, 8},
	{PTX_E5M2X2, 2, 7, 15, 0x7b, 0x7c, 0x7f, 8},
	{PTX_E2M3X2, 3, 5, 1, 0x1f, 0, 0x1f, 8},
	{PTX_E3M2X2, 2, 5, 3, 0x1f, 0, 0x1f, 8},
	{PTX_E2M1X2, 1, 3, 1, 7, 0, 7, 4},
};

static const struct small *fp8_small_of(enum ptx_type type)
{
	size_t i = 0;
	while (i + 1 < countof(smalls) && smalls[i].type != type) {
		i++;
	}
	return &smalls[i];
}

/* Round an integer to a multiple of 1 << count, to the nearest and then even one. */
static LLVMValueRef fp8_nearest_multiple(struct emit *e, LLVMValueRef bits, unsigned count)
{
	LLVMValueRef odd = ir_mask(e, ir_lshr_by(e, bits, count), 1);
	bits = ir_add(e, bits, ir_add(e, odd, emit_int(e, 32, (1u << (count - 1)) - 1)));
	return ir_mask(e, bits, ~((UINT64_C(1) << count) - 1) & UINT32_MAX);
}

/* The f32 nearest to `value` in a small format, as bits of that; too large becomes the largest. */
static LLVMValueRef fp8_encode(struct emit *e, const struct small *small, LLVMValueRef value)
{
	unsigned drop = 23 - small->fraction;
	unsigned normal = (unsigned)(128 - small->bias) << 23; /* the smallest normal number */
	LLVMValueRef bits = emit_bits(e, value);
	LLVMValueRef size = ir_mask(e, bits, 0x7fffffff);
	LLVMValueRef above = ir_sub(e, size, emit_int(e, 32, (unsigned)(127 - small->bias) << 23));
	above = ir_lshr_by(e, fp8_nearest_multiple(e, above, drop), drop);
	above = ir_call2(e, "llvm.umin", above, emit_int(e, 32, small->most));

	LLVMValueRef unit = emit_int(e, 32, normal + (drop << 23));
	LLVMValueRef below = ir_fadd(e, ir_bitcast(e, size, e->f32), ir_bitcast(e, unit, e->f32));
	below = ir_sub(e, emit_bits(e, below), unit);

	LLVMValueRef tiny = ir_icmp(e, LLVMIntULT, size, emit_int(e, 32, normal));
	LLVMValueRef sign = ir_lshr_by(e, ir_mask(e, bits, 0x80000000), 31 - small->size);
	LLVMValueRef code = ir_or(e, ir_select(e, tiny, below, above), sign);
	LLVMValueRef is_nan = ir_fcmp(e, LLVMRealUNO, value, value);
	return ir_select(e, is_nan, emit_int(e, 32, small->nan), code);
}

/* Of the two values to convert the lower or upper one: an operand, or half of one, as f32. */
static LLVMValueRef fp8_real_arg(struct emit *e, const struct ptx_inst *inst, unsigned part)
{
	enum ptx_type type = inst->types[1], half = emit_half_type(type);
	if (half == type) {
		return emit_use(e, &inst->operands[2 - part], type);
	}
	LLVMValueRef pair = emit_use(e, &inst->operands[1], type);
	return emit_from_half(e, emit_half_part(e, pair, part), half);
}

/* Two in one register: the first operand, or the upper half of it, in the upper bits. */
void emit_cvt_small(struct emit *e, const struct ptx_inst *inst)
{
	const struct small *small = fp8_small_of(inst->types[0]);
	LLVMValueRef codes[2];
	for (unsigned part = 0; part < 2; part++) {
		LLVMValueRef value = fp8_real_arg(e, inst, part);
		value = ptx_has(&inst->mods, PTX_MOD_RELU) ? emit_relu(e, value) : value;
		codes[part] = fp8_encode(e, small, value);
	}
	LLVMValueRef both = ir_or(e, ir_shl_by(e, codes[1], small->width), codes[0]);
	emit_result(e, inst, ir_trunc(e, both, emit_type(e, inst->types[0])));
}

/* Read as the bits of an f32, they are the number times a power of two, subnormals included. */
static LLVMValueRef fp8_decode(struct emit *e, const struct small *small, LLVMValueRef code)
{
	LLVMValueRef size = ir_mask(e, code, (1u << small->size) - 1);
	LLVMValueRef bits = ir_shl_by(e, size, 23 - small->fraction);
	LLVMValueRef scale = ir_bitcast(e, emit_int(e, 32, (unsigned)(254 - small->bias) << 23),
		e->f32);
	LLVMValueRef value = ir_fmul(e, ir_bitcast(e, bits, e->f32), scale);
	if (small->nan != small->most) {
		LLVMValueRef most = emit_int(e, 32, small->most);
		LLVMValueRef nan = emit_real(e, e->f32, __builtin_nan(""));
		value = ir_select(e, ir_icmp(e, LLVMIntUGT, size, most), nan, value);
	}
	if (small->infinity) {
		LLVMValueRef is = ir_icmp(e, LLVMIntEQ, size, emit_int(e, 32, small->infinity));
		value = ir_select(e, is, emit_real(e, e->f32, __builtin_inf()), value);
	}
	LLVMValueRef sign = ir_mask(e, ir_shl_by(e, code, 31 - small->size), 0x80000000);
	return ir_bitcast(e, ir_or(e, emit_bits(e, value), sign), e->f32);
}

void emit_cvt_from_small(struct emit *e, const struct ptx_inst *inst)
{
	const struct small *small = fp8_small_of(inst->types[1]);
	LLVMValueRef both = emit_use(e, &inst->operands[1], inst->types[1]);
	both = ir_zext(e, both, e->i32);
	LLVMValueRef halves[2];
	for (unsigned part = 0; part < 2; part++) {
		LLVMValueRef code = ir_lshr_by(e, both, small->width * part);
		LLVMValueRef value = fp8_decode(e, small, code);
		value = ptx_has(&inst->mods, PTX_MOD_RELU) ? emit_relu(e, value) : value;
		halves[part] = emit_to_half(e, value, emit_half_type(inst->types[0]), EMIT_NEAREST);
	}
	emit_result(e, inst, emit_pair(e, halves[0], halves[1]));
}

/* ue8m0 is the exponent of an f32, and nothing else: 0 is 2^-127, 255 is NaN.  The sign is lost. */
static LLVMValueRef fp8_exponent_of(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value)
{
	LLVMValueRef size = ir_mask(e, emit_bits(e, value), 0x7fffffff);
	LLVMValueRef infinity = emit_int(e, 32, 0x7f800000);
	LLVMValueRef code = ir_lshr_by(e, size, 23);
	if (ptx_has(&inst->mods, PTX_MOD_RP)) {
		LLVMValueRef lowest = emit_int(e, 32, 0x400000); /* 2^-127 itself */
		LLVMValueRef rest = ir_icmp(e, LLVMIntNE, ir_mask(e, size, 0x7fffff),
			emit_int(e, 32, 0));
		rest = ir_and(e, rest, ir_icmp(e, LLVMIntUGT, size, lowest));
		rest = ir_and(e, rest, ir_icmp(e, LLVMIntULT, size, infinity));
		code = ir_add(e, code, ir_zext(e, rest, e->i32));
	}
	if (ptx_has(&inst->mods, PTX_MOD_SATFINITE)) {
		LLVMValueRef finite = ir_call2(e, "llvm.umin", code, emit_int(e, 32, 0xfe));
		LLVMValueRef number = ir_icmp(e, LLVMIntULE, size, infinity);
		code = ir_select(e, number, finite, code);
	}
	return code;
}

void emit_cvt_ue8m0(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef low = fp8_exponent_of(e, inst, fp8_real_arg(e, inst, 0));
	LLVMValueRef high = fp8_exponent_of(e, inst, fp8_real_arg(e, inst, 1));
	LLVMValueRef both = ir_or(e, ir_shl_by(e, high, 8), low);
	emit_result(e, inst, ir_trunc(e, both, e->i16));
}

void emit_cvt_from_ue8m0(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef both = emit_use(e, &inst->operands[1], inst->types[1]);
	LLVMValueRef halves[2];
	for (unsigned part = 0; part < 2; part++) {
		LLVMValueRef code = ir_mask(e, ir_lshr_by(e, both, 8 * part), 0xff);
		LLVMValueRef half = ir_shl_by(e, code, 7);
		LLVMValueRef zero = ir_icmp(e, LLVMIntEQ, code, emit_int(e, 16, 0));
		half = ir_select(e, zero, emit_int(e, 16, 0x40), half);
		LLVMValueRef is_nan = ir_icmp(e, LLVMIntEQ, code, emit_int(e, 16, 0xff));
		halves[part] = ir_select(e, is_nan, emit_int(e, 16, 0x7fff), half);
	}
	emit_result(e, inst, emit_pair(e, halves[0], halves[1]));
}

LLVMValueRef emit_satfinite(struct emit *e, LLVMValueRef value, double most)
{
	LLVMValueRef high = emit_real(e, e->f32, most), low = emit_real(e, e->f32, -most);
	value = ir_select(e, ir_fcmp(e, LLVMRealOGT, value, high), high, value);
	return ir_select(e, ir_fcmp(e, LLVMRealOLT, value, low), low, value);
}

/* An f32 with 10 bits of fraction; .rna rounds ties away from zero. */
void emit_cvt_tf32(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef value = emit_use(e, &inst->operands[1], PTX_F32);
	if (ptx_has(&inst->mods, PTX_MOD_RELU)) {
		value = emit_relu(e, value);
	}
	if (ptx_has(&inst->mods, PTX_MOD_SATFINITE)) {
		value = emit_satfinite(e, value, 0x1.ffcp127);
	}
	LLVMValueRef bits = emit_bits(e, value);
	if (ptx_has(&inst->mods, PTX_MOD_RN)) {
		bits = fp8_nearest_multiple(e, bits, 13);
	} else if (ptx_has(&inst->mods, PTX_MOD_RNA)) {
		bits = ir_add(e, bits, emit_int(e, 32, 0x1000));
	}
	bits = ir_mask(e, bits, 0xffffe000);
	LLVMValueRef is_nan = ir_fcmp(e, LLVMRealUNO, value, value);
	emit_result(e, inst, ir_select(e, is_nan, emit_int(e, 32, 0x7fffffff), bits));
}
