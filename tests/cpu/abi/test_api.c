/* SPDX-License-Identifier: MIT */
/*
 * The CPU driver through its exported functions, as programs use it: what the functions do, and
 * which of NVIDIA's codes they return for invalid arguments.  Modules and launches are in
 * test_api_kernels.c.
 */
#include "cpu/support/api.h"

#include "base/file.h"
#include "base/kudzu_abi.h"
#include "base/map.h"
#include "support/suite.h"

#include <elf.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

CUresult cuLogsDumpToFile(CUlogIterator *iterator, const char *path, unsigned int flags);
CUresult cuLogsRegisterCallback(CUlogsCallback function, void *data, CUlogsCallbackHandle *out);
CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle);

static void nothing(void)
{
}

START_TEST(api_asks_for_cuInit_and_a_context)
{
	int count;
	CUdeviceptr address;
	CUcontext current;
	FAILS(NOT_INITIALIZED, cuDeviceGetCount(&count));
	FAILS(NOT_INITIALIZED, cuMemAlloc_v2(&address, 1));
	FAILS(INVALID_VALUE, cuInit(1));
	init();
	OK(cuDeviceGetCount(&count));
	ck_assert_int_eq(count, 1);
	OK(cuCtxGetCurrent(&current));
	ck_assert_ptr_null(current);
	FAILS(INVALID_CONTEXT, cuMemAlloc_v2(&address, 1));
	check_log("cuMemAlloc_v2: this thread has no current context");
	FAILS(INVALID_CONTEXT, cuCtxSynchronize());
	FAILS(INVALID_CONTEXT, cuCtxPopCurrent_v2(&current));
	FAILS(INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
}
END_TEST

START_TEST(device_says_what_it_is)
{
	static const struct {
		CUdevice_attribute attribute;
		int value;
	} rows[] = {
		{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 8},
		{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 9},
		{CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
		{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
		{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
		{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
		{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 101376},
		{CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
		{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
		{CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
		{CU_DEVICE_ATTRIBUTE_KUDZU_PTX_ONLY, 1},
	};
	int value;
	for (size_t i = 0; i < countof(rows); i++) {
		OK(cuDeviceGetAttribute(&value, rows[i].attribute, 0));
		ck_assert_int_eq(value, rows[i].value);
	}
	for (int i = 1; i < CU_DEVICE_ATTRIBUTE_MAX; i++) {
		OK(cuDeviceGetAttribute(&value, (CUdevice_attribute)i, 0));
	}
	FAILS(INVALID_VALUE, cuDeviceGetAttribute(&value, (CUdevice_attribute)0, 0));
	FAILS(INVALID_VALUE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0));
	FAILS(INVALID_DEVICE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1));
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	ck_assert_int_ge(value, 1);
}
END_TEST

START_TEST(device_has_a_name_a_uuid_and_memory)
{
	char name[256];
	CUuuid uuid;
	size_t size;
	CUdevice device;
	OK(cuDeviceGet(&device, 0));
	FAILS(INVALID_DEVICE, cuDeviceGet(&device, 1));
	OK(cuDeviceGetName(name, sizeof(name), device));
	ck_assert_ptr_eq(strstr(name, "Kudzu CPU device: "), name);
	OK(cuDeviceGetName(name, 6, device));
	ck_assert_str_eq(name, "Kudzu");
	FAILS(INVALID_VALUE, cuDeviceGetName(name, 0, device));
	OK(cuDeviceGetUuid(&uuid, device));
	OK(cuDeviceTotalMem_v2(&size, device));
	ck_assert_uint_gt(size, 1 << 20);
	OK(cuDriverGetVersion(&device));
	ck_assert_int_eq(device, CUDA_VERSION);
}
END_TEST

START_TEST(codes_have_names_and_texts)
{
	const char *text;
	OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
	ck_assert_str_eq(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
	OK(cuGetErrorString(CUDA_SUCCESS, &text));
	ck_assert_str_eq(text, "no error");
	OK(cuGetErrorString(CUDA_ERROR_INVALID_DEVICE, &text));
	ck_assert_str_eq(text, "invalid device ordinal");
	OK(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
	ck_assert_str_eq(text, "an illegal memory access was encountered");
	OK(cuGetErrorString(CUDA_ERROR_LAUNCH_FAILED, &text));
	ck_assert_str_eq(text, "unspecified launch failure");
	OK(cuGetErrorString(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, &text));
	ck_assert_str_eq(text, "the graph update was not performed because it included changes "
		"which violated constraints specific to instantiated graph update");
	FAILS(INVALID_VALUE, cuGetErrorName((CUresult)12345, &text));
	ck_assert_ptr_null(text);
	FAILS(INVALID_VALUE, cuGetErrorString(CUDA_SUCCESS, NULL));
}
END_TEST

START_TEST(functions_are_found_by_name_and_version)
{
	CUdriverProcAddressQueryResult status;
	void *at;
	OK(cuGetProcAddress("cuInit", &at, 13000, 0));
	ck_assert_ptr_eq(at, (void *)(uintptr_t)cuInit);
	OK(cuGetProcAddress("cuMemAlloc", &at, 12000, 0));
	ck_assert_ptr_eq(at, (void *)(uintptr_t)cuMemAlloc_v2);
	OK(cuGetProcAddress("cuCtxCreate", &at, 11000, 0));
	ck_assert_ptr_eq(at, (void *)(uintptr_t)cuCtxCreate_v2);
	OK(cuGetProcAddress_v2("cuLaunchKernel", &at, 12000, 2, &status));
	ck_assert_ptr_nonnull(at);
	ck_assert_int_eq(status, CU_GET_PROC_ADDRESS_SUCCESS);
	OK(cuGetProcAddress_v2("cuLogsCurrent", &at, 11000, 0, &status));
	ck_assert_ptr_null(at);
	ck_assert_int_eq(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	OK(cuGetProcAddress_v2("cuNonsense", &at, 13000, 0, &status));
	ck_assert_int_eq(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	FAILS(NOT_FOUND, cuGetProcAddress("cuNonsense", &at, 13000, 0));
	FAILS(INVALID_VALUE, cuGetProcAddress("cuInit", &at, 99000, 0));
	FAILS(INVALID_VALUE, cuGetExportTable((const void **)&at, &(CUuuid){{1}}));
	OK(cuGetExportTable((const void **)&at, (const CUuuid *)CU_DEVICE_UUID_KUDZU));
	ck_assert_ptr_nonnull(at);
	FAILS(NOT_SUPPORTED, cuGraphAddExternalSemaphoresSignalNode());
	check_log("cuGraphAddExternalSemaphoresSignalNode: the CPU device does not have it");
}
END_TEST

/* The names of the dynamic symbols that a library defines, each with its own name as the value.
 * What gdb looks for (cpu/jit/debugger.c) is left out. */
static size_t read_symbols(const char *path, struct map *out, char **data)
{
	size_t size;
	size_t count = 0;
	if (file_read(data, &size, path, NULL) != KZ_OK) {
		return 0;
	}
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)*data;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(*data + header->e_shoff);
	for (int i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type != SHT_DYNSYM) {
			continue;
		}
		const Elf64_Sym *symbols = (const Elf64_Sym *)(*data + sections[i].sh_offset);
		char *names = *data + sections[sections[i].sh_link].sh_offset;
		for (size_t s = 0; s < sections[i].sh_size / sizeof(*symbols); s++) {
			char *name = names + symbols[s].st_name;
			if (symbols[s].st_shndx != SHN_UNDEF && *name != '\0'
			    && strncmp(name, "__jit_debug_", strlen("__jit_debug_")) != 0) {
				ck_assert(map_put(out, name, name));
				count++;
			}
		}
	}
	return count;
}

/* The wheels have no libcuda.so to link with. */
#ifdef KZ_TEST_CUDA_INCLUDE
#define TOOLKIT_STUB KZ_TEST_CUDA_INCLUDE "/../lib64/stubs/libcuda.so"
#else
#define TOOLKIT_STUB "libcuda.so of a toolkit"
#endif

START_TEST(library_exports_what_nvidias_does)
{
	static const char *const names[] = {
#define I(name, since) #name,
#define N(name, since) #name,
#include "cpu/abi/exports.def"
#undef I
#undef N
	};
	char own[4096] = "";
	ck_assert_int_gt(readlink("/proc/self/exe", own, sizeof(own) - 32), 0);
	strcat(dirname(own), "/libkudzu-cpu.so");
	const char *const paths[] = {own, TOOLKIT_STUB};
	ck_assert_uint_eq(countof(names), 688);
	struct map symbols = MAP_INIT;
	char *data = NULL;
	size_t count = read_symbols(paths[_i], &symbols, &data);
	if (count == 0) {
		fprintf(stderr, "skipped: no %s to compare exports with\n", paths[_i]);
	} else {
		// A toolkit may be older than we are.
		size_t found = 0;
		for (size_t i = 0; i < countof(names); i++) {
			bool is_there = map_get(&symbols, names[i]);
			ck_assert_msg(is_there || _i > 0, "%s", names[i]);
			found += is_there;
		}
		ck_assert_uint_eq(found, count);
	}
	map_free(&symbols);
	mem_free(data);
}
END_TEST

START_TEST(contexts_are_a_stack_per_thread)
{
	CUcontext b;
	CUcontext current;
	CUdevice device;
	unsigned version;
	CUcontext a = new_context();
	OK(cuCtxCreate_v2(&b, CU_CTX_SCHED_SPIN, 0));
	OK(cuCtxGetCurrent(&current));
	ck_assert_ptr_eq(current, b);
	OK(cuCtxGetDevice(&device));
	OK(cuCtxGetApiVersion(b, &version));
	OK(cuCtxPopCurrent_v2(&current));
	ck_assert_ptr_eq(current, b);
	OK(cuCtxPushCurrent_v2(a));
	OK(cuCtxDestroy_v2(a));
	FAILS(CONTEXT_IS_DESTROYED, cuCtxDestroy_v2(a));
	FAILS(CONTEXT_IS_DESTROYED, cuCtxPushCurrent_v2(a));
	FAILS(CONTEXT_IS_DESTROYED, cuCtxGetApiVersion(a, &version));
	FAILS(CONTEXT_IS_DESTROYED, cuCtxGetDevice(&device));
	OK(cuCtxSetCurrent(b));
	OK(cuCtxGetDevice(&device));
	OK(cuCtxDestroy_v2(b));
	FAILS(INVALID_VALUE, cuCtxCreate_v2(NULL, 0, 0));
	FAILS(INVALID_VALUE, cuCtxCreate_v2(&a, 0x10000, 0));
	FAILS(INVALID_DEVICE, cuCtxCreate_v2(&a, 0, 7));
}
END_TEST

START_TEST(contexts_keep_their_memory_apart_until_destroyed)
{
	size_t before;
	size_t after;
	size_t total;
	uint32_t word = 1;
	OK(cuMemGetInfo_v2(&before, &total));
	CUcontext a = new_context();
	CUdeviceptr address = alloc(1 << 20);
	OK(cuCtxDestroy_v2(a));
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(&word, address, 4));
	OK(cuMemGetInfo_v2(&after, &total));
	ck_assert_uint_eq(before, after);
	FAILS(INVALID_CONTEXT, cuCtxDestroy_v2(context));
}
END_TEST

START_TEST(primary_context_lives_while_it_is_retained)
{
	CUcontext again;
	unsigned flags;
	int active;
	CUdeviceptr address;
	OK(cuDevicePrimaryCtxRetain(&again, 0));
	ck_assert_ptr_eq(again, context);
	OK(cuDevicePrimaryCtxRelease_v2(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	ck_assert_int_eq(active, 1);
	OK(cuDevicePrimaryCtxRelease_v2(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	ck_assert_int_eq(active, 0);
	FAILS(CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&address, 1));
	OK(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_YIELD));
	OK(cuDevicePrimaryCtxRetain(&again, 0));
	OK(cuCtxSetCurrent(again));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	ck_assert_uint_eq(flags, CU_CTX_SCHED_YIELD);
	OK(cuMemAlloc_v2(&address, 1));
}
END_TEST

START_TEST(limits_are_kept)
{
	size_t value;
	OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 12345));
	OK(cuCtxGetLimit(&value, CU_LIMIT_PRINTF_FIFO_SIZE));
	ck_assert_uint_eq(value, 12345);
	FAILS(INVALID_VALUE, cuCtxSetLimit((CUlimit)99, 1));
	FAILS(UNSUPPORTED_LIMIT, cuCtxGetLimit(&value, CU_LIMIT_SHMEM_SIZE));
	// "This limit can be set smaller than the default or up the maximum launch depth of 24."
	FAILS(INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 25));
	OK(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 24));
	OK(cuCtxGetLimit(&value, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT));
	ck_assert_uint_eq(value, 2048);
	OK(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 32));
	OK(cuCtxGetLimit(&value, CU_LIMIT_MAX_L2_FETCH_GRANULARITY));
	ck_assert_uint_eq(value, 32);
	// "Values can range from 0B to 128B", and hints "can be ignored or clamped".
	FAILS(INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 129));
	OK(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 128));
	OK(cuCtxGetLimit(&value, CU_LIMIT_MAX_L2_FETCH_GRANULARITY));
	ck_assert_uint_eq(value, 128);
	OK(cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 1));
	OK(cuCtxGetLimit(&value, CU_LIMIT_PERSISTING_L2_CACHE_SIZE));
	ck_assert_uint_eq(value, 0);
	OK(cuProfilerStart());
}
END_TEST

/* As on NVIDIA's driver. */
START_TEST(sizes_of_memory_are_told_to_who_wants_them)
{
	size_t sizes[2];
	size_t one = 0;
	OK(cuMemGetInfo_v2(&sizes[0], &sizes[1]));
	OK(cuMemGetInfo_v2(NULL, &one));
	ck_assert_uint_eq(one, sizes[1]);
	OK(cuMemGetInfo_v2(&one, NULL));
	ck_assert_uint_le(one, sizes[1]);
	OK(cuMemGetInfo_v2(NULL, NULL));
}
END_TEST

START_TEST(results_need_a_place)
{
	CUmodule module = load();
	FAILS(INVALID_VALUE, cuMemAlloc_v2(NULL, 1));
	FAILS(INVALID_VALUE, cuStreamCreate(NULL, 0));
	FAILS(INVALID_VALUE, cuEventCreate(NULL, 0));
	FAILS(INVALID_VALUE, cuModuleLoadData(NULL, api_ptx));
	FAILS(INVALID_VALUE, cuModuleLoadData(&module, NULL));
	FAILS(INVALID_VALUE, cuModuleGetFunction(NULL, module, "add"));
	FAILS(INVALID_VALUE, cuModuleGetFunction(&(CUfunction){NULL}, module, NULL));
	FAILS(INVALID_VALUE, cuDeviceGetCount(NULL));
	FAILS(INVALID_VALUE, cuDevicePrimaryCtxRetain(NULL, 0));
	FAILS(INVALID_VALUE, cuLogsCurrent(NULL, 0));
}
END_TEST

START_TEST(stale_handles_are_found_out)
{
	CUmodule module = load();
	CUfunction add = kernel(module, "add");
	CUstream stream;
	CUevent event;
	int value;
	OK(cuStreamCreate(&stream, 0));
	OK(cuEventCreate(&event, 0));
	OK(cuStreamDestroy_v2(stream));
	OK(cuEventDestroy_v2(event));
	OK(cuModuleUnload(module));
	FAILS(INVALID_HANDLE, cuStreamSynchronize(stream));
	FAILS(INVALID_HANDLE, cuStreamDestroy_v2(stream));
	FAILS(INVALID_HANDLE, cuEventRecord(event, NULL));
	FAILS(INVALID_HANDLE, cuEventQuery((CUevent)(uintptr_t)stream));
	FAILS(INVALID_HANDLE, cuModuleUnload(module));
	FAILS(INVALID_HANDLE, launch_add(add, 0, 1, NULL));
	FAILS(INVALID_HANDLE, launch_add(NULL, 0, 1, NULL));
	FAILS(INVALID_HANDLE,
		cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS,
			(CUfunction)(uintptr_t)&value));
}
END_TEST

