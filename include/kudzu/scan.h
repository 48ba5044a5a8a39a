/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_SCAN_H
#define KUDZU_SCAN_H

/*
 * Running sums and other scans along an axis, and differences of neighbours.
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
	int64_t axis;       /**< from 0, or negative from the end; the macro sets -1, the last */
	int32_t exclusive;  /**< nonzero: element i combines all elements before it; the first one
	                         is the neutral element */
	kz_dtype dtype;     /**< of the computation and the result; 0: the array's */
	kz_stream *stream;  /**< NULL: the device's default stream */
	kz_array *into;     /**< the array for the result; NULL: a new one.  It has the shape of the
	                         one that is scanned, and may be that one.  Its dtype must be able
	                         to hold the result's kind */
	const char *preamble; /**< CUDA C before the operation: structs, functions; NULL: none */
	void *reserved[2];
} kz_scan_options;

#ifdef __cplusplus
#define KZ_SCAN_OPTIONS_INIT kz_scan_options{sizeof(kz_scan_options), -1, 0, 0, nullptr, nullptr, \
	nullptr, {}}
#else
#define KZ_PP_DEFAULTS_kz_scan_options .size = sizeof(kz_scan_options), .axis = -1
#define KZ_SCAN_OPTIONS_INIT {KZ_PP_DEFAULTS_kz_scan_options}
#endif

/**
 * Scan an array along an axis: PyCUDA's InclusiveScanKernel and ExclusiveScanKernel.
 *
 * Elements are combined in a fixed order, so the result has the same bits on every device.  There
 * are segments of 16 elements, groups of 16 segments, and chunks of 16 groups.  Each of these is
 * scanned from its own beginning, and combined with the result of everything before it.  Halves
 * are scanned as float32 and rounded at the end.  An array of a struct that kz_dtype_register knows
 * is scanned, too; the preamble declares the struct under its name.
 *
 * @param out set to the result, which is row-major; NULL on failure.  If the options have `into`,
 *        it is set to that array with one more reference, and may be NULL.
 * @param operation an expression in CUDA C that combines `a`, the result so far, and `b`: "a +
 *        b".  It must be associative.
 * @param neutral an expression for the neutral element: "0".
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_RANGE for an axis that does not exist; KZ_INVALID for a struct without a
 *         preamble or with more than 128 bytes, and for `into` or a stream that do not fit;
 *         KZ_COMPILE for a text that does not compile, with the place in it; KZ_DEVICE_MEMORY.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_scan(kz_array **out, kz_array *array, const char *operation,
	const char *neutral, const kz_scan_options *options, kz_error *err);

/**
 * Compute running sums along an axis; of small integers and bool in int64 or uint64, as in numpy.
 */
KZ_API KZ_NODISCARD kz_status kz_cumsum(kz_array **out, kz_array *array, int64_t axis,
	kz_error *err);

/** Compute running sums in a stream; as kz_cumsum. */
KZ_API KZ_NODISCARD kz_status kz_cumsum_on(kz_array **out, kz_array *array, int64_t axis,
	kz_stream *stream, kz_error *err);

/** Compute running products along an axis; as kz_cumsum. */
KZ_API KZ_NODISCARD kz_status kz_cumprod(kz_array **out, kz_array *array, int64_t axis,
	kz_error *err);

/** Compute running products in a stream; as kz_cumsum. */
KZ_API KZ_NODISCARD kz_status kz_cumprod_on(kz_array **out, kz_array *array, int64_t axis,
	kz_stream *stream, kz_error *err);

/**
 * Compute differences of neighbours along an axis, a[i + 1] - a[i]: numpy's diff.
 *
 * Differences of bool are bool, and say whether two neighbours differ.  Unsigned integers wrap.
 *
 * @param n how many times: the differences of the differences ...; 0 copies.  Each time takes one
 *        element of the axis, down to none.
 * @param axis from 0, or negative from the end.
 * @param options NULL for the defaults: an array to write into, a stream, a dtype.
 * @return KZ_OK; KZ_RANGE for an axis that the array does not have; KZ_INVALID for n below 0, for a
 *         struct, and for `into` or a stream that do not fit; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_diff(kz_array **out, kz_array *array, int64_t n, int64_t axis,
	const kz_op_options *options, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
