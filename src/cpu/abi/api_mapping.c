/* SPDX-License-Identifier: MIT */
/*
 * Virtual memory management.  Programs create blocks of memory, reserve ranges of addresses, and
 * map blocks at addresses, one block at several addresses if they like.  A block is a part of one
 * file in memory that all blocks share.  A block that other processes can open has a file of its
 * own.
 *
 * A block has one handle for its whole life.  It lives until it has been released as often as it
 * was created or retained, and is mapped nowhere.  A program can get the handle again from an
 * address where the block is mapped.  Nothing here needs a context.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "base/alloc.h"
#include "base/checks.h"
#include "cpu/config/settings.h"
#include "cpu/mem/memory_map.h"
#include "cpu/mem/system_refusal.h"
#include "cpu/mem/share.h"
#include "cpu/mem/unwritten.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRANULARITY ((size_t)2 << 20) /* as NVIDIA's devices have */
#define MAX_ALIGN ((size_t)1 << 47)    /* where addresses of programs end */
#define SEALS (F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

struct backing {
	void *handle;
	CUmemAllocationProp prop;
	size_t size;
	int file;          /* its own, or the shared one */
	uint64_t offset;
	size_t handles;    /* that the program has to release */
	size_t maps;
};

static struct {
	pthread_mutex_t lock; /* of everything here, and of all blocks */
	struct device_memory *memory;
	size_t uses;          /* blocks and reservations, each a use of the memory */
	size_t shared_blocks;
	int shared_file;
	uint64_t next;        /* where the shared file ends */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- The memory and the files --- */

/* The lock is held. */
static bool mapping_use_memory(void)
{
	struct device_memory *memory = api_retain_memory();
	if (!memory) {
		return false;
	}
	state.memory = memory;
	state.uses++;
	return true;
}

static void mapping_unuse_memory(void)
{
	if (--state.uses == 0) {
		state.memory = NULL;
	}
	api_release_memory();
}

/* No offset of the shared file is used twice, so that a new block is all zero. */
static bool mapping_open_shared(struct backing *block)
{
	uint64_t end;
	if (state.shared_blocks == 0) {
		state.next = 0;
		state.shared_file = memfd_create("kudzu", MFD_CLOEXEC);
	}
	if (state.shared_file < 0) {
		refusal_note("memfd_create");
		return false;
	}
	if (!size_add(&end, state.next, block->size) || end > INT64_MAX
	    || !share_grow(state.shared_file, end)) {
		if (state.shared_blocks == 0) {
			close(state.shared_file);
		}
		return false;
	}
	block->file = state.shared_file;
	block->offset = state.next;
	state.next = end;
	state.shared_blocks++;
	return true;
}

/* The file is sealed: a process that made it shorter would break the mappings of others. */
static bool mapping_open_own(struct backing *block)
{
	block->file = memfd_create("kudzu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (block->file < 0) {
		refusal_note("memfd_create");
		return false;
	}
	if (share_grow(block->file, block->size)
	    && fcntl(block->file, F_ADD_SEALS, SEALS) == 0) {
		return true;
	}
	close(block->file);
	return false;
}

static bool mapping_backing_is_shared(const struct backing *block)
{
	return block->prop.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE;
}

static void mapping_backing_close_file(const struct backing *block)
{
	if (!mapping_backing_is_shared(block) || --state.shared_blocks == 0) {
		close(block->file);
	} else {
		// Give the memory back.  A failure would only waste it.
		(void)fallocate(block->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)block->offset, (off_t)block->size);
	}
}

/* --- Blocks --- */

/* Make a new block unwritten, if kernels that use what nothing has written are told. */
static void mapping_mark_unwritten(const struct backing *block)
{
	if (!settings_has_check(CHECK_INIT)
	    || block->prop.location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
		return;
	}
	void *at = mmap(NULL, block->size, PROT_READ | PROT_WRITE, MAP_SHARED, block->file,
		(off_t)block->offset);
	if (at != MAP_FAILED) { // else the check sees zeros
		unwritten_fill((uintptr_t)at, block->size);
		munmap(at, block->size);
	}
}

/* The device whose memory counts a block; the host's blocks count as the first one's. */
static unsigned mapping_block_device(const CUmemAllocationProp *prop)
{
	return prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? (unsigned)prop->location.id : 0;
}

