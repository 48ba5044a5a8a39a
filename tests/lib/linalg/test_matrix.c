/* SPDX-License-Identifier: MIT */
/* Triangles, diagonals, differences, powers and scaling on every device, against loops. */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "support/sampled.h"

#include <string.h>

enum { MOST = 2000 };

static const kz_dtype tried[] = {KZ_F32, KZ_C64, KZ_BOOL, KZ_F64, KZ_I16, KZ_F16, KZ_C128, KZ_U8};

/* Triangles */

static void check_triangle(kz_shape shape, int64_t k, bool lower, kz_dtype dtype)
{
	static double complex a[MOST];
	int64_t rows = shape.dims[shape.ndim - 2], columns = shape.dims[shape.ndim - 1];
	kz_array *array = sampled_array(dtype, shape, a), *out;
	ok((lower ? kz_tril : kz_triu)(&out, array, k, NULL, &err));
	ck_assert_uint_eq(kz_array_dtype(out), dtype);
	for (int64_t i = 0; i < support_count(&shape); i++) {
		int64_t apart = i % columns - i / columns % rows;
		a[i] = (lower ? apart <= k : apart >= k) ? a[i] : 0;
	}
	sampled_check(out, shape, a, 0);
	release_arrays(array, out);
}

DEVICE_TEST(a_triangle_is_what_lies_beside_a_diagonal)
{
	sampled_state = 1;
	for (int i = 0; i < 24; i++) {
		if (!both_shapes_try((size_t)i, 24, 6, 2)) {
			continue;
		}
		kz_shape shape = {2 + i % 3 / 2, {0}};
		for (int64_t d = 0; d < shape.ndim; d++) {
			shape.dims[d] = 1 + sampled_below(9);
		}
		check_triangle(shape, sampled_below(21) - 10, i % 2,
			tried[(size_t)i % countof(tried)]);
	}
	check_triangle(KZ_SHAPE(3, 4), INT64_MIN, true, KZ_F32);
	check_triangle(KZ_SHAPE(3, 4), INT64_MAX, true, KZ_F32);
	check_triangle(KZ_SHAPE(3, 4), INT64_MIN, false, KZ_F32);
	check_triangle(KZ_SHAPE(3, 4), INT64_MAX, false, KZ_F32);
	check_triangle(KZ_SHAPE(0, 4), 0, false, KZ_F32);
	check_triangle(KZ_SHAPE(2, 3, 0), 0, true, KZ_F32);
}

DEVICE_TEST(a_triangle_replaces_its_matrix_and_drops_nan)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	const float a[] = {1, NAN, 3, INFINITY};
	kz_array *array, *out, *doubles;
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(2, 2), a, sizeof(a), &err));
	options.dtype = KZ_F64;
	ok(kz_triu(&doubles, array, 1, &options, &err));
	ck_assert_uint_eq(kz_array_dtype(doubles), KZ_F64);
	sampled_check(doubles, KZ_SHAPE(2, 2), (const double complex[]){0, NAN, 0, 0}, 0);
	options.dtype = 0;
	options.into = array;
	ok(kz_tril(&out, array, -1, &options, &err));
	ck_assert_ptr_eq(out, array);
	sampled_check(array, KZ_SHAPE(2, 2), (const double complex[]){0, 0, 3, 0}, 0);
	release_arrays(array, out, doubles);
}

/* Diagonals */

static void check_diagonal(int64_t rows, int64_t columns, int64_t k, kz_dtype dtype)
{
	static double complex a[MOST], want[MOST];
	kz_array *array = sampled_array(dtype, KZ_SHAPE(rows, columns), a), *line, *matrix;
	int64_t count = 0, side;
	ok(kz_diag(&line, array, k, NULL, &err));
	ck_assert_uint_eq(kz_array_dtype(line), dtype);
	for (int64_t i = 0; i < rows; i++) {
		if (i + k >= 0 && i + k < columns) {
			want[count++] = a[i * columns + i + k];
		}
	}
	sampled_check(line, KZ_SHAPE(count), want, 0);
	side = count + llabs(k);
	ok(kz_diag(&matrix, line, k, NULL, &err));
	memcpy(a, want, sizeof(a));
	memset(want, 0, sizeof(want));
	for (int64_t i = 0; i < count; i++) {
		want[(i - (k < 0 ? k : 0)) * side + i + (k > 0 ? k : 0)] = a[i];
	}
	sampled_check(matrix, KZ_SHAPE(side, side), want, 0);
	release_arrays(array, line, matrix);
}

