/* SPDX-License-Identifier: MIT */
/*
 * Nodes of graphs whose parameters differ between the runtime and the driver: kernels, which the
 * runtime names by functions of the host, and copies.  The other functions for graphs are calls of
 * the driver (exports.def).
 */
#include "base/common.h"

#include "cudart/copy.h"
#include "cudart/register.h"

#include <string.h>

static cudaError_t graph_context(CUcontext *out)
{
	const cudaError_t code = state_enter();
	return code ? code : driver_error(driver.cuCtxGetCurrent(out));
}

/* --- Kernels --- */

static cudaError_t graph_describe_kernel(CUDA_KERNEL_NODE_PARAMS *out,
	const struct cudaKernelNodeParams *p)
{
	memset(out, 0, sizeof(*out));
	out->gridDimX = p->gridDim.x;
	out->gridDimY = p->gridDim.y;
	out->gridDimZ = p->gridDim.z;
	out->blockDimX = p->blockDim.x;
	out->blockDimY = p->blockDim.y;
	out->blockDimZ = p->blockDim.z;
	out->sharedMemBytes = p->sharedMemBytes;
	out->kernelParams = p->kernelParams;
	out->extra = p->extra;
	register_hold();
	const cudaError_t code = register_kernel(&out->kern, p->func);
	register_let();
	return code;
}

API(cudaGraphAddKernelNode, cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
	size_t count, const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	cudaError_t code = !p ? cudaErrorInvalidValue : state_enter();
	code = code ? code : graph_describe_kernel(&kernel, p);
	return state_leave(code ? code
		: driver_error(driver.cuGraphAddKernelNode_v2(out, graph, after, count, &kernel)));
}

API(cudaGraphKernelNodeGetParams, cudaGraphNode_t node, struct cudaKernelNodeParams *out)
{
	CUDA_KERNEL_NODE_PARAMS is;
	cudaError_t code = !out ? cudaErrorInvalidValue : state_enter();
	code = code ? code : driver_error(driver.cuGraphKernelNodeGetParams_v2(node, &is));
	if (!code) {
		*out = (struct cudaKernelNodeParams){
			.func = register_host(is.kern ? (const void *)is.kern : is.func),
			.gridDim = {is.gridDimX, is.gridDimY, is.gridDimZ},
			.blockDim = {is.blockDimX, is.blockDimY, is.blockDimZ},
			.sharedMemBytes = is.sharedMemBytes,
			.kernelParams = is.kernelParams,
			.extra = is.extra,
		};
	}
	return state_leave(code);
}

API(cudaGraphKernelNodeSetParams, cudaGraphNode_t node, const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	cudaError_t code = !p ? cudaErrorInvalidValue : state_enter();
	code = code ? code : graph_describe_kernel(&kernel, p);
	return state_leave(code ? code
		: driver_error(driver.cuGraphKernelNodeSetParams_v2(node, &kernel)));
}

API(cudaGraphExecKernelNodeSetParams, cudaGraphExec_t exec, cudaGraphNode_t node,
	const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	cudaError_t code = !p ? cudaErrorInvalidValue : state_enter();
	code = code ? code : graph_describe_kernel(&kernel, p);
	return state_leave(code ? code
		: driver_error(driver.cuGraphExecKernelNodeSetParams_v2(exec, node, &kernel)));
}

/* --- Copies --- */

/* A copy of bytes in one dimension, also to and from a variable. */
static struct cudaMemcpy3DParms graph_copy_bytes(void *to, const void *from, size_t size, int kind)
{
	return (struct cudaMemcpy3DParms){
		.srcPtr = {(void *)(uintptr_t)from, size, size, 1},
		.dstPtr = {to, size, size, 1},
		.extent = {size, 1, 1},
		.kind = kind,
	};
}

static cudaError_t graph_variable(void **out, const void *symbol, size_t size, size_t offset)
{
	CUdeviceptr address;
	size_t whole;
	cudaError_t code = state_enter();
	code = code ? code : register_variable(&address, &whole, symbol);
	if (!code && (offset > whole || size > whole - offset)) {
		code = cudaErrorInvalidValue;
	}
	*out = code ? NULL : (void *)(uintptr_t)(address + offset);
	return code;
}

