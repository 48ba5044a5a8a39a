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

enum { COUNT = 1 << 22, TIMES = 5 };

static double now_ms(void)
{
	struct timespec now;
	timespec_get(&now, TIME_UTC);
	return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* 0.5*a*a + 3*b - a*b, operation by operation */
static kz_status chain(kz_array **out, kz_array *a, kz_array *b, kz_error *err)
{
	kz_array *t[5] = {NULL, NULL, NULL, NULL, NULL};
	*out = NULL;
	kz_status st = KZ_OK;
	if ((st = kz_multiply(&t[0], 0.5, a, err)) || (st = kz_multiply(&t[1], t[0], a, err))
	    || (st = kz_multiply(&t[2], 3, b, err)) || (st = kz_add(&t[3], t[1], t[2], err))
	    || (st = kz_multiply(&t[4], a, b, err))) {
		goto out;
	}
	st = kz_subtract(out, t[3], t[4], err);
out:
	for (int i = 0; i < 5; i++) {
		kz_array_release(t[i]);
	}
	return st;
}

static kz_status fused(kz_array **out, kz_array *a, kz_array *b, kz_error *err)
{
	return kz_eval(out, "0.5*a*a + 3*b - a*b", NULL, err, KZ_VARS(a, b));
}

/* Run one of them a few times; keep the best time and the last result. */
static kz_status measure(const char *name, kz_status (*run)(kz_array **, kz_array *, kz_array *,
	kz_error *), kz_array *a, kz_array *b, float *host, kz_error *err)
{
	double best = 1e9;
	for (int i = 0; i < TIMES; i++) {
		kz_array *out = NULL;
		double begin = now_ms();
		if (run(&out, a, b, err) || kz_device_synchronize(kz_array_device(a), err)) {
			return err->status;
		}
		double ms = now_ms() - begin;
		best = ms < best ? ms : best;
		kz_status st = kz_array_get(out, host, COUNT * (int64_t)sizeof(*host), err);
		kz_array_release(out);
		if (st) {
			return st;
		}
	}
	printf("%-8s %8.3f ms for %d elements\n", name, best, COUNT);
	return KZ_OK;
}

int main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_array *a = NULL, *b = NULL;
	float *x = malloc(COUNT * sizeof(*x)), *y = malloc(COUNT * sizeof(*y));
	int failed = !x || !y;
	for (int i = 0; i < COUNT && !failed; i++) {
		x[i] = (float)(i % 1000) / 100;
		y[i] = (float)(i % 77) - 30;
	}
	if (failed || kz_device_open(&dev, NULL, &err)
	    || kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(COUNT), x, COUNT * 4, &err)
	    || kz_array_from(&b, dev, KZ_F32, KZ_SHAPE(COUNT), y, COUNT * 4, &err)
	    || measure("chain", chain, a, b, x, &err)
	    || measure("fused", fused, a, b, y, &err)) {
		kz_error_print(&err, stderr);
		failed = 1;
	} else {
		failed = memcmp(x, y, COUNT * sizeof(*x)) != 0;
		printf("the results are %s\n", failed ? "different" : "the same");
	}
	kz_error_clear(&err);
	kz_array_release(a);
	kz_array_release(b);
	kz_device_close(dev);
	free(x);
	free(y);
	return failed;
}
