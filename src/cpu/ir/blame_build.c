/* SPDX-License-Identifier: MIT */
/* Builds the instructions that blame.c puts around those of a kernel.  Each has the line of the one
 * that it is for, so messages, profiles and debuggers take it for a part of that. */
#include "base/common.h"

#include "cpu/ir/blame_rewrite.h"

#include "base/alloc.h"

#include <string.h>

struct ptx_operand blame_reg(unsigned reg)
{
	return (struct ptx_operand){.kind = PTX_REG, .reg = reg};
}

struct ptx_operand blame_number(int64_t value)
{
	return (struct ptx_operand){.kind = PTX_INT, .value = value};
}

unsigned blame_temp(struct blame *b, enum ptx_type type)
{
	struct ptx_reg *regs = mem_grow(b->regs, b->reg_count, &b->reg_cap, sizeof(*regs));
	if (!regs) {
		b->failed = true;
		return 0;
	}
	b->regs = regs;
	b->regs[b->reg_count] = (struct ptx_reg){"%blame", type};
	return (unsigned)b->reg_count++;
}

struct ptx_inst *blame_add(struct blame *b, struct ptx_inst inst)
{
	struct ptx_inst *insts = mem_grow(b->insts, b->count, &b->cap, sizeof(*insts));
	if (!insts) {
		b->failed = true;
		return &b->nowhere;
	}
	b->insts = insts;
	b->insts[b->count] = inst;
	return &b->insts[b->count++];
}

struct ptx_inst *blame_put(struct blame *b, enum ptx_op op, enum ptx_type type,
	const struct ptx_operand *operands, size_t count)
{
	const struct ptx_inst *inst = b->inst;
	struct ptx_operand *own = arena_alloc(&b->module->arena, count, sizeof(*own));
	if (!own) {
		b->failed = true;
		return &b->nowhere;
	}
	memcpy(own, operands, count * sizeof(*own));
	return blame_add(b, (struct ptx_inst){.op = op, .text = ptx_rows[op].spelling,
		.types = {type}, .operands = own, .operand_count = count, .line = inst->line,
		.column = inst->column, .loc = inst->loc, .scope = inst->scope});
}

void blame_set_mod(struct ptx_inst *inst, enum ptx_mod mod)
{
	inst->mods.bits[mod / 64] |= (uint64_t)1 << mod % 64;
}

struct ptx_operand blame_binary(struct blame *b, enum ptx_op op, enum ptx_type type,
	struct ptx_operand x, struct ptx_operand y)
{
	const struct ptx_operand to = blame_reg(blame_temp(b, type));
	blame_put(b, op, type, (struct ptx_operand[]){to, x, y}, 3);
	return to;
}

struct ptx_operand blame_compare(struct blame *b, enum ptx_mod how, enum ptx_type type,
	struct ptx_operand x, struct ptx_operand y)
{
	const struct ptx_operand to = blame_reg(blame_temp(b, PTX_PRED));
	blame_set_mod(blame_put(b, PTX_OP_SETP, type, (struct ptx_operand[]){to, x, y}, 3), how);
	return to;
}

struct ptx_operand blame_select(struct blame *b, struct ptx_operand yes, struct ptx_operand no,
	struct ptx_operand which)
{
	const struct ptx_operand to = blame_reg(blame_temp(b, PTX_U32));
	blame_put(b, PTX_OP_SELP, PTX_U32, (struct ptx_operand[]){to, yes, no, which}, 4);
	return to;
}
