/* SPDX-License-Identifier: MIT */
/*
 * For debuggers: in which function or block of the source an instruction is, and where the
 * variables are.
 *
 * With -G the module's DWARF says both (dwarf.h).  With -lineinfo alone each .loc of an inlined
 * function names the function and its call.
 *
 * DWARF says that a variable is in a register, or in one register after another.  Our code has no
 * such registers.  So each of these variables has a place in the debug area, which lies in the
 * frame of its thread and stays there while the thread waits.  An instruction of our own, #note,
 * puts the value there: where the variable moves to a register, and after each instruction that
 * writes it.  A variable in .local memory stays there, and a note keeps its address.
 */
#include "base/common.h"

#include "cpu/ir/debug_scope.h"

#include "base/alloc.h"
#include "base/map.h"
#include "cpu/ir/cfg.h"
#include "cpu/ptx/dwarf.h"

#include <string.h>

/* From one instruction to before another a variable is in a register. */
struct scope_range {
	size_t low, high;
	unsigned reg;
	struct ptx_scope *scope;
	size_t var;             /* of the scope */
	size_t next_of_reg;     /* a list of the ranges of a register; SIZE_MAX ends it, */
	size_t next_of_low;     /* and of those that begin at an instruction */
};

struct scopes {
	struct ptx_module *module;
	struct ptx_func *func;
	size_t cap;             /* of func->scopes */
	struct map labels;      /* name -> struct ptx_label */
	struct map regs;        /* name -> struct ptx_reg */
	struct scope_range *ranges;
	size_t range_count, range_cap;
	struct ptx_inst *insts; /* the new list */
	size_t inst_count;
	bool failed;
};

static void *scope_alloc(struct scopes *s, size_t count, size_t size)
{
	void *memory = arena_alloc(&s->module->arena, count, size);
	s->failed |= !memory;
	return memory;
}

/* --- Scopes --- */

static struct ptx_scope *scope_add(struct scopes *s, struct ptx_scope from)
{
	struct ptx_func *func = s->func;
	if (func->scope_count == s->cap) {
		size_t cap = s->cap > 0 ? 2 * s->cap : 8;
		struct ptx_scope **list = scope_alloc(s, cap, sizeof(*list));
		if (!list) {
			return NULL;
		}
		for (size_t i = 0; i < func->scope_count; i++) {
			list[i] = func->scopes[i];
		}
		func->scopes = list;
		s->cap = cap;
	}
	struct ptx_scope *scope = scope_alloc(s, 1, sizeof(*scope));
	if (scope) {
		from.index = func->scope_count;
		*scope = from;
		func->scopes[func->scope_count++] = scope;
	}
	return scope;
}

static const char unknown[] = "inlined";

/* By a .loc: the function that is inlined there. */
static struct ptx_scope *scope_of_loc(struct scopes *s, const struct ptx_loc *loc)
{
	if (!loc || !loc->at || s->failed) {
		return s->func->scopes[0];
	}
	const struct ptx_scope *outer = scope_of_loc(s, loc->at);
	const char *symbol = ptx_loc_function(s->module, loc);
	symbol = symbol ? symbol : unknown;
	for (size_t i = s->func->scope_count; i-- > 1;) {
		struct ptx_scope *known = s->func->scopes[i];
		if (known->outer == outer && known->call == loc->at && known->symbol == symbol) {
			return known;
		}
	}
	return scope_add(s, (struct ptx_scope){.outer = outer, .call = loc->at,
		.symbol = symbol});
}

static void scope_find_by_locs(struct scopes *s)
{
	for (size_t i = 0; i < s->func->inst_count && !s->failed; i++) {
		s->func->insts[i].scope = scope_of_loc(s, s->func->insts[i].loc);
	}
}

/* The instruction that a label of the function stands before; SIZE_MAX: there is no such label. */
static size_t scope_label(const struct scopes *s, const char *name)
{
	const struct ptx_label *label = name ? map_get(&s->labels, name) : NULL;
	return label ? label->inst : SIZE_MAX;
}

static const char *scope_symbol(const struct dwarf_die *die)
{
	die = dwarf_origin(die);
	return die->linkage ? die->linkage : die->name ? die->name : unknown;
}

static void scope_add_child(struct scopes *s, struct ptx_scope *outer, const struct dwarf_die *die);

/* The instructions between the labels are in a scope, but for those in scopes within it. */
static void scope_enter_die(struct scopes *s, struct ptx_scope *scope, const struct dwarf_die *die)
{
	const size_t low = scope_label(s, die->low), high = scope_label(s, die->high);
	for (size_t i = low; high != SIZE_MAX && i < high; i++) {
		s->func->insts[i].scope = scope;
	}
	for (const struct dwarf_die *child = die->child; child && !s->failed; child = child->next) {
		scope_add_child(s, scope, child);
	}
}

