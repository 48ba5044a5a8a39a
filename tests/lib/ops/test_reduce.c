/* SPDX-License-Identifier: MIT */
/*
 * Reductions: the same bits always, accuracy, NaN, what has no elements, where results go, and what
 * is refused.  test_reduce_random.c has shapes and strides.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/memory.h"
#include "support/device_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

/* In [0, 1) */
static double uniform(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(state >> 11) * 0x1p-53;
}

/* `count` float32 between -1 and 1. */
static kz_array *random_floats(kz_shape shape, float *host)
{
	kz_array *array;
	int64_t count = support_count(&shape);
	state = 2026;
	for (int64_t i = 0; i < count; i++) {
		host[i] = (float)(2 * uniform() - 1);
	}
	ok(kz_array_from(&array, dev, KZ_F32, shape, host, 4 * count, &err));
	return array;
}

/* A 0-d result as a double, whatever its type; released. */
static double take(kz_array *array)
{
	kz_array *wide;
	double value;
	ck_assert_int_eq(kz_array_ndim(array), 0);
	ok(kz_array_astype(&wide, array, KZ_F64, &err));
	ok(kz_array_get(wide, &value, sizeof(value), &err));
	release_arrays(wide, array);
	return value;
}

/* Order */

/* Extents around which the number of passes, chunks, rows and lanes changes. */
static const struct {
	kz_shape shape;
	kz_axes axes;
} sizes[] = {
	{{1, {7}}, {1, {0}}}, {{1, {255}}, {1, {0}}}, {{1, {2305}}, {1, {0}}},
	{{1, {16640}}, {1, {0}}}, {{1, {16641}}, {1, {0}}}, {{1, {100003}}, {1, {0}}},
	{{1, {3000001}}, {1, {0}}}, {{2, {1000, 3}}, {1, {1}}}, {{2, {3, 1000}}, {1, {0}}},
	{{2, {257, 9}}, {1, {0}}}, {{2, {258, 1030}}, {1, {0}}}, {{2, {5000, 40}}, {1, {0}}},
	{{2, {40, 5000}}, {1, {1}}}, {{2, {3, 40000}}, {1, {1}}},
	{{3, {30, 20, 50}}, {1, {1}}}, {{3, {70, 5, 90}}, {2, {0, 2}}},
	{{4, {9, 5, 7, 11}}, {2, {1, 3}}}, {{3, {300, 7, 3}}, {2, {0, 2}}},
	{{2, {50, 16}}, {1, {1}}}, {{2, {50, 17}}, {1, {1}}}, {{2, {50, 145}}, {1, {1}}},
	{{2, {50, 256}}, {1, {1}}}, {{1, {8 * 2304 + 5}}, {1, {0}}},
	{{1, {8 * 2304 + 21}}, {1, {0}}}, {{1, {8 * 256 + 100}}, {1, {0}}},
};

/* The same elements, but not side by side: every other one of twice as many. */
static kz_array *spread(kz_array *array)
{
	kz_array *pairs, *view;
	kz_shape shape = kz_array_shape(array);
	shape.dims[shape.ndim - 1] *= 2;
	ok(kz_array_create(&pairs, dev, KZ_F32, shape, &err));
	ok(kz_array_slice(&view, pairs, KZ_AT(KZ_ELLIPSIS, KZ_SLICE(0, KZ_OMIT, 2)), &err));
	ok(kz_array_assign(view, array, &err));
	kz_array_release(pairs);
	return view;
}

static void reduce_bits(float *to, kz_array *array, kz_reduce_op op, size_t which)
{
	kz_array *result;
	ok(kz_reduce(&result, op, array, sizes[which].axes, NULL, &err));
	ck_assert_int_le(kz_array_count(result), 6000);
	ok(kz_array_get(result, to, kz_array_size(result), &err));
	kz_array_release(result);
}

