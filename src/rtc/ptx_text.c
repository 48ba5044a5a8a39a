/* SPDX-License-Identifier: MIT */
/*
 * PTX text, a word or a mark at a time.  Whether it makes sense is not asked: what cannot be a
 * token is one of one character.
 */
#include "base/common.h"

#include "rtc/ptx_text.h"

#include <string.h>

/* No call: there is one character after the other. */
bool ptx_is_word(char c)
{
	char small = c | 0x20;
	return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '$'
		|| c == '%' || c == '.';
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

const char *ptx_skip_space(const char *at)
{
	for (;;) {
		while (is_space(*at)) {
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
