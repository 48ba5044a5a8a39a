/* SPDX-License-Identifier: MIT */
/*
 * Changes of executable graphs.  An executable graph has a copy of the graph that it was made from.
 * A change gives nodes of that copy new data.  Launches that are already in a stream keep the old
 * data.
 */
#include "base/common.h"

#include "cpu/stream/cu_graph_node.h"

#include "cpu/abi/api_graph.h"
#include "cpu/stream/graph_run.h"

/* --- Node by node --- */

/* Find an executable graph's copy of a node.  On success the lock is held. */
static CUresult update_enter_copy(const char *call, CUgraphExec handle, CUgraphNode origin,
	struct graph_exec **exec, struct graph_node **out)
{
	struct graph_node *node;
	CUresult result = graph_exec_enter(call, handle, exec);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	result = node_find(call, origin, &node);
	if (result == CUDA_SUCCESS && !(*out = graph_exec_find(*exec, origin))) {
		result = api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: the executable graph was not made with this node", call);
	}
	if (result != CUDA_SUCCESS) {
		graph_unlock();
	}
	return result;
}

static CUresult update_find_change(const char *call, const struct node_data *old,
	const struct node_data *data)
{
	bool ok = node_compare(old, data) == CU_GRAPH_EXEC_UPDATE_SUCCESS && node_is_plain(data)
		&& node_is_plain(old);
	return ok ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: a change that executable graphs do not allow", call);
}

static CUresult update_set_params(const char *call, CUgraphExec handle, CUgraphNode origin,
	CUgraphNodeParams *params)
{
	struct graph_exec *exec;
	struct graph_node *node;
	struct node_data *data = NULL;
	CUresult result = params_given(call, params);
	if (result == CUDA_SUCCESS) {
		result = update_enter_copy(call, handle, origin, &exec, &node);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct node_data *old = node_data_retain(node->data);
	graph_unlock();
	if (old->params.type != params->type) {
		result = api_fail(CUDA_ERROR_INVALID_VALUE, "%s: a node of type %d, not %d", call,
			(int)old->params.type, (int)params->type);
	} else if (old->memory || old->condition) {
		result = api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: allocation, free and conditional nodes cannot be changed", call);
	} else {
		result = node_make(call, params, old, &data);
	}
	if (result == CUDA_SUCCESS) {
		result = update_find_change(call, old, data);
	}
	node_data_release(old);
	if (result == CUDA_SUCCESS
	    && (result = update_enter_copy(call, handle, origin, &exec, &node)) == CUDA_SUCCESS) {
		old = node->data;
		node->data = data;
		data = old;
		graph_exec_touch(exec);
		graph_unlock();
	}
	node_data_release(data);
	return result;
}

API(cuGraphExecKernelNodeSetParams_v2, CUgraphExec exec, CUgraphNode node,
	const CUDA_KERNEL_NODE_PARAMS *p)
{
	CUgraphNodeParams params;
	return update_set_params(__func__, exec, node, params_of_kernel(p, &params));
}

API(cuGraphExecKernelNodeSetParams, CUgraphExec exec, CUgraphNode node,
	const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUgraphNodeParams params;
	return update_set_params(__func__, exec, node, params_of_kernel_v1(p, &params));
}

API(cuGraphExecMemcpyNodeSetParams, CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *p,
	CUcontext context)
{
	CUgraphNodeParams params;
	return update_set_params(__func__, exec, node, params_of_copy(p, context, &params));
}

API(cuGraphExecMemsetNodeSetParams, CUgraphExec exec, CUgraphNode node,
	const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
	CUgraphNodeParams params;
	return update_set_params(__func__, exec, node, params_of_fill(p, context, &params));
}

API(cuGraphExecHostNodeSetParams, CUgraphExec exec, CUgraphNode node,
	const CUDA_HOST_NODE_PARAMS *p)
{
	CUgraphNodeParams params;
	return update_set_params(__func__, exec, node, params_of_host(p, &params));
}

API(cuGraphExecBatchMemOpNodeSetParams, CUgraphExec exec, CUgraphNode node,
	const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	CUgraphNodeParams params;
	return update_set_params(__func__, exec, node, params_of_values(p, &params));
}

API(cuGraphExecEventRecordNodeSetEvent, CUgraphExec exec, CUgraphNode node, CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
		.eventRecord = {event}};
	return update_set_params(__func__, exec, node, &params);
}

