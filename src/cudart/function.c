/* SPDX-License-Identifier: MIT */
/* Attributes of kernels, and their occupancy. */
#include "base/common.h"

#include "cudart/register.h"

#include <string.h>

/* The function that a symbol's kernel has in the thread's context. */
static cudaError_t function_enter(CUfunction *out, const void *symbol)
{
	CUkernel kernel;
	cudaError_t code = state_enter();
	register_hold();
	if (!code) {
		code = register_kernel(&kernel, symbol);
	}
	if (!code && driver.cuKernelGetFunction(out, kernel) != CUDA_SUCCESS) {
		*out = (CUfunction)(void *)kernel; /* it may be a function already */
	}
	register_let();
	return code;
}

/* The runtime's caller gave a symbol where the driver was given a handle. */
static cudaError_t function_error(CUresult result)
{
	return result == CUDA_ERROR_INVALID_HANDLE ? cudaErrorInvalidDeviceFunction
		: driver_error(result);
}

API(cudaGetFuncBySymbol, cudaFunction_t *out, const void *symbol)
{
	return state_leave(!out ? cudaErrorInvalidValue : function_enter(out, symbol));
}

API(cudaGetKernel, cudaKernel_t *out, const void *symbol)
{
	cudaError_t code = !out ? cudaErrorInvalidValue : state_enter();
	register_hold();
	code = code ? code : register_kernel(out, symbol);
	register_let();
	return state_leave(code);
}

