/* SPDX-License-Identifier: MIT */
/*
 * What a source text asks the preprocessor for.
 *
 * No text is preprocessed here: wherever the letters "include" or "embed" stand, with a name in
 * quotes or angle brackets after them, that name counts.  So #include, #include_next, #embed,
 * __has_include(...) and %:include are found however they are written, under any #if, and so are a
 * few names that are none, which does no harm: a file too many is looked at.  Only an #include
 * whose name is no literal needs a look at what stands before it.
 *
 * Backslashes at the ends of lines may cut any word in two; a text with such is scanned without
 * them.
 */
#include "base/common.h"

#include "cache/includes.h"

#include "base/alloc.h"
#include "base/cores.h"

#include <ctype.h>
#include <string.h>

struct scanner {
	struct includes *out;
	const char *begin;
	const char *end;
};

/* So many bytes at a time; where the processor has no registers of that size, it takes two. */
typedef uint8_t block __attribute__((vector_size(32)));
enum { BLOCK = sizeof(block) };

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Blanks of a line, and comments. */
static const char *skip_blanks(const struct scanner *in, const char *at)
{
	while (at < in->end) {
		if (*at == ' ' || *at == '\t' || *at == '\v' || *at == '\f') {
			at++;
		} else if (in->end - at > 3 && at[0] == '/' && at[1] == '*') {
			const char *close = memmem(at + 2, (size_t)(in->end - at) - 2, "*/", 2);
			at = close ? close + 2 : in->end;
		} else {
			break;
		}
	}
	return at;
}

static bool has_name(const struct str *names, const char *name, size_t len)
{
	for (const char *at = names->data; at && at < names->data + names->len;
		at += strlen(at) + 1) {
		if (strncmp(at, name, len) == 0 && at[len] == '\0') {
			return true;
		}
	}
	return false;
}

/* The name that begins at a quote or bracket; false if none does. */
static bool take_name(const struct scanner *in, const char *at)
{
	if (at >= in->end || (*at != '"' && *at != '<')) {
		return false;
	}
	char close = *at == '"' ? '"' : '>';
	const char *end = at + 1;
	while (end < in->end && *end != close && *end != '\n' && *end != '\0') {
		end++;
	}
	size_t len = (size_t)(end - at);
	if (end < in->end && *end == close && len > 1 && !has_name(&in->out->names, at, len)) {
		str_addn(&in->out->names, at, len);
		str_addc(&in->out->names, '\0');
	}
	return true;
}

/* Whether the word at `at` is that of a directive: # or %: is before it, or a comment, behind which
 * either may be. */
static bool is_directive(const struct scanner *in, const char *at)
{
	while (at > in->begin && (at[-1] == ' ' || at[-1] == '\t')) {
		at--;
	}
	return at > in->begin
	       && (at[-1] == '#' || at[-1] == ':' || (at[-1] == '/' && at - in->begin > 1 && at[-2] == '*'));
}

/* The letters of `word` are at `at`; what follows them? */
static void take_word(const struct scanner *in, const char *at, size_t len)
{
	const char *next = at + len;
	if (in->end - next >= 5 && memcmp(next, "_next", 5) == 0) {
		next += 5;
	}
	if (next < in->end && is_word(*next)) {
		return; /* the beginning of another word */
	}
	next = skip_blanks(in, next);
	bool asks = at - in->begin >= 6 && memcmp(at - 6, "__has_", 6) == 0;
	if (asks && next < in->end && *next == '(') {
		next = skip_blanks(in, next + 1);
	}
	if (next < in->end && is_word(*next) && (asks || is_directive(in, at))) {
		in->out->has_macro = true;
	}
	take_name(in, next);
}

/* Whether the text goes on with a word at `at`, or has it just before. */
static bool is_at(const struct scanner *in, const char *at, const char *word)
{
	size_t len = strlen(word);
	return (size_t)(in->end - at) >= len && memcmp(at, word, len) == 0;
}

static bool is_before(const struct scanner *in, const char *at, const char *word)
{
	size_t len = strlen(word);
	return (size_t)(at - in->begin) >= len && memcmp(at - len, word, len) == 0;
}

