/* SPDX-License-Identifier: MIT */
/* Arrays on every device found and the stub: layout, views, transfer, and the text of print. */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "base/alloc.h"
#include "support/device_test.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Creating */

DEVICE_TEST(an_array_knows_its_layout)
{
	kz_array *array, *scalar, *like;
	ok(kz_array_create(&array, dev, KZ_F64, KZ_SHAPE(2, 3, 4), &err));
	ck_assert_uint_eq(kz_array_dtype(array), KZ_F64);
	ck_assert_int_eq(kz_array_ndim(array), 3);
	ck_assert_int_eq(kz_array_shape(array).dims[1], 3);
	ck_assert_int_eq(kz_array_strides(array)[0], 96);
	ck_assert_int_eq(kz_array_strides(array)[1], 32);
	ck_assert_int_eq(kz_array_strides(array)[2], 8);
	ck_assert_int_eq(kz_array_count(array), 24);
	ck_assert_int_eq(kz_array_size(array), 192);
	ck_assert_int_eq(kz_array_is_contiguous(array), 1);
	ck_assert_ptr_eq(kz_array_device(array), dev);
	ck_assert_int_eq(kz_buffer_size(kz_array_buffer(array)), 192);
	ck_assert_uint_eq(kz_array_address(array), kz_buffer_address(kz_array_buffer(array)));
	ok(kz_array_like(&like, array, &err));
	ck_assert_int_eq(kz_array_count(like), 24);
	ck_assert_uint_ne(kz_array_address(like), kz_array_address(array));
	ok(kz_array_create(&scalar, dev, KZ_I8, KZ_SHAPE(), &err));
	ck_assert_int_eq(kz_array_count(scalar), 1);
	release_arrays(array, scalar, like, NULL);
}

DEVICE_TEST(an_empty_array_is_legal_everywhere)
{
	kz_array *array, *view;
	ok(kz_array_full(&array, dev, KZ_F32, KZ_SHAPE(3, 0, 5), "abcd", 4, &err));
	ck_assert_int_eq(kz_array_size(array), 0);
	ck_assert_int_eq(kz_array_strides(array)[0], 20);
	ck_assert_uint_eq(kz_array_address(array), 0);
	ok(kz_array_get(array, NULL, 0, &err));
	ok(kz_array_set(array, NULL, 0, &err));
	ok(kz_array_view(&view, array, KZ_SHAPE(0), NULL, 0, &err));
	release_arrays(array, view);
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(0), NULL, 0, &err));
	kz_array_release(array);
}

