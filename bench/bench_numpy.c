/* SPDX-License-Identifier: MIT */
/*
 * Array operations beside NumPy, numexpr and JAX in the same run.
 *
 *	bench_numpy [CASE [COUNT [THREADS]]]     run in the folder that has bench/numpy_python.py
 *
 * CASE is part of the name of a case; COUNT is the number of elements, by default four of them; 0
 * is all.  The peers are in a process of PEERS_PYTHON.  It has the same cases by name, and makes
 * the same operands.  All take turns in each round, and a ratio is one of neighbours in time.  The
 * peers' results are compared by a sum with weights; another sum ends the run.  Times are of the
 * processor, with more than one thread of the clock.  The last lines sum the ratios up, of the
 * table's 122 cases and of the 20 that were drawn at random from numpy's functions before anything
 * of them was measured.
 */
#include "calls.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 7, SIZES = 4, PEERS = 3, WARM_NS = 100000000 };

static const int64_t counts[SIZES] = {1 << 10, 1 << 16, 1 << 20, 1 << 24};
static const char *const peer_names[PEERS] = {"numpy", "numexpr", "jax"};

/* The operands: flat, a square matrix, a cube of three like extents. */
enum shape { FLAT, SQUARE, CUBE };

struct item {
	const char *name;
	run_fn *run;
	int code; /* the operation or the reduction */
	kz_dtype dtype;
	enum shape shape;
	int64_t axis;
	kz_dtype to; /* of the result of a comparison or a conversion; 0: dtype */
	const char *text; /* an expression */
};

static kz_array *indexes; /* as many as the axis that they are for */

static kz_status run_unary(struct bench *bench)
{
	return kz_apply_into(bench->out, (kz_op)bench->item->code, &bench->err, KZ_ARGS(bench->a));
}

static kz_status run_binary(struct bench *bench)
{
	return kz_apply_into(bench->out, (kz_op)bench->item->code, &bench->err,
		KZ_ARGS(bench->a, bench->b));
}

/* By the number 7. */
static kz_status run_by_number(struct bench *bench)
{
	return kz_apply_into(bench->out, (kz_op)bench->item->code, &bench->err,
		KZ_ARGS(bench->a, 7));
}

/* The others make a new result each time. */

static kz_status keep(struct bench *bench, kz_array *made, kz_status st)
{
	if (!st) {
		kz_array_release(bench->out);
		bench->out = made;
	}
	return st;
}

static kz_status run_reduce(struct bench *bench)
{
	kz_array *made = NULL;
	const int64_t axis = bench->item->axis;
	kz_status st = kz_reduce(&made, (kz_reduce_op)bench->item->code, bench->a,
		axis < 0 ? KZ_ALL_AXES : KZ_AXES(axis), NULL, &bench->err);
	return keep(bench, made, st);
}

static kz_status run_take(struct bench *bench)
{
	kz_array *made = NULL;
	kz_status st = kz_array_take(&made, bench->a, indexes, bench->item->axis, KZ_INDEX_CHECK,
		&bench->err);
	return keep(bench, made, st);
}

static kz_status run_put(struct bench *bench)
{
	return kz_array_put(bench->out, indexes, bench->a, KZ_INDEX_CHECK, &bench->err);
}

static kz_status run_nonzero(struct bench *bench)
{
	kz_array *made = NULL;
	kz_status st = kz_array_nonzero(&made, bench->b, &bench->err);
	return keep(bench, made, st);
}

static kz_status run_compress(struct bench *bench)
{
	kz_array *made = NULL;
	kz_status st = kz_array_compress(&made, bench->a, bench->b, &bench->err);
	return keep(bench, made, st);
}

static kz_status run_vector(struct bench *bench)
{
	kz_array *made = NULL;
	kz_status st = kz_matmul(&made, bench->a, bench->b, NULL, &bench->err);
	return keep(bench, made, st);
}

/* Copy a view to the result. */
static kz_status copy_view(struct bench *bench, kz_array *view, kz_status st)
{
	st = st ? st : kz_array_assign(bench->out, view, &bench->err);
	kz_array_release(view);
	return st;
}

/* A copy of the cube with its axes in the order (2, 0, 1). */
static kz_status run_axes(struct bench *bench)
{
	kz_array *view = NULL;
	kz_status st = kz_array_transpose(&view, bench->a, KZ_AXES(2, 0, 1), &bench->err);
	return copy_view(bench, view, st);
}

static kz_status run_flip(struct bench *bench)
{
	kz_array *view = NULL;
	const int64_t axis = bench->item->axis;
	kz_status st = kz_array_flip(&view, bench->a, KZ_AXES(axis), &bench->err);
	return copy_view(bench, view, st);
}

