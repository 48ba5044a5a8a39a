/* SPDX-License-Identifier: MIT */
/*
 * Arrays: a dtype, a shape and strides over a buffer.
 *
 * Sizes are products of numbers from the caller.  They are computed with overflow checks before
 * anything is allocated.  transfer.c moves elements to and from the host, across.c to other
 * devices.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "base/alloc.h"
#include "lib/array/shape.h"
#include "lib/core/growable.h"

#include <stdio.h>
#include <string.h>

/* Row-major layout, where there are elements and nothing is wrong. */
static bool array_layout_quickly(struct kz_array *array, int64_t size)
{
	const kz_shape *shape = &array->shape;
	int64_t bytes = size, count = 1;
	bool fits = size > 0 && shape->ndim >= 0 && shape->ndim <= KZ_MAX_DIMS;
	for (int64_t i = fits ? shape->ndim : 0; fits && i-- > 0;) {
		array->strides[i] = bytes;
		fits = shape->dims[i] > 0
			&& !__builtin_mul_overflow(bytes, shape->dims[i], &bytes);
		count *= fits ? shape->dims[i] : 1;
	}
	array->count = count;
	return fits;
}

/* Row-major layout. */
static kz_status array_layout(struct kz_array *array, kz_error *err)
{
	kz_status st;
	int64_t size = dtype_size(array->dtype);
	const kz_shape *shape = &array->shape;
	if (likely(array_layout_quickly(array, size))) {
		return KZ_OK;
	}
	if (size == 0) {
		return error_set(err, KZ_INVALID, "%u is not a dtype", (unsigned)array->dtype);
	}
	if ((st = shape_check(shape, err)) || (st = shape_count(&array->count, shape, size,
			kz_dtype_name(array->dtype), err))) {
		return st;
	}
	strided_row_major(array->strides, shape, size);
	return KZ_OK;
}

/* Creating */

kz_status array_new(struct kz_array **out, kz_dtype dtype, const kz_shape *shape, kz_error *err)
{
	struct kz_array *array = mem_alloc(sizeof(*array)); /* calloc would pass malloc's own cache
	                                                       by */
	if (!array) {
		return error_no_memory(err);
	}
	array->tag = OBJECT_ARRAY;
	atomic_init(&array->refs, 1);
	array->buffer = NULL;
	array->dtype = dtype;
	array->offset = 0;
	array->shape = *shape;
	array->is_plain = true;
	kz_status st = array_layout(array, err);
	if (st) {
		mem_free(array);
		return st;
	}
	*out = array;
	return KZ_OK;
}

/* The end of a call that makes an array with its memory: it is given out, or undone after a
 * failure. */
static kz_status array_give(kz_array **out, struct kz_array *array, kz_status st)
{
	if (!st) {
		object_give(array, array_device(array));
	}
	return array_finish(out, array, st);
}

/* Tell the CPU device what an allocation is, for its reports. */
static void array_name(const struct kz_array *array, struct kz_device *dev)
{
	struct kudzu_array name = {.element_size = (uint32_t)dtype_size(array->dtype),
		.ndim = array->shape.ndim};
	snprintf(name.dtype, sizeof(name.dtype), "%s", kz_dtype_name(array->dtype));
	for (int32_t i = 0; i < array->shape.ndim; i++) {
		name.dims[i] = array->shape.dims[i];
	}
	dev->exports->name_array(dev->context, kz_array_address(array), &name);
}

kz_status array_create_on(struct kz_array **out, struct kz_device *dev, kz_dtype dtype,
	const kz_shape *shape, struct kz_stream *stream, kz_error *err)
{
	struct kz_array *array = NULL;
	*out = NULL;
	kz_status st = array_new(&array, dtype, shape, err);
	if (st) {
		return st;
	}
	struct memory_wish wish = {.stream = stream, .dtype = dtype, .count = array->count};
	st = buffer_create(&array->buffer, dev, kz_array_size(array), &wish, err);
	if (!st && unlikely(dev->checks) && dev->exports) {
		array_name(array, dev);
	}
	return array_give(out, array, st);
}

kz_status kz_array_create(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))) {
		return st;
	}
	return array_create_on(out, dev, dtype, &shape, NULL, err);
}

