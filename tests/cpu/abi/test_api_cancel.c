/* SPDX-License-Identifier: MIT */
/* Kernels that run at the same time, and endless kernels that are stopped. */
#include "base/kudzu_abi.h"
#include "cpu/object/context.h"
#include "cpu/object/handle.h"
#include "cpu/stream/launch_slot.h"
#include "cpu/stream/queue.h"
#include "cpu/support/api_wait.h"
#include "support/suite.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, uint32_t value,
	unsigned int flags);
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value,
	unsigned int flags);

/* Of the endless kernels, the one that looks at memory and the one that does not, which only a
 * signal ends: the thread sanitizer keeps that back until the thread calls something. */
#if defined(__SANITIZE_THREAD__)
#define ENDLESS 1
#else
#define ENDLESS 2
#endif

/* --- At once --- */

START_TEST(kernels_of_two_streams_wait_for_each_other)
{
	unsigned flags = _i == 0 ? 0 : CU_STREAM_NON_BLOCKING;
	CUstream first = new_stream(flags);
	CUstream second = new_stream(flags);
	for (int round = 0; round < 20; round++) {
		memset((void *)words, 0, 4096);
		launch_meet(first, 0, 1);
		launch_meet(second, 1, 0);
		OK(cuStreamSynchronize(first));
		OK(cuStreamSynchronize(second));
	}
}
END_TEST

START_TEST(kernels_of_many_streams_wait_in_a_ring)
{
	enum { COUNT = 12 };
	CUstream streams[COUNT];
	for (int i = 0; i < COUNT; i++) {
		streams[i] = new_stream(0);
		launch_meet(streams[i], i, (i + 1) % COUNT);
	}
	OK(cuCtxSynchronize());
	for (int i = 0; i < COUNT; i++) {
		ck_assert_uint_eq(atomic_load(&words[i]), 1);
		OK(cuStreamDestroy_v2(streams[i]));
	}
}
END_TEST

START_TEST(short_kernels_run_while_others_wait)
{
	CUstream waiting = new_stream(CU_STREAM_NON_BLOCKING);
	CUstream busy = new_stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr a = alloc(4);
	uint32_t value;
	OK(cuMemsetD32_v2(a, 0, 1));
	OK(cuStreamSynchronize(NULL));
	launch_never(waiting, true);
	for (int i = 0; i < 200; i++) {
		OK(launch_plus(busy, a, 1));
	}
	OK(cuMemcpyDtoHAsync_v2(&value, a, 4, busy));
	ck_assert_uint_eq(value, 200);
	atomic_store(&words[1], 1);
}
END_TEST

/* Two warps wait for a word.  In between each arrives at a barrier for which nobody waits, one when
 * the other does not: there is always one that has moved. */
static const char restless_ptx[] =
	".version 7.0\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry restless(.param .u64 other)\n"
	"{\n"
	"	.reg .b32 %r<4>;\n"
	"	.reg .b64 %rd<2>;\n"
	"	.reg .pred %p<3>;\n"
	"	ld.param.u64 %rd1, [other];\n"
	"	mov.u32 %r1, %tid.x;\n"
	"	setp.lt.u32 %p1, %r1, 32;\n"
	"	@%p1 bra ODD;\n"
	"EVEN:\n"
	"	barrier.cta.arrive 1, 64;\n"
	"	ld.volatile.u32 %r2, [%rd1];\n"
	"	setp.eq.u32 %p2, %r2, 0;\n"
	"	@%p2 bra EVEN;\n"
	"	ret;\n"
	"ODD:\n"
	"	nanosleep.u32 1;\n"
	"AGAIN:\n"
	"	barrier.cta.arrive 2, 64;\n"
	"	ld.volatile.u32 %r2, [%rd1];\n"
	"	setp.eq.u32 %p2, %r2, 0;\n"
	"	@%p2 bra AGAIN;\n"
	"	ret;\n"
	"}\n";

/* The threads meet again and again until a word is not 0.  It is read plainly, so nobody sees that
 * the loop waits for somebody else.  A barrier with a result keeps the warps from running as a
 * team. */
static const char barred_ptx[] =
	".version 7.0\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry barred(.param .u64 word)\n"
	"{\n"
	"	.reg .b32 %r<4>;\n"
	"	.reg .b64 %rd<2>;\n"
	"	.reg .pred %p<3>;\n"
	"	ld.param.u64 %rd1, [word];\n"
	"AGAIN:\n"
	"	ld.global.u32 %r2, [%rd1];\n"
	"	setp.eq.u32 %p1, %r2, 0;\n"
	"	bar.red.and.pred %p2, 0, %p1;\n"
	"	@%p2 bra AGAIN;\n"
	"	ret;\n"
	"}\n";