DEVICE_TEST(a_diagonal_becomes_a_matrix_and_back)
{
	sampled_state = 2;
	for (int i = 0; i < 30; i++) {
		if (!both_shapes_try((size_t)i, 30, 5, 2)) {
			continue;
		}
		check_diagonal(1 + sampled_below(9), 1 + sampled_below(9), sampled_below(13) - 6,
			tried[(size_t)i % countof(tried)]);
	}
	check_diagonal(0, 3, 0, KZ_F32);
	check_diagonal(3, 3, 5, KZ_F32);
}

DEVICE_TEST(a_diagonal_goes_into_an_array)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	const float v[] = {1, 2};
	kz_array *line, *matrix, *doubles;
	ok(kz_array_from(&line, dev, KZ_F32, KZ_SHAPE(2), v, sizeof(v), &err));
	ok(kz_array_ones(&matrix, dev, KZ_F64, KZ_SHAPE(2, 2), &err));
	options.into = matrix;
	ok(kz_diag(NULL, line, 0, &options, &err));
	sampled_check(matrix, KZ_SHAPE(2, 2), (const double complex[]){1, 0, 0, 2}, 0);
	options.into = NULL;
	options.dtype = KZ_F64;
	ok(kz_diag(&doubles, line, -1, &options, &err));
	ck_assert_uint_eq(kz_array_dtype(doubles), KZ_F64);
	sampled_check(doubles, KZ_SHAPE(3, 3), (const double complex[]){0, 0, 0, 1, 0, 0, 0, 2, 0},
		0);
	release_arrays(line, matrix, doubles);
}

/* Differences */

static void check_diff(kz_dtype dtype, kz_shape shape, int64_t n, int64_t axis)
{
	static double complex a[MOST];
	kz_array *array = sampled_array(dtype, shape, a), *out;
	int64_t inner = 1, at = axis < 0 ? axis + shape.ndim : axis;
	ok(kz_diff(&out, array, n, axis, NULL, &err));
	ck_assert_uint_eq(kz_array_dtype(out), dtype);
	for (int64_t i = at + 1; i < shape.ndim; i++) {
		inner *= shape.dims[i];
	}
	for (int64_t time = 0; time < n && shape.dims[at] > 0; time++) {
		int64_t extent = shape.dims[at]--, to = 0;
		int64_t count = support_count(&shape);
		for (int64_t i = 0; to < count; i++) {
			if (i / inner % extent < extent - 1) {
				double complex less = a[i + inner] - a[i];
				a[to++] = dtype == KZ_BOOL ? less != 0
					: dtype == KZ_U8 ? (uint8_t)(int)creal(less) : less;
			}
		}
	}
	sampled_check(out, shape, a, 0);
	release_arrays(array, out);
}

DEVICE_TEST(differences_are_a_loop)
{
	sampled_state = 3;
	for (int i = 0; i < 32; i++) {
		if (!both_shapes_try((size_t)i, 32, 6, 2)) {
			continue;
		}
		kz_shape shape = {1 + sampled_below(3), {0}};
		for (int64_t d = 0; d < shape.ndim; d++) {
			shape.dims[d] = 1 + sampled_below(8);
		}
		check_diff(tried[(size_t)i % countof(tried)], shape, i % 4,
			sampled_below(2 * shape.ndim) - shape.ndim);
	}
	check_diff(KZ_F32, KZ_SHAPE(5), INT64_MAX, 0);
	check_diff(KZ_F32, KZ_SHAPE(0, 3), 2, 0);
	check_diff(KZ_F32, KZ_SHAPE(0, 3), 1, 1);
}

DEVICE_TEST(differences_go_into_their_own_array)
{
	static double complex a[6];
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_array *array, *out;
	const float host[] = {1, 4, 9, 16, 25, 36};
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(6), host, sizeof(host), &err));
	ok(kz_array_slice(&options.into, array, KZ_AT(KZ_SLICE(1, KZ_OMIT)), &err));
	ok(kz_diff(&out, array, 1, 0, &options, &err));
	for (int i = 0; i < 6; i++) {
		a[i] = 2 * i + 1;
	}
	sampled_check(array, KZ_SHAPE(6), a, 0);
	release_arrays(array, options.into, out);
}

/* Powers */

static void check_powers(kz_dtype dtype, int64_t count, int64_t columns, int increasing)
{
	static double complex x[20], want[MOST];
	kz_array *array = sampled_array(dtype, KZ_SHAPE(count), x), *out;
	kz_dtype common = kz_dtype_promote(dtype, KZ_I64);
	int64_t n = columns < 0 ? count : columns;
	ok(kz_vander(&out, array, columns, increasing, NULL, &err));
	ck_assert_uint_eq(kz_array_dtype(out), common);
	for (int64_t i = 0; i < count; i++) {
		double complex power = 1;
		for (int64_t k = 0; k < n; k++, power *= x[i]) {
			want[i * n + (increasing ? k : n - 1 - k)] = power;
		}
	}
	sampled_check(out, KZ_SHAPE(count, n), want, 1e-9);
	release_arrays(array, out);
}

