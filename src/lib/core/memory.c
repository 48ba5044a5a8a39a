/* SPDX-License-Identifier: MIT */
/*
 * Device memory: where it comes from and goes, order between streams, buffers.
 *
 * A buffer is a range of a `struct memory`.  A memory has a block of the pool, or comes from an
 * allocator of the user's or from another owner.  It remembers the stream that used it last.  Every
 * piece of work calls memory_use() first, which orders the new stream after that one.  So the last
 * user is after all others, and the pool can reuse the block in the order of its stream.
 *
 * A memory contains the buffer that it is created for.  The pool parks both together, ready for
 * use, and memory_reuse_buffer() takes them as they are.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "lib/core/capture.h"
#include "lib/core/memory.h"
#include "lib/core/trace.h"

#include <stdio.h>

/* Allocation */

/* "no memory on cuda:0 for a buffer: 1024 bytes requested, 512 live, 2097152 reserved" */
static void memory_describe_shortage(char *text, size_t size, const struct memory *memory,
	int64_t requested)
{
	bool pinned = memory->pool->kind == MEMPOOL_PINNED;
	kz_memory_stats stats;
	char name[96];
	mempool_read(memory->pool, &stats);
	if (memory->dtype) {
		snprintf(name, sizeof(name), "an array of %lld %s", (long long)memory->count,
			kz_dtype_name(memory->dtype));
	} else {
		snprintf(name, sizeof(name), pinned ? "a pinned buffer" : "a buffer");
	}
	snprintf(text, size, "no memory on %s for %s: %lld bytes requested, %lld live, %lld "
		"reserved", pinned ? "the host" : memory->device->name, name,
		(long long)requested, (long long)stats.live_size,
		(long long)stats.reserved_size);
}

kz_status memory_fail(const struct memory *memory, int64_t size, const struct mempool_failure *why,
	kz_error *err)
{
	struct kz_device *dev = memory->device;
	if (why->code != CUDA_ERROR_OUT_OF_MEMORY) {
		return device_fail(dev, why->code, why->call, err);
	}
	char shortage[256];
	memory_describe_shortage(shortage, sizeof(shortage), memory, size);
	if (!why->call) {
		return error_set(err, KZ_DEVICE_MEMORY,
			"%s, of at most %lld by kz_device_limit_memory", shortage,
			(long long)memory->pool->limit);
	}
	const struct native_code *known = codes_find(KZ_DOMAIN_DRIVER, (int)why->code);
	bool pinned = memory->pool->kind == MEMPOOL_PINNED;
	kz_status st = pinned ? KZ_NO_MEMORY : known->status;
	bool mine = error_is_clean(err);
	struct device_scope scope;
	size_t free = 0, total = 0;
	if (!pinned && device_enter_quietly(dev, &scope)) {
		if (dev->drv->MemGetInfo(&free, &total) != CUDA_SUCCESS) {
			total = 0;
		}
		device_leave(dev, &scope);
	}
	const struct foreign_code foreign = {KZ_DOMAIN_DRIVER, (int)why->code, known->name,
		why->call, known->flags};
	error_foreign(err, st, &foreign, total ? "%s, %zu free of %zu" : "%s", shortage, free,
		total);
	if (mine) {
		error_add_hint(err, known->hint);
	}
	return st;
}

/* A piece of memory is there, or is given back. */
static void memory_trace(const struct memory *memory, const char *what)
{
	trace_host(clock_now_ns(), "memory", what,
		"\"device\":\"%s\",\"bytes\":%lld,\"address\":\"0x%llx\",\"pinned\":%s",
		memory->device->name, (long long)memory->size, (unsigned long long)memory->address,
		memory->pool->kind == MEMPOOL_PINNED ? "true" : "false");
}

static struct memory *memory_new(struct kz_device *dev, int64_t size)
{
	struct memory *memory = mem_alloc(sizeof(*memory));
	if (memory) {
		*memory = (struct memory){.device = device_retain(dev), .size = size};
		atomic_init(&memory->refs, 1);
		pthread_mutex_init(&memory->lock, NULL);
	}
	return memory;
}

static void memory_delete(struct memory *memory)
{
	struct kz_device *dev = memory->device;
	stream_release(atomic_load(&memory->last));
	pthread_mutex_destroy(&memory->lock);
	object_free(memory); /* `whole` is in it */
	device_release(dev);
}