kz_status kz_array_create_on(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	kz_stream *stream, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = stream_pick(&stream, dev, stream, err))) {
		return st;
	}
	return array_create_on(out, dev, dtype, &shape, stream, err);
}

/* Check where an array is made and filled.  A stream of NULL is the default one; it fills the
 * array, whose memory may be any stream's before. */
static kz_status array_check_place(struct kz_device *dev, struct kz_stream *stream, kz_error *err)
{
	kz_status st = object_check(dev, OBJECT_DEVICE, err);
	return st || !stream ? st : stream_pick(&stream, dev, stream, err);
}

kz_status kz_array_zeros_on(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	kz_stream *stream, kz_error *err)
{
	error_scope(err);
	struct kz_array *array;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = array_check_place(dev, stream, err))
	    || (st = array_create_on(&array, dev, dtype, &shape, stream, err))) {
		return st;
	}
	st = buffer_fill(array->buffer, kz_array_size(array), PATTERN_ZERO, stream, err);
	return array_finish(out, array, st);
}

kz_status kz_array_zeros(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	st = st ? st : object_check(dev, OBJECT_DEVICE, err);
	return st ? st : kz_array_zeros_on(out, dev, dtype, shape, NULL, err);
}

kz_status kz_array_full(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	const void *value, int64_t value_size, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	st = st ? st : object_check(dev, OBJECT_DEVICE, err);
	return st ? st : kz_array_full_on(out, dev, dtype, shape, value, value_size, NULL, err);
}

kz_status kz_array_full_on(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	const void *value, int64_t value_size, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	struct kz_array *array;
	int64_t size = kz_dtype_size(dtype);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	if (st) {
		return st;
	}
	if (size && (!value || value_size != size)) {
		return error_set(err, KZ_INVALID,
			value ? "%s: expected a value of %lld byte%s for %s, got %lld"
			: "%s: expected a value of %lld byte%s for %s, got NULL", __func__,
			(long long)size, plural(size), kz_dtype_name(dtype), (long long)value_size);
	}
	if ((st = array_check_place(dev, stream, err))
	    || (st = array_create_on(&array, dev, dtype, &shape, stream, err))) {
		return st;
	}
	st = buffer_fill(array->buffer, array->count, (struct pattern){value, size}, stream, err);
	return array_finish(out, array, st);
}

/* The bytes of a number 1; false for a struct. */
static bool array_one_of(char value[16], kz_dtype dtype)
{
	static const uint16_t half = 0x3c00, bfloat = 0x3f80;
	static const float single = 1;
	static const double twice = 1;
	memset(value, 0, 16);
	switch (dtype) {
	case KZ_F8_E4M3:
		value[0] = 0x38;
		return true;
	case KZ_F8_E5M2:
		value[0] = 0x3c;
		return true;
	case KZ_F16:
		memcpy(value, &half, sizeof(half));
		return true;
	case KZ_BF16:
		memcpy(value, &bfloat, sizeof(bfloat));
		return true;
	case KZ_F32:
	case KZ_C64:
		memcpy(value, &single, sizeof(single));
		return true;
	case KZ_F64:
	case KZ_C128:
		memcpy(value, &twice, sizeof(twice));
		return true;
	default:
		value[0] = 1;
		return !dtype_is_struct(dtype);
	}
}

kz_status kz_array_ones(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	st = st ? st : object_check(dev, OBJECT_DEVICE, err);
	return st ? st : kz_array_ones_on(out, dev, dtype, shape, NULL, err);
}

kz_status kz_array_ones_on(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	kz_stream *stream, kz_error *err)
{
	error_scope(err);
	char value[16];
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	if (st) {
		return st;
	}
	if (!array_one_of(value, dtype)) {
		return error_set(err, KZ_INVALID, "expected a numeric dtype for ones, got %s",
			kz_dtype_name(dtype) ? kz_dtype_name(dtype) : "none");
	}
	return kz_array_full_on(out, dev, dtype, shape, value, kz_dtype_size(dtype), stream, err);
}

