/* SPDX-License-Identifier: MIT */
/* Singular values and eigenvalues: the identities that they satisfy, and what follows from them. */
#include "lib/linalg/linear.h"

enum { MOST = 20, ROOM = 4 * MOST * MOST };

static number a[ROOM], x[ROOM], y[ROOM], z[ROOM], product[ROOM], other[ROOM], one[ROOM];

static double allowed_for(kz_dtype dtype, int64_t n)
{
	return 30 * (double)n * linear_eps(dtype);
}

/* u diag(s) vh, the largest value first. */
LINEAR_TEST(svd_multiplies_to_the_matrix)
{
	for (int round = 0; round < 48; round++) {
		kz_dtype dtype = linear_dtypes[round % 4];
		int64_t m = 1 + linear_integer(MOST), n = 1 + linear_integer(MOST);
		int64_t k = m < n ? m : n;
		bool is_full = round / 4 % 2;
		int64_t columns = is_full ? m : k, rows = is_full ? n : k;
		double allowed = allowed_for(dtype, m + n);
		kz_array *u, *s, *vh, *values;
		linear_draw(a, 2 * m * n, dtype);
		kz_array *array = linear_upload(a, dtype, KZ_SHAPE(2, m, n), round / 12);
		ok(kz_svd(&u, &s, &vh, array, is_full, NULL, &err));
		ok(kz_svdvals(&values, array, NULL, &err));
		linear_take(x, u, dtype, 2 * m * columns);
		linear_take(y, s, linear_real(dtype), 2 * k);
		linear_take(z, vh, dtype, 2 * rows * n);
		linear_take(one, values, linear_real(dtype), 2 * k);
		linear_check("svdvals", one, y, 2 * k, allowed);
		for (int i = 0; i < 2; i++) {
			number *left = x + i * m * columns, *right = z + i * rows * n;
			linear_multiply(product, left, true, left, columns, columns, m);
			linear_identity(one, columns, columns);
			linear_check("u^H u", product, one, columns * columns, allowed);
			for (int64_t j = 0; j < k * n; j++) {
				ck_assert(creal(y[i * k + j / n]) <= creal(y[i * k]));
				other[j] = y[i * k + j / n] * right[j];
			}
			for (int64_t j = 0; j < m * k; j++) {
				one[j] = left[j / k * columns + j % k];
			}
			linear_multiply(product, one, false, other, m, n, k);
			linear_check("u s vh", product, a + i * m * n, m * n, allowed);
		}
		kz_array_release(array);
	}
}

/* Hermitian matrices: only one triangle is read, the other has NaN. */
LINEAR_TEST(eigh_reads_one_triangle)
{
	for (int round = 0; round < 32; round++) {
		kz_dtype dtype = linear_dtypes[round % 4];
		int64_t n = 1 + linear_integer(MOST);
		bool is_lower = round / 4 % 2;
		kz_array *w, *v, *values;
		linear_draw(x, n * n, dtype);
		for (int64_t i = 0; i < n * n; i++) {
			bool is_read = is_lower ? i / n >= i % n : i / n <= i % n;
			other[i] = (x[i] + conj(x[i % n * n + i / n])) / 2;
			a[i] = is_read ? other[i] : (double)NAN;
		}
		kz_array *array = linear_upload(a, dtype, KZ_SHAPE(n, n), round / 8);
		ok(kz_eigh(&w, &v, array, is_lower ? KZ_LOWER : KZ_UPPER, NULL, &err));
		ok(kz_eigvalsh(&values, array, is_lower ? KZ_LOWER : KZ_UPPER, NULL, &err));
		linear_take(y, w, linear_real(dtype), n);
		linear_take(z, v, dtype, n * n);
		linear_take(one, values, linear_real(dtype), n);
		linear_check("eigvalsh", one, y, n, allowed_for(dtype, n));
		linear_multiply(product, z, true, z, n, n, n);
		linear_identity(one, n, n);
		linear_check("v^H v", product, one, n * n, allowed_for(dtype, n));
		linear_multiply(product, other, false, z, n, n, n);
		for (int64_t i = 0; i < n * n; i++) {
			ck_assert(i % n == 0 || creal(y[i % n]) >= creal(y[i % n - 1]));
			one[i] = z[i] * y[i % n];
		}
		linear_check("a v", product, one, n * n, allowed_for(dtype, n));
		kz_array_release(array);
	}
}

