/* SPDX-License-Identifier: MIT */
/*
 * What PyCUDA's own tests of its arrays ask for, by their names (test_gpuarray.py, test_cumath.py;
 * without "test_"), on every device.  Each is a short program as a user would write it; the suites
 * of the sources go deeper.  random and curand_wrappers are in suite random;
 * numpy_integer_shape, ndarray_shape and len have no meaning in C.
 */
#include "base/common.h"

#include "pycuda.h"
#include "support/suite.h"

/* Operators: 1 .. 10 and 10, 20, .. 100, as PyCUDA's tests have them. */

static float tens[10], units[10];

static void count_up(kz_array **x, kz_array **y)
{
	for (int i = 0; i < 10; i++) {
		units[i] = (float)(i + 1);
		tens[i] = (float)(10 * (i + 1));
	}
	*x = floats(units, 10);
	*y = floats(tens, 10);
}

#define EACH(expression) \
	for (int i = 0; i < 10; i++) { \
		const float u = units[i], v = tens[i]; \
		(void)u; \
		(void)v; \
		want[i] = (expression); \
	}

/* One operation on x, y and numbers: name, call, what each element becomes, relative error. */
#define OPERATION(name, call, expression, tolerance) \
	START_TEST(name) \
	{ \
		kz_array *x, *y, *out; \
		setup(_i); \
		count_up(&x, &y); \
		ok(call); \
		EACH(expression) \
		check(out, want, 10, tolerance); \
		release(x, y); \
		teardown(); \
	} \
	END_TEST

OPERATION(pow_array, kz_power(&out, x, x, &err), powf(u, u), 1e-6)
OPERATION(pow_number, kz_power(&out, x, 2, &err), u * u, 1e-6)
OPERATION(rpow_array, kz_power(&out, 2, x, &err), powf(2, u), 1e-6)
OPERATION(abs_, kz_absolute(&out, x, &err), fabsf(u), 0)
OPERATION(multiply, kz_multiply(&out, x, 2, &err), u * 2, 0)
OPERATION(rmul_yields_right_type, kz_multiply(&out, 2.5, x, &err), 2.5f * u, 0)
OPERATION(multiply_array, kz_multiply(&out, x, y, &err), u * v, 0)
OPERATION(mul_add, kz_eval(&out, "2*x + 3*y", NULL, &err, KZ_VARS(x, y)), 2 * u + 3 * v, 0)
OPERATION(unit_multiply_array, kz_multiply(&out, x, 1, &err), u, 0)
OPERATION(addition_array, kz_add(&out, x, y, &err), u + v, 0)
OPERATION(addition_scalar, kz_add(&out, 7, x, &err), u + 7, 0)
OPERATION(subtract_array, kz_subtract(&out, x, y, &err), u - v, 0)
OPERATION(substract_scalar, kz_subtract(&out, 7, x, &err), 7 - u, 0)
OPERATION(divide_array, kz_divide(&out, x, y, &err), u / v, 0)
OPERATION(divide_scalar, kz_divide(&out, x, 3, &err), u / 3, 0)

DEVICE_TEST(iaddition_array)
{
	kz_array *x, *y;
	count_up(&x, &y);
	ok(kz_apply_into(x, KZ_OP_ADD, &err, KZ_ARGS(x, y)));
	EACH(u + v)
	check(x, want, 10, 0);
	kz_array_release(y);
}

DEVICE_TEST(iaddition_scalar)
{
	kz_array *x, *y;
	count_up(&x, &y);
	ok(kz_apply_into(x, KZ_OP_ADD, &err, KZ_ARGS(x, 7)));
	EACH(u + 7)
	check(x, want, 10, 0);
	kz_array_release(y);
}

