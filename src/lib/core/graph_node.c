/* SPDX-License-Identifier: MIT */
/*
 * Nodes that the program adds to a graph one by one, but for kernels: copies, fills, calls of host
 * functions, other graphs, memory, conditional nodes with their bodies.
 *
 * Each is described to the driver and recorded with its name and its memory (graph_take_node).
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/graph.h"

#include <string.h>

/* A node on its way into a graph: what the caller asks for, then what node_adding_begin makes. */
struct adding {
	kz_node **out; /* may be NULL */
	struct kz_graph *graph;
	kz_nodes nodes; /* that it comes after */
	struct kz_node *node;
	CUgraphNode *after;
	struct device_scope scope;
};

/* Make a record and enter the context; node_adding_end leaves it. */
static kz_status node_adding_begin(struct adding *adding, CUgraphNodeType type, const char *name,
	kz_error *err)
{
	if (adding->out) {
		*adding->out = NULL;
	}
	adding->node = node_create(type, name, 2);
	adding->after = graph_handles(adding->nodes);
	kz_status st = adding->node && adding->after
		? device_enter(adding->graph->device, &adding->scope, err)
		: error_no_memory(err);
	if (st) {
		node_free(adding->node);
		mem_free(adding->after);
	}
	return st;
}

static void node_adding_use(struct adding *adding, struct memory *memory)
{
	adding->node->used[adding->node->used_count++] = memory;
}

/* With what the driver answered. */
static kz_status node_adding_end(struct adding *adding, CUresult code, const char *call,
	kz_error *err)
{
	struct kz_device *dev = adding->graph->device;
	kz_status st = device_ok(dev, code, call, err);
	device_leave(dev, &adding->scope);
	mem_free(adding->after);
	if (st) {
		node_free(adding->node);
		return st;
	}
	return graph_take_node(adding->out, adding->graph, adding->node, err);
}

static kz_status graph_check_buffer(const struct kz_graph *graph, const struct kz_buffer *buffer,
	int64_t offset, int64_t size, kz_error *err)
{
	kz_status st = buffer_check(buffer, offset, size, err);
	return st ? st : graph_check_memory(graph, buffer->memory, err);
}

/* Copies */

/* One end of a copy: a buffer, or host memory. */
struct place {
	struct kz_buffer *buffer;
	int64_t offset;
	void *host;
};

static bool graph_is_pinned(const struct kz_graph *graph, const void *host)
{
	struct device_scope scope;
	CUmemorytype type = (CUmemorytype)0;
	CUresult code = CUDA_ERROR_INVALID_VALUE;
	if (device_enter_quietly(graph->device, &scope)) {
		code = graph->device->drv->PointerGetAttribute(&type,
			CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)host);
		device_leave(graph->device, &scope);
	}
	return code == CUDA_SUCCESS;
}

static kz_status graph_check_place(const struct kz_graph *graph, const struct place *place,
	int64_t size, kz_error *err)
{
	if (place->buffer) {
		return graph_check_buffer(graph, place->buffer, place->offset, size, err);
	}
	if (size < 0 || !place->host) {
		return error_set(err, KZ_INVALID, "expected %lld bytes of host memory, got %s",
			(long long)size, place->host ? "a negative size" : "NULL");
	}
	/* CUDA programming guide, "Conditional nodes".  Drivers refuse the whole graph, and not the
	 * node. */
	return graph->root == graph || graph_is_pinned(graph, place->host) ? KZ_OK : error_set(err,
		KZ_INVALID,
		"the body of a conditional node copies host memory only if it is pinned");
}

