/* SPDX-License-Identifier: MIT */
/* Convolutions and correlations on every device, against their definition: sums of products on the
 * host. */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <kudzu/fft.h>

#include <complex.h>
#include <math.h>
#include <string.h>

enum { LONGEST = 1200 };

static uint64_t convolve_draw(void)
{
	static uint64_t state = 1;
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return state >> 32 ^ state << 31;
}

/* The elements whose products make sum k of all: a[k - j] b[j]. */
static void convolve_range(int64_t *from, int64_t *to, int64_t n, int64_t m, int64_t k)
{
	*from = k < n ? 0 : k - n + 1;
	*to = k < m ? k + 1 : m;
}

/* The first of the sums that a mode keeps, and how many. */
static int64_t convolve_first(int64_t *count, kz_convolve_mode mode, int64_t n, int64_t m)
{
	int64_t small = n < m ? n : m, large = n + m - small;
	*count = mode == KZ_CONVOLVE_FULL ? n + m - 1 : mode == KZ_CONVOLVE_SAME ? large
		: large - small + 1;
	return mode == KZ_CONVOLVE_FULL ? 0 : mode == KZ_CONVOLVE_SAME ? (small - 1) / 2
		: small - 1;
}

/* By the definition of all sums; the modes keep parts of these. */
DEVICE_TEST(convolutions_have_the_modes_of_numpy)
{
	static const double a[4] = {1, 2, 3, 4}, b[2] = {1, 10};
	static const struct {
		bool is_correlation, is_turned;
		kz_convolve_mode mode;
		int64_t count;
		double sums[5];
	} cases[] = {
		{false, false, KZ_CONVOLVE_FULL, 5, {1, 12, 23, 34, 40}},
		{false, true, KZ_CONVOLVE_SAME, 4, {1, 12, 23, 34}},
		{false, false, KZ_CONVOLVE_VALID, 3, {12, 23, 34}},
		{true, false, KZ_CONVOLVE_FULL, 5, {10, 21, 32, 43, 4}},
		{true, false, KZ_CONVOLVE_SAME, 4, {10, 21, 32, 43}},
		{true, true, KZ_CONVOLVE_SAME, 4, {43, 32, 21, 10}},
		{true, true, KZ_CONVOLVE_VALID, 3, {43, 32, 21}},
	};
	kz_array *x, *y, *result = NULL, *flat;
	ok(kz_array_from(&x, dev, KZ_F64, KZ_SHAPE(4), a, sizeof(a), &err));
	ok(kz_array_from(&y, dev, KZ_F64, KZ_SHAPE(2), b, sizeof(b), &err));
	ok(kz_array_view(&flat, x, KZ_SHAPE(2, 2), NULL, 0, &err));
	for (size_t i = 0; i < countof(cases); i++) {
		double got[5];
		bool turned = cases[i].is_turned;
		ok((cases[i].is_correlation ? kz_correlate : kz_convolve)(&result, turned ? y : x,
			turned ? x : y, cases[i].mode, NULL, &err));
		ck_assert_int_eq(kz_array_count(result), cases[i].count);
		ok(kz_array_get(result, got, cases[i].count * 8, &err));
		for (int64_t k = 0; k < cases[i].count; k++) {
			ck_assert(got[k] == cases[i].sums[k]);
		}
		kz_array_release(result);
	}
	fails(kz_convolve(&result, flat, y, KZ_CONVOLVE_FULL, NULL, &err), KZ_INVALID,
		"convolve: expected sequences of at least one element, got shape (2, 2)");
	fails(kz_correlate(&result, x, y, (kz_convolve_mode)3, NULL, &err), KZ_INVALID,
		"correlate: 3 is not a kz_convolve_mode");
	fails(kz_convolve(NULL, x, y, KZ_CONVOLVE_FULL, NULL, &err), KZ_INVALID, "out is NULL");
	ck_assert_ptr_null(result);
	release_arrays(x, y, flat);
}

/* Random bytes as integers; their values modulo 2^64, of bool 0 and 1. */
static kz_array *convolve_integers(uint64_t *values, kz_dtype dtype, int64_t count)
{
	int64_t size = dtype_size(dtype);
	unsigned char bytes[LONGEST * 8];
	kz_array *array;
	for (int64_t i = 0; i < count; i++) {
		uint64_t value = dtype == KZ_BOOL ? convolve_draw() % 8 == 0 : convolve_draw();
		memcpy(bytes + i * size, &value, (size_t)size);
		int unused = 64 - 8 * (int)size;
		values[i] = !dtype_is_signed(dtype) ? value << unused >> unused
			: (uint64_t)((int64_t)(value << unused) >> unused);
	}
	ok(kz_array_from(&array, dev, dtype, KZ_SHAPE(count), bytes, size * count, &err));
	return array;
}

