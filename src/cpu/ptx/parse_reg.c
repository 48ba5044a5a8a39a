/* SPDX-License-Identifier: MIT */
/*
 * Parses registers, single ones and vectors.  A vector is only a name for its elements: V is
 * {V.x, V.y}, and %tid is {%tid.x, %tid.y, %tid.z, 0}.  A move of a vector becomes a move of each
 * element.
 */
#include "base/common.h"

#include "cpu/ptx/parser.h"

#include <string.h>

enum { MAX_VECTORS = 1 << 12 }; /* V<100>: these are made at once */

/* How the elements are called. */
static const char elements[2][4] = {{'x', 'y', 'z', 'w'}, {'r', 'g', 'b', 'a'}};

/* A new register under that name. */
static void reg_add(struct parser *p, const char *name, enum ptx_type type)
{
	struct symbol *symbol = symbol_add(p, p->scope, name, SYMBOL_REG);
	struct ptx_reg *reg = list_add(p, &p->regs, sizeof(*reg));
	if (symbol && reg) {
		symbol->index = (unsigned)(p->regs.count - 1);
		*reg = (struct ptx_reg){name, type};
	}
}

/* A symbol for operands that the caller fills in. */
static struct ptx_operand *reg_add_vector(struct parser *p, struct parse_scope *scope,
	const char *name, size_t count)
{
	struct symbol *symbol = symbol_add(p, scope, name, SYMBOL_VECTOR);
	struct ptx_operand *vector = parser_alloc(p, 1, sizeof(*vector));
	struct ptx_operand *parts = parser_alloc(p, count, sizeof(*parts));
	if (!symbol || !vector || !parts) {
		return NULL;
	}
	*vector = (struct ptx_operand){.kind = PTX_VECTOR, .elements = parts, .count = count};
	symbol->targets = vector;
	return parts;
}

/* V with V.x, which is V.r, too. */
void parse_vector_register(struct parser *p, const char *name, enum ptx_type type, size_t count)
{
	struct ptx_operand *parts = reg_add_vector(p, p->scope, name, count);
	for (size_t i = 0; parts && !p->failed && i < count; i++) {
		const char *names[2];
		for (size_t j = 0; j < 2; j++) {
			names[j] = arena_printf(&p->module->arena, "%s.%c", name, elements[j][i]);
		}
		if (!names[0] || !names[1]) {
			parser_no_memory(p);
			return;
		}
		reg_add(p, names[0], type);
		struct symbol *color = symbol_add(p, p->scope, names[1], SYMBOL_REG);
		if (color) {
			color->index = (unsigned)(p->regs.count - 1);
			parts[i] = (struct ptx_operand){.kind = PTX_REG, .reg = color->index};
		}
	}
}

static void reg_declare_vectors(struct parser *p, const char *name, enum ptx_type type, size_t size,
	uint64_t count)
{
	if (count > MAX_VECTORS) {
		parser_fail(p, "more than %d vectors of registers", MAX_VECTORS);
	}
	for (uint64_t i = 0; i < count && !p->failed; i++) {
		const char *full = arena_printf(&p->module->arena, "%s%llu", name,
			(unsigned long long)i);
		if (!full) {
			parser_no_memory(p);
			return;
		}
		parse_vector_register(p, full, type, size);
	}
}

/* %r<100>: see parser.c */
static void reg_declare_range(
	struct parser *p, const char *name, enum ptx_type type, uint64_t count)
{
	size_t len = strlen(name);
	char *key = parser_alloc(p, len + 2, 1);
	if (key) {
		memcpy(key, name, len);
		key[len] = '<';
	}
	struct parse_range *range = parser_alloc(p, 1, sizeof(*range));
	if (key && range && symbol_add(p, p->scope, key, SYMBOL_RANGE)) {
		*range = (struct parse_range){p->scope->ranges, name, len, count, type};
		p->scope->ranges = range;
	} else {
		parser_no_memory(p);
	}
}

enum ptx_type parse_register_type(struct parser *p, size_t *count)
{
	*count = accept(p, ".v2") ? 2 : accept(p, ".v4") ? 4 : 1;
	enum ptx_type type = take_type(p);
	if (type && (!ptx_type_is_stored(type) || (type == PTX_PRED && *count > 1))) {
		parser_fail(p, "a register cannot have type '.%s'", ptx_type_name(type));
	}
	return type;
}

