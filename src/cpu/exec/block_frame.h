/* SPDX-License-Identifier: MIT */
#ifndef CPU_EXEC_BLOCK_FRAME_H
#define CPU_EXEC_BLOCK_FRAME_H

/*
 * A block frame: the memory of one block.  Its shared memory has 4 GiB without access on either
 * side, so that no 32-bit address with a displacement reaches anything else.  Two areas, for the
 * frames and for the local memory of its warps, lie between guards without access.  A block frame
 * serves one block after another, and grows as needed.
 */
#include "cpu/exec/block.h"

/* Of a signed 32-bit address and a displacement. */
#define BLOCK_FRAME_SHARED_REACH ((int64_t)1 << 32)

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

/* Memory between guards. */
struct block_frame_area {
	uint8_t *data;
	size_t size;
};

struct block_frame {
	struct block block;
	uint32_t slot_cap;
	uint8_t *shared;           /* with BLOCK_FRAME_SHARED_REACH reserved before and behind it */
	size_t shared_size;        /* bytes that can be accessed */
	struct block_frame_area frames;
	struct block_frame_area local;
	struct rt_fail fail;
	/* What the slots are set up for; width 0: nothing. */
	struct block_frame_layout layout;
	size_t asked_shared;
	const struct rt_launch *launch;
	uint32_t sm;
};

/* False: no such block can be had, sizes overflow.  Starts from a layout that is all zero, and does
 * nothing if all is as it was the last time. */
bool block_frame_plan(struct block_frame_layout *out, uint32_t width, uint32_t threads,
	size_t frame_size, size_t local_size);
/* Get the memory and set up the warps, for a launch on worker `sm`; false when there is none.
 * Starts from a frame that is all zero, and does nothing if all is as it was the last time. */
bool block_frame_set_up(struct block_frame *frame, const struct block_frame_layout *layout,
	size_t shared_size, const struct rt_launch *launch, uint32_t sm);
void block_frame_free(struct block_frame *frame);

#endif
