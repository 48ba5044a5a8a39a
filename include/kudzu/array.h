/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_ARRAY_H
#define KUDZU_ARRAY_H

/*
 * Arrays on the device: a dtype, a shape, strides, and a shared buffer.
 *
 *	float host[16] = {0};
 *	kz_array *a = NULL;
 *	if (kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(4, 4), host, sizeof(host), &err)
 *	    || kz_array_print(a, stdout, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_array_release(a);
 *
 * A new array is row-major.  Views (view.h) share the memory and keep it alive.  Strides are in
 * bytes and may be negative or 0.
 *
 * Work goes into the device's default stream, unless a call names another one; kudzu.h says how.
 * An array is used in the order of the calls, whichever streams they name; see stream.h.
 */
#include <kudzu/dtype.h>
#include <kudzu/memory.h>
#include <kudzu/shape.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An array; opaque and counted. */
typedef struct kz_array kz_array;

/**
 * Create an array; its contents are undefined.
 *
 * @param shape extents, each at least 0.  Without extents it is a 0-d array of one element.
 * @return KZ_OK; KZ_INVALID for a bad dtype or shape; KZ_RANGE if the product of extents and
 *         element size overflows; KZ_DEVICE_MEMORY; KZ_NO_MEMORY.
 * Ownership: release it with kz_array_release, as every array below.
 */
KZ_API KZ_NODISCARD kz_status kz_array_create(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, kz_error *err);

/**
 * Create an array for use in a stream; as kz_array_create.
 *
 * The pool prefers memory that this stream, or none, used last, so that work need not wait for
 * another stream.
 *
 * @param stream of `dev`, where the array is used first; NULL for the default stream.
 * @return as kz_array_create; also KZ_INVALID for a stream of another device.
 */
KZ_API KZ_NODISCARD kz_status kz_array_create_on(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, kz_stream *stream, kz_error *err);

/** Create an array of zeros; as kz_array_create. */
KZ_API KZ_NODISCARD kz_status kz_array_zeros(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, kz_error *err);

/** Create an array of zeros in a stream; as kz_array_zeros and kz_array_create_on. */
KZ_API KZ_NODISCARD kz_status kz_array_zeros_on(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, kz_stream *stream, kz_error *err);

/**
 * Create an array with one value everywhere.
 *
 * @param value host memory, one element.
 * @param value_size bytes at `value`; must be the dtype's size.
 * @return as kz_array_create; also KZ_INVALID for another size, and for NULL.
 */
KZ_API KZ_NODISCARD kz_status kz_array_full(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, const void *value, int64_t value_size, kz_error *err);

/**
 * Create an array with one value everywhere in a stream; as kz_array_full and
 * kz_array_create_on.
 */
KZ_API KZ_NODISCARD kz_status kz_array_full_on(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, const void *value, int64_t value_size, kz_stream *stream, kz_error *err);

/**
 * Create an array of ones; as kz_array_create.
 *
 * @return also KZ_INVALID for the dtype of a struct.
 */
KZ_API KZ_NODISCARD kz_status kz_array_ones(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, kz_error *err);

/** Create an array of ones in a stream; as kz_array_ones and kz_array_create_on. */
KZ_API KZ_NODISCARD kz_status kz_array_ones_on(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, kz_stream *stream, kz_error *err);

/**
 * Create a row-major array with the device, dtype and shape of another; its contents are
 * undefined.
 */
KZ_API KZ_NODISCARD kz_status kz_array_like(kz_array **out, const kz_array *like, kz_error *err);

/**
 * Create a row-major array of zeros with the device and shape of another.
 *
 * @param dtype 0 for the dtype of `like`.
 */
KZ_API KZ_NODISCARD kz_status kz_array_zeros_like(kz_array **out, const kz_array *like,
	kz_dtype dtype, kz_error *err);

/** Do so in a stream; as kz_array_zeros_like and kz_array_create_on. */
KZ_API KZ_NODISCARD kz_status kz_array_zeros_like_on(kz_array **out, const kz_array *like,
	kz_dtype dtype, kz_stream *stream, kz_error *err);

/** Create an array of ones; as kz_array_zeros_like and kz_array_ones. */
KZ_API KZ_NODISCARD kz_status kz_array_ones_like(kz_array **out, const kz_array *like,
	kz_dtype dtype, kz_error *err);

/** Do so in a stream; as kz_array_ones_like and kz_array_create_on. */
KZ_API KZ_NODISCARD kz_status kz_array_ones_like_on(kz_array **out, const kz_array *like,
	kz_dtype dtype, kz_stream *stream, kz_error *err);

/** Create an array with one value everywhere; as kz_array_zeros_like and kz_array_full. */
KZ_API KZ_NODISCARD kz_status kz_array_full_like(kz_array **out, const kz_array *like,
	kz_dtype dtype, const void *value, int64_t value_size, kz_error *err);

