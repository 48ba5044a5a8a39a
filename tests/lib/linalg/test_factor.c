/* SPDX-License-Identifier: MIT */
/* Cholesky, LU and QR: the product of the factors, their form, and the errors. */
#include "lib/linalg/linear.h"

enum { MOST = 20, ROOM = 4 * MOST * MOST };

static number a[ROOM], x[ROOM], y[ROOM], z[ROOM], product[ROOM], other[ROOM], one[ROOM];

/* What multiplies to a random matrix: eps n for each step. */
static double allowed_for(kz_dtype dtype, int64_t n)
{
	return 20 * (double)n * linear_eps(dtype);
}

/* Zeros on one side of the diagonal. */
static void check_triangle(const number *matrix, int64_t rows, int64_t columns, bool is_lower)
{
	for (int64_t i = 0; i < rows * columns; i++) {
		int64_t row = i / columns, column = i % columns;
		ck_assert(is_lower ? row >= column || matrix[i] == 0
			: row <= column || matrix[i] == 0);
	}
}

/* A positive definite matrix; NaN in the triangle that is not read. */
LINEAR_TEST(cholesky_reads_one_triangle)
{
	for (int round = 0; round < 32; round++) {
		kz_dtype dtype = linear_dtypes[round % 4];
		int64_t n = 1 + linear_integer(MOST);
		bool is_lower = round / 4 % 2;
		kz_array *out;
		linear_draw(x, n * n, dtype);
		linear_multiply(other, x, true, x, n, n, n);
		for (int64_t i = 0; i < n * n; i++) {
			bool is_read = is_lower ? i / n >= i % n : i / n <= i % n;
			other[i] += i / n == i % n ? (double)n : 0;
			a[i] = is_read ? other[i] : (double)NAN;
		}
		kz_array *array = linear_upload(a, dtype, KZ_SHAPE(n, n), round / 8);
		ok(kz_cholesky(&out, array, is_lower ? KZ_LOWER : KZ_UPPER, NULL, &err));
		linear_take(x, out, dtype, n * n);
		check_triangle(x, n, n, is_lower);
		for (int64_t i = 0; is_lower && i < n * n; i++) { // u = l^H
			y[i] = conj(x[i % n * n + i / n]);
		}
		linear_multiply(product, is_lower ? y : x, true, is_lower ? y : x, n, n, n);
		linear_check("u^H u", product, other, n * n, allowed_for(dtype, n) * (double)n);
		kz_array_release(array);
	}
}

LINEAR_TEST(matrices_that_are_not_positive_definite_name_the_minor)
{
	number cells[18];
	kz_array *array, *out = NULL;
	linear_identity(cells, 3, 3);
	linear_identity(cells + 9, 3, 3);
	cells[13] = -1;
	array = linear_upload(cells, KZ_F32, KZ_SHAPE(2, 3, 3), LINEAR_GAPS);
	kz_status st = kz_cholesky(&out, array, KZ_LOWER, NULL, &err);
	ck_assert_int_eq(err.code, 2);
	fails(st, KZ_NUMERIC, "cholesky: matrix (1,) is not positive definite: its leading minor "
		"of order 2 is not positive");
	fails(kz_cholesky(&out, array, 2, NULL, &err), KZ_INVALID, "unknown kz_triangle 2");
	ck_assert_ptr_null(out);
	kz_array_release(array);
}

