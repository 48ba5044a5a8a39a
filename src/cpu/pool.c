/* SPDX-License-Identifier: MIT */
/*
 * Worker threads, parked on a condition variable.  The caller posts a job for the first so many
 * threads, which is what it has work for, and starts on the job itself.  A thread always is the
 * same worker, so that what it has in its cache may be what it gets again.  When the caller's own call comes back nothing is left to hand out: it closes the job and
 * waits for the threads that have joined, not for those that are still waking up.  A short job
 * therefore never costs a thread switch.
 *
 * To wake a thread takes longer than a job of some thousand elements.  So both sides look out for
 * each other for a while before they sleep, as long as every thread has a core: also a thread that
 * has just come too late for a job.
 */
#include "../base/common.h"

#include "pool.h"

#include "../base/alloc.h"
#include "../base/cores.h"
#include "settings.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define LOOKOUT_NS 50000
#define LOOKS_PER_CLOCK 32

struct worker_thread {
	struct pool *pool;
	unsigned index;
	cpu_set_t cores;          /* that it may use */
	pthread_t thread;
};

struct pool {
	pthread_mutex_t lock;     /* of everything below */
	bool busy;                /* from pool_post to the end of pool_close */
	pthread_cond_t posted;
	pthread_cond_t left;
	pool_job *job;            /* NULL: closed */
	void *arg;
	atomic_ullong ticket;     /* number of the job; read without the lock, too */
	int core;                 /* that the job was posted from */
	unsigned helpers;         /* the threads that may join: 1 to this, each once */
	atomic_uint active;       /* threads that have joined and not left; likewise */
	bool stop;
	bool is_watchful;         /* there is a core for each thread */
	unsigned size;
	unsigned started;         /* threads, the caller not counted */
	struct worker_thread *threads;
};

#if defined(__x86_64__)
#define relax() __builtin_ia32_pause()
#else
#define relax() atomic_signal_fence(memory_order_seq_cst)
#endif

unsigned pool_cores(void)
{
	return (unsigned)settings_get(SETTING_THREADS, cores_available());
}

static uint64_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

/* Look out for the next job, without the lock. */
static void await_ticket(struct pool *pool, uint64_t last)
{
	const uint64_t until = now_ns() + LOOKOUT_NS;
	do {
		for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
			if (atomic_load_explicit(&pool->ticket, memory_order_relaxed) != last) {
				return;
			}
			relax();
		}
	} while (now_ns() < until);
}

/* Look out for the last one to leave, without the lock. */
static void await_leaving(struct pool *pool, uint64_t deadline)
{
	const uint64_t longest = now_ns() + LOOKOUT_NS;
	const uint64_t until = deadline > 0 && deadline < longest ? deadline : longest;
	do {
		for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
			if (atomic_load_explicit(&pool->active, memory_order_relaxed) == 0) {
				return;
			}
			relax();
		}
	} while (now_ns() < until);
}

/*
 * Where all cores are busy Linux wakes a thread where it last ran, without looking for an idle core.
 * That may be the core of the thread that has posted the job and waits for this one; then both stay
 * there, for seconds.  So go elsewhere.
 */
static void step_aside(struct worker_thread *self, int core)
{
	cpu_set_t others = self->cores;
	if (core < 0 || core >= CPU_SETSIZE || sched_getcpu() != core) {
		return;
	}
	CPU_CLR((size_t)core, &others);
	if (CPU_COUNT(&others) > 0) {
		// If it fails we are just slow.
		(void)sched_setaffinity(0, sizeof(others), &others);
	}
}

/* Wait for what may be another job.  The lock is held, but not meanwhile. */
static void rest(struct worker_thread *self, bool is_watchful)
{
	struct pool *pool = self->pool;
	uint64_t last = atomic_load_explicit(&pool->ticket, memory_order_relaxed);
	int core = pool->core;
	if (!is_watchful) {
		pthread_cond_wait(&pool->posted, &pool->lock);
		return;
	}
	pthread_mutex_unlock(&pool->lock);
	step_aside(self, core);
	await_ticket(pool, last);
	pthread_mutex_lock(&pool->lock);
}

/* One thread's life.  The lock is held except while the job runs. */
static void *thread_main(void *arg)
{
	struct worker_thread *self = arg;
	struct pool *pool = self->pool;
	uint64_t seen = 0;
	bool is_watchful = false;

	if (sched_getaffinity(0, sizeof(self->cores), &self->cores) != 0) {
		CPU_ZERO(&self->cores);
	}
	pthread_mutex_lock(&pool->lock);
	while (!pool->stop) {
		bool is_mine = pool->ticket != seen && self->index <= pool->helpers;
		pool_job *job = pool->job;
		void *job_arg = pool->arg;
		seen = pool->ticket;
		is_watchful |= is_mine && pool->is_watchful;
		if (!is_mine || job == NULL) {
			rest(self, is_watchful);
			is_watchful = false;
			continue;
		}
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
	pool->is_watchful = size <= cores_available();
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
		pool->core = sched_getcpu();
		pool->ticket++;
		pool->helpers = (unsigned)(helpers < pool->started ? helpers : pool->started);
		pthread_cond_broadcast(&pool->posted);
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
	if (pool->is_watchful && pool->active > 0) {
		pthread_mutex_unlock(&pool->lock);
		await_leaving(pool, deadline);
		pthread_mutex_lock(&pool->lock);
	}
	while (pool->active > 0 && late == 0) {
		late = deadline > 0 ? pthread_cond_timedwait(&pool->left, &pool->lock, &until)
			: pthread_cond_wait(&pool->left, &pool->lock);
	}
	bool done = pool->active == 0;
	pool->busy = !done;
	pthread_mutex_unlock(&pool->lock);
	return done;
}
