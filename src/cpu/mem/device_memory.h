/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEM_DEVICE_MEMORY_H
#define CPU_MEM_DEVICE_MEMORY_H

/*
 * cpu/mem is the memory of the CPU device: its addresses, what is mapped and shared there, and what
 * happens when a kernel goes astray.
 *
 * This header: the device's memory, one range of addresses in which only live allocations can be
 * accessed, so that a wild access traps.  An address of a kernel is an address of the host.  Any
 * thread may call.
 */
#include "base/common.h"

#include "base/kudzu_abi.h"

#include "cpu/config/settings.h"
#include "cpu/mem/advice.h"
#include "cpu/mem/share.h"

#include <stdatomic.h>

struct device_memory;

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

/* What accesses memory: a device, by its number, or the host. */
enum { MEMORY_MAX_DEVICES = SETTINGS_MAX_DEVICES, MEMORY_BY_HOST = MEMORY_MAX_DEVICES };

/* The access to mapped memory: CUmemAccess_flags of each device and of the host, two bits each. */
struct memory_access {
	uint64_t flags;
};

static inline unsigned memory_access_of(struct memory_access access, unsigned who)
{
	return access.flags >> 2 * who & 3;
}

static inline void memory_access_set(struct memory_access *access, unsigned who, unsigned flags)
{
	access->flags = (access->flags & ~(UINT64_C(3) << 2 * who)) | (uint64_t)flags << 2 * who;
}

/* What any of them may do. */
static inline unsigned memory_access_any(struct memory_access access)
{
	return (access.flags & UINT64_C(0x5555555555555555) ? 1 : 0)
		| (access.flags & UINT64_C(0xaaaaaaaaaaaaaaaa) ? 2 : 0);
}

