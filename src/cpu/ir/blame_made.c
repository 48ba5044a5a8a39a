/* SPDX-License-Identifier: MIT */
/*
 * What makes a value wrong: NaN or an infinity out of operands that are neither, a shift by too
 * much, a division by zero, a signed sum or product that does not fit.
 *
 * A float is not finite if all bits of its exponent are set.
 */
#include "base/common.h"

#include "cpu/ir/blame_rewrite.h"

#include <string.h>

/* --- Floats --- */

/* The bits of the exponent of a float, or of an element of a pair; 0: it is not a float. */
static uint64_t made_exponent(enum ptx_type type, unsigned part)
{
	switch (type) {
	case PTX_F16:
		return 0x7c00;
	case PTX_BF16:
		return 0x7f80;
	case PTX_F32:
		return 0x7f800000;
	case PTX_F64:
		return UINT64_C(0x7ff0000000000000);
	case PTX_F16X2:
		return UINT64_C(0x7c00) << 16 * part;
	case PTX_BF16X2:
		return UINT64_C(0x7f80) << 16 * part;
	case PTX_F32X2:
		return UINT64_C(0x7f800000) << 32 * part;
	default:
		return 0;
	}
}

static unsigned made_parts(enum ptx_type type)
{
	return type == PTX_F16X2 || type == PTX_BF16X2 || type == PTX_F32X2 ? 2 : 1;
}

/* The type of operand i, as its row says. */
static enum ptx_type made_type(const struct ptx_inst *inst, size_t i)
{
	const char *letter = ptx_rows[inst->op].operands;
	letter += strspn(letter, "!");
	for (; i > 0; i--) {
		letter += 1 + strspn(letter + 1, "?012wULFv>");
	}
	const char *suffix = letter + 1;
	return *suffix >= '0' && *suffix <= '2' ? inst->types[*suffix - '0']
		: *suffix == 'U' ? PTX_U32 : *suffix == 'L' ? PTX_U64 : inst->types[0];
}

/* Whether an operation may make something else of finite floats. */
static bool made_leaves_floats(enum ptx_op op)
{
	switch (op) {
	case PTX_OP_FADD:
	case PTX_OP_FSUB:
	case PTX_OP_FMUL:
	case PTX_OP_FMA:
	case PTX_OP_FMAD:
	case PTX_OP_FDIV:
	case PTX_OP_RCP:
	case PTX_OP_RCP_SEED:
	case PTX_OP_SQRT:
	case PTX_OP_RSQRT:
	case PTX_OP_EX2:
	case PTX_OP_LG2:
	case PTX_OP_FADD_X2:
	case PTX_OP_FSUB_X2:
	case PTX_OP_FMUL_X2:
	case PTX_OP_FMA_X2:
	case PTX_OP_FADD_MIXED:
	case PTX_OP_FSUB_MIXED:
	case PTX_OP_FMA_MIXED:
	case PTX_OP_HADD:
	case PTX_OP_HSUB:
	case PTX_OP_HMUL:
	case PTX_OP_HFMA:
	case PTX_OP_HEX2:
	case PTX_OP_HEX2_BF16:
	case PTX_OP_CVT:
	case PTX_OP_CVT_HALF:
	case PTX_OP_CVT_PAIR:
		return true;
	default:
		return false;
	}
}

bool blame_is_real(const struct ptx_inst *inst)
{
	const char *spelling = ptx_rows[inst->op].spelling;
	return made_exponent(inst->types[0], 0) != 0 && inst->operands[0].kind == PTX_REG
		&& strcmp(spelling, "mov") != 0 && strcmp(spelling, "selp") != 0
		&& strcmp(spelling, "set") != 0 && strcmp(spelling, "setp") != 0
		&& strcmp(spelling, "testp") != 0;
}

/* What a register always is, as an operand; an operand itself, if that is not known. */
static struct ptx_operand made_source(const struct blame *b, struct ptx_operand operand)
{
	const struct blame_write *write = operand.kind == PTX_REG
		&& operand.reg < b->func->reg_count ? &b->writes[operand.reg] : NULL;
	const bool is_moved = write && write->count == 1 && write->inst->op == PTX_OP_MOV
		&& !write->inst->has_guard && write->inst->operands[1].kind == PTX_FLOAT;
	return is_moved ? write->inst->operands[1] : operand;
}

