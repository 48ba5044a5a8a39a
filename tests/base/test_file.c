/* SPDX-License-Identifier: MIT */
/* src/base/file.c: reading and replacing files, paths. */
#include "base/common.h"

#include "base/file.h"

#include "base/alloc.h"
#include "support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[32];
static char path[64];

static void folder_create(void)
{
	strcpy(folder, "/tmp/kudzu-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
}

static void folder_remove(void)
{
	unlink(path);
	rmdir(folder);
}

START_TEST(a_file_is_read_whole_with_its_zeros)
{
	static const char content[] = "one\0two\n";
	FILE *file = fopen(path, "w");
	ck_assert_uint_eq(fwrite(content, 1, sizeof(content), file), sizeof(content));
	ck_assert_int_eq(fclose(file), 0);
	char *data;
	size_t size;
	ck_assert_int_eq(file_read(&data, &size, path, NULL), KZ_OK);
	ck_assert_uint_eq(size, sizeof(content));
	ck_assert_mem_eq(data, content, size);
	ck_assert_int_eq(data[size], '\0');
	mem_free(data);
	ck_assert(file_is_regular(path) && !file_is_folder(path));
	ck_assert(file_is_folder(folder) && !file_is_regular(folder));
	ck_assert(file_is_same(path, path) && !file_is_same(path, folder));
}
END_TEST

static void check_read_fails(const char *name, kz_status status, const char *text)
{
	kz_error err = KZ_ERROR_INIT;
	char *data = folder;
	size_t size = 1;
	ck_assert_int_eq(file_read(&data, &size, name, &err), status);
	ck_assert_ptr_null(data);
	ck_assert_uint_eq(size, 0);
	ck_assert_ptr_nonnull(strstr(err.message, text));
	kz_error_clear(&err);
}

START_TEST(what_is_no_file_cannot_be_read)
{
	check_read_fails(path, KZ_NOT_FOUND, "No such file");
	check_read_fails(folder, KZ_IO, "expected a regular file");
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	check_read_fails(path, KZ_IO, "expected a regular file");
}
END_TEST

START_TEST(reading_without_memory_says_so)
{
	fclose(fopen(path, "w"));
	mem_fail_after(0);
	check_read_fails(path, KZ_NO_MEMORY, "memory");
	mem_fail_after(-1);
}
END_TEST

static kz_status replace(const char *text, kz_error *err)
{
	struct file_writer file;
	kz_status st = file_begin(&file, path, err);
	if (st) {
		return st;
	}
	st = file_add(&file, text, strlen(text), err);
	ck_assert_int_eq(st, KZ_OK);
	return file_commit(&file, err);
}

static void check_content(const char *want)
{
	char *data;
	size_t size;
	ck_assert_int_eq(file_read(&data, &size, path, NULL), KZ_OK);
	ck_assert_str_eq(data, want);
	mem_free(data);
}

START_TEST(a_file_is_replaced_in_one_step)
{
	struct file_writer file;
	ck_assert_int_eq(replace("one", NULL), KZ_OK);
	check_content("one");
	ck_assert_int_eq(file_begin(&file, path, NULL), KZ_OK);
	ck_assert_int_eq(file_add(&file, "tw", 2, NULL), KZ_OK);
	check_content("one");
	ck_assert_int_eq(file_add(&file, "o", 1, NULL), KZ_OK);
	ck_assert_int_eq(file_commit(&file, NULL), KZ_OK);
	check_content("two");
	ck_assert_int_eq(file_begin(&file, path, NULL), KZ_OK);
	file_abandon(&file);
	check_content("two");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0); /* nothing else is left in it */
}
END_TEST

START_TEST(what_cannot_be_replaced_stays)
{
	kz_error err = KZ_ERROR_INIT;
	mem_fail_after(0);
	ck_assert_int_eq(replace("x", &err), KZ_NO_MEMORY);
	mem_fail_after(-1);
	kz_error_clear(&err);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(replace("x", &err), KZ_IO);
	ck_assert_ptr_nonnull(strstr(err.message, "expected a regular file"));
	kz_error_clear(&err);
	unlink(path);
	rmdir(folder);
	ck_assert_int_eq(replace("x", &err), KZ_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(err.message, "cannot write '"));
	kz_error_clear(&err);
}
END_TEST

static const struct {
	const char *folder;
	const char *name;
	const char *joined;
} joins[] = {
	{"/a", "b", "/a/b"},
	{"/a/", "b", "/a/b"},
	{"", "b", "b"},
	{"/", "b", "/b"},
	{"/a", "", "/a"},
};

START_TEST(paths_are_joined_with_one_slash)
{
	char *joined = file_join(joins[_i].folder, joins[_i].name);
	ck_assert_str_eq(joined, joins[_i].joined);
	mem_free(joined);
}
END_TEST

static const struct {
	const char *path;
	const char *folder;
} folders[] = {{"/a/b", "/a"}, {"/a", "/"}, {"a", "."}, {"a/b/c", "a/b"}, {"a/", "a"}};

START_TEST(the_folder_of_a_path_is_what_is_before_the_last_slash)
{
	char *result = file_folder(folders[_i].path);
	ck_assert_str_eq(result, folders[_i].folder);
	mem_free(result);
}
END_TEST

SUITE(file)
{
	Suite *suite = suite_create("file");
	TCase *tc = tcase_create("reading");
	tcase_add_checked_fixture(tc, folder_create, folder_remove);
	tcase_add_test(tc, a_file_is_read_whole_with_its_zeros);
	tcase_add_test(tc, what_is_no_file_cannot_be_read);
	tcase_add_test(tc, reading_without_memory_says_so);
	tcase_add_test(tc, a_file_is_replaced_in_one_step);
	tcase_add_test(tc, what_cannot_be_replaced_stays);
	suite_add_tcase(suite, tc);
	tc = tcase_create("paths");
	tcase_add_loop_test(tc, paths_are_joined_with_one_slash, 0, countof(joins));
	tcase_add_loop_test(
		tc, the_folder_of_a_path_is_what_is_before_the_last_slash, 0, countof(folders));
	suite_add_tcase(suite, tc);
	return suite;
}
