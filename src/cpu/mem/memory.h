/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEM_MEMORY_H
#define CPU_MEM_MEMORY_H

/*
 * The device's memory: one range of addresses in which only live allocations can be accessed.  A
 * kernel's address is the host's address, so this is what makes a wild access trap.  Any thread.
 */
#include "base/common.h"

#include "cpu/mem/advice.h"
#include "cpu/mem/share.h"

#include <stdatomic.h>

struct memory;

enum memory_kind {
	MEMORY_DEVICE,
	MEMORY_MANAGED,
	MEMORY_HOST,   /* pinned */
	MEMORY_MODULE, /* a module's variables */
	MEMORY_ARRAY,  /* a CUDA array */
	MEMORY_RESERVED, /* addresses without memory; never seen outside */
	MEMORY_MAPPED, /* memory of the program's, at an address that it reserved */
	MEMORY_OPENED  /* device memory of another process */
};

/* Who may do what with mapped memory, in CUDA's numbers (CUmemAccess_flags). */
struct memory_access {
	unsigned device;
	unsigned host;
};

struct memory_range {
	uint64_t address;
	size_t size;           /* as asked for */
	size_t align;          /* as asked for; anything up to 256 is 256, the most is a page */
	enum memory_kind kind;
	struct memory_pool *pool; /* that counts it, or NULL; it must outlive it */
	unsigned flags;        /* as asked for, or the types of handles it may have; not ours */
	struct share *share;   /* it is a part of a file; the range's own */
	struct advice_part *advice; /* for managed memory; the range's own */
	bool sync_memops;      /* as cuPointerSetAttribute has it */
	bool stays;            /* when its owner goes */
	bool is_var;           /* a variable of a module, which is freed as MEMORY_MODULE */
	bool is_leaving;       /* it is to be freed when a stream comes to it */
	bool is_dead;          /* freed; never seen outside */
	uint64_t id;           /* never used twice */
	const void *owner;     /* NULL: none any more */
	struct memory_access access; /* of mapped memory */
	bool is_host;          /* mapped memory: of the host, by its name */
	void *block;           /* what is mapped; not ours */
	struct mapping *maps;  /* within reserved addresses */
};

/* Bytes of the allocations that count for it, in units of 256: now and at most. */
struct memory_pool {
	size_t limit;          /* 0: none */
	atomic_size_t used;
	atomic_size_t peak;
};

/* Reserve address space for `limit` bytes of memory; false when that fails. */
bool memory_create(struct memory **out, size_t limit);
void memory_release(struct memory *memory); /* NULL is fine */

/* `wish` says size, align, kind, pool and owner, and whether the memory is a part of a file: then
 * it takes the share if it succeeds.  The address; 0 when memory runs out.  Cleared. */
uint64_t memory_alloc(struct memory *memory, const struct memory_range *wish);
/* False if no allocation starts at the address, or it has another kind. */
bool memory_free(struct memory *memory, uint64_t address, enum memory_kind kind);
/* The same for what streams can free: device memory, and memory of pools, of whatever kind. */
bool memory_free_ordered(struct memory *memory, uint64_t address);
/* The bytes of whole pages that it takes. */
size_t memory_span(const struct memory *memory, size_t size);
/* Announce that device memory will be freed; false if there is none, or that was said already. */
bool memory_leave(struct memory *memory, uint64_t address);
void memory_return(struct memory *memory, uint64_t address); /* it will not, after all */
void memory_free_owner(struct memory *memory, const void *owner);

/* The allocation that holds an address. */
bool memory_find(struct memory *memory, uint64_t address, struct memory_range *out);
/* Change what is said of a part of the allocation that holds an address, or ask for it; false when
 * memory runs out. */
bool memory_advise(struct memory *memory, uint64_t address, size_t size,
	const struct advice_change *change);
struct memory_advice memory_get_advice(struct memory *memory, uint64_t address, size_t size);
/* Remember a wish for the allocation that holds an address. */
void memory_set_sync(struct memory *memory, uint64_t address, bool sync_memops);
/* Whether all of [address, address + size) is in one allocation, or in mappings side by side, and
 * can be read, or written, too.  The allocation of the address goes to *out if that is not NULL. */
bool memory_holds(struct memory *memory, uint64_t address, size_t size, bool for_writing,
	struct memory_range *out);
/* Whether an address lies in the device's range, allocated or not. */
bool memory_covers(const struct memory *memory, uint64_t address);
/* Bytes in use, in whole pages. */
struct memory_use {
	size_t limit;
	size_t used;
};
struct memory_use memory_usage(struct memory *memory);

/* --- Addresses and memory apart: sizes and addresses here are multiples of the page --- */

/* Reserve addresses, at `hint` if that is free.  The address; 0 if there is no room. */
uint64_t memory_reserve(struct memory *memory, size_t size, size_t align, uint64_t hint);
/* False unless exactly that was reserved, and nothing is mapped in it. */
bool memory_unreserve(struct memory *memory, uint64_t address, size_t size);

enum memory_map_result { MEMORY_MAP_DONE, MEMORY_MAP_NOT_RESERVED, MEMORY_MAP_IN_USE,
	MEMORY_MAP_FAILED };
/* Map a part of a file.  Nobody has access until memory_protect; `wish` says size and block. */
enum memory_map_result memory_map(struct memory *memory, uint64_t address,
	const struct memory_range *wish, int file, uint64_t offset);
/* What was mapped, for the caller to free; NULL unless the range is that of whole mappings, side by
 * side. */
struct mapping *memory_unmap(struct memory *memory, uint64_t address, size_t size);
/* The same rule.  What a location is to keep is UINT_MAX. */
bool memory_protect(struct memory *memory, uint64_t address, size_t size,
	struct memory_access access);

/* Count bytes that are not at any address yet as used; false if there are not as many. */
bool memory_take(struct memory *memory, size_t size);
void memory_give(struct memory *memory, size_t size);

/* --- Between processes --- */

/* Make the allocation that holds an address, one of no pool or of one that is a file, a part of a
 * file, and sign it.  What it is then goes to *out; false when memory or files run out. */
bool memory_export(struct memory *memory, uint64_t address, struct share *out);
/* Count that an owner's foreign memory is opened once more: its address, 0 if it is not there. */
uint64_t memory_reopen(struct memory *memory, const void *owner, const struct share_token *token);
/* The opposite; it goes with the last one.  False if there is no such memory. */
bool memory_close(struct memory *memory, const void *owner, uint64_t address);

/* Say where an address lies: "4 bytes past the end of the 64-byte allocation at 0x7f0000000000". */
void memory_describe(struct memory *memory, uint64_t address, char *text, size_t size);

#endif
