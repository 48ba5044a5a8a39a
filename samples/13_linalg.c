/* SPDX-License-Identifier: MIT */
/*
 * Products and inverses of matrices, as the lesson on scikit-cuda does them: dot of 10 x 10, dot
 * and inv of a large matrix, and what happens if a matrix has no inverse.
 *
 * The times go to stderr as the lesson prints them, "Tiempo en paralelo" for the device and "Tiempo
 * secuencial" for the host.  The lesson's own figures are not to be compared: it reads the clock
 * when dot returns, which is before the GPU is done, and starts it after inv has returned.  Its
 * matrices are random, and it prints none of their products.
 *
 * usage: 13_linalg [N]    the size of the large matrix; 5000 in the lesson.  Up to 1024 the host
 *                         computes it, too, which the lesson leaves to numpy.
 */
#include "seconds.h"
#include <kudzu/kudzu.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Seconds since `start`, when all work of the device is done. */
static double passed(kz_device *dev, double start)
{
	kz_error err = KZ_ERROR_INIT;
	if (kz_stream_synchronize(kz_device_stream(dev), &err)) {
		kz_error_print(&err, stderr);
		kz_error_clear(&err);
	}
	return seconds_now() - start;
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

/* np.dot(a, b), on the host */
static void host_dot(double *c, const double *a, const double *b, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		for (int64_t j = 0; j < n; j++) {
			c[i * n + j] = 0;
		}
		for (int64_t k = 0; k < n; k++) {
			for (int64_t j = 0; j < n; j++) {
				c[i * n + j] += a[i * n + k] * b[k * n + j];
			}
		}
	}
}

/* np.linalg.inv(a), by Gauss and Jordan: a becomes the identity, and c, which was, the inverse. */
static void host_inv(double *c, double *a, int64_t n)
{
	for (int64_t i = 0; i < n * n; i++) {
		c[i] = i / n == i % n;
	}
	for (int64_t k = 0; k < n; k++) {
		int64_t pivot = k;
		for (int64_t i = k + 1; i < n; i++) {
			pivot = fabs(a[i * n + k]) > fabs(a[pivot * n + k]) ? i : pivot;
		}
		const double scale = 1 / a[pivot * n + k];
		for (int64_t j = 0; j < n; j++) { /* exchange the rows k and pivot */
			const double from[] = {a[k * n + j], c[k * n + j]};
			const double to[] = {a[pivot * n + j] * scale, c[pivot * n + j] * scale};
			a[pivot * n + j] = from[0];
			c[pivot * n + j] = from[1];
			a[k * n + j] = to[0];
			c[k * n + j] = to[1];
		}
		for (int64_t i = 0; i < n; i++) {
			const double factor = a[i * n + k];
			for (int64_t j = 0; j < n && i != k; j++) {
				a[i * n + j] -= factor * a[k * n + j];
				c[i * n + j] -= factor * c[k * n + j];
			}
		}
	}
}

/* The largest |c - expected| / expected, of c on the device. */
static int largest_error(double *out, kz_array *c, const double *expected, kz_error *err)
{
	double *got = malloc((size_t)kz_array_size(c));
	int failed = !got || kz_array_get(c, got, kz_array_size(c), err);
	*out = failed ? NAN : 0;
	for (int64_t i = 0; !failed && i < kz_array_count(c); i++) {
		*out = fmax(*out, fabs((got[i] - expected[i]) / expected[i]));
	}
	free(got);
	return failed;
}

/* dot of 10 x 10, beside three loops on the host.  The first product compiles a kernel, or finds it
 * in the cache. */
static int dot_small(kz_device *dev, kz_random *rng, kz_error *err)
{
	enum { N = 10 };
	double a[N * N], b[N * N], c[N * N], worst = 0;
	kz_array *left = NULL, *right = NULL, *product = NULL, *again = NULL;
	int failed = kz_random_uniform(&left, rng, KZ_F64, KZ_SHAPE(N, N), 0, 1, err)
		|| kz_random_uniform(&right, rng, KZ_F64, KZ_SHAPE(N, N), 0, 1, err)
		|| kz_array_get(left, a, sizeof(a), err) || kz_array_get(right, b, sizeof(b), err);
	double start = seconds_now();
	failed = failed || kz_matmul(&product, left, right, NULL, err);
	seconds_print("dot 10 x 10\nTiempo en paralelo", passed(dev, start));
	start = seconds_now();
	failed = failed || kz_matmul(&again, left, right, NULL, err);
	seconds_print("Tiempo en paralelo (again)", passed(dev, start));
	if (!failed) {
		start = seconds_now();
		host_dot(c, a, b, N);
		seconds_print("Tiempo secuencial", seconds_now() - start);
		failed = largest_error(&worst, product, c, err);
		printf("dot 10 x 10: relative error %s 1e-13\n",
			worst <= 1e-13 ? "below" : "ABOVE");
	}
	kz_array_release(left);
	kz_array_release(right);
	kz_array_release(product);
	kz_array_release(again);
	return failed;
}

/* The same on the host; the product is compared. */
static int large_on_host(kz_array *a, kz_array *square, int64_t n, kz_error *err)
{
	double *host = malloc(2 * (size_t)kz_array_size(a)), worst = 0;
	int failed = !host || kz_array_get(a, host, kz_array_size(a), err);
	if (!failed) {
		double start = seconds_now();
		host_dot(host + n * n, host, host, n);
		seconds_print("dot\nTiempo secuencial", seconds_now() - start);
		failed = largest_error(&worst, square, host + n * n, err);
		printf("dot %lld x %lld: relative error %s 1e-12\n", (long long)n, (long long)n,
			worst <= 1e-12 ? "below" : "ABOVE");
		start = seconds_now();
		host_inv(host + n * n, host, n);
		seconds_print("inv\nTiempo en secuencial", seconds_now() - start);
	}
	free(host);
	return failed;
}

/* dot and inv of n x n: a inv(a) is the identity. */
static int large(kz_device *dev, kz_random *rng, int64_t n, kz_error *err)
{
	kz_array *a = NULL, *inverse = NULL, *product = NULL, *eye = NULL, *square = NULL;
	double apart = 0;
	int failed = kz_random_uniform(&a, rng, KZ_F64, KZ_SHAPE(n, n), 0, 1, err)
		|| kz_array_eye(&eye, dev, KZ_F64, n, n, 0, err);
	passed(dev, 0);
	double start = seconds_now();
	failed = failed || kz_matmul(&square, a, a, NULL, err);
	const double dot = passed(dev, start);
	start = seconds_now();
	failed = failed || kz_inv(&inverse, a, NULL, err);
	const double inv = passed(dev, start), steps = 2 * (double)n * (double)n * (double)n;
	if (!failed) {
		fprintf(stderr, "%lld x %lld: %.1f and %.1f GFLOP/s\n", (long long)n, (long long)n,
			steps / dot / 1e9, steps / inv / 1e9);
		seconds_print("dot\nTiempo en paralelo", dot);
		seconds_print("inv\nTiempo en paralelo", inv);
	}
	failed = failed || (n <= 1024 && large_on_host(a, square, n, err))
		|| kz_matmul(&product, a, inverse, NULL, err)
		|| largest_difference(&apart, product, eye, err);
	if (!failed) {
		printf("inv %lld x %lld: |a inv(a) - 1| %s 1e-6\n", (long long)n, (long long)n,
			apart <= 1e-6 ? "below" : "ABOVE");
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
	long long n = argc > 1 ? strtoll(argv[1], NULL, 10) : 256;
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
