/* SPDX-License-Identifier: MIT */
/*
 * Puts arguments and results in registers.  PTX passes everything through .param memory, but most
 * of it is written and read whole.  Such a variable becomes a register, and ld and st of it become
 * mov.  Structures, and variables that are read in parts, stay in memory.
 */
#include "base/common.h"

#include "cpu/ir/flat.h"

#include <string.h>

enum ptx_type flat_type(size_t size)
{
	switch (size) {
	case 1:
		return PTX_B8;
	case 2:
		return PTX_B16;
	case 4:
		return PTX_B32;
	case 8:
		return PTX_B64;
	default:
		return PTX_NONE;
	}
}

/* The variable that a plain ld or st reads or writes whole; NULL for any other instruction. */
static struct ptx_var *flat_args_moved(const struct ptx_inst *inst)
{
	size_t index = inst->op == PTX_OP_LD;
	if ((inst->op != PTX_OP_LD && inst->op != PTX_OP_ST) || inst->space != PTX_PARAM) {
		return NULL;
	}
	const struct ptx_operand *place = &inst->operands[index];
	bool whole = place->var && place->value == 0
		&& inst->operands[1 - index].kind != PTX_VECTOR
		&& ptx_type_size(inst->types[0]) == place->var->size;
	return whole ? place->var : NULL;
}

/* A variable that is used in any other way, as an address above all, stays in memory. */
static void flat_args_find_memory(const struct ptx_inst *inst)
{
	const struct ptx_var *whole = flat_args_moved(inst);
	for (size_t i = 0; i < inst->operand_count; i++) {
		struct ptx_operand *o = &inst->operands[i];
		if (o->kind == PTX_ADDRESS && o->var && o->var != whole) {
			o->var->in_register = false;
		}
	}
}

static void flat_args_rewrite(struct ptx_inst *inst)
{
	const struct ptx_var *whole = flat_args_moved(inst);
	if (whole && whole->in_register) {
		bool is_load = inst->op == PTX_OP_LD;
		inst->op = PTX_OP_MOV;
		inst->mods = (struct ptx_mods){{0, 0}};
		inst->operands[is_load] = (struct ptx_operand){.kind = PTX_REG, .reg = whole->reg};
	}
	for (size_t i = 1; inst->op == PTX_OP_CALL && i <= 2; i++) {
		struct ptx_operand *list = &inst->operands[i];
		for (size_t j = 0; j < list->count; j++) {
			struct ptx_operand *o = &list->elements[j];
			if (o->kind == PTX_ADDRESS && o->var->in_register) {
				*o = (struct ptx_operand){.kind = PTX_REG, .reg = o->var->reg};
			}
		}
	}
}

struct group {
	struct ptx_var **vars;
	size_t count;
};

bool flat_promote(struct ptx_module *module, struct ptx_func *func)
{
	const struct group groups[] = {{func->vars, func->var_count},
		{func->params, func->is_entry ? 0 : func->param_count},
		{func->returns, func->return_count}};
	size_t count = 0;
	for (size_t g = 0; g < countof(groups); g++) {
		for (size_t i = 0; i < groups[g].count; i++) {
			struct ptx_var *var = groups[g].vars[i];
			var->in_register = var->is_register
				|| (var->space == PTX_PARAM && flat_type(var->size));
			count += var->in_register && !var->is_register;
		}
	}
	if (count == 0) {
		return true;
	}
	for (size_t i = 0; i < func->inst_count; i++) {
		flat_args_find_memory(&func->insts[i]);
	}

	struct ptx_reg *regs = arena_alloc(&module->arena, func->reg_count + count,
		sizeof(*regs));
	if (!regs) {
		return false;
	}
	if (func->reg_count) {
		memcpy(regs, func->regs, func->reg_count * sizeof(*regs));
	}
	func->regs = regs;
	for (size_t g = 0; g < countof(groups); g++) {
		for (size_t i = 0; i < groups[g].count; i++) {
			struct ptx_var *var = groups[g].vars[i];
			if (var->in_register && !var->is_register) {
				var->reg = (unsigned)func->reg_count;
				regs[func->reg_count++] = (struct ptx_reg){var->name,
					flat_type(var->size)};
			}
		}
	}
	for (size_t i = 0; i < func->inst_count; i++) {
		flat_args_rewrite(&func->insts[i]);
	}
	return true;
}
