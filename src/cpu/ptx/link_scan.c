/* SPDX-License-Identifier: MIT */
/*
 * The linker's look at an input: directives of module scope with the names that they declare.  The
 * text has been parsed before, so that this need not find mistakes, only its way.
 */
#include "base/common.h"

#include "cpu/ptx/link_scan.h"


#include <string.h>

/* One pass over an input. */
struct scan {
	struct linker *linker;
	struct input *input;
	struct lexer lexer;
	struct token token;
	struct ptx_diag *diag;
	bool failed;
};

static void next_token(struct scan *s)
{
	if (!lex_next(&s->lexer, &s->token, s->diag)) {
		s->failed = true;
	}
}

static bool is(const struct scan *s, const char *text)
{
	return token_is(&s->token, text);
}

static bool at_end(const struct scan *s)
{
	return s->failed || s->token.kind == TOKEN_END;
}

static void *scan_alloc(struct scan *s, size_t size)
{
	void *memory = arena_alloc(&s->linker->arena, 1, size);
	if (memory == NULL) {
		s->failed = true;
		ptx_no_memory(s->diag);
	}
	return memory;
}

/* Skip from an opening mark behind the one that closes it. */
static void skip_group(struct scan *s, const char *open, const char *close)
{
	size_t depth = 0;
	do {
		depth += is(s, open);
		depth -= is(s, close);
		next_token(s);
	} while (depth > 0 && !at_end(s));
}

/* The token at hand declares a name of the item. */
static void add_name(struct scan *s, struct item *item)
{
	struct name *name = scan_alloc(s, sizeof(*name));
	char *text = arena_strndup(&s->linker->arena, s->token.text, s->token.len);
	if (name == NULL || text == NULL) {
		s->failed = true;
		ptx_no_memory(s->diag);
		return;
	}
	*name = (struct name){.text = text, .item = item, .next = item->names};
	item->names = name;
	struct name *old = map_get(&s->input->names, text);
	if ((old == NULL || old->item->linkage == LINK_EXTERN)
	    && !map_put(&s->input->names, old != NULL ? old->text : text, name)) {
		s->failed = true;
		ptx_no_memory(s->diag);
	}
}

/* Behind .entry or .func, up to the body's end or the semicolon. */
static void scan_function(struct scan *s, struct item *item)
{
	while (!at_end(s) && !link_is_name(&s->token)) {
		if (is(s, "(")) {
			skip_group(s, "(", ")");
		} else {
			next_token(s);
		}
	}
	add_name(s, item);
	while (!at_end(s) && !is(s, "{") && !is(s, ";")) {
		next_token(s);
	}
	item->head_end = s->token.text;
	if (is(s, "{")) {
		skip_group(s, "{", "}");
	} else {
		next_token(s);
	}
}

/* Behind .global, .const or .shared, up to the semicolon. */
static void scan_variable(struct scan *s, struct item *item)
{
	bool in_value = false;
	while (!at_end(s) && !is(s, ";")) {
		if (is(s, "(")) {
			skip_group(s, "(", ")");
			continue;
		}
		if (is(s, "{")) {
			skip_group(s, "{", "}");
			continue;
		}
		if (is(s, "=")) {
			in_value = true;
			item->head_end = item->head_end ? item->head_end : s->token.text;
		} else if (is(s, ",")) {
			in_value = false;
		} else if (!in_value && is(s, "<")) {
			s->failed = true;
			ptx_unsupported(s->diag, s->token.line, s->token.column,
				"variables declared as a range cannot be linked");
		} else if (!in_value && link_is_name(&s->token)) {
			add_name(s, item);
		}
		next_token(s);
	}
	item->head_end = item->head_end ? item->head_end : s->token.text;
	next_token(s);
}

static void scan_version(struct scan *s)
{
	next_token(s);
	int major = (int)s->token.real;
	int minor = s->token.len > 0 ? s->token.text[s->token.len - 1] - '0' : 0;
	if (10 * major + minor > 10 * s->linker->version_major + s->linker->version_minor) {
		s->linker->version_major = major;
		s->linker->version_minor = minor;
	}
	next_token(s);
}

static void scan_target(struct scan *s)
{
	next_token(s);
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
	next_token(s);
	while (is(s, ",") && !at_end(s)) {
		next_token(s);
		next_token(s);
	}
}

