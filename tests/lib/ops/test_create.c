/* SPDX-License-Identifier: MIT */
/* arange, linspace and eye against loops on the host. */
#include "base/common.h"

#include "base/alloc.h"
#include "support/device_test.h"

#include <kudzu/create.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What kz_array_print says; gives the array back. */
static const char *printed(kz_array *array)
{
	const char *text = support_printed(array);
	kz_array_release(array);
	return text;
}

KERNEL_TEST(a_range_is_what_numpy_prints)
{
	kz_array *a;
	ok(kz_arange(&a, dev, 0, 0, 5, 1, &err));
	ck_assert_uint_eq(kz_array_dtype(a), KZ_I64);
	ck_assert_str_eq(printed(a), "[0 1 2 3 4]\n");
	ok(kz_arange(&a, dev, 0, 0, 1, 0.25, &err));
	ck_assert_uint_eq(kz_array_dtype(a), KZ_F64);
	ck_assert_str_eq(printed(a), "[0.   0.25 0.5  0.75]\n");
	ok(kz_arange(&a, dev, KZ_I8, 127, -129, -85, &err));
	ck_assert_str_eq(printed(a), "[ 127   42  -43 -128]\n");
	ok(kz_arange(&a, dev, KZ_U16, 65533, 65536, 1, &err));
	ck_assert_str_eq(printed(a), "[65533 65534 65535]\n");
	ok(kz_arange(&a, dev, KZ_F32, 3, -3, -2, &err));
	ck_assert_str_eq(printed(a), "[ 3.  1. -1.]\n");
	ok(kz_arange(&a, dev, KZ_F16, 0.5f, 2, 1, &err));
	ck_assert_str_eq(printed(a), "[0.5 1.5]\n");
	ok(kz_arange(&a, dev, KZ_C64, 0, 2, 1, &err));
	ck_assert_str_eq(printed(a), "[0.+0.j 1.+0.j]\n");
	ok(kz_arange(&a, dev, KZ_U64, UINT64_MAX, UINT64_MAX - 3, -1, &err));
	ck_assert_str_eq(printed(a),
		"[18446744073709551615 18446744073709551614 18446744073709551613]\n");
	ok(kz_arange(&a, dev, 0, INT64_MIN, INT64_MAX, INT64_MAX, &err));
	ck_assert_str_eq(printed(a), "[-9223372036854775808                   -1  "
		"9223372036854775806]\n");
}

KERNEL_TEST(a_range_the_other_way_is_empty)
{
	kz_array *a;
	ok(kz_arange(&a, dev, 0, 5, 2, 1, &err));
	ck_assert_str_eq(printed(a), "[]\n");
	ok(kz_arange(&a, dev, KZ_F32, 0, 0, 1, &err));
	ck_assert_str_eq(printed(a), "[]\n");
	ok(kz_arange(&a, dev, 0, 1.5, 2, -0.1, &err));
	ck_assert_str_eq(printed(a), "[]\n");
	ok(kz_arange(&a, dev, KZ_I8, 1000, 0, 1, &err));
	ck_assert_str_eq(printed(a), "[]\n");
}

KERNEL_TEST(ranges_that_cannot_be_are_refused)
{
	kz_dtype odd;
	kz_array *a = (kz_array *)&err;
	ok(kz_dtype_register(&odd, "odd", 3, &err));
	fails(kz_arange(&a, dev, 0, 0, 5, 0, &err), KZ_INVALID, "expected a step other than 0");
	ck_assert_ptr_null(a);
	fails(kz_arange(&a, dev, 0, 0, 5, 0.0, &err), KZ_INVALID, "a step other than 0");
	fails(kz_arange(&a, dev, 0, 0, (double)NAN, 1, &err), KZ_INVALID,
		"expected a finite number as stop, got nan");
	fails(kz_arange(&a, dev, 0, NULL, 1, 1, &err), KZ_INVALID,
		"expected a real number as start, got something else");
	fails(kz_arange(&a, dev, KZ_I32, 0, 1, 0.5, &err), KZ_INVALID,
		"expected integers for a range of int32");
	fails(kz_arange(&a, dev, KZ_BOOL, 0, 2, 1, &err), KZ_INVALID,
		"arange: expected a numeric dtype, got bool");
	fails(kz_arange(&a, dev, odd, 0, 2, 1, &err), KZ_INVALID, "got odd");
	fails(kz_arange(&a, dev, 99, 0, 2, 1, &err), KZ_INVALID, "got none");
	fails(kz_arange(&a, dev, KZ_I8, 0, 129, 1, &err), KZ_RANGE, "128 is out of range for int8");
	fails(kz_arange(&a, dev, KZ_U8, -1, 3, 1, &err), KZ_RANGE, "-1 is out of range for uint8");
	fails(kz_arange(&a, dev, 0, INT64_MIN, UINT64_MAX, 1, &err), KZ_RANGE, "is too long");
	fails(kz_arange(&a, dev, KZ_F64, -1, UINT64_MAX, INT64_MAX, &err), KZ_RANGE,
		"out of range");
	fails(kz_arange(&a, dev, 0, 0, 1e300, 1e-300, &err), KZ_RANGE, "elements is too long");
	fails(kz_arange(&a, NULL, 0, 0, 2, 1, &err), KZ_INVALID, "expected a device");
	fails(kz_arange(NULL, dev, 0, 0, 2, 1, &err), KZ_INVALID, "out is NULL");
}

