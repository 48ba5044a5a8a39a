/* SPDX-License-Identifier: MIT */
/*
 * Bits: logic, shifts, counting, fields, permutes.  PTX clamps shift amounts at the width, and LLVM
 * leaves larger amounts undefined.  Only the helpers below shift by amounts that may be large.
 */
#include "base/common.h"

#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_value.h"

static LLVMValueRef bits_arg32(struct emit *e, const struct ptx_inst *inst, size_t i)
{
	return emit_use(e, &inst->operands[i], PTX_B32);
}

static LLVMValueRef bits_is_below(struct emit *e, LLVMValueRef a, uint64_t limit)
{
	return ir_icmp(e, LLVMIntULT, a, emit_int(e, ir_width(a), limit));
}

static LLVMValueRef bits_at_most(struct emit *e, LLVMValueRef a, uint64_t limit)
{
	return ir_call2(e, "llvm.umin", a, emit_int(e, ir_width(a), limit));
}

/* Shifts by any i32 amount.  An amount that shifts everything out gives 0, or copies of the
 * sign. */

static LLVMValueRef bits_shift_left(struct emit *e, LLVMValueRef a, LLVMValueRef amount)
{
	LLVMTypeRef type = LLVMTypeOf(a);
	LLVMValueRef moved = ir_shl(e, a, ir_resize(e, amount, type, false));
	return ir_select(e, bits_is_below(e, amount, ir_width(a)), moved, LLVMConstNull(type));
}

static LLVMValueRef bits_shift_right(struct emit *e, LLVMValueRef a, LLVMValueRef amount, bool sign)
{
	LLVMTypeRef type = LLVMTypeOf(a);
	if (sign) {
		amount = bits_at_most(e, amount, ir_width(a) - 1);
		return ir_ashr(e, a, ir_resize(e, amount, type, false));
	}
	LLVMValueRef moved = ir_lshr(e, a, ir_resize(e, amount, type, false));
	return ir_select(e, bits_is_below(e, amount, ir_width(a)), moved, LLVMConstNull(type));
}

/* The lowest `count` bits set, all of them from the width on. */
static LLVMValueRef bits_low_mask(struct emit *e, LLVMTypeRef type, LLVMValueRef count)
{
	return ir_not(e, bits_shift_left(e, LLVMConstAllOnes(type), count));
}

void emit_logic(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef a = emit_arg(e, inst, 1);
	LLVMValueRef b = emit_arg(e, inst, 2);
	switch (inst->op) {
	case PTX_OP_AND:
		emit_result(e, inst, ir_and(e, a, b));
		break;
	case PTX_OP_OR:
		emit_result(e, inst, ir_or(e, a, b));
		break;
	default:
		emit_result(e, inst, ir_xor(e, a, b));
		break;
	}
}

void emit_not(struct emit *e, const struct ptx_inst *inst)
{
	emit_result(e, inst, ir_not(e, emit_arg(e, inst, 1)));
}

void emit_cnot(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef a = emit_arg(e, inst, 1);
	LLVMTypeRef type = LLVMTypeOf(a);
	emit_result(e, inst, ir_zext(e, ir_icmp(e, LLVMIntEQ, a, LLVMConstNull(type)), type));
}

void emit_shift(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef a = emit_arg(e, inst, 1);
	LLVMValueRef amount = bits_arg32(e, inst, 2);
	bool sign = emit_is_signed(inst->types[0]);
	emit_result(e, inst, inst->op == PTX_OP_SHL ? bits_shift_left(e, a, amount)
		: bits_shift_right(e, a, amount, sign));
}

/* A 64-bit value b:a shifted; .l takes its upper half, .r its lower. */
void emit_shf(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef low = ir_zext(e, bits_arg32(e, inst, 1), e->i64);
	LLVMValueRef high = ir_zext(e, bits_arg32(e, inst, 2), e->i64);
	LLVMValueRef amount = bits_arg32(e, inst, 3);
	LLVMValueRef both = ir_or(e, ir_shl_by(e, high, 32), low);

	amount = ptx_has(&inst->mods, PTX_MOD_WRAP) ? ir_mask(e, amount, 31)
		: bits_at_most(e, amount, 32);
	amount = ir_zext(e, amount, e->i64);
	if (ptx_has(&inst->mods, PTX_MOD_L)) {
		both = ir_lshr_by(e, ir_shl(e, both, amount), 32);
	} else {
		both = ir_lshr(e, both, amount);
	}
	emit_result(e, inst, ir_trunc(e, both, e->i32));
}

