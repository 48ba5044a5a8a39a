/* SPDX-License-Identifier: MIT */
/*
 * The test runners: this file is compiled once for each, with SUITES naming its suites,
 * X(base) X(error) ..., as the Makefile lists them.
 *
 * Check forks for every test.  Threads and devices do not survive that, so nothing here, and no
 * unchecked fixture, may start one.
 */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define X(name) Suite *name##_suite(void);
SUITES
#undef X

/* KUDZU_TEST_SKIP: names with spaces around them. */
static bool is_skipped(const char *name)
{
	const char *skip = getenv("KUDZU_TEST_SKIP");
	size_t len = strlen(name);
	for (const char *at = skip; at && (at = strstr(at, name)) != NULL; at += len) {
		if (at > skip && at[-1] == ' ' && at[len] == ' ') {
			return true;
		}
	}
	return false;
}

int main(void)
{
	SRunner *runner = srunner_create(NULL);
#define X(name) \
	if (!is_skipped(#name)) { \
		srunner_add_suite(runner, name##_suite()); \
	}
	SUITES
#undef X
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
