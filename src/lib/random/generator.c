/* SPDX-License-Identifier: MIT */
/*
 * Generators of random numbers: their seeds, and the tables of those that have one.
 *
 * XORWOW and MRG32k3a begin as cuRAND's curand_init has them, so that they give its words.  Tables
 * are computed on the host: the powers of one step by squaring, the direction numbers of a Sobol
 * sequence by the recurrence of its polynomials (Bratley and Fox, "Algorithm 659", 1988).
 */
#include "base/common.h"

#include "lib/random/generator.h"

#include "base/alloc.h"
#include "lib/array/array.h"
#include "lib/core/object.h"

#include <string.h>

/* XORWOW */

/* Coefficients of polynomials over GF(2), modulo the characteristic one of XORWOW. */
enum { GENERATOR_POLYNOMIAL = KZ_BITS / 32 };

struct generator_polynomial {
	uint32_t at[GENERATOR_POLYNOMIAL];
};

/* x a */
static struct generator_polynomial generator_shift(struct generator_polynomial a)
{
	/* x^160, which is the sum of these lower powers. */
	static const uint32_t lower[GENERATOR_POLYNOMIAL] = {0x00060001, 0x08610030, 0x00062121,
		0x0f3c0035, 0x00000f0e};
	uint32_t carry = 0;
	for (int k = 0; k < GENERATOR_POLYNOMIAL; k++) {
		uint32_t next = a.at[k] >> 31;
		a.at[k] = a.at[k] << 1 | carry;
		carry = next;
	}
	for (int k = 0; carry && k < GENERATOR_POLYNOMIAL; k++) {
		a.at[k] ^= lower[k];
	}
	return a;
}

static struct generator_polynomial generator_square(struct generator_polynomial a)
{
	struct generator_polynomial out = {{0}}, shifted = a;
	for (int i = 0; i < KZ_BITS; i++) {
		for (int k = 0; a.at[i / 32] >> i % 32 & 1 && k < GENERATOR_POLYNOMIAL; k++) {
			out.at[k] ^= shifted.at[k];
		}
		shifted = generator_shift(shifted);
	}
	return out;
}

/* Streams are 2^67 words apart. */
static void generator_begin_xorwow(struct kz_random *rng, uint32_t *table)
{
	const uint32_t low = 1099087573 * ((uint32_t)rng->seed ^ 0xaad26b49);
	const uint32_t high = 2591861531 * ((uint32_t)(rng->seed >> 32) ^ 0xf7dcefdd);
	struct generator_polynomial power = {{1 << 4}}; // four steps
	rng->state = (struct kz_sequence){{123456789 + low, 362436069 ^ low, 521288629 + high,
		88675123 ^ high, 5783321 + low, 6615241 + high + low}};
	for (int i = 0; i < 65 + 32; i++) {
		if (i < KZ_POWERS) {
			memcpy(table + (size_t)i * GENERATOR_POLYNOMIAL, power.at,
				sizeof(power.at));
		}
		if (i >= 65 && rng->stream >> (i - 65) & 1) {
			kz_xorwow_skip(&rng->state, power.at, i);
		}
		power = generator_square(power);
	}
}

/* MRG32k3a */

/* Both matrices of a number of steps, three rows each. */
struct generator_matrices {
	uint32_t at[18];
};

static struct generator_matrices generator_squares(struct generator_matrices m)
{
	struct generator_matrices out;
	for (int i = 0; i < 18; i++) {
		const uint64_t modulus = i < 9 ? KZ_MRG_1 : KZ_MRG_2;
		const uint32_t *row = m.at + i / 3 * 3, *column = m.at + i / 9 * 9 + i % 3;
		uint64_t sum = 0;
		for (int k = 0; k < 3; k++) {
			sum += (uint64_t)row[k] * column[3 * k] % modulus;
		}
		out.at[i] = (uint32_t)(sum % modulus);
	}
	return out;
}

