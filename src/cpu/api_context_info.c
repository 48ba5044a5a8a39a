/* SPDX-License-Identifier: MIT */
/* What a context can be asked for, and told: its device, version, flags and limits. */
#include "../base/common.h"

#include "api.h"

enum { MAX_STACK = 512 * 1024 }; /* of CU_LIMIT_STACK_SIZE: the local memory of a GPU's thread */

API(cuCtxGetDevice_v2, CUdevice *out, CUcontext handle)
{
	struct context *context;
	CUresult result = api_need(context_find(__func__, handle, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = 0;
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
		*out = context->flags;
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
	if (result == CUDA_SUCCESS && limit == CU_LIMIT_STACK_SIZE && value > MAX_STACK) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes of stack; a thread can have"
			" %d", __func__, value, MAX_STACK);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&context->lock);
	bool is_fixed = limit == CU_LIMIT_MALLOC_HEAP_SIZE && context->host.heap != NULL;
	if (!is_fixed) {
		context->limits[limit] = value;
	}
	pthread_mutex_unlock(&context->lock);
	return !is_fixed ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE, "%s: a kernel that"
		" calls malloc has run, so its heap can no longer change", __func__);
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
	if (result == CUDA_SUCCESS && least != NULL) {
		*least = 0;
	}
	if (result == CUDA_SUCCESS && greatest != NULL) {
		*greatest = 0;
	}
	return result;
}
