/* SPDX-License-Identifier: MIT */
/* Streams and events: what runs concurrently, and what waits for what. */
#include "cpu/support/api_wait.h"
#include "cpu/abi/api.h"
#include "cpu/stream/work_run.h"
#include "support/suite.h"

#include <pthread.h>

CUresult cuCtxRecordEvent(CUcontext context, CUevent event);
CUresult cuCtxWaitEvent(CUcontext context, CUevent event);
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode);
CUresult cuStreamEndCapture(CUstream stream, CUgraph *out);
CUresult cuMemcpyDtoH_v2_ptds(void *to, CUdeviceptr from, size_t size);
CUresult cuMemsetD32_v2_ptds(CUdeviceptr to, unsigned value, size_t count);
CUresult cuMemsetD32Async_ptsz(CUdeviceptr to, unsigned value, size_t count, CUstream stream);
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest);
CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority);
CUresult cuStreamGetPriority(CUstream stream, int *out);
CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *out);
CUresult cuStreamGetId_ptsz(CUstream stream, unsigned long long *out);
CUresult cuStreamQuery_ptsz(CUstream stream);

enum { BEGUN, GO, OTHER, DONE };

/* --- Kernels and the host --- */

START_TEST(kernel_waits_for_what_the_host_does_after_the_launch)
{
	CUstream stream = new_stream(0);
	launch_meet(stream, BEGUN, GO);
	await(BEGUN);
	FAILS(NOT_READY, cuStreamQuery(stream));
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(stream));
	OK(cuStreamQuery(stream));
	OK(cuStreamDestroy_v2(stream));
}
END_TEST

/* Its loop has no volatile load, but a thread that sleeps in a loop waits for something. */
START_TEST(kernel_that_sleeps_may_wait_though_it_has_ended_before)
{
	CUstream stream = new_stream(0);
	CUdeviceptr go = (uintptr_t)&words[GO];
	void *values[] = {&go};
	for (uint32_t round = 0; round < 3; round++) {
		atomic_store(&words[GO], round == 0);
		OK(launch_one("nap", stream, values));
		atomic_store(&words[GO], 1);
		OK(cuStreamSynchronize(stream));
	}
	OK(cuStreamDestroy_v2(stream));
}
END_TEST

START_TEST(parameters_may_change_after_the_launch)
{
	CUstream stream = new_stream(0);
	CUdeviceptr a = alloc(4);
	uint32_t value = 5;
	void *values[] = {&a, &value};
	OK(cuMemsetD32_v2(a, 100, 1));
	launch_meet(stream, BEGUN, GO);
	OK(launch_one("add", stream, values));
	value = 1000;
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH_v2(&value, a, 4));
	ck_assert_uint_eq(value, 105);
}
END_TEST

/* A small launch of a kernel with a loop that cannot wait runs within the call, once one has
 * ended. */
START_TEST(small_launches_run_within_the_call_after_a_large_one)
{
	CUstream stream = new_stream(0);
	CUfunction count = kernel(wait_module, "never");
	uint32_t most = 10000;
	void *values[] = {&most};
	for (int i = 0; i < 10; i++) {
		OK(cuLaunchKernel(count, 10000, 1, 1, 1, 1, 1, 0, stream, values, NULL));
		OK(cuStreamSynchronize(stream));
		OK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, stream, values, NULL));
		OK(cuStreamQuery(stream));
	}
	OK(cuStreamDestroy_v2(stream));
}
END_TEST

/* By the code of each warp, or what a loop counts as; not what may wait, or has never ended. */
START_TEST(launch_within_the_call_is_small_and_cannot_wait)
{
	enum { LOOPS = LAUNCH_CALL_WORK / LAUNCH_LOOP_WORK };
	static const struct {
		uint32_t blocks, threads;
		size_t code_size;
		bool is_straight, in_order, has_ended, is_quick;
	} launches[] = {
		{1, 1, 100, true, false, false, true}, {1, 1, 100, true, true, false, true},
		{LAUNCH_CALL_WORK / 128, 32, 128, true, false, false, true},
		{LAUNCH_CALL_WORK / 128 + 1, 32, 128, true, false, false, false},
		{LAUNCH_CALL_WORK / 128, 33, 128, true, false, false, false},
		{LOOPS, 32, 0, true, false, false, true}, {LOOPS, 33, 0, true, false, false, false},
		{LOOPS, 32, 9, false, false, true, true},
		{LOOPS + 1, 1, 9, false, false, true, false},
		{1, 1, 9, false, false, false, false}, {1, 1, 9, false, true, true, false},
		{UINT32_MAX, 1024, SIZE_MAX / 2, true, false, false, false},
	};
	for (size_t i = 0; i < countof(launches); i++) {
		struct function function = {.ptx = NULL};
		const struct jit_kernel made = {.width = 32, .is_straight = launches[i].is_straight,
			.in_order = launches[i].in_order, .code_size = launches[i].code_size};
		const struct jit_code code = {.kernel = &made};
		struct work work = {.kind = WORK_KERNEL, .kernel = {.function = &function,
			.code = &code, .grid = {launches[i].blocks, 1, 1},
			.block = {launches[i].threads, 1, 1}}};
		atomic_store(&function.has_ended, launches[i].has_ended);
		ck_assert_msg(work_is_quick(&work) == launches[i].is_quick, "launch %zu", i);
	}
}
END_TEST

