/* SPDX-License-Identifier: MIT */
/*
 * Attributes of streams, and the attachment of managed memory to them.  Attributes are hints, which
 * the device keeps and does not follow.  All streams can use managed memory at any time.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "cpu/stream/cu_capture.h"
#include "cpu/stream/queue.h"

#include <string.h>

static CUresult stream_check_attribute(const char *call, CUstreamAttrID id, const void *value)
{
	const unsigned known = 1u << CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
		| 1u << CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY
		| 1u << CU_LAUNCH_ATTRIBUTE_PRIORITY | 1u << CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP
		| 1u << CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
	CUresult result = api_need(api_ready(call), call, value);
	return result != CUDA_SUCCESS
		|| ((unsigned)id <= CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN && (known >> id & 1))
		? result : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: attribute %d is not a stream attribute", call, (int)id);
}

API(cuStreamGetAttribute, CUstream handle, CUstreamAttrID id, CUstreamAttrValue *out)
{
	struct stream *stream;
	CUresult result = stream_check_attribute(__func__, id, out);
	if (result == CUDA_SUCCESS) {
		result = stream_enter(__func__, handle, &stream);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = stream->attributes[id];
	queue_unlock();
	if (id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY && out->syncPolicy == 0) {
		out->syncPolicy = CU_SYNC_POLICY_AUTO;
	}
	return CUDA_SUCCESS;
}
API_PER_THREAD(cuStreamGetAttribute_ptsz, cuStreamGetAttribute,
	(CUstream handle, CUstreamAttrID id, CUstreamAttrValue *out), (handle, id, out));

API(cuStreamSetAttribute, CUstream handle, CUstreamAttrID id, const CUstreamAttrValue *value)
{
	struct stream *stream;
	CUresult result = stream_check_attribute(__func__, id, value);
	if (result == CUDA_SUCCESS && id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY
	    && (value->syncPolicy < CU_SYNC_POLICY_AUTO
		|| value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown policy %d", __func__,
			(int)value->syncPolicy);
	}
	if (result == CUDA_SUCCESS) {
		result = stream_enter(__func__, handle, &stream);
	}
	if (result == CUDA_SUCCESS) {
		stream->attributes[id] = *value;
		queue_unlock();
	}
	return result;
}
API_PER_THREAD(cuStreamSetAttribute_ptsz, cuStreamSetAttribute,
	(CUstream handle, CUstreamAttrID id, const CUstreamAttrValue *value), (handle, id, value));

API(cuStreamCopyAttributes, CUstream to_handle, CUstream from_handle)
{
	struct stream *from;
	struct stream *to;
	CUstreamAttrValue attributes[countof(from->attributes)];
	CUresult result = stream_enter(__func__, from_handle, &from);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	const struct context *context = from->object.context;
	memcpy(attributes, from->attributes, sizeof(attributes));
	queue_unlock();
	result = stream_enter(__func__, to_handle, &to);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	bool is_same = to->object.context == context;
	if (is_same) {
		memcpy(to->attributes, attributes, sizeof(attributes));
	}
	queue_unlock();
	return is_same ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: the streams are of different contexts", __func__);
}
API_PER_THREAD(cuStreamCopyAttributes_ptsz, cuStreamCopyAttributes,
	(CUstream to, CUstream from), (to, from));

static CUresult stream_check_attach(const char *call, struct context *context, CUdeviceptr address,
	size_t size, unsigned flags)
{
	struct memory_range range;
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST
	    && flags != CU_MEM_ATTACH_SINGLE) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", call, flags);
	}
	if (!memory_covers(context->device->memory, address)) {
		return address != 0 && size != 0 ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: expected an address and a size above 0", call);
	}
	if (!memory_find(context->device->memory, address, &range) || range.kind != MEMORY_MANAGED
	    || (size != 0 && (address != range.address || size != range.size))) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: 0x%llx is not managed memory, or only a part of it", call, address);
	}
	return CUDA_SUCCESS;
}

API(cuStreamAttachMemAsync, CUstream handle, CUdeviceptr address, size_t size, unsigned int flags)
{
	struct context *context;
	struct stream *stream;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS) {
		result = stream_check_attach(__func__, context, address, size, flags);
	}
	if (result == CUDA_SUCCESS) {
		result = stream_enter(__func__, handle, &stream);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	bool is_legacy = stream->is_legacy;
	result = capture_check_stream(__func__, stream);
	queue_unlock();
	return result == CUDA_SUCCESS && is_legacy && flags == CU_MEM_ATTACH_SINGLE
		? api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: memory cannot be attached to the default stream alone",
		__func__) : result;
}
API_PER_THREAD(cuStreamAttachMemAsync_ptsz, cuStreamAttachMemAsync,
	(CUstream handle, CUdeviceptr address, size_t size, unsigned int flags),
	(handle, address, size, flags));
