/* SPDX-License-Identifier: MIT */
#ifndef MEMPOOL_H
#define MEMPOOL_H

/*
 * The pool: memory of a device, or pinned memory of the host, kept for reuse in stream order.
 *
 * The driver is asked for segments; blocks are cut from them, in units of 512 bytes, and neighbours
 * that are free become one block again.  What makes reuse safe is where a free block lies: on the
 * shelf of the stream that used it last, or on the shelf `idle`, for which all work has passed.
 * Whoever gets a block also gets that stream as memory->last, and memory_use() puts other streams
 * behind it.  So a free costs no event, and reuse in the same stream none either.
 *
 * A lock guards the pool, its shelves and its segments.  It is held while the driver answers whether
 * a stream is done, never while it allocates, frees or waits.
 */
#include "bins.h"

#include <kudzu/pool.h>

#include <pthread.h>
#include <stdatomic.h>

enum { MEMPOOL_UNIT = 512, MEMPOOL_SMALL = 1 << 20, MEMPOOL_SEGMENT = 2 << 20 };

/* Two pools of a device; a stream has a shelf for each. */
enum mempool_kind { MEMPOOL_DEVICE, MEMPOOL_PINNED, MEMPOOL_KINDS };

struct shelf {
	struct kz_stream *stream;   /* NULL: all work on these blocks has passed */
	struct shelf *next;         /* in the pool's list of streams' shelves */
	struct bins bins[2];        /* of segments for small blocks, and for large ones */
	size_t count;
};

struct mempool {
	struct kz_device *device;
	enum mempool_kind kind;
	pthread_mutex_t lock;
	atomic_bool keeps;          /* free blocks stay; else each goes back at once */
	struct shelf idle;
	struct shelf *shelves;
	struct segment *segments;
	struct block *spare;        /* unused descriptors, linked by `more` */
	int64_t limit;              /* of stats.reserved_size; 0: none */
	int64_t pending;            /* bytes that the driver is being asked for */
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

/*
 * Find memory->size bytes; sets address, block and last.  `stream` is where they will be used first;
 * NULL if that is not known.  KZ_NO_MEMORY (of the host), the device's loss, or, with `why` set
 * and err as it was, what the driver answered.
 */
kz_status mempool_take(struct mempool *pool, struct memory *memory, struct kz_stream *stream,
	struct mempool_failure *why, kz_error *err);
/* The same for memory that others gave, or none; it is only listed, and counted if it is `ours`. */
kz_status mempool_adopt(struct mempool *pool, struct memory *memory, bool ours, kz_error *err);
/* Undo either; memory->last is still counted. */
void mempool_give(struct mempool *pool, struct memory *memory);

/* Give unused segments back until `keep` bytes are reserved; waits if they are in use yet. */
CUresult mempool_trim(struct mempool *pool, int64_t keep);
void mempool_read(struct mempool *pool, kz_memory_stats *out);
/* Say what is in use: up to `room` entries.  Returns how many there are. */
int64_t mempool_list(struct mempool *pool, kz_live_memory *out, int64_t room);

/* Shelves for a stream; false when host memory runs out. */
bool mempool_enlist(struct kz_stream *stream);
/* The stream goes: what lies on its shelves goes to others.  The context is current, or `lost`. */
void mempool_retire(struct kz_stream *stream, bool lost);

#endif
