/* SPDX-License-Identifier: MIT */
#ifndef CPU_PTX_LEX_H
#define CPU_PTX_LEX_H

/* PTX text to tokens, one at a time.  The text is borrowed and needs no terminating zero. */
#include "cpu/ptx/ptx.h"

#include <string.h>

enum lex_token_kind {
	TOKEN_END,
	TOKEN_WORD,    /* add.s32 .reg %r1 $label_2 _ : names, opcodes, directives */
	TOKEN_INT,     /* value */
	TOKEN_FLOAT,   /* real, real_bits, real_width */
	TOKEN_STRING,  /* text without the quotes */
	TOKEN_PUNCT    /* one character: text[0] */
};

struct lex_token {
	enum lex_token_kind kind;
	const char *text;
	size_t len;
	int line;            /* from 1 */
	int column;          /* in bytes, from 1 */
	uint64_t value;
	double real;
	uint64_t real_bits;
	unsigned real_width; /* 32 for 0f, 64 for 0d, 0 for a decimal number */
};

struct lexer {
	const char *next;
	const char *end;
	const char *line_start;
	int line;
};

void lex_init(struct lexer *lexer, const char *text, size_t size);
/* At the end of the text this gives TOKEN_END, again and again. */
bool lex_next(struct lexer *lexer, struct lex_token *out, struct ptx_diag *diag);

/* Go on after the } of the { that was the last token, minding nothing but strings, comments and
 * lines.  False if it is missing. */
bool lex_skip_block(struct lexer *lexer, struct ptx_diag *diag);

/* Whether it is this word or punctuation mark.  Inline, and the first letter first: the parser asks
 * about every token many times. */
static inline bool token_is(const struct lex_token *token, const char *text)
{
	return (token->kind == TOKEN_WORD || token->kind == TOKEN_PUNCT)
		&& token->text[0] == text[0] && strlen(text) == token->len
		&& memcmp(token->text, text, token->len) == 0;
}

#endif