/* p l u in batches of 2, also of singular matrices: the last row repeats the first. */
LINEAR_TEST(lu_multiplies_to_the_matrix)
{
	for (int round = 0; round < 32; round++) {
		kz_dtype dtype = linear_dtypes[round % 4];
		int64_t m = 1 + linear_integer(MOST), n = 1 + linear_integer(MOST);
		int64_t k = m < n ? m : n;
		kz_array *p, *l, *u;
		linear_draw(a, 2 * m * n, dtype);
		for (int64_t i = 0; round % 3 == 0 && i < n; i++) {
			a[(m - 1) * n + i] = a[i];
		}
		kz_array *array = linear_upload(a, dtype, KZ_SHAPE(2, m, n), round / 8);
		ok(kz_lu(&p, &l, &u, array, NULL, &err));
		linear_take(x, p, linear_real(dtype), 2 * m * m);
		linear_take(y, l, dtype, 2 * m * k);
		linear_take(z, u, dtype, 2 * k * n);
		for (int i = 0; i < 2; i++) {
			linear_multiply(product, y + i * m * k, false, z + i * k * n, m, n, k);
			linear_multiply(other, x + i * m * m, false, product, m, n, m);
			linear_check("p l u", other, a + i * m * n, m * n,
				allowed_for(dtype, m + n));
			check_triangle(y + i * m * k, m, k, true);
			check_triangle(z + i * k * n, k, n, false);
			linear_multiply(product, x + i * m * m, true, x + i * m * m, m, m, m);
			linear_identity(one, m, m);
			linear_check("p' p", product, one, m * m, 0);
			for (int64_t j = 0; j < k; j++) {
				ck_assert(y[i * m * k + j * k + j] == 1);
			}
		}
		kz_array_release(array);
	}
}

LINEAR_TEST(qr_multiplies_to_the_matrix)
{
	for (int round = 0; round < 48; round++) {
		kz_dtype dtype = linear_dtypes[round % 4];
		int64_t m = 1 + linear_integer(MOST), n = 1 + linear_integer(MOST);
		kz_qr_mode mode = (kz_qr_mode)(round / 4 % 2);
		int64_t k = mode == KZ_QR_COMPLETE ? m : m < n ? m : n;
		kz_array *q, *r;
		linear_draw(a, 2 * m * n, dtype);
		kz_array *array = linear_upload(a, dtype, KZ_SHAPE(2, m, n), round / 12);
		ok(kz_qr(&q, &r, array, mode, NULL, &err));
		ck_assert_int_eq(kz_array_shape(q).dims[2], k);
		linear_take(x, q, dtype, 2 * m * k);
		linear_take(y, r, dtype, 2 * k * n);
		for (int i = 0; i < 2; i++) {
			linear_multiply(product, x + i * m * k, false, y + i * k * n, m, n, k);
			linear_check("q r", product, a + i * m * n, m * n,
				allowed_for(dtype, m + n));
			linear_multiply(product, x + i * m * k, true, x + i * m * k, k, k, m);
			linear_identity(one, k, k);
			linear_check("q^H q", product, one, k * k, allowed_for(dtype, m));
			check_triangle(y + i * k * n, k, n, false);
		}
		ok(kz_qr(NULL, &r, array, KZ_QR_R, NULL, &err));
		linear_take(z, r, dtype, 2 * (m < n ? m : n) * n);
		linear_check("r", z, y, (m < n ? m : n) * n, allowed_for(dtype, m + n));
		kz_array_release(array);
	}
}

LINEAR_TEST(empty_matrices_are_as_in_numpy)
{
	kz_array *tall, *wide, *none, *q, *r, *p, *l, *u;
	ok(kz_array_zeros(&tall, dev, KZ_F64, KZ_SHAPE(3, 0), &err));
	ok(kz_array_zeros(&wide, dev, KZ_F64, KZ_SHAPE(0, 3), &err));
	ok(kz_array_zeros(&none, dev, KZ_F64, KZ_SHAPE(2, 0, 0), &err));
	ok(kz_qr(&q, &r, tall, KZ_QR_COMPLETE, NULL, &err));
	linear_take(x, q, KZ_F64, 9);
	linear_identity(one, 3, 3);
	linear_check("q", x, one, 9, 0);
	linear_take(x, r, KZ_F64, 0);
	ok(kz_qr(&q, &r, wide, KZ_QR_REDUCED, NULL, &err));
	ck_assert_int_eq(kz_array_shape(r).dims[1], 3);
	release_arrays(q, r);
	ok(kz_lu(&p, &l, &u, tall, NULL, &err));
	linear_take(x, p, KZ_F64, 9);
	linear_check("p", x, one, 9, 0);
	release_arrays(l, u);
	ok(kz_cholesky(&q, none, KZ_LOWER, NULL, &err));
	ck_assert_int_eq(kz_array_ndim(q), 3);
	release_arrays(q, tall, wide, none);
}

