/* SPDX-License-Identifier: MIT */
/*
 * Events of a whole context.  To record one puts a fence into every stream that has work; the event
 * has happened when all of them have come to it.  To wait for one puts a wait into every stream,
 * and into every stream that is created later.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "base/alloc.h"
#include "cpu/stream/cu_capture.h"
#include "cpu/stream/event.h"

/* The streams that get an item. */
static bool context_takes(const struct stream *stream, enum work_kind kind)
{
	return kind == WORK_RECORD ? queue_oldest(stream) != UINT64_MAX : !stream->is_closing;
}

/* Put an item with a fence into each stream that takes one, or into none if memory runs out.  *out
 * is their number.  The lock is held. */
static bool context_append_to_all(struct context *context, enum work_kind kind, struct fence *fence,
	unsigned *out)
{
	struct item *items = NULL;
	bool ok = true;
	*out = 0;
	for (struct stream *s = context->streams; ok && s; s = s->next) {
		if (context_takes(s, kind)) {
			struct item *item = item_create(kind);
			ok = item && queue_start_thread(s);
			if (item) {
				item->next = items;
				items = item;
			}
			++*out;
		}
	}
	for (struct stream *s = context->streams; ok && s && items; s = s->next) {
		if (context_takes(s, kind)) {
			struct item *item = items;
			items = item->next;
			item->fence = fence;
			fence->refs++;
			queue_append(s, item);
		}
	}
	while (items) {
		struct item *next = items->next;
		item_free(items);
		items = next;
	}
	return ok;
}

/* On success the lock is held, and *spare is a fence. */
static CUresult context_enter(const char *call, CUcontext handle, CUevent event_handle,
	struct context **context, struct event **event, struct fence **spare)
{
	CUresult result = api_ready(call);
	if (result == CUDA_SUCCESS && !handle) {
		return api_fail(CUDA_ERROR_INVALID_CONTEXT, "%s: the context is NULL", call);
	}
	if (result == CUDA_SUCCESS) {
		result = context_find(call, handle, context);
	}
	if (result == CUDA_SUCCESS) {
		result = context_check(*context);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*spare = fence_create();
	if (!*spare) {
		return api_no_memory(call);
	}
	queue_lock();
	*event = handle_get(event_handle, API_EVENT);
	result = *event ? capture_check_context(call, *context)
		: api_bad_handle(call, "event");
	if (result != CUDA_SUCCESS) {
		fence_release(*spare);
		queue_unlock();
	}
	return result;
}

API(cuCtxRecordEvent, CUcontext handle, CUevent event_handle)
{
	struct context *context;
	struct event *event;
	struct fence *fence;
	unsigned count = 0;
	CUresult result = context_enter(__func__, handle, event_handle, &context, &event, &fence);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (event->object.context != context) {
		result = api_fail(CUDA_ERROR_INVALID_HANDLE, "%s: the event is of another context",
			__func__);
	} else if (!context_append_to_all(context, WORK_RECORD, fence, &count)) {
		result = api_no_memory(__func__);
	} else if (count == 0) {
		event_record(event, NULL);
	} else {
		fence->left = count - 1;
		fence->refs++;
		event_record(event, fence);
	}
	fence_release(fence);
	queue_unlock();
	return result;
}

/* The lock is held. */
static CUresult context_wait_for(const char *call, struct context *context, struct fence *fence)
{
	unsigned count;
	return context_append_to_all(context, WORK_WAIT, fence, &count)
		&& queue_add_gate(context, fence)
		? CUDA_SUCCESS : api_no_memory(call);
}

API(cuCtxWaitEvent, CUcontext handle, CUevent event_handle)
{
	struct context *context;
	struct event *event;
	struct fence *fence;
	CUresult result = context_enter(__func__, handle, event_handle, &context, &event, &fence);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (captured_check(__func__, &event->captured) != CUDA_SUCCESS) {
		fence_release(fence);
		result = api_fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
			"%s: the event was recorded in a capture", __func__);
	} else {
		fence = event_pending(event, fence);
		result = fence ? context_wait_for(__func__, context, fence) : CUDA_SUCCESS;
		fence_release(fence);
	}
	queue_unlock();
	return result;
}
