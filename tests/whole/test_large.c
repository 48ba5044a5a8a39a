/* SPDX-License-Identifier: MIT */
/*
 * Arrays of more elements than 32 bits count: `make check-large`, by hand, since it takes 14 GB and
 * minutes.  int8 everywhere; loops over the same memory, on a GPU over a copy of it, say what is
 * right.
 */
#include "base/common.h"

#include "support/support.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

static const int64_t sizes[] = {
	(INT64_C(1) << 31) - 1, (INT64_C(1) << 31) + 1, (INT64_C(1) << 32) + 1,
};

static kz_error err;
static kz_device *dev;
static int64_t n;
static kz_array *array;
static int8_t *copies; /* of an array, where the host has no way to a device's memory */

static int8_t element(int64_t i)
{
	return (int8_t)(i * 7 + (i >> 20));
}

static void setup(int index)
{
	const char *name = support_device_name(index % support_device_count());
	void *memory = NULL;
	err = (kz_error)KZ_ERROR_INIT;
	n = sizes[index / support_device_count()];
	ok(kz_device_open(&dev, name, &err));
	ok(kz_array_create(&array, dev, KZ_I8, KZ_SHAPE(n), &err));
	copies = strcmp(name, "cpu") == 0 ? NULL : malloc((size_t)n);
	if (copies) {
		memory = copies;
	} else {
		ok(kz_array_host(&memory, array, &err));
	}
	int8_t *elements = memory;
	for (int64_t i = 0; i < n; i++) {
		elements[i] = element(i);
	}
	if (copies) {
		ok(kz_array_set(array, copies, n, &err));
	}
}

static void teardown(void)
{
	kz_memory_stats stats;
	kz_array_release(array);
	free(copies);
	kz_device_memory_stats(dev, &stats);
	ck_assert_int_eq(stats.live_count, 0);
	kz_device_close(dev);
}

/* The host's view of a result, when it is there; until the next one is looked at. */
static const int8_t *look(kz_array *result)
{
	void *memory = NULL;
	if (copies) {
		ok(kz_array_get(result, copies, n, &err));
		return copies;
	}
	ok(kz_device_synchronize(dev, &err));
	ok(kz_array_host(&memory, result, &err));
	return memory;
}

static int64_t get_long(kz_array *result)
{
	int64_t value = -1;
	ok(kz_array_get(result, &value, sizeof(value), &err));
	kz_array_release(result);
	return value;
}

DEVICE_TEST(elementwise)
{
	kz_array *sum, *mask;
	int64_t wrong = 0;
	ok(kz_add(&sum, array, 1, &err));
	const int8_t *got = look(sum);
	for (int64_t i = 0; i < n; i++) {
		wrong += got[i] != (int8_t)(element(i) + 1);
	}
	kz_array_release(sum);
	ok(kz_less(&mask, array, 0, &err));
	got = look(mask);
	for (int64_t i = 0; i < n; i++) {
		wrong += got[i] != (element(i) < 0);
	}
	kz_array_release(mask);
	ck_assert_int_eq(wrong, 0);
}

DEVICE_TEST(views)
{
	kz_array *back, *copy, *part;
	int64_t wrong = 0;
	int8_t last[5];
	ok(kz_array_flip(&back, array, KZ_AXES(0), &err));
	ok(kz_array_contiguous(&copy, back, &err));
	const int8_t *got = look(copy);
	for (int64_t i = 0; i < n; i++) {
		wrong += got[i] != element(n - 1 - i);
	}
	release_arrays(back, copy);
	ck_assert_int_eq(wrong, 0);
	ok(kz_array_slice(&part, array, KZ_AT(KZ_SLICE(-5, KZ_OMIT)), &err));
	ok(kz_array_get(part, last, sizeof(last), &err));
	for (int64_t i = 0; i < 5; i++) {
		ck_assert_int_eq(last[i], element(n - 5 + i));
	}
	kz_array_release(part);
}

