/* SPDX-License-Identifier: MIT */
/* Virtual memory management: blocks that are created, and mapped at reserved addresses. */
#include "base/checks.h"
#include "cpu/support/api.h"
#include "support/suite.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

typedef CUmemGenericAllocationHandle handle;

CUresult cuMemAddressFree(CUdeviceptr address, size_t size);
CUresult cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t align, CUdeviceptr hint,
	unsigned long long flags);
CUresult cuMemCreate(handle *out, size_t size, const CUmemAllocationProp *prop,
	unsigned long long flags);
CUresult cuMemRelease(handle block);
CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, handle block,
	unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr address, size_t size);
CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *list,
	size_t count);
CUresult cuMemGetAccess(unsigned long long *out, const CUmemLocation *location,
	CUdeviceptr address);
CUresult cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *prop,
	CUmemAllocationGranularity_flags option);
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out, handle block);
CUresult cuMemRetainAllocationHandle(handle *out, void *address);
CUresult cuMemExportToShareableHandle(void *out, handle block, CUmemAllocationHandleType type,
	unsigned long long flags);
CUresult cuMemImportFromShareableHandle(handle *out, void *os_handle,
	CUmemAllocationHandleType type);

#define UNIT ((size_t)2 << 20)

static const CUmemAllocationProp plain = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
static const CUmemAllocationProp exported = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};

static CUdeviceptr reserve(size_t units)
{
	CUdeviceptr address = 0;
	OK(cuMemAddressReserve(&address, units * UNIT, 0, 0, 0));
	ck_assert_uint_eq(address % UNIT, 0);
	return address;
}

static handle create(size_t units)
{
	handle block = 0;
	OK(cuMemCreate(&block, units * UNIT, &plain, 0));
	return block;
}

static CUresult grant(CUdeviceptr address, size_t units, CUmemAccess_flags flags)
{
	const CUmemAccessDesc desc = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, flags};
	return cuMemSetAccess(address, units * UNIT, &desc, 1);
}

