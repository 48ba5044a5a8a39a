/* SPDX-License-Identifier: MIT */
/*
 * Contexts.  Each thread has a stack of handles, of which the top one is its current context; a
 * context that was destroyed stays there as a handle that no longer means anything.  The first
 * context of the process makes the device (memory, pool, fault handlers), the last one that goes
 * takes it away, so that nothing runs at load time or at exit.
 */
#include "../base/common.h"

#include "api.h"

#include "../base/alloc.h"
#include "fault.h"

#include <string.h>

#define STACK_MAX 64

struct CUexecAffinityParam_st;
struct CUctxCreateParams_st;

static struct {
	pthread_mutex_t lock;     /* of everything here */
	struct device device;
	unsigned context_count;
	struct context *primary;
	unsigned primary_uses;
	unsigned primary_flags;
	uint64_t last_id;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct {
	unsigned depth;
	CUcontext stack[STACK_MAX];
} thread;

static bool open_device(void)
{
	struct device *device = &state.device;
	if (memory_create(&device->memory, device_memory_size())
	    && pool_create(&device->pool, pool_cores())
	    && launcher_create(&device->launcher, device->pool)
	    && fault_install()) {
		return true;
	}
	pool_release(device->pool);
	launcher_release(device->launcher);
	memory_release(device->memory);
	memset(device, 0, sizeof(*device));
	return false;
}

static void close_device(void)
{
	struct device *device = &state.device;
	pool_release(device->pool);
	launcher_release(device->launcher);
	fault_remove();
	memory_release(device->memory);
	memset(device, 0, sizeof(*device));
}

static void init_limits(struct context *context)
{
	context->limits[CU_LIMIT_STACK_SIZE] = 1024;
	context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
	context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
}

/* The lock is held. */
static CUresult create_locked(struct context **out, unsigned flags)
{
	struct context *context = mem_zalloc(1, sizeof(*context));
	*out = NULL;
	if (context == NULL) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	context->handle = handle_create(API_CONTEXT, context);
	if (context->handle == NULL || (state.context_count == 0 && !open_device())) {
		handle_release(context->handle);
		mem_free(context);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	state.context_count++;
	context->device = &state.device;
	context->flags = flags;
	context->api_version = CUDA_VERSION;
	context->id = ++state.last_id;
	init_limits(context);
	pthread_mutex_init(&context->lock, NULL);
	pthread_rwlockattr_t attr;
	pthread_rwlockattr_init(&attr);
	// Else threads that keep their streams busy would keep the default stream out.
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&context->order, &attr);
	pthread_rwlockattr_destroy(&attr);
	*out = context;
	return CUDA_SUCCESS;
}

/* The lock is held. */
static void destroy_locked(struct context *context)
{
	context_clear(context);
	handle_release(context->handle);
	pthread_rwlock_destroy(&context->order);
	pthread_mutex_destroy(&context->lock);
	mem_free(context);
	if (--state.context_count == 0) {
		close_device();
	}
}

bool object_add(struct object *object, struct context *context, enum api_kind kind)
{
	object->handle = handle_create(kind, object);
	if (object->handle == NULL) {
		return false;
	}
	object->kind = kind;
	object->context = context;
	pthread_mutex_lock(&context->lock);
	object->next = context->objects;
	object->link = &context->objects;
	if (object->next != NULL) {
		object->next->link = &object->next;
	}
	context->objects = object;
	pthread_mutex_unlock(&context->lock);
	return true;
}

void object_remove(struct object *object)
{
	pthread_mutex_lock(&object->context->lock);
	*object->link = object->next;
	if (object->next != NULL) {
		object->next->link = object->link;
	}
	pthread_mutex_unlock(&object->context->lock);
	handle_release(object->handle);
}

void context_wait(struct context *context)
{
	pthread_rwlock_wrlock(&context->order);
	pool_begin(context->device->pool);
	pool_end(context->device->pool);
	pthread_rwlock_unlock(&context->order);
}

void context_clear(struct context *context)
{
	context_wait(context);
	while (context->objects != NULL) {
		struct object *object = context->objects;
		switch (object->kind) {
		case API_MODULE:
			module_free(object);
			break;
		case API_STREAM:
			stream_free(object);
			break;
		default:
			event_free(object);
			break;
		}
	}
	memory_free_owner(context->device->memory, context);
	atomic_store(&context->fault, CUDA_SUCCESS);
}

CUresult api_enter_release(const char *call, struct context **out)
{
	CUresult result = api_ready(call);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (thread.depth == 0) {
		return api_fail(CUDA_ERROR_INVALID_CONTEXT, "%s: this thread has no current context",
			call);
	}
	*out = handle_get(thread.stack[thread.depth - 1], API_CONTEXT);
	return *out != NULL ? CUDA_SUCCESS : api_fail(CUDA_ERROR_CONTEXT_IS_DESTROYED,
		"%s: this thread's current context was destroyed", call);
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

static CUresult push(const char *call, CUcontext handle)
{
	if (thread.depth == STACK_MAX) {
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: this thread has %d contexts on its stack",
			call, STACK_MAX);
	}
	thread.stack[thread.depth++] = handle;
	return CUDA_SUCCESS;
}

/* A context that the caller names; NULL means the current one. */
static CUresult find_context(const char *call, CUcontext handle, struct context **out)
{
	if (handle == NULL) {
		return api_enter_release(call, out);
	}
	CUresult result = api_ready(call);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = handle_get(handle, API_CONTEXT);
	return *out != NULL ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_CONTEXT,
		"%s: not the handle of a live context", call);
}

