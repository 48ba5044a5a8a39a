/* SPDX-License-Identifier: MIT */
/* What kz_diagnose says, with drivers, NVRTC and cache folder there, missing, or broken. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "lib/rtc/nvrtc.h"
#include "support/store_folder.h"
#include "support/support.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define STUB KZ_TEST_BUILD "/libcuda-stub.so"

static kz_error err;
static kz_diagnosis *diagnosis;

static void diagnose(bool cuda, bool cpu, const char *nvrtc)
{
	setenv("KUDZU_CUDA_DRIVER", cuda ? STUB : "/nowhere/libcuda.so.1", 1);
	setenv("KUDZU_CPU_DRIVER", cpu ? STUB : "/nowhere/libkudzu-cpu.so", 1);
	unsetenv("KUDZU_DEVICE");
	if (nvrtc) {
		setenv("KUDZU_NVRTC", nvrtc, 1);
	}
	ok(kz_diagnose(&diagnosis, &err));
}

/* The finding of this topic whose text holds `text`. */
static const kz_finding *find(const char *topic, const char *text)
{
	for (int64_t i = 0; i < kz_diagnosis_count(diagnosis); i++) {
		const kz_finding *finding = kz_diagnosis_finding(diagnosis, i);
		if (strcmp(finding->topic, topic) == 0 && strstr(finding->text, text)) {
			return finding;
		}
	}
	ck_abort_msg("no finding '%s' with '%s'", topic, text);
	return NULL;
}

START_TEST(a_machine_with_everything_has_no_problem_with_its_devices)
{
	support_stub("devices=2");
	diagnose(true, true, NULL);
	ck_assert_int_eq(find("kudzu", kz_version_string())->verdict, KZ_VERDICT_OK);
	ck_assert_int_eq(find("driver", "CUDA 13.0, 2 devices, " STUB)->verdict, KZ_VERDICT_OK);
	const kz_finding *device = find("device",
		"cuda:0: Kudzu stub 0, compute capability 9.0, 132 multiprocessors, 8.0 GiB");
	ck_assert_int_eq(device->verdict, KZ_VERDICT_OK);
	find("device", "cuda:1: ");
	find("device", "cpu: ");
	find("cpu driver", STUB);
	find("choice", "programs run on cuda:0, by default");
	ck_assert_ptr_null(find("driver", "")->fix);
	ck_assert_ptr_null(kz_diagnosis_finding(diagnosis, kz_diagnosis_count(diagnosis)));
	ck_assert_ptr_null(kz_diagnosis_finding(diagnosis, -1));
	kz_diagnosis_release(diagnosis);
	kz_diagnosis_release(NULL);
	ck_assert_int_eq(support_stub_live(STUB_CONTEXT), 0);
}
END_TEST

START_TEST(nothing_in_place_of_a_diagnosis_is_no_crash)
{
	fails(kz_diagnose(NULL, &err), KZ_INVALID, "kz_diagnose: out is NULL");
	ck_assert_int_eq(kz_diagnosis_count(NULL), 0);
	ck_assert_ptr_null(kz_diagnosis_finding(NULL, 0));
	ck_assert_int_eq(kz_diagnosis_usable(NULL), 0);
}
END_TEST

/* Scripts of the stub, as the CUDA driver; KUDZU_DEVICE.  Nothing else works. */
static const char *const unusable[][2] = {
	{NULL, NULL}, {NULL, "cpu"}, {NULL, "cuda"}, {NULL, "gpu7"}, {"fail=cuInit:100", "cuda"},
	{"fail=cuInit:999", NULL}, {"fail=cuDevicePrimaryCtxRetain:999", NULL},
	{"fail=cuDevicePrimaryCtxRetain:46", "cuda:0"}, {"devices=2", "cuda:2"},
};

START_TEST(every_problem_has_a_fix_that_can_be_followed)
{
	if (unusable[_i][0]) {
		support_stub(unusable[_i][0]);
	}
	diagnose(unusable[_i][0], false, "/nowhere/libnvrtc.so");
	kz_diagnosis_release(diagnosis);
	if (unusable[_i][1]) {
		setenv("KUDZU_DEVICE", unusable[_i][1], 1);
	}
	ok(kz_diagnose(&diagnosis, &err));
	for (int64_t i = 0; i < kz_diagnosis_count(diagnosis); i++) {
		const kz_finding *finding = kz_diagnosis_finding(diagnosis, i);
		ck_assert_msg(finding->verdict != KZ_VERDICT_PROBLEM || finding->fix, "%s: %s",
			finding->topic, finding->text);
		ck_assert_msg(!finding->fix || !strstr(finding->fix, "doctor"), "%s", finding->fix);
		ck_assert_msg(!finding->fix || !strstr(finding->fix, "device 'cpu'"), "%s",
			finding->fix);
	}
	find("choice", "no device");
	kz_diagnosis_release(diagnosis);
}
END_TEST

