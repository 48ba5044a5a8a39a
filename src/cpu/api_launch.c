/* SPDX-License-Identifier: MIT */
/*
 * Launching.  The parameters are gathered in one block of bytes, as the kernel declares them, and
 * the grid runs before the call returns.  A kernel that fails poisons its context: the launch has
 * succeeded, and every later call in the context returns the kernel's error and its reason.
 */
#include "../base/common.h"

#include "api.h"

#include <stdio.h>
#include <string.h>

struct parameters {
	_Alignas(64) uint8_t bytes[LAUNCH_MAX_PARAMS];
};

static CUresult gather(const char *call, const struct function *function, void **values,
	struct parameters *out)
{
	const struct ptx_func *func = function->ptx;
	for (size_t i = 0; i < func->param_count; i++) {
		const struct ptx_var *param = func->params[i];
		if (values == NULL || values[i] == NULL) {
			return api_fail(CUDA_ERROR_INVALID_VALUE,
				"%s: kernel '%s' has %zu parameters; that of index %zu is missing",
				call, function->name, func->param_count, i);
		}
		memcpy(out->bytes + param->offset, values[i], param->size);
	}
	return CUDA_SUCCESS;
}

/* The other way to pass parameters: as bytes that the caller has laid out. */
static CUresult gather_extra(const char *call, const struct function *function, void **extra,
	struct parameters *out)
{
	const struct ptx_func *func = function->ptx;
	const void *bytes = NULL;
	size_t size = 0;
	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
			bytes = extra[1];
		} else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != NULL) {
			size = *(const size_t *)extra[1];
		} else {
			return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown extra option", call);
		}
	}
	if (size < func->param_size || (bytes == NULL && func->param_size > 0)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: %zu bytes of parameters for kernel '%s', which has %zu", call,
			bytes != NULL ? size : 0, function->name, func->param_size);
	}
	if (func->param_size > 0) {
		memcpy(out->bytes, bytes, func->param_size);
	}
	return CUDA_SUCCESS;
}

static CUresult check_grid(const char *call, const struct launch_request *request)
{
	static const uint32_t max_grid[] = {2147483647, 65535, 65535};
	static const uint32_t max_block[] = {1024, 1024, 64};
	for (int axis = 0; axis < 3; axis++) {
		uint32_t grid = request->grid[axis];
		uint32_t block = request->block[axis];
		if (grid == 0 || grid > max_grid[axis] || block == 0 || block > max_block[axis]) {
			return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %u blocks of %u threads along %c;"
				" 1 to %u blocks and 1 to %u threads are possible", call, grid, block,
				'x' + axis, max_grid[axis], max_block[axis]);
		}
	}
	return CUDA_SUCCESS;
}

static CUresult check_kernel(const char *call, const struct function *function,
	const struct launch_request *request)
{
	const struct ptx_func *func = function->ptx;
	unsigned threads = request->block[0] * request->block[1] * request->block[2];
	unsigned max = function_max_threads(function);
	if (threads > LAUNCH_MAX_THREADS) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %u threads per block; at most %u are"
			" possible", call, threads, LAUNCH_MAX_THREADS);
	}
	if (threads > max) {
		return api_fail(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
			"%s: %u threads per block; kernel '%s' was compiled for at most %u", call,
			threads, function->name, max);
	}
	if (func->req_ntid[0] > 0 && memcmp(func->req_ntid, request->block, sizeof(request->block))
			!= 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: kernel '%s' requires blocks of"
			" (%u,%u,%u)", call, function->name, func->req_ntid[0], func->req_ntid[1],
			func->req_ntid[2]);
	}
	if (request->dynamic_shared > (unsigned)function->max_dynamic) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %u bytes of dynamic shared memory;"
			" kernel '%s' may have %d", call, request->dynamic_shared, function->name,
			function->max_dynamic);
	}
	return CUDA_SUCCESS;
}

/* Poison the context; the first failure stays. */
static void keep_failure(struct context *context, CUresult code, const char *kernel,
	const struct launch_failure *failure)
{
	char where[128] = "";
	if (failure->has_address) {
		memory_describe(context->device->memory, failure->address, where, sizeof(where));
	}
	pthread_mutex_lock(&context->lock);
	if (atomic_load(&context->fault) == CUDA_SUCCESS) {
		snprintf(context->fault_text, sizeof(context->fault_text),
			"kernel '%s': %s%s%s; %s", kernel, failure->what,
			*where != '\0' ? ", which is " : "", where, failure->where);
		atomic_store_explicit(&context->fault, (unsigned)code, memory_order_release);
	}
	pthread_mutex_unlock(&context->lock);
}

