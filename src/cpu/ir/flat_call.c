/* SPDX-License-Identifier: MIT */
/*
 * Makes the instructions that replace a call, a return, and the beginning of a function.
 *
 * A call to a function of the same group may run the caller again.  It therefore saves the
 * registers that the caller still needs on the stack, by the liveness of the caller.
 */
#include "base/common.h"

#include "cpu/ir/cfg.h"
#include "cpu/ir/flat.h"

#include <string.h>

enum { INVALID_PC = 718 }; /* CUresult */

void flat_prologue(struct flat *f)
{
	struct flat_body *body = f->body;
	const struct flat_link *link = body->link;
	if (!link) {
		if (f->uses_stack) {
			flat_start_stack(f);
		}
		return;
	}
	flat_label_here(f, body->entry);
	flat_enter(f);
	if (!link->is_exchange) {
		return;
	}
	flat_mov(f, PTX_U32, body->number, flat_reg_operand(link->number));
	for (size_t i = 0; i < body->func->param_count && !f->failed; i++) {
		const struct flat_place own = flat_place(f, body->func->params[i]);
		flat_move(f, &own, &link->params[i]);
	}
}

void flat_ret(struct flat *f, const struct ptx_inst *inst)
{
	const struct flat_link *link = f->body->link;
	size_t behind = flat_begin_guard(f, inst);
	for (size_t i = 0; link->is_exchange && i < f->body->func->return_count; i++) {
		const struct flat_place own = flat_place(f, f->body->func->returns[i]);
		flat_move(f, &link->returns[i], &own);
	}
	flat_leave(f);
	struct flat_return *back = flat_add(f, &f->returns, sizeof(*back));
	*back = (struct flat_return){f->insts.count, link, f->body->number};
	flat_inst(f, PTX_OP_TRAP, PTX_NONE, NULL, 0);
	flat_label_here(f, behind);
}

void flat_finish_returns(struct flat *f)
{
	const struct flat_return *returns = f->returns.data;
	for (size_t i = 0; i < f->returns.count && !f->failed; i++) {
		const struct flat_link *link = returns[i].link;
		struct ptx_inst *inst = (struct ptx_inst *)f->insts.data + returns[i].inst;
		struct ptx_operand *operands = flat_keep(f, link->point_count == 1 ? 1 : 2,
			sizeof(*operands));
		if (!operands || link->point_count == 0) {
			continue; /* nobody calls it, so the trap stays */
		}
		inst->operands = operands;
		if (link->point_count == 1) {
			inst->op = PTX_OP_BRA;
			operands[0] = link->points[0];
			inst->operand_count = 1;
		} else {
			inst->op = PTX_OP_BRX;
			operands[0] = flat_reg_operand(returns[i].number);
			operands[1] = (struct ptx_operand){.kind = PTX_VECTOR,
				.elements = link->points, .count = link->point_count};
			inst->operand_count = 2;
		}
	}
}

/* A new place to return to. */
static void flat_call_add_point(struct flat *f, struct flat_link *link, size_t label)
{
	if (link->point_count == link->point_cap) {
		size_t cap = link->point_cap ? 2 * link->point_cap : 1;
		struct ptx_operand *points = flat_keep(f, cap, sizeof(*points));
		if (!points) {
			return;
		}
		if (link->point_count) {
			memcpy(points, link->points, link->point_count * sizeof(*points));
		}
		link->points = points;
		link->point_cap = cap;
	}
	link->points[link->point_count++] = flat_label_operand(label);
}

/* The caller's place of an argument or of a result. */
static struct flat_place flat_call_actual(struct flat *f, const struct ptx_operand *o, size_t size)
{
	struct flat_place place = {.operand = flat_operand(f, o), .type = flat_type(size),
		.size = size};
	if (o->kind == PTX_ADDRESS) {
		place.operand.bracketed = true;
	} else if (o->kind == PTX_FLOAT) {
		place.type = size == 8 ? PTX_F64 : PTX_F32;
	}
	return place;
}

