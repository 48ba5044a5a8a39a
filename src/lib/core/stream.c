/* SPDX-License-Identifier: MIT */
/*
 * Streams and events over the driver's: making them, ending them, waiting for them and for a
 * device.
 *
 * A stream has a free list in each pool, for the memory that it used last.  Its end empties them,
 * while the driver's stream is still there to be waited for.  How one stream waits for another is
 * in stream_order.c.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/capture.h"
#include "lib/core/stream.h"
#include "lib/core/trace.h"

#include <string.h>

static kz_status stream_create_handle(struct kz_stream *stream, const kz_stream_options *options,
	kz_error *err)
{
	struct kz_device *dev = stream->device;
	const unsigned flags = options->blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
	kz_status st = options->priority == 0
		? device_ok(dev, dev->drv->StreamCreate(&stream->handle, flags), "cuStreamCreate",
			err)
		: device_ok(dev, dev->drv->StreamCreateWithPriority(&stream->handle, flags,
			options->priority), "cuStreamCreateWithPriority", err);
	if (st) {
		stream->handle = NULL;
	}
	return st;
}

kz_status stream_init(struct kz_stream *stream, struct kz_device *dev,
	const kz_stream_options *options, kz_error *err)
{
	kz_status st = KZ_OK;
	stream->tag = OBJECT_STREAM;
	atomic_init(&stream->refs, 1);
	stream->device = dev;
	stream->number = atomic_fetch_add_explicit(&dev->stream_count, 1, memory_order_relaxed);
	if (options) {
		st = stream_create_handle(stream, options, err);
	}
	if (!st) {
		st = device_ok(dev, dev->drv->EventCreate(&stream->order, CU_EVENT_DISABLE_TIMING),
			"cuEventCreate", err);
		stream->order = st ? NULL : stream->order;
	}
	/* Other threads find it in the pools' lists from here on, and wait for it. */
	if (!st && !mempool_enlist(stream)) {
		st = error_no_memory(err);
	}
	if (st) {
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
			device_released(stream->device,
				stream->device->drv->EventDestroy(stream->order), "cuEventDestroy");
		}
		if (!stream->is_borrowed) {
			CUresult code = stream->device->drv->StreamDestroy(stream->handle);
			device_released(stream->device, code, "cuStreamDestroy");
		}
		device_leave(stream->device, &scope);
	}
	stream->handle = NULL;
	stream->order = NULL;
}

void stream_release(struct kz_stream *stream)
{
	if (!stream || device_is_forked(stream->device)) {
		return;
	}
	if (stream->is_default) {
		device_release(stream->device);
	} else if (atomic_fetch_sub(&stream->refs, 1) == 1) {
		stream_finish(stream);
		device_count(stream->device, DEVICE_STREAM, -1);
		object_end(&stream->tag);
		device_release(stream->device);
		object_free(stream);
	}
}

void stream_release_captured(struct kz_stream *streams)
{
	while (streams) {
		struct kz_stream *stream = streams;
		streams = stream->next_captured;
		stream_release(stream);
	}
}

/* One after the other, while streams are captured. */
static CUresult stream_wait_for_each(struct kz_device *dev)
{
	struct mempool *pool = &dev->pools[MEMPOOL_DEVICE];
	pthread_mutex_lock(&pool->lock);
	size_t count = 0;
	for (struct free_list *list = pool->lists; list; list = list->next) {
		count++;
	}
	struct kz_stream **streams = mem_zalloc(count + 1, sizeof(struct kz_stream *));
	count = 0;
	for (struct free_list *list = pool->lists; streams && list; list = list->next) {
		if (stream_retain_living(list->stream)) {
			streams[count++] = list->stream;
		}
	}
	pthread_mutex_unlock(&pool->lock);
	CUresult code = streams ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	while (count-- > 0) {
		CUresult waited = stream_wait(streams[count]);
		code = code ? code : waited;
		stream_release(streams[count]);
	}
	mem_free(streams);
	return code;
}

CUresult stream_wait_all(struct kz_device *dev)
{
	bool captures = device_hold_captures(dev);
	CUresult code = captures ? stream_wait_for_each(dev) : dev->drv->CtxSynchronize();
	device_let_captures(dev);
	return code;
}

