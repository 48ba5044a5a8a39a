/* SPDX-License-Identifier: MIT */
/*
 * Who runs the items of a stream.  The call that enqueues an item runs it, if its turn has come, it
 * is small and it cannot wait for anybody (operation_work).  All other items are queued for the
 * stream's own thread, which is started for the first of them.  That thread also goes on with a
 * kernel that has come to many barriers within a call, which returns then.  A thread that waits for
 * a stream runs its queued items itself, unless the stream's thread has begun: so it neither wakes
 * that thread nor is woken by it.
 *
 * A new stream may have to wait for events of its context first (gates), so it is made here, too.
 */
#include "base/common.h"

#include "cpu/stream/queue.h"

#include "base/alloc.h"
#include "cpu/exec/worker_pool.h"
#include "cpu/mem/fault.h"
#include "cpu/mem/system_refusal.h"
#include "cpu/stream/launch_slot.h"
#include "cpu/stream/work_run.h"

/* --- A stream's thread --- */

/* Whether the thread has an item to do, which another thread may also do. */
static bool queue_has_step(const struct stream *stream)
{
	const struct item *item = stream->first;
	return item && !item->by_caller && queue_is_next(stream, item);
}

static bool queue_thread_may_go_on(const void *arg)
{
	const struct stream *stream = arg;
	return stream->left || queue_has_step(stream) || (!stream->first && stream->running == 0);
}

static void run_queued(struct stream *stream)
{
	struct item *item = stream->first;
	queue_take(stream);
	queue_unlock();
	work_run(stream->object.context, item->work);
	bool is_record = item->work->kind == WORK_RECORD;
	work_free((void *)item->work);
	queue_lock();
	if (is_record) {
		fence_set(item->fence);
	}
	fence_release(item->fence);
	mem_free(item);
	queue_finish(stream);
}

static bool queue_step(struct stream *stream)
{
	const bool found = queue_has_step(stream);
	if (found) {
		run_queued(stream);
	}
	return found;
}

/* Functions of the host belong to a thread that holds none of the program's locks. */
bool queue_help(struct stream *stream)
{
	const struct item *item = stream->first;
	return item && ((item->work->kind == WORK_KERNEL && work_has_stack(item->work))
		|| work_is_quick(item->work))
		&& queue_step(stream);
}

static void run_left(struct stream *stream)
{
	struct launch_slot *slot = stream->left;
	stream->left = NULL;
	queue_unlock();
	(void)launch_slot_go_on(slot); // it has begun, so a failure is the context's
	queue_lock();
	launch_slot_give(slot);
	queue_finish(stream);
}

static void *queue_thread_main(void *arg)
{
	struct stream *stream = arg;
	fault_stay_open(true); // as pool_start_thread starts them
	queue_lock();
	for (;;) {
		queue_wait(queue_thread_may_go_on, stream, 0);
		if (stream->left) {
			run_left(stream);
			continue;
		}
		if (queue_step(stream)) {
			continue;
		}
		if (stream->is_closing) {
			break;
		}
		queue_sleep(stream);
	}
	stream->has_thread = false;
	queue_release(stream);
	queue_unlock();
	return NULL;
}

bool queue_start_thread(struct stream *stream)
{
	pthread_t thread;
	if (!stream->has_thread && pool_start_thread(&thread, queue_thread_main, stream)) {
		pthread_detach(thread);
		stream->has_thread = true;
		stream->refs++;
	} else if (!stream->has_thread) {
		refusal_note("pthread_create");
	}
	return stream->has_thread;
}

bool queue_leave(struct stream *stream, struct launch_slot *slot)
{
	if (!queue_start_thread(stream)) {
		return false;
	}
	stream->left = slot;
	pthread_cond_signal(&stream->wake);
	queue_tell();
	return true;
}

/* --- For the threads of the program --- */

struct turn {
	const struct stream *stream;
	const struct item *item;
};

static bool queue_turn_has_come(const void *arg)
{
	const struct turn *turn = arg;
	return queue_is_next(turn->stream, turn->item);
}

void queue_take_turn(struct stream *stream, struct item *item)
{
	const struct turn turn = {stream, item};
	queue_append(stream, item);
	while (queue_help(stream)) {
	}
	queue_wait(queue_turn_has_come, &turn, 0);
	queue_take(stream);
}

/* --- What new streams wait for --- */

struct gate {
	struct gate *next;
	struct fence *fence;
};

static void queue_free_gate(struct gate *gate)
{
	fence_release(gate->fence);
	mem_free(gate);
}

/* Open ones cannot be used. */
static void queue_drop_open_gates(struct context *context)
{
	struct gate **link = &context->gates;
	while (*link) {
		struct gate *gate = *link;
		if (fence_is_done(gate->fence)) {
			*link = gate->next;
			queue_free_gate(gate);
		} else {
			link = &gate->next;
		}
	}
}

bool queue_add_gate(struct context *context, struct fence *fence)
{
	struct gate *gate = mem_alloc(sizeof(*gate));
	if (!gate) {
		return false;
	}
	queue_drop_open_gates(context);
	fence->refs++;
	*gate = (struct gate){context->gates, fence};
	context->gates = gate;
	return true;
}

void queue_drop_gates(struct context *context)
{
	while (context->gates) {
		struct gate *gate = context->gates;
		context->gates = gate->next;
		queue_free_gate(gate);
	}
}

static bool queue_wait_for_gates(struct stream *stream)
{
	queue_drop_open_gates(stream->object.context);
	for (struct gate *gate = stream->object.context->gates; gate; gate = gate->next) {
		struct item *item = item_create(WORK_WAIT);
		if (!item || !queue_start_thread(stream)) {
			item_free(item);
			return false;
		}
		gate->fence->refs++;
		item->fence = gate->fence;
		queue_append(stream, item);
	}
	return true;
}

struct stream *queue_create(struct context *context, unsigned flags, bool is_legacy)
{
	struct stream *stream = queue_add(context, flags, is_legacy);
	if (stream && context->gates && !queue_wait_for_gates(stream)) {
		object_remove(&stream->object);
		queue_close(stream);
		return NULL;
	}
	return stream;
}
