/* SPDX-License-Identifier: MIT */
/*
 * src/lib/fft/cufft.c: what cuFFT is asked for, what is left to our own kernels, and that both
 * agree: on a GPU with NVIDIA's library, elsewhere with a stub.
 */
#include "base/common.h"

#include "lib/fft/cufft_test.h"

#include <kudzu/view.h>

#include <string.h>

/* Results */

struct cufft_case {
	enum cufft_function function;
	kz_dtype dtype;      /* of the operand */
	kz_shape shape;
	kz_axes axes;
	kz_shape lengths;
	kz_fft_norm norm;
};

/* Both ways on the same operand, which stays as it is.  Returns whether the stub was used. */
static bool cufft_compare(const struct cufft_case *c, kz_array *array)
{
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	kz_array *both[2];
	double complex *values[2], *before = support_read(array, KZ_C128);
	double difference = 0, size = 0;
	int launches = fake ? fake->launches : 0;
	options.lengths = c->lengths;
	options.norm = (int32_t)c->norm;
	for (int own = 0; own < 2; own++) {
		table->library = own ? NULL : library;
		ok(cufft_try(&both[own], c->function, array, c->axes, &options));
		values[own] = support_read(both[own], KZ_C128);
	}
	table->library = library;
	ck_assert_int_eq(kz_array_count(both[0]), kz_array_count(both[1]));
	ck_assert_uint_eq(kz_array_dtype(both[0]), kz_array_dtype(both[1]));
	for (int64_t i = 0; i < kz_array_count(both[0]); i++) {
		difference += pow(cabs(values[0][i] - values[1][i]), 2);
		size += pow(cabs(values[1][i]), 2);
	}
	bool is_double = c->dtype == KZ_F64 || c->dtype == KZ_C128;
	ck_assert_msg(sqrt(difference) <= (is_double ? 1e-14 : 2e-6) * sqrt(size), "%g of %g",
		sqrt(difference), sqrt(size));
	double complex *after = support_read(array, KZ_C128);
	ck_assert_mem_eq(before, after, (size_t)kz_array_count(array) * sizeof(*before));
	free(values[0]);
	free(values[1]);
	free(before);
	free(after);
	release_arrays(both[0], both[1]);
	return fake && fake->launches > launches;
}

static const struct cufft_case cufft_cases[] = {
	{FFT, KZ_C64, {1, {60}}, {1, {0}}, {0}, KZ_FFT_BACKWARD},
	{FFT, KZ_C128, {2, {7, 34}}, {1, {1}}, {0}, KZ_FFT_ORTHO},
	{FFT, KZ_C64, {2, {34, 7}}, {1, {0}}, {0}, KZ_FFT_FORWARD},
	{FFT, KZ_C128, {3, {6, 5, 8}}, {3, {0, 1, 2}}, {0}, KZ_FFT_BACKWARD},
	{FFT, KZ_C64, {3, {6, 5, 8}}, {2, {2, 0}}, {0}, KZ_FFT_BACKWARD},
	{FFT, KZ_C64, {4, {3, 4, 1, 5}}, {2, {0, 1}}, {0}, KZ_FFT_BACKWARD},
	{IFFT, KZ_C64, {2, {12, 10}}, {2, {0, 1}}, {0}, KZ_FFT_BACKWARD},
	{IFFT, KZ_C128, {2, {12, 10}}, {1, {1}}, {1, {6}}, KZ_FFT_BACKWARD},
	{IFFT, KZ_C128, {2, {12, 10}}, {1, {1}}, {1, {17}}, KZ_FFT_FORWARD},
	{RFFT, KZ_F32, {1, {60}}, {1, {0}}, {0}, KZ_FFT_BACKWARD},
	{RFFT, KZ_F64, {2, {5, 33}}, {1, {1}}, {0}, KZ_FFT_ORTHO},
	{RFFT, KZ_F32, {2, {33, 5}}, {1, {0}}, {0}, KZ_FFT_BACKWARD},
	{RFFT, KZ_F64, {3, {4, 6, 10}}, {3, {0, 1, 2}}, {0}, KZ_FFT_BACKWARD},
	{RFFT, KZ_F16, {2, {4, 10}}, {1, {1}}, {0}, KZ_FFT_BACKWARD},
	{IRFFT, KZ_C64, {1, {31}}, {1, {0}}, {0}, KZ_FFT_BACKWARD},
	{IRFFT, KZ_C128, {1, {31}}, {1, {0}}, {1, {61}}, KZ_FFT_ORTHO},
	{IRFFT, KZ_C128, {3, {4, 6, 9}}, {3, {0, 1, 2}}, {0}, KZ_FFT_BACKWARD},
	{IRFFT, KZ_C64, {2, {17, 6}}, {1, {0}}, {0}, KZ_FFT_FORWARD},
	{IRFFT, KZ_C64, {2, {1, 17}}, {2, {0, 1}}, {0}, KZ_FFT_BACKWARD},
};

