/* SPDX-License-Identifier: MIT */
/*
 * Nodes of graphs: how they are added, and their parameters.  Each function for one kind of node
 * puts the parameters into the union of all kinds, or takes them out, and calls the general
 * function.
 */
#include "base/common.h"

#include "cpu/stream/cu_graph_node.h"

#include "cpu/abi/api_graph.h"

#include <string.h>

/* --- Adding --- */

/* Make the child graph of a node: a copy, or the graph itself if it is moved. */
static CUresult node_make_child(const char *call, const struct graph *graph,
	const CUDA_CHILD_GRAPH_NODE_PARAMS *p, struct graph **out)
{
	struct graph *child;
	CUresult result = graph_find(call, p->graph, &child);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	bool is_move = p->ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
	if ((unsigned)p->ownership > CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE
	    || (is_move && (child->parent || child->is_captured_into
			|| graph_root((struct graph *)graph) == child))) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the graph cannot be moved", call);
	}
	if (!is_move && child->has_memory) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: a child graph that allocates or frees memory must be moved", call);
	}
	if (!is_move && child->has_conditions) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: a child graph with conditional nodes must be moved", call);
	}
	*out = is_move ? child : graph_clone(child, true);
	return *out ? CUDA_SUCCESS
		: api_no_memory(call);
}

/* The lock is held.  *data is taken. */
static CUresult node_add_child(const char *call, struct graph *graph, struct node_data *data,
	const struct dependencies *from, struct graph_node **out)
{
	const CUDA_CHILD_GRAPH_NODE_PARAMS p = data->params.graph;
	struct graph *child;
	CUresult result = node_make_child(call, graph, &p, &child);
	if (result != CUDA_SUCCESS) {
		node_data_release(data);
		return result;
	}
	data->params.graph.graph = child->handle;
	result = node_add(call, graph, data, child, from, out);
	if (result != CUDA_SUCCESS) {
		child->parent = NULL;
		if (p.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE) {
			graph_release(child);
		}
	}
	return result;
}

/* A graph with a child graph node for each body; NULL when memory runs out. */
static struct graph *node_make_bodies(struct node_data *data)
{
	struct graph *holder = graph_create(true);
	bool ok = holder;
	for (unsigned i = 0; ok && i < data->params.conditional.size; i++) {
		struct graph *body = graph_create(true);
		struct node_data *inner = node_data_create(0);
		ok = body && inner && graph_add(holder, inner, body);
		if (!ok) {
			graph_release(body);
			node_data_release(inner);
			break;
		}
		inner->params.type = CU_GRAPH_NODE_TYPE_GRAPH;
		inner->params.graph.graph = body->handle;
		inner->work.kind = WORK_EMPTY;
		data->params.conditional.phGraph_out[i] = body->handle;
	}
	if (!ok) {
		graph_release(holder);
	}
	return ok ? holder : NULL;
}

/* A condition is for one node of the graph that it was made for, or of a graph in that one. */
static CUresult node_check_handle(const char *call, const struct graph *graph,
	const struct condition *condition)
{
	const struct condition *own = NULL;
	for (; graph && !own; graph = graph->parent ? graph->parent->graph : NULL) {
		own = graph->conditions;
		while (own && own != condition) {
			own = own->next;
		}
	}
	return !own ? api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the condition is of another graph",
			call)
		: own->is_taken ? api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: another node has this condition", call)
		: CUDA_SUCCESS;
}

/* The lock is held.  *data is taken. */
static CUresult node_add_condition(const char *call, struct graph *graph, struct node_data *data,
	const struct dependencies *from, struct graph_node **out)
{
	CUresult result = node_check_handle(call, graph, data->condition);
	struct graph *holder = result == CUDA_SUCCESS ? node_make_bodies(data) : NULL;
	if (!holder) {
		node_data_release(data);
		return result != CUDA_SUCCESS ? result : api_no_memory(call);
	}
	result = node_add(call, graph, data, holder, from, out);
	if (result == CUDA_SUCCESS) {
		data->condition->is_taken = true;
	} else {
		holder->parent = NULL;
		graph_hide(holder);
		graph_release(holder);
	}
	return result;
}

