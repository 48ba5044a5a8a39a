/* SPDX-License-Identifier: MIT */
/*
 * Threads that destroy objects while others destroy or use them.  The driver must neither crash nor
 * hang, and of two threads that destroy one object, one gets an error.
 */
#include "cpu/support/api_graph.h"
#include "cpu/support/api_texture.h"
#include "support/suite.h"

#include <malloc.h>
#include <pthread.h>
#include <time.h>

CUresult cuLinkCreate_v2(unsigned int count, CUjit_option *options, void **values,
	CUlinkState *out);
CUresult cuLinkDestroy(CUlinkState handle);
CUresult cuLibraryGetModule(CUmodule *out, CUlibrary handle);
CUresult cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *options, void **values,
	unsigned int count, CUlibraryOption *library_options, void **library_values,
	unsigned int library_count);
CUresult cuLibraryUnload(CUlibrary handle);
CUresult cuMemHostRegister_v2(void *memory, size_t size, unsigned int flags);
CUresult cuMemHostUnregister(void *memory);
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool);
CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemsetD8Async_ptsz(CUdeviceptr to, unsigned char value, size_t count, CUstream stream);

/* Of what should come about at once: when to give up. */
#define PATIENCE_S 3

/* Whether a word was set in time. */
static bool comes(const atomic_int *word)
{
	time_t end = time(NULL) + PATIENCE_S;
	while (atomic_load(word) == 0 && time(NULL) <= end) {
		sched_yield();
	}
	return atomic_load(word) != 0;
}

/* --- Ending something twice --- */

static union {
	CUmodule module;
	CUlibrary library;
	CUarray array;
	CUmipmappedArray mipmap;
	CUtexObject texture;
	CUsurfObject surface;
	CUlinkState link;
	CUmemoryPool pool;
	CUgraph graph;
	CUgraphExec exec;
	CUevent event;
	CUstream stream;
} thing;
static CUarray surface_array;
static char page[8192];
static atomic_int gate;
static atomic_int returned;

static const CUDA_ARRAY3D_DESCRIPTOR small = {.Width = 8, .Height = 8,
	.Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = CUDA_ARRAY3D_SURFACE_LDST};

static CUDA_RESOURCE_DESC resource(void)
{
	OK(cuArray3DCreate_v2(&surface_array, &small));
	return (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY,
		.res.array.hArray = surface_array};
}

static void make_module(void)
{
	thing.module = load();
}

