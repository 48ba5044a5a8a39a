/* SPDX-License-Identifier: MIT */
/* Elementwise kernels of users: ranges, types, mistakes; see custom.h. */
#include "base/common.h"

#include "base/alloc.h"
#include "custom.h"
#include "support/suite.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

/* Running for each element */

static const int64_t counts[] = {0, 1, 2, 31, 255, 256, 257, 1000, 4095, 4096, 4097, 200001};

DEVICE_TEST(an_operation_runs_for_each_element)
{
	kz_elementwise *saxpy = make("float a, const float *x, float *y", "y[i] = a * x[i] + y[i]");
	for (size_t c = 0; c < countof(counts); c++) {
		size_t count = (size_t)counts[c];
		float *x = calloc(2 * count + 2, sizeof(*x)), *y = x + count + 1;
		for (size_t i = 0; i < count; i++) {
			x[i] = (float)(i % 1000);
			y[i] = (float)i;
		}
		kz_array *dx = from(KZ_F32, KZ_SHAPE(count), x),
			 *dy = from(KZ_F32, KZ_SHAPE(count), y);
		ok(kz_elementwise_run(saxpy, NULL, &err, KZ_ARGS(3, dx, dy)));
		ok(kz_array_get(dy, y, (int64_t)(4 * count), &err));
		size_t wrong = 0;
		for (size_t i = 0; i < count; i++) {
			wrong += y[i] != 3 * x[i] + (float)i;
		}
		ck_assert_uint_eq(wrong, 0);
		release_arrays(dx, dy);
		free(x);
	}
	kz_elementwise_release(saxpy);
	kz_elementwise_release(NULL);
}

DEVICE_TEST(a_thread_s_elements_are_all_reached_whatever_their_size)
{
	static const struct {
		kz_dtype dtype;
		const char *list;
	} types[] = {{KZ_I8, "const char *x, char *y"}, {KZ_I16, "const short *x, short *y"},
		{KZ_I64, "const long long *x, long long *y"}};
	for (size_t t = 0; t < countof(types); t++) {
		kz_elementwise *kernel = make(types[t].list, "y[i] = x[i] + 1");
		size_t size = (size_t)kz_dtype_size(types[t].dtype);
		for (size_t c = 0; c < countof(counts); c++) {
			size_t count = (size_t)counts[c], wrong = 0;
			unsigned char *host = calloc(count + 1, size);
			kz_array *x = from(types[t].dtype, KZ_SHAPE(count), host), *y;
			ok(kz_array_zeros_like(&y, x, 0, &err));
			ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(x, y)));
			ok(kz_array_get(y, host, (int64_t)(count * size), &err));
			for (size_t i = 0; i < count * size; i++) {
				wrong += host[i] != (i % size == 0);
			}
			ck_assert_uint_eq(wrong, 0);
			release_arrays(x, y);
			free(host);
		}
		kz_elementwise_release(kernel);
	}
}

