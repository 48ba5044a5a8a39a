/* SPDX-License-Identifier: MIT */
/* Elements combined with values by their indexes, on every device, against loops over host
 * memory. */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <kudzu/indexing.h>

#include <math.h>
#include <string.h>

enum { MOST = 20000 };
static int64_t places[MOST];
static double numbers[MOST], want[MOST], got[MOST];
static float floats[MOST], sums[MOST], results[MOST];

static uint64_t draw(void)
{
	static uint64_t state = 1;
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return state >> 33;
}

static double combine(kz_scatter_op op, double a, double b, kz_dtype dtype)
{
	if (op == KZ_SCATTER_ADD) {
		return dtype == KZ_BOOL ? a != 0 || b != 0 : a + b;
	}
	bool keep = op == KZ_SCATTER_MIN ? a <= b : a >= b;
	return keep || a != a ? a : b;
}

static void check(kz_dtype dtype, kz_scatter_op op, int64_t extent, int64_t count)
{
	bool has_nan = dtype_is_float(dtype);
	kz_array *wide;
	for (int64_t i = 0; i < extent; i++) {
		want[i] = (double)(draw() % 2);
	}
	kz_array *array = support_array_of(dev, dtype, want, extent);
	for (int64_t j = 0; j < count; j++) {
		numbers[j] = has_nan && draw() % 50 == 0 ? NAN : (double)(draw() % 2);
		places[j] = (int64_t)(draw() % (uint64_t)(2 * extent)) - extent;
		double *at = &want[(places[j] + extent) % extent];
		*at = combine(op, *at, numbers[j], dtype);
	}
	kz_array *values = support_array_of(dev, dtype, numbers, count), *indexes;
	ok(kz_array_from(&indexes, dev, KZ_I64, KZ_SHAPE(count), places, 8 * count, &err));
	ok(kz_array_scatter(array, indexes, values, op, NULL, &err));
	ok(kz_array_astype(&wide, array, KZ_F64, &err));
	ok(kz_array_get(wide, got, 8 * extent, &err));
	for (int64_t i = 0; i < extent; i++) {
		ck_assert_msg(got[i] == want[i] || (isnan(got[i]) && isnan(want[i])),
			"%s, operation %d, %lld values: element %lld is %g, not %g",
			kz_dtype_name(dtype), (int)op, (long long)count, (long long)i, got[i],
			want[i]);
	}
	release_arrays(array, values, indexes, wide);
}

DEVICE_TEST(every_type_is_combined_as_in_a_loop)
{
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER));) {
		for (int op = KZ_SCATTER_ADD; op <= (!dtype_is_complex(dtype) ? KZ_SCATTER_MAX : 0);
			op++) {
			if (!both_shapes_try((size_t)((int)(dtype - 1) * (KZ_SCATTER_MAX + 1) + op),
				KZ_C128 * (KZ_SCATTER_MAX + 1), 5, 2)) {
				continue;
			}
			check(dtype, op, 1, 1);
			check(dtype, op, 500, 33);
			check(dtype, op, 30, 1500);
		}
	}
	check(KZ_I32, KZ_SCATTER_ADD, 9000, MOST);
	check(KZ_F64, KZ_SCATTER_ADD, 9000, MOST);
	check(KZ_F32, KZ_SCATTER_MAX, 3, MOST);
	check(KZ_F32, KZ_SCATTER_ADD, 5, 0);
}

/* The values are such that another order rounds otherwise. */
DEVICE_TEST(floats_are_added_in_the_order_of_the_indexes)
{
	kz_array *array, *again, *indexes, *values;
	kz_scatter_options options = KZ_SCATTER_OPTIONS_INIT;
	memset(sums, 0, sizeof(sums));
	for (int i = 0; i < MOST; i++) {
		places[i] = (int64_t)(draw() % 11);
		floats[i] = (float)sin(i) * 1000;
		sums[places[i]] += floats[i];
	}
	ok(kz_array_zeros(&array, dev, KZ_F32, KZ_SHAPE(11), &err));
	ok(kz_array_zeros(&again, dev, KZ_F32, KZ_SHAPE(11), &err));
	ok(kz_array_from(&indexes, dev, KZ_I64, KZ_SHAPE(MOST), places, sizeof(places), &err));
	ok(kz_array_from(&values, dev, KZ_F32, KZ_SHAPE(MOST), floats, sizeof(floats), &err));
	ok(kz_array_scatter(array, indexes, values, KZ_SCATTER_ADD, NULL, &err));
	ok(kz_array_get(array, results, 44, &err));
	ck_assert_mem_eq(results, sums, 44);
	options.unordered = 1;
	ok(kz_array_scatter(again, indexes, values, KZ_SCATTER_ADD, &options, &err));
	ok(kz_array_get(again, results, 44, &err));
	for (int i = 0; i < 11; i++) {
		ck_assert(fabsf(results[i] - sums[i]) < 2);
	}
	release_arrays(array, again, indexes, values);
}