DEVICE_TEST(reductions)
{
	kz_array *out, *rows, *last;
	int64_t sum = 0, zeros = 0;
	for (int64_t i = 0; i < n; i++) {
		sum += element(i);
		zeros += element(i) == 0;
	}
	ok(kz_sum(&out, array, KZ_ALL_AXES, &err));
	ck_assert_int_eq(get_long(out), sum);
	ok(kz_count_nonzero(&out, array, KZ_ALL_AXES, &err));
	ck_assert_int_eq(get_long(out), n - zeros);
	ok(kz_array_fill(array, KZ_ARG(1), &err));
	ok(kz_array_slice(&last, array, KZ_AT(KZ_SLICE(-1, KZ_OMIT)), &err));
	ok(kz_array_fill(last, KZ_ARG(2), &err));
	kz_array_release(last);
	ok(kz_argmax(&out, array, KZ_ALL_AXES, &err));
	ck_assert_int_eq(get_long(out), n - 1);
	ok(kz_array_expand(&rows, array, KZ_AXES(0), &err));
	ok(kz_sum(&out, rows, KZ_AXES(1), &err));
	ck_assert_int_eq(get_long(out), n + 1);
	kz_array_release(rows);
}

DEVICE_TEST(scans)
{
	kz_array *sums;
	int64_t wrong = 0;
	int8_t sum = 0;
	ok(kz_scan(&sums, array, "a + b", "0", NULL, &err));
	const int8_t *got = look(sums);
	for (int64_t i = 0; i < n; i++) {
		sum = (int8_t)(sum + element(i));
		wrong += got[i] != sum;
	}
	ck_assert_int_eq(wrong, 0);
	kz_array_release(sums);
}

DEVICE_TEST(indexes)
{
	kz_array *places, *values, *taken, *found;
	int64_t want[3], got[3];
	int8_t few[3];
	want[0] = 5;
	want[1] = n / 2 + 1;
	want[2] = n - 1;
	ok(kz_array_from(&places, dev, KZ_I64, KZ_SHAPE(3), want, sizeof(want), &err));
	ok(kz_array_take(&taken, array, places, 0, KZ_INDEX_CHECK, &err));
	ok(kz_array_get(taken, few, sizeof(few), &err));
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(few[i], element(want[i]));
	}
	ok(kz_array_fill(array, KZ_ARG(0), &err));
	ok(kz_array_ones(&values, dev, KZ_I8, KZ_SHAPE(3), &err));
	ok(kz_array_put(array, places, values, KZ_INDEX_CHECK, &err));
	ok(kz_array_nonzero(&found, array, &err));
	ck_assert_int_eq(kz_array_count(found), 3);
	ok(kz_array_get(found, got, sizeof(got), &err));
	ck_assert_mem_eq(got, want, sizeof(got));
	release_arrays(places, values, taken, found);
}

/* How many elements are below each number from INT8_MIN, and before the end. */
static void count_below(int64_t below[257])
{
	memset(below, 0, 257 * sizeof(below[0]));
	for (int64_t i = 0; i < n; i++) {
		below[element(i) - INT8_MIN + 1]++;
	}
	for (int k = 0; k < 256; k++) {
		below[k + 1] += below[k];
	}
}

/* Sorted elements are runs, whose ends are the places of numbers among them. */
DEVICE_TEST(sorting_and_searching)
{
	kz_array *sorted, *values, *found;
	int64_t below[257], wrong = 0, got[256];
	int8_t all[256];
	count_below(below);
	ok(kz_sort(&sorted, array, 0, NULL, &err));
	const int8_t *elements = look(sorted);
	for (int k = 0; k < 256; k++) {
		all[k] = (int8_t)(k + INT8_MIN);
		for (int64_t i = below[k]; i < below[k + 1]; i++) {
			wrong += elements[i] != all[k];
		}
	}
	ck_assert_int_eq(wrong, 0);
	ok(kz_array_from(&values, dev, KZ_I8, KZ_SHAPE(256), all, sizeof(all), &err));
	ok(kz_searchsorted(&found, sorted, values, NULL, &err));
	ok(kz_array_get(found, got, sizeof(got), &err));
	ck_assert_mem_eq(got, below, sizeof(got));
	release_arrays(sorted, values, found);
}

