/* SPDX-License-Identifier: MIT */
/* searchsorted, digitize, histogram, bincount, on every device, against loops over host memory. */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <kudzu/histogram.h>
#include <kudzu/search.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 20000 };
static const int64_t sizes[] = {0, 1, 2, 33, 1000, MOST};
static double numbers[MOST], others[MOST];
static int64_t got[2 * MOST];

/* Whole numbers from 0 to below `end`; one in `nan_each` is NaN. */
static void draw(double *to, int64_t count, int end, int nan_each)
{
	static uint64_t state = 1;
	for (int64_t i = 0; i < count; i++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		to[i] = nan_each && (state >> 40) % (uint64_t)nan_each == 0 ? NAN
			: (double)((state >> 33) % (uint64_t)end);
	}
}

static bool before(double a, double b)
{
	return a < b || (a == a && b != b);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return before(y, x) - before(x, y);
}

/* The same elements, with gaps between them. */
static kz_array *spread(kz_array *array)
{
	kz_array *twice, *every;
	ok(kz_array_repeat(&twice, array, 2, 0, NULL, &err));
	ok(kz_array_slice(&every, twice, KZ_AT(KZ_SLICE(KZ_OMIT, KZ_OMIT, 2)), &err));
	release_arrays(twice, array);
	return every;
}

static void get(kz_array *array, kz_dtype dtype, int64_t count)
{
	ck_assert_int_eq(kz_array_dtype(array), dtype);
	ck_assert_int_eq(kz_array_count(array), count);
	ok(kz_array_get(array, got, 8 * count, &err));
}

/* How many of the sorted numbers come before, with `right` not after. */
static int64_t place_of(const double *sorted, int64_t count, double value, int right)
{
	int64_t place = 0;
	while (place < count
	    && (right ? !before(value, sorted[place]) : before(sorted[place], value))) {
		place++;
	}
	return place;
}

static void check_search(kz_dtype dtype, int64_t count, int right)
{
	kz_search_options options = KZ_SEARCH_OPTIONS_INIT;
	bool has_nan = dtype_is_inexact(dtype);
	int end = dtype == KZ_BOOL ? 2 : 100;
	draw(numbers, count, end, has_nan ? 9 : 0);
	draw(others, 333, end, has_nan ? 9 : 0);
	qsort(numbers, (size_t)count, sizeof(*numbers), compare);
	kz_array *sorted = support_array_of(dev, dtype, numbers, count),
		*values = support_array_of(dev, dtype, others, 333);
	kz_array *places = NULL;
	sorted = count % 2 ? spread(sorted) : sorted;
	values = count % 2 ? values : spread(values);
	options.right = right;
	ok(kz_searchsorted(&places, sorted, values, &options, &err));
	get(places, KZ_I64, 333);
	for (int i = 0; i < 333; i++) {
		ck_assert_msg(got[i] == place_of(numbers, count, others[i], right),
			"%s, %lld sorted, %s: %g is at %lld", kz_dtype_name(dtype),
			(long long)count, right ? "right" : "left", others[i], (long long)got[i]);
	}
	release_arrays(sorted, values, places);
}

DEVICE_TEST(searchsorted_finds_what_a_loop_finds_for_every_type)
{
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER));) {
		if (!both_shapes_try(dtype - 1, KZ_C128, 5, 2)) {
			continue;
		}
		for (size_t k = 0; k < countof(sizes) - 1; k++) {
			check_search(dtype, sizes[k], (int)(k + dtype) % 2);
		}
	}
	check_search(KZ_F32, MOST, 0);
	check_search(KZ_F32, MOST, 1);
}

/* numpy.sort's order of complex numbers with NaN. */
DEVICE_TEST(complex_numbers_go_by_the_real_part_and_nan_comes_last)
{
	static const double sorted[][2] = {{1, 5}, {2, -1}, {2, 3}, {1, NAN}, {3, NAN}, {NAN, 0},
		{NAN, 2}, {NAN, NAN}};
	kz_array *array, *places;
	ok(kz_array_from(&array, dev, KZ_C128, KZ_SHAPE(8), sorted, sizeof(sorted), &err));
	ok(kz_searchsorted(&places, array, array, NULL, &err));
	get(places, KZ_I64, 8);
	for (int i = 0; i < 8; i++) {
		ck_assert_int_eq(got[i], i);
	}
	release_arrays(array, places);
}

