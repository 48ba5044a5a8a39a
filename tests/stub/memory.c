/* SPDX-License-Identifier: MIT */
/*
 * The stub's memory: device memory is host memory, so copies and fills are memmove and loops.
 * Every allocation is in a list; an address that is in none of them is an error, as on a device.
 */
#include "base/common.h"

#include "stub.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 512, GRANULARITY = 1 << 16 };

struct block {
	struct block *next;
	char *memory;
	size_t size;
	CUcontext context;
	enum stub_kind kind; /* STUB_MEMORY or STUB_HOST */
};

/* Addresses that were reserved. */
struct range {
	struct range *next;
	char *memory;
	size_t size;
};

/* Memory of cuMemCreate.  It is mapped at most once, which gives its addresses bytes. */
struct chunk {
	struct chunk *next;
	size_t size;
	CUcontext context;
	int handles;
	char *memory; /* NULL: not mapped */
	bool is_open; /* cuMemSetAccess was called */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks; /* guarded by lock, as are the following */
static struct range *ranges;
static struct chunk *chunks;
static size_t used;          /* bytes of STUB_MEMORY */

static CUresult block_create(char **memory, enum stub_kind kind, size_t size)
{
	if (size == 0) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	CUresult code = CUDA_ERROR_OUT_OF_MEMORY;
	struct block *block = malloc(sizeof(*block));
	pthread_mutex_lock(&lock);
	bool fits = size <= stub.memory && used <= stub.memory - size;
	char *bytes = block && (fits || kind == STUB_HOST)
		? aligned_alloc(ALIGNMENT, round_up(size, ALIGNMENT))
		: NULL;
	if (bytes) {
		if (stub.clear) {
			memset(bytes, 0, size);
		}
		*block = (struct block){blocks, bytes, size, stub_current, kind};
		blocks = block;
		block = NULL;
		used += kind == STUB_MEMORY ? size : 0;
		stub_count(kind, 1);
		*memory = bytes;
		code = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	free(block);
	return code;
}

static CUresult block_release(char *memory, enum stub_kind kind)
{
	pthread_mutex_lock(&lock);
	struct block **link = &blocks;
	while (*link && ((*link)->memory != memory || (*link)->kind != kind)) {
		link = &(*link)->next;
	}
	struct block *block = *link;
	if (block) {
		*link = block->next;
		used -= kind == STUB_MEMORY ? block->size : 0;
		stub_count(kind, -1);
	}
	pthread_mutex_unlock(&lock);
	CUresult code = block ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	free(block ? block->memory : NULL);
	free(block);
	return code;
}

static char *host(CUdeviceptr address)
{
	return (char *)(uintptr_t)address;
}

static struct chunk *chunk_at(const char *memory)
{
	struct chunk *chunk = chunks;
	while (chunk && (!chunk->memory || memory < chunk->memory
			|| memory >= chunk->memory + chunk->size)) {
		chunk = chunk->next;
	}
	return chunk;
}

/* Chunks side by side are as one allocation. */
static bool chunks_find(struct block *out, CUdeviceptr address, size_t size)
{
	const struct chunk *chunk = chunk_at(host(address));
	const struct chunk *first = chunk;
	while (chunk && chunk->is_open
	    && (size_t)(chunk->memory + chunk->size - host(address)) < size) {
		chunk = chunk_at(chunk->memory + chunk->size);
	}
	if (!chunk || !chunk->is_open) {
		return false;
	}
	*out = (struct block){.memory = first->memory, .context = first->context,
		.size = (size_t)(chunk->memory + chunk->size - first->memory), .kind = STUB_MEMORY};
	return true;
}

/* Find the allocation that holds [address, address + size). */
static bool block_find(struct block *out, CUdeviceptr address, size_t size)
{
	bool found = false;
	pthread_mutex_lock(&lock);
	for (struct block *b = blocks; b && !found; b = b->next) {
		size_t offset = (size_t)(address - (uintptr_t)b->memory);
		if (offset <= b->size && size <= b->size - offset) {
			*out = *b;
			found = true;
		}
	}
	found = found || chunks_find(out, address, size);
	pthread_mutex_unlock(&lock);
	return found;
}

static CUresult check(CUresult code, CUdeviceptr address, size_t size)
{
	struct block block;
	return code || size == 0 || block_find(&block, address, size) ? code
								      : CUDA_ERROR_INVALID_VALUE;
}

CUresult stub_memory_create(CUdeviceptr *address, size_t size)
{
	char *memory = NULL;
	CUresult code = block_create(&memory, STUB_MEMORY, size);
	*address = (uintptr_t)memory;
	return code;
}

CUresult stub_memory_release(CUdeviceptr address)
{
	return block_release(host(address), STUB_MEMORY);
}

CUresult do_MemGetInfo(size_t *free_size, size_t *total)
{
	pthread_mutex_lock(&lock);
	*free_size = stub.memory - used;
	*total = stub.memory;
	pthread_mutex_unlock(&lock);
	return stub_enter_context(DRV_cuMemGetInfo);
}

CUresult do_MemAlloc(CUdeviceptr *address, size_t size)
{
	CUresult code = stub_enter_context(DRV_cuMemAlloc);
	return code ? code : stub_memory_create(address, size);
}

CUresult do_MemFree(CUdeviceptr address)
{
	CUresult code = stub_enter_context(DRV_cuMemFree);
	return code || !address ? code : stub_memory_release(address);
}

CUresult do_MemAllocManaged(CUdeviceptr *address, size_t size, unsigned int flags)
{
	CUresult code = stub_enter_context(DRV_cuMemAllocManaged);
	code = code || flags == CU_MEM_ATTACH_GLOBAL ? code : CUDA_ERROR_INVALID_VALUE;
	return code ? code : stub_memory_create(address, size);
}

CUresult do_MemAdvise(CUdeviceptr address, size_t size, CUmem_advise advice, CUmemLocation place)
{
	(void)advice, (void)place;
	return check(stub_enter_context(DRV_cuMemAdvise), address, size);
}

CUresult do_MemPrefetchAsync(CUdeviceptr address, size_t size, CUmemLocation place,
	unsigned int flags, CUstream stream)
{
	(void)place, (void)flags, (void)stream;
	return check(stub_enter_context(DRV_cuMemPrefetchAsync), address, size);
}

/* Virtual memory.  None of it needs a context. */

CUresult do_MemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment,
	CUdeviceptr wish, unsigned long long flags)
{
	(void)alignment, (void)wish;
	CUresult code = stub_enter(DRV_cuMemAddressReserve);
	if (code || size == 0 || size % GRANULARITY != 0 || flags != 0) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	struct range *range = stub_create(STUB_MEMORY, sizeof(*range));
	char *memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		0);
	if (memory == MAP_FAILED) {
		stub_release(STUB_MEMORY, range);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_lock(&lock);
	*range = (struct range){ranges, memory, size};
	ranges = range;
	pthread_mutex_unlock(&lock);
	*address = (uintptr_t)memory;
	return CUDA_SUCCESS;
}

CUresult do_MemAddressFree(CUdeviceptr address, size_t size)
{
	CUresult code = stub_enter(DRV_cuMemAddressFree);
	if (code) {
		return code;
	}
	pthread_mutex_lock(&lock);
	struct range **link = &ranges;
	while (*link && ((*link)->memory != host(address) || (*link)->size != size)) {
		link = &(*link)->next;
	}
	struct range *range = *link;
	for (const struct chunk *chunk = chunks; range && chunk; chunk = chunk->next) {
		if (chunk->memory >= range->memory && chunk->memory < range->memory + size) {
			range = NULL; /* still mapped */
		}
	}
	if (range) {
		*link = range->next;
		munmap(range->memory, size);
	}
	pthread_mutex_unlock(&lock);
	return range ? stub_release(STUB_MEMORY, range) : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_MemGetAllocationGranularity(size_t *size, const CUmemAllocationProp *properties,
	CUmemAllocationGranularity_flags option)
{
	(void)option;
	*size = GRANULARITY;
	CUresult code = stub_enter(DRV_cuMemGetAllocationGranularity);
	return code || properties->type == CU_MEM_ALLOCATION_TYPE_PINNED ? code
		: CUDA_ERROR_INVALID_VALUE;
}

CUresult do_MemCreate(CUmemGenericAllocationHandle *handle, size_t size,
	const CUmemAllocationProp *properties, unsigned long long flags)
{
	CUresult code = stub_enter(DRV_cuMemCreate);
	if (code || size == 0 || size % GRANULARITY != 0 || flags != 0
	    || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	struct chunk *chunk = stub_create(STUB_MEMORY, sizeof(*chunk));
	pthread_mutex_lock(&lock);
	bool fits = size <= stub.memory && used <= stub.memory - size;
	if (fits) {
		*chunk = (struct chunk){.next = chunks, .size = size, .context = stub_current,
			.handles = 1};
		chunks = chunk;
		used += size;
	}
	pthread_mutex_unlock(&lock);
	if (!fits) {
		stub_release(STUB_MEMORY, chunk);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*handle = (uintptr_t)chunk;
	return CUDA_SUCCESS;
}

/* A chunk without handle and addresses is gone; under the lock. */
static void chunk_drop(struct chunk *chunk)
{
	struct chunk **link = &chunks;
	if (chunk->handles == 0 && !chunk->memory) {
		while (*link != chunk) {
			link = &(*link)->next;
		}
		*link = chunk->next;
		used -= chunk->size;
		stub_release(STUB_MEMORY, chunk);
	}
}

static struct chunk *chunk_of(CUmemGenericAllocationHandle handle)
{
	struct chunk *chunk = chunks;
	while (chunk && ((uintptr_t)chunk != handle || chunk->handles == 0)) {
		chunk = chunk->next;
	}
	return chunk;
}

CUresult do_MemRelease(CUmemGenericAllocationHandle handle)
{
	CUresult code = stub_enter(DRV_cuMemRelease);
	pthread_mutex_lock(&lock);
	struct chunk *chunk = code ? NULL : chunk_of(handle);
	if (chunk) {
		chunk->handles--;
		chunk_drop(chunk);
	}
	pthread_mutex_unlock(&lock);
	return code || chunk ? code : CUDA_ERROR_INVALID_VALUE;
}

/* Whether a chunk can be mapped there: all of it in one range, and beside the others. */
static bool chunk_fits(const struct chunk *chunk, const char *memory)
{
	const struct range *range = ranges;
	while (range && (memory < range->memory
			|| memory + chunk->size > range->memory + range->size)) {
		range = range->next;
	}
	bool fits = range && !chunk->memory;
	for (const struct chunk *other = chunks; other; other = other->next) {
		fits = fits && (!other->memory || other->memory >= memory + chunk->size
			|| memory >= other->memory + other->size);
	}
	return fits;
}

CUresult do_MemMap(CUdeviceptr address, size_t size, size_t offset,
	CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	CUresult code = stub_enter(DRV_cuMemMap);
	pthread_mutex_lock(&lock);
	struct chunk *chunk = code ? NULL : chunk_of(handle);
	bool fits = chunk && size == chunk->size && offset == 0 && flags == 0
		&& chunk_fits(chunk, host(address));
	if (fits) {
		chunk->memory = host(address);
	}
	pthread_mutex_unlock(&lock);
	return code || fits ? code : CUDA_ERROR_INVALID_VALUE;
}

/* Whole chunks, side by side, become bytes, or addresses without any. */
static bool chunks_change(char *memory, size_t size, bool is_open)
{
	const char *end = memory + size;
	bool fits = size > 0 && mprotect(memory, size,
		is_open ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
	while (fits && memory < end) {
		struct chunk *chunk = chunk_at(memory);
		fits = chunk && chunk->memory == memory && chunk->size <= (size_t)(end - memory);
		if (fits) {
			memory += chunk->size;
			chunk->is_open = is_open;
			chunk->memory = is_open ? chunk->memory : NULL;
			chunk_drop(chunk);
		}
	}
	return fits;
}

CUresult do_MemUnmap(CUdeviceptr address, size_t size)
{
	CUresult code = stub_enter(DRV_cuMemUnmap);
	pthread_mutex_lock(&lock);
	bool fits = !code && chunks_change(host(address), size, false);
	pthread_mutex_unlock(&lock);
	return code || fits ? code : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_MemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access,
	size_t count)
{
	CUresult code = stub_enter(DRV_cuMemSetAccess);
	pthread_mutex_lock(&lock);
	bool fits = !code && count == 1 && access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE
		&& chunks_change(host(address), size, true);
	pthread_mutex_unlock(&lock);
	return code || fits ? code : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_MemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream)
{
	(void)stream;
	CUresult code = stub_enter_context(DRV_cuMemAllocAsync);
	return code ? code : stub_memory_create(address, size);
}

CUresult do_MemFreeAsync(CUdeviceptr address, CUstream stream)
{
	(void)stream;
	CUresult code = stub_enter_context(DRV_cuMemFreeAsync);
	return code || !address ? code : stub_memory_release(address);
}

CUresult do_DeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
	*pool = (CUmemoryPool)(uintptr_t)(device + 1);
	return stub_enter(DRV_cuDeviceGetDefaultMemPool);
}

CUresult do_MemHostAlloc(void **memory, size_t size, unsigned int flags)
{
	(void)flags;
	CUresult code = stub_enter_context(DRV_cuMemHostAlloc);
	char *bytes = NULL;
	if (!code && !(code = block_create(&bytes, STUB_HOST, size))) {
		*memory = bytes;
	}
	return code;
}

CUresult do_MemFreeHost(void *memory)
{
	CUresult code = stub_enter_context(DRV_cuMemFreeHost);
	return code ? code : block_release(memory, STUB_HOST);
}

CUresult do_MemHostRegister(void *memory, size_t size, unsigned int flags)
{
	(void)memory;
	(void)size;
	(void)flags;
	return stub_enter_context(DRV_cuMemHostRegister);
}

CUresult do_MemHostUnregister(void *memory)
{
	(void)memory;
	return stub_enter_context(DRV_cuMemHostUnregister);
}

CUresult do_MemHostGetDevicePointer(CUdeviceptr *address, void *memory, unsigned int flags)
{
	(void)flags;
	CUresult code = stub_enter_context(DRV_cuMemHostGetDevicePointer);
	*address = (uintptr_t)memory;
	return check(code, *address, 1);
}

static CUresult pointer_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
	struct block block;
	if (!block_find(&block, address, 1)) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = block.context;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(CUmemorytype *)data =
			block.kind == STUB_HOST ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*(CUdeviceptr *)data = address;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		return stub_context_device(block.context, data);
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = (uintptr_t)block.memory;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = block.size;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult do_PointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
	CUresult code = stub_enter(DRV_cuPointerGetAttribute);
	return code ? code : pointer_attribute(data, attribute, address);
}

/* As the real one: what does not apply becomes zero. */
CUresult do_PointerGetAttributes(
	unsigned int count, CUpointer_attribute *attributes, void **data, CUdeviceptr address)
{
	CUresult code = stub_enter(DRV_cuPointerGetAttributes);
	for (unsigned int i = 0; !code && i < count; i++) {
		if (pointer_attribute(data[i], attributes[i], address)) {
			memset(data[i], 0,
				attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE
						|| attributes[i]
							== CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
					? sizeof(int)
					: sizeof(void *));
		}
	}
	return code;
}

/* Memory of other processes: as if this one had exported to itself. */

CUresult do_IpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
	CUresult code = check(stub_enter_context(DRV_cuIpcGetMemHandle), address, 1);
	memset(handle, 0, sizeof(*handle));
	memcpy(handle, &address, sizeof(address));
	return code;
}

CUresult do_IpcOpenMemHandle(CUdeviceptr *address, CUipcMemHandle handle, unsigned int flags)
{
	CUresult code = stub_enter_context(DRV_cuIpcOpenMemHandle);
	memcpy(address, &handle, sizeof(*address));
	code = check(code, *address, 1);
	code = code || flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS ? code
		: CUDA_ERROR_INVALID_VALUE;
	stub_count(STUB_IMPORT, !code);
	return code;
}

CUresult do_IpcCloseMemHandle(CUdeviceptr address)
{
	CUresult code = check(stub_enter_context(DRV_cuIpcCloseMemHandle), address, 1);
	stub_count(STUB_IMPORT, code ? 0 : -1);
	return code;
}

/* Copies.  Each takes what stub_enter_context said. */

static CUresult copy_in(CUresult code, CUdeviceptr to, const void *from, size_t size)
{
	code = check(code, to, size);
	if (!code) {
		memcpy(host(to), from, size);
	}
	return code;
}

static CUresult copy_out(CUresult code, void *to, CUdeviceptr from, size_t size)
{
	code = check(code, from, size);
	if (!code) {
		memcpy(to, host(from), size);
	}
	return code;
}

static CUresult copy(CUresult code, CUdeviceptr to, CUdeviceptr from, size_t size)
{
	code = check(check(code, to, size), from, size);
	if (!code) {
		memmove(host(to), host(from), size);
	}
	return code;
}

CUresult do_MemcpyHtoD(CUdeviceptr to, const void *from, size_t size)
{
	return copy_in(stub_enter_context(DRV_cuMemcpyHtoD), to, from, size);
}

CUresult do_MemcpyDtoH(void *to, CUdeviceptr from, size_t size)
{
	return copy_out(stub_enter_context(DRV_cuMemcpyDtoH), to, from, size);
}

CUresult do_MemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t size)
{
	return copy(stub_enter_context(DRV_cuMemcpyDtoD), to, from, size);
}

CUresult do_MemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
	return copy_in(stub_enter_stream(DRV_cuMemcpyHtoDAsync, stream), to, from, size);
}

