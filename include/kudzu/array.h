/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_ARRAY_H
#define KUDZU_ARRAY_H

/*
 * Arrays on the device: a dtype, a shape, strides, and a counted buffer.
 *
 *	float host[16] = {0};
 *	kz_array *a = NULL;
 *	if (kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(4, 4), host, sizeof(host), &err)
 *	    || kz_array_print(a, stdout, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_array_release(a);
 *
 * Arrays are row-major when created.  Views (view.h) share the memory and keep it alive.  Strides
 * are in bytes and may be negative or 0.
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
 * @param shape extents, each at least 0; no extents make a 0-d array of one element.
 * @return KZ_OK; KZ_INVALID for a bad dtype or shape; KZ_RANGE when the product of extents and
 *         element size overflows; KZ_DEVICE_MEMORY; KZ_NO_MEMORY.
 * Ownership: give it back with kz_array_release; so for every array below.
 */
KZ_API KZ_NODISCARD kz_status kz_array_create(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, kz_error *err);

/** Create an array of zeros; as kz_array_create. */
KZ_API KZ_NODISCARD kz_status kz_array_zeros(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, kz_error *err);

/**
 * Create an array with one value everywhere.
 *
 * @param value host memory, one element.
 * @param value_size its bytes; must be the dtype's size.
 * @return as kz_array_create; also KZ_INVALID for another size, and for NULL.
 */
KZ_API KZ_NODISCARD kz_status kz_array_full(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, const void *value, int64_t value_size, kz_error *err);

/**
 * Create an array of ones; as kz_array_create.
 *
 * @return also KZ_INVALID for the dtype of a struct.
 */
KZ_API KZ_NODISCARD kz_status kz_array_ones(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, kz_error *err);

/** Create an undefined, row-major array of the device, dtype and shape of another. */
KZ_API KZ_NODISCARD kz_status kz_array_like(kz_array **out, const kz_array *like, kz_error *err);

/**
 * Create a row-major array of zeros of the device and shape of another.
 *
 * @param dtype 0 for that of `like`.
 */
KZ_API KZ_NODISCARD kz_status kz_array_zeros_like(kz_array **out, const kz_array *like,
	kz_dtype dtype, kz_error *err);

/** Create an array of ones; as kz_array_zeros_like and kz_array_ones. */
KZ_API KZ_NODISCARD kz_status kz_array_ones_like(kz_array **out, const kz_array *like,
	kz_dtype dtype, kz_error *err);

/** Create an array with one value everywhere; as kz_array_zeros_like and kz_array_full. */
KZ_API KZ_NODISCARD kz_status kz_array_full_like(kz_array **out, const kz_array *like,
	kz_dtype dtype, const void *value, int64_t value_size, kz_error *err);

/**
 * Create an array from host memory.
 *
 * @param host row-major elements.
 * @param size bytes at `host`; must be what the shape takes: KZ_RANGE if not.
 */
KZ_API KZ_NODISCARD kz_status kz_array_from(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, const void *host, int64_t size, kz_error *err);

/**
 * Create a row-major array from elements at strides in host memory: a column, every other row, an
 * image upside down.
 *
 * @param host host memory of `size` bytes.
 * @param size bytes at `host`.
 * @param strides bytes for each extent, of any sign; NULL for row-major.
 * @param offset bytes from `host` to the first element.
 * @return also KZ_RANGE if any element would lie outside the `size` bytes.
 */
KZ_API KZ_NODISCARD kz_status kz_array_from_strided(kz_array **out, kz_device *dev,
	kz_dtype dtype, kz_shape shape, const void *host, int64_t size, const int64_t *strides,
	int64_t offset, kz_error *err);

/**
 * Create an array over a buffer, which it shares and keeps alive.
 *
 * @param strides bytes for each extent; NULL for row-major.
 * @param offset bytes from the start of the buffer to the first element.
 * @return KZ_OK; KZ_RANGE if any element would lie outside the buffer.
 */
KZ_API KZ_NODISCARD kz_status kz_array_wrap(kz_array **out, kz_buffer *buffer, kz_dtype dtype,
	kz_shape shape, const int64_t *strides, int64_t offset, kz_error *err);

/**
 * Raise an array's count, so that it takes one more kz_array_release to give it back.
 *
 * @return `array`.
 */
KZ_API kz_array *kz_array_retain(kz_array *array);

/** Give an array back.  NULL is fine; work in flight keeps what it needs. */
KZ_API void kz_array_release(kz_array *array);

