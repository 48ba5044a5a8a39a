/* SPDX-License-Identifier: MIT */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

/* What the files of `kudzu bench` share. */
#include "cli/run.h"

#define BENCH_SHAPES 32
#define BENCH_TRIES 8

/* What the command line asks for. */
struct bench {
	struct run run;             /* what `kudzu run` has, too */
	kz_dim3 blocks[BENCH_SHAPES]; /* to try */
	int block_count;
	kz_dim3 size;               /* in elements */
	bool has_size;
	kz_tune_parameter tries[BENCH_TRIES]; /* macros with their values */
	int try_count;
	int64_t repeats;
	int64_t bytes;              /* that a launch moves; 0: each array once */
	bool json;
};

/* How fast the device copies its own memory. */
struct bench_peak {
	double gbps;   /* bytes read and written; 0: not measured */
	int64_t size;  /* of what was copied */
	int64_t count; /* of copies */
};

/* What is printed of a tuning. */
struct bench_report {
	const struct bench *bench;
	kz_device *dev;
	kz_kernel *kernel;
	kz_tuning *tuning;
	struct bench_peak peak;
	int64_t bytes; /* that a launch moves; 0: unknown */
};

void bench_show(const struct bench_report *report);
void bench_show_json(const struct bench_report *report);

#endif