static void scope_add_child(struct scopes *s, struct ptx_scope *outer, const struct dwarf_die *die)
{
	const bool is_call = die->tag == DWARF_INLINED_SUBROUTINE;
	if ((!is_call && die->tag != DWARF_LEXICAL_BLOCK) || !die->low || !die->high) {
		return;
	}
	struct ptx_scope scope = {.outer = outer, .die = die};
	if (is_call) {
		struct ptx_loc *call = scope_alloc(s, 1, sizeof(*call));
		if (!call) {
			return;
		}
		*call = (struct ptx_loc){.file = (int)die->call_file, .line = (int)die->call_line};
		scope.call = call;
		scope.symbol = scope_symbol(die);
	}
	struct ptx_scope *added = scope_add(s, scope);
	if (added) {
		scope_enter_die(s, added, die);
	}
}

/* --- Variables --- */

static struct ptx_debug_var *scope_add_var(struct scopes *s, struct ptx_scope *scope,
	struct ptx_debug_var var)
{
	struct ptx_debug_var *vars = scope_alloc(s, scope->var_count + 1, sizeof(*vars));
	if (!vars) {
		return NULL;
	}
	if (scope->var_count > 0) {
		memcpy(vars, scope->vars, scope->var_count * sizeof(*vars));
	}
	if (var.kind == PTX_DEBUG_KEPT) {
		var.offset = round_up(s->func->debug_size, 8);
		s->func->debug_size = var.offset + var.size;
	}
	vars[scope->var_count] = var;
	scope->vars = vars;
	return &vars[scope->var_count++];
}

static void scope_add_range(struct scopes *s, size_t low, size_t high, const char *reg_name,
	struct ptx_scope *scope)
{
	const struct ptx_reg *reg = reg_name ? map_get(&s->regs, reg_name) : NULL;
	if (!reg || low >= high || high == SIZE_MAX) {
		return;
	}
	struct scope_range *ranges = mem_grow(s->ranges, s->range_count, &s->range_cap,
		sizeof(*ranges));
	if (!ranges) {
		s->failed = true;
		return;
	}
	s->ranges = ranges;
	s->ranges[s->range_count++] = (struct scope_range){.low = low, .high = high,
		.reg = (unsigned)(reg - s->func->regs), .scope = scope,
		.var = scope->var_count - 1};
}

static const struct ptx_var *scope_find_local(const struct scopes *s, const char *name)
{
	for (size_t i = 0; name && i < s->func->var_count; i++) {
		const struct ptx_var *var = s->func->vars[i];
		if (var->space == PTX_LOCAL && strcmp(var->name, name) == 0) {
			return var;
		}
	}
	return NULL;
}

/* The place that keeps the address of a .local variable: one of the function's own variables, as
 * many as there are .local ones, in their order. */
static size_t scope_base_of(struct scopes *s, const struct ptx_var *local)
{
	struct ptx_scope *root = s->func->scopes[0];
	for (size_t i = 0; i < root->var_count; i++) {
		if (!root->vars[i].die && root->vars[i].symbol == local->name) {
			return root->vars[i].offset;
		}
	}
	const struct ptx_debug_var *base = scope_add_var(s, root, (struct ptx_debug_var){
		.kind = PTX_DEBUG_KEPT, .size = 8, .symbol = local->name});
	return base ? base->offset : 0;
}

static void scope_describe_list(struct scopes *s, struct ptx_scope *scope, uint64_t at)
{
	struct dwarf_range range;
	while (!s->failed && dwarf_next_range(s->module, &at, &range)) {
		if (range.place.where == DWARF_REG) {
			scope_add_range(s, scope_label(s, range.low), scope_label(s, range.high),
				range.place.name, scope);
		}
	}
}

/* A variable of a scope whose instructions begin and end there. */
static void scope_describe_var(struct scopes *s, struct ptx_scope *scope,
	const struct dwarf_die *die, size_t low, size_t high)
{
	const uint64_t size = dwarf_size(dwarf_origin(die)->type);
	const struct dwarf_place *place = &die->place;
	struct ptx_debug_var var = {.die = die, .size = (unsigned)(size < 16 ? size : 16),
		.symbol = place->name, .addend = place->addend};
	const struct ptx_var *local = scope_find_local(s, place->name);
	if (place->where == DWARF_REG || place->where == DWARF_LIST) {
		if (size == 0 || size > 16 || !scope_add_var(s, scope, var)) {
			return;
		}
		const size_t known = s->range_count;
		if (place->where == DWARF_LIST) {
			scope_describe_list(s, scope, place->addend);
		} else {
			scope_add_range(s, low, high, place->name, scope);
		}
		if (s->range_count == known) {
			scope->vars[scope->var_count - 1].kind = PTX_DEBUG_LOST;
		}
	} else if (place->where == DWARF_MEMORY) {
		var.kind = local ? PTX_DEBUG_AT_BASE : PTX_DEBUG_OF_MODULE;
		var.offset = local ? scope_base_of(s, local) : 0;
		scope_add_var(s, scope, var);
	}
}

