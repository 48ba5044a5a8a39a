/* SPDX-License-Identifier: MIT */
/*
 * Find the files that a source text asks the preprocessor for.
 *
 * No text is preprocessed here: wherever the letters "include" or "embed" stand, with a name in
 * quotes or angle brackets after them, that name counts.  So #include, #include_next, #embed,
 * __has_include(...) and %:include are found however they are written, under any #if.  A few names
 * are found that no directive has; they do no harm, since the only effect is a look at one file
 * more.  Only an #include whose name is not a literal needs a look at what stands before it.
 *
 * Backslashes at the ends of lines may cut any word in two; a text that has some is scanned without
 * them.
 */
#include "base/common.h"

#include "lib/rtc/includes.h"

#include "base/alloc.h"

#include <string.h>

/* Skip blanks of a line, and comments. */
static const char *includes_skip(const struct includes_text *in, const char *at)
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

/* Take the name that begins at a quote or bracket, if one does and it is new. */
static void includes_take_name(const struct includes_text *in, const char *at)
{
	struct str *names = &in->out->names;
	if (at >= in->end || (*at != '"' && *at != '<')) {
		return;
	}
	char close = *at == '"' ? '"' : '>';
	const char *end = at + 1;
	while (end < in->end && *end != close && *end != '\n' && *end != '\0') {
		end++;
	}
	size_t len = (size_t)(end - at);
	bool is_new = end < in->end && *end == close && len > 1;
	for (size_t i = 0; i < names->len && is_new; i += strlen(names->data + i) + 1) {
		is_new = strncmp(names->data + i, at, len) != 0 || names->data[i + len];
	}
	if (is_new) {
		str_addn(names, at, len);
		str_addc(names, '\0');
	}
}

/* Whether the word at `at` is that of a directive: # or %: is before it, or a comment, after which
 * either may be. */
static bool includes_is_directive(const struct includes_text *in, const char *at)
{
	while (at > in->begin && (at[-1] == ' ' || at[-1] == '\t')) {
		at--;
	}
	return at > in->begin
	       && (at[-1] == '#' || at[-1] == ':'
		|| (at[-1] == '/' && at - in->begin > 1 && at[-2] == '*'));
}

static bool includes_is_before(const struct includes_text *in, const char *at, const char *word)
{
	size_t len = strlen(word);
	return (size_t)(at - in->begin) >= len && memcmp(at - len, word, len) == 0;
}

/* Whether #ifdef, #ifndef or defined() asks for the word at `at`. */
static bool includes_is_tested(const struct includes_text *in, const char *at)
{
	while (at > in->begin && (at[-1] == ' ' || at[-1] == '\t' || at[-1] == '(')) {
		at--;
	}
	return includes_is_before(in, at, "def") || includes_is_before(in, at, "defined");
}

/* The letters of "include" or "embed" are at `at`; what follows them? */
static void includes_take_word(const struct includes_text *in, const char *at, size_t len)
{
	const char *next = at + len;
	if (in->end - next >= 5 && memcmp(next, "_next", 5) == 0) {
		next += 5;
	}
	if (next < in->end && str_is_word(*next)) {
		return; /* the beginning of another word */
	}
	next = includes_skip(in, next);
	bool asks = includes_is_before(in, at, "__has_");
	if (asks && next < in->end && *next == '(') {
		next = includes_skip(in, next + 1);
	} else if (asks && !includes_is_tested(in, at - strlen("__has_"))) {
		in->out->has_macro = true; /* another name for it, whose uses nobody looks for */
	}
	if (next < in->end && str_is_word(*next) && (asks || includes_is_directive(in, at))) {
		in->out->has_macro = true;
	}
	includes_take_name(in, next);
}

/* Whether a word is at `at`. */
static bool includes_is_at(const struct includes_text *in, const char *at, const char *word)
{
	size_t len = strlen(word);
	return (size_t)(in->end - at) >= len && memcmp(at, word, len) == 0;
}

/* Look at the letters that are rare and that each word has: "cl" of "include", "mb" of "embed",
 * "ss" of "assert"; __DATE__, __FILE__ and the like, also with their beginnings pasted to them. */
