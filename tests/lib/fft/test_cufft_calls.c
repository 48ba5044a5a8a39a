/* SPDX-License-Identifier: MIT */
/* How cuFFT is called: failures, codes, plans that are kept, streams, threads, captures, no
 * library. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/cuda/codes.h"
#include "lib/fft/cufft_test.h"

#include <kudzu/graph.h>

#include <pthread.h>
#include <time.h>

/* A transform by the stub; its result is thrown away. */
static kz_status calls_try(enum cufft_function function, kz_array *array)
{
	kz_array *out = NULL;
	kz_status st = cufft_try(&out, function, array, KZ_AXES(0), NULL);
	ck_assert(!st == !!out);
	kz_array_release(out);
	return st;
}

static kz_array *calls_operand(enum cufft_function function, bool is_double, int64_t length)
{
	kz_dtype dtype = function == RFFT ? is_double ? KZ_F64 : KZ_F32 : is_double ? KZ_C128
		: KZ_C64;
	return cufft_random(dtype, KZ_SHAPE(length));
}

/* Failures */

static const struct {
	const char *name;
	enum cufft_function function;
	bool is_double;
} calls_functions[] = {
	{"cufftCreate", FFT, false}, {"cufftSetAutoAllocation", FFT, false},
	{"cufftMakePlanMany64", FFT, false}, {"cufftSetStream", FFT, false},
	{"cufftSetWorkArea", FFT, false}, {"cufftExecC2C", FFT, false},
	{"cufftExecZ2Z", IFFT, true},
	{"cufftExecR2C", RFFT, false}, {"cufftExecD2Z", RFFT, true}, {"cufftExecC2R", IRFFT, false},
	{"cufftExecZ2D", IRFFT, true},
};

CUFFT_STUB_TEST(each_call_that_fails_is_an_error_value)
{
	for (size_t i = 0; i < countof(calls_functions); i++) {
		enum cufft_function function = calls_functions[i].function;
		kz_array *array = calls_operand(function, calls_functions[i].is_double, 7 + (int)i);
		char script[64], what[64];
		snprintf(script, sizeof(script), "%s:2", calls_functions[i].name);
		snprintf(what, sizeof(what), "transform of %d, batch of 1: cuFFT got no memory",
			function == IRFFT ? 2 * (6 + (int)i) : 7 + (int)i);
		setenv("CUFFT_STUB_FAIL", script, 1);
		ck_assert_int_eq(calls_try(function, array), KZ_DEVICE_MEMORY);
		ck_assert_str_eq(err.call, calls_functions[i].name);
		ck_assert_str_eq(err.message, what);
		ck_assert_str_eq(err.name, "CUFFT_ALLOC_FAILED");
		ck_assert(!strstr(err.hint, "the driver may be older") == (i > 0));
		kz_error_clear(&err);
		unsetenv("CUFFT_STUB_FAIL");
		ok(calls_try(function, array));
		kz_array_release(array);
	}
}

/* By a launch all codes are failures; by the making of a plan three of them say that there is
 * none. */
CUFFT_STUB_TEST(each_code_is_translated)
{
	static const char *const functions[] = {"cufftExecC2C", "cufftMakePlanMany64"};
	kz_array *array = calls_operand(FFT, false, 8);
	int tried = 0;
	for (int code = 1; code < 40; code++) {
		const struct native_code *known = codes_find(KZ_DOMAIN_CUFFT, code);
		bool is_declined = code == 8 || code == 14 || code == 16;
		for (int i = 0; i < 2; i++) {
			kz_array *other = calls_operand(FFT, false, 100 + code);
			char script[64];
			snprintf(script, sizeof(script), "%s:%d", functions[i], code);
			setenv("CUFFT_STUB_FAIL", script, 1);
			kz_status st = calls_try(FFT, i ? other : array);
			ck_assert_int_eq(st, i && is_declined ? KZ_OK : known ? known->status
				: KZ_UNKNOWN);
			ck_assert_int_eq(err.code, st ? code : 0);
			ck_assert_int_eq(err.domain, st ? KZ_DOMAIN_CUFFT : KZ_DOMAIN_LIBRARY);
			kz_error_clear(&err);
			kz_array_release(other);
		}
		tried += known != NULL;
	}
	unsetenv("CUFFT_STUB_FAIL");
	ck_assert_int_eq(tried, codes_count(KZ_DOMAIN_CUFFT) - 1);
	kz_array_release(array);
}

