/* SPDX-License-Identifier: MIT */
/*
 * Cases of the corpus: cuRAND's device generators.  The references step the generators as their
 * papers define them (Marsaglia's xorwow, Philox4x32-10 of Salmon and others, L'Ecuyer's MRG32k3a);
 * what they skip is computed as a power of the matrix of one step.
 */
#include "base/common.h"

#include "corpus.h"
#include "support/generators.h"

#include <math.h>
#include <string.h>

static const uint64_t seed = 0x123456789abcdefull;

/* cuRAND's uniform float in (0, 1]. */
static float uniform(uint32_t x)
{
	return (float)x * 0x1p-32f + 0x1p-33f;
}

/* Box and Muller: the radius, and the angle. */
static void check_normal(const char *what, size_t index, float got, float base, uint32_t x,
	uint32_t y, bool is_sine)
{
	float turn = 2.3283064e-10f * 6.2831855f;
	float angle = (float)y * turn + turn / 2;
	double radius = sqrt(-2 * log((double)uniform(x)));
	double wave = is_sine ? sin((double)angle) : cos((double)angle);
	/* __sincosf is within 2^-20 or so of angles up to 2 pi, and rounds that angle. */
	corpus_near(what, index, (double)got, (double)base + radius * wave,
		0x1p-19 * (radius + 1));
}

static void run_xorwow(void)
{
	enum { BLOCK = 40, N = 2 * BLOCK };
	struct xorwow m[XORWOW_BITS];
	float o[N];
	uint32_t first;
	struct xorwow s = xorwow_seed(seed, &first);
	CUdeviceptr d = corpus_room(sizeof(o));
	corpus_launch("rx", corpus_line(2, BLOCK), (void *[]){&d, (void *)&seed});
	corpus_get(d, o, sizeof(o));
	/* A subsequence is 2^67 steps. */
	xorwow_matrix(m);
	for (int square = 0; square < 67; square++) {
		xorwow_square(m);
	}
	for (size_t i = 0; i < N; i++) {
		struct xorwow at = s;
		uint32_t draws[3], counter = first;
		for (int k = 0; k < 3; k++) {
			at = xorwow_step(at);
			counter += 362437;
			draws[k] = at.v[4] + counter;
		}
		check_normal("rx", i, o[i], uniform(draws[0]), draws[1], draws[2], true);
		s = xorwow_apply(m, s);
	}
}

static void philox(uint32_t out[4], uint64_t subsequence)
{
	uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
	uint32_t c[4] = {0, 0, (uint32_t)subsequence, (uint32_t)(subsequence >> 32)};
	for (int round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)0xd2511f53 * c[0], b = (uint64_t)0xcd9e8d57 * c[2];
		uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b,
			(uint32_t)(a >> 32) ^ c[3] ^ key[1], (uint32_t)a};
		memcpy(c, next, sizeof(c));
		key[0] += 0x9e3779b9;
		key[1] += 0xbb67ae85;
	}
	memcpy(out, c, sizeof(c));
}

static void run_philox(void)
{
	enum { BLOCK = 50, N = 3 * BLOCK };
	float o[N][4];
	CUdeviceptr d = corpus_room(sizeof(o));
	corpus_launch("ph", corpus_line(3, BLOCK), (void *[]){&d, (void *)&seed});
	corpus_get(d, o, sizeof(o));
	for (size_t i = 0; i < N; i++) {
		uint32_t x[4];
		philox(x, i);
		for (size_t k = 0; k < 4; k++) {
			check_normal("ph", 4 * i + k, o[i][k], 0, x[k & 2], x[(k & 2) + 1],
				!(k & 1));
		}
	}
}

/* Draws until the product of uniform numbers and e^3 is at most 1 (Knuth); UINT32_MAX where the
 * last bit of that product decides. */
static uint32_t poisson(uint64_t step[2][3][3], uint64_t s[2][3])
{
	double product = exp(3.0);
	for (uint32_t count = 0;; count++) {
		mrg_apply(step, s);
		uint64_t z = s[0][2] > s[1][2] ? s[0][2] - s[1][2]
			: s[0][2] + mrg_moduli[0] - s[1][2];
		product *= (double)z * 2.3283065498378288e-10;
		if (fabs(product - 1) < 1e-4) {
			return UINT32_MAX;
		}
		if (product < 1) {
			return count;
		}
	}
}

static void run_poisson(void)
{
	enum { N = 70 };
	uint32_t o[N];
	uint64_t step[2][3][3], skip[2][3][3], s[2][3];
	CUdeviceptr d = corpus_room(sizeof(o));
	corpus_launch("poi", corpus_line(1, N), (void *[]){&d, (void *)&seed});
	corpus_get(d, o, sizeof(o));
	/* A subsequence is 2^76 steps. */
	mrg_matrices(step);
	mrg_matrices(skip);
	for (int square = 0; square < 76; square++) {
		mrg_square(skip);
	}
	mrg_seed(s, seed);
	for (int i = 0; i < N; i++) {
		uint64_t at[2][3];
		memcpy(at, s, sizeof(at));
		uint32_t want = poisson(step, at);
		ck_assert_msg(want == UINT32_MAX || o[i] == want, "%s: %d: got %u, expected %u",
			corpus_where(), i, o[i], want);
		mrg_apply(skip, s);
	}
}

const struct corpus_case corpus_random[] = {
	{"18_curand", "rx", run_xorwow, 0, 0},
	{"18_curand", "ph", run_philox, 0, 0},
	{"18_curand", "poi", run_poisson, 0, 0},
	{0},
};
