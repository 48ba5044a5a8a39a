/* SPDX-License-Identifier: MIT */
/*
 * Arrays across devices: copies to another device, and the memory of the CPU device.
 *
 * The CPU device's memory is host memory, so a copy from or to it is a transfer of the other
 * device. Between GPUs the driver copies.  Where it cannot, the copy goes through the host.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "base/alloc.h"

kz_status kz_array_host(void **out, kz_array *array, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))
	    || (st = array_check_capture(array, err))) {
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

/* Fill a new array from row-major host memory, which the caller may change after that. */
static kz_status across_set(struct kz_array *to, const char *host, struct kz_stream *stream,
	kz_error *err)
{
	kz_status st = kz_copy_htod_async(to->buffer, to->offset, host, kz_array_size(to), stream,
		err);
	return st ? st : kz_stream_synchronize(stream, err);
}

/* From the CPU device.  Its elements are put in order where they are. */
static kz_status across_copy_from_host(struct kz_array *to, struct kz_array *from,
	struct kz_stream *stream, kz_error *err)
{
	int64_t row_major[KZ_MAX_DIMS];
	const struct strided elements = array_elements(from);
	void *host;
	kz_status st = kz_array_host(&host, from, err);
	if (st || kz_array_is_contiguous(from)) {
		return st ? st : across_set(to, host, stream, err);
	}
	char *packed = mem_alloc((size_t)kz_array_size(from));
	if (!packed) {
		return error_no_memory(err);
	}
	strided_row_major(row_major, &elements.shape, elements.size);
	strided_copy(&elements, packed, row_major, host);
	st = across_set(to, packed, stream, err);
	mem_free(packed);
	return st;
}

static kz_status across_copy_by_host(struct kz_array *to, struct kz_array *from,
	struct kz_stream *stream, kz_error *err)
{
	int64_t size = kz_array_size(from);
	char *host = mem_alloc((size_t)size);
	if (!host) {
		return error_no_memory(err);
	}
	kz_status st = kz_array_get(from, host, size, err);
	st = st ? st : across_set(to, host, stream, err);
	mem_free(host);
	return st;
}

/* `to` is row-major and new. */
static kz_status copy_across(struct kz_array *to, struct kz_array *from, struct kz_stream *stream,
	kz_error *err)
{
	const struct drv *drv = kz_array_device(to)->drv;
	void *host;
	kz_status st;
	if (array_is_on_host(to)) {
		st = kz_array_host(&host, to, err);
		return st ? st : array_move(from, host, NULL, true, err);
	}
	if (array_is_on_host(from)) {
		return across_copy_from_host(to, from, stream, err);
	}
	return kz_array_is_contiguous(from) && drv_has(drv, DRV_cuMemcpyPeerAsync)
		? buffer_copy((struct buffer_place){to->buffer, to->offset},
			(struct buffer_place){from->buffer, from->offset}, kz_array_size(from),
			stream, err)
		: across_copy_by_host(to, from, stream, err);
}

/* `stream` is one of the device, which is not the array's. */
static kz_status across_copy_to(kz_array **out, struct kz_array *array, struct kz_stream *stream,
	kz_error *err)
{
	struct kz_array *copy;
	kz_status st;
	if ((st = array_check_capture(array, err))
	    || (st = stream_check_free(stream, err))
	    || (st = array_create_on(&copy, stream->device, array->dtype, &array->shape, stream,
			err))) {
		return st;
	}
	st = array->count ? copy_across(copy, array, stream, err) : KZ_OK;
	return array_finish(out, copy, st);
}

kz_status kz_array_to(kz_array **out, kz_array *array, kz_device *dev, kz_error *err)
{
	error_scope(err);
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
	return across_copy_to(out, array, &dev->stream, err);
}

kz_status kz_array_to_on(kz_array **out, kz_array *array, kz_device *dev, kz_stream *stream,
	kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = stream_pick(&stream, dev, stream, err))) {
		return st;
	}
	if (kz_array_device(array) == dev) {
		*out = kz_array_retain(array);
		return KZ_OK;
	}
	return across_copy_to(out, array, stream, err);
}
