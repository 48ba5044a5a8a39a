/* SPDX-License-Identifier: MIT */
/*
 * The CUDA headers that NVRTC carries: put into the cache when a source needs one, and never else.
 *
 * NVRTC is the real one.  Where it is too old to carry headers, two functions in its table are
 * ours: they write two small headers in the same way.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/cache/cuda_bundle.h"
#include "lib/cache/cache.h"
#include "lib/rtc/nvrtc.h"
#include "support/put_file.h"
#include "support/suite.h"

#include <check.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

static kz_error err;
static char folder[] = "/tmp/kudzu-bundle-XXXXXX";
static bool is_real;
static bool fails; /* our own: half way */
static int installs;

#define SOURCE "#include <cuda_fp16.h>\n__global__ void k(int *a) { *a = sizeof(__half) + 4710; }\n"

static nvrtcResult install(const char *path, unsigned flags, const char **why)
{
	ck_assert_uint_eq(flags, 0);
	installs++;
	put_file(path, "cuda_fp16.h", "#include <nv/target>\nstruct __half { short bits; };\n");
	if (fails) {
		*why = "No space left on device";
		return 7;
	}
	put_file(path, "cccl/nv/target", "#define A_MACRO_OF_NV\n");
	return 0;
}

static nvrtcResult tell(struct nvrtc_bundle *info, const char **why)
{
	(void)why;
	*info = (struct nvrtc_bundle){1, 100, 200000, 13, 5, 2};
	return 0;
}

/* NVRTC as in its package: with headers, and none beside it. */
static struct nvrtc *open_nvrtc(void)
{
	const struct nvrtc *found;
	ck_assert_int_eq(nvrtc_open(&found, &err), KZ_OK);
	struct nvrtc *nvrtc = (struct nvrtc *)found;
	nvrtc->include_count = 0;
	is_real = nvrtc->InstallBundledHeaders;
	if (!is_real) {
		nvrtc->InstallBundledHeaders = install;
		nvrtc->GetBundledHeadersInfo = tell;
	}
	return nvrtc;
}

static void setup(void)
{
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("KUDZU_CACHE_DIR", folder, 1);
	unsetenv("KUDZU_CACHE");
	unsetenv("KUDZU_CUDA_INCLUDE");
	fails = false;
	installs = 0;
}

static void teardown(void)
{
	char command[100];
	kz_error_clear(&err);
	snprintf(command, sizeof(command), "chmod -R u+w %s; rm -rf %s", folder, folder);
	ck_assert_int_eq(system(command), 0);
}

static size_t count_files(const char *pattern)
{
	glob_t found = {0};
	char path[200];
	snprintf(path, sizeof(path), "%s/%s", folder, pattern);
	size_t count = glob(path, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
	globfree(&found);
	return count;
}

static kz_status compile(const struct rtc_request *request, const char *number)
{
	struct rtc_image image;
	struct deps *deps;
	bool is_known;
	kz_status st = cache_compile(&image, &deps, &is_known, request, &err);
	if (!st) {
		ck_assert_msg(strstr(image.data, number) != NULL, "no %s in\n%s", number,
			image.data);
		ck_assert_msg(!image.log, "warnings: %s", image.log);
		rtc_image_free(&image);
		deps_release(deps);
	}
	return st;
}

static void compiles(const char *source, const char *number)
{
	struct rtc_request request = {.source = source, .arch = "compute_75"};
	ck_assert_msg(compile(&request, number) == KZ_OK, "%s\n%s", err.message, err.log);
}

/* The compile fails, and says so. */
static void misses(const char *words)
{
	struct rtc_request request = {.source = SOURCE, .arch = "compute_75"};
	ck_assert_int_eq(compile(&request, ""), KZ_COMPILE);
	ck_assert_msg(strstr(err.log, words) != NULL, "no '%s' in\n%s", words, err.log);
	ck_assert_msg(err.hint && strstr(err.hint, "nvidia-cuda-runtime"), "%s", err.hint);
	kz_error_clear(&err);
}

START_TEST(a_header_that_no_folder_has_is_nvrtcs)
{
	struct cache_counts counts;
	open_nvrtc();
	compiles(SOURCE, "4712");
	ck_assert_uint_eq(count_files("headers/*"), 1);
	ck_assert_uint_eq(count_files("headers/*/cuda_fp16.h"), 1);
	ck_assert_uint_eq(count_files("headers/*/cccl/nv/target"), 1);
	compiles("\n" SOURCE, "4712");
	compiles(SOURCE, "4712");
	cache_counts(&counts);
	ck_assert_int_eq(counts.compiles, 2);
	ck_assert_int_eq(counts.disk_hits, 1);
	ck_assert_int_eq(installs, is_real ? 0 : 1);
}
END_TEST

START_TEST(the_next_process_finds_them)
{
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			struct cache_counts counts;
			open_nvrtc();
			compiles(SOURCE, "4712");
			cache_counts(&counts);
			_exit(counts.compiles != !i || installs != (!i && !is_real));
		}
		int status = -1;
		waitpid(pid, &status, 0);
		ck_assert_int_eq(status, 0);
	}
}
END_TEST

