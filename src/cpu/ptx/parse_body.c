/* SPDX-License-Identifier: MIT */
/*
 * Parses the body of a function: variables, labels and instructions.  Only a label may be used
 * before it is defined, so labels are looked up at the end of the body.  Directives that may stand
 * inside and outside of bodies, such as .loc and .file, are here as well.
 */
#include "base/common.h"

#include "cpu/ptx/parser.h"

#include "base/alloc.h"

#include <string.h>

enum { MAX_TARGETS = 1 << 16 }; /* of ranges */


/* Remember the labels among operands that have come to their final address. */
static void parse_add_fixups(struct parser *p, struct ptx_operand *operands, size_t count,
	bool is_branch)
{
	for (size_t i = 0; i < count && !p->failed; i++) {
		struct ptx_operand *o = &operands[i];
		struct fixup *fixup = o->kind == PTX_LABEL
			? list_add(p, &p->fixups, sizeof(*fixup)) : NULL;
		if (fixup) {
			*fixup = (struct fixup){o, p->scope, is_branch, (int)o->reg, (int)o->reg2};
		}
	}
}

/* Up to PTX 3.1 mad.f32 may leave its rounding out, which is .rn then (PTX ISA, "mad").  The text
 * as it is written since. */
static const char *parse_spell_opcode(const struct parser *p, const char *text)
{
	static const struct {
		const char *old, *now;
	} spellings[] = {{"mad.f32", "mad.rn.f32"}, {"mad.ftz.f32", "mad.rn.ftz.f32"},
		{"mad.sat.f32", "mad.rn.sat.f32"}, {"mad.ftz.sat.f32", "mad.rn.ftz.sat.f32"}};
	for (size_t i = 0; p->module->version <= 31 && i < countof(spellings); i++) {
		if (strcmp(text, spellings[i].old) == 0) {
			return spellings[i].now;
		}
	}
	return text;
}

/* The opcode at hand, from memory if this text was met before. */
static const struct ptx_inst *parse_opcode(struct parser *p, const struct lex_token *word)
{
	struct ptx_inst *inst = map_getn(&p->opcodes, word->text, word->len);
	if (inst) {
		return inst;
	}
	const char *text = arena_strndup(&p->module->opcodes, word->text, word->len);
	inst = arena_alloc(&p->module->opcodes, 1, sizeof(*inst));
	if (!text || !inst) {
		parser_no_memory(p);
		return NULL;
	}
	struct ptx_diag diag;
	if (!ptx_opcode(inst, parse_spell_opcode(p, text), &diag, word->line, word->column)) {
		parser_fail_unknown(p, word->line, word->column, diag.message);
		return NULL;
	}
	if (!map_put(&p->opcodes, text, inst)) {
		parser_no_memory(p);
		return NULL;
	}
	return inst;
}

enum { MAX_OPERANDS = 8 };

static void parse_inst_operands(struct parser *p, struct ptx_inst *inst)
{
	struct ptx_operand operands[MAX_OPERANDS]; /* cleared one by one, for most are not used */
	size_t count = 0;
	bool in_brackets = false;
	p->op = inst->op;
	while ((!at(p, ";") || in_brackets) && !p->failed) {
		if (count == MAX_OPERANDS) {
			parser_fail(p, "more than %d operands", MAX_OPERANDS);
			return;
		}
		operands[count] = (struct ptx_operand){.value = 0};
		bool has_more = parse_operand(p, &operands[count++]);
		if (in_brackets) {
			expect(p, "]");
		} else if (inst->op == PTX_OP_LD && operands[count - 1].bracketed) {
			accept(p, ".unified");
		}
		in_brackets = has_more;
		if (!in_brackets && !at(p, ";") && !accept(p, ",")) {
			fail_expected(p, "',' or ';'");
		}
	}
	expect(p, ";");
	inst->operands = parser_alloc(p, count, sizeof(operands[0]));
	if (inst->operands) {
		memcpy(inst->operands, operands, count * sizeof(operands[0]));
		inst->operand_count = count;
		if (inst->op == PTX_OP_CALL) {
			call_arrange(p, inst);
		}
		parse_add_fixups(p, inst->operands, inst->operand_count,
			inst->op == PTX_OP_BRA || inst->op == PTX_OP_BRX);
	}
	for (size_t i = 0; i < count; i++) {
		if (operands[i].kind == PTX_VECTOR) {
			parse_add_fixups(p, operands[i].elements, operands[i].count, false);
		}
	}
}