START_TEST(pageable_source_may_change_after_an_asynchronous_copy)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr a = alloc(8);
	uint32_t source[] = {1, 2};
	uint32_t result[] = {0, 0};
	launch_meet(stream, BEGUN, GO);
	OK(cuMemcpyHtoDAsync_v2(a, source, 8, stream));
	source[0] = 77;
	atomic_store(&words[GO], 1);
	OK(cuMemcpyDtoHAsync_v2(result, a, 8, stream));
	ck_assert_uint_eq(result[0], 1);
	ck_assert_uint_eq(result[1], 2);
}
END_TEST

START_TEST(pinned_copies_and_fills_do_not_wait)
{
	CUstream stream = new_stream(0);
	CUdeviceptr a = alloc(4);
	launch_meet(NULL, BEGUN, GO);
	OK(cuMemsetD32_v2(a, 3, 1));
	OK(cuMemcpyDtoD_v2(a, a, 4));
	OK(cuMemcpyDtoHAsync_v2((void *)&words[DONE], a, 4, stream));
	ck_assert_uint_eq(atomic_load(&words[DONE]), 0);
	FAILS(NOT_READY, cuStreamQuery(stream));
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(stream));
	ck_assert_uint_eq(atomic_load(&words[DONE]), 3);
}
END_TEST

/* --- Order between streams --- */

static const struct order_row {
	bool first_default;
	bool second_default;
	unsigned flags; /* of the streams that are not the default one */
	bool waits;
} order_rows[] = {
	{true, false, 0, true},
	{false, true, 0, true},
	{false, false, 0, false},
	{true, false, CU_STREAM_NON_BLOCKING, false},
	{false, true, CU_STREAM_NON_BLOCKING, false},
	{false, false, CU_STREAM_NON_BLOCKING, false},
};

/* Whether what is enqueued in one stream waits for a kernel in another one. */
START_TEST(default_stream_waits_for_blocking_streams_and_they_for_it)
{
	const struct order_row *row = &order_rows[_i];
	CUstream first = row->first_default ? NULL : new_stream(row->flags);
	CUstream second = row->second_default ? NULL : new_stream(row->flags);
	CUdeviceptr a = alloc(4);
	CUevent event = new_event(0);
	launch_meet(first, BEGUN, GO);
	await(BEGUN);
	OK(cuMemsetD32Async(a, 1, 1, second));
	OK(cuEventRecord(event, second));
	if (row->waits) {
		FAILS(NOT_READY, cuEventQuery(event));
	} else {
		OK(cuEventSynchronize(event));
	}
	FAILS(NOT_READY, cuStreamQuery(first));
	atomic_store(&words[GO], 1);
	OK(cuEventSynchronize(event));
	OK(cuCtxSynchronize());
	OK(cuStreamQuery(first));
}
END_TEST

START_TEST(default_stream_is_between_what_came_before_and_what_comes_after)
{
	CUstream before = new_stream(0);
	CUstream after = new_stream(0);
	CUdeviceptr a = alloc(4);
	uint32_t value;
	launch_meet(before, BEGUN, GO);
	OK(cuMemsetD32Async(a, 10, 1, before));
	OK(launch_plus(NULL, a, 7));
	OK(cuMemcpyDtoDAsync_v2(a, a, 4, after));
	OK(launch_plus(after, a, 100));
	FAILS(NOT_READY, cuStreamQuery(NULL));
	FAILS(NOT_READY, cuStreamQuery(after));
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(after));
	OK(cuMemcpyDtoH_v2(&value, a, 4));
	ck_assert_uint_eq(value, 117);
}
END_TEST

