/* SPDX-License-Identifier: MIT */
/* Slices and splits, on every device found and the stub; those that run kernels only on the former.
 * What numpy answers was asked of numpy. */
#include "base/common.h"

#include "views.h"
#include "support/suite.h"

/* Slices */

/* The slices of one axis of ten, as Python's list(range(10))[...]. */
static const struct {
	int64_t start, stop, step;
	int64_t count;
	int32_t first;
} ranges[] = {
	{KZ_OMIT, KZ_OMIT, 1, 10, 0},
	{KZ_OMIT, KZ_OMIT, KZ_OMIT, 10, 0},
	{2, 7, 1, 5, 2},
	{5, 2, 1, 0, 0},
	{5, 5, 1, 0, 0},
	{5, 2, -1, 3, 5},
	{2, 5, -1, 0, 0},
	{KZ_OMIT, KZ_OMIT, -1, 10, 9},
	{KZ_OMIT, KZ_OMIT, -3, 4, 9},
	{KZ_OMIT, KZ_OMIT, 4, 3, 0},
	{1, -1, 1, 8, 1},
	{-3, KZ_OMIT, 1, 3, 7},
	{KZ_OMIT, -3, 1, 7, 0},
	{KZ_OMIT, -3, -1, 2, 9},
	{-3, KZ_OMIT, -1, 8, 7},
	{-100, 100, 1, 10, 0},
	{100, -100, -1, 10, 9},
	{100, 200, 1, 0, 0},
	{-200, -100, 1, 0, 0},
	{9, -1, 1, 0, 0},
	{0, 10, INT64_MAX, 1, 0},
	{9, KZ_OMIT, -INT64_MAX, 1, 9},
	{INT64_MIN + 1, INT64_MAX, 1, 10, 0},
	{INT64_MAX, INT64_MIN + 1, -2, 5, 9},
	{8, 1, -7, 1, 8},
	{8, 0, -7, 2, 8},
};

DEVICE_TEST(a_range_is_pythons)
{
	kz_array *array = support_counted(dev, S(10)), *view;
	for (size_t k = 0; k < countof(ranges); k++) {
		int32_t want[10];
		int64_t step = ranges[k].step == KZ_OMIT ? 1 : ranges[k].step;
		for (int64_t i = 0; i < ranges[k].count; i++) {
			want[i] = (int32_t)(ranges[k].first + i * step);
		}
		ok(kz_array_slice(&view, array,
			KZ_AT(KZ_SLICE(ranges[k].start, ranges[k].stop, ranges[k].step)), &err));
		check_view(view, S(ranges[k].count), want, (int)k);
	}
	kz_array_release(array);
}

DEVICE_TEST(slices_take_axes_in_order)
{
	kz_array *a = support_counted(dev, S(2, 3, 4)), *view;
	ok(kz_array_slice(&view, a, KZ_AT(1), &err));
	holds(view, S(3, 4), 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23);
	ok(kz_array_slice(&view, a, KZ_AT(-1, KZ_ALL, 2), &err));
	holds(view, S(3), 14, 18, 22);
	ok(kz_array_slice(&view, a, KZ_AT(KZ_ELLIPSIS, (unsigned char)0), &err));
	holds(view, S(2, 3), 0, 4, 8, 12, 16, 20);
	ok(kz_array_slice(&view, a, KZ_AT(0, KZ_ELLIPSIS, KZ_SLICE(1, -1)), &err));
	holds(view, S(3, 2), 1, 2, 5, 6, 9, 10);
	ok(kz_array_slice(&view, a, KZ_AT(0L, 0LL, KZ_INDEX(3), KZ_ELLIPSIS), &err));
	holds(view, S(), 3);
	ok(kz_array_slice(&view, a, KZ_AT(KZ_NEWAXIS, 1, 2, KZ_NEWAXIS, KZ_SLICE(0, 4, 2)), &err));
	holds(view, S(1, 1, 2), 20, 22);
	ok(kz_array_slice(&view, a, KZ_AT(0, 0, KZ_ELLIPSIS, KZ_NEWAXIS), &err));
	holds(view, S(4, 1), 0, 1, 2, 3);
	ok(kz_array_slice(&view, a, KZ_AT(KZ_SLICE(5, 2), 2), &err));
	holds(view, S(0, 4), 0);
	ok(kz_array_slice(&view, a, KZ_AT(), &err));
	ck_assert_int_eq(kz_array_ndim(view), 3);
	ck_assert_ptr_eq(kz_array_buffer(view), kz_array_buffer(a));
	release_arrays(view, a);
}