DEVICE_TEST(powers_rise_or_fall)
{
	sampled_state = 4;
	for (int i = 0; i < 16; i++) {
		if (!both_shapes_try((size_t)i, 16, 4, 2)) {
			continue;
		}
		check_powers(tried[(size_t)i % countof(tried)], sampled_below(10),
			sampled_below(9) - 1, i / 2 % 2);
	}
}

DEVICE_TEST(powers_begin_with_one_and_have_the_dtype_asked_for)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	const float x[] = {NAN, 0, -2};
	const double complex want[] = {NAN, NAN, 1, 0, 0, 1, 4, -2, 1};
	kz_array *array, *out, *into;
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(3), x, sizeof(x), &err));
	options.dtype = KZ_F32;
	ok(kz_vander(&out, array, -1, 0, &options, &err));
	ck_assert_uint_eq(kz_array_dtype(out), KZ_F32);
	sampled_check(out, KZ_SHAPE(3, 3), want, 0);
	ok(kz_array_zeros(&into, dev, KZ_C64, KZ_SHAPE(3, 3), &err));
	options.into = into;
	ok(kz_vander(NULL, array, 3, 0, &options, &err));
	sampled_check(into, KZ_SHAPE(3, 3), want, 0);
	release_arrays(array, out, into);
}

/* In place */

DEVICE_TEST(an_array_is_scaled_in_place)
{
	static double complex a[60], b[60];
	kz_array *array = sampled_array(KZ_C64, KZ_SHAPE(3, 4, 5), a);
	kz_array *ints = sampled_array(KZ_I16, KZ_SHAPE(60), b);
	ok(kz_array_scale(array, KZ_ARG((double _Complex)CMPLX(0.5, -2)), &err));
	ok(kz_scale(ints, -3, &err));
	for (int i = 0; i < 60; i++) {
		a[i] *= CMPLX(0.5, -2);
		b[i] *= -3;
	}
	sampled_check(array, KZ_SHAPE(3, 4, 5), a, 1e-5);
	sampled_check(ints, KZ_SHAPE(60), b, 0);
	fails(kz_scale(ints, 0.5, &err), KZ_INVALID, "float64, which does not fit into int16");
	fails(kz_scale(ints, 70000, &err), KZ_RANGE, "70000 does not fit in int16");
	fails(kz_scale((kz_array *)NULL, 2, &err), KZ_INVALID, "expected an array, got NULL");
	release_arrays(array, ints);
}

DEVICE_TEST(each_place_of_an_axis_has_a_factor)
{
	static double complex a[60], v[5];
	const int64_t inner[3] = {20, 5, 1}, dims[3] = {3, 4, 5};
	sampled_state = 6;
	for (int64_t axis = -3; axis < 3; axis++) {
		if (!both_shapes_try((size_t)(axis + 3), 6, 3, 1)) {
			continue;
		}
		int64_t at = axis < 0 ? axis + 3 : axis;
		kz_array *array = sampled_array(KZ_F32, KZ_SHAPE(3, 4, 5), a);
		kz_array *factors = sampled_array(KZ_F32, KZ_SHAPE(dims[at]), v);
		ok(kz_scale_along(array, factors, axis, &err));
		for (int64_t i = 0; i < 60; i++) {
			a[i] *= v[i / inner[at] % dims[at]];
		}
		sampled_check(array, KZ_SHAPE(3, 4, 5), a, 0);
		release_arrays(array, factors);
	}
}

/* A column of the matrix itself, as if it had been read before. */
DEVICE_TEST(factors_may_be_part_of_the_array)
{
	const float a[] = {2, 3, 5, 7};
	kz_array *array, *column;
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(2, 2), a, sizeof(a), &err));
	ok(kz_array_slice(&column, array, KZ_AT(KZ_SLICE(KZ_OMIT, KZ_OMIT), 0), &err));
	ok(kz_scale_along(array, column, 0, &err));
	sampled_check(array, KZ_SHAPE(2, 2), (const double complex[]){4, 6, 25, 35}, 0);
	release_arrays(array, column);
}

/* Limits */

