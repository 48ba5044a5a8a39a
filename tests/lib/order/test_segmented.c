/* SPDX-License-Identifier: MIT */
/* Segments of arrays, and runs of equal elements, on every device, against loops over host
 * memory. */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <kudzu/segment.h>

#include <math.h>
#include <string.h>

enum { MOST = 20000 };
static const kz_reduce_op ops[] = {KZ_REDUCE_SUM, KZ_REDUCE_PROD, KZ_REDUCE_MIN, KZ_REDUCE_MAX};
static double numbers[MOST], got[MOST];
static int64_t offsets[MOST + 1], lengths[MOST];

static uint64_t draw(void)
{
	static uint64_t state = 1;
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return state >> 33;
}

static void get(kz_array *array, int64_t count)
{
	kz_array *wide;
	ck_assert_int_eq(kz_array_count(array), count);
	ok(kz_array_astype(&wide, array, KZ_F64, &err));
	ok(kz_array_get(wide, got, 8 * count, &err));
	kz_array_release(wide);
}

/* Offsets that divide `count` elements into segments, of which some have none. */
static int64_t divide(int64_t count, int64_t longest)
{
	int64_t segments = 0, at = 0;
	offsets[0] = 0;
	while (at < count) {
		int64_t size = (int64_t)(draw() % (uint64_t)(longest + 1));
		at = at + size < count ? at + size : count;
		offsets[++segments] = at;
	}
	return segments;
}

static double expected(kz_reduce_op op, kz_dtype dtype, int64_t first, int64_t end)
{
	double all = op == KZ_REDUCE_SUM ? 0 : op == KZ_REDUCE_PROD ? 1 : NAN;
	for (int64_t i = first; i < end; i++) {
		double x = numbers[i];
		all = op == KZ_REDUCE_SUM ? all + x : op == KZ_REDUCE_PROD ? all * x : i == first
			? x
			: all != all || x != x ? NAN : op == KZ_REDUCE_MIN ? fmin(all, x)
			: fmax(all, x);
	}
	if (first < end || op == KZ_REDUCE_SUM || op == KZ_REDUCE_PROD) {
		return all;
	}
	static const double ends[][2] = {{0}, {0, 1}, {-128, 127}, {-32768, 32767},
		{-0x1p31, 0x1p31 - 1},
		{-0x1p63, 0x1p63}, {0, 255}, {0, 65535}, {0, 0x1p32 - 1}, {0, 0x1p64}};
	return dtype_is_inexact(dtype) ? (op == KZ_REDUCE_MIN ? INFINITY : -INFINITY)
		: ends[dtype][op == KZ_REDUCE_MIN];
}

static void check(kz_dtype dtype, kz_reduce_op op, int64_t count, int64_t longest)
{
	bool adds = op == KZ_REDUCE_SUM || op == KZ_REDUCE_PROD;
	bool has_nan = !adds && dtype_is_inexact(dtype);
	for (int64_t i = 0; i < count; i++) {
		numbers[i] = has_nan && draw() % 99 == 0 ? NAN
			: op == KZ_REDUCE_PROD ? 1 : (double)(draw() % 2);
	}
	int64_t segments = divide(count, longest);
	kz_array *array = support_array_of(dev, dtype, numbers, count), *divided, *out;
	ok(kz_array_from(&divided, dev, KZ_I64, KZ_SHAPE(segments + 1), offsets, 8 * (segments + 1),
		&err));
	ok(kz_segment_reduce(&out, array, divided, op, NULL, &err));
	kz_dtype small = dtype_is_unsigned(dtype) ? KZ_U64 : dtype_is_exact(dtype) ? KZ_I64 : dtype;
	ck_assert_uint_eq(kz_array_dtype(out), adds ? small : dtype);
	get(out, segments);
	for (int64_t i = 0; i < segments; i++) {
		double want = expected(op, dtype, offsets[i], offsets[i + 1]);
		ck_assert_msg(got[i] == want || (isnan(got[i]) && isnan(want)),
			"%s, reduction %d: segment %lld, %lld to %lld, is %g, not %g",
			kz_dtype_name(dtype), (int)op, (long long)i, (long long)offsets[i],
			(long long)offsets[i + 1], got[i], want);
	}
	release_arrays(array, divided, out);
}

DEVICE_TEST(segments_of_every_type_are_reduced_as_in_a_loop)
{
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER));) {
		for (size_t k = 0; k < (!dtype_is_complex(dtype) ? countof(ops) : 2); k++) {
			if (!both_shapes_try((dtype - 1) * countof(ops) + k, KZ_C128 * countof(ops),
				8, 3)) {
				continue;
			}
			check(dtype, ops[k], 0, 1);
			check(dtype, ops[k], 1, 1);
			check(dtype, ops[k], 300, 7);
			check(dtype, ops[k], 600, 99);
		}
	}
	check(KZ_F64, KZ_REDUCE_SUM, MOST / 4, 1);
	check(KZ_I32, KZ_REDUCE_MAX, MOST, 3);
	check(KZ_F64, KZ_REDUCE_SUM, MOST, MOST);
}

