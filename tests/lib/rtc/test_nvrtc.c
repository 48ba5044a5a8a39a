/* SPDX-License-Identifier: MIT */
/*
 * Finding NVRTC.  Each test runs in a process of its own, where nothing has been loaded yet; where
 * the real library lies is found out in a child of it.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"
#include "lib/rtc/nvrtc.h"
#include "support/suite.h"

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static kz_error err;
static char scratch[] = "/tmp/kudzu-test-XXXXXX";
/* The library and its builtins, and the name that the library knows those by: they may be links. */
static char real[3][PATH_MAX];

/* What nvrtc_open finds on this machine, asked in a child. */
static void find_real(void)
{
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		const struct nvrtc *nvrtc;
		bool good = nvrtc_open(&nvrtc, NULL) == KZ_OK && nvrtc->builtins
			&& realpath(nvrtc->path, real[0]) && realpath(nvrtc->builtins, real[1])
			&& strcpy(real[2], strrchr(nvrtc->builtins, '/'))
			&& write(ends[1], real, sizeof(real)) == (ssize_t)sizeof(real);
		_exit(good ? 0 : 1);
	}
	char *to = (char *)real;
	close(ends[1]);
	for (ssize_t got;
		(got = read(ends[0], to, (size_t)((char *)(real + countof(real)) - to))) > 0;) {
		to += got;
	}
	close(ends[0]);
	waitpid(child, NULL, 0);
	ck_assert_msg(to == (char *)(real + countof(real)), "this test needs NVRTC with its "
		"builtins");
}

static void setup(void)
{
	find_real();
	ck_assert_ptr_nonnull(mkdtemp(scratch));
	setenv("KUDZU_NVRTC", real[0], 1); /* it may be where nobody looks */
	unsetenv("KUDZU_CUDA_INCLUDE");
	unsetenv("CUDA_PATH");
	unsetenv("CUDA_HOME");
	unsetenv("VIRTUAL_ENV");
	unsetenv("CONDA_PREFIX");
}

static void teardown(void)
{
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", scratch);
	ck_assert_int_eq(system(command), 0);
	kz_error_clear(&err);
}