/* PyCUDA's test_elwise_kernel. */
DEVICE_TEST(a_linear_combination_needs_no_const)
{
	float x[50], y[50], z[50];
	for (int i = 0; i < 50; i++) {
		x[i] = (float)(i * i % 17);
		y[i] = (float)(i - 25);
	}
	kz_elementwise *kernel = make("float a, float *x, float b, float *y, float *z",
		"z[i] = a*x[i] + b*y[i];");
	kz_array *dx = from(KZ_F32, KZ_SHAPE(50), x), *dy = from(KZ_F32, KZ_SHAPE(50), y), *dz;
	ok(kz_array_like(&dz, dx, &err));
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(5, dx, 6.0f, dy, dz)));
	ok(kz_array_get(dz, z, sizeof(z), &err));
	for (int i = 0; i < 50; i++) {
		ck_assert_float_eq(z[i], 5 * x[i] + 6 * y[i]);
	}
	/* All of them one array: each element has its own. */
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(2, dz, 3, dz, dz)));
	ok(kz_array_get(dz, y, sizeof(y), &err));
	ck_assert_float_eq(y[49], 5 * z[49]);
	release_arrays(dx, dy, dz);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(an_operation_has_its_index_and_the_count)
{
	int64_t host[6];
	kz_elementwise *kernel = make("long long *x",
		"if (i == 2) continue;\nx[i] = 10 * n + i // a comment");
	kz_array *x = from(KZ_I64, KZ_SHAPE(2, 3), memset(host, 0, sizeof(host)));
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(x)));
	ok(kz_array_get(x, host, sizeof(host), &err));
	for (int i = 0; i < 6; i++) {
		ck_assert_int_eq(host[i], i == 2 ? 0 : 60 + i);
	}
	kz_array_release(x);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(preamble_and_loops_around_are_compiled_in)
{
	static const char *const defines[] = {"SCALE=3", NULL}, *const more[] = {"-DMORE=1", NULL};
	static const char *const names[] = {"add.h", NULL};
	static const char *const texts[] = {"__device__ int add(int a) { return a + MORE; }", NULL};
	kz_compile_options compile = KZ_COMPILE_OPTIONS_INIT;
	kz_custom_options options = KZ_CUSTOM_OPTIONS_INIT;
	kz_elementwise *kernel = NULL;
	int32_t host[1000] = {0}, threads = 0;
	compile.defines = defines;
	compile.nvrtc_options = more;
	compile.header_names = names;
	compile.header_texts = texts;
	options.name = "my kernel-7";
	options.preamble =
		"#include \"add.h\"\n__device__ int scaled(int a)\n{\n\treturn add(a) * SCALE;\n}";
	options.loop_prep = "int seen = 0";
	options.after_loop = "if (total_threads) atomicAdd(threads, tid < blockDim.x ? seen : 0)";
	options.compile = &compile;
	ok(kz_elementwise_create(&kernel, dev, "int *x, raw int *threads",
		"x[i] = scaled((int)i); seen++", &options, &err));
	kz_array *x = from(KZ_I32, KZ_SHAPE(1000), host), *t = from(KZ_I32, KZ_SHAPE(), &threads);
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(x, t)));
	ok(kz_array_get(x, host, sizeof(host), &err));
	ok(kz_array_get(t, &threads, sizeof(threads), &err));
	ck_assert(host[0] == 3 && host[999] == 3000);
	ck_assert_int_eq(threads, 1000);
	release_arrays(x, t);
	kz_elementwise_release(kernel);
}

/* Ranges: PyCUDA's test_ranged_elwise_kernel and test_pass_slice_to_kernel, and more */

static const struct {
	int64_t start, stop, step;
	int64_t first, count, by; /* by Python, of 50000 elements */
} slices[] = {
	{5, 20000, 1, 5, 19995, 1},
	{5, 20000, 17, 5, 1177, 17},
	{3000, 5, -1, 3000, 2995, -1},
	{1000, -1, 1, 1000, 48999, 1},
	{1000, -1, KZ_OMIT, 1000, 48999, 1},
	{KZ_OMIT, KZ_OMIT, -1, 49999, 50000, -1},
	{KZ_OMIT, KZ_OMIT, 7, 0, 7143, 7},
	{KZ_OMIT, KZ_OMIT, -7, 49999, 7143, -7},
	{KZ_OMIT, 5, 1, 0, 5, 1},
	{-5, KZ_OMIT, 1, 49995, 5, 1},
	{-5, KZ_OMIT, -1, 49995, 49996, -1},
	{5, 2, 1, 0, 0, 1},
	{2, 5, -1, 0, 0, 1},
	{60000, 70000, 1, 0, 0, 1},
	{60000, 49990, -3, 49999, 3, -3},
	{-60000, 3, 2, 0, 2, 2},
	{0, INT64_MAX, INT64_MAX, 0, 1, 1},
	{INT64_MAX, INT64_MIN + 1, INT64_MIN + 1, 49999, 1, 1},
};

START_TEST(a_slice_says_which_elements_it_runs_for)
{
	enum { COUNT = 50000 };
	float *host = malloc(COUNT * sizeof(*host)), *want = malloc(COUNT * sizeof(*want));
	setup(_i);
	kz_elementwise *kernel = make("float *z", "z[i] = n == 50000 ? 7 : 8");
	for (size_t s = 0; s < countof(slices); s++) {
		kz_slice slice = KZ_SLICE(slices[s].start, slices[s].stop, slices[s].step);
		kz_elementwise_call call = KZ_ELEMENTWISE_CALL_INIT;
		kz_array *z;
		call.slice = &slice;
		ok(kz_array_zeros(&z, dev, KZ_F32, KZ_SHAPE(COUNT), &err));
		ok(kz_elementwise_run(kernel, &call, &err, KZ_ARGS(z)));
		ok(kz_array_get(z, host, COUNT * sizeof(*host), &err));
		memset(want, 0, COUNT * sizeof(*want));
		for (int64_t k = 0; k < slices[s].count; k++) {
			want[slices[s].first + k * slices[s].by] = 7;
		}
		ck_assert_msg(memcmp(host, want, COUNT * sizeof(*host)) == 0, "slice %zu", s);
		kz_array_release(z);
	}
	free(host);
	free(want);
	kz_elementwise_release(kernel);
	teardown();
}
END_TEST

