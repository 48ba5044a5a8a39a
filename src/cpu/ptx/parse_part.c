/* SPDX-License-Identifier: MIT */
/*
 * The kernels of a text as parts of it: where each one is, and how to pass over those that are not
 * read now.  Two readers of a whole text ask for that.
 *
 * parse_skim only wants to know where the kernels are: it reads the name of each, passes over the
 * rest, and leaves an empty kernel.  parse_outline.c knows that already from an earlier time: it does
 * not even look at the text of a kernel, and goes on behind it.
 */
#include "base/common.h"

#include "cpu/ptx/parser.h"

#include <string.h>

/* Of a text that is not all there so much is looked at before a part, to know its column, and so much
 * is there of the first word of one that is left out. */
enum { MOST_OF_A_LINE = 1024, MOST_OF_A_WORD = 64 };

struct ptx_func part_no_kernel = {.name = "", .is_entry = true, .is_extern = true};

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
void part_free_scopes(struct parser *p, const struct scope *until)
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
	part_free_scopes(p, newest);
	*kernel = (struct ptx_func){.name = kernel->name, .is_entry = true, .is_extern = true,
		.index = kernel->index};
	arena_reset(&p->module->arena, mark);
}

bool part_is_left_out(const struct parser *p)
{
	return p->gap < p->gap_end && (uint64_t)(p->token.text - p->text) == p->gap->offset;
}

void part_fetch_gap(const struct parser *p, size_t begin)
{
	if (p->known.read) {
		size_t end = p->gap < p->gap_end ? p->gap->offset + (size_t)MOST_OF_A_WORD
			: p->known.size;
		p->known.read(p->known.arg, begin, end);
	}
}

void part_seek(struct parser *p, size_t there, uint64_t offset, uint32_t line)
{
	const char *at = p->text + offset, *begin = p->text + there;
	const char *before = memrchr(begin, '\n', offset - there);
	p->lexer.next = at;
	p->lexer.line = (int)line;
	p->lexer.line_start = before ? before + 1 : begin;
	advance(p);
}

size_t part_line_from(const struct parser *p, size_t offset)
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
		*slot = &part_no_kernel;
		end = (uint64_t)part->offset + part->size;
	} while (p->gap < p->gap_end && p->gap->offset == end);
	size_t there = end < size ? part_line_from(p, end) : size;
	part_fetch_gap(p, there);
	part_seek(p, there, end, part->end_line);
}
