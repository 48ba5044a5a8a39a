/* SPDX-License-Identifier: MIT */
/*
 * XORWOW, MRG32k3a and Sobol sequences on every device.  The references step the generators as
 * their papers define them.  What they skip is a power of the matrix of one step, which the suite
 * `corpus` compares with cuRAND's own code.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "support/generators.h"
#include "support/suite.h"

#include <kudzu/random.h>

#include <math.h>
#include <string.h>

enum { MANY = 3 * 8 * 1024 + 5 };

static kz_random *rng;

static kz_status begin(kz_generator generator, uint64_t seed, uint32_t stream, int64_t dimensions)
{
	kz_random_options options = KZ_RANDOM_OPTIONS_INIT;
	options.seed = seed;
	options.stream = stream;
	options.generator = generator;
	options.dimensions = dimensions;
	kz_random_release(rng);
	rng = NULL;
	return kz_random_create_with(&rng, dev, &options, &err);
}

static void end(void)
{
	kz_random_release(rng);
	rng = NULL;
}

/* A number drawn below 2^64 - 1 is one less than the two words that it is made of. */
static void draw_words(uint32_t *words, int64_t count)
{
	kz_array *x;
	ok(kz_random_integers(&x, rng, KZ_I64, KZ_SHAPE(count / 2), INT64_MIN, INT64_MAX, NULL,
		&err));
	uint64_t *pairs = calloc((size_t)count / 2, sizeof(*pairs));
	ok(kz_array_get(x, pairs, count / 2 * 8, &err));
	for (int64_t i = 0; i < count / 2; i++) {
		const uint64_t pair = pairs[i] - (uint64_t)INT64_MIN + 1;
		words[2 * i] = (uint32_t)(pair >> 32);
		words[2 * i + 1] = (uint32_t)pair;
	}
	free(pairs);
	kz_array_release(x);
}

/* 4 offset + 2^67 stream steps, then count words. */
static void xorwow_words(uint32_t *words, int64_t count, uint64_t seed, uint64_t offset,
	uint32_t stream)
{
	struct xorwow m[XORWOW_BITS];
	uint32_t d;
	struct xorwow s = xorwow_seed(seed, &d);
	xorwow_matrix(m);
	for (int bit = 0; bit < 67 + 32; bit++) {
		const uint64_t steps = bit < 67 ? offset : stream;
		const int at = bit < 67 ? bit - 2 : bit - 67;
		if (at >= 0 && at < 64 && steps >> at & 1) {
			s = xorwow_apply(m, s);
		}
		xorwow_square(m);
	}
	d += 362437 * 4 * (uint32_t)offset;
	for (int64_t i = 0; i < count; i++) {
		s = xorwow_step(s);
		words[i] = s.v[4] + (d += 362437);
	}
}

/* MRG32k3a in the form of the paper's equations; s has the oldest words first. */
static uint32_t mrg_next(uint64_t s[2][3])
{
	const uint64_t m1 = mrg_moduli[0], m2 = mrg_moduli[1];
	const uint64_t x = (1403580 * s[0][1] + 810728 * (m1 - s[0][0])) % m1;
	const uint64_t y = (527612 * s[1][2] + 1370589 * (m2 - s[1][0])) % m2;
	const uint64_t next[2][3] = {{s[0][1], s[0][2], x}, {s[1][1], s[1][2], y}};
	memcpy(s, next, sizeof(next));
	return (uint32_t)(x > y ? x - y : x + m1 - y);
}

/* 4 offset + 2^76 stream steps, then count words. */
static void mrg_words(uint32_t *words, int64_t count, uint64_t seed, uint64_t offset,
	uint32_t stream)
{
	uint64_t m[2][3][3], s[2][3];
	mrg_seed(s, seed);
	mrg_matrices(m);
	for (int bit = 0; bit < 76 + 32; bit++) {
		const int at = bit < 76 ? bit - 2 : bit - 76;
		if (at >= 0 && at < 64 && (bit < 76 ? offset : stream) >> at & 1) {
			mrg_apply(m, s);
		}
		mrg_square(m);
	}
	for (int64_t i = 0; i < count; i++) {
		words[i] = mrg_next(s);
	}
}

