/* SPDX-License-Identifier: MIT */
/*
 * Random numbers on every device, against Philox4x32-10 in plain C, which the known-answer vectors
 * of the Random123 distribution check, and against the distributions themselves.
 * tests/numeric/check_random has more numbers and more of these.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <kudzu/random.h>

#include <float.h>
#include <math.h>
#include <string.h>

enum { MANY = 5000 };

/* Random123 1.09, kat_vectors, philox4x32 10: counter, key, result. */
static const uint32_t known[3][10] = {
	{0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
	{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
		0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
	{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0,
		0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
};

static void philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
	uint32_t low = key[0], high = key[1];
	memcpy(out, counter, 16);
	for (int round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)0xD2511F53 * out[0], b = (uint64_t)0xCD9E8D57 * out[2];
		uint32_t next[4] = {(uint32_t)(b >> 32) ^ out[1] ^ low, (uint32_t)b,
			(uint32_t)(a >> 32) ^ out[3] ^ high, (uint32_t)a};
		memcpy(out, next, 16);
		low += 0x9E3779B9;
		high += 0xBB67AE85;
	}
}

enum { STREAM = 5 };

/* Word `i` at an offset of STREAM. */
static uint32_t word_of(uint64_t seed, uint64_t offset, uint32_t attempt, int i)
{
	uint32_t out[4];
	philox(out, (const uint32_t[]){(uint32_t)offset, (uint32_t)(offset >> 32), STREAM, attempt},
		(const uint32_t[]){(uint32_t)seed, (uint32_t)(seed >> 32)});
	return out[i];
}

/* The bits of number i from an offset on: 32 of a float32, 64 of the others. */
static uint32_t word_at(uint64_t seed, uint64_t offset, int64_t i)
{
	return word_of(seed, offset + (uint64_t)i / 4, 0, (int)(i % 4));
}

static uint64_t pair_of(uint64_t seed, uint64_t offset, uint32_t attempt, int i)
{
	return (uint64_t)word_of(seed, offset, attempt, 2 * i) << 32
		| word_of(seed, offset, attempt, 2 * i + 1);
}

static uint64_t pair_at(uint64_t seed, uint64_t offset, int64_t i)
{
	return pair_of(seed, offset + (uint64_t)i / 2, 0, (int)(i % 2));
}

static kz_random *rng;

/* A generator at an offset. */
static void begin(uint64_t seed, uint64_t offset)
{
	kz_random_release(rng);
	ok(kz_random_create(&rng, dev, seed, STREAM, &err));
	ok(kz_random_seek(rng, offset, &err));
}

/* For teardown's check that nothing is left. */
static void end(void)
{
	kz_random_release(rng);
	rng = NULL;
}

DEVICE_TEST(the_generator_gives_the_known_answers)
{
	static const char source[] = "#include <kudzu/random.cuh>\n"
		"extern \"C\" __global__ void answer(const unsigned *in, unsigned *out)\n"
		"{\n"
		"	kz_bits c = kz_philox(kz_bits{{in[0], in[1], in[2], in[3]}}, in[4], "
		"in[5]);\n"
		"	for (int i = 0; i < 4; i++) {\n		out[i] = c.at[i];\n	}\n}\n";
	kz_module *module;
	kz_kernel *kernel;
	ok(kz_module_compile(&module, dev, source, NULL, &err));
	ok(kz_module_kernel(&kernel, module, "answer", &err));
	for (int i = 0; i < 3; i++) {
		uint32_t got[4], host[4];
		ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
			KZ_ARGS(KZ_IN(known[i], 24), KZ_OUT(got, 16))));
		philox(host, known[i], known[i] + 4);
		ck_assert_mem_eq(got, known[i] + 6, 16);
		ck_assert_mem_eq(host, known[i] + 6, 16);
	}
	kz_module_release(module);
}

/* Seeds of 32 and 64 bits, numbers that do not fill the last offset, more than one block. */
static const struct {
	int64_t count;
	uint64_t seed, offset;
} draws[] = {
	{1, 0, 0}, {6, 42, 0}, {4, 7, 1}, {7, UINT64_MAX, 2}, {MANY, 0x123456789abcdef, 3},
	{MANY, 5, 0}, {MANY - 3, 5, UINT64_C(0xffffffff)}, {9, 1, UINT64_MAX - 9}, {0, 1, 0},
};

