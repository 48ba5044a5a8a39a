/* SPDX-License-Identifier: MIT */
/* Executable graphs: made from graphs, and launched.  api_graph_update.c changes them. */
#include "base/common.h"

#include "cpu/stream/cu_graph_node.h"

#include "cpu/abi/api_graph.h"
#include "cpu/stream/cu_capture.h"
#include "cpu/stream/work_describe.h"
#include "cpu/stream/graph_run.h"
#include "cpu/stream/cu_stream.h"

#include <stdio.h>

/* --- Making them --- */

static CUresult check_graph(const char *call, const struct graph *graph)
{
	if (graph->is_captured_into) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the graph is being captured", call);
	}
	if (graph_is_body(graph)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the graph is the body of a "
			"conditional node", call);
	}
	if (graph->has_memory && graph->parent) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: the graph is a child, and allocates or frees memory", call);
	}
	if (!graph_suits(graph, false)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: bodies of conditional nodes have "
			"kernels, copies, fills, child graphs and conditional nodes only", call);
	}
	if ((graph->has_memory || graph->has_conditions)
	    && handle_get(graph->exec, API_GRAPH_EXEC)) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED, "%s: the graph allocates or frees memory "
			"or has conditional nodes, and an executable graph of it exists", call);
	}
	return CUDA_SUCCESS;
}

/* The lock is held. */
static CUresult exec_instantiate_locked(const char *call, CUgraphExec *out, CUgraph handle,
	cuuint64_t flags, CUgraphNode *bad)
{
	struct graph *graph;
	CUresult result = graph_find(call, handle, &graph);
	if (result == CUDA_SUCCESS) {
		result = check_graph(call, graph);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct graph *copy = graph_clone(graph, false);
	struct graph_exec *exec = copy ? graph_exec_create(copy, bad) : NULL;
	if (*bad) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the graph has a cycle", call);
	}
	if (!exec) {
		return api_no_memory(call);
	}
	exec->origin = handle;
	exec->flags = flags & ~(cuuint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
	graph->exec = exec->handle;
	*out = exec->handle;
	return CUDA_SUCCESS;
}

static CUresult exec_instantiate(const char *call, CUgraphExec *out, CUgraph handle,
	cuuint64_t flags, CUgraphNode *bad)
{
	const cuuint64_t known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH
		| CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH
		| CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
	CUresult result = api_need(api_ready(call), call, out);
	*bad = NULL;
	if (result == CUDA_SUCCESS) {
		result = capture_check_unsafe(call);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = NULL;
	if (flags & ~known) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%llx", call,
			(unsigned long long)flags);
	}
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: kernels of the CPU device cannot launch graphs", call);
	}
	graph_lock();
	result = exec_instantiate_locked(call, out, handle, flags, bad);
	graph_unlock();
	return result;
}

API(cuGraphInstantiateWithFlags, CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
	CUgraphNode bad;
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: there is no stream to upload in",
			__func__);
	}
	return exec_instantiate(__func__, out, graph, flags, &bad);
}

/* The older forms report the node and a text. */
API(cuGraphInstantiate_v2, CUgraphExec *out, CUgraph graph, CUgraphNode *node, char *text,
	size_t size)
{
	CUgraphNode bad = NULL;
	CUresult result = exec_instantiate(__func__, out, graph, 0, &bad);
	if (node) {
		*node = bad;
	}
	if (text && size > 0) {
		snprintf(text, size, "%s", bad ? "the graph has a cycle" : "");
	}
	return result;
}
API_ALIAS(cuGraphInstantiate, cuGraphInstantiate_v2);

/* --- Launching --- */

/* Refuse a node if an object that it uses has been destroyed. */
static CUresult exec_check_item(const char *call, const struct context *context,
	const struct node_data *data)
{
	const struct work *work = &data->work;
	if (data->context && data->context != context->handle
	    && (data->memory || !handle_get(data->context, API_CONTEXT))) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED, "%s: the graph has nodes of another"
			" context, which allocate memory, or whose context was destroyed", call);
	}
	if (data->memory && !graph_memory_is_there(data->memory)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: memory of the graph was freed with its context", call);
	}
	if (work->kind == WORK_KERNEL && !node_has_function(data)) {
		return api_fail(CUDA_ERROR_INVALID_HANDLE,
			"%s: the module of a kernel of the graph was unloaded", call);
	}
	if ((work->kind == WORK_RECORD || work->kind == WORK_WAIT)
	    && !handle_get(work->event, API_EVENT)) {
		return api_fail(CUDA_ERROR_INVALID_HANDLE,
			"%s: an event of the graph was destroyed", call);
	}
	return CUDA_SUCCESS;
}