/* Ends of runs, of blocks, of offsets; seeds, streams and offsets of 32 and 64 bits. */
static const struct {
	int64_t count;
	uint64_t seed, offset;
	uint32_t stream;
} draws[] = {
	{MANY + 1, 0, 0, 0}, {512, 7, 1, 0}, {10, 0x123456789abcdef, 127, 1},
	{4100, UINT64_MAX, UINT64_C(0xffffffff), 0x80000001}, {66, 5, UINT64_MAX - 20, UINT32_MAX},
};

DEVICE_TEST(words_are_those_of_the_papers)
{
	static uint32_t got[MANY + 1], want[MANY + 1];
	for (size_t i = 0; i < 2 * countof(draws); i++) {
		const size_t d = i / 2;
		const bool is_mrg = i % 2;
		ok(begin(is_mrg ? KZ_GENERATOR_MRG32K3A : KZ_GENERATOR_XORWOW, draws[d].seed,
			draws[d].stream, 0));
		ok(kz_random_seek(rng, draws[d].offset, &err));
		draw_words(got, draws[d].count);
		(is_mrg ? mrg_words : xorwow_words)(want, draws[d].count, draws[d].seed,
			draws[d].offset, draws[d].stream);
		ck_assert_uint_eq(kz_random_offset(rng),
			draws[d].offset + (uint64_t)(draws[d].count + 3) / 4);
		ck_assert_mem_eq(got, want, (size_t)draws[d].count * 4);
	}
	end();
}

/* The first numbers of RngStreams (L'Ecuyer, Simard, Chen and Kelton, 2002) from its default
 * seed. */
DEVICE_TEST(mrg32k3a_begins_as_rngstreams)
{
	static const double known[] = {0.1270111220465769, 0.3185275653967945, 0.3091860155832701,
		0.8258468629271136};
	uint32_t words[4];
	ok(begin(KZ_GENERATOR_MRG32K3A, 0, 0, 0));
	draw_words(words, 4);
	for (int i = 0; i < 4; i++) {
		ck_assert(fabs(words[i] / 4294967088.0 - known[i]) < 1e-15);
	}
	end();
}

/* A seed that would set a component of the state to 0, where it would stay. */
DEVICE_TEST(no_seed_stops_mrg32k3a)
{
	uint32_t words[400];
	for (int i = 0; i < 2; i++) {
		ok(begin(KZ_GENERATOR_MRG32K3A, i ? UINT64_C(0xaaaaaaaa55555555)
			: UINT64_C(0x5555557aaaaaaa85), 0, 0));
		draw_words(words, 400);
		double sum = 0;
		for (int k = 0; k < 400; k++) {
			sum += words[k] / 4294967088.0 / 400;
		}
		ck_assert(fabs(sum - 0.5) < 0.1);
	}
	end();
}

/* Numbers of each length in a row, and of each place: those of one draw. */
DEVICE_TEST(a_sequence_does_not_depend_on_how_it_is_cut)
{
	static float whole[4096], part[4096];
	for (int kind = KZ_GENERATOR_XORWOW; kind <= KZ_GENERATOR_SCRAMBLED_SOBOL; kind++) {
		const int per = kind >= KZ_GENERATOR_SOBOL ? 1 : 4;
		kz_array *x;
		ok(begin((kz_generator)kind, 3, 2, 0));
		ok(kz_random_uniform(&x, rng, KZ_F32, KZ_SHAPE(4096), 0, 1, &err));
		ok(kz_array_get(x, whole, sizeof(whole), &err));
		kz_array_release(x);
		ok(kz_random_seek(rng, 0, &err));
		for (int at = 0, count = 4; at < 4096; at += count, count = count * 3 + 4) {
			count = count < 4096 - at ? count : 4096 - at;
			ck_assert_uint_eq(kz_random_offset(rng), (uint64_t)(at / per));
			ok(kz_random_uniform(&x, rng, KZ_F32, KZ_SHAPE(count), 0, 1, &err));
			ok(kz_array_get(x, part + at, 4 * count, &err));
			kz_array_release(x);
		}
		ck_assert_mem_eq(whole, part, sizeof(whole));
	}
	end();
}

