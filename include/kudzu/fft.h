/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_FFT_H
#define KUDZU_FFT_H

/*
 * Discrete Fourier transforms along axes of arrays, as in numpy.fft.
 *
 *	kz_array *spectrum = NULL, *back = NULL;
 *	if (kz_fft(&spectrum, signal, KZ_AXES(-1), NULL, &err)
 *	    || kz_ifft(&back, spectrum, KZ_AXES(-1), NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * X[k] = sum of x[j] exp(-2 pi i j k / n), by Stockham's algorithm with radices up to 16 for lengths
 * without primes above 13, by Bluestein's algorithm for others.  float64, complex128 and integers
 * are computed as complex128, all others as complex64.  The error of a result is about that of one
 * rounding times the logarithm of the length.
 *
 * The device keeps what it has computed for a length, so that a second transform only launches
 * kernels.
 */
#include <kudzu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which direction divides by n.  The numbers never change. */
typedef enum kz_fft_norm {
	KZ_FFT_BACKWARD = 0, /**< kz_ifft divides by n */
	KZ_FFT_ORTHO = 1,    /**< both divide by the square root of n */
	KZ_FFT_FORWARD = 2   /**< kz_fft divides by n */
} kz_fft_norm;

/** How to transform.  Initialize with KZ_FFT_OPTIONS_INIT. */
typedef struct kz_fft_options {
	size_t size;        /**< sizeof(kz_fft_options) */
	kz_array *into;     /**< the array for the result; NULL: a new one.  Its shape must be the
	                         result's; its dtype a complex one.  It may be the operand */
	kz_stream *stream;  /**< NULL: the device's default stream */
	kz_shape lengths;   /**< one for each axis, or ndim 0 for those of the array; the array is cut
	                         off at its end, or continued with zeros */
	int32_t norm;       /**< a kz_fft_norm */
	int32_t reserved_int;
	void *reserved[4];
} kz_fft_options;

#ifdef __cplusplus
#define KZ_FFT_OPTIONS_INIT kz_sized_init<kz_fft_options>()
#else
#define KZ_FFT_OPTIONS_INIT {.size = sizeof(kz_fft_options)}
#endif

/**
 * Transform an array along axes: numpy's fftn.
 *
 * @param out set to the result, NULL on failure.  If the options have `into`, it is set to that
 *        array with one more reference, and may be NULL.
 * @param array of any strides and any built-in dtype.
 * @param axes KZ_AXES(-1), KZ_AXES(0, 1), KZ_ALL_AXES; at least one.  The last one is transformed
 *        first.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_RANGE for an axis that the array does not have; KZ_INVALID for an axis that is
 *         named twice, no axis, a length below 1, a norm, a dtype, `into` or a stream that do not
 *         fit; KZ_UNSUPPORTED for a length above 2^62; KZ_DEVICE_MEMORY; KZ_NO_MEMORY; KZ_NO_COMPILER.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.  You may release the array at once.
 */
KZ_API KZ_NODISCARD kz_status kz_fft(kz_array **out, kz_array *array, kz_axes axes,
	const kz_fft_options *options, kz_error *err);

/** Transform back: with exp(+2 pi i j k / n), divided by n; as kz_fft.  numpy's ifftn. */
KZ_API KZ_NODISCARD kz_status kz_ifft(kz_array **out, kz_array *array, kz_axes axes,
	const kz_fft_options *options, kz_error *err);

/**
 * Transform real numbers: as kz_fft, with the first n / 2 + 1 elements of the last axis of the list.
 *
 * The others would be conjugates of these.  numpy's rfftn.
 *
 * @param array of a real dtype.
 * @return as kz_fft; KZ_INVALID also for complex numbers.
 */
KZ_API KZ_NODISCARD kz_status kz_rfft(kz_array **out, kz_array *array, kz_axes axes,
	const kz_fft_options *options, kz_error *err);

/**
 * Transform back to real numbers: numpy's irfftn.
 *
 * The last axis of the list becomes n real numbers, from the first n / 2 + 1 elements of the spectrum.
 * The imaginary part of element 0, and for even n that of element n / 2, count as 0.
 *
 * @param options `lengths` are those of the result; for the last axis 2 (m - 1) if there are none, m
 *        the array's.  `into` has a float dtype.
 * @return as kz_fft.
 */
KZ_API KZ_NODISCARD kz_status kz_irfft(kz_array **out, kz_array *array, kz_axes axes,
	const kz_fft_options *options, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