/* array_gt ... array_ne: PyCUDA gives floats; here it is bool, as in numpy. */
static const struct {
	kz_op op;
	uint8_t expected[3]; /* 1, 2, 3 against 2, 2, 2 */
} comparisons[] = {
	{KZ_OP_GREATER, {0, 0, 1}}, {KZ_OP_LESS, {1, 0, 0}}, {KZ_OP_LESS_EQUAL, {1, 1, 0}},
	{KZ_OP_GREATER_EQUAL, {0, 1, 1}}, {KZ_OP_EQUAL, {0, 1, 0}}, {KZ_OP_NOT_EQUAL, {1, 0, 1}},
};

DEVICE_TEST(array_gt_lt_le_ge_eq_ne)
{
	for (size_t k = 0; k < countof(comparisons); k++) {
		kz_array *x = floats((const float[]){1, 2, 3}, 3), *out;
		kz_array *y = floats((const float[]){2, 2, 2}, 3);
		ok(kz_apply(&out, comparisons[k].op, NULL, &err, KZ_ARGS(x, y)));
		check_bytes(out, KZ_BOOL, comparisons[k].expected, 3);
		release(x, y);
	}
}

DEVICE_TEST(scalar_comparisons)
{
	static const double host[5] = {1.0, 0.25, 0.1, -0.1, 0.0};
	kz_array *out;
	kz_array *x = doubles(host, 5);
	ok(kz_greater(&out, x, 0.25, &err));
	check_bytes(out, KZ_BOOL, (const uint8_t[]){1, 0, 0, 0, 0}, 5);
	ok(kz_less_equal(&out, x, 0.25, &err));
	check_bytes(out, KZ_BOOL, (const uint8_t[]){0, 1, 1, 1, 1}, 5);
	ok(kz_equal(&out, x, 0.25, &err));
	check_bytes(out, KZ_BOOL, (const uint8_t[]){0, 1, 0, 0, 0}, 5);
	ok(kz_equal(&out, x, 1, &err));
	check_bytes(out, KZ_BOOL, (const uint8_t[]){1, 0, 0, 0, 0}, 5);
	kz_array_release(x);
}

DEVICE_TEST(nan_arithmetic)
{
	kz_array *out;
	for (int i = 0; i < MANY; i += 1 + i % 7) {
		(i % 2 ? a : b)[i] = NAN;
	}
	for (int i = 0; i < MANY; i++) {
		want[i] = a[i] * b[i];
	}
	kz_array *x = floats(a, MANY), *y = floats(b, MANY);
	ok(kz_multiply(&out, x, y, &err));
	check(out, want, MANY, 0);
	release(x, y);
}

DEVICE_TEST(binary_ops_with_unequal_dtypes)
{
	static const double expected[3] = {1.5, 3.5, 5.5};
	kz_array *x, *out;
	ok(kz_array_from(&x, dev, KZ_I32, KZ_SHAPE(3), (const int32_t[]){1, 2, 3}, 12, &err));
	kz_array *y = doubles((const double[]){0.5, 1.5, 2.5}, 3);
	ok(kz_add(&out, x, y, &err));
	check_bytes(out, KZ_F64, expected, sizeof(expected));
	release(x, y);
}

DEVICE_TEST(minimum_maximum_scalar)
{
	kz_array *out;
	kz_array *x = floats(a, 20);
	ok(kz_maximum(&out, x, 0.5, &err));
	for (int i = 0; i < 20; i++) {
		want[i] = a[i] > 0.5f ? a[i] : 0.5f;
	}
	check(out, want, 20, 0);
	ok(kz_minimum(&out, 0, x, &err));
	memset(want, 0, 80);
	check(out, want, 20, 0);
	kz_array_release(x);
}

DEVICE_TEST(logical_and_or_not)
{
	kz_array *out;
	kz_array *x = floats((const float[]){0, 0, 1, 2}, 4),
		*y = floats((const float[]){0, 3, 0, 4}, 4);
	ok(kz_logical_and(&out, x, y, &err));
	check_bytes(out, KZ_BOOL, (const uint8_t[]){0, 0, 0, 1}, 4);
	ok(kz_logical_or(&out, x, y, &err));
	check_bytes(out, KZ_BOOL, (const uint8_t[]){0, 1, 1, 1}, 4);
	ok(kz_logical_or(&out, x, 1, &err));
	check_bytes(out, KZ_BOOL, (const uint8_t[]){1, 1, 1, 1}, 4);
	ok(kz_logical_not(&out, x, &err));
	check_bytes(out, KZ_BOOL, (const uint8_t[]){1, 1, 0, 0}, 4);
	release(x, y);
}