/** Do so in a stream; as kz_array_full_like and kz_array_create_on. */
KZ_API KZ_NODISCARD kz_status kz_array_full_like_on(kz_array **out, const kz_array *like,
	kz_dtype dtype, const void *value, int64_t value_size, kz_stream *stream, kz_error *err);

/**
 * Create an array from host memory.
 *
 * @param host row-major elements.
 * @param size bytes at `host`; must be the size of the array: KZ_RANGE if not.
 */
KZ_API KZ_NODISCARD kz_status kz_array_from(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, const void *host, int64_t size, kz_error *err);

/**
 * Create a row-major array from strided elements of host memory: a column, every other row, an
 * image upside down.
 *
 * @param host host memory of `size` bytes.
 * @param size bytes at `host`.
 * @param strides bytes for each extent, of any sign; NULL for row-major.
 * @param offset bytes from `host` to the first element.
 * @return as kz_array_create; also KZ_RANGE if an element would be outside the `size` bytes.
 */
KZ_API KZ_NODISCARD kz_status kz_array_from_strided(kz_array **out, kz_device *dev,
	kz_dtype dtype, kz_shape shape, const void *host, int64_t size, const int64_t *strides,
	int64_t offset, kz_error *err);

/**
 * Create an array over a buffer.  The array shares the buffer and keeps it alive.
 *
 * @param strides bytes for each extent; NULL for row-major.
 * @param offset bytes from the start of the buffer to the first element.
 * @return KZ_OK; KZ_RANGE if an element would be outside the buffer.
 */
KZ_API KZ_NODISCARD kz_status kz_array_wrap(kz_array **out, kz_buffer *buffer, kz_dtype dtype,
	kz_shape shape, const int64_t *strides, int64_t offset, kz_error *err);

/**
 * Create a row-major array that kz_array_resize grows and shrinks in place, along its first axis.
 * Its contents are undefined.
 *
 * @param shape extents now, at least one; the first may be 0.
 * @param capacity the most that the first extent can grow to; at least that extent.
 * @return as kz_buffer_create_growable; also KZ_INVALID for a bad dtype or shape; KZ_RANGE if the
 *         product of extents and element size overflows.
 * Ownership: release it with kz_array_release, which waits for the last use.
 */
KZ_API KZ_NODISCARD kz_status kz_array_create_growable(kz_array **out, kz_device *dev,
	kz_dtype dtype, kz_shape shape, int64_t capacity, kz_error *err);

/**
 * Change the first extent of an array in place: numpy's resize, along one axis.
 *
 * New elements are undefined.  Views keep their shape.  A smaller extent gives memory back, so it
 * is refused while the array has a second reference, or a view or another user of the memory
 * exists.
 *
 * @param array row-major, over all of its growable buffer: of kz_array_create_growable, or of
 *        kz_array_wrap over all of a buffer of kz_buffer_create_growable.  A view of part of it is
 *        refused.
 * @param extent from 0.
 * @return as kz_buffer_resize; also KZ_INVALID for another array.
 * Async: waits for work on the array if it shrinks.
 * Threads: no other thread uses this handle meanwhile.
 */
KZ_API KZ_NODISCARD kz_status kz_array_resize(kz_array *array, int64_t extent, kz_error *err);

/**
 * Add a reference to an array, which needs one more kz_array_release.
 *
 * @return `array`.
 */
KZ_API kz_array *kz_array_retain(kz_array *array);

/** Release an array.  NULL is fine.  Work in flight keeps the memory that it needs. */
KZ_API void kz_array_release(kz_array *array);

/**
 * Copy the elements to the host, in row-major order whatever the strides are.
 *
 * @param size bytes at `host`; must be the size of the array: KZ_RANGE if not.
 */
KZ_API KZ_NODISCARD kz_status kz_array_get(kz_array *array, void *host, int64_t size,
	kz_error *err);

/**
 * Overwrite the elements from the host; as kz_array_get.
 *
 * @return as kz_array_get; also KZ_INVALID for a view whose elements may share memory.  Sorted by
 *         size, each stride must step over everything that the smaller ones cover.
 */
KZ_API KZ_NODISCARD kz_status kz_array_set(kz_array *array, const void *host, int64_t size,
	kz_error *err);

/**
 * Copy the elements to strided places in host memory.  The bytes between these places stay as they
 * are.
 *
 * @param host host memory of `size` bytes.
 * @param size bytes at `host`.
 * @param strides bytes for each extent, of any sign; NULL for row-major.
 * @param offset bytes from `host` to the first element.
 * @return KZ_OK; KZ_RANGE if an element would be outside the `size` bytes; KZ_INVALID if two
 *         elements may share memory, as kz_array_set.
 */
