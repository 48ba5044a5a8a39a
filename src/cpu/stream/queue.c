/* SPDX-License-Identifier: MIT */
/*
 * Streams.  A stream is a queue of items, run one at a time, in order.  Every item has a ticket, a
 * number that grows over all streams, and that is all there is to order: an item of the legacy
 * default stream waits until no stream that is not CU_STREAM_NON_BLOCKING holds an older ticket, an
 * item of one of these until the legacy stream holds none; waiting for a stream or a context means
 * until nothing with the tickets given out so far is left.  As everybody waits for older items
 * only, nobody waits for ever because of us.
 *
 * An item is run by the thread that enqueued it, if its turn has come already or if the call waits
 * for it anyway, else by the stream's own thread, which is started for the first such item.  A
 * kernel that does not end soon is left to that thread, too, and so is everything that waits for
 * somebody else: functions of the host, values in memory.  Who waits for a stream does what its
 * thread has not come to: to wake that, and to be woken by it, takes up to 100 us.
 *
 * One lock guards all of this; it is held for some hundred instructions at a time, never while work
 * is done.  Who waits says for what, and whoever changes something wakes those whose time has come.
 */
#include "base/common.h"

#include "cpu/stream/queue.h"

#include "base/alloc.h"
#include "cpu/exec/pool.h"
#include "cpu/mem/fault.h"
#include "cpu/stream/runner.h"

#include <time.h>

/* Somebody who waits, in queue_wait. */
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

