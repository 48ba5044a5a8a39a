/* SPDX-License-Identifier: MIT */
/* Memory pools and stream-ordered allocation. */
#include "cpu/support/api_wait.h"
#include "support/suite.h"

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice device);
CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice device);
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size, CUmemoryPool pool, CUstream stream);
CUresult cuMemGetDefaultMemPool(CUmemoryPool *out, CUmemLocation *location,
	CUmemAllocationType type);
CUresult cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type);
CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemPoolGetAccess(CUmemAccess_flags *out, CUmemoryPool pool, CUmemLocation *location);
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count);
CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool);

static const CUmemPoolProps device_props = {
	.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
	.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}
};

static CUmemoryPool new_pool(size_t limit)
{
	CUmemPoolProps props = device_props;
	CUmemoryPool pool = NULL;
	props.maxSize = limit;
	OK(cuMemPoolCreate(&pool, &props));
	return pool;
}

static uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which)
{
	cuuint64_t value = 0;
	OK(cuMemPoolGetAttribute(pool, which, &value));
	return value;
}

START_TEST(each_pool_has_an_account)
{
	CUmemoryPool mine = new_pool(0);
	CUmemoryPool standard;
	CUmemoryPool of;
	CUdeviceptr a;
	CUdeviceptr b;
	cuuint64_t zero = 0;
	OK(cuDeviceGetDefaultMemPool(&standard, 0));
	OK(cuMemAllocFromPoolAsync(&a, 5000, mine, NULL));
	OK(cuMemAllocAsync(&b, 10, NULL));
	ck_assert_uint_ge(attribute(mine, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 5000);
	ck_assert_uint_lt(attribute(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 5000);
	OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
	ck_assert_ptr_eq(of, mine);
	OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, b));
	ck_assert_ptr_eq(of, standard);
	OK(cuMemFreeAsync(a, NULL));
	OK(cuStreamSynchronize(NULL));
	ck_assert_uint_eq(attribute(mine, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	ck_assert_uint_ge(attribute(mine, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 5000);
	OK(cuMemPoolSetAttribute(mine, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
	ck_assert_uint_eq(attribute(mine, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 0);
	OK(cuMemFree_v2(b));
	OK(cuMemPoolDestroy(mine));
}
END_TEST

START_TEST(pool_keeps_its_limit)
{
	CUmemoryPool pool = new_pool(8192);
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr a;
	CUdeviceptr b;
	OK(cuMemAllocFromPoolAsync(&a, 8192, pool, stream));
	FAILS(OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&b, 1, pool, stream));
	OK(cuMemFreeAsync(a, stream));
	OK(cuMemAllocFromPoolAsync(&b, 1, pool, stream));
	OK(cuMemFreeAsync(b, stream));
	OK(cuMemPoolDestroy(pool));
}
END_TEST

START_TEST(current_pool_is_where_allocations_come_from)
{
	CUmemLocation here = device_props.location;
	CUmemoryPool mine = new_pool(0);
	CUmemoryPool standard;
	CUmemoryPool got;
	CUdeviceptr a;
	OK(cuDeviceGetDefaultMemPool(&standard, 0));
	OK(cuDeviceGetMemPool(&got, 0));
	ck_assert_ptr_eq(got, standard);
	OK(cuDeviceSetMemPool(0, mine));
	OK(cuMemGetMemPool(&got, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
	ck_assert_ptr_eq(got, mine);
	OK(cuMemGetDefaultMemPool(&got, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
	ck_assert_ptr_eq(got, standard);
	OK(cuMemAllocAsync(&a, 1, NULL));
	ck_assert_uint_gt(attribute(mine, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	OK(cuMemPoolDestroy(mine));
	OK(cuDeviceGetMemPool(&got, 0));
	ck_assert_ptr_eq(got, standard);
	OK(cuMemsetD8Async(a, 1, 1, NULL));
	OK(cuMemFreeAsync(a, NULL));
	OK(cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, standard));
	FAILS(INVALID_VALUE, cuDeviceSetMemPool(0, mine));
	FAILS(INVALID_VALUE, cuMemAllocFromPoolAsync(&a, 1, mine, NULL));
}
END_TEST

START_TEST(memory_is_freed_once_in_its_stream)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr a;
	CUdeviceptr b = alloc(4);
	OK(cuMemAllocAsync(&a, 4, stream));
	launch_meet(stream, 0, 1);
	OK(cuMemFreeAsync(a, stream));
	FAILS(INVALID_VALUE, cuMemFreeAsync(a, stream));
	FAILS(INVALID_VALUE, cuMemFreeAsync(a + 1, stream));
	// Programming guide, "Stream Ordered Memory Allocator": it frees memory of cuMemAlloc, too.
	OK(cuMemFreeAsync(b, stream));
	FAILS(INVALID_VALUE, cuMemFreeAsync(b, stream));
	OK(cuMemFreeAsync(0, stream));
	atomic_store(&words[1], 1);
	OK(cuStreamSynchronize(stream));
	FAILS(INVALID_VALUE, cuMemFreeAsync(a, stream));
	FAILS(INVALID_VALUE, cuMemFree_v2(b));
	OK(cuMemAllocAsync(&a, 0, stream));
	ck_assert_uint_eq(a, 0);
	OK(cuMemFreeAsync(a, stream));
}
END_TEST

/* cuCtxDestroy: "will not destroy memory allocations by [...] cuMemAllocAsync()". */
START_TEST(memory_of_a_pool_is_of_no_context)
{
	CUmemoryPool standard;
	CUcontext owner = context;
	CUdeviceptr a;
	uint32_t value;
	OK(cuDeviceGetDefaultMemPool(&standard, 0));
	CUcontext other = new_context();
	OK(cuMemAllocAsync(&a, 4, NULL));
	OK(cuMemsetD32_v2(a, 7, 1));
	OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, a));
	ck_assert_ptr_null(owner);
	OK(cuCtxDestroy_v2(other));
	OK(cuMemcpyDtoH_v2(&value, a, 4));
	ck_assert_uint_eq(value, 7);
	ck_assert_uint_ge(attribute(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 4);
	OK(cuMemFreeAsync(a, NULL));
	OK(cuStreamSynchronize(NULL));
	ck_assert_uint_eq(attribute(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	OK(cuMemAllocAsync(&a, 4, NULL));
	reset(); // without any context there is no device
	ck_assert_uint_eq(attribute(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
}
END_TEST

/* A call that fails has done nothing. */
START_TEST(memory_stays_if_its_stream_is_none)
{
	CUstream gone = new_stream(0);
	CUstream foreign;
	CUdeviceptr a;
	OK(cuStreamDestroy_v2(gone));
	CUcontext other = new_context();
	foreign = new_stream(0);
	OK(cuCtxSetCurrent(context));
	OK(cuMemAllocAsync(&a, 4, NULL));
	FAILS(INVALID_HANDLE, cuMemFreeAsync(a, gone));
	FAILS(INVALID_HANDLE, cuMemFreeAsync(a, foreign));
	OK(cuMemFreeAsync(a, NULL));
	OK(cuCtxDestroy_v2(other));
}
END_TEST

START_TEST(pools_have_attributes_and_access)
{
	CUmemoryPool pool = new_pool(0);
	CUmemLocation here = device_props.location;
	CUmemLocation there = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
	CUmemAccessDesc desc = {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	cuuint64_t threshold = 12345;
	int reuse = 0;
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	ck_assert_uint_eq(attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 12345);
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuse));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuse));
	ck_assert_int_eq(reuse, 0);
	FAILS(INVALID_VALUE, cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH,
		&threshold));
	FAILS(INVALID_VALUE, cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
		&threshold));
	OK(cuMemPoolGetAccess(&flags, pool, &here));
	ck_assert_int_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	FAILS(INVALID_VALUE, cuMemPoolGetAccess(&flags, pool, &there));
	OK(cuMemPoolSetAccess(pool, &desc, 1));
	desc.location = there;
	FAILS(INVALID_VALUE, cuMemPoolSetAccess(pool, &desc, 1));
	OK(cuMemPoolTrimTo(pool, 0));
	OK(cuMemPoolDestroy(pool));
	FAILS(INVALID_VALUE, cuMemPoolDestroy(pool));
	FAILS(INVALID_VALUE, cuMemPoolTrimTo(pool, 0));
}
END_TEST

START_TEST(pools_that_cannot_be_are_refused)
{
	CUmemPoolProps props = device_props;
	CUmemoryPool pool;
	FAILS(INVALID_VALUE, cuMemPoolCreate(NULL, &props));
	FAILS(INVALID_VALUE, cuMemPoolCreate(&pool, NULL));
	props.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
	FAILS(INVALID_VALUE, cuMemPoolCreate(&pool, &props));
	props = device_props;
	props.location.id = 1;
	FAILS(INVALID_DEVICE, cuMemPoolCreate(&pool, &props));
	props.location.type = CU_MEM_LOCATION_TYPE_HOST;
	props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	FAILS(INVALID_VALUE, cuMemPoolCreate(&pool, &props));
	props.location.type = CU_MEM_LOCATION_TYPE_NONE;
	FAILS(INVALID_VALUE, cuMemPoolCreate(&pool, &props));
	props.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
	FAILS(INVALID_VALUE, cuMemPoolCreate(&pool, &props));
	props = device_props;
	props.handleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
	FAILS(NOT_SUPPORTED, cuMemPoolCreate(&pool, &props));
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	FAILS(INVALID_VALUE, cuMemPoolDestroy(pool));
}
END_TEST

/* Memory of a pool elsewhere: what kernels and the host do with it meets. */
START_TEST(pools_are_of_the_host_and_managed)
{
	static const struct {
		CUmemAllocationType type;
		CUmemLocation location;
		unsigned memory_type;
	} rows[] = {
		{CU_MEM_ALLOCATION_TYPE_PINNED, {CU_MEM_LOCATION_TYPE_HOST, 0}, CU_MEMORYTYPE_HOST},
		{CU_MEM_ALLOCATION_TYPE_PINNED, {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0},
			CU_MEMORYTYPE_HOST},
		{CU_MEM_ALLOCATION_TYPE_MANAGED, {CU_MEM_LOCATION_TYPE_NONE, 0},
			CU_MEMORYTYPE_DEVICE},
		{CU_MEM_ALLOCATION_TYPE_MANAGED, {CU_MEM_LOCATION_TYPE_DEVICE, 0},
			CU_MEMORYTYPE_DEVICE}
	};
	CUmemPoolProps props = {.allocType = rows[_i].type, .location = rows[_i].location};
	CUmemLocation location = rows[_i].location;
	CUmemoryPool standard;
	CUmemoryPool pool;
	CUmemoryPool of;
	CUdeviceptr a[2];
	unsigned type;
	int is_managed;
	OK(cuMemGetDefaultMemPool(&standard, &location, props.allocType));
	OK(cuMemPoolCreate(&pool, &props));
	FAILS(INVALID_VALUE, cuDeviceSetMemPool(0, pool));
	OK(cuMemSetMemPool(&location, props.allocType, pool));
	OK(cuMemGetMemPool(&of, &location, props.allocType));
	ck_assert_ptr_eq(of, pool);
	OK(cuMemAllocFromPoolAsync(&a[0], 64, pool, NULL));
	OK(cuMemAllocFromPoolAsync(&a[1], 64, standard, NULL));
	OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a[0]));
	ck_assert_ptr_eq(of, pool);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a[0]));
	ck_assert_uint_eq(type, rows[_i].memory_type);
	OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, a[0]));
	ck_assert_int_eq(is_managed, props.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED);
	OK(cuMemsetD32Async(a[0], 77, 16, NULL));
	OK(cuStreamSynchronize(NULL));
	ck_assert_uint_eq(((const uint32_t *)(uintptr_t)a[0])[15], 77);
	OK(cuMemFreeAsync(a[0], NULL));
	OK(cuMemFree_v2(a[1]));
	OK(cuStreamSynchronize(NULL));
	ck_assert_uint_eq(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	ck_assert_uint_eq(attribute(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	FAILS(INVALID_VALUE, cuMemPoolDestroy(standard));
	OK(cuMemPoolDestroy(pool));
	OK(cuMemGetMemPool(&of, &location, props.allocType));
	ck_assert_ptr_eq(of, standard);
}
END_TEST

/* A capture remembers where the memory was to be. */
START_TEST(captured_allocations_are_where_their_pool_is)
{
	CUmemLocation nowhere = {CU_MEM_LOCATION_TYPE_NONE, 0};
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUmemoryPool pool;
	CUdeviceptr a, none;
	CUgraph graph;
	int is_managed = 0;
	OK(cuMemGetDefaultMemPool(&pool, &nowhere, CU_MEM_ALLOCATION_TYPE_MANAGED));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuMemAllocFromPoolAsync(&a, 64, pool, stream));
	OK(cuMemAllocFromPoolAsync(&none, 0, pool, stream));
	ck_assert_uint_eq(none, 0);
	OK(cuMemFreeAsync(a, stream));
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, a));
	ck_assert_int_eq(is_managed, 1);
	OK(cuGraphDestroy(graph));
	FAILS(INVALID_VALUE, cuPointerGetAttribute(&is_managed,
		CU_POINTER_ATTRIBUTE_IS_MANAGED, a));
}
END_TEST

/* By default the host's memory is the host's. */
START_TEST(host_pools_have_access)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {CU_MEM_LOCATION_TYPE_HOST, 0}};
	CUmemAccessDesc desc = {device_props.location, CU_MEM_ACCESS_FLAGS_PROT_READ};
	CUmemAccess_flags flags;
	CUmemoryPool pool;
	OK(cuMemPoolCreate(&pool, &props));
	OK(cuMemPoolGetAccess(&flags, pool, &props.location));
	ck_assert_int_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	OK(cuMemPoolGetAccess(&flags, pool, &desc.location));
	ck_assert_int_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	OK(cuMemPoolSetAccess(pool, &desc, 1));
	OK(cuMemPoolGetAccess(&flags, pool, &desc.location));
	ck_assert_int_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
	desc.location = props.location;
	FAILS(INVALID_VALUE, cuMemPoolSetAccess(pool, &desc, 1));
	OK(cuMemPoolDestroy(pool));
}
END_TEST

