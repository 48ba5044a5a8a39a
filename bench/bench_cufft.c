/* SPDX-License-Identifier: MIT */
/*
 * Fourier transforms on a GPU, beside bare calls of cuFFT.
 *
 *	KUDZU_CUFFT=none bench_cufft LIBRARY [CASE]     our own kernels
 *	bench_cufft LIBRARY [CASE]                      kz_fft, which uses cuFFT where it is found
 *
 * Both sides do the same work: from the same array, in the same stream, into memory that is there,
 * in turns.  The bare calls have a plan of their own, with the work space that cuFFT allocates.
 * Results are compared.  LIBRARY is the path of cuFFT, as kudzu doctor prints it.  CASE is part of
 * the name of a case.
 */
#include "calls.h"
#include "driver.h"

#include <string.h>

enum { ROUNDS = 11 };

enum { COMPLEX, INVERSE, REAL };

static const struct item {
	const char *name;
	int what;
	kz_dtype dtype;         /* of the operand */
	kz_shape shape;
	int first, rank;        /* the axes that are transformed */
} items[] = {
	{"fft: 2^10, 2^14 times, complex64", COMPLEX, KZ_C64, {2, {1 << 14, 1 << 10}}, 1, 1},
	{"fft: 2^20, complex64", COMPLEX, KZ_C64, {1, {1 << 20}}, 0, 1},
	{"fft: 2^24, complex64", COMPLEX, KZ_C64, {1, {1 << 24}}, 0, 1},
	{"fft: 2^20, complex128", COMPLEX, KZ_C128, {1, {1 << 20}}, 0, 1},
	{"fft: (4096, 4096), complex64", COMPLEX, KZ_C64, {2, {4096, 4096}}, 0, 2},
	{"fft: (256, 256, 256), complex64", COMPLEX, KZ_C64, {3, {256, 256, 256}}, 0, 3},
	{"fft: rows of (4000, 3000), complex64", COMPLEX, KZ_C64, {2, {4000, 3000}}, 1, 1},
	{"fft: columns of (4096, 4096), complex64", COMPLEX, KZ_C64, {2, {4096, 4096}}, 0, 1},
	{"fft: 1000003, a prime, complex64", COMPLEX, KZ_C64, {1, {1000003}}, 0, 1},
	{"ifft: 2^20, complex64", INVERSE, KZ_C64, {1, {1 << 20}}, 0, 1},
	{"ifft: (4096, 4096), complex64", INVERSE, KZ_C64, {2, {4096, 4096}}, 0, 2},
	{"rfft: 2^20, float32", REAL, KZ_F32, {1, {1 << 20}}, 0, 1},
	{"rfft: rows of (4096, 4096), float32", REAL, KZ_F32, {2, {4096, 4096}}, 1, 1},
	{"rfft: (256, 256, 256), float64", REAL, KZ_F64, {3, {256, 256, 256}}, 0, 3},
};

/* cuFFT's numbers: cufft.h. */
enum { FORWARD = -1, BACKWARD = 1, R2C = 0x2a, C2C = 0x29, D2Z = 0x6a, Z2Z = 0x69 };

static struct bare {
	int (*create)(int *plan);
	int (*destroy)(int plan);
	int (*make)(int plan, int rank, long long *n, long long *in_embed, long long in_stride,
		long long in_dist, long long *out_embed, long long out_stride, long long out_dist,
		int type, long long batch, size_t *work_size);
	int (*set_stream)(int plan, void *stream);
	int (*c2c)(int plan, void *in, void *out, int direction);
	int (*z2z)(int plan, void *in, void *out, int direction);
	int (*r2c)(int plan, void *in, void *out);
	int (*d2z)(int plan, void *in, void *out);
	int plan;
	kz_array *into;
} bare;

static int is_own; /* our kernels are measured */

