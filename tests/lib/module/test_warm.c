/* SPDX-License-Identifier: MIT */
/* Warming up: this program is the worker, too (main.c); the cache is a folder of the test's. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/module/warm.h"
#include "lib/cache/cache.h"
#include "support/store_folder.h"
#include "support/support.h"
#include "support/suite.h"

#include <kudzu/kudzu.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SOURCES = 6 };

static kz_error err;
static char texts[SOURCES][160];
static kz_warm_up_source sources[SOURCES];
static kz_warm_up_result result;

static void setup(void)
{
	char program[4096];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	ck_assert_int_gt(len, 0);
	program[len] = '\0';
	store_folder_create();
	setenv("KUDZU_CACHE_DIR", store_path, 1);
	setenv("KUDZU_COMMAND", program, 1);
	setenv("KUDZU_CACHE", "1", 1);
	for (int i = 0; i < SOURCES; i++) {
		snprintf(texts[i], sizeof(texts[i]),
			"__global__ void warm(int *p) { *p = %d; }", 100 + i);
		sources[i] = (kz_warm_up_source){texts[i], NULL};
	}
}

static void teardown(void)
{
	kz_error_clear(&err);
	store_folder_remove();
}

static int64_t total(void)
{
	return result.compiled + result.cached + result.failed;
}

START_TEST(workers_compile_into_the_cache)
{
	ck_assert_int_eq(kz_warm_up(NULL, sources, SOURCES, 2, &result, &err), KZ_OK);
	ck_assert_int_eq(result.compiled, SOURCES);
	ck_assert_int_eq(result.processes, 2);
	ck_assert_int_eq(kz_warm_up(NULL, sources, SOURCES, 2, &result, &err), KZ_OK);
	ck_assert_int_eq(result.cached, SOURCES);
	ck_assert_int_eq(result.compiled + result.failed, 0);
}
END_TEST

START_TEST(what_was_warmed_up_is_not_compiled_again)
{
	kz_module *mod = NULL;
	struct cache_counts before, after;
	kz_device *dev = support_open(_i);
	ck_assert_int_eq(kz_warm_up(dev, sources, SOURCES, 2, &result, &err), KZ_OK);
	ck_assert_int_eq(result.processes, 2);
	cache_counts(&before);
	for (int i = 0; i < SOURCES; i++) {
		ck_assert_int_eq(kz_module_compile(&mod, dev, texts[i], NULL, &err), KZ_OK);
		kz_module_release(mod);
	}
	cache_counts(&after);
	ck_assert_int_eq(after.compiles, before.compiles);
	support_close(dev);
}
END_TEST

START_TEST(errors_are_those_of_a_compile)
{
	sources[1].source = "__global__ void warm(int *p) { *p = nothing; }";
	sources[4].source = "int main(";
	ck_assert_int_eq(kz_warm_up(NULL, sources, SOURCES, 2, &result, &err), KZ_COMPILE);
	ck_assert_msg(strstr(err.message, "nothing") != NULL, "%s", err.message);
	ck_assert_int_eq(result.failed, 2);
	ck_assert_int_eq(total(), SOURCES);
}
END_TEST

START_TEST(options_reach_the_worker)
{
	static const char *const folders[] = {"/nowhere", NULL};
	static const char *const names[] = {"four.h", NULL};
	static const char *const headers[] = {"#define FOUR 4\n", NULL};
	static const char *const defines[] = {"N=FOUR", "M", NULL};
	static const char *const instances[] = {"scale<float, 4>", NULL};
	static const char *const raw[] = {"-use_fast_math", NULL};
	static const char text[] = "#include \"four.h\"\n"
		"template <class T, int K> __global__ void scale(T *p) { *p = N * K + __LINE__ M; "
		"}";
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_warm_up_source two[] = {{text, &options}, {texts[0], NULL}};
	options.name = "scale.cu";
	options.include_dirs = folders;
	options.header_names = names;
	options.header_texts = headers;
	options.defines = defines;
	options.instances = instances;
	options.nvrtc_options = raw;
	options.arch = "compute_80";
	options.std = "c++14";
	options.line_info = 1;
	options.pch = 1;
	options.max_registers = 40;
	ck_assert_int_eq(kz_warm_up(NULL, two, 2, 2, &result, &err), KZ_COMPILE); /* "M" is 1 */
	static const char *const better[] = {"N=FOUR", "M=", NULL};
	kz_error_clear(&err);
	options.defines = better;
	ck_assert_msg(kz_warm_up(NULL, two, 2, 2, &result, &err) == KZ_OK, "%s", err.message);
	ck_assert_int_eq(result.compiled, 1);
	ck_assert_int_eq(kz_warm_up(NULL, two, 2, 1, &result, &err), KZ_OK);
	ck_assert_int_eq(result.cached, 2);
	ck_assert_int_eq(result.processes, 0);
}
END_TEST

