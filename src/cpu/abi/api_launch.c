/* SPDX-License-Identifier: MIT */
/*
 * Kernel launches.  describe_kernel.c checks the arguments, and the stream does the rest.  A launch
 * succeeds even if its kernel fails later.  Then every later call in the context returns the error
 * of the kernel and its reason.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/kudzu_abi.h"
#include "cpu/abi/api.h"
#include "cpu/stream/work_describe.h"

#include <string.h>

/* `work` has what work_describe_kernel asks for. */
static CUresult launch_kernel(const char *call, CUfunction handle, struct work *work,
	CUstream stream, void **values, void **extra)
{
	struct context *context;
	struct parameters parameters;
	parameters.values = values;
	parameters.extra = extra;
	parameters.many = NULL;
	CUresult result = api_enter(call, &context);
	if (result == CUDA_SUCCESS) {
		result = work_describe_kernel(call, context, handle, &parameters, work);
	}
	result = result == CUDA_SUCCESS
		? stream_enqueue(call, context, stream, work, ENQUEUE_ASYNC, false) : result;
	mem_free(parameters.many);
	return result;
}

API(cuLaunchKernel, CUfunction function, unsigned int grid_x, unsigned int grid_y,
	unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
	unsigned int shared_size, CUstream stream, void **values, void **extra)
{
	struct work work;
	work.kernel = (struct kernel_work){
		.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z},
		.dynamic_shared = shared_size
	};
	return launch_kernel(__func__, function, &work, stream, values, extra);
}
API_PER_THREAD(cuLaunchKernel_ptsz, cuLaunchKernel,
	(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
	unsigned int block_x, unsigned int block_y, unsigned int block_z,
	unsigned int shared_size, CUstream stream, void **values, void **extra),
	(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_size, stream, values,
		extra));

API(cuLaunchCooperativeKernel, CUfunction function, unsigned int grid_x, unsigned int grid_y,
	unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
	unsigned int shared_size, CUstream stream, void **values)
{
	struct work work;
	work.kernel = (struct kernel_work){
		.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z},
		.dynamic_shared = shared_size, .is_cooperative = true
	};
	return launch_kernel(__func__, function, &work, stream, values, NULL);
}
API_PER_THREAD(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel,
	(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
	unsigned int block_x, unsigned int block_y, unsigned int block_z,
	unsigned int shared_size, CUstream stream, void **values),
	(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_size, stream, values));

API(cuLaunchKernelEx, const CUlaunchConfig *config, CUfunction function, void **values,
	void **extra)
{
	CUresult ready = api_ready(__func__);
	if (ready != CUDA_SUCCESS) {
		return ready;
	}
	if (!config || (config->numAttrs > 0 && !config->attrs)) {
		return api_null(__func__, !config ? "the configuration" : "the attributes");
	}
	struct work work;
	work.kernel = (struct kernel_work){
		.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
		.block = {config->blockDimX, config->blockDimY, config->blockDimZ},
		.dynamic_shared = config->sharedMemBytes
	};
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttribute *attribute = &config->attrs[i];
		if (attribute->id == CU_LAUNCH_ATTRIBUTE_KUDZU_TIMEOUT) {
			memcpy(&work.kernel.timeout, &attribute->value,
				sizeof(work.kernel.timeout));
			continue;
		}
		CUresult result = work_check_attribute(__func__, attribute);
		if (result != CUDA_SUCCESS) {
			return result;
		}
		if (attribute->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
			work.kernel.is_cooperative = attribute->value.cooperative != 0;
		} else if (attribute->id == CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE) {
			work.kernel.shared_mode = (uint8_t)attribute->value.sharedMemoryMode;
		}
	}
	return launch_kernel(__func__, function, &work, config->hStream, values, extra);
}
API_PER_THREAD(cuLaunchKernelEx_ptsz, cuLaunchKernelEx,
	(const CUlaunchConfig *config, CUfunction function, void **values, void **extra),
	(config, function, values, extra));