static kz_status graph_add_copy(struct adding *adding, const struct place *to,
	const struct place *from, int64_t size, kz_error *err)
{
	struct kz_graph *graph = adding->graph;
	kz_status st;
	if ((st = graph_check_after(graph, adding->nodes, err))
	    || (st = graph_check_place(graph, to, size, err))
	    || (st = graph_check_place(graph, from, size, err))) {
		return st;
	}
	if (size == 0) {
		return error_set(err, KZ_INVALID, "a node cannot copy 0 bytes");
	}
	if ((st = node_adding_begin(adding, CU_GRAPH_NODE_TYPE_MEMCPY, "copy", err))) {
		return st;
	}
	CUDA_MEMCPY3D copy = {
		.srcMemoryType = from->buffer ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
		.dstMemoryType = to->buffer ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
		.srcHost = from->host, .dstHost = to->host,
		.WidthInBytes = (size_t)size, .Height = 1, .Depth = 1,
	};
	if (from->buffer) {
		copy.srcDevice = buffer_address(from->buffer) + (CUdeviceptr)from->offset;
		node_adding_use(adding, from->buffer->memory);
	}
	if (to->buffer) {
		copy.dstDevice = buffer_address(to->buffer) + (CUdeviceptr)to->offset;
		node_adding_use(adding, to->buffer->memory);
	}
	CUresult code = graph->device->drv->GraphAddMemcpyNode(&adding->node->handle, graph->handle,
		adding->after, adding->nodes.count, &copy, graph->device->context);
	return node_adding_end(adding, code, "cuGraphAddMemcpyNode", err);
}

kz_status kz_graph_add_dtod(kz_node **out, kz_graph *graph, kz_nodes after, kz_buffer *to,
	int64_t to_offset, kz_buffer *from, int64_t from_offset, int64_t size, kz_error *err)
{
	error_scope(err);
	struct adding adding = {.out = out, .graph = graph, .nodes = after};
	const struct place target = {to, to_offset, NULL}, source = {from, from_offset, NULL};
	kz_status st;
	if ((st = object_check(to, OBJECT_BUFFER, err))
	    || (st = object_check(from, OBJECT_BUFFER, err))) {
		return st;
	}
	return graph_add_copy(&adding, &target, &source, size, err);
}

kz_status kz_graph_add_htod(kz_node **out, kz_graph *graph, kz_nodes after, kz_buffer *to,
	int64_t offset, const void *from, int64_t size, kz_error *err)
{
	error_scope(err);
	struct adding adding = {.out = out, .graph = graph, .nodes = after};
	const struct place target = {to, offset, NULL}, source = {NULL, 0, (void *)from};
	kz_status st = object_check(to, OBJECT_BUFFER, err);
	return st ? st : graph_add_copy(&adding, &target, &source, size, err);
}

kz_status kz_graph_add_dtoh(kz_node **out, kz_graph *graph, kz_nodes after, void *to, int64_t size,
	kz_buffer *from, int64_t offset, kz_error *err)
{
	error_scope(err);
	struct adding adding = {.out = out, .graph = graph, .nodes = after};
	const struct place target = {NULL, 0, to}, source = {from, offset, NULL};
	kz_status st = object_check(from, OBJECT_BUFFER, err);
	return st ? st : graph_add_copy(&adding, &target, &source, size, err);
}

/* Fills */

static kz_status graph_check_pattern(int64_t offset, int64_t size, const void *pattern,
	int64_t *pattern_size, kz_error *err)
{
	kz_status st = pointer_check(pattern, "a pattern", err);
	if (st) {
		return st;
	}
	if (*pattern_size == 8 && memcmp(pattern, (const char *)pattern + 4, 4) == 0) {
		*pattern_size = 4;
	}
	if (*pattern_size != 1 && *pattern_size != 2 && *pattern_size != 4) {
		return error_set(err, KZ_INVALID,
			"expected a pattern of 1, 2 or 4 bytes, or of 8 with equal "
			"halves, got %lld bytes",
			(long long)*pattern_size);
	}
	return size > 0 && offset % *pattern_size == 0 && size % *pattern_size == 0
		? KZ_OK
		: error_set(err, KZ_INVALID,
			"expected multiples of the pattern's %lld, and some bytes to "
			"fill, got offset %lld, size %lld",
			(long long)*pattern_size, (long long)offset, (long long)size);
}