DEVICE_TEST(uniform_numbers_are_the_upper_bits)
{
	static float singles[MANY];
	static double doubles[MANY];
	for (size_t d = 0; d < countof(draws); d++) {
		const int64_t count = draws[d].count;
		const uint64_t seed = draws[d].seed, offset = draws[d].offset;
		kz_array *x, *y;
		begin(seed, offset);
		ok(kz_random_uniform(&x, rng, 0, KZ_SHAPE(count), 0, 1, &err));
		ck_assert_uint_eq(kz_random_offset(rng), offset + (uint64_t)(count + 3) / 4);
		begin(seed, offset);
		ok(kz_random_uniform(&y, rng, KZ_F64, KZ_SHAPE(count), -3, 5, &err));
		ck_assert_uint_eq(kz_array_dtype(x), KZ_F32);
		ok(kz_array_get(x, singles, 4 * count, &err));
		ok(kz_array_get(y, doubles, 8 * count, &err));
		for (int64_t i = 0; i < count; i++) {
			double unit = (double)(pair_at(seed, offset, i) >> 11) / 0x1p53;
			ck_assert(singles[i] == (float)(word_at(seed, offset, i) >> 8) / 0x1p24f);
			ck_assert(doubles[i] == -3 + 8 * unit);
		}
		release_arrays(x, y);
	}
	end();
}

/* Where high - low, or a product on the way, is beyond the type. */
DEVICE_TEST(numbers_of_a_huge_range_are_finite)
{
	static const double ends[][2] = {{-1e308, 1e308}, {1e308, -1e308}, {-DBL_MAX, DBL_MAX},
		{-1.5e308, 0x1p1023}};
	static double got[MANY], units[MANY];
	static float singles[MANY];
	kz_array *x, *y;
	for (size_t e = 0; e < countof(ends); e++) {
		double low = ends[e][0], high = ends[e][1];
		begin(3, 0);
		ok(kz_random_uniform(&x, rng, KZ_F64, KZ_SHAPE(MANY), low, high, &err));
		ok(kz_array_get(x, got, sizeof(got), &err));
		for (int64_t i = 0; i < MANY; i++) {
			long double unit = (long double)(pair_at(3, 0, i) >> 11) / 0x1p53L;
			long double want = low + ((long double)high - low) * unit;
			ck_assert(fabsl(got[i] - want) <= 0x1p971L);
		}
		kz_array_release(x);
	}
	begin(3, 0);
	ok(kz_random_uniform(&x, rng, KZ_F32, KZ_SHAPE(MANY), -3e38, 3e38, &err));
	ok(kz_array_get(x, singles, sizeof(singles), &err));
	for (int64_t i = 0; i < MANY; i++) {
		double unit = (double)(word_at(3, 0, i) >> 8) / 0x1p24;
		ck_assert(singles[i] == (float)(-3e38 + 6e38 * unit));
	}
	kz_array_release(x);
	begin(3, 0);
	ok(kz_random_normal(&x, rng, KZ_F64, KZ_SHAPE(MANY), -1.7e308, 1e308, &err));
	begin(3, 0);
	ok(kz_random_normal(&y, rng, KZ_F64, KZ_SHAPE(MANY), 0, 1, &err));
	ok(kz_array_get(x, got, sizeof(got), &err));
	ok(kz_array_get(y, units, sizeof(units), &err));
	for (int64_t i = 0; i < MANY; i++) {
		long double want = -1.7e308 + (long double)1e308 * units[i];
		ck_assert(fabsl(want) > DBL_MAX ? isinf(got[i]) : fabsl(got[i] - want) <= 0x1p972L);
	}
	release_arrays(x, y);
	end();
}

/* A member of a pair, in doubles of the words' bits. */
static double box_muller(double unit, double turn, bool second)
{
	double radius = sqrt(-2 * log(unit)), angle = 6.283185307179586477 * turn;
	return radius * (second ? sin(angle) : cos(angle));
}