START_TEST(results_have_the_same_bits_in_every_run_and_with_a_thread_for_each_lane)
{
	static float host[3000001], first[6000], again[6000];
	if (!support_is_tried(_i, countof(sizes), 5, 4)) {
		return;
	}
	for (int i = 0; i < support_device_count(); i++) {
		open_kernels(i);
		bool serial = dev->serial;
		kz_array *array = random_floats(sizes[_i].shape, host);
		memset(first, 0, sizeof(first)); /* of tests before, in the same process */
		reduce_bits(first, array, KZ_REDUCE_SUM, (size_t)_i);
		for (int run = 0; run < support_how_many(6, 2, 2); run++) {
			memset(again, 0, sizeof(again));
			dev->serial = serial && run % 2 == 0;
			reduce_bits(again, array, KZ_REDUCE_SUM, (size_t)_i);
			ck_assert_mem_eq(first, again, sizeof(first));
		}
		kz_array *apart = spread(array);
		reduce_bits(again, apart, KZ_REDUCE_SUM, (size_t)_i);
		ck_assert_mem_eq(first, again, sizeof(first));
		dev->serial = serial;
		release_arrays(array, apart);
		teardown();
	}
}
END_TEST

START_TEST(results_do_not_depend_on_the_number_of_threads)
{
	static float host[3000001], first[3][40], again[40];
	static const char *const threads[] = {"1", "2", "7"};
	static const size_t tried[3] = {6, 11, 12}; /* results: 1, 40, 40 */
	for (size_t t = 0; t < countof(threads); t++) {
		setenv("KUDZU_CPU_THREADS", threads[t], 1);
		open_kernels(_i);
		for (size_t k = 0; k < countof(tried); k++) {
			kz_array *array = random_floats(sizes[tried[k]].shape, host);
			memset(again, 0, sizeof(again));
			reduce_bits(t ? again : first[k], array, KZ_REDUCE_VAR, tried[k]);
			ck_assert(t == 0 || memcmp(again, first[k], sizeof(first[k])) == 0);
			kz_array_release(array);
		}
		teardown();
	}
}
END_TEST

/* Whose order does not matter, so that it depends on the threads. */
START_TEST(integers_are_summed_to_the_last_one_by_any_number_of_threads)
{
	enum { COUNT = 100003 };
	static int32_t host[COUNT];
	static const char *const threads[] = {"1", "2", "7"};
	double sum = 0;
	for (int i = 0; i < COUNT; i++) {
		host[i] = i * 7919 % 100019 - 40000;
		sum += host[i];
	}
	for (size_t t = 0; t < countof(threads); t++) {
		kz_array *array, *result;
		setenv("KUDZU_CPU_THREADS", threads[t], 1);
		open_kernels(_i);
		ok(kz_array_from(&array, dev, KZ_I32, KZ_SHAPE(COUNT), host, sizeof(host), &err));
		ok(kz_sum(&result, array, KZ_ALL_AXES, &err));
		ck_assert_double_eq(take(result), sum);
		kz_array_release(array);
		teardown();
	}
}
END_TEST

/* Accuracy */

/* numpy's: 8 sums of 128 elements, then halves. */
static float pairwise(const float *a, int64_t n)
{
	if (n <= 128) {
		float r[8] = {0};
		for (int64_t i = 0; i < n; i++) {
			r[i % 8] += a[i];
		}
		return ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
	}
	int64_t half = n / 2 - n / 2 % 8;
	return pairwise(a, half) + pairwise(a + half, n - half);
}

/* Kinds of elements: alike, of both signs, of all sizes, and such that most cancels. */
static float accuracy_element(int kind, int64_t i)
{
	switch (kind) {
	case 0:
		return (float)uniform();
	case 1:
		return (float)(2 * uniform() - 1);
	case 2:
		return (float)exp(20 * uniform() - 10);
	default:
		return (float)((i % 2 ? -1 : 1) * (1e4 + (double)(i / 2 % 1000)) + uniform());
	}
}

