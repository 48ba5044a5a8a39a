/* SPDX-License-Identifier: MIT */
/*
 * Elements between host and device in one copy of their span.
 *
 * The span of a view is the bytes from its lowest element to its highest.  They travel in one
 * piece, and the host packs or unpacks the elements.  A span that is mostly gaps, or long, is first
 * divided along the extent with the widest stride, until a copy costs less than another division.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/array/span.h"

#include <stdlib.h>
#include <string.h>

/* What one more copy costs, as bytes that could be copied instead; how many bytes of gaps for each
 * byte of an element do not matter; the most host memory to take at once. */
enum { COPY_COST = 64 << 10, SPARSE = 4, CHUNK_MAX = 32 << 20 };

static int64_t span_bytes(const kz_shape *shape, int64_t size)
{
	for (int64_t i = 0; i < shape->ndim; i++) {
		size *= shape->dims[i];
	}
	return size;
}

/* Setting keeps the bytes between the elements: they are read first and written back. */
static kz_status move_span(const struct span_transfer *t, const kz_shape *shape, int64_t offset,
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
	bool gaps = high - low != span_bytes(shape, t->size);
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

static int64_t span_widest_extent(const kz_shape *shape, const int64_t *strides)
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

/* Recursion ends: each part has fewer elements. */
kz_status span_move(const struct span_transfer *t, const kz_shape *shape, int64_t offset,
	char *host, kz_error *err)
{
	int64_t low, high;
	struct strided elements = {*shape, t->strides, t->size};
	(void)strided_span(&low, &high, &elements);
	bool sparse = (high - low) / SPARSE > span_bytes(shape, t->size);
	int64_t limit = sparse ? COPY_COST : CHUNK_MAX;
	int64_t axis = span_widest_extent(shape, t->strides);
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
		st = span_move(t, &part, offset + i * stride, host + i * t->host_strides[axis],
			err);
	}
	return st;
}
