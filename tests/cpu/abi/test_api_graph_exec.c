/* SPDX-License-Identifier: MIT */
/* Executable graphs: launches in streams, changes, memory, events, failures. */
#include "cpu/support/api_graph.h"
#include "support/suite.h"

#include <signal.h>

enum { BEGUN, GO, OTHER, DONE };

/* A graph that is one kernel, which sets words[BEGUN] and waits for words[GO]. */
static CUgraphNode add_meet(CUgraph graph)
{
	CUdeviceptr a = (uintptr_t)&words[BEGUN];
	CUdeviceptr b = (uintptr_t)&words[GO];
	uint32_t one = 1;
	CUDA_KERNEL_NODE_PARAMS params = add_params((void *[]){&a, &b, &one});
	CUgraphNode node = NULL;
	params.func = kernel(wait_module, "meet");
	OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
	return node;
}

static CUresult set_plus(CUgraphExec exec, CUgraphNode node, CUdeviceptr where, uint32_t value)
{
	const CUDA_KERNEL_NODE_PARAMS params = add_params((void *[]){&where, &value});
	return cuGraphExecKernelNodeSetParams_v2(exec, node, &params);
}

/* --- Launches --- */

START_TEST(launches_keep_the_order_of_their_stream)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr word = alloc(4);
	CUgraph graph = new_graph();
	add_plus(graph, NULL, 0, word, 1);
	CUgraphExec exec = new_exec(graph);
	OK(cuMemsetD32Async(word, 10, 1, stream));
	for (int i = 0; i < 500; i++) {
		OK(cuGraphLaunch(exec, stream));
	}
	OK(cuMemcpyDtoHAsync_v2((void *)&words[DONE], word, 4, stream));
	OK(cuStreamSynchronize(stream));
	ck_assert_uint_eq(words[DONE], 510);
}
END_TEST

START_TEST(launch_waits_for_the_one_before_in_any_stream)
{
	CUstream first = new_stream(CU_STREAM_NON_BLOCKING);
	CUstream second = new_stream(CU_STREAM_NON_BLOCKING);
	CUgraph graph = new_graph();
	CUgraphNode count = add_plus(graph, NULL, 0, (uintptr_t)&words[OTHER], 1);
	CUgraphNode meet = add_meet(graph);
	OK(cuGraphAddDependencies(graph, &count, &meet, 1));
	CUgraphExec exec = new_exec(graph);
	OK(cuGraphLaunch(exec, first));
	await(BEGUN);
	OK(cuGraphLaunch(exec, second));
	for (int i = 0; i < 20000; i++) {
		ck_assert_uint_eq(atomic_load(&words[OTHER]), 1);
		sched_yield();
	}
	FAILS(NOT_READY, cuStreamQuery(second));
	FAILS(NOT_READY, cuStreamQuery(first));
	release_graph(exec, graph);
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(second));
	OK(cuStreamSynchronize(first));
	ck_assert_uint_eq(atomic_load(&words[OTHER]), 2);
}
END_TEST

START_TEST(launch_returns_although_its_kernel_waits_for_the_program)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUgraph graph;
	atomic_store(&words[GO], 1);
	launch_meet(stream, BEGUN, GO); // short, this time
	OK(cuStreamSynchronize(stream));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch_meet(stream, BEGUN, GO);
	OK(cuStreamEndCapture(stream, &graph));
	CUgraphExec exec = new_exec(graph);
	atomic_store(&words[GO], 0);
	OK(cuGraphLaunch(exec, stream));
	FAILS(NOT_READY, cuStreamQuery(stream));
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(stream));
}
END_TEST

START_TEST(changes_leave_earlier_launches_alone)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr word = alloc(4);
	CUgraph graph = new_graph();
	CUgraphNode node = add_plus(graph, NULL, 0, word, 1);
	CUgraphExec exec = new_exec(graph);
	unsigned enabled = 7;
	set_word(word, 0);
	launch_meet(stream, BEGUN, GO);
	OK(cuGraphLaunch(exec, stream));
	OK(set_plus(exec, node, word, 10));
	OK(cuGraphLaunch(exec, stream));
	OK(cuGraphNodeSetEnabled(exec, node, 0));
	OK(cuGraphLaunch(exec, stream));
	OK(cuGraphNodeGetEnabled(exec, node, &enabled));
	ck_assert_uint_eq(enabled, 0);
	OK(cuGraphNodeSetEnabled(exec, node, 1));
	OK(set_plus(exec, node, word, 100));
	OK(cuGraphLaunch(exec, stream));
	OK(cuGraphUpload(exec, stream));
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(stream));
	ck_assert_uint_eq(word_at(word), 111);
	launch_and_wait(new_exec(graph), stream);
	ck_assert_uint_eq(word_at(word), 112);
}
END_TEST