/* What a module says of itself, and what is left out; false at anything else. */
static bool scan_header(struct scan *s)
{
	if (is(s, ".version")) {
		scan_version(s);
	} else if (is(s, ".target")) {
		scan_target(s);
	} else if (is(s, ".address_size")) {
		next_token(s);
		next_token(s);
	} else if (is(s, ".section")) {
		next_token(s);
		next_token(s);
		skip_group(s, "{", "}");
	} else {
		return false;
	}
	return true;
}

static enum linkage scan_linkage(struct scan *s)
{
	enum linkage linkage = LINK_LOCAL;
	for (;; next_token(s)) {
		if (is(s, ".extern")) {
			linkage = LINK_EXTERN;
		} else if (is(s, ".weak") || is(s, ".common")) {
			linkage = LINK_WEAK;
		} else if (is(s, ".visible")) {
			linkage = LINK_STRONG;
		} else {
			return linkage;
		}
	}
}

/* .file, .pragma and what else has no name: up to the next directive on this level. */
static void scan_other(struct scan *s)
{
	if (is(s, ".file")) {
		next_token(s);
		uint64_t number = s->token.value;
		if (number < INT32_MAX && number >= s->input->file_count) {
			s->input->file_count = number + 1;
		}
	}
	do {
		next_token(s);
	} while (!at_end(s) && !(s->token.kind == TOKEN_WORD && s->token.text[0] == '.'));
}

/* Behind .alias: as visible as the declaration in front of it says. */
static void scan_alias(struct scan *s, struct item *item)
{
	const struct name *old = s->token.kind == TOKEN_WORD
		? map_getn(&s->input->names, s->token.text, s->token.len) : NULL;
	struct lexer lexer;
	struct token first = {.kind = TOKEN_END};
	struct ptx_diag ignored;
	if (old != NULL && old->item->linkage != LINK_LOCAL) {
		lex_init(&lexer, old->item->start, (size_t)(old->item->end - old->item->start));
		item->linkage = lex_next(&lexer, &first, &ignored) && token_is(&first, ".weak")
			? LINK_WEAK : LINK_STRONG;
	}
	item->is_alias = true;
	add_name(s, item);
	while (!at_end(s) && !is(s, ";")) {
		next_token(s);
	}
	next_token(s);
}

static void scan_item(struct scan *s)
{
	struct item *item = scan_alloc(s, sizeof(*item));
	if (item == NULL) {
		return;
	}
	item->start = s->token.text;
	item->linkage = scan_linkage(s);
	if (is(s, ".entry") || is(s, ".func")) {
		item->kind = ITEM_FUNCTION;
		next_token(s);
		scan_function(s, item);
	} else if (is(s, ".global") || is(s, ".const") || is(s, ".shared")) {
		item->kind = ITEM_VARIABLE;
		item->is_shared = is(s, ".shared");
		next_token(s);
		scan_variable(s, item);
	} else if (is(s, ".alias")) {
		next_token(s);
		scan_alias(s, item);
	} else {
		scan_other(s);
	}
	// A declaration of a .visible function is one as well.
	if (item->kind == ITEM_FUNCTION && item->head_end != NULL && *item->head_end == ';'
	    && item->linkage != LINK_LOCAL) {
		item->linkage = LINK_EXTERN;
	}
	item->end = at_end(s) ? s->input->text + s->input->size : s->token.text;
	*s->input->last = item;
	s->input->last = &item->next;
}

/* How often each name of module scope stands in the text, and how often to declare it. */
static void count_uses(struct scan *s)
{
	lex_init(&s->lexer, s->input->text, s->input->size);
	next_token(s);
	while (!at_end(s)) {
		struct name *name = link_is_name(&s->token)
			? map_getn(&s->input->names, s->token.text, s->token.len) : NULL;
		if (name != NULL) {
			name->uses++;
		}
		next_token(s);
	}
	for (struct item *item = s->input->items; item != NULL; item = item->next) {
		for (struct name *name = item->names; name != NULL; name = name->next) {
			struct name *main = map_get(&s->input->names, name->text);
			main->declarations++;
		}
	}
}

bool link_scan(struct linker *linker, struct input *input, struct ptx_diag *diag)
{
	struct scan s = {.linker = linker, .input = input, .diag = diag};
	lex_init(&s.lexer, input->text, input->size);
	next_token(&s);
	while (!at_end(&s)) {
		if (!scan_header(&s)) {
			scan_item(&s);
		}
	}
	if (!s.failed) {
		count_uses(&s);
	}
	return !s.failed;
}
