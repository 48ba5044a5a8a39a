/* SPDX-License-Identifier: MIT */
/* src/lib/array/array.c: arrays that grow and shrink in place. */
#include "base/common.h"

#include "base/alloc.h"
#include "support/device_test.h"

#include <kudzu/array.h>

static kz_array *create_growable(kz_dtype dtype, kz_shape shape, int64_t capacity)
{
	kz_array *array = NULL;
	ok(kz_array_create_growable(&array, dev, dtype, shape, capacity, &err));
	return array;
}

/* A log of rows: each round appends some, and all of them are there, at the same address. */
DEVICE_TEST(rows_are_appended_in_place)
{
	static int32_t host[3 << 18], back[3 << 18];
	kz_array *log = create_growable(KZ_I32, KZ_SHAPE(0, 3), 1 << 18), *rows = NULL;
	uint64_t address = 0;
	int64_t count = 0;
	for (int32_t i = 0; i < (int32_t)countof(host); i++) {
		host[i] = 7 * i;
	}
	for (int64_t some = 1; count < 1 << 18; some = 3 * some) {
		int64_t next = count + some < 1 << 18 ? count + some : 1 << 18;
		ok(kz_array_resize(log, next, &err));
		ck_assert_int_eq(kz_array_count(log), 3 * next);
		ck_assert_int_eq(kz_array_shape(log).dims[0], next);
		ck_assert_int_eq(kz_array_strides(log)[0], 12);
		ck_assert_int_eq(kz_array_is_contiguous(log), 1);
		address = address ? address : kz_array_address(log);
		ck_assert_uint_eq(kz_array_address(log), address);
		ok(kz_array_slice(&rows, log, KZ_AT(KZ_SLICE(count, next)), &err));
		ok(kz_array_set(rows, host + 3 * count, 12 * (next - count), &err));
		kz_array_release(rows);
		count = next;
		ok(kz_array_get(log, back, 12 * count, &err));
		ck_assert_mem_eq(back, host, (size_t)(12 * count));
	}
	ok(kz_array_resize(log, 2, &err));
	ok(kz_array_get(log, back, 24, &err));
	ck_assert_mem_eq(back, host, 24);
	ck_assert_int_le(memory_stats().reserved_size, 2 << 20);
	kz_array_release(log);
}

KERNEL_TEST(operations_take_the_new_elements)
{
	kz_array *a = create_growable(KZ_F64, KZ_SHAPE(10), 1000), *sum = NULL;
	double total = 0;
	ok(kz_array_fill(a, KZ_ARG(1.0), &err));
	ok(kz_array_resize(a, 1000, &err));
	ok(kz_array_fill(a, KZ_ARG(1.0), &err));
	ok(kz_sum(&sum, a, KZ_ALL_AXES, &err));
	ok(kz_array_get(sum, &total, sizeof(total), &err));
	ck_assert_double_eq(total, 1000);
	release_arrays(a, sum);
}

DEVICE_TEST(nothing_shrinks_under_another_reference)
{
	kz_array *a = create_growable(KZ_F32, KZ_SHAPE(8, 2), 100), *turned = NULL;
	ok(kz_array_transpose(&turned, a, KZ_AXES(), &err));
	fails(kz_array_resize(a, 7, &err), KZ_STATE, "kz_array_resize: cannot give memory back "
		"that 1");
	ck_assert_int_eq(kz_array_shape(a).dims[0], 8);
	ok(kz_array_resize(a, 9, &err));
	ck_assert_int_eq(kz_array_shape(turned).dims[1], 8);
	fails(kz_array_resize(turned, 1, &err), KZ_INVALID, "view");
	kz_array_release(turned);
	fails(kz_array_resize(kz_array_retain(a), 7, &err), KZ_STATE, "1 other refers");
	kz_array_release(a);
	ok(kz_array_resize(a, 0, &err));
	ck_assert_uint_eq(kz_array_address(a), 0);
	ok(kz_array_resize(a, 100, &err));
	kz_array_release(a);
}

DEVICE_TEST(an_array_over_all_of_a_growable_buffer_grows_it)
{
	kz_buffer *buffer = NULL;
	kz_array *a = NULL, *part = NULL;
	ok(kz_buffer_create_growable(&buffer, dev, 40, 4000, &err));
	ok(kz_array_wrap(&a, buffer, KZ_F32, KZ_SHAPE(10), NULL, 0, &err));
	ok(kz_array_wrap(&part, buffer, KZ_F32, KZ_SHAPE(9), NULL, 4, &err));
	fails(kz_array_resize(part, 10, &err), KZ_INVALID, "all of its buffer");
	kz_array_release(part);
	ok(kz_array_resize(a, 1000, &err));
	ck_assert_int_eq(kz_buffer_size(buffer), 4000);
	fails(kz_array_resize(a, 1001, &err), KZ_RANGE, "at most 4000 bytes");
	fails(kz_array_resize(a, 1, &err), KZ_STATE, "1 other refers");
	kz_buffer_release(buffer);
	ok(kz_array_resize(a, 1, &err));
	kz_array_release(a);
}

