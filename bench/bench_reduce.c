/* SPDX-License-Identifier: MIT */
/*
 * The time of reductions and scans on a GPU, warm, as a share of the bandwidth of a copy on the
 * device.
 *
 *	bench_reduce [DEVICE [CASE]]
 *
 * DEVICE is "cuda" or another name that kz_device_open takes.  CASE is part of the name of a
 * case.  The first result and the last are compared with what the host computes from the same
 * elements, so that no fast wrong result is measured.
 */
#include "calls.h"

#include <stdbool.h>
#include <string.h>

enum { ROUNDS = 11, PERIOD = 251, TILE = 4096 * PERIOD };
#define MI (INT64_C(1) << 20)

/* What is done; a scan goes along the last axis. */
enum { SCAN = 100, DOT };

static const struct item {
	const char *name;
	int op;
	kz_dtype dtype, out;
	kz_shape shape;
	kz_axes axes;
} items[] = {
#define ALL {-1, {0}}
	{"sum", KZ_REDUCE_SUM, KZ_F32, KZ_F32, {1, {64 * MI}}, ALL},
	{"sum", KZ_REDUCE_SUM, KZ_F32, KZ_F32, {1, {1 * MI}}, ALL},
	{"sum", KZ_REDUCE_SUM, KZ_F32, KZ_F32, {1, {16 * MI}}, ALL},
	{"sum", KZ_REDUCE_SUM, KZ_F32, KZ_F32, {1, {256 * MI}}, ALL},
	{"sum", KZ_REDUCE_SUM, KZ_F64, KZ_F64, {1, {64 * MI}}, ALL},
	{"sum", KZ_REDUCE_SUM, KZ_F16, KZ_F16, {1, {128 * MI}}, ALL},
	{"sum", KZ_REDUCE_SUM, KZ_I32, KZ_I64, {1, {64 * MI}}, ALL},
	{"sum", KZ_REDUCE_SUM, KZ_I8, KZ_I64, {1, {64 * MI}}, ALL},
	{"sum", KZ_REDUCE_SUM, KZ_I8, KZ_I64, {1, {256 * MI}}, ALL},
	{"sum", KZ_REDUCE_SUM, KZ_C64, KZ_C64, {1, {32 * MI}}, ALL},
	{"max", KZ_REDUCE_MAX, KZ_F32, KZ_F32, {1, {64 * MI}}, ALL},
	{"argmax", KZ_REDUCE_ARGMAX, KZ_F32, KZ_I64, {1, {64 * MI}}, ALL},
	{"argmax", KZ_REDUCE_ARGMAX, KZ_I8, KZ_I64, {1, {256 * MI}}, ALL},
	{"any", KZ_REDUCE_ANY, KZ_F32, KZ_BOOL, {1, {64 * MI}}, ALL},
	{"all", KZ_REDUCE_ALL, KZ_BOOL, KZ_BOOL, {1, {256 * MI}}, ALL},
	{"count_nonzero", KZ_REDUCE_COUNT_NONZERO, KZ_I32, KZ_I64, {1, {64 * MI}}, ALL},
	{"norm", KZ_REDUCE_NORM, KZ_F32, KZ_F32, {1, {64 * MI}}, ALL},
	{"mean", KZ_REDUCE_MEAN, KZ_I32, KZ_F64, {1, {64 * MI}}, ALL},
	{"var", KZ_REDUCE_VAR, KZ_F32, KZ_F32, {1, {64 * MI}}, ALL},
	{"dot", DOT, KZ_F32, KZ_F32, {1, {64 * MI}}, ALL},
	{"sum", KZ_REDUCE_SUM, KZ_F32, KZ_F32, {2, {8192, 8192}}, {1, {1}}},
	{"sum", KZ_REDUCE_SUM, KZ_F32, KZ_F32, {2, {64, 1 * MI}}, {1, {1}}},
	{"sum", KZ_REDUCE_SUM, KZ_F32, KZ_F32, {2, {65536, 1000}}, {1, {1}}},
	{"sum", KZ_REDUCE_SUM, KZ_F32, KZ_F32, {2, {1 * MI, 64}}, {1, {1}}},
	{"sum", KZ_REDUCE_SUM, KZ_F32, KZ_F32, {2, {4 * MI, 16}}, {1, {1}}},
	{"sum", KZ_REDUCE_SUM, KZ_F16, KZ_F16, {2, {16384, 8192}}, {1, {1}}},
	{"sum", KZ_REDUCE_SUM, KZ_F64, KZ_F64, {2, {8192, 4096}}, {1, {1}}},
	{"argmax", KZ_REDUCE_ARGMAX, KZ_F32, KZ_I64, {2, {65536, 1000}}, {1, {1}}},
	{"sum", KZ_REDUCE_SUM, KZ_F32, KZ_F32, {2, {8192, 8192}}, {1, {0}}},
	{"sum", KZ_REDUCE_SUM, KZ_F32, KZ_F32, {2, {1 * MI, 64}}, {1, {0}}},
	{"sum", KZ_REDUCE_SUM, KZ_F32, KZ_F32, {2, {64, 1 * MI}}, {1, {0}}},
	{"sum", KZ_REDUCE_SUM, KZ_F32, KZ_F32, {2, {65536, 1000}}, {1, {0}}},
	{"sum", KZ_REDUCE_SUM, KZ_F16, KZ_F16, {2, {16384, 8192}}, {1, {0}}},
	{"sum", KZ_REDUCE_SUM, KZ_F64, KZ_F64, {2, {8192, 4096}}, {1, {0}}},
	{"argmax", KZ_REDUCE_ARGMAX, KZ_F32, KZ_I64, {2, {8192, 8192}}, {1, {0}}},
	{"sum", KZ_REDUCE_SUM, KZ_F32, KZ_F32, {3, {64, 1024, 1024}}, {1, {1}}},
	{"sum", KZ_REDUCE_SUM, KZ_F32, KZ_F32, {3, {1024, 64, 1024}}, {1, {1}}},
	{"scan", SCAN, KZ_F32, KZ_F32, {1, {64 * MI}}, ALL},
	{"scan", SCAN, KZ_F32, KZ_F32, {1, {16 * MI}}, ALL},
	{"scan", SCAN, KZ_F32, KZ_F32, {1, {1 * MI}}, ALL},
	{"scan", SCAN, KZ_F64, KZ_F64, {1, {32 * MI}}, ALL},
	{"scan", SCAN, KZ_I64, KZ_I64, {1, {32 * MI}}, ALL},
	{"scan", SCAN, KZ_F32, KZ_F32, {2, {65536, 1000}}, ALL},
	{"scan", SCAN, KZ_F32, KZ_F32, {2, {64, 1 * MI}}, ALL},
};