/* Make a stream; `handle` is NULL, or the one to borrow. */
static kz_status stream_make(kz_stream **out, struct kz_device *dev, CUstream handle,
	const kz_stream_options *options, kz_error *err)
{
	struct device_scope scope;
	struct kz_stream *stream = mem_zalloc(1, sizeof(*stream));
	kz_status st = stream ? device_enter(dev, &scope, err) : error_no_memory(err);
	if (!st) {
		stream->handle = handle;
		stream->is_borrowed = handle;
		st = stream_init(stream, dev, options, err);
		device_leave(dev, &scope);
	}
	if (st) {
		mem_free(stream);
		return st;
	}
	device_retain(dev);
	device_count(dev, DEVICE_STREAM, 1);
	stream->is_held = true;
	object_give(stream, dev);
	*out = stream;
	return KZ_OK;
}

kz_status kz_stream_create_with(kz_stream **out, kz_device *dev, const kz_stream_options *options,
	kz_error *err)
{
	error_scope(err);
	static const kz_stream_options defaults = KZ_STREAM_OPTIONS_INIT;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))) {
		return st;
	}
	options = options ? options : &defaults;
	if (options->size != sizeof(*options)) {
		return struct_refuse("kz_stream_options", options->size, sizeof(*options), err);
	}
	return stream_make(out, dev, NULL, options, err);
}

kz_status kz_stream_create(kz_stream **out, kz_device *dev, int priority, kz_error *err)
{
	error_scope(err);
	const kz_stream_options options = {.size = sizeof(options), .priority = priority};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))) {
		return st;
	}
	return stream_make(out, dev, NULL, &options, err);
}

kz_status kz_stream_priorities(int *least, int *greatest, kz_device *dev, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	int range[2] = {0, 0};
	kz_status st = object_check(dev, OBJECT_DEVICE, err);
	if (!st && !(st = device_enter(dev, &scope, err))) {
		st = device_ok(dev, dev->drv->CtxGetStreamPriorityRange(&range[0], &range[1]),
			"cuCtxGetStreamPriorityRange", err);
		device_leave(dev, &scope);
	}
	if (least) {
		*least = st ? 0 : range[0];
	}
	if (greatest) {
		*greatest = st ? 0 : range[1];
	}
	return st;
}

/* Check that a handle is of the device's context. */
static kz_status stream_check_handle(struct kz_device *dev, CUstream handle, kz_error *err)
{
	struct device_scope scope;
	CUcontext context = dev->context;
	kz_status st;
	if (handle == CU_STREAM_PER_THREAD) {
		return error_set(err, KZ_INVALID, "expected the same stream in all threads, got "
			"CU_STREAM_PER_THREAD, which is another stream in each thread");
	}
	if ((st = device_enter(dev, &scope, err))) {
		return st;
	}
	if (drv_has(dev->drv, DRV_cuStreamGetCtx)) {
		st = device_ok(dev, dev->drv->StreamGetCtx(handle, &context), "cuStreamGetCtx",
			err);
	}
	device_leave(dev, &scope);
	return st || context == dev->context ? st : error_set(err, KZ_INVALID,
		"expected a stream of the primary context of %s, got one of another context",
		dev->name);
}

kz_status kz_stream_wrap(kz_stream **out, kz_device *dev, void *handle, kz_error *err)
{
	error_scope(err);
	CUstream borrowed = handle ? handle : CU_STREAM_LEGACY;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = stream_check_handle(dev, borrowed, err))) {
		return st;
	}
	return stream_make(out, dev, borrowed, NULL, err);
}

/* The owner may destroy the handle from now on.  What was used in it last goes on to name this
 * stream, which therefore becomes another name of the default stream, after all work so far. */
static void stream_give_back(struct kz_stream *stream)
{
	struct kz_stream *heir = &stream->device->stream;
	struct device_scope scope;
	if (device_enter_quietly(stream->device, &scope)) {
		if (!stream_is_capturing(stream) && !stream_is_capturing(heir)) {
			(void)stream_order(heir, stream, NULL);
		}
		device_leave(stream->device, &scope);
	}
	stream->handle = heir->handle;
}

