/* SPDX-License-Identifier: MIT */
/* Modules that are shared: nobody can tell, and nobody is left behind. */
#include "base/common.h"

#include "base/kudzu_abi.h"
#include "lib/module/image_cache.h"
#include "support/support.h"
#include "support/suite.h"

#include <kudzu/kudzu.h>

#include <check.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

static kz_device *dev;
static kz_module *one;
static kz_module *two;
static kz_error err;

static void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	one = two = NULL;
	dev = support_open(index);
}

static void teardown(void)
{
	kz_module_release(one);
	kz_module_release(two);
	support_close(dev);
	kz_error_clear(&err);
}

static int run(kz_module *mod)
{
	kz_kernel *kernel = NULL;
	int out = -1;
	ok(kz_module_kernel(&kernel, mod, "k", &err));
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(KZ_OUT(&out, sizeof(out)))));
	return out;
}

static void compile_twice(const char *source)
{
	ok(kz_module_compile(&one, dev, source, NULL, &err));
	ok(kz_module_compile(&two, dev, source, NULL, &err));
}

DEVICE_TEST(a_module_without_variables_is_loaded_once)
{
	compile_twice("__global__ void k(int *p) { __shared__ int s; s = 7; *p = s; }");
	ck_assert_ptr_eq(one, two);
	kz_module_release(one);
	one = NULL;
	ck_assert_int_eq(run(two), 7);
}

/* Whatever a kernel counts up is its module's own. */
START_TEST(a_module_with_any_variable_is_each_callers_own)
{
	static const char *const sources[] = {
		"__device__ int n;\n__global__ void k(int *p) { *p = ++n; }",
		"__global__ void k(int *p) { static int n; *p = ++n; }",
		"static __device__ int n;\n__global__ void k(int *p) { *p = ++n; }",
		"template<class T> __device__ T n;\n__global__ void k(int *p) { *p = ++n<int>; }",
		"namespace { __device__ int n; }\n__global__ void k(int *p) { *p = ++n; }",
		"__managed__ int n;\n__global__ void k(int *p) { *p = ++n; }",
		"inline __device__ int next() { static int n; return ++n; }\n"
		"__global__ void k(int *p) { *p = next(); }",
	};
	for (size_t i = 0; i < countof(sources); i++) {
		setup(_i);
		compile_twice(sources[i]);
		ck_assert_msg(one != two, "%s", sources[i]);
		ck_assert_int_eq(run(one), 1);
		ck_assert_int_eq(run(one), 2);
		ck_assert_int_eq(run(two), 1);
		teardown();
	}
}
END_TEST

DEVICE_TEST(a_constant_is_written_in_one_module_only)
{
	static const char source[] = "__constant__ int c = 3;\n__global__ void k(int *p) { *p = c; "
		"}";
	int value = 9;
	compile_twice(source);
	ok(kz_module_set_global(one, "c", &value, sizeof(value), &err));
	ck_assert_int_eq(run(one), 9);
	ck_assert_int_eq(run(two), 3);
}

START_TEST(a_module_outlives_the_handle_of_its_device)
{
	setup(_i);
	compile_twice("__global__ void k(int *p) { *p = 5; }");
	kz_device_close(dev);
	kz_module_release(two);
	ck_assert_int_eq(run(one), 5);
	kz_module_release(one);
	kz_error_clear(&err);
}
END_TEST

DEVICE_TEST(what_nobody_has_comes_back)
{
	compile_twice("__global__ void k(int *p) { *p = 5; }");
	kz_module *first = one;
	kz_module_release(one);
	kz_module_release(two);
	ok(kz_module_compile(&one, dev, "__global__ void k(int *p) { *p = 5; }", NULL, &err));
	two = NULL;
	ck_assert_ptr_eq(one, first);
	ck_assert_int_eq(run(one), 5);
}

DEVICE_TEST(a_module_that_somebody_has_is_never_unloaded)
{
	ok(kz_module_compile(&one, dev, "__global__ void k(int *p) { *p = 5; }", NULL, &err));
	image_cache_clear();
	ck_assert_int_eq(run(one), 5);
	ok(kz_module_compile(&two, dev, "__global__ void k(int *p) { *p = 5; }", NULL, &err));
	ck_assert_ptr_ne(one, two);
	ck_assert_int_eq(run(two), 5);
}

static void *compile_and_release(void *arg)
{
	bool *good = arg;
	kz_error own = KZ_ERROR_INIT;
	for (int i = 0; i < 200; i++) {
		kz_module *mod = NULL;
		kz_kernel *kernel = NULL;
		*good = *good && !kz_module_compile(&mod, dev,
			"__global__ void k(int *p) { *p = 8; }",
			NULL, &own) && !kz_module_kernel(&kernel, mod, "k", &own);
		kz_module_release(mod);
	}
	kz_error_clear(&own);
	return NULL;
}

