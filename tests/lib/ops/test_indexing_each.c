/* SPDX-License-Identifier: MIT */
/* One array of indexes for several arrays, on every device, against loops over host memory. */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <string.h>

static kz_array *each_from(kz_dtype dtype, kz_shape shape, const void *host, int64_t size)
{
	kz_array *array = NULL;
	ok(kz_array_from(&array, dev, dtype, shape, host, size, &err));
	return array;
}

static void check_nothing(kz_array *const *out, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		ck_assert_ptr_null(out[i]);
	}
}

/* Arrays of other extents, types and numbers of axes, and a view with gaps. */
DEVICE_TEST(take_each_takes_the_same_rows_of_every_array)
{
	static const int32_t places[4] = {2, -1, 0, 2};
	static const double floats[5] = {0.5, 1.5, 2.5, 3.5, 4.5};
	static const int8_t bytes[3] = {10, 11, 12};
	const double want_floats[4] = {2.5, 4.5, 0.5, 2.5};
	const int8_t want_bytes[4] = {12, 12, 10, 12};
	const int32_t want_rows[8] = {2, 5, 2, 5, 0, 3, 2, 5};
	kz_array *counted = support_counted(dev, KZ_SHAPE(2, 3)), *turned, *taken[4];
	kz_array *a = each_from(KZ_F64, KZ_SHAPE(5), floats, sizeof(floats));
	kz_array *b = each_from(KZ_I8, KZ_SHAPE(3), bytes, sizeof(bytes));
	kz_array *indexes = each_from(KZ_I32, KZ_SHAPE(4), places, sizeof(places));
	double got_floats[4];
	int8_t got_bytes[4];
	int32_t got_rows[8];
	ok(kz_array_transpose(&turned, counted, KZ_AXES(1, 0), &err));
	ok(kz_array_take_each(taken, KZ_ARRAYS(a, b, turned, a), indexes, 0, KZ_INDEX_CHECK,
		&err));
	ok(kz_array_get(taken[0], got_floats, sizeof(got_floats), &err));
	ck_assert_mem_eq(got_floats, want_floats, sizeof(want_floats));
	ok(kz_array_get(taken[1], got_bytes, sizeof(got_bytes), &err));
	ck_assert_mem_eq(got_bytes, want_bytes, sizeof(want_bytes));
	ck_assert_int_eq(kz_array_ndim(taken[2]), 2);
	ok(kz_array_get(taken[2], got_rows, sizeof(got_rows), &err));
	ck_assert_mem_eq(got_rows, want_rows, sizeof(want_rows));
	ok(kz_array_get(taken[3], got_floats, sizeof(got_floats), &err));
	ck_assert_mem_eq(got_floats, want_floats, sizeof(want_floats));
	release_arrays(counted, turned, a, b, indexes, taken[0], taken[1], taken[2], taken[3]);
}

