/* SPDX-License-Identifier: MIT */
/*
 * Integrals of samples, as a notebook computes them with scikit-cuda: sin(x^2 + cos x) along a
 * line, sin(x^2 + cos y) over a square, and Simpson's rule for the powers of its documentation.
 * The figures beside them are those of float64 sums.  The times go to stderr.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <time.h>

enum { COUNT = 3142, TIMES = 100 };

static double now_us(void)
{
	struct timespec now;
	timespec_get(&now, TIME_UTC);
	return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

/* The mean time of a warm call, and that of the first one, which compiles what is not in the
 * cache. */
static kz_status measure(const char *name, double *area,
	kz_status (*get)(void *, int64_t, kz_array *,
	const kz_integrate_options *, kz_error *), kz_array *y, kz_error *err)
{
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	options.dx = 0.001;
	options.dy = 0.001;
	double begin = now_us();
	kz_status st = get(area, sizeof(*area), y, &options, err);
	double first = now_us();
	for (int i = 0; i < TIMES && !st; i++) {
		st = get(area, sizeof(*area), y, &options, err);
	}
	fprintf(stderr, "%s: %.0f us, then %.1f us\n", name, first - begin,
		(now_us() - first) / TIMES);
	return st;
}

/* The notebook took 108 ms on its GPU, and 0.8 ms on the CPU. */
static kz_status along_a_line(kz_array *x, kz_error *err)
{
	kz_array *y = NULL;
	double area = 0;
	kz_status st = kz_eval(&y, "sin(x*x + cos(x))", NULL, err, KZ_VARS(x));
	st = st ? st : measure("trapz", &area, kz_trapz_get, y, err);
	printf("trapz of %d samples: %.5f (1.3175980)\n", COUNT, area);
	kz_array_release(y);
	return st;
}

/* The notebook took 104 ms and 81 ms. */
static kz_status over_a_square(kz_array *x, kz_error *err)
{
	kz_array *column = NULL, *z = NULL;
	double volume = 0;
	kz_status st = kz_array_expand(&column, x, KZ_AXES(1), err);
	st = st ? st : kz_eval(&z, "sin(x*x + cos(y))", NULL, err,
		KZ_VARS(KZ_VAR("x", column), KZ_VAR("y", x)));
	st = st ? st : measure("trapz2d", &volume, kz_trapz2d_get, z, err);
	printf("trapz2d of %d x %d samples: %.4f (1.8580520)\n", COUNT, COUNT, volume);
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