DEVICE_TEST(a_range_is_what_the_index_goes_through)
{
	static const int64_t starts[] = {0, INT64_C(3000000000), -INT64_C(5000000000)};
	int64_t host[10], base;
	kz_elementwise *kernel = make("raw long long *x, long long base, long long step",
		"x[(i - base) / step] = i + n");
	kz_array *x = from(KZ_I64, KZ_SHAPE(10), memset(host, 0, sizeof(host)));
	for (int k = 0; k < 6; k++) {
		int64_t step = k % 2 ? -INT64_C(2000000000) : 3;
		base = starts[k / 2];
		kz_slice range = KZ_SLICE(base, base + 10 * step, step);
		kz_elementwise_call call = KZ_ELEMENTWISE_CALL_INIT;
		call.range = &range;
		ok(kz_elementwise_run(kernel, &call, &err, KZ_ARGS(x, base, step)));
		ok(kz_array_get(x, host, sizeof(host), &err));
		for (int i = 0; i < 10; i++) {
			ck_assert_int_eq(host[i], base + i * step + 10);
		}
	}
	kz_array_release(x);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(a_range_or_slice_that_makes_no_sense_is_refused)
{
	kz_elementwise_call call = KZ_ELEMENTWISE_CALL_INIT;
	kz_slice range = KZ_SLICE(0, 4, 0);
	kz_elementwise *kernel = make("float *x", "x[i] = 1"),
		       *raw = make("raw float *x", "x[i] = 1");
	kz_array *x;
	ok(kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(4), &err));
	call.range = &range;
	fails(kz_elementwise_run(kernel, &call, &err, KZ_ARGS(x)), KZ_INVALID,
		"'elementwise': the step is 0");
	range = KZ_INDEX(3);
	fails(kz_elementwise_run(kernel, &call, &err, KZ_ARGS(x)), KZ_INVALID,
		"expected KZ_SLICE(start, stop, step)");
	range = KZ_SLICE(KZ_OMIT, 3);
	fails(kz_elementwise_run(kernel, &call, &err, KZ_ARGS(x)), KZ_INVALID,
		"a range has a start and a stop");
	range = KZ_SLICE(2, 5);
	fails(kz_elementwise_run(kernel, &call, &err, KZ_ARGS(x)), KZ_RANGE,
		"the range goes from 2 to 4, the arrays have 4 elements");
	range = KZ_SLICE(3, -2, -1);
	fails(kz_elementwise_run(kernel, &call, &err, KZ_ARGS(x)), KZ_RANGE, "from 3 to -1");
	range = KZ_SLICE(INT64_MIN + 1, INT64_MAX);
	fails(kz_elementwise_run(raw, &call, &err, KZ_ARGS(x)), KZ_RANGE, "more than 2^63 values");
	call.slice = &range;
	fails(kz_elementwise_run(kernel, &call, &err, KZ_ARGS(x)), KZ_INVALID,
		"expected a slice or a range, got both");
	call.range = NULL;
	fails(kz_elementwise_run(raw, &call, &err, KZ_ARGS(x)), KZ_INVALID,
		"a range has to give the number");
	fails(kz_elementwise_run(raw, NULL, &err, KZ_ARGS(x)), KZ_INVALID,
		"a range has to give the number");
	call.size = 3;
	fails(kz_elementwise_run(kernel, &call, &err, KZ_ARGS(x)), KZ_INVALID,
		"kz_elementwise_call has size 3");
	kz_array_release(x);
	kz_elementwise_release(kernel);
	kz_elementwise_release(raw);
}

/* Types */

DEVICE_TEST(complex_numbers_have_operators_and_functions)
{
	float complex x[3] = {1 + 2 * I, -3 + 0.5f * I, -2 * I}, z[3], a = 2 - I;
	kz_elementwise *kernel = make("kz_complex<float> a, const pycuda::complex<float> *x, "
		"pycuda::complex<float> *z, double b",
		"z[i] = a * x[i] / 2 + conj(x[i]) * b; z[i] += 1; z[i] = 2.0 * z[i] - real(x[i]) + "
		"pycuda::complex<float>(imag(x[i]), abs(x[i])) + x[i].real() + sqrt(x[i])");
	kz_array *dx = from(KZ_C64, KZ_SHAPE(3), x), *dz;
	ok(kz_array_like(&dz, dx, &err));
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(a, dx, dz, 0.5)));
	ok(kz_array_get(dz, z, sizeof(z), &err));
	for (int i = 0; i < 3; i++) {
		double complex w = (double complex)x[i];
		double complex want = 2 * ((double complex)a * w / 2 + conj(w) * 0.5 + 1)
			+ (cimag(w) + I * cabs(w)) + csqrt(w);
		ck_assert_double_lt(cabs((double complex)z[i] - want), 1e-5);
	}
	/* Real numbers are complex, too. */
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(2, dx, dz, 0)));
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(-2.5, dx, dz, 0)));
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(KZ_VALUE(a), dx, dz, 0)));
	fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(dx, dx, dz, 0)), KZ_ARGUMENT,
		"argument 1 of 'elementwise': expected kz_complex<float> a (8 bytes), got an "
		"array");
	release_arrays(dx, dz);
	kz_elementwise_release(kernel);
}

