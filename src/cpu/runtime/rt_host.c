/* SPDX-License-Identifier: MIT */
/*
 * Functions of the host that compiled kernels call: end the launch with a failure, printf, assert,
 * malloc and free, conditions of graphs.  A function that fails notes the reason in the worker's
 * struct rt_fail.  Then the code of the kernel traps, and the launch reports the reason.
 */
#include "base/common.h"

#include "cpu/runtime/rt.h"

#include "base/file.h"
#include "base/kudzu_abi.h"
#include "cpu/mem/fault.h"
#include "cpu/runtime/heap.h"
#include "cpu/runtime/device_printf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A worker keeps its first failure. */
void rt_fail(struct rt_warp *warp, uint32_t code, const char *format, ...)
{
	struct rt_fail *fail = warp->fail;
	if (!fail || fail->code != 0) {
		return;
	}
	va_list args;
	va_start(args, format);
	vsnprintf(fail->text, sizeof(fail->text), format, args);
	va_end(args);
	fail->code = code;
	fail->lanes = 0;
}

void rt_fail_code(struct rt_warp *warp, uint32_t code)
{
	rt_fail(warp, code, "%s", code == CUDA_ERROR_HARDWARE_STACK_ERROR
		? "stack overflow (see CU_LIMIT_STACK_SIZE)"
		: "call of an address that is not a function of this kind");
}

/* Text of a kernel goes to the function that the program has named, else to `file`.  False: errno
 * says why it is lost. */
static bool host_write(struct rt_warp *warp, int kind, FILE *file, const char *text, size_t size)
{
	struct rt_host *host = warp->launch->host;
	bool is_taken = false;
	if (host) {
		pthread_mutex_lock(&host->output_lock);
		if (host->output) {
			host->output(host->output_user, kind, text, size);
			is_taken = true;
		}
		pthread_mutex_unlock(&host->output_lock);
	}
	if (is_taken) {
		return true;
	}
	if (host) {
		atomic_store_explicit(&host->output_waits, true, memory_order_relaxed);
	}
	errno = file_print(file, text, size);
	return errno == 0;
}

/* What a kernel printed is lost; the launch says so. */
static void host_note_loss(const struct rt_warp *warp, int error)
{
	if (warp->launch->host) {
		atomic_store_explicit(&warp->launch->host->output_error, error,
			memory_order_relaxed);
	}
}

static bool host_write_print(void *warp, const char *text, size_t size)
{
	return host_write(warp, KUDZU_OUTPUT_PRINTF, stdout, text, size);
}

uint32_t rt_print(struct rt_warp *warp, uint64_t format, uint64_t args)
{
	fault_name("printf, which may have fewer arguments than its format asks for");
	const int result = print_device(host_write_print, warp, (const char *)(uintptr_t)format,
		(const uint8_t *)(uintptr_t)args);
	fault_name(NULL);
	if (result == PRINT_LOST) {
		host_note_loss(warp, errno);
	}
	return (uint32_t)result;
}

/* The message has the words of NVIDIA's driver.  The strings are memory of the kernel, which may
 * not exist.  They are read before anything is locked, as a fault leaves by a jump. */
void rt_assert_fail(struct rt_warp *warp, uint64_t message, uint64_t file, uint32_t line,
	uint64_t function, uint32_t x, uint32_t y, uint32_t z)
{
	const uint32_t *block = warp->ctaid;
	char text[1024];
	fault_name("assert");
	snprintf(text, sizeof(text), "%.200s:%u: %.400s: block: [%u,%u,%u], thread: [%u,%u,%u]"
		" Assertion `%.200s` failed.\n", (const char *)(uintptr_t)file, line,
		(const char *)(uintptr_t)function, block[0], block[1], block[2], x, y, z,
		(const char *)(uintptr_t)message);
	rt_fail(warp, CUDA_ERROR_ASSERT, "assertion `%s' failed at %s:%u",
		(const char *)(uintptr_t)message, (const char *)(uintptr_t)file, line);
	fault_name(NULL);
	fault_hold();
	if (!host_write(warp, KUDZU_OUTPUT_ASSERT, stderr, text, strlen(text))) {
		host_note_loss(warp, errno);
	}
	fault_release();
}

uint64_t rt_malloc(struct rt_warp *warp, uint64_t size)
{
	const struct rt_host *host = warp->launch->host;
	const uint64_t address = host && host->heap ? heap_alloc(host->heap, size) : 0;
	if (unlikely(address != 0 && warp->race)) {
		warp->at[0] = address;
		warp->access = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
		rt_watch(warp, RT_FORGETS, 0);
	}
	return address;
}

uint32_t rt_free(struct rt_warp *warp, uint64_t address)
{
	const struct rt_host *host = warp->launch->host;
	if (address == 0 || (host && host->heap && heap_free(host->heap, address))) {
		return 1;
	}
	rt_fail(warp, CUDA_ERROR_ILLEGAL_ADDRESS, "free of 0x%" PRIx64 ", which malloc did not"
		" return, or which was freed before", address);
	return 0;
}

void rt_deny(struct rt_warp *warp, unsigned lane, uint64_t address, uint32_t code, const char *text)
{
	const bool is_first = warp->fail && warp->fail->code == 0;
	rt_fail(warp, code, "%s", text);
	if (is_first) {
		warp->fail->lanes = 1u << lane;
		warp->fail->address = address;
	}
}

uint32_t rt_check(struct rt_warp *warp, uint32_t access, uint32_t var)
{
	const struct rt_host *host = warp->launch->host;
	return host->check ? host->check(warp, access, var) : 0;
}

void rt_watch(struct rt_warp *warp, uint32_t access, uint32_t pattern)
{
	const struct rt_host *host = warp->launch->host;
	if (warp->race && host->watch) {
		host->watch(warp, access, pattern);
	}
}

void rt_made(struct rt_warp *warp, uint32_t lane, const struct rt_made *made)
{
	const struct rt_host *host = warp->launch->host;
	if (warp->launch->check && host->made) {
		host->made(warp, lane, made);
	}
}

void rt_blame(struct rt_warp *warp, uint32_t lane, uint32_t blame)
{
	const struct rt_host *host = warp->launch->host;
	if (warp->launch->check && host->blame) {
		host->blame(warp, lane, blame);
	}
}

uint32_t rt_set_condition(struct rt_warp *warp, uint64_t handle, uint32_t value)
{
	const struct rt_host *host = warp->launch->host;
	uint32_t *place = host && host->find_condition ? host->find_condition(handle) : NULL;
	if (place) {
		__atomic_store_n(place, value, __ATOMIC_RELEASE);
		return 1;
	}
	rt_fail(warp, CUDA_ERROR_LAUNCH_FAILED, "cudaGraphSetConditional of 0x%" PRIx64
		", which is not the handle of a graph's condition", handle);
	return 0;
}
