/* SPDX-License-Identifier: MIT */
/* Several copies, prefetches and discards in one call. */
#include "cpu/support/api_wait.h"
#include "support/suite.h"

CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
CUresult cuArrayDestroy(CUarray array);
CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
	CUmemcpyAttributes *attributes, size_t *starts, size_t start_count, size_t *failed,
	CUstream stream);
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
	CUmemcpyAttributes *attributes, size_t *starts, size_t start_count, CUstream stream);
CUresult cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes,
	size_t count, CUmemcpyAttributes *attributes, size_t *starts, size_t start_count,
	CUstream stream);
CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed,
	unsigned long long flags, CUstream stream);
CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *list,
	unsigned long long flags, CUstream stream);
CUresult cuMemPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t count,
	CUmemLocation *places, size_t *starts, size_t start_count, unsigned long long flags,
	CUstream stream);
CUresult cuMemDiscardBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t count,
	unsigned long long flags, CUstream stream);
CUresult cuMemRangeGetAttribute(void *out, size_t out_size, CUmem_range_attribute attribute,
	CUdeviceptr address, size_t size);

static CUmemcpyAttributes in_order = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};

START_TEST(batch_copies_each_range)
{
	uint32_t host[4] = {1, 2, 3, 4};
	uint32_t back[4] = {0};
	CUdeviceptr a = alloc(16);
	CUstream stream = new_stream(0);
	CUmemcpyAttributes attributes[2] = {in_order,
		{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL}};
	CUdeviceptr to[] = {a + 8, a, a + 4};
	CUdeviceptr from[] = {(uintptr_t)host, (uintptr_t)&host[2], (uintptr_t)&host[3]};
	size_t sizes[] = {8, 4, 4};
	size_t starts[] = {0, 2};
	OK(cuMemcpyBatchAsync_v2(to, from, sizes, 3, attributes, starts, 2, stream));
	OK(cuMemcpyBatchAsync_v2_ptsz(to, from, sizes, 3, attributes, starts, 2, stream));
	FAILS(INVALID_VALUE, cuMemcpyBatchAsync_v2_ptsz(to, from, sizes, 3, attributes, starts, 2,
		NULL));
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH_v2(back, a, 16));
	ck_assert_uint_eq(back[0], 3);
	ck_assert_uint_eq(back[1], 4);
	ck_assert_uint_eq(back[2], 1);
	ck_assert_uint_eq(back[3], 2);
}
END_TEST

START_TEST(bad_batches_tell_which_copy_fails)
{
	CUdeviceptr a = alloc(16);
	CUstream stream = new_stream(0);
	CUdeviceptr to[] = {a, a + 8};
	CUdeviceptr from[] = {a + 8, a};
	size_t sizes[] = {4, 16};
	size_t starts[] = {0, 1};
	size_t failed = 0;
	CUmemcpyAttributes attributes[2] = {in_order, in_order};
	FAILS(INVALID_VALUE, cuMemcpyBatchAsync(to, from, sizes, 2, attributes, starts, 1, &failed,
		stream));
	ck_assert_uint_eq(failed, 1);
	FAILS(INVALID_VALUE, cuMemcpyBatchAsync(to, from, sizes, 1, attributes, starts, 2, &failed,
		stream));
	ck_assert_uint_eq(failed, SIZE_MAX);
	FAILS(INVALID_VALUE, cuMemcpyBatchAsync(to, from, sizes, 1, attributes, starts, 1, NULL,
		NULL));
	FAILS(INVALID_VALUE, cuMemcpyBatchAsync(to, NULL, sizes, 1, attributes, starts, 1, NULL,
		stream));
	FAILS(INVALID_VALUE, cuMemcpyBatchAsync(to, from, sizes, 1, attributes, starts, 0, NULL,
		stream));
	FAILS(INVALID_VALUE, cuMemcpyBatchAsync(to, from, sizes, 0, attributes, starts, 0, NULL,
		stream));
	starts[0] = 1;
	FAILS(INVALID_VALUE, cuMemcpyBatchAsync(to, from, sizes, 2, attributes, starts, 1, NULL,
		stream));
	starts[0] = 0;
	attributes[0].srcAccessOrder = 0;
	FAILS(INVALID_VALUE, cuMemcpyBatchAsync(to, from, sizes, 1, attributes, starts, 1, NULL,
		stream));
}
END_TEST

