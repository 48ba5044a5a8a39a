/* SPDX-License-Identifier: MIT */
/*
 * The runtime works in primary contexts.  It retains that of a device when a thread first needs
 * it, and keeps it until cudaDeviceReset.  A context that the program has made current by the
 * driver API is left alone and used, as NVIDIA's runtime does.
 *
 * cudaDeviceReset ends a primary context that may be current in other threads.  They see the
 * count of resets change, and then ask whether theirs is still alive.
 */
#include "base/common.h"

#include "cudart/state.h"

#include <pthread.h>
#include <stdatomic.h>

_Thread_local struct state state;

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext state_primary[STATE_DEVICES]; /* those retained; guarded by state_lock */
static atomic_uint state_resets;

cudaError_t state_begin(void)
{
	return driver_load();
}

/* Whether an error says that the context is lost. */
static bool state_is_sticky(cudaError_t code)
{
	switch (code) {
	case cudaErrorIllegalAddress:
	case cudaErrorLaunchTimeout:
	case cudaErrorAssert:
	case cudaErrorHardwareStackError:
	case cudaErrorIllegalInstruction:
	case cudaErrorMisalignedAddress:
	case cudaErrorInvalidAddressSpace:
	case cudaErrorInvalidPc:
	case cudaErrorLaunchFailure:
		return true;
	default:
		return false;
	}
}

cudaError_t state_leave(cudaError_t code)
{
	if (unlikely(code != cudaSuccess) && !state_is_sticky(state.last)) {
		state.last = code;
	}
	return code;
}

void state_forget(void)
{
	if (!state_is_sticky(state.last)) {
		state.last = cudaSuccess;
	}
}

/* Retain the primary context of a device, if that was not done. */
static cudaError_t state_retain(CUcontext *out, int device)
{
	CUresult result = CUDA_SUCCESS;
	if (device < 0 || device >= STATE_DEVICES) {
		return cudaErrorInvalidDevice;
	}
	pthread_mutex_lock(&state_lock);
	if (!state_primary[device]) {
		result = driver.cuDevicePrimaryCtxRetain(&state_primary[device], device);
	}
	if (result != CUDA_SUCCESS) {
		state_primary[device] = NULL;
	}
	*out = state_primary[device];
	pthread_mutex_unlock(&state_lock);
	return driver_error(result);
}

cudaError_t state_prepare(int device)
{
	CUcontext context;
	const cudaError_t code = driver_load();
	return code ? code : state_retain(&context, device);
}

static cudaError_t state_make_current(int device)
{
	CUcontext context;
	const cudaError_t code = state_retain(&context, device);
	return code ? code : driver_error(driver.cuCtxSetCurrent(context));
}

/* Whether the current context is a primary one that cudaDeviceReset has ended. */
static bool state_was_reset(CUcontext context)
{
	bool was_reset = false;
	const unsigned resets = atomic_load_explicit(&state_resets, memory_order_acquire);
	if (likely(state.resets == resets)) {
		return false;
	}
	pthread_mutex_lock(&state_lock);
	CUdevice device;
	unsigned flags;
	int is_active;
	was_reset = driver.cuCtxGetDevice(&device) != CUDA_SUCCESS
		|| (device < STATE_DEVICES && context != state_primary[device]
			&& driver.cuDevicePrimaryCtxGetState(device, &flags, &is_active)
				== CUDA_SUCCESS && !is_active);
	pthread_mutex_unlock(&state_lock);
	state.resets = resets;
	return was_reset;
}

cudaError_t state_enter(void)
{
	CUcontext context = NULL;
	cudaError_t code = driver_load();
	if (unlikely(code)) {
		return code;
	}
	code = driver_error(driver.cuCtxGetCurrent(&context));
	if (likely(!code && context && !state_was_reset(context))) {
		return cudaSuccess;
	}
	return code ? code : state_make_current(state.device);
}

cudaError_t state_device(int *device)
{
	CUcontext context = NULL;
	const cudaError_t code = driver_load();
	if (code) {
		return code;
	}
	if (driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context
	    || driver.cuCtxGetDevice(device) != CUDA_SUCCESS) {
		*device = state.device;
	}
	return cudaSuccess;
}

cudaError_t state_choose(int device)
{
	int count = 0;
	cudaError_t code = driver_load();
	if (!code) {
		code = driver_error(driver.cuDeviceGetCount(&count));
	}
	if (!code) {
		code = device < 0 || device >= count ? cudaErrorInvalidDevice
			: state_make_current(device);
	}
	if (!code) {
		state.device = device;
	}
	return code;
}

cudaError_t state_reset(void)
{
	int device;
	cudaError_t code = state_device(&device);
	if (code || device >= STATE_DEVICES) {
		return code;
	}
	pthread_mutex_lock(&state_lock);
	code = driver_error(driver.cuDevicePrimaryCtxReset_v2(device));
	if (!code && state_primary[device]) {
		driver.cuDevicePrimaryCtxRelease_v2(device);
		state_primary[device] = NULL;
	}
	atomic_fetch_add(&state_resets, 1);
	pthread_mutex_unlock(&state_lock);
	if (!code) {
		driver.cuCtxSetCurrent(NULL);
		state.device = device;
		state.last = cudaSuccess;
	}
	return code;
}