kz_status kz_graph_add_fill(kz_node **out, kz_graph *graph, kz_nodes after, kz_buffer *buffer,
	int64_t offset, int64_t size, const void *pattern, int64_t pattern_size, kz_error *err)
{
	error_scope(err);
	struct adding adding = {.out = out, .graph = graph, .nodes = after};
	uint32_t value = 0;
	kz_status st;
	if ((st = graph_check_after(graph, after, err))
	    || (st = graph_check_buffer(graph, buffer, offset, size, err))
	    || (st = graph_check_pattern(offset, size, pattern, &pattern_size, err))
	    || (st = node_adding_begin(&adding, CU_GRAPH_NODE_TYPE_MEMSET, "fill", err))) {
		return st;
	}
	memcpy(&value, pattern, (size_t)pattern_size); /* little-endian: the low bytes are the
	                                                  value */
	node_adding_use(&adding, buffer->memory);
	const CUDA_MEMSET_NODE_PARAMS fill = {
		.dst = buffer_address(buffer) + (CUdeviceptr)offset, .value = value,
		.elementSize = (unsigned)pattern_size, .width = (size_t)(size / pattern_size),
		.height = 1,
	};
	CUresult code = graph->device->drv->GraphAddMemsetNode(&adding.node->handle, graph->handle,
		adding.after, adding.nodes.count, &fill, graph->device->context);
	return node_adding_end(&adding, code, "cuGraphAddMemsetNode", err);
}

/* Host functions, graphs */

/* CUDA programming guide, "Conditional nodes": what their bodies can have.  Drivers find the others
 * at different times, or not at all. */
static bool graph_is_for_bodies(CUgraphNodeType type)
{
	switch (type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
	case CU_GRAPH_NODE_TYPE_MEMCPY:
	case CU_GRAPH_NODE_TYPE_MEMSET:
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_GRAPH:
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return true;
	default:
		return false;
	}
}

/* Whether all nodes of a graph, and of its child graphs, can be in the body of a conditional
 * node. */
static kz_status graph_check_for_body(struct kz_device *dev, CUgraph graph, kz_error *err)
{
	const struct drv *drv = dev->drv;
	size_t count = 0;
	kz_status st = device_ok(dev, drv->GraphGetNodes(graph, NULL, &count), "cuGraphGetNodes",
		err);
	CUgraphNode *nodes = st ? NULL : mem_zalloc(count + 1, sizeof(*nodes));
	if (st || !nodes) {
		return st ? st : error_no_memory(err);
	}
	if (count > 0) {
		st = device_ok(dev, drv->GraphGetNodes(graph, nodes, &count), "cuGraphGetNodes",
			err);
	}
	for (size_t i = 0; !st && i < count; i++) {
		CUgraphNodeType type;
		CUgraph child = NULL;
		st = device_ok(dev, drv->GraphNodeGetType(nodes[i], &type), "cuGraphNodeGetType",
			err);
		if (!st && !graph_is_for_bodies(type)) {
			st = error_set(err, KZ_INVALID, "the body of a conditional node cannot "
				"have this child: only kernels, copies, fills and graphs of these "
				"can be in it");
		}
		if (!st && type == CU_GRAPH_NODE_TYPE_GRAPH) {
			st = device_ok(dev, drv->GraphChildGraphNodeGetGraph(nodes[i], &child),
				"cuGraphChildGraphNodeGetGraph", err);
			st = st ? st : graph_check_for_body(dev, child, err);
		}
	}
	mem_free(nodes);
	return st;
}

