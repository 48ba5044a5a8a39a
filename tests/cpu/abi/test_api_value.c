/* SPDX-License-Identifier: MIT */
/* Streams that wait for values in memory and write them. */
#include "cpu/support/api_wait.h"
#include "support/suite.h"

CUresult cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams *list,
	unsigned flags);
CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count, CUstreamBatchMemOpParams *list,
	unsigned flags);
CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
	unsigned flags);
CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
	unsigned flags);
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value,
	unsigned flags);
CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
	unsigned flags);
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
	unsigned flags);

static CUdeviceptr word(int index)
{
	return (uintptr_t)&words[index];
}

/* For each kind of wait: a value that does not end it, and one that does. */
static const struct wait_row {
	unsigned flags;
	bool is_64;
	uint64_t wanted;
	uint64_t not_yet;
	uint64_t now;
} wait_rows[] = {
	{CU_STREAM_WAIT_VALUE_GEQ, false, 5, 4, 5},
	{CU_STREAM_WAIT_VALUE_GEQ, false, 5, 4, 6},
	{CU_STREAM_WAIT_VALUE_GEQ, false, 5, 0x80000006, 0x80000004},
	{CU_STREAM_WAIT_VALUE_GEQ, false, 0xfffffff0, 0xffffffef, 3},
	{CU_STREAM_WAIT_VALUE_EQ, false, 5, 6, 5},
	{CU_STREAM_WAIT_VALUE_AND, false, 6, 9, 4},
	{CU_STREAM_WAIT_VALUE_NOR, false, 0xffff0000, 0xffff, 0xfffe},
	{CU_STREAM_WAIT_VALUE_GEQ, true, 0x500000000, 0x4ffffffff, 0x500000000},
	{CU_STREAM_WAIT_VALUE_GEQ, true, 1, 0x8000000000000002, 0x8000000000000000},
	{CU_STREAM_WAIT_VALUE_EQ, true, 0x100000005, 5, 0x100000005},
	{CU_STREAM_WAIT_VALUE_AND, true, 0x100000000, 0xffffffff, 0x100000001},
	{CU_STREAM_WAIT_VALUE_NOR, true, UINT64_MAX << 32, 0xffffffff, 0xfffffffe},
};

START_TEST(wait_ends_when_its_condition_holds)
{
	const struct wait_row *row = &wait_rows[_i];
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	_Atomic uint64_t *place = (_Atomic uint64_t *)&words[2];
	atomic_store(place, row->not_yet);
	OK(row->is_64 ? cuStreamWaitValue64_v2(stream, word(2), row->wanted, row->flags)
		: cuStreamWaitValue32_v2(stream, word(2), (uint32_t)row->wanted, row->flags));
	OK(cuStreamWriteValue32_v2(stream, word(0), 1, 0));
	FAILS(NOT_READY, cuStreamQuery(stream));
	ck_assert_uint_eq(atomic_load(&words[0]), 0);
	atomic_store(place, row->now);
	OK(cuStreamSynchronize(stream));
	ck_assert_uint_eq(atomic_load(&words[0]), 1);
}
END_TEST

START_TEST(wait_that_is_over_already_holds_nothing_up)
{
	const struct wait_row *row = &wait_rows[_i];
	CUstream stream = new_stream(0);
	_Atomic uint64_t *place = (_Atomic uint64_t *)&words[2];
	atomic_store(place, row->now);
	OK(row->is_64 ? cuStreamWaitValue64_v2(stream, word(2), row->wanted, row->flags)
		: cuStreamWaitValue32_v2(stream, word(2), (uint32_t)row->wanted, row->flags));
	OK(cuStreamSynchronize(stream));
}
END_TEST

START_TEST(streams_signal_each_other_through_memory)
{
	CUstream first = new_stream(CU_STREAM_NON_BLOCKING);
	CUstream second = new_stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr a = alloc(16);
	uint64_t value;
	OK(cuMemsetD8_v2(a, 0, 16));
	for (uint32_t i = 1; i <= 20; i++) {
		OK(cuStreamWaitValue32_v2(second, a, i, CU_STREAM_WAIT_VALUE_EQ));
		OK(cuStreamWriteValue64_v2(second, a + 8, i, 0));
		OK(cuStreamWriteValue32_v2(first, a, i, 0));
		OK(cuStreamWaitValue64_v2(first, a + 8, i, CU_STREAM_WAIT_VALUE_EQ));
	}
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH_v2(&value, a + 8, 8));
	ck_assert_uint_eq(value, 20);
}
END_TEST

