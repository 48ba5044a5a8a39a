/* SPDX-License-Identifier: MIT */
/*
 * Fourier transforms on every device, against their definition in long double.  The bound of the
 * error is relative, root mean square: a few roundings times the logarithm of the length.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/dtype.h"
#include "cpu/support/both_shapes.h"
#include "support/suite.h"
#include "support/support.h"

#include <kudzu/check.h>
#include <kudzu/fft.h>

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 64 };

static uint32_t state;

static double fft_draw(void)
{
	state = state * 1664525u + 1013904223u;
	return (int32_t)state * 0x1p-31;
}

/* Random elements of a complex type, and their values. */
static kz_array *fft_random(double complex **values, kz_dtype dtype, kz_shape shape)
{
	kz_array *wide, *array;
	int64_t count = support_count(&shape), size = count * (int64_t)sizeof(**values);
	*values = malloc((size_t)size + 1);
	for (int64_t i = 0; i < count; i++) {
		double re = fft_draw(), im = fft_draw();
		(*values)[i] = dtype == KZ_C64 ? (float)re + (float)im * I : re + im * I;
	}
	ok(kz_array_from(&wide, dev, KZ_C128, shape, *values, size, &err));
	ok(kz_array_astype(&array, wide, dtype, &err));
	kz_array_release(wide);
	return array;
}

/* Element k of the transform of n numbers that are `step` apart. */
static complex long double fft_defined(const double complex *x, int64_t n, int64_t step, int64_t k,
	int sign)
{
	const long double turn = 6.283185307179586476925286766559005768L;
	complex long double sum = 0;
	for (int64_t j = 0; j < n; j++) {
		long double angle = turn * (long double)((__int128)j * k % n) / (long double)n;
		sum += x[j * step] * (cosl(angle) + sign * sinl(angle) * I);
	}
	return sum;
}

struct fft_error {
	long double difference, size;
};

static void fft_add_error(struct fft_error *error, complex long double expected, double complex got)
{
	long double d = cabsl(expected - got), s = cabsl(expected);
	error->difference += d * d;
	error->size += s * s;
}

static void fft_check_error(const struct fft_error *error, kz_dtype dtype, int64_t n)
{
	long double unit = dtype == KZ_C64 ? 0x1p-24L : 0x1p-53L;
	long double bound = unit * (1 + log2l((long double)n));
	long double relative = sqrtl(error->difference / error->size);
	ck_assert_msg(relative <= bound, "length %lld: %Lg, expected at most %Lg", (long long)n,
		relative, bound);
}

/* `rows` transforms of length n, of which some elements are checked. */
static void fft_check_length(int64_t n, int64_t rows, kz_dtype dtype, bool is_inverse)
{
	double complex *from, *to;
	struct fft_error error = {0, 0};
	kz_array *result, *array = fft_random(&from, dtype, KZ_SHAPE(rows, n));
	ok((is_inverse ? kz_ifft : kz_fft)(&result, array, KZ_AXES(-1), NULL, &err));
	ck_assert_uint_eq(kz_array_dtype(result), dtype);
	to = support_read(result, KZ_C128);
	int64_t step = rows * n / SAMPLES + 1;
	for (int64_t i = 0; i < rows * n; i += step) {
		complex long double expected = fft_defined(from + i / n * n, n, 1, i % n,
			is_inverse ? 1 : -1);
		fft_add_error(&error, is_inverse ? expected / n : expected, to[i]);
	}
	fft_check_error(&error, dtype, n);
	free(from);
	free(to);
	kz_array_release(array);
	kz_array_release(result);
}

static const int64_t short_lengths[] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 19, 23, 26, 29, 31, 32, 37, 49, 64, 97, 100,
	121, 128, 169, 199, 256, 527,
};

DEVICE_TEST(short_transforms_follow_the_definition)
{
	bool is_slow = getenv("KUDZU_TEST_SLOW");
	for (int64_t i = 0; i < (is_slow ? 200 : (int64_t)countof(short_lengths)); i++) {
		if (!both_shapes_try((size_t)i, is_slow ? 200 : countof(short_lengths), 7, 2)) {
			continue;
		}
		int64_t n = is_slow ? i + 1 : short_lengths[i];
		fft_check_length(n, n % 2 ? 37 : 3, n % 3 ? KZ_C64 : KZ_C128, n % 5 == 0);
	}
}

static const int64_t long_lengths[] = {
	1000, 1024, 1009, 2310, 4096, 10007, 16384, 30030, 59049, 65536, 99991, 117649,
};

