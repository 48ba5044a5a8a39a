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

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#define MAX_WORKERS 1024

struct worker_thread {
	struct pool *pool;
	unsigned index;
	pthread_t thread;
};

struct pool {
	pthread_mutex_t turn;     /* held by the one whose job it is */
	pthread_mutex_t lock;     /* of everything below */
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
	const char *text = getenv("KUDZU_CPU_THREADS");
	if (text != NULL) {
		char *end;
		long wish = strtol(text, &end, 10);
		if (end != text && *end == '\0' && wish >= 1 && wish <= MAX_WORKERS) {
			return (unsigned)wish;
		}
	}
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof(set), &set) != 0) {
		return 1;
	}
	unsigned count = (unsigned)CPU_COUNT(&set);
	return count > 0 ? count : 1;
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

/* Start threads until there are `count`; fewer is fine, the caller does what they do not. */
static void start_threads(struct pool *pool, unsigned count)
{
	sigset_t all;
	sigset_t old;
	sigfillset(&all);
	const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	for (size_t i = 0; i < countof(faults); i++) {
		sigdelset(&all, faults[i]);
	}
	// The program's own signals are for its own threads.
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (pool->started < count) {
		struct worker_thread *next = &pool->threads[pool->started];
		next->pool = pool;
		next->index = pool->started + 1;
		if (pthread_create(&next->thread, NULL, thread_main, next) != 0) {
			break;
		}
		pool->started++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
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
	pthread_mutex_init(&pool->turn, NULL);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->posted, NULL);
	pthread_cond_init(&pool->left, NULL);
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
	pthread_mutex_destroy(&pool->turn);
	mem_free(pool->threads);
	mem_free(pool);
}

unsigned pool_size(const struct pool *pool)
{
	return pool->size;
}

void pool_begin(struct pool *pool)
{
	pthread_mutex_lock(&pool->turn);
}

void pool_end(struct pool *pool)
{
	pthread_mutex_unlock(&pool->turn);
}

static void post_job(struct pool *pool, pool_job *job, void *arg, unsigned helpers)
{
	start_threads(pool, helpers);
	pthread_mutex_lock(&pool->lock);
	pool->job = job;
	pool->arg = arg;
	pool->ticket++;
	pool->open = helpers;
	if (helpers == 1) {
		pthread_cond_signal(&pool->posted);
	} else {
		pthread_cond_broadcast(&pool->posted);
	}
	pthread_mutex_unlock(&pool->lock);
}

static void close_job(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->job = NULL;
	while (pool->active > 0) {
		pthread_cond_wait(&pool->left, &pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
}

void pool_run(struct pool *pool, pool_job *job, void *arg, uint64_t want)
{
	unsigned workers = want < pool->size ? (unsigned)want : pool->size;
	if (workers > 1) {
		post_job(pool, job, arg, workers - 1);
	}
	job(arg, 0);
	if (workers > 1) {
		close_job(pool);
	}
}
