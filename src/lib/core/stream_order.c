/* SPDX-License-Identifier: MIT */
/*
 * Order between streams, and what the pools ask about one.
 *
 * Every stream has an event of its own, `order`.  stream_order() records it and makes another
 * stream wait for it.  Two threads may do that at once: then one waits for the other's later mark,
 * which is more than it asked for, and still right.
 *
 * A pool has the free memory of each stream, but no count on the stream.  Before it gives such
 * memory to another stream it asks whether the first is still counted.
 *
 * stream.c is above the pools; these functions are below them.
 */
#include "base/common.h"

#include "lib/core/stream.h"

/* The default stream is a part of its device. */
static atomic_int *stream_count(struct kz_stream *stream)
{
	return stream->is_default ? &stream->device->refs : &stream->refs;
}

bool stream_is_living(struct kz_stream *stream)
{
	return atomic_load(stream_count(stream)) > 0;
}

bool stream_retain_living(struct kz_stream *stream)
{
	return refs_raise(stream_count(stream));
}

kz_status stream_order(struct kz_stream *later, struct kz_stream *earlier, kz_error *err)
{
	if (stream_capture(later)) {
		return error_set(err, KZ_STATE, "a stream of %s captures a graph, which cannot "
			"wait for work outside of it", later->device->name);
	}
	/* The event of a captured stream was recorded before the capture. */
	CUresult code = stream_capture(earlier) ? CUDA_SUCCESS
		: earlier->device->drv->EventRecord(earlier->order, earlier->handle);
	kz_status st = device_ok(earlier->device, code, "cuEventRecord", err);
	return st ? st : device_ok(later->device,
		later->device->drv->StreamWaitEvent(later->handle, earlier->order, 0),
		"cuStreamWaitEvent", err);
}

/* The driver may take a question for one that synchronises, which a capturing thread must not
 * do. */
static bool stream_relax(const struct kz_device *dev, CUstreamCaptureMode *mode)
{
	bool captures = unlikely(atomic_load(&dev->captures) > 0);
	if (captures) {
		*mode = device_relax(dev);
	}
	return captures;
}

CUresult stream_wait(struct kz_stream *stream)
{
	const struct drv *drv = stream->device->drv;
	CUstreamCaptureMode mode;
	bool is_relaxed = stream_relax(stream->device, &mode);
	CUresult code = stream_capture(stream) ? drv->EventSynchronize(stream->order)
		: drv->StreamSynchronize(stream->handle);
	if (is_relaxed) {
		device_restore(stream->device, mode);
	}
	return code;
}

kz_status stream_find_capturing(bool *out, struct kz_stream *stream, kz_error *err)
{
	const struct drv *drv = stream->device->drv;
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult code = drv_has(drv, DRV_cuStreamIsCapturing)
		? drv->StreamIsCapturing(stream->handle, &status) : CUDA_SUCCESS;
	*out = code != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
	return device_ok(stream->device, code, "cuStreamIsCapturing", err);
}

bool stream_is_capturing(struct kz_stream *stream)
{
	bool is_capturing;
	return stream_find_capturing(&is_capturing, stream, NULL) || is_capturing;
}

/* Asking a stream that is captured would end the capture. */
bool stream_is_done(struct kz_stream *stream)
{
	CUstreamCaptureMode mode;
	if (stream_is_capturing(stream)) {
		return false;
	}
	bool is_relaxed = stream_relax(stream->device, &mode);
	bool is_done = stream->device->drv->StreamQuery(stream->handle) == CUDA_SUCCESS;
	if (is_relaxed) {
		device_restore(stream->device, mode);
	}
	return is_done;
}

bool stream_are_all_done(struct kz_device *dev)
{
	struct mempool *pool = &dev->pools[MEMPOOL_DEVICE];
	bool are_done = stream_is_done(&dev->stream);
	pthread_mutex_lock(&pool->lock);
	for (struct free_list *list = pool->lists; list && are_done; list = list->next) {
		are_done = !stream_is_living(list->stream) || stream_is_done(list->stream);
	}
	pthread_mutex_unlock(&pool->lock);
	return are_done;
}

kz_status stream_pick(struct kz_stream **out, struct kz_device *dev, struct kz_stream *stream,
	kz_error *err)
{
	*out = stream ? stream : &dev->stream;
	if (likely(object_is(*out, OBJECT_STREAM) && (*out)->device == dev)) {
		return KZ_OK;
	}
	kz_status st = object_check_as(*out, OBJECT_STREAM, "stream", err);
	return st ? st : error_set(err, KZ_INVALID, "expected a stream of %s, got one of %s",
		dev->name, (*out)->device->name);
}