/* The predicate that a part of an operand is not finite.  A constant does not count: the math
 * library adds infinity to x, to make what it returns. */
static struct ptx_operand made_is_bad(struct blame *b, const struct ptx_operand *operand,
	enum ptx_type type, unsigned part)
{
	static const enum ptx_type bits[] = {[2] = PTX_B16, [4] = PTX_B32, [8] = PTX_B64};
	const uint64_t exponent = made_exponent(type, part);
	if (exponent == 0 || made_source(b, *operand).kind != PTX_REG) {
		return blame_number(0); // an integer, or a constant
	}
	const enum ptx_type as = bits[ptx_type_size(type)];
	const struct ptx_operand mask = blame_number((int64_t)exponent);
	return blame_compare(b, PTX_MOD_EQ, as, blame_binary(b, PTX_OP_AND, as, *operand, mask),
		mask);
}

static struct ptx_operand made_or(struct blame *b, struct ptx_operand x, struct ptx_operand y)
{
	return blame_is_number(&x, 0) || blame_is_number(&y, 1) ? y
		: blame_is_number(&y, 0) || blame_is_number(&x, 1) ? x
		: blame_binary(b, PTX_OP_OR, PTX_PRED, x, y);
}

/* The predicate that something is bad, and not these operands. */
static struct ptx_operand made_and_not(struct blame *b, struct ptx_operand is,
	struct ptx_operand not)
{
	if (not.kind == PTX_INT) {
		return not.value ? blame_number(0) : is;
	}
	not.negated = true;
	return blame_binary(b, PTX_OP_AND, PTX_PRED, is, not);
}

/* Whether an operand is a constant of these bits, as an f32 or as an f64. */
static bool made_is_constant(const struct ptx_operand *operand, uint32_t f32, uint64_t f64)
{
	return operand->kind == PTX_FLOAT
		&& ((operand->real_width == 32 && operand->real_bits == f32)
			|| (operand->real_width == 64 && operand->real_bits == f64));
}

/* Whether a constant is the NaN that the math library returns.  Programs write others. */
static bool made_is_library_nan(const struct ptx_operand *operand)
{
	return made_is_constant(operand, 0x7fffffff, UINT64_C(0xfff8000000000000));
}

static bool made_is_minus_infinity(const struct ptx_operand *operand)
{
	return made_is_constant(operand, 0xff800000, UINT64_C(0xfff0000000000000));
}

/* What x is in selp -infinity, y, x == 0: a logarithm; NULL: it is something else. */
static const struct ptx_operand *made_find_log(const struct blame *b, const struct ptx_inst *inst)
{
	const struct ptx_operand *which = &inst->operands[3];
	const struct blame_write *write = which->kind == PTX_REG ? &b->writes[which->reg] : NULL;
	if (!write || write->count != 1 || write->inst->op != PTX_OP_FSETP
	    || !ptx_has(&write->inst->mods, PTX_MOD_EQ)
	    || !made_is_minus_infinity(&inst->operands[1])) {
		return NULL;
	}
	const struct ptx_operand *to = &write->inst->operands[2];
	return to->kind == PTX_FLOAT && to->real == 0 ? &write->inst->operands[1] : NULL;
}

/*
 * What the math library returns for an argument that is wrong is a constant, which a selection
 * or a branch takes.  The predicate that one is taken; false: it is not such an instruction.
 */
static struct ptx_operand made_is_taken(const struct blame *b, const struct ptx_inst *inst)
{
	if (inst->op == PTX_OP_MOV) {
		return blame_number(made_is_library_nan(&inst->operands[1]));
	}
	if (inst->op != PTX_OP_SELP || inst->operands[3].kind != PTX_REG) {
		return blame_number(0);
	}
	const bool yes = made_is_library_nan(&inst->operands[1]) || made_find_log(b, inst);
	const bool no = made_is_library_nan(&inst->operands[2]);
	struct ptx_operand which = inst->operands[3];
	which.negated ^= !yes;
	return yes && no ? blame_number(1) : yes || no ? which : blame_number(0);
}

