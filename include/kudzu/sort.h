/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_SORT_H
#define KUDZU_SORT_H

/*
 * Sorting along an axis.
 *
 *	if (kz_sort(&sorted, a, -1, NULL, &err)
 *	    || kz_argsort(&order, a, -1, NULL, &err)
 *	    || kz_sort_by_key(&keys, &values, a, b, -1, NULL, &err)
 *	    || kz_sort_compare(&points, p, "a.x < b.x", -1, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * The order is numpy's: NaN comes last, -0 and 0 are equal, and complex numbers are ordered by
 * their real parts and then by their imaginary parts.  Every sort is stable: equal elements keep
 * their order.  A sort does not wait for the device, and a graph can capture it.
 */
#include <kudzu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How to sort.  Initialize with KZ_SORT_OPTIONS_INIT. */
typedef struct kz_sort_options {
	size_t size;        /**< sizeof(kz_sort_options) */
	kz_stream *stream;  /**< NULL: the device's default stream */
	int32_t descending; /**< nonzero: the largest element first.  NaN comes first, and equal
	                         elements keep their order */
	int32_t reserved_number; /**< 0 */
	const char *preamble; /**< CUDA C before a comparison: includes, functions, the struct; or
	                           NULL */
	void *reserved[4];
} kz_sort_options;

#ifdef __cplusplus
#define KZ_SORT_OPTIONS_INIT kz_sized_init<kz_sort_options>()
#else
#define KZ_SORT_OPTIONS_INIT {.size = sizeof(kz_sort_options)}
#endif

