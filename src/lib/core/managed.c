/* SPDX-License-Identifier: MIT */
/*
 * Memory that host and device use by one address.
 *
 * Managed memory is borrowed from the driver, one allocation for each buffer: a pool would move
 * pages of several owners together.  A buffer of pinned memory shares the memory's `struct memory`,
 * so that copies and kernels are ordered among each other.
 */
#include "base/common.h"

#include "lib/core/memory.h"
#include "lib/core/pinned.h"

#include <kudzu/host_memory.h>

static void managed_free(void *user)
{
	struct memory *memory = user;
	struct device_scope scope;
	if (device_enter_quietly(memory->device, &scope)) {
		device_released(memory->device, memory->device->drv->MemFree(memory->address),
			"cuMemFree");
		device_leave(memory->device, &scope);
	}
}

static bool memory_is_managed(const struct memory *memory)
{
	return memory->on_release == managed_free;
}

/* Borrow managed memory; of 0 bytes there is none. */
static kz_status managed_allocate(struct memory **out, struct kz_device *dev, int64_t size,
	kz_error *err)
{
	struct device_scope scope;
	CUdeviceptr address = 0;
	kz_status st = device_enter(dev, &scope, err);
	if (st) {
		return st;
	}
	if (size > 0) {
		st = device_ok(dev, dev->drv->MemAllocManaged(&address, (size_t)size,
			CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged", err);
	}
	if (!st && (st = memory_borrow(out, dev, address, size, NULL, err)) && size > 0) {
		device_released(dev, dev->drv->MemFree(address), "cuMemFree");
	}
	if (!st && size > 0) {
		(*out)->on_release = managed_free;
		(*out)->user = *out;
	}
	device_leave(dev, &scope);
	return st;
}

/* A buffer over all of the memory; takes it, also on failure. */
static kz_status managed_hand_out(kz_buffer **out, struct memory *memory, kz_error *err)
{
	kz_status st = buffer_take(out, memory, 0, memory->size, err);
	if (st) {
		memory_release(memory);
	}
	return buffer_hold(out, st);
}

kz_status kz_managed_create(kz_buffer **out, kz_device *dev, int64_t size, kz_error *err)
{
	error_scope(err);
	kz_status st;
	struct memory *memory = NULL;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))) {
		return st;
	}
	if (size < 0) {
		return error_set(err, KZ_INVALID,
			"expected a size of managed memory of at least 0, got %lld",
			(long long)size);
	}
	st = managed_allocate(&memory, dev, size, err);
	return st ? st : managed_hand_out(out, memory, err);
}

kz_status kz_pinned_buffer(kz_buffer **out, kz_pinned *pinned, kz_error *err)
{
	error_scope(err);
	kz_status st;
	struct device_scope scope;
	CUdeviceptr address = 0;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(pinned, OBJECT_PINNED, err))) {
		return st;
	}
	struct memory *memory = pinned_memory(pinned);
	struct kz_device *dev = memory->device;
	if (memory->size > 0) {
		if ((st = device_enter(dev, &scope, err))) {
			return st;
		}
		CUresult code = dev->drv->MemHostGetDevicePointer(&address,
			kz_pinned_pointer(pinned), 0);
		device_leave(dev, &scope);
		if ((st = device_ok(dev, code, "cuMemHostGetDevicePointer", err))) {
			return st;
		}
	}
	if (address != memory->address) {
		return error_set(err, KZ_UNSUPPORTED,
			"%s uses another address for the pinned memory at %p", dev->name,
			kz_pinned_pointer(pinned));
	}
	return managed_hand_out(out, memory_retain(memory), err);
}

void *kz_buffer_host(const kz_buffer *buffer)
{
	if (!buffer || buffer->size == 0) {
		return NULL;
	}
	const struct memory *memory = buffer->memory;
	bool pinned = memory->pool && memory->pool->kind == MEMPOOL_PINNED;
	/* NOLINTNEXTLINE: the host's address, too */
	return pinned || memory_is_managed(memory) ? (void *)buffer_address(buffer) : NULL;
}

