/* SPDX-License-Identifier: MIT */
/* Graphs: nodes, edges, copies of graphs.  api_graph_node.c has what nodes do. */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "cpu/stream/cu_graph_node.h"

static const CUgraphEdgeData plain_edge;

static CUresult enter_graph(const char *call, CUgraph handle, struct graph **out)
{
	CUresult result = api_ready(call);
	if (result == CUDA_SUCCESS) {
		graph_lock();
		result = graph_find(call, handle, out);
		if (result != CUDA_SUCCESS) {
			graph_unlock();
		}
	}
	return result;
}

static CUresult graph_enter_node(const char *call, CUgraphNode handle, struct graph_node **out)
{
	CUresult result = api_ready(call);
	if (result == CUDA_SUCCESS) {
		graph_lock();
		result = node_find(call, handle, out);
		if (result != CUDA_SUCCESS) {
			graph_unlock();
		}
	}
	return result;
}

/* The same for calls that put their answer at `answer`. */
static CUresult enter_graph_for(const char *call, const void *answer, CUgraph handle,
	struct graph **out)
{
	CUresult result = api_need(api_ready(call), call, answer);
	return result != CUDA_SUCCESS ? result : enter_graph(call, handle, out);
}

static CUresult graph_enter_node_for(const char *call, const void *answer, CUgraphNode handle,
	struct graph_node **out)
{
	CUresult result = api_need(api_ready(call), call, answer);
	return result != CUDA_SUCCESS ? result : graph_enter_node(call, handle, out);
}

/* --- Graphs --- */

API(cuGraphCreate, CUgraph *out, unsigned int flags)
{
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS && flags != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__,
			flags);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	graph_lock();
	struct graph *graph = graph_create(true);
	*out = graph ? graph->handle : NULL;
	graph_unlock();
	return graph ? CUDA_SUCCESS
		: api_no_memory(__func__);
}

API(cuGraphConditionalHandleCreate, CUgraphConditionalHandle *out, CUgraph handle,
	CUcontext context, unsigned int initial, unsigned int flags)
{
	struct context *found;
	struct graph *graph;
	CUresult result = api_need(context_find(__func__, context, &found), __func__, out);
	if (result == CUDA_SUCCESS && flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__,
			flags);
	}
	if (result == CUDA_SUCCESS) {
		result = enter_graph(__func__, handle, &graph);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct condition *condition = condition_create(initial, flags);
	if (condition) {
		condition->next = graph->conditions;
		graph->conditions = condition;
		*out = (uintptr_t)condition->handle;
	}
	graph_unlock();
	return condition ? CUDA_SUCCESS : api_no_memory(__func__);
}

API(cuGraphDestroy, CUgraph handle)
{
	struct graph *graph;
	CUresult result = enter_graph(__func__, handle, &graph);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	bool is_free = !graph->parent && !graph_is_captured(graph);
	if (is_free) {
		graph_hide(graph);
	}
	graph_unlock();
	if (!is_free) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: the graph belongs to a node, or is being captured", __func__);
	}
	graph_release(graph);
	return CUDA_SUCCESS;
}

API(cuGraphClone, CUgraph *out, CUgraph handle)
{
	struct graph *graph;
	CUresult result = enter_graph_for(__func__, out, handle, &graph);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	bool has_memory = graph->has_memory || graph->has_conditions;
	struct graph *clone = has_memory ? NULL : graph_clone(graph, true);
	*out = clone ? clone->handle : NULL;
	graph_unlock();
	if (has_memory) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: graphs that allocate or free memory, or with conditional nodes, "
			"cannot be cloned", __func__);
	}
	return clone ? CUDA_SUCCESS
		: api_no_memory(__func__);
}

API(cuGraphNodeFindInClone, CUgraphNode *out, CUgraphNode origin, CUgraph handle)
{
	struct graph *clone;
	struct graph_node *node;
	CUresult result = enter_graph_for(__func__, out, handle, &clone);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct graph_node *copy = NULL;
	result = node_find(__func__, origin, &node);
	if (result == CUDA_SUCCESS && clone->origin && !graph_find_copy(&copy, clone, origin)) {
		graph_unlock();
		return api_no_memory(__func__);
	}
	if (result == CUDA_SUCCESS) {
		*out = copy ? copy->handle : NULL;
	}
	graph_unlock();
	return result == CUDA_SUCCESS && !copy ? api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: the graph is not a clone with a copy of the node", __func__) : result;
}

/* --- Numbers --- */

API(cuGraphGetId, CUgraph handle, unsigned int *out)
{
	struct graph *graph;
	CUresult result = enter_graph_for(__func__, out, handle, &graph);
	if (result == CUDA_SUCCESS) {
		*out = graph->id;
		graph_unlock();
	}
	return result;
}

API(cuGraphNodeGetLocalId, CUgraphNode handle, unsigned int *out)
{
	struct graph_node *node;
	CUresult result = graph_enter_node_for(__func__, out, handle, &node);
	if (result == CUDA_SUCCESS) {
		*out = node->id;
		graph_unlock();
	}
	return result;
}

