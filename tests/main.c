/* SPDX-License-Identifier: MIT */
/*
 * The test runners: this file is compiled once for each, with SUITES naming its suites,
 * X(base) X(error) ..., as the Makefile lists them.
 *
 * Check forks for every test.  Threads and devices do not survive that, so nothing here, and no
 * unchecked fixture, may start one.
 *
 * Nothing is cached, unless the environment or a test asks for it: what compiles shall compile, and
 * nobody's cache is touched.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

/* As `kudzu worker`: of this build, as the library in here is.  One of the runners has no library. */
int kz_warm_up_serve(int socket) __attribute__((weak));

/* As a program that says whether it has a store; see test_store_owner.c. */
int store_owner_tell(void) __attribute__((weak));

/* nvJitLink 13.0 keeps some memory of every link that fails. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libnvJitLink\n";
}

#define X(name) Suite *name##_suite(void);
SUITES
#undef X

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "worker") == 0 && kz_warm_up_serve) {
		return kz_warm_up_serve(0);
	}
	if (argc == 2 && strcmp(argv[1], "store") == 0 && store_owner_tell) {
		return store_owner_tell();
	}
	setenv("KUDZU_CACHE", "0", 0);
	SRunner *runner = srunner_create(NULL);
#define X(name) srunner_add_suite(runner, name##_suite());
	SUITES
#undef X
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
