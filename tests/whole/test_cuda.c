/* SPDX-License-Identifier: MIT */
/*
 * Real CUDA sources, tests/data/cuda/NAME.cu, on every device found, against the same computation in C.
 * Compiled with --fmad=false where the C side is to agree to the last bit.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "support/ints.h"
#include "support/support.h"
#include "support/suite.h"

#include <kudzu/kudzu.h>

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static kz_error err;
static kz_device *dev;
static kz_module *mod;

static void compile(const char *name)
{
	static const char *const options[] = {"--fmad=false", "--device-int128", NULL};
	kz_compile_options how = KZ_COMPILE_OPTIONS_INIT;
	char path[512];
	char *source = NULL;
	size_t size;
	snprintf(path, sizeof(path), "%s/data/cuda/%s", KZ_TEST_DIR, name);
	ok(file_read(&source, &size, path, &err));
	how.name = name;
	how.nvrtc_options = options;
	ok(kz_module_compile(&mod, dev, source, &how, &err));
	mem_free(source);
}

static kz_kernel *find(const char *name)
{
	kz_kernel *kernel = NULL;
	ok(kz_module_kernel(&kernel, mod, name, &err));
	return kernel;
}

static void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	mod = NULL;
	dev = support_open(index);
}

static void teardown(void)
{
	kz_module_release(mod);
	kz_device_close(dev);
	kz_error_clear(&err);
}

/* Numbers in [0, 1) that are the same on every run. */
static uint32_t random_state;

static uint32_t random_u32(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return random_state ^ random_state >> 15;
}

static float *random_floats(size_t count)
{
	float *data = malloc(count * sizeof(*data));
	ck_assert_ptr_nonnull(data);
	for (size_t i = 0; i < count; i++) {
		data[i] = (float)(random_u32() >> 8) / 16777216.0f - 0.25f;
	}
	return data;
}

static kz_array *upload(kz_dtype dtype, const void *host, int64_t count)
{
	kz_array *array = NULL;
	ok(kz_array_from(&array, dev, dtype, KZ_SHAPE(count), host, count * kz_dtype_size(dtype),
		&err));
	return array;
}

static void download(kz_array *array, void *host)
{
	ok(kz_array_get(array, host, kz_array_size(array), &err));
	kz_array_release(array);
}

DEVICE_TEST(vecadd_adds_with_a_ragged_last_block)
{
	enum { N = 1000 };
	float c[N];
	compile("01_vecadd.cu");
	float *a = random_floats(N);
	float *b = random_floats(N);
	kz_array *da = upload(KZ_F32, a, N), *db = upload(KZ_F32, b, N);
	kz_array *dc = upload(KZ_F32, a, N);
	ok(kz_launch(find("vecadd"), kz_dim(8, 1, 1), kz_dim(128, 1, 1), NULL, &err,
		KZ_ARGS(da, db, dc, (int)N)));
	download(dc, c);
	for (int i = 0; i < N; i++) {
		ck_assert(c[i] == a[i] + b[i]);
	}
	release_arrays(da, db);
	free(a);
	free(b);
}

DEVICE_TEST(saxpy_strides_over_the_grid)
{
	enum { N = 5000 };
	float out[N];
	compile("01_vecadd.cu");
	float *x = random_floats(N);
	float *y = random_floats(N);
	kz_array *dx = upload(KZ_F32, x, N), *dy = upload(KZ_F32, y, N);
	ok(kz_launch(find("saxpy"), kz_dim(3, 1, 1), kz_dim(96, 1, 1), NULL, &err,
		KZ_ARGS(2.5f, dx, dy, (int)N)));
	download(dy, out);
	for (int i = 0; i < N; i++) {
		float product = 2.5f * x[i];
		ck_assert(out[i] == product + y[i]);
	}
	kz_array_release(dx);
	free(x);
	free(y);
}

DEVICE_TEST(matmul_tiles_with_barriers)
{
	enum { N = 48 };
	float c[N * N];
	compile("02_matmul.cu");
	float *a = random_floats(N * N);
	float *b = random_floats(N * N);
	kz_array *da = upload(KZ_F32, a, N * N), *db = upload(KZ_F32, b, N * N);
	kz_array *dc = upload(KZ_F32, a, N * N);
	ok(kz_launch(find("mm"), kz_dim(N / 16, N / 16, 1), kz_dim(16, 16, 1), NULL, &err,
		KZ_ARGS(da, db, dc, (int)N)));
	download(dc, c);
	for (int i = 0; i < N * N; i++) {
		float sum = 0;
		for (int k = 0; k < N; k++) {
			float product = a[i / N * N + k] * b[k * N + i % N];
			sum += product;
		}
		ck_assert_msg(c[i] == sum, "element %d: %g, not %g", i, (double)c[i], (double)sum);
	}
	release_arrays(da, db);
	free(a);
	free(b);
}

