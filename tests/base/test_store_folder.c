/* SPDX-License-Identifier: MIT */
/* src/base/store_folder.c: where the cache folder is, and what is done in it through no link. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/store_folder.h"
#include "support/store_folder.h"
#include "support/suite.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct {
	const char *kudzu;
	const char *xdg;
	const char *home;
	const char *expected; /* NULL: none */
} caches[] = {
	{"/k", "/x", "/h", "/k"},
	{NULL, "/x", "/h", "/x/kudzu"},
	{"", "x", "/h", "/h/.cache/kudzu"},
	{NULL, NULL, "/h", "/h/.cache/kudzu"},
	{"relative", "/x", "/h", NULL},
	{"/k//l///", NULL, NULL, "/k/l"},
	{"//", NULL, NULL, "/"},
};

static void set_or_unset(const char *name, const char *value)
{
	if (value) {
		setenv(name, value, 1);
	} else {
		unsetenv(name);
	}
}

START_TEST(the_cache_folder_follows_the_environment)
{
	const char *why = "";
	set_or_unset("KUDZU_CACHE_DIR", caches[_i].kudzu);
	set_or_unset("XDG_CACHE_HOME", caches[_i].xdg);
	set_or_unset("HOME", caches[_i].home);
	char *result = store_folder_path(NULL, &why);
	if (caches[_i].expected) {
		ck_assert_str_eq(result, caches[_i].expected);
		ck_assert_ptr_null(why);
	} else {
		ck_assert_ptr_null(result);
		ck_assert_uint_gt(strlen(why), 0);
	}
	mem_free(result);
}
END_TEST

START_TEST(without_an_environment_the_cache_is_in_the_home_folder)
{
	const char *why = "";
	clearenv();
	char *result = store_folder_path(NULL, &why);
	ck_assert_msg(result || why, "no folder and no reason");
	if (result) {
		ck_assert_ptr_nonnull(strstr(result, "/.cache/kudzu"));
	}
	mem_free(result);
}
END_TEST

/* In folders */

static int cache;

static void open_cache(void)
{
	const char *why;
	store_folder_create();
	cache = store_folder_open(store_path, STORE_FOLDER_MAKE, &why);
	ck_assert_msg(cache >= 0, "%s", why);
}

static void write_text(int folder, const char *name, const char *text)
{
	const struct iovec part = {(void *)text, strlen(text)};
	ck_assert(store_folder_write(folder, name, &part, 1));
}

static bool is_there(const char *folder, const char *name)
{
	char path[300];
	struct stat info;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return lstat(path, &info) == 0;
}

/* What a folder `below` of the cache may be, and what is said of it. */

