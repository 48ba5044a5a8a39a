/* SPDX-License-Identifier: MIT */
/*
 * Compares operands with the opcode table.  The string of a row says for each operand what it may
 * be and which type it has.  check_operand follows that string letter by letter.
 *
 * Types follow the PTX ISA.  A register fits an instruction's type of the same size if one of the
 * two is untyped, or both are integers, or they are equal.  A register of two halves counts as
 * untyped where an integer is wanted.  ld, st and cvt ('>') also take wider registers, by the same
 * rule.
 */
#include "base/common.h"

#include "base/str.h"
#include "cpu/ptx/checker.h"
#include "cpu/ptx/ptx_mma.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One operand of a row. */
struct want {
	char letter;
	enum ptx_type type;
	bool wider;
	bool optional;
	bool selects;
	bool minus;
	size_t number; /* from 1 */
};

bool check_fail(struct checker *c, const char *format, ...)
{
	char text[200];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return ptx_fail(c->diag, c->inst->line, c->inst->column, "%s", text);
}

/* What an operand is, in words. */
static void check_describe(struct checker *c, const struct ptx_operand *o, char text[static 96])
{
	static const char *const sregs[] = {
#define X(name, spelling, type) spelling,
		PTX_SREGS(X)
#undef X
	};
	const size_t size = 96;
	const struct ptx_reg *regs = c->func->regs;
	switch (o->kind) {
	case PTX_REG:
		snprintf(text, size, "%s%.60s (%s)", o->negated ? "!" : o->minus ? "-" : "",
			regs[o->reg].name,
			ptx_type_name(regs[o->reg].type));
		break;
	case PTX_PAIR:
		snprintf(text, size, "%.40s|%.40s", regs[o->reg].name, regs[o->reg2].name);
		break;
	case PTX_INT:
		snprintf(text, size, "%lld", (long long)o->value);
		break;
	case PTX_FLOAT:
		str_format(text, size, "the floating-point constant %g", o->real);
		break;
	case PTX_SREG:
		snprintf(text, size, "special register %s", sregs[o->sreg]);
		break;
	case PTX_ADDRESS:
		snprintf(text, size, "%s%.60s", o->bracketed ? "memory at " : "variable ",
			o->var ? o->var->name : o->has_base ? regs[o->reg].name : "a number");
		break;
	case PTX_LABEL:
		snprintf(text, size, "label %.60s", o->label);
		break;
	case PTX_FUNC:
		snprintf(text, size, "function %.60s", o->func->name);
		break;
	case PTX_VECTOR:
		snprintf(text, size, "a list of %zu", o->count);
		break;
	case PTX_SINK:
		snprintf(text, size, "_");
		break;
	}
}

static bool check_fail_operand(struct checker *c, const struct want *w, const struct ptx_operand *o,
	const char *expected)
{
	char got[96];
	check_describe(c, o, got);
	return check_fail(c, "operand %zu of '%.60s': expected %s, got %s", w->number,
		c->inst->text, expected, got);
}

static bool check_is_integer(char class)
{
	return class == 'u' || class == 's' || class == 'b';
}

static bool check_type_fits(enum ptx_type wanted, enum ptx_type reg, bool wider)
{
	char w = ptx_type_class(wanted), r = ptx_type_class(reg);
	if (wanted == reg) {
		return true;
	}
	if (w == 'p' || r == 'p') {
		return false;
	}
	bool size = ptx_type_bits(wanted) == ptx_type_bits(reg)
		|| (wider && ptx_type_bits(reg) > ptx_type_bits(wanted));
	r = r == 'h' && check_is_integer(w) ? 'b' : r;
	return size && (w == 'b' || r == 'b' || (check_is_integer(w) && check_is_integer(r)));
}

static bool check_reg(struct checker *c, const struct want *w, const struct ptx_operand *o,
	enum ptx_type type)
{
	bool may_negate = w->letter == 'q' || (type == PTX_PRED && strchr("az", w->letter));
	char expected[64];
	if (o->select[0] && !w->selects) {
		return check_fail_operand(c, w, o, "a register without '.b' or '.h'");
	}
	if (o->minus && !w->minus) {
		return check_fail_operand(c, w, o, "a register without '-'");
	}
	if (o->kind == PTX_REG && (!o->negated || may_negate)
	    && check_type_fits(type, c->func->regs[o->reg].type, w->wider)) {
		return true;
	}
	bool source = strchr("asycgkq", w->letter);
	const char *name = ptx_type_name(type); /* an f32, an s64, a u32 */
	snprintf(expected, sizeof(expected), "%s %s%s register%s",
		name[0] == 'f' || name[0] == 's' ? "an" : "a", name,
		w->wider && ptx_type_class(type) != 'f' ? " or wider" : "",
		source ? " or constant" : "");
	return check_fail_operand(c, w, o, expected);
}