void emit_popc(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef count = ir_call1(e, "llvm.ctpop", emit_arg(e, inst, 1));
	emit_def(e, &inst->operands[0], PTX_U32, ir_resize(e, count, e->i32, false));
}

/* The place of the n-th bit (from 0) that is set, by halving: does the lower half of the remaining
 * bits have more than n that are set?  If not, the bit is in the upper half.  More than n bits must
 * be set. */
static LLVMValueRef bits_nth_set(struct emit *e, LLVMValueRef bits, LLVMValueRef n)
{
	LLVMValueRef place = emit_int(e, 32, 0);
	for (unsigned half = 16; half > 0; half /= 2) {
		LLVMValueRef low = ir_mask(e, bits, (UINT64_C(1) << half) - 1);
		LLVMValueRef count = ir_call1(e, "llvm.ctpop", low);
		LLVMValueRef above = ir_icmp(e, LLVMIntUGE, n, count);
		bits = ir_select(e, above, ir_lshr_by(e, bits, half), low);
		n = ir_select(e, above, ir_sub(e, n, count), n);
		place = ir_add(e, place,
			ir_select(e, above, emit_int(e, 32, half), emit_int(e, 32, 0)));
	}
	return place;
}

/* The offset-th bit set in a mask, from a base on: up, or down if negative; 0 is the base itself.
 * Downwards is upwards in the mirror. */
void emit_fns(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef mask = bits_arg32(e, inst, 1);
	LLVMValueRef base = bits_arg32(e, inst, 2);
	LLVMValueRef offset = bits_arg32(e, inst, 3);
	LLVMValueRef zero = emit_int(e, 32, 0);
	LLVMValueRef one = emit_int(e, 32, 1);
	LLVMValueRef top = emit_int(e, 32, 31);
	LLVMValueRef valid = bits_is_below(e, base, 32);
	LLVMValueRef down = ir_icmp(e, LLVMIntSLT, offset, zero);
	LLVMValueRef still = ir_icmp(e, LLVMIntEQ, offset, zero);
	LLVMValueRef n = ir_sub(e, ir_select(e, down, ir_neg(e, offset), offset), one);

	mask = ir_select(e, down, ir_call1(e, "llvm.bitreverse", mask), mask);
	LLVMValueRef first = ir_select(e, down, ir_sub(e, top, base), base);
	mask = ir_and(e, mask, bits_shift_left(e, LLVMConstAllOnes(e->i32), first));
	mask = ir_select(e, still, ir_and(e, mask, bits_shift_left(e, one, first)), mask);
	n = ir_select(e, still, zero, n);

	LLVMValueRef found = ir_icmp(e, LLVMIntULT, n, ir_call1(e, "llvm.ctpop", mask));
	LLVMValueRef place = bits_nth_set(e, mask, n);
	place = ir_select(e, down, ir_sub(e, top, place), place);
	found = ir_and(e, found, valid);
	emit_result(e, inst, ir_select(e, found, place, LLVMConstAllOnes(e->i32)));
}

static LLVMValueRef bits_leading_zeros(struct emit *e, LLVMValueRef a)
{
	LLVMValueRef count = ir_call2(e, "llvm.ctlz", a, emit_scalar(e, 1, 0));
	return ir_resize(e, count, e->i32, false);
}

void emit_clz(struct emit *e, const struct ptx_inst *inst)
{
	emit_def(e, &inst->operands[0], PTX_U32, bits_leading_zeros(e, emit_arg(e, inst, 1)));
}

/* The highest bit that is set (for a negative number: clear), or how far it is from the top. */
void emit_bfind(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef a = emit_arg(e, inst, 1);
	unsigned width = ir_width(a);
	if (emit_is_signed(inst->types[0])) {
		a = ir_xor(e, a, ir_ashr(e, a, emit_int(e, width, width - 1)));
	}

	LLVMValueRef zeros = bits_leading_zeros(e, a);
	LLVMValueRef place = ptx_has(&inst->mods, PTX_MOD_SHIFTAMT) ? zeros
		: ir_sub(e, emit_int(e, 32, width - 1), zeros);
	LLVMValueRef found = bits_is_below(e, zeros, width);
	emit_def(e, &inst->operands[0], PTX_U32, ir_select(e, found, place, emit_int(e, 32, ~0u)));
}

