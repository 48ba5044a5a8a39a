/* SPDX-License-Identifier: MIT */
/*
 * Streams and events.  Work is done before the call that enqueues it returns (see api.h), so a
 * stream is a lock, an event is a time, and waiting for either is waiting for nothing: whatever
 * was recorded before has happened.
 */
#include "../base/common.h"

#include "api.h"

#include "../base/alloc.h"

#include <time.h>

struct CUgreenCtx_st;

struct stream {
	struct object object;
	pthread_mutex_t lock;   /* held while an operation runs */
	unsigned flags;
};

struct event {
	struct object object;
	unsigned flags;
	atomic_ullong time;     /* of the last record in nanoseconds, 0 before the first */
};

static uint64_t now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

/* *out is NULL for the default streams. */
static CUresult find_stream(const char *call, CUstream handle, struct stream **out)
{
	*out = NULL;
	if (handle == NULL || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
		return CUDA_SUCCESS;
	}
	*out = handle_get(handle, API_STREAM);
	return *out != NULL ? CUDA_SUCCESS : api_bad_handle(call, "stream");
}

CUresult turn_begin(struct turn *turn, const char *call, struct context *context, CUstream handle)
{
	struct stream *stream;
	CUresult result = find_stream(call, handle, &stream);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (stream != NULL && stream->object.context != context) {
		return api_fail(CUDA_ERROR_INVALID_HANDLE, "%s: the stream is of another context",
			call);
	}
	turn->context = context;
	turn->stream = stream;
	turn->is_ordered = stream == NULL || !(stream->flags & CU_STREAM_NON_BLOCKING);
	if (stream == NULL && handle != CU_STREAM_PER_THREAD) {
		pthread_rwlock_wrlock(&context->order);
	} else if (turn->is_ordered) {
		pthread_rwlock_rdlock(&context->order);
	}
	if (stream != NULL) {
		pthread_mutex_lock(&stream->lock);
	}
	return CUDA_SUCCESS;
}

void turn_end(struct turn *turn)
{
	if (turn->stream != NULL) {
		pthread_mutex_unlock(&turn->stream->lock);
	}
	if (turn->is_ordered) {
		pthread_rwlock_unlock(&turn->context->order);
	}
}

/* For questions about a stream, which may be of another context than the current one: *context is
 * the stream's. */
static CUresult enter_stream(const char *call, CUstream handle, struct context **context,
	struct stream **stream)
{
	CUresult result = api_enter(call, context);
	if (result == CUDA_SUCCESS) {
		result = find_stream(call, handle, stream);
	}
	if (result == CUDA_SUCCESS && *stream != NULL) {
		*context = (*stream)->object.context;
		result = context_check(*context);
	}
	return result;
}

API(cuStreamCreateWithPriority, CUstream *out, unsigned int flags, int priority)
{
	struct context *context;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	// The only priority is 0, and others become the nearest that there is.
	(void)priority;
	if (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__, flags);
	}
	struct stream *stream = mem_zalloc(1, sizeof(*stream));
	if (stream == NULL || !object_add(&stream->object, context, API_STREAM)) {
		mem_free(stream);
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: out of memory", __func__);
	}
	stream->flags = flags;
	pthread_mutex_init(&stream->lock, NULL);
	*out = stream->object.handle;
	return CUDA_SUCCESS;
}

API(cuStreamCreate, CUstream *out, unsigned int flags)
{
	return cuStreamCreateWithPriority(out, flags, 0);
}

void stream_free(struct object *object)
{
	struct stream *stream = (struct stream *)object;
	object_remove(object);
	// Another thread may be in the middle of an operation.
	pthread_mutex_lock(&stream->lock);
	pthread_mutex_unlock(&stream->lock);
	pthread_mutex_destroy(&stream->lock);
	mem_free(stream);
}

API(cuStreamDestroy_v2, CUstream handle)
{
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct stream *stream = handle_get(handle, API_STREAM);
	if (stream == NULL) {
		return api_bad_handle(__func__, "stream");
	}
	stream_free(&stream->object);
	return CUDA_SUCCESS;
}
API_ALIAS(cuStreamDestroy, cuStreamDestroy_v2);

