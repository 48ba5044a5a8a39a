/* SPDX-License-Identifier: MIT */
/*
 * Memory that processes share.
 *
 * The driver names whole allocations.  A buffer is a part of one, such as a block of a segment of
 * the pool, so its handle has the place in the allocation, too.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/memory.h"

#include <string.h>

static_assert(sizeof(CUipcMemHandle) == sizeof(kz_ipc_handle), "a handle is a handle");

/* Find where the driver's allocation begins that a buffer lies in; the context is current. */
static kz_status ipc_find_start(CUdeviceptr *out, const struct kz_buffer *buffer, kz_error *err)
{
	struct kz_device *dev = buffer->memory->device;
	return device_ok(dev, dev->drv->PointerGetAttribute(out,
		CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
		buffer_address(buffer)), "cuPointerGetAttribute", err);
}

kz_status kz_buffer_export(kz_buffer_handle *out, kz_buffer *buffer, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	CUipcMemHandle handle;
	CUdeviceptr start = 0;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(buffer, OBJECT_BUFFER, err))) {
		return st;
	}
	if (buffer->size == 0) {
		return error_set(err, KZ_INVALID, "expected a buffer of 1 byte or more to share, "
			"got one of 0");
	}
	struct kz_device *dev = buffer->memory->device;
	if ((st = device_enter(dev, &scope, err))) {
		return st;
	}
	if (!(st = ipc_find_start(&start, buffer, err))) {
		CUresult code = dev->drv->IpcGetMemHandle(&handle, start);
		st = code != CUDA_ERROR_INVALID_VALUE
			? device_ok(dev, code, "cuIpcGetMemHandle", err)
			: error_set(err, KZ_UNSUPPORTED, "%s cannot share this memory, expected "
				"memory from a pool or from cuMemAlloc", dev->name);
	}
	device_leave(dev, &scope);
	if (!st) {
		memcpy(&out->allocation, &handle, sizeof(handle));
		out->offset = (int64_t)(buffer_address(buffer) - start);
		out->size = buffer->size;
	}
	return st;
}

/* An allocation of another process. */
struct imported {
	struct kz_device *device;
	CUdeviceptr start;
};

static void ipc_close(struct kz_device *dev, CUdeviceptr start)
{
	struct device_scope scope;
	if (device_enter_quietly(dev, &scope)) {
		CUstreamCaptureMode mode = device_relax(dev);
		device_released(dev, dev->drv->IpcCloseMemHandle(start), "cuIpcCloseMemHandle");
		device_restore(dev, mode);
		device_leave(dev, &scope);
	}
}

static void ipc_release(void *user)
{
	struct imported *imported = user;
	ipc_close(imported->device, imported->start);
	mem_free(imported);
}

/* Open an allocation, and check that the buffer's bytes are in it.  The context is current. */
static kz_status ipc_open(CUdeviceptr *out, struct kz_device *dev, const kz_buffer_handle *handle,
	kz_error *err)
{
	CUipcMemHandle allocation;
	size_t size = 0;
	memcpy(&allocation, &handle->allocation, sizeof(allocation));
	CUstreamCaptureMode mode = device_relax(dev);
	CUresult code = dev->drv->IpcOpenMemHandle(out, allocation,
		CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
	device_restore(dev, mode);
	kz_status st = device_ok(dev, code, "cuIpcOpenMemHandle", err);
	if (st) {
		return st;
	}
	st = device_ok(dev, dev->drv->PointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
		*out), "cuPointerGetAttribute", err);
	if (!st && ((size_t)handle->size > size
		|| (size_t)handle->offset > size - (size_t)handle->size)) {
		st = error_set(err, KZ_RANGE, "%lld bytes from offset %lld do not lie in an "
			"allocation of %zu bytes", (long long)handle->size,
			(long long)handle->offset, size);
	}
	if (st) {
		ipc_close(dev, *out);
	}
	return st;
}

/* A buffer over a part of an allocation, which it closes. */
static kz_status ipc_wrap(kz_buffer **out, struct imported *imported,
	const kz_buffer_handle *handle, kz_error *err)
{
	struct memory *memory = NULL;
	kz_status st = memory_wrap(&memory, imported->device, MEMPOOL_DEVICE,
		imported->start + (CUdeviceptr)handle->offset, handle->size, err);
	if (!st && (st = buffer_take(out, memory, 0, handle->size, err))) {
		memory_release(memory);
	}
	if (!st) {
		memory->on_release = ipc_release;
		memory->user = imported;
	}
	return buffer_hold(out, st);
}

kz_status kz_buffer_import(kz_buffer **out, kz_device *dev, const kz_buffer_handle *handle,
	kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pointer_check(handle, "a handle of a buffer", err))) {
		return st;
	}
	if (handle->size < 1 || handle->offset < 0) {
		return error_set(err, KZ_INVALID, "expected a handle of kz_buffer_export, got one "
			"with size %lld, offset %lld", (long long)handle->size,
			(long long)handle->offset);
	}
	struct imported *imported = mem_alloc(sizeof(*imported));
	if (!imported) {
		return error_no_memory(err);
	}
	imported->device = dev;
	if (!(st = device_enter(dev, &scope, err))) {
		st = ipc_open(&imported->start, dev, handle, err);
		device_leave(dev, &scope);
	}
	if (!st && (st = ipc_wrap(out, imported, handle, err))) {
		ipc_close(dev, imported->start);
	}
	if (st) {
		mem_free(imported);
	}
	return st;
}
