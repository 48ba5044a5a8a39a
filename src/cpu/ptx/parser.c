/* SPDX-License-Identifier: MIT */
/*
 * The tools of the parser: tokens, lists, names.  A register range such as %r<100> is one entry,
 * and each register is made when it is first used, so a large range costs nothing.
 */
#include "base/common.h"

#include "cpu/ptx/parser.h"

#include "base/alloc.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* From now on the text is at its end. */
static void parser_stop(struct parser *p)
{
	p->failed = true;
	p->lexer.next = p->lexer.end;
	p->token.kind = TOKEN_END;
	p->token.len = 0;
}

static void parser_fail_text(struct parser *p, int line, int column, bool unsupported,
	const char *format, va_list args)
{
	char text[sizeof(p->diag->message)];
	if (p->failed) {
		return;
	}
	str_formatv(text, sizeof(text), format, args);
	if (unsupported) {
		ptx_unsupported(p->diag, line, column, "%s", text);
	} else {
		ptx_fail(p->diag, line, column, "%s", text);
	}
	parser_stop(p);
}

void parser_fail(struct parser *p, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	parser_fail_text(p, p->token.line, p->token.column, false, format, args);
	va_end(args);
}

void parser_fail_at(struct parser *p, int line, int column, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	parser_fail_text(p, line, column, false, format, args);
	va_end(args);
}

void parser_fail_unknown(struct parser *p, int line, int column, const char *message)
{
	const int version = p->module->version;
	if (version <= PTX_NEWEST_VERSION) {
		parser_fail_at(p, line, column, "%s", message);
	} else if (!p->failed) {
		ptx_unsupported(p->diag, line, column, "%.180s; the text is PTX %d.%d, of which "
			"the CPU device knows what is in PTX %d.%d and little more", message,
			version / 10, version % 10, PTX_NEWEST_VERSION / 10,
			PTX_NEWEST_VERSION % 10);
		parser_stop(p);
	}
}

void parser_unsupported(struct parser *p, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	parser_fail_text(p, p->token.line, p->token.column, true, format, args);
	va_end(args);
}

void parser_no_memory(struct parser *p)
{
	if (!p->failed) {
		ptx_no_memory(p->diag);
		parser_stop(p);
	}
}

void parser_free(struct parser *p)
{
	if (!p) {
		return;
	}
	while (p->newest) {
		map_free(&p->newest->names);
		p->newest = p->newest->previous;
	}
	while (p->spare_count > 0) {
		map_free(&p->spares[--p->spare_count]);
	}
	map_free(&p->opcodes);
	struct parse_list *lists[] = {&p->vars, &p->shared, &p->funcs, &p->files,
		&p->sections, &p->params, &p->relocs, &p->aliases, &p->regs, &p->func_vars,
		&p->insts, &p->labels, &p->fixups};
	for (size_t i = 0; i < countof(lists); i++) {
		mem_free(lists[i]->data);
	}
	mem_free(p);
}

void advance(struct parser *p)
{
	if (!p->failed && !lex_next(&p->lexer, &p->token, p->diag)) {
		parser_stop(p);
	}
}

void fail_expected(struct parser *p, const char *what)
{
	if (at_end(p)) {
		parser_fail(p, "expected %s, got the end of the text", what);
	} else {
		parser_fail(p, "expected %s, got '%.*s'", what,
			p->token.len < 60 ? (int)p->token.len : 60, p->token.text);
	}
}

void fail_expected_mark(struct parser *p, const char *text)
{
	char what[32];
	snprintf(what, sizeof(what), "'%s'", text);
	fail_expected(p, what);
}

char *take_name(struct parser *p)
{
	if (p->token.kind != TOKEN_WORD || p->token.text[0] == '.') {
		fail_expected(p, "a name");
		return NULL;
	}
	char *name = arena_strndup(&p->module->arena, p->token.text, p->token.len);
	p->name_line = p->token.line;
	p->name_column = p->token.column;
	p->name_at = (size_t)(p->token.text - p->text);
	if (!name) {
		parser_no_memory(p);
	}
	advance(p);
	return name;
}

uint64_t take_int(struct parser *p)
{
	uint64_t value = p->token.value;
	if (p->token.kind != TOKEN_INT) {
		fail_expected(p, "an integer");
		return 0;
	}
	advance(p);
	return value;
}

enum ptx_type take_type(struct parser *p)
{
	enum ptx_type type = PTX_NONE;
	if (at_directive(p)) {
		type = ptx_type_find(p->token.text + 1, p->token.len - 1);
	}
	if (type) {
		advance(p);
	} else {
		fail_expected(p, "a type");
	}
	return type;
}

void skip_past(struct parser *p, const char *end)
{
	while (!at_end(p) && !at(p, end)) {
		advance(p);
	}
	expect(p, end);
}

void *parser_alloc(struct parser *p, size_t count, size_t size)
{
	void *memory = arena_alloc(&p->module->arena, count, size);
	if (!memory) {
		parser_no_memory(p);
	}
	return memory;
}