static CUresult node_add_params(const char *call, CUgraphNode *out, CUgraph handle,
	const struct dependencies *from, CUgraphNodeParams *params)
{
	struct node_data *data;
	struct graph *graph;
	struct graph_node *node;
	CUresult result = api_need(params_given(call, params), call, out);
	if (result == CUDA_SUCCESS && from->count > 0 && !from->nodes) {
		return api_null(call, "the list of dependencies");
	}
	if (result == CUDA_SUCCESS) {
		result = node_make(call, params, NULL, &data);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	graph_lock();
	result = graph_find(call, handle, &graph);
	if (result != CUDA_SUCCESS) {
		node_data_release(data);
	} else if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) {
		result = node_add_child(call, graph, data, from, &node);
	} else if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
		result = node_add_condition(call, graph, data, from, &node);
		if (result == CUDA_SUCCESS) {
			params->conditional.phGraph_out = data->params.conditional.phGraph_out;
		}
	} else {
		result = node_add(call, graph, data, NULL, from, &node);
	}
	if (result == CUDA_SUCCESS) {
		*out = node->handle;
	}
	graph_unlock();
	return result;
}

static CUresult node_check_params(const char *call, const CUgraphNodeParams *params)
{
	CUresult result = params_given(call, params);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	bool ok = params->reserved2 == 0;
	for (size_t i = 0; i < countof(params->reserved0); i++) {
		ok = ok && params->reserved0[i] == 0;
	}
	return ok ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: reserved bytes of the parameters are not 0", call);
}

API(cuGraphAddNode_v2, CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *params)
{
	const struct dependencies from = {nodes, data, count};
	CUresult result = node_check_params(__func__, params);
	return result == CUDA_SUCCESS ? node_add_params(__func__, out, graph, &from, params)
		: result;
}

API(cuGraphAddNode, CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes, size_t count,
	CUgraphNodeParams *params)
{
	return cuGraphAddNode_v2(out, graph, nodes, NULL, count, params);
}

/* The third version looks at the context of a kernel, too. */
static CUresult node_check_kernel(const char *call, const CUgraphNodeParams *params)
{
	const CUDA_KERNEL_NODE_PARAMS *p = &params->kernel;
	const struct function *function = params->type == CU_GRAPH_NODE_TYPE_KERNEL && p->ctx
		? handle_get(p->func, API_FUNCTION) : NULL;
	return !function || function->module->object.context->handle == p->ctx ? CUDA_SUCCESS
		: api_fail(CUDA_ERROR_INVALID_CONTEXT, "%s: kernel '%s' is of another context",
			call, function->name);
}

API(cuGraphAddNode_v3, CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *params)
{
	const struct dependencies from = {nodes, data, count};
	CUresult result = node_check_params(__func__, params);
	if (result == CUDA_SUCCESS) {
		result = node_check_kernel(__func__, params);
	}
	return result == CUDA_SUCCESS ? node_add_params(__func__, out, graph, &from, params)
		: result;
}

/* --- Parameters --- */