START_TEST(sums_are_at_least_as_accurate_as_those_of_numpy)
{
	enum { COUNT = 10000000, KINDS = 4 };
	float *host = malloc(4 * (size_t)COUNT);
	double ours = 0, theirs = 0;
	open_kernels(_i);
	for (int k = 0; k < KINDS; k++) {
		long double exact = 0, size = 0;
		kz_array *array, *sum;
		state = 1 + (uint64_t)k;
		for (int64_t i = 0; i < COUNT; i++) {
			host[i] = accuracy_element(k, i);
			exact += (long double)host[i];
			size += fabsl((long double)host[i]);
		}
		ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(COUNT), host, 4 * (int64_t)COUNT,
			&err));
		ok(kz_sum(&sum, array, KZ_ALL_AXES, &err));
		double mine = (double)(fabsl((long double)take(sum) - exact) / size);
		ours += mine;
		theirs += (double)(fabsl((long double)pairwise(host, COUNT) - exact) / size);
		ck_assert_double_lt(mine, 0x1p-24 * 4);
		kz_array_release(array);
	}
	ck_assert_msg(ours <= theirs * 1.5 + 0x1p-26, "error %g, numpy's %g", ours, theirs);
	teardown();
	free(host);
}
END_TEST

KERNEL_TEST(a_variance_far_from_zero_keeps_its_digits)
{
	enum { COUNT = 100000 };
	static float host[COUNT];
	kz_array *array, *var;
	long double mean = 0, squares = 0;
	state = 5;
	for (int i = 0; i < COUNT; i++) {
		host[i] = (float)(10000 + uniform());
		mean += (long double)host[i] / COUNT;
	}
	for (int i = 0; i < COUNT; i++) {
		squares += ((long double)host[i] - mean) * ((long double)host[i] - mean) / COUNT;
	}
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(COUNT), host, sizeof(host), &err));
	ok(kz_var(&var, array, KZ_ALL_AXES, &err));
	ck_assert_double_eq_tol(take(var), (double)squares, (double)squares * 1e-4);
	kz_array_release(array);
}

KERNEL_TEST(halves_are_added_as_floats_and_rounded_once)
{
	kz_array *ones, *sum;
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	ok(kz_array_ones(&ones, dev, KZ_F16, KZ_SHAPE(4097), &err));
	ok(kz_sum(&sum, ones, KZ_ALL_AXES, &err));
	ck_assert_uint_eq(kz_array_dtype(sum), KZ_F16);
	ck_assert_double_eq(take(sum), 4096); /* 4097 is no float16; one by one it ends at 2048 */
	options.dtype = KZ_F32;
	ok(kz_reduce(&sum, KZ_REDUCE_SUM, ones, KZ_ALL_AXES, &options, &err));
	ck_assert_double_eq(take(sum), 4097);
	kz_array_release(ones);
}

/* Values */

/* The result has the type of the elements. */
static double reduce_bytes(const void *host, int64_t count, kz_reduce_op op, kz_dtype dtype)
{
	kz_array *array, *result;
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	/* Extremes have it anyway. */
	options.dtype = op == KZ_REDUCE_SUM || op == KZ_REDUCE_PROD ? dtype : 0;
	ok(kz_array_from(&array, dev, dtype, KZ_SHAPE(count), host, count, &err));
	ok(kz_reduce(&result, op, array, KZ_ALL_AXES, &options, &err));
	ck_assert_uint_eq(kz_array_dtype(result), dtype);
	kz_array_release(array);
	return take(result);
}

KERNEL_TEST(extremes_are_nan_if_any_element_is)
{
	const float host[] = {3, -1, NAN, 7, NAN, 7, -1};
	static const struct {
		kz_reduce_op op;
		double all, numbers; /* from the beginning; from the last three on */
	} want[] = {
		{KZ_REDUCE_MIN, NAN, -1}, {KZ_REDUCE_MAX, NAN, 7}, {KZ_REDUCE_ARGMIN, 2, 1},
		{KZ_REDUCE_ARGMAX, 2, 0}, {KZ_REDUCE_NANMIN, -1, -1}, {KZ_REDUCE_NANMAX, 7, 7},
		{KZ_REDUCE_SUM, NAN, 6}, {KZ_REDUCE_NANSUM, 15, 6}, {KZ_REDUCE_ANY, 1, 1},
		{KZ_REDUCE_COUNT_NONZERO, 7, 2},
	};
	kz_array *array, *part, *result;
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(7), host, sizeof(host), &err));
	ok(kz_array_view(&part, array, KZ_SHAPE(2), NULL, 20, &err));
	for (size_t k = 0; k < countof(want); k++) {
		ok(kz_reduce(&result, want[k].op, array, KZ_ALL_AXES, NULL, &err));
		double all = take(result);
		ck_assert(isnan(want[k].all) ? isnan(all) : all == want[k].all);
		ok(kz_reduce(&result, want[k].op, part, KZ_ALL_AXES, NULL, &err));
		ck_assert_double_eq(take(result), want[k].numbers);
	}
	release_arrays(part, array);
}