void *list_add(struct parser *p, struct parse_list *list, size_t size)
{
	void *data = mem_grow(list->data, list->count, &list->cap, size);
	if (!data) {
		parser_no_memory(p);
		return NULL;
	}
	list->data = data;
	void *element = (char *)list->data + list->count++ * size;
	return memset(element, 0, size);
}

void *list_keep(struct parser *p, struct parse_list *list, size_t size, size_t *count)
{
	*count = 0;
	if (list->count == 0) {
		return NULL;
	}
	void *copy = parser_alloc(p, list->count, size);
	if (copy) {
		memcpy(copy, list->data, list->count * size);
		*count = list->count;
	}
	list->count = 0;
	return copy;
}

void scope_enter(struct parser *p)
{
	struct parse_scope *scope = parser_alloc(p, 1, sizeof(*scope));
	if (scope) {
		*scope = (struct parse_scope){.outer = p->scope, .previous = p->newest};
		if (p->spare_count > 0) {
			scope->names = p->spares[--p->spare_count];
		}
		p->scope = scope;
		p->newest = scope;
	}
}

void scope_leave(struct parser *p)
{
	if (p->scope->outer) {
		p->scope = p->scope->outer;
	}
}

void scope_free(struct parser *p, const struct parse_scope *last)
{
	while (p->newest != last) {
		struct map *names = &p->newest->names;
		if (p->spare_count < countof(p->spares) && map_clear(names)) {
			p->spares[p->spare_count++] = *names;
		} else {
			map_free(names);
		}
		p->newest = p->newest->previous;
	}
}

static struct symbol *parser_put_symbol(struct parser *p, struct parse_scope *scope,
	const char *name, enum ptx_symbol_kind kind)
{
	struct symbol *symbol = parser_alloc(p, 1, sizeof(*symbol));
	if (!symbol || !map_put(&scope->names, name, symbol)) {
		parser_no_memory(p);
		return NULL;
	}
	symbol->kind = kind;
	symbol->line = p->name_line;
	symbol->at = p->name_at;
	return symbol;
}

struct symbol *symbol_add(struct parser *p, struct parse_scope *scope, const char *name,
	enum ptx_symbol_kind kind)
{
	if (!name || p->failed) {
		return NULL;
	}
	const struct symbol *old = map_get(&scope->names, name);
	if (old && old->kind == SYMBOL_SREG) {
		parser_fail_at(p, p->name_line, p->name_column, "'%.80s' is a special register",
			name);
		return NULL;
	}
	if (old) {
		size_t len = strcspn(name, "<"); /* of a range */
		parser_fail_at(p, p->name_line, p->name_column,
			"'%.*s' is already defined on line %d", len < 80 ? (int)len : 80, name,
			old->line);
		return NULL;
	}
	return parser_put_symbol(p, scope, name, kind);
}

/* Whether the range has the register: its name, and a number below the count as one writes it. */
static bool parser_range_has(const struct parse_range *range, const char *name, size_t len)
{
	enum { MOST_DIGITS = 10 };
	const char *digits = name + range->len;
	uint64_t number = 0;
	if (len <= range->len || len - range->len > MOST_DIGITS
	    || digits[-1] != range->name[range->len - 1]
	    || memcmp(name, range->name, range->len) != 0
	    || (digits[0] == '0' && len > range->len + 1)) {
		return false;
	}
	for (; digits < name + len; digits++) {
		if (*digits < '0' || *digits > '9') {
			return false;
		}
		number = number * 10 + (uint64_t)(*digits - '0');
	}
	return number < range->count;
}

/* The range of a scope that has the register: %r<100> for %r12, but %r1<5> before it. */
static const struct parse_range *parser_range_of(const struct parse_scope *scope, const char *name,
	size_t len)
{
	const struct parse_range *best = NULL;
	for (const struct parse_range *range = scope->ranges; range; range = range->next) {
		if ((!best || range->len > best->len) && parser_range_has(range, name, len)) {
			best = range;
		}
	}
	return best;
}

/* A register of a range, made at its first use. */
static struct symbol *parser_find_range(struct parser *p, struct parse_scope *scope,
	const char *name, size_t len)
{
	const struct parse_range *range = parser_range_of(scope, name, len);
	if (!range) {
		return NULL;
	}
	struct ptx_reg *reg = list_add(p, &p->regs, sizeof(*reg));
	const char *copy = arena_strndup(&p->module->arena, name, len);
	if (!reg || !copy) {
		parser_no_memory(p);
		return NULL;
	}
	*reg = (struct ptx_reg){copy, range->type};
	struct symbol *symbol = parser_put_symbol(p, scope, copy, SYMBOL_REG);
	if (symbol) {
		symbol->index = (unsigned)(p->regs.count - 1);
	}
	return symbol;
}

struct symbol *symbol_find(struct parser *p, struct parse_scope *scope, const char *name,
	size_t len)
{
	for (; scope; scope = scope->outer) {
		struct symbol *symbol = map_getn(&scope->names, name, len);
		if (!symbol) {
			symbol = parser_find_range(p, scope, name, len);
		}
		if (symbol && (scope != p->global || symbol->at <= p->limit)) {
			return symbol;
		}
	}
	return NULL;
}
