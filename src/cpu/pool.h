/* SPDX-License-Identifier: MIT */
#ifndef CPU_POOL_H
#define CPU_POOL_H

/* Worker threads that help the calling one.  Any thread may call; jobs run one after another. */
#include "../base/common.h"

struct pool;

/* Do a share of a job.  Worker 0 is the caller of pool_run.  Every worker is called at most once
 * per job, and the caller always, so that a job must hand out its work from a common counter. */
typedef void pool_job(void *arg, unsigned worker);

/* As many workers as this process may use cores; KUDZU_CPU_THREADS, 1 to 1024, overrides. */
unsigned pool_cores(void);

/* A pool of `size` workers, the caller included.  Threads start when they are first needed. */
bool pool_create(struct pool **out, unsigned size);
/* Waits for the threads to end; no job may be running.  NULL is fine. */
void pool_release(struct pool *pool);
unsigned pool_size(const struct pool *pool);

/* Hold the pool: from here to pool_end nobody else can run a job. */
void pool_begin(struct pool *pool);
/* Run job(arg, worker) on up to `want` workers; returns when all calls have returned. */
void pool_run(struct pool *pool, pool_job *job, void *arg, uint64_t want);
void pool_end(struct pool *pool);

#endif
