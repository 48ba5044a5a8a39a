/* SPDX-License-Identifier: MIT */
/* Graphs made node by node: what they do, how they change, and what is refused. */
#include "cpu/support/api_graph.h"
#include "support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COUNT = 64 };

static CUDA_MEMCPY3D copy_of(CUmemorytype from_type, const void *from, CUmemorytype to_type,
	const void *to, size_t size)
{
	return (CUDA_MEMCPY3D){.srcMemoryType = from_type, .srcHost = from,
		.srcDevice = (uintptr_t)from, .dstMemoryType = to_type, .dstHost = (void *)to,
		.dstDevice = (uintptr_t)to, .WidthInBytes = size, .Height = 1, .Depth = 1};
}

static CUgraphNode add_copy(CUgraph graph, const CUgraphNode *from, size_t count,
	const CUDA_MEMCPY3D *copy)
{
	CUgraphNode node = NULL;
	OK(cuGraphAddMemcpyNode(&node, graph, from, count, copy, context));
	return node;
}

START_TEST(saxpy_by_nodes_is_what_the_host_computes)
{
	float x[COUNT], y[COUNT], result[COUNT];
	float a = 2.5f;
	void *dx = (void *)(uintptr_t)alloc(sizeof(x));
	void *dy = (void *)(uintptr_t)alloc(sizeof(y));
	for (int i = 0; i < COUNT; i++) {
		x[i] = (float)i * 0.37f;
		y[i] = 100.0f / (float)(i + 1);
	}
	CUgraph graph = new_graph();
	CUDA_MEMCPY3D in_x = copy_of(CU_MEMORYTYPE_HOST, x, CU_MEMORYTYPE_DEVICE, dx, sizeof(x));
	CUDA_MEMCPY3D in_y = copy_of(CU_MEMORYTYPE_HOST, y, CU_MEMORYTYPE_DEVICE, dy, sizeof(y));
	CUDA_MEMCPY3D out = copy_of(CU_MEMORYTYPE_DEVICE, dy, CU_MEMORYTYPE_HOST, result,
		sizeof(y));
	CUgraphNode nodes[] = {add_copy(graph, NULL, 0, &in_x), add_copy(graph, NULL, 0, &in_y)};
	void *values[] = {&a, &dx, &dy};
	CUDA_KERNEL_NODE_PARAMS params = add_params(values);
	CUgraphNode saxpy;
	params.func = kernel(graph_module, "saxpy");
	params.blockDimX = COUNT;
	OK(cuGraphAddKernelNode_v2(&saxpy, graph, nodes, 2, &params));
	add_copy(graph, &saxpy, 1, &out);
	a = 0;
	CUgraphExec exec = new_exec(graph);
	OK(cuGraphDestroy(graph));
	for (int round = 0; round < 3; round++) {
		memset(result, 0, sizeof(result));
		launch_and_wait(exec, NULL);
		for (int i = 0; i < COUNT; i++) {
			ck_assert(result[i] == fmaf(2.5f, x[i], y[i]));
		}
	}
	OK(cuGraphExecDestroy(exec));
}
END_TEST

/* --- Random graphs --- */

enum { NODES = 40, WORDS = 8, SEEDS = 30 };

struct step {
	int to, from;
	uint32_t value;
	CUgraphNode node;
};

