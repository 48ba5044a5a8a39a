/* SPDX-License-Identifier: MIT */
#ifndef SUITE_H
#define SUITE_H

/*
 * A suite makes itself known: its file holds
 *
 *	SUITE(lex)
 *	{
 *		Suite *s = suite_create("lex");
 *		...
 *		return s;
 *	}
 *
 * which puts a pointer to that function into the linker section `suites`.  main.c runs whatever is
 * linked in, so a new suite is listed nowhere.
 */
#include "count.h"

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

typedef Suite *suite_maker(void);

#define SUITE(name) \
	static Suite *name##_suite(void); \
	static suite_maker *const name##_maker __attribute__((section("suites"), used)) = \
		name##_suite; \
	static Suite *name##_suite(void)

/* A test case, as tcase_create() makes it, that belongs to the suite. */
static inline TCase *suite_add_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);
	suite_add_tcase(suite, tcase);
	return tcase;
}

static inline void suite_add_tests(TCase *tcase, int times, const TTest *const *tests)
{
	for (; *tests; tests++) {
		tcase_add_loop_test(tcase, *tests, 0, times);
	}
}

/* A loop test of which support_is_tried() says what is tried; the rest costs no process. */
static inline void tcase_add_sample(TCase *tcase, const TTest *test, int of, int usual, int brief)
{
	for (int i = 0; i < of; i++) {
		if (support_is_tried(i, of, usual, brief)) {
			tcase_add_loop_test(tcase, test, i, i + 1);
		}
	}
}

/* tcase_add_loop_test(tcase, test, 0, times) for each test of the list. */
#define tcase_add_tests(tcase, times, ...) \
	suite_add_tests(tcase, times, (const TTest *const[]){__VA_ARGS__, NULL})

/*
 * A loop test between begin and end, as a fixture that knows the index _i of the loop.  Without
 * END_TEST; a return skips the rest of the body only.  TEST_IF leaves out indexes.  DEVICE_TEST is
 * for files whose setup() opens the device of an index, and whose teardown() closes it.
 */
#define TEST_BETWEEN(begin, end, name) TEST_IF(true, begin, end, name)
#define TEST_IF(is_tried, begin, end, name) \
	static void name##_body(int _i); \
	START_TEST(name) \
	{ \
		if (is_tried) { \
			begin; \
			name##_body(_i); \
			end; \
		} \
	} \
	static void name##_body(int _i CK_ATTRIBUTE_UNUSED)
#define DEVICE_TEST(name) TEST_BETWEEN(setup(_i), teardown(), name)
/* Where setup() opens each device in two ways, as those files define DEVICE_TEST: see
 * support_is_way_tried(). */
#define EITHER_WAY_TEST(name) TEST_IF(support_is_way_tried(#name, _i % 2), setup(_i), teardown(), \
	name)

#endif