static CUfunction barred;

static void launch_barred(unsigned blocks, unsigned threads, uint32_t word)
{
	CUdeviceptr a = (uintptr_t)&words[1];
	void *values[] = {&a};
	atomic_store(&words[1], word);
	OK(cuLaunchKernel(barred, blocks, 1, 1, threads, 1, 1, 0, NULL, values, NULL));
}

/* Quick first, so that the calling thread begins with it itself the next time. */
static void launch_barred_for_ever(unsigned blocks, unsigned threads)
{
	CUmodule module;
	OK(cuModuleLoadData(&module, barred_ptx));
	barred = kernel(module, "barred");
	launch_barred(blocks, threads, 1);
	OK(cuCtxSynchronize());
	launch_barred(blocks, threads, 0);
}

START_TEST(launch_returns_although_a_block_meets_for_ever)
{
	const unsigned blocks = _i == 1 ? 16 : 1, threads = _i == 2 ? 1024 : 64;
	launch_barred_for_ever(blocks, threads);
	for (uint32_t round = 1; round < 20; round++) {
		OK(launch_plus(NULL, (uintptr_t)&words[2], 1));
		FAILS(NOT_READY, cuStreamQuery(NULL));
		ck_assert_uint_eq(atomic_load(&words[2]), round - 1);
		atomic_store(&words[1], 1);
		OK(cuCtxSynchronize());
		ck_assert_uint_eq(atomic_load(&words[2]), round);
		launch_barred(blocks, threads, 0);
	}
	atomic_store(&words[1], 1);
}
END_TEST

START_TEST(launch_returns_although_a_block_never_rests)
{
	CUmodule module;
	CUdeviceptr a = (uintptr_t)&words[1];
	void *values[] = {&a};
	OK(cuModuleLoadData(&module, restless_ptx));
	CUfunction restless = kernel(module, "restless");
	for (int round = 0; round < 20; round++) {
		/* quick first, so that the calling thread runs it itself the next time */
		atomic_store(&words[1], 1);
		OK(cuLaunchKernel(restless, 1, 1, 1, 64, 1, 1, 0, NULL, values, NULL));
		OK(cuCtxSynchronize());
		atomic_store(&words[1], 0);
		OK(cuLaunchKernel(restless, 1, 1, 1, 64, 1, 1, 0, NULL, values, NULL));
		atomic_store(&words[1], 1);
		OK(cuCtxSynchronize());
	}
}
END_TEST

static void *enqueue_behind_a_kernel(void *arg)
{
	OK(cuCtxSetCurrent(context));
	await(0);
	OK(cuMemsetD32Async((uintptr_t)&words[2], 1, 1, arg));
	return NULL;
}

/* Another thread's work wakes the stream's thread while the launching one still runs the kernel. */
START_TEST(kernel_is_left_to_a_thread_that_waits_for_it)
{
	CUstream stream = new_stream(0);
	for (int round = 0; round < 100; round++) {
		pthread_t thread;
		atomic_store(&words[1], 1);
		launch_meet(stream, 0, 1);
		OK(cuStreamSynchronize(stream));
		memset((void *)words, 0, 4096);
		ck_assert_int_eq(pthread_create(&thread, NULL, enqueue_behind_a_kernel, stream), 0);
		launch_meet(stream, 0, 1);
		pthread_join(thread, NULL);
		atomic_store(&words[1], 1);
		OK(cuStreamSynchronize(stream));
		ck_assert_uint_eq(atomic_load(&words[2]), 1);
	}
}
END_TEST

/* --- Made to end --- */

START_TEST(context_with_an_endless_kernel_can_be_destroyed)
{
	CUmodule module = wait_module;
	CUcontext other = new_context();
	OK(cuModuleLoadData(&wait_module, wait_ptx));
	launch_never(new_stream(0), _i == 0);
	launch_never(NULL, _i == 0);
	CUdeviceptr a = alloc(4);
	OK(cuMemsetD32_v2(a, 0, 1));
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
	wait_module = module;
	OK(launch_plus(NULL, (uintptr_t)&words[2], 5));
	OK(cuCtxSynchronize());
	ck_assert_uint_eq(atomic_load(&words[2]), 5);
}
END_TEST

