/* SPDX-License-Identifier: MIT */
/*
 * Functions and constants that came with CUDA 13.1 to 13.5.  The functions are weak symbols, so
 * that these tests can be linked with an older driver, too, which skips them.
 */
#include "cpu/support/api_graph.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#pragma weak cuFuncGetParamCount
CUresult cuFuncGetParamCount(CUfunction function, size_t *out);
#pragma weak cuKernelGetParamCount
CUresult cuKernelGetParamCount(CUkernel kernel, size_t *out);
#pragma weak cuGraphAddNode_v3
CUresult cuGraphAddNode_v3(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
	const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *params);
#pragma weak cuGraphNodeSetParams_v2
CUresult cuGraphNodeSetParams_v2(CUgraphNode node, CUgraphNodeParams *params);
#pragma weak cuGraphNodeGetParams
CUresult cuGraphNodeGetParams(CUgraphNode node, CUgraphNodeParams *out);
#pragma weak cuGraphGetId
CUresult cuGraphGetId(CUgraph graph, unsigned *out);
#pragma weak cuGraphExecGetId
CUresult cuGraphExecGetId(CUgraphExec exec, unsigned *out);
#pragma weak cuGraphNodeGetLocalId
CUresult cuGraphNodeGetLocalId(CUgraphNode node, unsigned *out);
#pragma weak cuGraphNodeGetToolsId
CUresult cuGraphNodeGetToolsId(CUgraphNode node, unsigned long long *out);
#pragma weak cuGraphNodeGetContainingGraph
CUresult cuGraphNodeGetContainingGraph(CUgraphNode node, CUgraph *out);
#pragma weak cuLaunchHostFunc_v2
CUresult cuLaunchHostFunc_v2(CUstream stream, CUhostFn function, void *data, unsigned mode);
#pragma weak cuMemGetLocationInfo
CUresult cuMemGetLocationInfo(CUdeviceptr address, size_t size, size_t summary, size_t sampling,
	CUmemLocation *out);
#pragma weak cuMemcpyWithAttributesAsync
CUresult cuMemcpyWithAttributesAsync(CUdeviceptr to, CUdeviceptr from, size_t size,
	CUmemcpyAttributes *attributes, CUstream stream);
#pragma weak cuMemcpy3DWithAttributesAsync
CUresult cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags,
	CUstream stream);
CUresult cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *options, void **values,
	unsigned count, CUlibraryOption *library_options, void **library_values,
	unsigned library_count);
CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props);
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *out);
CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name);
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t size, CUdevice device, CUstream stream);
CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count, CUstreamBatchMemOpParams *list,
	unsigned flags);

/* A driver of CUDA 13.0 has none of this. */
static bool is_older(void)
{
	return !cuGraphAddNode_v3 && driver_lacks("it is older than CUDA 13.4");
}

/* --- Functions --- */

START_TEST(kernels_count_their_parameters)
{
	size_t count = 9;
	CUlibrary library;
	CUkernel add;
	CUmodule module = load();
	if (is_older()) {
		return;
	}
	OK(cuFuncGetParamCount(kernel(module, "add"), &count));
	ck_assert_uint_eq(count, 2);
	OK(cuFuncGetParamCount(kernel(module, "stop"), &count));
	ck_assert_uint_eq(count, 0);
	FAILS(INVALID_VALUE, cuFuncGetParamCount(kernel(module, "add"), NULL));
	FAILS(INVALID_HANDLE, cuFuncGetParamCount(NULL, &count));
	OK(cuLibraryLoadData(&library, api_ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&add, library, "add"));
	OK(cuKernelGetParamCount(add, &count));
	ck_assert_uint_eq(count, 2);
	FAILS(INVALID_VALUE, cuKernelGetParamCount(add, NULL));
	FAILS(INVALID_HANDLE, cuKernelGetParamCount(NULL, &count));
}
END_TEST

static void set_word_0(void *value)
{
	atomic_store(&words[0], *(const uint32_t *)value);
}

