/* SPDX-License-Identifier: MIT */
/*
 * What the pools ask the driver for, and give back; see segment.h.
 *
 * Segments come from cuMemAlloc.  Memory of cuMemAllocAsync cannot be shared by cuIpcGetMemHandle,
 * and exists only for what comes later in one stream.  Once it is freed the driver's own pool keeps
 * it, where trimming would not reach it.  So only a pool that keeps nothing uses cuMemAllocAsync.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "lib/core/segment.h"
#include "lib/core/stream.h"
#include "lib/core/trace.h"

static CUresult segment_reserve_plain(const struct kz_device *dev, CUdeviceptr *address,
	size_t size)
{
	CUstreamCaptureMode mode = device_relax(dev);
	CUresult code = dev->drv->MemAlloc(address, size);
	device_restore(dev, mode);
	return code;
}

static void segment_give_back_plain(struct kz_device *dev, CUdeviceptr address,
	struct kz_stream *last)
{
	CUstreamCaptureMode mode = device_relax(dev);
	if (last) {
		(void)stream_wait(last);
	}
	device_released(dev, dev->drv->MemFree(address), "cuMemFree");
	device_restore(dev, mode);
}

static CUresult segment_reserve_ordered(const struct kz_device *dev, CUdeviceptr *address,
	size_t size)
{
	return dev->drv->MemAllocAsync(address, size, dev->stream.handle);
}

static void segment_give_back_ordered(struct kz_device *dev, CUdeviceptr address,
	struct kz_stream *last)
{
	struct kz_stream *stream = last ? last : &dev->stream;
	if (stream_capture(stream)) {
		segment_give_back_plain(dev, address, stream); /* in a graph the memory is not */
	} else {
		device_released(dev, dev->drv->MemFreeAsync(address, stream->handle),
			"cuMemFreeAsync");
	}
}

static CUresult segment_reserve_pinned(const struct kz_device *dev, CUdeviceptr *address,
	size_t size)
{
	void *memory = NULL;
	CUstreamCaptureMode mode = device_relax(dev);
	CUresult code = dev->drv->MemHostAlloc(&memory, size,
		CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	device_restore(dev, mode);
	*address = (uintptr_t)memory;
	return code;
}

static void segment_give_back_pinned(struct kz_device *dev, CUdeviceptr address,
	struct kz_stream *last)
{
	CUstreamCaptureMode mode = device_relax(dev);
	if (last) {
		(void)stream_wait(last);
	}
	device_released(dev, dev->drv->MemFreeHost((void *)(uintptr_t)address), "cuMemFreeHost");
	device_restore(dev, mode);
}

CUresult segment_pin(const struct kz_device *dev, void *memory, size_t size)
{
	CUstreamCaptureMode mode = device_relax(dev);
	CUresult code = dev->drv->MemHostRegister(memory, size,
		CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
	device_restore(dev, mode);
	return code;
}

void segment_unpin(struct kz_device *dev, void *memory)
{
	CUstreamCaptureMode mode = device_relax(dev);
	device_released(dev, dev->drv->MemHostUnregister(memory), "cuMemHostUnregister");
	device_restore(dev, mode);
}

static const struct segment_source plain = {"cuMemAlloc", segment_reserve_plain,
	segment_give_back_plain, false};
static const struct segment_source ordered = {"cuMemAllocAsync", segment_reserve_ordered,
	segment_give_back_ordered, true};
static const struct segment_source pinned = {"cuMemHostAlloc", segment_reserve_pinned,
	segment_give_back_pinned, false};

const struct segment_source *segment_source(const struct mempool *pool)
{
	return pool->kind == MEMPOOL_PINNED ? &pinned
		: !pool->keeps && pool->device->has_pools && !stream_capture(&pool->device->stream)
		? &ordered : &plain;
}

static void segment_count(struct mempool *pool, int64_t size)
{
	kz_memory_stats *stats = &pool->stats;
	stats->reserved_size += size;
	if (stats->reserved_size > stats->peak_reserved_size) {
		stats->peak_reserved_size = stats->reserved_size;
	}
	stats->segment_count += size > 0 ? 1 : -1;
}

/* A new segment is one block, which is in use. */
struct segment *segment_create(const struct segment_source *source, size_t units, bool is_kept)
{
	struct segment *segment = mem_zalloc(1, sizeof(*segment));
	if (segment) {
		segment->source = source;
		segment->live = 1;
		segment->is_kept = is_kept;
		segment->is_large = segment_is_large(units);
		segment->is_counted = true;
		segment->first.segment = segment;
	}
	return segment;
}

void segment_link(struct mempool *pool, struct segment *segment)
{
	segment->next = pool->segments;
	if (segment->next) {
		segment->next->previous = segment;
	}
	pool->segments = segment;
	if (segment->size > 0 && segment->is_counted) {
		segment_count(pool, segment->size);
	}
}

void segment_unlink(struct mempool *pool, struct segment *segment)
{
	*(segment->previous ? &segment->previous->next : &pool->segments) = segment->next;
	if (segment->next) {
		segment->next->previous = segment->previous;
	}
	segment->next = segment->previous = NULL;
	if (segment->size > 0 && segment->is_counted) {
		segment_count(pool, -segment->size);
	}
}

bool segment_allow(struct mempool *pool, int64_t size)
{
	pthread_mutex_lock(&pool->lock);
	bool fits = size < 0 || pool->limit == 0 || (size <= pool->limit
		&& size <= pool->limit - pool->stats.reserved_size - pool->pending);
	pool->pending += fits ? size : 0;
	pthread_mutex_unlock(&pool->lock);
	return fits;
}

/* Ask the driver for `size` bytes, whole units unless the segment is not kept. */
CUresult segment_reserve(struct mempool *pool, struct segment *segment, size_t size,
	struct mempool_failure *why)
{
	/* A size that no device has must not overflow here. */
	const size_t most = (size_t)1 << 56;
	int64_t whole = (int64_t)(size < most ? round_up(size, MEMPOOL_UNIT) : most);
	bool fits = segment_allow(pool, whole);
	why->call = fits ? segment->source->call : NULL;
	if (!fits) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	uint64_t start = clock_now_ns();
	CUresult code = segment->source->reserve(pool->device, &segment->first.address, size);
	if (unlikely(trace_is_on())) {
		trace_host(start, "memory", why->call,
			"\"device\":\"%s\",\"bytes\":%zu,\"code\":%d",
			pool->device->name, size, (int)code);
	}
	pthread_mutex_lock(&pool->lock);
	pool->pending -= whole;
	if (code == CUDA_SUCCESS) {
		segment->size = whole;
		segment->first.units = (size_t)whole / MEMPOOL_UNIT;
		segment_link(pool, segment);
	}
	pthread_mutex_unlock(&pool->lock);
	return code;
}

/* Give a list of segments back; the context is current if `living`. */
void segment_give_back(struct mempool *pool, struct segment *segment, bool living)
{
	while (segment) {
		struct segment *next = segment->next;
		if (living) {
			segment->source->give_back(pool->device, segment->first.address, NULL);
		}
		mem_free(segment);
		segment = next;
	}
}
