/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_EVAL_LEX_H
#define LIB_OPS_EVAL_LEX_H

/* The text of an expression -> tokens, one at a time. */
#include "base/error.h"

enum eval_kind {
	TOKEN_END,
	TOKEN_BAD,       /* the lexer has said why */
	TOKEN_INTEGER,   /* value.integer */
	TOKEN_REAL,      /* value.real */
	TOKEN_IMAGINARY, /* value.real, of 2j */
	TOKEN_NAME,
	TOKEN_LEFT, TOKEN_RIGHT, TOKEN_COMMA, TOKEN_QUESTION, TOKEN_COLON,
	TOKEN_IF, TOKEN_ELSE, TOKEN_NOT, /* the word */
	TOKEN_BANG, TOKEN_TILDE,
	TOKEN_OR, TOKEN_AND,             /* the words, || and && */
	TOKEN_EQUAL, TOKEN_NOT_EQUAL, TOKEN_LESS, TOKEN_LESS_EQUAL, TOKEN_GREATER,
	TOKEN_GREATER_EQUAL,
	TOKEN_PIPE, TOKEN_CARET, TOKEN_AMPERSAND,
	TOKEN_SHIFT_LEFT, TOKEN_SHIFT_RIGHT,
	TOKEN_PLUS, TOKEN_MINUS, TOKEN_STAR, TOKEN_SLASH, TOKEN_SLASHES, TOKEN_PERCENT,
	TOKEN_POWER,
	TOKEN_COUNT
};

struct eval_token {
	enum eval_kind kind;
	size_t at;  /* where it begins */
	size_t len; /* 0 at the end */
	union {
		uint64_t integer;
		double real;
	} value;
};

/* Read the token at or after byte `at` of a text; the error of a bad one goes into `err`. */
void eval_lex(struct eval_token *out, const char *text, size_t at, kz_error *err);

#endif
