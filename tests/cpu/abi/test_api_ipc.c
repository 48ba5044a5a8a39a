/* SPDX-License-Identifier: MIT */
/*
 * Memory and events of two processes.  A test forks before it touches the driver.  Each half then
 * has a device of its own, and the halves tell each other what they need through a socket.  A half
 * that fails closes the socket, so that the other half fails, too, instead of waiting.
 */
#include "cpu/support/api_graph.h"

#include "cpu/mem/share.h"
#include "support/suite.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

CUresult cuIpcCloseMemHandle(CUdeviceptr address);
CUresult cuIpcGetEventHandle(CUipcEventHandle *out, CUevent event);
CUresult cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr address);
CUresult cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle handle);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle, unsigned int flags);
CUresult cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *from,
	size_t count, CUevent event);
CUresult cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *from,
	size_t count, CUevent event);
CUresult cuGraphCreate(CUgraph *out, unsigned int flags);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags);
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size, CUmemoryPool pool, CUstream stream);
CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr address);
CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool pool,
	CUmemAllocationHandleType type, unsigned long long flags);
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *handle,
	CUmemAllocationHandleType type, unsigned long long flags);
CUresult cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool pool, CUmemPoolPtrExportData *data);

#define LAZY CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
#define SHARED (CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING)

static int channel = -1; /* to the other half */

static void tell(const void *data, size_t size)
{
	ck_assert_int_eq(send(channel, data, size, MSG_NOSIGNAL), (ssize_t)size);
}

static void hear(void *data, size_t size)
{
	ck_assert_int_eq(recv(channel, data, size, MSG_WAITALL), (ssize_t)size);
}

/* Both halves go on when both are here. */
static void meet(void)
{
	char mine = '.';
	char other = 0;
	tell(&mine, 1);
	hear(&other, 1);
	ck_assert_int_eq(other, mine);
}

/* Run both halves, each with a context.  The child's status. */
static int run_halves(void (*first)(void), void (*second)(void))
{
	int ends[2];
	int status = 0;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	channel = ends[child == 0];
	close(ends[child != 0]);
	wait_setup();
	if (child == 0) {
		alarm(30);
		second();
		teardown();
		_exit(0);
	}
	first();
	teardown();
	close(channel);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return status;
}

static void run_both(void (*first)(void), void (*second)(void))
{
	int status = run_halves(first, second);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status 0x%x", status);
}

static CUdeviceptr tell_new(size_t size)
{
	CUipcMemHandle handle;
	CUdeviceptr address = alloc(size);
	OK(cuIpcGetMemHandle(&handle, address));
	tell(&handle, sizeof(handle));
	return address;
}

static CUdeviceptr open_heard(CUipcMemHandle *handle)
{
	CUdeviceptr address = 0;
	hear(handle, sizeof(*handle));
	OK(cuIpcOpenMemHandle_v2(&address, *handle, LAZY));
	return address;
}

/* --- Memory --- */

static void make_and_read(void)
{
	CUipcMemHandle handle;
	CUdeviceptr address = alloc(5000);
	OK(cuMemsetD32_v2(address, 3, 1250));
	OK(cuIpcGetMemHandle(&handle, address));
	tell(&handle, sizeof(handle));
	meet();
	ck_assert_uint_eq(word_at(address), 3 + 7);
	ck_assert_uint_eq(word_at(address + 4996), 3 + 7);
	OK(cuMemsetD32_v2(address, 50, 1250));
	meet();
	meet();
	OK(cuMemFree_v2(address));
}

static void open_and_add(void)
{
	CUipcMemHandle handle;
	CUdeviceptr base = 0;
	size_t size = 0;
	CUdeviceptr address = open_heard(&handle);
	OK(cuMemGetAddressRange_v2(&base, &size, address + 100));
	ck_assert_uint_eq(base, address);
	ck_assert_uint_eq(size, 5000);
	OK(launch_add(kernel(load(), "add"), address, 1250, NULL));
	OK(cuCtxSynchronize());
	meet();
	meet();
	ck_assert_uint_eq(word_at(address + 4), 50);
	OK(cuIpcCloseMemHandle(address));
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(&size, address, 4));
	meet();
}

