/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_RANDOM_H
#define KUDZU_RANDOM_H

/*
 * Random numbers on the device.
 *
 *	kz_array *noise = NULL;
 *	if (kz_random_normal(&noise, dev, KZ_F32, KZ_SHAPE(150, 4), 7, 0, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * On the device a number depends on the seed and its position only, not on the device, the grid or
 * the shape.  Positions count in row-major order from `offset`.  So two calls give what one would:
 * the second one continues where its offset says.
 */
#include <kudzu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create uniform random numbers of [0, 1) on a device.
 *
 * Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3",
 * 2011) turns a counter and the seed into 128 bits.  A float32 is the upper 24 bits of a quarter
 * of them, a float64 the upper 53 bits of a half, its second word above its first.
 *
 * @param dev the device; may be NULL if options->into is given.
 * @param dtype KZ_F32 or KZ_F64; 0 for that of options->into, or else KZ_F32.
 * @param shape of the result, also with options->into.
 * @param seed any number.
 * @param offset the position of the first number.
 * @param options NULL for the defaults.  Numbers are rounded to the type of options->into.
 * @return KZ_OK; KZ_INVALID for another dtype, and for an array or stream of the options that does
 *         not fit; KZ_RANGE if a position is beyond 64 bits; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done, as all functions on devices here.
 */
KZ_API KZ_NODISCARD kz_status kz_random_uniform(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, uint64_t seed, uint64_t offset, const kz_op_options *options,
	kz_error *err);

/**
 * Create normal random numbers of mean 0 and variance 1; as kz_random_uniform.
 *
 * Two neighbours, at an even position and the next, are a pair of Box and Muller (1958).
 */
KZ_API KZ_NODISCARD kz_status kz_random_normal(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, uint64_t seed, uint64_t offset, const kz_op_options *options,
	kz_error *err);

/**
 * Create random integers of low to high - 1; as kz_random_uniform.
 *
 * A number is low + floor(x (high - low) / 2^64) with 64 random bits x.  So the probabilities of
 * two numbers differ by less than 2^-63.
 *
 * @param dtype an integer type; 0 for that of options->into if it is one, or else KZ_I64.
 * @param high above low.
 * @return as kz_random_uniform; also KZ_INVALID if high is not above low, and KZ_RANGE if the
 *         dtype cannot hold both low and high - 1.
 */
KZ_API KZ_NODISCARD kz_status kz_random_integers(kz_array **out, kz_device *dev, kz_dtype dtype,
	kz_shape shape, int64_t low, int64_t high, uint64_t seed, uint64_t offset,
	const kz_op_options *options, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