KERNEL_TEST(the_first_of_equal_extremes_counts)
{
	enum { COUNT = 70000 };
	static uint8_t host[COUNT];
	kz_array *array, *flipped, *result;
	const int64_t back = -1;
	host[5000] = host[40000] = host[69999] = 200;
	ok(kz_array_from(&array, dev, KZ_U8, KZ_SHAPE(COUNT), host, COUNT, &err));
	ok(kz_argmax(&result, array, KZ_ALL_AXES, &err));
	ck_assert_double_eq(take(result), 5000);
	ok(kz_argmin(&result, array, KZ_ALL_AXES, &err));
	ck_assert_double_eq(take(result), 0);
	ok(kz_array_view(&flipped, array, KZ_SHAPE(COUNT), &back, COUNT - 1, &err));
	ok(kz_argmax(&result, flipped, KZ_ALL_AXES, &err));
	ck_assert_double_eq(take(result), 0);
	ok(kz_argmin(&result, flipped, KZ_ALL_AXES, &err));
	ck_assert_double_eq(take(result), 1);
	release_arrays(flipped, array);
}

/* They are combined in a wider type, of which nothing may be seen. */
START_TEST(bytes_are_reduced_as_bytes)
{
	enum { COUNT = 20000 };
	static int8_t host[COUNT];
	int8_t sum = 0, least = INT8_MAX;
	uint8_t product = 1, most = 0;
	state = 8;
	for (int i = 0; i < COUNT; i++) {
		host[i] = (int8_t)((int)(128 * uniform()) * 2 - 127); /* odd, below 127 */
		sum = (int8_t)(sum + host[i]);
		least = host[i] < least ? host[i] : least;
		product = (uint8_t)(product * (uint8_t)host[i]);
		most = (uint8_t)host[i] > most ? (uint8_t)host[i] : most;
	}
	const struct {
		kz_reduce_op op;
		kz_dtype dtype;
		double want;
	} rows[] = {
		{KZ_REDUCE_SUM, KZ_I8, sum}, {KZ_REDUCE_MIN, KZ_I8, least},
		{KZ_REDUCE_PROD, KZ_U8, product}, {KZ_REDUCE_MAX, KZ_U8, most},
	};
	open_kernels(_i);
	for (size_t k = 0; k < countof(rows); k++) {
		ck_assert_double_eq(reduce_bytes(host, COUNT, rows[k].op, rows[k].dtype),
			rows[k].want);
	}
	teardown();
}
END_TEST

KERNEL_TEST(what_has_no_elements_has_its_neutral_value)
{
	static const struct {
		kz_reduce_op op;
		double value;
	} want[] = {
		{KZ_REDUCE_SUM, 0}, {KZ_REDUCE_PROD, 1}, {KZ_REDUCE_ANY, 0}, {KZ_REDUCE_ALL, 1},
		{KZ_REDUCE_MEAN, NAN}, {KZ_REDUCE_VAR, NAN}, {KZ_REDUCE_STD, NAN},
		{KZ_REDUCE_NORM, 0}, {KZ_REDUCE_COUNT_NONZERO, 0}, {KZ_REDUCE_NANSUM, 0},
	};
	static const kz_dtype dtypes[] = {KZ_BOOL, KZ_I16, KZ_BF16, KZ_F32};
	kz_array *array, *result;
	for (size_t k = 0; k < countof(want) * countof(dtypes); k++) {
		kz_reduce_op op = want[k / countof(dtypes)].op;
		double value = want[k / countof(dtypes)].value;
		ok(kz_array_create(&array, dev, dtypes[k % countof(dtypes)], KZ_SHAPE(3, 0), &err));
		ok(kz_reduce(&result, op, array, KZ_ALL_AXES, NULL, &err));
		double got = take(result);
		ck_assert(isnan(value) ? isnan(got) : got == value);
		ok(kz_reduce(&result, op, array, KZ_AXES(1), NULL, &err));
		ck_assert_int_eq(kz_array_count(result), 3);
		kz_array_release(result);
		ok(kz_reduce(&result, op, array, KZ_AXES(0), NULL, &err));
		ck_assert_int_eq(kz_array_count(result), 0);
		release_arrays(result, array);
	}
	ok(kz_array_create(&array, dev, KZ_F32, KZ_SHAPE(3, 0), &err));
	fails(kz_min(&result, array, KZ_ALL_AXES, &err), KZ_INVALID,
		"min needs at least one element, got shape (3, 0)");
	fails(kz_argmax(&result, array, KZ_AXES(1), &err), KZ_INVALID,
		"argmax needs at least one element");
	ok(kz_max(&result, array, KZ_AXES(0), &err));
	ck_assert_int_eq(kz_array_count(result), 0);
	release_arrays(result, array);
}