/* kz_complex has the names of <complex>, which may stand beside it. */
DEVICE_TEST(complex_numbers_go_with_those_of_the_standard)
{
	float complex x[3] = {1 + 2 * I, -3 + 0.5f * I, 0.2f - 2 * I}, z[3];
	kz_elementwise *kernel = NULL;
	kz_custom_options options = KZ_CUSTOM_OPTIONS_INIT;
	options.preamble = "#include <complex>";
	ok(kz_elementwise_create(&kernel, dev, "const kz_complex<float> *x, kz_complex<float> *z",
		"const std::complex<float> w = std::acos(std::complex<float>(x[i].re, x[i].im));"
		"z[i] = asin(x[i]) + kz_complex<float>(w.real(), w.imag()) + atanh(proj(x[i])) * "
		"pow(2.f, x[i])", &options, &err));
	kz_array *dx = from(KZ_C64, KZ_SHAPE(3), x), *dz;
	ok(kz_array_like(&dz, dx, &err));
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(dx, dz)));
	ok(kz_array_get(dz, z, sizeof(z), &err));
	for (int i = 0; i < 3; i++) {
		double complex w = (double complex)x[i];
		double complex want = casin(w) + cacos(w) + catanh(w) * cpow(2, w);
		ck_assert_double_lt(cabs((double complex)z[i] - want), 1e-5);
	}
	release_arrays(dx, dz);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(halves_are_cuda_s_own_types)
{
	uint16_t x[2] = {0x3c00, 0xc500}, b[2] = {0x3f80, 0xc0a0}, two = 0x4000; /* 1, -5 */
	float z[2];
	kz_elementwise *kernel = make("__half a, const __half *x, const __nv_bfloat16 *b, float *z",
		"z[i] = __half2float(a * x[i]) + __bfloat162float(b[i])");
	kz_array *dx = from(KZ_F16, KZ_SHAPE(2), x), *db = from(KZ_BF16, KZ_SHAPE(2), b), *dz;
	ok(kz_array_create(&dz, dev, KZ_F32, KZ_SHAPE(2), &err));
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(KZ_VALUE(two), dx, db, dz)));
	ok(kz_array_get(dz, z, sizeof(z), &err));
	ck_assert(z[0] == 3 && z[1] == -15);
	fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(KZ_VALUE(two), db, dx, dz)),
		KZ_ARGUMENT,
		"argument 2 of 'elementwise': expected 'const __half *x', got an array of "
		"bfloat16");
	release_arrays(dx, db, dz);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(structs_and_vectors_are_elements)
{
	struct point {
		float x;
		int32_t id;
	} p[3] = {{1.5f, 1}, {2.5f, 2}, {-1, 3}}, shift = {10, 100};
	float v[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
	kz_dtype point, four;
	kz_custom_options options = KZ_CUSTOM_OPTIONS_INIT;
	kz_elementwise *kernel = NULL;
	ok(kz_dtype_register(&point, "struct point", sizeof(p[0]), &err));
	ok(kz_dtype_register(&four, "float4", 16, &err));
	options.preamble = "struct point { float x; int id; };";
	ok(kz_elementwise_create(&kernel, dev, "point shift, struct point *p, float4 *v",
		"p[i].x += shift.x; p[i].id += shift.id; v[i].w = p[i].x", &options, &err));
	kz_array *dp = from(point, KZ_SHAPE(3), p), *dv = from(four, KZ_SHAPE(3), v);
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(KZ_VALUE(shift), dp, dv)));
	ok(kz_array_get(dp, p, sizeof(p), &err));
	ok(kz_array_get(dv, v, sizeof(v), &err));
	ck_assert(
		p[2].x == 9 && p[2].id == 103 && v[2][3] == 9 && v[0][3] == 11.5f && v[1][2] == 7);
	fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(KZ_VALUE(shift), dv, dv)), KZ_ARGUMENT,
		"argument 2 of 'elementwise': expected 'struct point *p', got an array of float4");
	kz_elementwise_release(kernel);
	options.preamble = "struct point { float x; double id; };";
	fails(kz_elementwise_create(&kernel, dev, "point *p", "p[i].x = 1", &options, &err),
		KZ_COMPILE, "point was registered with 8 bytes");
	ck_assert_ptr_null(kernel);
	release_arrays(dp, dv);
}