CUresult do_MemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
	return copy_out(stub_enter_stream(DRV_cuMemcpyDtoHAsync, stream), to, from, size);
}

CUresult do_MemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
	return copy(stub_enter_stream(DRV_cuMemcpyDtoDAsync, stream), to, from, size);
}

CUresult do_MemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
	return copy(stub_enter_stream(DRV_cuMemcpyAsync, stream), to, from, size);
}

CUresult do_MemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
	CUcontext from_context, size_t size, CUstream stream)
{
	(void)to_context, (void)from_context;
	return copy(stub_enter_stream(DRV_cuMemcpyPeerAsync, stream), to, from, size);
}

static char *end_of_2d(CUmemorytype type, const void *memory, CUdeviceptr address)
{
	return type == CU_MEMORYTYPE_HOST ? (char *)(uintptr_t)memory : host(address);
}

CUresult do_Memcpy2DAsync(const CUDA_MEMCPY2D *c, CUstream stream)
{
	CUresult code = stub_enter_stream(DRV_cuMemcpy2DAsync, stream);
	char *to = end_of_2d(c->dstMemoryType, c->dstHost, c->dstDevice);
	const char *from = end_of_2d(c->srcMemoryType, c->srcHost, c->srcDevice);
	for (size_t y = 0; !code && y < c->Height; y++) {
		memmove(to + (c->dstY + y) * c->dstPitch + c->dstXInBytes,
			from + (c->srcY + y) * c->srcPitch + c->srcXInBytes, c->WidthInBytes);
	}
	return code;
}

