/* SPDX-License-Identifier: MIT */
#ifndef LIB_RANDOM_GENERATOR_H
#define LIB_RANDOM_GENERATOR_H

/*
 * Generators: what gives the words of each offset.
 *
 * The words of Philox are a function of the seed, the stream and the offset.  XORWOW and MRG32k3a
 * begin with a state, and have a table on the device that takes it to any offset.  A Sobol sequence
 * is its table of direction numbers, and an offset is a point.
 */
#include "lib/core/device.h"

#include <kudzu/random.h>

#include "kernels/sequence.cuh"

struct kz_random {
	uint32_t tag;
	uint32_t stream;
	struct kz_device *device;
	uint64_t seed;
	_Atomic uint64_t offset;
	kz_generator generator;
	struct kz_sequence state;  /* XORWOW and MRG32k3a, at offset 0 */
	int64_t dimensions;        /* of Sobol points */
	struct kz_array *table;    /* uint32; NULL for Philox */
};

/* Whether the numbers are points of a sequence that fills space, and not as if by chance. */
static inline bool generator_is_quasi(const struct kz_random *rng)
{
	return rng->generator >= KZ_GENERATOR_SOBOL;
}

/* Take the next offsets. */
kz_status generator_take(uint64_t *first, struct kz_random *rng, int64_t count, kz_error *err);

#endif