START_TEST(contexts_do_not_wait_for_each_other)
{
	launch_meet(NULL, BEGUN, GO);
	await(BEGUN);
	CUcontext other = new_context();
	CUdeviceptr a = alloc(4);
	OK(cuMemsetD32_v2(a, 1, 1));
	OK(cuCtxSynchronize());
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
	FAILS(NOT_READY, cuStreamQuery(NULL));
	atomic_store(&words[GO], 1);
	OK(cuCtxSynchronize());
}
END_TEST

/* --- Events --- */

START_TEST(event_is_ready_when_its_stream_has_come_to_it)
{
	CUstream stream = new_stream(0);
	CUevent start = new_event(0);
	CUevent end = new_event(CU_EVENT_BLOCKING_SYNC);
	float ms;
	OK(cuEventRecord(start, stream));
	launch_meet(stream, BEGUN, GO);
	OK(cuEventRecord(end, stream));
	OK(cuEventQuery(start));
	FAILS(NOT_READY, cuEventQuery(end));
	FAILS(NOT_READY, cuEventElapsedTime(&ms, start, end));
	atomic_store(&words[GO], 1);
	OK(cuEventSynchronize(end));
	OK(cuEventElapsedTime(&ms, start, end));
	ck_assert(ms > 0);
	OK(cuEventElapsedTime(&ms, end, start));
	ck_assert(ms < 0);
}
END_TEST

START_TEST(stream_waits_for_an_event_of_another_one)
{
	CUstream first = new_stream(CU_STREAM_NON_BLOCKING);
	CUstream second = new_stream(CU_STREAM_NON_BLOCKING);
	CUevent event = new_event(CU_EVENT_DISABLE_TIMING);
	CUdeviceptr a = alloc(4);
	OK(cuMemsetD32_v2(a, 1, 1));
	launch_meet(first, BEGUN, GO);
	OK(launch_plus(first, a, 1));
	OK(cuEventRecord(event, first));
	OK(cuStreamWaitEvent(second, event, 0));
	OK(cuMemcpyDtoHAsync_v2((void *)&words[DONE], a, 4, second));
	FAILS(NOT_READY, cuStreamQuery(second));
	OK(cuEventDestroy_v2(event));
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(second));
	ck_assert_uint_eq(atomic_load(&words[DONE]), 2);
	FAILS(INVALID_HANDLE, cuEventQuery(event));
}
END_TEST

START_TEST(wait_is_for_the_record_of_its_time)
{
	CUstream first = new_stream(0);
	CUstream second = new_stream(0);
	CUstream third = new_stream(0);
	CUevent event = new_event(0);
	OK(cuStreamWaitEvent(second, event, 0));
	OK(cuStreamQuery(second));
	OK(cuEventRecord(event, first));
	launch_meet(first, BEGUN, GO);
	OK(cuStreamWaitEvent(second, event, 0));
	OK(cuEventRecord(event, first));
	OK(cuStreamWaitEvent(third, event, 0));
	OK(cuStreamSynchronize(second));
	FAILS(NOT_READY, cuStreamQuery(third));
	OK(cuEventRecord(event, second));
	OK(cuEventQuery(event));
	FAILS(NOT_READY, cuStreamQuery(third));
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(third));
}
END_TEST

START_TEST(events_order_contexts)
{
	CUstream stream = new_stream(0);
	CUstream foreign;
	CUevent event = new_event(0);
	launch_meet(stream, BEGUN, GO);
	OK(cuEventRecord(event, stream));
	CUcontext other = new_context();
	foreign = new_stream(0);
	OK(cuStreamWaitEvent(foreign, event, 0));
	FAILS(NOT_READY, cuStreamQuery(foreign));
	FAILS(NOT_READY, cuEventQuery(event));
	FAILS(INVALID_HANDLE, cuEventRecord(event, foreign));
	OK(cuEventRecord(event, stream));
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(foreign));
	OK(cuEventSynchronize(event));
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
}
END_TEST

START_TEST(event_of_a_context_is_about_all_that_was_given_to_it)
{
	CUstream streams[3];
	CUevent event = new_event(0);
	OK(cuCtxRecordEvent(context, event));
	OK(cuEventQuery(event));
	for (int i = 0; i < 3; i++) {
		streams[i] = new_stream(i == 1 ? 0 : CU_STREAM_NON_BLOCKING);
	}
	launch_meet(streams[0], 10, 11);
	launch_meet(streams[1], 20, 21);
	OK(cuCtxRecordEvent(context, event));
	launch_meet(streams[2], 30, 31);
	launch_meet(streams[0], 40, 41);
	FAILS(NOT_READY, cuEventQuery(event));
	atomic_store(&words[21], 1);
	OK(cuStreamSynchronize(streams[1]));
	FAILS(NOT_READY, cuEventQuery(event));
	atomic_store(&words[11], 1);
	OK(cuEventSynchronize(event));
	FAILS(NOT_READY, cuStreamQuery(streams[2]));
	atomic_store(&words[31], 1);
	atomic_store(&words[41], 1);
}
END_TEST

