/* SPDX-License-Identifier: MIT */
/*
 * Captures.  A capture begins in a stream, and takes in the streams that wait for events recorded
 * in it.  Each of its streams has a frontier: the nodes that the next one will depend on.
 * Recording an event copies the frontier; a stream that waits for the event adds the copy to its
 * own.  When the capture ends, all branches must have been joined in the first stream.
 */
#include "base/common.h"

#include "cpu/stream/cu_capture.h"

#include "base/alloc.h"
#include "cpu/stream/event.h"
#include "cpu/stream/cu_graph_node.h"
#include "cpu/stream/queue.h"

static struct cu_capture *captures;
static atomic_size_t capture_count;
static uint64_t last_id;
static atomic_ullong last_thread;

static _Thread_local uint64_t this_thread;
static _Thread_local CUstreamCaptureMode this_mode;

static uint64_t capture_thread_id(void)
{
	if (this_thread == 0) {
		this_thread = atomic_fetch_add(&last_thread, 1) + 1;
	}
	return this_thread;
}

CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode)
{
	CUstreamCaptureMode before = this_mode;
	this_mode = mode;
	return before;
}

/* --- Captures and their streams --- */

static void capture_join(struct cu_capture *capture, struct stream *stream)
{
	stream->captured.capture = capture;
	stream->captured.next = capture->streams;
	capture->streams = stream;
	capture->refs++;
}

static void capture_detach(struct stream *stream)
{
	struct cu_capture *capture = stream->captured.capture;
	struct stream **link = &capture->streams;
	while (*link != stream) {
		link = &(*link)->captured.next;
	}
	*link = stream->captured.next;
	frontier_free(&stream->captured.frontier);
	stream->captured.capture = NULL;
	cu_capture_release(capture);
}

static CUresult capture_invalidate(struct cu_capture *capture, CUresult result)
{
	capture->is_invalid = true;
	return result;
}

/* The capture ends: its streams are free, and no handle names the graph yet. */
static void capture_finish(struct cu_capture *capture)
{
	struct cu_capture **link = &captures;
	while (*link != capture) {
		link = &(*link)->next;
	}
	*link = capture->next;
	atomic_fetch_sub(&capture_count, 1);
	capture->is_over = true;
	capture->refs++;
	while (capture->streams) {
		capture_detach(capture->streams);
	}
	cu_capture_release(capture);
}

struct graph *capture_leave(struct stream *stream)
{
	struct cu_capture *capture = stream->captured.capture;
	if (!capture) {
		return NULL;
	}
	if (capture->origin != stream) {
		capture->is_invalid = true;
		capture_detach(stream);
		return NULL;
	}
	struct graph *graph = capture->graph;
	bool owns_graph = capture->owns_graph;
	capture_finish(capture);
	graph_lock();
	graph->is_captured_into = false;
	if (owns_graph) {
		graph_hide(graph);
	}
	graph_unlock();
	return owns_graph ? graph : NULL;
}

/* --- Failures --- */

/* Whether the legacy stream of a context must not be used; invalidates the captures that forbid it
 * if that was to be done. */
static bool capture_is_legacy_blocked(const struct context *context, bool is_use)
{
	bool found = false;
	if (atomic_load(&capture_count) == 0) {
		return false;
	}
	for (struct stream *s = context->streams; s; s = s->next) {
		if (s->is_blocking && s->captured.capture) {
			found = true;
			s->captured.capture->is_invalid |= is_use;
		}
	}
	return found;
}

static CUresult capture_fail_legacy(const char *call)
{
	return api_fail(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
		"%s: the legacy default stream would depend on a stream that is captured", call);
}

static CUresult capture_fail_unsupported(const char *call)
{
	return api_fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
		"%s: not while a stream is captured", call);
}

CUresult capture_check_stream(const char *call, struct stream *stream)
{
	if (stream->captured.capture) {
		return capture_invalidate(stream->captured.capture, capture_fail_unsupported(call));
	}
	return stream->is_legacy && capture_is_legacy_blocked(stream->object.context, true)
		? capture_fail_legacy(call) : CUDA_SUCCESS;
}

CUresult capture_close_stream(const char *call, struct stream *stream)
{
	struct cu_capture *capture = stream->captured.capture;
	const struct frontier *frontier = &stream->captured.frontier;
	if (!capture) {
		return capture_check_stream(call, stream);
	}
	if (capture->origin == stream) {
		return CUDA_SUCCESS; // its end is that of the capture
	}
	if (!frontier_add(&capture->gone, frontier->nodes, frontier->data, frontier->count)) {
		return api_no_memory(call);
	}
	capture_detach(stream);
	return CUDA_SUCCESS;
}