void emit_brev(struct emit *e, const struct ptx_inst *inst)
{
	emit_result(e, inst, ir_call1(e, "llvm.bitreverse", emit_arg(e, inst, 1)));
}

/* A field's position or length.  PTX ISA 9.7.1: it is "restricted to" 0 to 255.  For other values,
 * GPUs look at the low 8 bits in fields of 32 bits, and at all bits in fields of 64. */
static LLVMValueRef bits_field_arg(struct emit *e, const struct ptx_inst *inst, size_t i)
{
	LLVMValueRef value = bits_arg32(e, inst, i);
	return ptx_type_bits(inst->types[0]) == 64 ? value : ir_mask(e, value, 0xff);
}

/* Bits beyond the top count as copies of the sign, so a signed field is the shifted value with the
 * bits above its length made of its own top bit. */
void emit_bfe(struct emit *e, const struct ptx_inst *inst)
{
	bool sign = emit_is_signed(inst->types[0]);
	LLVMValueRef a = emit_arg(e, inst, 1);
	LLVMValueRef len = bits_field_arg(e, inst, 3);
	LLVMTypeRef type = LLVMTypeOf(a);
	LLVMValueRef field = bits_shift_right(e, a, bits_field_arg(e, inst, 2), sign);

	if (!sign) {
		emit_result(e, inst, ir_and(e, field, bits_low_mask(e, type, len)));
		return;
	}
	LLVMValueRef width = emit_int(e, 32, ir_width(a));
	LLVMValueRef up = ir_sub(e, width, bits_at_most(e, len, ir_width(a)));
	field = bits_shift_right(e, bits_shift_left(e, field, up), up, true);
	LLVMValueRef empty = ir_icmp(e, LLVMIntEQ, len, emit_int(e, 32, 0));
	emit_result(e, inst, ir_select(e, empty, LLVMConstNull(type), field));
}

void emit_bfi(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef a = emit_arg(e, inst, 1);
	LLVMValueRef b = emit_arg(e, inst, 2);
	LLVMValueRef pos = bits_field_arg(e, inst, 3);
	LLVMValueRef mask = bits_low_mask(e, LLVMTypeOf(a), bits_field_arg(e, inst, 4));
	mask = bits_shift_left(e, mask, pos);
	a = ir_and(e, bits_shift_left(e, a, pos), mask);
	emit_result(e, inst, ir_or(e, a, ir_and(e, b, ir_not(e, mask))));
}

/* `count` bits from `first` on.  .wrap looks at five bits of each; with .clamp a larger first gives
 * nothing and a larger count all the rest. */
void emit_bmsk(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef first = emit_arg(e, inst, 1);
	LLVMValueRef count = emit_arg(e, inst, 2);
	LLVMValueRef ones = LLVMConstAllOnes(e->i32);
	LLVMValueRef low = emit_int(e, 32, 31);
	if (ptx_has(&inst->mods, PTX_MOD_WRAP)) {
		first = ir_and(e, first, low);
		count = ir_and(e, count, low);
	}

	emit_result(e, inst, bits_shift_left(e, ir_not(e, bits_shift_left(e, ones, count)), first));
}

/* The low b bits of a, extended; 0 if b is 0.  With .clamp, a larger b changes nothing. */
void emit_szext(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef a = emit_arg(e, inst, 1);
	LLVMValueRef b = bits_arg32(e, inst, 2);
	LLVMValueRef low = ir_mask(e, b, 31);
	LLVMValueRef high = ir_shl(e, LLVMConstAllOnes(e->i32), low);
	LLVMValueRef value = ir_and(e, a, ir_not(e, high));

	if (emit_is_signed(inst->types[0])) {
		LLVMValueRef top = ir_sub(e, low, emit_int(e, 32, 1));
		top = ir_lshr(e, a, ir_mask(e, top, 31));
		LLVMValueRef some = ir_icmp(e, LLVMIntNE, low, emit_int(e, 32, 0));
		LLVMValueRef is_set = ir_and(e, ir_trunc(e, top, e->i1), some);
		value = ir_select(e, is_set, ir_or(e, a, high), value);
	}
	if (ptx_has(&inst->mods, PTX_MOD_CLAMP)) {
		value = ir_select(e, bits_is_below(e, b, 32), value, a);
	}
	emit_result(e, inst, value);
}

