/* SPDX-License-Identifier: MIT */
/* Loading code that is not PTX in memory: files, fat binaries, libraries and their kernels. */
#include "cpu/support/api.h"

#include "base/file.h"
#include "support/suite.h"

#include <stdio.h>
#include <unistd.h>

CUresult cuModuleLoad(CUmodule *out, const char *path);
CUresult cuModuleLoadFatBinary(CUmodule *out, const void *image);
CUresult cuFuncIsLoaded(CUfunctionLoadingState *out, CUfunction function);
CUresult cuFuncLoad(CUfunction function);
CUresult cuModuleEnumerateFunctions(CUfunction *out, unsigned count, CUmodule module);
CUresult cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *options, void **values,
	unsigned count, CUlibraryOption *library_options, void **library_values,
	unsigned library_count);
CUresult cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option *options,
	void **values, unsigned count, CUlibraryOption *library_options, void **library_values,
	unsigned library_count);
CUresult cuLibraryUnload(CUlibrary library);
CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name);
CUresult cuLibraryGetKernelCount(unsigned *out, CUlibrary library);
CUresult cuLibraryEnumerateKernels(CUkernel *out, unsigned count, CUlibrary library);
CUresult cuLibraryGetModule(CUmodule *out, CUlibrary library);
CUresult cuLibraryGetGlobal(CUdeviceptr *out, size_t *size, CUlibrary library, const char *name);
CUresult cuLibraryGetManaged(CUdeviceptr *out, size_t *size, CUlibrary library, const char *name);
CUresult cuLibraryGetUnifiedFunction(void **out, CUlibrary library, const char *name);
CUresult cuKernelGetFunction(CUfunction *out, CUkernel kernel);
CUresult cuKernelGetLibrary(CUlibrary *out, CUkernel kernel);
CUresult cuKernelGetName(const char **out, CUkernel kernel);
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size);
CUresult cuKernelGetAttribute(int *out, CUfunction_attribute attribute, CUkernel kernel,
	CUdevice device);
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
	CUdevice device);
CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device);
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *out, CUfunction function, int blocks,
	int threads);

#define DYNAMIC CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

static CUlibrary library(const void *code)
{
	CUlibrary made = NULL;
	OK(cuLibraryLoadData(&made, code, NULL, NULL, 0, NULL, NULL, 0));
	return made;
}

static CUkernel library_kernel(CUlibrary from, const char *name)
{
	CUkernel found = NULL;
	OK(cuLibraryGetKernel(&found, from, name));
	return found;
}

/* A kernel that adds 7 to 5. */
static void check_add(CUfunction add)
{
	uint32_t value = 5;
	CUdeviceptr at = alloc(sizeof(value));
	OK(cuMemcpyHtoD_v2(at, &value, sizeof(value)));
	OK(launch_add(add, at, 1, NULL));
	OK(cuMemcpyDtoH_v2(&value, at, sizeof(value)));
	ck_assert_uint_eq(value, 12);
	OK(cuMemFree_v2(at));
}

static const char *const sample_names[] = {"zstd.fatbin", "lz4.fatbin", "plain.fatbin"};

