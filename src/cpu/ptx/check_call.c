/* SPDX-License-Identifier: MIT */
/*
 * Compares a call with the function that it calls: the numbers of arguments and results, and the
 * size of each.  PTX is strict about types as well, but here sizes are enough: a callee reads and
 * writes a parameter as any type of its size.
 */
#include "base/common.h"

#include "cpu/ptx/checker.h"

static bool check_call_fail(const struct ptx_inst *inst, struct ptx_diag *diag, const char *why,
	const char *what)
{
	return ptx_fail(diag, inst->line, inst->column, "'%.60s': %s '%.80s'", inst->text, why,
		what);
}

/* An argument, or a result, for a parameter. */
static bool check_call_fits(const struct ptx_func *func, const struct ptx_operand *o,
	const struct ptx_var *wanted, bool is_result)
{
	size_t size = wanted->size;
	bool is_pred = wanted->type == PTX_PRED;
	bool scalar = size == 1 || size == 2 || size == 4 || size == 8;
	switch (o->kind) {
	case PTX_ADDRESS:
		return !is_pred && !o->bracketed && o->var && o->var->space == PTX_PARAM
			&& o->var->is_argument && o->value == 0 && o->var->size == size;
	case PTX_REG:
		return !o->negated && !o->minus && !o->select[0] && scalar
			&& (func->regs[o->reg].type == PTX_PRED) == is_pred
			&& ptx_type_size(func->regs[o->reg].type) == size;
	case PTX_SINK:
		return is_result;
	case PTX_INT:
		return !is_result && scalar && !is_pred && ptx_type_class(wanted->type) != 'f';
	case PTX_FLOAT:
		return !is_result && (size == 4 || size == 8)
			&& (o->real_width == 0 || o->real_width == 8 * size);
	default:
		return false;
	}
}

static bool check_call_list(const struct ptx_func *func, const struct ptx_inst *inst,
	const struct ptx_operand *list, struct ptx_var *const *wanted, size_t count,
	struct ptx_diag *diag)
{
	bool is_result = list == &inst->operands[1];
	if (list->kind != PTX_VECTOR || list->count != count) {
		return ptx_fail(diag, inst->line, inst->column,
			"'%.60s': expected %zu %s%s, got %zu",
			inst->text, count, is_result ? "result" : "argument", count == 1 ? "" : "s",
			list->count);
	}
	for (size_t i = 0; i < count; i++) {
		if (!check_call_fits(func, &list->elements[i], wanted[i], is_result)) {
			return ptx_fail(diag, inst->line, inst->column,
				"'%.60s': %s %zu does not fit '%.60s', which has %zu byte%s",
				inst->text, is_result ? "result" : "argument", i + 1,
				wanted[i]->name, wanted[i]->size, wanted[i]->size == 1 ? "" : "s");
		}
	}
	return true;
}

bool check_call(const struct ptx_func *func, const struct ptx_inst *inst, struct ptx_diag *diag)
{
	const struct ptx_operand *callee = &inst->operands[0];
	const struct ptx_func *wanted = callee->func;
	if (callee->kind == PTX_REG) {
		enum ptx_type type = func->regs[callee->reg].type;
		if (ptx_type_bits(type) != 64 || ptx_type_class(type) == 'f' || callee->negated
		    || callee->minus) {
			return check_call_fail(inst, diag,
				"expected a function or a 64-bit register, got",
				func->regs[callee->reg].name);
		}
		if (inst->operand_count < 4 || inst->operands[3].kind != PTX_FUNC) {
			return check_call_fail(inst, diag,
				"needs the prototype of what is called through",
				func->regs[callee->reg].name);
		}
		wanted = inst->operands[3].func;
	} else if (callee->kind != PTX_FUNC) {
		return ptx_fail(diag, inst->line, inst->column,
			"'%.60s': expected a function to call", inst->text);
	}
	if (wanted->is_entry) {
		return check_call_fail(inst, diag, "calls the kernel", wanted->name);
	}
	return check_call_list(
		       func, inst, &inst->operands[1], wanted->returns, wanted->return_count, diag)
		&& check_call_list(
			func, inst, &inst->operands[2], wanted->params, wanted->param_count, diag);
}
