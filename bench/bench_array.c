/* SPDX-License-Identifier: MIT */
/*
 * The time of array operations, warm.
 *
 *	bench_array cpu [THREADS [CASE]]   beside gcc's loops (array_loops.c) with as many threads
 *	bench_array cuda [CASE]            as a share of the bandwidth of a copy on the device
 *
 * CASE is part of the name of a case.  The loops also check the results: a wrong one ends the
 * run.
 *
 * Operands and result exist before the measurement.  So it covers finding the kernel, launching
 * it and running it.  Only `2 * a` makes a new result, as a program does.  On one thread the time
 * is processor time, so other processes hardly matter.
 */
#include "calls.h"

#include "array_loops.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 15, SIZES = 3, CALLS = 1000, CHECKED = 1 << 24 };

static const int64_t cpu_counts[SIZES] = {1 << 16, 1 << 20, 1 << 24};
static const int64_t gpu_counts[SIZES] = {1 << 24, 1 << 26, 1 << 28};

static kz_array *numbers;   /* floats, as many as there may be of anything */
static void *for_loops[3];  /* the result and the operands for the loops */

#define UNARY(name, op) \
	static kz_status run_##name(struct bench *bench) \
	{ \
		return kz_apply_into(bench->out, op, &bench->err, KZ_ARGS(bench->a)); \
	}
#define BINARY(name, op, x, y) \
	static kz_status run_##name(struct bench *bench) \
	{ \
		return kz_apply_into(bench->out, op, &bench->err, KZ_ARGS(x, y)); \
	}
BINARY(add, KZ_OP_ADD, bench->a, bench->b)
BINARY(double, KZ_OP_MULTIPLY, 2, bench->a)
BINARY(multiply, KZ_OP_MULTIPLY, bench->a, bench->b)
BINARY(divide, KZ_OP_DIVIDE, bench->a, bench->b)
BINARY(power, KZ_OP_POWER, bench->a, bench->b)
BINARY(less, KZ_OP_LESS, bench->a, bench->b)
UNARY(sqrt, KZ_OP_SQRT)
UNARY(sin, KZ_OP_SIN)
UNARY(exp, KZ_OP_EXP)

static kz_status run_assign(struct bench *bench)
{
	return kz_array_assign(bench->out, bench->a, &bench->err);
}

static kz_status reduce(struct bench *bench, kz_reduce_op op, kz_axes axes)
{
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	options.into = bench->out;
	return kz_reduce(NULL, op, bench->a, axes, &options, &bench->err);
}

#define REDUCTION(name, op, axes) \
	static kz_status run_##name(struct bench *bench) \
	{ \
		return reduce(bench, op, axes); \
	}
REDUCTION(sum, KZ_REDUCE_SUM, KZ_ALL_AXES)
REDUCTION(max, KZ_REDUCE_MAX, KZ_ALL_AXES)
REDUCTION(rows, KZ_REDUCE_SUM, KZ_AXES(1))
REDUCTION(columns, KZ_REDUCE_SUM, KZ_AXES(0))

static kz_status run_dot(struct bench *bench)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	options.into = bench->out;
	return kz_dot(NULL, bench->a, bench->b, &options, &bench->err);
}

/* The same sum by a kernel of the user's, which is made once. */
static kz_elementwise *adds;

static kz_status run_custom(struct bench *bench)
{
	kz_status st = adds ? KZ_OK : kz_elementwise_create(&adds, bench->dev,
		"const float *x, const float *y, float *z", "z[i] = x[i] + y[i]", NULL,
		&bench->err);
	return st ? st : kz_elementwise_run(adds, NULL, &bench->err,
		KZ_ARGS(bench->a, bench->b, bench->out));
}

/* Of the operands and the result: alike; a matrix seen by columns; a matrix and a row; a number;
 * the rows or columns of a square matrix. */
enum shape { FLAT, TRANSPOSED, ROW, TOTAL, LINES };

