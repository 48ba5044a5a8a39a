/* SPDX-License-Identifier: MIT */
#ifndef CPU_BLOCK_H
#define CPU_BLOCK_H

/* Run one block: resume its warps, one after another, until all have exited. */
#include "rt.h"

#include <stdatomic.h>

#define BLOCK_MAX_THREADS 1024
#define BLOCK_GROUP 32 /* threads of a CUDA warp, whatever the width of ours */

enum slot_state { SLOT_READY, SLOT_BARRIER, SLOT_WARP, SLOT_DONE };

/* A place for a warp.  The caller sets up all of `warp` but ctaid, and frame and weight. */
struct slot {
	struct rt_warp warp;
	uint8_t *frame;
	uint32_t weight;  /* threads that it counts for at a barrier; the last one counts for those
	                   * that are missing to a whole CUDA warp, too */
	uint32_t resume;
	enum slot_state state;
};

struct block {
	rt_kernel *run;
	struct slot *slots;
	uint32_t slot_count;
	uint32_t width;
	uint32_t threads;
	const atomic_uint *stop;   /* not 0: give up */
	struct slot *current;      /* the warp that runs, or has failed */
};

enum block_end {
	BLOCK_DONE,
	BLOCK_TRAPPED,
	BLOCK_DEADLOCKED,
	BLOCK_BAD_BARRIER, /* there is none of that number */
	BLOCK_STOPPED
};

enum block_end block_run(struct block *block, const uint32_t ctaid[3]);

#endif
