/* SPDX-License-Identifier: MIT */
/*
 * Reductions of users, against loops on the host; for floats with the order that the library has,
 * so that every bit is the same; see custom.h.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "custom.h"
#include "support/suite.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Run a reduction and fetch the result. */
static void reduce(kz_reduction *kernel, void *result, kz_args args)
{
	kz_array *out = NULL;
	ok(kz_reduction_run(&out, kernel, NULL, &err, args));
	ck_assert_int_eq(kz_array_ndim(out), 0);
	ok(kz_array_get(out, result, kz_array_size(out), &err));
	kz_array_release(out);
}

static const int64_t counts[] = {0, 1, 2, 3, 4, 5, 6, 7, 31, 32, 33, 127, 128, 129, 255, 256, 257,
	1000, 8191, 8192, 8193, 16384 - 993, 20000, 100001, 1 << 20};

/* The order of custom_text.c. */
static float ordered(const float *values, int64_t count)
{
	int64_t chunks = count > 0 ? (count - 1) / 8192 + 1 : 1;
	float *sums = malloc((size_t)chunks * sizeof(*sums)), result;
	for (int64_t c = 0; c < chunks; c++) {
		float lanes[256] = {0};
		int64_t first = c * 8192, end = count - first < 8192 ? count : first + 8192;
		for (int64_t i = first; i < end; i++) {
			lanes[i % 256] += values[i];
		}
		for (int half = 128; half; half /= 2) {
			for (int l = 0; l < half; l++) {
				lanes[l] += lanes[l + half];
			}
		}
		sums[c] = lanes[0];
	}
	result = chunks == 1 ? sums[0] : ordered(sums, chunks);
	free(sums);
	return result;
}

/* PyCUDA's dot, of the sizes of its test and more. */
DEVICE_TEST(a_dot_product_has_the_same_bits_everywhere)
{
	kz_reduction *dot = NULL;
	ok(kz_reduction_create(&dot, dev, KZ_F32, "0", "a + b", "x[i] * y[i]",
		"const float *x, const float *y", NULL, &err));
	for (size_t c = 0; c < countof(counts); c++) {
		size_t count = (size_t)counts[c];
		float *x = malloc((3 * count + 1) * sizeof(*x)), *y = x + count, *xy = y + count,
		      got;
		double exact = 0, size = 0;
		for (size_t i = 0; i < count; i++) {
			x[i] = (float)((i * 7919 + 13) % 10007) / 10007 - 0.25f;
			y[i] = (float)((i * 104729 + 1) % 9973) / 9973;
			xy[i] = x[i] * y[i];
			exact += (double)x[i] * (double)y[i];
			size += (double)x[i] * (double)x[i];
		}
		kz_array *dx = from(KZ_F32, KZ_SHAPE(count), x),
			 *dy = from(KZ_F32, KZ_SHAPE(count), y);
		reduce(dot, &got, KZ_ARGS(dx, dy));
		float want = ordered(xy, (int64_t)count);
		ck_assert_msg(
			memcmp(&got, &want, sizeof(got)) == 0, "%zu: %g, %g", count, got, want);
		ck_assert_double_le(fabs((double)got - exact), 2e-6 * size);
		release_arrays(dx, dy);
		free(x);
	}
	kz_reduction_release(dot);
	kz_reduction_release(NULL);
}

START_TEST(as_many_steps_are_taken_as_it_needs)
{
	const int64_t count = 8192ll * 8192 + 5; /* three */
	int8_t *host = malloc((size_t)count);
	int64_t want = 0, got;
	setup(_i);
	for (int64_t i = 0; i < count; i++) {
		host[i] = (int8_t)(i % 101 - 50);
		want += host[i] + (i == count - 1);
	}
	kz_reduction *sum = NULL;
	ok(kz_reduction_create(&sum, dev, KZ_I64, "0", "a + b", "x[i] + (i == n - 1)",
		"const char *x", NULL, &err));
	kz_array *x = from(KZ_I8, KZ_SHAPE(count), host);
	reduce(sum, &got, KZ_ARGS(x));
	ck_assert_int_eq(got, want);
	/* It had room for 8193 values, and 2 after these. */
	kz_memory_stats stats;
	kz_device_memory_stats(dev, &stats);
	ck_assert_int_ge(stats.peak_size, count + 8195 * 8);
	kz_array_release(x);
	kz_reduction_release(sum);
	free(host);
	teardown();
}
END_TEST

