/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_INDEXING_H
#define KUDZU_INDEXING_H

/*
 * Elements by their indexes: take, put, and the indexes of nonzero elements.
 *
 *	if (kz_greater(&mask, a, 0.5, &err)
 *	    || kz_array_compress(&some, a, mask, &err)) {      (a[a > 0.5])
 *		kz_error_print(&err, stderr);
 *	}
 *
 * Indexes are arrays of any integer type; negative ones count from the end, as in numpy.
 */
#include <kudzu/join.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What happens to an index that is out of range. */
typedef enum kz_index_mode {
	KZ_INDEX_CHECK = 0, /**< KZ_RANGE with the first such index; the call waits for the device,
	                         so in a capture it is KZ_STATE */
	KZ_INDEX_WRAP = 1,  /**< it is taken modulo the extent */
	KZ_INDEX_CLIP = 2   /**< it becomes the nearest end; negative indexes become 0 */
} kz_index_mode;

/**
 * Take elements, or slices, along an axis: numpy's take.
 *
 * @param indexes integers of any shape.  Their extents replace the axis in the result.
 * @param axis from 0, or negative from the end.  A 0-d array counts as an array of shape (1,).
 * @return KZ_OK; KZ_RANGE for an axis or index out of range, and for an axis without elements
 *         unless there are no indexes; KZ_INVALID for indexes that are not integers or are on
 *         another device.
 * Ownership: release the result with kz_array_release, as all results below.
 */
KZ_API KZ_NODISCARD kz_status kz_array_take(kz_array **out, kz_array *array, kz_array *indexes,
	int64_t axis, kz_index_mode mode, kz_error *err);

/** Take elements in a stream; as kz_array_take. */
KZ_API KZ_NODISCARD kz_status kz_array_take_on(kz_array **out, kz_array *array, kz_array *indexes,
	int64_t axis, kz_index_mode mode, kz_stream *stream, kz_error *err);

/**
 * Take elements, or slices, of several arrays by the same indexes, as rows of several columns.
 *
 * It gives what kz_array_take gives for each array, and converts and checks the indexes once for
 * all arrays of the same extent.  Every array is checked before the first result is made.
 *
 * @param out has room for a result of each array, in the order of the list.
 * @param arrays one or more, of any shapes and dtypes, on one device.
 * @param axis from 0, or negative from the end; of each array.
 * @return as kz_array_take; KZ_INVALID also for an empty list; KZ_NO_MEMORY.  On failure all
 *         results are NULL.
 */
KZ_API KZ_NODISCARD kz_status kz_array_take_each(kz_array **out, kz_arrays arrays,
	kz_array *indexes, int64_t axis, kz_index_mode mode, kz_error *err);

/** Take elements of several arrays in a stream; as kz_array_take_each. */
KZ_API KZ_NODISCARD kz_status kz_array_take_each_on(kz_array **out, kz_arrays arrays,
	kz_array *indexes, int64_t axis, kz_index_mode mode, kz_stream *stream, kz_error *err);

/**
 * Take one element for each index, along an axis: numpy's take_along_axis.
 *
 * An index finds its element at its own place of the other axes: out[i, j] = array[i, indexes[i,
 * j]] for the last axis of a matrix.
 *
 * @param indexes integers, of as many extents as the array.  Extents other than the axis'
 *        broadcast.
 * @param axis from 0, or negative from the end.
 * @return as kz_array_take; KZ_INVALID also for shapes that do not fit, with both.
 */
KZ_API KZ_NODISCARD kz_status kz_array_take_along_axis(kz_array **out, kz_array *array,
	kz_array *indexes, int64_t axis, kz_index_mode mode, kz_error *err);

/** Take one element for each index in a stream; as kz_array_take_along_axis. */
KZ_API KZ_NODISCARD kz_status kz_array_take_along_axis_on(kz_array **out, kz_array *array,
	kz_array *indexes, int64_t axis, kz_index_mode mode, kz_stream *stream, kz_error *err);

/**
 * Overwrite elements of an array: numpy's put.  Indexes count its elements in row-major order.
 *
 * If an index occurs more than once, one of its values stays; which one is unspecified.
 *
 * @param array any array or view whose elements share no memory.  It may share memory with the
 *        indexes and the values, which are all read before it is written.
 * @param values repeated if there are fewer than indexes.  Their dtype must be able to go into the
 *        array's kind.  At least one, unless there are no indexes.
 * @return as kz_array_take.  Nothing is written unless all indexes are valid.
 */
KZ_API KZ_NODISCARD kz_status kz_array_put(kz_array *array, kz_array *indexes, kz_array *values,
	kz_index_mode mode, kz_error *err);

/** Overwrite elements in a stream; as kz_array_put. */
KZ_API KZ_NODISCARD kz_status kz_array_put_on(kz_array *array, kz_array *indexes, kz_array *values,
	kz_index_mode mode, kz_stream *stream, kz_error *err);