CUFFT_STUB_TEST(cufft_is_asked_once_for_what_it_does_not_have)
{
	kz_array *array = calls_operand(FFT, false, 8);
	setenv("CUFFT_STUB_FAIL", "cufftMakePlanMany64:8", 1);
	for (int i = 0; i < 3; i++) {
		ok(calls_try(FFT, array));
	}
	unsetenv("CUFFT_STUB_FAIL");
	ck_assert_int_eq(fake->made, 1);
	ck_assert_int_eq(fake->plans, 0);
	ck_assert_int_eq(fake->launches, 0);
	kz_array_release(array);
}

CUFFT_STUB_TEST(a_failing_allocation_leaves_nothing_behind)
{
	for (int function = FFT; function <= IRFFT; function++) {
		kz_array *array = calls_operand((enum cufft_function)function, false, 12);
		bool done = false;
		int failed = 0;
		ok(calls_try((enum cufft_function)function, array)); // kernels are compiled
		for (int64_t n = 0; !done; n++) {
			kz_array *other = calls_operand((enum cufft_function)function, false,
				20 + n);
			mem_fail_after(n);
			kz_status st = calls_try((enum cufft_function)function, other);
			done = !mem_has_failed();
			mem_fail_after(-1);
			ck_assert(st == KZ_OK || (!done && st == KZ_NO_MEMORY));
			failed += st != KZ_OK;
			kz_error_clear(&err);
			kz_array_release(other);
		}
		ck_assert_int_gt(failed, 1);
		kz_array_release(array);
	}
}

/* Plans */

CUFFT_STUB_TEST(a_plan_is_made_once)
{
	kz_array *array = calls_operand(FFT, false, 8), *other = calls_operand(FFT, false, 8);
	for (int i = 0; i < 3; i++) {
		ok(calls_try(FFT, i % 2 ? other : array));
		ok(calls_try(IFFT, array)); // the direction is no part of it
	}
	ck_assert_int_eq(fake->made, 1);
	ck_assert_int_eq(fake->launches, 6);
	release_arrays(array, other);
}

/* The one that was used longest ago goes. */
CUFFT_STUB_TEST(a_device_keeps_so_many_plans)
{
	kz_array *first = calls_operand(FFT, false, 512);
	for (int64_t n = 2; n < CUFFT_PLANS + 20; n++) {
		kz_array *array = calls_operand(FFT, false, n);
		ok(calls_try(FFT, array));
		ok(calls_try(FFT, first));
		ck_assert_int_le(fake->plans, CUFFT_PLANS);
		kz_array_release(array);
	}
	ck_assert_int_eq(fake->plans, CUFFT_PLANS);
	ck_assert_int_eq(table->count, CUFFT_PLANS);
	ck_assert_int_eq(fake->made, CUFFT_PLANS + 19); // `first` once
	kz_array *second = calls_operand(FFT, false, 2);
	ok(calls_try(FFT, second));
	ck_assert_int_eq(fake->made, CUFFT_PLANS + 20); // it had gone
	release_arrays(first, second);
}