static int bare_load(const char *path)
{
	const struct {
		void *to;
		const char *symbol;
	} functions[] = {
		{&bare.create, "cufftCreate"}, {&bare.destroy, "cufftDestroy"},
		{&bare.make, "cufftMakePlanMany64"}, {&bare.set_stream, "cufftSetStream"},
		{&bare.c2c, "cufftExecC2C"}, {&bare.z2z, "cufftExecZ2Z"},
		{&bare.r2c, "cufftExecR2C"}, {&bare.d2z, "cufftExecD2Z"},
	};
	void *object = dlopen(path, RTLD_NOW);
	int missing = !object;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && object; i++) {
		void *found = dlsym(object, functions[i].symbol);
		memcpy(functions[i].to, &found, sizeof(found));
		missing += !found;
	}
	if (missing) {
		fprintf(stderr, "bench_cufft: '%s' is not cuFFT: %s\n", path,
			object ? "it lacks functions" : dlerror());
	}
	return missing;
}

/* Elements of one transform, of its real or complex numbers, or of half a spectrum. */
static long long count_of(const struct item *item, int is_half)
{
	long long count = 1;
	for (int i = item->first; i < item->first + item->rank; i++) {
		long long n = item->shape.dims[i];
		count *= is_half && i == item->first + item->rank - 1 ? n / 2 + 1 : n;
	}
	return count;
}

/* Rows, which lie side by side, or columns. */
static int bare_plan(struct bench *bench)
{
	const struct item *item = bench->item;
	int is_column = item->first + item->rank < item->shape.ndim, is_real = item->what == REAL;
	int is_wide = item->dtype == KZ_F64 || item->dtype == KZ_C128;
	int type = is_real ? is_wide ? D2Z : R2C : is_wide ? Z2Z : C2C;
	long long n[3], half[3], batch = 1, stride = is_column ? item->shape.dims[1] : 1;
	size_t work_size;
	for (int i = 0; i < item->shape.ndim; i++) {
		int is_axis = i >= item->first && i < item->first + item->rank;
		batch *= is_axis ? 1 : item->shape.dims[i];
	}
	for (int i = 0; i < item->rank; i++) {
		n[i] = half[i] = item->shape.dims[item->first + i];
	}
	half[item->rank - 1] = is_real ? n[item->rank - 1] / 2 + 1 : n[item->rank - 1];
	return bare.create(&bare.plan) || bare.make(bare.plan, item->rank, n, n, stride,
			is_column ? 1 : count_of(item, 0), half, stride,
			is_column ? 1 : count_of(item, is_real), type, batch, &work_size)
		|| bare.set_stream(bare.plan, kz_stream_handle(kz_device_stream(bench->dev)));
}

static void *pointer(const kz_array *array)
{
	return (void *)(uintptr_t)kz_array_address(array);
}

static kz_status run_bare(struct bench *bench)
{
	const struct item *item = bench->item;
	void *in = pointer(bench->a), *out = pointer(bare.into);
	int direction = item->what == INVERSE ? BACKWARD : FORWARD;
	int code = item->dtype == KZ_F32 ? bare.r2c(bare.plan, in, out)
		: item->dtype == KZ_F64 ? bare.d2z(bare.plan, in, out)
		: (item->dtype == KZ_C64 ? bare.c2c : bare.z2z)(bare.plan, in, out, direction);
	return code ? KZ_UNKNOWN : KZ_OK;
}

/* The inverse is scaled, which cuFFT leaves to its callers. */
static kz_status run_kudzu(struct bench *bench)
{
	static kz_status (*const functions[])(kz_array **out, kz_array *array, kz_axes axes,
		const kz_fft_options *options, kz_error *err) = {kz_fft, kz_ifft, kz_rfft};
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	kz_axes axes = {.count = bench->item->rank};
	for (int i = 0; i < bench->item->rank; i++) {
		axes.items[i] = bench->item->first + i;
	}
	options.into = bench->out;
	return functions[bench->item->what](NULL, bench->a, axes, &options, &bench->err);
}

/* Arrays */

static int make_arrays(struct bench *bench)
{
	const struct item *item = bench->item;
	kz_dtype real = item->dtype == KZ_F64 || item->dtype == KZ_C128 ? KZ_F64 : KZ_F32;
	kz_shape half = item->shape, flat = KZ_SHAPE(1);
	int64_t last = item->first + item->rank - 1;
	kz_array *numbers = NULL;
	kz_random *random = NULL;
	for (int64_t i = 0; i < item->shape.ndim; i++) {
		flat.dims[0] *= item->shape.dims[i];
	}
	flat.dims[0] *= item->what == REAL ? 1 : 2;
	half.dims[last] = item->what == REAL ? half.dims[last] / 2 + 1 : half.dims[last];
	int failed = kz_random_create(&random, bench->dev, 1, 0, &bench->err)
		|| kz_random_normal(&numbers, random, real, flat, 0, 1, &bench->err)
		|| kz_array_view_as(&bench->b, numbers, item->dtype, &bench->err)
		|| kz_array_reshape_view(&bench->a, bench->b, item->shape, &bench->err)
		|| kz_array_zeros(&bench->out, bench->dev, real == KZ_F64 ? KZ_C128 : KZ_C64, half,
			&bench->err)
		|| kz_array_zeros_like(&bare.into, bench->out, 0, &bench->err);
	kz_array_release(numbers);
	kz_random_release(random);
	return failed;
}