/* Mean and variance are within five deviations. */
static void check_moments(kz_distribution distribution, double a, double b, double mean,
	double variance)
{
	static double got[MANY];
	double sum = 0, squares = 0;
	kz_array *x, *wide;
	ok(kz_random_draw(&x, rng, distribution, 0, KZ_SHAPE(MANY), a, b, NULL, &err));
	ok(kz_array_astype(&wide, x, KZ_F64, &err));
	ok(kz_array_get(wide, got, sizeof(got), &err));
	for (int i = 0; i < MANY; i++) {
		sum += (got[i] - mean) / MANY;
		squares += (got[i] - mean) * (got[i] - mean) / MANY;
	}
	release_arrays(x, wide);
	ck_assert_msg(fabs(sum) < 5 * sqrt(variance / MANY), "%d: mean off by %g",
		(int)distribution, sum);
	ck_assert_msg(fabs(squares / variance - 1) < 0.15, "%d: variance %g", (int)distribution,
		squares);
}

DEVICE_TEST(distributions_draw_from_sequences)
{
	kz_array *order;
	int64_t got[100], sum = 0;
	ok(begin(KZ_GENERATOR_XORWOW, 99, 0, 0));
	check_moments(KZ_RANDOM_NORMAL, 2, 3, 2, 9);
	check_moments(KZ_RANDOM_GAMMA, 0.7, 2, 1.4, 2.8);
	check_moments(KZ_RANDOM_BERNOULLI, 0.3, 0, 0.3, 0.21);
	ok(begin(KZ_GENERATOR_MRG32K3A, 99, 0, 0));
	check_moments(KZ_RANDOM_EXPONENTIAL, 2, 0, 2, 4);
	check_moments(KZ_RANDOM_POISSON, 30, 0, 30, 30);
	ok(kz_random_permutation(&order, rng, 100, NULL, &err));
	ok(kz_array_get(order, got, sizeof(got), &err));
	for (int i = 0; i < 100; i++) {
		sum += got[i];
	}
	ck_assert_int_eq(sum, 4950);
	kz_array_release(order);
	end();
}

/* Joe and Kuo, "Notes on generating Sobol sequences", 2008: the first points of three dimensions
 * in the order of the Gray code. */
DEVICE_TEST(sobol_points_are_those_of_joe_and_kuo)
{
	static const float known[8][3] = {{0, 0, 0}, {.5, .5, .5}, {.75, .25, .25}, {.25, .75, .75},
		{.375, .375, .625}, {.875, .875, .125}, {.625, .125, .875}, {.125, .625, .375}};
	float got[8][3];
	kz_array *x;
	ok(begin(KZ_GENERATOR_SOBOL, 0, 0, 3));
	ok(kz_random_uniform(&x, rng, KZ_F32, KZ_SHAPE(8, 3), 0, 1, &err));
	ok(kz_array_get(x, got, sizeof(got), &err));
	ck_assert_mem_eq(got, known, sizeof(got));
	ck_assert_uint_eq(kz_random_offset(rng), 8);
	kz_array_release(x);
	end();
}

enum { POINTS = 1024, DIMENSIONS = 512 };

/* Of 2^k points from a multiple of 2^k on, each interval of length 2^-k has one, in each
 * dimension.  Of the first two dimensions it is each box of that area. */
