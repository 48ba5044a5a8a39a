/* SPDX-License-Identifier: MIT */
/* Graphs of the runtime: nodes by host functions and symbols, capture, conditions, updates. */
#include "base/common.h"

#include "program.h"

#include "cudart/api_array.h"
#include "support/suite.h"

#include <string.h>

#define NEW cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count
cudaError_t cudaGraphCreate(cudaGraph_t *out, unsigned flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphAddKernelNode(NEW, const struct cudaKernelNodeParams *p);
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *out);
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
	const struct cudaKernelNodeParams *p);
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
	const struct cudaKernelNodeParams *p);
cudaError_t cudaGraphAddMemcpyNode(NEW, const struct cudaMemcpy3DParms *p);
cudaError_t cudaGraphAddMemcpyNode1D(NEW, void *to, const void *from, size_t size, int kind);
cudaError_t cudaGraphAddMemcpyNodeToSymbol(NEW, const void *symbol, const void *from, size_t size,
	size_t offset, int kind);
cudaError_t cudaGraphAddMemcpyNodeFromSymbol(NEW, void *to, const void *symbol, size_t size,
	size_t offset, int kind);
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *out);
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from,
	size_t size, int kind);
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
	const void *from, size_t size, int kind);
cudaError_t cudaGraphAddMemsetNode(NEW, const CUDA_MEMSET_NODE_PARAMS *p);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, CUgraphNodeType *out);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
	CUgraphExecUpdateResultInfo *out);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphConditionalHandleCreate(CUgraphConditionalHandle *out, cudaGraph_t graph,
	unsigned value, unsigned flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, CUstreamCaptureStatus *out);
#if KZ_CUDART == 12
cudaError_t cudaGraphAddNode(NEW, struct cudaGraphNodeParams *p);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
	size_t *count);
cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
	CUgraphEdgeData *edges, size_t *count);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, CUstreamCaptureStatus *status,
	cuuint64_t *id);
#define GRAPH_ADD(out, graph, after, count, p) cudaGraphAddNode(out, graph, after, count, p)
#else
cudaError_t cudaGraphAddNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
	const CUgraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *p);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
	CUgraphEdgeData *edges, size_t *count);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, CUstreamCaptureStatus *status,
	cuuint64_t *id, cudaGraph_t *graph, const cudaGraphNode_t **nodes,
	const CUgraphEdgeData **edges, size_t *count);
#define GRAPH_ADD(out, graph, after, count, p) cudaGraphAddNode(out, graph, after, NULL, count, p)
#endif

static struct program program;
static cudaGraph_t graph;
static cudaStream_t stream;

static const struct cudaKernelNodeParams counting = {.func = (void *)(uintptr_t)program_count,
	.gridDim = {2, 1, 1}, .blockDim = {3, 1, 1}};

static void setup(void)
{
	program_start(&program);
	program_ok(cudaGraphCreate(&graph, 0));
	program_ok(cudaStreamCreate(&stream));
}

/* Instantiate, launch, wait. */
static void run(void)
{
	cudaGraphExec_t exec;
	program_ok(cudaGraphInstantiate(&exec, graph, 0));
	program_ok(cudaGraphLaunch(exec, stream));
	program_ok(cudaStreamSynchronize(stream));
	program_ok(cudaGraphExecDestroy(exec));
}

static unsigned counter(void)
{
	unsigned value;
	program_ok(cudaMemcpyFromSymbol(&value, &program_counter, 4, 0, cudaMemcpyDeviceToHost));
	return value;
}

