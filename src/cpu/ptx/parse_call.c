/* SPDX-License-Identifier: MIT */
/*
 * Parses calls, `call (results), callee, (arguments), prototype;`, of which only the callee must be
 * there, and the prototypes that a call through a register names.  A prototype is kept as a
 * function without a body.
 */
#include "base/common.h"

#include "cpu/ptx/parser.h"

#include <string.h>

/* A vector that is named among the arguments, or the results, stands for its elements. */
static void call_spread_vectors(struct parser *p, struct ptx_operand *list)
{
	size_t count = 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct ptx_operand *o = &list->elements[i];
		count += o->kind == PTX_VECTOR ? o->count : 1;
	}
	struct ptx_operand *all = count != list->count ? parser_alloc(p, count, sizeof(*all))
		: NULL;
	if (!all) {
		return;
	}
	size_t next = 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct ptx_operand *o = &list->elements[i];
		bool is_vector = o->kind == PTX_VECTOR;
		size_t parts = is_vector ? o->count : 1;
		memcpy(&all[next], is_vector ? o->elements : o, parts * sizeof(*all));
		next += parts;
	}
	list->elements = all;
	list->count = count;
}

void call_arrange(struct parser *p, struct ptx_inst *inst)
{
	const struct ptx_operand *in = inst->operands;
	size_t count = inst->operand_count, i = 0;
	struct ptx_operand *out = parser_alloc(p, 4, sizeof(*out));
	if (!out || p->failed) {
		return;
	}
	out[1].kind = PTX_VECTOR;
	out[2].kind = PTX_VECTOR;
	if (i < count && in[i].kind == PTX_VECTOR) {
		out[1] = in[i++];
	}
	if (i == count) {
		parser_fail_at(p, inst->line, inst->column, "'%.60s' is not a function",
			inst->text);
		return;
	}
	out[0] = in[i++];
	if (out[0].kind == PTX_LABEL) {
		parser_fail_at(p, (int)out[0].reg, (int)out[0].reg2, "unknown function '%.80s'",
			out[0].label);
		return;
	}
	if (i < count && in[i].kind == PTX_VECTOR) {
		out[2] = in[i++];
	}
	inst->operand_count = 3;
	if (i < count) {
		out[3] = in[i++];
		inst->operand_count = 4;
	}
	if (i < count) {
		parser_fail_at(p, inst->line, inst->column, "'%.60s' has too many operands",
			inst->text);
	}
	call_spread_vectors(p, &out[1]);
	call_spread_vectors(p, &out[2]);
	inst->operands = out;
}

/* (.param .b32 _) _ (.param .b64 _, .param .b32 _) .noreturn; */
struct ptx_func *parse_prototype(struct parser *p)
{
	struct ptx_func *func = parser_alloc(p, 1, sizeof(*func));
	size_t return_size;
	if (!func) {
		return NULL;
	}
	*func = (struct ptx_func){.is_extern = true, .line = p->token.line};
	scope_enter(p);
	if (at(p, "(")) {
		func->returns = parse_params(p, false, &func->return_count, &return_size);
	}
	func->name = take_name(p);
	if (at(p, "(")) {
		func->params = parse_params(p, false, &func->param_count, &func->param_size);
	}
	scope_leave(p);
	while (at_directive(p) || p->token.kind == TOKEN_INT) {
		advance(p); /* .noreturn, .abi_preserve 3 */
	}
	expect(p, ";");
	return func;
}

/* f, g; any of them tells what the call looks like */
struct ptx_func *parse_call_targets(struct parser *p)
{
	struct ptx_operand list;
	memset(&list, 0, sizeof(list));
	parse_vector(p, &list, ";");
	for (size_t i = 0; i < list.count && !p->failed; i++) {
		if (list.elements[i].kind != PTX_FUNC) {
			parser_fail(p, "expected functions in .calltargets");
		}
	}
	if (list.count == 0) {
		parser_fail(p, "expected functions in .calltargets");
	}
	return p->failed ? NULL : list.elements[0].func;
}
