/* SPDX-License-Identifier: MIT */
/* src/cpu/ptx/lex.c: one token at a time, its kind, value and place. */
#include "base/common.h"

#include "cpu/ptx/lex.h"
#include "support/suite.h"

#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first token of a text; fails the test if there is none. */
static struct lex_token first(const char *text)
{
	struct lexer lexer;
	struct lex_token token;
	struct ptx_diag diag = {.line = 0};
	lex_init(&lexer, text, strlen(text));
	ck_assert_msg(lex_next(&lexer, &token, &diag), "%s: %s", text, diag.message);
	return token;
}

static const struct {
	const char *text;
	enum lex_token_kind kind;
	const char *token;
} kinds[] = {
	{"add.s32 %r1", TOKEN_WORD, "add.s32"},
	{"%tid.x;", TOKEN_WORD, "%tid.x"},
	{"$L__BB0_2:", TOKEN_WORD, "$L__BB0_2"},
	{"_ZN1aE;", TOKEN_WORD, "_ZN1aE"},
	{"ld.shared::cta.u32 a", TOKEN_WORD, "ld.shared::cta.u32"},
	{"a: :b", TOKEN_WORD, "a"},
	{"a::;", TOKEN_WORD, "a"},
	{".reg.b32", TOKEN_WORD, ".reg"},
	{"%r<4>", TOKEN_WORD, "%r"},
	{"\"a \\ b\"", TOKEN_STRING, "a \\ b"},
	{"{", TOKEN_PUNCT, "{"},
	{"/* a\n */ // b\n @", TOKEN_PUNCT, "@"},
	{"  ", TOKEN_END, ""},
	{"", TOKEN_END, ""},
};

START_TEST(lex_tells_the_kinds_of_tokens_apart)
{
	struct lex_token token = first(kinds[_i].text);
	ck_assert_int_eq(token.kind, kinds[_i].kind);
	ck_assert_uint_eq(token.len, strlen(kinds[_i].token));
	ck_assert_mem_eq(token.text, kinds[_i].token, token.len);
}
END_TEST

static const struct {
	const char *text;
	uint64_t value;
} integers[] = {
	{"0", 0}, {"7", 7}, {"017", 15}, {"0x1F", 31}, {"0XffU", 255}, {"0b101", 5}, {"12U", 12},
	{"18446744073709551615", UINT64_MAX}, {"0xFFFFFFFFFFFFFFFF", UINT64_MAX},
	{"01777777777777777777777", UINT64_MAX},
};

START_TEST(lex_reads_integers_of_every_base)
{
	struct lex_token token = first(integers[_i].text);
	ck_assert_int_eq(token.kind, TOKEN_INT);
	ck_assert_uint_eq(token.value, integers[_i].value);
	ck_assert_uint_eq(token.len, strlen(integers[_i].text));
}
END_TEST

static const struct {
	const char *text;
	double real;
	unsigned width;
} floats[] = {
	{"0f3F800000", 1.0, 32}, {"0F40490fdb", 0x1.921fb6p+1, 32}, {"0d3FF8000000000000", 1.5, 64},
	{"1.5", 1.5, 0}, {"2.", 2.0, 0}, {"1e3", 1000.0, 0}, {"2.5E-1", 0.25, 0}, {"1e+2", 100, 0},
	{".5", 0.5, 0},
};

START_TEST(lex_reads_floats_by_bits_and_by_digits)
{
	struct lex_token token = first(floats[_i].text);
	ck_assert_int_eq(token.kind, TOKEN_FLOAT);
	ck_assert_double_eq(token.real, floats[_i].real);
	ck_assert_uint_eq(token.real_width, floats[_i].width);
}
END_TEST

START_TEST(lex_keeps_the_bits_of_a_nan)
{
	ck_assert_uint_eq(first("0f7FA00001").real_bits, 0x7fa00001);
	ck_assert_uint_eq(first("0d7FF4000000000001").real_bits, 0x7ff4000000000001);
}
END_TEST

START_TEST(lex_reads_a_decimal_point_in_every_locale)
{
	static const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"};
	size_t i = 0;
	while (i < countof(names) && !setlocale(LC_ALL, names[i])) {
		i++;
	}
	if (i == countof(names)) {
		fprintf(stderr, "skipped: no locale de_DE or fr_FR\n");
	}
	ck_assert_double_eq(first("1.5").real, 1.5);
}
END_TEST

static const struct {
	const char *text;
	size_t size; /* 0: to the end */
	int line, column;
	const char *message;
} mistakes[] = {
	{"18446744073709551616", 0, 1, 1, "not a valid number: '18446744073709551616'"},
	{"\n  09", 0, 2, 3, "not a valid number: '09'"},
	{"0x", 0, 1, 1, "not a valid number: '0x'"},
	{"0f3F80", 0, 1, 1, "not a valid number: '0f3F80'"},
	{"0f3F8000001", 0, 1, 1, "not a valid number: '0f3F8000001'"},
	{"12abc", 0, 1, 1, "not a valid number: '12abc'"},
	{"0b12", 0, 1, 1, "not a valid number: '0b12'"},
	{"\t/* never\n closed", 0, 1, 2, "comment does not end"},
	{"\"open\n\"", 0, 1, 1, "string does not end"},
	{" \0", 2, 1, 2, "unexpected character '\\x00'"},
	{"\"a\0b\"", 5, 1, 3, "unexpected character '\\x00'"},
	{"\n\n\xc3\xa9", 0, 3, 1, "unexpected character '\\xc3'"},
};