START_TEST(host_functions_run_however_the_thread_waits)
{
	uint32_t value = 0;
	CUstream stream;
	if (is_older()) {
		return;
	}
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (unsigned mode = CU_HOST_TASK_BLOCKING; mode <= CU_HOST_TASK_SPINWAIT; mode++) {
		value = 5 + mode;
		OK(cuLaunchHostFunc_v2(stream, set_word_0, &value, mode));
		OK(cuStreamSynchronize(stream));
		ck_assert_uint_eq(atomic_load(&words[0]), 5 + mode);
	}
	FAILS(INVALID_VALUE, cuLaunchHostFunc_v2(stream, set_word_0, &value, 2));
	FAILS(INVALID_VALUE, cuLaunchHostFunc_v2(stream, NULL, &value, 0));
}
END_TEST

START_TEST(single_copies_take_attributes)
{
	CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	uint32_t host[4] = {1, 2, 3, 4}, back[4] = {0};
	CUdeviceptr a = alloc(16), from = (uintptr_t)host;
	if (is_older()) {
		return;
	}
	for (int order = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
	     order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY; order++) {
		host[0] = (uint32_t)order;
		attributes.srcAccessOrder = (CUmemcpySrcAccessOrder)order;
		OK(cuMemcpyWithAttributesAsync(a, from, 16, &attributes, NULL));
		OK(cuMemcpyWithAttributesAsync((uintptr_t)back, a, 16, &attributes, NULL));
		OK(cuStreamSynchronize(NULL));
		ck_assert_mem_eq(host, back, 16);
	}
	FAILS(INVALID_VALUE, cuMemcpyWithAttributesAsync(a, from, 16, NULL, NULL));
	FAILS(INVALID_VALUE, cuMemcpyWithAttributesAsync(a, from, 17, &attributes, NULL));
	attributes.flags = 2;
	FAILS(INVALID_VALUE, cuMemcpyWithAttributesAsync(a, from, 16, &attributes, NULL));
	attributes = (CUmemcpyAttributes){0};
	FAILS(INVALID_VALUE, cuMemcpyWithAttributesAsync(a, from, 16, &attributes, NULL));
}
END_TEST

START_TEST(single_boxes_take_attributes)
{
	uint8_t host[6] = {1, 2, 3, 4, 5, 6}, back[6] = {0};
	CUdeviceptr a = alloc(6);
	CUDA_MEMCPY3D_BATCH_OP op = {
		.src = {CU_MEMCPY_OPERAND_TYPE_POINTER, {.ptr = {.ptr = (uintptr_t)host,
			.rowLength = 3}}},
		.dst = {CU_MEMCPY_OPERAND_TYPE_POINTER, {.ptr = {.ptr = a}}},
		.extent = {2, 2, 1}, .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL
	};
	if (is_older()) {
		return;
	}
	OK(cuMemcpy3DWithAttributesAsync(&op, 0, NULL));
	OK(cuMemcpyDtoH_v2(back, a, 4));
	ck_assert_mem_eq(back, ((uint8_t[]){1, 2, 4, 5}), 4);
	FAILS(INVALID_VALUE, cuMemcpy3DWithAttributesAsync(&op, 1, NULL));
	FAILS(INVALID_VALUE, cuMemcpy3DWithAttributesAsync(NULL, 0, NULL));
	op.extent.width = 0;
	FAILS(INVALID_VALUE, cuMemcpy3DWithAttributesAsync(&op, 0, NULL));
}
END_TEST

START_TEST(memory_tells_where_it_is)
{
	const size_t page = 4096;
	CUmemLocation where[4];
	CUdeviceptr a;
	if (is_older()) {
		return;
	}
	void *mine = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	OK(cuMemAllocManaged(&a, 8 * page, CU_MEM_ATTACH_GLOBAL));
	memset((void *)(uintptr_t)a, 1, 8 * page);
	OK(cuMemPrefetchAsync(a + 3 * page, 2 * page, 0, NULL));
	OK(cuStreamSynchronize(NULL));
	// In parts of three pages: 0 to 2 and 5 to 7 are of the host, 3 and 4 of the device.
	OK(cuMemGetLocationInfo(a, 8 * page, 3 * page, 0, where));
	ck_assert_int_eq(where[0].type, CU_MEM_LOCATION_TYPE_HOST);
	ck_assert_int_eq(where[1].type, CU_MEM_LOCATION_TYPE_DEVICE);
	ck_assert_int_eq(where[1].id, 0);
	ck_assert_int_eq(where[2].type, CU_MEM_LOCATION_TYPE_HOST);
	OK(cuMemGetLocationInfo((uintptr_t)mine, page, page, 1, where));
	ck_assert_int_eq(where[0].type, CU_MEM_LOCATION_TYPE_HOST);
	FAILS(INVALID_VALUE, cuMemGetLocationInfo(a, 8 * page, 0, 0, where));
	FAILS(INVALID_VALUE, cuMemGetLocationInfo(a, 8 * page, 9 * page, 0, where));
	FAILS(INVALID_VALUE, cuMemGetLocationInfo(a, 8 * page, page, 2 * page, where));
	FAILS(INVALID_VALUE, cuMemGetLocationInfo(a, 8 * page, page, 0, NULL));
	FAILS(INVALID_VALUE, cuMemGetLocationInfo(a, 9 * page, page, 0, where));
	FAILS(INVALID_VALUE, cuMemGetLocationInfo(alloc(64), 64, 64, 0, where));
	FAILS(INVALID_VALUE, cuMemGetLocationInfo((uintptr_t)words, 64, 64, 0, where));
	munmap(mine, page);
}
END_TEST

