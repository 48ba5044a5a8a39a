/* SPDX-License-Identifier: MIT */
/*
 * The parameters of a kernel.
 *
 * The compiler gives the types and their number.  Names are in the source only.  After each
 * __global__ stand a name and a list in parentheses.  If the name is the kernel's and the list has
 * the right length, the last word of each item is the parameter's name.  This is no parser, and a
 * wrong guess does no harm.
 */
#include "cli/parameters.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* A piece of a text. */
struct piece {
	const char *at;
	size_t length;
};

static bool parameters_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static struct piece parameters_trim(const char *from, const char *to)
{
	while (from < to && isspace((unsigned char)*from)) {
		from++;
	}
	while (to > from && isspace((unsigned char)to[-1])) {
		to--;
	}
	return (struct piece){from, (size_t)(to - from)};
}

static bool parameters_piece_is(struct piece piece, const char *text)
{
	return strlen(text) == piece.length && strncmp(piece.at, text, piece.length) == 0;
}

/* The end of a comment or literal that begins here; `at` if none does. */
static const char *parameters_skip_dead(const char *at)
{
	const char *end;
	if (at[0] == '/' && at[1] == '/') {
		return at + strcspn(at, "\n");
	}
	if (at[0] == '/' && at[1] == '*') {
		end = strstr(at + 2, "*/");
		return end ? end + 2 : at + strlen(at);
	}
	if (*at != '"') {
		return at;
	}
	for (end = at + 1; *end && *end != '"' && *end != '\n'; end++) {
		end += *end == '\\' && end[1];
	}
	return *end == '"' ? end + 1 : end;
}

/* Split a list at its commas.  `at` is after the opening parenthesis, and `end` is set to the
 * closing one.  SIZE_MAX if that is missing or there are too many pieces. */
static size_t parameters_split(
	struct piece pieces[PARAMETERS_MAX], const char *at, const char **end)
{
	size_t count = 0;
	int depth = 0;
	const char *start = at;
	while (*at) {
		const char *live = parameters_skip_dead(at);
		if (live != at) {
			at = live;
			continue;
		}
		bool closes = strchr(")]}>", *at);
		if (depth == 0 && (*at == ',' || *at == ')')) {
			struct piece piece = parameters_trim(start, at);
			if (count == PARAMETERS_MAX) {
				return SIZE_MAX;
			}
			if (*at == ',' || count > 0
				|| (piece.length && !parameters_piece_is(piece, "void"))) {
				pieces[count++] = piece;
			}
			start = at + 1;
		}
		if (depth == 0 && *at == ')') {
			*end = at;
			return count;
		}
		depth += strchr("([{<", *at) ? 1 : closes && depth > 0 ? -1 : 0;
		at++;
	}
	return SIZE_MAX;
}

/* Types: what is between the last pair of parentheses of the signature. */

static const char *parameters_list_of(const char *signature)
{
	const char *at = signature + strlen(signature);
	int depth = 0;
	while (at > signature) {
		at--;
		depth += *at == ')' ? 1 : *at == '(' ? -1 : 0;
		if (*at == '(' && depth <= 0) {
			return at;
		}
	}
	return NULL;
}

static void parameters_copy_piece(char *out, size_t size, struct piece piece)
{
	if (piece.length < size) {
		memcpy(out, piece.at, piece.length);
		out[piece.length] = '\0';
	}
}

static void parameters_read_types(struct parameters *out, const char *signature)
{
	struct piece pieces[PARAMETERS_MAX];
	const char *list = parameters_list_of(signature), *end;
	size_t count = list ? parameters_split(pieces, list + 1, &end) : SIZE_MAX;
	if (count == SIZE_MAX || (count == 1 && parameters_piece_is(pieces[0], "..."))) {
		return;
	}
	out->known = true;
	out->count = count;
	for (size_t i = 0; i < count; i++) {
		if (*pieces[i].at != '?') {
			parameters_copy_piece(
				out->items[i].type, sizeof(out->items[i].type), pieces[i]);
		}
	}
}

/* Names */

/* The kernel's own name: "scale" of "ns::scale<float, 4>(float *)". */
static struct piece parameters_own_name(const char *signature)
{
	const char *end = signature + strcspn(signature, "<(");
	while (end > signature && isspace((unsigned char)end[-1])) {
		end--;
	}
	const char *start = end;
	while (start > signature && parameters_is_word(start[-1])) {
		start--;
	}
	return (struct piece){start, (size_t)(end - start)};
}

