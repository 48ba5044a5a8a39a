/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_CREATE_H
#define KUDZU_CREATE_H

/*
 * Arrays of numbers in a row, and the identity matrix; computed on the device.
 *
 *	if (kz_arange(&a, dev, KZ_F32, 0, 10, 0.5, &err)           0, 0.5, ... 9.5
 *	    || kz_linspace(&b, dev, 0, 0, 1, 5, 1, &err)           0, 0.25, 0.5, 0.75, 1
 *	    || kz_array_eye(&c, dev, KZ_F64, 3, 3, 0, &err)) {     1 on the diagonal
 *		kz_error_print(&err, stderr);
 *	}
 *
 * Numbers are captured with their C types: start, stop and step may be integers or floats.
 */
#include <kudzu/array.h>
#include <kudzu/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create the numbers start, start + step, ... before stop; numpy.arange.
 *
 * Integers are exact, up to those of 64 bits.  Else element i is start + i * step in float64, rounded
 * once to the dtype.  There are ceil((stop - start) / step) elements, none if that is negative.
 *
 * @param dtype 0 for int64, or float64 if one of the numbers is no integer.
 * @param start KZ_ARG(number); so stop and step.
 * @return KZ_OK; KZ_INVALID for a step of 0, numbers that are not finite, a dtype of integers with
 *         numbers that are none, and bool or struct dtypes; KZ_RANGE for numbers that the dtype
 *         cannot hold, and for more elements than there can be; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Async: returns before the work is done; so all functions here.
 */
KZ_API KZ_NODISCARD kz_status kz_array_arange(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_arg start, kz_arg stop, kz_arg step, kz_error *err);

/**
 * Create `count` numbers from start to stop at equal distances; numpy.linspace.
 *
 * They are computed in float64 and rounded to the dtype, for integers down to the next one.
 *
 * @param dtype 0 for float64.
 * @param start KZ_ARG(number); so stop.
 * @param endpoint 1 if the last one is stop itself, 0 if stop would come next.
 * @return as kz_array_arange.
 */
KZ_API KZ_NODISCARD kz_status kz_array_linspace(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_arg start, kz_arg stop, int64_t count, int endpoint, kz_error *err);

/**
 * Create a matrix of zeros with ones on a diagonal; numpy.eye.
 *
 * @param diagonal 0 for the main one, above 0 for one further right, below for further down; one that
 *        the matrix does not have leaves zeros.
 */
KZ_API KZ_NODISCARD kz_status kz_array_eye(kz_array **out, kz_device *dev, kz_dtype dtype,
	int64_t rows, int64_t columns, int64_t diagonal, kz_error *err);

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