START_TEST(all_streams_of_a_context_wait_for_an_event)
{
	CUevent event = new_event(0);
	CUstream mine = new_stream(CU_STREAM_NON_BLOCKING);
	launch_meet(mine, BEGUN, GO);
	OK(cuEventRecord(event, mine));
	CUcontext other = new_context();
	CUstream before = new_stream(CU_STREAM_NON_BLOCKING);
	OK(cuCtxWaitEvent(other, event));
	CUstream after = new_stream(CU_STREAM_NON_BLOCKING);
	FAILS(NOT_READY, cuStreamQuery(before));
	FAILS(NOT_READY, cuStreamQuery(after));
	FAILS(NOT_READY, cuStreamQuery(NULL));
	OK(cuCtxSetCurrent(context));
	OK(cuStreamQuery(NULL));
	atomic_store(&words[GO], 1);
	OK(cuCtxSetCurrent(other));
	OK(cuCtxSynchronize());
	OK(cuStreamQuery(new_stream(0)));
	OK(cuCtxWaitEvent(other, event));
	OK(cuStreamQuery(before));
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
}
END_TEST

START_TEST(context_that_waits_can_be_destroyed)
{
	CUevent event = new_event(0);
	CUstream mine = new_stream(CU_STREAM_NON_BLOCKING);
	launch_meet(mine, BEGUN, GO);
	OK(cuEventRecord(event, mine));
	CUcontext other = new_context();
	OK(cuCtxWaitEvent(other, event));
	OK(cuEventDestroy_v2(event));
	new_stream(0);
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
	FAILS(NOT_READY, cuStreamQuery(mine));
	atomic_store(&words[GO], 1);
}
END_TEST

