/* SPDX-License-Identifier: MIT */
/*
 * Memory pools, and memory that comes and goes in the order of a stream.  A pool is a name and an
 * account: memory is taken from the device when it is asked for, and goes back when the stream
 * comes to its end, so that nothing is ever held in reserve and a stale pointer is found out.
 *
 * Pools and their memory belong to the device, not to a context.  One that is destroyed while memory
 * of it is still used, or while a call takes some, stays as an account until that has gone.
 */
#include "../base/common.h"

#include "api_pool.h"

#include "../base/alloc.h"
#include "graph_memory.h"
#include "stream.h"

#include <unistd.h>

static struct {
	pthread_mutex_t lock;       /* of everything here */
	struct mempool standard;    /* the default pool */
	struct mempool *current;    /* NULL: the default one */
	struct mempool *gone;
} pools = {.lock = PTHREAD_MUTEX_INITIALIZER, .standard.reuse = {1, 1, 1}};

CUmemoryPool mempool_of(const struct memory_range *range)
{
	return range->pool != NULL && range->pool != graph_memory_account()
		? ((const struct mempool *)range->pool)->handle : NULL;
}

/* The lock is held.  NULL when there is no memory for its handle. */
static struct mempool *standard_pool(void)
{
	struct mempool *pool = &pools.standard;
	if (pool->handle == NULL) {
		pool->handle = handle_create(API_POOL, pool);
	}
	return pool->handle != NULL ? pool : NULL;
}

CUresult mempool_find(const char *call, CUmemoryPool handle, struct mempool **out)
{
	CUresult result = api_ready(call);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = handle_get(handle, API_POOL);
	return *out != NULL ? CUDA_SUCCESS
		: api_fail(CUDA_ERROR_INVALID_VALUE, "%s: not the handle of a live memory pool", call);
}

/* A pool that stays until leave_pool; without a handle, the current one. */
static CUresult enter_pool(const char *call, const CUmemoryPool *handle, struct mempool **out)
{
	CUresult result = CUDA_SUCCESS;
	pthread_mutex_lock(&pools.lock);
	if (handle != NULL) {
		result = mempool_find(call, *handle, out);
	} else {
		*out = pools.current != NULL ? pools.current : standard_pool();
		result = *out != NULL ? CUDA_SUCCESS
			: api_no_memory(call);
	}
	if (result == CUDA_SUCCESS) {
		(*out)->calls++;
	}
	pthread_mutex_unlock(&pools.lock);
	return result;
}

static void free_pool(struct mempool *pool)
{
	if (pool->handle_type != CU_MEM_HANDLE_TYPE_NONE) {
		close(pool->file);
	}
	mem_free(pool);
}

/* Free the destroyed pools of which no memory is left.  The lock is held. */
static void sweep(void)
{
	struct mempool **link = &pools.gone;
	while (*link != NULL) {
		struct mempool *pool = *link;
		if (atomic_load(&pool->account.used) > 0 || pool->calls > 0) {
			link = &pool->next;
		} else {
			*link = pool->next;
			free_pool(pool);
		}
	}
}

static void leave_pool(struct mempool *pool)
{
	pthread_mutex_lock(&pools.lock);
	pool->calls--;
	sweep();
	pthread_mutex_unlock(&pools.lock);
}

/* --- Memory in the order of a stream --- */

static CUresult capture_alloc(const char *call, CUdeviceptr *out, size_t size,
	struct context *context, CUstream stream)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .alloc = {
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}}, .bytesize = size
	}};
	CUresult result = stream_capture(call, context, stream, &params);
	*out = result == CUDA_SUCCESS ? params.alloc.dptr : 0;
	return result;
}

