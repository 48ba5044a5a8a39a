/* SPDX-License-Identifier: MIT */
/* src/lib/module/launch_attributes.c: time limits of launches and devices.  Clusters and the other
 * attributes are in suite kernel. */
#include "base/common.h"

#include "support/device_test.h"
#include "support/suite.h"

#include <kudzu/prepared.h>

static const char source[] =
	"__global__ void spin(volatile int *go) { while (*go == 0) {} }\n"
	"__global__ void meet(volatile int *go) { while (*go == 0) { __syncthreads(); } }\n"
	"__global__ void one(int *go) { *go = 1; }\n";

static const kz_dim3 single = {1, 1, 1};
static kz_module *mod;
static kz_array *go;

static void open_limits(int index)
{
	open_kernels(index);
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
	ok(kz_array_zeros(&go, dev, KZ_I32, KZ_SHAPE(1), &err));
}

static void close_limits(void)
{
	kz_error_clear(&err);
	kz_array_release(go);
	kz_module_release(mod);
	teardown();
}

#define LIMIT_TEST(name) TEST_BETWEEN(open_limits(_i), close_limits(), name)

static kz_kernel *find(const char *name)
{
	kz_kernel *kernel = NULL;
	ok(kz_module_kernel(&kernel, mod, name, &err));
	return kernel;
}

static kz_launch_options limited(int64_t timeout_ms)
{
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.timeout_ms = timeout_ms;
	return options;
}

/* The kernel was ended, and the device works again when it is opened anew. */
static void check_ended(const char *why)
{
	int value = 0;
	ck_assert_int_eq(kz_device_synchronize(dev, &err), KZ_TIMEOUT);
	ck_assert_msg(err.log && strstr(err.log, why), "'%s' is not in: %s", why, err.log);
	ck_assert(err.flags & KZ_ERROR_STICKY);
	ck_assert_str_eq(err.hint, "split the work, or raise its limit");
	close_limits();
	open_limits(0);
	ok(kz_launch(find("one"), single, single, NULL, &err, KZ_ARGS(go)));
	ok(kz_array_get(go, &value, sizeof(value), &err));
	ck_assert_int_eq(value, 1);
	ok(kz_array_set(go, &(int){0}, sizeof(int), &err));
}

static bool is_cpu(void)
{
	return strcmp(kz_device_name(dev), "cpu") == 0;
}

LIMIT_TEST(a_kernel_that_runs_longer_than_its_launch_allows_is_ended)
{
	const kz_launch_options options = limited(20);
	if (!is_cpu()) {
		return;
	}
	ok(kz_launch(find("spin"), single, kz_dim(64, 1, 1), &options, &err, KZ_ARGS(go)));
	check_ended("kernel 'spin': ran longer than the 0.02 seconds of its launch");
	ok(kz_launch(find("meet"), kz_dim(9, 1, 1), kz_dim(64, 1, 1), &options, &err,
		KZ_ARGS(go)));
	check_ended("kernel 'meet': ran longer than the 0.02 seconds of its launch");
	kz_prepared *prepared = NULL;
	ok(kz_prepared_create(&prepared, find("spin"), single, single, &options, &err,
		KZ_ARGS(go)));
	ok(kz_prepared_launch(prepared, NULL, &err));
	kz_prepared_release(prepared);
	check_ended("kernel 'spin': ran longer than the 0.02 seconds of its launch");
}

LIMIT_TEST(a_kernel_within_its_limit_is_left_alone)
{
	const kz_launch_options options = limited(3600000);
	int value = 0;
	if (!is_cpu()) {
		return;
	}
	ok(kz_launch(find("one"), single, single, &options, &err, KZ_ARGS(go)));
	ok(kz_launch(find("spin"), single, single, &options, &err, KZ_ARGS(go)));
	ok(kz_array_get(go, &value, sizeof(value), &err));
	ck_assert_int_eq(value, 1);
}

