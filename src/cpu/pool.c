/* SPDX-License-Identifier: MIT */
/*
 * Worker threads, parked on a condition variable.  The caller posts a job, wakes as many threads
 * as the job has work for, and starts on the job itself; a thread joins a job only while it is
 * open.  When the caller's own call comes back nothing is left to hand out: it closes the job and
 * waits for the threads that have joined, not for those that are still waking up.  A short job
 * therefore never costs a thread switch.
 */
#include "../base/common.h"

#include "pool.h"

#include "../base/alloc.h"
#include "settings.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

struct worker_thread {
	struct pool *pool;
	unsigned index;
	pthread_t thread;
};

struct pool {
	pthread_mutex_t lock;     /* of everything below */
	bool busy;                /* from pool_post to the end of pool_close */
	pthread_cond_t posted;
	pthread_cond_t left;
	pool_job *job;            /* NULL: closed */
	void *arg;
	uint64_t ticket;          /* number of the job */
	unsigned open;            /* threads that may still join */
	unsigned active;          /* threads that have joined and not left */
	bool stop;
	unsigned size;
	unsigned started;         /* threads, the caller not counted */
	struct worker_thread *threads;
};

unsigned pool_cores(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
	return (unsigned)settings_get(SETTING_THREADS, count > 0 ? (uint64_t)count : 1);
}

/* One thread's life.  The lock is held except while the job runs. */
static void *thread_main(void *arg)
{
	struct worker_thread *self = arg;
	struct pool *pool = self->pool;
	uint64_t seen = 0;

	pthread_mutex_lock(&pool->lock);
	while (!pool->stop) {
		if (pool->job == NULL || pool->open == 0 || pool->ticket == seen) {
			pthread_cond_wait(&pool->posted, &pool->lock);
			continue;
		}
		pool_job *job = pool->job;
		void *job_arg = pool->arg;
		seen = pool->ticket;
		pool->open--;
		pool->active++;
		pthread_mutex_unlock(&pool->lock);
		job(job_arg, self->index);
		pthread_mutex_lock(&pool->lock);
		if (--pool->active == 0) {
			pthread_cond_signal(&pool->left);
		}
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

bool pool_start_thread(pthread_t *out, void *(*function)(void *), void *arg)
{
	sigset_t all;
	sigset_t old;
	sigfillset(&all);
	const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGURG /* fault_interrupt */};
	for (size_t i = 0; i < countof(faults); i++) {
		sigdelset(&all, faults[i]);
	}
	// The program's own signals are for its own threads.
	pthread_sigmask(SIG_SETMASK, &all, &old);
	bool ok = pthread_create(out, NULL, function, arg) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ok;
}

/* Start threads until there are `count`; fewer is fine, the caller does what they do not. */
static void start_threads(struct pool *pool, unsigned count)
{
	while (pool->started < count) {
		struct worker_thread *next = &pool->threads[pool->started];
		next->pool = pool;
		next->index = pool->started + 1;
		if (!pool_start_thread(&next->thread, thread_main, next)) {
			break;
		}
		pool->started++;
	}
}

bool pool_create(struct pool **out, unsigned size)
{
	struct pool *pool = mem_zalloc(1, sizeof(*pool));
	struct worker_thread *threads = mem_zalloc(size, sizeof(*threads));
	*out = NULL;
	if (pool == NULL || threads == NULL) {
		mem_free(pool);
		mem_free(threads);
		return false;
	}
	pool->size = size;
	pool->threads = threads;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->posted, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->left, &monotonic);
	pthread_condattr_destroy(&monotonic);
	*out = pool;
	return true;
}

void pool_release(struct pool *pool)
{
	if (pool == NULL) {
		return;
	}
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->posted);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->started; i++) {
		pthread_join(pool->threads[i].thread, NULL);
	}
	pthread_cond_destroy(&pool->left);
	pthread_cond_destroy(&pool->posted);
	pthread_mutex_destroy(&pool->lock);
	mem_free(pool->threads);
	mem_free(pool);
}

unsigned pool_size(const struct pool *pool)
{
	return pool->size;
}

bool pool_post(struct pool *pool, pool_job *job, void *arg, uint64_t helpers)
{
	pthread_mutex_lock(&pool->lock);
	bool is_free = !pool->busy;
	if (is_free && helpers > 0) {
		uint64_t most = pool->size - 1;
		start_threads(pool, (unsigned)(helpers < most ? helpers : most));
		is_free = pool->started > 0;
	}
	if (is_free && helpers > 0) {
		pool->busy = true;
		pool->job = job;
		pool->arg = arg;
		pool->ticket++;
		pool->open = (unsigned)(helpers < pool->started ? helpers : pool->started);
		if (pool->open == 1) {
			pthread_cond_signal(&pool->posted);
		} else {
			pthread_cond_broadcast(&pool->posted);
		}
	}
	pthread_mutex_unlock(&pool->lock);
	return is_free && helpers > 0;
}

bool pool_close(struct pool *pool, uint64_t deadline)
{
	const struct timespec until = {.tv_sec = (time_t)(deadline / 1000000000),
		.tv_nsec = (long)(deadline % 1000000000)};
	int late = 0;
	pthread_mutex_lock(&pool->lock);
	pool->job = NULL;
	while (pool->active > 0 && late == 0) {
		late = deadline > 0 ? pthread_cond_timedwait(&pool->left, &pool->lock, &until)
			: pthread_cond_wait(&pool->left, &pool->lock);
	}
	bool done = pool->active == 0;
	pool->busy = !done;
	pthread_mutex_unlock(&pool->lock);
	return done;
}