static void make_library(void)
{
	CUmodule module;
	OK(cuLibraryLoadData(&thing.library, api_ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetModule(&module, thing.library));
}

static void make_array(void)
{
	OK(cuArray3DCreate_v2(&thing.array, &small));
}

static void make_mipmap(void)
{
	OK(cuMipmappedArrayCreate(&thing.mipmap, &small, 3));
}

static void make_texture(void)
{
	const CUDA_RESOURCE_DESC from = resource();
	const CUDA_TEXTURE_DESC sampling = {.flags = 0};
	OK(cuTexObjectCreate(&thing.texture, &from, &sampling, NULL));
}

static void make_surface(void)
{
	const CUDA_RESOURCE_DESC from = resource();
	OK(cuSurfObjectCreate(&thing.surface, &from));
}

static void make_host(void)
{
	OK(cuMemHostRegister_v2(page, sizeof(page), 0));
}

static void make_link(void)
{
	OK(cuLinkCreate_v2(0, NULL, NULL, &thing.link));
}

static void make_pool(void)
{
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	OK(cuMemPoolCreate(&thing.pool, &props));
}

static void make_graph(void)
{
	thing.graph = new_graph();
}

static void make_exec(void)
{
	CUgraph graph = new_graph();
	thing.exec = new_exec(graph);
	OK(cuGraphDestroy(graph));
}

static void make_event(void)
{
	thing.event = new_event(0);
}

static void make_stream(void)
{
	thing.stream = new_stream(0);
}

static CUresult end_module(void)
{
	return cuModuleUnload(thing.module);
}

static CUresult end_library(void)
{
	return cuLibraryUnload(thing.library);
}

static CUresult end_array(void)
{
	return cuArrayDestroy(thing.array);
}

static CUresult end_mipmap(void)
{
	return cuMipmappedArrayDestroy(thing.mipmap);
}

static CUresult end_texture(void)
{
	return cuTexObjectDestroy(thing.texture);
}

static CUresult end_surface(void)
{
	return cuSurfObjectDestroy(thing.surface);
}

static CUresult end_host(void)
{
	return cuMemHostUnregister(page);
}

static CUresult end_link(void)
{
	return cuLinkDestroy(thing.link);
}

static CUresult end_pool(void)
{
	return cuMemPoolDestroy(thing.pool);
}

static CUresult end_graph(void)
{
	return cuGraphDestroy(thing.graph);
}

static CUresult end_exec(void)
{
	return cuGraphExecDestroy(thing.exec);
}

static CUresult end_event(void)
{
	return cuEventDestroy_v2(thing.event);
}

static CUresult end_stream(void)
{
	return cuStreamDestroy_v2(thing.stream);
}

static const struct end_row {
	const char *name;
	void (*make)(void);
	CUresult (*end)(void);
	CUresult again;      /* what the second one gets */
} end_rows[] = {
	{"module", make_module, end_module, CUDA_ERROR_INVALID_HANDLE},
	{"library", make_library, end_library, CUDA_ERROR_INVALID_HANDLE},
	{"array", make_array, end_array, CUDA_ERROR_INVALID_HANDLE},
	{"mipmap", make_mipmap, end_mipmap, CUDA_ERROR_INVALID_HANDLE},
	{"texture", make_texture, end_texture, CUDA_ERROR_INVALID_VALUE},
	{"surface", make_surface, end_surface, CUDA_ERROR_INVALID_VALUE},
	{"host memory", make_host, end_host, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED},
	{"link", make_link, end_link, CUDA_ERROR_INVALID_HANDLE},
	{"pool", make_pool, end_pool, CUDA_ERROR_INVALID_VALUE},
	{"graph", make_graph, end_graph, CUDA_ERROR_INVALID_VALUE},
	{"executable graph", make_exec, end_exec, CUDA_ERROR_INVALID_VALUE},
	{"event", make_event, end_event, CUDA_ERROR_INVALID_HANDLE},
	{"stream", make_stream, end_stream, CUDA_ERROR_INVALID_HANDLE},
};

struct ending {
	CUresult (*end)(void);
	CUresult result;
};

static void *run_end(void *arg)
{
	struct ending *ending = arg;
	OK(cuCtxSetCurrent(context));
	ending->result = ending->end();
	atomic_fetch_add(&returned, 1);
	return NULL;
}

static void pass_gate(void *unused)
{
	(void)unused;
	while (atomic_load(&gate) == 0) {
		sched_yield();
	}
}

/* The first one waits for what the context does, if it waits at all; the other one does not. */
START_TEST(second_one_to_end_a_thing_fails)
{
	const struct end_row *row = &end_rows[_i];
	struct ending endings[] = {{row->end, CUDA_SUCCESS}, {row->end, CUDA_SUCCESS}};
	pthread_t threads[2];
	row->make();
	OK(cuLaunchHostFunc(NULL, pass_gate, NULL));
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_end, &endings[i]), 0);
	}
	bool came = comes(&returned);
	atomic_store(&gate, 1);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
	}
	ck_assert_msg(came, "both wait: %s", row->name);
	CUresult first = endings[0].result;
	ck_assert_int_eq(first == CUDA_SUCCESS ? endings[1].result : first, row->again);
	ck_assert_int_eq(first == CUDA_SUCCESS ? first : endings[1].result, CUDA_SUCCESS);
	ck_assert_int_eq(row->end(), row->again);
}
END_TEST

/* --- Contexts that end --- */

static CUcontext dying;
static atomic_int created;
static bool has_created;

static void wait_for_creation(void *unused)
{
	(void)unused;
	has_created = comes(&created);
}

static void *destroy_context(void *unused)
{
	(void)unused;
	OK(cuCtxDestroy_v2(dying));
	return NULL;
}

static void *release_primary(void *unused)
{
	(void)unused;
	OK(cuDevicePrimaryCtxRelease_v2(0));
	return NULL;
}

