/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_SEGMENT_H
#define KUDZU_SEGMENT_H

/*
 * Segments of an array, which offsets divide, and runs of equal elements.
 *
 *	if (kz_segment_reduce(&sums, values, offsets, KZ_REDUCE_SUM, NULL, &err)
 *	    || kz_segment_combine(&longest, values, offsets, "a > b ? a : b", "0", NULL, &err)
 *	    || kz_reduce_by_key(&each, &totals, keys, values, KZ_REDUCE_SUM, NULL, &err)
 *	    || kz_run_length_encode(&each, &lengths, keys, NULL, &err)
 *	    || kz_run_length_decode(&again, each, lengths, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * All arrays here are 1-d, of any strides.
 *
 * Ownership: release the results with kz_array_release.
 */
#include <kudzu/reduce.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where to compute.  Initialize with KZ_SEGMENT_OPTIONS_INIT. */
typedef struct kz_segment_options {
	size_t size;        /**< sizeof(kz_segment_options) */
	kz_stream *stream;  /**< NULL: the device's default stream */
	void *reserved[3];
} kz_segment_options;

#ifdef __cplusplus
#define KZ_SEGMENT_OPTIONS_INIT kz_sized_init<kz_segment_options>()
#else
#define KZ_SEGMENT_OPTIONS_INIT {.size = sizeof(kz_segment_options)}
#endif

/**
 * Reduce each segment of an array to one element.
 *
 * Segment i has the elements from offsets[i] to before offsets[i + 1].  They are combined in a
 * fixed order, so the result has the same bits on every device: 32 lanes take every 32nd element,
 * and then a tree combines the lanes.  Halves are combined as float32 and rounded at the end.
 *
 * @param out set to one element for each segment; NULL on failure.  Sums and products of bool and
 *        small integers are int64 or uint64, as in kz_reduce; all else has the array's dtype.
 * @param array no struct.
 * @param offsets integers, at least one, that ascend; neighbours may be equal.
 * @param op KZ_REDUCE_SUM, KZ_REDUCE_PROD, KZ_REDUCE_MIN or KZ_REDUCE_MAX.  A segment without
 *        elements is 0, 1, the greatest value of the type (infinity), or the least.  Extremes are
 *        NaN if an element is, and not for complex numbers.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for arrays that are not 1-d or on two devices, another op, and offsets
 *         that do not ascend (the message names the first); KZ_RANGE for an offset that is negative
 *         or beyond the end, the first of which the message names; KZ_DEVICE_MEMORY;
 *         KZ_NO_COMPILER.
 * Async: waits for the offsets, so in a capture it is KZ_STATE.
 */
KZ_API KZ_NODISCARD kz_status kz_segment_reduce(kz_array **out, kz_array *array, kz_array *offsets,
	kz_reduce_op op, const kz_segment_options *options, kz_error *err);

/**
 * Reduce each segment by an expression; as kz_segment_reduce.
 *
 * @param out set to elements of the array's dtype.
 * @param operation an expression in CUDA C of `a` and `b`: "a > b ? a : b".  It must be associative
 *        and commutative.
 * @param neutral an expression for the neutral element: "0".  It is the result without elements.
 * @return as kz_segment_reduce; KZ_COMPILE for an expression that does not compile, with the place
 *         in it.
 */
KZ_API KZ_NODISCARD kz_status kz_segment_combine(kz_array **out, kz_array *array, kz_array *offsets,
	const char *operation, const char *neutral, const kz_segment_options *options,
	kz_error *err);

/**
 * Reduce the values of each run of equal keys: Thrust's reduce_by_key.
 *
 * Equal keys that are not neighbours are different runs.  A NaN is equal to no key.
 *
 * @param out_keys set to the key of each run; both results are NULL on failure.
 * @param out_values set to what its values are reduced to, as in kz_segment_reduce.
 * @param keys no struct.
 * @param values as many.
 * @return as kz_segment_reduce; KZ_INVALID also for other lengths.
 * Async: waits for the keys, so in a capture it is KZ_STATE.
 */
KZ_API KZ_NODISCARD kz_status kz_reduce_by_key(kz_array **out_keys, kz_array **out_values,
	kz_array *keys,
	kz_array *values, kz_reduce_op op, const kz_segment_options *options, kz_error *err);

/**
 * Find the runs of equal elements: run-length encoding.
 *
 * @param out_values set to the element of each run, of the array's dtype; both results are NULL on
 *        failure.
 * @param out_lengths set to how long it is, int64.
 * @param array no struct.  A NaN is a run of its own.
 * @return as kz_reduce_by_key.
 * Async: waits for the array, so in a capture it is KZ_STATE.
 */
KZ_API KZ_NODISCARD kz_status kz_run_length_encode(kz_array **out_values, kz_array **out_lengths,
	kz_array *array, const kz_segment_options *options, kz_error *err);

/**
 * Repeat each value as often as its length says: numpy.repeat with an array of counts.
 *
 * @param out set to the elements, of the values' dtype; NULL on failure.
 * @param values of any dtype.
 * @param lengths integers, as many.
 * @return KZ_OK; KZ_INVALID for arrays that are not 1-d, of other lengths or on two devices;
 *         KZ_RANGE for a negative length, the first of which the message names; KZ_DEVICE_MEMORY;
 *         KZ_NO_COMPILER.
 * Async: waits for the lengths, so in a capture it is KZ_STATE.
 */
KZ_API KZ_NODISCARD kz_status kz_run_length_decode(kz_array **out, kz_array *values,
	kz_array *lengths, const kz_segment_options *options, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