START_TEST(kernels_of_a_graph_have_blocks)
{
	CUdeviceptr word = alloc(4);
	uint32_t value = 5;
	void *values[] = {&word, &value};
	CUDA_KERNEL_NODE_PARAMS params = add_params(values);
	CUgraph graph = new_graph();
	CUstream stream = new_stream(0);
	CUgraphNode node;
	params.gridDimX = 0;
	set_word(word, 0);
	FAILS(INVALID_VALUE, cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
	params.gridDimX = 1;
	OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
	CUgraphExec exec = new_exec(graph);
	params.gridDimZ = 0;
	FAILS(INVALID_VALUE, cuGraphExecKernelNodeSetParams_v2(exec, node, &params));
	launch_and_wait(exec, stream);
	ck_assert_uint_eq(word_at(word), 5);
}
END_TEST

static void set_done(void *data)
{
	atomic_store((_Atomic uint32_t *)data, 5);
}

START_TEST(host_functions_run_behind_what_they_depend_on)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUgraph graph = new_graph();
	CUgraphNode meet = add_meet(graph);
	CUgraphNode host;
	CUDA_HOST_NODE_PARAMS params = {set_done, (void *)&words[DONE]};
	OK(cuGraphAddHostNode(&host, graph, &meet, 1, &params));
	CUgraphExec exec = new_exec(graph);
	OK(cuGraphLaunch(exec, stream));
	await(BEGUN);
	ck_assert_uint_eq(atomic_load(&words[DONE]), 0);
	params.userData = (void *)&words[OTHER];
	FAILS(INVALID_VALUE, cuGraphNodeSetEnabled(exec, host, 0));
	OK(cuGraphExecHostNodeSetParams(exec, host, &params));
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(stream));
	ck_assert_uint_eq(atomic_load(&words[DONE]), 5);
	ck_assert_uint_eq(atomic_load(&words[OTHER]), 0);
	launch_and_wait(exec, stream);
	ck_assert_uint_eq(atomic_load(&words[OTHER]), 5);
}
END_TEST

START_TEST(failing_node_poisons_the_context_and_drops_the_rest)
{
	CUgraph graph = new_graph();
	CUDA_KERNEL_NODE_PARAMS params = add_params(NULL);
	CUgraphNode fail;
	params.func = kernel(wait_module, "fail");
	OK(cuGraphAddKernelNode_v2(&fail, graph, NULL, 0, &params));
	add_plus(graph, &fail, 1, (uintptr_t)&words[DONE], 1);
	CUgraphExec exec = new_exec(graph);
	cuGraphLaunch(exec, NULL);
	FAILS(ILLEGAL_ADDRESS, cuStreamSynchronize(NULL));
	FAILS(ILLEGAL_ADDRESS, cuGraphLaunch(exec, NULL));
	ck_assert_uint_eq(atomic_load(&words[DONE]), 0);
	release_graph(exec, graph);
}
END_TEST

static void block_all_signals(void *unused)
{
	sigset_t all;
	(void)unused;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
}

START_TEST(faults_in_graphs_are_errors_where_signals_are_blocked)
{
	sigset_t now;
	CUgraph graph = new_graph();
	CUDA_KERNEL_NODE_PARAMS params = add_params(NULL);
	CUgraphNode node = add_plus(graph, NULL, 0, (uintptr_t)&words[DONE], 1);
	params.func = kernel(wait_module, "fail");
	OK(cuGraphAddKernelNode_v2(&node, graph, &node, 1, &params));
	block_all_signals(NULL);
	cuGraphLaunch(new_exec(graph), NULL);
	ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
	ck_assert_int_eq(sigismember(&now, SIGSEGV), 1);
	FAILS(ILLEGAL_ADDRESS, cuStreamSynchronize(NULL));
	ck_assert_uint_eq(atomic_load(&words[DONE]), 1);
}
END_TEST

