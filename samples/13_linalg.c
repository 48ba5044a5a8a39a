/* SPDX-License-Identifier: MIT */
/*
 * Products and inverses of matrices, as the notebook "CUDA y PyCUDA" does them with scikit-cuda:
 * dot of 10 x 10, dot and inv of a large matrix, and what happens if a matrix has no inverse.
 *
 * The times go to stderr in the notebook's words, "Tiempo en paralelo" for the device and "Tiempo
 * secuencial" for the host.  Its own figures cannot be compared: the notebook reads the clock when
 * dot returns, which is before the GPU is done, and starts it after inv has returned.  Its matrices
 * are random, and it does not print their products.
 *
 * usage: 13_linalg [N]    the size of the large matrix; 5000 in the notebook.  Up to 1024 the host
 *                         computes both, too, for which the notebook uses numpy.
 */
#include "seconds.h"
#include <kudzu/kudzu.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

/* Seconds since `start`, when all work of the device is done. */
static double passed(kz_device *dev, double start)
{
	CHECK(kz_stream_synchronize(kz_device_stream(dev), &err));
	return seconds_now() - start;
}

/* The largest |element| of a - b. */
static double largest_difference(kz_array *a, kz_array *b)
{
	double largest = 0;
	kz_array *difference = NULL, *sizes = NULL;
	CHECK(kz_subtract(&difference, a, b, &err));
	CHECK(kz_absolute(&sizes, difference, &err));
	CHECK(kz_max_get(&largest, sizes, &err));
	kz_release_all(difference, sizes);
	return largest;
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

static void *host_memory(int64_t size)
{
	void *memory = malloc((size_t)size);
	if (!memory) {
		fprintf(stderr, "no memory for %lld bytes\n", (long long)size);
		exit(1);
	}
	return memory;
}

/* The largest |c - expected| / expected, of c on the device. */
static double largest_error(kz_array *c, const double *expected)
{
	double *got = host_memory(kz_array_size(c)), worst = 0;
	CHECK(kz_array_get(c, got, kz_array_size(c), &err));
	for (int64_t i = 0; i < kz_array_count(c); i++) {
		worst = fmax(worst, fabs((got[i] - expected[i]) / expected[i]));
	}
	free(got);
	return worst;
}

/* dot of 10 x 10, beside three loops on the host.  The first product compiles a kernel, or finds it
 * in the cache. */
static void dot_small(kz_device *dev, kz_random *rng)
{
	enum { N = 10 };
	double a[N * N], b[N * N], c[N * N];
	kz_array *left = NULL, *right = NULL, *product = NULL, *again = NULL;
	CHECK(kz_random_uniform(&left, rng, KZ_F64, KZ_SHAPE(N, N), 0, 1, &err));
	CHECK(kz_random_uniform(&right, rng, KZ_F64, KZ_SHAPE(N, N), 0, 1, &err));
	CHECK(kz_array_get(left, a, sizeof(a), &err));
	CHECK(kz_array_get(right, b, sizeof(b), &err));
	double start = seconds_now();
	CHECK(kz_matmul(&product, left, right, NULL, &err));
	seconds_print("dot 10 x 10\nTiempo en paralelo", passed(dev, start));
	start = seconds_now();
	CHECK(kz_matmul(&again, left, right, NULL, &err));
	seconds_print("Tiempo en paralelo (again)", passed(dev, start));
	start = seconds_now();
	host_dot(c, a, b, N);
	seconds_print("Tiempo secuencial", seconds_now() - start);
	printf("dot 10 x 10: relative error %s 1e-13\n",
		largest_error(product, c) <= 1e-13 ? "below" : "ABOVE");
	kz_release_all(left, right, product, again);
}

/* The same on the host; the product is compared. */
static void large_on_host(kz_array *a, kz_array *square, int64_t n)
{
	double *host = host_memory(2 * kz_array_size(a));
	CHECK(kz_array_get(a, host, kz_array_size(a), &err));
	double start = seconds_now();
	host_dot(host + n * n, host, host, n);
	seconds_print("dot\nTiempo secuencial", seconds_now() - start);
	printf("dot %lld x %lld: relative error %s 1e-12\n", (long long)n, (long long)n,
		largest_error(square, host + n * n) <= 1e-12 ? "below" : "ABOVE");
	start = seconds_now();
	host_inv(host + n * n, host, n);
	seconds_print("inv\nTiempo en secuencial", seconds_now() - start);
	free(host);
}

/* dot and inv of n x n: a inv(a) is the identity. */
static void large(kz_device *dev, kz_random *rng, int64_t n)
{
	kz_array *a = NULL, *inverse = NULL, *product = NULL, *eye = NULL, *square = NULL;
	CHECK(kz_random_uniform(&a, rng, KZ_F64, KZ_SHAPE(n, n), 0, 1, &err));
	CHECK(kz_array_eye(&eye, dev, KZ_F64, n, n, 0, &err));
	passed(dev, 0);
	double start = seconds_now();
	CHECK(kz_matmul(&square, a, a, NULL, &err));
	const double dot = passed(dev, start);
	start = seconds_now();
	CHECK(kz_inv(&inverse, a, NULL, &err));
	const double inv = passed(dev, start), steps = 2 * (double)n * (double)n * (double)n;
	fprintf(stderr, "%lld x %lld: %.1f and %.1f GFLOP/s\n", (long long)n, (long long)n,
		steps / dot / 1e9, steps / inv / 1e9);
	seconds_print("dot\nTiempo en paralelo", dot);
	seconds_print("inv\nTiempo en paralelo", inv);
	if (n <= 1024) {
		large_on_host(a, square, n);
	}
	CHECK(kz_matmul(&product, a, inverse, NULL, &err));
	printf("inv %lld x %lld: |a inv(a) - 1| %s 1e-6\n", (long long)n, (long long)n,
		largest_difference(product, eye) <= 1e-6 ? "below" : "ABOVE");
	kz_release_all(a, inverse, product, eye, square);
}

/* The third row is twice the second. */
static void singular(kz_device *dev)
{
	const double host[3][3] = {{2, 0, 0}, {0, 1, 2}, {0, 2, 4}};
	double det = 1;
	kz_array *a = NULL, *inverse = NULL;
	CHECK(kz_array_from(&a, dev, KZ_FROM(host), &err));
	CHECK(kz_det_get(&det, a, &err));
	if (kz_inv(&inverse, a, NULL, &err) == KZ_NUMERIC) {
		printf("%s; its determinant is %g\n", err.message, det);
		kz_error_clear(&err);
	}
	kz_release_all(a, inverse);
}

int main(int argc, char **argv)
{
	kz_device *dev = NULL;
	kz_random *rng = NULL;
	CHECK(kz_device_open(&dev, NULL, &err));
	CHECK(kz_random_create(&rng, dev, 1, 0, &err));
	dot_small(dev, rng);
	large(dev, rng, argc > 1 ? strtoll(argv[1], NULL, 10) : 256);
	singular(dev);
	kz_release_all(rng, dev);
	return 0;
}
