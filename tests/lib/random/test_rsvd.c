/* SPDX-License-Identifier: MIT */
/*
 * kz_rsvd and kz_pca of matrices that are made of their singular values: a = u diag(s) vh, where u
 * has columns of a Fourier or cosine transform, and vh is a reflection.
 */
#include "base/common.h"

#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <kudzu/solve.h>
#include <kudzu/view.h>

#include <complex.h>
#include <math.h>
#include <stdlib.h>

enum { MOST = 80 };

static const kz_dtype dtypes[] = {KZ_F32, KZ_F64, KZ_C64, KZ_C128};
static const double pi = 3.14159265358979323846;

static bool is_complex(kz_dtype dtype)
{
	return dtype == KZ_C64 || dtype == KZ_C128;
}

/* Orthonormal columns of m rows; all but the first have the sum 0. */
static double complex left(int m, int i, int j, kz_dtype dtype)
{
	return is_complex(dtype) ? cexp(2 * pi * I * i * j / m) / sqrt(m)
		: j ? sqrt(2. / m) * cos(pi * (i + 0.5) * j / m) : sqrt(1. / m);
}

/* Orthonormal rows of n columns, whose elements all differ: I - 2 v v' with v of norm 1. */
static double right(int n, int i, int j)
{
	const double scale = n * (n + 1) * (2. * n + 1) / 6; /* of the squares of 1 to n */
	return (i == j) - 2 * (i + 1) * (j + 1) / scale;
}

/* (m, n) with the singular values s[0] to s[count - 1], where the first columns are left out. */
static kz_array *make(int m, int n, const double *s, int count, int first, kz_dtype dtype)
{
	static double complex host[MOST][MOST];
	kz_array *wide, *array;
	for (int at = 0; at < m * n; at++) {
		const int i = at / n, j = at % n;
		double complex sum = 0;
		for (int k = 0; k < count; k++) {
			sum += left(m, i, k + first, dtype) * s[k] * right(n, k, j);
		}
		(&host[0][0])[at] = sum;
	}
	ok(kz_array_from(&wide, dev, KZ_C128, KZ_SHAPE(m, n), host, 16 * (int64_t)m * n, &err));
	ok(kz_array_astype(&array, wide, dtype, &err));
	kz_array_release(wide);
	return array;
}

static double complex *get(kz_array *array)
{
	double complex *host = calloc((size_t)kz_array_count(array) + 1, sizeof(*host));
	kz_array *wide;
	ok(kz_array_astype(&wide, array, KZ_C128, &err));
	ok(kz_array_get(wide, host, 16 * kz_array_count(array), &err));
	kz_array_release(wide);
	return host;
}

/* The largest element of |a - u diag(s) vh|. */
static double distance(kz_array *a, kz_array *u, kz_array *s, kz_array *vh)
{
	double complex *host[4] = {get(a), get(u), get(s), get(vh)};
	const kz_shape shape = kz_array_shape(a);
	const int64_t m = shape.dims[0], n = shape.dims[1], rank = kz_array_count(s);
	double most = 0;
	for (int64_t at = 0; at < m * n; at++) {
		double complex rest = host[0][at];
		for (int64_t k = 0; k < rank; k++) {
			rest -= host[1][at / n * rank + k] * host[2][k] * host[3][k * n + at % n];
		}
		most = fmax(most, cabs(rest));
	}
	for (int i = 0; i < 4; i++) {
		free(host[i]);
	}
	return most;
}

/* The largest element of |a a^H - I|, or with `columns` of |a^H a - I|. */
static double skewness(kz_array *a, bool columns)
{
	double complex *host = get(a);
	const kz_shape shape = kz_array_shape(a);
	const int64_t rows = shape.dims[0], width = shape.dims[1];
	const int64_t vectors = columns ? width : rows, length = columns ? rows : width;
	const int64_t step = columns ? width : 1, next = columns ? 1 : width;
	double most = 0;
	for (int64_t at = 0; at < vectors * vectors; at++) {
		const int64_t i = at / vectors, j = at % vectors;
		double complex sum = -(i == j);
		for (int64_t k = 0; k < length; k++) {
			sum += conj(host[i * next + k * step]) * host[j * next + k * step];
		}
		most = fmax(most, cabs(sum));
	}
	free(host);
	return most;
}

static void check_values(kz_array *s, const double *want, int count, double share)
{
	double complex *got = get(s);
	ck_assert_int_eq(kz_array_count(s), count);
	for (int i = 0; i < count; i++) {
		ck_assert_msg(fabs(creal(got[i]) - want[i]) <= share * want[0],
			"value %d: got %.17g, expected %.17g", i, creal(got[i]), want[i]);
	}
	free(got);
}

