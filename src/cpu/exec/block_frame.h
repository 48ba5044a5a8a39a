/* SPDX-License-Identifier: MIT */
#ifndef CPU_EXEC_BLOCK_FRAME_H
#define CPU_EXEC_BLOCK_FRAME_H

/*
 * A block frame: the memory of one block.  Three areas between gaps are its shared memory, and the
 * frames and the local memory of its warps.  A 32-bit address of shared memory with a displacement
 * leads no further than its gaps, if they are wide.  A block frame serves one block after another,
 * and grows as needed.
 */
#include "cpu/exec/block.h"
#include "cpu/mem/gap.h"

/* What decides where a warp's memory lies. */
struct block_frame_layout {
	uint32_t width;      /* 0: nothing is planned */
	uint32_t threads;
	size_t frame_size;   /* of a warp, and of a thread, as they were asked for */
	size_t local_size;
	size_t frame_stride;
	size_t local_stride;
	size_t frames_size;  /* of all warps */
	size_t locals_size;  /* of all threads */
};

struct block_frame {
	struct block block;
	uint32_t slot_cap;
	uint32_t exchange_cap;
	struct gap_area shared;    /* RT_SHARED_WINDOW */
	size_t shared_size;        /* bytes of it that can be accessed */
	struct gap_area frames;
	struct gap_area local;     /* none for kernels without local memory */
	struct rt_fail fail;
	struct race_block race;
	struct rt_range ranges[RT_RANGES + 1]; /* for kernels that ask */
	/* What the slots are set up for; width 0: nothing. */
	struct block_frame_layout layout;
	size_t asked_shared;
	const struct rt_launch *launch;
	uint32_t sm;
};

/* False: sizes overflow, so that no block of this kind can be had.  Starts from a layout that is
 * all zero, and does nothing if all is as it was the last time. */
bool block_frame_plan(struct block_frame_layout *out, uint32_t width, uint32_t threads,
	size_t frame_size, size_t local_size);
/* Get the memory and set up the warps, for a launch on worker `sm`; false when memory runs out.
 * Starts from a frame that is all zero, and does nothing if all is as it was the last time. */
bool block_frame_set_up(struct block_frame *frame, const struct block_frame_layout *layout,
	size_t shared_size, const struct rt_launch *launch, uint32_t sm);
/* What was of the last launch goes. */
void block_frame_begin(struct block_frame *frame, const struct rt_launch *launch);
/* The last step of block_frame_set_up: set up the warps of a frame that has its memory. */
void block_frame_bind(struct block_frame *frame, const struct block_frame_layout *layout,
	size_t shared_size, const struct rt_launch *launch, uint32_t sm);
void block_frame_free(struct block_frame *frame);

/* Warps of the compiled code, and of CUDA. */
uint32_t block_frame_warps(const struct block_frame_layout *layout);
uint32_t block_frame_groups(const struct block_frame_layout *layout);
/* Whether two layouts, which have the same sizes then, too, put everything at the same places. */
bool block_frame_is_same(const struct block_frame_layout *a, const struct block_frame_layout *b);

#endif