DEVICE_TEST(all_kinds_of_numbers_are_arguments)
{
	double host[1];
	enum { RED = 1000 } colour = RED;
	kz_elementwise *kernel =
		make("bool a, char b, unsigned short c, int d, uint64_t e, float f, "
		     "double g, double *x",
			"x[i] = a + 2.0 * b + 4.0 * c + 8.0 * d + 16.0 * e + 32.0 * f + 64 * g");
	kz_array *x = from(KZ_F64, KZ_SHAPE(1), host);
	ok(kz_elementwise_run(
		kernel, NULL, &err, KZ_ARGS(true, -1, 60000, colour, 5u, 0.5f, 0.25, x)));
	ok(kz_array_get(x, host, sizeof(host), &err));
	ck_assert_double_eq(host[0], 1 - 2 + 240000 + 8000 + 80 + 16 + 16);
	fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(2, 0, 0, 0, 0, 0, 0, x)), KZ_ARGUMENT,
		"argument 1 of 'elementwise': 2 does not fit bool a (1 byte)");
	fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(0, 0, 0, 0, -1, 0, 0, x)), KZ_ARGUMENT,
		"argument 5 of 'elementwise': -1 does not fit uint64_t e (8 bytes)");
	fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(0, 0, 0, 0, 0, 0.5, 0, x)),
		KZ_ARGUMENT, "argument 6 of 'elementwise': expected float f (4 bytes), got double");
	fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(0, 0, 0, 0.5f, 0, 0, 0, x)),
		KZ_ARGUMENT, "argument 4 of 'elementwise': expected int d (4 bytes), got float");
	kz_array_release(x);
	kz_elementwise_release(kernel);
}

/* What is refused */

DEVICE_TEST(arguments_that_do_not_match_the_list_are_refused)
{
	float host[4] = {0};
	kz_elementwise *kernel = make("float a, const float *x, float *y", "y[i] = a * x[i]");
	kz_array *x = from(KZ_F32, KZ_SHAPE(4), host), *y = from(KZ_F32, KZ_SHAPE(4), host);
	kz_array *d = from(KZ_F64, KZ_SHAPE(2), host), *none = NULL;
	kz_buffer *buffer = kz_array_buffer(x);
#define RUN(...) kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(__VA_ARGS__))
	fails(RUN(), KZ_ARGUMENT,
		"'elementwise' takes 3 arguments, got 0: 'float a, const float *x, "
		"float *y'");
	fails(RUN(1, x), KZ_ARGUMENT, "got 2");
	fails(RUN(1, x, y, y), KZ_ARGUMENT, "got 4");
	fails(RUN(1, d, y), KZ_ARGUMENT,
		"argument 2 of 'elementwise': expected 'const float *x', got "
		"an array of float64");
	fails(RUN(x, x, y), KZ_ARGUMENT,
		"argument 1 of 'elementwise': expected float a (4 bytes), got "
		"an array");
	fails(RUN(1, 2, y), KZ_ARGUMENT,
		"argument 2 of 'elementwise': expected const float *x, got int");
	fails(RUN(1, none, y), KZ_ARGUMENT, "argument 2 of 'elementwise': the kz_array is NULL");
	fails(RUN(1, host, y), KZ_ARGUMENT, "got a host pointer");
	fails(RUN(1, buffer, y), KZ_ARGUMENT, "expected an array for 'const float *x'");
	fails(RUN(1, NULL, y), KZ_ARGUMENT, "expected an array for 'const float *x'");
	fails(RUN(1, KZ_DEVPTR(4096), y), KZ_ARGUMENT, "expected an array for 'const float *x'");
	fails(RUN(1, KZ_IN(host, 16), y), KZ_ARGUMENT, "expected an array for 'const float *x'");
	fails(kz_elementwise_run(NULL, NULL, &err, KZ_ARGS(1)), KZ_INVALID,
		"expected an elementwise kernel, got NULL");
	fails(kz_elementwise_run(kernel, NULL, &err, ((kz_args){NULL, 3})), KZ_ARGUMENT, "got 3");
	ok(RUN(1, x, y));
	release_arrays(x, y, d);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(an_array_of_another_device_is_refused)
{
	kz_device *other = NULL;
	kz_array *far = NULL, *x = NULL;
	float host[4] = {0};
	if (strcmp(support_device_name(_i / 2), "cpu") == 0) {
		support_stub("");
		ok(kz_device_open(&other, "cuda:0", &err));
		kz_elementwise *kernel = make("const float *x, float *y", "y[i] = x[i]");
		x = from(KZ_F32, KZ_SHAPE(4), host);
		ok(kz_array_create(&far, other, KZ_F32, KZ_SHAPE(4), &err));
		fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(x, far)), KZ_ARGUMENT,
			"argument 2 of 'elementwise': the array is on cuda:0, the kernel on cpu");
		kz_elementwise_call call = KZ_ELEMENTWISE_CALL_INIT;
		call.stream = kz_device_stream(other);
		fails(kz_elementwise_run(kernel, &call, &err, KZ_ARGS(x, x)), KZ_INVALID, "");
		release_arrays(far, x);
		kz_elementwise_release(kernel);
		kz_device_close(other);
	}
}