START_TEST(what_the_loader_says_is_shown)
{
	diagnose(false, false, "/nowhere/libnvrtc.so");
	kz_diagnosis_release(diagnosis);
	setenv("KUDZU_CPU_DRIVER", "/dev/null", 1);
	ok(kz_diagnose(&diagnosis, &err));
	ck_assert_ptr_nonnull(strstr(find("cpu driver", "/dev/null")->log, "/dev/null: "));
	ck_assert_ptr_nonnull(strstr(find("driver", "")->log, "No such file"));
	ck_assert_ptr_nonnull(strstr(find("nvrtc", "")->log, "No such file"));
	ck_assert_ptr_null(find("kudzu", "")->log);
	kz_diagnosis_release(diagnosis);
}
END_TEST

/* A CPU driver alone in a folder: it works, but for compiling. */
START_TEST(a_driver_without_its_code_generator_is_a_problem)
{
	static const char from[] = KZ_TEST_BUILD "/libkudzu-cpu.so";
	char path[128], *data;
	size_t size;
	struct file_writer file;
	if (access(from, F_OK) != 0) {
		return; /* built without LLVM */
	}
	store_folder_create();
	snprintf(path, sizeof(path), "%s/libkudzu-cpu.so", store_outside);
	ok(file_read(&data, &size, from, &err));
	ok(file_begin(&file, path, &err));
	ok(file_add(&file, data, size, &err));
	ok(file_commit(&file, &err));
	mem_free(data);
	setenv("KUDZU_CPU_DRIVER", path, 1);
	ok(kz_diagnose(&diagnosis, &err));
	ck_assert_int_eq(find("device", "cpu")->verdict, KZ_VERDICT_OK);
	ck_assert_int_eq(find("llvm", "compiler")->verdict, KZ_VERDICT_PROBLEM);
	ck_assert_ptr_nonnull(strstr(find("llvm", "")->log, "libkudzu-cpu-llvm.so"));
	kz_diagnosis_release(diagnosis);
	store_folder_remove();
}
END_TEST

START_TEST(a_machine_with_nothing_is_diagnosed_too)
{
	diagnose(false, false, "/nowhere/libnvrtc.so");
	ck_assert_int_eq(find("driver", "/nowhere/libcuda.so.1")->verdict, KZ_VERDICT_PROBLEM);
	ck_assert_ptr_nonnull(find("driver", "")->fix);
	ck_assert_int_eq(
		find("cpu driver", "/nowhere/libkudzu-cpu.so")->verdict, KZ_VERDICT_PROBLEM);
	ck_assert_str_eq(find("choice", "no device")->text, "no device can be used");
	ck_assert_int_eq(find("llvm", "unknown")->verdict, KZ_VERDICT_NOTE);
	ck_assert_int_eq(find("headers", "unknown")->verdict, KZ_VERDICT_NOTE);
	ck_assert_int_eq(kz_diagnosis_usable(diagnosis), 0);
	kz_diagnosis_release(diagnosis);
}
END_TEST

START_TEST(include_folders_that_are_none_are_a_problem)
{
	support_stub("");
	setenv("KUDZU_CUDA_INCLUDE", "/nowhere", 1);
	diagnose(true, false, NULL);
	const kz_finding *headers = find("headers", "");
	if (!strstr(headers->text, "unknown")) { /* which it is without NVRTC */
		ck_assert_int_eq(headers->verdict, KZ_VERDICT_PROBLEM);
		ck_assert_str_eq(headers->text,
			"KUDZU_CUDA_INCLUDE is '/nowhere': expected folders");
	}
	kz_diagnosis_release(diagnosis);
}
END_TEST

/* Each part of CUDA's headers that is missing has its package; and where NVRTC carries them they
 * are not missing. */
START_TEST(parts_of_the_headers_that_are_missing_are_named)
{
	struct nvrtc *nvrtc;
	struct nvrtc_bundle info;
	if (nvrtc_open((const struct nvrtc **)&nvrtc, &err)) {
		return;
	}
	nvrtc->include_count = 0;
	support_stub("");
	unsetenv("KUDZU_CACHE");
	setenv("KUDZU_CACHE_DIR", "/tmp/kudzu-no-such-folder", 1);
	diagnose(true, false, NULL);
	const kz_finding *curand = find("headers", "curand_kernel.h");
	ck_assert_int_eq(curand->verdict, KZ_VERDICT_NOTE);
	ck_assert_ptr_nonnull(strstr(curand->fix, "install nvidia-curand"));
	if (nvrtc_bundle(&info, nvrtc)) {
		ck_assert_int_eq(find("headers", "from NVRTC: the first kernel that includes one "
			"puts them into /tmp/kudzu-no-such-folder/headers/")->verdict,
			KZ_VERDICT_OK);
	} else {
		ck_assert_ptr_nonnull(strstr(find("headers", "nv/target are missing")->fix,
			"install nvidia-cuda-cccl"));
	}
	kz_diagnosis_release(diagnosis);
}
END_TEST