/* Programs that are no worker. */
static const char *const strangers[] = {"/bin/true", "/bin/cat", "/nowhere/kudzu", "kudzu", ""};

START_TEST(without_a_worker_all_is_compiled_here)
{
	setenv("KUDZU_COMMAND", strangers[_i], 1);
	ck_assert_int_eq(kz_warm_up(NULL, sources, SOURCES, 2, &result, &err), KZ_OK);
	ck_assert_int_eq(result.compiled, SOURCES);
	ck_assert_int_eq(result.processes, 0);
}
END_TEST

START_TEST(without_a_cache_no_process_is_started)
{
	setenv("KUDZU_CACHE", "0", 1);
	ck_assert_int_eq(kz_warm_up(NULL, sources, SOURCES, 0, &result, &err), KZ_OK);
	ck_assert_int_eq(result.compiled, SOURCES);
	ck_assert_int_eq(result.processes, 0);
}
END_TEST

START_TEST(no_process_is_left_over)
{
	ck_assert_int_eq(kz_warm_up(NULL, sources, SOURCES, 3, &result, &err), KZ_OK);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

START_TEST(nonsense_is_refused)
{
	kz_compile_options wrong = {.size = 3};
	kz_warm_up_source one[] = {{texts[0], &wrong}, {NULL, NULL}};
	fails(kz_warm_up(NULL, one, 1, 0, NULL, &err), KZ_INVALID,
		"source 0: kz_compile_options has size 3, expected ");
	fails(kz_warm_up(NULL, sources, -1, 0, NULL, &err), KZ_INVALID, "-1 sources");
	ck_assert_int_eq(kz_warm_up(NULL, sources, 1, -1, NULL, NULL), KZ_INVALID);
	ck_assert_int_eq(kz_warm_up(NULL, NULL, 1, 0, NULL, NULL), KZ_INVALID);
	ck_assert_int_eq(kz_warm_up(NULL, one + 1, 1, 0, NULL, NULL), KZ_INVALID);
	ck_assert_int_eq(kz_warm_up(NULL, NULL, 0, 0, &result, NULL), KZ_OK);
	ck_assert_int_eq(total(), 0);
}
END_TEST

/* Every cut and every changed byte of a request is a request or refused, and nothing is read beyond
 * it (ASan). */
START_TEST(damaged_requests_are_refused)
{
	static const char *const list[] = {"one", "two", NULL};
	struct warm_request request = {.source = "source", .options = KZ_COMPILE_OPTIONS_INIT};
	struct warm_request back;
	struct str bytes = STR_INIT;
	int64_t accepted = 0;
	request.options.defines = list;
	request.options.arch = "sm_90";
	warm_write(&bytes, &request);
	ck_assert(!bytes.failed);
	size_t size = bytes.len - 8;
	ck_assert(warm_read(&back, bytes.data + 8, size));
	ck_assert_str_eq(back.source, "source");
	ck_assert_str_eq(back.options.defines[1], "two");
	ck_assert_ptr_null(back.options.defines[2]);
	ck_assert_str_eq(back.options.arch, "sm_90");
	warm_free(&back);
	for (size_t i = 0; i < size * 256; i++) {
		char *copy = mem_alloc(i < size ? i + 1 : size);
		memcpy(copy, bytes.data + 8, i < size ? i : size);
		if (i >= size) {
			copy[i / 256] = (char)(i % 256);
		}
		if (warm_read(&back, copy, i < size ? i : size)) {
			accepted++;
			warm_free(&back);
		}
		mem_free(copy);
	}
	ck_assert_int_gt(accepted, 0);
	str_free(&bytes);
}
END_TEST

SUITE(warm)
{
	Suite *suite = suite_create("warm");
	TCase *tcase = suite_add_case(suite, "warm");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, workers_compile_into_the_cache);
	tcase_add_loop_test(tcase, what_was_warmed_up_is_not_compiled_again, 0,
		support_device_count());
	tcase_add_tests(tcase, 1, errors_are_those_of_a_compile, options_reach_the_worker);
	tcase_add_loop_test(tcase, without_a_worker_all_is_compiled_here, 0, countof(strangers));
	tcase_add_tests(tcase, 1, without_a_cache_no_process_is_started, no_process_is_left_over,
		nonsense_is_refused, damaged_requests_are_refused);
	return suite;
}
