/* SPDX-License-Identifier: MIT */
/* Precompiled headers: used where nothing has changed, and never else. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/cache/pch.h"
#include "lib/rtc/nvrtc.h"
#include "support/suite.h"

#include <check.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static kz_error err;
static char folder[] = "/tmp/kudzu-pch-XXXXXX";

static void setup(void)
{
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("KUDZU_CACHE_DIR", folder, 1);
	unsetenv("KUDZU_CACHE");
}

static void teardown(void)
{
	char command[100];
	kz_error_clear(&err);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

/* The header has a warning, which a compile gives that reads it anew. */
#define HEADER(value) "__device__ int value() { int unused; return " #value "; }\n"
#define SOURCE "#include \"value.h\"\n__global__ void k(int *a) { *a = value(); }\n"

static kz_status compile_with_pch(struct rtc_image *out, const struct rtc_request *request)
{
	struct source_facts facts;
	*out = (struct rtc_image){0};
	if (!source_scan(&facts, request->source)) {
		return error_no_memory(&err);
	}
	kz_status st = pch_compile(out, request, &facts, &err);
	source_free(&facts);
	return st;
}

/* Compile; the PTX has this number, and the header was read anew or not. */
static void expect(struct rtc_request *request, const char *number, bool is_read)
{
	struct rtc_image image;
	kz_status st = compile_with_pch(&image, request);
	ck_assert_msg(st == KZ_OK, "%s\n%s", err.message, err.log ? err.log : "");
	ck_assert_msg(strstr(image.data, number) != NULL, "no %s in\n%s", number, image.data);
	ck_assert_int_eq(image.log && strstr(image.log, "unused") != NULL, is_read);
	ck_assert(!image.log || !strstr(image.log, "PCH"));
	ck_assert(!image.log || !strstr(image.log, "precompiled"));
	rtc_image_free(&image);
}

static struct rtc_request request_in_memory(const char *source, const char *const *text)
{
	static const char *const names[] = {"value.h"};
	return (struct rtc_request){
		.source = source,
		.arch = "compute_75",
		.header_names = names,
		.header_texts = text,
		.header_count = 1,
		.pch = true,
	};
}

START_TEST(the_next_source_that_begins_the_same_takes_what_there_is)
{
	const char *text = HEADER(1234);
	struct rtc_request request = request_in_memory(SOURCE, &text);
	expect(&request, "1234", true);
	expect(&request, "1234", false);
	request.source = "#include \"value.h\"\n__global__ void l(int *a) { *a = 5000 + value(); "
		"}\n";
	expect(&request, "6234", false);
	request.pch = false;
	expect(&request, "6234", true);
}
END_TEST

START_TEST(a_header_in_memory_that_changes_is_read_again)
{
	const char *text = HEADER(1234);
	struct rtc_request request = request_in_memory(SOURCE, &text);
	expect(&request, "1234", true);
	text = HEADER(5678);
	expect(&request, "5678", true);
	text = HEADER(1234);
	expect(&request, "1234", false);
}
END_TEST

static void write_header(const char *text)
{
	char path[100];
	snprintf(path, sizeof(path), "%s/value.h", folder);
	FILE *file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
}

START_TEST(a_header_on_disk_that_changes_is_read_again)
{
	const char *dirs[] = {folder};
	struct rtc_request request = {
		.source = "#include <outer.h>\n__global__ void k(int *a) { *a = value(); }\n",
		.arch = "compute_75",
		.include_dirs = dirs,
		.include_count = 1,
		.header_names = (const char *const[]){"outer.h"},
		.header_texts = (const char *const[]){"#if 1\n#include \"value.h\"\n#endif\n"},
		.header_count = 1,
		.pch = true,
	};
	char cache[100]; /* elsewhere: what is written there changes the folder's times */
	snprintf(cache, sizeof(cache), "%s/cache", folder);
	setenv("KUDZU_CACHE_DIR", cache, 1);
	write_header(HEADER(111));
	expect(&request, "111", true);
	expect(&request, "111", false);
	write_header(HEADER(333));
	expect(&request, "333", true);
}
END_TEST

