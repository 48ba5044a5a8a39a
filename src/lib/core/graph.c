/* SPDX-License-Identifier: MIT */
/*
 * Graphs: capturing, copying, instantiating, launching.
 *
 * What keeps memory alive.  A node has the address of memory for as long as the graph lives,
 * while the pool hands memory on as soon as its last reference goes.  So a graph, and each
 * kz_exec, has a set of all memory and modules that its nodes use, with a reference on each
 * (struct uses).  During a capture memory_use() does not order the stream: it adds the memory to
 * the set of the capture.  The array of a captured call can be released at once, and so can a
 * temporary one: the pool gets it back when the graph and all that was instantiated from it are
 * released.  Memory that is released while the graph lives is therefore never used by anything
 * else, and no launch can find other data there.
 *
 * What keeps order.  A launch calls memory_use() for the whole set, as a kernel does for its
 * arguments, and is the last use of all of it.  So it comes after earlier work on this memory,
 * and later work comes after it, in any streams.
 *
 * What keeps captures apart.  While a stream is captured, to wait for it would take the stream that
 * waits into the capture.  So its event `order` is recorded just before the capture, and another
 * stream that has to wait for this one waits for the event: all work that the stream really has.
 * capture.c orders the streams of one capture by an event of the capture.
 *
 * A kz_exec keeps its graph, because the driver names its nodes by those of the graph.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lists of nodes */

static void graph_nodes_init(struct node_list *list)
{
	*list = (struct node_list){.last = &list->first};
}

static void graph_free(struct kz_graph *graph);

static void graph_nodes_finish(struct node_list *list)
{
	while (list->first) {
		struct kz_node *node = list->first;
		list->first = node->next;
		while (node->bodies) {
			struct kz_graph *body = node->bodies;
			node->bodies = body->next;
			graph_free(body);
		}
		node_free(node);
	}
	map_free(&list->names);
}

/* Make a name that no other node has, and add the node; false when memory runs out. */
static bool graph_nodes_add(struct node_list *list, struct kz_node *node)
{
	struct kz_node *first = map_get(&list->names, node->name);
	while (first) {
		char name[512];
		first->namesakes++;
		snprintf(name, sizeof(name), "%.480s#%lld", first->name,
			(long long)first->namesakes + 1);
		if (!map_get(&list->names, name)) {
			char *copy = mem_strdup(name);
			if (!copy) {
				return false;
			}
			mem_free(node->name);
			node->name = copy;
			first = NULL;
		}
	}
	if (!map_put(&list->names, node->name, node)) {
		return false;
	}
	*list->last = node;
	list->last = &node->next;
	return true;
}

/* Graphs as objects */

/* Takes the handle, also on failure. */
static kz_status graph_new(struct kz_graph **out, struct kz_device *dev, CUgraph handle,
	kz_error *err)
{
	struct kz_graph *graph = mem_zalloc(1, sizeof(*graph));
	if (!graph) {
		device_released(dev, dev->drv->GraphDestroy(handle), "cuGraphDestroy");
		return error_no_memory(err);
	}
	graph->tag = OBJECT_GRAPH;
	atomic_init(&graph->refs, 1);
	graph->device = device_retain(dev);
	graph->handle = handle;
	graph->root = graph;
	graph_nodes_init(&graph->nodes);
	object_give(graph, dev);
	*out = graph;
	return KZ_OK;
}

/* A body has neither a set nor a handle of its own. */
static void graph_free(struct kz_graph *graph)
{
	struct kz_device *dev = graph->device;
	struct device_scope scope;
	if (graph->root == graph && device_enter_quietly(dev, &scope)) {
		device_released(dev, dev->drv->GraphDestroy(graph->handle), "cuGraphDestroy");
		device_leave(dev, &scope);
	}
	graph_nodes_finish(&graph->nodes);
	uses_release(&graph->uses);
	mem_free(graph->conditions);
	object_free(graph);
	device_release(dev);
}

/* The program has no handle any more: of the graph, of its nodes and of their bodies. */
static void graph_end(struct kz_graph *graph)
{
	object_end(&graph->tag);
	for (struct kz_node *node = graph->nodes.first; node; node = node->next) {
		object_end(&node->tag);
		for (struct kz_graph *body = node->bodies; body; body = body->next) {
			graph_end(body);
		}
	}
}

static struct kz_graph *graph_retain(struct kz_graph *graph)
{
	atomic_fetch_add(&graph->refs, 1);
	return graph;
}

static void graph_release(struct kz_graph *graph)
{
	if (graph && refs_drop(&graph->refs)) {
		graph_free(graph);
	}
}

