/* SPDX-License-Identifier: MIT */
/* Launches, memory, streams, and the errors of all of these. */
#include "base/common.h"

#include "program.h"

#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct program program;
static const dim3 one = {1, 1, 1};

/* --- Errors --- */

START_TEST(the_last_error_stays_until_it_is_asked_for)
{
	void *memory;
	program_ok(cudaGetLastError());
	program_fails(cudaMalloc(NULL, 1), cudaErrorInvalidValue);
	program_ok(cudaMalloc(&memory, 1)); /* success leaves it alone */
	program_fails(cudaSetDevice(77), cudaErrorInvalidDevice);
	program_fails(cudaPeekAtLastError(), cudaErrorInvalidDevice);
	program_fails(cudaGetLastError(), cudaErrorInvalidDevice);
	program_ok(cudaGetLastError());
}
END_TEST

START_TEST(a_wild_kernel_loses_the_context_until_a_reset)
{
	void *memory;
	program_start(&program);
	program_ok(cudaLaunchKernel(program_wild, one, one, NULL, 0, NULL));
	program_fails(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	program_fails(cudaGetLastError(), cudaErrorIllegalAddress);
	program_fails(cudaGetLastError(), cudaErrorIllegalAddress); /* it is sticky */
	program_fails(cudaMalloc(&memory, 1), cudaErrorIllegalAddress);
	program_ok(cudaDeviceReset());
	program_ok(cudaGetLastError());
	program_ok(cudaMalloc(&memory, 1));
	program_ok(cudaLaunchKernel(program_count, one, one, NULL, 0, NULL));
	program_ok(cudaDeviceSynchronize());
}
END_TEST

START_TEST(an_impossible_configuration_is_named)
{
	static const dim3 wrong[][2] = {{{1, 1, 1}, {1025, 1, 1}}, {{1, 1, 1}, {0, 1, 1}},
		{{0, 1, 1}, {1, 1, 1}}, {{1, 65536, 1}, {1, 1, 1}}, {{1, 1, 1}, {32, 32, 2}}};
	program_start(&program);
	for (size_t i = 0; i < countof(wrong); i++) {
		program_fails(cudaLaunchKernel(program_count, wrong[i][0], wrong[i][1], NULL, 0,
			NULL), cudaErrorInvalidConfiguration);
	}
	program_fails(cudaLaunchKernel(program_count, one, one, NULL, 1 << 30, NULL),
		cudaErrorInvalidValue);
	program_fails(cudaLaunchKernel(program_count, one, one, NULL, (size_t)1 << 40, NULL),
		cudaErrorInvalidValue);
	program_fails(cudaLaunchKernel(NULL, one, one, NULL, 0, NULL),
		cudaErrorInvalidDeviceFunction);
	program_fails(cudaLaunchKernel(&program, one, one, NULL, 0, NULL),
		cudaErrorInvalidDeviceFunction);
}
END_TEST

/* --- Launches --- */

START_TEST(configurations_are_a_stack)
{
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
	for (unsigned i = 1; i <= 3; i++) {
		ck_assert_uint_eq(__cudaPushCallConfiguration((dim3){i, 1, 1}, (dim3){2 * i, 1, 1},
			3 * i, CU_STREAM_PER_THREAD), 0);
	}
	for (unsigned i = 3; i >= 1; i--) {
		program_ok(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
		ck_assert_uint_eq(grid.x, i);
		ck_assert_uint_eq(block.x, 2 * i);
		ck_assert_uint_eq(shared, 3 * i);
		ck_assert_ptr_eq(stream, CU_STREAM_PER_THREAD);
	}
	program_fails(__cudaPopCallConfiguration(&grid, &block, &shared, &stream),
		cudaErrorMissingConfiguration);
}
END_TEST

START_TEST(a_launch_takes_attributes)
{
	CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
		.value.cooperative = 1};
	cudaLaunchConfig_t config = {{2, 1, 1}, {4, 1, 1}, 0, NULL, &cooperative, 1};
	unsigned counter;
	program_start(&program);
	program_ok(cudaLaunchKernelExC(&config, program_count, NULL));
	program_ok(cudaMemcpyFromSymbol(&counter, &program_counter, 4, 0, cudaMemcpyDefault));
	ck_assert_uint_eq(counter, 8);
	config.blockDim.x = 5000;
	program_fails(cudaLaunchKernelExC(&config, program_count, NULL),
		cudaErrorInvalidConfiguration);
	program_fails(cudaLaunchKernelExC(NULL, program_count, NULL), cudaErrorInvalidValue);
}
END_TEST

START_TEST(kernels_have_attributes_and_names)
{
	struct cudaFuncAttributes attributes;
	const char *name;
	CUkernel kernel;
	CUfunction function;
	int blocks = 0;
	program_start(&program);
	memset(&attributes, 0xff, sizeof(attributes));
	program_ok(cudaFuncGetAttributes(&attributes, program_add));
	ck_assert_int_eq(attributes.maxThreadsPerBlock, 1024);
	ck_assert_uint_eq(attributes.sharedSizeBytes, 0);
	ck_assert_int_eq(attributes.ptxVersion, 75);
	program_ok(cudaFuncGetName(&name, program_add));
	ck_assert_str_eq(name, "add");
	program_ok(cudaFuncSetAttribute(program_add, 8, 60 << 10));
	program_ok(cudaFuncGetAttributes(&attributes, program_add));
	ck_assert_int_eq(attributes.maxDynamicSharedSizeBytes, 60 << 10);
	program_ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, program_add, 512, 0));
	ck_assert_int_eq(blocks, 3); /* of 1,536 threads */
	program_ok(cudaGetKernel(&kernel, program_count));
	program_ok(cudaLaunchKernel((const void *)kernel, one, one, NULL, 0, NULL));
	program_ok(cudaGetFuncBySymbol(&function, program_count));
	program_ok(cudaLaunchKernel((const void *)function, one, one, NULL, 0, NULL));
	program_fails(cudaFuncGetAttributes(&attributes, &program),
		cudaErrorInvalidDeviceFunction);
	program_ok(cudaDeviceSynchronize());
}
END_TEST