DEVICE_TEST(long_transforms_follow_the_definition)
{
	bool is_slow = getenv("KUDZU_TEST_SLOW");
	for (size_t i = 0; i < countof(long_lengths); i++) {
		if (!both_shapes_try(i, countof(long_lengths), 2, 1)) {
			continue;
		}
		for (int kind = 0; kind < (is_slow ? 4 : 1); kind++) {
			fft_check_length(long_lengths[i], 1 + kind / 2,
				(int)i % 2 == kind % 2 ? KZ_C64
				: KZ_C128, kind / 2);
		}
	}
}

/* Rows that are columns of one pass, rows that are split in two, and those of Bluestein's
 * algorithm. */
DEVICE_TEST(many_rows_follow_the_definition)
{
	static const int64_t lengths[] = {512, 600, 1024, 1029, 2187, 3000, 17, 31, 97, 101, 509,
		2039};
	for (size_t i = 0; i < countof(lengths); i++) {
		if (!both_shapes_try(i, countof(lengths), 3, 1)) {
			continue;
		}
		fft_check_length(lengths[i], 33 + (int64_t)i, i % 2 ? KZ_C128 : KZ_C64, i % 3 == 0);
	}
}

/* The first axis, the middle one and the last one of an array with gaps, backwards. */
DEVICE_TEST(any_axis_of_any_strides_is_transformed)
{
	double complex *from, *to;
	kz_array *view, *turned, *result, *array = fft_random(&from, KZ_C64, KZ_SHAPE(10, 9, 40));
	ok(kz_array_slice(&view, array, KZ_AT(KZ_ALL, KZ_SLICE(8, KZ_OMIT, -1), KZ_SLICE(1, 40, 3)),
		&err));
	ok(kz_array_transpose(&turned, view, KZ_AXES(2, 0, 1), &err));
	double complex *values = support_read(turned, KZ_C128);
	int64_t dims[3] = {13, 10, 9}, steps[3] = {90, 9, 1};
	for (int axis = 0; axis < 3; axis++) {
		struct fft_error error = {0, 0};
		ok(kz_fft(&result, turned, KZ_AXES(axis), NULL, &err));
		to = support_read(result, KZ_C128);
		for (int64_t i = 0; i < 13 * 10 * 9; i += 7) {
			int64_t k = i / steps[axis] % dims[axis];
			fft_add_error(&error, fft_defined(values + i - k * steps[axis], dims[axis],
				steps[axis], k, -1), to[i]);
		}
		fft_check_error(&error, KZ_C64, dims[axis]);
		free(to);
		kz_array_release(result);
	}
	free(from);
	free(values);
	kz_array_release(turned);
	kz_array_release(view);
	kz_array_release(array);
}

static void fft_take_report(void *user, const kz_report *report)
{
	ck_abort_msg("%s", report->text);
	(void)user;
}

/* With 40 columns the last tile is not full. */
DEVICE_TEST(no_two_blocks_of_a_transform_write_one_element)
{
	kz_array *array, *result;
	if (!dev->on_host) {
		return;
	}
	setenv("KUDZU_CHECK_PRINT", "0", 1);
	ok(kz_device_set_option(dev, KZ_OPTION_CHECK, KZ_CHECK_RACE, &err));
	ok(kz_array_ones(&array, dev, KZ_C64, KZ_SHAPE(64, 40), &err));
	ok(kz_fft(&result, array, KZ_AXES(0), NULL, &err));
	ok(kz_device_synchronize(dev, &err));
	ok(kz_device_reports(dev, fft_take_report, NULL, &err));
	kz_array_release(result);
	kz_array_release(array);
}

/* The array for the result has the operand's bytes in another buffer, and in another order. */
DEVICE_TEST(a_result_may_go_to_wrapped_memory_of_the_operand)
{
	enum { N = 100 };
	double complex *from, *to;
	kz_array *array = fft_random(&from, KZ_C64, KZ_SHAPE(N, N)), *turned;
	struct fft_error error = {0, 0};
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	kz_buffer *buffer;
	ok(kz_buffer_wrap(&buffer, dev, kz_array_address(array), N * N * 8, NULL, NULL, &err));
	ok(kz_array_wrap(&options.into, buffer, KZ_C64, KZ_SHAPE(N, N), NULL, 0, &err));
	ok(kz_array_transpose(&turned, array, KZ_AXES(1, 0), &err));
	ok(kz_fft(NULL, turned, KZ_AXES(1), &options, &err));
	to = support_read(options.into, KZ_C128);
	for (int i = 0; i < N * N; i += 7) {
		fft_add_error(&error, fft_defined(from + i / N, N, N, i % N, -1), to[i]);
	}
	fft_check_error(&error, KZ_C64, N);
	free(from);
	free(to);
	kz_array_release(turned);
	kz_array_release(options.into);
	kz_buffer_release(buffer);
	kz_array_release(array);
}

