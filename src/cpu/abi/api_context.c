/* SPDX-License-Identifier: MIT */
/*
 * Contexts: how they are created and destroyed.  object/context.c has what every call asks of them.
 * The primary context always has the same handle, which is valid while the context is active.
 *
 * The first user, mostly a context, makes the memory, which all devices share, and the handlers of
 * faults; the first context of a device makes its worker threads.  The last user removes them, so
 * that nothing runs at load time or at exit.
 *
 * A context that is destroyed first loses its handle.  Then its work ends, while no lock is held: a
 * host function that is still running may wait for another thread, and that thread may need a
 * context.
 */
#include "base/common.h"

#include "cpu/abi/api.h"
#include "cpu/abi/api_array.h"

#include "base/alloc.h"
#include "cpu/check/race.h"
#include "cpu/check/report.h"
#include "cpu/check/values.h"
#include "cpu/exec/worker_pool.h"
#include "cpu/mem/fault.h"
#include "cpu/profile/profile.h"
#include "cpu/stream/condition.h"
#include "cpu/stream/launch_slot.h"

#include <errno.h>
#include <string.h>

/* The primary context of a device. */
struct primary {
	struct context *context;  /* NULL while it is not active */
	CUcontext handle;         /* NULL before its first use */
	unsigned uses;
	unsigned flags;
};

