/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_REDUCE_H
#define KUDZU_REDUCE_H

/*
 * Reductions: sums, extremes, means over some axes of an array, as in numpy.
 *
 *	kz_array *means = NULL;
 *	double total;
 *	if (kz_sum_get(&total, a, &err)                   (of all elements, to the host)
 *	    || kz_mean(&means, a, KZ_AXES(0), &err)) {    (of each column)
 *		kz_error_print(&err, stderr);
 *	}
 *
 * Elements are combined in fixed trees that depend only on shapes and strides, so the result has
 * the same bits in every run and on every device.  Rounding errors are at most those of numpy's
 * pairwise sums.  float16 and bfloat16 are added as float32 and rounded once.
 *
 * Without elements the sum is 0, the product 1, any 0, all 1, a mean or variance NaN.  An extreme
 * without elements is KZ_INVALID.
 */
#include <kudzu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A reduction.  The numbers never change. */
typedef enum kz_reduce_op {
	KZ_REDUCE_SUM = 1,            /**< integers and bool: int64 or uint64, which wrap */
	KZ_REDUCE_PROD = 2,
	KZ_REDUCE_MIN = 3,            /**< NaN if any element is; not for complex numbers */
	KZ_REDUCE_MAX = 4,
	KZ_REDUCE_ARGMIN = 5,         /**< int64: the row-major index, among the elements that are
	                                   reduced, of the first NaN, else of the first smallest */
	KZ_REDUCE_ARGMAX = 6,
	KZ_REDUCE_ANY = 7,            /**< bool; NaN counts as true */
	KZ_REDUCE_ALL = 8,
	KZ_REDUCE_MEAN = 9,           /**< of integers: float64 */
	KZ_REDUCE_VAR = 10,           /**< mean of |x - mean|^2, in two passes; real */
	KZ_REDUCE_STD = 11,           /**< its square root */
	KZ_REDUCE_NORM = 12,          /**< square root of the sum of |x|^2; real */
	KZ_REDUCE_COUNT_NONZERO = 13, /**< int64 */
	KZ_REDUCE_NANSUM = 14,        /**< NaN counts as 0 */
	KZ_REDUCE_NANPROD = 15,       /**< NaN counts as 1 */
	KZ_REDUCE_NANMIN = 16,        /**< ignores NaN, unless all elements are NaN */
	KZ_REDUCE_NANMAX = 17
} kz_reduce_op;

/** How to reduce.  Initialize with KZ_REDUCE_OPTIONS_INIT. */
typedef struct kz_reduce_options {
	size_t size;        /**< sizeof(kz_reduce_options) */
	kz_array *into;     /**< the array for the result; NULL: a new one.  Its shape must be the
	                         result's, and its dtype must be able to hold the result's kind */
	kz_stream *stream;  /**< NULL: the device's default stream */
	kz_dtype dtype;     /**< of the result; elements are converted to it first.  0: by the
	                         rules.  Not for extremes, any, all, counts */
	int32_t keepdims;   /**< 1: reduced axes stay, with extent 1 */
	double ddof;        /**< variances divide by the number of elements minus this */
	void *reserved[4];
} kz_reduce_options;

#ifdef __cplusplus
#define KZ_REDUCE_OPTIONS_INIT kz_sized_init<kz_reduce_options>()
#else
#define KZ_REDUCE_OPTIONS_INIT {.size = sizeof(kz_reduce_options)}
#endif

/**
 * Reduce an array along axes.
 *
 * @param out set to the result, NULL on failure.  If the options have `into`, it is set to that
 *        array with one more reference, and may be NULL.
 * @param array of any strides.
 * @param axes KZ_AXES(0, -1), KZ_ALL_AXES for a 0-d result, KZ_AXES() for none.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_RANGE for an axis that the array does not have; KZ_INVALID for an axis that is
 *         named twice, a dtype that the reduction does not accept, extremes of no elements, and
 *         `into` or a stream that do not fit; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.  You may release the array at once.
 */
KZ_API KZ_NODISCARD kz_status kz_reduce(kz_array **out, kz_reduce_op op, kz_array *array,
	kz_axes axes, const kz_reduce_options *options, kz_error *err);