/* Where a copy goes: into a new node, a node, or a node of an executable graph. */
struct graph_place {
	cudaGraphNode_t *added;
	cudaGraph_t graph;
	const cudaGraphNode_t *after;
	size_t count;
	cudaGraphExec_t exec;
	cudaGraphNode_t node;
};

static cudaError_t graph_put_copy(const struct graph_place *place,
	const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D copy;
	CUcontext context;
	cudaError_t code = !p ? cudaErrorInvalidValue : graph_context(&context);
	code = code ? code : copy_describe(&copy, p);
	if (code) {
		return code;
	}
	return driver_error(place->exec
		? driver.cuGraphExecMemcpyNodeSetParams(place->exec, place->node, &copy, context)
		: place->node ? driver.cuGraphMemcpyNodeSetParams(place->node, &copy)
		: driver.cuGraphAddMemcpyNode(place->added, place->graph, place->after,
			place->count, &copy, context));
}

static cudaError_t graph_put_bytes(const struct graph_place *place, void *to, const void *from,
	size_t size, int kind)
{
	const struct cudaMemcpy3DParms p = graph_copy_bytes(to, from, size, kind);
	return graph_put_copy(place, &p);
}

static cudaError_t graph_put_to_symbol(const struct graph_place *place, const void *symbol,
	const void *from, size_t size, size_t offset, int kind)
{
	void *variable;
	const cudaError_t code = graph_variable(&variable, symbol, size, offset);
	return code ? code : graph_put_bytes(place, variable, from, size, kind);
}

static cudaError_t graph_put_from_symbol(const struct graph_place *place, void *to,
	const void *symbol, size_t size, size_t offset, int kind)
{
	void *variable;
	const cudaError_t code = graph_variable(&variable, symbol, size, offset);
	return code ? code : graph_put_bytes(place, to, variable, size, kind);
}

/* The functions that add a node, set a node, and set a node of an executable graph. */
#define GRAPH_NEW                                                                                  \
	cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count
#define GRAPH_COPY(name, place, parameters, put)                                                   \
	__attribute__((visibility("default"))) cudaError_t name parameters;                        \
	cudaError_t name parameters                                                                \
	{                                                                                          \
		const struct graph_place at = place;                                               \
		return state_leave(put);                                                           \
	}