kz_status kz_graph_add_host(kz_node **out, kz_graph *graph, kz_nodes after,
	void (*function)(void *user), void *user, kz_error *err)
{
	error_scope(err);
	struct adding adding = {.out = out, .graph = graph, .nodes = after};
	kz_status st;
	if ((st = graph_check_after(graph, after, err))) {
		return st;
	}
	if (!function || graph->root != graph) {
		return error_set(err, KZ_INVALID, !function ? "kz_graph_add_host: expected a "
			"function, got NULL"
			: "the body of a conditional node cannot call functions of the program");
	}
	if ((st = node_adding_begin(&adding, CU_GRAPH_NODE_TYPE_HOST, "host", err))) {
		return st;
	}
	const CUDA_HOST_NODE_PARAMS params = {function, user};
	CUresult code = graph->device->drv->GraphAddHostNode(&adding.node->handle, graph->handle,
		adding.after, adding.nodes.count, &params);
	return node_adding_end(&adding, code, "cuGraphAddHostNode", err);
}

kz_status kz_graph_add_child(kz_node **out, kz_graph *graph, kz_nodes after, kz_graph *child,
	kz_error *err)
{
	error_scope(err);
	struct adding adding = {.out = out, .graph = graph, .nodes = after};
	kz_status st;
	if ((st = graph_check_after(graph, after, err))
	    || (st = object_check(child, OBJECT_GRAPH, err))) {
		return st;
	}
	if (child->device != graph->device || child->root == graph->root) {
		return error_set(err, KZ_INVALID,
			"expected another graph of %s as the child, got one of %s",
			graph->device->name,
			child->root == graph->root ? "its own nodes" : child->device->name);
	}
	if (child->is_fixed) {
		return error_set(err, KZ_UNSUPPORTED,
			"a graph with nodes that allocate memory, or with "
			"conditional ones, cannot be a child");
	}
	if (graph->root != graph) {
		struct device_scope scope;
		if ((st = device_enter(graph->device, &scope, err))) {
			return st;
		}
		st = graph_check_for_body(graph->device, child->handle, err);
		device_leave(graph->device, &scope);
		if (st) {
			return st;
		}
	}
	/* What the child uses is used from here on, even if the driver refuses the node. */
	if (!uses_join(&graph->root->uses, &child->root->uses)) {
		return error_no_memory(err);
	}
	if ((st = node_adding_begin(&adding, CU_GRAPH_NODE_TYPE_GRAPH, "child", err))) {
		return st;
	}
	CUresult code = graph->device->drv->GraphAddChildGraphNode(&adding.node->handle,
		graph->handle, adding.after, adding.nodes.count, child->handle);
	return node_adding_end(&adding, code, "cuGraphAddChildGraphNode", err);
}

/* Memory */

/* A buffer over an address that is memory while the graph runs. */
static kz_status graph_make_buffer(kz_buffer **out, struct kz_graph *graph, CUdeviceptr address,
	int64_t size, kz_error *err)
{
	struct memory *memory;
	kz_status st = memory_borrow(&memory, graph->device, address, size, NULL, err);
	if (!st) {
		memory->graph = graph->root;
		if ((st = buffer_take(out, memory, 0, size, err))) {
			memory_release(memory);
		}
	}
	return buffer_hold(out, st);
}

kz_status kz_graph_add_alloc(kz_node **out, kz_buffer **buffer, kz_graph *graph, kz_nodes after,
	int64_t size, kz_error *err)
{
	error_scope(err);
	struct adding adding = {.out = out, .graph = graph, .nodes = after};
	kz_status st;
	if ((st = out_check(buffer, sizeof(*buffer), __func__, err))
	    || (st = graph_check_after(graph, after, err))) {
		return st;
	}
	if (size < 1 || graph->root != graph) {
		return error_set(err, KZ_INVALID,
			size < 1 ? "expected 1 byte or more to allocate, got %lld"
				 : "the body of a conditional node cannot allocate %lld bytes",
			(long long)size);
	}
	if ((st = node_adding_begin(&adding, CU_GRAPH_NODE_TYPE_MEM_ALLOC, "alloc", err))) {
		return st;
	}
	CUDA_MEM_ALLOC_NODE_PARAMS params = {
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = {CU_MEM_LOCATION_TYPE_DEVICE, graph->device->ordinal}},
		.bytesize = (size_t)size,
	};
	CUresult code = graph->device->drv->GraphAddMemAllocNode(
		&adding.node->handle, graph->handle, adding.after, adding.nodes.count, &params);
	st = node_adding_end(&adding, code, "cuGraphAddMemAllocNode", err);
	if (!st) {
		graph->is_fixed = true;
		graph->unfreed++;
		st = graph_make_buffer(buffer, graph, params.dptr, size, err);
	}
	return st;
}

