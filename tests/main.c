/* SPDX-License-Identifier: MIT */
/*
 * The test runners: run every suite that is linked in; see support/suite.h.
 *
 * Check forks for every test.  Threads and devices do not survive that, so nothing here, and no
 * unchecked fixture, may start one.
 *
 * Nothing is cached unless the environment or a test asks for it: a test that compiles must
 * compile, and nobody's own cache is touched.
 */
#include "support/suite.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* As `kudzu worker`: of this build, as the library in here is.  One of the runners has no
 * library. */
int kz_warm_up_serve(int socket) __attribute__((weak));

/* As a program that says whether it has a store; see test_store_owner.c. */
int store_owner_tell(void) __attribute__((weak));

/* nvJitLink 13.0 keeps some memory of every link that fails. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libnvJitLink\n";
}

/*
 * The linker puts this in place of Check's function, which writes to a file at each assertion that
 * holds, to say after which line a test crashed.  A loop spends most of its time with that, so a
 * line counts when a test comes to it for the first time.
 */
void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line)
{
	static _Atomic uint64_t passed[64];
	const uintptr_t place = (uintptr_t)file + (uintptr_t)line;
	_Atomic uint64_t *word = &passed[place / 64 % 64];
	const uint64_t bit = UINT64_C(1) << place % 64;
	if (!(atomic_load_explicit(word, memory_order_relaxed) & bit)) {
		atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
		__real__mark_point(file, line);
	}
}

/* The linker makes these two for a section with such a name. */
extern suite_maker *const __start_suites[];
extern suite_maker *const __stop_suites[];

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "worker") == 0 && kz_warm_up_serve) {
		return kz_warm_up_serve(0);
	}
	if (argc == 2 && strcmp(argv[1], "store") == 0 && store_owner_tell) {
		return store_owner_tell();
	}
	setenv("KUDZU_CACHE", "0", 0);
	support_choose_sample();
	SRunner *runner = srunner_create(NULL);
	for (suite_maker *const *make = __start_suites; make < __stop_suites; make++) {
		srunner_add_suite(runner, (*make)());
	}
	srunner_run_all(runner, CK_ENV);
	/* A suite that CK_RUN_SUITE names and that is not here runs no test: that is no success. */
	bool passed = srunner_ntests_failed(runner) == 0 && srunner_ntests_run(runner) > 0;
	srunner_free(runner);
	return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