static CUresult mapping_check_prop(const char *call, const CUmemAllocationProp *prop)
{
	if (!prop) {
		return api_null(call, "the properties");
	}
	unsigned type = prop->location.type;
	bool is_host = type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
	if (prop->type == CU_MEM_ALLOCATION_TYPE_MANAGED) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED, "%s: managed memory cannot be mapped",
			call);
	}
	if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED
	    || (!is_host && type != CU_MEM_LOCATION_TYPE_DEVICE) || prop->win32HandleMetaData
	    || (is_host && prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: type %d at location %u, handles 0x%x",
			call, (int)prop->type, type, (unsigned)prop->requestedHandleTypes);
	}
	if (type == CU_MEM_LOCATION_TYPE_HOST_NUMA && prop->location.id != 0) {
		return api_fail(CUDA_ERROR_INVALID_DEVICE, "%s: there is no NUMA node %d", call,
			prop->location.id);
	}
	if (!is_host) {
		CUresult result = api_check_device(call, prop->location.id);
		if (result != CUDA_SUCCESS) {
			return result;
		}
	}
	if ((prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
	    || prop->allocFlags.usage != 0 || prop->allocFlags.gpuDirectRDMACapable != 0) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED, "%s: the CPU device has no handles of "
			"types 0x%x, no usage 0x%x and no remote access", call,
			(unsigned)prop->requestedHandleTypes, prop->allocFlags.usage);
	}
	return CUDA_SUCCESS;
}

/* The lock is held. */
static struct backing *mapping_find_block(CUmemGenericAllocationHandle handle)
{
	struct backing *block = handle_get((const void *)(uintptr_t)handle, API_BLOCK);
	return block && block->handles > 0 ? block : NULL;
}

static CUresult mapping_bad_block(const char *call)
{
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: not the handle of a live block of memory",
		call);
}

/* The lock is held. */
static void mapping_drop_unused(struct backing *block)
{
	if (block->handles == 0 && block->maps == 0) {
		handle_release(block->handle);
		mapping_backing_close_file(block);
		memory_give(state.memory, mapping_block_device(&block->prop), block->size);
		mem_free(block);
		mapping_unuse_memory();
	}
}

/* A block of an open file, or of no file yet.  The lock is held. */
static CUresult mapping_backing_create_locked(const char *call, CUmemGenericAllocationHandle *out,
	const struct backing *wish)
{
	bool has_use = false;
	bool has_bytes = false;
	struct backing *block = mem_alloc(sizeof(*block));
	if (!block || !(has_use = mapping_use_memory())
	    || !(has_bytes = memory_take(state.memory, mapping_block_device(&wish->prop),
		wish->size))) {
		goto fail;
	}
	*block = *wish;
	block->handles = 1;
	block->handle = handle_create(API_BLOCK, block);
	const bool is_new = block->file < 0;
	if (!block->handle || (is_new
			&& !(mapping_backing_is_shared(block) ? mapping_open_shared(block)
				: mapping_open_own(block)))) {
		handle_release(block->handle);
		goto fail;
	}
	if (is_new) {
		mapping_mark_unwritten(block);
	}
	*out = (uintptr_t)block->handle;
	return CUDA_SUCCESS;
fail:
	if (has_bytes) {
		memory_give(state.memory, mapping_block_device(&wish->prop), wish->size);
	}
	if (has_use) {
		mapping_unuse_memory();
	}
	mem_free(block);
	return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: no room for %zu bytes", call, wish->size);
}

API(cuMemCreate, CUmemGenericAllocationHandle *out, size_t size, const CUmemAllocationProp *prop,
	unsigned long long flags)
{
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = mapping_check_prop(__func__, prop);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (size == 0 || size % GRANULARITY != 0 || flags != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes are not a positive"
			" multiple of %zu, or the flags are not 0", __func__, size, GRANULARITY);
	}
	struct backing wish = {.prop = *prop, .size = size, .file = -1};
	wish.prop.allocFlags.compressionType = 0;
	pthread_mutex_lock(&state.lock);
	result = mapping_backing_create_locked(__func__, out, &wish);
	pthread_mutex_unlock(&state.lock);
	return result;
}

API(cuMemRelease, CUmemGenericAllocationHandle handle)
{
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	struct backing *block = mapping_find_block(handle);
	if (block) {
		block->handles--;
		mapping_drop_unused(block);
	}
	pthread_mutex_unlock(&state.lock);
	return block ? CUDA_SUCCESS : mapping_bad_block(__func__);
}

API(cuMemRetainAllocationHandle, CUmemGenericAllocationHandle *out, void *address)
{
	struct memory_range range;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	bool found = state.memory
		&& memory_find(state.memory, (uintptr_t)address, &range)
		&& range.kind == MEMORY_MAPPED;
	if (found) {
		struct backing *block = range.block;
		block->handles++;
		*out = (uintptr_t)block->handle;
	}
	pthread_mutex_unlock(&state.lock);
	return found ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: nothing is mapped at %p", __func__, address);
}