START_TEST(memory_is_the_same_in_both_processes)
{
	run_both(make_and_read, open_and_add);
}
END_TEST

static void enter_device(int device)
{
	CUcontext entered;
	OK(cuDevicePrimaryCtxRetain(&entered, device));
	OK(cuCtxSetCurrent(entered));
}

static void make_on_device_1(void)
{
	enter_device(1);
	CUdeviceptr address = tell_new(400);
	OK(cuMemsetD32_v2(address, 3, 100));
	meet();
	meet();
	ck_assert_uint_eq(word_at(address), 3 + 7);
	ck_assert_uint_eq(word_at(address + 396), 3 + 7);
	OK(cuMemFree_v2(address));
	OK(cuDevicePrimaryCtxRelease_v2(1));
}

static void add_on_device_2(void)
{
	CUipcMemHandle handle;
	enter_device(2);
	CUfunction add = kernel(load(), "add");
	CUdeviceptr address = open_heard(&handle);
	meet();
	OK(launch_add(add, address, 100, NULL));
	OK(cuCtxSynchronize());
	OK(cuIpcCloseMemHandle(address));
	meet();
	OK(cuDevicePrimaryCtxRelease_v2(2));
}

START_TEST(memory_of_one_device_is_opened_on_another)
{
	ck_assert_int_eq(setenv("KUDZU_CPU_DEVICES", "3", 1), 0);
	run_both(make_on_device_1, add_on_device_2);
}
END_TEST

static void meet_second(void)
{
	CUdeviceptr address = tell_new(64);
	CUdeviceptr other = address + 4;
	uint32_t one = 1;
	void *values[] = {&address, &other, &one};
	OK(launch_one("meet", NULL, values));
	OK(cuCtxSynchronize());
	meet();
}

static void meet_first(void)
{
	CUipcMemHandle handle;
	CUdeviceptr other = open_heard(&handle);
	CUdeviceptr address = other + 4;
	uint32_t one = 1;
	void *values[] = {&address, &other, &one};
	OK(launch_one("meet", NULL, values));
	OK(cuCtxSynchronize());
	meet();
}

START_TEST(kernels_of_two_processes_meet)
{
	run_both(meet_first, meet_second);
}
END_TEST

static void export_and_die(void)
{
	CUdeviceptr address = tell_new(100);
	OK(cuMemsetD32_v2(address, 11, 25));
	meet();
	char byte;
	hear(&byte, 1);
	_exit(7);
}

static void outlive(void)
{
	CUipcMemHandle handle;
	CUdeviceptr again;
	CUdeviceptr address = open_heard(&handle);
	char byte = '.';
	meet();
	tell(&byte, 1);
	// The end of the file is the end of the process.
	ck_assert_int_eq(recv(channel, &byte, 1, 0), 0);
	ck_assert_uint_eq(word_at(address + 96), 11);
	OK(cuIpcOpenMemHandle_v2(&again, handle, LAZY));
	ck_assert_uint_eq(again, address);
	OK(cuIpcCloseMemHandle(address));
	OK(cuIpcCloseMemHandle(address));
	FAILS(INVALID_HANDLE, cuIpcOpenMemHandle_v2(&again, handle, LAZY));
}

START_TEST(opened_memory_outlives_its_process)
{
	int status = run_halves(outlive, export_and_die);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
END_TEST

static void free_after_meeting(void)
{
	CUdeviceptr address = tell_new(1 << 20);
	meet();
	OK(cuMemFree_v2(address));
	meet();
	tell_new(1 << 20);
	meet();
}

static void count_opens(void)
{
	CUipcMemHandle handle;
	CUdeviceptr again = 0;
	size_t before;
	size_t after;
	size_t total;
	OK(cuMemGetInfo_v2(&before, &total));
	CUdeviceptr address = open_heard(&handle);
	OK(cuIpcOpenMemHandle_v2(&again, handle, LAZY));
	ck_assert_uint_eq(again, address);
	// It is on the other process's account.
	OK(cuMemGetInfo_v2(&after, &total));
	ck_assert_uint_eq(before, after);
	FAILS(INVALID_VALUE, cuMemFree_v2(address));
	FAILS(INVALID_VALUE, cuIpcCloseMemHandle(address + 4));
	OK(cuIpcCloseMemHandle(address));
	OK(cuMemsetD8_v2(address, 1, 1 << 20));
	OK(cuIpcCloseMemHandle(address));
	FAILS(INVALID_VALUE, cuIpcCloseMemHandle(address));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(address, 1, 1));
	meet();
	meet();
	FAILS(INVALID_HANDLE, cuIpcOpenMemHandle_v2(&address, handle, LAZY));
	CUipcMemHandle second;
	hear(&second, sizeof(second));
	ck_assert_mem_ne(&handle, &second, sizeof(handle));
	FAILS(INVALID_HANDLE, cuIpcOpenMemHandle_v2(&address, handle, LAZY));
	OK(cuIpcOpenMemHandle_v2(&address, second, LAZY));
	OK(cuMemGetInfo_v2(&after, &total));
	ck_assert_uint_eq(before, after);
	meet();
}

