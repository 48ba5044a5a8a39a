/* SPDX-License-Identifier: MIT */
/*
 * Parses declarations of variables and parameters.  An initializer is written straight into the
 * bytes of the variable, at a cursor.  A closing brace moves the cursor to the end of what it
 * closes.  An address leaves zeros and a relocation.  Sizes are checked before anything is
 * allocated.
 */
#include "base/common.h"

#include "cpu/ptx/parser.h"

#include <string.h>

enum {
	MAX_DIMS = 8,
	MAX_ALIGN = 1 << 12, /* a page, which is what a launch's parameters begin at */
	MAX_RANGE = 1 << 12, /* x<4096> */
	MAX_INIT = 1 << 30 /* bytes of a variable that has an initializer */
};

/* The part of a declaration before the name. */
struct var_declaration {
	enum ptx_space space;
	enum ptx_type type;
	size_t align;
	size_t vector; /* elements of .v2 .v4 */
	bool is_managed;
};

struct shape {
	size_t dims[MAX_DIMS];
	size_t count;
	bool is_open; /* the first is [] */
};

static size_t var_take_align(struct parser *p)
{
	int line = p->token.line, column = p->token.column;
	uint64_t align = take_int(p);
	if (align == 0 || (align & (align - 1)) != 0 || align > MAX_ALIGN) {
		parser_fail_at(p, line, column,
			"expected an alignment of 1, 2, 4, ... %d, got %llu", MAX_ALIGN,
			(unsigned long long)align);
		return 1;
	}
	return (size_t)align;
}

/* .ptr .global .align 16: what a pointer parameter points at; nothing that we use. */
static void var_parse_pointee(struct parser *p)
{
	static const char *const spaces[] = {".const", ".global", ".local", ".shared", ".generic"};
	for (size_t i = 0; i < countof(spaces) && !accept(p, spaces[i]); i++) {
	}
	if (accept(p, ".align")) {
		var_take_align(p);
	}
}

/* .attribute(.managed), .attribute(.unified(1, 2)) */
static void var_parse_attribute(struct parser *p, struct var_declaration *d)
{
	expect(p, "(");
	for (size_t depth = 1; depth > 0 && !at_end(p);) {
		if (at(p, "{") || at(p, "}")) {
			fail_expected(p, "')'");
		}
		d->is_managed |= at(p, ".managed");
		depth += at(p, "(");
		depth -= at(p, ")");
		advance(p);
	}
}

static void var_parse_qualifiers(struct parser *p, struct var_declaration *d)
{
	while (at_directive(p)) {
		if (accept(p, ".align")) {
			d->align = var_take_align(p);
		} else if (accept(p, ".ptr")) {
			var_parse_pointee(p);
		} else if (accept(p, ".attribute")) {
			var_parse_attribute(p, d);
		} else if (accept(p, ".v2")) {
			d->vector = 2;
		} else if (accept(p, ".v4")) {
			d->vector = 4;
		} else if (at(p, ".texref") || at(p, ".samplerref") || at(p, ".surfref")) {
			parser_unsupported(p,
				"'%.*s' variables are not supported by the CPU device",
				(int)p->token.len, p->token.text);
		} else {
			d->type = take_type(p);
		}
	}
	if (!d->type) {
		fail_expected(p, "a type");
	} else if (d->type == PTX_PRED || !ptx_type_is_stored(d->type)) {
		parser_fail(p, "a variable in memory cannot have type '.%s'",
			ptx_type_name(d->type));
	}
}

/* How many elements the first dimension of `x[][4] = { ... }` has: a look ahead at the commas
 * after the '='.  A failure of the lexer is left to the parser, which comes to the same place. */