START_TEST(handles_are_never_used_twice)
{
	CUevent first;
	OK(cuEventCreate(&first, 0));
	OK(cuEventDestroy_v2(first));
	for (int i = 0; i < 3000; i++) {
		CUevent event;
		OK(cuEventCreate(&event, 0));
		FAILS(INVALID_HANDLE, cuEventQuery(first));
		OK(cuEventDestroy_v2(event));
	}
}
END_TEST

START_TEST(copies_go_every_way)
{
	char from[1000];
	char to[1000] = "";
	memset(from, 'x', sizeof(from));
	CUdeviceptr a = alloc(1000);
	CUdeviceptr b = alloc(1000);
	OK(cuMemcpyHtoD_v2(a, from, 1000));
	OK(cuMemcpyDtoD_v2(b, a, 1000));
	OK(cuMemcpyDtoH_v2(to, b, 1000));
	ck_assert_mem_eq(from, to, 1000);
	from[7] = 'y';
	OK(cuMemcpyHtoDAsync_v2(b + 7, from + 7, 1, NULL));
	OK(cuMemcpyDtoDAsync_v2(a, b, 1000, CU_STREAM_PER_THREAD));
	OK(cuMemcpyAsync((uintptr_t)to, a, 1000, CU_STREAM_LEGACY));
	ck_assert_mem_eq(from, to, 1000);
	OK(cuMemcpyPeerAsync(a, context, b, context, 1000, NULL));
	OK(cuMemcpyHtoD_v2(a, NULL, 0));
}
END_TEST