static const struct item {
	const char *name;
	run_fn *run;
	array_loop *loop;
	kz_dtype in, out;
	int operands;
	enum shape shape;
} items[] = {
	{"a + b, float32", run_add, loop_add_f32, KZ_F32, KZ_F32, 2, FLAT},
	{"a kernel of a + b, float32", run_custom, loop_add_f32, KZ_F32, KZ_F32, 2, FLAT},
	{"a + b, float64", run_add, loop_add_f64, KZ_F64, KZ_F64, 2, FLAT},
	{"a + b, float16", run_add, loop_add_f16, KZ_F16, KZ_F16, 2, FLAT},
	{"a + b, int8", run_add, loop_add_i8, KZ_I8, KZ_I8, 2, FLAT},
	{"a + b, int32", run_add, loop_add_i32, KZ_I32, KZ_I32, 2, FLAT},
	{"a * b, complex64", run_multiply, loop_multiply_c64, KZ_C64, KZ_C64, 2, FLAT},
	{"2 * a, float32", run_double, loop_double_f32, KZ_F32, KZ_F32, 1, FLAT},
	{"a / b, float32", run_divide, loop_divide_f32, KZ_F32, KZ_F32, 2, FLAT},
	{"a < b, float32", run_less, loop_less_f32, KZ_F32, KZ_BOOL, 2, FLAT},
	{"sqrt(a), float64", run_sqrt, loop_sqrt_f64, KZ_F64, KZ_F64, 1, FLAT},
	{"exp(a), float32", run_exp, loop_exp_f32, KZ_F32, KZ_F32, 1, FLAT},
	{"sin(a), float32", run_sin, loop_sin_f32, KZ_F32, KZ_F32, 1, FLAT},
	{"sin(a), float64", run_sin, loop_sin_f64, KZ_F64, KZ_F64, 1, FLAT},
	{"a ** b, float32", run_power, loop_power_f32, KZ_F32, KZ_F32, 2, FLAT},
	{"float32 to float64", run_assign, loop_cast_f32_f64, KZ_F32, KZ_F64, 1, FLAT},
	{"copy, float32", run_assign, loop_copy_f32, KZ_F32, KZ_F32, 1, FLAT},
	{"transpose, float32", run_assign, loop_transpose_f32, KZ_F32, KZ_F32, 1, TRANSPOSED},
	{"transpose, float64", run_assign, loop_transpose_f64, KZ_F64, KZ_F64, 1, TRANSPOSED},
	{"transpose, float16", run_assign, loop_transpose_f16, KZ_F16, KZ_F16, 1, TRANSPOSED},
	{"transpose, int8", run_assign, loop_transpose_i8, KZ_I8, KZ_I8, 1, TRANSPOSED},
	{"a + a row, float32", run_add, loop_add_row_f32, KZ_F32, KZ_F32, 1, ROW},
	{"sum(a), float32", run_sum, loop_sum_f32, KZ_F32, KZ_F32, 1, TOTAL},
	{"sum(a), float64", run_sum, loop_sum_f64, KZ_F64, KZ_F64, 1, TOTAL},
	{"sum(a), int32", run_sum, loop_sum_i32, KZ_I32, KZ_I64, 1, TOTAL},
	{"max(a), float32", run_max, loop_max_f32, KZ_F32, KZ_F32, 1, TOTAL},
	{"dot(a, b), float32", run_dot, loop_dot_f32, KZ_F32, KZ_F32, 2, TOTAL},
	{"sums of rows, float32", run_rows, loop_rows_f32, KZ_F32, KZ_F32, 1, LINES},
	{"sums of columns, float32", run_columns, loop_columns_f32, KZ_F32, KZ_F32, 1, LINES},
};

/* Operands */

/* Numbers from 1 to 2, of which each operand takes the first. */
static kz_status make_numbers(struct bench *bench, int64_t count)
{
	float *values = malloc((size_t)count * sizeof(*values));
	if (!values) {
		return KZ_NO_MEMORY;
	}
	for (int64_t i = 0; i < count; i++) {
		values[i] = 1 + (float)(i * 37 % 1000) / 1000;
	}
	kz_status st = kz_array_from(&numbers, bench->dev, KZ_F32, KZ_SHAPE(count), values,
		count * (int64_t)sizeof(*values), &bench->err);
	free(values);
	return st;
}

