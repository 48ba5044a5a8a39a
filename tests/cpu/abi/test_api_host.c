/* SPDX-License-Identifier: MIT */
/* Registered host memory, and attributes of addresses. */
#include "cpu/support/api.h"
#include "support/suite.h"

#include <stdlib.h>
#include <sys/mman.h>

CUresult cuMemHostRegister_v2(void *memory, size_t size, unsigned flags);
CUresult cuMemHostUnregister(void *memory);
CUresult cuMemHostGetFlags(unsigned *out, void *memory);
CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
	CUdeviceptr address);

#define GET(out, name, address) \
	cuPointerGetAttribute(out, CU_POINTER_ATTRIBUTE_##name, (CUdeviceptr)(uintptr_t)(address))

static uint32_t numbers[1024];

START_TEST(kernels_use_registered_memory)
{
	CUdeviceptr at;
	unsigned flags = 99;
	OK(cuMemHostRegister_v2(numbers, sizeof(numbers), CU_MEMHOSTREGISTER_DEVICEMAP));
	OK(cuMemHostGetDevicePointer_v2(&at, &numbers[1], 0));
	ck_assert_ptr_eq((void *)(uintptr_t)at, &numbers[1]);
	OK(launch_add(kernel(load(), "add"), at, 1000, NULL));
	OK(cuCtxSynchronize());
	ck_assert_uint_eq(numbers[0], 0);
	ck_assert_uint_eq(numbers[1000], 7);
	ck_assert_uint_eq(numbers[1001], 0);
	OK(cuMemHostGetFlags(&flags, &numbers[5]));
	ck_assert_uint_eq(flags, CU_MEMHOSTREGISTER_DEVICEMAP);
	OK(cuMemHostUnregister(numbers));
	FAILS(INVALID_VALUE, cuMemHostGetDevicePointer_v2(&at, numbers, 0));
	FAILS(INVALID_VALUE, cuMemHostGetFlags(&flags, numbers));
}
END_TEST

START_TEST(registered_memory_has_attributes)
{
	unsigned type = 0;
	CUdeviceptr start = 0;
	size_t size = 0;
	void *host = NULL;
	CUcontext owner = NULL;
	FAILS(INVALID_VALUE, GET(&type, MEMORY_TYPE, numbers));
	OK(cuMemHostRegister_v2(numbers, sizeof(numbers), 0));
	OK(GET(&type, MEMORY_TYPE, &numbers[7]));
	ck_assert_uint_eq(type, CU_MEMORYTYPE_HOST);
	OK(GET(&start, RANGE_START_ADDR, &numbers[7]));
	ck_assert_ptr_eq((void *)(uintptr_t)start, numbers);
	OK(GET(&size, RANGE_SIZE, &numbers[7]));
	ck_assert_uint_eq(size, sizeof(numbers));
	OK(GET(&host, HOST_POINTER, &numbers[7]));
	ck_assert_ptr_eq(host, &numbers[7]);
	OK(GET(&owner, CONTEXT, numbers));
	ck_assert_ptr_eq(owner, context);
	FAILS(INVALID_VALUE, GET(&type, MEMORY_TYPE, &numbers[1024]));
	reset();
	FAILS(INVALID_VALUE, GET(&type, MEMORY_TYPE, numbers));
	OK(cuMemHostRegister_v2(numbers, sizeof(numbers), 0));
}
END_TEST

START_TEST(memory_is_registered_once)
{
	void *pinned;
	void *hole = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned flags;
	ck_assert_int_eq(munmap((char *)hole + 4096, 4096), 0);
	OK(cuMemHostRegister_v2(&numbers[10], 400, 0));
	FAILS(HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(numbers, 41, 0));
	FAILS(HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(&numbers[109], 4, 0));
	OK(cuMemHostRegister_v2(&numbers[110], 4, 0));
	OK(cuMemHostRegister_v2(numbers, 40, 0));
	FAILS(INVALID_VALUE, cuMemHostUnregister(&numbers[11]));
	FAILS(HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(&numbers[500]));
	FAILS(INVALID_VALUE, cuMemHostUnregister(NULL));
	FAILS(INVALID_VALUE, cuMemHostRegister_v2(NULL, 4, 0));
	FAILS(INVALID_VALUE, cuMemHostRegister_v2(&numbers[500], 0, 0));
	FAILS(INVALID_VALUE, cuMemHostRegister_v2(&numbers[500], SIZE_MAX, 0));
	FAILS(INVALID_VALUE, cuMemHostRegister_v2(&numbers[500], 4, 0x10));
	FAILS(INVALID_VALUE, cuMemHostRegister_v2(hole, 4097, 0));
	FAILS(NOT_SUPPORTED, cuMemHostRegister_v2(&numbers[500], 4, CU_MEMHOSTREGISTER_IOMEMORY));
	OK(cuMemHostAlloc(&pinned, 100, CU_MEMHOSTALLOC_PORTABLE));
	FAILS(HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(pinned, 4, 0));
	OK(cuMemHostGetFlags(&flags, pinned));
	ck_assert_uint_eq(flags, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	FAILS(INVALID_VALUE, cuMemHostGetFlags(NULL, pinned));
	FAILS(INVALID_VALUE, cuMemHostGetFlags(&flags, (void *)(uintptr_t)alloc(4)));
}
END_TEST

START_TEST(attributes_are_as_wide_as_they_should_be)
{
	static const struct {
		CUpointer_attribute attribute;
		size_t size;
	} rows[] = {
		{CU_POINTER_ATTRIBUTE_CONTEXT, 8}, {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 4},
		{CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 8}, {CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 4},
		{CU_POINTER_ATTRIBUTE_BUFFER_ID, 8}, {CU_POINTER_ATTRIBUTE_IS_MANAGED, 4},
		{CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 4}, {CU_POINTER_ATTRIBUTE_RANGE_SIZE, 8},
		{CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 8}, {CU_POINTER_ATTRIBUTE_MAPPED, 4},
		{CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, 8}, {CU_POINTER_ATTRIBUTE_MAPPING_SIZE, 8},
		{CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, 8},
		{CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, 8},
		{CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, 4},
	};
	CUdeviceptr at = alloc(100);
	for (size_t i = 0; i < countof(rows); i++) {
		unsigned char ones[16];
		unsigned char zeros[16] = {0};
		CUpointer_attribute attribute = rows[i].attribute;
		void *out[] = {ones};
		memset(ones, 0xa5, sizeof(ones));
		OK(cuPointerGetAttribute(ones, attribute, at));
		OK(cuPointerGetAttribute(zeros, attribute, at));
		ck_assert_mem_eq(ones, zeros, rows[i].size);
		ck_assert_uint_eq(ones[rows[i].size], 0xa5);
		OK(cuPointerGetAttributes(1, &attribute, out, (uintptr_t)numbers));
		ck_assert_uint_eq(ones[rows[i].size - 1],
			attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? 0xff : 0);
		ck_assert_uint_eq(ones[rows[i].size], 0xa5);
	}
}
END_TEST

START_TEST(memory_that_is_not_of_a_device_has_an_invalid_one)
{
	int device = 7;
	CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
	void *out[] = {&device};
	OK(cuPointerGetAttributes(1, &attribute, out, (uintptr_t)numbers));
	ck_assert_int_eq(device, CU_DEVICE_INVALID);
	OK(cuPointerGetAttributes(1, &attribute, out, alloc(4)));
	ck_assert_int_eq(device, 0);
}
END_TEST

START_TEST(one_attribute_can_be_set)
{
	CUdeviceptr at = alloc(100);
	unsigned on = 1;
	unsigned value = 7;
	OK(GET(&value, SYNC_MEMOPS, at));
	ck_assert_uint_eq(value, 0);
	OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at + 5));
	OK(GET(&value, SYNC_MEMOPS, at));
	ck_assert_uint_eq(value, 1);
	FAILS(INVALID_VALUE, cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_MAPPED, at));
	FAILS(INVALID_VALUE, cuPointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
	FAILS(INVALID_VALUE, cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
		(uintptr_t)numbers));
}
END_TEST

SUITE(api_host)
{
	Suite *suite = suite_create("api_host");
	TCase *tc = add_case(suite, "addresses", setup, teardown);
	tcase_add_tests(tc, 1, kernels_use_registered_memory, registered_memory_has_attributes,
		memory_is_registered_once, attributes_are_as_wide_as_they_should_be,
		memory_that_is_not_of_a_device_has_an_invalid_one, one_attribute_can_be_set);
	return suite;
}
