/* SPDX-License-Identifier: MIT */
/* Norms, traces and condition numbers, against numpy's values. */
#include "lib/linalg/linear.h"

/* numpy.arange(9) - 4, and what numpy.linalg.norm says of it as a vector and as (3, 3). */
static const number nine[9] = {-4, -3, -2, -1, 0, 1, 2, 3, 4};
static const double infinite = (double)INFINITY;

static const struct row {
	int is_matrix;
	kz_norm_kind kind;
	double p, want, wants_inf; /* wants_inf: 1, p is infinite; -1, minus infinity */
} rows[] = {
	{0, KZ_NORM_DEFAULT, 0, 7.745966692414834, 0},
	{0, KZ_NORM_P, 0, 4, 1},
	{0, KZ_NORM_P, 0, 0, -1},
	{0, KZ_NORM_P, 0, 8, 0},
	{0, KZ_NORM_P, 1, 20, 0},
	{0, KZ_NORM_P, 2, 7.745966692414834, 0},
	{0, KZ_NORM_P, 3, 5.848035476425731, 0},
	{0, KZ_NORM_P, 2.5, 6.518638259647944, 0},
	{0, KZ_NORM_P, -1, 0, 0},
	{1, KZ_NORM_DEFAULT, 0, 7.745966692414834, 0},
	{1, KZ_NORM_FROBENIUS, 0, 7.745966692414834, 0},
	{1, KZ_NORM_NUCLEAR, 0, 9.797958971132712, 0},
	{1, KZ_NORM_P, 0, 9, 1},
	{1, KZ_NORM_P, 0, 2, -1},
	{1, KZ_NORM_P, 1, 7, 0},
	{1, KZ_NORM_P, -1, 6, 0},
	{1, KZ_NORM_P, 2, 7.3484692283495345, 0},
	{1, KZ_NORM_P, -2, 0, 0},
};

LINEAR_TEST(norms_are_numpys)
{
	for (size_t i = 0; i < countof(rows); i++) {
		for (int t = 0; t < 5; t++) {
			kz_dtype dtype = t < 4 ? linear_dtypes[t] : KZ_I16;
			const struct row *row = &rows[i];
			double p = row->wants_inf != 0 ? row->wants_inf * infinite : row->p;
			number got, want = row->want;
			kz_array *out, *array = linear_upload(nine, dtype, row->is_matrix
				? KZ_SHAPE(3, 3) : KZ_SHAPE(9), t);
			ok(kz_linalg_norm(&out, array, row->kind, p, KZ_ALL_AXES, NULL, &err));
			ck_assert_int_eq(kz_array_ndim(out), 0);
			linear_take(&got, out, t < 4 ? linear_real(dtype) : KZ_F64, 1);
			linear_check("norm", &got, &want, 1,
				t < 4 ? 50 * linear_eps(dtype) : 1e-14);
			kz_array_release(array);
		}
	}
}

/* (2, 3, 3): vectors along each axis, matrices with their axes in either order. */
LINEAR_TEST(norms_run_along_axes)
{
	number cells[18], got[9];
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	kz_array *array, *out;
	for (int i = 0; i < 18; i++) {
		cells[i] = i;
	}
	array = linear_upload(cells, KZ_F64, KZ_SHAPE(2, 3, 3), LINEAR_GAPS);
	ok(kz_linalg_norm(&out, array, KZ_NORM_P, 1, KZ_AXES(1), NULL, &err));
	ck_assert_int_eq(kz_array_ndim(out), 2);
	linear_take(got, out, KZ_F64, 6);
	ck_assert(got[0] == 9 && got[5] == 42);
	ok(kz_linalg_norm(&out, array, KZ_NORM_P, 1, KZ_AXES(-2, -1), NULL, &err));
	linear_take(got, out, KZ_F64, 2);
	ck_assert(got[0] == 15 && got[1] == 42); // columns
	ok(kz_linalg_norm(&out, array, KZ_NORM_P, 1, KZ_AXES(-1, -2), NULL, &err));
	linear_take(got, out, KZ_F64, 2);
	ck_assert(got[0] == 21 && got[1] == 48); // rows
	options.keepdims = 1;
	ok(kz_linalg_norm(&out, array, KZ_NORM_NUCLEAR, 0, KZ_AXES(0, 2), &options, &err));
	ck_assert_int_eq(kz_array_ndim(out), 3);
	ck_assert_int_eq(kz_array_shape(out).dims[1], 3);
	linear_take(got, out, KZ_F64, 3);
	const number nuclear[3] = {18.737417521368766, 24.55790738988356, 31.033704506070453};
	linear_check("nuclear", got, nuclear, 3, 1e-12);
	options.dtype = KZ_F32;
	ok(kz_linalg_norm(&out, array, KZ_NORM_P, -infinite, KZ_AXES(0), &options, &err));
	linear_take(got, out, KZ_F32, 9);
	ck_assert(got[8] == 8);
	kz_array_release(array);
}

