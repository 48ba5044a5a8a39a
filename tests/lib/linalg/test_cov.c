/* SPDX-License-Identifier: MIT */
/* Covariances and correlations against sums in long double. */
#include "linear.h"

enum { MOST = 300 };

static const kz_dtype operand_dtypes[] = {KZ_F32, KZ_F64, KZ_C64, KZ_C128, KZ_I8, KZ_U64, KZ_BOOL,
	KZ_F16, KZ_BF16};

/* Small whole numbers, which every type holds, as k rows of n. */
static void cov_draw(number *x, int64_t count, kz_dtype dtype)
{
	for (int64_t i = 0; i < count; i++) {
		double re = dtype == KZ_BOOL ? linear_integer(2) : linear_integer(9);
		double im = dtype_is_complex(dtype) ? linear_integer(9) - 4 : 0;
		x[i] = linear_number(re, im);
	}
}

/* c (k, k) of the rows of x (k, n). */
static void cov_reference(number *c, const number *x, int64_t k, int64_t n, double ddof)
{
	for (int64_t i = 0; i < k; i++) {
		for (int64_t j = 0; j < k; j++) {
			long double complex means[2] = {0, 0}, sum = 0;
			for (int64_t l = 0; l < n; l++) {
				means[0] += (long double complex)x[i * n + l] / n;
				means[1] += (long double complex)x[j * n + l] / n;
			}
			for (int64_t l = 0; l < n; l++) {
				sum += (x[i * n + l] - means[0]) * conjl(x[j * n + l] - means[1]);
			}
			c[i * k + j] = (number)(sum / (n - ddof));
		}
	}
}

/* An array of (k, n), or turned (n, k), in some layout. */
static kz_array *cov_upload(const number *x, kz_dtype dtype, int64_t k, int64_t n, bool turned,
	int layout)
{
	number *other = malloc(sizeof(*other) * (size_t)(k * n) + 1);
	for (int64_t i = 0; i < k * n; i++) {
		other[i] = turned ? x[i % k * n + i / k] : x[i];
	}
	kz_array *out = linear_upload(other, dtype, turned ? KZ_SHAPE(n, k) : KZ_SHAPE(k, n),
		layout);
	free(other);
	return out;
}

static void cov_check_symmetric(const number *c, int64_t k)
{
	for (int64_t i = 0; i < k * k; i++) {
		number other = c[i % k * k + i / k];
		ck_assert(creal(c[i]) == creal(other) && cimag(c[i]) == -cimag(other));
	}
}

LINEAR_TEST(covariances_are_those_of_sums)
{
	static const int64_t sizes[][2] = {{1, 20}, {2, 2}, {3, 50}, {17, 9}, {MOST, 7}};
	static number x[MOST * 60], c[MOST * MOST], got[MOST * MOST];
	for (size_t i = 0; i < countof(operand_dtypes) * countof(sizes); i++) {
		const kz_dtype dtype = operand_dtypes[i % countof(operand_dtypes)];
		const int64_t *size = sizes[i / countof(operand_dtypes)], k = size[0], n = size[1];
		const bool turned = linear_integer(2);
		const double ddof = linear_integer(2);
		if (!support_is_tried((int)i, (int)(countof(operand_dtypes) * countof(sizes)), 20,
			8)) {
			continue;
		}
		cov_draw(x, k * n, dtype);
		cov_reference(c, x, k, n, ddof);
		kz_array *a = cov_upload(x, dtype, k, n, turned, linear_integer(LINEAR_LAYOUTS));
		kz_array *out;
		ok(kz_cov(&out, a, KZ_WITH(kz_cov_options, .columns = turned, .ddof = ddof), &err));
		ck_assert_int_eq(kz_array_ndim(out), k == 1 ? 0 : 2);
		linear_take(got, out, dtype_is_complex(dtype) ? KZ_C128 : KZ_F64, k * k);
		linear_check("covariances", got, c, k * k, 1e-12);
		cov_check_symmetric(got, k);
		kz_array_release(a);
	}
}