static void check_net(uint64_t offset)
{
	static uint32_t got[POINTS][DIMENSIONS];
	static uint8_t seen[POINTS];
	kz_array *x;
	ok(kz_random_seek(rng, offset, &err));
	ok(kz_random_integers(&x, rng, KZ_U32, KZ_SHAPE(POINTS, DIMENSIONS), 0, (int64_t)1 << 32,
		NULL, &err));
	ok(kz_array_get(x, got, sizeof(got), &err));
	kz_array_release(x);
	for (int d = 0; d < DIMENSIONS; d++) {
		memset(seen, 0, sizeof(seen));
		for (int i = 0; i < POINTS; i++) {
			ck_assert_uint_eq(seen[got[i][d] >> 22]++, 0);
		}
	}
	for (int k = 1; k < 10; k++) {
		memset(seen, 0, sizeof(seen));
		for (int i = 0; i < POINTS; i++) {
			const uint32_t box = got[i][0] >> (32 - k) << (10 - k)
				| got[i][1] >> (22 + k);
			ck_assert_uint_eq(seen[box]++, 0);
		}
	}
}

DEVICE_TEST(sobol_points_fill_each_dimension)
{
	ok(begin(KZ_GENERATOR_SOBOL, 0, 0, DIMENSIONS));
	check_net(0);
	check_net((uint64_t)POINTS * 3000000);
	ok(begin(KZ_GENERATOR_SCRAMBLED_SOBOL, 5, 1, DIMENSIONS));
	check_net(0);
	check_net((uint64_t)POINTS * 3000000);
	end();
}

/* Scrambling depends on the seed and the stream, and has no bias: not even the first point. */
DEVICE_TEST(scrambled_points_are_random)
{
	enum { SEEDS = 400 };
	double sums[2] = {0, 0}, product = 0, first[2][2];
	for (int seed = 0; seed < SEEDS; seed++) {
		kz_array *x;
		ok(begin(KZ_GENERATOR_SCRAMBLED_SOBOL, (uint64_t)seed / 2, (uint32_t)seed % 2, 2));
		ok(kz_random_uniform(&x, rng, KZ_F64, KZ_SHAPE(2, 2), 0, 1, &err));
		ok(kz_array_get(x, first, sizeof(first), &err));
		for (int d = 0; d < 2; d++) {
			sums[d] += (first[0][d] - 0.5) / SEEDS;
			ck_assert((first[0][d] < 0.5) != (first[1][d] < 0.5));
		}
		product += (first[0][0] - 0.5) * (first[0][1] - 0.5) / SEEDS;
		kz_array_release(x);
	}
	ck_assert(fabs(sums[0]) < 0.06 && fabs(sums[1]) < 0.06 && fabs(product) < 0.02);
	end();
}

/* A number of a word is the inverse of the distribution: it comes back by the C library's erfc. */
DEVICE_TEST(normal_numbers_of_sobol_points_invert_the_distribution)
{
	enum { COUNT = 1000 };
	static double doubles[COUNT];
	static float singles[COUNT];
	static uint32_t words[COUNT];
	kz_array *x;
	ok(begin(KZ_GENERATOR_SCRAMBLED_SOBOL, 8, 0, 4));
	ok(kz_random_integers(&x, rng, KZ_U32, KZ_SHAPE(COUNT / 4, 4), 0, (int64_t)1 << 32, NULL,
		&err));
	ok(kz_array_get(x, words, sizeof(words), &err));
	kz_array_release(x);
	ok(kz_random_seek(rng, 0, &err));
	ok(kz_random_normal(&x, rng, KZ_F64, KZ_SHAPE(COUNT / 4, 4), 0, 1, &err));
	ok(kz_array_get(x, doubles, sizeof(doubles), &err));
	kz_array_release(x);
	ok(kz_random_seek(rng, 0, &err));
	ok(kz_random_normal(&x, rng, KZ_C64, KZ_SHAPE(COUNT / 4, 2), 0, 1, &err));
	ok(kz_array_get(x, singles, sizeof(singles), &err));
	kz_array_release(x);
	for (int i = 0; i < COUNT; i++) {
		const double unit = (words[i] + 0.5) / 0x1p32;
		ck_assert(fabs(0.5 * erfc(-doubles[i] / sqrt(2)) - unit) < 1e-13);
		ck_assert(fabs(singles[i] - doubles[i]) < 1e-5);
	}
	end();
}

