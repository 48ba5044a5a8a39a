/* SPDX-License-Identifier: MIT */
/* Properties of contexts: device, version, flags, limits and the preferred cache. */
#include "base/common.h"

#include "base/kudzu_abi.h"
#include "cpu/abi/api.h"
#include "cpu/stream/launch_slot.h"

enum {
	MAX_STACK = 512 * 1024, /* of CU_LIMIT_STACK_SIZE: the local memory of a GPU's thread */
	MAX_SYNC_DEPTH = 24     /* of CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH */
};

API(cuCtxGetDevice_v2, CUdevice *out, CUcontext handle)
{
	struct context *context;
	CUresult result = api_need(context_find(__func__, handle, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = (CUdevice)context->device->ordinal;
	}
	return result;
}

API(cuCtxGetDevice, CUdevice *out)
{
	return cuCtxGetDevice_v2(out, NULL);
}

API(cuCtxGetApiVersion, CUcontext handle, unsigned int *out)
{
	struct context *context;
	CUresult result = api_need(context_find(__func__, handle, &context), __func__, out);
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
		*out = context->flags | CU_CTX_MAP_HOST; // which every context has
	}
	return result;
}

API(cuCtxSetFlags, unsigned int flags)
{
	struct context *context;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS) {
		result = context_check_flags(__func__, flags);
	}
	if (result == CUDA_SUCCESS) {
		context->flags = flags;
	}
	return result;
}

API(cuCtxGetId, CUcontext handle, unsigned long long *out)
{
	struct context *context;
	CUresult result = api_need(context_find(__func__, handle, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = context->id;
	}
	return result;
}

static CUresult context_enter_limit(const char *call, CUlimit limit, struct context **out)
{
	CUresult result = api_enter(call, out);
	return result != CUDA_SUCCESS || (unsigned)limit <= CU_LIMIT_PERSISTING_L2_CACHE_SIZE
			|| limit == CU_LIMIT_KUDZU_TIMEOUT
		? result
		: api_fail((unsigned)limit <= CU_LIMIT_PER_BLOCK_MEMORY_SIZE
			? CUDA_ERROR_UNSUPPORTED_LIMIT
			: CUDA_ERROR_INVALID_VALUE, "%s: the CPU device has no limit %d", call,
			(int)limit);
}

static CUresult context_check_limit(const char *call, CUlimit limit, size_t value)
{
	size_t most = limit == CU_LIMIT_STACK_SIZE ? MAX_STACK
		: limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH ? MAX_SYNC_DEPTH
		: limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY ? MAX_FETCH : SIZE_MAX;
	return value <= most ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: %zu for limit %d; the most is %zu", call, value, (int)limit, most);
}

/* Set a limit, unless a kernel has run that depends on it.  The context's lock is held. */
static CUresult context_set_limit(const char *call, struct context *context, CUlimit limit,
	size_t value)
{
	switch ((unsigned)limit) {
	case CU_LIMIT_PRINTF_FIFO_SIZE:
		if (atomic_load_explicit(&context->has_printed, memory_order_relaxed)) {
			return api_fail(CUDA_ERROR_INVALID_VALUE,
				"%s: a kernel that calls printf has run", call);
		}
		break;
	case CU_LIMIT_MALLOC_HEAP_SIZE:
		if (context->host.heap) {
			return api_fail(CUDA_ERROR_INVALID_VALUE,
				"%s: a kernel that calls malloc has run, so its heap can no longer "
				"change", call);
		}
		break;
	case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
		value = 0; // as CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE
		break;
	default:
		break;
	}
	context->limits[limit] = value;
	return CUDA_SUCCESS;
}

API(cuCtxSetLimit, CUlimit limit, size_t value)
{
	struct context *context;
	CUresult result = context_enter_limit(__func__, limit, &context);
	if (result == CUDA_SUCCESS && limit == CU_LIMIT_KUDZU_TIMEOUT) {
		return launch_slots_set_timeout(context->device, value) ? CUDA_SUCCESS
			: api_no_memory(__func__);
	}
	if (result == CUDA_SUCCESS) {
		result = context_check_limit(__func__, limit, value);
	}
	if (result == CUDA_SUCCESS) {
		pthread_mutex_lock(&context->lock);
		result = context_set_limit(__func__, context, limit, value);
		pthread_mutex_unlock(&context->lock);
	}
	return result;
}

API(cuCtxGetLimit, size_t *out, CUlimit limit)
{
	struct context *context;
	CUresult result = api_need(context_enter_limit(__func__, limit, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = limit == CU_LIMIT_KUDZU_TIMEOUT ? atomic_load(&context->device->timeout)
			: context->limits[limit];
	}
	return result;
}

API(cuCtxGetCacheConfig, CUfunc_cache *out)
{
	struct context *context;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = (CUfunc_cache)atomic_load(&context->cache);
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
		context->cache = (int)config;
	}
	return result;
}

API(cuCtxGetStreamPriorityRange, int *least, int *greatest)
{
	struct context *context;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS && least) {
		*least = 0;
	}
	if (result == CUDA_SUCCESS && greatest) {
		*greatest = STREAM_GREATEST_PRIORITY;
	}
	return result;
}