/* Three axes at once are one after the other; and back. */
DEVICE_TEST(several_axes_are_one_after_the_other)
{
	double complex *from, *to, *expected;
	kz_array *all, *one, *back, *array = fft_random(&from, KZ_C128, KZ_SHAPE(6, 5, 8));
	struct fft_error error = {0, 0}, round = {0, 0};
	kz_fft_options into = KZ_FFT_OPTIONS_INIT;
	ok(kz_fft(&all, array, KZ_ALL_AXES, NULL, &err));
	ok(kz_array_astype(&one, array, KZ_C128, &err));
	into.into = one;
	for (int axis = 0; axis < 3; axis++) {
		ok(kz_fft(NULL, one, KZ_AXES(axis), &into, &err));
	}
	ok(kz_ifft(&back, all, KZ_AXES(2, 0, 1), NULL, &err));
	to = support_read(all, KZ_C128);
	expected = support_read(one, KZ_C128);
	for (int i = 0; i < 240; i++) {
		fft_add_error(&error, expected[i], to[i]);
	}
	free(to);
	to = support_read(back, KZ_C128);
	for (int i = 0; i < 240; i++) {
		fft_add_error(&round, from[i], to[i]);
	}
	fft_check_error(&error, KZ_C128, 240);
	fft_check_error(&round, KZ_C128, 240);
	free(from);
	free(to);
	free(expected);
	kz_array_release(all);
	kz_array_release(one);
	kz_array_release(back);
	kz_array_release(array);
}

/* [1, 2, 3] cut off, continued, and with each norm; element 0 is the sum. */
DEVICE_TEST(lengths_and_norms_are_those_of_numpy)
{
	static const double host[3] = {1, 2, 3};
	static const struct {
		int64_t length;
		kz_fft_norm norm;
		double forward, backward;
	} cases[] = {
		{3, KZ_FFT_BACKWARD, 6, 2}, {2, KZ_FFT_BACKWARD, 3, 1.5},
		{8, KZ_FFT_BACKWARD, 6, 0.75},
		{4, KZ_FFT_ORTHO, 3, 3}, {3, KZ_FFT_FORWARD, 2, 6},
	};
	kz_array *array, *result;
	ok(kz_array_from(&array, dev, KZ_F64, KZ_SHAPE(3), host, sizeof(host), &err));
	for (size_t i = 0; i < countof(cases); i++) {
		kz_fft_options options = KZ_FFT_OPTIONS_INIT;
		options.lengths = KZ_SHAPE(cases[i].length);
		options.norm = cases[i].norm;
		for (int back = 0; back < 2; back++) {
			ok((back ? kz_ifft : kz_fft)(&result, array, KZ_AXES(0), &options, &err));
			ck_assert_int_eq(kz_array_count(result), cases[i].length);
			double complex *values = support_read(result, KZ_C128);
			ck_assert_double_eq_tol(creal(values[0]),
				back ? cases[i].backward : cases[i].forward, 1e-15);
			free(values);
			kz_array_release(result);
		}
	}
	kz_array_release(array);
}

/* Even and odd lengths, by passes and by Bluestein's algorithm; rows, and columns of odd steps. */
static const int64_t real_lengths[] = {1, 2, 3, 4, 6, 7, 16, 51, 74, 97, 100, 210};

static void fft_check_real(int64_t n, kz_dtype dtype, bool is_column)
{
	double complex *from, *spectrum, *back;
	kz_array *real, *half, *again, *array = fft_random(&from, dtype, KZ_SHAPE(3, n));
	kz_axes axes = is_column ? KZ_AXES(0) : KZ_AXES(1);
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	struct fft_error forward = {0, 0}, backward = {0, 0};
	ok(kz_array_real(&real, array, &err));
	if (is_column) {
		kz_array *turned;
		ok(kz_array_transpose(&turned, real, KZ_AXES(), &err));
		kz_array_release(real);
		real = turned;
	}
	for (int64_t i = 0; i < 3 * n; i++) {
		from[i] = creal(from[i]);
	}
	ok(kz_rfft(&half, real, axes, NULL, &err));
	options.lengths = KZ_SHAPE(n);
	ok(kz_irfft(&again, half, axes, &options, &err));
	ck_assert_uint_eq(kz_array_dtype(again), dtype_part(dtype));
	spectrum = support_read(half, KZ_C128);
	back = support_read(again, KZ_C128);
	int64_t count = n / 2 + 1, step = is_column ? 3 : 1;
	ck_assert_int_eq(kz_array_count(half), 3 * count);
	for (int64_t row = 0; row < 3; row++) {
		for (int64_t k = 0; k < count; k++) {
			fft_add_error(&forward, fft_defined(from + row * n, n, 1, k, -1),
				spectrum[is_column ? k * step + row : row * count + k]);
		}
		for (int64_t j = 0; j < n; j++) {
			fft_add_error(&backward, from[row * n + j],
				back[is_column ? j * step + row : row * n + j]);
		}
	}
	fft_check_error(&forward, dtype, 2 * n);
	fft_check_error(&backward, dtype, 4 * n);
	free(from);
	free(spectrum);
	free(back);
	kz_array_release(array);
	kz_array_release(real);
	kz_array_release(half);
	kz_array_release(again);
}