DEVICE_TEST(constants_globals_and_shared_memory_work_together)
{
	enum { N = 64 };
	static const float table[4] = {1, 2, 3, 4};
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	float out[N];
	int counter = 0, managed = 0, one = 5;
	compile("08_smem_const.cu");
	float *coef = random_floats(N);
	ok(kz_module_set_global(mod, "coef", coef, N * sizeof(float), &err));
	ok(kz_module_set_global(mod, "ci", &one, sizeof(one), &err));
	options.shared_size = N * (int64_t)sizeof(float);
	kz_array *d = upload(KZ_F32, coef, N);
	ok(kz_launch(find("dyn"), kz_dim(1, 1, 1), kz_dim(N, 1, 1), &options, &err,
		KZ_ARGS(d, (int)N)));
	download(d, out);
	ok(kz_module_get_global(mod, "counter", &counter, sizeof(counter), &err));
	ok(kz_module_get_global(mod, "man", &managed, sizeof(managed), &err));
	for (int t = 0; t < N; t++) {
		int s = N - 1 - t;
		float product = coef[s & 63] * table[s & 3];
		float shared = product + (float)one;
		ck_assert(out[t] == (float)((double)shared + 2.0 + 1.0));
	}
	ck_assert_int_eq(counter, 7 + 2);
	ck_assert_int_eq(managed, 3 + 1);
	free(coef);
}

DEVICE_TEST(dynamic_shared_memory_holds_two_types)
{
	enum { N = 96 };
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	double in[N], out[N];
	compile("08_smem_const.cu");
	for (int i = 0; i < N; i++) {
		in[i] = sqrt(i);
	}
	options.shared_size = N * (int64_t)(sizeof(double) + sizeof(int));
	kz_array *d = upload(KZ_F64, in, N);
	ok(kz_launch(find("dyn2"), kz_dim(1, 1, 1), kz_dim(N, 1, 1), &options, &err, KZ_ARGS(d)));
	download(d, out);
	for (int i = 0; i < N; i++) {
		ck_assert(out[i] == in[N - 1 - i]);
	}
}

DEVICE_TEST(integer_arithmetic_is_exact)
{
	compile("13_int.cu");
	kz_kernel *kernel = find("im");
	for (int round = 0; round < 200; round++) {
		struct ints got = ints_random(random_u32);
		struct ints want = got;
		ints_compute(&want);
		ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
			KZ_ARGS(KZ_INOUT(got.x, sizeof(got.x)), KZ_INOUT(got.u, sizeof(got.u)),
				KZ_INOUT(got.l, sizeof(got.l)), KZ_INOUT(got.ul, sizeof(got.ul)),
				KZ_INOUT(got.h, sizeof(got.h)), KZ_INOUT(got.c, sizeof(got.c)), 1)));
		ck_assert_int_eq(got.x[0], want.x[0]);
		ck_assert_int_eq(got.x[2], want.x[2]);
		ck_assert_uint_eq(got.u[0], want.u[0]);
		ck_assert_int_eq(got.l[0], want.l[0]);
		ck_assert_int_eq(got.l[2], want.l[2]);
		ck_assert_uint_eq(got.ul[0], want.ul[0]);
		ck_assert_uint_eq(got.ul[3], want.ul[3]);
		ck_assert_int_eq(got.h[0], want.h[0]);
		ck_assert_int_eq(got.c[0], want.c[0]);
	}
}