/* --- Graphs --- */

START_TEST(graphs_and_nodes_have_numbers)
{
	unsigned ids[3], nodes[3];
	unsigned long long tools[2];
	CUgraph graph = new_graph(), other = new_graph(), inside;
	CUgraphNode a = add_empty(graph, NULL, 0), b = add_empty(graph, &a, 1), child;
	if (is_older()) {
		return;
	}
	OK(cuGraphAddChildGraphNode(&child, graph, NULL, 0, other));
	OK(cuGraphGetId(graph, &ids[0]));
	OK(cuGraphGetId(other, &ids[1]));
	OK(cuGraphExecGetId(new_exec(graph), &ids[2]));
	ck_assert_uint_ne(ids[0], ids[1]);
	ck_assert_uint_ne(ids[0], ids[2]);
	OK(cuGraphNodeGetLocalId(a, &nodes[0]));
	OK(cuGraphNodeGetLocalId(b, &nodes[1]));
	ck_assert_uint_ne(nodes[0], nodes[1]);
	OK(cuGraphDestroyNode(a));
	OK(cuGraphNodeGetLocalId(add_empty(graph, NULL, 0), &nodes[2]));
	ck_assert(nodes[2] != nodes[0] && nodes[2] != nodes[1]);
	OK(cuGraphNodeGetToolsId(b, &tools[0]));
	OK(cuGraphNodeGetToolsId(child, &tools[1]));
	ck_assert_uint_ne(tools[0], tools[1]);
	OK(cuGraphChildGraphNodeGetGraph(child, &inside));
	OK(cuGraphNodeGetContainingGraph(add_empty(inside, NULL, 0), &other));
	ck_assert_ptr_eq(other, inside);
	OK(cuGraphNodeGetContainingGraph(b, &other));
	ck_assert_ptr_eq(other, graph);
	FAILS(INVALID_VALUE, cuGraphNodeGetContainingGraph(a, &other));
	FAILS(INVALID_VALUE, cuGraphGetId(graph, NULL));
	FAILS(INVALID_VALUE, cuGraphGetId(NULL, ids));
}
END_TEST

/* "graph_3_node_1 -> graph_3_node_2" */
START_TEST(drawings_have_these_numbers)
{
	char path[] = "/tmp/kudzu-dot-XXXXXX", text[4096], edge[128];
	unsigned id, from, to;
	CUgraph graph = new_graph();
	CUgraphNode a = add_empty(graph, NULL, 0), b = add_empty(graph, &a, 1);
	CUgraphNode c = add_empty(graph, &b, 1);
	if (is_older()) {
		return;
	}
	OK(cuGraphDestroyNode(a));
	OK(cuGraphGetId(graph, &id));
	OK(cuGraphNodeGetLocalId(b, &from));
	OK(cuGraphNodeGetLocalId(c, &to));
	close(mkstemp(path));
	OK(cuGraphDebugDotPrint(graph, path, CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_BATCH_NODE_PARAMS));
	FILE *file = fopen(path, "r");
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	remove(path);
	snprintf(edge, sizeof(edge), "graph_%u_node_%u -> graph_%u_node_%u;", id, from, id, to);
	ck_assert_msg(strstr(text, edge) != NULL, "no '%s' in %s", edge, text);
	FAILS(INVALID_VALUE, cuGraphDebugDotPrint(graph, path, 1u << 18));
}
END_TEST

