/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_CU_CAPTURE_H
#define CPU_STREAM_CU_CAPTURE_H

/*
 * Captures: what streams are asked to do becomes nodes of a graph instead.  Everything here belongs
 * to the thread that holds the lock of queue.h, but for what says otherwise.
 */
#include "cpu/stream/cu_graph.h"
#include "cpu/stream/captured.h"

struct dependencies;
struct stream;
struct event;

struct capture_info {
	CUstreamCaptureStatus status;
	uint64_t id;
	CUgraph graph;
	struct frontier frontier; /* as it is now */
	bool is_lossy;          /* an edge of it has data */
};

/* Whether work for a stream is captured; then all is done.  What may not be done in or beside a
 * capture fails and invalidates it. */
CUresult capture_work(const char *call, struct stream *stream, struct event *event,
	const struct work *work, bool *is_captured);
/* The same for a node that is made already; *data is taken, also on failure. */
CUresult capture_node(const char *call, struct stream *stream, struct node_data *data,
	struct graph *child);

/* Fail where a stream or a context that is captured is to be waited for or asked; that
 * invalidates the capture. */
CUresult capture_check_stream(const char *call, struct stream *stream);
CUresult capture_check_context(const char *call, struct context *context);
/* The same for a stream that is to be destroyed.  One that was forked just leaves its capture: what
 * it did stays in the graph. */
CUresult capture_close_stream(const char *call, struct stream *stream);
/* Fail if the calling thread's mode forbids what a capture cannot see, and invalidate the captures
 * that are the reason.  The second one takes the lock itself. */
CUresult capture_check_thread(const char *call);
CUresult capture_check_unsafe(const char *call);

/* A stream goes.  What it leaves behind is to be released, without locks. */
struct graph *capture_leave(struct stream *stream);

/* Begin to capture into a graph, or into a new one if `graph` is NULL. */
CUresult capture_begin(const char *call, struct stream *stream, const CUgraph *graph,
	const struct dependencies *from, CUstreamCaptureMode mode);
/* End it; *waste is to be released, without locks. */
CUresult capture_end(const char *call, struct stream *stream, CUgraph *out, struct graph **waste);
/* Fails for the legacy stream while it must not be used. */
CUresult capture_get_info(const char *call, struct stream *stream, struct capture_info *out);
CUresult capture_update(const char *call, struct stream *stream, const CUgraphNode *nodes,
	const CUgraphEdgeData *data, size_t count, bool replace);
/* Set the calling thread's mode; returns what was.  Without the lock, too. */
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode);

#endif
