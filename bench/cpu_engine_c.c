/* SPDX-License-Identifier: MIT */
/*
 * The engines of plain C: gcc's loops, shared by threads that wait between jobs, and the limits
 * of the machine.
 */
#define _GNU_SOURCE 1 /* madvise */

#include "cpu_engine.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_THREADS = 64 };

static struct {
	int threads;
	cpu_loop *loop;
	int phase;
	sem_t go[MAX_THREADS], done;
	void *buffers[JOB_BUFFERS];
} loops;

static void *help(void *argument)
{
	int thread = (int)(intptr_t)argument;
	for (;;) {
		sem_wait(&loops.go[thread]);
		struct cpu_part part = {loops.phase, thread, loops.threads};
		loops.loop(loops.buffers, &part);
		sem_post(&loops.done);
	}
	return NULL;
}

/* The threads end with the process. */
static bool start(int threads)
{
	bool started = threads <= MAX_THREADS && sem_init(&loops.done, 0, 0) == 0;
	loops.threads = threads;
	for (int i = 1; i < threads && started; i++) {
		pthread_t thread;
		started = sem_init(&loops.go[i], 0, 0) == 0
			&& pthread_create(&thread, NULL, help, (void *)(intptr_t)i) == 0;
	}
	return started;
}

/* Big pages, as the CPU device's memory has them. */
static void *allocate(size_t size)
{
	const size_t page = (size_t)1 << 21;
	size_t whole = (size + page - 1) / page * page;
	void *memory = aligned_alloc(page, whole);
	if (memory) {
		madvise(memory, whole, MADV_HUGEPAGE);
	}
	return memory;
}

static void close_job(const struct cpu_job *job)
{
	(void)job;
	for (int i = 0; i < JOB_BUFFERS; i++) {
		free(loops.buffers[i]);
		loops.buffers[i] = NULL;
	}
}

static bool open_job(const struct cpu_job *job)
{
	for (int i = 0; i < JOB_BUFFERS && job->sizes[i] > 0; i++) {
		loops.buffers[i] = allocate(job->sizes[i]);
		if (!loops.buffers[i]) {
			return false;
		}
		memcpy(loops.buffers[i], job->initial[i], job->sizes[i]);
	}
	return true;
}

static void run_phase(int phase, int threads)
{
	struct cpu_part own = {phase, 0, threads};
	loops.phase = phase;
	for (int i = 1; i < threads; i++) {
		sem_post(&loops.go[i]);
	}
	loops.loop(loops.buffers, &own);
	for (int i = 1; i < threads; i++) {
		sem_wait(&loops.done);
	}
}

static bool run_loop(const struct cpu_job *job, cpu_loop *loop, int calls)
{
	loops.loop = loop;
	for (int call = 0; call < calls; call++) {
		for (int phase = 0; phase < job->phases; phase++) {
			run_phase(phase, job->alone ? 1 : loops.threads);
		}
	}
	return true;
}

static bool run(const struct cpu_job *job, int calls)
{
	return run_loop(job, job->loop, calls);
}

static bool run_avx2(const struct cpu_job *job, int calls)
{
	return run_loop(job, job->loop_avx2, calls);
}

static bool fetch(const struct cpu_job *job, void *results[JOB_BUFFERS])
{
	(void)job;
	memcpy(results, loops.buffers, sizeof(loops.buffers));
	return true;
}

/* Three vectors of the job's size, not its data. */
static bool open_triad(const struct cpu_job *job)
{
	for (int i = 0; i < 3; i++) {
		loops.buffers[i] = allocate((size_t)job->memory * sizeof(float));
		if (!loops.buffers[i]) {
			return false;
		}
		memset(loops.buffers[i], 0, (size_t)job->memory * sizeof(float));
	}
	return true;
}

static bool run_triad(const struct cpu_job *job, int calls)
{
	limit_triad(loops.buffers[0], loops.buffers[1], loops.buffers[2], job->memory, calls);
	return true;
}

static bool open_nothing(const struct cpu_job *job)
{
	(void)job;
	return true;
}

static bool run_vector(const struct cpu_job *job, int calls)
{
	(void)job;
	limit_lanes(calls);
	return true;
}

const struct cpu_engine engine_gcc = {"gcc", start, open_job, run, fetch, close_job};
const struct cpu_engine engine_gcc_avx2 = {"gcc-avx2", start, open_job, run_avx2, fetch, close_job};
const struct cpu_engine engine_triad = {"triad", start, open_triad, run_triad, NULL, close_job};
const struct cpu_engine engine_vector = {"vector", start, open_nothing, run_vector, NULL,
	close_job};