static CUresult run(const char *call, struct context *context, const struct launch_request *request)
{
	struct launch_failure failure;
	CUresult result = launch_run(context->device->launcher, request, &failure);
	switch ((unsigned)result) {
	case CUDA_SUCCESS:
		return result;
	case CUDA_ERROR_OUT_OF_MEMORY:
	case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
		return api_fail(result, "%s: no memory for the blocks of kernel '%s'", call,
			request->name);
	default:
		keep_failure(context, result, request->name, &failure);
		return CUDA_SUCCESS;
	}
}

/* `request` has the grid, the block and the dynamic shared memory. */
static CUresult launch(const char *call, CUfunction handle, struct launch_request *request,
	CUstream stream, void **values, void **extra)
{
	struct context *context;
	struct parameters parameters;
	struct turn turn;
	CUresult result = api_enter(call, &context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	const struct function *function = handle_get(handle, API_FUNCTION);
	if (function == NULL || !function->is_compiled) {
		return api_bad_handle(call, "kernel");
	}
	if (function->module->object.context != context) {
		return api_fail(CUDA_ERROR_INVALID_CONTEXT, "%s: kernel '%s' is of another context",
			call, function->name);
	}
	if (values != NULL && extra != NULL) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: parameters are given twice", call);
	}
	if ((result = check_grid(call, request)) != CUDA_SUCCESS
	    || (result = check_kernel(call, function, request)) != CUDA_SUCCESS
	    || (result = extra != NULL ? gather_extra(call, function, extra, &parameters)
		: gather(call, function, values, &parameters)) != CUDA_SUCCESS
	    || (result = turn_begin(&turn, call, context, stream)) != CUDA_SUCCESS) {
		return result;
	}
	request->name = function->name;
	request->run = function->kernel.run;
	request->width = function->kernel.width;
	request->frame_size = function->kernel.frame_size;
	request->local_size = function->ptx->local_size;
	request->static_shared = (uint32_t)function->ptx->shared_size;
	request->params = parameters.bytes;
	request->globals = function->module->globals;
	result = run(call, context, request);
	turn_end(&turn);
	return result;
}

API(cuLaunchKernel, CUfunction function, unsigned int grid_x, unsigned int grid_y,
	unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
	unsigned int shared_size, CUstream stream, void **values, void **extra)
{
	struct launch_request request = {
		.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z},
		.dynamic_shared = shared_size
	};
	return launch(__func__, function, &request, stream, values, extra);
}
API_ALIAS(cuLaunchKernel_ptsz, cuLaunchKernel);

/* Attributes are hints that may be ignored, or ask for what is not there. */
static CUresult check_attribute(const char *call, const CUlaunchAttribute *attribute)
{
	const CUlaunchAttributeValue *value = &attribute->value;
	bool ok;
	switch ((unsigned)attribute->id) {
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		ok = true;
		break;
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		ok = value->cooperative == 0;
		break;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
		ok = value->clusterDim.x <= 1 && value->clusterDim.y <= 1
			&& value->clusterDim.z <= 1;
		break;
	default:
		ok = false;
		break;
	}
	return ok ? CUDA_SUCCESS : api_fail(CUDA_ERROR_NOT_SUPPORTED,
		"%s: the CPU device does not do what attribute %d asks for", call,
		(int)attribute->id);
}

API(cuLaunchKernelEx, const CUlaunchConfig *config, CUfunction function, void **values,
	void **extra)
{
	if (config == NULL || (config->numAttrs > 0 && config->attrs == NULL)) {
		return api_null(__func__, config == NULL ? "the configuration" : "the attributes");
	}
	for (unsigned i = 0; i < config->numAttrs; i++) {
		CUresult result = check_attribute(__func__, &config->attrs[i]);
		if (result != CUDA_SUCCESS) {
			return result;
		}
	}
	struct launch_request request = {
		.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
		.block = {config->blockDimX, config->blockDimY, config->blockDimZ},
		.dynamic_shared = config->sharedMemBytes
	};
	return launch(__func__, function, &request, config->hStream, values, extra);
}
API_ALIAS(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);
