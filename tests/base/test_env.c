/* SPDX-License-Identifier: MIT */
/* Environment variables: a thread that has a copy of them reads that. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/env.h"
#include "support/suite.h"

#include <stdlib.h>

START_TEST(a_copy_stays_as_it_was)
{
	setenv("KUDZU_ENV_TEST", "before", 1);
	setenv("KUDZU_ENV_TEST_LONGER", "other", 1);
	setenv("KUDZU_ENV_EMPTY", "", 1);
	char *copy = env_copy();
	ck_assert_ptr_nonnull(copy);
	setenv("KUDZU_ENV_TEST", "after", 1);
	setenv("KUDZU_ENV_NEW", "new", 1);
	ck_assert_str_eq(env_get("KUDZU_ENV_TEST"), "after");
	env_use(copy);
	ck_assert_str_eq(env_get("KUDZU_ENV_TEST"), "before");
	ck_assert_str_eq(env_get("KUDZU_ENV_TEST_LONGER"), "other");
	ck_assert_str_eq(env_get("KUDZU_ENV_EMPTY"), "");
	ck_assert_ptr_null(env_get("KUDZU_ENV_NEW"));
	ck_assert_ptr_null(env_get("KUDZU_ENV"));
	env_use(NULL);
	ck_assert_str_eq(env_get("KUDZU_ENV_TEST"), "after");
	mem_free(copy);
}
END_TEST

START_TEST(an_empty_environment_has_nothing)
{
	clearenv();
	char *copy = env_copy();
	ck_assert_ptr_nonnull(copy);
	env_use(copy);
	ck_assert_ptr_null(env_get("HOME"));
	env_use(NULL);
	mem_free(copy);
}
END_TEST

SUITE(env)
{
	Suite *s = suite_create("env");
	TCase *tc = suite_add_case(s, "copies");
	tcase_add_test(tc, a_copy_stays_as_it_was);
	tcase_add_test(tc, an_empty_environment_has_nothing);
	return s;
}