static CUresult create_current(const char *call, CUcontext *out, unsigned flags, CUdevice device)
{
	CUresult result = api_check_device(call, device);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (out == NULL) {
		return api_null(call, "the context");
	}
	if (flags & ~(unsigned)CU_CTX_FLAGS_MASK) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", call, flags);
	}
	struct context *context;
	pthread_mutex_lock(&state.lock);
	result = create_locked(&context, flags);
	if (result == CUDA_SUCCESS && (result = push(call, context->handle)) != CUDA_SUCCESS) {
		destroy_locked(context);
	}
	*out = result == CUDA_SUCCESS ? context->handle : NULL;
	pthread_mutex_unlock(&state.lock);
	return result;
}

API(cuCtxCreate_v2, CUcontext *out, unsigned int flags, CUdevice device)
{
	return create_current(__func__, out, flags, device);
}

API(cuCtxCreate_v3, CUcontext *out, struct CUexecAffinityParam_st *params, int count,
	unsigned int flags, CUdevice device)
{
	if (params != NULL || count != 0) {
		return api_fail(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
			"%s: the CPU device has no execution affinity", __func__);
	}
	return create_current(__func__, out, flags, device);
}

API(cuCtxCreate_v4, CUcontext *out, struct CUctxCreateParams_st *params, unsigned int flags,
	CUdevice device)
{
	if (params != NULL) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: the CPU device takes no creation parameters", __func__);
	}
	return create_current(__func__, out, flags, device);
}

API(cuCtxDestroy_v2, CUcontext handle)
{
	struct context *context;
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	context = handle_get(handle, API_CONTEXT);
	if (context == NULL || context->is_primary) {
		result = api_fail(CUDA_ERROR_INVALID_CONTEXT, "%s: not %s", __func__, context != NULL
			? "for a primary context, which is released" : "a live context");
	} else {
		destroy_locked(context);
		if (thread.depth > 0 && thread.stack[thread.depth - 1] == handle) {
			thread.depth--;
		}
	}
	pthread_mutex_unlock(&state.lock);
	return result;
}
API_ALIAS(cuCtxDestroy, cuCtxDestroy_v2);

API(cuCtxPushCurrent_v2, CUcontext handle)
{
	struct context *context;
	CUresult result = api_ready(__func__);
	if (result == CUDA_SUCCESS && handle == NULL) {
		return api_fail(CUDA_ERROR_INVALID_CONTEXT, "%s: the context is NULL", __func__);
	}
	if (result == CUDA_SUCCESS) {
		result = find_context(__func__, handle, &context);
	}
	return result == CUDA_SUCCESS ? push(__func__, handle) : result;
}
API_ALIAS(cuCtxPushCurrent, cuCtxPushCurrent_v2);

API(cuCtxPopCurrent_v2, CUcontext *out)
{
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (thread.depth == 0) {
		return api_fail(CUDA_ERROR_INVALID_CONTEXT, "%s: this thread has no current context", __func__);
	}
	thread.depth--;
	if (out != NULL) {
		*out = thread.stack[thread.depth];
	}
	return CUDA_SUCCESS;
}
API_ALIAS(cuCtxPopCurrent, cuCtxPopCurrent_v2);

API(cuCtxSetCurrent, CUcontext handle)
{
	struct context *context;
	CUresult result = api_ready(__func__);
	if (result == CUDA_SUCCESS && handle != NULL) {
		result = find_context(__func__, handle, &context);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	thread.depth -= thread.depth > 0;
	return handle != NULL ? push(__func__, handle) : CUDA_SUCCESS;
}

API(cuCtxGetCurrent, CUcontext *out)
{
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = thread.depth > 0 ? thread.stack[thread.depth - 1] : NULL;
	}
	return result;
}