static void end_arrays(struct bench *bench)
{
	kz_array_release(bare.into);
	bare.into = NULL;
	release_arrays(bench);
	if (bare.plan >= 0) {
		bare.destroy(bare.plan);
	}
	bare.plan = -1;
}

/* All elements of both results, in the host. */
static int check(struct bench *bench)
{
	int64_t count = kz_array_count(bench->out), size = count * 16;
	double *host[2] = {malloc((size_t)size), malloc((size_t)size)};
	double scale = bench->item->what == INVERSE ? 1 / (double)count_of(bench->item, 0) : 1;
	double difference = 0, norm = 0;
	int failed = !host[0] || !host[1];
	for (int i = 0; i < 2 && !failed; i++) {
		kz_array *wide = NULL;
		failed = kz_array_astype(&wide, i ? bare.into : bench->out, KZ_C128, &bench->err)
			|| kz_array_get(wide, host[i], size, &bench->err);
		kz_array_release(wide);
	}
	for (int64_t i = 0; i < 2 * count && !failed; i++) {
		difference += pow(host[0][i] - scale * host[1][i], 2);
		norm += pow(scale * host[1][i], 2);
	}
	free(host[0]);
	free(host[1]);
	if (!failed && !(sqrt(difference / norm) < 1e-5)) {
		fprintf(stderr, "%s: wrong by %g\n", bench->item->name, sqrt(difference / norm));
		failed = 1;
	}
	return failed;
}

static int measure(struct bench *bench)
{
	double mine[ROUNDS], theirs[ROUNDS], ratio[ROUNDS];
	const char *name = bench->item->name;
	int64_t calls = calls_for(time_calls(bench, run_bare, 3));
	if (time_calls(bench, run_kudzu, 3) < 0 || check(bench)) {
		return -1;
	}
	for (int round = 0; round < ROUNDS; round++) {
		double bare_time = time_calls(bench, run_bare, calls);
		double own_time = time_calls(bench, run_kudzu, calls);
		if (bare_time < 0 || own_time < 0) {
			return -1;
		}
		mine[round] = own_time * 1e6;
		theirs[round] = bare_time * 1e6;
		ratio[round] = own_time / bare_time;
	}
	bench_report(name, is_own ? "our kernels" : "kz_fft by cuFFT", "us", mine, ROUNDS);
	bench_report(name, "bare cuFFT", "us", theirs, ROUNDS);
	bench_report(name, is_own ? "our kernels over cuFFT" : "kz_fft over bare cuFFT", "ratio",
		ratio, ROUNDS);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	struct bench bench = {.now = bench_now, .err = KZ_ERROR_INIT};
	struct driver driver;
	const char *named = getenv("KUDZU_CUFFT");
	is_own = named && strcmp(named, "none") == 0;
	bare.plan = -1;
	if (argc < 2) {
		fprintf(stderr, "usage: bench_cufft LIBRARY [CASE]\n");
		return EXIT_FAILURE;
	}
	if (kz_device_open(&bench.dev, "cuda", &bench.err)) {
		return bench_fail(&bench.err);
	}
	int failed = driver_find(&driver) || driver.set_current(driver.context)
		|| bare_load(argv[1]);
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]) && !failed; i++) {
		bench.item = &items[i];
		if (argc < 3 || strstr(items[i].name, argv[2])) {
			failed = make_arrays(&bench) || bare_plan(&bench) || measure(&bench);
			end_arrays(&bench);
		}
	}
	if (bench.err.status) {
		return bench_fail(&bench.err);
	}
	if (failed) {
		fprintf(stderr, "bench_cufft: a call failed\n");
	}
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
