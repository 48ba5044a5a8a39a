/* SPDX-License-Identifier: MIT */
#ifndef CPU_EXEC_SEEDED_SCHEDULE_H
#define CPU_EXEC_SEEDED_SCHEDULE_H

/*
 * A schedule: which thread of which block runs next, by a seed (KUDZU_CPU_SCHEDULE).  The code runs
 * one thread, and returns at every barrier, atomic operation and access to memory that others may
 * access, so any thread may be the next to run.
 *
 * Each launch draws how often a thread that could go on has to let another one run, and how often a
 * block has to.  If a thread always has to, updates that are lost between two accesses show.  If it
 * never has to, the threads run to their next barrier in a random order, which shows a missing
 * barrier, and the blocks run to their ends, which shows a block that reads what another one
 * writes.  (Burckhardt and others, A Randomized Scheduler with Probabilistic Guarantees of Finding
 * Bugs, ASPLOS 2010, say why so few switches find so much.)
 */
#include "cpu/exec/block.h"

struct resident_place;

struct seeded_schedule {
	uint64_t seed;         /* 0: there is no schedule */
	uint64_t random;       /* the state of the generator */
	uint32_t thread_odds;  /* of 32: that another thread of the block runs next, */
	uint32_t block_odds;   /* and, if one does, a thread of another block */
	uint64_t blocks;       /* of the grid: */
	uint64_t begun;        /* so many, in the order first, first + stride, ... */
	uint64_t first;
	uint64_t stride;
	struct resident_place *place; /* of the block that runs, or NULL */
	uint32_t thread;       /* of it that does; UINT32_MAX: none */
	uint64_t idle;         /* steps that only waited, since a block has begun or ended */
};

/* For a grid of so many blocks, the launcher's n-th.  `in_order`: blocks begin in their order. */
void seeded_begin(struct seeded_schedule *schedule, uint64_t n, uint64_t blocks, bool in_order);
/* The next block to begin. */
uint64_t seeded_take_block(struct seeded_schedule *schedule);
/* A number below `count`, which is not 0. */
uint64_t seeded_choose(struct seeded_schedule *schedule, uint64_t count);
/* Whether the thread, or the block, that runs shall make place for another one. */
bool seeded_leaves_thread(struct seeded_schedule *schedule);
bool seeded_leaves_block(struct seeded_schedule *schedule);
/* Let a thread of a block run, up to where it comes back: the same one as the last time unless
 * something else is due. */
enum block_end seeded_step(struct seeded_schedule *schedule, struct block *block);

#endif