DEVICE_TEST(normal_numbers_are_pairs_of_box_and_muller)
{
	static float singles[MANY];
	static double doubles[MANY];
	for (size_t d = 0; d < countof(draws); d++) {
		const int64_t count = draws[d].count;
		const uint64_t seed = draws[d].seed, offset = draws[d].offset;
		kz_array *x, *y;
		begin(seed, offset);
		ok(kz_random_normal(&x, rng, KZ_F32, KZ_SHAPE(count), 0, 1, &err));
		begin(seed, offset);
		ok(kz_random_log_normal(&y, rng, KZ_F64, KZ_SHAPE(count), 1, 0.5, &err));
		ok(kz_array_get(x, singles, 4 * count, &err));
		ok(kz_array_get(y, doubles, 8 * count, &err));
		for (int64_t i = 0; i < count; i++) {
			int64_t first = i & ~INT64_C(1);
			double want = box_muller((word_at(seed, offset, first) + 1.0) / 0x1p32,
				word_at(seed, offset, first + 1) / 0x1p32, i & 1);
			ck_assert_double_eq_tol(singles[i], want, 4e-6);
			want =
				exp(1
					+ 0.5
					* box_muller(((double)(pair_at(seed, offset, first) >> 11)
						+ 1)
				/ 0x1p53, (double)(pair_at(seed, offset, first + 1) >> 11) / 0x1p53,
				i & 1));
			ck_assert_double_eq_tol(doubles[i] / want, 1, 1e-13);
		}
		release_arrays(x, y);
	}
	end();
}

DEVICE_TEST(exponential_numbers_and_truths_come_from_the_unit)
{
	static float singles[MANY];
	static bool truths[MANY];
	kz_array *x, *y;
	begin(11, 7);
	ok(kz_random_exponential(&x, rng, 0, KZ_SHAPE(MANY), 2.5, &err));
	begin(11, 7);
	ok(kz_random_bernoulli(&y, rng, 0, KZ_SHAPE(MANY), 0.3, &err));
	ck_assert_uint_eq(kz_array_dtype(y), KZ_BOOL);
	ok(kz_array_get(x, singles, sizeof(singles), &err));
	ok(kz_array_get(y, truths, sizeof(truths), &err));
	for (int64_t i = 0; i < MANY; i++) {
		double unit = (word_at(11, 7, i) + 1.0) / 0x1p32;
		ck_assert_double_eq_tol(singles[i], -2.5 * log(unit), 4e-6);
		ck_assert_int_eq(truths[i], (double)(pair_at(11, 7, i) >> 11) / 0x1p53 < 0.3);
	}
	release_arrays(x, y);
	end();
}

__extension__ typedef unsigned __int128 wide;

/* Lemire's rule; attempts of number i % 2 of an offset are its 1 + i % 2, 3 + i % 2, ... */
static int64_t integer_at(uint64_t seed, uint64_t offset, int64_t i, int64_t low, uint64_t range)
{
	wide product = (wide)pair_at(seed, offset, i) * range;
	for (uint32_t n = 1; (uint64_t)product < (uint64_t)(((wide)1 << 64) % range); n += 2) {
		product = (wide)pair_of(seed, offset + (uint64_t)i / 2, n + (uint32_t)(i % 2), 0)
			* range;
	}
	return (int64_t)((uint64_t)low + (uint64_t)(product >> 64));
}

/* Of the last range nearly half of the words are rejected. */
DEVICE_TEST(integers_fill_their_range)
{
	static const int64_t ranges[][2] = {{0, 10}, {-3, 4}, {5, 6}, {INT64_MIN, INT64_MAX},
		{0, INT64_C(1) << 40}, {-1 - (INT64_C(1) << 62), INT64_C(1) << 62}};
	static int64_t got[MANY];
	for (size_t r = 0; r < countof(ranges); r++) {
		const int64_t low = ranges[r][0], high = ranges[r][1];
		kz_array *x;
		begin(99, 1);
		ok(kz_random_integers(&x, rng, 0, KZ_SHAPE(MANY), low, high, NULL, &err));
		ck_assert_uint_eq(kz_array_dtype(x), KZ_I64);
		ok(kz_array_get(x, got, sizeof(got), &err));
		for (int i = 0; i < MANY; i++) {
			ck_assert_int_eq(got[i],
				integer_at(99, 1, i, low, (uint64_t)high - (uint64_t)low));
			ck_assert(got[i] >= low && got[i] < high);
		}
		kz_array_release(x);
	}
	end();
}

