/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEM_GAP_H
#define CPU_MEM_GAP_H

/*
 * Gaps: addresses without access below and above an area that kernels address.  A wild index of a
 * kernel ends in a gap, and not in the program's memory.  Gaps are reserved and never touched, so
 * they take no memory and no page tables.  Any thread may call.
 */
#include "base/common.h"

/* How far an index of 32 bits leads, signed or not, in elements of 4 bytes, and of 16. */
#define GAP_WIDE ((size_t)16 << 30)
#define GAP_WIDEST ((size_t)64 << 30)
/* What is always there. */
#define GAP_LEAST ((size_t)1 << 16)

/* An area between two gaps. */
struct gap_area {
	uint8_t *data;  /* NULL: there is none */
	size_t size;    /* whole pages */
	size_t gap;     /* bytes on either side */
};

/* Reserve an area without access.  Its gaps have `wish` bytes each, or less, but at least
 * GAP_LEAST, where addresses are scarce.  False, with an area that is all zero, if there is no
 * room. */
bool gap_reserve(struct gap_area *out, size_t size, size_t wish);
/* The same, with access to the area. */
bool gap_alloc(struct gap_area *out, size_t size, size_t wish);
void gap_release(struct gap_area *area); /* all zero is fine */

/* Whether an address lies in an area or in its gaps. */
static inline bool gap_covers(const struct gap_area *area, uint64_t address)
{
	return address - ((uintptr_t)area->data - area->gap) < area->size + 2 * area->gap;
}

/* A size in whole pages. */
size_t gap_to_pages(size_t size);
/* The gaps that the next area gets. */
size_t gap_next(size_t wish);

#endif
