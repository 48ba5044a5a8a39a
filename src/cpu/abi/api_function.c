/* SPDX-License-Identifier: MIT */
/* Attributes and parameters of kernels.  api_occupancy.c says how many of their blocks fit. */
#include "base/common.h"

#include "base/kudzu_abi.h"
#include "cpu/abi/api.h"

#include "cpu/exec/launch.h"
#include "cpu/object/library.h"

static int function_const_size(const struct ptx_module *module)
{
	const size_t size = module_const_size(module);
	return size < INT32_MAX ? (int)size : INT32_MAX;
}

static bool function_is_compiled(const struct function *function)
{
	return atomic_load_explicit(&function->is_compiled, memory_order_acquire);
}

/* At least 1: it took some time. */
static int function_compile_us(const struct jit_kernel *kernel)
{
	double us = (kernel->emit_ms + kernel->compile_ms + kernel->load_ms) * 1000;
	return us < 1 ? 1 : us > INT32_MAX ? INT32_MAX : (int)us;
}

CUresult function_get_attribute(const char *call, const struct function *function,
	CUfunction_attribute attribute, int *out)
{
	const struct ptx_func *func = function->ptx;
	switch ((unsigned)attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*out = (int)function->max_threads;
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*out = (int)func->shared_size;
		break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		*out = function_const_size(&function->module->ptx);
		break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*out = (int)func->local_size;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*out = function_register_count(function);
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
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		*out = function->hints[attribute
			- CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED];
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE:
		*out = function->shared_mode;
		break;
	case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
	case CU_FUNC_ATTRIBUTE_DEVICE_NODE_UPDATE_SUPPORTED:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		*out = 0;
		break;
	case CU_FUNC_ATTRIBUTE_KUDZU_CODE_SIZE:
		*out = function_is_compiled(function) ? (int)function_best(function)->code_size : 0;
		break;
	case CU_FUNC_ATTRIBUTE_KUDZU_WIDTH:
		*out = function_is_compiled(function) ? (int)function_best(function)->width : 0;
		break;
	case CU_FUNC_ATTRIBUTE_KUDZU_TIER:
		*out = function_is_compiled(function) ? (int)function_best(function)->tier : 0;
		break;
	case CU_FUNC_ATTRIBUTE_KUDZU_COMPILE_US:
		*out = function_is_compiled(function) ? function_compile_us(function_best(function))
			: 0;
		break;
	default:
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown attribute %d", call,
			(int)attribute);
	}
	return CUDA_SUCCESS;
}

API(cuFuncGetAttribute, int *out, CUfunction_attribute attribute, CUfunction handle)
{
	struct function *function;
	CUresult result = api_need(function_enter(__func__, handle, &function), __func__, out);
	return result == CUDA_SUCCESS
		? function_get_attribute(__func__, function, attribute, out) : result;
}

static CUresult function_set_dynamic(const char *call, struct function *function, int value)
{
	int max = LAUNCH_MAX_SHARED - (int)function->ptx->shared_size;
	if (value < 0 || value > max) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: %d bytes of dynamic shared memory; kernel '%s' can have %d", call,
			value, function->ptx->name, max);
	}
	function->max_dynamic = value;
	return CUDA_SUCCESS;
}

/* 2: have the best code, and wait for it. */
static CUresult function_set_tier(const char *call, struct function *function, int value)
{
	if (value != JIT_TIER_BEST) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: only tier 2 can be asked for, not %d", call, value);
	}
	CUresult result = function_compile(call, function);
	return result == CUDA_SUCCESS ? function_improve(call, function) : result;
}

