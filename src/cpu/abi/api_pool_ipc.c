/* SPDX-License-Identifier: MIT */
/*
 * Memory pools that processes share.  The handle of a pool is the descriptor of its file
 * (object/cu_mempool.c).  Each allocation in the file is followed by a page.  The page is signed
 * when the allocation is exported, and cleared when it is freed.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "base/alloc.h"
#include "cpu/object/cu_mempool.h"
#include "cpu/object/device_list.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIND 0x505a4b31u /* of what stands for an allocation */

_Static_assert(sizeof(struct share_handle) <= sizeof(CUmemPoolPtrExportData), "a handle fits");

API(cuMemPoolExportToShareableHandle, void *out, CUmemoryPool handle,
	CUmemAllocationHandleType type, unsigned long long flags)
{
	struct cu_mempool *pool;
	CUresult result = api_need(mempool_find(__func__, handle, &pool), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (flags != 0 || type == CU_MEM_HANDLE_TYPE_NONE || pool->handle_type != type
	    || pool->is_imported) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the pool was not created for handles"
			" of type %d, or flags are not 0", __func__, (int)type);
	}
	int file = fcntl(pool->file, F_DUPFD_CLOEXEC, 0);
	if (file < 0) {
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: no more file descriptors", __func__);
	}
	memcpy(out, &file, sizeof(file));
	return CUDA_SUCCESS;
}

/* Where the memory of a pool is, in this process: it may see other devices.  False if it does not
 * see the pool's. */
static bool pool_find_place(const struct mempool_head *head, enum mempool_place *place, int *id)
{
	*place = (enum mempool_place)head->place;
	*id = (int)head->where;
	if (!mempool_is_devices(*place)) {
		return *place == POOL_HOST_NUMA;
	}
	for (*id = 0; *id < device_count() && device_number(*id) != head->where; ) {
		++*id;
	}
	return *place == POOL_DEVICE && *id < device_count();
}

API(cuMemPoolImportFromShareableHandle, CUmemoryPool *out, void *os_handle,
	CUmemAllocationHandleType type, unsigned long long flags)
{
	const struct share_token none = {{0}};
	struct mempool_head head;
	enum mempool_place place;
	int id;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: only files are shared, not type %d, or flags are not 0", __func__,
			(int)type);
	}
	int file = (uintptr_t)os_handle <= INT_MAX ? (int)(uintptr_t)os_handle : -1;
	if (!share_is_file(file) || pread(file, &head, sizeof(head), 0) != sizeof(head)
	    || share_same(&head.token, &none)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %p is not an exported pool",
			__func__, os_handle);
	}
	if (!pool_find_place(&head, &place, &id)) {
		return api_fail(CUDA_ERROR_INVALID_DEVICE, "%s: this process does not see the "
			"device of the pool", __func__);
	}
	file = fcntl(file, F_DUPFD_CLOEXEC, 0);
	struct cu_mempool *pool = file >= 0 ? mempool_create(type, file) : NULL;
	if (pool && !api_retain_memory()) {
		handle_release(pool->handle);
		mempool_free(pool);
		pool = NULL;
	}
	if (!pool) {
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: no memory or no more file"
			" descriptors", __func__);
	}
	mempool_set_up(pool, place, id);
	pool->is_imported = true;
	pool->token = head.token;
	*out = pool->handle;
	return CUDA_SUCCESS;
}

static CUresult pool_export_pointer(const char *call, CUmemPoolPtrExportData *out,
	CUdeviceptr address, struct device_memory *memory)
{
	struct memory_range range;
	struct share share;
	const struct cu_mempool *pool = memory_find(memory, address, &range)
		? handle_get(mempool_of(&range), API_POOL) : NULL;
	if (!pool || range.address != address || range.is_leaving || pool->is_imported
	    || pool->handle_type == CU_MEM_HANDLE_TYPE_NONE) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: no allocation of a pool with handles starts at 0x%llx", call, address);
	}
	if (!memory_export(memory, address, &share)) {
		return api_no_memory(call);
	}
	const struct share_handle handle = {.kind = KIND, .process = getpid(),
		.offset = share.offset, .size = range.size, .token = share.token,
		.pool = pool->token};
	memcpy(out, &handle, sizeof(handle));
	return CUDA_SUCCESS;
}

/* This needs no current context. */
API(cuMemPoolExportPointer, CUmemPoolPtrExportData *out, CUdeviceptr address)
{
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct device_memory *memory = api_retain_memory();
	if (!memory) {
		return api_no_memory(__func__);
	}
	result = pool_export_pointer(__func__, out, address, memory);
	api_release_memory();
	return result;
}

/* Check that the file of a pool has an allocation that another process has exported. */
static bool pool_has_exported(const struct device_memory *memory, const struct cu_mempool *pool,
	const struct share_handle *handle)
{
	struct stat info;
	return handle->kind == KIND && share_same(&handle->pool, &pool->token)
		&& handle->size > 0 && handle->size <= INT64_MAX / 2
		&& handle->offset <= INT64_MAX / 2
		&& handle->offset % (uint64_t)sysconf(_SC_PAGESIZE) == 0
		&& fstat(pool->file, &info) == 0 && handle->offset
			+ memory_span(memory, handle->size) < (uint64_t)info.st_size
		&& share_is_signed(pool->file, handle->offset
			+ memory_span(memory, handle->size), &handle->token);
}

static CUresult pool_import_pointer(const char *call, CUdeviceptr *out, struct cu_mempool *pool,
	const struct share_handle *handle, struct device_memory *memory)
{
	if (!pool->is_imported || !pool_has_exported(memory, pool, handle)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the pool was not imported, or the "
			"pointer was not exported from it or is gone", call);
	}
	struct share *share = mem_zalloc(1, sizeof(*share));
	if (!share) {
		return api_no_memory(call);
	}
	*share = (struct share){.kind = SHARE_FOREIGN, .file = pool->file,
		.offset = handle->offset, .token = handle->token, .opens = 1};
	const struct memory_range wish = {.size = handle->size, .kind = mempool_kind(pool->place),
		.device = pool->device, .owner = api_current(), .pool = &pool->account,
		.flags = (unsigned)pool->handle_type, .share = share};
	*out = memory_alloc(memory, &wish);
	if (*out == 0) {
		mem_free(share);
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: no room for %zu bytes", call,
			wish.size);
	}
	return CUDA_SUCCESS;
}

/* This needs no current context: the pool keeps the memory. */
API(cuMemPoolImportPointer, CUdeviceptr *out, CUmemoryPool pool_handle,
	CUmemPoolPtrExportData *data)
{
	struct context *context = api_current();
	struct cu_mempool *pool;
	struct share_handle handle;
	CUresult result = api_need(context ? api_enter(__func__, &context) : api_ready(__func__),
		__func__, out);
	if (result == CUDA_SUCCESS) {
		result = mempool_find(__func__, pool_handle, &pool);
	}
	if (result == CUDA_SUCCESS && !data) {
		return api_null(__func__, "the exported pointer");
	}
	struct device_memory *memory = result == CUDA_SUCCESS ? api_retain_memory() : NULL;
	if (!memory) {
		return result != CUDA_SUCCESS ? result : api_no_memory(__func__);
	}
	memcpy(&handle, data, sizeof(handle));
	result = pool_import_pointer(__func__, out, pool, &handle, memory);
	api_release_memory();
	return result;
}
