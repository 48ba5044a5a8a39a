/* SPDX-License-Identifier: MIT */
/*
 * Parses the operands of instructions.  A name means what it means at the place where it is used,
 * so each is looked up at once.  A function that uses a shared variable of the module gets a copy
 * of it, because every function lays out its own shared memory.
 */
#include "base/common.h"

#include "cpu/ptx/parser.h"

#include <string.h>

/* The variable itself, or this function's copy of a shared one of the module. */
static struct ptx_var *parse_own_variable(struct parser *p, struct ptx_var *var)
{
	const struct symbol *module = map_get(&p->global->names, var->name);
	if (var->space != PTX_SHARED || !module || module->var != var) {
		return var;
	}
	struct symbol *symbol = symbol_add(p, p->func_scope, var->name, SYMBOL_VAR);
	struct ptx_var **slot = list_add(p, &p->func_vars, sizeof(*slot));
	if (!symbol || !slot || !(*slot = parser_alloc(p, 1, sizeof(**slot)))) {
		return var;
	}
	**slot = *var;
	(*slot)->origin = var;
	(*slot)->index = p->func_vars.count - 1;
	symbol->var = *slot;
	return *slot;
}

void name_later(struct parser *p, struct ptx_operand *out, const struct lex_token *word)
{
	out->kind = PTX_LABEL;
	out->label = arena_strndup(&p->module->arena, word->text, word->len);
	out->reg = (unsigned)word->line;
	out->reg2 = (unsigned)word->column;
	if (!out->label) {
		parser_no_memory(p);
	}
}

/* V: what {V.x, V.y} is */
static void parse_vector_name(
	struct parser *p, struct ptx_operand *out, const struct ptx_operand *vector)
{
	out->kind = PTX_VECTOR;
	out->elements = parser_alloc(p, vector->count + 1, sizeof(*out->elements));
	if (out->elements) { /* see parse_operand */
		memcpy(out->elements, vector->elements, vector->count * sizeof(*out->elements));
		out->count = vector->count;
	}
}

void parse_name(struct parser *p, struct ptx_operand *out)
{
	struct lex_token word = p->token;
	if (word.kind != TOKEN_WORD || at_directive(p)) {
		fail_expected(p, "a name");
		return;
	}
	advance(p);
	if (token_is(&word, "_")) {
		out->kind = PTX_SINK;
		return;
	}
	const struct symbol *symbol = symbol_find(p, p->scope, word.text, word.len);
	if (!symbol && word.text[0] == '%') {
		parser_fail_at(p, word.line, word.column, "unknown register '%.*s'",
			word.len < 80 ? (int)word.len : 80, word.text);
	} else if (!symbol || symbol->kind >= SYMBOL_LABEL) {
		name_later(p, out, &word);
	} else if (symbol->kind == SYMBOL_REG) {
		out->kind = PTX_REG;
		out->reg = symbol->index;
	} else if (symbol->kind == SYMBOL_SREG) {
		out->kind = PTX_SREG;
		out->sreg = (enum ptx_sreg)symbol->index;
	} else if (symbol->kind == SYMBOL_FUNC) {
		out->kind = PTX_FUNC;
		out->func = symbol->func;
		p->module->is_separable &= p->op != PTX_OP_MOV;
	} else if (symbol->kind == SYMBOL_VECTOR) {
		parse_vector_name(p, out, symbol->targets);
	} else {
		out->kind = PTX_ADDRESS;
		out->var = parse_own_variable(p, symbol->var);
	}
}

/* + 8, - 8, +-8 after the name in an address */
static void parse_offset(struct parser *p, struct ptx_operand *out)
{
	while (at(p, "+") || at(p, "-")) {
		bool minus = at(p, "-");
		advance(p);
		uint64_t offset = (uint64_t)take_offset(p);
		out->value = (int64_t)((uint64_t)out->value + (minus ? 0 - offset : offset));
	}
}

/* [%rd1+8], [name-4], [16].  True if coordinates follow, as in [%rd1, {%f1}]. */
static bool parse_memory(struct parser *p, struct ptx_operand *out)
{
	if (p->token.kind == TOKEN_WORD) {
		struct lex_token word = p->token;
		parse_name(p, out);
		if (out->kind == PTX_REG) {
			out->has_base = true;
		} else if (out->kind == PTX_LABEL) {
			parser_fail_at(p, word.line, word.column, "unknown variable '%.*s'",
				word.len < 80 ? (int)word.len : 80, word.text);
		} else if (out->kind != PTX_ADDRESS) {
			parser_fail_at(p, word.line, word.column,
				"expected a register, variable or number in [ ], got '%.*s'",
				word.len < 80 ? (int)word.len : 80, word.text);
		}
		out->var = out->kind == PTX_ADDRESS ? out->var : NULL;
		parse_offset(p, out);
	} else {
		out->value = take_offset(p);
	}
	out->kind = PTX_ADDRESS;
	out->bracketed = true;
	bool has_more = accept(p, ",");
	if (!has_more) {
		expect(p, "]");
	}
	return has_more;
}

