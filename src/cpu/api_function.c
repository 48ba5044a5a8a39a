/* SPDX-License-Identifier: MIT */
/*
 * What is known about a kernel: its attributes, its parameters, and how many of its blocks fit on
 * a multiprocessor, which is one or none (see api_device.c).
 */
#include "../base/common.h"

#include "api.h"

static CUresult find_function(const char *call, CUfunction handle, struct function **out)
{
	struct context *context;
	CUresult result = api_enter(call, &context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = handle_get(handle, API_FUNCTION);
	return *out != NULL ? CUDA_SUCCESS : api_bad_handle(call, "kernel");
}

unsigned function_max_threads(const struct function *function)
{
	const uint32_t *limits[] = {function->ptx->req_ntid, function->ptx->max_ntid};
	uint64_t max = LAUNCH_MAX_THREADS;
	for (size_t i = 0; i < countof(limits); i++) {
		uint64_t threads = 1;
		for (int axis = 0; axis < 3; axis++) {
			threads *= limits[i][axis] > 0 ? limits[i][axis] : 1;
		}
		if (limits[i][0] > 0 && threads < max) {
			max = threads;
		}
	}
	return (unsigned)max;
}

static int const_size(const struct ptx_module *module)
{
	size_t size = 0;
	for (size_t i = 0; i < module->var_count; i++) {
		size += module->vars[i]->space == PTX_CONST ? module->vars[i]->size : 0;
	}
	return size < INT32_MAX ? (int)size : INT32_MAX;
}

/* The processor's registers are not a GPU's; say what lets 1024 threads run. */
static int register_count(const struct ptx_func *func)
{
	return func->reg_count < 16 ? 16 : func->reg_count > 64 ? 64 : (int)func->reg_count;
}

API(cuFuncGetAttribute, int *out, CUfunction_attribute attribute, CUfunction handle)
{
	struct function *function;
	CUresult result = api_need(find_function(__func__, handle, &function), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	const struct ptx_func *func = function->ptx;
	switch ((unsigned)attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*out = (int)function_max_threads(function);
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*out = (int)func->shared_size;
		break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		*out = const_size(&function->module->ptx);
		break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*out = (int)func->local_size;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*out = register_count(func);
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
		*out = function->module->ptx.target;
		break;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*out = 89;
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*out = function->max_dynamic;
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*out = function->carveout;
		break;
	case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		*out = 0;
		break;
	default:
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown attribute %d", __func__,
			(int)attribute);
	}
	return CUDA_SUCCESS;
}

API(cuFuncSetAttribute, CUfunction handle, CUfunction_attribute attribute, int value)
{
	struct function *function;
	CUresult result = find_function(__func__, handle, &function);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
		int max = LAUNCH_MAX_SHARED - (int)function->ptx->shared_size;
		if (value < 0 || value > max) {
			return api_fail(CUDA_ERROR_INVALID_VALUE,
				"%s: %d bytes of dynamic shared memory; kernel '%s' can have %d",
				__func__, value, function->ptx->name, max);
		}
		function->max_dynamic = value;
		return CUDA_SUCCESS;
	}
	if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT && value >= -1
	    && value <= 100) {
		function->carveout = value;
		return CUDA_SUCCESS;
	}
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: attribute %d cannot be set to %d", __func__,
		(int)attribute, value);
}

API(cuFuncSetCacheConfig, CUfunction handle, CUfunc_cache config)
{
	struct function *function;
	CUresult result = find_function(__func__, handle, &function);
	if (result == CUDA_SUCCESS && (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown value %d", __func__,
			(int)config);
	}
	return result;
}

API(cuFuncGetName, const char **out, CUfunction handle)
{
	struct function *function;
	CUresult result = api_need(find_function(__func__, handle, &function), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = function->ptx->name;
	}
	return result;
}

API(cuFuncGetModule, CUmodule *out, CUfunction handle)
{
	struct function *function;
	CUresult result = api_need(find_function(__func__, handle, &function), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = function->module->object.handle;
	}
	return result;
}

API(cuFuncGetParamInfo, CUfunction handle, size_t index, size_t *offset, size_t *size)
{
	struct function *function;
	CUresult result = api_need(find_function(__func__, handle, &function), __func__, offset);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	const struct ptx_func *func = function->ptx;
	if (index >= func->param_count) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: kernel '%s' has %zu parameters",
			__func__, func->name, func->param_count);
	}
	*offset = func->params[index]->offset;
	if (size != NULL) {
		*size = func->params[index]->size;
	}
	return CUDA_SUCCESS;
}

static bool block_fits(const struct function *function, int threads, size_t dynamic_shared)
{
	return (unsigned)threads <= function_max_threads(function)
		&& dynamic_shared <= LAUNCH_MAX_SHARED - function->ptx->shared_size;
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *out, CUfunction handle, int threads,
	size_t dynamic_shared, unsigned int flags)
{
	struct function *function;
	CUresult result = api_need(find_function(__func__, handle, &function), __func__, out);
	if (result == CUDA_SUCCESS
	    && (threads <= 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %d threads, flags 0x%x", __func__,
			threads, flags);
	}
	if (result == CUDA_SUCCESS) {
		*out = block_fits(function, threads, dynamic_shared);
	}
	return result;
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *out, CUfunction handle, int threads,
	size_t dynamic_shared)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, handle, threads,
		dynamic_shared, CU_OCCUPANCY_DEFAULT);
}

API(cuOccupancyMaxPotentialBlockSizeWithFlags, int *grid, int *block, CUfunction handle,
	CUoccupancyB2DSize shared_of, size_t dynamic_shared, int limit, unsigned int flags)
{
	struct function *function;
	CUresult result = find_function(__func__, handle, &function);
	if (result == CUDA_SUCCESS && (grid == NULL || block == NULL)) {
		return api_null(__func__, "a result");
	}
	if (result == CUDA_SUCCESS
	    && (limit < 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: limit %d, flags 0x%x", __func__, limit,
			flags);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	int threads = (int)function_max_threads(function);
	threads = limit > 0 && limit < threads ? limit : threads;
	while (threads > 0 && !block_fits(function, threads,
			shared_of != NULL ? shared_of(threads) : dynamic_shared)) {
		threads = threads > 32 ? (threads - 1) / 32 * 32 : 0;
	}
	*block = threads;
	*grid = threads > 0 ? (int)pool_cores() : 0;
	return CUDA_SUCCESS;
}

API(cuOccupancyMaxPotentialBlockSize, int *grid, int *block, CUfunction handle,
	CUoccupancyB2DSize shared_of, size_t dynamic_shared, int limit)
{
	return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, handle, shared_of,
		dynamic_shared, limit, CU_OCCUPANCY_DEFAULT);
}