API(cuCtxGetDevice_v2, CUdevice *out, CUcontext handle)
{
	struct context *context;
	CUresult result = api_need(find_context(__func__, handle, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = 0;
	}
	return result;
}

API(cuCtxGetDevice, CUdevice *out)
{
	return cuCtxGetDevice_v2(out, NULL);
}

API(cuCtxSynchronize, void)
{
	struct context *context;
	CUresult result = api_enter(__func__, &context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	context_wait(context);
	return context_check(context);
}

API(cuCtxSynchronize_v2, CUcontext handle)
{
	if (handle == NULL) {
		return cuCtxSynchronize();
	}
	CUresult result = cuCtxPushCurrent_v2(handle);
	if (result == CUDA_SUCCESS) {
		result = cuCtxSynchronize();
		cuCtxPopCurrent_v2(NULL);
	}
	return result;
}

API(cuCtxGetApiVersion, CUcontext handle, unsigned int *out)
{
	struct context *context;
	CUresult result = api_need(find_context(__func__, handle, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = context->api_version;
	}
	return result;
}

API(cuCtxGetFlags, unsigned int *out)
{
	struct context *context;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = context->flags;
	}
	return result;
}

API(cuCtxGetId, CUcontext handle, unsigned long long *out)
{
	struct context *context;
	CUresult result = api_need(find_context(__func__, handle, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = context->id;
	}
	return result;
}

static CUresult enter_limit(const char *call, CUlimit limit, struct context **out)
{
	CUresult result = api_enter(call, out);
	if (result == CUDA_SUCCESS && (unsigned)limit > CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown limit %d", call, (int)limit);
	}
	if (result == CUDA_SUCCESS && limit > CU_LIMIT_MALLOC_HEAP_SIZE) {
		return api_fail(CUDA_ERROR_UNSUPPORTED_LIMIT, "%s: the CPU device has no limit %d",
			call, (int)limit);
	}
	return result;
}

API(cuCtxSetLimit, CUlimit limit, size_t value)
{
	struct context *context;
	CUresult result = enter_limit(__func__, limit, &context);
	if (result == CUDA_SUCCESS) {
		context->limits[limit] = value;
	}
	return result;
}

API(cuCtxGetLimit, size_t *out, CUlimit limit)
{
	struct context *context;
	CUresult result = api_need(enter_limit(__func__, limit, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = context->limits[limit];
	}
	return result;
}

API(cuCtxGetCacheConfig, CUfunc_cache *out)
{
	struct context *context;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = context->cache;
	}
	return result;
}

API(cuCtxSetCacheConfig, CUfunc_cache config)
{
	struct context *context;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS && (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown value %d", __func__,
			(int)config);
	}
	if (result == CUDA_SUCCESS) {
		context->cache = config;
	}
	return result;
}

API(cuCtxGetStreamPriorityRange, int *least, int *greatest)
{
	struct context *context;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS && least != NULL) {
		*least = 0;
	}
	if (result == CUDA_SUCCESS && greatest != NULL) {
		*greatest = 0;
	}
	return result;
}

API(cuDevicePrimaryCtxRetain, CUcontext *out, CUdevice device)
{
	CUresult result = api_need(api_check_device(__func__, device), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	if (state.primary == NULL) {
		result = create_locked(&state.primary, state.primary_flags);
	}
	if (result == CUDA_SUCCESS) {
		state.primary->is_primary = true;
		state.primary_uses++;
		*out = state.primary->handle;
	}
	pthread_mutex_unlock(&state.lock);
	return result == CUDA_SUCCESS ? result
		: api_fail(result, "%s: out of memory", __func__);
}

API(cuDevicePrimaryCtxRelease_v2, CUdevice device)
{
	CUresult result = api_check_device(__func__, device);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	if (state.primary_uses == 0) {
		result = api_fail(CUDA_ERROR_INVALID_CONTEXT,
			"%s: the primary context is not retained", __func__);
	} else if (--state.primary_uses == 0) {
		destroy_locked(state.primary);
		state.primary = NULL;
	}
	pthread_mutex_unlock(&state.lock);
	return result;
}
API_ALIAS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);

API(cuDevicePrimaryCtxReset_v2, CUdevice device)
{
	CUresult result = api_check_device(__func__, device);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	if (state.primary != NULL) {
		context_clear(state.primary);
	}
	pthread_mutex_unlock(&state.lock);
	return CUDA_SUCCESS;
}
API_ALIAS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2);

API(cuDevicePrimaryCtxSetFlags_v2, CUdevice device, unsigned int flags)
{
	CUresult result = api_check_device(__func__, device);
	if (result == CUDA_SUCCESS && (flags & ~(unsigned)CU_CTX_FLAGS_MASK)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__, flags);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	state.primary_flags = flags;
	if (state.primary != NULL) {
		state.primary->flags = flags;
	}
	pthread_mutex_unlock(&state.lock);
	return CUDA_SUCCESS;
}
API_ALIAS(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2);

API(cuDevicePrimaryCtxGetState, CUdevice device, unsigned int *flags, int *active)
{
	CUresult result = api_check_device(__func__, device);
	if (result == CUDA_SUCCESS && (flags == NULL || active == NULL)) {
		return api_null(__func__, "a result");
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	*flags = state.primary_flags;
	*active = state.primary != NULL;
	pthread_mutex_unlock(&state.lock);
	return CUDA_SUCCESS;
}