static void make_plain(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void make_link(const char *path)
{
	ck_assert_int_eq(symlink(store_outside, path), 0);
}

static void make_open_to_group(const char *path)
{
	make_plain(path);
	ck_assert_int_eq(chmod(path, 0770), 0);
}

static void make_foreign(const char *path)
{
	make_plain(path);
	if (chown(path, 65534, 65534) != 0) {
		fprintf(stderr, "skipped: only root makes a folder of another user\n");
		ck_assert_int_eq(chmod(path, 0777), 0);
	}
}

static void make_file(const char *path)
{
	close(open(path, O_CREAT | O_WRONLY, 0600));
}

static const struct {
	void (*make)(const char *path); /* NULL: nothing is there */
	bool ok;
	const char *why;
} belows[] = {
	{NULL, true, NULL},
	{make_plain, true, NULL},
	{make_link, false, "expected a folder"},
	{make_file, false, "expected a folder"},
	{make_open_to_group, false, "others can write to it, expected mode 700"},
	{make_foreign, false, ""},
};

START_TEST(a_folder_is_entered_if_it_is_ours)
{
	char path[200];
	const char *why;
	snprintf(path, sizeof(path), "%s/below", store_path);
	if (belows[_i].make) {
		belows[_i].make(path);
	}
	int fd = store_folder_enter(cache, "below", true, &why);
	ck_assert_int_eq(fd >= 0, belows[_i].ok);
	ck_assert_int_eq(why != NULL, belows[_i].why != NULL);
	ck_assert(!why || strstr(why, belows[_i].why));
}
END_TEST

START_TEST(a_folder_is_removed_with_all_that_is_in_it_and_nothing_else)
{
	char path[200];
	const char *why;
	make_file(strcat(strcpy(path, store_outside), "/file"));
	int below = store_folder_enter(cache, "below", true, &why);
	int deep = store_folder_enter(below, "deep", true, &why);
	write_text(deep, "one", "text");
	write_text(below, "two", "text");
	snprintf(path, sizeof(path), "%s/below/link", store_path);
	make_link(path);
	snprintf(path, sizeof(path), "%s/link", store_path);
	make_link(path);
	store_folder_delete(cache, "link");
	store_folder_delete(cache, "below");
	ck_assert(!is_there(store_path, "below"));
	ck_assert(is_there(store_path, "link"));
	ck_assert(is_there(store_outside, "file"));
}
END_TEST

static bool is_entry(const char *name)
{
	return name[0] == 'e';
}

/* Sets when a file was used, in seconds ago. */
static void set_used(const char *name, int64_t ago)
{
	struct timespec when[2] = {{time(NULL) - ago, 0}, {time(NULL) - ago, 0}};
	ck_assert_int_eq(utimensat(cache, name, when, 0), 0);
}

START_TEST(the_files_used_least_recently_are_trimmed)
{
	static const struct {
		const char *name;
		int64_t ago;
		bool stays;
	} files[] = {
		{"e1", 10, true}, {"e2", 50, false}, {"e3", 20, true}, {"e4", -9000, false},
		{"e5", 40, false}, {"other", 90000, true}, {"tmp-0123456789abcdef", 10, true},
		{"tmp-1123456789abcdef", 4000, false}, {"tmp-mine", 90000, true},
	};
	for (size_t i = 0; i < countof(files); i++) {
		write_text(cache, files[i].name, "text");
		set_used(files[i].name, files[i].ago);
	}
	struct store_trimmed trimmed = store_folder_trim(cache, is_entry, 6 * STORE_BLOCK, 0);
	ck_assert_int_eq(trimmed.removed, 0);
	ck_assert_int_eq(trimmed.left, 6 * STORE_BLOCK);
	trimmed = store_folder_trim(cache, is_entry, 5 * STORE_BLOCK, 3 * STORE_BLOCK);
	ck_assert_int_eq(trimmed.removed, 3);
	ck_assert_int_eq(trimmed.left, 3 * STORE_BLOCK);
	ck_assert(!trimmed.failed);
	for (size_t i = 0; i < countof(files); i++) {
		ck_assert_msg(is_there(store_path, files[i].name) == files[i].stays, "%s",
			files[i].name);
	}
}
END_TEST

START_TEST(want_of_memory_trims_less)
{
	write_text(cache, "e1", "text");
	mem_fail_after(0);
	struct store_trimmed trimmed = store_folder_trim(cache, is_entry, 0, 0);
	ck_assert(mem_has_failed());
	mem_fail_after(-1);
	ck_assert(trimmed.failed);
	ck_assert_int_eq(trimmed.removed, 0);
	ck_assert(is_there(store_path, "e1"));
}
END_TEST

SUITE(store_folder)
{
	Suite *suite = suite_create("store_folder");
	TCase *tc = tcase_create("path");
	tcase_add_loop_test(tc, the_cache_folder_follows_the_environment, 0, countof(caches));
	tcase_add_test(tc, without_an_environment_the_cache_is_in_the_home_folder);
	suite_add_tcase(suite, tc);
	tc = tcase_create("folders");
	tcase_add_checked_fixture(tc, open_cache, store_folder_remove);
	tcase_add_loop_test(tc, a_folder_is_entered_if_it_is_ours, 0, countof(belows));
	tcase_add_test(tc, a_folder_is_removed_with_all_that_is_in_it_and_nothing_else);
	tcase_add_test(tc, the_files_used_least_recently_are_trimmed);
	tcase_add_test(tc, want_of_memory_trims_less);
	suite_add_tcase(suite, tc);
	return suite;
}
