/* SPDX-License-Identifier: MIT */
#ifndef CPU_EXEC_LAUNCH_JOB_H
#define CPU_EXEC_LAUNCH_JOB_H

/* A launch while it runs, for launch.c and launch_failure.c. */
#include "cpu/exec/block_frame.h"
#include "cpu/exec/launch.h"
#include "cpu/exec/resident.h"
#include "cpu/exec/seeded_schedule.h"
#include "cpu/mem/fault.h"

#define CACHE_LINE 64

struct worker {
	atomic_ullong next;       /* block of its share, which goes to `end`; others take from it,
	                             too */
	uint64_t end;
	uint8_t behind[CACHE_LINE]; /* no worker shares a cache line with the members below */
	struct fault_catch fault;
	struct block_frame own;
	const struct jit_kernel *kernel; /* that runs in it */
	struct block_frame *frame;        /* that it works in */
	uint64_t at;              /* blocks [at, to) are its to do; */
	uint64_t to;
	uint32_t ctaid[3];        /* of block `at` */
	bool in_block;            /* a block has begun in its own frame; that is block `at`, */
	bool has_passed;          /* unless the worker has gone on to the next block */
	unsigned waits;           /* steps in a row of that block that did not end it */
	atomic_ullong ended_in;   /* the last grid of which it has come to the end of a block */
	uint8_t *signal_stack;
	uint64_t *counters;       /* of a kernel that counts, */
	size_t counter_cap;       /* and the room for them */
	uint64_t busy_ns;         /* of a kernel that is profiled; */
	const void *stack;        /* and where the stack of kernels ends */
	uint8_t last[CACHE_LINE];
};

/* Whether a launch that is watched can go on: launch_stall.c. */
struct launch_stall {
	uint64_t since_ns;        /* when a block first waited; 0: none has */
	uint64_t hash;            /* of their state, some rounds ago; */
	uint64_t steps;           /* so many, */
	uint64_t power;           /* and so many at most; 0: there is no hash */
};

/* The grid that runs. */
struct launch_job {
	struct launcher *launcher;
	const struct launch_request *request;
	struct rt_launch launch;
	const struct jit_kernel *kernel; /* that it begins with */
	struct block_frame_layout layout; /* for that */
	uint32_t own_shared;      /* bytes of the kernel's shared memory in each block, */
	size_t shared_size;       /* and with the reserved part, if it uses that */
	uint64_t blocks;
	uint64_t chunk;
	unsigned shares;          /* workers 0 to shares - 1 have one: */
	uint64_t share;           /* so many blocks, */
	uint64_t rest;            /* and the first so many one more */
	atomic_uint failure;      /* CUresult of the first one that fails */
	struct launch_failure *out;
	bool is_watched;          /* races are looked for, on worker 0 */
	struct launch_stall stall;
	bool is_scheduled;        /* by launcher->schedule, on worker 0 */
	bool has_helpers;
	bool may_leave;           /* worker 0 is to leave a block that takes long, once */
	bool has_left;
	atomic_uint places;       /* enum places, */
	atomic_size_t places_in_use; /* of the first so many */
	size_t most_places;
	unsigned want;            /* workers that have something to do */
	size_t counter_count;     /* that each worker has; 0: the kernel does not count */
	uint64_t start_ns;        /* of a kernel that is profiled */
};

/* Whether blocks can be put in places. */
enum places { PLACES_NONE, PLACES_BUSY, PLACES_READY, PLACES_FAILED };

struct launcher {
	struct pool *pool;
	struct worker *workers;
	unsigned worker_count;
	struct resident resident;  /* places: of a cooperative launch, and of one whose blocks
	                              wait */
	uint32_t tid_extents[2];  /* that tid is filled in for, along x and y */
	uint32_t tid_count;
	uint32_t tid[3][LAUNCH_MAX_THREADS + RT_GROUP];
	struct seeded_schedule schedule;
	struct race *race;         /* of launches in which races are looked for; NULL until then */
	atomic_ullong grid_id;
	atomic_bool is_running;   /* the job means something */
	uint32_t grid_sync[4];    /* the workspace of grid.sync(), cleared for each launch */
	struct launch_job job;
};

/* A worker has met a hardware fault, or a block has ended badly: the launch fails, and its
 * launch_failure says which block and thread it was, unless it has failed already. */
void launch_fail_fault(struct launch_job *job, const struct worker *w);
void launch_fail_block(struct launch_job *job, const struct block *block, enum block_end end);

/* launch_stall.c: all blocks that have begun were stepped, and some wait.  The launch fails if none
 * of them can go on. */
void launch_check_stall(struct launch_job *job);

/* launch_profile.c: a launch begins; a worker of it is set up, false if there is no memory; a block
 * that the worker is to step counts in its table; the launch has ended. */
void launch_profile_begin(struct launch_job *job);
bool launch_profile_set_up(const struct launch_job *job, struct worker *w);
void launch_profile_bind(const struct launch_job *job, const struct worker *w,
	struct block *block);
void launch_profile_end(struct launch_job *job);
/* launch_cost.c: report what its accesses cost, if a check asks for it. */
void launch_cost_end(const struct launch_job *job);

#endif
