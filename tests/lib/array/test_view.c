/* SPDX-License-Identifier: MIT */
/* Views, on every device found and the stub: their axes, their types, refusals, lifetimes.
 * What numpy answers was asked of numpy; test_view_random.c has everything else. */
#include "base/common.h"

#include "base/alloc.h"
#include "views.h"
#include "support/suite.h"

/* Numbers from a caller that would overflow, on axes where they do not matter. */
DEVICE_TEST(strides_of_axes_without_elements_may_be_anything)
{
	static const int64_t strides[] = {INT64_MIN, INT64_MAX, 4};
	kz_array *a = support_counted(dev, S(4)), *wild, *none, *view;
	ok(kz_array_view(&wild, a, S(1, 1, 4), strides, 0, &err));
	ok(kz_array_view(&none, a, S(2, 3, 0), strides, 0, &err));
	kz_array *const arrays[] = {wild, none};
	for (int i = 0; i < 2; i++) {
		ok(kz_array_flip(&view, arrays[i], KZ_ALL_AXES, &err));
		kz_array_release(view);
		ok(kz_array_diagonal(&view, arrays[i], 0, 0, 1, &err));
		kz_array_release(view);
		ok(kz_array_slice(&view, arrays[i], KZ_AT(KZ_SLICE(KZ_OMIT, KZ_OMIT, -7), 0),
			&err));
		kz_array_release(view);
		ok(kz_array_reshape_view(&view, arrays[i], S(-1), &err));
		kz_array_release(view);
	}
	ok(kz_array_reshape_view(&view, wild, S(2, 1, 2), &err));
	holds(view, S(2, 1, 2), 0, 1, 2, 3);
	release_arrays(none, wild, a);
}

/* A view of no elements lies inside the buffer, whatever its array's strides are: another view of
 * it is legal. */
DEVICE_TEST(a_view_of_nothing_has_views)
{
	kz_array *a = support_counted(dev, S(0, 5)), *none, *view;
	ok(kz_array_slice(&none, a, KZ_AT(KZ_ALL, 4), &err));
	ok(kz_array_view(&view, none, S(0, 7), NULL, 0, &err));
	ck_assert_uint_eq(kz_array_address(view), 0);
	release_arrays(view, none, a);
}

DEVICE_TEST(an_array_broadcasts_without_a_copy)
{
	const int64_t huge = (int64_t)1 << 31;
	kz_array *a = support_counted(dev, S(3, 1)), *one = support_counted(dev, S()), *view;
	ok(kz_array_broadcast_to(&view, a, S(2, 3, 2), &err));
	ck_assert_ptr_eq(kz_array_buffer(view), kz_array_buffer(a));
	holds(view, S(2, 3, 2), 0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2);
	ok(kz_array_broadcast_to(&view, a, S(3, 0), &err));
	holds(view, S(3, 0), 0);
	ok(kz_array_broadcast_to(&view, one, S(2), &err));
	holds(view, S(2), 0, 0);
	fails(kz_array_broadcast_to(&view, a, S(2, 2), &err), KZ_INVALID,
		"shape (3, 1) does not broadcast to (2, 2)");
	fails(kz_array_broadcast_to(&view, a, S(3), &err), KZ_INVALID,
		"shape (3, 1) does not broadcast to (3,)");
	fails(kz_array_broadcast_to(&view, one, S(huge, huge), &err), KZ_RANGE,
		"the size of an array of shape (2147483648, 2147483648) and dtype int32 overflows");
	fails(kz_array_broadcast_to(&view, one, S(-1), &err), KZ_INVALID, "extent 0");
	release_arrays(a, one);
}

/* Axes */

DEVICE_TEST(axes_change_their_order)
{
	kz_array *a = support_counted(dev, S(2, 3)), *b = support_counted(dev, S(1, 2, 3)), *view;
	ok(kz_array_transpose(&view, a, KZ_AXES(), &err));
	holds(view, S(3, 2), 0, 3, 1, 4, 2, 5);
	ok(kz_array_transpose(&view, b, KZ_AXES(1, 2, 0), &err));
	holds(view, S(2, 3, 1), 0, 1, 2, 3, 4, 5);
	ok(kz_array_swapaxes(&view, b, 1, -1, &err));
	holds(view, S(1, 3, 2), 0, 3, 1, 4, 2, 5);
	ok(kz_array_moveaxis(&view, b, KZ_AXES(-1), KZ_AXES(0), &err));
	holds(view, S(3, 1, 2), 0, 3, 1, 4, 2, 5);
	ok(kz_array_moveaxis(&view, b, KZ_AXES(0, 1), KZ_AXES(-1, -2), &err));
	holds(view, S(3, 2, 1), 0, 3, 1, 4, 2, 5);
	ok(kz_array_flip(&view, a, KZ_ALL_AXES, &err));
	holds(view, S(2, 3), 5, 4, 3, 2, 1, 0);
	ok(kz_array_flip(&view, a, KZ_AXES(-2), &err));
	holds(view, S(2, 3), 3, 4, 5, 0, 1, 2);
	ok(kz_array_flip(&view, a, KZ_AXES(), &err));
	holds(view, S(2, 3), 0, 1, 2, 3, 4, 5);
	release_arrays(a, b);
}

