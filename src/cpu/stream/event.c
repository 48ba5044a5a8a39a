/* SPDX-License-Identifier: MIT */
/*
 * Events.  A record that a stream has not come to yet is a fence, which the event shares with the
 * streams and threads that wait for it: they go on waiting for it when the event is recorded anew,
 * or destroyed.
 *
 * An event of several processes may have been recorded last by another one.  That record becomes a
 * fence when somebody here is to wait for it, and a thread looks again and again whether it is
 * done: other processes do not tell us.
 */
#include "base/common.h"

#include "cpu/stream/event.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cpu/exec/worker_pool.h"
#include "cpu/mem/system_refusal.h"
#include "cpu/stream/cu_stream.h"

#include <time.h>

/* --- Records of other processes --- */

static struct {
	struct fence *fences;  /* that are not done yet */
	bool has_thread;
} watch;

static bool event_has_to_watch(const void *arg)
{
	(void)arg;
	return watch.fences || shared_count() == 0;
}

/* Set the fences whose records are done; whether there were any. */
static bool event_look_again(void)
{
	bool any = false;
	struct fence **link = &watch.fences;
	while (*link) {
		struct fence *fence = *link;
		if (shared_is_done(fence->shared, fence->ticket)) {
			*link = fence->next;
			fence_set(fence);
			fence_release(fence);
			any = true;
		} else {
			link = &fence->next;
		}
	}
	return any;
}

static void *event_watch_main(void *arg)
{
	const long longest = 200000;
	struct timespec pause = {0};
	queue_lock();
	while (shared_count() > 0) {
		queue_wait(event_has_to_watch, NULL, 0);
		if (event_look_again()) {
			queue_tell();
			pause.tv_nsec = 0;
		}
		if (watch.fences) {
			pause.tv_nsec = pause.tv_nsec < longest ? pause.tv_nsec * 2 + 1000
				: longest;
			queue_unlock();
			nanosleep(&pause, NULL);
			queue_lock();
		}
	}
	watch.has_thread = false;
	queue_unlock();
	return arg;
}

/* The lock is held.  Before an event is another process's, too. */
static bool event_start_watching(void)
{
	pthread_t thread;
	if (!watch.has_thread && pool_start_thread(&thread, event_watch_main, NULL)) {
		pthread_detach(thread);
		watch.has_thread = true;
	} else if (!watch.has_thread) {
		refusal_note("pthread_create");
	}
	return watch.has_thread;
}

/* --- Records --- */

bool event_is_done(const struct event *event)
{
	return event->shared ? shared_is_done(event->shared, shared_last(event->shared))
		: fence_is_done(event->fence);
}

struct fence *event_pending(struct event *event, struct fence *spare)
{
	struct fence *fence = fence_is_done(event->fence) ? NULL : event->fence;
	uint64_t ticket = event->shared ? shared_last(event->shared) : 0;
	if (event->shared && shared_is_done(event->shared, ticket)) {
		fence = NULL;
	} else if (event->shared && (!fence || fence->ticket != ticket)) {
		spare->shared = shared_retain(event->shared);
		spare->ticket = ticket;
		spare->is_foreign = true;
		spare->refs += 2; // the event's and the list's
		spare->next = watch.fences;
		watch.fences = spare;
		fence_release(event->fence);
		event->fence = spare;
		queue_tell();
		return spare;
	}
	if (fence) {
		fence->refs++;
	}
	fence_release(spare);
	return fence;
}

void event_record(struct event *event, struct fence *fence)
{
	captured_forget(&event->captured);
	fence_release(event->fence);
	event->fence = fence;
	event->is_recorded = true;
	event->time = !fence ? clock_now_ns() : 0;
	if (!event->shared) {
		return;
	}
	uint64_t ticket = shared_issue(event->shared);
	if (!fence) {
		shared_finish(event->shared, ticket);
	} else {
		fence->shared = shared_retain(event->shared);
		fence->ticket = ticket;
	}
}

/* --- Events --- */