void kz_stream_release(kz_stream *stream)
{
	if (object_is(stream, OBJECT_STREAM) && stream->is_held) {
		struct capture *capture = stream_capture(stream);
		stream->is_held = false;
		object_take(stream);
		/* Nobody could end it any more. */
		if (capture && capture->origin == stream && !device_is_forked(stream->device)) {
			stream_release_captured(capture_abort(capture));
		}
		if (stream->is_borrowed) {
			stream_give_back(stream);
		}
		stream_release(stream);
	}
}

kz_device *kz_stream_device(const kz_stream *stream)
{
	return object_is(stream, OBJECT_STREAM) ? stream->device : NULL;
}

void *kz_stream_handle(const kz_stream *stream)
{
	return object_is(stream, OBJECT_STREAM) ? stream->handle : NULL;
}

static kz_status stream_check_capture(const struct kz_stream *stream,
	kz_error *err)
{
	kz_status st = object_check(stream, OBJECT_STREAM, err);
	return st ? st : stream_check_free(stream, err);
}

/* The end of a call: what the driver answered, and the caller's context back. */
static kz_status stream_leave(struct kz_device *dev, const struct device_scope *scope,
	CUresult code, const char *call, kz_error *err)
{
	kz_status st = device_ok(dev, code, call, err);
	device_leave(dev, scope);
	return st;
}

/* The end of a call that has waited: what kernels printed until then is written. */
static kz_status stream_leave_waited(struct kz_device *dev, const struct device_scope *scope,
	CUresult code, const char *call, kz_error *err)
{
	kz_status st = device_ok(dev, code, call, err);
	st = st ? st : output_check(dev, err);
	device_leave(dev, scope);
	return st;
}

/* "Not ready" answers a question; it is not a failure to be kept. */
static kz_status stream_finish_query(struct kz_device *dev, const struct device_scope *scope,
	CUresult code, const char *call, kz_error *err)
{
	bool is_ready = code != CUDA_ERROR_NOT_READY;
	kz_status st = stream_leave(dev, scope, is_ready ? code : CUDA_SUCCESS, call, err);
	return is_ready ? st : KZ_NOT_READY;
}

kz_status kz_stream_synchronize(kz_stream *stream, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = stream_check_capture(stream, err))
	    || (st = device_enter(stream->device, &scope, err))) {
		return st;
	}
	CUresult code = stream_wait(stream);
	if (unlikely(trace_is_on())) {
		trace_passed(stream->device);
	}
	return stream_leave_waited(stream->device, &scope, code, "cuStreamSynchronize", err);
}

kz_status kz_device_synchronize(kz_device *dev, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = device_check_capture(dev, __func__, err))
	    || (st = device_enter(dev, &scope, err))) {
		return st;
	}
	CUresult code = stream_wait_all(dev);
	if (unlikely(trace_is_on())) {
		trace_passed(dev);
	}
	return stream_leave_waited(dev, &scope, code, "cuCtxSynchronize", err);
}

kz_status kz_stream_query(kz_stream *stream, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = stream_check_capture(stream, err))
	    || (st = device_enter(stream->device, &scope, err))) {
		return st;
	}
	CUresult code = stream->device->drv->StreamQuery(stream->handle);
	return stream_finish_query(stream->device, &scope, code, "cuStreamQuery", err);
}