API(cuStreamSynchronize, CUstream handle)
{
	struct context *context;
	struct stream *stream;
	struct turn turn;
	CUresult result = enter_stream(__func__, handle, &context, &stream);
	if (result == CUDA_SUCCESS) {
		result = turn_begin(&turn, __func__, context, handle);
	}
	if (result == CUDA_SUCCESS) {
		turn_end(&turn);
		result = context_check(context);
	}
	return result;
}
API_ALIAS(cuStreamSynchronize_ptsz, cuStreamSynchronize);

API(cuStreamQuery, CUstream handle)
{
	struct context *context;
	struct stream *stream;
	return enter_stream(__func__, handle, &context, &stream);
}
API_ALIAS(cuStreamQuery_ptsz, cuStreamQuery);

API(cuStreamGetFlags, CUstream handle, unsigned int *out)
{
	struct context *context;
	struct stream *stream;
	CUresult result = api_need(enter_stream(__func__, handle, &context, &stream), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = stream != NULL ? stream->flags : CU_STREAM_DEFAULT;
	}
	return result;
}
API_ALIAS(cuStreamGetFlags_ptsz, cuStreamGetFlags);

API(cuStreamGetPriority, CUstream handle, int *out)
{
	struct context *context;
	struct stream *stream;
	CUresult result = api_need(enter_stream(__func__, handle, &context, &stream), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = 0;
	}
	return result;
}
API_ALIAS(cuStreamGetPriority_ptsz, cuStreamGetPriority);

API(cuStreamGetCtx, CUstream handle, CUcontext *out)
{
	struct context *context;
	struct stream *stream;
	CUresult result = api_need(enter_stream(__func__, handle, &context, &stream), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = context->handle;
	}
	return result;
}
API_ALIAS(cuStreamGetCtx_ptsz, cuStreamGetCtx);

API(cuStreamGetCtx_v2, CUstream handle, CUcontext *out, struct CUgreenCtx_st **green)
{
	CUresult result = cuStreamGetCtx(handle, out);
	if (result == CUDA_SUCCESS && green != NULL) {
		*green = NULL;
	}
	return result;
}
API_ALIAS(cuStreamGetCtx_v2_ptsz, cuStreamGetCtx_v2);

API(cuStreamIsCapturing, CUstream handle, CUstreamCaptureStatus *out)
{
	struct context *context;
	struct stream *stream;
	CUresult result = api_need(enter_stream(__func__, handle, &context, &stream), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = CU_STREAM_CAPTURE_STATUS_NONE;
	}
	return result;
}
API_ALIAS(cuStreamIsCapturing_ptsz, cuStreamIsCapturing);

API(cuLaunchHostFunc, CUstream handle, CUhostFn function, void *data)
{
	struct context *context;
	struct turn turn;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS && function == NULL) {
		return api_null(__func__, "the function");
	}
	if (result == CUDA_SUCCESS) {
		result = turn_begin(&turn, __func__, context, handle);
	}
	if (result == CUDA_SUCCESS) {
		api_set_in_callback(true);
		function(data);
		api_set_in_callback(false);
		turn_end(&turn);
	}
	return result;
}
API_ALIAS(cuLaunchHostFunc_ptsz, cuLaunchHostFunc);

API(cuStreamAddCallback, CUstream handle, CUstreamCallback function, void *data,
	unsigned int flags)
{
	struct context *context;
	struct turn turn;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS && (function == NULL || flags != 0)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: no function, or flags that are not 0",
			__func__);
	}
	if (result == CUDA_SUCCESS) {
		result = turn_begin(&turn, __func__, context, handle);
	}
	if (result == CUDA_SUCCESS) {
		api_set_in_callback(true);
		function(handle, CUDA_SUCCESS, data);
		api_set_in_callback(false);
		turn_end(&turn);
	}
	return result;
}
API_ALIAS(cuStreamAddCallback_ptsz, cuStreamAddCallback);