/* Elements */

/* Whole numbers that fit a byte; sums of halves stay small, too. */
static double element(kz_dtype dtype, int64_t i)
{
	bool balanced = dtype == KZ_F16 || dtype == KZ_I8;
	return dtype == KZ_BOOL ? 1 : (double)(i % PERIOD) - (balanced ? 125 : 100);
}

static int64_t count_of(const kz_shape *shape)
{
	int64_t count = 1;
	for (int64_t i = 0; i < shape->ndim; i++) {
		count *= shape->dims[i];
	}
	return count;
}

/* One period after the other, on the device. */
static kz_status make_elements(struct bench *bench)
{
	const struct item *item = bench->item;
	static float values[TILE];
	kz_array *floats = NULL, *tile = NULL, *tiles = NULL, *all = NULL;
	kz_error *err = &bench->err;
	int64_t times = (count_of(&item->shape) + TILE - 1) / TILE;
	const int64_t strides[] = {0, kz_dtype_size(item->dtype)};
	for (int64_t i = 0; i < TILE; i++) {
		values[i] = (float)element(item->dtype, i);
	}
	int failed = kz_array_from(&floats, bench->dev, KZ_F32, KZ_SHAPE(TILE), values,
			sizeof(values), err)
		|| kz_array_astype(&tile, floats, item->dtype, err)
		|| kz_array_view(&tiles, tile, KZ_SHAPE(times, TILE), strides, 0, err)
		|| kz_array_zeros(&all, bench->dev, item->dtype, KZ_SHAPE(times, TILE), err)
		|| kz_array_assign(all, tiles, err)
		|| kz_array_view(&bench->a, all, item->shape, NULL, 0, err)
		|| kz_array_copy(&bench->b, bench->a, err);
	kz_array_release(floats);
	kz_array_release(tile);
	kz_array_release(tiles);
	kz_array_release(all);
	return failed ? KZ_INVALID : KZ_OK;
}

static kz_status make_result(struct bench *bench)
{
	const struct item *item = bench->item;
	kz_shape kept = {0, {0}};
	if (item->op == SCAN) {
		return KZ_OK; /* makes its own */
	}
	for (int64_t i = 0; i < item->shape.ndim && item->axes.count >= 0; i++) {
		if (i != item->axes.items[0]) {
			kept.dims[kept.ndim++] = item->shape.dims[i];
		}
	}
	return kz_array_zeros(&bench->out, bench->dev, item->out, kept, &bench->err);
}

/* What is measured */

static kz_status run(struct bench *bench)
{
	const struct item *item = bench->item;
	if (item->op == SCAN) {
		kz_array_release(bench->out);
		bench->out = NULL;
		return kz_scan(&bench->out, bench->a, "a + b", "0", NULL, &bench->err);
	}
	if (item->op == DOT) {
		kz_op_options into = KZ_OP_OPTIONS_INIT;
		into.into = bench->out;
		return kz_dot(NULL, bench->a, bench->b, &into, &bench->err);
	}
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	options.into = bench->out;
	return kz_reduce(NULL, (kz_reduce_op)item->op, bench->a, item->axes, &options, &bench->err);
}

/* Is it right? */

/* The elements of one result: `count` of them from `first` on, `step` apart. */
struct row {
	int64_t first, step, count;
};

