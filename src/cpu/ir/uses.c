/* SPDX-License-Identifier: MIT */
/*
 * Finds the values that a kernel only copies: from a load by moves, shifts that put bytes together,
 * selections and shuffles to a store.  All others decide something: an address, a branch, or the
 * result of an instruction that computes.
 *
 * This is what valgrind's memcheck looks at, too: to copy what was never written is no mistake, as
 * the padding of a struct shows, but to compute with it is.  The analysis does not follow the order
 * of the instructions.  It begins with the hope that everything is a copy.
 */
#include "base/common.h"

#include "cpu/ir/uses.h"

#include "base/alloc.h"
#include "cpu/ir/cfg.h"

struct uses_search {
	bool *used;
	bool changed;
};

static void uses_mark(void *data, unsigned *reg, unsigned *value)
{
	struct uses_search *u = data;
	(void)value;
	u->changed |= !u->used[*reg];
	u->used[*reg] = true;
}

static bool uses_any(const bool *used, const struct ptx_operand *operand)
{
	bool any = (operand->kind == PTX_REG || operand->kind == PTX_PAIR) && used[operand->reg];
	for (size_t i = 0; operand->kind == PTX_VECTOR && i < operand->count; i++) {
		any |= uses_any(used, &operand->elements[i]);
	}
	return any;
}

static bool uses_is_int(enum ptx_type type)
{
	const char class = ptx_type_class(type);
	return class == 'b' || class == 'u' || class == 's';
}

/* How many operands, from `first` on, an instruction only copies. */
static size_t uses_count_copied(const struct ptx_inst *inst, size_t *first)
{
	*first = 1;
	switch (inst->op) {
	case PTX_OP_SHL:
	case PTX_OP_SHR: // of bytes to their places
		return inst->operands[2].kind == PTX_INT && inst->operands[2].value % 8 == 0;
	case PTX_OP_MOV:
	case PTX_OP_SHFL:
	case PTX_OP_SHFL_SYNC:
	case PTX_OP_ST:
		return 1;
	case PTX_OP_CVT:
		return uses_is_int(inst->types[0]) && uses_is_int(inst->types[1]) ? 1 : 0;
	case PTX_OP_SELP:
	case PTX_OP_PRMT:
	case PTX_OP_AND:
	case PTX_OP_OR:
		return 2;
	default:
		return 0;
	}
}

/* Mark what an instruction reads, but for what it copies to where nothing depends on it. */
static void uses_mark_reads(struct uses_search *u, struct ptx_inst inst)
{
	size_t first;
	const size_t copied = uses_count_copied(&inst, &first);
	struct ptx_operand operands[8];
	const bool is_copy = copied > 0 && inst.operand_count <= countof(operands)
		&& (inst.op == PTX_OP_ST || !uses_any(u->used, &inst.operands[0]));
	for (size_t i = 0; is_copy && i < inst.operand_count; i++) {
		operands[i] = i >= first && i < first + copied
			? (struct ptx_operand){.kind = PTX_INT} : inst.operands[i];
	}
	inst.operands = is_copy ? operands : inst.operands;
	cfg_visit(&inst, false, uses_mark, u);
}

bool *uses_find(const struct ptx_func *func)
{
	struct uses_search u = {.used = mem_zalloc(func->reg_count + 1, sizeof(bool)), .changed = true};
	while (u.used && u.changed) {
		u.changed = false;
		for (size_t i = 0; i < func->inst_count; i++) {
			uses_mark_reads(&u, func->insts[i]);
		}
	}
	return u.used;
}

bool uses_of_load(const bool *uses, const struct ptx_inst *load)
{
	return uses_any(uses, &load->operands[0]);
}