static kz_status run_convert(struct bench *bench)
{
	kz_array *made = NULL;
	kz_status st = kz_array_astype(&made, bench->a, bench->item->to, &bench->err);
	return keep(bench, made, st);
}

static kz_status run_eval(struct bench *bench)
{
	const kz_op_options options = {.size = sizeof(options), .into = bench->out};
	kz_array *a = bench->a, *b = bench->b;
	return kz_eval(NULL, bench->item->text, &options, &bench->err, KZ_VARS(a, b));
}

static kz_status run_where(struct bench *bench)
{
	return kz_apply_into(bench->out, KZ_OP_WHERE, &bench->err, KZ_ARGS(bench->b, bench->a, 7));
}

static kz_status run_transpose(struct bench *bench)
{
	kz_array *view = NULL;
	kz_status st = kz_array_transpose(&view, bench->a, KZ_AXES(1, 0), &bench->err);
	return copy_view(bench, view, st);
}

static kz_status run_fill(struct bench *bench)
{
	return kz_array_fill(bench->out, KZ_ARG(7), &bench->err);
}

static kz_status run_concatenate(struct bench *bench)
{
	kz_array *made = NULL;
	kz_status st = kz_array_concatenate(&made, KZ_ARRAYS(bench->a, bench->b), 0, NULL,
		&bench->err);
	return keep(bench, made, st);
}

static kz_status run_tile(struct bench *bench)
{
	kz_array *made = NULL;
	kz_status st = kz_array_tile(&made, bench->a, KZ_SHAPE(2), NULL, &bench->err);
	return keep(bench, made, st);
}

static kz_status run_dot(struct bench *bench)
{
	kz_array *made = NULL;
	kz_status st = kz_dot(&made, bench->a, bench->b, NULL, &bench->err);
	return keep(bench, made, st);
}

/* Of a vector with itself. */
static kz_status run_outer(struct bench *bench)
{
	kz_array *made = NULL;
	kz_status st = kz_outer(&made, bench->b, bench->b, NULL, &bench->err);
	return keep(bench, made, st);
}

#include "numpy_cases.h"

/* Operands */

/* Numbers from 1 to 2 for floats, less by one for functions that want it, from 60 to 120 for
 * integers; b of nonzero, compress and where is 1 in one place of three; b of products with a
 * vector is a vector. */
static double value_of(const struct item *item, int64_t i)
{
	const bool from_zero = item->run == run_unary
		&& (item->code == KZ_OP_ARCSIN || item->code == KZ_OP_ARCCOS);
	double value = 1 + (double)(i * 37 % 1000) / 1000;
	return kz_dtype_can_cast(item->dtype, KZ_I64) ? floor(60 * value) : from_zero ? value - 1
		: value;
}

static int64_t extent_of(const struct item *item, int64_t count)
{
	return item->shape == FLAT ? count : item->shape == SQUARE ? (int64_t)sqrt((double)count)
		: (int64_t)cbrt((double)count + 0.5);
}

static kz_shape shape_of(const struct item *item, int64_t count)
{
	const int64_t extent = extent_of(item, count);
	return item->shape == FLAT ? KZ_SHAPE(extent) : item->shape == SQUARE
		? KZ_SHAPE(extent, extent) : KZ_SHAPE(extent, extent, extent);
}

static kz_status fill(kz_array **out, struct bench *bench, kz_dtype dtype, kz_shape shape,
	double (*value)(const struct item *, int64_t))
{
	kz_array *wide = NULL;
	int64_t count = 1;
	for (int64_t i = 0; i < shape.ndim; i++) {
		count *= shape.dims[i];
	}
	double *host = malloc((size_t)count * sizeof(*host));
	if (!host) {
		return KZ_NO_MEMORY;
	}
	for (int64_t i = 0; i < count; i++) {
		host[i] = value(bench->item, i);
	}
	kz_status st = kz_array_from(&wide, bench->dev, KZ_F64, shape, host,
		count * (int64_t)sizeof(*host), &bench->err);
	st = st ? st : kz_array_astype(out, wide, dtype, &bench->err);
	kz_array_release(wide);
	free(host);
	return st;
}

static double second_of(const struct item *item, int64_t i)
{
	return value_of(item, i * 3 + 1);
}

static double mask_of(const struct item *item, int64_t i)
{
	(void)item;
	return i * 7919 % 3 == 0;
}

static int64_t index_extent;

static double index_of(const struct item *item, int64_t i)
{
	(void)item;
	return (double)(i * 7919 % index_extent);
}