DEVICE_TEST(searchsorted_takes_a_sorter_mixed_types_and_any_shape)
{
	static const double mixed[4] = {3, 1, 2, 0}, wanted[6] = {0.5, 1, 2.5, 9, -1, 2};
	static const double order[4] = {3, 1, 2, 0};
	static const int64_t want[6] = {1, 1, 3, 4, 0, 2};
	kz_search_options options = KZ_SEARCH_OPTIONS_INIT;
	kz_array *sorted = support_array_of(dev, KZ_I16, mixed, 4),
		*flat = support_array_of(dev, KZ_F32, wanted, 6), *values;
	kz_array *places = NULL, *far;
	options.sorter = support_array_of(dev, KZ_U8, order, 4);
	ok(kz_array_reshape(&values, flat, KZ_SHAPE(2, 3), &err));
	ok(kz_searchsorted(&places, sorted, values, &options, &err));
	ck_assert_int_eq(kz_array_ndim(places), 2);
	get(places, KZ_I64, 6);
	ck_assert_mem_eq(got, want, sizeof(want));
	kz_array_release(places);
	ok(kz_add(&far, options.sorter, 3, &err));
	kz_array_release(options.sorter);
	options.sorter = far;
	fails(kz_searchsorted(&places, sorted, values, &options, &err), KZ_RANGE,
		"index 6, at place 0 of the indexes");
	options.sorter = values;
	fails(kz_searchsorted(&places, sorted, values, &options, &err), KZ_INVALID,
		"expected a sorter of shape (4,), got (2, 3)");
	fails(kz_searchsorted(&places, values, sorted, NULL, &err), KZ_INVALID,
		"searchsorted: expected one extent of sorted elements, got shape (2, 3)");
	options.size = 3;
	fails(kz_searchsorted(&places, sorted, values, &options, &err), KZ_INVALID,
		"kz_search_options");
	ck_assert_ptr_null(places);
	release_arrays(sorted, flat, values, far);
}

DEVICE_TEST(digitize_takes_bins_that_ascend_or_descend)
{
	static const double up[5] = {0, 1, 2.5, 2.5, 10}, down[5] = {10, 2.5, 2.5, 1, 0};
	static const double values[8] = {-1, 0, 0.5, 1, 2.5, 9, 10, 11};
	static const int64_t want[4][8] = {{0, 1, 1, 2, 4, 4, 5, 5}, {0, 0, 1, 1, 2, 4, 4, 5},
		{5, 4, 4, 3, 1, 1, 0, 0}, {5, 5, 4, 4, 3, 1, 1, 0}};
	kz_search_options options = KZ_SEARCH_OPTIONS_INIT;
	kz_array *array = support_array_of(dev, KZ_F64, values, 8), *places = NULL;
	for (int k = 0; k < 4; k++) {
		kz_array *bins = spread(support_array_of(dev, KZ_F32, k < 2 ? up : down, 5));
		options.right = k % 2;
		ok(kz_digitize(&places, array, bins, &options, &err));
		get(places, KZ_I64, 8);
		ck_assert_mem_eq(got, want[k], sizeof(want[k]));
		release_arrays(bins, places);
	}
	kz_array_release(array);
}

DEVICE_TEST(digitize_refuses_bins_in_no_order)
{
	static const double bad[5] = {1, 1, 2, 3, 2}, none[1] = {0};
	kz_search_options options = KZ_SEARCH_OPTIONS_INIT;
	kz_array *bins = support_array_of(dev, KZ_I32, bad, 5), *odd, *places = NULL;
	fails(kz_digitize(&places, bins, bins, NULL, &err), KZ_INVALID,
		"digitize: expected bins in ascending or descending order, but bin 1 is below bin "
		"2, and bin 4 is below bin 3");
	ok(kz_array_astype(&odd, bins, KZ_C64, &err));
	fails(kz_digitize(&places, odd, bins, NULL, &err), KZ_INVALID,
		"real numbers, got complex64");
	options.sorter = bins;
	fails(kz_digitize(&places, bins, bins, &options, &err), KZ_INVALID, "no sorter");
	ck_assert_ptr_null(places);
	kz_array *empty = support_array_of(dev, KZ_I32, none, 0);
	ok(kz_digitize(&places, bins, empty, NULL, &err));
	get(places, KZ_I64, 5);
	ck_assert_int_eq(got[0] | got[4], 0);
	release_arrays(bins, odd, empty, places);
}