DEVICE_TEST(a_kernel_that_cannot_be_made_says_why)
{
	kz_elementwise *kernel = (kz_elementwise *)&err;
	kz_custom_options options = KZ_CUSTOM_OPTIONS_INIT;
#define CREATE(...) kz_elementwise_create(&kernel, dev, __VA_ARGS__, &options, &err)
	fails(CREATE("float *x", ""), KZ_INVALID, "expected an operation, got an empty text");
	ck_assert_ptr_null(kernel);
	fails(CREATE("float *x", " ;\n"), KZ_INVALID, "expected an operation, got an empty text");
	fails(CREATE("float *x", NULL), KZ_INVALID, "expected an operation, got NULL");
	fails(CREATE("", "x[i] = 1"), KZ_INVALID,
		"expected a list of arguments, got an empty text");
	fails(CREATE(NULL, "x[i] = 1"), KZ_INVALID, "expected a list of arguments, got NULL");
	fails(CREATE("float x", "x = 1"), KZ_INVALID,
		"elementwise: expected a pointer among the arguments 'float x'");
	fails(CREATE("flaot *x", "x[i] = 1"), KZ_INVALID, "unknown type 'flaot'");
	options.name = "no\nname";
	fails(CREATE("float *x", "x[i] = 1"), KZ_INVALID, "expected a name of 1 to 64 characters");
	options.name = "a\"b";
	fails(CREATE("float *x", "x[i] = 1"), KZ_INVALID, "expected a name of 1 to 64 characters");
	options.name = "";
	fails(CREATE("float *x", "x[i] = 1"), KZ_INVALID, "expected a name of 1 to 64 characters");
	options.size = 1;
	fails(CREATE("float *x", "x[i] = 1"), KZ_INVALID, "kz_custom_options has size 1");
	fails(kz_elementwise_create(NULL, dev, "float *x", "x[i] = 1", NULL, &err), KZ_INVALID,
		"kz_elementwise_create: out is NULL");
	fails(kz_elementwise_create(&kernel, NULL, "float *x", "x[i] = 1", NULL, &err), KZ_INVALID,
		"expected a device, got NULL");
}

static const struct {
	const char *arguments, *operation, *preamble, *loop_prep, *after_loop;
	const char *file, *message;
	int line, column;
} mistakes[] = {
	{"float *x", "x[i] = y[i]", "", "", "", "k: operation", "identifier \"y\" is undefined", 1,
		8},
	{"float *x", "x[i] = 1;\nx[i] = (2", "", "", "", "k: operation", "expected a \")\"", 2, 10},
	{"float *x", "x[i] = 1", "__device__\nint f() { return q; }", "", "", "k: preamble",
		"identifier \"q\" is undefined", 2, 18},
	{"float *x", "x[i] = 1", "", "\n\nint q = r", "", "k: loop_prep",
		"identifier \"r\" is undefined", 3, 9},
	{"float *x", "x[i] = 1", "", "", "r = 1", "k: after_loop", "identifier \"r\" is undefined",
		1, 1},
	{"float4 s,\n  float *while", "x[i] = 1", "", "", "", "k: arguments", "expected a \")\"", 2,
		10},
	{"const float *x", "x[i] = 1", "", "", "", "k: operation",
		"expression must be a modifiable lvalue", 1, 1},
	/* Braces with which the text leaves its place in the generated code, or stays open. */
	{"float *x", "x[i] = 1; }", "", "", "", "k: operation", "this '}' has no matching '{'", 1,
		11},
	{"float *x", "x[i] = 1;\n}\nx[i] = 2", "", "", "", "k: operation",
		"this '}' has no matching '{'", 2, 1},
	{"float *x", "if (i) { x[i] = 1", "", "", "", "k: operation",
		"this '{' has no matching '}'", 1, 8},
	{"float *x", "x[i] = 1", "__device__ int f() {", "", "", "k: preamble",
		"this '{' has no matching '}'", 1, 20},
	{"float *x", "x[i] = 1", "", "int q = 1; }", "", "k: loop_prep",
		"this '}' has no matching '{'", 1, 12},
	{"float *x", "x[i] = 1", "", "", "}", "k: after_loop", "this '}' has no matching '{'", 1,
		1},
	{"float *x", "x[i] = y; {}", "", "", "", "k: operation", "identifier \"y\" is undefined", 1,
		8},
};

