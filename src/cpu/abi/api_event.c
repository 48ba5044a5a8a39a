/* SPDX-License-Identifier: MIT */
/* Events: the functions.  stream/event.c says how they work. */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "cpu/stream/cu_capture.h"

/* The state of an event, for the functions that query it. */
static CUresult enter_event(const char *call, CUevent handle, struct event_info *out)
{
	struct context *context;
	CUresult result = api_enter(call, &context);
	return result == CUDA_SUCCESS ? event_get_info(call, handle, out) : result;
}

API(cuEventCreate, CUevent *out, unsigned int flags)
{
	const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING
		| CU_EVENT_INTERPROCESS;
	struct context *context;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if ((flags & ~known) || ((flags & CU_EVENT_INTERPROCESS)
			&& !(flags & CU_EVENT_DISABLE_TIMING))) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: impossible flags 0x%x", __func__,
			flags);
	}
	*out = event_create(context, flags);
	return *out ? CUDA_SUCCESS
		: api_no_memory(__func__);
}

API(cuEventDestroy_v2, CUevent handle)
{
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	return event_destroy(__func__, handle);
}
API_ALIAS(cuEventDestroy, cuEventDestroy_v2);

API(cuEventRecordWithFlags, CUevent handle, CUstream stream, unsigned int flags)
{
	const struct work work = {.kind = WORK_RECORD, .event = handle,
		.is_external = flags == CU_EVENT_RECORD_EXTERNAL};
	struct context *context;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS && (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__,
			flags);
	}
	return result != CUDA_SUCCESS ? result
		: stream_enqueue(__func__, context, stream, &work, ENQUEUE_ASYNC, false);
}
API_PER_THREAD(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags,
	(CUevent handle, CUstream stream, unsigned int flags), (handle, stream, flags));

API(cuEventRecord, CUevent handle, CUstream stream)
{
	return cuEventRecordWithFlags(handle, stream, 0);
}
API_PER_THREAD(cuEventRecord_ptsz, cuEventRecord,
	(CUevent handle, CUstream stream), (handle, stream));

API(cuEventQuery, CUevent handle)
{
	struct event_info info;
	CUresult result = enter_event(__func__, handle, &info);
	if (result == CUDA_SUCCESS) {
		result = capture_check_unsafe(__func__);
	}
	return result == CUDA_SUCCESS && !info.is_done ? CUDA_ERROR_NOT_READY : result;
}

API(cuEventSynchronize, CUevent handle)
{
	struct event_info info;
	CUresult result = enter_event(__func__, handle, &info);
	if (result == CUDA_SUCCESS) {
		result = capture_check_unsafe(__func__);
	}
	return result == CUDA_SUCCESS && !info.is_done ? event_wait(__func__, handle) : result;
}

API(cuEventElapsedTime, float *out, CUevent start, CUevent end)
{
	struct event_info from;
	struct event_info to;
	CUresult result = api_need(enter_event(__func__, start, &from), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = enter_event(__func__, end, &to);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (!from.is_recorded || !to.is_recorded
	    || ((from.flags | to.flags) & CU_EVENT_DISABLE_TIMING)) {
		return api_fail(CUDA_ERROR_INVALID_HANDLE,
			"%s: an event was not recorded, or does not measure time", __func__);
	}
	if (!from.is_done || !to.is_done) {
		return CUDA_ERROR_NOT_READY;
	}
	*out = (float)((double)(int64_t)(to.time - from.time) * 1e-6);
	return CUDA_SUCCESS;
}
API_ALIAS(cuEventElapsedTime_v2, cuEventElapsedTime);
