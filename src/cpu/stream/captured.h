/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_CAPTURED_H
#define CPU_STREAM_CAPTURED_H

/*
 * What streams and events have of a capture: a reference to it, and a frontier, the nodes that the
 * next node will depend on.  cu_capture.c says how captures work.  All of it belongs to the thread
 * that holds the lock of queue.h.
 */
#include "base/common.h"
#include "base/cuda_abi.h"

struct graph;
struct stream;

/* The nodes that the next one of a stream will depend on. */
struct frontier {
	CUgraphNode *nodes;
	CUgraphEdgeData *data;
	size_t count;
	size_t capacity;
};

/* Make room for so many in all; false when memory runs out. */
bool frontier_reserve(struct frontier *frontier, size_t capacity);
/* Add what is not there yet; without data, edges are plain. */
bool frontier_add(struct frontier *frontier, const CUgraphNode *nodes, const CUgraphEdgeData *data,
	size_t count);
/* Whether an edge has data. */
bool frontier_is_lossy(const struct frontier *frontier);
void frontier_free(struct frontier *frontier); /* afterwards it is empty */

struct cu_capture {
	struct cu_capture *next;   /* the captures that go on */
	size_t refs;            /* streams and events; the list has none */
	uint64_t id;
	uint64_t thread;        /* that began it */
	CUstreamCaptureMode mode;
	struct graph *graph;
	bool owns_graph;
	bool is_invalid;
	bool is_over;
	struct stream *origin;
	struct stream *streams;
	struct frontier gone;   /* of streams that were destroyed; what must be joined, too */
};

/* What a stream or an event has to do with a capture; all zero if nothing. */
struct captured {
	struct cu_capture *capture;
	struct frontier frontier;
	struct stream *next;    /* of the streams in the same capture */
};

void cu_capture_release(struct cu_capture *capture);

/* Leave the capture, if it is one of an event that is recorded anew, or goes. */
void captured_forget(struct captured *captured);
/* Fail if it is of an event that is to be waited for or asked; that invalidates the capture. */
CUresult captured_check(const char *call, struct captured *captured);

#endif