static CUresult allocate_now(const char *call, CUdeviceptr *out, const struct memory_range *wish,
	struct mempool *pool)
{
	const struct context *context = wish->owner;
	struct memory_range range = *wish;
	if (pool->handle_type != CU_MEM_HANDLE_TYPE_NONE) {
		range.share = mempool_extend(context->device->memory, pool, wish->size);
		if (range.share == NULL) {
			return api_no_memory(call);
		}
	}
	CUresult result = api_allocate(call, out, &range);
	if (result != CUDA_SUCCESS) {
		mem_free(range.share);
	}
	return result;
}

/* The memory is there at once, which is before the stream comes to it. */
static CUresult allocate_from(const char *call, CUdeviceptr *out, size_t size,
	struct context *context, struct mempool *pool, CUstream stream)
{
	const struct work work = {.kind = WORK_EMPTY};
	if (pool->is_imported) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the pool is another process's", call);
	}
	if (stream_is_captured(call, context, stream)) {
		return capture_alloc(call, out, size, context, stream);
	}
	*out = 0;
	CUresult result = stream_enqueue(call, context, stream, &work, ENQUEUE_ASYNC, false);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	const struct memory_range wish = {.size = size, .kind = MEMORY_DEVICE, .owner = context,
		.stays = true, .pool = &pool->account,
		.flags = (unsigned)pool->handle_type};
	result = allocate_now(call, out, &wish, pool);
	if (result == CUDA_ERROR_OUT_OF_MEMORY) {
		// What streams will free is room, too.
		context_wait(context);
		result = allocate_now(call, out, &wish, pool);
	}
	return result;
}

static CUresult allocate(const char *call, CUdeviceptr *out, size_t size,
	const CUmemoryPool *handle, CUstream stream)
{
	struct context *context;
	struct mempool *pool;
	CUresult result = api_need(api_enter(call, &context), call, out);
	if (result == CUDA_SUCCESS) {
		result = enter_pool(call, handle, &pool);
	}
	if (result == CUDA_SUCCESS) {
		result = allocate_from(call, out, size, context, pool, stream);
		leave_pool(pool);
	}
	return result;
}

API(cuMemAllocAsync, CUdeviceptr *out, size_t size, CUstream stream)
{
	return allocate(__func__, out, size, NULL, stream);
}
API_PER_THREAD(cuMemAllocAsync_ptsz, cuMemAllocAsync,
	(CUdeviceptr *out, size_t size, CUstream stream), (out, size, stream));

API(cuMemAllocFromPoolAsync, CUdeviceptr *out, size_t size, CUmemoryPool handle, CUstream stream)
{
	return allocate(__func__, out, size, &handle, stream);
}
API_PER_THREAD(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync,
	(CUdeviceptr *out, size_t size, CUmemoryPool handle, CUstream stream),
	(out, size, handle, stream));

API(cuMemFreeAsync, CUdeviceptr address, CUstream stream)
{
	const struct work work = {.kind = WORK_FREE, .address = address};
	struct context *context;
	CUresult result = api_enter_release(__func__, &context);
	if (result != CUDA_SUCCESS || address == 0) {
		return result;
	}
	if (stream_is_captured(__func__, context, stream)) {
		CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE,
			.free = {address}};
		return stream_capture(__func__, context, stream, &params);
	}
	enum graph_leave leave = graph_memory_leave(address);
	if (leave == LEAVE_DEAD
	    || (leave == LEAVE_FOREIGN && !memory_leave(context->device->memory, address))) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: 0x%llx is not the start of device memory, or was freed", __func__,
			address);
	}
	result = stream_enqueue(__func__, context, stream, &work, ENQUEUE_ASYNC, false);
	if (result != CUDA_SUCCESS && leave == LEAVE_LIVE) {
		graph_memory_return(address);
	} else if (result != CUDA_SUCCESS) {
		memory_return(context->device->memory, address);
	}
	return result;
}
API_PER_THREAD(cuMemFreeAsync_ptsz, cuMemFreeAsync,
	(CUdeviceptr address, CUstream stream), (address, stream));

/* --- Pools --- */