/* Probabilities of 0, 1, ...: of successes in trials, or of events. */
static double binomial_mass(int k, double n, double p)
{
	return exp(lgamma(n + 1) - lgamma(k + 1.0) - lgamma(n - k + 1) + k * log(p)
		+ (n - k) * log1p(-p));
}

static double poisson_mass(int k, double mean)
{
	return exp(k * log(mean) - mean - lgamma(k + 1.0));
}

/* Inversion, rejection, and probabilities above a half. */
static const struct {
	kz_distribution distribution;
	double a, b;
} counted[] = {
	{KZ_RANDOM_POISSON, 0.5, 0}, {KZ_RANDOM_POISSON, 9.9, 0}, {KZ_RANDOM_POISSON, 10, 0},
	{KZ_RANDOM_POISSON, 400, 0}, {KZ_RANDOM_BINOMIAL, 20, 0.3}, {KZ_RANDOM_BINOMIAL, 20, 0.9},
	{KZ_RANDOM_BINOMIAL, 60, 0.4}, {KZ_RANDOM_BINOMIAL, 1000, 0.75},
};

enum { DRAWN = 200000, BINS = 1200 };

/* Chi-square of the bins that should have five or more numbers; the others are together. */
static double chi_square(const int64_t *found, const double *mass, int *freedom)
{
	double sum = 0, rest = DRAWN, rest_found = DRAWN;
	*freedom = 0;
	for (int k = 0; k < BINS; k++) {
		double want = mass[k] * DRAWN;
		if (want >= 5) {
			sum += ((double)found[k] - want) * ((double)found[k] - want) / want;
			rest -= want;
			rest_found -= (double)found[k];
			++*freedom;
		}
	}
	return sum + (rest > 5 ? (rest_found - rest) * (rest_found - rest) / rest : 0);
}

DEVICE_TEST(counts_have_their_probabilities)
{
	static int32_t got[DRAWN];
	for (size_t c = 0; c < countof(counted); c++) {
		int64_t found[BINS] = {0};
		double mass[BINS];
		int freedom;
		kz_array *x;
		begin(3, 0);
		ok(kz_random_draw(&x, rng, counted[c].distribution, KZ_I32, KZ_SHAPE(DRAWN),
			counted[c].a, counted[c].b, NULL, &err));
		ok(kz_array_get(x, got, sizeof(got), &err));
		for (int i = 0; i < DRAWN; i++) {
			ck_assert(got[i] >= 0 && got[i] < BINS);
			found[got[i]]++;
		}
		for (int k = 0; k < BINS; k++) {
			mass[k] = counted[c].distribution == KZ_RANDOM_POISSON
				? poisson_mass(k, counted[c].a)
				: k <= counted[c].a ? binomial_mass(k, counted[c].a, counted[c].b)
				: 0;
		}
		/* Six standard deviations of chi-square. */
		double sum = chi_square(found, mass, &freedom);
		ck_assert_msg(sum < freedom + 6 * sqrt(2.0 * freedom) + 6, "case %zu: %g for %d", c,
			sum, freedom);
		kz_array_release(x);
	}
	end();
}

/* Means and variances, each within five standard errors. */
static const struct {
	kz_distribution distribution;
	double a, b, mean, variance, fourth; /* the fourth central moment */
} moments[] = {
	{KZ_RANDOM_GAMMA, 0.3, 2, 0.6, 1.2, 3 * 1.2 * 1.2 * (1 + 2 / 0.3)},
	{KZ_RANDOM_GAMMA, 4, 0.5, 2, 1, 3 * (1 + 2 / 4.0)},
	{KZ_RANDOM_BETA, 2, 3, 0.4, 0.04, 3 * 0.04 * 0.04},
	{KZ_RANDOM_BETA, 0.05, 0.05, 0.5, 0.25 / 1.1, 3 / (16 * 1.1 * 3.1)},
	{KZ_RANDOM_UNIFORM, -1, 3, 1, 16 / 12.0, 256 / 80.0},
	{KZ_RANDOM_NORMAL, 5, 2, 5, 4, 48},
	{KZ_RANDOM_EXPONENTIAL, 3, 0, 3, 9, 729},
};