kz_status kz_stream_describe(kz_stream *stream, kz_stream_info *info, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	unsigned flags = CU_STREAM_NON_BLOCKING;
	int priority = 0;
	bool is_capturing;
	kz_status st;
	if ((st = object_check(stream, OBJECT_STREAM, err))
	    || (st = pointer_check(info, "a kz_stream_info", err))) {
		return st;
	}
	if (info->size != sizeof(*info)) {
		return struct_refuse("kz_stream_info", info->size, sizeof(*info), err);
	}
	const struct kz_device *dev = stream->device;
	if ((st = device_enter(stream->device, &scope, err))) {
		return st;
	}
	if (drv_has(dev->drv, DRV_cuStreamGetPriority)) {
		st = device_ok(stream->device,
			dev->drv->StreamGetPriority(stream->handle, &priority),
			"cuStreamGetPriority", err);
	}
	if (!st && drv_has(dev->drv, DRV_cuStreamGetFlags)) {
		st = device_ok(stream->device, dev->drv->StreamGetFlags(stream->handle, &flags),
			"cuStreamGetFlags", err);
	}
	if (!st && !(st = stream_find_capturing(&is_capturing, stream, err))) {
		*info = (kz_stream_info){.size = sizeof(*info), .priority = priority,
			.blocking = !(flags & CU_STREAM_NON_BLOCKING), .capturing = is_capturing};
	}
	device_leave(stream->device, &scope);
	return st;
}

kz_status kz_stream_host(kz_stream *stream, void (*function)(void *user), void *user, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = object_check(stream, OBJECT_STREAM, err))) {
		return st;
	}
	if (!function) {
		return error_set(err, KZ_INVALID, "kz_stream_host: the function is NULL");
	}
	if ((st = device_enter(stream->device, &scope, err))) {
		return st;
	}
	CUresult code = stream->device->drv->LaunchHostFunc(stream->handle, function, user);
	return stream_leave(stream->device, &scope, code, "cuLaunchHostFunc", err);
}

/* The capture that an event marks a point of, counted; NULL: none. */
static struct capture *stream_event_capture(struct kz_event *event)
{
	struct capture *capture = NULL;
	if (unlikely(atomic_load(&event->capture))) {
		pthread_mutex_lock(&event->lock);
		capture = atomic_load(&event->capture);
		capture = capture ? capture_retain(capture) : NULL;
		pthread_mutex_unlock(&event->lock);
	}
	return capture;
}

static void stream_event_set_capture(struct kz_event *event, struct capture *capture)
{
	if (unlikely(capture || atomic_load(&event->capture))) {
		pthread_mutex_lock(&event->lock);
		struct capture *old = atomic_exchange(&event->capture,
			capture ? capture_retain(capture) : NULL);
		pthread_mutex_unlock(&event->lock);
		capture_release(old);
	}
}

/* A captured stream waits for nothing outside of its capture, and an event of a capture that goes
 * on takes the stream that waits for it into the capture.  `marked` is the event's capture. */
static kz_status stream_check_wait(const struct kz_stream *stream, const struct kz_event *event,
	const struct capture *marked, kz_error *err)
{
	const struct capture *capture = stream_capture(stream);
	if (event->device->drv != stream->device->drv) {
		return error_set(err, KZ_INVALID, "a stream of %s cannot wait for an event of %s",
			stream->device->name, event->device->name);
	}
	if (marked && atomic_load(&marked->is_over)) {
		return error_set(err, KZ_STATE, "kz_stream_wait: the event was recorded in a "
			"capture that has ended");
	}
	if (capture && marked != capture) {
		return error_set(err, KZ_STATE, "kz_stream_wait: the stream captures a graph, and "
			"the event was recorded %s", marked ? "in another capture"
			: "outside of it");
	}
	if (marked && !capture && stream->device != marked->device) {
		return error_set(err, KZ_UNSUPPORTED, "a graph of %s cannot take in a stream of %s",
			marked->device->name, stream->device->name);
	}
	return KZ_OK;
}

kz_status kz_stream_wait(kz_stream *stream, kz_event *event, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = object_check(stream, OBJECT_STREAM, err))
	    || (st = object_check(event, OBJECT_EVENT, err))
	    || (st = device_enter(stream->device, &scope, err))) {
		return st;
	}
	struct capture *marked = stream_event_capture(event);
	st = stream_check_wait(stream, event, marked, err);
	/* It is marked before: what it did so far is what others may wait for. */
	if (!st && marked && !stream_capture(stream)) {
		st = capture_join(marked, stream, err);
	}
	capture_release(marked);
	CUresult code = st ? CUDA_SUCCESS
		: stream->device->drv->StreamWaitEvent(stream->handle, event->handle, 0);
	kz_status left = stream_leave(stream->device, &scope, code, "cuStreamWaitEvent", err);
	return st ? st : left;
}

