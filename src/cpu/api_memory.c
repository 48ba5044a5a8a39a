/* SPDX-License-Identifier: MIT */
/*
 * Memory: allocations of every kind, the one memory pool, and what is known about an address.  All
 * of it is memory of this computer, in the range of addresses that memory.c keeps: device, managed
 * and pinned memory differ in name only.
 */
#include "../base/common.h"

#include "api.h"

#include <string.h>

/* The default pool of the device, which is the only one. */
#define POOL ((CUmemoryPool)(uintptr_t)0x6b7a706f6f6c)

static atomic_ullong pool_threshold;
static atomic_int pool_reuse[3] = {1, 1, 1};

static CUresult allocate(const char *call, CUdeviceptr *out, const struct memory_range *wish)
{
	struct memory *memory = ((const struct context *)wish->owner)->device->memory;
	*out = 0;
	if (wish->size == 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the size is 0", call);
	}
	*out = memory_alloc(memory, wish);
	if (*out != 0) {
		return CUDA_SUCCESS;
	}
	struct memory_use use = memory_usage(memory);
	return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: no room for %zu bytes; %zu of %zu are in use",
		call, wish->size, use.used, use.limit);
}

static CUresult enter_alloc(const char *call, const void *out, size_t size, enum memory_kind kind,
	struct memory_range *wish)
{
	struct context *context;
	CUresult result = api_need(api_enter(call, &context), call, out);
	if (result == CUDA_SUCCESS) {
		*wish = (struct memory_range){.size = size, .kind = kind, .owner = context};
	}
	return result;
}

API(cuMemGetInfo_v2, size_t *free_size, size_t *total)
{
	struct context *context;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS && (free_size == NULL || total == NULL)) {
		return api_null(__func__, "a result");
	}
	if (result == CUDA_SUCCESS) {
		struct memory_use use = memory_usage(context->device->memory);
		*total = use.limit;
		*free_size = use.limit - use.used;
	}
	return result;
}

API(cuMemAlloc_v2, CUdeviceptr *out, size_t size)
{
	struct memory_range wish;
	CUresult result = enter_alloc(__func__, out, size, MEMORY_DEVICE, &wish);
	return result == CUDA_SUCCESS ? allocate(__func__, out, &wish) : result;
}

API(cuMemAllocManaged, CUdeviceptr *out, size_t size, unsigned int flags)
{
	struct memory_range wish;
	CUresult result = enter_alloc(__func__, out, size, MEMORY_MANAGED, &wish);
	if (result == CUDA_SUCCESS && flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__, flags);
	}
	return result == CUDA_SUCCESS ? allocate(__func__, out, &wish) : result;
}

API(cuMemAllocPitch_v2, CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
	unsigned int element)
{
	struct memory_range wish;
	CUresult result = enter_alloc(__func__, out, 0, MEMORY_DEVICE, &wish);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (pitch == NULL || width == 0 || height == 0
	    || (element != 4 && element != 8 && element != 16)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: no pitch, no size, or elements of not 4, 8 or 16 bytes", __func__);
	}
	size_t row = width <= SIZE_MAX - 512 ? round_up(width, 512) : SIZE_MAX;
	if (!size_mul(&wish.size, row, height)) {
		wish.size = SIZE_MAX;
	}
	result = allocate(__func__, out, &wish);
	if (result == CUDA_SUCCESS) {
		*pitch = row;
	}
	return result;
}

API(cuMemHostAlloc, void **out, size_t size, unsigned int flags)
{
	const unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP
		| CU_MEMHOSTALLOC_WRITECOMBINED;
	struct memory_range wish;
	CUdeviceptr address;
	CUresult result = enter_alloc(__func__, out, size, MEMORY_HOST, &wish);
	if (result == CUDA_SUCCESS && (flags & ~known)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__, flags);
	}
	if (result == CUDA_SUCCESS) {
		result = allocate(__func__, &address, &wish);
		*out = (void *)(uintptr_t)address;
	}
	return result;
}

API(cuMemAllocHost_v2, void **out, size_t size)
{
	return cuMemHostAlloc(out, size, 0);
}