DEVICE_TEST(moments_are_those_of_the_distributions)
{
	static double got[DRAWN];
	for (size_t m = 0; m < countof(moments); m++) {
		double sum = 0, squares = 0;
		kz_array *x;
		begin(17, 0);
		ok(kz_random_draw(&x, rng, moments[m].distribution, KZ_F64, KZ_SHAPE(DRAWN),
			moments[m].a, moments[m].b, NULL, &err));
		ok(kz_array_get(x, got, sizeof(got), &err));
		for (int i = 0; i < DRAWN; i++) {
			sum += got[i] - moments[m].mean;
			squares += (got[i] - moments[m].mean) * (got[i] - moments[m].mean);
		}
		double variance = moments[m].variance;
		ck_assert_double_eq_tol(sum / DRAWN, 0, 5 * sqrt(variance / DRAWN));
		ck_assert_double_eq_tol(squares / DRAWN, variance,
			5 * sqrt((moments[m].fourth - variance * variance) / DRAWN));
		kz_array_release(x);
	}
	end();
}

/* Parameters at their limits. */
DEVICE_TEST(edges_of_parameters_are_exact)
{
	static const struct {
		kz_distribution distribution;
		double a, b, want;
	} edges[] = {
		{KZ_RANDOM_NORMAL, 2, 0, 2}, {KZ_RANDOM_UNIFORM, 4, 4, 4},
		{KZ_RANDOM_EXPONENTIAL, 0, 0, 0},
		{KZ_RANDOM_GAMMA, 0, 3, 0}, {KZ_RANDOM_GAMMA, 3, 0, 0},
		{KZ_RANDOM_POISSON, 0, 0, 0},
		{KZ_RANDOM_BINOMIAL, 0, 0.5, 0}, {KZ_RANDOM_BINOMIAL, 50, 0, 0},
		{KZ_RANDOM_BINOMIAL, 50, 1, 50}, {KZ_RANDOM_BERNOULLI, 0, 0, 0},
		{KZ_RANDOM_BERNOULLI, 1, 0, 1},
	};
	float got[37];
	for (size_t e = 0; e < countof(edges); e++) {
		kz_array *x;
		begin(1, 0);
		ok(kz_random_draw(&x, rng, edges[e].distribution, KZ_F32, KZ_SHAPE(37), edges[e].a,
			edges[e].b, NULL, &err));
		ok(kz_array_get(x, got, sizeof(got), &err));
		for (int i = 0; i < 37; i++) {
			ck_assert_msg(got[i] == (float)edges[e].want, "edge %zu: %g", e,
				(double)got[i]);
		}
		kz_array_release(x);
	}
	end();
}