KERNEL_TEST(variances_divide_by_the_elements_less_ddof)
{
	const double host[] = {1, 2, 4, 9};
	kz_array *array, *result;
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	ok(kz_array_from(&array, dev, KZ_F64, KZ_SHAPE(4), host, sizeof(host), &err));
	ok(kz_var(&result, array, KZ_ALL_AXES, &err));
	ck_assert_double_eq(take(result), 38.0 / 4);
	options.ddof = 1;
	ok(kz_reduce(&result, KZ_REDUCE_VAR, array, KZ_ALL_AXES, &options, &err));
	ck_assert_double_eq(take(result), 38.0 / 3);
	ok(kz_reduce(&result, KZ_REDUCE_STD, array, KZ_ALL_AXES, &options, &err));
	ck_assert_double_eq(take(result), sqrt(38.0 / 3));
	options.ddof = 4;
	ok(kz_reduce(&result, KZ_REDUCE_VAR, array, KZ_ALL_AXES, &options, &err));
	ck_assert(isinf(take(result)));
	kz_array_release(array);
}

/* Where results go */

/* Each reduction's result that goes to the host at once is that of an array. */
static void get_each(kz_array *array)
{
	for (kz_reduce_op op = KZ_REDUCE_SUM; op <= KZ_REDUCE_NANMAX; op++) {
		unsigned char got[24], want[24];
		kz_array *result;
		memset(got, 0x5a, sizeof(got));
		memset(want, 0x5a, sizeof(want));
		ok(kz_reduce(&result, op, array, KZ_ALL_AXES, NULL, &err));
		kz_dtype dtype = kz_array_dtype(result);
		ok(kz_array_get(result, want, kz_dtype_size(dtype), &err));
		kz_array_release(result);
		ok(kz_reduce_get_as(got, dtype, op, array, NULL, &err));
		ck_assert_msg(memcmp(got, want, sizeof(got)) == 0, "%s", kz_reduce_name(op));
	}
}

KERNEL_TEST(a_result_goes_to_the_host_at_once)
{
	static float host[5000];
	kz_array *few, *turned, *many;
	many = random_floats(KZ_SHAPE(5000), host);
	few = random_floats(KZ_SHAPE(4, 5), host);
	ok(kz_array_transpose(&turned, few, KZ_AXES(), &err));
	get_each(many);
	get_each(few);
	get_each(turned);
	/* By way of pinned memory, as on GPUs, whatever the device is. */
	kz_pinned *pinned;
	ok(kz_pinned_create(&pinned, dev, 512, &err));
	void *own = atomic_exchange(&dev->slot, kz_pinned_pointer(pinned));
	get_each(many);
	get_each(turned);
	ck_assert_ptr_eq(atomic_exchange(&dev->slot, own), kz_pinned_pointer(pinned));
	kz_pinned_release(pinned);
	release_arrays(many, few, turned);
}

KERNEL_TEST(a_result_for_the_host_that_does_not_fit_is_refused)
{
	float host[4] = {1, 2, 3, 4};
	double total = 7;
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	kz_array *a, *none;
	ok(kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(4), host, sizeof(host), &err));
	ok(kz_array_create(&none, dev, KZ_F64, KZ_SHAPE(0), &err));