static bool check_constant_fits(const struct ptx_operand *o, enum ptx_type type)
{
	char class = ptx_type_class(type);
	if (o->kind == PTX_INT) {
		return class == 'p' || check_is_integer(class);
	}
	if (class == 'b') {
		return o->real_width == ptx_type_bits(type);
	}
	return type == PTX_F32 || type == PTX_F64;
}

/* A register or a constant. */
static bool check_source(struct checker *c, const struct want *w, const struct ptx_operand *o,
	enum ptx_type type)
{
	bool constant = o->kind == PTX_INT || o->kind == PTX_FLOAT;
	return (constant && check_constant_fits(o, type)) || check_reg(c, w, o, type);
}

size_t checker_vector(const struct ptx_inst *inst)
{
	return ptx_has(&inst->mods, PTX_MOD_V2) ? 2 : ptx_has(&inst->mods, PTX_MOD_V4) ? 4
		: ptx_has(&inst->mods, PTX_MOD_V8) ? 8 : 1;
}

/* In `st [a], x + 4` and `add.s64 d, a, x + 4` an operand is a sum; ptxas takes no address that
 * stands alone. */
static bool check_is_sum(const struct ptx_operand *o)
{
	return o->kind == PTX_ADDRESS && !o->bracketed && o->var && !o->has_base && o->value != 0;
}

static bool check_sum(struct checker *c, const struct want *w, const struct ptx_operand *o)
{
	const bool fits = ptx_type_bits(w->type) == 64
		|| (ptx_type_bits(w->type) == 32 && o->var->space == PTX_SHARED);
	return (fits && check_is_integer(ptx_type_class(w->type)))
		|| check_fail_operand(c, w, o, "a 64-bit type for an address");
}

/* What ld writes or st reads. */
static bool check_data(struct checker *c, const struct want *w, const struct ptx_operand *o)
{
	size_t count = checker_vector(c->inst);
	char expected[48];
	if (count == 1 && o->kind == PTX_VECTOR && o->count == 1) {
		o = o->elements; /* suld.b.2d.b32 {%r1}, ... */
	}
	if (count == 1 && c->inst->op == PTX_OP_ST && check_is_sum(o)) {
		return check_sum(c, w, o);
	}
	if (count == 1) {
		return w->letter == 's' ? check_source(c, w, o, w->type)
			: check_reg(c, w, o, w->type);
	}
	if (o->kind != PTX_VECTOR || o->count != count) {
		snprintf(expected, sizeof(expected), "{ } with %zu elements", count);
		return check_fail_operand(c, w, o, expected);
	}
	bool is_access = c->inst->op == PTX_OP_LD || c->inst->op == PTX_OP_ST;
	size_t most = is_access ? 32 : 16;
	if (count * ptx_type_size(w->type) > most) {
		return check_fail(c, "'%.60s' moves more than %zu bytes", c->inst->text, most);
	}
	for (size_t i = 0; i < count; i++) {
		const struct ptx_operand *element = &o->elements[i];
		bool sink = element->kind == PTX_SINK && w->letter == 'V';
		if (!sink && !(w->letter == 's' ? check_source(c, w, element, w->type)
			       : check_reg(c, w, element, w->type))) {
			return false;
		}
	}
	return true;
}

/* A vector, or a single element in its place, all elements of one type. */
static bool check_elements(struct checker *c, const struct want *w, const struct ptx_operand *o,
	enum ptx_type type)
{
	bool is_vector = o->kind == PTX_VECTOR;
	const struct ptx_operand *elements = is_vector ? o->elements : o;
	for (size_t i = 0; i < (is_vector ? o->count : 1); i++) {
		if (!check_source(c, w, &elements[i], type)) {
			return false;
		}
	}
	return true;
}

