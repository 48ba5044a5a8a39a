/* SPDX-License-Identifier: MIT */
#ifndef BENCH_H
#define BENCH_H

/*
 * What the benchmarks share: a clock, and the summary of some samples as one line of JSON.
 *
 * A summary is the median with its 95 % sign-test interval: the two order statistics between which
 * the true median lies with that probability, whatever the distribution.  Two things are compared
 * by taking turns in one process and summarizing the ratio of each round, never by dividing
 * medians.
 */
#define _GNU_SOURCE 1 /* dladdr, RTLD_NOLOAD, nftw */

#include <kudzu/kudzu.h>

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

static inline double bench_clock(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds on a clock that all processes share. */
static inline double bench_now(void)
{
	return bench_clock(CLOCK_MONOTONIC);
}

/* Seconds that all threads of this process have computed: what else runs hardly matters. */
static inline double bench_cpu(void)
{
	return bench_clock(CLOCK_PROCESS_CPUTIME_ID);
}

static inline int bench_compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

/* The largest k for which P(Binomial(count, 1/2) < k) stays within 2.5 %. */
static inline int bench_interval(int count)
{
	double term = pow(0.5, count), sum = term;
	int k = 0;
	while (k < count / 2 && sum <= 0.025) {
		k++;
		term *= (double)(count - k + 1) / k;
		sum += term;
	}
	return k;
}

/* Print one line; sorts the samples.  Fewer than 6 of them have no interval.  Return the median. */
static inline double bench_report(const char *name, const char *what, const char *unit,
	double *samples, int count)
{
	qsort(samples, (size_t)count, sizeof(*samples), bench_compare);
	double median = (samples[(count - 1) / 2] + samples[count / 2]) / 2;
	int k = bench_interval(count);
	printf("{\"case\":\"%s\",\"what\":\"%s\",\"unit\":\"%s\",\"median\":%.6g", name, what, unit,
		median);
	if (k > 0) {
		printf(",\"low\":%.6g,\"high\":%.6g", samples[k - 1], samples[count - k]);
	}
	printf(",\"rounds\":%d}\n", count);
	return median;
}

static inline int bench_remove_one(const char *path, const struct stat *st, int kind,
	struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

/* Remove a folder of ours with all that is in it. */
static inline void bench_remove(const char *folder)
{
	nftw(folder, bench_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Say what failed; the exit status of a benchmark that could not run. */
static inline int bench_fail(kz_error *err)
{
	kz_error_print(err, stderr);
	kz_error_clear(err);
	return EXIT_FAILURE;
}

#endif