kz_status kz_graph_add_free(kz_node **out, kz_graph *graph, kz_nodes after, kz_buffer *buffer,
	kz_error *err)
{
	error_scope(err);
	struct adding adding = {.out = out, .graph = graph, .nodes = after};
	kz_status st;
	if ((st = graph_check_after(graph, after, err))
	    || (st = object_check(buffer, OBJECT_BUFFER, err))) {
		return st;
	}
	if (buffer->memory->graph != graph) {
		return error_set(
			err, KZ_INVALID, "expected a buffer of kz_graph_add_alloc in this graph");
	}
	if ((st = node_adding_begin(&adding, CU_GRAPH_NODE_TYPE_MEM_FREE, "free", err))) {
		return st;
	}
	CUresult code = graph->device->drv->GraphAddMemFreeNode(&adding.node->handle, graph->handle,
		adding.after, adding.nodes.count, buffer->memory->address);
	st = node_adding_end(&adding, code, "cuGraphAddMemFreeNode", err);
	graph->unfreed -= !st;
	return st;
}

/* Conditions.  The driver makes the bodies. */

kz_status kz_graph_condition(uint64_t *out, kz_graph *graph, uint32_t initial, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(graph, OBJECT_GRAPH, err))
	    || (st = device_enter(graph->device, &scope, err))) {
		return st;
	}
	struct kz_device *dev = graph->device;
	struct kz_graph *root = graph->root;
	CUgraphConditionalHandle handle = 0;
	struct condition *grown = mem_realloc(root->conditions,
		(root->condition_count + 1) * sizeof(*grown));
	root->conditions = grown ? grown : root->conditions;
	st = !grown ? error_no_memory(err) : device_ok(dev,
		dev->drv->GraphConditionalHandleCreate(&handle, root->handle, dev->context,
			initial, CU_GRAPH_COND_ASSIGN_DEFAULT),
		"cuGraphConditionalHandleCreate", err);
	if (!st) {
		root->conditions[root->condition_count++] = (struct condition){handle, NULL};
	}
	device_leave(dev, &scope);
	*out = st ? 0 : handle;
	return st;
}

/* The condition of a graph that no node has yet; NULL: KZ_INVALID, as the error says. */
static struct condition *graph_find_condition(const struct kz_graph *root, uint64_t handle,
	kz_error *err)
{
	for (size_t i = 0; i < root->condition_count; i++) {
		struct condition *condition = &root->conditions[i];
		if (condition->handle == handle && condition->node) {
			error_set(err, KZ_INVALID, "expected a condition that no other node uses, "
				"got the condition of '%s'",
				condition->node->name);
			return NULL;
		}
		if (condition->handle == handle) {
			return condition;
		}
	}
	error_set(err, KZ_INVALID, "expected a condition that kz_graph_condition has made for this "
		"graph, got 0x%llx", (unsigned long long)handle);
	return NULL;
}

/* A graph for a body, that goes before `next`; NULL when memory runs out. */
static struct kz_graph *graph_make_body(struct kz_graph *graph, CUgraph handle,
	struct kz_graph *next)
{
	struct kz_graph *body = mem_zalloc(1, sizeof(*body));
	if (body) {
		body->tag = OBJECT_GRAPH;
		atomic_init(&body->refs, 1);
		body->device = device_retain(graph->device);
		body->handle = handle;
		body->root = graph->root;
		body->next = next;
		body->nodes.last = &body->nodes.first;
	}
	return body;
}