START_TEST(what_is_missing_but_not_needed_is_a_note)
{
	support_stub("");
	diagnose(true, false, NULL);
	ck_assert_int_eq(find("cpu driver", "/nowhere")->verdict, KZ_VERDICT_NOTE);
	kz_diagnosis_release(diagnosis);
	diagnose(false, true, NULL);
	ck_assert_int_eq(find("driver", "/nowhere")->verdict, KZ_VERDICT_NOTE);
	ck_assert_str_eq(find("choice", "")->text, "programs run on cpu, by default");
	kz_diagnosis_release(diagnosis);
}
END_TEST

START_TEST(a_device_that_does_not_open_is_a_problem_with_its_reason)
{
	support_stub("devices=2;fail=cuDevicePrimaryCtxRetain:46@1");
	diagnose(true, false, NULL);
	const kz_finding *broken = find("device", "cuda:0: cuDevicePrimaryCtxRetain: ");
	ck_assert_int_eq(broken->verdict, KZ_VERDICT_PROBLEM);
	ck_assert_ptr_nonnull(broken->fix);
	find("device", "cuda:1: Kudzu stub 1");
	kz_diagnosis_release(diagnosis);
}
END_TEST

START_TEST(a_chosen_device_is_named_with_the_variable)
{
	support_stub("");
	setenv("KUDZU_CUDA_DRIVER", STUB, 1);
	setenv("KUDZU_DEVICE", "cuda:0", 1);
	ok(kz_diagnose(&diagnosis, &err));
	find("choice", "programs run on cuda:0, as KUDZU_DEVICE says");
	kz_diagnosis_release(diagnosis);
	setenv("KUDZU_DEVICE", "gpu", 1);
	ok(kz_diagnose(&diagnosis, &err));
	find("choice", "no device: KUDZU_DEVICE: unknown device 'gpu'");
	ck_assert_int_eq(kz_diagnosis_usable(diagnosis), 0);
	kz_diagnosis_release(diagnosis);
	setenv("KUDZU_DEVICE", "cuda", 1);
	setenv("KUDZU_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
	setenv("KUDZU_CPU_DRIVER", STUB, 1);
	ok(kz_diagnose(&diagnosis, &err));
	find("choice", "no device: 'cuda', as KUDZU_DEVICE says, cannot be used");
	ck_assert_int_eq(kz_diagnosis_usable(diagnosis), 0);
	kz_diagnosis_release(diagnosis);
}
END_TEST

START_TEST(kernels_can_run_where_a_compiler_and_a_device_are)
{
	support_stub("");
	diagnose(true, false, NULL);
	bool compiler = false;
	for (int64_t i = 0; i < kz_diagnosis_count(diagnosis); i++) {
		const kz_finding *finding = kz_diagnosis_finding(diagnosis, i);
		compiler |=
			strcmp(finding->topic, "nvrtc") == 0 && finding->verdict == KZ_VERDICT_OK;
	}
	ck_assert_int_eq(kz_diagnosis_usable(diagnosis), compiler);
	kz_diagnosis_release(diagnosis);
	diagnose(false, false, NULL);
	ck_assert_int_eq(kz_diagnosis_usable(diagnosis), 0);
	kz_diagnosis_release(diagnosis);
}
END_TEST

START_TEST(without_a_compiler_a_device_is_not_enough)
{
	support_stub("");
	diagnose(true, false, "/nowhere/libnvrtc.so");
	const kz_finding *compiler = find("nvrtc", "/nowhere/libnvrtc.so");
	ck_assert_int_eq(compiler->verdict, KZ_VERDICT_PROBLEM);
	ck_assert_ptr_nonnull(compiler->fix);
	ck_assert_int_eq(kz_diagnosis_usable(diagnosis), 0);
	kz_diagnosis_release(diagnosis);
}
END_TEST

START_TEST(the_cache_folder_is_named_with_its_state)
{
	char folder[] = "/tmp/kudzu-test-XXXXXX", below[64];
	support_stub("");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(below, sizeof(below), "%s/not/yet", folder);
	setenv("KUDZU_CACHE_DIR", folder, 1);
	setenv("KUDZU_CACHE", "1", 1);
	diagnose(true, false, NULL);
	ck_assert_int_eq(find("cache", ", 0.0 MiB")->verdict, KZ_VERDICT_OK);
	ck_assert_ptr_nonnull(find("cache", folder));
	kz_diagnosis_release(diagnosis);
	setenv("KUDZU_CACHE_DIR", below, 1);
	diagnose(true, false, NULL);
	ck_assert_int_eq(find("cache", "/not/yet (not there yet)")->verdict, KZ_VERDICT_OK);
	kz_diagnosis_release(diagnosis);
	ck_assert_int_eq(access(below, F_OK), -1);
	setenv("KUDZU_CACHE_DIR", "relative", 1);
	diagnose(true, false, NULL);
	const kz_finding *bad = find("cache",
		"KUDZU_CACHE_DIR is 'relative': expected an absolute");
	ck_assert_int_eq(bad->verdict, KZ_VERDICT_PROBLEM);
	ck_assert_ptr_nonnull(bad->fix);
	kz_diagnosis_release(diagnosis);
	setenv("KUDZU_CACHE_DIR", "/dev/null/cache", 1);
	diagnose(true, false, NULL);
	ck_assert_int_eq(find("cache", "'/dev/null' is not a folder")->verdict, KZ_VERDICT_PROBLEM);
	kz_diagnosis_release(diagnosis);
	rmdir(folder);
}
END_TEST

START_TEST(a_diagnosis_without_memory_leaves_nothing)
{
	setenv("KUDZU_CACHE", "0", 1); /* that of all tests may have thousands of entries */
	bool failed = true;
	long n;
	support_stub("");
	diagnose(true, false, NULL);
	kz_diagnosis_release(diagnosis);
	for (n = 0; failed && n < 2000; n++) {
		mem_fail_after(n);
		kz_status st = kz_diagnose(&diagnosis, &err);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		ck_assert(st == KZ_OK || (failed && st == KZ_NO_MEMORY && !diagnosis));
		kz_error_clear(&err);
		kz_diagnosis_release(diagnosis);
	}
	ck_assert(!failed);
	ck_assert_int_gt(n, 10);
	ck_assert_int_eq(support_stub_live(STUB_CONTEXT), 0);
}
END_TEST

START_TEST(every_device_found_is_found_usable)
{
	ok(kz_diagnose(&diagnosis, &err));
	ck_assert_int_eq(find("device", support_device_name(_i))->verdict, KZ_VERDICT_OK);
	if (strcmp(support_device_name(_i), "cpu") == 0) {
		const kz_finding *llvm = find("llvm", ".");
		ck_assert_int_eq(llvm->verdict, KZ_VERDICT_OK);
		ck_assert_int_ge(atoi(llvm->text), 14);
	}
	kz_diagnosis_release(diagnosis);
}
END_TEST

/* The sanitizers themselves have more addresses than that. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
START_TEST(small_gaps_where_addresses_are_limited_are_a_note)
{
	const struct rlimit limit = {(size_t)12 << 30, (size_t)12 << 30};
	ok(kz_diagnose(&diagnosis, &err));
	for (int64_t i = 0; i < kz_diagnosis_count(diagnosis); i++) {
		ck_assert_str_ne(kz_diagnosis_finding(diagnosis, i)->topic, "addresses");
	}
	kz_diagnosis_release(diagnosis);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	ok(kz_diagnose(&diagnosis, &err));
	if (strcmp(support_device_name(_i), "cpu") == 0) {
		const kz_finding *finding = find("addresses", "MiB, not 16384, around memory");
		ck_assert_int_eq(finding->verdict, KZ_VERDICT_NOTE);
		ck_assert_ptr_nonnull(strstr(finding->fix, "ulimit -v"));
	}
	kz_diagnosis_release(diagnosis);
}
END_TEST
#endif

SUITE(diagnose)
{
	Suite *s = suite_create("diagnose");
	TCase *tc = suite_add_case(s, "diagnose");
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, 1, a_machine_with_everything_has_no_problem_with_its_devices,
		nothing_in_place_of_a_diagnosis_is_no_crash);
	tcase_add_loop_test(tc, every_problem_has_a_fix_that_can_be_followed, 0, countof(unusable));
	tcase_add_tests(tc, 1, what_the_loader_says_is_shown,
		a_driver_without_its_code_generator_is_a_problem,
		a_machine_with_nothing_is_diagnosed_too,
		include_folders_that_are_none_are_a_problem,
		parts_of_the_headers_that_are_missing_are_named,
		what_is_missing_but_not_needed_is_a_note,
		a_device_that_does_not_open_is_a_problem_with_its_reason,
		a_chosen_device_is_named_with_the_variable,
		kernels_can_run_where_a_compiler_and_a_device_are,
		without_a_compiler_a_device_is_not_enough, the_cache_folder_is_named_with_its_state,
		a_diagnosis_without_memory_leaves_nothing);
	tcase_add_loop_test(tc, every_device_found_is_found_usable, 0, support_device_count());
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	tcase_add_loop_test(tc, small_gaps_where_addresses_are_limited_are_a_note, 0,
		support_device_count());
#endif
	return s;
}
