/* SPDX-License-Identifier: MIT */
/*
 * The tokens of expressions: numbers as in Python, names, operators of Python and C.
 *
 * A number and a name must not touch: some would read `2a` as one thing, others as two.
 */
#include "base/common.h"

#include "lib/ops/eval_lex.h"

#include "base/str.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As in the C locale, whatever locale the program has. */
static bool eval_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void eval_lex_fail(struct eval_token *out, kz_error *err, size_t len, const char *format,
	const char *text)
{
	error_set(err, KZ_COMPILE, format, (int)(len < 40 ? len : 40), text);
	out->kind = TOKEN_BAD;
	out->len = len;
}

/* Numbers */

static int eval_digit_value(char c)
{
	return eval_is_digit(c) ? c - '0'
		: str_is_word(c) && c != '_' ? (c | 0x20) - 'a' + 10 : 99;
}

/* Digits of a base; returns where they end, NULL when the value needs more than 64 bits. */
static const char *eval_read_digits(uint64_t *out, const char *at, unsigned base)
{
	for (*out = 0; eval_digit_value(*at) < (int)base; at++) {
		if (__builtin_mul_overflow(*out, base, out)
		    || __builtin_add_overflow(*out, (unsigned)eval_digit_value(*at), out)) {
			return NULL;
		}
	}
	return at;
}

/* The end of 12, 1.5, 1., .5, 2e10; *integer is whether it has digits alone. */
static const char *eval_decimal_end(const char *at, bool *integer)
{
	const char *begin = at;
	at += strspn(at, "0123456789");
	*integer = at > begin && *at != '.';
	if (*at == '.') {
		at++;
		at += strspn(at, "0123456789");
	}
	if (*at == 'e' || *at == 'E') {
		const char *digits = at + 1 + (at[1] == '+' || at[1] == '-');
		if (eval_is_digit(*digits)) {
			*integer = false;
			at = digits + strspn(digits, "0123456789");
		}
	}
	return at;
}

static bool eval_read_real(struct eval_token *out, const char *text, kz_error *err)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", NULL);
	if (c == (locale_t)0) {
		error_no_memory(err);
		return false;
	}
	out->value.real = strtod_l(text, NULL, c);
	freelocale(c);
	return true;
}

static void eval_lex_number(struct eval_token *out, const char *text, kz_error *err)
{
	char letter = text[0] == '0' ? (char)(text[1] | 0x20) : '\0';
	unsigned base = letter == 'x' ? 16 : letter == 'b' ? 2 : letter == 'o' ? 8 : 10;
	const char *begin = text + (base == 10 ? 0 : 2);
	bool integer = true;
	const char *end = base == 10 ? eval_decimal_end(text, &integer) : begin;
	out->kind = TOKEN_INTEGER;
	if (integer && *end != 'j') {
		end = eval_read_digits(&out->value.integer, begin, base);
		if (!end) {
			eval_lex_fail(out, err, strspn(text, "0123456789abcdefxABCDEFX"),
				"%.*s does not fit in 64 bits", text);
			return;
		}
	} else if (!eval_read_real(out, text, err)) {
		out->kind = TOKEN_BAD;
		return;
	} else {
		out->kind = *end == 'j' ? TOKEN_IMAGINARY : TOKEN_REAL;
		end += *end == 'j';
	}
	out->len = (size_t)(end - text);
	if (str_is_word(*end) || *end == '.' || end == text + 2 * (base != 10)) {
		while (str_is_word(*end) || *end == '.') {
			end++;
		}
		eval_lex_fail(out, err, (size_t)(end - text), "'%.*s' is not a number", text);
	} else if (out->kind != TOKEN_INTEGER && isinf(out->value.real)) {
		eval_lex_fail(out, err, out->len, "%.*s does not fit in float64", text);
	} else if (out->kind == TOKEN_INTEGER && base == 10 && out->value.integer > 0
		   && text[0] == '0') {
		eval_lex_fail(out, err, out->len,
			"'%.*s': expected a number without a leading 0, which means octal "
			"in C", text);
	}
}

/* Words and operators */

static enum eval_kind eval_word_kind(const char *text, size_t len)
{
	static const struct {
		char text[5];
		enum eval_kind kind;
	} words[] = {
		{"if", TOKEN_IF}, {"or", TOKEN_OR}, {"and", TOKEN_AND}, {"not", TOKEN_NOT},
		{"else", TOKEN_ELSE},
	};
	for (size_t i = 0; len >= 2 && len <= 4 && i < countof(words); i++) {
		if (strncmp(text, words[i].text, len) == 0 && words[i].text[len] == '\0') {
			return words[i].kind;
		}
	}
	return TOKEN_NAME;
}

static void lex_operator(struct eval_token *out, const char *text)
{
	static const struct {
		char text[3];
		uint8_t kind;
	} operators[] = {
		{"**", TOKEN_POWER}, {"*", TOKEN_STAR}, {"+", TOKEN_PLUS}, {"-", TOKEN_MINUS},
		{"(", TOKEN_LEFT}, {")", TOKEN_RIGHT}, {"//", TOKEN_SLASHES}, {"/", TOKEN_SLASH},
		{",", TOKEN_COMMA}, {"%", TOKEN_PERCENT}, {"<<", TOKEN_SHIFT_LEFT},
		{"<=", TOKEN_LESS_EQUAL}, {"<", TOKEN_LESS}, {">>", TOKEN_SHIFT_RIGHT},
		{">=", TOKEN_GREATER_EQUAL}, {">", TOKEN_GREATER}, {"==", TOKEN_EQUAL},
		{"!=", TOKEN_NOT_EQUAL}, {"!", TOKEN_BANG}, {"&&", TOKEN_AND},
		{"&", TOKEN_AMPERSAND}, {"||", TOKEN_OR}, {"|", TOKEN_PIPE}, {"^", TOKEN_CARET},
		{"~", TOKEN_TILDE}, {"?", TOKEN_QUESTION}, {":", TOKEN_COLON},
	};
	out->kind = TOKEN_BAD;
	for (size_t i = 0; i < countof(operators); i++) {
		const char *want = operators[i].text;
		if (text[0] == want[0] && (!want[1] || text[1] == want[1])) {
			out->kind = operators[i].kind;
			out->len = want[1] ? 2 : 1;
			return;
		}
	}
}

/* Refuse a character; the message has the character itself if it can be shown. */
static void eval_refuse(struct eval_token *out, const char *text, kz_error *err)
{
	unsigned char c = (unsigned char)text[0];
	out->len = 1;
	if (c == '=') {
		error_set(err, KZ_COMPILE, "'=' is not an operator; == compares");
	} else if (c > ' ' && c < 0x7f) {
		error_set(err, KZ_COMPILE, "unexpected '%c'", c);
	} else {
		error_set(err, KZ_COMPILE, "unexpected byte 0x%02x", c);
	}
}

void eval_lex(struct eval_token *out, const char *text, size_t at, kz_error *err)
{
	while (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r')) {
		at++;
	}
	out->at = at;
	text += at;
	if (*text == '\0') {
		out->kind = TOKEN_END;
		out->len = 0;
	} else if (eval_is_digit(*text) || (*text == '.' && eval_is_digit(text[1]))) {
		eval_lex_number(out, text, err);
	} else if (str_is_word(*text)) {
		for (out->len = 1; str_is_word(text[out->len]); out->len++) {
		}
		out->kind = eval_word_kind(text, out->len);
	} else {
		lex_operator(out, text);
		if (out->kind == TOKEN_BAD) {
			eval_refuse(out, text, err);
		}
	}
}