/* Reserve, create, map and open; the block lives as long as it is mapped. */
static CUdeviceptr map_new(size_t units)
{
	CUdeviceptr address = reserve(units);
	handle block = create(units);
	OK(cuMemMap(address, units * UNIT, 0, block, 0));
	OK(cuMemRelease(block));
	OK(grant(address, units, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
	return address;
}

static void unmap(CUdeviceptr address, size_t units)
{
	OK(cuMemUnmap(address, units * UNIT));
	OK(cuMemAddressFree(address, units * UNIT));
}

static size_t free_bytes(void)
{
	size_t bytes;
	size_t total;
	OK(cuMemGetInfo_v2(&bytes, &total));
	return bytes;
}

START_TEST(kernel_works_on_mapped_memory)
{
	CUdeviceptr address = map_new(1);
	uint32_t host[256];
	OK(cuMemsetD32_v2(address, 5, 256));
	OK(launch_add(kernel(load(), "add"), address, 256, NULL));
	OK(cuMemcpyDtoH_v2(host, address, sizeof(host)));
	for (size_t i = 0; i < countof(host); i++) {
		ck_assert_uint_eq(host[i], 12);
	}
	unmap(address, 1);
}
END_TEST

START_TEST(block_is_seen_at_every_address_where_it_is_mapped)
{
	CUdeviceptr address = reserve(2);
	handle block = create(1);
	uint32_t value = 0;
	OK(cuMemMap(address, UNIT, 0, block, 0));
	OK(cuMemMap(address + UNIT, UNIT, 0, block, 0));
	OK(grant(address, 2, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
	OK(cuMemsetD32_v2(address + 64, 77, 1));
	OK(cuMemcpyDtoH_v2(&value, address + UNIT + 64, 4));
	ck_assert_uint_eq(value, 77);
	OK(cuMemRelease(block));
	unmap(address, 2);
}
END_TEST

START_TEST(copies_run_over_the_seams_of_mappings)
{
	CUdeviceptr address = reserve(3);
	uint8_t host[64];
	for (size_t i = 0; i < 2; i++) {
		handle block = create(1);
		OK(cuMemMap(address + i * UNIT, UNIT, 0, block, 0));
		OK(cuMemRelease(block));
	}
	OK(grant(address, 2, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
	OK(cuMemsetD8_v2(address + UNIT - 32, 9, 64));
	OK(cuMemcpyDtoH_v2(host, address + UNIT - 32, 64));
	ck_assert_uint_eq(host[0] + host[31] + host[32] + host[63], 36);
	OK(cuMemsetD8_v2(address, 1, 2 * UNIT));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(address, 1, 2 * UNIT + 1));
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(host, address + 2 * UNIT - 32, 64));
	check_log("nothing is mapped");
	OK(cuMemUnmap(address, 2 * UNIT));
	OK(cuMemAddressFree(address, 3 * UNIT));
}
END_TEST

START_TEST(memory_is_only_what_access_was_granted_to)
{
	CUdeviceptr address = reserve(1);
	const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
	handle block = create(1);
	unsigned long long flags = 9;
	uint32_t value = 0;
	FAILS(INVALID_VALUE, grant(address, 1, CU_MEM_ACCESS_FLAGS_PROT_READ));
	OK(cuMemMap(address, UNIT, 0, block, 0));
	OK(cuMemGetAccess(&flags, &device, address + 5));
	ck_assert_uint_eq(flags, 0);
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(&value, address, 4));
	check_log("no access was granted");
	OK(grant(address, 1, CU_MEM_ACCESS_FLAGS_PROT_READ));
	OK(cuMemcpyDtoH_v2(&value, address, 4));
	FAILS(INVALID_VALUE, cuMemcpyHtoD_v2(address, &value, 4));
	check_log("more is needed");
	OK(cuMemGetAccess(&flags, &device, address + 5));
	ck_assert_uint_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
	OK(cuMemRelease(block));
	unmap(address, 1);
	FAILS(INVALID_VALUE, cuMemGetAccess(&flags, &device, address));
}
END_TEST

/* Access that was granted, and the error of a kernel that writes there. */
static const struct fault_row {
	bool is_mapped;
	CUmemAccess_flags access;
	const char *text;
} fault_rows[] = {
	{false, 0, "nothing is mapped"},
	{true, CU_MEM_ACCESS_FLAGS_PROT_NONE, "no access was granted"},
	{true, CU_MEM_ACCESS_FLAGS_PROT_READ, "more is needed"},
};

START_TEST(kernel_that_writes_without_access_faults)
{
	const struct fault_row *row = &fault_rows[_i];
	CUdeviceptr address = reserve(1);
	if (row->is_mapped) {
		handle block = create(1);
		OK(cuMemMap(address, UNIT, 0, block, 0));
		OK(cuMemRelease(block));
		OK(grant(address, 1, row->access));
	}
	OK(launch_add(kernel(load(), "add"), address, 4, NULL));
	FAILS(ILLEGAL_ADDRESS, cuCtxSynchronize());
	check_log(row->text);
	if (row->is_mapped) {
		OK(cuMemUnmap(address, UNIT));
	}
	OK(cuMemAddressFree(address, UNIT));
}
END_TEST

START_TEST(block_lives_until_it_is_released_and_unmapped)
{
	CUdeviceptr address = reserve(1);
	size_t before = free_bytes();
	handle block = create(1);
	handle again = 0;
	ck_assert_uint_eq(free_bytes(), before - UNIT);
	OK(cuMemMap(address, UNIT, 0, block, 0));
	OK(cuMemRelease(block));
	FAILS(INVALID_VALUE, cuMemRelease(block));
	ck_assert_uint_eq(free_bytes(), before - UNIT);
	OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(address + 100)));
	ck_assert_uint_eq(again, block);
	OK(cuMemUnmap(address, UNIT));
	ck_assert_uint_eq(free_bytes(), before - UNIT);
	OK(cuMemMap(address, UNIT, 0, again, 0));
	OK(cuMemRelease(again));
	OK(cuMemUnmap(address, UNIT));
	ck_assert_uint_eq(free_bytes(), before);
	FAILS(INVALID_VALUE, cuMemMap(address, UNIT, 0, again, 0));
	FAILS(INVALID_VALUE, cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)address));
	OK(cuMemAddressFree(address, UNIT));
}
END_TEST

