/* SPDX-License-Identifier: MIT */
/* Expressions as strings on each device: values, options, errors, kernels that are prepared. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/ops/expr.h"
#include "support/support.h"
#include "support/suite.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { N = 12 };

static kz_error err;
static kz_device *dev;
static kz_array *a, *b; /* float32, (12,) */
static float host_a[N], host_b[N];

static void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open(index);
	for (int i = 0; i < N; i++) {
		host_a[i] = (float)i - 4.5f;
		host_b[i] = 0.25f * (float)(i * i);
	}
	ok(kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(N), host_a, sizeof(host_a), &err));
	ok(kz_array_from(&b, dev, KZ_F32, KZ_SHAPE(N), host_b, sizeof(host_b), &err));
}

static void teardown(void)
{
	kz_memory_stats stats;
	release_arrays(a, b);
	kz_device_memory_stats(dev, &stats);
	ck_assert_int_eq(stats.live_count, 0);
	kz_device_close(dev);
}

/* The elements of an array, released, are these. */
static void holds(kz_array *array, kz_dtype dtype, const void *want, size_t size)
{
	char got[512];
	ck_assert_uint_eq(kz_array_dtype(array), dtype);
	ck_assert_int_eq(kz_array_size(array), (int64_t)size);
	ok(kz_array_get(array, got, (int64_t)size, &err));
	ck_assert(memcmp(got, want, size) == 0);
	kz_array_release(array);
}

DEVICE_TEST(an_expression_is_computed)
{
	kz_array *out;
	float n = 3, got[N];
	ok(kz_eval(&out, "2*a + sin(b) / n", NULL, &err, KZ_VARS(a, b, n)));
	ck_assert_uint_eq(kz_array_dtype(out), KZ_F32);
	ok(kz_array_get(out, got, sizeof(got), &err));
	for (int i = 0; i < N; i++) {
		double want = 2 * (double)host_a[i] + sin((double)host_b[i]) / 3;
		ck_assert(fabs(got[i] - want) <= 4e-7 * fabs(want) + 4e-7);
	}
	kz_array_release(out);
}

DEVICE_TEST(operands_of_isclose_may_be_left_out)
{
	static const double x[] = {1, 1, 100, NAN, INFINITY, 0},
		y[] = {1.000001, 1.1, 101, NAN, INFINITY, 1e-9};
	static const bool by_default[] = {1, 0, 0, 0, 1, 1}, by_ratio[] = {1, 0, 1, 0, 1, 1},
		by_both[] = {1, 1, 1, 0, 1, 1}, with_nan[] = {1, 1, 1, 1, 1, 1};
	kz_array *p, *q, *out;
	ok(kz_array_from(&p, dev, KZ_F64, KZ_SHAPE(6), x, sizeof(x), &err));
	ok(kz_array_from(&q, dev, KZ_F64, KZ_SHAPE(6), y, sizeof(y), &err));
	ok(kz_isclose(&out, p, q, &err));
	holds(out, KZ_BOOL, by_default, sizeof(by_default));
	ok(kz_eval(&out, "isclose(p, q, 0.02)", NULL, &err, KZ_VARS(p, q)));
	holds(out, KZ_BOOL, by_ratio, sizeof(by_ratio));
	ok(kz_eval(&out, "isclose(p, q, 0.02, 0.1)", NULL, &err, KZ_VARS(p, q)));
	holds(out, KZ_BOOL, by_both, sizeof(by_both));
	ok(kz_apply(&out, KZ_OP_ISCLOSE, NULL, &err, KZ_ARGS(p, q, 0.02, 0.1, true)));
	holds(out, KZ_BOOL, with_nan, sizeof(with_nan));
	fails(kz_apply(&out, KZ_OP_ISCLOSE, NULL, &err, KZ_ARGS(p)), KZ_INVALID,
		"kz_isclose takes 2 to 5 operands, got 1");
	release_arrays(p, q);
}