/* Kernels that mix words; each depends on all before it that touch its words, and on others. */
START_TEST(random_graphs_do_what_the_host_does)
{
	srand((unsigned)_i + 1);
	CUdeviceptr base = alloc(WORDS * 4);
	CUgraph graph = new_graph();
	struct step steps[NODES];
	uint32_t want[WORDS], got[WORDS];
	for (int i = 0; i < NODES; i++) {
		struct step *s = &steps[i];
		CUgraphNode from[NODES];
		size_t count = 0;
		s->to = rand() % WORDS;
		s->from = rand() % WORDS;
		s->value = (uint32_t)rand();
		for (int j = 0; j < i; j++) {
			bool shared = steps[j].to == s->to || steps[j].to == s->from
				|| steps[j].from == s->to;
			if (shared || rand() % 8 == 0) {
				from[count++] = steps[j].node;
			}
		}
		CUdeviceptr a = base + (unsigned)s->to * 4, b = base + (unsigned)s->from * 4;
		void *values[] = {&a, &b, &s->value};
		CUDA_KERNEL_NODE_PARAMS params = add_params(values);
		params.func = kernel(graph_module, "mix");
		OK(cuGraphAddKernelNode_v2(&s->node, graph, from, count, &params));
	}
	CUgraphExec exec = new_exec(graph);
	memset(want, 0, sizeof(want));
	OK(cuMemsetD32_v2(base, 0, WORDS));
	for (int round = 0; round < 3; round++) {
		OK(cuGraphLaunch(exec, NULL));
		for (int i = 0; i < NODES; i++) {
			want[steps[i].to] = want[steps[i].to] * 31 + want[steps[i].from]
				+ steps[i].value;
		}
	}
	OK(cuMemcpyDtoH_v2(got, base, sizeof(got)));
	ck_assert_mem_eq(got, want, sizeof(want));
	release_graph(exec, graph);
}
END_TEST

/* --- Topology --- */

START_TEST(graphs_tell_their_nodes_and_edges)
{
	CUgraph graph = new_graph();
	CUgraphNode a = add_empty(graph, NULL, 0);
	CUgraphNode b = add_empty(graph, &a, 1);
	CUgraphNode both[] = {a, b};
	CUgraphNode c = add_empty(graph, both, 2);
	CUgraphNode list[5], others[5];
	CUgraphNodeType type;
	size_t count = 5;
	OK(cuGraphGetNodes(graph, list, &count));
	ck_assert_uint_eq(count, 3);
	ck_assert(list[0] == a && list[1] == b && list[2] == c && list[3] == NULL);
	count = 5;
	OK(cuGraphGetRootNodes(graph, list, &count));
	ck_assert(count == 1 && list[0] == a);
	OK(cuGraphGetEdges(graph, NULL, NULL, &count));
	ck_assert_uint_eq(count, 3);
	OK(cuGraphGetEdges(graph, list, others, &count));
	ck_assert(list[0] == a && others[0] == b && list[1] == a && others[2] == c);
	count = 1;
	OK(cuGraphNodeGetDependencies(c, list, &count));
	ck_assert(count == 1 && list[0] == a);
	OK(cuGraphNodeGetDependentNodes(a, NULL, &count));
	ck_assert_uint_eq(count, 2);
	OK(cuGraphNodeGetType(c, &type));
	ck_assert_int_eq(type, CU_GRAPH_NODE_TYPE_EMPTY);
	OK(cuGraphRemoveDependencies(graph, &a, &c, 1));
	FAILS(INVALID_VALUE, cuGraphRemoveDependencies(graph, &a, &c, 1));
	OK(cuGraphDestroyNode(b));
	FAILS(INVALID_VALUE, cuGraphDestroyNode(b));
	OK(cuGraphGetEdges(graph, NULL, NULL, &count));
	ck_assert_uint_eq(count, 0);
	OK(cuGraphDestroy(graph));
	FAILS(INVALID_VALUE, cuGraphNodeGetType(a, &type));
	FAILS(INVALID_VALUE, cuGraphDestroy(graph));
}
END_TEST

START_TEST(cycles_are_found_when_a_graph_is_instantiated)
{
	CUgraph graph = new_graph();
	CUgraphNode a = add_empty(graph, NULL, 0);
	CUgraphNode b = add_empty(graph, &a, 1);
	CUgraphNode bad = NULL;
	CUgraphExec exec;
	char text[64] = "";
	CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
	FAILS(INVALID_VALUE, cuGraphAddDependencies(graph, &a, &a, 1));
	FAILS(INVALID_VALUE, cuGraphAddDependencies(graph, &a, &b, 1));
	OK(cuGraphAddDependencies(graph, &b, &a, 1));
	FAILS(INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, graph, 0));
	FAILS(INVALID_VALUE, cuGraphInstantiate_v2(&exec, graph, &bad, text, sizeof(text)));
	ck_assert(bad == a || bad == b);
	ck_assert_str_eq(text, "the graph has a cycle");
	FAILS(INVALID_VALUE, cuGraphInstantiateWithParams(&exec, graph, &params));
	ck_assert_int_eq(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
	ck_assert(params.hErrNode_out == a || params.hErrNode_out == b);
	OK(cuGraphDestroy(graph));
}
END_TEST

