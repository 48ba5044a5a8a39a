/* SPDX-License-Identifier: MIT */
/*
 * Calls for graphs and stream-ordered memory that fail, late or because of other threads.  They
 * change nothing, and nothing is freed that is still in use.
 */
#include "cpu/support/api_graph.h"
#include "support/suite.h"

enum { WHERE, WORD };

/* --- The default stream while a stream that waits for it is captured --- */

static CUstream captured;

static void block_default_stream(void)
{
	captured = new_stream(0);
	OK(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
}

static void unblock_default_stream(void)
{
	CUgraph graph;
	FAILS(STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(captured, &graph));
}

START_TEST(memory_that_could_not_be_freed_can_be_freed_again)
{
	CUdeviceptr a;
	OK(cuMemAllocAsync(&a, 64, NULL));
	block_default_stream();
	FAILS(STREAM_CAPTURE_IMPLICIT, cuMemFreeAsync(a, NULL));
	unblock_default_stream();
	OK(cuMemFreeAsync(a, NULL));
	FAILS(INVALID_VALUE, cuMemFreeAsync(a, NULL));
}
END_TEST

START_TEST(memory_of_a_graph_that_could_not_be_freed_can_be_freed_again)
{
	CUdeviceptr a;
	CUgraph graph = new_graph();
	add_alloc(graph, &a);
	CUgraphExec exec = new_exec(graph);
	launch_and_wait(exec, NULL);
	block_default_stream();
	FAILS(STREAM_CAPTURE_IMPLICIT, cuMemFreeAsync(a, NULL));
	unblock_default_stream();
	OK(cuMemFreeAsync(a, NULL));
	FAILS(INVALID_VALUE, cuMemFreeAsync(a, NULL));
	launch_and_wait(exec, NULL);
}
END_TEST

START_TEST(launch_that_fails_accounts_for_nothing)
{
	CUdeviceptr a;
	CUgraphNode node;
	CUgraph graph = new_graph();
	CUgraph freeing = new_graph();
	add_alloc(graph, &a);
	OK(cuGraphAddMemFreeNode(&node, freeing, NULL, 0, a));
	CUgraphExec exec = new_exec(graph);
	CUgraphExec freeing_exec = new_exec(freeing);
	block_default_stream();
	FAILS(STREAM_CAPTURE_IMPLICIT, cuGraphLaunch(exec, NULL));
	unblock_default_stream();
	FAILS(INVALID_VALUE, cuGraphLaunch(freeing_exec, NULL));
	launch_and_wait(exec, NULL);
	FAILS(INVALID_VALUE, cuGraphLaunch(exec, NULL));
	block_default_stream();
	FAILS(STREAM_CAPTURE_IMPLICIT, cuGraphLaunch(freeing_exec, NULL));
	unblock_default_stream();
	launch_and_wait(freeing_exec, NULL);
	launch_and_wait(exec, NULL);
	OK(cuMemFree_v2(a));
	OK(cuGraphExecDestroy(exec));
	release_graph(freeing_exec, graph);
	OK(cuGraphDestroy(freeing));
	ck_assert_uint_eq(graph_memory_used(), 0);
}
END_TEST

START_TEST(graph_that_cannot_be_uploaded_is_none)
{
	CUgraph graph = new_graph();
	CUgraphExec exec = (CUgraphExec)(uintptr_t)1;
	CUDA_GRAPH_INSTANTIATE_PARAMS params = {.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD,
		.hUploadStream = (CUstream)(uintptr_t)77};
	FAILS(INVALID_HANDLE, cuGraphInstantiateWithParams(&exec, graph, &params));
	ck_assert_ptr_null(exec);
	ck_assert_int_eq(params.result_out, CUDA_GRAPH_INSTANTIATE_ERROR);
	params.hUploadStream = NULL;
	OK(cuGraphInstantiateWithParams(&exec, graph, &params));
	OK(cuGraphExecDestroy(exec));
}
END_TEST

/* --- Child graphs --- */

/* A child graph of `graph` in `node`, made of another one that is taken. */
static CUgraphNode move_child(CUgraph graph, CUgraph child, const CUgraphNode *from, size_t count)
{
	CUgraphNode node;
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_GRAPH,
		.graph = {child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE}};
	OK(cuGraphAddNode_v2(&node, graph, from, NULL, count, &params));
	return node;
}

START_TEST(memory_of_a_child_graph_counts_for_those_above)
{
	CUdeviceptr a;
	CUgraph top = new_graph();
	CUgraph middle = new_graph();
	CUgraph bottom = new_graph();
	CUgraph clone;
	CUgraphNode node = move_child(top, middle, NULL, 0);
	add_alloc(bottom, &a);
	move_child(middle, bottom, NULL, 0);
	FAILS(NOT_SUPPORTED, cuGraphClone(&clone, top));
	FAILS(INVALID_VALUE, cuGraphDestroyNode(node));
}
END_TEST

