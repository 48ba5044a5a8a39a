/* SPDX-License-Identifier: MIT */
/*
 * Array elements to and from the host, and to other devices.
 *
 * Either side may have any strides.  Where both are row-major without gaps one copy does it.  Else
 * the bytes from the lowest to the highest element on the device, the span, travel in one piece and
 * are packed or unpacked on the host.  A span that is mostly gaps, or long, is taken apart first:
 * along the extent with the widest stride into parts, until a copy is cheaper than a division.
 *
 * The memory of the CPU device is host memory: a copy from or to it is a transfer of the other
 * side.
 */
#include "base/common.h"

#include "array.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* What one more copy costs, as bytes that could be copied instead; how many bytes of gaps for each
 * byte of an element are no matter; the most host memory to take at once. */
enum { COPY_COST = 64 << 10, SPARSE = 4, CHUNK_MAX = 32 << 20 };

/* The elements of an array and their places on the host, alike for all parts of one transfer. */
struct transfer {
	struct kz_buffer *buffer;
	const int64_t *strides;
	const int64_t *host_strides;
	int64_t size; /* of an element */
	bool to_host;
};

static int64_t bytes_of(const kz_shape *shape, int64_t size)
{
	for (int64_t i = 0; i < shape->ndim; i++) {
		size *= shape->dims[i];
	}
	return size;
}

/* Setting keeps the bytes between the elements: they are read first and written back. */
static kz_status move_span(const struct transfer *t, const kz_shape *shape, int64_t offset,
	char *host, kz_error *err)
{
	int64_t low, high;
	struct strided elements = {*shape, t->strides, t->size};
	kz_status st = KZ_OK;
	(void)strided_span(&low, &high, &elements); /* that of an array fits its buffer */
	char *span = mem_alloc((size_t)(high - low));
	if (!span) {
		return error_no_memory(err);
	}
	bool gaps = high - low != bytes_of(shape, t->size);
	if (t->to_host || gaps) {
		st = kz_copy_dtoh(span, high - low, t->buffer, offset + low, err);
	}
	if (!st && t->to_host) {
		strided_copy(&elements, host, t->host_strides, span - low);
	} else if (!st) {
		elements.strides = t->host_strides;
		strided_copy(&elements, span - low, t->strides, host);
		st = kz_copy_htod(t->buffer, offset + low, span, high - low, err);
	}
	mem_free(span);
	return st;
}

static int64_t widest_extent(const kz_shape *shape, const int64_t *strides)
{
	int64_t widest = -1;
	for (int64_t i = 0; i < shape->ndim; i++) {
		if (shape->dims[i] > 1
		    && (widest < 0 || llabs(strides[i]) > llabs(strides[widest]))) {
			widest = i;
		}
	}
	return widest;
}

/* `offset` is the first element's, in the buffer.  Recursion ends: each part has fewer elements. */
static kz_status move_part(const struct transfer *t, const kz_shape *shape, int64_t offset,
	char *host, kz_error *err)
{
	int64_t low, high;
	struct strided elements = {*shape, t->strides, t->size};
	(void)strided_span(&low, &high, &elements);
	bool sparse = (high - low) / SPARSE > bytes_of(shape, t->size);
	int64_t limit = sparse ? COPY_COST : CHUNK_MAX;
	int64_t axis = widest_extent(shape, t->strides);
	if (axis < 0 || high - low <= limit) {
		return move_span(t, shape, offset, host, err);
	}
	int64_t stride = t->strides[axis];
	int64_t step = llabs(stride) < limit && stride != 0 ? limit / llabs(stride) : 1;
	kz_shape part = *shape;
	kz_status st = KZ_OK;
	for (int64_t i = 0; !st && i < shape->dims[axis]; i += step) {
		int64_t rest = shape->dims[axis] - i;
		part.dims[axis] = rest < step ? rest : step;
		st = move_part(t, &part, offset + i * stride, host + i * t->host_strides[axis],
			err);
	}
	return st;
}

/* A host layout without strides is row-major. */
static kz_status move(struct kz_array *array, void *host, const int64_t *host_strides,
	bool to_host, kz_error *err)
{
	int64_t row_major[KZ_MAX_DIMS];
	int64_t size = kz_dtype_size(array->dtype);
	if (!host_strides && kz_array_is_contiguous(array)) {
		return to_host
			? kz_copy_dtoh(host, kz_array_size(array), array->buffer, array->offset, err)
			: kz_copy_htod(array->buffer, array->offset, host, kz_array_size(array),
				err);
	}
	if (!host_strides) {
		strided_row_major(row_major, &array->shape, size);
	}
	const struct transfer t = {array->buffer, array->strides,
		host_strides ? host_strides : row_major, size, to_host};
	return move_part(&t, &array->shape, array->offset, host, err);
}

static kz_status check_host(const struct kz_array *array, const void *host, int64_t size,
	kz_error *err)
{
	kz_status st = object_check(array, "an array", err);
	return st ? st : array_check_host(host, size, array->count, array->dtype, err);
}

static kz_status check_set(const struct kz_array *array, kz_error *err)
{
	const struct strided elements = array_elements(array);
	return strided_distinct(&elements, "a view", err);
}

kz_status kz_array_get(kz_array *array, void *host, int64_t size, kz_error *err)
{
	kz_status st = check_host(array, host, size, err);
	return st || size == 0 ? st : move(array, host, NULL, true, err);
}