/* Count */

static void check_bincount(kz_dtype dtype, int64_t count, int end, int64_t minlength)
{
	static int64_t want[1 << 17];
	kz_bincount_options options = KZ_BINCOUNT_OPTIONS_INIT;
	int64_t length = 0;
	draw(numbers, count, end, 0);
	memset(want, 0, sizeof(want));
	for (int64_t i = 0; i < count; i++) {
		want[(int64_t)numbers[i]]++;
		length = numbers[i] >= (double)length ? (int64_t)numbers[i] + 1 : length;
	}
	length = length > minlength ? length : minlength;
	kz_array *array = support_array_of(dev, dtype, numbers, count), *counts = NULL;
	array = count % 2 ? spread(array) : array;
	options.minlength = minlength;
	ok(kz_bincount(&counts, array, &options, &err));
	get(counts, KZ_I64, length);
	ck_assert_mem_eq(got, want, (size_t)(8 * length));
	release_arrays(array, counts);
}

DEVICE_TEST(bincount_counts_every_type_of_integers)
{
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_EXACT));) {
		if (!both_shapes_try(dtype - 1, KZ_U64, 3, 1)) {
			continue;
		}
		for (size_t k = 0; k < countof(sizes); k++) {
			check_bincount(dtype, sizes[k], dtype == KZ_BOOL ? 2 : 100, k % 2 ? 0 : 50);
		}
	}
	check_bincount(KZ_I32, MOST, 1023, 0);
	check_bincount(KZ_I32, MOST, 1024, 2000); /* around what is tried first */
	check_bincount(KZ_U16, MOST, 1025, 0);
	check_bincount(KZ_I64, MOST, 30000, 0);
}

DEVICE_TEST(bincount_names_the_first_negative_number)
{
	kz_array *counts = NULL, *wrong;
	kz_bincount_options options = KZ_BINCOUNT_OPTIONS_INIT;
	draw(numbers, MOST, 3000, 0);
	numbers[MOST - 5] = -7;
	numbers[1234] = -3;
	numbers[1235] = -5;
	kz_array *array = support_array_of(dev, KZ_I16, numbers, MOST);
	fails(kz_bincount(&counts, array, NULL, &err), KZ_RANGE,
		"bincount: expected numbers of at least 0, got -3 at index 1234");
	ok(kz_array_astype(&wrong, array, KZ_F32, &err));
	fails(kz_bincount(&counts, wrong, NULL, &err), KZ_INVALID,
		"bincount: expected one extent of integers, got float32 of shape (20000,)");
	options.minlength = -1;
	fails(kz_bincount(&counts, array, &options, &err), KZ_INVALID,
		"minlength of at least 0, got -1");
	options.minlength = 0;
	kz_array *far = support_array_of(dev, KZ_U64, (const double[]){0x1p60}, 1);
	fails(kz_bincount(&counts, far, NULL, &err), KZ_RANGE, "1152921504606846976 is too large");
	options.weights = far;
	fails(kz_bincount(&counts, array, &options, &err), KZ_INVALID,
		"bincount: expected weights of shape (20000,), got (1,)");
	ck_assert_ptr_null(counts);
	release_arrays(array, wrong, far);
}

/* Weights that are no multiples of each other's last places, some of them negative. */
static void check_weights(int64_t count, int end)
{
	static double want[1 << 16], sizes_of[1 << 16];
	kz_bincount_options options = KZ_BINCOUNT_OPTIONS_INIT;
	kz_array *counts, *again;
	const double *sums = (const double *)got;
	draw(numbers, count, end, 0);
	numbers[0] = end - 1;
	memset(want, 0, sizeof(want));
	memset(sizes_of, 0, sizeof(sizes_of));
	for (int64_t i = 0; i < count; i++) {
		others[i] = sin((double)i) * 3;
		want[(int64_t)numbers[i]] += others[i];
		sizes_of[(int64_t)numbers[i]] += fabs(others[i]);
	}
	kz_array *array = support_array_of(dev, KZ_I32, numbers, count);
	options.weights = spread(support_array_of(dev, KZ_F64, others, count));
	ok(kz_bincount(&counts, array, &options, &err));
	dev->serial = !dev->serial;
	ok(kz_bincount(&again, array, &options, &err));
	dev->serial = !dev->serial;
	double *other = malloc((size_t)(8 * end));
	ok(kz_array_get(again, other, 8 * end, &err));
	get(counts, KZ_F64, end);
	ck_assert_mem_eq(sums, other, (size_t)(8 * end)); /* the same bits */
	for (int i = 0; i < end; i++) {
		ck_assert(fabs(sums[i] - want[i]) <= sizes_of[i] * 1e-13);
	}
	free(other);
	release_arrays(array, options.weights, counts, again);
}

