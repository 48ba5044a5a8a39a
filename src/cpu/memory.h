/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEMORY_H
#define CPU_MEMORY_H

/*
 * The device's memory: one range of addresses in which only live allocations can be accessed.  A
 * kernel's address is the host's address, so this is what makes a wild access trap.  Any thread.
 */
#include "../base/common.h"

struct memory;

enum memory_kind {
	MEMORY_DEVICE,
	MEMORY_MANAGED,
	MEMORY_HOST,   /* pinned */
	MEMORY_MODULE  /* a module's variables */
};

struct memory_range {
	uint64_t address;
	size_t size;           /* as asked for */
	size_t align;          /* as asked for; anything up to 256 is 256, the most is a page */
	enum memory_kind kind;
	bool is_pooled;        /* by cuMemAllocAsync */
	bool is_dead;          /* freed; never seen outside */
	uint64_t id;           /* never used twice */
	const void *owner;
};

/* Reserve address space for `limit` bytes of memory; false when that fails. */
bool memory_create(struct memory **out, size_t limit);
void memory_release(struct memory *memory); /* NULL is fine */

/* `wish` says size, align, kind, is_pooled and owner.  The address; 0 when memory runs out.
 * Cleared. */
uint64_t memory_alloc(struct memory *memory, const struct memory_range *wish);
/* False if no allocation starts at the address, or it has another kind. */
bool memory_free(struct memory *memory, uint64_t address, enum memory_kind kind);
void memory_free_owner(struct memory *memory, const void *owner);

/* The allocation that holds an address. */
bool memory_find(struct memory *memory, uint64_t address, struct memory_range *out);
/* Whether an address lies in the reserved range, allocated or not. */
bool memory_covers(const struct memory *memory, uint64_t address);
/* Bytes in use, in whole pages: by all kinds, and by pooled allocations now and at most. */
struct memory_use {
	size_t limit;
	size_t used;
	size_t pooled;
	size_t pooled_peak;
};
struct memory_use memory_usage(struct memory *memory);
void memory_reset_peak(struct memory *memory);

/* Say where an address lies: "4 bytes past the end of the 64-byte allocation at 0x7f0000000000". */
void memory_describe(struct memory *memory, uint64_t address, char *text, size_t size);

#endif