DEVICE_TEST(a_slice_of_nothing_or_of_one_element_is_one)
{
	kz_array *none = support_counted(dev, S(0, 3)), *one = support_counted(dev, S()), *view;
	ok(kz_array_slice(&view, none, KZ_AT(KZ_ALL, 2), &err));
	holds(view, S(0), 0);
	ok(kz_array_slice(&view, none, KZ_AT(KZ_SLICE(KZ_OMIT, KZ_OMIT, -1)), &err));
	holds(view, S(0, 3), 0);
	ok(kz_array_slice(&view, one, KZ_AT(KZ_ELLIPSIS), &err));
	holds(view, S(), 0);
	ok(kz_array_slice(&view, one, KZ_AT(KZ_NEWAXIS, KZ_NEWAXIS), &err));
	holds(view, S(1, 1), 0);
	release_arrays(none, one);
}

DEVICE_TEST(a_bad_slice_is_refused)
{
	static const kz_slice odd = {7, 0, 0, 0, 0}, none = {0, 0, 0, 0, 0};
	kz_array *a = support_counted(dev, S(2, 3)), *view = a;
	fails(kz_array_slice(&view, a, KZ_AT(0, 3), &err), KZ_RANGE,
		"index 3 is out of range for axis 1 of shape (2, 3)");
	ck_assert_ptr_null(view);
	fails(kz_array_slice(&view, a, KZ_AT(KZ_ELLIPSIS, -4), &err), KZ_RANGE,
		"index -4 is out of range for axis 1 of shape (2, 3)");
	fails(kz_array_slice(&view, a, KZ_AT(INT64_MIN), &err), KZ_RANGE, "axis 0");
	fails(kz_array_slice(&view, a, KZ_AT(KZ_ALL, KZ_SLICE(0, 1, 0)), &err), KZ_INVALID,
		"the slice of axis 1 has step 0");
	fails(kz_array_slice(&view, a, KZ_AT(0, 1, 2), &err), KZ_INVALID,
		"3 indexes are too many for an array of shape (2, 3)");
	fails(kz_array_slice(&view, a, KZ_AT(KZ_ELLIPSIS, KZ_ELLIPSIS), &err), KZ_INVALID,
		"expected at most one ellipsis, got 2");
	fails(kz_array_slice(&view, a, KZ_AT(odd), &err), KZ_INVALID,
		"slice 0: 7 is not a kind of slice");
	fails(kz_array_slice(&view, a, KZ_AT(0, none), &err), KZ_INVALID,
		"slice 1: 0 is not a kind");
	fails(kz_array_slice(&view, a, (kz_slices){NULL, 1}, &err), KZ_INVALID, "got 1 at NULL");
	fails(kz_array_slice(&view, a, (kz_slices){&odd, -1}, &err), KZ_INVALID, "got -1");
	fails(kz_array_slice(&view, a, KZ_AT(KZ_NEWAXIS, KZ_NEWAXIS, KZ_NEWAXIS, KZ_NEWAXIS,
		KZ_NEWAXIS, KZ_NEWAXIS, KZ_NEWAXIS, KZ_NEWAXIS, KZ_NEWAXIS, KZ_NEWAXIS, KZ_NEWAXIS,
		KZ_NEWAXIS, KZ_NEWAXIS, KZ_NEWAXIS, KZ_NEWAXIS), &err), KZ_INVALID,
		"expected at most 16 axes in the result");
	fails(kz_array_slice(&view, NULL, KZ_AT(0), &err), KZ_INVALID, "expected an array");
	fails(kz_array_slice(NULL, a, KZ_AT(0), &err), KZ_INVALID, "kz_array_slice: out is NULL");
	kz_array_release(a);
}

