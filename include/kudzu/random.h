/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_RANDOM_H
#define KUDZU_RANDOM_H

/*
 * Random numbers: on the device by Philox, and on the host as numpy and PyTorch draw them.
 *
 *	kz_array *noise = NULL;
 *	kz_mt19937 rng;
 *	int64_t rows[150];
 *	kz_mt19937_init(&rng, 33);                       (numpy.random.RandomState(33))
 *	kz_mt19937_permutation(rows, &rng, 150);         (.permutation(150))
 *	if (kz_random_normal(&noise, dev, KZ_F32, KZ_SHAPE(150, 4), 7, 0, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * On the device a number depends on the seed and its position only, not on the device, the grid or
 * the shape.  Positions count in row-major order from `offset`.  So two calls give what one would:
 * the second one continues where its offset says.
 *
 * On the host a kz_mt19937 is a struct of the caller, the Mersenne Twister MT19937 of Matsumoto and
 * Nishimura (1998).  numpy and PyTorch seed it in the same way, and make numbers of its words by
 * different rules.
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

/**
 * A generator on the host; a struct of the caller, who may copy it.  Its members are the library's
 * business.
 */
typedef struct kz_mt19937 {
	uint32_t words[624]; /**< the state */
	int32_t used;        /**< words that were given out */
	int32_t has_normal;  /**< 1: a normal number is left over */
	double normal;       /**< that number, the second one of a pair */
} kz_mt19937;

/**
 * Start a generator, as numpy.random.RandomState(seed) and torch.manual_seed(seed) do.
 *
 * @param seed numpy takes 0 to 2^32 - 1.  PyTorch takes 64 bits and uses the low 32.
 */
KZ_API void kz_mt19937_init(kz_mt19937 *rng, uint32_t seed);

/** Draw 32 bits. */
KZ_API uint32_t kz_mt19937_next(kz_mt19937 *rng);

/** Draw a number of [0, 1) from 53 bits of two words, as RandomState.random_sample. */
KZ_API double kz_mt19937_double(kz_mt19937 *rng);

/**
 * Draw a normal number, as RandomState.standard_normal: by Marsaglia's polar method, which keeps
 * the second number of each pair for the next call.
 */
KZ_API double kz_mt19937_normal(kz_mt19937 *rng);

/**
 * Draw integers of low to high - 1, as RandomState.randint(low, high, count) of int64.
 *
 * Words are masked to the bits of high - 1 - low, and those that are larger are rejected.
 *
 * @param out `count` numbers.
 * @return KZ_OK; KZ_INVALID if high is not above low, count is negative, or a pointer is NULL.
 */
KZ_API KZ_NODISCARD kz_status kz_mt19937_integers(int64_t *out, kz_mt19937 *rng, int64_t count,
	int64_t low, int64_t high, kz_error *err);

/**
 * Shuffle items, as RandomState.shuffle does with the rows of an array: Fisher and Yates from the
 * last item on, with the indexes of kz_mt19937_integers.
 *
 * @param items `count` items of `item_size` bytes.
 */
KZ_API void kz_mt19937_shuffle(void *items, kz_mt19937 *rng, int64_t count, int64_t item_size);

/**
 * Write 0 to count - 1 in random order, as RandomState.permutation(count).
 *
 * scikit-learn's train_test_split takes the test rows from its beginning and the training rows from
 * behind them.
 */
KZ_API void kz_mt19937_permutation(int64_t *out, kz_mt19937 *rng, int64_t count);

/**
 * Draw numbers of [low, high), as Tensor.uniform_(low, high) of a float32 tensor; torch.rand with 0
 * and 1.
 *
 * x is the low 24 bits of a word, times 2^-24.  The result is x (high - low) + low, rounded once,
 * as PyTorch computes it on processors with FMA.  So it may round to `high`.
 *
 * @param out `count` numbers.
 */
KZ_API void kz_mt19937_torch_uniform_f32(float *out, kz_mt19937 *rng, int64_t count, float low,
	float high);

/** Draw as Tensor.uniform_ of a float64 tensor: x has the low 53 bits of two words. */
KZ_API void kz_mt19937_torch_uniform_f64(double *out, kz_mt19937 *rng, int64_t count, double low,
	double high);

/**
 * Draw normal numbers, as torch.randn of a float32 tensor without gaps.
 *
 * The words that are used are PyTorch's, and so are the bits of fewer than 16 numbers if the C
 * library's logarithm and sine are.  From 16 on PyTorch computes float32 with its own logarithm and
 * sine, which differ from the C library's in the last places.
 *
 * @param out `count` numbers.
 */
KZ_API void kz_mt19937_torch_normal_f32(float *out, kz_mt19937 *rng, int64_t count);

/** Draw as torch.randn of a float64 tensor; as kz_mt19937_torch_normal_f32. */
KZ_API void kz_mt19937_torch_normal_f64(double *out, kz_mt19937 *rng, int64_t count);

#ifdef __cplusplus
}
#endif

#endif