START_TEST(opens_are_counted_and_freed_memory_is_not_opened)
{
	run_both(count_opens, free_after_meeting);
}
END_TEST

START_TEST(only_memory_of_cuMemAlloc_is_exported)
{
	CUipcMemHandle handle;
	CUipcMemHandle other;
	CUdeviceptr address = alloc(1000);
	CUdeviceptr pooled;
	CUdeviceptr managed;
	int capable = 0;
	OK(cuIpcGetMemHandle(&handle, address));
	OK(cuIpcGetMemHandle(&other, address + 500));
	ck_assert_mem_eq(&handle, &other, sizeof(handle));
	FAILS(INVALID_VALUE, cuIpcGetMemHandle(&handle, address + 1000));
	FAILS(INVALID_VALUE, cuIpcGetMemHandle(NULL, address));
	FAILS(INVALID_VALUE, cuIpcGetMemHandle(&handle, 0));
	FAILS(INVALID_VALUE, cuIpcGetMemHandle(&handle, (uintptr_t)&handle));
	FAILS(INVALID_VALUE, cuIpcGetMemHandle(&handle, (uintptr_t)words));
	OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
	FAILS(INVALID_VALUE, cuIpcGetMemHandle(&handle, managed));
	OK(cuMemAllocAsync(&pooled, 64, NULL));
	FAILS(INVALID_VALUE, cuIpcGetMemHandle(&handle, pooled));
	check_log("not in memory of cuMemAlloc");
	OK(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
		address));
	ck_assert_int_eq(capable, 1);
	OK(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
		pooled));
	ck_assert_int_eq(capable, 0);
	OK(cuMemFree_v2(address));
	FAILS(INVALID_VALUE, cuIpcGetMemHandle(&handle, address));
}
END_TEST

START_TEST(handles_that_cannot_be_opened_are_refused)
{
	CUipcMemHandle handle;
	CUipcEventHandle event_handle;
	CUdeviceptr address = alloc(1000);
	CUdeviceptr opened = 0;
	CUevent event = NULL;
	OK(cuIpcGetMemHandle(&handle, address));
	FAILS(INVALID_CONTEXT, cuIpcOpenMemHandle_v2(&opened, handle, LAZY));
	FAILS(INVALID_VALUE, cuIpcOpenMemHandle_v2(&opened, handle, 0));
	FAILS(INVALID_VALUE, cuIpcOpenMemHandle_v2(NULL, handle, LAZY));
	FAILS(INVALID_VALUE, cuIpcCloseMemHandle(address));
	FAILS(INVALID_VALUE, cuIpcCloseMemHandle(0));
	memset(&handle, 0, sizeof(handle));
	FAILS(INVALID_HANDLE, cuIpcOpenMemHandle_v2(&opened, handle, LAZY));
	memset(&handle, 0x5a, sizeof(handle));
	FAILS(INVALID_HANDLE, cuIpcOpenMemHandle_v2(&opened, handle, LAZY));
	FAILS(INVALID_HANDLE, cuIpcGetEventHandle(&event_handle, new_event(0)));
	FAILS(INVALID_HANDLE, cuIpcGetEventHandle(&event_handle, NULL));
	FAILS(INVALID_VALUE, cuEventCreate(&event, CU_EVENT_INTERPROCESS));
	OK(cuIpcGetEventHandle(&event_handle, new_event(SHARED)));
	FAILS(INVALID_VALUE, cuIpcGetEventHandle(NULL, new_event(SHARED)));
	FAILS(INVALID_CONTEXT, cuIpcOpenEventHandle(&event, event_handle));
	memset(&event_handle, 0x5a, sizeof(event_handle));
	FAILS(INVALID_HANDLE, cuIpcOpenEventHandle(&event, event_handle));
}
END_TEST