/* Any matrices; a rotation, whose values are not real; never what only holds for symmetric ones. */
LINEAR_TEST(eig_is_right_for_matrices_that_are_not_symmetric)
{
	const number turn[4] = {0, -1, 1, 0};
	for (int round = 0; round < 32; round++) {
		kz_dtype dtype = linear_dtypes[round % 4];
		kz_dtype wide = linear_is_single(dtype) ? KZ_C64 : KZ_C128;
		int64_t n = round < 4 ? 2 : 1 + linear_integer(MOST);
		kz_array *w, *v, *values;
		linear_draw(a, n * n, dtype);
		if (round < 4) {
			memcpy(a, turn, sizeof(turn));
		}
		kz_array *array = linear_upload(a, dtype, KZ_SHAPE(1, n, n), round / 8);
		ok(kz_eig(&w, &v, array, NULL, &err));
		ok(kz_eigvals(&values, array, NULL, &err));
		linear_take(y, w, wide, n);
		linear_take(z, v, wide, n * n);
		linear_take(other, values, wide, n);
		linear_multiply(product, a, false, z, n, n, n);
		number sums[2] = {0, 0}, trace = 0;
		for (int64_t i = 0; i < n * n; i++) {
			one[i] = z[i] * y[i % n];
			sums[0] += i < n ? other[i] : 0;
			trace += i / n == i % n ? a[i] : 0;
		}
		linear_check("a v", product, one, n * n, allowed_for(dtype, n) * 4);
		linear_check("sum of values", sums, &trace, 1, allowed_for(dtype, n) * (double)n);
		for (int64_t j = 0; j < n; j++) {
			double size = 0;
			for (int64_t i = 0; i < n; i++) {
				size += creal(z[i * n + j] * conj(z[i * n + j]));
			}
			ck_assert_double_eq_tol(size, 1, allowed_for(dtype, n));
		}
		ck_assert(round >= 4 || fabs(cimag(y[0])) > 0.99);
		kz_array_release(array);
	}
}

/* The four conditions of Moore and Penrose. */
LINEAR_TEST(pinv_satisfies_its_conditions)
{
	for (int round = 0; round < 16; round++) {
		kz_dtype dtype = linear_dtypes[round % 4];
		int64_t m = 2 + linear_integer(8), n = 2 + linear_integer(8);
		double allowed = 1e4 * linear_eps(dtype);
		kz_array *out;
		linear_draw(a, m * n, dtype);
		for (int64_t i = 0; round % 3 == 0 && i < n; i++) {
			a[n + i] = a[i]; // not of full rank
		}
		kz_array *array = linear_upload(a, dtype, KZ_SHAPE(m, n), round / 4);
		ok(kz_pinv(&out, array, 1e-5, NULL, &err));
		linear_take(x, out, dtype, n * m);
		linear_multiply(y, a, false, x, m, m, n);
		linear_multiply(z, x, false, a, n, n, m);
		linear_multiply(product, y, false, a, m, n, m);
		linear_check("a p a", product, a, m * n, allowed * 10);
		linear_multiply(product, z, false, x, n, m, n);
		double largest = 1;
		for (int64_t i = 0; i < m * n; i++) {
			largest = fmax(largest, cabs(x[i]));
		}
		linear_check("p a p", product, x, n * m, allowed * largest * largest);
		for (int64_t i = 0; i < m * m; i++) {
			product[i] = conj(y[i % m * m + i / m]);
		}
		linear_check("a p", product, y, m * m, allowed * largest);
		kz_array_release(array);
	}
}

