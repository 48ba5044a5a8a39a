/* SPDX-License-Identifier: MIT */
/*
 * Plain C loops, for the compiler to optimize; see array_loops.h.  As in the library, short loops
 * run on the calling thread: to share them would take longer than to run them.
 */
#include "array_loops.h"

#include <complex.h>
#include <math.h>
#include <omp.h>
#include <stddef.h>
#include <string.h>

enum { SHARED_MIN = 1 << 14 };

void loops_use_threads(int threads)
{
	omp_set_num_threads(threads);
}

#define EACH(name, result, type, expression) \
	void loop_##name(int64_t count, void *out, const void *a, const void *b) \
	{ \
		result *restrict to = out; \
		const type *restrict x = a, *restrict y = b; \
		(void)y; \
		_Pragma("omp parallel for schedule(static) if (count >= SHARED_MIN)") \
		for (int64_t i = 0; i < count; i++) { \
			to[i] = (result)(expression); \
		} \
	}
EACH(add_f32, float, float, x[i] + y[i])
EACH(add_f64, double, double, x[i] + y[i])
EACH(add_f16, _Float16, _Float16, x[i] + y[i])
EACH(add_i8, int8_t, int8_t, x[i] + y[i])
EACH(add_i32, int32_t, int32_t, x[i] + y[i])
EACH(double_f32, float, float, 2 * x[i])
EACH(divide_f32, float, float, x[i] / y[i])
EACH(sqrt_f64, double, double, sqrt(x[i]))
EACH(sin_f32, float, float, sinf(x[i]))
EACH(sin_f64, double, double, sin(x[i]))
EACH(exp_f32, float, float, expf(x[i]))
EACH(power_f32, float, float, powf(x[i], y[i]))
EACH(less_f32, uint8_t, float, x[i] < y[i])
EACH(cast_f32_f64, double, float, x[i])
EACH(copy_f32, float, float, x[i])
EACH(multiply_c64, float complex, float complex, x[i] * y[i])

#define REDUCE(name, result, type, start, operation, clause) \
	void loop_##name(int64_t count, void *out, const void *a, const void *b) \
	{ \
		const type *restrict x = a, *restrict y = b; \
		result r = start; \
		(void)y; \
		_Pragma(clause) \
		for (int64_t i = 0; i < count; i++) { \
			operation; \
		} \
		*(result *)out = r; \
	}
#define SUMS "omp parallel for schedule(static) reduction(+ : r) if (count >= SHARED_MIN)"
#define MAXIMA "omp parallel for schedule(static) reduction(max : r) if (count >= SHARED_MIN)"
REDUCE(sum_f32, float, float, 0, r += x[i], SUMS)
REDUCE(sum_f64, double, double, 0, r += x[i], SUMS)
REDUCE(sum_i32, int64_t, int32_t, 0, r += x[i], SUMS)
REDUCE(max_f32, float, float, x[0], r = x[i] > r ? x[i] : r, MAXIMA)
REDUCE(dot_f32, float, float, 0, r += x[i] * y[i], SUMS)

static int64_t side_of(int64_t count)
{
	return (int64_t)sqrt((double)count);
}

#define TRANSPOSE(name, type) \
	void loop_transpose_##name(int64_t count, void *out, const void *a, const void *b) \
	{ \
		const int64_t n = side_of(count); \
		type *restrict to = out; \
		const type *restrict x = a; \
		(void)b; \
		_Pragma("omp parallel for schedule(static) if (count >= SHARED_MIN)") \
		for (int64_t i = 0; i < n; i++) { \
			for (int64_t j = 0; j < n; j++) { \
				to[i * n + j] = x[j * n + i]; \
			} \
		} \
	}
TRANSPOSE(f16, _Float16)
TRANSPOSE(f32, float)
TRANSPOSE(f64, double)
TRANSPOSE(i8, int8_t)

void loop_add_row_f32(int64_t count, void *out, const void *a, const void *b)
{
	const int64_t n = side_of(count);
	float *restrict to = out;
	const float *restrict x = a, *restrict y = b;
#pragma omp parallel for schedule(static) if (count >= SHARED_MIN)
	for (int64_t i = 0; i < n; i++) {
		for (int64_t j = 0; j < n; j++) {
			to[i * n + j] = x[i * n + j] + y[j];
		}
	}
}

void loop_rows_f32(int64_t count, void *out, const void *a, const void *b)
{
	const int64_t n = side_of(count);
	float *restrict to = out;
	const float *restrict x = a;
	(void)b;
#pragma omp parallel for schedule(static) if (count >= SHARED_MIN)
	for (int64_t i = 0; i < n; i++) {
		float sum = 0;
		for (int64_t j = 0; j < n; j++) {
			sum += x[i * n + j];
		}
		to[i] = sum;
	}
}

void loop_columns_f32(int64_t count, void *out, const void *a, const void *b)
{
	const int64_t n = side_of(count);
	float *restrict to = out;
	const float *restrict x = a;
	(void)b;
	memset(to, 0, (size_t)n * sizeof(*to));
#pragma omp parallel for schedule(static) reduction(+ : to[:n]) if (count >= SHARED_MIN)
	for (int64_t i = 0; i < n; i++) {
		for (int64_t j = 0; j < n; j++) {
			to[j] += x[i * n + j];
		}
	}
}

static double number_at(const void *from, int64_t i, int size, int is_float)
{
	switch (is_float ? -size : size) {
	case -2:
		return (double)((const _Float16 *)from)[i];
	case -4:
		return ((const float *)from)[i];
	case -8:
		return ((const double *)from)[i];
	case 1:
		return ((const int8_t *)from)[i];
	case 4:
		return ((const int32_t *)from)[i];
	default:
		return (double)((const int64_t *)from)[i];
	}
}

double loops_difference(const void *a, const void *b, int64_t count, int size, int is_float)
{
	double most = 0;
	for (int64_t i = 0; i < count; i++) {
		double x = number_at(a, i, size, is_float), y = number_at(b, i, size, is_float);
		double apart = fabs(x - y) / (fabs(y) > 1 ? fabs(y) : 1);
		most = apart > most || isnan(apart) ? apart : most;
	}
	return most;
}