START_TEST(any_node_tells_its_parameters)
{
	CUgraphNodeParams p;
	CUgraph graph = new_graph(), child = new_graph();
	CUdeviceptr a = alloc(64);
	uint32_t value = 7;
	const CUDA_MEMSET_NODE_PARAMS fill = {a, 0, 9, 4, 16, 1};
	CUgraphNode node = add_plus(graph, NULL, 0, a, value);
	if (is_older()) {
		return;
	}
	OK(cuGraphNodeGetParams(node, &p));
	ck_assert_int_eq(p.type, CU_GRAPH_NODE_TYPE_KERNEL);
	ck_assert_ptr_eq(p.kernel.func, kernel(wait_module, "add"));
	ck_assert_ptr_eq(p.kernel.ctx, context);
	ck_assert_uint_eq(*(uint32_t *)p.kernel.kernelParams[1], value);
	OK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, context));
	OK(cuGraphNodeGetParams(node, &p));
	ck_assert_int_eq(p.type, CU_GRAPH_NODE_TYPE_MEMSET);
	ck_assert_uint_eq(p.memset.dst, a);
	ck_assert_uint_eq(p.memset.width, 16);
	OK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
	OK(cuGraphNodeGetParams(node, &p));
	OK(cuGraphChildGraphNodeGetGraph(node, &child));
	ck_assert_ptr_eq(p.graph.graph, child);
	ck_assert_int_eq(p.graph.ownership, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_INVALID);
	OK(cuGraphNodeGetParams(add_alloc(graph, &a), &p));
	ck_assert_uint_eq(p.alloc.dptr, a);
	OK(cuGraphNodeGetParams(add_empty(graph, NULL, 0), &p));
	ck_assert_int_eq(p.type, CU_GRAPH_NODE_TYPE_EMPTY);
	FAILS(INVALID_VALUE, cuGraphNodeGetParams(node, NULL));
	FAILS(INVALID_VALUE, cuGraphNodeGetParams(NULL, &p));
}
END_TEST

START_TEST(third_form_of_adding_looks_at_the_context)
{
	uint32_t value = 3;
	CUdeviceptr a = alloc(4);
	void *values[] = {&a, &value};
	CUgraph graph = new_graph();
	CUgraphNode node, host;
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = add_params(values)};
	CUgraphNodeParams h = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {.fn = set_word_0,
		.userData = &value, .syncMode = CU_HOST_TASK_SPINWAIT}};
	CUcontext other = new_context();
	OK(cuCtxSetCurrent(context));
	if (is_older()) {
		return;
	}
	p.kernel.ctx = context;
	OK(cuGraphAddNode_v3(&node, graph, NULL, NULL, 0, &p));
	OK(cuGraphAddNode_v3(&host, graph, &node, NULL, 1, &h));
	p.kernel.ctx = other;
	FAILS(INVALID_CONTEXT, cuGraphAddNode_v3(&host, graph, NULL, NULL, 0, &p));
	FAILS(INVALID_CONTEXT, cuGraphNodeSetParams_v2(node, &p));
	value = 4;
	p.kernel.ctx = NULL;
	OK(cuGraphNodeSetParams_v2(node, &p));
	h.host.syncMode = 2;
	FAILS(INVALID_VALUE, cuGraphAddNode_v3(&host, graph, NULL, NULL, 0, &h));
	CUgraphExec exec = new_exec(graph);
	set_word(a, 10);
	launch_and_wait(exec, NULL);
	ck_assert_uint_eq(word_at(a), 14);
	ck_assert_uint_eq(atomic_load(&words[0]), 4);
	release_graph(exec, graph);
	OK(cuCtxDestroy_v2(other));
}
END_TEST

/* A batch of copies as a node: of 4, 0 and 8 bytes. */
static CUgraphNodeParams batch(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes)
{
	static CUmemcpyAttributes attributes = {CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, {0}, {0}, 0};
	static size_t first = 0;
	return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMCPY_BATCH, .memcpyBatch = {
		.count = 3, .dsts = to, .srcs = from, .sizes = sizes, .attrs = &attributes,
		.attrsIdxs = &first, .numAttrs = 1}};
}

