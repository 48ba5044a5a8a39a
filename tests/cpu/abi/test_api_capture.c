/* SPDX-License-Identifier: MIT */
/*
 * Stream capture: the graphs that it makes, streams that join and leave, and what invalidates it.
 */
#include "cpu/support/api_graph.h"
#include "support/suite.h"

#include <math.h>
#include <pthread.h>

enum { COUNT = 64 };

static CUstream stream;  /* does not wait for the default stream */
static CUstream other;

static void capture_setup(void)
{
	graph_setup();
	stream = new_stream(CU_STREAM_NON_BLOCKING);
	other = new_stream(CU_STREAM_NON_BLOCKING);
}

static void begin(CUstream which)
{
	OK(cuStreamBeginCapture_v2(which, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static CUgraph end(CUstream which)
{
	CUgraph graph = NULL;
	OK(cuStreamEndCapture(which, &graph));
	ck_assert_ptr_nonnull(graph);
	return graph;
}

static CUstreamCaptureStatus status_of(CUstream which)
{
	CUstreamCaptureStatus status;
	OK(cuStreamIsCapturing(which, &status));
	return status;
}

static size_t node_count(CUgraph graph)
{
	size_t count;
	OK(cuGraphGetNodes(graph, NULL, &count));
	return count;
}

static size_t edge_count(CUgraph graph)
{
	size_t count;
	OK(cuGraphGetEdges(graph, NULL, NULL, &count));
	return count;
}

/* The only node of a graph. */
static CUgraphNode only_node(CUgraph graph)
{
	CUgraphNode node = NULL;
	size_t count = 1;
	ck_assert_uint_eq(node_count(graph), 1);
	OK(cuGraphGetNodes(graph, &node, &count));
	return node;
}

/* --- What captures make --- */

START_TEST(captured_saxpy_is_what_the_host_computes)
{
	float x[COUNT], y[COUNT], result[COUNT];
	float a = 0.75f;
	CUdeviceptr dx = alloc(sizeof(x));
	CUdeviceptr dy = alloc(sizeof(y));
	begin(stream);
	OK(cuMemcpyHtoDAsync_v2(dx, x, sizeof(x), stream));
	OK(cuMemcpyHtoDAsync_v2(dy, y, sizeof(y), stream));
	OK(cuLaunchKernel(kernel(graph_module, "saxpy"), 1, 1, 1, COUNT, 1, 1, 0, stream,
		(void *[]){&a, &dx, &dy}, NULL));
	OK(cuMemcpyDtoHAsync_v2(result, dy, sizeof(y), stream));
	ck_assert_int_eq(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
	CUgraph graph = end(stream);
	ck_assert_int_eq(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
	ck_assert_uint_eq(node_count(graph), 4);
	ck_assert_uint_eq(edge_count(graph), 3);
	CUgraphExec exec = new_exec(graph);
	a = 0;
	for (int round = 1; round < 4; round++) {
		for (int i = 0; i < COUNT; i++) {
			x[i] = (float)(i * round) * 0.37f;
			y[i] = 100.0f / (float)(i + round);
		}
		launch_and_wait(exec, stream);
		for (int i = 0; i < COUNT; i++) {
			ck_assert(result[i] == fmaf(0.75f, x[i], y[i]));
		}
	}
	release_graph(exec, graph);
}
END_TEST

static void add_hundred(void *data)
{
	atomic_fetch_add((_Atomic uint32_t *)data, 100);
}

START_TEST(everything_that_streams_do_becomes_nodes)
{
	CUdeviceptr word = (uintptr_t)&words[4];
	CUgraphNode nodes[5];
	CUgraphNodeType type;
	const CUgraphNodeType types[] = {CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_KERNEL,
		CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
		CU_GRAPH_NODE_TYPE_MEMCPY};
	size_t count = countof(types);
	begin(stream);
	OK(cuMemsetD32Async(word, 7, 1, stream));
	OK(launch_plus(stream, word, 1));
	OK(cuLaunchHostFunc(stream, add_hundred, (void *)&words[4]));
	OK(cuStreamWriteValue32(stream, word + 4, 55, 0));
	OK(cuMemcpyDtoDAsync_v2(word + 8, word, 8, stream));
	OK(cuMemcpyDtoDAsync_v2(word, word, 0, stream));
	ck_assert_uint_eq(words[4], 0);
	CUgraph graph = end(stream);
	ck_assert_uint_eq(node_count(graph), countof(types));
	OK(cuGraphGetNodes(graph, nodes, &count));
	for (size_t i = 0; i < countof(types); i++) {
		OK(cuGraphNodeGetType(nodes[i], &type));
		ck_assert_int_eq(type, types[i]);
	}
	launch_and_wait(new_exec(graph), other);
	ck_assert_uint_eq(words[6], 108);
	ck_assert_uint_eq(words[7], 55);
}
END_TEST

/* As on a GPU, in all modes. */
START_TEST(a_graph_cannot_be_launched_into_a_capture)
{
	CUgraph graph = new_graph(), none;
	add_plus(graph, NULL, 0, alloc(4), 1);
	CUgraphExec exec = new_exec(graph);
	OK(cuStreamBeginCapture_v2(stream, (CUstreamCaptureMode)_i));
	FAILS(STREAM_CAPTURE_UNSUPPORTED, cuGraphLaunch(exec, stream));
	ck_assert_int_eq(status_of(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	FAILS(STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &none));
	OK(cuGraphLaunch(exec, stream));
}
END_TEST

START_TEST(captured_nodes_have_parameters)
{
	CUdeviceptr word = alloc(64);
	CUDA_KERNEL_NODE_PARAMS params;
	CUDA_MEMCPY3D copy;
	uint32_t value = 5;
	begin(stream);
	OK(launch_plus(stream, word, 3));
	CUgraph graph = end(stream);
	CUgraphNode node = only_node(graph);
	OK(cuGraphKernelNodeGetParams_v2(node, &params));
	ck_assert_uint_eq(*(uint32_t *)params.kernelParams[1], 3);
	params.kernelParams[1] = &value;
	OK(cuGraphKernelNodeSetParams_v2(node, &params));
	set_word(word, 0);
	launch_and_wait(new_exec(graph), stream);
	ck_assert_uint_eq(word_at(word), 5);
	begin(stream);
	OK(cuMemcpyDtoDAsync_v2(word, word + 32, 16, stream));
	graph = end(stream);
	node = only_node(graph);
	OK(cuGraphMemcpyNodeGetParams(node, &copy));
	ck_assert_uint_eq(copy.srcDevice, word + 32);
	ck_assert_uint_eq(copy.WidthInBytes, 16);
	copy.srcDevice = word;
	OK(cuGraphMemcpyNodeSetParams(node, &copy));
}
END_TEST

START_TEST(memory_is_allocated_and_freed_in_captures)
{
	CUdeviceptr word = 0;
	CUdeviceptr foreign = alloc(4);
	begin(stream);
	OK(cuMemAllocAsync(&word, 4, stream));
	OK(cuMemsetD32Async(word, 6, 1, stream));
	OK(launch_plus(stream, word, 1));
	OK(cuMemcpyDtoHAsync_v2((void *)&words[3], word, 4, stream));
	FAILS(INVALID_VALUE, cuMemFreeAsync(foreign, stream));
	OK(cuMemFreeAsync(word, stream));
	CUgraph graph = end(stream);
	ck_assert_uint_eq(node_count(graph), 5);
	CUgraphExec exec = new_exec(graph);
	launch_and_wait(exec, stream);
	launch_and_wait(exec, stream);
	ck_assert_uint_eq(words[3], 7);
}
END_TEST

/* --- Forks and joins --- */

START_TEST(events_fork_and_join_streams)
{
	CUevent fork = new_event(0);
	CUevent join = new_event(0);
	CUdeviceptr a = alloc(8);
	begin(stream);
	OK(cuMemsetD32Async(a, 1, 2, stream));
	OK(cuEventRecord(fork, stream));
	OK(cuStreamWaitEvent(other, fork, 0));
	ck_assert_int_eq(status_of(other), CU_STREAM_CAPTURE_STATUS_ACTIVE);
	OK(launch_plus(other, a, 10));
	OK(launch_plus(stream, a + 4, 20));
	OK(cuEventRecord(join, other));
	OK(cuStreamWaitEvent(stream, join, 0));
	OK(cuMemcpyDtoHAsync_v2((void *)&words[0], a, 8, stream));
	CUgraph graph = end(stream);
	ck_assert_int_eq(status_of(other), CU_STREAM_CAPTURE_STATUS_NONE);
	ck_assert_uint_eq(node_count(graph), 4);
	ck_assert_uint_eq(edge_count(graph), 4);
	launch_and_wait(new_exec(graph), stream);
	ck_assert(words[0] == 11 && words[1] == 21);
	FAILS(CAPTURED_EVENT, cuEventQuery(join));
	OK(cuEventRecord(join, stream));
	OK(cuEventSynchronize(join));
}
END_TEST

START_TEST(fork_that_is_not_joined_fails)
{
	CUevent fork = new_event(0);
	CUgraph graph = (CUgraph)(void *)&fork;
	begin(stream);
	OK(cuMemsetD32Async((CUdeviceptr)(uintptr_t)&words[8], 1, 1, stream));
	OK(cuEventRecord(fork, stream));
	OK(cuStreamWaitEvent(other, fork, 0));
	OK(launch_plus(other, (CUdeviceptr)(uintptr_t)&words[8], 10));
	FAILS(STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(stream, &graph));
	ck_assert_ptr_null(graph);
	ck_assert_int_eq(status_of(other), CU_STREAM_CAPTURE_STATUS_NONE);
	begin(stream);
	OK(cuEventRecord(fork, stream));
	OK(cuStreamWaitEvent(other, fork, 0));
	OK(cuGraphDestroy(end(stream)));
}
END_TEST

/* What a forked stream did stays in the graph, joined or not. */
START_TEST(forked_stream_may_go_before_the_end)
{
	const CUdeviceptr a = (CUdeviceptr)(uintptr_t)&words[8];
	CUevent event = new_event(0);
	for (int is_joined = 0; is_joined < 2; is_joined++) {
		CUstream fork = new_stream(CU_STREAM_NON_BLOCKING);
		CUgraph graph = NULL;
		begin(stream);
		OK(cuMemsetD32Async(a, 1, 1, stream));
		OK(cuEventRecord(event, stream));
		OK(cuStreamWaitEvent(fork, event, 0));
		OK(launch_plus(fork, a, 10));
		OK(cuEventRecord(event, fork));
		if (is_joined) {
			OK(cuStreamWaitEvent(stream, event, 0));
		}
		OK(cuStreamDestroy_v2(fork));
		OK(launch_plus(stream, a + 4, 20));
		if (is_joined) {
			graph = end(stream);
			ck_assert_uint_eq(edge_count(graph), 3);
		} else {
			FAILS(STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(stream, &graph));
		}
	}
}
END_TEST

START_TEST(external_events_become_nodes)
{
	CUevent event = new_event(0);
	CUgraphNodeType type;
	begin(stream);
	OK(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
	CUgraph graph = end(stream);
	OK(cuGraphNodeGetType(only_node(graph), &type));
	ck_assert_int_eq(type, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
	launch_and_wait(new_exec(graph), stream);
	OK(cuEventQuery(event));
	begin(stream);
	OK(cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
	graph = end(stream);
	OK(cuGraphNodeGetType(only_node(graph), &type));
	ck_assert_int_eq(type, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
	FAILS(INVALID_VALUE, cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
	FAILS(INVALID_VALUE, cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
}
END_TEST

START_TEST(dependencies_can_be_read_and_changed)
{
	CUdeviceptr word = (CUdeviceptr)(uintptr_t)&words[8];
	CUstreamCaptureStatus status;
	CUgraph graph;
	const CUgraphNode *nodes;
	cuuint64_t id = 0, second = 0;
	size_t count = 9;
	begin(stream);
	OK(launch_plus(stream, word, 1));
	OK(cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &nodes, &count));
	ck_assert(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id != 0 && count == 1);
	FAILS(INVALID_VALUE, cuGraphDestroy(graph));
	FAILS(INVALID_VALUE, cuGraphDestroyNode(nodes[0]));
	CUgraphNode empty = add_empty(graph, nodes, 1);
	OK(cuStreamUpdateCaptureDependencies(stream, &empty, 1,
		CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	OK(launch_plus(stream, word, 1));
	CUgraphNode loose = add_empty(graph, NULL, 0);
	OK(cuStreamUpdateCaptureDependencies_v2(stream, &loose, NULL, 1, 0));
	OK(cuStreamGetCaptureInfo_v3(stream, &status, &second, NULL, &nodes, NULL, &count));
	ck_assert(second == id && count == 2 && nodes[1] == loose);
	ck_assert_ptr_eq(end(stream), graph);
	ck_assert_uint_eq(node_count(graph), 4);
	ck_assert_uint_eq(edge_count(graph), 2);
	FAILS(ILLEGAL_STATE, cuStreamUpdateCaptureDependencies(stream, &empty, 1, 0));
	OK(cuStreamGetCaptureInfo(stream, &status, NULL));
	ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_NONE);
}
END_TEST

/* cuStreamGetCaptureInfo gives out the list itself. */
START_TEST(dependencies_can_be_a_part_of_what_they_were)
{
	enum { ALL = 16 };
	CUgraphNode all[ALL];
	CUstreamCaptureStatus status;
	CUgraph graph;
	const CUgraphNode *nodes;
	size_t count = 0;
	begin(stream);
	OK(cuStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, NULL, NULL));
	for (size_t i = 0; i < ALL; i++) {
		all[i] = add_empty(graph, NULL, 0);
	}
	OK(cuStreamUpdateCaptureDependencies(stream, all, ALL,
		CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	OK(cuStreamGetCaptureInfo_v2(stream, &status, NULL, NULL, &nodes, &count));
	OK(cuStreamUpdateCaptureDependencies(stream, (CUgraphNode *)nodes + 1, ALL - 1,
		CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	OK(cuStreamGetCaptureInfo_v2(stream, &status, NULL, NULL, &nodes, &count));
	ck_assert_uint_eq(count, ALL - 1);
	OK(cuStreamUpdateCaptureDependencies(stream, (CUgraphNode *)nodes, count, 0));
	OK(cuStreamGetCaptureInfo_v2(stream, &status, NULL, NULL, &nodes, &count));
	ck_assert_uint_eq(count, ALL - 1);
	for (size_t i = 0; i < count; i++) {
		ck_assert_ptr_eq(nodes[i], all[i + 1]);
	}
	OK(cuGraphDestroy(end(stream)));
}
END_TEST

START_TEST(graph_that_exists_can_be_captured_into)
{
	CUdeviceptr word = (CUdeviceptr)(uintptr_t)&words[8];
	CUgraph graph = new_graph();
	CUgraphNode first = add_plus(graph, NULL, 0, word, 1);
	CUgraphExec exec;
	CUgraph got;
	OK(cuStreamBeginCaptureToGraph(stream, graph, &first, NULL, 1,
		CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(INVALID_VALUE, cuStreamBeginCaptureToGraph(other, graph, NULL, NULL, 0,
		CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(launch_plus(stream, word, 1));
	OK(cuStreamEndCapture(stream, &got));
	ck_assert_ptr_eq(got, graph);
	ck_assert_uint_eq(edge_count(graph), 1);
}
END_TEST

/* --- What must not be done --- */

static CUresult sync_stream(void)
{
	return cuStreamSynchronize(stream);
}

static CUresult query_stream(void)
{
	return cuStreamQuery(stream);
}

static CUresult instantiate(void)
{
	CUgraphExec exec;
	return cuGraphInstantiateWithFlags(&exec, new_graph(), 0);
}

static CUresult allocate(void)
{
	CUdeviceptr address;
	return cuMemAlloc_v2(&address, 4);
}

static void ignore(CUstream which, CUresult status, void *data)
{
	(void)which;
	(void)status;
	(void)data;
}

static CUresult add_callback(void)
{
	return cuStreamAddCallback(stream, ignore, NULL, 0);
}

static CUresult wait_for_plain_event(void)
{
	return cuStreamWaitEvent(stream, new_event(0), 0);
}

static CUresult query_captured_event(void)
{
	CUevent event = new_event(0);
	OK(cuEventRecord(event, stream));
	return cuEventQuery(event);
}

static CUresult sync_captured_event(void)
{
	CUevent event = new_event(0);
	OK(cuEventRecord(event, stream));
	return cuEventSynchronize(event);
}

static CUresult query_plain_event(void)
{
	return cuEventQuery(new_event(0));
}

static CUresult end_in_another_stream(void)
{
	CUevent event = new_event(0);
	CUgraph graph;
	OK(cuEventRecord(event, stream));
	OK(cuStreamWaitEvent(other, event, 0));
	return cuStreamEndCapture(other, &graph);
}

static CUresult merge(void)
{
	CUevent event = new_event(0);
	begin(other);
	OK(cuEventRecord(event, other));
	CUresult result = cuStreamWaitEvent(stream, event, 0);
	CUgraph graph;
	FAILS(STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(other, &graph));
	return result;
}

static CUresult fork_the_default_stream(void)
{
	CUevent event = new_event(0);
	OK(cuEventRecord(event, stream));
	return cuStreamWaitEvent(NULL, event, 0);
}

static CUresult attach(void)
{
	return cuStreamAttachMemAsync(stream, (uintptr_t)&stream, 8, CU_MEM_ATTACH_HOST);
}

static const struct bad_row {
	const char *name;
	CUresult (*call)(void);
	CUresult result;
} bad_rows[] = {
	{"synchronize", sync_stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
	{"query", query_stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
	{"context", cuCtxSynchronize, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
	{"instantiate", instantiate, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
	{"allocate", allocate, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
	{"callback", add_callback, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
	{"isolation", wait_for_plain_event, CUDA_ERROR_STREAM_CAPTURE_ISOLATION},
	{"captured event", query_captured_event, CUDA_ERROR_CAPTURED_EVENT},
	{"captured event", sync_captured_event, CUDA_ERROR_CAPTURED_EVENT},
	{"plain event", query_plain_event, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
	{"unmatched", end_in_another_stream, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED},
	{"merge", merge, CUDA_ERROR_STREAM_CAPTURE_MERGE},
	{"default stream", fork_the_default_stream, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT},
	{"attach", attach, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
};

START_TEST(what_a_capture_cannot_see_invalidates_it)
{
	const struct bad_row *row = &bad_rows[_i];
	CUdeviceptr word = alloc(4);
	CUgraph graph = (CUgraph)(void *)&word;
	begin(stream);
	OK(launch_plus(stream, word, 1));
	CUresult result = row->call();
	ck_assert_msg(result == row->result, "%s: %d, not %d", row->name, result, row->result);
	ck_assert_int_eq(status_of(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	FAILS(STREAM_CAPTURE_INVALIDATED, launch_plus(stream, word, 1));
	FAILS(STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
	ck_assert_ptr_null(graph);
	ck_assert_int_eq(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
	OK(launch_plus(stream, word, 1));
	OK(cuStreamSynchronize(stream));
}
END_TEST

/* As on a GPU. */
START_TEST(a_stream_that_is_destroyed_takes_its_capture_along)
{
	CUdeviceptr word = alloc(4);
	CUstream captured;
	OK(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(launch_plus(captured, word, 1));
	OK(cuStreamDestroy_v2(captured));
	OK(cuCtxSynchronize());
}
END_TEST

START_TEST(blocking_stream_blocks_the_default_stream)
{
	CUstream blocking = new_stream(0);
	CUstreamCaptureStatus status;
	CUdeviceptr word = alloc(4);
	CUgraph graph;
	begin(blocking);
	FAILS(STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing(NULL, &status));
	ck_assert_int_eq(status_of(blocking), CU_STREAM_CAPTURE_STATUS_ACTIVE);
	FAILS(STREAM_CAPTURE_IMPLICIT, launch_plus(NULL, word, 1));
	ck_assert_int_eq(status_of(blocking), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	FAILS(STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(blocking, &graph));
	begin(blocking);
	FAILS(STREAM_CAPTURE_IMPLICIT, cuMemcpyHtoD_v2(word, &graph, 4));
	FAILS(STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(blocking, &graph));
	begin(blocking);
	FAILS(STREAM_CAPTURE_IMPLICIT, cuStreamSynchronize(NULL));
	FAILS(STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(blocking, &graph));
	begin(stream);
	OK(launch_plus(NULL, word, 1));
	OK(cuStreamSynchronize(NULL));
	end(stream);
}
END_TEST

START_TEST(captures_that_cannot_begin_or_end_are_refused)
{
	CUgraph graph;
	FAILS(STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2(NULL, 0));
	FAILS(INVALID_VALUE, cuStreamBeginCapture_v2(stream, 3));
	FAILS(INVALID_HANDLE, cuStreamBeginCapture_v2((CUstream)(void *)&graph, 0));
	FAILS(ILLEGAL_STATE, cuStreamEndCapture(stream, &graph));
	OK(cuStreamBeginCapture(stream));
	FAILS(ILLEGAL_STATE, cuStreamBeginCapture_v2(stream, 0));
	FAILS(INVALID_VALUE, cuStreamEndCapture(stream, NULL));
	ck_assert_uint_eq(node_count(end(stream)), 0);
	OK(cuStreamBeginCapture_v2(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	end(CU_STREAM_PER_THREAD);
}
END_TEST

/* --- Threads --- */

struct elsewhere {
	CUresult ended;
	CUresult allocated;
	CUresult relaxed;
};

static void *try_elsewhere(void *data)
{
	struct elsewhere *e = data;
	CUgraph graph;
	CUdeviceptr a;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	OK(cuCtxSetCurrent(context));
	e->ended = cuStreamEndCapture(stream, &graph);
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	e->relaxed = cuMemAlloc_v2(&a, 4);
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	ck_assert_int_eq(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
	e->allocated = cuMemAlloc_v2(&a, 4);
	return NULL;
}

static const struct thread_row {
	CUstreamCaptureMode mode;
	CUresult ended, allocated;
} thread_rows[] = {
	{CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
		CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
	{CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, CUDA_SUCCESS},
	{CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_SUCCESS, CUDA_SUCCESS},
};

START_TEST(modes_say_what_other_threads_may_do)
{
	const struct thread_row *row = &thread_rows[_i];
	struct elsewhere e;
	pthread_t thread;
	CUgraph graph;
	OK(cuStreamBeginCapture_v2(stream, row->mode));
	ck_assert_int_eq(pthread_create(&thread, NULL, try_elsewhere, &e), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(e.ended, row->ended);
	ck_assert_int_eq(e.allocated, row->allocated);
	OK(e.relaxed);
	if (row->ended != CUDA_SUCCESS) {
		ck_assert_int_eq(cuStreamEndCapture(stream, &graph), row->allocated == CUDA_SUCCESS
			? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	}
}
END_TEST

/* --- Memory, ends --- */

/* Without asking for the kernel, which takes memory, too. */
static CUresult launch_step(CUfunction add, CUstream which)
{
	CUdeviceptr word = (uintptr_t)&words[0];
	uint32_t one = 1;
	return cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, which, (void *[]){&word, &one}, NULL);
}

START_TEST(want_of_memory_in_a_capture_leaves_it_usable)
{
	CUfunction step = kernel(wait_module, "add");
	CUevent fork = new_event(0);
	CUevent join = new_event(0);
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	for (long n = 0; result != CUDA_SUCCESS && n < 100; n++) {
		CUgraph graph = NULL;
		mem_fail_after(n);
		result = cuStreamBeginCapture_v2(stream, 0);
		bool began = result == CUDA_SUCCESS;
		result = began ? launch_step(step, stream) : result;
		result = result == CUDA_SUCCESS ? cuEventRecord(fork, stream) : result;
		result = result == CUDA_SUCCESS ? cuStreamWaitEvent(other, fork, 0) : result;
		result = result == CUDA_SUCCESS ? launch_step(step, other) : result;
		result = result == CUDA_SUCCESS ? cuEventRecord(join, other) : result;
		result = result == CUDA_SUCCESS ? cuStreamWaitEvent(stream, join, 0) : result;
		mem_fail_after(-1);
		ck_assert(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
		if (began) {
			CUresult ended = cuStreamEndCapture(stream, &graph);
			ck_assert(ended == CUDA_SUCCESS
				|| ended == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
		}
		if (graph != NULL) {
			OK(cuGraphDestroy(graph));
		}
	}
	OK(result);
}
END_TEST

START_TEST(context_may_go_during_a_capture)
{
	CUstream inside;
	CUevent event;
	CUcontext own = new_context();
	inside = new_stream(CU_STREAM_NON_BLOCKING);
	event = new_event(0);
	begin(inside);
	OK(cuMemsetD32Async((uintptr_t)&words[0], 1, 1, inside));
	OK(cuEventRecord(event, inside));
	OK(cuCtxDestroy_v2(own));
	OK(cuCtxSetCurrent(context));
	alloc(4);
	begin(stream);
	end(stream);
}
END_TEST

START_TEST(streams_have_attributes)
{
	CUstreamAttrValue value;
	OK(cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
	ck_assert_int_eq(value.syncPolicy, CU_SYNC_POLICY_AUTO);
	value.syncPolicy = CU_SYNC_POLICY_YIELD;
	OK(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
	OK(cuStreamCopyAttributes(other, stream));
	value.syncPolicy = 0;
	FAILS(INVALID_VALUE, cuStreamSetAttribute(stream,
		CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
	OK(cuStreamGetAttribute(other, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
	ck_assert_int_eq(value.syncPolicy, CU_SYNC_POLICY_YIELD);
	FAILS(INVALID_VALUE, cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
	FAILS(INVALID_VALUE, cuStreamGetAttribute(stream, 77, &value));
}
END_TEST

START_TEST(managed_memory_can_be_attached)
{
	CUdeviceptr managed;
	OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
	OK(cuStreamAttachMemAsync(stream, managed, 0, CU_MEM_ATTACH_SINGLE));
	OK(cuStreamAttachMemAsync(stream, managed, 64, CU_MEM_ATTACH_HOST));
	FAILS(INVALID_VALUE, cuStreamAttachMemAsync(NULL, managed, 0, CU_MEM_ATTACH_SINGLE));
	FAILS(INVALID_VALUE, cuStreamAttachMemAsync(stream, managed, 32, CU_MEM_ATTACH_HOST));
	FAILS(INVALID_VALUE, cuStreamAttachMemAsync(stream, managed, 0, 3));
	FAILS(INVALID_VALUE, cuStreamAttachMemAsync(stream, alloc(4), 0, CU_MEM_ATTACH_HOST));
}
END_TEST

SUITE(api_capture)
{
	Suite *suite = suite_create("api_capture");
	TCase *tc = add_case(suite, "nodes", capture_setup, teardown);
	tcase_add_tests(tc, 1, captured_saxpy_is_what_the_host_computes,
		everything_that_streams_do_becomes_nodes, captured_nodes_have_parameters,
		memory_is_allocated_and_freed_in_captures);
	tc = add_case(suite, "streams", capture_setup, teardown);
	tcase_add_tests(tc, 1, events_fork_and_join_streams, fork_that_is_not_joined_fails,
		forked_stream_may_go_before_the_end, external_events_become_nodes,
		dependencies_can_be_read_and_changed,
		dependencies_can_be_a_part_of_what_they_were,
		graph_that_exists_can_be_captured_into);
	tc = add_case(suite, "refused", capture_setup, teardown);
	tcase_add_loop_test(tc, what_a_capture_cannot_see_invalidates_it, 0, countof(bad_rows));
	tcase_add_loop_test(tc, a_graph_cannot_be_launched_into_a_capture, 0, 3);
	tcase_add_tests(tc, 1, a_stream_that_is_destroyed_takes_its_capture_along,
		blocking_stream_blocks_the_default_stream,
		captures_that_cannot_begin_or_end_are_refused);
	tc = add_case(suite, "threads", capture_setup, teardown);
	tcase_add_loop_test(tc, modes_say_what_other_threads_may_do, 0, countof(thread_rows));
	tc = add_case(suite, "ends", capture_setup, teardown);
	tcase_add_tests(tc, 1, want_of_memory_in_a_capture_leaves_it_usable,
		context_may_go_during_a_capture);
	tc = add_case(suite, "streams' attributes", capture_setup, teardown);
	tcase_add_tests(tc, 1, streams_have_attributes, managed_memory_can_be_attached);
	return suite;
}
