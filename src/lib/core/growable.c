/* SPDX-License-Identifier: MIT */
/*
 * Memory that grows in place, by the driver's virtual memory management.
 *
 * A growable memory has reserved addresses.  The first `mapped` bytes of them have memory, in
 * chunks.  How large a chunk is follows from where it begins, so no list of them is needed: eight
 * chunks make up each power of two.  Thus few calls of the driver map much memory, and what is
 * mapped beyond the size is at most an eighth of it, or the driver's granularity.
 *
 * The pool counts the memory and lists it, as it does what an allocator of the user's gave.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "lib/core/growable.h"
#include "lib/core/segment.h"
#include "lib/core/trace.h"

struct growable {
	struct memory *memory;
	int64_t capacity;    /* what the user asked for */
	size_t granularity;  /* of the driver */
	size_t reserved;     /* bytes of addresses */
	size_t mapped;       /* bytes from the first on */
};

/* Chunks */

/* The size of the chunk that begins at a byte; the last one ends with the addresses. */
static size_t growable_chunk(const struct growable *growable, size_t at)
{
	size_t size = growable->granularity;
	for (size_t units = at / size; units >= 16; units /= 2) {
		size *= 2;
	}
	return size < growable->reserved - at ? size : growable->reserved - at;
}

/* Where the chunk ends that has the byte before `size`. */
static size_t growable_end(const struct growable *growable, size_t size)
{
	size_t at = 0;
	while (at < size) {
		at += growable_chunk(growable, at);
	}
	return at;
}

/* Where the last chunk begins that is mapped. */
static size_t growable_last(const struct growable *growable)
{
	size_t at = 0, next;
	while ((next = at + growable_chunk(growable, at)) < growable->mapped) {
		at = next;
	}
	return at;
}

static CUresult growable_unmap(struct growable *growable, size_t target)
{
	const struct memory *memory = growable->memory;
	CUresult code = CUDA_SUCCESS;
	while (!code && growable->mapped > target) {
		size_t at = growable_last(growable);
		code = memory->device->drv->MemUnmap(memory->address + at, growable->mapped - at);
		growable->mapped = code ? growable->mapped : at;
	}
	return code;
}

static CUmemAllocationProp growable_properties(const struct kz_device *dev)
{
	return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, dev->handle}};
}

/* Give memory to the addresses up to `target`.  On failure none of it stays. */
static CUresult growable_map(struct growable *growable, size_t target, const char **call)
{
	struct kz_device *dev = growable->memory->device;
	const struct drv *drv = dev->drv;
	const CUdeviceptr address = growable->memory->address;
	const CUmemAllocationProp properties = growable_properties(dev);
	const CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	const size_t from = growable->mapped;
	CUresult code = CUDA_SUCCESS;
	while (!code && growable->mapped < target) {
		CUmemGenericAllocationHandle handle;
		size_t size = growable_chunk(growable, growable->mapped);
		*call = "cuMemCreate";
		code = drv->MemCreate(&handle, size, &properties, 0);
		if (!code) {
			*call = "cuMemMap";
			code = drv->MemMap(address + growable->mapped, size, 0, handle, 0);
			/* It lives as long as it is mapped. */
			device_released(dev, drv->MemRelease(handle), "cuMemRelease");
		}
		growable->mapped += code ? 0 : size;
	}
	if (!code) {
		*call = "cuMemSetAccess";
		code = drv->MemSetAccess(address + from, target - from, &access, 1);
	}
	if (code) {
		(void)growable_unmap(growable, from);
	}
	return code;
}

/* Growing and shrinking.  The context is current. */

/* Map, within the limit of kz_device_limit_memory. */
static CUresult growable_try(struct growable *growable, size_t target, struct mempool_failure *why)
{
	struct mempool *pool = growable->memory->pool;
	struct kz_device *dev = growable->memory->device;
	int64_t more = (int64_t)(target - growable->mapped);
	why->call = NULL;
	if (!segment_allow(pool, more)) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	uint64_t start = clock_now_ns();
	CUstreamCaptureMode mode = device_relax(dev);
	CUresult code = growable_map(growable, target, &why->call);
	device_restore(dev, mode);
	segment_allow(pool, -more);
	if (unlikely(trace_is_on())) {
		trace_host(start, "memory", why->call,
			"\"device\":\"%s\",\"bytes\":%lld,\"code\":%d",
			dev->name, (long long)more, (int)code);
	}
	return code;
}