DEVICE_TEST(nbody_forces_agree_with_double_precision)
{
	enum { N = 256, BLOCK = 64 };
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	float out[3 * N];
	compile("20_nbody.cu");
	float *p = random_floats(4 * N);
	options.shared_size = BLOCK * 16;
	kz_array *dp = upload(KZ_F32, p, 4 * N), *da = upload(KZ_F32, p, 3 * N);
	ok(kz_launch(find("nbody"), kz_dim(N / BLOCK, 1, 1), kz_dim(BLOCK, 1, 1), &options, &err,
		KZ_ARGS(dp, da, (int)N)));
	download(da, out);
	for (int i = 0; i < N; i++) {
		double sum[3] = {0}, scale = 0;
		for (int j = 0; j < N; j++) {
			double d[3], r2 = 1e-9;
			for (int k = 0; k < 3; k++) {
				d[k] = (double)p[4 * j + k] - (double)p[4 * i + k];
				r2 += d[k] * d[k];
			}
			double weight = (double)p[4 * j + 3] / (r2 * sqrt(r2));
			for (int k = 0; k < 3; k++) {
				sum[k] += d[k] * weight;
				scale += fabs(d[k] * weight);
			}
		}
		for (int k = 0; k < 3; k++) {
			ck_assert_double_le(fabs((double)out[3 * i + k] - sum[k]), 1e-5 * scale);
		}
	}
	kz_array_release(dp);
	free(p);
}

static int mandel(float cx, float cy, int most)
{
	float a = 0, b = 0;
	int i = 0;
	while (a * a + b * b < 4 && i < most) {
		float t = a * a - b * b + cx;
		b = 2 * a * b + cy;
		a = t;
		i++;
	}
	return i;
}

DEVICE_TEST(mandelbrot_diverges_pixel_by_pixel)
{
	enum { W = 70, H = 50, M = 100 };
	int got[W * H];
	compile("20_nbody.cu");
	kz_array *d = NULL;
	ok(kz_array_zeros(&d, dev, KZ_I32, KZ_SHAPE(H, W), &err));
	ok(kz_launch(find("mandel"), kz_dim(5, 7, 1), kz_dim(16, 8, 1), NULL, &err,
		KZ_ARGS(d, (int)W, (int)H, (int)M)));
	download(d, got);
	for (int i = 0; i < W * H; i++) {
		float cx = -2 + 3.f * (float)(i % W) / W, cy = -1 + 2.f * (float)(i / W) / H;
		ck_assert_int_eq(got[i], mandel(cx, cy, M));
	}
}

DEVICE_TEST(transpose_works_on_ragged_tiles)
{
	enum { W = 75, H = 40 };
	float out[W * H];
	compile("20_nbody.cu");
	float *in = random_floats(W * H);
	kz_array *di = upload(KZ_F32, in, W * H), *dout = upload(KZ_F32, in, W * H);
	ok(kz_launch(find("transpose"), kz_dim(3, 2, 1), kz_dim(32, 8, 1), NULL, &err,
		KZ_ARGS(di, dout, (int)W, (int)H)));
	download(dout, out);
	for (int y = 0; y < H; y++) {
		for (int x = 0; x < W; x++) {
			ck_assert(out[x * H + y] == in[y * W + x]);
		}
	}
	kz_array_release(di);
	free(in);
}