CUresult capture_check_context(const char *call, struct context *context)
{
	CUresult result = CUDA_SUCCESS;
	if (atomic_load(&capture_count) == 0) {
		return CUDA_SUCCESS;
	}
	for (struct stream *s = context->streams; s; s = s->next) {
		if (s->captured.capture) {
			s->captured.capture->is_invalid = true;
			result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	}
	return result == CUDA_SUCCESS ? result : capture_fail_unsupported(call);
}

CUresult capture_check_thread(const char *call)
{
	CUresult result = CUDA_SUCCESS;
	if (atomic_load(&capture_count) == 0 || this_mode == CU_STREAM_CAPTURE_MODE_RELAXED) {
		return CUDA_SUCCESS;
	}
	for (struct cu_capture *c = captures; c; c = c->next) {
		bool is_mine = c->thread == capture_thread_id();
		if ((is_mine && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		    || (!is_mine && c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL
			&& this_mode == CU_STREAM_CAPTURE_MODE_GLOBAL)) {
			result = capture_invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
		}
	}
	return result == CUDA_SUCCESS ? result : capture_fail_unsupported(call);
}

CUresult capture_check_unsafe(const char *call)
{
	if (atomic_load(&capture_count) == 0) {
		return CUDA_SUCCESS;
	}
	queue_lock();
	CUresult result = capture_check_thread(call);
	queue_unlock();
	return result;
}

/* --- What streams do --- */

CUresult capture_node(const char *call, struct stream *stream, struct node_data *data,
	struct graph *child)
{
	struct captured *captured = &stream->captured;
	struct frontier *frontier = &captured->frontier;
	struct graph_node *node;
	if (captured->capture->is_invalid || !frontier_reserve(frontier, 1)) {
		node_data_release(data);
		return captured->capture->is_invalid ? api_fail(
			CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "%s: the capture has failed", call)
			: api_no_memory(call);
	}
	const struct dependencies from = {frontier->nodes, frontier->data, frontier->count};
	graph_lock();
	CUresult result = node_add(call, captured->capture->graph, data, child, &from, &node);
	graph_unlock();
	if (result == CUDA_SUCCESS) {
		frontier->count = 0;
		frontier_add(frontier, &node->handle, NULL, 1);
	}
	return result;
}

static CUresult capture_external(const char *call, struct stream *stream, const struct work *work)
{
	CUgraphNodeParams params = {.eventWait = {work->event},
		.type = work->kind == WORK_WAIT ? CU_GRAPH_NODE_TYPE_WAIT_EVENT
			: CU_GRAPH_NODE_TYPE_EVENT_RECORD};
	struct node_data *data;
	CUresult result = node_make(call, &params, NULL, &data);
	return result == CUDA_SUCCESS ? capture_node(call, stream, data, NULL) : result;
}

static CUresult capture_record(const char *call, struct stream *stream, struct event *event)
{
	const struct frontier *from = &stream->captured.frontier;
	struct frontier frontier = {0};
	if (!frontier_add(&frontier, from->nodes, from->data, from->count)) {
		frontier_free(&frontier);
		return api_no_memory(call);
	}
	// What it was recorded for before does not count any more.
	event_record(event, NULL);
	event->captured.capture = stream->captured.capture;
	event->captured.capture->refs++;
	event->captured.frontier = frontier;
	return CUDA_SUCCESS;
}

/* A stream waits for an event of a capture, and thereby is or comes to be part of it. */
static CUresult capture_wait(const char *call, struct stream *stream, struct event *event)
{
	struct cu_capture *mine = stream->captured.capture;
	struct cu_capture *capture = event->captured.capture;
	const struct frontier *frontier = &event->captured.frontier;
	if (stream->is_legacy) {
		return capture_invalidate(capture, capture_fail_legacy(call));
	}
	if (capture->is_over) {
		return api_fail(CUDA_ERROR_CAPTURED_EVENT,
			"%s: the event was recorded in a capture that has ended", call);
	}
	if (mine && mine != capture) {
		capture_invalidate(mine, CUDA_SUCCESS);
		return capture_invalidate(capture, api_fail(CUDA_ERROR_STREAM_CAPTURE_MERGE,
			"%s: the event is of another capture", call));
	}
	if (capture->is_invalid) {
		return api_fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "%s: the capture has failed",
			call);
	}
	if (!frontier_add(&stream->captured.frontier, frontier->nodes, frontier->data,
			frontier->count)) {
		return api_no_memory(call);
	}
	if (!mine) {
		capture_join(capture, stream);
	}
	return CUDA_SUCCESS;
}

static CUresult capture_other(const char *call, struct stream *stream, const struct work *work)
{
	struct cu_capture *capture = stream->captured.capture;
	struct node_data *data;
	if (work->kind == WORK_CALLBACK || work->kind == WORK_FREE) {
		return capture_invalidate(capture, capture_fail_unsupported(call));
	}
	CUresult result = node_make_work(call, stream->object.context, work, &data);
	return result == CUDA_SUCCESS ? capture_node(call, stream, data, NULL) : result;
}

CUresult capture_work(const char *call, struct stream *stream, struct event *event,
	const struct work *work, bool *is_captured)
{
	struct cu_capture *capture = stream->captured.capture;
	if (likely(atomic_load_explicit(&capture_count, memory_order_relaxed) == 0
		&& work->kind != WORK_WAIT && !work->is_external)) {
		*is_captured = false; // nothing is
		return CUDA_SUCCESS;
	}
	*is_captured = true;
	if (work->kind == WORK_WAIT && !work->is_external && event->captured.capture) {
		return capture_wait(call, stream, event);
	}
	if (!capture) {
		*is_captured = false;
		return stream->is_legacy && capture_is_legacy_blocked(stream->object.context, true)
			? capture_fail_legacy(call) : work->is_external
			? api_fail(CUDA_ERROR_INVALID_VALUE, "%s: external events are for captures",
				call) : CUDA_SUCCESS;
	}
	if (capture->is_invalid) {
		return api_fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "%s: the capture has failed",
			call);
	}
	switch (work->kind) {
	case WORK_EMPTY:
		return CUDA_SUCCESS;
	case WORK_GRAPH:
		return capture_invalidate(capture, capture_fail_unsupported(call));
	case WORK_RECORD:
		return work->is_external ? capture_external(call, stream, work)
			: capture_record(call, stream, event);
	case WORK_WAIT:
		return work->is_external ? capture_external(call, stream, work)
			: capture_invalidate(capture, api_fail(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
			"%s: the event was not recorded in the capture", call));
	default:
		return capture_other(call, stream, work);
	}
}