/* NaN ends in NaN, or in an error. */
LINEAR_TEST(nan_and_infinity_do_not_hang)
{
	for (int round = 0; round < 8; round++) {
		kz_array *outs[3] = {NULL, NULL, NULL};
		linear_draw_regular(a, 1, MOST, KZ_C128);
		a[MOST + 1] = round % 2 ? (double)INFINITY : (double)NAN;
		kz_array *array = linear_upload(a, linear_dtypes[round / 2], KZ_SHAPE(MOST, MOST),
			0);
		(void)!kz_lu(&outs[0], &outs[1], &outs[2], array, NULL, &err);
		release_arrays(outs[0], outs[1], outs[2]);
		kz_error_clear(&err);
		(void)!kz_qr(&outs[0], &outs[1], array, KZ_QR_COMPLETE, NULL, &err);
		release_arrays(outs[0], outs[1]);
		kz_error_clear(&err);
		(void)!kz_cholesky(&outs[0], array, KZ_LOWER, NULL, &err);
		release_arrays(outs[0], array);
		kz_error_clear(&err);
	}
}

LINEAR_TEST(operands_that_do_not_fit_are_refused)
{
	kz_array *row, *wide, *outs[3] = {NULL, NULL, NULL};
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	ok(kz_array_ones(&row, dev, KZ_F32, KZ_SHAPE(3), &err));
	ok(kz_array_ones(&wide, dev, KZ_F32, KZ_SHAPE(2, 3), &err));
	fails(kz_cholesky(&outs[0], wide, KZ_LOWER, NULL, &err), KZ_INVALID,
		"cholesky: expected a square matrix, got shape (2, 3)");
	fails(kz_qr(&outs[0], &outs[1], row, 0, NULL, &err), KZ_INVALID,
		"qr: expected a matrix, got shape (3,)");
	fails(kz_qr(&outs[0], &outs[1], wide, 3, NULL, &err), KZ_INVALID, "unknown kz_qr_mode 3");
	fails(kz_qr(NULL, &outs[1], wide, 0, NULL, &err), KZ_INVALID, "qr: out is NULL");
	fails(kz_lu(&outs[0], &outs[1], &outs[2], row, NULL, &err), KZ_INVALID, "lu: expected");
	fails(kz_lu(&outs[0], NULL, &outs[2], wide, NULL, &err), KZ_INVALID, "lu: out is NULL");
	options.into = wide;
	fails(kz_lu(&outs[0], &outs[1], &outs[2], wide, &options, &err), KZ_INVALID, "without");
	release_arrays(row, wide);
}

LINEAR_TEST(a_failing_allocation_leaves_nothing_behind)
{
	linear_draw(a, 2 * 15, KZ_C64);
	kz_array *array = linear_upload(a, KZ_C64, KZ_SHAPE(2, 5, 3), LINEAR_GAPS);
	for (int function = 0; function < 2; function++) {
		int failed = 0;
		for (long n = 0;; n++) {
			kz_array *outs[3] = {NULL, NULL, NULL};
			mem_fail_after(n);
			kz_status st = function == 0
				? kz_lu(&outs[0], &outs[1], &outs[2], array, NULL, &err)
				: kz_qr(&outs[0], &outs[1], array, KZ_QR_COMPLETE, NULL, &err);
			bool done = !mem_has_failed();
			mem_fail_after(-1);
			ck_assert(done ? st == KZ_OK : st == KZ_OK || (!outs[0] && !outs[1]));
			failed += st != KZ_OK;
			kz_error_clear(&err);
			release_arrays(outs[0], outs[1], outs[2]);
			if (done) {
				break;
			}
		}
		ck_assert_int_gt(failed, 4);
	}
	kz_array_release(array);
}

SUITE(factor)
{
	Suite *suite = suite_create("factor");
	TCase *tcase = suite_add_case(suite, "factor");
	tcase_set_timeout(tcase, 60);
	tcase_add_tests(tcase, linear_all_ways(), cholesky_reads_one_triangle,
		matrices_that_are_not_positive_definite_name_the_minor, lu_multiplies_to_the_matrix,
		qr_multiplies_to_the_matrix, empty_matrices_are_as_in_numpy,
		nan_and_infinity_do_not_hang, operands_that_do_not_fit_are_refused,
		a_failing_allocation_leaves_nothing_behind);
	return suite;
}
