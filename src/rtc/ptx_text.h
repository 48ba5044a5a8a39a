/* SPDX-License-Identifier: MIT */
#ifndef RTC_PTX_TEXT_H
#define RTC_PTX_TEXT_H

/* The tokens of PTX text: words (".visible", "%r1", "0x1f"), strings, single characters. */
#include "base/common.h"

#include <string.h>

struct ptx_token {
	const char *text;
	size_t len; /* 0 at the end */
};

/* Of a name, a directive, a number. */
bool ptx_is_word(char c);
/* Behind white space and comments. */
const char *ptx_skip_space(const char *at);
/* Behind the brace that closes one that is open. */
const char *ptx_skip_braces(const char *at);

/* Take the next one off a zero-terminated text; comments and white space go by. */
struct ptx_token ptx_next_token(const char **at);

/* Inline, since it is asked many times of each token. */
static inline bool ptx_token_is(const struct ptx_token *token, const char *text)
{
	size_t len = strlen(text);
	return token->len == len && memcmp(token->text, text, len) == 0;
}

#endif