DEVICE_TEST(a_bad_shape_or_type_is_refused)
{
	static const int64_t seventeen[17] = {1};
	const int64_t huge = (int64_t)1 << 31;
	kz_array *array = (kz_array *)&err;
	fails(kz_array_create(&array, dev, 0, KZ_SHAPE(4), &err), KZ_INVALID, "0 is not a dtype");
	ck_assert_ptr_null(array);
	fails(kz_array_create(&array, dev, 99999, KZ_SHAPE(4), &err), KZ_INVALID,
		"99999 is not a dtype");
	fails(kz_array_create(&array, dev, KZ_F32, KZ_SHAPE(2, -1), &err), KZ_INVALID,
		"extent 1 of the shape is -1");
	fails(kz_array_create(&array, dev, KZ_F32, kz_shape_from(seventeen, 17), &err), KZ_INVALID,
		"expected a shape of 0 to 16 extents, got 17");
	fails(kz_array_create(&array, dev, KZ_F32, kz_shape_from(seventeen, -1), &err), KZ_INVALID,
		"got -1");
	fails(kz_array_create(&array, dev, KZ_F32, kz_shape_from(NULL, 2), &err), KZ_INVALID,
		"expected a shape of 0 to 16 extents, got -1");
	fails(kz_array_zeros(&array, dev, KZ_F32, KZ_SHAPE(huge, huge), &err), KZ_RANGE,
		"the size of an array of shape (2147483648, 2147483648) and dtype float32 "
		"overflows");
	fails(kz_array_create(&array, dev, KZ_F64, KZ_SHAPE(0, huge, huge), &err), KZ_RANGE,
		"overflows");
	fails(kz_array_create(&array, NULL, KZ_F32, KZ_SHAPE(4), &err), KZ_INVALID,
		"expected a device, got NULL");
	fails(kz_array_like(&array, NULL, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_array_create(&array, dev, KZ_F64, KZ_SHAPE(huge, huge / 16), &err),
		KZ_DEVICE_MEMORY, "for an array of 288230376151711744 float64");
}

START_TEST(a_shape_from_a_list_is_the_macros)
{
	static const int64_t dims[] = {3, 4};
	kz_shape shape = kz_shape_from(dims, 2);
	ck_assert_int_eq(shape.ndim, 2);
	ck_assert(shape.dims[0] == 3 && shape.dims[1] == 4 && shape.dims[2] == 0);
	ck_assert_int_eq(kz_shape_from(NULL, 0).ndim, 0);
}
END_TEST

DEVICE_TEST(a_value_fills_arrays_of_every_element_size)
{
	enum { N = 37, SIZES = 9 };
	static const int64_t sizes[SIZES] = {1, 2, 3, 4, 6, 8, 12, 16, 29};
	for (int k = 0; k < SIZES; k++) {
		char name[16], value[32], host[N * 32];
		kz_dtype dtype;
		kz_array *array;
		snprintf(name, sizeof(name), "s%d", (int)sizes[k]);
		for (int i = 0; i < 32; i++) {
			value[i] = (char)(i * 5 + k);
		}
		ok(kz_dtype_register(&dtype, name, sizes[k], &err));
		ok(kz_array_full(&array, dev, dtype, KZ_SHAPE(N), value, sizes[k], &err));
		ok(kz_array_get(array, host, N * sizes[k], &err));
		for (int i = 0; i < N; i++) {
			ck_assert_mem_eq(host + i * sizes[k], value, (size_t)sizes[k]);
		}
		kz_array_release(array);
	}
}

DEVICE_TEST(zeros_and_values_arrive)
{
	double host[6], half = 0.5;
	kz_array *array;
	ok(kz_array_zeros(&array, dev, KZ_F64, KZ_SHAPE(2, 3), &err));
	ok(kz_array_get(array, host, sizeof(host), &err));
	ck_assert(host[0] == 0 && host[5] == 0);
	kz_array_release(array);
	ok(kz_array_full(&array, dev, KZ_F64, KZ_SHAPE(2, 3), &half, sizeof(half), &err));
	ok(kz_array_get(array, host, sizeof(host), &err));
	ck_assert(host[0] == 0.5 && host[5] == 0.5);
	kz_array_release(array);
	fails(kz_array_full(&array, dev, KZ_F64, KZ_SHAPE(2), &half, 4, &err), KZ_INVALID,
		"expected a value of 8 bytes for float64, got 4");
	fails(kz_array_full(&array, dev, KZ_F64, KZ_SHAPE(2), NULL, 8, &err), KZ_INVALID,
		"got NULL");
	fails(kz_array_full(&array, dev, 0, KZ_SHAPE(2), &half, 8, &err), KZ_INVALID,
		"0 is not a dtype");
}

DEVICE_TEST(ones_are_ones_in_every_type)
{
	static const char *const want[] = {"True", "1", "1", "1", "1", "1", "1", "1", "1", "1.0",
		"1.0", "1.0", "1.0", "(1+0j)", "(1+0j)"};
	kz_dtype odd;
	kz_array *array;
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER));) {
		char line[32];
		ok(kz_array_ones(&array, dev, dtype, KZ_SHAPE(), &err));
		snprintf(line, sizeof(line), "%s\n", want[dtype - 1]);
		ck_assert_str_eq(support_printed(array), line);
		kz_array_release(array);
	}
	ok(kz_dtype_register(&odd, "odd", 3, &err));
	fails(kz_array_ones(&array, dev, odd, KZ_SHAPE(2), &err), KZ_INVALID,
		"expected a numeric dtype for ones, got odd");
	fails(kz_array_ones(&array, dev, 99, KZ_SHAPE(2), &err), KZ_INVALID, "99 is not a dtype");
}

DEVICE_TEST(an_array_like_another_has_its_shape_and_maybe_its_type)
{
	static const double seven = 7;
	kz_array *array;
	kz_array *like = support_counted(dev, KZ_SHAPE(2, 2));
	ok(kz_array_zeros_like(&array, like, 0, &err));
	ck_assert_uint_eq(kz_array_dtype(array), KZ_I32);
	ck_assert_str_eq(support_printed(array), "[[0 0]\n [0 0]]\n");
	kz_array_release(array);
	ok(kz_array_ones_like(&array, like, KZ_F32, &err));
	ck_assert_str_eq(support_printed(array), "[[1. 1.]\n [1. 1.]]\n");
	kz_array_release(array);
	ok(kz_array_full_like(&array, like, KZ_F64, &seven, sizeof(seven), &err));
	ck_assert_str_eq(support_printed(array), "[[7. 7.]\n [7. 7.]]\n");
	kz_array_release(array);
	fails(kz_array_full_like(&array, like, 0, &seven, sizeof(seven), &err), KZ_INVALID,
		"expected a value of 4 bytes for int32, got 8");
	fails(kz_array_zeros_like(&array, NULL, 0, &err), KZ_INVALID, "expected an array");
	kz_array_release(like);
}