/* However far it goes: into the next allocation, or beyond all. */
START_TEST(copy_that_is_too_large_names_both_sizes)
{
	static char host[1 << 22];
	CUdeviceptr first = alloc(16), last = alloc(16);
	CUdeviceptr a = first < last ? first : last;
	static const size_t sizes[] = {17, 64, 4096, sizeof(host)};
	for (size_t i = 0; i < countof(sizes); i++) {
		char expected[128];
		snprintf(expected, sizeof(expected), "%zu bytes at 0x%llx do not fit into the "
			"16-byte allocation at 0x%llx", sizes[i], a, a);
		FAILS(INVALID_VALUE, cuMemcpyHtoD_v2(a, host, sizes[i]));
		check_log(expected);
		FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(host, a, sizes[i]));
		check_log(expected);
		FAILS(INVALID_VALUE, cuMemsetD8_v2(a, 0, sizes[i]));
		check_log(expected);
	}
}
END_TEST

START_TEST(copies_stay_within_an_allocation)
{
	char host[64] = "";
	CUdeviceptr a = alloc(64);
	FAILS(INVALID_VALUE, cuMemcpyHtoD_v2(a, host, 65));
	check_log("cuMemcpyHtoD_v2: 65 bytes at 0x");
	check_log("do not fit into the 64-byte allocation at 0x");
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(host, a + 63, 2));
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(host, a + (1 << 20), 1));
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(host, (uintptr_t)host, 1));
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(NULL, a, 1));
	FAILS(INVALID_VALUE, cuMemcpyHtoD_v2(a, NULL, 1));
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(host, a, SIZE_MAX));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(a, 0, 65));
	FAILS(INVALID_VALUE, cuMemsetD32_v2(a, 0, SIZE_MAX / 2));
	FAILS(INVALID_VALUE, cuMemsetD32_v2(a + 2, 0, 1));
	OK(cuMemFree_v2(a));
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(host, a, 1));
	check_log("which was freed");
}
END_TEST