/* A place of a larger array, turned, and of other types. */
DEVICE_TEST(numbers_go_into_any_array)
{
	float row_major[12], got[12];
	int8_t small[12];
	int64_t large[12];
	const int64_t turned[2] = {4, 16}, rows[2] = {-32, 8}, whole[2] = {12, 4};
	const struct {
		const int64_t *strides;
		int64_t at;
	} places[] = {{turned, 4}, {rows, 200}, {whole, 4}, {whole, 16}};
	kz_array *x, *y, *view, *z;
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	begin(8, 5);
	ok(kz_random_uniform(&x, rng, 0, KZ_SHAPE(4, 3), 0, 1, &err));
	ok(kz_array_get(x, row_major, sizeof(row_major), &err));
	ok(kz_array_zeros(&y, dev, KZ_F32, KZ_SHAPE(100), &err));
	for (size_t i = 0; i < countof(places); i++) {
		ok(kz_array_view(&view, y, KZ_SHAPE(4, 3), places[i].strides, places[i].at, &err));
		options.into = view;
		begin(8, 5);
		ok(kz_random_draw(&z, rng, KZ_RANDOM_UNIFORM, 0, KZ_SHAPE(4, 3), 0, 1, &options,
			&err));
		ck_assert_ptr_eq(z, view);
		ok(kz_array_get(z, got, sizeof(got), &err));
		ck_assert_mem_eq(got, row_major, sizeof(got));
		release_arrays(z, view);
	}
	options.into = NULL;
	begin(8, 5);
	ok(kz_random_integers(&z, rng, KZ_I8, KZ_SHAPE(12), -128, 128, NULL, &err));
	ok(kz_array_get(z, small, sizeof(small), &err));
	kz_array_release(z);
	options.dtype = KZ_I64;
	begin(8, 5);
	ok(kz_random_integers(&z, rng, KZ_I8, KZ_SHAPE(12), -128, 128, &options, &err));
	ok(kz_array_get(z, large, sizeof(large), &err));
	for (int i = 0; i < 12; i++) {
		ck_assert_int_eq(small[i], large[i]);
	}
	release_arrays(x, y, z);
	end();
}

/* A half has as many bits as it can hold exactly; a complex number is two numbers. */
DEVICE_TEST(halves_and_complex_numbers_are_drawn_as_floats)
{
	float halves[MANY], parts[2 * 7];
	kz_array *x, *y, *z;
	begin(2, 0);
	ok(kz_random_uniform(&x, rng, KZ_F16, KZ_SHAPE(MANY), 0, 1, &err));
	ok(kz_array_astype(&y, x, KZ_F32, &err));
	ok(kz_array_get(y, halves, sizeof(halves), &err));
	for (int64_t i = 0; i < MANY; i++) {
		ck_assert(halves[i] == (float)(word_at(2, 0, i) >> 21) / 0x1p11f);
	}
	begin(2, 0);
	ok(kz_random_uniform(&z, rng, KZ_C64, KZ_SHAPE(7), 0, 1, &err));
	ck_assert_uint_eq(kz_random_offset(rng), 4);
	ok(kz_array_get(z, parts, sizeof(parts), &err));
	for (int64_t i = 0; i < 14; i++) {
		ck_assert(parts[i] == (float)(word_at(2, 0, i) >> 8) / 0x1p24f);
	}
	release_arrays(x, y, z);
	end();
}

/* What a kernel draws one after the other is what an array has. */
DEVICE_TEST(kernels_draw_the_numbers_of_arrays)
{
	static const char source[] = "#include <kudzu/random.cuh>\n"
		"extern \"C\" __global__ void draw(double *out)\n"
		"{\n"
		"	kz_rng rng(21, 5, 3);\n"
		"	for (int i = 0; i < 8; i++) out[i] = rng.uniform();\n"
		"	for (int i = 8; i < 16; i++) out[i] = rng.normal_double();\n"
		"	for (int i = 16; i < 20; i++) out[i] = rng.normal();\n"
		"	for (int i = 20; i < 24; i++) out[i] = (double)rng.integer(-7, 900);\n"
		"	for (int i = 24; i < 28; i++) out[i] = rng.gamma(0.5);\n"
		"	for (int i = 28; i < 32; i++) out[i] = rng.poisson(50);\n"
		"}\n";
	static const struct {
		kz_distribution distribution;
		kz_dtype dtype;
		double a, b;
		int first, count;
	} parts[] = {
		{KZ_RANDOM_UNIFORM, KZ_F32, 0, 1, 0, 8}, {KZ_RANDOM_NORMAL, KZ_F64, 0, 1, 8, 8},
		{KZ_RANDOM_NORMAL, KZ_F32, 0, 1, 16, 4}, {-1, KZ_I64, 0, 0, 20, 4},
		{KZ_RANDOM_GAMMA, KZ_F64, 0.5, 1, 24, 4}, {KZ_RANDOM_POISSON, KZ_F64, 50, 0, 28, 4},
	};
	static const char *const no_fma[] = {"--fmad=false", NULL};
	double drawn[32], got[8];
	kz_module *module;
	kz_kernel *kernel;
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.nvrtc_options = no_fma; /* as the library compiles its own kernels */
	ok(kz_module_compile(&module, dev, source, &options, &err));
	ok(kz_module_kernel(&kernel, module, "draw", &err));
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(KZ_OUT(drawn, sizeof(drawn)))));
	begin(21, 3);
	for (size_t p = 0; p < countof(parts); p++) {
		kz_array *x, *y;
		ok((int)parts[p].distribution < 0
			? kz_random_integers(&x, rng, 0, KZ_SHAPE(4), -7, 900, NULL, &err)
			: kz_random_draw(&x, rng, parts[p].distribution, parts[p].dtype,
				KZ_SHAPE(parts[p].count), parts[p].a, parts[p].b, NULL, &err));
		ok(kz_array_astype(&y, x, KZ_F64, &err));
		ok(kz_array_get(y, got, 8 * parts[p].count, &err));
		ck_assert_mem_eq(got, drawn + parts[p].first, 8 * (size_t)parts[p].count);
		release_arrays(x, y);
	}
	kz_module_release(module);
	end();
}

