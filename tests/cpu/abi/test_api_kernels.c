/* SPDX-License-Identifier: MIT */
/* Modules, kernels and launches of the CPU driver, through its exported functions. */
#include "cpu/config/settings.h"
#include "cpu/support/api.h"
#include "cpu/stream/queue.h"
#include "support/suite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void nothing(void)
{
}

START_TEST(module_gives_kernels_and_variables)
{
	CUmodule module = load();
	CUmodule of;
	CUfunction functions[4] = {NULL};
	CUfunction none;
	CUdeviceptr step;
	size_t size;
	unsigned count;
	const char *name;
	OK(cuModuleGetFunctionCount(&count, module));
	ck_assert_uint_eq(count, 3);
	OK(cuModuleEnumerateFunctions(functions, 4, module));
	ck_assert_ptr_eq(functions[0], kernel(module, "add"));
	OK(cuFuncGetName(&name, functions[2]));
	ck_assert_str_eq(name, "small");
	FAILS(INVALID_VALUE, cuFuncGetName(&name, NULL));
	OK(cuFuncGetModule(&of, functions[2]));
	ck_assert_ptr_eq(of, module);
	OK(cuModuleGetGlobal_v2(&step, &size, module, "step"));
	ck_assert_uint_eq(size, 4);
	FAILS(NOT_FOUND, cuModuleGetGlobal_v2(&step, &size, module, "stop"));
	FAILS(NOT_FOUND, cuModuleGetFunction(&none, module, "ad"));
	ck_assert_ptr_null(none);
	FAILS(INVALID_VALUE, cuMemFree_v2(step));
	OK(cuModuleUnload(module));
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(&count, step, 4));
}
END_TEST

START_TEST(variables_start_with_their_values)
{
	CUmodule module = load();
	CUdeviceptr step;
	CUdeviceptr where;
	uint32_t value;
	uint64_t address;
	OK(cuModuleGetGlobal_v2(&step, NULL, module, "step"));
	OK(cuModuleGetGlobal_v2(&where, NULL, module, "where"));
	OK(cuMemcpyDtoH_v2(&value, step, 4));
	ck_assert_uint_eq(value, 7);
	OK(cuMemcpyDtoH_v2(&address, where, 8));
	ck_assert_uint_eq(address, step);
}
END_TEST