/* The compiler's own begin so: what it asks of a template. */
static bool scope_is_ours(const struct dwarf_die *die)
{
	return die->name && strncmp(die->name, "_Z11kudzu_probe", 15) == 0;
}

static void scope_describe_vars(struct scopes *s, struct ptx_scope *scope)
{
	const size_t low = scope_label(s, scope->die->low), high = scope_label(s, scope->die->high);
	const struct dwarf_die *die = scope->die->child;
	for (; die && !s->failed; die = die->next) {
		if (dwarf_is_variable(die)) {
			scope_describe_var(s, scope, die, low, high);
		}
	}
}

/* Those of the module are variables of each function: a debugger finds them by the frame. */
static void scope_describe_module(struct scopes *s, struct ptx_scope *scope)
{
	const struct dwarf_die *die = scope->symbol && s->module->dwarf
		? s->module->dwarf->child : NULL;
	for (; die && !s->failed; die = die->next) {
		if (dwarf_is_variable(die) && die->place.where == DWARF_MEMORY
		    && !scope_is_ours(die)) {
			scope_describe_var(s, scope, die, 0, 0);
		}
	}
}

/* --- Notes --- */

/* All notes have room: see scope_count_notes. */
static void scope_note(struct scopes *s, const struct ptx_scope *scope, size_t var, size_t at,
	struct ptx_operand value, enum ptx_type type)
{
	const struct ptx_inst *near = &s->func->insts[at < s->func->inst_count ? at : at - 1];
	struct ptx_operand *operands = scope_alloc(s, 2, sizeof(*operands));
	if (operands) {
		operands[0] = value;
		operands[1] = (struct ptx_operand){.kind = PTX_INT, .value = (int64_t)var};
		s->insts[s->inst_count++] = (struct ptx_inst){.op = PTX_OP_NOTE, .text = "#note",
			.types = {type}, .operands = operands, .operand_count = 2,
			.line = near->line, .column = near->column, .loc = near->loc,
			.scope = scope};
	}
}

static void scope_note_range(struct scopes *s, const struct scope_range *range, size_t at)
{
	const struct ptx_operand value = {.kind = PTX_REG, .reg = range->reg};
	scope_note(s, range->scope, range->var, at, value, s->func->regs[range->reg].type);
}

/* Where the function begins: the addresses of .local variables. */
static void scope_note_bases(struct scopes *s)
{
	const struct ptx_scope *root = s->func->scopes[0];
	for (size_t i = 0; i < root->var_count && !s->failed; i++) {
		const struct ptx_debug_var *var = &root->vars[i];
		if (!var->die && var->symbol) {
			const struct ptx_operand address = {.kind = PTX_ADDRESS,
				.var = (struct ptx_var *)scope_find_local(s, var->symbol)};
			scope_note(s, root, i, 0, address, PTX_U64);
		}
	}
}

struct scope_lists {
	size_t *of_low;  /* by instruction: the first range that begins there; SIZE_MAX: none */
	size_t *of_reg;  /* by register */
	uint64_t *written;
};

/* The ranges of what an instruction writes, within which it is: how many, and a note for each if
 * `adds`. */
static size_t scope_note_written(struct scopes *s, const struct scope_lists *lists, size_t i,
	bool adds)
{
	const struct ptx_func *func = s->func;
	size_t count = 0;
	memset(lists->written, 0, cfg_live_words(func) * sizeof(uint64_t));
	cfg_written(lists->written, &func->insts[i]);
	for (size_t w = 0; w < cfg_live_words(func); w++) {
		for (uint64_t bits = lists->written[w]; bits; bits &= bits - 1) {
			size_t k = lists->of_reg[w * 64 + (size_t)__builtin_ctzll(bits)];
			for (; k != SIZE_MAX; k = s->ranges[k].next_of_reg) {
				const bool is_in = s->ranges[k].low <= i && i < s->ranges[k].high;
				count += is_in;
				if (is_in && adds) {
					scope_note_range(s, &s->ranges[k], i);
				}
			}
		}
	}
	return count;
}

