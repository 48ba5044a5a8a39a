/* SPDX-License-Identifier: MIT */
/*
 * Streams, as the functions of the API use them: by handle; queue.c says what a stream is.  This
 * file decides which thread does a piece of work: the thread that enqueues it, or the stream's
 * own.  It also ends the work of a context, and then all else that the context has.
 */
#include "base/common.h"

#include "cpu/stream/cu_stream.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cpu/runtime/heap.h"
#include "cpu/stream/cu_capture.h"
#include "cpu/stream/event.h"
#include "cpu/stream/graph_memory.h"
#include "cpu/stream/cu_graph_node.h"
#include "cpu/stream/launch_slot.h"
#include "cpu/stream/work_run.h"

/* How long what runs in a context that is destroyed may go on; and kernels of which no block has
 * ended in all that time, which may be endless. */
#define DRAIN_NS UINT64_C(1000000000)
#define DRAIN_STANDING_NS UINT64_C(50000000)
#define DRAIN_STEP_NS UINT64_C(10000000)

/* --- The end of a stream --- */

/* To be released without the lock: the graph that no call will return. */
static struct graph *stream_end(struct stream *stream)
{
	struct graph *waste = capture_leave(stream);
	object_remove(&stream->object);
	queue_close(stream);
	return waste;
}

static void free_stream(void *handle)
{
	queue_lock();
	struct stream *stream = handle_get(handle, API_STREAM);
	struct graph *waste = stream ? stream_end(stream) : NULL;
	queue_unlock();
	graph_release(waste);
}

/* --- Streams of threads --- */

/* The per-thread default streams of a thread, one for each context in which it has used one. */
static _Thread_local struct own_stream {
	struct own_stream *next;
	CUcontext context;
	CUstream stream;
} *own_streams;
static _Thread_local bool uses_own_stream;
static pthread_key_t own_key;
static bool has_own_key;

bool api_use_own_stream(bool own)
{
	bool before = uses_own_stream;
	uses_own_stream = own;
	return before;
}

/* At the end of a thread, without the lock. */
static void free_own_streams(void *arg)
{
	struct own_stream *own = arg;
	own_streams = NULL; // what the thread still does may begin a new list
	bool is_ready = api_ready("the end of a thread") == CUDA_SUCCESS;
	while (own) {
		struct own_stream *next = own->next;
		if (is_ready) {
			free_stream(own->stream);
		}
		mem_free(own);
		own = next;
	}
}

static void stream_make_own_key(void)
{
	has_own_key = pthread_key_create(&own_key, free_own_streams) == 0;
}

/* Forget the streams that went with their contexts, and give the room of one of them. */
static struct own_stream *stream_take_unused(void)
{
	struct own_stream *unused = NULL;
	for (struct own_stream **link = &own_streams; *link;) {
		struct own_stream *own = *link;
		if (handle_get(own->stream, API_STREAM)) {
			link = &own->next;
			continue;
		}
		*link = own->next;
		mem_free(unused);
		unused = own;
	}
	return unused ? unused : mem_alloc(sizeof(*unused));
}

/* The calling thread's default stream in a context. */
static struct stream *own_stream(struct context *context)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct own_stream *own = own_streams;
	while (own && own->context != context->handle) {
		own = own->next;
	}
	struct stream *stream = own ? handle_get(own->stream, API_STREAM) : NULL;
	// There is one handle for all primary contexts, one after the other.
	if (stream && stream->object.context == context) {
		return stream;
	}
	pthread_once(&once, stream_make_own_key);
	own = stream_take_unused();
	stream = own && has_own_key ? queue_create(context, 0, false) : NULL;
	if (stream) {
		*own = (struct own_stream){own_streams, context->handle, stream->object.handle};
		own_streams = own;
	} else {
		mem_free(own);
	}
	if (has_own_key) {
		pthread_setspecific(own_key, own_streams);
	}
	return stream;
}

/* --- Enqueueing --- */