DEVICE_TEST(where)
{
	static const int64_t expected[3] = {2, 3, 2};
	kz_array *x, *y, *z, *out;
	ok(kz_array_from(&x, dev, KZ_I64, KZ_SHAPE(3), (const int64_t[]){1, 0, -1}, 24, &err));
	ok(kz_array_from(&y, dev, KZ_I64, KZ_SHAPE(3), (const int64_t[]){2, 2, 2}, 24, &err));
	ok(kz_array_from(&z, dev, KZ_I64, KZ_SHAPE(3), (const int64_t[]){3, 3, 3}, 24, &err));
	ok(kz_where(&out, x, y, z, &err));
	check_bytes(out, KZ_I64, expected, 24);
	release(x, y);
	kz_array_release(z);
}

DEVICE_TEST(if_positive)
{
	kz_array *difference, *out;
	kz_array *x = floats(a, 20), *y = floats(b, 20);
	ok(kz_subtract(&difference, x, y, &err));
	ok(kz_if_positive(&out, difference, x, y, &err));
	for (int i = 0; i < 20; i++) {
		want[i] = a[i] > b[i] ? a[i] : b[i];
	}
	check(out, want, 20, 0);
	ok(kz_maximum(&out, x, y, &err));
	check(out, want, 20, 0);
	release(x, y);
	kz_array_release(difference);
}

/* Functions of test_cumath.py: their range and error there. */
static const struct {
	kz_op op;
	double low, high, tolerance;
	double (*of)(double);
} functions[] = {
	{KZ_OP_CEIL, -10, 10, 0, ceil}, {KZ_OP_FLOOR, -10, 10, 0, floor},
	{KZ_OP_ABSOLUTE, -10, 10, 0, fabs}, {KZ_OP_EXP, -3, 3, 1e-6, exp},
	{KZ_OP_LOG, 1e-5, 1, 5e-7, log}, {KZ_OP_LOG10, 1e-5, 1, 3e-7, log10},
	{KZ_OP_SQRT, 1e-5, 1, 2e-7, sqrt}, {KZ_OP_SIN, -10, 10, 1e-6, sin},
	{KZ_OP_COS, -10, 10, 1e-6, cos}, {KZ_OP_ARCSIN, -0.9, 0.9, 5e-7, asin},
	{KZ_OP_ARCCOS, -0.9, 0.9, 5e-7, acos}, {KZ_OP_TAN, -1.47, 1.47, 1e-6, tan},
	{KZ_OP_ARCTAN, -10, 10, 2e-7, atan}, {KZ_OP_SINH, -3, 3, 1e-6, sinh},
	{KZ_OP_COSH, -3, 3, 1e-6, cosh}, {KZ_OP_TANH, -3, 3, 1e-6, tanh},
};

DEVICE_TEST(cumath)
{
	enum { N = 20000 };
	for (size_t k = 0; k < countof(functions); k++) {
		static float host[N];
		kz_array *x, *out;
		for (int i = 0; i < N; i++) {
			host[i] = (float)(functions[k].low
				+ (functions[k].high - functions[k].low) * (double)a[i]);
			want[i] = (float)functions[k].of((double)host[i]);
		}
		x = floats(host, N);
		ok(kz_apply(&out, functions[k].op, NULL, &err, KZ_ARGS(x)));
		check(out, want, N, functions[k].tolerance);
		kz_array_release(x);
	}
}