void kz_graph_release(kz_graph *graph)
{
	if (object_is(graph, OBJECT_GRAPH) && graph->root == graph) {
		graph_end(graph);
		graph_release(graph);
	}
}

kz_status kz_graph_create(kz_graph **out, kz_device *dev, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	CUgraph handle = NULL;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = device_enter(dev, &scope, err))) {
		return st;
	}
	st = device_ok(dev, dev->drv->GraphCreate(&handle, 0), "cuGraphCreate", err);
	st = st ? st : graph_new(out, dev, handle, err);
	device_leave(dev, &scope);
	return st;
}

/* Capturing */

static kz_status graph_read_options(bool *relaxed, const kz_capture_options *options,
	kz_error *err)
{
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_capture_options", options->size, sizeof(*options), err);
	}
	*relaxed = options && options->relaxed;
	return KZ_OK;
}

kz_status kz_graph_begin(kz_stream *stream, const kz_capture_options *options, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	struct capture *capture;
	bool relaxed = false, is_capturing = false;
	kz_status st;
	if ((st = object_check(stream, OBJECT_STREAM, err))
	    || (st = graph_read_options(&relaxed, options, err))
	    || (st = device_enter(stream->device, &scope, err))) {
		return st;
	}
	struct kz_device *dev = stream->device;
	pthread_rwlock_wrlock(&dev->gate);
	st = stream_find_capturing(&is_capturing, stream, err);
	if (!st && is_capturing) {
		st = error_set(err, KZ_STATE, "kz_graph_begin: the stream is captured already");
	} else if (!st && !(st = capture_create(&capture, stream, relaxed, err))) {
		if (!(st = capture_join(capture, stream, err))) {
			/* In another mode the driver would let nobody end it whose thread has
			 * ended. */
			st = device_ok(dev, dev->drv->StreamBeginCapture(stream->handle,
				CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture", err);
		}
		if (st) {
			stream_release_captured(capture_close(capture, true));
			capture_forget(capture);
		}
	}
	pthread_rwlock_unlock(&dev->gate);
	device_leave(dev, &scope);
	return st;
}

/* A stream that joined a capture does not end it. */
static kz_status graph_check_origin(const struct capture *capture, const struct kz_stream *stream,
	kz_error *err)
{
	return capture->origin == stream ? KZ_OK : error_set(err, KZ_STATE,
		"the stream has joined the capture of another stream, which must end it");
}

/* The capture that a stream began and that this thread can end; NULL: KZ_STATE, as the error
 * says. */
static struct capture *graph_find_capture(const struct kz_stream *stream,
	kz_error *err)
{
	struct capture *capture = stream_capture(stream);
	if (!capture) {
		error_set(err, KZ_STATE, "the stream is not captured");
		return NULL;
	}
	if (graph_check_origin(capture, stream, err)) {
		return NULL;
	}
	if (!capture->is_relaxed && !pthread_equal(capture->thread, pthread_self())) {
		error_set(err, KZ_STATE, "another thread began the capture; this one could end "
			"a relaxed capture, or abort it");
		return NULL;
	}
	return capture;
}

/* Move what a capture has into its graph. */
static kz_status graph_fill(struct kz_graph *graph, struct capture *capture, kz_error *err)
{
	graph->uses = capture->uses;
	capture->uses = (struct uses){0};
	while (capture->nodes) {
		struct kz_node *node = capture->nodes;
		struct kz_node *next = node->next;
		node->next = NULL;
		node->graph = graph;
		if (!graph_nodes_add(&graph->nodes, node)) {
			node->next = next;
			return error_no_memory(err);
		}
		capture->nodes = next;
	}
	return KZ_OK;
}

kz_status kz_graph_end(kz_graph **out, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	struct kz_graph *graph = NULL;
	CUgraph handle;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(stream, OBJECT_STREAM, err))) {
		return st;
	}
	struct capture *capture = graph_find_capture(stream, err);
	if (!capture) {
		return KZ_STATE;
	}
	struct kz_device *dev = capture->device;
	if ((st = device_enter(dev, &scope, err))) {
		if (atomic_load(&dev->lost)) { /* and the driver's part with it */
			stream_release_captured(capture_close(capture, false));
			capture_forget(capture);
		}
		return st;
	}
	st = capture_stop(&handle, capture, err);
	stream_release_captured(capture_close(capture, true));
	if (!st && !(st = graph_new(&graph, dev, handle, err))) {
		st = graph_fill(graph, capture, err);
	}
	capture_forget(capture);
	if (st) {
		kz_graph_release(graph);
	} else {
		*out = graph;
	}
	device_leave(dev, &scope);
	return st;
}