void includes_scan_part(const struct includes_text *in, const char *from, const char *to)
{
	struct includes *out = in->out;
	for (const char *at = from; at < to && in->end - at > 1; at++) {
		switch (*at) {
		case 'c':
			if (at[1] == 'l' && includes_is_at(in, at, "clude")
			    && includes_is_before(in, at, "in")) {
				includes_take_word(in, at - 2, sizeof("include") - 1);
			}
			break;
		case 'm':
			if (at[1] == 'b' && includes_is_at(in, at, "mbed")
			    && includes_is_before(in, at, "e")) {
				includes_take_word(in, at - 1, sizeof("embed") - 1);
			}
			break;
		case 's':
			out->has_place |= at[1] == 's' && includes_is_at(in, at, "ssert")
				&& includes_is_before(in, at, "a");
			break;
		case 'E':
			if (at[1] == '_' && includes_is_at(in, at, "E__")) {
				out->has_time |= includes_is_before(in, at, "DAT")
					|| includes_is_before(in, at, "TIM");
				out->has_place |= includes_is_before(in, at, "FIL")
					|| includes_is_before(in, at, "_NAM");
			}
			break;
		case '?': /* a trigraph of # or of \, in the dialects that have them */
			out->has_macro |= includes_is_at(in, at, "\?\?=")
			|| includes_is_at(in, at, "\?\?/");
			break;
		case 'P':
			out->has_time |= at[1] == '_' && includes_is_at(in, at, "P__")
				&& includes_is_before(in, at, "TIMESTAM");
			break;
		case '_':
			out->has_place |= (at[1] == 'F' && includes_is_at(in, at, "_FILE"))
				|| (at[1] == 'l' && includes_is_at(in, at, "_location"));
			break;
		default:
			break;
		}
	}
}

/* How many bytes at `at` are a backslash and the end of its line. */
static size_t includes_splice(const char *at, const char *end)
{
	return at[0] != '\\' ? 0 : end - at > 1 && at[1] == '\n' ? 2
		: end - at > 2 && at[1] == '\r' && at[2] == '\n' ? 3 : 0;
}

bool includes_join_lines(char **joined, size_t *joined_size, const char *text, size_t size)
{
	const char *end = text + size, *splice = text;
	*joined = NULL;
	*joined_size = size;
	while ((splice = memchr(splice, '\\', (size_t)(end - splice)))
	    && !includes_splice(splice, end)) {
		splice++;
	}
	if (!splice) {
		return true;
	}
	char *to = *joined = mem_alloc(size);
	if (!to) {
		return false;
	}
	for (const char *from = text; from < end;) {
		size_t gap = includes_splice(from, end);
		if (gap == 0) {
			*to++ = *from++;
		}
		from += gap;
	}
	*to = '\0'; /* two bytes or more were left out */
	*joined_size = (size_t)(to - *joined);
	return true;
}

size_t includes_place_before_joining(const char *text, size_t size, size_t joined_place)
{
	size_t at = 0;
	for (size_t seen = 0; at < size;) {
		size_t gap = includes_splice(text + at, text + size);
		if (gap == 0 && seen++ == joined_place) {
			break;
		}
		at += gap ? gap : 1;
	}
	return at;
}

bool includes_scan(struct includes *out, const char *text, size_t size)
{
	char *joined;
	if (!includes_join_lines(&joined, &size, text, size)) {
		return false;
	}
	text = joined ? joined : text;
	includes_scan_part(&(struct includes_text){out, text, text + size}, text, text + size);
	mem_free(joined);
	return !out->names.failed;
}

void includes_add(struct includes *out, const struct includes *from)
{
	str_addn(&out->names, from->names.data, from->names.len);
	out->has_macro |= from->has_macro;
	out->has_time |= from->has_time;
	out->has_place |= from->has_place;
}

void includes_free(struct includes *includes)
{
	str_free(&includes->names);
}

const char *includes_why_not(const struct includes *includes)
{
	return includes->has_time ? "the output depends on the date or time"
		: includes->has_macro ? "a macro or trigraph determines what is included" : NULL;
}
