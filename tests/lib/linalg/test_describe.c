/* SPDX-License-Identifier: MIT */
/* What kz_diagnose says of BLAS, LAPACK, cuBLAS, cuSOLVER and cuFFT: there, missing, slow. */
#include "base/common.h"

#include "lib/linalg/describe.h"
#include "lib/linalg/host_library.h"
#include "support/suite.h"
#include "support/support.h"

#define STUB KZ_TEST_BUILD "/libcuda-stub.so"

static kz_error err;
static kz_diagnosis *diagnosis;

static const kz_finding *find(const char *topic)
{
	for (int64_t i = 0; i < kz_diagnosis_count(diagnosis); i++) {
		const kz_finding *finding = kz_diagnosis_finding(diagnosis, i);
		if (strcmp(finding->topic, topic) == 0) {
			return finding;
		}
	}
	return NULL;
}

/* Both devices by the stub, which computes nothing. */
static void diagnose(bool cuda, bool cpu)
{
	support_stub("");
	setenv("KUDZU_CUDA_DRIVER", cuda ? STUB : "/nowhere/libcuda.so.1", 1);
	setenv("KUDZU_CPU_DRIVER", cpu ? STUB : "/nowhere/libkudzu-cpu.so", 1);
	unsetenv("KUDZU_DEVICE");
	ok(kz_diagnose(&diagnosis, &err));
}

START_TEST(a_library_is_shown_with_its_version_and_path)
{
	diagnose(false, true);
	const struct host_library *library = host_library_get(1);
	const kz_finding *blas = find("blas"), *lapack = find("lapack");
	ck_assert_int_eq(blas->verdict, library->parts[HOST_BLAS].object ? KZ_VERDICT_OK
		: KZ_VERDICT_NOTE);
	if (library->parts[HOST_BLAS].object) {
		ck_assert_ptr_nonnull(strstr(blas->text, "-bit integers, /"));
		ck_assert_ptr_nonnull(strstr(blas->text, ".so"));
	}
	if (library->parts[HOST_LAPACK].object) {
		ck_assert_ptr_nonnull(strpbrk(lapack->text, "0123456789"));
	}
	kz_diagnosis_release(diagnosis);
}
END_TEST

START_TEST(a_missing_library_is_a_note_that_names_the_package)
{
	setenv("KUDZU_BLAS", "none", 1);
	diagnose(false, true);
	for (int i = 0; i < 2; i++) {
		const kz_finding *finding = find(i ? "lapack" : "blas");
		ck_assert_int_eq(finding->verdict, KZ_VERDICT_NOTE);
		ck_assert_ptr_nonnull(strstr(finding->fix, "apt-get install libopenblas0"));
		ck_assert_ptr_nonnull(strstr(finding->log, "KUDZU_BLAS is set to none"));
	}
	kz_diagnosis_release(diagnosis);
}
END_TEST

START_TEST(a_library_that_is_named_and_missing_is_a_problem)
{
	setenv("KUDZU_BLAS", "/nowhere/libblas.so", 1);
	setenv("KUDZU_LAPACK", STUB, 1);
	diagnose(false, true);
	ck_assert_int_eq(find("blas")->verdict, KZ_VERDICT_PROBLEM);
	ck_assert_str_eq(find("blas")->text,
		"no usable library in KUDZU_BLAS='/nowhere/libblas.so'");
	ck_assert_int_eq(find("lapack")->verdict, KZ_VERDICT_PROBLEM);
	ck_assert_str_eq(find("lapack")->text, "no usable library in KUDZU_LAPACK='" STUB "'");
	ck_assert_ptr_nonnull(strstr(find("lapack")->log, "not a LAPACK, it lacks dgetrf_"));
	kz_diagnosis_release(diagnosis);
}
END_TEST

START_TEST(nvidias_libraries_are_opened_where_a_gpu_is)
{
	setenv("KUDZU_CUBLAS", "/nowhere/libcublas.so", 1);
	setenv("KUDZU_CUSOLVER", "none", 1);
	setenv("KUDZU_CUFFT", KZ_TEST_BUILD "/libcufft-stub.so", 1);
	diagnose(true, false);
	ck_assert_int_eq(find("cufft")->verdict, KZ_VERDICT_OK);
	ck_assert_str_eq(find("cufft")->text, "12.13.14, " KZ_TEST_BUILD "/libcufft-stub.so");
	ck_assert_int_eq(find("cublas")->verdict, KZ_VERDICT_PROBLEM);
	ck_assert_str_eq(find("cublas")->text,
		"no usable library in KUDZU_CUBLAS='/nowhere/libcublas.so'");
	ck_assert_ptr_nonnull(strstr(find("cublas")->log, "/nowhere/libcublas.so: "));
	ck_assert_ptr_nonnull(strstr(find("cusolver")->fix, "nvidia-cusolver"));
	ck_assert_ptr_nonnull(strstr(find("cusolver")->log, "KUDZU_CUSOLVER is set to none"));
	ck_assert_ptr_null(find("blas")); // no CPU device
	kz_diagnosis_release(diagnosis);
	diagnose(false, true);
	ck_assert_int_eq(find("cublas")->verdict, KZ_VERDICT_NOTE);
	ck_assert_ptr_nonnull(strstr(find("cublas")->text, "there is no GPU that needs it"));
	ck_assert_ptr_null(find("cublas")->fix);
	kz_diagnosis_release(diagnosis);
}
END_TEST

START_TEST(kernels_for_an_older_processor_get_advice)
{
	ck_assert_ptr_null(describe_slow_core("Haswell", false));
	ck_assert_ptr_null(describe_slow_core("SkylakeX", true));
	ck_assert_ptr_null(describe_slow_core("Cooperlake", true));
	ck_assert_ptr_nonnull(strstr(describe_slow_core("Haswell", true),
		"OPENBLAS_CORETYPE=SKYLAKEX"));
	ck_assert_ptr_nonnull(describe_slow_core("Zen", true));
}
END_TEST

SUITE(describe)
{
	Suite *suite = suite_create("describe");
	TCase *tcase = suite_add_case(suite, "describe");
	tcase_add_tests(tcase, 1, a_library_is_shown_with_its_version_and_path,
		a_library_that_is_named_and_missing_is_a_problem,
		a_missing_library_is_a_note_that_names_the_package,
		nvidias_libraries_are_opened_where_a_gpu_is,
		kernels_for_an_older_processor_get_advice);
	return suite;
}
