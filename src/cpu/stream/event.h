/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_EVENT_H
#define CPU_STREAM_EVENT_H

/*
 * The inside of events, for the files that record them and wait for them in a stream.  All of it
 * belongs to the thread that holds the lock of queue.h.
 */
#include "cpu/stream/event_share.h"
#include "cpu/stream/queue.h"

struct event {
	struct object object;
	unsigned flags;
	bool is_recorded;
	struct shared_event *shared; /* NULL: of this process alone */
	struct fence *fence;        /* of the last record; NULL: it was done at once */
	uint64_t time;            /* and when */
	struct captured captured; /* it was last recorded in a capture */
};

/* The event was recorded now, or will be when a fence is set, which it takes. */
void event_record(struct event *event, struct fence *fence);
/* Whether the last record is done. */
bool event_is_done(const struct event *event);
/* The fence of the last record, with a reference for the caller; NULL if that is done.  `spare`,
 * with one reference, is for a record of another process, and gone afterwards. */
struct fence *event_pending(struct event *event, struct fence *spare);

#endif