DEVICE_TEST(nan_to_num_replaces_the_parts_of_complex_numbers)
{
	const float most = 3.402823466e38f, inf = INFINITY;
	const float x[] = {1, NAN, inf, -2, -inf, NAN}, zeros[] = {1, 0, most, -2, -most, 0},
		others[] = {1, 7, 8, -2, 9, 7};
	kz_array *z, *out;
	ok(kz_array_from(&z, dev, KZ_C64, KZ_SHAPE(3), x, sizeof(x), &err));
	ok(kz_nan_to_num(&out, z, &err));
	holds(out, KZ_C64, zeros, sizeof(zeros));
	ok(kz_eval(&out, "nan_to_num(z, 7, 8, 9)", NULL, &err, KZ_VARS(z)));
	holds(out, KZ_C64, others, sizeof(others));
	ok(kz_apply(&out, KZ_OP_NAN_TO_NUM, NULL, &err, KZ_ARGS(z, 7, 8, 9)));
	holds(out, KZ_C64, others, sizeof(others));
	fails(kz_eval(&out, "nan_to_num(a, z)", NULL, &err, KZ_VARS(a, z)), KZ_INVALID,
		"nan_to_num does not take complex64 in the place of NaN");
	kz_array_release(z);
}

DEVICE_TEST(arrays_of_an_expression_broadcast)
{
	static const int32_t column[] = {10, 20}, row[] = {1, 2, 3};
	static const int32_t want[] = {5, 6, 7, 15, 16, 17};
	kz_array *c, *r, *out;
	ok(kz_array_from(&c, dev, KZ_I32, KZ_SHAPE(2, 1), column, sizeof(column), &err));
	ok(kz_array_from(&r, dev, KZ_I32, KZ_SHAPE(3), row, sizeof(row), &err));
	ok(kz_eval(&out, "c + r - 6", NULL, &err, KZ_VARS(c, r)));
	ck_assert_int_eq(kz_array_shape(out).ndim, 2);
	holds(out, KZ_I32, want, sizeof(want));
	release_arrays(c, r);
}

DEVICE_TEST(strided_and_empty_arrays_have_their_place)
{
	static const int64_t back = -8;
	kz_array *half, *none, *out;
	float want[N / 2];
	ok(kz_array_view(&half, a, KZ_SHAPE(N / 2), &back, 4 * (N - 1), &err));
	ok(kz_eval(&out, "half * 2 + half", NULL, &err, KZ_VARS(half)));
	for (int i = 0; i < N / 2; i++) {
		want[i] = host_a[N - 1 - 2 * i] * 3;
	}
	holds(out, KZ_F32, want, sizeof(want));
	ok(kz_array_create(&none, dev, KZ_F32, KZ_SHAPE(0), &err));
	ok(kz_eval(&out, "sin(none) + 1", NULL, &err, KZ_VARS(none)));
	ck_assert_int_eq(kz_array_count(out), 0);
	release_arrays(out, none, half);
}

DEVICE_TEST(a_c_variable_of_any_type_is_captured)
{
	_Bool t = 1;
	char c = 1;
	signed char sc = -1;
	short s = -2;
	long l = 4;
	long long ll = 5;
	unsigned char uc = 6;
	unsigned short us = 7;
	unsigned u = 8;
	unsigned long ul = 9;
	unsigned long long ull = 10;
	float f = 0.5f;
	double d = 0.25;
	const kz_array *k = a;
	kz_arg g = KZ_ARG(100);
	kz_array *out;
	float want[N];
	k = a;
	ok(kz_eval(&out, "k + t + c + sc + s + l + ll + uc + us + u + ul + ull + f + d + g + more",
		NULL, &err, KZ_VARS(k, t, c, sc, s, l, ll, uc, us, u, ul, ull, f, d, g,
		KZ_VAR("more", 2 * 1000))));
	for (int i = 0; i < N; i++) {
		want[i] = host_a[i] + 1 + 1 - 1 - 2 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 0.5f + 0.25f
			+ 100 + 2000;
	}
	holds(out, KZ_F32, want, sizeof(want));
}