static CUresult find_event(const char *call, CUevent handle, struct event **out)
{
	*out = handle_get(handle, API_EVENT);
	return *out != NULL ? CUDA_SUCCESS : api_bad_handle(call, "event");
}

API(cuStreamWaitEvent, CUstream handle, CUevent event_handle, unsigned int flags)
{
	struct context *context;
	struct stream *stream;
	struct event *event;
	CUresult result = enter_stream(__func__, handle, &context, &stream);
	if (result == CUDA_SUCCESS && flags != CU_EVENT_WAIT_DEFAULT) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__, flags);
	}
	return result != CUDA_SUCCESS ? result : find_event(__func__, event_handle, &event);
}
API_ALIAS(cuStreamWaitEvent_ptsz, cuStreamWaitEvent);

API(cuEventCreate, CUevent *out, unsigned int flags)
{
	const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
	struct context *context;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (flags & CU_EVENT_INTERPROCESS) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED, "%s: events stay in their process", __func__);
	}
	if (flags & ~known) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__, flags);
	}
	struct event *event = mem_zalloc(1, sizeof(*event));
	if (event == NULL || !object_add(&event->object, context, API_EVENT)) {
		mem_free(event);
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: out of memory", __func__);
	}
	event->flags = flags;
	*out = event->object.handle;
	return CUDA_SUCCESS;
}

void event_free(struct object *object)
{
	object_remove(object);
	mem_free(object);
}

API(cuEventDestroy_v2, CUevent handle)
{
	struct event *event;
	CUresult result = api_ready(__func__);
	if (result == CUDA_SUCCESS) {
		result = find_event(__func__, handle, &event);
	}
	if (result == CUDA_SUCCESS) {
		event_free(&event->object);
	}
	return result;
}
API_ALIAS(cuEventDestroy, cuEventDestroy_v2);

API(cuEventRecordWithFlags, CUevent handle, CUstream stream, unsigned int flags)
{
	struct context *context;
	struct event *event;
	struct turn turn;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS) {
		result = find_event(__func__, handle, &event);
	}
	if (result == CUDA_SUCCESS && (flags != 0 || event->object.context != context)) {
		return api_fail(flags != 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE,
			"%s: %s", __func__, flags != 0 ? "flags that need a capture"
			: "the event is of another context");
	}
	if (result == CUDA_SUCCESS) {
		result = turn_begin(&turn, __func__, context, stream);
	}
	if (result == CUDA_SUCCESS) {
		atomic_store(&event->time, now());
		turn_end(&turn);
	}
	return result;
}
API_ALIAS(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags);

API(cuEventRecord, CUevent handle, CUstream stream)
{
	return cuEventRecordWithFlags(handle, stream, 0);
}
API_ALIAS(cuEventRecord_ptsz, cuEventRecord);

API(cuEventQuery, CUevent handle)
{
	struct context *context;
	struct event *event;
	CUresult result = api_enter(__func__, &context);
	return result != CUDA_SUCCESS ? result : find_event(__func__, handle, &event);
}

API(cuEventSynchronize, CUevent handle)
{
	struct context *context;
	struct event *event;
	CUresult result = api_enter(__func__, &context);
	return result != CUDA_SUCCESS ? result : find_event(__func__, handle, &event);
}

API(cuEventElapsedTime, float *out, CUevent start_handle, CUevent end_handle)
{
	struct context *context;
	struct event *start;
	struct event *end;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = find_event(__func__, start_handle, &start);
	}
	if (result == CUDA_SUCCESS) {
		result = find_event(__func__, end_handle, &end);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	uint64_t from = atomic_load(&start->time);
	uint64_t to = atomic_load(&end->time);
	if (from == 0 || to == 0 || ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)) {
		return api_fail(CUDA_ERROR_INVALID_HANDLE,
			"%s: an event was not recorded, or keeps no time", __func__);
	}
	*out = (float)((double)(int64_t)(to - from) * 1e-6);
	return CUDA_SUCCESS;
}
API_ALIAS(cuEventElapsedTime_v2, cuEventElapsedTime);