START_TEST(edges_have_data)
{
	CUgraph graph = new_graph();
	CUdeviceptr word = alloc(4);
	CUgraphNode a = add_plus(graph, NULL, 0, word, 1);
	CUgraphNode b = add_plus(graph, NULL, 0, word, 1);
	CUgraphNode c = add_empty(graph, NULL, 0);
	CUgraphEdgeData data = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
		.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
	CUgraphEdgeData got;
	CUgraphNode from, to;
	size_t count = 1;
	FAILS(INVALID_VALUE, cuGraphAddDependencies_v2(graph, &a, &c, &data, 1));
	OK(cuGraphAddDependencies_v2(graph, &a, &b, &data, 1));
	FAILS(LOSSY_QUERY, cuGraphGetEdges(graph, &from, &to, &count));
	FAILS(LOSSY_QUERY, cuGraphNodeGetDependencies(b, &from, &count));
	OK(cuGraphGetEdges_v2(graph, &from, &to, &got, &count));
	ck_assert_mem_eq(&got, &data, sizeof(data));
	FAILS(INVALID_VALUE, cuGraphRemoveDependencies(graph, &a, &b, 1));
	OK(cuGraphRemoveDependencies_v2(graph, &a, &b, &data, 1));
	data.type = CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
	FAILS(INVALID_VALUE, cuGraphAddDependencies_v2(graph, &a, &b, &data, 1));
	data = (CUgraphEdgeData){.to_port = 1};
	FAILS(INVALID_VALUE, cuGraphAddDependencies_v2(graph, &a, &b, &data, 1));
	OK(cuGraphDestroy(graph));
}
END_TEST

START_TEST(clones_are_graphs_of_their_own)
{
	CUdeviceptr word = alloc(4);
	CUgraph inner = new_graph();
	CUgraphNode plus = add_plus(inner, NULL, 0, word, 5);
	CUgraph graph = new_graph();
	CUgraph clone;
	CUgraphNode child, copy, last;
	size_t count = 0;
	OK(cuGraphAddChildGraphNode(&child, graph, NULL, 0, inner));
	last = add_plus(graph, &child, 1, word, 100);
	OK(cuGraphClone(&clone, graph));
	OK(cuGraphNodeFindInClone(&copy, last, clone));
	OK(cuGraphDestroyNode(copy));
	FAILS(INVALID_VALUE, cuGraphNodeFindInClone(&copy, last, clone));
	FAILS(INVALID_VALUE, cuGraphNodeFindInClone(&copy, plus, graph));
	set_word(word, 0);
	CUgraphExec first = new_exec(graph);
	CUgraphExec second = new_exec(clone);
	launch_and_wait(first, NULL);
	ck_assert_uint_eq(word_at(word), 105);
	launch_and_wait(second, NULL);
	ck_assert_uint_eq(word_at(word), 110);
	OK(cuGraphChildGraphNodeGetGraph(child, &inner));
	FAILS(INVALID_VALUE, cuGraphDestroy(inner));
	OK(cuGraphNodeFindInClone(&copy, child, clone));
	OK(cuGraphDestroy(graph));
	OK(cuGraphChildGraphNodeGetGraph(copy, &inner));
	OK(cuGraphGetNodes(inner, NULL, &count));
	ck_assert_uint_eq(count, 1);
	OK(cuGraphDestroy(clone));
	OK(cuGraphExecDestroy(first));
	OK(cuGraphExecDestroy(second));
}
END_TEST

/* In the order of the graph and against it, with a change between: so many that to look at all
 * nodes for each of them would take longer than a test may. */
