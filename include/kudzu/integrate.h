/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_INTEGRATE_H
#define KUDZU_INTEGRATE_H

/*
 * Integrals of samples, by the trapezoidal rule and by Simpson's.
 *
 *	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
 *	kz_array *rows = NULL;
 *	double area;
 *	options.dx = 0.001;
 *	if (kz_trapz_get(&area, y, &options, &err)         (of a 1-d y, to the host)
 *	    || kz_trapz(&rows, z, &options, &err)) {       (of each row of a matrix)
 *		kz_error_print(&err, stderr);
 *	}
 *
 * The samples are of any strides.  The computation and the result have the samples' type, or, with
 * sample points x, the common type (kz_dtype_promote); integers and bool count as float64.  Terms
 * are added as kz_sum adds elements: in fixed trees, halves as float32 and rounded once.  Nothing
 * is compiled for a size, and no array of weights is made.
 */
#include <kudzu/reduce.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What Simpson's rule does where an even number of samples leaves one interval over: that interval
 * gets the trapezoidal rule. */
typedef enum kz_simps_even {
	KZ_SIMPS_AVG = 0,   /**< the mean of the two below */
	KZ_SIMPS_FIRST = 1, /**< Simpson's rule for the first intervals, trapezoidal for the last
	                         one */
	KZ_SIMPS_LAST = 2   /**< Simpson's rule for the last intervals, trapezoidal for the first
	                         one */
} kz_simps_even;

/** How to integrate.  Initialize with KZ_INTEGRATE_OPTIONS_INIT. */
typedef struct kz_integrate_options {
	size_t size;          /**< sizeof(kz_integrate_options) */
	kz_array *into;       /**< the array for the result; NULL: a new one.  Its shape must be the
	                           result's, and its dtype must be able to hold the result's kind */
	kz_stream *stream;    /**< NULL: the device's default stream */
	kz_array *x;          /**< the points of the samples: 1-d, one for each sample along the
	                           axis, or of the samples' shape.  NULL: they are dx apart */
	double dx;            /**< the distance of the samples; the macro sets 1 */
	double dy;            /**< for two axes: the distance along the first of them; 1 */
	int64_t axis;         /**< from 0, or negative from the end; the macro sets -1, the last */
	kz_dtype dtype;       /**< of the computation and the result, a float or complex type; 0: by
	                           the rules */
	int32_t even;         /**< kz_simps_even */
	int32_t with_initial; /**< cumulative: 1 puts `initial` before the first result */
	int32_t reserved_int;
	double initial;       /**< the value at the first sample, mostly 0 */
	void *reserved[4];
} kz_integrate_options;

#ifdef __cplusplus
#define KZ_INTEGRATE_OPTIONS_INIT kz_integrate_options{sizeof(kz_integrate_options), nullptr, \
	nullptr, nullptr, 1, 1, -1, 0, 0, 0, 0, 0, {}}
#else
#define KZ_PP_DEFAULTS_kz_integrate_options \
	.size = sizeof(kz_integrate_options), .dx = 1, .dy = 1, .axis = -1
#define KZ_INTEGRATE_OPTIONS_INIT {KZ_PP_DEFAULTS_kz_integrate_options}
#endif

/**
 * Integrate along an axis by the composite trapezoidal rule: numpy's trapezoid, trapz.
 *
 * The sum of (y[i] + y[i + 1]) / 2 * dx, or with points of (y[i] + y[i + 1]) / 2 * (x[i + 1] -
 * x[i]).  It is 0 for fewer than two samples.
 *
 * @param out set to the result, without the axis: 0-d for 1-d samples; NULL on failure.  If the
 *        options have `into`, it is set to that array with one more reference, and may be NULL.
 * @param y samples.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_RANGE for an axis that y does not have; KZ_INVALID for a struct, points whose
 *         shape does not fit, with both shapes, another device, and `into`, a dtype or a stream
 *         that do not fit; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.  You may release the samples at once.
 */
KZ_API KZ_NODISCARD kz_status kz_trapz(kz_array **out, kz_array *y,
	const kz_integrate_options *options, kz_error *err);

/**
 * Integrate along an axis by the composite rule of Simpson: scipy's simpson as it was with `even`,
 * scikit-cuda's simps.
 *
 * The sum over pairs of intervals of (y[i] + 4 y[i + 1] + y[i + 2]) / 3 * dx.  With points each
 * pair has the parabola through its three points; scipy has the formula (Cartwright, Simpson's Rule
 * Cumulative Integration with MS Excel and Irregularly-spaced Data, equation 8).  An odd number of
 * samples has whole pairs.  For an even number the options' `even` says what is done; two samples
 * get the trapezoidal rule.
 *
 * @return as kz_trapz; KZ_INVALID also for an unknown `even`.
 */
