/* SPDX-License-Identifier: MIT */
/* Kernels of users whose types are letters, which the arrays of a call give; see custom.h. */
#include "base/common.h"

#include "base/alloc.h"
#include "custom.h"
#include "support/suite.h"

#include <complex.h>
#include <pthread.h>
#include <string.h>

/* An array of some type with the numbers of `host`. */
static kz_array *numbers(kz_dtype dtype, kz_shape shape, const double *host)
{
	kz_array *wide = from(KZ_F64, shape, host), *array;
	ok(kz_array_astype(&array, wide, dtype, &err));
	kz_array_release(wide);
	return array;
}

static void check_numbers(kz_array *array, const double *want)
{
	kz_array *wide;
	double host[64];
	ok(kz_array_astype(&wide, array, KZ_F64, &err));
	ok(kz_array_get(wide, host, kz_array_size(wide), &err));
	for (int64_t i = 0; i < kz_array_count(array); i++) {
		ck_assert_msg(host[i] == want[i], "%s: %lld: %g, not %g",
			kz_dtype_name(kz_array_dtype(array)), (long long)i, host[i], want[i]);
	}
	kz_array_release(wide);
}

static const double six[6] = {0, 1, 2, 3, 4, 5};

DEVICE_TEST(one_kernel_runs_for_arrays_of_each_type)
{
	static const kz_dtype dtypes[] = {KZ_I8, KZ_U8, KZ_U32, KZ_I64, KZ_F32, KZ_F64};
	static const double want[6] = {0, 4, 8, 12, 16, 20}, across[6] = {0, 5, 10, 15, 20, 25};
	int64_t before = support_compiled(dev);
	kz_elementwise *kernel = make("T a, const T *x, T *y", "y[i] += a * x[i]");
	ck_assert_int_eq(support_compiled(dev), before);
	for (size_t k = 0; k < countof(dtypes); k++) {
		kz_array *x = numbers(dtypes[k], KZ_SHAPE(2, 3), six), *y, *xt, *yt;
		ok(kz_array_copy(&y, x, &err));
		before = support_compiled(dev);
		ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(3, x, y)));
		ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(0, x, y)));
		ck_assert_int_eq(support_compiled(dev), before + 1);
		check_numbers(y, want);
		ok(kz_array_transpose(&xt, x, KZ_AXES(), &err));
		ok(kz_array_transpose(&yt, y, KZ_AXES(), &err));
		ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(1, xt, yt)));
		check_numbers(y, across);
		release_arrays(x, y, xt, yt);
	}
	kz_elementwise_release(kernel);
}