kz_status kz_graph_abort(kz_stream *stream, kz_error *err)
{
	error_scope(err);
	kz_status st = object_check(stream, OBJECT_STREAM, err);
	struct capture *capture = st ? NULL : stream_capture(stream);
	if (capture && !(st = graph_check_origin(capture, stream, err))) {
		struct kz_device *dev = device_retain(capture->device);
		stream_release_captured(capture_abort(capture));
		device_release(dev);
	}
	return st;
}

int kz_stream_is_capturing(const kz_stream *stream)
{
	return object_is(stream, OBJECT_STREAM) && stream_capture(stream);
}

/* Nodes */

static int graph_compare_nodes(const void *left, const void *right)
{
	const uintptr_t a = (uintptr_t)*(void *const *)left, b = (uintptr_t)*(void *const *)right;
	return (a > b) - (a < b);
}

/* The driver refuses a list that has a node twice, without a word about it. */
static kz_status graph_check_twice(kz_nodes after, kz_error *err)
{
	const struct kz_node **sorted = after.count > 1 ? mem_alloc(after.count * sizeof(*sorted))
		: NULL;
	kz_status st = sorted || after.count < 2 ? KZ_OK : error_no_memory(err);
	if (sorted) {
		memcpy(sorted, after.items, after.count * sizeof(*sorted));
		qsort(sorted, after.count, sizeof(*sorted), graph_compare_nodes);
	}
	for (size_t i = 1; !st && i < after.count; i++) {
		if (sorted[i] == sorted[i - 1]) {
			st = error_set(err, KZ_INVALID,
				"expected each predecessor once, got '%s' twice", sorted[i]->name);
		}
	}
	mem_free(sorted);
	return st;
}

kz_status graph_check_after(const struct kz_graph *graph, kz_nodes after, kz_error *err)
{
	kz_status st = object_check(graph, OBJECT_GRAPH, err);
	if (!st && after.count > 0 && !after.items) {
		return error_set(err, KZ_INVALID, "expected %zu nodes, got NULL",
			after.count);
	}
	for (size_t i = 0; !st && i < after.count; i++) {
		const struct kz_node *node = after.items[i];
		st = object_check_as(node, OBJECT_NODE, "after", err);
		if (!st && node->graph != graph) {
			st = error_set(err, KZ_INVALID,
				"expected nodes of the same graph, but '%s' is of "
				"another",
				node->name);
		}
	}
	return st ? st : graph_check_twice(after, err);
}

CUgraphNode *graph_handles(kz_nodes after)
{
	CUgraphNode *handles = mem_zalloc(after.count + 1, sizeof(CUgraphNode));
	for (size_t i = 0; handles && i < after.count; i++) {
		handles[i] = after.items[i]->handle;
	}
	return handles;
}

kz_status graph_check_memory(const struct kz_graph *graph, const struct memory *memory,
	kz_error *err)
{
	if (memory->device != graph->device) {
		return error_set(err, KZ_INVALID,
			"expected memory of %s, where the graph is, got memory of "
			"%s",
			graph->device->name, memory->device->name);
	}
	return !memory->graph || memory->graph == graph->root ? KZ_OK : error_set(err, KZ_INVALID,
		"the buffer is memory that a node of another graph allocates");
}

kz_status graph_take_node(kz_node **out, struct kz_graph *graph, struct kz_node *node,
	kz_error *err)
{
	bool ok = true;
	node->graph = graph;
	for (size_t i = 0; ok && i < node->used_count; i++) {
		/* Memory of the graph itself lives in its launches only. */
		ok = node->used[i]->graph
			|| uses_add(&graph->root->uses, node->used[i], &memory_kind);
	}
	ok = ok && graph_nodes_add(&graph->nodes, node);
	if (!ok) {
		/* Else it would run with memory that nobody keeps. */
		struct device_scope scope;
		if (device_enter_quietly(graph->device, &scope)) {
			CUresult code = graph->device->drv->GraphDestroyNode(node->handle);
			device_released(graph->device, code, "cuGraphDestroyNode");
			device_leave(graph->device, &scope);
		}
		node_free(node);
		return error_no_memory(err);
	}
	if (out) {
		*out = node;
	}
	return KZ_OK;
}

kz_node *kz_graph_node(const kz_graph *graph, const char *name)
{
	return object_is(graph, OBJECT_GRAPH) && name ? map_get(&graph->nodes.names, name) : NULL;
}

const char *kz_node_name(const kz_node *node)
{
	return object_is(node, OBJECT_NODE) ? node->name : "";
}