/* A path in the scratch folder, its folders made. */
static const char *place(const char *name)
{
	static char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	for (char *slash = path + sizeof(scratch); (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	return path;
}

static void put_library(const char *name)
{
	char folder[PATH_MAX];
	snprintf(folder, sizeof(folder), "%s", place(name));
	ck_assert_int_eq(symlink(real[0], folder), 0);
	*strrchr(folder, '/') = '\0';
	strcat(folder, real[2]);
	ck_assert_int_eq(symlink(real[1], folder), 0);
}

static void put_text(const char *name, const char *text)
{
	FILE *file = fopen(place(name), "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static const struct nvrtc *opens(void)
{
	const struct nvrtc *nvrtc;
	ck_assert_msg(nvrtc_open(&nvrtc, &err) == KZ_OK, "%s\n%s", err.message, err.log);
	return nvrtc;
}

START_TEST(the_library_is_found_once_with_all_that_belongs_to_it)
{
	const struct nvrtc *nvrtc = opens();
	ck_assert_int_ge(nvrtc->major, 11);
	ck_assert_int_gt(nvrtc->arch_count, 0);
	for (int i = 1; i < nvrtc->arch_count; i++) {
		ck_assert_int_lt(nvrtc->archs[i - 1], nvrtc->archs[i]);
	}
	ck_assert_ptr_nonnull(nvrtc->builtins);
	ck_assert_ptr_eq(opens(), nvrtc);
}
END_TEST

/* Where it lies below a root, what names the root, and where its headers are then. */
static const struct {
	const char *library;
	const char *variable;
	const char *root;
	const char *include;
} layouts[] = {
	{"t/lib64/libnvrtc.so.13", "CUDA_PATH", "t", "t/include"},
	{"t/lib/libnvrtc.so", "CUDA_HOME", "t", "t/include"},
	{"t/lib64/libnvrtc.so.12", "KUDZU_NVRTC", "t", "t/include"},
	{"t/libnvrtc.so.12", "KUDZU_NVRTC", "t", "include"},
	{"t[1]*?/lib64/libnvrtc.so.12", "KUDZU_NVRTC", "t[1]*?", "t[1]*?/include"},
	{"t\\a/lib64/libnvrtc.so.12", "CUDA_PATH", "t\\a", "t\\a/include"},
	{"t/lib64/libnvrtc.so.13", "KUDZU_NVRTC", "t/lib64/libnvrtc.so.13", "t/include"},
	{"w/nvidia/cu13/lib/libnvrtc.so.13", "KUDZU_NVRTC", "w", "w/nvidia/cu13/include"},
	{"w/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "KUDZU_NVRTC", "w",
		"w/nvidia/cuda_runtime/include"},
	{"v/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13", "KUDZU_NVRTC", "v",
		"v/lib/python3.11/site-packages/nvidia/cu13/include"},
	{"v/lib/python3.11/dist-packages/nvidia/cu13/lib/libnvrtc.so.13", "KUDZU_NVRTC", "v",
		"v/lib/python3.11/dist-packages/nvidia/cu13/include"},
};

START_TEST(every_layout_is_searched)
{
	char root[PATH_MAX];
	char include[PATH_MAX];
	char name[PATH_MAX];
	put_library(layouts[_i].library);
	snprintf(name, sizeof(name), "%s/cuda_fp16.h", layouts[_i].include);
	put_text(name, "");
	snprintf(name, sizeof(name), "%s/cccl/x.h", layouts[_i].include);
	put_text(name, "");
	snprintf(name, sizeof(name), "%s/cuda.h", layouts[_i].include);
	put_text(name, "/* */\n#define CUDA_VERSION 13010\n");
	snprintf(include, sizeof(include), "%s", place(layouts[_i].include));
	snprintf(root, sizeof(root), "%s", place(layouts[_i].root));
	unsetenv("KUDZU_NVRTC");
	setenv(layouts[_i].variable, root, 1);
	const struct nvrtc *nvrtc = opens();
	ck_assert_str_eq(nvrtc->path, place(layouts[_i].library));
	ck_assert_int_eq(strncmp(nvrtc->builtins, scratch, strlen(scratch)), 0);
	ck_assert_uint_eq(nvrtc->include_count, 2);
	ck_assert_str_eq(nvrtc->include_dirs[0], include);
	ck_assert_str_eq(nvrtc->include_dirs[1], strcat(include, "/cccl"));
	ck_assert_str_eq(nvrtc->header_version, "13.1");
}
END_TEST

START_TEST(a_list_of_include_folders_replaces_what_is_found)
{
	char list[PATH_MAX];
	put_text("a/x.h", "");
	put_text("b/cccl/x.h", "");
	snprintf(list, sizeof(list), "%s/a::%s/b:/nowhere", scratch, scratch);
	setenv("KUDZU_CUDA_INCLUDE", list, 1);
	const struct nvrtc *nvrtc = opens();
	ck_assert_uint_eq(nvrtc->include_count, 3);
	ck_assert_str_eq(nvrtc->include_dirs[0], place("a"));
	ck_assert_str_eq(nvrtc->include_dirs[2], place("b/cccl"));
	ck_assert_ptr_null(nvrtc->header_version);
}
END_TEST

START_TEST(what_is_named_is_used_or_refused_and_a_failure_is_not_kept)
{
	const struct nvrtc *nvrtc;
	put_text("bad/libnvrtc.so.13", "this is no library");
	setenv("KUDZU_NVRTC", place("bad"), 1);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(nvrtc_open(&nvrtc, &err), KZ_NO_COMPILER);
		ck_assert_ptr_null(nvrtc);
		ck_assert_ptr_nonnull(strstr(err.message, i == 0 ? "/bad'" : "KUDZU_NVRTC='"));
		ck_assert_ptr_nonnull(strstr(err.log, i < 2 ? scratch : "lacks nvrtcVersion"));
		ck_assert_ptr_nonnull(strstr(err.hint, "KUDZU_NVRTC"));
		kz_error_clear(&err);
		setenv("KUDZU_NVRTC", i == 0 ? place("empty/") : "libm.so.6", 1);
	}
	setenv("KUDZU_NVRTC", real[0], 1);
	opens();
}
END_TEST

START_TEST(want_of_memory_leaves_nothing)
{
	const struct nvrtc *nvrtc;
	for (long n = 0;; n++) {
		mem_fail_after(n);
		kz_status status = nvrtc_open(&nvrtc, &err);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(status, failed ? KZ_NO_MEMORY : KZ_OK);
		ck_assert_int_eq(nvrtc != NULL, !failed);
		kz_error_clear(&err);
		if (!failed) {
			break;
		}
	}
}
END_TEST

SUITE(nvrtc)
{
	Suite *suite = suite_create("nvrtc");
	TCase *tc = suite_add_case(suite, "search");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_library_is_found_once_with_all_that_belongs_to_it);
	tcase_add_loop_test(tc, every_layout_is_searched, 0, (int)countof(layouts));
	tcase_add_tests(tc, 1, a_list_of_include_folders_replaces_what_is_found,
		what_is_named_is_used_or_refused_and_a_failure_is_not_kept,
		want_of_memory_leaves_nothing);
	return suite;
}