static CUresult find_stream(const char *call, struct context *context, CUstream handle,
	struct stream **out)
{
	if (handle == CU_STREAM_LEGACY || (!handle && !uses_own_stream)) {
		*out = context->legacy;
		return CUDA_SUCCESS;
	}
	if (!handle || handle == CU_STREAM_PER_THREAD) {
		*out = own_stream(context);
		return *out ? CUDA_SUCCESS : api_no_memory(call);
	}
	*out = handle_get(handle, API_STREAM);
	return *out ? CUDA_SUCCESS : api_bad_handle(call, "stream");
}

/* Only what needs nothing of a context but memory may be in a stream of another one, whose faults
 * are then its own. */
static CUresult stream_check_home(const char *call, const struct context *context,
	const struct stream *stream, const struct work *work)
{
	struct context *home = stream->object.context;
	if (likely(home == context)) {
		return CUDA_SUCCESS;
	}
	return (work->kind == WORK_COPY || work->kind == WORK_FILL)
		&& !stream->captured.capture ? context_check(home)
		: api_fail(CUDA_ERROR_INVALID_HANDLE, "%s: the stream is of another context", call);
}

/* The event that work in a stream is about, which may be of another context. */
static CUresult stream_find_event(const char *call, struct context *context,
	const struct stream *stream, const struct work *work, struct event **out)
{
	struct context *home = stream->object.context;
	if (!(*out = handle_get(work->event, API_EVENT))) {
		return api_bad_handle(call, "event");
	}
	if (work->kind == WORK_RECORD && (*out)->object.context != home) {
		return api_fail(CUDA_ERROR_INVALID_HANDLE, "%s: the event is of another context "
			"than the stream", call);
	}
	return home != context ? context_check(home) : CUDA_SUCCESS;
}

/* The stream and the event that work is for. */
static CUresult stream_find_both(const char *call, struct context *context, CUstream handle,
	const struct work *work, struct stream **stream, struct event **event)
{
	CUresult result = find_stream(call, context, handle, stream);
	*event = NULL;
	if (result != CUDA_SUCCESS) {
		return result;
	}
	assert(*stream);
	return work->kind == WORK_RECORD || work->kind == WORK_WAIT
		? stream_find_event(call, context, *stream, work, event)
		: stream_check_home(call, context, *stream, work);
}

static CUresult stream_run_kernel(const char *call, struct stream *stream, const struct work *work)
{
	struct launch_slot *slot = launch_slot_take(stream->object.context, &work->kernel);
	queue_unlock();
	CUresult result = slot ? launch_slot_run(slot, work, true) : CUDA_ERROR_OUT_OF_MEMORY;
	queue_lock();
	if (unlikely(result == CUDA_ERROR_NOT_READY)) {
		if (queue_leave(stream, slot)) {
			return CUDA_SUCCESS;
		}
		queue_unlock();
		result = launch_slot_go_on(slot);
		queue_lock();
	}
	launch_slot_give(slot);
	queue_finish(stream);
	return result == CUDA_SUCCESS ? result : api_fail(result,
		"%s: no memory for the blocks of kernel '%s'", call, work->kernel.function->name);
}

/* Do the work, whose turn it is. */
static CUresult stream_run_now(const char *call, struct stream *stream, const struct work *work,
	struct event *event)
{
	CUresult result = CUDA_SUCCESS;
	switch (work->kind) {
	case WORK_KERNEL:
		return stream_run_kernel(call, stream, work);
	case WORK_RECORD:
		event_record(event, NULL);
		break;
	case WORK_WAIT:
	case WORK_EMPTY:
		break;
	default:
		result = work->kind == WORK_GRAPH ? graph_run_bind(call, work->run) : CUDA_SUCCESS;
		if (result == CUDA_SUCCESS) {
			queue_unlock();
			work_run(stream->object.context, work);
			queue_lock();
		}
		break;
	}
	queue_finish(stream);
	return result;
}

static bool stream_can_run_now(const struct stream *stream, const struct work *work,
	const struct event *event)
{
	return stream->running == 0 && !stream->first
		&& queue_may_run(stream, queue_last_ticket() + 1) && work_is_quick(work)
		&& (work->kind != WORK_WAIT || event_is_done(event));
}

