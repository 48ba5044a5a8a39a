/* SPDX-License-Identifier: MIT */
/* Other shapes, and the copies that some take, on every device found and the stub.
 * What numpy answers was asked of numpy. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/array/views.h"
#include "support/suite.h"

DEVICE_TEST(a_new_shape_keeps_the_order)
{
	kz_array *a = support_counted(dev, S(2, 6)), *none = support_counted(dev, S(2, 0, 3));
	kz_array *part, *view;
	ok(kz_array_reshape_view(&view, a, S(3, -1), &err));
	holds(view, S(3, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
	ok(kz_array_slice(&part, a, KZ_AT(KZ_ALL, KZ_SLICE(KZ_OMIT, KZ_OMIT, -2)), &err));
	ok(kz_array_reshape_view(&view, part, S(2, 1, 3, 1), &err));
	holds(view, S(2, 1, 3, 1), 5, 3, 1, 11, 9, 7);
	kz_array_release(part);
	ok(kz_array_flip(&part, a, KZ_ALL_AXES, &err));
	ok(kz_array_reshape_view(&view, part, S(-1), &err));
	holds(view, S(12), 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	kz_array_release(part);
	ok(kz_array_reshape_view(&view, none, S(-1, 5), &err));
	holds(view, S(0, 5), 0);
	ok(kz_array_slice(&part, a, KZ_AT(1, 2), &err));
	ok(kz_array_reshape_view(&view, part, S(1, -1, 1), &err));
	holds(view, S(1, 1, 1), 8);
	release_arrays(part, none, a);
}

DEVICE_TEST(a_shape_of_other_elements_is_refused)
{
	const int64_t huge = (int64_t)1 << 32;
	kz_array *a = support_counted(dev, S(2, 3)), *none = support_counted(dev, S(0, 3));
	kz_array *columns, *view;
	fails(kz_array_reshape_view(&view, a, S(4), &err), KZ_INVALID,
		"cannot reshape (2, 3) into (4,)");
	fails(kz_array_reshape_view(&view, a, S(4, -1), &err), KZ_INVALID,
		"cannot reshape (2, 3) into (4, -1)");
	fails(kz_array_reshape_view(&view, a, S(-1, -1), &err), KZ_INVALID, "extent 1");
	fails(kz_array_reshape_view(&view, a, S(-2), &err), KZ_INVALID, "extent 0");
	fails(kz_array_reshape_view(&view, none, S(0, -1), &err), KZ_INVALID,
		"cannot reshape (0, 3) into (0, -1)");
	fails(kz_array_reshape_view(&view, none, S(0, huge, huge), &err), KZ_RANGE, "overflows");
	fails(kz_array_reshape_view(&view, a, kz_shape_from(NULL, 3), &err), KZ_INVALID, "got -1");
	ok(kz_array_transpose(&columns, a, KZ_AXES(), &err));
	fails(kz_array_reshape_view(&view, columns, S(6), &err), KZ_INVALID,
		"an array of shape (3, 2) with these strides cannot be viewed as shape (6,)");
	release_arrays(columns, none, a);
}

/* Copies; those without a view only on devices that run kernels */

DEVICE_TEST(a_shape_with_a_view_is_one)
{
	kz_array *a = support_counted(dev, S(2, 3)), *one = support_counted(dev, S()), *view;
	ok(kz_array_reshape(&view, a, S(-1, 2), &err));
	ck_assert_ptr_eq(kz_array_buffer(view), kz_array_buffer(a));
	holds(view, S(3, 2), 0, 1, 2, 3, 4, 5);
	ok(kz_array_ravel(&view, one, &err));
	holds(view, S(1), 0);
	ok(kz_array_contiguous(&view, a, &err));
	ck_assert_ptr_eq(view, a);
	kz_array_release(view);
	fails(kz_array_ravel(&view, NULL, &err), KZ_INVALID, "expected an array");
	fails(kz_array_contiguous(&view, NULL, &err), KZ_INVALID, "expected an array");
	release_arrays(a, one);
}