/* Only the device has pools, and only of its own memory. */
static CUresult check_location(const char *call, const CUmemLocation *location,
	CUmemAllocationType type)
{
	if (location == NULL) {
		return api_null(call, "the location");
	}
	if (type != CU_MEM_ALLOCATION_TYPE_PINNED && type != CU_MEM_ALLOCATION_TYPE_MANAGED) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown type of allocation %d", call,
			(int)type);
	}
	if (location->type == CU_MEM_LOCATION_TYPE_HOST
	    || location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA
	    || type == CU_MEM_ALLOCATION_TYPE_MANAGED) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: the CPU device has pools of device memory only", call);
	}
	if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown location %d", call,
			(int)location->type);
	}
	return location->id == 0 ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_DEVICE,
		"%s: there is no device %d", call, location->id);
}

struct mempool *mempool_create(CUmemAllocationHandleType type, int file)
{
	struct mempool *pool = mem_zalloc(1, sizeof(*pool));
	if (pool == NULL) {
		if (type != CU_MEM_HANDLE_TYPE_NONE) {
			close(file);
		}
		return NULL;
	}
	pool->handle_type = type;
	pool->file = file;
	for (size_t i = 0; i < countof(pool->reuse); i++) {
		atomic_init(&pool->reuse[i], 1);
	}
	pool->handle = handle_create(API_POOL, pool);
	if (pool->handle == NULL) {
		free_pool(pool);
		return NULL;
	}
	return pool;
}

API(cuMemPoolCreate, CUmemoryPool *out, const CUmemPoolProps *props)
{
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS && props == NULL) {
		return api_null(__func__, "the properties");
	}
	if (result == CUDA_SUCCESS) {
		result = check_location(__func__, &props->location, props->allocType);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE
	    && props->handleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED, "%s: pools have no handles of types 0x%x",
			__func__, (unsigned)props->handleTypes);
	}
	struct mempool *pool = props->handleTypes == CU_MEM_HANDLE_TYPE_NONE
		? mempool_create(props->handleTypes, -1) : mempool_create_shared();
	if (pool == NULL) {
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: no memory or no more file"
			" descriptors", __func__);
	}
	pool->account.limit = props->maxSize;
	pthread_mutex_lock(&pools.lock);
	sweep();
	pthread_mutex_unlock(&pools.lock);
	*out = pool->handle;
	return CUDA_SUCCESS;
}

API(cuMemPoolDestroy, CUmemoryPool handle)
{
	struct mempool *pool;
	pthread_mutex_lock(&pools.lock);
	CUresult result = mempool_find(__func__, handle, &pool);
	if (result == CUDA_SUCCESS && pool == &pools.standard) {
		result = api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the default pool stays", __func__);
	} else if (result == CUDA_SUCCESS) {
		handle_release(handle);
		pools.current = pools.current != pool ? pools.current : NULL;
		pool->next = pools.gone;
		pools.gone = pool;
		sweep();
	}
	pthread_mutex_unlock(&pools.lock);
	return result;
}

/* Freed memory goes back at once, so there is nothing to trim. */
API(cuMemPoolTrimTo, CUmemoryPool handle, size_t keep)
{
	struct mempool *pool;
	(void)keep;
	return mempool_find(__func__, handle, &pool);
}

API(cuMemPoolGetAttribute, CUmemoryPool handle, CUmemPool_attribute attribute, void *out)
{
	struct mempool *pool;
	CUresult result = api_need(mempool_find(__func__, handle, &pool), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)out = atomic_load(&pool->reuse[attribute - 1]);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(cuuint64_t *)out = atomic_load(&pool->threshold);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*(cuuint64_t *)out = atomic_load(&pool->account.used);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*(cuuint64_t *)out = atomic_load(&pool->account.peak);
		return CUDA_SUCCESS;
	}
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown attribute %d", __func__,
		(int)attribute);
}

