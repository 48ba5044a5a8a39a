/* SPDX-License-Identifier: MIT */
/*
 * Kernels that are read late.  A text that was found good once has its kernels in known places:
 * reading it again leaves them out, and each is read when it is asked for, so that what a big module
 * costs is what is used of it.
 *
 * The one idea: a kernel depends on what stands before it in the module, and nothing depends on a
 * kernel.  Where that is not so (a kernel that is declared first, or named by another, or has
 * variables of the module in its body) the module is not separable, and is always read whole.  What
 * stands behind the kernel is there, too, when it is read late, and looked at by nobody
 * (symbol_find).
 *
 * So a text of many kernels can be checked without holding them: it is skimmed for where they are
 * (parse_skim), and each is read and forgotten again (api_survey.c).
 */
#include "base/common.h"

#include "cpu/ptx/parser.h"

#include "base/alloc.h"

#include <string.h>

/* Of a text that is not all there so much is looked at before a part, to know its column, and so much
 * is there of the first word of one that is left out. */
enum { MOST_OF_A_LINE = 1024, MOST_OF_A_WORD = 64 };

/* In place of each kernel that is not read yet; nobody changes it. */
static struct ptx_func no_kernel = {.name = "", .is_entry = true, .is_extern = true};

void part_add(struct parser *p, const struct token *start, const struct token *name,
	const struct ptx_func *func)
{
	struct ptx_part *part = p->part ? NULL : list_add(p, &p->parts, sizeof(*part));
	if (part) {
		*part = (struct ptx_part){
			.offset = (uint32_t)(start->text - p->text),
			.size = (uint32_t)(p->token.text - start->text),
			.name = (uint32_t)(name->text - p->text),
			.name_size = (uint32_t)name->len,
			.index = (uint32_t)func->index,
			.line = (uint32_t)start->line,
			.end_line = (uint32_t)p->token.line,
		};
	}
}

void part_skim_head(struct parser *p)
{
	while (!at_end(p) && !at(p, "{") && !at(p, ";")) {
		advance(p);
	}
}

void part_skim_body(struct parser *p)
{
	if (!at(p, "{") || !lex_skip_block(&p->lexer, p->diag)) {
		parser_fail(p, "expected a body");
	}
	advance(p);
}

/* The next part will have the same: one for its parameters, one for its body. */
static void free_scopes(struct parser *p, const struct scope *until)
{
	while (p->newest != until) {
		struct map *names = &p->newest->names;
		if (p->spare_count < countof(p->spares) && map_clear(names)) {
			p->spares[p->spare_count++] = *names;
		} else {
			map_free(names);
		}
		p->newest = p->newest->previous;
	}
}

void part_empty(struct parser *p, struct ptx_func *kernel, const struct arena_mark *mark,
	const struct scope *newest)
{
	free_scopes(p, newest);
	*kernel = (struct ptx_func){.name = kernel->name, .is_entry = true, .is_extern = true,
		.index = kernel->index};
	arena_reset(&p->module->arena, mark);
}

bool part_is_left_out(const struct parser *p)
{
	return p->gap < p->gap_end && (uint64_t)(p->token.text - p->text) == p->gap->offset;
}

static bool fail_other(struct ptx_diag *diag)
{
	return ptx_fail(diag, 1, 1, "the text is not the one that was checked");
}

/* The text from `begin` up to the next part that is left out, or the end, is read next, with the first
 * word of that. */
static void fetch_gap(const struct parser *p, size_t begin)
{
	if (p->known.read) {
		size_t end = p->gap < p->gap_end ? p->gap->offset + (size_t)MOST_OF_A_WORD
			: p->known.size;
		p->known.read(p->known.arg, begin, end);
	}
}

/* Go on at `offset`, which is on line `line`, in a text that is there from `there` on: beyond that no
 * line is followed to its beginning. */
