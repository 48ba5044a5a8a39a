/* SPDX-License-Identifier: MIT */
/* src/base/place.c: the program's lines, and its offsets. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/place.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct place find(uintptr_t address)
{
	struct place place;
	struct place_finder *finder = place_finder_create();
	place_find(&place, finder, address);
	place_finder_free(finder);
	return place;
}

START_TEST(a_call_has_its_file_and_line)
{
	uintptr_t address = place_here();
	int line = __LINE__ - 1;
	struct place place = find(address);
	ck_assert_str_eq(place.file, __FILE__);
	ck_assert_int_eq(place.line, line);
}
END_TEST

#line 7 "/a/long/folder/another/long/folder/a/third/long/folder/a/fourth/long/folder/\
and/a/fifth/long/folder/and/a/last/long/folder/and/then/main.c"
static uintptr_t call_in_long(void) { return place_here() + 0 * (uintptr_t)getpid(); }
#line 36 "tests/base/test_place.c"

START_TEST(a_long_name_keeps_its_end)
{
	struct place place = find(call_in_long());
	ck_assert_uint_eq(strlen(place.file), sizeof(place.file) - 1);
	ck_assert_ptr_nonnull(strstr(place.file, "/and/then/main.c"));
	ck_assert_int_eq(place.line, 7);
}
END_TEST

#line 3 "/usr/include/kudzu/kudzu.hpp"
#define HERE static always_inline
HERE uintptr_t call_in_template(void) { return place_here() + 0 * (uintptr_t)getpid(); }
HERE uintptr_t call_in_two_templates(void) { return call_in_template(); }
#line 51 "tests/base/test_place.c"

/* Templates of kudzu.hpp are the program's calls. */
START_TEST(a_template_of_ours_has_the_line_that_calls_it)
{
	uintptr_t addresses[2];
	addresses[0] = call_in_template();
	addresses[1] = call_in_two_templates();
	int line = __LINE__ - 2;
	for (int i = 0; i < 2; i++) {
		struct place place = find(addresses[i]);
		ck_assert_str_eq(place.file, __FILE__);
		ck_assert_int_eq(place.line, line + i);
	}
}
END_TEST

/* libc of a distribution has no debug information. */
START_TEST(without_debug_information_it_is_an_offset)
{
	uintptr_t address;
	void *(*function)(const void *, int, size_t) = memchr;
	memcpy(&address, &function, sizeof(address));
	struct place place = find(address);
	ck_assert_msg(strncmp(place.file, "libc.so.6+0x", 12) == 0 || place.line > 0, "%s",
		place.file);
}
END_TEST

START_TEST(what_is_not_code_has_no_place)
{
	ck_assert_str_eq(find(0).file, "");
	ck_assert_str_eq(find(16).file, "");
	ck_assert_int_eq(find(16).line, 0);
}
END_TEST

START_TEST(without_memory_there_are_modules)
{
	struct place place;
	uintptr_t address = place_here();
	mem_fail_after(0);
	struct place_finder *finder = place_finder_create();
	mem_fail_after(-1);
	ck_assert_ptr_null(finder);
	place_find(&place, finder, address);
	ck_assert_ptr_nonnull(strstr(place.file, "+0x"));
	ck_assert_int_eq(place.line, 0);
}
END_TEST

SUITE(place)
{
	Suite *s = suite_create("place");
	TCase *tc = suite_add_case(s, "places");
	tcase_add_test(tc, a_call_has_its_file_and_line);
	tcase_add_test(tc, a_long_name_keeps_its_end);
	tcase_add_test(tc, a_template_of_ours_has_the_line_that_calls_it);
	tcase_add_test(tc, without_debug_information_it_is_an_offset);
	tcase_add_test(tc, what_is_not_code_has_no_place);
	tcase_add_test(tc, without_memory_there_are_modules);
	return s;
}