/* Memory from what the user set. */
static kz_status memory_ask_allocator(struct memory *memory, const struct allocator *allocator,
	struct kz_stream *stream, kz_error *err)
{
	const kz_allocator *calls = &allocator->calls;
	uint64_t address = 0;
	kz_status st = calls->alloc(calls->user, &address, memory->size, stream, err);
	if (st) {
		/* It may have forgotten to say why. */
		return error_set(err, st,
			"the allocator of %s could not give %lld bytes: status %d",
			memory->device->name, (long long)memory->size, (int)st);
	}
	memory->address = address;
	if (address == 0 || address % 256 != 0) {
		st = error_set(err, KZ_INVALID, "expected a multiple of 256 from the allocator of "
			"%s, got 0x%llx", memory->device->name, (unsigned long long)address);
	} else {
		st = mempool_adopt(memory->pool, memory, true, err);
	}
	if (!st) {
		memory->allocator = allocator;
		atomic_store(&memory->last, stream_retain(stream));
	} else if (address != 0) {
		calls->free(calls->user, address, memory->size, stream);
	}
	return st;
}

static kz_status find_memory(struct memory *memory, struct kz_stream *stream, kz_error *err)
{
	struct kz_device *dev = memory->device;
	struct mempool_failure why;
	if (memory->size == 0) {
		return mempool_adopt(memory->pool, memory, true, err);
	}
	const struct allocator *allocator = atomic_load_explicit(&dev->allocator,
		memory_order_acquire);
	if (allocator && memory->pool->kind == MEMPOOL_DEVICE) {
		return memory_ask_allocator(memory, allocator, stream ? stream : &dev->stream, err);
	}
	kz_status st = mempool_take(memory->pool, memory, stream, &why, err);
	return !st && unlikely(why.code) ? memory_fail(memory, memory->size, &why, err) : st;
}

kz_status memory_create(struct memory **out, struct kz_device *dev, enum mempool_kind kind,
	int64_t size, const struct memory_wish *wish, kz_error *err)
{
	static const struct memory_wish none;
	struct mempool *pool = &dev->pools[kind];
	if (unlikely(atomic_load_explicit(&dev->lost, memory_order_acquire))) {
		return device_report_loss(dev, err);
	}
	struct memory *memory = memory_new(dev, size);
	if (!memory) {
		return error_no_memory(err);
	}
	wish = wish ? wish : &none;
	memory->pool = pool;
	memory->dtype = wish->dtype;
	memory->count = wish->count;
	kz_status st = find_memory(memory, wish->stream, err);
	if (st) {
		memory_delete(memory);
		return st;
	}
	if (unlikely(trace_is_on())) {
		memory_trace(memory, "allocate");
	}
	*out = memory;
	return KZ_OK;
}

kz_status memory_borrow(struct memory **out, struct kz_device *dev, CUdeviceptr address,
	int64_t size, const struct memory_owner *owner, kz_error *err)
{
	struct memory *memory = memory_new(dev, size);
	if (!memory) {
		return error_no_memory(err);
	}
	memory->address = address;
	if (owner) {
		memory->on_release = owner->on_release;
		memory->user = owner->user;
	}
	*out = memory;
	return KZ_OK;
}

/* Let the work on memory that is not ours pass. */
static void memory_wait_for_last(struct memory *memory)
{
	struct device_scope scope;
	struct kz_stream *last = atomic_load(&memory->last);
	if (last && device_enter_quietly(memory->device, &scope)) {
		(void)stream_wait(last);
		device_leave(memory->device, &scope);
	}
}

/* Memory that is not the pool's goes back to whom it came from. */
static void return_memory(struct memory *memory)
{
	const struct allocator *from = memory->allocator;
	if (from) {
		from->calls.free(from->calls.user, memory->address, memory->size,
			atomic_load(&memory->last));
	}
	if (memory->on_release) {
		memory_wait_for_last(memory);
		memory->on_release(memory->user);
	}
}

/* Let operations on values pass, which are on no list. */
static void memory_wait_for_values(struct memory *memory)
{
	struct device_scope scope;
	if (device_enter_quietly(memory->device, &scope)) {
		(void)stream_wait_all(memory->device);
		device_leave(memory->device, &scope);
	}
	atomic_store(&memory->has_values, false);
}

