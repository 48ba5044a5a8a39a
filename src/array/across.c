/* SPDX-License-Identifier: MIT */
/*
 * Arrays across devices: copies to another device, and the memory of the CPU device.
 *
 * The CPU device's memory is host memory, so a copy from or to it is a transfer of the other
 * device. Between GPUs the driver copies.  Where it cannot, the copy goes through the host.
 */
#include "base/common.h"

#include "array/array.h"
#include "base/alloc.h"
#include "core/trace.h"

kz_status kz_array_host(void **out, kz_array *array, kz_error *err)
{
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))
	    || (st = array_check_capture(array, __func__, err))) {
		return st;
	}
	const struct kz_device *dev = kz_array_device(array);
	if (!array_is_on_host(array)) {
		bool mine = error_is_clean(err);
		st = error_set(err, KZ_INVALID, "cannot use the memory of an array on %s as host "
			"memory: copy it to host memory first", dev->name);
		if (mine) {
			error_add_hint(err, "kz_array_get copies the elements to host memory, "
				"kz_array_to copies the array to the device 'cpu'");
		}
		return st;
	}
	if (!(st = array_wait(array, err)) && array->count) {
		*out = (void *)(uintptr_t)array_address(array); /* NOLINT: an address it is */
	}
	return st;
}

/* From GPU to GPU, both row-major.  The streams of both wait for each other, so each memory is used
 * only by streams of its own device. */
static kz_status copy_peer(struct kz_array *to, struct kz_array *from, kz_error *err)
{
	struct kz_device *here = kz_array_device(to), *there = kz_array_device(from);
	struct kz_stream *source = memory_stream(from->buffer->memory);
	struct kz_stream *target = &here->stream;
	struct device_scope scope;
	kz_status st;
	if ((st = kz_device_check(there, err)) || (st = device_enter(here, &scope, err))) {
		stream_release(source);
		return st;
	}
	if (!(st = memory_use(to->buffer->memory, target, err))
	    && !(st = memory_use(from->buffer->memory, source, err))
	    && !(st = stream_order(target, source, err))) {
		struct trace_op op;
		bool is_traced = unlikely(trace_is_on());
		if (is_traced) {
			trace_op_begin(&op, target, "copy from peer");
		}
		st = device_ok(here, here->drv->MemcpyPeerAsync(array_address(to), here->context,
			array_address(from), there->context, (size_t)kz_array_size(from),
			target->handle), "cuMemcpyPeerAsync", err);
		if (is_traced) {
			trace_op_end(&op, target, st, "copy", "copy from peer",
				"\"stream\":%lld,\"bytes\":%lld,\"from\":\"%s\"",
				(long long)target->number, (long long)kz_array_size(from), there->name);
		}
		st = st ? st : stream_order(source, target, err);
		st = st ? st : memory_used(from->buffer->memory, source, err);
		st = st ? st : memory_used(to->buffer->memory, target, err);
	}
	device_leave(here, &scope);
	stream_release(source);
	return st;
}

static kz_status copy_by_host(struct kz_array *to, struct kz_array *from, kz_error *err)
{
	int64_t size = kz_array_size(from);
	char *host = mem_alloc((size_t)size);
	if (!host) {
		return error_no_memory(err);
	}
	kz_status st = kz_array_get(from, host, size, err);
	st = st ? st : kz_array_set(to, host, size, err);
	mem_free(host);
	return st;
}

/* `to` is row-major. */
static kz_status copy_across(struct kz_array *to, struct kz_array *from, kz_error *err)
{
	const struct drv *drv = kz_array_device(to)->drv;
	void *host;
	kz_status st;
	if (array_is_on_host(to)) {
		st = kz_array_host(&host, to, err);
		return st ? st : array_move(from, host, NULL, true, err);
	}
	if (array_is_on_host(from)) {
		st = kz_array_host(&host, from, err);
		return st ? st : array_move(to, host, from->strides, false, err);
	}
	return kz_array_is_contiguous(from) && drv_has(drv, DRV_cuMemcpyPeerAsync)
		? copy_peer(to, from, err) : copy_by_host(to, from, err);
}

kz_status kz_array_to(kz_array **out, kz_array *array, kz_device *dev, kz_error *err)
{
	struct kz_array *copy;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))) {
		return st;
	}
	if (kz_array_device(array) == dev) {
		*out = kz_array_retain(array);
		return KZ_OK;
	}
	if ((st = array_check_capture(array, __func__, err))
	    || (st = stream_check_free(&dev->stream, __func__, err))
	    || (st = kz_array_create(&copy, dev, array->dtype, array->shape, err))) {
		return st;
	}
	st = array->count ? copy_across(copy, array, err) : KZ_OK;
	return array_finish(out, copy, st);
}