/* Integers from 60 to 120 instead. */
static kz_status make_operand(kz_array **out, struct bench *bench, kz_dtype dtype, int64_t count)
{
	kz_array *some = NULL, *scaled = NULL;
	kz_status st = kz_array_view(&some, numbers, KZ_SHAPE(count), NULL, 0, &bench->err);
	st = st ? st : kz_multiply(&scaled, kz_dtype_can_cast(dtype, KZ_I64) ? 60 : 1, some,
		&bench->err);
	st = st ? st : kz_array_astype(out, scaled, dtype, &bench->err);
	kz_array_release(some);
	kz_array_release(scaled);
	return st;
}

/* Put a view, row-major unless there are strides, in the place of an array. */
static kz_status reshape(kz_array **array, kz_shape shape, const int64_t *strides, kz_error *err)
{
	kz_array *whole = *array;
	kz_status st = kz_array_view(array, whole, shape, strides, 0, err);
	if (st) {
		*array = whole;
	} else {
		kz_array_release(whole);
	}
	return st;
}

static kz_status make_operands(struct bench *bench, const struct item *item, int64_t count)
{
	kz_error *err = &bench->err;
	int64_t side = (int64_t)sqrt((double)count);
	int64_t size = kz_dtype_size(item->in), strides[] = {size, side * size};
	kz_status st = make_operand(&bench->a, bench, item->in, count);
	st = st ? st : make_operand(&bench->b, bench, item->in, count);
	if (!st && item->shape >= TOTAL) {
		st = kz_array_zeros(&bench->out, bench->dev, item->out,
			item->shape == TOTAL ? KZ_SHAPE() : KZ_SHAPE(side), err);
	} else if (!st) {
		st = make_operand(&bench->out, bench, item->out, count);
	}
	if (item->shape == TRANSPOSED) {
		st = st ? st : reshape(&bench->out, KZ_SHAPE(side, side), NULL, err);
		st = st ? st : reshape(&bench->a, KZ_SHAPE(side, side), strides, err);
	} else if (item->shape == LINES || item->shape == ROW) {
		st = st ? st : reshape(&bench->a, KZ_SHAPE(side, side), NULL, err);
	}
	if (item->shape == ROW) {
		st = st ? st : reshape(&bench->out, KZ_SHAPE(side, side), NULL, err);
		st = st ? st : reshape(&bench->b, KZ_SHAPE(side), NULL, err);
	}
	return st;
}

/* As they lie in memory, without what the library makes of views. */
static kz_status copy_to_host(struct bench *bench)
{
	kz_array *const arrays[] = {bench->out, bench->a, bench->b};
	for (int i = 0; i < 3; i++) {
		int64_t size = kz_array_count(arrays[i]) * kz_dtype_size(kz_array_dtype(arrays[i]));
		for_loops[i] = aligned_alloc(4096, (size_t)(size + 4095) / 4096 * 4096);
		kz_status st = for_loops[i] ? kz_copy_dtoh(for_loops[i], size,
			kz_array_buffer(arrays[i]), 0, &bench->err) : KZ_NO_MEMORY;
		if (st) {
			return st;
		}
	}
	return KZ_OK;
}

/* Whether the loop can say what is right: larger ones take it too long, and its sums of many floats
 * are far off. */
static bool is_known(const struct item *item, int64_t count)
{
	return count <= (item->shape == TOTAL ? CHECKED >> 4 : CHECKED);
}

/* Whether the library's result, which is there, is that of the loop. */
static bool is_right(struct bench *bench, const struct item *item, int64_t count)
{
	int64_t results = kz_array_count(bench->out), size = kz_dtype_size(item->out);
	void *got = malloc((size_t)(results * size));
	double apart = NAN;
	item->loop(count, for_loops[0], for_loops[1], for_loops[2]);
	if (got && !kz_copy_dtoh(got, results * size, kz_array_buffer(bench->out), 0,
		&bench->err)) {
		bool is_complex = item->out == KZ_C64;
		apart = loops_difference(got, for_loops[0], is_complex ? 2 * results : results,
			(int)(is_complex ? size / 2 : size), !kz_dtype_can_cast(item->out, KZ_I64));
	}
	free(got);
	double limit = kz_dtype_can_cast(item->out, KZ_I64) ? 0 : item->shape >= TOTAL ? 1e-2
		: size == 2 ? 2e-3 : 1e-6;
	if (!(apart <= limit)) {
		fprintf(stderr, "%s, %lld: the result is wrong by %g\n", item->name,
			(long long)count, apart);
	}
	return apart <= limit;
}