kz_status kz_node_set_name(kz_node *node, const char *name, kz_error *err)
{
	error_scope(err);
	kz_status st = object_check(node, OBJECT_NODE, err);
	if (st) {
		return st;
	}
	if (!name || !name[0]) {
		return error_set(err, KZ_INVALID, "expected a name for the node '%s', got %s",
			node->name, name ? "an empty one" : "NULL");
	}
	struct node_list *list = &node->graph->nodes;
	const struct kz_node *other = map_get(&list->names, name);
	if (other) {
		return other == node ? KZ_OK : error_set(err, KZ_INVALID,
			"another node of the graph has the name '%s'", name);
	}
	/* The keys are the names of the nodes, so the map is made anew. */
	struct map names = MAP_INIT;
	char *copy = mem_strdup(name);
	bool ok = copy;
	for (struct kz_node *at = list->first; ok && at; at = at->next) {
		ok = map_put(&names, at == node ? copy : at->name, at);
	}
	if (!ok) {
		map_free(&names);
		mem_free(copy);
		return error_no_memory(err);
	}
	map_free(&list->names);
	list->names = names;
	mem_free(node->name);
	node->name = copy;
	node->namesakes = 0;
	return KZ_OK;
}

/* Copies */

void node_take_over(struct kz_node *to, const struct kz_node *from)
{
	to->kernel = from->kernel;
	memcpy(to->grid, from->grid, sizeof(to->grid));
	memcpy(to->block, from->block, sizeof(to->block));
	to->shared_size = from->shared_size;
	to->used_count = from->used_count;
	memcpy(to->used, from->used, from->used_count * sizeof(struct memory *));
}

/* A copy of a node, without its handle; NULL when memory runs out. */
static struct kz_node *graph_copy_node(const struct kz_node *node)
{
	struct kz_node *copy = node_create(node->type, node->name, node->used_room);
	if (copy) {
		node_take_over(copy, node);
	}
	return copy;
}

static kz_status graph_copy_nodes(struct kz_graph *clone, const struct kz_graph *graph,
	kz_error *err)
{
	kz_status st = KZ_OK;
	for (const struct kz_node *node = graph->nodes.first; !st && node; node = node->next) {
		struct kz_node *copy = graph_copy_node(node);
		if (!copy || !graph_nodes_add(&clone->nodes, copy)) {
			node_free(copy);
			return error_no_memory(err);
		}
		copy->graph = clone;
		st = device_ok(graph->device,
			graph->device->drv->GraphNodeFindInClone(
				&copy->handle, node->handle, clone->handle),
			"cuGraphNodeFindInClone", err);
	}
	return st;
}

kz_status kz_graph_clone(kz_graph **out, kz_graph *graph, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	struct kz_graph *clone = NULL;
	CUgraph handle = NULL;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(graph, OBJECT_GRAPH, err))) {
		return st;
	}
	if (graph->is_fixed) {
		return error_set(err, KZ_UNSUPPORTED,
			"a graph with nodes that allocate memory, or with "
			"conditional ones, cannot be copied");
	}
	if ((st = device_enter(graph->device, &scope, err))) {
		return st;
	}
	struct kz_device *dev = graph->device;
	st = device_ok(dev, dev->drv->GraphClone(&handle, graph->handle), "cuGraphClone", err);
	if (!st && !(st = graph_new(&clone, dev, handle, err))) {
		st = uses_copy(&clone->uses, &graph->uses) ? graph_copy_nodes(clone, graph, err)
			: error_no_memory(err);
	}
	device_leave(dev, &scope);
	if (st) {
		kz_graph_release(clone);
	} else {
		*out = clone;
	}
	return st;
}

/* Executable graphs */

void exec_drop_copy(struct kz_exec *exec)
{
	if (exec->copy) {
		device_released(exec->device, exec->device->drv->GraphDestroy(exec->copy),
			"cuGraphDestroy");
	}
	graph_release(exec->copied);
	exec->copy = NULL;
	exec->copied = NULL;
	for (struct kz_node *node = exec->nodes.first; node; node = node->next) {
		node->twin = NULL;
	}
}

void exec_take_copy(struct kz_exec *exec, CUgraph copy, struct kz_graph *graph)
{
	exec_drop_copy(exec);
	exec->copy = copy;
	exec->copied = copy ? graph_retain(graph) : NULL;
}

static void graph_exec_release(struct kz_exec *exec)
{
	struct device_scope scope;
	if (refs_drop(&exec->refs)) {
		struct kz_device *dev = exec->device;
		if (device_enter_quietly(dev, &scope)) {
			exec_drop_copy(exec);
			if (exec->handle) {
				device_released(dev, dev->drv->GraphExecDestroy(exec->handle),
					"cuGraphExecDestroy");
			}
			device_leave(dev, &scope);
		}
		graph_release(exec->copied);
		graph_nodes_finish(&exec->nodes);
		uses_release(&exec->uses);
		graph_release(exec->graph);
		object_free(exec);
		device_release(dev);
	}
}

