/* SPDX-License-Identifier: MIT */
/*
 * Which sums and products must not leave the range of signed numbers.
 *
 * PTX does not say.  A compiler writes add.s32 for `unsigned`, too, where wrapping is allowed.  But
 * what follows shows how a number is meant: setp.lt.s32, div.s32, mul.wide.s32, cvt.s64.s32 and
 * others have one meaning for signed numbers and another for unsigned ones.  In C the operands of
 * a signed sum are signed, so this passes on from results to operands.  A number that is used in
 * both ways, or in neither, may wrap.
 *
 * Comparisons with zero are no evidence: compilers make them of tests of the highest bit.
 */
#include "base/common.h"

#include "cpu/ir/blame_rewrite.h"

#include "base/alloc.h"

/* How a register is used; a shift to the right may only extend a sign; and its value less 64 is. */
enum { USED_SIGNED = 1, USED_SHIFTED = 2, USED_UNSIGNED = 4, USED_LESS_64 = 8 };

static bool signed_is(const struct ptx_inst *inst)
{
	return ptx_type_class(inst->types[0]) == 's';
}

static bool signed_is_wide(const struct ptx_inst *inst)
{
	return ptx_has(&inst->mods, PTX_MOD_WIDE) || ptx_has(&inst->mods, PTX_MOD_HI);
}

static bool signed_is_order(const struct ptx_mods *mods)
{
	return ptx_has(mods, PTX_MOD_LT) || ptx_has(mods, PTX_MOD_LE) || ptx_has(mods, PTX_MOD_GT)
		|| ptx_has(mods, PTX_MOD_GE);
}

static bool signed_is_unsigned_order(const struct ptx_mods *mods)
{
	return ptx_has(mods, PTX_MOD_LO) || ptx_has(mods, PTX_MOD_LS) || ptx_has(mods, PTX_MOD_HI)
		|| ptx_has(mods, PTX_MOD_HS);
}

static void signed_use(struct blame *b, const struct ptx_operand *operand, unsigned how)
{
	if (operand->kind == PTX_REG) {
		b->uses[operand->reg] |= (uint8_t)how;
	}
}

static void signed_use_two(struct blame *b, const struct ptx_inst *inst, unsigned how)
{
	signed_use(b, &inst->operands[1], how);
	signed_use(b, &inst->operands[2], how);
}

/* x < 0, x >= 0, and the same with -1. */
static bool signed_tests_sign(const struct ptx_inst *inst)
{
	const struct ptx_operand *to = &inst->operands[2];
	const bool zero = ptx_has(&inst->mods, PTX_MOD_LT) || ptx_has(&inst->mods, PTX_MOD_GE);
	return to->kind == PTX_INT && to->value == (zero ? 0 : -1);
}

static void signed_see_comparison(struct blame *b, const struct ptx_inst *inst)
{
	const char class = ptx_type_class(inst->types[inst->op == PTX_OP_SETP ? 0 : 1]);
	if (signed_is_unsigned_order(&inst->mods)
	    || (class == 'u' && signed_is_order(&inst->mods))) {
		signed_use_two(b, inst, USED_UNSIGNED);
	} else if (class == 's' && signed_is_order(&inst->mods) && !signed_tests_sign(inst)) {
		signed_use_two(b, inst, USED_SIGNED);
	}
}

/* A shift by all bits but one finds out the sign, of a number of either kind. */
static void signed_see_shift(struct blame *b, const struct ptx_inst *inst)
{
	const struct ptx_operand *by = &inst->operands[2];
	if (by->kind != PTX_INT || by->value != (int64_t)ptx_type_bits(inst->types[0]) - 1) {
		signed_use(b, &inst->operands[1], signed_is(inst) ? USED_SHIFTED : USED_UNSIGNED);
	}
}

