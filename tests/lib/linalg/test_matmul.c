/* SPDX-License-Identifier: MIT */
/* Products of matrices on every device, against three loops over host memory. */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "base/alloc.h"
#include "base/dl.h"
#include "lib/core/memory.h"
#include "support/suite.h"
#include "support/support.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static kz_error err;
static kz_device *dev;

/* Each device four times: with a library and without; our kernel in its form for CPUs and in that
 * for GPUs. */
static int ways_count(void)
{
	return 4 * support_device_count();
}

static void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	if (index % 2 == 0) {
		support_no_libraries();
	}
	dev = support_open(index / 4);
	dev->serial = index / 2 % 2 == 0;
}

static void teardown(void)
{
	support_close(dev);
}

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
		host[i] = dtype == KZ_BOOL ? draw(4) == 0 : draw(dtype_is_unsigned(dtype) ? 3 : 5)
			- (dtype_is_unsigned(dtype) ? 0 : 2);
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
	for (int64_t i = 0; i < count; i++) {
		ck_assert_double_eq(got[i], want[i]);
	}
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
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER));) {
		state = dtype;
		for (int round = 0; round < support_how_many(6, 2, 2); round++) {
			int64_t m = draw(round % 2 ? 70 : 6), n = draw(70), k = draw(dtype == KZ_I8
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

DEVICE_TEST(a_second_operand_of_one_row_can_have_gaps)
{
	static double a[7], b[18], every_other[9], c[7 * 9];
	kz_array *x = draw_array(KZ_F64, KZ_SHAPE(7, 1), a),
		*y = draw_array(KZ_F64, KZ_SHAPE(1, 18), b);
	kz_array *view, *z;
	const int64_t gaps[2] = {18 * 8, 16};
	ok(kz_array_view(&view, y, KZ_SHAPE(1, 9), gaps, 0, &err));
	ok(kz_matmul(&z, x, view, NULL, &err));
	for (int i = 0; i < 9; i++) {
		every_other[i] = b[2 * i];
	}
	multiply(c, a, every_other, 7, 9, 1);
	check_doubles(z, c, 63);
	release_arrays(x, y, view, z);
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
		multiply(c + i * M * N, a + (outer * 3 + inner) * M * K, b + middle * K * N, M, N,
			K);
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

/* The matrices of an operand as they count, (4, rows, columns): transposed, conjugated. */
static void turn(double complex *out, const double complex *in, int rows, int columns,
	kz_matrix_op op)
{
	for (int i = 0; i < 4 * rows * columns; i++) {
		int row = i / columns % rows, column = i % columns;
		int matrix = i - i % (rows * columns);
		double complex x = in[op ? matrix + column * rows + row : i];
		out[i] = op == KZ_MATRIX_ADJOINT ? conj(x) : x;
	}
}

DEVICE_TEST(matmul_op_multiplies_what_it_has_turned)
{
	enum { M = 3, N = 5, K = 4 };
	static double complex a[4 * M * K], b[4 * K * N], x[4 * M * K], y[4 * K * N];
	static double complex got[4 * M * N];
	for (int i = 0; i < 4 * M * K; i++) {
		a[i] = draw(9) - 4 + (draw(9) - 4) * I;
	}
	for (int i = 0; i < 4 * K * N; i++) {
		b[i] = draw(9) - 4 + (draw(9) - 4) * I;
	}
	for (int way = 0; way < 9; way++) {
		const kz_matrix_op ops[2] = {(kz_matrix_op)(way / 3), (kz_matrix_op)(way % 3)};
		kz_array *left, *right, *z;
		ok(kz_array_from(&left, dev, KZ_C128, ops[0] ? KZ_SHAPE(4, K, M)
			: KZ_SHAPE(4, M, K), a, sizeof(a), &err));
		ok(kz_array_from(&right, dev, KZ_C128, ops[1] ? KZ_SHAPE(4, N, K)
			: KZ_SHAPE(4, K, N), b, sizeof(b), &err));
		ok(kz_matmul_op(&z, left, ops[0], right, ops[1], NULL, &err));
		ok(kz_array_get(z, got, sizeof(got), &err));
		turn(x, a, M, K, ops[0]);
		turn(y, b, K, N, ops[1]);
		for (int i = 0; i < 4 * M * N; i++) {
			int matrix = i / (M * N), row = i / N % M, column = i % N;
			double complex sum = 0;
			for (int k = 0; k < K; k++) {
				sum += x[(matrix * M + row) * K + k]
					* y[(matrix * K + k) * N + column];
			}
			ck_assert(creal(got[i]) == creal(sum) && cimag(got[i]) == cimag(sum));
		}
		release_arrays(left, right, z);
	}
}

/* In every type; into an operand; of vectors. */
DEVICE_TEST(matmul_op_does_what_matmul_does)
{
	static double a[5 * 3], c[9], turned[15];
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER));) {
		kz_op_options into = {.size = sizeof(into)};
		kz_array *x = draw_array(dtype, KZ_SHAPE(5, 3), a), *z, *row;
		for (int i = 0; i < 15; i++) {
			turned[i] = a[i % 5 * 3 + i / 5];
		}
		multiply(c, turned, a, 3, 3, 5);
		for (int i = 0; dtype == KZ_BOOL && i < 9; i++) {
			c[i] = c[i] != 0;
		}
		ok(kz_matmul_op(&z, x, KZ_MATRIX_ADJOINT, x, KZ_MATRIX_AS_IS, NULL, &err));
		ck_assert_uint_eq(kz_array_dtype(z), dtype);
		check_doubles(z, c, 9);
		ok(kz_array_slice(&row, x, KZ_AT(KZ_INDEX(0)), &err));
		into.into = row;
		multiply(turned, a, c, 1, 3, 3); // c is its own transpose
		ok(kz_matmul_op(NULL, z, KZ_MATRIX_TRANSPOSED, row, KZ_MATRIX_ADJOINT, &into,
			&err));
		for (int i = 0; dtype == KZ_BOOL && i < 3; i++) {
			turned[i] = turned[i] != 0;
		}
		check_doubles(row, turned, 3);
		release_arrays(x, z, row);
	}
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
	fails(kz_matmul_op(&z, x, KZ_MATRIX_TRANSPOSED, y, KZ_MATRIX_AS_IS, NULL, &err), KZ_INVALID,
		"matmul: op(a) of shape (3, 2) and op(b) of shape (4, 5) do not fit: 2 columns "
		"against 4 rows");
	fails(kz_matmul_op(&z, x, 3, y, KZ_MATRIX_AS_IS, NULL, &err), KZ_INVALID,
		"matmul: unknown kz_matrix_op 3");
	fails(kz_matmul_op(&z, x, 0, y, -1, NULL, &err), KZ_INVALID, "unknown kz_matrix_op -1");
	fails(kz_matmul_op(&z, scalar, 1, y, 1, NULL, &err), KZ_INVALID, "got shapes () and ");
	kz_array_release(row);
	ck_assert_ptr_null(z);
	release_arrays(x, y, scalar);
}

/* Sums in the order of k, one rounding a step: the same bits from our kernels and from C. */
DEVICE_TEST(sums_run_in_the_order_of_k)
{
	enum { N = 67 };
	static float a[N * N], b[N * N], c[N * N], got[N * N];
	kz_array *x, *y, *z;
	support_no_libraries();
	state = 7;
	for (int i = 0; i < N * N; i++) {
		a[i] = (float)draw(1 << 20) / 1000;
		b[i] = (float)draw(1 << 20) / 3000 - 100;
	}
	for (int i = 0; i < N * N; i++) {
		float sum = 0;
		for (int k = 0; k < N; k++) {
			sum = fmaf(a[i / N * N + k], b[k * N + i % N], sum);
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

/* Nothing else does the work of a library that the user has named. */
DEVICE_TEST(a_library_that_is_named_and_missing_is_an_error)
{
	bool is_cpu = dev->on_host;
	kz_array *x = NULL, *z = NULL;
	setenv(is_cpu ? "KUDZU_BLAS" : "KUDZU_CUBLAS", "/nowhere/lib.so", 1);
	ok(kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(2, 2), &err));
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(kz_matmul(&z, x, x, NULL, &err), KZ_NOT_FOUND);
		ck_assert_ptr_nonnull(strstr(err.log, "/nowhere/lib.so"));
		fails(kz_matmul(&z, x, x, NULL, &err), KZ_NOT_FOUND, is_cpu
			? "no usable library in KUDZU_BLAS='/nowhere/lib.so'"
			: "no usable library in KUDZU_CUBLAS='/nowhere/lib.so'");
	}
	kz_array_release(x);
}

/* A matrix and a column: 32 sums of every 32nd product, and these one after the other.  A row and a
 * matrix, whose columns have gaps: in the order of k.  The transposed of either has the same
 * bits. */
DEVICE_TEST(sums_of_a_matrix_and_a_vector_have_an_order)
{
	enum { M = 41, K = 101 };
	static float a[M * K], v[K], dots[M], rows[M], got[M];
	kz_array *x, *y, *turned, *columns, *z;
	support_no_libraries(); // theirs is any order
	state = 9;
	for (int i = 0; i < M * K; i++) {
		a[i] = (float)draw(1 << 20) / 1000;
		v[i % K] = (float)draw(1 << 20) / 3000 - 100;
	}
	for (int i = 0; i < M; i++) {
		float sums[32] = {0};
		dots[i] = rows[i] = 0;
		for (int k = 0; k < K; k++) {
			sums[k % 32] = fmaf(a[i * K + k], v[k], sums[k % 32]);
			rows[i] = fmaf(a[k * M + i], v[k], rows[i]);
		}
		for (int k = 0; k < 32; k++) {
			dots[i] += sums[k];
		}
	}
	ok(kz_array_from(&x, dev, KZ_F32, KZ_SHAPE(M, K), a, sizeof(a), &err));
	ok(kz_array_from(&columns, dev, KZ_F32, KZ_SHAPE(K, M), a, sizeof(a), &err));
	ok(kz_array_from(&y, dev, KZ_F32, KZ_SHAPE(K), v, sizeof(v), &err));
	for (int round = 0; round < 4; round++) {
		kz_array *matrix = round < 2 ? x : columns;
		ok(kz_array_swapaxes(&turned, matrix, 0, 1, &err));
		ok(round % 2 == (round < 2) ? kz_matmul(&z, y, round < 2 ? turned : columns, NULL,
			&err)
			: kz_matmul(&z, round < 2 ? x : turned, y, NULL, &err));
		ok(kz_array_get(z, got, sizeof(got), &err));
		ck_assert_mem_eq(got, round < 2 ? dots : rows, sizeof(got));
		release_arrays(z, turned);
	}
	release_arrays(x, y, columns);
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
	ck_assert_int_gt(failed, 2); /* a cache does without memory */
	release_arrays(x, turned);
}

/* c = alpha op(a) op(b) + beta c by three loops; the result lies in rows, in columns, with gaps. */
DEVICE_TEST(gemm_adds_to_what_is_there)
{
	enum { M = 7, N = 5, K = 6 };
	static double a[70], b[70], c[2 * M * 2 * N], product[M * N], want[M * N];
	const int64_t rows[2] = {8 * N, 8}, columns[2] = {8, 8 * M}, gaps[2] = {32 * N, 16};
	const int64_t *const layouts[3] = {rows, columns, gaps};
	state = 11;
	for (int round = 0; round < 24; round++) {
		bool turn_a = round & 1, turn_b = round & 2, has_beta = round & 4;
		const int64_t *layout = layouts[round / 8];
		double left[M * K], right[K * N];
		kz_array *x = draw_array(KZ_F64, turn_a ? KZ_SHAPE(K, M) : KZ_SHAPE(M, K), a);
		kz_array *y = draw_array(KZ_F64, turn_b ? KZ_SHAPE(N, K) : KZ_SHAPE(K, N), b);
		kz_array *all = draw_array(KZ_F64, KZ_SHAPE(2 * M * 2 * N), c), *z;
		ok(kz_array_view(&z, all, KZ_SHAPE(M, N), layout, 0, &err));
		for (int i = 0; i < M * K; i++) {
			left[i] = turn_a ? a[i % K * M + i / K] : a[i];
		}
		for (int i = 0; i < K * N; i++) {
			right[i] = turn_b ? b[i % N * K + i / N] : b[i];
		}
		multiply(product, left, right, M, N, K);
		for (int i = 0; i < M * N; i++) {
			want[i] = 3 * product[i] + (has_beta ? -2 * c[(i / N * layout[0]
				+ i % N * layout[1]) / 8] : 0);
		}
		ok(kz_gemm(z, KZ_ARG(3), x, turn_a ? KZ_MATRIX_TRANSPOSED : KZ_MATRIX_AS_IS, y,
			turn_b ? KZ_MATRIX_ADJOINT : KZ_MATRIX_AS_IS, KZ_ARG(has_beta ? -2.0 : 0.0),
			NULL, &err));
		check_doubles(z, want, M * N);
		kz_array_release(all);
		release_arrays(x, y, z);
	}
}

DEVICE_TEST(gemm_repeats_matrices_for_the_batches_of_the_result)
{
	static double a[12], b[20], c[2 * 15], product[15], want[2 * 15];
	state = 5;
	for (int round = 0; round < 4; round++) {
		kz_array *x = draw_array(KZ_F64, round & 1 ? KZ_SHAPE(1, 3, 4) : KZ_SHAPE(3, 4), a);
		kz_array *y = draw_array(KZ_F64, KZ_SHAPE(4, 5), b);
		kz_array *z = draw_array(KZ_F64, KZ_SHAPE(2, 3, 5), c);
		kz_array *row = draw_array(KZ_F64, KZ_SHAPE(2, 1, 5), want);
		multiply(product, a, b, 3, 5, 4);
		for (int i = 0; i < 30; i++) {
			want[i] = product[i % 15] + (round & 2 ? c[i] : 0);
		}
		ok(kz_gemm(z, KZ_ARG(1), x, KZ_MATRIX_AS_IS, y, KZ_MATRIX_AS_IS,
			KZ_ARG(round & 2 ? 1 : 0), NULL, &err));
		check_doubles(z, want, 30);
		/* A matrix is not repeated along its own extents, and has no fewer batches. */
		fails(kz_gemm(row, KZ_ARG(1), x, KZ_MATRIX_AS_IS, y, KZ_MATRIX_AS_IS, KZ_ARG(0),
			NULL, &err), KZ_INVALID, "the result (2, 1, 5)");
		release_arrays(x, y, z, row);
	}
}

/* Large enough for a library, which computes the transpose; it needs a copy of b. */
DEVICE_TEST(gemm_takes_any_operand_for_a_result_in_columns)
{
	enum { M = 68, N = 66, K = 70 };
	static double a[M * K], all[K * 2 * N], b[K * N], c[M * N], turned[M * N], zeros[N * M];
	const int64_t columns[2] = {8, 8 * M}, gaps[2] = {8 * 2 * N, 16};
	kz_array *x = draw_array(KZ_F64, KZ_SHAPE(M, K), a), *memory, *y, *whole, *z;
	kz_array *wide = draw_array(KZ_F64, KZ_SHAPE(K, 2 * N), all);
	ok(kz_array_view(&y, wide, KZ_SHAPE(K, N), gaps, 0, &err));
	ok(kz_array_from(&whole, dev, KZ_F64, KZ_SHAPE(N, M), zeros, sizeof(zeros), &err));
	ok(kz_array_view(&z, whole, KZ_SHAPE(M, N), columns, 0, &err));
	for (int i = 0; i < K * N; i++) {
		b[i] = all[i / N * 2 * N + i % N * 2];
	}
	multiply(c, a, b, M, N, K);
	ok(kz_gemm(z, KZ_ARG(1), x, KZ_MATRIX_AS_IS, y, KZ_MATRIX_AS_IS, KZ_ARG(1), NULL, &err));
	check_doubles(z, c, M * N);
	/* The same product in rows: c' = b' a'. */
	for (int i = 0; i < M * N; i++) {
		turned[i] = c[i % M * N + i / M];
	}
	ok(kz_array_zeros(&memory, dev, KZ_F64, KZ_SHAPE(N, M), &err));
	ok(kz_gemm(memory, KZ_ARG(1), y, KZ_MATRIX_TRANSPOSED, x, KZ_MATRIX_TRANSPOSED, KZ_ARG(0),
		NULL, &err));
	check_doubles(memory, turned, M * N);
	release_arrays(x, wide, y, whole, z, memory);
}

/* What is there is not read if beta is 0, and is read before it is overwritten. */
DEVICE_TEST(gemm_takes_any_result)
{
	const float nans[4] = {NAN, NAN, NAN, NAN}, two[4] = {1, 2, 3, 4},
		square[4] = {7, 10, 15, 22};
	const int32_t doubled[4] = {14, 20, 30, 44};
	const double complex z2[4] = {1, 2 * I, 3, 4},
		adjoint[4] = {10, 12 + 2 * I, 12 - 2 * I, 20};
	float got[4];
	int32_t ints[4];
	double complex zs[4];
	kz_array *a, *c, *i, *z, *zc;
	ok(kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(2, 2), two, sizeof(two), &err));
	ok(kz_array_from(&c, dev, KZ_F32, KZ_SHAPE(2, 2), nans, sizeof(nans), &err));
	ok(kz_gemm(c, KZ_ARG(1), a, 0, a, 0, KZ_ARG(0), NULL, &err));
	ok(kz_array_get(c, got, sizeof(got), &err));
	ck_assert_mem_eq(got, square, sizeof(got));
	ok(kz_gemm(a, KZ_ARG(1), a, 0, a, 0, KZ_ARG(0), NULL, &err)); // over an operand
	ok(kz_array_get(a, got, sizeof(got), &err));
	ck_assert_mem_eq(got, square, sizeof(got));
	ok(kz_array_set(a, two, sizeof(two), &err));
	ok(kz_array_astype(&i, a, KZ_I32, &err));
	ok(kz_gemm(i, KZ_ARG(2), i, 0, i, 0, KZ_ARG(0), NULL, &err)); // not a library's type
	ok(kz_array_get(i, ints, sizeof(ints), &err));
	ck_assert_mem_eq(ints, doubled, sizeof(ints));
	ok(kz_array_from(&z, dev, KZ_C128, KZ_SHAPE(2, 2), z2, sizeof(z2), &err));
	ok(kz_array_like(&zc, z, &err));
	ok(kz_gemm(zc, KZ_ARG(1), z, KZ_MATRIX_ADJOINT, z, 0, KZ_ARG(0), NULL, &err));
	ok(kz_array_get(zc, zs, sizeof(zs), &err));
	for (int k = 0; k < 4; k++) {
		ck_assert(zs[k] == adjoint[k]);
	}
	fails(kz_gemm(c, KZ_ARG(1.0 * I), a, 0, a, 0, KZ_ARG(0), NULL, &err), KZ_INVALID,
		"numbers that float32 can hold");
	fails(kz_gemm(c, KZ_ARG(1), a, 3, a, 0, KZ_ARG(0), NULL, &err), KZ_INVALID,
		"unknown kz_matrix_op 3");
	kz_array *row;
	ok(kz_array_view(&row, a, KZ_SHAPE(1, 2), NULL, 0, &err));
	fails(kz_gemm(c, KZ_ARG(1), row, 0, a, 0, KZ_ARG(0), NULL, &err), KZ_INVALID,
		"the product has shape (1, 2), the result (2, 2)");
	fails(kz_gemm(c, KZ_ARG(1), a, 0, row, 0, KZ_ARG(0), NULL, &err), KZ_INVALID,
		"2 columns against 1 rows");
	kz_array_release(row);
	kz_array_release(zc);
	kz_array_release(z);
	release_arrays(a, c, i);
}

/* A function of the driver that the library does not use. */
static void *driver_symbol(const char *name)
{
	void *found = dl_symbol(dev->drv->object, name);
	ck_assert_msg(found, "%s", name);
	return found;
}

static CUresult replay(CUgraphExec exec, CUstream stream)
{
	CUresult (*launch)(CUgraphExec, CUstream);
	void *found = driver_symbol("cuGraphLaunch");
	memcpy(&launch, &found, sizeof(found));
	return launch(exec, stream);
}

static CUgraphExec instantiate(CUgraph graph)
{
	CUgraphExec exec;
	CUresult (*make)(CUgraphExec *, CUgraph, unsigned long long);
	void *found = driver_symbol("cuGraphInstantiateWithFlags");
	memcpy(&make, &found, sizeof(found));
	ck_assert_int_eq(make(&exec, graph, 0), CUDA_SUCCESS);
	return exec;
}

static void destroy(CUgraphExec exec)
{
	CUresult (*end)(CUgraphExec);
	void *found = driver_symbol("cuGraphExecDestroy");
	memcpy(&end, &found, sizeof(found));
	ck_assert_int_eq(end(exec), CUDA_SUCCESS);
}

/* A product in a graph: the graph owns what the library needs, and computes anew each time. */
DEVICE_TEST(a_product_can_be_captured)
{
	enum { N = 80 };
	static double a[N * N], b[N * N], want[N * N];
	kz_array *x = draw_array(KZ_F64, KZ_SHAPE(N, N), a),
		*y = draw_array(KZ_F64, KZ_SHAPE(N, N), b);
	kz_array *z, *more = draw_array(KZ_F64, KZ_SHAPE(N, N), a);
	kz_stream *stream;
	CUgraph graph;
	struct device_scope scope;
	ok(device_enter(dev, &scope, &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_array_zeros(&z, dev, KZ_F64, KZ_SHAPE(N, N), &err));
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	options.into = z;
	options.stream = stream;
	ok(kz_matmul(NULL, x, y, &options, &err)); // kernels are compiled
	ok(kz_stream_synchronize(stream, &err));
	CUstream handle = kz_stream_handle(stream);
	ck_assert_int_eq(dev->drv->StreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_RELAXED), 0);
	ok(kz_matmul(NULL, x, y, &options, &err));
	ck_assert_int_eq(dev->drv->StreamEndCapture(handle, &graph), 0);
	CUgraphExec exec = instantiate(graph);
	ck_assert_int_eq(dev->drv->GraphDestroy(graph), 0);
	ok(kz_array_assign(x, more, &err));
	ok(kz_array_fill(z, KZ_ARG(0), &err));
	ok(kz_stream_synchronize(kz_device_stream(dev), &err));
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(replay(exec, handle), CUDA_SUCCESS);
		ok(kz_stream_synchronize(stream, &err));
		multiply(want, a, b, N, N, N);
		check_doubles(z, want, N * N);
	}
	destroy(exec);
	device_leave(dev, &scope);
	kz_stream_release(stream);
	kz_array_release(more);
	release_arrays(x, y, z);
}

SUITE(matmul)
{
	Suite *suite = suite_create("matmul");
	TCase *tcase = suite_add_case(suite, "matmul");
	int devices = ways_count();
	tcase_add_tests(tcase, devices, a_library_that_is_named_and_missing_is_an_error,
		a_product_is_what_three_loops_give_in_every_type,
		operands_can_have_any_strides, a_second_operand_of_one_row_can_have_gaps,
		batches_broadcast, vectors_are_rows_and_columns,
		a_product_goes_into_an_array, matmul_op_multiplies_what_it_has_turned,
		matmul_op_does_what_matmul_does, gemm_adds_to_what_is_there, gemm_takes_any_result,
		gemm_repeats_matrices_for_the_batches_of_the_result,
		gemm_takes_any_operand_for_a_result_in_columns,
		a_product_can_be_captured, operands_that_do_not_fit_are_refused,
		sums_run_in_the_order_of_k, sums_of_a_matrix_and_a_vector_have_an_order,
		a_failing_allocation_leaves_nothing_behind);
	return suite;
}