/* Where `choose` is set `yes`, elsewhere `no`. */
static LLVMValueRef bits_blend(struct emit *e, LLVMValueRef choose, LLVMValueRef yes,
	LLVMValueRef no)
{
	return ir_or(e, ir_and(e, choose, yes), ir_and(e, ir_not(e, choose), no));
}

/* Any function of three bits: bit 4a + 2b + c of the table. */
static LLVMValueRef bits_logic3(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef a = emit_arg(e, inst, 1);
	LLVMValueRef b = emit_arg(e, inst, 2);
	LLVMValueRef c = emit_arg(e, inst, 3);
	unsigned table = (unsigned)inst->operands[4].value;
	LLVMValueRef of_c[4] = {LLVMConstNull(e->i32), ir_not(e, c), c, LLVMConstAllOnes(e->i32)};
	LLVMValueRef of_b[2];

	for (unsigned i = 0; i < 2; i++) {
		unsigned half = table >> (4 * i);
		of_b[i] = bits_blend(e, b, of_c[half >> 2 & 3], of_c[half & 3]);
	}
	return bits_blend(e, a, of_b[1], of_b[0]);
}

void emit_lop3(struct emit *e, const struct ptx_inst *inst)
{
	emit_result(e, inst, bits_logic3(e, inst));
}

/* d|p: the predicate says whether any bit is set, combined with another. */
void emit_lop3_pred(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef value = bits_logic3(e, inst);
	LLVMValueRef any = ir_icmp(e, LLVMIntNE, value, emit_int(e, 32, 0));
	LLVMValueRef with = emit_use(e, &inst->operands[5], PTX_PRED);
	any = ptx_has(&inst->mods, PTX_MOD_AND) ? ir_and(e, any, with) : ir_or(e, any, with);
	emit_def_reg(e, emit_reg_of(&inst->operands[0]), PTX_B32, value);
	emit_def_reg(e, emit_second_reg(&inst->operands[0]), PTX_PRED, any);
}

/* The modes of prmt as selectors of the general form: 16 bits for each value of c & 3. */
static LLVMValueRef bits_prmt_selector(struct emit *e, const struct ptx_inst *inst, LLVMValueRef c)
{
	static const struct {
		enum ptx_mod mod;
		uint64_t selectors;
	} modes[] = {
		{PTX_MOD_F4E, UINT64_C(0x6543543243213210)},
		{PTX_MOD_B4E, UINT64_C(0x0123701267015670)},
		{PTX_MOD_RC8, UINT64_C(0x3333222211110000)},
		{PTX_MOD_ECL, UINT64_C(0x3333322232113210)},
		{PTX_MOD_ECR, UINT64_C(0x3210221011100000)},
		{PTX_MOD_RC16, UINT64_C(0x3232101032321010)},
	};
	for (size_t i = 0; i < countof(modes); i++) {
		if (ptx_has(&inst->mods, modes[i].mod)) {
			LLVMValueRef all = emit_int(e, 64, modes[i].selectors);
			LLVMValueRef shift = ir_shl_by(e, ir_zext(e, ir_mask(e, c, 3), e->i64), 4);
			return ir_trunc(e, ir_lshr(e, all, shift), e->i32);
		}
	}
	return c;
}

/* Four bytes picked from the eight of b:a; selector bit 3 asks for copies of the byte's sign. */
void emit_prmt(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef low = ir_zext(e, emit_arg(e, inst, 1), e->i64);
	LLVMValueRef high = ir_shl_by(e, ir_zext(e, emit_arg(e, inst, 2), e->i64), 32);
	LLVMValueRef bytes = ir_or(e, high, low);
	LLVMValueRef selector = bits_prmt_selector(e, inst, emit_arg(e, inst, 3));
	LLVMValueRef all = emit_int(e, 32, 0);

	for (unsigned i = 0; i < 4; i++) {
		LLVMValueRef nibble = ir_lshr_by(e, selector, 4 * i);
		LLVMValueRef shift = ir_shl_by(e, ir_mask(e, nibble, 7), 3);
		LLVMValueRef byte = ir_lshr(e, bytes, ir_zext(e, shift, e->i64));
		byte = ir_trunc(e, byte, e->i8);
		LLVMValueRef sign = ir_trunc(e, ir_lshr_by(e, nibble, 3), e->i1);
		byte = ir_select(e, sign, ir_ashr(e, byte, emit_int(e, 8, 7)), byte);
		all = ir_or(e, all, ir_shl_by(e, ir_zext(e, byte, e->i32), 8 * i));
	}
	emit_result(e, inst, all);
}