START_TEST(wrong_contexts_and_events_are_refused)
{
	CUgraph graph = NULL;
	CUevent event = new_event(0);
	CUstream stream = new_stream(0);
	FAILS(INVALID_CONTEXT, cuCtxRecordEvent(NULL, event));
	FAILS(INVALID_CONTEXT, cuCtxWaitEvent(NULL, event));
	FAILS(INVALID_HANDLE, cuCtxRecordEvent(context, NULL));
	FAILS(INVALID_HANDLE, cuCtxWaitEvent(context, (CUevent)stream));
	CUcontext other = new_context();
	FAILS(INVALID_HANDLE, cuCtxRecordEvent(other, event));
	OK(cuCtxSetCurrent(context));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(STREAM_CAPTURE_UNSUPPORTED, cuCtxRecordEvent(context, event));
	FAILS(STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuEventRecord(event, stream));
	FAILS(STREAM_CAPTURE_UNSUPPORTED, cuCtxWaitEvent(other, event));
	FAILS(STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
	OK(cuCtxDestroy_v2(other));
}
END_TEST

/* Without memory, nothing is recorded and nobody waits. */
START_TEST(events_of_contexts_survive_want_of_memory)
{
	CUevent event = new_event(0);
	CUstream stream = new_stream(0);
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	OK(cuCtxSetCurrent(context));
	for (int n = 0; result != CUDA_SUCCESS; n++) {
		atomic_store(&words[GO], 0);
		launch_meet(stream, BEGUN, GO);
		mem_fail_after(n);
		result = cuCtxRecordEvent(context, event);
		result = result == CUDA_SUCCESS ? cuCtxWaitEvent(context, event) : result;
		mem_fail_after(-1);
		atomic_store(&words[GO], 1);
		OK(cuCtxSynchronize());
		ck_assert(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
	}
}
END_TEST

/* --- Functions of the host --- */

static pthread_t caller;

static void note_thread(void *data)
{
	FAILS(NOT_PERMITTED, cuCtxSynchronize());
	FAILS(NOT_PERMITTED, cuStreamQuery(NULL));
	ck_assert(!pthread_equal(pthread_self(), caller));
	atomic_fetch_add((_Atomic uint32_t *)data, 1);
}

static void wait_for_go(void *data)
{
	atomic_store((_Atomic uint32_t *)data, 1);
	await(GO);
}

START_TEST(host_functions_run_on_another_thread_in_order)
{
	CUstream stream = new_stream(0);
	CUdeviceptr a = alloc(4);
	caller = pthread_self();
	OK(cuLaunchHostFunc(stream, wait_for_go, (void *)&words[BEGUN]));
	await(BEGUN);
	OK(cuLaunchHostFunc(stream, note_thread, (void *)&words[DONE]));
	OK(cuMemsetD32Async(a, 4, 1, stream));
	OK(cuMemcpyDtoHAsync_v2((void *)&words[OTHER], a, 4, stream));
	ck_assert_uint_eq(atomic_load(&words[DONE]), 0);
	ck_assert_uint_eq(atomic_load(&words[OTHER]), 0);
	FAILS(NOT_READY, cuStreamQuery(stream));
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(stream));
	ck_assert_uint_eq(atomic_load(&words[DONE]), 1);
	ck_assert_uint_eq(atomic_load(&words[OTHER]), 4);
}
END_TEST

/* Who waits does what the stream's thread has not come to, but for functions of the host. */
START_TEST(work_stays_in_order_and_functions_elsewhere_whoever_waits)
{
	enum { COUNT = 50 };
	CUstream stream = new_stream(0);
	CUdeviceptr a = alloc(4), b = alloc(4 * COUNT);
	uint32_t seen[COUNT], one = 1, most = 20000;
	void *values[] = {&a, &one}, *limit[] = {&most};
	OK(cuMemsetD32_v2(a, 0, 1));
	caller = pthread_self();
	for (unsigned i = 0; i < COUNT; i++) {
		OK(launch_one("never", stream, limit));
		OK(launch_one("add", stream, values));
		OK(cuMemcpyDtoDAsync_v2(b + 4 * i, a, 4, stream));
		OK(cuLaunchHostFunc(stream, note_thread, (void *)&words[DONE]));
		OK(launch_one("add", stream, values));
		OK(i % 2 == 0 ? cuStreamSynchronize(stream) : cuCtxSynchronize());
		OK(cuStreamQuery(stream));
		ck_assert_uint_eq(atomic_load(&words[DONE]), i + 1);
	}
	OK(cuMemcpyDtoH_v2(seen, b, sizeof(seen)));
	for (unsigned i = 0; i < COUNT; i++) {
		ck_assert_uint_eq(seen[i], 2 * i + 1);
	}
}
END_TEST

static CUstream told_stream;
static CUresult told_status;

static void keep_status(CUstream stream, CUresult status, void *data)
{
	told_stream = stream;
	told_status = status;
	atomic_fetch_add((_Atomic uint32_t *)data, 1);
}

START_TEST(big_grids_of_short_kernels_do_not_hold_up_the_program)
{
	const uint32_t blocks = 1 << 22;
	CUdeviceptr word = (uintptr_t)&words[DONE];
	uint32_t one = 1;
	void *values[] = {&word, &one};
	for (int i = 0; i < 100; i++) {
		OK(launch_one("add", NULL, values));
	}
	OK(cuLaunchKernel(kernel(wait_module, "add"), blocks, 1, 1, 1, 1, 1, 0, NULL, values,
		NULL));
	FAILS(NOT_READY, cuStreamQuery(NULL));
	OK(cuStreamSynchronize(NULL));
}
END_TEST

START_TEST(callbacks_are_told_how_the_stream_fares)
{
	CUstream stream = new_stream(0);
	OK(cuStreamAddCallback(stream, keep_status, (void *)&words[DONE], 0));
	OK(cuStreamSynchronize(stream));
	ck_assert_uint_eq(atomic_load(&words[DONE]), 1);
	ck_assert_ptr_eq(told_stream, stream);
	OK(told_status);
	launch_meet(stream, BEGUN, GO);
	OK(launch_one("fail", stream, NULL));
	OK(cuStreamAddCallback(stream, keep_status, (void *)&words[DONE], 0));
	OK(cuLaunchHostFunc(stream, note_thread, (void *)&words[DONE]));
	atomic_store(&words[GO], 1);
	FAILS(ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
	ck_assert_int_eq(told_status, CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_uint_eq(atomic_load(&words[DONE]), 2);
}
END_TEST

/* --- Ends --- */

START_TEST(destroyed_stream_does_what_it_was_given)
{
	CUstream stream = new_stream(0);
	CUdeviceptr a = alloc(4);
	uint32_t value;
	OK(cuMemsetD32_v2(a, 1, 1));
	launch_meet(stream, BEGUN, GO);
	OK(launch_plus(stream, a, 1));
	OK(cuStreamDestroy_v2(stream));
	FAILS(INVALID_HANDLE, cuStreamQuery(stream));
	FAILS(INVALID_HANDLE, cuStreamDestroy_v2(stream));
	atomic_store(&words[GO], 1);
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH_v2(&value, a, 4));
	ck_assert_uint_eq(value, 2);
}
END_TEST

START_TEST(work_behind_a_failed_kernel_is_dropped)
{
	CUstream stream = new_stream(0);
	CUstream other = new_stream(CU_STREAM_NON_BLOCKING);
	CUevent event = new_event(0);
	CUdeviceptr a = alloc(4);
	OK(cuMemsetD8_v2(a, 1, 4));
	launch_meet(stream, BEGUN, GO);
	OK(launch_one("fail", stream, NULL));
	OK(cuEventRecord(event, stream));
	OK(cuMemcpyDtoHAsync_v2((void *)&words[DONE], a, 4, stream));
	OK(cuStreamWaitEvent(other, event, 0));
	atomic_store(&words[GO], 1);
	FAILS(ILLEGAL_ADDRESS, cuStreamSynchronize(other));
	ck_assert_uint_eq(atomic_load(&words[DONE]), 0);
	FAILS(ILLEGAL_ADDRESS, cuStreamQuery(stream));
	FAILS(ILLEGAL_ADDRESS, cuEventQuery(event));
	FAILS(ILLEGAL_ADDRESS, cuMemsetD8_v2(a, 0, 4));
	FAILS(ILLEGAL_ADDRESS, cuStreamDestroy_v2(stream));
	FAILS(ILLEGAL_ADDRESS, cuEventDestroy_v2(event));
	FAILS(INVALID_HANDLE, cuEventDestroy_v2(event));
	reset();
	OK(cuMemAlloc_v2(&a, 4));
	OK(cuCtxSynchronize());
}
END_TEST

START_TEST(context_may_go_while_work_is_queued)
{
	CUstream stream;
	CUcontext other = new_context();
	CUdeviceptr a = alloc(4);
	stream = new_stream(0);
	OK(cuLaunchHostFunc(stream, wait_for_go, (void *)&words[BEGUN]));
	OK(cuMemsetD32Async(a, 1, 1, stream));
	OK(cuMemsetD32_v2(a, 1, 1));
	OK(cuLaunchHostFunc(NULL, note_thread, (void *)&words[DONE]));
	await(BEGUN);
	caller = pthread_self();
	atomic_store(&words[GO], 1);
	OK(cuCtxDestroy_v2(other));
	ck_assert_uint_eq(atomic_load(&words[DONE]), 1);
	FAILS(INVALID_HANDLE, cuStreamDestroy_v2(stream));
	OK(cuCtxSetCurrent(context));
}
END_TEST

START_TEST(free_waits_for_kernels_and_free_async_for_its_stream)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr a;
	uint32_t value;
	OK(cuMemAllocAsync(&a, 4, stream));
	OK(cuMemsetD32Async(a, 1, 1, stream));
	launch_meet(stream, BEGUN, GO);
	OK(launch_plus(stream, a, 1));
	OK(cuMemcpyDtoDAsync_v2((uintptr_t)&words[DONE], a, 4, stream));
	OK(cuMemFreeAsync(a, stream));
	OK(cuMemcpyDtoD_v2(a, a, 4));
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(stream));
	ck_assert_uint_eq(atomic_load(&words[DONE]), 2);
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(&value, a, 4));
	FAILS(INVALID_VALUE, cuMemFreeAsync(a, stream));
}
END_TEST

