/* SPDX-License-Identifier: MIT */
/*
 * The generator on the host, against numpy 2.4 and PyTorch 2.15 (CPU, with FMA).
 *
 * numpy's numbers are what numpy.random.RandomState printed, floats by float.hex().  PyTorch's are
 * the bits of tensors after torch.manual_seed.
 */
#include "base/common.h"

#include "support/suite.h"
#include "support/support.h"

#include <kudzu/random.h>

#include <math.h>
#include <string.h>

static kz_mt19937 rng;
static kz_error err;

static uint32_t bits_of(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint64_t bits_of_double(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* The 10000th word of the seed 5489 is what the C++ standard says of mt19937 (26.5.5). */
START_TEST(words_are_those_of_the_paper)
{
	uint32_t word = 0;
	kz_mt19937_init(&rng, 5489);
	for (int i = 0; i < 10000; i++) {
		word = kz_mt19937_next(&rng);
	}
	ck_assert_uint_eq(word, 4123659995u);
	kz_mt19937_init(&rng, 33);
	ck_assert_uint_eq(kz_mt19937_next(&rng), 0x3f9e5c14u);
}
END_TEST

/* r = RandomState(33); r.random_sample(3); r.standard_normal(5); r.random_sample(); ... */
START_TEST(numpy_draws_the_same_reals)
{
	static const double sample[] = {0x1.fcf2e0b08f098p-3, 0x1.ccc65b55ab012p-2,
		0x1.a4cdaa75d9366p-2};
	static const double normal[] = {0x1.301a97eb52619p-1, -0x1.89997e406c79ep-2,
		0x1.db36198f6209dp-4, 0x1.2a67f7a0caaa6p-2, 0x1.12d6ddba8620bp-1};
	kz_mt19937_init(&rng, 33);
	for (int i = 0; i < 3; i++) {
		ck_assert_double_eq(kz_mt19937_double(&rng), sample[i]);
	}
	for (int i = 0; i < 5; i++) {
		ck_assert_double_eq(kz_mt19937_normal(&rng), normal[i]);
	}
	ck_assert_double_eq(kz_mt19937_double(&rng), 0x1.92d71e7b429ccp-2);
	ck_assert_double_eq(kz_mt19937_normal(&rng), -0x1.fb4e6c0993219p-7);
	kz_mt19937_init(&rng, 1);
	double last = 0;
	for (int i = 0; i < 100000; i++) {
		last = kz_mt19937_double(&rng);
	}
	ck_assert_double_eq(last, 0x1.39e2a9b1c4aaep-1);
	for (int i = 0; i < 100001; i++) {
		last = kz_mt19937_normal(&rng);
	}
	ck_assert_double_eq(last, -0x1.6619c213f7203p-1);
	ck_assert_double_eq(kz_mt19937_double(&rng), 0x1.13aeaa2a1c09cp-1);
}
END_TEST

static void check_integers(int64_t count, int64_t low, int64_t high, const int64_t *want)
{
	int64_t got[16];
	ok(kz_mt19937_integers(got, &rng, count, low, high, &err));
	for (int64_t i = 0; i < count; i++) {
		ck_assert_int_eq(got[i], want[i]);
	}
}

/* The draws of a state after which numpy printed the numbers below: those of the test above. */
static void go_on_behind_the_reals(void)
{
	kz_mt19937_init(&rng, 33);
	for (int i = 0; i < 3; i++) {
		kz_mt19937_double(&rng);
	}
	for (int i = 0; i < 5; i++) {
		kz_mt19937_normal(&rng);
	}
	kz_mt19937_double(&rng);
	kz_mt19937_normal(&rng);
	kz_mt19937_normal(&rng);
}

/* randint(-5, 6, 10), randint(0, 2**40, 4), randint(-2**63, 2**63 - 1, 3), randint(7, 8, 3), ... */
START_TEST(numpy_draws_the_same_integers)
{
	go_on_behind_the_reals();
	check_integers(10, -5, 6, (const int64_t[]){1, 1, -5, -1, 3, 3, -2, 2, 4, -2});
	check_integers(4, 0, INT64_C(1) << 40, (const int64_t[]){360050682887, 596029762115,
		30956202194, 898746101500});
	check_integers(3, INT64_MIN, INT64_MAX, (const int64_t[]){-6595655230250569493,
		-5512324667826441066, -7725169276059699686});
	check_integers(3, 7, 8, (const int64_t[]){7, 7, 7});
	check_integers(3, 0, INT64_C(1) << 32, (const int64_t[]){4095132320, 516371376, 239394028});
	static const int64_t order[] = {7, 9, 1, 0, 3, 8, 5, 6, 2, 4};
	int64_t got[10];
	kz_mt19937_permutation(got, &rng, 10);
	ck_assert_mem_eq(got, order, sizeof(order));
	int64_t rows[4][3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}};
	static const int64_t shuffled[4][3] = {{6, 7, 8}, {9, 10, 11}, {0, 1, 2}, {3, 4, 5}};
	kz_mt19937_shuffle(rows, &rng, 4, sizeof(rows[0]));
	ck_assert_mem_eq(rows, shuffled, sizeof(rows));
	ck_assert_double_eq(kz_mt19937_double(&rng), 0x1.e97577472833cp-2);
}
END_TEST

/* train_test_split(test_size=0.2, random_state=33) of 150 rows: the test rows come first. */
START_TEST(numpy_splits_the_iris_rows_in_the_same_way)
{
	static const int64_t first[] = {96, 65, 29, 54, 134, 100, 24, 17, 137, 120};
	int64_t rows[150];
	kz_mt19937_init(&rng, 33);
	kz_mt19937_permutation(rows, &rng, 150);
	ck_assert_mem_eq(rows, first, sizeof(first));
	ck_assert_int_eq(rows[149], 20);
}
END_TEST

/* manual_seed(32); rand(5); rand(3, dtype=float64); then uniform_(-b, b) with b = 1 / sqrt(3) */
START_TEST(torch_draws_the_same_uniform_numbers)
{
	static const uint32_t want[] = {0x3f602ad7, 0x3e8b4c56, 0x3ed3ff0a, 0x3f492536, 0x3de75be0};
	static const uint64_t wide[] = {0x3fe44fbef4a5e858, 0x3fc7764ef25983f0, 0x3fe34c47d0f2d1fe};
	static float got[2000];
	static double doubles[2000];
	kz_mt19937_init(&rng, 32);
	kz_mt19937_torch_uniform_f32(got, &rng, 5, 0, 1);
	kz_mt19937_torch_uniform_f64(doubles, &rng, 3, 0, 1);
	for (int i = 0; i < 5; i++) {
		ck_assert_uint_eq(bits_of(got[i]), want[i]);
		ck_assert(i >= 3 || bits_of_double(doubles[i]) == wide[i]);
	}
	const double bound = 1 / sqrt(3.0);
	uint32_t sum = 0;
	uint64_t sums = 0;
	kz_mt19937_init(&rng, 32);
	kz_mt19937_torch_uniform_f32(got, &rng, 2000, (float)-bound, (float)bound);
	kz_mt19937_torch_uniform_f64(doubles, &rng, 2000, -bound, bound * 0.7);
	for (int i = 0; i < 2000; i++) {
		sum = sum * 31 + bits_of(got[i]);
		sums = sums * 31 + bits_of_double(doubles[i]);
	}
	ck_assert_uint_eq(sum, 0x2dd2a117);
	ck_assert(sums == 0x0b75b3fa985501ae);
	kz_mt19937_torch_uniform_f32(got, &rng, 2000, -3e38f, 3e38f); // their differences overflow
	kz_mt19937_torch_uniform_f64(doubles, &rng, 2000, -1e308, 1.7e308);
	for (int i = 0; i < 2000; i++) {
		ck_assert(got[i] >= -3e38f && got[i] <= 3e38f);
		ck_assert(doubles[i] >= -1e308 && doubles[i] <= 1.7e308);
	}
}
END_TEST

/* manual_seed(7); randn(5), randn(3), rand(2): pairs go on across calls */
START_TEST(torch_draws_the_same_few_normal_numbers)
{
	static const uint32_t want[] = {0xbe165174, 0x3f49408e, 0x3f7262e7, 0xbf8ea2d3, 0x3fd86bd0,
		0xbf651371, 0xbeb6147c, 0x3f9dbed1, 0x3f386ada, 0x3d959c40};
	static const uint64_t wide[] = {0xbfc2ca2e8774a1c0, 0x3fe92811cc01ae83, 0x3fee4c5cd4ba2dcf,
		0xbff1d45a657cf2b6, 0x3ffb0d79f26af9af, 0xbfeca26e13930e85};
	float got[10];
	double doubles[6];
	kz_mt19937_init(&rng, 7);
	kz_mt19937_torch_normal_f32(got, &rng, 5);
	kz_mt19937_torch_normal_f32(got + 5, &rng, 3);
	kz_mt19937_torch_uniform_f32(got + 8, &rng, 2, 0, 1);
	for (int i = 0; i < 10; i++) {
		ck_assert_uint_eq(bits_of(got[i]), want[i]);
	}
	kz_mt19937_init(&rng, 7);
	kz_mt19937_torch_normal_f64(doubles, &rng, 6);
	for (int i = 0; i < 6; i++) {
		ck_assert_double_eq_tol(doubles[i], ((union { uint64_t u; double d; }){wide[i]}).d,
			1e-15); /* the C library's sine may be another one */
	}
}
END_TEST

/* manual_seed(7); randn(17), rand(2): the last sixteen are drawn again.  PyTorch computes float32
 * with logarithms and sines of its own. */
START_TEST(torch_draws_the_same_many_normal_numbers)
{
	static const float want[] = {-0x1.a3e8acp-1f, -0x1.4c5b32p-2f, 0x1.ed2676p+0f,
		-0x1.51ee98p-2f,
		0x1.966a5cp-3f, 0x1.906bd4p-1f, 0x1.0a02f6p+0f, -0x1.72f312p-1f, -0x1.b2a426p-1f,
		-0x1.b904fap-3f, -0x1.d0d398p+0f, -0x1.61871cp-2f, -0x1.07de82p+1f, 0x1.5923bap-1f,
		-0x1.52c6cap+0f, -0x1.5c19d2p+0f, -0x1.bbc05p-1f};
	static const double wide[] = {0x1.0f6e8d3a53973p-4, -0x1.2a06c67e33848p-2,
		0x1.d5026572adeb7p-2, 0x1.b17a7806ce055p+0, 0x1.751bc44dd094ap+0};
	float got[19];
	double doubles[19];
	kz_mt19937_init(&rng, 7);
	kz_mt19937_torch_normal_f32(got, &rng, 17);
	kz_mt19937_torch_uniform_f32(got + 17, &rng, 2, 0, 1);
	for (int i = 0; i < 17; i++) {
		ck_assert_float_eq_tol(got[i], want[i], 3e-7f);
	}
	kz_mt19937_init(&rng, 7);
	kz_mt19937_torch_normal_f64(doubles, &rng, 17);
	for (int i = 0; i < 5; i++) {
		ck_assert_double_eq_tol(doubles[i], wide[i], 1e-15);
	}
}
END_TEST

START_TEST(bad_arguments_do_no_harm)
{
	int64_t number = 7;
	kz_mt19937_init(NULL, 1);
	ck_assert_uint_eq(kz_mt19937_next(NULL), 0);
	kz_mt19937_init(&rng, 1);
	fails(kz_mt19937_integers(&number, &rng, 1, 5, 5, &err), KZ_INVALID,
		"expected integers from 5 to below a number above it, got 5");
	fails(kz_mt19937_integers(&number, &rng, -1, 0, 5, &err), KZ_INVALID, "got -1");
	fails(kz_mt19937_integers(NULL, &rng, 1, 0, 5, &err), KZ_INVALID, "got NULL");
	fails(kz_mt19937_integers(&number, NULL, 1, 0, 5, &err), KZ_INVALID, "got NULL");
	ok(kz_mt19937_integers(NULL, &rng, 0, 0, 5, &err));
	kz_mt19937_shuffle(NULL, &rng, 3, 8);
	kz_mt19937_permutation(&number, &rng, -1);
	kz_mt19937_permutation(NULL, &rng, 1);
	kz_mt19937_torch_normal_f32(NULL, &rng, 20);
	kz_mt19937_torch_normal_f64(NULL, &rng, 20);
	kz_mt19937_torch_uniform_f64(NULL, &rng, 20, 0, 1);
	ck_assert_int_eq(number, 7);
	ck_assert_uint_eq(kz_mt19937_next(&rng), 1791095845u); /* none has drawn */
}
END_TEST

SUITE(mt19937)
{
	Suite *suite = suite_create("mt19937");
	TCase *tcase = suite_add_case(suite, "draws");
	tcase_add_test(tcase, words_are_those_of_the_paper);
	tcase_add_test(tcase, numpy_draws_the_same_reals);
	tcase_add_test(tcase, numpy_draws_the_same_integers);
	tcase_add_test(tcase, numpy_splits_the_iris_rows_in_the_same_way);
	tcase_add_test(tcase, torch_draws_the_same_uniform_numbers);
	tcase_add_test(tcase, torch_draws_the_same_few_normal_numbers);
	tcase_add_test(tcase, torch_draws_the_same_many_normal_numbers);
	tcase_add_test(tcase, bad_arguments_do_no_harm);
	return suite;
}