START_TEST(lex_reports_the_place_of_a_mistake)
{
	struct lexer lexer;
	struct lex_token token;
	struct ptx_diag diag = {.line = 0};
	const char *text = mistakes[_i].text;
	lex_init(&lexer, text, mistakes[_i].size ? mistakes[_i].size : strlen(text));
	ck_assert(!lex_next(&lexer, &token, &diag));
	ck_assert_str_eq(diag.message, mistakes[_i].message);
	ck_assert_int_eq(diag.line, mistakes[_i].line);
	ck_assert_int_eq(diag.column, mistakes[_i].column);
	ck_assert(!diag.unsupported && !diag.no_memory);
}
END_TEST

START_TEST(lex_counts_lines_and_columns_over_comments)
{
	static const char text[] = "a /* x\ny */ b // c\n\n\td";
	static const int places[][2] = {{1, 1}, {2, 6}, {4, 2}, {4, 3}, {4, 3}};
	struct lexer lexer;
	struct lex_token token;
	struct ptx_diag diag;
	lex_init(&lexer, text, sizeof(text) - 1);
	for (size_t i = 0; i < countof(places); i++) {
		ck_assert(lex_next(&lexer, &token, &diag));
		ck_assert_int_eq(token.line, places[i][0]);
		ck_assert_int_eq(token.column, places[i][1]);
	}
	ck_assert_int_eq(token.kind, TOKEN_END);
}
END_TEST

static const struct {
	const char *text; /* after the first { */
	int line;         /* of the end, 0: there is none */
} blocks[] = {
	{"}", 1}, {"a; \"}\" // }\n/ /* }\n} */ {;} b\n}", 4}, {"a { b }", 0}, {"a; // }", 0},
	{"\"}", 0}, {"", 0}, {"/}", 1}, {"\n\n{}{{}}}", 3},
};

/* However its bytes lie, in memory that ends with it. */
START_TEST(lex_skips_a_block_wherever_it_stands)
{
	size_t rest = strlen(blocks[_i].text);
	for (size_t before = 0; before < 20; before++) {
		size_t size = before + rest;
		char *text = malloc(size + !size);
		struct lexer lexer;
		struct ptx_diag diag;
		ck_assert_ptr_nonnull(text);
		memset(text, ' ', before);
		memcpy(text + before, blocks[_i].text, rest);
		lex_init(&lexer, text, size);
		ck_assert(lex_skip_block(&lexer, &diag) == (blocks[_i].line > 0));
		if (blocks[_i].line > 0) {
			ck_assert_ptr_eq(lexer.next, text + size);
			ck_assert_int_eq(lexer.line, blocks[_i].line);
		}
		free(text);
	}
}
END_TEST

/* Each prefix stands at the end of memory of its own, so that a sanitizer sees a read too far. */
START_TEST(lex_stays_inside_a_text_without_end)
{
	static const char text[] = "a::b 0x1F 0f3F800000 1.5e+3 \"s\" /* c */ // d";
	for (size_t size = 0; size < sizeof(text); size++) {
		char *copy = malloc(size + !size);
		ck_assert_ptr_nonnull(copy);
		memcpy(copy, text, size);
		struct lexer lexer;
		struct lex_token token = {.kind = TOKEN_WORD};
		struct ptx_diag diag;
		lex_init(&lexer, copy, size);
		while (token.kind != TOKEN_END && lex_next(&lexer, &token, &diag)) {
			ck_assert_uint_le((size_t)(lexer.next - copy), size);
		}
		free(copy);
	}
}
END_TEST

SUITE(lex)
{
	Suite *s = suite_create("lex");
	TCase *tc = tcase_create("tokens");
	tcase_add_loop_test(tc, lex_tells_the_kinds_of_tokens_apart, 0, countof(kinds));
	tcase_add_loop_test(tc, lex_reads_integers_of_every_base, 0, countof(integers));
	tcase_add_loop_test(tc, lex_reads_floats_by_bits_and_by_digits, 0, countof(floats));
	tcase_add_test(tc, lex_keeps_the_bits_of_a_nan);
	tcase_add_test(tc, lex_reads_a_decimal_point_in_every_locale);
	tcase_add_test(tc, lex_counts_lines_and_columns_over_comments);
	tcase_add_loop_test(tc, lex_skips_a_block_wherever_it_stands, 0, countof(blocks));
	suite_add_tcase(s, tc);
	tc = tcase_create("mistakes");
	tcase_add_loop_test(tc, lex_reports_the_place_of_a_mistake, 0, countof(mistakes));
	tcase_add_test(tc, lex_stays_inside_a_text_without_end);
	suite_add_tcase(s, tc);
	return s;
}