START_TEST(a_kernel_node_names_a_host_function)
{
	cudaGraphNode_t node;
	struct cudaKernelNodeParams p;
	program_ok(cudaGraphAddKernelNode(&node, graph, NULL, 0, &counting));
	program_ok(cudaGraphKernelNodeGetParams(node, &p));
	ck_assert_ptr_eq(p.func, counting.func);
	ck_assert_uint_eq(p.gridDim.x, 2);
	ck_assert_uint_eq(p.blockDim.x, 3);
	run();
	ck_assert_uint_eq(counter(), 6);
	p.gridDim.x = 5;
	program_ok(cudaGraphKernelNodeSetParams(node, &p));
	run();
	ck_assert_uint_eq(counter(), 6 + 15);
	cudaGraphExec_t exec;
	program_ok(cudaGraphInstantiate(&exec, graph, 0));
	program_ok(cudaGraphExecKernelNodeSetParams(exec, node, &counting));
	program_ok(cudaGraphLaunch(exec, stream));
	program_ok(cudaStreamSynchronize(stream));
	ck_assert_uint_eq(counter(), 6 + 15 + 6);
	program_fails(cudaGraphAddKernelNode(&node, graph, NULL, 0, NULL), cudaErrorInvalidValue);
}
END_TEST

START_TEST(copies_go_to_and_from_symbols)
{
	cudaGraphNode_t nodes[3];
	unsigned from = 40, to = 0;
	program_ok(cudaGraphAddMemcpyNodeToSymbol(&nodes[0], graph, NULL, 0, &program_counter,
		&from, 4, 0, cudaMemcpyHostToDevice));
	program_ok(cudaGraphAddKernelNode(&nodes[1], graph, &nodes[0], 1, &counting));
	program_ok(cudaGraphAddMemcpyNodeFromSymbol(&nodes[2], graph, &nodes[1], 1, &to,
		&program_counter, 4, 0, cudaMemcpyDeviceToHost));
	run();
	ck_assert_uint_eq(to, 46);
	program_fails(cudaGraphAddMemcpyNodeToSymbol(&nodes[0], graph, NULL, 0, &program_counter,
		&from, 4, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	program_fails(cudaGraphAddMemcpyNodeToSymbol(&nodes[0], graph, NULL, 0, &from, &from, 4, 0,
		cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
}
END_TEST

START_TEST(copies_and_fills_are_nodes)
{
	unsigned from[2] = {1, 2}, to[2] = {0, 0};
	void *memory;
	cudaGraphNode_t nodes[3];
	struct cudaMemcpy3DParms p;
	program_ok(cudaMalloc(&memory, 8));
	program_ok(cudaGraphAddMemcpyNode1D(&nodes[0], graph, NULL, 0, memory, from, 8,
		cudaMemcpyHostToDevice));
	const CUDA_MEMSET_NODE_PARAMS fill = {.dst = (CUdeviceptr)(uintptr_t)memory, .value = 9,
		.elementSize = 4, .width = 1, .height = 1};
	program_ok(cudaGraphAddMemsetNode(&nodes[1], graph, &nodes[0], 1, &fill));
	const struct cudaMemcpy3DParms back = {.srcPtr = {memory, 8, 8, 1}, .dstPtr = {to, 8, 8, 1},
		.extent = {8, 1, 1}, .kind = cudaMemcpyDeviceToHost};
	program_ok(cudaGraphAddMemcpyNode(&nodes[2], graph, &nodes[1], 1, &back));
	program_ok(cudaGraphMemcpyNodeGetParams(nodes[2], &p));
	ck_assert_ptr_eq(p.srcPtr.ptr, memory);
	ck_assert_ptr_eq(p.dstPtr.ptr, to);
	ck_assert_uint_eq(p.extent.width, 8);
	run();
	ck_assert_uint_eq(to[0], 9);
	ck_assert_uint_eq(to[1], 2);
	program_ok(cudaGraphMemcpyNodeSetParams1D(nodes[2], &to[1], memory, 4,
		cudaMemcpyDeviceToHost));
	run();
	ck_assert_uint_eq(to[1], 9);
}
END_TEST

START_TEST(nodes_of_any_kind_are_added_by_one_function)
{
	cudaGraphNode_t nodes[2];
	CUgraphNodeType type;
	unsigned to = 0;
	void *address;
	struct cudaGraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = counting};
	program_ok(GRAPH_ADD(&nodes[0], graph, NULL, 0, &p));
	program_ok(cudaGetSymbolAddress(&address, &program_counter));
	memset(&p, 0, sizeof(p));
	p.type = CU_GRAPH_NODE_TYPE_MEMCPY;
	p.memcpy.copyParams = (struct cudaMemcpy3DParms){.srcPtr = {address, 4, 4, 1},
		.dstPtr = {&to, 4, 4, 1}, .extent = {4, 1, 1}, .kind = cudaMemcpyDefault};
	program_ok(GRAPH_ADD(&nodes[1], graph, nodes, 1, &p));
	program_ok(cudaGraphNodeGetType(nodes[1], &type));
	ck_assert_int_eq(type, CU_GRAPH_NODE_TYPE_MEMCPY);
	run();
	ck_assert_uint_eq(to, 6);
	cudaGraphNode_t before[1], behind[1];
	size_t count = 1;
#if KZ_CUDART == 12
	program_ok(cudaGraphGetEdges(graph, before, behind, &count));
	CUgraphEdgeData edge;
	program_ok(cudaGraphGetEdges_v2(graph, before, behind, &edge, &count));
#else
	CUgraphEdgeData edge;
	program_ok(cudaGraphGetEdges(graph, before, behind, &edge, &count));
#endif
	ck_assert_uint_eq(count, 1);
	ck_assert_ptr_eq(before[0], nodes[0]);
	ck_assert_ptr_eq(behind[0], nodes[1]);
}
END_TEST

START_TEST(a_condition_decides_about_its_body)
{
	CUgraphConditionalHandle handle;
	cudaGraphNode_t node, body;
	program_ok(cudaGraphConditionalHandleCreate(&handle, graph, (unsigned)_i,
		CU_GRAPH_COND_ASSIGN_DEFAULT));
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
		.conditional = {.handle = handle, .type = CU_GRAPH_COND_TYPE_IF, .size = 1}};
	program_ok(GRAPH_ADD(&node, graph, NULL, 0, (struct cudaGraphNodeParams *)(void *)&p));
	ck_assert_ptr_nonnull(p.conditional.phGraph_out);
	program_ok(cudaGraphAddKernelNode(&body, p.conditional.phGraph_out[0], NULL, 0, &counting));
	run();
	ck_assert_uint_eq(counter(), _i ? 6 : 0);
}
END_TEST

START_TEST(a_stream_is_captured)
{
	CUstreamCaptureStatus status;
	cuuint64_t id = 0;
	unsigned to = 0;
	cudaGraphExec_t exec;
	CUgraphExecUpdateResultInfo info;
	for (unsigned i = 0; i < 2; i++) {
		program_ok(cudaStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
		program_ok(cudaLaunchKernel(program_count, (dim3){1 + i, 1, 1}, (dim3){3, 1, 1},
			NULL, 0, stream));
		program_ok(cudaStreamIsCapturing(stream, &status));
		ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
#if KZ_CUDART == 12
		program_ok(cudaStreamGetCaptureInfo(stream, &status, &id));
#else
		const cudaGraphNode_t *nodes;
		size_t count = 0;
		program_ok(cudaStreamGetCaptureInfo(stream, &status, &id, NULL, &nodes, NULL,
			&count));
		ck_assert_uint_eq(count, 1);
#endif
		ck_assert_uint_ne(id, 0);
		program_ok(cudaStreamEndCapture(stream, &graph));
		if (i == 0) {
			program_ok(cudaGraphInstantiate(&exec, graph, 0));
		} else {
			program_ok(cudaGraphExecUpdate(exec, graph, &info));
			ck_assert_int_eq(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
		}
		program_ok(cudaGraphLaunch(exec, stream));
		program_ok(cudaStreamSynchronize(stream));
		to = counter();
		ck_assert_uint_eq(to, i == 0 ? 3 : 9);
		program_ok(cudaGraphDestroy(graph));
	}
}
END_TEST

SUITE(cudart_graph)
{
	Suite *suite = suite_create("cudart_graph");
	TCase *tc = suite_add_case(suite, "nodes");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_kernel_node_names_a_host_function);
	tcase_add_test(tc, copies_go_to_and_from_symbols);
	tcase_add_test(tc, copies_and_fills_are_nodes);
	tcase_add_test(tc, nodes_of_any_kind_are_added_by_one_function);
	tcase_add_loop_test(tc, a_condition_decides_about_its_body, 0, 2);
	tc = suite_add_case(suite, "capture");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_stream_is_captured);
	return suite;
}
