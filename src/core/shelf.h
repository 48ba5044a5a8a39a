/* SPDX-License-Identifier: MIT */
#ifndef CORE_SHELF_H
#define CORE_SHELF_H

/*
 * Free memory that one stream used last: blocks by size, and parked memory.
 *
 * Parked is what was in use a moment ago and will be soon, with its struct memory, in lists by size;
 * it counts as in use for its segment, and is not merged with its neighbours.  All functions are
 * called under the lock of the pool.  `spare` is a list of block descriptors that nobody uses.
 */
#include "core/bins.h"

enum { SHELF_LISTS = 64, SHELF_DEPTH = 4, SHELF_PARKED_MAX = 1024 };

/* What the driver gave in one piece; or other memory, without a source. */
struct segment {
	struct segment *next;
	struct segment *previous;
	const struct source *source;
	int64_t size;       /* in whole units */
	size_t live;        /* its blocks that are in use or parked */
	bool is_kept;       /* when nothing is in use any more */
	bool is_large;
	bool is_counted;
	struct block first; /* the one at the lowest address; never merged into another */
};

struct shelf {
	struct kz_stream *stream;   /* NULL: all work on these blocks has passed */
	struct shelf *next;         /* in the pool's list of streams' shelves */
	struct block *parked[SHELF_LISTS]; /* linked by `more` */
	size_t parked_count;
	struct bins bins[2];        /* of segments for small blocks, and for large ones */
	size_t count;               /* of blocks in bins */
};

void shelf_remove(struct block *block);
/* Put a block on a shelf, and its neighbours that are there together with it. */
void shelf_merge(struct shelf *shelf, struct block *block, struct block **spare);
void shelf_empty(struct shelf *from, struct shelf *to, struct block **spare);
/* Make a block that is on no shelf smaller; the rest goes on the shelf, and is described by a spare
 * one, which must be there. */
void shelf_cut(struct shelf *shelf, struct block *block, size_t units, struct block **spare);

/* All that is parked becomes blocks; the memory that it was is freed. */
void shelf_unpark(struct shelf *shelf, struct block **spare);

static inline struct block **shelf_list(struct shelf *shelf, size_t units)
{
	return &shelf->parked[(units ^ units >> 6 ^ units >> 12) % SHELF_LISTS];
}

/* Park a block; false if enough is parked. */
static inline bool shelf_park(struct shelf *shelf, struct block *block)
{
	struct block **list = shelf_list(shelf, block->units);
	if (unlikely(shelf->parked_count == SHELF_PARKED_MAX)) {
		return false;
	}
	block->more = *list;
	*list = block;
	shelf->parked_count++;
	return true;
}

/* A block of just so many units, parked no longer; NULL if there is none near. */
static inline struct block *shelf_find_parked(struct shelf *shelf, size_t units)
{
	struct block **link = shelf_list(shelf, units);
	for (int i = 0; *link && i < SHELF_DEPTH; i++, link = &(*link)->more) {
		struct block *block = *link;
		if (block->units == units) {
			*link = block->more;
			shelf->parked_count--;
			return block;
		}
	}
	return NULL;
}

#endif
