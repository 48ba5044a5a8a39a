/* SPDX-License-Identifier: MIT */
/*
 * Streams and events over the driver's: making them, ending them, waiting for them.
 *
 * A stream has a free list in each pool, for the memory that it used last.  Its end empties them,
 * while the driver's stream is still there to be waited for.  How one stream waits for another is
 * in stream_order.c.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "core/stream.h"

kz_status stream_init(struct kz_stream *stream, struct kz_device *dev, int priority, kz_error *err)
{
	const struct drv *drv = dev->drv;
	CUresult code;
	kz_status st;
	atomic_init(&stream->refs, 1);
	stream->device = dev;
	if (!mempool_enlist(stream)) {
		return error_no_memory(err);
	}
	if (priority == 0) {
		code = drv->StreamCreate(&stream->handle, CU_STREAM_NON_BLOCKING);
		st = device_ok(dev, code, "cuStreamCreate", err);
	} else {
		code = drv->StreamCreateWithPriority(&stream->handle, CU_STREAM_NON_BLOCKING,
			priority);
		st = device_ok(dev, code, "cuStreamCreateWithPriority", err);
	}
	if (st) {
		stream->handle = NULL;
		stream_finish(stream);
		return st;
	}
	st = device_ok(dev, drv->EventCreate(&stream->order, CU_EVENT_DISABLE_TIMING),
		"cuEventCreate", err);
	if (st) {
		stream->order = NULL;
		stream_finish(stream);
	}
	return st;
}

void stream_finish(struct kz_stream *stream)
{
	struct device_scope scope;
	bool living = stream->handle && device_enter_quietly(stream->device, &scope);
	mempool_retire(stream, !living);
	if (living) {
		if (stream->order) {
			(void)stream->device->drv->EventDestroy(stream->order);
		}
		(void)stream->device->drv->StreamDestroy(stream->handle);
		device_leave(stream->device, &scope);
	}
	stream->handle = NULL;
	stream->order = NULL;
}

void stream_release(struct kz_stream *stream)
{
	if (!stream) {
		return;
	}
	if (stream->is_default) {
		device_release(stream->device);
	} else if (atomic_fetch_sub(&stream->refs, 1) == 1) {
		stream_finish(stream);
		device_release(stream->device);
		mem_free(stream);
	}
}

kz_status kz_stream_create(kz_stream **out, kz_device *dev, int priority, kz_error *err)
{
	struct device_scope scope;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, "a device", err))) {
		return st;
	}
	struct kz_stream *stream = mem_zalloc(1, sizeof(*stream));
	st = stream ? device_enter(dev, &scope, err) : error_no_memory(err);
	if (!st) {
		st = stream_init(stream, dev, priority, err);
		device_leave(dev, &scope);
	}
	if (st) {
		mem_free(stream);
		return st;
	}
	device_retain(dev);
	*out = stream;
	return KZ_OK;
}

void kz_stream_release(kz_stream *stream)
{
	if (stream && !stream->is_default) {
		stream_release(stream);
	}
}

kz_device *kz_stream_device(const kz_stream *stream)
{
	return stream ? stream->device : NULL;
}

void *kz_stream_handle(const kz_stream *stream)
{
	return stream ? stream->handle : NULL;
}

/* The end of a call: what the driver answered, and the caller's context back. */
static kz_status stream_leave(struct kz_device *dev, const struct device_scope *scope,
	CUresult code, const char *call, kz_error *err)
{
	kz_status st = device_ok(dev, code, call, err);
	device_leave(dev, scope);
	return st;
}

/* "Not ready" answers a question; it is no failure to be kept. */
static kz_status finish_query(struct kz_device *dev, const struct device_scope *scope,
	CUresult code, const char *call, kz_error *err)
{
	bool is_ready = code != CUDA_ERROR_NOT_READY;
	kz_status st = stream_leave(dev, scope, is_ready ? code : CUDA_SUCCESS, call, err);
	return is_ready ? st : KZ_NOT_READY;
}

kz_status kz_stream_synchronize(kz_stream *stream, kz_error *err)
{
	struct device_scope scope;
	kz_status st;
	if ((st = object_check(stream, "a stream", err))
	    || (st = device_enter(stream->device, &scope, err))) {
		return st;
	}
	CUresult code = stream->device->drv->StreamSynchronize(stream->handle);
	return stream_leave(stream->device, &scope, code, "cuStreamSynchronize", err);
}

