/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_NETWORK_H
#define KUDZU_NETWORK_H

/*
 * Parts of networks that classify, for programs that write their own training step.
 *
 *	kz_array *loss = NULL, *gradient = NULL, *odds = NULL;
 *	if (kz_cross_entropy(&loss, &gradient, scores, classes, NULL, &err)
 *	    || kz_softmax(&odds, scores, -1, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * scores has a row of numbers for each sample, one for each class: a network's last layer.  classes
 * has the number of the right class of each sample.  gradient says how the loss changes with each
 * score; back-propagation starts with it.  take_along_axis is in indexing.h, matrix products in
 * linalg.h, relu, sigmoid and tanh in ops.h.
 *
 * Halves are computed as float32 and rounded once; integers and bool count as float64.
 *
 * Ownership: release the results with kz_array_release.
 */
#include <kudzu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Compute exp(x) / (the sum of exp(x) along an axis): PyTorch's and scipy's softmax.
 *
 * The largest element of each line is subtracted first, so that nothing overflows.  A line with NaN
 * or plus infinity, or of nothing but minus infinity, becomes NaN.  This takes three kernels: the
 * maximum, the sum, the quotient.
 *
 * @param out set to the result, of x's shape; NULL on failure.  If the options have `into`, it is
 *        set to that array with one more reference, and may be NULL.
 * @param x any strides; no complex type.
 * @param axis from 0, or negative from the end.
 * @param options NULL for the defaults; `into` may be x.
 * @return KZ_OK; KZ_RANGE for an axis that x does not have; KZ_INVALID for a dtype that is not
 *         real, and for `into` or a stream that do not fit; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Async: returns before the work is done.  You may release x at once.
 */
KZ_API KZ_NODISCARD kz_status kz_softmax(kz_array **out, kz_array *x, int64_t axis,
	const kz_op_options *options, kz_error *err);

/** Compute the logarithm of kz_softmax without its rounding: x - log(sum of exp(x)). */
KZ_API KZ_NODISCARD kz_status kz_log_softmax(kz_array **out, kz_array *x, int64_t axis,
	const kz_op_options *options, kz_error *err);

/**
 * Make a row for each class number, with a one in its place and zeros elsewhere: PyTorch's one_hot.
 *
 * @param out set to the result, of the shape of `classes` and one extent more, `count`.
 * @param classes integers of any shape, from 0 to before `count`.
 * @param count the number of classes.
 * @param options NULL for the defaults: a new array of float32.  The result has their dtype, else
 *        that of `into`.
 * @return KZ_OK; KZ_RANGE for a class that is out of range, the first of which the message names;
 *         KZ_INVALID for classes that are not integers, a count below 0, and `into` or a stream
 *         that do not fit; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Async: waits for the classes, to check them.
 */
KZ_API KZ_NODISCARD kz_status kz_one_hot(kz_array **out, kz_array *classes, int64_t count,
	const kz_op_options *options, kz_error *err);

/** How to compute a loss.  Initialize with KZ_CROSS_ENTROPY_OPTIONS_INIT. */
typedef struct kz_cross_entropy_options {
	size_t size;             /**< sizeof(kz_cross_entropy_options) */
	kz_array *loss_into;     /**< the array for the loss, 0-d; NULL: a new one */
	kz_array *gradient_into; /**< the array for the gradient, of the scores' shape; it may be
	                              the scores.  NULL: a new one */
	kz_stream *stream;       /**< NULL: the device's default stream */
	int32_t unchecked;       /**< 1: do not check the classes, so that the call does not wait,
	                              and a graph can capture it.  A class out of range makes the
	                              loss and its row of the gradient NaN */
	int32_t reserved_int;
	void *reserved[4];
} kz_cross_entropy_options;

#ifdef __cplusplus
#define KZ_CROSS_ENTROPY_OPTIONS_INIT kz_sized_init<kz_cross_entropy_options>()
#else
#define KZ_CROSS_ENTROPY_OPTIONS_INIT {.size = sizeof(kz_cross_entropy_options)}
#endif

/**
 * Compute the mean of -log_softmax(scores)[class] over all samples, and how it changes with each
 * score: PyTorch's cross_entropy, with the reduction "mean", and its backward.
 *
 * The gradient is (softmax(scores) - one_hot(classes)) / n for n samples.  The mean of no samples
 * is NaN.
 *
 * @param loss set to the mean, 0-d, of the scores' dtype; NULL on failure.  NULL if it is not
 *        wanted.
 * @param gradient set to the gradient, of the scores' shape and dtype; NULL on failure.  NULL if it
 *        is not wanted.  Of both, with those that the options have, there is at least one.
 * @param scores (..., count) for `count` classes; no complex type.
 * @param classes integers, of the scores' shape without its last extent, from 0 to before `count`.
 * @return KZ_OK; KZ_RANGE for a class that is out of range, with the first of them; KZ_INVALID for
 *         shapes that do not fit, with both, for dtypes, devices, and arrays of the options or a
 *         stream that do not fit; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Async: waits for the classes, to check them, unless the options have `unchecked`; not for the
 * results.
 */
KZ_API KZ_NODISCARD kz_status kz_cross_entropy(kz_array **loss, kz_array **gradient,
	kz_array *scores, kz_array *classes, const kz_cross_entropy_options *options,
	kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
