/* SPDX-License-Identifier: MIT */
/*
 * Memory pools and stream-ordered allocation.  A pool is a name and an account.  Memory comes from
 * the device when a program asks for it, and goes back when the stream reaches the free.  Nothing
 * is held in reserve, so a use after free faults.
 *
 * Pools and their memory belong to the device, not to a context.  A destroyed pool stays as an
 * account until no memory of it is used and no call allocates from it.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "base/alloc.h"
#include "cpu/object/cu_mempool.h"
#include "cpu/stream/graph_memory.h"

static struct {
	pthread_mutex_t lock;       /* of everything here */
	struct cu_mempool standard[SETTINGS_MAX_DEVICES][POOL_PLACES]; /* the default pools */
	struct cu_mempool *current[SETTINGS_MAX_DEVICES][POOL_PLACES]; /* NULL: the default one */
	struct cu_mempool *gone;
} pools = {.lock = PTHREAD_MUTEX_INITIALIZER};

CUmemoryPool mempool_of(const struct memory_range *range)
{
	return range->pool && range->pool != graph_memory_account(range->device)
		? ((const struct cu_mempool *)range->pool)->handle : NULL;
}

/* The lock is held.  NULL when memory for the handle runs out. */
static struct cu_mempool *standard_pool(unsigned device, enum mempool_place place)
{
	struct cu_mempool *pool = &pools.standard[device][place];
	if (!pool->handle) {
		mempool_set_up(pool, place, (int)device);
		pool->handle = handle_create(API_POOL, pool);
	}
	return pool->handle ? pool : NULL;
}

/* Get a pool, without a handle the current one of a device.  It stays until leave_pool is
 * called. */
static CUresult enter_pool(const char *call, const CUmemoryPool *handle, unsigned device,
	struct cu_mempool **out)
{
	CUresult result = CUDA_SUCCESS;
	pthread_mutex_lock(&pools.lock);
	if (handle) {
		result = mempool_find(call, *handle, out);
	} else {
		*out = pools.current[device][POOL_DEVICE] ? pools.current[device][POOL_DEVICE]
			: standard_pool(device, POOL_DEVICE);
		result = *out ? CUDA_SUCCESS
			: api_no_memory(call);
	}
	if (result == CUDA_SUCCESS) {
		(*out)->calls++;
	}
	pthread_mutex_unlock(&pools.lock);
	return result;
}

/* Free the destroyed pools whose memory has all been freed.  The lock is held. */
static void pool_sweep(void)
{
	struct cu_mempool **link = &pools.gone;
	while (*link) {
		struct cu_mempool *pool = *link;
		if (atomic_load(&pool->account.used) > 0 || pool->calls > 0) {
			link = &pool->next;
		} else {
			*link = pool->next;
			if (pool->is_imported) {
				api_release_memory();
			}
			mempool_free(pool);
		}
	}
}

static void leave_pool(struct cu_mempool *pool)
{
	pthread_mutex_lock(&pools.lock);
	pool->calls--;
	pool_sweep();
	pthread_mutex_unlock(&pools.lock);
}

/* --- Stream-ordered allocation --- */

static CUmemPoolProps pool_props_of(const struct cu_mempool *pool)
{
	static const CUmemLocationType types[] = {CU_MEM_LOCATION_TYPE_DEVICE,
		CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA,
		CU_MEM_LOCATION_TYPE_NONE, CU_MEM_LOCATION_TYPE_DEVICE,
		CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA};
	return (CUmemPoolProps){.allocType = mempool_kind(pool->place) == MEMORY_MANAGED
		? CU_MEM_ALLOCATION_TYPE_MANAGED : CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {types[pool->place], mempool_is_devices(pool->place) ? (int)pool->device
			: pool->node}};
}

static CUresult pool_capture_alloc(const char *call, CUdeviceptr *out, size_t size,
	const struct cu_mempool *pool, struct context *context, CUstream stream)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .alloc = {
		.poolProps = pool_props_of(pool), .bytesize = size
	}};
	CUresult result = stream_capture(call, context, stream, &params);
	*out = result == CUDA_SUCCESS ? params.alloc.dptr : 0;
	return result;
}