START_TEST(faults_behind_host_functions_that_block_signals_are_errors)
{
	CUstream stream = new_stream(0);
	launch_meet(stream, BEGUN, GO);
	OK(cuLaunchHostFunc(stream, block_all_signals, NULL));
	OK(cuLaunchKernel(kernel(wait_module, "fail"), 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
	atomic_store(&words[GO], 1);
	FAILS(ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
}
END_TEST

START_TEST(graph_whose_kernel_or_event_has_gone_is_refused)
{
	CUdeviceptr word = alloc(4);
	CUevent event = new_event(0);
	CUgraph graph = new_graph();
	CUgraphNode node;
	add_plus(graph, NULL, 0, word, 1);
	CUgraphExec exec = new_exec(graph);
	OK(cuGraphAddEventRecordNode(&node, graph, NULL, 0, event));
	CUgraphExec other = new_exec(graph);
	OK(cuEventDestroy_v2(event));
	FAILS(INVALID_HANDLE, cuGraphLaunch(other, NULL));
	OK(cuModuleUnload(wait_module));
	FAILS(INVALID_HANDLE, cuGraphLaunch(exec, NULL));
	OK(cuGraphDebugDotPrint(graph, "/dev/null", 0));
}
END_TEST

/* --- Events --- */

START_TEST(graphs_record_events_and_wait_for_them)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUstream waiting = new_stream(CU_STREAM_NON_BLOCKING);
	CUevent event = new_event(0);
	CUevent got;
	CUgraph graph = new_graph();
	CUgraph second = new_graph();
	CUgraphNode meet = add_meet(graph);
	CUgraphNode node;
	OK(cuGraphAddEventRecordNode(&node, graph, &meet, 1, event));
	OK(cuGraphEventRecordNodeGetEvent(node, &got));
	ck_assert_ptr_eq(got, event);
	OK(cuGraphAddEventWaitNode(&node, second, NULL, 0, event));
	add_plus(second, &node, 1, (uintptr_t)&words[DONE], 3);
	OK(cuGraphLaunch(new_exec(graph), stream));
	OK(cuGraphLaunch(new_exec(second), waiting));
	FAILS(NOT_READY, cuEventQuery(event));
	FAILS(NOT_READY, cuStreamQuery(waiting));
	atomic_store(&words[GO], 1);
	OK(cuEventSynchronize(event));
	OK(cuStreamSynchronize(waiting));
	ck_assert_uint_eq(atomic_load(&words[DONE]), 3);
	OK(cuStreamSynchronize(stream));
}
END_TEST

START_TEST(values_are_waited_for_after_what_can_be_done)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUgraph graph = new_graph();
	CUdeviceptr word = alloc(4);
	CUstreamBatchMemOpParams ops[] = {
		{.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32, .address = word,
			.value = 7, .flags = CU_STREAM_WAIT_VALUE_EQ}},
		{.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = word,
			.value = 8}}
	};
	CUDA_BATCH_MEM_OP_NODE_PARAMS params = {context, 2, ops, 0};
	CUDA_BATCH_MEM_OP_NODE_PARAMS got;
	CUgraphNode node;
	set_word(word, 2);
	OK(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params));
	add_plus(graph, NULL, 0, word, 5);
	OK(cuGraphBatchMemOpNodeGetParams(node, &got));
	ck_assert(got.count == 2 && got.paramArray[1].writeValue.value == 8);
	CUgraphExec exec = new_exec(graph);
	ops[1].writeValue.value = 9;
	OK(cuGraphExecBatchMemOpNodeSetParams(exec, node, &params));
	params.count = 1;
	FAILS(INVALID_VALUE, cuGraphExecBatchMemOpNodeSetParams(exec, node, &params));
	launch_and_wait(exec, stream);
	ck_assert_uint_eq(word_at(word), 9);
}
END_TEST

/* --- Updates --- */

/* root -> two kernels -> end; values of the kernels. */
static CUgraph diamond(CUdeviceptr word, uint32_t left, uint32_t right)
{
	CUgraph graph = new_graph();
	CUgraphNode root = add_empty(graph, NULL, 0);
	CUgraphNode both[] = {add_plus(graph, &root, 1, word, left),
		add_plus(graph, &root, 1, word, right)};
	add_plus(graph, both, 2, word, 1);
	return graph;
}