DEVICE_TEST(real_numbers_have_half_of_a_spectrum)
{
	for (size_t i = 0; i < countof(real_lengths); i++) {
		if (!both_shapes_try(i, countof(real_lengths), 4, 1)) {
			continue;
		}
		fft_check_real(real_lengths[i], i % 3 ? KZ_C64 : KZ_C128, i % 2);
	}
}

/* [1 + 5i, 2, 3 + 7i] is the half of 4 real numbers; without its last element, of 3. */
DEVICE_TEST(imaginary_parts_of_real_elements_are_ignored)
{
	static const double complex host[3] = {1 + 5 * I, 2, 3 + 7 * I};
	static const double even[4] = {2, -0.5, 0, -0.5};
	double got[4];
	kz_array *array, *result;
	ok(kz_array_from(&array, dev, KZ_C128, KZ_SHAPE(3), host, sizeof(host), &err));
	ok(kz_irfft(&result, array, KZ_AXES(0), NULL, &err));
	ok(kz_array_get(result, got, sizeof(got), &err));
	for (int i = 0; i < 4; i++) {
		ck_assert_double_eq_tol(got[i], even[i], 1e-15);
	}
	kz_array_release(result);
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	options.lengths = KZ_SHAPE(3);
	ok(kz_irfft(&result, array, KZ_AXES(0), &options, &err));
	ok(kz_array_get(result, got, 3 * sizeof(*got), &err));
	ck_assert_double_eq_tol(got[0], 5. / 3, 1e-15);
	ck_assert_double_eq_tol(got[1], -1. / 3, 1e-15);
	kz_array_release(result);
	kz_array_release(array);
}

/* Element k of the cosine transform of n numbers that are `step` apart, by its sum. */
static long double fft_cosine_sum(const double complex *x, int type, int64_t n, int64_t step,
	int64_t k, bool is_ortho)
{
	const long double pi = 3.14159265358979323846264338327950288L, root = sqrtl(2);
	int64_t period = type == 1 ? 2 * (n - 1) : type == 4 ? 8 * n : 4 * n;
	long double sum = 0;
	for (int64_t j = 0; j < n; j++) {
		bool is_end = (type == 1 && (j == 0 || j == n - 1)) || (type == 3 && j == 0);
		int64_t angle = type == 1 ? j * k : type == 2 ? (2 * j + 1) * k
			: type == 3 ? j * (2 * k + 1) : (2 * j + 1) * (2 * k + 1);
		long double value = creal(x[j * step]) * (is_end ? is_ortho ? root : 1 : 2);
		sum += value * cosl(2 * pi * (long double)(angle % period) / (long double)period);
	}
	bool is_end = (type == 1 && (k == 0 || k == n - 1)) || (type == 2 && k == 0);
	return is_end && is_ortho ? sum / root : sum;
}

/* Of the columns of an array. */
static void fft_check_cosines(int type, int64_t n, int64_t columns, kz_dtype dtype,
	kz_fft_norm norm)
{
	double complex *from, *to, *back;
	kz_array *real, *result, *again, *array = fft_random(&from, dtype, KZ_SHAPE(n, columns));
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	struct fft_error forward = {0, 0}, backward = {0, 0};
	long double period = 2 * (long double)(type == 1 ? n - 1 : n);
	long double scale = norm == KZ_FFT_ORTHO ? 1 / sqrtl(period)
		: norm == KZ_FFT_FORWARD ? 1 / period : 1;
	options.norm = norm;
	ok(kz_array_real(&real, array, &err));
	ok(kz_dct(&result, real, type, KZ_AXES(0), &options, &err));
	ok(kz_idct(&again, result, type, KZ_AXES(0), &options, &err));
	ck_assert_uint_eq(kz_array_dtype(result), dtype_part(dtype));
	to = support_read(result, KZ_C128);
	back = support_read(again, KZ_C128);
	for (int64_t i = 0; i < columns * n; i++) {
		fft_add_error(&forward, scale * fft_cosine_sum(from + i % columns, type, n, columns,
			i / columns, norm == KZ_FFT_ORTHO), to[i]);
		fft_add_error(&backward, creal(from[i]), back[i]);
	}
	fft_check_error(&forward, dtype, 8 * n);
	fft_check_error(&backward, dtype, 32 * n);
	free(from);
	free(to);
	free(back);
	kz_array_release(array);
	kz_array_release(real);
	kz_array_release(result);
	kz_array_release(again);
}

