/* SPDX-License-Identifier: MIT */
/*
 * See background.h.
 *
 * exit() calls what was registered last first.  So LLVM is loaded and started before the thread is,
 * and the thread's end is registered after that: else LLVM's objects would be destroyed before the
 * thread has ended.  A forked process has no such thread and gets none.
 */
#include "base/common.h"

#include "cpu/object/background.h"

#include "base/alloc.h"
#include "base/env.h"
#include "cpu/exec/worker_pool.h"
#include "cpu/jit/jit.h"

#include <pthread.h>
#include <stdlib.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;        /* a job has ended */
	struct background_job *first;  /* the jobs that wait */
	struct background_job *running;
	pthread_t thread;
	bool has_thread;               /* which is to be joined */
	bool is_working;               /* and looks for jobs */
	bool is_over;                  /* the process ends, or was forked */
} background = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Take a job out of the list, with the lock. */
static struct background_job *background_take(struct background_job **link)
{
	struct background_job *job = *link;
	*link = job->next;
	return job;
}

static void background_forget(struct background_job **link)
{
	mem_free(background_take(link)->environment);
}

/* --- The end of the process, and its children --- */

static void background_end(void)
{
	pthread_mutex_lock(&background.lock);
	bool has_thread = background.has_thread;
	background.is_over = true;
	background.has_thread = false;
	while (background.first) {
		background_forget(&background.first);
	}
	pthread_mutex_unlock(&background.lock);
	if (has_thread) {
		pthread_join(background.thread, NULL);
	}
}

static void background_before_fork(void)
{
	pthread_mutex_lock(&background.lock);
}

static void background_in_parent(void)
{
	pthread_mutex_unlock(&background.lock);
}

static void background_in_child(void)
{
	background.is_over = true;
	background.has_thread = false;
	background.first = NULL;
	background.running = NULL;
	pthread_mutex_unlock(&background.lock);
}

static void background_watch_exit(void)
{
	atexit(background_end);
}

/* If LLVM does not start the jobs will say why. */
static void background_watch_process(void)
{
	struct ptx_diag diag = {.line = 0};
	(void)jit_start(&diag);
	pthread_atfork(background_before_fork, background_in_parent, background_in_child);
	background_watch_exit();
}

/* --- Jobs --- */

static void *background_main(void *arg)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	(void)arg;
	pthread_mutex_lock(&background.lock);
	while (background.first) {
		struct background_job *job = background_take(&background.first);
		char *environment = job->environment;
		background.running = job;
		pthread_mutex_unlock(&background.lock);
		env_use(environment);
		job->run(job);
		env_use(NULL);
		mem_free(environment);
		pthread_once(&once, background_watch_exit); // LLVM may have made more objects
		pthread_mutex_lock(&background.lock);
		background.running = NULL;
		pthread_cond_broadcast(&background.changed);
	}
	background.is_working = false;
	pthread_mutex_unlock(&background.lock);
	return NULL;
}

/* With the lock. */
static bool background_start_thread(void)
{
	if (background.is_working) {
		return true;
	}
	if (background.has_thread) { // it only has to return
		pthread_join(background.thread, NULL);
	}
	background.has_thread = pool_start_thread(&background.thread, background_main, NULL);
	background.is_working = background.has_thread;
	return background.has_thread;
}

bool background_add(struct background_job *job)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct background_job **link = &background.first;
	pthread_once(&once, background_watch_process);
	job->environment = env_copy();
	pthread_mutex_lock(&background.lock);
	bool ok = job->environment && !background.is_over && background_start_thread();
	if (!ok) {
		mem_free(job->environment);
	} else {
		while (*link) {
			link = &(*link)->next;
		}
		job->next = NULL;
		*link = job;
	}
	pthread_mutex_unlock(&background.lock);
	return ok;
}

void background_cancel(const void *owner)
{
	struct background_job **link = &background.first;
	pthread_mutex_lock(&background.lock);
	while (*link) {
		if ((*link)->owner == owner) {
			background_forget(link);
		} else {
			link = &(*link)->next;
		}
	}
	while (background.running && background.running->owner == owner) {
		pthread_cond_wait(&background.changed, &background.lock);
	}
	pthread_mutex_unlock(&background.lock);
}

/* With the lock. */
static bool background_has(const void *owner)
{
	const struct background_job *job = background.first;
	while (job && job->owner != owner) {
		job = job->next;
	}
	return job || (background.running && background.running->owner == owner);
}

void background_wait(const void *owner)
{
	pthread_mutex_lock(&background.lock);
	while (background_has(owner)) {
		pthread_cond_wait(&background.changed, &background.lock);
	}
	pthread_mutex_unlock(&background.lock);
}