DEVICE_TEST(complex_variables_are_captured)
{
	float _Complex c = 0;
	double _Complex z = 2;
	((float *)&c)[1] = 1;
	kz_array *out;
	float want[2 * N];
	ok(kz_eval(&out, "a + c * z", NULL, &err, KZ_VARS(a, c, z)));
	for (int i = 0; i < N; i++) {
		want[2 * i] = host_a[i];
		want[2 * i + 1] = 2;
	}
	holds(out, KZ_C64, want, sizeof(want));
}

DEVICE_TEST(the_result_goes_where_options_say)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_stream *stream;
	kz_array *out;
	float want[N];
	double wide[N];
	ok(kz_stream_create(&stream, dev, 0, &err));
	options.stream = stream;
	options.into = a;
	ok(kz_eval(NULL, "a*a + b", &options, &err, KZ_VARS(a, b)));
	for (int i = 0; i < N; i++) {
		want[i] = host_a[i] * host_a[i] + host_b[i];
		wide[i] = (double)(want[i] + 1);
	}
	ok(kz_eval(&out, "1 + a", &(kz_op_options){.size = sizeof(options), .dtype = KZ_F64},
		&err, KZ_VARS(a)));
	holds(out, KZ_F64, wide, sizeof(wide));
	ok(kz_eval(&out, "a", &options, &err, KZ_VARS(a)));
	ck_assert_ptr_eq(out, a);
	holds(out, KZ_F32, want, sizeof(want));
	kz_stream_release(stream);
}

DEVICE_TEST(a_target_that_overlaps_an_operand_gets_the_right_answer)
{
	static const int64_t step = 4;
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_array *low, *high;
	float want[N];
	ok(kz_array_view(&low, a, KZ_SHAPE(N - 1), &step, 0, &err));
	ok(kz_array_view(&high, a, KZ_SHAPE(N - 1), &step, 4, &err));
	options.into = high;
	ok(kz_eval(NULL, "low * 2 + high", &options, &err, KZ_VARS(low, high)));
	want[0] = host_a[0];
	for (int i = 1; i < N; i++) {
		want[i] = host_a[i - 1] * 2 + host_a[i];
	}
	holds(kz_array_retain(a), KZ_F32, want, sizeof(want));
	release_arrays(low, high);
}

/* Sum `count` arrays of two layouts, each times a number. */
static void sum_many(int count)
{
	static const int64_t apart = 8;
	static char names[EXPR_ARRAYS + 1][8];
	kz_var vars[EXPR_ARRAYS + 1];
	struct str text = STR_INIT;
	kz_array *arrays[EXPR_ARRAYS + 1], *out;
	float want[N / 2] = {0};
	for (int k = 0; k < count; k++) {
		snprintf(names[k], sizeof(names[k]), "v%d", k);
		ok(kz_array_view(&arrays[k], k & 1 ? a : b, KZ_SHAPE(N / 2), k & 1 ? &apart : NULL,
			0, &err));
		vars[k] = KZ_VAR(names[k], arrays[k]);
		str_addf(&text, "%s%d*v%d", k ? " + " : "", k, k);
		for (int n = 0; n < N / 2; n++) {
			want[n] += (float)k * (k & 1 ? host_a[2 * n] : host_b[n]);
		}
	}
	for (int k = count; k < EXPR_SCALARS; k++) {
		str_add(&text, " + 0");
	}
	if (!kz_eval_vars(&out, text.data, NULL, vars, (size_t)count, &err)) {
		holds(out, KZ_F32, want, sizeof(want));
	}
	for (int k = 0; k < count; k++) {
		kz_array_release(arrays[k]);
	}
	str_free(&text);
}

DEVICE_TEST(as_many_arrays_and_numbers_as_fit_are_computed)
{
	sum_many(EXPR_ARRAYS);
	ck_assert_int_eq(err.status, KZ_OK);
	sum_many(EXPR_ARRAYS + 1);
	ck_assert_str_eq(err.message, "an expression has at most 24 arrays");
	ck_assert_int_eq(err.column, 200);
	kz_error_clear(&err);
}

