/* SPDX-License-Identifier: MIT */
/*
 * Memory and events that processes of one user share: the functions of CUDA 4.1.  A handle names a
 * file of a process (share.h).
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "base/alloc.h"
#include "cpu/stream/cu_capture.h"

#include <string.h>
#include <unistd.h>

#define KIND 0x4d5a4b31u /* of handles of memory */

_Static_assert(sizeof(struct share_handle) <= sizeof(CUipcMemHandle)
	&& sizeof(struct share_handle) <= sizeof(CUipcEventHandle), "a handle fits");

/* Refuse a handle that this process may not open. */
static CUresult ipc_check_handle(const char *call, const struct share_handle *handle)
{
	return handle->process != getpid() ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_CONTEXT,
		"%s: the handle is this process's own", call);
}

static CUresult ipc_fail_open(const char *call, const struct share_handle *handle,
	enum share_result result)
{
	return result == SHARE_GONE ? api_fail(CUDA_ERROR_INVALID_HANDLE,
		"%s: the handle is not valid, or process %d has freed what it refers to", call,
		(int)handle->process)
		: result == SHARE_FORBIDDEN ? api_fail(CUDA_ERROR_NOT_PERMITTED,
		"%s: process %d belongs to another user, or the system does not allow access to it",
		call, (int)handle->process)
		: api_fail(CUDA_ERROR_MAP_FAILED, "%s: the memory of process %d cannot be mapped",
			call, (int)handle->process);
}

/* --- Memory --- */

API(cuIpcGetMemHandle, CUipcMemHandle *out, CUdeviceptr address)
{
	struct context *context;
	struct memory_range range;
	struct share share;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (!memory_find(context->device->memory, address, &range) || range.kind != MEMORY_DEVICE
	    || range.pool) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: 0x%llx is not in memory of cuMemAlloc", __func__, address);
	}
	if (!memory_export(context->device->memory, address, &share)) {
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY,
			"%s: no memory or no more file descriptors", __func__);
	}
	const struct share_handle handle = {.kind = KIND, .process = getpid(), .file = share.file,
		.size = range.size, .token = share.token};
	memset(out, 0, sizeof(*out));
	memcpy(out, &handle, sizeof(handle));
	return CUDA_SUCCESS;
}

/* Map the memory of a handle.  The lock of cuIpcOpenMemHandle is held. */
static CUresult ipc_open_memory(const char *call, CUdeviceptr *out, struct context *context,
	const struct share_handle *handle)
{
	struct device_memory *memory = context->device->memory;
	if (handle->kind != KIND || handle->size == 0 || handle->size > INT64_MAX / 2) {
		return ipc_fail_open(call, handle, SHARE_GONE);
	}
	*out = memory_reopen(memory, context, &handle->token);
	if (*out != 0) {
		return CUDA_SUCCESS;
	}
	struct share *share = mem_zalloc(1, sizeof(*share));
	if (!share) {
		return ipc_fail_open(call, handle, SHARE_FAILED);
	}
	const struct memory_range wish = {.size = handle->size, .kind = MEMORY_OPENED,
		.owner = context, .device = context->device->ordinal, .share = share};
	const size_t span = memory_span(memory, handle->size);
	*share = (struct share){.kind = SHARE_FOREIGN, .token = handle->token, .opens = 1};
	enum share_result result = share_open(handle, span, span, &share->file);
	if (result == SHARE_OPENED) {
		const int file = share->file;
		*out = memory_alloc(memory, &wish);
		close(file);
		result = *out != 0 ? SHARE_OPENED : SHARE_FAILED;
	}
	if (result != SHARE_OPENED) {
		mem_free(share);
		return ipc_fail_open(call, handle, result);
	}
	return CUDA_SUCCESS;
}

API(cuIpcOpenMemHandle_v2, CUdeviceptr *out, CUipcMemHandle bytes, unsigned int flags)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct context *context;
	struct share_handle handle;
	memcpy(&handle, &bytes, sizeof(handle));
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS && flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: flags are not CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS", __func__);
	}
	if (result == CUDA_SUCCESS) {
		result = capture_check_unsafe(__func__);
	}
	if (result == CUDA_SUCCESS) {
		result = ipc_check_handle(__func__, &handle);
	}
	if (result == CUDA_SUCCESS) {
		pthread_mutex_lock(&lock);
		result = ipc_open_memory(__func__, out, context, &handle);
		pthread_mutex_unlock(&lock);
	}
	return result;
}
API_ALIAS(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2);

API(cuIpcCloseMemHandle, CUdeviceptr address)
{
	struct context *context;
	CUresult result = api_enter_release(__func__, &context);
	if (result == CUDA_SUCCESS) {
		result = capture_check_unsafe(__func__);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	result = context_wait(context);
	return memory_close(context->device->memory, context, address) ? result
		: api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: 0x%llx does not come from cuIpcOpenMemHandle in this context",
		__func__, address);
}

/* --- Events --- */

API(cuIpcGetEventHandle, CUipcEventHandle *out, CUevent event)
{
	struct context *context;
	struct share_handle handle;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = event_export(__func__, event, &handle);
	}
	if (result == CUDA_SUCCESS) {
		memset(out, 0, sizeof(*out));
		memcpy(out, &handle, sizeof(handle));
	}
	return result;
}

API(cuIpcOpenEventHandle, CUevent *out, CUipcEventHandle bytes)
{
	struct context *context;
	struct share_handle handle;
	enum share_result opened;
	memcpy(&handle, &bytes, sizeof(handle));
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = ipc_check_handle(__func__, &handle);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = event_import(context, &handle, &opened);
	if (!*out && opened == SHARE_OPENED) {
		return api_no_memory(__func__);
	}
	return *out ? CUDA_SUCCESS : ipc_fail_open(__func__, &handle, opened);
}