DEVICE_TEST(an_array_over_a_buffer_shares_its_memory)
{
	static const int64_t back = -4;
	static const int32_t host[] = {1, 2, 3, 4};
	kz_buffer *buffer;
	kz_array *array;
	ok(kz_buffer_create(&buffer, dev, 16, &err));
	ok(kz_copy_htod(buffer, 0, host, 16, &err));
	ok(kz_array_wrap(&array, buffer, KZ_I32, KZ_SHAPE(3), NULL, 4, &err));
	ck_assert_str_eq(support_printed(array), "[2 3 4]\n");
	kz_array_release(array);
	fails(kz_array_wrap(&array, buffer, KZ_I32, KZ_SHAPE(4), NULL, 4, &err), KZ_RANGE,
		"expected an array within bytes 0 to 16 of the buffer, got shape (4,) from byte 4");
	fails(kz_array_wrap(&array, buffer, KZ_I32, KZ_SHAPE(2), &back, 0, &err), KZ_RANGE, "");
	fails(kz_array_wrap(&array, NULL, KZ_I32, KZ_SHAPE(2), NULL, 0, &err), KZ_INVALID,
		"expected a buffer, got NULL");
	ok(kz_array_wrap(&array, buffer, KZ_I32, KZ_SHAPE(4), &back, 12, &err));
	kz_buffer_release(buffer);
	ck_assert_str_eq(support_printed(array), "[4 3 2 1]\n");
	kz_array_release(array);
}

DEVICE_TEST(a_host_size_that_does_not_match_is_refused)
{
	float host[16] = {0};
	kz_array *array;
	fails(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(4, 4), host, 60, &err), KZ_RANGE,
		"expected 64 bytes of host memory for 16 float32, got 60");
	ck_assert_ptr_null(array);
	fails(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(4, 4), NULL, 64, &err), KZ_INVALID,
		"got NULL");
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(4, 4), host, 64, &err));
	fails(kz_array_get(array, host, 68, &err), KZ_RANGE, "expected 64 bytes");
	fails(kz_array_get(array, NULL, 64, &err), KZ_INVALID, "got NULL");
	fails(kz_array_set(array, host, -64, &err), KZ_RANGE, "got -64");
	fails(kz_array_get(NULL, host, 64, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_array_set(NULL, host, 64, &err), KZ_INVALID, "expected an array, got NULL");
	kz_array_release(array);
}

/* Views */

/* Views of the 4 x 6 array 0, 1, ... 23: what they hold, row-major. */
static const struct {
	kz_shape shape;
	int64_t strides[3];
	int64_t offset;
	int32_t want[12];
	bool contiguous;
} views[] = {
	{{1, {6}}, {4}, 24, {6, 7, 8, 9, 10, 11}, true},
	{{1, {4}}, {24}, 8, {2, 8, 14, 20}, false},
	{{2, {2, 3}}, {24, 4}, 28, {7, 8, 9, 13, 14, 15}, false},
	{{2, {3, 2}}, {4, 24}, 0, {0, 6, 1, 7, 2, 8}, false},
	{{1, {6}}, {-4}, 92, {23, 22, 21, 20, 19, 18}, false},
	{{2, {2, 2}}, {-24, -8}, 92, {23, 21, 17, 15}, false},
	{{2, {2, 3}}, {0, 4}, 4, {1, 2, 3, 1, 2, 3}, false},
	{{3, {2, 1, 3}}, {12, 99, 4}, 0, {0, 1, 2, 3, 4, 5}, true},
	{{3, {2, 2, 2}}, {48, 24, 4}, 0, {0, 1, 6, 7, 12, 13, 18, 19}, false},
	{{0, {0}}, {0}, 92, {23}, true},
};