DEVICE_TEST(elements_are_counted)
{
	kz_array *bytes, *counts;
	int64_t below[257], got[256];
	count_below(below);
	ok(kz_array_view_as(&bytes, array, KZ_U8, &err));
	ok(kz_bincount(&counts, bytes, NULL, &err));
	ok(kz_array_get(counts, got, sizeof(got), &err));
	for (int k = 0; k < 256; k++) {
		const int at = (int8_t)k - INT8_MIN;
		ck_assert_int_eq(got[k], below[at + 1] - below[at]);
	}
	release_arrays(bytes, counts);
}

DEVICE_TEST(distinct_elements)
{
	kz_array *values, *counts;
	int64_t below[257], got[256];
	int8_t all[256];
	count_below(below);
	ok(kz_unique(&values, NULL, NULL, &counts, array, NULL, &err));
	ck_assert_int_eq(kz_array_count(values), 256);
	ok(kz_array_get(values, all, sizeof(all), &err));
	ok(kz_array_get(counts, got, sizeof(got), &err));
	for (int k = 0; k < 256; k++) {
		ck_assert_int_eq(all[k], k + INT8_MIN);
		ck_assert_int_eq(got[k], below[k + 1] - below[k]);
	}
	release_arrays(values, counts);
}

/* As PyCUDA's test_big_array_elementwise and test_big_array_reduction. */
DEVICE_TEST(kernels_of_users)
{
	kz_elementwise *count = NULL;
	kz_reduction *sum = NULL;
	kz_array *total;
	uint8_t got, want = 0;
	int64_t wrong = 0;
	ok(kz_elementwise_create(&count, dev, "signed char *x", "x[i] = (signed char)(i % 251)",
		NULL, &err));
	ok(kz_elementwise_run(count, NULL, &err, KZ_ARGS(array)));
	const int8_t *values = look(array);
	for (int64_t i = 0; i < n; i++) {
		wrong += values[i] != (int8_t)(i % 251);
		want = (uint8_t)(want + values[i]);
	}
	ck_assert_int_eq(wrong, 0);
	ok(kz_reduction_create(&sum, dev, KZ_U8, "0", "a + b", "x[i]", "const signed char *x", NULL,
		&err));
	ok(kz_reduction_run(&total, sum, NULL, &err, KZ_ARGS(array)));
	ok(kz_array_get(total, &got, sizeof(got), &err));
	ck_assert_uint_eq(got, want);
	kz_array_release(total);
	kz_elementwise_release(count);
	kz_reduction_release(sum);
}

SUITE(large)
{
	Suite *suite = suite_create("large");
	TCase *tcase = suite_add_case(suite, "large");
	if (getenv("KUDZU_TEST_LARGE")) {
		int cases = (int)countof(sizes) * support_device_count();
		tcase_set_timeout(tcase, 3600);
		tcase_add_loop_test(tcase, elementwise, 0, cases);
		tcase_add_loop_test(tcase, views, 0, cases);
		tcase_add_loop_test(tcase, reductions, 0, cases);
		tcase_add_loop_test(tcase, scans, 0, cases);
		tcase_add_loop_test(tcase, indexes, 0, cases);
		tcase_add_loop_test(tcase, sorting_and_searching, 0, cases);
		tcase_add_loop_test(tcase, elements_are_counted, 0, cases);
		tcase_add_loop_test(tcase, distinct_elements, 0, cases);
		tcase_add_loop_test(tcase, kernels_of_users, 0, cases);
	}
	return suite;
}
