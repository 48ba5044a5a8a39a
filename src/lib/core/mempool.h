/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_MEMPOOL_H
#define LIB_CORE_MEMPOOL_H

/*
 * The pool: memory of a device, or pinned memory of the host, kept for reuse in stream order.
 *
 * The driver is asked for segments; blocks are cut from them, in units of 512 bytes, and neighbours
 * that are free become one block again.  What makes reuse safe is where a free block stands: on the
 * free list of the stream that used it last, or on the list `idle`, for which all work has passed.
 * The caller that gets a block also gets that stream as memory->last, and memory_use() puts other
 * streams after it.  So a free costs no event, and reuse in the same stream none either.
 *
 * A lock guards the pool, its lists and its segments.  It is held while the driver answers whether
 * a stream is done, never while it allocates, frees or waits.
 */
#include "lib/core/free_list.h"

#include <kudzu/pool.h>

#include <pthread.h>
#include <stdatomic.h>

enum { MEMPOOL_UNIT = 512, MEMPOOL_SMALL = 1 << 20, MEMPOOL_SEGMENT = 2 << 20 };

/* Two pools of a device; a stream has a free list for each. */
enum mempool_kind { MEMPOOL_DEVICE, MEMPOOL_PINNED, MEMPOOL_KINDS };

struct mempool {
	struct kz_device *device;
	enum mempool_kind kind;
	pthread_mutex_t lock;
	atomic_bool keeps;          /* free blocks stay; else each goes back at once */
	struct free_list idle;
	struct free_list *lists;
	struct segment *segments;
	struct free_block *spare;        /* unused descriptors, linked by `more` */
	int64_t limit;              /* of stats.reserved_size; 0: none */
	int64_t pending;            /* bytes that the driver is being asked for */
	atomic_size_t late;         /* segments that are so (free_list.h) */
	kz_memory_stats stats;
};

/* Why there was no memory; `call` is NULL for the pool's own limit. */
struct mempool_failure {
	CUresult code;
	const char *call;
};

void mempool_init(struct mempool *pool, struct kz_device *dev, enum mempool_kind kind, bool keeps);
/* Give all back; nothing is in use any more, and no stream is left. */
void mempool_finish(struct mempool *pool);

/* Find memory->size bytes; sets address, block and last.  `stream` is where they will be used
 * first, NULL if that is not known.  Fails with KZ_NO_MEMORY (of the host) or the loss of the
 * device.  If the driver has no memory, `why` has its answer, and `err` is left alone. */
kz_status mempool_take(struct mempool *pool, struct memory *memory, struct kz_stream *stream,
	struct mempool_failure *why, kz_error *err);
/* The same for memory that others gave, or none: it is only listed, and counted if it is `ours`. */
kz_status mempool_adopt(struct mempool *pool, struct memory *memory, bool ours, kz_error *err);
/* Adopted memory has another size, of which the driver has given `reserved` bytes. */
void mempool_resize(struct mempool *pool, struct memory *memory, int64_t size, int64_t reserved);
/* Undo either; memory->last is still counted. */
void mempool_give(struct mempool *pool, struct memory *memory);

/* Keep what is free from now on, or not. */
void mempool_switch(struct mempool *pool, bool keeps);
/* Give unused segments back until `keep` bytes are reserved; waits if they are in use yet. */
CUresult mempool_trim(struct mempool *pool, int64_t keep);
void mempool_read(struct mempool *pool, kz_memory_stats *out);
/* Say what is in use: up to `room` entries.  Returns how many there are. */
int64_t mempool_list(struct mempool *pool, kz_live_memory *out, int64_t room);

/* Free lists for a stream; false when host memory runs out. */
bool mempool_enlist(struct kz_stream *stream);
/* The stream ends: the memory on its lists goes to others.  The context is current, or `lost`. */
void mempool_retire(struct kz_stream *stream, bool lost);

/* Inline: what a program does all the time when it creates and releases. */

/* A block is in use from now on; under the lock. */
static inline void mempool_count(struct mempool *pool, struct free_block *block)
{
	kz_memory_stats *stats = &pool->stats;
	stats->live_size += (int64_t)(block->units * MEMPOOL_UNIT);
	stats->peak_size = stats->live_size > stats->peak_size ? stats->live_size
		: stats->peak_size;
	stats->live_count++;
	block->number = ++stats->total_count;
}

/* A block is no longer in use. */
static inline void mempool_discount(struct mempool *pool, struct free_block *block)
{
	pool->stats.live_size -= (int64_t)(block->units * MEMPOOL_UNIT);
	pool->stats.live_count--;
	block->number = 0;
}

/* Memory that was parked on this list, or on the idle one, as it was; NULL if there is none. */
static inline struct memory *mempool_reuse(struct mempool *pool, struct free_list *list,
	size_t units)
{
	pthread_mutex_lock(&pool->lock);
	struct free_block *block = free_list_take_parked(list, units);
	block = block ? block : free_list_take_parked(&pool->idle, units);
	if (block) {
		mempool_count(pool, block);
	}
	pthread_mutex_unlock(&pool->lock);
	return block ? block->memory : NULL;
}

/* Park memory that is no longer used; it may be in use again at once.  False if it cannot be
 * parked: then call mempool_give.  Pinned memory is reused when it is idle, so it is merged. */
static inline bool mempool_park(struct mempool *pool, struct free_list *list,
	struct free_block *block)
{
	if (!block->segment->is_kept || pool->kind == MEMPOOL_PINNED) {
		return false;
	}
	pthread_mutex_lock(&pool->lock);
	bool parked = pool->keeps && free_list_park(list, block);
	if (parked) {
		mempool_discount(pool, block);
	}
	pthread_mutex_unlock(&pool->lock);
	return parked;
}

#endif