/* Nothing is asked for, or what is asked for is there, or it is none of CUDA's. */
static const char *const frugal[] = {
	"__global__ void k(int *a) { *a = 4712; }\n",
	"#include <stdint.h>\n__global__ void k(uint32_t *a) { *a = 4712; }\n",
	"#include \"mine.h\"\n__global__ void k(int *a) { *a = 4712; }\n",
	"#include \"cub/mine.cuh\"\n__global__ void k(int *a) { *a = 4712; }\n",
};

START_TEST(a_source_that_needs_none_pays_for_none)
{
	static const char *const names[] = {"mine.h", "cub/mine.cuh"};
	static const char *const texts[] = {"", ""};
	struct rtc_request request = {
		.source = frugal[_i],
		.arch = "compute_75",
		.header_names = names,
		.header_texts = texts,
		.header_count = countof(names),
	};
	open_nvrtc();
	ck_assert_int_eq(compile(&request, "4712"), KZ_OK);
	ck_assert_uint_eq(count_files("headers"), 0);
}
END_TEST

START_TEST(the_caller_s_own_file_comes_first)
{
	const char *dirs[] = {folder};
	struct rtc_request request = {
		.source = SOURCE,
		.arch = "compute_75",
		.include_dirs = dirs,
		.include_count = 1,
	};
	open_nvrtc();
	put_file(folder, "cuda_fp16.h", "struct __half { int a, b, c; };\n");
	ck_assert_int_eq(compile(&request, "4722"), KZ_OK);
	ck_assert_uint_eq(count_files("headers"), 0);
}
END_TEST

START_TEST(folders_that_the_user_names_are_all_there_are)
{
	open_nvrtc();
	setenv("KUDZU_CUDA_INCLUDE", "/nowhere", 1);
	misses("KUDZU_CUDA_INCLUDE is '/nowhere'");
	ck_assert_uint_eq(count_files("headers"), 0);
}
END_TEST

START_TEST(a_failure_leaves_nothing_and_is_told)
{
	struct nvrtc *nvrtc = open_nvrtc();
	nvrtc->InstallBundledHeaders = install;
	nvrtc->GetBundledHeadersInfo = tell;
	fails = true;
	misses("NVRTC carries CUDA's headers, but they cannot be put into");
	misses("No space left on device");
	ck_assert_uint_eq(count_files("headers/*"), 0);
	fails = false;
	compiles(SOURCE, "4712");
}
END_TEST

START_TEST(without_a_cache_the_error_says_so)
{
	open_nvrtc();
	if (_i == 0) {
		setenv("KUDZU_CACHE", "0", 1);
		misses("the cache, where they would go, is off");
	} else if (_i == 1) {
		setenv("KUDZU_CACHE_SIZE", "100K", 1);
		misses("KUDZU_CACHE_SIZE is less than they take");
	} else {
		put_file(folder, "headers", "a file");
		misses("expected a folder");
	}
	ck_assert_uint_eq(count_files("headers/*"), 0);
}
END_TEST

