/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_QUEUE_H
#define CPU_STREAM_QUEUE_H

/*
 * The inside of streams; queue.c says how it works, and queue_run.c which thread runs an item.  All
 * of it belongs to the thread that holds the lock.
 */
#include "cpu/object/cu_object.h"
#include "cpu/stream/captured.h"
#include "cpu/stream/work.h"

#include <pthread.h>

struct shared_event;

/* A record of an event, or the wait for one: what an event was at some time. */
struct fence {
	unsigned refs;
	bool is_done;
	uint64_t time;
	struct shared_event *shared; /* it is a record of this */
	uint64_t ticket;
	bool is_foreign;             /* another process makes it */
	unsigned left;               /* how many more streams have to come to it */
	struct fence *next;           /* of the foreign ones that are not done */
};

struct item {
	struct item *next;
	const struct work *work;  /* its own, unless by_caller */
	uint64_t ticket;
	struct fence *fence;        /* of WORK_RECORD and WORK_WAIT; NULL: nothing to wait for */
	bool by_caller;           /* a thread waits for its turn, and runs it itself */
};

struct stream {
	struct object object;     /* the legacy stream has no handle */
	unsigned refs;            /* its handle, its items, its thread, each that waits */
	unsigned flags;
	int priority;
	uint64_t id;
	bool is_legacy;
	bool is_blocking;         /* waits for the legacy stream, and the other way round */
	bool is_closing;
	bool has_thread;
	struct item *first;
	struct item **last;
	uint64_t running;         /* the ticket of the item that runs, 0: none */
	struct launch_slot *left; /* its kernel, which the stream's thread is to go on with; NULL:
	                             none */
	pthread_cond_t wake;      /* of the thread when it has nothing to do */
	struct captured captured;
	CUstreamAttrValue attributes[CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN + 1];
	struct stream *next;      /* of the context's */
	struct stream **link;
};

/* Everything below is called with the lock held. */
void queue_lock(void);
void queue_unlock(void);

/*
 * Wait until is_over(arg), which must be so for good once it is, or until a time; 0: forever.
 * Whether it is over.  The lock is not held meanwhile.
 */
bool queue_wait(bool (*is_over)(const void *arg), const void *arg, uint64_t deadline);
/* Something has changed that others may wait for. */
void queue_tell(void);

struct fence *fence_create(void);       /* with one reference; NULL when memory runs out */
void fence_release(struct fence *fence); /* NULL is fine */
void fence_set(struct fence *fence);     /* a stream has come to it; the last one: it is done now */
bool fence_is_done(const void *fence);  /* for queue_wait, too; NULL is done */

/* A stream of a context that waits for nothing yet; NULL when memory runs out. */
struct stream *queue_add(struct context *context, unsigned flags, bool is_legacy);
void queue_release(struct stream *stream);
/* No more will come. */
void queue_close(struct stream *stream);

/* The last ticket that was given out, and the lowest one that a stream has. */
uint64_t queue_last_ticket(void);
uint64_t queue_oldest(const struct stream *stream);
/* Whether an item with a ticket may run, as far as other streams are concerned. */
bool queue_may_run(const struct stream *stream, uint64_t ticket);

/* Put an item at the end; for the stream's thread, unless by_caller. */
void queue_append(struct stream *stream, struct item *item);
/* An item about a fence, for queue_append; NULL when memory runs out. */
struct item *item_create(enum work_kind kind);
void item_free(struct item *item); /* one that was not appended; NULL is fine */
/* Whether an item is the next to run, and may run; take it off, to run it. */
bool queue_is_next(const struct stream *stream, const struct item *item);
void queue_take(struct stream *stream);
/* Begin with something of one's own in a stream that is empty, and may run it.  queue_finish ends
 * that, and what queue_take has begun. */
void queue_begin(struct stream *stream);
void queue_finish(struct stream *stream);
/* For a stream's thread: wait until there is more to do. */
void queue_sleep(struct stream *stream);

/* --- queue_run.c --- */

/* A stream of a context; NULL when memory runs out.  The legacy one has no handle. */
struct stream *queue_create(struct context *context, unsigned flags, bool is_legacy);
/* Streams of a context that are created from now on wait for a fence; it takes a reference.  False
 * when memory runs out. */
bool queue_add_gate(struct context *context, struct fence *fence);
void queue_drop_gates(struct context *context);
/* Start the stream's thread if it has none. */
bool queue_start_thread(struct stream *stream);
/* Leave the kernel that runs to the stream's thread.  False: there can be none. */
bool queue_leave(struct stream *stream, struct launch_slot *slot);
/* Wait for the turn of an item of one's own, and take it off. */
void queue_take_turn(struct stream *stream, struct item *item);
/* Do what a stream's thread is to do next, which the caller waits for anyway.  False: nothing that
 * can be done now, or by anyone but the thread. */
bool queue_help(struct stream *stream);

#endif