/* Streams are 2^76 words apart. */
static void generator_begin_mrg(struct kz_random *rng, uint32_t *table)
{
	const uint64_t seeds[2] = {(uint32_t)rng->seed ^ 0x55555555,
		(uint32_t)(rng->seed >> 32) ^ 0xaaaaaaaa};
	struct generator_matrices power = {{0, 1, 0, 0, 0, 1, KZ_MRG_1 - 810728, 1403580, 0,
		0, 1, 0, 0, 0, 1, KZ_MRG_2 - 1370589, 0, 527612}};
	for (int i = 0; i < 6; i++) {
		const uint64_t factor = !rng->seed ? 1 : seeds[i == 1 || i == 3 || i == 5];
		rng->state.at[i] = (uint32_t)(factor * 12345 % (i < 3 ? KZ_MRG_1 : KZ_MRG_2));
	}
	for (int i = 0; i < 6; i += 3) { // a few seeds make a component 0, which would stay so
		unsigned *at = rng->state.at + i;
		at[0] = at[0] | at[1] | at[2] ? at[0] : 12345;
	}
	power = generator_squares(generator_squares(power)); // four steps
	for (int i = 0; i < 74 + 32; i++) {
		if (i < KZ_POWERS) {
			memcpy(table + (size_t)i * countof(power.at), power.at, sizeof(power.at));
		}
		if (i >= 74 && rng->stream >> (i - 74) & 1) {
			kz_mrg_skip(&rng->state, power.at);
		}
		power = generator_squares(power);
	}
}

/* Sobol */

static const uint16_t generator_sobol[] = {
#include "lib/random/sobol.def"
};

enum { GENERATOR_DIRECTIONS = 32, GENERATOR_ROW = GENERATOR_DIRECTIONS + 1, GENERATOR_MOST = 512 };

/* The direction numbers of the next dimension; returns the place of the one after it. */
static const uint16_t *generator_direct(uint32_t *row, const uint16_t *numbers)
{
	uint32_t polynomial = *numbers++;
	int degree = 31 - __builtin_clz(polynomial);
	for (int i = 0; i < GENERATOR_DIRECTIONS; i++) {
		if (i < degree) {
			row[i] = (uint32_t)*numbers++ << (31 - i);
			continue;
		}
		row[i] = row[i - degree] ^ row[i - degree] >> degree;
		for (int k = 1; k < degree; k++) {
			row[i] ^= polynomial >> (degree - k) & 1 ? row[i - k] : 0;
		}
	}
	return numbers;
}

static void generator_philox(uint32_t words[4], uint64_t key)
{
	uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
	for (int round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)0xD2511F53 * words[0], b = (uint64_t)0xCD9E8D57 * words[2];
		const uint32_t next[4] = {(uint32_t)(b >> 32) ^ words[1] ^ low, (uint32_t)b,
			(uint32_t)(a >> 32) ^ words[3] ^ high, (uint32_t)a};
		memcpy(words, next, sizeof(next));
		low += 0x9E3779B9;
		high += 0xBB67AE85;
	}
}

/* Matousek, "On the L2-discrepancy for anchored boxes", 1998: a random lower triangle with ones on
 * the diagonal multiplies the bits, of which the first is the upper one, and a shift is added. */
static void generator_scramble(uint32_t *row, const struct kz_random *rng, uint32_t dimension)
{
	uint32_t scrambled[GENERATOR_DIRECTIONS] = {0};
	for (uint32_t bit = 0; bit < GENERATOR_DIRECTIONS; bit++) {
		uint32_t words[4] = {bit, dimension, rng->stream, 0};
		generator_philox(words, rng->seed);
		const uint32_t own = 0x80000000 >> bit;
		const uint32_t mask = (words[0] & ~(own | (own - 1))) | own;
		for (int i = 0; i < GENERATOR_DIRECTIONS; i++) {
			scrambled[i] |= __builtin_parity(row[i] & mask) ? own : 0;
		}
		row[GENERATOR_DIRECTIONS] |= words[1] & own;
	}
	memcpy(row, scrambled, sizeof(scrambled));
}

static void generator_begin_sobol(struct kz_random *rng, uint32_t *table)
{
	const uint16_t *numbers = generator_sobol;
	for (int64_t d = 0; d < rng->dimensions; d++, table += GENERATOR_ROW) {
		for (int i = 0; d == 0 && i < GENERATOR_DIRECTIONS; i++) {
			table[i] = 0x80000000 >> i;
		}
		numbers = d == 0 ? numbers : generator_direct(table, numbers);
		if (rng->generator == KZ_GENERATOR_SCRAMBLED_SOBOL) {
			generator_scramble(table, rng, (uint32_t)d);
		}
	}
}

/* All of them */

static const struct {
	int64_t words; /* of the table; for each dimension, if there are some */
	void (*begin)(struct kz_random *rng, uint32_t *table);
} generator_kinds[] = {
	[KZ_GENERATOR_PHILOX] = {0, NULL},
	[KZ_GENERATOR_XORWOW] = {(int64_t)KZ_POWERS * GENERATOR_POLYNOMIAL, generator_begin_xorwow},
	[KZ_GENERATOR_MRG32K3A] = {(int64_t)KZ_POWERS * 18, generator_begin_mrg},
	[KZ_GENERATOR_SOBOL] = {GENERATOR_ROW, generator_begin_sobol},
	[KZ_GENERATOR_SCRAMBLED_SOBOL] = {GENERATOR_ROW, generator_begin_sobol},
};