START_TEST(batches_of_copies_are_nodes)
{
	uint32_t host[4] = {1, 2, 3, 4}, back[4];
	CUdeviceptr a = alloc(16);
	CUdeviceptr to[] = {a + 12, a + 4, a}, from[] = {(uintptr_t)host, 0, (uintptr_t)&host[2]};
	size_t sizes[] = {4, 0, 8};
	CUgraph graph = new_graph();
	CUgraphNode node;
	CUgraphNodeParams p = batch(to, from, sizes), got;
	if (is_older()) {
		return;
	}
	OK(cuMemsetD8_v2(a, 0, 16));
	OK(cuGraphAddNode_v3(&node, graph, NULL, NULL, 0, &p));
	CUgraphExec exec = new_exec(graph);
	to[0] = a; // the node has lists of its own
	OK(cuGraphNodeGetParams(node, &got));
	ck_assert_uint_eq(got.memcpyBatch.dsts[0], a + 12);
	ck_assert_uint_eq(got.memcpyBatch.sizes[2], 8);
	ck_assert_uint_eq(got.memcpyBatch.attrsIdxs[0], 0);
	ck_assert_ptr_eq(got.memcpyBatch.ctx, context);
	launch_and_wait(exec, NULL);
	OK(cuMemcpyDtoH_v2(back, a, 16));
	ck_assert_mem_eq(back, ((uint32_t[]){3, 4, 0, 1}), 16);
	to[0] = a + 8;
	OK(cuGraphExecNodeSetParams(exec, node, &p));
	launch_and_wait(exec, NULL);
	ck_assert_uint_eq(word_at(a + 8), 1);
	p.memcpyBatch.count = 2;
	FAILS(INVALID_VALUE, cuGraphExecNodeSetParams(exec, node, &p));
	release_graph(exec, graph);
}
END_TEST

START_TEST(bad_batches_are_refused)
{
	CUdeviceptr a = alloc(16), to[] = {a, a, a}, from[] = {a + 8, a, a + 8};
	size_t sizes[] = {4, 0, 8}, firsts[] = {0, 3};
	CUgraph graph = new_graph();
	CUgraphNode node;
	CUgraphNodeParams good = batch(to, from, sizes), p = good;
	if (is_older()) {
		return;
	}
	sizes[2] = 9;
	FAILS(INVALID_VALUE, cuGraphAddNode_v3(&node, graph, NULL, NULL, 0, &p));
	sizes[2] = 8;
	p.memcpyBatch.count = 0;
	FAILS(INVALID_VALUE, cuGraphAddNode_v3(&node, graph, NULL, NULL, 0, &p));
	p = good;
	p.memcpyBatch.srcs = NULL;
	FAILS(INVALID_VALUE, cuGraphAddNode_v3(&node, graph, NULL, NULL, 0, &p));
	p = good;
	p.memcpyBatch.attrsIdxs = &firsts[1];
	FAILS(INVALID_VALUE, cuGraphAddNode_v3(&node, graph, NULL, NULL, 0, &p));
	p.memcpyBatch.attrsIdxs = firsts;
	p.memcpyBatch.numAttrs = 4;
	FAILS(INVALID_VALUE, cuGraphAddNode_v3(&node, graph, NULL, NULL, 0, &p));
	p = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_FABRIC_CPY_BATCH};
	FAILS(NOT_SUPPORTED, cuGraphAddNode_v3(&node, graph, NULL, NULL, 0, &p));
	p.type = CU_GRAPH_NODE_TYPE_RESERVED_16;
	FAILS(INVALID_VALUE, cuGraphAddNode_v3(&node, graph, NULL, NULL, 0, &p));
}
END_TEST

/* --- Constants --- */

static const struct reduction {
	CUstreamAtomicReductionOpType how;
	CUstreamAtomicReductionDataType type;
	uint64_t before, value, after;
} reductions[] = {
	{CU_STREAM_ATOMIC_REDUCTION_OP_ADD, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32,
		0x9fffffffe, 5, 0x900000003},
	{CU_STREAM_ATOMIC_REDUCTION_OP_AND, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32,
		0x90000000c, 6, 0x900000004},
	{CU_STREAM_ATOMIC_REDUCTION_OP_OR, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32,
		0x90000000c, 6, 0x90000000e},
	{CU_STREAM_ATOMIC_REDUCTION_OP_ADD, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64,
		UINT64_MAX, 5, 4},
	{CU_STREAM_ATOMIC_REDUCTION_OP_AND, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64,
		0xf00000000000000c, 0x8000000000000006, 0x8000000000000004},
	{CU_STREAM_ATOMIC_REDUCTION_OP_OR, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64,
		0x4000000000000000, 1, 0x4000000000000001},
};