DEVICE_TEST(axes_of_one_element_come_and_go)
{
	kz_array *a = support_counted(dev, S(1, 3, 1)), *view, *back;
	ok(kz_array_squeeze(&view, a, KZ_ALL_AXES, &err));
	holds(view, S(3), 0, 1, 2);
	ok(kz_array_squeeze(&view, a, KZ_AXES(-1), &err));
	ok(kz_array_expand(&back, view, KZ_AXES(-1, 0), &err));
	holds(view, S(1, 3), 0, 1, 2);
	holds(back, S(1, 1, 3, 1), 0, 1, 2);
	ok(kz_array_squeeze(&view, a, KZ_AXES(), &err));
	holds(view, S(1, 3, 1), 0, 1, 2);
	kz_array_release(a);
}

DEVICE_TEST(a_diagonal_is_where_two_indexes_meet)
{
	kz_array *a = support_counted(dev, S(3, 4)), *b = support_counted(dev, S(2, 2, 2)), *view;
	ok(kz_array_diagonal(&view, a, 0, 0, 1, &err));
	holds(view, S(3), 0, 5, 10);
	ok(kz_array_diagonal(&view, a, 2, 0, 1, &err));
	holds(view, S(2), 2, 7);
	ok(kz_array_diagonal(&view, a, -2, 0, 1, &err));
	holds(view, S(1), 8);
	ok(kz_array_diagonal(&view, a, 2, 1, 0, &err));
	holds(view, S(1), 8);
	ok(kz_array_diagonal(&view, b, 0, 0, -1, &err));
	holds(view, S(2, 2), 0, 5, 2, 7);
	const int64_t beyond[] = {4, -3, INT64_MAX, INT64_MIN};
	for (size_t i = 0; i < countof(beyond); i++) {
		ok(kz_array_diagonal(&view, a, beyond[i], 0, 1, &err));
		holds(view, S(0), 0);
	}
	release_arrays(a, b);
}

DEVICE_TEST(an_axis_that_is_not_there_is_refused)
{
	kz_array *a = support_counted(dev, S(2, 3)), *line = support_counted(dev, S(2)), *view = a;
	fails(kz_array_transpose(&view, a, KZ_AXES(0, 2), &err), KZ_RANGE,
		"axis 2 is out of range for shape (2, 3)");
	ck_assert_ptr_null(view);
	fails(kz_array_transpose(&view, a, KZ_AXES(1, -1), &err), KZ_INVALID,
		"axis 1 of shape (2, 3) is named twice");
	fails(kz_array_transpose(&view, a, KZ_AXES(1), &err), KZ_INVALID,
		"expected 2 axes for shape (2, 3), got 1");
	fails(kz_array_swapaxes(&view, a, 0, -3, &err), KZ_RANGE, "axis -3");
	fails(kz_array_moveaxis(&view, a, KZ_AXES(5), KZ_AXES(0), &err), KZ_RANGE, "axis 5");
	fails(kz_array_moveaxis(&view, a, KZ_AXES(0), KZ_AXES(0, 1), &err), KZ_INVALID,
		"cannot move 1 axes to 2 positions");
	fails(kz_array_flip(&view, a, KZ_AXES(2), &err), KZ_RANGE, "axis 2");
	fails(kz_array_squeeze(&view, a, KZ_AXES(2), &err), KZ_RANGE, "axis 2");
	fails(kz_array_squeeze(&view, a, KZ_AXES(1), &err), KZ_INVALID,
		"cannot squeeze axis 1 of shape (2, 3): its extent is 3");
	fails(kz_array_expand(&view, a, KZ_AXES(3), &err), KZ_RANGE,
		"axis 3 is out of range for shape (2, 3, 1)");
	fails(kz_array_expand(&view, a, KZ_ALL_AXES, &err), KZ_INVALID,
		"cannot add -1 axes to shape (2, 3), at most 14");
	fails(kz_array_expand(&view, a, (kz_axes){15, {0}}, &err), KZ_INVALID, "cannot add 15");
	fails(kz_array_diagonal(&view, a, 0, 1, -1, &err), KZ_INVALID, "got axis 1 twice");
	fails(kz_array_diagonal(&view, line, 0, 0, 1, &err), KZ_RANGE, "axis 1");
	release_arrays(a, line);
}