DEVICE_TEST(cosine_transforms_are_their_sums)
{
	static const int64_t lengths[] = {2, 3, 4, 7, 16, 17, 30};
	for (size_t i = 0; i < countof(lengths); i++) {
		for (int type = 1; type <= 4; type++) {
			if (!both_shapes_try(4 * i + (size_t)type - 1, 4 * countof(lengths), 5,
				2)) {
				continue;
			}
			fft_check_cosines(type, lengths[i], 3, (int)i % 2 ? KZ_C64 : KZ_C128,
				(kz_fft_norm)((i + (size_t)type) % 3));
		}
	}
	for (int type = 2; type <= 4; type++) {
		fft_check_cosines(type, 1, 3, KZ_C128, KZ_FFT_ORTHO);
	}
}

/* More columns than threads of a block, which lie along them. */
DEVICE_TEST(cosine_transforms_of_many_columns_are_their_sums)
{
	for (int type = 1; type <= 4; type++) {
		if (!both_shapes_try((size_t)type - 1, 4, 1, 1)) {
			continue;
		}
		fft_check_cosines(type, 8, 300, KZ_C64, KZ_FFT_BACKWARD);
		fft_check_cosines(type, 9, 300, KZ_C128, KZ_FFT_ORTHO);
	}
}

/* [3, 0, 0] along the first axis, [1, 1, 0] along the other one, cut off; integers are float64. */
DEVICE_TEST(cosine_transforms_have_axes_and_lengths)
{
	static const int32_t host[2][4] = {{1, 1, 9, 9}, {2, 2, 9, 9}};
	const double complex first[2] = {1, 1}, second[2] = {1, 2};
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	kz_array *array, *result;
	ok(kz_array_from(&array, dev, KZ_I32, KZ_SHAPE(2, 4), host, sizeof(host), &err));
	options.lengths = KZ_SHAPE(2, 2);
	ok(kz_dct(&result, array, 2, KZ_AXES(0, -1), &options, &err));
	ck_assert_uint_eq(kz_array_dtype(result), KZ_F64);
	double complex *values = support_read(result, KZ_C128);
	for (int i = 0; i < 4; i++) {
		ck_assert_double_eq_tol(creal(values[i]),
			(double)(fft_cosine_sum(second, 2, 2, 1, i / 2, false)
				* fft_cosine_sum(first, 2, 2, 1, i % 2, false)), 1e-14);
	}
	free(values);
	kz_array_release(result);
	kz_array_release(array);
}

DEVICE_TEST(cosine_transforms_refuse_what_does_not_fit)
{
	kz_array *real, *points, *one, *out = NULL;
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	ok(kz_array_ones(&real, dev, KZ_F32, KZ_SHAPE(4, 3), &err));
	ok(kz_array_ones(&points, dev, KZ_C64, KZ_SHAPE(4, 3), &err));
	ok(kz_array_ones(&one, dev, KZ_F32, KZ_SHAPE(1), &err));
	fails(kz_dct(&out, real, 0, KZ_AXES(0), NULL, &err), KZ_INVALID,
		"dct: expected a type from 1 to 4, got 0");
	fails(kz_idct(&out, real, 5, KZ_AXES(0), NULL, &err), KZ_INVALID,
		"idct: expected a type from 1 to 4, got 5");
	fails(kz_dct(&out, points, 2, KZ_AXES(0), NULL, &err), KZ_INVALID,
		"dct: expected real numbers, got complex64");
	fails(kz_dct(&out, one, 1, KZ_AXES(0), NULL, &err), KZ_INVALID,
		"dct: expected a length of at least 2 along axis 0, got 1");
	fails(kz_dct(&out, real, 2, KZ_AXES(2), NULL, &err), KZ_RANGE, "axis 2");
	fails(kz_idct(NULL, real, 2, KZ_AXES(0), NULL, &err), KZ_INVALID, "idct: out is NULL");
	options.into = points;
	fails(kz_dct(&out, real, 2, KZ_AXES(0), &options, &err), KZ_INVALID,
		"dct: expected a float dtype of into, got complex64");
	options.into = real;
	fails(kz_dct(&out, one, 2, KZ_AXES(0), &options, &err), KZ_INVALID,
		"dct: shape (1,) does not fit into (4, 3)");
	ck_assert_ptr_null(out);
	kz_array_release(real);
	kz_array_release(points);
	kz_array_release(one);
}

