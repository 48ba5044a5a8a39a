/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEM_MEMORY_MAP_H
#define CPU_MEM_MEMORY_MAP_H

/*
 * The mappings in one reserved range of addresses: parts of files, as a list sorted by address.
 * device_memory.c keeps the reserved ranges, and calls these functions with its lock held.
 */
#include "cpu/mem/device_memory.h"

struct mapping {
	struct memory_range range;
	struct mapping *next;
};

/* The mapping that holds an address, or NULL. */
struct mapping *mapping_at(struct mapping *list, uint64_t address);
bool mapping_overlaps(const struct mapping *list, uint64_t address, size_t size);
/* Whether a range is one of whole, adjacent mappings. */
bool mapping_are_whole(const struct mapping *list, uint64_t address, size_t size);
/* Whether the device may read, or write, all of a range. */
bool mapping_allows(const struct mapping *list, uint64_t address, size_t size, bool for_writing);

/* Map at a free range, without access.  False when memory runs out. */
bool mapping_add(struct mapping **list, const struct memory_range *range, int file,
	uint64_t offset);
/* Remove whole mappings from the list. */
struct mapping *mapping_remove(struct mapping **list, uint64_t address, size_t size);
/* Change the access of whole mappings, as memory_protect says.  False when memory runs out. */
bool mapping_protect(struct mapping *list, uint64_t address, size_t size,
	struct memory_access access, struct memory_access whose);

void mapping_free(struct mapping *list); /* all of it; NULL is fine */

#endif