/* The lock is held.  Takes the shared one, also if it fails. */
static CUevent add_event(struct context *context, unsigned flags, struct shared_event *shared)
{
	struct event *event = mem_zalloc(1, sizeof(*event));
	if (!event || !object_add(&event->object, context, API_EVENT, NULL)) {
		shared_release(shared);
		mem_free(event);
		return NULL;
	}
	event->flags = flags;
	event->shared = shared;
	return event->object.handle;
}

CUevent event_create(struct context *context, unsigned flags)
{
	CUevent handle = NULL;
	queue_lock();
	struct shared_event *shared = flags & CU_EVENT_INTERPROCESS ? shared_create() : NULL;
	if (shared || !(flags & CU_EVENT_INTERPROCESS)) {
		handle = add_event(context, flags, shared);
	}
	queue_unlock();
	return handle;
}

CUresult event_destroy(const char *call, CUevent handle)
{
	queue_lock();
	struct event *event = handle_get(handle, API_EVENT);
	CUresult result = event ? context_check(event->object.context)
		: api_bad_handle(call, "event");
	if (event) {
		object_remove(&event->object);
		captured_forget(&event->captured);
		fence_release(event->fence);
		shared_release(event->shared);
		mem_free(event);
		queue_tell();
	}
	queue_unlock();
	return result;
}

/* The lock is held. */
static CUresult find_event(const char *call, CUevent handle, struct event **out)
{
	*out = handle_get(handle, API_EVENT);
	CUresult result = *out ? captured_check(call, &(*out)->captured)
		: api_bad_handle(call, "event");
	return result == CUDA_SUCCESS ? context_check((*out)->object.context) : result;
}

CUresult event_get_info(const char *call, CUevent handle, struct event_info *out)
{
	struct event *event;
	queue_lock();
	CUresult result = find_event(call, handle, &event);
	if (result == CUDA_SUCCESS) {
		*out = (struct event_info){event->flags, event->is_recorded,
			event_is_done(event),
			event->fence ? event->fence->time : event->time};
	}
	queue_unlock();
	return result;
}

CUresult event_wait(const char *call, CUevent handle)
{
	struct fence *spare = fence_create();
	if (!spare) {
		return api_no_memory(call);
	}
	queue_lock();
	struct event *event;
	CUresult result = find_event(call, handle, &event);
	struct fence *fence = result == CUDA_SUCCESS ? event_pending(event, spare) : spare;
	if (result == CUDA_SUCCESS && fence) {
		// The event may go meanwhile; as long as there is its stream, there is the context.
		struct context *context = event->object.context;
		struct stream *legacy = context->legacy;
		legacy->refs++;
		queue_wait(fence_is_done, fence, 0);
		result = context_check(context);
		queue_release(legacy);
	}
	fence_release(fence);
	queue_unlock();
	return result;
}

/* --- Between processes --- */

CUresult event_export(const char *call, CUevent handle, struct share_handle *out)
{
	queue_lock();
	const struct event *event = handle_get(handle, API_EVENT);
	CUresult result = CUDA_SUCCESS;
	if (!event) {
		result = api_bad_handle(call, "event");
	} else if (!event->shared || !shared_describe(event->shared, out)) {
		result = api_fail(CUDA_ERROR_INVALID_HANDLE, "%s: the event %s", call,
			!event->shared ? "was not created with CU_EVENT_INTERPROCESS"
			: "is another process's");
	} else if (!event_start_watching()) {
		result = api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: a thread cannot be started", call);
	}
	queue_unlock();
	return result;
}

CUevent event_import(struct context *context, const struct share_handle *handle,
	enum share_result *result)
{
	CUevent event = NULL;
	struct shared_event *shared;
	queue_lock();
	*result = shared_open(&shared, handle);
	if (*result == SHARE_OPENED && event_start_watching()) {
		event = add_event(context, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS, shared);
	} else if (*result == SHARE_OPENED) {
		shared_release(shared);
	}
	queue_unlock();
	return event;
}