/* Each sum modulo 2^bits, in numpy's type of the two. */
static void convolve_check_integers(kz_dtype first, kz_dtype second, int64_t n, int64_t m,
	kz_convolve_mode mode)
{
	static uint64_t a[LONGEST], b[LONGEST], got[2 * LONGEST];
	kz_array *x = convolve_integers(a, first, n), *y = convolve_integers(b, second, m), *out;
	kz_dtype dtype = kz_dtype_promote(first, second);
	int64_t count, top = convolve_first(&count, mode, n, m), size = dtype_size(dtype);
	int unused = 64 - 8 * (int)size;
	ok(kz_convolve(&out, x, y, mode, NULL, &err));
	ck_assert_uint_eq(kz_array_dtype(out), dtype);
	ck_assert_int_eq(kz_array_count(out), count);
	ok(kz_array_get(out, got, size * count, &err));
	for (int64_t k = 0; k < count; k++) {
		uint64_t sum = 0, value = 0;
		int64_t from, to;
		convolve_range(&from, &to, n, m, top + k);
		for (int64_t j = from; j < to; j++) {
			sum += a[top + k - j] * b[j];
		}
		memcpy(&value, (const char *)got + k * size, (size_t)size);
		sum = dtype == KZ_BOOL ? sum > 0 : sum << unused >> unused;
		ck_assert_msg(value == sum, "%s, %lld by %lld: sum %lld", kz_dtype_name(dtype),
			(long long)n, (long long)m, (long long)k);
	}
	release_arrays(x, y, out);
}

DEVICE_TEST(integers_are_exact_at_every_length)
{
	static const int64_t lengths[][2] = {{1, 1}, {1, 7}, {130, 3}, {255, 257}, {40, 1200},
		{1200, 1100}};
	static const kz_dtype mixed[][2] = {{KZ_I8, KZ_I64}, {KZ_BOOL, KZ_U16}, {KZ_I32, KZ_U32}};
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_EXACT));) {
		for (size_t i = 0; i < countof(lengths); i++) {
			convolve_check_integers(dtype, dtype, lengths[i][0], lengths[i][1],
				(kz_convolve_mode)((dtype + i) % 3));
		}
	}
	for (size_t i = 0; i < countof(mixed); i++) {
		convolve_check_integers(mixed[i][0], mixed[i][1], 300, 40, KZ_CONVOLVE_FULL);
		convolve_check_integers(mixed[i][1], mixed[i][0], 300, 40, KZ_CONVOLVE_SAME);
	}
}

DEVICE_TEST(the_options_say_what_integers_become)
{
	static const int32_t a[3] = {INT32_MAX, INT32_MAX, 1}, b[2] = {1, INT32_MAX};
	static const int64_t wide[4] = {INT32_MAX, INT32_MAX + INT64_C(4611686014132420609),
		INT64_C(4611686014132420610), INT32_MAX};
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_array *x, *y, *out, *into;
	int64_t got[4];
	double floats[4];
	ok(kz_array_from(&x, dev, KZ_I32, KZ_SHAPE(3), a, sizeof(a), &err));
	ok(kz_array_from(&y, dev, KZ_I32, KZ_SHAPE(2), b, sizeof(b), &err));
	options.dtype = KZ_I64;
	ok(kz_convolve(&out, x, y, KZ_CONVOLVE_FULL, &options, &err));
	ok(kz_array_get(out, got, sizeof(got), &err));
	ck_assert_mem_eq(got, wide, sizeof(got));
	kz_array_release(out);
	ok(kz_array_zeros(&into, dev, KZ_F64, KZ_SHAPE(4), &err));
	options.dtype = 0;
	options.into = into;
	ok(kz_convolve(NULL, x, y, KZ_CONVOLVE_FULL, &options, &err));
	ok(kz_array_get(into, floats, sizeof(floats), &err));
	ck_assert(floats[0] == INT32_MAX && floats[1] == (int32_t)wide[1]
		&& floats[3] == INT32_MAX);
	release_arrays(x, y, into);
	kz_array *bits = support_array_of(dev, KZ_BOOL, (const double[]){1, 0, 0}, 3);
	ok(kz_array_zeros(&into, dev, KZ_BOOL, KZ_SHAPE(5), &err));
	options.into = into;
	ok(kz_correlate(NULL, bits, bits, KZ_CONVOLVE_FULL, &options, &err));
	ok(kz_array_get(into, got, 5, &err));
	ck_assert_mem_eq(got, "\0\0\1\0\0", 5);
	release_arrays(bits, into);
}