static void seek(struct parser *p, size_t there, uint64_t offset, uint32_t line)
{
	const char *at = p->text + offset, *begin = p->text + there;
	const char *before = memrchr(begin, '\n', offset - there);
	p->lexer.next = at;
	p->lexer.line = (int)line;
	p->lexer.line_start = before ? before + 1 : begin;
	advance(p);
}

/* Where a line may begin that has `offset` on it. */
static size_t line_from(const struct parser *p, size_t offset)
{
	return !p->known.read || offset < MOST_OF_A_LINE ? 0 : offset - MOST_OF_A_LINE;
}

/* All that come one right after the other. */
void part_leave_out(struct parser *p)
{
	uint64_t size = (uint64_t)(p->lexer.end - p->text), end;
	const struct ptx_part *part;
	do {
		part = p->gap++;
		struct ptx_func **slot = list_add(p, &p->funcs, sizeof(*slot));
		if (!slot || part->size > size - part->offset
		    || part->index != p->funcs.count - 1) {
			parser_fail(p, "the text is not the one that was checked");
			return;
		}
		*slot = &no_kernel;
		end = (uint64_t)part->offset + part->size;
	} while (p->gap < p->gap_end && p->gap->offset == end);
	size_t there = end < size ? line_from(p, end) : size;
	fetch_gap(p, there);
	seek(p, there, end, part->end_line);
}

bool parse_outline(struct ptx_module *out, const char *text, const struct kudzu_text *known,
	const struct ptx_part *parts, size_t count, struct ptx_diag *diag)
{
	struct parser *p = mem_zalloc(1, sizeof(*p));
	*out = (struct ptx_module){.arena = ARENA_INIT, .text_size = known->size,
		.text_hash = {known->hash_high, known->hash_low}, .is_separable = true, .parser = p};
	if (!p) {
		return ptx_no_memory(diag);
	}
	p->known = *known;
	p->gap = parts;
	p->gap_end = parts + count;
	fetch_gap(p, 0);
	parse_begin(p, out, text, known->size, diag);
	parse_top(p);
	parse_end(p);
	bool ok = !p->failed && (p->gap == p->gap_end || fail_other(diag));
	if (!ok) {
		parse_free(out);
	}
	return ok;
}

/* Nothing may be left of a part that failed. */
static void forget_part(struct parser *p)
{
	struct list *lists[] = {&p->params, &p->relocs, &p->regs, &p->func_vars, &p->insts,
		&p->labels, &p->fixups};
	for (size_t i = 0; i < countof(lists); i++) {
		lists[i]->count = 0;
	}
	p->scope = p->global;
	free_scopes(p, p->global);
	p->failed = false;
	p->part = NULL;
}

struct ptx_func *parse_part(struct ptx_module *module, const struct ptx_part *part,
	struct ptx_diag *diag)
{
	struct parser *p = module->parser;
	if (part->offset > module->text_size || part->size > module->text_size - part->offset
	    || part->index >= module->func_count) {
		fail_other(diag);
		return NULL;
	}
	p->part = part;
	p->diag = diag;
	p->read = NULL;
	size_t there = line_from(p, part->offset), end = (size_t)part->offset + part->size;
	if (p->known.read) {
		p->known.read(p->known.arg, there, end);
	}
	p->lexer.end = p->text + end;
	seek(p, there, part->offset, part->line);
	if (!p->failed && !parse_definition_or_variable(p)) {
		fail_expected(p, "a kernel");
	}
	struct ptx_func *func = p->failed || !at_end(p) ? NULL : p->read;
	forget_part(p);
	if (func) {
		func->index = part->index;
		module->funcs[part->index] = func;
	} else if (!diag->message[0]) {
		fail_other(diag); /* no kernel, but something else that may stand there */
	}
	return func;
}

void parse_forget(struct ptx_module *module, const struct ptx_part *part,
	const struct arena_mark *mark)
{
	if (part->index < module->func_count) {
		module->funcs[part->index] = &no_kernel;
	}
	arena_reset(&module->arena, mark);
}