START_TEST(new_block_is_zero_and_an_old_one_gone)
{
	for (int i = 0; i < 3; i++) {
		uint32_t value = 1;
		CUdeviceptr address = map_new(1);
		OK(cuMemcpyDtoH_v2(&value, address + 4096, 4));
		ck_assert_uint_eq(value, 0);
		OK(cuMemsetD8_v2(address, 0xff, UNIT));
		unmap(address, 1);
		FAILS(INVALID_VALUE, cuMemsetD8_v2(address, 0, 1));
	}
}
END_TEST

START_TEST(addresses_are_where_they_were_asked_for)
{
	CUdeviceptr first = reserve(8);
	CUdeviceptr again = 0;
	OK(cuMemAddressFree(first, 8 * UNIT));
	OK(cuMemAddressReserve(&again, UNIT, 0, first + 2 * UNIT, 0));
	ck_assert_uint_eq(again, first + 2 * UNIT);
	OK(cuMemAddressReserve(&first, UNIT, 0, again, 0));
	ck_assert_uint_ne(again, first);
	OK(cuMemAddressFree(again, UNIT));
	OK(cuMemAddressFree(first, UNIT));
	OK(cuMemAddressReserve(&first, 4096, (size_t)1 << 30, 0, 0));
	ck_assert_uint_eq(first % ((size_t)1 << 30), 0);
	OK(cuMemAddressFree(first, 4096));
}
END_TEST

START_TEST(bad_reservations_are_refused)
{
	CUdeviceptr address = 0;
	FAILS(INVALID_VALUE, cuMemAddressReserve(NULL, UNIT, 0, 0, 0));
	FAILS(INVALID_VALUE, cuMemAddressReserve(&address, 0, 0, 0, 0));
	FAILS(INVALID_VALUE, cuMemAddressReserve(&address, UNIT + 1, 0, 0, 0));
	FAILS(INVALID_VALUE, cuMemAddressReserve(&address, UNIT, 3, 0, 0));
	FAILS(INVALID_VALUE, cuMemAddressReserve(&address, UNIT, 0, 1, 0));
	FAILS(INVALID_VALUE, cuMemAddressReserve(&address, UNIT, 0, 0, 1));
	FAILS(OUT_OF_MEMORY, cuMemAddressReserve(&address, SIZE_MAX & ~(UNIT - 1), 0, 0, 0));
	FAILS(INVALID_VALUE, cuMemAddressReserve(&address, UNIT, (size_t)1 << 63, 0, 0));
	ck_assert_uint_eq(address, 0);
	address = map_new(2);
	FAILS(INVALID_VALUE, cuMemAddressFree(address, 2 * UNIT));
	OK(cuMemUnmap(address, 2 * UNIT));
	FAILS(INVALID_VALUE, cuMemAddressFree(address, UNIT));
	FAILS(INVALID_VALUE, cuMemAddressFree(address + UNIT, UNIT));
	OK(cuMemAddressFree(address, 2 * UNIT));
	FAILS(INVALID_VALUE, cuMemAddressFree(address, 2 * UNIT));
}
END_TEST