START_TEST(copies_move_rectangles)
{
	uint8_t from[6][10];
	uint8_t to[6][10];
	CUdeviceptr device;
	size_t pitch;
	memset(to, 0, sizeof(to));
	for (int i = 0; i < 60; i++) {
		from[i / 10][i % 10] = (uint8_t)i;
	}
	OK(cuMemAllocPitch_v2(&device, &pitch, 10, 6, 4));
	ck_assert_uint_ge(pitch, 10);
	CUDA_MEMCPY2D copy = {
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = from, .srcPitch = 10,
		.srcXInBytes = 2, .srcY = 1,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = device, .dstPitch = pitch,
		.dstXInBytes = 1, .dstY = 2, .WidthInBytes = 5, .Height = 4
	};
	OK(cuMemcpy2D_v2(&copy));
	CUDA_MEMCPY2D back = {
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = device, .srcPitch = pitch,
		.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = to, .dstPitch = 10,
		.WidthInBytes = 10, .Height = 6
	};
	OK(cuMemcpy2DAsync_v2(&back, NULL));
	for (int y = 0; y < 6; y++) {
		for (int x = 0; x < 10; x++) {
			bool inside = y >= 2 && x >= 1 && x < 6;
			ck_assert_uint_eq(to[y][x], inside ? from[y - 1][x + 1] : 0);
		}
	}
}
END_TEST

