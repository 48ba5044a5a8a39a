/* SPDX-License-Identifier: MIT */
/*
 * Cases of the corpus: cuRAND's device generators.  The references step the generators as their
 * papers define them (Marsaglia's xorwow, Philox4x32-10 of Salmon and others, L'Ecuyer's MRG32k3a);
 * what they skip is computed as a power of the matrix of one step.
 */
#include "base/common.h"

#include "corpus.h"

#include <math.h>
#include <string.h>

static const uint64_t seed = 0x123456789abcdefull;

/* Bits of the state of xorwow without its counter, and a matrix over GF(2): column i is the state
 * that bit i becomes. */
enum { BITS = 160 };

struct xorwow {
	uint32_t v[5];
};

static struct xorwow xorwow_step(struct xorwow s)
{
	uint32_t t = s.v[0] ^ s.v[0] >> 2;
	memmove(s.v, s.v + 1, 4 * sizeof(*s.v));
	s.v[4] = s.v[3] ^ s.v[3] << 4 ^ t ^ t << 1;
	return s;
}

static struct xorwow xorwow_apply(const struct xorwow m[BITS], struct xorwow s)
{
	struct xorwow out = {{0}};
	for (int i = 0; i < BITS; i++) {
		if (s.v[i / 32] >> i % 32 & 1) {
			for (int k = 0; k < 5; k++) {
				out.v[k] ^= m[i].v[k];
			}
		}
	}
	return out;
}

/* The matrix of 2^67 steps: what one subsequence skips. */
static void xorwow_matrix(struct xorwow m[BITS])
{
	for (int i = 0; i < BITS; i++) {
		struct xorwow unit = {{0}};
		unit.v[i / 32] = 1u << i % 32;
		m[i] = xorwow_step(unit);
	}
	for (int square = 0; square < 67; square++) {
		struct xorwow old[BITS];
		memcpy(old, m, sizeof(old));
		for (int i = 0; i < BITS; i++) {
			m[i] = xorwow_apply(old, old[i]);
		}
	}
}

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
	struct xorwow m[BITS], s;
	float o[N];
	uint32_t s0 = (uint32_t)seed ^ 0xaad26b49, s1 = (uint32_t)(seed >> 32) ^ 0xf7dcefdd;
	uint32_t t0 = 1099087573 * s0, t1 = 2591861531 * s1;
	CUdeviceptr d = corpus_room(sizeof(o));
	corpus_launch("rx", corpus_line(2, BLOCK), (void *[]){&d, (void *)&seed});
	corpus_get(d, o, sizeof(o));
	xorwow_matrix(m);
	s = (struct xorwow){{123456789 + t0, 362436069 ^ t0, 521288629 + t1, 88675123 ^ t1,
		5783321 + t0}};
	for (size_t i = 0; i < N; i++) {
		struct xorwow at = s;
		uint32_t draws[3], counter = 6615241 + t1 + t0;
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

/* One component of MRG32k3a: its modulus, and the matrix of one step of its three words. */
struct mrg {
	uint64_t modulus;
	uint64_t m[3][3];
};

static void mrg_multiply(uint64_t out[3][3], const uint64_t a[3][3], const uint64_t b[3][3],
	uint64_t modulus)
{
	uint64_t product[3][3] = {{0}};
	for (int i = 0; i < 27; i++) {
		int r = i / 9, c = i / 3 % 3, k = i % 3;
		product[r][c] = (product[r][c] + a[r][k] * b[k][c] % modulus) % modulus;
	}
	memcpy(out, product, sizeof(product));
}

static void mrg_apply(const uint64_t m[3][3], uint64_t s[3], uint64_t modulus)
{
	uint64_t out[3] = {0};
	for (int i = 0; i < 9; i++) {
		out[i / 3] = (out[i / 3] + m[i / 3][i % 3] * s[i % 3] % modulus) % modulus;
	}
	memcpy(s, out, sizeof(out));
}

static const struct mrg mrg1 = {4294967087,
	{{0, 1, 0}, {0, 0, 1}, {4294967087 - 810728, 1403580, 0}}};
static const struct mrg mrg2 = {4294944443,
	{{0, 1, 0}, {0, 0, 1}, {4294944443 - 1370589, 0, 527612}}};

/* Draws until the product of uniform numbers and e^3 is at most 1 (Knuth); UINT32_MAX where the
 * last bit of that product decides. */
static uint32_t poisson(uint64_t s1[3], uint64_t s2[3])
{
	double product = exp(3.0);
	for (uint32_t count = 0;; count++) {
		mrg_apply(mrg1.m, s1, mrg1.modulus);
		mrg_apply(mrg2.m, s2, mrg2.modulus);
		uint64_t z = s1[2] > s2[2] ? s1[2] - s2[2] : s1[2] + mrg1.modulus - s2[2];
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
	uint32_t o[N], x1 = (uint32_t)seed ^ 0x55555555, x2 = (uint32_t)(seed >> 32) ^ 0xaaaaaaaa;
	uint64_t skip1[3][3], skip2[3][3], s1[3], s2[3];
	CUdeviceptr d = corpus_room(sizeof(o));
	corpus_launch("poi", corpus_line(1, N), (void *[]){&d, (void *)&seed});
	corpus_get(d, o, sizeof(o));
	/* A subsequence is 2^76 steps. */
	memcpy(skip1, mrg1.m, sizeof(skip1));
	memcpy(skip2, mrg2.m, sizeof(skip2));
	for (int square = 0; square < 76; square++) {
		mrg_multiply(skip1, skip1, skip1, mrg1.modulus);
		mrg_multiply(skip2, skip2, skip2, mrg2.modulus);
	}
	for (int k = 0; k < 3; k++) {
		s1[k] = (uint64_t)(k == 1 ? x2 : x1) * 12345 % mrg1.modulus;
		s2[k] = (uint64_t)(k == 1 ? x1 : x2) * 12345 % mrg2.modulus;
	}
	for (int i = 0; i < N; i++) {
		uint64_t at1[3], at2[3];
		memcpy(at1, s1, sizeof(at1));
		memcpy(at2, s2, sizeof(at2));
		uint32_t want = poisson(at1, at2);
		ck_assert_msg(want == UINT32_MAX || o[i] == want, "%s: %d: got %u, expected %u",
			corpus_where(), i, o[i], want);
		mrg_apply(skip1, s1, mrg1.modulus);
		mrg_apply(skip2, s2, mrg2.modulus);
	}
}

const struct corpus_case corpus_random[] = {
	{"18_curand", "rx", run_xorwow, 0, 0},
	{"18_curand", "ph", run_philox, 0, 0},
	{"18_curand", "poi", run_poisson, 0, 0},
	{0},
};