static kz_status make_operands(struct bench *bench, int64_t count)
{
	const struct item *item = bench->item;
	const kz_shape shape = shape_of(item, count);
	const bool is_bool = item->run == run_compress || item->run == run_where;
	const bool has_vector = item->run == run_vector || item->run == run_outer;
	index_extent = extent_of(item, count);
	kz_status st = fill(&bench->a, bench, item->dtype, shape, value_of);
	st = st ? st : fill(&bench->b, bench, is_bool ? KZ_BOOL : item->dtype,
		has_vector ? KZ_SHAPE(index_extent) : shape,
		is_bool || item->run == run_nonzero ? mask_of : second_of);
	st = st ? st : fill(&bench->out, bench, item->to ? item->to : item->dtype, shape, value_of);
	st = st ? st : fill(&indexes, bench, KZ_I64, KZ_SHAPE(index_extent), index_of);
	return st;
}

static void free_operands(struct bench *bench)
{
	release_arrays(bench);
	kz_array_release(indexes);
	indexes = NULL;
}

/* The result's elements, each times a number that tells its neighbours apart. */
static kz_status weigh(double *sum, struct bench *bench)
{
	kz_array *wide = NULL;
	kz_status st = kz_array_astype(&wide, bench->out, KZ_F64, &bench->err);
	int64_t count = st ? 0 : kz_array_count(wide), size = count * (int64_t)sizeof(double);
	double *host = malloc((size_t)size + 1);
	st = st ? st : !host ? KZ_NO_MEMORY : kz_array_get(wide, host, size, &bench->err);
	*sum = 0;
	for (int64_t i = 0; !st && i < count; i++) {
		*sum += host[i] * (double)(i % 7 + 1);
	}
	free(host);
	kz_array_release(wide);
	return st;
}

/* The peers' process: an order and its answer are lines. */

static FILE *to_peers, *from_peers;