START_TEST(what_comes_before_and_the_options_count)
{
	const char *text = "__device__ int value() { int unused; return N; }\n";
	struct rtc_request request = request_in_memory("#define N 1234\n" SOURCE, &text);
	expect(&request, "1234", true);
	request.source = "#define N 5678\n" SOURCE;
	expect(&request, "5678", true);
	request.source = SOURCE;
	request.define_count = 1;
	request.defines = (const char *const[]){"N=4321"};
	expect(&request, "4321", true);
	request.defines = (const char *const[]){"N=8765"};
	expect(&request, "8765", true);
	request.defines = (const char *const[]){"N=4321"};
	expect(&request, "4321", false);
	request.debug = true;
	expect(&request, "4321", true);
}
END_TEST

static size_t count_files(const char *pattern)
{
	glob_t found = {0};
	char path[200];
	snprintf(path, sizeof(path), "%s/%s", folder, pattern);
	int result = glob(path, 0, NULL, &found);
	size_t count = result == 0 ? found.gl_pathc : 0;
	globfree(&found);
	return count;
}

START_TEST(a_folder_that_vanishes_does_no_harm)
{
	const char *text = HEADER(1234);
	char command[100];
	struct rtc_request request = request_in_memory(SOURCE, &text);
	expect(&request, "1234", true);
	ck_assert_uint_eq(count_files("pch/*/*/*.pch"), 1);
	snprintf(command, sizeof(command), "rm -r %s/pch", folder);
	ck_assert_int_eq(system(command), 0);
	expect(&request, "1234", true);
	setenv("KUDZU_CACHE", "0", 1);
	expect(&request, "1234", true);
}
END_TEST

/* Through a link NVRTC would write in another folder, and what is there would be removed. */
START_TEST(a_folder_that_is_a_link_is_not_used)
{
	const char *text = HEADER(1234);
	char path[120], elsewhere[100], victim[160];
	struct rtc_request request = request_in_memory(SOURCE, &text);
	snprintf(path, sizeof(path), "%s/cache", folder);
	setenv("KUDZU_CACHE_DIR", path, 1);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", folder);
	ck_assert_int_eq(mkdir(elsewhere, 0700), 0);
	snprintf(victim, sizeof(victim), "%s/victim", elsewhere);
	ck_assert_int_eq(mkdir(victim, 0700), 0);
	strcat(path, "/pch");
	if (_i == 0) {
		ck_assert_int_eq(symlink(elsewhere, path), 0);
	} else {
		ck_assert_int_eq(rename(elsewhere, path), 0);
		ck_assert_int_eq(chmod(path, 0770), 0);
	}
	expect(&request, "1234", true);
	expect(&request, "1234", true);
	ck_assert_uint_eq(count_files(_i == 0 ? "elsewhere/*" : "cache/pch/*"), 1);
	ck_assert_uint_eq(count_files("*/*/*/*"), 0);
}
END_TEST

START_TEST(folders_of_processes_that_ended_are_removed)
{
	const char *text = HEADER(1234);
	struct rtc_request request = request_in_memory(SOURCE, &text);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			struct rtc_image image;
			_exit(compile_with_pch(&image, &request) != KZ_OK);
		}
		int status = -1;
		waitpid(pid, &status, 0);
		ck_assert_int_eq(status, 0);
		ck_assert_uint_eq(count_files("pch/*"), 1);
	}
	pch_clear(store_default());
	ck_assert_uint_eq(count_files("pch/*"), 0);
	expect(&request, "1234", true);
	ck_assert_uint_eq(count_files("pch/*"), 1);
	expect(&request, "1234", false);
}
END_TEST

START_TEST(too_little_room_grows)
{
	const struct nvrtc *nvrtc;
	const char *text = "#include <cuda_fp16.h>\n" HEADER(1234);
	struct rtc_request request = request_in_memory(SOURCE, &text);
	size_t size = 0;
	ck_assert_int_eq(nvrtc_open(&nvrtc, &err), KZ_OK);
	if (nvrtc->include_count == 0 || !nvrtc->SetPCHHeapSize) {
		fprintf(stderr, "skipped: no CUDA headers, or an NVRTC that precompiles none\n");
		return;
	}
	ck_assert_int_eq(nvrtc->SetPCHHeapSize(1 << 20), 0);
	expect(&request, "1234", true);
	ck_assert_int_eq(nvrtc->GetPCHHeapSize(&size), 0);
	ck_assert_uint_gt(size, 1 << 20);
	expect(&request, "1234", true);
	expect(&request, "1234", false);
}
END_TEST