DEVICE_TEST(a_mistake_in_a_text_is_shown_there)
{
	kz_elementwise *kernel = NULL;
	kz_custom_options options = KZ_CUSTOM_OPTIONS_INIT;
	options.name = "k";
	for (size_t m = 0; m < countof(mistakes); m++) {
		options.preamble = mistakes[m].preamble;
		options.loop_prep = mistakes[m].loop_prep;
		options.after_loop = mistakes[m].after_loop;
		ck_assert_int_eq(kz_elementwise_create(&kernel, dev, mistakes[m].arguments,
			mistakes[m].operation, &options, &err), KZ_COMPILE);
		ck_assert_msg(strstr(err.message, mistakes[m].message), "%zu: %s", m, err.message);
		ck_assert_str_eq(err.file, mistakes[m].file);
		ck_assert_msg(err.line == mistakes[m].line && err.column == mistakes[m].column,
			"%zu: %d:%d", m, err.line, err.column);
		ck_assert_ptr_nonnull(strstr(err.log, "^\n"));
		kz_error_clear(&err);
	}
}

/* Many at once */

DEVICE_TEST(each_class_of_layouts_is_compiled_once)
{
	int32_t host[64] = {0};
	int64_t before = support_compiled(dev);
	kz_slice all = KZ_SLICE(0, KZ_OMIT);
	kz_elementwise_call call = KZ_ELEMENTWISE_CALL_INIT;
	kz_elementwise *kernel = make("int *x", "x[i] += 1");
	kz_array *x = from(KZ_I32, KZ_SHAPE(8, 8), host), *even, *t;
	ok(kz_array_slice(&even, x, KZ_AT(KZ_ALL, KZ_SLICE(0, 8, 2)), &err));
	ok(kz_array_transpose(&t, x, KZ_AXES(), &err));
	call.slice = &all;
	for (int k = 0; k < 3; k++) {
		ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(x)));
		ck_assert_int_eq(support_compiled(dev), before + (k ? 4 : 1));
		ok(kz_elementwise_run(
			kernel, NULL, &err, KZ_ARGS(even))); /* one axis of a stride */
		ck_assert_int_eq(support_compiled(dev), before + (k ? 4 : 2));
		ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(t)));    /* two axes */
		ck_assert_int_eq(support_compiled(dev), before + (k ? 4 : 3));
		ok(kz_elementwise_run(kernel, &call, &err, KZ_ARGS(x)));
		ck_assert_int_eq(support_compiled(dev), before + 4);
	}
	ok(kz_array_get(x, host, sizeof(host), &err));
	ck_assert(host[0] == 12 && host[1] == 9);
	release_arrays(even, x, t);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(arrays_that_share_memory_have_a_kernel_of_their_own)
{
	int32_t host[2000] = {0};
	int64_t before = support_compiled(dev);
	int64_t shared = dev->serial ? 1 : 2; /* where the compiler reads ahead */
	kz_elementwise *kernel = make("const int *x, const int *w, int *y",
		"y[i] = x[i] + w[i] + 1");
	kz_array *x = from(KZ_I32, KZ_SHAPE(2000), host), *y;
	ok(kz_array_zeros_like(&y, x, 0, &err));
	ck_assert_int_eq(support_compiled(dev), before + 1);
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(x, x, y)));
	ck_assert_int_eq(support_compiled(dev), before + 1);
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(y, x, y)));
	ck_assert_int_eq(support_compiled(dev), before + shared);
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(y, y, y)));
	ck_assert_int_eq(support_compiled(dev), before + shared);
	ok(kz_array_get(y, host, sizeof(host), &err));
	for (int i = 0; i < 2000; i++) {
		ck_assert_int_eq(host[i], 5);
	}
	release_arrays(x, y);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(calls_in_streams_happen_in_order)
{
	int32_t host[1000];
	kz_elementwise_call call = KZ_ELEMENTWISE_CALL_INIT;
	kz_stream *streams[2];
	kz_elementwise *kernel = make("int *x, int a", "x[i] = a * x[i] + 1");
	kz_array *x;
	ok(kz_array_zeros(&x, dev, KZ_I32, KZ_SHAPE(1000), &err));
	ok(kz_stream_create(&streams[0], dev, 0, &err));
	ok(kz_stream_create(&streams[1], dev, 0, &err));
	int32_t want = 0;
	for (int k = 0; k < 20; k++) {
		call.stream = k % 3 ? streams[k % 2] : NULL;
		ok(kz_elementwise_run(kernel, &call, &err, KZ_ARGS(x, k % 4)));
		want = k % 4 * want + 1;
	}
	kz_elementwise_release(kernel);
	ok(kz_array_get(x, host, sizeof(host), &err));
	ck_assert(host[0] == want && host[999] == want);
	kz_array_release(x);
	kz_stream_release(streams[0]);
	kz_stream_release(streams[1]);
}

