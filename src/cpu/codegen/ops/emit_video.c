/* SPDX-License-Identifier: MIT */
/*
 * Video instructions: operations on whole values, or on bytes and half-words picked from them.  The
 * scalar ones compute with more than 32 bits, clamp, and combine with a third operand or write a
 * part of it.  The parallel ones do the same with 2 or 4 parts, picked from both operands.  The
 * name of an instruction says what it computes.
 */
#include "base/common.h"

#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_value.h"

#include <string.h>

enum primary { ABSDIFF, ADD, AVRG, MAX, MIN, SET, SHL, SHR, SUB };

static enum primary video_primary_of(const struct ptx_inst *inst)
{
	static const char *const names[] = {
		[ABSDIFF] = "vabsdiff", [ADD] = "vadd", [AVRG] = "vavrg", [MAX] = "vmax",
		[MIN] = "vmin", [SET] = "vset", [SHL] = "vshl", [SHR] = "vshr", [SUB] = "vsub",
	};
	const char *spelling = ptx_rows[inst->op].spelling;
	size_t len = strcspn(spelling, "24"), i = 0;
	while (i + 1 < countof(names) && (strlen(names[i]) != len
		|| strncmp(names[i], spelling, len) != 0)) {
		i++;
	}
	return (enum primary)i;
}

/* A constant that may be negative, in any type. */
static LLVMValueRef video_number(struct emit *e, LLVMTypeRef type, int64_t value)
{
	return ir_resize(e, emit_int(e, 64, (uint64_t)value), type, true);
}

static LLVMValueRef video_compare(struct emit *e, const struct ptx_inst *inst, LLVMValueRef a,
	LLVMValueRef b)
{
	static const struct {
		enum ptx_mod mod;
		LLVMIntPredicate is;
	} compares[] = {{PTX_MOD_EQ, LLVMIntEQ}, {PTX_MOD_NE, LLVMIntNE}, {PTX_MOD_LT, LLVMIntSLT},
		{PTX_MOD_LE, LLVMIntSLE}, {PTX_MOD_GT, LLVMIntSGT}, {PTX_MOD_GE, LLVMIntSGE}};
	size_t i = 0;
	while (i + 1 < countof(compares) && !ptx_has(&inst->mods, compares[i].mod)) {
		i++;
	}
	return ir_zext(e, ir_icmp(e, compares[i].is, a, b), LLVMTypeOf(a));
}

static LLVMValueRef video_shift_amount(struct emit *e, const struct ptx_inst *inst, LLVMValueRef b)
{
	return ptx_has(&inst->mods, PTX_MOD_WRAP) ? ir_mask(e, b, 31)
		: ir_call2(e, "llvm.umin", b, emit_const(e, LLVMTypeOf(b), 32));
}

/* Operands are wide enough for every result. */
static LLVMValueRef video_compute(struct emit *e, const struct ptx_inst *inst, LLVMValueRef a,
	LLVMValueRef b)
{
	LLVMTypeRef type = LLVMTypeOf(a);
	LLVMValueRef sum;
	switch (video_primary_of(inst)) {
	case ABSDIFF:
		return ir_sub(e, ir_call2(e, "llvm.smax", a, b), ir_call2(e, "llvm.smin", a, b));
	case ADD:
		return ir_add(e, a, b);
	case AVRG: /* halves are rounded up, but halves of negative sums down */
		sum = ir_add(e, a, b);
		b = ir_icmp(e, LLVMIntSGE, sum, LLVMConstNull(type));
		return ir_ashr(e, ir_add(e, sum, ir_zext(e, b, type)), emit_const(e, type, 1));
	case MAX:
		return ir_call2(e, "llvm.smax", a, b);
	case MIN:
		return ir_call2(e, "llvm.smin", a, b);
	case SET:
		return video_compare(e, inst, a, b);
	case SHL:
		return ir_shl(e, a, video_shift_amount(e, inst, b));
	case SHR:
		return ir_ashr(e, a, video_shift_amount(e, inst, b));
	default:
		return ir_sub(e, a, b);
	}
}