DEVICE_TEST(halves_and_complex_numbers_are_types_of_a_letter)
{
	static const double want[6] = {1, 3, 5, 7, 9, 11};
	static const kz_dtype halves[] = {KZ_F16, KZ_BF16};
	const uint16_t ones[] = {0x3c00, 0x3f80};
	double complex z[2] = {1 + 2 * I, -3}, a = I;
	kz_elementwise *kernel = make("const T *x, T a, T *y", "y[i] = x[i] + x[i] + a");
	for (size_t k = 0; k < countof(halves); k++) {
		kz_array *x = numbers(halves[k], KZ_SHAPE(6), six);
		ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(x, KZ_VALUE(ones[k]), x)));
		check_numbers(x, want);
		kz_array_release(x);
	}
	kz_array *x = from(KZ_C128, KZ_SHAPE(2), z);
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(x, a, x)));
	ok(kz_array_get(x, z, sizeof(z), &err));
	ck_assert(z[0] == 2 + 5 * I && z[1] == -6 + I);
	kz_array_release(x);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(letters_are_independent_and_an_output_can_give_one)
{
	static const double want[6] = {0, 0, 1, 1, 2, 2}, more[6] = {0, 0.5, 1, 1.5, 2, 2.5};
	kz_elementwise *kernel = make("const T *x, Z *y", "y[i] = (Z)x[i] / 2");
	kz_array *x = numbers(KZ_F32, KZ_SHAPE(6), six), *y = numbers(KZ_I32, KZ_SHAPE(6), six);
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(x, y)));
	check_numbers(y, want);
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(y, x)));
	check_numbers(x, ((double[6]){0, 0, 0.5, 0.5, 1, 1}));
	kz_array_release(x);
	x = numbers(KZ_F32, KZ_SHAPE(6), six);
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(x, x)));
	check_numbers(x, more);
	release_arrays(x, y);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(the_preamble_sees_numbers_and_declares_structs)
{
	struct duo {
		float a, b;
	} duos[2] = {{1, 2}, {3, 4}};
	kz_dtype duo;
	kz_custom_options options = KZ_CUSTOM_OPTIONS_INIT;
	kz_elementwise *kernel = NULL;
	options.preamble = "struct typed_duo { float a, b; };\n"
		"template <typename T> __device__ void turn(T *x) { T y = {x->b, x->a}; *x = y; }";
	ok(kz_dtype_register(&duo, "typed_duo", sizeof(duos[0]), &err));
	ok(kz_elementwise_create(&kernel, dev, "T *x", "T *at = &x[i]; turn(at)", &options, &err));
	kz_array *x = from(duo, KZ_SHAPE(2), duos);
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(x)));
	ok(kz_array_get(x, duos, sizeof(duos), &err));
	ck_assert(duos[0].a == 2 && duos[0].b == 1 && duos[1].a == 4 && duos[1].b == 3);
	kz_array_release(x);
	kz_elementwise_release(kernel);
	options.preamble = "__device__ T twice(T x) { return x + x; }";
	ok(kz_elementwise_create(&kernel, dev, "T *x", "x[i] = twice(x[i])", &options, &err));
	x = numbers(KZ_I16, KZ_SHAPE(6), six);
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(x)));
	check_numbers(x, ((double[6]){0, 2, 4, 6, 8, 10}));
	kz_array_release(x);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(a_raw_array_gives_a_type_and_a_buffer_takes_it)
{
	static const double want[6] = {5, 4, 3, 2, 1, 0};
	kz_elementwise *kernel = make("raw const T *table, T *x", "x[i] = table[n - 1 - i]");
	kz_array *table = numbers(KZ_F64, KZ_SHAPE(6), six), *x = numbers(KZ_F64, KZ_SHAPE(6), six);
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(table, x)));
	check_numbers(x, want);
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(kz_array_buffer(x), table)));
	check_numbers(table, six);
	release_arrays(table, x);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(a_reduction_takes_arrays_of_any_type)
{
	static const kz_dtype dtypes[] = {KZ_I32, KZ_F32, KZ_U8};
	kz_reduction *dot = NULL;
	kz_array *sum = NULL;
	ok(kz_reduction_create(&dot, dev, KZ_F64, "0", "a + b", "(double)x[i] * x[i]",
		"const T *x", NULL, &err));
	for (size_t k = 0; k < countof(dtypes); k++) {
		kz_array *x = numbers(dtypes[k], KZ_SHAPE(6), six);
		ok(kz_reduction_run(&sum, dot, NULL, &err, KZ_ARGS(x)));
		check_numbers(sum, ((double[1]){55}));
		release_arrays(x, sum);
	}
	kz_reduction_release(dot);
}

DEVICE_TEST(types_that_do_not_match_are_refused)
{
	kz_elementwise *kernel = NULL;
	kz_array *x = numbers(KZ_F32, KZ_SHAPE(6), six), *y = numbers(KZ_F64, KZ_SHAPE(6), six);
	kz_array *none = NULL;
#define RUN(...) kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(__VA_ARGS__))
	kernel = make("T a, const T *x, T *y", "y[i] = a * x[i]");
	fails(RUN(1, x, y), KZ_ARGUMENT, "argument 3 of 'elementwise': expected 'T *y' of float32, "
		"as 'const T *x' is, got an array of float64");
	fails(RUN(1, x), KZ_ARGUMENT, "'elementwise' takes 3 arguments, got 2");
	fails(RUN(1, none, x), KZ_ARGUMENT, "argument 2 of 'elementwise': the kz_array is NULL");
	fails(RUN(1, 2, 3), KZ_ARGUMENT, "argument 2 of 'elementwise': expected an array for "
		"'const T *x', which gives the type T");
	fails(RUN(2.5, x, x), KZ_ARGUMENT, "argument 1 of 'elementwise': expected T a (4 bytes)");
	kz_elementwise_release(kernel);
	kernel = make("T *x", "x[i] = 1");
	fails(RUN(none), KZ_ARGUMENT, "expected an array for 'T *x', which gives the type T, got "
		"NULL");
	kz_elementwise_release(kernel);
	kernel = make("raw const T *table, float *x", "x[i] = table[i]");
	fails(RUN(kz_array_buffer(x), x), KZ_ARGUMENT, "argument 1 of 'elementwise': expected "
		"an array for 'const T *table', which gives the type T");
	kz_elementwise_release(kernel);
	kernel = make("T *x", "x[i] = x[i] % 2");
	ck_assert_int_eq(RUN(x), KZ_COMPILE);
	ck_assert_str_eq(err.file, "elementwise: operation");
	kz_error_clear(&err);
	kz_array *whole = numbers(KZ_I32, KZ_SHAPE(6), six);
	ok(RUN(whole)); /* another type compiles */
	check_numbers(whole, ((double[6]){0, 1, 0, 1, 0, 1}));
	kz_elementwise_release(kernel);
	release_arrays(x, y, whole);
}

