/* SPDX-License-Identifier: MIT */
/*
 * Solvers and factors on the CPU device beside direct calls of the same LAPACK, float64.
 *
 *	bench_solve [CASE [N]]    CASE is part of the name of a case; N the extent, 500 without it
 *
 * Both have a row-major matrix, which must survive, and give a result in new memory.  LAPACK sees
 * the transpose; a direct call makes the best of that, as a C programmer would: the inverse and the
 * singular values are those of the transpose, `solve` asks for op 'T', and a symmetric matrix is
 * its own transpose.  Singular vectors and eigenvectors count as results in either order.  The sums
 * of both results must agree.
 */
#include "bench.h"

#include <dlfcn.h>
#include <string.h>

enum { ROUNDS = 11 };

struct bench {
	kz_device *dev;
	kz_array *a, *symmetric, *b;
	double *host, *host_symmetric, *host_b;
	int n;
	void *library;
	kz_error err;
};

/* A function of LAPACK, called by its own prototype. */
static void lookup(void *function, const struct bench *bench, const char *name)
{
	void *found = dlsym(bench->library, name);
	memcpy(function, &found, sizeof(found));
}

static double *copy(const double *from, int64_t count)
{
	double *out = malloc((size_t)count * sizeof(*out));
	if (out && from) {
		memcpy(out, from, (size_t)count * sizeof(*out));
	}
	return out;
}

/* The sum of the magnitudes of a result, which is freed: what both sides are compared by. */
static double total(double *values, int64_t count)
{
	double sum = 0;
	for (int64_t i = 0; i < count; i++) {
		sum += fabs(values[i]);
	}
	free(values);
	return sum;
}

static kz_status take(double *out, kz_array *array, struct bench *bench)
{
	double *host = malloc((size_t)kz_array_size(array));
	kz_status st = kz_array_get(array, host, kz_array_size(array), &bench->err);
	*out = total(host, kz_array_count(array));
	return st;
}

/* Each case: ours, and the direct call.  `check` is set to the sum of the result in the first
 * round, which is not timed; else NULL. */

static kz_status finish(double *check, kz_array *result, struct bench *bench)
{
	kz_status st = check ? take(check, result, bench)
		: kz_stream_synchronize(kz_device_stream(bench->dev), &bench->err);
	kz_array_release(result);
	return st;
}

static kz_status our_inv(double *check, struct bench *bench)
{
	kz_array *x = NULL;
	kz_status st = kz_inv(&x, bench->a, NULL, &bench->err);
	return st ? st : finish(check, x, bench);
}

static double lapack_inv(const struct bench *bench)
{
	void (*getrf)(const int *, const int *, double *, const int *, int *, int *);
	void (*getri)(const int *, double *, const int *, const int *, double *, const int *,
		int *);
	int n = bench->n, info, count = -1, *pivots = malloc((size_t)n * sizeof(*pivots));
	double ask = 0, *x = copy(bench->host, (int64_t)n * n);
	lookup(&getrf, bench, "dgetrf_");
	lookup(&getri, bench, "dgetri_");
	getri(&n, x, &n, pivots, &ask, &count, &info);
	count = (int)ask;
	double *work = copy(NULL, count);
	getrf(&n, &n, x, &n, pivots, &info);
	getri(&n, x, &n, pivots, work, &count, &info);
	free(work);
	free(pivots);
	return total(x, (int64_t)n * n);
}

static kz_status our_solve(double *check, struct bench *bench)
{
	kz_array *x = NULL;
	kz_status st = kz_solve(&x, bench->a, bench->b, NULL, &bench->err);
	return st ? st : finish(check, x, bench);
}

static double lapack_solve(const struct bench *bench)
{
	void (*getrf)(const int *, const int *, double *, const int *, int *, int *);
	void (*getrs)(const char *, const int *, const int *, const double *, const int *,
		const int *, double *, const int *, int *, size_t);
	int n = bench->n, one = 1, info, *pivots = malloc((size_t)n * sizeof(*pivots));
	double *lu = copy(bench->host, (int64_t)n * n), *x = copy(bench->host_b, n);
	lookup(&getrf, bench, "dgetrf_");
	lookup(&getrs, bench, "dgetrs_");
	getrf(&n, &n, lu, &n, pivots, &info);
	getrs("T", &n, &one, lu, &n, pivots, x, &n, &info, 1);
	free(lu);
	free(pivots);
	return total(x, n);
}

static kz_status our_svd(double *check, struct bench *bench)
{
	kz_array *u = NULL, *s = NULL, *vt = NULL;
	kz_status st = kz_svd(&u, &s, &vt, bench->a, 1, NULL, &bench->err);
	kz_array_release(u);
	kz_array_release(vt);
	return st ? st : finish(check, s, bench);
}

static double lapack_svd(const struct bench *bench)
{
	void (*gesdd)(const char *, const int *, const int *, double *, const int *, double *,
		double *,
		const int *, double *, const int *, double *, const int *, int *, int *, size_t);
	int n = bench->n, info, count = -1, *integers = malloc(8 * (size_t)n * sizeof(*integers));
	int64_t cells = (int64_t)n * n;
	double ask = 0, *a = copy(bench->host, cells), *u = copy(NULL, cells),
		*vt = copy(NULL, cells);
	double *s = copy(NULL, n);
	lookup(&gesdd, bench, "dgesdd_");
	gesdd("A", &n, &n, a, &n, s, u, &n, vt, &n, &ask, &count, integers, &info, 1);
	count = (int)ask;
	double *work = copy(NULL, count);
	gesdd("A", &n, &n, a, &n, s, u, &n, vt, &n, work, &count, integers, &info, 1);
	free(work);
	free(integers);
	free(a);
	free(u);
	free(vt);
	return total(s, n);
}