DEVICE_TEST(a_long_expression_is_computed)
{
	struct str text = STR_INIT;
	kz_array *out;
	float want[N];
	str_add(&text, "a");
	for (int k = 0; k < EXPR_NODES - 2; k++) {
		str_add(&text, " + a");
	}
	ok(kz_eval(&out, text.data, NULL, &err, KZ_VARS(a)));
	for (int i = 0; i < N; i++) {
		want[i] = host_a[i] * (EXPR_NODES - 1); /* halves add exactly */
	}
	holds(out, KZ_F32, want, sizeof(want));
	str_free(&text);
}

DEVICE_TEST(an_expression_of_numbers_fills_an_array)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_array *out = a;
	float want[N];
	fails(kz_eval(&out, "1 + 2", NULL, &err, KZ_VARS(a)), KZ_INVALID,
		"expected an array in the expression");
	ck_assert_ptr_null(out);
	options.into = a;
	ok(kz_eval(NULL, "7 / 2", &options, &err, KZ_VARS()));
	for (int i = 0; i < N; i++) {
		want[i] = 3.5f;
	}
	holds(kz_array_retain(a), KZ_F32, want, sizeof(want));
	fails(kz_eval(NULL, "2j", &options, &err, KZ_VARS()), KZ_INVALID, "complex");
}

DEVICE_TEST(bad_calls_are_refused)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_array *out = a;
	fails(kz_eval(&out, NULL, NULL, &err, KZ_VARS(a)), KZ_INVALID,
		"expected an expression, got NULL");
	ck_assert_ptr_null(out);
	fails(kz_eval(NULL, "a", NULL, &err, KZ_VARS(a)), KZ_INVALID, "kz_eval: out is NULL");
	fails(kz_eval_vars(&out, "a", NULL, NULL, 2, &err), KZ_INVALID,
		"expected 2 variables, got NULL");
	options.size = 3;
	fails(kz_eval(&out, "a", &options, &err, KZ_VARS(a)), KZ_INVALID,
		"initialize it with KZ_OP_OPTIONS_INIT");
	options = (kz_op_options)KZ_OP_OPTIONS_INIT;
	options.dtype = 77;
	fails(kz_eval(&out, "a", &options, &err, KZ_VARS(a)), KZ_INVALID, "77 is not a dtype");
	options.dtype = 0;
	options.into = b;
	fails(kz_eval(&out, "a + 2j", &options, &err, KZ_VARS(a)), KZ_INVALID,
		"add gives complex64, which does not fit into float32");
	ck_assert_int_eq(kz_eval(&out, "a +", NULL, NULL, KZ_VARS(a)), KZ_COMPILE);
	err.status = KZ_IO;
	ck_assert_int_eq(kz_eval(&out, "a +", NULL, &err, KZ_VARS(a)), KZ_COMPILE);
	ck_assert(err.status == KZ_IO && !err.log && !err.file);
	err = (kz_error)KZ_ERROR_INIT;
}

static void prints(const char *text, const char *want)
{
	char got[512];
	kz_array *out = a, *c;
	ok(kz_array_create(&c, dev, KZ_BOOL, KZ_SHAPE(3), &err));
	ck_assert_int_ne(kz_eval(&out, text, NULL, &err, KZ_VARS(a, b, c)), KZ_OK);
	ck_assert_ptr_null(out);
	kz_error_format(&err, got, sizeof(got));
	ck_assert_str_eq(got, want);
	kz_error_clear(&err);
	kz_array_release(c);
}

DEVICE_TEST(errors_show_the_text_with_a_caret)
{
	prints("2*a + sinn(b)",
		"expression:1:7: error: no function 'sinn' (did you mean 'sin'?)\n"
		"  2*a + sinn(b)\n"
		"        ^\n");
	prints("2*a\n\t+ d\n- b",
		"expression:2:4: error: no variable 'd'; there are: a, b, c\n"
		"  \t+ d\n"
		"  \t  ^\n");
	prints("2*a + (c & 1.5)",
		"kudzu: bitwise_and does not take bool and float64\n"
		"  at:   expression:1:10\n"
		"  log:\n"
		"      2*a + (c & 1.5)\n"
		"               ^\n");
	prints("2*a + sin(c) / 2",
		"kudzu: shapes (12,) and (3,) do not broadcast: 12 against 3 in axis -1\n"
		"  at:   expression:1:5\n"
		"  log:\n"
		"      2*a + sin(c) / 2\n"
		"          ^\n");
	prints("", "expression:1:1: error: the expression is empty\n  \n  ^\n");
}