/* Other elements */

DEVICE_TEST(bytes_are_seen_as_other_types)
{
	kz_array *a = support_counted(dev, S(2, 4)), *b, *view;
	uint8_t bytes[32] = {0};
	ok(kz_array_view_as(&b, a, KZ_U8, &err));
	ck_assert_int_eq(kz_array_shape(b).dims[1], 16);
	ok(kz_array_get(b, bytes, sizeof(bytes), &err));
	ck_assert(bytes[4] == 1 && bytes[28] == 7);
	ok(kz_array_view_as(&view, b, KZ_I32, &err));
	holds(view, S(2, 4), 0, 1, 2, 3, 4, 5, 6, 7);
	ok(kz_array_view_as(&view, a, KZ_C128, &err));
	ck_assert_int_eq(kz_array_shape(view).dims[1], 1);
	release_arrays(view, b);
	ok(kz_array_slice(&b, a, KZ_AT(KZ_ALL, KZ_SLICE(0, KZ_OMIT, 2)), &err));
	ok(kz_array_view_as(&view, b, KZ_F32, &err));
	ck_assert_uint_eq(kz_array_dtype(view), KZ_F32);
	kz_array_release(view);
	fails(kz_array_view_as(&view, b, KZ_F64, &err), KZ_INVALID,
		"expected a last axis without gaps, stride 4 for int32, got 8");
	kz_array_release(b);
	ok(kz_array_slice(&b, a, KZ_AT(KZ_ALL, KZ_SLICE(0, 1, 2)), &err));
	ok(kz_array_view_as(&view, b, KZ_U16, &err)); /* the stride of one element is no gap */
	ck_assert_int_eq(kz_array_shape(view).dims[1], 2);
	release_arrays(view, b, a);
}

DEVICE_TEST(a_type_that_does_not_fit_is_refused)
{
	kz_dtype odd;
	kz_array *a = support_counted(dev, S(2, 3)), *one = support_counted(dev, S()), *part, *view;
	ok(kz_dtype_register(&odd, "view_odd", 3, &err));
	fails(kz_array_view_as(&view, a, KZ_F64, &err), KZ_INVALID,
		"12 bytes of int32 are not a multiple of 8");
	fails(kz_array_view_as(&view, one, KZ_I16, &err), KZ_INVALID,
		"cannot view a single int32 of 4 bytes as an element of 2");
	fails(kz_array_view_as(&view, one, odd, &err), KZ_INVALID, "as an element of 3");
	fails(kz_array_view_as(&view, a, odd, &err), KZ_INVALID,
		"4 bytes of int32 are not a multiple of 3");
	fails(kz_array_view_as(&view, a, 0, &err), KZ_INVALID, "0 is not a dtype");
	ok(kz_array_slice(&part, a, KZ_AT(0, KZ_SLICE(1, 3)), &err));
	fails(kz_array_view_as(&view, part, KZ_F64, &err), KZ_INVALID,
		"expected elements at multiples of 8 bytes for a view as float64");
	kz_array_release(part);
	ok(kz_array_view_as(&part, one, KZ_F32, &err));
	release_arrays(part, one, a);
}

DEVICE_TEST(complex_numbers_have_halves)
{
	static const double numbers[] = {1, -2, 3, -4};
	static const double more[] = {7, 8};
	double host[4];
	kz_array *a, *real, *imag, *zeros;
	ok(kz_array_from(&a, dev, KZ_C128, S(2), numbers, sizeof(numbers), &err));
	ok(kz_array_real(&real, a, &err));
	ok(kz_array_imag(&imag, a, &err));
	ck_assert_uint_eq(kz_array_dtype(imag), KZ_F64);
	ok(kz_array_get(imag, host, 16, &err));
	ck_assert(host[0] == -2 && host[1] == -4);
	ok(kz_array_set(real, more, sizeof(more), &err));
	ok(kz_array_get(a, host, sizeof(host), &err));
	ck_assert(host[0] == 7 && host[1] == -2 && host[2] == 8 && host[3] == -4);
	release_arrays(a, imag);
	ok(kz_array_real(&a, real, &err));
	ck_assert_uint_eq(kz_array_address(a), kz_array_address(real));
	ok(kz_array_imag(&zeros, real, &err));
	ok(kz_array_get(zeros, host, 16, &err));
	ck_assert(host[0] == 0 && host[1] == 0);
	release_arrays(a, real, zeros);
}