uint64_t queue_time(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

/* --- Waiting --- */

static void init_cond(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

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
	if (waiters != NULL) {
		waiters->link = &waiter.next;
	}
	waiters = &waiter;
	init_cond(&waiter.cond);
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
	if (waiter.next != NULL) {
		waiter.next->link = waiter.link;
	}
	pthread_cond_destroy(&waiter.cond);
	return over;
}

void queue_tell(void)
{
	for (struct waiter *waiter = waiters; waiter != NULL; waiter = waiter->next) {
		if (!waiter->is_woken && waiter->is_over(waiter->arg)) {
			waiter->is_woken = true;
			pthread_cond_signal(&waiter->cond);
		}
	}
}

struct mark *mark_create(void)
{
	struct mark *mark = mem_zalloc(1, sizeof(*mark));
	if (mark != NULL) {
		mark->refs = 1;
	}
	return mark;
}

void mark_release(struct mark *mark)
{
	if (mark != NULL && --mark->refs == 0) {
		shared_release(mark->shared);
		mem_free(mark);
	}
}

void mark_set(struct mark *mark)
{
	if (mark->left > 0) {
		mark->left--;
		return;
	}
	mark->time = queue_time();
	mark->is_done = true;
	if (mark->shared != NULL && !mark->is_foreign) {
		shared_finish(mark->shared, mark->ticket);
	}
}

bool mark_is_done(const void *arg)
{
	const struct mark *mark = arg;
	return mark == NULL || mark->is_done;
}

/* --- Items about marks, and what new streams wait for --- */

struct item *item_create(enum work_kind kind)
{
	struct item *item = mem_zalloc(1, sizeof(*item));
	struct work *work = mem_zalloc(1, sizeof(*work));
	if (item == NULL || work == NULL) {
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
	if (item != NULL) {
		mem_free((void *)item->work);
		mem_free(item);
	}
}

struct gate {
	struct gate *next;
	struct mark *mark;
};

static void free_gate(struct gate *gate)
{
	mark_release(gate->mark);
	mem_free(gate);
}

/* Those that are open are of no use. */
static void drop_open_gates(struct context *context)
{
	struct gate **link = &context->gates;
	while (*link != NULL) {
		struct gate *gate = *link;
		if (mark_is_done(gate->mark)) {
			*link = gate->next;
			free_gate(gate);
		} else {
			link = &gate->next;
		}
	}
}

bool queue_add_gate(struct context *context, struct mark *mark)
{
	struct gate *gate = mem_alloc(sizeof(*gate));
	if (gate == NULL) {
		return false;
	}
	drop_open_gates(context);
	mark->refs++;
	*gate = (struct gate){context->gates, mark};
	context->gates = gate;
	return true;
}

void queue_drop_gates(struct context *context)
{
	while (context->gates != NULL) {
		struct gate *gate = context->gates;
		context->gates = gate->next;
		free_gate(gate);
	}
}

static bool wait_for_gates(struct stream *stream)
{
	drop_open_gates(stream->object.context);
	for (struct gate *gate = stream->object.context->gates; gate != NULL; gate = gate->next) {
		struct item *item = item_create(WORK_WAIT);
		if (item == NULL || !queue_start_thread(stream)) {
			item_free(item);
			return false;
		}
		gate->mark->refs++;
		item->mark = gate->mark;
		queue_append(stream, item);
	}
	return true;
}

/* --- Streams --- */

struct stream *queue_create(struct context *context, unsigned flags, bool is_legacy)
{
	struct stream *stream = mem_zalloc(1, sizeof(*stream));
	if (stream == NULL || (!is_legacy && !object_add(&stream->object, context, API_STREAM, NULL))) {
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
	init_cond(&stream->wake);
	stream->next = context->streams;
	stream->link = &context->streams;
	if (stream->next != NULL) {
		stream->next->link = &stream->next;
	}
	context->streams = stream;
	if (context->gates != NULL && !wait_for_gates(stream)) {
		object_remove(&stream->object);
		queue_close(stream);
		return NULL;
	}
	return stream;
}

void queue_release(struct stream *stream)
{
	if (--stream->refs > 0) {
		return;
	}
	*stream->link = stream->next;
	if (stream->next != NULL) {
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
		: stream->first != NULL ? stream->first->ticket : UINT64_MAX;
}

bool queue_may_run(const struct stream *stream, uint64_t ticket)
{
	const struct context *context = stream->object.context;
	if (stream->is_legacy && context->pending > 0) {
		for (const struct stream *s = context->streams; s != NULL; s = s->next) {
			if (s->is_blocking && queue_oldest(s) < ticket) {
				return false;
			}
		}
	}
	return !stream->is_blocking || queue_oldest(context->legacy) > ticket;
}

/* Whether an item is the next to run, and may run. */
static bool is_next(const struct stream *stream, const struct item *item)
{
	return stream->running == 0 && stream->first == item && queue_may_run(stream, item->ticket)
		&& (item->work->kind != WORK_WAIT || mark_is_done(item->mark)
			|| atomic_load(&stream->object.context->is_dying));
}

struct turn {
	const struct stream *stream;
	const struct item *item;
};

static bool turn_has_come(const void *arg)
{
	const struct turn *turn = arg;
	return is_next(turn->stream, turn->item);
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

static void begin(struct stream *stream)
{
	struct item *item = stream->first;
	stream->first = item->next;
	if (stream->first == NULL) {
		stream->last = &stream->first;
	}
	stream->running = item->ticket;
}

void queue_finish(struct stream *stream)
{
	stream->running = 0;
	stream->object.context->pending -= stream->is_blocking;
	if (waiters != NULL) {
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

void queue_take_turn(struct stream *stream, struct item *item)
{
	const struct turn turn = {stream, item};
	queue_append(stream, item);
	while (queue_help(stream)) {
	}
	queue_wait(turn_has_come, &turn, 0);
	begin(stream);
}

void queue_leave(struct stream *stream, struct runner *runner)
{
	stream->left = runner;
	// The thread has nothing to do, or waits for this very kernel.
	pthread_cond_signal(&stream->wake);
	queue_tell();
}

/* --- A stream's thread --- */

/* Whether there is something that the thread is to do, which somebody else may as well. */
static bool has_step(const struct stream *stream)
{
	const struct item *item = stream->first;
	return stream->left != NULL || (item != NULL && !item->by_caller && is_next(stream, item));
}

static bool thread_may_go_on(const void *arg)
{
	const struct stream *stream = arg;
	return has_step(stream) || (stream->first == NULL && stream->running == 0);
}

static void run_queued(struct stream *stream)
{
	struct item *item = stream->first;
	begin(stream);
	pthread_mutex_unlock(&lock);
	work_run(stream->object.context, item->work);
	bool is_record = item->work->kind == WORK_RECORD;
	work_free((void *)item->work);
	pthread_mutex_lock(&lock);
	if (is_record) {
		mark_set(item->mark);
	}
	mark_release(item->mark);
	mem_free(item);
	queue_finish(stream);
}

static void run_left(struct stream *stream)
{
	struct runner *runner = stream->left;
	stream->left = NULL;
	pthread_mutex_unlock(&lock);
	runner_finish(runner);
	pthread_mutex_lock(&lock);
	runner_give(runner);
	queue_finish(stream);
}

static bool step(struct stream *stream)
{
	const bool found = has_step(stream);
	if (found && stream->left != NULL) {
		run_left(stream);
	} else if (found) {
		run_queued(stream);
	}
	return found;
}

/* Functions of the host belong to a thread that holds none of the program's locks. */
bool queue_help(struct stream *stream)
{
	const struct item *item = stream->first;
	if (stream->left == NULL && (item == NULL || item->by_caller
			|| (item->work->kind != WORK_KERNEL && !work_is_quick(item->work)))) {
		return false;
	}
	return step(stream);
}

static void *thread_main(void *arg)
{
	struct stream *stream = arg;
	fault_stay_open(true); // as pool_start_thread starts them
	pthread_mutex_lock(&lock);
	for (;;) {
		queue_wait(thread_may_go_on, stream, 0);
		if (step(stream)) {
			continue;
		}
		if (stream->is_closing) {
			break;
		}
		pthread_cond_wait(&stream->wake, &lock);
	}
	stream->has_thread = false;
	queue_release(stream);
	pthread_mutex_unlock(&lock);
	return NULL;
}

bool queue_start_thread(struct stream *stream)
{
	pthread_t thread;
	if (!stream->has_thread && pool_start_thread(&thread, thread_main, stream)) {
		pthread_detach(thread);
		stream->has_thread = true;
		stream->refs++;
	}
	return stream->has_thread;
}
