/* SPDX-License-Identifier: MIT */
#ifndef CPU_OBJECT_CU_MEMPOOL_H
#define CPU_OBJECT_CU_MEMPOOL_H

/* Memory pools, which several processes can share. */
#include "cpu/mem/device_memory.h"
#include "cpu/mem/share.h"
#include "base/cuda_abi.h"

#include <stdatomic.h>

/* What a pool has memory of.  Each has a default pool; all NUMA nodes of the host share one. */
enum mempool_place {
	POOL_DEVICE,
	POOL_HOST,
	POOL_HOST_NUMA,
	POOL_MANAGED,          /* without a preferred location, or with one */
	POOL_MANAGED_DEVICE,
	POOL_MANAGED_HOST,
	POOL_MANAGED_HOST_NUMA,
	POOL_PLACES
};

struct cu_mempool {
	struct memory_pool account; /* first: ranges of memory point here */
	CUmemoryPool handle;
	struct cu_mempool *next;       /* of those that are destroyed */
	size_t calls;               /* that are just taking memory from it */
	atomic_ullong threshold;
	atomic_int reuse[3];
	enum mempool_place place;
	int node;                   /* of the host, if that is its place */
	unsigned device;            /* that counts its memory, if that is its place */
	CUmemAllocationHandleType handle_type;
	bool is_imported;           /* it keeps the devices' memory, without a context too */
	int file;                   /* if it has a type of handles */
	atomic_ullong end;          /* of the file, for what is to come */
	struct share_token token;   /* it is signed with this, at 0 */
};

/* Where memory of a location and a type is.  location->id is the device, or the node. */
CUresult mempool_place(const char *call, const CUmemLocation *location, CUmemAllocationType type,
	enum mempool_place *out);
bool mempool_is_devices(enum mempool_place place);
enum memory_kind mempool_kind(enum mempool_place place);

/* A pool of the first device, whose allocations are parts of a file if it has a type of handles.
 * NULL when memory runs out.  Takes the file, also if it fails. */
struct cu_mempool *mempool_create(CUmemAllocationHandleType type, int file);
/* Make it one of a place instead, or set up memory that is all zero; id is the place's device or
 * node. */
void mempool_set_up(struct cu_mempool *pool, enum mempool_place place, int id);
/* Its handle is gone, and none of its memory is in use. */
void mempool_free(struct cu_mempool *pool);
/* What the file of a pool begins with, for the processes that import it. */
struct mempool_head {
	struct share_token token;
	uint32_t place;
	uint32_t where;             /* the device_number of the pool's device, or the node */
};
/* With a file, to be exported; NULL when memory or files run out. */
struct cu_mempool *mempool_create_shared(enum mempool_place place, int id);
/* The next part of a pool's file; NULL when memory runs out. */
struct share *mempool_extend(struct device_memory *memory, struct cu_mempool *pool, size_t size);
CUresult mempool_find(const char *call, CUmemoryPool handle, struct cu_mempool **out);

#endif
