/* SPDX-License-Identifier: MIT */
/*
 * Worker threads.  The caller posts a job for as many of them as it has work for, and starts on the
 * job itself.  When its own call comes back, nothing is left to hand out: it closes the job and
 * waits for the threads that have joined, not for threads that are still waking up.  So a short job
 * never waits for a thread to be scheduled.  A thread always is the same worker, so that its core's
 * cache may still hold what that worker gets.
 *
 * One word, pool.state, says all of the current job: its number, whether it is open, for how many
 * threads, and how many are in it.  Threads join and leave by changing that word.  Only threads
 * that sleep use a lock.
 *
 * To wake a thread takes longer than a job of some thousand elements.  So both sides look out for
 * each other a number of times before they sleep, if every thread has a core.  Threads that sleep
 * are left alone by small jobs, until there have been several.
 */
#include "base/common.h"

#include "cpu/exec/worker_pool.h"

#include "base/alloc.h"
#include "base/cores.h"
#include "cpu/config/settings.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LOOKS 1000           /* at what others do, before one sleeps */
#define WAKE_WORK (1u << 21) /* what to wake a thread is worth */
#define FEW 8                /* threads; with more of them there mostly is an idle core */
#define CACHE_LINE 64
#define STACK_LEAST ((size_t)8 << 20) /* whatever `ulimit -s` says: LLVM runs on such threads,
                                         too */

/* The parts of pool.state. */
#define STATE_ACTIVE UINT64_C(0xfff)        /* threads that have joined and not left */
#define STATE_HELPERS_SHIFT 12              /* threads that may join: 1 to this, each once */
#define STATE_HELPERS UINT64_C(0xfff)
#define STATE_OPEN (UINT64_C(1) << 24)
#define STATE_JOB_SHIFT 32                  /* the number of the job */
static_assert(SETTINGS_MAX_THREADS <= STATE_ACTIVE, "all threads may have joined");
static_assert(SETTINGS_MAX_THREADS <= STATE_HELPERS, "all threads may join");
static_assert(STATE_ACTIVE < 1 << STATE_HELPERS_SHIFT
	&& STATE_HELPERS << STATE_HELPERS_SHIFT < STATE_OPEN
	&& STATE_OPEN < UINT64_C(1) << STATE_JOB_SHIFT, "no part overlaps another");

struct worker_thread {
	struct pool *pool;
	unsigned index;
	cpu_set_t cores;          /* that it may use */
	atomic_int avoids;        /* of these, for who woke it last ran there; -1: none */
	pthread_t thread;
	atomic_bool sleeps;       /* or is about to */
	pthread_cond_t posted;
};

struct pool {
	uint8_t before[CACHE_LINE]; /* so that what threads look at has a cache line of its own */
	atomic_ullong state;
	pool_job *job;            /* written only while no thread can join */
	void *arg;
	atomic_int core;          /* that the job was posted from */
	uint8_t behind[CACHE_LINE];
	atomic_bool busy;         /* from pool_post to the end of pool_close */
	pthread_mutex_t lock;     /* of those who sleep */
	pthread_cond_t left;
	atomic_bool is_awaited;   /* a thread sleeps until all have left */
	atomic_bool stop;
	bool is_watchful;         /* there is a core for each thread */
	unsigned size;
	uint64_t missed;          /* work of jobs that left sleeping threads alone; likewise */
	unsigned started;         /* threads, the caller not counted; likewise */
	struct worker_thread *threads;
};

#if defined(__x86_64__)
#define relax() __builtin_ia32_pause()
#else
#define relax() atomic_signal_fence(memory_order_seq_cst)
#endif

unsigned pool_cores(void)
{
	return settings_debugged() ? 1
		: (unsigned)settings_get(SETTING_THREADS, cores_available());
}

static unsigned pool_active(uint64_t state)
{
	return (unsigned)(state & STATE_ACTIVE);
}

static unsigned pool_helpers_of(uint64_t state)
{
	return (unsigned)(state >> STATE_HELPERS_SHIFT & STATE_HELPERS);
}

static uint64_t pool_job_of(uint64_t state)
{
	return state >> STATE_JOB_SHIFT;
}

/* Look out for another job than the last one. */
static void pool_await_job(struct pool *pool, uint64_t last)
{
	for (int i = 0; i < LOOKS; i++) {
		if (pool_job_of(atomic_load_explicit(&pool->state, memory_order_relaxed)) != last) {
			return;
		}
		relax();
	}
}

