/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_SEARCH_H
#define KUDZU_SEARCH_H

/*
 * Places among sorted elements: numpy's searchsorted and digitize.
 *
 *	if (kz_searchsorted(&places, sorted, values, NULL, &err)
 *	    || kz_digitize(&bins, values, edges, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * Arrays are of any built-in dtype and any strides.  Elements are in numpy's order: NaN comes
 * after all numbers, and complex numbers go by their real parts first.
 *
 * Ownership: release the results with kz_array_release.
 */
#include <kudzu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How to search.  Initialize with KZ_SEARCH_OPTIONS_INIT. */
typedef struct kz_search_options {
	size_t size;        /**< sizeof(kz_search_options) */
	int32_t right;      /**< kz_searchsorted: nonzero for places after equal elements, numpy's
	                         side='right'.  kz_digitize: nonzero for bins that have their upper
	                         edge, numpy's right=True */
	kz_array *sorter;   /**< kz_searchsorted: integers that put the elements in order; NULL if
	                         they are in order.  kz_digitize: NULL */
	kz_stream *stream;  /**< NULL: the device's default stream */
	void *reserved[3];
} kz_search_options;

#ifdef __cplusplus
#define KZ_SEARCH_OPTIONS_INIT kz_sized_init<kz_search_options>()
#else
#define KZ_SEARCH_OPTIONS_INIT {.size = sizeof(kz_search_options)}
#endif

/**
 * Find where values would go in a sorted array: numpy.searchsorted.
 *
 * The place of a value is how many elements are below it (with `right`: not above it).  Both arrays
 * first become their common type (kz_dtype_promote).
 *
 * @param out set to int64 of the values' shape, row-major; NULL on failure.
 * @param sorted 1-d, in ascending order, or in that order by the options' `sorter`.  The call does
 *        not check the order; without it the places are some numbers from 0 to the count of
 *        elements.
 * @param values of any shape.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for an array that is not 1-d, for structs, for a sorter of another
 *         length or of no integers, for arrays on two devices and for a stream of another one;
 *         KZ_RANGE for an index of the sorter that is out of range; KZ_DEVICE_MEMORY;
 *         KZ_NO_COMPILER.
 * Async: returns before the work is done.  With a sorter it waits for that.
 */
KZ_API KZ_NODISCARD kz_status kz_searchsorted(kz_array **out, kz_array *sorted, kz_array *values,
	const kz_search_options *options, kz_error *err);

/**
 * Number the bins that values fall into: numpy.digitize.
 *
 * Bin i is from bins[i - 1] to before bins[i] if the edges ascend, and from before bins[i - 1] down
 * to bins[i] if they descend.  With `right` the bins have their other edge.  0 and the count of
 * edges are beyond the ends.
 *
 * @param out set to int64 of the array's shape, row-major; NULL on failure.
 * @param array of any shape; not complex.
 * @param bins the edges, 1-d, ascending or descending; neighbours may be equal.
 * @param options NULL for the defaults.
 * @return as kz_searchsorted; KZ_INVALID also for edges in no order.  The message names the first
 *         neighbours that ascend and the first that descend.
 * Async: waits for the edges, so in a capture it is KZ_STATE.
 */
KZ_API KZ_NODISCARD kz_status kz_digitize(kz_array **out, kz_array *array, kz_array *bins,
	const kz_search_options *options, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
