/* SPDX-License-Identifier: MIT */
#ifndef CPU_ENGINE_H
#define CPU_ENGINE_H

/*
 * The engines that run a job: the library, gcc's loops, OpenCL, and the limits of the machine.  A
 * process has one engine and one job at a time, so an engine keeps its state to itself.
 */
#include "cpu_jobs.h"

struct cpu_engine {
	const char *name;
	/* Once, before the first job; what is missing is told on the standard error. */
	bool (*start)(int threads);
	/* After it the first run begins with the job's initial data. */
	bool (*open)(const struct cpu_job *job);
	/* Run a job some times in a row, and wait. */
	bool (*run)(const struct cpu_job *job, int calls);
	/* Point to the results on the host; NULL where there is nothing to check. */
	bool (*fetch)(const struct cpu_job *job, void *results[JOB_BUFFERS]);
	void (*close)(const struct cpu_job *job);
};

extern const struct cpu_engine engine_kudzu, engine_gcc, engine_gcc_avx2, engine_opencl,
	engine_triad, engine_vector;

/* The kernels, cpu_kernels.cu and cpu_kernels.cl, and SHA-256's constants for both. */
extern const char cpu_kernels_cu[], cpu_kernels_cl[], cpu_sha256[];

#endif