START_TEST(rectangles_must_fit)
{
	uint8_t to[6][10];
	const CUDA_MEMCPY2D good = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = alloc(60), .srcPitch = 10,
		.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = to, .dstPitch = 10,
		.WidthInBytes = 10, .Height = 6
	};
	CUDA_MEMCPY2D bad[7] = {good, good, good, good, good, good, good};
	bad[0].Height = 7;
	bad[1].dstPitch = 9;
	bad[2].dstXInBytes = 1;
	bad[3].srcY = 1;
	bad[4].dstHost = NULL;
	bad[5].srcPitch = SIZE_MAX / 2;
	// "returns an error if any pitch is greater than the maximum allowed"
	bad[6].Height = 1;
	bad[6].dstPitch = (size_t)INT32_MAX + 1;
	OK(cuMemcpy2D_v2(&good));
	for (size_t i = 0; i < countof(bad); i++) {
		FAILS(INVALID_VALUE, cuMemcpy2D_v2(&bad[i]));
	}
	FAILS(INVALID_VALUE, cuMemcpy2D_v2(NULL));
	bad[0].srcMemoryType = CU_MEMORYTYPE_ARRAY;
	FAILS(INVALID_VALUE, cuMemcpy2D_v2(&bad[0]));
}
END_TEST

START_TEST(fills_write_elements)
{
	uint32_t words[8];
	uint16_t halves[6][4];
	CUdeviceptr a = alloc(48);
	OK(cuMemsetD32Async(a, 0x12345678, 8, NULL));
	OK(cuMemsetD16_v2(a + 4, 0xabcd, 2));
	OK(cuMemsetD8Async(a + 8, 0x7f, 3, NULL));
	OK(cuMemcpyDtoH_v2(words, a, sizeof(words)));
	const uint32_t expected[4] = {0x12345678, 0xabcdabcd, 0x127f7f7f, 0x12345678};
	ck_assert_mem_eq(words, expected, sizeof(expected));
	OK(cuMemsetD32_v2(a, 0, 12));
	OK(cuMemsetD2D16_v2(a, 8, 0x1111, 3, 6));
	OK(cuMemcpyDtoH_v2(halves, a, sizeof(halves)));
	for (int i = 0; i < 24; i++) {
		ck_assert_uint_eq(halves[i / 4][i % 4], i % 4 < 3 ? 0x1111 : 0);
	}
	FAILS(INVALID_VALUE, cuMemsetD2D16_v2(a, 8, 0, 5, 2));
	FAILS(INVALID_VALUE, cuMemsetD2D16_v2(a, 7, 0, 1, 2));
}
END_TEST

