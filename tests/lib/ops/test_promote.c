/* SPDX-License-Identifier: MIT */
/*
 * Which types numbers have in common, and what goes into what.
 *
 * The whole table is compared with a rule that knows only what each type can hold: the common type
 * is the smallest one of the higher kind that holds the digits of both.  And with numpy 2.4.6
 * itself, whose answers are below, as it writes its types: ? b h i l B H I L e f d F D, E for
 * ml_dtypes' bfloat16, of which numpy says less than we do: a dot.
 */
#include "base/common.h"

#include "support/support.h"
#include "support/suite.h"

#include <string.h>

/* In the order of their numbers. */
static const char letters[] = "?bhilBHILeEfdFD";
enum { TYPES = sizeof(letters) - 1 };

enum kind { BOOL, UNSIGNED, SIGNED, REAL, COMPLEX };

/* What a type holds: the binary digits of whole numbers without a sign, and the largest
 * exponent. */
static const struct type {
	enum kind kind;
	int digits;
	int exponent;
} types[TYPES] = {
	{BOOL, 1, 1}, {SIGNED, 7, 7}, {SIGNED, 15, 15}, {SIGNED, 31, 31}, {SIGNED, 63, 63},
	{UNSIGNED, 8, 8}, {UNSIGNED, 16, 16}, {UNSIGNED, 32, 32}, {UNSIGNED, 64, 64},
	{REAL, 11, 16}, {REAL, 8, 128}, {REAL, 24, 128}, {REAL, 53, 1024},
	{COMPLEX, 24, 128}, {COMPLEX, 53, 1024},
};

/* Whether `to` holds all that `from` does; the widest floats hold all integers well enough. */
static bool holds(const struct type *to, const struct type *from)
{
	bool whole = from->kind <= SIGNED;
	bool widest = to->kind >= REAL && to->digits == 53;
	return to->kind >= from->kind && (whole ? to->digits >= from->digits || widest
		: to->digits >= from->digits && to->exponent >= from->exponent);
}

static kz_dtype common(const struct type *a, const struct type *b)
{
	static const char ascending[] = "?BHILbhileEfdFD";
	for (const char *at = ascending; *at; at++) {
		kz_dtype dtype = (kz_dtype)(strchr(letters, *at) - letters + 1);
		if (holds(&types[dtype - 1], a) && holds(&types[dtype - 1], b)) {
			return dtype;
		}
	}
	return 0;
}

START_TEST(the_common_type_is_the_smallest_that_holds_both)
{
	for (int a = 0; a < TYPES; a++) {
		for (int b = 0; b < TYPES; b++) {
			kz_dtype want = common(&types[a], &types[b]);
			kz_dtype got = kz_dtype_promote((kz_dtype)a + 1, (kz_dtype)b + 1);
			ck_assert_msg(got == want, "%c and %c: expected %c, got %s", letters[a],
				letters[b], letters[want - 1], kz_dtype_name(got));
		}
	}
}
END_TEST

/* numpy.promote_types */
static const char numpy_promotes[TYPES][TYPES + 1] = {
	"?bhilBHILeEfdFD", "bbhilhildeEfdFD", "hhhilhildf.fdFD", "iiiiliildd.ddDD",
	"lllllllldd.ddDD", "BhhilBHILeEfdFD", "HiiilHHILf.fdFD", "IllllIIILd.ddDD",
	"LddddLLLLd.ddDD", "eefddefdde.fdFD", "EE...E....EfdFD", "fffddffddfffdFD",
	"dddddddddddddDD", "FFFDDFFDDFFFDFD", "DDDDDDDDDDDDDDD",
};

/* numpy.can_cast(..., "same_kind") */
static const char numpy_casts[TYPES][TYPES + 1] = {
	"111111111111111", "011110000111111", "011110000111111", "011110000111111",
	"011110000111111", "011111111111111", "011111111111111", "011111111111111",
	"011111111111111", "000000000111111", "000000000.11111", "000000000111111",
	"000000000111111", "0000000000.0011", "0000000000.0011",
};

START_TEST(the_common_type_is_that_of_numpy)
{
	for (int a = 0; a < TYPES; a++) {
		for (int b = 0; b < TYPES; b++) {
			kz_dtype got = kz_dtype_promote((kz_dtype)a + 1, (kz_dtype)b + 1);
			char want = numpy_promotes[a][b];
			ck_assert_msg(want == '.' || letters[got - 1] == want,
				"%c and %c: expected %c, got %s", letters[a], letters[b], want,
				kz_dtype_name(got));
		}
	}
}
END_TEST

START_TEST(results_go_where_numpy_lets_them)
{
	for (int a = 0; a < TYPES; a++) {
		for (int b = 0; b < TYPES; b++) {
			int got = kz_dtype_can_cast((kz_dtype)a + 1, (kz_dtype)b + 1);
			char want = numpy_casts[a][b];
			ck_assert_msg(want == '.' || got == want - '0', "%c into %c: expected %c, "
				"got %d", letters[a], letters[b], want, got);
			ck_assert_int_eq(got, types[a].kind <= types[b].kind);
		}
	}
}
END_TEST

START_TEST(structs_have_only_themselves_in_common)
{
	kz_error err = KZ_ERROR_INIT;
	kz_dtype one, two;
	ok(kz_dtype_register(&one, "struct one", 12, &err));
	ok(kz_dtype_register(&two, "struct two", 12, &err));
	ck_assert_uint_eq(kz_dtype_promote(one, one), one);
	ck_assert_int_eq(kz_dtype_can_cast(one, one), 1);
	for (kz_dtype other = 0; other < 40; other++) {
		ck_assert_uint_eq(kz_dtype_promote(one, other), 0);
		ck_assert_uint_eq(kz_dtype_promote(other, one), 0);
		ck_assert_int_eq(kz_dtype_can_cast(one, other), 0);
		ck_assert_int_eq(kz_dtype_can_cast(other, one), 0);
	}
	ck_assert_uint_eq(kz_dtype_promote(one, two), 0);
	ck_assert_int_eq(kz_dtype_can_cast(one, two), 0);
}
END_TEST

START_TEST(what_is_no_dtype_has_nothing_in_common)
{
	static const kz_dtype none[] = {0, 18, 19, 0xffff, 0x7fffffff, 0xffffffff};
	for (size_t i = 0; i < countof(none); i++) {
		for (kz_dtype other = 0; other < 20; other++) {
			ck_assert_uint_eq(kz_dtype_promote(none[i], other), 0);
			ck_assert_uint_eq(kz_dtype_promote(other, none[i]), 0);
			ck_assert_int_eq(kz_dtype_can_cast(none[i], other), 0);
			ck_assert_int_eq(kz_dtype_can_cast(other, none[i]), 0);
		}
		ck_assert_uint_eq(kz_dtype_promote(none[i], none[i]), 0);
		ck_assert_int_eq(kz_dtype_can_cast(none[i], none[i]), 0);
	}
}
END_TEST

SUITE(promote)
{
	Suite *s = suite_create("promote");
	TCase *tc = suite_add_case(s, "types");
	tcase_add_tests(tc, 1, the_common_type_is_the_smallest_that_holds_both,
		the_common_type_is_that_of_numpy, results_go_where_numpy_lets_them,
		structs_have_only_themselves_in_common, what_is_no_dtype_has_nothing_in_common);
	return s;
}