START_TEST(graph_frees_what_its_child_allocates)
{
	CUdeviceptr a;
	CUgraph graph = new_graph();
	CUgraph child = new_graph();
	CUgraphNode free_node;
	add_alloc(child, &a);
	CUgraphNode node = move_child(graph, child, NULL, 0);
	OK(cuGraphAddMemFreeNode(&free_node, graph, &node, 1, a));
	CUgraphExec exec = new_exec(graph);
	launch_and_wait(exec, NULL);
	launch_and_wait(exec, NULL);
	release_graph(exec, graph);
	ck_assert_uint_eq(graph_memory_used(), 0);
}
END_TEST

START_TEST(child_graph_that_is_captured_into_stays)
{
	CUdeviceptr word = (CUdeviceptr)(uintptr_t)&words[WORD];
	CUgraph graph = new_graph();
	CUgraph child = new_graph();
	CUgraph other = new_graph();
	CUgraph got;
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = {other}};
	CUgraphNode node = move_child(graph, child, NULL, 0);
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	OK(cuStreamBeginCaptureToGraph(stream, child, NULL, NULL, 0,
		CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(INVALID_VALUE, cuGraphDestroy(graph));
	FAILS(INVALID_VALUE, cuGraphDestroyNode(node));
	FAILS(INVALID_VALUE, cuGraphNodeSetParams(node, &params));
	OK(launch_plus(stream, word, 5));
	OK(cuStreamEndCapture(stream, &got));
	ck_assert_ptr_eq(got, child);
	launch_and_wait(new_exec(graph), NULL);
	ck_assert_uint_eq(atomic_load(&words[WORD]), 5);
	OK(cuGraphNodeSetParams(node, &params));
	OK(cuGraphDestroy(graph));
}
END_TEST

/* --- What lives on --- */

START_TEST(memory_that_went_with_its_context_is_at_no_address)
{
	CUdeviceptr a;
	CUgraphNode node;
	CUgraph graph = new_graph();
	CUgraph other = new_graph();
	CUcontext own = new_context();
	add_alloc(graph, &a);
	launch_and_wait(new_exec(graph), NULL);
	OK(cuCtxDestroy_v2(own));
	OK(cuCtxSetCurrent(context));
	FAILS(INVALID_VALUE, cuGraphAddMemFreeNode(&node, other, NULL, 0, 0));
	FAILS(INVALID_VALUE, cuGraphAddMemFreeNode(&node, other, NULL, 0, a));
	ck_assert_uint_eq(graph_memory_used(), 0);
}
END_TEST

static void count_end(void *data)
{
	++*(int *)data;
}

/* Not even a graph that frees what it allocates can be launched: the address may be another's. */
START_TEST(a_graph_whose_memory_went_with_its_context_is_refused)
{
	CUdeviceptr a;
	CUgraphNode nodes[2];
	CUgraph graph = new_graph();
	nodes[0] = add_alloc(graph, &a);
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMSET, .memset = {.dst = a,
		.value = 7, .elementSize = 4, .width = 1, .height = 1}};
	OK(cuGraphAddNode_v2(&nodes[1], graph, nodes, NULL, 1, &params));
	OK(cuGraphAddMemFreeNode(&nodes[0], graph, &nodes[1], 1, a));
	CUgraphExec exec = new_exec(graph);
	launch_and_wait(exec, NULL);
	reset();
	FAILS(INVALID_VALUE, cuGraphLaunch(exec, NULL));
	release_graph(exec, graph);
}
END_TEST

START_TEST(program_releases_its_own_references_only)
{
	CUgraph graph = new_graph();
	CUuserObject object;
	int ends = 0;
	OK(cuUserObjectCreate(&object, &ends, count_end, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
	FAILS(INVALID_VALUE, cuUserObjectRelease(object, 2));
	FAILS(INVALID_VALUE, cuGraphRetainUserObject(graph, object, 2,
		CU_GRAPH_USER_OBJECT_MOVE));
	OK(cuUserObjectRelease(object, 1));
	FAILS(INVALID_VALUE, cuUserObjectRelease(object, 1));
	ck_assert_int_eq(ends, 0);
	OK(cuGraphReleaseUserObject(graph, object, 1));
	ck_assert_int_eq(ends, 1);
	OK(cuGraphDestroy(graph));
	ck_assert_int_eq(ends, 1);
}
END_TEST

SUITE(api_graph_memory)
{
	Suite *suite = suite_create("api_graph_memory");
	TCase *tc = add_case(suite, "failures", graph_setup, teardown);
	tcase_add_tests(tc, 1, memory_that_could_not_be_freed_can_be_freed_again,
		memory_of_a_graph_that_could_not_be_freed_can_be_freed_again,
		launch_that_fails_accounts_for_nothing, graph_that_cannot_be_uploaded_is_none);
	tc = add_case(suite, "children", graph_setup, teardown);
	tcase_add_tests(tc, 1, memory_of_a_child_graph_counts_for_those_above,
		graph_frees_what_its_child_allocates, child_graph_that_is_captured_into_stays);
	tc = add_case(suite, "ends", graph_setup, teardown);
	tcase_add_tests(tc, 1, memory_that_went_with_its_context_is_at_no_address,
		a_graph_whose_memory_went_with_its_context_is_refused,
		program_releases_its_own_references_only);
	return suite;
}