/* PyCUDA's test_struct_reduce, with its preamble's ways to write a struct. */
static const char minmax_preamble[] =
	"struct minmax_collector\n{\n\tfloat cur_min, cur_max;\n"
	"\t__device__ minmax_collector() {}\n"
	"\t__device__ minmax_collector(float cmin, float cmax) : cur_min(cmin), cur_max(cmax) {}\n"
	"\t__device__ minmax_collector(minmax_collector const &src)\n"
	"\t\t: cur_min(src.cur_min), cur_max(src.cur_max) {}\n"
	"\t__device__ minmax_collector(minmax_collector const volatile &src)\n"
	"\t\t: cur_min(src.cur_min), cur_max(src.cur_max) {}\n"
	"\t__device__ minmax_collector volatile &operator=(minmax_collector const &src) volatile\n"
	"\t{\n\t\tcur_min = src.cur_min;\n\t\tcur_max = src.cur_max;\n\t\treturn *this;\n\t}\n};\n"
	"__device__ minmax_collector agg_mmc(minmax_collector a, minmax_collector b)\n{\n"
	"\treturn minmax_collector(fminf(a.cur_min, b.cur_min), fmaxf(a.cur_max, b.cur_max));\n}\n";

START_TEST(a_struct_collects_minimum_and_maximum)
{
	enum { COUNT = 200001 };
	struct { float low, high; } got, want = {10000, -10000};
	float *host = malloc(COUNT * sizeof(*host));
	kz_custom_options options = KZ_CUSTOM_OPTIONS_INIT;
	kz_reduction *kernel = NULL;
	kz_dtype dtype;
	setup(_i);
	ok(kz_dtype_register(&dtype, "minmax_collector", sizeof(got), &err));
	options.preamble = minmax_preamble;
	ok(kz_reduction_create(&kernel, dev, dtype, "minmax_collector(10000, -10000)",
		"agg_mmc(a, b)", "minmax_collector(x[i], x[i])", "float *x", &options, &err));
	for (int i = 0; i < COUNT; i++) {
		host[i] = (float)((i * 7919 + 4321) % 100003) / 100;
		want.low = host[i] < want.low ? host[i] : want.low;
		want.high = host[i] > want.high ? host[i] : want.high;
	}
	kz_array *x = from(KZ_F32, KZ_SHAPE(COUNT), host);
	reduce(kernel, &got, KZ_ARGS(x));
	ck_assert(got.low == want.low && got.high == want.high);
	kz_array_release(x);
	kz_reduction_release(kernel);
	free(host);
	teardown();
}
END_TEST

/* PyCUDA's test_reduce_out. */
DEVICE_TEST(the_result_goes_into_an_array)
{
	float host[10][64], got[10];
	kz_reduction_call call = KZ_REDUCTION_CALL_INIT;
	kz_reduction *max = NULL;
	for (int i = 0; i < 640; i++) {
		host[i / 64][i % 64] = (float)(i * 37 % 641);
	}
	ok(kz_reduction_create(&max, dev, KZ_F32, "-INFINITY", "max(a, b)", NULL, "float *in", NULL,
		&err));
	kz_array *x = from(KZ_F32, KZ_SHAPE(10, 64), host), *out, *row, *place, *again = NULL;
	ok(kz_array_create(&out, dev, KZ_F32, KZ_SHAPE(10), &err));
	for (int k = 0; k < 10; k++) {
		ok(kz_array_slice(&row, x, KZ_AT(k), &err));
		ok(kz_array_slice(&place, out, KZ_AT(k), &err));
		call.into = place;
		ok(kz_reduction_run(k ? NULL : &again, max, &call, &err, KZ_ARGS(row)));
		ck_assert(k || again == place);
		release_arrays(again, row, place);
		again = NULL;
	}
	ok(kz_array_get(out, got, sizeof(got), &err));
	for (int k = 0; k < 10; k++) {
		float want = 0;
		for (int i = 0; i < 64; i++) {
			want = host[k][i] > want ? host[k][i] : want;
		}
		ck_assert_float_eq(got[k], want);
	}
	release_arrays(x, out);
	kz_reduction_release(max);
}