/* A handle with one wrong bit does no harm.  It may name the process that opens it, too, or one of
 * another user. */
static bool is_harmless(CUresult result)
{
	return result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_INVALID_CONTEXT
		|| result == CUDA_ERROR_NOT_PERMITTED || result == CUDA_SUCCESS;
}

static void tell_handles(void)
{
	CUipcEventHandle handle;
	tell_new(100);
	OK(cuIpcGetEventHandle(&handle, new_event(SHARED)));
	tell(&handle, sizeof(handle));
	meet();
}

static void open_spoiled(void)
{
	CUipcMemHandle good;
	CUipcEventHandle good_event;
	hear(&good, sizeof(good));
	hear(&good_event, sizeof(good_event));
	for (size_t i = 0; i < 8 * sizeof(good); i++) {
		CUipcMemHandle handle = good;
		CUipcEventHandle event_handle = good_event;
		CUdeviceptr address;
		CUevent event;
		handle.reserved[i / 8] ^= (char)(1 << i % 8);
		event_handle.reserved[i / 8] ^= (char)(1 << i % 8);
		CUresult result = cuIpcOpenMemHandle_v2(&address, handle, LAZY);
		ck_assert(is_harmless(result));
		if (result == CUDA_SUCCESS) {
			// The size may have been spoiled within the same page.
			OK(cuMemsetD8_v2(address, 1, 1));
			OK(cuIpcCloseMemHandle(address));
		}
		result = cuIpcOpenEventHandle(&event, event_handle);
		ck_assert(is_harmless(result));
	}
	meet();
}

START_TEST(spoiled_handles_are_refused)
{
	run_both(open_spoiled, tell_handles);
}
END_TEST

/* Add 1 to the first word of each page, again and again until a flag is set; then say how often. */
static const char passes_ptx[] =
	".version 7.0\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry passes(.param .u64 data, .param .u32 size, .param .u64 flag)\n"
	"{\n"
	"	.reg .b32 %r<6>;\n"
	"	.reg .b64 %rd<6>;\n"
	"	.reg .pred %p<3>;\n"
	"	ld.param.u64 %rd1, [data];\n"
	"	ld.param.u32 %r1, [size];\n"
	"	ld.param.u64 %rd2, [flag];\n"
	"	mov.u32 %r2, 0;\n"
	"PASS:\n"
	"	mov.u32 %r3, 0;\n"
	"PAGE:\n"
	"	cvt.u64.u32 %rd3, %r3;\n"
	"	add.u64 %rd4, %rd1, %rd3;\n"
	"	ld.u32 %r4, [%rd4];\n"
	"	add.u32 %r4, %r4, 1;\n"
	"	st.u32 [%rd4], %r4;\n"
	"	add.u32 %r3, %r3, 4096;\n"
	"	setp.lt.u32 %p1, %r3, %r1;\n"
	"	@%p1 bra PAGE;\n"
	"	add.u32 %r2, %r2, 1;\n"
	"	st.volatile.u32 [%rd2+4], %r2;\n"
	"	ld.volatile.u32 %r5, [%rd2];\n"
	"	setp.eq.u32 %p2, %r5, 0;\n"
	"	@%p2 bra PASS;\n"
	"	ret;\n"
	"}\n";