static struct {
	pthread_mutex_t lock;     /* of everything here */
	struct device devices[SETTINGS_MAX_DEVICES];
	struct primary primaries[SETTINGS_MAX_DEVICES];
	struct device_memory *memory;
	unsigned memory_uses;     /* by devices, and by memory that is in no context */
	uint64_t last_id;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The lock is held.  Each success is paired with a call of context_close_memory. */
static bool context_open_memory(void)
{
	if (state.memory_uses > 0
	    || device_memory_create(&state.memory, (unsigned)device_count(), device_bytes())) {
		if (state.memory_uses > 0 || fault_install()) {
			state.memory_uses++;
			return true;
		}
		device_memory_release(state.memory);
		state.memory = NULL;
	}
	return false;
}

static void context_close_memory(void)
{
	if (--state.memory_uses == 0) {
		fault_remove();
		device_memory_release(state.memory);
		state.memory = NULL;
	}
}

/* The lock is held.  Each success is paired with a call of context_close_device. */
static bool context_open_device(struct device *device)
{
	if (device->uses > 0) {
		device->uses++;
		return true;
	}
	if (!context_open_memory()) {
		return false;
	}
	if (!pool_create(&device->pool, device_cores())) {
		context_close_memory();
		return false;
	}
	device->ordinal = (unsigned)(device - state.devices);
	device->memory = state.memory;
	device->uses = 1;
	launch_slots_open(device);
	return true;
}

static void context_close_device(struct device *device)
{
	if (--device->uses > 0) {
		return;
	}
	pool_release(device->pool);
	launch_slots_close(device);
	memset(device, 0, sizeof(*device));
	context_close_memory();
}

struct device_memory *api_retain_memory(void)
{
	pthread_mutex_lock(&state.lock);
	bool ok = context_open_memory();
	pthread_mutex_unlock(&state.lock);
	return ok ? state.memory : NULL;
}

void api_release_memory(void)
{
	pthread_mutex_lock(&state.lock);
	context_close_memory();
	pthread_mutex_unlock(&state.lock);
}

bool api_device_usage(unsigned number, struct memory_use *out)
{
	bool has_context = false;
	pthread_mutex_lock(&state.lock);
	for (int i = 0; i < device_count(); i++) {
		if (device_number(i) == number && state.devices[i].uses > 0) {
			*out = memory_usage(state.memory, (unsigned)i);
			has_context = true;
		}
	}
	pthread_mutex_unlock(&state.lock);
	return has_context;
}

static void context_init_limits(struct context *context)
{
	context->limits[CU_LIMIT_STACK_SIZE] = 1024;
	context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
	context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
	context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
	context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
	context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = MAX_FETCH;
}

/* Give a context its handle; the primary context always gets the same one. */
static bool name_context(struct context *context)
{
	CUcontext *primary = &state.primaries[context->device - state.devices].handle;
	if (context->is_primary && *primary) {
		context->handle = *primary;
		handle_resume(context->handle, context);
		return true;
	}
	context->handle = handle_create(API_CONTEXT, context);
	if (context->is_primary) {
		*primary = context->handle;
	}
	return context->handle;
}

/* Remove the handle: from now on no call finds the context. */
static void unname_context(const struct context *context)
{
	if (context->is_primary && context->handle) {
		handle_suspend(context->handle);
	} else {
		handle_release(context->handle);
	}
}

/* The lock is held. */
static CUresult context_create_locked(struct context **out, unsigned flags, CUdevice ordinal,
	bool is_primary)
{
	struct context *context = mem_zalloc(1, sizeof(*context));
	*out = NULL;
	if (!context) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	context->device = &state.devices[ordinal];
	context->is_primary = is_primary;
	if (!name_context(context) || !context_open_device(context->device)) {
		goto fail;
	}
	if (!context_open_streams(context)) {
		context_close_device(context->device);
		goto fail;
	}
	context->flags = flags;
	context->api_version = CUDA_VERSION;
	context->id = ++state.last_id;
	context->host.find_texture = texture_find;
	context->host.find_surface = surface_find;
	context->host.find_condition = condition_find_value;
	context->host.may_access = device_count() > 1 ? context_may_access : NULL;
	context->host.check = access_check;
	context->host.watch = race_watch;
	context->host.meet = race_collect;
	context->host.arrive = race_arrive;
	context->host.made = values_keep;
	context->host.blame = values_report;
	if (settings_checks() != 0) {
		report_save();
	}
	context_init_limits(context);
	pthread_mutex_init(&context->lock, NULL);
	pthread_mutex_init(&context->host.output_lock, NULL);
	pthread_cond_init(&context->has_fewer, NULL);
	*out = context;
	return CUDA_SUCCESS;
fail:
	unname_context(context);
	mem_free(context);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/* The context has no handle any more, and the lock is not held. */
static void context_destroy(struct context *context)
{
	if (settings_checks() != 0) {
		report_save();
	}
	struct device *device = context->device;
	context_clear(context);
	context_close_streams(context);
	pthread_cond_destroy(&context->has_fewer);
	pthread_mutex_destroy(&context->host.output_lock);
	pthread_mutex_destroy(&context->lock);
	mem_free(context);
	pthread_mutex_lock(&state.lock);
	context_close_device(device);
	pthread_mutex_unlock(&state.lock);
	if (!profile_write()) {
		api_log("KUDZU_PROFILE: cannot write the profile: %s", strerror(errno));
	}
}

CUresult context_check_flags(const char *call, unsigned flags)
{
	unsigned way = flags & CU_CTX_SCHED_MASK;
	return (flags & ~(unsigned)CU_CTX_FLAGS_MASK) == 0 && (way & (way - 1)) == 0 ? CUDA_SUCCESS
		: api_fail(CUDA_ERROR_INVALID_VALUE, "%s: impossible flags 0x%x", call, flags);
}

static CUresult context_create_current(const char *call, CUcontext *out, unsigned flags,
	CUdevice device)
{
	CUresult result = api_check_device(call, device);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (!out) {
		return api_null(call, "the context");
	}
	*out = NULL;
	if ((result = context_check_flags(call, flags)) != CUDA_SUCCESS
	    || (result = context_check_stack(call)) != CUDA_SUCCESS) {
		return result;
	}
	struct context *context;
	pthread_mutex_lock(&state.lock);
	result = context_create_locked(&context, flags, device, false);
	if (result == CUDA_SUCCESS) {
		*out = context->handle;
	}
	pthread_mutex_unlock(&state.lock);
	return result == CUDA_SUCCESS ? context_push(call, *out)
		: api_fail(result, "%s: out of memory", call);
}

API(cuCtxCreate_v2, CUcontext *out, unsigned int flags, CUdevice device)
{
	return context_create_current(__func__, out, flags, device);
}
API_ALIAS(cuCtxCreate, cuCtxCreate_v2);

API(cuCtxCreate_v3, CUcontext *out, struct CUexecAffinityParam_st *params, int count,
	unsigned int flags, CUdevice device)
{
	CUresult result = api_ready(__func__);
	(void)params;
	if (result == CUDA_SUCCESS && count != 0) {
		return api_fail(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
			"%s: the CPU device does not support execution affinity", __func__);
	}
	return result == CUDA_SUCCESS ? context_create_current(__func__, out, flags, device)
		: result;
}

/* Programs of CUDA 13 pass parameters that ask for nothing. */
API(cuCtxCreate_v4, CUcontext *out, const CUctxCreateParams *params, unsigned int flags,
	CUdevice device)
{
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (params && params->numExecAffinityParams != 0) {
		if (!params->execAffinityParams) {
			return api_null(__func__, "the list of execution affinities");
		}
		return api_fail(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
			"%s: the CPU device does not support execution affinity", __func__);
	}
	if (params && params->cigParams) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: the CPU device does not share resources with graphics", __func__);
	}
	return context_create_current(__func__, out, flags, device);
}

/* Remove the handle of a context that is not the primary one.  The lock is held. */
static CUresult context_take_locked(const char *call, CUcontext handle, struct context **out)
{
	struct context *context = handle_get(handle, API_CONTEXT);
	if (!context) {
		return context_bad_handle(call, handle);
	}
	if (context->is_primary) {
		return api_fail(CUDA_ERROR_INVALID_CONTEXT,
			"%s: a primary context cannot be destroyed, only released", call);
	}
	unname_context(context);
	*out = context;
	return CUDA_SUCCESS;
}

static void context_end(CUcontext handle, struct context *context)
{
	context_destroy(context);
	if (context_top() == handle) {
		context_pop(NULL);
	}
}

API(cuCtxDestroy_v2, CUcontext handle)
{
	struct context *context = NULL;
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	result = context_take_locked(__func__, handle, &context);
	pthread_mutex_unlock(&state.lock);
	if (context) {
		context_end(handle, context);
	}
	return result;
}
API_ALIAS(cuCtxDestroy, cuCtxDestroy_v2);

API(cuCtxAttach, CUcontext *out, unsigned int flags)
{
	struct context *context;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS && flags != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: flags must be 0", __func__);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	result = api_enter_release(__func__, &context);
	if (result == CUDA_SUCCESS) {
		context->attached++;
		*out = context->handle;
	}
	pthread_mutex_unlock(&state.lock);
	return result;
}

API(cuCtxDetach, CUcontext handle)
{
	struct context *context;
	bool is_end = false;
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	result = api_enter_release(__func__, &context);
	if (result == CUDA_SUCCESS && context->handle != handle) {
		result = api_fail(CUDA_ERROR_INVALID_CONTEXT,
			"%s: not this thread's current context", __func__);
	} else if (result == CUDA_SUCCESS && context->attached > 0) {
		context->attached--;
	} else if (result == CUDA_SUCCESS) {
		result = context_take_locked(__func__, handle, &context);
		is_end = result == CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&state.lock);
	if (is_end) {
		context_end(handle, context);
	}
	return result;
}

API(cuCtxPushCurrent_v2, CUcontext handle)
{
	struct context *context;
	CUresult result = api_ready(__func__);
	if (result == CUDA_SUCCESS && !handle) {
		return api_fail(CUDA_ERROR_INVALID_CONTEXT, "%s: the context is NULL", __func__);
	}
	if (result == CUDA_SUCCESS) {
		result = context_find(__func__, handle, &context);
	}
	return result == CUDA_SUCCESS ? context_push(__func__, handle) : result;
}
API_ALIAS(cuCtxPushCurrent, cuCtxPushCurrent_v2);

API(cuCtxPopCurrent_v2, CUcontext *out)
{
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	return context_pop(out) ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_CONTEXT,
		"%s: this thread has no current context", __func__);
}
API_ALIAS(cuCtxPopCurrent, cuCtxPopCurrent_v2);

