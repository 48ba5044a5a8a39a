/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_CREATE_H
#define KUDZU_CREATE_H

/*
 * Arrays of evenly spaced numbers, and the identity matrix.  The device computes them.
 *
 *	if (kz_arange(&a, dev, KZ_F32, 0, 10, 0.5, &err)           0, 0.5, ... 9.5
 *	    || kz_linspace(&b, dev, 0, 0, 1, 5, 1, &err)           0, 0.25, 0.5, 0.75, 1
 *	    || kz_array_eye(&c, dev, KZ_F64, 3, 3, 0, &err)) {     1 on the diagonal
 *		kz_error_print(&err, stderr);
 *	}
 *
 * The macros capture numbers with their C types: start, stop and step may be integers or floats.
 */
#include <kudzu/array.h>
#include <kudzu/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create the numbers start, start + step, ... before stop; numpy.arange.
 *
 * Integers of up to 64 bits are exact.  Otherwise element i is start + i * step in float64,
 * rounded once to the dtype.  There are ceil((stop - start) / step) elements, none if that is
 * negative.
 *
 * @param dtype 0 for int64, or for float64 if one of the numbers is not an integer.
 * @param start KZ_ARG(number), as stop and step.
 * @return KZ_OK; KZ_INVALID for a step of 0, numbers that are not finite, an integer dtype with
 *         numbers that are not integers, and bool or struct dtypes; KZ_RANGE for numbers that the
 *         dtype cannot hold, and for too many elements; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Async: returns before the work is done, as all functions here.
 */
KZ_API KZ_NODISCARD kz_status kz_array_arange(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_arg start, kz_arg stop, kz_arg step, kz_error *err);

/** Create the numbers in a stream; as kz_array_arange. */
KZ_API KZ_NODISCARD kz_status kz_array_arange_on(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_arg start, kz_arg stop, kz_arg step, kz_stream *stream, kz_error *err);

/**
 * Create `count` numbers from start to stop at equal distances; numpy.linspace.
 *
 * The device computes them in float64 and rounds them to the dtype; for an integer dtype it rounds
 * down.
 *
 * @param dtype 0 for float64.
 * @param start KZ_ARG(number), as stop.
 * @param endpoint 1 if the last number is stop itself, 0 if stop would be the next one.
 * @return as kz_array_arange.
 */
KZ_API KZ_NODISCARD kz_status kz_array_linspace(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_arg start, kz_arg stop, int64_t count, int endpoint, kz_error *err);

/** Create the numbers in a stream; as kz_array_linspace. */
KZ_API KZ_NODISCARD kz_status kz_array_linspace_on(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_arg start, kz_arg stop, int64_t count, int endpoint, kz_stream *stream, kz_error *err);

/**
 * Create a matrix of zeros with ones on a diagonal; numpy.eye.
 *
 * @param diagonal 0 for the main diagonal, positive for one to the right, negative for one below.
 *        If the matrix does not have it, all elements are 0.
 */
KZ_API KZ_NODISCARD kz_status kz_array_eye(kz_array **out, kz_device *dev, kz_dtype dtype,
	int64_t rows, int64_t columns, int64_t diagonal, kz_error *err);

/** Create the matrix in a stream; as kz_array_eye. */
KZ_API KZ_NODISCARD kz_status kz_array_eye_on(kz_array **out, kz_device *dev, kz_dtype dtype,
	int64_t rows, int64_t columns, int64_t diagonal, kz_stream *stream, kz_error *err);

#ifdef __cplusplus
}
#endif

/** kz_array_arange with C numbers. */
#define kz_arange(out, dev, dtype, start, stop, step, err) \
	kz_array_arange((out), (dev), (dtype), KZ_ARG(start), KZ_ARG(stop), KZ_ARG(step), (err))
/** kz_array_linspace with C numbers. */
#define kz_linspace(out, dev, dtype, start, stop, count, endpoint, err) \
	kz_array_linspace((out), (dev), (dtype), KZ_ARG(start), KZ_ARG(stop), (count), (endpoint), \
		(err))

#endif
