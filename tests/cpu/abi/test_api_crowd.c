/* SPDX-License-Identifier: MIT */
/*
 * Many threads that do all kinds of things at once, with one context and with contexts of their
 * own.  Each call is correct by itself, so all must succeed, and the sums must be right.  The
 * sanitizers look for other errors.
 */
#include "cpu/support/api_graph.h"
#include "cpu/support/api_texture.h"
#include "support/suite.h"

#include <pthread.h>

CUresult cuLibraryGetModule(CUmodule *out, CUlibrary handle);
CUresult cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *options, void **values,
	unsigned int count, CUlibraryOption *library_options, void **library_values,
	unsigned int library_count);
CUresult cuLibraryUnload(CUlibrary handle);
CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary handle, const char *name);
CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value);
CUresult cuFuncGetAttribute(int *out, CUfunction_attribute attribute, CUfunction handle);
CUresult cuMemHostRegister_v2(void *memory, size_t size, unsigned int flags);
CUresult cuMemHostUnregister(void *memory);
CUresult cuMemsetD32Async_ptsz(CUdeviceptr to, unsigned value, size_t count, CUstream stream);

enum { THREADS = 4, ROUNDS = 60 };

/* What one thread has. */
struct actor {
	pthread_t thread;
	CUstream stream;
	CUevent event;
	CUdeviceptr word;
	uint32_t sum;      /* what the word is to become */
	uint32_t seed;
	uint32_t called;   /* host functions that have run */
	uint32_t to_call;
	char page[4096];
};

static CUevent shared_event;
static CUlibrary shared_library;
static CUgraphExec shared_exec; /* adds 1 to words[0] */
static CUgraph shared_graph;
static atomic_uint launches;

static uint32_t draw(struct actor *a, uint32_t below)
{
	a->seed = a->seed * 1664525u + 1013904223u;
	return (a->seed >> 16) % below;
}

static void do_kernel(struct actor *a)
{
	uint32_t value = draw(a, 1000);
	OK(launch_plus(a->stream, a->word, value));
	a->sum += value;
}

static void do_library(struct actor *a)
{
	CUkernel handle;
	uint32_t n = 1;
	void *values[] = {&a->word, &n};
	OK(cuLibraryGetKernel(&handle, shared_library, "add"));
	OK(cuLaunchKernel((CUfunction)(void *)handle, 1, 1, 1, 32, 1, 1, 0, a->stream, values,
		NULL));
	a->sum += 7;
}

static void do_module(struct actor *a)
{
	CUmodule module = load();
	OK(launch_add(kernel(module, "add"), a->word, 1, a->stream));
	a->sum += 7;
	OK(cuModuleUnload(module));
}

static void do_events(struct actor *a)
{
	OK(cuEventRecord(a->event, a->stream));
	OK(cuEventRecord(shared_event, a->stream));
	OK(cuStreamWaitEvent(a->stream, shared_event, 0));
	CUresult result = cuEventQuery(shared_event);
	ck_assert(result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY);
	OK(cuEventSynchronize(draw(a, 2) ? a->event : shared_event));
}

static void do_memory(struct actor *a)
{
	CUdeviceptr address;
	uint32_t value = 0;
	OK(cuMemAllocAsync(&address, 4 + draw(a, 10000), a->stream));
	OK(cuMemsetD32Async(address, 11, 1, a->stream));
	OK(cuMemcpyDtoHAsync_v2(&value, address, 4, a->stream));
	ck_assert_uint_eq(value, 11);
	OK(cuMemFreeAsync(address, a->stream));
	OK(cuMemHostRegister_v2(a->page, sizeof(a->page), 0));
	OK(cuMemHostUnregister(a->page));
}

static void add_own(void *arg)
{
	((struct actor *)arg)->called++;
}

