/* SPDX-License-Identifier: MIT */
/* Streams: the functions.  stream/cu_stream.c says how they work. */
#include "base/common.h"

#include "cpu/abi/api.h"

API(cuStreamCreateWithPriority, CUstream *out, unsigned int flags, int priority)
{
	struct context *context;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__,
			flags);
	}
	// One that does not exist becomes the nearest one that does.  None changes when work runs.
	priority = priority > 0 ? 0 : priority;
	*out = stream_create(context, flags, priority < STREAM_GREATEST_PRIORITY
		? STREAM_GREATEST_PRIORITY : priority);
	return *out ? CUDA_SUCCESS
		: api_no_memory(__func__);
}

API(cuStreamCreate, CUstream *out, unsigned int flags)
{
	return cuStreamCreateWithPriority(out, flags, 0);
}

API(cuStreamDestroy_v2, CUstream handle)
{
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	return stream_close(__func__, handle);
}
API_ALIAS(cuStreamDestroy, cuStreamDestroy_v2);

API(cuStreamSynchronize, CUstream handle)
{
	return cu_stream_wait(__func__, handle);
}
API_PER_THREAD(cuStreamSynchronize_ptsz, cuStreamSynchronize, (CUstream handle), (handle));

API(cuStreamQuery, CUstream handle)
{
	return stream_query(__func__, handle);
}
API_PER_THREAD(cuStreamQuery_ptsz, cuStreamQuery, (CUstream handle), (handle));

API(cuStreamGetFlags, CUstream handle, unsigned int *out)
{
	struct stream_info info;
	CUresult result = api_need(stream_get_info(__func__, handle, &info), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = info.flags;
	}
	return result;
}
API_PER_THREAD(cuStreamGetFlags_ptsz, cuStreamGetFlags,
	(CUstream handle, unsigned int *out), (handle, out));

API(cuStreamGetPriority, CUstream handle, int *out)
{
	struct stream_info info;
	CUresult result = api_need(stream_get_info(__func__, handle, &info), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = info.priority;
	}
	return result;
}
API_PER_THREAD(cuStreamGetPriority_ptsz, cuStreamGetPriority,
	(CUstream handle, int *out), (handle, out));

API(cuStreamGetCtx, CUstream handle, CUcontext *out)
{
	struct stream_info info;
	CUresult result = api_need(stream_get_info(__func__, handle, &info), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = info.context;
	}
	return result;
}
API_PER_THREAD(cuStreamGetCtx_ptsz, cuStreamGetCtx,
	(CUstream handle, CUcontext *out), (handle, out));

API(cuStreamGetCtx_v2, CUstream handle, CUcontext *out, CUgreenCtx *green)
{
	CUresult result = cuStreamGetCtx(handle, out);
	if (result == CUDA_SUCCESS && green) {
		*green = NULL;
	}
	return result;
}
API_PER_THREAD(cuStreamGetCtx_v2_ptsz, cuStreamGetCtx_v2,
	(CUstream handle, CUcontext *out, CUgreenCtx *green), (handle, out, green));

API(cuStreamGetGreenCtx, CUstream handle, CUgreenCtx *out)
{
	struct stream_info info;
	CUresult result = api_need(stream_get_info(__func__, handle, &info), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = NULL; // there are no green contexts here
	}
	return result;
}

API(cuStreamGetId, CUstream handle, unsigned long long *out)
{
	struct stream_info info;
	CUresult result = api_need(stream_get_info(__func__, handle, &info), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = info.id;
	}
	return result;
}
API_PER_THREAD(cuStreamGetId_ptsz, cuStreamGetId,
	(CUstream handle, unsigned long long *out), (handle, out));

API(cuStreamGetDevice, CUstream handle, CUdevice *out)
{
	struct stream_info info;
	CUresult result = api_need(stream_get_info(__func__, handle, &info), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = info.device;
	}
	return result;
}
API_PER_THREAD(cuStreamGetDevice_ptsz, cuStreamGetDevice,
	(CUstream handle, CUdevice *out), (handle, out));

API(cuLaunchHostFunc, CUstream handle, CUhostFn function, void *data)
{
	const struct work work = {.kind = WORK_HOST, .host = {function, data}};
	struct context *context;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS && !function) {
		return api_null(__func__, "the function");
	}
	return result != CUDA_SUCCESS ? result
		: stream_enqueue(__func__, context, handle, &work, ENQUEUE_ASYNC, false);
}
API_PER_THREAD(cuLaunchHostFunc_ptsz, cuLaunchHostFunc,
	(CUstream handle, CUhostFn function, void *data), (handle, function, data));

/* How the thread waits that calls the function is a hint, which is not followed. */
API(cuLaunchHostFunc_v2, CUstream handle, CUhostFn function, void *data, unsigned int sync_mode)
{
	CUresult result = api_ready(__func__);
	if (result == CUDA_SUCCESS && sync_mode > CU_HOST_TASK_SPINWAIT) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown way to wait %u", __func__,
			sync_mode);
	}
	return result == CUDA_SUCCESS ? cuLaunchHostFunc(handle, function, data) : result;
}
API_PER_THREAD(cuLaunchHostFunc_v2_ptsz, cuLaunchHostFunc_v2,
	(CUstream handle, CUhostFn function, void *data, unsigned int sync_mode),
	(handle, function, data, sync_mode));

API(cuStreamAddCallback, CUstream handle, CUstreamCallback function, void *data,
	unsigned int flags)
{
	const struct work work = {.kind = WORK_CALLBACK, .callback = {function, handle, data}};
	struct context *context;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS && (!function || flags != 0)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: no function, or flags that are not 0", __func__);
	}
	return result != CUDA_SUCCESS ? result
		: stream_enqueue(__func__, context, handle, &work, ENQUEUE_ASYNC, false);
}
API_PER_THREAD(cuStreamAddCallback_ptsz, cuStreamAddCallback,
	(CUstream handle, CUstreamCallback function, void *data, unsigned int flags),
	(handle, function, data, flags));

API(cuStreamWaitEvent, CUstream handle, CUevent event, unsigned int flags)
{
	const struct work work = {.kind = WORK_WAIT, .event = event,
		.is_external = flags == CU_EVENT_WAIT_EXTERNAL};
	struct context *context;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS && (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__,
			flags);
	}
	return result != CUDA_SUCCESS ? result
		: stream_enqueue(__func__, context, handle, &work, ENQUEUE_ASYNC, false);
}
API_PER_THREAD(cuStreamWaitEvent_ptsz, cuStreamWaitEvent,
	(CUstream handle, CUevent event, unsigned int flags), (handle, event, flags));