START_TEST(bad_mappings_are_refused)
{
	CUdeviceptr address = reserve(4);
	CUdeviceptr other = alloc(UNIT);
	handle block = create(2);
	FAILS(NOT_SUPPORTED, cuMemMap(address, 3 * UNIT, 0, block, 0));
	FAILS(INVALID_VALUE, cuMemMap(address, 0, 0, block, 0));
	FAILS(INVALID_VALUE, cuMemMap(address, 4096, 0, block, 0));
	FAILS(INVALID_VALUE, cuMemMap(address + 4096, UNIT, 0, block, 0));
	FAILS(INVALID_VALUE, cuMemMap(address, UNIT, UNIT, block, 0));
	FAILS(INVALID_VALUE, cuMemMap(address, UNIT, 0, block, 1));
	FAILS(INVALID_VALUE, cuMemMap(address, UNIT, 0, block + 1, 0));
	FAILS(INVALID_VALUE, cuMemMap(other & ~(UNIT - 1), UNIT, 0, block, 0));
	FAILS(INVALID_VALUE, cuMemMap(address + 3 * UNIT, 2 * UNIT, 0, block, 0));
	OK(cuMemMap(address + UNIT, 2 * UNIT, 0, block, 0));
	FAILS(INVALID_VALUE, cuMemMap(address, 2 * UNIT, 0, block, 0));
	FAILS(INVALID_VALUE, cuMemMap(address + 2 * UNIT, UNIT, 0, block, 0));
	OK(cuMemMap(address, UNIT, 0, block, 0));
	OK(cuMemMap(address + 3 * UNIT, UNIT, 0, block, 0));
	FAILS(INVALID_VALUE, cuMemUnmap(address + UNIT, UNIT));
	FAILS(INVALID_VALUE, cuMemUnmap(address, 2 * UNIT));
	FAILS(INVALID_VALUE, cuMemUnmap(address, 5 * UNIT));
	FAILS(INVALID_VALUE, cuMemUnmap(other, UNIT));
	FAILS(INVALID_VALUE, grant(address, 2, CU_MEM_ACCESS_FLAGS_PROT_READ));
	FAILS(INVALID_VALUE, grant(address, 1, 2));
	FAILS(INVALID_VALUE, cuMemFree_v2(address));
	FAILS(INVALID_VALUE, cuMemSetAccess(address, UNIT, NULL, 1));
	OK(cuMemRelease(block));
	OK(cuMemUnmap(address + UNIT, 3 * UNIT));
	OK(cuMemUnmap(address, UNIT));
	OK(cuMemAddressFree(address, 4 * UNIT));
}
END_TEST

START_TEST(bad_blocks_are_refused)
{
	static const struct {
		CUmemAllocationProp prop;
		CUresult code;
	} rows[] = {
		{{.type = 0, .location = {1, 0}}, CUDA_ERROR_INVALID_VALUE},
		{{.type = 2, .location = {1, 0}}, CUDA_ERROR_NOT_SUPPORTED},
		{{.type = 1, .location = {0, 0}}, CUDA_ERROR_INVALID_VALUE},
		{{.type = 1, .location = {1, 1}}, CUDA_ERROR_INVALID_DEVICE},
		{{.type = 1, .location = {3, 1}}, CUDA_ERROR_INVALID_DEVICE},
		{{.type = 1, .location = {4, 0}}, CUDA_ERROR_INVALID_VALUE},
		{{.type = 1, .location = {2, 0}, .requestedHandleTypes = 1},
			CUDA_ERROR_INVALID_VALUE},
		{{.type = 1, .location = {1, 0}, .requestedHandleTypes = 8},
			CUDA_ERROR_NOT_SUPPORTED},
		{{.type = 1, .location = {1, 0}, .allocFlags.usage = 1},
			CUDA_ERROR_NOT_SUPPORTED},
		{{.type = 1, .location = {2, 7}}, CUDA_SUCCESS},
	};
	handle block = 0;
	size_t unit = 0;
	for (size_t i = 0; i < countof(rows); i++) {
		ck_assert_int_eq(cuMemCreate(&block, UNIT, &rows[i].prop, 0), rows[i].code);
		// The granularity is that of a place; type 0 is the one that is left out.
		ck_assert_int_eq(cuMemGetAllocationGranularity(&unit, &rows[i].prop, 0),
			i == 0 ? CUDA_SUCCESS : rows[i].code);
	}
	OK(cuMemRelease(block));
	FAILS(INVALID_VALUE, cuMemCreate(&block, UNIT / 2, &plain, 0));
	FAILS(INVALID_VALUE, cuMemCreate(&block, 0, &plain, 0));
	FAILS(INVALID_VALUE, cuMemCreate(&block, UNIT, &plain, 1));
	FAILS(INVALID_VALUE, cuMemCreate(NULL, UNIT, &plain, 0));
	FAILS(INVALID_VALUE, cuMemCreate(&block, UNIT, NULL, 0));
	FAILS(OUT_OF_MEMORY, cuMemCreate(&block, (size_t)1 << 50, &plain, 0));
	FAILS(INVALID_VALUE, cuMemGetAllocationGranularity(&unit, &plain, 2));
	ck_assert_uint_eq(unit, UNIT);
}
END_TEST