START_TEST(streams_reduce_into_memory)
{
	const struct reduction *row = &reductions[_i];
	CUdeviceptr a = alloc(8);
	CUstreamBatchMemOpParams op = {.atomicReduction = {
		.operation = CU_STREAM_MEM_OP_ATOMIC_REDUCTION, .reductionOp = row->how,
		.dataType = row->type, .address = a, .value = row->value}};
	uint64_t got;
	if (is_older()) {
		return;
	}
	OK(cuMemcpyHtoD_v2(a, &row->before, 8));
	OK(cuStreamBatchMemOp_v2(NULL, 1, &op, 0));
	OK(cuMemcpyDtoH_v2(&got, a, 8));
	ck_assert_uint_eq(got, row->after);
	op.atomicReduction.flags = 1;
	FAILS(INVALID_VALUE, cuStreamBatchMemOp_v2(NULL, 1, &op, 0));
	op.atomicReduction.flags = 0;
	op.atomicReduction.address = a + 2;
	FAILS(INVALID_VALUE, cuStreamBatchMemOp_v2(NULL, 1, &op, 0));
	op.atomicReduction.address = a;
	op.atomicReduction.reductionOp = (CUstreamAtomicReductionOpType)1;
	FAILS(INVALID_VALUE, cuStreamBatchMemOp_v2(NULL, 1, &op, 0));
}
END_TEST

static CUresult launch_with(CUfunction function, unsigned shared, CUlaunchAttributeID id, int value)
{
	CUlaunchAttribute attribute = {.id = id};
	const CUlaunchConfig config = {1, 1, 1, 1, 1, 1, shared, NULL, &attribute, 1};
	memcpy(&attribute.value, &value, sizeof(value));
	return cuLaunchKernelEx(&config, function, NULL, NULL);
}

/* Without the mode, 48 KiB are what a launch may ask for unless the kernel was given more. */
START_TEST(modes_of_shared_memory_set_its_limit)
{
	const CUlaunchAttributeID mode = CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE;
	int most, portable, value;
	CUfunction function = kernel(load(), "small");
	if (is_older()) {
		return;
	}
	OK(cuDeviceGetAttribute(&portable, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 0));
	OK(cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
	ck_assert_int_lt(portable, most);
	FAILS(INVALID_VALUE, launch_with(function, (unsigned)most, mode, 0));
	FAILS(INVALID_VALUE, launch_with(function, (unsigned)most, mode,
		CU_SHARED_MEMORY_MODE_REQUIRE_PORTABLE));
	OK(launch_with(function, (unsigned)portable, mode, CU_SHARED_MEMORY_MODE_REQUIRE_PORTABLE));
	OK(launch_with(function, (unsigned)most, mode, CU_SHARED_MEMORY_MODE_ALLOW_NON_PORTABLE));
	FAILS(INVALID_VALUE, launch_with(function, 0, mode, 5));
	OK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE,
		CU_SHARED_MEMORY_MODE_ALLOW_NON_PORTABLE));
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE, function));
	ck_assert_int_eq(value, CU_SHARED_MEMORY_MODE_ALLOW_NON_PORTABLE);
	OK(launch_with(function, (unsigned)most, mode, CU_SHARED_MEMORY_MODE_DEFAULT));
	FAILS(INVALID_VALUE, cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE, 5));
	const CUlaunchAttributeID clusters = CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE;
	OK(launch_with(function, 0, clusters, CU_LAUNCH_PORTABLE_CLUSTER_MODE_ALLOW_NON_PORTABLE));
	FAILS(INVALID_VALUE, launch_with(function, 0, clusters, 3));
	OK(cuCtxSynchronize());
}
END_TEST

