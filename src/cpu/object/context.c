/* SPDX-License-Identifier: MIT */
/*
 * What a call begins with: can this process and this thread use the driver, and which context is
 * current?  Each thread has a stack of handles, and the top one is its current context.  A context
 * that was destroyed stays on the stack as a handle without meaning.  A context also keeps the
 * failure of its kernels and their heap.
 */
#include "base/common.h"

#include "cpu/object/context.h"

#include "cpu/config/settings.h"
#include "cpu/profile/profile.h"
#include "cpu/object/cu_device.h"
#include "cpu/object/device_list.h"
#include "cpu/object/handle.h"
#include "cpu/object/log.h"
#include "cpu/runtime/heap.h"

#include <stdarg.h>
#include <stdio.h>

#define STACK_MAX 64

static atomic_bool initialized;
static atomic_bool forked; /* from a process that had called cuInit: its threads are not here */

atomic_bool context_has_output;

/* The calling thread's contexts: handles, the current one last. */
static _Thread_local struct {
	unsigned depth;
	CUcontext stack[STACK_MAX];
} thread;

/* --- Whether the driver can be used --- */

/* In a child process. */
static void context_on_fork(void)
{
	atomic_store(&forked, true);
	api_log_forget_lock();
}

static void context_watch_forks(void)
{
	pthread_atfork(NULL, NULL, context_on_fork);
}

static CUresult context_fail_forked(const char *call)
{
	return api_fail(CUDA_ERROR_NOT_INITIALIZED, "%s: this process was forked from one that had"
		" called cuInit; only that one can use the driver", call);
}

CUresult api_ready(const char *call)
{
	if (unlikely(atomic_load_explicit(&forked, memory_order_relaxed))) {
		return context_fail_forked(call);
	}
	if (!atomic_load_explicit(&initialized, memory_order_acquire)) {
		return api_fail(CUDA_ERROR_NOT_INITIALIZED, "%s: cuInit has not been called", call);
	}
	if (api_in_callback) {
		return api_fail(CUDA_ERROR_NOT_PERMITTED,
			"%s: a host function in a stream, or a callback of the log or of printf, "
			"must not call the driver", call);
	}
	return CUDA_SUCCESS;
}

CUresult api_start(const char *call)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	if (atomic_load(&forked)) {
		return context_fail_forked(call);
	}
	char why[160];
	if (!settings_check(why, sizeof(why)) || !profile_begin(why, sizeof(why))) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %s", call, why);
	}
	pthread_once(&once, context_watch_forks);
	if (device_find() == 0) {
		return api_fail(CUDA_ERROR_NO_DEVICE, "%s: CUDA_VISIBLE_DEVICES names no device",
			call);
	}
	atomic_store_explicit(&initialized, true, memory_order_release);
	return CUDA_SUCCESS;
}

/* --- The current context --- */

CUresult api_enter_release(const char *call, struct context **out)
{
	CUresult result = api_ready(call);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (thread.depth == 0) {
		return api_fail(CUDA_ERROR_INVALID_CONTEXT,
			"%s: this thread has no current context", call);
	}
	*out = handle_get(thread.stack[thread.depth - 1], API_CONTEXT);
	return *out ? CUDA_SUCCESS : api_fail(CUDA_ERROR_CONTEXT_IS_DESTROYED,
		"%s: this thread's current context was destroyed", call);
}

struct context *api_current(void)
{
	return thread.depth > 0 ? handle_get(thread.stack[thread.depth - 1], API_CONTEXT) : NULL;
}

CUresult context_check(struct context *context)
{
	CUresult fault = (CUresult)atomic_load_explicit(&context->fault, memory_order_acquire);
	return likely(fault == CUDA_SUCCESS) ? CUDA_SUCCESS
		: api_fail(fault, "%s", context->fault_text);
}

CUresult api_enter(const char *call, struct context **out)
{
	CUresult result = api_enter_release(call, out);
	return result != CUDA_SUCCESS ? result : context_check(*out);
}

CUresult context_bad_handle(const char *call, CUcontext handle)
{
	return handle_is_past(handle, API_CONTEXT)
		? api_fail(CUDA_ERROR_CONTEXT_IS_DESTROYED, "%s: the context was destroyed", call)
		: api_fail(CUDA_ERROR_INVALID_CONTEXT, "%s: not the handle of a live context",
			call);
}