#define GET(array, op, to, dtype) kz_reduce_get_as(to, dtype, op, array, &options, &err)
	fails(GET(a, KZ_REDUCE_SUM, &total, KZ_I64), KZ_INVALID, "float32");
	fails(GET(a, KZ_REDUCE_SUM, NULL, KZ_F32), KZ_INVALID, "got NULL");
	fails(GET(NULL, KZ_REDUCE_SUM, &total, KZ_F64), KZ_INVALID, "expected an array, got NULL");
	fails(GET(a, (kz_reduce_op)0, &total, KZ_F64), KZ_INVALID, "0 is not a kz_reduce_op");
	fails(GET(none, KZ_REDUCE_MAX, &total, KZ_F64), KZ_INVALID, "");
	options.into = a;
	fails(GET(a, KZ_REDUCE_SUM, &total, KZ_F64), KZ_INVALID,
		"goes to the host, not into an array");
	options.into = NULL;
	ck_assert_double_eq(total, 7);
	options.dtype = KZ_F64;
	ok(GET(a, KZ_REDUCE_SUM, &total, KZ_F64));
	ck_assert_double_eq(total, 10);
	ok(GET(none, KZ_REDUCE_SUM, &total, KZ_F64));
	ck_assert_double_eq(total, 0);
	release_arrays(a, none);
}

KERNEL_TEST(results_go_into_arrays_of_any_strides_and_of_other_types)
{
	const int16_t host[] = {1, 2, 3, 4, 5, 6};
	float got[4];
	const int64_t step = 8;
	kz_array *array, *room, *into, *result;
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	kz_stream *stream;
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_array_from(&array, dev, KZ_I16, KZ_SHAPE(2, 3), host, sizeof(host), &err));
	ok(kz_array_zeros(&room, dev, KZ_F32, KZ_SHAPE(4), &err));
	ok(kz_array_view(&into, room, KZ_SHAPE(2), &step, 4, &err));
	options.into = into;
	options.stream = stream;
	ok(kz_reduce(&result, KZ_REDUCE_SUM, array, KZ_AXES(-1), &options, &err));
	ck_assert_ptr_eq(result, into);
	kz_array_release(result);
	ok(kz_array_get(room, got, sizeof(got), &err));
	ck_assert(got[0] == 0 && got[1] == 6 && got[2] == 0 && got[3] == 15);
	ok(kz_reduce(NULL, KZ_REDUCE_MEAN, array, KZ_AXES(1), &options, &err));
	ok(kz_array_get(room, got, sizeof(got), &err));
	ck_assert(got[1] == 2 && got[3] == 5);
	fails(kz_reduce(NULL, KZ_REDUCE_SUM, array, KZ_AXES(0), &options, &err), KZ_INVALID,
		"sum gives shape (3,), which does not fit into (2,)");
	release_arrays(into, room, array);
	kz_stream_release(stream);
}

KERNEL_TEST(a_result_may_overwrite_what_was_reduced)
{
	float host[64], got[8];
	kz_array *array, *row;
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	for (int i = 0; i < 64; i++) {
		host[i] = (float)i;
	}
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(8, 8), host, sizeof(host), &err));
	ok(kz_array_view(&row, array, KZ_SHAPE(8), NULL, 0, &err));
	options.into = row;
	ok(kz_reduce(NULL, KZ_REDUCE_SUM, array, KZ_AXES(1), &options, &err));
	ok(kz_array_get(row, got, sizeof(got), &err));
	for (int i = 0; i < 8; i++) {
		ck_assert_float_eq(got[i], (float)(64 * i + 28));
	}
	release_arrays(row, array);
}