/* fmod, ldexp, modf, frexp */
DEVICE_TEST(cumath_pairs)
{
	enum { N = 1000 };
	static float fraction[N];
	int exponent;
	kz_array *x, *y, *out, *whole;
	for (int i = 0; i < N; i++) {
		b[i] = b[i] * 45 + 0.1f;
		a[i] = a[i] * 200 - 100;
		want[i] = fmodf(a[i], b[i]);
	}
	x = floats(a, N);
	y = floats(b, N);
	ok(kz_fmod(&out, x, y, &err));
	check(out, want, N, 0);
	ok(kz_modf_whole(&whole, x, &err));
	ok(kz_modf_fraction(&out, x, &err));
	for (int i = 0; i < N; i++) {
		fraction[i] = modff(a[i], &want[i]);
	}
	check(whole, want, N, 0);
	check(out, fraction, N, 0);
	ok(kz_frexp_fraction(&out, x, &err));
	ok(kz_frexp_exponent(&whole, x, &err));
	for (int i = 0; i < N; i++) {
		want[i] = frexpf(a[i], &exponent);
	}
	check(out, want, N, 0);
	ok(kz_frexp_fraction(&out, x, &err));
	kz_array *back;
	ok(kz_ldexp(&back, out, whole, &err));
	check(back, a, N, 0);
	release(out, whole);
	release(x, y);
}

/* Kernels of one's own */

DEVICE_TEST(elwise_kernel)
{
	kz_elementwise *combine;
	kz_array *z;
	kz_array *x = floats(a, 50), *y = floats(b, 50);
	ok(kz_array_like(&z, x, &err));
	ok(kz_elementwise_create(&combine, dev, "float a, float *x, float b, float *y, float *z",
		"z[i] = a*x[i] + b*y[i]", NULL, &err));
	ok(kz_elementwise_run(combine, NULL, &err, KZ_ARGS(5, x, 6, y, z)));
	for (int i = 0; i < 50; i++) {
		want[i] = 5 * a[i] + 6 * b[i];
	}
	check(z, want, 50, 1e-6);
	kz_elementwise_release(combine);
	release(x, y);
}

DEVICE_TEST(ranged_elwise_kernel)
{
	enum { N = 50000 };
	static const int64_t slices[4][3] = {
		{5, 20000, 1}, {5, 20000, 17}, {3000, 5, -1}, {1000, N - 1, 1},
	};
	kz_elementwise *seven;
	ok(kz_elementwise_create(&seven, dev, "float *z", "z[i] = 7", NULL, &err));
	for (int k = 0; k < 4; k++) {
		const int64_t *s = slices[k];
		kz_elementwise_call call = KZ_ELEMENTWISE_CALL_INIT;
		kz_slice slice = KZ_SLICE(s[0], k == 3 ? -1 : s[1], s[2]);
		kz_array *z;
		memset(want, 0, sizeof(want));
		for (int64_t i = s[0]; s[2] > 0 ? i < s[1] : i > s[1]; i += s[2]) {
			want[i] = 7;
		}
		call.slice = &slice;
		ok(kz_array_zeros(&z, dev, KZ_F32, KZ_SHAPE(N), &err));
		ok(kz_elementwise_run(seven, &call, &err, KZ_ARGS(z)));
		check(z, want, N, 0);
	}
	kz_elementwise_release(seven);
}

static const char minmax[] =
	"struct minmax_collector {\n"
	"	float cur_min, cur_max;\n"
	"	__device__ minmax_collector() {}\n"
	"	__device__ minmax_collector(float low, float high) : cur_min(low), "
	"cur_max(high) {}\n"
	"};\n"
	"__device__ minmax_collector agg_mmc(minmax_collector a, minmax_collector b)\n"
	"{\n"
	"	return minmax_collector(fminf(a.cur_min, b.cur_min), fmaxf(a.cur_max, "
	"b.cur_max));\n"
	"}\n";