START_TEST(no_write_is_lost_when_memory_is_exported)
{
	const uint32_t size = 24 << 20;
	CUdeviceptr data = alloc(size);
	CUdeviceptr flag = (uintptr_t)words;
	CUmodule module;
	CUipcMemHandle handle;
	OK(cuMemsetD8_v2(data, 0, size));
	OK(cuModuleLoadData(&module, passes_ptx));
	void *values[] = {&data, (void *)&size, &flag};
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	OK(cuLaunchKernel(kernel(module, "passes"), 1, 1, 1, 1, 1, 1, 0, stream, values, NULL));
	await(1);
	OK(cuIpcGetMemHandle(&handle, data));
	uint32_t at_least = atomic_load(&words[1]) + 2;
	while (atomic_load(&words[1]) < at_least) {
		FAILS(NOT_READY, cuStreamQuery(stream));
		sched_yield();
	}
	atomic_store(&words[0], 1);
	OK(cuCtxSynchronize());
	for (uint32_t i = 0; i < size; i += 4096) {
		ck_assert_uint_eq(word_at(data + i), words[1]);
	}
}
END_TEST

START_TEST(each_thread_tries_again_once_after_a_move)
{
	const size_t size = 1 << 16;
	uint8_t *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		0);
	int file = share_create(size);
	pages[5000] = 77;
	ck_assert(!share_may_retry((uintptr_t)pages));
	ck_assert(share_move((uintptr_t)pages, size, file));
	ck_assert(share_may_retry((uintptr_t)pages));
	ck_assert(!share_may_retry((uintptr_t)pages));
	uint8_t byte = 0;
	ck_assert_int_eq(pread(file, &byte, 1, 5000), 1);
	ck_assert_uint_eq(byte, 77);
	munmap(pages, size);
	close(file);
}
END_TEST

START_TEST(faults_are_found_after_an_export)
{
	CUipcMemHandle handle;
	OK(cuIpcGetMemHandle(&handle, alloc(100)));
	OK(launch_one("fail", NULL, NULL));
	FAILS(ILLEGAL_ADDRESS, cuCtxSynchronize());
}
END_TEST

START_TEST(failing_allocations_leave_nothing_exported)
{
	CUipcMemHandle handle;
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	CUdeviceptr address = alloc(100);
	OK(cuMemsetD32_v2(address, 5, 25));
	for (int n = 0; result != CUDA_SUCCESS; n++) {
		CUevent event = NULL;
		CUipcEventHandle event_handle;
		mem_fail_after(n);
		result = cuEventCreate(&event, SHARED);
		result = result == CUDA_SUCCESS ? cuIpcGetEventHandle(&event_handle, event)
			: result;
		result = result == CUDA_SUCCESS ? cuIpcGetMemHandle(&handle, address) : result;
		mem_fail_after(-1);
		if (event != NULL) {
			OK(cuEventDestroy_v2(event));
		}
		ck_assert(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
	}
	ck_assert_uint_eq(word_at(address + 96), 5);
}
END_TEST

START_TEST(export_needs_a_file_descriptor)
{
	struct rlimit limit;
	struct rlimit none = {0};
	CUipcMemHandle handle;
	CUevent event;
	CUdeviceptr address = alloc(100);
	OK(cuMemsetD32_v2(address, 5, 25));
	getrlimit(RLIMIT_NOFILE, &limit);
	none.rlim_max = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &none);
	FAILS(OUT_OF_MEMORY, cuIpcGetMemHandle(&handle, address));
	FAILS(OUT_OF_MEMORY, cuEventCreate(&event, SHARED));
	setrlimit(RLIMIT_NOFILE, &limit);
	ck_assert_uint_eq(word_at(address + 96), 5);
	OK(cuIpcGetMemHandle(&handle, address));
	OK(cuEventCreate(&event, SHARED));
	ck_assert_uint_eq(word_at(address + 96), 5);
}
END_TEST

/* --- Events --- */

static CUevent tell_event(void)
{
	CUipcEventHandle handle;
	CUevent event = new_event(SHARED);
	OK(cuIpcGetEventHandle(&handle, event));
	tell(&handle, sizeof(handle));
	return event;
}

static CUevent hear_event(void)
{
	CUipcEventHandle handle;
	CUevent event = NULL;
	hear(&handle, sizeof(handle));
	OK(cuIpcOpenEventHandle(&event, handle));
	return event;
}

/* The first half holds a stream up with a kernel and records after it; the second one waits. */
static void record_late(void)
{
	CUevent event = tell_event();
	CUdeviceptr address = tell_new(64);
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	meet();
	launch_meet(stream, 0, 1);
	OK(launch_plus(stream, address, 40));
	OK(cuEventRecord(event, stream));
	FAILS(NOT_READY, cuEventQuery(event));
	meet();
	meet();
	atomic_store(&words[1], 1);
	OK(cuEventSynchronize(event));
	meet();
}

