/* SPDX-License-Identifier: MIT */
/*
 * A library with kernels, as nvcc makes them: it registers when it is loaded, and hands what
 * unregisters to atexit, which the C library calls when the library or the program goes.  What is
 * called here is what atexit calls in a library: ThreadSanitizer's atexit forgets whose function it
 * is.  There is a plugin for each runtime.
 */
#include "base/common.h"

#include "cudart/program.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT cudaError_t plugin_count(unsigned blocks, unsigned *counter, unsigned *managed);
EXPORT cudaError_t plugin_start(unsigned blocks);
EXPORT const void *plugin_kernel(void);

/* Called when it goes, if it is set. */
EXPORT void (*plugin_at_close)(void);

static struct program plugin_program;
static void *plugin_memory;

extern void *__dso_handle;
int __cxa_atexit(void (*function)(void *), void *arg, void *library);

static void plugin_unregister(void *unused)
{
	(void)unused;
	if (plugin_at_close) {
		plugin_at_close();
	}
	__cudaUnregisterFatBinary(plugin_program.handle);
}

__attribute__((constructor)) static void plugin_register(void)
{
	program_start(&plugin_program);
	__cxa_atexit(plugin_unregister, NULL, &__dso_handle);
}

/* As the destructor of a static object of C++ does it: after the kernels are unregistered. */
__attribute__((destructor)) static void plugin_free(void)
{
	(void)cudaFree(plugin_memory);
}

/* Launch, and do not wait. */
cudaError_t plugin_start(unsigned blocks)
{
	const cudaError_t code = plugin_memory ? cudaSuccess : cudaMalloc(&plugin_memory, 100);
	return code ? code : cudaLaunchKernel(program_count, (dim3){blocks, 1, 1}, (dim3){1, 1, 1},
		NULL, 0, NULL);
}

/* Launch, and get what the two variables have then. */
cudaError_t plugin_count(unsigned blocks, unsigned *counter, unsigned *managed)
{
	cudaError_t code = __cudaInitModule(plugin_program.handle) ? plugin_start(blocks)
		: cudaPeekAtLastError();
	if (!code) {
		code = cudaMemcpyFromSymbol(counter, &program_counter, sizeof(*counter), 0,
			cudaMemcpyDeviceToHost);
	}
	if (!code) {
		*managed = *program_shared;
	}
	return code;
}

const void *plugin_kernel(void)
{
	return (const void *)program_count;
}