DEVICE_TEST(what_a_generator_does_not_have_is_refused)
{
	kz_random *none = NULL;
	kz_array *x = NULL;
	kz_random_options options = KZ_RANDOM_OPTIONS_INIT;
	options.size = 3;
	fails(kz_random_create_with(&none, dev, &options, &err), KZ_INVALID, "kz_random_options");
	fails(begin((kz_generator)9, 0, 0, 0), KZ_INVALID, "9 is not a kz_generator");
	fails(begin(KZ_GENERATOR_XORWOW, 0, 0, 2), KZ_INVALID, "expected no dimensions");
	fails(begin(KZ_GENERATOR_SOBOL, 0, 0, 513), KZ_INVALID, "1 to 512 dimensions, got 513");
	fails(begin(KZ_GENERATOR_SOBOL, 0, 0, -1), KZ_INVALID, "1 to 512 dimensions, got -1");
	ok(begin(KZ_GENERATOR_SOBOL, 0, 0, 3));
	fails(kz_random_uniform(&x, rng, 0, KZ_SHAPE(3, 2), 0, 1, &err), KZ_INVALID,
		"a point of 3 numbers, got (3, 2)");
	fails(kz_random_uniform(&x, rng, 0, KZ_SHAPE(), 0, 1, &err), KZ_INVALID, "a point of 3");
	fails(kz_random_poisson(&x, rng, 0, KZ_SHAPE(2, 3), 1, &err), KZ_UNSUPPORTED, "rejection");
	fails(kz_random_permutation(&x, rng, 3, NULL, &err), KZ_UNSUPPORTED, "no random order");
	fails(kz_random_choice(&x, rng, 3, 1, 1, NULL, NULL, &err), KZ_UNSUPPORTED, "Sobol");
	ok(kz_random_seek(rng, UINT64_C(0xffffffff), &err));
	fails(kz_random_uniform(&x, rng, 0, KZ_SHAPE(2, 3), 0, 1, &err), KZ_RANGE, "32 bits");
	ok(kz_random_uniform(&x, rng, 0, KZ_SHAPE(1, 3), 0, 1, &err));
	kz_array_release(x);
	end();
}

DEVICE_TEST(a_failing_allocation_leaves_no_generator_behind)
{
	int failed = 0;
	kz_status st = KZ_NO_MEMORY;
	for (long n = 0; st; n++, failed++) {
		mem_fail_after(n);
		st = begin(KZ_GENERATOR_XORWOW, 1, 0, 0);
		mem_fail_after(-1);
		ck_assert(!st || st == KZ_NO_MEMORY);
		ck_assert(!st == !!rng);
		kz_error_clear(&err);
	}
	ck_assert_int_gt(failed, 2);
	end();
}

SUITE(generators)
{
	Suite *s = suite_create("generators");
	TCase *tc = suite_add_case(s, "sequences");
	tcase_add_tests(tc, both_shapes_count(), words_are_those_of_the_papers,
		mrg32k3a_begins_as_rngstreams, no_seed_stops_mrg32k3a,
		a_sequence_does_not_depend_on_how_it_is_cut, distributions_draw_from_sequences,
		a_failing_allocation_leaves_no_generator_behind);
	tc = suite_add_case(s, "sobol");
	tcase_add_tests(tc, both_shapes_count(), sobol_points_are_those_of_joe_and_kuo,
		sobol_points_fill_each_dimension, scrambled_points_are_random,
		normal_numbers_of_sobol_points_invert_the_distribution,
		what_a_generator_does_not_have_is_refused);
	return s;
}
