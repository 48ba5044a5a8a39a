/* SPDX-License-Identifier: MIT */
/* Shapes and lists of axes: as text, resolved, broadcast. */
#include "base/common.h"

#include "lib/array/shape.h"
#include "support/support.h"
#include "support/suite.h"

#include <string.h>

static kz_error err = KZ_ERROR_INIT;

static const struct {
	kz_shape shape;
	const char *want;
} texts[] = {
	{{0, {0}}, "()"},
	{{1, {4}}, "(4,)"},
	{{2, {2, 3}}, "(2, 3)"},
	{{3, {0, 1, INT64_MAX}}, "(0, 1, 9223372036854775807)"},
	{{6, {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}},
		"(-9223372036854775808, -9223372036854775808, -9223372036854775808, "
		"-9223372036854775808, ...)"},
};

START_TEST(a_shape_is_written_as_numpy_does)
{
	ck_assert_str_eq(shape_text(&texts[_i].shape).text, texts[_i].want);
}
END_TEST

START_TEST(every_shape_fits_its_text)
{
	kz_shape shape = {.ndim = 16};
	for (int digits = 1; digits <= 19; digits++) {
		for (int i = 0; i < 16; i++) {
			shape.dims[i] = shape.dims[i] * 10 + 1;
		}
		const char *text = shape_text(&shape).text;
		ck_assert_int_eq(text[strlen(text) - 1], ')');
	}
}
END_TEST

START_TEST(lists_are_the_macros)
{
	static const int64_t items[] = {2, -1};
	kz_axes axes = kz_axes_from(items, 2), macro = KZ_AXES(2, -1);
	ck_assert_int_eq(axes.count, 2);
	ck_assert_mem_eq(&axes, &macro, sizeof(axes));
	ck_assert_int_eq(KZ_AXES().count, 0);
	ck_assert_int_eq(kz_axes_from(NULL, 0).count, 0);
	ck_assert_int_eq(kz_axes_from(NULL, 2).count, -2);
	ck_assert_int_eq(kz_axes_from(NULL, -1).count, KZ_ALL_AXES.count);
}
END_TEST

START_TEST(axes_count_from_either_end)
{
	const kz_shape shape = KZ_SHAPE(2, 3, 4);
	kz_axes axes = KZ_AXES(-1, 0);
	uint32_t set;
	ok(axes_resolve(&axes, &set, &shape, &err));
	ck_assert_int_eq(axes.items[0], 2);
	ck_assert_int_eq(axes.items[1], 0);
	ck_assert_uint_eq(set, 5);
	axes = KZ_ALL_AXES;
	ok(axes_resolve(&axes, &set, &shape, &err));
	ck_assert_int_eq(axes.count, 3);
	ck_assert_int_eq(axes.items[2], 2);
	ck_assert_uint_eq(set, 7);
	axes = KZ_AXES();
	ok(axes_resolve(&axes, NULL, &shape, &err));
	ck_assert_int_eq(axes.count, 0);
}
END_TEST

START_TEST(axes_that_do_not_exist_are_refused)
{
	static const int64_t many[17] = {0};
	const kz_shape shape = KZ_SHAPE(2, 3, 4), none = KZ_SHAPE();
	kz_axes axes = KZ_AXES(3);
	fails(axes_resolve(&axes, NULL, &shape, &err), KZ_RANGE,
		"axis 3 is out of range for shape (2, 3, 4)");
	axes = KZ_AXES(0, -4);
	fails(axes_resolve(&axes, NULL, &shape, &err), KZ_RANGE,
		"axis -4 is out of range for shape (2, 3, 4)");
	axes = KZ_AXES(0);
	fails(axes_resolve(&axes, NULL, &none, &err), KZ_RANGE,
		"axis 0 is out of range for shape ()");
	axes = KZ_AXES(1, 2, -2);
	fails(axes_resolve(&axes, NULL, &shape, &err), KZ_INVALID,
		"axis 1 of shape (2, 3, 4) is named twice");
	axes = kz_axes_from(many, 17);
	fails(axes_resolve(&axes, NULL, &shape, &err), KZ_INVALID,
		"expected a list of 0 to 16 axes, got 17");
	axes = kz_axes_from(NULL, 1);
	fails(axes_resolve(&axes, NULL, &shape, &err), KZ_INVALID, "got -2");
}
END_TEST

static const struct {
	kz_shape a, b, want;
} pairs[] = {
	{{0, {0}}, {0, {0}}, {0, {0}}},
	{{0, {0}}, {2, {2, 3}}, {2, {2, 3}}},
	{{2, {4, 1}}, {1, {3}}, {2, {4, 3}}},
	{{1, {1}}, {1, {0}}, {1, {0}}},
	{{3, {0, 1, 5}}, {2, {7, 1}}, {3, {0, 7, 5}}},
	{{4, {8, 1, 6, 1}}, {3, {7, 1, 5}}, {4, {8, 7, 6, 5}}},
};

START_TEST(shapes_broadcast_as_numpys)
{
	for (int swapped = 0; swapped < 2; swapped++) {
		kz_shape out, a = pairs[_i].a, b = pairs[_i].b;
		ok(kz_shape_broadcast(&out, swapped ? b : a, swapped ? a : b, &err));
		ck_assert(shape_equal(&out, &pairs[_i].want));
	}
}
END_TEST

START_TEST(shapes_that_do_not_broadcast_are_shown)
{
	kz_shape out = KZ_SHAPE(1, 2);
	fails(kz_shape_broadcast(&out, KZ_SHAPE(2, 3), KZ_SHAPE(4, 1), &err), KZ_INVALID,
		"shapes (2, 3) and (4, 1) do not broadcast: 2 against 4 in axis -2");
	ck_assert_int_eq(out.ndim, 0);
	fails(kz_shape_broadcast(&out, KZ_SHAPE(0), KZ_SHAPE(2), &err), KZ_INVALID, "0 against 2");
	fails(kz_shape_broadcast(&out, KZ_SHAPE(0), KZ_SHAPE(-2), &err), KZ_INVALID,
		"extent 0 of the shape is -2");
	fails(kz_shape_broadcast(NULL, KZ_SHAPE(0), KZ_SHAPE(0), &err), KZ_INVALID, "out is NULL");
}
END_TEST

SUITE(shape)
{
	Suite *s = suite_create("shape");
	TCase *tc = suite_add_case(s, "shapes");
	tcase_add_loop_test(tc, a_shape_is_written_as_numpy_does, 0, countof(texts));
	tcase_add_tests(tc, 1, every_shape_fits_its_text, lists_are_the_macros,
		axes_count_from_either_end, axes_that_do_not_exist_are_refused);
	tcase_add_loop_test(tc, shapes_broadcast_as_numpys, 0, countof(pairs));
	tcase_add_test(tc, shapes_that_do_not_broadcast_are_shown);
	return s;
}