/* --- Memory --- */

START_TEST(copies_find_out_where_memory_is)
{
	char from[64], to[64] = "", *device, *pinned, *managed;
	for (int i = 0; i < 64; i++) {
		from[i] = (char)i;
	}
	program_ok(cudaMalloc((void **)&device, 64));
	program_ok(cudaMallocHost((void **)&pinned, 64));
	program_ok(cudaMallocManaged((void **)&managed, 64, 1));
	program_ok(cudaMemcpy(device, from, 64, cudaMemcpyDefault));
	program_ok(cudaMemcpy(managed, device, 64, cudaMemcpyDeviceToDevice));
	program_ok(cudaMemcpy(pinned, managed, 64, cudaMemcpyDefault));
	program_ok(cudaMemcpy(to, pinned, 64, cudaMemcpyHostToHost));
	ck_assert_mem_eq(to, from, 64);
	program_fails(cudaMemcpy(to, device, 64, 5), cudaErrorInvalidMemcpyDirection);
	program_fails(cudaMemcpy(to, device, 64, -1), cudaErrorInvalidMemcpyDirection);
	program_ok(cudaMemcpy(NULL, device, 0, cudaMemcpyDeviceToHost));
	program_ok(cudaMemset(device + 1, 0x7f, 2));
	program_ok(cudaMemcpy_ptds(to, device, 64, cudaMemcpyDeviceToHost));
	ck_assert_int_eq(to[0], 0);
	ck_assert_int_eq(to[1], 0x7f);
	ck_assert_int_eq(to[2], 0x7f);
	ck_assert_int_eq(to[3], 3);
	program_ok(cudaFree(device));
	program_ok(cudaFreeHost(pinned));
	program_ok(cudaFree(managed));
}
END_TEST

START_TEST(pointers_say_what_they_are)
{
	void *memory[4];
	int here;
	static const int types[] = {cudaMemoryTypeDevice, cudaMemoryTypeHost, cudaMemoryTypeManaged,
		cudaMemoryTypeUnregistered};
	program_ok(cudaMalloc(&memory[0], 64));
	program_ok(cudaMallocHost(&memory[1], 64));
	program_ok(cudaMallocManaged(&memory[2], 64, 1));
	memory[3] = &here;
	for (int i = 0; i < 4; i++) {
		struct cudaPointerAttributes attributes;
		program_ok(cudaPointerGetAttributes(&attributes, memory[i]));
		ck_assert_int_eq(attributes.type, types[i]);
		ck_assert_int_eq(attributes.device, i < 3 ? 0 : cudaInvalidDeviceId);
		ck_assert_ptr_eq(attributes.devicePointer, i < 3 ? memory[i] : NULL);
		ck_assert_ptr_eq(attributes.hostPointer, i == 0 ? NULL : memory[i]);
	}
}
END_TEST