static size_t var_count_open(struct lexer lexer, size_t inner)
{
	struct lex_token token = {.kind = TOKEN_END};
	struct ptx_diag ignored;
	size_t depth = 0, items = 0;
	bool nested = false, pending = false;
	while (lex_next(&lexer, &token, &ignored) && token.kind != TOKEN_END) {
		bool open = token_is(&token, "{"), close = token_is(&token, "}");
		if (depth == 1 && (close || token_is(&token, ","))) {
			items += pending;
			pending = false;
		} else if (depth > 0) {
			nested |= depth == 1 && open;
			pending = true;
		}
		depth += open;
		if (depth == 0 || (close && --depth == 0)) {
			break;
		}
	}
	return nested || inner == 0 ? items : items / inner + (items % inner != 0);
}

static void var_parse_dims(struct parser *p, struct shape *shape)
{
	while (accept(p, "[")) {
		if (shape->count == MAX_DIMS) {
			parser_fail(p, "more than %d dimensions", MAX_DIMS);
			return;
		}
		if (shape->count == 0 && at(p, "]")) {
			shape->is_open = true;
		} else {
			shape->dims[shape->count] = (size_t)take_int(p);
		}
		shape->count++;
		expect(p, "]");
	}
}

/* Bytes of the dimensions from `first` on; *ok is cleared when they do not fit. */
static size_t var_shape_size(const struct shape *shape, size_t first, size_t element, bool *ok)
{
	size_t size = element;
	for (size_t i = first; i < shape->count; i++) {
		*ok = *ok && size_mul(&size, size, shape->dims[i]);
	}
	*ok = *ok && size <= PTRDIFF_MAX;
	return size;
}

/* The bits of a float of that type; exact ones as they are. */
static uint64_t var_float_bits(const struct constant *constant, unsigned bits)
{
	double real = constant->is_real ? constant->real : constant->is_unsigned
		? (double)(uint64_t)constant->value : (double)constant->value;
	float narrow = (float)real;
	uint64_t value = 0;
	if (constant->real_width == bits) {
		value = constant->real_bits;
	} else if (bits == 64) {
		memcpy(&value, &real, sizeof(real));
	} else {
		memcpy(&value, &narrow, sizeof(narrow));
	}
	return value;
}

/* A number, as the bits that an element of the type has. */
static uint64_t var_take_value(struct parser *p, enum ptx_type type)
{
	int line = p->token.line, column = p->token.column;
	unsigned bits = ptx_type_bits(type);
	char class = ptx_type_class(type);
	struct constant constant = {.is_real = false};
	bool is_constant = at_constant(p);
	if (is_constant) {
		parse_constant(p, &constant);
	} else {
		fail_expected(p, "an initializer of the variable's type");
	}
	if (!constant.is_real && class != 'f') {
		return (uint64_t)constant.value;
	}
	bool fits = bits == 64 ? constant.real_width != 32 : bits == 32;
	if (!fits || (class != 'f' && class != 'b')) {
		parser_fail_at(p, line, column,
			"expected an initializer of the variable's type, got %s",
			constant.is_real ? "a floating-point constant" : "an integer");
	}
	return var_float_bits(&constant, bits);
}

/* name, name+8, generic(name)+8: `shift` and `size` say which part of it. */
static void var_parse_address(struct parser *p, size_t offset, unsigned shift, unsigned size)
{
	bool generic = accept(p, "generic");
	if (generic) {
		expect(p, "(");
	}
	const struct symbol *symbol = NULL;
	if (p->token.kind == TOKEN_WORD) {
		symbol = symbol_find(p, p->scope, p->token.text, p->token.len);
	}
	if (!symbol || (symbol->kind != SYMBOL_VAR && symbol->kind != SYMBOL_FUNC)
	    || (symbol->var && symbol->var->space != PTX_GLOBAL
		&& symbol->var->space != PTX_CONST)) {
		fail_expected(p, "the name of a variable or function");
		return;
	}
	advance(p);
	if (generic) {
		expect(p, ")");
	}
	p->module->is_separable &= !symbol->func;
	int64_t addend = at(p, "-") || accept(p, "+") ? take_offset(p) : 0;
	if (symbol->func && (addend != 0 || generic)) {
		parser_fail(p, "the address of a function stands alone");
	}
	struct ptx_reloc *reloc = list_add(p, &p->relocs, sizeof(*reloc));
	if (reloc) {
		*reloc = (struct ptx_reloc){offset, symbol->var, symbol->func, addend, shift, size};
	}
}

