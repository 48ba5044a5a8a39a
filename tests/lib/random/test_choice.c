/* SPDX-License-Identifier: MIT */
/* Permutations, shuffles and samples on every device: what they must hold, and how often. */
#include "base/common.h"

#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static kz_random *rng;

static void begin(int index)
{
	setup(index);
	ok(kz_random_create(&rng, dev, 11, 0, &err));
}

static void end(void)
{
	kz_random_release(rng);
	teardown();
}

#define CHOICE_TEST(name) TEST_IF(support_is_way_tried(#name, _i % 2), begin(_i), end(), name)

/* Chi-square of counts against probabilities is at most what one in a million exceeds. */
static void check_counts(const int64_t *counts, const double *probabilities, int n)
{
	double square = 0, total = 0;
	for (int i = 0; i < n; i++) {
		total += (double)counts[i];
	}
	for (int i = 0; i < n; i++) {
		const double want = total * probabilities[i];
		ck_assert(want > 0 || counts[i] == 0);
		square += want > 0 ? (counts[i] - want) * (counts[i] - want) / want : 0;
	}
	/* Wilson, Hilferty */
	const double k = n - 1, cube = 1 - 2 / (9 * k) + 4.75 * sqrt(2 / (9 * k));
	ck_assert_msg(square < k * cube * cube * cube, "chi-square %g of %d", square, n);
}

CHOICE_TEST(a_permutation_has_each_number_once)
{
	static const int64_t sizes[] = {0, 1, 2, 33, 1000, 100000};
	static int64_t got[100000];
	static char seen[100000];
	for (size_t k = 0; k < countof(sizes); k++) {
		const int64_t n = sizes[k];
		int64_t moved = 0;
		kz_array *order;
		ok(kz_random_permutation(&order, rng, n, NULL, &err));
		ck_assert(kz_array_dtype(order) == KZ_I64 && kz_array_count(order) == n);
		ok(kz_array_get(order, got, 8 * n, &err));
		memset(seen, 0, sizeof(seen));
		for (int64_t i = 0; i < n; i++) {
			ck_assert(got[i] >= 0 && got[i] < n && !seen[got[i]]);
			seen[got[i]] = 1;
			moved += got[i] != i;
		}
		ck_assert(n < 33 || moved > n * 9 / 10);
		kz_array_release(order);
	}
}

CHOICE_TEST(every_order_is_as_likely)
{
	static const double even[24] = {1 / 24., 1 / 24., 1 / 24., 1 / 24., 1 / 24., 1 / 24.,
		1 / 24.,
		1 / 24., 1 / 24., 1 / 24., 1 / 24., 1 / 24., 1 / 24., 1 / 24., 1 / 24., 1 / 24.,
		1 / 24., 1 / 24., 1 / 24., 1 / 24., 1 / 24., 1 / 24., 1 / 24., 1 / 24.};
	int64_t counts[24] = {0}, got[4];
	const int runs = support_how_many(2000, 300, 250);
	for (int run = 0; run < runs; run++) {
		int rank = 0;
		kz_array *order;
		ok(kz_random_permutation(&order, rng, 4, NULL, &err));
		ok(kz_array_get(order, got, sizeof(got), &err));
		for (int i = 0; i < 4; i++) {
			int below = 0;
			for (int k = i + 1; k < 4; k++) {
				below += got[k] < got[i];
			}
			rank = rank * (4 - i) + below;
		}
		counts[rank]++;
		kz_array_release(order);
	}
	check_counts(counts, even, 24);
}

CHOICE_TEST(a_shuffle_moves_rows)
{
	enum { ROWS = 500, COLUMNS = 3 };
	int32_t host[ROWS][COLUMNS], got[ROWS][COLUMNS];
	char seen[ROWS] = {0};
	int moved = 0;
	kz_array *array, *flipped;
	for (int i = 0; i < ROWS; i++) {
		for (int k = 0; k < COLUMNS; k++) {
			host[i][k] = i * COLUMNS + k;
		}
	}
	ok(kz_array_from(&array, dev, KZ_I32, KZ_SHAPE(ROWS, COLUMNS), host, sizeof(host), &err));
	ok(kz_array_flip(&flipped, array, KZ_AXES(0), &err)); /* a view: strides below 0 */
	ok(kz_random_shuffle(flipped, rng, NULL, &err));
	ok(kz_array_get(array, got, sizeof(got), &err));
	for (int i = 0; i < ROWS; i++) {
		const int row = got[i][0] / COLUMNS;
		ck_assert_mem_eq(got[i], host[row], sizeof(got[i]));
		ck_assert(!seen[row]);
		seen[row] = 1;
		moved += row != i;
	}
	ck_assert_int_gt(moved, ROWS * 9 / 10);
	release_arrays(array, flipped);
}