static void wait_for_other(void)
{
	CUipcMemHandle handle;
	float time;
	CUevent event = hear_event();
	CUdeviceptr address = open_heard(&handle);
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	OK(cuEventQuery(event));
	meet();
	meet();
	FAILS(NOT_READY, cuEventQuery(event));
	OK(cuStreamWaitEvent(stream, event, 0));
	OK(launch_plus(stream, address, 2));
	FAILS(NOT_READY, cuStreamQuery(stream));
	meet();
	OK(cuEventSynchronize(event));
	OK(cuEventQuery(event));
	OK(cuStreamSynchronize(stream));
	ck_assert_uint_eq(word_at(address), 42);
	FAILS(INVALID_HANDLE, cuEventElapsedTime(&time, event, event));
	OK(cuEventDestroy_v2(event));
	meet();
}

START_TEST(streams_wait_for_events_of_other_processes)
{
	run_both(wait_for_other, record_late);
}
END_TEST

/* The other way round: the opened event is recorded, and by a graph; its maker waits. */
static void record_opened(void)
{
	CUevent event = hear_event();
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUgraphNode node;
	CUgraph graph = new_graph();
	OK(cuGraphAddEventRecordNode(&node, graph, NULL, 0, event));
	CUgraphExec exec = new_exec(graph);
	launch_meet(stream, 0, 1);
	OK(cuGraphLaunch(exec, stream));
	meet();
	meet();
	atomic_store(&words[1], 1);
	OK(cuStreamSynchronize(stream));
	meet();
	OK(cuEventRecord(event, stream));
	meet();
}

static void wait_for_opened(void)
{
	CUevent event = tell_event();
	CUstream stream = new_stream(0);
	meet();
	FAILS(NOT_READY, cuEventQuery(event));
	OK(cuStreamWaitEvent(stream, event, 0));
	FAILS(NOT_READY, cuStreamQuery(stream));
	meet();
	OK(cuStreamSynchronize(stream));
	meet();
	meet();
	OK(cuEventQuery(event));
}

START_TEST(maker_of_an_event_waits_for_who_opened_it)
{
	run_both(wait_for_opened, record_opened);
}
END_TEST

/* A graph waits for the record of another process that was the last one when it was launched. */
static void wait_in_graph(void)
{
	CUevent event = hear_event();
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUgraphNode node;
	CUgraph graph = new_graph();
	OK(cuGraphAddEventWaitNode(&node, graph, NULL, 0, event));
	CUgraphExec exec = new_exec(graph);
	meet();
	OK(cuGraphLaunch(exec, stream));
	FAILS(NOT_READY, cuStreamQuery(stream));
	meet();
	OK(cuStreamSynchronize(stream));
}

static void record_for_graph(void)
{
	CUevent event = tell_event();
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	launch_meet(stream, 0, 1);
	OK(cuEventRecord(event, stream));
	meet();
	meet();
	atomic_store(&words[1], 1);
	OK(cuStreamSynchronize(stream));
}

START_TEST(graphs_wait_for_events_of_other_processes)
{
	run_both(wait_in_graph, record_for_graph);
}
END_TEST

static void record_and_be_killed(void)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUevent event = hear_event();
	CUevent other = hear_event();
	OK(cuEventRecord(other, stream));
	launch_meet(stream, 0, 1);
	OK(cuEventRecord(event, stream));
	meet();
	meet();
	raise(SIGKILL);
}

static void wait_for_killed(void)
{
	CUevent event = tell_event();
	CUevent other = tell_event();
	meet();
	FAILS(NOT_READY, cuEventQuery(event));
	OK(cuStreamWaitEvent(NULL, event, 0));
	FAILS(NOT_READY, cuStreamQuery(NULL));
	meet();
	OK(cuEventSynchronize(event));
	OK(cuStreamSynchronize(NULL));
	OK(cuEventQuery(other));
}