START_TEST(pools_tell_how_they_were_created)
{
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, .maxSize = 1 << 24,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	static const struct {
		CUmemPool_attribute attribute;
		int value;
	} rows[] = {
		{CU_MEMPOOL_ATTR_ALLOCATION_TYPE, CU_MEM_ALLOCATION_TYPE_PINNED},
		{CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR},
		{CU_MEMPOOL_ATTR_LOCATION_ID, 0},
		{CU_MEMPOOL_ATTR_LOCATION_TYPE, CU_MEM_LOCATION_TYPE_DEVICE},
		{CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED, 0},
		{CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID, -1},
	};
	CUmemoryPool pool;
	cuuint64_t size = 0;
	if (is_older()) {
		return;
	}
	OK(cuMemPoolCreate(&pool, &props));
	for (size_t i = 0; i < countof(rows); i++) {
		int value = 99;
		OK(cuMemPoolGetAttribute(pool, rows[i].attribute, &value));
		ck_assert_msg(value == rows[i].value, "attribute %d is %d", rows[i].attribute,
			value);
		FAILS(INVALID_VALUE, cuMemPoolSetAttribute(pool, rows[i].attribute, &value));
	}
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_MAX_POOL_SIZE, &size));
	ck_assert_uint_ge(size, 1 << 24);
	FAILS(INVALID_VALUE, cuMemPoolGetAttribute(pool, (CUmemPool_attribute)16, &size));
}
END_TEST

START_TEST(new_questions_have_answers)
{
	int value, cores;
	CUdeviceptr a = alloc(4);
	CUjit_option option = CU_JIT_BINARY_LOADER_THREAD_COUNT;
	void *threads = (void *)(uintptr_t)2;
	CUmodule module;
	if (is_older()) {
		return;
	}
	OK(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL, a));
	ck_assert_int_eq(value, -1);
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_ATOMIC_REDUCTION_SUPPORTED, 0));
	ck_assert_int_eq(value, 1);
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_COUNT, 0));
	ck_assert_int_eq(value, 1);
	OK(cuDeviceGetAttribute(&cores, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT,
		0));
	ck_assert_int_eq(value, cores);
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_DEVICE_NODE_UPDATE_SUPPORTED,
		kernel(load(), "add")));
	ck_assert_int_eq(value, 0);
	OK(cuModuleLoadDataEx(&module, api_ptx, 1, &option, &threads));
	FAILS(UNSUPPORTED_LIMIT, cuCtxSetLimit(CU_LIMIT_PER_BLOCK_MEMORY_SIZE, 1));
}
END_TEST

/* The words are those of CUDA's runtime library 13.5. */
START_TEST(new_codes_have_names_and_texts)
{
	static const struct {
		CUresult code;
		const char *name, *text;
	} rows[] = {
		{CUDA_ERROR_INSUFFICIENT_LOADER_VERSION, "CUDA_ERROR_INSUFFICIENT_LOADER_VERSION",
			"Loader version is insufficient for fatbin"},
		{CUDA_ERROR_STREAM_DETACHED, "CUDA_ERROR_STREAM_DETACHED", "API call not permitted "
			"since the green context associated with the stream has been destroyed"},
		{CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, "CUDA_ERROR_GRAPH_RECAPTURE_FAILURE",
			"recapturing to the source graph failed and had to be terminated"},
		{CUDA_ERROR_FABRIC_NOT_READY, "CUDA_ERROR_FABRIC_NOT_READY", "GPU fabric is not "
			"ready within the probe wait budget; application may retry (see "
			"CUDA_FABRIC_INIT_TIMEOUT_MS)"},
	};
	const char *text;
	for (size_t i = 0; !is_older() && i < countof(rows); i++) {
		OK(cuGetErrorName(rows[i].code, &text));
		ck_assert_str_eq(text, rows[i].name);
		OK(cuGetErrorString(rows[i].code, &text));
		ck_assert_str_eq(text, rows[i].text);
	}
}
END_TEST

SUITE(api_newer)
{
	Suite *suite = suite_create("api_newer");
	TCase *tc = add_case(suite, "functions", graph_setup, teardown);
	tcase_add_tests(tc, 1, kernels_count_their_parameters,
		host_functions_run_however_the_thread_waits, single_copies_take_attributes,
		single_boxes_take_attributes, memory_tells_where_it_is);
	tc = add_case(suite, "graphs", graph_setup, teardown);
	tcase_add_tests(tc, 1, graphs_and_nodes_have_numbers, drawings_have_these_numbers,
		any_node_tells_its_parameters, third_form_of_adding_looks_at_the_context,
		batches_of_copies_are_nodes, bad_batches_are_refused);
	tc = add_case(suite, "constants", graph_setup, teardown);
	tcase_add_tests(tc, countof(reductions), streams_reduce_into_memory);
	tcase_add_tests(tc, 1, modes_of_shared_memory_set_its_limit,
		pools_tell_how_they_were_created, new_questions_have_answers,
		new_codes_have_names_and_texts);
	return suite;
}