/* 0xff00(name): after the mask, one byte of an address. */
static void var_parse_masked(struct parser *p, struct ptx_var *var, size_t offset, uint64_t mask)
{
	unsigned shift = mask ? (unsigned)__builtin_ctzll(mask) : 0;
	if (mask >> shift != 0xff || shift % 8 != 0 || ptx_type_size(var->type) != 1) {
		parser_fail(p, "a mask takes one byte of an address, for an element of one byte");
	}
	expect(p, "(");
	var_parse_address(p, offset, shift, 1);
	expect(p, ")");
}

static void var_parse_element(struct parser *p, struct ptx_var *var, size_t offset)
{
	size_t size = ptx_type_size(var->type);
	if (p->token.kind == TOKEN_WORD && !at_constant(p)) {
		if (size != 8) {
			parser_unsupported(p,
				"an address in an element of %zu bytes is not supported", size);
		}
		var_parse_address(p, offset, 0, 8);
		return;
	}
	uint64_t value = var_take_value(p, var->type);
	if (at(p, "(")) {
		var_parse_masked(p, var, offset, value);
	} else if (!p->failed) {
		/* little-endian, as the device is */
		memcpy(var->init + offset, &value, size < sizeof(value) ? size : sizeof(value));
	}
}

/* { { 1, 2 }, { 3 } }: each brace stands for one more dimension; what it leaves out is zero. */
static void var_parse_init(struct parser *p, struct ptx_var *var, const struct shape *shape,
	size_t vector)
{
	size_t starts[MAX_DIMS + 1] = {0}, strides[MAX_DIMS + 1] = {0};
	size_t cursor = 0, depth = 0;
	size_t element = ptx_type_size(var->type), levels = shape->count + (vector > 1);
	bool ok = true;
	for (size_t i = 0; i <= shape->count; i++) {
		strides[i] = var_shape_size(shape, i, element * vector, &ok);
	}
	if (var->size > MAX_INIT) {
		parser_fail(p, "an initialized variable of %zu bytes is too large", var->size);
		return;
	}
	var->init = parser_alloc(p, var->size, 1);
	do {
		bool open = at(p, "{");
		size_t need = open && depth < levels ? strides[depth] : element;
		if (!at(p, "}") && (cursor > var->size || need > var->size - cursor)) {
			parser_fail(p, "too many values to initialize '%.80s'", var->name);
		} else if (open && depth == levels + (levels == 0)) {
			parser_fail(p, "too many braces to initialize '%.80s'", var->name);
		} else if (accept(p, "{")) {
			starts[depth++] = cursor;
		} else if (depth > 0 && accept(p, "}")) {
			depth--;
			cursor = starts[depth] + strides[depth];
			accept(p, ",");
		} else {
			var_parse_element(p, var, cursor);
			cursor += element;
			if (depth > 0 && !at(p, "}")) {
				expect(p, ",");
			}
		}
	} while (depth > 0 && !at_end(p));
	var->relocs = list_keep(p, &p->relocs, sizeof(*var->relocs), &var->reloc_count);
}

/* Where the variables of a space in this scope go. */
static struct parse_list *var_list_of(struct parser *p, enum ptx_space space)
{
	if (space == PTX_CONST || space == PTX_GLOBAL) {
		return &p->vars;
	}
	return p->func ? &p->func_vars : space == PTX_SHARED ? &p->shared : NULL;
}

