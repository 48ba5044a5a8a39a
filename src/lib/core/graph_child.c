/* SPDX-License-Identifier: MIT */
/*
 * Launches of executable graphs in a capture.
 *
 * NVIDIA's drivers refuse them, and end the capture.  A child graph does the same, so the library
 * adds one.  A driver tells nobody what an executable graph has become by changes of its nodes.  So
 * each kz_exec keeps a graph of its own, a copy of the one that it was made from, and changes both.
 * Graphs that the driver cannot copy, which allocate memory or decide, cannot be children either.
 */
#include "base/common.h"

#include "lib/core/graph.h"

kz_status exec_clone(CUgraph *out, const struct kz_graph *graph, kz_error *err)
{
	*out = NULL;
	if (graph->is_fixed) {
		return KZ_OK;
	}
	/* A library that was captured may have allocated memory in the driver's pools. */
	CUresult code = graph->device->drv->GraphClone(out, graph->handle);
	return code == CUDA_ERROR_NOT_SUPPORTED ? KZ_OK
		: device_ok(graph->device, code, "cuGraphClone", err);
}

/* The node of the copy: the names of both are in the same order. */
static CUresult graph_find_twin(struct kz_exec *exec, struct kz_node *node)
{
	const struct kz_node *origin = exec->copied->nodes.first;
	for (struct kz_node *at = exec->nodes.first; at != node && origin; at = at->next) {
		origin = origin->next;
	}
	return !origin ? CUDA_ERROR_NOT_FOUND : exec->device->drv->GraphNodeFindInClone(
		&node->twin, origin->handle, exec->copy);
}

kz_status exec_copy_params(struct kz_exec *exec, struct kz_node *node,
	const CUDA_KERNEL_NODE_PARAMS *params, kz_error *err)
{
	kz_status st = KZ_OK;
	if (exec->copy && !node->twin) {
		st = device_ok(exec->device, graph_find_twin(exec, node), "cuGraphNodeFindInClone",
			err);
	}
	return st || !exec->copy ? st : device_ok(exec->device,
		exec->device->drv->GraphKernelNodeSetParams(node->twin, params),
		"cuGraphKernelNodeSetParams", err);
}

kz_status exec_capture(struct kz_exec *exec, struct kz_stream *stream, kz_error *err)
{
	const struct drv *drv = exec->device->drv;
	CUstreamCaptureStatus status;
	CUgraph graph = NULL;
	CUgraphNode child;
	const CUgraphNode *nodes = NULL;
	const CUgraphEdgeData *edges = NULL;
	size_t count = 0;
	if (!exec->copy) {
		return error_set(err, KZ_UNSUPPORTED, "kz_exec_launch: the stream is captured, and "
			"a graph with nodes that allocate memory, or with conditional ones, cannot "
			"be part of another");
	}
	kz_status st = device_ok(exec->device, drv->StreamGetCaptureInfo(stream->handle, &status,
		NULL, &graph, &nodes, &edges, &count), "cuStreamGetCaptureInfo", err);
	st = st ? st : device_ok(exec->device, drv->GraphAddChildGraphNode(&child, graph, nodes,
		count, exec->copy), "cuGraphAddChildGraphNode", err);
	return st ? st : device_ok(exec->device, drv->StreamUpdateCaptureDependencies(
		stream->handle, &child, NULL, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES),
		"cuStreamUpdateCaptureDependencies", err);
}