/* An array of 4 x 3 words from rows of 5, and its inner 2 x 2 back to rows of 2. */
START_TEST(batch_copies_boxes_of_elements)
{
	const CUDA_ARRAY3D_DESCRIPTOR shape = {4, 3, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0};
	uint32_t host[15];
	uint32_t back[4] = {0};
	CUarray array;
	CUDA_MEMCPY3D_BATCH_OP ops[2];
	CUstream stream = new_stream(0);
	for (uint32_t i = 0; i < 15; i++) {
		host[i] = i;
	}
	memset(ops, 0, sizeof(ops));
	OK(cuArray3DCreate_v2(&array, &shape));
	ops[0].src.type = ops[1].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
	ops[0].dst.type = ops[1].src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
	ops[0].src.op.ptr.ptr = (uintptr_t)host;
	ops[0].src.op.ptr.rowLength = 5;
	ops[0].dst.op.array.array = ops[1].src.op.array.array = array;
	ops[0].extent = (CUextent3D){4, 3, 1};
	ops[1].src.op.array.offset = (CUoffset3D){1, 1, 0};
	ops[1].dst.op.ptr.ptr = (uintptr_t)back;
	ops[1].extent = (CUextent3D){2, 2, 1};
	ops[0].srcAccessOrder = ops[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
	OK(cuMemcpy3DBatchAsync_v2(2, ops, 0, stream));
	OK(cuStreamSynchronize(stream));
	ck_assert_uint_eq(back[0], 6);
	ck_assert_uint_eq(back[1], 7);
	ck_assert_uint_eq(back[2], 11);
	ck_assert_uint_eq(back[3], 12);
	OK(cuArrayDestroy(array));
}
END_TEST

/* What is wrong with a box, and where. */
START_TEST(bad_boxes_are_refused)
{
	CUdeviceptr a = alloc(64);
	CUstream stream = new_stream(0);
	size_t failed = 0;
	CUDA_MEMCPY3D_BATCH_OP good;
	memset(&good, 0, sizeof(good));
	good.src.type = good.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
	good.src.op.ptr.ptr = a;
	good.dst.op.ptr.ptr = a + 32;
	good.extent = (CUextent3D){4, 2, 2};
	good.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
	CUDA_MEMCPY3D_BATCH_OP ops[7] = {good, good, good, good, good, good, good};
	ops[1].extent.depth = 0;
	ops[2].src.op.ptr.rowLength = 3;
	ops[3].dst.op.ptr.layerHeight = 1;
	ops[4].src.type = 3;
	ops[5].dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
	ops[6].extent.width = SIZE_MAX;
	for (size_t i = 1; i < countof(ops); i++) {
		CUDA_MEMCPY3D_BATCH_OP pair[2] = {ops[0], ops[i]};
		FAILS(INVALID_VALUE, cuMemcpy3DBatchAsync(2, pair, &failed, 0, stream));
		ck_assert_uint_eq(failed, 1);
	}
	OK(cuMemcpy3DBatchAsync(1, ops, &failed, 0, stream));
	FAILS(INVALID_VALUE, cuMemcpy3DBatchAsync(0, ops, &failed, 0, stream));
	FAILS(INVALID_VALUE, cuMemcpy3DBatchAsync(1, ops, &failed, 1, stream));
	FAILS(INVALID_VALUE, cuMemcpy3DBatchAsync(1, ops, &failed, 0, NULL));
}
END_TEST

START_TEST(batch_prefetches_managed_memory)
{
	CUdeviceptr list[2] = {0, alloc(16)};
	size_t sizes[] = {16, 16};
	size_t starts[] = {0};
	CUmemLocation place = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
	CUstream stream = new_stream(0);
	int where = -9;
	OK(cuMemAllocManaged(&list[0], 16, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemPrefetchBatchAsync(list, sizes, 1, &place, starts, 1, 0, stream));
	OK(cuMemRangeGetAttribute(&where, sizeof(where),
		CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, list[0], 16));
	ck_assert_int_eq(where, 0);
	OK(cuMemDiscardBatchAsync(list, sizes, 1, 0, stream));
	FAILS(INVALID_VALUE, cuMemDiscardBatchAsync(list, sizes, 2, 0, stream));
	FAILS(INVALID_VALUE, cuMemDiscardBatchAsync(list, sizes, 1, 1, stream));
	FAILS(INVALID_VALUE, cuMemDiscardBatchAsync(list, sizes, 1, 0, NULL));
	FAILS(INVALID_VALUE, cuMemPrefetchBatchAsync(list, sizes, 2, &place, starts, 1, 0, stream));
	FAILS(INVALID_VALUE, cuMemPrefetchBatchAsync(list, sizes, 1, NULL, starts, 1, 0, stream));
	place.id = 1;
	FAILS(INVALID_VALUE, cuMemPrefetchBatchAsync(list, sizes, 1, &place, starts, 1, 0, stream));
}
END_TEST

SUITE(api_batch)
{
	Suite *suite = suite_create("api_batch");
	TCase *tc = add_case(suite, "batch", setup, teardown);
	tcase_add_tests(tc, 1, batch_copies_each_range, bad_batches_tell_which_copy_fails,
		batch_copies_boxes_of_elements, bad_boxes_are_refused,
		batch_prefetches_managed_memory);
	return suite;
}