/* The variable of that name: a new one, or the one that was declared .extern before. */
static struct ptx_var *var_add(struct parser *p, const struct ptx_var *from)
{
	struct symbol *old = from->name ? map_get(&p->scope->names, from->name) : NULL;
	struct parse_list *list = var_list_of(p, from->space);
	if (!list) {
		parser_fail(p, "'%.80s' is a local variable outside a function", from->name);
		return NULL;
	}
	if (old && old->var && old->var->space == from->space
	    && (old->var->is_extern || from->is_extern)) {
		size_t index = old->var->index;
		if (!from->is_extern) {
			*old->var = *from;
			old->var->index = index;
		}
		return old->var;
	}
	struct symbol *symbol = symbol_add(p, p->scope, from->name, SYMBOL_VAR);
	struct ptx_var **slot = list_add(p, list, sizeof(*slot));
	if (!symbol || !slot || !(*slot = parser_alloc(p, 1, sizeof(**slot)))) {
		return NULL;
	}
	symbol->var = *slot;
	**slot = *from;
	(*slot)->index = list->count - 1;
	return *slot;
}

/* The name and dimensions; sizes filled in. */
static void var_parse_declarator(struct parser *p, const struct var_declaration *d,
	struct ptx_var *var, struct shape *shape)
{
	size_t element = ptx_type_size(d->type) * d->vector;
	bool ok = true;
	*var = (struct ptx_var){.space = d->space, .type = d->type, .line = p->token.line,
		.is_managed = d->is_managed, .align = d->align > element ? d->align : element};
	int line = p->token.line, column = p->token.column;
	var->name = take_name(p);
	var_parse_dims(p, shape);
	if (shape->is_open && at(p, "=")) {
		shape->dims[0] = var_count_open(p->lexer, var_shape_size(shape, 1, d->vector, &ok));
		shape->is_open = false;
	}
	var->size = var_shape_size(shape, 0, element, &ok);
	if (!ok && !p->failed) {
		parser_fail_at(p, line, column, "the size of '%.80s' does not fit", var->name);
	}
}

/* After the name in x<4>, which declares x0 to x3. */
static void var_add_range(struct parser *p, const struct ptx_var *from)
{
	uint64_t count = take_int(p);
	expect(p, ">");
	if (count == 0 || count > MAX_RANGE) {
		parser_fail(p, "expected 1 to %d variables", MAX_RANGE);
	}
	for (uint64_t i = 0; i < count && !p->failed; i++) {
		struct ptx_var var = *from;
		var.name = arena_printf(&p->module->arena, "%s%llu", from->name,
			(unsigned long long)i);
		if (var.name) {
			var_add(p, &var);
		} else {
			parser_no_memory(p);
		}
	}
}

void parse_variables(struct parser *p, enum ptx_space space, bool is_extern, bool is_visible)
{
	struct var_declaration d = {.space = space, .vector = 1};
	var_parse_qualifiers(p, &d);
	do {
		struct ptx_var from;
		struct shape shape = {.count = 0};
		var_parse_declarator(p, &d, &from, &shape);
		from.is_extern = is_extern;
		from.is_visible = is_visible;
		from.is_argument = space == PTX_PARAM;
		if (!p->failed && from.size == 0 && !is_extern) {
			parser_fail(p, "'%.80s' has no size", from.name);
		}
		if (shape.count == 0 && accept(p, "<")) {
			var_add_range(p, &from);
			continue;
		}
		struct ptx_var *var = p->failed ? NULL : var_add(p, &from);
		if (var && at(p, "=")) {
			if (is_extern || (space != PTX_CONST && space != PTX_GLOBAL)) {
				parser_fail(p, "'%.80s' cannot have an initializer", var->name);
			}
			advance(p);
			var_parse_init(p, var, &shape, d.vector);
		}
	} while (accept(p, ","));
	expect(p, ";");
}

static bool var_is_named(const struct ptx_var *var)
{
	return var->name[0] != '_' || var->name[1] != '\0';
}

