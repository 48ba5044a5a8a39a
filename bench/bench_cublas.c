/* SPDX-License-Identifier: MIT */
/*
 * Products, inverses and singular values on a GPU, beside bare calls of cuBLAS and cuSOLVER.
 *
 *	bench_cublas [CASE]
 *
 * Both do the same work: on the same arrays, in the same stream, into memory that is there or comes
 * from Kudzu's pool, in turns.  The bare calls are made with handles of our own of the library that
 * Kudzu has loaded.  Results are compared.  CASE is part of the name of a case.
 */
#include "calls.h"
#include "driver.h"

#include <string.h>

enum { ROUNDS = 11 };

enum { GEMM, INV, SVD };

static const struct item {
	const char *name;
	int what;
	kz_dtype dtype;
	int64_t n;
} items[] = {
#define SIZES(name, what, dtype) {name, what, dtype, 1024}, {name, what, dtype, 2048}, \
	{name, what, dtype, 4096}, {name, what, dtype, 8192}
	SIZES("gemm", GEMM, KZ_F32),
	SIZES("gemm", GEMM, KZ_F64),
	SIZES("gemm", GEMM, KZ_F16),
	{"inv", INV, KZ_F32, 1024},
	{"inv", INV, KZ_F64, 1024},
	{"inv", INV, KZ_F64, 4096},
	{"svd", SVD, KZ_F32, 512},
	{"svd", SVD, KZ_F64, 512},
};

/* The libraries */

static struct bare {
	int (*blas_create)(void **out);
	int (*blas_set_stream)(void *blas, void *stream);
	int (*blas_set_mode)(void *blas, int mode);
	int (*gemm)(void *blas, int op_a, int op_b, int m, int n, int k, const void *alpha,
		const void *a, int type_a, int lda, const void *b, int type_b, int ldb,
		const void *beta, void *c, int type_c, int ldc, int compute, int algo);
	int (*solver_create)(void **out);
	int (*solver_set_stream)(void *solver, void *stream);
	/* of float32 and float64 */
	int (*getrf_size[2])(void *solver, int m, int n, void *a, int lda, int *count);
	int (*getrf[2])(void *solver, int m, int n, void *a, int lda, void *work, int *pivots,
		int *info);
	int (*getrs[2])(void *solver, int op, int n, int k, const void *a, int lda,
		const int *pivots, void *b, int ldb, int *info);
	int (*gesvd_size[2])(void *solver, int m, int n, int *count);
	int (*gesvd[2])(void *solver, signed char u, signed char vt, int m, int n, void *a, int lda,
		void *s, void *out_u, int ldu, void *out_vt, int ldvt, void *work, int count,
		void *rwork, int *info);
	void *blas, *solver;
	int count;              /* elements of work space */
	kz_array *into, *identity, *copy, *work, *pivots, *info, *s, *vt;
} bare;

static void *bare_open(const char *name, int newest)
{
	void *object = NULL;
	for (int version = newest; version > 10 && !object; version--) {
		char file[64];
		snprintf(file, sizeof(file), "%s.so.%d", name, version);
		object = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
	}
	return object;
}

static void bare_find(void *to, void *object, const char *symbol, int *missing)
{
	void *found = object ? dlsym(object, symbol) : NULL;
	memcpy(to, &found, sizeof(found));
	*missing += !found;
}