DEVICE_TEST(sums_of_weights_have_the_same_bits_in_every_form)
{
	check_weights(1, 1);
	check_weights(33, 5);
	check_weights(MOST, 7);
	check_weights(MOST, 1500);
	check_weights(MOST, 3000);
}

/* Histograms */

/* The bin of a value; `bins` if it has none. */
static int64_t bin_of(double value, const double *edges, int64_t bins)
{
	if (!(value >= edges[0] && value <= edges[bins])) {
		return bins;
	}
	int64_t bin = bins - 1;
	while (bin > 0 && value < edges[bin]) {
		bin--;
	}
	return bin;
}

static void check_histogram(kz_dtype dtype, int64_t count, int64_t bins, double low, double high)
{
	static double edges[1 << 12];
	static int64_t want[1 << 12];
	kz_histogram_options options = KZ_HISTOGRAM_OPTIONS_INIT;
	kz_array *counts = NULL, *between = NULL, *wide;
	options.bins = bins;
	options.low = low;
	options.high = high;
	draw(numbers, count, dtype == KZ_BOOL ? 2 : 100,
		dtype_is_inexact(dtype) && high > low ? 9 : 0);
	kz_array *array = support_array_of(dev, dtype, numbers, count);
	array = count % 2 ? spread(array) : array;
	ok(kz_histogram(&counts, &between, array, &options, &err));
	ck_assert_int_eq(kz_array_dtype(between), dtype_is_inexact(dtype) ? dtype : KZ_F64);
	ok(kz_array_astype(&wide, between, KZ_F64, &err));
	ok(kz_array_get(wide, edges, 8 * (bins + 1), &err));
	memset(want, 0, sizeof(want));
	for (int64_t i = 0; i < count; i++) {
		want[bin_of(numbers[i], edges, bins)]++;
	}
	get(counts, KZ_I64, bins);
	ck_assert_mem_eq(got, want, (size_t)(8 * bins));
	if (high > low && dtype_is_exact(dtype)) {
		ck_assert(edges[0] == low && edges[bins] == high);
	}
	release_arrays(array, counts, between, wide);
}

DEVICE_TEST(a_histogram_counts_what_lies_between_its_edges)
{
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_EXACT | DTYPE_FLOAT));) {
		if (!both_shapes_try(dtype - 1, KZ_F64, 3, 1)) {
			continue;
		}
		for (size_t k = 0; k < countof(sizes) - 1; k++) {
			check_histogram(dtype, sizes[k], k % 2 ? 7 : 100, 0, 0);
		}
		check_histogram(dtype, 1000, 33, 3.3, 71.7);
	}
	check_histogram(KZ_F32, MOST, 3000, -1, 100);
	check_histogram(KZ_F64, MOST, 99, 0, 99);
}

/* The edges themselves, and the numbers beside them, among many that are far from any. */
DEVICE_TEST(numbers_beside_an_edge_are_in_their_bin)
{
	enum { BINS = 300 };
	static float edges[BINS + 1], values[MOST];
	static double exact[BINS + 1];
	static int64_t want[BINS + 1];
	kz_histogram_options options = KZ_HISTOGRAM_OPTIONS_INIT;
	kz_array *array, *between, *counts;
	options.bins = BINS;
	options.low = 0.1;
	options.high = 0.7;
	ok(kz_array_zeros(&array, dev, KZ_F32, KZ_SHAPE(1), &err));
	ok(kz_histogram(&counts, &between, array, &options, &err));
	ok(kz_array_get(between, edges, sizeof(edges), &err));
	release_arrays(array, between, counts);
	for (int i = 0; i <= BINS; i++) {
		exact[i] = edges[i];
	}
	memset(want, 0, sizeof(want));
	for (int i = 0; i < MOST; i++) {
		float edge = edges[i / 7 % (BINS + 1)];
		values[i] = i % 7 == 0 ? edge : i % 7 == 1 ? nextafterf(edge, 1)
			: i % 7 == 2 ? nextafterf(edge, 0) : edge + 0.001f;
		values[i] = i < MOST / 2 && i % 1000 ? 0.4007f : values[i];
		want[bin_of(values[i], exact, BINS)]++;
	}
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(MOST), values, sizeof(values), &err));
	ok(kz_histogram(&counts, NULL, array, &options, &err));
	get(counts, KZ_I64, BINS);
	ck_assert_mem_eq(got, want, 8 * BINS);
	release_arrays(array, counts);
}

