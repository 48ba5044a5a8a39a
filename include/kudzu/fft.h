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
 * X[k] = sum of x[j] exp(-2 pi i j k / n), by Stockham's algorithm with radices up to 31 for
 * lengths without primes above 31, by Bluestein's algorithm for others.  float64, complex128 and
 * integers are computed as complex128, all others as complex64: float16 and bfloat16 become
 * float32, and spectra of them are complex64, as there are no complex halves.  kz_irfft, kz_dct and
 * kz_idct put halves into an array of these that the options name.  The error of a result is about
 * that of one rounding times the logarithm of the length.
 *
 * The device keeps what it has computed for a length, so that a second transform only launches
 * kernels.
 *
 * On a GPU cuFFT transforms, if it is found when the first transform asks for it (KUDZU_CUFFT names
 * it, or is `none`).  Our kernels do what cuFFT does not: real numbers to a full spectrum, more
 * than three axes, strides that it does not support, a stream that is captured.  Results are the
 * same but for roundings.  The device keeps 64 of cuFFT's plans.
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
	kz_shape lengths;   /**< one for each axis, or ndim 0 for those of the array; the array is
	                         cut off at its end, or continued with zeros */
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
 *         fit; KZ_UNSUPPORTED for a length above 2^62; KZ_DEVICE_MEMORY; KZ_NO_MEMORY;
 *         KZ_NO_COMPILER; KZ_NOT_FOUND if KUDZU_CUFFT names no usable library; what cuFFT reports.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.  You may release the array at once.
 */
KZ_API KZ_NODISCARD kz_status kz_fft(kz_array **out, kz_array *array, kz_axes axes,
	const kz_fft_options *options, kz_error *err);

/** Transform back: with exp(+2 pi i j k / n), divided by n; as kz_fft.  numpy's ifftn. */
KZ_API KZ_NODISCARD kz_status kz_ifft(kz_array **out, kz_array *array, kz_axes axes,
	const kz_fft_options *options, kz_error *err);

/**
 * Transform real numbers: as kz_fft, with the first n / 2 + 1 elements of the last axis of the
 * list.
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
 * The last axis of the list becomes n real numbers, from the first n / 2 + 1 elements of the
 * spectrum.  The imaginary part of element 0, and for even n that of element n / 2, count as 0.
 *
 * @param options `lengths` are those of the result; for the last axis 2 (m - 1) if there are none,
 *        m the array's.  `into` has a float dtype.
 * @return as kz_fft.
 */
KZ_API KZ_NODISCARD kz_status kz_irfft(kz_array **out, kz_array *array, kz_axes axes,
	const kz_fft_options *options, kz_error *err);

/**
 * Transform real numbers by cosines: scipy.fft.dctn.
 *
 * With n elements x, and j and k from 0 to n - 1, y[k] is
 *
 *	type 1: x[0] + (-1)^k x[n - 1] + 2 times the sum of x[j] cos(pi j k / (n - 1)), j from 1
 *	        to n - 2
 *	type 2: 2 times the sum of x[j] cos(pi (2 j + 1) k / (2 n))
 *	type 3: x[0] + 2 times the sum of x[j] cos(pi j (2 k + 1) / (2 n)), j from 1 on
 *	type 4: 2 times the sum of x[j] cos(pi (2 j + 1) (2 k + 1) / (4 n))
 *
 * along each axis of the list.  The norms are those of kz_fft with 2 (n - 1) for n of type 1, and 2
 * n for the others.  With KZ_FFT_ORTHO the transform is orthogonal, too: x[0] of type 3, and x[0]
 * and x[n - 1] of type 1, are multiplied by the root of 2 first; y[0] of type 2, and y[0] and y[n -
 * 1] of type 1, are divided by it.
 *
 * @param out as for kz_fft; the result is float64 for float64 and integers, float32 for float32 and
 *        halves.
 * @param array of a real dtype and any strides.  Complex numbers are refused: transform
 *        kz_array_real and kz_array_imag.
 * @param type from 1 to 4.
 * @param axes as for kz_fft.
 * @param options NULL for the defaults.  `into` has a float dtype, float16 too.
 * @return as kz_fft; KZ_INVALID also for a type, complex numbers, and a length below 2 of type 1.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.  You may release the array at once.
 */
KZ_API KZ_NODISCARD kz_status kz_dct(kz_array **out, kz_array *array, int type, kz_axes axes,
	const kz_fft_options *options, kz_error *err);