/* A limit counts what was asked for, not pages. */
START_TEST(small_limit_has_room_for_small_things)
{
	CUmemoryPool pool = new_pool(2048);
	CUdeviceptr a[8];
	CUdeviceptr b;
	for (size_t i = 0; i < 8; i++) {
		OK(cuMemAllocFromPoolAsync(&a[i], 64, pool, NULL));
	}
	FAILS(OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&b, 1024, pool, NULL));
	for (size_t i = 0; i < 8; i++) {
		OK(cuMemFreeAsync(a[i], NULL));
	}
	OK(cuMemPoolDestroy(pool));
}
END_TEST

SUITE(api_pool)
{
	Suite *suite = suite_create("api_pool");
	TCase *tc = add_case(suite, "pools", wait_setup, teardown);
	tcase_add_tests(tc, 1, each_pool_has_an_account, pool_keeps_its_limit,
		current_pool_is_where_allocations_come_from, memory_is_freed_once_in_its_stream,
		memory_of_a_pool_is_of_no_context, memory_stays_if_its_stream_is_none,
		pools_have_attributes_and_access, pools_that_cannot_be_are_refused);
	tcase_add_loop_test(tc, pools_are_of_the_host_and_managed, 0, 4);
	tcase_add_tests(tc, 1, captured_allocations_are_where_their_pool_is, host_pools_have_access,
		small_limit_has_room_for_small_things);
	return suite;
}