void memory_release(struct memory *memory)
{
	if (!memory || !refs_drop(&memory->refs) || device_is_forked(memory->device)) {
		return;
	}
	if (unlikely(atomic_load_explicit(&memory->has_values, memory_order_relaxed))) {
		memory_wait_for_values(memory);
	}
	struct mempool *pool = memory->pool;
	struct kz_device *dev = memory->device;
	if (unlikely(trace_is_on()) && pool) {
		memory_trace(memory, "free");
	}
	struct kz_stream *last = atomic_load_explicit(&memory->last, memory_order_relaxed);
	if (likely(pool && mempool_park(pool, device_free_list(pool, last), memory->block))) {
		stream_release(last);
		device_release(dev);
		return;
	}
	if (pool) {
		mempool_give(pool, memory);
	}
	return_memory(memory);
	memory_delete(memory);
}

kz_status memory_wait(struct memory *memory, kz_error *err)
{
	struct kz_device *dev = memory->device;
	struct kz_stream *last = atomic_load(&memory->last);
	if (atomic_load(&memory->has_values)) {
		return device_ok(dev, stream_wait_all(dev), "cuCtxSynchronize", err);
	}
	return last ? device_ok(dev, stream_wait(last), "cuStreamSynchronize", err) : KZ_OK;
}

static void memory_keep(void *memory)
{
	memory_retain(memory);
}

static void memory_drop(void *memory)
{
	memory_release(memory);
}

const struct use_kind memory_kind = {memory_keep, memory_drop, true};

kz_status memory_refuse(const struct memory *memory, kz_error *err)
{
	if (atomic_load(&memory->captures) > 0) {
		return error_set(err, KZ_STATE, "a graph that is being captured uses this "
			"memory; end the capture and launch the graph first");
	}
	const struct kz_stream *stream = &memory->device->stream;
	return stream_capture(stream) ? capture_refuse_stream(stream, err) : KZ_OK;
}

static kz_status memory_use_captured(struct memory *memory, struct kz_stream *stream,
	struct capture *capture, kz_error *err)
{
	return memory->graph ? error_set(err, KZ_STATE,
		"a capture cannot use memory that a node of another graph allocates")
		: capture_use(capture, memory, stream, &memory_kind, err);
}

/* In a stream of another device, whose kernels may access it.  The memory stays with a stream of
 * its own, which memory_used puts after the other one. */
static kz_status memory_use_abroad(struct memory *memory, struct kz_stream *stream, kz_error *err)
{
	pthread_mutex_lock(&memory->lock);
	struct kz_stream *last = atomic_load(&memory->last);
	if (!last) {
		last = stream_retain(&memory->device->stream);
		atomic_store(&memory->last, last);
	}
	kz_status st = stream_order(stream, last, err);
	pthread_mutex_unlock(&memory->lock);
	return st;
}

kz_status memory_use_after(struct memory *memory, struct kz_stream *stream, kz_error *err)
{
	kz_status st = KZ_OK;
	struct capture *capture = stream_capture(stream);
	if (unlikely(capture && memory->device != stream->device)) {
		return error_set(err, KZ_UNSUPPORTED, "a graph of %s cannot use memory of %s",
			stream->device->name, memory->device->name);
	}
	if (unlikely(capture)) {
		return memory_use_captured(memory, stream, capture, err);
	}
	if (unlikely(memory->graph)) {
		return error_set(err, KZ_STATE, "the buffer is memory that a node of a graph "
			"allocates: only nodes of that graph can use it");
	}
	if (unlikely(memory->device != stream->device)) {
		return memory_use_abroad(memory, stream, err);
	}
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
	if (stream_capture(stream)) {
		return KZ_OK;
	}
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
	struct kz_stream *home = &memory->device->stream;
	pthread_mutex_lock(&memory->lock);
	struct kz_stream *last = atomic_load(&memory->last);
	bool is_free = last && !stream_capture(last) && !stream_capture(home);
	struct kz_stream *stream = stream_retain(is_free ? last : home);
	pthread_mutex_unlock(&memory->lock);
	return stream;
}

/* Buffers */

struct kz_buffer *memory_whole(struct memory *memory)
{
	memory->whole = (struct kz_buffer){
		.tag = OBJECT_BUFFER, .memory = memory, .size = memory->size,
	};
	atomic_init(&memory->whole.refs, 1);
	return &memory->whole;
}

