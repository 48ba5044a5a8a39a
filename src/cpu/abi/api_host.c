/* SPDX-License-Identifier: MIT */
/*
 * Registered host memory.  Kernels can use the program's memory at its own addresses anyway, so
 * registering only keeps a list of ranges for the calls that ask for them.  The functions for the
 * attributes of pinned memory are here, too.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "base/alloc.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

struct host_range {
	struct object object;
	uint64_t start;
	size_t size;
	unsigned flags;
};

static void host_free(struct object *object)
{
	object_remove(object);
	mem_free(object);
}

/* Find a registered range of a context that overlaps with another range. */
static bool host_find_overlap(struct context *context, uint64_t start, size_t size,
	struct host_range *out)
{
	bool found = false;
	pthread_mutex_lock(&context->lock);
	const struct object *object = context->objects;
	for (; object && !found; object = object->next) {
		const struct host_range *range = (const struct host_range *)object;
		found = object->kind == API_HOST && start < range->start + range->size
			&& range->start < start + size;
		if (found) {
			*out = *range;
		}
	}
	pthread_mutex_unlock(&context->lock);
	return found;
}

bool host_find(struct context *context, uint64_t address, struct memory_range *out)
{
	struct host_range range;
	if (!host_find_overlap(context, address, 1, &range)) {
		return false;
	}
	*out = (struct memory_range){.address = range.start, .size = range.size,
		.kind = MEMORY_HOST, .id = (uintptr_t)range.object.handle, .owner = context};
	return true;
}

/* True if all pages of a range are mapped. */
static bool host_is_mapped(uint64_t start, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t first = start & ~(uint64_t)(page - 1);
	for (; first < start + size; first += page) {
		unsigned char resident;
		if (mincore((void *)(uintptr_t)first, page, &resident) != 0 && errno == ENOMEM) {
			return false;
		}
	}
	return true;
}

static CUresult host_check_register(const char *call, struct context *context, uint64_t start,
	size_t size, unsigned flags)
{
	const unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP
		| CU_MEMHOSTREGISTER_READ_ONLY;
	struct host_range other;
	if (flags & CU_MEMHOSTREGISTER_IOMEMORY) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: memory of devices cannot be registered", call);
	}
	if (start == 0 || size == 0 || start + size < start || (flags & ~known)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: no memory, no size, or unknown flags 0x%x", call, flags);
	}
	if (memory_covers(context->device->memory, start)
	    || host_find_overlap(context, start, size, &other)) {
		return api_fail(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
			"%s: some of the memory is pinned or registered", call);
	}
	return host_is_mapped(start, size) ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: there is no memory at some of the addresses", call);
}

API(cuMemHostRegister_v2, void *memory, size_t size, unsigned int flags)
{
	struct context *context;
	uint64_t start = (uintptr_t)memory;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS) {
		result = host_check_register(__func__, context, start, size, flags);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct host_range *range = mem_alloc(sizeof(*range));
	if (range) {
		*range = (struct host_range){.start = start, .size = size, .flags = flags};
	}
	if (!range || !object_add(&range->object, context, API_HOST, host_free)) {
		mem_free(range);
		return api_no_memory(__func__);
	}
	return CUDA_SUCCESS;
}

API(cuMemHostUnregister, void *memory)
{
	struct context *context;
	uint64_t start = (uintptr_t)memory;
	CUresult result = api_enter_release(__func__, &context);
	if (result == CUDA_SUCCESS && start == 0) {
		return api_null(__func__, "the memory");
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct host_range range;
	struct object *object = NULL;
	if (host_find_overlap(context, start, 1, &range)) {
		if (range.start != start) {
			return api_fail(CUDA_ERROR_INVALID_VALUE,
				"%s: %p is inside registered memory, not its start", __func__,
				memory);
		}
		object = handle_claim(range.object.handle, API_HOST);
	}
	if (!object) {
		return api_fail(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
			"%s: no registered memory starts there", __func__);
	}
	result = context_wait(context);
	host_free(object);
	return result;
}

API(cuMemHostGetFlags, unsigned int *out, void *memory)
{
	struct context *context;
	struct memory_range range;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct host_range own;
	if (host_find_overlap(context, (uintptr_t)memory, 1, &own)) {
		*out = own.flags | CU_MEMHOSTREGISTER_DEVICEMAP;
		return CUDA_SUCCESS;
	}
	if (!memory_find(context->device->memory, (uintptr_t)memory, &range)
	    || range.kind != MEMORY_HOST) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: not pinned host memory", __func__);
	}
	*out = range.flags | CU_MEMHOSTALLOC_DEVICEMAP; // all of it has an address for kernels
	return CUDA_SUCCESS;
}
