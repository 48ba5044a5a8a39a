/* SPDX-License-Identifier: MIT */
/*
 * What check_driver has in place of check_cpu's grid.c and machine.c: kernels run by the driver API
 * alone.  See driver.h.
 */
#include "cpu/support/driver.h"

#include "cpu/support/api.h"
#include "cpu/support/grid.h"
#include "cpu/support/machine.h"

#include "base/str.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

/* For functions that call themselves, at which ptxas cannot know how often. */
#define STACK_SIZE 16384

const bool driver_is_ours = false;

struct grid grid;
struct machine machine;

static CUmodule module;
static CUfunction function;

bool driver_ends_with_a_fault(void)
{
	const char *fork = getenv("CK_FORK");
	return fork && strcmp(fork, "no") == 0;
}

/* Where Check goes on after a test that runs in its own process, if it is linked statically: there
 * is no other way to say that a test is over. */
extern jmp_buf error_jmp_buffer __attribute__((weak));

/* The device cannot run the PTX, as the log says: that ends the test, which passes. */
static void skip_newer(const char *log)
{
	static const char *const words[] = {"not supported on .target", "requires .target"};
	for (size_t i = 0; i < countof(words); i++) {
		if (!strstr(log, words[i])) {
			continue;
		}
		if (!driver_ends_with_a_fault()) {
			exit(EXIT_SUCCESS);
		} else if (&error_jmp_buffer) {
			longjmp(error_jmp_buffer, 1);
		}
	}
}

void driver_keep(void)
{
	static CUcontext kept;
	OK(cuInit(0));
	if (!kept) {
		OK(cuDevicePrimaryCtxRetain(&kept, 0));
	}
	OK(cuCtxSetCurrent(kept));
}

void driver_go_past_cache(bool always)
{
	(void)always;
}

void driver_share(void *memory, size_t size)
{
	driver_keep();
	CUresult result = cuMemHostRegister_v2(memory, size, 0);
	ck_assert(result == CUDA_SUCCESS || result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
}

/* 90; without Check, which fuzz_driver does not run. */
static int capability(void)
{
	int major = 0;
	int minor = 0;
	cuInit(0);
	cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
	cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
	return 10 * major + minor;
}

bool driver_runs(int cc)
{
	return cc <= capability();
}

unsigned long driver_compiled(void)
{
	return 0;
}

/* The newest PTX that the driver reads, for the device with all that only it has. */
static void add_head(struct str *out)
{
	int version = 0;
	int cc = capability();
	cuDriverGetVersion(&version);
	str_addf(out, ".version %s\n.target sm_%d%s\n.address_size 64\n",
		version >= 13000 ? "9.0" : "8.0", cc, cc >= 90 ? "a" : "");
}

CUresult driver_try(CUmodule *out, const char *text)
{
	static const char last[] = ".address_size 64\n";
	const char *rest = strstr(text, last);
	struct str all = STR_INIT;
	add_head(&all);
	str_add(&all, rest ? rest + strlen(last) : text);
	cuCtxSetLimit(CU_LIMIT_STACK_SIZE, STACK_SIZE);
	CUresult result = all.failed ? CUDA_ERROR_OUT_OF_MEMORY : cuModuleLoadData(out, all.data);
	str_free(&all);
	return result;
}

CUmodule driver_load(const char *text)
{
	char log[4096] = "";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)sizeof(log)};
	struct str all = STR_INIT;
	CUmodule loaded = NULL;
	driver_keep();
	add_head(&all);
	str_add(&all, text);
	ck_assert_ptr_nonnull(all.data);
	CUresult result = cuModuleLoadDataEx(&loaded, all.data, countof(options), options, values);
	if (result != CUDA_SUCCESS) {
		skip_newer(log);
		fputs(all.data, stderr);
	}
	ck_assert_msg(result == CUDA_SUCCESS, "load: %d: %.1000s", (int)result, log);
	str_free(&all);
	return loaded;
}

/* Run a kernel on memory of ours, and wait.  The copy is kept, as large as a grid's. */
static CUresult run(const uint32_t size[3], const uint32_t block[2], void *memory, size_t bytes)
{
	static CUcontext owner;
	static CUdeviceptr copy;
	CUcontext current;
	OK(cuCtxGetCurrent(&current));
	if (owner != current) {
		owner = current;
		copy = alloc(sizeof(grid.memory));
	}
	ck_assert_uint_le(bytes, sizeof(grid.memory));
	OK(cuMemcpyHtoD_v2(copy, memory, bytes));
	CUresult result = cuLaunchKernel(function, size[0], size[1], size[2], block[0], block[1], 1,
		0, NULL, (void *[]){&copy}, NULL);
	result = result ? result : cuCtxSynchronize();
	if (result == CUDA_SUCCESS) {
		OK(cuMemcpyDtoH_v2(memory, copy, bytes));
	}
	return result;
}

/* grid.h */

void grid_setup(void)
{
	memcpy(grid.size, (const uint32_t[]){1, 1, 1}, sizeof(grid.size));
	grid.row = 0;
}

void grid_teardown(void)
{
}

CUresult grid_run(uint32_t width, uint32_t threads, const char *declarations, const char *body)
{
	struct str text = STR_INIT;
	uint32_t row = grid.row ? grid.row : threads;
	(void)width;
	grid_add_text(&text, declarations, body);
	ck_assert_ptr_nonnull(text.data);
	module = driver_load(text.data);
	function = kernel(module, "k");
	CUresult result = run(grid.size, (const uint32_t[]){row, threads / row}, grid.memory,
		sizeof(grid.memory));
	if (result == CUDA_SUCCESS) {
		OK(cuModuleUnload(module));
	}
	str_free(&text);
	return result;
}

CUresult grid_run_chosen(uint32_t *width, uint32_t threads, const char *declarations,
	const char *body)
{
	*width = 0;
	return grid_run(0, threads, declarations, body);
}

/* machine.h */

void machine_open(const char *text)
{
	module = driver_load(text + strlen(HEAD));
}

void machine_close(void)
{
	OK(cuModuleUnload(module));
}

void machine_compile(const char *name)
{
	function = kernel(module, name);
}

void machine_run(uint32_t threads, void *memory, size_t size)
{
	CUresult result = run((const uint32_t[]){1, 1, 1}, (const uint32_t[]){threads, 1}, memory,
		size);
	ck_assert_msg(result == CUDA_SUCCESS, "run: %d", (int)result);
}