/* The library has loaded them for a product that came before. */
static int bare_load(struct bench *bench)
{
	void *blas = bare_open("libcublas", 13), *solver = bare_open("libcusolver", 12);
	void *stream = kz_stream_handle(kz_device_stream(bench->dev));
	int missing = 0;
	bare_find(&bare.blas_create, blas, "cublasCreate_v2", &missing);
	bare_find(&bare.blas_set_stream, blas, "cublasSetStream_v2", &missing);
	bare_find(&bare.blas_set_mode, blas, "cublasSetMathMode", &missing);
	bare_find(&bare.gemm, blas, "cublasGemmEx", &missing);
	bare_find(&bare.solver_create, solver, "cusolverDnCreate", &missing);
	bare_find(&bare.solver_set_stream, solver, "cusolverDnSetStream", &missing);
	for (int i = 0; i < 2; i++) {
		static const char *const symbols[2][5] = {
			{"cusolverDnSgetrf_bufferSize", "cusolverDnSgetrf", "cusolverDnSgetrs",
				"cusolverDnSgesvd_bufferSize", "cusolverDnSgesvd"},
			{"cusolverDnDgetrf_bufferSize", "cusolverDnDgetrf", "cusolverDnDgetrs",
				"cusolverDnDgesvd_bufferSize", "cusolverDnDgesvd"},
		};
		bare_find(&bare.getrf_size[i], solver, symbols[i][0], &missing);
		bare_find(&bare.getrf[i], solver, symbols[i][1], &missing);
		bare_find(&bare.getrs[i], solver, symbols[i][2], &missing);
		bare_find(&bare.gesvd_size[i], solver, symbols[i][3], &missing);
		bare_find(&bare.gesvd[i], solver, symbols[i][4], &missing);
	}
	return missing || bare.blas_create(&bare.blas) || bare.blas_set_stream(bare.blas, stream)
		|| bare.blas_set_mode(bare.blas, 16) // sums of halves in float32, as Kudzu's
		|| bare.solver_create(&bare.solver) || bare.solver_set_stream(bare.solver, stream);
}

static void *pointer(const kz_array *array)
{
	return (void *)(uintptr_t)kz_array_address(array);
}

static int is_double(const struct bench *bench)
{
	return bench->item->dtype == KZ_F64;
}

/* What is measured: a row-major product is that of the transposes in the other order, the inverse
 * of the transpose is the transposed inverse, and u and vh change places. */

static kz_status run_bare_gemm(struct bench *bench)
{
	static const float one = 1, zero = 0;
	static const double wide_one = 1, wide_zero = 0;
	kz_dtype dtype = bench->item->dtype;
	int n = (int)bench->item->n, type = dtype == KZ_F32 ? 0 : dtype == KZ_F64 ? 1 : 2;
	const void *alpha = type == 1 ? (const void *)&wide_one : &one;
	const void *beta = type == 1 ? (const void *)&wide_zero : &zero;
	return bare.gemm(bare.blas, 0, 0, n, n, n, alpha, pointer(bench->b), type, n,
		pointer(bench->a), type, n, beta, pointer(bare.into), type, n, type == 1 ? 70 : 68,
		-1)
		? KZ_UNKNOWN : KZ_OK;
}

static kz_status run_gemm(struct bench *bench)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	options.into = bench->out;
	return kz_matmul(NULL, bench->a, bench->b, &options, &bench->err);
}

static kz_status run_bare_inv(struct bench *bench)
{
	int n = (int)bench->item->n, wide = is_double(bench);
	int *pivots = pointer(bare.pivots), *info = pointer(bare.info);
	if (kz_array_assign(bare.copy, bench->a, &bench->err)
	    || kz_array_assign(bare.into, bare.identity, &bench->err)) {
		return bench->err.status;
	}
	return bare.getrf[wide](bare.solver, n, n, pointer(bare.copy), n, pointer(bare.work),
		pivots,
			info)
		|| bare.getrs[wide](bare.solver, 0, n, n, pointer(bare.copy), n, pivots,
			pointer(bare.into), n, info) ? KZ_UNKNOWN : KZ_OK;
}

static kz_status run_inv(struct bench *bench)
{
	kz_array_release(bench->out);
	bench->out = NULL;
	return kz_inv(&bench->out, bench->a, NULL, &bench->err);
}

static kz_status run_bare_svd(struct bench *bench)
{
	int n = (int)bench->item->n;
	if (kz_array_assign(bare.copy, bench->a, &bench->err)) {
		return bench->err.status;
	}
	return bare.gesvd[is_double(bench)](bare.solver, 'S', 'S', n, n, pointer(bare.copy), n,
		pointer(bare.s), pointer(bare.vt), n, pointer(bare.into), n, pointer(bare.work),
		bare.count, NULL, pointer(bare.info)) ? KZ_UNKNOWN : KZ_OK;
}