START_TEST(memory_runs_out_with_an_error)
{
	CUdeviceptr address = 1;
	size_t available;
	size_t total;
	size_t pitch;
	void *host;
	OK(cuMemGetInfo_v2(&available, &total));
	ck_assert_uint_le(available, total);
	FAILS(OUT_OF_MEMORY, cuMemAlloc_v2(&address, total + 1));
	ck_assert_uint_eq(address, 0);
	check_log("cuMemAlloc_v2: no room for");
	FAILS(OUT_OF_MEMORY, cuMemAlloc_v2(&address, SIZE_MAX));
	FAILS(OUT_OF_MEMORY, cuMemHostAlloc(&host, SIZE_MAX, 0));
	FAILS(INVALID_VALUE, cuMemAllocPitch_v2(&address, &pitch, SIZE_MAX, 2, 4));
	FAILS(OUT_OF_MEMORY, cuMemAllocPitch_v2(&address, &pitch, 512, SIZE_MAX / 2, 4));
	FAILS(INVALID_VALUE, cuMemAlloc_v2(&address, 0));
	FAILS(INVALID_VALUE, cuMemHostAlloc(&host, 1, 0x100));
}
END_TEST

START_TEST(memory_is_freed_once)
{
	CUdeviceptr a = alloc(100);
	void *host;
	OK(cuMemHostAlloc(&host, 100, 0));
	memset(host, 1, 100);
	FAILS(INVALID_VALUE, cuMemFree_v2(a + 1));
	FAILS(INVALID_VALUE, cuMemFree_v2((uintptr_t)host));
	FAILS(INVALID_VALUE, cuMemFreeHost((void *)(uintptr_t)a));
	OK(cuMemFree_v2(a));
	FAILS(INVALID_VALUE, cuMemFree_v2(a));
	OK(cuMemFree_v2(0));
	OK(cuMemFreeHost(host));
	FAILS(INVALID_VALUE, cuMemFreeHost(host));
	FAILS(INVALID_VALUE, cuMemFree_v2((uintptr_t)&a));
}
END_TEST

START_TEST(addresses_have_attributes)
{
	CUdeviceptr base;
	CUdeviceptr a = alloc(100);
	CUdeviceptr managed;
	size_t size;
	unsigned type;
	int is_managed;
	OK(cuMemGetAddressRange_v2(&base, &size, a + 50));
	ck_assert_uint_eq(base, a);
	ck_assert_uint_eq(size, 100);
	FAILS(NOT_FOUND, cuMemGetAddressRange_v2(&base, &size, a + 100));
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
	ck_assert_uint_eq(type, CU_MEMORYTYPE_DEVICE);
	OK(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
	CUpointer_attribute list[] = {CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_RANGE_SIZE};
	void *out[] = {&is_managed, &size};
	OK(cuPointerGetAttributes(2, list, out, managed));
	ck_assert_int_eq(is_managed, 1);
	list[1] = (CUpointer_attribute)99;
	FAILS(INVALID_VALUE, cuPointerGetAttributes(2, list, out, managed));
	list[1] = CU_POINTER_ATTRIBUTE_RANGE_SIZE;
	OK(cuPointerGetAttributes(2, list, out, (uintptr_t)&a));
	ck_assert_uint_eq(size, 0);
	FAILS(INVALID_VALUE,
		cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)&a));
	FAILS(INVALID_VALUE, cuPointerGetAttribute(&out, CU_POINTER_ATTRIBUTE_HOST_POINTER, a));
}
END_TEST

/* There is one range of addresses for all contexts. */
START_TEST(addresses_are_known_without_a_context)
{
	CUdeviceptr a = alloc(100);
	CUcontext before;
	unsigned type = 0;
	size_t size = 0;
	CUpointer_attribute list[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_RANGE_SIZE};
	void *out[] = {&type, &size};
	OK(cuCtxPopCurrent_v2(&before));
	OK(cuPointerGetAttributes(2, list, out, a + 1));
	ck_assert(type == CU_MEMORYTYPE_DEVICE && size == 100);
	OK(cuPointerGetAttributes(2, list, out, (uintptr_t)&a));
	ck_assert(type == 0 && size == 0);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
	ck_assert_uint_eq(type, CU_MEMORYTYPE_DEVICE);
	FAILS(INVALID_VALUE, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		(uintptr_t)&a));
	OK(cuCtxPushCurrent_v2(before));
	OK(cuMemFree_v2(a));
}
END_TEST

START_TEST(pool_counts_what_it_gives)
{
	CUmemoryPool pool;
	CUdeviceptr a;
	cuuint64_t value = 1 << 20;
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
	ck_assert_uint_eq(value, 1 << 20);
	OK(cuMemAllocAsync(&a, 5000, NULL));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
	ck_assert_uint_ge(value, 5000);
	OK(cuMemFreeAsync(a, NULL));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
	ck_assert_uint_eq(value, 0);
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
	ck_assert_uint_ge(value, 5000);
	OK(cuMemPoolTrimTo(pool, 0));
	FAILS(INVALID_VALUE, cuMemPoolTrimTo(NULL, 0));
}
END_TEST