/* --- Streams of threads --- */

static void *use_own_stream(void *arg)
{
	unsigned long long *id = arg;
	OK(cuCtxSetCurrent(context));
	OK(cuStreamGetId(CU_STREAM_PER_THREAD, id));
	OK(cuMemsetD32Async((uintptr_t)&words[DONE], 9, 1, CU_STREAM_PER_THREAD));
	OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	return NULL;
}

START_TEST(each_thread_has_a_default_stream_of_its_own)
{
	unsigned long long ids[2] = {0, 0};
	unsigned long long legacy;
	pthread_t thread;
	OK(cuStreamGetId(NULL, &legacy));
	OK(cuStreamGetId(CU_STREAM_PER_THREAD, &ids[0]));
	launch_meet(CU_STREAM_PER_THREAD, BEGUN, GO);
	ck_assert_int_eq(pthread_create(&thread, NULL, use_own_stream, &ids[1]), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(atomic_load(&words[DONE]), 9);
	ck_assert_uint_ne(ids[0], ids[1]);
	ck_assert_uint_ne(ids[0], legacy);
	FAILS(NOT_READY, cuStreamQuery(CU_STREAM_LEGACY));
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	OK(cuStreamQuery(CU_STREAM_LEGACY));
}
END_TEST

START_TEST(default_stream_of_the_other_entry_points_is_the_threads)
{
	unsigned long long ids[3];
	CUdeviceptr a = alloc(4);
	uint32_t value;
	OK(cuStreamGetId(CU_STREAM_PER_THREAD, &ids[0]));
	OK(cuStreamGetId_ptsz(NULL, &ids[1]));
	OK(cuStreamGetId_ptsz(CU_STREAM_LEGACY, &ids[2]));
	ck_assert_uint_eq(ids[0], ids[1]);
	ck_assert_uint_ne(ids[0], ids[2]);
	OK(cuMemsetD32_v2_ptds(a, 8, 1));
	launch_meet(new_stream(0), BEGUN, GO);
	OK(cuMemsetD32Async_ptsz(a, 9, 1, NULL));
	OK(cuMemcpyDtoH_v2_ptds(&value, a, 4));
	ck_assert_uint_eq(value, 9);
	OK(cuStreamQuery_ptsz(NULL));
	FAILS(NOT_READY, cuStreamQuery(NULL));
	atomic_store(&words[GO], 1);
}
END_TEST

START_TEST(stream_has_no_green_context)
{
	const CUgreenCtx unset = (CUgreenCtx)words;
	const CUstream streams[] = {NULL, CU_STREAM_LEGACY, new_stream(0)};
	CUgreenCtx green;
	for (size_t i = 0; i < countof(streams); i++) {
		green = unset;
		OK(cuStreamGetGreenCtx(streams[i], &green));
		ck_assert_ptr_null(green);
	}
	green = unset;
	OK(cuCtxSetCurrent(NULL));
	FAILS(INVALID_CONTEXT, cuStreamGetGreenCtx(NULL, &green));
	OK(cuCtxSetCurrent(context));
	if (driver_lacks("cuda.h leaves open what comes of NULL and of handles that have ended")) {
		return;
	}
	FAILS(INVALID_VALUE, cuStreamGetGreenCtx(NULL, NULL));
	OK(cuStreamDestroy_v2(streams[2]));
	FAILS(INVALID_HANDLE, cuStreamGetGreenCtx(streams[2], &green));
	ck_assert_ptr_eq(green, unset);
}
END_TEST

/* --- Streams of other contexts --- */

/* A stream of a new context, where a host function waits for words[GO]; then another is current. */
static CUstream stream_elsewhere(CUcontext *home, CUcontext next)
{
	OK(cuCtxCreate_v2(home, 0, 0));
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	OK(cuLaunchHostFunc(stream, wait_for_go, (void *)&words[BEGUN]));
	OK(cuCtxSetCurrent(next));
	return stream;
}

/* CUDA C++ Programming Guide: "A memory copy will succeed even if it is issued to a stream that is
 * not associated to the current device." */
START_TEST(copies_and_fills_may_be_in_streams_of_other_contexts)
{
	uint32_t back[2] = {0};
	CUcontext home;
	CUdeviceptr a = alloc(8);
	CUstream stream = stream_elsewhere(&home, context);
	OK(cuMemsetD32_v2(a, 1, 2));
	OK(cuMemsetD32Async(a, 5, 1, stream));
	OK(cuMemcpyAsync(a + 4, a, 4, stream));
	FAILS(INVALID_HANDLE, launch_plus(stream, a, 1));
	FAILS(NOT_READY, cuStreamQuery(stream));
	OK(cuMemcpyDtoH_v2(back, a, 8));
	ck_assert_uint_eq(back[0], 1);
	atomic_store(&words[GO], 1);
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH_v2(back, a, 8));
	ck_assert_uint_eq(back[0], 5);
	ck_assert_uint_eq(back[1], 5);
	OK(cuCtxDestroy_v2(home));
	FAILS(INVALID_HANDLE, cuMemsetD32Async(a, 5, 1, stream));
}
END_TEST