/* Random floats of a complex or a real type, which is what they are rounded to. */
static kz_array *convolve_floats(double complex *values, kz_dtype dtype, int64_t count)
{
	kz_array *wide, *array;
	for (int64_t i = 0; i < count; i++) {
		double re = (double)(int32_t)convolve_draw() * 0x1p-31;
		double im = dtype_is_complex(dtype) ? (double)(int32_t)convolve_draw() * 0x1p-31
			: 0;
		bool is_single = dtype_part(dtype) == KZ_F32;
		values[i] = is_single ? (float)re + (float)im * I : re + im * I;
	}
	ok(kz_array_from(&wide, dev, KZ_C128, KZ_SHAPE(count), values, 16 * count, &err));
	ok(kz_array_astype(&array, wide, dtype, &err));
	kz_array_release(wide);
	return array;
}

static double convolve_fma(kz_dtype dtype, double a, double b, double c)
{
	return dtype_part(dtype) == KZ_F32 ? fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
}

/* The sum in the order that fft.h promises: a is the longer one. */
static double complex convolve_sum(kz_dtype dtype, const double complex *a, const double complex *b,
	int64_t n, int64_t m, int64_t k)
{
	double re = 0, im = 0;
	int64_t from, to;
	convolve_range(&from, &to, n, m, k);
	for (int64_t j = from; j < to; j++) {
		double complex x = a[k - j], y = b[j];
		if (!dtype_is_complex(dtype)) {
			re = convolve_fma(dtype, creal(x), creal(y), re);
			continue;
		}
		re = convolve_fma(dtype, creal(x), creal(y),
			convolve_fma(dtype, -cimag(x), cimag(y), re));
		im = convolve_fma(dtype, creal(x), cimag(y),
			convolve_fma(dtype, cimag(x), creal(y), im));
	}
	return re + im * I;
}

/* Bit for bit, whatever the mode and the order of the operands. */
DEVICE_TEST(products_of_short_sequences_are_added_in_their_order)
{
	static const kz_dtype dtypes[] = {KZ_F32, KZ_F64, KZ_C64, KZ_C128};
	static double complex a[LONGEST], b[LONGEST], got[2 * LONGEST];
	for (int round = 0; round < 12; round++) {
		kz_dtype dtype = dtypes[round % 4];
		int64_t n = (const int64_t[]){600, 5, 513}[round / 4];
		int64_t m = (const int64_t[]){2048 / dtype_size(dtype), 5, 63}[round / 4], count;
		kz_array *x = convolve_floats(a, dtype, n), *y = convolve_floats(b, dtype, m), *out;
		for (int mode = 0; mode < 3; mode++) {
			int64_t top = convolve_first(&count, (kz_convolve_mode)mode, n, m);
			bool turned = (mode + round) % 2 && n > m;
			ok(kz_convolve(&out, turned ? y : x, turned ? x : y, (kz_convolve_mode)mode,
				NULL, &err));
			ck_assert_uint_eq(kz_array_dtype(out), dtype);
			double complex *values = support_read(out, KZ_C128);
			memcpy(got, values, 16 * (size_t)count);
			free(values);
			for (int64_t k = 0; k < count; k++) {
				ck_assert_msg(got[k] == convolve_sum(dtype, a, b, n, m, top + k),
					"%s: sum %lld of %lld", kz_dtype_name(dtype), (long long)k,
					(long long)count);
			}
			kz_array_release(out);
		}
		release_arrays(x, y);
	}
}

/* A number of a[5] and one of b[2], each alone, reach the sums that have a product of it. */
DEVICE_TEST(nan_and_infinity_stay_where_they_belong)
{
	static const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
	for (int round = 0; round < 36; round++) {
		kz_dtype dtype = (const kz_dtype[]){KZ_F32, KZ_F64, KZ_F16, KZ_BF16, KZ_C64,
			KZ_C128}[round / 6];
		bool is_second = round % 2;
		double a[9], b[3];
		for (int i = 0; i < 9; i++) {
			a[i] = i + 1;
			b[i % 3] = i % 3 + 1;
		}
		*(is_second ? &b[2] : &a[5]) = bad[round / 2 % 3];
		kz_array *x = support_array_of(dev, dtype, a, 9),
			*y = support_array_of(dev, dtype, b, 3), *out;
		ok((round % 3 ? kz_convolve : kz_correlate)(&out, x, y, KZ_CONVOLVE_FULL, NULL,
			&err));
		double complex *got = support_read(out, KZ_C128);
		for (int k = 0; k < 11; k++) {
			// in a correlation b[2] is the first
			int at = round % 3 || !is_second ? k : k + 2;
			bool is_bad = is_second ? at >= 2 && at < 11 : k >= 5 && k < 8;
			double expected = bad[round / 2 % 3];
			ck_assert_msg(is_bad != isfinite(creal(got[k])), "round %d, sum %d", round,
				k);
			ck_assert(!is_bad || dtype_is_complex(dtype) || isnan(expected)
				|| creal(got[k]) == expected);
		}
		free(got);
		release_arrays(x, y, out);
	}
}