kz_status buffer_take(struct kz_buffer **out, struct memory *memory, int64_t offset,
	int64_t size, kz_error *err)
{
	struct kz_buffer *buffer = mem_alloc(sizeof(*buffer));
	if (!buffer) {
		return error_no_memory(err);
	}
	*buffer = (struct kz_buffer){
		.tag = OBJECT_BUFFER, .memory = memory, .offset = offset, .size = size,
	};
	atomic_init(&buffer->refs, 1);
	*out = buffer;
	return KZ_OK;
}

struct kz_buffer *buffer_retain(struct kz_buffer *buffer)
{
	atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
	return buffer;
}

/* The fast part of creation: parked memory becomes a buffer as it is.  NULL if there is none, or if
 * the device is not in its usual state. */
static always_inline struct kz_buffer *memory_reuse_buffer(struct kz_device *dev, int64_t size,
	struct kz_stream *stream, const struct memory_wish *wish)
{
	if (unlikely(size <= 0 || atomic_load_explicit(&dev->lost, memory_order_acquire)
		     || atomic_load_explicit(&dev->allocator, memory_order_relaxed))) {
		return NULL;
	}
	size_t units = ((size_t)size + MEMPOOL_UNIT - 1) / MEMPOOL_UNIT;
	struct memory *memory = mempool_reuse(&dev->pools[MEMPOOL_DEVICE],
		&stream->free_lists[MEMPOOL_DEVICE], units);
	if (unlikely(!memory)) {
		return NULL;
	}
	device_retain(dev);
	if (atomic_load_explicit(&memory->last, memory_order_relaxed)) {
		stream_retain(stream);
	}
	atomic_store_explicit(&memory->refs, 1, memory_order_relaxed);
	atomic_store_explicit(&memory->whole.refs, 1, memory_order_relaxed);
	memory->whole.tag = OBJECT_BUFFER;
	memory->size = memory->whole.size = size;
	memory->dtype = wish ? wish->dtype : 0;
	memory->argument = 0;
	memory->count = wish ? wish->count : 0;
	if (unlikely(trace_is_on())) {
		memory_trace(memory, "allocate");
	}
	return &memory->whole;
}

kz_status buffer_create(struct kz_buffer **out, struct kz_device *dev, int64_t size,
	const struct memory_wish *wish, kz_error *err)
{
	struct kz_stream *stream = wish && wish->stream ? wish->stream : &dev->stream;
	struct memory *memory = NULL;
	*out = memory_reuse_buffer(dev, size, stream, wish);
	kz_status st = *out ? KZ_OK
		: memory_create(&memory, dev, MEMPOOL_DEVICE, size, wish, err);
	if (memory) {
		*out = memory_whole(memory);
	}
	return st;
}

static kz_status memory_check_size(int64_t size, kz_error *err)
{
	return likely(size >= 0) ? KZ_OK : error_set(err, KZ_INVALID,
		"expected a buffer size of at least 0, got %lld", (long long)size);
}

kz_status kz_buffer_create(kz_buffer **out, kz_device *dev, int64_t size, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if (unlikely(!out || !object_is(dev, OBJECT_DEVICE))) {
		st = out_check(out, sizeof(*out), __func__, err);
		return st ? st : object_check(dev, OBJECT_DEVICE, err);
	}
	*out = memory_reuse_buffer(dev, size, &dev->stream, NULL);
	if (likely(*out)) {
		return buffer_hold(out, KZ_OK);
	}
	st = memory_check_size(size, err);
	st = st ? st : buffer_create(out, dev, size, NULL, err);
	return buffer_hold(out, st);
}

kz_status kz_buffer_create_on(kz_buffer **out, kz_device *dev, int64_t size, kz_stream *stream,
	kz_error *err)
{
	error_scope(err);
	struct memory_wish wish = {.stream = stream};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = stream_pick(&wish.stream, dev, stream, err))
	    || (st = memory_check_size(size, err))) {
		return st;
	}
	return buffer_hold(out, buffer_create(out, dev, size, &wish, err));
}