DEVICE_TEST(sums_of_segments_have_the_same_bits_in_every_form)
{
	static double other[MOST];
	for (int i = 0; i < MOST; i++) {
		numbers[i] = sin(i) * 100;
	}
	int64_t segments = divide(MOST, 500);
	kz_array *array = support_array_of(dev, KZ_F32, numbers, MOST), *divided, *out;
	ok(kz_array_from(&divided, dev, KZ_I64, KZ_SHAPE(segments + 1), offsets, 8 * (segments + 1),
		&err));
	for (int turn = 0; turn < 2; turn++) {
		ok(kz_segment_reduce(&out, array, divided, KZ_REDUCE_SUM, NULL, &err));
		get(out, segments);
		kz_array_release(out);
		dev->serial = !dev->serial;
		if (turn == 0) {
			memcpy(other, got, sizeof(other));
		}
	}
	ck_assert_mem_eq(got, other, (size_t)(8 * segments));
	for (int64_t i = 0; i < segments; i++) {
		ck_assert(fabs(got[i] - expected(KZ_REDUCE_SUM, KZ_F32, offsets[i], offsets[i + 1]))
			< 0.1);
	}
	release_arrays(array, divided);
}

DEVICE_TEST(segments_are_combined_by_an_expression)
{
	static const double values[5] = {6, 10, 4, 9, 12}, cut[4] = {0, 2, 2, 5};
	kz_array *array = support_array_of(dev, KZ_I32, values, 5),
		*divided = support_array_of(dev, KZ_U8, cut, 4), *out = NULL;
	ok(kz_segment_combine(&out, array, divided, "a | b // bits", "-1", NULL, &err));
	ck_assert_uint_eq(kz_array_dtype(out), KZ_I32);
	get(out, 3);
	ck_assert(got[0] == 14 && got[1] == -1 && got[2] == 13);
	kz_array_release(out);
	ck_assert_int_eq(kz_segment_combine(&out, array, divided, "a + c", "0", NULL, &err),
		KZ_COMPILE);
	ck_assert_str_eq(err.file, "segments: operation");
	ck_assert(err.line == 1 && err.column == 5);
	kz_error_clear(&err);
	fails(kz_segment_combine(&out, array, divided, "a + b; }", "0", NULL, &err), KZ_COMPILE,
		"this '}' has no matching '{'");
	ck_assert_ptr_null(out);
	release_arrays(array, divided);
}

DEVICE_TEST(bad_offsets_are_refused)
{
	static const double far[3] = {0, 6, 7}, falls[4] = {0, 3, 2, 5};
	kz_array *array = support_array_of(dev, KZ_F32, numbers, 5),
		*wrong = support_array_of(dev, KZ_I8, far, 3), *out = NULL;
	kz_array *descend = support_array_of(dev, KZ_I64, falls, 4),
		*none = support_array_of(dev, KZ_I64, falls, 0);
	fails(kz_segment_reduce(&out, array, wrong, KZ_REDUCE_SUM, NULL, &err), KZ_RANGE,
		"index 6, at place 1 of the indexes, is out of range for offsets");
	fails(kz_segment_reduce(&out, array, descend, KZ_REDUCE_SUM, NULL, &err), KZ_INVALID,
		"segment_reduce: expected offsets that ascend, but offset 2 is below offset 1");
	fails(kz_segment_reduce(&out, array, none, KZ_REDUCE_SUM, NULL, &err), KZ_INVALID,
		"at least one offset");
	fails(kz_segment_reduce(&out, array, array, KZ_REDUCE_SUM, NULL, &err), KZ_INVALID,
		"expected integers as indexes, got float32");
	fails(kz_segment_reduce(&out, array, wrong, KZ_REDUCE_MEAN, NULL, &err), KZ_INVALID,
		"got reduction 9");
	ck_assert_ptr_null(out);
	release_arrays(array, wrong, descend, none);
}

/* Runs */

/* Elements in runs; returns how many runs there are. */
static int64_t draw_runs(int64_t count, int64_t longest)
{
	int64_t runs = 0;
	for (int64_t i = 0; i < count; runs++) {
		int64_t size = 1 + (int64_t)(draw() % (uint64_t)longest);
		lengths[runs] = size < count - i ? size : count - i;
		for (int64_t end = i + lengths[runs]; i < end; i++) {
			numbers[i] = (double)(runs % 2);
		}
	}
	return runs;
}