DEVICE_TEST(only_sums_that_are_too_large_overflow)
{
	static const float a[2] = {3e38f, -3e38f}, b[2] = {1, 1};
	float got[3];
	kz_array *x, *y, *out;
	ok(kz_array_from(&x, dev, KZ_F32, KZ_SHAPE(2), a, sizeof(a), &err));
	ok(kz_array_from(&y, dev, KZ_F32, KZ_SHAPE(2), b, sizeof(b), &err));
	ok(kz_convolve(&out, x, y, KZ_CONVOLVE_FULL, NULL, &err));
	ok(kz_array_get(out, got, sizeof(got), &err));
	ck_assert(got[0] == 3e38f && got[1] == 0 && got[2] == -3e38f);
	release_arrays(x, y, out);
}

/* One number more than products are added of: the spectra are as good, until one has a NaN. */
DEVICE_TEST(longer_sequences_are_multiplied_as_spectra)
{
	static const kz_dtype dtypes[] = {KZ_F32, KZ_F64, KZ_C64, KZ_C128};
	static double complex a[LONGEST], b[LONGEST];
	for (int round = 0; round < 8; round++) {
		kz_dtype dtype = dtypes[round / 2];
		int64_t n = 700, m = 2048 / dtype_size(dtype) + 1;
		kz_array *x = convolve_floats(a, dtype, n), *y = convolve_floats(b, dtype, m), *out,
			*one;
		if (round % 2) {
			double bad = round % 4 == 1 ? (double)NAN : (double)INFINITY;
			ok(kz_array_slice(&one, y, KZ_AT(KZ_SLICE(4, 5)), &err));
			ok(kz_array_fill(one, KZ_ARG(bad), &err));
			kz_array_release(one);
		}
		ok(kz_convolve(&out, x, y, KZ_CONVOLVE_FULL, NULL, &err));
		double complex *got = support_read(out, KZ_C128);
		for (int64_t k = 0; k < n + m - 1; k++) {
			double complex sum = convolve_sum(KZ_C128, a, b, n, m, k);
			double bound = dtype_part(dtype) == KZ_F32 ? 1e-4 : 1e-12;
			ck_assert(round % 2 ? !isfinite(creal(got[k])) || !isfinite(cimag(got[k]))
				: cabs(got[k] - sum) < bound);
		}
		free(got);
		release_arrays(x, y, out);
	}
}

/* Views of one element that count as many: nothing is begun that cannot be finished. */
DEVICE_TEST(sequences_that_are_too_long_are_refused)
{
	static const kz_dtype dtypes[] = {KZ_F32, KZ_I64, KZ_C128};
	for (size_t i = 0; i < countof(dtypes); i++) {
		kz_array *one, *x, *y, *out = NULL;
		ok(kz_array_ones(&one, dev, dtypes[i], KZ_SHAPE(1), &err));
		ok(kz_array_broadcast_to(&x, one, KZ_SHAPE(INT64_C(1) << 58), &err));
		ok(kz_array_broadcast_to(&y, one, KZ_SHAPE(3), &err));
		for (int mode = 0; mode < 3; mode++) {
			ck_assert_int_ne(kz_convolve(&out, x, y, (kz_convolve_mode)mode, NULL,
				&err), KZ_OK);
			kz_error_clear(&err);
			ck_assert_int_ne(kz_correlate(&out, x, x, (kz_convolve_mode)mode, NULL,
				&err), KZ_OK);
			kz_error_clear(&err);
			ck_assert_ptr_null(out);
		}
		release_arrays(one, x, y);
	}
}

SUITE(convolve)
{
	Suite *suite = suite_create("convolve");
	TCase *tcase = suite_add_case(suite, "convolve");
	tcase_set_timeout(tcase, 60);
	tcase_add_tests(tcase, both_shapes_count(), convolutions_have_the_modes_of_numpy,
		integers_are_exact_at_every_length, the_options_say_what_integers_become,
		products_of_short_sequences_are_added_in_their_order,
		nan_and_infinity_stay_where_they_belong, only_sums_that_are_too_large_overflow,
		longer_sequences_are_multiplied_as_spectra,
		sequences_that_are_too_long_are_refused);
	return suite;
}