/* out[i, places[a, b], k] += values[i, a, b, k], into a view, and with values that broadcast. */
DEVICE_TEST(slices_are_combined_along_any_axis)
{
	static const int64_t along[4] = {1, -1, 1, 0}, dims[3] = {4, 3, 5};
	for (int64_t axis = -3; axis < 3; axis++) {
		int64_t at = axis < 0 ? axis + 3 : axis;
		kz_scatter_options options = KZ_SCATTER_OPTIONS_INIT;
		kz_array *whole, *view, *indexes, *values, *wide;
		int32_t before[60], after[60], amount = 7;
		ok(kz_array_zeros(&whole, dev, KZ_I32, KZ_SHAPE(5, 3, 4), &err));
		ok(kz_array_transpose(&view, whole, KZ_AXES(2, 1, 0), &err));
		ok(kz_array_from(&indexes, dev, KZ_I64, KZ_SHAPE(2, 2), along, sizeof(along),
			&err));
		ok(kz_array_full(&values, dev, KZ_I32, KZ_SHAPE(1), &amount, 4, &err));
		memset(before, 0, sizeof(before));
		for (int n = 0; n < 60 * 4; n++) {
			int64_t place[3] = {n / 4 / 15, n / 4 / 5 % 3, n / 4 % 5};
			if (place[at] == 0) {
				place[at] = (along[n % 4] + dims[at]) % dims[at];
				before[(place[0] * 3 + place[1]) * 5 + place[2]] += amount;
			}
		}
		options.axis = axis;
		ok(kz_array_scatter(view, indexes, values, KZ_SCATTER_ADD, &options, &err));
		ok(kz_array_contiguous(&wide, view, &err));
		ok(kz_array_get(wide, after, sizeof(after), &err));
		ck_assert_mem_eq(after, before, sizeof(before));
		release_arrays(whole, view, indexes, values, wide);
	}
}

DEVICE_TEST(an_array_can_be_its_own_values_and_indexes)
{
	static const double own[4] = {3, 0, 3, 1};
	static const int64_t sum[4] = {0 + 3, 0 + 1, 3, 1 + 3 + 3};
	int64_t after[4];
	kz_array *array = support_array_of(dev, KZ_I64, own, 4);
	ok(kz_array_scatter(array, array, array, KZ_SCATTER_ADD, NULL, &err));
	ok(kz_array_get(array, after, sizeof(after), &err));
	ck_assert_mem_eq(after, sum, sizeof(sum));
	kz_array_release(array);
}

DEVICE_TEST(bad_indexes_are_named_wrapped_or_clipped)
{
	static const double far[3] = {1, 5, -7};
	static const int64_t wrapped[4] = {0, 3, 0, 0}, clipped[4] = {1, 1, 0, 1};
	kz_scatter_options options = KZ_SCATTER_OPTIONS_INIT;
	kz_array *array, *indexes = support_array_of(dev, KZ_I8, far, 3),
		*one = support_array_of(dev, KZ_I64, far, 1), *wide;
	int64_t after[4];
	ok(kz_array_zeros(&array, dev, KZ_I64, KZ_SHAPE(4), &err));
	fails(kz_array_scatter(array, indexes, one, KZ_SCATTER_ADD, &options, &err), KZ_RANGE,
		"index 5, at place 1 of the indexes, is out of range for axis 0, which has an "
		"extent of 4");
	for (int mode = KZ_INDEX_WRAP; mode <= KZ_INDEX_CLIP; mode++) {
		options.mode = mode;
		ok(kz_array_fill(array, KZ_ARG(0), &err));
		ok(kz_array_scatter(array, indexes, one, KZ_SCATTER_ADD, &options, &err));
		ok(kz_array_get(array, after, sizeof(after), &err));
		ck_assert_mem_eq(after, mode == KZ_INDEX_WRAP ? wrapped : clipped, sizeof(after));
	}
	options.axis = 1;
	fails(kz_array_scatter(array, indexes, one, KZ_SCATTER_ADD, &options, &err), KZ_RANGE,
		"axis 1");
	fails(kz_array_scatter(array, indexes, array, KZ_SCATTER_ADD, NULL, &err), KZ_INVALID,
		"(4,)");
	fails(kz_array_scatter(array, indexes, one, 3, NULL, &err), KZ_INVALID,
		"3 is not a kz_scatter_op");
	ok(kz_array_astype(&wide, one, KZ_C64, &err));
	fails(kz_array_scatter(array, indexes, wide, KZ_SCATTER_ADD, NULL, &err), KZ_INVALID,
		"scatter: complex64 does not fit into int64");
	fails(kz_array_scatter(wide, indexes, wide, KZ_SCATTER_MIN, NULL, &err), KZ_INVALID,
		"scatter: complex64 has no order");
	release_arrays(array, indexes, one, wide);
}

/* Everything that the call allocates fails once. */
DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	kz_array *array = support_array_of(dev, KZ_F32, (const double[]){0, 1, 2}, 3), *twice,
		*every;
	kz_array *indexes = support_array_of(dev, KZ_U8, (const double[]){2, 1}, 2);
	int failed = 0;
	ok(kz_array_repeat(&twice, array, 2, 0, NULL, &err));
	ok(kz_array_slice(&every, twice, KZ_AT(KZ_SLICE(KZ_OMIT, KZ_OMIT, 2)), &err));
	for (long n = 0;; n++) {
		mem_fail_after(n);
		kz_status st = kz_array_scatter(every, indexes, indexes, KZ_SCATTER_ADD, NULL,
			&err);
		bool done = !mem_has_failed();
		mem_fail_after(-1);
		ck_assert(done || st == KZ_NO_MEMORY || st == KZ_OK || st == KZ_INVALID);
		failed += st != KZ_OK;
		kz_error_clear(&err);
		if (done) {
			break;
		}
	}
	ck_assert_int_gt(failed, 3);
	release_arrays(array, twice, every, indexes);
}

SUITE(scatter)
{
	Suite *suite = suite_create("scatter");
	tcase_add_tests(suite_add_case(suite, "scatter"), both_shapes_count(),
		every_type_is_combined_as_in_a_loop, floats_are_added_in_the_order_of_the_indexes,
		slices_are_combined_along_any_axis, an_array_can_be_its_own_values_and_indexes,
		bad_indexes_are_named_wrapped_or_clipped,
		a_failing_allocation_leaves_nothing_behind);
	return suite;
}