API(cuMemGetAllocationPropertiesFromHandle, CUmemAllocationProp *out,
	CUmemGenericAllocationHandle handle)
{
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	const struct backing *block = mapping_find_block(handle);
	if (block) {
		*out = block->prop;
	}
	pthread_mutex_unlock(&state.lock);
	return block ? CUDA_SUCCESS : mapping_bad_block(__func__);
}

API(cuMemGetAllocationGranularity, size_t *out, const CUmemAllocationProp *prop,
	CUmemAllocationGranularity_flags option)
{
	CUmemAllocationProp typed;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS && prop && prop->type == CU_MEM_ALLOCATION_TYPE_INVALID) {
		typed = *prop;
		typed.type = CU_MEM_ALLOCATION_TYPE_PINNED;
		prop = &typed;
	}
	if (result == CUDA_SUCCESS) {
		result = mapping_check_prop(__func__, prop);
	}
	if (result == CUDA_SUCCESS && (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown option %d", __func__,
			(int)option);
	}
	if (result == CUDA_SUCCESS) {
		*out = GRANULARITY;
	}
	return result;
}

/* --- Blocks of other processes --- */

API(cuMemExportToShareableHandle, void *out, CUmemGenericAllocationHandle handle,
	CUmemAllocationHandleType type, unsigned long long flags)
{
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	int file = -1;
	pthread_mutex_lock(&state.lock);
	const struct backing *block = mapping_find_block(handle);
	bool fits = block && flags == 0 && type != CU_MEM_HANDLE_TYPE_NONE
		&& block->prop.requestedHandleTypes == type;
	if (fits) {
		file = fcntl(block->file, F_DUPFD_CLOEXEC, 0);
	}
	pthread_mutex_unlock(&state.lock);
	if (!block) {
		return mapping_bad_block(__func__);
	}
	if (!fits) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: the block was not created for handles of type %d, or flags are not 0",
			__func__, (int)type);
	}
	if (file < 0) {
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: no more file descriptors", __func__);
	}
	memcpy(out, &file, sizeof(file));
	return CUDA_SUCCESS;
}

API(cuMemImportFromShareableHandle, CUmemGenericAllocationHandle *out, void *os_handle,
	CUmemAllocationHandleType type)
{
	struct backing wish = {.prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}}};
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED, "%s: only files are shared, not type %d",
			__func__, (int)type);
	}
	struct stat info;
	int file = (uintptr_t)os_handle <= INT_MAX ? (int)(uintptr_t)os_handle : -1;
	if (file < 0 || fcntl(file, F_GET_SEALS) != SEALS || fstat(file, &info) != 0
	    || info.st_size <= 0 || (size_t)info.st_size % GRANULARITY != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %p is not an exported block",
			__func__, os_handle);
	}
	wish.size = (size_t)info.st_size;
	wish.file = fcntl(file, F_DUPFD_CLOEXEC, 0);
	if (wish.file < 0) {
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: no more file descriptors", __func__);
	}
	pthread_mutex_lock(&state.lock);
	result = mapping_backing_create_locked(__func__, out, &wish);
	pthread_mutex_unlock(&state.lock);
	if (result != CUDA_SUCCESS) {
		close(wish.file);
	}
	return result;
}

/* --- Addresses --- */

API(cuMemAddressReserve, CUdeviceptr *out, size_t size, size_t align, CUdeviceptr hint,
	unsigned long long flags)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (size == 0 || size % page != 0 || hint % page != 0 || (align & (align - 1)) != 0
	    || align >= MAX_ALIGN || flags != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes at 0x%llx, aligned to %zu;"
			" size and address are multiples of %zu, an alignment is a power of two "
			"below 2^47", __func__, size, hint, align, page);
	}
	uint64_t address = 0;
	pthread_mutex_lock(&state.lock);
	if (mapping_use_memory()) {
		address = memory_reserve(state.memory, size,
			align > GRANULARITY ? align : GRANULARITY, hint);
		if (address == 0) {
			mapping_unuse_memory();
		}
	}
	pthread_mutex_unlock(&state.lock);
	if (address == 0) {
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: no room for %zu bytes", __func__,
			size);
	}
	*out = address;
	return CUDA_SUCCESS;
}

API(cuMemAddressFree, CUdeviceptr address, size_t size)
{
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	bool ok = state.memory && memory_unreserve(state.memory, address, size);
	if (ok) {
		mapping_unuse_memory();
	}
	pthread_mutex_unlock(&state.lock);
	return ok ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes at 0x%llx were"
		" not reserved like that, or something is mapped there", __func__, size, address);
}