/* A line through (0, -1), (1, 0.2), (2, 0.9), (3, 2.1): numpy.linalg.lstsq's own example. */
LINEAR_TEST(lstsq_is_as_numpys)
{
	const number points[8] = {0, 1, 1, 1, 2, 1, 3, 1}, values[4] = {-1, 0.2, 0.9, 2.1};
	const number line[2] = {1, -0.95}, residual = 0.05;
	const number singular[2] = {4.10003045, 1.09075677};
	const number row[2] = {3, 4}, right = 10, least[2] = {1.2, 1.6};
	kz_array *left = linear_upload(points, KZ_F64, KZ_SHAPE(4, 2), LINEAR_GAPS);
	kz_array *b = linear_upload(values, KZ_F64, KZ_SHAPE(4), 0), *outs[4] = {NULL};
	ok(kz_lstsq(&outs[0], &outs[1], &outs[2], &outs[3], left, b, -1, NULL, &err));
	linear_take(x, outs[0], KZ_F64, 2);
	linear_take(y, outs[1], KZ_F64, 1);
	linear_take(z, outs[2], KZ_I64, 1);
	linear_take(one, outs[3], KZ_F64, 2);
	linear_check("x", x, line, 2, 1e-14);
	linear_check("residual", y, &residual, 1, 1e-14);
	linear_check("s", one, singular, 2, 1e-8);
	ck_assert(z[0] == 2);
	/* With rcond 0.5 the smaller value counts as 0: the rank is 1, and there are no
	 * residuals. */
	ok(kz_lstsq(&outs[0], &outs[1], &outs[2], NULL, left, b, 0.5, NULL, &err));
	linear_take(y, outs[1], KZ_F64, 0);
	linear_take(z, outs[2], KZ_I64, 1);
	ck_assert(z[0] == 1);
	release_arrays(outs[0], left, b);
	/* 3 x + 4 y = 10: the solution of least norm */
	left = linear_upload(row, KZ_F32, KZ_SHAPE(1, 2), 0);
	b = linear_upload(&right, KZ_F32, KZ_SHAPE(1, 1), 0);
	ok(kz_lstsq(&outs[0], NULL, NULL, NULL, left, b, -1, NULL, &err));
	ck_assert_int_eq(kz_array_ndim(outs[0]), 2);
	linear_take(x, outs[0], KZ_F32, 2);
	linear_check("x", x, least, 2, 1e-6);
	release_arrays(left, b);
}

LINEAR_TEST(ranks_count_values_that_are_not_small)
{
	kz_array *array, *out;
	linear_draw(x, 10 * 3, KZ_F64);
	linear_draw(y, 3 * 10, KZ_F64);
	linear_multiply(a, x, false, y, 10, 10, 3);
	linear_identity(a + 100, 10, 10);
	a[100] = 1e-3;
	array = linear_upload(a, KZ_F64, KZ_SHAPE(2, 10, 10), LINEAR_TURNED);
	ok(kz_matrix_rank(&out, array, -1, NULL, &err));
	linear_take(x, out, KZ_I64, 2);
	ck_assert(x[0] == 3 && x[1] == 10);
	ok(kz_matrix_rank(&out, array, 1e-2, NULL, &err));
	linear_take(x, out, KZ_I64, 2);
	ck_assert(x[0] == 3 && x[1] == 9);
	kz_array_release(array);
	array = linear_upload(a, KZ_F64, KZ_SHAPE(3), 0);
	ok(kz_matrix_rank(&out, array, -1, NULL, &err));
	linear_take(x, out, KZ_I64, 1);
	ck_assert(x[0] == 1);
	kz_array_release(array);
}

