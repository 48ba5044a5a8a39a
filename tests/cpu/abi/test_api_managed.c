/* SPDX-License-Identifier: MIT */
/* Advice about managed memory is checked, kept, and returned to queries. */
#include "cpu/support/api.h"
#include "support/suite.h"

CUresult cuMemAdvise(CUdeviceptr address, size_t size, CUmem_advise kind, CUdevice device);
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t size, CUmem_advise kind,
	CUmemLocation location);
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t size, CUdevice device, CUstream stream);
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t size, CUmemLocation location,
	unsigned flags, CUstream stream);
CUresult cuMemRangeGetAttribute(void *out, size_t out_size, CUmem_range_attribute attribute,
	CUdeviceptr address, size_t size);
CUresult cuMemRangeGetAttributes(void **out, size_t *out_sizes, CUmem_range_attribute *attributes,
	size_t count, CUdeviceptr address, size_t size);

#define ADVISE(what, place) cuMemAdvise(at, 4096, CU_MEM_ADVISE_##what, place)

static CUdeviceptr at;

static void setup_managed(void)
{
	setup();
	OK(cuMemAllocManaged(&at, 4096, CU_MEM_ATTACH_GLOBAL));
}

static int get(CUmem_range_attribute attribute)
{
	int value = 99;
	OK(cuMemRangeGetAttribute(&value, sizeof(value), attribute, at, 4096));
	return value;
}

START_TEST(advice_is_kept)
{
	int list[3];
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_INVALID);
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), CU_DEVICE_INVALID);
	OK(ADVISE(SET_READ_MOSTLY, 77));
	OK(ADVISE(SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
	OK(ADVISE(SET_ACCESSED_BY, 0));
	OK(ADVISE(SET_ACCESSED_BY, CU_DEVICE_CPU));
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 1);
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_CPU);
	OK(cuMemRangeGetAttribute(list, sizeof(list), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, at, 1));
	ck_assert_int_eq(list[0], 0);
	ck_assert_int_eq(list[1], CU_DEVICE_CPU);
	ck_assert_int_eq(list[2], CU_DEVICE_INVALID);
	OK(ADVISE(UNSET_READ_MOSTLY, 0));
	OK(ADVISE(UNSET_PREFERRED_LOCATION, 0));
	OK(ADVISE(UNSET_ACCESSED_BY, 0));
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_INVALID);
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY), CU_DEVICE_CPU);
}
END_TEST

START_TEST(places_have_a_type_and_a_number)
{
	CUmemLocation node = {.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 1 << 20};
	CUmemLocation current = {.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT};
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE),
		CU_MEM_LOCATION_TYPE_INVALID);
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE),
		CU_MEM_LOCATION_TYPE_INVALID);
	FAILS(INVALID_VALUE, cuMemAdvise_v2(at, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, node));
	node.id = -1;
	FAILS(INVALID_VALUE, cuMemAdvise_v2(at, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, node));
	node.id = 0;
	OK(cuMemAdvise_v2(at, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, node));
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE),
		CU_MEM_LOCATION_TYPE_HOST_NUMA);
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID), 0);
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_CPU);
	OK(cuMemPrefetchAsync_v2(at, 1, current, 0, NULL));
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE),
		CU_MEM_LOCATION_TYPE_HOST_NUMA);
	ck_assert_int_ge(get(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID), 0);
	OK(ADVISE(UNSET_PREFERRED_LOCATION, 0));
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE),
		CU_MEM_LOCATION_TYPE_INVALID);
}
END_TEST

START_TEST(prefetching_goes_where_it_is_told)
{
	CUmemLocation device = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
	CUmemLocation host = {.type = CU_MEM_LOCATION_TYPE_HOST};
	CUmem_range_attribute attributes[] = {CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
		CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY};
	int values[2] = {99, 99};
	void *out[] = {&values[0], &values[1]};
	size_t sizes[] = {4, 4};
	OK(cuMemPrefetchAsync(at, 4096, 0, NULL));
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), 0);
	OK(cuMemPrefetchAsync_v2(at, 1, host, 0, NULL));
	OK(cuMemRangeGetAttributes(out, sizes, attributes, 2, at, 4096));
	ck_assert_int_eq(values[0], CU_DEVICE_CPU);
	ck_assert_int_eq(values[1], 0);
	OK(cuMemPrefetchAsync_v2(at, 1, device, 0, NULL));
	OK(cuMemAdvise_v2(at, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), 0);
	ck_assert_int_eq(get(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE),
		CU_MEM_LOCATION_TYPE_DEVICE);
	FAILS(INVALID_VALUE, cuMemPrefetchAsync_v2(at, 1, device, 1, NULL));
	device.id = 1;
	FAILS(INVALID_DEVICE, cuMemPrefetchAsync_v2(at, 1, device, 0, NULL));
	device.type = (CUmemLocationType)99;
	FAILS(INVALID_VALUE, cuMemPrefetchAsync_v2(at, 1, device, 0, NULL));
}
END_TEST

/* "The start address and end address [...] will be rounded down and rounded up respectively to be
 * aligned to CPU page size", and attributes are those that all pages of a range have. */
