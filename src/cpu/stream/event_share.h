/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_EVENT_SHARE_H
#define CPU_STREAM_EVENT_SHARE_H

/*
 * Events that several processes have: what they share is a page in a file.  Each record of such an
 * event has a ticket, by which every process can see whether it is done.  All of it with the lock
 * of queue.h.
 */
#include "cpu/mem/share.h"

struct shared_event;

/* NULL when memory or files run out. */
struct shared_event *shared_create(void);
enum share_result shared_open(struct shared_event **out, const struct share_handle *handle);
struct shared_event *shared_retain(struct shared_event *event);
void shared_release(struct shared_event *event); /* NULL is fine */
/* False if it is another process's. */
bool shared_describe(const struct shared_event *event, struct share_handle *out);
/* How many of them there are in this process. */
size_t shared_count(void);

/* The event is recorded: the ticket of that, for shared_finish. */
uint64_t shared_issue(struct shared_event *event);
void shared_finish(struct shared_event *event, uint64_t ticket);
/* The ticket of the last record of any process; 0: it was never recorded. */
uint64_t shared_last(const struct shared_event *event);
/* Whether that record is done, or will not be because its process has ended. */
bool shared_is_done(struct shared_event *event, uint64_t ticket);

#endif
