/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEM_ADVICE_H
#define CPU_MEM_ADVICE_H

/*
 * Advice about managed memory, page by page.  Nothing depends on it.  An allocation has a sorted
 * list of parts without gaps.  device_memory.c keeps the list, and calls these functions with its
 * lock held.
 */
#include "base/common.h"

/* A location, as in CUmemLocation. */
struct memory_place {
	int type;              /* CUmemLocationType; 0: nowhere in particular */
	int id;                /* of the device, or of the host's NUMA node */
};

struct memory_advice {
	bool read_mostly;
	uint32_t accessed_by;  /* a set of devices */
	bool accessed_by_host;
	struct memory_place preferred;
	struct memory_place prefetched;
};

/* The advice that changes, and its new value. */
struct advice_change {
	enum { ADVICE_READ_MOSTLY, ADVICE_BY_DEVICE, ADVICE_BY_HOST, ADVICE_PREFERRED,
		ADVICE_PREFETCHED } what;
	bool on;
	struct memory_place place;
};

struct advice_part {
	struct advice_part *next;
	uint64_t start;        /* it ends where the next one starts */
	struct memory_advice advice;
};

/* Change the advice about the pages that hold [start, end).  False when memory runs out. */
bool advice_change(struct advice_part **list, uint64_t start, uint64_t end,
	const struct advice_change *change);
/* Get the advice that all pages of [start, end) have in common. */
struct memory_advice advice_of(const struct advice_part *list, uint64_t start, uint64_t end);
void advice_free(struct advice_part *list); /* NULL is fine */

#endif