START_TEST(records_of_a_killed_process_are_done)
{
	int status = run_halves(wait_for_killed, record_and_be_killed);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
END_TEST

static void destroy_exported(void)
{
	CUevent event = tell_event();
	CUevent other = new_event(SHARED);
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	launch_meet(stream, 0, 1);
	OK(cuEventRecord(event, stream));
	OK(cuEventDestroy_v2(event));
	meet();
	meet();
	atomic_store(&words[1], 1);
	OK(cuStreamSynchronize(stream));
	meet();
	meet();
	OK(cuEventDestroy_v2(other));
}

static void wait_for_destroyed(void)
{
	CUipcEventHandle handle;
	CUevent event = NULL;
	CUevent late = NULL;
	hear(&handle, sizeof(handle));
	OK(cuIpcOpenEventHandle(&event, handle));
	meet();
	FAILS(NOT_READY, cuEventQuery(event));
	OK(cuStreamWaitEvent(NULL, event, 0));
	meet();
	OK(cuStreamSynchronize(NULL));
	OK(cuEventQuery(event));
	OK(cuEventRecord(event, NULL));
	OK(cuEventSynchronize(event));
	meet();
	FAILS(INVALID_HANDLE, cuIpcOpenEventHandle(&late, handle));
	meet();
}

START_TEST(destroyed_event_is_done_and_not_opened_again)
{
	run_both(wait_for_destroyed, destroy_exported);
}
END_TEST

/* --- Pools --- */

static const CUmemPoolProps shared_props = {
	.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
	.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}
};

static void tell_file(int file)
{
	char byte = '.';
	struct iovec part = {&byte, 1};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &file, sizeof(int));
	ck_assert_int_eq(sendmsg(channel, &message, MSG_NOSIGNAL), 1);
	close(file);
}

static int hear_file(void)
{
	char byte;
	int file = -1;
	struct iovec part = {&byte, 1};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control)};
	ck_assert_int_eq(recvmsg(channel, &message, 0), 1);
	ck_assert_ptr_nonnull(CMSG_FIRSTHDR(&message));
	memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	return file;
}

static CUmemoryPool import(int file)
{
	CUmemoryPool pool = NULL;
	OK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)file,
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	close(file);
	return pool;
}

static int export(CUmemoryPool pool)
{
	int file = -1;
	OK(cuMemPoolExportToShareableHandle(&file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		0));
	return file;
}

