/* SPDX-License-Identifier: MIT */
#ifndef CPU_EXEC_WORKER_POOL_H
#define CPU_EXEC_WORKER_POOL_H

/* Worker threads that help the calling one.  Any thread may call; they do one job at a time. */
#include "base/common.h"

#include <pthread.h>

struct pool;

/* Do a share of a job.  Every worker is called at most once per job, and it may be that none is, so
 * that a job must let each do what others do not get to. */
typedef void pool_job(void *arg, unsigned worker);

/* As many workers as this process may use cores; KUDZU_CPU_THREADS, 1 to 1024, overrides.  Several
 * devices share them. */
unsigned pool_cores(void);

/* Start a thread that gets none of the program's signals.  False: errno says why. */
bool pool_start_thread(pthread_t *out, void *(*function)(void *), void *arg);

/* A pool of `size` workers, the caller included.  Threads start when they are first needed. */
bool pool_create(struct pool **out, unsigned size);
/* Waits for the threads to end; no job may be running.  NULL is fine. */
void pool_release(struct pool *pool);
unsigned pool_size(const struct pool *pool);

/* Have up to `helpers` threads run job(arg, worker), each another worker of 1 to `helpers`; the
 * caller then does its share.  False: the pool works on another caller's job, or has no threads, so
 * that the caller is alone.  Threads that sleep are not woken for a job with little work (launch.h
 * says in what; UINT64_MAX: unknown), until there have been several. */
bool pool_post(struct pool *pool, pool_job *job, void *arg, uint64_t helpers, uint64_t work);
/* Let no more threads join, and wait for the threads that have joined.  To be called after each
 * pool_post that returned true. */
void pool_close(struct pool *pool);

#endif
