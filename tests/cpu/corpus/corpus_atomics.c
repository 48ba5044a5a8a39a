/* SPDX-License-Identifier: MIT */
/*
 * Cases of the corpus: atomics, locks, histograms.  One thread alone tells the result of every
 * atomic; many tell only what does not depend on their order.
 */
#include "base/common.h"

#include "corpus.h"

#include <string.h>

/* The arrays that kernel `at` works on. */
struct atomics {
	int64_t l[1];
	uint64_t ul[4];
	double d[4];
	int32_t i[21];
	uint32_t u[11];
	float f[5];
	uint16_t h[2];
};

static const struct atomics start = {
	.l = {77}, .ul = {1, 1000, 3, 9}, .d = {0.5, 1.5, 0, 7},
	.i = {5, 6, 44, -4, 0, 123, 0, 70, 80, 0, 0, 11, 0, 13},
	.u = {0xf0f0, 0xf000, 0x33, 16, 1, 0, 0, 0, 0, 1, 0x55550000},
	.f = {0.25f, 0.75f, 8, 0, 0}, .h = {0x3c00, 0xbc00},
};

static void launch_atomics(struct atomics *out, unsigned grid, unsigned block, bool exact)
{
	CUdeviceptr at = corpus_put(&start, sizeof(start));
	CUdeviceptr i = at + offsetof(struct atomics, i), u = at + offsetof(struct atomics, u);
	CUdeviceptr l = at + offsetof(struct atomics, l), ul = at + offsetof(struct atomics, ul);
	CUdeviceptr f = at + offsetof(struct atomics, f), d = at + offsetof(struct atomics, d);
	CUdeviceptr h = at + offsetof(struct atomics, h);
	int n = 0;
	corpus_launch("at", corpus_line(grid, block),
		(void *[]){&i, &u, &l, &ul, &f, &d, &h, &n});
	if (exact) {
		corpus_get(at, out, sizeof(*out));
	} else {
		corpus_peek(at, out, sizeof(*out));
	}
}

/* What one thread, number 0, does. */
static struct atomics alone(void)
{
	struct atomics v = start;
	v.i[0] += 1;
	v.i[2] = 0;
	v.i[3] = 0;
	v.u[0] = 0;
	v.u[3] = 17;
	v.u[4] = 0;
	v.i[9] = v.i[5];
	v.i[5] = 0;
	v.i[10] = v.i[6];
	v.i[6] = 1;
	v.ul[3] = v.ul[0];
	v.ul[0] = 2;
	v.ul[1] += 5;
	v.l[0] = 5;
	v.ul[2] = 5;
	v.f[0] += 1;
	v.d[0] += 1;
	v.h[0] = 0x4000;        /* 1 + 1 */
	v.h[1] = 0;             /* -1 + 1 */
	v.f[3] = v.f[1];
	v.f[1] += 2;
	v.d[3] = v.d[1];
	v.d[1] += 2;
	v.f[4] = v.f[2];
	v.f[2] = 3;
	v.i[7] += 1;
	v.i[8] += 1;
	v.i[20] = 0;
	v.u[9] = 2;             /* its lower half was 1; */
	v.u[10] = 0x00010000;   /* the old value lands in the upper half of the next */
	v.i[12] = v.i[11] + 1;
	v.i[11] = 4;
	v.i[13] += 1;
	return v;
}

static void run_atomics_alone(void)
{
	struct atomics got, want = alone();
	launch_atomics(&got, 1, 1, true);
	corpus_same(got.i, want.i, 21, sizeof(*got.i));
	corpus_same(got.u, want.u, 11, sizeof(*got.u));
	corpus_same(got.l, want.l, 1, sizeof(*got.l));
	corpus_same(got.ul, want.ul, 4, sizeof(*got.ul));
	corpus_same(got.f, want.f, 5, sizeof(*got.f));
	corpus_same(got.d, want.d, 4, sizeof(*got.d));
	corpus_same(got.h, want.h, 2, sizeof(*got.h));
}