/* Look out for the last one to leave. */
static void pool_await_leaving(struct pool *pool)
{
	for (int i = 0; i < LOOKS; i++) {
		if (pool_active(atomic_load_explicit(&pool->state, memory_order_relaxed)) == 0) {
			return;
		}
		relax();
	}
}

/*
 * Where all cores are busy, if only for a moment, Linux wakes a thread where it last ran, or where
 * it is woken from.  That may be the core of the thread that has posted the job and waits for this
 * one; then both stay there, for seconds.  So where cores are few, a thread that wakes another one
 * keeps it off its own core.
 */
static void pool_keep_off(struct worker_thread *thread, int core)
{
	cpu_set_t others = thread->cores;
	if (core < 0 || core >= CPU_SETSIZE || atomic_load(&thread->avoids) == core) {
		return;
	}
	CPU_CLR((size_t)core, &others);
	// If it fails we are just slow.
	if (CPU_COUNT(&others) > 0
	    && pthread_setaffinity_np(thread->thread, sizeof(others), &others) == 0) {
		atomic_store(&thread->avoids, core);
	}
}

/* The same of a thread that looks out for the next job, beside the one that posted the last. */
static void pool_step_aside(struct worker_thread *self, int core)
{
	if (sched_getcpu() == core) {
		pool_keep_off(self, core);
	}
}

/* Sleep until there is another job than the last one.  The thread that posts a job reads `sleeps`
 * afterwards, and this one looks for a job after it has set `sleeps`: one of the two sees the
 * other. */
static void pool_sleep_until(struct worker_thread *self, uint64_t last)
{
	struct pool *pool = self->pool;
	pthread_mutex_lock(&pool->lock);
	atomic_store(&self->sleeps, true);
	while (pool_job_of(atomic_load(&pool->state)) == last && !atomic_load(&pool->stop)) {
		pthread_cond_wait(&self->posted, &pool->lock);
	}
	atomic_store(&self->sleeps, false);
	pthread_mutex_unlock(&pool->lock);
}

/* Become active in a job, unless it has been closed. */
static bool pool_join(struct pool *pool, uint64_t state)
{
	const uint64_t job = pool_job_of(state);
	while (pool_job_of(state) == job && (state & STATE_OPEN)) {
		unsigned long long seen = state;
		if (atomic_compare_exchange_weak_explicit(&pool->state, &seen, state + 1,
				memory_order_acquire, memory_order_relaxed)) {
			return true;
		}
		state = seen;
	}
	return false;
}

static void pool_leave(struct pool *pool)
{
	uint64_t before = atomic_fetch_sub(&pool->state, 1);
	if (pool_active(before) == 1 && atomic_load(&pool->is_awaited)) {
		pthread_mutex_lock(&pool->lock);
		pthread_cond_signal(&pool->left);
		pthread_mutex_unlock(&pool->lock);
	}
}

/* One thread's life. */
static void *pool_thread_main(void *arg)
{
	struct worker_thread *self = arg;
	struct pool *pool = self->pool;
	uint64_t seen = 0;
	bool is_watchful = false;

	if (sched_getaffinity(0, sizeof(self->cores), &self->cores) != 0) {
		CPU_ZERO(&self->cores);
	}
	while (!atomic_load_explicit(&pool->stop, memory_order_relaxed)) {
		uint64_t state = atomic_load_explicit(&pool->state, memory_order_relaxed);
		if (pool_job_of(state) == seen) {
			if (is_watchful) {
				pool_step_aside(self, atomic_load_explicit(&pool->core,
					memory_order_relaxed));
				pool_await_job(pool, seen);
			} else {
				pool_sleep_until(self, seen);
			}
			is_watchful = false;
			continue;
		}
		seen = pool_job_of(state);
		bool is_mine = self->index <= pool_helpers_of(state);
		is_watchful |= is_mine && pool->is_watchful;
		if (is_mine && pool_join(pool, state)) {
			pool->job(pool->arg, self->index);
			pool_leave(pool);
		}
	}
	return NULL;
}

bool pool_start_thread(pthread_t *out, void *(*function)(void *), void *arg)
{
	pthread_attr_t attributes;
	size_t stack;
	sigset_t all;
	sigset_t old;
	sigfillset(&all);
	const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGURG /* fault_interrupt */};
	for (size_t i = 0; i < countof(faults); i++) {
		sigdelset(&all, faults[i]);
	}
	// The program's own signals are for its own threads.
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int error = pthread_attr_init(&attributes);
	if (error == 0) {
		if (pthread_attr_getstacksize(&attributes, &stack) == 0 && stack < STACK_LEAST) {
			pthread_attr_setstacksize(&attributes, STACK_LEAST);
		}
		error = pthread_create(out, &attributes, function, arg);
		pthread_attr_destroy(&attributes);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = error;
	return error == 0;
}