static CUresult pool_allocate_now(const char *call, CUdeviceptr *out,
	const struct memory_range *wish, struct cu_mempool *pool)
{
	const struct context *context = wish->owner;
	struct memory_range range = *wish;
	if (pool->handle_type != CU_MEM_HANDLE_TYPE_NONE) {
		range.share = mempool_extend(context->device->memory, pool, wish->size);
		if (!range.share) {
			return api_no_memory(call);
		}
	}
	CUresult result = api_allocate(call, out, &range);
	if (result != CUDA_SUCCESS) {
		mem_free(range.share);
	}
	return result;
}

/* Memory is allocated at once, before the stream reaches the call.  A request for zero bytes does
 * not fail; *out is 0 then. */
static CUresult pool_allocate_from(const char *call, CUdeviceptr *out, size_t size,
	struct context *context, struct cu_mempool *pool, CUstream stream)
{
	const struct work work = {.kind = WORK_EMPTY};
	if (pool->is_imported) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the pool is another process's",
			call);
	}
	*out = 0;
	if (stream_is_captured(call, context, stream)) {
		return size == 0 ? CUDA_SUCCESS
			: pool_capture_alloc(call, out, size, pool, context, stream);
	}
	CUresult result = stream_enqueue(call, context, stream, &work, ENQUEUE_ASYNC, false);
	if (result != CUDA_SUCCESS || size == 0) {
		return result;
	}
	const struct memory_range wish = {.size = size, .kind = mempool_kind(pool->place),
		.owner = context, .device = pool->device, .stays = true, .pool = &pool->account,
		.flags = (unsigned)pool->handle_type};
	result = pool_allocate_now(call, out, &wish, pool);
	if (result == CUDA_ERROR_OUT_OF_MEMORY) {
		// The streams may be about to free memory.
		context_wait(context);
		result = pool_allocate_now(call, out, &wish, pool);
	}
	return result;
}

static CUresult pool_allocate(const char *call, CUdeviceptr *out, size_t size,
	const CUmemoryPool *handle, CUstream stream)
{
	struct context *context;
	struct cu_mempool *pool;
	CUresult result = api_need(api_enter(call, &context), call, out);
	if (result == CUDA_SUCCESS) {
		result = enter_pool(call, handle, context->device->ordinal, &pool);
	}
	if (result == CUDA_SUCCESS) {
		result = pool_allocate_from(call, out, size, context, pool, stream);
		leave_pool(pool);
	}
	return result;
}

API(cuMemAllocAsync, CUdeviceptr *out, size_t size, CUstream stream)
{
	return pool_allocate(__func__, out, size, NULL, stream);
}
API_PER_THREAD(cuMemAllocAsync_ptsz, cuMemAllocAsync,
	(CUdeviceptr *out, size_t size, CUstream stream), (out, size, stream));

API(cuMemAllocFromPoolAsync, CUdeviceptr *out, size_t size, CUmemoryPool handle, CUstream stream)
{
	return pool_allocate(__func__, out, size, &handle, stream);
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

static bool pool_may_share(enum mempool_place place, CUmemAllocationHandleType types)
{
	return types == CU_MEM_HANDLE_TYPE_NONE
		|| (types == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
		&& (place == POOL_DEVICE || place == POOL_HOST_NUMA));
}

API(cuMemPoolCreate, CUmemoryPool *out, const CUmemPoolProps *props)
{
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS && !props) {
		return api_null(__func__, "the properties");
	}
	enum mempool_place place = POOL_DEVICE;
	if (result == CUDA_SUCCESS) {
		result = mempool_place(__func__, &props->location, props->allocType, &place);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE && place == POOL_HOST) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: pools of the host's memory have no handles", __func__);
	}
	if (!pool_may_share(place, props->handleTypes)) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: such a pool has no handles of types 0x%x",
			__func__, (unsigned)props->handleTypes);
	}
	struct cu_mempool *pool = props->handleTypes == CU_MEM_HANDLE_TYPE_NONE
		? mempool_create(props->handleTypes, -1)
		: mempool_create_shared(place, props->location.id);
	if (!pool) {
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: no memory or no more file"
			" descriptors", __func__);
	}
	mempool_set_up(pool, place, props->location.id);
	pool->account.limit = props->maxSize;
	pthread_mutex_lock(&pools.lock);
	pool_sweep();
	pthread_mutex_unlock(&pools.lock);
	*out = pool->handle;
	return CUDA_SUCCESS;
}