START_TEST(errors_are_those_of_the_source)
{
	const char *text = HEADER(1234);
	struct rtc_request request = request_in_memory(
		"#include \"value.h\"\n__global__ void k(int *a) { *a = valu(); }\n", &text);
	struct rtc_image image;
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(compile_with_pch(&image, &request), KZ_COMPILE);
		ck_assert_str_eq(err.message, "identifier \"valu\" is undefined");
		ck_assert_int_eq(err.line, 2);
		ck_assert_ptr_null(strstr(err.log, "PCH"));
		kz_error_clear(&err);
	}
}
END_TEST

START_TEST(want_of_memory_leaves_nothing)
{
	const char *text = HEADER(1234);
	struct rtc_request request = request_in_memory(SOURCE, &text);
	bool failed = true;
	expect(&request, "1234", true);
	for (long n = 0; failed; n++) {
		struct rtc_image image;
		mem_fail_after(n);
		kz_status st = compile_with_pch(&image, &request);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(st == KZ_OK || (failed && st == KZ_NO_MEMORY));
		rtc_image_free(&image);
		kz_error_clear(&err);
	}
}
END_TEST

/* Headers that nobody asked to precompile */

enum { MANY = 160 };

/* A header that includes many, and the request for a source that begins with it. */
static struct rtc_request request_of_many(const char *source)
{
	static const char *dirs[] = {folder};
	char cache[100];
	snprintf(cache, sizeof(cache), "%s/cache", folder);
	setenv("KUDZU_CACHE_DIR", cache, 1);
	for (int i = 0; i <= MANY; i++) {
		char path[100];
		snprintf(path, sizeof(path), "%s/%d.h", folder, i);
		FILE *file = fopen(path, "w");
		for (int k = 0; k < MANY && i == MANY; k++) {
			fprintf(file, "#include \"%d.h\"\n", k);
		}
		fprintf(file, i == MANY ? "\n" : "__device__ inline int f%d() { return %d; }\n", i,
			i);
		fclose(file);
	}
	pch_size_most = 1 << 20;
	return (struct rtc_request){
		.source = source,
		.arch = "compute_75",
		.include_dirs = dirs,
		.include_count = 1,
	};
}

#define MANY_SOURCE "#include <160.h>\n__global__ void k(int *a) { *a = f7() + f9() + 4000; }\n"

static void compiles_without_warnings(const struct rtc_request *request, const char *number)
{
	struct rtc_image image;
	ck_assert_msg(compile_with_pch(&image, request) == KZ_OK, "%s\n%s", err.message, err.log);
	ck_assert_msg(strstr(image.data, number) != NULL, "no %s in\n%s", number, image.data);
	ck_assert_msg(!image.log, "%s", image.log);
	rtc_image_free(&image);
}

static bool nvrtc_precompiles(void)
{
	const struct nvrtc *nvrtc;
	ck_assert_int_eq(nvrtc_open(&nvrtc, &err), KZ_OK);
	return nvrtc->GetPCHCreateStatus;
}

START_TEST(many_headers_that_come_again_are_precompiled)
{
	struct rtc_request request = request_of_many(MANY_SOURCE);
	for (int i = 0; i < 5 && nvrtc_precompiles(); i++) {
		char source[200];
		snprintf(source, sizeof(source), "%s// %d\n", MANY_SOURCE, i);
		request.source = source;
		compiles_without_warnings(&request, "4016");
		ck_assert_uint_eq(count_files("cache/pch/*/*/*.pch"), i >= 2);
	}
}
END_TEST

START_TEST(the_image_is_the_same_with_precompiled_headers)
{
	struct rtc_request request = request_of_many(MANY_SOURCE);
	struct rtc_image images[4];
	request.line_info = true;
	for (size_t i = 0; i < countof(images); i++) {
		ck_assert_int_eq(compile_with_pch(&images[i], &request), KZ_OK);
		ck_assert_str_eq(images[i].data, images[0].data);
	}
	for (size_t i = 0; i < countof(images); i++) {
		rtc_image_free(&images[i]);
	}
}
END_TEST

START_TEST(a_header_of_many_that_changes_is_read_again)
{
	struct rtc_request request = request_of_many(MANY_SOURCE);
	for (int i = 0; i < 4; i++) {
		compiles_without_warnings(&request, "4016");
	}
	char path[100];
	snprintf(path, sizeof(path), "%s/7.h", folder);
	FILE *file = fopen(path, "w");
	fputs("__device__ inline int f7() { return 700; }\n", file);
	fclose(file);
	for (int i = 0; i < 4; i++) {
		compiles_without_warnings(&request, "4709");
	}
	request.define_count = 1;
	request.defines = (const char *const[]){"f9()=11"};
	snprintf(path, sizeof(path), "%s/9.h", folder);
	ck_assert_int_eq(unlink(path), 0);
	file = fopen(path, "w");
	fputs("\n", file);
	fclose(file);
	for (int i = 0; i < 4; i++) {
		compiles_without_warnings(&request, "4711");
	}
}
END_TEST