KZ_API KZ_NODISCARD kz_status kz_simps(kz_array **out, kz_array *y,
	const kz_integrate_options *options, kz_error *err);

/**
 * Integrate along the last two axes by the trapezoidal rule: scikit-cuda's trapz2d.
 *
 * Samples at corners have the weight 1/4, others at edges 1/2, all others 1.
 *
 * @param z samples, at least 2-d; extents before the last two are batches.
 * @param options dx is the distance along the last axis, dy the one along the axis before it;
 *        without x, and with the axis that the macro sets.
 * @return as kz_trapz; KZ_INVALID also for fewer than two extents, points, or an axis.
 */
KZ_API KZ_NODISCARD kz_status kz_trapz2d(kz_array **out, kz_array *z,
	const kz_integrate_options *options, kz_error *err);

/** Integrate along the last two axes by Simpson's rule; as kz_trapz2d. */
KZ_API KZ_NODISCARD kz_status kz_simps2d(kz_array **out, kz_array *z,
	const kz_integrate_options *options, kz_error *err);

/**
 * Integrate along an axis up to each sample by the trapezoidal rule: scipy's
 * cumulative_trapezoid.
 *
 * The terms of kz_trapz are added in the order of kz_scan.
 *
 * @param out set to the result, whose axis has one element less than y's, or with the options'
 *        `with_initial` as many.
 * @return as kz_trapz; KZ_INVALID also for no samples.
 */
KZ_API KZ_NODISCARD kz_status kz_cumulative_trapezoid(kz_array **out, kz_array *y,
	const kz_integrate_options *options, kz_error *err);

/**
 * Integrate 1-d samples to a number of a C type in host memory, by the trapezoidal rule.
 *
 * The terms are added in the type of the samples; the sum is multiplied by dx in float64.
 *
 * @param out set to the integral; unchanged on failure.
 * @param dtype of the number at `out`: float64, or of complex samples complex128.
 * @param y samples, 1-d, or of any shape with one result.
 * @param options NULL for the defaults; without `into`.
 * @return as kz_trapz; KZ_INVALID also for another dtype, with both, and for more than one result.
 * Async: waits for the result.
 */
KZ_API KZ_NODISCARD kz_status kz_trapz_get_as(void *out, kz_dtype dtype, kz_array *y,
	const kz_integrate_options *options, kz_error *err);

/** Integrate to a number in host memory by Simpson's rule; as kz_trapz_get_as and kz_simps. */
KZ_API KZ_NODISCARD kz_status kz_simps_get_as(void *out, kz_dtype dtype, kz_array *y,
	const kz_integrate_options *options, kz_error *err);

/** Integrate a matrix to a number in host memory; as kz_trapz_get_as and kz_trapz2d. */
KZ_API KZ_NODISCARD kz_status kz_trapz2d_get_as(void *out, kz_dtype dtype, kz_array *z,
	const kz_integrate_options *options, kz_error *err);

/** Integrate a matrix to a number in host memory; as kz_trapz_get_as and kz_simps2d. */
KZ_API KZ_NODISCARD kz_status kz_simps2d_get_as(void *out, kz_dtype dtype, kz_array *z,
	const kz_integrate_options *options, kz_error *err);

#ifdef __cplusplus
}
#else
/** Integrate to a number of the program's, by its C type: kz_trapz_get(&r, y, NULL, &err). */
#define kz_trapz_get(out, y, options, err) \
	kz_trapz_get_as((out), KZ_PP_DTYPE_AT(out), (y), (options), (err))
/** Integrate by Simpson's rule to a number of the program's, by its C type. */
#define kz_simps_get(out, y, options, err) \
	kz_simps_get_as((out), KZ_PP_DTYPE_AT(out), (y), (options), (err))
/** Integrate a matrix to a number of the program's, by its C type. */
#define kz_trapz2d_get(out, z, options, err) \
	kz_trapz2d_get_as((out), KZ_PP_DTYPE_AT(out), (z), (options), (err))
/** Integrate a matrix by Simpson's rule to a number of the program's, by its C type. */
#define kz_simps2d_get(out, z, options, err) \
	kz_simps2d_get_as((out), KZ_PP_DTYPE_AT(out), (z), (options), (err))
#endif

#endif