DEVICE_TEST(one_kernel_serves_all_sizes)
{
	kz_array *x, *y, *z;
	begin(1, 0);
	ok(kz_random_normal(&x, rng, KZ_F32, KZ_SHAPE(3), 0, 1, &err));
	int64_t before = support_compiled(dev);
	ok(kz_random_normal(&y, rng, KZ_F32, KZ_SHAPE(300, 7), 2, 9, &err));
	ok(kz_random_normal(&z, rng, KZ_F32, KZ_SHAPE(), 2, 9, &err));
	ck_assert_int_eq(support_compiled(dev), before);
	ck_assert_int_eq(kz_array_count(z), 1);
	release_arrays(x, y, z);
	end();
}

DEVICE_TEST(what_does_not_fit_is_refused)
{
	kz_array *x = NULL, *y;
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	const kz_shape two = KZ_SHAPE(2, 3);
	begin(1, 0);
	fails(kz_random_uniform(&x, NULL, 0, two, 0, 1, &err), KZ_INVALID,
		"expected a random number generator, got NULL");
	fails(kz_random_uniform(NULL, rng, 0, two, 0, 1, &err), KZ_INVALID, "out is NULL");
	fails(kz_random_uniform(&x, rng, KZ_I32, two, 0, 1, &err), KZ_INVALID,
		"uniform: expected a dtype of floats or complex numbers, got int32");
	fails(kz_random_gamma(&x, rng, KZ_C64, two, 1, 1, &err), KZ_INVALID,
		"gamma: expected a dtype of floats, got complex64");
	fails(kz_random_normal(&x, rng, 12345, two, 0, 1, &err), KZ_INVALID, "got none");
	fails(kz_random_normal(&x, rng, 0, two, 0, -1, &err), KZ_INVALID,
		"normal: expected a finite number of at least 0 as the standard deviation, got -1");
	fails(kz_random_normal(&x, rng, 0, two, NAN, 1, &err), KZ_INVALID,
		"normal: expected a finite number as the mean, got nan");
	fails(kz_random_beta(&x, rng, 0, two, 0, 1, &err), KZ_INVALID,
		"above 0 as the alpha, got 0");
	fails(kz_random_binomial(&x, rng, 0, two, 2.5, 1, &err), KZ_INVALID,
		"binomial: expected a whole number from 0 to 2^53 as the number of trials, "
		"got 2.5");
	fails(kz_random_bernoulli(&x, rng, 0, two, 1.5, &err), KZ_INVALID,
		"bernoulli: expected a number from 0 to 1 as the probability, got 1.5");
	fails(kz_random_draw(&x, rng, (kz_distribution)99, 0, two, 0, 1, NULL, &err), KZ_INVALID,
		"99 is not a kz_distribution");
	fails(kz_random_integers(&x, rng, KZ_F32, two, 0, 9, NULL, &err), KZ_INVALID,
		"expected a dtype of integers, got float32");
	fails(kz_random_integers(&x, rng, KZ_U8, two, -1, 9, NULL, &err), KZ_RANGE,
		"uint8 does not hold all integers from -1 to 8");
	fails(kz_random_integers(&x, rng, KZ_I8, two, 0, 129, NULL, &err), KZ_RANGE,
		"int8 does not hold all integers from 0 to 128");
	fails(kz_random_integers(&x, rng, 0, two, 4, 4, NULL, &err), KZ_INVALID, "got 4");
	fails(kz_random_uniform(&x, rng, 0, KZ_SHAPE(-1), 0, 1, &err), KZ_INVALID, "-1");
	ok(kz_array_zeros(&y, dev, KZ_F32, KZ_SHAPE(3, 2), &err));
	options.into = y;
	fails(kz_random_draw(&x, rng, KZ_RANDOM_UNIFORM, 0, two, 0, 1, &options, &err), KZ_INVALID,
		"uniform: shape (2, 3) does not fit into (3, 2)");
	fails(kz_random_integers(&x, rng, 0, KZ_SHAPE(3, 2), 0, 5, &(kz_op_options){.size = 1},
		&err), KZ_INVALID, "kz_op_options has size 1");
	ck_assert_uint_eq(kz_random_offset(rng), 0);
	ok(kz_random_seek(rng, UINT64_MAX - 1, &err));
	fails(kz_random_uniform(&x, rng, 0, KZ_SHAPE(9), 0, 1, &err), KZ_RANGE,
		"3 offsets from 18446744073709551614 on overflow 64 bits");
	ck_assert_ptr_null(x);
	kz_array_release(y);
	end();
}