/* Give copies of everything to the stream's thread. */
static CUresult stream_post(const char *call, struct context *context, CUstream handle,
	const struct work *work, struct item *item)
{
	struct stream *stream;
	struct event *event;
	CUresult result = stream_find_both(call, context, handle, work, &stream, &event);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (!queue_start_thread(stream)) {
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: a thread cannot be started", call);
	}
	if (work->kind == WORK_GRAPH
	    && (result = graph_run_bind(call, work->run)) != CUDA_SUCCESS) {
		return result;
	}
	if (work->kind == WORK_RECORD) {
		item->fence->refs++;
		event_record(event, item->fence);
	} else if (work->kind == WORK_WAIT) {
		item->fence = event_pending(event, item->fence);
	}
	queue_append(stream, item);
	return CUDA_SUCCESS;
}

/* Without the lock, which is not held while memory is copied. */
static CUresult stream_post_copy(const char *call, struct context *context, CUstream handle,
	const struct work *work, bool stage)
{
	struct work *clone = work_clone(work, stage);
	struct item *item = mem_zalloc(1, sizeof(*item));
	const bool has_fence = work->kind == WORK_RECORD || work->kind == WORK_WAIT;
	struct fence *fence = has_fence ? fence_create() : NULL;
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	if (clone && item && (fence || !has_fence)) {
		item->work = clone;
		item->fence = fence;
		queue_lock();
		result = stream_post(call, context, handle, work, item);
		queue_unlock();
	} else {
		api_log("%s: out of memory", call);
	}
	if (result != CUDA_SUCCESS) {
		work_free(clone);
		mem_free(item);
		mem_free(fence);
	}
	return result;
}

CUresult stream_enqueue(const char *call, struct context *context, CUstream handle,
	const struct work *work, enum enqueue how, bool stage)
{
	struct stream *stream;
	struct event *event;
	queue_lock();
	bool is_captured = false;
	CUresult result = stream_find_both(call, context, handle, work, &stream, &event);
	if (result == CUDA_SUCCESS) {
		result = capture_work(call, stream, event, work, &is_captured);
	}
	if (result == CUDA_SUCCESS && how == ENQUEUE_SYNC) {
		result = capture_check_thread(call);
	}
	if (result != CUDA_SUCCESS || is_captured) {
		queue_unlock();
		return result;
	}
	bool is_mine = true;
	if (stream_can_run_now(stream, work, event)) {
		queue_begin(stream);
	} else if (how != ENQUEUE_ASYNC && work_is_quick(work)) {
		struct item item = {.work = work, .by_caller = true};
		queue_take_turn(stream, &item);
	} else {
		is_mine = false;
	}
	if (is_mine) {
		result = stream_run_now(call, stream, work, event);
	}
	if (is_mine && result == CUDA_SUCCESS && how != ENQUEUE_ASYNC) {
		result = context_check(context);
	}
	queue_unlock();
	return result == CUDA_SUCCESS && !is_mine
		? stream_post_copy(call, context, handle, work, stage) : result;
}

/* --- Captures --- */

bool stream_is_captured(const char *call, struct context *context, CUstream handle)
{
	struct stream *stream;
	queue_lock();
	bool is_captured = find_stream(call, context, handle, &stream) == CUDA_SUCCESS
		&& stream->captured.capture;
	queue_unlock();
	return is_captured;
}

CUresult stream_capture(const char *call, struct context *context, CUstream handle,
	CUgraphNodeParams *params)
{
	struct node_data *data;
	struct stream *stream;
	CUresult result = node_make(call, params, NULL, &data);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	queue_lock();
	result = find_stream(call, context, handle, &stream);
	if (result == CUDA_SUCCESS && !stream->captured.capture) {
		result = api_fail(CUDA_ERROR_ILLEGAL_STATE, "%s: the capture has ended", call);
	}
	if (result == CUDA_SUCCESS) {
		result = capture_node(call, stream, data, NULL);
	} else {
		node_data_release(data);
	}
	queue_unlock();
	return result;
}