DEVICE_TEST(a_view_holds_the_elements_at_its_strides)
{
	for (size_t k = 0; k < countof(views); k++) {
		kz_array *array = support_counted(dev, KZ_SHAPE(4, 6)), *view;
		int32_t host[12], changed[24];
		ok(kz_array_view(&view, array, views[k].shape, views[k].strides, views[k].offset,
			&err));
		ck_assert_int_eq(kz_array_is_contiguous(view), views[k].contiguous);
		int64_t count = kz_array_count(view);
		ok(kz_array_get(view, host, 4 * count, &err));
		ck_assert_mem_eq(host, views[k].want, (size_t)(4 * count));
		bool repeated = views[k].strides[0] == 0 && count > 1;
		for (int i = 0; i < count; i++) {
			host[i] += 100;
		}
		kz_status st = kz_array_set(view, host, 4 * count, &err);
		ck_assert_int_eq(st, repeated ? KZ_INVALID : KZ_OK);
		kz_error_clear(&err);
		ok(kz_array_get(array, changed, sizeof(changed), &err));
		int64_t sum = 23 * 24 / 2 + (repeated ? 0 : 100 * count);
		for (int i = 0; i < 24; i++) {
			sum -= changed[i];
		}
		for (int i = 0; i < count && !repeated; i++) {
			ck_assert_int_eq(changed[views[k].want[i]], views[k].want[i] + 100);
		}
		ck_assert_int_eq(sum, 0);
		release_arrays(array, view);
	}
}

DEVICE_TEST(a_view_beyond_the_buffer_is_refused)
{
	static const struct {
		int64_t count;
		int64_t stride;
		int64_t offset;
	} bad[] = {{25, 4, 0}, {1, 4, 93}, {1, 4, -1}, {2, -4, 0}, {5, 24, 0}, {24, 4, 1},
		{3, INT64_MAX, 0}, {3, INT64_MIN, 0}, {1, 4, INT64_MAX}, {1, 4, INT64_MIN}};
	kz_array *view = (kz_array *)&err, *row;
	kz_array *array = support_counted(dev, KZ_SHAPE(4, 6));
	for (size_t k = 0; k < countof(bad); k++) {
		kz_status st = kz_array_view(&view, array, KZ_SHAPE(bad[k].count), &bad[k].stride,
			bad[k].offset, &err);
		fails(st, KZ_RANGE,
			"expected a view within bytes 0 to 96 of the array, got shape ");
		ck_assert_ptr_null(view);
	}
	ok(kz_array_view(&row, array, KZ_SHAPE(6), NULL, 24, &err));
	fails(kz_array_view(&view, row, KZ_SHAPE(19), NULL, 0, &err), KZ_RANGE,
		"expected a view within bytes -24 to 72 of the array, got shape (19,) from byte 0");
	ok(kz_array_view(&view, row, KZ_SHAPE(6), NULL, -24, &err));
	kz_array_release(view);
	fails(kz_array_view(&view, NULL, KZ_SHAPE(6), NULL, 0, &err), KZ_INVALID,
		"expected an array");
	fails(kz_array_view(&view, row, KZ_SHAPE(-6), NULL, 0, &err), KZ_INVALID, "extent 0");
	fails(kz_array_view(&view, row, KZ_SHAPE(6), NULL, INT64_MAX, &err), KZ_RANGE, "overflows");
	/* The strides of these are beyond 64 bits. */
	fails(kz_array_view(&view, row, KZ_SHAPE(2, INT64_MAX / 2, 3), NULL, 0, &err), KZ_RANGE,
		"shape (2, ");
	fails(kz_array_view(&view, row, KZ_SHAPE(0, INT64_MAX / 2, 9), NULL, 0, &err), KZ_RANGE,
		"shape (0, ");
	release_arrays(row, array);
}

/* Views of 24 int32 at byte 48, and whether no two elements share a byte: by looking at each
 * pair. */
static const struct {
	kz_shape shape;
	int64_t strides[3];
	bool refused;
} overlaps[] = {
	{{2, {3, 3}}, {4, 4}, true},
	{{2, {3, 2}}, {4, 8}, true},
	{{2, {2, 3}}, {-8, 4}, true},
	{{2, {2, 2}}, {8, -4}, false},
	{{1, {4}}, {2}, true},
	{{1, {4}}, {0}, true},
	{{1, {1}}, {0}, false},
	{{3, {2, 1, 2}}, {8, 0, -4}, false},
	{{3, {2, 2, 2}}, {4, 16, 8}, false},
	{{3, {2, 2, 2}}, {4, 12, 8}, true},
	{{2, {2, 0}}, {0, 0}, false},
};

static bool shares_memory(const kz_shape *shape, const int64_t *strides)
{
	int users[96] = {0};
	int64_t count = 1, most = 0;
	for (int64_t i = 0; i < shape->ndim; i++) {
		count *= shape->dims[i];
	}
	for (int64_t k = 0; k < count; k++) {
		int64_t at = 48, rest = k;
		for (int64_t i = shape->ndim; i-- > 0; rest /= shape->dims[i]) {
			at += rest % shape->dims[i] * strides[i];
		}
		for (int64_t byte = at; byte < at + 4; byte++) {
			most = ++users[byte] > most ? users[byte] : most;
		}
	}
	return most > 1;
}