LINEAR_TEST(empty_matrices_are_as_in_numpy)
{
	kz_array *wide, *none, *u, *s, *vh;
	ok(kz_array_zeros(&wide, dev, KZ_F64, KZ_SHAPE(0, 3), &err));
	ok(kz_array_zeros(&none, dev, KZ_F32, KZ_SHAPE(0, 2, 2), &err));
	ok(kz_svd(&u, &s, &vh, wide, 1, NULL, &err));
	linear_take(x, vh, KZ_F64, 9);
	linear_identity(one, 3, 3);
	linear_check("vh", x, one, 9, 0);
	ck_assert_int_eq(kz_array_shape(u).dims[0], 0);
	ck_assert_int_eq(kz_array_shape(s).dims[0], 0);
	release_arrays(u, s);
	ok(kz_eigh(&u, &s, none, KZ_LOWER, NULL, &err));
	ck_assert_int_eq(kz_array_shape(s).dims[2], 2);
	release_arrays(u, s);
	ok(kz_eig(&u, &s, none, NULL, &err));
	ck_assert_uint_eq(kz_array_dtype(s), KZ_C64);
	release_arrays(u, s);
	ok(kz_pinv(&u, wide, -1, NULL, &err));
	ck_assert_int_eq(kz_array_shape(u).dims[0], 3);
	release_arrays(u, wide, none);
}

/* Libraries loop forever, or print, when they meet these. */
LINEAR_TEST(nan_and_infinity_are_refused)
{
	for (int round = 0; round < 16; round++) {
		kz_array *outs[4] = {NULL}, *array;
		int64_t n = round < 8 ? 3 : MOST;
		linear_draw(a, n * n, KZ_C128);
		a[1] = round % 2 ? (double)INFINITY : (double)NAN;
		array = linear_upload(a, linear_dtypes[round / 2 % 4], KZ_SHAPE(n, n), 0);
		fails(kz_svd(&outs[0], &outs[1], &outs[2], array, 1, NULL, &err), KZ_NUMERIC,
			"svd: the matrix has elements that are infinite or NaN");
		fails(kz_svdvals(&outs[0], array, NULL, &err), KZ_NUMERIC, "infinite or NaN");
		fails(kz_eigh(&outs[0], &outs[1], array, KZ_UPPER, NULL, &err), KZ_NUMERIC,
			"eigh: the matrix has elements that are infinite or NaN");
		ok(kz_eigvalsh(&outs[0], array, KZ_LOWER, NULL, &err)); // does not read it
		kz_array_release(outs[0]);
		fails(kz_eig(&outs[0], &outs[1], array, NULL, &err), KZ_NUMERIC, "eig: the matrix");
		fails(kz_eigvals(&outs[0], array, NULL, &err), KZ_NUMERIC, "eigvals: the matrix");
		fails(kz_pinv(&outs[0], array, -1, NULL, &err), KZ_NUMERIC, "pinv: the matrix");
		fails(kz_lstsq(&outs[0], &outs[1], &outs[2], &outs[3], array, array, -1, NULL,
			&err), KZ_NUMERIC, "lstsq: the matrix");
		ck_assert(!outs[0] && !outs[1] && !outs[2] && !outs[3]);
		kz_array_release(array);
	}
}

LINEAR_TEST(operands_that_do_not_fit_are_refused)
{
	kz_array *wide, *row, *outs[4] = {NULL};
	ok(kz_array_ones(&wide, dev, KZ_F32, KZ_SHAPE(2, 3), &err));
	ok(kz_array_ones(&row, dev, KZ_F32, KZ_SHAPE(3), &err));
	fails(kz_svd(&outs[0], &outs[1], &outs[2], row, 1, NULL, &err), KZ_INVALID,
		"svd: expected");
	fails(kz_svd(&outs[0], NULL, &outs[2], wide, 1, NULL, &err), KZ_INVALID, "out is NULL");
	fails(kz_eigh(&outs[0], &outs[1], wide, 0, NULL, &err), KZ_INVALID,
		"eigh: expected a square matrix, got shape (2, 3)");
	fails(kz_eigvals(&outs[0], wide, NULL, &err), KZ_INVALID, "eigvals: expected a square");
	fails(kz_lstsq(&outs[0], NULL, NULL, NULL, wide, row, -1, NULL, &err), KZ_INVALID,
		"lstsq: shapes (2, 3) and (3,) do not fit");
	release_arrays(wide, row);
}

