/* SPDX-License-Identifier: MIT */
#ifndef CPU_CHECK_RACE_H
#define CPU_CHECK_RACE_H

/*
 * Races: two accesses of one launch to the same bytes, one of them a write, that nothing orders.
 *
 * What orders them is happens-before, and not the order in which they ran (FastTrack: Flanagan and
 * Freund, PLDI 2009; scopes as in ScoRD: Kamath and others, ISCA 2020).  A launch that is watched
 * runs on one worker, so there is one clock.  It ticks at each event that orders threads.  A mark
 * says who accessed four bytes last, and when.  All threads of a block know what its threads did
 * before their last common barrier, and those of a warp what they did before they last met, so two
 * times answer nearly all questions.  Knowledge of another kind (race_order.c) comes from barriers
 * of some threads, and from what one thread releases and another one acquires.
 *
 * A release is an atomic operation, or a volatile or relaxed store, after a fence, or one of those
 * with .release.  Any such access to the same address that comes later acquires it, if the scope of
 * both reaches the other thread.  It needs no fence after it, except after a compare-and-swap, by
 * which locks are taken.  A collective of a warp orders its members, but activemask does not.
 */
#include "cpu/check/check_kernel.h"

/* Who an access is by: one thread, some of a warp, some of several warps, or of several blocks. */
enum race_level { RACE_THREAD, RACE_WARP, RACE_BLOCK, RACE_GRID };

/* The last access to four bytes; of several threads that nothing orders, the last one of all. */
struct race_mark {
	uint32_t launch : 23;  /* another launch's: no mark */
	uint32_t bytes : 4;    /* a bit for each */
	uint32_t is_strong : 1; /* two such do not race, */
	uint32_t is_cta : 1;   /* within the scope of both; */
	uint32_t is_volatile : 1; /* but for two writes, of which one is volatile */
	uint32_t is_atomic : 1;
	uint32_t is_async : 1; /* of an asynchronous copy */
	uint32_t time;
	uint32_t block;
	uint32_t line : 20;    /* of PTX */
	uint32_t thread : 10;
	uint32_t level : 2;
	uint32_t members;      /* RACE_WARP: its lanes, RACE_BLOCK: its warps, a bit for each */
};

struct race_cell {
	struct race_mark write;
	struct race_mark read;
};

struct race_know;

struct race_thread {
	uint32_t fence[2];       /* when it last had one, of any scope, and beyond its block */
	bool lock_is_cta;        /* and the scope of */
	uint64_t lock;           /* the last compare-and-swap, which a fence makes an acquire */
	struct race_know *know;  /* what it knows besides, or NULL */
	uint32_t copies;         /* asynchronous ones that began by then are done */
	uint32_t groups[8];      /* when the last groups of them ended, the last one first */
};

/* Of a block while it runs; belongs to its frame. */
struct race_block {
	struct race *race;
	uint32_t number;
	uint32_t threads;
	uint32_t met;                /* when all its threads last met, */
	uint32_t warp_met[32];       /* and those of each warp */
	struct race_know *know;      /* what all of them know besides, or NULL */
	struct race_thread *of;      /* by thread */
	size_t of_count;
	bool has_threads;            /* some of those are not as they began */
	struct race_cell *cells;     /* of shared memory, by four bytes */
	size_t cell_count;
};

/* Some threads of a block: a bit for each, 32 in each word, from a warp on. */
struct race_set {
	uint32_t warp;
	uint32_t words;
	const uint32_t *threads;
};

/* --- For launches --- */

struct race *race_create(void); /* NULL: no memory */
void race_release(struct race *race); /* NULL is fine */
void race_begin(struct race *race, const struct rt_launch *launch);
/* Get memory for the blocks of a frame, for the launch that has begun; false: no memory. */
bool race_prepare_block(struct race_block *block, struct race *race, size_t shared_size);
void race_begin_block(struct race_block *block, const uint32_t ctaid[3]);
void race_free_block(struct race_block *block);
/* All threads of a block that have not exited have met; or some have. */
void race_meet_all(struct race_block *block);
void race_meet(struct race_block *block, const struct race_set *set);
/* What rt_host.watch and rt_host.meet are. */
void race_watch(struct rt_warp *warp, uint32_t access);
void race_collect(struct rt_warp *warp, uint32_t what, uint32_t set);

/* Whether no memory has changed since the last call, nor may others have changed what was read; the
 * first call begins to note that. */
bool race_is_still(struct race *race);

/* --- race_order.c --- */

struct race_order;
struct race_order *race_order_create(void);
void race_order_release(struct race_order *order);
void race_order_begin(struct race_order *order);
/* What some threads know when they have met; NULL: nothing besides. */
struct race_know *race_know_join(struct race_order *order, const struct race_block *block,
	const struct race_set *set, uint32_t now);
/* What all threads of a block know when they have met, besides each other. */
struct race_know *race_know_join_all(struct race_order *order, const struct race_block *block);
/* A thread releases what it knows, its own accesses up to a time among it, to an address. */
void race_publish(struct race_order *order, const struct race_block *block, uint32_t thread,
	uint64_t address, uint32_t time, bool is_cta);
/* It acquires what was released there. */
void race_acquire(struct race_order *order, struct race_block *block, uint32_t thread,
	uint64_t address, bool is_cta);
/* Whether a thread knows of an access by what was released or by barriers of some threads. */
bool race_knows(struct race_order *order, struct race_block *block, uint32_t thread,
	const struct race_mark *mark, uint32_t begun);

#endif