static kz_status growable_grow(struct growable *growable, int64_t size, kz_error *err)
{
	size_t target = growable_end(growable, (size_t)size);
	struct mempool_failure why = {CUDA_SUCCESS, NULL};
	if (target <= growable->mapped) {
		return KZ_OK;
	}
	why.code = growable_try(growable, target, &why);
	if (why.code == CUDA_ERROR_OUT_OF_MEMORY) {
		why.code = mempool_trim(growable->memory->pool, 0);
		why.call = "cuCtxSynchronize";
		why.code = why.code ? why.code : growable_try(growable, target, &why);
	}
	return why.code ? memory_fail(growable->memory, size, &why, err) : KZ_OK;
}

/* Give back the chunks after a size.  The work on them has passed. */
static kz_status growable_shrink(struct growable *growable, int64_t size, kz_error *err)
{
	struct kz_device *dev = growable->memory->device;
	CUstreamCaptureMode mode = device_relax(dev);
	CUresult code = growable_unmap(growable, growable_end(growable, (size_t)size));
	device_restore(dev, mode);
	return device_ok(dev, code, "cuMemUnmap", err);
}

static void growable_free(void *user)
{
	struct growable *growable = user;
	struct memory *memory = growable->memory;
	struct kz_device *dev = memory->device;
	struct device_scope scope;
	bool living = device_enter_quietly(dev, &scope); /* the addresses go back in any case */
	CUstreamCaptureMode mode = device_relax(dev);
	device_released(dev, growable_unmap(growable, 0), "cuMemUnmap");
	device_released(dev, dev->drv->MemAddressFree(memory->address, growable->reserved),
		"cuMemAddressFree");
	device_restore(dev, mode);
	if (living) {
		device_leave(dev, &scope);
	}
	mem_free(growable);
}

/* NULL for a buffer that cannot grow: other memory, a view. */
static struct growable *growable_of(const struct kz_buffer *buffer)
{
	struct memory *memory = buffer->memory;
	return buffer == &memory->whole && memory->on_release == growable_free ? memory->user
		: NULL;
}

static kz_status growable_check_size(int64_t size, int64_t capacity, kz_error *err)
{
	if (size < 0 || capacity < 0) {
		return error_set(err, KZ_INVALID, "expected a size and a capacity of at least 0, "
			"got %lld and %lld", (long long)size, (long long)capacity);
	}
	return size <= capacity ? KZ_OK : error_set(err, KZ_RANGE,
		"expected a size of at most %lld byte%s, the capacity, got %lld",
		(long long)capacity, plural(capacity), (long long)size);
}

kz_status growable_resize(struct kz_buffer *buffer, int64_t size, int refs,
	kz_error *err)
{
	struct growable *growable = growable_of(buffer);
	struct memory *memory = buffer->memory;
	struct device_scope scope;
	bool shrinks = size < buffer->size;
	kz_status st;
	if (!growable) {
		return error_set(err, KZ_INVALID, "expected memory of "
			"kz_buffer_create_growable or kz_array_create_growable, and no view of it");
	}
	if ((st = growable_check_size(size, growable->capacity, err))
	    || (shrinks && (st = memory_check_capture(memory, err)))) {
		return st;
	}
	/* A shrinking buffer takes memory from nobody else, and from no graph that is being
	 * captured. */
	const int others = refs + atomic_load(&buffer->refs) + atomic_load(&memory->refs) - 3;
	if (shrinks && others != 0) {
		return error_set(err, KZ_STATE, "cannot give memory back that %d other%s "
			"refer%s to: release views, arrays, prepared launches and graphs over it "
			"first", others, plural(others), others == 1 ? "s" : "");
	}
	if ((st = device_enter(memory->device, &scope, err))) {
		return st;
	}
	if (shrinks) {
		st = memory_wait(memory, err);
	} else {
		st = growable_grow(growable, size, err);
	}
	if (!st) {
		buffer->size = size;
		st = shrinks ? growable_shrink(growable, size, err) : KZ_OK;
		mempool_resize(memory->pool, memory, size, (int64_t)growable->mapped);
	}
	device_leave(memory->device, &scope);
	return st;
}

kz_status kz_buffer_resize(kz_buffer *buffer, int64_t size, kz_error *err)
{
	error_scope(err);
	kz_status st = object_check(buffer, OBJECT_BUFFER, err);
	return st ? st : growable_resize(buffer, size, 1, err);
}

int64_t kz_buffer_capacity(const kz_buffer *buffer)
{
	const struct growable *growable = object_is(buffer, OBJECT_BUFFER) ? growable_of(buffer)
		: NULL;
	return growable ? growable->capacity : kz_buffer_size(buffer);
}