/**
 * Copy the elements to the host, row-major whatever the strides are.
 *
 * @param size bytes at `host`; must be what the shape takes: KZ_RANGE if not.
 */
KZ_API KZ_NODISCARD kz_status kz_array_get(kz_array *array, void *host, int64_t size,
	kz_error *err);

/**
 * Overwrite the elements from the host; as kz_array_get.
 *
 * @return also KZ_INVALID for a view whose elements may share memory: by ascending size, each
 *         stride must step over all that the smaller ones cover.
 */
KZ_API KZ_NODISCARD kz_status kz_array_set(kz_array *array, const void *host, int64_t size,
	kz_error *err);

/**
 * Copy the elements to places at strides in host memory; what lies between these stays.
 *
 * @param host host memory of `size` bytes.
 * @param size bytes at `host`.
 * @param strides bytes for each extent, of any sign; NULL for row-major.
 * @param offset bytes from `host` to the first element.
 * @return KZ_OK; KZ_RANGE if any element would lie outside the `size` bytes; KZ_INVALID if two
 *         may share memory, as kz_array_set.
 */
KZ_API KZ_NODISCARD kz_status kz_array_get_strided(kz_array *array, void *host, int64_t size,
	const int64_t *strides, int64_t offset, kz_error *err);

/** Overwrite the elements from places at strides; as kz_array_get_strided and kz_array_set. */
KZ_API KZ_NODISCARD kz_status kz_array_set_strided(kz_array *array, const void *host, int64_t size,
	const int64_t *strides, int64_t offset, kz_error *err);

/**
 * kz_array_get in a stream.
 *
 * A view with gaps is packed on the device first, by a kernel.
 *
 * @return also KZ_NO_COMPILER for such a view.
 * Async: the host memory is written until the stream has passed this point.
 */
KZ_API KZ_NODISCARD kz_status kz_array_get_async(kz_array *array, void *host, int64_t size,
	kz_stream *stream, kz_error *err);

/** kz_array_set in a stream; as kz_array_get_async.  The host memory must stay as it is. */
KZ_API KZ_NODISCARD kz_status kz_array_set_async(kz_array *array, const void *host, int64_t size,
	kz_stream *stream, kz_error *err);

/**
 * Have an array on a device: the same handle with its count raised if it is there, else a
 * row-major copy.
 *
 * The array itself stays where it is.  Between GPUs the copy takes the direct way where the driver
 * offers one, else it goes through host memory.
 *
 * @return KZ_OK; KZ_DEVICE_MEMORY; KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_array_to(kz_array **out, kz_array *array, kz_device *dev,
	kz_error *err);

/**
 * Have the memory of an array on the device `cpu`, to read and write.
 *
 * Waits until earlier work on the array is done.  Call it again after giving the device more work.
 *
 * @param out set to the address of the first element, NULL for an empty array; the others lie at
 *        kz_array_strides from there.  Borrowed from the array.
 * @return KZ_OK; KZ_INVALID for an array on a GPU: kz_array_get or kz_array_to copies it.
 */
KZ_API KZ_NODISCARD kz_status kz_array_host(void **out, kz_array *array, kz_error *err);

/**
 * Print the elements as numpy does, long arrays shortened.
 *
 * @param stream where to.
 */
KZ_API KZ_NODISCARD kz_status kz_array_print(kz_array *array, FILE *stream, kz_error *err);

/**
 * Write what kz_array_print prints into a buffer, as snprintf does.
 *
 * @param buffer where to, host memory; NULL to learn the length.
 * @param size bytes that fit, the terminating zero included.
 * @param length set to the bytes that the whole text takes, without the terminating zero; 0 on
 *        failure.  May be NULL.
 */
KZ_API KZ_NODISCARD kz_status kz_array_format(kz_array *array, char *buffer, int64_t size,
	int64_t *length, kz_error *err);

KZ_API kz_dtype kz_array_dtype(const kz_array *array);       /**< Return the element type. */
KZ_API kz_shape kz_array_shape(const kz_array *array);       /**< Return the shape. */
KZ_API int kz_array_ndim(const kz_array *array);             /**< Return how many extents. */
/** Return the strides, kz_array_ndim of them, in bytes.  Borrowed from the array. */
KZ_API const int64_t *kz_array_strides(const kz_array *array);
KZ_API int64_t kz_array_count(const kz_array *array);        /**< Return the elements. */
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
