/* SPDX-License-Identifier: MIT */
/*
 * Events.  A record that a stream has not come to yet is a mark, which the event shares with those
 * who wait for it: they go on waiting for it when the event is recorded anew, or destroyed.
 */
#include "../base/common.h"

#include "stream.h"

#include "../base/alloc.h"
#include "queue.h"

void event_record(struct event *event, struct mark *mark)
{
	capture_forget(event);
	mark_release(event->mark);
	event->mark = mark;
	event->is_recorded = true;
	event->time = mark == NULL ? queue_time() : 0;
}

CUevent event_create(struct context *context, unsigned flags)
{
	struct event *event = mem_zalloc(1, sizeof(*event));
	if (event == NULL || !object_add(&event->object, context, API_EVENT)) {
		mem_free(event);
		return NULL;
	}
	event->flags = flags;
	return event->object.handle;
}

CUresult event_destroy(const char *call, CUevent handle)
{
	queue_lock();
	struct event *event = handle_get(handle, API_EVENT);
	CUresult result = event != NULL ? context_check(event->object.context)
		: api_bad_handle(call, "event");
	if (event != NULL) {
		object_remove(&event->object);
		capture_forget(event);
		mark_release(event->mark);
		mem_free(event);
	}
	queue_unlock();
	return result;
}

void event_free(struct object *object)
{
	event_destroy("an event", object->handle);
}

CUresult event_get_info(const char *call, CUevent handle, struct event_info *out)
{
	queue_lock();
	struct event *event = handle_get(handle, API_EVENT);
	CUresult result = event != NULL ? capture_check_event(call, event)
		: api_bad_handle(call, "event");
	if (result == CUDA_SUCCESS) {
		*out = (struct event_info){event->object.context, event->flags, event->is_recorded,
			mark_is_done(event->mark),
			event->mark != NULL ? event->mark->time : event->time};
	}
	queue_unlock();
	return result;
}

bool event_wait(CUevent handle)
{
	queue_lock();
	const struct event *event = handle_get(handle, API_EVENT);
	struct mark *mark = event != NULL ? event->mark : NULL;
	if (mark != NULL) {
		mark->refs++;
		queue_wait(mark_is_done, mark, 0);
		mark_release(mark);
	}
	queue_unlock();
	return event != NULL;
}