/* Its fault is the other context's. */
START_TEST(fill_of_memory_that_is_gone_when_its_turn_comes_is_an_error)
{
	CUcontext home, owner;
	CUdeviceptr mine = alloc(4);
	OK(cuCtxCreate_v2(&owner, 0, 0));
	CUdeviceptr a = alloc(1 << 20);
	CUstream stream = stream_elsewhere(&home, owner);
	OK(cuMemsetD8Async(a, 5, 1 << 20, stream));
	OK(cuCtxDestroy_v2(owner));
	atomic_store(&words[GO], 1);
	OK(cuCtxSetCurrent(home));
	FAILS(ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
	OK(cuCtxSetCurrent(context));
	OK(cuMemsetD8_v2(mine, 5, 4));
	FAILS(ILLEGAL_ADDRESS, cuMemsetD8Async(mine, 5, 4, stream));
	OK(cuCtxDestroy_v2(home));
}
END_TEST

START_TEST(captures_take_nothing_of_other_contexts)
{
	CUgraph graph;
	CUdeviceptr a = alloc(4);
	CUcontext home = new_context();
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuCtxSetCurrent(context));
	FAILS(INVALID_HANDLE, cuMemsetD32Async(a, 5, 1, stream));
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuCtxDestroy_v2(home));
}
END_TEST

