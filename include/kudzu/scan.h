/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_SCAN_H
#define KUDZU_SCAN_H

/*
 * Running sums and other scans along an axis.
 *
 *	if (kz_cumsum(&sums, a, -1, &err)
 *	    || kz_scan(&highest, a, "a > b ? a : b", "-INFINITY", NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 */
#include <kudzu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How to scan.  Initialize with KZ_SCAN_OPTIONS_INIT. */
typedef struct kz_scan_options {
	size_t size;        /**< sizeof(kz_scan_options) */
	int64_t axis;       /**< from 0, or negative from the end; the macro says -1, the last */
	int32_t exclusive;  /**< nonzero: element i holds all before it, the first one the neutral element */
	kz_dtype dtype;     /**< in which the scan runs and what it gives; 0: the array's */
	kz_stream *stream;  /**< NULL: the device's default stream */
	void *reserved[4];
} kz_scan_options;

#ifdef __cplusplus
#define KZ_SCAN_OPTIONS_INIT kz_scan_options{sizeof(kz_scan_options), -1, 0, 0, nullptr, {}}
#else
#define KZ_SCAN_OPTIONS_INIT {.size = sizeof(kz_scan_options), .axis = -1}
#endif

/**
 * Scan an array along an axis: PyCUDA's InclusiveScanKernel and ExclusiveScanKernel.
 *
 * Elements are combined in a fixed order, so that the result has the same bits on every device:
 * segments of 16 elements, groups of 16 segments, chunks of 16 groups, each from its own beginning
 * on, behind what comes before it.  Halves are scanned as float32 and rounded at the end.
 *
 * @param operation CUDA C of two values `a` (of what comes before) and `b`, which must be associative:
 *        "a + b".
 * @param neutral CUDA C of the value that changes nothing: "0".
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_RANGE for an axis that is none; KZ_INVALID for a struct; KZ_COMPILE for an operation
 *         that does not compile, with the place in it; KZ_DEVICE_MEMORY.
 * Ownership: give the result, row-major, back with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_scan(kz_array **out, kz_array *array, const char *operation,
	const char *neutral, const kz_scan_options *options, kz_error *err);

/** Sum up along an axis; small integers and bool as int64 or uint64, as numpy does. */
KZ_API KZ_NODISCARD kz_status kz_cumsum(kz_array **out, kz_array *array, int64_t axis,
	kz_error *err);

/** Multiply up along an axis; as kz_cumsum. */
KZ_API KZ_NODISCARD kz_status kz_cumprod(kz_array **out, kz_array *array, int64_t axis,
	kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