DEVICE_TEST(struct_reduce)
{
	kz_custom_options options = KZ_CUSTOM_OPTIONS_INIT;
	kz_dtype pair;
	kz_reduction *reduce;
	kz_array *out;
	float expected[2] = {1, 0};
	kz_array *x = floats(a, 20000);
	options.preamble = minmax;
	ok(kz_dtype_register(&pair, "minmax_collector", 8, &err));
	ok(kz_reduction_create(&reduce, dev, pair, "minmax_collector(10000, -10000)",
		"agg_mmc(a, b)", "minmax_collector(x[i], x[i])", "float *x", &options, &err));
	ok(kz_reduction_run(&out, reduce, NULL, &err, KZ_ARGS(x)));
	for (int i = 0; i < 20000; i++) {
		expected[0] = fminf(expected[0], a[i]);
		expected[1] = fmaxf(expected[1], a[i]);
	}
	check_bytes(out, pair, expected, sizeof(expected));
	kz_reduction_release(reduce);
	kz_array_release(x);
}

DEVICE_TEST(reduce_out)
{
	kz_reduction *reduce;
	kz_array *x, *out;
	ok(kz_array_from(&x, dev, KZ_F32, KZ_SHAPE(10, 200), a, 8000, &err));
	ok(kz_array_create(&out, dev, KZ_F32, KZ_SHAPE(10), &err));
	ok(kz_reduction_create(&reduce, dev, KZ_F32, "0", "max(a, b)", NULL, "float *in", NULL,
		&err));
	for (int i = 0; i < 10; i++) {
		kz_reduction_call call = KZ_REDUCTION_CALL_INIT;
		kz_array *row;
		ok(kz_array_slice(&row, x, KZ_AT(i), &err));
		ok(kz_array_slice(&call.into, out, KZ_AT(i), &err));
		ok(kz_reduction_run(NULL, reduce, &call, &err, KZ_ARGS(row)));
		release(row, call.into);
		want[i] = 0;
		for (int k = 0; k < 200; k++) {
			want[i] = fmaxf(want[i], a[200 * i + k]);
		}
	}
	check(out, want, 10, 0);
	kz_reduction_release(reduce);
	kz_array_release(x);
}

DEVICE_TEST(pass_slice_to_kernel)
{
	static const char source[] =
		"__global__ void twice(float *a)\n"
		"{\n"
		"	a[threadIdx.x + blockIdx.x * blockDim.x] *= 2;\n"
		"}\n";
	enum { N = 256 * 256 };
	kz_module *module;
	kz_kernel *twice;
	kz_array *ones, *inner;
	ok(kz_module_compile(&module, dev, source, NULL, &err));
	ok(kz_module_kernel(&twice, module, "twice", &err));
	ok(kz_array_ones(&ones, dev, KZ_F32, KZ_SHAPE(N), &err));
	ok(kz_array_slice(&inner, ones, KZ_AT(KZ_SLICE(256, -256)), &err));
	ok(kz_launch(twice, kz_dim(254, 1, 1), kz_dim(256, 1, 1), NULL, &err, KZ_ARGS(inner)));
	for (int i = 0; i < N; i++) {
		want[i] = i >= 256 && i < N - 256 ? 2 : 1;
	}
	check(ones, want, N, 0);
	kz_array_release(inner);
	kz_module_release(module);
}

SUITE(pycuda)
{
	const TTest *const tests[] = {
		pow_array, pow_number, rpow_array, abs_, multiply, rmul_yields_right_type,
		multiply_array, mul_add, unit_multiply_array, addition_array, addition_scalar,
		subtract_array, substract_scalar, divide_array, divide_scalar, iaddition_array,
		iaddition_scalar, array_gt_lt_le_ge_eq_ne, scalar_comparisons, nan_arithmetic,
		binary_ops_with_unequal_dtypes, minimum_maximum_scalar, logical_and_or_not,
		where, if_positive, cumath, cumath_pairs, elwise_kernel, ranged_elwise_kernel,
		struct_reduce, reduce_out, pass_slice_to_kernel,
	};
	Suite *suite = suite_create("pycuda");
	TCase *tcase = suite_add_case(suite, "pycuda");
	for (size_t i = 0; i < countof(tests); i++) {
		tcase_add_loop_test(tcase, tests[i], 0, support_device_count());
	}
	return suite;
}