START_TEST(fat_binaries_run)
{
	char path[4096];
	char *data;
	size_t size;
	CUmodule modules[4];
	CUlibrary from_file;
	snprintf(path, sizeof(path), KZ_TEST_DIR "/data/fatbin/%s", sample_names[_i]);
	ck_assert_int_eq(file_read(&data, &size, path, NULL), KZ_OK);
	OK(cuModuleLoad(&modules[0], path));
	OK(cuModuleLoadData(&modules[1], data));
	OK(cuModuleLoadFatBinary(&modules[2], data));
	OK(cuLibraryLoadFromFile(&from_file, path, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetModule(&modules[3], from_file));
	mem_free(data);
	CUdeviceptr at = alloc(8);
	int values[2] = {1, -3};
	void *arguments[] = {&at};
	OK(cuMemcpyHtoD_v2(at, values, sizeof(values)));
	for (size_t i = 0; i < countof(modules); i++) {
		OK(cuLaunchKernel(kernel(modules[i], "twice"), 1, 1, 1, 2, 1, 1, 0, NULL,
			arguments, NULL));
	}
	OK(cuMemcpyDtoH_v2(values, at, sizeof(values)));
	ck_assert_int_eq(values[0], 16);
	ck_assert_int_eq(values[1], -48);
}
END_TEST

START_TEST(files_that_cannot_be_loaded_say_why)
{
	CUmodule module = (CUmodule)1;
	FAILS(FILE_NOT_FOUND, cuModuleLoad(&module, "/no/such/file"));
	ck_assert_ptr_null(module);
	check_log("cannot open '/no/such/file'");
	FAILS(FILE_NOT_FOUND, cuModuleLoad(&module, "/"));
	FAILS(INVALID_VALUE, cuModuleLoad(&module, NULL));
	FAILS(INVALID_VALUE, cuModuleLoad(NULL, "/"));
	FAILS(NO_BINARY_FOR_GPU, cuModuleLoad(&module, KZ_TEST_DIR "/data/fatbin/cubin.fatbin"));
	check_log("the CPU device takes PTX; this fat binary has none");
	FAILS(NO_BINARY_FOR_GPU, cuModuleLoad(&module, "/proc/self/exe"));
	FAILS(INVALID_PTX, cuModuleLoad(&module, KZ_TEST_DIR "/data/fatbin/twice.cu"));
	FAILS(INVALID_VALUE, cuModuleLoadFatBinary(&module, NULL));
}
END_TEST

/* The wrapper that stands for a fat binary in a program's memory: nothing may follow its
 * pointer. */
START_TEST(a_file_with_a_pointer_to_code_is_refused)
{
	static const uint64_t wrapper[] = {UINT64_C(1) << 32 | 0x466243b1, 0x4242424242424242, 0};
	char path[64];
	CUmodule module;
	CUlibrary library;
	FILE *file = tmpfile();
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(wrapper, sizeof(wrapper), 1, file), 1);
	ck_assert_int_eq(fflush(file), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
	FAILS(INVALID_IMAGE, cuModuleLoad(&module, path));
	check_log("holds a pointer to another");
	FAILS(INVALID_IMAGE, cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
	fclose(file);
}
END_TEST

START_TEST(options_give_logs_and_times)
{
	char error[256] = "old";
	char info[16] = "old";
	CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
		CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER, CU_JIT_WALL_TIME,
		CU_JIT_OPTIMIZATION_LEVEL};
	void *values[] = {error, (void *)sizeof(error), (void *)sizeof(info), info, NULL,
		(void *)4};
	CUmodule module;
	float ms = -1;
	OK(cuModuleLoadDataEx(&module, api_ptx, countof(names), names, values));
	memcpy(&ms, &values[4], sizeof(ms));
	ck_assert(ms > 0);
	ck_assert_str_eq(error, "");
	ck_assert_str_eq(info, "");
	ck_assert_ptr_null(values[1]);
	values[1] = (void *)sizeof(error);
	FAILS(INVALID_PTX, cuModuleLoadDataEx(&module, ".version 8.0\n.target sm_75\nfoo",
		countof(names), names, values));
	ck_assert_ptr_eq(strstr(error, "ptxas application ptx input, line 3; error"), error);
	ck_assert_uint_eq((uintptr_t)values[1], strlen(error));
	names[5] = (CUjit_option)1000;
	FAILS(INVALID_VALUE, cuModuleLoadDataEx(&module, api_ptx, countof(names), names, values));
	FAILS(INVALID_VALUE, cuModuleLoadDataEx(&module, api_ptx, 1, NULL, values));
}
END_TEST

static const char two_kernels[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
	".const .b8 c[48];\n.visible .entry one()\n{\n\t.reg .b32 %r<20>;\n"
	"\t.shared .b8 s[12];\n\tret;\n}\n.visible .entry two()\n{\n\t.local .b8 l[40];\n"
	"\tret;\n}\n";

/* With the logs as a GPU's driver writes them; a limit of registers shows. */
START_TEST(verbose_options_tell_of_each_kernel)
{
	char info[1024] = "old", small[32];
	CUjit_option names[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
		CU_JIT_LOG_VERBOSE, CU_JIT_MAX_REGISTERS};
	void *values[] = {info, (void *)sizeof(info), (void *)1, (void *)9};
	CUmodule module;
	CUlibrary library;
	if (driver_lacks("these words are the CPU device's")) {
		return;
	}
	const char *const expected = "ptxas info    : Compiling entry function 'one' for 'sm_89'\n"
		"ptxas info    : Used 9 registers, 12 bytes smem, 48 bytes cmem[3], 0 bytes lmem\n"
		"ptxas info    : Compiling entry function 'two' for 'sm_89'\n"
		"ptxas info    : Used 9 registers, 0 bytes smem, 48 bytes cmem[3], 40 bytes lmem\n";
	OK(cuModuleLoadDataEx(&module, two_kernels, 4, names, values));
	ck_assert_str_eq(info, expected);
	ck_assert_uint_eq((uintptr_t)values[1], strlen(info));
	values[1] = (void *)sizeof(info);
	OK(cuLibraryLoadData(&library, two_kernels, names, values, 4, NULL, NULL, 0));
	ck_assert_str_eq(info, expected);
	values[0] = small;
	values[1] = (void *)sizeof(small);
	OK(cuModuleLoadDataEx(&module, two_kernels, 4, names, values));
	ck_assert_uint_eq(strlen(small), sizeof(small) - 1);
	ck_assert(strncmp(small, expected, sizeof(small) - 1) == 0);
	values[0] = NULL; /* nowhere to write */
	OK(cuModuleLoadDataEx(&module, two_kernels, 4, names, values));
	values[0] = info;
	values[1] = (void *)sizeof(info);
	values[2] = NULL;
	OK(cuModuleLoadDataEx(&module, two_kernels, 4, names, values));
	ck_assert_str_eq(info, "");
}
END_TEST

START_TEST(extern_variables_can_be_given_an_address)
{
	static const char ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
		".extern .global .u32 host;\n.visible .entry k()\n{\n\t.reg .b32 %r<2>;\n"
		"\tld.global.u32 %r1, [host];\n\tadd.u32 %r1, %r1, 1;\n"
		"\tst.global.u32 [host], %r1;\n\tret;\n}\n";
	CUdeviceptr at = alloc(4);
	const char *symbols[] = {"other", "host"};
	void *addresses[] = {NULL, (void *)(uintptr_t)at};
	CUjit_option names[] = {CU_JIT_GLOBAL_SYMBOL_NAMES, CU_JIT_GLOBAL_SYMBOL_ADDRESSES,
		CU_JIT_GLOBAL_SYMBOL_COUNT};
	void *values[] = {symbols, addresses, (void *)2};
	uint32_t value = 41;
	CUmodule module;
	FAILS(INVALID_PTX, cuModuleLoadData(&module, ptx));
	OK(cuModuleLoadDataEx(&module, ptx, countof(names), names, values));
	OK(cuMemcpyHtoD_v2(at, &value, sizeof(value)));
	OK(cuLaunchKernel(kernel(module, "k"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	OK(cuMemcpyDtoH_v2(&value, at, sizeof(value)));
	ck_assert_uint_eq(value, 42);
	values[0] = NULL;
	FAILS(INVALID_VALUE, cuModuleLoadDataEx(&module, ptx, countof(names), names, values));
}
END_TEST

START_TEST(functions_are_compiled_when_they_are_needed)
{
	CUmodule module = load();
	CUfunction functions[4] = {NULL};
	CUfunctionLoadingState state;
	OK(cuModuleEnumerateFunctions(functions, 4, module));
	ck_assert_ptr_nonnull(functions[2]);
	ck_assert_ptr_null(functions[3]);
	OK(cuFuncIsLoaded(&state, functions[0]));
	ck_assert_int_eq(state, CU_FUNCTION_LOADING_STATE_UNLOADED);
	check_add(functions[0]);
	OK(cuFuncIsLoaded(&state, functions[0]));
	ck_assert_int_eq(state, CU_FUNCTION_LOADING_STATE_LOADED);
	OK(cuFuncLoad(functions[1]));
	OK(cuFuncIsLoaded(&state, functions[1]));
	ck_assert_int_eq(state, CU_FUNCTION_LOADING_STATE_LOADED);
	FAILS(INVALID_VALUE, cuFuncIsLoaded(NULL, functions[1]));
	OK(cuModuleUnload(module));
	FAILS(INVALID_HANDLE, cuFuncIsLoaded(&state, functions[0]));
	FAILS(INVALID_HANDLE, cuFuncLoad(functions[0]));
}
END_TEST

START_TEST(libraries_need_no_context_to_be_loaded)
{
	unsigned count;
	CUkernel kernels[4] = {NULL};
	CUlibrary owner;
	const char *name;
	size_t offset;
	size_t size;
	CUfunction function;
	CUlibrary lib;
	FAILS(NOT_INITIALIZED, cuLibraryLoadData(&lib, api_ptx, NULL, NULL, 0, NULL, NULL, 0));
	init();
	lib = library(api_ptx);
	OK(cuLibraryGetKernelCount(&count, lib));
	ck_assert_uint_eq(count, 3);
	OK(cuLibraryEnumerateKernels(kernels, 4, lib));
	ck_assert_ptr_null(kernels[3]);
	ck_assert_ptr_eq(kernels[0], library_kernel(lib, "add"));
	OK(cuKernelGetLibrary(&owner, kernels[0]));
	ck_assert_ptr_eq(owner, lib);
	OK(cuKernelGetName(&name, kernels[0]));
	ck_assert_str_eq(name, "add");
	OK(cuKernelGetParamInfo(kernels[0], 1, &offset, &size));
	ck_assert_uint_eq(offset, 8);
	ck_assert_uint_eq(size, 4);
	OK(cuKernelGetParamInfo(kernels[0], 0, &offset, NULL));
	FAILS(INVALID_VALUE, cuKernelGetParamInfo(kernels[0], 2, &offset, &size));
	FAILS(INVALID_CONTEXT, cuKernelGetFunction(&function, kernels[0]));
	FAILS(INVALID_CONTEXT, cuLaunchKernel((CUfunction)(void *)kernels[0], 1, 1, 1, 1, 1, 1, 0,
		NULL, NULL, NULL));
	OK(cuLibraryUnload(lib));
	FAILS(INVALID_HANDLE, cuLibraryUnload(lib));
	FAILS(INVALID_HANDLE, cuKernelGetName(&name, kernels[0]));
}
END_TEST

START_TEST(kernels_of_a_library_are_functions_of_each_context)
{
	CUlibrary lib = library(api_ptx);
	CUkernel add = library_kernel(lib, "add");
	CUfunction functions[2];
	CUmodule module;
	CUdeviceptr steps[2];
	size_t size;
	check_add((CUfunction)(void *)add);
	OK(cuKernelGetFunction(&functions[0], add));
	check_add(functions[0]);
	OK(cuLibraryGetGlobal(&steps[0], &size, lib, "step"));
	ck_assert_uint_eq(size, 4);
	CUcontext other = new_context();
	OK(cuKernelGetFunction(&functions[1], add));
	ck_assert_ptr_ne(functions[0], functions[1]);
	check_add((CUfunction)(void *)add);
	OK(cuLibraryGetGlobal(&steps[1], NULL, lib, "step"));
	ck_assert_uint_ne(steps[0], steps[1]);
	OK(cuLibraryGetModule(&module, lib));
	ck_assert_ptr_eq(kernel(module, "add"), functions[1]);
	FAILS(NOT_PERMITTED, cuModuleUnload(module));
	OK(cuCtxDestroy_v2(other));
	check_add((CUfunction)(void *)add);
	reset();
	FAILS(INVALID_HANDLE, cuFuncLoad(functions[0]));
	check_add((CUfunction)(void *)add);
	OK(cuKernelGetFunction(&functions[0], add));
	OK(cuLibraryUnload(lib));
	FAILS(INVALID_HANDLE, cuFuncLoad(functions[0]));
	FAILS(INVALID_HANDLE, cuLaunchKernel((CUfunction)(void *)add, 1, 1, 1, 1, 1, 1, 0, NULL,
		NULL, NULL));
}
END_TEST

START_TEST(what_is_set_for_a_kernel_holds_in_every_context)
{
	CUlibrary lib = library(api_ptx);
	CUkernel add = library_kernel(lib, "add");
	CUfunction function;
	int value;
	OK(cuKernelSetAttribute(DYNAMIC, 50000, add, 0));
	OK(cuKernelGetFunction(&function, add));
	OK(cuFuncGetAttribute(&value, DYNAMIC, function));
	ck_assert_int_eq(value, 50000);
	OK(cuKernelSetAttribute(DYNAMIC, 60000, add, 0));
	OK(cuFuncGetAttribute(&value, DYNAMIC, function));
	ck_assert_int_eq(value, 60000);
	OK(cuFuncSetAttribute(function, DYNAMIC, 70000));
	OK(cuKernelSetAttribute(DYNAMIC, 80000, add, 0));
	OK(cuFuncGetAttribute(&value, DYNAMIC, function));
	ck_assert_int_eq(value, 70000);
	OK(cuKernelGetAttribute(&value, DYNAMIC, add, 0));
	ck_assert_int_eq(value, 80000);
	OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, add, 0));
	ck_assert_int_eq(value, 75);
	OK(cuKernelSetCacheConfig(add, CU_FUNC_CACHE_PREFER_L1, 0));
	FAILS(INVALID_VALUE, cuKernelSetCacheConfig(add, (CUfunc_cache)4, 0));
	FAILS(INVALID_VALUE, cuKernelSetAttribute(DYNAMIC, 1 << 20, add, 0));
	FAILS(INVALID_DEVICE, cuKernelSetAttribute(DYNAMIC, 0, add, 1));
	FAILS(INVALID_DEVICE, cuKernelGetAttribute(&value, DYNAMIC, add, 1));
	FAILS(INVALID_HANDLE, cuKernelGetAttribute(&value, DYNAMIC, NULL, 0));
	FAILS(INVALID_VALUE, cuKernelGetAttribute(NULL, DYNAMIC, add, 0));
}
END_TEST

START_TEST(libraries_say_what_they_lack)
{
	static const char managed[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
		".visible .global .attribute(.managed) .u32 shared = 3;\n"
		".visible .global .u32 own;\n";
	CUlibrary lib = library(managed);
	CUkernel found;
	CUdeviceptr at;
	size_t size;
	void *function;
	OK(cuLibraryGetManaged(&at, &size, lib, "shared"));
	ck_assert_uint_eq(size, 4);
	ck_assert_uint_eq(*(uint32_t *)(uintptr_t)at, 3);
	FAILS(NOT_FOUND, cuLibraryGetManaged(&at, &size, lib, "own"));
	FAILS(NOT_FOUND, cuLibraryGetGlobal(&at, &size, lib, "none"));
	FAILS(NOT_FOUND, cuLibraryGetKernel(&found, lib, "none"));
	check_log("the library has no kernel 'none'");
	FAILS(NOT_FOUND, cuLibraryGetUnifiedFunction(&function, lib, "none"));
	FAILS(INVALID_VALUE, cuLibraryGetGlobal(NULL, NULL, lib, "own"));
	FAILS(INVALID_VALUE, cuLibraryGetGlobal(&at, NULL, lib, NULL));
	FAILS(INVALID_VALUE, cuLibraryGetKernel(NULL, lib, "none"));
	FAILS(INVALID_HANDLE, cuLibraryGetKernel(&found, (CUlibrary)(void *)load(), "add"));
	FAILS(INVALID_HANDLE, cuLibraryGetModule((CUmodule *)&function, NULL));
	FAILS(INVALID_VALUE, cuKernelGetName((const char **)&function, NULL));
}
END_TEST

START_TEST(libraries_that_cannot_be_loaded_say_why)
{
	CUlibrary lib = (CUlibrary)1;
	CUlibraryOption preserved = CU_LIBRARY_BINARY_IS_PRESERVED;
	CUlibraryOption unknown = CU_LIBRARY_NUM_OPTIONS;
	void *values[] = {(void *)1};
	char log[128] = "";
	CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *logs[] = {log, (void *)sizeof(log)};
	FAILS(INVALID_PTX, cuLibraryLoadData(&lib, "foo", names, logs, 2, NULL, NULL, 0));
	ck_assert_ptr_null(lib);
	ck_assert_ptr_nonnull(strstr(log, "line 1"));
	FAILS(INVALID_VALUE, cuLibraryLoadData(&lib, NULL, NULL, NULL, 0, NULL, NULL, 0));
	FAILS(INVALID_VALUE, cuLibraryLoadData(NULL, api_ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryLoadData(&lib, api_ptx, NULL, NULL, 0, &preserved, values, 1));
	FAILS(INVALID_VALUE, cuLibraryLoadData(&lib, api_ptx, NULL, NULL, 0, &unknown, values, 1));
	FAILS(INVALID_VALUE, cuLibraryLoadData(&lib, api_ptx, NULL, NULL, 0, NULL, NULL, 1));
	FAILS(INVALID_VALUE, cuLibraryLoadFromFile(&lib, KZ_TEST_DIR "/data/fatbin/lz4.fatbin",
		NULL, NULL, 0, &preserved, values, 1));
	FAILS(FILE_NOT_FOUND, cuLibraryLoadFromFile(&lib, "/no", NULL, NULL, 0, NULL, NULL, 0));
	FAILS(NO_BINARY_FOR_GPU, cuLibraryLoadData(&lib, "\177ELF", NULL, NULL, 0, NULL, NULL, 0));
}
END_TEST

START_TEST(occupancy_takes_kernels_of_libraries)
{
	CUlibrary lib = library(api_ptx);
	CUfunction small = (CUfunction)(void *)library_kernel(lib, "small");
	size_t size;
	int blocks;
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small, 64, 0));
	ck_assert_int_eq(blocks, 24);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small, 65, 0));
	ck_assert_int_eq(blocks, 0);
	OK(cuOccupancyAvailableDynamicSMemPerBlock(&size, small, 1, 64));
	ck_assert_uint_eq(size, 48 * 1024);
	OK(cuFuncSetAttribute(small, DYNAMIC, 64 * 1024));
	OK(cuOccupancyAvailableDynamicSMemPerBlock(&size, small, 1, 64));
	ck_assert_uint_eq(size, 64 * 1024);
	FAILS(INVALID_VALUE, cuOccupancyAvailableDynamicSMemPerBlock(&size, small, 25, 64));
	FAILS(INVALID_VALUE, cuOccupancyAvailableDynamicSMemPerBlock(&size, small, 1, 65));
	FAILS(INVALID_VALUE, cuOccupancyAvailableDynamicSMemPerBlock(NULL, small, 1, 1));
}
END_TEST

/* Whichever request fails, the answer is OUT_OF_MEMORY, and all is freed. */
START_TEST(memory_may_run_out_in_a_library)
{
	CUlibrary lib = NULL;
	CUmodule module;
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	for (long n = 0; result != CUDA_SUCCESS; n++) {
		mem_fail_after(n);
		result = cuLibraryLoadData(&lib, api_ptx, NULL, NULL, 0, NULL, NULL, 0);
		mem_fail_after(-1);
		ck_assert(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
	}
	result = CUDA_ERROR_OUT_OF_MEMORY;
	for (long n = 0; result != CUDA_SUCCESS; n++) {
		mem_fail_after(n);
		result = cuLibraryGetModule(&module, lib);
		mem_fail_after(-1);
		ck_assert(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
	}
	OK(cuLibraryUnload(lib));
}
END_TEST

SUITE(api_library)
{
	Suite *suite = suite_create("api_library");
	TCase *tc = add_case(suite, "libraries", setup, teardown);
	tcase_add_loop_test(tc, fat_binaries_run, 0, countof(sample_names));
	tcase_add_tests(tc, 1, files_that_cannot_be_loaded_say_why,
		a_file_with_a_pointer_to_code_is_refused, options_give_logs_and_times,
		verbose_options_tell_of_each_kernel,
		extern_variables_can_be_given_an_address,
		functions_are_compiled_when_they_are_needed,
		kernels_of_a_library_are_functions_of_each_context,
		what_is_set_for_a_kernel_holds_in_every_context, libraries_say_what_they_lack,
		libraries_that_cannot_be_loaded_say_why, occupancy_takes_kernels_of_libraries,
		memory_may_run_out_in_a_library);
	TCase *bare = suite_add_case(suite, "no context");
	tcase_add_test(bare, libraries_need_no_context_to_be_loaded);
	return suite;
}