KERNEL_TEST(what_makes_no_sense_is_refused)
{
	kz_array *array, *numbers, *result = (kz_array *)&err;
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	kz_dtype point;
	ok(kz_dtype_register(&point, "struct reduce_point", 8, &err));
	ok(kz_array_zeros(&array, dev, point, KZ_SHAPE(2, 2), &err));
	ok(kz_array_zeros(&numbers, dev, KZ_C64, KZ_SHAPE(2, 2), &err));
	fails(kz_sum(&result, array, KZ_ALL_AXES, &err), KZ_INVALID,
		"sum does not take struct reduce_point");
	ck_assert_ptr_null(result);
	fails(kz_max(&result, numbers, KZ_ALL_AXES, &err), KZ_INVALID,
		"max does not take complex64");
	fails(kz_sum(&result, numbers, KZ_AXES(2), &err), KZ_RANGE, "axis 2 is out of range");
	fails(kz_sum(&result, numbers, KZ_AXES(0, -2), &err), KZ_INVALID, "is named twice");
	fails(kz_sum(&result, NULL, KZ_ALL_AXES, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_sum(NULL, numbers, KZ_ALL_AXES, &err), KZ_INVALID, "kz_sum: out is NULL");
	fails(kz_reduce(&result, (kz_reduce_op)99, numbers, KZ_ALL_AXES, NULL, &err), KZ_INVALID,
		"99 is not a kz_reduce_op");
	options.dtype = KZ_I32;
	fails(kz_reduce(&result, KZ_REDUCE_MEAN, numbers, KZ_ALL_AXES, &options, &err), KZ_INVALID,
		"mean cannot have dtype int32");
	options.dtype = 77;
	fails(kz_reduce(&result, KZ_REDUCE_SUM, numbers, KZ_ALL_AXES, &options, &err), KZ_INVALID,
		"77 is not a dtype");
	options.size = 3;
	fails(kz_reduce(&result, KZ_REDUCE_SUM, numbers, KZ_ALL_AXES, &options, &err), KZ_INVALID,
		"kz_reduce_options has size 3");
	ck_assert_str_eq(kz_reduce_name(KZ_REDUCE_COUNT_NONZERO), "count_nonzero");
	ck_assert_ptr_null(kz_reduce_name((kz_reduce_op)0));
	release_arrays(numbers, array);
}

/* One kernel for the elements, one for what a pass leaves; sizes and numbers of axes do not
 * count. */
KERNEL_TEST(sizes_need_no_new_kernels)
{
	static const kz_shape shapes[] = {{1, {5}}, {1, {300}}, {2, {20, 30}}, {3, {9, 9, 9}}};
	kz_kernel_stats stats;
	kz_array *array, *result;
	kz_device_kernel_stats(dev, &stats);
	int64_t before = stats.compiled_count;
	for (size_t k = 0; k < 2 * countof(shapes); k++) {
		ok(kz_array_zeros(&array, dev, KZ_I32, shapes[k / 2], &err));
		ok(kz_reduce(&result, KZ_REDUCE_SUM, array, k % 2 ? KZ_ALL_AXES : KZ_AXES(-1), NULL,
			&err));
		release_arrays(result, array);
	}
	kz_device_kernel_stats(dev, &stats);
	ck_assert_int_eq(stats.compiled_count - before, 1);
}

KERNEL_TEST(reducing_without_memory_leaves_nothing)
{
	static float host[40000];
	kz_status st = KZ_OK;
	bool failed = true;
	long n;
	kz_array *array = random_floats(KZ_SHAPE(40000), host), *result;
	ok(kz_std(&result, array, KZ_ALL_AXES, &err)); /* the compiler does without malloc */
	kz_array_release(result);
	for (n = 0; failed && n < 100; n++) {
		ok(kz_device_trim(dev, 0, &err)); /* so that there is nothing to use again */
		mem_fail_after(n);
		st = kz_std(&result, array, KZ_ALL_AXES, &err);
		failed = mem_has_failed(); /* the pool does without, at times */
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		ck_assert(st == KZ_OK || (failed && st == KZ_NO_MEMORY));
		ck_assert((result != NULL) == (st == KZ_OK));
		kz_error_clear(&err);
		kz_array_release(result);
	}
	ck_assert_int_eq(st, KZ_OK);
	ck_assert_int_gt(n, 5);
	kz_array_release(array);
}

KERNEL_TEST(a_result_for_the_host_needs_memory_or_leaves_nothing)
{
	float host[40] = {0}, total = 7;
	kz_status st = KZ_NO_MEMORY;
	kz_array *array = random_floats(KZ_SHAPE(40), host);
	kz_pinned *pinned;
	ok(kz_pinned_create(&pinned, dev, 512, &err));
	void *own = atomic_exchange(&dev->slot, kz_pinned_pointer(pinned));
	ok(kz_reduce_get_as(&total, KZ_F32, KZ_REDUCE_SUM, array, NULL, &err));
	for (long n = 0; st; n++) {
		float again = 7;
		ck_assert_int_lt(n, 100);
		mem_fail_after(n);
		st = kz_reduce_get_as(&again, KZ_F32, KZ_REDUCE_SUM, array, NULL, &err);
		mem_fail_after(-1);
		ck_assert(st == KZ_OK || st == KZ_NO_MEMORY);
		ck_assert_float_eq(again, st ? 7 : total);
		kz_error_clear(&err);
	}
	ck_assert_ptr_eq(atomic_exchange(&dev->slot, own), kz_pinned_pointer(pinned));
	kz_pinned_release(pinned);
	kz_array_release(array);
}

/* Ties and NaNs, from one element to several chunks, forwards and backwards, whole and by rows: the
 * first of the best, and a NaN before all. */
DEVICE_TEST(argmax_is_the_first_of_the_best)
{
	static const int64_t columns[] = {1, 2, 15, 16, 17, 64, 65, 127, 129, 256, 1000, 30001};
	static float host[2 * 30001];
	for (size_t k = 0; k < countof(columns); k++) {
		for (int turn = 0; turn < 6; turn++) {
			const int64_t n = columns[k], nan_at = turn % 3 == 2 ? n / 2 : -1;
			int64_t best[2] = {0, 0}, got[2];
			for (int64_t i = 0; i < 2 * n; i++) {
				host[i] = i % n == nan_at || i % n == nan_at + n / 4 + 1 ? NAN
					: (float)((i * 2654435761 >> 7) % (turn % 3 ? 3 : n + 1));
			}
			for (int64_t i = 0; i < 2 * n; i++) { /* as seen backwards in later turns */
				const int64_t row = i / n, column = i % n;
				const float x = host[row * n
					+ (turn < 3 ? column : n - 1 - column)];
				const float most = host[row * n
					+ (turn < 3 ? best[row] : n - 1 - best[row])];
				best[row] = column == 0 ? 0 : most == most && (x > most || x != x)
					? column : best[row];
			}
			kz_array *array, *view, *found;
			ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(2, n), host, 8 * n, &err));
			ok(turn < 3 ? kz_array_view(&view, array, KZ_SHAPE(2, n), NULL, 0, &err)
				: kz_array_flip(&view, array, KZ_AXES(1), &err));
			ok(kz_reduce(&found, KZ_REDUCE_ARGMAX, view, KZ_AXES(1), NULL, &err));
			ok(kz_array_get(found, got, sizeof(got), &err));
			ck_assert_msg(got[0] == best[0] && got[1] == best[1],
				"%d, %d: %d %d, not %d %d",
				(int)n, turn, (int)got[0], (int)got[1], (int)best[0], (int)best[1]);
			release_arrays(array, view, found);
		}
	}
}

