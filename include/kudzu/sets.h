/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_SETS_H
#define KUDZU_SETS_H

/*
 * The different elements of arrays, and sets of them: numpy's unique, isin, union1d, intersect1d
 * and setdiff1d.
 *
 *	if (kz_unique(&values, NULL, NULL, &counts, a, NULL, &err)
 *	    || kz_isin(&mask, a, values, 0, NULL, &err)
 *	    || kz_setdiff1d(&rest, a, b, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * Arrays are of any built-in dtype, shape and strides.  The order is that of kz_sort.
 *
 * Ownership: release the results with kz_array_release.
 */
#include <kudzu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where to compute.  Initialize with KZ_SET_OPTIONS_INIT. */
typedef struct kz_set_options {
	size_t size;        /**< sizeof(kz_set_options) */
	kz_stream *stream;  /**< NULL: the device's default stream */
	void *reserved[3];
} kz_set_options;

#ifdef __cplusplus
#define KZ_SET_OPTIONS_INIT kz_sized_init<kz_set_options>()
#else
#define KZ_SET_OPTIONS_INIT {.size = sizeof(kz_set_options)}
#endif

/**
 * Find the different elements of an array: numpy.unique.
 *
 * Give NULL for a result that you do not want.  All NaN count as one element.
 *
 * @param values set to the elements in ascending order, 1-d; all results are NULL on failure.
 * @param index set to where each of them comes first in the flat array, int64.
 * @param inverse set to the number of each element among the values, int64 of the array's shape.
 * @param counts set to how often each of them occurs, int64.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for a struct, which has no order, for options or a stream that do not
 *         fit; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Async: waits for the array, so in a capture it is KZ_STATE.
 */
KZ_API KZ_NODISCARD kz_status kz_unique(kz_array **values, kz_array **index, kz_array **inverse,
	kz_array **counts, kz_array *array, const kz_set_options *options, kz_error *err);

/**
 * Find out which elements are among others: numpy.isin.
 *
 * Both arrays first become their common type (kz_dtype_promote).  A NaN is among nothing.
 *
 * @param out set to bool of the array's shape; NULL on failure.
 * @param among of any shape.
 * @param invert nonzero: which are not.
 * @return as kz_unique; KZ_INVALID also for arrays on two devices.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_isin(kz_array **out, kz_array *array, kz_array *among, int invert,
	const kz_set_options *options, kz_error *err);

/**
 * Find the different elements of two arrays: numpy.union1d.
 *
 * @param out set to the elements in ascending order, 1-d, of the common type; NULL on failure.
 * @return as kz_unique; KZ_INVALID also for arrays on two devices.
 * Async: waits for the arrays, so in a capture it is KZ_STATE.
 */
KZ_API KZ_NODISCARD kz_status kz_union1d(kz_array **out, kz_array *a, kz_array *b,
	const kz_set_options *options, kz_error *err);

/** Find the different elements of `a` that are in `b`, too, of a's type; as kz_union1d. */
KZ_API KZ_NODISCARD kz_status kz_intersect1d(kz_array **out, kz_array *a, kz_array *b,
	const kz_set_options *options, kz_error *err);

/** Find the different elements of `a` that are not in `b`, of a's type; as kz_union1d. */
KZ_API KZ_NODISCARD kz_status kz_setdiff1d(kz_array **out, kz_array *a, kz_array *b,
	const kz_set_options *options, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