struct memory_range {
	uint64_t address;
	size_t size;           /* as asked for */
	size_t align;          /* as asked for; anything up to 256 is 256, the most is a page */
	enum memory_kind kind;
	unsigned device;       /* whose memory counts it */
	struct memory_pool *pool; /* that counts it, or NULL; it must outlive it */
	unsigned flags;        /* as asked for, or the types of handles it may have; not ours */
	struct share *share;   /* it is a part of a file; the range's own */
	struct advice_part *advice; /* for managed memory; the range's own */
	struct kudzu_array *array; /* that it holds, or NULL; the range's own */
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

/* What allocations of a pool have in common.  Bytes are counted in multiples of 256: now, and at
 * most. */
struct memory_pool {
	size_t limit;          /* 0: none */
	atomic_size_t used;
	atomic_size_t peak;
	_Atomic uint64_t access; /* of devices, as in struct memory_access; peers may do more */
};

/* Reserve address space for so many devices with `limit` bytes of memory each; false when that
 * fails. */
bool device_memory_create(struct device_memory **out, unsigned devices, size_t limit);
void device_memory_release(struct device_memory *memory); /* NULL is fine */

/* Allocate cleared memory.  `wish` has the size, align, kind, pool and owner, and the share if the
 * memory is a part of a file, which is taken on success.  Returns the address, 0 when memory runs
 * out. */
uint64_t memory_alloc(struct device_memory *memory, const struct memory_range *wish);
/* False if no allocation starts at the address, or it has another kind. */
bool memory_free(struct device_memory *memory, uint64_t address, enum memory_kind kind);
/* The same for memory that streams can free: device memory, and memory of pools of any kind. */
bool memory_free_ordered(struct device_memory *memory, uint64_t address);
/* The size of the pages of an allocation. */
size_t memory_span(const struct device_memory *memory, size_t size);
/* Announce that device memory will be freed.  False if there is no memory at the address, or it was
 * announced already. */
bool memory_leave(struct device_memory *memory, uint64_t address);
void memory_return(struct device_memory *memory, uint64_t address); /* it will not, after all */
void memory_free_owner(struct device_memory *memory, const void *owner);

/* The allocation that holds an address. */
bool memory_find(struct device_memory *memory, uint64_t address, struct memory_range *out);
/* Change the advice about a part of the allocation that holds an address, or get it.  False when
 * memory runs out. */
bool memory_advise(struct device_memory *memory, uint64_t address, size_t size,
	const struct advice_change *change);
struct memory_advice memory_get_advice(struct device_memory *memory, uint64_t address, size_t size);
/* Set CU_POINTER_ATTRIBUTE_SYNC_MEMOPS of the allocation that holds an address. */
void memory_set_sync(struct device_memory *memory, uint64_t address, bool sync_memops);
/* Whether all of [address, address + size) lies in one allocation, or in adjacent mappings, and can
 * be read, or also written.  The allocation that holds the address goes to *out if that is not
 * NULL. */
bool memory_holds(struct device_memory *memory, uint64_t address, size_t size, bool for_writing,
	struct memory_range *out);
/* Whether a device, which has access to the memory of `peers`, a set of devices, may access all of
 * [address, address + size); true where no device has memory.  Pools and mappings give access
 * themselves.  The allocation that holds the address, if there is one, goes to *out unless that is
 * NULL. */
bool memory_allows(struct device_memory *memory, unsigned device, unsigned peers, uint64_t address,
	size_t size, struct memory_range *out);
/* Whether memory_allows is true now for every address.  It takes no lock, and is false where that
 * would need a look at each mapping or pool. */
bool memory_allows_all(const struct device_memory *memory, unsigned device, unsigned peers);
/* Whether an address lies in the device's range, allocated or not, or in the gaps around it. */
bool memory_covers(const struct device_memory *memory, uint64_t address);
/* Bytes of a device in use, in whole pages. */
struct memory_use {
	size_t limit;
	size_t used;
};
struct memory_use memory_usage(struct device_memory *memory, unsigned device);

/* --- Virtual memory management: sizes and addresses are multiples of the page --- */

/* Reserve addresses, at `hint` if that is free.  Returns the address; 0 if there is no room. */
uint64_t memory_reserve(struct device_memory *memory, size_t size, size_t align, uint64_t hint);
/* False unless exactly this range was reserved and nothing is mapped in it. */
bool memory_unreserve(struct device_memory *memory, uint64_t address, size_t size);

enum memory_map_result { MEMORY_MAP_DONE, MEMORY_MAP_NOT_RESERVED, MEMORY_MAP_IN_USE,
	MEMORY_MAP_FAILED };
/* Map a part of a file, without access until memory_protect.  `wish` has the size and the block. */
enum memory_map_result memory_map(struct device_memory *memory, uint64_t address,
	const struct memory_range *wish, int file, uint64_t offset);
/* Unmap.  Returns the mappings, for the caller to free; NULL unless the range is one of whole,
 * adjacent mappings. */
struct mapping *memory_unmap(struct device_memory *memory, uint64_t address, size_t size);
/* Change the access of whole, adjacent mappings, of those whose flags in `whose` are 3. */
bool memory_protect(struct device_memory *memory, uint64_t address, size_t size,
	struct memory_access access, struct memory_access whose);

/* Count bytes of a device as used that have no address yet.  False if there are not as many. */
bool memory_take(struct device_memory *memory, unsigned device, size_t size);
void memory_give(struct device_memory *memory, unsigned device, size_t size);

/* --- Between processes --- */

/* Move the allocation that holds an address into a file, and sign it; memory of a shared pool is in
 * a file already.  *out is its new description.  False when memory or files run out. */
bool memory_export(struct device_memory *memory, uint64_t address, struct share *out);
/* Count one more opening of the foreign memory of an owner.  Returns its address; 0 if the owner
 * has none. */
uint64_t memory_reopen(struct device_memory *memory, const void *owner,
	const struct share_token *token);
/* Count one less; the last one frees the memory.  False if the owner has no such memory. */
bool memory_close(struct device_memory *memory, const void *owner, uint64_t address);

/* Describe where an address lies: "4 bytes past the end of the 64-byte allocation at
 * 0x7f0000000000".  lib/core/live.c and cli/run_check.c, which know what is in an allocation, read
 * this text. */
void memory_describe(struct device_memory *memory, uint64_t address, char *text, size_t size);
/* The allocation that begins there is an array.  memory_describe then says which element an address
 * is: ", element [3, 7] of an array (4, 8) of float32". */
void memory_name_array(struct device_memory *memory, uint64_t address,
	const struct kudzu_array *array);

#endif