/* Link the ranges, and count the notes that they need. */
static size_t scope_count_notes(struct scopes *s, struct scope_lists *lists)
{
	const struct ptx_func *func = s->func;
	size_t count = func->scopes[0]->var_count + s->range_count;
	memset(lists->of_low, 0xff, (func->inst_count + 1) * sizeof(size_t));
	memset(lists->of_reg, 0xff, func->reg_count * sizeof(size_t));
	for (size_t i = s->range_count; i-- > 0;) {
		struct scope_range *range = &s->ranges[i];
		range->next_of_low = lists->of_low[range->low];
		lists->of_low[range->low] = i;
		range->next_of_reg = lists->of_reg[range->reg];
		lists->of_reg[range->reg] = i;
	}
	for (size_t i = 0; i < func->inst_count; i++) {
		count += scope_note_written(s, lists, i, false);
	}
	return count;
}

/* The list of instructions with the notes in it.  A label stands before the notes of what begins
 * there. */
static void scope_insert_notes(struct scopes *s)
{
	struct ptx_func *func = s->func;
	struct scope_lists lists = {
		.of_low = mem_alloc((func->inst_count + 1) * sizeof(size_t)),
		.of_reg = mem_alloc((func->reg_count + 1) * sizeof(size_t)),
		.written = mem_alloc((cfg_live_words(func) + 1) * sizeof(uint64_t))};
	size_t *places = mem_alloc((func->inst_count + 1) * sizeof(*places));
	s->failed |= !lists.of_low || !lists.of_reg || !lists.written || !places;
	if (!s->failed) {
		size_t count = func->inst_count + scope_count_notes(s, &lists);
		s->insts = scope_alloc(s, count, sizeof(*s->insts));
	}
	for (size_t i = 0; !s->failed && i <= func->inst_count; i++) {
		places[i] = s->inst_count;
		if (i == 0) {
			scope_note_bases(s);
		}
		for (size_t k = lists.of_low[i]; k != SIZE_MAX; k = s->ranges[k].next_of_low) {
			scope_note_range(s, &s->ranges[k], i);
		}
		if (i < func->inst_count) {
			s->insts[s->inst_count++] = func->insts[i];
			scope_note_written(s, &lists, i, true);
		}
	}
	for (size_t i = 0; !s->failed && i < func->label_count; i++) {
		func->labels[i].inst = places[func->labels[i].inst];
	}
	if (!s->failed) {
		func->insts = s->insts;
		func->inst_count = s->inst_count;
	}
	mem_free(lists.of_low);
	mem_free(lists.of_reg);
	mem_free(lists.written);
	mem_free(places);
}

/* --- A function --- */

static const struct dwarf_die *scope_find_die(const struct ptx_module *module, const char *symbol)
{
	const struct dwarf_die *die = module->dwarf ? module->dwarf->child : NULL;
	while (die && !(die->tag == DWARF_SUBPROGRAM && die->low
			&& strcmp(scope_symbol(die), symbol) == 0)) {
		die = die->next;
	}
	return die;
}

static void scope_index_names(struct scopes *s)
{
	struct ptx_func *func = s->func;
	for (size_t i = 0; i < func->label_count && !s->failed; i++) {
		s->failed = !map_put(&s->labels, func->labels[i].name, &func->labels[i]);
	}
	for (size_t i = 0; i < func->reg_count && !s->failed; i++) {
		s->failed = !map_put(&s->regs, func->regs[i].name, &func->regs[i]);
	}
}

static void scope_describe_by_die(struct scopes *s, const struct dwarf_die *die)
{
	struct ptx_func *func = s->func;
	scope_index_names(s);
	for (size_t i = 0; i < func->inst_count; i++) {
		func->insts[i].scope = func->scopes[0];
	}
	if (!s->failed) {
		func->scopes[0]->die = die;
		scope_enter_die(s, func->scopes[0], die);
	}
	for (size_t i = 0; i < func->scope_count && !s->failed; i++) {
		scope_describe_vars(s, func->scopes[i]);
	}
}

bool debug_describe(struct ptx_module *module, struct ptx_func *func)
{
	struct scopes s = {.module = module, .func = func};
	if (!dwarf_read(module) || !scope_add(&s, (struct ptx_scope){.symbol = func->name})) {
		return false;
	}
	const struct dwarf_die *die = scope_find_die(module, func->name);
	if (die) {
		scope_describe_by_die(&s, die);
	} else {
		scope_find_by_locs(&s);
	}
	for (size_t i = 0; i < func->scope_count && !s.failed; i++) {
		scope_describe_module(&s, func->scopes[i]);
	}
	if (die && !s.failed) {
		scope_insert_notes(&s);
	}
	map_free(&s.labels);
	map_free(&s.regs);
	mem_free(s.ranges);
	return !s.failed;
}