DEVICE_TEST(rsvd_finds_the_largest_values)
{
	static const int shapes[][2] = {{70, 12}, {12, 70}, {40, 40}, {9, 1}, {1, 9}};
	double s[MOST];
	for (int i = 0; i < MOST; i++) {
		s[i] = i < 6 ? 10. / (i + 1) : 1e-3 / (i + 1);
	}
	for (size_t k = 0; k < 4 * countof(shapes); k++) {
		const int m = shapes[k / 4][0], n = shapes[k / 4][1], least = m < n ? m : n;
		const kz_dtype dtype = dtypes[k % 4];
		const double tiny = k % 2 ? 1e-12 : 1e-4;
		const int rank = least < 6 ? least : 6;
		kz_array *u, *values, *vh, *a = make(m, n, s, least, 0, dtype);
		kz_rsvd_options how = KZ_RSVD_OPTIONS_INIT;
		how.oversampling = 4;
		how.seed = k;
		ok(kz_rsvd(&u, &values, &vh, a, rank, &how, &err));
		ck_assert(kz_array_dtype(u) == dtype && kz_array_dtype(vh) == dtype);
		ck_assert(kz_array_dtype(values) == (k % 2 ? KZ_F64 : KZ_F32));
		check_values(values, s, rank, fmax(tiny, 1e-9));
		ck_assert(skewness(u, true) < tiny && skewness(vh, false) < tiny);
		ck_assert(distance(a, u, values, vh) < 4e-4);
		release_arrays(a, u, values, vh);
	}
}

/* Of a matrix of the rank that is asked for nothing is left, whatever the options. */
DEVICE_TEST(rsvd_of_a_low_rank_is_exact)
{
	static const double s[3] = {5, 4, 3};
	kz_array *a = make(30, 50, s, 3, 0, KZ_C128), *u, *values, *vh, *one;
	kz_rsvd_options how = KZ_RSVD_OPTIONS_INIT;
	for (int k = 0; k < 4; k++) {
		how.oversampling = k % 2 ? 1000 : 0;
		how.iterations = k / 2 * 3;
		ok(kz_rsvd(&u, &values, &vh, a, 3, &how, &err));
		check_values(values, s, 3, 1e-12);
		ck_assert(distance(a, u, values, vh) < 1e-11);
		release_arrays(u, values, vh);
	}
	how.iterations = how.oversampling = 0;
	ok(kz_rsvd(&u, &values, &vh, a, 1, &how, &err));
	release_arrays(values, vh);
	ok(kz_rsvd(&one, &values, &vh, a, 1, &how, &err)); /* the seed says what is drawn */
	release_arrays(values, vh);
	double complex *first = get(u), *again = get(one);
	ck_assert_mem_eq(first, again, 30 * 16);
	free(first);
	free(again);
	release_arrays(a, u, one);
}

/* Integers, halves, batches, gaps. */
DEVICE_TEST(rsvd_takes_any_matrices)
{
	static const int32_t rows[2][3][2] = {{{1, 2}, {2, 4}, {3, 6}}, {{0, 1}, {0, 2}, {0, 2}}};
	static const double want[2] = {8.366600265340756, 3};
	kz_array *a, *u, *s, *vh, *turned;
	double got[2][1];
	ok(kz_array_from(&a, dev, KZ_I32, KZ_SHAPE(2, 3, 2), rows, sizeof(rows), &err));
	ok(kz_array_swapaxes(&turned, a, 1, 2, &err));
	for (int k = 0; k < 2; k++) {
		kz_array *u_of, *s_of, *vh_of;
		ok(kz_rsvd(&u_of, &s_of, &vh_of, k ? turned : a, 1, NULL, &err));
		ck_assert_uint_eq(kz_array_dtype(s_of), KZ_F64);
		ok(kz_array_get(s_of, got, sizeof(got), &err));
		ck_assert(fabs(got[0][0] - want[0]) < 1e-13 && fabs(got[1][0] - want[1]) < 1e-13);
		ck_assert_int_eq(kz_array_count(vh_of), k ? 6 : 4);
		release_arrays(u_of, s_of, vh_of);
	}
	kz_array_release(turned);
	fails(kz_rsvd(&u, &s, &vh, a, 3, NULL, &err), KZ_INVALID, "(2, 3, 2) has no rank 3");
	fails(kz_rsvd(&u, &s, &vh, a, 0, NULL, &err), KZ_INVALID, "no rank 0");
	kz_rsvd_options how = KZ_RSVD_OPTIONS_INIT;
	how.oversampling = -1;
	fails(kz_rsvd(&u, &s, &vh, a, 1, &how, &err), KZ_INVALID, "oversampling -1");
	how.size = 1;
	fails(kz_rsvd(&u, &s, &vh, a, 1, &how, &err), KZ_INVALID, "kz_rsvd_options");
	fails(kz_rsvd(&u, NULL, &vh, a, 1, NULL, &err), KZ_INVALID, "out is NULL");
	fails(kz_rsvd(&u, &s, &vh, NULL, 1, NULL, &err), KZ_INVALID, "NULL");
	kz_array_release(a);
}

/* PCA */