/* To a float, or to more bits. */
static void signed_see_conversion(struct blame *b, const struct ptx_inst *inst)
{
	const char class = ptx_type_class(inst->types[1]);
	const bool keeps = ptx_type_class(inst->types[0]) == 'f'
		|| ptx_type_bits(inst->types[0]) > ptx_type_bits(inst->types[1]);
	if (keeps && (class == 's' || class == 'u')) {
		signed_use(b, &inst->operands[1], class == 's' ? USED_SIGNED : USED_UNSIGNED);
	}
}

static void signed_see(struct blame *b, const struct ptx_inst *inst)
{
	switch (inst->op) {
	case PTX_OP_SETP:
	case PTX_OP_SET:
		signed_see_comparison(b, inst);
		break;
	case PTX_OP_SHR:
		signed_see_shift(b, inst);
		break;
	case PTX_OP_ADD:
		signed_use(b, &inst->operands[1], inst->operands[2].kind == PTX_INT
			&& inst->operands[2].value == -64 ? USED_LESS_64 : 0);
		break;
	case PTX_OP_CVT:
		signed_see_conversion(b, inst);
		break;
	case PTX_OP_MUL:
	case PTX_OP_MAD:
		if (signed_is_wide(inst)) {
			signed_use_two(b, inst, signed_is(inst) ? USED_SIGNED : USED_UNSIGNED);
		}
		break;
	case PTX_OP_DIV:
	case PTX_OP_REM:
	case PTX_OP_MIN:
	case PTX_OP_MAX:
		signed_use_two(b, inst, signed_is(inst) ? USED_SIGNED : USED_UNSIGNED);
		break;
	default:
		break;
	}
}

/* The operands that have the same type as the result in C: how many, from the second on. */
static size_t signed_count_alike(const struct ptx_inst *inst)
{
	switch (inst->op) {
	case PTX_OP_MUL:
	case PTX_OP_MAD:
		return signed_is_wide(inst) ? 0 : inst->operand_count - 1;
	case PTX_OP_ADD:
	case PTX_OP_SUB:
	case PTX_OP_SELP:
		return 2;
	case PTX_OP_SHL:
	case PTX_OP_NEG:
	case PTX_OP_MOV:
		return 1;
	default:
		return 0;
	}
}

/* What is known of a register: it is signed, at least by a shift; or nothing. */
static unsigned signed_of(const struct blame *b, const struct ptx_operand *operand)
{
	const unsigned uses = operand->kind == PTX_REG ? b->uses[operand->reg] : USED_UNSIGNED;
	return uses & USED_UNSIGNED ? 0 : uses & (USED_SIGNED | USED_SHIFTED);
}

bool blame_find_signed(struct blame *b)
{
	const struct ptx_func *func = b->func;
	b->uses = mem_zalloc(func->reg_count, sizeof(*b->uses));
	bool changed = b->uses && b->kinds & BLAME_OF_INT;
	for (size_t i = 0; changed && i < func->inst_count; i++) {
		signed_see(b, &func->insts[i]);
	}
	while (changed) {
		changed = false;
		for (size_t i = 0; i < func->inst_count; i++) {
			const struct ptx_inst *inst = &func->insts[i];
			const size_t alike = signed_count_alike(inst);
			const unsigned uses = alike > 0 ? signed_of(b, &inst->operands[0]) : 0;
			for (size_t k = 1; uses != 0 && k <= alike; k++) {
				const struct ptx_operand *operand = &inst->operands[k];
				if (operand->kind == PTX_REG
				    && (uses & ~b->uses[operand->reg]) != 0) {
					signed_use(b, operand, uses);
					changed = true;
				}
			}
		}
	}
	return b->uses;
}

bool blame_is_of_128(const struct blame *b, const struct ptx_operand *by)
{
	const struct ptx_inst *inst = by->kind == PTX_REG ? b->writes[by->reg].inst : NULL;
	const struct ptx_operand *less = inst && inst->op == PTX_OP_SUB ? &inst->operands[2] : by;
	return inst && ((less->kind == PTX_REG && b->uses[less->reg] & USED_LESS_64)
		|| b->uses[by->reg] & USED_LESS_64);
}

/* --- Overflow --- */

