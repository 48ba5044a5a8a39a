/* SPDX-License-Identifier: MIT */
/*
 * Allocations.  Device, managed and pinned memory differ in name only: all of it is host memory in
 * the range of addresses that mem/device_memory.c keeps.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "cpu/stream/cu_capture.h"
#include "cpu/stream/graph_memory.h"

#include <string.h>

static CUresult memory_enter_alloc(const char *call, const void *out, size_t size,
	enum memory_kind kind, struct memory_range *wish)
{
	struct context *context;
	CUresult result = api_need(api_enter(call, &context), call, out);
	if (result == CUDA_SUCCESS) {
		result = capture_check_unsafe(call);
	}
	if (result == CUDA_SUCCESS) {
		*wish = (struct memory_range){.size = size, .kind = kind, .owner = context,
			.device = context->device->ordinal};
	}
	return result;
}

API(cuMemGetInfo_v2, size_t *free_size, size_t *total)
{
	struct context *context;
	CUresult result = api_enter(__func__, &context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct memory_use use = memory_usage(context->device->memory,
		context->device->ordinal);
	if (total) {
		*total = use.limit;
	}
	if (free_size) {
		*free_size = use.limit - use.used;
	}
	return CUDA_SUCCESS;
}

API(cuMemAlloc_v2, CUdeviceptr *out, size_t size)
{
	struct memory_range wish;
	CUresult result = memory_enter_alloc(__func__, out, size, MEMORY_DEVICE, &wish);
	return result == CUDA_SUCCESS ? api_allocate(__func__, out, &wish) : result;
}

API(cuMemAllocManaged, CUdeviceptr *out, size_t size, unsigned int flags)
{
	struct memory_range wish;
	CUresult result = memory_enter_alloc(__func__, out, size, MEMORY_MANAGED, &wish);
	if (result == CUDA_SUCCESS && flags != CU_MEM_ATTACH_GLOBAL
	    && flags != CU_MEM_ATTACH_HOST) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__,
			flags);
	}
	return result == CUDA_SUCCESS ? api_allocate(__func__, out, &wish) : result;
}

API(cuMemAllocPitch_v2, CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
	unsigned int element)
{
	struct memory_range wish;
	CUresult result = memory_enter_alloc(__func__, out, 0, MEMORY_DEVICE, &wish);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (!pitch || width == 0 || height == 0
	    || (element != 4 && element != 8 && element != 16)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: no pitch, no size, or elements of not 4, 8 or 16 bytes", __func__);
	}
	if (width > SIZE_MAX - 512) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: rows of %zu bytes", __func__, width);
	}
	size_t row = round_up(width, 512);
	if (!size_mul(&wish.size, row, height)) {
		wish.size = SIZE_MAX;
	}
	result = api_allocate(__func__, out, &wish);
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
	CUresult result = memory_enter_alloc(__func__, out, size, MEMORY_HOST, &wish);
	if (result == CUDA_SUCCESS && (flags & ~known)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__,
			flags);
	}
	if (result == CUDA_SUCCESS) {
		wish.flags = flags;
		result = api_allocate(__func__, &address, &wish);
		*out = (void *)(uintptr_t)address;
	}
	return result;
}

API(cuMemAllocHost_v2, void **out, size_t size)
{
	return cuMemHostAlloc(out, size, 0);
}

/* Wait first, for kernels of other threads may still use the memory.  In a context that has failed
 * the memory is freed, too, and the result is that failure. */
static CUresult memory_release_address(const char *call, CUdeviceptr address, bool is_host)
{
	struct context *context;
	CUresult result = api_enter_release(call, &context);
	if (result == CUDA_SUCCESS && address != 0) {
		result = capture_check_unsafe(call);
	}
	if (result != CUDA_SUCCESS || address == 0) {
		return result;
	}
	result = context_wait(context);
	enum graph_leave leave = graph_memory_leave(address);
	if (leave == LEAVE_LIVE) {
		graph_memory_drop(address);
		return result;
	}
	struct device_memory *memory = context->device->memory;
	if (leave == LEAVE_FOREIGN && (is_host ? memory_free(memory, address, MEMORY_HOST)
			: memory_free_ordered(memory, address)
			|| memory_free(memory, address, MEMORY_MANAGED))) {
		return result;
	}
	char where[128];
	memory_describe(memory, address, where, sizeof(where));
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: no allocation starts at 0x%llx, which is %s",
		call, address, where);
}

API(cuMemFree_v2, CUdeviceptr address)
{
	return memory_release_address(__func__, address, false);
}

API(cuMemFreeHost, void *address)
{
	return memory_release_address(__func__, (uintptr_t)address, true);
}
