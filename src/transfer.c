/* SPDX-License-Identifier: MIT */
/*
 * Array elements to and from the host.
 *
 * Either side may have any strides.  Where both are row-major without gaps one copy does it.  Else
 * the bytes from the lowest to the highest element on the device, the span, travel in one piece and
 * are packed or unpacked on the host.  A span that is mostly gaps, or long, is taken apart first:
 * along the extent with the widest stride into parts, until a copy is cheaper than a division.
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