static kz_elementwise *shared;

/* Integers as they are and transposed, and floats. */
static void *run_shared(void *data)
{
	int *good = data;
	kz_array *x[3] = {NULL, NULL, NULL};
	int32_t whole[12] = {0};
	double real[12] = {0};
	kz_status st = kz_array_zeros(&x[0], dev, KZ_I32, KZ_SHAPE(3, 4), NULL);
	st = st ? st : kz_array_transpose(&x[1], x[0], KZ_AXES(), NULL);
	st = st ? st : kz_array_zeros(&x[2], dev, KZ_F64, KZ_SHAPE(12), NULL);
	for (int k = 0; !st && k < 60; k++) {
		st = kz_elementwise_run(shared, NULL, NULL, KZ_ARGS(x[(k + *good) % 3], k));
	}
	st = st ? st : kz_array_get(x[0], whole, sizeof(whole), NULL);
	st = st ? st : kz_array_get(x[2], real, sizeof(real), NULL);
	*good = st == KZ_OK && whole[0] == whole[11] && real[0] == real[11]
		&& whole[0] + real[0] == 59 * 60 / 2;
	kz_release_all(x[0], x[1], x[2]);
	return NULL;
}

DEVICE_TEST(threads_compile_a_kernel_once_for_each_type_and_layout)
{
	pthread_t threads[4];
	int good[4] = {0, 1, 2, 3};
	int64_t before = support_compiled(dev);
	shared = make("T *x, T a", "x[i] += a");
	for (int k = 0; k < 4; k++) {
		ck_assert_int_eq(pthread_create(&threads[k], NULL, run_shared, &good[k]), 0);
	}
	for (int k = 0; k < 4; k++) {
		pthread_join(threads[k], NULL);
		ck_assert_int_eq(good[k], 1);
	}
	ck_assert_int_eq(support_compiled(dev), before + 3);
	kz_elementwise_release(shared);
}

DEVICE_TEST(a_kernel_is_made_for_a_type_or_memory_ran_out)
{
	bool failed = true;
	kz_array *x = numbers(KZ_F32, KZ_SHAPE(6), six);
	for (long n = 0; failed; n++) {
		kz_elementwise *kernel = NULL;
		ck_assert_int_lt(n, 3000);
		mem_fail_after(n);
		kz_status st = kz_elementwise_create(&kernel, dev, "T *x", "x[i] = 1", NULL, NULL);
		st = st ? st : kz_elementwise_run(kernel, NULL, NULL, KZ_ARGS(x));
		kz_elementwise_release(kernel);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(st == KZ_OK || (failed && st == KZ_NO_MEMORY));
	}
	kz_array_release(x);
}

SUITE(custom_types)
{
	Suite *suite = suite_create("custom_types");
	const TTest *const letters[] = {one_kernel_runs_for_arrays_of_each_type,
		halves_and_complex_numbers_are_types_of_a_letter,
		letters_are_independent_and_an_output_can_give_one,
		the_preamble_sees_numbers_and_declares_structs,
		a_raw_array_gives_a_type_and_a_buffer_takes_it,
		a_reduction_takes_arrays_of_any_type, types_that_do_not_match_are_refused, NULL};
	const TTest *const many[] = {threads_compile_a_kernel_once_for_each_type_and_layout,
		a_kernel_is_made_for_a_type_or_memory_ran_out, NULL};
	add_tests(suite, "letters", letters);
	add_tests(suite, "many", many);
	return suite;
}