DEVICE_TEST(a_fused_expression_is_one_kernel_for_all_sizes_and_numbers)
{
	kz_kernel_stats before, after;
	kz_array *out, *large, *other;
	double n = 3;
	ok(kz_eval(&out, "2*a + sin(b) / n", NULL, &err, KZ_VARS(a, b, n)));
	kz_array_release(out);
	ck_assert_int_eq(support_compiled(dev), 1);
	kz_device_kernel_stats(dev, &before);
	ok(kz_array_zeros(&large, dev, KZ_F32, KZ_SHAPE(300, 1000), &err));
	ok(kz_array_ones(&other, dev, KZ_F32, KZ_SHAPE(300, 1000), &err));
	n = 5;
	ok(kz_eval(&out, "7.5*x + sin(y) / n", NULL, &err,
		KZ_VARS(KZ_VAR("x", large), n, KZ_VAR("y", other))));
	kz_array_release(out);
	ok(kz_eval(&out, "0.5*b + sin(a) / 7", NULL, &err, KZ_VARS(a, b)));
	kz_array_release(out);
	kz_device_kernel_stats(dev, &after);
	ck_assert_int_eq(after.compiled_count, 1);
	ck_assert_int_eq(after.hit_count, before.hit_count + 2);
	release_arrays(large, other);
}

DEVICE_TEST(what_is_prepared_is_not_compiled_again)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_array *out;
	ok(kz_eval_prepare(dev, "2*x + sin(y)", NULL, &err, KZ_VARS(
		KZ_VAR("x", KZ_ARRAY_OF(KZ_F32)), KZ_VAR("y", KZ_ARRAY_OF(KZ_F32)))));
	ck_assert_int_eq(support_compiled(dev), 1);
	ok(kz_eval(&out, "3*a + sin(b)", NULL, &err, KZ_VARS(a, b)));
	kz_array_release(out);
	ck_assert_int_eq(support_compiled(dev), 1);
	ok(kz_eval_prepare(dev, "x * y", NULL, &err, KZ_VARS(
		KZ_VAR("x", KZ_ARRAY_OF(KZ_F32)), KZ_VAR("y", KZ_ARRAY_OF(KZ_F32)))));
	ok(kz_eval_prepare(dev, "x * x", NULL, &err, KZ_VARS(
		KZ_VAR("x", KZ_ARRAY_OF(KZ_F32)))));
	ok(kz_eval_prepare(dev, "x * 2", NULL, &err, KZ_VARS(
		KZ_VAR("x", KZ_ARRAY_OF(KZ_F32)))));
	ck_assert_int_eq(support_compiled(dev), 4);
	ok(kz_multiply(&out, a, b, &err));
	kz_array_release(out);
	ok(kz_multiply(&out, a, a, &err));
	kz_array_release(out);
	ok(kz_multiply(&out, a, 7.5, &err));
	kz_array_release(out);
	ck_assert_int_eq(support_compiled(dev), 4);
	options.into = a;
	ok(kz_eval_prepare(dev, "a - b", &options, &err, KZ_VARS(a, b)));
	ck_assert_int_eq(support_compiled(dev), 5);
	ok(kz_apply_into(a, KZ_OP_SUBTRACT, &err, KZ_ARGS(a, b)));
	ck_assert_int_eq(support_compiled(dev), 5);
}

