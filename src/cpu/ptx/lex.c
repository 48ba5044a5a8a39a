/* SPDX-License-Identifier: MIT */
/*
 * Cuts PTX text into tokens.  An opcode with its parts, "ld.global.u32", is one word.  So is a name
 * that begins with % $ or _.  "::" stays inside a word, and a single ":" ends it.  Numbers are
 * written as in C; 0f and 0d are followed by the bits of a float.  A sign is not part of a number.
 */
#include "base/common.h"

#include "cpu/ptx/lex.h"

#include <endian.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DECIMAL = 64 }; /* characters of a decimal floating-point number */

void lex_init(struct lexer *lexer, const char *text, size_t size)
{
	*lexer = (struct lexer){text, text + size, text, 1};
}

/* What a character may be; one look for each, for there are many. */
enum { SPACE = 1, DIGIT = 2, START = 4, DOT = 8, PERCENT = 16 };

static const uint8_t classes[256] = {
	[' '] = SPACE, ['\t'] = SPACE, ['\n'] = SPACE, ['\v' ... '\r'] = SPACE,
	['0' ... '9'] = DIGIT, ['a' ... 'z'] = START, ['A' ... 'Z'] = START, ['_'] = START,
	['$'] = START, ['%'] = PERCENT, ['.'] = DOT,
};

static bool lex_is_one_of(char c, unsigned set)
{
	return (classes[(uint8_t)c] & set) != 0;
}

static bool lex_is_digit(char c)
{
	return lex_is_one_of(c, DIGIT);
}

static bool lex_is_word_start(char c)
{
	return lex_is_one_of(c, START | DOT | PERCENT);
}

static bool lex_is_word(char c)
{
	return lex_is_one_of(c, START | DOT | DIGIT);
}