/* A half may be an operand, and what real numbers go into.  Between these all are float32: 4,097 is
 * no half. */
DEVICE_TEST(halves_are_computed_as_float32)
{
	static const kz_dtype halves[] = {KZ_F16, KZ_BF16};
	for (size_t i = 0; i < countof(halves); i++) {
		if (!both_shapes_try(i, countof(halves), 1, 1)) {
			continue;
		}
		kz_array *array, *spectrum, *result, *cosines;
		kz_fft_options into = KZ_FFT_OPTIONS_INIT;
		ok(kz_array_ones(&array, dev, halves[i], KZ_SHAPE(4097), &err));
		ok(kz_rfft(&spectrum, array, KZ_AXES(0), NULL, &err));
		ck_assert_uint_eq(kz_array_dtype(spectrum), KZ_C64);
		double complex *values = support_read(spectrum, KZ_C128);
		ck_assert_double_eq_tol(creal(values[0]), 4097, 0.01);
		free(values);
		ok(kz_array_zeros_like(&into.into, array, 0, &err));
		into.lengths = KZ_SHAPE(4097);
		ok(kz_irfft(&result, spectrum, KZ_AXES(0), &into, &err));
		ck_assert_ptr_eq(result, into.into);
		ok(kz_dct(&cosines, array, 2, KZ_AXES(0), NULL, &err));
		ck_assert_uint_eq(kz_array_dtype(cosines), KZ_F32);
		kz_array_release(result);
		ok(kz_idct(&result, cosines, 2, KZ_AXES(0), &into, &err));
		ck_assert_uint_eq(kz_array_dtype(result), halves[i]);
		values = support_read(result, KZ_C128);
		for (int k = 0; k < 4097; k += 64) {
			ck_assert(values[k] == 1);
		}
		free(values);
		kz_array_release(array);
		kz_array_release(spectrum);
		kz_array_release(result);
		kz_array_release(cosines);
		kz_array_release(into.into);
	}
}

/* Lengths of one pass, of two, of Bluestein's algorithm, and of real numbers. */
DEVICE_TEST(a_second_transform_only_launches)
{
	static const int64_t lengths[] = {60, 900, 74, 74};
	for (size_t i = 0; i < countof(lengths); i++) {
		if (!both_shapes_try(i, countof(lengths), 2, 1)) {
			continue;
		}
		double complex *values;
		kz_array *result, *real, *array = fft_random(&values, KZ_C64,
			KZ_SHAPE(i == 3 ? 40 : 1, lengths[i]));
		kz_kernel_stats stats[2];
		ok(kz_array_real(&real, array, &err));
		for (int turn = 0; turn < 3; turn++) {
			ok(kz_fft(&result, array, KZ_AXES(1), NULL, &err));
			kz_array_release(result);
			ok(kz_rfft(&result, real, KZ_AXES(1), NULL, &err));
			kz_array_release(result);
			ok(kz_dct(&result, real, 2, KZ_AXES(1), NULL, &err));
			kz_array_release(result);
			kz_device_kernel_stats(dev, &stats[turn > 0]);
		}
		ck_assert_int_eq(stats[0].compiled_count, stats[1].compiled_count);
		free(values);
		kz_array_release(real);
		kz_array_release(array);
	}
}

static void fft_count_calls(long *counts)
{
	static const char *const names[] = {"cuMemAlloc", "cuMemAllocAsync", "cuMemcpyHtoD",
		"cuMemcpyHtoDAsync", "cuModuleLoadDataEx", "cuMemCreate", "cuLaunchKernel"};
	for (size_t i = 0; i < countof(names); i++) {
		counts[i] = support_stub_calls(names[i]);
	}
}

/* The stub counts what our kernels take: no memory, no copy and no module more than after the first
 * one. */
START_TEST(a_second_transform_makes_no_other_call)
{
	long first[7], second[7];
	kz_array *array, *result;
	err = (kz_error)KZ_ERROR_INIT;
	setenv("KUDZU_CUFFT", "none", 1);
	dev = support_open_stub("cc=80");
	ok(kz_array_ones(&array, dev, KZ_F32, KZ_SHAPE(40, 74), &err));
	for (int turn = 0; turn < 3; turn++) {
		fft_count_calls(turn < 2 ? first : second);
		ok(kz_rfft(&result, array, KZ_AXES(0, 1), NULL, &err));
		kz_array_release(result);
		ok(kz_dct(&result, array, 4, KZ_AXES(0, 1), NULL, &err));
		kz_array_release(result);
	}
	fft_count_calls(second);
	ck_assert_int_gt(second[6], first[6]);
	for (int i = 0; i < 6; i++) {
		ck_assert_int_eq(second[i], first[i]);
	}
	kz_array_release(array);
	support_close_stub(dev);
}
END_TEST