static void export_from_pool(void)
{
	CUmemoryPool pool;
	CUdeviceptr list[2];
	CUmemPoolPtrExportData data;
	unsigned types = 0;
	OK(cuMemPoolCreate(&pool, &shared_props));
	tell_file(export(pool));
	for (size_t i = 0; i < countof(list); i++) {
		OK(cuMemAllocFromPoolAsync(&list[i], 5000, pool, NULL));
		ck_assert_uint_eq(word_at(list[i]), 0);
		OK(cuMemsetD32_v2(list[i], (unsigned)i + 20, 1250));
		OK(cuMemPoolExportPointer(&data, list[i]));
		tell(&data, sizeof(data));
	}
	OK(cuPointerGetAttribute(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, list[0]));
	ck_assert_uint_eq(types, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	FAILS(INVALID_VALUE, cuMemPoolExportPointer(&data, list[0] + 4));
	meet();
	ck_assert_uint_eq(word_at(list[0] + 4996), 27);
	ck_assert_uint_eq(word_at(list[1]), 21);
	OK(cuMemFreeAsync(list[0], NULL));
	OK(cuStreamSynchronize(NULL));
	FAILS(INVALID_VALUE, cuMemPoolExportPointer(&data, list[0]));
	meet();
	OK(cuMemFree_v2(list[1]));
	OK(cuMemPoolDestroy(pool));
}

static void import_from_pool(void)
{
	CUmemPoolPtrExportData data[2];
	CUdeviceptr address = 0;
	CUdeviceptr other = 0;
	CUmemoryPool of = NULL;
	cuuint64_t used = 0;
	CUmemoryPool pool = import(hear_file());
	hear(data, sizeof(data));
	OK(cuMemPoolImportPointer(&address, pool, &data[0]));
	OK(cuMemPoolImportPointer(&other, pool, &data[1]));
	ck_assert_uint_eq(word_at(other + 4996), 21);
	OK(launch_add(kernel(load(), "add"), address, 1250, NULL));
	OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
	ck_assert_ptr_eq(of, pool);
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	ck_assert_uint_ge(used, 10000);
	OK(cuMemFreeAsync(address, NULL));
	OK(cuStreamSynchronize(NULL));
	meet();
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(&used, address, 4));
	FAILS(INVALID_VALUE, cuMemAllocFromPoolAsync(&address, 64, pool, NULL));
	FAILS(INVALID_VALUE, cuDeviceSetMemPool(0, pool));
	FAILS(INVALID_VALUE, cuMemPoolExportPointer(&data[1], other));
	FAILS(INVALID_VALUE, cuMemPoolExportToShareableHandle(&used, pool,
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	meet();
	// What its process has freed is not there any more.
	FAILS(INVALID_VALUE, cuMemPoolImportPointer(&address, pool, &data[0]));
	OK(cuMemFree_v2(other));
	OK(cuMemPoolDestroy(pool));
}

START_TEST(pools_are_shared)
{
	run_both(import_from_pool, export_from_pool);
}
END_TEST

START_TEST(wrong_pools_and_pointers_are_refused)
{
	CUmemoryPool pool;
	CUmemoryPool second;
	CUmemoryPool none = NULL;
	CUmemPoolPtrExportData data;
	CUdeviceptr address;
	CUdeviceptr out;
	int types = 0;
	int file = -1;
	OK(cuDeviceGetAttribute(&types, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0));
	ck_assert_int_eq(types, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	OK(cuMemAllocAsync(&address, 64, NULL));
	FAILS(INVALID_VALUE, cuMemPoolExportPointer(&data, address));
	FAILS(INVALID_VALUE, cuMemPoolExportPointer(&data, alloc(64)));
	OK(cuMemPoolCreate(&pool, &shared_props));
	OK(cuMemPoolCreate(&second, &shared_props));
	FAILS(INVALID_VALUE, cuMemPoolExportToShareableHandle(&file, pool,
		CU_MEM_HANDLE_TYPE_NONE, 0));
	FAILS(INVALID_VALUE, cuMemPoolExportToShareableHandle(&file, pool,
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1));
	OK(cuMemAllocFromPoolAsync(&address, 64, pool, NULL));
	OK(cuCtxSetCurrent(NULL));
	OK(cuMemPoolExportPointer(&data, address));
	OK(cuCtxSetCurrent(context));
	FAILS(INVALID_VALUE, cuMemPoolImportPointer(&out, pool, &data));
	FAILS(INVALID_VALUE, cuMemPoolImportPointer(&out, import(export(second)), &data));
	data.reserved[16] ^= 1;
	FAILS(INVALID_VALUE, cuMemPoolImportPointer(&out, import(export(pool)), &data));
	FAILS(INVALID_VALUE, cuMemPoolImportFromShareableHandle(&none, NULL,
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	FAILS(INVALID_VALUE, cuMemPoolImportFromShareableHandle(&none, (void *)(intptr_t)-1,
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
}
END_TEST

SUITE(api_ipc)
{
	Suite *suite = suite_create("api_ipc");
	TCase *tc = suite_add_case(suite, "two processes");
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, 1, memory_is_the_same_in_both_processes,
		memory_of_one_device_is_opened_on_another, kernels_of_two_processes_meet,
		opened_memory_outlives_its_process,
		opens_are_counted_and_freed_memory_is_not_opened, spoiled_handles_are_refused,
		streams_wait_for_events_of_other_processes,
		maker_of_an_event_waits_for_who_opened_it,
		graphs_wait_for_events_of_other_processes, records_of_a_killed_process_are_done,
		destroyed_event_is_done_and_not_opened_again, pools_are_shared);
	tc = add_case(suite, "one process", wait_setup, teardown);
	tcase_add_tests(tc, 1, only_memory_of_cuMemAlloc_is_exported,
		handles_that_cannot_be_opened_are_refused, no_write_is_lost_when_memory_is_exported,
		each_thread_tries_again_once_after_a_move, faults_are_found_after_an_export,
		failing_allocations_leave_nothing_exported, export_needs_a_file_descriptor,
		wrong_pools_and_pointers_are_refused);
	return suite;
}