DEVICE_TEST(no_elements_give_the_neutral_element)
{
	double got = 0;
	kz_reduction *kernel = NULL;
	ok(kz_reduction_create(
		&kernel, dev, KZ_F64, "2.5 // not neutral", "a + b", NULL, NULL, NULL, &err));
	kz_array *none = from(KZ_F64, KZ_SHAPE(3, 0), NULL);
	reduce(kernel, &got, KZ_ARGS(none));
	ck_assert_double_eq(got, 2.5);
	kz_array_release(none);
	none = from(KZ_F64, KZ_SHAPE(), &got);
	reduce(kernel, &got, KZ_ARGS(none));
	ck_assert_double_eq(got, 5);
	kz_array_release(none);
	kz_reduction_release(kernel);
}

DEVICE_TEST(complex_numbers_and_halves_are_reduced)
{
	double complex z[5] = {1, I, 2 - I, -0.5, 3 * I}, product = 1, got;
	uint16_t h[3] = {0x3c00, 0x4000, 0xc400}, sum; /* 1, 2, -4 */
	kz_reduction *prod = NULL, *add = NULL;
	for (int i = 0; i < 5; i++) {
		product *= z[i] + 1;
	}
	ok(kz_reduction_create(&prod, dev, KZ_C128, "1", "a * b", "z[i] + s",
		"const kz_complex<double> *z, double s", NULL, &err));
	ok(kz_reduction_create(&add, dev, KZ_F16, "0", "a + b", NULL, NULL, NULL, &err));
	kz_array *dz = from(KZ_C128, KZ_SHAPE(5), z), *dh = from(KZ_F16, KZ_SHAPE(3), h);
	reduce(prod, &got, KZ_ARGS(dz, 1));
	ck_assert_double_lt(cabs(got - product), 1e-12);
	reduce(add, &sum, KZ_ARGS(dh));
	ck_assert_uint_eq(sum, 0xbc00);
	release_arrays(dz, dh);
	kz_reduction_release(prod);
	kz_reduction_release(add);
}

START_TEST(views_and_broadcast_arrays_are_reduced)
{
	enum { ROWS = 120, COLUMNS = 201 };
	int64_t got, want = 0;
	int32_t *host = malloc(4 * ROWS * COLUMNS), weights[ROWS], table[2] = {1, -3};
	kz_reduction *kernel = NULL;
	setup(_i);
	for (int i = 0; i < ROWS * COLUMNS; i++) {
		host[i] = i * 31 % 1009;
		weights[i / COLUMNS] = i / COLUMNS * 5 % 7 - 3;
	}
	for (int64_t i = 0; i < ROWS * ((COLUMNS + 1) / 2); i++) { /* of the view, transposed */
		int64_t row = i % ROWS, column = COLUMNS - 1 - i / ROWS * 2;
		want += (int64_t)host[row * COLUMNS + column] * weights[row] * table[i % 2];
	}
	ok(kz_reduction_create(&kernel, dev, KZ_I64, "0", "a + b",
		"(long long)x[i] * w[i] * t[i % 2]", "const int *x, const int *w, raw const int *t",
		NULL, &err));
	kz_array *x = from(KZ_I32, KZ_SHAPE(ROWS, COLUMNS), host), *half, *view;
	kz_array *w = from(KZ_I32, KZ_SHAPE(ROWS), weights), *t = from(KZ_I32, KZ_SHAPE(2), table);
	ok(kz_array_slice(&half, x, KZ_AT(KZ_ALL, KZ_SLICE(KZ_OMIT, KZ_OMIT, -2)), &err));
	ok(kz_array_transpose(&view, half, KZ_AXES(), &err));
	reduce(kernel, &got, KZ_ARGS(view, w, t));
	ck_assert_int_eq(got, want);
	release_arrays(x, half, view, w, t);
	kz_reduction_release(kernel);
	free(host);
	teardown();
}
END_TEST

