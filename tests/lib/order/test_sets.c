/* SPDX-License-Identifier: MIT */
/* Different elements, sets, greatest elements and quantiles on every device, against loops over
 * host memory. */
#include "base/common.h"

#include "support/device_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000 };

/* NaN comes last, and all NaN are equal. */
static int compare(const void *x, const void *y)
{
	const double a = *(const double *)x, b = *(const double *)y;
	return isnan(a) || isnan(b) ? !!isnan(a) - !!isnan(b) : (a > b) - (a < b);
}

/* `count` small integers, of which every `nan`th is NaN, or none. */
static void fill(double *host, int64_t count, int nan)
{
	for (int64_t i = 0; i < count; i++) {
		host[i] = nan && i % nan == 2 ? NAN : (double)((i * 7919 + i * i) % 41) - 20;
	}
}

static int64_t download(double *host, kz_array *array)
{
	kz_array *doubles;
	int64_t count = kz_array_count(array);
	ok(kz_array_astype(&doubles, array, KZ_F64, &err));
	ok(kz_array_get(doubles, host, 8 * count, &err));
	kz_array_release(doubles);
	return count;
}

/* The reference: sorted, without those that are like the one before. */
static int64_t reduce_to_set(double *host, int64_t count)
{
	int64_t kept = 0;
	qsort(host, (size_t)count, sizeof(*host), compare);
	for (int64_t i = 0; i < count; i++) {
		if (kept == 0 || compare(&host[kept - 1], &host[i]) != 0) {
			host[kept++] = host[i];
		}
	}
	return kept;
}

static void check_values(kz_array *array, const double *want, int64_t count)
{
	double got[2 * MOST];
	ck_assert_int_eq(download(got, array), count);
	for (int64_t i = 0; i < count; i++) {
		ck_assert_msg(compare(&got[i], &want[i]) == 0, "%lld: got %g, expected %g",
			(long long)i, got[i], want[i]);
	}
}

static const kz_dtype dtypes[] = {KZ_F64, KZ_F32, KZ_F16, KZ_I32, KZ_I8};

static void check_unique(kz_dtype dtype, int64_t count)
{
	double host[MOST], want[MOST];
	int64_t index[MOST], inverse[MOST], counts[MOST], total = 0;
	kz_array *got[4];
	fill(host, count, dtype == KZ_I32 || dtype == KZ_I8 ? 0 : 5);
	memcpy(want, host, sizeof(want));
	int64_t n = reduce_to_set(want, count);
	kz_array *array = support_array_of(dev, dtype, host, count);
	ok(kz_unique(&got[0], &got[1], &got[2], &got[3], array, NULL, &err));
	ck_assert_int_eq(kz_array_dtype(got[0]), dtype);
	check_values(got[0], want, n);
	ok(kz_array_get(got[1], index, 8 * n, &err));
	ok(kz_array_get(got[2], inverse, 8 * count, &err));
	ok(kz_array_get(got[3], counts, 8 * n, &err));
	for (int64_t i = 0; i < count; i++) {
		ck_assert(inverse[i] >= 0 && inverse[i] < n);
		ck_assert_int_eq(compare(&host[i], &want[inverse[i]]), 0);
		ck_assert_int_le(index[inverse[i]], i);
	}
	for (int64_t i = 0; i < n; i++) {
		ck_assert_int_eq(compare(&host[index[i]], &want[i]), 0);
		int64_t often = 0;
		for (int64_t k = 0; k < count; k++) {
			often += inverse[k] == i;
		}
		ck_assert_int_eq(counts[i], often);
		total += often;
	}
	ck_assert_int_eq(total, count);
	for (int i = 0; i < 4; i++) {
		kz_array_release(got[i]);
	}
	kz_array_release(array);
}