CUresult context_find(const char *call, CUcontext handle, struct context **out)
{
	if (!handle) {
		return api_enter_release(call, out);
	}
	CUresult result = api_ready(call);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = handle_get(handle, API_CONTEXT);
	return *out ? CUDA_SUCCESS : context_bad_handle(call, handle);
}

CUresult context_check_stack(const char *call)
{
	return thread.depth < STACK_MAX ? CUDA_SUCCESS : api_fail(CUDA_ERROR_OUT_OF_MEMORY,
		"%s: this thread has %d contexts on its stack", call, STACK_MAX);
}

CUresult context_push(const char *call, CUcontext handle)
{
	CUresult result = context_check_stack(call);
	if (result == CUDA_SUCCESS) {
		thread.stack[thread.depth++] = handle;
	}
	return result;
}

bool context_pop(CUcontext *out)
{
	if (thread.depth == 0) {
		return false;
	}
	thread.depth--;
	if (out) {
		*out = thread.stack[thread.depth];
	}
	return true;
}

CUcontext context_top(void)
{
	return thread.depth > 0 ? thread.stack[thread.depth - 1] : NULL;
}

/* --- What a context keeps --- */

void context_poison(struct context *context, CUresult code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	pthread_mutex_lock(&context->lock);
	if (atomic_load(&context->fault) == CUDA_SUCCESS) {
		vsnprintf(context->fault_text, sizeof(context->fault_text), format, args);
		atomic_store_explicit(&context->fault, (unsigned)code, memory_order_release);
	}
	pthread_mutex_unlock(&context->lock);
	va_end(args);
}

bool context_open_heap(struct context *context)
{
	struct device_memory *memory = context->device->memory;
	const struct memory_range wish = {.kind = MEMORY_MODULE, .owner = context,
		.device = context->device->ordinal,
		.size = context->limits[CU_LIMIT_MALLOC_HEAP_SIZE]};
	pthread_mutex_lock(&context->lock);
	if (!context->host.heap) {
		uint64_t base = memory_alloc(memory, &wish);
		context->host.heap = base != 0 ? heap_create(base, wish.size,
			(settings_has_check(CHECK_MEMORY) ? HEAP_GAPS : 0)
			| (settings_has_check(CHECK_INIT) ? HEAP_UNWRITTEN : 0)
			| (settings_checks() != 0 ? HEAP_FINDS : 0)) : NULL;
		if (base != 0 && !context->host.heap) {
			memory_free(memory, base, MEMORY_MODULE);
		}
	}
	bool ok = context->host.heap;
	pthread_mutex_unlock(&context->lock);
	return ok;
}

static const struct context *context_of_host(const struct rt_host *host)
{
	return (const void *)((const char *)host - offsetof(struct context, host));
}

bool context_may_access(const struct rt_host *host, uint64_t address, size_t size,
	struct rt_range *out)
{
	const struct context *context = context_of_host(host);
	struct memory_range range = {0};
	const bool may = memory_allows(context->device->memory, context->device->ordinal,
		atomic_load_explicit(&context->peers, memory_order_relaxed), address, size,
		&range);
	if (out && may && range.size > 0 && range.kind != MEMORY_MAPPED) {
		*out = (struct rt_range){range.address, range.size};
	}
	return may || range.size == 0; // else nothing is there, and the access traps
}

bool context_may_access_all(const struct context *context)
{
	return memory_allows_all(context->device->memory, context->device->ordinal,
		atomic_load_explicit(&context->peers, memory_order_relaxed));
}

CUresult api_allocate(const char *call, CUdeviceptr *out, const struct memory_range *wish)
{
	struct device_memory *memory = ((const struct context *)wish->owner)->device->memory;
	*out = 0;
	if (wish->size == 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the size is 0", call);
	}
	*out = memory_alloc(memory, wish);
	if (*out != 0) {
		return CUDA_SUCCESS;
	}
	struct memory_use use = memory_usage(memory, wish->device);
	return api_fail(CUDA_ERROR_OUT_OF_MEMORY,
		"%s: no room for %zu bytes; %zu of %zu are in use",
		call, wish->size, use.used, use.limit);
}