DEVICE_TEST(a_released_generator_is_refused)
{
	kz_random *other = NULL;
	kz_array *x = NULL;
	begin(1, 0);
	kz_random_release(rng);
	fails(kz_random_uniform(&x, rng, 0, KZ_SHAPE(9), 0, 1, &err), KZ_INVALID,
		"expected a random number generator, got a random number generator that was "
		"released");
	fails(kz_random_seek(rng, 1, &err), KZ_INVALID, "that was released");
	ck_assert_uint_eq(kz_random_offset(rng), 0);
	kz_random_release(rng);
	rng = NULL;
	fails(kz_random_create(&other, NULL, 1, 0, &err), KZ_INVALID,
		"expected a device, got NULL");
	fails(kz_random_create(NULL, dev, 1, 0, &err), KZ_INVALID, "kz_random_create: out is NULL");
}

DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	int failed = 0;
	bool done = false;
	for (long n = 0; !done; n++) {
		kz_array *x = NULL;
		kz_random *other = NULL;
		mem_fail_after(n);
		kz_status st = kz_random_create(&other, dev, 1, 0, &err);
		st = st ? st : kz_random_integers(&x, other, KZ_I8, KZ_SHAPE(30), 0, 9, NULL, &err);
		done = !mem_has_failed();
		mem_fail_after(-1);
		ck_assert(done ? st == KZ_OK : st != KZ_OK || x);
		ck_assert(!st == !!x);
		failed += st != KZ_OK;
		kz_error_clear(&err);
		kz_array_release(x);
		kz_random_release(other);
	}
	ck_assert_int_gt(failed, 2);
}

SUITE(random)
{
	Suite *suite = suite_create("random");
	TCase *tcase = suite_add_case(suite, "random");
	int devices = both_shapes_count();
	tcase_add_tests(tcase, devices, the_generator_gives_the_known_answers,
		uniform_numbers_are_the_upper_bits, numbers_of_a_huge_range_are_finite,
		normal_numbers_are_pairs_of_box_and_muller,
		exponential_numbers_and_truths_come_from_the_unit, integers_fill_their_range,
		counts_have_their_probabilities, moments_are_those_of_the_distributions,
		edges_of_parameters_are_exact, numbers_go_into_any_array,
		halves_and_complex_numbers_are_drawn_as_floats, kernels_draw_the_numbers_of_arrays,
		one_kernel_serves_all_sizes, what_does_not_fit_is_refused,
		a_released_generator_is_refused, a_failing_allocation_leaves_nothing_behind);
	return suite;
}
