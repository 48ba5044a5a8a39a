/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_CU_STREAM_H
#define CPU_STREAM_CU_STREAM_H

/*
 * Streams: queues of work, each done in order; see queue.c.  Everything that a stream is to do goes
 * through stream_enqueue.
 */
#include "cpu/mem/share.h"
#include "cpu/stream/work.h"

enum enqueue {
	ENQUEUE_ASYNC,  /* return when it is in the queue, or done */
	ENQUEUE_WAIT,   /* return when it is done, although the call is named asynchronous */
	ENQUEUE_SYNC    /* the same, of a call that is not */
};

/*
 * Give work to a stream: of a handle, or the legacy or the per-thread default stream of a context.
 * What the work borrows is not needed any more when this returns; the memory that an asynchronous
 * copy reads is not, either, if `stage`.  Fails for a bad handle, a stream of another context
 * (unless the work is about an event, which goes to the stream's context) and want of memory; if it
 * waits, also if the context has failed.
 */
CUresult stream_enqueue(const char *call, struct context *context, CUstream stream,
	const struct work *work, enum enqueue how, bool stage);

/* Whether a stream is captured, for work that then is something else. */
bool stream_is_captured(const char *call, struct context *context, CUstream stream);
/* Add a node to its graph, as the next thing that the stream does. */
CUresult stream_capture(const char *call, struct context *context, CUstream stream,
	CUgraphNodeParams *params);

/* What is known about a stream; NULL stands for the current context's legacy stream. */
struct stream_info {
	CUcontext context;
	unsigned flags;
	int priority;
	uint64_t id;
	CUdevice device;
};
CUresult stream_get_info(const char *call, CUstream stream, struct stream_info *out);

/* Priorities go from 0 to this one, the greatest; they are only kept. */
#define STREAM_GREATEST_PRIORITY (-5)

/* Create one in a context; NULL when memory runs out. */
CUstream stream_create(struct context *context, unsigned flags, int priority);
/* Let it end when its work is done, but not while it is captured. */
CUresult stream_close(const char *call, CUstream stream);
/* The stream itself, with the lock of queue.h if that succeeds. */
struct stream;
CUresult stream_enter(const char *call, CUstream handle, struct stream **out);

/* Wait for all that was enqueued so far, or say NOT_READY.  Then the context's failure, if any. */
CUresult cu_stream_wait(const char *call, CUstream stream);
CUresult stream_query(const char *call, CUstream stream);

/* Whether the default stream is the calling thread's own, from now on; returns what was. */
bool api_use_own_stream(bool own);

/* Wait for all that was enqueued in this context so far; then its failure, if any. */
CUresult context_wait(struct context *context);
/* For the current one, which another thread may be about to end; fails if a stream of it is
 * captured, which makes waiting impossible. */
CUresult context_wait_current(const char *call);
/* Give a context its legacy stream; false when memory runs out. */
bool context_open_streams(struct context *context);
/* Empty a context: its work, which is ended if it takes long, its objects, then its memory. */
void context_clear(struct context *context);
/* End the legacy stream. */
void context_close_streams(struct context *context);

/* Events: each call looks the handle up itself. */
struct event_info {
	unsigned flags;
	bool is_recorded;
	bool is_done;      /* the last record; true also before the first one */
	uint64_t time;     /* of the last record, in nanoseconds */
};
CUevent event_create(struct context *context, unsigned flags);
/* The failure of its context, if any; it is destroyed all the same. */
CUresult event_destroy(const char *call, CUevent event);
/* Also fails if its context has failed. */
CUresult event_get_info(const char *call, CUevent event, struct event_info *out);
/* The same for the last record, which it waits for. */
CUresult event_wait(const char *call, CUevent event);
/* For another process, or of one: then NULL when that fails, and why. */
CUresult event_export(const char *call, CUevent event, struct share_handle *out);
CUevent event_import(struct context *context, const struct share_handle *handle,
	enum share_result *result);

#endif
