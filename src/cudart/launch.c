/* SPDX-License-Identifier: MIT */
/*
 * Launches.  f<<<grid, block>>>(x) of a program pushes its configuration and calls f's stub on the
 * host, which pops it, collects the addresses of the arguments, and calls cudaLaunchKernel or
 * (nvcc 13) __cudaLaunchKernel.
 */
#include "base/common.h"

#include "cudart/register.h"

__attribute__((visibility("default"))) unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block,
	size_t shared_size, cudaStream_t stream);

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_size,
	cudaStream_t stream)
{
	if (state.call_count == STATE_CALLS) {
		return (unsigned)state_leave(cudaErrorInvalidConfiguration);
	}
	state.calls[state.call_count++] = (struct state_call){grid, block, shared_size, stream};
	return 0;
}

API(__cudaPopCallConfiguration, dim3 *grid, dim3 *block, size_t *shared_size, void *stream)
{
	if (state.call_count == 0) {
		return state_leave(cudaErrorMissingConfiguration);
	}
	const struct state_call *call = &state.calls[--state.call_count];
	*grid = call->grid;
	*block = call->block;
	*shared_size = call->shared_size;
	*(cudaStream_t *)stream = call->stream;
	return cudaSuccess;
}

/* The driver's invalid value is an invalid configuration if the launch's numbers are wrong. */
static cudaError_t launch_error(CUresult result, dim3 grid, dim3 block, size_t shared_size)
{
	if (result != CUDA_ERROR_INVALID_VALUE) {
		return result == CUDA_ERROR_INVALID_HANDLE ? cudaErrorInvalidDeviceFunction
			: driver_error(result);
	}
	static const CUdevice_attribute limits[] = {
		CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
		CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
		CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
		CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
		CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN};
	const size_t values[] = {grid.x, grid.y, grid.z, block.x, block.y, block.z,
		(size_t)block.x * block.y * block.z, shared_size};
	CUdevice device = 0;
	driver.cuCtxGetDevice(&device);
	for (size_t i = 0; i < countof(limits); i++) {
		int limit = 0;
		if ((values[i] == 0 && i < 6)
		    || (driver.cuDeviceGetAttribute(&limit, limits[i], device) == CUDA_SUCCESS
			&& values[i] > (size_t)limit)) {
			return i == 7 ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;
		}
	}
	return cudaErrorInvalidValue;
}

static cudaError_t launch_ready(CUkernel kernel, const struct state_call *call, void **arguments,
	bool is_cooperative)
{
	const dim3 grid = call->grid, block = call->block;
	CUfunction function = (CUfunction)(void *)kernel;
	if (unlikely(call->shared_size > UINT32_MAX)) {
		return cudaErrorInvalidValue;
	}
	CUresult result = is_cooperative
		? driver.cuLaunchCooperativeKernel(function, grid.x, grid.y, grid.z,
			block.x, block.y, block.z, (unsigned)call->shared_size, call->stream,
			arguments)
		: driver.cuLaunchKernel(function, grid.x, grid.y, grid.z,
			block.x, block.y, block.z, (unsigned)call->shared_size, call->stream,
			arguments, NULL);
	return likely(result == CUDA_SUCCESS) ? cudaSuccess
		: launch_error(result, grid, block, call->shared_size);
}

static cudaError_t launch_symbol(const void *symbol, const struct state_call *call,
	void **arguments, bool is_cooperative)
{
	CUkernel kernel;
	cudaError_t code = state_enter();
	register_hold();
	if (!code) {
		code = register_kernel(&kernel, symbol);
	}
	if (!code) {
		code = launch_ready(kernel, call, arguments, is_cooperative);
	}
	register_let();
	return state_leave(code);
}

API(cudaLaunchKernel, const void *symbol, dim3 grid, dim3 block, void **arguments,
	size_t shared_size, cudaStream_t stream)
{
	return launch_symbol(symbol, &(struct state_call){grid, block, shared_size, stream},
		arguments, false);
}

API(cudaLaunchKernel_ptsz, const void *symbol, dim3 grid, dim3 block, void **arguments,
	size_t shared_size, cudaStream_t stream)
{
	return launch_symbol(symbol, &(struct state_call){grid, block, shared_size,
		state_per_thread(stream)}, arguments, false);
}

API(cudaLaunchCooperativeKernel, const void *symbol, dim3 grid, dim3 block, void **arguments,
	size_t shared_size, cudaStream_t stream)
{
	return launch_symbol(symbol, &(struct state_call){grid, block, shared_size, stream},
		arguments, true);
}

API(cudaLaunchCooperativeKernel_ptsz, const void *symbol, dim3 grid, dim3 block,
	void **arguments, size_t shared_size, cudaStream_t stream)
{
	return launch_symbol(symbol, &(struct state_call){grid, block, shared_size,
		state_per_thread(stream)}, arguments, true);
}

/* A stub asks once for its kernel, and goes on to launch if it does not get one. */
API(__cudaGetKernel, CUkernel *out, const void *symbol)
{
	cudaError_t code = state_enter();
	*out = NULL;
	register_hold();
	if (!code) {
		code = register_kernel(out, symbol);
		*out = code ? NULL : *out;
	}
	register_let();
	return state_leave(code);
}

static cudaError_t launch_handle(CUkernel kernel, const struct state_call *call, void **arguments)
{
	cudaError_t code = state_enter();
	register_hold();
	if (!code) {
		code = kernel ? launch_ready(kernel, call, arguments, false) : register_failure();
	}
	register_let();
	return state_leave(code);
}

API(__cudaLaunchKernel, CUkernel kernel, dim3 grid, dim3 block, void **arguments,
	size_t shared_size, cudaStream_t stream)
{
	return launch_handle(kernel, &(struct state_call){grid, block, shared_size, stream},
		arguments);
}

API(__cudaLaunchKernel_ptsz, CUkernel kernel, dim3 grid, dim3 block, void **arguments,
	size_t shared_size, cudaStream_t stream)
{
	return launch_handle(kernel, &(struct state_call){grid, block, shared_size,
		state_per_thread(stream)}, arguments);
}

static cudaError_t launch_configured(const cudaLaunchConfig_t *config, const void *symbol,
	void **arguments, bool is_per_thread)
{
	CUkernel kernel;
	cudaError_t code = !config || config->dynamicSmemBytes > UINT32_MAX ? cudaErrorInvalidValue
		: state_enter();
	register_hold();
	if (!code) {
		code = register_kernel(&kernel, symbol);
	}
	if (!code) {
		const dim3 grid = config->gridDim, block = config->blockDim;
		const CUlaunchConfig to = {grid.x, grid.y, grid.z, block.x, block.y, block.z,
			(unsigned)config->dynamicSmemBytes,
			is_per_thread ? state_per_thread(config->stream) : config->stream,
			config->attrs, config->numAttrs};
		code = launch_error(driver.cuLaunchKernelEx(&to, (CUfunction)(void *)kernel,
			arguments, NULL), grid, block, config->dynamicSmemBytes);
	}
	register_let();
	return state_leave(code);
}

API(cudaLaunchKernelExC, const cudaLaunchConfig_t *config, const void *symbol, void **arguments)
{
	return launch_configured(config, symbol, arguments, false);
}

API(cudaLaunchKernelExC_ptsz, const cudaLaunchConfig_t *config, const void *symbol,
	void **arguments)
{
	return launch_configured(config, symbol, arguments, true);
}