LIMIT_TEST(the_limit_of_a_device_is_read_set_and_kept)
{
	int64_t value = -1;
	const kz_launch_options longer = limited(3600000);
	if (!is_cpu()) {
		return;
	}
	ok(kz_device_limit(&value, dev, KZ_LIMIT_LAUNCH_MS, &err));
	ck_assert_int_eq(value, 0);
	ok(kz_device_set_limit(dev, KZ_LIMIT_LAUNCH_MS, 1500, &err));
	ok(kz_device_limit(&value, dev, KZ_LIMIT_LAUNCH_MS, &err));
	ck_assert_int_eq(value, 1500);
	ok(kz_device_set_limit(dev, KZ_LIMIT_LAUNCH_MS, 20, &err));
	ok(kz_launch(find("spin"), single, single, &longer, &err, KZ_ARGS(go)));
	check_ended("kernel 'spin': ran longer than the 0.02 seconds of its device's limit");
	ok(kz_device_limit(&value, dev, KZ_LIMIT_LAUNCH_MS, &err)); /* opened anew */
	ck_assert_int_eq(value, 0);
	fails(kz_device_set_limit(dev, KZ_LIMIT_LAUNCH_MS, -1, &err), KZ_INVALID, "at least 0");
	fails(kz_device_set_limit(dev, KZ_LIMIT_LAUNCH_MS, INT64_MAX, &err), KZ_INVALID,
		"at most 1000000000000 ms, got 9223372036854775807");
	ok(kz_device_set_limit(dev, KZ_LIMIT_LAUNCH_MS, 1000000000000, &err));
	ok(kz_device_set_limit(dev, KZ_LIMIT_LAUNCH_MS, 0, &err));
}

LIMIT_TEST(a_limit_that_cannot_be_is_refused)
{
	kz_launch_options options = limited(-1);
	kz_graph *graph = NULL;
	if (!is_cpu()) {
		return;
	}
	fails(kz_launch(find("one"), single, single, &options, &err, KZ_ARGS(go)), KZ_INVALID,
		"a time limit for 'one': expected 0 to 9223372036854 ms, got -1");
	options = limited(INT64_MAX);
	fails(kz_launch(find("one"), single, single, &options, &err, KZ_ARGS(go)), KZ_INVALID,
		"got 9223372036854775807");
	options = limited(5);
	ok(kz_graph_create(&graph, dev, &err));
	fails(kz_graph_add_kernel(NULL, graph, KZ_AFTER(), find("one"), single, single, &options,
		&err, KZ_ARGS(go)), KZ_UNSUPPORTED, "a time limit, with kz_graph_begin instead");
	kz_graph_release(graph);
}

/* The variable of the environment is the same limit; less than a millisecond is not none. */
START_TEST(the_variable_is_what_a_device_begins_with)
{
	static const struct {
		const char *text;
		int64_t value;
	} rows[] = {{"2", 2000}, {"0.5", 500}, {"0.0001", 1}, {"1e9", 1000000000000}};
	int64_t value = -1;
	setenv("KUDZU_CPU_TIMEOUT", rows[_i].text, 1);
	dev = support_open(0);
	if (is_cpu()) {
		ok(kz_device_limit(&value, dev, KZ_LIMIT_LAUNCH_MS, &err));
		ck_assert_int_eq(value, rows[_i].value);
	}
	support_close(dev);
}
END_TEST

STUB_TEST(a_gpu_refuses_a_time_limit_by_name, "")
{
	int64_t value = 1;
	kz_kernel *kernel = NULL;
	const kz_launch_options options = limited(1000);
	static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry none()\n{\nret;\n}\n";
	ok(kz_module_load(&mod, dev, ptx, sizeof(ptx) - 1, &err));
	ok(kz_module_kernel(&kernel, mod, "none", &err));
	fails(kz_launch(kernel, single, single, &options, &err, KZ_ARGS()), KZ_UNSUPPORTED,
		"cuda:0 has no time limit for kernels: its driver cannot end one");
	fails(kz_device_set_limit(dev, KZ_LIMIT_LAUNCH_MS, 5, &err), KZ_UNSUPPORTED, "cuda:0 has");
	fails(kz_device_limit(&value, dev, KZ_LIMIT_LAUNCH_MS, &err), KZ_UNSUPPORTED,
		"cuda:0 has no time limit");
	ck_assert_int_eq(value, 0);
	ck_assert_int_eq(support_stub_calls("cuLaunchKernelEx"), 0);
	ck_assert_int_eq(support_stub_calls("cuCtxSetLimit"), 0);
	kz_module_release(mod);
}

SUITE(launch_attributes)
{
	Suite *s = suite_create("launch_attributes");
	TCase *tc = suite_add_case(s, "limits");
	tcase_add_tests(tc, support_device_count(),
		a_kernel_that_runs_longer_than_its_launch_allows_is_ended,
		a_kernel_within_its_limit_is_left_alone, the_limit_of_a_device_is_read_set_and_kept,
		a_limit_that_cannot_be_is_refused);
	tcase_add_loop_test(tc, the_variable_is_what_a_device_begins_with, 0, 4);
	tcase_add_tests(tc, 1, a_gpu_refuses_a_time_limit_by_name);
	return s;
}