API(cuCtxSetCurrent, CUcontext handle)
{
	struct context *context;
	CUresult result = api_ready(__func__);
	if (result == CUDA_SUCCESS && handle) {
		result = context_find(__func__, handle, &context);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	context_pop(NULL);
	return handle ? context_push(__func__, handle) : CUDA_SUCCESS;
}

API(cuCtxGetCurrent, CUcontext *out)
{
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = context_top();
	}
	return result;
}

API(cuCtxSynchronize, void)
{
	return context_wait_current(__func__);
}

API(cuCtxSynchronize_v2, CUcontext handle)
{
	if (!handle) {
		return cuCtxSynchronize();
	}
	CUresult result = cuCtxPushCurrent_v2(handle);
	if (result == CUDA_SUCCESS) {
		result = cuCtxSynchronize();
		cuCtxPopCurrent_v2(NULL);
	}
	return result;
}

API(cuDevicePrimaryCtxRetain, CUcontext *out, CUdevice device)
{
	CUresult result = api_need(api_check_device(__func__, device), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct primary *primary = &state.primaries[device];
	pthread_mutex_lock(&state.lock);
	if (!primary->context) {
		result = context_create_locked(&primary->context, primary->flags, device, true);
	}
	if (result == CUDA_SUCCESS) {
		primary->uses++;
		*out = primary->context->handle;
	}
	pthread_mutex_unlock(&state.lock);
	return result == CUDA_SUCCESS ? result
		: api_fail(result, "%s: out of memory", __func__);
}

/* Remove the primary context if it is active, else return NULL.  The lock is held. */
static struct context *context_take_primary(struct primary *primary)
{
	struct context *context = primary->context;
	primary->context = NULL;
	if (context) {
		unname_context(context);
	}
	return context;
}

API(cuDevicePrimaryCtxRelease_v2, CUdevice device)
{
	CUresult result = api_check_device(__func__, device);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct primary *primary = &state.primaries[device];
	struct context *context = NULL;
	pthread_mutex_lock(&state.lock);
	if (primary->uses == 0) {
		pthread_mutex_unlock(&state.lock);
		return api_fail(CUDA_ERROR_INVALID_CONTEXT,
			"%s: the primary context is not retained", __func__);
	}
	if (--primary->uses == 0) {
		context = context_take_primary(primary);
	}
	pthread_mutex_unlock(&state.lock);
	if (context) {
		context_destroy(context);
	}
	return CUDA_SUCCESS;
}
API_ALIAS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);