/* All sums here are exact, so that they do not depend on the order either. */
static void run_atomics(void)
{
	enum { BLOCKS = 3, BLOCK = 100, N = BLOCKS * BLOCK };
	struct atomics v;
	uint32_t bits = 0;
	launch_atomics(&v, BLOCKS, BLOCK, false);
	for (uint32_t t = 0; t < BLOCK; t++) {
		bits ^= t;
	}
	struct {
		int64_t got, want;
	} rows[] = {
		{v.i[0], start.i[0] + N}, {v.i[1], start.i[1] - BLOCKS * BLOCK * (BLOCK - 1) / 2},
		{v.i[2], 0}, {v.i[3], BLOCK - 1}, {v.i[7], start.i[7] + N},
		{v.i[8], start.i[8] + N}, {v.i[13], start.i[13] + N}, {v.u[0], 0},
		{v.u[1], 0xf000 | 127}, {v.u[2], start.u[2] ^ bits}, {v.u[3], (16 + N) % 18},
		{v.u[4], (1 + 18 * N - N) % 18}, {v.u[9], 2}, {v.l[0], 5}, {(int64_t)v.ul[0], 2},
		{(int64_t)v.ul[1], 1000 + 5 * N}, {(int64_t)v.ul[2], 5},
		{(int64_t)(4 * v.f[0]), 4 * N + 1}, {(int64_t)(4 * v.f[1]), 8 * N + 3},
		{(int64_t)v.f[2], 3}, {(int64_t)(2 * v.d[0]), 2 * N + 1},
		{(int64_t)(2 * v.d[1]), 4 * N + 3},
		{v.h[0], 0x5c00 + (N + 1 - 256) * 4}, {v.h[1], 0x5c00 + (N - 1 - 256) * 4},
	};
	for (size_t k = 0; k < countof(rows); k++) {
		ck_assert_msg(rows[k].got == rows[k].want, "%s: row %zu: got %lld, expected %lld",
			corpus_where(), k, (long long)rows[k].got, (long long)rows[k].want);
	}
	ck_assert(v.i[5] >= 0 && v.i[5] < BLOCK);
}

static void run_spin(void)
{
	static const unsigned sizes[][2] = {{1, 32}, {1, 70}, {3, 40}};
	for (size_t k = 0; k < countof(sizes); k++) {
		int state[2] = {0, 1000};
		CUdeviceptr lock = corpus_put(state, sizeof(state)), v = lock + sizeof(int);
		corpus_launch("spin", corpus_line(sizes[k][0], sizes[k][1]), (void *[]){&lock, &v});
		corpus_get(lock, state, sizeof(state));
		ck_assert_int_eq(state[0], 0);
		ck_assert_int_eq(state[1], 1000 + (int)(sizes[k][0] * sizes[k][1]));
	}
}

static void run_hist(void)
{
	enum { N = 10001 };
	uint8_t p[N];
	uint32_t got[256], want[256] = {0};
	int n = N;
	for (int i = 0; i < N; i++) {
		/* Many of one kind, for many threads to meet there. */
		p[i] = (uint8_t)(i % 3 ? corpus_u32() : 77);
		want[p[i]]++;
	}
	uint32_t zero[256] = {0};
	CUdeviceptr dp = corpus_put(p, sizeof(p)), dh = corpus_put(zero, sizeof(zero));
	corpus_launch("hist", corpus_line(4, 100), (void *[]){&dp, &dh, &n});
	corpus_get(dh, got, sizeof(got));
	corpus_same(got, want, 256, sizeof(*got));
}

const struct corpus_case corpus_atomics[] = {
	{"05_atomics", "at, one thread", run_atomics_alone, 0, 0},
	{"05_atomics", "at", run_atomics, 0, 0},
	{"05_atomics", "spin", run_spin, 0, 0},
	{"05_atomics", "hist", run_hist, 0, 0},
	{0},
};