kz_status kz_buffer_create_pitched(kz_buffer **out, int64_t *pitch, kz_device *dev, int64_t width,
	int64_t height, kz_error *err)
{
	error_scope(err);
	int64_t row, size;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = pointer_check(pitch, "a place for the pitch", err))) {
		return st;
	}
	*pitch = 0;
	if ((st = object_check(dev, OBJECT_DEVICE, err))) {
		return st;
	}
	if (width < 0 || height < 0) {
		return error_set(err, KZ_INVALID, "expected 0 or more rows of 0 or more bytes, got "
			"%lld rows of %lld bytes",
			(long long)height, (long long)width);
	}
	/* The unit of the pool is what drivers align rows to. */
	if (__builtin_add_overflow(width, MEMPOOL_UNIT - 1, &row)
	    || __builtin_mul_overflow(row &= -MEMPOOL_UNIT, height, &size)) {
		return error_set(err, KZ_RANGE, "%lld rows of %lld bytes overflow 64 bits",
			(long long)height, (long long)width);
	}
	if (!(st = buffer_hold(out, buffer_create(out, dev, size, NULL, err)))) {
		*pitch = row;
	}
	return st;
}

/* Check that the driver knows the memory, and as memory of this device. */
static kz_status memory_check_foreign(struct kz_device *dev, uint64_t address, int64_t size,
	kz_error *err)
{
	struct device_scope scope;
	int ordinal = dev->ordinal;
	if (size < 0 || (size > 0 && address == 0)) {
		return error_set(err, KZ_INVALID, "expected memory to wrap, got %lld bytes at "
			"0x%llx", (long long)size, (unsigned long long)address);
	}
	if (size > 0 && address > UINT64_MAX - (uint64_t)size) {
		return error_set(err, KZ_RANGE, "%lld bytes at 0x%llx extend past the last address",
			(long long)size, (unsigned long long)address);
	}
	if (size == 0 || !drv_has(dev->drv, DRV_cuPointerGetAttribute)) {
		return KZ_OK;
	}
	kz_status st = device_enter(dev, &scope, err);
	if (st) {
		return st;
	}
	CUresult code = dev->drv->PointerGetAttribute(&ordinal,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
	device_leave(dev, &scope);
	if (code == CUDA_ERROR_INVALID_VALUE || (!code && ordinal != dev->ordinal)) {
		return error_set(err, KZ_INVALID, "expected memory of %s to wrap, got 0x%llx",
			dev->name, (unsigned long long)address);
	}
	return device_ok(dev, code, "cuPointerGetAttribute", err);
}

kz_status memory_wrap(struct memory **out, struct kz_device *dev, enum mempool_kind kind,
	CUdeviceptr address, int64_t size, kz_error *err)
{
	struct memory *memory = memory_new(dev, size);
	if (!memory) {
		return error_no_memory(err);
	}
	memory->address = address;
	kz_status st = mempool_adopt(&dev->pools[kind], memory, false, err);
	if (st) {
		memory_delete(memory);
		return st;
	}
	memory->pool = &dev->pools[kind];
	*out = memory;
	return KZ_OK;
}

kz_status kz_buffer_wrap(kz_buffer **out, kz_device *dev, uint64_t address, int64_t size,
	void (*on_release)(void *user), void *user, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = memory_check_foreign(dev, address, size, err))) {
		return st;
	}
	struct memory *memory = NULL;
	if ((st = memory_wrap(&memory, dev, MEMPOOL_DEVICE, address, size, err))) {
		return st;
	}
	memory->on_release = on_release;
	memory->user = user;
	*out = memory_whole(memory);
	return buffer_hold(out, KZ_OK);
}

kz_status buffer_check(const struct kz_buffer *buffer, int64_t offset, int64_t size, kz_error *err)
{
	kz_status st = object_check(buffer, OBJECT_BUFFER, err);
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
	error_scope(err);
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
	return buffer_hold(out, st);
}

void buffer_release(struct kz_buffer *buffer)
{
	if (buffer && refs_drop(&buffer->refs)) {
		struct memory *memory = buffer->memory;
		object_end(&buffer->tag);
		if (buffer != &memory->whole) {
			object_free(buffer);
		}
		memory_release(memory);
	}
}

void kz_buffer_release(kz_buffer *buffer)
{
	if (object_is(buffer, OBJECT_BUFFER) && buffer->is_held) {
		buffer->is_held = false;
		object_take(buffer);
		buffer_release(buffer);
	}
}

int64_t kz_buffer_size(const kz_buffer *buffer)
{
	return object_is(buffer, OBJECT_BUFFER) ? buffer->size : 0;
}

uint64_t kz_buffer_address(const kz_buffer *buffer)
{
	return object_is(buffer, OBJECT_BUFFER) && buffer->size ? buffer_address(buffer) : 0;
}

kz_device *kz_buffer_device(const kz_buffer *buffer)
{
	return object_is(buffer, OBJECT_BUFFER) ? buffer->memory->device : NULL;
}
