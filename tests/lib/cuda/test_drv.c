/* SPDX-License-Identifier: MIT */
/*
 * Loading drivers, with the scripted stub driver as the provider: what is missing, what is old,
 * what fails, and that every CUresult becomes its error value.
 *
 * A script acts when the stub is loaded, so each test sets it before its first drv_open; Check's
 * fork keeps the tests apart.
 */
#include "base/common.h"

#include "lib/cuda/drv.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "support/suite.h"

#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define STUB KZ_TEST_BUILD "/libcuda-stub.so"
#define LINK_STUB KZ_TEST_BUILD "/kudzu-cpu/stubs/libcuda.so"

static const struct {
	const char *name;
	const char *symbol;
	int since;
	bool core;
	size_t slot;
} symbols[] = {
#define CORE true
#define OPTIONAL false
#define X(name, symbol, since, need, parameters)                                                   \
	{"cu" #name, #symbol, since, need, offsetof(struct drv, name)},
#include "lib/cuda/cuda.def"
#undef X
#undef CORE
#undef OPTIONAL
};

static void use_stub(const char *script)
{
	setenv("KUDZU_CUDA_DRIVER", STUB, 1);
	setenv("KUDZU_STUB", script, 1);
}

static struct drv *open_stub(const char *script)
{
	struct drv *drv;
	kz_error err = KZ_ERROR_INIT;
	use_stub(script);
	drv_open(&drv, DRV_CUDA, &err);
	ck_assert_msg(err.status == KZ_OK, "%s", err.message);
	return drv;
}

static void check_refused(kz_status status, const char *text)
{
	struct drv *drv;
	kz_error err = KZ_ERROR_INIT;
	ck_assert_int_eq(drv_open(&drv, DRV_CUDA, &err), status);
	ck_assert_ptr_null(drv);
	ck_assert_int_eq(err.status, status);
	ck_assert_msg(strstr(err.message, text), "'%s' in: %s", text, err.message);
	kz_error_clear(&err);
}

START_TEST(a_driver_is_loaded_once_and_counted)
{
	struct drv *drv = open_stub("version=12080;devices=2"), *again;
	ck_assert_int_eq(drv->version, 12080);
	ck_assert_int_eq(drv->device_count, 2);
	ck_assert_str_eq(drv->path, STUB);
	ck_assert_int_eq(drv->provider, DRV_CUDA);
	ck_assert_int_eq(drv_open(&again, DRV_CUDA, NULL), KZ_OK);
	ck_assert_ptr_eq(again, drv);
	int version = 0;
	ck_assert_int_eq(drv_check(drv, drv->DriverGetVersion(&version), "x", NULL), KZ_OK);
	ck_assert_int_eq(version, 12080);
}
END_TEST

START_TEST(every_symbol_of_a_full_driver_is_there)
{
	struct drv *drv = open_stub("");
	for (int i = 0; i < DRV_SYMBOL_COUNT; i++) {
		ck_assert_msg(drv_has(drv, (enum drv_symbol)i), "%s", symbols[i].symbol);
	}
}
END_TEST

/* The function in a slot, called without arguments: what stands in for a symbol takes none. */
static CUresult call_slot(const struct drv *drv, size_t slot)
{
	CUresult (*function)(void);
	memcpy(&function, (const char *)drv + slot, sizeof(function));
	return function();
}

START_TEST(each_missing_symbol_is_refused_or_an_error_that_names_the_version)
{
	char script[128], text[512];
	snprintf(script, sizeof(script), "version=11000;missing=%s", symbols[_i].symbol);
	if (symbols[_i].core) {
		use_stub(script);
		check_refused(KZ_NO_DRIVER, symbols[_i].symbol);
		return;
	}
	struct drv *drv = open_stub(script);
	kz_error err = KZ_ERROR_INIT;
	bool newer = symbols[_i].since > 11000;
	snprintf(text, sizeof(text),
		newer ? "%s needs a driver of CUDA %d.%d or newer; this one is of CUDA 11.0"
		      : "'" STUB "' does not have %s",
		symbols[_i].name, symbols[_i].since / 1000, symbols[_i].since % 1000 / 10);
	ck_assert(!drv_has(drv, (enum drv_symbol)_i));
	CUresult code = call_slot(drv, symbols[_i].slot);
	ck_assert_int_eq(
		drv_check(drv, code, symbols[_i].name, &err), newer ? KZ_VERSION : KZ_UNSUPPORTED);
	ck_assert_str_eq(err.message, text);
	ck_assert_str_eq(err.call, symbols[_i].name);
	kz_error_clear(&err);
}
END_TEST

START_TEST(an_old_driver_lacks_exactly_what_is_newer)
{
	struct drv *drv = open_stub("version=11020");
	for (int i = 0; i < DRV_SYMBOL_COUNT; i++) {
		ck_assert_msg(drv->has[i] == (symbols[i].since <= 11020), "%s", symbols[i].symbol);
	}
}
END_TEST

START_TEST(a_driver_that_is_too_old_is_refused_with_both_versions)
{
	use_stub("version=10020");
	check_refused(KZ_VERSION, "is a driver of CUDA 10.2; Kudzu needs one of CUDA 11.0");
}
END_TEST

static const struct {
	const char *script;
	kz_status status;
	const char *text;
} failures[] = {
	{"init=100", KZ_NO_DEVICE, "no GPU that CUDA can use"},
	{"devices=0", KZ_NO_DEVICE, "no GPU that CUDA can use"},
	{"init=803", KZ_VERSION, "different versions"},
	{"init=804", KZ_VERSION, "forward compatibility"},
	{"init=802", KZ_NO_DRIVER, "not ready"},
	{"init=34", KZ_NO_DRIVER, "stub for linking"},
	{"init=35", KZ_UNKNOWN, "unexpected code 35"},
	{"fail=cuDriverGetVersion:999", KZ_UNKNOWN, "unknown error"},
	{"fail=cuDeviceGetCount:3", KZ_STATE, "not initialized"},
};

START_TEST(a_driver_that_does_not_start_says_why)
{
	use_stub(failures[_i].script);
	check_refused(failures[_i].status, failures[_i].text);
	check_refused(failures[_i].status, "libcuda-stub.so");
}
END_TEST

START_TEST(a_driver_that_was_repaired_works_at_the_next_try)
{
	use_stub("init=802");
	check_refused(KZ_NO_DRIVER, "not ready");
	char why[64];
	void *object = dl_open(STUB, why, sizeof(why));
	void (*script)(const char *);
	*(void **)&script = dl_symbol(object, "stub_script");
	script("");
	ck_assert_int_eq(open_stub("")->device_count, 1);
	dl_close(object);
}
END_TEST

START_TEST(no_driver_says_what_was_tried_and_what_to_do)
{
	struct drv *drv;
	kz_error err = KZ_ERROR_INIT;
	setenv("KUDZU_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
	ck_assert_int_eq(drv_open(&drv, DRV_CUDA, &err), KZ_NO_DRIVER);
	ck_assert_str_eq(err.message, "cannot load the CUDA driver: tried "
		"'/nowhere/libcuda.so.1' of KUDZU_CUDA_DRIVER");
	ck_assert_ptr_nonnull(err.hint);
	ck_assert_ptr_null(strstr(err.hint, "KUDZU_DEVICE")); /* which a name in the program
	                                                         overrides */
	ck_assert_ptr_nonnull(strstr(err.log, "No such file"));
	kz_error_clear(&err);
}
END_TEST

START_TEST(an_object_that_is_no_driver_is_refused)
{
	setenv("KUDZU_CUDA_DRIVER", "libm.so.6", 1);
	check_refused(KZ_NO_DRIVER, "is not a CUDA driver; it lacks cuInit, cuDriverGetVersion");
}
END_TEST

START_TEST(a_stub_for_linking_is_refused_and_does_not_stay)
{
	setenv("KUDZU_CUDA_DRIVER", LINK_STUB, 1);
	check_refused(KZ_NO_DRIVER, "stub for linking");
	/* Its soname would answer for the real driver's. */
	ck_assert_ptr_null(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
}
END_TEST

START_TEST(the_cpu_driver_is_a_provider_of_its_own)
{
	struct drv *cuda = open_stub(""), *cpu;
	setenv("KUDZU_CPU_DRIVER", STUB, 1);
	ck_assert_int_eq(drv_open(&cpu, DRV_CPU, NULL), KZ_OK);
	ck_assert_ptr_ne(cpu, cuda);
	ck_assert_int_eq(cpu->provider, DRV_CPU);
	kz_error err = KZ_ERROR_INIT;
	setenv("KUDZU_CPU_DRIVER", "/nowhere/libkudzu-cpu.so", 1);
	ck_assert_int_eq(drv_open(&cpu, DRV_CPU, &err), KZ_NO_DRIVER);
	ck_assert_ptr_nonnull(strstr(err.message, "CPU driver: tried '/nowhere"));
	kz_error_clear(&err);
}
END_TEST

START_TEST(the_cpu_driver_is_looked_for_beside_the_program)
{
	struct drv *drv;
	kz_error err = KZ_ERROR_INIT;
	unsetenv("KUDZU_CPU_DRIVER");
	if (drv_open(&drv, DRV_CPU, &err) == KZ_OK) {
		ck_assert_ptr_nonnull(strstr(drv->path, "libkudzu-cpu.so"));
	} else {
		ck_assert_int_eq(err.status, KZ_NO_DRIVER);
		ck_assert_ptr_nonnull(strstr(err.message, KZ_TEST_BUILD "/libkudzu-cpu.so"));
	}
	kz_error_clear(&err);
}
END_TEST

START_TEST(every_result_of_a_call_reaches_the_user_as_its_error_value)
{
	struct drv *drv = open_stub("");
	void (*script)(const char *);
	*(void **)&script = dl_symbol(drv->object, "stub_script");
	for (int number = 1; number < 1000; number++) {
		char text[64];
		const struct native_code *code = codes_find(KZ_DOMAIN_DRIVER, number);
		kz_error err = KZ_ERROR_INIT;
		snprintf(text, sizeof(text), "fail=cuMemAlloc_v2:%d", number);
		script(text);
		CUdeviceptr address;
		kz_status status = drv_check(drv, drv->MemAlloc(&address, 16), "cuMemAlloc", &err);
		ck_assert_int_eq(status, code ? code->status : KZ_UNKNOWN);
		ck_assert_int_eq(err.status, status);
		ck_assert_int_eq(err.code, number);
		ck_assert_int_eq(err.domain, KZ_DOMAIN_DRIVER);
		ck_assert_str_eq(err.call, "cuMemAlloc");
		ck_assert_uint_eq(err.flags, code ? code->flags : 0);
		ck_assert_ptr_eq(err.name, code ? code->name : NULL);
		kz_error_clear(&err);
	}
}
END_TEST

START_TEST(the_drivers_own_log_comes_with_a_failure)
{
	struct drv *drv = open_stub("log=grid too large;fail=cuCtxSynchronize:1");
	kz_error err = KZ_ERROR_INIT;
	drv_check(drv, drv->CtxSynchronize(), "cuCtxSynchronize", &err);
	ck_assert_str_eq(err.log, "grid too large");
	kz_error_clear(&err);
}
END_TEST

#define OURS "cuMemFree: not an address\n"
#define LINE(time, thread, text) "[" time "][" thread "][CUDA][E] " text "\n"

/* What the log says at a failure, and what of it belongs to the call that failed. */
static const struct {
	const char *log;
	const char *own;
} logs[] = {
	{OURS "cuCtxSynchronize: bad\n", "cuCtxSynchronize: bad\n"},
	{OURS OURS "no newline", "no newline"},
	{LINE("8:00.001", "7", "old") LINE("8:00.002", "7", "why") LINE("8:00.002", "7", "code 1"),
		LINE("8:00.002", "7", "why") LINE("8:00.002", "7", "code 1")},
	{LINE("8:00.002", "6", "of another thread") LINE("8:00.002", "7", "why"),
		LINE("8:00.002", "7", "why")},
	{LINE("8:00.002", "7", "why"), LINE("8:00.002", "7", "why")},
	{"[\n[\n", "[\n"},
	{"[1][2\n[1][2\n", "[1][2\n"},
	{"\n", "\n"},
};

START_TEST(lines_of_earlier_calls_and_other_threads_are_left_out)
{
	char script[256];
	kz_error err = KZ_ERROR_INIT;
	snprintf(script, sizeof(script), "log=%s;fail=cuCtxSynchronize:1", logs[_i].log);
	struct drv *drv = open_stub(script);
	drv_check(drv, drv->CtxSynchronize(), "cuCtxSynchronize", &err);
	ck_assert_str_eq(err.log, logs[_i].own);
	kz_error_clear(&err);
}
END_TEST

START_TEST(a_failure_that_logs_nothing_does_not_get_the_log_of_another)
{
	struct drv *drv;
	CUdeviceptr address;
	kz_error err = KZ_ERROR_INIT;
	unsetenv("KUDZU_CPU_DRIVER");
	if (drv_open(&drv, DRV_CPU, NULL) != KZ_OK) {
		return; /* built without it */
	}
	drv->MemAlloc(&address, 1);
	drv_check(drv, drv->CtxSynchronize(), "cuCtxSynchronize", &err);
	ck_assert_str_eq(err.log, "cuCtxSynchronize: this thread has no current context\n");
	kz_error_clear(&err);
	drv_check(drv, drv->CtxSynchronize(), "cuCtxSynchronize", NULL);
	drv_fail(drv, CUDA_ERROR_UNKNOWN, "cuMemFree", &err);
	ck_assert_ptr_null(err.log);
	kz_error_clear(&err);
}
END_TEST

START_TEST(a_log_that_cannot_be_had_does_not_hide_the_failure)
{
	struct drv *drv = open_stub("log=x;fail=cuLogsDumpToMemory:1;fail=cuCtxSynchronize:700");
	kz_error err = KZ_ERROR_INIT;
	drv_check(drv, drv->CtxSynchronize(), "cuCtxSynchronize", &err);
	ck_assert_int_eq(err.code, 700);
	ck_assert_ptr_null(err.log);
	kz_error_clear(&err);
	mem_fail_after(0);
	ck_assert_int_eq(drv_fail(drv, CUDA_ERROR_ILLEGAL_ADDRESS, "x", &err), KZ_FAULT);
	mem_fail_after(-1);
	kz_error_clear(&err);
}
END_TEST

START_TEST(opening_without_memory_fails_cleanly_at_every_step)
{
	struct drv *drv;
	use_stub("");
	for (long n = 0;; n++) {
		kz_error err = KZ_ERROR_INIT;
		mem_fail_after(n);
		kz_status status = drv_open(&drv, DRV_CUDA, &err);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(err.status, status);
		kz_error_clear(&err);
		if (!failed) {
			ck_assert_int_eq(status, KZ_OK);
			break;
		}
		ck_assert(status == KZ_NO_MEMORY || status == KZ_OK);
	}
}
END_TEST

static void *open_in_thread(void *out)
{
	drv_open(out, DRV_CUDA, NULL);
	return NULL;
}

START_TEST(threads_that_open_at_once_get_the_same_driver)
{
	pthread_t threads[8];
	struct drv *drvs[countof(threads)];
	use_stub("");
	for (size_t i = 0; i < countof(threads); i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, open_in_thread, &drvs[i]), 0);
	}
	for (size_t i = 0; i < countof(threads); i++) {
		pthread_join(threads[i], NULL);
		ck_assert_ptr_nonnull(drvs[i]);
		ck_assert_ptr_eq(drvs[i], drvs[0]);
	}
}
END_TEST

static TCase *loading_case(void)
{
	TCase *tc = tcase_create("loading");
	tcase_add_tests(tc, 1, a_driver_is_loaded_once_and_counted,
		every_symbol_of_a_full_driver_is_there, an_old_driver_lacks_exactly_what_is_newer);
	tcase_add_loop_test(tc, each_missing_symbol_is_refused_or_an_error_that_names_the_version,
		0, DRV_SYMBOL_COUNT);
	tcase_add_tests(tc, 1, a_driver_that_was_repaired_works_at_the_next_try,
		the_cpu_driver_is_a_provider_of_its_own,
		the_cpu_driver_is_looked_for_beside_the_program,
		opening_without_memory_fails_cleanly_at_every_step,
		threads_that_open_at_once_get_the_same_driver);
	return tc;
}

static TCase *refusal_case(void)
{
	TCase *tc = tcase_create("refusals");
	tcase_add_test(tc, a_driver_that_is_too_old_is_refused_with_both_versions);
	tcase_add_loop_test(tc, a_driver_that_does_not_start_says_why, 0, countof(failures));
	tcase_add_tests(tc, 1, no_driver_says_what_was_tried_and_what_to_do,
		an_object_that_is_no_driver_is_refused,
		a_stub_for_linking_is_refused_and_does_not_stay);
	return tc;
}

SUITE(drv)
{
	Suite *suite = suite_create("drv");
	suite_add_tcase(suite, loading_case());
	suite_add_tcase(suite, refusal_case());
	TCase *tc = suite_add_case(suite, "failures");
	tcase_add_tests(tc, 1, every_result_of_a_call_reaches_the_user_as_its_error_value,
		the_drivers_own_log_comes_with_a_failure);
	tcase_add_loop_test(tc, lines_of_earlier_calls_and_other_threads_are_left_out, 0,
		countof(logs));
	tcase_add_tests(tc, 1, a_failure_that_logs_nothing_does_not_get_the_log_of_another,
		a_log_that_cannot_be_had_does_not_hide_the_failure);
	return suite;
}
