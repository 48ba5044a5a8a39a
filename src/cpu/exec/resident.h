/* SPDX-License-Identifier: MIT */
#ifndef CPU_EXEC_RESIDENT_H
#define CPU_EXEC_RESIDENT_H

/*
 * Blocks that are resident at once, each in a place of its own: all blocks of a cooperative launch,
 * and some of a launch whose blocks wait for others.  There may be very many.  So all places lie in
 * one mapping, with the warps and their frames; the local memory of all blocks is another one.  The
 * shared memory of each block has a window with gaps of its own; blocks that have none share one
 * window.
 */
#include "cpu/exec/block_frame.h"

struct resident_place {
	struct block_frame frame; /* its memory belongs to the struct resident */
	atomic_uint state;        /* enum place_state */
};

/* Empty; with a block that waits to be stepped; with one that a worker steps. */
enum place_state { PLACE_EMPTY, PLACE_FREE, PLACE_TAKEN };

/* Starts from all zero. */
struct resident {
	struct block_frame_layout layout; /* of each block */
	size_t shared_size;
	size_t count;                     /* of places; 0: none */
	size_t place_stride;
	struct gap_area places;
	struct gap_area locals;
	struct gap_area windows;          /* for shared memory */
	size_t window_stride;
};

/* The memory that so many blocks take; SIZE_MAX: more than there can be. */
size_t resident_size(const struct block_frame_layout *layout, size_t shared_size, uint64_t count);
/* Get the memory of at least so many places; false when memory runs out.  Their blocks are set up
 * for the launch, on multiprocessors in turn.  Does nothing if all is as it was the last time. */
bool resident_set_up(struct resident *resident, const struct block_frame_layout *layout,
	size_t shared_size, uint64_t count, const struct rt_launch *launch);
void resident_free(struct resident *resident);

static inline struct resident_place *resident_place(const struct resident *resident, size_t index)
{
	return (struct resident_place *)(resident->places.data + index * resident->place_stride);
}

#endif