/* Boxes of linear memory; CUDA arrays have no texels here. */
static CUresult copy_3d(CUresult code, const CUDA_MEMCPY3D *c)
{
	char *to = end_of_2d(c->dstMemoryType, c->dstHost, c->dstDevice);
	const char *from = end_of_2d(c->srcMemoryType, c->srcHost, c->srcDevice);
	bool is_linear = c->dstMemoryType != CU_MEMORYTYPE_ARRAY
		&& c->srcMemoryType != CU_MEMORYTYPE_ARRAY;
	for (size_t i = 0; !code && is_linear && i < c->Depth * c->Height; i++) {
		size_t z = i / c->Height, y = i % c->Height;
		char *row = to + ((c->dstZ + z) * c->dstHeight + c->dstY + y) * c->dstPitch
			+ c->dstXInBytes;
		const char *source = from
			+ ((c->srcZ + z) * c->srcHeight + c->srcY + y) * c->srcPitch
			+ c->srcXInBytes;
		if (c->dstMemoryType == CU_MEMORYTYPE_DEVICE) {
			code = check(code, (uintptr_t)row, c->WidthInBytes);
		}
		if (c->srcMemoryType == CU_MEMORYTYPE_DEVICE) {
			code = check(code, (uintptr_t)source, c->WidthInBytes);
		}
		if (!code) {
			memmove(row, source, c->WidthInBytes);
		}
	}
	return code;
}