/* Nobody has asked for this length before: its tables are made during the capture. */
DEVICE_TEST(a_transform_is_captured)
{
	double complex *from, *got;
	kz_stream *stream;
	kz_graph *graph;
	kz_exec *exec;
	struct fft_error error = {0, 0};
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	kz_array *array = fft_random(&from, KZ_C128, KZ_SHAPE(600));
	ok(kz_array_zeros_like(&options.into, array, 0, &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_device_synchronize(dev, &err));
	options.stream = stream;
	ok(kz_graph_begin(stream, NULL, &err));
	ok(kz_fft(NULL, array, KZ_AXES(0), &options, &err));
	ok(kz_graph_end(&graph, stream, &err));
	ok(kz_graph_instantiate(&exec, graph, &err));
	got = support_read(options.into, KZ_C128);
	ck_assert(got[0] == 0 && got[599] == 0);
	free(got);
	for (int turn = 0; turn < 2; turn++) {
		ok(kz_exec_launch(exec, stream, &err));
		ok(kz_stream_synchronize(stream, &err));
		got = support_read(options.into, KZ_C128);
		for (int64_t k = 0; k < 600; k += 7) {
			fft_add_error(&error, fft_defined(from, 600, 1, k, -1), got[k]);
		}
		free(got);
	}
	fft_check_error(&error, KZ_C128, 600);
	kz_exec_release(exec);
	kz_graph_release(graph);
	kz_stream_release(stream);
	kz_array_release(options.into);
	kz_array_release(array);
	free(from);
}

DEVICE_TEST(spectra_are_shifted_and_have_frequencies)
{
	static const double odd[5] = {0, 0.1, 0.2, -0.2, -0.1},
		middle[5] = {-0.2, -0.1, 0, 0.1, 0.2};
	static const double even[4] = {0, 0.5, -1, -0.5}, half[3] = {0, 0.5, 1};
	double got[5];
	kz_array *frequencies, *shifted, *back, *out = NULL;
	ok(kz_fftfreq(&frequencies, dev, 5, 2, &err));
	ok(kz_array_get(frequencies, got, sizeof(got), &err));
	ck_assert_mem_eq(got, odd, sizeof(odd));
	ok(kz_fftshift(&shifted, frequencies, KZ_ALL_AXES, NULL, &err));
	ok(kz_array_get(shifted, got, sizeof(got), &err));
	ck_assert_mem_eq(got, middle, sizeof(middle));
	ok(kz_ifftshift(&back, shifted, KZ_AXES(0), NULL, &err));
	ok(kz_array_get(back, got, sizeof(got), &err));
	ck_assert_mem_eq(got, odd, sizeof(odd));
	kz_array_release(frequencies);
	kz_array_release(shifted);
	kz_array_release(back);
	ok(kz_fftfreq(&frequencies, dev, 4, 0.5, &err));
	ok(kz_array_get(frequencies, got, sizeof(even), &err));
	ck_assert_mem_eq(got, even, sizeof(even));
	kz_array_release(frequencies);
	ok(kz_rfftfreq(&frequencies, dev, 4, 0.5, &err));
	ok(kz_array_get(frequencies, got, sizeof(half), &err));
	ck_assert_mem_eq(got, half, sizeof(half));
	kz_array_release(frequencies);
	fails(kz_fftfreq(&out, dev, 0, 1, &err), KZ_INVALID, "kz_fftfreq: expected a length");
	fails(kz_rfftfreq(&out, dev, 1, 0, &err), KZ_INVALID, "got 1 and 0");
	ck_assert_ptr_null(out);
}

DEVICE_TEST(types_become_complex)
{
	static const kz_dtype cases[][2] = {
		{KZ_BOOL, KZ_C128}, {KZ_I8, KZ_C128}, {KZ_U64, KZ_C128}, {KZ_F16, KZ_C64},
		{KZ_BF16, KZ_C64}, {KZ_F32, KZ_C64}, {KZ_F64, KZ_C128},
	};
	for (size_t i = 0; i < countof(cases); i++) {
		kz_array *array, *result;
		ok(kz_array_ones(&array, dev, cases[i][0], KZ_SHAPE(4), &err));
		ok(kz_fft(&result, array, KZ_AXES(0), NULL, &err));
		ck_assert_uint_eq(kz_array_dtype(result), cases[i][1]);
		double complex *values = support_read(result, KZ_C128);
		ck_assert(values[0] == 4 && values[1] == 0 && values[3] == 0);
		free(values);
		kz_array_release(array);
		kz_array_release(result);
	}
}

DEVICE_TEST(what_does_not_fit_is_refused)
{
	kz_array *x, *out = NULL, *empty, *real;
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	ok(kz_array_ones(&x, dev, KZ_C64, KZ_SHAPE(4, 3), &err));
	ok(kz_array_ones(&empty, dev, KZ_C64, KZ_SHAPE(2, 0), &err));
	ok(kz_array_ones(&real, dev, KZ_F32, KZ_SHAPE(4, 3), &err));
	fails(kz_fft(&out, x, KZ_AXES(2), NULL, &err), KZ_RANGE, "axis 2");
	fails(kz_fft(&out, x, KZ_AXES(0, -2), NULL, &err), KZ_INVALID, "is named twice");
	fails(kz_fft(&out, x, KZ_AXES(), NULL, &err), KZ_INVALID,
		"fft: expected at least one axis");
	fails(kz_ifft(&out, empty, KZ_AXES(1), NULL, &err), KZ_INVALID,
		"ifft: expected a length of at least 1 along axis 1, got 0");
	options.lengths = KZ_SHAPE(2, 2);
	fails(kz_fft(&out, x, KZ_AXES(0), &options, &err), KZ_INVALID,
		"fft: expected 1 lengths, got 2");
	options.lengths = KZ_SHAPE(-1);
	fails(kz_fft(&out, x, KZ_AXES(0), &options, &err), KZ_INVALID, "got -1");
	options.lengths = KZ_SHAPE();
	options.norm = 3;
	fails(kz_fft(&out, x, KZ_AXES(0), &options, &err), KZ_INVALID, "3 is not a kz_fft_norm");
	options.norm = 0;
	options.into = empty;
	fails(kz_fft(&out, x, KZ_AXES(0), &options, &err), KZ_INVALID,
		"fft: shape (4, 3) does not fit into (2, 0)");
	options.into = real;
	fails(kz_fft(&out, x, KZ_AXES(0), &options, &err), KZ_INVALID,
		"fft: expected a complex dtype of into, got float32");
	fails(kz_fft(NULL, x, KZ_AXES(0), NULL, &err), KZ_INVALID, "fft: out is NULL");
	fails(kz_rfft(&out, x, KZ_AXES(0), NULL, &err), KZ_INVALID,
		"rfft: expected real numbers, got complex64");
	options.into = x;
	fails(kz_irfft(&out, x, KZ_AXES(1), &options, &err), KZ_INVALID,
		"irfft: shape (4, 4) does not fit into (4, 3)");
	options.into = NULL;
	ck_assert_ptr_null(out);
	ok(kz_fft(&out, empty, KZ_AXES(0), NULL, &err));
	ck_assert_int_eq(kz_array_count(out), 0);
	kz_array_release(out);
	kz_array_release(x);
	kz_array_release(empty);
	kz_array_release(real);
}

DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	int failed = 0;
	bool done = false;
	kz_array *x, *y;
	ok(kz_array_ones(&x, dev, KZ_C64, KZ_SHAPE(74), &err));
	for (long n = 0; !done; n++) {
		mem_fail_after(n);
		kz_status st = kz_fft(&y, x, KZ_AXES(0), NULL, &err);
		done = !mem_has_failed();
		mem_fail_after(-1);
		ck_assert(!st == !!y);
		failed += st != KZ_OK;
		kz_error_clear(&err);
		kz_array_release(y);
	}
	ck_assert_int_gt(failed, 2);
	kz_array_release(x);
}

