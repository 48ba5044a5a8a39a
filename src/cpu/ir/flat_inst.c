/* SPDX-License-Identifier: MIT */
/*
 * What flattening is built of: memory and lists, new registers and labels, and single instructions
 * that stand for parts of a call.  Nothing here knows what a call is made of.
 *
 * A list that cannot grow returns a spare element, so callers need not test the result (flat.h).
 */
#include "base/common.h"

#include "cpu/ir/flat.h"

#include "base/alloc.h"

#include <string.h>

void flat_no_memory(struct flat *f)
{
	if (!f->failed) {
		f->failed = true;
		ptx_no_memory(f->diag);
	}
}

static void *flat_inst_alloc(struct flat *f, struct arena *arena, size_t count, size_t size)
{
	void *memory = arena_alloc(arena, count, size);
	if (!memory) {
		flat_no_memory(f);
	}
	return memory;
}

void *flat_alloc(struct flat *f, size_t count, size_t size)
{
	return flat_inst_alloc(f, &f->scratch, count, size);
}

void *flat_keep(struct flat *f, size_t count, size_t size)
{
	return flat_inst_alloc(f, &f->module->arena, count, size);
}

void *flat_add(struct flat *f, struct flat_list *list, size_t size)
{
	assert(size <= sizeof(f->spare));
	void *data = mem_grow(list->data, list->count, &list->cap, size);
	if (!data) {
		flat_no_memory(f);
		return &f->spare;
	}
	list->data = data;
	return memset((char *)list->data + list->count++ * size, 0, size);
}

unsigned flat_reg(struct flat *f, enum ptx_type type)
{
	struct ptx_reg *reg = flat_add(f, &f->regs, sizeof(*reg));
	*reg = (struct ptx_reg){"#", type};
	return (unsigned)f->regs.count - 1;
}

size_t flat_label(struct flat *f)
{
	struct ptx_label *label = flat_add(f, &f->labels, sizeof(*label));
	label->name = "#";
	return f->labels.count - 1;
}

void flat_label_here(struct flat *f, size_t label)
{
	if (!f->failed) {
		((struct ptx_label *)f->labels.data)[label].inst = f->insts.count;
	}
}

struct ptx_operand flat_reg_operand(unsigned reg)
{
	return (struct ptx_operand){.kind = PTX_REG, .reg = reg};
}

struct ptx_operand flat_int_operand(int64_t value)
{
	return (struct ptx_operand){.kind = PTX_INT, .value = value};
}

struct ptx_operand flat_label_operand(size_t label)
{
	return (struct ptx_operand){.kind = PTX_LABEL, .reg = (unsigned)label, .label = "#"};
}

const struct ptx_scope *flat_scope(struct flat *f, const struct ptx_scope *scope)
{
	struct flat_body *body = f->body;
	if (!scope || !body) {
		return scope;
	}
	if (!body->scopes) {
		body->scopes = flat_alloc(f, body->func->scope_count, sizeof(*body->scopes));
		body->debug_place = f->debug_size;
		f->debug_size += body->func->debug_size;
	}
	if (!body->scopes || body->scopes[scope->index]) {
		return body->scopes ? body->scopes[scope->index] : NULL;
	}
	struct ptx_scope *copy = flat_keep(f, 1, sizeof(*copy));
	if (!copy) {
		return NULL;
	}
	*copy = *scope;
	copy->place = body->debug_place;
	if (scope->outer) {
		copy->outer = flat_scope(f, scope->outer);
	} else if (body->caller) {
		f->body = body->caller;
		copy->outer = flat_scope(f, body->call->scope);
		copy->call = body->call->loc;
		f->body = body;
	}
	body->scopes[scope->index] = copy;
	return copy;
}

struct ptx_inst *flat_inst(struct flat *f, enum ptx_op op, enum ptx_type type,
	const struct ptx_operand *operands, size_t count)
{
	struct ptx_inst *inst = flat_add(f, &f->insts, sizeof(*inst));
	*inst = (struct ptx_inst){.op = op, .text = f->at->text, .types = {type},
		.line = f->at->line, .column = f->at->column, .loc = f->at->loc,
		.scope = flat_scope(f, f->at->scope)};
	inst->operands = flat_keep(f, count, sizeof(*operands));
	if (inst->operands && count > 0) {
		memcpy(inst->operands, operands, count * sizeof(*operands));
		inst->operand_count = count;
	}
	return inst;
}

void flat_mov(struct flat *f, enum ptx_type type, unsigned to, struct ptx_operand from)
{
	const struct ptx_operand operands[] = {flat_reg_operand(to), from};
	flat_inst(f, PTX_OP_MOV, type, operands, 2);
}

