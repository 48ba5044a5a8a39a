/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_GROWABLE_H
#define KUDZU_GROWABLE_H

/*
 * Memory that grows and shrinks in place: the addresses are reserved, and get memory when they need it.
 *
 *	kz_array *log = NULL;
 *	if (kz_array_create_growable(&log, dev, KZ_F32, KZ_SHAPE(0, 3), 1 << 20, &err)   // no row yet
 *	    || kz_array_resize(log, 1000, &err)                                          // 1,000 rows
 *	    || kz_launch(kernel, grid, block, NULL, &err, KZ_ARGS(log))
 *	    || kz_array_resize(log, 2000, &err)                                          // keeps them
 *	    || kz_array_resize(log, 10, &err)) {                          // gives memory back
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_array_release(log);
 *
 * Nothing is copied: what is in the memory stays, and its address is the same for ever.  So views,
 * prepared launches, graphs and kernels that run go on with the part that they know.  The capacity takes
 * addresses, of which there are plenty, and no memory.
 *
 * Such memory is a kz_buffer: kernels, copies, arrays and views take it.  It comes from the driver's
 * virtual memory management, which maps it in pieces of 2 MiB or more, an eighth of what there is; so up
 * to an eighth more is reserved than asked for.  The statistics of pool.h and kz_device_limit_memory
 * count it.  kz_device_set_allocator and KUDZU_POOL do not apply.  Kernels of other devices cannot use
 * it.
 */
#include <kudzu/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a buffer that kz_buffer_resize grows and shrinks in place.  Its contents are undefined.
 *
 * @param size bytes that it has now, 0 allowed.
 * @param capacity bytes that it can grow to, at least `size`.
 * @return KZ_OK; KZ_INVALID for negative numbers; KZ_RANGE for a size above the capacity; KZ_UNSUPPORTED if
 *         the device has no virtual memory management; KZ_DEVICE_MEMORY if there is no memory, or there
 *         are no addresses; KZ_NO_MEMORY; the driver's failures.
 * Ownership: release it with kz_buffer_release, which waits for the last use.  No pool keeps it.
 */
KZ_API KZ_NODISCARD kz_status kz_buffer_create_growable(kz_buffer **out, kz_device *dev, int64_t size,
	int64_t capacity, kz_error *err);

/**
 * Change the size of a growable buffer in place.
 *
 * New bytes are undefined.  Views keep their size.  A smaller size gives memory back, so it is refused
 * while a view, an array, a prepared launch or a graph refers to any part of the memory.
 *
 * @param buffer of kz_buffer_create_growable, no view of it.
 * @param size bytes from 0 to kz_buffer_capacity.
 * @return KZ_OK; KZ_INVALID for other buffers and a negative size; KZ_RANGE for a size above the capacity;
 *         KZ_STATE if it cannot shrink now; KZ_DEVICE_MEMORY, after unused memory of the pool went back to
 *         the driver; the driver's failures.  The size is unchanged on failure, except that the driver's
 *         refusal to take memory back leaves the smaller size.
 * Async: waits for work on the buffer if it shrinks.
 * Threads: no other thread uses this handle meanwhile.
 */
KZ_API KZ_NODISCARD kz_status kz_buffer_resize(kz_buffer *buffer, int64_t size, kz_error *err);

/** Return how many bytes a buffer can grow to; the size of a buffer that cannot grow. */
KZ_API int64_t kz_buffer_capacity(const kz_buffer *buffer);

/**
 * Create a row-major array that kz_array_resize grows and shrinks in place, along its first axis.  Its
 * contents are undefined.
 *
 * @param shape extents now, at least one; the first may be 0.
 * @param capacity what the first extent can grow to, at least what it is.
 * @return as kz_buffer_create_growable; also KZ_INVALID for a bad dtype or shape; KZ_RANGE if the product
 *         of extents and element size overflows.
 * Ownership: release it with kz_array_release, which waits for the last use.
 */
KZ_API KZ_NODISCARD kz_status kz_array_create_growable(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, int64_t capacity, kz_error *err);

/**
 * Change the first extent of an array in place: numpy's resize, along one axis.
 *
 * New elements are undefined.  Views keep their shape.  A smaller extent gives memory back, so it is
 * refused while the array has a second reference, or a view or another user of the memory exists.
 *
 * @param array row-major, over all of its growable buffer: of kz_array_create_growable, or of kz_array_wrap
 *        over all of a buffer of kz_buffer_create_growable.  A view of part of it is refused.
 * @param extent from 0.
 * @return as kz_buffer_resize; also KZ_INVALID for another array.
 * Async: waits for work on the array if it shrinks.
 * Threads: no other thread uses this handle meanwhile.
 */
KZ_API KZ_NODISCARD kz_status kz_array_resize(kz_array *array, int64_t extent, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
