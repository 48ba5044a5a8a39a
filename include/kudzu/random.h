/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_RANDOM_H
#define KUDZU_RANDOM_H

/*
 * Random numbers: on the device by Philox, and on the host as numpy and PyTorch draw them.
 *
 *	kz_random *rng = NULL;
 *	kz_array *noise = NULL, *hits = NULL;
 *	if (kz_random_create(&rng, dev, 7, 0, &err)
 *	    || kz_random_normal(&noise, rng, KZ_F32, KZ_SHAPE(150, 4), 0, 1, &err)
 *	    || kz_random_poisson(&hits, rng, 0, KZ_SHAPE(150), 3.5, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_random_release(rng);
 *
 * On the device a number depends on the seed, the stream and the offset only, not on the device,
 * the grid or the shape.  Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers:
 * As Easy as 1, 2, 3", 2011) turns each offset into 128 bits: 4 float32, 2 float64 or integers, or
 * one number of a distribution that is drawn by rejection.  A call draws from the next offset on,
 * in row-major order.  A kernel that includes kudzu/random.cuh can draw the same numbers.
 *
 * kz_random_create_with makes other generators: XORWOW and MRG32k3a, whose words at each offset
 * become numbers by the same rules, and Sobol sequences.
 *
 * On the host a kz_mt19937 is a struct of the caller, the Mersenne Twister MT19937 of Matsumoto and
 * Nishimura (1998).  numpy and PyTorch seed it in the same way, and make numbers of its words by
 * different rules.
 */
#include <kudzu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A generator of random numbers on a device; opaque. */
typedef struct kz_random kz_random;

/**
 * Create a generator.
 *
 * @param dev the device that it draws on.
 * @param seed any number.  Neighbouring seeds give independent numbers.
 * @param stream generators of one seed and different streams never draw the same bits.
 * @return KZ_OK; KZ_INVALID; KZ_NO_MEMORY.
 * Ownership: release it with kz_random_release.
 * Threads: any; two calls at once draw different numbers, in either order.
 */
KZ_API KZ_NODISCARD kz_status kz_random_create(kz_random **out, kz_device *dev, uint64_t seed,
	uint32_t stream, kz_error *err);

/** What a kz_random draws its numbers from.  The numbers never change. */
typedef enum kz_generator {
	KZ_GENERATOR_PHILOX = 0,    /**< Philox4x32-10; see the head of this file */
	KZ_GENERATOR_XORWOW = 1,    /**< Marsaglia (2003), with a period of 2^192 - 2^32 words.
	                                 Words 4 n to 4 n + 3 of the sequence are those of offset
	                                 n.  Streams are 2^67 words apart.  The words are those
	                                 of cuRAND's curand() after curand_init(seed, stream, 0) */
	KZ_GENERATOR_MRG32K3A = 2,  /**< L'Ecuyer (1999), with a period of 2^191.  A word is the
	                                 number z of 1 to m = 4294967087, for which his code
	                                 returns z / (m + 1).  Seed 0 sets all six words of the
	                                 state to 12345; other seeds do as in cuRAND.  Streams are
	                                 2^76 words apart; offsets are as for XORWOW */
	KZ_GENERATOR_SOBOL = 3,     /**< points that fill a unit cube evenly: Sobol's sequence with
	                                 the direction numbers of Joe and Kuo (2008), in the order
	                                 of the Gray code.  The offset counts points */
	KZ_GENERATOR_SCRAMBLED_SOBOL = 4 /**< the same with Matousek's linear scrambling and a
	                                 shift, both by seed and stream: the points fill the cube
	                                 as evenly, and their mean has no bias over seeds */
} kz_generator;

/** What generator to create.  Initialize with KZ_RANDOM_OPTIONS_INIT. */
typedef struct kz_random_options {
	size_t size;             /**< sizeof(kz_random_options) */
	uint64_t seed;           /**< any number; SOBOL ignores it */
	uint32_t stream;         /**< generators of one seed and different streams never draw the
	                              same bits; SOBOL ignores it */
	kz_generator generator;  /**< 0: KZ_GENERATOR_PHILOX */
	int64_t dimensions;      /**< of Sobol points, 1 to 512; 0: 1, or another generator */
	void *reserved[4];
} kz_random_options;

#ifdef __cplusplus
#define KZ_RANDOM_OPTIONS_INIT kz_sized_init<kz_random_options>()
#else
#define KZ_RANDOM_OPTIONS_INIT {.size = sizeof(kz_random_options)}
#endif