static bool made_takes_constant(const struct blame *b, const struct ptx_inst *inst)
{
	const struct ptx_operand taken = made_is_taken(b, inst);
	return !blame_is_number(&taken, 0);
}

/* Whether operands are not finite, for each part of the result.  An operand that has not as many
 * parts counts in all of them. */
static void made_begin_floats(struct blame *b, struct blame_made *out)
{
	const unsigned parts = made_parts(out->types[0]);
	for (unsigned part = 0; part < parts; part++) {
		out->parts[part] = blame_number(0);
		for (unsigned i = 0; i < out->arg_count; i++) {
			out->parts[part] = made_or(b, out->parts[part], made_is_bad(b,
				&out->args[i], out->types[i + 1],
				made_parts(out->types[i + 1]) == parts ? part : 0));
		}
	}
}

/* --- Integers --- */

static bool made_is_whole(enum ptx_type type)
{
	const char class = ptx_type_class(type);
	return class == 'u' || class == 's' || class == 'b';
}

static struct ptx_operand made_is_oversized(struct blame *b, const struct ptx_inst *inst)
{
	const int64_t bits = ptx_type_bits(inst->types[0]);
	const struct ptx_operand *by = &inst->operands[2];
	return by->kind == PTX_INT ? blame_number((uint32_t)by->value >= bits)
		: blame_compare(b, PTX_MOD_GE, PTX_U32, *by, blame_number(bits));
}

static struct ptx_operand made_equals(struct blame *b, enum ptx_type type,
	const struct ptx_operand *operand, int64_t value)
{
	return operand->kind == PTX_INT ? blame_number(operand->value == value)
		: blame_compare(b, PTX_MOD_EQ, type, *operand, blame_number(value));
}

/* A division by zero, or of the least number by -1. */
static struct ptx_operand made_is_undivided(struct blame *b, const struct ptx_inst *inst)
{
	const enum ptx_type type = inst->types[0];
	const struct ptx_operand *x = &inst->operands[1], *y = &inst->operands[2];
	struct ptx_operand is_zero = made_equals(b, type, y, 0);
	if (ptx_type_class(type) != 's' || (y->kind == PTX_INT && y->value != -1)) {
		return is_zero;
	}
	const int64_t least = INT64_MIN >> (64 - ptx_type_bits(type));
	struct ptx_operand is_least = made_equals(b, type, x, least);
	struct ptx_operand is_minus = made_equals(b, type, y, -1);
	return blame_is_number(&is_least, 0) ? is_zero : made_or(b, is_zero,
		blame_binary(b, PTX_OP_AND, PTX_PRED, is_least, is_minus));
}

/* Whether a number is the exponent of an f64, plus or minus something.  pow() shifts by that to
 * find out whether a number is odd; if it is too much, nothing is left, as pow() wants it. */
static bool made_is_exponent(const struct blame *b, const struct ptx_operand *operand)
{
	const struct ptx_inst *inst = NULL;
	do {
		inst = operand->kind == PTX_REG && b->writes[operand->reg].count == 1
			? b->writes[operand->reg].inst : NULL;
		operand = inst && inst->operand_count > 2 ? &inst->operands[1] : operand;
	} while (inst && (inst->op == PTX_OP_ADD || inst->op == PTX_OP_SHR)
		&& inst->operands[2].kind == PTX_INT);
	return inst && inst->op == PTX_OP_AND && inst->operands[2].kind == PTX_INT
		&& inst->operands[2].value == 0x7ff00000;
}

static bool made_may_shift_too_far(const struct blame *b, const struct ptx_inst *inst)
{
	const struct ptx_operand *by = &inst->operands[2];
	return (inst->op == PTX_OP_SHL || inst->op == PTX_OP_SHR) && !blame_is_of_128(b, by)
		&& !made_is_exponent(b, by)
		&& (by->kind != PTX_INT || (uint32_t)by->value >= ptx_type_bits(inst->types[0]));
}

