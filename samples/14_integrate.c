/* SPDX-License-Identifier: MIT */
/*
 * Integrals of samples, as a notebook computes them with scikit-cuda: sin(x^2 + cos x) along a
 * line, sin(x^2 + cos y) over a square, and Simpson's rule for the powers of its documentation.
 *
 * The notebook prints times alone, which go to stderr in its words: "Tiempo en paralelo" is the
 * first call, which compiles what is not in the cache, and "Tiempo secuencial" the sum on the host,
 * scipy's trapz.  The integrals are printed with the digits of float32, beside those of float64
 * sums of the same samples; they may differ by one in the last digit, as sin and cos do.
 */
#include "seconds.h"
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 3142, TIMES = 100 };
#define DX 0.001

typedef kz_status integrate(void *, int64_t, kz_array *, const kz_integrate_options *, kz_error *);

static kz_status measure(double *area, integrate *get, kz_array *y, kz_error *err)
{
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	options.dx = DX;
	options.dy = DX;
	double begin = seconds_now();
	kz_status st = get(area, sizeof(*area), y, &options, err);
	double first = seconds_now();
	seconds_print("Tiempo en paralelo", first - begin);
	for (int i = 0; i < TIMES && !st; i++) {
		st = get(area, sizeof(*area), y, &options, err);
	}
	seconds_print("Tiempo en paralelo (the mean of 100)", (seconds_now() - first) / TIMES);
	return st;
}

/* scipy.trapz, with sums of float64 */
static double host_trapz(const float *y, int count)
{
	double sum = 0;
	for (int i = 0; i + 1 < count; i++) {
		sum += ((double)y[i] + (double)y[i + 1]) / 2;
	}
	return sum * DX;
}

/* The notebook took 108 ms on its GPU, and 0.8 ms on the CPU. */
static kz_status along_a_line(kz_array *x, kz_error *err)
{
	static float host[COUNT];
	kz_array *y = NULL;
	double area = 0;
	kz_status st = kz_eval(&y, "sin(x*x + cos(x))", NULL, err, KZ_VARS(x));
	st = st ? st : measure(&area, kz_trapz_get, y, err);
	st = st ? st : kz_array_get(y, host, sizeof(host), err);
	double begin = seconds_now(), expected = host_trapz(host, COUNT);
	seconds_print("Tiempo secuencial", seconds_now() - begin);
	printf("trapz of %d samples: %.7f (%.7f)\n", COUNT, area, expected);
	kz_array_release(y);
	return st;
}

/* The notebook took 104 ms and 81 ms. */
static kz_status over_a_square(kz_array *x, kz_error *err)
{
	static float rows[COUNT];
	kz_array *column = NULL, *z = NULL;
	double volume = 0;
	float *host = NULL;
	kz_status st = kz_array_expand(&column, x, KZ_AXES(1), err);
	st = st ? st : kz_eval(&z, "sin(x*x + cos(y))", NULL, err,
		KZ_VARS(KZ_VAR("x", column), KZ_VAR("y", x)));
	st = st ? st : measure(&volume, kz_trapz2d_get, z, err);
	if (!st && (host = malloc((size_t)kz_array_size(z)))
	    && !(st = kz_array_get(z, host, kz_array_size(z), err))) {
		double begin = seconds_now();
		for (int i = 0; i < COUNT; i++) {
			rows[i] = (float)host_trapz(host + (size_t)i * COUNT, COUNT);
		}
		double expected = host_trapz(rows, COUNT);
		seconds_print("Tiempo en secuencial", seconds_now() - begin);
		printf("trapz2d of %d x %d samples: %.7f (%.7f)\n", COUNT, COUNT, volume,
			expected);
	}
	free(host);
	kz_array_release(column);
	kz_array_release(z);
	return st;
}

/* Ten samples leave one interval over; `even` says what becomes of it. */
static kz_status by_simpson(kz_device *dev, kz_error *err)
{
	static const char *const names[] = {"avg", "first", "last"};
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	kz_array *y = NULL, *cubes = NULL;
	double area = 0;
	kz_status st = kz_arange(&y, dev, KZ_F64, 0, 10, 1, err);
	st = st ? st : kz_power(&cubes, y, 3, err);
	st = st ? st : kz_simps_get(&area, sizeof(area), y, NULL, err);
	printf("simps of 0 to 9: %.1f (40.5)\n", area);
	for (int even = KZ_SIMPS_AVG; even <= KZ_SIMPS_LAST && !st; even++) {
		options.even = even;
		st = kz_simps_get(&area, sizeof(area), cubes, &options, err);
		printf("simps of their cubes, %s: %.1f\n", names[even], area);
	}
	kz_array_release(y);
	kz_array_release(cubes);
	return st;
}

int main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_array *x = NULL;
	if (kz_device_open(&dev, NULL, &err) || kz_arange(&x, dev, KZ_F32, 0, COUNT, 1, &err)
	    || kz_scale(x, 0.001, &err) || along_a_line(x, &err) || over_a_square(x, &err)
	    || by_simpson(dev, &err)) {
		kz_error_print(&err, stderr);
	}
	int failed = kz_error_status(&err) != KZ_OK;
	kz_error_clear(&err);
	kz_array_release(x);
	kz_device_close(dev);
	return failed;
}