struct ptx_inst *flat_bra(struct flat *f, size_t label)
{
	const struct ptx_operand operand = flat_label_operand(label);
	return flat_inst(f, PTX_OP_BRA, PTX_NONE, &operand, 1);
}

size_t flat_begin_guard(struct flat *f, const struct ptx_inst *inst)
{
	size_t behind = flat_label(f);
	if (inst->has_guard) {
		struct ptx_inst *bra = flat_bra(f, behind);
		bra->has_guard = true;
		bra->guard = f->body->first_reg + inst->guard;
		bra->guard_negated = !inst->guard_negated;
	}
	return behind;
}

void flat_set(struct ptx_inst *inst, enum ptx_mod mod)
{
	inst->mods.bits[mod / 64] |= (uint64_t)1 << mod % 64;
}

void flat_fail(struct flat *f, int code)
{
	const struct ptx_operand operand = flat_int_operand(code);
	flat_inst(f, PTX_OP_FAIL, PTX_NONE, &operand, 1);
	flat_inst(f, PTX_OP_TRAP, PTX_NONE, NULL, 0);
}

void flat_stop_unless(struct flat *f, struct ptx_operand ok)
{
	unsigned pred = flat_temp(f, PTX_PRED);
	const struct ptx_operand compare[] = {flat_reg_operand(pred), ok, flat_int_operand(0)};
	size_t label = flat_label(f);
	flat_set(flat_inst(f, PTX_OP_SETP, PTX_U32, compare, countof(compare)), PTX_MOD_NE);
	struct ptx_inst *bra = flat_bra(f, label);
	bra->has_guard = true;
	bra->guard = pred;
	flat_inst(f, PTX_OP_TRAP, PTX_NONE, NULL, 0);
	flat_label_here(f, label);
}

unsigned flat_temp(struct flat *f, enum ptx_type type)
{
	if (f->temps[type] == 0) {
		f->temps[type] = flat_reg(f, type) + 1;
	}
	return f->temps[type] - 1;
}

static void flat_inst_move(struct flat *f, bool is_load, enum ptx_type type,
	struct ptx_operand value, struct ptx_operand place)
{
	const struct ptx_operand operands[] = {is_load ? value : place, is_load ? place : value};
	flat_inst(f, is_load ? PTX_OP_LD : PTX_OP_ST, type, operands, 2)->space = PTX_LOCAL;
}

void flat_frame_move(struct flat *f, bool is_load, unsigned reg, enum ptx_type type,
	unsigned base, size_t offset)
{
	const struct ptx_operand place = {.kind = PTX_ADDRESS, .bracketed = true, .has_base = true,
		.reg = base, .value = (int64_t)offset};
	flat_inst_move(f, is_load, type, flat_reg_operand(reg), place);
}

/* From memory to memory, in pieces through a register. */
static void flat_inst_copy(struct flat *f, struct ptx_operand to, struct ptx_operand from,
	size_t size)
{
	static const enum ptx_type types[] = {PTX_B128, PTX_B64, PTX_B32, PTX_B16, PTX_B8};
	for (size_t i = 0; i < countof(types); i++) {
		size_t step = ptx_type_size(types[i]);
		for (; size >= step && !f->failed; size -= step) {
			struct ptx_operand temp = flat_reg_operand(flat_temp(f, types[i]));
			flat_inst_move(f, true, types[i], temp, from);
			flat_inst_move(f, false, types[i], temp, to);
			from.value += (int64_t)step;
			to.value += (int64_t)step;
		}
	}
}

void flat_move(struct flat *f, const struct flat_place *to, const struct flat_place *from)
{
	bool to_memory = to->operand.kind == PTX_ADDRESS;
	bool from_memory = from->operand.kind == PTX_ADDRESS;
	if (to->operand.kind == PTX_SINK) {
		return;
	}
	if (to_memory && from_memory) {
		flat_inst_copy(f, to->operand, from->operand, to->size);
	} else if (to_memory) {
		flat_inst_move(f, false, from->type, from->operand, to->operand);
	} else if (from_memory) {
		flat_inst_move(f, true, to->type, to->operand, from->operand);
	} else {
		flat_mov(f, to->type, to->operand.reg, from->operand);
	}
}

bool flat_is_stack(const struct ptx_inst *inst)
{
	return inst->op == PTX_OP_ALLOCA || inst->op == PTX_OP_STACKSAVE
		|| inst->op == PTX_OP_STACKRESTORE;
}