/* Start threads until there are `count`; fewer is fine, the caller does what they do not. */
static void pool_start_threads(struct pool *pool, unsigned count)
{
	while (pool->started < count) {
		struct worker_thread *next = &pool->threads[pool->started];
		next->pool = pool;
		next->index = pool->started + 1;
		atomic_store(&next->avoids, -1);
		pthread_cond_init(&next->posted, NULL);
		if (!pool_start_thread(&next->thread, pool_thread_main, next)) {
			pthread_cond_destroy(&next->posted);
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
	if (!pool || !threads) {
		mem_free(pool);
		mem_free(threads);
		return false;
	}
	pool->size = size;
	pool->is_watchful = size <= cores_available();
	pool->threads = threads;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->left, NULL);
	*out = pool;
	return true;
}

/* Of the first so many threads, wake the ones that sleep. */
static void pool_wake(struct pool *pool, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct worker_thread *thread = &pool->threads[i];
		if (atomic_load(&thread->sleeps)) {
			pthread_mutex_lock(&pool->lock);
			if (pool->is_watchful && pool->size <= FEW) {
				pool_keep_off(thread, sched_getcpu());
			}
			pthread_cond_signal(&thread->posted);
			pthread_mutex_unlock(&pool->lock);
		}
	}
}

void pool_release(struct pool *pool)
{
	if (!pool) {
		return;
	}
	atomic_store(&pool->stop, true);
	pool_wake(pool, pool->started);
	for (unsigned i = 0; i < pool->started; i++) {
		pthread_join(pool->threads[i].thread, NULL);
		pthread_cond_destroy(&pool->threads[i].posted);
	}
	pthread_cond_destroy(&pool->left);
	pthread_mutex_destroy(&pool->lock);
	mem_free(pool->threads);
	mem_free(pool);
}

unsigned pool_size(const struct pool *pool)
{
	return pool->size;
}

/* Whether a job is worth waking a thread for. */
static bool pool_is_worth_it(struct pool *pool, uint64_t work)
{
	pool->missed += work < WAKE_WORK ? work : WAKE_WORK;
	if (pool->missed < WAKE_WORK) {
		return false;
	}
	pool->missed = 0;
	return true;
}

bool pool_post(struct pool *pool, pool_job *job, void *arg, uint64_t helpers, uint64_t work)
{
	uint64_t most = pool->size - 1;
	unsigned want = (unsigned)(helpers < most ? helpers : most);
	if (want == 0 || atomic_exchange_explicit(&pool->busy, true, memory_order_acquire)) {
		return false;
	}
	pool_start_threads(pool, want);
	if (pool->started == 0) {
		atomic_store_explicit(&pool->busy, false, memory_order_release);
		return false;
	}
	want = want < pool->started ? want : pool->started;
	pool->job = job;
	pool->arg = arg;
	atomic_store_explicit(&pool->core, sched_getcpu(), memory_order_relaxed);
	uint64_t number = pool_job_of(atomic_load_explicit(&pool->state, memory_order_relaxed)) + 1;
	atomic_store(&pool->state, number << STATE_JOB_SHIFT | STATE_OPEN
		| (uint64_t)want << STATE_HELPERS_SHIFT);
	if (pool_is_worth_it(pool, work)) {
		pool_wake(pool, want);
	}
	return true;
}

/* Sleep until all have left; `pool_leave` looks for us after that. */
static void pool_sleep_until_left(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	atomic_store(&pool->is_awaited, true);
	while (pool_active(atomic_load(&pool->state)) > 0) {
		pthread_cond_wait(&pool->left, &pool->lock);
	}
	atomic_store(&pool->is_awaited, false);
	pthread_mutex_unlock(&pool->lock);
}

void pool_close(struct pool *pool)
{
	uint64_t state = atomic_fetch_and_explicit(&pool->state, ~STATE_OPEN,
		memory_order_acq_rel);
	if (pool_active(state) > 0 && pool->is_watchful) {
		pool_await_leaving(pool);
	}
	if (pool_active(atomic_load_explicit(&pool->state, memory_order_acquire)) > 0) {
		pool_sleep_until_left(pool);
	}
	atomic_store_explicit(&pool->busy, false, memory_order_release);
}