kz_status kz_array_set(kz_array *array, const void *host, int64_t size, kz_error *err)
{
	kz_status st = check_host(array, host, size, err);
	if (st || size == 0 || (st = check_set(array, err))) {
		return st;
	}
	return move(array, (void *)host, NULL, false, err);
}

/* With strides of the host */

/* `*first` is set to the first element's place. */
static kz_status check_places(char **first, const struct kz_array *array, const void *host,
	int64_t size, const int64_t *strides, int64_t offset, kz_error *err)
{
	int64_t row_major[KZ_MAX_DIMS];
	kz_status st = object_check(array, "an array", err);
	*first = NULL;
	if (st) {
		return st;
	}
	if (size < 0 || (!host && size > 0)) {
		return error_set(err, KZ_INVALID, size < 0
			? "expected a size of host memory from 0, got %lld"
			: "expected %lld bytes of host memory, got NULL", (long long)size);
	}
	struct strided places = array_elements(array);
	places.strides = strides;
	if (!strides) {
		strided_row_major(row_major, &array->shape, places.size);
		places.strides = row_major;
	}
	const struct strided_bounds bounds = {size, 0, "elements", "host memory"};
	if (!(st = strided_check(&places, offset, &bounds, err)) && host) {
		*first = (char *)host + offset;
	}
	return st;
}

kz_status kz_array_get_strided(kz_array *array, void *host, int64_t size, const int64_t *strides,
	int64_t offset, kz_error *err)
{
	char *first;
	kz_status st = check_places(&first, array, host, size, strides, offset, err);
	if (st || array->count == 0) {
		return st;
	}
	struct strided places = array_elements(array);
	places.strides = strides;
	st = strides ? strided_distinct(&places, "host memory", err) : KZ_OK;
	return st ? st : move(array, first, strides, true, err);
}

kz_status kz_array_set_strided(kz_array *array, const void *host, int64_t size,
	const int64_t *strides, int64_t offset, kz_error *err)
{
	char *first;
	kz_status st = check_places(&first, array, host, size, strides, offset, err);
	if (st || array->count == 0 || (st = check_set(array, err))) {
		return st;
	}
	return move(array, first, strides, false, err);
}

/* In a stream */

static kz_status check_async(const struct kz_array *array, const void *host, int64_t size,
	struct kz_stream *stream, kz_error *err)
{
	kz_status st;
	if ((st = check_host(array, host, size, err))
	    || (st = object_check(stream, "a stream", err))
	    || (st = stream_pick(&stream, kz_array_device(array), stream, err))) {
		return st;
	}
	return kz_array_is_contiguous(array) ? KZ_OK : error_set(err, KZ_UNSUPPORTED,
		"expected a row-major array without gaps for an asynchronous copy, got a view");
}

kz_status kz_array_get_async(kz_array *array, void *host, int64_t size, kz_stream *stream,
	kz_error *err)
{
	kz_status st = check_async(array, host, size, stream, err);
	return st || size == 0 ? st
		: kz_copy_dtoh_async(host, size, array->buffer, array->offset, stream, err);
}

kz_status kz_array_set_async(kz_array *array, const void *host, int64_t size, kz_stream *stream,
	kz_error *err)
{
	kz_status st = check_async(array, host, size, stream, err);
	return st || size == 0 ? st
		: kz_copy_htod_async(array->buffer, array->offset, host, size, stream, err);
}

/* Other devices */

static bool is_host_memory(const struct kz_device *dev)
{
	return dev->drv->provider == DRV_CPU;
}

kz_status array_wait(const struct kz_array *array, kz_error *err)
{
	struct kz_stream *stream = memory_stream(array->buffer->memory);
	kz_status st = kz_stream_synchronize(stream, err);
	stream_release(stream);
	return st;
}

kz_status kz_array_host(void **out, kz_array *array, kz_error *err)
{
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, "an array", err))) {
		return st;
	}
	const struct kz_device *dev = kz_array_device(array);
	if (!is_host_memory(dev)) {
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

/* From GPU to GPU, both row-major.  The streams of both wait for each other, so that either memory
 * has a user of its own device only. */
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
		st = device_ok(here, here->drv->MemcpyPeerAsync(array_address(to), here->context,
			array_address(from), there->context, (size_t)kz_array_size(from),
			target->handle), "cuMemcpyPeerAsync", err);
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
	const struct kz_device *here = kz_array_device(to), *there = kz_array_device(from);
	void *host;
	kz_status st;
	if (is_host_memory(here)) {
		st = kz_array_host(&host, to, err);
		return st ? st : move(from, host, NULL, true, err);
	}
	if (is_host_memory(there)) {
		st = kz_array_host(&host, from, err);
		return st ? st : move(to, host, from->strides, false, err);
	}
	return kz_array_is_contiguous(from) && drv_has(here->drv, DRV_cuMemcpyPeerAsync)
		? copy_peer(to, from, err) : copy_by_host(to, from, err);
}

kz_status kz_array_to(kz_array **out, kz_array *array, kz_device *dev, kz_error *err)
{
	struct kz_array *copy;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, "an array", err))
	    || (st = object_check(dev, "a device", err))) {
		return st;
	}
	if (kz_array_device(array) == dev) {
		*out = kz_array_retain(array);
		return KZ_OK;
	}
	if ((st = kz_array_create(&copy, dev, array->dtype, array->shape, err))) {
		return st;
	}
	st = array->count ? copy_across(copy, array, err) : KZ_OK;
	return array_finish(out, copy, st);
}
