/* SPDX-License-Identifier: MIT */
/*
 * Arrays: a dtype, a shape and strides over a buffer.
 *
 * Strided elements travel in one piece: the bytes from the lowest to the highest element (the span)
 * are copied, and packed or unpacked on the host.  Sizes are products of numbers from the caller:
 * everything is computed with overflow checks before anything is allocated.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "format.h"
#include "objects.h"
#include "shape.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUMMARY = 1000, EDGE = 3, SHOWN_MAX = 100000 }; /* numpy's threshold and edge items */

/* Row-major layout.  An extent of 0 counts as 1, so that the strides stay meaningful. */
static kz_status layout(struct kz_array *array, kz_error *err)
{
	kz_status st;
	int64_t stride = kz_dtype_size(array->dtype);
	const kz_shape *shape = &array->shape;
	if (stride == 0) {
		return error_set(err, KZ_INVALID, "%u is no dtype", (unsigned)array->dtype);
	}
	if ((st = shape_check(shape, err)) || (st = shape_count(&array->count, shape, stride,
			kz_dtype_name(array->dtype), err))) {
		return st;
	}
	for (int64_t i = shape->ndim; i-- > 0;) {
		array->strides[i] = stride;
		stride *= shape->dims[i] ? shape->dims[i] : 1;
	}
	return KZ_OK;
}

/* The bytes that the elements cover, from the first one's address: [low, high).  False if they do
 * not fit in 64 bits. */
static bool span_of(int64_t *low, int64_t *high, const struct kz_array *array)
{
	*low = 0;
	*high = array->count ? kz_dtype_size(array->dtype) : 0;
	for (int64_t i = 0; array->count && i < array->shape.ndim; i++) {
		int64_t reach;
		int64_t *end = array->strides[i] < 0 ? low : high;
		if (__builtin_mul_overflow(array->shape.dims[i] - 1, array->strides[i], &reach)
		    || __builtin_add_overflow(*end, reach, end)) {
			return false;
		}
	}
	return true;
}

/* Creating */

/* An array without memory: *out is fit for kz_array_release. */
static kz_status array_new(struct kz_array **out, kz_dtype dtype, const kz_shape *shape,
	kz_error *err)
{
	struct kz_array *array = mem_zalloc(1, sizeof(*array));
	if (!array) {
		return error_no_memory(err);
	}
	atomic_init(&array->refs, 1);
	array->dtype = dtype;
	array->shape = *shape;
	kz_status st = layout(array, err);
	if (st) {
		mem_free(array);
		return st;
	}
	*out = array;
	return KZ_OK;
}

kz_status kz_array_create(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	kz_error *err)
{
	struct kz_array *array = NULL;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, "a device", err))
	    || (st = array_new(&array, dtype, &shape, err))) {
		return st;
	}
	char text[96];
	snprintf(text, sizeof(text), "an array of %lld %s", (long long)array->count,
		kz_dtype_name(dtype));
	st = buffer_create(&array->buffer, dev, kz_array_size(array), text, err);
	if (st) {
		kz_array_release(array);
		return st;
	}
	*out = array;
	return KZ_OK;
}

/* `size` bytes of host memory stand for what an array of `count` elements takes. */
static kz_status check_host(const void *host, int64_t size, int64_t count, kz_dtype dtype,
	kz_error *err)
{
	int64_t need = count * kz_dtype_size(dtype);
	if (size != need) {
		return error_set(err, KZ_RANGE,
			"expected %lld byte%s of host memory for %lld %s, got %lld", (long long)need,
			plural(need), (long long)count, kz_dtype_name(dtype), (long long)size);
	}
	if (!host && size > 0) {
		return error_set(err, KZ_INVALID, "expected %lld byte%s of host memory, got NULL",
			(long long)size, plural(size));
	}
	return KZ_OK;
}

static kz_status check_array_host(const struct kz_array *array, const void *host, int64_t size,
	kz_error *err)
{
	kz_status st = object_check(array, "an array", err);
	return st ? st : check_host(host, size, array->count, array->dtype, err);
}