/* .u32 a: a formal parameter that is a register of the body.  The number of these, if it is a
 * vector: the others follow. */
static size_t var_parse_formal(struct parser *p, struct ptx_var *var)
{
	size_t count;
	enum ptx_type type = parse_register_type(p, &count);
	size_t size = ptx_type_size(type);
	*var = (struct ptx_var){.space = PTX_PARAM, .type = type, .size = size, .align = size,
		.line = p->token.line, .is_register = true, .in_register = true,
		.reg = (unsigned)p->regs.count};
	if (type == PTX_B128) {
		parser_unsupported(p, "parameters in registers of 128 bits are not supported by the"
			" CPU device");
	}
	var->name = take_name(p);
	if (count > 1 && !p->failed && var_is_named(var)) {
		parse_vector_register(p, var->name, type, count);
		return count;
	}
	for (size_t i = 0; i < count; i++) {
		struct ptx_reg *reg = list_add(p, &p->regs, sizeof(*reg));
		if (reg) {
			*reg = (struct ptx_reg){var->name, type};
		}
	}
	return count;
}

/* The name of a parameter, if it has one. */
static void var_add_name(struct parser *p, struct ptx_var *var)
{
	enum ptx_symbol_kind kind = var->is_register ? SYMBOL_REG : SYMBOL_VAR;
	struct symbol *symbol = var_is_named(var) ? symbol_add(p, p->scope, var->name, kind) : NULL;
	if (symbol && var->is_register) {
		symbol->index = var->reg;
	} else if (symbol) {
		symbol->var = var;
	}
}

/* What a function may have as a parameter, and a kernel not. */
static void var_check_kernel_param(struct parser *p, const struct ptx_var *var,
	const struct var_declaration *d, const struct shape *shape)
{
	const char *what = var->is_register ? "a register"
		: d->vector > 1 ? "a vector" : shape->is_open ? "an array without a size" : NULL;
	if (what && !p->failed) {
		parser_fail(p, "'%.80s' is a parameter of a kernel, which cannot be %s", var->name,
			what);
	}
}

/* After the others.  NULL: no memory, or no place for it. */
static struct ptx_var *var_add_param(struct parser *p, const struct ptx_var *from, size_t *size)
{
	struct ptx_var *var = parser_alloc(p, 1, sizeof(*var));
	struct ptx_var **slot = list_add(p, &p->params, sizeof(*slot));
	if (p->failed || !var || !slot || !from->name) {
		return NULL;
	}
	*var = *from;
	var->offset = round_up(*size, var->align);
	var->index = p->params.count - 1;
	*slot = var;
	if (!size_add(size, var->offset, var->size) || *size > INT32_MAX) {
		parser_fail(p, "the parameters do not fit");
	}
	return var;
}

struct ptx_var **parse_params(struct parser *p, bool is_entry, size_t *count, size_t *size)
{
	*size = 0;
	expect(p, "(");
	while (!at(p, ")") && !at_end(p)) {
		struct var_declaration d = {.space = PTX_PARAM, .vector = 1};
		struct ptx_var from;
		struct shape shape = {.count = 0};
		size_t lanes = 1;
		if (accept(p, ".reg")) {
			lanes = var_parse_formal(p, &from);
		} else {
			expect(p, ".param");
			var_parse_qualifiers(p, &d);
			var_parse_declarator(p, &d, &from, &shape);
		}
		if (is_entry) {
			var_check_kernel_param(p, &from, &d, &shape);
		}
		struct ptx_var *var = var_add_param(p, &from, size);
		if (var && lanes == 1) {
			var_add_name(p, var);
		}
		for (size_t i = 1; i < lanes && var; i++) {
			from.reg++;
			var = var_add_param(p, &from, size);
		}
		if (!var) {
			break;
		}
		if (!at(p, ")")) {
			expect(p, ",");
		}
	}
	expect(p, ")");
	return list_keep(p, &p->params, sizeof(struct ptx_var *), count);
}