LINEAR_TEST(norms_that_there_are_not_are_refused)
{
	kz_array *array, *out = NULL, *empty;
	ok(kz_array_ones(&array, dev, KZ_F32, KZ_SHAPE(2, 3, 3), &err));
	ok(kz_array_ones(&empty, dev, KZ_F32, KZ_SHAPE(0, 3), &err));
	fails(kz_linalg_norm(&out, array, KZ_NORM_P, 1, KZ_ALL_AXES, NULL, &err), KZ_INVALID,
		"norm: expected one axis or two, got 3 of shape (2, 3, 3)");
	fails(kz_linalg_norm(&out, array, KZ_NORM_P, 3, KZ_AXES(1, 2), NULL, &err), KZ_INVALID,
		"inf and -inf, got 3");
	fails(kz_linalg_norm(&out, array, KZ_NORM_NUCLEAR, 0, KZ_AXES(1), NULL, &err), KZ_INVALID,
		"norm: matrices have two axes, got 1");
	fails(kz_linalg_norm(&out, array, (kz_norm_kind)4, 0, KZ_AXES(1), NULL, &err), KZ_INVALID,
		"unknown kz_norm_kind 4");
	fails(kz_linalg_norm(&out, array, KZ_NORM_P, 1, KZ_AXES(3), NULL, &err), KZ_RANGE,
		"axis 3");
	fails(kz_linalg_norm(&out, empty, KZ_NORM_P, infinite, KZ_AXES(0), NULL, &err), KZ_INVALID,
		"max needs at least one element");
	fails(kz_cond(&out, empty, 0, 0, NULL, &err), KZ_INVALID, "cond: expected elements");
	fails(kz_cond(&out, array, KZ_NORM_P, 3, NULL, &err), KZ_INVALID, "got 3");
	fails(kz_linalg_norm(NULL, array, 0, 0, KZ_AXES(0), NULL, &err), KZ_INVALID, "out is NULL");
	fails(kz_linalg_norm(&out, NULL, 0, 0, KZ_AXES(0), NULL, &err), KZ_INVALID, "got NULL");
	ck_assert_ptr_null(out);
	release_arrays(array, empty);
}

/* The example of numpy.linalg.cond. */
LINEAR_TEST(condition_numbers_are_numpys)
{
	const number cells[27] = {1, 0, -1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	static const struct {
		kz_norm_kind kind;
		double p, want;
	} conditions[] = {
		{KZ_NORM_DEFAULT, 0, 1.4142135623730951},
		{KZ_NORM_FROBENIUS, 0, 3.1622776601683795},
		{KZ_NORM_P, 1, 2}, {KZ_NORM_P, -1, 1}, {KZ_NORM_P, 2, 1.4142135623730951},
		{KZ_NORM_P, -2, 0.7071067811865475}, {KZ_NORM_NUCLEAR, 0, 9.242640687119286},
	};
	for (size_t i = 0; i < countof(conditions); i++) {
		number got[3], want = conditions[i].want;
		kz_array *out, *array = linear_upload(cells, KZ_F64, KZ_SHAPE(3, 3, 3), (int)i % 4);
		ok(kz_cond(&out, array, conditions[i].kind, conditions[i].p, NULL, &err));
		linear_take(got, out, KZ_F64, 3);
		linear_check("cond", got, &want, 1, 1e-13);
		ck_assert(conditions[i].p == -2 || creal(got[1]) > 1e15); // singular
		ck_assert(creal(got[2]) == infinite); // zeros
		kz_array_release(array);
	}
}

LINEAR_TEST(a_trace_adds_a_diagonal)
{
	number cells[24], got[2];
	kz_array *array, *out;
	for (int i = 0; i < 24; i++) {
		cells[i] = i;
	}
	array = linear_upload(cells, KZ_I32, KZ_SHAPE(2, 3, 4), LINEAR_TURNED);
	ok(kz_trace(&out, array, 0, NULL, &err));
	linear_take(got, out, KZ_I64, 2);
	ck_assert(got[0] == 15 && got[1] == 51);
	ok(kz_trace(&out, array, 2, NULL, &err));
	linear_take(got, out, KZ_I64, 2);
	ck_assert(got[0] == 9 && got[1] == 33);
	ok(kz_trace(&out, array, -7, NULL, &err));
	linear_take(got, out, KZ_I64, 2);
	ck_assert(got[0] == 0);
	kz_array_release(array);
	ok(kz_array_ones(&array, dev, KZ_F32, KZ_SHAPE(3), &err));
	fails(kz_trace(&out, array, 0, NULL, &err), KZ_INVALID, "trace: expected a matrix");
	kz_array_release(array);
}

SUITE(norm)
{
	Suite *suite = suite_create("norm");
	TCase *tcase = suite_add_case(suite, "norm");
	tcase_set_timeout(tcase, 60);
	tcase_add_tests(tcase, linear_ways(), norms_are_numpys, norms_run_along_axes,
		norms_that_there_are_not_are_refused, condition_numbers_are_numpys,
		a_trace_adds_a_diagonal);
	return suite;
}
