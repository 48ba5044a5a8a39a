/* SPDX-License-Identifier: MIT */
#ifndef CPU_ABI_API_GRAPH_H
#define CPU_ABI_API_GRAPH_H

/*
 * The parameters of one kind of node, as parameters of any node.  The functions for one kind of
 * node fill in the union and call the function for all kinds, for graphs and for executable graphs
 * alike.  NULL stays NULL, which params_given then refuses.
 */
#include "cpu/abi/api.h"

static inline CUresult params_given(const char *call, const void *p)
{
	CUresult result = api_ready(call);
	return result == CUDA_SUCCESS && !p ? api_null(call, "the parameters") : result;
}

static inline CUgraphNodeParams *params_of_kernel(const CUDA_KERNEL_NODE_PARAMS *p,
	CUgraphNodeParams *out)
{
	if (p) {
		*out = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = *p};
	}
	return p ? out : NULL;
}

static inline CUgraphNodeParams *params_of_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p,
	CUgraphNodeParams *out)
{
	if (p) {
		*out = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = {
			.func = p->func, .gridDimX = p->gridDimX, .gridDimY = p->gridDimY,
			.gridDimZ = p->gridDimZ, .blockDimX = p->blockDimX,
			.blockDimY = p->blockDimY, .blockDimZ = p->blockDimZ,
			.sharedMemBytes = p->sharedMemBytes,
			.kernelParams = p->kernelParams, .extra = p->extra
		}};
	}
	return p ? out : NULL;
}

static inline CUgraphNodeParams *params_of_copy(const CUDA_MEMCPY3D *p, CUcontext context,
	CUgraphNodeParams *out)
{
	if (p) {
		*out = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMCPY,
			.memcpy = {.copyCtx = context, .copyParams = *p}};
	}
	return p ? out : NULL;
}

static inline CUgraphNodeParams *params_of_fill(const CUDA_MEMSET_NODE_PARAMS *p,
	CUcontext context, CUgraphNodeParams *out)
{
	if (p) {
		*out = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMSET,
			.memset = {p->dst, p->pitch, p->value, p->elementSize, p->width, p->height,
				context}};
	}
	return p ? out : NULL;
}

static inline CUgraphNodeParams *params_of_host(const CUDA_HOST_NODE_PARAMS *p,
	CUgraphNodeParams *out)
{
	if (p) {
		*out = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_HOST,
			.host = {.fn = p->fn, .userData = p->userData}};
	}
	return p ? out : NULL;
}

static inline CUgraphNodeParams *params_of_values(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p,
	CUgraphNodeParams *out)
{
	if (p) {
		*out = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, .memOp = *p};
	}
	return p ? out : NULL;
}

#endif