START_TEST(processes_want_them_at_once)
{
	enum { COUNT = 4 };
	pid_t pids[COUNT];
	for (int i = 0; i < COUNT; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			char source[200];
			open_nvrtc();
			snprintf(source, sizeof(source), "// %d\n%s", i, SOURCE);
			compiles(source, "4712");
			_exit(0);
		}
	}
	for (int i = 0; i < COUNT; i++) {
		int status = -1;
		waitpid(pids[i], &status, 0);
		ck_assert_int_eq(status, 0);
	}
	ck_assert_uint_eq(count_files("headers/*"), 1);
}
END_TEST

static void *compile_in_thread(void *arg)
{
	struct rtc_request request = {.source = arg, .arch = "compute_75"};
	kz_error own = KZ_ERROR_INIT;
	struct rtc_image image;
	struct deps *deps;
	bool is_known;
	if (cache_compile(&image, &deps, &is_known, &request, &own)) {
		return arg;
	}
	rtc_image_free(&image);
	deps_release(deps);
	return NULL;
}

START_TEST(threads_want_them_at_once)
{
	static char sources[3][200];
	pthread_t threads[countof(sources)];
	open_nvrtc();
	for (size_t i = 0; i < countof(sources); i++) {
		snprintf(sources[i], sizeof(sources[i]), "// %zu\n%s", i, SOURCE);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, compile_in_thread, sources[i]),
			0);
	}
	for (size_t i = 0; i < countof(threads); i++) {
		void *failed;
		ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
		ck_assert_ptr_null(failed);
	}
	ck_assert_uint_eq(count_files("headers/*"), 1);
	ck_assert_int_eq(installs, is_real ? 0 : 1);
}
END_TEST

START_TEST(what_nobody_uses_is_removed)
{
	char path[200];
	open_nvrtc();
	ck_assert_int_eq(mkdir(strcat(strcpy(path, folder), "/headers"), 0700), 0);
	put_file(folder, "headers/tmp-1-2/a/b.h", "");
	put_file(folder, "headers/tmp-new/a.h", "");
	put_file(folder, "headers/00000000000000000000000000000000/a.h", "");
	put_file(folder, "headers/11111111111111111111111111111111/a.h", "");
	const time_t now = time(NULL);
	utime(strcat(strcpy(path, folder), "/headers/tmp-1-2"),
		&(struct utimbuf){now - 7200, now - 7200});
	utime(strcat(strcpy(path, folder), "/headers/00000000000000000000000000000000"),
		&(struct utimbuf){now - 40 * 86400, now - 40 * 86400});
	compiles(SOURCE, "4712");
	ck_assert_uint_eq(count_files("headers/*"), 3);
	ck_assert_uint_eq(count_files("headers/tmp-new"), 1);
	ck_assert_uint_eq(count_files("headers/1*1"), 1);
	ck_assert_int_eq(cuda_bundle_clear(store_default()), true);
	ck_assert_uint_eq(count_files("headers"), 0);
	compiles("\n" SOURCE, "4712");
}
END_TEST

START_TEST(a_header_that_somebody_changes_is_compiled_anew)
{
	char path[300];
	glob_t found = {0};
	open_nvrtc();
	compiles(SOURCE, "4712");
	snprintf(path, sizeof(path), "%s/headers/*/cuda_fp16.h", folder);
	ck_assert_int_eq(glob(path, 0, NULL, &found), 0);
	FILE *file = fopen(found.gl_pathv[0], "w");
	ck_assert_ptr_nonnull(file);
	fputs("struct __half { int a, b; };\n", file);
	fclose(file);
	globfree(&found);
	compiles("\n" SOURCE, "4718");
}
END_TEST