/* Kernels of other threads may still use what is to be freed. */
static CUresult release(const char *call, CUdeviceptr address, const enum memory_kind *kinds,
	size_t count)
{
	struct context *context;
	CUresult result = api_enter_release(call, &context);
	if (result != CUDA_SUCCESS || address == 0) {
		return result;
	}
	context_wait(context);
	for (size_t i = 0; i < count; i++) {
		if (memory_free(context->device->memory, address, kinds[i])) {
			return CUDA_SUCCESS;
		}
	}
	char where[128];
	memory_describe(context->device->memory, address, where, sizeof(where));
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: no allocation starts at 0x%llx, which is %s",
		call, address, where);
}

API(cuMemFree_v2, CUdeviceptr address)
{
	static const enum memory_kind kinds[] = {MEMORY_DEVICE, MEMORY_MANAGED};
	return release(__func__, address, kinds, countof(kinds));
}

API(cuMemFreeHost, void *address)
{
	static const enum memory_kind kinds[] = {MEMORY_HOST};
	return release(__func__, (uintptr_t)address, kinds, countof(kinds));
}

API(cuMemAllocAsync, CUdeviceptr *out, size_t size, CUstream stream)
{
	struct memory_range wish;
	struct turn turn;
	CUresult result = enter_alloc(__func__, out, size, MEMORY_DEVICE, &wish);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	wish.is_pooled = true;
	result = turn_begin(&turn, __func__, (struct context *)wish.owner, stream);
	if (result == CUDA_SUCCESS) {
		turn_end(&turn);
		result = allocate(__func__, out, &wish);
	}
	return result;
}
API_ALIAS(cuMemAllocAsync_ptsz, cuMemAllocAsync);

API(cuMemFreeAsync, CUdeviceptr address, CUstream stream)
{
	struct context *context;
	struct turn turn;
	CUresult result = api_enter_release(__func__, &context);
	if (result != CUDA_SUCCESS || address == 0) {
		return result;
	}
	result = turn_begin(&turn, __func__, context, stream);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct memory_range range;
	bool freed = memory_find(context->device->memory, address, &range) && range.is_pooled
		&& memory_free(context->device->memory, address, MEMORY_DEVICE);
	turn_end(&turn);
	return freed ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: 0x%llx does not come from cuMemAllocAsync", __func__, address);
}
API_ALIAS(cuMemFreeAsync_ptsz, cuMemFreeAsync);

API(cuDeviceGetDefaultMemPool, CUmemoryPool *out, CUdevice device)
{
	CUresult result = api_need(api_check_device(__func__, device), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = POOL;
	}
	return result;
}
API_ALIAS(cuDeviceGetMemPool, cuDeviceGetDefaultMemPool);

static CUresult enter_pool(const char *call, CUmemoryPool pool)
{
	CUresult result = api_ready(call);
	return result != CUDA_SUCCESS || pool == POOL ? result
		: api_fail(CUDA_ERROR_INVALID_VALUE, "%s: not the device's memory pool", call);
}

/* Freed memory goes back at once, so there is nothing to trim. */
API(cuMemPoolTrimTo, CUmemoryPool pool, size_t keep)
{
	(void)keep;
	return enter_pool(__func__, pool);
}

/* The pool's memory, or none while there is no context. */
static struct memory *pool_memory(struct memory_use *use)
{
	struct context *context;
	memset(use, 0, sizeof(*use));
	if (api_enter_release("cuMemPoolGetAttribute", &context) != CUDA_SUCCESS) {
		return NULL;
	}
	*use = memory_usage(context->device->memory);
	return context->device->memory;
}

API(cuMemPoolGetAttribute, CUmemoryPool pool, CUmemPool_attribute attribute, void *out)
{
	struct memory_use use;
	CUresult result = api_need(enter_pool(__func__, pool), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)out = atomic_load(&pool_reuse[attribute - 1]);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(cuuint64_t *)out = atomic_load(&pool_threshold);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		pool_memory(&use);
		*(cuuint64_t *)out = use.pooled;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		pool_memory(&use);
		*(cuuint64_t *)out = use.pooled_peak;
		return CUDA_SUCCESS;
	}
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown attribute %d", __func__,
		(int)attribute);
}