DEVICE_TEST(cufft_and_our_kernels_agree)
{
	for (size_t i = 0; i < countof(cufft_cases); i++) {
		if (!support_is_tried((int)i, countof(cufft_cases), 7, 3)) {
			continue;
		}
		const struct cufft_case *c = &cufft_cases[i];
		kz_array *array = cufft_random(c->dtype, c->shape);
		bool is_used = cufft_compare(c, array);
		ck_assert_msg(is_used || !fake, "case %d is left to our kernels", (int)i);
		kz_array_release(array);
	}
}

/* A view of a random array: its axes in another order, some cut, some of every second element. */
static kz_array *cufft_random_view(kz_dtype dtype)
{
	kz_shape shape = {.ndim = 1 + cufft_draw(4)};
	kz_axes order = {.count = shape.ndim};
	kz_slice items[4];
	kz_array *cut, *view;
	for (int64_t i = 0; i < shape.ndim; i++) {
		int kind = cufft_draw(6);
		shape.dims[i] = 2 + cufft_draw(9);
		order.items[i] = i;
		items[i] = kz_slice_range(kind == 0, shape.dims[i], kind == 1 ? 2 : 1);
	}
	for (int64_t i = shape.ndim - 1; i > 0 && cufft_draw(3) == 0; i--) {
		order.items[i] = i - 1;
		order.items[i - 1] = i;
		i--;
	}
	kz_array *array = cufft_random(dtype, shape);
	ok(kz_array_slice(&cut, array, (kz_slices){items, shape.ndim}, &err));
	ok(kz_array_transpose(&view, cut, order, &err));
	release_arrays(array, cut);
	return view;
}

DEVICE_TEST(they_agree_on_random_views)
{
	int used = 0, rounds = support_how_many(2000, 12, 5);
	for (int i = 0; i < rounds; i++) {
		struct cufft_case c = {.function = (enum cufft_function)cufft_draw(4),
			.norm = (kz_fft_norm)cufft_draw(3)};
		bool is_double = cufft_draw(2), is_real = c.function == RFFT || cufft_draw(8) == 0;
		c.dtype = is_real && c.function != IRFFT ? is_double ? KZ_F64 : KZ_F32
			: is_double ? KZ_C128 : KZ_C64;
		kz_array *array = cufft_random_view(c.dtype);
		int64_t ndim = kz_array_shape(array).ndim, first = cufft_draw((int)ndim);
		for (int64_t k = 0; k < ndim; k++) {
			if (k == 0 || cufft_draw(2)) {
				c.axes.items[c.axes.count++] = (first + k) % ndim;
			}
		}
		bool is_empty = c.function == IRFFT
			&& kz_array_shape(array).dims[c.axes.items[c.axes.count - 1]] == 1;
		used += !is_empty && cufft_compare(&c, array);
		kz_array_release(array);
	}
	ck_assert(!fake || (used > rounds / 5 && used < rounds));
}

/* Calls */

