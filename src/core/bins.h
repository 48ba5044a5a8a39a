/* SPDX-License-Identifier: MIT */
#ifndef CORE_BINS_H
#define CORE_BINS_H

/*
 * Free blocks of memory by size: the smallest that is large enough is found at once.
 *
 * A bin holds the blocks of nearly one size, eight bins to each power of two, smallest block first
 * and lowest address first among equals.  One bit for each bin says whether there is anything in it.
 * Zero-initialized is empty; the caller owns the blocks, and locks.
 */
#include "drv/cuda_abi.h"

#include "base/common.h"

struct segment;
struct shelf;
struct memory;

/* A piece of a segment.  Sizes are in units of 512 bytes. */
struct block {
	struct block *before;       /* its neighbours in the segment, by address */
	struct block *behind;
	struct block *less;         /* its neighbours in the bin, while it is free */
	struct block *more;
	struct segment *segment;
	struct shelf *shelf;        /* what it lies on while it is free */
	struct memory *memory;      /* what it belongs to while it is in use, or parked */
	CUdeviceptr address;
	size_t units;
	int64_t number;             /* of the memory it is used for now; 0: not in use */
};

enum { BINS_COUNT = 296, BINS_WORDS = 5 };
#define BINS_UNITS_MAX (((size_t)1 << 39) - 1)

struct bins {
	struct block *first[BINS_COUNT];
	uint64_t filled[BINS_WORDS];
};

void bins_put(struct bins *bins, struct block *block);
void bins_remove(struct bins *bins, struct block *block);
/* The smallest block of at least so many units, 1 to BINS_UNITS_MAX; NULL if there is none. */
struct block *bins_find(const struct bins *bins, size_t units);

#endif