#define GRAPH_AT_NEW {out, graph, after, count, NULL, NULL}
#define GRAPH_AT_NODE {.node = node}
#define GRAPH_AT_EXEC {.exec = exec, .node = node}
#define SOME(...) __VA_ARGS__
#define GRAPH_COPIES(suffix, given, put)                                            \
	GRAPH_COPY(cudaGraphAddMemcpyNode##suffix, SOME(GRAPH_AT_NEW), (GRAPH_NEW, given), put)    \
	GRAPH_COPY(cudaGraphMemcpyNodeSetParams##suffix, SOME(GRAPH_AT_NODE),                      \
		(cudaGraphNode_t node, given), put)                                                \
	GRAPH_COPY(cudaGraphExecMemcpyNodeSetParams##suffix, SOME(GRAPH_AT_EXEC),                  \
		(cudaGraphExec_t exec, cudaGraphNode_t node, given), put)

GRAPH_COPIES(, const struct cudaMemcpy3DParms *p, graph_put_copy(&at, p))
GRAPH_COPIES(1D, SOME(void *to, const void *from, size_t size, int kind),
	graph_put_bytes(&at, to, from, size, kind))
GRAPH_COPIES(ToSymbol,
	SOME(const void *symbol, const void *from, size_t size, size_t offset, int kind),
	graph_put_to_symbol(&at, symbol, from, size, offset, kind))
GRAPH_COPIES(FromSymbol,
	SOME(void *to, const void *symbol, size_t size, size_t offset, int kind),
	graph_put_from_symbol(&at, to, symbol, size, offset, kind))

API(cudaGraphMemcpyNodeGetParams, cudaGraphNode_t node, struct cudaMemcpy3DParms *out)
{
	CUDA_MEMCPY3D is;
	cudaError_t code = !out ? cudaErrorInvalidValue : state_enter();
	code = code ? code : driver_error(driver.cuGraphMemcpyNodeGetParams(node, &is));
	return state_leave(code ? code : copy_give(out, &is));
}

/* --- Fills --- */

API(cudaGraphAddMemsetNode, cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
	size_t count, const CUDA_MEMSET_NODE_PARAMS *p)
{
	CUcontext context;
	const cudaError_t code = graph_context(&context);
	return state_leave(code ? code : driver_error(driver.cuGraphAddMemsetNode(out, graph, after,
		count, p, context)));
}

API(cudaGraphExecMemsetNodeSetParams, cudaGraphExec_t exec, cudaGraphNode_t node,
	const CUDA_MEMSET_NODE_PARAMS *p)
{
	CUcontext context;
	const cudaError_t code = graph_context(&context);
	return state_leave(code ? code
		: driver_error(driver.cuGraphExecMemsetNodeSetParams(exec, node, p, context)));
}

/* --- Nodes of any kind --- */

/* The driver's form of parameters; `out` holds it where it differs. */
static cudaError_t graph_describe(CUgraphNodeParams **given, CUgraphNodeParams *out,
	struct cudaGraphNodeParams *p)
{
	memset(out, 0, sizeof(*out));
	out->type = (CUgraphNodeType)p->type;
	*given = out;
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return graph_describe_kernel(&out->kernel, &p->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		out->memcpy.flags = p->memcpy.flags;
		return copy_describe(&out->memcpy.copyParams, &p->memcpy.copyParams);
	default:
		/* What the driver writes into it is for the program. */
		*given = (CUgraphNodeParams *)(void *)p;
		return cudaSuccess;
	}
}

static cudaError_t graph_add(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
	const CUgraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *p)
{
	CUgraphNodeParams own, *given;
	cudaError_t code = !p ? cudaErrorInvalidValue : state_enter();
	code = code ? code : graph_describe(&given, &own, p);
	return state_leave(code ? code : driver_error(driver.cuGraphAddNode_v2(out, graph, after,
		edges, count, given)));
}

#if KZ_CUDART == 12
API(cudaGraphAddNode, cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
	size_t count, struct cudaGraphNodeParams *p)
{
	return graph_add(out, graph, after, NULL, count, p);
}

API(cudaGraphAddNode_v2, cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
	const CUgraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *p)
{
	return graph_add(out, graph, after, edges, count, p);
}
#else
API(cudaGraphAddNode, cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
	const CUgraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *p)
{
	return graph_add(out, graph, after, edges, count, p);
}
#endif

API(cudaGraphNodeSetParams, cudaGraphNode_t node, struct cudaGraphNodeParams *p)
{
	CUgraphNodeParams own, *given;
	cudaError_t code = !p ? cudaErrorInvalidValue : state_enter();
	code = code ? code : graph_describe(&given, &own, p);
	return state_leave(code ? code : driver_error(driver.cuGraphNodeSetParams(node, given)));
}

API(cudaGraphExecNodeSetParams, cudaGraphExec_t exec, cudaGraphNode_t node,
	struct cudaGraphNodeParams *p)
{
	CUgraphNodeParams own, *given;
	cudaError_t code = !p ? cudaErrorInvalidValue : state_enter();
	code = code ? code : graph_describe(&given, &own, p);
	return state_leave(code ? code
		: driver_error(driver.cuGraphExecNodeSetParams(exec, node, given)));
}

API(cudaGraphConditionalHandleCreate, CUgraphConditionalHandle *out, cudaGraph_t graph,
	unsigned int value, unsigned int flags)
{
	CUcontext context;
	const cudaError_t code = graph_context(&context);
	return state_leave(code ? code : driver_error(driver.cuGraphConditionalHandleCreate(out,
		graph, context, value, flags)));
}