DEVICE_TEST(scan_sums_with_barriers_in_a_loop)
{
	enum { N = 100 };
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	int in[N], out[N], sum = 0;
	compile("20_nbody.cu");
	for (int i = 0; i < N; i++) {
		in[i] = (int)(random_u32() % 1000);
	}
	options.shared_size = sizeof(in);
	kz_array *d = upload(KZ_I32, in, N);
	ok(kz_launch(find("scan"), kz_dim(1, 1, 1), kz_dim(N, 1, 1), &options, &err,
		KZ_ARGS(d, (int)N)));
	download(d, out);
	for (int i = 0; i < N; i++) {
		sum += in[i];
		ck_assert_int_eq(out[i], sum);
	}
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

DEVICE_TEST(bitonic_sort_passes_45_barriers)
{
	uint32_t in[512], out[512];
	compile("20_nbody.cu");
	for (int i = 0; i < 512; i++) {
		in[i] = random_u32();
	}
	kz_array *d = upload(KZ_U32, in, 512);
	ok(kz_launch(find("bitonic"), kz_dim(1, 1, 1), kz_dim(512, 1, 1), NULL, &err, KZ_ARGS(d)));
	download(d, out);
	qsort(in, 512, sizeof(in[0]), compare_u32);
	ck_assert_mem_eq(in, out, sizeof(in));
}

static int clamp(int v, int most)
{
	return v < 0 ? 0 : v > most ? most : v;
}

DEVICE_TEST(convolution_clamps_at_the_edges)
{
	enum { W = 37, H = 29 };
	uint8_t in[W * H], out[W * H];
	compile("21_stencil_conv.cu");
	float *k = random_floats(25);
	for (int i = 0; i < W * H; i++) {
		in[i] = (uint8_t)random_u32();
	}
	ok(kz_module_set_global(mod, "K", k, 25 * sizeof(float), &err));
	kz_array *di = upload(KZ_U8, in, W * H), *dout = upload(KZ_U8, in, W * H);
	ok(kz_launch(find("conv"), kz_dim(3, 4, 1), kz_dim(16, 8, 1), NULL, &err,
		KZ_ARGS(di, dout, (int)W, (int)H)));
	download(dout, out);
	for (int y = 0; y < H; y++) {
		for (int x = 0; x < W; x++) {
			float s = 0;
			for (int i = 0; i < 25; i++) {
				int xx = clamp(x + i % 5 - 2, W - 1), yy = clamp(y + i / 5 - 2, H - 1);
				float product = k[i] * (float)in[yy * W + xx];
				s += product;
			}
			ck_assert_int_eq(out[y * W + x], (uint8_t)fminf(fmaxf(s, 0.f), 255.f));
		}
	}
	kz_array_release(di);
	free(k);
}

DEVICE_TEST(heat_stencil_is_exact_in_double)
{
	enum { X = 20, Y = 12, Z = 6, N = X * Y * Z };
	double a[N], out[N];
	const double c = 0.1;
	compile("21_stencil_conv.cu");
	for (int i = 0; i < N; i++) {
		a[i] = (double)random_u32() / 4e9;
	}
	kz_array *da = upload(KZ_F64, a, N), *db = upload(KZ_F64, a, N);
	ok(kz_launch(find("heat"), kz_dim(3, 2, 1), kz_dim(8, 8, 1), NULL, &err,
		KZ_ARGS(da, db, (int)X, (int)Y, (int)Z, c)));
	download(db, out);
	for (int p = 0; p < N; p++) {
		int i = p % X, j = p / X % Y, k = p / (X * Y);
		double want = a[p];
		if (i >= 1 && j >= 1 && k >= 1 && i < X - 1 && j < Y - 1 && k < Z - 1) {
			double sum = a[p - 1] + a[p + 1] + a[p - X] + a[p + X] + a[p - X * Y]
				+ a[p + X * Y] - 6 * a[p];
			want = a[p] + c * sum;
		}
		ck_assert(out[p] == want);
	}
	kz_array_release(da);
}

DEVICE_TEST(softmax_rows_agree_with_double_precision)
{
	enum { ROWS = 3, N = 300 };
	float out[ROWS * N];
	compile("21_stencil_conv.cu");
	float *in = random_floats(ROWS * N);
	kz_array *di = upload(KZ_F32, in, ROWS * N), *dout = upload(KZ_F32, in, ROWS * N);
	ok(kz_launch(find("softmax"), kz_dim(ROWS, 1, 1), kz_dim(256, 1, 1), NULL, &err,
		KZ_ARGS(di, dout, (int)N)));
	download(dout, out);
	for (int row = 0; row < ROWS; row++) {
		double sum = 0;
		for (int i = 0; i < N; i++) {
			sum += exp((double)in[row * N + i]);
		}
		for (int i = 0; i < N; i++) {
			double want = exp((double)in[row * N + i]) / sum;
			ck_assert_double_le(fabs((double)out[row * N + i] - want), 1e-6 * want);
		}
	}
	kz_array_release(di);
	free(in);
}

SUITE(cuda)
{
	Suite *s = suite_create("cuda");
	TCase *tc = suite_add_case(s, "kernels");
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, support_device_count(), vecadd_adds_with_a_ragged_last_block,
		saxpy_strides_over_the_grid, matmul_tiles_with_barriers,
		constants_globals_and_shared_memory_work_together,
		dynamic_shared_memory_holds_two_types, integer_arithmetic_is_exact,
		nbody_forces_agree_with_double_precision, mandelbrot_diverges_pixel_by_pixel,
		transpose_works_on_ragged_tiles, scan_sums_with_barriers_in_a_loop,
		bitonic_sort_passes_45_barriers, convolution_clamps_at_the_edges,
		heat_stencil_is_exact_in_double, softmax_rows_agree_with_double_precision);
	return s;
}