static bool made_may_divide_badly(const struct ptx_inst *inst)
{
	const struct ptx_operand *by = &inst->operands[2];
	return (inst->op == PTX_OP_DIV || inst->op == PTX_OP_REM) && made_is_whole(inst->types[0])
		&& (by->kind != PTX_INT || by->value == 0 || by->value == -1);
}

/* --- Both --- */

unsigned blame_makes(const struct blame *b, const struct ptx_inst *inst)
{
	if (b->kinds & BLAME_OF_NAN && ((made_leaves_floats(inst->op) && blame_is_real(inst))
			|| made_takes_constant(b, inst))) {
		return BLAME_OF_NAN;
	}
	return b->kinds & BLAME_OF_INT && (made_may_shift_too_far(b, inst)
		|| made_may_divide_badly(inst) || blame_may_overflow(b, inst)) ? BLAME_OF_INT : 0;
}

/* An operand as it is now, also after the instruction, which may write its register. */
static struct ptx_operand made_keep(struct blame *b, const struct ptx_operand *operand,
	enum ptx_type type)
{
	const struct ptx_operand *to = &b->inst->operands[0];
	if (operand->kind != PTX_REG || to->kind != PTX_REG || operand->reg != to->reg) {
		return *operand;
	}
	const struct ptx_operand kept = blame_reg(blame_temp(b, type));
	blame_put(b, PTX_OP_MOV, type, (struct ptx_operand[]){kept, *operand}, 2);
	return kept;
}

static enum ptx_type made_bits(enum ptx_type type)
{
	return ptx_type_size(type) == 8 ? PTX_B64 : ptx_type_size(type) == 4 ? PTX_B32 : PTX_B16;
}

void blame_begin(struct blame *b, struct blame_made *out)
{
	const struct ptx_inst *inst = b->inst;
	const unsigned makes = blame_makes(b, inst);
	*out = (struct blame_made){.types = {inst->types[0]}};
	if (makes & BLAME_OF_NAN && !blame_is_real(inst)) {
		const struct ptx_operand *log = inst->op == PTX_OP_SELP ? made_find_log(b, inst)
			: NULL;
		out->parts[0] = made_is_taken(b, inst);
		out->arg_count = log ? 1 : 0;
		if (log) {
			out->types[1] = b->writes[inst->operands[3].reg].inst->types[0];
			out->args[0] = made_keep(b, log, made_bits(out->types[1]));
		}
		return;
	}
	for (size_t i = 1; i < inst->operand_count && i <= countof(out->args); i++) {
		out->types[i] = made_type(inst, i);
		if (makes && ptx_type_size(out->types[i]) > 1) {
			out->args[out->arg_count++] = made_keep(b, &inst->operands[i],
				made_bits(out->types[i]));
		}
	}
	if (makes & BLAME_OF_NAN) {
		made_begin_floats(b, out);
	} else if (makes) {
		out->parts[0] = made_may_shift_too_far(b, inst) ? made_is_oversized(b, inst)
			: made_may_divide_badly(inst) ? made_is_undivided(b, inst)
			: blame_overflows(b);
	}
}

void blame_end(struct blame *b, const struct blame_made *made, struct ptx_operand *is_made,
	struct ptx_operand *is_bad)
{
	const struct ptx_inst *inst = b->inst;
	const unsigned makes = blame_makes(b, inst);
	*is_made = makes & BLAME_OF_INT || (makes && !blame_is_real(inst)) ? made->parts[0]
		: blame_number(0);
	*is_bad = blame_number(0);
	for (unsigned i = 0; blame_is_real(inst) && i < made_parts(inst->types[0]); i++) {
		const struct ptx_operand is = made_is_bad(b, &inst->operands[0], inst->types[0],
			i);
		*is_bad = made_or(b, *is_bad, is);
		*is_made = makes & BLAME_OF_NAN ? made_or(b, *is_made,
			made_and_not(b, is, made->parts[i])) : *is_made;
	}
}