static void parse_predicate(struct parser *p, struct ptx_inst *inst)
{
	struct ptx_operand guard = {.kind = PTX_SINK};
	inst->has_guard = true;
	inst->guard_negated = accept(p, "!");
	int line = p->token.line, column = p->token.column;
	parse_name(p, &guard);
	const struct ptx_reg *regs = p->regs.data;
	if (guard.kind != PTX_REG || regs[guard.reg].type != PTX_PRED) {
		parser_fail_at(p, line, column, "expected a predicate register after '@'");
	}
	inst->guard = guard.reg;
}

static void parse_instruction(struct parser *p, const struct ptx_inst *guard,
	const struct lex_token *word)
{
	struct lex_token scalar = *word;
	size_t elements = 0; /* of a move of vectors */
	if (word->len > 7 && memcmp(word->text, "mov.v", 5) == 0 && word->text[6] == '.') {
		elements = word->text[5] == '2' ? 2 : word->text[5] == '4' ? MAX_MOVED : 0;
	}
	if (elements > 0) {
		scalar.text = arena_printf(&p->module->arena, "mov%.*s", (int)word->len - 6,
			word->text + 6);
		scalar.len -= 3;
	}
	const struct ptx_inst *opcode = scalar.text ? parse_opcode(p, &scalar) : NULL;
	if (!opcode) {
		parser_no_memory(p);
		return;
	}
	struct ptx_inst inst = *opcode;
	inst.has_guard = guard->has_guard;
	inst.guard_negated = guard->guard_negated;
	inst.guard = guard->guard;
	inst.line = word->line;
	inst.column = word->column;
	inst.loc = p->loc;
	if (ptx_rows[inst.op].unsupported) {
		skip_past(p, ";");
	} else {
		parse_inst_operands(p, &inst);
	}
	if (elements > 0) {
		add_vector_move(p, &inst, elements);
		return;
	}
	struct ptx_inst *slot = list_add(p, &p->insts, sizeof(inst));
	if (slot) {
		*slot = inst;
	}
}

/* After .branchtargets: L1, L2, N<3>; of which the last is N0, N1, N2 */
static void parse_targets(struct parser *p, struct ptx_operand *out)
{
	struct parse_list names = {.data = NULL};
	do {
		struct lex_token word = p->token;
		const char *name = take_name(p);
		bool is_range = accept(p, "<");
		uint64_t count = is_range ? take_int(p) : 1;
		if (is_range) {
			expect(p, ">");
			/* a count of labels that the text does not spell out must not use up
			 * memory */
			if (count == 0 || count > MAX_TARGETS || names.count > MAX_TARGETS) {
				parser_fail(p, "expected 1 to %d labels", MAX_TARGETS);
			}
		}
		for (uint64_t i = 0; i < count && !p->failed; i++) {
			struct ptx_operand *o = list_add(p, &names, sizeof(*o));
			struct lex_token label = word;
			label.text = is_range ? arena_printf(&p->module->arena, "%s%llu", name,
				(unsigned long long)i) : name;
			if (o && label.text) {
				label.len = strlen(label.text);
				name_later(p, o, &label);
			} else {
				parser_no_memory(p);
			}
		}
	} while (accept(p, ","));
	expect(p, ";");
	out->kind = PTX_VECTOR;
	out->elements = list_keep(p, &names, sizeof(*out->elements), &out->count);
	mem_free(names.data);
}

/* name: in front of an instruction, .branchtargets, .calltargets or .callprototype */
static void parse_label(struct parser *p, const struct lex_token *word)
{
	const char *name = arena_strndup(&p->module->arena, word->text, word->len);
	p->name_line = word->line;
	p->name_column = word->column;
	if (!name) {
		parser_no_memory(p);
		return;
	}
	if (accept(p, ".branchtargets")) {
		struct symbol *symbol = symbol_add(p, p->scope, name, SYMBOL_TARGETS);
		struct ptx_operand *targets = parser_alloc(p, 1, sizeof(*targets));
		if (symbol && targets) {
			symbol->targets = targets;
			parse_targets(p, targets);
			parse_add_fixups(p, targets->elements, targets->count, true);
		}
		return;
	}
	bool is_list = accept(p, ".calltargets");
	if (is_list || accept(p, ".callprototype")) {
		struct symbol *symbol = symbol_add(p, p->scope, name, SYMBOL_PROTO);
		struct ptx_func *func = is_list ? parse_call_targets(p) : parse_prototype(p);
		if (symbol) {
			symbol->func = func;
		}
		return;
	}
	struct symbol *symbol = symbol_add(p, p->scope, name, SYMBOL_LABEL);
	struct ptx_label *label = list_add(p, &p->labels, sizeof(*label));
	if (symbol && label) {
		symbol->index = (unsigned)(p->labels.count - 1);
		*label = (struct ptx_label){name, p->insts.count};
	}
}