static CUresult graph_exec_prepare(const char *call, const struct context *context,
	struct graph_exec *exec)
{
	const struct graph_plan *plan = graph_exec_plan(exec);
	CUresult result = plan ? CUDA_SUCCESS
		: api_no_memory(call);
	for (size_t i = 0; result == CUDA_SUCCESS && i < plan->count; i++) {
		result = exec_check_item(call, context, plan->items[i]);
	}
	return result;
}

API(cuGraphLaunch, CUgraphExec handle, CUstream stream)
{
	struct context *context;
	struct graph_exec *exec;
	struct work work = {.kind = WORK_GRAPH};
	CUresult result = api_enter(__func__, &context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if ((result = graph_exec_enter(__func__, handle, &exec)) != CUDA_SUCCESS) {
		return result;
	}
	result = graph_exec_prepare(__func__, context, exec);
	if (result == CUDA_SUCCESS && !(work.run = graph_run_create(exec, context))) {
		result = api_no_memory(__func__);
	}
	graph_unlock();
	if (result == CUDA_SUCCESS) {
		result = stream_enqueue(__func__, context, stream, &work, ENQUEUE_ASYNC, false);
		graph_run_release(work.run);
	}
	return result;
}
API_PER_THREAD(cuGraphLaunch_ptsz, cuGraphLaunch, (CUgraphExec handle, CUstream stream),
	(handle, stream));

/* There is nothing to upload. */
API(cuGraphUpload, CUgraphExec handle, CUstream stream)
{
	const struct work work = {.kind = WORK_EMPTY};
	struct context *context;
	struct graph_exec *exec;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS) {
		result = graph_exec_enter(__func__, handle, &exec);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	graph_unlock();
	return stream_enqueue(__func__, context, stream, &work, ENQUEUE_ASYNC, false);
}
API_PER_THREAD(cuGraphUpload_ptsz, cuGraphUpload, (CUgraphExec handle, CUstream stream),
	(handle, stream));

API(cuGraphExecDestroy, CUgraphExec handle)
{
	struct graph_exec *exec;
	CUresult result = graph_exec_enter(__func__, handle, &exec);
	if (result == CUDA_SUCCESS) {
		handle_release(handle);
		graph_unlock();
		graph_exec_release(exec);
	}
	return result;
}

API(cuGraphInstantiateWithParams, CUgraphExec *out, CUgraph graph,
	CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	CUresult result = params_given(__func__, p);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	result = exec_instantiate(__func__, out, graph, p->flags, &p->hErrNode_out);
	if (result == CUDA_SUCCESS && (p->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
	    && (result = cuGraphUpload(*out, p->hUploadStream)) != CUDA_SUCCESS) {
		cuGraphExecDestroy(*out);
		*out = NULL;
	}
	p->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
		: p->hErrNode_out ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
		: CUDA_GRAPH_INSTANTIATE_ERROR;
	return result;
}
API_PER_THREAD(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams,
	(CUgraphExec *out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *p), (out, graph, p));

API(cuGraphExecGetId, CUgraphExec handle, unsigned int *out)
{
	struct graph_exec *exec;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = graph_exec_enter(__func__, handle, &exec);
	}
	if (result == CUDA_SUCCESS) {
		*out = exec->graph->id;
		graph_unlock();
	}
	return result;
}

API(cuGraphExecGetFlags, CUgraphExec handle, cuuint64_t *out)
{
	struct graph_exec *exec;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = graph_exec_enter(__func__, handle, &exec);
	}
	if (result == CUDA_SUCCESS) {
		*out = exec->flags;
		graph_unlock();
	}
	return result;
}
