/* SPDX-License-Identifier: MIT */
/*
 * Device memory: allocation, order between streams, buffers.
 *
 * A buffer is a range of a `struct memory`, which owns an allocation and remembers the stream that
 * used it last.  memory_use() is called before every piece of work: it orders the new stream behind
 * that one.  So the last user is behind all others, and freeing behind it, in stream order, needs
 * no waiting.  Without stream-ordered allocation (old drivers) the free waits for that one stream.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "objects.h"

enum { UNIT = 512 }; /* what allocators hand out; statistics count in it */

/* Allocation */

static CUresult allocate(const struct kz_device *dev, CUdeviceptr *address, size_t size,
	const char **call)
{
	const struct drv *drv = dev->drv;
	if (!dev->has_pools) {
		*call = "cuMemAlloc";
		return drv->MemAlloc(address, size);
	}
	*call = "cuMemAllocAsync";
	CUresult code = drv->MemAllocAsync(address, size, dev->stream.handle);
	if (code == CUDA_ERROR_OUT_OF_MEMORY) {
		/* What other streams have freed is there once they have come that far. */
		CUresult waited = drv->CtxSynchronize();
		if (waited) {
			*call = "cuCtxSynchronize";
			return waited;
		}
		code = drv->MemAllocAsync(address, size, dev->stream.handle);
	}
	return code;
}

static kz_status fail_allocation(struct kz_device *dev, CUresult code, const char *call,
	int64_t size, const char *what, kz_error *err)
{
	if (code != CUDA_ERROR_OUT_OF_MEMORY) {
		return device_fail(dev, code, call, err);
	}
	const struct code *known = codes_find(KZ_DOMAIN_DRIVER, (int)code);
	bool mine = error_is_clean(err);
	size_t free = 0, total = 0;
	long long live = atomic_load(&dev->live_size);
	if (dev->drv->MemGetInfo(&free, &total) == CUDA_SUCCESS) {
		error_foreign(err, known->status, KZ_DOMAIN_DRIVER, (int)code, known->name, call,
			known->flags,
			"no memory on %s for %s: %lld bytes requested, %lld live, %zu free of %zu",
			dev->name, what, (long long)size, live, free, total);
	} else {
		error_foreign(err, known->status, KZ_DOMAIN_DRIVER, (int)code, known->name, call,
			known->flags, "no memory on %s for %s: %lld bytes requested, %lld live",
			dev->name, what, (long long)size, live);
	}
	if (mine) {
		error_add_hint(err, known->hint);
	}
	return known->status;
}

static void count_memory(struct kz_device *dev, int64_t size, int direction)
{
	int64_t bytes = (int64_t)round_up((size_t)size, UNIT) * direction;
	int64_t live = atomic_fetch_add(&dev->live_size, bytes) + bytes;
	int64_t peak = atomic_load(&dev->peak_size);
	while (live > peak && !atomic_compare_exchange_weak(&dev->peak_size, &peak, live)) {
	}
	atomic_fetch_add(&dev->live_count, direction);
	atomic_fetch_add(&dev->total_count, direction > 0);
}

static struct memory *memory_new(struct kz_device *dev, int64_t size)
{
	struct memory *memory = mem_zalloc(1, sizeof(*memory));
	if (memory) {
		atomic_init(&memory->refs, 1);
		pthread_mutex_init(&memory->lock, NULL);
		memory->device = device_retain(dev);
		memory->size = size;
	}
	return memory;
}

static void memory_delete(struct memory *memory)
{
	stream_release(atomic_load(&memory->last));
	pthread_mutex_destroy(&memory->lock);
	device_release(memory->device);
	mem_free(memory);
}

kz_status memory_create(struct memory **out, struct kz_device *dev, int64_t size,
	const char *what, kz_error *err)
{
	struct memory *memory = memory_new(dev, size);
	if (!memory) {
		return error_no_memory(err);
	}
	if (size > 0) {
		const char *call;
		CUresult code = allocate(dev, &memory->address, (size_t)size, &call);
		if (code) {
			memory_delete(memory);
			return fail_allocation(dev, code, call, size, what, err);
		}
	}
	if (dev->has_pools) {
		/* The memory exists from this point of the default stream on. */
		atomic_store(&memory->last, stream_retain(&dev->stream));
	}
	count_memory(dev, size, 1);
	*out = memory;
	return KZ_OK;
}

kz_status memory_of_module(struct memory **out, struct kz_module *mod, CUdeviceptr address,
	int64_t size, kz_error *err)
{
	struct memory *memory = memory_new(kz_module_device(mod), size);
	if (!memory) {
		return error_no_memory(err);
	}
	memory->address = address;
	memory->module = module_retain(mod);
	*out = memory;
	return KZ_OK;
}

struct memory *memory_retain(struct memory *memory)
{
	atomic_fetch_add_explicit(&memory->refs, 1, memory_order_relaxed);
	return memory;
}

/* Give the allocation back behind its last use; the context is current. */
static void deallocate(const struct memory *memory)
{
	const struct drv *drv = memory->device->drv;
	const struct kz_stream *last = atomic_load(&memory->last);
	if (!memory->module && memory->device->has_pools) {
		(void)drv->MemFreeAsync(memory->address, last->handle);
		return;
	}
	if (last) {
		(void)drv->StreamSynchronize(last->handle);
	}
	if (!memory->module) {
		(void)drv->MemFree(memory->address);
	}
}