/* What tex and tld4 write. */
static bool check_texels(struct checker *c, const struct want *w, const struct ptx_operand *o)
{
	size_t count = checker_vector(c->inst);
	enum ptx_type type = w->type == PTX_F16X2 ? PTX_B32 : w->type;
	bool is_pair = count == 2;
	if (is_pair != (w->type == PTX_F16X2)) {
		return check_fail(c, "'%.60s' needs %s", c->inst->text,
			is_pair ? "type f16x2" : ".v2");
	}
	if (o->kind != PTX_VECTOR || (o->count != count && o->count != count + 1)) {
		return check_fail_operand(
			c, w, o, is_pair ? "{ } with 2 elements" : "{ } with 4 elements");
	}
	for (size_t i = 0; i < o->count; i++) {
		if (o->elements[i].kind != PTX_SINK
		    && !check_reg(c, w, &o->elements[i], i < count ? type : PTX_PRED)) {
			return false;
		}
	}
	return true;
}

/* A texture or surface: a register that holds its number. */
static bool check_object(struct checker *c, const struct want *w, const struct ptx_operand *o)
{
	return (o->kind == PTX_ADDRESS && o->bracketed && o->has_base && !o->var && o->value == 0
		&& check_type_fits(PTX_U64, c->func->regs[o->reg].type, false))
		|| check_fail_operand(c, w, o, "[ ] with a 64-bit register that holds an object");
}

static bool check_coordinates(struct checker *c, const struct want *w, const struct ptx_operand *o)
{
	const struct ptx_geometry *geometry = &ptx_geometries[ptx_geometry_of(c->inst)];
	bool is_surface = c->inst->types[1] == PTX_NONE;
	enum ptx_type type = is_surface ? PTX_S32 : c->inst->types[1];
	size_t count = o->kind == PTX_VECTOR ? o->count : 1;
	size_t most = geometry->elements > 2 ? 4 : geometry->elements;
	char expected[48];
	if (count < geometry->elements || count > most) {
		snprintf(expected, sizeof(expected), "{ } with %zu coordinates", most);
		return check_fail_operand(c, w, o, expected);
	}
	if (!geometry->is_layered) {
		return check_elements(c, w, o, type);
	}
	const struct ptx_operand rest = {.kind = PTX_VECTOR, .elements = o->elements + 1,
		.count = count - 1};
	return check_source(c, w, &o->elements[0], PTX_U32) && check_elements(c, w, &rest, type);
}

/* Gradients and offsets: an element per coordinate. */
static bool check_steps(struct checker *c, const struct want *w, const struct ptx_operand *o)
{
	const struct ptx_geometry *geometry = &ptx_geometries[ptx_geometry_of(c->inst)];
	bool is_offset = w->letter == 'k';
	size_t count = o->kind == PTX_VECTOR ? o->count : 1;
	char expected[48];
	if (is_offset && strstr(geometry->part, "cube")) {
		return check_fail(c, "'%.60s' cannot have offsets", c->inst->text);
	}
	if (count < geometry->dimensions || count > 4) {
		snprintf(expected, sizeof(expected), "{ } with %u elements", geometry->dimensions);
		return check_fail_operand(c, w, o, expected);
	}
	return check_elements(c, w, o, is_offset ? PTX_S32 : PTX_F32);
}

/* The parts of a register that mov packs or unpacks. */
static bool check_parts(struct checker *c, const struct want *w, const struct ptx_operand *o)
{
	static const enum ptx_type parts[] = {PTX_B8, PTX_B16, PTX_B32, PTX_B64};
	unsigned bits = ptx_type_bits(w->type);
	bool known = false;
	for (size_t i = 0; i < countof(parts) && ptx_type_class(w->type) == 'b'; i++) {
		if ((o->count == 2 || o->count == 4)
		    && ptx_type_bits(parts[i]) * o->count == bits) {
			known = true;
			for (size_t j = 0; j < o->count; j++) {
				bool sink = o->elements[j].kind == PTX_SINK && w->letter == 'x';
				if (!sink && !(w->letter == 'y'
					? check_source(c, w, &o->elements[j], parts[i])
					: check_reg(c, w, &o->elements[j], parts[i]))) {
					return false;
				}
			}
		}
	}
	return known || check_fail_operand(c, w, o, "parts that make up the type");
}