API(cuGraphNodeGetToolsId, CUgraphNode handle, unsigned long long *out)
{
	struct graph_node *node;
	CUresult result = graph_enter_node_for(__func__, out, handle, &node);
	if (result == CUDA_SUCCESS) {
		*out = (unsigned long long)node->graph->id << 32 | node->id;
		graph_unlock();
	}
	return result;
}

API(cuGraphNodeGetContainingGraph, CUgraphNode handle, CUgraph *out)
{
	struct graph_node *node;
	CUresult result = graph_enter_node_for(__func__, out, handle, &node);
	if (result == CUDA_SUCCESS) {
		*out = node->graph->handle;
		graph_unlock();
	}
	return result;
}

/* --- Nodes --- */

/* A list that is written to an array of `room` entries.  NULL: the entries are only counted. */
struct handle_list {
	CUgraphNode *nodes;
	CUgraphNode *others;      /* the other ends of edges, or NULL */
	CUgraphEdgeData *data;
	size_t room;
	size_t count;
	bool is_lossy;            /* an edge has data, and there is no place for it */
};

static void graph_list_put(struct handle_list *list, CUgraphNode node, CUgraphNode other,
	const CUgraphEdgeData *data)
{
	static const CUgraphEdgeData none;
	size_t at = list->count++;
	if (!list->nodes || at >= list->room) {
		return;
	}
	list->nodes[at] = node;
	if (list->others) {
		list->others[at] = other;
	}
	if (list->data) {
		list->data[at] = *data;
	} else {
		list->is_lossy |= data->from_port != none.from_port || data->type != none.type;
	}
}

/* End a list: the entries that are left become NULL, and *count is the length of the list. */
static CUresult graph_end_list(const char *call, const struct handle_list *list, size_t *count)
{
	if (list->is_lossy) {
		return api_fail(CUDA_ERROR_LOSSY_QUERY, "%s: edges have data", call);
	}
	for (size_t i = list->count; list->nodes && i < list->room; i++) {
		list->nodes[i] = NULL;
		if (list->others) {
			list->others[i] = NULL;
		}
	}
	*count = list->nodes && list->count > list->room ? list->room : list->count;
	return CUDA_SUCCESS;
}