static void *synchronize(void *arg)
{
	OK(cuCtxSetCurrent(arg));
	atomic_store(&words[3], 1);
	cuCtxSynchronize();
	return NULL;
}

/* Whether the other thread gets to wait, or to know its context, is open; it must come back. */
START_TEST(context_is_destroyed_while_a_thread_waits_for_it)
{
	for (int round = 0; round < 50; round++) {
		CUcontext other;
		pthread_t thread;
		OK(cuCtxCreate_v2(&other, 0, 0));
		OK(cuStreamWaitValue32(NULL, (uintptr_t)&words[1], 1, CU_STREAM_WAIT_VALUE_EQ));
		atomic_store(&words[3], 0);
		ck_assert_int_eq(pthread_create(&thread, NULL, synchronize, other), 0);
		await(3);
		OK(cuStreamWriteValue32(new_stream(CU_STREAM_NON_BLOCKING), (uintptr_t)&words[1],
			1, 0));
		OK(cuCtxDestroy_v2(other));
		OK(cuCtxSetCurrent(context));
		pthread_join(thread, NULL);
		atomic_store(&words[1], 0);
	}
}
END_TEST

START_TEST(device_works_after_an_endless_kernel_and_a_reset)
{
	CUdeviceptr a;
	uint32_t value;
	if (_i == ENDLESS) {
		launch_barred_for_ever(1, 64);
	} else {
		launch_never(NULL, _i == 0);
	}
	reset();
	a = alloc(4);
	OK(cuMemsetD32_v2(a, 1, 1));
	OK(cuModuleLoadData(&wait_module, wait_ptx));
	OK(launch_plus(NULL, a, 1));
	OK(cuMemcpyDtoH_v2(&value, a, 4));
	ck_assert_uint_eq(value, 2);
}
END_TEST

static void timeout_setup(void)
{
	setenv("KUDZU_CPU_TIMEOUT", "0.05", 1);
	wait_setup();
}

START_TEST(watchdog_ends_a_kernel_that_takes_too_long)
{
	CUstream stream = new_stream(0);
	OK(launch_plus(stream, (uintptr_t)&words[2], 1));
	OK(cuStreamSynchronize(stream));
	launch_never(stream, _i == 0);
	OK(launch_plus(stream, (uintptr_t)&words[2], 1));
	FAILS(LAUNCH_TIMEOUT, cuStreamSynchronize(stream));
	check_log("ran longer than the 0.05 seconds of KUDZU_CPU_TIMEOUT");
	check_log(_i == 0 ? "kernel 'meet'" : "kernel 'never'");
	FAILS(LAUNCH_TIMEOUT, cuCtxSynchronize());
	ck_assert_uint_eq(atomic_load(&words[2]), 1);
	reset();
	OK(cuCtxSynchronize());
}
END_TEST

START_TEST(watchdog_ends_a_kernel_that_a_call_has_left)
{
	launch_barred_for_ever(1, 64);
	FAILS(LAUNCH_TIMEOUT, cuCtxSynchronize());
	check_log("kernel 'barred': ran longer than the 0.05 seconds of KUDZU_CPU_TIMEOUT");
	reset();
}
END_TEST

START_TEST(watchdog_leaves_a_stream_that_only_waits)
{
	CUstream first = new_stream(CU_STREAM_NON_BLOCKING);
	CUstream second = new_stream(CU_STREAM_NON_BLOCKING);
	CUevent event = new_event(0);
	OK(cuEventRecord(event, first));
	OK(cuStreamWaitEvent(second, event, 0));
	for (int i = 0; i < 50; i++) {
		OK(launch_plus(second, (uintptr_t)&words[2], 1));
		OK(cuStreamSynchronize(second));
	}
	ck_assert_uint_eq(atomic_load(&words[2]), 50);
}
END_TEST

static atomic_int watcher; /* its thread's number */

static void *look_for_late_kernels(void *device)
{
	atomic_store(&watcher, (int)syscall(SYS_gettid));
	uint64_t wait;
	return (void *)(uintptr_t)launch_slots_cancel_late(device, &wait);
}

static bool watcher_sleeps(void)
{
	char path[64], state = 'R';
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", atomic_load(&watcher));
	FILE *file = atomic_load(&watcher) != 0 ? fopen(path, "r") : NULL;
	bool ok = file && fscanf(file, "%*d %*s %c", &state) == 1;
	if (file) {
		fclose(file);
	}
	return ok && state == 'S';
}