static void free_operands(struct bench *bench)
{
	release_arrays(bench);
	for (int i = 0; i < 3; i++) {
		free(for_loops[i]);
		for_loops[i] = NULL;
	}
}

/* Time */

static double time_loop(struct bench *bench, array_loop *loop, int64_t count, int64_t calls)
{
	double start = 0;
	for (int64_t i = -1; i < calls; i++) {
		start = i == 0 ? bench->now() : start;
		loop(count, for_loops[0], for_loops[1], for_loops[2]);
	}
	return (bench->now() - start) / (double)calls;
}

/* OpenMP's threads go on spinning for some ms: let nobody pay for the other's. */
static void settle(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* The CPU device, beside loops */

static int measure_beside(struct bench *bench, const struct item *item, int64_t count)
{
	double mine[ROUNDS], loops[ROUNDS], ratio[ROUNDS];
	double first = time_calls(bench, item->run, 3);
	double other = time_loop(bench, item->loop, count, 3);
	int64_t calls = calls_for(first < other ? first : other); /* caches get as warm */
	if (first < 0) {
		return -1;
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int turn = 0; turn < 2; turn++) {
			settle();
			if (turn ^ (round & 1)) {
				loops[round] = time_loop(bench, item->loop, count, calls) * 1e6;
			} else if ((mine[round] = time_calls(bench, item->run, calls) * 1e6)
				< 0) {
				return -1;
			}
		}
		ratio[round] = mine[round] / loops[round];
	}
	char name[80];
	snprintf(name, sizeof(name), "array: %s, %lld", item->name, (long long)count);
	bench_report(name, "kudzu", "us", mine, ROUNDS);
	bench_report(name, "gcc", "us", loops, ROUNDS);
	bench_report(name, "kudzu/gcc", "ratio", ratio, ROUNDS);
	fflush(stdout);
	return 0;
}

static int run_cpu(struct bench *bench, const char *name)
{
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
		for (int s = 0; s < SIZES && strstr(items[i].name, name); s++) {
			int failed = make_operands(bench, &items[i], cpu_counts[s])
				|| copy_to_host(bench)
				|| measure_beside(bench, &items[i], cpu_counts[s])
				|| (is_known(&items[i], cpu_counts[s])
				&& !is_right(bench, &items[i], cpu_counts[s]));
			free_operands(bench);
			if (failed) {
				return -1;
			}
		}
	}
	return 0;
}

/* A GPU, beside a copy */

static int measure_item(struct bench *bench, const struct item *item, int64_t count)
{
	double in = (double)kz_dtype_size(item->in), out = (double)kz_dtype_size(item->out);
	double bytes = (double)count * (item->operands * in + (item->shape < TOTAL ? out : 0));
	char name[80];
	snprintf(name, sizeof(name), "array: %s, %lld", item->name, (long long)count);
	return measure_share(bench, name, item->run, bytes, ROUNDS);
}

static int run_gpu(struct bench *bench, const char *name)
{
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
		for (int s = 0; s < SIZES && strstr(items[i].name, name); s++) {
			bool checked = is_known(&items[i], gpu_counts[s]);
			int failed = make_operands(bench, &items[i], gpu_counts[s])
				|| (checked && copy_to_host(bench))
				|| items[i].run(bench)
				|| (checked && !is_right(bench, &items[i], gpu_counts[s]))
				|| measure_item(bench, &items[i], gpu_counts[s]);
			free_operands(bench);
			if (failed) {
				return -1;
			}
		}
	}
	return 0;
}

/* Latency: 16 elements */

static kz_kernel *nothing;

static kz_status run_launch(struct bench *bench)
{
	return kz_launch(nothing, kz_dim(1, 1, 1), kz_dim(32, 1, 1), NULL, &bench->err,
		KZ_ARGS(bench->out, bench->a, 16));
}

static kz_status run_launch_to_host(struct bench *bench)
{
	float host[16];
	kz_status st = run_launch(bench);
	return st ? st : kz_array_get(bench->out, host, sizeof(host), &bench->err);
}

/* With a new result, as in a program. */
static kz_status run_twice(struct bench *bench)
{
	kz_array *result = NULL;
	kz_status st = kz_multiply(&result, 2, bench->a, &bench->err);
	kz_array_release(result);
	return st;
}