LINEAR_TEST(correlations_are_covariances_over_deviations)
{
	enum { K = 5, N = 12 };
	number x[K * N], c[K * K], got[K * K], want[K * K];
	for (int i = 0; i < 4; i++) {
		const kz_dtype dtype = linear_dtypes[i];
		kz_array *a, *out;
		cov_draw(x, (int64_t)K * N, dtype);
		for (int l = 0; l < N; l++) {
			x[N + l] = -3 * x[l]; // correlation -1
			x[2 * N + l] = 0.1;   // never changes
		}
		cov_reference(c, x, K, N, 1);
		for (int j = 0; j < K * K; j++) {
			number both = c[j / K * (K + 1)] * c[j % K * (K + 1)];
			want[j] = c[j] / sqrt(creal(both));
		}
		a = cov_upload(x, dtype, K, N, true, LINEAR_PLAIN);
		ok(kz_corrcoef(&out, a, KZ_WITH(kz_cov_options, .columns = 1, .dtype = dtype),
			&err));
		linear_take(got, out, dtype, (int64_t)K * K);
		for (int j = 0; j < K * K; j++) {
			bool is_nan = j / K == 2 || j % K == 2;
			ck_assert(is_nan ? isnan(creal(got[j]))
				: cabs(got[j] - want[j]) < 8 * linear_eps(dtype));
			ck_assert(is_nan || (fabs(creal(got[j])) <= 1 && fabs(cimag(got[j])) <= 1));
			number mirror = got[j % K * K + j / K];
			ck_assert(is_nan || got[j] == conj(mirror));
		}
		kz_array_release(a);
	}
}

/* Means of 10^6 and 10^9, with deviations around 1. */
LINEAR_TEST(large_means_cost_no_digits)
{
	enum { K = 3, N = 400 };
	static number x[K * N];
	number c[K * K], got[K * K];
	for (int i = 0; i < 4; i++) {
		const kz_dtype dtype = linear_dtypes[i];
		kz_array *a, *out;
		cov_draw(x, (int64_t)K * N, dtype);
		for (int l = 0; l < K * N; l++) {
			x[l] = x[l] / 4 + (linear_is_single(dtype) ? 1e6 : 1e9);
		}
		cov_reference(c, x, K, N, 1);
		a = cov_upload(x, dtype, K, N, false, LINEAR_PLAIN);
		ok(kz_cov(&out, a, KZ_WITH(kz_cov_options, .dtype = dtype), &err));
		linear_take(got, out, dtype, (int64_t)K * K);
		linear_check("covariances", got, c, (int64_t)K * K, 20 * linear_eps(dtype));
		kz_array_release(a);
	}
}

LINEAR_TEST(two_arrays_are_one_with_all_variables)
{
	enum { K = 5, N = 6 };
	number x[K * N], c[K * K], got[K * K];
	kz_array *a, *line, *both, *out;
	cov_draw(x, (int64_t)K * N, KZ_F64);
	cov_reference(c, x, K, N, 1);
	a = cov_upload(x, KZ_F32, K - 1, N, true, LINEAR_TURNED);
	line = linear_upload(x + (K - 1) * N, KZ_I16, KZ_SHAPE(N), LINEAR_PLAIN);
	ok(kz_array_zeros(&both, dev, KZ_F32, KZ_SHAPE(K, K), &err));
	ok(kz_cov(&out, a, KZ_WITH(kz_cov_options, .columns = 1, .y = line, .into = both), &err));
	ck_assert_ptr_eq(out, both);
	linear_take(got, out, KZ_F32, (int64_t)K * K);
	linear_check("covariances", got, c, (int64_t)K * K, 1e-5);
	/* Two lines are two variables, also where variables are columns. */
	ok(kz_cov(&out, line, KZ_WITH(kz_cov_options, .columns = 1, .y = line), &err));
	linear_take(got, out, KZ_F64, 4);
	ck_assert(cabs(got[0] - c[K * K - 1]) < 1e-12 && got[1] == got[0] && got[3] == got[0]);
	release_arrays(a, line, both);
}

static void cov_take_reals(double *to, kz_array *array, int64_t count)
{
	number wide[9];
	linear_take(wide, array, KZ_F64, count);
	for (int64_t i = 0; i < count; i++) {
		to[i] = creal(wide[i]);
	}
}