static bool parameters_is_one_of(struct piece word, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (parameters_piece_is(word, words[i])) {
			return true;
		}
	}
	return false;
}

/* "x" of "const float *__restrict__ x[4] = ..."; nothing of a lone type. */
static struct piece parameters_declared_name(struct piece item)
{
	static const char *const words[] = {"const", "volatile", "__restrict__", "restrict",
		"struct", "int", "char", "short", "long", "unsigned", "signed", "float", "double",
		"bool"};
	enum { QUALIFIERS = 5, WORDS = sizeof(words) / sizeof(*words) };
	struct piece name = {"", 0};
	bool typed = false, ends_in_name = false; /* something before it is a type */
	int depth = 0;
	for (const char *at = item.at, *limit = at + item.length; at < limit;) {
		const char *live = parameters_skip_dead(at);
		if (live != at || isspace((unsigned char)*at)) {
			at = live != at ? live : at + 1;
			continue;
		}
		if (depth <= 0 && (*at == '[' || *at == '=')) {
			break;
		}
		typed = typed || *at == '*' || *at == '&' || *at == '>'
			|| (ends_in_name && !parameters_is_one_of(name, words, QUALIFIERS));
		typed = typed && *at != ':';
		depth += *at == '<' ? 1 : *at == '>' ? -1 : 0;
		const char *start = at;
		while (at < limit && parameters_is_word(*at)) {
			at++;
		}
		name = (struct piece){start, (size_t)(at - start)};
		ends_in_name = at > start;
		at += at == start;
	}
	bool is_type = !typed || isdigit((unsigned char)*name.at)
		|| parameters_is_one_of(name, words, WORDS);
	return !ends_in_name || is_type ? (struct piece){"", 0} : name;
}

/* The next word, and whether a parenthesis follows; false at the end of the declaration. */
static bool parameters_next_word(struct piece *word, const char **at)
{
	while (**at && **at != '{' && **at != ';') {
		const char *live = parameters_skip_dead(*at);
		if (live != *at) {
			*at = live;
		} else if (parameters_is_word(**at)) {
			const char *start = *at;
			while (parameters_is_word(**at)) {
				++*at;
			}
			*word = (struct piece){start, (size_t)(*at - start)};
			while (isspace((unsigned char)**at)) {
				++*at;
			}
			return true;
		} else {
			++*at;
		}
	}
	return false;
}

/* After __global__: the names, if it is this kernel with as many parameters. */
static bool parameters_take_declaration(struct parameters *out, struct piece kernel, const char *at)
{
	struct piece word, pieces[PARAMETERS_MAX];
	const char *end;
	while (parameters_next_word(&word, &at)) {
		if (*at != '(') {
			continue;
		}
		bool mine = word.length == kernel.length
			&& strncmp(word.at, kernel.at, word.length) == 0;
		size_t count = parameters_split(pieces, at + 1, &end);
		if (count == SIZE_MAX || (mine && count != out->count)) {
			return false;
		}
		if (mine) {
			for (size_t i = 0; i < count; i++) {
				struct piece name = parameters_declared_name(pieces[i]);
				if (name.length) {
					parameters_copy_piece(out->items[i].name,
						sizeof(out->items[i].name), name);
				}
			}
			return true;
		}
		at = end + 1; /* __launch_bounds__(256) */
	}
	return false;
}

static void parameters_read_names(struct parameters *out, struct piece kernel, const char *source)
{
	static const char mark[] = "__global__";
	for (const char *at = source; *at;) {
		const char *live = parameters_skip_dead(at);
		if (live != at) {
			at = live;
		} else if (!parameters_is_word(*at)) {
			at++;
		} else {
			const char *start = at;
			while (parameters_is_word(*at)) {
				at++;
			}
			if (parameters_piece_is((struct piece){start, (size_t)(at - start)}, mark)
			    && parameters_take_declaration(out, kernel, at)) {
				return;
			}
		}
	}
}

void parameters_read(struct parameters *out, const char *signature, const char *source)
{
	memset(out, 0, sizeof(*out));
	parameters_read_types(out, signature);
	for (size_t i = 0; i < PARAMETERS_MAX; i++) {
		snprintf(out->items[i].name, sizeof(out->items[i].name), "arg%zu", i + 1);
	}
	if (source && out->known) {
		parameters_read_names(out, parameters_own_name(signature), source);
	}
}

int parameters_find(const struct parameters *parameters, const char *name)
{
	for (size_t i = 0; i < parameters->count; i++) {
		if (strcmp(parameters->items[i].name, name) == 0) {
			return (int)i;
		}
	}
	return -1;
}