static kz_status run_svd(struct bench *bench)
{
	kz_array *u = NULL, *vh = NULL;
	kz_array_release(bench->out);
	bench->out = NULL;
	kz_status st = kz_svd(&u, &bench->out, &vh, bench->a, 0, NULL, &bench->err);
	kz_array_release(u);
	kz_array_release(vh);
	return st;
}

static run_fn *const runs[][2] = {
	[GEMM] = {run_gemm, run_bare_gemm}, [INV] = {run_inv, run_bare_inv},
	[SVD] = {run_svd, run_bare_svd},
};

/* Arrays */

/* Numbers between 0 and 1, and a diagonal that makes inverses tame. */
static int make_operand(kz_array **out, struct bench *bench, kz_shape shape, int seed)
{
	int64_t n = bench->item->n;
	double *host = malloc((size_t)(n * n) * sizeof(*host));
	uint32_t state = (uint32_t)seed;
	kz_array *wide = NULL;
	for (int64_t i = 0; host && i < n * n; i++) {
		state = state * 1664525u + 1013904223u;
		host[i] = state / 4294967296.0
			+ (bench->item->what == INV && i % (n + 1) == 0 ? 8 : 0);
	}
	int failed = !host || kz_array_from(&wide, bench->dev, KZ_F64, shape, host, n * n * 8,
			&bench->err)
		|| kz_array_astype(out, wide, bench->item->dtype, &bench->err);
	kz_array_release(wide);
	free(host);
	return failed;
}

static int make_identity(kz_array **out, struct bench *bench)
{
	int64_t n = bench->item->n;
	const int64_t step[] = {(n + 1) * kz_dtype_size(bench->item->dtype)};
	kz_array *diagonal = NULL;
	int failed = kz_array_zeros(out, bench->dev, bench->item->dtype, KZ_SHAPE(n, n),
		&bench->err)
		|| kz_array_view(&diagonal, *out, KZ_SHAPE(n), step, 0, &bench->err)
		|| kz_array_fill(diagonal, KZ_ARG(1), &bench->err);
	kz_array_release(diagonal);
	return failed;
}

static int make_arrays(struct bench *bench)
{
	kz_dtype dtype = bench->item->dtype;
	int64_t n = bench->item->n;
	kz_shape shape = KZ_SHAPE(n, n);
	kz_device *dev = bench->dev;
	kz_error *err = &bench->err;
	if (make_operand(&bench->a, bench, shape, 1) || make_operand(&bench->b, bench, shape, 2)
	    || kz_array_zeros(&bench->out, dev, dtype, shape, err)
	    || kz_array_zeros(&bare.into, dev, dtype, shape, err)
	    || kz_array_zeros(&bare.info, dev, KZ_I32, KZ_SHAPE(1), err)) {
		return -1;
	}
	if (bench->item->what == GEMM) {
		return 0;
	}
	int failed = bench->item->what == INV
		? bare.getrf_size[is_double(bench)](bare.solver, (int)n, (int)n, pointer(bench->a),
			(int)n, &bare.count)
		: bare.gesvd_size[is_double(bench)](bare.solver, (int)n, (int)n, &bare.count);
	return failed || make_identity(&bare.identity, bench)
		|| kz_array_zeros(&bare.copy, dev, dtype, shape, err)
		|| kz_array_zeros(&bare.work, dev, dtype, KZ_SHAPE(bare.count), err)
		|| kz_array_zeros(&bare.pivots, dev, KZ_I32, KZ_SHAPE(n), err)
		|| kz_array_zeros(&bare.s, dev, dtype, KZ_SHAPE(n), err)
		|| kz_array_zeros(&bare.vt, dev, dtype, shape, err);
}

static void end_arrays(struct bench *bench)
{
	kz_array **const all[] = {&bare.into, &bare.identity, &bare.copy, &bare.work, &bare.pivots,
		&bare.info, &bare.s, &bare.vt};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		kz_array_release(*all[i]);
		*all[i] = NULL;
	}
	release_arrays(bench);
}