/**
 * Create a generator of any kind; kz_random_create is shorter for Philox.
 *
 * All distributions draw from all generators by the same rules, with these exceptions:
 *
 * A number that is drawn by rejection, and needs more words than its offset has, takes them from
 * Philox.  The counter is the offset's words of XORWOW or MRG32k3a, the key is the number of the
 * attempt.
 *
 * A Sobol sequence gives each number of the result one word of 32 bits.  The last extent of a shape
 * is the number of dimensions, or half of it for complex numbers, unless there is one dimension.
 * So an array (n, dimensions) has n points.  Normal numbers are by the inverse of the distribution.
 * Numbers that are drawn by rejection, permutations, shuffles and choices are refused.
 *
 * @param options NULL for Philox with seed 0.
 * @return KZ_OK; KZ_INVALID for an unknown generator, and for dimensions that it does not have;
 *         KZ_NO_MEMORY; KZ_DEVICE_MEMORY.  Draws from a Sobol sequence also return KZ_INVALID for a
 *         shape that does not hold whole points, KZ_RANGE beyond 2^32 points, and KZ_UNSUPPORTED
 *         for what is refused.
 * Ownership: release it with kz_random_release.
 * Threads: as kz_random_create.
 */
KZ_API KZ_NODISCARD kz_status kz_random_create_with(kz_random **out, kz_device *dev,
	const kz_random_options *options, kz_error *err);

/** Release a generator; NULL is fine. */
KZ_API void kz_random_release(kz_random *rng);

/** Return the offset from which the next call draws; 0 for anything else than a generator. */
KZ_API uint64_t kz_random_offset(const kz_random *rng);

/**
 * Set the offset from which the next call draws: 0 begins again, a larger one skips ahead.
 *
 * @return KZ_OK; KZ_INVALID.
 */
KZ_API KZ_NODISCARD kz_status kz_random_seek(kz_random *rng, uint64_t offset, kz_error *err);

/** Distributions, with their parameters a and b.  Their numbers never change. */
typedef enum kz_distribution {
	KZ_RANDOM_UNIFORM = 0,     /**< [a, b), or b by rounding: a + (b - a) x, with x of [0, 1) of
	                                24 bits, 53 of float64, 11 of float16, 8 of bfloat16; where
                                b - a overflows a (1 - x) + b x */
	KZ_RANDOM_NORMAL = 1,      /**< mean a, standard deviation b; pairs of Box and Muller */
	KZ_RANDOM_LOG_NORMAL = 2,  /**< e to the power of a normal number of a and b */
	KZ_RANDOM_EXPONENTIAL = 3, /**< mean a */
	KZ_RANDOM_GAMMA = 4,       /**< shape a, scale b; Marsaglia and Tsang (2000) */
	KZ_RANDOM_BETA = 5,        /**< a and b, above 0; of two gamma numbers */
	KZ_RANDOM_POISSON = 6,     /**< mean a; by inversion, from 10 on PTRS of Hoermann (1993) */
	KZ_RANDOM_BINOMIAL = 7,    /**< a trials with probability b; by inversion, from 10 expected
	                                successes or failures on BTRS of Hoermann (1993) */
	KZ_RANDOM_BERNOULLI = 8    /**< 1 with probability a, else 0 */
} kz_distribution;

/**
 * Draw random numbers; kz_random_uniform and the other macros below are shorter.
 *
 * @param rng where to draw.
 * @param dtype of the result: a float type, for UNIFORM and NORMAL also a complex one, whose parts
 *        are two numbers; for POISSON, BINOMIAL and BERNOULLI any integer or float type, or bool.
 *        0 for that of options->into, or else KZ_F32, KZ_I64 for counts, KZ_BOOL for BERNOULLI.
 *        Counts that the type cannot hold are converted as by kz_array_astype.
 * @param shape of the result, also with options->into.
 * @param a the first parameter.
 * @param b the second parameter; ignored where the distribution has only one.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for a parameter, a dtype, and for an array or stream of the options
 *         that does not fit; KZ_RANGE if the offset would go beyond 64 bits; KZ_DEVICE_MEMORY;
 *         KZ_NO_COMPILER.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done, as all functions on devices here.
 */
KZ_API KZ_NODISCARD kz_status kz_random_draw(kz_array **out, kz_random *rng,
	kz_distribution distribution, kz_dtype dtype, kz_shape shape, double a, double b,
	const kz_op_options *options, kz_error *err);

/**
 * Draw random integers of low to high - 1, all of which are equally likely; as kz_random_draw.
 *
 * Lemire's method ("Fast Random Integer Generation in an Interval", 2019) with 64 bits.
 *
 * @param dtype an integer type; 0 for that of options->into if it is one, or else KZ_I64.
 * @param high above low.
 * @return as kz_random_draw; also KZ_INVALID if high is not above low, and KZ_RANGE if the dtype
 *         cannot hold both low and high - 1.
 */
KZ_API KZ_NODISCARD kz_status kz_random_integers(kz_array **out, kz_random *rng, kz_dtype dtype,
	kz_shape shape, int64_t low, int64_t high, const kz_op_options *options, kz_error *err);