/* .pragma "nounroll", "used_bytes_mask 1"; */
static void parse_pragma(struct parser *p)
{
	do {
		if (p->token.kind != TOKEN_STRING) {
			fail_expected(p, "a string");
		}
		advance(p);
	} while (accept(p, ","));
	expect(p, ";");
}

bool parse_common(struct parser *p)
{
	if (accept(p, ".loc")) {
		parse_loc(p);
	} else if (accept(p, ".file")) {
		parse_file(p);
	} else if (accept(p, ".pragma")) {
		parse_pragma(p);
	} else if (accept(p, ".section")) {
		parse_section(p);
	} else {
		return false;
	}
	return true;
}

/* A directive of the body; false if the token is not one. */
static bool parse_directive(struct parser *p)
{
	static const struct {
		const char *word;
		enum ptx_space space;
	} spaces[] = {{".local", PTX_LOCAL}, {".shared", PTX_SHARED}, {".param", PTX_PARAM},
		{".global", PTX_GLOBAL}, {".const", PTX_CONST}};
	if (!at_directive(p)) {
		return false;
	}
	bool is_extern = accept(p, ".extern");
	for (size_t i = 0; i < countof(spaces); i++) {
		if (accept(p, spaces[i].word)) {
			parse_variables(p, spaces[i].space, is_extern, false);
			return true;
		}
	}
	if (accept(p, ".reg")) {
		parse_registers(p);
		return true;
	}
	return parse_common(p);
}

static void parse_statement(struct parser *p)
{
	struct ptx_inst guard = {.has_guard = false};
	if (accept(p, "@")) {
		parse_predicate(p, &guard);
	}
	struct lex_token word = p->token;
	if (word.kind != TOKEN_WORD || word.text[0] == '.') {
		fail_expected(p, "an instruction");
		return;
	}
	advance(p);
	if (!guard.has_guard && accept(p, ":")) {
		parse_label(p, &word);
	} else {
		parse_instruction(p, &guard, &word);
	}
}

/* Labels that were used before they came. */
static void parse_settle_label(struct parser *p, const struct fixup *fixup)
{
	struct ptx_operand *operand = fixup->operand;
	const struct symbol *symbol = symbol_find(p, fixup->scope, operand->label,
		strlen(operand->label));
	if (symbol && symbol->kind == SYMBOL_LABEL) {
		operand->reg = symbol->index;
	} else if (symbol && symbol->kind == SYMBOL_TARGETS && symbol->targets) {
		operand->kind = PTX_VECTOR;
		operand->elements = symbol->targets->elements;
		operand->count = symbol->targets->count;
	} else if (symbol && symbol->kind == SYMBOL_PROTO && symbol->func) {
		operand->kind = PTX_FUNC;
		operand->func = symbol->func;
	} else {
		parser_fail_at(p, fixup->line, fixup->column, "unknown %s '%.80s'",
			fixup->is_branch ? "label" : "variable", operand->label);
	}
}

/* A body that runs, or jumps, past its last instruction returns. */
static void parse_add_return(struct parser *p)
{
	const struct ptx_label *labels = p->labels.data;
	const struct ptx_inst *insts = p->insts.data;
	const struct ptx_inst *last = p->insts.count ? &insts[p->insts.count - 1] : NULL;
	bool ends = last && !last->has_guard && last->op == PTX_OP_RET;
	bool jumps = p->labels.count && labels[p->labels.count - 1].inst == p->insts.count;
	struct lex_token ret = p->token;
	ret.text = "ret";
	ret.len = 3;
	const struct ptx_inst *opcode = ends && !jumps ? NULL : parse_opcode(p, &ret);
	struct ptx_inst *slot = opcode ? list_add(p, &p->insts, sizeof(*slot)) : NULL;
	if (slot) {
		*slot = *opcode;
		slot->line = ret.line;
		slot->column = ret.column;
	}
}

void parse_body(struct parser *p)
{
	bool open = true;
	scope_enter(p);
	struct parse_scope *body = p->scope;
	while (open && !p->failed) {
		if (at_end(p)) {
			fail_expected(p, "'}'");
		} else if (accept(p, "{")) {
			scope_enter(p);
		} else if (accept(p, "}")) {
			open = p->scope != body;
			scope_leave(p);
		} else if (!accept(p, ";") && !parse_directive(p)) {
			parse_statement(p);
		}
	}
	parse_add_return(p);
	const struct fixup *fixups = p->fixups.data;
	for (size_t i = 0; i < p->fixups.count && !p->failed; i++) {
		parse_settle_label(p, &fixups[i]);
	}
	p->fixups.count = 0;
}
