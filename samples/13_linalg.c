/* SPDX-License-Identifier: MIT */
/*
 * Products and inverses of matrices, as the lesson on scikit-cuda does them: dot of 10 x 10, dot
 * and inv of a large matrix, and what happens if a matrix has no inverse.
 *
 * usage: 13_linalg [N]    the size of the large matrix; 5000 in the lesson
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <kudzu/kudzu.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds since `start`, when all work of the device is done. */
static double passed(kz_device *dev, double start)
{
	kz_error err = KZ_ERROR_INIT;
	if (kz_stream_synchronize(kz_device_stream(dev), &err)) {
		kz_error_print(&err, stderr);
		kz_error_clear(&err);
	}
	return now() - start;
}

/* The largest |element| of a - b. */
static int largest_difference(double *out, kz_array *a, kz_array *b, kz_error *err)
{
	kz_array *difference = NULL, *sizes = NULL;
	int failed = kz_subtract(&difference, a, b, err) || kz_absolute(&sizes, difference, err)
		|| kz_reduce_get(out, sizeof(*out), KZ_REDUCE_MAX, sizes, NULL, err);
	kz_array_release(difference);
	kz_array_release(sizes);
	return failed;
}

/* dot of 10 x 10, beside three loops on the host. */
static int dot_small(kz_device *dev, kz_random *rng, kz_error *err)
{
	enum { N = 10 };
	double a[N][N], b[N][N], c[N][N], worst = 0;
	kz_array *left = NULL, *right = NULL, *product = NULL, *again = NULL;
	double start = 0, times[2] = {0, 0};
	int failed = kz_random_uniform(&left, rng, KZ_F64, KZ_SHAPE(N, N), 0, 1, err)
		|| kz_random_uniform(&right, rng, KZ_F64, KZ_SHAPE(N, N), 0, 1, err)
		|| kz_array_get(left, a, sizeof(a), err) || kz_array_get(right, b, sizeof(b), err);
	start = now();
	failed = failed || kz_matmul(&product, left, right, NULL, err);
	times[0] = passed(dev, start);
	start = now();
	failed = failed || kz_matmul(&again, left, right, NULL, err);
	times[1] = passed(dev, start);
	failed = failed || kz_array_get(product, c, sizeof(c), err);
	for (int i = 0; !failed && i < N * N; i++) {
		double sum = 0;
		for (int k = 0; k < N; k++) {
			sum += a[i / N][k] * b[k][i % N];
		}
		double error = fabs(c[i / N][i % N] - sum) / sum;
		worst = error > worst ? error : worst;
	}
	if (!failed) {
		printf("dot 10 x 10: relative error %s 1e-13\n",
			worst <= 1e-13 ? "below" : "ABOVE");
		fprintf(stderr, "%s: dot %.6f s the first time, %.6f s the second\n",
			kz_device_name(dev), times[0], times[1]);
	}
	kz_array_release(left);
	kz_array_release(right);
	kz_array_release(product);
	kz_array_release(again);
	return failed;
}

/* dot and inv of n x n: a inv(a) is the identity. */
static int large(kz_device *dev, kz_random *rng, int64_t n, kz_error *err)
{
	kz_array *a = NULL, *inverse = NULL, *product = NULL, *eye = NULL, *square = NULL;
	double apart = 0, times[2] = {0, 0};
	int failed = kz_random_uniform(&a, rng, KZ_F64, KZ_SHAPE(n, n), 0, 1, err)
		|| kz_array_eye(&eye, dev, KZ_F64, n, n, 0, err);
	passed(dev, 0);
	double start = now();
	failed = failed || kz_matmul(&square, a, a, NULL, err);
	times[0] = passed(dev, start);
	start = now();
	failed = failed || kz_inv(&inverse, a, NULL, err);
	times[1] = passed(dev, start);
	failed = failed || kz_matmul(&product, a, inverse, NULL, err)
		|| largest_difference(&apart, product, eye, err);
	if (!failed) {
		printf("inv %lld x %lld: |a inv(a) - 1| %s 1e-6\n", (long long)n, (long long)n,
			apart <= 1e-6 ? "below" : "ABOVE");
	}
	if (!failed) {
		double steps = 2 * (double)n * (double)n * (double)n;
		fprintf(stderr, "%s: dot %.4f s, %.1f GFLOP/s; inv %.4f s, %.1f GFLOP/s\n",
			kz_device_name(dev), times[0], steps / times[0] / 1e9, times[1],
			steps / times[1] / 1e9);
	}
	kz_array_release(a);
	kz_array_release(inverse);
	kz_array_release(product);
	kz_array_release(eye);
	kz_array_release(square);
	return failed;
}

/* The third row is twice the second. */
static int singular(kz_device *dev, kz_error *err)
{
	const double host[3][3] = {{2, 0, 0}, {0, 1, 2}, {0, 2, 4}};
	double det = 1;
	kz_array *a = NULL, *inverse = NULL, *d = NULL;
	int failed = kz_array_from(&a, dev, KZ_F64, KZ_SHAPE(3, 3), host, sizeof(host), err)
		|| kz_det(&d, a, NULL, err) || kz_array_get(d, &det, sizeof(det), err);
	if (!failed && kz_inv(&inverse, a, NULL, err) == KZ_NUMERIC) {
		printf("%s; its determinant is %g\n", err->message, det);
		kz_error_clear(err);
	}
	kz_array_release(a);
	kz_array_release(inverse);
	kz_array_release(d);
	return failed;
}

int main(int argc, char **argv)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_random *rng = NULL;
	long long n = argc > 1 ? strtoll(argv[1], NULL, 10) : 512;
	int failed = kz_device_open(&dev, NULL, &err)
		|| kz_random_create(&rng, dev, 1, 0, &err) || dot_small(dev, rng, &err)
		|| large(dev, rng, n, &err) || singular(dev, &err);
	if (err.status) {
		kz_error_print(&err, stderr);
		kz_error_clear(&err);
		failed = 1;
	}
	kz_random_release(rng);
	kz_device_close(dev);
	return failed != 0;
}