/* The first elements of both results: a row, or singular values. */
static int check(struct bench *bench)
{
	int64_t n = bench->item->n;
	kz_array *theirs = bench->item->what == SVD ? bare.s : bare.into, *rows[2] = {NULL, NULL};
	double *host = malloc(2 * (size_t)n * sizeof(*host));
	int wrong = !host;
	for (int i = 0; i < 2 && !wrong; i++) {
		kz_array *row = NULL;
		wrong = kz_array_view(&row, i ? theirs : bench->out, KZ_SHAPE(n), NULL, 0,
			&bench->err)
			|| kz_array_astype(&rows[i], row, KZ_F64, &bench->err)
			|| kz_array_get(rows[i], host + i * n, 8 * n, &bench->err);
		kz_array_release(row);
	}
	for (int64_t i = 0; i < n && !wrong; i++) {
		double most = bench->item->dtype == KZ_F64 ? 1e-9 : 1e-3;
		if (!(fabs(host[i] - host[n + i]) <= most * (fabs(host[n + i]) + 1e-2))) {
			fprintf(stderr, "%s: element %lld is %g, the bare call's %g\n",
				bench->item->name, (long long)i, host[i], host[n + i]);
			wrong = 1;
		}
	}
	kz_array_release(rows[0]);
	kz_array_release(rows[1]);
	free(host);
	return wrong;
}

static int measure(struct bench *bench)
{
	run_fn *const *run = runs[bench->item->what];
	double mine[ROUNDS], theirs[ROUNDS], ratio[ROUNDS], speed[ROUNDS];
	double n = (double)bench->item->n;
	char name[96];
	int64_t calls = calls_for(time_calls(bench, run[1], 1));
	for (int round = 0; round < ROUNDS; round++) {
		double bare_time = time_calls(bench, run[1], calls);
		double own_time = time_calls(bench, run[0], calls);
		if (bare_time < 0 || own_time < 0) {
			return -1;
		}
		mine[round] = own_time * 1e6;
		theirs[round] = bare_time * 1e6;
		ratio[round] = own_time / bare_time;
		speed[round] = 2 * n * n * n / own_time * 1e-12;
	}
	if (check(bench)) {
		return -1;
	}
	snprintf(name, sizeof(name), "%s, %s, %d", bench->item->name,
		kz_dtype_name(bench->item->dtype), (int)bench->item->n);
	bench_report(name, "kudzu", "us", mine, ROUNDS);
	bench_report(name, "bare", "us", theirs, ROUNDS);
	bench_report(name, "kudzu/bare", "ratio", ratio, ROUNDS);
	if (bench->item->what == GEMM) {
		bench_report(name, "kudzu", "Tflop/s", speed, ROUNDS);
	}
	fflush(stdout);
	return 0;
}

/* A product, so that the libraries are loaded. */
static int warm_up(struct bench *bench)
{
	static const struct item small = {"warm up", GEMM, KZ_F32, 64};
	bench->item = &small;
	int failed = make_operand(&bench->a, bench, KZ_SHAPE(64, 64), 1)
		|| kz_array_zeros(&bench->out, bench->dev, KZ_F32, KZ_SHAPE(64, 64), &bench->err)
		|| kz_array_copy(&bench->b, bench->a, &bench->err) || run_gemm(bench)
		|| kz_device_synchronize(bench->dev, &bench->err);
	release_arrays(bench);
	return failed;
}

int main(int argc, char **argv)
{
	struct bench bench = {.now = bench_now, .err = KZ_ERROR_INIT};
	struct driver driver;
	if (kz_device_open(&bench.dev, "cuda", &bench.err)) {
		return bench_fail(&bench.err);
	}
	int failed = driver_find(&driver) || driver.set_current(driver.context) || warm_up(&bench)
		|| bare_load(&bench);
	if (failed && bench.err.status == KZ_OK) {
		fprintf(stderr, "bench_cublas: cuBLAS or cuSOLVER cannot be called: see kudzu "
			"doctor\n");
	}
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]) && !failed; i++) {
		bench.item = &items[i];
		if (argc < 2 || strstr(items[i].name, argv[1])) {
			failed = make_arrays(&bench) || measure(&bench);
			end_arrays(&bench);
		}
	}
	if (bench.err.status) {
		return bench_fail(&bench.err);
	}
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
