/* SPDX-License-Identifier: MIT */
/* Products of matrices on every device, against three loops over host memory. */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

static uint32_t state;

static int32_t draw(int32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (int32_t)((state >> 8) % (uint32_t)below);
}

/* Small integers of some dtype: all their products and sums are exact in every type. */
static kz_array *draw_array(kz_dtype dtype, kz_shape shape, double *host)
{
	kz_array *doubles, *array;
	int64_t count = support_count(&shape);
	for (int64_t i = 0; i < count; i++) {
		host[i] = dtype == KZ_BOOL ? draw(4) == 0 : draw(dtype >= KZ_U8 && dtype <= KZ_U64 ? 3 : 5)
			- (dtype >= KZ_U8 && dtype <= KZ_U64 ? 0 : 2);
	}
	ok(kz_array_from(&doubles, dev, KZ_F64, shape, host, 8 * count, &err));
	ok(kz_array_astype(&array, doubles, dtype, &err));
	kz_array_release(doubles);
	return array;
}

static void check_doubles(kz_array *array, const double *want, int64_t count)
{
	static double got[1 << 16];
	kz_array *doubles;
	ck_assert_int_eq(kz_array_count(array), count);
	ok(kz_array_astype(&doubles, array, KZ_F64, &err));
	ok(kz_array_get(doubles, got, 8 * count, &err));
	kz_array_release(doubles);
	ck_assert_mem_eq(got, want, (size_t)(8 * count));
}

static void multiply(double *c, const double *a, const double *b, int64_t m, int64_t n, int64_t k)
{
	for (int64_t i = 0; i < m; i++) {
		for (int64_t j = 0; j < n; j++) {
			double sum = 0;
			for (int64_t l = 0; l < k; l++) {
				sum += a[i * k + l] * b[l * n + j];
			}
			c[i * n + j] = sum;
		}
	}
}

DEVICE_TEST(a_product_is_what_three_loops_give_in_every_type)
{
	static double a[70 * 70], b[70 * 70], c[70 * 70];
	for (kz_dtype dtype = KZ_BOOL; dtype <= KZ_C128; dtype++) {
		state = dtype;
		for (int round = 0; round < 6; round++) {
			int64_t m = draw(round < 3 ? 6 : 70), n = draw(70), k = draw(dtype == KZ_I8
				|| dtype == KZ_U8 ? 15 : 70);
			kz_array *x = draw_array(dtype, KZ_SHAPE(m, k), a);
			kz_array *y = draw_array(dtype, KZ_SHAPE(k, n), b), *z;
			ok(kz_matmul(&z, x, y, NULL, &err));
			ck_assert_uint_eq(kz_array_dtype(z), dtype);
			multiply(c, a, b, m, n, k);
			for (int64_t i = 0; dtype == KZ_BOOL && i < m * n; i++) {
				c[i] = c[i] != 0;
			}
			check_doubles(z, c, m * n);
			release_arrays(x, y, z);
		}
	}
}

DEVICE_TEST(operands_can_have_any_strides)
{
	static double a[12 * 20], b[20 * 9], turned[20 * 12], c[12 * 9];
	const int64_t columns[2] = {8, 12 * 8}, backwards[2] = {-9 * 8, 8}, wide[2] = {72, 16};
	kz_array *x = draw_array(KZ_F64, KZ_SHAPE(20, 12), turned), *view, *z, *down, *odd;
	kz_array *y = draw_array(KZ_F64, KZ_SHAPE(20, 9), b);
	for (int i = 0; i < 240; i++) {
		a[i] = turned[i % 20 * 12 + i / 20];
	}
	ok(kz_array_view(&view, x, KZ_SHAPE(12, 20), columns, 0, &err));
	ok(kz_matmul(&z, view, y, NULL, &err));
	multiply(c, a, b, 12, 9, 20);
	check_doubles(z, c, 108);
	kz_array_release(z);
	/* The rows of y from the last to the first. */
	ok(kz_array_view(&down, y, KZ_SHAPE(20, 9), backwards, 19 * 9 * 8, &err));
	ok(kz_matmul(&z, view, down, NULL, &err));
	double flipped[20 * 9];
	for (int i = 0; i < 180; i++) {
		flipped[i] = b[(19 - i / 9) * 9 + i % 9];
	}
	multiply(c, a, flipped, 12, 9, 20);
	check_doubles(z, c, 108);
	kz_array_release(z);
	/* A second operand whose rows have gaps: every other column of y. */
	ok(kz_array_view(&odd, y, KZ_SHAPE(20, 4), wide, 0, &err));
	ok(kz_matmul(&z, view, odd, NULL, &err));
	for (int i = 0; i < 80; i++) {
		flipped[i] = b[i / 4 * 9 + i % 4 * 2];
	}
	multiply(c, a, flipped, 12, 4, 20);
	check_doubles(z, c, 48);
	release_arrays(z, x, y, view, down, odd);
}