static kz_status our_eigh(double *check, struct bench *bench)
{
	kz_array *w = NULL, *v = NULL;
	kz_status st = kz_eigh(&w, &v, bench->symmetric, 0, NULL, &bench->err);
	kz_array_release(v);
	return st ? st : finish(check, w, bench);
}

static double lapack_eigh(const struct bench *bench)
{
	void (*syevd)(const char *, const char *, const int *, double *, const int *, double *,
		double *, const int *, int *, const int *, int *, size_t, size_t);
	int n = bench->n, info, count = -1, integer_count = -1, ask_integers = 0;
	double ask = 0, *v = copy(bench->host_symmetric, (int64_t)n * n), *w = copy(NULL, n);
	lookup(&syevd, bench, "dsyevd_");
	syevd("V", "U", &n, v, &n, w, &ask, &count, &ask_integers, &integer_count, &info, 1, 1);
	count = (int)ask;
	integer_count = ask_integers;
	double *work = copy(NULL, count);
	int *integers = malloc((size_t)integer_count * sizeof(*integers));
	syevd("V", "U", &n, v, &n, w, work, &count, integers, &integer_count, &info, 1, 1);
	free(integers);
	free(work);
	free(v);
	return total(w, n);
}

static const struct item {
	const char *name;
	kz_status (*ours)(double *check, struct bench *bench);
	double (*lapack)(const struct bench *bench);
} items[] = {
	{"inv", our_inv, lapack_inv},
	{"solve", our_solve, lapack_solve},
	{"svd", our_svd, lapack_svd},
	{"eigh", our_eigh, lapack_eigh},
};

static int measure(struct bench *bench, const struct item *item)
{
	double times[ROUNDS], ratios[ROUNDS], got, want = item->lapack(bench);
	int rounds = bench->n > 2000 ? 1 : ROUNDS; // minutes
	char name[80];
	snprintf(name, sizeof(name), "solve: %s, float64, %d", item->name, bench->n);
	if (item->ours(&got, bench)) {
		return bench_fail(&bench->err);
	}
	if (!(fabs(got - want) <= 1e-8 * want)) {
		fprintf(stderr, "%s: wrong, %.17g and not %.17g\n", name, got, want);
		return EXIT_FAILURE;
	}
	for (int round = 0; round < rounds; round++) {
		double start = bench_now();
		if (item->ours(NULL, bench)) {
			return bench_fail(&bench->err);
		}
		double middle = bench_now();
		(void)item->lapack(bench);
		times[round] = (middle - start) * 1e3;
		ratios[round] = (middle - start) / (bench_now() - middle);
	}
	bench_report(name, "a call", "ms", times, rounds);
	bench_report(name, "over LAPACK", "ratio", ratios, rounds);
	return EXIT_SUCCESS;
}

/* A matrix that is far from singular, a symmetric one, and a right-hand side. */
static kz_status make(struct bench *bench)
{
	int n = bench->n;
	int64_t cells = (int64_t)n * n, size = cells * (int64_t)sizeof(double);
	bench->host = copy(NULL, cells);
	bench->host_symmetric = copy(NULL, cells);
	bench->host_b = copy(NULL, n);
	uint32_t state = 1;
	for (int64_t i = 0; i < cells; i++) {
		state = state * 1664525u + 1013904223u;
		bench->host[i] = (double)(state >> 8) / (1 << 23) - 1 + (i % (n + 1) == 0 ? n : 0);
	}
	for (int64_t i = 0; i < cells; i++) {
		bench->host_symmetric[i] = bench->host[i] + bench->host[i % n * n + i / n];
	}
	for (int i = 0; i < n; i++) {
		bench->host_b[i] = i % 7 - 3;
	}
	kz_status st = kz_array_from(&bench->a, bench->dev, KZ_F64, KZ_SHAPE(n, n), bench->host,
		size, &bench->err);
	st = st ? st : kz_array_from(&bench->symmetric, bench->dev, KZ_F64, KZ_SHAPE(n, n),
		bench->host_symmetric, size, &bench->err);
	return st ? st : kz_array_from(&bench->b, bench->dev, KZ_F64, KZ_SHAPE(n), bench->host_b,
		n * (int64_t)sizeof(double), &bench->err);
}

int main(int argc, char **argv)
{
	struct bench bench = {.err = KZ_ERROR_INIT, .n = argc > 2 ? atoi(argv[2]) : 500};
	int failed = EXIT_SUCCESS;
	bench.library = dlopen("libopenblas.so.0", RTLD_NOW);
	if (!bench.library || bench.n < 1) {
		fprintf(stderr, "bench_solve: %s\n",
			bench.library ? "N must be above 0" : dlerror());
		return EXIT_FAILURE;
	}
	if (kz_device_open(&bench.dev, "cpu", &bench.err) || make(&bench)) {
		return bench_fail(&bench.err);
	}
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]) && !failed; i++) {
		if (argc < 2 || strstr(items[i].name, argv[1])) {
			failed = measure(&bench, &items[i]);
		}
	}
	kz_array_release(bench.a);
	kz_array_release(bench.symmetric);
	kz_array_release(bench.b);
	free(bench.host);
	free(bench.host_symmetric);
	free(bench.host_b);
	kz_device_close(bench.dev);
	return failed;
}