/* Addresses, without memory.  The context is current. */
static kz_status growable_reserve(struct growable *growable, CUdeviceptr *address,
	struct kz_device *dev, kz_error *err)
{
	const CUmemAllocationProp properties = growable_properties(dev);
	const int has_it = CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED;
	int value = 0;
	/* An attribute that is newer than the driver is an invalid value to it. */
	CUresult code = drv_has(dev->drv, DRV_cuMemAddressReserve)
		? dev->drv->DeviceGetAttribute(&value, has_it, dev->handle)
		: CUDA_ERROR_INVALID_VALUE;
	if (code == CUDA_ERROR_INVALID_VALUE || (code == CUDA_SUCCESS && !value)) {
		return error_set(err, KZ_UNSUPPORTED, "%s has no virtual memory management, so its "
			"memory cannot grow in place", dev->name);
	}
	kz_status st;
	if ((st = device_ok(dev, code, "cuDeviceGetAttribute", err))
	    || (st = device_ok(dev, dev->drv->MemGetAllocationGranularity(
			&growable->granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
			"cuMemGetAllocationGranularity", err))) {
		return st;
	}
	/* Of 0 bytes no driver has addresses. */
	const size_t capacity = growable->capacity ? (size_t)growable->capacity : 1;
	growable->reserved = round_up(capacity, growable->granularity);
	code = dev->drv->MemAddressReserve(address, growable->reserved, 0, 0, 0);
	if (code != CUDA_ERROR_OUT_OF_MEMORY) {
		return device_ok(dev, code, "cuMemAddressReserve", err);
	}
	const struct native_code *known = codes_find(KZ_DOMAIN_DRIVER, (int)code);
	bool mine = error_is_clean(err);
	const struct foreign_code foreign = {KZ_DOMAIN_DRIVER, (int)code, known->name,
		"cuMemAddressReserve", known->flags};
	error_foreign(err, known->status, &foreign, "cannot reserve addresses on %s for a "
		"capacity of %lld bytes", dev->name, (long long)growable->capacity);
	if (mine) {
		error_add_hint(err, "choose a smaller capacity");
	}
	return known->status;
}

/* Memory of 0 bytes at the addresses; on success it owns `growable`. */
static kz_status growable_make(struct memory **out, struct growable *growable,
	struct kz_device *dev, const struct memory_wish *wish, kz_error *err)
{
	CUdeviceptr address;
	struct memory *memory = NULL;
	kz_status st = growable_reserve(growable, &address, dev, err);
	if (st) {
		return st;
	}
	st = memory_borrow(&memory, dev, address, 0, NULL, err);
	if (!st) {
		memory->dtype = wish->dtype;
		memory->count = wish->count;
		st = mempool_adopt(&dev->pools[MEMPOOL_DEVICE], memory, true, err);
	}
	if (st) {
		device_released(dev, dev->drv->MemAddressFree(address, growable->reserved),
			"cuMemAddressFree");
		memory_release(memory);
		return st;
	}
	memory->pool = &dev->pools[MEMPOOL_DEVICE];
	memory->on_release = growable_free;
	memory->user = growable;
	growable->memory = memory;
	*out = memory;
	return KZ_OK;
}

kz_status growable_create(struct kz_buffer **out, struct kz_device *dev, int64_t size,
	int64_t capacity, const struct memory_wish *wish, kz_error *err)
{
	struct device_scope scope;
	struct memory *memory = NULL;
	kz_status st = growable_check_size(size, capacity, err);
	if (st) {
		return st;
	}
	struct growable *growable = mem_zalloc(1, sizeof(*growable));
	if (!growable) {
		return error_no_memory(err);
	}
	growable->capacity = capacity;
	if (!(st = device_enter(dev, &scope, err))) {
		st = growable_make(&memory, growable, dev, wish, err);
		device_leave(dev, &scope);
	}
	if (st) {
		mem_free(growable);
		return st;
	}
	struct kz_buffer *buffer = memory_whole(memory);
	if ((st = growable_resize(buffer, size, 1, err))) {
		buffer_release(buffer);
		return st;
	}
	*out = buffer;
	return KZ_OK;
}

kz_status kz_buffer_create_growable(kz_buffer **out, kz_device *dev, int64_t size, int64_t capacity,
	kz_error *err)
{
	error_scope(err);
	const struct memory_wish wish = {.stream = NULL};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))) {
		return st;
	}
	return buffer_hold(out, growable_create(out, dev, size, capacity, &wish, err));
}