LINEAR_TEST(numbers_that_are_not_there_give_nan)
{
	const double rows[3][4] = {{1, 2, 4, 9}, {1, NAN, 2, 3}, {5, 5, 5, 5}};
	double got[9];
	kz_array *a, *part, *out;
	ok(kz_array_from(&a, dev, KZ_FROM(rows), &err));
	ok(kz_cov(&out, a, NULL, &err));
	cov_take_reals(got, out, 9);
	for (int i = 0; i < 9; i++) {
		ck_assert_int_eq(isnan(got[i]) != 0, i / 3 == 1 || i % 3 == 1);
	}
	ck_assert(got[2] == 0 && got[8] == 0 && fabs(got[0] - 38.0 / 3) < 1e-14);
	/* One observation, and none: 0 over 0. */
	for (int n = 0; n < 2; n++) {
		ok(kz_array_slice(&part, a, KZ_AT(KZ_ALL, KZ_SLICE(0, n)), &err));
		ok(kz_cov(&out, part, NULL, &err));
		cov_take_reals(got, out, 9);
		for (int i = 0; i < 9; i++) {
			ck_assert(isnan(got[i]));
		}
		ok(kz_corrcoef(&out, part, NULL, &err));
		cov_take_reals(got, out, 9);
		ck_assert(isnan(got[0]) && isnan(got[1]) && isnan(got[8]));
		kz_array_release(part);
	}
	ok(kz_array_slice(&part, a, KZ_AT(KZ_INDEX(0)), &err));
	ok(kz_corrcoef(&out, part, NULL, &err));
	ck_assert_int_eq(kz_array_ndim(out), 0);
	cov_take_reals(got, out, 1);
	ck_assert_double_eq(got[0], 1);
	ok(kz_cov(&out, part, KZ_WITH(kz_cov_options, .ddof = 4), &err));
	cov_take_reals(got, out, 1);
	ck_assert(isinf(got[0]) && got[0] > 0);
	release_arrays(part, a);
	/* No variables. */
	ok(kz_array_zeros(&a, dev, KZ_F32, KZ_SHAPE(0, 5), &err));
	ok(kz_corrcoef(&out, a, NULL, &err));
	ck_assert_int_eq(kz_array_ndim(out), 2);
	linear_take(NULL, out, KZ_F64, 0);
	kz_array_release(a);
}

START_TEST(operands_that_do_not_fit_are_refused)
{
	kz_array *a, *b, *out = NULL, *cube, *z;
	linear_setup(_i);
	ok(kz_array_zeros(&a, dev, KZ_F32, KZ_SHAPE(2, 3), &err));
	ok(kz_array_zeros(&b, dev, KZ_F32, KZ_SHAPE(2, 4), &err));
	ok(kz_array_zeros(&z, dev, KZ_C64, KZ_SHAPE(2, 3), &err));
	ok(kz_array_zeros(&cube, dev, KZ_F32, KZ_SHAPE(1, 2, 3), &err));
	fails(kz_cov(&out, cube, NULL, &err), KZ_INVALID,
		"kz_cov: expected at most two extents, got shape (1, 2, 3)");
	fails(kz_cov(&out, a, KZ_WITH(kz_cov_options, .y = b), &err), KZ_INVALID,
		"x of shape (2, 3) has 3 observations, y of shape (2, 4) has 4");
	fails(kz_corrcoef(&out, a, KZ_WITH(kz_cov_options, .y = cube), &err), KZ_INVALID,
		"kz_corrcoef: expected at most two extents, got shape (1, 2, 3)");
	fails(kz_cov(&out, a, KZ_WITH(kz_cov_options, .dtype = KZ_I32), &err), KZ_INVALID,
		"expected a dtype of floats or complex numbers, got int32");
	fails(kz_cov(&out, z, KZ_WITH(kz_cov_options, .dtype = KZ_F64), &err), KZ_INVALID,
		"float64 cannot hold what complex64 gives");
	fails(kz_cov(NULL, a, KZ_WITH(kz_cov_options, .into = cube), &err), KZ_INVALID,
		"(1, 2, 3)");
	fails(kz_cov(NULL, a, NULL, &err), KZ_INVALID, "out is NULL");
	fails(kz_cov(&out, NULL, NULL, &err), KZ_INVALID, "argument 'x'");
	fails(kz_cov(&out, a, &(kz_cov_options){0}, &err), KZ_INVALID, "kz_cov_options");
	ck_assert_ptr_null(out);
	release_arrays(a, b, z, cube);
	linear_teardown();
}
END_TEST

LINEAR_TEST(a_failing_allocation_leaves_nothing_behind)
{
	const double rows[2][3] = {{1, 2, 4}, {7, 5, 6}};
	kz_array *a, *out = NULL;
	int failed = 0;
	ok(kz_array_from(&a, dev, KZ_FROM(rows), &err));
	for (long n = 0; !out; n++) {
		mem_fail_after(n);
		kz_status st = kz_cov(&out, a, KZ_WITH(kz_cov_options, .y = a), &err);
		mem_fail_after(-1);
		ck_assert_int_eq(st == KZ_OK, out != NULL);
		failed += st != KZ_OK;
		kz_error_clear(&err);
	}
	ck_assert_int_gt(failed, 5);
	release_arrays(a, out);
}

SUITE(cov)
{
	Suite *suite = suite_create("cov");
	TCase *tcase = suite_add_case(suite, "cov");
	tcase_add_tests(tcase, linear_all_ways(), covariances_are_those_of_sums,
		correlations_are_covariances_over_deviations, large_means_cost_no_digits,
		two_arrays_are_one_with_all_variables, numbers_that_are_not_there_give_nan);
	tcase_add_tests(tcase, support_device_count(), operands_that_do_not_fit_are_refused,
		a_failing_allocation_leaves_nothing_behind);
	return suite;
}