/* Splits */

DEVICE_TEST(an_array_splits_as_numpys)
{
	static const int64_t at[] = {1, -2, 100};
	kz_array *a = support_counted(dev, S(2, 5)), *parts[6];
	ok(kz_array_split(parts, 2, a, 0, &err));
	holds(parts[0], S(1, 5), 0, 1, 2, 3, 4);
	holds(parts[1], S(1, 5), 5, 6, 7, 8, 9);
	ok(kz_array_split_uneven(parts, 3, a, -1, &err));
	holds(parts[0], S(2, 2), 0, 1, 5, 6);
	holds(parts[1], S(2, 2), 2, 3, 7, 8);
	holds(parts[2], S(2, 1), 4, 9);
	ok(kz_array_split_uneven(parts, 6, a, 1, &err));
	for (int i = 0; i < 5; i++) {
		holds(parts[i], S(2, 1), i, i + 5);
	}
	holds(parts[5], S(2, 0), 0);
	ok(kz_array_split_at(parts, 4, a, 1, at, 3, &err));
	holds(parts[0], S(2, 1), 0, 5);
	holds(parts[1], S(2, 2), 1, 2, 6, 7);
	holds(parts[2], S(2, 2), 3, 4, 8, 9);
	holds(parts[3], S(2, 0), 0);
	ok(kz_array_split_at(parts, 1, a, 0, NULL, 0, &err));
	holds(parts[0], S(2, 5), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
	kz_array_release(a);
}

DEVICE_TEST(a_bad_split_is_refused)
{
	static const int64_t at[] = {1};
	kz_array *a = support_counted(dev, S(2, 5)), *one = support_counted(dev, S());
	kz_array *parts[3] = {a, a, a};
	fails(kz_array_split(parts, 3, a, -1, &err), KZ_INVALID,
		"axis 1 of shape (2, 5) does not split into 3 equal parts");
	ck_assert(!parts[0] && !parts[1] && !parts[2]);
	fails(kz_array_split(parts, 0, a, 0, &err), KZ_INVALID,
		"expected to split into 1 or more parts, got 0");
	fails(kz_array_split_uneven(parts, INT64_MAX, a, 0, &err), KZ_INVALID, "or more parts");
	fails(kz_array_split(parts, 2, a, 2, &err), KZ_RANGE, "axis 2");
	fails(kz_array_split(parts, 2, one, 0, &err), KZ_RANGE, "axis 0");
	fails(kz_array_split_at(parts, 3, a, 1, at, 1, &err), KZ_INVALID,
		"expected 2 indexes for 3 parts, got 1");
	fails(kz_array_split_at(parts, 2, a, 1, NULL, 1, &err), KZ_INVALID,
		"expected 1 indexes, got NULL");
	fails(kz_array_split(NULL, 1, a, 1, &err), KZ_INVALID, "kz_array_split: out is NULL");
	fails(kz_array_split(parts, 1, NULL, 1, &err), KZ_INVALID, "expected an array, got NULL");
	release_arrays(a, one);
}

/* What is done with parts */

DEVICE_TEST(parts_are_assigned)
{
	kz_array *a = support_counted(dev, S(3, 4)), *row = support_counted(dev, S(2)), *view;
	ok(kz_array_slice(&view, a, KZ_AT(KZ_SLICE(1, 3), KZ_SLICE(KZ_OMIT, KZ_OMIT, -2)), &err));
	ok(kz_array_assign(view, row, &err));
	kz_array_release(view);
	ok(kz_array_slice(&view, a, KZ_AT(0, KZ_ELLIPSIS), &err));
	ok(kz_array_fill(view, KZ_ARG(7), &err));
	kz_array_release(view);
	ok(kz_array_diagonal(&view, a, 1, 0, 1, &err));
	ok(kz_array_fill(view, KZ_ARG(9), &err));
	kz_array_release(view);
	holds(a, S(3, 4), 7, 9, 7, 7, 4, 1, 9, 0, 8, 1, 10, 9);
	kz_array_release(row);
}

/* By its bytes, since a struct is no number; halves may come so, too. */
DEVICE_TEST(the_bytes_of_a_value_fill_any_view)
{
	struct { float x, y, z; } point = {1, 2, 3}, got[6] = {{0}};
	uint16_t half = 0x4100, halves[2]; /* 2.5 */
	kz_dtype float3;
	kz_array *a, *column;
	ok(kz_dtype_register(&float3, "float3", sizeof(point), &err));
	ok(kz_array_zeros(&a, dev, float3, S(3, 2), &err));
	ok(kz_array_slice(&column, a, KZ_AT(KZ_ALL, 1), &err));
	ok(kz_array_fill(column, KZ_VALUE(point), &err));
	ok(kz_array_get(a, got, sizeof(got), &err));
	ck_assert(got[0].z == 0 && got[1].x == 1 && got[4].y == 0 && got[5].z == 3);
	fails(kz_array_fill(column, KZ_VALUE(half), &err), KZ_INVALID,
		"12 bytes for float3, got 2");
	fails(kz_array_fill(column, KZ_ARG(1), &err), KZ_INVALID, "KZ_VALUE");
	release_arrays(column, a);
	ok(kz_array_zeros(&a, dev, KZ_F16, S(2), &err));
	ok(kz_array_fill(a, KZ_VALUE(half), &err));
	ok(kz_array_get(a, halves, sizeof(halves), &err));
	ck_assert(halves[0] == half && halves[1] == half);
	kz_array_release(a);
}

/* A kernel gets the address of the slice's first element; strides are its own business. */
DEVICE_TEST(a_slice_is_passed_to_a_kernel)
{
	static const char source[] =
		"extern \"C\" __global__ void add(int *a, long long step)\n"
		"{\n"
		"	a[threadIdx.x * step / 4] += 100;\n"
		"}\n";
	kz_module *mod;
	kz_kernel *add;
	kz_array *a = support_counted(dev, S(3, 4)), *view;
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
	ok(kz_module_kernel(&add, mod, "add", &err));
	ok(kz_array_slice(&view, a, KZ_AT(KZ_SLICE(KZ_OMIT, KZ_OMIT, -2), 1), &err));
	ok(kz_launch(add, kz_dim(1, 1, 1), kz_dim(2, 1, 1), NULL, &err,
		KZ_ARGS(KZ_STRIDED(view), kz_array_strides(view)[0])));
	holds(view, S(2), 109, 101);
	holds(a, S(3, 4), 0, 101, 2, 3, 4, 5, 6, 7, 8, 109, 10, 11);
	kz_module_release(mod);
}

SUITE(slice)
{
	static const TTest *const *const kernel_tests[] = {
		&parts_are_assigned, &the_bytes_of_a_value_fill_any_view,
		&a_slice_is_passed_to_a_kernel,
	};
	Suite *s = suite_create("slice");
	TCase *tc = suite_add_case(s, "each device");
	tcase_add_tests(tc, support_device_count() + 1, a_range_is_pythons,
		slices_take_axes_in_order, a_slice_of_nothing_or_of_one_element_is_one,
		a_bad_slice_is_refused, an_array_splits_as_numpys, a_bad_split_is_refused);
	for (size_t i = 0; i < countof(kernel_tests); i++) {
		tcase_add_loop_test(tc, *kernel_tests[i], 0, support_device_count());
	}
	return s;
}