DEVICE_TEST(a_view_whose_elements_share_memory_can_be_read_but_not_set)
{
	kz_array *array = support_counted(dev, KZ_SHAPE(24)), *view;
	for (size_t k = 0; k < countof(overlaps); k++) {
		int32_t host[12];
		ck_assert_int_eq(shares_memory(&overlaps[k].shape, overlaps[k].strides),
			overlaps[k].refused);
		ok(kz_array_view(&view, array, overlaps[k].shape, overlaps[k].strides, 48, &err));
		ok(kz_array_get(view, host, kz_array_size(view), &err));
		kz_status st = kz_array_set(view, host, kz_array_size(view), &err);
		if (overlaps[k].refused) {
			fails(st, KZ_INVALID, "whose elements may share memory: stride ");
		} else {
			ok(st);
		}
		kz_array_release(view);
	}
	kz_array_release(array);
}

START_TEST(nothing_in_place_of_an_array_or_a_result_is_no_crash)
{
	const kz_shape shape = KZ_SHAPE(4);
	setup(_i);
	kz_array *array = support_counted(dev, shape);
	const kz_status sts[] = {
		kz_array_create(NULL, dev, KZ_F32, shape, &err),
		kz_array_zeros(NULL, dev, KZ_F32, shape, NULL),
		kz_array_full(NULL, dev, KZ_F32, shape, "abcd", 4, NULL),
		kz_array_like(NULL, array, NULL),
		kz_array_from(NULL, dev, KZ_F32, shape, &err, 16, NULL),
		kz_array_view(NULL, array, shape, NULL, 0, NULL),
	};
	for (size_t i = 0; i < countof(sts); i++) {
		ck_assert_int_eq(sts[i], KZ_INVALID);
	}
	fails(sts[0], KZ_INVALID, "kz_array_create: out is NULL");
	kz_array_release(array);
	teardown();
	ck_assert_uint_eq(kz_array_dtype(NULL), 0);
	ck_assert_int_eq(kz_array_shape(NULL).ndim, 0);
	ck_assert_int_eq(kz_array_ndim(NULL) + kz_array_is_contiguous(NULL), 0);
	ck_assert_int_eq(kz_array_count(NULL) + kz_array_size(NULL), 0);
	ck_assert_uint_eq(kz_array_address(NULL), 0);
	ck_assert_ptr_null(kz_array_strides(NULL));
	ck_assert_ptr_null(kz_array_device(NULL));
	ck_assert_ptr_null(kz_array_buffer(NULL));
}
END_TEST

DEVICE_TEST(a_view_keeps_the_memory_alive)
{
	int32_t host[6];
	kz_array *view;
	kz_array *array = support_counted(dev, KZ_SHAPE(4, 6));
	ok(kz_array_view(&view, array, KZ_SHAPE(6), NULL, 48, &err));
	kz_array_release(array);
	ok(kz_array_get(view, host, sizeof(host), &err));
	ck_assert_int_eq(host[0], 12);
	kz_array_release(view);
}

DEVICE_TEST(creating_without_memory_leaves_nothing)
{
	kz_array *array, *view;
	kz_status st = KZ_NO_MEMORY;
	long n;
	const int64_t stride = 8;
	int32_t host[2];
	for (n = 0; st == KZ_NO_MEMORY && n < 20; n++) {
		array = view = NULL;
		mem_fail_after(n);
		if (!(st = kz_array_zeros(&array, dev, KZ_I32, KZ_SHAPE(4), &err))
		    && !(st = kz_array_view(&view, array, KZ_SHAPE(2), &stride, 0, &err))) {
			st = kz_array_get(view, host, sizeof(host), &err);
		}
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		kz_error_clear(&err);
		release_arrays(view, array);
	}
	ck_assert_int_eq(st, KZ_OK);
	ck_assert_int_gt(n, 5);
}

/* Printing, as numpy 2.4 does */

static void prints(kz_dtype dtype, kz_shape shape, const void *host, int64_t size, const char *want)
{
	kz_array *array;
	ok(kz_array_from(&array, dev, dtype, shape, host, size, &err));
	ck_assert_str_eq(support_printed(array), want);
	kz_array_release(array);
}