/* Check that memory is managed, and give the driver's name of the place. */
static kz_status managed_place(CUmemLocation *out, const struct kz_buffer *buffer,
	const struct kz_device *place, kz_error *err)
{
	kz_status st = object_check(buffer, OBJECT_BUFFER, err);
	if (st) {
		return st;
	}
	*out = (CUmemLocation){
		.type = place ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST,
		.id = place ? place->handle : 0};
	if (place && place->drv != buffer->memory->device->drv) {
		return error_set(err, KZ_INVALID,
			"the memory is on %s, whose driver does not know %s",
			buffer->memory->device->name, place->name);
	}
	return memory_is_managed(buffer->memory) || buffer->size == 0 ? KZ_OK
		: error_set(err, KZ_INVALID,
			"expected a buffer from kz_managed_create, got one with another kind of "
			"memory");
}

kz_status kz_managed_advise(kz_buffer *buffer, kz_advice advice, kz_device *place, kz_error *err)
{
	error_scope(err);
	CUmemLocation where;
	struct device_scope scope;
	kz_status st = managed_place(&where, buffer, place, err);
	if (!st && (advice < KZ_READ_MOSTLY || advice > KZ_NOT_ACCESSED_BY)) {
		st = error_set(err, KZ_INVALID, "expected a kz_advice from %d to %d, got %d",
			KZ_READ_MOSTLY, KZ_NOT_ACCESSED_BY, (int)advice);
	}
	if (st || buffer->size == 0) {
		return st;
	}
	struct kz_device *dev = buffer->memory->device;
	if (!(st = device_enter(dev, &scope, err))) {
		st = device_ok(dev, dev->drv->MemAdvise(buffer_address(buffer),
			(size_t)buffer->size, (CUmem_advise)advice, where), "cuMemAdvise", err);
		device_leave(dev, &scope);
	}
	return st;
}

kz_status kz_managed_prefetch(kz_buffer *buffer, kz_device *place, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	CUmemLocation where;
	struct device_scope scope;
	kz_status st;
	if ((st = managed_place(&where, buffer, place, err))
	    || (st = stream_pick(&stream, buffer->memory->device, stream, err))
	    || buffer->size == 0) {
		return st;
	}
	struct kz_device *dev = buffer->memory->device;
	if ((st = device_enter(dev, &scope, err))) {
		return st;
	}
	if (!(st = memory_use(buffer->memory, stream, err))) {
		st = device_ok(dev, dev->drv->MemPrefetchAsync(buffer_address(buffer),
			(size_t)buffer->size, where, 0, stream->handle), "cuMemPrefetchAsync", err);
		st = st ? st : memory_used(buffer->memory, stream, err);
	}
	device_leave(dev, &scope);
	return st;
}

kz_status kz_managed_attach(kz_buffer *buffer, kz_attach attach, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	CUmemLocation where;
	struct device_scope scope;
	kz_status st = managed_place(&where, buffer, NULL, err);
	if (!st && attach != KZ_ATTACH_GLOBAL && attach != KZ_ATTACH_HOST
	    && attach != KZ_ATTACH_SINGLE) {
		st = error_set(err, KZ_INVALID, "expected a kz_attach, %d, %d or %d, got %d",
			KZ_ATTACH_GLOBAL, KZ_ATTACH_HOST, KZ_ATTACH_SINGLE, (int)attach);
	}
	if (st || (st = stream_pick(&stream, buffer->memory->device, stream, err))
	    || buffer->size == 0) {
		return st;
	}
	struct kz_device *dev = buffer->memory->device;
	if ((st = device_enter(dev, &scope, err))) {
		return st;
	}
	if (!(st = memory_use(buffer->memory, stream, err))) {
		/* 0 bytes are all: the driver takes no part. */
		st = device_ok(dev, dev->drv->StreamAttachMemAsync(stream->handle,
			buffer->memory->address, 0, (unsigned)attach), "cuStreamAttachMemAsync",
			err);
		st = st ? st : memory_used(buffer->memory, stream, err);
	}
	device_leave(dev, &scope);
	return st;
}