DEVICE_TEST(preparing_computes_nothing_and_says_what_is_wrong)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	options.into = a;
	ok(kz_eval_prepare(dev, "a - a", &options, &err, KZ_VARS(a)));
	holds(kz_array_retain(a), KZ_F32, host_a, sizeof(host_a));
	fails(kz_eval_prepare(NULL, "a", NULL, &err, KZ_VARS(a)), KZ_INVALID,
		"expected a device, got NULL");
	fails(kz_eval_prepare(dev, NULL, NULL, &err, KZ_VARS(a)), KZ_INVALID,
		"expected an expression");
	fails(kz_eval_prepare(dev, "x + 1", NULL, &err, KZ_VARS(KZ_VAR("x", KZ_ARRAY_OF(99)))),
		KZ_INVALID, "99 is not a dtype");
	fails(kz_eval_prepare(dev, "x +", NULL, &err,
		KZ_VARS(KZ_VAR("x", KZ_ARRAY_OF(KZ_F32)))), KZ_COMPILE, "found the end");
	fails(kz_eval_prepare(dev, "1 + 2", NULL, &err, KZ_VARS()), KZ_INVALID,
		"expected an array in the expression");
	ck_assert_int_eq(support_compiled(dev), 1);
}

static void *prepare_one(void *context)
{
	kz_status *st = context;
	*st = kz_eval_prepare(dev, "x * y - sqrt(x)", NULL, NULL, KZ_VARS(
		KZ_VAR("x", KZ_ARRAY_OF(KZ_F32)), KZ_VAR("y", KZ_ARRAY_OF(KZ_F32))));
	return NULL;
}

DEVICE_TEST(threads_that_prepare_the_same_compile_it_once)
{
	enum { THREADS = 4 };
	pthread_t threads[THREADS];
	kz_status st[THREADS];
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, prepare_one, &st[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_int_eq(st[i], KZ_OK);
	}
	ck_assert_int_eq(support_compiled(dev), 1);
}

/* Both calls and an error, with whatever memory there is; nothing is left behind. */
static void use_memory(void)
{
	kz_error own = KZ_ERROR_INIT;
	kz_array *out = NULL;
	kz_status st = kz_eval_prepare(dev, "x*y + 1", NULL, &own, KZ_VARS(
		KZ_VAR("x", KZ_ARRAY_OF(KZ_F32)), KZ_VAR("y", KZ_ARRAY_OF(KZ_F32))));
	if (!st) {
		st = kz_eval(&out, "a*b + 5", NULL, &own, KZ_VARS(a, b));
	}
	ck_assert_int_eq(st == KZ_OK, out != NULL);
	ck_assert(st == KZ_OK || mem_has_failed());
	kz_error_clear(&own);
	kz_array_release(out);
	ck_assert_int_eq(kz_eval(&out, "a + c", NULL, &own, KZ_VARS(a)), KZ_COMPILE);
	ck_assert_str_eq(own.message, "no variable 'c'; there are: a");
	kz_error_clear(&own);
}

DEVICE_TEST(every_allocation_may_fail)
{
	long n;
	for (n = 0; n < 5000; n++) {
		mem_fail_after(n);
		use_memory();
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		if (!failed) {
			break;
		}
	}
	ck_assert_int_gt(n, 5);
	ck_assert_int_lt(n, 5000);
}

SUITE(eval)
{
	Suite *s = suite_create("eval");
	TCase *tc = suite_add_case(s, "each device");
	tcase_set_timeout(tc, 240);
	tcase_add_tests(tc, support_device_count(), an_expression_is_computed,
		operands_of_isclose_may_be_left_out,
		nan_to_num_replaces_the_parts_of_complex_numbers,
		arrays_of_an_expression_broadcast, strided_and_empty_arrays_have_their_place,
		a_c_variable_of_any_type_is_captured, complex_variables_are_captured,
		the_result_goes_where_options_say,
		a_target_that_overlaps_an_operand_gets_the_right_answer,
		as_many_arrays_and_numbers_as_fit_are_computed, a_long_expression_is_computed,
		an_expression_of_numbers_fills_an_array, bad_calls_are_refused,
		errors_show_the_text_with_a_caret,
		a_fused_expression_is_one_kernel_for_all_sizes_and_numbers,
		what_is_prepared_is_not_compiled_again,
		preparing_computes_nothing_and_says_what_is_wrong,
		threads_that_prepare_the_same_compile_it_once, every_allocation_may_fail);
	return s;
}
