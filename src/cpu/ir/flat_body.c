/* SPDX-License-Identifier: MIT */
/*
 * Copies the instructions of all functions into the kernel, one function after the other.
 * Registers, labels and variables are renamed to those of the kernel (flat_operand).  Calls,
 * returns and instructions of the stack become other instructions (flat_call.c, flat_stack.c).
 */
#include "base/common.h"

#include "cpu/ir/cfg.h"
#include "cpu/ir/flat.h"

/* The address of a variable on the stack is a sum, so mov and cvta take it from a register. */
static void flat_body_use_frame(struct flat *f, struct ptx_inst *inst)
{
	for (size_t i = 0; i < inst->operand_count; i++) {
		struct ptx_operand *o = &inst->operands[i];
		if (o->kind != PTX_ADDRESS || o->bracketed || !o->has_base) {
			continue;
		}
		const struct ptx_operand sum[] = {flat_reg_operand(flat_temp(f, PTX_U64)),
			flat_reg_operand(o->reg), flat_int_operand(o->value)};
		flat_inst(f, PTX_OP_ADD, PTX_U64, sum, countof(sum));
		*o = sum[0];
	}
}

/* For a debugger.  Before its first statement a function takes its parameters, in column 0.  That
 * is a part of the call, so that a debugger that stops in the function finds them. */
static void flat_set_place(struct flat *f, struct ptx_inst *inst)
{
	struct flat_body *body = f->body;
	if (inst->scope && inst->op != PTX_OP_NOTE && inst->loc && inst->loc->column == 0
	    && body->caller) {
		inst->loc = body->call->loc;
		f->body = body->caller;
		inst->scope = flat_scope(f, body->call->scope);
		f->body = body;
	} else {
		inst->scope = flat_scope(f, inst->scope);
	}
}

static void flat_copy_inst(struct flat *f, const struct ptx_inst *from)
{
	struct ptx_inst inst = *from;
	flat_set_place(f, &inst);
	inst.operands = flat_keep(f, from->operand_count, sizeof(*inst.operands));
	inst.guard += f->body->first_reg;
	for (size_t i = 0; i < from->operand_count && inst.operands; i++) {
		const struct ptx_operand *o = &from->operands[i];
		inst.operands[i] = flat_operand(f, o);
		/* What functions get is in frames now; by a register it can be no other's. */
		if (inst.space == PTX_PARAM && o->kind == PTX_ADDRESS
		    && (o->var ? inst.operands[i].var != o->var : !f->body->func->is_entry)) {
			inst.space = PTX_LOCAL;
		}
	}
	if (f->body->is_recursive && inst.operands && !f->failed) {
		flat_body_use_frame(f, &inst);
	}
	struct ptx_inst *slot = flat_add(f, &f->insts, sizeof(*slot));
	*slot = inst;
}

/* A recursive function has its own liveness, which says which registers a call must save. */
static void flat_prepare_body(struct flat *f, struct flat_body *body)
{
	size_t count = body->func->reg_count;
	f->body = body;
	f->at = &body->func->insts[0];
	if (!body->is_recursive) {
		return;
	}
	body->saved_at = flat_alloc(f, count, sizeof(*body->saved_at));
	f->live = flat_alloc(f, cfg_live_words(body->func), sizeof(*f->live));
	if (!f->failed && !body->func->blocks && !(cfg_build(f->module, body->func, f->diag)
			&& cfg_find_live(&f->scratch, body->func, f->diag))) {
		f->failed = true;
	}
}

static void flat_copy_body(struct flat *f, struct flat_body *body)
{
	const struct ptx_func *func = body->func;
	size_t label = 0;
	flat_prepare_body(f, body);
	flat_prologue(f);
	for (size_t i = 0; i < func->inst_count && !f->failed; i++) {
		const struct ptx_inst *inst = &func->insts[i];
		f->at = inst;
		for (; label < func->label_count && func->labels[label].inst == i; label++) {
			flat_label_here(f, body->first_label + label);
		}
		if (inst->op == PTX_OP_CALL) {
			flat_call(f, inst, i);
		} else if (inst->op == PTX_OP_RET && body->index > 0) {
			flat_ret(f, inst);
		} else if (flat_is_stack(inst)) {
			flat_stack(f, inst);
		} else {
			flat_copy_inst(f, inst);
		}
	}
	flat_epilogue(f);
}

void flat_copy_bodies(struct flat *f)
{
	for (size_t i = 0; i < f->bodies.count && !f->failed; i++) {
		if (flat_body_at(f, i)->func) {
			flat_copy_body(f, flat_body_at(f, i));
		}
	}
	flat_finish_returns(f);
}
