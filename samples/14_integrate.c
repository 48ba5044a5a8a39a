/* SPDX-License-Identifier: MIT */
/*
 * Integrals of samples, as the notebook "CUDA y PyCUDA" computes them with scikit-cuda:
 * sin(x^2 + cos x) along a line, sin(x^2 + cos y) over a square, and Simpson's rule for the powers
 * of scikit-cuda's documentation.
 *
 * The notebook prints only times, which go to stderr in its words: "Tiempo en paralelo" is the
 * first call, which compiles what is not in the cache, and "Tiempo secuencial" the sum on the host,
 * scipy's trapz.  The integrals are printed with the digits of float32, beside those of float64
 * sums of the same samples; they may differ by one in the last digit, as sin and cos do.
 */
#include "seconds.h"
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { COUNT = 3142, TIMES = 100 };
#define DX 0.001

typedef kz_status integrate(void *, kz_dtype, kz_array *, const kz_integrate_options *, kz_error *);

static double measure(integrate *get, kz_array *y)
{
	const kz_integrate_options *options = KZ_WITH(kz_integrate_options, .dx = DX, .dy = DX);
	kz_timing times = KZ_TIMING_INIT;
	double area = 0, begin = seconds_now();
	CHECK(get(&area, KZ_F64, y, options, &err));
	seconds_print("Tiempo en paralelo", seconds_now() - begin);
	CHECK(kz_time(&times, kz_device_stream(kz_array_device(y)), TIMES,
		get(&area, KZ_F64, y, options, &err), &err));
	seconds_print("Tiempo en paralelo (the median of 100)", times.host.median_ms / 1000);
	return area;
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
static void along_a_line(kz_array *x)
{
	static float host[COUNT];
	kz_array *y = NULL;
	CHECK(kz_eval(&y, "sin(x*x + cos(x))", NULL, &err, KZ_VARS(x)));
	double area = measure(kz_trapz_get_as, y);
	CHECK(kz_array_get(y, host, sizeof(host), &err));
	double begin = seconds_now(), expected = host_trapz(host, COUNT);
	seconds_print("Tiempo secuencial", seconds_now() - begin);
	printf("trapz of %d samples: %.7f (%.7f)\n", COUNT, area, expected);
	kz_array_release(y);
}

/* The notebook took 104 ms and 81 ms. */
static void over_a_square(kz_array *x)
{
	static float rows[COUNT], host[COUNT][COUNT];
	kz_array *column = NULL, *z = NULL;
	CHECK(kz_array_expand(&column, x, KZ_AXES(1), &err));
	CHECK(kz_eval(&z, "sin(x*x + cos(y))", NULL, &err,
		KZ_VARS(KZ_VAR("x", column), KZ_VAR("y", x))));
	double volume = measure(kz_trapz2d_get_as, z);
	CHECK(kz_array_get(z, host, sizeof(host), &err));
	double begin = seconds_now();
	for (int i = 0; i < COUNT; i++) {
		rows[i] = (float)host_trapz(host[i], COUNT);
	}
	double expected = host_trapz(rows, COUNT);
	seconds_print("Tiempo en secuencial", seconds_now() - begin);
	printf("trapz2d of %d x %d samples: %.7f (%.7f)\n", COUNT, COUNT, volume, expected);
	kz_release_all(column, z);
}

/* Ten samples leave one interval over; `even` says what becomes of it. */
static void by_simpson(kz_device *dev)
{
	static const char *const names[] = {"avg", "first", "last"};
	kz_array *y = NULL, *cubes = NULL;
	double area = 0;
	CHECK(kz_arange(&y, dev, KZ_F64, 0, 10, 1, &err));
	CHECK(kz_power(&cubes, y, 3, &err));
	CHECK(kz_simps_get(&area, y, NULL, &err));
	printf("simps of 0 to 9: %.1f (40.5)\n", area);
	for (int even = KZ_SIMPS_AVG; even <= KZ_SIMPS_LAST; even++) {
		CHECK(kz_simps_get(&area, cubes,
			KZ_WITH(kz_integrate_options, .even = even), &err));
		printf("simps of their cubes, %s: %.1f\n", names[even], area);
	}
	kz_release_all(y, cubes);
}

int main(void)
{
	kz_device *dev = NULL;
	kz_array *x = NULL;
	CHECK(kz_device_open(&dev, NULL, &err));
	CHECK(kz_arange(&x, dev, KZ_F32, 0, COUNT, 1, &err));
	CHECK(kz_scale(x, 0.001, &err));
	along_a_line(x);
	over_a_square(x);
	by_simpson(dev);
	kz_release_all(x, dev);
	return 0;
}