KZ_API KZ_NODISCARD kz_status kz_array_get_strided(kz_array *array, void *host, int64_t size,
	const int64_t *strides, int64_t offset, kz_error *err);

/** Overwrite the elements from strided host memory; as kz_array_get_strided and kz_array_set. */
KZ_API KZ_NODISCARD kz_status kz_array_set_strided(kz_array *array, const void *host, int64_t size,
	const int64_t *strides, int64_t offset, kz_error *err);

/**
 * Copy the elements to the host in a stream; as kz_array_get.
 *
 * A kernel first packs a view with gaps on the device.
 *
 * @return as kz_array_get; also KZ_NO_COMPILER for a view with gaps.
 * Async: returns at once.  The host memory is complete when the stream has passed the copy.
 */
KZ_API KZ_NODISCARD kz_status kz_array_get_async(kz_array *array, void *host, int64_t size,
	kz_stream *stream, kz_error *err);

/**
 * Overwrite the elements from the host in a stream; as kz_array_set and kz_array_get_async.
 *
 * Async: returns at once.  The host memory must stay unchanged until the stream has passed the
 * copy.
 */
KZ_API KZ_NODISCARD kz_status kz_array_set_async(kz_array *array, const void *host, int64_t size,
	kz_stream *stream, kz_error *err);

/**
 * Get an array on a device: the same handle with one more reference if it is there already, else a
 * row-major copy.
 *
 * The array itself stays where it is.  A copy between GPUs is direct where the driver offers that.
 * Otherwise it goes through host memory.
 *
 * @return KZ_OK; KZ_DEVICE_MEMORY; KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_array_to(kz_array **out, kz_array *array, kz_device *dev,
	kz_error *err);

/**
 * Get an array on a device, with the copy in a stream; as kz_array_to.
 *
 * @param stream of `dev`; NULL for its default stream.
 * @return as kz_array_to; also KZ_INVALID for a stream of another device; KZ_STATE for one that
 *         captures a graph.
 * Async: a direct copy between GPUs returns at once.  Other copies return when they are done.
 */
KZ_API KZ_NODISCARD kz_status kz_array_to_on(kz_array **out, kz_array *array, kz_device *dev,
	kz_stream *stream, kz_error *err);

/**
 * Get the memory of an array on the device `cpu`, to read and write.
 *
 * @param out set to the address of the first element, NULL for an empty array.  The others are at
 *        kz_array_strides from there.
 * @return KZ_OK; KZ_INVALID for an array on a GPU: copy it with kz_array_get or kz_array_to.
 * Ownership: borrowed from the array.
 * Async: waits until earlier work on the array is done.  Call it again after new work on the array.
 */
KZ_API KZ_NODISCARD kz_status kz_array_host(void **out, kz_array *array, kz_error *err);

/**
 * Print the elements as numpy does.  Long arrays are shortened.
 *
 * @param stream where to print; it is flushed.
 * @return KZ_OK; KZ_IO if it cannot be written; KZ_NO_MEMORY; the driver's failures.
 */
KZ_API KZ_NODISCARD kz_status kz_array_print(kz_array *array, FILE *stream, kz_error *err);

/**
 * Write what kz_array_print prints into a buffer, as snprintf does.
 *
 * @param buffer host memory; NULL to learn the length.
 * @param size bytes at `buffer`, with the terminating zero.
 * @param length set to the length of the whole text in bytes, without the terminating zero; 0 on
 *        failure.  May be NULL.
 */
KZ_API KZ_NODISCARD kz_status kz_array_format(kz_array *array, char *buffer, int64_t size,
	int64_t *length, kz_error *err);

KZ_API kz_dtype kz_array_dtype(const kz_array *array);       /**< Return the element type. */
KZ_API kz_shape kz_array_shape(const kz_array *array);       /**< Return the shape. */
KZ_API int kz_array_ndim(const kz_array *array);             /**< Return the number of extents. */
/** Return the strides, kz_array_ndim of them, in bytes.  Borrowed from the array. */
KZ_API const int64_t *kz_array_strides(const kz_array *array);
KZ_API int64_t kz_array_count(const kz_array *array);        /**< Return the number of elements. */
KZ_API int64_t kz_array_size(const kz_array *array);         /**< Return count * element size. */
/** Return 1 if the elements lie row-major without gaps. */
KZ_API int kz_array_is_contiguous(const kz_array *array);
/** Return the device address of the first element; 0 for an empty array. */
KZ_API uint64_t kz_array_address(const kz_array *array);
KZ_API kz_device *kz_array_device(const kz_array *array);    /**< Return the device.  Borrowed. */
KZ_API kz_buffer *kz_array_buffer(const kz_array *array);    /**< Return the memory.  Borrowed. */

#ifdef __cplusplus
}
#endif

#endif