/* uint64 beyond int64: the remainder differs from extent to extent. */
DEVICE_TEST(indexes_wrap_and_clip_by_the_extent_of_each_array)
{
	static const uint64_t places[2] = {UINT64_MAX, 7};
	static const int64_t want[2][2][2] = {
		[0] = {{UINT64_MAX % 3, 7 % 3}, {UINT64_MAX % 10, 7 % 10}},
		[1] = {{2, 2}, {9, 7}},
	};
	static const int32_t numbers[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
	kz_array *a = each_from(KZ_I32, KZ_SHAPE(3), numbers, 12);
	kz_array *b = each_from(KZ_I32, KZ_SHAPE(10), numbers, 40);
	kz_array *indexes = each_from(KZ_U64, KZ_SHAPE(2), places, sizeof(places)), *taken[2];
	for (int mode = 0; mode < 2; mode++) {
		ok(kz_array_take_each(taken, KZ_ARRAYS(a, b), indexes, -1,
			mode ? KZ_INDEX_CLIP : KZ_INDEX_WRAP, &err));
		for (int i = 0; i < 2; i++) {
			int32_t got[2];
			ok(kz_array_get(taken[i], got, sizeof(got), &err));
			ck_assert_int_eq(got[0], want[mode][i][0]);
			ck_assert_int_eq(got[1], want[mode][i][1]);
		}
		release_arrays(taken[0], taken[1]);
	}
	release_arrays(a, b, indexes);
}

/* The last array is the bad one; nothing is left of the results of those before it. */
DEVICE_TEST(take_each_checks_every_array_and_clears_every_result)
{
	static const int32_t places[2] = {4, 0};
	kz_array *a = support_counted(dev, KZ_SHAPE(5, 2)), *b = support_counted(dev, KZ_SHAPE(4));
	kz_array *indexes = each_from(KZ_I32, KZ_SHAPE(2), places, sizeof(places));
	kz_array *taken[2] = {a, b};
	fails(kz_array_take_each(taken, KZ_ARRAYS(a, b), indexes, 0, KZ_INDEX_CHECK, &err),
		KZ_RANGE, "index 4, at place 0 of the indexes, is out of range for axis 0, which "
		"has an extent of 4");
	check_nothing(taken, 2);
	fails(kz_array_take_each(taken, KZ_ARRAYS(a, b), indexes, 1, KZ_INDEX_WRAP, &err),
		KZ_RANGE, "axis 1");
	check_nothing(taken, 2);
	fails(kz_array_take_each(taken, KZ_ARRAYS(a, NULL), indexes, 0, KZ_INDEX_WRAP, &err),
		KZ_INVALID, "kz_array_take_each: argument 'array'");
	check_nothing(taken, 2);
	fails(kz_array_take_each(taken, (kz_arrays){NULL, 0}, indexes, 0, KZ_INDEX_WRAP, &err),
		KZ_INVALID, "expected one array or more");
	fails(kz_array_take_each(NULL, KZ_ARRAYS(a), indexes, 0, KZ_INDEX_WRAP, &err), KZ_INVALID,
		"out is NULL");
	release_arrays(a, b, indexes);
}

DEVICE_TEST(put_each_writes_to_every_array_or_to_none)
{
	static const int32_t places[2] = {-1, 0}, zeros[6] = {0};
	static const int16_t values[2] = {7, 8};
	kz_array *a = each_from(KZ_I32, KZ_SHAPE(3), zeros, 12);
	kz_array *b = each_from(KZ_I32, KZ_SHAPE(2, 3), zeros, 24);
	kz_array *v = each_from(KZ_I16, KZ_SHAPE(2), values, sizeof(values));
	kz_array *one = each_from(KZ_I16, KZ_SHAPE(1), values, 2);
	kz_array *indexes = each_from(KZ_I32, KZ_SHAPE(2), places, sizeof(places));
	kz_array *far = NULL;
	int32_t got[6];
	ok(kz_array_full(&far, dev, KZ_I32, KZ_SHAPE(1), &(int32_t){4}, 4, &err));
	fails(kz_array_put_each(KZ_ARRAYS(b, a), far, KZ_ARRAYS(v, v), KZ_INDEX_CHECK, &err),
		KZ_RANGE, "index 4");
	fails(kz_array_put_each(KZ_ARRAYS(b, a), indexes, KZ_ARRAYS(v), KZ_INDEX_CHECK, &err),
		KZ_INVALID, "got 1 for 2");
	fails(kz_array_put_each((kz_arrays){NULL, 1}, indexes, KZ_ARRAYS(v), KZ_INDEX_CHECK, &err),
		KZ_INVALID, "expected one array or more");
	ok(kz_array_get(b, got, sizeof(got), &err));
	ck_assert_mem_eq(got, zeros, sizeof(zeros));
	ok(kz_array_put_each(KZ_ARRAYS(a, b), indexes, KZ_ARRAYS(v, one), KZ_INDEX_CHECK, &err));
	ok(kz_array_get(a, got, 12, &err));
	ck_assert_mem_eq(got, ((int32_t[]){8, 0, 7}), 12);
	ok(kz_array_get(b, got, sizeof(got), &err));
	ck_assert_mem_eq(got, ((int32_t[]){7, 0, 0, 0, 0, 7}), sizeof(got));
	release_arrays(a, b, v, one, indexes, far);
}

/* Two arrays swap their elements; then the first array has the indexes of both. */
DEVICE_TEST(put_each_reads_all_before_it_writes)
{
	static const int64_t numbers[4] = {1, 2, 3, 0}, others[4] = {3, 2, 1, 0},
		places[4] = {0, 1, 2, 3};
	kz_array *a = each_from(KZ_I64, KZ_SHAPE(4), numbers, sizeof(numbers));
	kz_array *b = each_from(KZ_I64, KZ_SHAPE(4), others, sizeof(others));
	kz_array *c = each_from(KZ_I64, KZ_SHAPE(4), places, sizeof(places));
	kz_array *indexes = each_from(KZ_I64, KZ_SHAPE(4), places, sizeof(places));
	int64_t got[4];
	ok(kz_array_put_each(KZ_ARRAYS(a, b), indexes, KZ_ARRAYS(b, a), KZ_INDEX_CHECK, &err));
	ok(kz_array_get(a, got, sizeof(got), &err));
	ck_assert_mem_eq(got, others, sizeof(others));
	ok(kz_array_get(b, got, sizeof(got), &err));
	ck_assert_mem_eq(got, numbers, sizeof(numbers));
	ok(kz_array_put_each(KZ_ARRAYS(b, a), b, KZ_ARRAYS(indexes, c), KZ_INDEX_CHECK, &err));
	ok(kz_array_get(a, got, sizeof(got), &err));
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(got[numbers[i]], i);
	}
	release_arrays(a, b, c, indexes);
}

DEVICE_TEST(a_failing_allocation_leaves_no_result_of_a_list)
{
	kz_array *a = support_counted(dev, KZ_SHAPE(5)), *b = support_counted(dev, KZ_SHAPE(4));
	kz_array *indexes = support_counted(dev, KZ_SHAPE(3)), *taken[2];
	int64_t failed = 0;
	for (long n = 0;; n++) {
		mem_fail_after(n);
		kz_status st = kz_array_take_each(taken, KZ_ARRAYS(a, b), indexes, 0,
			KZ_INDEX_CHECK, &err);
		const bool done = !mem_has_failed();
		mem_fail_after(-1);
		if (st) {
			check_nothing(taken, 2);
			failed++;
		} else {
			release_arrays(taken[0], taken[1]);
		}
		kz_error_clear(&err);
		if (done) {
			break;
		}
	}
	ck_assert_int_gt(failed, 3);
	release_arrays(a, b, indexes);
}

SUITE(indexing_each)
{
	Suite *suite = suite_create("indexing_each");
	TCase *tcase = suite_add_case(suite, "indexing_each");
	int devices = both_shapes_count();
	tcase_add_tests(tcase, devices, take_each_takes_the_same_rows_of_every_array,
		indexes_wrap_and_clip_by_the_extent_of_each_array,
		take_each_checks_every_array_and_clears_every_result,
		put_each_writes_to_every_array_or_to_none, put_each_reads_all_before_it_writes,
		a_failing_allocation_leaves_no_result_of_a_list);
	return suite;
}