DEVICE_TEST(a_copy_without_gaps_takes_no_kernel)
{
	kz_kernel_stats stats;
	kz_array *a = support_counted(dev, S(2, 3)), *b = support_counted(dev, S(2, 3)), *back;
	kz_array *columns, *copy;
	ok(kz_array_copy(&copy, a, &err));
	holds(copy, S(2, 3), 0, 1, 2, 3, 4, 5);
	ok(kz_array_flip(&back, a, KZ_ALL_AXES, &err));
	ok(kz_array_flip(&copy, b, KZ_ALL_AXES, &err));
	ok(kz_array_assign(copy, copy, &err));
	ok(kz_array_assign(copy, back, &err));
	holds(copy, S(2, 3), 5, 4, 3, 2, 1, 0);
	ok(kz_array_transpose(&columns, b, KZ_AXES(), &err));
	ok(kz_array_copy(&copy, columns, &err));
	holds(copy, S(3, 2), 0, 3, 1, 4, 2, 5);
	kz_device_kernel_stats(dev, &stats);
	ck_assert_int_eq(stats.compiled_count, 0);
	release_arrays(a, b, back, columns);
}

DEVICE_TEST(a_shape_without_a_view_is_a_copy)
{
	kz_array *a = support_counted(dev, S(2, 3)), *columns, *view, *same;
	ok(kz_array_transpose(&columns, a, KZ_AXES(), &err));
	ok(kz_array_reshape(&view, columns, S(2, -1), &err));
	ck_assert_ptr_ne(kz_array_buffer(view), kz_array_buffer(a));
	holds(view, S(2, 3), 0, 3, 1, 4, 2, 5);
	ok(kz_array_ravel(&view, columns, &err));
	holds(view, S(6), 0, 3, 1, 4, 2, 5);
	ok(kz_array_contiguous(&same, columns, &err));
	ck_assert_int_eq(kz_array_is_contiguous(same), 1);
	holds(same, S(3, 2), 0, 3, 1, 4, 2, 5);
	fails(kz_array_reshape(&view, columns, S(4, 2), &err), KZ_INVALID,
		"cannot reshape (3, 2) into (4, 2)");
	release_arrays(columns, a);
}

DEVICE_TEST(a_copy_without_memory_leaves_nothing)
{
	kz_array *a = support_counted(dev, S(2, 3)), *columns, *copy;
	ok(kz_array_transpose(&columns, a, KZ_AXES(), &err));
	kz_status st = KZ_NO_MEMORY;
	long n;
	for (n = -1; st == KZ_NO_MEMORY && n < 100; n++) {
		mem_fail_after(n); /* in the first round not at all: it compiles the kernel */
		st = kz_array_reshape(&copy, columns, S(6), &err);
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		ck_assert(st == KZ_OK || copy == NULL);
		kz_error_clear(&err);
		kz_array_release(copy);
		st = n < 0 ? KZ_NO_MEMORY : st;
	}
	ck_assert_int_eq(st, KZ_OK);
	ck_assert_int_gt(n, 2);
	release_arrays(columns, a);
}

SUITE(reshape)
{
	static const TTest *const *const kernel_tests[] = {
		&a_shape_without_a_view_is_a_copy, &a_copy_without_memory_leaves_nothing,
	};
	Suite *s = suite_create("reshape");
	TCase *tc = suite_add_case(s, "each device");
	tcase_add_tests(tc, support_device_count() + 1, a_new_shape_keeps_the_order,
		a_shape_of_other_elements_is_refused, a_shape_with_a_view_is_one,
		a_copy_without_gaps_takes_no_kernel);
	for (size_t i = 0; i < countof(kernel_tests); i++) {
		tcase_add_loop_test(tc, *kernel_tests[i], 0, support_device_count());
	}
	return s;
}