/**
 * Reduce all elements to one number of a C type in host memory.
 *
 * On a GPU this takes less time than kz_reduce and kz_array_get: the kernel writes to pinned
 * memory, and no copy follows.
 *
 * @param out set to the result; unchanged on failure.
 * @param dtype of the number at `out`: that of the result, or a wider one of the same kind (signed,
 *        unsigned, float, complex), as float64 for a result of float32 or float16.
 * @param array of any strides and shape.
 * @param options NULL for the defaults; without `into`.
 * @return KZ_OK; KZ_INVALID for another dtype, with both; else as kz_reduce.
 * Async: waits for the result.
 */
KZ_API KZ_NODISCARD kz_status kz_reduce_get_as(void *out, kz_dtype dtype, kz_reduce_op op,
	kz_array *array, const kz_reduce_options *options, kz_error *err);

/** Return the name of a reduction, "sum"; NULL for any other number.  Static. */
KZ_API const char *kz_reduce_name(kz_reduce_op op);

#ifdef __cplusplus
}
#endif

/* The reductions by name: kz_sum(&out, a, KZ_AXES(1), &err) */
#define kz_sum(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_SUM, (array), (axes), NULL, (err))
#define kz_prod(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_PROD, (array), (axes), NULL, (err))
#define kz_min(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_MIN, (array), (axes), NULL, (err))
#define kz_max(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_MAX, (array), (axes), NULL, (err))
#define kz_argmin(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_ARGMIN, (array), (axes), NULL, (err))
#define kz_argmax(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_ARGMAX, (array), (axes), NULL, (err))
#define kz_any(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_ANY, (array), (axes), NULL, (err))
#define kz_all(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_ALL, (array), (axes), NULL, (err))
#define kz_mean(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_MEAN, (array), (axes), NULL, (err))
#define kz_var(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_VAR, (array), (axes), NULL, (err))
#define kz_std(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_STD, (array), (axes), NULL, (err))
#define kz_norm(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_NORM, (array), (axes), NULL, (err))
#define kz_count_nonzero(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_COUNT_NONZERO, (array), (axes), NULL, (err))
#define kz_nansum(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_NANSUM, (array), (axes), NULL, (err))
#define kz_nanprod(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_NANPROD, (array), (axes), NULL, (err))
#define kz_nanmin(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_NANMIN, (array), (axes), NULL, (err))
#define kz_nanmax(out, array, axes, err) \
	kz_reduce((out), KZ_REDUCE_NANMAX, (array), (axes), NULL, (err))

#ifndef __cplusplus
/* All elements to one number of the program's, whose C type is that of the result, or a wider one
 * of its kind: double r; kz_sum_get(&r, a, &err).  A complex number is a float _Complex or a double
 * _Complex, a bool a _Bool. */
#define kz_sum_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_SUM, (array), NULL, (err))
#define kz_prod_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_PROD, (array), NULL, (err))
#define kz_min_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_MIN, (array), NULL, (err))
#define kz_max_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_MAX, (array), NULL, (err))
#define kz_argmin_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_ARGMIN, (array), NULL, (err))
#define kz_argmax_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_ARGMAX, (array), NULL, (err))
#define kz_any_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_ANY, (array), NULL, (err))
#define kz_all_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_ALL, (array), NULL, (err))
#define kz_mean_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_MEAN, (array), NULL, (err))
#define kz_var_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_VAR, (array), NULL, (err))
#define kz_std_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_STD, (array), NULL, (err))
#define kz_norm_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_NORM, (array), NULL, (err))
#define kz_count_nonzero_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_COUNT_NONZERO, (array), NULL, (err))
#define kz_nansum_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_NANSUM, (array), NULL, (err))
#define kz_nanprod_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_NANPROD, (array), NULL, (err))
#define kz_nanmin_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_NANMIN, (array), NULL, (err))
#define kz_nanmax_get(out, array, err) \
	kz_reduce_get_as((out), KZ_PP_DTYPE_AT(out), KZ_REDUCE_NANMAX, (array), NULL, (err))
#endif

#endif