static LLVMValueRef video_clamp(struct emit *e, LLVMValueRef value, unsigned bits, bool sign)
{
	int64_t most = (INT64_C(1) << (bits - sign)) - 1;
	LLVMTypeRef type = LLVMTypeOf(value);
	value = ir_call2(e, "llvm.smin", value, video_number(e, type, most));
	return ir_call2(e, "llvm.smax", value, video_number(e, type, sign ? -most - 1 : 0));
}

/* Where a selector's part begins and how long it is: .b2, .h1, or everything. */
static unsigned video_part_of(const char *select, unsigned *bits)
{
	*bits = !*select ? 32 : *select == 'b' ? 8 : 16;
	return *select ? (unsigned)(select[1] - '0') * *bits : 0;
}

static LLVMValueRef video_extract(struct emit *e, LLVMValueRef value, unsigned from, unsigned bits,
	bool sign, LLVMTypeRef type)
{
	LLVMTypeRef narrow = emit_int_type(e, bits);
	return ir_resize(e, ir_resize(e, ir_lshr_by(e, value, from), narrow, false), type, sign);
}

static LLVMValueRef video_combine(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value,
	LLVMValueRef c)
{
	if (ptx_has(&inst->mods, PTX_MOD_ADD)) {
		return ir_add(e, value, c);
	}
	if (ptx_has(&inst->mods, PTX_MOD_MIN)) {
		return ir_call2(e, "llvm.smin", value, c);
	}
	return ptx_has(&inst->mods, PTX_MOD_MAX) ? ir_call2(e, "llvm.smax", value, c) : value;
}

/* The types of the result and of operands 1 and 2: vset names the latter only. */
static void video_types_of(const struct ptx_inst *inst, enum ptx_type types[3])
{
	bool set = inst->types[2] == PTX_NONE;
	types[0] = set ? PTX_U32 : inst->types[0];
	types[1] = inst->types[set ? 0 : 1];
	types[2] = inst->types[set ? 1 : 2];
}

void emit_video(struct emit *e, const struct ptx_inst *inst)
{
	const char *place = inst->operands[0].select;
	LLVMTypeRef wide = video_primary_of(inst) == SHL ? e->i128 : e->i64;
	enum ptx_type types[3];
	LLVMValueRef args[3];
	unsigned bits;
	video_types_of(inst, types);
	for (size_t i = 1; i <= 2; i++) {
		const struct ptx_operand *operand = &inst->operands[i];
		unsigned from = video_part_of(operand->select, &bits);
		LLVMValueRef whole = emit_use(e, operand, PTX_B32);
		args[i] = video_extract(e, whole, from, bits, emit_is_signed(types[i]), wide);
	}

	unsigned from = video_part_of(place, &bits);
	bool sign = emit_is_signed(types[0]);
	LLVMValueRef value = video_compute(e, inst, args[1], args[2]);
	value = ptx_has(&inst->mods, PTX_MOD_SAT) ? video_clamp(e, value, bits, sign) : value;
	if (inst->operand_count < 4) {
		emit_def(e, &inst->operands[0], PTX_B32, ir_resize(e, value, e->i32, false));
		return;
	}
	LLVMValueRef c = emit_use(e, &inst->operands[3], PTX_B32);
	value = video_combine(e, inst, value, ir_resize(e, c, wide, sign));
	value = ir_resize(e, value, e->i32, false);
	if (*place) {
		uint32_t mask = ((UINT32_C(1) << bits) - 1) << from;
		value = ir_mask(e, ir_shl_by(e, value, from), mask);
		value = ir_or(e, value, ir_mask(e, c, ~mask));
	}
	emit_def(e, &inst->operands[0], PTX_B32, value);
}

/* Operand i of vmad, the part of it that is selected. */
static LLVMValueRef video_factor(struct emit *e, const struct ptx_inst *inst, size_t i)
{
	unsigned bits;
	unsigned from = video_part_of(inst->operands[i].select, &bits);
	LLVMValueRef whole = ir_resize(e, emit_use(e, &inst->operands[i], PTX_B32), e->i128, false);
	return video_extract(e, whole, from, bits, emit_is_signed(inst->types[i]), e->i128);
}