DEVICE_TEST(threads_share_too)
{
	pthread_t threads[4];
	bool good[4] = {true, true, true, true};
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, compile_and_release, &good[i]),
			0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		ck_assert(good[i]);
	}
}

/* While one thread unloads a module that left the table, another one closes the device. */

static struct drv slow_driver;
static CUresult (*real_unload)(CUmodule);
static pthread_t closer;

static void *close_device(void *arg)
{
	(void)arg;
	kz_device_close(dev);
	return NULL;
}

static CUresult unload_slowly(CUmodule handle)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	ck_assert_int_eq(pthread_create(&closer, NULL, close_device, NULL), 0);
	ck_assert_msg(pthread_timedjoin_np(closer, NULL, &until) != 0,
		"the device has ended before its module");
	return real_unload(handle);
}

START_TEST(a_device_ends_after_its_modules)
{
	setup(_i);
	slow_driver = *dev->drv;
	real_unload = slow_driver.ModuleUnload;
	slow_driver.ModuleUnload = unload_slowly;
	dev->drv = &slow_driver;
	ok(kz_module_compile(&one, dev, "__global__ void k(int *p) { *p = 5; }", NULL, &err));
	kz_module_release(one);
	image_cache_clear();
	ck_assert_int_eq(pthread_join(closer, NULL), 0);
	kz_error_clear(&err);
}
END_TEST

/* What the table keeps for nobody counts, and kz_device_trim gives it back. */
DEVICE_TEST(what_nobody_has_is_given_back)
{
	struct image_cache_counts before, used, kept, after;
	image_cache_clear();
	image_cache_counts(&before);
	ok(kz_module_compile(&one, dev, "__global__ void k(int *p) { *p = 6; }", NULL, &err));
	ck_assert_int_eq(run(one), 6);
	image_cache_counts(&used);
	kz_module_release(one);
	one = NULL;
	image_cache_counts(&kept);
	ok(kz_device_trim(dev, 0, &err));
	image_cache_counts(&after);
	ck_assert_int_eq(before.size, 0);
	ck_assert_int_gt(kept.size, used.size);
	ck_assert_int_eq(after.size, used.size);
	ok(kz_module_compile(&one, dev, "__global__ void k(int *p) { *p = 6; }", NULL, &err));
	ck_assert_int_eq(run(one), 6);
}

static int unloads;

static size_t say_half_of_the_limit(CUmodule handle)
{
	(void)handle;
	return (size_t)40 << 20;
}

static CUresult count_unload(CUmodule handle)
{
	unloads++;
	return real_unload(handle);
}

/* Two modules that together take more than the table may keep. */
DEVICE_TEST(modules_that_nobody_has_are_kept_up_to_a_size)
{
	struct drv driver = *dev->drv;
	struct drv *real = dev->drv;
	const struct kudzu_exports *real_exports = dev->exports;
	if (!real_exports) {
		return; /* its driver does not tell what a module takes */
	}
	image_cache_clear();
	real_unload = driver.ModuleUnload;
	driver.ModuleUnload = count_unload;
	struct kudzu_exports exports = *real_exports;
	exports.module_size = say_half_of_the_limit;
	dev->exports = &exports;
	dev->drv = &driver;
	unloads = 0;
	ok(kz_module_compile(&one, dev, "__global__ void k(int *p) { *p = 1; }", NULL, &err));
	ok(kz_module_compile(&two, dev, "__global__ void k(int *p) { *p = 2; }", NULL, &err));
	kz_module_release(one);
	ck_assert_int_eq(unloads, 0);
	kz_module_release(two);
	ck_assert_int_eq(unloads, 1);
	one = two = NULL;
	dev->drv = real;
	dev->exports = real_exports;
}

SUITE(image_cache)
{
	Suite *suite = suite_create("image_cache");
	TCase *tc = suite_add_case(suite, "each device");
	tcase_add_tests(tc, support_device_count(), a_module_without_variables_is_loaded_once,
		a_module_with_any_variable_is_each_callers_own,
		a_constant_is_written_in_one_module_only,
		a_module_outlives_the_handle_of_its_device, what_nobody_has_comes_back,
		a_module_that_somebody_has_is_never_unloaded, threads_share_too,
		a_device_ends_after_its_modules, what_nobody_has_is_given_back,
		modules_that_nobody_has_are_kept_up_to_a_size);
	return suite;
}