/* Callers that have retained the primary context still have to release it. */
API(cuDevicePrimaryCtxReset_v2, CUdevice device)
{
	CUresult result = api_check_device(__func__, device);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	struct context *context = context_take_primary(&state.primaries[device]);
	pthread_mutex_unlock(&state.lock);
	if (context) {
		context_destroy(context);
	}
	return CUDA_SUCCESS;
}
API_ALIAS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2);

API(cuDevicePrimaryCtxSetFlags_v2, CUdevice device, unsigned int flags)
{
	CUresult result = api_check_device(__func__, device);
	if (result == CUDA_SUCCESS) {
		result = context_check_flags(__func__, flags);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct primary *primary = &state.primaries[device];
	pthread_mutex_lock(&state.lock);
	primary->flags = flags;
	if (primary->context) {
		primary->context->flags = flags;
	}
	pthread_mutex_unlock(&state.lock);
	return CUDA_SUCCESS;
}
API_ALIAS(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2);

API(cuDevicePrimaryCtxGetState, CUdevice device, unsigned int *flags, int *active)
{
	CUresult result = api_check_device(__func__, device);
	if (result == CUDA_SUCCESS && (!flags || !active)) {
		return api_null(__func__, "a result");
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&state.lock);
	*flags = state.primaries[device].flags;
	*active = !!state.primaries[device].context;
	pthread_mutex_unlock(&state.lock);
	return CUDA_SUCCESS;
}
