/* SPDX-License-Identifier: MIT */
/* The macros of short.h: what they make is what the long forms make.  .ci/check-headers has what
 * they take and refuse, and the defaults of all options. */
#include "base/common.h"

#include "support/support.h"
#include "support/suite.h"

#include <kudzu/kudzu.h>

#include <check.h>
#include <complex.h>
#include <math.h>

START_TEST(options_in_place_override_the_defaults)
{
	const kz_integrate_options *o = KZ_WITH(kz_integrate_options, .axis = 0, .initial = 2.5);
	ck_assert(o->axis == 0 && o->initial == 2.5);
	ck_assert(o->size == sizeof(*o) && o->dx == 1 && o->dy == 1);
	ck_assert_int_eq(KZ_WITH(kz_histogram_options, .bins = 3)->bins, 3);
	const kz_launch_options *launch = KZ_WITH(kz_launch_options, .cluster = {2, 1, 1},
		.shared_size = KZ_WITH(kz_scan_options, .axis = 7)->axis);
	ck_assert(launch->cluster[0] == 2 && launch->shared_size == 7 && !launch->stream);
}
END_TEST

START_TEST(an_array_among_the_options_lives_as_long)
{
	const kz_compile_options *options = KZ_WITH(kz_compile_options,
		.instances = (const char *const[]){"f<double>", NULL});
	const kz_compile_options *others = KZ_WITH(kz_compile_options,
		.instances = (const char *const[]){"g<int>", NULL});
	ck_assert_str_eq(options->instances[0], "f<double>");
	ck_assert_str_eq(others->instances[0], "g<int>");
}
END_TEST

START_TEST(a_dimension_left_out_is_one)
{
	kz_dim3 a = KZ_DIM(7), b = KZ_DIM(16, 8), c = KZ_DIM(4, 3, 2);
	ck_assert(a.x == 7 && a.y == 1 && a.z == 1);
	ck_assert(b.x == 16 && b.y == 8 && b.z == 1);
	ck_assert(c.x == 4 && c.y == 3 && c.z == 2);
}
END_TEST

START_TEST(an_array_of_c_brings_type_shape_and_size)
{
	const float line[5] = {1, 2, 3, 4, 5};
	double rows[2][3] = {{1, 2, 3}, {4, 5, 6}}, got[6];
	const unsigned char bytes[2][1] = {{7}, {8}};
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = support_open_any(_i);
	kz_array *a = NULL, *b = NULL, *c = NULL;
	ok(kz_array_from(&a, dev, KZ_FROM(line), &err));
	ok(kz_array_from(&b, dev, KZ_FROM(rows), &err));
	ok(kz_array_from(&c, dev, KZ_FROM(bytes), &err));
	ck_assert(kz_array_dtype(a) == KZ_F32 && kz_array_ndim(a) == 1);
	ck_assert_int_eq(kz_array_shape(a).dims[0], 5);
	ck_assert(kz_array_dtype(b) == KZ_F64 && kz_array_ndim(b) == 2);
	ck_assert(kz_array_shape(b).dims[0] == 2 && kz_array_shape(b).dims[1] == 3);
	ck_assert(kz_array_dtype(c) == KZ_U8 && kz_array_shape(c).dims[1] == 1);
	ok(kz_array_get(b, got, sizeof(got), &err));
	ck_assert_mem_eq(got, rows, sizeof(rows));
	kz_release_all(a, b, c);
	support_close(dev);
}
END_TEST

