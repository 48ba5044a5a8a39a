/* SPDX-License-Identifier: MIT */
/*
 * Parses the outer part of a PTX module: directives and the heads of functions.  parse_var.c parses
 * variables, and parse_body.c parses bodies.  Read parser.h first: a failure ends the text, so
 * nothing here looks at errors.
 *
 * A module may be parsed without its kernels (parse_declarations).  A kernel is then a place in the
 * text, found by its braces, and parse_kernel goes on from there.  A kernel depends on what stands
 * before it in the module, and nothing depends on a kernel, so the result is the same.  Exceptions
 * make the module inseparable, see ptx_module.
 */
#include "base/common.h"

#include "cpu/ptx/parser.h"

#include "base/alloc.h"

#include <string.h>

enum {
	DYNAMIC_ALIGN = 16, /* of dynamic shared memory, at least */
	NEWEST_MAJOR = 9    /* .version of CUDA 13; minor versions add instructions, which are
	                     * refused one by one */
};

/* .maxntid 16, 16, 1: extents that are left out are 1 */
static void parse_ntid(struct parser *p, uint32_t ntid[3])
{
	ntid[0] = ntid[1] = ntid[2] = 1;
	size_t i = 0;
	do {
		uint64_t value = take_int(p);
		if (i == 3 || value > UINT32_MAX) {
			parser_fail(p, "expected at most three 32-bit numbers");
			return;
		}
		ntid[i++] = (uint32_t)value;
	} while (accept(p, ","));
}

static uint32_t parse_register_limit(struct parser *p)
{
	const int line = p->token.line, column = p->token.column;
	const uint64_t limit = take_int(p);
	if (limit == 0 || limit > UINT32_MAX) {
		parser_fail_at(p, line, column, "expected a 32-bit number of registers above zero");
		return 0;
	}
	return (uint32_t)limit;
}

/* What stands between a function's parameters and its body. */
static void parse_tuning(struct parser *p, struct ptx_func *func)
{
	static const char *const numbers[] = {".minnctapersm", ".maxnctapersm",
		".abi_preserve", ".abi_preserve_control"};
	static const char *const clusters[] = {".reqnctapercluster", ".maxclusterrank",
		".explicitcluster", ".blocksareclusters"};
	while (at_directive(p)) {
		size_t i = 0;
		for (; i < countof(clusters) && !at(p, clusters[i]); i++) {
		}
		if (i < countof(clusters)) {
			parser_unsupported(p, "clusters ('%s') are not supported by the CPU device",
				clusters[i]);
		}
		for (i = 0; i < countof(numbers) && !at(p, numbers[i]); i++) {
		}
		if (i < countof(numbers)) {
			advance(p);
			take_int(p);
		} else if (accept(p, ".maxnreg")) {
			func->max_registers = parse_register_limit(p);
		} else if (accept(p, ".maxntid")) {
			parse_ntid(p, func->max_ntid);
		} else if (accept(p, ".reqntid")) {
			parse_ntid(p, func->req_ntid);
		} else if (!accept(p, ".noreturn") && !parse_common(p)) {
			fail_expected(p, "'{', ';' or a performance directive");
		}
	}
}

/* Round up, and add; false when that does not fit. */
static bool parse_place(size_t *end, struct ptx_var *var)
{
	size_t start;
	if (!size_add(&start, *end, var->align - 1)) {
		return false;
	}
	var->offset = start & ~(var->align - 1);
	return size_add(end, var->offset, var->size) && *end <= PTRDIFF_MAX;
}

/* Offsets of the body's variables, in order of declaration; dynamic shared memory comes last. */
static void parse_lay_out(struct parser *p, struct ptx_func *func)
{
	bool ok = true;
	size_t dynamic_align = DYNAMIC_ALIGN;
	size_t local_align = 1;
	for (size_t i = 0; i < func->var_count; i++) {
		struct ptx_var *var = func->vars[i];
		if (var->space != PTX_SHARED) {
			ok = ok && parse_place(&func->local_size, var);
			local_align = var->align > local_align ? var->align : local_align;
		} else if (!ptx_is_dynamic(var)) {
			ok = ok && parse_place(&func->shared_size, var);
		} else {
			func->uses_dynamic_shared = true;
			dynamic_align = var->align > dynamic_align ? var->align : dynamic_align;
		}
	}
	if (!ok || func->shared_size > PTRDIFF_MAX) {
		parser_fail_at(p, func->line, 1, "the variables of '%.80s' do not fit", func->name);
		return;
	}
	func->local_size = round_up(func->local_size, local_align);
	if (func->uses_dynamic_shared) {
		func->shared_size = round_up(func->shared_size, dynamic_align);
	}
	for (size_t i = 0; i < func->var_count; i++) {
		if (ptx_is_dynamic(func->vars[i])) {
			func->vars[i]->offset = func->shared_size;
		}
	}
}