START_TEST(advice_is_kept_for_each_page)
{
	const size_t size = 8 * 4096;
	CUdeviceptr a;
	int list[2];
	OK(cuMemAllocManaged(&a, size, CU_MEM_ATTACH_GLOBAL));
	a = (a + 4095) / 4096 * 4096;
#define READ_MOSTLY(from, count) ({ \
	int value = 99; \
	OK(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, a + (from), \
		count)); \
	value; })
	OK(cuMemAdvise(a + 4096 + 10, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	ck_assert_int_eq(READ_MOSTLY(4096, 8192), 1);
	ck_assert_int_eq(READ_MOSTLY(4095, 8192), 0);
	ck_assert_int_eq(READ_MOSTLY(4096, 8193), 0);
	ck_assert_int_eq(READ_MOSTLY(0, 4096), 0);
	OK(cuMemAdvise(a + 8192, 1, CU_MEM_ADVISE_UNSET_READ_MOSTLY, 0));
	ck_assert_int_eq(READ_MOSTLY(4096, 4096), 1);
	ck_assert_int_eq(READ_MOSTLY(4096, 4097), 0);
	OK(cuMemAdvise(a, 16384, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	ck_assert_int_eq(READ_MOSTLY(0, 16384), 1);
#undef READ_MOSTLY
	OK(cuMemAdvise(a, 8192, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
	OK(cuMemAdvise(a + 4096, 8192, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU));
	OK(cuMemRangeGetAttribute(list, 8, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, a + 4096, 8192));
	ck_assert_int_eq(list[0], CU_DEVICE_CPU);
	ck_assert_int_eq(list[1], CU_DEVICE_INVALID);
	OK(cuMemPrefetchAsync(a, 4096, 0, NULL));
	OK(cuMemPrefetchAsync(a + 4096, 4096, CU_DEVICE_CPU, NULL));
	OK(cuMemRangeGetAttribute(list, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, a, 4096));
	ck_assert_int_eq(list[0], 0);
	OK(cuMemRangeGetAttribute(list, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, a, 8192));
	ck_assert_int_eq(list[0], CU_DEVICE_INVALID);
}
END_TEST

/* cuMemAdvise and others take what is "declared via __managed__ variables". */
START_TEST(managed_variables_are_managed_memory)
{
	static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .global .align 4 .u32 plain = 5;\n"
		".visible .global .attribute(.managed) .align 4 .u32 both[2] = {7, 8};\n"
		".visible .global .align 8 .u64 where = both;\n";
	CUmodule module;
	CUdeviceptr a;
	CUdeviceptr found = 0;
	int is_managed = 0;
	int value = 0;
	size_t size;
	void *host;
	OK(cuModuleLoadData(&module, text));
	OK(cuModuleGetGlobal_v2(&a, &size, module, "plain"));
	OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, a));
	ck_assert_int_eq(is_managed, 0);
	OK(cuModuleGetGlobal_v2(&a, &size, module, "where"));
	OK(cuMemcpyDtoH_v2(&found, a, 8));
	OK(cuModuleGetGlobal_v2(&a, &size, module, "both"));
	ck_assert_uint_eq(found, a);
	ck_assert_uint_eq(size, 8);
	OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, a));
	ck_assert_int_eq(is_managed, 1);
	OK(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, a));
	ck_assert_uint_eq(((const uint32_t *)host)[1], 8);
	OK(cuMemAdvise(a, 8, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	OK(cuMemPrefetchAsync(a, 8, 0, NULL));
	OK(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, a, 8));
	ck_assert_int_eq(value, 1);
	FAILS(INVALID_VALUE, cuMemFree_v2(a));
	FAILS(INVALID_VALUE, cuMemFreeAsync(a, NULL));
	OK(cuModuleUnload(module));
	FAILS(INVALID_VALUE, cuMemAdvise(a, 8, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
}
END_TEST

START_TEST(advice_that_makes_no_sense_is_refused)
{
	int value;
	CUdeviceptr plain = alloc(4096);
	FAILS(INVALID_VALUE, cuMemAdvise(plain, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	FAILS(INVALID_VALUE, cuMemAdvise(at, 4097, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	FAILS(INVALID_VALUE, cuMemAdvise(at, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	FAILS(INVALID_VALUE, cuMemAdvise(at, 4096, (CUmem_advise)99, 0));
	FAILS(INVALID_DEVICE, ADVISE(SET_PREFERRED_LOCATION, 1));
	FAILS(INVALID_DEVICE, ADVISE(SET_ACCESSED_BY, 1));
	FAILS(INVALID_DEVICE, cuMemPrefetchAsync(at, 4096, 1, NULL));
	FAILS(INVALID_VALUE, cuMemPrefetchAsync(plain, 4096, 0, NULL));
	FAILS(INVALID_HANDLE, cuMemPrefetchAsync(at, 4096, 0, (CUstream)(void *)load()));
	FAILS(INVALID_VALUE, cuMemRangeGetAttribute(&value, 8,
		CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, at, 1));
	FAILS(INVALID_VALUE, cuMemRangeGetAttribute(NULL, 4,
		CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, at, 1));
	FAILS(INVALID_VALUE, cuMemRangeGetAttribute(&value, 4, (CUmem_range_attribute)99, at, 1));
	FAILS(INVALID_VALUE, cuMemRangeGetAttributes(NULL, NULL, NULL, 0, at, 1));
}
END_TEST

SUITE(api_managed)
{
	Suite *suite = suite_create("api_managed");
	TCase *tc = add_case(suite, "managed", setup_managed, teardown);
	tcase_add_tests(tc, 1, advice_is_kept, places_have_a_type_and_a_number,
		prefetching_goes_where_it_is_told, advice_is_kept_for_each_page,
		managed_variables_are_managed_memory, advice_that_makes_no_sense_is_refused);
	return suite;
}