static CUresult graph_get_nodes(const char *call, CUgraph handle, CUgraphNode *nodes, size_t *count,
	bool roots_only)
{
	struct graph *graph;
	CUresult result = api_need(api_ready(call), call, count);
	if (result == CUDA_SUCCESS) {
		result = enter_graph(call, handle, &graph);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct handle_list list = {.nodes = nodes, .room = *count};
	for (const struct graph_node *node = graph->first; node; node = node->next) {
		if (!roots_only || node->from.count == 0) {
			graph_list_put(&list, node->handle, NULL, &plain_edge);
		}
	}
	graph_unlock();
	return graph_end_list(call, &list, count);
}

API(cuGraphGetNodes, CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	return graph_get_nodes(__func__, graph, nodes, count, false);
}

API(cuGraphGetRootNodes, CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	return graph_get_nodes(__func__, graph, nodes, count, true);
}

API(cuGraphNodeGetType, CUgraphNode handle, CUgraphNodeType *out)
{
	struct graph_node *node;
	CUresult result = graph_enter_node_for(__func__, out, handle, &node);
	if (result == CUDA_SUCCESS) {
		*out = node->data->params.type;
		graph_unlock();
	}
	return result;
}

API(cuGraphDestroyNode, CUgraphNode handle)
{
	struct graph_node *node;
	CUresult result = graph_enter_node(__func__, handle, &node);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct graph *child = NULL;
	bool is_free = !node->graph->has_memory && !node->graph->is_captured_into
		&& (!node->child || !graph_is_captured(node->child));
	if (is_free) {
		child = graph_remove(node);
	}
	graph_unlock();
	graph_release(child);
	return is_free ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: the graph allocates or frees memory, or is being captured", __func__);
}

/* --- Edges --- */

static CUresult graph_get_edges(const char *call, CUgraph handle, struct handle_list *list,
	size_t *count)
{
	struct graph *graph;
	CUresult result = api_need(api_ready(call), call, count);
	if (result == CUDA_SUCCESS && ((!list->nodes) != (!list->others)
			|| (list->data && !list->nodes))) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: some of the results are NULL", call);
	}
	if (result == CUDA_SUCCESS) {
		result = enter_graph(call, handle, &graph);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	list->room = *count;
	for (const struct graph_node *node = graph->first; node; node = node->next) {
		for (size_t i = 0; i < node->from.count; i++) {
			const struct edge *edge = &node->from.list[i];
			graph_list_put(list, edge->node->handle, node->handle, &edge->data);
		}
	}
	graph_unlock();
	return graph_end_list(call, list, count);
}

API(cuGraphGetEdges_v2, CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
	size_t *count)
{
	struct handle_list list = {.nodes = from, .others = to, .data = data};
	return graph_get_edges(__func__, graph, &list, count);
}

API(cuGraphGetEdges, CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	struct handle_list list = {.nodes = from, .others = to};
	return graph_get_edges(__func__, graph, &list, count);
}

static CUresult graph_get_neighbours(const char *call, CUgraphNode handle, struct handle_list *list,
	size_t *count, bool is_from)
{
	struct graph_node *node;
	CUresult result = api_need(api_ready(call), call, count);
	if (result == CUDA_SUCCESS && list->data && !list->nodes) {
		return api_null(call, "the list of nodes");
	}
	if (result == CUDA_SUCCESS) {
		result = graph_enter_node(call, handle, &node);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	const struct edges *edges = is_from ? &node->from : &node->to;
	list->room = *count;
	for (size_t i = 0; i < edges->count; i++) {
		graph_list_put(list, edges->list[i].node->handle, NULL, &edges->list[i].data);
	}
	graph_unlock();
	return graph_end_list(call, list, count);
}

API(cuGraphNodeGetDependencies_v2, CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *data,
	size_t *count)
{
	struct handle_list list = {.nodes = nodes, .data = data};
	return graph_get_neighbours(__func__, node, &list, count, true);
}

API(cuGraphNodeGetDependencies, CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
	struct handle_list list = {.nodes = nodes};
	return graph_get_neighbours(__func__, node, &list, count, true);
}

API(cuGraphNodeGetDependentNodes_v2, CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *data,
	size_t *count)
{
	struct handle_list list = {.nodes = nodes, .data = data};
	return graph_get_neighbours(__func__, node, &list, count, false);
}

API(cuGraphNodeGetDependentNodes, CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
	struct handle_list list = {.nodes = nodes};
	return graph_get_neighbours(__func__, node, &list, count, false);
}

/* Find both ends of an edge in a graph. */
static CUresult graph_find_ends(const char *call, const struct graph *graph, CUgraphNode from,
	CUgraphNode to, struct graph_node *ends[2])
{
	CUresult result = node_find(call, from, &ends[0]);
	if (result == CUDA_SUCCESS) {
		result = node_find(call, to, &ends[1]);
	}
	if (result == CUDA_SUCCESS && (ends[0]->graph != graph || ends[1]->graph != graph)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: a node of another graph", call);
	}
	return result;
}

static CUresult graph_add_edges(const char *call, CUgraph handle, const CUgraphNode *from,
	const CUgraphNode *to, const CUgraphEdgeData *data, size_t count)
{
	struct graph *graph;
	struct graph_node *ends[2];
	size_t added = 0;
	CUresult result = enter_graph(call, handle, &graph);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (count > 0 && (!from || !to)) {
		result = api_null(call, "a list of nodes");
	}
	for (; result == CUDA_SUCCESS && added < count; added++) {
		result = graph_find_ends(call, graph, from[added], to[added], ends);
		if (result == CUDA_SUCCESS) {
			result = node_depend(call, ends[0], ends[1],
				data ? &data[added] : &plain_edge);
		}
		if (result != CUDA_SUCCESS) {
			break;
		}
	}
	// All or nothing.
	while (result != CUDA_SUCCESS && added-- > 0) {
		graph_disconnect(handle_get(from[added], API_GRAPH_NODE),
			handle_get(to[added], API_GRAPH_NODE));
	}
	graph_unlock();
	return result;
}

API(cuGraphAddDependencies_v2, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
	const CUgraphEdgeData *data, size_t count)
{
	return graph_add_edges(__func__, graph, from, to, data, count);
}

API(cuGraphAddDependencies, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
	size_t count)
{
	return graph_add_edges(__func__, graph, from, to, NULL, count);
}

static CUresult graph_check_removal(const char *call, const struct graph *graph, CUgraphNode from,
	CUgraphNode to, const CUgraphEdgeData *data)
{
	struct graph_node *ends[2];
	CUresult result = graph_find_ends(call, graph, from, to, ends);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	const struct edge *edge = graph_edge(ends[0], ends[1]);
	return edge && edge->data.from_port == data->from_port
		&& edge->data.type == data->type ? CUDA_SUCCESS
		: api_fail(CUDA_ERROR_INVALID_VALUE, "%s: there is no such edge", call);
}

static CUresult graph_remove_edges(const char *call, CUgraph handle, const CUgraphNode *from,
	const CUgraphNode *to, const CUgraphEdgeData *data, size_t count)
{
	struct graph *graph;
	CUresult result = enter_graph(call, handle, &graph);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (count > 0 && (!from || !to)) {
		result = api_null(call, "a list of nodes");
	} else if (count > 0 && graph->has_memory) {
		result = api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: the graph allocates or frees memory", call);
	}
	for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
		result = graph_check_removal(call, graph, from[i], to[i],
			data ? &data[i] : &plain_edge);
		if (result == CUDA_SUCCESS) {
			graph_disconnect(handle_get(from[i], API_GRAPH_NODE),
				handle_get(to[i], API_GRAPH_NODE));
		}
	}
	graph_unlock();
	return result;
}

API(cuGraphRemoveDependencies_v2, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
	const CUgraphEdgeData *data, size_t count)
{
	return graph_remove_edges(__func__, graph, from, to, data, count);
}

API(cuGraphRemoveDependencies, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
	size_t count)
{
	return graph_remove_edges(__func__, graph, from, to, NULL, count);
}