START_TEST(a_kernel_keeps_its_texts_and_its_device)
{
	kz_elementwise *kernel = NULL;
	char arguments[] = "float *x", operation[] = "x[i] = 1";
	setup(_i);
	ok(kz_elementwise_create(&kernel, dev, arguments, operation, NULL, &err));
	memset(arguments, '?', sizeof(arguments) - 1);
	memset(operation, '?', sizeof(operation) - 1);
	float host[4] = {0};
	kz_array *x = from(KZ_F32, KZ_SHAPE(2, 2), host), *t;
	ok(kz_array_transpose(&t, x, KZ_AXES(), &err));
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(t)));
	ok(kz_array_get(x, host, sizeof(host), &err));
	ck_assert(host[0] == 1 && host[3] == 1);
	release_arrays(x, t);
	teardown();
	kz_elementwise_release(kernel);
}
END_TEST

DEVICE_TEST(a_kernel_is_made_and_run_or_memory_ran_out)
{
	static const char *const defines[] = {"A=1", NULL};
	kz_compile_options compile = KZ_COMPILE_OPTIONS_INIT;
	kz_custom_options options = KZ_CUSTOM_OPTIONS_INIT;
	bool failed = true;
	float host[4] = {0};
	compile.defines = defines;
	compile.arch = "compute_75";
	options.compile = &compile;
	kz_array *x = from(KZ_F32, KZ_SHAPE(2, 2), host), *t;
	ok(kz_array_transpose(&t, x, KZ_AXES(), &err));
	for (long n = 0; failed; n++) {
		kz_elementwise *kernel = NULL;
		ck_assert_int_lt(n, 3000);
		mem_fail_after(n);
		kz_status st = kz_elementwise_create(&kernel, dev, "const float *x, float *y",
			"y[i] = x[i] + A", &options, NULL);
		st = st ? st : kz_elementwise_run(kernel, NULL, NULL, KZ_ARGS(t, t));
		kz_elementwise_release(kernel);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(st == KZ_OK || (failed && st == KZ_NO_MEMORY));
	}
	release_arrays(x, t);
}

SUITE(custom)
{
	Suite *suite = suite_create("custom");
	const TTest *const elements[] = {an_operation_runs_for_each_element,
		a_thread_s_elements_are_all_reached_whatever_their_size,
		a_linear_combination_needs_no_const, an_operation_has_its_index_and_the_count,
		preamble_and_loops_around_are_compiled_in, NULL};
	const TTest *const ranges[] = {a_slice_says_which_elements_it_runs_for,
		a_range_is_what_the_index_goes_through,
		a_range_or_slice_that_makes_no_sense_is_refused, NULL};
	const TTest *const types[] = {complex_numbers_have_operators_and_functions,
		complex_numbers_go_with_those_of_the_standard,
		halves_are_cuda_s_own_types, structs_and_vectors_are_elements,
		all_kinds_of_numbers_are_arguments, NULL};
	const TTest *const refused[] = {arguments_that_do_not_match_the_list_are_refused,
		an_array_of_another_device_is_refused, a_kernel_that_cannot_be_made_says_why,
		a_mistake_in_a_text_is_shown_there, NULL};
	const TTest *const many[] = {each_class_of_layouts_is_compiled_once,
		arrays_that_share_memory_have_a_kernel_of_their_own,
		calls_in_streams_happen_in_order,
		a_kernel_keeps_its_texts_and_its_device, a_kernel_is_made_and_run_or_memory_ran_out,
		NULL};
	add_tests(suite, "elements", elements);
	add_tests(suite, "ranges", ranges);
	add_tests(suite, "types", types);
	add_tests(suite, "refused", refused);
	add_tests(suite, "many", many);
	return suite;
}
