/* SPDX-License-Identifier: MIT */
/*
 * Parses what a module says to debuggers: .file, .loc and .section.
 *
 * The same place in a source is one struct ptx_loc in a function, however often the text names it,
 * so that places can be compared by their address.  An inlined place names its call by file, line
 * and column alone; the call is the newest .loc of the function with these numbers.
 *
 * A .section becomes bytes, as an assembler would write them, and the places in them that hold
 * addresses.  A section with anything else in it is left out, since only debuggers need it.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/ptx/parser.h"

#include <string.h>

enum { MAX_FILES = 1 << 16 };

/* --- .file and .loc --- */

/* .file 1 "kernel.cu", time, size */
void parse_file(struct parser *p)
{
	uint64_t index = take_int(p);
	if (p->token.kind != TOKEN_STRING) {
		fail_expected(p, "a file name in quotes");
	} else if (index >= MAX_FILES) {
		parser_fail(p, "file number %llu is above %d", (unsigned long long)index,
			MAX_FILES - 1);
	}
	const char *name = p->failed ? NULL
		: arena_strndup(&p->module->arena, p->token.text, p->token.len);
	while (name && p->files.count <= index && list_add(p, &p->files, sizeof(name))) {
	}
	if (!name || p->failed) {
		parser_no_memory(p);
		return;
	}
	((const char **)p->files.data)[index] = name;
	advance(p);
	while (accept(p, ",")) {
		take_int(p);
	}
}

static struct ptx_loc debug_take_loc(struct parser *p)
{
	uint64_t file = take_int(p), line = take_int(p), column = take_int(p);
	return (struct ptx_loc){.file = file < MAX_FILES ? (int)file : 0,
		.line = line < INT32_MAX ? (int)line : 0,
		.column = column < INT32_MAX ? (int)column : 0};
}

static bool debug_is_at(const struct ptx_loc *a, const struct ptx_loc *b)
{
	return a->file == b->file && a->line == b->line && a->column == b->column;
}

static bool debug_is_same(const struct ptx_loc *a, const struct ptx_loc *b)
{
	bool is_named = a->function && b->function;
	return debug_is_at(a, b) && a->at == b->at && a->addend == b->addend
		&& (is_named ? strcmp(a->function, b->function) == 0 : a->function == b->function);
}

static struct parse_loc **debug_list_of(struct parser *p, const struct ptx_loc *loc)
{
	return &p->locs[((unsigned)loc->line * 31u + (unsigned)loc->column) % PARSE_LOCS];
}

/* Put it in front of its list.  NULL: no memory. */
static const struct ptx_loc *debug_keep_loc(struct parser *p, const struct ptx_loc *loc)
{
	struct parse_loc **first = debug_list_of(p, loc), **link = first;
	while (*link && !debug_is_same(&(*link)->loc, loc)) {
		link = &(*link)->next;
	}
	struct parse_loc *kept = *link;
	if (kept) {
		*link = kept->next;
	} else if ((kept = parser_alloc(p, 1, sizeof(*kept)))) {
		kept->loc = *loc;
	} else {
		return NULL;
	}
	kept->next = *first;
	*first = kept;
	return &kept->loc;
}

static const struct ptx_loc *debug_find_call(struct parser *p, const struct ptx_loc *call)
{
	const struct parse_loc *known = *debug_list_of(p, call);
	while (known && !debug_is_at(&known->loc, call)) {
		known = known->next;
	}
	return known ? &known->loc : debug_keep_loc(p, call);
}

/* .loc 1 12 3, function_name $name+0, inlined_at 1 10 5 */
void parse_loc(struct parser *p)
{
	struct ptx_loc loc = debug_take_loc(p);
	while (accept(p, ",")) {
		if (accept(p, "function_name")) {
			loc.function = take_name(p);
			loc.addend = accept(p, "+") ? (size_t)take_int(p) : 0;
		} else {
			expect(p, "inlined_at");
			struct ptx_loc call = debug_take_loc(p);
			loc.at = debug_find_call(p, &call);
		}
	}
	if (!loc.at) {
		loc.function = NULL;
		loc.addend = 0;
	}
	p->loc = debug_keep_loc(p, &loc);
}