static void *compile_some(void *arg)
{
	struct rtc_request request = *(const struct rtc_request *)arg;
	kz_error own = KZ_ERROR_INIT;
	for (int i = 0; i < 4; i++) {
		struct source_facts facts;
		struct rtc_image image;
		if (!source_scan(&facts, request.source)) {
			return arg;
		}
		kz_status st = pch_compile(&image, &request, &facts, &own);
		source_free(&facts);
		if (st || !strstr(image.data, "4016") || image.log) {
			return arg;
		}
		rtc_image_free(&image);
	}
	return NULL;
}

START_TEST(threads_compile_with_the_same_headers_at_once)
{
	struct rtc_request request = request_of_many(MANY_SOURCE);
	pthread_t threads[3];
	for (size_t i = 0; i < countof(threads); i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, compile_some, &request), 0);
	}
	for (size_t i = 0; i < countof(threads); i++) {
		void *failed;
		ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
		ck_assert_ptr_null(failed);
	}
}
END_TEST

/* Instances are no part of the headers. */
START_TEST(instances_share_precompiled_headers)
{
	static const char source[] = "#include <160.h>\n"
		"template<int N> __global__ void k(int *a) { *a = f7() + N; }\n";
	struct rtc_request request = request_of_many(source);
	for (int i = 0; i < 4 && nvrtc_precompiles(); i++) {
		char instance[20], number[20];
		snprintf(instance, sizeof(instance), "k<%d>", 5000 + i);
		snprintf(number, sizeof(number), "%d", 5007 + i);
		request.instances = (const char *const[]){instance};
		request.instance_count = 1;
		compiles_without_warnings(&request, number);
		ck_assert_uint_eq(count_files("cache/pch/*/*/*.pch"), i >= 2);
	}
}
END_TEST

/* A warning of a header would be missing with it; without room on disk, in a cache that is off or
 * under a limit of memory there is none; and few headers take no time. */
START_TEST(headers_are_not_precompiled_where_it_does_harm)
{
	struct rtc_request request = request_of_many(MANY_SOURCE);
	char path[100];
	FILE *file;
	if (_i == 0) {
		snprintf(path, sizeof(path), "%s/7.h", folder);
		file = fopen(path, "w");
		fputs("__device__ inline int f7() { int unused; return 7; }\n", file);
		fclose(file);
	} else if (_i == 1) {
		pch_size_most = INT64_C(1) << 30;
		setenv("KUDZU_CACHE_SIZE", "900M", 1);
	} else if (_i == 2) {
		setenv("KUDZU_CACHE", "0", 1);
	} else if (_i == 3) {
		setrlimit(RLIMIT_AS, &(struct rlimit){INT64_C(1) << 47, INT64_C(1) << 47});
	} else {
		request.source = "#include <7.h>\n#include <9.h>\n"
			"__global__ void k(int *a) { *a = f7() + f9() + 4000; }\n";
	}
	for (int i = 0; i < 4; i++) {
		struct rtc_image image;
		ck_assert_int_eq(compile_with_pch(&image, &request), KZ_OK);
		ck_assert_int_eq(image.log != NULL, _i == 0);
		ck_assert_ptr_nonnull(strstr(image.data, "4016"));
		rtc_image_free(&image);
		ck_assert_uint_eq(count_files("cache/pch/*/*/*.pch"), 0);
	}
}
END_TEST

/* What NVRTC says when the disk is full, or when there is no memory for its heap. */
static const char *const endings[] = {
	"Catastrophic error: error while writing PCH file: No space left on device\n",
	"Catastrophic error: unable to obtain mapped memory\n",
};
static nvrtcResult (*compile_really)(nvrtcProgram, int, const char *const *);
static nvrtcResult (*get_log_size)(nvrtcProgram, size_t *);
static nvrtcResult (*get_log)(nvrtcProgram, char *);
static const char *ending;
static int ending_index;
static int failures;

static nvrtcResult fail_with_pch(nvrtcProgram program, int count, const char *const *options)
{
	ending = NULL;
	for (int i = 0; i < count; i++) {
		ending = strcmp(options[i], "--pch") == 0 ? endings[ending_index] : ending;
	}
	failures += ending != NULL;
	return ending ? 6 : compile_really(program, count, options);
}