/* Observations with the mean j + 1 in column j, and what must become of them. */
static void try_pca(int m, int n, int wanted, kz_dtype dtype, double tiny)
{
	double s[MOST], variances[MOST];
	const int all = m - 1 < n ? m - 1 : n, count = wanted ? wanted : m < n ? m : n;
	kz_array *rest, *x, *means, *scores, *loadings, *values, *mean;
	for (int k = 0; k < MOST; k++) {
		s[k] = k < all ? 20. / (k + 1) : 0;
		variances[k] = s[k] * s[k] / (m - 1);
	}
	rest = make(m, n, s, all, 1, dtype);
	ok(kz_arange(&means, dev, dtype, 1, n + 1, 1, &err));
	ok(kz_add(&x, rest, means, &err));
	ok(kz_pca(&scores, &loadings, &values, &mean, x, wanted, NULL, &err));
	check_values(values, variances, count, tiny);
	double complex *t = get(scores), *p = get(loadings), *middle = get(mean);
	for (int j = 0; j < n; j++) {
		ck_assert(cabs(middle[j] - (j + 1)) < 100 * tiny);
	}
	ck_assert_int_eq(kz_array_count(scores), m * count);
	ck_assert_int_eq(kz_array_count(loadings), count * n);
	for (int k = 0; k < count && k < all; k++) {
		int most = 0;
		for (int j = 1; j < n; j++) {
			most = fabs(right(n, k, j)) > fabs(right(n, k, most)) ? j : most;
		}
		const double sign = right(n, k, most) > 0 ? 1 : -1;
		for (int j = 0; j < n; j++) {
			ck_assert(cabs(p[k * n + j] - sign * right(n, k, j)) < 100 * tiny);
		}
		for (int i = 0; i < m; i++) {
			ck_assert(cabs(t[i * count + k] - sign * s[k] * left(m, i, k + 1, dtype))
				< 1000 * tiny);
		}
	}
	free(t);
	free(p);
	free(middle);
	release_arrays(rest, means, x, scores, loadings, values, mean);
}

DEVICE_TEST(pca_finds_scores_loadings_and_variances)
{
	static const int shapes[][3] = {{12, 5, 0}, {12, 5, 2}, {6, 9, 0}, {6, 9, 3}, {2, 3, 1},
		{5, 1, 1}};
	for (size_t k = 0; k < 4 * countof(shapes); k++) {
		const int *shape = shapes[k / 4];
		try_pca(shape[0], shape[1], shape[2], dtypes[k % 4], k % 2 ? 1e-13 : 3e-5);
	}
}

DEVICE_TEST(pca_takes_batches_and_refuses_what_has_no_components)
{
	static const int8_t rows[2][3][2] = {{{0, 1}, {2, 1}, {4, 1}}, {{5, 1}, {5, 2}, {5, 6}}};
	static const double want[2][3] = {{-2, 0, 2}, {-2, -1, 3}};
	double got[2][3], loadings[2][2];
	kz_array *x, *scores, *of_x, *line;
	ok(kz_array_from(&x, dev, KZ_I8, KZ_SHAPE(2, 3, 2), rows, sizeof(rows), &err));
	ok(kz_pca(&scores, &of_x, NULL, NULL, x, 1, NULL, &err));
	ok(kz_array_get(scores, got, sizeof(got), &err));
	ok(kz_array_get(of_x, loadings, sizeof(loadings), &err));
	for (int k = 0; k < 6; k++) {
		ck_assert(fabs(got[k / 3][k % 3] - want[k / 3][k % 3]) < 1e-14);
	}
	ck_assert(fabs(loadings[0][0] - 1) < 1e-14 && fabs(loadings[1][1] - 1) < 1e-14);
	release_arrays(scores, of_x);
	fails(kz_pca(&scores, NULL, NULL, NULL, x, 3, NULL, &err), KZ_INVALID,
		"expected 1 to 2 components of shape (2, 3, 2), or 0 for all, got 3");
	fails(kz_pca(&scores, NULL, NULL, NULL, x, -1, NULL, &err), KZ_INVALID, "got -1");
	fails(kz_pca(NULL, &of_x, NULL, NULL, x, 1, NULL, &err), KZ_INVALID, "NULL");
	kz_array_release(x);
	ok(kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(1, 4), &err));
	fails(kz_pca(&scores, NULL, NULL, NULL, x, 0, NULL, &err), KZ_INVALID, "two rows or more");
	ok(kz_array_zeros(&line, dev, KZ_F32, KZ_SHAPE(4), &err));
	fails(kz_pca(&scores, NULL, NULL, NULL, line, 0, NULL, &err), KZ_INVALID, "a matrix");
	release_arrays(x, line);
}

SUITE(rsvd)
{
	Suite *s = suite_create("rsvd");
	TCase *tc = suite_add_case(s, "rsvd");
	tcase_add_tests(tc, both_shapes_count(), rsvd_finds_the_largest_values,
		rsvd_of_a_low_rank_is_exact, rsvd_takes_any_matrices);
	tc = suite_add_case(s, "pca");
	tcase_add_tests(tc, both_shapes_count(), pca_finds_scores_loadings_and_variances,
		pca_takes_batches_and_refuses_what_has_no_components);
	return s;
}