/* (2, 1, 3, m, k) by (4, 1, k, n): three extents of batch, each broadcast in another way. */
DEVICE_TEST(batches_broadcast)
{
	enum { M = 3, N = 5, K = 4 };
	static double a[6 * M * K], b[4 * K * N], c[24 * M * N];
	kz_array *x = draw_array(KZ_F32, KZ_SHAPE(2, 1, 3, M, K), a);
	kz_array *y = draw_array(KZ_F32, KZ_SHAPE(4, 1, K, N), b), *z;
	ok(kz_matmul(&z, x, y, NULL, &err));
	ck_assert_int_eq(kz_array_ndim(z), 5);
	ck_assert_int_eq(kz_array_shape(z).dims[1], 4);
	for (int i = 0; i < 24; i++) {
		int outer = i / 12, middle = i / 3 % 4, inner = i % 3;
		multiply(c + i * M * N, a + (outer * 3 + inner) * M * K, b + middle * K * N, M, N, K);
	}
	check_doubles(z, c, 24 * M * N);
	release_arrays(x, y, z);
}

DEVICE_TEST(vectors_are_rows_and_columns)
{
	static double a[7], b[7 * 3], c[3];
	kz_array *x = draw_array(KZ_I32, KZ_SHAPE(7), a);
	kz_array *y = draw_array(KZ_I32, KZ_SHAPE(7, 3), b);
	kz_array *z, *empty, *none;
	ok(kz_matmul(&z, x, y, NULL, &err));
	ck_assert_int_eq(kz_array_ndim(z), 1);
	multiply(c, a, b, 1, 3, 7);
	check_doubles(z, c, 3);
	kz_array_release(z);
	ok(kz_matmul(&z, x, x, NULL, &err));
	ck_assert_int_eq(kz_array_ndim(z), 0);
	multiply(c, a, a, 1, 1, 7);
	check_doubles(z, c, 1);
	kz_array_release(z);
	ok(kz_array_zeros(&none, dev, KZ_F32, KZ_SHAPE(2, 0), &err));
	ok(kz_array_zeros(&empty, dev, KZ_I8, KZ_SHAPE(0, 2), &err));
	ok(kz_matmul(&z, none, empty, NULL, &err));
	check_doubles(z, (const double[]){0, 0, 0, 0}, 4);
	release_arrays(z, empty, none, x, y);
}

DEVICE_TEST(a_product_goes_into_an_array)
{
	static double a[16], b[16], c[16];
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_array *z;
	kz_array *x = draw_array(KZ_F32, KZ_SHAPE(4, 4), a);
	kz_array *y = draw_array(KZ_F32, KZ_SHAPE(4, 4), b);
	options.into = x;
	ok(kz_matmul(NULL, x, y, &options, &err));
	multiply(c, a, b, 4, 4, 4);
	check_doubles(x, c, 16);
	options.into = NULL;
	options.dtype = KZ_F64;
	ok(kz_matmul(&z, y, y, &options, &err));
	ck_assert_uint_eq(kz_array_dtype(z), KZ_F64);
	multiply(c, b, b, 4, 4, 4);
	check_doubles(z, c, 16);
	release_arrays(x, y, z);
}