/* --- .section --- */

struct section {
	struct parse_list bytes, marks, uses;
	bool is_odd;  /* it has what we do not know */
};

/* A name that may begin with a dot, as those of sections do. */
static const char *debug_take_word(struct parser *p, const char *what)
{
	if (p->token.kind != TOKEN_WORD) {
		fail_expected(p, what);
		return NULL;
	}
	const char *word = arena_strndup(&p->module->arena, p->token.text, p->token.len);
	if (!word) {
		parser_no_memory(p);
	}
	advance(p);
	return word;
}

static void debug_add_bytes(struct parser *p, struct section *s, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		uint8_t *byte = list_add(p, &s->bytes, 1);
		if (byte) {
			*byte = (uint8_t)(value >> 8 * i);
		}
	}
}

static void debug_add_mark(struct parser *p, struct parse_list *list, struct ptx_mark mark)
{
	struct ptx_mark *slot = list_add(p, list, sizeof(*slot));
	if (slot) {
		*slot = mark;
	}
}

/* After .b8 to .b64: numbers, and names with an addend. */
static void debug_parse_data(struct parser *p, struct section *s, size_t size)
{
	do {
		if (p->token.kind == TOKEN_WORD) {
			struct ptx_mark use = {.name = debug_take_word(p, "a name"),
				.offset = s->bytes.count,
				.size = size};
			use.addend = accept(p, "+") ? take_int(p) : 0;
			s->is_odd |= at(p, "-"); // a distance between labels
			debug_add_mark(p, &s->uses, use);
			debug_add_bytes(p, s, 0, size);
		} else if (p->token.kind == TOKEN_INT) {
			debug_add_bytes(p, s, p->token.value, size);
			advance(p);
		} else {
			s->is_odd = true;
		}
	} while (accept(p, ",") && !s->is_odd);
}

static void debug_parse_item(struct parser *p, struct section *s)
{
	static const char *const data[] = {".b8", ".b16", ".b32", ".b64"};
	for (size_t i = 0; i < countof(data); i++) {
		if (accept(p, data[i])) {
			debug_parse_data(p, s, (size_t)1 << i);
			return;
		}
	}
	if (p->token.kind != TOKEN_WORD || p->token.text[0] == '.') {
		s->is_odd = true;
		return;
	}
	struct ptx_mark mark = {.name = take_name(p), .offset = s->bytes.count};
	s->is_odd |= !accept(p, ":");
	debug_add_mark(p, &s->marks, mark);
}

static void debug_skip_rest(struct parser *p)
{
	for (size_t depth = 1; depth > 0 && !p->failed;) {
		if (at_end(p)) {
			fail_expected(p, "'}'");
		}
		depth += at(p, "{");
		depth -= at(p, "}");
		advance(p);
	}
}

void parse_section(struct parser *p)
{
	struct section s = {.is_odd = false};
	struct ptx_section out = {.name = debug_take_word(p, "the name of a section")};
	expect(p, "{");
	while (!at(p, "}") && !at_end(p) && !s.is_odd) {
		debug_parse_item(p, &s);
	}
	debug_skip_rest(p);
	out.bytes = list_keep(p, &s.bytes, 1, &out.size);
	out.marks = list_keep(p, &s.marks, sizeof(*out.marks), &out.mark_count);
	out.uses = list_keep(p, &s.uses, sizeof(*out.uses), &out.use_count);
	mem_free(s.bytes.data);
	mem_free(s.marks.data);
	mem_free(s.uses.data);
	struct ptx_section *slot = s.is_odd ? NULL : list_add(p, &p->sections, sizeof(*slot));
	if (slot) {
		*slot = out;
	}
}
