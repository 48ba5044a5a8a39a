/* SPDX-License-Identifier: MIT */
#ifndef TESTS_API_GRAPH_H
#define TESTS_API_GRAPH_H

/* The functions for graphs, and what the tests of graphs and captures share. */
#include "api_wait.h"

CUresult cuGraphCreate(CUgraph *out, unsigned int flags);
CUresult cuGraphClone(CUgraph *out, CUgraph handle);
CUresult cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode origin, CUgraph handle);
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count);
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count);
CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *out);
CUresult cuGraphDestroyNode(CUgraphNode handle);
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
	CUgraphEdgeData *data, size_t *count);
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count);
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes,
	CUgraphEdgeData *data, size_t *count);
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count);
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes,
	CUgraphEdgeData *data, size_t *count);
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count);
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
	const CUgraphNode *to, const CUgraphEdgeData *data, size_t count);
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
	size_t count);
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from,
	const CUgraphNode *to, const CUgraphEdgeData *data, size_t count);
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from,
	const CUgraphNode *to, size_t count);
CUresult cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *params);
CUresult cuGraphAddNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, CUgraphNodeParams *params);
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params);
CUresult cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, const CUDA_KERNEL_NODE_PARAMS *p);
CUresult cuGraphAddKernelNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *p);
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *out);
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *out);
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p);
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p);
CUresult cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, const CUDA_MEMCPY3D *p, CUcontext context);
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *out);
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *p);
CUresult cuGraphAddMemsetNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context);
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *out);
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p);
CUresult cuGraphAddHostNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, const CUDA_HOST_NODE_PARAMS *p);
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *out);
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p);
CUresult cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, CUgraph child);
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *out);
CUresult cuGraphAddEmptyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count);
CUresult cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, CUevent event);
CUresult cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, CUevent event);
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *out);
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *out);
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event);
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event);
CUresult cuGraphAddBatchMemOpNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p);
CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *out);
CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p);
CUresult cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *p);
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *out);
CUresult cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	size_t count, CUdeviceptr address);
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *out);
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
	CUkernelNodeAttrValue *out);
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
	const CUkernelNodeAttrValue *value);
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags);
CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *node, char *text,
	size_t size);
CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream);
CUresult cuGraphUpload(CUgraphExec handle, CUstream stream);
CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph,
	CUDA_GRAPH_INSTANTIATE_PARAMS *p);
CUresult cuGraphExecDestroy(CUgraphExec handle);
CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *out);
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
	const CUDA_KERNEL_NODE_PARAMS *p);
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
	const CUDA_KERNEL_NODE_PARAMS_v1 *p);
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
	const CUDA_MEMCPY3D *p, CUcontext context);
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
	const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context);
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
	const CUDA_HOST_NODE_PARAMS *p);
CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
	const CUDA_BATCH_MEM_OP_NODE_PARAMS *p);
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event);
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event);
CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle,
	CUgraphExecUpdateResultInfo *info);
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *node,
	CUgraphExecUpdateResult *out);
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec handle, CUgraphNode origin, CUgraph child);
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params);
CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode origin, unsigned int enabled);
CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode origin, unsigned int *out);
CUresult cuUserObjectCreate(CUuserObject *out, void *data, CUhostFn destroy,
	unsigned int count, unsigned int flags);
CUresult cuUserObjectRetain(CUuserObject handle, unsigned int count);
CUresult cuUserObjectRelease(CUuserObject handle, unsigned int count);
CUresult cuGraphRetainUserObject(CUgraph handle, CUuserObject object_handle,
	unsigned int count, unsigned int flags);
CUresult cuGraphReleaseUserObject(CUgraph handle, CUuserObject object_handle, unsigned int count);
CUresult cuGraphDebugDotPrint(CUgraph handle, const char *path, unsigned int flags);
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *out);
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value);
CUresult cuDeviceGraphMemTrim(CUdevice device);
CUresult cuStreamBeginCapture(CUstream handle);
CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph_handle,
	const CUgraphNode *nodes, const CUgraphEdgeData *data, size_t count,
	CUstreamCaptureMode mode);
CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status,
	cuuint64_t *id, CUgraph *graph, const CUgraphNode **nodes,
	const CUgraphEdgeData **data, size_t *count);
CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *status,
	cuuint64_t *id, CUgraph *graph, const CUgraphNode **nodes, size_t *count);
CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id);
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *nodes,
	const CUgraphEdgeData *data, size_t count, unsigned int flags);