static void parse_definition(struct parser *p, struct ptx_func *func)
{
	p->func = func;
	p->func_scope = p->scope;
	p->loc = NULL;
	memset(p->locs, 0, sizeof(p->locs));
	parse_body(p);
	func->regs = list_keep(p, &p->regs, sizeof(*func->regs), &func->reg_count);
	func->insts = list_keep(p, &p->insts, sizeof(*func->insts), &func->inst_count);
	func->labels = list_keep(p, &p->labels, sizeof(*func->labels), &func->label_count);
	func->vars = list_keep(p, &p->func_vars, sizeof(*func->vars), &func->var_count);
	if (!p->failed) {
		parse_lay_out(p, func);
	}
	p->func = NULL;
}

/* A function by name: a new one, or the one that was declared before without a body. */
static struct ptx_func *parse_add_function(struct parser *p, const char *name)
{
	const struct symbol *old = name ? map_get(&p->global->names, name) : NULL;
	if (p->kernel) {
		return p->kernel;
	}
	if (old && old->func && old->func->is_extern) {
		return old->func;
	}
	struct symbol *symbol = symbol_add(p, p->global, name, SYMBOL_FUNC);
	struct ptx_func **slot = list_add(p, &p->funcs, sizeof(*slot));
	if (!symbol || !slot || !(*slot = parser_alloc(p, 1, sizeof(**slot)))) {
		return NULL;
	}
	(*slot)->index = p->funcs.count - 1;
	symbol->func = *slot;
	return *slot;
}

/* What kernels have no part in, if each can be read by itself. */
static size_t parse_count_global(const struct parser *p)
{
	return p->vars.count + p->shared.count + p->files.count;
}

/* After .entry or .func */
static void parse_function(struct parser *p, bool is_entry)
{
	struct ptx_func from = {.is_entry = is_entry, .is_extern = true};
	size_t return_size, before = parse_count_global(p);
	const struct parse_scope *last = p->newest;
	scope_enter(p);
	if (!is_entry && at(p, "(")) {
		from.returns = parse_params(p, false, &from.return_count, &return_size);
	}
	from.line = p->token.line;
	from.name = take_name(p);
	struct ptx_func *old = parse_add_function(p, from.name);
	if (at(p, "(")) {
		from.params = parse_params(p, is_entry, &from.param_count, &from.param_size);
	}
	parse_tuning(p, &from);
	if (old && !p->failed) {
		bool has_body = !accept(p, ";");
		from.index = old->index;
		from.late = old->late;
		*old = from;
		old->is_extern = !has_body;
		if (has_body) {
			expect(p, "{");
			parse_definition(p, old);
		}
	}
	p->regs.count = 0; /* those of a declaration's parameters */
	scope_leave(p);
	scope_free(p, last);
	p->module->is_separable &= !is_entry || parse_count_global(p) == before;
}

/* After .entry: read the name, and pass over the rest. */
static void parse_late(struct parser *p)
{
	struct lexer *late = parser_alloc(p, 1, sizeof(*late));
	if (!late) {
		return;
	}
	*late = (struct lexer){p->token.text, p->lexer.end, p->token.text - (p->token.column - 1),
		p->token.line};
	const char *name = take_name(p);
	struct ptx_func *func = parse_add_function(p, name);
	while (!at_end(p) && !at(p, "{") && !at(p, ";")) {
		advance(p);
	}
	if (!func) {
		return;
	}
	bool has_body = at(p, "{");
	*func = (struct ptx_func){.name = name, .is_entry = true, .is_extern = !has_body,
		.index = func->index, .line = late->line, .late = late};
	if (has_body && !lex_skip_block(&p->lexer, p->diag)) {
		parser_fail(p, "expected a body");
	}
	if (has_body) {
		advance(p);
	} else {
		expect(p, ";");
	}
}