/* --- Beginning and ending --- */

/* A graph that exists and that no stream captures into.  The lock of cu_graph.h is held. */
static CUresult capture_find_target(const char *call, CUgraph handle, struct graph **out)
{
	CUresult result = graph_find(call, handle, out);
	return result == CUDA_SUCCESS && (*out)->is_captured_into ? api_fail(
		CUDA_ERROR_INVALID_VALUE, "%s: the graph is being captured", call) : result;
}

/* Whether all nodes are in a graph. */
static CUresult capture_check_nodes(const char *call, const struct graph *graph,
	const CUgraphNode *nodes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct graph_node *node;
		CUresult result = node_find(call, nodes[i], &node);
		if (result == CUDA_SUCCESS && node->graph != graph) {
			result = api_fail(CUDA_ERROR_INVALID_VALUE, "%s: a node of another graph",
				call);
		}
		if (result != CUDA_SUCCESS) {
			return result;
		}
	}
	return CUDA_SUCCESS;
}

CUresult capture_begin(const char *call, struct stream *stream, const CUgraph *handle,
	const struct dependencies *from, CUstreamCaptureMode mode)
{
	if (stream->is_legacy) {
		return api_fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
			"%s: the legacy default stream cannot be captured", call);
	}
	if (stream->captured.capture) {
		return api_fail(CUDA_ERROR_ILLEGAL_STATE, "%s: the stream is captured already",
			call);
	}
	struct cu_capture *capture = mem_zalloc(1, sizeof(*capture));
	struct graph *graph = NULL;
	graph_lock();
	CUresult result = handle ? capture_find_target(call, *handle, &graph) : CUDA_SUCCESS;
	if (result == CUDA_SUCCESS && graph) {
		result = capture_check_nodes(call, graph, from->nodes, from->count);
	}
	if (result == CUDA_SUCCESS && (!capture
			|| !frontier_add(&stream->captured.frontier, from->nodes, from->data,
				from->count)
			|| (!graph && !(capture->graph = graph_create(true))))) {
		result = api_no_memory(call);
	}
	if (result != CUDA_SUCCESS) {
		graph_unlock();
		frontier_free(&stream->captured.frontier);
		mem_free(capture);
		return result;
	}
	capture->owns_graph = !graph;
	capture->graph = graph ? graph : capture->graph;
	capture->graph->is_captured_into = true;
	graph_unlock();
	capture->id = ++last_id;
	capture->thread = capture_thread_id();
	capture->mode = mode;
	capture->origin = stream;
	capture->next = captures;
	captures = capture;
	atomic_fetch_add(&capture_count, 1);
	capture_join(capture, stream);
	return CUDA_SUCCESS;
}