#define kz_random_uniform(out, rng, dtype, shape, low, high, err) \
	kz_random_draw((out), (rng), KZ_RANDOM_UNIFORM, (dtype), shape, (low), (high), NULL, (err))
#define kz_random_normal(out, rng, dtype, shape, mean, deviation, err) \
	kz_random_draw((out), (rng), KZ_RANDOM_NORMAL, (dtype), shape, (mean), (deviation), NULL, \
		(err))
#define kz_random_log_normal(out, rng, dtype, shape, mean, deviation, err) \
	kz_random_draw((out), (rng), KZ_RANDOM_LOG_NORMAL, (dtype), shape, (mean), (deviation), \
		NULL, \
		(err))
#define kz_random_exponential(out, rng, dtype, shape, mean, err) \
	kz_random_draw((out), (rng), KZ_RANDOM_EXPONENTIAL, (dtype), shape, (mean), 0, NULL, (err))
/* `alpha` is the shape parameter. */
#define kz_random_gamma(out, rng, dtype, shape, alpha, scale, err) \
	kz_random_draw((out), (rng), KZ_RANDOM_GAMMA, (dtype), shape, (alpha), (scale), NULL, (err))
#define kz_random_beta(out, rng, dtype, shape, alpha, beta, err) \
	kz_random_draw((out), (rng), KZ_RANDOM_BETA, (dtype), shape, (alpha), (beta), NULL, (err))
#define kz_random_poisson(out, rng, dtype, shape, mean, err) \
	kz_random_draw((out), (rng), KZ_RANDOM_POISSON, (dtype), shape, (mean), 0, NULL, (err))
#define kz_random_binomial(out, rng, dtype, shape, trials, probability, err) \
	kz_random_draw((out), (rng), KZ_RANDOM_BINOMIAL, (dtype), shape, (trials), (probability), \
		NULL, \
		(err))
#define kz_random_bernoulli(out, rng, dtype, shape, probability, err) \
	kz_random_draw((out), (rng), KZ_RANDOM_BERNOULLI, (dtype), shape, (probability), 0, NULL, \
		(err))

/**
 * Draw a permutation of the numbers below `count`: numpy's permutation, with other numbers.
 *
 * It is the order of random keys of 63 bits, so each order is as likely as any other but for a
 * share of count^2 / 2^64.
 *
 * @param out set to an int64 array of shape (count,); NULL on failure.
 * @param stream NULL for the device's default stream.
 * @return KZ_OK; KZ_INVALID for a negative count and a stream of another device; KZ_DEVICE_MEMORY.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_random_permutation(kz_array **out, kz_random *rng, int64_t count,
	kz_stream *stream, kz_error *err);

/**
 * Put the rows of an array, its parts along the first axis, into random order: numpy's shuffle.
 *
 * @param array of any dtype and strides, whose elements share no memory; at least 1-d.
 * @param stream NULL for the device's default stream.
 * @return as kz_random_permutation; KZ_INVALID also for a 0-d array and a generator of another
 *         device.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_random_shuffle(kz_array *array, kz_random *rng, kz_stream *stream,
	kz_error *err);

/**
 * Choose `count` of the numbers below `n`, in random order: numpy's choice, with other numbers.
 *
 * kz_array_take takes the elements of an array that were chosen.
 *
 * @param out set to an int64 array of shape (count,); NULL on failure.
 * @param replace nonzero: a number may be chosen more than once.
 * @param weights n real numbers of any dtype, which need not add up to 1; NULL: all alike.  Without
 *        replacement, numbers are chosen one after the other by the weights of those that are left.
 * @param stream NULL for the device's default stream.
 * @return KZ_OK; KZ_INVALID for a negative number, for more choices than numbers (or weights that
 *         are not 0) without replacement, for weights of another shape or device, for negative ones
 *         and for those without a finite sum; KZ_STATE for weights in a capture; KZ_DEVICE_MEMORY.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done; with weights it waits for them.
 */
KZ_API KZ_NODISCARD kz_status kz_random_choice(kz_array **out, kz_random *rng, int64_t n,
	int64_t count, int replace, kz_array *weights, kz_stream *stream, kz_error *err);

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
 * after them.
 */
KZ_API void kz_mt19937_permutation(int64_t *out, kz_mt19937 *rng, int64_t count);

/**
 * Draw numbers of [low, high), as Tensor.uniform_(low, high) of a float32 tensor; torch.rand with 0
 * and 1.
 *
 * x is the low 24 bits of a word, times 2^-24.  The result is x (high - low) + low, rounded once,
 * as PyTorch computes it on processors with FMA.  So it may round to `high`.  Where high - low
 * overflows, which PyTorch refuses, it is low (1 - x) + high x.
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