/* (a * b) + c, of which the product or c may be negated; what is signed is said by a and b and
 * their signs, not by the type of the result.  c is negated as 32 bits, before it is extended. */
void emit_vmad(struct emit *e, const struct ptx_inst *inst)
{
	const struct ptx_operand *o = inst->operands;
	bool minus = o[1].minus != o[2].minus;
	bool sign = emit_is_signed(inst->types[1]) || emit_is_signed(inst->types[2]) || minus
		|| o[3].minus;
	bool one = ptx_has(&inst->mods, PTX_MOD_PO) || minus || o[3].minus;
	unsigned shift = ptx_has(&inst->mods, PTX_MOD_SHR7) ? 7
		: ptx_has(&inst->mods, PTX_MOD_SHR15) ? 15 : 0;
	LLVMValueRef value = ir_mul(e, video_factor(e, inst, 1), video_factor(e, inst, 2));
	LLVMValueRef c = emit_use(e, &o[3], PTX_B32);
	value = minus ? ir_not(e, value) : value;
	c = o[3].minus ? ir_not(e, c) : c;
	value = ir_add(e, value, ir_resize(e, c, e->i128, sign));
	value = ir_add(e, value, emit_const(e, e->i128, one));
	value = ir_ashr(e, value, emit_const(e, e->i128, shift));
	value = ptx_has(&inst->mods, PTX_MOD_SAT) ? video_clamp(e, value, 32, sign) : value;
	emit_def(e, &o[0], PTX_B32, ir_resize(e, value, e->i32, false));
}

/* The selectors of two and four parts begin with the highest one. */
static unsigned video_picked(const char *select, const char *normal, unsigned index)
{
	const char *from = *select ? select : normal;
	return (unsigned)(from[strlen(from) - 1 - index] - '0');
}

static bool video_is_written(const char *mask, unsigned index)
{
	return !*mask || strchr(mask + 1, (int)('0' + index));
}

void emit_video_parts(struct emit *e, const struct ptx_inst *inst)
{
	const char *spelling = ptx_rows[inst->op].spelling;
	unsigned count = (unsigned)(spelling[strlen(spelling) - 1] - '0'), bits = 32 / count;
	const char *normal[] = {"", count == 2 ? "h10" : "b3210", count == 2 ? "h32" : "b7654"};
	const struct ptx_operand *operands = inst->operands;
	bool add = ptx_has(&inst->mods, PTX_MOD_ADD);
	enum ptx_type types[3];
	video_types_of(inst, types);

	LLVMValueRef low = ir_zext(e, emit_use(e, &operands[1], PTX_B32), e->i64);
	LLVMValueRef high = ir_zext(e, emit_use(e, &operands[2], PTX_B32), e->i64);
	LLVMValueRef both = ir_or(e, ir_shl_by(e, high, 32), low);
	LLVMValueRef all = emit_use(e, &operands[3], PTX_B32);
	for (unsigned i = 0; i < count; i++) {
		LLVMValueRef args[3];
		if (!video_is_written(operands[0].select, i)) {
			continue;
		}
		for (size_t j = 1; j <= 2; j++) {
			unsigned part = video_picked(operands[j].select, normal[j], i);
			args[j] = video_extract(e, both, part * bits, bits,
				emit_is_signed(types[j]), e->i32);
		}
		LLVMValueRef value = video_compute(e, inst, args[1], args[2]);
		if (ptx_has(&inst->mods, PTX_MOD_SAT)) {
			value = video_clamp(e, value, bits, emit_is_signed(types[0]));
		}
		uint32_t mask = ((UINT32_C(1) << bits) - 1) << i * bits;
		all = add ? ir_add(e, all, value) : ir_or(e, ir_mask(e, all, ~mask),
			ir_mask(e, ir_shl_by(e, value, i * bits), mask));
	}
	emit_def(e, &operands[0], PTX_B32, all);
}
