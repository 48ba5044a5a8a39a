/* SPDX-License-Identifier: MIT */
/*
 * Registered host memory.  Kernels can use the program's memory at its own addresses anyway, so
 * registering only keeps a list of ranges for the calls that ask for them.  A range ends with the
 * context that registered it; until then it is registered for every context, because all devices
 * share one address space.  The functions for the attributes of pinned memory are here, too.
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
	unsigned device;            /* of its context */
	struct host_range *next;
};

/* The ranges of all contexts.  The lock is taken before that of a context. */
static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
static struct host_range *host_ranges;

static void host_free(struct object *object)
{
	pthread_mutex_lock(&host_lock);
	struct host_range **link = &host_ranges;
	while (&(*link)->object != object) {
		link = &(*link)->next;
	}
	*link = (*link)->next;
	pthread_mutex_unlock(&host_lock);
	object_remove(object);
	mem_free(object);
}

static const struct host_range *host_overlap_locked(uint64_t start, size_t size)
{
	const struct host_range *range = host_ranges;
	while (range && (start >= range->start + range->size || range->start >= start + size)) {
		range = range->next;
	}
	return range;
}

/* The range that holds an address. */
static bool host_find_range(uint64_t address, struct host_range *out)
{
	pthread_mutex_lock(&host_lock);
	const struct host_range *range = host_overlap_locked(address, 1);
	if (range) {
		*out = *range;
	}
	pthread_mutex_unlock(&host_lock);
	return range;
}

bool host_find(uint64_t address, struct memory_range *out)
{
	struct host_range range;
	if (!host_find_range(address, &range)) {
		return false;
	}
	*out = (struct memory_range){.address = range.start, .size = range.size,
		.kind = MEMORY_HOST, .device = range.device, .id = (uintptr_t)range.object.handle,
		.owner = range.object.context};
	return true;
}

bool host_is_mapped(uint64_t start, size_t size)
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

static CUresult host_is_registered(const char *call)
{
	return api_fail(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
		"%s: some of the memory is pinned or registered", call);
}

static CUresult host_check_register(const char *call, struct context *context, uint64_t start,
	size_t size, unsigned flags)
{
	const unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP
		| CU_MEMHOSTREGISTER_READ_ONLY;
	if (flags & CU_MEMHOSTREGISTER_IOMEMORY) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: memory of devices cannot be registered", call);
	}
	if (start == 0 || size == 0 || start + size < start || (flags & ~known)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: no memory, no size, or unknown flags 0x%x", call, flags);
	}
	if (memory_covers(context->device->memory, start)) {
		return host_is_registered(call);
	}
	return host_is_mapped(start, size) ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: there is no memory at some of the addresses", call);
}

/* Add a range unless it overlaps with another one. */
static CUresult host_add(const char *call, struct context *context, struct host_range *range)
{
	CUresult result = CUDA_SUCCESS;
	pthread_mutex_lock(&host_lock);
	if (host_overlap_locked(range->start, range->size)) {
		result = host_is_registered(call);
	} else if (!object_add(&range->object, context, API_HOST, host_free)) {
		result = api_no_memory(call);
	} else {
		range->next = host_ranges;
		host_ranges = range;
	}
	pthread_mutex_unlock(&host_lock);
	return result;
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
	if (!range) {
		return api_no_memory(__func__);
	}
	*range = (struct host_range){.start = start, .size = size, .flags = flags,
		.device = context->device->ordinal};
	result = host_add(__func__, context, range);
	if (result != CUDA_SUCCESS) {
		mem_free(range);
	}
	return result;
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
	if (host_find_range(start, &range)) {
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
	result = context_wait(object->context);
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
	if (host_find_range((uintptr_t)memory, &own)) {
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