/* The end of making an array: hand it out, or undo it after a failure. */
static kz_status finish(kz_array **out, struct kz_array *array, kz_status st)
{
	if (st) {
		kz_array_release(array);
		return st;
	}
	*out = array;
	return KZ_OK;
}

kz_status kz_array_zeros(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	kz_error *err)
{
	struct kz_array *array;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = kz_array_create(&array, dev, dtype, shape, err))) {
		return st;
	}
	st = buffer_fill(array->buffer, 0, kz_array_size(array), "", 1, NULL, err);
	return finish(out, array, st);
}

kz_status kz_array_full(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	const void *value, int64_t value_size, kz_error *err)
{
	struct kz_array *array;
	int64_t size = kz_dtype_size(dtype);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	if (st) {
		return st;
	}
	if (size && (!value || value_size != size)) {
		return error_set(err, KZ_INVALID,
			value ? "expected a value of %lld byte%s for %s, got %lld"
			: "expected a value of %lld byte%s for %s, got NULL", (long long)size,
			plural(size), kz_dtype_name(dtype), (long long)value_size);
	}
	if ((st = kz_array_create(&array, dev, dtype, shape, err))) {
		return st;
	}
	st = buffer_fill(array->buffer, 0, array->count, value, size, NULL, err);
	return finish(out, array, st);
}

kz_status kz_array_like(kz_array **out, const kz_array *like, kz_error *err)
{
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	st = st ? st : object_check(like, "an array", err);
	return st ? st : kz_array_create(out, kz_array_device(like), like->dtype, like->shape, err);
}

kz_status kz_array_from(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	const void *host, int64_t size, kz_error *err)
{
	struct kz_array *array;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = kz_array_create(&array, dev, dtype, shape, err))) {
		return st;
	}
	if (!(st = check_host(host, size, array->count, dtype, err))) {
		st = kz_copy_htod(array->buffer, 0, host, size, err);
	}
	return finish(out, array, st);
}

/* That all elements of a view, which begins `offset` bytes behind the first element of `array`, lie
 * in the buffer.  The message counts as the caller does: from that element. */
static kz_status check_view(const struct kz_array *view, const struct kz_array *array,
	int64_t offset, kz_error *err)
{
	int64_t low, high;
	int64_t size = array->buffer->size;
	if (span_of(&low, &high, view) && !__builtin_add_overflow(low, view->offset, &low)
	    && !__builtin_add_overflow(high, view->offset, &high) && low >= 0 && high <= size) {
		return KZ_OK;
	}
	return error_set(err, KZ_RANGE,
		"expected a view within bytes %lld to %lld of the array, got shape %s from byte %lld",
		-(long long)array->offset, (long long)(size - array->offset),
		shape_text(&view->shape).text, (long long)offset);
}

kz_status kz_array_view(kz_array **out, kz_array *array, kz_shape shape, const int64_t *strides,
	int64_t offset, kz_error *err)
{
	struct kz_array *view = NULL;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, "an array", err))
	    || (st = array_new(&view, array->dtype, &shape, err))) {
		return st;
	}
	if (strides) {
		memcpy(view->strides, strides, (size_t)shape.ndim * sizeof(*strides));
	}
	if (__builtin_add_overflow(array->offset, offset, &view->offset)) {
		st = error_set(err, KZ_RANGE, "an offset of %lld bytes overflows",
			(long long)offset);
	} else {
		st = check_view(view, array, offset, err);
	}
	if (!st) {
		view->buffer = buffer_retain(array->buffer);
	}
	return finish(out, view, st);
}

void kz_array_release(kz_array *array)
{
	if (array && atomic_fetch_sub(&array->refs, 1) == 1) {
		kz_buffer_release(array->buffer);
		mem_free(array);
	}
}

/* Getting and setting */

/* The trailing extents whose elements lie row-major without gaps, as a number of bytes. */
static int64_t run_of(const struct kz_array *array, int64_t *outer)
{
	int64_t run = kz_dtype_size(array->dtype);
	*outer = array->shape.ndim;
	while (*outer > 0
	       && (array->strides[*outer - 1] == run || array->shape.dims[*outer - 1] == 1)) {
		run *= array->shape.dims[--*outer];
	}
	return run;
}