/* In elements; those that were not asked for are 0. */
static const struct {
	enum cufft_function function;
	kz_dtype dtype;
	kz_shape shape;
	kz_axes axes;
	struct cufft_layout asked;
} cufft_layouts[] = {
	{FFT, KZ_C64, {1, {60}}, {1, {0}}, {CUFFT_C2C, 1, 1, {60}, {{60}, 1, 60}, {{60}, 1, 60}}},
	{IFFT, KZ_C128, {2, {7, 34}}, {1, {1}},
		{CUFFT_Z2Z, 1, 7, {34}, {{34}, 1, 34}, {{34}, 1, 34}}},
	{FFT, KZ_C64, {2, {34, 7}}, {1, {0}}, {CUFFT_C2C, 1, 7, {34}, {{34}, 7, 1}, {{34}, 7, 1}}},
	{FFT, KZ_C64, {4, {2, 3, 4, 5}}, {3, {1, 3, 2}},
		{CUFFT_C2C, 3, 2, {3, 4, 5}, {{3, 4, 5}, 1, 60}, {{3, 4, 5}, 1, 60}}},
	{FFT, KZ_C64, {4, {2, 3, 4, 5}}, {2, {0, 1}},
		{CUFFT_C2C, 2, 20, {2, 3}, {{2, 3}, 20, 1}, {{2, 3}, 20, 1}}},
	{FFT, KZ_C64, {3, {2, 3, 4}}, {2, {0, 2}},
		{CUFFT_C2C, 2, 3, {2, 4}, {{2, 12}, 1, 4}, {{2, 12}, 1, 4}}},
	{RFFT, KZ_F32, {3, {2, 6, 10}}, {2, {1, 2}},
		{CUFFT_R2C, 2, 2, {6, 10}, {{6, 10}, 1, 60}, {{6, 6}, 1, 36}}},
	{RFFT, KZ_F64, {2, {9, 4}}, {1, {0}}, {CUFFT_D2Z, 1, 4, {9}, {{9}, 4, 1}, {{5}, 4, 1}}},
	{IRFFT, KZ_C128, {2, {3, 6}}, {1, {1}},
		{CUFFT_Z2D, 1, 3, {10}, {{6}, 1, 6}, {{10}, 1, 10}}},
};

CUFFT_STUB_TEST(plans_describe_the_arrays)
{
	for (size_t i = 0; i < countof(cufft_layouts); i++) {
		kz_array *out, *array = cufft_random(cufft_layouts[i].dtype,
			cufft_layouts[i].shape);
		enum cufft_function function = cufft_layouts[i].function;
		ok(cufft_try(&out, function, array, cufft_layouts[i].axes, NULL));
		ck_assert_mem_eq(&fake->last, &cufft_layouts[i].asked, sizeof(fake->last));
		ck_assert_ptr_eq(fake->stream, kz_stream_handle(kz_device_stream(dev)));
		ck_assert_uint_eq((uintptr_t)fake->out, kz_array_address(out));
		ck_assert(function == IRFFT || (uintptr_t)fake->in == kz_array_address(array));
		ck_assert_int_eq(fake->direction, function == FFT || function == RFFT ? -1 : 1);
		release_arrays(out, array);
	}
}

/* A view with gaps, in the stream of the options. */
CUFFT_STUB_TEST(a_view_is_read_where_it_is)
{
	const struct cufft_layout asked = {CUFFT_C2C, 2, 1, {4, 3}, {{4, 12}, 2, 96},
		{{4, 3}, 1, 12}};
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	kz_array *out, *view, *array = cufft_random(KZ_C64, KZ_SHAPE(8, 12));
	ok(kz_array_slice(&view, array, KZ_AT(KZ_SLICE(1, 8, 2), KZ_SLICE(2, 8, 2)), &err));
	ok(kz_stream_create(&options.stream, dev, 0, &err));
	ok(kz_fft(&out, view, KZ_ALL_AXES, &options, &err));
	ck_assert_mem_eq(&fake->last, &asked, sizeof(asked));
	ck_assert_uint_eq((uintptr_t)fake->in, kz_array_address(array) + (12 + 2) * 8);
	ck_assert_ptr_eq(fake->stream, kz_stream_handle(options.stream));
	ok(kz_device_synchronize(dev, &err));
	kz_stream_release(options.stream);
	release_arrays(out, view, array);
}

