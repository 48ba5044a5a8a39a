/* SPDX-License-Identifier: MIT */
/*
 * Products on the CPU device beside direct calls of OpenBLAS, which must have the same results.
 *
 *	bench_matmul [CASE]    CASE is part of the name of a case
 *
 * A first process has no library (KUDZU_BLAS=none), so our own kernel multiplies; a second one has
 * OpenBLAS under kz_matmul.  Each takes turns with a call of gemm, or gemv, on the same memory and
 * as many threads as KUDZU_CPU_THREADS says.
 */
#include "bench.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 15 };

typedef void gemm(const char *op_a, const char *op_b, const int *m, const int *n, const int *k,
	const void *alpha, const void *a, const int *lda, const void *b, const int *ldb,
	const void *beta, void *c, const int *ldc, size_t, size_t);
typedef void gemv(const char *op, const int *m, const int *n, const void *alpha, const void *a,
	const int *lda, const void *x, const int *incx, const void *beta, void *y, const int *incy,
	size_t);

static const struct item {
	kz_dtype dtype;
	int m, n, k;
} items[] = {
	{KZ_F32, 64, 64, 64}, {KZ_F32, 256, 256, 256}, {KZ_F32, 1024, 1024, 1024},
	{KZ_F32, 2048, 2048, 2048}, {KZ_F64, 64, 64, 64}, {KZ_F64, 256, 256, 256},
	{KZ_F64, 1024, 1024, 1024}, {KZ_F64, 2048, 2048, 2048}, {KZ_F32, 2048, 1, 2048},
	{KZ_F32, 1, 2048, 2048}, {KZ_F64, 2048, 1, 2048}, {KZ_F64, 1, 2048, 2048},
	{KZ_F64, 5000, 5000, 5000}, /* the size of the lesson on scikit-cuda */
};

struct bench {
	kz_device *dev;
	kz_array *a, *b, *c;
	void *library, *want;
	kz_error err;
};

/* c' = b' a' of row-major matrices. */
static void call_blas(const struct bench *bench, const struct item *item)
{
	const double one = 1, zero = 0;
	const float one_f = 1, zero_f = 0;
	const int step = 1;
	int is_float = item->dtype == KZ_F32, is_vector = item->n == 1 || item->m == 1;
	const void *alpha = is_float ? (const void *)&one_f : &one;
	const void *beta = is_float ? (const void *)&zero_f : &zero;
	const void *a = (const void *)(uintptr_t)kz_array_address(bench->a);
	const void *b = (const void *)(uintptr_t)kz_array_address(bench->b);
	void *found = dlsym(bench->library, is_vector ? (is_float ? "sgemv_" : "dgemv_")
		: is_float ? "sgemm_" : "dgemm_");
	if (is_vector) {
		gemv *call;
		memcpy(&call, &found, sizeof(found));
		if (item->n == 1) {
			call("T", &item->k, &item->m, alpha, a, &item->k, b, &step, beta,
				bench->want, &step, 1);
		} else {
			call("N", &item->n, &item->k, alpha, b, &item->n, a, &step, beta,
				bench->want, &step, 1);
		}
		return;
	}
	gemm *call;
	memcpy(&call, &found, sizeof(found));
	call("N", "N", &item->n, &item->m, &item->k, alpha, b, &item->n, a, &item->k, beta,
		bench->want, &item->n, 1, 1);
}

static kz_status call_ours(struct bench *bench)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	options.into = bench->c;
	kz_status st = kz_matmul(NULL, bench->a, bench->b, &options, &bench->err);
	return st ? st : kz_stream_synchronize(kz_device_stream(bench->dev), &bench->err);
}

static double element(const void *of, kz_dtype dtype, int64_t i)
{
	return dtype == KZ_F32 ? ((const float *)of)[i] : ((const double *)of)[i];
}

static kz_status make(kz_array **out, struct bench *bench, kz_dtype dtype, int rows, int columns)
{
	int64_t count = (int64_t)rows * columns;
	double *values = malloc((size_t)count * sizeof(*values));
	kz_array *wide = NULL;
	for (int64_t i = 0; values && i < count; i++) {
		values[i] = (double)(i * 7919 % 2003) / 1001 - 1;
	}
	kz_status st = values ? kz_array_from(&wide, bench->dev, KZ_F64, KZ_SHAPE(rows, columns),
		values, count * 8, &bench->err) : KZ_NO_MEMORY;
	st = st ? st : kz_array_astype(out, wide, dtype, &bench->err);
	kz_array_release(wide);
	free(values);
	return st;
}