/* Copy `size` bytes of the parameters of a node, which must be of this type. */
static CUresult node_get_params(const char *call, CUgraphNode handle, CUgraphNodeType type,
	size_t offset, size_t size, void *out)
{
	struct graph_node *node;
	CUresult result = api_need(api_ready(call), call, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	graph_lock();
	result = node_find(call, handle, &node);
	if (result == CUDA_SUCCESS && node->data->params.type != type) {
		result = api_fail(CUDA_ERROR_INVALID_VALUE, "%s: a node of type %d, not %d", call,
			(int)node->data->params.type, (int)type);
	} else if (result == CUDA_SUCCESS) {
		// Copies of a node share its data, but each has its own child.
		CUgraphNodeParams params = node->data->params;
		if (node->child && type == CU_GRAPH_NODE_TYPE_GRAPH) {
			params.graph.graph = node->child->handle;
		}
		memcpy(out, (const uint8_t *)&params + offset, size);
	}
	graph_unlock();
	return result;
}

/* Give a child graph node another child.  The lock is held, and *data is taken. */
static CUresult node_set_child(const char *call, struct graph_node *node, struct node_data *data,
	struct graph **old)
{
	struct graph *child;
	CUresult result = graph_is_captured(node->child) ? api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: the child graph is being captured", call)
		: node_make_child(call, node->graph, &data->params.graph, &child);
	if (result != CUDA_SUCCESS) {
		node_data_release(data);
		return result;
	}
	*old = node->child;
	graph_hide(*old);
	child->parent = node;
	node->child = child;
	data->params.graph.graph = child->handle;
	if (child->has_memory) {
		graph_mark_memory(node->graph);
	}
	if (child->has_conditions) {
		graph_mark_conditions(node->graph);
	}
	node_data_release(node->data);
	node->data = data;
	return CUDA_SUCCESS;
}

/* Get a reference to the data of a node, which must be of this type. */
static CUresult node_get_data(const char *call, CUgraphNode handle, CUgraphNodeType type,
	struct node_data **out)
{
	struct graph_node *node;
	CUresult result = api_ready(call);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	graph_lock();
	result = node_find(call, handle, &node);
	if (result == CUDA_SUCCESS && node->data->params.type != type) {
		result = api_fail(CUDA_ERROR_INVALID_VALUE, "%s: a node of type %d, not %d", call,
			(int)node->data->params.type, (int)type);
	} else if (result == CUDA_SUCCESS) {
		*out = node_data_retain(node->data);
	}
	graph_unlock();
	return result;
}

/* *data is taken. */
static CUresult node_replace_data(const char *call, CUgraphNode handle, struct node_data *data)
{
	struct graph_node *node;
	struct graph *child = NULL;
	graph_lock();
	CUresult result = node_find(call, handle, &node);
	if (result != CUDA_SUCCESS) {
		node_data_release(data);
	} else if (node->child) {
		result = node_set_child(call, node, data, &child);
	} else {
		node_data_release(node->data);
		node->data = data;
	}
	graph_unlock();
	graph_release(child);
	return result;
}

static CUresult node_set_params(const char *call, CUgraphNode handle, CUgraphNodeParams *params)
{
	struct node_data *old;
	struct node_data *data;
	CUresult result = params_given(call, params);
	if (result == CUDA_SUCCESS) {
		result = node_get_data(call, handle, params->type, &old);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (old->memory || old->condition) {
		result = api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: allocation, free and conditional nodes cannot be changed", call);
	} else {
		result = node_make(call, params, old, &data);
	}
	node_data_release(old);
	return result == CUDA_SUCCESS ? node_replace_data(call, handle, data) : result;
}

API(cuGraphNodeSetParams, CUgraphNode node, CUgraphNodeParams *params)
{
	CUresult result = node_check_params(__func__, params);
	return result == CUDA_SUCCESS ? node_set_params(__func__, node, params) : result;
}

API(cuGraphNodeSetParams_v2, CUgraphNode node, CUgraphNodeParams *params)
{
	CUresult result = node_check_params(__func__, params);
	if (result == CUDA_SUCCESS) {
		result = node_check_kernel(__func__, params);
	}
	return result == CUDA_SUCCESS ? node_set_params(__func__, node, params) : result;
}

/* Pointers lead into the node's own copy of what they point to. */
API(cuGraphNodeGetParams, CUgraphNode handle, CUgraphNodeParams *out)
{
	struct graph_node *node;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	graph_lock();
	result = node_find(__func__, handle, &node);
	if (result == CUDA_SUCCESS) {
		*out = node->data->params;
	}
	if (result == CUDA_SUCCESS && out->type == CU_GRAPH_NODE_TYPE_GRAPH) {
		out->graph.graph = node->child->handle;
		out->graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_INVALID;
	}
	graph_unlock();
	return result;
}

/* --- Node by node --- */

#define FIELD(field) offsetof(CUgraphNodeParams, field)

API(cuGraphAddKernelNode_v2, CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, const CUDA_KERNEL_NODE_PARAMS *p)
{
	const struct dependencies from = {nodes, NULL, count};
	CUgraphNodeParams params;
	return node_add_params(__func__, out, graph, &from, params_of_kernel(p, &params));
}

API(cuGraphAddKernelNode, CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes, size_t count,
	const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	const struct dependencies from = {nodes, NULL, count};
	CUgraphNodeParams params;
	return node_add_params(__func__, out, graph, &from, params_of_kernel_v1(p, &params));
}

API(cuGraphKernelNodeGetParams_v2, CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *out)
{
	return node_get_params(__func__, node, CU_GRAPH_NODE_TYPE_KERNEL, FIELD(kernel),
		sizeof(*out), out);
}

/* The parameters of the second version begin with the parameters of the first. */
API(cuGraphKernelNodeGetParams, CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *out)
{
	return node_get_params(__func__, node, CU_GRAPH_NODE_TYPE_KERNEL, FIELD(kernel),
		sizeof(*out), out);
}

API(cuGraphKernelNodeSetParams_v2, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
	CUgraphNodeParams params;
	return node_set_params(__func__, node, params_of_kernel(p, &params));
}

API(cuGraphKernelNodeSetParams, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUgraphNodeParams params;
	return node_set_params(__func__, node, params_of_kernel_v1(p, &params));
}

API(cuGraphAddMemcpyNode, CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes, size_t count,
	const CUDA_MEMCPY3D *p, CUcontext context)
{
	const struct dependencies from = {nodes, NULL, count};
	CUgraphNodeParams params;
	return node_add_params(__func__, out, graph, &from, params_of_copy(p, context, &params));
}

API(cuGraphMemcpyNodeGetParams, CUgraphNode node, CUDA_MEMCPY3D *out)
{
	return node_get_params(__func__, node, CU_GRAPH_NODE_TYPE_MEMCPY, FIELD(memcpy.copyParams),
		sizeof(*out), out);
}

API(cuGraphMemcpyNodeSetParams, CUgraphNode node, const CUDA_MEMCPY3D *p)
{
	CUgraphNodeParams params;
	CUDA_MEMCPY_NODE_PARAMS old;
	CUresult result = node_get_params(__func__, node, CU_GRAPH_NODE_TYPE_MEMCPY, FIELD(memcpy),
		sizeof(old), &old);
	return result != CUDA_SUCCESS ? result
		: node_set_params(__func__, node, params_of_copy(p, old.copyCtx, &params));
}

API(cuGraphAddMemsetNode, CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes, size_t count,
	const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
	const struct dependencies from = {nodes, NULL, count};
	CUgraphNodeParams params;
	return node_add_params(__func__, out, graph, &from, params_of_fill(p, context, &params));
}

API(cuGraphMemsetNodeGetParams, CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *out)
{
	return node_get_params(__func__, node, CU_GRAPH_NODE_TYPE_MEMSET, FIELD(memset),
		sizeof(*out), out);
}

API(cuGraphMemsetNodeSetParams, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p)
{
	CUgraphNodeParams params;
	CUDA_MEMSET_NODE_PARAMS_v2 old;
	CUresult result = node_get_params(__func__, node, CU_GRAPH_NODE_TYPE_MEMSET, FIELD(memset),
		sizeof(old), &old);
	return result != CUDA_SUCCESS ? result
		: node_set_params(__func__, node, params_of_fill(p, old.ctx, &params));
}

API(cuGraphAddHostNode, CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes, size_t count,
	const CUDA_HOST_NODE_PARAMS *p)
{
	const struct dependencies from = {nodes, NULL, count};
	CUgraphNodeParams params;
	return node_add_params(__func__, out, graph, &from, params_of_host(p, &params));
}

API(cuGraphHostNodeGetParams, CUgraphNode node, CUDA_HOST_NODE_PARAMS *out)
{
	return node_get_params(__func__, node, CU_GRAPH_NODE_TYPE_HOST, FIELD(host), sizeof(*out),
		out);
}

API(cuGraphHostNodeSetParams, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p)
{
	CUgraphNodeParams params;
	return node_set_params(__func__, node, params_of_host(p, &params));
}

API(cuGraphAddChildGraphNode, CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, CUgraph child)
{
	const struct dependencies from = {nodes, NULL, count};
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = {.graph = child}};
	return node_add_params(__func__, out, graph, &from, &params);
}

API(cuGraphChildGraphNodeGetGraph, CUgraphNode node, CUgraph *out)
{
	return node_get_params(__func__, node, CU_GRAPH_NODE_TYPE_GRAPH, FIELD(graph.graph),
		sizeof(*out), out);
}

API(cuGraphAddEmptyNode, CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes, size_t count)
{
	const struct dependencies from = {nodes, NULL, count};
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
	return node_add_params(__func__, out, graph, &from, &params);
}

static CUresult node_add_event(const char *call, CUgraphNode *out, CUgraph graph,
	const struct dependencies *from, CUgraphNodeType type, CUevent event)
{
	CUgraphNodeParams params = {.type = type, .eventWait = {event}};
	return node_add_params(call, out, graph, from, &params);
}

API(cuGraphAddEventRecordNode, CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, CUevent event)
{
	const struct dependencies from = {nodes, NULL, count};
	return node_add_event(__func__, out, graph, &from, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

API(cuGraphAddEventWaitNode, CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, CUevent event)
{
	const struct dependencies from = {nodes, NULL, count};
	return node_add_event(__func__, out, graph, &from, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

API(cuGraphEventRecordNodeGetEvent, CUgraphNode node, CUevent *out)
{
	return node_get_params(__func__, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, FIELD(eventRecord),
		sizeof(*out), out);
}

API(cuGraphEventWaitNodeGetEvent, CUgraphNode node, CUevent *out)
{
	return node_get_params(__func__, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, FIELD(eventWait),
		sizeof(*out), out);
}

API(cuGraphEventRecordNodeSetEvent, CUgraphNode node, CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
		.eventRecord = {event}};
	return node_set_params(__func__, node, &params);
}

API(cuGraphEventWaitNodeSetEvent, CUgraphNode node, CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = {event}};
	return node_set_params(__func__, node, &params);
}

API(cuGraphAddBatchMemOpNode, CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	const struct dependencies from = {nodes, NULL, count};
	CUgraphNodeParams params;
	return node_add_params(__func__, out, graph, &from, params_of_values(p, &params));
}

API(cuGraphBatchMemOpNodeGetParams, CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *out)
{
	return node_get_params(__func__, node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, FIELD(memOp),
		sizeof(*out), out);
}

API(cuGraphBatchMemOpNodeSetParams, CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	CUgraphNodeParams params;
	return node_set_params(__func__, node, params_of_values(p, &params));
}

API(cuGraphAddMemAllocNode, CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	const struct dependencies from = {nodes, NULL, count};
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	CUresult result = params_given(__func__, p);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	params.alloc = *p;
	result = node_add_params(__func__, out, graph, &from, &params);
	p->dptr = result == CUDA_SUCCESS ? params.alloc.dptr : p->dptr;
	return result;
}

API(cuGraphMemAllocNodeGetParams, CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *out)
{
	return node_get_params(__func__, node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, FIELD(alloc),
		sizeof(*out), out);
}

API(cuGraphAddMemFreeNode, CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes, size_t count,
	CUdeviceptr address)
{
	const struct dependencies from = {nodes, NULL, count};
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = {address}};
	return node_add_params(__func__, out, graph, &from, &params);
}

API(cuGraphMemFreeNodeGetParams, CUgraphNode node, CUdeviceptr *out)
{
	return node_get_params(__func__, node, CU_GRAPH_NODE_TYPE_MEM_FREE, FIELD(free),
		sizeof(*out), out);
}

/* --- Attributes of kernels --- */

static bool node_is_attribute(CUkernelNodeAttrID id)
{
	const unsigned known = 1u << CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
		| 1u << CU_LAUNCH_ATTRIBUTE_COOPERATIVE
		| 1u << CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
		| 1u << CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
		| 1u << CU_LAUNCH_ATTRIBUTE_PRIORITY | 1u << CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP
		| 1u << CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN
		| 1u << CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION
		| 1u << CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
		| 1u << CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE
		| 1u << CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE;
	return (unsigned)id < NODE_ATTRIBUTES && (known >> id & 1);
}

static CUresult node_check_attribute(const char *call, CUkernelNodeAttrID id, const void *value)
{
	CUresult result = api_ready(call);
	return result != CUDA_SUCCESS || node_is_attribute(id) ? api_need(result, call, value)
		: api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: attribute %d is not an attribute of kernel nodes", call,
			(int)id);
}

API(cuGraphKernelNodeGetAttribute, CUgraphNode node, CUkernelNodeAttrID id,
	CUkernelNodeAttrValue *out)
{
	struct node_data *data;
	CUresult result = node_check_attribute(__func__, id, out);
	if (result == CUDA_SUCCESS) {
		result = node_get_data(__func__, node, CU_GRAPH_NODE_TYPE_KERNEL, &data);
	}
	if (result == CUDA_SUCCESS) {
		*out = data->attributes[id];
		node_data_release(data);
	}
	return result;
}

API(cuGraphKernelNodeSetAttribute, CUgraphNode node, CUkernelNodeAttrID id,
	const CUkernelNodeAttrValue *value)
{
	struct node_data *old;
	struct node_data *data;
	CUresult result = node_check_attribute(__func__, id, value);
	if (result == CUDA_SUCCESS) {
		result = node_get_data(__func__, node, CU_GRAPH_NODE_TYPE_KERNEL, &old);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	const CUlaunchAttribute attribute = {.id = id, .value = *value};
	result = node_make_attribute(__func__, old, &attribute, &data);
	node_data_release(old);
	return result == CUDA_SUCCESS ? node_replace_data(__func__, node, data) : result;
}

API(cuGraphKernelNodeCopyAttributes, CUgraphNode to, CUgraphNode from)
{
	struct node_data *source;
	CUresult result = node_get_data(__func__, from, CU_GRAPH_NODE_TYPE_KERNEL, &source);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	for (int id = 0; result == CUDA_SUCCESS && id < NODE_ATTRIBUTES; id++) {
		if (node_is_attribute(id)) {
			result = cuGraphKernelNodeSetAttribute(to, id, &source->attributes[id]);
		}
	}
	node_data_release(source);
	return result;
}