SUITE(fft)
{
	Suite *suite = suite_create("fft");
	TCase *tcase = suite_add_case(suite, "fft");
	int devices = both_shapes_count();
	tcase_set_timeout(tcase, getenv("KUDZU_TEST_SLOW") ? 600 : 60);
	tcase_add_tests(tcase, devices, short_transforms_follow_the_definition,
		long_transforms_follow_the_definition, many_rows_follow_the_definition,
		any_axis_of_any_strides_is_transformed,
		several_axes_are_one_after_the_other,
		no_two_blocks_of_a_transform_write_one_element,
		a_result_may_go_to_wrapped_memory_of_the_operand,
		lengths_and_norms_are_those_of_numpy,
		real_numbers_have_half_of_a_spectrum, imaginary_parts_of_real_elements_are_ignored,
		cosine_transforms_are_their_sums,
		cosine_transforms_of_many_columns_are_their_sums,
		cosine_transforms_have_axes_and_lengths, cosine_transforms_refuse_what_does_not_fit,
		halves_are_computed_as_float32, a_second_transform_only_launches,
		a_transform_is_captured, spectra_are_shifted_and_have_frequencies,
		types_become_complex, what_does_not_fit_is_refused,
		a_failing_allocation_leaves_nothing_behind);
	tcase_add_test(tcase, a_second_transform_makes_no_other_call);
	return suite;
}
