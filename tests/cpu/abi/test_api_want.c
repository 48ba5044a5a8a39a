/* SPDX-License-Identifier: MIT */
/*
 * Failing allocations of host memory, at each request of each call.  The call reports it and
 * changes nothing, and the same call succeeds afterwards.
 */
#include "cpu/support/api_graph.h"
#include "cpu/support/api_texture.h"
#include "support/suite.h"

CUresult cuMemHostRegister_v2(void *memory, size_t size, unsigned int flags);
CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemsetD32Async_ptsz(CUdeviceptr to, unsigned value, size_t count, CUstream stream);

enum { BEGUN, GO, WORD };

static CUstream busy;       /* waits until words[GO] is set */
static CUevent event;
static CUdeviceptr kept;    /* what launches of `exec` allocate */
static CUgraph graph;
static CUgraphExec exec;
static CUcontext other;
static CUarray array;
static CUfunction add;
static char page[4096];

static void want_setup(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = {
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}}, .bytesize = 4
	};
	CUgraphNode node;
	graph_setup();
	array = array_create(8, 8, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST);
	event = new_event(0);
	add = kernel(wait_module, "add");
	graph = new_graph();
	OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	kept = params.dptr;
	OK(cuGraphAddEventRecordNode(&node, graph, NULL, 0, event));
	OK(cuGraphAddEventWaitNode(&node, graph, NULL, 0, event));
	exec = new_exec(graph);
	OK(cuCtxCreate_v2(&other, 0, 0));
	OK(cuCtxSetCurrent(context));
	busy = new_stream(CU_STREAM_NON_BLOCKING);
	launch_meet(busy, BEGUN, GO);
	await(BEGUN);
}

/* --- What is tried, and how it is undone --- */

static CUcontext own;
static CUstream stream;
static CUevent created;
static CUdeviceptr address;
static CUmemoryPool pool;
static CUsurfObject surface;
static CUtexObject texture;
static CUuserObject object;

static CUresult create_context(void)
{
	return cuCtxCreate_v2(&own, 0, 0);
}

static CUresult destroy_context(void)
{
	OK(cuCtxDestroy_v2(own));
	return cuCtxSetCurrent(context);
}

static CUresult create_stream(void)
{
	return cuStreamCreate(&stream, 0);
}

static CUresult destroy_stream(void)
{
	return cuStreamDestroy_v2(stream);
}

static CUresult create_event(void)
{
	return cuEventCreate(&created, 0);
}

static CUresult destroy_event(void)
{
	return cuEventDestroy_v2(created);
}

/* The stream of this thread in a context that it has not used yet. */
static CUresult use_own_stream(void)
{
	OK(cuCtxSetCurrent(other));
	CUresult result = cuMemsetD32Async_ptsz((CUdeviceptr)(uintptr_t)&words[WORD], 1, 1, NULL);
	OK(cuCtxSetCurrent(context));
	return result;
}

static CUresult queue_copy(void)
{
	static const uint32_t one = 1;
	return cuMemcpyHtoDAsync_v2((CUdeviceptr)(uintptr_t)&words[WORD], &one, 4, busy);
}

static CUresult queue_kernel(void)
{
	CUdeviceptr where = (CUdeviceptr)(uintptr_t)&words[WORD];
	uint32_t one = 1;
	void *values[] = {&where, &one};
	return cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, busy, values, NULL);
}

static CUresult queue_record(void)
{
	return cuEventRecord(event, busy);
}

static CUresult queue_wait(void)
{
	return cuStreamWaitEvent(busy, event, 0);
}

/* What is accounted for as allocated can be freed, once. */
static CUresult queue_graph(void)
{
	return cuGraphLaunch(exec, busy);
}

static CUresult free_kept(void)
{
	return cuMemFreeAsync(kept, busy);
}

static CUresult change_graph(void)
{
	CUgraphExecUpdateResultInfo info;
	return cuGraphExecUpdate_v2(exec, graph, &info);
}

static CUresult allocate_in_order(void)
{
	return cuMemAllocAsync(&address, 64, busy);
}

static CUresult free_in_order(void)
{
	return cuMemFreeAsync(address, busy);
}

static CUresult create_pool(void)
{
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	return cuMemPoolCreate(&pool, &props);
}

static CUresult destroy_pool(void)
{
	return cuMemPoolDestroy(pool);
}

static CUresult register_memory(void)
{
	return cuMemHostRegister_v2(page, sizeof(page), 0);
}

static CUresult create_surface(void)
{
	const CUDA_RESOURCE_DESC from = {.resType = CU_RESOURCE_TYPE_ARRAY,
		.res.array.hArray = array};
	return cuSurfObjectCreate(&surface, &from);
}

static CUresult create_texture(void)
{
	const CUDA_RESOURCE_DESC from = {.resType = CU_RESOURCE_TYPE_ARRAY,
		.res.array.hArray = array};
	const CUDA_TEXTURE_DESC sampling = {.flags = 0};
	return cuTexObjectCreate(&texture, &from, &sampling, NULL);
}

static void end_object(void *unused)
{
	(void)unused;
}

static CUresult create_object(void)
{
	return cuUserObjectCreate(&object, NULL, end_object, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
}

static CUresult release_object(void)
{
	return cuUserObjectRelease(object, 1);
}

/* Those that wait for the busy stream are not undone here. */
static const struct want_row {
	const char *name;
	CUresult (*call)(void);
	CUresult (*undo)(void);
} want_rows[] = {
	{"context", create_context, destroy_context}, {"stream", create_stream, destroy_stream},
	{"event", create_event, destroy_event}, {"own stream", use_own_stream, NULL},
	{"copy", queue_copy, NULL}, {"kernel", queue_kernel, NULL},
	{"record", queue_record, NULL}, {"wait", queue_wait, NULL},
	{"graph", queue_graph, free_kept}, {"free graph's", free_kept, queue_graph},
	{"update", change_graph, NULL}, {"memory", allocate_in_order, free_in_order},
	{"pool", create_pool, destroy_pool}, {"host memory", register_memory, NULL},
	{"surface", create_surface, NULL}, {"texture", create_texture, NULL},
	{"user object", create_object, release_object},
};

START_TEST(call_without_memory_changes_nothing)
{
	const struct want_row *row = &want_rows[_i];
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	if (row->call == free_kept) {
		OK(queue_graph());
	}
	for (long n = 0; result != CUDA_SUCCESS; n++) {
		mem_fail_after(n);
		result = row->call();
		bool has_failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_msg(result == CUDA_SUCCESS || (result == CUDA_ERROR_OUT_OF_MEMORY
			&& has_failed), "%s, after %ld: %d", row->name, n, (int)result);
		ck_assert_int_lt(n, 100);
	}
	OK(row->undo != NULL ? row->undo() : CUDA_SUCCESS);
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(busy));
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
}
END_TEST

SUITE(api_want)
{
	Suite *suite = suite_create("api_want");
	TCase *tc = add_case(suite, "memory", want_setup, teardown);
	tcase_add_loop_test(tc, call_without_memory_changes_nothing, 0, countof(want_rows));
	return suite;
}