static const struct {
	int64_t count;
	double values[8];
	const char *want;
} doubles[] = {
	{3, {1, 2, 3}, "[1. 2. 3.]\n"},
	{3, {1, 2.5, -3}, "[ 1.   2.5 -3. ]\n"},
	{4, {0.1, 0.25, 100, -0.0}, "[  0.1    0.25 100.    -0.  ]\n"},
	{4, {0.5, 0.25, 100, 0}, "[  0.5    0.25 100.     0.  ]\n"},
	{2, {1.0 / 3, 2.0 / 3}, "[0.33333333 0.66666667]\n"},
	{1, {1e-5}, "[1.e-05]\n"},
	{2, {1e-5, 1}, "[1.e-05 1.e+00]\n"},
	{2, {1e-100, 1.5e100}, "[1.0e-100 1.5e+100]\n"},
	{1, {1e8}, "[1.e+08]\n"},
	{1, {12345678}, "[12345678.]\n"},
	{2, {99999999.5, 1e6}, "[99999999.5  1000000. ]\n"},
	{3, {1, NAN, INFINITY}, "[ 1. nan inf]\n"},
	{3, {1.5, NAN, -INFINITY}, "[ 1.5  nan -inf]\n"},
	{2, {NAN, INFINITY}, "[nan inf]\n"},
	{2, {1e-5, NAN}, "[1.e-05    nan]\n"},
	{2, {1e300 * 10, 5e-324}, "[1.e+301 5.e-324]\n"},
	{2, {0.99999999999, 1}, "[1. 1.]\n"},
};

DEVICE_TEST(doubles_are_printed_short_and_aligned)
{
	for (size_t k = 0; k < countof(doubles); k++) {
		prints(KZ_F64, KZ_SHAPE(doubles[k].count), doubles[k].values, 8 * doubles[k].count,
			doubles[k].want);
	}
}

DEVICE_TEST(each_type_is_printed_in_its_own_way)
{
	static const float floats[] = {0.1f, 0.2f, 1.1f};
	static const float exact[] = {16777216.0f, 1.0f / 3};
	static const float large_floats[] = {123456, 999.5f, 750066112.0f, 123456792.0f};
	static const uint8_t bools[] = {1, 0, 2};
	static const int8_t bytes[] = {-128, 0, 127};
	static const uint64_t large[] = {UINT64_MAX, 1};
	static const int64_t small[] = {INT64_MIN, INT64_MAX};
	static const uint16_t halves[] = {0x3c00, 0x2e66, 0x7bff, 0xfc00, 0x0001};
	static const uint16_t bfloats[] = {0x3f80, 0x3dcd, 0xc040};
	static const float complexes[] = {1, 2, -3.5f, -0.25f};
	static const float nans[] = {1, NAN, INFINITY, -1};
	static const char text[] = "abcdef";
	kz_dtype odd;
	prints(KZ_F32, KZ_SHAPE(3), floats, 12, "[0.1 0.2 1.1]\n");
	prints(KZ_F32, KZ_SHAPE(2), exact, 8, "[1.6777216e+07 3.3333334e-01]\n");
	prints(KZ_F32, KZ_SHAPE(2), large_floats, 8, "[123456.     999.5]\n");
	prints(KZ_F32, KZ_SHAPE(2), large_floats + 2, 8, "[7.5006611e+08 1.2345679e+08]\n");
	prints(KZ_BOOL, KZ_SHAPE(3), bools, 3, "[ True False  True]\n");
	prints(KZ_I8, KZ_SHAPE(3), bytes, 3, "[-128    0  127]\n");
	prints(KZ_U64, KZ_SHAPE(2), large, 16, "[18446744073709551615                    1]\n");
	prints(KZ_I64, KZ_SHAPE(2), small, 16, "[-9223372036854775808  9223372036854775807]\n");
	prints(KZ_F16, KZ_SHAPE(2), halves, 4, "[1.  0.1]\n");
	prints(KZ_F16, KZ_SHAPE(5), halves, 10,
		"[1.00e+00 1.00e-01 6.55e+04     -inf 5.96e-08]\n");
	prints(KZ_BF16, KZ_SHAPE(3), bfloats, 6, "[ 1.   0.1 -3. ]\n");
	prints(KZ_C64, KZ_SHAPE(2), complexes, 16, "[ 1. +2.j   -3.5-0.25j]\n");
	prints(KZ_C64, KZ_SHAPE(2), nans, 16, "[ 1.+nanj inf -1.j]\n");
	ok(kz_dtype_register(&odd, "odd", 3, &err));
	prints(odd, KZ_SHAPE(2), text, 6, "[<3 bytes> <3 bytes>]\n");
}