static double expected(const struct item *item, const struct row *row)
{
	double sum = 0, squares = 0, nonzero = 0, best = -1e300;
	int64_t place = 0;
	for (int64_t k = 0; k < row->count && k < PERIOD; k++) {
		double x = element(item->dtype, row->first + k * row->step);
		double times = (double)(row->count / PERIOD + (k < row->count % PERIOD));
		sum += x * times;
		squares += x * x * times;
		nonzero += (x != 0) * times;
		place = x > best ? k : place;
		best = x > best ? x : best;
	}
	double count = (double)row->count;
	switch (item->op) {
	case KZ_REDUCE_MAX:
		return best;
	case KZ_REDUCE_ARGMAX:
		return (double)place;
	case KZ_REDUCE_ANY:
	case KZ_REDUCE_ALL:
		return 1;
	case KZ_REDUCE_COUNT_NONZERO:
		return nonzero;
	case KZ_REDUCE_NORM:
		return sqrt(squares);
	case KZ_REDUCE_MEAN:
		return sum / count;
	case KZ_REDUCE_VAR:
		return squares / count - sum / count * (sum / count);
	case DOT:
		return squares;
	default:
		return sum;
	}
}

/* Which elements result `at` is made of. */
static struct row row_of(const struct item *item, int64_t count, int64_t at)
{
	const int64_t *dims = item->shape.dims;
	int64_t last = item->shape.ndim - 1;
	if (item->op == SCAN) {
		return (struct row){at / dims[last] * dims[last], 1, at % dims[last] + 1};
	}
	if (item->axes.count < 0) {
		return (struct row){0, 1, count};
	}
	int64_t axis = item->axes.items[0], step = 1;
	for (int64_t i = axis + 1; i <= last; i++) {
		step *= dims[i];
	}
	return (struct row){at / step * step * dims[axis] + at % step, step, dims[axis]};
}

static int check(struct bench *bench)
{
	const struct item *item = bench->item;
	int64_t results = kz_array_count(bench->out), last = results - 1, wrong = 0;
	kz_array *wide = NULL;
	double *host = malloc((size_t)results * 16);
	kz_dtype dtype = item->out == KZ_C64 ? KZ_C128 : KZ_F64;
	int64_t words = dtype == KZ_C128 ? 2 : 1;
	if (!host || kz_array_astype(&wide, bench->out, dtype, &bench->err)
	    || kz_array_get(wide, host, kz_array_size(wide), &bench->err)) {
		wrong = 1;
	}
	for (int64_t n = 0; n < 64 && !wrong; n++) {
		int64_t at = n < 32 ? last * n / 31 : n - 32 < results ? n - 32 : last;
		struct row row = row_of(item, count_of(&item->shape), at);
		double want = expected(item, &row), got = host[at * words];
		double most = item->dtype == KZ_F16 ? 1e-3 : 1e-5;
		if (!(fabs(got - want) <= most * fabs(want) + (item->op == SCAN ? 1e3 : 0)
			* most)) {
			fprintf(stderr, "%s: result %lld is %.17g, expected %.17g\n", item->name,
				(long long)at, got, want);
			wrong = 1;
		}
		n = results == 1 ? 64 : n;
	}
	kz_array_release(wide);
	free(host);
	return wrong ? -1 : 0;
}

/* Bytes that have to move; a variance reads all twice. */
static double bytes_of(const struct bench *bench)
{
	double all = (double)kz_array_size(bench->a);
	int op = bench->item->op;
	return all * (op == DOT || op == SCAN || op == KZ_REDUCE_VAR ? 2 : 1);
}

static void name_item(char *name, size_t size, const struct item *item)
{
	int n = snprintf(name, size, "reduce: %s, %s, (", item->name, kz_dtype_name(item->dtype));
	for (int64_t i = 0; i < item->shape.ndim; i++) {
		n += snprintf(name + n, size - (size_t)n, i ? ", %lld" : "%lld",
			(long long)item->shape.dims[i]);
	}
	n += snprintf(name + n, size - (size_t)n, ")");
	if (item->axes.count > 0) {
		snprintf(name + n, size - (size_t)n, " along axis %lld",
			(long long)item->axes.items[0]);
	}
}

static int measure(struct bench *bench, const char *name)
{
	int failed = make_elements(bench) || make_result(bench) || run(bench) || check(bench);
	return failed ? -1 : measure_share(bench, name, run, bytes_of(bench), ROUNDS);
}

int main(int argc, char **argv)
{
	struct bench bench = {.now = bench_now, .err = KZ_ERROR_INIT};
	char name[120];
	int failed = 0;
	if (argc > 3) {
		fprintf(stderr, "usage: bench_reduce [DEVICE [CASE]]\n");
		return 2;
	}
	if (kz_device_open(&bench.dev, argc > 1 ? argv[1] : "cuda", &bench.err)) {
		return bench_fail(&bench.err);
	}
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]) && !failed; i++) {
		bench.item = &items[i];
		name_item(name, sizeof(name), bench.item);
		if (argc < 3 || strstr(name, argv[2])) {
			failed = measure(&bench, name);
			release_arrays(&bench);
		}
	}
	kz_device_close(bench.dev);
	return failed ? bench_fail(&bench.err) : EXIT_SUCCESS;
}