/* Bins narrower than the distance of numbers, so that edges are equal; a quotient that overflows;
 * steps below the least normal number; numbers that an edge cannot tell apart. */
static const struct any_range {
	kz_dtype dtype;
	int64_t bins;
	double low, high; /* 0 and 0: of the elements */
	double values[5];
} any_ranges[] = {
	{KZ_I64, 10, 0, 0, {0x1p53, 0x1p53, 0x1p53, 0x1p53, 0x1p53}},
	{KZ_U64, 7, 0, 0, {0x1p63, 0x1p63 + 4096, 0x1p63 + 2048, 0x1p63, 0x1p63}},
	{KZ_F64, 2, 0, 0, {-1e-308, -2e-313, -5e-309, -1e-308, -1e-310}},
	{KZ_F32, 10, 0, 0, {1e20, 1e20, 1e20, 1e20, 1e20}},
	{KZ_F64, 10, 0, 0, {0, 5e-324, 0, 5e-324, 0}},
	{KZ_F64, 10, 1e300, 1e300, {1e300, 0, INFINITY, NAN, -1e300}},
	{KZ_F64, 100000, 0, 1e-306, {1e-306, 0, 5e-307, 3.3e-311, 1e-311}},
	{KZ_F64, 100000, -1e-306, 1e-306, {1e-306, -1e-306, 0, 3.3e-311, -1e-311}},
	{KZ_F64, 3, -8e307, 8e307, {-8e307, 8e307, 0, INFINITY, -INFINITY}},
	{KZ_F32, 1000, 1, 1 + 0x1p-20, {1, 1 + 0x1p-20, 1 + 0x1p-23, 1 + 0x1p-21, 2}},
	{KZ_F32, 5, 0, 0, {0, 0x1p-149, 0x1p-148, 0x1.8p-148, 0x1p-149}},
	{KZ_F32, 5, -1e300, 1e300, {0, 1, -1, INFINITY, NAN}},
	{KZ_F16, 1000, 2, 2.25, {2, 2.25, 2.125, 2.001953125, 2.248046875}},
	{KZ_BF16, 300, -1.5, -1, {-1, -1.5, -1.25, -1.0078125, -1.4921875}},
};

/* Edges that ascend at equal distances, as exactly as their type and float64 allow. */
static void check_edges(kz_histogram_options *asked, kz_dtype dtype, const double *edges)
{
	double unit = dtype == KZ_F16 ? 0x1p-10 : dtype == KZ_BF16 ? 0x1p-7
		: dtype == KZ_F32 ? 0x1p-23 : 0x1p-52;
	double least = dtype == KZ_F32 ? 0x1p-149 : 0x1p-1074;
	double apart = 2 * unit * fmax(fabs(asked->low), fabs(asked->high)) + least;
	bool same = asked->low == asked->high;
	long double low = asked->low - 0.5 * same, distance = asked->high + 0.5 * same - low;
	for (int64_t i = 0; i <= asked->bins; i++) {
		long double exact = low + distance * (long double)i / (long double)asked->bins;
		ck_assert(fabsl(edges[i] - exact) <= apart
			|| (dtype == KZ_F32 && isinf((float)exact) && isinf(edges[i])));
		ck_assert(i == 0 || edges[i - 1] <= edges[i]);
	}
}