static kz_status array_check_like(kz_array **out, const kz_array *like, const char *call,
	kz_error *err)
{
	kz_status st = out_check(out, sizeof(*out), call, err);
	return st ? st : object_check(like, OBJECT_ARRAY, err);
}

kz_status kz_array_like(kz_array **out, const kz_array *like, kz_error *err)
{
	error_scope(err);
	kz_status st = array_check_like(out, like, __func__, err);
	return st ? st : kz_array_create(out, kz_array_device(like), like->dtype, like->shape, err);
}

kz_status kz_array_zeros_like(kz_array **out, const kz_array *like, kz_dtype dtype, kz_error *err)
{
	error_scope(err);
	kz_status st = array_check_like(out, like, __func__, err);
	return st ? st : kz_array_zeros_like_on(out, like, dtype, NULL, err);
}

kz_status kz_array_zeros_like_on(kz_array **out, const kz_array *like, kz_dtype dtype,
	kz_stream *stream, kz_error *err)
{
	error_scope(err);
	kz_status st = array_check_like(out, like, __func__, err);
	return st ? st : kz_array_zeros_on(out, kz_array_device(like), dtype ? dtype : like->dtype,
		like->shape, stream, err);
}

kz_status kz_array_ones_like(kz_array **out, const kz_array *like, kz_dtype dtype, kz_error *err)
{
	error_scope(err);
	kz_status st = array_check_like(out, like, __func__, err);
	return st ? st : kz_array_ones_like_on(out, like, dtype, NULL, err);
}

kz_status kz_array_ones_like_on(kz_array **out, const kz_array *like, kz_dtype dtype,
	kz_stream *stream, kz_error *err)
{
	error_scope(err);
	kz_status st = array_check_like(out, like, __func__, err);
	return st ? st : kz_array_ones_on(out, kz_array_device(like), dtype ? dtype : like->dtype,
		like->shape, stream, err);
}

kz_status kz_array_full_like(kz_array **out, const kz_array *like, kz_dtype dtype,
	const void *value, int64_t value_size, kz_error *err)
{
	error_scope(err);
	kz_status st = array_check_like(out, like, __func__, err);
	return st ? st : kz_array_full_like_on(out, like, dtype, value, value_size, NULL, err);
}

kz_status kz_array_full_like_on(kz_array **out, const kz_array *like, kz_dtype dtype,
	const void *value, int64_t value_size, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	kz_status st = array_check_like(out, like, __func__, err);
	return st ? st : kz_array_full_on(out, kz_array_device(like), dtype ? dtype : like->dtype,
		like->shape, value, value_size, stream, err);
}

kz_status kz_array_wrap(kz_array **out, kz_buffer *buffer, kz_dtype dtype, kz_shape shape,
	const int64_t *strides, int64_t offset, kz_error *err)
{
	error_scope(err);
	struct kz_array *array = NULL;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(buffer, OBJECT_BUFFER, err))
	    || (st = array_new(&array, dtype, &shape, err))) {
		return st;
	}
	if (strides) {
		memcpy(array->strides, strides, (size_t)shape.ndim * sizeof(*strides));
		array->is_plain = array_is_contiguous(array);
	}
	array->offset = offset;
	const struct strided elements = array_elements(array);
	const struct strided_bounds bounds = {buffer->size, 0, "an array", "the buffer"};
	if (!(st = strided_check(&elements, offset, &bounds, err))) {
		array->buffer = buffer_retain(buffer);
	}
	return array_give(out, array, st);
}

/* Arrays that grow */

static kz_status array_check_first(const kz_shape *shape, kz_error *err)
{
	return shape->ndim != 0 ? KZ_OK : error_set(err, KZ_INVALID,
		"expected an array with an axis that can grow, got one of shape %s",
		shape_text(shape).text);
}