DEVICE_TEST(what_does_not_fit_is_refused)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_array *a, *v, *pairs, *cube, *out = NULL;
	kz_dtype pair;
	ok(kz_dtype_register(&pair, "struct matrix_pair", 8, &err));
	ok(kz_array_zeros(&a, dev, KZ_F32, KZ_SHAPE(2, 3), &err));
	ok(kz_array_zeros(&v, dev, KZ_F64, KZ_SHAPE(4), &err));
	ok(kz_array_zeros(&pairs, dev, pair, KZ_SHAPE(3, 3), &err));
	ok(kz_array_zeros(&cube, dev, KZ_F32, KZ_SHAPE(2, 2, 2), &err));
	fails(kz_tril(&out, v, 0, NULL, &err), KZ_INVALID,
		"tril: expected two extents or more, got shape (4,)");
	fails(kz_triu(&out, pairs, 0, NULL, &err), KZ_INVALID,
		"triu does not take struct matrix_pair");
	fails(kz_triu(&out, NULL, 0, NULL, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_triu(NULL, a, 0, NULL, &err), KZ_INVALID, "kz_triu: out is NULL");
	fails(kz_diag(&out, cube, 0, NULL, &err), KZ_INVALID,
		"diag: expected one extent or two, got shape (2, 2, 2)");
	fails(kz_diag(&out, v, INT64_MIN, NULL, &err), KZ_RANGE, "too large");
	fails(kz_diag(&out, v, INT64_MAX, NULL, &err), KZ_RANGE, "too large");
	fails(kz_diag(&out, v, INT64_MAX / 2, NULL, &err), KZ_RANGE, "");
	fails(kz_diff(&out, a, -1, 0, NULL, &err), KZ_INVALID,
		"diff: expected n of at least 0, got -1");
	fails(kz_diff(&out, a, 1, 2, NULL, &err), KZ_RANGE, "axis 2");
	fails(kz_vander(&out, a, 3, 0, NULL, &err), KZ_INVALID,
		"vander: expected one extent, got shape (2, 3)");
	fails(kz_vander(&out, v, -2, 0, NULL, &err), KZ_INVALID,
		"columns of at least 0, or -1, got -2");
	fails(kz_scale_along(a, v, 0, &err), KZ_INVALID,
		"scale_along: factors of shape (4,) do not fit axis 0 of shape (2, 3)");
	fails(kz_scale_along(a, NULL, 0, &err), KZ_INVALID, "argument 'factors': expected an "
		"array, got NULL");
	fails(kz_scale_along(a, v, 5, &err), KZ_RANGE, "axis 5");
	options.into = v;
	fails(kz_tril(&out, a, 0, &options, &err), KZ_INVALID, "does not fit into (4,)");
	options.size = 1;
	fails(kz_diff(&out, a, 1, 0, &options, &err), KZ_INVALID, "kz_op_options has size 1");
	ck_assert_ptr_null(out);
	ok(kz_diag(&out, pairs, 1, NULL, &err));
	ck_assert_int_eq(kz_array_count(out), 2);
	release_arrays(a, v, pairs, cube, out);
}

static kz_status call_one(int which, kz_array **out, kz_array *a, kz_array *v)
{
	return which == 0 ? kz_tril(out, a, 0, NULL, &err) : which == 1
		? kz_diag(out, v, 1, NULL, &err)
		: which == 2 ? kz_diff(out, a, 2, 0, NULL, &err)
		: kz_vander(out, v, -1, 0, NULL, &err);
}

DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	kz_array *a, *v;
	ok(kz_array_ones(&a, dev, KZ_F32, KZ_SHAPE(4, 4), &err));
	ok(kz_array_ones(&v, dev, KZ_F32, KZ_SHAPE(4), &err));
	for (int which = 0; which < 4; which++) {
		int failed = 0;
		for (long n = 0;; n++) {
			kz_array *out = NULL;
			mem_fail_after(n);
			kz_status st = call_one(which, &out, a, v);
			bool done = !mem_has_failed();
			mem_fail_after(-1);
			ck_assert(st == KZ_OK ? out != NULL : out == NULL);
			failed += st != KZ_OK;
			kz_error_clear(&err);
			kz_array_release(out);
			if (done) {
				break;
			}
		}
		ck_assert_int_gt(failed, 1);
	}
	release_arrays(a, v);
}

SUITE(matrix)
{
	Suite *suite = suite_create("matrix");
	int devices = both_shapes_count();
	TCase *parts = suite_add_case(suite, "parts");
	tcase_set_timeout(parts, 200);
	tcase_add_tests(parts, devices, a_triangle_is_what_lies_beside_a_diagonal,
		a_triangle_replaces_its_matrix_and_drops_nan, a_diagonal_becomes_a_matrix_and_back,
		a_diagonal_goes_into_an_array, differences_are_a_loop,
		differences_go_into_their_own_array, powers_rise_or_fall,
		powers_begin_with_one_and_have_the_dtype_asked_for);
	TCase *scaled = suite_add_case(suite, "scaled");
	tcase_add_tests(scaled, devices, an_array_is_scaled_in_place,
		each_place_of_an_axis_has_a_factor, factors_may_be_part_of_the_array);
	TCase *limits = suite_add_case(suite, "limits");
	tcase_add_tests(limits, devices, what_does_not_fit_is_refused,
		a_failing_allocation_leaves_nothing_behind);
	return suite;
}