API(cuGraphExecEventWaitNodeSetEvent, CUgraphExec exec, CUgraphNode node, CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = {event}};
	return update_set_params(__func__, exec, node, &params);
}

/* --- Whole graphs --- */

static void update_forget_peers(struct graph *graph)
{
	for (struct graph_node *node = graph->first; node; node = node->next) {
		node->peer = NULL;
	}
}

/* The first node, from this one on, that no other node depends on. */
static struct graph_node *update_next_exit(struct graph_node *node)
{
	while (node && node->to.count > 0) {
		node = node->next;
	}
	return node;
}

static void update_pair(struct graph_node *old, struct graph_node *node, struct graph_node **todo,
	size_t *paired)
{
	old->peer = node;
	node->peer = old;
	old->ready = *todo;
	*todo = old;
	++*paired;
}

static CUgraphExecUpdateResult update_differs(CUgraphExecUpdateResultInfo *info,
	CUgraphExecUpdateResult result, const struct graph_node *node,
	const struct graph_node *from)
{
	*info = (CUgraphExecUpdateResultInfo){result, node ? node->handle : NULL,
		from ? from->handle : NULL};
	return result;
}

/* Pair the nodes that the two nodes of a pair depend on. */
static CUgraphExecUpdateResult update_match_edges(struct graph_node *old, struct graph_node **todo,
	size_t *paired, CUgraphExecUpdateResultInfo *info)
{
	struct graph_node *node = old->peer;
	if (old->from.count != node->from.count) {
		return update_differs(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node,
			NULL);
	}
	for (size_t i = 0; i < old->from.count; i++) {
		struct graph_node *a = old->from.list[i].node;
		struct graph_node *b = node->from.list[i].node;
		if (!a->peer && !b->peer) {
			update_pair(a, b, todo, paired);
		} else if (a->peer != b) {
			return update_differs(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED,
				node, b);
		}
	}
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* Pair the nodes of an executable graph with the nodes of another graph, from the exits
 * backwards. */
static CUgraphExecUpdateResult update_match(struct graph *old, struct graph *graph,
	CUgraphExecUpdateResultInfo *info)
{
	struct graph_node *todo = NULL;
	size_t paired = 0;
	if (old->node_count != graph->node_count) {
		return update_differs(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL,
			NULL);
	}
	update_forget_peers(old);
	update_forget_peers(graph);
	struct graph_node *a = update_next_exit(old->first);
	struct graph_node *b = update_next_exit(graph->first);
	for (; a && b; a = update_next_exit(a->next), b = update_next_exit(b->next)) {
		update_pair(a, b, &todo, &paired);
	}
	if (a || b) {
		return update_differs(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, b, NULL);
	}
	while ((a = todo)) {
		todo = a->ready;
		CUgraphExecUpdateResult result = node_compare(a->data, a->peer->data);
		if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
			return update_differs(info, result, a->peer, NULL);
		}
		result = update_match_edges(a, &todo, &paired, info);
		if (result == CU_GRAPH_EXEC_UPDATE_SUCCESS && a->child) {
			result = update_match(a->child, a->peer->child, info);
		}
		if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
			return result;
		}
	}
	return update_differs(info, paired == old->node_count ? CU_GRAPH_EXEC_UPDATE_SUCCESS
		: CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
}

/* Give each node of the executable graph the data of the node that update_match has paired with
 * it. */