START_TEST(random_ranges_of_floats_are_rounded_once)
{
	enum { MOST = 3000 };
	static float got[MOST];
	unsigned seed = (unsigned)time(NULL);
	int bad = 0;
	open_kernels(_i);
	srand(seed);
	for (int k = 0; k < 50; k++) {
		double start = rand() / 1e6 - 1000; /* NOLINT: any numbers will do */
		double step = rand() / 1e9 - 1.07;  /* NOLINT */
		double stop = start + step * (rand() % MOST); /* NOLINT */
		kz_array *a;
		ok(kz_arange(&a, dev, KZ_F32, start, stop, step, &err));
		int64_t count = kz_array_count(a);
		bad += count != (int64_t)ceil((stop - start) / step);
		ok(kz_array_get(a, got, 4 * count, &err));
		for (int64_t i = 0; i < count; i++) {
			volatile double product = (double)i * step; /* no fused multiply-add */
			bad += got[i] != (float)(start + product);
		}
		kz_array_release(a);
	}
	ck_assert_msg(bad == 0, "%d numbers differ, seed %u", bad, seed);
	teardown();
}
END_TEST

/* The difference of the ends is beyond float64, and so are products on the way. */
KERNEL_TEST(ends_may_be_as_far_apart_as_numbers_can_be)
{
	static const double ends[][2] = {{-1e308, 1e308}, {DBL_MAX, -DBL_MAX}, {-1.7e308, 1.5e308}};
	double got[100];
	kz_array *a;
	for (size_t e = 0; e < countof(ends); e++) {
		long double low = ends[e][0], high = ends[e][1], step = (high - low) / 40;
		for (int endpoint = 0; endpoint < 2; endpoint++) {
			int64_t count = 40 + endpoint;
			ok(kz_linspace(&a, dev, 0, ends[e][0], ends[e][1], count, endpoint, &err));
			ok(kz_array_get(a, got, 8 * count, &err));
			for (int i = 0; i < count; i++) {
				ck_assert(fabsl(got[i] - (low + i * step)) <= 0x1p972L);
			}
			ck_assert(got[0] == ends[e][0] && (!endpoint || got[40] == ends[e][1]));
			kz_array_release(a);
		}
		ok(kz_arange(&a, dev, 0, ends[e][0], ends[e][1], (double)step, &err));
		ck_assert(kz_array_count(a) == 40 || kz_array_count(a) == 41);
		ok(kz_array_get(a, got, 8 * kz_array_count(a), &err));
		for (int64_t i = 0; i < kz_array_count(a); i++) {
			ck_assert(fabsl(got[i] - (low + (long double)i * step)) <= 0x1p972L);
		}
		kz_array_release(a);
	}
}

KERNEL_TEST(numbers_at_equal_distances_end_where_they_should)
{
	double got[7];
	kz_array *a;
	ok(kz_linspace(&a, dev, 0, 0, 1, 5, 1, &err));
	ck_assert_uint_eq(kz_array_dtype(a), KZ_F64);
	ck_assert_str_eq(printed(a), "[0.   0.25 0.5  0.75 1.  ]\n");
	ok(kz_linspace(&a, dev, KZ_F32, 0, 1, 5, 0, &err));
	ck_assert_str_eq(printed(a), "[0.  0.2 0.4 0.6 0.8]\n");
	ok(kz_linspace(&a, dev, KZ_I32, -3, 3, 5, 1, &err));
	ck_assert_str_eq(printed(a), "[-3 -2  0  1  3]\n");
	ok(kz_linspace(&a, dev, 0, 7, 9, 1, 1, &err));
	ck_assert_str_eq(printed(a), "[7.]\n");
	ok(kz_linspace(&a, dev, 0, 7, 9, 0, 1, &err));
	ck_assert_str_eq(printed(a), "[]\n");
	ok(kz_linspace(&a, dev, 0, 0.1, 0.3, 7, 1, &err));
	ok(kz_array_get(a, got, sizeof(got), &err));
	ck_assert(got[0] == 0.1 && got[6] == 0.3); /* 0.1 + 6 * ((0.3 - 0.1) / 6) is not 0.3 */
	kz_array_release(a);
	fails(kz_linspace(&a, dev, 0, 0, 1, -1, 1, &err), KZ_INVALID,
		"a count of at least 0, got -1");
	fails(kz_linspace(&a, dev, KZ_U8, 0, 256, 3, 1, &err), KZ_RANGE, "256 is out of range for");
	fails(kz_linspace(&a, dev, KZ_U8, -1e300, 1, 3, 1, &err), KZ_RANGE,
		"out of range for uint8");
	fails(kz_linspace(&a, dev, KZ_BOOL, 0, 1, 3, 1, &err), KZ_INVALID, "linspace: expected");
	fails(kz_linspace(&a, dev, 0, 0, (double)INFINITY, 3, 1, &err), KZ_INVALID, "got inf");
}