START_TEST(nothing_is_allocated_for_nothing)
{
	void *memory = &program;
	size_t pitch = 1;
	program_ok(cudaMalloc(&memory, 0));
	ck_assert_ptr_null(memory);
	program_ok(cudaFree(NULL));
	program_ok(cudaFreeHost(NULL));
	program_ok(cudaMallocPitch(&memory, &pitch, 100, 10));
	ck_assert_uint_ge(pitch, 100);
	ck_assert_uint_eq(pitch % 32, 0);
	program_ok(cudaFree(memory));
	program_fails(cudaFree(memory), cudaErrorInvalidValue);
	program_fails(cudaMalloc(&memory, (size_t)1 << 50), cudaErrorMemoryAllocation);
	program_fails(cudaMallocManaged(&memory, 0, 1), cudaErrorInvalidValue);
}
END_TEST

/* --- Streams --- */

static void note(void *data)
{
	*(int *)data += 1;
}

static void note_status(cudaStream_t stream, cudaError_t status, void *data)
{
	*(int *)data += stream && status == cudaSuccess ? 10 : 0;
}

START_TEST(streams_and_events_order_work)
{
	cudaStream_t stream;
	cudaEvent_t begin, end;
	unsigned *flag, *value;
	float ms = -1;
	int noted = 0;
	program_start(&program);
	program_ok(cudaStreamCreate(&stream));
	program_ok(cudaEventCreate(&begin));
	program_ok(cudaEventCreate(&end));
	program_ok(cudaMallocHost((void **)&flag, sizeof(*flag)));
	program_ok(cudaMalloc((void **)&value, sizeof(*value)));
	__atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
	void *values[] = {&flag};
	program_ok(cudaEventRecord(begin, stream));
	program_ok(cudaLaunchKernel(program_wait, one, one, values, 0, stream));
	program_ok(cudaMemsetAsync(value, 1, sizeof(*value), stream));
	program_ok(cudaLaunchHostFunc(stream, note, &noted));
	program_ok(cudaStreamAddCallback(stream, note_status, &noted, 0));
	program_ok(cudaEventRecord(end, stream));
	program_fails(cudaStreamQuery(stream), cudaErrorNotReady);
	program_fails(cudaEventQuery(end), cudaErrorNotReady);
	program_fails(cudaGetLastError(), cudaErrorNotReady);
	__atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
	program_ok(cudaEventSynchronize(end));
	program_ok(cudaStreamSynchronize(stream));
	ck_assert_int_eq(noted, 11);
	program_ok(cudaEventElapsedTime(&ms, begin, end));
	ck_assert_float_ge(ms, 0);
	program_ok(cudaMemcpy(flag, value, 4, cudaMemcpyDefault));
	ck_assert_uint_eq(*flag, 0x01010101);
	program_ok(cudaEventDestroy(begin));
	program_ok(cudaEventDestroy(end));
	program_ok(cudaStreamDestroy(stream));
}
END_TEST

START_TEST(the_stream_of_a_thread_is_not_the_legacy_one)
{
	unsigned *flag;
	program_start(&program);
	program_ok(cudaMallocHost((void **)&flag, sizeof(*flag)));
	__atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
	void *values[] = {&flag};
	program_ok(cudaLaunchKernel_ptsz(program_wait, one, one, values, 0, NULL));
	program_fails(cudaStreamQuery_ptsz(NULL), cudaErrorNotReady);
	program_fails(cudaStreamQuery(CU_STREAM_PER_THREAD), cudaErrorNotReady);
	__atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
	program_ok(cudaStreamSynchronize_ptsz(NULL));
	program_ok(cudaStreamQuery(NULL));
}
END_TEST

SUITE(cudart_launch)
{
	Suite *suite = suite_create("cudart_launch");
	TCase *tc = suite_add_case(suite, "errors");
	tcase_add_test(tc, the_last_error_stays_until_it_is_asked_for);
	tcase_add_test(tc, a_wild_kernel_loses_the_context_until_a_reset);
	tcase_add_test(tc, an_impossible_configuration_is_named);
	tc = suite_add_case(suite, "launches");
	tcase_add_test(tc, configurations_are_a_stack);
	tcase_add_test(tc, a_launch_takes_attributes);
	tcase_add_test(tc, kernels_have_attributes_and_names);
	tc = suite_add_case(suite, "memory");
	tcase_add_test(tc, copies_find_out_where_memory_is);
	tcase_add_test(tc, pointers_say_what_they_are);
	tcase_add_test(tc, nothing_is_allocated_for_nothing);
	tc = suite_add_case(suite, "streams");
	tcase_add_test(tc, streams_and_events_order_work);
	tcase_add_test(tc, the_stream_of_a_thread_is_not_the_legacy_one);
	return suite;
}
