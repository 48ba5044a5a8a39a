/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_SEGMENT_H
#define LIB_CORE_SEGMENT_H

/*
 * Segments: what the pools ask the driver for, and give back.
 *
 * A pool cuts a segment into blocks.  A segment without a source is memory that the pool only
 * lists.
 */
#include "lib/core/device.h"

/* How the driver is asked.  The context is current.  What goes back is idle, or goes after the
 * work in `last`. */
struct segment_source {
	const char *call;
	CUresult (*reserve)(const struct kz_device *dev, CUdeviceptr *address, size_t size);
	void (*give_back)(struct kz_device *dev, CUdeviceptr address, struct kz_stream *last);
	bool is_ordered; /* the memory exists for what comes later in the default stream */
};

/* Blocks over MEMPOOL_SMALL have segments of their own. */
static inline bool segment_is_large(size_t units)
{
	return units > MEMPOOL_SMALL / MEMPOOL_UNIT;
}

/* Where a pool's next segment comes from. */
const struct segment_source *segment_source(const struct mempool *pool);

/* A segment that has no memory yet, in use as a whole; NULL when host memory runs out. */
struct segment *segment_create(const struct segment_source *source, size_t units, bool is_kept);
/* Put it on the pool's list, take it off, and count what it reserves; under the lock. */
void segment_link(struct mempool *pool, struct segment *segment);
void segment_unlink(struct mempool *pool, struct segment *segment);
/* Claim bytes that the driver is going to be asked for; false: beyond the limit.  Negative: give
 * the claim back, now that they are counted or were refused. */
bool segment_allow(struct mempool *pool, int64_t size);
/* Ask the driver for `size` bytes, whole units unless the segment is not kept, and link it.
 * Without the lock. */
CUresult segment_reserve(struct mempool *pool, struct segment *segment, size_t size,
	struct mempool_failure *why);
/* Give a list of segments back that the pool has no more; the context is current if `living`. */
void segment_give_back(struct mempool *pool, struct segment *segment, bool living);

/* Pin memory of the program's, and let it go. */
CUresult segment_pin(const struct kz_device *dev, void *memory, size_t size);
void segment_unpin(struct kz_device *dev, void *memory);

#endif