START_TEST(each_of_many_nodes_is_found_in_the_clone)
{
	enum { MANY = 100000 };
	static CUgraphNode nodes[MANY], copies[MANY];
	CUgraph graph = new_graph(), clone;
	CUgraphNode copy;
	size_t count = MANY;
	for (int i = 0; i < MANY; i++) {
		OK(cuGraphAddEmptyNode(&nodes[i], graph, NULL, 0));
	}
	OK(cuGraphClone(&clone, graph));
	OK(cuGraphGetNodes(clone, copies, &count));
	ck_assert_uint_eq(count, MANY);
	for (int i = 0; i < MANY; i++) {
		OK(cuGraphNodeFindInClone(&copy, nodes[i], clone));
		ck_assert_ptr_eq(copy, copies[i]);
	}
	OK(cuGraphDestroyNode(copies[7]));
	for (int i = MANY; i-- > 0;) {
		CUresult result = cuGraphNodeFindInClone(&copy, nodes[i], clone);
		ck_assert(i == 7 ? result == CUDA_ERROR_INVALID_VALUE
			: result == CUDA_SUCCESS && copy == copies[i]);
	}
	OK(cuGraphDestroy(graph));
	OK(cuGraphDestroy(clone));
}
END_TEST

/* --- Parameters --- */

START_TEST(parameters_come_back_and_can_be_set)
{
	CUdeviceptr word = alloc(4);
	CUgraph graph = new_graph();
	CUgraphNode node = add_plus(graph, NULL, 0, word, 7);
	CUDA_KERNEL_NODE_PARAMS params;
	CUDA_KERNEL_NODE_PARAMS_v1 old;
	uint32_t value = 9;
	size_t size = 12;
	struct {
		CUdeviceptr where;
		uint32_t value;
	} packed = {word, 50};
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&size, CU_LAUNCH_PARAM_END};
	OK(cuGraphKernelNodeGetParams_v2(node, &params));
	ck_assert_ptr_eq(params.func, kernel(wait_module, "add"));
	ck_assert(params.extra == NULL && *(uint32_t *)params.kernelParams[1] == 7);
	params.kernelParams = (void *[]){&word, &value};
	OK(cuGraphKernelNodeSetParams_v2(node, &params));
	OK(cuGraphKernelNodeGetParams(node, &old));
	ck_assert_uint_eq(*(uint32_t *)old.kernelParams[1], 9);
	old.extra = extra;
	FAILS(INVALID_VALUE, cuGraphKernelNodeSetParams(node, &old));
	old.kernelParams = NULL;
	OK(cuGraphKernelNodeSetParams(node, &old));
	packed.value = 0;
	OK(cuGraphKernelNodeGetParams_v2(node, &params));
	ck_assert(params.kernelParams == NULL && params.extra != NULL);
	set_word(word, 0);
	launch_and_wait(new_exec(graph), NULL);
	ck_assert_uint_eq(word_at(word), 50);
	params.blockDimX = 2000;
	FAILS(INVALID_VALUE, cuGraphKernelNodeSetParams_v2(node, &params));
}
END_TEST

START_TEST(fills_and_copies_come_back_and_can_be_set)
{
	CUdeviceptr words_at = alloc(64);
	CUgraph graph = new_graph();
	CUDA_MEMSET_NODE_PARAMS fill = {words_at, 0, 0x11223344, 4, 16, 1};
	CUDA_MEMSET_NODE_PARAMS got;
	CUDA_MEMCPY3D copy = copy_of(CU_MEMORYTYPE_DEVICE, (void *)(uintptr_t)words_at,
		CU_MEMORYTYPE_DEVICE, (void *)(uintptr_t)(words_at + 32), 4);
	CUDA_MEMCPY3D copy_got;
	CUgraphNode node, second;
	OK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, context));
	second = add_copy(graph, &node, 1, &copy);
	OK(cuGraphMemsetNodeGetParams(node, &got));
	ck_assert_mem_eq(&got, &fill, sizeof(fill));
	OK(cuGraphMemcpyNodeGetParams(second, &copy_got));
	ck_assert_uint_eq(copy_got.dstDevice, words_at + 32);
	fill = (CUDA_MEMSET_NODE_PARAMS){words_at, 16, 7, 1, 4, 3};
	OK(cuGraphMemsetNodeSetParams(node, &fill));
	launch_and_wait(new_exec(graph), NULL);
	ck_assert_uint_eq(word_at(words_at), 0x07070707);
	ck_assert_uint_eq(word_at(words_at + 32), 0x07070707);
	fill.elementSize = 3;
	FAILS(INVALID_VALUE, cuGraphMemsetNodeSetParams(node, &fill));
	fill.elementSize = 1;
	fill.height = 5;
	FAILS(INVALID_VALUE, cuGraphMemsetNodeSetParams(node, &fill));
	copy.WidthInBytes = 0;
	FAILS(INVALID_VALUE, cuGraphMemcpyNodeSetParams(second, &copy));
	FAILS(INVALID_VALUE, cuGraphMemcpyNodeSetParams(node, &copy_got));
}
END_TEST

