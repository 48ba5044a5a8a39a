/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_PTX_TEXT_H
#define LIB_RTC_PTX_TEXT_H

/*
 * PTX as text: its tokens, its version, and the lines of source that its lines come from.
 *
 * A token is a word (".visible", "%r1", "0x1f"), a string or a single character.
 */
#include "base/common.h"

#include <string.h>

struct ptx_token {
	const char *text;
	size_t len; /* 0 at the end */
};

/* A line of PTX, and where it comes from. */
struct ptx_line {
	const char *text; /* without the blanks around it */
	size_t text_len;
	const char *file; /* as the compiler was told it, in an absolute path */
	size_t file_len;  /* 0: the PTX does not say */
	int line;
	int column;
};

/* Whether a name, a directive or a number can have this character. */
bool ptx_is_word(char c);
/* After white space and comments. */
const char *ptx_skip_space(const char *at);
/* After the brace that closes one that is open. */
const char *ptx_skip_braces(const char *at);

/* Take the next one off a zero-terminated text; comments and white space go by. */
struct ptx_token ptx_next_token(const char **at);

/* The version of PTX: `.version 9.0` is 90; 0 if the text does not begin so. */
int ptx_version(const char *text);

/* Line `number`, from 1; false if there is no such line.  The texts are in `ptx`. */
bool ptx_find_line(struct ptx_line *out, const char *ptx, int number);

/* Inline, since it is asked many times of each token. */
static inline bool ptx_token_is(const struct ptx_token *token, const char *text)
{
	size_t len = strlen(text);
	return token->len == len && memcmp(token->text, text, len) == 0;
}

#endif