/* Lifetimes */

DEVICE_TEST(the_last_view_keeps_the_memory_alive)
{
	kz_memory_stats stats;
	kz_array *a = support_counted(dev, S(4, 3)), *b, *c, *parts[2];
	ok(kz_array_flip(&b, a, KZ_AXES(0), &err));
	kz_array_release(a);
	ok(kz_array_slice(&c, b, KZ_AT(KZ_ALL, 1), &err));
	kz_array_release(b);
	ok(kz_array_split(parts, 2, c, 0, &err));
	release_arrays(c, parts[0]);
	kz_device_memory_stats(dev, &stats);
	ck_assert_int_eq(stats.live_count, 1);
	holds(parts[1], S(2), 4, 1);
}

DEVICE_TEST(a_view_without_memory_leaves_nothing)
{
	kz_array *a = support_counted(dev, S(2, 3));
	kz_status st = KZ_NO_MEMORY;
	long n;
	for (n = 0; st == KZ_NO_MEMORY && n < 40; n++) {
		kz_array *v[9] = {NULL};
		mem_fail_after(n);
		if (!(st = kz_array_slice(&v[0], a, KZ_AT(0), &err))
		    && !(st = kz_array_reshape_view(&v[1], a, S(6), &err))
		    && !(st = kz_array_split(&v[2], 3, a, 1, &err))
		    && !(st = kz_array_view_as(&v[5], a, KZ_U8, &err))
		    && !(st = kz_array_imag(&v[6], a, &err))
		    && !(st = kz_array_diagonal(&v[7], a, 0, 0, 1, &err))) {
			st = kz_array_broadcast_to(&v[8], a, S(4, 2, 3), &err);
		}
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		ck_assert(st == KZ_OK || v[8] == NULL);
		kz_error_clear(&err);
		for (size_t i = 0; i < countof(v); i++) {
			kz_array_release(v[i]);
		}
	}
	ck_assert_int_eq(st, KZ_OK);
	ck_assert_int_gt(n, 9);
	kz_array_release(a);
}

START_TEST(nothing_in_place_of_an_array_is_no_crash)
{
	kz_array *out;
	err = (kz_error)KZ_ERROR_INIT;
	const kz_status sts[] = {
		kz_array_view(&out, NULL, S(1), NULL, 0, NULL),
		kz_array_view_as(&out, NULL, KZ_F32, NULL),
		kz_array_real(&out, NULL, NULL),
		kz_array_imag(&out, NULL, NULL),
		kz_array_broadcast_to(&out, NULL, S(1), NULL),
		kz_array_reshape_view(&out, NULL, S(1), NULL),
		kz_array_reshape(&out, NULL, S(1), NULL),
		kz_array_split_at(&out, 1, NULL, 0, NULL, 0, NULL),
		kz_array_transpose(&out, NULL, KZ_AXES(), NULL),
		kz_array_swapaxes(&out, NULL, 0, 0, NULL),
		kz_array_moveaxis(&out, NULL, KZ_AXES(), KZ_AXES(), NULL),
		kz_array_flip(&out, NULL, KZ_AXES(), NULL),
		kz_array_squeeze(&out, NULL, KZ_AXES(), NULL),
		kz_array_expand(&out, NULL, KZ_AXES(), NULL),
		kz_array_diagonal(&out, NULL, 0, 0, 1, NULL),
		kz_array_flip(NULL, NULL, KZ_AXES(), NULL),
	};
	for (size_t i = 0; i < countof(sts); i++) {
		ck_assert_int_eq(sts[i], KZ_INVALID);
	}
}
END_TEST

SUITE(view)
{
	Suite *s = suite_create("view");
	TCase *tc = suite_add_case(s, "each device");
	tcase_add_tests(tc, support_device_count() + 1,
		strides_of_axes_without_elements_may_be_anything, a_view_of_nothing_has_views,
		an_array_broadcasts_without_a_copy, axes_change_their_order,
		axes_of_one_element_come_and_go, a_diagonal_is_where_two_indexes_meet,
		an_axis_that_is_not_there_is_refused, bytes_are_seen_as_other_types,
		a_type_that_does_not_fit_is_refused, complex_numbers_have_halves,
		the_last_view_keeps_the_memory_alive, a_view_without_memory_leaves_nothing);
	tcase_add_test(tc, nothing_in_place_of_an_array_is_no_crash);
	return s;
}