API(cuMemPoolSetAttribute, CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
	struct mempool *pool;
	CUresult result = api_need(mempool_find(__func__, handle, &pool), __func__, value);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	switch ((unsigned)attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		atomic_store(&pool->reuse[attribute - 1], *(const int *)value);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		atomic_store(&pool->threshold, *(const cuuint64_t *)value);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		if (*(const cuuint64_t *)value == 0) {
			atomic_store(&pool->account.peak, atomic_load(&pool->account.used));
			return CUDA_SUCCESS;
		}
		break;
	}
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: attribute %d cannot be set to this", __func__,
		(int)attribute);
}

/* The device can always read and write its own pools, and there is no other device. */
API(cuMemPoolSetAccess, CUmemoryPool handle, const CUmemAccessDesc *map, size_t count)
{
	struct mempool *pool;
	CUresult result = mempool_find(__func__, handle, &pool);
	if (result == CUDA_SUCCESS && map == NULL && count > 0) {
		return api_null(__func__, "the list");
	}
	for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
		if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || map[i].location.id != 0
		    || map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
			return api_fail(CUDA_ERROR_INVALID_VALUE,
				"%s: only device 0 has access, to read and to write", __func__);
		}
	}
	return result;
}

API(cuMemPoolGetAccess, CUmemAccess_flags *out, CUmemoryPool handle, CUmemLocation *location)
{
	struct mempool *pool;
	CUresult result = api_need(mempool_find(__func__, handle, &pool), __func__, out);
	if (result == CUDA_SUCCESS && (location == NULL
			|| location->type != CU_MEM_LOCATION_TYPE_DEVICE || location->id != 0)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the location is not device 0",
			__func__);
	}
	if (result == CUDA_SUCCESS) {
		*out = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	}
	return result;
}

/* --- The pools of the device --- */

static CUresult get_pool(const char *call, CUresult so_far, CUmemoryPool *out, bool is_current)
{
	CUresult result = api_need(so_far, call, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&pools.lock);
	const struct mempool *pool = is_current && pools.current != NULL ? pools.current
		: standard_pool();
	*out = pool != NULL ? pool->handle : NULL;
	pthread_mutex_unlock(&pools.lock);
	return *out != NULL ? CUDA_SUCCESS
		: api_no_memory(call);
}

static CUresult set_pool(const char *call, CUresult so_far, CUmemoryPool handle)
{
	struct mempool *pool;
	if (so_far != CUDA_SUCCESS) {
		return so_far;
	}
	pthread_mutex_lock(&pools.lock);
	CUresult result = mempool_find(call, handle, &pool);
	if (result == CUDA_SUCCESS && pool->is_imported) {
		result = api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the pool is another process's",
			call);
	} else if (result == CUDA_SUCCESS) {
		pools.current = pool;
	}
	pthread_mutex_unlock(&pools.lock);
	return result;
}

static CUresult enter_location(const char *call, const CUmemLocation *location,
	CUmemAllocationType type)
{
	CUresult result = api_ready(call);
	return result == CUDA_SUCCESS ? check_location(call, location, type) : result;
}

API(cuDeviceGetDefaultMemPool, CUmemoryPool *out, CUdevice device)
{
	return get_pool(__func__, api_check_device(__func__, device), out, false);
}

API(cuDeviceGetMemPool, CUmemoryPool *out, CUdevice device)
{
	return get_pool(__func__, api_check_device(__func__, device), out, true);
}

API(cuDeviceSetMemPool, CUdevice device, CUmemoryPool pool)
{
	return set_pool(__func__, api_check_device(__func__, device), pool);
}

API(cuMemGetDefaultMemPool, CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
	return get_pool(__func__, enter_location(__func__, location, type), out, false);
}

API(cuMemGetMemPool, CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
	return get_pool(__func__, enter_location(__func__, location, type), out, true);
}

API(cuMemSetMemPool, CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	return set_pool(__func__, enter_location(__func__, location, type), pool);
}
