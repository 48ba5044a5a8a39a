/* SPDX-License-Identifier: MIT */
#ifndef CPU_EXEC_BLOCK_H
#define CPU_EXEC_BLOCK_H

/* Run one block: resume its warps, one after another, until all threads have exited. */
#include "cpu/check/race.h"
#include "cpu/runtime/rt.h"

#include <stdatomic.h>

#define BLOCK_MAX_THREADS 1024
#define BLOCK_MAX_GROUPS (BLOCK_MAX_THREADS / RT_GROUP)
#define BLOCK_BARRIERS 16

struct barrier {
	uint32_t arrived;  /* threads, counting missing ones of the last CUDA warp */
	uint32_t expected;
	uint32_t line;     /* of PTX, where the first thread has come to it, */
	uint32_t thread;   /* and that thread */
	bool is_whole;     /* for all threads of the block that have not exited */
	uint32_t all;
	uint32_t any;
	uint32_t count;    /* of true predicates */
};

/* Which threads may run, and where the others wait.  A bit per thread, a word per CUDA warp
 * (group). */
struct scheduler {
	uint32_t ready[BLOCK_MAX_GROUPS];
	uint32_t gone[BLOCK_MAX_GROUPS];
	uint32_t waits[BLOCK_BARRIERS][BLOCK_MAX_GROUPS];
	uint32_t arrived[BLOCK_BARRIERS][BLOCK_MAX_GROUPS]; /* and wait, or do not */
	uint32_t red[BLOCK_MAX_THREADS];         /* enum rt_barrier_red of each that waits */
	struct barrier barriers[BLOCK_BARRIERS];
	uint32_t live;                           /* threads */
	uint32_t gone_count;                     /* counted as barriers do */
	uint32_t missed;                         /* that a barrier was reported to miss */
};

struct block {
	rt_kernel *run;
	struct slot *slots;
	uint32_t slot_count;
	uint32_t width;
	uint32_t threads;
	struct rt_exchange *exchanges;   /* one per group */
	const atomic_uint *stop;         /* not 0: give up */
	struct slot *current;            /* the warp that runs, or has failed */
	uint32_t ctaid[3];
	uint32_t most;                   /* blocks in a row, from this one on, that may run */
	struct race_block *race;         /* if races are looked for; else NULL */
	bool has_begun;                  /* its warps have */
	bool is_mixed;                   /* the scheduler runs it, thread by thread */
	struct scheduler scheduler;
};

enum block_end {
	BLOCK_DONE,
	BLOCK_SPINS,       /* it waits for another block or the host, or may: step again */
	BLOCK_MOVES,       /* of block_step_thread: it does not wait; step again */
	BLOCK_TRAPPED,
	BLOCK_DEADLOCKED,
	BLOCK_BAD_BARRIER, /* the barrier has no valid number */
	BLOCK_STOPPED
};

/* A kernel that never yields may run the blocks after it, too, `most` in all, as if they were one
 * block. */
void block_start(struct block *block, const uint32_t ctaid[3], uint32_t most);
enum block_end block_step(struct block *block);

/* Or thread by thread, in an order that the caller chooses (seeded_schedule.h).  The code is for
 * one lane per call. */
void block_start_threads(struct block *block, const uint32_t ctaid[3]);
/* How many threads may go on, which is the n-th of them, and whether a thread may. */
uint32_t block_ready_count(const struct block *block);
uint32_t block_ready_thread(const struct block *block, uint32_t n);
bool block_is_ready(const struct block *block, uint32_t thread);
/* Resume a thread that may go on, to where it comes back. */
enum block_end block_step_thread(struct block *block, uint32_t thread);
/* Let threads go on that wait for as many others of their warp as come: in the warp of a thread;
 * false: none do.  In any warp, when no thread may go on: else it is a deadlock. */
bool block_release_open(struct block *block, uint32_t thread);
enum block_end block_release_any(struct block *block);

/* Of a block that is done, how many it was. */
static inline uint32_t block_count(const struct block *block)
{
	return block->slots[0].warp.ctaid[0] - block->ctaid[0] + 1;
}

/* Make a warp the current one that has threads which may go on, but wait in a loop; false: there
 * is not one. */
bool block_find_waiting(struct block *block);
/* Those threads of the current warp, as lanes. */
uint32_t block_waiting_lanes(const struct block *block);
/* What the current warp of a deadlocked block does, for messages: "waits at a barrier for ...". */
const char *block_waits_at(const struct block *block);

#endif
