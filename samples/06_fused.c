/* SPDX-License-Identifier: MIT */
/*
 * The same formula in two ways: as a chain of operations, each of which reads and writes arrays,
 * and as an expression, which is one kernel.  Both give the same bits.  The program prints the
 * times.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { COUNT = 1 << 22, TIMES = 5 };

static double now_ms(void)
{
	struct timespec now;
	timespec_get(&now, TIME_UTC);
	return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* 0.5*a*a + 3*b - a*b, operation by operation */
static void chain(kz_array **out, kz_array *a, kz_array *b)
{
	kz_array *t[5] = {NULL, NULL, NULL, NULL, NULL};
	CHECK(kz_multiply(&t[0], 0.5, a, &err));
	CHECK(kz_multiply(&t[1], t[0], a, &err));
	CHECK(kz_multiply(&t[2], 3, b, &err));
	CHECK(kz_add(&t[3], t[1], t[2], &err));
	CHECK(kz_multiply(&t[4], a, b, &err));
	CHECK(kz_subtract(out, t[3], t[4], &err));
	kz_release_all(t[0], t[1], t[2], t[3], t[4]);
}

static void fused(kz_array **out, kz_array *a, kz_array *b)
{
	CHECK(kz_eval(out, "0.5*a*a + 3*b - a*b", NULL, &err, KZ_VARS(a, b)));
}

/* Run one of them a few times; keep the best time and the last result. */
static void measure(const char *name, void (*run)(kz_array **, kz_array *, kz_array *),
	kz_array *a, kz_array *b, float *host)
{
	double best = 1e9;
	for (int i = 0; i < TIMES; i++) {
		kz_array *out = NULL;
		double begin = now_ms();
		run(&out, a, b);
		CHECK(kz_device_synchronize(kz_array_device(a), &err));
		double ms = now_ms() - begin;
		best = ms < best ? ms : best;
		CHECK(kz_array_get(out, host, COUNT * (int64_t)sizeof(*host), &err));
		kz_array_release(out);
	}
	printf("%-8s %8.3f ms for %d elements\n", name, best, COUNT);
}

int main(void)
{
	static float x[COUNT], y[COUNT];
	for (int i = 0; i < COUNT; i++) {
		x[i] = (float)(i % 1000) / 100;
		y[i] = (float)(i % 77) - 30;
	}

	kz_device *dev = NULL;
	kz_array *a = NULL, *b = NULL;
	CHECK(kz_device_open(&dev, NULL, &err));
	CHECK(kz_array_from(&a, dev, KZ_FROM(x), &err));
	CHECK(kz_array_from(&b, dev, KZ_FROM(y), &err));
	measure("chain", chain, a, b, x);
	measure("fused", fused, a, b, y);
	int differ = memcmp(x, y, sizeof(x)) != 0;
	printf("the results are %s\n", differ ? "different" : "the same");
	kz_release_all(a, b, dev);
	return differ;
}