/* A host function of a context that ends waits for another thread, which makes a context. */
START_TEST(context_ends_without_keeping_others_from_theirs)
{
	pthread_t thread;
	unsigned version;
	if (_i == 0) {
		OK(cuCtxCreate_v2(&dying, 0, 0));
	} else {
		OK(cuDevicePrimaryCtxRetain(&dying, 0));
		OK(cuCtxSetCurrent(dying));
	}
	OK(cuLaunchHostFunc(NULL, wait_for_creation, NULL));
	ck_assert_int_eq(pthread_create(&thread, NULL,
		_i == 0 ? destroy_context : release_primary, NULL), 0);
	// From then on there is no such context any more.
	time_t end = time(NULL) + 1;
	while (cuCtxGetApiVersion(dying, &version) == CUDA_SUCCESS && time(NULL) <= end) {
		sched_yield();
	}
	CUcontext next = new_context();
	atomic_store(&created, 1);
	pthread_join(thread, NULL);
	ck_assert(has_created);
	alloc(4);
	OK(cuCtxDestroy_v2(next));
	FAILS(CONTEXT_IS_DESTROYED, cuCtxDestroy_v2(dying));
}
END_TEST

static atomic_int ready;

static void meet(void)
{
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) % 2 != 0) {
		sched_yield();
	}
}

static void *unload_library(void *unused)
{
	(void)unused;
	meet();
	OK(cuLibraryUnload(thing.library));
	return NULL;
}

/* A library without managed variables, and one with. */
START_TEST(library_and_its_context_end_at_once)
{
	static const char managed[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
		".visible .global .attribute(.managed) .u32 both = 3;\n"
		".visible .entry nothing() { ret; }\n";
	for (int round = 0; round < 50; round++) {
		pthread_t thread;
		CUmodule module;
		OK(cuCtxCreate_v2(&dying, 0, 0));
		OK(cuLibraryLoadData(&thing.library, _i == 0 ? api_ptx : managed, NULL, NULL, 0,
			NULL, NULL, 0));
		OK(cuLibraryGetModule(&module, thing.library));
		ck_assert_int_eq(pthread_create(&thread, NULL, unload_library, NULL), 0);
		meet();
		OK(cuCtxDestroy_v2(dying));
		pthread_join(thread, NULL);
	}
	OK(cuCtxSetCurrent(context));
}
END_TEST

static void *wait_for_event(void *event)
{
	OK(cuCtxSetCurrent(context));
	meet();
	CUresult result = cuEventSynchronize(event);
	ck_assert(result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_HANDLE);
	return NULL;
}

static void open_gate(void *unused)
{
	(void)unused;
	meet();
}

START_TEST(context_of_an_event_ends_while_another_waits_for_it)
{
	for (int round = 0; round < 50; round++) {
		pthread_t thread;
		OK(cuCtxCreate_v2(&dying, 0, 0));
		CUevent event = new_event(0);
		OK(cuLaunchHostFunc(NULL, open_gate, NULL));
		OK(cuEventRecord(event, NULL));
		ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_event, event), 0);
		OK(cuCtxDestroy_v2(dying));
		pthread_join(thread, NULL);
	}
	OK(cuCtxSetCurrent(context));
}
END_TEST

/* --- Pools --- */

static atomic_int is_over;

static void *allocate_from_current(void *unused)
{
	(void)unused;
	OK(cuCtxSetCurrent(context));
	while (atomic_load(&is_over) == 0) {
		CUdeviceptr a;
		OK(cuMemAllocAsync(&a, 64, CU_STREAM_PER_THREAD));
		OK(cuMemFreeAsync(a, CU_STREAM_PER_THREAD));
		atomic_store(&created, 1);
	}
	return NULL;
}

START_TEST(current_pool_goes_while_others_allocate)
{
	pthread_t thread;
	ck_assert_int_eq(pthread_create(&thread, NULL, allocate_from_current, NULL), 0);
	ck_assert(comes(&created));
	for (int round = 0; round < 5000; round++) {
		make_pool();
		OK(cuDeviceSetMemPool(0, thing.pool));
		OK(cuMemPoolDestroy(thing.pool));
	}
	atomic_store(&is_over, 1);
	pthread_join(thread, NULL);
}
END_TEST

/* --- Memory --- */

/* The thread sanitizer cannot know that this race is the point. */
#if defined(__SANITIZE_THREAD__)
#define RACES 0
#else
#define RACES 1
#endif

enum { FILL_COUNT = 16 << 20, FILL_ROUNDS = 10 };

static CUdeviceptr filled;
static CUresult fill_result;