START_TEST(block_is_shared_by_a_file)
{
	CUmemAllocationProp prop;
	handle block = 0;
	handle import = 0;
	int file = -1;
	uint32_t value = 0;
	CUdeviceptr address = reserve(2);
	OK(cuMemCreate(&block, UNIT, &exported, 0));
	OK(cuMemExportToShareableHandle(&file, block, exported.requestedHandleTypes, 0));
	OK(cuMemImportFromShareableHandle(&import, (void *)(uintptr_t)file,
		exported.requestedHandleTypes));
	ck_assert_int_eq(close(file), 0);
	OK(cuMemGetAllocationPropertiesFromHandle(&prop, import));
	ck_assert_int_eq(prop.type, CU_MEM_ALLOCATION_TYPE_PINNED);
	OK(cuMemMap(address, UNIT, 0, block, 0));
	OK(cuMemMap(address + UNIT, UNIT, 0, import, 0));
	OK(cuMemRelease(block));
	OK(cuMemRelease(import));
	OK(grant(address, 2, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
	OK(cuMemsetD32_v2(address, 1234, 1));
	OK(cuMemcpyDtoH_v2(&value, address + UNIT, 4));
	ck_assert_uint_eq(value, 1234);
	unmap(address, 2);
}
END_TEST

START_TEST(only_exported_blocks_are_imported)
{
	handle block = create(1);
	handle import = 0;
	int file = memfd_create("other", 0);
	ck_assert_int_eq(ftruncate(file, UNIT), 0);
	FAILS(INVALID_VALUE, cuMemExportToShareableHandle(&file, block, 1, 0));
	FAILS(INVALID_VALUE, cuMemExportToShareableHandle(&file, block, 0, 0));
	FAILS(INVALID_VALUE, cuMemImportFromShareableHandle(&import, (void *)(uintptr_t)file, 1));
	FAILS(INVALID_VALUE, cuMemImportFromShareableHandle(&import, (void *)(uintptr_t)-1, 1));
	FAILS(INVALID_VALUE, cuMemImportFromShareableHandle(&import, (void *)(uintptr_t)9999, 1));
	FAILS(NOT_SUPPORTED, cuMemImportFromShareableHandle(&import, &block, 8));
	close(file);
	OK(cuMemRelease(block));
}
END_TEST

START_TEST(attributes_of_a_mapped_address_tell_of_the_mapping)
{
	CUdeviceptr address = map_new(2);
	CUdeviceptr base = 0;
	size_t size = 0;
	unsigned type = 0;
	int access = 0;
	CUcontext owner = context;
	OK(cuMemGetAddressRange_v2(&base, &size, address + UNIT));
	ck_assert_uint_eq(base, address);
	ck_assert_uint_eq(size, 2 * UNIT);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
	ck_assert_uint_eq(type, CU_MEMORYTYPE_DEVICE);
	OK(cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address));
	ck_assert_int_eq(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, address));
	ck_assert_ptr_null(owner);
	unmap(address, 2);
	FAILS(INVALID_VALUE, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		address));
}
END_TEST