static int measure(struct bench *bench, const struct item *item, const char *who)
{
	double times[ROUNDS], ratios[ROUNDS];
	char name[120];
	int64_t count = (int64_t)item->m * item->n;
	double work = 2.0 * item->m * item->n * item->k;
	int calls = work < 1e8 ? (int)(1e8 / work) + 1 : 1, wrong = 0;
	size_t size = item->dtype == KZ_F32 ? 4 : 8;
	void *got = malloc((size_t)count * size);
	bench->want = malloc((size_t)count * size);
	snprintf(name, sizeof(name), "matmul: %s, (%d, %d) by (%d, %d), %s",
		kz_dtype_name(item->dtype), item->m, item->k, item->k, item->n, who);
	if (!got || !bench->want || make(&bench->a, bench, item->dtype, item->m, item->k)
	    || make(&bench->b, bench, item->dtype, item->k, item->n)
	    || make(&bench->c, bench, item->dtype, item->m, item->n)
	    || kz_stream_synchronize(kz_device_stream(bench->dev), &bench->err)) {
		return bench_fail(&bench->err);
	}
	int rounds = work < 1e11 ? ROUNDS : 1;
	for (int round = -1; round < rounds; round++) {
		double start = bench_now();
		for (int i = 0; i < calls; i++) {
			if (call_ours(bench)) {
				return bench_fail(&bench->err);
			}
		}
		double middle = bench_now();
		for (int i = 0; i < calls; i++) {
			call_blas(bench, item);
		}
		double end = bench_now();
		if (round >= 0) {
			times[round] = (middle - start) / calls * 1e6;
			ratios[round] = (middle - start) / (end - middle);
		}
	}
	if (kz_array_get(bench->c, got, count * (int64_t)size, &bench->err)) {
		return bench_fail(&bench->err);
	}
	for (int64_t i = 0; i < count; i++) {
		double off = fabs(element(got, item->dtype, i) - element(bench->want, item->dtype,
			i));
		wrong |= !(off <= 16 * item->k * (size == 4 ? 1.2e-7 : 2.3e-16));
	}
	kz_array_release(bench->a);
	kz_array_release(bench->b);
	kz_array_release(bench->c);
	free(bench->want);
	free(got);
	if (wrong) {
		fprintf(stderr, "%s: wrong\n", name);
		return EXIT_FAILURE;
	}
	bench_report(name, "a call", "us", times, rounds);
	bench_report(name, "over OpenBLAS", "ratio", ratios, rounds);
	return EXIT_SUCCESS;
}

static int run_all(const char *some, const char *who)
{
	struct bench bench = {.err = KZ_ERROR_INIT};
	const char *threads = getenv("KUDZU_CPU_THREADS");
	int failed = EXIT_SUCCESS;
	bench.library = dlopen("libopenblas.so.0", RTLD_NOW);
	if (!bench.library) {
		fprintf(stderr, "bench_matmul: %s\n", dlerror());
		return EXIT_FAILURE;
	}
	if (threads) {
		void (*set)(int threads),
			*symbol = dlsym(bench.library, "openblas_set_num_threads");
		memcpy(&set, &symbol, sizeof(symbol));
		set(atoi(threads));
	}
	char *(*core)(void);
	void *found = dlsym(bench.library, "openblas_get_corename");
	memcpy(&core, &found, sizeof(found));
	char with[80];
	snprintf(with, sizeof(with), "%s (OpenBLAS %s)", who, core());
	if (kz_device_open(&bench.dev, "cpu", &bench.err)) {
		return bench_fail(&bench.err);
	}
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]) && !failed; i++) {
		char name[80];
		snprintf(name, sizeof(name), "%s %d %d %d %s", kz_dtype_name(items[i].dtype),
			items[i].m, items[i].n, items[i].k, who);
		if (!some || strstr(name, some)) {
			failed = measure(&bench, &items[i], with);
		}
	}
	kz_device_close(bench.dev);
	return failed;
}

int main(int argc, char **argv)
{
	const char *some = argc > 1 ? argv[1] : NULL;
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		setenv("KUDZU_BLAS", "none", 1);
		status = run_all(some, "our kernel");
		fflush(stdout);
		_exit(status);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
		return EXIT_FAILURE;
	}
	return run_all(some, "the library");
}
