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
#include <check.h>

typedef Suite *suite_maker(void);

#define SUITE(name) \
	static Suite *name##_suite(void); \
	static suite_maker *const name##_maker __attribute__((section("suites"), used)) = \
		name##_suite; \
	static Suite *name##_suite(void)

#endif
