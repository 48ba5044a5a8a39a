/* SPDX-License-Identifier: MIT */
#ifndef CPU_EXEC_ROOM_H
#define CPU_EXEC_ROOM_H

/*
 * Memory for one block: shared memory, with 4 GiB without access on either side, so that no 32-bit
 * address and displacement reach anything else; and two areas, for the frames and for the local
 * memory of its warps, between guards without access.  A room is used for one block after another,
 * and grows as needed.
 */
#include "cpu/exec/block.h"

#define ROOM_SHARED_REACH ((int64_t)1 << 32) /* of a signed 32-bit address and a displacement */

/* What decides where a warp's memory lies. */
struct room_layout {
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
struct room_area {
	uint8_t *data;
	size_t size;
};

struct room {
	struct block block;
	uint32_t slot_cap;
	uint8_t *shared;           /* with ROOM_SHARED_REACH reserved before and behind it */
	size_t shared_size;        /* bytes that can be accessed */
	struct room_area frames;
	struct room_area local;
	struct rt_fail fail;
	/* What the slots are set up for; width 0: nothing. */
	struct room_layout layout;
	size_t asked_shared;
	const struct rt_launch *launch;
	uint32_t sm;
};

/* False: no such block can be had, sizes overflow.  Starts from a layout that is all zero, and does
 * nothing if all is as it was the last time. */
bool room_plan(struct room_layout *out, uint32_t width, uint32_t threads, size_t frame_size,
	size_t local_size);
/* Get the memory and set up the warps, for a launch on worker `sm`; false when there is none.  Starts
 * from a room that is all zero, and does nothing if all is as it was the last time. */
bool room_set_up(struct room *room, const struct room_layout *layout, size_t shared_size,
	const struct rt_launch *launch, uint32_t sm);
void room_free(struct room *room);

#endif