/* Move the elements between row-major memory and their places; `first` is the first one's. */
static void move_elements(const struct kz_array *array, char *packed, char *first, bool pack)
{
	int64_t index[KZ_MAX_DIMS] = {0};
	int64_t outer;
	int64_t run = run_of(array, &outer);
	int64_t size = kz_array_size(array);
	char *place = first;
	for (int64_t done = 0; done < size; done += run) {
		memcpy(pack ? packed + done : place, pack ? place : packed + done, (size_t)run);
		int64_t i = outer - 1;
		for (; i >= 0 && ++index[i] == array->shape.dims[i]; i--) {
			place -= array->strides[i] * (array->shape.dims[i] - 1);
			index[i] = 0;
		}
		if (i >= 0) {
			place += array->strides[i];
		}
	}
}

/* Setting keeps the bytes between the elements: they are read first and written back. */
static kz_status move_strided(struct kz_array *array, void *host, bool pack, kz_error *err)
{
	int64_t low, high;
	if (!span_of(&low, &high, array)) {
		return error_set(err, KZ_RANGE, "the array's elements are too far apart");
	}
	char *span = mem_alloc((size_t)(high - low));
	if (!span) {
		return error_no_memory(err);
	}
	int64_t offset = array->offset + low;
	kz_status st = kz_copy_dtoh(span, high - low, array->buffer, offset, err);
	if (!st) {
		move_elements(array, host, span - low, pack);
		if (!pack) {
			st = kz_copy_htod(array->buffer, offset, span, high - low, err);
		}
	}
	mem_free(span);
	return st;
}

/*
 * That no two elements share memory.  By ascending stride, each must step over all that the smaller
 * ones cover.  Where extents interleave this refuses too much, but never too little.  The span of a
 * view lies in a buffer: no sum here overflows.
 */
static kz_status check_distinct(const struct kz_array *array, kz_error *err)
{
	int64_t covered = kz_dtype_size(array->dtype);
	bool done[KZ_MAX_DIMS] = {false};
	for (;;) {
		int64_t next = -1;
		for (int64_t i = 0; i < array->shape.ndim; i++) {
			if (!done[i] && array->shape.dims[i] > 1 && (next < 0
				|| llabs(array->strides[i]) < llabs(array->strides[next]))) {
				next = i;
			}
		}
		if (next < 0) {
			return KZ_OK;
		}
		int64_t stride = llabs(array->strides[next]);
		if (stride < covered) {
			return error_set(err, KZ_INVALID,
				"cannot set a view whose elements may share memory: stride %lld is "
				"%lld, within %lld bytes that are covered already", (long long)next,
				(long long)array->strides[next], (long long)covered);
		}
		covered += stride * (array->shape.dims[next] - 1);
		done[next] = true;
	}
}

/* The arguments were checked. */
static kz_status get(struct kz_array *array, void *host, kz_error *err)
{
	return array->count == 0 ? KZ_OK : kz_array_is_contiguous(array)
		? kz_copy_dtoh(host, kz_array_size(array), array->buffer, array->offset, err)
		: move_strided(array, host, true, err);
}

kz_status kz_array_get(kz_array *array, void *host, int64_t size, kz_error *err)
{
	kz_status st = check_array_host(array, host, size, err);
	return st ? st : get(array, host, err);
}

kz_status kz_array_set(kz_array *array, const void *host, int64_t size, kz_error *err)
{
	kz_status st = check_array_host(array, host, size, err);
	if (st || size == 0 || (st = check_distinct(array, err))) {
		return st;
	}
	return kz_array_is_contiguous(array)
		? kz_copy_htod(array->buffer, array->offset, host, size, err)
		: move_strided(array, (void *)host, false, err);
}

/* Printing */

/* How many elements of each extent are shown: all, or as many from either end as keep the text
 * short.  Returns the number of elements in all. */
