/* SPDX-License-Identifier: MIT */
/* Stream capture: the functions.  stream/cu_capture.c says how it works. */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "cpu/stream/cu_capture.h"
#include "cpu/stream/cu_graph_node.h"
#include "cpu/stream/queue.h"

static CUresult capture_check_mode(const char *call, CUstreamCaptureMode mode)
{
	CUresult result = api_ready(call);
	return result != CUDA_SUCCESS || (unsigned)mode <= CU_STREAM_CAPTURE_MODE_RELAXED ? result
		: api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown mode %d", call, (int)mode);
}

API(cuStreamBeginCapture_v2, CUstream handle, CUstreamCaptureMode mode)
{
	const struct dependencies none = {.count = 0};
	struct stream *stream;
	CUresult result = capture_check_mode(__func__, mode);
	if (result == CUDA_SUCCESS) {
		result = stream_enter(__func__, handle, &stream);
	}
	if (result == CUDA_SUCCESS) {
		result = capture_begin(__func__, stream, NULL, &none, mode);
		queue_unlock();
	}
	return result;
}
API_PER_THREAD(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2,
	(CUstream handle, CUstreamCaptureMode mode), (handle, mode));

API(cuStreamBeginCapture, CUstream handle)
{
	return cuStreamBeginCapture_v2(handle, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
API_PER_THREAD(cuStreamBeginCapture_ptsz, cuStreamBeginCapture, (CUstream handle), (handle));

API(cuStreamBeginCaptureToGraph, CUstream handle, CUgraph graph, const CUgraphNode *nodes,
	const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode)
{
	const struct dependencies from = {nodes, data, count};
	struct stream *stream;
	CUresult result = capture_check_mode(__func__, mode);
	if (result == CUDA_SUCCESS && !nodes && count > 0) {
		return api_null(__func__, "the list of dependencies");
	}
	if (result == CUDA_SUCCESS) {
		result = stream_enter(__func__, handle, &stream);
	}
	if (result == CUDA_SUCCESS) {
		result = capture_begin(__func__, stream, &graph, &from, mode);
		queue_unlock();
	}
	return result;
}
API_PER_THREAD(cuStreamBeginCaptureToGraph_ptsz, cuStreamBeginCaptureToGraph,
	(CUstream handle, CUgraph graph, const CUgraphNode *nodes, const CUgraphEdgeData *data,
	size_t count, CUstreamCaptureMode mode), (handle, graph, nodes, data, count, mode));

API(cuStreamEndCapture, CUstream handle, CUgraph *out)
{
	struct stream *stream;
	struct graph *waste = NULL;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = stream_enter(__func__, handle, &stream);
	}
	if (result == CUDA_SUCCESS) {
		result = capture_end(__func__, stream, out, &waste);
		queue_unlock();
		graph_release(waste);
	}
	return result;
}
API_PER_THREAD(cuStreamEndCapture_ptsz, cuStreamEndCapture, (CUstream handle, CUgraph *out),
	(handle, out));

static CUresult capture_read_info(const char *call, CUstream handle, const void *status,
	struct capture_info *out)
{
	struct stream *stream;
	CUresult result = api_need(api_ready(call), call, status);
	if (result == CUDA_SUCCESS) {
		result = stream_enter(call, handle, &stream);
	}
	if (result == CUDA_SUCCESS) {
		result = capture_get_info(call, stream, out);
		queue_unlock();
	}
	return result;
}

API(cuStreamIsCapturing, CUstream handle, CUstreamCaptureStatus *out)
{
	struct capture_info info;
	CUresult result = capture_read_info(__func__, handle, out, &info);
	if (result == CUDA_SUCCESS) {
		*out = info.status;
	}
	return result;
}
API_PER_THREAD(cuStreamIsCapturing_ptsz, cuStreamIsCapturing,
	(CUstream handle, CUstreamCaptureStatus *out), (handle, out));

API(cuStreamGetCaptureInfo_v3, CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
	CUgraph *graph, const CUgraphNode **nodes, const CUgraphEdgeData **data, size_t *count)
{
	struct capture_info info;
	CUresult result = capture_read_info(__func__, handle, status, &info);
	if (result == CUDA_SUCCESS && data && !nodes) {
		return api_null(__func__, "the array for the nodes");
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*status = info.status;
	if (nodes && !data && info.is_lossy) {
		return api_fail(CUDA_ERROR_LOSSY_QUERY, "%s: dependencies have data", __func__);
	}
	if (id) {
		*id = info.id;
	}
	if (graph) {
		*graph = info.graph;
	}
	if (nodes) {
		*nodes = info.frontier.nodes;
	}
	if (data) {
		*data = info.frontier.data;
	}
	if (count) {
		*count = info.frontier.count;
	}
	return CUDA_SUCCESS;
}
API_PER_THREAD(cuStreamGetCaptureInfo_v3_ptsz, cuStreamGetCaptureInfo_v3,
	(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
	const CUgraphNode **nodes, const CUgraphEdgeData **data, size_t *count),
	(handle, status, id, graph, nodes, data, count));

API(cuStreamGetCaptureInfo_v2, CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
	CUgraph *graph, const CUgraphNode **nodes, size_t *count)
{
	return cuStreamGetCaptureInfo_v3(handle, status, id, graph, nodes, NULL, count);
}
API_PER_THREAD(cuStreamGetCaptureInfo_v2_ptsz, cuStreamGetCaptureInfo_v2,
	(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
	const CUgraphNode **nodes, size_t *count), (handle, status, id, graph, nodes, count));

API(cuStreamGetCaptureInfo, CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	return cuStreamGetCaptureInfo_v3(handle, status, id, NULL, NULL, NULL, NULL);
}
API_PER_THREAD(cuStreamGetCaptureInfo_ptsz, cuStreamGetCaptureInfo,
	(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id), (handle, status, id));

API(cuStreamUpdateCaptureDependencies_v2, CUstream handle, CUgraphNode *nodes,
	const CUgraphEdgeData *data, size_t count, unsigned int flags)
{
	struct stream *stream;
	CUresult result = api_ready(__func__);
	if (result == CUDA_SUCCESS && (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES
			|| (!nodes && count > 0))) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: no nodes, or unknown flags 0x%x",
			__func__, flags);
	}
	if (result == CUDA_SUCCESS) {
		result = stream_enter(__func__, handle, &stream);
	}
	if (result == CUDA_SUCCESS) {
		result = capture_update(__func__, stream, nodes, data, count,
			flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
		queue_unlock();
	}
	return result;
}
API_PER_THREAD(cuStreamUpdateCaptureDependencies_v2_ptsz, cuStreamUpdateCaptureDependencies_v2,
	(CUstream handle, CUgraphNode *nodes, const CUgraphEdgeData *data, size_t count,
	unsigned int flags), (handle, nodes, data, count, flags));

API(cuStreamUpdateCaptureDependencies, CUstream handle, CUgraphNode *nodes, size_t count,
	unsigned int flags)
{
	return cuStreamUpdateCaptureDependencies_v2(handle, nodes, NULL, count, flags);
}
API_PER_THREAD(cuStreamUpdateCaptureDependencies_ptsz, cuStreamUpdateCaptureDependencies,
	(CUstream handle, CUgraphNode *nodes, size_t count, unsigned int flags),
	(handle, nodes, count, flags));

API(cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode *mode)
{
	CUresult result = api_need(api_ready(__func__), __func__, mode);
	if (result == CUDA_SUCCESS) {
		result = capture_check_mode(__func__, *mode);
	}
	if (result == CUDA_SUCCESS) {
		*mode = capture_exchange_mode(*mode);
	}
	return result;
}