DEVICE_TEST(a_histogram_of_any_range_counts_between_its_edges)
{
	static int64_t counted[100000], want[100001];
	for (const struct any_range *row = any_ranges; row < any_ranges + countof(any_ranges);
		row++) {
		if (!both_shapes_try((size_t)(row - any_ranges), countof(any_ranges), 6, 3)) {
			continue;
		}
		kz_histogram_options options = KZ_HISTOGRAM_OPTIONS_INIT;
		kz_array *array = support_array_of(dev, row->dtype, row->values, 5), *counts,
			*between;
		double *values = support_read(array, KZ_F64), *wide;
		options.bins = row->bins;
		options.low = row->low;
		options.high = row->high;
		ok(kz_histogram(&counts, &between, array, &options, &err));
		wide = support_read(between, KZ_F64);
		memset(want, 0, sizeof(want));
		for (int i = 0; i < 5; i++) {
			want[bin_of(values[i], wide, row->bins)]++;
			options.low = row->high ? row->low
				: fmin(i ? options.low : values[0], values[i]);
			options.high = row->high ? row->high
				: fmax(i ? options.high : values[0], values[i]);
		}
		ok(kz_array_get(counts, counted, 8 * row->bins, &err));
		ck_assert_mem_eq(counted, want, (size_t)(8 * row->bins));
		check_edges(&options, row->dtype, wide);
		free(values);
		free(wide);
		release_arrays(array, counts, between);
	}
}

/* Distances of edges that their own type, or float64, does not hold. */
DEVICE_TEST(a_density_has_the_exact_widths_of_bins)
{
	static const int8_t bytes[3] = {-128, 0, 127};
	static const int64_t longs[3] = {INT64_C(1) << 53, (INT64_C(1) << 53) + 1,
		(INT64_C(1) << 53) + 4};
	static const int64_t ends[3] = {INT64_MIN, 0, INT64_MAX};
	static const struct {
		kz_dtype dtype;
		const void *edges;
		double widths[2];
	} rows[] = {{KZ_I8, bytes, {128, 127}}, {KZ_I64, longs, {1, 3}},
		{KZ_I64, ends, {0x1p63, 0x1p63}}};
	for (size_t k = 0; k < countof(rows); k++) {
		kz_histogram_options options = KZ_HISTOGRAM_OPTIONS_INIT;
		kz_array *density;
		options.density = 1;
		ok(kz_array_from(&options.edges, dev, rows[k].dtype, KZ_SHAPE(3), rows[k].edges,
			3 * kz_dtype_size(rows[k].dtype), &err));
		ok(kz_histogram(&density, NULL, options.edges, &options, &err));
		get(density, KZ_F64, 2);
		const double *each = (const double *)got;
		ck_assert(fabs(each[0] * rows[k].widths[0] - 1. / 3) < 1e-15);
		ck_assert(fabs(each[1] * rows[k].widths[1] - 2. / 3) < 1e-15);
		release_arrays(density, options.edges);
	}
}

DEVICE_TEST(a_histogram_takes_edges_at_any_distance)
{
	static const double edges[6] = {2, 5, 5, 50, 51, 99};
	kz_histogram_options options = KZ_HISTOGRAM_OPTIONS_INIT;
	kz_array *counts, *between;
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_INTEGER | DTYPE_FLOAT));) {
		int64_t want[6] = {0};
		draw(numbers, MOST, 120, dtype_is_inexact(dtype) ? 9 : 0);
		for (int i = 0; i < MOST; i++) {
			want[bin_of(numbers[i], edges, 5)]++;
		}
		kz_array *array = support_array_of(dev, dtype, numbers, MOST);
		options.edges = support_array_of(dev, KZ_F32, edges, 6);
		ok(kz_histogram(&counts, &between, array, &options, &err));
		ck_assert_ptr_eq(between, options.edges);
		get(counts, KZ_I64, 5);
		ck_assert_mem_eq(got, want, 40);
		release_arrays(array, between, options.edges, counts);
	}
}

DEVICE_TEST(a_histogram_has_weights_and_a_density)
{
	static const double values[6] = {1, 1, 2, 3, 3, NAN}, weigh[6] = {1, 2, -4, 8, 16, 32};
	static const double edges[4] = {0, 1.5, 2, 4};
	static const double want[3] = {3. / 27 / 1.5, 0, 24. / 27 / 2};
	kz_histogram_options options = KZ_HISTOGRAM_OPTIONS_INIT;
	kz_array *array = support_array_of(dev, KZ_F32, values, 6), *counts = NULL;
	int16_t few[3];
	options.edges = support_array_of(dev, KZ_F64, edges, 4);
	options.weights = support_array_of(dev, KZ_I16, weigh, 6);
	ok(kz_histogram(&counts, NULL, array, &options, &err));
	ck_assert_int_eq(kz_array_dtype(counts), KZ_I16);
	ok(kz_array_get(counts, few, sizeof(few), &err));
	ck_assert(few[0] == 3 && few[1] == 0 && few[2] == 20);
	kz_array_release(counts);
	options.density = 1;
	ok(kz_histogram(&counts, NULL, array, &options, &err));
	get(counts, KZ_F64, 3);
	const double *density = (const double *)got;
	ck_assert(fabs(density[0] - 3. / 23 / 1.5) < 1e-15 && density[1] == want[1]
		&& fabs(density[2] - 20. / 23 / 2) < 1e-15);
	release_arrays(array, counts, options.edges, options.weights);
}