DEVICE_TEST(unique_finds_each_element_once)
{
	static const int64_t counts[] = {0, 1, 2, 33, MOST};
	for (size_t k = 0; k < countof(counts); k++) {
		check_unique(KZ_F64, counts[k]);
	}
	for (size_t k = 0; k < countof(dtypes); k++) {
		check_unique(dtypes[k], 100);
	}
}

DEVICE_TEST(unique_of_a_matrix_has_its_shape_in_the_inverse)
{
	static const int32_t host[2][3] = {{5, 1, 5}, {1, 1, -2}},
		want[2][3] = {{2, 1, 2}, {1, 1, 0}};
	int64_t got[2][3];
	kz_array *array, *turned, *inverse;
	ok(kz_array_from(&array, dev, KZ_I32, KZ_SHAPE(2, 3), host, sizeof(host), &err));
	ok(kz_unique(NULL, NULL, &inverse, NULL, array, NULL, &err));
	ok(kz_array_get(inverse, got, sizeof(got), &err));
	for (int i = 0; i < 6; i++) {
		ck_assert_int_eq(got[i / 3][i % 3], want[i / 3][i % 3]);
	}
	kz_array_release(inverse);
	ok(kz_array_transpose(&turned, array, KZ_AXES(1, 0), &err));
	ok(kz_unique(NULL, NULL, &inverse, NULL, turned, NULL, &err));
	ck_assert_int_eq(kz_array_shape(inverse).dims[0], 3);
	ok(kz_array_get(inverse, got, sizeof(got), &err));
	for (int i = 0; i < 6; i++) {
		ck_assert_int_eq((&got[0][0])[i], want[i % 2][i / 2]);
	}
	release_arrays(array, turned, inverse);
}

static bool is_among(double x, const double *others, int64_t count)
{
	bool found = false;
	for (int64_t i = 0; i < count; i++) {
		found = found || others[i] == x;
	}
	return found;
}

static void check_sets(kz_dtype first, int64_t count, kz_dtype second, int64_t others)
{
	double a[MOST], b[MOST], want[2 * MOST], kept[MOST];
	uint8_t mask[MOST];
	fill(a, count, first == KZ_F64 ? 7 : 0);
	fill(b, others, second == KZ_F64 ? 5 : 0);
	for (int64_t i = 0; i < others; i++) {
		b[i] = 2 * b[i] - 10;
	}
	kz_array *x = support_array_of(dev, first, a, count),
		*y = support_array_of(dev, second, b, others), *got;
	for (int invert = 0; invert < 2; invert++) {
		ok(kz_isin(&got, x, y, invert, NULL, &err));
		ck_assert_uint_eq(kz_array_dtype(got), KZ_BOOL);
		ok(kz_array_get(got, mask, count, &err));
		for (int64_t i = 0; i < count; i++) {
			ck_assert_int_eq(mask[i], is_among(a[i], b, others) != invert);
		}
		kz_array_release(got);
	}
	memcpy(want, a, sizeof(double[MOST]));
	int64_t n = reduce_to_set(want, count);
	for (int invert = 0; invert < 2; invert++) {
		int64_t left = 0;
		for (int64_t i = 0; i < n; i++) {
			if (is_among(want[i], b, others) != invert) {
				kept[left++] = want[i];
			}
		}
		ok((invert ? kz_setdiff1d : kz_intersect1d)(&got, x, y, NULL, &err));
		check_values(got, kept, left);
		kz_array_release(got);
	}
	memcpy(want, a, (size_t)count * sizeof(double));
	memcpy(want + count, b, (size_t)others * sizeof(double));
	ok(kz_union1d(&got, x, y, NULL, &err));
	check_values(got, want, reduce_to_set(want, count + others));
	release_arrays(x, y, got);
}

DEVICE_TEST(sets_are_those_of_loops)
{
	check_sets(KZ_F64, 0, KZ_F64, 3);
	check_sets(KZ_F64, 3, KZ_F64, 0);
	check_sets(KZ_F64, 500, KZ_F64, 20);
	check_sets(KZ_I32, 100, KZ_F32, 40);
	check_sets(KZ_I8, 33, KZ_I64, MOST);
}