/* A distance divided by the count of parts has few digits there. */
KERNEL_TEST(numbers_at_distances_below_the_least_normal_one_are_exact)
{
	static const double stops[] = {5e-324, 3e-323, -1e-320, 1e-310, -1e-306};
	static double got[10001];
	for (size_t k = 0; k < countof(stops); k++) {
		kz_array *a;
		ok(kz_linspace(&a, dev, 0, 0, stops[k], 10001, 1, &err));
		ok(kz_array_get(a, got, sizeof(got), &err));
		for (int i = 0; i <= 10000; i++) {
			double exact = (double)((long double)stops[k] * i / 10000);
			ck_assert_msg(fabs(got[i] - exact)
				<= fmax(0x1p-1074, fabs(exact) * 0x1p-51),
				"to %g, %d: %g, not %g", stops[k], i, got[i], exact);
		}
		kz_array_release(a);
	}
}

KERNEL_TEST(a_matrix_has_ones_on_one_diagonal)
{
	static const struct {
		int64_t rows, columns, diagonal;
	} rows[] = {{3, 3, 0}, {2, 5, 1}, {5, 2, -3}, {3, 4, -1}, {3, 3, 3}, {3, 3, -9}, {0, 4, 0},
		{4, 0, 0}, {1, 1, 0}, {3, 5, 4}, {2, 2, INT64_MIN}, {2, 2, INT64_MAX}};
	float got[25];
	kz_array *a;
	for (size_t k = 0; k < countof(rows); k++) {
		int bad = 0;
		ok(kz_array_eye(&a, dev, KZ_F32, rows[k].rows, rows[k].columns, rows[k].diagonal,
			&err));
		ok(kz_array_get(a, got, 4 * rows[k].rows * rows[k].columns, &err));
		for (int64_t i = 0; i < rows[k].rows * rows[k].columns; i++) {
			int64_t place = i % rows[k].columns - i / rows[k].columns;
			bad += got[i] != (float)(place == rows[k].diagonal);
		}
		ck_assert_msg(bad == 0, "row %zu", k);
		kz_array_release(a);
	}
	ok(kz_array_eye(&a, dev, KZ_BOOL, 2, 2, 0, &err));
	ck_assert_str_eq(printed(a), "[[ True False]\n [False  True]]\n");
	fails(kz_array_eye(&a, dev, KZ_F32, -1, 2, 0, &err), KZ_INVALID, "extent 0");
	fails(kz_array_eye(&a, dev, 0, 1, 2, 0, &err), KZ_INVALID, "eye: expected a numeric dtype");
}

KERNEL_TEST(one_kernel_serves_all_ranges_of_a_type)
{
	kz_kernel_stats before, after;
	kz_array *a;
	ok(kz_arange(&a, dev, KZ_F32, 0, 10, 0.5, &err));
	kz_array_release(a);
	kz_device_kernel_stats(dev, &before);
	ok(kz_arange(&a, dev, KZ_F32, 7, -100, -3.5, &err));
	kz_array_release(a);
	kz_device_kernel_stats(dev, &after);
	ck_assert_int_eq(after.compiled_count, before.compiled_count);
}

KERNEL_TEST(creating_without_memory_leaves_nothing)
{
	kz_status st = KZ_NO_MEMORY;
	kz_array *a = NULL;
	long n;
	ok(kz_arange(&a, dev, KZ_F32, 0, 10, 0.5, &err)); /* the compiler's own failures are
	                                                     rtc's */
	kz_array_release(a);
	ok(kz_array_eye(&a, dev, KZ_F32, 3, 3, 0, &err));
	kz_array_release(a);
	for (n = 0; st == KZ_NO_MEMORY && n < 40; n++) {
		kz_array *b = NULL;
		a = NULL;
		mem_fail_after(n);
		if (!(st = kz_arange(&a, dev, KZ_F32, 0, 10, 0.5, &err))) {
			st = kz_array_eye(&b, dev, KZ_F32, 3, 3, 0, &err);
		}
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		kz_error_clear(&err);
		release_arrays(a, b);
	}
	ck_assert_int_eq(st, KZ_OK);
	ck_assert_int_gt(n, 4);
}

SUITE(create)
{
	Suite *s = suite_create("create");
	TCase *tc = suite_add_case(s, "each device");
	tcase_add_tests(tc, support_device_count(), a_range_is_what_numpy_prints,
		a_range_the_other_way_is_empty, ranges_that_cannot_be_are_refused,
		random_ranges_of_floats_are_rounded_once,
		numbers_at_equal_distances_end_where_they_should,
		ends_may_be_as_far_apart_as_numbers_can_be,
		numbers_at_distances_below_the_least_normal_one_are_exact,
		a_matrix_has_ones_on_one_diagonal, one_kernel_serves_all_ranges_of_a_type,
		creating_without_memory_leaves_nothing);
	return s;
}