/* Hints are kept, so that they can be queried.  A cluster of one block is not a cluster. */
CUresult function_set_attribute(const char *call, struct function *function,
	CUfunction_attribute attribute, int value)
{
	bool ok = false;
	switch ((unsigned)attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		return function_set_dynamic(call, function, value);
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		ok = value >= CU_SHAREDMEM_CARVEOUT_DEFAULT
			&& value <= CU_SHAREDMEM_CARVEOUT_MAX_SHARED;
		function->carveout = ok ? value : function->carveout;
		break;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		if (value > 1) {
			return api_fail(CUDA_ERROR_NOT_SUPPORTED,
				"%s: the CPU device has no clusters", call);
		}
		ok = value >= 0;
		break;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		ok = value == 0 || value == 1;
		function->hints[0] = ok ? value : function->hints[0];
		break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		ok = value >= 0 && value <= CU_CLUSTER_SCHEDULING_POLICY_RUBIN_DSMEM_LOCALITY;
		function->hints[1] = ok ? value : function->hints[1];
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE:
		ok = value >= CU_SHARED_MEMORY_MODE_DEFAULT
			&& value <= CU_SHARED_MEMORY_MODE_PREFER_OVERSIZED_SHARED_MEMORY;
		function->shared_mode = ok ? value : function->shared_mode;
		break;
	default:
		break;
	}
	return ok ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: attribute %d cannot be set to %d", call, (int)attribute, value);
}

API(cuFuncSetAttribute, CUfunction handle, CUfunction_attribute attribute, int value)
{
	struct function *function;
	CUresult result = function_enter(__func__, handle, &function);
	if (result == CUDA_SUCCESS && attribute == CU_FUNC_ATTRIBUTE_KUDZU_TIER) {
		return function_set_tier(__func__, function, value);
	}
	if (result == CUDA_SUCCESS) {
		result = function_set_attribute(__func__, function, attribute, value);
	}
	if (result == CUDA_SUCCESS) {
		function->attributes_set |= 1u << attribute;
	}
	return result;
}

API(cuFuncSetCacheConfig, CUfunction handle, CUfunc_cache config)
{
	struct function *function;
	CUresult result = function_enter(__func__, handle, &function);
	if (result == CUDA_SUCCESS && (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown value %d", __func__,
			(int)config);
	}
	return result;
}

API(cuFuncGetName, const char **out, CUfunction handle)
{
	struct function *function;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS && !handle) {
		return api_null(__func__, "the function");
	}
	if (result == CUDA_SUCCESS) {
		result = function_enter(__func__, handle, &function);
	}
	if (result == CUDA_SUCCESS) {
		*out = function->ptx->name;
	}
	return result;
}

API(cuFuncGetModule, CUmodule *out, CUfunction handle)
{
	struct function *function;
	CUresult result = api_need(function_enter(__func__, handle, &function), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = function->module->object.handle;
	}
	return result;
}

CUresult function_param_info(const char *call, const struct function *function, size_t index,
	size_t *offset, size_t *size)
{
	const struct ptx_func *func = function->ptx;
	if (index >= func->param_count) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: kernel '%s' has %zu parameters",
			call, func->name, func->param_count);
	}
	*offset = func->params[index]->offset;
	if (size) {
		*size = func->params[index]->size;
	}
	return CUDA_SUCCESS;
}

API(cuFuncGetParamInfo, CUfunction handle, size_t index, size_t *offset, size_t *size)
{
	struct function *function;
	CUresult result = api_need(function_enter(__func__, handle, &function), __func__, offset);
	return result == CUDA_SUCCESS
		? function_param_info(__func__, function, index, offset, size) : result;
}

API(cuFuncGetParamCount, CUfunction handle, size_t *out)
{
	struct function *function;
	CUresult result = api_need(function_enter(__func__, handle, &function), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = function->ptx->param_count;
	}
	return result;
}

API(cuFuncIsLoaded, CUfunctionLoadingState *out, CUfunction handle)
{
	struct function *function;
	CUresult result = api_need(function_enter(__func__, handle, &function), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = atomic_load(&function->is_compiled) ? CU_FUNCTION_LOADING_STATE_LOADED
			: CU_FUNCTION_LOADING_STATE_UNLOADED;
	}
	return result;
}

API(cuFuncLoad, CUfunction handle)
{
	struct function *function;
	CUresult result = function_enter(__func__, handle, &function);
	return result == CUDA_SUCCESS ? function_compile(__func__, function) : result;
}

API(cuFuncSetSharedMemConfig, CUfunction handle, CUsharedconfig config)
{
	struct function *function;
	CUresult result = function_enter(__func__, handle, &function);
	if (result == CUDA_SUCCESS
	    && (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown value %d", __func__,
			(int)config);
	}
	return result;
}
