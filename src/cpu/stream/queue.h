/* SPDX-License-Identifier: MIT */
#ifndef CPU_QUEUE_H
#define CPU_QUEUE_H

/*
 * What is inside of streams, for stream.c and event.c; queue.c says how it works.  All of it
 * belongs to whoever holds the lock.
 */
#include "cpu/stream/capture.h"
#include "cpu/stream/event_share.h"
#include "cpu/stream/work.h"

/* A record of an event, or the wait for one: what an event was at some time. */
struct mark {
	unsigned refs;
	bool is_done;
	uint64_t time;
	struct shared_event *shared; /* it is a record of this */
	uint64_t ticket;
	bool is_foreign;             /* another process makes it */
	unsigned left;               /* how many more streams have to come to it */
	struct mark *next;           /* of the foreign ones that are not done */
};

struct item {
	struct item *next;
	const struct work *work;  /* its own, unless by_caller */
	uint64_t ticket;
	struct mark *mark;        /* of WORK_RECORD and WORK_WAIT; NULL: nothing to wait for */
	bool by_caller;           /* a thread waits for its turn, and runs it itself */
};

struct stream {
	struct object object;     /* the legacy stream has no handle */
	unsigned refs;            /* its handle, its items, its thread, who waits for it */
	unsigned flags;
	uint64_t id;
	bool is_legacy;
	bool is_blocking;         /* waits for the legacy stream, and the other way round */
	bool is_closing;
	bool has_thread;
	struct item *first;
	struct item **last;
	uint64_t running;         /* the ticket of the item that runs, 0: none */
	struct runner *left;      /* it is a kernel that its caller has left running */
	pthread_cond_t wake;      /* of the thread when it has nothing to do */
	struct captured captured;
	CUstreamAttrValue attributes[CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN + 1];
	struct stream *next;      /* of the context's */
	struct stream **link;
};

struct event {
	struct object object;
	unsigned flags;
	bool is_recorded;
	struct shared_event *shared; /* NULL: of this process alone */
	struct mark *mark;        /* of the last record; NULL: it was done at once */
	uint64_t time;            /* and when */
	struct captured captured; /* it was last recorded in a capture */
};

/* The event was recorded now, or will be when a mark is set, which it takes. */
void event_record(struct event *event, struct mark *mark);
/* Whether the last record is done. */
bool event_is_done(const struct event *event);
/* The mark of the last record, with a reference for the caller; NULL if that is done.  `spare`, with
 * one reference, is for a record of another process, and gone afterwards. */
struct mark *event_pending(struct event *event, struct mark *spare);

/* Everything below is called with the lock held. */
void queue_lock(void);
void queue_unlock(void);

/* A steady clock, in nanoseconds.  Without the lock, too. */
uint64_t queue_time(void);

/*
 * Wait until is_over(arg), which must be so for good once it is, or until a time; 0: for ever.
 * Whether it is over.  The lock is not held meanwhile.
 */
bool queue_wait(bool (*is_over)(const void *arg), const void *arg, uint64_t deadline);
/* Something has changed that others may wait for. */
void queue_tell(void);

struct mark *mark_create(void);       /* with one reference; NULL when memory runs out */
void mark_release(struct mark *mark); /* NULL is fine */
void mark_set(struct mark *mark);     /* a stream has come to it; the last one: it is done now */
bool mark_is_done(const void *mark);  /* for queue_wait, too; NULL is done */

/* A stream of a context; NULL when memory runs out.  The legacy one has no handle. */
struct stream *queue_create(struct context *context, unsigned flags, bool is_legacy);
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
/* An item about a mark, for queue_append; NULL when memory runs out. */
struct item *item_create(enum work_kind kind);
void item_free(struct item *item); /* one that was not appended; NULL is fine */
/* Streams of a context that are created from now on wait for a mark; it takes a reference.  False
 * when memory runs out. */
bool queue_add_gate(struct context *context, struct mark *mark);
void queue_drop_gates(struct context *context);
/* Start the stream's thread if it has none. */
bool queue_start_thread(struct stream *stream);
/* Begin with something of one's own in a stream that is empty, and may run it; or wait for the turn
 * of an item of one's own, and take it off.  queue_finish ends either. */
void queue_begin(struct stream *stream);
void queue_take_turn(struct stream *stream, struct item *item);
void queue_finish(struct stream *stream);
/* Do what a stream's thread is to do next, which the caller waits for anyway.  False: nothing that
 * can be done now, or by anyone but the thread. */
bool queue_help(struct stream *stream);
/* Leave the kernel that runs to the stream's thread, which queue_start_thread has started. */
void queue_leave(struct stream *stream, struct runner *runner);

#endif