CUresult cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode *nodes, size_t count,
	unsigned int flags);
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode);
CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID id, CUstreamAttrValue *out);
CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID id, const CUstreamAttrValue *value);
CUresult cuStreamCopyAttributes(CUstream to_handle, CUstream from_handle);
CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t size,
	unsigned int flags);
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags);
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value,
	unsigned int flags);

/* saxpy: y[i] = a * x[i] + y[i], for one block of threads.  mix: word = word * 31 + value. */
static const char graph_ptx[] =
	".version 7.0\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y)\n"
	"{\n"
	"	.reg .b32 %r<2>;\n"
	"	.reg .f32 %f<5>;\n"
	"	.reg .b64 %rd<5>;\n"
	"	ld.param.f32 %f1, [a];\n"
	"	ld.param.u64 %rd1, [x];\n"
	"	ld.param.u64 %rd2, [y];\n"
	"	mov.u32 %r1, %tid.x;\n"
	"	mul.wide.u32 %rd3, %r1, 4;\n"
	"	add.s64 %rd1, %rd1, %rd3;\n"
	"	add.s64 %rd2, %rd2, %rd3;\n"
	"	ld.global.f32 %f2, [%rd1];\n"
	"	ld.global.f32 %f3, [%rd2];\n"
	"	fma.rn.f32 %f4, %f1, %f2, %f3;\n"
	"	st.global.f32 [%rd2], %f4;\n"
	"	ret;\n"
	"}\n"
	".visible .entry mix(.param .u64 to, .param .u64 from, .param .u32 value)\n"
	"{\n"
	"	.reg .b32 %r<5>;\n"
	"	.reg .b64 %rd<3>;\n"
	"	ld.param.u64 %rd1, [to];\n"
	"	ld.param.u64 %rd2, [from];\n"
	"	ld.param.u32 %r1, [value];\n"
	"	ld.u32 %r2, [%rd1];\n"
	"	ld.u32 %r3, [%rd2];\n"
	"	mad.lo.u32 %r4, %r2, 31, %r3;\n"
	"	add.u32 %r4, %r4, %r1;\n"
	"	st.u32 [%rd1], %r4;\n"
	"	ret;\n"
	"}\n";

static CUmodule graph_module;

static inline void graph_setup(void)
{
	wait_setup();
	OK(cuModuleLoadData(&graph_module, graph_ptx));
}

static inline CUgraph new_graph(void)
{
	CUgraph graph = NULL;
	OK(cuGraphCreate(&graph, 0));
	return graph;
}

static inline CUgraphExec new_exec(CUgraph graph)
{
	CUgraphExec exec = NULL;
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

static inline void release_graph(CUgraphExec exec, CUgraph graph)
{
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

static inline void launch_and_wait(CUgraphExec exec, CUstream stream)
{
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
}

/* A node that adds a value to a word, with a kernel. */
static inline CUDA_KERNEL_NODE_PARAMS add_params(void **values)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = kernel(wait_module, "add"), .gridDimX = 1,
		.gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1,
		.kernelParams = values};
}

static inline CUgraphNode add_plus(CUgraph graph, const CUgraphNode *from, size_t count,
	CUdeviceptr where, uint32_t value)
{
	void *values[] = {&where, &value};
	const CUDA_KERNEL_NODE_PARAMS params = add_params(values);
	CUgraphNode node = NULL;
	OK(cuGraphAddKernelNode_v2(&node, graph, from, count, &params));
	return node;
}

static inline CUgraphNode add_empty(CUgraph graph, const CUgraphNode *from, size_t count)
{
	CUgraphNode node = NULL;
	OK(cuGraphAddEmptyNode(&node, graph, from, count));
	return node;
}

static inline uint32_t word_at(CUdeviceptr where)
{
	uint32_t value = 0;
	OK(cuMemcpyDtoH_v2(&value, where, 4));
	return value;
}

static inline void set_word(CUdeviceptr where, uint32_t value)
{
	OK(cuMemcpyHtoD_v2(where, &value, 4));
}

/* Add a node that allocates 4 bytes at *out. */
static inline CUgraphNode add_alloc(CUgraph graph, CUdeviceptr *out)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = {
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}}, .bytesize = 4
	};
	CUgraphNode node = NULL;
	OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	*out = params.dptr;
	return node;
}

static inline cuuint64_t graph_memory_used(void)
{
	cuuint64_t used = 1;
	OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
	return used;
}

#endif