DEVICE_TEST(options_of_the_compiler_are_passed_on)
{
	static const char *const fused[] = {"--fmad=true", NULL},
				 *const bad[] = {"--no-such", NULL};
	kz_compile_options compile = KZ_COMPILE_OPTIONS_INIT;
	kz_custom_options options = KZ_CUSTOM_OPTIONS_INIT;
	float host[2] = {1 + 0x1p-12f, 1}, got[2];
	kz_reduction *kernel = NULL;
	kz_array *x = from(KZ_F32, KZ_SHAPE(1), host);
	options.compile = &compile;
	for (int k = 0; k < 2; k++) {
		compile.nvrtc_options = k ? fused : NULL;
		ok(kz_reduction_create(&kernel, dev, KZ_F32, "-1.0f", "a + b", "x[i] * x[i]",
			"const float *x", &options, &err));
		reduce(kernel, &got[k], KZ_ARGS(x));
		kz_reduction_release(kernel);
	}
	ck_assert_float_eq(got[0], host[0] * host[0] - 1);
	ck_assert_float_eq(got[1], 0x1p-11f + 0x1p-24f);
	compile.nvrtc_options = bad;
	fails(kz_reduction_create(&kernel, dev, KZ_F32, "0", "a + b", NULL, NULL, &options, &err),
		KZ_INVALID, "no-such");
	kz_array_release(x);
}

DEVICE_TEST(a_reduction_that_cannot_be_made_says_why)
{
	kz_reduction *kernel = (kz_reduction *)&err;
	kz_custom_options options = KZ_CUSTOM_OPTIONS_INIT;
	kz_dtype big;
	ok(kz_dtype_register(&big, "reduction_big", 129, &err));
#define CREATE(...) kz_reduction_create(&kernel, dev, __VA_ARGS__, &options, &err)
	fails(CREATE(0, "0", "a + b", NULL, NULL), KZ_INVALID, "0 is not a dtype");
	ck_assert_ptr_null(kernel);
	fails(CREATE(big, "0", "a + b", NULL, NULL), KZ_INVALID,
		"expected a dtype of at most 128 bytes to reduce, got reduction_big with 129");
	fails(CREATE(KZ_F32, NULL, "a + b", NULL, NULL), KZ_INVALID,
		"expected a neutral element, got NULL");
	fails(CREATE(KZ_F32, "0", " ", NULL, NULL), KZ_INVALID,
		"expected an expression that reduces, got an empty text");
	fails(CREATE(KZ_F32, "0", "a + b", "", NULL), KZ_INVALID,
		"expected an expression that maps, got an empty text");
	fails(CREATE(KZ_F32, "0", "a + b", "1", "raw float *x"), KZ_INVALID,
		"reduction: expected an array that is not raw among the arguments 'raw float *x'");
	fails(CREATE(KZ_F32, "0", "a + c", NULL, NULL), KZ_COMPILE,
		"identifier \"c\" is undefined");
	fails(CREATE(KZ_F32, "zero", "a + b", NULL, NULL), KZ_COMPILE, "identifier \"zero\" is");
	options.loop_prep = "int q";
	fails(CREATE(KZ_F32, "0", "a + b", NULL, NULL), KZ_INVALID, "a reduction has no loop_prep");
	options.loop_prep = NULL;
	options.name = "norm";
	ck_assert_int_eq(CREATE(KZ_F32, "0", "a + b", "x[i] *\n y[i]", "float *x"), KZ_COMPILE);
	ck_assert_str_eq(err.file, "norm: map");
	ck_assert(err.line == 2 && err.column == 2);
	kz_error_clear(&err);
	fails(CREATE(KZ_F32, "0", "a + b }", NULL, NULL), KZ_COMPILE,
		"this '}' has no matching '{'");
	fails(CREATE(KZ_F32, "0", "a + b", "x[i] }", "float *x"), KZ_COMPILE, "this '}' has no");
}