DEVICE_TEST(the_greatest_and_the_least_are_found)
{
	static const int64_t counts[] = {0, 1, 5, 33};
	double host[33], want[33], values[33];
	int64_t indexes[33];
	fill(host, 33, 11);
	kz_array *array = support_array_of(dev, KZ_F64, host, 33), *got, *places;
	for (int largest = 0; largest < 2; largest++) {
		for (size_t k = 0; k < countof(counts); k++) {
			int64_t count = counts[k];
			memcpy(want, host, sizeof(want));
			qsort(want, 33, sizeof(*want), compare);
			ok(kz_topk(&got, &places, array, count, 0, largest, NULL, &err));
			ck_assert_int_eq(download(values, got), count);
			ok(kz_array_get(places, indexes, 8 * count, &err));
			for (int64_t i = 0; i < count; i++) {
				ck_assert_int_eq(compare(&values[i], &want[largest ? 32 - i : i]),
					0);
				ck_assert_int_eq(compare(&values[i], &host[indexes[i]]), 0);
			}
			release_arrays(got, places);
		}
	}
	kz_array_release(array);
}

DEVICE_TEST(the_greatest_of_each_row_and_column_are_found)
{
	static const float host[2][3] = {{1, 3, 2}, {6, 4, 5}};
	float got[4];
	int64_t at[2];
	kz_array *array, *values, *indexes;
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(2, 3), host, sizeof(host), &err));
	ok(kz_topk(&values, NULL, array, 2, -1, 1, NULL, &err));
	ok(kz_array_get(values, got, sizeof(got), &err));
	ck_assert(got[0] == 3 && got[1] == 2 && got[2] == 6 && got[3] == 5);
	kz_array_release(values);
	ok(kz_topk(NULL, &indexes, array, 1, 1, 0, NULL, &err));
	ok(kz_array_get(indexes, at, sizeof(at), &err));
	ck_assert(at[0] == 0 && at[1] == 1);
	release_arrays(array, indexes);
}

static double want_quantile(double *host, int64_t count, double q, kz_quantile_method method)
{
	qsort(host, (size_t)count, sizeof(*host), compare);
	double at = q * (double)(count - 1);
	double low = host[(int64_t)floor(at)], high = host[(int64_t)ceil(at)];
	return isnan(host[count - 1]) ? NAN
		: method == KZ_QUANTILE_LOWER ? low : method == KZ_QUANTILE_HIGHER ? high
		: method == KZ_QUANTILE_NEAREST ? host[(int64_t)nearbyint(at)]
		: method == KZ_QUANTILE_MIDPOINT ? (low + high) / 2
		: low + (high - low) * (at - floor(at));
}

DEVICE_TEST(quantiles_lie_between_sorted_elements)
{
	static const double qs[] = {0, 0.1, 0.25, 0.5, 0.77, 1};
	static const int64_t counts[] = {1, 2, 10, 33};
	for (size_t k = 0; k < countof(counts) * countof(qs) * 5; k++) {
		double host[33], got;
		int64_t count = counts[k % countof(counts)];
		double q = qs[k / countof(counts) % countof(qs)];
		kz_quantile_method method =
			(kz_quantile_method)(k / (countof(counts) * countof(qs)));
		fill(host, count, 0);
		kz_array *array = support_array_of(dev, k % 2 ? KZ_F64 : KZ_I32, host, count), *out;
		ok(kz_quantile(&out, array, q, KZ_ALL_AXES, method, NULL, &err));
		ck_assert_int_eq(kz_array_dtype(out), KZ_F64);
		ok(kz_array_get(out, &got, 8, &err));
		ck_assert_double_eq_tol(got, want_quantile(host, count, q, method), 1e-12);
		release_arrays(array, out);
	}
}