static void check_runs(kz_dtype dtype, int64_t count, int64_t longest)
{
	int64_t runs = draw_runs(count, longest);
	kz_array *array = support_array_of(dev, dtype, numbers, count), *each, *sizes, *again,
		*sums;
	ok(kz_run_length_encode(&each, &sizes, array, NULL, &err));
	ck_assert_uint_eq(kz_array_dtype(each), dtype);
	get(sizes, runs);
	for (int64_t i = 0; i < runs; i++) {
		ck_assert_int_eq((int64_t)got[i], lengths[i]);
	}
	get(each, runs);
	for (int64_t i = 0; i < runs; i++) {
		ck_assert(got[i] == (double)(i % 2));
	}
	ok(kz_run_length_decode(&again, each, sizes, NULL, &err));
	ck_assert_uint_eq(kz_array_dtype(again), dtype);
	get(again, count);
	ck_assert_mem_eq(got, numbers, (size_t)(8 * count));
	kz_array_release(each);
	ok(kz_reduce_by_key(&each, &sums, array, array, KZ_REDUCE_SUM, NULL, &err));
	get(sums, runs);
	for (int64_t i = 0; i < runs; i++) {
		ck_assert(got[i] == (double)(i % 2 * lengths[i]));
	}
	release_arrays(array, each, sizes, again, sums);
}

DEVICE_TEST(runs_of_every_type_are_found_reduced_and_decoded)
{
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER));) {
		if (!both_shapes_try(dtype - 1, KZ_C128, 4, 1)) {
			continue;
		}
		check_runs(dtype, 0, 1);
		check_runs(dtype, 1, 1);
		check_runs(dtype, 33, 3);
		check_runs(dtype, 200, 50);
	}
	check_runs(KZ_I32, MOST, 1);
	check_runs(KZ_F64, MOST, 100);
	check_runs(KZ_U8, MOST, MOST);
}

DEVICE_TEST(bad_lengths_and_keys_are_refused)
{
	static const double sizes[3] = {1, -2, -3}, nan[2] = {NAN, NAN};
	kz_array *values = support_array_of(dev, KZ_F32, sizes, 3),
		*wrong = support_array_of(dev, KZ_I16, sizes, 3);
	kz_array *few = support_array_of(dev, KZ_F32, nan, 2), *out = NULL, *other = NULL;
	fails(kz_run_length_decode(&out, values, wrong, NULL, &err), KZ_RANGE,
		"index -2, at place 1 of the indexes, is out of range for lengths");
	fails(kz_run_length_decode(&out, few, wrong, NULL, &err), KZ_INVALID,
		"expected as many lengths as values, 2, got 3");
	fails(kz_reduce_by_key(&out, &other, values, few, KZ_REDUCE_SUM, NULL, &err), KZ_INVALID,
		"expected as many values as keys, 3, got 2");
	fails(kz_run_length_encode(&out, NULL, few, NULL, &err), KZ_INVALID, "out is NULL");
	ck_assert(!out && !other);
	ok(kz_run_length_encode(&out, &other, few, NULL, &err));
	get(other, 2); /* a NaN is equal to none */
	ck_assert(got[0] == 1 && got[1] == 1);
	release_arrays(values, wrong, few, out, other);
}

/* Everything that the calls allocate fails once. */
DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	kz_array *array = support_array_of(dev, KZ_I32, (const double[]){0, 1, 1, 3}, 4);
	int failed = 0;
	for (long n = 0;; n++) {
		kz_array *results[6] = {NULL};
		mem_fail_after(n);
		kz_status st = kz_segment_reduce(&results[0], array, array, KZ_REDUCE_SUM, NULL,
			&err);
		st = st ? st : kz_reduce_by_key(&results[1], &results[2], array, array,
			KZ_REDUCE_SUM, NULL, &err);
		st = st ? st : kz_run_length_encode(&results[3], &results[4], array, NULL, &err);
		st = st ? st : kz_run_length_decode(&results[5], array, array, NULL, &err);
		bool done = !mem_has_failed();
		mem_fail_after(-1);
		ck_assert(done || st == KZ_NO_MEMORY || st == KZ_OK || st == KZ_INVALID);
		failed += st != KZ_OK;
		kz_error_clear(&err);
		for (int i = 0; i < 6; i++) {
			kz_array_release(results[i]);
		}
		if (done) {
			break;
		}
	}
	ck_assert_int_gt(failed, 3);
	kz_array_release(array);
}

SUITE(segmented)
{
	Suite *suite = suite_create("segmented");
	int devices = both_shapes_count();
	tcase_add_tests(suite_add_case(suite, "segments"), devices,
		segments_of_every_type_are_reduced_as_in_a_loop,
		sums_of_segments_have_the_same_bits_in_every_form,
		segments_are_combined_by_an_expression, bad_offsets_are_refused);
	tcase_add_tests(suite_add_case(suite, "runs"), devices,
		runs_of_every_type_are_found_reduced_and_decoded, bad_lengths_and_keys_are_refused);
	tcase_add_tests(suite_add_case(suite, "memory"), devices,
		a_failing_allocation_leaves_nothing_behind);
	return suite;
}