/* The range is that of NVIDIA's GPUs.  None changes when work runs. */
START_TEST(priorities_are_kept)
{
	static const int asked[] = {0, -1, -5, -6, -100, 7}, got[] = {0, -1, -5, -5, -5, 0};
	int least = 9, greatest = 9, priority;
	CUstream made;
	OK(cuCtxGetStreamPriorityRange(&least, &greatest));
	ck_assert_int_eq(least, 0);
	ck_assert_int_eq(greatest, -5);
	for (size_t i = 0; i < countof(asked); i++) {
		OK(cuStreamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING, asked[i]));
		OK(cuStreamGetPriority(made, &priority));
		ck_assert_int_eq(priority, got[i]);
		OK(cuStreamDestroy_v2(made));
	}
}
END_TEST

SUITE(api_stream)
{
	Suite *suite = suite_create("api_stream");
	TCase *tc = add_case(suite, "kernels", wait_setup, teardown);
	tcase_add_tests(tc, 1, kernel_waits_for_what_the_host_does_after_the_launch,
		kernel_that_sleeps_may_wait_though_it_has_ended_before,
		parameters_may_change_after_the_launch,
		small_launches_run_within_the_call_after_a_large_one,
		launch_within_the_call_is_small_and_cannot_wait,
		pageable_source_may_change_after_an_asynchronous_copy,
		pinned_copies_and_fills_do_not_wait);
	tc = add_case(suite, "order", wait_setup, teardown);
	tcase_add_loop_test(tc, default_stream_waits_for_blocking_streams_and_they_for_it, 0,
		countof(order_rows));
	tcase_add_tests(tc, 1, default_stream_is_between_what_came_before_and_what_comes_after,
		contexts_do_not_wait_for_each_other, priorities_are_kept);
	tc = add_case(suite, "events", wait_setup, teardown);
	tcase_add_tests(tc, 1, event_is_ready_when_its_stream_has_come_to_it,
		stream_waits_for_an_event_of_another_one, wait_is_for_the_record_of_its_time,
		events_order_contexts, event_of_a_context_is_about_all_that_was_given_to_it,
		all_streams_of_a_context_wait_for_an_event, context_that_waits_can_be_destroyed,
		wrong_contexts_and_events_are_refused, events_of_contexts_survive_want_of_memory);
	tc = add_case(suite, "host functions", wait_setup, teardown);
	tcase_add_tests(tc, 1, host_functions_run_on_another_thread_in_order,
		work_stays_in_order_and_functions_elsewhere_whoever_waits,
		big_grids_of_short_kernels_do_not_hold_up_the_program,
		callbacks_are_told_how_the_stream_fares);
	tc = add_case(suite, "ends", wait_setup, teardown);
	tcase_add_tests(tc, 1, destroyed_stream_does_what_it_was_given,
		work_behind_a_failed_kernel_is_dropped, context_may_go_while_work_is_queued,
		free_waits_for_kernels_and_free_async_for_its_stream);
	tc = add_case(suite, "threads", wait_setup, teardown);
	tcase_add_tests(tc, 1, each_thread_has_a_default_stream_of_its_own,
		default_stream_of_the_other_entry_points_is_the_threads,
		stream_has_no_green_context);
	tc = add_case(suite, "contexts", wait_setup, teardown);
	tcase_add_tests(tc, 1, copies_and_fills_may_be_in_streams_of_other_contexts,
		fill_of_memory_that_is_gone_when_its_turn_comes_is_an_error,
		captures_take_nothing_of_other_contexts);
	return suite;
}