/* --- Streams as a whole --- */

CUstream stream_create(struct context *context, unsigned flags, int priority)
{
	queue_lock();
	struct stream *stream = queue_create(context, flags, false);
	CUstream handle = stream ? stream->object.handle : NULL;
	if (stream) {
		stream->priority = priority;
	}
	queue_unlock();
	return handle;
}

CUresult stream_close(const char *call, CUstream handle)
{
	struct graph *waste = NULL;
	queue_lock();
	struct stream *stream = handle_get(handle, API_STREAM);
	CUresult result = stream ? capture_close_stream(call, stream)
		: api_bad_handle(call, "stream");
	if (result == CUDA_SUCCESS) {
		result = context_check(stream->object.context);
		waste = stream_end(stream);
	}
	queue_unlock();
	graph_release(waste);
	return result;
}

/* What has tickets up to `until`, in a stream and in those that it waits for, or in a context. */
struct past {
	const struct context *context;
	const struct stream *stream;  /* NULL: all */
	uint64_t until;
};

static bool stream_is_awaited(const struct past *past, const struct stream *stream)
{
	const struct stream *only = past->stream;
	return queue_oldest(stream) <= past->until && (!only || stream == only
		|| (only->is_legacy && stream->is_blocking));
}

static bool stream_is_past(const void *arg)
{
	const struct past *past = arg;
	const struct stream *only = past->stream;
	if (only && !only->is_legacy) {
		return !stream_is_awaited(past, only);
	}
	for (const struct stream *s = past->context->streams; s; s = s->next) {
		if (stream_is_awaited(past, s)) {
			return false;
		}
	}
	return only || past->context->guests == 0;
}

/* Do a piece of the work that is awaited, if one can be done now. */
static bool stream_help(const struct past *past)
{
	for (struct stream *s = past->context->streams; s; s = s->next) {
		if (stream_is_awaited(past, s) && queue_help(s)) {
			return true;
		}
	}
	return false;
}

static void stream_wait_past(const struct past *past)
{
	if (!stream_is_past(past)) {
		while (stream_help(past)) {
		}
		queue_wait(stream_is_past, past, 0);
	}
}

CUresult stream_enter(const char *call, CUstream handle, struct stream **out)
{
	struct context *context;
	CUresult result = api_enter(call, &context);
	if (result == CUDA_SUCCESS) {
		queue_lock();
		result = find_stream(call, context, handle, out);
		if (result != CUDA_SUCCESS) {
			queue_unlock();
		}
	}
	return result;
}

CUresult stream_get_info(const char *call, CUstream handle, struct stream_info *out)
{
	struct stream *stream;
	CUresult result = stream_enter(call, handle, &stream);
	if (result == CUDA_SUCCESS) {
		struct context *context = stream->object.context;
		*out = (struct stream_info){context->handle, stream->flags, stream->priority,
			stream->id, (CUdevice)context->device->ordinal};
		result = context_check(context);
		queue_unlock();
	}
	return result;
}

/* The same, but it must not be captured. */
static CUresult stream_enter_idle(const char *call, CUstream handle, struct stream **out)
{
	CUresult result = stream_enter(call, handle, out);
	if (result == CUDA_SUCCESS && (result = capture_check_stream(call, *out)) != CUDA_SUCCESS) {
		queue_unlock();
	}
	return result;
}

CUresult cu_stream_wait(const char *call, CUstream handle)
{
	struct stream *stream;
	CUresult result = stream_enter_idle(call, handle, &stream);
	if (result == CUDA_SUCCESS) {
		struct context *context = stream->object.context;
		const struct past past = {context, stream, queue_last_ticket()};
		stream->refs++;
		stream_wait_past(&past);
		result = context_check(context);
		queue_release(stream);
		queue_unlock();
	}
	return result;
}