API(cuMemPoolSetAttribute, CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	struct memory_use use;
	CUresult result = api_need(enter_pool(__func__, pool), __func__, value);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	switch ((unsigned)attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		atomic_store(&pool_reuse[attribute - 1], *(const int *)value);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		atomic_store(&pool_threshold, *(const cuuint64_t *)value);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		if (*(const cuuint64_t *)value == 0) {
			struct memory *memory = pool_memory(&use);
			if (memory != NULL) {
				memory_reset_peak(memory);
			}
			return CUDA_SUCCESS;
		}
		break;
	}
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: attribute %d cannot be set to this", __func__,
		(int)attribute);
}

/* What the address of an allocation is asked for most. */
static CUresult find_range(const char *call, CUdeviceptr address, struct context **context,
	struct memory_range *range)
{
	CUresult result = api_enter(call, context);
	if (result != CUDA_SUCCESS || memory_find((*context)->device->memory, address, range)) {
		return result;
	}
	char where[128];
	memory_describe((*context)->device->memory, address, where, sizeof(where));
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: 0x%llx is %s", call, address, where);
}

API(cuMemGetAddressRange_v2, CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
	struct context *context;
	struct memory_range range;
	CUresult result = find_range(__func__, address, &context, &range);
	if (result == CUDA_SUCCESS && base != NULL) {
		*base = range.address;
	}
	if (result == CUDA_SUCCESS && size != NULL) {
		*size = range.size;
	}
	return result;
}

API(cuMemHostGetDevicePointer_v2, CUdeviceptr *out, void *host, unsigned int flags)
{
	struct context *context;
	struct memory_range range;
	CUresult result = api_need(
		find_range(__func__, (uintptr_t)host, &context, &range), __func__, out);
	if (result == CUDA_SUCCESS && (flags != 0 || range.kind != MEMORY_HOST)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: not pinned host memory, or flags that"
			" are not 0", __func__);
	}
	if (result == CUDA_SUCCESS) {
		*out = (uintptr_t)host;
	}
	return result;
}

static CUresult get_attribute(const char *call, void *out, CUpointer_attribute attribute,
	CUdeviceptr address, const struct memory_range *range)
{
	const struct context *owner = range->owner;
	bool on_host = range->kind == MEMORY_HOST || range->kind == MEMORY_MANAGED;
	switch ((unsigned)attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)out = owner->handle;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)out = range->kind == MEMORY_HOST ? CU_MEMORYTYPE_HOST
			: CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)out = address;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (on_host) {
			*(void **)out = (void *)(uintptr_t)address;
			return CUDA_SUCCESS;
		}
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		*(int *)out = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)out = range->id;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(int *)out = range->kind == MEMORY_MANAGED;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)out = range->address;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)out = range->size;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(int *)out = 1;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(int *)out = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)out = range->is_pooled ? POOL : NULL;
		return CUDA_SUCCESS;
	default:
		break;
	}
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: this memory has no attribute %d", call,
		(int)attribute);
}

API(cuPointerGetAttribute, void *out, CUpointer_attribute attribute, CUdeviceptr address)
{
	struct context *context;
	struct memory_range range;
	CUresult result = api_need(find_range(__func__, address, &context, &range), __func__, out);
	return result != CUDA_SUCCESS ? result
		: get_attribute(__func__, out, attribute, address, &range);
}

/* The size of an attribute's value. */
static size_t attribute_size(CUpointer_attribute attribute)
{
	switch ((unsigned)attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		return 8;
	default:
		return 4;
	}
}

/* Unlike the singular form, it answers for any address: zeros where there is nothing to say. */
API(cuPointerGetAttributes, unsigned int count, CUpointer_attribute *list, void **out,
	CUdeviceptr address)
{
	struct context *context;
	struct memory_range range;
	CUresult result = api_enter(__func__, &context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (count == 0 || list == NULL || out == NULL) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: nothing is asked for", __func__);
	}
	bool found = memory_find(context->device->memory, address, &range);
	for (unsigned i = 0; i < count; i++) {
		if (out[i] == NULL) {
			return api_null(__func__, "a result");
		}
		if (!found || get_attribute(__func__, out[i], list[i], address, &range)
				!= CUDA_SUCCESS) {
			memset(out[i], 0, attribute_size(list[i]));
		}
	}
	return CUDA_SUCCESS;
}
