/* SPDX-License-Identifier: MIT */
/*
 * Streams as queues.  A stream is a queue of items, run one at a time, in order.  Every item has a
 * ticket, a number that grows over all streams, and that is all there is to order: an item of the
 * legacy default stream waits until no stream that is not CU_STREAM_NON_BLOCKING holds an older
 * ticket, an item of one of these until the legacy stream holds none; waiting for a stream or a
 * context means until nothing with the tickets given out so far is left.  As everybody waits for
 * older items only, nobody waits forever because of us.
 *
 * One lock guards all of this; it is held for some hundred instructions at a time, never while work
 * is done.  A thread that waits says for what, and one that changes something wakes those whose
 * time has come.  Nothing here runs an item: queue_run.c does.
 */
#include "base/common.h"

#include "cpu/stream/queue.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cpu/stream/event_share.h"

#include <time.h>

/* A thread that waits in queue_wait. */
struct waiter {
	struct waiter *next;
	struct waiter **link;
	bool (*is_over)(const void *arg);
	const void *arg;
	bool is_woken;
	pthread_cond_t cond;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_ticket;
static uint64_t last_id;
static struct waiter *waiters;

void queue_lock(void)
{
	pthread_mutex_lock(&lock);
}

void queue_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

uint64_t queue_last_ticket(void)
{
	return last_ticket;
}

/* --- Waiting --- */

bool queue_wait(bool (*is_over)(const void *arg), const void *arg, uint64_t deadline)
{
	const struct timespec end = {
		(time_t)(deadline / UINT64_C(1000000000)), (long)(deadline % UINT64_C(1000000000))
	};
	bool over = is_over(arg);
	if (over) {
		return true;
	}
	struct waiter waiter = {.next = waiters, .link = &waiters, .is_over = is_over, .arg = arg};
	if (waiters) {
		waiters->link = &waiter.next;
	}
	waiters = &waiter;
	clock_init_cond(&waiter.cond);
	while (!over) {
		waiter.is_woken = false;
		int failed = deadline == 0 ? pthread_cond_wait(&waiter.cond, &lock)
			: pthread_cond_timedwait(&waiter.cond, &lock, &end);
		over = is_over(arg);
		if (failed != 0) {
			break;
		}
	}
	*waiter.link = waiter.next;
	if (waiter.next) {
		waiter.next->link = waiter.link;
	}
	pthread_cond_destroy(&waiter.cond);
	return over;
}

void queue_sleep(struct stream *stream)
{
	pthread_cond_wait(&stream->wake, &lock);
}

void queue_tell(void)
{
	for (struct waiter *waiter = waiters; waiter; waiter = waiter->next) {
		if (!waiter->is_woken && waiter->is_over(waiter->arg)) {
			waiter->is_woken = true;
			pthread_cond_signal(&waiter->cond);
		}
	}
}

struct fence *fence_create(void)
{
	struct fence *fence = mem_zalloc(1, sizeof(*fence));
	if (fence) {
		fence->refs = 1;
	}
	return fence;
}

void fence_release(struct fence *fence)
{
	if (fence && --fence->refs == 0) {
		shared_release(fence->shared);
		mem_free(fence);
	}
}

void fence_set(struct fence *fence)
{
	if (fence->left > 0) {
		fence->left--;
		return;
	}
	fence->time = clock_now_ns();
	fence->is_done = true;
	if (fence->shared && !fence->is_foreign) {
		shared_finish(fence->shared, fence->ticket);
	}
}

bool fence_is_done(const void *arg)
{
	const struct fence *fence = arg;
	return !fence || fence->is_done;
}

/* --- Items about fences --- */

struct item *item_create(enum work_kind kind)
{
	struct item *item = mem_zalloc(1, sizeof(*item));
	struct work *work = mem_zalloc(1, sizeof(*work));
	if (!item || !work) {
		mem_free(item);
		mem_free(work);
		return NULL;
	}
	work->kind = kind;
	item->work = work;
	return item;
}

void item_free(struct item *item)
{
	if (item) {
		mem_free((void *)item->work);
		mem_free(item);
	}
}

/* --- Streams --- */

struct stream *queue_add(struct context *context, unsigned flags, bool is_legacy)
{
	struct stream *stream = mem_zalloc(1, sizeof(*stream));
	if (!stream || (!is_legacy && !object_add(&stream->object, context, API_STREAM, NULL))) {
		mem_free(stream);
		return NULL;
	}
	stream->object.context = context;
	stream->refs = 1;
	stream->flags = flags;
	stream->id = ++last_id;
	stream->is_legacy = is_legacy;
	stream->is_blocking = !is_legacy && !(flags & CU_STREAM_NON_BLOCKING);
	stream->last = &stream->first;
	clock_init_cond(&stream->wake);
	stream->next = context->streams;
	stream->link = &context->streams;
	if (stream->next) {
		stream->next->link = &stream->next;
	}
	context->streams = stream;
	return stream;
}

void queue_release(struct stream *stream)
{
	if (--stream->refs > 0) {
		return;
	}
	*stream->link = stream->next;
	if (stream->next) {
		stream->next->link = stream->link;
	}
	pthread_cond_destroy(&stream->wake);
	mem_free(stream);
	queue_tell();
}

void queue_close(struct stream *stream)
{
	stream->is_closing = true;
	pthread_cond_signal(&stream->wake);
	queue_release(stream);
}

/* --- Order --- */

uint64_t queue_oldest(const struct stream *stream)
{
	return stream->running != 0 ? stream->running
		: stream->first ? stream->first->ticket : UINT64_MAX;
}

bool queue_may_run(const struct stream *stream, uint64_t ticket)
{
	const struct context *context = stream->object.context;
	if (stream->is_legacy && context->pending > 0) {
		for (const struct stream *s = context->streams; s; s = s->next) {
			if (s->is_blocking && queue_oldest(s) < ticket) {
				return false;
			}
		}
	}
	return !stream->is_blocking || queue_oldest(context->legacy) > ticket;
}

bool queue_is_next(const struct stream *stream, const struct item *item)
{
	return stream->running == 0 && stream->first == item && queue_may_run(stream, item->ticket)
		&& (item->work->kind != WORK_WAIT || fence_is_done(item->fence)
			|| atomic_load(&stream->object.context->is_dying));
}

void queue_append(struct stream *stream, struct item *item)
{
	item->next = NULL;
	item->ticket = ++last_ticket;
	*stream->last = item;
	stream->last = &item->next;
	stream->refs++;
	stream->object.context->pending += stream->is_blocking;
	if (!item->by_caller) {
		pthread_cond_signal(&stream->wake);
	}
}

void queue_take(struct stream *stream)
{
	struct item *item = stream->first;
	stream->first = item->next;
	if (!stream->first) {
		stream->last = &stream->first;
	}
	stream->running = item->ticket;
}

void queue_finish(struct stream *stream)
{
	stream->running = 0;
	stream->object.context->pending -= stream->is_blocking;
	if (waiters) {
		queue_tell();
	}
	queue_release(stream);
}

/* --- For the threads of the program --- */

void queue_begin(struct stream *stream)
{
	stream->running = ++last_ticket;
	stream->refs++;
	stream->object.context->pending += stream->is_blocking;
}