DEVICE_TEST(wrong_arguments_are_told)
{
	kz_array *a = (kz_array *)1, *plain = NULL;
	fails(kz_array_create_growable(&a, dev, KZ_F32, KZ_SHAPE(), 1, &err), KZ_INVALID,
		"shape ()");
	ck_assert_ptr_null(a);
	fails(kz_array_create_growable(&a, dev, KZ_F32, KZ_SHAPE(-1), 1, &err), KZ_INVALID, "-1");
	fails(kz_array_create_growable(&a, dev, KZ_F32, KZ_SHAPE(3), 2, &err), KZ_RANGE,
		"expected a capacity of at least 3, the first extent, got 2");
	fails(kz_array_create_growable(&a, dev, 0, KZ_SHAPE(3), 4, &err), KZ_INVALID,
		"not a dtype");
	fails(kz_array_create_growable(&a, dev, KZ_F64, KZ_SHAPE(3, 8), INT64_MAX / 64 + 1, &err),
		KZ_RANGE, "");
	fails(kz_array_create_growable(&a, NULL, KZ_F32, KZ_SHAPE(3), 4, &err), KZ_INVALID,
		"a device");
	fails(kz_array_create_growable(NULL, dev, KZ_F32, KZ_SHAPE(3), 4, &err), KZ_INVALID, "out");
	fails(kz_array_resize(NULL, 1, &err), KZ_INVALID, "an array");
	ok(kz_array_create(&plain, dev, KZ_F32, KZ_SHAPE(4), &err));
	fails(kz_array_resize(plain, 5, &err), KZ_INVALID, "kz_array_create_growable");
	kz_array_release(plain);
	ok(kz_array_create(&plain, dev, KZ_F32, KZ_SHAPE(), &err));
	fails(kz_array_resize(plain, 5, &err), KZ_INVALID, "axis that can grow");
	kz_array_release(plain);
	a = create_growable(KZ_F32, KZ_SHAPE(3, 2), 4);
	fails(kz_array_resize(a, 5, &err), KZ_RANGE, "at most 32 bytes, the capacity, got 40");
	fails(kz_array_resize(a, -1, &err), KZ_INVALID, "-1");
	fails(kz_array_resize(a, INT64_MAX, &err), KZ_RANGE, "");
	ck_assert_int_eq(kz_array_shape(a).dims[0], 3);
	kz_array_release(a);
}

DEVICE_TEST(rows_of_nothing_need_no_memory)
{
	kz_array *a = create_growable(KZ_F32, KZ_SHAPE(3, 0), 4);
	ok(kz_array_resize(a, 4, &err));
	ck_assert_int_eq(kz_array_shape(a).dims[0], 4);
	ok(kz_array_resize(a, 0, &err));
	ck_assert_int_eq(memory_stats().reserved_size, 0);
	kz_array_release(a);
}

DEVICE_TEST(each_failing_allocation_leaves_nothing)
{
	bool done = false;
	for (long n = 0; !done; n++) {
		kz_array *a = NULL;
		mem_fail_after(n);
		kz_status st = kz_array_create_growable(&a, dev, KZ_F32, KZ_SHAPE(5), 1 << 20,
			&err);
		st = st ? st : kz_array_resize(a, 1 << 20, &err);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		done = st == KZ_OK;
		ck_assert_int_eq(done, !failed);
		ck_assert_int_eq(kz_array_count(a), done ? 1 << 20 : a ? 5 : 0);
		kz_error_clear(&err);
		kz_array_release(a);
		ck_assert_int_eq(memory_stats().live_count, 0);
	}
}

SUITE(resize)
{
	Suite *s = suite_create("resize");
	TCase *tc = suite_add_case(s, "growing");
	tcase_add_tests(tc, support_device_count(), operations_take_the_new_elements);
	tcase_add_tests(tc, support_device_count() + 1, rows_are_appended_in_place,
		nothing_shrinks_under_another_reference,
		an_array_over_all_of_a_growable_buffer_grows_it, rows_of_nothing_need_no_memory);
	tc = suite_add_case(s, "failures");
	tcase_add_tests(tc, support_device_count() + 1, wrong_arguments_are_told,
		each_failing_allocation_leaves_nothing);
	return s;
}