static void calls_sleep(void *user)
{
	(void)user;
	nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

/* The stream is busy while all these plans come and go; teardown() asks the stub. */
CUFFT_STUB_TEST(a_plan_goes_when_its_work_is_done)
{
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	kz_array *array = calls_operand(FFT, false, 200), *out;
	ok(kz_stream_create(&options.stream, dev, 0, &err));
	ok(kz_device_synchronize(dev, &err));
	ok(kz_stream_host(options.stream, calls_sleep, NULL, &err));
	for (int64_t n = 2; n < CUFFT_PLANS + 4; n++) {
		options.lengths = KZ_SHAPE(n);
		ok(kz_fft(&out, array, KZ_AXES(0), &options, &err));
		kz_array_release(out);
	}
	ck_assert_int_eq(fake->made, CUFFT_PLANS + 2);
	kz_stream_release(options.stream);
	kz_array_release(array);
}

CUFFT_STUB_TEST(plans_in_use_stay)
{
	kz_array *array = calls_operand(FFT, false, 500);
	for (int64_t n = 2; n < CUFFT_PLANS + 2; n++) {
		kz_array *other = calls_operand(FFT, false, n);
		ok(calls_try(FFT, other));
		kz_array_release(other);
	}
	for (struct cufft_plan *plan = table->plans; plan; plan = plan->next) {
		plan->users++;
	}
	int launches = fake->launches;
	ok(calls_try(FFT, array));
	ck_assert_int_eq(fake->launches, launches); // by our kernels
	for (struct cufft_plan *plan = table->plans; plan; plan = plan->next) {
		ck_assert_int_eq(plan->users, 1);
		plan->users--;
	}
	ok(calls_try(FFT, array));
	ck_assert_int_eq(fake->launches, launches + 1);
	kz_array_release(array);
}

/* Streams and threads */

enum { THREADS = 4, ROUNDS = 30 };

struct calls_thread {
	kz_array *array;
	double complex *expected;
	int64_t count;
};

/* Each thread has a stream; all share a plan. */
static void *calls_transform(void *user)
{
	const struct calls_thread *thread = user;
	kz_error mine = KZ_ERROR_INIT;
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	bool fine = !kz_stream_create(&options.stream, dev, 0, &mine);
	double complex *got = malloc((size_t)thread->count * sizeof(*got));
	for (int i = 0; i < ROUNDS && fine; i++) {
		kz_array *out = NULL;
		fine = !kz_ifft(&out, thread->array, KZ_AXES(0), &options, &mine)
			&& !kz_array_get(out, got, thread->count * 16, &mine);
		for (int64_t k = 0; k < thread->count && fine; k++) {
			fine = cabs(got[k] - thread->expected[k]) < 1e-12;
		}
		kz_array_release(out);
	}
	free(got);
	kz_stream_release(options.stream);
	kz_error_clear(&mine);
	return fine ? user : NULL;
}

DEVICE_TEST(streams_share_a_plan)
{
	struct calls_thread threads[THREADS];
	pthread_t handles[THREADS];
	for (int i = 0; i < THREADS; i++) {
		kz_array *out;
		threads[i].count = 48;
		threads[i].array = calls_operand(FFT, true, 48);
		table->library = NULL;
		ok(kz_ifft(&out, threads[i].array, KZ_AXES(0), NULL, &err));
		table->library = library;
		threads[i].expected = support_read(out, KZ_C128);
		kz_array_release(out);
	}
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_create(&handles[i], NULL, calls_transform, &threads[i]),
			0);
	}
	for (int i = 0; i < THREADS; i++) {
		void *result;
		pthread_join(handles[i], &result);
		ck_assert_ptr_nonnull(result);
		free(threads[i].expected);
		kz_array_release(threads[i].array);
	}
	ck_assert(!fake || (fake->made == 1 && fake->launches == THREADS * ROUNDS));
}

/* In a stream that is captured our kernels transform. */
CUFFT_STUB_TEST(a_captured_transform_is_of_our_kernels)
{
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	kz_graph *graph;
	kz_exec *exec;
	kz_array *array = calls_operand(FFT, true, 30), *out;
	ok(kz_array_zeros_like(&options.into, array, 0, &err));
	ok(kz_stream_create(&options.stream, dev, 0, &err));
	ok(kz_fft(&out, array, KZ_AXES(0), NULL, &err));
	ok(kz_device_synchronize(dev, &err));
	ok(kz_graph_begin(options.stream, NULL, &err));
	ok(kz_fft(NULL, array, KZ_AXES(0), &options, &err));
	ok(kz_graph_end(&graph, options.stream, &err));
	ck_assert_int_eq(fake->launches, 1);
	ok(kz_graph_instantiate(&exec, graph, &err));
	ok(kz_exec_launch(exec, options.stream, &err));
	double complex *want = support_read(out, KZ_C128),
		*got = support_read(options.into, KZ_C128);
	for (int i = 0; i < 30; i++) {
		ck_assert(cabs(want[i] - got[i]) < 1e-12);
	}
	free(want);
	free(got);
	kz_exec_release(exec);
	kz_graph_release(graph);
	kz_stream_release(options.stream);
	release_arrays(array, out, options.into);
}