START_TEST(events_tell_the_time_between_them)
{
	CUevent start;
	CUevent end;
	CUevent timeless;
	float ms = -1;
	OK(cuEventCreate(&start, 0));
	OK(cuEventCreate(&end, CU_EVENT_BLOCKING_SYNC));
	OK(cuEventCreate(&timeless, CU_EVENT_DISABLE_TIMING));
	FAILS(INVALID_VALUE, cuEventCreate(&timeless, 0x100));
	FAILS(INVALID_HANDLE, cuEventElapsedTime(&ms, start, end));
	OK(cuEventQuery(start));
	OK(cuEventRecord(start, NULL));
	OK(cuEventRecord(end, NULL));
	OK(cuEventRecord(timeless, NULL));
	OK(cuEventSynchronize(end));
	OK(cuEventElapsedTime(&ms, start, end));
	ck_assert(ms >= 0);
	OK(cuEventElapsedTime(&ms, end, start));
	ck_assert(ms <= 0);
	FAILS(INVALID_HANDLE, cuEventElapsedTime(&ms, start, timeless));
	OK(cuStreamWaitEvent(NULL, end, 0));
	FAILS(INVALID_HANDLE, cuStreamWaitEvent(NULL, NULL, 0));
}
END_TEST

static void count_calls(void *data)
{
	size_t available;
	size_t total;
	FAILS(NOT_PERMITTED, cuMemGetInfo_v2(&available, &total));
	++*(int *)data;
}

static void count_results(CUstream stream, CUresult status, void *data)
{
	(void)stream;
	OK(status);
	++*(int *)data;
}

START_TEST(streams_run_host_functions)
{
	CUstream stream;
	CUcontext of;
	CUstreamCaptureStatus capture;
	unsigned flags;
	int calls = 0;
	int results = 0;
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	FAILS(INVALID_VALUE, cuStreamCreate(&stream, 2));
	OK(cuStreamGetFlags(stream, &flags));
	ck_assert_uint_eq(flags, CU_STREAM_NON_BLOCKING);
	OK(cuStreamGetCtx(stream, &of));
	ck_assert_ptr_eq(of, context);
	OK(cuStreamIsCapturing(stream, &capture));
	ck_assert_int_eq(capture, CU_STREAM_CAPTURE_STATUS_NONE);
	OK(cuLaunchHostFunc(stream, count_calls, &calls));
	OK(cuStreamAddCallback(NULL, count_results, &results, 0));
	OK(cuStreamSynchronize(stream));
	OK(cuStreamSynchronize(NULL));
	OK(cuStreamQuery(NULL));
	ck_assert_int_eq(calls, 1);
	ck_assert_int_eq(results, 1);
	FAILS(INVALID_VALUE, cuLaunchHostFunc(stream, NULL, NULL));
}
END_TEST

