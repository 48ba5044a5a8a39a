/* SPDX-License-Identifier: MIT */
/*
 * How the pools ask the driver for segments; see source.h.
 *
 * Segments come from cuMemAlloc: memory of cuMemAllocAsync cannot be shared by cuIpcGetMemHandle,
 * exists behind one stream only, and after its free is kept by the driver's own pool, where trimming
 * would not reach it.
 */
#include "base/common.h"

#include "core/source.h"

/* While any stream is captured the driver refuses what may synchronise; this thread vouches. */
static CUstreamCaptureMode relax_capture(const struct kz_device *dev, CUstreamCaptureMode mode)
{
	if (drv_has(dev->drv, DRV_cuThreadExchangeStreamCaptureMode)) {
		(void)dev->drv->ThreadExchangeStreamCaptureMode(&mode);
	}
	return mode;
}

static CUresult reserve_plain(const struct kz_device *dev, CUdeviceptr *address, size_t size)
{
	CUstreamCaptureMode mode = relax_capture(dev, CU_STREAM_CAPTURE_MODE_RELAXED);
	CUresult code = dev->drv->MemAlloc(address, size);
	relax_capture(dev, mode);
	return code;
}

static void give_back_plain(const struct kz_device *dev, CUdeviceptr address, struct kz_stream *last)
{
	CUstreamCaptureMode mode = relax_capture(dev, CU_STREAM_CAPTURE_MODE_RELAXED);
	if (last) {
		(void)dev->drv->StreamSynchronize(last->handle);
	}
	(void)dev->drv->MemFree(address);
	relax_capture(dev, mode);
}

static CUresult reserve_ordered(const struct kz_device *dev, CUdeviceptr *address, size_t size)
{
	return dev->drv->MemAllocAsync(address, size, dev->stream.handle);
}

static void give_back_ordered(const struct kz_device *dev, CUdeviceptr address,
	struct kz_stream *last)
{
	(void)dev->drv->MemFreeAsync(address, last ? last->handle : dev->stream.handle);
}

static CUresult reserve_pinned(const struct kz_device *dev, CUdeviceptr *address, size_t size)
{
	void *memory = NULL;
	CUstreamCaptureMode mode = relax_capture(dev, CU_STREAM_CAPTURE_MODE_RELAXED);
	CUresult code = dev->drv->MemHostAlloc(&memory, size,
		CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	relax_capture(dev, mode);
	*address = (uintptr_t)memory;
	return code;
}

static void give_back_pinned(const struct kz_device *dev, CUdeviceptr address,
	struct kz_stream *last)
{
	CUstreamCaptureMode mode = relax_capture(dev, CU_STREAM_CAPTURE_MODE_RELAXED);
	if (last) {
		(void)dev->drv->StreamSynchronize(last->handle);
	}
	(void)dev->drv->MemFreeHost((void *)(uintptr_t)address);
	relax_capture(dev, mode);
}

CUresult source_pin(const struct kz_device *dev, void *memory, size_t size)
{
	CUstreamCaptureMode mode = relax_capture(dev, CU_STREAM_CAPTURE_MODE_RELAXED);
	CUresult code = dev->drv->MemHostRegister(memory, size,
		CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
	relax_capture(dev, mode);
	return code;
}

void source_unpin(const struct kz_device *dev, void *memory)
{
	CUstreamCaptureMode mode = relax_capture(dev, CU_STREAM_CAPTURE_MODE_RELAXED);
	(void)dev->drv->MemHostUnregister(memory);
	relax_capture(dev, mode);
}

static const struct source plain = {"cuMemAlloc", reserve_plain, give_back_plain, false};
static const struct source ordered = {"cuMemAllocAsync", reserve_ordered, give_back_ordered, true};
static const struct source pinned = {"cuMemHostAlloc", reserve_pinned, give_back_pinned, false};

const struct source *source_choose(const struct mempool *pool)
{
	return pool->kind == MEMPOOL_PINNED ? &pinned
		: !pool->keeps && pool->device->has_pools ? &ordered : &plain;
}
