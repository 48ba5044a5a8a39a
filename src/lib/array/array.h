/* SPDX-License-Identifier: MIT */
#ifndef LIB_ARRAY_ARRAY_H
#define LIB_ARRAY_ARRAY_H

/*
 * Arrays: a kz_array is an element type, a shape and strides over a buffer, on a GPU or on the
 * CPU.
 *
 * This folder has everything about arrays that needs no kernels of its own: creating them, views,
 * transfers between host and devices, text, numpy's files, DLPack.  Operations that compute are
 * in src/lib/ops.
 *
 * array.c makes arrays, view.c and slice.c make views, transfer.c moves elements, and shape.c
 * checks shapes and axes from callers.
 */
#include "lib/core/dtype.h"
#include "lib/core/memory.h"
#include "lib/array/strided.h"

#include <kudzu/array.h>

/* The struct is here because launches take arrays; its functions are in src/lib/array. */
struct kz_array {
	uint32_t tag;               /* OBJECT_ARRAY */
	atomic_int refs;
	struct kz_buffer *buffer;
	kz_dtype dtype;
	int64_t offset;             /* bytes from the start of the buffer to element 0 */
	kz_shape shape;
	int64_t strides[KZ_MAX_DIMS];
	int64_t count;
	bool is_plain;              /* it is contiguous; launches ask this first */
};

static inline struct kz_device *array_device(const struct kz_array *array)
{
	return array->buffer->memory->device;
}

static inline CUdeviceptr array_address(const struct kz_array *array)
{
	return buffer_address(array->buffer) + (CUdeviceptr)array->offset;
}

/* kz_array_is_contiguous.  It is strided_run without copies of the shape, since each operation asks
 * this. */
static inline bool array_is_contiguous(const struct kz_array *array)
{
	int64_t run = dtype_size(array->dtype);
	for (int64_t i = array->shape.ndim; array->count && i-- > 0; run *= array->shape.dims[i]) {
		if (array->strides[i] != run && array->shape.dims[i] != 1) {
			return false;
		}
	}
	return true;
}

/* A row-major array without memory, fit for kz_array_release. */
kz_status array_new(struct kz_array **out, kz_dtype dtype, const kz_shape *shape, kz_error *err);
/* kz_array_create for first use in a stream.  NULL if that is not known: then the memory may be any
 * stream's.  All arguments but the shape were checked. */
kz_status array_create_on(struct kz_array **out, struct kz_device *dev, kz_dtype dtype,
	const kz_shape *shape, struct kz_stream *stream, kz_error *err);

/* The end of making an array: hand it out, or undo it after a failure. */
static inline kz_status array_finish(kz_array **out, struct kz_array *array, kz_status st)
{
	if (st) {
		kz_array_release(array);
		return st;
	}
	*out = array;
	return KZ_OK;
}

static inline struct strided array_elements(const struct kz_array *array)
{
	return (struct strided){array->shape, array->strides, kz_dtype_size(array->dtype)};
}

/* Put an element, of `found` at `raw`, to a number of `dtype`: the same one, or a wider one of its
 * kind. */
kz_status array_take_number(void *out, kz_dtype dtype, const void *raw, kz_dtype found,
	kz_error *err);

/* Put the only element of an array to a number. */
kz_status array_take_only(void *out, kz_dtype dtype, kz_array *array, kz_error *err);

/* Check that `size` bytes of host memory are what an array of `count` elements takes. */
kz_status array_check_host(const void *host, int64_t size, int64_t count, kz_dtype dtype,
	kz_error *err);

/* Check that two operands are on one device; `verb` says what cannot be done otherwise: "add". */
kz_status array_same_device(const char *verb, const struct kz_array *a, const struct kz_array *b,
	kz_error *err);

/* Wait until the work on an array's memory is done. */
kz_status array_wait(const struct kz_array *array, kz_error *err);

/* For a call that waits for the array: fail if it would wait for a graph that is being captured. */
static inline kz_status array_check_capture(const struct kz_array *array,
	kz_error *err)
{
	return memory_check_capture(array->buffer->memory, err);
}

/* The device's memory is the host's. */
static inline bool array_is_on_host(const struct kz_array *array)
{
	return array->buffer->memory->device->on_host;
}

/* Copy all elements to an array of the same shape and device, by a kernel in a stream (NULL: the
 * default one).  src/lib/ops makes kernels and is above this folder; src/lib/kudzu.c sets the
 * function. */
typedef kz_status array_copy_fn(struct kz_array *to, const struct kz_array *from,
	struct kz_stream *stream, kz_error *err);
extern array_copy_fn *const array_copy_by_kernel;

/* Move all elements between an array and places on the host; strides NULL for row-major.  All was
 * checked, and there are some. */
kz_status array_move(struct kz_array *array, void *host, const int64_t *host_strides,
	bool to_host, kz_error *err);

#endif