START_TEST(kernels_have_attributes)
{
	CUdeviceptr word = alloc(4);
	CUgraph graph = new_graph();
	CUgraphNode a = add_plus(graph, NULL, 0, word, 1);
	CUgraphNode b = add_plus(graph, NULL, 0, word, 1);
	CUkernelNodeAttrValue value = {.priority = 3};
	CUkernelNodeAttrValue got;
	OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
	value = (CUkernelNodeAttrValue){.cooperative = 1};
	OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
	OK(cuGraphKernelNodeCopyAttributes(b, a));
	OK(cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_PRIORITY, &got));
	ck_assert_int_eq(got.priority, 3);
	OK(cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &got));
	ck_assert_int_eq(got.cooperative, 1);
	FAILS(INVALID_VALUE, cuGraphKernelNodeGetAttribute(b,
		CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, &got));
	FAILS(INVALID_VALUE, cuGraphKernelNodeGetAttribute(b, 99, &got));
	FAILS(INVALID_VALUE, cuGraphKernelNodeGetAttribute(add_empty(graph, NULL, 0),
		CU_LAUNCH_ATTRIBUTE_PRIORITY, &got));
}
END_TEST

static void count_call(void *data)
{
	++*(int *)data;
}

START_TEST(any_node_can_be_added_by_the_general_form)
{
	CUgraph graph = new_graph();
	CUdeviceptr word = alloc(4);
	int calls = 0;
	uint32_t value = 1;
	CUgraphNode first, second;
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_KERNEL,
		.kernel = add_params((void *[]){&word, &value})};
	OK(cuGraphAddNode(&first, graph, NULL, 0, &params));
	params = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_HOST,
		.host = {count_call, &calls}};
	OK(cuGraphAddNode_v2(&second, graph, &first, NULL, 1, &params));
	FAILS(INVALID_VALUE, cuGraphNodeSetParams(first, &params));
	OK(cuGraphNodeSetParams(second, &params));
	params.reserved2 = 1;
	FAILS(INVALID_VALUE, cuGraphAddNode(&first, graph, NULL, 0, &params));
	params = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	FAILS(INVALID_VALUE, cuGraphAddNode(&first, graph, NULL, 0, &params));
	params = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT};
	FAILS(NOT_SUPPORTED, cuGraphAddNode(&first, graph, NULL, 0, &params));
	params.type = 14;
	FAILS(INVALID_VALUE, cuGraphAddNode(&first, graph, NULL, 0, &params));
	params.type = CU_GRAPH_NODE_TYPE_EMPTY;
	FAILS(INVALID_VALUE, cuGraphAddNode(&first, graph, NULL, 1, &params));
	FAILS(INVALID_VALUE, cuGraphAddNode(&first, graph, (CUgraphNode[]){second, second}, 2,
		&params));
	CUgraphExec exec = new_exec(graph);
	launch_and_wait(exec, NULL);
	launch_and_wait(exec, NULL);
	ck_assert_int_eq(calls, 2);
}
END_TEST