/* -1 if it is no digit; any base up to 16. */
static int lex_digit_value(char c)
{
	char lower = c | 0x20;
	return lex_is_digit(c) ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static int lex_column_of(const struct lexer *lexer, const char *at)
{
	ptrdiff_t column = at - lexer->line_start;
	return column < INT32_MAX ? (int)column + 1 : INT32_MAX;
}

static char lex_peek(const struct lexer *lexer, size_t ahead)
{
	return (size_t)(lexer->end - lexer->next) > ahead ? lexer->next[ahead] : '\0';
}

static void lex_new_line(struct lexer *lexer)
{
	lexer->line += lexer->line < INT32_MAX;
	lexer->line_start = lexer->next;
}

static bool lex_skip_comment(struct lexer *lexer, struct ptx_diag *diag)
{
	int line = lexer->line, column = lex_column_of(lexer, lexer->next);
	for (lexer->next += 2; lexer->next < lexer->end; lexer->next++) {
		if (lexer->next[0] == '*' && lex_peek(lexer, 1) == '/') {
			lexer->next += 2;
			return true;
		}
		if (lexer->next[0] == '\n') {
			lexer->next++;
			lex_new_line(lexer);
			lexer->next--;
		}
	}
	return ptx_fail(diag, line, column, "comment does not end");
}

static bool lex_skip_space(struct lexer *lexer, struct ptx_diag *diag)
{
	while (lexer->next < lexer->end) {
		char c = *lexer->next;
		if (c == '\n') {
			lexer->next++;
			lex_new_line(lexer);
		} else if (lex_is_one_of(c, SPACE)) {
			lexer->next++;
		} else if (c == '/' && lex_peek(lexer, 1) == '/') {
			const char *end = memchr(lexer->next, '\n',
				(size_t)(lexer->end - lexer->next));
			lexer->next = end ? end : lexer->end;
		} else if (c == '/' && lex_peek(lexer, 1) == '*') {
			if (!lex_skip_comment(lexer, diag)) {
				return false;
			}
		} else {
			break;
		}
	}
	return true;
}

/* Of ".reg.b32" only ".reg": directives and types may touch each other, opcodes are one word. */
static void lex_word(struct lexer *lexer)
{
	const char *at = lexer->next + 1, *end = lexer->end;
	unsigned inside = *lexer->next == '.' ? START | DIGIT : START | DIGIT | DOT;
	bool goes_on = true;
	while (goes_on) {
		while (at < end && lex_is_one_of(*at, inside)) {
			at++;
		}
		goes_on = end - at > 2 && at[0] == ':' && at[1] == ':' && lex_is_word(at[2]);
		at += goes_on ? 2 : 0;
	}
	lexer->next = at;
}

/* Digits of a base to the value; false if there are none or they do not fit. */
static bool lex_digits(struct lexer *lexer, unsigned base, uint64_t *value)
{
	const char *first = lexer->next;
	bool fits = true;
	*value = 0;
	for (; lexer->next < lexer->end; lexer->next++) {
		int digit = lex_digit_value(*lexer->next);
		if (digit < 0 || (unsigned)digit >= base) {
			break;
		}
		fits = fits && !__builtin_mul_overflow(*value, (uint64_t)base, value)
			&& !__builtin_add_overflow(*value, (uint64_t)digit, value);
	}
	return fits && lexer->next > first;
}

/* 0f or 0d and exactly as many hex digits as the bits need. */
static bool lex_bits(struct lexer *lexer, struct lex_token *out)
{
	out->kind = TOKEN_FLOAT;
	out->real_width = (lexer->next[1] | 0x20) == 'f' ? 32 : 64;
	lexer->next += 2;
	const char *first = lexer->next;
	if (!lex_digits(lexer, 16, &out->real_bits)
	    || (size_t)(lexer->next - first) != out->real_width / 4) {
		return false;
	}
	if (out->real_width == 32) {
		uint32_t bits = (uint32_t)out->real_bits;
		float real;
		memcpy(&real, &bits, sizeof(real));
		out->real = (double)real;
	} else {
		memcpy(&out->real, &out->real_bits, sizeof(out->real));
	}
	return true;
}

/* 1.5, 1., .5, 2e10.  strtod wants an end to the text, and the program's locale must not matter. */
static bool lex_decimal(struct lexer *lexer, struct lex_token *out)
{
	char copy[MAX_DECIMAL];
	const char *p = out->text;
	while (p < lexer->end && lex_is_digit(*p)) {
		p++;
	}
	if (p < lexer->end && *p == '.') {
		for (p++; p < lexer->end && lex_is_digit(*p); p++) {
		}
	}
	if (p < lexer->end && (*p | 0x20) == 'e') {
		const char *digits = p + 1;
		digits += digits < lexer->end && (*digits == '+' || *digits == '-');
		if (digits < lexer->end && lex_is_digit(*digits)) {
			for (p = digits; p < lexer->end && lex_is_digit(*p); p++) {
			}
		}
	}
	size_t len = (size_t)(p - out->text);
	lexer->next = p;
	if (len >= sizeof(copy)) {
		return false;
	}
	memcpy(copy, out->text, len);
	copy[len] = '\0';
	out->kind = TOKEN_FLOAT;
	locale_t c_locale = newlocale(LC_ALL_MASK, "C", NULL);
	if (!c_locale) {
		return false;
	}
	out->real = strtod_l(copy, NULL, c_locale);
	freelocale(c_locale);
	memcpy(&out->real_bits, &out->real, sizeof(out->real));
	return true;
}

static bool lex_integer(struct lexer *lexer, struct lex_token *out)
{
	char c = lex_peek(lexer, 0) == '0' ? lex_peek(lexer, 1) | 0x20 : '\0';
	unsigned base = c == 'x' ? 16 : c == 'b' ? 2 : lex_peek(lexer, 0) == '0' ? 8 : 10;
	lexer->next += c == 'x' || c == 'b' ? 2 : 0;
	out->kind = TOKEN_INT;
	if (!lex_digits(lexer, base, &out->value)) {
		return false;
	}
	lexer->next += lex_peek(lexer, 0) == 'U';
	return true;
}

/* Whether the digits ahead go on as 1.5 or 1e5 does. */
static bool lex_looks_decimal(const struct lexer *lexer)
{
	size_t i = 0;
	while (lex_is_digit(lex_peek(lexer, i))) {
		i++;
	}
	char sign = lex_peek(lexer, i + 1);
	return lex_peek(lexer, i) == '.' || ((lex_peek(lexer, i) | 0x20) == 'e'
		&& (lex_is_digit(sign) || sign == '+' || sign == '-'));
}

static bool lex_number(struct lexer *lexer, struct lex_token *out, struct ptx_diag *diag)
{
	char second = lex_peek(lexer, 1) | 0x20;
	bool ok;
	if (*lexer->next == '0' && (second == 'f' || second == 'd')) {
		ok = lex_bits(lexer, out);
	} else if (lex_looks_decimal(lexer)) {
		ok = lex_decimal(lexer, out);
	} else {
		ok = lex_integer(lexer, out);
	}
	if (!ok || lex_is_word(lex_peek(lexer, 0))) {
		while (lex_is_word(lex_peek(lexer, 0))) {
			lexer->next++;
		}
		size_t len = (size_t)(lexer->next - out->text);
		return ptx_fail(diag, out->line, out->column, "not a valid number: '%.*s'",
			len < 60 ? (int)len : 60, out->text);
	}
	return true;
}

static bool lex_string(struct lexer *lexer, struct lex_token *out, struct ptx_diag *diag)
{
	const char *first = ++lexer->next;
	while (lexer->next < lexer->end && *lexer->next != '"' && *lexer->next != '\n') {
		if (*lexer->next == '\0') {
			return ptx_fail(diag, lexer->line, lex_column_of(lexer, lexer->next),
				"unexpected character '\\x00'");
		}
		lexer->next++;
	}
	if (lex_peek(lexer, 0) != '"') {
		return ptx_fail(diag, out->line, out->column, "string does not end");
	}
	out->kind = TOKEN_STRING;
	out->text = first;
	out->len = (size_t)(lexer->next - first);
	lexer->next++;
	return true;
}

static bool lex_other(struct lexer *lexer, struct lex_token *out, struct ptx_diag *diag)
{
	unsigned char c = (unsigned char)*lexer->next;
	if (c > ' ' && c < 0x7f) {
		out->kind = TOKEN_PUNCT;
		lexer->next++;
		return true;
	}
	return ptx_fail(diag, out->line, out->column, "unexpected character '\\x%02x'", c);
}

bool lex_next(struct lexer *lexer, struct lex_token *out, struct ptx_diag *diag)
{
	if (!lex_skip_space(lexer, diag)) {
		return false;
	}
	*out = (struct lex_token){.kind = TOKEN_END, .text = lexer->next, .line = lexer->line,
		.column = lex_column_of(lexer, lexer->next)};
	if (lexer->next == lexer->end) {
		return true;
	}
	char c = *lexer->next;
	if (c == '"') {
		return lex_string(lexer, out, diag);
	}
	bool is_number = lex_is_digit(c) || (c == '.' && lex_is_digit(lex_peek(lexer, 1)));
	if (!is_number && lex_is_word_start(c)) {
		out->kind = TOKEN_WORD;
		lex_word(lexer);
	} else if (is_number) {
		if (!lex_number(lexer, out, diag)) {
			return false;
		}
	} else if (!lex_other(lexer, out, diag)) {
		return false;
	}
	out->len = (size_t)(lexer->next - out->text);
	return true;
}

/* What a block is skipped to: it may end there, or is to be read as tokens, or as lines. */
static bool lex_is_mark(char c)
{
	return c == '\n' || c == '{' || c == '}' || c == '"' || c == '/';
}

/* Sixteen bytes at a time. */
typedef uint8_t block __attribute__((vector_size(16)));
enum { BLOCK = sizeof(block) };

/* The next { } " / or end of a line. */
static const char *lex_find_mark(const char *at, const char *end)
{
	for (; end - at >= BLOCK; at += BLOCK) {
		block bytes;
		uint64_t found[2];
		memcpy(&bytes, at, sizeof(bytes));
		block any = (block)(bytes == '\n') | (block)(bytes == '{') | (block)(bytes == '}')
			| (block)(bytes == '"') | (block)(bytes == '/');
		memcpy(found, &any, sizeof(any));
		if (found[0] | found[1]) {
			int half = found[0] == 0;
			return at + 8 * half + __builtin_ctzll(le64toh(found[half])) / 8;
		}
	}
	while (at < end && !lex_is_mark(*at)) {
		at++;
	}
	return at;
}

bool lex_skip_block(struct lexer *lexer, struct ptx_diag *diag)
{
	struct lex_token token;
	size_t depth = 1;
	bool ok = true;
	while (ok && depth > 0) {
		lexer->next = lex_find_mark(lexer->next, lexer->end);
		char c = lex_peek(lexer, 0);
		if (c == '"' || c == '/') {
			ok = lex_next(lexer, &token, diag); /* or what follows a comment */
			depth += ok && token.kind == TOKEN_PUNCT && token.text[0] == '{';
			depth -= ok && token.kind == TOKEN_PUNCT && token.text[0] == '}';
			continue;
		}
		ok = lexer->next < lexer->end;
		lexer->next += ok;
		depth += c == '{';
		depth -= c == '}';
		if (c == '\n') {
			lex_new_line(lexer);
		}
	}
	return ok;
}