LINEAR_TEST(a_failing_allocation_leaves_nothing_behind)
{
	linear_draw(a, 16, KZ_C64);
	kz_array *array = linear_upload(a, KZ_C64, KZ_SHAPE(4, 4), LINEAR_GAPS);
	for (int function = 0; function < 4; function++) {
		int failed = 0;
		for (long n = 0;; n++) {
			kz_array *o[4] = {NULL};
			mem_fail_after(n);
			kz_status st = function == 0
				? kz_lstsq(&o[0], &o[1], &o[2], &o[3], array, array, -1, NULL, &err)
				: function == 1 ? kz_eigh(&o[0], &o[1], array, KZ_LOWER, NULL, &err)
				: function == 2 ? kz_eig(&o[0], &o[1], array, NULL, &err)
				: kz_pinv(&o[0], array, -1, NULL, &err);
			bool done = !mem_has_failed();
			mem_fail_after(-1);
			ck_assert(done ? st == KZ_OK : st == KZ_OK || (!o[0] && !o[1]));
			failed += st != KZ_OK;
			kz_error_clear(&err);
			release_arrays(o[0], o[1], o[2], o[3]);
			if (done) {
				break;
			}
		}
		ck_assert_int_gt(failed, 4);
	}
	kz_array_release(array);
}

/* Our own kernels do not do these: the message names what to install. */
START_TEST(no_library_names_the_package)
{
	kz_array *array, *outs[3] = {NULL};
	linear_setup(linear_ways() + _i);
	ok(kz_array_eye(&array, dev, KZ_F64, 3, 3, 0, &err));
	if (strcmp(kz_device_name(dev), "cpu") == 0) {
		kz_status st = kz_svd(&outs[0], &outs[1], &outs[2], array, 1, NULL, &err);
		ck_assert_ptr_nonnull(strstr(kz_error_hint(&err), "libopenblas0"));
		fails(st, KZ_UNSUPPORTED, "svd: a singular value decomposition needs LAPACK");
		fails(kz_eigh(&outs[0], &outs[1], array, KZ_LOWER, NULL, &err), KZ_UNSUPPORTED,
			"eigh: eigenvalues of a symmetric matrix needs LAPACK");
		fails(kz_eigvals(&outs[0], array, NULL, &err), KZ_UNSUPPORTED,
			"eigvals: eigenvalues");
		fails(kz_pinv(&outs[0], array, -1, NULL, &err), KZ_UNSUPPORTED, "pinv: a singular");
		ck_assert(!outs[0] && !outs[1] && !outs[2]);
	}
	kz_array_release(array);
	linear_teardown();
}
END_TEST

SUITE(eigen)
{
	Suite *suite = suite_create("eigen");
	TCase *tcase = suite_add_case(suite, "eigen");
	tcase_set_timeout(tcase, 60);
	tcase_add_tests(tcase, linear_ways(), svd_multiplies_to_the_matrix, eigh_reads_one_triangle,
		eig_is_right_for_matrices_that_are_not_symmetric, pinv_satisfies_its_conditions,
		lstsq_is_as_numpys, ranks_count_values_that_are_not_small,
		empty_matrices_are_as_in_numpy, nan_and_infinity_are_refused,
		operands_that_do_not_fit_are_refused, a_failing_allocation_leaves_nothing_behind);
	tcase_add_tests(tcase, support_device_count(), no_library_names_the_package);
	return suite;
}