DEVICE_TEST(one_element_alone_has_no_brackets)
{
	static const double numbers[] = {1.5, 2, 1e-5, 1e16, 123456789.123456789, -0.0, NAN};
	static const char *const want[] = {
		"1.5\n", "2.0\n", "1e-05\n", "1e+16\n", "123456789.12345679\n", "-0.0\n", "nan\n"};
	static const int32_t integer = -7;
	static const uint8_t yes = 1;
	static const double complex[] = {1, -2.5}, imaginary[] = {0, 2}, signs[] = {-0.0, 2};
	static const float million = 1e6f;
	static const uint16_t thousand = 0x63d0;
	for (size_t k = 0; k < countof(numbers); k++) {
		prints(KZ_F64, KZ_SHAPE(), &numbers[k], 8, want[k]);
	}
	prints(KZ_I32, KZ_SHAPE(), &integer, 4, "-7\n");
	prints(KZ_BOOL, KZ_SHAPE(), &yes, 1, "True\n");
	prints(KZ_C128, KZ_SHAPE(), complex, 16, "(1-2.5j)\n");
	prints(KZ_C128, KZ_SHAPE(), imaginary, 16, "2j\n");
	prints(KZ_C128, KZ_SHAPE(), signs, 16, "(-0+2j)\n");
	prints(KZ_F32, KZ_SHAPE(), &million, 4, "1e+06\n");
	prints(KZ_F16, KZ_SHAPE(), &thousand, 2, "1e+03\n");
}

/* Shapes of 0, 1, 2, ... */
static const struct {
	kz_shape shape;
	const char *want;
} shapes[] = {
	{{1, {0}}, "[]\n"},
	{{3, {2, 0, 3}}, "[]\n"},
	{{1, {1}}, "[0]\n"},
	{{2, {2, 3}}, "[[0 1 2]\n [3 4 5]]\n"},
	{{2, {3, 4}}, "[[ 0  1  2  3]\n [ 4  5  6  7]\n [ 8  9 10 11]]\n"},
	{{3, {2, 2, 2}}, "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]\n"},
	{{4, {2, 1, 1, 2}}, "[[[[0 1]]]\n\n\n [[[2 3]]]]\n"},
	{{1, {30}}, "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
		" 24 25 26 27 28 29]\n"},
	{{1, {1001}}, "[   0    1    2 ...  998  999 1000]\n"},
	{{2, {2, 600}}, "[[   0    1    2 ...  597  598  599]\n"
		" [ 600  601  602 ... 1197 1198 1199]]\n"},
	{{2, {5, 201}}, "[[   0    1    2 ...  198  199  200]\n"
		" [ 201  202  203 ...  399  400  401]\n [ 402  403  404 ...  600  601  602]\n"
		" [ 603  604  605 ...  801  802  803]\n [ 804  805  806 ... 1002 1003 1004]]\n"},
	{{2, {400, 3}}, "[[   0    1    2]\n [   3    4    5]\n [   6    7    8]\n ...\n"
		" [1191 1192 1193]\n [1194 1195 1196]\n [1197 1198 1199]]\n"},
	{{3, {8, 2, 80}}, "[[[   0    1    2 ...   77   78   79]\n"
		"  [  80   81   82 ...  157  158  159]]\n\n"
		" [[ 160  161  162 ...  237  238  239]\n"
		"  [ 240  241  242 ...  317  318  319]]\n\n"
		" [[ 320  321  322 ...  397  398  399]\n"
		"  [ 400  401  402 ...  477  478  479]]\n\n"
		" ...\n\n"
		" [[ 800  801  802 ...  877  878  879]\n"
		"  [ 880  881  882 ...  957  958  959]]\n\n"
		" [[ 960  961  962 ... 1037 1038 1039]\n"
		"  [1040 1041 1042 ... 1117 1118 1119]]\n\n"
		" [[1120 1121 1122 ... 1197 1198 1199]\n"
		"  [1200 1201 1202 ... 1277 1278 1279]]]\n"},
};

DEVICE_TEST(shapes_are_printed_in_brackets_and_shortened)
{
	for (size_t k = 0; k < countof(shapes); k++) {
		kz_array *array = support_counted(dev, shapes[k].shape);
		ck_assert_str_eq(support_printed(array), shapes[k].want);
		kz_array_release(array);
	}
}