void parse_registers(struct parser *p)
{
	size_t vector;
	enum ptx_type type = parse_register_type(p, &vector);
	do {
		const char *name = take_name(p);
		bool is_range = name && accept(p, "<");
		uint64_t count = is_range ? take_int(p) : 1;
		if (is_range) {
			expect(p, ">");
		}
		if (p->failed) {
			return;
		}
		if (vector == 1 && is_range) {
			reg_declare_range(p, name, type, count);
		} else if (vector == 1) {
			reg_add(p, name, type);
		} else if (is_range) {
			reg_declare_vectors(p, name, type, vector, count);
		} else {
			parse_vector_register(p, name, type, vector);
		}
	} while (accept(p, ","));
	expect(p, ";");
}

void add_special_vectors(struct parser *p)
{
	static const struct {
		const char *name;
		enum ptx_sreg first; /* of three */
	} vectors[] = {{"%tid", PTX_SREG_TID_X}, {"%ntid", PTX_SREG_NTID_X},
		{"%ctaid", PTX_SREG_CTAID_X}, {"%nctaid", PTX_SREG_NCTAID_X},
		{"%clusterid", PTX_SREG_CLUSTERID_X}, {"%nclusterid", PTX_SREG_NCLUSTERID_X},
		{"%cluster_ctaid", PTX_SREG_CLUSTER_CTAID_X},
		{"%cluster_nctaid", PTX_SREG_CLUSTER_NCTAID_X}};
	for (size_t i = 0; i < countof(vectors); i++) {
		struct ptx_operand *parts = reg_add_vector(p, p->global, vectors[i].name, 4);
		for (unsigned j = 0; parts && j < 3; j++) {
			parts[j].kind = PTX_SREG;
			parts[j].sreg = (enum ptx_sreg)(vectors[i].first + j);
		}
		if (parts) {
			parts[3].kind = PTX_INT; /* PTX ISA 10.1: "always returns zero" */
		}
	}
}

static void reg_add_move(struct parser *p, const struct ptx_inst *inst,
	const struct ptx_operand *to, const struct ptx_operand *from)
{
	struct ptx_inst *slot = list_add(p, &p->insts, sizeof(*slot));
	struct ptx_operand *operands = parser_alloc(p, 2, sizeof(*operands));
	if (slot && operands) {
		operands[0] = *to;
		operands[1] = *from;
		*slot = *inst;
		slot->operands = operands;
		slot->operand_count = 2;
	}
}

/* Through registers of their own, since the two vectors may overlap. */
void add_vector_move(struct parser *p, const struct ptx_inst *inst, size_t count)
{
	const struct ptx_operand *to = inst->operands, *from = inst->operands + 1;
	bool fits = inst->operand_count == 2 && inst->types[0] != PTX_PRED;
	for (size_t i = 0; fits && i < 2; i++) {
		fits = to[i].kind == PTX_VECTOR && to[i].count == count;
	}
	for (size_t i = 0; fits && i < count; i++) {
		fits = from->elements[i].kind != PTX_LABEL && to->elements[i].kind != PTX_LABEL;
	}
	if (p->failed || !fits) {
		parser_fail_at(p, inst->line, inst->column,
			"a move of vectors needs two vectors of %zu registers", count);
		return;
	}
	struct ptx_operand between[MAX_MOVED];
	assert(count <= MAX_MOVED);
	for (size_t i = 0; i < count; i++) {
		struct ptx_reg *reg = list_add(p, &p->regs, sizeof(*reg));
		if (!reg) {
			return;
		}
		*reg = (struct ptx_reg){"(vector)", inst->types[0]};
		between[i] = (struct ptx_operand){.kind = PTX_REG,
			.reg = (unsigned)(p->regs.count - 1)};
		reg_add_move(p, inst, &between[i], &from->elements[i]);
	}
	for (size_t i = 0; i < count; i++) {
		if (to->elements[i].kind != PTX_SINK) {
			reg_add_move(p, inst, &to->elements[i], &between[i]);
		}
	}
}