DEVICE_TEST(a_bad_histogram_is_refused)
{
	static const double bad[4] = {1, 2, 3, 2}, wild[2] = {1, INFINITY};
	kz_histogram_options options = KZ_HISTOGRAM_OPTIONS_INIT;
	kz_array *array = support_array_of(dev, KZ_F64, bad, 4),
		*far = support_array_of(dev, KZ_F32, wild, 2), *counts = NULL,
		*edges = NULL;
	fails(kz_histogram(&counts, &edges, far, NULL, &err), KZ_RANGE,
		"from 1 to inf is not finite");
	options.bins = 0;
	fails(kz_histogram(&counts, &edges, array, &options, &err), KZ_INVALID, "bins, got 0");
	options.bins = 3;
	options.low = 4;
	fails(kz_histogram(&counts, &edges, array, &options, &err), KZ_INVALID,
		"histogram: expected a range that ascends, got 4 to 0");
	options.edges = array;
	fails(kz_histogram(&counts, &edges, array, &options, &err), KZ_INVALID,
		"histogram: expected edges that ascend, but edge 3 is below edge 2");
	options.edges = NULL;
	options.weights = far;
	fails(kz_histogram(&counts, &edges, array, &options, &err), KZ_INVALID,
		"histogram: expected weights of shape (4,), got (2,)");
	ck_assert(!counts && !edges);
	release_arrays(array, far);
}

/* Everything that the calls allocate fails once. */
DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	kz_histogram_options options = KZ_HISTOGRAM_OPTIONS_INIT;
	kz_array *array = support_array_of(dev, KZ_I32, (const double[]){1, 2, 3, 5000}, 4);
	int failed = 0;
	options.weights = array;
	options.density = 1;
	for (long n = 0;; n++) {
		kz_array *results[5] = {NULL};
		mem_fail_after(n);
		kz_status st = kz_searchsorted(&results[0], array, array, NULL, &err);
		st = st ? st : kz_digitize(&results[1], array, array, NULL, &err);
		st = st ? st : kz_bincount(&results[2], array, NULL, &err);
		st = st ? st : kz_histogram(&results[3], &results[4], array, &options, &err);
		bool done = !mem_has_failed();
		mem_fail_after(-1);
		ck_assert(done || st == KZ_NO_MEMORY || st == KZ_OK || st == KZ_INVALID);
		failed += st != KZ_OK;
		kz_error_clear(&err);
		release_arrays(results[0], results[1], results[2], results[3], results[4]);
		if (done) {
			break;
		}
	}
	ck_assert_int_gt(failed, 3);
	kz_array_release(array);
}

SUITE(search)
{
	Suite *suite = suite_create("search");
	int devices = both_shapes_count();
	tcase_add_tests(suite_add_case(suite, "search"), devices,
		searchsorted_finds_what_a_loop_finds_for_every_type,
		complex_numbers_go_by_the_real_part_and_nan_comes_last,
		searchsorted_takes_a_sorter_mixed_types_and_any_shape,
		digitize_takes_bins_that_ascend_or_descend, digitize_refuses_bins_in_no_order);
	tcase_add_tests(suite_add_case(suite, "count"), devices,
		bincount_counts_every_type_of_integers, bincount_names_the_first_negative_number,
		sums_of_weights_have_the_same_bits_in_every_form);
	tcase_add_tests(suite_add_case(suite, "histogram"), devices,
		a_histogram_counts_what_lies_between_its_edges,
		numbers_beside_an_edge_are_in_their_bin,
		a_histogram_of_any_range_counts_between_its_edges,
		a_density_has_the_exact_widths_of_bins, a_histogram_takes_edges_at_any_distance,
		a_histogram_has_weights_and_a_density, a_bad_histogram_is_refused);
	tcase_add_tests(suite_add_case(suite, "memory"), devices,
		a_failing_allocation_leaves_nothing_behind);
	return suite;
}