DEVICE_TEST(a_strided_view_is_printed_as_its_elements)
{
	static const int64_t transposed[] = {4, 160}, reversed[] = {-4};
	kz_array *view;
	kz_array *array = support_counted(dev, KZ_SHAPE(30, 40));
	ok(kz_array_view(&view, array, KZ_SHAPE(40, 30), transposed, 0, &err));
	ck_assert_ptr_nonnull(strstr(support_printed(view),
		"[[   0   40   80 ... 1080 1120 1160]\n"));
	kz_array_release(view);
	ok(kz_array_view(&view, array, KZ_SHAPE(1200), reversed, 4 * 1199, &err));
	ck_assert_str_eq(support_printed(view), "[1199 1198 1197 ...    2    1    0]\n");
	release_arrays(view, array);
}

START_TEST(a_locale_with_a_comma_changes_nothing)
{
	static const double number = 1.5;
	if (setlocale(LC_ALL, "de_DE.UTF-8")) {
		ck_assert_str_eq(localeconv()->decimal_point, ",");
	} else {
		fprintf(stderr, "skipped: no locale de_DE.UTF-8\n");
	}
	setup(_i);
	prints(KZ_F64, KZ_SHAPE(1), &number, 8, "[1.5]\n");
	teardown();
}
END_TEST

DEVICE_TEST(an_array_prints_into_a_buffer_as_far_as_it_fits)
{
	char text[16] = "xxxxxxxxxxxxxxx";
	int64_t length = -1;
	kz_array *array = support_counted(dev, KZ_SHAPE(4));
	ok(kz_array_format(array, NULL, 0, &length, &err));
	ck_assert_int_eq(length, 10);
	ok(kz_array_format(array, text, 10, NULL, &err));
	ck_assert_str_eq(text, "[0 1 2 3]");
	ck_assert_int_eq(text[10], 'x');
	ok(kz_array_format(array, text, 11, NULL, &err));
	ck_assert_str_eq(text, support_printed(array));
	ok(kz_array_format(array, text, -1, &length, &err));
	fails(kz_array_format(NULL, text, 11, &length, &err), KZ_INVALID,
		"expected an array, got NULL");
	ck_assert_str_eq(text, "");
	ck_assert_int_eq(length, 0);
	mem_fail_after(1);
	ck_assert_int_eq(kz_array_format(array, text, 11, NULL, NULL), KZ_NO_MEMORY);
	mem_fail_after(-1);
	kz_array_release(array);
}

DEVICE_TEST(a_print_that_fails_says_why)
{
	kz_array *array = support_counted(dev, KZ_SHAPE(4));
	FILE *file = fopen("/dev/null", "r");
	fails(kz_array_print(array, file, &err), KZ_IO,
		"cannot print an array: Bad file descriptor");
	fclose(file);
	fails(kz_array_print(array, NULL, &err), KZ_INVALID, "expected a FILE, got NULL");
	fails(kz_array_print(NULL, stdout, &err), KZ_INVALID, "expected an array, got NULL");
	mem_fail_after(0);
	ck_assert_int_eq(kz_array_print(array, stdout, NULL), KZ_NO_MEMORY);
	mem_fail_after(1);
	ck_assert_int_eq(kz_array_print(array, stdout, NULL), KZ_NO_MEMORY);
	mem_fail_after(-1);
	kz_array_release(array);
}

SUITE(array)
{
	Suite *s = suite_create("array");
	TCase *tc = suite_add_case(s, "each device");
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, support_device_count() + 1, an_array_knows_its_layout,
		an_empty_array_is_legal_everywhere, a_bad_shape_or_type_is_refused,
		a_value_fills_arrays_of_every_element_size, zeros_and_values_arrive,
		ones_are_ones_in_every_type, an_array_like_another_has_its_shape_and_maybe_its_type,
		an_array_over_a_buffer_shares_its_memory,
		a_host_size_that_does_not_match_is_refused,
		a_view_holds_the_elements_at_its_strides, a_view_beyond_the_buffer_is_refused,
		a_view_whose_elements_share_memory_can_be_read_but_not_set,
		nothing_in_place_of_an_array_or_a_result_is_no_crash, a_view_keeps_the_memory_alive,
		creating_without_memory_leaves_nothing, doubles_are_printed_short_and_aligned,
		each_type_is_printed_in_its_own_way, one_element_alone_has_no_brackets,
		shapes_are_printed_in_brackets_and_shortened,
		a_strided_view_is_printed_as_its_elements, a_locale_with_a_comma_changes_nothing,
		an_array_prints_into_a_buffer_as_far_as_it_fits, a_print_that_fails_says_why);
	tcase_add_test(tc, a_shape_from_a_list_is_the_macros);
	return s;
}
