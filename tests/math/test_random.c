/* SPDX-License-Identifier: MIT */
/*
 * Random numbers on every device, against Philox4x32-10 in plain C, which the known-answer vectors of
 * the Random123 distribution check.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "ops/device_code.h"
#include "support/suite.h"

#include <kudzu/random.h>

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

/* Word `i` of a counter. */
static uint32_t word_of(uint64_t seed, uint64_t counter, int i)
{
	uint32_t out[4];
	philox(out, (const uint32_t[]){(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0},
		(const uint32_t[]){(uint32_t)seed, (uint32_t)(seed >> 32)});
	return out[i];
}

/* The bits of the number at a position: 32 of a float32, 64 of the others. */
static uint32_t word_at(uint64_t seed, uint64_t at)
{
	return word_of(seed, at / 4, (int)(at % 4));
}

static uint64_t pair_at(uint64_t seed, uint64_t at)
{
	int first = 2 * (int)(at % 2);
	return (uint64_t)word_of(seed, at / 2, first) << 32 | word_of(seed, at / 2, first + 1);
}

DEVICE_TEST(the_generator_gives_the_known_answers)
{
	static const char tail[] = "extern \"C\" __global__ void answer(const unsigned *in, unsigned *out)\n"
		"{\n"
		"	kz_bits c = kz_philox(kz_bits{{in[0], in[1], in[2], in[3]}}, in[4], in[5]);\n"
		"	for (int i = 0; i < 4; i++) {\n		out[i] = c.at[i];\n	}\n}\n";
	static char source[1 << 14];
	kz_module *module;
	kz_kernel *kernel;
	snprintf(source, sizeof(source), "%s%s", device_philox, tail);
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

/* Some of each: seeds of 32 and 64 bits, positions within counters, more than one block. */
static const struct {
	int64_t count;
	uint64_t seed, offset;
} draws[] = {
	{1, 0, 0}, {6, 42, 0}, {4, 7, 1}, {7, UINT64_MAX, 2}, {MANY, 0x123456789abcdef, 3},
	{MANY, 5, 0}, {MANY - 3, 5, UINT64_C(0x3fffffffe)}, {9, 1, UINT64_MAX - 9}, {0, 1, 0},
};

DEVICE_TEST(uniform_numbers_are_the_upper_bits)
{
	static float singles[MANY];
	static double doubles[MANY];
	for (size_t d = 0; d < sizeof(draws) / sizeof(draws[0]); d++) {
		const int64_t count = draws[d].count;
		kz_array *x, *y;
		ok(kz_random_uniform(&x, dev, 0, KZ_SHAPE(count), draws[d].seed, draws[d].offset, NULL,
			&err));
		ok(kz_random_uniform(&y, dev, KZ_F64, KZ_SHAPE(count), draws[d].seed, draws[d].offset,
			NULL, &err));
		ck_assert_uint_eq(kz_array_dtype(x), KZ_F32);
		ok(kz_array_get(x, singles, 4 * count, &err));
		ok(kz_array_get(y, doubles, 8 * count, &err));
		for (int64_t i = 0; i < count; i++) {
			uint64_t at = draws[d].offset + (uint64_t)i;
			ck_assert(singles[i] == (float)(word_at(draws[d].seed, at) >> 8) / 0x1p24f);
			ck_assert(doubles[i] == (double)(pair_at(draws[d].seed, at) >> 11) / 0x1p53);
		}
		release_arrays(x, y);
	}
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
	for (size_t d = 0; d < sizeof(draws) / sizeof(draws[0]); d++) {
		const int64_t count = draws[d].count;
		const uint64_t seed = draws[d].seed;
		kz_array *x, *y;
		ok(kz_random_normal(&x, dev, KZ_F32, KZ_SHAPE(count), seed, draws[d].offset, NULL, &err));
		ok(kz_random_normal(&y, dev, KZ_F64, KZ_SHAPE(count), seed, draws[d].offset, NULL, &err));
		ok(kz_array_get(x, singles, 4 * count, &err));
		ok(kz_array_get(y, doubles, 8 * count, &err));
		for (int64_t i = 0; i < count; i++) {
			uint64_t at = draws[d].offset + (uint64_t)i, first = at & ~UINT64_C(1);
			double want = box_muller((word_at(seed, first) + 1.0) / 0x1p32,
				word_at(seed, first + 1) / 0x1p32, at & 1);
			ck_assert_double_eq_tol(singles[i], want, 4e-6);
			want = box_muller(((double)(pair_at(seed, first) >> 11) + 1) / 0x1p53,
				(double)(pair_at(seed, first + 1) >> 11) / 0x1p53, at & 1);
			ck_assert_double_eq_tol(doubles[i], want, 1e-14);
		}
		release_arrays(x, y);
	}
}

DEVICE_TEST(integers_fill_their_range)
{
	static const int64_t ranges[][2] = {{0, 10}, {-3, 4}, {5, 6}, {INT64_MIN, INT64_MAX},
		{0, INT64_C(1) << 40}};
	static int64_t got[MANY];
	__extension__ typedef unsigned __int128 wide;
	for (size_t r = 0; r < sizeof(ranges) / sizeof(ranges[0]); r++) {
		const int64_t low = ranges[r][0], high = ranges[r][1];
		kz_array *x;
		ok(kz_random_integers(&x, dev, 0, KZ_SHAPE(MANY), low, high, 99, 1, NULL, &err));
		ck_assert_uint_eq(kz_array_dtype(x), KZ_I64);
		ok(kz_array_get(x, got, sizeof(got), &err));
		for (int i = 0; i < MANY; i++) {
			uint64_t part = (uint64_t)((wide)pair_at(99, (uint64_t)i + 1)
				* ((uint64_t)high - (uint64_t)low) >> 64);
			ck_assert_int_eq(got[i], (int64_t)((uint64_t)low + part));
			ck_assert(got[i] >= low && got[i] < high);
		}
		kz_array_release(x);
	}
}

/* A place of a larger array, turned, and of other types. */
DEVICE_TEST(numbers_go_into_any_array)
{
	float row_major[12], got[12];
	int8_t small[12];
	int64_t large[12];
	const int64_t turned[2] = {4, 16}, rows[2] = {-32, 8};
	kz_array *x, *y, *view, *z;
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	ok(kz_random_uniform(&x, dev, 0, KZ_SHAPE(4, 3), 8, 5, NULL, &err));
	ok(kz_array_get(x, row_major, sizeof(row_major), &err));
	ok(kz_array_zeros(&y, dev, KZ_F32, KZ_SHAPE(100), &err));
	for (int i = 0; i < 2; i++) {
		ok(kz_array_view(&view, y, KZ_SHAPE(4, 3), i ? rows : turned, i ? 200 : 4, &err));
		options.into = view;
		ok(kz_random_uniform(&z, i ? dev : NULL, 0, KZ_SHAPE(4, 3), 8, 5, &options, &err));
		ck_assert_ptr_eq(z, view);
		ok(kz_array_get(z, got, sizeof(got), &err));
		ck_assert_mem_eq(got, row_major, sizeof(got));
		release_arrays(z, view);
	}
	options.into = NULL;
	ok(kz_random_integers(&z, dev, KZ_I8, KZ_SHAPE(12), -128, 128, 8, 5, NULL, &err));
	ok(kz_array_get(z, small, sizeof(small), &err));
	kz_array_release(z);
	options.dtype = KZ_I64;
	ok(kz_random_integers(&z, dev, KZ_I8, KZ_SHAPE(12), -128, 128, 8, 5, &options, &err));
	ok(kz_array_get(z, large, sizeof(large), &err));
	for (int i = 0; i < 12; i++) {
		ck_assert_int_eq(small[i], large[i]);
	}
	release_arrays(x, y, z);
}

DEVICE_TEST(one_kernel_serves_all_sizes)
{
	kz_array *x, *y, *z;
	ok(kz_random_normal(&x, dev, KZ_F32, KZ_SHAPE(3), 1, 0, NULL, &err));
	int64_t before = support_compiled(dev);
	ok(kz_random_normal(&y, dev, KZ_F32, KZ_SHAPE(300, 7), 2, 9, NULL, &err));
	ok(kz_random_normal(&z, dev, KZ_F32, KZ_SHAPE(), 2, 9, NULL, &err));
	ck_assert_int_eq(support_compiled(dev), before);
	ck_assert_int_eq(kz_array_count(z), 1);
	release_arrays(x, y, z);
}

DEVICE_TEST(what_does_not_fit_is_refused)
{
	kz_array *x = NULL, *y;
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	const kz_shape two = KZ_SHAPE(2, 3);
	fails(kz_random_uniform(&x, NULL, 0, two, 1, 0, NULL, &err), KZ_INVALID,
		"expected a device, got NULL");
	fails(kz_random_uniform(NULL, dev, 0, two, 1, 0, NULL, &err), KZ_INVALID, "out is NULL");
	fails(kz_random_uniform(&x, dev, KZ_F16, two, 1, 0, NULL, &err), KZ_INVALID,
		"uniform: expected float32 or float64, got float16");
	fails(kz_random_normal(&x, dev, 12345, two, 1, 0, NULL, &err), KZ_INVALID, "got none");
	fails(kz_random_integers(&x, dev, KZ_F32, two, 0, 9, 1, 0, NULL, &err), KZ_INVALID,
		"expected a dtype of integers, got float32");
	fails(kz_random_integers(&x, dev, KZ_U8, two, -1, 9, 1, 0, NULL, &err), KZ_RANGE,
		"uint8 does not hold all integers from -1 to 8");
	fails(kz_random_integers(&x, dev, KZ_I8, two, 0, 129, 1, 0, NULL, &err), KZ_RANGE,
		"int8 does not hold all integers from 0 to 128");
	fails(kz_random_integers(&x, dev, 0, two, 4, 4, 1, 0, NULL, &err), KZ_INVALID, "got 4");
	fails(kz_random_uniform(&x, dev, 0, two, 1, UINT64_MAX - 4, NULL, &err), KZ_RANGE,
		"6 numbers from position 18446744073709551611 on go beyond 64 bits");
	fails(kz_random_uniform(&x, dev, 0, KZ_SHAPE(-1), 1, 0, NULL, &err), KZ_INVALID, "-1");
	ok(kz_array_zeros(&y, dev, KZ_F32, KZ_SHAPE(3, 2), &err));
	options.into = y;
	fails(kz_random_uniform(&x, dev, 0, two, 1, 0, &options, &err), KZ_INVALID,
		"uniform: shape (2, 3) does not go into (3, 2)");
	fails(kz_random_integers(&x, dev, 0, KZ_SHAPE(3, 2), 0, 5, 1, 0,
		&(kz_op_options){.size = 1}, &err), KZ_INVALID, "kz_op_options has size 1");
	ck_assert_ptr_null(x);
	kz_array_release(y);
}

DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	int failed = 0;
	bool done = false;
	for (long n = 0; !done; n++) {
		kz_array *x = NULL;
		mem_fail_after(n);
		kz_status st = kz_random_integers(&x, dev, KZ_I8, KZ_SHAPE(30), 0, 9, 1, 0, NULL, &err);
		done = !mem_has_failed();
		mem_fail_after(-1);
		ck_assert(done ? st == KZ_OK : st != KZ_OK || x);
		ck_assert(!st == !!x);
		failed += st != KZ_OK;
		kz_error_clear(&err);
		kz_array_release(x);
	}
	ck_assert_int_gt(failed, 2);
}

SUITE(random)
{
	Suite *suite = suite_create("random");
	TCase *tcase = suite_add_case(suite, "random");
	int devices = both_shapes_count();
	tcase_add_tests(tcase, devices, the_generator_gives_the_known_answers,
		uniform_numbers_are_the_upper_bits, normal_numbers_are_pairs_of_box_and_muller,
		integers_fill_their_range, numbers_go_into_any_array, one_kernel_serves_all_sizes,
		what_does_not_fit_is_refused, a_failing_allocation_leaves_nothing_behind);
	return suite;
}