/* What is looked for stands around the byte at `at`, and the next one: "cl" of "include", "mb" of
 * "embed", "ss" of "assert"; __DATE__, __FILE__ and the like, also with their beginnings pasted to
 * them. */
static void take_words(const struct scanner *in, const char *at)
{
	struct includes *out = in->out;
	if (is_at(in, at, "clude") && is_before(in, at, "in")) {
		take_word(in, at - 2, sizeof("include") - 1);
	} else if (is_at(in, at, "mbed") && is_before(in, at, "e")) {
		take_word(in, at - 1, sizeof("embed") - 1);
	} else if (is_at(in, at, "E__")) {
		out->has_time |= is_before(in, at, "DAT") || is_before(in, at, "TIM");
		out->has_place |= is_before(in, at, "FIL") || is_before(in, at, "_NAM");
	} else {
		out->has_time |= is_at(in, at, "P__") && is_before(in, at, "TIMESTAM");
		out->has_place |= (is_at(in, at, "ssert") && is_before(in, at, "a"))
			|| is_at(in, at, "_FILE") || is_at(in, at, "_location");
	}
}

/* Look where any of these pairs of letters is, which are few in most texts: memmem or memchr for
 * each word takes longer than all else that a hit in the cache does.  Up to where it got. */
static always_inline const char *find_in_blocks(const struct scanner *in)
{
	const char *at = in->begin;
	for (; in->end - at > BLOCK; at += BLOCK) {
		block one, next;
		uint64_t found[BLOCK / 8];
		memcpy(&one, at, sizeof(one));
		memcpy(&next, at + 1, sizeof(next));
		block any = (block)((one == 'c') & (next == 'l'))
			| (block)((one == 'm') & (next == 'b'))
			| (block)((one == 's') & (next == 's'))
			| (block)(((one == 'E') | (one == 'P')) & (next == '_'))
			| (block)((one == '_') & ((next == 'F') | (next == 'l')));
		memcpy(found, &any, sizeof(any));
		if (likely((found[0] | found[1] | found[2] | found[3]) == 0)) {
			continue;
		}
		for (int i = 0; i < BLOCK; i++) {
			if (any[i]) {
				take_words(in, at + i);
			}
		}
	}
	return at;
}

#if defined(__x86_64__)
__attribute__((target("avx2")))
#endif
static const char *find_wide(const struct scanner *in)
{
	return find_in_blocks(in);
}

static const char *find_narrow(const struct scanner *in)
{
	return find_in_blocks(in);
}

static void find_words(const struct scanner *in)
{
	const char *at = cores_have_avx2() ? find_wide(in) : find_narrow(in);
	for (; at < in->end; at++) {
		take_words(in, at);
	}
}

/* How many bytes at `at` are a backslash and the end of its line. */
static size_t splice_size(const char *at, const char *end)
{
	return at[0] != '\\' ? 0 : end - at > 1 && at[1] == '\n' ? 2
		: end - at > 2 && at[1] == '\r' && at[2] == '\n' ? 3 : 0;
}

static bool has_splices(const char *text, const char *end)
{
	for (; (text = memchr(text, '\\', (size_t)(end - text))); text++) {
		if (splice_size(text, end) > 0) {
			return true;
		}
	}
	return false;
}

/* The text without backslashes at ends of lines; NULL when memory runs out. */
static char *without_splices(size_t *out_size, const char *text, size_t size)
{
	char *copy = mem_alloc(size + 1);
	size_t used = 0;
	for (size_t i = 0; i < size && copy; i++) {
		size_t gap = splice_size(text + i, text + size);
		if (gap) {
			i += gap - 1;
		} else {
			copy[used++] = text[i];
		}
	}
	*out_size = used;
	return copy;
}

bool includes_scan(struct includes *out, const char *text, size_t size)
{
	char *copy = NULL;
	*out = (struct includes){.names = STR_INIT};
	if (has_splices(text, text + size)) {
		copy = without_splices(&size, text, size);
		if (!copy) {
			return false;
		}
		text = copy;
	}
	struct scanner in = {out, text, text + size};
	find_words(&in);
	mem_free(copy);
	if (out->names.failed) {
		includes_free(out);
		return false;
	}
	return true;
}

void includes_free(struct includes *includes)
{
	str_free(&includes->names);
}