static kz_status run_sum_to_host(struct bench *bench)
{
	float host;
	kz_array *result = NULL;
	kz_status st = kz_sum(&result, bench->a, KZ_ALL_AXES, &bench->err);
	st = st ? st : kz_array_get(result, &host, sizeof(host), &bench->err);
	kz_array_release(result);
	return st;
}

static kz_status run_sum_get(struct bench *bench)
{
	float host;
	return kz_reduce_get_as(&host, KZ_F32, KZ_REDUCE_SUM, bench->a, NULL, &bench->err);
}

static const struct latency {
	const char *name;
	run_fn *run, *bare;
} latencies[] = {
	{"array: a + b, float32, 16", run_add, run_launch},
	{"array: 2 * a to a new array, float32, 16", run_twice, run_launch},
	{"array: sum(a) to the host, float32, 16", run_sum_get, run_launch_to_host},
	{"array: sum(a) and a copy to the host, float32, 16", run_sum_to_host, run_launch_to_host},
};

static int measure_latency(struct bench *bench, const struct latency *latency)
{
	double mine[ROUNDS], bare[ROUNDS], ratio[ROUNDS];
	for (int round = 0; round < ROUNDS; round++) {
		bare[round] = time_calls(bench, latency->bare, CALLS) * 1e6;
		mine[round] = time_calls(bench, latency->run, CALLS) * 1e6;
		ratio[round] = mine[round] / bare[round];
		if (mine[round] < 0 || bare[round] < 0) {
			return -1;
		}
	}
	bench_report(latency->name, "kudzu", "us", mine, ROUNDS);
	bench_report(latency->name, "kz_launch", "us", bare, ROUNDS);
	bench_report(latency->name, "kudzu/kz_launch", "ratio", ratio, ROUNDS);
	return 0;
}

static int run_latency(struct bench *bench, const char *name)
{
	static const char source[] = "__global__ void nothing(float *to, float *from, int n) {}\n";
	kz_module *mod = NULL;
	int failed = kz_module_compile(&mod, bench->dev, source, NULL, &bench->err)
		|| kz_module_kernel(&nothing, mod, "nothing", &bench->err)
		|| make_operands(bench, &items[0], 16);
	for (size_t i = 0; i < sizeof(latencies) / sizeof(latencies[0]) && !failed; i++) {
		failed = strstr(latencies[i].name, name) && measure_latency(bench, &latencies[i]);
	}
	free_operands(bench);
	kz_module_release(mod);
	return failed;
}

/* Before the device is opened, which starts as many workers. */
static int set_threads(struct bench *bench, const char *text)
{
	long threads = text ? strtol(text, NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);
	char digits[24];
	snprintf(digits, sizeof(digits), "%ld", threads);
	if (threads < 1 || threads > 1024 || setenv("KUDZU_CPU_THREADS", digits, 1)) {
		return -1;
	}
	loops_use_threads((int)threads);
	bench->now = threads == 1 ? bench_cpu : bench_now;
	return 0;
}

int main(int argc, char **argv)
{
	struct bench bench = {.now = bench_now, .err = KZ_ERROR_INIT};
	bool is_cpu = argc >= 2 && argc <= 4 && strcmp(argv[1], "cpu") == 0;
	bool is_gpu = argc >= 2 && argc <= 3 && strcmp(argv[1], "cuda") == 0;
	const char *name = is_cpu && argc == 4 ? argv[3] : is_gpu && argc == 3 ? argv[2] : "";
	if ((!is_cpu && !is_gpu) || (is_cpu && set_threads(&bench, argv[2]))) {
		fprintf(stderr, "usage: bench_array cpu [THREADS [CASE]], or bench_array cuda "
			"[CASE]\n");
		return 2;
	}
	if (kz_device_open(&bench.dev, argv[1], &bench.err)
	    || make_numbers(&bench, (is_cpu ? cpu_counts : gpu_counts)[SIZES - 1])) {
		return bench_fail(&bench.err);
	}
	int failed = run_latency(&bench, name);
	failed = failed || (is_cpu ? run_cpu(&bench, name) : run_gpu(&bench, name));
	kz_array_release(numbers);
	kz_elementwise_release(adds);
	kz_device_close(bench.dev);
	return failed ? bench_fail(&bench.err) : EXIT_SUCCESS;
}
