/* SPDX-License-Identifier: MIT */
/*
 * Finds the variable that an address belongs to: one that begins with `mov.u32 %r1, tile` and goes
 * on with additions may only access `tile`.
 *
 * This is a data-flow analysis that does not follow the order of the instructions: a register
 * belongs to a variable if all instructions that write it agree on the variable.  It starts with
 * the assumption that they do, and stops when no register changes any more.
 */
#include "base/common.h"

#include "cpu/ir/origin.h"

#include "base/alloc.h"

/* Besides variables a register can be: not written so far, a number, or of several. */
static struct ptx_var origin_number, origin_mixed;

static struct ptx_var *origin_of_source(struct ptx_var *const *origins,
	const struct ptx_operand *operand)
{
	if (operand->kind == PTX_REG) {
		return origins[operand->reg];
	}
	return operand->kind == PTX_ADDRESS && operand->var && !operand->bracketed ? operand->var
		: &origin_number;
}

/* Of a sum: a variable and a number are a place in the variable. */
static struct ptx_var *origin_add(struct ptx_var *a, struct ptx_var *b)
{
	return !a || !b ? NULL : a == &origin_number ? b : b == &origin_number ? a
		: &origin_mixed;
}

/* Of a register that has the one or the other. */
static struct ptx_var *origin_join(struct ptx_var *a, struct ptx_var *b)
{
	return !a || a == b ? b : !b ? a : &origin_mixed;
}

static struct ptx_var *origin_of_result(struct ptx_var *const *origins, const struct ptx_inst *inst)
{
	struct ptx_var *of[4] = {NULL};
	for (size_t i = 1; i < inst->operand_count && i < countof(of); i++) {
		of[i] = origin_of_source(origins, &inst->operands[i]);
	}
	switch (inst->op) {
	case PTX_OP_MOV:
	case PTX_OP_CVT:
	case PTX_OP_CVTA:
		return of[1];
	case PTX_OP_ADD:
	case PTX_OP_OR:
		return origin_add(of[1], of[2]);
	case PTX_OP_SUB:
		return of[2] == &origin_number || !of[2] ? origin_add(of[1], of[2])
			: &origin_number;
	case PTX_OP_MAD:
		return of[3];
	case PTX_OP_SELP:
		return origin_join(of[1], of[2]);
	default:
		return &origin_number;
	}
}

static bool origin_set(struct ptx_var **origins, const struct ptx_operand *operand,
	struct ptx_var *origin)
{
	bool changed = false;
	if (operand->kind == PTX_VECTOR) {
		for (size_t i = 0; i < operand->count; i++) {
			changed |= origin_set(origins, &operand->elements[i], &origin_number);
		}
	} else if (operand->kind == PTX_REG || operand->kind == PTX_PAIR) {
		struct ptx_var *joined = origin_join(origins[operand->reg], origin);
		changed = joined != origins[operand->reg];
		origins[operand->reg] = joined;
	}
	return changed;
}

struct ptx_var **origin_find(const struct ptx_func *func)
{
	struct ptx_var **origins = mem_zalloc(func->reg_count + 1, sizeof(*origins));
	for (bool changed = origins; changed;) {
		changed = false;
		for (size_t i = 0; i < func->inst_count; i++) {
			const struct ptx_inst *inst = &func->insts[i];
			if (inst->operand_count > 0) {
				changed |= origin_set(origins, &inst->operands[0],
					origin_of_result(origins, inst));
			}
		}
	}
	return origins;
}

struct ptx_var *origin_of(struct ptx_var *const *origins, const struct ptx_operand *operand)
{
	struct ptx_var *base = operand->has_base ? origins[operand->reg] : &origin_number;
	struct ptx_var *origin = operand->var ? origin_add(operand->var, base) : base;
	return origin == &origin_number || origin == &origin_mixed ? NULL : origin;
}