void memory_release(struct memory *memory)
{
	struct device_scope scope;
	if (!memory || atomic_fetch_sub(&memory->refs, 1) != 1) {
		return;
	}
	if (memory->address && device_enter_quietly(memory->device, &scope)) {
		deallocate(memory);
		device_leave(memory->device, &scope);
	}
	if (memory->module) {
		kz_module_release(memory->module);
	} else {
		count_memory(memory->device, memory->size, -1);
	}
	memory_delete(memory);
}

kz_status memory_use_after(struct memory *memory, struct kz_stream *stream, kz_error *err)
{
	kz_status st = KZ_OK;
	pthread_mutex_lock(&memory->lock);
	struct kz_stream *last = atomic_load(&memory->last);
	if (last && last != stream) {
		st = stream_order(stream, last, err);
	}
	if (!st) {
		atomic_store(&memory->last, stream_retain(stream));
	}
	pthread_mutex_unlock(&memory->lock);
	if (!st) {
		stream_release(last);
	}
	return st;
}

kz_status memory_used_late(struct memory *memory, struct kz_stream *stream, kz_error *err)
{
	kz_status st = KZ_OK;
	pthread_mutex_lock(&memory->lock);
	struct kz_stream *last = atomic_load(&memory->last);
	if (last != stream) {
		st = stream_order(last, stream, err);
	}
	pthread_mutex_unlock(&memory->lock);
	return st;
}

struct kz_stream *memory_stream(struct memory *memory)
{
	pthread_mutex_lock(&memory->lock);
	struct kz_stream *last = atomic_load(&memory->last);
	struct kz_stream *stream = stream_retain(last ? last : &memory->device->stream);
	pthread_mutex_unlock(&memory->lock);
	return stream;
}

/* Buffers */

kz_status buffer_take(struct kz_buffer **out, struct memory *memory, int64_t offset,
	int64_t size, kz_error *err)
{
	struct kz_buffer *buffer = mem_zalloc(1, sizeof(*buffer));
	if (!buffer) {
		return error_no_memory(err);
	}
	atomic_init(&buffer->refs, 1);
	buffer->memory = memory;
	buffer->offset = offset;
	buffer->size = size;
	*out = buffer;
	return KZ_OK;
}

struct kz_buffer *buffer_retain(struct kz_buffer *buffer)
{
	atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
	return buffer;
}

kz_status buffer_create(struct kz_buffer **out, struct kz_device *dev, int64_t size,
	const char *what, kz_error *err)
{
	struct device_scope scope;
	struct memory *memory = NULL;
	*out = NULL;
	kz_status st = device_enter(dev, &scope, err);
	if (st) {
		return st;
	}
	st = memory_create(&memory, dev, size, what, err);
	device_leave(dev, &scope);
	if (!st && (st = buffer_take(out, memory, 0, size, err))) {
		memory_release(memory);
	}
	return st;
}

kz_status kz_buffer_create(kz_buffer **out, kz_device *dev, int64_t size, kz_error *err)
{
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, "a device", err))) {
		return st;
	}
	if (size < 0) {
		return error_set(err, KZ_INVALID, "expected a buffer size from 0, got %lld",
			(long long)size);
	}
	return buffer_create(out, dev, size, "a buffer", err);
}

kz_status buffer_check(const struct kz_buffer *buffer, int64_t offset, int64_t size, kz_error *err)
{
	kz_status st = object_check(buffer, "a buffer", err);
	if (st) {
		return st;
	}
	if (likely(offset >= 0 && size >= 0 && size <= buffer->size
		   && offset <= buffer->size - size)) {
		return KZ_OK;
	}
	return error_set(err, KZ_RANGE,
		"%lld byte%s from offset %lld do not lie in a buffer of %lld byte%s",
		(long long)size, plural(size), (long long)offset, (long long)buffer->size,
		plural(buffer->size));
}

kz_status kz_buffer_view(kz_buffer **out, kz_buffer *buffer, int64_t offset, int64_t size,
	kz_error *err)
{
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = buffer_check(buffer, offset, size, err))) {
		return st;
	}
	struct memory *memory = memory_retain(buffer->memory);
	st = buffer_take(out, memory, buffer->offset + offset, size, err);
	if (st) {
		memory_release(memory);
	}
	return st;
}

void kz_buffer_release(kz_buffer *buffer)
{
	if (buffer && atomic_fetch_sub(&buffer->refs, 1) == 1) {
		memory_release(buffer->memory);
		mem_free(buffer);
	}
}

int64_t kz_buffer_size(const kz_buffer *buffer)
{
	return buffer ? buffer->size : 0;
}

uint64_t kz_buffer_address(const kz_buffer *buffer)
{
	return buffer && buffer->size ? buffer_address(buffer) : 0;
}

kz_device *kz_buffer_device(const kz_buffer *buffer)
{
	return buffer ? buffer->memory->device : NULL;
}

void kz_device_memory_stats(const kz_device *dev, kz_memory_stats *out)
{
	kz_memory_stats stats = {0, 0, 0, 0};
	if (dev) {
		stats.live_size = atomic_load(&dev->live_size);
		stats.peak_size = atomic_load(&dev->peak_size);
		stats.live_count = atomic_load(&dev->live_count);
		stats.total_count = atomic_load(&dev->total_count);
	}
	if (out) {
		*out = stats;
	}
}