START_TEST(bad_ptx_is_refused_with_its_line)
{
	static const char bad[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry k()\n{\n\tfoo.u32 %r1;\n\tret;\n}\n";
	char log[1024] = "";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER,
		CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {(void *)sizeof(log), log, NULL};
	CUmodule module;
	FAILS(INVALID_PTX, cuModuleLoadDataEx(&module, bad, 3, options, values));
	ck_assert_ptr_null(module);
	ck_assert_ptr_nonnull(strstr(log, "ptxas application ptx input, line 6; error   : "));
	ck_assert_ptr_nonnull(strstr(log, "foo"));
	ck_assert_ptr_nonnull(strstr(log, "\nptxas fatal   : "));
	ck_assert_uint_eq((uintptr_t)values[0], strlen(log));
	check_log("line 6; error   : ");
	values[0] = (void *)(uintptr_t)8;
	FAILS(INVALID_PTX, cuModuleLoadDataEx(&module, bad, 2, options, values));
	ck_assert_str_eq(log, "ptxas a");
	OK(cuModuleLoadDataEx(&module, api_ptx, 2, options, values));
	ck_assert_uint_eq((uintptr_t)values[0], 0);
}
END_TEST

static CUresult load_text(const char *header, const char *body)
{
	char text[1024];
	CUmodule module;
	snprintf(text, sizeof(text), "%s.address_size 64\n%s", header, body);
	return cuModuleLoadData(&module, text);
}

START_TEST(ptx_of_any_target_loads_but_not_of_an_unknown_version)
{
	const char *body = ".entry k()\n{\n\tret;\n}\n";
	OK(load_text(".version 6.0\n.target sm_30\n", body));
	OK(load_text(".version 9.9\n.target sm_121a\n", body));
	FAILS(UNSUPPORTED_PTX_VERSION, load_text(".version 10.0\n.target sm_75\n", body));
	FAILS(UNSUPPORTED_PTX_VERSION, load_text(".version 99.0\n.target sm_75\n", ".new"));
	check_log("line 1; error   : PTX version 99.0 is newer than this driver, which knows 9.x");
}
END_TEST

START_TEST(valid_ptx_that_does_not_run_here_is_not_supported)
{
	const char *header = ".version 8.0\n.target sm_75\n";
	const char *cluster = ".file 3 \"/src/k.cu\"\n.entry k()\n{\n.reg .u32 %r;\n"
		"\t.loc 3 17 5\n\tgetctarank.u32\n\t%r,\n\t%r;\n\tret;\n}\n";
	const char *newer = ".version 9.5\n.target sm_90\n";
	const char *fabric = ".entry k()\n{\n\tfabric.submit.commit_group;\n\tret;\n}\n";
	const char *part = ".entry k()\n{\n.reg .b32 %r;\n\tadd.u8x4 %r, %r, %r;\n\tret;\n}\n";
	FAILS(INVALID_PTX, load_text(header, fabric));
	FAILS(NOT_SUPPORTED, load_text(newer, fabric));
	check_log("line 6; error   : unknown instruction 'fabric.submit.commit_group'; the text "
		"is PTX 9.5, of which the CPU device knows what is in PTX 9.0 and little more");
	FAILS(NOT_SUPPORTED, load_text(newer, part));
	check_log("'add.u8x4'");
	FAILS(NOT_SUPPORTED, load_text(header, ".global .texref a;\n"));
	FAILS(NOT_SUPPORTED, load_text(header, cluster));
	check_log("line 9; error   : instruction 'getctarank.u32' (k.cu:17) is not "
		"supported by the CPU device");
}
END_TEST

static const struct {
	CUjit_option option;
	uintptr_t value;
	CUresult result;
} option_rows[] = {
	{CU_JIT_MAX_REGISTERS, 0, CUDA_ERROR_INVALID_VALUE},
	{CU_JIT_MAX_REGISTERS, 32, CUDA_SUCCESS},
	{CU_JIT_TARGET, 10, CUDA_ERROR_INVALID_VALUE}, {CU_JIT_TARGET, 80, CUDA_SUCCESS},
	{CU_JIT_CACHE_MODE, 7, CUDA_ERROR_INVALID_VALUE}, {CU_JIT_CACHE_MODE, 2, CUDA_SUCCESS},
	{CU_JIT_OPTIMIZATION_LEVEL, 9, CUDA_SUCCESS}, {CU_JIT_FALLBACK_STRATEGY, 9, CUDA_SUCCESS},
	{(CUjit_option)99, 0, CUDA_ERROR_INVALID_VALUE},
};

/* As NVIDIA's driver, which does not look at all of them. */
START_TEST(options_of_the_compiler_have_a_range)
{
	static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n.entry k() { "
		"ret; }\n";
	CUjit_option option = option_rows[_i].option;
	void *value = (void *)option_rows[_i].value;
	CUmodule module;
	ck_assert_int_eq(cuModuleLoadDataEx(&module, text, 1, &option, &value),
		option_rows[_i].result);
}
END_TEST

/* Without a debugger a breakpoint ends the kernel, as on a GPU. */
START_TEST(a_breakpoint_ends_a_kernel)
{
	CUmodule module;
	OK(cuModuleLoadData(&module, ".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry k() { brkpt; ret; }\n"));
	OK(cuLaunchKernel(kernel(module, "k"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	FAILS(LAUNCH_FAILED, cuCtxSynchronize());
}
END_TEST

START_TEST(images_other_than_ptx_are_refused)
{
	CUmodule module;
	FAILS(NO_BINARY_FOR_GPU, cuModuleLoadData(&module, "\177ELF\2\1\1A"));
	check_log("this is a cubin");
	FAILS(INVALID_IMAGE, cuModuleLoadData(&module, ""));
	FAILS(INVALID_IMAGE, cuModuleLoadData(&module, "\1\2"));
	FAILS(INVALID_PTX, cuModuleLoadData(&module, "not PTX at all"));
}
END_TEST

START_TEST(kernels_have_attributes)
{
	static const struct {
		CUfunction_attribute attribute;
		int value;
	} rows[] = {
		{CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
		{CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 0},
		{CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 0},
		{CU_FUNC_ATTRIBUTE_PTX_VERSION, 75},
		{CU_FUNC_ATTRIBUTE_BINARY_VERSION, 89},
		{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 49152},
	};
	CUmodule module = load();
	CUfunction add = kernel(module, "add");
	size_t offset;
	size_t size;
	int value;
	for (size_t i = 0; i < countof(rows); i++) {
		OK(cuFuncGetAttribute(&value, rows[i].attribute, add));
		ck_assert_int_eq(value, rows[i].value);
	}
	OK(cuFuncGetParamInfo(add, 1, &offset, &size));
	ck_assert_uint_eq(offset, 8);
	ck_assert_uint_eq(size, 4);
	FAILS(INVALID_VALUE, cuFuncGetParamInfo(add, 2, &offset, &size));
	FAILS(INVALID_VALUE,
		cuFuncGetAttribute(&value, (CUfunction_attribute)99, add));
	FAILS(INVALID_VALUE, cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_NUM_REGS, 1));
}
END_TEST

static void check_added(CUdeviceptr address, uint32_t n, uint32_t expected)
{
	static uint32_t words[4096];
	OK(cuMemcpyDtoH_v2(words, address, n * 4));
	for (uint32_t i = 0; i < n; i++) {
		ck_assert_uint_eq(words[i], expected);
	}
}

START_TEST(kernels_run_with_parameters_of_both_kinds)
{
	CUmodule module = load();
	CUfunction add = kernel(module, "add");
	CUdeviceptr a = alloc(4096 * 4);
	CUdeviceptr step;
	uint32_t three = 3;
	OK(launch_add(add, a, 4096, NULL));
	check_added(a, 4096, 7);
	OK(cuModuleGetGlobal_v2(&step, NULL, module, "step"));
	OK(cuMemcpyHtoD_v2(step, &three, 4));
	struct {
		CUdeviceptr p;
		uint32_t n;
	} bytes = {a, 4096};
	size_t size = 12;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
		CU_LAUNCH_PARAM_END};
	CUlaunchConfig config = {.gridDimX = 128, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32,
		.blockDimY = 1, .blockDimZ = 1};
	OK(cuLaunchKernelEx(&config, add, NULL, extra));
	check_added(a, 4096, 10);
	size = 11;
	FAILS(INVALID_VALUE, cuLaunchKernelEx(&config, add, NULL, extra));
	size = sizeof(bytes);
	FAILS(LAUNCH_OUT_OF_RESOURCES, cuLaunchKernelEx(&config, add, NULL, extra));
	setenv("KUDZU_CPU_LIMITS", "off", 1);
	OK(cuLaunchKernelEx(&config, add, NULL, extra));
	unsetenv("KUDZU_CPU_LIMITS");
	check_added(a, 4096, 13);
	CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
		.value.cooperative = 1};
	config.attrs = &cooperative;
	config.numAttrs = 1;
	size = 12;
	OK(cuLaunchKernelEx(&config, add, NULL, extra));
	config.gridDimX = 1u << 30;
	FAILS(COOPERATIVE_LAUNCH_TOO_LARGE, cuLaunchKernelEx(&config, add, NULL, extra));
	FAILS(INVALID_VALUE, cuLaunchKernelEx(NULL, add, NULL, extra));
}
END_TEST

#define HEAD ".version 7.7\n.target sm_75\n.address_size 64\n"

/* What ptxas says of the same text. */
static const struct {
	const char *text, *why;
} beyond[] = {
	{HEAD ".const .align 4 .b8 c[65536];\n.const .b8 d;\n.visible .entry k() { ret; }\n",
		"ptxas error   : File uses too much global constant data (0x10001 bytes, 0x10000 "
		"max)"},
	{HEAD ".const .align 4 .b8 c[65533];\n.const .align 4 .b8 d[1];\n.visible .entry k() { "
		"ret; }\n", "(0x10001 bytes, 0x10000 max)"},
};

START_TEST(what_ptxas_refuses_for_its_size_is_refused)
{
	char log[1024] = "";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER};
	void *values[] = {(void *)sizeof(log), log};
	CUmodule module;
	FAILS(INVALID_PTX, cuModuleLoadDataEx(&module, beyond[_i].text, 2, options, values));
	ck_assert_ptr_nonnull(strstr(log, beyond[_i].why));
	setenv("KUDZU_CPU_LIMITS", "off", 1);
	OK(cuModuleLoadData(&module, beyond[_i].text));
	unsetenv("KUDZU_CPU_LIMITS");
	OK(cuModuleUnload(module));
	/* exactly the most that there is */
	OK(cuModuleLoadData(&module, HEAD ".const .align 4 .b8 c[65532];\n.const .align 4 .b8 "
		"d[4];\n"
		".visible .entry k() { ret; }\n"));
}
END_TEST

/* Static shared memory, and the dynamic one that it leaves: 48 KiB together, or all that a block
 * can have. */
static const int shares[][2] = {{49152, 0}, {40000, 9152}, {49156, 101376 - 49156},
	{60000, 101376 - 60000}};

START_TEST(static_shared_memory_leaves_dynamic_one)
{
	char text[256];
	CUmodule module;
	int most;
	snprintf(text, sizeof(text), HEAD ".visible .entry k() { .shared .align 4 .b8 s[%d]; ret; "
		"}\n", shares[_i][0]);
	OK(cuModuleLoadData(&module, text));
	OK(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
		kernel(module, "k")));
	ck_assert_int_eq(most, shares[_i][1]);
	OK(cuLaunchKernel(kernel(module, "k"), 1, 1, 1, 1, 1, 1, (unsigned)most, NULL, NULL, NULL));
	FAILS(INVALID_VALUE, cuLaunchKernel(kernel(module, "k"), 1, 1, 1, 1, 1, 1,
		(unsigned)most + 1, NULL, NULL, NULL));
}
END_TEST

START_TEST(parameters_lie_as_they_are_aligned)
{
	char text[512];
	uint8_t bytes[4096] = {[4095] = 9};
	uint64_t found[2];
	CUmodule module;
	CUdeviceptr to = alloc(sizeof(found));
	unsigned align = 16u << _i;
	snprintf(text, sizeof(text), HEAD ".visible .entry k(.param .u64 p, .param .align %u .b8 "
		"a[%u])\n"
		"{ .reg .b64 %%p<3>; .reg .u64 %%v; ld.param.u64 %%p0, [p]; mov.b64 %%p1, a;\n"
		"cvta.param.u64 %%p1, %%p1; st.u64 [%%p0], %%p1; ld.param.u8 %%v, [a+%u];\n"
		"st.u64 [%%p0+8], %%v; ret; }\n", align, align, align - 1);
	OK(cuModuleLoadData(&module, text));
	void *values[] = {&to, bytes + 4096 - align};
	OK(cuLaunchKernel(kernel(module, "k"), 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL));
	OK(cuMemcpyDtoH_v2(found, to, sizeof(found)));
	ck_assert_uint_eq(found[0] % align, 0);
	ck_assert_uint_eq(found[1], 9);
}
END_TEST

#ifndef __SANITIZE_ADDRESS__ // a sanitizer ends the process at the access itself
START_TEST(a_fault_in_printf_names_printf)
{
	static const char text[] = HEAD
		".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
		".global .b8 two[7] = {37, 115, 37, 115, 10, 0};\n"
		".visible .entry k()\n{ .reg .b64 %p; mov.u64 %p, two;\n"
		".param .b64 f; st.param.b64 [f], %p; .param .b64 a; st.param.b64 [a], 0;\n"
		".param .b32 r; call (r), vprintf, (f, a); ret; }\n";
	CUmodule module;
	OK(cuModuleLoadData(&module, text));
	OK(cuLaunchKernel(kernel(module, "k"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	FAILS(ILLEGAL_ADDRESS, cuCtxSynchronize());
	check_log("kernel 'k': printf, which may have fewer arguments than its format asks for: "
		"access to address 0x0");
}
END_TEST
#endif

START_TEST(variables_are_aligned_as_declared)
{
	static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .global .b8 first[3];\n.visible .global .align 4096 .b8 g[4096];\n"
		".visible .entry where(.param .u64 p)\n{\n"
		"	.local .b8 pad[3]; .local .align 2048 .b8 l[2048];\n"
		"	.shared .b8 first_shared[3]; .shared .align 1024 .b8 s[1024];\n"
		"	.reg .b64 %rd<5>; .reg .b32 %r<2>;\n"
		"	ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 8;\n"
		"	add.u64 %rd1, %rd1, %rd2; mov.u64 %rd3, l; mov.u64 %rd4, s;\n"
		"	cvta.shared.u64 %rd4, %rd4; and.b64 %rd4, %rd4, 1023;\n"
		"	and.b64 %rd3, %rd3, 2047; or.b64 %rd3, %rd3, %rd4; st.u64 [%rd1], %rd3;\n"
		"	ret;\n}\n";
	uint64_t offsets[8];
	CUmodule module;
	CUdeviceptr memory;
	void *values[] = {&memory};
	OK(cuModuleLoadData(&module, text));
	OK(cuModuleGetGlobal_v2(&memory, NULL, module, "g"));
	ck_assert_uint_eq(memory % 4096, 0);
	OK(cuMemAlloc_v2(&memory, sizeof(offsets)));
	OK(cuMemsetD8_v2(memory, 0xff, sizeof(offsets)));
	OK(cuLaunchKernel(kernel(module, "where"), 1, 1, 1, 8, 1, 1, 0, NULL, values, NULL));
	OK(cuMemcpyDtoH_v2(offsets, memory, sizeof(offsets)));
	for (size_t i = 0; i < countof(offsets); i++) {
		ck_assert_uint_eq(offsets[i], 0);
	}
}
END_TEST

START_TEST(launches_beyond_the_device_are_refused)
{
	static const struct {
		unsigned grid[3];
		unsigned block[3];
		unsigned shared;
		CUresult code;
	} rows[] = {
		{{0, 1, 1}, {1, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
		{{1, 1, 1}, {1, 0, 1}, 0, CUDA_ERROR_INVALID_VALUE},
		{{0x80000000, 1, 1}, {1, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
		{{1, 65536, 1}, {1, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
		{{1, 1, 1}, {1, 1, 65}, 0, CUDA_ERROR_INVALID_VALUE},
		{{1, 1, 1}, {1024, 2, 1}, 0, CUDA_ERROR_INVALID_VALUE},
		{{1, 1, 1}, {65, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
		{{1, 1, 1}, {1, 1, 1}, 49153, CUDA_ERROR_INVALID_VALUE},
		{{1, 1, 1}, {64, 1, 1}, 49152, CUDA_SUCCESS},
	};
	CUfunction small = kernel(load(), "small");
	for (size_t i = 0; i < countof(rows); i++) {
		const unsigned *g = rows[i].grid;
		const unsigned *b = rows[i].block;
		ck_assert_int_eq(cuLaunchKernel(small, g[0], g[1], g[2], b[0], b[1], b[2],
			rows[i].shared, NULL, NULL, NULL), rows[i].code);
	}
	CUfunction_attribute dynamic = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
	FAILS(INVALID_VALUE, cuFuncSetAttribute(small, dynamic, 101377));
	OK(cuFuncSetAttribute(small, dynamic, 101376));
	OK(cuLaunchKernel(small, 1, 1, 1, 1, 1, 1, 101376, NULL, NULL, NULL));
}
END_TEST

START_TEST(launches_without_all_parameters_are_refused)
{
	CUfunction add = kernel(load(), "add");
	CUdeviceptr a = alloc(4);
	void *values[] = {&a, NULL};
	void *extra[] = {CU_LAUNCH_PARAM_END};
	FAILS(INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	FAILS(INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL));
	check_log("kernel 'add' has 2 parameters; that of index 1 is missing");
	FAILS(INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, values, extra));
	FAILS(INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
}
END_TEST

START_TEST(wild_pointer_poisons_the_context_until_it_is_reset)
{
	CUmodule module = load();
	CUfunction add = kernel(module, "add");
	CUdeviceptr a = alloc(4096);
	CUdeviceptr b;
	CUstream stream;
	OK(cuStreamCreate(&stream, 0));
	OK(launch_add(add, a + 4096, 1, stream));
	FAILS(ILLEGAL_ADDRESS, cuCtxSynchronize());
	check_log("kernel 'add': access to address 0x");
	check_log("which is 0 bytes past the end of the 4096-byte allocation");
	check_log("block (0,0,0), thread (0,0,0)");
	FAILS(ILLEGAL_ADDRESS, cuMemAlloc_v2(&b, 1));
	FAILS(ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
	FAILS(ILLEGAL_ADDRESS, launch_add(add, a, 1, NULL));
	// cuda.h: what releases something may also return errors of earlier launches.  It does
	// release.
	FAILS(ILLEGAL_ADDRESS, cuStreamDestroy_v2(stream));
	FAILS(INVALID_HANDLE, cuStreamDestroy_v2(stream));
	FAILS(ILLEGAL_ADDRESS, cuMemFree_v2(a));
	FAILS(INVALID_VALUE, cuMemFree_v2(a));
	FAILS(ILLEGAL_ADDRESS, cuModuleUnload(module));
	FAILS(INVALID_HANDLE, cuModuleUnload(module));
	reset();
	OK(cuCtxSynchronize());
	FAILS(INVALID_HANDLE, launch_add(add, a, 1, NULL));
	b = alloc(4096);
	OK(launch_add(kernel(load(), "add"), b, 1024, NULL));
	check_added(b, 1024, 7);
}
END_TEST

/* One of those that are outside; with 32 lanes in one access not always the first. */
START_TEST(a_fault_names_its_thread_and_that_ones_address)
{
	static const unsigned inside[] = {0, 5, 16, 21, 31};
	unsigned first = inside[_i / 2];
	unsigned past;
	unsigned thread;
	setenv("KUDZU_CPU_WIDTH", _i % 2 == 0 ? "1" : "32", 1);
	OK(launch_add(kernel(load(), "add"), alloc(4096) + 4096 - 4 * first, 32, NULL));
	FAILS(ILLEGAL_ADDRESS, cuCtxSynchronize());
	const char *log = api_last_log();
	const char *where = strstr(log, "which is ");
	ck_assert_msg(where != NULL && sscanf(where, "which is %u", &past) == 1, "%s", log);
	where = strstr(log, "thread (");
	ck_assert_msg(where != NULL && sscanf(where, "thread (%u,0,0)", &thread) == 1, "%s", log);
	ck_assert_uint_ge(thread, first);
	ck_assert_uint_eq(past, 4 * (thread - first));
}
END_TEST

START_TEST(wild_shared_address_reaches_nothing_else)
{
	static const char *const stores[] = {
		"mov.u32 %r1, s; st.shared.u32 [%r1+-4], 1;",
		"mov.u32 %r1, 0x80000000; st.shared.u32 [%r1+-2147483648], 1;",
		"mov.u32 %r1, 0x7fffffff; st.shared.u32 [%r1+2147483647], 1;",
		"mov.u64 %rd1, 0x123456789abcdef0; st.shared.u32 [%rd1], 1;",
		"mov.u32 %r1, s; atom.shared.add.u32 _, [%r1+-4], 1;",
	};
	char text[400];
	CUmodule module;
	snprintf(text, sizeof(text), ".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry wild()\n{\n	.shared .b8 s[16]; .reg .b32 %%r<2>;\n"
		"	.reg .b64 %%rd<2>;\n	%s\n	ret;\n}\n", stores[_i]);
	OK(cuModuleLoadData(&module, text));
	OK(cuLaunchKernel(kernel(module, "wild"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	FAILS(ILLEGAL_ADDRESS, cuCtxSynchronize());
	check_log("of 16 bytes of shared memory");
	reset();
}
END_TEST

START_TEST(failed_kernel_leaves_other_contexts_alone)
{
	CUcontext other = new_context();
	CUfunction stop = kernel(load(), "stop");
	OK(cuLaunchKernel(stop, 100, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	FAILS(LAUNCH_FAILED, cuStreamSynchronize(NULL));
	check_log("kernel 'stop': trap (PTX line ");
	OK(cuCtxSetCurrent(context));
	CUdeviceptr a = alloc(128);
	OK(launch_add(kernel(load(), "add"), a, 32, NULL));
	check_added(a, 32, 7);
	OK(cuCtxDestroy_v2(other));
}
END_TEST

/* A symbol, and how messages say it. */
static const struct {
	const char *symbol;
	const char *name;
} names[] = {
	{"stop", "stop"},
	{"_Z4stopPfi", "stop"},
	{"_ZL4stopv", "stop"},
	{"_Z5scaleIfLi4EEvPT_", "scale<float, 4>"},
	{"_ZN2ns5inner5scaleIfEEvPf", "ns::inner::scale<float>"},
	{"_Z1kIPKdLin3ELb1ELj7EEvv", "k<const double *, -3, true, 7>"},
	{"_Z1kIN2ns4pairIi6__halfEEbEvv", "k<ns::pair<int, __half>, bool>"},
	{"_Z1kIN2ns5pointES1_EvT_", "k<...>"},
	{"_Z1kIJifEEvDpT_", "k<...>"},
	{"_Z1kILi", "k<...>"},
	{"_Z1kIE", "k<...>"},
	{"_Z1kIXsrT_EEvv", "k<...>"},
	{"_Z1kIN1aIiE1bES1_Evv", "k<...>"},
	{"_ZN1aIiE1bEv", "a<int>::b"},
	{"_ZN1aIS0_E1bEv", "a<...>"},
	{"_ZNK1a4stopEv", "a::stop"},
	{"_ZN1aIiEC1Ev", "a<int>::a"},
	{"_ZNK1aclEf", "a::operator()"},
	{"_ZC1v", "_ZC1v"},
	{"_ZN1aC", "_ZN1aC"},
	{"_ZZ4stopPfE4tile", "tile"},
	{"_ZZ4stop1EE4tile_10", "tile"},
	{"_ZZ4stopvEUlvE_", "_ZZ4stopvEUlvE_"},
	{"_ZN12_GLOBAL__N_14stopEv", "(anonymous namespace)::stop"},
	{"_Z", "_Z"},
	{"_ZN", "_ZN"},
	{"_Z9stop", "_Z9stop"},
	{"_Zpl1aS_", "operator+"},
	{"_ZN2nspl1aS_", "_ZN2nspl1aS_"},
	{"_Z99999999999999999999stop", "_Z99999999999999999999stop"},
};

START_TEST(failed_kernel_is_named_as_in_the_source)
{
	char text[512];
	char said[80];
	CUmodule module;
	snprintf(text, sizeof(text), ".version 8.0\n.target sm_75\n.address_size 64\n"
		".visible .entry %s()\n{\n\ttrap;\n}\n", names[_i].symbol);
	snprintf(said, sizeof(said), "kernel '%s': trap", names[_i].name);
	OK(cuModuleLoadData(&module, text));
	OK(cuLaunchKernel(kernel(module, names[_i].symbol), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	FAILS(LAUNCH_FAILED, cuCtxSynchronize());
	check_log(said);
}
END_TEST

/* In a process that was forked when there was a context. */
static bool is_refused_in_child(CUfunction add, CUdeviceptr address)
{
	uint32_t word;
	CUcontext primary;
	bool ok = cuInit(0) == CUDA_ERROR_NOT_INITIALIZED
		&& launch_add(add, address, 4096, NULL) == CUDA_ERROR_NOT_INITIALIZED
		&& cuMemcpyDtoH_v2(&word, address, 4) == CUDA_ERROR_NOT_INITIALIZED
		&& cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED
		&& cuDevicePrimaryCtxRetain(&primary, 0) == CUDA_ERROR_NOT_INITIALIZED
		&& cuDevicePrimaryCtxRelease_v2(0) == CUDA_ERROR_NOT_INITIALIZED;
	return ok && strstr(api_last_log(), "forked") != NULL;
}

START_TEST(forked_process_is_refused_and_does_not_hang)
{
	int status;
	CUfunction add = kernel(load(), "add");
	CUdeviceptr a = alloc(4096 * 4);
	OK(launch_add(add, a, 4096, NULL));
	queue_lock(); // as a thread of the device may have it: nobody gives it back in the child
	pid_t child = fork();
	if (child == 0) {
		alarm(20);
		_exit(is_refused_in_child(add, a) ? 0 : 1);
	}
	queue_unlock();
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status 0x%x", status);
	OK(launch_add(add, a, 4096, NULL));
	check_added(a, 4096, 14);
}
END_TEST

struct worker {
	CUfunction add;
	CUstream stream;
	CUdeviceptr address;
};

static void *add_many_times(void *data)
{
	struct worker *w = data;
	OK(cuCtxSetCurrent(context));
	OK(cuStreamCreate(&w->stream, CU_STREAM_DEFAULT));
	for (int i = 0; i < 50; i++) {
		OK(launch_add(w->add, w->address, 1024, i % 10 == 0 ? NULL : w->stream));
		OK(cuMemsetD32Async(w->address + 4096, 7, 1, w->stream));
	}
	OK(cuStreamSynchronize(w->stream));
	OK(cuStreamDestroy_v2(w->stream));
	return NULL;
}

START_TEST(threads_work_side_by_side)
{
	struct worker workers[4];
	pthread_t threads[4];
	CUmodule module = load();
	for (size_t i = 0; i < 4; i++) {
		workers[i] = (struct worker){kernel(module, "add"), NULL, alloc(4100)};
		ck_assert_int_eq(pthread_create(&threads[i], NULL, add_many_times, &workers[i]), 0);
	}
	for (size_t i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		check_added(workers[i].address, 1024, 350);
	}
}
END_TEST

/* What a small program does; returns the first failure. */
static CUresult run_program(void)
{
	CUcontext primary;
	CUmodule module;
	CUfunction add;
	CUdeviceptr address;
	CUstream stream;
	CUevent event;
	CUresult result = cuDevicePrimaryCtxRetain(&primary, 0);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if ((result = cuCtxSetCurrent(primary)) == CUDA_SUCCESS
	    && (result = cuModuleLoadData(&module, api_ptx)) == CUDA_SUCCESS
	    && (result = cuModuleGetFunction(&add, module, "add")) == CUDA_SUCCESS
	    && (result = cuStreamCreate(&stream, 0)) == CUDA_SUCCESS
	    && (result = cuEventCreate(&event, 0)) == CUDA_SUCCESS
	    && (result = cuMemAlloc_v2(&address, 256)) == CUDA_SUCCESS
	    && (result = launch_add(add, address, 64, stream)) == CUDA_SUCCESS) {
		result = cuEventRecord(event, stream);
		// A kernel that gets no memory may be found out later.
		result = result == CUDA_SUCCESS ? cuStreamSynchronize(stream) : result;
	}
	OK(cuDevicePrimaryCtxRelease_v2(0));
	return result;
}

/* Also of what a debugger gets. */
START_TEST(every_failing_malloc_becomes_an_error)
{
	bool failed = true;
	settings_put(SETTING_DEBUG, _i == 0 ? DEBUG_OFF : DEBUG_ON);
	OK(run_program()); /* opens the cache, which can do without memory */
	for (long n = 0; failed; n++) {
		mem_fail_after(n);
		CUresult result = run_program();
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(result, failed ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS);
	}
	settings_put(SETTING_DEBUG, 0);
}
END_TEST

SUITE(api_kernels)
{
	Suite *suite = suite_create("api_kernels");
	TCase *tc = add_case(suite, "modules", setup, teardown);
	tcase_add_tests(tc, 1, module_gives_kernels_and_variables,
		variables_start_with_their_values, bad_ptx_is_refused_with_its_line,
		ptx_of_any_target_loads_but_not_of_an_unknown_version,
		valid_ptx_that_does_not_run_here_is_not_supported,
		images_other_than_ptx_are_refused, kernels_have_attributes);
	tcase_add_loop_test(tc, options_of_the_compiler_have_a_range, 0, countof(option_rows));
	tc = add_case(suite, "launch", setup, teardown);
	tcase_add_test(tc, a_breakpoint_ends_a_kernel);
	tcase_add_tests(tc, 1, kernels_run_with_parameters_of_both_kinds,
		variables_are_aligned_as_declared, launches_beyond_the_device_are_refused,
		launches_without_all_parameters_are_refused,
		wild_pointer_poisons_the_context_until_it_is_reset);
	tcase_add_loop_test(tc, what_ptxas_refuses_for_its_size_is_refused, 0, countof(beyond));
#ifndef __SANITIZE_ADDRESS__
	tcase_add_test(tc, a_fault_in_printf_names_printf);
#endif
	tcase_add_loop_test(tc, static_shared_memory_leaves_dynamic_one, 0, countof(shares));
	tcase_add_loop_test(tc, parameters_lie_as_they_are_aligned, 0, 9);
	tcase_add_loop_test(tc, a_fault_names_its_thread_and_that_ones_address, 0, 10);
	tcase_add_loop_test(tc, wild_shared_address_reaches_nothing_else, 0, 5);
	tcase_add_test(tc, failed_kernel_leaves_other_contexts_alone);
	tcase_add_loop_test(tc, failed_kernel_is_named_as_in_the_source, 0, countof(names));
	tcase_add_tests(tc, 1, forked_process_is_refused_and_does_not_hang,
		threads_work_side_by_side);
	tc = add_case(suite, "memory", init, nothing);
	tcase_add_loop_test(tc, every_failing_malloc_becomes_an_error, 0, 2);
	return suite;
}