static const struct {
	size_t offset;
	CUfunction_attribute attribute;
	bool is_size;
} function_attributes[] = {
#define SIZE(member, attribute)                                                                    \
	{offsetof(struct cudaFuncAttributes, member), CU_FUNC_ATTRIBUTE_##attribute, true}
#define INT(member, attribute)                                                                     \
	{offsetof(struct cudaFuncAttributes, member), CU_FUNC_ATTRIBUTE_##attribute, false}
	SIZE(sharedSizeBytes, SHARED_SIZE_BYTES),
	SIZE(constSizeBytes, CONST_SIZE_BYTES),
	SIZE(localSizeBytes, LOCAL_SIZE_BYTES),
	INT(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
	INT(numRegs, NUM_REGS),
	INT(ptxVersion, PTX_VERSION),
	INT(binaryVersion, BINARY_VERSION),
	INT(cacheModeCA, CACHE_MODE_CA),
	INT(maxDynamicSharedSizeBytes, MAX_DYNAMIC_SHARED_SIZE_BYTES),
	INT(preferredShmemCarveout, PREFERRED_SHARED_MEMORY_CARVEOUT),
	INT(clusterDimMustBeSet, CLUSTER_SIZE_MUST_BE_SET),
	INT(requiredClusterWidth, REQUIRED_CLUSTER_WIDTH),
	INT(requiredClusterHeight, REQUIRED_CLUSTER_HEIGHT),
	INT(requiredClusterDepth, REQUIRED_CLUSTER_DEPTH),
	INT(clusterSchedulingPolicyPreference, CLUSTER_SCHEDULING_POLICY_PREFERENCE),
	INT(nonPortableClusterSizeAllowed, NON_PORTABLE_CLUSTER_SIZE_ALLOWED),
#undef SIZE
#undef INT
};

API(cudaFuncGetAttributes, struct cudaFuncAttributes *out, const void *symbol)
{
	CUfunction function;
	cudaError_t code = !out ? cudaErrorInvalidValue : function_enter(&function, symbol);
	if (code) {
		return state_leave(code);
	}
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < countof(function_attributes) && !code; i++) {
		int value = 0;
		char *member = (char *)out + function_attributes[i].offset;
		code = function_error(driver.cuFuncGetAttribute(&value,
			function_attributes[i].attribute, function));
		if (function_attributes[i].is_size) {
			*(size_t *)(void *)member = (size_t)value;
		} else {
			*(int *)(void *)member = value;
		}
	}
	return state_leave(code);
}

API(cudaFuncSetAttribute, const void *symbol, int attribute, int value)
{
	CUfunction function;
	cudaError_t code = function_enter(&function, symbol);
	return state_leave(code ? code : function_error(driver.cuFuncSetAttribute(function,
		(CUfunction_attribute)attribute, value)));
}

API(cudaKernelSetAttributeForDevice, cudaKernel_t kernel, int attribute, int value, int device)
{
	cudaError_t code = state_begin();
	return state_leave(code ? code : function_error(driver.cuKernelSetAttribute(
		(CUfunction_attribute)attribute, value, kernel, device)));
}

API(cudaFuncSetCacheConfig, const void *symbol, int config)
{
	CUfunction function;
	cudaError_t code = function_enter(&function, symbol);
	return state_leave(code ? code : function_error(driver.cuFuncSetCacheConfig(function,
		(CUfunc_cache)config)));
}

API(cudaFuncSetSharedMemConfig, const void *symbol, int config)
{
	CUfunction function;
	cudaError_t code = function_enter(&function, symbol);
	return state_leave(code ? code : function_error(driver.cuFuncSetSharedMemConfig(function,
		(CUsharedconfig)config)));
}

API(cudaFuncGetName, const char **out, const void *symbol)
{
	CUfunction function;
	cudaError_t code = !out ? cudaErrorInvalidValue : function_enter(&function, symbol);
	return state_leave(code ? code : function_error(driver.cuFuncGetName(out, function)));
}

API(cudaFuncGetParamInfo, const void *symbol, size_t index, size_t *offset, size_t *size)
{
	CUfunction function;
	cudaError_t code = function_enter(&function, symbol);
	return state_leave(code ? code : function_error(driver.cuFuncGetParamInfo(function, index,
		offset, size)));
}

/* --- Occupancy --- */

API(cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *out, const void *symbol, int block_size,
	size_t shared_size)
{
	CUfunction function;
	cudaError_t code = function_enter(&function, symbol);
	return state_leave(code ? code : function_error(
		driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(out, function, block_size,
			shared_size)));
}

API(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *out, const void *symbol,
	int block_size, size_t shared_size, unsigned int flags)
{
	CUfunction function;
	cudaError_t code = function_enter(&function, symbol);
	return state_leave(code ? code : function_error(
		driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, function,
			block_size, shared_size, flags)));
}

API(cudaOccupancyAvailableDynamicSMemPerBlock, size_t *out, const void *symbol, int count,
	int block_size)
{
	CUfunction function;
	cudaError_t code = function_enter(&function, symbol);
	return state_leave(code ? code : function_error(
		driver.cuOccupancyAvailableDynamicSMemPerBlock(out, function, count, block_size)));
}

static CUlaunchConfig function_config(const cudaLaunchConfig_t *config)
{
	return (CUlaunchConfig){config->gridDim.x, config->gridDim.y, config->gridDim.z,
		config->blockDim.x, config->blockDim.y, config->blockDim.z,
		(unsigned)config->dynamicSmemBytes, config->stream, config->attrs,
		config->numAttrs};
}

API(cudaOccupancyMaxPotentialClusterSize, int *out, const void *symbol,
	const cudaLaunchConfig_t *config)
{
	CUfunction function;
	cudaError_t code = !config ? cudaErrorInvalidValue : function_enter(&function, symbol);
	if (!code) {
		const CUlaunchConfig to = function_config(config);
		code = function_error(driver.cuOccupancyMaxPotentialClusterSize(out, function,
			&to));
	}
	return state_leave(code);
}

API(cudaOccupancyMaxActiveClusters, int *out, const void *symbol, const cudaLaunchConfig_t *config)
{
	CUfunction function;
	cudaError_t code = !config ? cudaErrorInvalidValue : function_enter(&function, symbol);
	if (!code) {
		const CUlaunchConfig to = function_config(config);
		code = function_error(driver.cuOccupancyMaxActiveClusters(out, function, &to));
	}
	return state_leave(code);
}