START_TEST(whole_graphs_can_be_taken_over)
{
	CUdeviceptr word = alloc(4);
	CUgraphExecUpdateResultInfo info;
	CUgraphExecUpdateResult old_result;
	CUgraphExec exec = new_exec(diamond(word, 10, 100));
	set_word(word, 0);
	OK(cuGraphExecUpdate_v2(exec, diamond(word, 20, 200), &info));
	ck_assert_int_eq(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
	launch_and_wait(exec, NULL);
	ck_assert_uint_eq(word_at(word), 221);
	CUgraph other = diamond(word, 1, 1);
	CUgraphNode extra = add_empty(other, NULL, 0);
	FAILS(GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, other, &info));
	ck_assert_int_eq(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	OK(cuGraphDestroyNode(extra));
	CUgraphNode list[4];
	size_t count = 4;
	OK(cuGraphGetNodes(other, list, &count));
	OK(cuGraphRemoveDependencies(other, &list[0], &list[1], 1));
	FAILS(GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, other, &extra, &old_result));
	ck_assert_int_eq(old_result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	ck_assert_ptr_eq(extra, list[1]);
	FAILS(INVALID_VALUE, cuGraphExecUpdate_v2(exec, NULL, &info));
	ck_assert_int_eq(info.result, CU_GRAPH_EXEC_UPDATE_ERROR);
}
END_TEST

START_TEST(updates_that_change_the_kind_of_a_node_fail)
{
	CUdeviceptr word = alloc(8);
	CUgraphExecUpdateResultInfo info;
	CUgraph graph = new_graph();
	CUgraph other = new_graph();
	CUDA_MEMSET_NODE_PARAMS fill = {word, 0, 1, 4, 1, 1};
	CUDA_MEMSET_NODE_PARAMS wide = {word, 4, 1, 1, 1, 2};
	CUgraphNode node, second;
	OK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, context));
	add_plus(other, NULL, 0, word, 1);
	CUgraphExec exec = new_exec(graph);
	FAILS(GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, other, &info));
	ck_assert_int_eq(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
	CUgraph third = new_graph();
	OK(cuGraphAddMemsetNode(&second, third, NULL, 0, &wide, context));
	FAILS(GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, third, &info));
	ck_assert_int_eq(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
	ck_assert_ptr_eq(info.errorNode, second);
	FAILS(INVALID_VALUE, cuGraphExecMemsetNodeSetParams(exec, node, &wide, context));
	FAILS(INVALID_VALUE, cuGraphExecMemsetNodeSetParams(exec, second, &fill, context));
	fill.value = 77;
	OK(cuGraphExecMemsetNodeSetParams(exec, node, &fill, context));
	launch_and_wait(exec, NULL);
	ck_assert_uint_eq(word_at(word), 77);
}
END_TEST

START_TEST(child_graphs_can_be_taken_over)
{
	CUdeviceptr word = alloc(4);
	CUgraph graph = new_graph();
	CUgraphNode node, inner;
	CUgraph child;
	size_t one = 1;
	OK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, diamond(word, 2, 3)));
	CUgraphExec exec = new_exec(graph);
	OK(cuGraphExecChildGraphNodeSetParams(exec, node, diamond(word, 20, 30)));
	set_word(word, 0);
	launch_and_wait(exec, NULL);
	ck_assert_uint_eq(word_at(word), 51);
	FAILS(GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecChildGraphNodeSetParams(exec, node, graph));
	OK(cuGraphChildGraphNodeGetGraph(node, &child));
	OK(cuGraphGetRootNodes(child, &inner, &one));
	OK(cuGraphNodeGetDependentNodes(inner, &inner, &one));
	OK(set_plus(exec, inner, word, 1000));
	launch_and_wait(exec, NULL);
	ck_assert_uint_eq(word_at(word), 51 + 1031);
}
END_TEST

/* --- Memory --- */

START_TEST(memory_of_a_graph_is_allocated_and_freed_by_launches)
{
	CUdeviceptr word;
	CUgraph graph = new_graph();
	CUgraph clone;
	CUgraphExec exec, other;
	CUgraphNode alloc_node = add_alloc(graph, &word);
	CUDA_MEMSET_NODE_PARAMS fill = {word, 0, 41, 4, 1, 1};
	CUgraphNode node;
	OK(cuGraphAddMemsetNode(&node, graph, &alloc_node, 1, &fill, context));
	add_plus(graph, &node, 1, word, 1);
	exec = new_exec(graph);
	FAILS(NOT_SUPPORTED, cuGraphInstantiateWithFlags(&other, graph, 0));
	FAILS(NOT_SUPPORTED, cuGraphClone(&clone, graph));
	FAILS(INVALID_VALUE, cuGraphDestroyNode(node));
	FAILS(INVALID_VALUE, cuMemFreeAsync(word, NULL));
	launch_and_wait(exec, NULL);
	ck_assert_uint_eq(word_at(word), 42);
	FAILS(INVALID_VALUE, cuGraphLaunch(exec, NULL));
	OK(cuMemFreeAsync(word, NULL));
	FAILS(INVALID_VALUE, cuMemFreeAsync(word, NULL));
	launch_and_wait(exec, NULL);
	OK(cuMemFree_v2(word));
	FAILS(INVALID_VALUE, cuMemFree_v2(word));
	OK(cuGraphDestroy(graph));
	ck_assert_uint_gt(graph_memory_used(), 0);
	OK(cuGraphExecDestroy(exec));
	ck_assert_uint_eq(graph_memory_used(), 0);
}
END_TEST