START_TEST(one_number_comes_by_its_type)
{
	const float rows[2][3] = {{1, -2, 3}, {4, 5, 6.5f}};
	const int numbers[3] = {7, 8, -9};
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = support_open(_i);
	kz_array *a = NULL, *b = NULL;
	float f = 0;
	double d = 0;
	int64_t i = 0;
	int narrow = 0;
	bool all = false;
	ok(kz_array_from(&a, dev, KZ_FROM(rows), &err));
	ok(kz_array_from(&b, dev, KZ_FROM(numbers), &err));
	ok(kz_sum_get(&f, a, &err));
	ok(kz_mean_get(&d, b, &err));
	ck_assert(f == 17.5f && d == 2);
	ok(kz_max_get(&d, a, &err));
	ok(kz_sum_get(&i, b, &err));
	ok(kz_min_get(&narrow, b, &err));
	ok(kz_all_get(&all, b, &err));
	ck_assert(d == 6.5 && i == 6 && narrow == -9 && all);
	ok(kz_argmax_get(&i, a, &err));
	ck_assert_int_eq(i, 5);
	ok(kz_array_item(&d, a, KZ_AT(1, -1), &err));
	ok(kz_array_item(&narrow, b, KZ_AT(0), &err));
	ck_assert(d == 6.5 && narrow == 7);
	fails(kz_sum_get(&narrow, b, &err), KZ_INVALID,
		"kz_reduce_get_as: the result is int64, and the number for it is int32");
	fails(kz_max_get(&i, a, &err), KZ_INVALID, "is float32, and the number for it is int64");
	fails(kz_array_item(&d, b, KZ_AT(0), &err), KZ_INVALID,
		"kz_array_item_as: the result is int32, and the number for it is float64");
	fails(kz_array_item(&f, a, KZ_AT(0), &err), KZ_INVALID, "element, got shape (3,)");
	fails(kz_array_item(&f, a, KZ_AT(0, 3), &err), KZ_RANGE, "kz_array_item_as: ");
	fails(kz_array_item(&f, NULL, KZ_AT(0), &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_reduce_get_as(NULL, KZ_F32, KZ_REDUCE_SUM, a, NULL, &err), KZ_INVALID, "got NULL");
	ck_assert(narrow == 7 && d == 6.5 && i == 5 && f == 17.5f);
	kz_release_all(a, b);
	support_close(dev);
}
END_TEST

/* The C type is that of the result, or a wider one of its kind. */
START_TEST(one_number_comes_in_a_wider_type)
{
	static const int8_t bytes[2] = {-128, 5};
	static const uint16_t numbers[1] = {65535};
	static const uint16_t halves[2] = {0xbe00, 0x7c00}; /* -1.5 and infinity */
	static const uint16_t bfloat[1] = {0x3f81};
	int narrow = 0;
	long wide = 0;
	unsigned long positive = 0;
	float f = 0;
	double d = 0;
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = support_open(_i);
	kz_array *i8 = NULL, *u16 = NULL, *f16 = NULL, *bf16 = NULL;
	ok(kz_array_from(&i8, dev, KZ_FROM(bytes), &err));
	ok(kz_array_from(&u16, dev, KZ_FROM(numbers), &err));
	ok(kz_array_from(&f16, dev, KZ_F16, KZ_SHAPE(2), halves, sizeof(halves), &err));
	ok(kz_array_from(&bf16, dev, KZ_BF16, KZ_SHAPE(), bfloat, sizeof(bfloat), &err));
	ok(kz_min_get(&narrow, i8, &err));
	ok(kz_min_get(&wide, i8, &err));
	ok(kz_max_get(&positive, u16, &err));
	ck_assert(narrow == -128 && wide == -128 && positive == 65535);
	ok(kz_min_get(&f, f16, &err));
	ok(kz_max_get(&d, f16, &err));
	ck_assert(f == -1.5f && d == INFINITY);
	ok(kz_array_item(&d, bf16, KZ_AT(), &err));
	ck_assert(d == 1.0078125);
	fails(kz_min_get(&positive, i8, &err), KZ_INVALID,
		"the result is int8, and the number for it is uint64");
	fails(kz_array_item_as(&d, KZ_F16, bf16, KZ_AT(), &err), KZ_INVALID,
		"the result is bfloat16, and the number for it is float16");
	fails(kz_array_item(&wide, u16, KZ_AT(), &err), KZ_INVALID, "is uint16");
	kz_release_all(i8, u16, f16, bf16);
	support_close(dev);
}
END_TEST

START_TEST(a_complex_number_comes_by_its_type)
{
	static const float _Complex values[2][2] = {{1 + 2 * I, -3}, {4 * I, 0.5F - I}};
	float _Complex c64 = 0;
	double _Complex c128 = 0;
	double real = 0;
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = support_open(_i);
	kz_array *a = NULL, *b = NULL;
	ok(kz_array_from(&a, dev, KZ_FROM(values), &err));
	ok(kz_array_from(&b, dev, KZ_FROM(values[0]), &err));
	ck_assert(kz_array_dtype(a) == KZ_C64 && kz_array_ndim(a) == 2);
	ok(kz_sum_get(&c64, a, &err));
	ok(kz_array_item(&c128, a, KZ_AT(1, 1), &err));
	ck_assert(c64 == -1.5F + 5 * I && c128 == 0.5 - I);
	ok(kz_dot_get(&c64, b, b, &err));
	ok(kz_vdot_get(&c128, b, b, &err));
	ck_assert(c64 == 6 + 4 * I && c128 == 14);
	ok(kz_norm_get(&real, b, &err));
	ck_assert(fabs(real - sqrt(14)) < 1e-6);
	fails(kz_sum_get(&real, a, &err), KZ_INVALID,
		"the result is complex64, and the number for it is float64");
	kz_release_all(a, b);
	support_close(dev);
}
END_TEST

START_TEST(a_product_comes_by_its_type)
{
	static const double rows[2][2] = {{3, 1}, {4, 2}}, half[2][2] = {{0.5, 0}, {0, 2}};
	static const int line[3] = {1, -2, 3};
	int product = 0;
	int64_t rank = 0;
	float narrow = 7;
	double det = 0, trace = 0, cond = 0, norm = 0;
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = support_open(_i);
	kz_array *a = NULL, *b = NULL, *c = NULL;
	ok(kz_array_from(&a, dev, KZ_FROM(rows), &err));
	ok(kz_array_from(&b, dev, KZ_FROM(line), &err));
	ok(kz_array_from(&c, dev, KZ_FROM(half), &err));
	ok(kz_dot_get(&product, b, b, &err));
	ck_assert_int_eq(product, 14);
	ok(kz_det_get(&det, a, &err));
	ok(kz_trace_get(&trace, a, 1, &err));
	ok(kz_linalg_norm_get(&norm, a, KZ_NORM_P, INFINITY, &err));
	ck_assert(fabs(det - 2) < 1e-12 && trace == 1 && norm == 6);
	ok(kz_cond_get(&cond, c, KZ_NORM_P, 1, &err));
	ck_assert(fabs(cond - 4) < 1e-12);
	kz_status st = kz_matrix_rank_get(&rank, a, -1, &err); /* needs a LAPACK */
	ck_assert(st == KZ_UNSUPPORTED || rank == 2);
	kz_error_clear(&err);
	fails(kz_dot_get(&det, a, a, &err), KZ_INVALID,
		"kz_dot_get_as: expected one element, got shape (2, 2)");
	fails(kz_det_get(&narrow, a, &err), KZ_INVALID, "the result is float64");
	fails(kz_trace_get(&det, b, 0, &err), KZ_INVALID, "expected a matrix");
	fails(kz_vdot_get(&det, NULL, a, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_cond_get_as(NULL, KZ_F64, a, KZ_NORM_P, 1, &err), KZ_INVALID, "got NULL");
	ck_assert(narrow == 7 && fabs(det - 2) < 1e-12);
	kz_release_all(a, b, c);
	support_close(dev);
}
END_TEST

START_TEST(handles_of_any_kind_are_released_in_one_call)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = support_open_any(_i);
	kz_array *a = NULL, *none = NULL;
	kz_buffer *buffer = NULL;
	kz_stream *stream = NULL;
	kz_event *event = NULL;
	kz_module *mod = NULL;
	ok(kz_array_zeros(&a, dev, KZ_F32, KZ_SHAPE(3), &err));
	ok(kz_buffer_create(&buffer, dev, 64, &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_event_create(&event, dev, &err));
	kz_release_all(none, a, mod, buffer, stream, event);
	kz_release_all(none);
	support_close(dev); /* which wants nothing left */
}
END_TEST

/* Make an array, and end before or after its handle is kept. */
static kz_array *short_make(kz_device *dev, bool keep, kz_error *err)
{
	KZ_AUTO(kz_stream, stream);
	for (int i = 0; i < 2; i++) {
		KZ_AUTO(kz_array, a);
		ck_assert_ptr_null(a);
		if (kz_stream_create(&stream, dev, 0, err) || i == 1
		    || kz_array_zeros(&a, dev, KZ_F32, KZ_SHAPE(3), err)) {
			return NULL;
		}
		kz_array *kept = a;
		a = keep ? NULL : a;
		if (keep) {
			return kept;
		}
		kz_stream_release(stream);
		stream = NULL;
	}
	return NULL;
}

START_TEST(a_handle_is_released_at_the_end_of_its_block)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = support_open_any(_i);
	kz_array *kept = short_make(dev, true, &err);
	ck_assert_ptr_nonnull(kept);
	ck_assert_int_eq(kz_array_count(kept), 3);
	kz_array_release(kept);
	ck_assert_ptr_null(short_make(dev, false, &err));
	ck_assert_ptr_null(short_make(NULL, false, &err));
	kz_error_clear(&err);
	support_close(dev); /* which wants nothing left */
}
END_TEST

SUITE(short)
{
	Suite *s = suite_create("short");
	TCase *options = suite_add_case(s, "options");
	tcase_add_test(options, options_in_place_override_the_defaults);
	tcase_add_test(options, an_array_among_the_options_lives_as_long);
	tcase_add_test(options, a_dimension_left_out_is_one);
	TCase *devices = suite_add_case(s, "each device");
	tcase_add_tests(devices, support_device_count() + 1,
		an_array_of_c_brings_type_shape_and_size,
		handles_of_any_kind_are_released_in_one_call,
		a_handle_is_released_at_the_end_of_its_block);
	TCase *kernels = suite_add_case(s, "each device with kernels");
	tcase_add_tests(kernels, support_device_count(), one_number_comes_by_its_type,
		one_number_comes_in_a_wider_type, a_complex_number_comes_by_its_type,
		a_product_comes_by_its_type);
	return s;
}