/* Make an event with flags, or, if there is a handle, the one that it stands for. */
static kz_status stream_make_event(kz_event **out, struct kz_device *dev, unsigned flags,
	const CUipcEventHandle *shared, kz_error *err)
{
	struct device_scope scope;
	struct kz_event *event = mem_zalloc(1, sizeof(*event));
	kz_status st = event ? device_enter(dev, &scope, err) : error_no_memory(err);
	if (!st) {
		st = shared ? device_ok(dev, dev->drv->IpcOpenEventHandle(&event->handle, *shared),
				"cuIpcOpenEventHandle", err)
			: device_ok(dev, dev->drv->EventCreate(&event->handle, flags),
				"cuEventCreate", err);
		device_leave(dev, &scope);
	}
	if (st) {
		mem_free(event);
		return st;
	}
	event->tag = OBJECT_EVENT;
	atomic_init(&event->refs, 1);
	pthread_mutex_init(&event->lock, NULL);
	event->device = device_retain(dev);
	event->flags = flags;
	device_count(dev, DEVICE_EVENT, 1);
	object_give(event, dev);
	*out = event;
	return KZ_OK;
}

kz_status kz_event_create_with(kz_event **out, kz_device *dev, const kz_event_options *options,
	kz_error *err)
{
	error_scope(err);
	unsigned flags = CU_EVENT_DEFAULT;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))) {
		return st;
	}
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_event_options", options->size, sizeof(*options), err);
	}
	if (options) {
		flags |= options->disable_timing ? CU_EVENT_DISABLE_TIMING : 0;
		flags |= options->blocking_sync ? CU_EVENT_BLOCKING_SYNC : 0;
		flags |= options->interprocess ? CU_EVENT_INTERPROCESS : 0;
	}
	if ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING)) {
		return error_set(err, KZ_INVALID, "an interprocess event cannot measure time: "
			"expected disable_timing with interprocess");
	}
	return stream_make_event(out, dev, flags, NULL, err);
}

kz_status kz_event_create(kz_event **out, kz_device *dev, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))) {
		return st;
	}
	return stream_make_event(out, dev, CU_EVENT_DEFAULT, NULL, err);
}

_Static_assert(sizeof(kz_ipc_handle) == sizeof(CUipcEventHandle), "a handle fits");

kz_status kz_event_export(kz_ipc_handle *out, kz_event *event, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	CUipcEventHandle handle;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(event, OBJECT_EVENT, err))) {
		return st;
	}
	if (!(event->flags & CU_EVENT_INTERPROCESS)) {
		return error_set(err, KZ_INVALID, "expected an event that was created with the "
			"option interprocess");
	}
	if ((st = device_enter(event->device, &scope, err))) {
		return st;
	}
	CUresult code = event->device->drv->IpcGetEventHandle(&handle, event->handle);
	st = stream_leave(event->device, &scope, code, "cuIpcGetEventHandle", err);
	if (!st) {
		memcpy(out, &handle, sizeof(*out));
	}
	return st;
}

kz_status kz_event_import(kz_event **out, kz_device *dev, const kz_ipc_handle *handle,
	kz_error *err)
{
	error_scope(err);
	CUipcEventHandle shared;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pointer_check(handle, "a handle", err))) {
		return st;
	}
	memcpy(&shared, handle, sizeof(shared));
	return stream_make_event(out, dev, CU_EVENT_DISABLE_TIMING, &shared, err);
}

void kz_event_release(kz_event *event)
{
	struct device_scope scope;
	if (object_is(event, OBJECT_EVENT) && atomic_fetch_sub(&event->refs, 1) == 1) {
		object_end(&event->tag);
		if (device_enter_quietly(event->device, &scope)) {
			device_released(event->device,
				event->device->drv->EventDestroy(event->handle), "cuEventDestroy");
			device_leave(event->device, &scope);
		}
		capture_release(atomic_load(&event->capture));
		pthread_mutex_destroy(&event->lock);
		device_count(event->device, DEVICE_EVENT, -1);
		device_release(event->device);
		object_free(event);
	}
}