API(cuMemPoolDestroy, CUmemoryPool handle)
{
	struct cu_mempool *pool;
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&pools.lock);
	result = mempool_find(__func__, handle, &pool);
	if (result == CUDA_SUCCESS && pool == &pools.standard[pool->device][pool->place]) {
		result = api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: the default pool cannot be destroyed", __func__);
	} else if (result == CUDA_SUCCESS) {
		handle_release(handle);
		if (pools.current[pool->device][pool->place] == pool) {
			pools.current[pool->device][pool->place] = NULL;
		}
		pool->next = pools.gone;
		pools.gone = pool;
		pool_sweep();
	}
	pthread_mutex_unlock(&pools.lock);
	return result;
}

/* Freed memory goes back at once, so there is nothing to trim. */
API(cuMemPoolTrimTo, CUmemoryPool handle, size_t keep)
{
	struct cu_mempool *pool;
	(void)keep;
	return mempool_find(__func__, handle, &pool);
}

/* What a pool was created as. */
static CUresult pool_get_property(const char *call, const struct cu_mempool *pool,
	CUmemPool_attribute attribute, void *out)
{
	const CUmemPoolProps props = pool_props_of(pool);
	switch ((unsigned)attribute) {
	case CU_MEMPOOL_ATTR_ALLOCATION_TYPE:
		*(int *)out = (int)props.allocType;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES:
		*(int *)out = pool->is_imported ? CU_MEM_HANDLE_TYPE_NONE : (int)pool->handle_type;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_LOCATION_ID:
		*(int *)out = props.location.id;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_LOCATION_TYPE:
		*(int *)out = (int)props.location.type;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_MAX_POOL_SIZE:
		*(cuuint64_t *)out = pool->account.limit;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED:
		*(int *)out = 0;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID:
		*(int *)out = -1;
		return CUDA_SUCCESS;
	default:
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown attribute %d", call,
			(int)attribute);
	}
}

API(cuMemPoolGetAttribute, CUmemoryPool handle, CUmemPool_attribute attribute, void *out)
{
	struct cu_mempool *pool;
	CUresult result = api_need(mempool_find(__func__, handle, &pool), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	switch ((unsigned)attribute) {
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
	default:
		return pool_get_property(__func__, pool, attribute, out);
	}
}

API(cuMemPoolSetAttribute, CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
	struct cu_mempool *pool;
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
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: attribute %d cannot be set to this",
		__func__, (int)attribute);
}

/* The host can access host memory and managed memory. */
static bool pool_is_hosts(const struct cu_mempool *pool, const CUmemLocation *location)
{
	return pool->place != POOL_DEVICE && (location->type == CU_MEM_LOCATION_TYPE_HOST
		|| location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA);
}

static bool pool_is_devices(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE && location->id >= 0
		&& location->id < device_count();
}

/* The owner of memory can always read and write it.  The access of devices to host memory is
 * kept. */
static bool pool_may_set(const struct cu_mempool *pool, const CUmemAccessDesc *desc)
{
	if (pool_is_devices(&desc->location) && (mempool_kind(pool->place) == MEMORY_HOST
	    || (pool->place == POOL_DEVICE && (unsigned)desc->location.id != pool->device))) {
		return desc->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE
			|| desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READ
			|| desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	}
	return (pool_is_devices(&desc->location) || pool_is_hosts(pool, &desc->location))
		&& desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

static void pool_set_access(struct cu_mempool *pool, unsigned device, unsigned flags)
{
	uint64_t before = atomic_load(&pool->account.access);
	struct memory_access next;
	do {
		next.flags = before;
		memory_access_set(&next, device, flags);
	} while (!atomic_compare_exchange_weak(&pool->account.access, &before, next.flags));
}

API(cuMemPoolSetAccess, CUmemoryPool handle, const CUmemAccessDesc *map, size_t count)
{
	struct cu_mempool *pool;
	CUresult result = mempool_find(__func__, handle, &pool);
	if (result == CUDA_SUCCESS && !map && count > 0) {
		return api_null(__func__, "the list");
	}
	for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
		if (!pool_may_set(pool, &map[i])) {
			return api_fail(CUDA_ERROR_INVALID_VALUE,
				"%s: only the devices and the host can access a pool, and the "
				"owner of the memory can always read and write it", __func__);
		}
	}
	for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
		if (pool_is_devices(&map[i].location)) {
			pool_set_access(pool, (unsigned)map[i].location.id, map[i].flags);
		}
	}
	return result;
}

