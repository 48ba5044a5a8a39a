/* SPDX-License-Identifier: MIT */
/* Where debuggers find a source: what the code says, and what lies there. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "lib/rtc/keep.h"
#include "support/support.h"
#include "support/suite.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char source[] = "__global__ void k(int *a)\n{\n\t*a = 1;\n}\n";
static kz_error err;
static char folder[] = "/tmp/kudzu-keep-XXXXXX";

static void setup(void)
{
	err = (kz_error)KZ_ERROR_INIT;
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("KUDZU_CACHE_DIR", folder, 1);
	setenv("KUDZU_CACHE", "1", 1);
	unsetenv("KUDZU_CHECK"); /* which keeps sources by itself */
}

static void teardown(void)
{
	char command[100];
	kz_error_clear(&err);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static bool file_is(const char *path, const char *text)
{
	char *data = NULL;
	size_t size = 0;
	ok(file_read(&data, &size, path, &err));
	bool same = strcmp(data, text) == 0;
	mem_free(data);
	return same;
}

/* The path that the line table of a PTX text names first, after `.file 1 "`. */
static void read_file_name(char path[PATH_MAX], const char *ptx)
{
	const char *at = strstr(ptx, ".file");
	ck_assert_ptr_nonnull(at);
	at = strchr(at, '"');
	ck_assert_ptr_nonnull(at);
	snprintf(path, PATH_MAX, "%.*s", (int)strcspn(at + 1, "\""), at + 1);
}

START_TEST(the_code_names_a_file_that_has_the_source)
{
	static const char *const names[] = {NULL, "mine.cu", "sub/folder/mine.cu", "/nowhere/x.cu"};
	for (int debug = 0; debug < 2; debug++) {
		kz_image *image = NULL;
		char path[PATH_MAX];
		kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
		options.name = names[_i];
		options.keep_source = 1;
		options.line_info = !debug;
		options.debug = debug;
		ok(kz_compile(&image, source, &options, &err));
		read_file_name(path, kz_image_data(image, NULL));
		ck_assert_int_eq(strncmp(path, folder, strlen(folder)), 0);
		ck_assert(file_is(path, source));
		kz_image_release(image);
	}
}
END_TEST

START_TEST(a_file_that_has_the_source_is_named_itself)
{
	char path[PATH_MAX];
	char named[PATH_MAX];
	kz_image *image = NULL;
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	ck_assert_int_eq(chdir(folder), 0);
	FILE *file = fopen("own.cu", "w");
	fputs(source, file);
	fclose(file);
	options.name = "own.cu";
	options.keep_source = 1;
	options.line_info = 1;
	ok(kz_compile(&image, source, &options, &err));
	read_file_name(named, kz_image_data(image, NULL));
	ck_assert_ptr_nonnull(realpath("own.cu", path));
	ck_assert_str_eq(named, path);
	ck_assert_int_ne(access("sources", F_OK), 0);
	kz_image_release(image);
	ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(without_the_option_nothing_is_written)
{
	kz_image *image = NULL;
	char path[PATH_MAX];
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.line_info = 1;
	ok(kz_compile(&image, source, &options, &err));
	snprintf(path, sizeof(path), "%s/sources", folder);
	ck_assert_int_ne(access(path, F_OK), 0);
	kz_image_release(image);
}
END_TEST

START_TEST(a_changed_file_is_written_again)
{
	char *first = NULL;
	char *again = NULL;
	struct stat status;
	ok(keep_source(&first, source, "a.cu", &err));
	FILE *file = fopen(first, "w");
	fputs("other", file);
	fclose(file);
	ok(keep_source(&again, source, "a.cu", &err));
	ck_assert_str_eq(first, again);
	ck_assert(file_is(again, source));
	mem_free(again);
	ok(keep_source(&again, "// other", "a.cu", &err));
	ck_assert_str_ne(first, again);
	char *sources = file_folder(first);
	ck_assert_int_eq(stat(sources, &status), 0);
	ck_assert_int_eq(status.st_mode & 077, 0);
	mem_free(sources);
	mem_free(first);
	mem_free(again);
}
END_TEST

START_TEST(what_is_kept_has_a_limit)
{
	static char text[10000];
	char *paths[12];
	char *again = NULL;
	char other[PATH_MAX];
	struct stat status;
	snprintf(other, sizeof(other), "%s/other", folder);
	keep_size_max = 5 * 12288;
	memset(text, 'x', sizeof(text) - 1);
	for (int i = 0; i < 12; i++) {
		text[0] = (char)('a' + i);
		ok(keep_source(&paths[i], text, NULL, &err));
		ck_assert(file_is(paths[i], text));
		ck_assert_int_eq(i > 0 ? 0 : link(paths[0], other), 0);
		usleep(5000); /* a tick of the clock */
		text[0] = 'a'; /* is used again and again, and stays */
		ok(keep_source(&again, text, NULL, &err));
		ck_assert_str_eq(again, paths[0]);
		mem_free(again);
		usleep(5000);
	}
	for (int i = 0; i < 12; i++) {
		ck_assert_int_eq(access(paths[i], F_OK) == 0, i == 0 || i > 7); /* 5 fit */
	}
	ck_assert_int_eq(stat(paths[0], &status), 0);
	ck_assert_uint_eq(status.st_nlink, 2); /* it is still the first file */
	for (int i = 0; i < 12; i++) {
		mem_free(paths[i]);
	}
}
END_TEST

START_TEST(why_knows_the_name_of_a_kept_source)
{
	kz_image *image = NULL;
	char why[400];
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.keep_source = 1;
	options.line_info = 1;
	ok(kz_cache_why(why, sizeof(why), NULL, source, &options, &err));
	ck_assert_int_eq(strncmp(why, "miss", 4), 0);
	snprintf(why, sizeof(why), "%s/sources", folder);
	ck_assert_int_ne(access(why, F_OK), 0);
	ok(kz_compile(&image, source, &options, &err));
	ok(kz_cache_why(why, sizeof(why), NULL, source, &options, &err));
	ck_assert_str_eq(why, "hit\n");
	kz_image_release(image);
}
END_TEST

/* What is wrong with a folder; each gets its path. */

static void make_file(const char *path)
{
	fclose(fopen(path, "w"));
}

static void make_open_to_group(const char *path)
{
	ck_assert(mkdir(path, 0700) == 0 || errno == EEXIST);
	ck_assert_int_eq(chmod(path, 0770), 0);
}

static void make_foreign(const char *path)
{
	ck_assert(mkdir(path, 0700) == 0 || errno == EEXIST);
	if (chown(path, 65534, 65534) != 0) {
		fprintf(stderr, "skipped: only root makes a folder of another user\n");
		ck_assert_int_eq(chmod(path, 0777), 0);
	}
}

static char elsewhere[PATH_MAX];

/* To a folder with sources, which are more than may be kept. */
static void make_link(const char *path)
{
	char file[PATH_MAX + 80];
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", folder);
	ck_assert_int_eq(mkdir(elsewhere, 0700), 0);
	for (int i = 0; i < 2; i++) {
		snprintf(file, sizeof(file), "%s/0123456789abcdef0123456789abcde%d-kernel.cu",
			elsewhere, i);
		make_file(file);
	}
	keep_size_max = 0;
	ck_assert_int_eq(symlink(elsewhere, path), 0);
}

static const struct {
	const char *name; /* "" is the cache folder */
	void (*make)(const char *path);
	const char *said;
} wrong[] = {
	{"", make_file, "expected a folder"},
	{"", make_link, "expected a folder"},
	{"", make_open_to_group, "others can write to it"},
	{"", make_foreign, ""},
	{"/sources", make_file, "expected a folder"},
	{"/sources", make_link, "expected a folder"},
	{"/sources", make_open_to_group, "others can write to it"},
	{"/sources", make_foreign, ""},
};

START_TEST(nothing_is_kept_in_a_folder_that_others_may_lead_us_to)
{
	char *path = NULL;
	char at[PATH_MAX];
	snprintf(at, sizeof(at), "%s/cache", folder);
	setenv("KUDZU_CACHE_DIR", at, 1);
	if (*wrong[_i].name) {
		ck_assert_int_eq(mkdir(at, 0700), 0);
	}
	strcat(at, wrong[_i].name);
	wrong[_i].make(at);
	fails(keep_source(&path, source, NULL, &err), KZ_IO, wrong[_i].said);
	ck_assert_ptr_null(path);
	if (wrong[_i].make == make_link) {
		DIR *list = opendir(elsewhere);
		int count = 0;
		while (readdir(list)) {
			count++;
		}
		closedir(list);
		ck_assert_int_eq(count, 4); /* nothing came, nothing went */
	}
}
END_TEST

START_TEST(a_relative_cache_folder_is_told)
{
	char *path = NULL;
	setenv("KUDZU_CACHE_DIR", "relative", 1);
	fails(keep_source(&path, source, NULL, &err), KZ_IO, "KUDZU_CACHE_DIR is not an absolute");
	ck_assert_ptr_null(path);
}
END_TEST

START_TEST(want_of_memory_leaves_nothing)
{
	bool failed = true;
	for (long n = 0; failed; n++) {
		char *path = NULL;
		mem_fail_after(n);
		kz_status st = keep_source(&path, source, "some.cu", &err);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(st == KZ_OK || (failed && !path));
		mem_free(path);
		kz_error_clear(&err);
	}
}
END_TEST

SUITE(keep)
{
	Suite *suite = suite_create("keep");
	TCase *tc = suite_add_case(suite, "sources");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, the_code_names_a_file_that_has_the_source, 0, 4);
	tcase_add_tests(tc, 1, a_file_that_has_the_source_is_named_itself,
		without_the_option_nothing_is_written, a_changed_file_is_written_again,
		what_is_kept_has_a_limit, why_knows_the_name_of_a_kept_source);
	tcase_add_loop_test(tc, nothing_is_kept_in_a_folder_that_others_may_lead_us_to, 0,
		countof(wrong));
	tcase_add_tests(tc, 1, a_relative_cache_folder_is_told, want_of_memory_leaves_nothing);
	return suite;
}