CUresult stream_query(const char *call, CUstream handle)
{
	struct stream *stream;
	CUresult result = stream_enter_idle(call, handle, &stream);
	if (result == CUDA_SUCCESS) {
		struct context *context = stream->object.context;
		const struct past past = {context, stream, queue_last_ticket()};
		result = context_check(context);
		result = result == CUDA_SUCCESS && !stream_is_past(&past) ? CUDA_ERROR_NOT_READY
			: result;
		queue_unlock();
	}
	return result;
}

/* --- Contexts --- */

bool context_open_streams(struct context *context)
{
	queue_lock();
	context->legacy = queue_create(context, 0, true);
	queue_unlock();
	return context->legacy;
}

/* The lock is held. */
static CUresult stream_wait_locked(struct context *context)
{
	const struct past past = {context, NULL, queue_last_ticket()};
	struct stream *legacy = context->legacy;
	if (!legacy) {
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	}
	// As long as there is its stream, there is the context.
	legacy->refs++;
	stream_wait_past(&past);
	CUresult result = context_check(context);
	queue_release(legacy);
	return result;
}

CUresult context_wait(struct context *context)
{
	queue_lock();
	CUresult result = stream_wait_locked(context);
	queue_unlock();
	return result;
}

/* A context that has its handle still has its stream, until the lock is free. */
CUresult context_wait_current(const char *call)
{
	struct context *context;
	CUresult result = api_ready(call); // in a forked process the lock may stay taken
	if (result != CUDA_SUCCESS) {
		return result;
	}
	queue_lock();
	result = api_enter(call, &context);
	if (result == CUDA_SUCCESS) {
		result = capture_check_context(call, context);
	}
	if (result == CUDA_SUCCESS) {
		result = capture_check_thread(call);
	}
	if (result == CUDA_SUCCESS) {
		result = stream_wait_locked(context);
	}
	queue_unlock();
	return result;
}

/* Let the work end.  If it takes long, or kernels seem to be endless, end it. */
static void stream_drain(struct context *context)
{
	const struct past past = {context, NULL, UINT64_MAX - 1};
	const uint64_t end = clock_now_ns() + DRAIN_NS;
	bool is_over, is_standing;
	queue_lock();
	do {
		const uint64_t before = launch_slots_standing(context);
		is_over = queue_wait(stream_is_past, &past, clock_now_ns() + DRAIN_STANDING_NS);
		is_standing = before != 0 && launch_slots_standing(context) == before;
	} while (!is_over && !is_standing && clock_now_ns() < end);
	if (!is_over) {
		atomic_store(&context->is_dying, true);
		do {
			queue_tell();
			launch_slots_cancel(context);
		} while (!queue_wait(stream_is_past, &past, clock_now_ns() + DRAIN_STEP_NS));
	}
	queue_unlock();
}

static bool stream_has_legacy_only(const void *arg)
{
	const struct context *context = arg;
	return context->streams == context->legacy
		&& (!context->legacy || !context->legacy->next);
}

/* Wait until streams that were closed are gone; then work can begin anew. */
static void stream_reap(struct context *context)
{
	queue_lock();
	queue_wait(stream_has_legacy_only, context, 0);
	queue_drop_gates(context);
	atomic_store(&context->is_dying, false);
	queue_unlock();
}

void context_clear(struct context *context)
{
	void *handle;
	enum api_kind kind;
	stream_drain(context);
	while (object_newest(context, &handle, &kind)) {
		// Streams and events are found anew, under the lock of queue.h.
		if (kind == API_STREAM) {
			free_stream(handle);
		} else if (kind == API_EVENT) {
			event_destroy("an event", handle);
		} else {
			object_end(context, handle, kind);
		}
	}
	stream_reap(context);
	heap_release(context->host.heap);
	context->host.heap = NULL;
	graph_memory_forget(context);
	memory_free_owner(context->device->memory, context);
}

void context_close_streams(struct context *context)
{
	queue_lock();
	struct stream *legacy = context->legacy;
	context->legacy = NULL;
	queue_close(legacy);
	queue_wait(stream_has_legacy_only, context, 0);
	queue_drop_gates(context);
	queue_unlock();
}