static void patient_setup(void)
{
	setenv("KUDZU_CPU_TIMEOUT", "3600", 1);
	wait_setup();
}

/* It begins while the watchdog waits for the lock. */
START_TEST(watchdog_leaves_a_kernel_that_has_just_begun)
{
	struct context *own = handle_get(context, API_CONTEXT);
	pthread_t thread;
	void *late;
	queue_lock();
	ck_assert_int_eq(pthread_create(&thread, NULL, look_for_late_kernels, own->device), 0);
	while (!watcher_sleeps()) {
		sched_yield();
	}
	struct launch_slot *slot = launch_slot_take(own, &(struct kernel_work){.grid = {1, 1, 1}});
	queue_unlock();
	pthread_join(thread, &late);
	queue_lock();
	launch_slot_give(slot);
	queue_unlock();
	ck_assert_ptr_null(late);
}
END_TEST

/* --- Limits that the program sets --- */

/* What no thread ends by itself, with a limit of its own in nanoseconds. */
static CUresult launch_limited(CUstream stream, bool has_grid, uint64_t limit)
{
	CUdeviceptr none = (uintptr_t)&words[0], other = (uintptr_t)&words[1];
	uint32_t one = 1;
	void *params[] = {&none, &other, &one};
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_KUDZU_TIMEOUT};
	memcpy(&attribute.value, &limit, sizeof(limit));
	CUlaunchConfig config = {
		.gridDimX = has_grid ? 40 : 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
		.blockDimY = 1, .blockDimZ = 1, .hStream = stream, .attrs = &attribute,
		.numAttrs = 1,
	};
	return cuLaunchKernelEx(&config, kernel(wait_module, "meet"), params, NULL);
}

START_TEST(launch_with_a_limit_of_its_own_is_ended)
{
	CUstream stream = new_stream(0);
	OK(launch_limited(stream, _i == 1, 20000000));
	FAILS(LAUNCH_TIMEOUT, cuStreamSynchronize(stream));
	check_log("kernel 'meet': ran longer than the 0.02 seconds of its launch");
	FAILS(LAUNCH_TIMEOUT, cuCtxSynchronize());
	reset();
	OK(cuCtxSynchronize());
}
END_TEST

START_TEST(limit_of_a_launch_counts_from_its_begin_and_for_it_alone)
{
	CUstream first = new_stream(CU_STREAM_NON_BLOCKING);
	CUstream second = new_stream(CU_STREAM_NON_BLOCKING);
	launch_never(first, true);
	OK(launch_limited(second, false, UINT64_MAX)); /* the watchdog's thread is there now */
	atomic_store(&words[1], 1);
	OK(cuStreamSynchronize(second));
	OK(cuStreamSynchronize(first));
	atomic_store(&words[1], 0);
	launch_never(first, true);
	OK(launch_limited(first, false, 1000000000000)); /* waits for the one without a limit */
	FAILS(NOT_READY, cuStreamQuery(first));
	atomic_store(&words[1], 1);
	OK(cuStreamSynchronize(first));
	OK(launch_limited(first, false, 0)); /* none */
	OK(cuStreamSynchronize(first));
}
END_TEST

START_TEST(lower_limit_counts)
{
	size_t limit = 7;
	OK(cuCtxGetLimit(&limit, CU_LIMIT_KUDZU_TIMEOUT));
	ck_assert_uint_eq(limit, 0);
	OK(cuCtxSetLimit(CU_LIMIT_KUDZU_TIMEOUT, _i == 0 ? 30000000 : 3600000000000));
	OK(launch_limited(NULL, false, _i == 0 ? 3600000000000 : 30000000));
	FAILS(LAUNCH_TIMEOUT, cuCtxSynchronize());
	check_log(_i == 0 ? "ran longer than the 0.03 seconds of its device's limit"
		: "ran longer than the 0.03 seconds of its launch");
	reset();
	OK(cuCtxGetLimit(&limit, CU_LIMIT_KUDZU_TIMEOUT));
	ck_assert_uint_eq(limit, 0);
}
END_TEST

START_TEST(running_kernel_keeps_the_limit_with_which_it_began)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	OK(cuCtxSetLimit(CU_LIMIT_KUDZU_TIMEOUT, 30000000));
	OK(launch_limited(stream, false, 0));
	while (atomic_load(&words[0]) == 0) {
		sched_yield();
	}
	OK(cuCtxSetLimit(CU_LIMIT_KUDZU_TIMEOUT, 0));
	FAILS(LAUNCH_TIMEOUT, cuStreamSynchronize(stream));
	reset();
}
END_TEST