/* A node with a condition, and what it is called in its graph. */
struct conditional {
	uint64_t condition;
	CUgraphConditionalNodeType type;
	const char *name;
	unsigned count; /* of bodies */
};

static kz_status graph_add_conditional(struct kz_graph **bodies, struct adding *adding,
	const struct conditional *what, kz_error *err)
{
	struct kz_graph *graph = adding->graph;
	kz_status st;
	if ((st = graph_check_after(graph, adding->nodes, err))) {
		return st;
	}
	struct condition *taken = graph_find_condition(graph->root, what->condition, err);
	if (!taken) {
		return KZ_INVALID;
	}
	if ((st = node_adding_begin(adding, CU_GRAPH_NODE_TYPE_CONDITIONAL, what->name, err))) {
		return st;
	}
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL, .conditional = {
		.handle = what->condition, .type = what->type, .size = what->count,
		.ctx = graph->device->context}};
	struct kz_node *node = adding->node;
	CUresult code = graph->device->drv->GraphAddNode(&node->handle, graph->handle,
		adding->after, NULL, adding->nodes.count, &params);
	if ((st = node_adding_end(adding, code, "cuGraphAddNode", err))) {
		return st;
	}
	graph->root->is_fixed = true;
	taken->node = node;
	for (unsigned i = what->count; i-- > 0;) {
		bodies[i] = graph_make_body(graph, params.conditional.phGraph_out[i], node->bodies);
		if (!bodies[i]) {
			return error_no_memory(err);
		}
		node->bodies = bodies[i];
	}
	return KZ_OK;
}

kz_status kz_graph_add_if(kz_node **out, kz_graph **then, kz_graph **otherwise, kz_graph *graph,
	kz_nodes after, uint64_t condition, kz_error *err)
{
	error_scope(err);
	struct adding adding = {.out = out, .graph = graph, .nodes = after};
	const struct conditional what = {condition, CU_GRAPH_COND_TYPE_IF, "if", otherwise ? 2 : 1};
	struct kz_graph *bodies[2] = {NULL, NULL};
	kz_status st = out_check(then, sizeof(*then), __func__, err);
	out_clear(otherwise, sizeof(*otherwise), __func__);
	st = st ? st : graph_add_conditional(bodies, &adding, &what, err);
	if (!st) {
		*then = bodies[0];
	}
	if (!st && otherwise) {
		*otherwise = bodies[1];
	}
	return st;
}

kz_status kz_graph_add_while(kz_node **out, kz_graph **body, kz_graph *graph, kz_nodes after,
	uint64_t condition, kz_error *err)
{
	error_scope(err);
	struct adding adding = {.out = out, .graph = graph, .nodes = after};
	const struct conditional what = {condition, CU_GRAPH_COND_TYPE_WHILE, "while", 1};
	kz_status st = out_check(body, sizeof(*body), __func__, err);
	return st ? st : graph_add_conditional(body, &adding, &what, err);
}

kz_status kz_graph_add_switch(kz_node **out, kz_graph **bodies, int64_t count, kz_graph *graph,
	kz_nodes after, uint64_t condition, kz_error *err)
{
	error_scope(err);
	if (count < 1 || count > 1 << 16) {
		return error_set(err, KZ_INVALID,
			"expected 1 to 65536 bodies of a switch, got %lld", (long long)count);
	}
	struct adding adding = {.out = out, .graph = graph, .nodes = after};
	const struct conditional what = {condition, CU_GRAPH_COND_TYPE_SWITCH, "switch",
		(unsigned)count};
	kz_status st = out_check(bodies, (size_t)count * sizeof(*bodies), __func__, err);
	return st ? st : graph_add_conditional(bodies, &adding, &what, err);
}
