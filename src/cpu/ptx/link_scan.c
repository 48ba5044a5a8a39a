/* SPDX-License-Identifier: MIT */
/*
 * Cuts an input of the linker into items: directives of module scope with the names that they
 * declare.  The parser has accepted the text before, so this file only finds its way and looks for
 * no mistakes.
 */
#include "base/common.h"

#include "cpu/ptx/link_scan.h"


#include <string.h>

/* One pass over an input. */
struct link_scan {
	struct linker *linker;
	struct input *input;
	struct lexer lexer;
	struct lex_token token;
	struct ptx_diag *diag;
	bool failed;
};

static void scan_next_token(struct link_scan *s)
{
	if (!lex_next(&s->lexer, &s->token, s->diag)) {
		s->failed = true;
	}
}

static bool scan_is(const struct link_scan *s, const char *text)
{
	return token_is(&s->token, text);
}

static bool scan_at_end(const struct link_scan *s)
{
	return s->failed || s->token.kind == TOKEN_END;
}

static void *scan_alloc(struct link_scan *s, size_t size)
{
	void *memory = arena_alloc(&s->linker->arena, 1, size);
	if (!memory) {
		s->failed = true;
		ptx_no_memory(s->diag);
	}
	return memory;
}

/* Skip from an opening mark past the one that closes it. */
static void scan_skip_group(struct link_scan *s, const char *open, const char *close)
{
	size_t depth = 0;
	do {
		depth += scan_is(s, open);
		depth -= scan_is(s, close);
		scan_next_token(s);
	} while (depth > 0 && !scan_at_end(s));
}

/* The token at hand declares a name of the item. */
static void scan_add_name(struct link_scan *s, struct item *item)
{
	struct name *name = scan_alloc(s, sizeof(*name));
	char *text = arena_strndup(&s->linker->arena, s->token.text, s->token.len);
	if (!name || !text) {
		s->failed = true;
		ptx_no_memory(s->diag);
		return;
	}
	*name = (struct name){.text = text, .item = item, .next = item->names};
	item->names = name;
	struct name *old = map_get(&s->input->names, text);
	if ((!old || old->item->linkage == LINK_EXTERN)
	    && !map_put(&s->input->names, old ? old->text : text, name)) {
		s->failed = true;
		ptx_no_memory(s->diag);
	}
}

/* After .entry or .func, up to the body's end or the semicolon. */
static void scan_function(struct link_scan *s, struct item *item)
{
	while (!scan_at_end(s) && !link_is_name(&s->token)) {
		if (scan_is(s, "(")) {
			scan_skip_group(s, "(", ")");
		} else {
			scan_next_token(s);
		}
	}
	scan_add_name(s, item);
	while (!scan_at_end(s) && !scan_is(s, "{") && !scan_is(s, ";")) {
		item->limits_registers = item->limits_registers || scan_is(s, ".maxnreg");
		scan_next_token(s);
	}
	item->head_end = s->token.text;
	if (scan_is(s, "{")) {
		scan_skip_group(s, "{", "}");
	} else {
		scan_next_token(s);
	}
}

/* After .global, .const or .shared, up to the semicolon. */
static void scan_variable(struct link_scan *s, struct item *item)
{
	bool in_value = false;
	while (!scan_at_end(s) && !scan_is(s, ";")) {
		if (scan_is(s, "(")) {
			scan_skip_group(s, "(", ")");
			continue;
		}
		if (scan_is(s, "{")) {
			scan_skip_group(s, "{", "}");
			continue;
		}
		if (scan_is(s, "=")) {
			in_value = true;
			item->head_end = item->head_end ? item->head_end : s->token.text;
		} else if (scan_is(s, ",")) {
			in_value = false;
		} else if (!in_value && scan_is(s, "<")) {
			s->failed = true;
			ptx_unsupported(s->diag, s->token.line, s->token.column,
				"variables declared as a range cannot be linked");
		} else if (!in_value && link_is_name(&s->token)) {
			scan_add_name(s, item);
		}
		scan_next_token(s);
	}
	item->head_end = item->head_end ? item->head_end : s->token.text;
	scan_next_token(s);
}

static void scan_version(struct link_scan *s)
{
	scan_next_token(s);
	int major = (int)s->token.real;
	int minor = s->token.len > 0 ? s->token.text[s->token.len - 1] - '0' : 0;
	if (10 * major + minor > 10 * s->linker->version_major + s->linker->version_minor) {
		s->linker->version_major = major;
		s->linker->version_minor = minor;
	}
	scan_next_token(s);
}

static void scan_target(struct link_scan *s)
{
	scan_next_token(s);
	int target = 0;
	for (size_t i = 3; i < s->token.len && target < 10000; i++) {
		char c = s->token.text[i];
		target = c >= '0' && c <= '9' ? 10 * target + c - '0' : target;
	}
	if (target > s->linker->target) {
		s->linker->target = target;
		s->linker->target_text = s->token.text;
		s->linker->target_len = s->token.len;
	}
	scan_next_token(s);
	while (scan_is(s, ",") && !scan_at_end(s)) {
		scan_next_token(s);
		scan_next_token(s);
	}
}