START_TEST(captured_launch_keeps_its_limit)
{
	CUstream stream = new_stream(0);
	CUgraph graph;
	CUgraphExec exec;
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(launch_limited(stream, false, 20000000));
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
	FAILS(LAUNCH_TIMEOUT, cuStreamSynchronize(stream));
	check_log("kernel 'meet': ran longer than the 0.02 seconds of its launch");
	reset();
}
END_TEST

/* The variable's value is what the limit begins with. */
START_TEST(limit_of_the_variable_can_be_read_and_lifted)
{
	size_t limit = 0;
	uint64_t wait = 0;
	OK(cuCtxGetLimit(&limit, CU_LIMIT_KUDZU_TIMEOUT));
	ck_assert_uint_eq(limit / 1000, 50000);
	OK(cuCtxSetLimit(CU_LIMIT_KUDZU_TIMEOUT, 0));
	launch_never(NULL, true);
	const struct context *own = handle_get(context, API_CONTEXT);
	ck_assert_uint_eq(launch_slots_cancel_late(own->device, &wait), 0);
	ck_assert_uint_eq(wait, UINT64_MAX);
	atomic_store(&words[1], 1);
	OK(cuCtxSynchronize());
}
END_TEST

/* --- Not made to end: the process exits --- */

START_TEST(process_exits_whatever_its_streams_do)
{
	CUstream stream = new_stream(0);
	CUstream other = new_stream(CU_STREAM_NON_BLOCKING);
	CUevent event = new_event(0);
	OK(launch_plus(other, (uintptr_t)&words[2], 1));
	OK(cuStreamSynchronize(other));
	launch_never(stream, _i == 0);
	OK(cuEventRecord(event, stream));
	OK(cuStreamWaitEvent(other, event, 0));
	OK(launch_plus(other, (uintptr_t)&words[2], 1));
}
END_TEST

SUITE(api_cancel)
{
	Suite *suite = suite_create("api_cancel");
	TCase *tc = add_case(suite, "at once", wait_setup, teardown);
	tcase_add_loop_test(tc, kernels_of_two_streams_wait_for_each_other, 0, 2);
	tcase_add_tests(tc, 1, kernels_of_many_streams_wait_in_a_ring,
		short_kernels_run_while_others_wait, kernel_is_left_to_a_thread_that_waits_for_it,
		launch_returns_although_a_block_never_rests);
	tcase_add_loop_test(tc, launch_returns_although_a_block_meets_for_ever, 0, 3);
	tc = add_case(suite, "made to end", wait_setup, teardown);
	tcase_add_loop_test(tc, context_with_an_endless_kernel_can_be_destroyed, 0, ENDLESS);
	tcase_add_loop_test(tc, device_works_after_an_endless_kernel_and_a_reset, 0,
		ENDLESS + 1);
	tcase_add_test(tc, context_is_destroyed_while_a_thread_waits_for_it);
	tc = add_case(suite, "exit", wait_setup, NULL);
	tcase_add_loop_test(tc, process_exits_whatever_its_streams_do, 0, 2);
	tc = add_case(suite, "timeout", timeout_setup, teardown);
	tcase_add_loop_test(tc, watchdog_ends_a_kernel_that_takes_too_long, 0, ENDLESS);
	tcase_add_test(tc, watchdog_ends_a_kernel_that_a_call_has_left);
	tcase_add_test(tc, watchdog_leaves_a_stream_that_only_waits);
	tcase_add_test(tc, limit_of_the_variable_can_be_read_and_lifted);
	tc = add_case(suite, "limits", wait_setup, teardown);
	tcase_add_loop_test(tc, launch_with_a_limit_of_its_own_is_ended, 0, 2);
	tcase_add_loop_test(tc, lower_limit_counts, 0, 2);
	tcase_add_tests(tc, 1, captured_launch_keeps_its_limit,
		running_kernel_keeps_the_limit_with_which_it_began,
		limit_of_a_launch_counts_from_its_begin_and_for_it_alone);
	tc = add_case(suite, "no timeout", patient_setup, teardown);
	tcase_add_test(tc, watchdog_leaves_a_kernel_that_has_just_begun);
	return suite;
}