kz_status kz_array_create_growable(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	int64_t capacity, kz_error *err)
{
	error_scope(err);
	struct kz_array *array = NULL;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err)) || (st = array_check_first(&shape, err))
	    || (st = array_new(&array, dtype, &shape, err))) {
		return st;
	}
	struct kz_array most = {.dtype = dtype, .shape = shape};
	struct memory_wish wish = {.dtype = dtype, .count = array->count};
	most.shape.dims[0] = capacity;
	if (capacity < shape.dims[0]) {
		st = error_set(err, KZ_RANGE, "expected a capacity of at least %lld, the first "
			"extent, got %lld", (long long)shape.dims[0], (long long)capacity);
	} else if (!(st = array_layout(&most, err))) {
		st = growable_create(&array->buffer, dev, array->count * dtype_size(dtype),
			most.count * dtype_size(dtype), &wish, err);
	}
	return array_give(out, array, st);
}

kz_status kz_array_resize(kz_array *array, int64_t extent, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = object_check(array, OBJECT_ARRAY, err))
	    || (st = array_check_first(&array->shape, err))) {
		return st;
	}
	if (array->offset != 0 || !array_is_contiguous(array)
	    || kz_array_size(array) != array->buffer->size) {
		return error_set(err, KZ_INVALID, "expected a row-major array over all of its "
			"buffer to resize, got a view of part of it, or one with other strides");
	}
	struct kz_array resized = {.dtype = array->dtype, .shape = array->shape};
	resized.shape.dims[0] = extent;
	if ((st = array_layout(&resized, err))
	    || (st = growable_resize(array->buffer, resized.count * dtype_size(array->dtype),
			atomic_load(&array->refs), err))) {
		return st;
	}
	array->shape = resized.shape;
	memcpy(array->strides, resized.strides, sizeof(array->strides));
	array->count = array->buffer->memory->count = resized.count;
	return KZ_OK;
}

kz_array *kz_array_retain(kz_array *array)
{
	if (object_is(array, OBJECT_ARRAY)) {
		atomic_fetch_add_explicit(&array->refs, 1, memory_order_relaxed);
	}
	return array;
}

void kz_array_release(kz_array *array)
{
	if (object_is(array, OBJECT_ARRAY) && refs_drop(&array->refs)) {
		object_end(&array->tag);
		buffer_release(array->buffer);
		object_free(array);
	}
}

kz_status array_same_device(const char *verb, const struct kz_array *a, const struct kz_array *b,
	kz_error *err)
{
	const struct kz_device *first = kz_array_device(a), *second = kz_array_device(b);
	return likely(first == second) ? KZ_OK : error_set(err, KZ_INVALID,
		"Tensor in %s cannot %s with tensor in %s", first->name, verb, second->name);
}

kz_status array_wait(const struct kz_array *array, kz_error *err)
{
	struct kz_stream *stream = memory_stream(array->buffer->memory);
	kz_status st = kz_stream_synchronize(stream, err);
	stream_release(stream);
	return st;
}

/* What an array says about itself */

kz_dtype kz_array_dtype(const kz_array *array)
{
	return object_is(array, OBJECT_ARRAY) ? array->dtype : 0;
}

kz_shape kz_array_shape(const kz_array *array)
{
	return object_is(array, OBJECT_ARRAY) ? array->shape : (kz_shape){0, {0}};
}

int kz_array_ndim(const kz_array *array)
{
	return object_is(array, OBJECT_ARRAY) ? (int)array->shape.ndim : 0;
}

const int64_t *kz_array_strides(const kz_array *array)
{
	return object_is(array, OBJECT_ARRAY) ? array->strides : NULL;
}

int64_t kz_array_count(const kz_array *array)
{
	return object_is(array, OBJECT_ARRAY) ? array->count : 0;
}

int64_t kz_array_size(const kz_array *array)
{
	return object_is(array, OBJECT_ARRAY) ? array->count * kz_dtype_size(array->dtype) : 0;
}

int kz_array_is_contiguous(const kz_array *array)
{
	return object_is(array, OBJECT_ARRAY) && array_is_contiguous(array);
}

uint64_t kz_array_address(const kz_array *array)
{
	return object_is(array, OBJECT_ARRAY) && array->count ? array_address(array) : 0;
}

kz_device *kz_array_device(const kz_array *array)
{
	return object_is(array, OBJECT_ARRAY) ? array->buffer->memory->device : NULL;
}

kz_buffer *kz_array_buffer(const kz_array *array)
{
	return object_is(array, OBJECT_ARRAY) ? array->buffer : NULL;
}