static nvrtcResult size_of_log(nvrtcProgram program, size_t *size)
{
	*size = ending ? strlen(ending) + 1 : 0;
	return ending ? 0 : get_log_size(program, size);
}

static nvrtcResult copy_log(nvrtcProgram program, char *log)
{
	return ending ? (strcpy(log, ending), 0) : get_log(program, log);
}

START_TEST(a_full_disk_fails_no_compile)
{
	struct rtc_request request = request_of_many(MANY_SOURCE);
	if (!nvrtc_precompiles()) {
		return;
	}
	struct nvrtc *nvrtc = (struct nvrtc *)nvrtc_loaded();
	compile_really = nvrtc->CompileProgram;
	get_log_size = nvrtc->GetProgramLogSize;
	get_log = nvrtc->GetProgramLog;
	nvrtc->CompileProgram = fail_with_pch;
	nvrtc->GetProgramLogSize = size_of_log;
	nvrtc->GetProgramLog = copy_log;
	ending_index = _i;
	for (int i = 0; i < 5; i++) {
		compiles_without_warnings(&request, "4016");
	}
	ck_assert_int_eq(failures, 1); /* it is not tried again */
	request.pch = true;
	compiles_without_warnings(&request, "4016");
	ck_assert_int_eq(failures, 2);
}
END_TEST

static int compiles_with_pch;

static nvrtcResult count_compile(nvrtcProgram program, int count, const char *const *options)
{
	for (int i = 0; i < count; i++) {
		compiles_with_pch += strcmp(options[i], "--pch") == 0;
	}
	return compile_really(program, count, options);
}

/* NVRTC calls #error catastrophic, too. */
START_TEST(an_error_of_the_source_is_not_one_of_precompiled_headers)
{
	struct rtc_request request = request_of_many(MANY_SOURCE);
	struct rtc_image image;
	if (!nvrtc_precompiles()) {
		return;
	}
	for (int i = 0; i < 2; i++) {
		compiles_without_warnings(&request, "4016");
	}
	struct nvrtc *nvrtc = (struct nvrtc *)nvrtc_loaded();
	compile_really = nvrtc->CompileProgram;
	nvrtc->CompileProgram = count_compile;
	request.source = MANY_SOURCE "#error no\n";
	ck_assert_int_eq(compile_with_pch(&image, &request), KZ_COMPILE);
	ck_assert_ptr_nonnull(strstr(err.log, "#error"));
	kz_error_clear(&err);
	ck_assert_int_eq(compiles_with_pch, 1);
	request.source = MANY_SOURCE;
	compiles_without_warnings(&request, "4016");
	ck_assert_int_eq(compiles_with_pch, 2);
}
END_TEST

SUITE(pch)
{
	Suite *suite = suite_create("pch");
	TCase *tc = tcase_create("headers");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_next_source_that_begins_the_same_takes_what_there_is);
	tcase_add_test(tc, a_header_in_memory_that_changes_is_read_again);
	tcase_add_test(tc, a_header_on_disk_that_changes_is_read_again);
	tcase_add_test(tc, what_comes_before_and_the_options_count);
	tcase_add_test(tc, a_folder_that_vanishes_does_no_harm);
	tcase_add_loop_test(tc, a_folder_that_is_a_link_is_not_used, 0, 2);
	tcase_add_test(tc, folders_of_processes_that_ended_are_removed);
	tcase_add_test(tc, too_little_room_grows);
	tcase_add_test(tc, errors_are_those_of_the_source);
	tcase_add_test(tc, want_of_memory_leaves_nothing);
	suite_add_tcase(suite, tc);
	tc = suite_add_case(suite, "automatic");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, many_headers_that_come_again_are_precompiled);
	tcase_add_test(tc, the_image_is_the_same_with_precompiled_headers);
	tcase_add_test(tc, a_header_of_many_that_changes_is_read_again);
	tcase_add_test(tc, instances_share_precompiled_headers);
	tcase_add_test(tc, threads_compile_with_the_same_headers_at_once);
	tcase_add_loop_test(tc, headers_are_not_precompiled_where_it_does_harm, 0, 5);
	tcase_add_loop_test(tc, a_full_disk_fails_no_compile, 0, countof(endings));
	tcase_add_test(tc, an_error_of_the_source_is_not_one_of_precompiled_headers);
	return suite;
}