START_TEST(want_of_memory_leaves_nothing)
{
	const struct compiler *compiler;
	bool failed = true;
	char *note;
	open_nvrtc();
	ck_assert_int_eq(compiler_get(&compiler, &err), KZ_OK);
	for (long n = 0; failed; n++) {
		mem_fail_after(n);
		const struct compiler *found = cuda_bundle_find(compiler, store_default(), true,
			&note);
		failed = mem_has_failed();
		mem_fail_after(-1);
		mem_free(note);
		ck_assert(found || failed);
		ck_assert_uint_eq(count_files("headers/tmp*"), 0);
		ck_assert_uint_le(count_files("headers/*"), 1);
	}
}
END_TEST

/* What needs headers of all the parts that NVRTC carries. */
static const char *const users[] = {
	"#include <cub/block/block_reduce.cuh>\n"
	"__global__ void k(int *a)\n{\n"
	"\tusing R = cub::BlockReduce<int, 128>;\n\t__shared__ typename R::TempStorage t;\n"
	"\tint v = R(t).Sum(a[threadIdx.x]);\n\t*a = v + 4712;\n}\n",
	"#include <cuda/std/tuple>\n#include <cuda/atomic>\n"
	"__global__ void k(int *a)\n{\n"
	"\tcuda::atomic_ref<int, cuda::thread_scope_device> r(*a);\n"
	"\tr += cuda::std::get<1>(cuda::std::make_tuple(1, 4712));\n}\n",
	"#include <cooperative_groups.h>\n"
	"__global__ void k(int *a)\n{\n"
	"\tcooperative_groups::this_thread_block().sync();\n\t*a = 4712;\n}\n",
	"#include <mma.h>\n#include <cuda_fp16.h>\n"
	"using namespace nvcuda::wmma;\n"
	"__global__ void k(const half *a, float *c)\n{\n"
	"\tfragment<matrix_a, 16, 16, 16, half, row_major> x;\n"
	"\tfragment<matrix_b, 16, 16, 16, half, row_major> y;\n"
	"\tfragment<accumulator, 16, 16, 16, float> z;\n\tfill_fragment(z, 0.f);\n"
	"\tload_matrix_sync(x, a, 16);\n\tload_matrix_sync(y, a, 16);\n"
	"\tmma_sync(z, x, y, z);\n\tstore_matrix_sync(c + 4712, z, 16, mem_row_major);\n}\n",
};

START_TEST(nvrtc_alone_compiles_what_needs_headers)
{
	open_nvrtc();
	if (!is_real) {
		fprintf(stderr, "skipped: this NVRTC carries no headers, as 13.3 does\n");
		return;
	}
	compiles(users[_i], _i == 3 ? "18848" : "4712");
}
END_TEST

SUITE(cuda_bundle)
{
	Suite *suite = suite_create("cuda_bundle");
	TCase *tc = suite_add_case(suite, "headers");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_header_that_no_folder_has_is_nvrtcs);
	tcase_add_test(tc, the_next_process_finds_them);
	tcase_add_loop_test(tc, a_source_that_needs_none_pays_for_none, 0, countof(frugal));
	tcase_add_test(tc, the_caller_s_own_file_comes_first);
	tcase_add_test(tc, folders_that_the_user_names_are_all_there_are);
	tcase_add_test(tc, a_failure_leaves_nothing_and_is_told);
	tcase_add_loop_test(tc, without_a_cache_the_error_says_so, 0, 3);
	tcase_add_test(tc, processes_want_them_at_once);
	tcase_add_test(tc, threads_want_them_at_once);
	tcase_add_test(tc, what_nobody_uses_is_removed);
	tcase_add_test(tc, a_header_that_somebody_changes_is_compiled_anew);
	tcase_add_test(tc, want_of_memory_leaves_nothing);
	tcase_add_loop_test(tc, nvrtc_alone_compiles_what_needs_headers, 0, countof(users));
	return suite;
}