static void *fill_memory(void *unused)
{
	(void)unused;
	OK(cuCtxSetCurrent(dying));
	fill_result = cuMemsetD32_v2(filled, 1, FILL_COUNT);
	if (fill_result == CUDA_SUCCESS) {
		fill_result = cuCtxSynchronize();
	}
	return NULL;
}

/* It looks at memory that another thread writes, as no program should. */
__attribute__((no_sanitize("thread"))) static uint32_t read_first(void)
{
	return *(const volatile uint32_t *)(uintptr_t)filled;
}

/* One context frees what another one fills, as soon as that has begun. */
START_TEST(memory_that_goes_while_it_is_filled_is_an_illegal_access)
{
	fill_result = CUDA_SUCCESS;
	for (int round = 0; fill_result == CUDA_SUCCESS && round < FILL_ROUNDS; round++) {
		pthread_t thread;
		OK(cuCtxCreate_v2(&dying, 0, 0));
		filled = alloc(FILL_COUNT * sizeof(uint32_t));
		OK(cuCtxSetCurrent(context));
		ck_assert_int_eq(pthread_create(&thread, NULL, fill_memory, NULL), 0);
		while (read_first() == 0) {
		}
		OK(cuMemFree_v2(filled));
		pthread_join(thread, NULL);
		cuCtxDestroy_v2(dying);
	}
	ck_assert_int_eq(fill_result, CUDA_ERROR_ILLEGAL_ADDRESS);
	OK(cuCtxSynchronize());
}
END_TEST

/* --- Streams of threads --- */

static void use_own_stream(void)
{
	CUcontext own = new_context();
	CUdeviceptr a = alloc(4);
	OK(cuMemsetD8Async_ptsz(a, 1, 4, NULL));
	OK(cuCtxDestroy_v2(own));
}

START_TEST(thread_forgets_its_streams_with_their_contexts)
{
	for (int i = 0; i < 100; i++) {
		use_own_stream();
	}
	size_t before = mallinfo2().uordblks;
	for (int i = 0; i < 1000; i++) {
		use_own_stream();
	}
	ck_assert_uint_lt(mallinfo2().uordblks, before + 16384);
	OK(cuCtxSetCurrent(context));
}
END_TEST

/* --- Captures --- */

static atomic_int asked;
static atomic_int answered;
static bool was_answered;

static void *ask(void *unused)
{
	(void)unused;
	CUstreamCaptureStatus status;
	comes(&asked);
	OK(cuCtxSetCurrent(context));
	OK(cuStreamIsCapturing(CU_STREAM_PER_THREAD, &status));
	atomic_store(&answered, 1);
	return NULL;
}

static void wait_for_answer(void *unused)
{
	(void)unused;
	atomic_store(&asked, 1);
	was_answered = comes(&answered);
}

/* A graph that a context takes along destroys an object, while other threads use streams. */
START_TEST(destructor_of_a_capture_may_wait_for_others)
{
	CUstreamCaptureStatus status;
	CUuserObject object;
	CUgraph graph;
	pthread_t thread;
	OK(cuCtxCreate_v2(&dying, 0, 0));
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	OK(cuUserObjectCreate(&object, NULL, wait_for_answer, 1,
		CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, NULL, NULL));
	OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
	ck_assert_int_eq(pthread_create(&thread, NULL, ask, NULL), 0);
	OK(cuCtxDestroy_v2(dying));
	pthread_join(thread, NULL);
	ck_assert(was_answered);
	OK(cuCtxSetCurrent(context));
}
END_TEST

SUITE(api_race)
{
	Suite *suite = suite_create("api_race");
	TCase *tc = add_case(suite, "things", setup, teardown);
	tcase_add_loop_test(tc, second_one_to_end_a_thing_fails, 0, countof(end_rows));
	tcase_add_test(tc, current_pool_goes_while_others_allocate);
	tcase_add_loop_test(tc, memory_that_goes_while_it_is_filled_is_an_illegal_access, 0, RACES);
	tc = add_case(suite, "contexts", init, NULL);
	tcase_add_loop_test(tc, context_ends_without_keeping_others_from_theirs, 0, 2);
	tc = add_case(suite, "what contexts have", setup, teardown);
	tcase_add_loop_test(tc, library_and_its_context_end_at_once, 0, 2);
	tcase_add_tests(tc, 1, context_of_an_event_ends_while_another_waits_for_it,
		thread_forgets_its_streams_with_their_contexts,
		destructor_of_a_capture_may_wait_for_others);
	return suite;
}