/* Liveness after a call, into f->live. */
static void flat_call_find_live(struct flat *f, size_t index)
{
	const struct ptx_func *func = f->body->func;
	size_t block = 0;
	while (index >= func->blocks[block].end) {
		block++;
	}
	memset(f->live, 0, cfg_live_words(func) * sizeof(*f->live));
	cfg_add_live_out(f->live, func, block);
	for (size_t i = func->blocks[block].end; i-- > index + 1;) {
		cfg_live_before(f->live, &func->insts[i]);
	}
	for (size_t i = 0; i < func->return_count; i++) {
		const struct ptx_var *var = func->returns[i];
		if (var->in_register) {
			f->live[var->reg / 64] |= (uint64_t)1 << var->reg % 64;
		}
	}
	const struct ptx_operand *results = &func->insts[index].operands[1];
	for (size_t i = 0; i < results->count; i++) {
		if (results->elements[i].kind == PTX_REG) {
			unsigned reg = results->elements[i].reg;
			f->live[reg / 64] &= ~((uint64_t)1 << reg % 64);
		}
	}
}

static void flat_call_move_live(struct flat *f, bool is_load)
{
	struct flat_body *body = f->body;
	flat_frame_move(f, is_load, body->number, PTX_B32, body->frame, FLAT_SAVED_NUMBER);
	for (size_t i = 0; i < body->func->reg_count && !f->failed; i++) {
		if (!(f->live[i / 64] >> i % 64 & 1)) {
			continue;
		}
		enum ptx_type type = body->func->regs[i].type;
		size_t size = ptx_type_size(type);
		if (body->saved_at[i] == 0) {
			body->saved_at[i] = round_up(body->size, size);
			body->size = body->saved_at[i] + size;
		}
		type = type == PTX_PRED ? type : size == 16 ? PTX_B128 : flat_type(size);
		flat_frame_move(f, is_load, body->first_reg + (unsigned)i, type, body->frame,
			body->saved_at[i]);
	}
}

/* Branch to the function whose address a register holds, one of a kind. */
static void flat_call_jump_through(struct flat *f, const struct ptx_operand *callee,
	struct flat_body *kind)
{
	size_t count = kind->kind ? kind->kind->count : 0, bad = flat_label(f);
	unsigned index = flat_temp(f, PTX_U64), high = flat_temp(f, PTX_B64);
	unsigned ok = flat_temp(f, PTX_PRED), narrow = flat_temp(f, PTX_U32);
	const struct ptx_operand operands[][3] = {
		{flat_reg_operand(index), flat_operand(f, callee),
			flat_int_operand(kind->kind ? (int64_t)kind->kind->first : 0)},
		{flat_reg_operand(high), flat_reg_operand(index), flat_int_operand(60)},
		{flat_reg_operand(index), flat_reg_operand(index), flat_int_operand(4)},
		{flat_reg_operand(index), flat_reg_operand(index), flat_reg_operand(high)},
		{flat_reg_operand(ok), flat_reg_operand(index), flat_int_operand((int64_t)count)},
	};
	/* Divide by 16; what is not a multiple becomes huge. */
	flat_inst(f, PTX_OP_SUB, PTX_U64, operands[0], 3);
	flat_inst(f, PTX_OP_SHL, PTX_B64, operands[1], 3);
	flat_inst(f, PTX_OP_SHR, PTX_U64, operands[2], 3);
	flat_inst(f, PTX_OP_OR, PTX_B64, operands[3], 3);
	flat_set(flat_inst(f, PTX_OP_SETP, PTX_U64, operands[4], 3), PTX_MOD_LO);
	struct ptx_inst *bra = flat_bra(f, bad);
	bra->has_guard = true;
	bra->guard_negated = true;
	bra->guard = ok;
	if (count > 0) {
		const struct ptx_operand table[] = {flat_reg_operand(narrow),
			{.kind = PTX_VECTOR, .elements = kind->entries, .count = count}};
		flat_mov(f, PTX_U32, narrow, flat_reg_operand(index));
		flat_inst(f, PTX_OP_BRX, PTX_NONE, table, 2);
	}
	flat_label_here(f, bad);
	flat_fail(f, INVALID_PC);
}