/* The lock is held. */
static CUresult mapping_map_locked(const char *call, CUdeviceptr address, size_t size,
	CUmemGenericAllocationHandle handle)
{
	struct backing *block = mapping_find_block(handle);
	if (!block) {
		return mapping_bad_block(call);
	}
	if (size > block->size) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED, "%s: %zu bytes of a block of %zu", call,
			size, block->size);
	}
	const struct memory_range wish = {.size = size, .block = block,
		.device = mapping_block_device(&block->prop),
		.flags = (unsigned)block->prop.requestedHandleTypes,
		.is_host = block->prop.location.type != CU_MEM_LOCATION_TYPE_DEVICE};
	switch (memory_map(state.memory, address, &wish, block->file, block->offset)) {
	case MEMORY_MAP_DONE:
		block->maps++;
		return CUDA_SUCCESS;
	case MEMORY_MAP_NOT_RESERVED:
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: %zu bytes at 0x%llx are not within one reservation", call, size,
			address);
	case MEMORY_MAP_IN_USE:
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: something is mapped in the %zu bytes at 0x%llx", call, size, address);
	default:
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: host memory or the number of "
			"mappings of a process has run out", call);
	}
}

API(cuMemMap, CUdeviceptr address, size_t size, size_t offset,
	CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (size == 0 || size % GRANULARITY != 0 || address % GRANULARITY != 0 || offset != 0
	    || flags != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes at 0x%llx, which are not"
			" multiples of %zu, or an offset or flags that are not 0", __func__, size,
			address, GRANULARITY);
	}
	pthread_mutex_lock(&state.lock);
	result = mapping_map_locked(__func__, address, size, handle);
	pthread_mutex_unlock(&state.lock);
	return result;
}

/* Work that the current context has begun may still use the memory. */
static void mapping_wait_for_current(void)
{
	struct context *context = api_current();
	if (context) {
		context_wait(context);
	}
}

API(cuMemUnmap, CUdeviceptr address, size_t size)
{
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	mapping_wait_for_current();
	pthread_mutex_lock(&state.lock);
	struct mapping *gone = state.memory && size > 0
		? memory_unmap(state.memory, address, size) : NULL;
	for (const struct mapping *mapping = gone; mapping; mapping = mapping->next) {
		struct backing *block = mapping->range.block;
		block->maps--;
		mapping_drop_unused(block);
	}
	pthread_mutex_unlock(&state.lock);
	if (!gone) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes at 0x%llx are not whole"
			" mappings, side by side", __func__, size, address);
	}
	mapping_free(gone);
	return CUDA_SUCCESS;
}

/* Read a description of access; *who is the device or the host that gets it. */
static CUresult mapping_read_access(const char *call, const CUmemAccessDesc *desc, unsigned *who)
{
	const unsigned flags = desc->flags;
	if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && flags != CU_MEM_ACCESS_FLAGS_PROT_READ
	    && flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", call, flags);
	}
	switch ((unsigned)desc->location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		*who = (unsigned)desc->location.id;
		return api_check_device(call, desc->location.id);
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		*who = MEMORY_BY_HOST;
		return CUDA_SUCCESS;
	default:
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown location %d", call,
			(int)desc->location.type);
	}
}

API(cuMemSetAccess, CUdeviceptr address, size_t size, const CUmemAccessDesc *list, size_t count)
{
	struct memory_access access = {0}, whose = {0};
	CUresult result = api_ready(__func__);
	if (result == CUDA_SUCCESS && (!list || count == 0)) {
		return api_null(__func__, "the list");
	}
	for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
		unsigned who;
		result = mapping_read_access(__func__, &list[i], &who);
		if (result == CUDA_SUCCESS) {
			memory_access_set(&access, who, list[i].flags);
			memory_access_set(&whose, who, 3);
		}
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	mapping_wait_for_current();
	pthread_mutex_lock(&state.lock);
	bool ok = state.memory && size > 0
		&& memory_protect(state.memory, address, size, access, whose);
	pthread_mutex_unlock(&state.lock);
	if (!ok && api_log_refusal()) {
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	return ok ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes at 0x%llx are"
		" not whole mappings, side by side", __func__, size, address);
}

API(cuMemGetAccess, unsigned long long *out, const CUmemLocation *location, CUdeviceptr address)
{
	struct memory_range range;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS && !location) {
		return api_null(__func__, "the location");
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	unsigned who;
	const CUmemAccessDesc desc = {.location = *location};
	if ((result = mapping_read_access(__func__, &desc, &who)) != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	bool found = state.memory && memory_find(state.memory, address, &range)
		&& range.kind == MEMORY_MAPPED;
	pthread_mutex_unlock(&state.lock);
	if (!found) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: nothing is mapped at 0x%llx",
			__func__, address);
	}
	*out = memory_access_of(range.access, who);
	return CUDA_SUCCESS;
}