void kz_exec_release(kz_exec *exec)
{
	if (object_is(exec, OBJECT_EXEC)) {
		object_end(&exec->tag);
		graph_exec_release(exec);
	}
}

/* The parts of a graph that a launch needs; the bodies of conditional nodes, too. */
static bool graph_exec_copy_nodes(struct kz_exec *exec, const struct node_list *nodes)
{
	bool ok = true;
	for (const struct kz_node *node = nodes->first; ok && node; node = node->next) {
		struct kz_node *copy = graph_copy_node(node);
		ok = copy && graph_nodes_add(&exec->nodes, copy);
		if (!ok) {
			node_free(copy);
			return false;
		}
		copy->handle = node->handle;
		for (const struct kz_graph *body = node->bodies; ok && body; body = body->next) {
			ok = graph_exec_copy_nodes(exec, &body->nodes);
		}
	}
	return ok;
}

kz_status graph_check_whole(const struct kz_graph *graph, kz_error *err)
{
	kz_status st = object_check(graph, OBJECT_GRAPH, err);
	if (!st && graph->root != graph) {
		st = error_set(err, KZ_INVALID,
			"the body of a conditional node is launched with the graph "
			"that has the node, not alone");
	}
	if (!st && graph->unfreed > 0) {
		st = error_set(err, KZ_INVALID,
			"the graph allocates memory that it does not free: add "
			"kz_graph_add_free for each kz_graph_add_alloc, %lld %s missing",
			(long long)graph->unfreed, graph->unfreed == 1 ? "is" : "are");
	}
	return st;
}

kz_status kz_graph_instantiate(kz_exec **out, kz_graph *graph, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
		|| (st = graph_check_whole(graph, err))
		|| (st = device_enter(graph->device, &scope, err))) {
		return st;
	}
	struct kz_device *dev = graph->device;
	struct kz_exec *exec = mem_zalloc(1, sizeof(*exec));
	if (exec) {
		exec->tag = OBJECT_EXEC;
		atomic_init(&exec->refs, 1);
		exec->device = device_retain(dev);
		exec->graph = graph_retain(graph);
		graph_nodes_init(&exec->nodes);
		CUresult code =
			dev->drv->GraphInstantiateWithFlags(&exec->handle, graph->handle, 0);
		st = device_ok(dev, code, "cuGraphInstantiateWithFlags", err);
		CUgraph copy = NULL;
		if (!st && !(st = exec_clone(&copy, graph, err))) {
			exec_take_copy(exec, copy, graph);
		}
	}
	if (!st && (!exec || !uses_copy(&exec->uses, &graph->uses)
			|| !graph_exec_copy_nodes(exec, &graph->nodes))) {
		st = error_no_memory(err);
	}
	device_leave(dev, &scope);
	if (st) {
		kz_exec_release(exec);
	} else {
		object_give(exec, dev);
		*out = exec;
	}
	return st;
}

/* Captures that launch a kz_exec keep it. */
static void graph_exec_retain(void *exec)
{
	atomic_fetch_add(&((struct kz_exec *)exec)->refs, 1);
}

static void graph_exec_drop(void *exec)
{
	graph_exec_release(exec);
}

static const struct use_kind exec_kind = {graph_exec_retain, graph_exec_drop, false};

kz_status kz_exec_launch(kz_exec *exec, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = object_check(exec, OBJECT_EXEC, err))
	    || (st = stream_pick(&stream, exec->device, stream, err))
	    || (st = device_enter(exec->device, &scope, err))) {
		return st;
	}
	const struct uses *uses = &exec->uses;
	struct capture *capture = stream_capture(stream);
	if (capture) {
		st = capture_keep(capture, exec, &exec_kind, err);
	}
	for (size_t i = 0; !st && i < uses->count; i++) {
		st = uses->items[i].kind->is_memory
			? memory_use(uses->items[i].object, stream, err) : KZ_OK;
	}
	st = st ? st : capture ? exec_capture(exec, stream, err) : device_ok(exec->device,
		exec->device->drv->GraphLaunch(exec->handle, stream->handle),
		"cuGraphLaunch", err);
	for (size_t i = 0; !st && i < uses->count; i++) {
		st = uses->items[i].kind->is_memory
			? memory_used(uses->items[i].object, stream, err) : KZ_OK;
	}
	device_leave(exec->device, &scope);
	return st;
}
