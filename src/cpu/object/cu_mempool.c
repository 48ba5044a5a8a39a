/* SPDX-License-Identifier: MIT */
/*
 * Memory pools as objects.  A pool is a name and an account of what it takes from the device.  A
 * pool that was created for handles takes its allocations from one file, at offsets that are never
 * used twice, so that another process can map them.
 */
#include "base/common.h"

#include "cpu/object/cu_mempool.h"

#include "base/alloc.h"
#include "cpu/object/context.h"
#include "cpu/object/cu_device.h"
#include "cpu/object/handle.h"
#include "cpu/object/log.h"

#include <pthread.h>
#include <unistd.h>

enum memory_kind mempool_kind(enum mempool_place place)
{
	return place == POOL_DEVICE ? MEMORY_DEVICE
		: place == POOL_HOST || place == POOL_HOST_NUMA ? MEMORY_HOST : MEMORY_MANAGED;
}

bool mempool_is_devices(enum mempool_place place)
{
	return place == POOL_DEVICE || place == POOL_MANAGED_DEVICE;
}

CUresult mempool_place(const char *call, const CUmemLocation *location, CUmemAllocationType type,
	enum mempool_place *out)
{
	if (!location) {
		return api_null(call, "the location");
	}
	const bool is_managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;
	bool ok = false;
	if (type != CU_MEM_ALLOCATION_TYPE_PINNED && !is_managed) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown type of allocation %d", call,
			(int)type);
	}
	switch ((unsigned)location->type) {
	case CU_MEM_LOCATION_TYPE_NONE:
		*out = POOL_MANAGED;
		ok = is_managed;
		break;
	case CU_MEM_LOCATION_TYPE_DEVICE:
		*out = is_managed ? POOL_MANAGED_DEVICE : POOL_DEVICE;
		return api_check_device(call, location->id);
	case CU_MEM_LOCATION_TYPE_HOST:
		*out = is_managed ? POOL_MANAGED_HOST : POOL_HOST;
		return CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		*out = is_managed ? POOL_MANAGED_HOST_NUMA : POOL_HOST_NUMA;
		ok = location->id >= 0;
		break;
	default:
		break;
	}
	return ok ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: no pool can be at location %d of type %d", call, location->id,
		(int)location->type);
}

CUresult mempool_find(const char *call, CUmemoryPool handle, struct cu_mempool **out)
{
	CUresult result = api_ready(call);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = handle_get(handle, API_POOL);
	return *out ? CUDA_SUCCESS
		: api_fail(CUDA_ERROR_INVALID_VALUE, "%s: not the handle of a live memory pool",
			call);
}

void mempool_set_up(struct cu_mempool *pool, enum mempool_place place, int id)
{
	struct memory_access access = {0};
	pool->place = place;
	pool->node = mempool_is_devices(place) ? 0 : id;
	pool->device = mempool_is_devices(place) ? (unsigned)id : 0;
	for (size_t i = 0; i < countof(pool->reuse); i++) {
		atomic_init(&pool->reuse[i], 1);
	}
	for (unsigned i = 0; i < (unsigned)device_count(); i++) {
		memory_access_set(&access, i, mempool_kind(place) == MEMORY_MANAGED
			|| (place == POOL_DEVICE && i == pool->device)
			? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE);
	}
	atomic_init(&pool->account.access, access.flags);
}

struct cu_mempool *mempool_create(CUmemAllocationHandleType type, int file)
{
	struct cu_mempool *pool = mem_zalloc(1, sizeof(*pool));
	if (!pool) {
		if (type != CU_MEM_HANDLE_TYPE_NONE) {
			close(file);
		}
		return NULL;
	}
	pool->handle_type = type;
	pool->file = file;
	mempool_set_up(pool, POOL_DEVICE, 0);
	pool->handle = handle_create(API_POOL, pool);
	if (!pool->handle) {
		mempool_free(pool);
		return NULL;
	}
	return pool;
}

void mempool_free(struct cu_mempool *pool)
{
	if (pool->handle_type != CU_MEM_HANDLE_TYPE_NONE) {
		close(pool->file);
	}
	mem_free(pool);
}

struct cu_mempool *mempool_create_shared(enum mempool_place place, int id)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct mempool_head head = {.place = place,
		.where = mempool_is_devices(place) ? device_number(id) : (unsigned)id};
	int file = share_create(page);
	if (file < 0) {
		return NULL;
	}
	if (!share_draw(&head.token)
	    || pwrite(file, &head, sizeof(head), 0) != (ssize_t)sizeof(head)) {
		close(file);
		return NULL;
	}
	struct cu_mempool *pool = mempool_create(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, file);
	if (pool) {
		mempool_set_up(pool, place, id);
		pool->token = head.token;
		atomic_init(&pool->end, page);
	}
	return pool;
}

struct share *mempool_extend(struct device_memory *memory, struct cu_mempool *pool, size_t size)
{
	// Two threads must not make the file longer in the wrong order.
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	// What cannot succeed is not to use up the offsets.
	struct share *share = size <= memory_usage(memory, 0).limit ? mem_zalloc(1, sizeof(*share))
		: NULL;
	if (!share) {
		return NULL;
	}
	share->kind = SHARE_POOL;
	share->file = pool->file;
	pthread_mutex_lock(&lock);
	share->offset = pool->end;
	uint64_t end = share->offset + memory_span(memory, size) + page;
	bool ok = share_draw(&share->token) && share_grow(pool->file, end);
	pool->end = ok ? end : share->offset;
	pthread_mutex_unlock(&lock);
	if (!ok) {
		mem_free(share);
		return NULL;
	}
	return share;
}
