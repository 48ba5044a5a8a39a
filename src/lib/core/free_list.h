/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_FREE_LIST_H
#define LIB_CORE_FREE_LIST_H

/*
 * A free list: the free memory that one stream used last.
 *
 * Free blocks stand in size classes, eight for each power of two, smallest block first and lowest
 * address first among equals.  One bit for each class says whether it has any, so the smallest
 * block that is large enough is found at once.
 *
 * Memory that was in use a moment ago, and will be soon, is parked: it keeps its struct memory,
 * stands in lists by exact size, counts as in use for its segment, and is not merged with its
 * neighbours.
 *
 * All functions are called under the lock of the pool.  A zero-initialized list is empty.  `spare`
 * is a list of block descriptors that nobody uses.
 */
#include "base/cuda_abi.h"

#include "base/common.h"

struct segment;
struct free_list;
struct memory;
struct kz_stream;

/* A piece of a segment.  Sizes are in units of 512 bytes. */
struct free_block {
	struct free_block *before;       /* its neighbours in the segment, by address */
	struct free_block *behind;
	struct free_block *less;         /* its neighbours in the size class, while it is free */
	struct free_block *more;
	struct segment *segment;
	struct free_list *list;     /* where it stands while it is free */
	struct memory *memory;      /* what it belongs to while it is in use, or parked */
	CUdeviceptr address;
	size_t units;
	int64_t number;             /* of the memory it is used for now; 0: not in use */
};

/* Memory that the driver gave in one piece; or other memory, without a source. */
struct segment {
	struct segment *next;
	struct segment *previous;
	const struct segment_source *source;
	int64_t size;       /* in whole units */
	size_t live;        /* its blocks that are in use or parked */
	bool is_kept;       /* when nothing is in use any more */
	bool is_large;
	bool is_counted;
	bool is_late;       /* goes back when all streams are done */
	struct free_block first; /* the one at the lowest address; never merged into another */
};

enum { SIZE_CLASSES = 296, SIZE_CLASS_WORDS = 5 };
/* No larger block can be on a list. */
#define FREE_LIST_UNITS_MAX (((size_t)1 << 39) - 1)

struct size_classes {
	struct free_block *first[SIZE_CLASSES];
	uint64_t filled[SIZE_CLASS_WORDS];
};

enum { PARKED_LISTS = 64, PARKED_DEPTH = 4, PARKED_MAX = 1024 };

struct free_list {
	struct kz_stream *stream;   /* NULL: all work on these blocks has passed */
	struct free_list *next;     /* in the pool's list of streams' lists */
	struct free_block *parked[PARKED_LISTS]; /* linked by `more` */
	size_t parked_count;
	struct size_classes classes[2]; /* of segments for small blocks, and for large ones */
	size_t count;               /* of blocks in classes */
};

/* The smallest block of at least so many units, 1 to FREE_LIST_UNITS_MAX; NULL if there is none. */
struct free_block *free_list_find(const struct free_list *list, bool is_large, size_t units);
void free_list_remove(struct free_block *block);
/* Put a block on a list, and its neighbours that are there together with it. */
void free_list_merge(struct free_list *list, struct free_block *block, struct free_block **spare);
/* Move all blocks to another list. */
void free_list_move(struct free_list *from, struct free_list *to, struct free_block **spare);
/* Make a block that is on no list smaller; the rest goes on the list, and is described by a spare
 * one, which must be there. */
void free_list_cut(struct free_list *list, struct free_block *block, size_t units,
	struct free_block **spare);

/* All that is parked becomes blocks; the memory that it was is freed. */
void free_list_unpark(struct free_list *list, struct free_block **spare);

static inline struct free_block **free_list_parked(struct free_list *list, size_t units)
{
	return &list->parked[(units ^ units >> 6 ^ units >> 12) % PARKED_LISTS];
}

/* Park a block; false if enough is parked. */
static inline bool free_list_park(struct free_list *list, struct free_block *block)
{
	struct free_block **first = free_list_parked(list, block->units);
	if (unlikely(list->parked_count == PARKED_MAX)) {
		return false;
	}
	block->more = *first;
	*first = block;
	list->parked_count++;
	return true;
}

/* A block of just so many units, parked no longer; NULL if there is none near. */
static inline struct free_block *free_list_take_parked(struct free_list *list, size_t units)
{
	struct free_block **link = free_list_parked(list, units);
	for (int i = 0; *link && i < PARKED_DEPTH; i++, link = &(*link)->more) {
		struct free_block *block = *link;
		if (block->units == units) {
			*link = block->more;
			list->parked_count--;
			return block;
		}
	}
	return NULL;
}

#endif