/* What a module says of itself, and what is left out; false at anything else. */
static bool scan_header(struct link_scan *s)
{
	if (scan_is(s, ".version")) {
		scan_version(s);
	} else if (scan_is(s, ".target")) {
		scan_target(s);
	} else if (scan_is(s, ".address_size")) {
		scan_next_token(s);
		scan_next_token(s);
	} else if (scan_is(s, ".section")) {
		scan_next_token(s);
		scan_next_token(s);
		scan_skip_group(s, "{", "}");
	} else {
		return false;
	}
	return true;
}

static enum linkage scan_linkage(struct link_scan *s)
{
	enum linkage linkage = LINK_LOCAL;
	for (;; scan_next_token(s)) {
		if (scan_is(s, ".extern")) {
			linkage = LINK_EXTERN;
		} else if (scan_is(s, ".weak") || scan_is(s, ".common")) {
			linkage = LINK_WEAK;
		} else if (scan_is(s, ".visible")) {
			linkage = LINK_STRONG;
		} else {
			return linkage;
		}
	}
}

/* .file, .pragma and what else has no name: up to the next directive on this level. */
static void scan_other(struct link_scan *s)
{
	if (scan_is(s, ".file")) {
		scan_next_token(s);
		uint64_t number = s->token.value;
		if (number < INT32_MAX && number >= s->input->file_count) {
			s->input->file_count = number + 1;
		}
	}
	do {
		scan_next_token(s);
	} while (!scan_at_end(s) && !(s->token.kind == TOKEN_WORD && s->token.text[0] == '.'));
}

/* After .alias: as visible as the declaration in front of it says. */
static void scan_alias(struct link_scan *s, struct item *item)
{
	const struct name *old = s->token.kind == TOKEN_WORD
		? map_getn(&s->input->names, s->token.text, s->token.len) : NULL;
	struct lexer lexer;
	struct lex_token first = {.kind = TOKEN_END};
	struct ptx_diag ignored;
	if (old && old->item->linkage != LINK_LOCAL) {
		lex_init(&lexer, old->item->start, (size_t)(old->item->end - old->item->start));
		item->linkage = lex_next(&lexer, &first, &ignored) && token_is(&first, ".weak")
			? LINK_WEAK : LINK_STRONG;
	}
	item->is_alias = true;
	scan_add_name(s, item);
	while (!scan_at_end(s) && !scan_is(s, ";")) {
		scan_next_token(s);
	}
	scan_next_token(s);
}

static void scan_item(struct link_scan *s)
{
	struct item *item = scan_alloc(s, sizeof(*item));
	if (!item) {
		return;
	}
	item->start = s->token.text;
	item->linkage = scan_linkage(s);
	if (scan_is(s, ".entry") || scan_is(s, ".func")) {
		item->kind = ITEM_FUNCTION;
		item->is_entry = scan_is(s, ".entry");
		scan_next_token(s);
		scan_function(s, item);
	} else if (scan_is(s, ".global") || scan_is(s, ".const") || scan_is(s, ".shared")) {
		item->kind = ITEM_VARIABLE;
		item->is_shared = scan_is(s, ".shared");
		scan_next_token(s);
		scan_variable(s, item);
	} else if (scan_is(s, ".alias")) {
		scan_next_token(s);
		scan_alias(s, item);
	} else {
		scan_other(s);
	}
	// A declaration of a .visible function is one as well.
	if (item->kind == ITEM_FUNCTION && item->head_end && *item->head_end == ';'
	    && item->linkage != LINK_LOCAL) {
		item->linkage = LINK_EXTERN;
	}
	item->end = scan_at_end(s) ? s->input->text + s->input->size : s->token.text;
	*s->input->last = item;
	s->input->last = &item->next;
}

/* How often each name of module scope stands in the text, and how often to declare it. */
static void scan_count_uses(struct link_scan *s)
{
	lex_init(&s->lexer, s->input->text, s->input->size);
	scan_next_token(s);
	while (!scan_at_end(s)) {
		struct name *name = link_is_name(&s->token)
			? map_getn(&s->input->names, s->token.text, s->token.len) : NULL;
		if (name) {
			name->uses++;
		}
		scan_next_token(s);
	}
	for (struct item *item = s->input->items; item; item = item->next) {
		for (struct name *name = item->names; name; name = name->next) {
			struct name *main = map_get(&s->input->names, name->text);
			main->declarations++;
		}
	}
}

bool link_scan(struct linker *linker, struct input *input, struct ptx_diag *diag)
{
	struct link_scan s = {.linker = linker, .input = input, .diag = diag};
	lex_init(&s.lexer, input->text, input->size);
	scan_next_token(&s);
	while (!scan_at_end(&s)) {
		if (!scan_header(&s)) {
			scan_item(&s);
		}
	}
	if (!s.failed) {
		scan_count_uses(&s);
	}
	return !s.failed;
}
