/* SPDX-License-Identifier: MIT */
/* What a search says when it finds nothing: here for a library that no machine has. */
#include "base/common.h"

#include "lib/rtc/find.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char toolkit[] = "/tmp/kudzu-test-XXXXXX";
static kz_error err;
static const char *const sonames[] = {"libnowhere.so.2", "libnowhere.so", NULL};
static const char *const hints[] = FIND_HINTS("nvidia-nowhere", "KUDZU_NVRTC");

static bool take(struct find *find, void *object, const char *path)
{
	(void)find;
	(void)object;
	(void)path;
	return true;
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(toolkit));
	unsetenv("KUDZU_NVRTC");
	unsetenv("VIRTUAL_ENV");
	unsetenv("CONDA_PREFIX");
	setenv("HOME", "/nowhere", 1);
	setenv("CUDA_PATH", toolkit, 1);
	setenv("CUDA_HOME", toolkit, 1);
}

static void teardown(void)
{
	rmdir(toolkit);
	kz_error_clear(&err);
}

static void search(void)
{
	static const struct find_what what = {"libnowhere.so", "KUDZU_NVRTC", sonames, take, hints};
	struct find find = {.what = &what, .log = STR_INIT};
	find_library(&find);
	ck_assert(!find.found);
	ck_assert_int_eq(find_failed(&find, "Nowhere", "library", &err), KZ_NO_COMPILER);
	str_free(&find.log);
}

/* How often a text stands in the log. */
static int count(const char *text)
{
	int n = 0;
	for (const char *at = err.log; (at = strstr(at, text)); at++) {
		n++;
	}
	return n;
}

START_TEST(each_root_and_the_loader_have_one_line)
{
	char line[256];
	search();
	snprintf(line, sizeof(line), "  %s: no libnowhere.so* in lib64, lib, targets/" FIND_TARGET
		"/lib\n", toolkit);
	ck_assert_msg(count(line) == 1 && count(toolkit) == 1, "%s", err.log);
	ck_assert_int_eq(count("  /usr/local: no libnowhere.so* in "), 1);
	ck_assert_int_eq(count("  /nowhere/.local: no such folder\n"), 1);
	ck_assert_int_eq(count("  the dynamic loader does not find: libnowhere.so.2, "
		"libnowhere.so\n"), 1);
}
END_TEST

START_TEST(a_library_that_does_not_load_has_a_line_of_its_own)
{
	char folder[64], path[96];
	snprintf(folder, sizeof(folder), "%s/lib", toolkit);
	snprintf(path, sizeof(path), "%s/libnowhere.so.1", folder);
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs("this is no library", file);
	fclose(file);
	search();
	unlink(path);
	rmdir(folder);
	ck_assert_msg(count(path) == 1, "%s", err.log);
	ck_assert_int_eq(count("no libnowhere.so* in lib64, targets/"), 1);
}
END_TEST

/* The variable of an environment, and the pip for it. */
static const struct {
	const char *variable, *begin;
} pips[] = {
	{"VIRTUAL_ENV", "pip install nvidia-nowhere, or "},
	{"CONDA_PREFIX", "pip install nvidia-nowhere, or "},
	{"LANG", "pip install --user "},
};

START_TEST(the_hint_begins_with_the_command_for_this_python)
{
	setenv(pips[_i].variable, "C", 1);
	search();
	ck_assert_msg(strncmp(err.hint, pips[_i].begin, strlen(pips[_i].begin)) == 0, "%s",
		err.hint);
	bool marked = access("/usr/lib/python3.11/EXTERNALLY-MANAGED", F_OK) == 0;
	ck_assert(!marked || _i < 2 || strstr(err.hint, " --break-system-packages nvidia-nowhere"));
}
END_TEST

SUITE(find)
{
	Suite *suite = suite_create("find");
	TCase *tc = suite_add_case(suite, "in vain");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_tests(tc, 1, each_root_and_the_loader_have_one_line,
		a_library_that_does_not_load_has_a_line_of_its_own);
	tcase_add_loop_test(tc, the_hint_begins_with_the_command_for_this_python, 0,
		(int)countof(pips));
	return suite;
}