bool blame_may_overflow(const struct blame *b, const struct ptx_inst *inst)
{
	const enum ptx_type type = inst->types[0];
	const bool is_plain = !inst->has_carry && !ptx_has(&inst->mods, PTX_MOD_SAT)
		&& !signed_is_wide(inst) && ptx_type_size(type) >= 4 && ptx_type_class(type) != 'u';
	const unsigned uses = is_plain ? signed_of(b, &inst->operands[0]) : 0;
	switch (inst->op) {
	case PTX_OP_ADD:
	case PTX_OP_SUB:
	case PTX_OP_MUL:
	case PTX_OP_MAD:
	case PTX_OP_NEG:
	case PTX_OP_ABS:
		return uses != 0;
	case PTX_OP_SHL:
		return uses & USED_SIGNED && inst->operands[2].kind == PTX_INT;
	default:
		return false;
	}
}

/* x + y, or x - y, leaves the range if its sign is not that of x, and not as y would have it. */
static struct ptx_operand signed_add_overflows(struct blame *b, enum ptx_op op, enum ptx_type type,
	struct ptx_operand x, struct ptx_operand y)
{
	const enum ptx_type bits = type == PTX_S64 ? PTX_B64 : PTX_B32;
	const struct ptx_operand sum = blame_binary(b, op, type, x, y);
	const struct ptx_operand a = blame_binary(b, PTX_OP_XOR, bits, x, sum);
	const struct ptx_operand c = blame_binary(b, PTX_OP_XOR, bits,
		op == PTX_OP_ADD ? y : x, op == PTX_OP_ADD ? sum : y);
	return blame_compare(b, PTX_MOD_LT, type, blame_binary(b, PTX_OP_AND, bits, a, c),
		blame_number(0));
}

/* x * y does if the upper half of the exact product is more than the sign of the lower. */
static struct ptx_operand signed_mul_overflows(struct blame *b, enum ptx_type type,
	struct ptx_operand x, struct ptx_operand y, struct ptx_operand *product)
{
	const struct ptx_operand high = blame_reg(blame_temp(b, type));
	const struct ptx_operand last = blame_number((int64_t)ptx_type_bits(type) - 1);
	*product = blame_reg(blame_temp(b, type));
	blame_set_mod(blame_put(b, PTX_OP_MUL, type, (struct ptx_operand[]){high, x, y}, 3),
		PTX_MOD_HI);
	blame_set_mod(blame_put(b, PTX_OP_MUL, type, (struct ptx_operand[]){*product, x, y}, 3),
		PTX_MOD_LO);
	return blame_compare(b, PTX_MOD_NE, type, high,
		blame_binary(b, PTX_OP_SHR, type, *product, last));
}

struct ptx_operand blame_overflows(struct blame *b)
{
	const struct ptx_inst *inst = b->inst;
	const enum ptx_type type = ptx_type_size(inst->types[0]) == 8 ? PTX_S64 : PTX_S32;
	const struct ptx_operand x = inst->operands[1], y = inst->operands[2];
	struct ptx_operand product, is, shifted;
	switch (inst->op) {
	case PTX_OP_MUL:
		return signed_mul_overflows(b, type, x, y, &product);
	case PTX_OP_MAD:
		is = signed_mul_overflows(b, type, x, y, &product);
		return blame_binary(b, PTX_OP_OR, PTX_PRED, is, signed_add_overflows(b, PTX_OP_ADD,
			type, product, inst->operands[3]));
	case PTX_OP_SHL:
		shifted = blame_binary(b, PTX_OP_SHL, type == PTX_S64 ? PTX_B64 : PTX_B32, x, y);
		return blame_compare(b, PTX_MOD_NE, type, x,
			blame_binary(b, PTX_OP_SHR, type, shifted, y));
	case PTX_OP_NEG:
	case PTX_OP_ABS:
		return blame_compare(b, PTX_MOD_EQ, type, x,
			blame_number(type == PTX_S64 ? INT64_MIN : INT32_MIN));
	default:
		return signed_add_overflows(b, inst->op, type, x, y);
	}
}
