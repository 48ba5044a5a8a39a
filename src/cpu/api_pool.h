/* SPDX-License-Identifier: MIT */
#ifndef CPU_API_POOL_H
#define CPU_API_POOL_H

/* Memory pools, and those that other processes can have, too. */
#include "api.h"

struct mempool {
	struct memory_pool account; /* first: ranges of memory point here */
	CUmemoryPool handle;
	struct mempool *next;       /* of those that are destroyed */
	size_t calls;               /* that are just taking memory from it */
	atomic_ullong threshold;
	atomic_int reuse[3];
	CUmemAllocationHandleType handle_type;
	bool is_imported;
	int file;                   /* if it has a type of handles */
	atomic_ullong end;          /* of the file, for what is to come */
	struct share_token token;   /* it is signed with this, at 0 */
};

/* A pool whose allocations are parts of a file if it has a type of handles.  NULL when memory runs
 * out.  Takes the file, also if it fails. */
struct mempool *mempool_create(CUmemAllocationHandleType type, int file);
/* With a file, to be exported; NULL when memory or files run out. */
struct mempool *mempool_create_shared(void);
/* The next part of a pool's file; NULL when memory runs out. */
struct share *mempool_extend(struct memory *memory, struct mempool *pool, size_t size);
CUresult mempool_find(const char *call, CUmemoryPool handle, struct mempool **out);

#endif