DEVICE_TEST(a_run_that_does_not_fit_is_refused)
{
	float host[4] = {1, 2, 3, 4}, got;
	kz_reduction_call call = KZ_REDUCTION_CALL_INIT;
	kz_array *out = (kz_array *)&err;
	kz_reduction *sum = NULL;
	ok(kz_reduction_create(&sum, dev, KZ_F32, "0", "a + b", NULL, NULL, NULL, &err));
	kz_array *x = from(KZ_F32, KZ_SHAPE(4), host), *one = from(KZ_F64, KZ_SHAPE(), host);
	fails(kz_reduction_run(&out, sum, NULL, &err, KZ_ARGS(one)), KZ_ARGUMENT,
		"argument 1 of 'reduction': expected 'const float *in', got an array of float64");
	ck_assert_ptr_null(out);
	fails(kz_reduction_run(&out, sum, NULL, &err, KZ_ARGS()), KZ_ARGUMENT, "takes 1 argument");
	fails(kz_reduction_run(NULL, sum, NULL, &err, KZ_ARGS(x)), KZ_INVALID, "out is NULL, and");
	fails(kz_reduction_run(&out, NULL, NULL, &err, KZ_ARGS(x)), KZ_INVALID, "got NULL");
	call.into = x;
	fails(kz_reduction_run(&out, sum, &call, &err, KZ_ARGS(x)), KZ_INVALID,
		"'reduction': expected an array of one float32 for the result, got one of 4 "
		"float32");
	call.into = one;
	fails(kz_reduction_run(&out, sum, &call, &err, KZ_ARGS(x)), KZ_INVALID,
		"got one of 1 float64");
	call.size = 1;
	fails(kz_reduction_run(&out, sum, &call, &err, KZ_ARGS(x)), KZ_INVALID, "has size 1");
	reduce(sum, &got, KZ_ARGS(x));
	ck_assert_float_eq(got, 10);
	release_arrays(x, one);
	kz_reduction_release(sum);
}

DEVICE_TEST(a_reduction_is_made_and_run_or_memory_ran_out)
{
	static float host[20000];
	bool failed = true;
	kz_array *x = from(KZ_F32, KZ_SHAPE(20000), host);
	for (long n = 0; failed; n++) {
		kz_reduction *kernel = NULL;
		kz_array *out = NULL;
		ck_assert_int_lt(n, 3000);
		mem_fail_after(n);
		kz_status st = kz_reduction_create(
			&kernel, dev, KZ_F32, "0", "a + b", NULL, NULL, NULL, NULL);
		st = st ? st : kz_reduction_run(&out, kernel, NULL, NULL, KZ_ARGS(x));
		kz_array_release(out);
		kz_reduction_release(kernel);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(st == KZ_OK || (failed && st == KZ_NO_MEMORY));
	}
	kz_array_release(x);
}

SUITE(custom_reduction)
{
	Suite *suite = suite_create("custom_reduction");
	const TTest *const tests[] = {
		a_dot_product_has_the_same_bits_everywhere, as_many_steps_are_taken_as_it_needs,
		a_struct_collects_minimum_and_maximum, the_result_goes_into_an_array,
		no_elements_give_the_neutral_element, complex_numbers_and_halves_are_reduced,
		views_and_broadcast_arrays_are_reduced, options_of_the_compiler_are_passed_on,
		a_reduction_that_cannot_be_made_says_why, a_run_that_does_not_fit_is_refused,
		a_reduction_is_made_and_run_or_memory_ran_out, NULL,
	};
	add_tests(suite, "reductions", tests);
	return suite;
}