START_TEST(streams_belong_to_their_context)
{
	CUcontext of;
	CUstream stream;
	CUdeviceptr a = alloc(4);
	CUcontext other = new_context();
	OK(cuStreamCreate(&stream, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuStreamGetCtx(stream, &of));
	ck_assert_ptr_eq(of, other);
	OK(cuStreamSynchronize(stream));
	FAILS(INVALID_HANDLE, launch_add(kernel(load(), "add"), a, 1, stream));
	check_log("the stream is of another context");
	OK(cuCtxDestroy_v2(other));
	FAILS(INVALID_HANDLE, cuStreamSynchronize(stream));
}
END_TEST

START_TEST(logs_are_read_from_an_iterator_on)
{
	char buffer[64];
	CUlogIterator at;
	size_t size = sizeof(buffer);
	OK(cuLogsCurrent(&at, 0));
	OK(cuLogsDumpToMemory(&at, buffer, &size, 0));
	ck_assert_uint_eq(size, 0);
	FAILS(INVALID_VALUE, cuInit(1));
	FAILS(INVALID_VALUE, cuInit(2));
	size = sizeof(buffer);
	OK(cuLogsDumpToMemory(&at, buffer, &size, 0));
	ck_assert_str_eq(buffer, "cuInit: flags must be 0\ncuInit: flags must be 0\n");
	ck_assert_uint_eq(size, strlen(buffer));
	FAILS(INVALID_VALUE, cuInit(1));
	size = 5;
	FAILS(INVALID_VALUE, cuLogsDumpToMemory(&at, buffer, &size, 0));
	ck_assert_uint_eq(size, 0);
	FAILS(INVALID_VALUE, cuLogsDumpToMemory(&at, NULL, &size, 0));
	FAILS(INVALID_VALUE, cuLogsCurrent(&at, 1));
}
END_TEST

static char *read_file(const char *path)
{
	static char text[1 << 16];
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

START_TEST(logs_are_written_to_a_file)
{
	char path[] = "/tmp/kudzu-log-XXXXXX";
	CUlogIterator at;
	close(mkstemp(path));
	FAILS(INVALID_VALUE, cuInit(1));
	OK(cuLogsCurrent(&at, 0));
	FAILS(INVALID_VALUE, cuInit(2));
	OK(cuLogsDumpToFile(&at, path, 0));
	ck_assert_str_eq(read_file(path), "cuInit: flags must be 0\n");
	OK(cuLogsDumpToFile(&at, path, 0));
	ck_assert_str_eq(read_file(path), "");
	for (int i = 0; i < 1000; i++) {
		FAILS(INVALID_VALUE, cuInit(1));
	}
	OK(cuLogsDumpToFile(&at, path, 0));
	ck_assert_ptr_nonnull(strstr(read_file(path), "(older lines are lost)\ncuInit"));
	unlink(path);
	FAILS(INVALID_VALUE, cuLogsDumpToFile(&at, "/nowhere/log", 0));
	FAILS(INVALID_VALUE, cuLogsDumpToFile(&at, NULL, 0));
	FAILS(INVALID_VALUE, cuLogsDumpToFile(&at, path, 1));
}
END_TEST

START_TEST(cuda_log_file_names_where_lines_go_at_once)
{
	char path[] = "/tmp/kudzu-log-XXXXXX";
	close(mkstemp(path));
	setenv("CUDA_LOG_FILE", path, 1);
	FAILS(INVALID_VALUE, cuInit(1));
	FAILS(INVALID_VALUE, cuCtxGetCurrent(NULL));
	ck_assert_ptr_nonnull(strstr(read_file(path), "cuInit: flags must be 0\ncuCtxGetCurrent"));
	setenv("CUDA_LOG_FILE", "/nowhere/log", 1);
	FAILS(INVALID_VALUE, cuInit(1));
	setenv("CUDA_LOG_FILE", "", 1);
	FAILS(INVALID_VALUE, cuInit(1));
	unlink(path);
}
END_TEST

/* What a callback gets that calls the driver. */
static CUresult inside = CUDA_SUCCESS;

static void count_line(void *data, CUlogLevel level, char *message, size_t length)
{
	int count;
	*(int *)data += strcmp(message, "cuInit: flags must be 0") == 0
		&& level == CU_LOG_LEVEL_ERROR
		&& length == strlen(message);
	inside = cuDeviceGetCount(&count);
}

START_TEST(callbacks_are_told_each_line_of_the_log)
{
	CUlogsCallbackHandle first = NULL;
	int lines = 0;
	int others = 0;
	OK(cuInit(0));
	OK(cuLogsRegisterCallback(count_line, &lines, &first));
	FAILS(INVALID_VALUE, cuInit(1));
	ck_assert_int_eq(lines, 1);
	ck_assert_int_eq(inside, CUDA_ERROR_NOT_PERMITTED);
	OK(cuLogsRegisterCallback(count_line, &others, NULL));
	FAILS(INVALID_VALUE, cuInit(1));
	OK(cuLogsUnregisterCallback(first));
	FAILS(INVALID_VALUE, cuInit(1));
	ck_assert_int_eq(lines, 2);
	ck_assert_int_eq(others, 2);
	FAILS(INVALID_VALUE, cuLogsUnregisterCallback(first));
	FAILS(INVALID_VALUE, cuLogsUnregisterCallback(NULL));
	FAILS(INVALID_VALUE, cuLogsRegisterCallback(NULL, NULL, &first));
}
END_TEST

SUITE(api)
{
	Suite *suite = suite_create("api");
	TCase *tc = add_case(suite, "start", nothing, nothing);
	tcase_add_test(tc, api_asks_for_cuInit_and_a_context);
	tc = add_case(suite, "driver", init, nothing);
	tcase_add_tests(tc, 1, device_says_what_it_is, device_has_a_name_a_uuid_and_memory,
		codes_have_names_and_texts, functions_are_found_by_name_and_version);
	tcase_add_loop_test(tc, library_exports_what_nvidias_does, 0, 2);
	tcase_add_tests(tc, 1, contexts_are_a_stack_per_thread, logs_are_read_from_an_iterator_on,
		logs_are_written_to_a_file, cuda_log_file_names_where_lines_go_at_once,
		callbacks_are_told_each_line_of_the_log);
	tc = add_case(suite, "context", setup, teardown);
	tcase_add_tests(tc, 1, contexts_keep_their_memory_apart_until_destroyed,
		primary_context_lives_while_it_is_retained, limits_are_kept, results_need_a_place,
		sizes_of_memory_are_told_to_who_wants_them, stale_handles_are_found_out,
		handles_are_never_used_twice);
	tc = add_case(suite, "memory", setup, teardown);
	tcase_add_tests(tc, 1, copies_go_every_way, copies_stay_within_an_allocation,
		copy_that_is_too_large_names_both_sizes,
		copies_move_rectangles, rectangles_must_fit, fills_write_elements,
		memory_runs_out_with_an_error, memory_is_freed_once, addresses_have_attributes,
		addresses_are_known_without_a_context, pool_counts_what_it_gives);
	tc = add_case(suite, "streams", setup, teardown);
	tcase_add_tests(tc, 1, events_tell_the_time_between_them, streams_run_host_functions,
		streams_belong_to_their_context);
	return suite;
}