/**
 * Transform back what kz_dct with the same type, norm and lengths gives; as kz_dct.
 * scipy.fft.idctn.
 *
 * It is type 1 or 4 for these, 3 for 2 and 2 for 3, divided as kz_ifft is.
 */
KZ_API KZ_NODISCARD kz_status kz_idct(kz_array **out, kz_array *array, int type, kz_axes axes,
	const kz_fft_options *options, kz_error *err);

/**
 * Move the elements of frequency 0 from the beginning of axes to the middle: numpy.fft.fftshift.
 *
 * @param out set to the result, NULL on failure.  If the options have `into`, it is set to that
 *        array with one more reference, and may be NULL.
 * @param array of any strides and dtype.
 * @param axes KZ_ALL_AXES, KZ_AXES(0).
 * @param options NULL for the defaults.
 * @return as kz_array_roll.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_fftshift(kz_array **out, kz_array *array, kz_axes axes,
	const kz_op_options *options, kz_error *err);

/** Undo kz_fftshift, also for odd extents; as kz_fftshift. */
KZ_API KZ_NODISCARD kz_status kz_ifftshift(kz_array **out, kz_array *array, kz_axes axes,
	const kz_op_options *options, kz_error *err);

/**
 * Create the frequencies of the elements that kz_fft gives, in cycles per unit of the spacing:
 * numpy.fft.fftfreq.
 *
 * @param out set to `length` float64: 0, 1, ..., -2, -1 over length * spacing; NULL on failure.
 * @param spacing between samples; not 0.
 * @return KZ_OK; KZ_INVALID for a length below 1 or a spacing of 0; KZ_DEVICE_MEMORY;
 *         KZ_NO_COMPILER.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_fftfreq(kz_array **out, kz_device *dev, int64_t length,
	double spacing, kz_error *err);

/** Create those of kz_rfft, length / 2 + 1 numbers from 0 on; as kz_fftfreq. */
KZ_API KZ_NODISCARD kz_status kz_rfftfreq(kz_array **out, kz_device *dev, int64_t length,
	double spacing, kz_error *err);

/** Which sums of n and m elements are kept.  The numbers never change. */
typedef enum kz_convolve_mode {
	KZ_CONVOLVE_FULL = 0,  /**< all n + m - 1 */
	KZ_CONVOLVE_SAME = 1,  /**< max(n, m) from the middle */
	KZ_CONVOLVE_VALID = 2  /**< the max(n, m) - min(n, m) + 1 for which all elements are
	                            there */
} kz_convolve_mode;

/**
 * Convolve two sequences: numpy.convolve.
 *
 * Integers and bool are computed in their common type (kz_dtype_promote), or in that of the
 * options.  Their sums wrap as numpy's do, and are exact at every length, in a time that grows as
 * the product of the lengths.  For bool, "and" multiplies and "or" adds.
 *
 * Everything else is computed as kz_fft computes it, integers beside floats as float64.  If the
 * shorter sequence has at most 512 numbers of float32, 256 of float64 or complex64, or 128 of
 * complex128, each sum adds its own products, one after the other in the order of the shorter
 * sequence, by fused multiply-adds.  Then NaN, infinity and overflow reach only the sums that have
 * such a product.  The sums of longer sequences come from the product of their spectra.  Then an
 * error is relative to the largest sum, not to each one, and a NaN, an infinity, or an overflow of
 * a spectrum makes all sums NaN or infinite.
 *
 * @param out as for kz_fftshift; the result has the type of the computation, or that of the
 *        options.
 * @param a 1-d, with at least one element; any strides, any built-in dtype.
 * @param b likewise, on the same device.
 * @param mode which sums the result has.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for other shapes, a mode, dtypes, devices, `into` and a stream that do
 *         not fit; KZ_RANGE for more sums than an array can have; KZ_DEVICE_MEMORY; KZ_NO_MEMORY;
 *         KZ_NO_COMPILER.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_convolve(kz_array **out, kz_array *a, kz_array *b,
	kz_convolve_mode mode, const kz_op_options *options, kz_error *err);

/**
 * Correlate two sequences: the sums of a[j + k] conj(b[j]); as kz_convolve.  numpy.correlate.
 */
KZ_API KZ_NODISCARD kz_status kz_correlate(kz_array **out, kz_array *a, kz_array *b,
	kz_convolve_mode mode, const kz_op_options *options, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