START_TEST(batch_does_its_operations_in_order)
{
	CUstream stream = new_stream(0);
	CUstreamBatchMemOpParams list[4];
	memset(list, 0, sizeof(list));
	list[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
	list[0].writeValue.address = word(0);
	list[0].writeValue.value = 1;
	list[1].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
	list[2].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
	list[2].waitValue.address = word(1);
	list[2].waitValue.value = 1;
	list[3] = list[0];
	list[3].writeValue.address = word(2);
	OK(cuStreamBatchMemOp_v2(stream, 4, list, 0));
	FAILS(INVALID_VALUE, cuStreamBatchMemOp(stream, 4, list, 0));
	memset(list, 0, sizeof(list));
	await(0);
	ck_assert_uint_eq(atomic_load(&words[2]), 0);
	FAILS(NOT_READY, cuStreamQuery(stream));
	atomic_store(&words[1], 1);
	OK(cuStreamSynchronize(stream));
	ck_assert_uint_eq(atomic_load(&words[2]), 1);
	OK(cuStreamBatchMemOp_v2(stream, 0, NULL, 0));
	FAILS(INVALID_VALUE, cuStreamBatchMemOp_v2(stream, 256, list, 0));
	FAILS(INVALID_VALUE, cuStreamBatchMemOp_v2(stream, 1, NULL, 0));
	FAILS(INVALID_VALUE, cuStreamBatchMemOp_v2(stream, 1, list, 1));
	FAILS(INVALID_VALUE, cuStreamBatchMemOp_v2(stream, 1, list, 0));
}
END_TEST

START_TEST(values_must_be_where_a_stream_can_see_them)
{
	CUdeviceptr a = alloc(12);
	CUdeviceptr managed;
	uint32_t mine = 0;
	OK(cuMemAllocManaged(&managed, 8, CU_MEM_ATTACH_GLOBAL));
	FAILS(INVALID_VALUE, cuStreamWriteValue32_v2(NULL, a + 2, 1, 0));
	FAILS(INVALID_VALUE, cuStreamWriteValue64_v2(NULL, a + 4, 1, 0));
	FAILS(INVALID_VALUE, cuStreamWriteValue64_v2(NULL, a + 8, 1, 0));
	FAILS(INVALID_VALUE, cuStreamWriteValue32_v2(NULL, 0, 1, 0));
	FAILS(INVALID_VALUE, cuStreamWriteValue32_v2(NULL, (uintptr_t)&mine, 1, 0));
	FAILS(INVALID_VALUE, cuStreamWaitValue32_v2(NULL, managed, 1, 0));
	FAILS(INVALID_VALUE, cuStreamWaitValue32_v2(NULL, a, 1, 4));
	FAILS(NOT_SUPPORTED, cuStreamWaitValue32_v2(NULL, a, 1, CU_STREAM_WAIT_VALUE_FLUSH));
	OK(cuStreamWriteValue32(NULL, a, 1, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
	FAILS(INVALID_VALUE,
		cuStreamWriteValue32_v2(NULL, a, 1, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
	FAILS(INVALID_HANDLE, cuStreamWriteValue32_v2((CUstream)(uintptr_t)99, a, 1, 0));
}
END_TEST

START_TEST(wait_ends_with_its_context)
{
	CUcontext other = new_context();
	CUdeviceptr a = alloc(4);
	OK(cuStreamWaitValue32_v2(NULL, a, 1, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
}
END_TEST

SUITE(api_value)
{
	Suite *suite = suite_create("api_value");
	TCase *tc = add_case(suite, "values", wait_setup, teardown);
	tcase_add_tests(tc, countof(wait_rows), wait_ends_when_its_condition_holds,
		wait_that_is_over_already_holds_nothing_up);
	tcase_add_tests(tc, 1, streams_signal_each_other_through_memory,
		batch_does_its_operations_in_order, values_must_be_where_a_stream_can_see_them,
		wait_ends_with_its_context);
	return suite;
}