static bool start_peers(const char *threads)
{
	const char *python = getenv("PEERS_PYTHON");
	int to[2], from[2];
	if (pipe(to) || pipe(from)) {
		return false;
	}
	if (fork() == 0) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		close(to[1]);
		close(from[0]);
		python = python ? python : "python3";
		execlp(python, python, "bench/numpy_python.py", threads, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	to_peers = fdopen(to[1], "w");
	from_peers = fdopen(from[0], "r");
	return to_peers && from_peers;
}

static bool ask(char *answer, int size, const char *order)
{
	return fprintf(to_peers, "%s\n", order) > 0 && fflush(to_peers) == 0
		&& fgets(answer, size, from_peers);
}

/* Seconds of a call by a peer; 0: it has no such case. */
static double time_peer(int peer, int64_t calls)
{
	char order[80], answer[200];
	double seconds = 0;
	snprintf(order, sizeof(order), "time\t%s\t%lld", peer_names[peer], (long long)calls);
	return ask(answer, sizeof(answer), order) && sscanf(answer, "%lf", &seconds) == 1 ? seconds
		: 0;
}

/* Measuring */

struct samples {
	double mine[ROUNDS], peer[PEERS][ROUNDS];
	bool has[PEERS];
};

/* The ratios of a table's cases of one size. */
static struct sum {
	int count, at_most;
	double logs, worst;
} sums[SIZES];
static struct sum *sum_now;

static void sum_add(double ratio)
{
	sum_now->count++;
	sum_now->at_most += ratio <= 1.25;
	sum_now->logs += log(ratio);
	sum_now->worst = fmax(sum_now->worst, ratio);
}

static void sum_report(const char *table)
{
	for (int s = 0; s < SIZES; s++) {
		const struct sum *sum = &sums[s];
		if (sum->count) {
			printf("{\"case\":\"numpy: %s, %lld\",\"what\":\"kudzu/best of "
				"peers\",\"cases\":%d,\"mean\":%.3g,\"at most "
				"1.25\":%d,\"worst\":%.3g}\n", table, (long long)counts[s],
				sum->count, exp(sum->logs / sum->count), sum->at_most, sum->worst);
		}
		sums[s] = (struct sum){0};
	}
}

static void report(const struct item *item, int64_t count, struct samples *samples)
{
	char name[80], what[40];
	double ratio[ROUNDS], best[ROUNDS];
	int fastest = -1;
	snprintf(name, sizeof(name), "numpy: %s, %lld", item->name, (long long)count);
	for (int round = 0; round < ROUNDS; round++) {
		best[round] = INFINITY;
		for (int peer = 0; peer < PEERS; peer++) {
			if (samples->has[peer]) {
				best[round] = fmin(best[round], samples->peer[peer][round]);
			}
		}
		ratio[round] = samples->mine[round] / best[round];
	}
	for (int peer = 0; peer < PEERS; peer++) {
		if (samples->has[peer]) {
			bench_report(name, peer_names[peer], "us", samples->peer[peer], ROUNDS);
			fastest = peer;
		}
	}
	bench_report(name, "kudzu", "us", samples->mine, ROUNDS);
	if (fastest >= 0) {
		snprintf(what, sizeof(what), "kudzu/best of peers");
		bench_report(name, what, "ratio", ratio, ROUNDS);
		sum_add(ratio[ROUNDS / 2]); /* they are sorted now */
	}
	fflush(stdout);
}

static int compare_results(struct bench *bench, double theirs)
{
	double mine;
	if (weigh(&mine, bench)) {
		return -1;
	}
	const double limit = bench->item->dtype == KZ_F16 ? 2e-3 : 1e-4;
	if (!(fabs(mine - theirs) <= limit * fabs(theirs))) {
		fprintf(stderr, "%s: expected a sum of %.9g, got %.9g\n", bench->item->name, theirs,
			mine);
		return -1;
	}
	return 0;
}

/* A kernel may be compiled twice, better in the background: until it is no longer faster than
 * before. */
static double settle(struct bench *bench)
{
	double last = INFINITY, now = time_calls(bench, bench->item->run, 3);
	for (int same = 0; same < 2 && now >= 0; same = now > 0.9 * last ? same + 1 : 0) {
		last = now;
		nanosleep(&(struct timespec){.tv_nsec = WARM_NS}, NULL);
		now = time_calls(bench, bench->item->run, calls_for(fmax(now, 1e-7)));
	}
	return now;
}

static int measure(struct bench *bench, int64_t count)
{
	static struct samples samples;
	char order[120], answer[200];
	double theirs;
	snprintf(order, sizeof(order), "case\t%s\t%lld", bench->item->name, (long long)count);
	if (!ask(answer, sizeof(answer), order) || sscanf(answer, "%lf", &theirs) != 1) {
		fprintf(stderr, "%s: the peers have no such case\n", bench->item->name);
		return -1;
	}
	double first = time_calls(bench, bench->item->run, 3);
	if (first < 0 || compare_results(bench, theirs) || (first = settle(bench)) < 0) {
		return -1;
	}
	int64_t calls[1 + PEERS] = {calls_for(fmax(first, 1e-7))};
	for (int peer = 0; peer < PEERS; peer++) {
		first = time_peer(peer, 3);
		samples.has[peer] = first > 0;
		calls[1 + peer] = calls_for(fmax(first, 1e-7));
	}
	for (int round = 0; round < ROUNDS; round++) {
		samples.mine[round] = time_calls(bench, bench->item->run, calls[0]) * 1e6;
		if (samples.mine[round] < 0) {
			return -1;
		}
		for (int peer = 0; peer < PEERS; peer++) {
			samples.peer[peer][round] = samples.has[peer]
				? time_peer(peer, calls[1 + peer]) * 1e6 : 0;
		}
	}
	report(bench->item, count, &samples);
	return 0;
}

static int measure_table(struct bench *bench, const struct item *table, size_t length,
	const char *name, int64_t only)
{
	int failed = 0;
	for (size_t i = 0; i < length && !failed; i++) {
		bench->item = &table[i];
		for (int s = 0; s < SIZES && strstr(table[i].name, name) && !failed; s++) {
			if (!only || counts[s] == only) {
				sum_now = &sums[s];
				failed = make_operands(bench, counts[s])
					|| measure(bench, counts[s]);
				free_operands(bench);
			}
		}
	}
	return failed;
}

int main(int argc, char **argv)
{
	struct bench bench = {.err = KZ_ERROR_INIT};
	const char *name = argc > 1 ? argv[1] : "", *threads = argc > 3 ? argv[3] : "1";
	const long long only = argc > 2 ? atoll(argv[2]) : 0;
	setenv("KUDZU_CPU_THREADS", threads, 1);
	setenv("OPENBLAS_NUM_THREADS", threads, 1);
	bench.now = atoi(threads) == 1 ? bench_cpu : bench_now;
	if (kz_device_open(&bench.dev, "cpu", &bench.err)) {
		return bench_fail(&bench.err);
	}
	int failed = !start_peers(threads)
		|| measure_table(&bench, items, sizeof(items) / sizeof(items[0]), name, only);
	sum_report("all of the table");
	failed = failed
		|| measure_table(&bench, drawn, sizeof(drawn) / sizeof(drawn[0]), name, only);
	sum_report("all that were drawn");
	kz_device_close(bench.dev);
	return failed ? bench_fail(&bench.err) : EXIT_SUCCESS;
}