/* While one stream is captured, others use the plans that there are, and make none. */
CUFFT_STUB_TEST(no_plan_is_made_during_a_capture)
{
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	kz_stream *captured;
	kz_graph *graph;
	kz_array *array = calls_operand(FFT, false, 30), *other = calls_operand(FFT, false, 31),
		*out;
	ok(kz_stream_create(&captured, dev, 0, &err));
	ok(kz_stream_create(&options.stream, dev, 0, &err));
	ok(calls_try(FFT, array));
	ok(kz_device_synchronize(dev, &err));
	ok(kz_graph_begin(captured, NULL, &err));
	for (int i = 0; i < 2; i++) {
		ok(kz_fft(&out, i ? other : array, KZ_AXES(0), &options, &err));
		kz_array_release(out);
		ck_assert_int_eq(fake->launches, 2);
		ck_assert_int_eq(fake->made, 1);
	}
	ok(kz_graph_end(&graph, captured, &err));
	ok(calls_try(FFT, other));
	ck_assert_int_eq(fake->made, 2);
	kz_graph_release(graph);
	kz_stream_release(captured);
	kz_stream_release(options.stream);
	release_arrays(array, other);
}

/* Which library */

static const struct {
	const char *named;
	kz_status status;
	const char *log;
} calls_libraries[] = {
	{"none", KZ_OK, "KUDZU_CUFFT is set to none"},
	{CUFFT_STUB, KZ_OK, ""},
	{"/nowhere/libcufft.so", KZ_NOT_FOUND, "/nowhere/libcufft.so: "},
	{KZ_TEST_BUILD "/libcuda-stub.so", KZ_NOT_FOUND, "not cuFFT, it lacks cufftGetProperty"},
	{KZ_TEST_BUILD "/tests/dropin/libfew_fft.so", KZ_NOT_FOUND,
		"not cuFFT, it lacks cufftDestroy"},
};

/* On a GPU that the stub of the driver plays. */
START_TEST(the_variable_names_the_library)
{
	setenv("KUDZU_CUFFT", calls_libraries[_i].named, 1);
	err = (kz_error)KZ_ERROR_INIT;
	kz_array *array, *out = NULL;
	kz_device *gpu = support_open_stub("cc=80");
	kz_status st = cufft_table_get(&table, gpu, &err);
	ck_assert_int_eq(st, calls_libraries[_i].status);
	ck_assert_ptr_nonnull(strstr(cuda_library_log(CUDA_CUFFT), calls_libraries[_i].log));
	if (!st) {
		ck_assert_int_eq(!table->library, strcmp(calls_libraries[_i].named, "none") == 0);
	} else {
		ck_assert_ptr_nonnull(strstr(err.message, "no usable library in KUDZU_CUFFT='"));
		ck_assert_ptr_nonnull(strstr(err.log, calls_libraries[_i].log));
		kz_error_clear(&err);
		ok(kz_array_create(&array, gpu, KZ_C64, KZ_SHAPE(4), &err));
		fails(kz_fft(&out, array, KZ_AXES(0), NULL, &err), KZ_NOT_FOUND, "KUDZU_CUFFT");
		ck_assert_ptr_null(out);
		kz_array_release(array);
	}
	support_close_stub(gpu);
}
END_TEST

SUITE(cufft_calls)
{
	Suite *suite = suite_create("cufft_calls");
	TCase *tcase = suite_add_case(suite, "cufft_calls");
	tcase_set_timeout(tcase, 60);
	tcase_add_tests(tcase, support_device_count(), each_call_that_fails_is_an_error_value,
		each_code_is_translated, cufft_is_asked_once_for_what_it_does_not_have,
		a_failing_allocation_leaves_nothing_behind, a_plan_is_made_once,
		a_device_keeps_so_many_plans, a_plan_goes_when_its_work_is_done, plans_in_use_stay,
		streams_share_a_plan, a_captured_transform_is_of_our_kernels,
		no_plan_is_made_during_a_capture);
	tcase_add_tests(tcase, countof(calls_libraries), the_variable_names_the_library);
	return suite;
}