/**
 * Sort an array along an axis: numpy's sort with kind='stable'.
 *
 * It is a radix sort with digits of 8 bits, which skips the digits that all elements of a row
 * share.
 *
 * @param out set to the sorted copy, which is row-major; NULL on failure.
 * @param array of any built-in dtype, shape and strides.  A 0-d array counts as an array of one
 *        element.
 * @param axis from 0, or negative from the end.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_RANGE for an axis that does not exist; KZ_INVALID for a struct, which has no
 *         order of its own, and for options or a stream that do not fit; KZ_DEVICE_MEMORY.
 * Ownership: release the result with kz_array_release, as all results below.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_sort(kz_array **out, kz_array *array, int64_t axis,
	const kz_sort_options *options, kz_error *err);

/**
 * Find the indexes that sort an array along an axis: numpy's argsort with kind='stable'.
 *
 * @param out set to an int64 array of the array's shape.
 * @return as kz_sort.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_argsort(kz_array **out, kz_array *array, int64_t axis,
	const kz_sort_options *options, kz_error *err);

/**
 * Sort keys along an axis, and values with them.
 *
 * @param keys_out set to the sorted keys; NULL if nobody wants them.
 * @param values_out set to the values in the order of their keys.
 * @param keys as the array of kz_sort.
 * @param values of any dtype, structs too, and of the keys' shape and device.
 * @return as kz_sort; KZ_INVALID also for values of another shape or device.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_sort_by_key(kz_array **keys_out, kz_array **values_out,
	kz_array *keys, kz_array *values, int64_t axis, const kz_sort_options *options,
	kz_error *err);

/**
 * Sort an array along an axis by a comparison in CUDA C.
 *
 * It is a merge sort.  The elements of structs are what the preamble declares under the name with
 * which kz_dtype_register was called.  Halves are `__half` and `__nv_bfloat16`, complex numbers
 * `kz_complex<float>` and `kz_complex<double>`.
 *
 * @param out set to the sorted copy, which is row-major; NULL on failure.
 * @param array of any dtype, shape and strides.
 * @param less an expression that says whether the element `a` comes before `b`: "a.x < b.x".  It
 *        must be a strict weak order, else the order of the result is unspecified.
 * @param options NULL for the defaults.  `descending` puts `a` after `b` where `less` says before.
 * @return as kz_sort; KZ_INVALID also for no text; KZ_COMPILE for one that does not compile, with
 *         the place in it.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_sort_compare(kz_array **out, kz_array *array, const char *less,
	int64_t axis, const kz_sort_options *options, kz_error *err);

/**
 * Find the indexes that sort an array by a comparison; as kz_sort_compare.
 *
 * @param out set to an int64 array of the array's shape.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_argsort_compare(kz_array **out, kz_array *array, const char *less,
	int64_t axis, const kz_sort_options *options, kz_error *err);

/**
 * Find the greatest elements along an axis, or the least: torch.topk.
 *
 * They are the first ones of a stable sort, so of equal elements those with the least indexes.  Of
 * a long axis, unless it is of complex numbers, the last of them is selected, and only they are
 * sorted.
 *
 * @param values set to `count` elements along the axis, the greatest one first (of the least, the
 *        least); NULL if nobody wants them, as the next.  Both are NULL on failure.
 * @param indexes set to where they are along the axis, int64.
 * @param count from 0 to the axis's extent.
 * @param largest nonzero: the greatest.  NaN counts as greater than all numbers.
 * @param options NULL for the defaults; `descending` is ignored.
 * @return as kz_sort; KZ_RANGE also for another count, and for a 0-d array.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_topk(kz_array **values, kz_array **indexes, kz_array *array,
	int64_t count, int64_t axis, int largest, const kz_sort_options *options, kz_error *err);

/**
 * Put at each of some places of an axis the element that it has when the axis is sorted, with no
 * greater element before it and no smaller one after it: numpy.partition.
 *
 * Elements at up to four places of a long axis are selected, and then elements that lie between the
 * same ones keep their order.  Else, and for complex numbers, the axis is sorted.
 *
 * @param out set to the copy, which is row-major; NULL on failure.
 * @param array of any built-in dtype, shape and strides.  A 0-d array counts as an array of one
 *        element.
 * @param kth the places on the host, `count` of them: from 0, or negative from the end.  May be
 *        NULL if there are none.  They are read before the call returns.
 * @param axis from 0, or negative from the end.
 * @param options NULL for the defaults.  `descending` is the order of the sorted axis.
 * @return as kz_sort; KZ_RANGE also for a place outside of the axis, which the message names;
 *         KZ_INVALID also for a negative count.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_partition(kz_array **out, kz_array *array, const int64_t *kth,
	int64_t count, int64_t axis, const kz_sort_options *options, kz_error *err);

/**
 * Find the indexes that partition an array along an axis: numpy.argpartition.
 *
 * They are the indexes of what kz_partition gives for the same arguments.
 *
 * @param out set to an int64 array of the array's shape.
 * @return as kz_partition.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_argpartition(kz_array **out, kz_array *array, const int64_t *kth,
	int64_t count, int64_t axis, const kz_sort_options *options, kz_error *err);

/** What a quantile is that lies between two elements; numpy's names.  The numbers never change. */
typedef enum kz_quantile_method {
	KZ_QUANTILE_LINEAR = 0,   /**< a share of both */
	KZ_QUANTILE_LOWER = 1,    /**< the first */
	KZ_QUANTILE_HIGHER = 2,   /**< the second */
	KZ_QUANTILE_NEAREST = 3,  /**< the nearer one, of two the one with an even place */
	KZ_QUANTILE_MIDPOINT = 4  /**< half of both */
} kz_quantile_method;

/**
 * Find the quantile of the elements along an axis: numpy.quantile.
 *
 * It is the element at place q (n - 1) of n sorted ones.  With a NaN among them it is NaN.  Of a
 * long axis it is selected, without a sort.
 *
 * @param out set to the quantiles, of the array's dtype if that is of floats, else float64; NULL on
 *        failure.
 * @param array real numbers, of any shape and strides.
 * @param q from 0 to 1.
 * @param axes one axis, which the result does not have, or KZ_ALL_AXES for one number.
 * @param options NULL for the defaults; `descending` is ignored.
 * @return as kz_sort; KZ_INVALID also for more axes, for no elements, complex numbers and an
 *         unknown method; KZ_RANGE also for q.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_quantile(kz_array **out, kz_array *array, double q, kz_axes axes,
	kz_quantile_method method, const kz_sort_options *options, kz_error *err);

#ifdef __cplusplus
}
#endif

/** Find the median: kz_median(&out, a, KZ_AXES(1), &err); as kz_quantile. */
#define kz_median(out, array, axes, err) \
	kz_quantile((out), (array), 0.5, (axes), KZ_QUANTILE_LINEAR, NULL, (err))
/** Find a percentile, `percent` from 0 to 100; as kz_quantile. */
#define kz_percentile(out, array, percent, axes, err) \
	kz_quantile((out), (array), (percent) / 100.0, (axes), KZ_QUANTILE_LINEAR, NULL, (err))

#endif