/* %p|%q: a sink beside a register is a register that is never read. */
static void parse_pair(struct parser *p, struct ptx_operand *out)
{
	struct ptx_operand second = {.kind = PTX_SINK};
	struct ptx_operand *both[] = {out, &second};
	unsigned regs[2] = {0, 0};
	if (out->select[0] || out->negated || out->minus) {
		parser_fail(p, "unexpected '|'");
	}
	parse_name(p, &second);
	for (size_t i = 0; i < 2 && !p->failed; i++) {
		regs[i] = both[i]->reg;
		if (both[i]->kind == PTX_SINK && both[1 - i]->kind == PTX_REG) {
			struct ptx_reg *reg = list_add(p, &p->regs, sizeof(*reg));
			if (reg) {
				*reg = (struct ptx_reg){"_", PTX_PRED};
				regs[i] = (unsigned)(p->regs.count - 1);
			}
		} else if (both[i]->kind != PTX_REG) {
			parser_fail(p, "expected registers around '|'");
		}
	}
	out->kind = PTX_PAIR;
	out->reg = regs[0];
	out->reg2 = regs[1];
}

/* %r1.b0, %r1.h10: a register and the parts of it that a video instruction takes. */
static bool parse_selected(struct parser *p, struct ptx_operand *out)
{
	struct lex_token word = p->token;
	size_t len = word.len;
	while (len > 0 && word.text[len - 1] >= '0' && word.text[len - 1] <= '7') {
		len--;
	}
	size_t digits = word.len - len;
	if (digits == 0 || digits > 4 || len < 3 || word.text[len - 2] != '.'
	    || (word.text[len - 1] != 'b' && word.text[len - 1] != 'h')
	    || symbol_find(p, p->scope, word.text, word.len)) {
		return false;
	}
	const struct symbol *symbol = symbol_find(p, p->scope, word.text, len - 2);
	if (!symbol || symbol->kind != SYMBOL_REG) {
		return false;
	}
	out->kind = PTX_REG;
	out->reg = symbol->index;
	memcpy(out->select, word.text + len - 1, digits + 1);
	advance(p);
	return true;
}

/* -%r1, -%r1.h0 */
static void parse_minus(struct parser *p, struct ptx_operand *out)
{
	if (!parse_selected(p, out)) {
		parse_name(p, out);
	}
	if (out->kind != PTX_REG) {
		parser_fail(p, "expected a register or a number after '-'");
	}
	out->minus = true;
}

static void parse_constant_operand(struct parser *p, struct ptx_operand *out)
{
	struct constant constant;
	parse_constant(p, &constant);
	out->kind = constant.is_real ? PTX_FLOAT : PTX_INT;
	out->value = constant.value;
	if (constant.is_real) {
		out->real = constant.real;
		out->real_bits = constant.real_bits;
		out->real_width = (uint8_t)constant.real_width;
	}
}

/* 2] of name[2], which is an element's address to mov, else its place in memory */
static void parse_index(struct parser *p, struct ptx_operand *out)
{
	struct constant index;
	parse_constant(p, &index);
	if (index.is_real) {
		parser_fail(p, "expected an integer in [ ], got %g", index.real);
	}
	out->value = (int64_t)((uint64_t)index.value * ptx_type_size(out->var->type));
	out->bracketed = p->op != PTX_OP_MOV && p->op != PTX_OP_CVTA;
	expect(p, "]");
}

static void parse_simple(struct parser *p, struct ptx_operand *out)
{
	if (at_constant(p)) {
		parse_constant_operand(p, out);
	} else if (accept(p, "-")) {
		parse_minus(p, out);
	} else if (accept(p, "!")) {
		parse_name(p, out);
		if (out->kind != PTX_REG) {
			parser_fail(p, "expected a register after '!'");
		}
		out->negated = true;
	} else if (p->token.kind == TOKEN_WORD && parse_selected(p, out)) {
		return;
	} else if (p->token.kind == TOKEN_WORD) {
		parse_name(p, out);
		if (out->kind == PTX_ADDRESS && accept(p, "[")) {
			parse_index(p, out);
		} else if (out->kind == PTX_ADDRESS) {
			parse_offset(p, out);
		}
	} else {
		fail_expected(p, "an operand");
	}
}

/* Counted before it is read. */
void parse_vector(struct parser *p, struct ptx_operand *out, const char *end)
{
	struct lexer lexer = p->lexer;
	struct lex_token token = p->token;
	size_t count = 1;
	while (token.kind != TOKEN_END && !token_is(&token, end)) {
		count += token_is(&token, ",");
		if (!lex_next(&lexer, &token, p->diag)) {
			break;
		}
	}
	out->kind = PTX_VECTOR;
	out->elements = parser_alloc(p, count + 1, sizeof(*out->elements)); /* see parse_operand */
	while (!at(p, end) && !p->failed && out->count < count) {
		parse_simple(p, &out->elements[out->count++]);
		if (!at(p, end)) {
			expect(p, ",");
		}
	}
	expect(p, end);
}

bool parse_operand(struct parser *p, struct ptx_operand *out)
{
	bool has_more = false;
	if (accept(p, "{")) {
		parse_vector(p, out, "}");
	} else if (p->op == PTX_OP_CALL && accept(p, "(")) {
		parse_vector(p, out, ")");
	} else if (accept(p, "[")) {
		has_more = parse_memory(p, out);
	} else {
		parse_simple(p, out);
	}
	if (!has_more && accept(p, "|")) {
		if (out->kind == PTX_VECTOR && out->elements) {
			parse_name(p, &out->elements[out->count++]);
		} else {
			parse_pair(p, out);
		}
	}
	return has_more;
}
