/* SPDX-License-Identifier: MIT */
/*
 * Launches as they were before CUDA 4.  The block, the dynamic shared memory and the parameters are
 * set one by one, stay with the function, and apply to its next launches.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "base/alloc.h"
#include "cpu/exec/launch.h"
#include "cpu/object/library.h"

#include <string.h>

API(cuLaunchKernel, CUfunction function, unsigned int grid_x, unsigned int grid_y,
	unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
	unsigned int shared_size, CUstream stream, void **values, void **extra);

API(cuFuncSetBlockShape, CUfunction handle, int x, int y, int z)
{
	struct function *function;
	CUresult result = function_enter(__func__, handle, &function);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (x <= 0 || y <= 0 || z <= 0 || x > 1024 || y > 1024 || z > 64
	    || x * y * z > LAUNCH_MAX_THREADS) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: blocks of %d x %d x %d threads",
			__func__, x, y, z);
	}
	pthread_mutex_lock(&function->module->lock);
	function->old.block[0] = (uint32_t)x;
	function->old.block[1] = (uint32_t)y;
	function->old.block[2] = (uint32_t)z;
	pthread_mutex_unlock(&function->module->lock);
	return CUDA_SUCCESS;
}

API(cuFuncSetSharedSize, CUfunction handle, unsigned int bytes)
{
	struct function *function;
	CUresult result = function_enter(__func__, handle, &function);
	if (result == CUDA_SUCCESS && bytes > LAUNCH_MAX_SHARED) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %u bytes; at most %u are possible",
			__func__, bytes, (unsigned)LAUNCH_MAX_SHARED);
	}
	if (result == CUDA_SUCCESS) {
		pthread_mutex_lock(&function->module->lock);
		function->old.shared_size = bytes;
		pthread_mutex_unlock(&function->module->lock);
	}
	return result;
}

API(cuParamSetSize, CUfunction handle, unsigned int size)
{
	struct function *function;
	CUresult result = function_enter(__func__, handle, &function);
	if (result == CUDA_SUCCESS && size > LAUNCH_MAX_PARAMS) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %u bytes; at most %d are possible",
			__func__, size, LAUNCH_MAX_PARAMS);
	}
	if (result == CUDA_SUCCESS) {
		pthread_mutex_lock(&function->module->lock);
		function->old.param_size = size;
		pthread_mutex_unlock(&function->module->lock);
	}
	return result;
}

static CUresult launch_set_bytes(const char *call, CUfunction handle, int offset, const void *bytes,
	size_t size)
{
	struct function *function;
	CUresult result = function_enter(call, handle, &function);
	if (result == CUDA_SUCCESS && !bytes && size > 0) {
		return api_null(call, "the data");
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (offset < 0 || offset > LAUNCH_MAX_PARAMS
	    || size > (size_t)(LAUNCH_MAX_PARAMS - offset)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: %zu bytes at offset %d of at most %d",
			call, size, offset, LAUNCH_MAX_PARAMS);
	}
	pthread_mutex_lock(&function->module->lock);
	struct old_launch *old = &function->old;
	if (!old->params) {
		old->params = mem_zalloc(1, LAUNCH_MAX_PARAMS);
	}
	bool ok = old->params;
	if (ok && size > 0) {
		memcpy(old->params + offset, bytes, size);
	}
	pthread_mutex_unlock(&function->module->lock);
	return ok ? CUDA_SUCCESS : api_no_memory(call);
}

API(cuParamSeti, CUfunction function, int offset, unsigned int value)
{
	return launch_set_bytes(__func__, function, offset, &value, sizeof(value));
}

API(cuParamSetf, CUfunction function, int offset, float value)
{
	return launch_set_bytes(__func__, function, offset, &value, sizeof(value));
}

API(cuParamSetv, CUfunction function, int offset, void *bytes, unsigned int size)
{
	return launch_set_bytes(__func__, function, offset, bytes, size);
}

static CUresult launch_old_grid(const char *call, CUfunction handle, int width, int height,
	CUstream stream)
{
	struct function *function;
	CUresult result = function_enter(call, handle, &function);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&function->module->lock);
	const struct old_launch old = function->old;
	pthread_mutex_unlock(&function->module->lock);
	if (old.block[0] == 0 || width <= 0 || height <= 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %d x %d blocks of kernel '%s'%s",
			call, width, height, function->name,
			old.block[0] == 0 ? ", whose block shape was not set" : "");
	}
	static const uint8_t none[1];
	size_t size = old.param_size;
	const uint8_t *params = old.params ? old.params : none;
	if (!old.params && size > 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: no parameter of kernel '%s' was set",
			call, function->name);
	}
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)params,
		CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
	return cuLaunchKernel(handle, (unsigned)width, (unsigned)height, 1, old.block[0],
		old.block[1], old.block[2], old.shared_size, stream, NULL, extra);
}

API(cuLaunch, CUfunction function)
{
	return launch_old_grid(__func__, function, 1, 1, NULL);
}

API(cuLaunchGrid, CUfunction function, int width, int height)
{
	return launch_old_grid(__func__, function, width, height, NULL);
}

API(cuLaunchGridAsync, CUfunction function, int width, int height, CUstream stream)
{
	return launch_old_grid(__func__, function, width, height, stream);
}