static void call_body(struct flat *f, const struct ptx_inst *inst, size_t index,
	struct flat_body *callee)
{
	if (!callee) {
		return; /* no memory */
	}
	struct flat_link *link = callee->link;
	bool saves = callee->group == f->body->group;
	size_t point = flat_label(f);
	if (saves) {
		flat_call_find_live(f, index);
		flat_call_move_live(f, false);
	}
	for (size_t i = 0; i < inst->operands[2].count && !f->failed; i++) {
		struct flat_place from = flat_call_actual(f, &inst->operands[2].elements[i],
			link->params[i].size);
		flat_move(f, &link->params[i], &from);
	}
	flat_mov(f, PTX_U32, link->number, flat_int_operand((int64_t)link->point_count));
	flat_call_add_point(f, link, point);
	if (callee->func) {
		flat_bra(f, callee->entry);
	} else {
		flat_call_jump_through(f, &inst->operands[0], callee);
	}
	flat_label_here(f, point);
	if (saves) {
		flat_call_move_live(f, true);
	}
	for (size_t i = 0; i < inst->operands[1].count && !f->failed; i++) {
		struct flat_place to = flat_call_actual(f, &inst->operands[1].elements[i],
			link->returns[i].size);
		flat_move(f, &to, &link->returns[i]);
	}
}

/* A copy of the call, with all arguments and results in registers. */
static void call_runtime(struct flat *f, const struct ptx_inst *inst, enum ptx_runtime runtime)
{
	const struct ptx_func *func = inst->operands[0].func;
	const struct ptx_operand *in = inst->operands;
	struct ptx_operand out[3] = {in[0], {.kind = PTX_VECTOR, .count = 1},
		{.kind = PTX_VECTOR, .count = in[2].count}};
	size_t size = func->return_count ? func->returns[0]->size : 4;
	struct flat_place temp = {flat_reg_operand(flat_reg(f, flat_type(size))),
		flat_type(size), size};
	out[1].elements = flat_keep(f, 1, sizeof(*in));
	out[2].elements = flat_keep(f, in[2].count, sizeof(*in));
	if (f->failed) {
		return;
	}
	for (size_t i = 0; i < in[2].count; i++) {
		struct flat_place from = flat_call_actual(f, &in[2].elements[i],
			func->params[i]->size);
		struct flat_place to = from;
		if (from.operand.kind == PTX_ADDRESS) {
			to.operand = flat_reg_operand(flat_reg(f, from.type));
			flat_move(f, &to, &from);
		}
		out[2].elements[i] = to.operand;
	}
	out[1].elements[0] = temp.operand;
	flat_inst(f, PTX_OP_CALL, PTX_NONE, out, countof(out));
	f->kernel->uses_heap |= runtime == PTX_RUNTIME_MALLOC;
	f->kernel->uses_print |= runtime == PTX_RUNTIME_PRINT;
	if (func->return_count > 0) {
		struct flat_place to = flat_call_actual(f, &in[1].elements[0], temp.size);
		flat_move(f, &to, &temp);
	} else if (runtime == PTX_RUNTIME_FREE || runtime == PTX_RUNTIME_CONDITION) {
		flat_stop_unless(f, temp.operand);
	} else if (runtime == PTX_RUNTIME_ASSERT) {
		flat_inst(f, PTX_OP_TRAP, PTX_NONE, NULL, 0);
	}
}

void flat_call(struct flat *f, const struct ptx_inst *inst, size_t index)
{
	const struct ptx_operand *callee = &inst->operands[0];
	size_t behind = flat_begin_guard(f, inst);
	if (callee->kind != PTX_FUNC) {
		call_body(f, inst, index, flat_body_of_kind(f, inst->operands[3].func));
	} else {
		enum ptx_runtime runtime = ptx_runtime_find(callee->func);
		if (runtime == PTX_RUNTIME_COUNT) {
			call_body(f, inst, index, flat_callee(f, inst));
		} else {
			call_runtime(f, inst, runtime);
		}
	}
	flat_label_here(f, behind);
}
