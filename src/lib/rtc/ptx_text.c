/* SPDX-License-Identifier: MIT */
/*
 * PTX as text: its tokens, its version, and the lines of source that its lines come from.
 *
 * Nothing is checked here: a character that cannot begin a token is a token of one character.
 *
 * PTX with line information has a directive before the instructions of each line of source:
 * `.loc 1 101 3` is file, line and column.  The last one in the same function counts.  The names of
 * the files are behind the functions: `.file 1 "/home/me/k.cu"`.
 */
#include "base/common.h"

#include "lib/rtc/ptx_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* No call: there is one character after the other. */
bool ptx_is_word(char c)
{
	char small = c | 0x20;
	return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '$'
		|| c == '%' || c == '.';
}

static bool ptx_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

const char *ptx_skip_space(const char *at)
{
	for (;;) {
		while (ptx_is_space(*at)) {
			at++;
		}
		if (at[0] == '/' && at[1] == '/') {
			at += strcspn(at, "\n");
		} else if (at[0] == '/' && at[1] == '*') {
			const char *end = strstr(at + 2, "*/");
			at = end ? end + 2 : at + strlen(at);
		} else {
			return at;
		}
	}
}

struct ptx_token ptx_next_token(const char **at)
{
	struct ptx_token token = {ptx_skip_space(*at), 0};
	const char *end = token.text;
	while (*end && ptx_is_word(*end)) {
		end++;
	}
	if (*end == '"' && end == token.text) {
		end += 1 + strcspn(end + 1, "\"\n");
		end += *end == '"';
	} else if (*end && end == token.text) {
		end++;
	}
	token.len = (size_t)(end - token.text);
	*at = end;
	return token;
}

const char *ptx_skip_braces(const char *at)
{
	for (int depth = 1; depth > 0;) {
		at += strcspn(at, "{}\"/");
		if (*at == '\0') {
			return at;
		}
		if (*at == '"') {
			at += 1 + strcspn(at + 1, "\"\n");
			at += *at == '"';
		} else if (*at == '/') {
			const char *next = ptx_skip_space(at);
			at = next > at ? next : at + 1;
		} else {
			depth += *at == '{' ? 1 : -1;
			at++;
		}
	}
	return at;
}

int ptx_version(const char *text)
{
	struct ptx_token token = ptx_next_token(&text);
	char *end;
	if (!ptx_token_is(&token, ".version")) {
		return 0;
	}
	token = ptx_next_token(&text);
	long major = strtol(token.text, &end, 10);
	long minor = *end == '.' ? strtol(end + 1, &end, 10) : 0;
	bool good = end == token.text + token.len && major > 0 && major < 100 && minor >= 0
		&& minor < 10;
	return good ? (int)(major * 10 + minor) : 0;
}

/* A directive at the beginning of a line, and what follows it; NULL if the line has another. */
static const char *ptx_line_directive(const char *line, const char *name)
{
	line += strspn(line, " \t");
	size_t len = strlen(name);
	return strncmp(line, name, len) == 0 && isspace((unsigned char)line[len]) ? line + len
		: NULL;
}

static const char *ptx_next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : NULL;
}

/* The name of file `number`. */
static void ptx_find_file(struct ptx_line *out, const char *ptx, long number)
{
	for (const char *line = ptx; line; line = ptx_next_line(line)) {
		const char *rest = ptx_line_directive(line, ".file");
		char *end;
		if (!rest || strtol(rest, &end, 10) != number) {
			continue;
		}
		const char *quote = end + strspn(end, " \t");
		if (*quote == '"') {
			out->file = quote + 1;
			out->file_len = strcspn(out->file, "\"\n");
		}
		return;
	}
}

bool ptx_find_line(struct ptx_line *out, const char *ptx, int number)
{
	const char *at = ptx;
	const char *loc = NULL;
	*out = (struct ptx_line){0};
	for (int i = 1; at && i < number; i++, at = ptx_next_line(at)) {
		const char *rest = ptx_line_directive(at, ".loc");
		loc = *at == '}' ? NULL : rest ? rest : loc;
	}
	if (!at || number < 1) {
		return false;
	}
	out->text = at + strspn(at, " \t");
	out->text_len = strcspn(out->text, "\r\n");
	if (loc) {
		char *end;
		long file = strtol(loc, &end, 10);
		out->line = (int)strtol(end, &end, 10);
		out->column = (int)strtol(end, &end, 10);
		ptx_find_file(out, ptx, file);
	}
	return true;
}