/* For calls that ask an event about work that was done. */
static kz_status stream_check_event(const struct kz_event *event, kz_error *err)
{
	kz_status st = object_check(event, OBJECT_EVENT, err);
	return !st && atomic_load(&event->capture)
		? error_set(err, KZ_STATE, "the event was recorded in a capture, so it marks "
			"no work that was done") : st;
}

kz_status kz_event_record(kz_event *event, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = object_check(event, OBJECT_EVENT, err))
	    || (st = stream_pick(&stream, event->device, stream, err))
	    || (st = device_enter(event->device, &scope, err))) {
		return st;
	}
	const struct trace_mark mark = trace_mark_make(stream);
	CUresult code = event->device->drv->EventRecord(event->handle, stream->handle);
	st = stream_leave(event->device, &scope, code, "cuEventRecord", err);
	if (!st) {
		struct capture *capture = stream_capture(stream);
		stream_event_set_capture(event, capture);
		atomic_store(&event->recorded, !capture);
		if (mark.session) { /* one of an earlier trace does not matter */
			pthread_mutex_lock(&event->lock);
			event->mark = mark;
			pthread_mutex_unlock(&event->lock);
		}
	}
	return st;
}

/* What trace_mark_compare compares; events may be recorded again meanwhile. */
static struct trace_mark stream_event_mark(kz_event *event)
{
	pthread_mutex_lock(&event->lock);
	const struct trace_mark mark = event->mark;
	pthread_mutex_unlock(&event->lock);
	return mark;
}

kz_status kz_event_synchronize(kz_event *event, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = stream_check_event(event, err))
	    || (st = device_enter(event->device, &scope, err))) {
		return st;
	}
	CUresult code = event->device->drv->EventSynchronize(event->handle);
	if (unlikely(trace_is_on())) {
		trace_passed(event->device);
	}
	return stream_leave_waited(event->device, &scope, code, "cuEventSynchronize", err);
}

kz_status kz_event_query(kz_event *event, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = stream_check_event(event, err))
	    || (st = device_enter(event->device, &scope, err))) {
		return st;
	}
	CUresult code = event->device->drv->EventQuery(event->handle);
	return stream_finish_query(event->device, &scope, code, "cuEventQuery", err);
}

static kz_status stream_check_pair(const kz_event *start, const kz_event *stop, kz_error *err)
{
	kz_status st;
	if ((st = pointer_check(start, "a start event", err))
	    || (st = object_check(start, OBJECT_EVENT, err))
	    || (st = pointer_check(stop, "a stop event", err))
	    || (st = object_check(stop, OBJECT_EVENT, err))) {
		return st;
	}
	if (start->device != stop->device) {
		return error_set(err, KZ_INVALID, "the start event is of %s, the stop event of %s",
			start->device->name, stop->device->name);
	}
	if ((start->flags | stop->flags) & CU_EVENT_DISABLE_TIMING) {
		return error_set(err, KZ_INVALID, "the %s event cannot measure time: it was "
			"created with disable_timing, or by another process",
			start->flags & CU_EVENT_DISABLE_TIMING ? "start" : "stop");
	}
	if (!atomic_load(&start->recorded) || !atomic_load(&stop->recorded)) {
		return error_set(err, KZ_INVALID, "the %s event was never recorded",
			atomic_load(&start->recorded) ? "stop" : "start");
	}
	return KZ_OK;
}

kz_status kz_event_elapsed_ms(double *out, kz_event *start, kz_event *stop, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	float ms = 0;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = stream_check_pair(start, stop, err))
	    || (st = device_enter(start->device, &scope, err))) {
		return st;
	}
	CUresult code = start->device->drv->EventElapsedTime(&ms, start->handle, stop->handle);
	st = stream_leave(start->device, &scope, code, "cuEventElapsedTime", err);
	*out = st ? 0 : (double)ms;
	if (!st) {
		const struct trace_mark from = stream_event_mark(start);
		const struct trace_mark to = stream_event_mark(stop);
		trace_mark_compare(&from, &to);
	}
	return st;
}