kz_status kz_stream_query(kz_stream *stream, kz_error *err)
{
	struct device_scope scope;
	kz_status st;
	if ((st = object_check(stream, "a stream", err))
	    || (st = device_enter(stream->device, &scope, err))) {
		return st;
	}
	CUresult code = stream->device->drv->StreamQuery(stream->handle);
	return finish_query(stream->device, &scope, code, "cuStreamQuery", err);
}

kz_status kz_stream_wait(kz_stream *stream, kz_event *event, kz_error *err)
{
	struct device_scope scope;
	kz_status st;
	if ((st = object_check(stream, "a stream", err))
	    || (st = object_check(event, "an event", err))) {
		return st;
	}
	if (event->device->drv != stream->device->drv) {
		return error_set(err, KZ_INVALID, "a stream of %s cannot wait for an event of %s",
			stream->device->name, event->device->name);
	}
	if ((st = device_enter(stream->device, &scope, err))) {
		return st;
	}
	CUresult code = stream->device->drv->StreamWaitEvent(stream->handle, event->handle, 0);
	return stream_leave(stream->device, &scope, code, "cuStreamWaitEvent", err);
}

kz_status kz_event_create(kz_event **out, kz_device *dev, kz_error *err)
{
	struct device_scope scope;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, "a device", err))) {
		return st;
	}
	struct kz_event *event = mem_zalloc(1, sizeof(*event));
	st = event ? device_enter(dev, &scope, err) : error_no_memory(err);
	if (!st) {
		st = device_ok(dev, dev->drv->EventCreate(&event->handle, CU_EVENT_DEFAULT),
			"cuEventCreate", err);
		device_leave(dev, &scope);
	}
	if (st) {
		mem_free(event);
		return st;
	}
	atomic_init(&event->refs, 1);
	event->device = device_retain(dev);
	*out = event;
	return KZ_OK;
}

void kz_event_release(kz_event *event)
{
	struct device_scope scope;
	if (event && atomic_fetch_sub(&event->refs, 1) == 1) {
		if (device_enter_quietly(event->device, &scope)) {
			(void)event->device->drv->EventDestroy(event->handle);
			device_leave(event->device, &scope);
		}
		device_release(event->device);
		mem_free(event);
	}
}

kz_status kz_event_record(kz_event *event, kz_stream *stream, kz_error *err)
{
	struct device_scope scope;
	kz_status st;
	if ((st = object_check(event, "an event", err))
	    || (st = stream_pick(&stream, event->device, stream, err))
	    || (st = device_enter(event->device, &scope, err))) {
		return st;
	}
	CUresult code = event->device->drv->EventRecord(event->handle, stream->handle);
	st = stream_leave(event->device, &scope, code, "cuEventRecord", err);
	if (!st) {
		atomic_store(&event->recorded, true);
	}
	return st;
}

kz_status kz_event_synchronize(kz_event *event, kz_error *err)
{
	struct device_scope scope;
	kz_status st;
	if ((st = object_check(event, "an event", err))
	    || (st = device_enter(event->device, &scope, err))) {
		return st;
	}
	CUresult code = event->device->drv->EventSynchronize(event->handle);
	return stream_leave(event->device, &scope, code, "cuEventSynchronize", err);
}

kz_status kz_event_query(kz_event *event, kz_error *err)
{
	struct device_scope scope;
	kz_status st;
	if ((st = object_check(event, "an event", err))
	    || (st = device_enter(event->device, &scope, err))) {
		return st;
	}
	CUresult code = event->device->drv->EventQuery(event->handle);
	return finish_query(event->device, &scope, code, "cuEventQuery", err);
}

static kz_status check_pair(const kz_event *start, const kz_event *stop, kz_error *err)
{
	kz_status st;
	if ((st = object_check(start, "a start event", err))
	    || (st = object_check(stop, "a stop event", err))) {
		return st;
	}
	if (start->device != stop->device) {
		return error_set(err, KZ_INVALID, "the start event is of %s, the stop event of %s",
			start->device->name, stop->device->name);
	}
	if (!atomic_load(&start->recorded) || !atomic_load(&stop->recorded)) {
		return error_set(err, KZ_INVALID, "the %s event was never recorded",
			atomic_load(&start->recorded) ? "stop" : "start");
	}
	return KZ_OK;
}

kz_status kz_event_elapsed_ms(double *out, kz_event *start, kz_event *stop, kz_error *err)
{
	struct device_scope scope;
	float ms = 0;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = check_pair(start, stop, err)) || (st = device_enter(start->device, &scope, err))) {
		return st;
	}
	CUresult code = start->device->drv->EventElapsedTime(&ms, start->handle, stop->handle);
	st = stream_leave(start->device, &scope, code, "cuEventElapsedTime", err);
	*out = st ? 0 : (double)ms;
	return st;
}