static int64_t choose_shown(int64_t shown[KZ_MAX_DIMS], const struct kz_array *array)
{
	int64_t count = array->count;
	for (int edge = EDGE; edge > 0; edge--) {
		count = 1;
		for (int64_t i = 0; i < array->shape.ndim; i++) {
			int64_t extent = array->shape.dims[i];
			shown[i] = array->count > SUMMARY && extent > 2 * edge ? 2 * edge : extent;
			count *= shown[i];
		}
		if (count <= SHOWN_MAX) {
			break;
		}
	}
	return count;
}

/* Fetch the shown elements: those of both ends along extent `axis` of each slice. */
static kz_status fetch(const struct kz_array *slice, int64_t axis, const int64_t *shown,
	char **to, kz_error *err)
{
	struct kz_array part = *slice;
	if (axis == slice->shape.ndim) {
		kz_status st = get(&part, *to, err);
		*to += kz_array_size(&part);
		return st;
	}
	int64_t extent = slice->shape.dims[axis];
	bool last = axis == slice->shape.ndim - 1;
	int64_t step = last ? (shown[axis] < extent ? shown[axis] / 2 : extent) : 1;
	kz_status st = KZ_OK;
	for (int64_t k = 0; !st && k < shown[axis]; k += step) {
		int64_t index = shown[axis] < extent && k >= shown[axis] / 2
			? extent - shown[axis] + k : k;
		part.offset = slice->offset + index * slice->strides[axis];
		part.shape.dims[axis] = step;
		part.count = slice->count / extent * step;
		st = fetch(&part, axis + 1, shown, to, err);
	}
	return st;
}

static kz_status array_text(struct str *text, kz_array *array, kz_error *err)
{
	struct elements elements = {
		.dtype = array->dtype, .ndim = (int)array->shape.ndim, .dims = array->shape.dims,
	};
	elements.count = choose_shown(elements.shown, array);
	char *data = mem_alloc((size_t)(elements.count * kz_dtype_size(array->dtype)) + 1);
	if (!data) {
		return error_no_memory(err);
	}
	char *end = data;
	kz_status st = elements.count == array->count ? get(array, data, err)
		: fetch(array, 0, elements.shown, &end, err);
	if (!st) {
		elements.data = data;
		format_elements(text, &elements);
		str_addc(text, '\n');
		st = text->failed ? error_no_memory(err) : KZ_OK;
	}
	mem_free(data);
	return st;
}

kz_status kz_array_print(kz_array *array, FILE *stream, kz_error *err)
{
	kz_status st;
	if ((st = object_check(array, "an array", err))
	    || (st = object_check(stream, "a FILE", err))) {
		return st;
	}
	struct str text = STR_INIT;
	st = array_text(&text, array, err);
	if (!st && fwrite(text.data, 1, text.len, stream) != text.len) {
		st = error_os(err, errno, "fwrite", "cannot print an array");
	}
	str_free(&text);
	return st;
}

/* What an array says about itself */

kz_dtype kz_array_dtype(const kz_array *array)
{
	return array ? array->dtype : 0;
}

kz_shape kz_array_shape(const kz_array *array)
{
	return array ? array->shape : (kz_shape){0, {0}};
}

int kz_array_ndim(const kz_array *array)
{
	return array ? (int)array->shape.ndim : 0;
}

const int64_t *kz_array_strides(const kz_array *array)
{
	return array ? array->strides : NULL;
}

int64_t kz_array_count(const kz_array *array)
{
	return array ? array->count : 0;
}

int64_t kz_array_size(const kz_array *array)
{
	return array ? array->count * kz_dtype_size(array->dtype) : 0;
}

int kz_array_is_contiguous(const kz_array *array)
{
	int64_t outer;
	if (!array) {
		return 0;
	}
	run_of(array, &outer);
	return array->count == 0 || outer == 0;
}

uint64_t kz_array_address(const kz_array *array)
{
	return array && array->count ? array_address(array) : 0;
}

kz_device *kz_array_device(const kz_array *array)
{
	return array ? array->buffer->memory->device : NULL;
}

kz_buffer *kz_array_buffer(const kz_array *array)
{
	return array ? array->buffer : NULL;
}