static void update_take_over(struct graph *old)
{
	for (struct graph_node *node = old->first; node; node = node->next) {
		assert(node->peer);
		struct node_data *data = node_data_retain(node->peer->data);
		node_data_release(node->data);
		node->data = data;
		if (node->child) {
			update_take_over(node->child);
		}
	}
}

API(cuGraphExecUpdate_v2, CUgraphExec handle, CUgraph graph_handle,
	CUgraphExecUpdateResultInfo *info)
{
	struct graph_exec *exec;
	struct graph *graph;
	CUresult result = api_need(api_ready(__func__), __func__, info);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_ERROR};
	result = graph_exec_enter(__func__, handle, &exec);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	result = graph_find(__func__, graph_handle, &graph);
	if (result == CUDA_SUCCESS) {
		if (update_match(exec->graph, graph, info) == CU_GRAPH_EXEC_UPDATE_SUCCESS) {
			update_take_over(exec->graph);
			graph_exec_touch(exec);
		} else {
			result = api_fail(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
				"%s: a change that executable graphs do not allow", __func__);
		}
	}
	graph_unlock();
	return result;
}

API(cuGraphExecUpdate, CUgraphExec exec, CUgraph graph, CUgraphNode *node,
	CUgraphExecUpdateResult *out)
{
	CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
	CUresult result = cuGraphExecUpdate_v2(exec, graph, &info);
	if (node) {
		*node = info.errorNode;
	}
	if (out) {
		*out = info.result;
	}
	return result;
}

API(cuGraphExecChildGraphNodeSetParams, CUgraphExec handle, CUgraphNode origin, CUgraph child)
{
	struct graph_exec *exec;
	struct graph_node *node;
	struct graph *graph;
	CUgraphExecUpdateResultInfo info;
	CUresult result = update_enter_copy(__func__, handle, origin, &exec, &node);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	result = graph_find(__func__, child, &graph);
	if (result == CUDA_SUCCESS && !node->child) {
		result = api_fail(CUDA_ERROR_INVALID_VALUE, "%s: not a child graph node", __func__);
	}
	if (result == CUDA_SUCCESS
	    && update_match(node->child, graph, &info) != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
		result = api_fail(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
			"%s: a change that executable graphs do not allow", __func__);
	}
	if (result == CUDA_SUCCESS) {
		update_take_over(node->child);
		graph_exec_touch(exec);
	}
	graph_unlock();
	return result;
}

API(cuGraphExecNodeSetParams, CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
	CUresult result = params_given(__func__, params);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	return params->type == CU_GRAPH_NODE_TYPE_GRAPH
		? cuGraphExecChildGraphNodeSetParams(exec, node, params->graph.graph)
		: update_set_params(__func__, exec, node, params);
}

/* --- Switching nodes off and on --- */

static CUresult update_enter_switch(const char *call, CUgraphExec handle, CUgraphNode origin,
	struct graph_exec **exec, struct graph_node **out)
{
	CUresult result = update_enter_copy(call, handle, origin, exec, out);
	if (result == CUDA_SUCCESS && (*out)->data->params.type > CU_GRAPH_NODE_TYPE_MEMSET) {
		graph_unlock();
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: only kernels, copies and fills can be switched off", call);
	}
	return result;
}

API(cuGraphNodeSetEnabled, CUgraphExec handle, CUgraphNode origin, unsigned int enabled)
{
	struct graph_exec *exec;
	struct graph_node *node;
	CUresult result = update_enter_switch(__func__, handle, origin, &exec, &node);
	if (result == CUDA_SUCCESS) {
		node->is_disabled = enabled == 0;
		graph_exec_touch(exec);
		graph_unlock();
	}
	return result;
}

API(cuGraphNodeGetEnabled, CUgraphExec handle, CUgraphNode origin, unsigned int *out)
{
	struct graph_exec *exec;
	struct graph_node *node;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = update_enter_switch(__func__, handle, origin, &exec, &node);
	}
	if (result == CUDA_SUCCESS) {
		*out = !node->is_disabled;
		graph_unlock();
	}
	return result;
}