/* PTX ISA 10: %tid and its like had 16 bits and %gridid 32, and may still be read so. */
static bool check_is_old_width(enum ptx_type type, enum ptx_sreg sreg)
{
#define VECTOR(name) [PTX_SREG_##name##_X] = PTX_U16, [PTX_SREG_##name##_Y] = PTX_U16, \
	[PTX_SREG_##name##_Z] = PTX_U16, [PTX_SREG_##name##_W] = PTX_U16
	static const enum ptx_type old[PTX_SREG_COUNT] = {
		VECTOR(TID), VECTOR(NTID), VECTOR(CTAID), VECTOR(NCTAID),
		[PTX_SREG_GRIDID] = PTX_U32,
	};
#undef VECTOR
	return old[sreg] && check_type_fits(old[sreg], type, false);
}

/* What mov and cvta read. */
static bool check_movable(struct checker *c, const struct want *w, const struct ptx_operand *o)
{
	static const enum ptx_type sreg_types[] = {
#define X(name, spelling, type) PTX_##type,
		PTX_SREGS(X)
#undef X
	};
	unsigned bits = ptx_type_bits(w->type);
	bool address = check_is_integer(ptx_type_class(w->type)) && (bits == 32 || bits == 64);
	bool is_mov = c->inst->op == PTX_OP_MOV;
	if (o->kind == PTX_ADDRESS && !o->bracketed && address) {
		return bits == 64 || !o->var || o->var->space == PTX_SHARED
			|| check_fail_operand(c, w, o, "a 64-bit type for an address");
	}
	if (o->kind == PTX_SREG && is_mov && (check_type_fits(w->type, sreg_types[o->sreg], false)
		|| check_is_old_width(w->type, o->sreg))) {
		return true;
	}
	if (o->kind == PTX_FUNC && is_mov && address) {
		if (o->func->is_entry) {
			return ptx_unsupported(c->diag, c->inst->line, c->inst->column,
				"the address of kernel '%.80s' is not supported by the CPU device",
				o->func->name);
		}
		return bits == 64 || check_fail_operand(c, w, o, "a 64-bit type for an address");
	}
	if (o->kind == PTX_VECTOR && is_mov) {
		return check_parts(c, w, o);
	}
	return check_source(c, w, o, w->type);
}

static bool check_is_own_parameter(const struct ptx_func *func, const struct ptx_var *var)
{
	for (size_t i = 0; i < func->param_count; i++) {
		if (func->params[i] == var) {
			return true;
		}
	}
	return false;
}

/* Parameters are ours to lay out, so an access to one must lie inside it.  Compilers other than
 * NVRTC take a parameter's address and load by it, which is an access like any other. */
static bool check_parameter(struct checker *c, const struct ptx_operand *o)
{
	const struct ptx_inst *inst = c->inst;
	const struct ptx_var *var = o->var;
	if (!var && inst->op == PTX_OP_LD && o->has_base) {
		return true;
	}
	if (!var) {
		return ptx_unsupported(c->diag, inst->line, inst->column,
			"'%.60s' with a computed address is not supported by the CPU device",
			inst->text);
	}
	size_t size = ptx_type_size(inst->types[0]) * checker_vector(inst);
	if (inst->op == PTX_OP_ST && c->func->is_entry && check_is_own_parameter(c->func, var)) {
		return check_fail(c, "'%.60s' writes to the parameter '%.60s'", inst->text,
			var->name);
	}
	if (o->value < 0 || size > var->size || (uint64_t)o->value > var->size - size) {
		return check_fail(c, "'%.60s' at offset %lld is outside of '%.60s',"
			" which has %zu bytes", inst->text, (long long)o->value, var->name,
			var->size);
	}
	return true;
}

/* An instruction without a state space takes the space of the variable that it names, as in ptxas,
 * if it could have named that space itself. */
static bool check_takes_space(const struct ptx_inst *inst, enum ptx_space space)
{
	static const char letters[] = {[PTX_CONST] = 'c', [PTX_GLOBAL] = 'g', [PTX_LOCAL] = 'l',
		[PTX_SHARED] = 's'};
	const char *spaces = strchr(ptx_rows[inst->op].mods, '@');
	return space != PTX_PARAM && (space == PTX_GLOBAL
		|| (spaces && memchr(spaces, letters[space], strcspn(spaces, " "))));
}

static bool check_address(struct checker *c, const struct want *w, const struct ptx_operand *o)
{
	enum ptx_space space = w->letter == 'S' ? PTX_SHARED : c->inst->space;
	if (o->kind != PTX_ADDRESS || !o->bracketed) {
		return check_fail_operand(c, w, o, "memory [ ]");
	}
	bool generic = space == PTX_GENERIC && o->var && check_takes_space(c->inst, o->var->space);
	if (o->var && o->var->space != space && !generic) {
		return check_fail(c, "'%.60s' cannot reach '%.80s',"
			" which is in another state space", c->inst->text, o->var->name);
	}
	if (o->has_base) {
		enum ptx_type type = c->func->regs[o->reg].type;
		bool narrow = space == PTX_SHARED;
		if (!check_type_fits(PTX_U64, type, false)
		    && !(narrow && check_type_fits(PTX_U32, type, false))) {
			return check_fail_operand(c, w, o, "a 64-bit address");
		}
	}
	return space != PTX_PARAM || check_parameter(c, o);
}

static bool check_labels(struct checker *c, const struct want *w, const struct ptx_operand *o)
{
	bool ok = o->kind == PTX_VECTOR && o->count > 0;
	for (size_t i = 0; ok && i < o->count; i++) {
		ok = o->elements[i].kind == PTX_LABEL;
	}
	return ok || check_fail_operand(c, w, o, "a .branchtargets list");
}

static bool check_pair(struct checker *c, const struct want *w, const struct ptx_operand *o)
{
	const struct ptx_reg *regs = c->func->regs;
	if (o->kind != PTX_PAIR) {
		return check_reg(c, w, o, PTX_PRED);
	}
	return (regs[o->reg].type == PTX_PRED && regs[o->reg2].type == PTX_PRED)
		|| check_fail_operand(c, w, o, "predicate registers");
}

/* d|p, where d may be a sink. */
static bool check_result_pair(struct checker *c, const struct want *w,
	const struct ptx_operand *o)
{
	const struct ptx_reg *regs = c->func->regs;
	return (o->kind == PTX_PAIR && regs[o->reg2].type == PTX_PRED
		&& (strcmp(regs[o->reg].name, "_") == 0
		    || check_type_fits(w->type, regs[o->reg].type, false)))
		|| check_fail_operand(c, w, o, "a register and a predicate d|p");
}

/* d or d|p. */
static bool check_both(struct checker *c, const struct want *w, const struct ptx_operand *o)
{
	return o->kind == PTX_PAIR ? check_result_pair(c, w, o) : check_reg(c, w, o, w->type);
}

/* {registers}, or one without braces. */
static bool check_fragment(struct checker *c, const struct want *w, const struct ptx_operand *o)
{
	enum ptx_type type;
	size_t count;
	if (!mma_operand(c->inst, w->number - 1, &type, &count)) {
		return check_fail(c, "'%.80s' cannot have these types and layouts", c->inst->text);
	}
	bool list = o->kind == PTX_VECTOR;
	if ((list ? o->count : 1) != count) {
		char expected[48];
		snprintf(expected, sizeof(expected), "{ } with %zu element%s", count,
			count > 1 ? "s" : "");
		return check_fail_operand(c, w, o, expected);
	}
	for (size_t i = 0; i < count; i++) {
		const struct ptx_operand *element = list ? &o->elements[i] : o;
		if (!(w->letter == 'G' ? check_reg(c, w, element, type)
		      : check_source(c, w, element, type))) {
			return false;
		}
	}
	return true;
}

static bool check_operand(struct checker *c, const struct want *w, const struct ptx_operand *o)
{
	switch (w->letter) {
	case 'd':
		return check_reg(c, w, o, w->type);
	case 'D':
		return o->kind == PTX_SINK || check_reg(c, w, o, w->type);
	case 'a':
		if (check_is_sum(o) && ptx_rows[c->inst->op].kind & PTX_KIND_COMPUTE) {
			return check_sum(c, w, o);
		}
		/* PTX ISA 9.7.9: cvt reads special registers, as mov does */
		return (c->inst->op == PTX_OP_CVT && o->kind == PTX_SREG
			&& check_is_integer(ptx_type_class(w->type)))
			|| check_source(c, w, o, w->type);
	case 'V':
	case 's':
		return check_data(c, w, o);
	case 'x':
		return o->kind == PTX_VECTOR ? check_parts(c, w, o) : check_reg(c, w, o, w->type);
	case 'y':
		return check_movable(c, w, o);
	case 'p':
		return check_reg(c, w, o, PTX_PRED);
	case 'q':
		return check_source(c, w, o, PTX_PRED);
	case 'P':
		return check_pair(c, w, o);
	case 'R':
		return check_result_pair(c, w, o);
	case 'e':
		return check_both(c, w, o);
	case 'm':
	case 'S':
		return check_address(c, w, o);
	case 'G':
	case 'H':
		return check_fragment(c, w, o);
	case 'z':
		return (o->kind == PTX_REG && c->func->regs[o->reg].type == PTX_PRED
			&& check_reg(c, w, o, PTX_PRED)) || check_source(c, w, o, PTX_U32);
	case 'T':
		return check_texels(c, w, o);
	case 'o':
		return check_object(c, w, o);
	case 'c':
		return check_coordinates(c, w, o);
	case 'g':
	case 'k':
		return check_steps(c, w, o);
	case 'l':
		return o->kind == PTX_LABEL || check_fail_operand(c, w, o, "a label");
	case 't':
		return check_labels(c, w, o);
	case 'f':
	case 'C':
	case 'A':
	case 'O':
		return true; /* check_call */
	default: /* i */
		return o->kind == PTX_INT || check_fail_operand(c, w, o, "an integer constant");
	}
}

/* Read a letter after the letter of the kind; false if it belongs to the next operand. */
static bool check_qualify(struct want *w, char letter, const struct ptx_inst *inst)
{
	switch (letter) {
	case '0':
	case '1':
	case '2':
		w->type = inst->types[letter - '0'];
		return true;
	case 'w':
		w->type = ptx_has(&inst->mods, PTX_MOD_WIDE) ? ptx_widen(w->type) : w->type;
		return true;
	case 'U':
	case 'L':
	case 'F':
		w->type = letter == 'U' ? PTX_U32 : letter == 'L' ? PTX_U64 : PTX_F32;
		return true;
	case 'v':
		return w->selects = true;
	case 'n':
		return w->minus = true;
	case '>':
		return w->wider = true;
	default:
		return false;
	}
}

/* The next operand of a row. */
static bool check_next_want(struct want *w, const char **operands, const struct ptx_inst *inst)
{
	const char *p = *operands + (**operands == '!');
	bool optional = *p == '?';
	p += optional;
	if (!*p) {
		return false;
	}
	*w = (struct want){.optional = optional, .letter = *p++, .type = inst->types[0]};
	while (check_qualify(w, *p, inst)) {
		p++;
	}
	*operands = p;
	return true;
}

/* No row of ptx.def has more. */
enum { MAX_WANTS = 8 };

bool check_operands(struct checker *c)
{
	const struct ptx_inst *inst = c->inst;
	const char *operands = ptx_rows[inst->op].operands;
	struct want wants[MAX_WANTS];
	size_t count = 0, least = 0, last = 0;
	while (count < MAX_WANTS && check_next_want(&wants[count], &operands, inst)) {
		least += !wants[count].optional;
		last = wants[count].optional ? count : last;
		count++;
	}
	/* of an instruction that takes a cache policy it is the last operand that may be absent */
	bool hint = ptx_has(&inst->mods, PTX_MOD_CACHE_HINT);
	bool policy = least < count && (hint || inst->operand_count != least)
		&& strstr(ptx_rows[inst->op].mods, "L2::cache_hint");
	size_t most = count - (policy && !hint);
	least += policy && hint;
	if (inst->operand_count < least || inst->operand_count > most) {
		return check_fail(c, "'%.60s' takes %zu%s operand%s, got %zu", inst->text, least,
			most > least ? " or more" : "", most == 1 ? "" : "s",
			inst->operand_count);
	}
	size_t spare = inst->operand_count - least;
	for (size_t i = 0, number = 0; i < count; i++) {
		struct want *w = &wants[i];
		bool absent = w->optional && (policy && i == last ? !hint : spare == 0);
		spare -= w->optional && !absent && spare > 0;
		w->number = number + 1;
		if (!absent && !check_operand(c, w, &inst->operands[number++])) {
			return false;
		}
	}
	return true;
}