static const struct cufft_case cufft_others[] = {
	{FFT, KZ_F32, {1, {8}}, {1, {0}}, {0}, 0},                   /* real numbers, a full
	                                                                spectrum */
	{FFT, KZ_C64, {4, {2, 2, 2, 2}}, {4, {0, 1, 2, 3}}, {0}, 0}, /* four axes */
	{FFT, KZ_C64, {3, {2, 3, 4}}, {1, {1}}, {0}, 0},             /* the others are no batch */
	{FFT, KZ_C64, {2, {5, 1}}, {1, {1}}, {0}, 0},                /* nothing to transform */
	{RFFT, KZ_F32, {2, {4, 6}}, {2, {1, 0}}, {0}, 0},            /* the real axis is not
	                                                                inside */
	{RFFT, KZ_F32, {2, {4, 1}}, {1, {1}}, {0}, 0},
	{IRFFT, KZ_C64, {2, {4, 1}}, {1, {1}}, {1, {1}}, 0},
	{IRFFT, KZ_C64, {3, {2, 5, 4}}, {1, {1}}, {0}, 0},
};

CUFFT_STUB_TEST(what_cufft_cannot_do_is_done_by_our_kernels)
{
	for (size_t i = 0; i < countof(cufft_others); i++) {
		kz_array *array = cufft_random(cufft_others[i].dtype, cufft_others[i].shape);
		ck_assert(!cufft_compare(&cufft_others[i], array));
		ck_assert_int_eq(fake->made, 0);
		kz_array_release(array);
	}
}

/* Backwards, repeated, overlapping, and at an odd address. */
CUFFT_STUB_TEST(strides_that_cufft_cannot_have_are_left_to_our_kernels)
{
	const struct cufft_case both = {FFT, KZ_C64, {0}, {2, {0, 1}}, {0}, 0};
	const struct cufft_case real = {RFFT, KZ_F32, {0}, {1, {0}}, {0}, 0};
	kz_array *views[5], *array = cufft_random(KZ_C64, KZ_SHAPE(4, 6)), *row, *numbers;
	ok(kz_array_flip(&views[0], array, KZ_AXES(1), &err));
	ok(kz_array_slice(&row, array, KZ_AT(KZ_INDEX(0)), &err));
	ok(kz_array_broadcast_to(&views[1], row, KZ_SHAPE(3, 6), &err));
	ok(kz_array_view(&views[2], array, KZ_SHAPE(3, 4), (const int64_t[]){16, 8}, 0, &err));
	ok(kz_array_transpose(&views[3], array, KZ_AXES(1, 0), &err));
	ok(kz_array_view_as(&numbers, row, KZ_F32, &err));
	ok(kz_array_slice(&views[4], numbers, KZ_AT(KZ_SLICE(1, 11)), &err));
	for (int i = 0; i < 5; i++) {
		ck_assert_msg(!cufft_compare(i == 4 ? &real : &both, views[i]), "view %d", i);
		kz_array_release(views[i]);
	}
	ck_assert_int_eq(fake->made, 0);
	release_arrays(array, row, numbers);
}

/* The operand itself, and a part of it, as the target. */
DEVICE_TEST(a_transform_may_replace_its_operand)
{
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	kz_array *out, *array = cufft_random(KZ_C64, KZ_SHAPE(4, 6));
	ok(kz_fft(&out, array, KZ_AXES(1), NULL, &err));
	double complex *expected = support_read(out, KZ_C128);
	options.into = array;
	ok(kz_fft(NULL, array, KZ_AXES(1), &options, &err));
	double complex *got = support_read(array, KZ_C128);
	ck_assert_mem_eq(expected, got, 24 * sizeof(*got));
	free(expected);
	free(got);
	release_arrays(out, array);
}

SUITE(cufft)
{
	Suite *suite = suite_create("cufft");
	TCase *tcase = suite_add_case(suite, "cufft");
	tcase_set_timeout(tcase, getenv("KUDZU_TEST_SLOW") ? 600 : 60);
	tcase_add_tests(tcase, support_device_count(), cufft_and_our_kernels_agree,
		they_agree_on_random_views, plans_describe_the_arrays, a_view_is_read_where_it_is,
		what_cufft_cannot_do_is_done_by_our_kernels,
		strides_that_cufft_cannot_have_are_left_to_our_kernels,
		a_transform_may_replace_its_operand);
	return suite;
}