static kz_status generator_begin(struct kz_random *rng, kz_error *err)
{
	const int64_t words = generator_kinds[rng->generator].words
		* (generator_is_quasi(rng) ? rng->dimensions : 1);
	uint32_t *table = words ? mem_zalloc((size_t)words, sizeof(*table)) : NULL;
	if (!words) {
		return KZ_OK;
	}
	if (!table) {
		return error_no_memory(err);
	}
	generator_kinds[rng->generator].begin(rng, table);
	kz_status st = kz_array_from(&rng->table, rng->device, KZ_U32, KZ_SHAPE(words), table,
		words * (int64_t)sizeof(*table), err);
	mem_free(table);
	return st;
}

static kz_status generator_check(const kz_random_options *options, kz_error *err)
{
	if (options->size != sizeof(*options)) {
		return struct_refuse("kz_random_options", options->size, sizeof(*options), err);
	}
	if ((unsigned)options->generator >= countof(generator_kinds)) {
		return error_set(err, KZ_INVALID, "%d is not a kz_generator",
			(int)options->generator);
	}
	if (options->generator < KZ_GENERATOR_SOBOL ? options->dimensions != 0
		: options->dimensions < 0 || options->dimensions > GENERATOR_MOST) {
		return error_set(err, KZ_INVALID, options->generator < KZ_GENERATOR_SOBOL
			? "expected no dimensions for a generator that is not Sobol's, got %lld"
			: "expected 1 to 512 dimensions, got %lld",
			(long long)options->dimensions);
	}
	return KZ_OK;
}

kz_status kz_random_create_with(kz_random **out, kz_device *dev, const kz_random_options *options,
	kz_error *err)
{
	static const kz_random_options defaults = KZ_RANDOM_OPTIONS_INIT;
	error_scope(err);
	kz_status st;
	options = options ? options : &defaults;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = generator_check(options, err))) {
		return st;
	}
	struct kz_random *rng = mem_zalloc(1, sizeof(*rng));
	if (!rng) {
		return error_no_memory(err);
	}
	rng->tag = OBJECT_RANDOM;
	rng->device = device_retain(dev);
	rng->seed = options->seed;
	rng->stream = options->stream;
	rng->generator = options->generator;
	rng->dimensions = options->dimensions ? options->dimensions : 1;
	object_give(rng, dev);
	if ((st = generator_begin(rng, err))) {
		kz_random_release(rng);
		return st;
	}
	*out = rng;
	return KZ_OK;
}

kz_status kz_random_create(kz_random **out, kz_device *dev, uint64_t seed, uint32_t stream,
	kz_error *err)
{
	error_scope(err);
	kz_random_options options = KZ_RANDOM_OPTIONS_INIT;
	options.seed = seed;
	options.stream = stream;
	return kz_random_create_with(out, dev, &options, err);
}

void kz_random_release(kz_random *rng)
{
	if (object_is(rng, OBJECT_RANDOM)) {
		object_end(&rng->tag);
		kz_array_release(rng->table);
		device_release(rng->device);
		object_free(rng);
	}
}

uint64_t kz_random_offset(const kz_random *rng)
{
	return object_is(rng, OBJECT_RANDOM) ? atomic_load(&rng->offset) : 0;
}

kz_status kz_random_seek(kz_random *rng, uint64_t offset, kz_error *err)
{
	error_scope(err);
	kz_status st = object_check(rng, OBJECT_RANDOM, err);
	if (!st) {
		atomic_store(&rng->offset, offset);
	}
	return st;
}

kz_status generator_take(uint64_t *first, struct kz_random *rng, int64_t count, kz_error *err)
{
	/* The direction numbers of Sobol sequences have 32 bits. */
	const uint64_t most = generator_is_quasi(rng) ? (uint64_t)1 << 32 : UINT64_MAX;
	*first = atomic_load(&rng->offset);
	do {
		if (*first > most || (uint64_t)count > most - *first) {
			return error_set(err, KZ_RANGE,
				"%lld offsets from %llu on overflow %d bits",
				(long long)count, (unsigned long long)*first,
				generator_is_quasi(rng) ? 32 : 64);
		}
	} while (!atomic_compare_exchange_weak(&rng->offset, first, *first + (uint64_t)count));
	return KZ_OK;
}