START_TEST(bad_graphs_and_nodes_are_refused)
{
	CUgraph graph = new_graph();
	CUgraph other = new_graph();
	CUgraphNode foreign = add_empty(other, NULL, 0);
	CUgraphNode node;
	CUgraphExec exec;
	CUstream stream = new_stream(0);
	CUDA_HOST_NODE_PARAMS host = {NULL, NULL};
	FAILS(INVALID_VALUE, cuGraphCreate(NULL, 0));
	FAILS(INVALID_VALUE, cuGraphCreate(&other, 1));
	FAILS(INVALID_VALUE, cuGraphAddEmptyNode(&node, graph, &foreign, 1));
	FAILS(INVALID_VALUE, cuGraphAddEmptyNode(NULL, graph, NULL, 0));
	FAILS(INVALID_VALUE, cuGraphAddEmptyNode(&node, (CUgraph)(void *)foreign, NULL, 0));
	FAILS(INVALID_VALUE, cuGraphAddHostNode(&node, graph, NULL, 0, &host));
	FAILS(INVALID_VALUE, cuGraphAddHostNode(&node, graph, NULL, 0, NULL));
	FAILS(INVALID_VALUE, cuGraphAddEventWaitNode(&node, graph, NULL, 0,
		(CUevent)(void *)stream));
	FAILS(INVALID_VALUE, cuGraphAddMemFreeNode(&node, graph, NULL, 0, alloc(4)));
	FAILS(INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, graph, 16));
	FAILS(INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, graph,
		CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD));
	FAILS(NOT_SUPPORTED, cuGraphInstantiateWithFlags(&exec, graph,
		CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
	FAILS(INVALID_VALUE, cuGraphLaunch((CUgraphExec)(void *)graph, stream));
	exec = new_exec(graph);
	FAILS(INVALID_HANDLE, cuGraphLaunch(exec, (CUstream)(void *)graph));
	OK(cuGraphExecDestroy(exec));
	FAILS(INVALID_VALUE, cuGraphLaunch(exec, stream));
	FAILS(INVALID_VALUE, cuGraphExecDestroy(exec));
}
END_TEST

/* --- Objects and pictures --- */

START_TEST(graphs_keep_user_objects)
{
	CUgraph graph = new_graph();
	CUuserObject object;
	int calls = 0;
	FAILS(INVALID_VALUE, cuUserObjectCreate(&object, &calls, count_call, 0,
		CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	FAILS(INVALID_VALUE, cuUserObjectCreate(&object, &calls, count_call, 1, 0));
	OK(cuUserObjectCreate(&object, &calls, count_call, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	OK(cuUserObjectRetain(object, 2));
	OK(cuUserObjectRelease(object, 2));
	OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
	OK(cuGraphRetainUserObject(graph, object, 2, 0));
	FAILS(INVALID_VALUE, cuGraphReleaseUserObject(graph, object, 4));
	OK(cuGraphReleaseUserObject(graph, object, 2));
	CUgraphExec exec = new_exec(graph);
	OK(cuGraphDestroy(graph));
	ck_assert_int_eq(calls, 0);
	launch_and_wait(exec, NULL);
	OK(cuGraphExecDestroy(exec));
	ck_assert_int_eq(calls, 1);
	FAILS(INVALID_VALUE, cuUserObjectRelease(object, 1));
}
END_TEST

START_TEST(graphs_can_be_drawn)
{
	char path[] = "/tmp/kudzu-dot-XXXXXX";
	char text[4096];
	CUgraph graph = new_graph();
	CUgraphNode node = add_plus(graph, NULL, 0, alloc(4), 1);
	add_empty(graph, &node, 1);
	close(mkstemp(path));
	OK(cuGraphDebugDotPrint(graph, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
	FILE *file = fopen(path, "r");
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	remove(path);
	ck_assert_ptr_nonnull(strstr(text, "digraph dot {"));
	ck_assert_ptr_nonnull(strstr(text, "KERNEL\\nadd"));
	ck_assert_ptr_nonnull(strstr(text, "_node_0 -> "));
	FAILS(OPERATING_SYSTEM, cuGraphDebugDotPrint(graph, "/nowhere/at/all", 0));
	FAILS(INVALID_VALUE, cuGraphDebugDotPrint(graph, path, 1u << 18));
}
END_TEST

/* --- Memory --- */

/* A launch that fails has allocated nothing. */
START_TEST(graph_allocates_when_it_is_launched_only)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = {.bytesize = 4, .poolProps = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}
	}};
	CUgraph graph = new_graph();
	CUgraphNode node;
	OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	CUgraphExec exec = new_exec(graph);
	CUstream gone = new_stream(0);
	OK(cuStreamDestroy_v2(gone));
	FAILS(INVALID_HANDLE, cuGraphLaunch(exec, gone));
	OK(cuGraphLaunch(exec, NULL));
	FAILS(INVALID_VALUE, cuGraphLaunch(exec, NULL));
	OK(cuMemFree_v2(params.dptr));
}
END_TEST

/* Everything that can run out of memory, until nothing does. */
START_TEST(want_of_memory_leaves_graphs_as_they_were)
{
	CUdeviceptr word = alloc(4);
	uint32_t value = 1;
	const CUDA_KERNEL_NODE_PARAMS params = add_params((void *[]){&word, &value});
	CUgraph graph = new_graph();
	CUgraphNode root = add_plus(graph, NULL, 0, word, 1);
	CUgraph inner = new_graph();
	add_plus(inner, NULL, 0, word, 1);
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	CUgraphExec exec = NULL;
	CUgraphNode node;
	for (long n = 0; result != CUDA_SUCCESS && n < 200; n++) {
		size_t count;
		mem_fail_after(n);
		result = cuGraphAddKernelNode_v2(&node, graph, &root, 1, &params);
		result = result == CUDA_SUCCESS ? cuGraphAddChildGraphNode(&node, graph, &root, 1,
			inner) : result;
		result = result == CUDA_SUCCESS ? cuGraphInstantiateWithFlags(&exec, graph, 0)
			: result;
		result = result == CUDA_SUCCESS ? cuGraphLaunch(exec, NULL) : result;
		mem_fail_after(-1);
		ck_assert(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
		OK(cuGraphNodeGetDependentNodes(root, NULL, &count));
		for (CUgraphNode list[2]; count > 0 && result != CUDA_SUCCESS; count--) {
			size_t two = 1;
			OK(cuGraphNodeGetDependentNodes(root, list, &two));
			OK(cuGraphDestroyNode(list[0]));
		}
		if (exec != NULL) {
			OK(cuGraphExecDestroy(exec));
			exec = NULL;
		}
	}
	OK(result);
}
END_TEST

SUITE(api_graph)
{
	Suite *suite = suite_create("api_graph");
	TCase *tc = add_case(suite, "work", graph_setup, teardown);
	tcase_add_test(tc, saxpy_by_nodes_is_what_the_host_computes);
	tcase_add_loop_test(tc, random_graphs_do_what_the_host_does, 0, SEEDS);
	tc = add_case(suite, "topology", graph_setup, teardown);
	tcase_add_tests(tc, 1, graphs_tell_their_nodes_and_edges,
		cycles_are_found_when_a_graph_is_instantiated, edges_have_data,
		clones_are_graphs_of_their_own);
	tc = add_case(suite, "many", graph_setup, teardown);
	tcase_set_timeout(tc, 10);
	tcase_add_test(tc, each_of_many_nodes_is_found_in_the_clone);
	tc = add_case(suite, "parameters", graph_setup, teardown);
	tcase_add_tests(tc, 1, parameters_come_back_and_can_be_set,
		fills_and_copies_come_back_and_can_be_set, kernels_have_attributes,
		any_node_can_be_added_by_the_general_form, bad_graphs_and_nodes_are_refused);
	tc = add_case(suite, "objects", graph_setup, teardown);
	tcase_add_tests(tc, 1, graphs_keep_user_objects, graphs_can_be_drawn);
	tc = add_case(suite, "memory", graph_setup, teardown);
	tcase_add_tests(tc, 1, graph_allocates_when_it_is_launched_only,
		want_of_memory_leaves_graphs_as_they_were);
	return suite;
}