CUresult do_Memcpy3DAsync(const CUDA_MEMCPY3D *c, CUstream stream)
{
	return copy_3d(stub_enter_stream(DRV_cuMemcpy3DAsync, stream), c);
}

CUresult do_Memcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *c, CUstream stream)
{
	CUresult code = stub_enter_stream(DRV_cuMemcpy3DPeerAsync, stream);
	CUDA_MEMCPY3D copy;
	code = code || (c->srcContext && c->dstContext) ? code : CUDA_ERROR_INVALID_CONTEXT;
	memcpy(&copy, c, sizeof(copy)); /* they differ in the contexts */
	return copy_3d(code, &copy);
}

/* Fills: `rows` rows of `count` elements, `pitch` bytes apart. */

static CUresult fill(CUresult code, CUdeviceptr to, size_t pitch, const void *value,
	size_t value_size, size_t count, size_t rows)
{
	size_t row_size = count * value_size;
	if (!code && rows > 0 && row_size > 0) {
		code = check(code, to, (rows - 1) * pitch + row_size);
	}
	for (size_t y = 0; !code && y < rows; y++) {
		for (size_t i = 0; i < count; i++) {
			memcpy(host(to) + y * pitch + i * value_size, value, value_size);
		}
	}
	return code;
}

#define FILLS(bits, type)                                                                          \
	CUresult do_MemsetD##bits(CUdeviceptr to, type value, size_t count)                        \
	{                                                                                          \
		CUresult code = stub_enter_context(DRV_cuMemsetD##bits);                           \
		return fill(code, to, 0, &value, sizeof(value), count, 1);                         \
	}                                                                                          \
	CUresult do_MemsetD##bits##Async(CUdeviceptr to, type value, size_t count, CUstream s)     \
	{                                                                                          \
		CUresult code = stub_enter_stream(DRV_cuMemsetD##bits##Async, s);                  \
		return fill(code, to, 0, &value, sizeof(value), count, 1);                         \
	}                                                                                          \
	CUresult do_MemsetD2D##bits##Async(                                                        \
		CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, CUstream s) \
	{                                                                                          \
		CUresult code = stub_enter_stream(DRV_cuMemsetD2D##bits##Async, s);                \
		return fill(code, to, pitch, &value, sizeof(value), width, height);                \
	}
FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned int)