static void do_capture(struct actor *a)
{
	CUgraph graph;
	OK(cuStreamBeginCapture_v2(a->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(launch_plus(a->stream, a->word, 3));
	OK(cuLaunchHostFunc(a->stream, add_own, a));
	OK(cuStreamEndCapture(a->stream, &graph));
	CUgraphExec exec = new_exec(graph);
	OK(cuGraphLaunch(exec, a->stream));
	release_graph(exec, graph);
	a->sum += 3;
	a->to_call++;
}

static void do_graph(struct actor *a)
{
	CUgraph clone;
	size_t count = 0;
	OK(cuGraphLaunch(shared_exec, a->stream));
	atomic_fetch_add(&launches, 1);
	OK(cuGraphClone(&clone, shared_graph));
	OK(cuGraphGetNodes(clone, NULL, &count));
	ck_assert_uint_eq(count, 1);
	OK(cuGraphDestroy(clone));
}

static void do_context(struct actor *a)
{
	uint32_t value = 0;
	uint32_t expected = 5;
	CUcontext own = new_context();
	CUdeviceptr address = alloc(4);
	OK(cuMemsetD32Async_ptsz(address, 5, 1, NULL));
	if (draw(a, 2)) {
		CUmodule module;
		OK(cuLibraryGetModule(&module, shared_library));
		OK(launch_add(kernel(module, "add"), address, 1, CU_STREAM_PER_THREAD));
		expected += 7;
	}
	OK(cuMemcpyDtoH_v2(&value, address, 4));
	ck_assert_uint_eq(value, expected);
	OK(cuCtxDestroy_v2(own));
	OK(cuCtxSetCurrent(context));
}

static void do_objects(struct actor *a)
{
	CUarray array = array_create(8, 8, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST);
	const CUDA_RESOURCE_DESC from = {.resType = CU_RESOURCE_TYPE_ARRAY,
		.res.array.hArray = array};
	CUsurfObject surface;
	OK(cuSurfObjectCreate(&surface, &from));
	OK(cuSurfObjectDestroy(surface));
	OK(cuArrayDestroy(array));
	CUstream stream = new_stream(draw(a, 2));
	OK(launch_plus(stream, (CUdeviceptr)(uintptr_t)&words[1 + draw(a, 8)], 1));
	OK(cuStreamDestroy_v2(stream));
}

static void do_attributes(struct actor *a)
{
	CUfunction add = kernel(wait_module, "add");
	int value;
	OK(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
		1024 * (int)draw(a, 8)));
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, add));
	size_t limit;
	OK(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
	OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, limit));
}

static void (*const deeds[])(struct actor *a) = {do_kernel, do_library, do_module, do_events,
	do_memory, do_capture, do_graph, do_context, do_objects, do_attributes};

static void *act(void *arg)
{
	struct actor *a = arg;
	uint32_t value;
	OK(cuCtxSetCurrent(context));
	a->stream = new_stream(CU_STREAM_NON_BLOCKING);
	a->event = new_event(0);
	a->word = alloc(4);
	OK(cuMemsetD32_v2(a->word, 0, 1));
	OK(cuStreamSynchronize(NULL));
	for (int round = 0; round < ROUNDS; round++) {
		deeds[draw(a, countof(deeds))](a);
	}
	OK(cuMemcpyDtoHAsync_v2(&value, a->word, 4, a->stream));
	ck_assert_uint_eq(value, a->sum);
	ck_assert_uint_eq(a->called, a->to_call);
	OK(cuStreamDestroy_v2(a->stream));
	OK(cuEventDestroy_v2(a->event));
	OK(cuMemFree_v2(a->word));
	return NULL;
}

START_TEST(crowd_does_everything_at_once)
{
	static struct actor actors[THREADS];
	shared_event = new_event(CU_EVENT_DISABLE_TIMING);
	OK(cuLibraryLoadData(&shared_library, api_ptx, NULL, NULL, 0, NULL, NULL, 0));
	shared_graph = new_graph();
	add_plus(shared_graph, NULL, 0, (CUdeviceptr)(uintptr_t)&words[0], 1);
	shared_exec = new_exec(shared_graph);
	for (size_t i = 0; i < THREADS; i++) {
		actors[i].seed = (uint32_t)(7 * i + 1);
		ck_assert_int_eq(pthread_create(&actors[i].thread, NULL, act, &actors[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(actors[i].thread, NULL);
	}
	OK(cuCtxSynchronize());
	ck_assert_uint_eq(atomic_load(&words[0]), atomic_load(&launches));
	release_graph(shared_exec, shared_graph);
	OK(cuLibraryUnload(shared_library));
	OK(cuEventDestroy_v2(shared_event));
}
END_TEST

SUITE(api_crowd)
{
	Suite *suite = suite_create("api_crowd");
	TCase *tc = add_case(suite, "threads", graph_setup, teardown);
	tcase_add_test(tc, crowd_does_everything_at_once);
	return suite;
}