/* How often each of n numbers is the first one chosen. */
static void choose(int64_t *counts, int64_t n, int replace, kz_array *weights)
{
	kz_array *chosen;
	static int64_t got[20000];
	if (replace) {
		ok(kz_random_choice(&chosen, rng, n, 20000, 1, weights, NULL, &err));
		ok(kz_array_get(chosen, got, sizeof(got), &err));
		for (int i = 0; i < 20000; i++) {
			ck_assert(got[i] >= 0 && got[i] < n);
			counts[got[i]]++;
		}
		kz_array_release(chosen);
		return;
	}
	const int runs = support_how_many(2000, 300, 100);
	for (int run = 0; run < runs; run++) {
		ok(kz_random_choice(&chosen, rng, n, 2, 0, weights, NULL, &err));
		ok(kz_array_get(chosen, got, 16, &err));
		ck_assert(got[0] != got[1] && got[1] >= 0 && got[1] < n);
		counts[got[0]]++;
		kz_array_release(chosen);
	}
}

CHOICE_TEST(choices_follow_the_weights)
{
	const double even[5] = {0.2, 0.2, 0.2, 0.2, 0.2}, shares[5] = {0.1, 0, 0.4, 0.5, 0};
	const float host[5] = {1, 0, 4, 5, 0};
	kz_array *weights;
	ok(kz_array_from(&weights, dev, KZ_F32, KZ_SHAPE(5), host, sizeof(host), &err));
	for (int replace = 0; replace < 2; replace++) {
		int64_t counts[2][5] = {{0}};
		choose(counts[0], 5, replace, NULL);
		choose(counts[1], 5, replace, weights);
		check_counts(counts[0], even, 5);
		check_counts(counts[1], shares, 5);
	}
	kz_array_release(weights);
}

CHOICE_TEST(choices_of_none_are_empty)
{
	kz_array *chosen;
	for (int replace = 0; replace < 2; replace++) {
		for (int64_t n = 0; n < 4; n += 3) {
			ok(kz_random_choice(&chosen, rng, n, 0, replace, NULL, NULL, &err));
			ck_assert_int_eq(kz_array_count(chosen), 0);
			kz_array_release(chosen);
		}
	}
}

CHOICE_TEST(a_bad_choice_is_refused)
{
	const float zeros[3] = {0, 2, 0}, negative[3] = {1, -1, 1}, infinite[3] = {1, INFINITY, 1};
	kz_array *some, *bad, *wide, *scalar, *complex, *out = NULL;
	ok(kz_array_from(&some, dev, KZ_F32, KZ_SHAPE(3), zeros, sizeof(zeros), &err));
	ok(kz_array_from(&bad, dev, KZ_F32, KZ_SHAPE(3), negative, sizeof(negative), &err));
	ok(kz_array_from(&wide, dev, KZ_F32, KZ_SHAPE(3), infinite, sizeof(infinite), &err));
	ok(kz_array_ones(&scalar, dev, KZ_F32, KZ_SHAPE(), &err));
	ok(kz_array_ones(&complex, dev, KZ_C64, KZ_SHAPE(3), &err));
	fails(kz_random_permutation(&out, rng, -1, NULL, &err), KZ_INVALID, "");
	fails(kz_random_permutation(&out, NULL, 3, NULL, &err), KZ_INVALID, "");
	fails(kz_random_permutation(NULL, rng, 3, NULL, &err), KZ_INVALID, "out is NULL");
	fails(kz_random_shuffle(scalar, rng, NULL, &err), KZ_INVALID, "a 0-d array has no rows");
	fails(kz_random_shuffle(NULL, rng, NULL, &err), KZ_INVALID, "expected an array");
	fails(kz_random_choice(&out, rng, 3, 4, 0, NULL, NULL, &err), KZ_INVALID,
		"cannot choose 4 of 3 without replacement");
	fails(kz_random_choice(&out, rng, 0, 1, 1, NULL, NULL, &err), KZ_INVALID,
		"cannot choose 1 of 0");
	fails(kz_random_choice(&out, rng, 3, 2, 0, some, NULL, &err), KZ_INVALID,
		"expected at most as many choices as weights above 0, got 2 choices and 1 weights");
	fails(kz_random_choice(&out, rng, 3, 1, 1, bad, NULL, &err), KZ_INVALID, "at least 0");
	fails(kz_random_choice(&out, rng, 3, 1, 1, wide, NULL, &err), KZ_INVALID, "finite sum");
	fails(kz_random_choice(&out, rng, 4, 1, 1, some, NULL, &err), KZ_INVALID,
		"expected 4 real numbers as weights, got float32 of shape (3,)");
	fails(kz_random_choice(&out, rng, 3, 1, 1, complex, NULL, &err), KZ_INVALID,
		"got complex64");
	ck_assert_ptr_null(out);
	release_arrays(some, bad, wide, scalar, complex);
}

SUITE(choice)
{
	Suite *suite = suite_create("choice");
	tcase_add_tests(suite_add_case(suite, "choice"), both_shapes_count(),
		a_permutation_has_each_number_once, every_order_is_as_likely, a_shuffle_moves_rows,
		choices_follow_the_weights, choices_of_none_are_empty, a_bad_choice_is_refused);
	return suite;
}