API(cuMemPoolGetAccess, CUmemAccess_flags *out, CUmemoryPool handle, CUmemLocation *location)
{
	struct cu_mempool *pool;
	CUresult result = api_need(mempool_find(__func__, handle, &pool), __func__, out);
	if (result == CUDA_SUCCESS && !location) {
		return api_null(__func__, "the location");
	}
	if (result == CUDA_SUCCESS && !pool_is_devices(location)
	    && !pool_is_hosts(pool, location)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: the location has no access to the pool",
			__func__);
	}
	if (result == CUDA_SUCCESS) {
		*out = pool_is_hosts(pool, location) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
			: (CUmemAccess_flags)memory_access_of((struct memory_access){
				atomic_load(&pool->account.access)}, (unsigned)location->id);
	}
	return result;
}

/* --- The default and current pools of each location --- */

static CUresult get_pool(const char *call, CUresult so_far, CUmemoryPool *out, CUdevice device,
	enum mempool_place place, bool is_current)
{
	CUresult result = api_need(so_far, call, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&pools.lock);
	const struct cu_mempool *pool = is_current && pools.current[device][place]
		? pools.current[device][place] : standard_pool((unsigned)device, place);
	*out = pool ? pool->handle : NULL;
	pthread_mutex_unlock(&pools.lock);
	return *out ? CUDA_SUCCESS
		: api_no_memory(call);
}

static CUresult set_pool(const char *call, CUresult so_far, CUmemoryPool handle, CUdevice device,
	enum mempool_place place)
{
	struct cu_mempool *pool;
	if (so_far != CUDA_SUCCESS) {
		return so_far;
	}
	pthread_mutex_lock(&pools.lock);
	CUresult result = mempool_find(call, handle, &pool);
	if (result == CUDA_SUCCESS && (pool->is_imported || pool->place != place
	    || pool->device != (unsigned)device)) {
		result = api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the pool is %s", call,
			pool->is_imported ? "another process's" : "elsewhere");
	} else if (result == CUDA_SUCCESS) {
		pools.current[device][place] = pool;
	}
	pthread_mutex_unlock(&pools.lock);
	return result;
}

static CUresult pool_enter_location(const char *call, const CUmemLocation *location,
	CUmemAllocationType type, CUdevice *device, enum mempool_place *place)
{
	CUresult result = api_ready(call);
	*device = 0;
	*place = POOL_DEVICE;
	if (result == CUDA_SUCCESS) {
		result = mempool_place(call, location, type, place);
	}
	if (result == CUDA_SUCCESS && mempool_is_devices(*place)) {
		*device = location->id;
	}
	return result;
}

API(cuDeviceGetDefaultMemPool, CUmemoryPool *out, CUdevice device)
{
	return get_pool(__func__, api_check_device(__func__, device), out, device, POOL_DEVICE,
		false);
}

API(cuDeviceGetMemPool, CUmemoryPool *out, CUdevice device)
{
	return get_pool(__func__, api_check_device(__func__, device), out, device, POOL_DEVICE,
		true);
}

API(cuDeviceSetMemPool, CUdevice device, CUmemoryPool pool)
{
	return set_pool(__func__, api_check_device(__func__, device), pool, device, POOL_DEVICE);
}

API(cuMemGetDefaultMemPool, CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
	CUdevice device;
	enum mempool_place place;
	CUresult result = pool_enter_location(__func__, location, type, &device, &place);
	return get_pool(__func__, result, out, device, place, false);
}

API(cuMemGetMemPool, CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
	CUdevice device;
	enum mempool_place place;
	CUresult result = pool_enter_location(__func__, location, type, &device, &place);
	return get_pool(__func__, result, out, device, place, true);
}

API(cuMemSetMemPool, CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	CUdevice device;
	enum mempool_place place;
	CUresult result = pool_enter_location(__func__, location, type, &device, &place);
	return set_pool(__func__, result, pool, device, place);
}
