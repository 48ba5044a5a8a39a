/* SPDX-License-Identifier: MIT */
/*
 * Real CUDA sources, tests/data/cuda/NAME.cu, on every device found, against the same computation
 * in C.  Compiled with --fmad=false where the C side is to agree to the last bit.  All kernels of
 * these sources run in tests/cpu/corpus, on the driver alone.
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
				KZ_INOUT(got.h, sizeof(got.h)), KZ_INOUT(got.c, sizeof(got.c)),
				1)));
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

SUITE(cuda)
{
	Suite *s = suite_create("cuda");
	TCase *tc = suite_add_case(s, "kernels");
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, support_device_count(), vecadd_adds_with_a_ragged_last_block,
		saxpy_strides_over_the_grid, matmul_tiles_with_barriers,
		constants_globals_and_shared_memory_work_together,
		dynamic_shared_memory_holds_two_types, integer_arithmetic_is_exact,
		transpose_works_on_ragged_tiles);
	return s;
}