SUITE(reduce)
{
	Suite *suite = suite_create("reduce");
	TCase *tc = suite_add_case(suite, "order");
	int devices = support_device_count();
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc,
		results_have_the_same_bits_in_every_run_and_with_a_thread_for_each_lane, 0,
		countof(sizes));
	tcase_add_tests(tc, devices, results_do_not_depend_on_the_number_of_threads,
		integers_are_summed_to_the_last_one_by_any_number_of_threads);
	tc = suite_add_case(suite, "values");
	tcase_add_tests(tc, devices, sums_are_at_least_as_accurate_as_those_of_numpy,
		a_variance_far_from_zero_keeps_its_digits,
		halves_are_added_as_floats_and_rounded_once, extremes_are_nan_if_any_element_is,
		the_first_of_equal_extremes_counts, argmax_is_the_first_of_the_best,
		bytes_are_reduced_as_bytes, what_has_no_elements_has_its_neutral_value,
		variances_divide_by_the_elements_less_ddof);
	tc = suite_add_case(suite, "results");
	tcase_add_tests(tc, devices, a_result_goes_to_the_host_at_once,
		a_result_for_the_host_that_does_not_fit_is_refused,
		results_go_into_arrays_of_any_strides_and_of_other_types,
		a_result_may_overwrite_what_was_reduced, what_makes_no_sense_is_refused,
		sizes_need_no_new_kernels, reducing_without_memory_leaves_nothing,
		a_result_for_the_host_needs_memory_or_leaves_nothing);
	return suite;
}
