/* SPDX-License-Identifier: MIT */
#ifndef BENCH_CALLS_H
#define BENCH_CALLS_H

/* Time calls on arrays: in seconds, and as a share of the bandwidth of a copy on the device. */
#include "bench.h"

#include <stdint.h>

#define BATCH_SECONDS 4e-3
enum { ROUNDS_MAX = 15 };

struct item; /* of a benchmark's table */

struct bench {
	kz_device *dev;
	double (*now)(void);
	const struct item *item; /* that is measured, for who asks */
	kz_array *out, *a, *b;   /* its result and operands, which may be views */
	kz_error err;
};

typedef kz_status run_fn(struct bench *bench);

/* Seconds of one call, of `calls` in a row after one that is not measured; -1: one failed. */
static inline double time_calls(struct bench *bench, run_fn *run, int64_t calls)
{
	double start = 0;
	for (int64_t i = -1; i < calls; i++) {
		if (i == 0) {
			if (kz_device_synchronize(bench->dev, &bench->err)) {
				return -1;
			}
			start = bench->now();
		}
		if (run(bench)) {
			return -1;
		}
	}
	return kz_device_synchronize(bench->dev, &bench->err) ? -1
		: (bench->now() - start) / (double)calls;
}

static inline int64_t calls_for(double seconds)
{
	return seconds >= BATCH_SECONDS ? 1 : (int64_t)(BATCH_SECONDS / seconds) + 1;
}

static inline kz_status run_copy(struct bench *bench)
{
	kz_buffer *to = kz_array_buffer(bench->a), *from = kz_array_buffer(bench->b);
	return kz_copy_dtod(to, 0, from, 0, kz_buffer_size(from), &bench->err);
}

/* Report what `run`, which moves so many bytes, takes beside a copy of the second operand. */
static inline int measure_share(struct bench *bench, const char *name, run_fn *run, double bytes,
	int rounds)
{
	double mine[ROUNDS_MAX], share[ROUNDS_MAX];
	double copied = 2 * (double)kz_buffer_size(kz_array_buffer(bench->b));
	int64_t calls = calls_for(time_calls(bench, run, 3));
	for (int round = 0; round < rounds; round++) {
		double copy = time_calls(bench, run_copy, calls);
		double own = time_calls(bench, run, calls);
		if (copy < 0 || own < 0) {
			return -1;
		}
		mine[round] = own * 1e6;
		share[round] = (bytes / own) / (copied / copy);
	}
	bench_report(name, "kudzu", "us", mine, rounds);
	bench_report(name, "share of a copy's bandwidth", "ratio", share, rounds);
	fflush(stdout);
	return 0;
}

static inline void release_arrays(struct bench *bench)
{
	kz_array_release(bench->out);
	kz_array_release(bench->a);
	kz_array_release(bench->b);
	bench->out = bench->a = bench->b = NULL;
}

#endif