/* Mark a node and all that it depends on; `peer` of a marked node is the node itself. */
static void capture_mark(struct graph_node *start)
{
	struct graph_node *todo = start;
	start->peer = start;
	start->ready = NULL;
	while (todo) {
		struct graph_node *node = todo;
		todo = node->ready;
		for (size_t i = 0; i < node->from.count; i++) {
			struct graph_node *next = node->from.list[i].node;
			if (next->peer != next) {
				next->peer = next;
				next->ready = todo;
				todo = next;
			}
		}
	}
}

/* Whether all nodes of a frontier are marked. */
static bool capture_is_marked(const struct frontier *frontier)
{
	bool found = true;
	for (size_t i = 0; found && i < frontier->count; i++) {
		const struct graph_node *node = handle_get(frontier->nodes[i], API_GRAPH_NODE);
		found = !node || node->peer;
	}
	return found;
}

/* Whether what the other streams did has come together in the first one. */
static bool capture_is_joined(const struct cu_capture *capture)
{
	const struct frontier *frontier = &capture->origin->captured.frontier;
	for (struct graph_node *node = capture->graph->first; node; node = node->next) {
		node->peer = NULL;
	}
	for (size_t i = 0; i < frontier->count; i++) {
		struct graph_node *node = handle_get(frontier->nodes[i], API_GRAPH_NODE);
		if (!node->peer) {
			capture_mark(node);
		}
	}
	bool joined = capture_is_marked(&capture->gone);
	for (const struct stream *s = capture->streams; joined && s; s = s->captured.next) {
		joined = capture_is_marked(&s->captured.frontier);
	}
	return joined;
}

CUresult capture_end(const char *call, struct stream *stream, CUgraph *out, struct graph **waste)
{
	struct cu_capture *capture = stream->captured.capture;
	*out = NULL;
	*waste = NULL;
	if (!capture) {
		return api_fail(CUDA_ERROR_ILLEGAL_STATE, "%s: the stream is not captured", call);
	}
	if (capture->origin != stream) {
		return capture_invalidate(capture, api_fail(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
			"%s: the capture began in another stream", call));
	}
	if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
	    && capture->thread != capture_thread_id()) {
		return api_fail(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
			"%s: the capture began in another thread", call);
	}
	struct graph *graph = capture->graph;
	bool owns_graph = capture->owns_graph;
	graph_lock();
	CUresult result = capture->is_invalid ? api_fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
		"%s: the capture has failed", call) : capture_is_joined(capture) ? CUDA_SUCCESS
		: api_fail(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
		"%s: a stream that was forked was not joined", call);
	graph->is_captured_into = false;
	if (result == CUDA_SUCCESS) {
		*out = graph->handle;
	} else if (owns_graph) {
		graph_hide(graph);
		*waste = graph;
	}
	graph_unlock();
	capture_finish(capture);
	return result;
}

CUresult capture_get_info(const char *call, struct stream *stream, struct capture_info *out)
{
	const struct cu_capture *capture = stream->captured.capture;
	*out = (struct capture_info){.status = CU_STREAM_CAPTURE_STATUS_NONE};
	if (stream->is_legacy && capture_is_legacy_blocked(stream->object.context, false)) {
		return capture_fail_legacy(call);
	}
	if (capture) {
		const struct frontier *frontier = &stream->captured.frontier;
		*out = (struct capture_info){capture->is_invalid
			? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE,
			capture->id, capture->graph->handle, *frontier,
			frontier_is_lossy(frontier)};
	}
	return CUDA_SUCCESS;
}

CUresult capture_update(const char *call, struct stream *stream, const CUgraphNode *nodes,
	const CUgraphEdgeData *data, size_t count, bool replace)
{
	struct cu_capture *capture = stream->captured.capture;
	struct frontier *frontier = &stream->captured.frontier;
	if (!capture) {
		return api_fail(CUDA_ERROR_ILLEGAL_STATE, "%s: the stream is not captured", call);
	}
	graph_lock();
	CUresult result = capture_check_nodes(call, capture->graph, nodes, count);
	graph_unlock();
	if (result != CUDA_SUCCESS) {
		return result;
	}
	// The lists may be parts of the stream's own, which cuStreamGetCaptureInfo gives out.
	struct frontier made = {0};
	if (!frontier_add(&made, frontier->nodes, frontier->data, replace ? 0 : frontier->count)
	    || !frontier_add(&made, nodes, data, count)) {
		frontier_free(&made);
		return api_no_memory(call);
	}
	frontier_free(frontier);
	*frontier = made;
	return CUDA_SUCCESS;
}
