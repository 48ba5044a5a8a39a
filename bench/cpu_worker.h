/* SPDX-License-Identifier: MIT */
#ifndef CPU_WORKER_H
#define CPU_WORKER_H

/*
 * Processes that run jobs for bench_cpu, one for each engine and setting, so that each has its
 * own environment and libraries.  They take orders from a pipe, and do nothing between orders.
 */
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct cpu_worker {
	pid_t pid;
	FILE *to, *from;
};

struct cpu_work {
	double bytes, lanes; /* of one call; see struct cpu_job */
	double floor;
	bool scales;
};

/* Start this program again.  `settings` are NAME=VALUE, up to a NULL. */
bool cpu_worker_start(struct cpu_worker *out, const char *engine, int threads,
	const char *const *settings);
void cpu_worker_stop(struct cpu_worker *worker);

/* Make a job ready, run it once and check the results.  Two steps, for several to do it at once. */
bool cpu_worker_send_open(struct cpu_worker *worker, int job);
bool cpu_worker_opened(struct cpu_worker *worker, struct cpu_work *out);

/* Seconds of one call, of `calls` in a row after `warm` more: on the clock and of processors.  Two
 * steps, for several to run at once. */
bool cpu_worker_send_run(struct cpu_worker *worker, int warm, int calls);
bool cpu_worker_ran(struct cpu_worker *worker, double *wall, double *processors);

bool cpu_worker_close(struct cpu_worker *worker);

/* The process itself; its exit status. */
int cpu_worker_main(const char *engine, const char *threads);

#endif