START_TEST(no_context_is_needed)
{
	handle block = 0;
	FAILS(NOT_INITIALIZED, cuMemCreate(&block, UNIT, &plain, 0));
	init();
	CUdeviceptr address = map_new(1);
	setup();
	OK(cuMemsetD8_v2(address, 1, UNIT));
	teardown();
	setup();
	OK(cuMemsetD8_v2(address, 2, UNIT));
	teardown();
	unmap(address, 1);
	FAILS(INVALID_VALUE, cuMemUnmap(address, UNIT));
	FAILS(INVALID_VALUE, cuMemAddressFree(address, UNIT));
}
END_TEST

START_TEST(failing_malloc_leaves_nothing_behind)
{
	CUdeviceptr address = reserve(1);
	size_t before = free_bytes();
	handle block = 0;
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	for (int i = 0; result != CUDA_SUCCESS; i++) {
		mem_fail_after(i);
		result = cuMemCreate(&block, UNIT, &exported, 0);
		if (result == CUDA_SUCCESS
		    && (result = cuMemMap(address, UNIT, 0, block, 0)) != CUDA_SUCCESS) {
			OK(cuMemRelease(block));
		}
		mem_fail_after(-1);
		ck_assert(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
		ck_assert(result == CUDA_SUCCESS || free_bytes() == before);
	}
	OK(cuMemRelease(block));
	unmap(address, 1);
}
END_TEST

/* Blocks of the host's memory begin as zeros. */
START_TEST(new_block_is_known_to_be_unwritten)
{
	setenv("KUDZU_CHECK", "init", 1);
	setup();
	const CUmemAllocationProp kinds[] = {plain, exported, {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_HOST}}};
	for (size_t i = 0; i < countof(kinds); i++) {
		const CUdeviceptr address = reserve(2);
		handle block = 0;
		uint32_t word = 1;
		OK(cuMemCreate(&block, 2 * UNIT, &kinds[i], 0));
		OK(cuMemMap(address, 2 * UNIT, 0, block, 0));
		OK(grant(address, 2, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
		OK(cuMemcpyDtoH_v2(&word, address + 2 * UNIT - sizeof(word), sizeof(word)));
		ck_assert_uint_eq(word, i < 2 ? CHECK_UNWRITTEN : 0);
		unmap(address, 2);
		OK(cuMemRelease(block));
	}
	teardown();
}
END_TEST

SUITE(api_mapping)
{
	Suite *suite = suite_create("api_mapping");
	TCase *tc = add_case(suite, "mapping", setup, teardown);
	tcase_add_tests(tc, 1, kernel_works_on_mapped_memory,
		block_is_seen_at_every_address_where_it_is_mapped,
		copies_run_over_the_seams_of_mappings, memory_is_only_what_access_was_granted_to);
	tcase_add_loop_test(tc, kernel_that_writes_without_access_faults, 0, countof(fault_rows));
	tcase_add_tests(tc, 1, block_lives_until_it_is_released_and_unmapped,
		new_block_is_zero_and_an_old_one_gone, addresses_are_where_they_were_asked_for,
		bad_reservations_are_refused, bad_mappings_are_refused, bad_blocks_are_refused,
		block_is_shared_by_a_file, only_exported_blocks_are_imported,
		attributes_of_a_mapped_address_tell_of_the_mapping,
		failing_malloc_leaves_nothing_behind);
	tc = suite_add_case(suite, "without_context");
	tcase_add_tests(tc, 1, no_context_is_needed, new_block_is_known_to_be_unwritten);
	return suite;
}