START_TEST(memory_is_freed_by_nodes_once)
{
	CUdeviceptr word, kept;
	CUgraph graph = new_graph();
	CUgraph other = new_graph();
	CUgraphNode node = add_alloc(graph, &word);
	CUgraphNode free_node;
	CUdeviceptr got;
	OK(cuGraphAddMemFreeNode(&free_node, graph, &node, 1, word));
	OK(cuGraphMemFreeNodeGetParams(free_node, &got));
	ck_assert_uint_eq(got, word);
	FAILS(INVALID_VALUE, cuGraphAddMemFreeNode(&node, graph, NULL, 0, word));
	FAILS(INVALID_VALUE, cuGraphAddMemFreeNode(&node, other, NULL, 0, word));
	add_alloc(graph, &kept);
	OK(cuGraphAddMemFreeNode(&node, other, NULL, 0, kept));
	FAILS(INVALID_VALUE, cuGraphAddMemFreeNode(&node, graph, NULL, 0, kept));
	CUgraphExec exec = new_exec(graph);
	CUgraphExec freeing = new_exec(other);
	FAILS(INVALID_VALUE, cuGraphLaunch(freeing, NULL));
	for (int i = 0; i < 3; i++) {
		launch_and_wait(exec, NULL);
		launch_and_wait(freeing, NULL);
	}
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphInstantiateWithFlags(&exec, graph,
		CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
	launch_and_wait(exec, NULL);
	launch_and_wait(exec, NULL);
	OK(cuGraphExecDestroy(exec));
	release_graph(freeing, graph);
	OK(cuGraphDestroy(other));
	ck_assert_uint_gt(graph_memory_used(), 0);
	OK(cuMemFreeAsync(kept, NULL));
	ck_assert_uint_eq(graph_memory_used(), 0);
}
END_TEST

START_TEST(graph_may_outlive_its_context)
{
	CUdeviceptr word;
	CUgraph graph = new_graph();
	CUcontext own = new_context();
	add_alloc(graph, &word);
	CUgraphExec exec = new_exec(graph);
	OK(cuGraphLaunch(exec, NULL));
	OK(cuCtxSetCurrent(context));
	FAILS(NOT_SUPPORTED, cuGraphLaunch(exec, NULL));
	OK(cuCtxDestroy_v2(own));
	OK(cuCtxSetCurrent(context));
	FAILS(NOT_SUPPORTED, cuGraphLaunch(exec, NULL));
	release_graph(exec, graph);
}
END_TEST

SUITE(api_graph_exec)
{
	Suite *suite = suite_create("api_graph_exec");
	TCase *tc = add_case(suite, "launches", graph_setup, teardown);
	tcase_add_tests(tc, 1, launches_keep_the_order_of_their_stream,
		launch_waits_for_the_one_before_in_any_stream,
		launch_returns_although_its_kernel_waits_for_the_program,
		changes_leave_earlier_launches_alone, kernels_of_a_graph_have_blocks,
		host_functions_run_behind_what_they_depend_on,
		failing_node_poisons_the_context_and_drops_the_rest,
		faults_in_graphs_are_errors_where_signals_are_blocked,
		faults_behind_host_functions_that_block_signals_are_errors,
		graph_whose_kernel_or_event_has_gone_is_refused);
	tc = add_case(suite, "events", graph_setup, teardown);
	tcase_add_tests(tc, 1, graphs_record_events_and_wait_for_them,
		values_are_waited_for_after_what_can_be_done);
	tc = add_case(suite, "updates", graph_setup, teardown);
	tcase_add_tests(tc, 1, whole_graphs_can_be_taken_over,
		updates_that_change_the_kind_of_a_node_fail, child_graphs_can_be_taken_over);
	tc = add_case(suite, "memory", graph_setup, teardown);
	tcase_add_tests(tc, 1, memory_of_a_graph_is_allocated_and_freed_by_launches,
		memory_is_freed_by_nodes_once, graph_may_outlive_its_context);
	return suite;
}