/* .version 9.0 */
static void parse_version(struct parser *p)
{
	expect(p, ".version");
	const char *text = p->token.text;
	const char *point = p->token.kind == TOKEN_FLOAT ? memchr(text, '.', p->token.len) : NULL;
	if (!point || point - text > 3 || text + p->token.len - point != 2) {
		fail_expected(p, "a PTX version such as 8.0");
		return;
	}
	int major = 0;
	for (; text < point; text++) {
		major = major * 10 + (*text - '0');
	}
	if (major > NEWEST_MAJOR) {
		parser_fail(p, "PTX version %d.%c is newer than this driver, which knows %d.x",
			major, point[1], NEWEST_MAJOR);
		p->diag->newer = true;
		return;
	}
	p->module->version = major * 10 + (point[1] - '0');
	advance(p);
}

/* .target sm_90a, debug */
static void parse_target(struct parser *p)
{
	int target = 0;
	const char *digit = p->token.text;
	const char *end = digit + p->token.len;
	if (p->token.kind != TOKEN_WORD || p->token.len < 4 || memcmp(digit, "sm_", 3) != 0) {
		fail_expected(p, "a target such as sm_75");
		return;
	}
	for (digit += 3; digit < end && *digit >= '0' && *digit <= '9' && target < 10000; digit++) {
		target = target * 10 + (*digit - '0');
	}
	p->module->target = target;
	advance(p);
	while (accept(p, ",")) {
		take_name(p);
	}
}

static void parse_address_size(struct parser *p)
{
	if (p->token.kind == TOKEN_INT && p->token.value == 64) {
		advance(p);
	} else {
		fail_expected(p, "64, the only address size that the CPU device has");
	}
}

/* .visible .global ..., .entry ..., .func ...; false if it is none of these. */
static bool parse_definition_or_variable(struct parser *p)
{
	static const struct {
		const char *word;
		enum ptx_space space;
	} spaces[] = {{".const", PTX_CONST}, {".global", PTX_GLOBAL}, {".shared", PTX_SHARED},
		{".local", PTX_LOCAL}};
	bool is_extern = false, is_visible = false, prefix = true;
	while (prefix) {
		is_extern |= at(p, ".extern");
		is_visible |= at(p, ".visible") || at(p, ".weak") || at(p, ".common");
		prefix = accept(p, ".extern") || accept(p, ".visible") || accept(p, ".weak")
			|| accept(p, ".common");
	}
	for (size_t i = 0; i < countof(spaces); i++) {
		if (accept(p, spaces[i].word)) {
			parse_variables(p, spaces[i].space, is_extern, is_visible);
			return true;
		}
	}
	if (accept(p, ".entry")) {
		if (p->defers) {
			parse_late(p);
		} else {
			parse_function(p, true);
		}
	} else if (accept(p, ".func")) {
		parse_function(p, false);
	} else {
		return false;
	}
	return true;
}

/* .alias g, f; */
static void parse_alias(struct parser *p)
{
	struct alias alias = {.line = p->token.line};
	alias.name = take_name(p);
	expect(p, ",");
	alias.target = take_name(p);
	expect(p, ";");
	struct alias *slot = list_add(p, &p->aliases, sizeof(*slot));
	if (slot) {
		*slot = alias;
	}
}

static bool parse_same_sizes(struct ptx_var *const *a, struct ptx_var *const *b, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (a[i]->size != b[i]->size || a[i]->align != b[i]->align
		    || a[i]->is_register != b[i]->is_register) {
			return false;
		}
	}
	return true;
}

/* A function that was declared gets the body of another one. */
static void parse_settle_alias(struct parser *p, const struct alias *alias)
{
	const struct symbol *name = map_get(&p->global->names, alias->name);
	const struct symbol *target = map_get(&p->global->names, alias->target);
	if (!name || !name->func || !name->func->is_extern || name->func->is_entry) {
		parser_fail_at(p, alias->line, 1,
			"'%.80s' is not a function that is declared without a body",
			alias->name);
		return;
	}
	if (!target || !target->func || target->func->is_extern || target->func->is_entry) {
		parser_fail_at(p, alias->line, 1, "'%.80s' is not a function that has a body",
			alias->target);
		return;
	}
	struct ptx_func *to = name->func;
	const struct ptx_func *from = target->func;
	if (to->param_count != from->param_count || to->return_count != from->return_count
	    || !parse_same_sizes(to->params, from->params, to->param_count)
	    || !parse_same_sizes(to->returns, from->returns, to->return_count)) {
		parser_fail_at(p, alias->line, 1, "'%.80s' and '%.80s' have different parameters",
			alias->name, alias->target);
		return;
	}
	size_t index = to->index;
	*to = *from;
	to->name = alias->name;
	to->index = index;
}

