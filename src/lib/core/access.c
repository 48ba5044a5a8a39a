/* SPDX-License-Identifier: MIT */
/* Access policy windows: which memory the L2 cache of a device should keep for the kernels of a
 * stream. */
#include "base/common.h"

#include "lib/core/memory.h"

static kz_status access_check(const kz_access_window *window, const struct kz_stream *stream,
	kz_error *err)
{
	kz_status st;
	if (window->size != sizeof(*window)) {
		return struct_refuse("kz_access_window", window->size, sizeof(*window), err);
	}
	if ((st = buffer_check(window->buffer, window->offset, window->bytes, err))) {
		return st;
	}
	if (window->buffer->memory->device != stream->device) {
		return error_set(err, KZ_INVALID, "the buffer is on %s, the stream on %s",
			window->buffer->memory->device->name, stream->device->name);
	}
	if (!(window->hit_ratio >= 0 && window->hit_ratio <= 1)) {
		return error_set(err, KZ_INVALID, "expected a hit_ratio from 0 to 1, got %g",
			(double)window->hit_ratio);
	}
	if ((unsigned)window->hit > KZ_ACCESS_PERSISTING
	    || (unsigned)window->miss > KZ_ACCESS_STREAMING) {
		return error_set(err, KZ_INVALID, "expected hit from 0 to %d and miss from 0 to "
			"%d, got %d and %d",
			KZ_ACCESS_PERSISTING, KZ_ACCESS_STREAMING, (int)window->hit,
			(int)window->miss);
	}
	return KZ_OK;
}

kz_status kz_stream_set_access(kz_stream *stream, const kz_access_window *window, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	CUstreamAttrValue value = {{0}};
	kz_status st;
	if ((st = object_check(stream, OBJECT_STREAM, err))
	    || (window && (st = access_check(window, stream, err)))
	    || (st = device_enter(stream->device, &scope, err))) {
		return st;
	}
	if (window && window->bytes > 0) {
		value.accessPolicyWindow = (CUaccessPolicyWindow){
			/* NOLINTNEXTLINE: an address it is */
			.base_ptr = (void *)(buffer_address(window->buffer)
				+ (CUdeviceptr)window->offset),
			.num_bytes = (size_t)window->bytes, .hitRatio = window->hit_ratio,
			.hitProp = (CUaccessProperty)window->hit,
			.missProp = (CUaccessProperty)window->miss,
		};
	}
	st = device_ok(stream->device, stream->device->drv->StreamSetAttribute(stream->handle,
		CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value), "cuStreamSetAttribute", err);
	device_leave(stream->device, &scope);
	return st;
}

kz_status kz_device_reset_l2(kz_device *dev, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = object_check(dev, OBJECT_DEVICE, err)) || (st = device_enter(dev, &scope, err))) {
		return st;
	}
	st = device_ok(dev, dev->drv->CtxResetPersistingL2Cache(), "cuCtxResetPersistingL2Cache",
		err);
	device_leave(dev, &scope);
	return st;
}
