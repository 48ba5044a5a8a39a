/* SPDX-License-Identifier: MIT */
/*
 * Predicate ranges: guards that nearly always are the same in all lanes, such as that of `if (i <
 * n)`.
 *
 * If the values of the lanes lie between that of the first lane and that plus a constant, two
 * scalar comparisons show that all lanes are on one side of a bound.  Only if they do not, lanes
 * are compared one by one.  So a comparison leaves two scalars for its predicate: true in all lanes
 * for certain, and false in all lanes for certain.  `and`, `or` and `not` combine them, until the
 * register changes (emit_slots.c).  A branch tests them (emit_flow.c); LLVM drops them if no branch
 * does.
 */
#include "base/common.h"

#include "cpu/codegen/emit_flow.h"
#include "cpu/codegen/emit_value.h"

const struct emit_certain *emit_find_certain(const struct emit *e, unsigned reg)
{
	for (size_t i = 0; i < countof(e->certain); i++) {
		const struct emit_certain *known = &e->certain[i];
		if (known->body == e->body && known->reg == reg) {
			return known;
		}
	}
	return NULL;
}

static void keep(struct emit *e, unsigned reg, LLVMValueRef all, LLVMValueRef none)
{
	if (all || none) {
		e->certain[e->certain_next++ % countof(e->certain)]
			= (struct emit_certain){e->body, reg, all, none};
	}
}

/* Whether what an instruction makes is worth it: a vector for lanes that are all there. */
static bool is_candidate(const struct emit *e, const struct ptx_inst *inst)
{
	return emit_does(e, PASS_PREDICATE_RANGES) && emit_is_vector(e) && !e->is_alone && !e->mask
		&& !inst->has_guard
		&& inst->operands[0].kind == PTX_REG;
}

/* --- Comparisons --- */

/* How far the last lane may be from the base; 0: there is no order. */
static uint64_t reach_of(const struct uniformity *lanes, unsigned bits)
{
	uint64_t reach = 0;
	for (unsigned i = 0; !lanes->is_vector && lanes->offsets && i < RT_MAX_WIDTH; i++) {
		int64_t offset = lanes->offsets[i];
		if (offset < 0 || offset >= INT64_C(1) << (bits - 2)) {
			return 0;
		}
		reach = (uint64_t)offset > reach ? (uint64_t)offset : reach;
	}
	return reach;
}

static bool is_wide_enough(const struct emit *e, const struct ptx_operand *operand, unsigned bits)
{
	return operand->kind == PTX_REG && ptx_type_bits(e->func->regs[operand->reg].type) >= bits;
}

/* Lanes from `low` to `low` + reach against a bound. */
static void keep_order(struct emit *e, unsigned reg, LLVMIntPredicate is, LLVMValueRef low,
	uint64_t reach, LLVMValueRef bound)
{
	bool sign = is == LLVMIntSLT || is == LLVMIntSLE || is == LLVMIntSGT || is == LLVMIntSGE;
	bool below = is == LLVMIntSLT || is == LLVMIntSLE || is == LLVMIntULT || is == LLVMIntULE;
	LLVMValueRef high = ir_add(e, low, LLVMConstInt(LLVMTypeOf(low), reach, false));
	LLVMValueRef in_order = ir_icmp(e, sign ? LLVMIntSGE : LLVMIntUGE, high, low);
	LLVMValueRef last = ir_icmp(e, is, high, bound);
	if (below) {
		keep(e, reg, ir_and(e, in_order, last), NULL);
	} else {
		keep(e, reg, NULL, ir_and(e, in_order, ir_not(e, last)));
	}
}

static LLVMIntPredicate guard_swap(LLVMIntPredicate is)
{
	switch (is) {
	case LLVMIntSLT:
		return LLVMIntSGT;
	case LLVMIntSLE:
		return LLVMIntSGE;
	case LLVMIntSGT:
		return LLVMIntSLT;
	case LLVMIntSGE:
		return LLVMIntSLE;
	case LLVMIntULT:
		return LLVMIntUGT;
	case LLVMIntULE:
		return LLVMIntUGE;
	case LLVMIntUGT:
		return LLVMIntULT;
	default:
		return LLVMIntULE;
	}
}

void emit_certain_order(struct emit *e, const struct ptx_inst *inst, LLVMIntPredicate is)
{
	if (!is_candidate(e, inst) || inst->operand_count > 3 || is == LLVMIntEQ || is == LLVMIntNE) {
		return;
	}
	enum ptx_type type = inst->types[0];
	unsigned bits = ptx_type_bits(type);
	const struct ptx_operand *a = &inst->operands[1], *b = &inst->operands[2];
	struct uniformity left = uniformity_of_operand(&e->uniformity, a);
	if (uniformity_is_uniform(&left)) {
		const struct ptx_operand *other = a;
		a = b;
		b = other;
		is = guard_swap(is);
	}
	struct uniformity lanes = uniformity_of_operand(&e->uniformity, a);
	struct uniformity bound = uniformity_of_operand(&e->uniformity, b);
	uint64_t reach = reach_of(&lanes, bits);
	if (reach == 0 || !uniformity_is_uniform(&bound) || !is_wide_enough(e, a, bits)) {
		return;
	}
	struct emit_mode vectors = emit_begin_once(e);
	LLVMValueRef low = emit_use(e, a, type), limit = emit_use(e, b, type);
	keep_order(e, inst->operands[0].reg, is, low, reach, limit);
	emit_set_mode(e, vectors);
}

/* --- Logic --- */

/* What is known of an operand: all of it if the lanes have it alike. */
static struct emit_certain certain_of(struct emit *e, const struct ptx_operand *operand)
{
	struct emit_certain out = {0};
	if (operand->kind != PTX_REG) {
		return out;
	}
	const struct emit_certain *known = emit_find_certain(e, operand->reg);
	if (emit_is_same(e, operand->reg)) {
		struct emit_mode vectors = emit_begin_once(e);
		out.all = emit_use(e, operand, PTX_PRED);
		out.none = ir_not(e, out.all);
		emit_set_mode(e, vectors);
	} else if (known) {
		out.all = operand->negated ? known->none : known->all;
		out.none = operand->negated ? known->all : known->none;
	}
	return out;
}

static LLVMValueRef guard_both(struct emit *e, LLVMValueRef a, LLVMValueRef b)
{
	return a && b ? ir_and(e, a, b) : NULL;
}

static LLVMValueRef either(struct emit *e, LLVMValueRef a, LLVMValueRef b)
{
	return a && b ? ir_or(e, a, b) : a ? a : b;
}

void emit_certain_logic(struct emit *e, const struct ptx_inst *inst)
{
	if (!is_candidate(e, inst) || inst->types[0] != PTX_PRED) {
		return;
	}
	unsigned reg = inst->operands[0].reg;
	struct emit_certain a = certain_of(e, &inst->operands[1]);
	if (inst->op == PTX_OP_NOT) {
		keep(e, reg, a.none, a.all);
		return;
	}
	struct emit_certain b = certain_of(e, &inst->operands[2]);
	if (inst->op == PTX_OP_AND) {
		keep(e, reg, guard_both(e, a.all, b.all), either(e, a.none, b.none));
	} else if (inst->op == PTX_OP_OR) {
		keep(e, reg, either(e, a.all, b.all), guard_both(e, a.none, b.none));
	}
}
