/* SPDX-License-Identifier: MIT */
/*
 * The time of functions of arrays on the CPU device, warm.
 *
 *	bench_math [CASE]    CASE is part of the name of a case
 *
 * Each case takes turns with a loop in C that computes the same, whose result it must have.  The
 * time is wall time, of a call that ends with a number on the host.
 */
#include "bench.h"

#include <stdint.h>
#include <string.h>

enum { ROUNDS = 41, CALLS = 200, SAMPLES = 3142 };

static float samples[SAMPLES];

struct bench {
	kz_device *dev;
	kz_array *y;
	kz_error err;
};

static kz_status run_trapz(double *out, struct bench *bench)
{
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	options.dx = 0.001;
	return kz_trapz_get(out, bench->y, &options, &bench->err);
}

static double loop_trapz(void)
{
	double sum = 0;
	for (int i = 1; i < SAMPLES; i++) {
		sum += (double)samples[i - 1] + (double)samples[i];
	}
	return sum * 0.0005;
}

static const struct item {
	const char *name;
	kz_status (*run)(double *out, struct bench *bench);
	double (*loop)(void);
	double tolerance; /* as a share of the result */
} items[] = {
	{"trapz 3142 float32", run_trapz, loop_trapz, 1e-6},
};

/* Microseconds of one call, and how many times the loop's. */
static int measure(const struct item *item, struct bench *bench)
{
	double times[ROUNDS], ratios[ROUNDS], got = 0, want = 0;
	for (int round = 0; round < ROUNDS; round++) {
		double start = bench_now();
		for (int i = 0; i < CALLS; i++) {
			if (item->run(&got, bench)) {
				return bench_fail(&bench->err);
			}
		}
		double middle = bench_now();
		for (int i = 0; i < CALLS; i++) {
			*(volatile double *)&want = item->loop();
		}
		double loop = bench_now() - middle;
		times[round] = (middle - start) / CALLS * 1e6;
		ratios[round] = (middle - start) / loop;
	}
	if (!(fabs(got - want) <= item->tolerance * fabs(want))) {
		fprintf(stderr, "%s: %.9g, expected %.9g\n", item->name, got, want);
		return EXIT_FAILURE;
	}
	bench_report(item->name, "a call", "us", times, ROUNDS);
	bench_report(item->name, "over a loop", "ratio", ratios, ROUNDS);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct bench bench = {.err = KZ_ERROR_INIT};
	int failed = EXIT_SUCCESS;
	for (int i = 0; i < SAMPLES; i++) {
		double x = i * 0.001;
		samples[i] = (float)sin(x * x + cos(x));
	}
	if (kz_device_open(&bench.dev, "cpu", &bench.err)
	    || kz_array_from(&bench.y, bench.dev, KZ_F32, KZ_SHAPE(SAMPLES), samples,
		sizeof(samples),
		    &bench.err)) {
		failed = bench_fail(&bench.err);
	}
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]) && !failed; i++) {
		if (argc < 2 || strstr(items[i].name, argv[1])) {
			failed = measure(&items[i], &bench);
		}
	}
	kz_array_release(bench.y);
	kz_device_close(bench.dev);
	return failed;
}