/**
 * Overwrite elements of several arrays by the same indexes.
 *
 * It does what kz_array_put does for each array and its values, in the order of the list, but reads
 * all values and indexes before it writes the first array.
 *
 * @param arrays one or more, of any shapes and dtypes, on one device.
 * @param values as many as arrays, one for each.
 * @return as kz_array_put; KZ_INVALID also for an empty list and for another number of values;
 *         KZ_NO_MEMORY.  Nothing is written unless all indexes are valid for all arrays; after a
 *         failure of the device the arrays may hold some of the values.
 */
KZ_API KZ_NODISCARD kz_status kz_array_put_each(kz_arrays arrays, kz_array *indexes,
	kz_arrays values, kz_index_mode mode, kz_error *err);

/** Overwrite elements of several arrays in a stream; as kz_array_put_each. */
KZ_API KZ_NODISCARD kz_status kz_array_put_each_on(kz_arrays arrays, kz_array *indexes,
	kz_arrays values, kz_index_mode mode, kz_stream *stream, kz_error *err);

/** What kz_array_scatter does with an element and a value.  The numbers never change. */
typedef enum kz_scatter_op {
	KZ_SCATTER_ADD = 0, /**< of bool: or */
	KZ_SCATTER_MIN = 1, /**< NaN if either is; not for complex numbers */
	KZ_SCATTER_MAX = 2
} kz_scatter_op;

/** How to scatter.  Initialize with KZ_SCATTER_OPTIONS_INIT. */
typedef struct kz_scatter_options {
	size_t size;        /**< sizeof(kz_scatter_options) */
	int64_t axis;       /**< from 0, or negative from the end */
	kz_index_mode mode; /**< what happens to an index that is out of range */
	int32_t unordered;  /**< nonzero: sums of floats may be added in any order, which GPUs do
	                         faster; then they may differ from run to run */
	kz_stream *stream;  /**< NULL: the device's default stream */
	void *reserved[3];
} kz_scatter_options;

#ifdef __cplusplus
#define KZ_SCATTER_OPTIONS_INIT kz_sized_init<kz_scatter_options>()
#else
#define KZ_SCATTER_OPTIONS_INIT {.size = sizeof(kz_scatter_options)}
#endif

/**
 * Combine elements, or slices, of an array with values: numpy's add.at, minimum.at and maximum.at.
 *
 * Every value counts, also where an index occurs more than once.  An element is combined with its
 * values one after the other, in the order of the indexes, so the result has the same bits each
 * time and on every device.
 *
 * @param array any array or view whose elements share no memory; not a struct.  A 0-d array counts
 *        as one of shape (1,).
 * @param indexes integers of any shape.
 * @param values of the shape that kz_array_take gives for these indexes: the array's, with the axis
 *        replaced by the extents of `indexes`; or what broadcasts to it.  Their dtype must be able
 *        to go into the array's kind.
 * @param options NULL for the defaults: axis 0, indexes are checked.
 * @return as kz_array_put; KZ_RANGE also for an axis that the array does not have, KZ_INVALID also
 *         for values that do not broadcast, and extremes of complex numbers.
 * Async: with KZ_INDEX_CHECK waits for the indexes, so in a capture it is KZ_STATE.
 */
KZ_API KZ_NODISCARD kz_status kz_array_scatter(kz_array *array, kz_array *indexes, kz_array *values,
	kz_scatter_op op, const kz_scatter_options *options, kz_error *err);

/**
 * Find the elements that are not zero (or not False): numpy's nonzero.
 *
 * @param out set to an int64 array of shape (ndim, count).  Row i has the indexes along axis i; the
 *        columns are in row-major order.  A 0-d array counts as an array of shape (1,).
 * Async: waits for the device, because only the device knows how many there are.
 */
KZ_API KZ_NODISCARD kz_status kz_array_nonzero(kz_array **out, kz_array *array, kz_error *err);

/**
 * Find the elements that are not zero in a stream; as kz_array_nonzero.
 *
 * Async: waits for the stream.
 */
KZ_API KZ_NODISCARD kz_status kz_array_nonzero_on(kz_array **out, kz_array *array,
	kz_stream *stream, kz_error *err);

/**
 * Keep the elements where a mask is not zero, as a 1-d array: numpy's array[mask].
 *
 * @param mask of the array's shape and any built-in dtype.
 * Async: waits for the device.
 */
KZ_API KZ_NODISCARD kz_status kz_array_compress(kz_array **out, kz_array *array, kz_array *mask,
	kz_error *err);

/**
 * Keep the elements where a mask is not zero, in a stream; as kz_array_compress.
 *
 * Async: waits for the stream.
 */
KZ_API KZ_NODISCARD kz_status kz_array_compress_on(kz_array **out, kz_array *array, kz_array *mask,
	kz_stream *stream, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