DEVICE_TEST(operands_that_do_not_fit_are_refused)
{
	kz_array *x, *y, *row, *scalar, *z = NULL;
	ok(kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(2, 3), &err));
	ok(kz_array_zeros(&y, dev, KZ_F32, KZ_SHAPE(4, 5), &err));
	ok(kz_array_zeros(&scalar, dev, KZ_F32, KZ_SHAPE(), &err));
	fails(kz_matmul(&z, x, y, NULL, &err), KZ_INVALID,
		"matmul: shapes (2, 3) and (4, 5) do not fit: 3 columns against 4 rows");
	fails(kz_matmul(&z, x, scalar, NULL, &err), KZ_INVALID, "got shapes (2, 3) and ()");
	fails(kz_matmul(&z, NULL, y, NULL, &err), KZ_INVALID, "expected an array, got NULL");
	ok(kz_array_view(&row, x, KZ_SHAPE(3), NULL, 0, &err));
	fails(kz_matmul(NULL, x, row, NULL, &err), KZ_INVALID, "out is NULL");
	kz_array_release(row);
	ck_assert_ptr_null(z);
	release_arrays(x, y, scalar);
}

/* Sums in the order of k, each step rounded: the same bits from both kernels and from C. */
DEVICE_TEST(sums_run_in_the_order_of_k)
{
	enum { N = 67 };
	static float a[N * N], b[N * N], c[N * N], got[N * N];
	kz_array *x, *y, *z;
	state = 7;
	for (int i = 0; i < N * N; i++) {
		a[i] = (float)draw(1 << 20) / 1000;
		b[i] = (float)draw(1 << 20) / 3000 - 100;
	}
	for (int i = 0; i < N * N; i++) {
		volatile float sum = 0;
		for (int k = 0; k < N; k++) {
			volatile float product = a[i / N * N + k] * b[k * N + i % N];
			sum += product;
		}
		c[i] = sum;
	}
	ok(kz_array_from(&x, dev, KZ_F32, KZ_SHAPE(N, N), a, sizeof(a), &err));
	ok(kz_array_from(&y, dev, KZ_F32, KZ_SHAPE(N, N), b, sizeof(b), &err));
	ok(kz_matmul(&z, x, y, NULL, &err));
	ok(kz_array_get(z, got, sizeof(got), &err));
	ck_assert_mem_eq(got, c, sizeof(c));
	release_arrays(x, y, z);
}

DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	static double a[12];
	const int64_t strides[2] = {2, 8};
	int failed = 0;
	kz_array *x = draw_array(KZ_F16, KZ_SHAPE(3, 4), a), *turned;
	ok(kz_array_view(&turned, x, KZ_SHAPE(4, 3), strides, 0, &err));
	for (long n = 0;; n++) {
		kz_array *z = NULL;
		mem_fail_after(n);
		kz_status st = kz_matmul(&z, x, turned, NULL, &err);
		bool done = !mem_has_failed();
		mem_fail_after(-1);
		ck_assert(done ? st == KZ_OK : st != KZ_OK || z);
		failed += st != KZ_OK;
		kz_error_clear(&err);
		kz_array_release(z);
		if (done) {
			break;
		}
	}
	ck_assert_int_gt(failed, 3); /* a cache does without memory */
	release_arrays(x, turned);
}

SUITE(matmul)
{
	Suite *suite = suite_create("matmul");
	TCase *tcase = suite_add_case(suite, "matmul");
	int devices = both_shapes_count();
	tcase_add_tests(tcase, devices, a_product_is_what_three_loops_give_in_every_type,
		operands_can_have_any_strides, batches_broadcast, vectors_are_rows_and_columns,
		a_product_goes_into_an_array, operands_that_do_not_fit_are_refused,
		sums_run_in_the_order_of_k, a_failing_allocation_leaves_nothing_behind);
	return suite;
}
