/* SPDX-License-Identifier: MIT */
/* The program of the README, samples/01_doublify.c as it stands, while memory runs out. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/module/image_cache.h"
#include "support/support.h"
#include "support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int hero_main(void);
#define main hero_main
#include "../../samples/01_doublify.c"
#undef main

/* Run the program with its output in a file; return its exit status and what it said. */
static int run_hero(char *said, size_t size)
{
	fflush(NULL);
	FILE *file = tmpfile();
	ck_assert_ptr_nonnull(file);
	int out = dup(STDOUT_FILENO), error = dup(STDERR_FILENO);
	dup2(fileno(file), STDOUT_FILENO);
	dup2(fileno(file), STDERR_FILENO);
	int status = hero_main();
	fflush(NULL);
	dup2(out, STDOUT_FILENO);
	dup2(error, STDERR_FILENO);
	close(out);
	close(error);
	rewind(file);
	said[fread(said, 1, size - 1, file)] = '\0';
	fclose(file);
	return status;
}

START_TEST(hero_prints_the_doubled_numbers)
{
	char said[1024];
	support_select(_i);
	ck_assert_int_eq(run_hero(said, sizeof(said)), 0);
	ck_assert_str_eq(said, "0 2 ... 30\n");
}
END_TEST

START_TEST(hero_survives_every_failing_allocation)
{
	char said[4096];
	int status = 1;
	long n;
	support_select(_i);
	for (n = 0; n < 5000; n++) {
		image_cache_clear();
		mem_fail_after(n);
		status = run_hero(said, sizeof(said));
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		if (!failed) {
			break;
		}
		/* Either the program could do without, or it says what it lacked. */
		const char *want = status ? "memory" : "0 2 ... 30\n";
		ck_assert_msg(strstr(said, want) != NULL, "request %ld: '%s'", n, said);
	}
	ck_assert_int_gt(n, 20);
	ck_assert_int_eq(status, 0);
	ck_assert_str_eq(said, "0 2 ... 30\n");
}
END_TEST

SUITE(hero)
{
	Suite *s = suite_create("hero");
	TCase *tc = suite_add_case(s, "each device");
	tcase_set_timeout(tc, 240);
	tcase_add_tests(tc, support_device_count(), hero_prints_the_doubled_numbers,
		hero_survives_every_failing_allocation);
	return s;
}