DEVICE_TEST(quantiles_go_along_an_axis_and_keep_nan)
{
	static const float host[3][2] = {{1, INFINITY}, {2, 7}, {NAN, INFINITY}};
	float got[3];
	kz_array *array, *out;
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(3, 2), host, sizeof(host), &err));
	ok(kz_median(&out, array, KZ_AXES(0), &err));
	ck_assert_int_eq(kz_array_dtype(out), KZ_F32);
	ok(kz_array_get(out, got, 8, &err));
	ck_assert(isnan(got[0]) && got[1] == INFINITY);
	kz_array_release(out);
	ok(kz_percentile(&out, array, 25, KZ_AXES(1), &err));
	ok(kz_array_get(out, got, 12, &err));
	ck_assert(got[0] == INFINITY && got[1] == 3.25F && isnan(got[2]));
	release_arrays(array, out);
}

DEVICE_TEST(wrong_arguments_are_refused)
{
	static const float parts[2] = {1, 2};
	kz_set_options options = KZ_SET_OPTIONS_INIT;
	kz_array *array, *complex, *matrix, *out = NULL;
	double host[6];
	fill(host, 6, 0);
	array = support_array_of(dev, KZ_F64, host, 6);
	ok(kz_array_from(&complex, dev, KZ_C64, KZ_SHAPE(1), parts, 8, &err));
	ok(kz_array_zeros(&matrix, dev, KZ_F32, KZ_SHAPE(2, 3, 4), &err));
	options.size = 1;
	fails(kz_unique(&out, NULL, NULL, NULL, array, &options, &err), KZ_INVALID,
		"kz_set_options");
	fails(kz_unique(&out, NULL, NULL, NULL, NULL, NULL, &err), KZ_INVALID, "NULL");
	fails(kz_isin(NULL, array, array, 0, NULL, &err), KZ_INVALID, "out");
	fails(kz_isin(&out, array, NULL, 0, NULL, &err), KZ_INVALID, "NULL");
	fails(kz_topk(&out, NULL, array, 7, 0, 1, NULL, &err), KZ_RANGE, "0 to 6");
	fails(kz_topk(&out, NULL, array, -1, 0, 1, NULL, &err), KZ_RANGE, "-1");
	fails(kz_topk(&out, NULL, array, 1, 1, 1, NULL, &err), KZ_RANGE, "axis 1");
	fails(kz_quantile(&out, array, 1.01, KZ_AXES(0), KZ_QUANTILE_LINEAR, NULL, &err), KZ_RANGE,
		"1.01");
	fails(kz_quantile(&out, array, NAN, KZ_AXES(0), KZ_QUANTILE_LINEAR, NULL, &err), KZ_RANGE,
		"nan");
	fails(kz_quantile(&out, array, 1, KZ_AXES(0), (kz_quantile_method)5, NULL, &err),
		KZ_INVALID, "5 is not a kz_quantile_method");
	fails(kz_quantile(&out, complex, 1, KZ_AXES(0), KZ_QUANTILE_LINEAR, NULL, &err), KZ_INVALID,
		"complex64");
	fails(kz_quantile(&out, matrix, 1, KZ_AXES(0, 1), KZ_QUANTILE_LINEAR, NULL, &err),
		KZ_INVALID, "one axis");
	ck_assert_ptr_null(out);
	release_arrays(array, complex, matrix);
}

SUITE(sets)
{
	Suite *suite = suite_create("sets");
	TCase *tcase = suite_add_case(suite, "each device");
	tcase_set_timeout(tcase, 120);
	tcase_add_tests(tcase, support_device_count(), unique_finds_each_element_once,
		unique_of_a_matrix_has_its_shape_in_the_inverse, sets_are_those_of_loops,
		the_greatest_and_the_least_are_found, the_greatest_of_each_row_and_column_are_found,
		quantiles_lie_between_sorted_elements, quantiles_go_along_an_axis_and_keep_nan,
		wrong_arguments_are_refused);
	return suite;
}