static void parse_top(struct parser *p)
{
	while (!at_end(p)) {
		if (accept(p, ".target")) {
			parse_target(p);
		} else if (accept(p, ".address_size")) {
			parse_address_size(p);
		} else if (accept(p, ".alias")) {
			parse_alias(p);
		} else if (!parse_common(p)) {
			if (!p->module->target) {
				fail_expected(p, "'.target'");
			} else if (!parse_definition_or_variable(p)) {
				fail_expected(p, "a directive");
			}
		}
	}
	if (!p->module->target) {
		fail_expected(p, "'.target'");
	}
	const struct alias *aliases = p->aliases.data;
	for (size_t i = 0; i < p->aliases.count && !p->failed; i++) {
		parse_settle_alias(p, &aliases[i]);
	}
}

static void parse_add_special_registers(struct parser *p)
{
	static const char *const names[] = {
#define X(name, spelling, type) spelling,
		PTX_SREGS(X)
#undef X
	};
	for (unsigned i = 0; i < countof(names); i++) {
		struct symbol *symbol = symbol_add(p, p->global, names[i], SYMBOL_SREG);
		if (symbol) {
			symbol->index = i;
		}
	}
	add_special_vectors(p);
}

static bool parse_text(struct ptx_module *out, const char *text, size_t size, struct hash hash,
	bool defers, struct ptx_diag *diag)
{
	struct parser *p = mem_zalloc(1, sizeof(*p));
	*out = (struct ptx_module){.arena = ARENA_INIT, .text_hash = hash, .text_size = size,
		.is_separable = true, .parser = p};
	if (!p) {
		return ptx_no_memory(diag);
	}
	p->module = out;
	p->diag = diag;
	p->text = text;
	p->defers = defers;
	p->limit = SIZE_MAX;
	lex_init(&p->lexer, text, size);
	p->token.line = 1;
	scope_enter(p);
	p->global = p->scope;
	if (!p->failed) {
		parse_add_special_registers(p);
	}
	advance(p);
	parse_version(p);
	parse_top(p);
	out->vars = list_keep(p, &p->vars, sizeof(*out->vars), &out->var_count);
	out->shared = list_keep(p, &p->shared, sizeof(*out->shared), &out->shared_count);
	out->funcs = list_keep(p, &p->funcs, sizeof(*out->funcs), &out->func_count);
	out->files = list_keep(p, &p->files, sizeof(*out->files), &out->file_count);
	out->sections = list_keep(p, &p->sections, sizeof(*out->sections), &out->section_count);
	bool ok = !p->failed;
	if (!ok) {
		parse_free(out);
	} else if (!defers) {
		parser_free(p);
		out->parser = NULL;
	}
	return ok;
}

bool parse_module(struct ptx_module *out, const char *text, size_t size, struct ptx_diag *diag)
{
	return parse_text(out, text, size, hash_of(text, size), false, diag);
}

bool parse_declarations(struct ptx_module *out, const char *text, size_t size, struct hash hash,
	struct ptx_diag *diag)
{
	return parse_text(out, text, size, hash, true, diag);
}

bool parse_kernel(struct ptx_module *module, struct ptx_func *kernel, struct ptx_diag *diag)
{
	struct parser *p = module->parser;
	const struct parse_scope *last = p->newest;
	p->diag = diag;
	p->lexer = *kernel->late;
	p->limit = (size_t)(p->lexer.next - p->text);
	p->kernel = kernel;
	advance(p);
	parse_function(p, true);
	bool ok = !p->failed;
	p->failed = false;
	p->kernel = NULL;
	/* nothing may be left of one that failed */
	p->scope = p->global;
	scope_free(p, last);
	struct parse_list *lists[] = {&p->params, &p->relocs, &p->regs, &p->func_vars, &p->insts,
		&p->labels, &p->fixups};
	for (size_t i = 0; i < countof(lists); i++) {
		lists[i]->count = 0;
	}
	return ok;
}

void parse_free(struct ptx_module *module)
{
	parser_free(module->parser);
	arena_free(&module->arena);
	arena_free(&module->opcodes);
	*module = (struct ptx_module){.arena = ARENA_INIT};
}
