/* SPDX-License-Identifier: MIT */
/* Cases of the corpus: what the threads of a warp do together. */
#include "base/common.h"

#include "corpus.h"
#include "cpu/support/driver.h"

#include <string.h>

enum { WARPS = 3, THREADS = 32 * WARPS };

/* One value per lane. */
typedef uint32_t lanes[32];

static uint32_t ballot(const lanes v, int32_t above)
{
	uint32_t mask = 0;
	for (int i = 0; i < 32; i++) {
		mask |= (uint32_t)((int32_t)v[i] > above) << i;
	}
	return mask;
}

static void add_all(lanes v, uint32_t x)
{
	for (int i = 0; i < 32; i++) {
		v[i] += x;
	}
}

/* v += the value of lane from(i), for all lanes at once. */
static void add_from(lanes v, int (*from)(int lane))
{
	lanes old;
	memcpy(old, v, sizeof(old));
	for (int i = 0; i < 32; i++) {
		v[i] += old[from(i)];
	}
}

static int lane_3(int i) { (void)i; return 3; }
static int up_1(int i) { return i ? i - 1 : 0; }
static int down_2_of_16(int i) { return i % 16 + 2 < 16 ? i + 2 : i; }
static int xor_1(int i) { return i ^ 1; }

/* The shuffles and votes at the start of kernel `w`; all lanes above 100 vote once more. */
static void shuffle_and_vote(lanes v)
{
	add_from(v, lane_3);
	add_from(v, up_1);
	add_from(v, down_2_of_16);
	add_from(v, xor_1);
	add_all(v, ballot(v, 3));
	add_all(v, ballot(v, 4) != 0);
	add_all(v, ballot(v, 5) == UINT32_MAX);
	uint32_t above = ballot(v, 100), odd = 0;
	for (int i = 0; i < 32; i++) {
		odd |= (above >> i & v[i] & 1) << i;
	}
	for (int i = 0; i < 32; i++) {
		v[i] += above >> i & 1 ? odd : 0;
	}
}

/* The barriers that count, over the whole block, one after the other. */
static void count_in_block(lanes v[WARPS])
{
	static const int limits[] = {3, 3, 9};
	for (int step = 0; step < 3; step++) {
		uint32_t count = 0;
		for (int w = 0; w < WARPS; w++) {
			count += (uint32_t)__builtin_popcount(ballot(v[w], limits[step]));
		}
		uint32_t result = step == 0 ? count : step == 1 ? count == THREADS : count != 0;
		for (int w = 0; w < WARPS; w++) {
			add_all(v[w], result);
		}
	}
}

static void match(lanes v)
{
	lanes old;
	memcpy(old, v, sizeof(old));
	bool same = true;
	for (int i = 0; i < 32; i++) {
		for (int k = 0; k < 32; k++) {
			v[i] += (uint32_t)(old[i] == old[k]) << k;
		}
	}
	for (int i = 1; i < 32; i++) {
		same = same && v[i] == v[0];
	}
	add_all(v, same ? UINT32_MAX : 0);
	add_all(v, same);
	/* Then a match of l[t], which is the same in all lanes. */
	add_all(v, UINT32_MAX);
}

/* The special registers, but for %nwarpid, %smid and %nsmid. */
static uint32_t registers(unsigned t)
{
	unsigned lane = t % 32;
	uint32_t eq = 1u << lane, lt = eq - 1, le = lt | eq;
	return lt + le + ~le + ~lt + eq + lane + t / 32 + 32;
}

static void try_warp(const int32_t in[THREADS])
{
	uint32_t o[THREADS];
	float f[THREADS], want_f[THREADS];
	int64_t l[THREADS], want_l[THREADS];
	double d[THREADS], want_d[THREADS];
	lanes v[WARPS];
	int n = 0;
	memcpy(v, in, sizeof(v));
	corpus_floats(f, THREADS);
	for (int t = 0; t < THREADS; t++) {
		l[t] = (int64_t)corpus_u64();
		d[t] = corpus_double(-1, 1);
		want_l[t] = l[t & ~31];
		want_f[t] = f[t];
	}
	for (int t = 0; t < THREADS; t++) {
		want_f[t] = f[t % 32 + 8 < 32 ? t + 8 : t];
		want_d[t] = d[t ^ 4];
	}
	CUdeviceptr dout = corpus_put(in, sizeof(o)), df = corpus_put(f, sizeof(f));
	CUdeviceptr dl = corpus_put(l, sizeof(l)), dd = corpus_put(d, sizeof(d));
	corpus_launch("w", corpus_line(1, THREADS), (void *[]){&dout, &df, &dl, &dd, &n});
	corpus_peek(dout, o, sizeof(o));
	corpus_get(df, f, sizeof(f));
	corpus_get(dl, l, sizeof(l));
	corpus_get(dd, d, sizeof(d));
	corpus_same(f, want_f, THREADS, sizeof(*f));
	corpus_same(l, want_l, THREADS, sizeof(*l));
	corpus_same(d, want_d, THREADS, sizeof(*d));

	for (int w = 0; w < WARPS; w++) {
		shuffle_and_vote(v[w]);
	}
	count_in_block(v);
	for (int w = 0; w < WARPS; w++) {
		match(v[w]);
	}
	/* What is left over are numbers of the device, the same for all threads. */
	uint32_t rest = o[0] - v[0][0] - registers(0);
	ck_assert_msg(rest < 4096, "%s: %u left over", corpus_where(), rest);
	for (unsigned t = 0; t < THREADS; t++) {
		if (t % 32 == 0 && driver_lacks("its warps have any number")) {
			rest = o[t] - v[t / 32][0] - registers(t);
		}
		uint32_t want = v[t / 32][t % 32] + registers(t) + rest;
		ck_assert_msg(o[t] == want, "%s: thread %u: got %#x, expected %#x", corpus_where(),
			t, o[t], want);
	}
}

/* In every lane the same sign after the ballot: lane 31 votes, or it does not. */
static void run_warp(void)
{
	for (int round = 0; round < 4; round++) {
		int32_t in[THREADS];
		for (int t = 0; t < THREADS; t++) {
			in[t] = (int32_t)(corpus_u32() % 11) - 5;
			in[t] = t % 32 < 28 ? in[t] : round & 1 ? 9 : -9;
		}
		try_warp(in);
	}
}

static void run_redux(void)
{
	uint32_t u[THREADS], want_u[THREADS];
	int32_t i[THREADS], want_i[THREADS];
	for (int t = 0; t < THREADS; t++) {
		u[t] = corpus_u32();
		i[t] = (int32_t)corpus_u32();
	}
	for (int w = 0; w < WARPS; w++) {
		int32_t most = INT32_MIN;
		for (int k = 0; k < 32; k++) {
			most = i[32 * w + k] > most ? i[32 * w + k] : most;
		}
		for (int k = 0; k < 32; k++) {
			want_i[32 * w + k] = most;
			/* The xor of 32 equal sums. */
			want_u[32 * w + k] = 0;
		}
	}
	CUdeviceptr du = corpus_put(u, sizeof(u)), di = corpus_put(i, sizeof(i));
	corpus_launch("red", corpus_line(1, THREADS), (void *[]){&du, &di});
	corpus_get(du, u, sizeof(u));
	corpus_get(di, i, sizeof(i));
	corpus_same(u, want_u, THREADS, sizeof(*u));
	corpus_same(i, want_i, THREADS, sizeof(*i));
}

static void run_itsched(void)
{
	int o[64], want[64];
	for (int t = 0; t < 64; t++) {
		o[t] = -t;
		want[t] = t < 32 ? 1 : -t;
	}
	CUdeviceptr d = corpus_put(o, sizeof(o));
	corpus_launch("itsched", corpus_line(1, 64), (void *[]){&d});
	corpus_get(d, o, sizeof(o));
	corpus_same(o, want, 64, sizeof(*o));
}

/* The f16 of a small integer. */
static uint16_t half_of_int(int value)
{
	unsigned a = (unsigned)(value < 0 ? -value : value);
	unsigned exponent = a ? 31 - (unsigned)__builtin_clz(a) : 0;
	unsigned code = a ? (exponent + 15) << 10 | ((a << (10 - exponent)) & 0x3ff) : 0;
	return (uint16_t)(code | (value < 0 ? 0x8000 : 0));
}

static void random_ints(int *out, uint16_t *halves, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		out[i] = (int)(corpus_u32() % 17) - 8;
		halves[i] = half_of_int(out[i]);
	}
}

/* Products of small integers: exact in any order. */
static void run_wmma(void)
{
	int a[256], b[256];
	uint16_t ha[256], hb[256];
	float c[256], want[256];
	random_ints(a, ha, 256);
	random_ints(b, hb, 256);
	for (int m = 0; m < 16; m++) {
		for (int n = 0; n < 16; n++) {
			int sum = 0;
			for (int k = 0; k < 16; k++) {
				sum += a[16 * m + k] * b[16 * n + k];
			}
			want[16 * m + n] = (float)sum;
		}
	}
	CUdeviceptr da = corpus_put(ha, sizeof(ha)), db = corpus_put(hb, sizeof(hb));
	CUdeviceptr dc = corpus_room(sizeof(c));
	corpus_launch("wm", corpus_line(1, 32), (void *[]){&da, &db, &dc});
	corpus_get(dc, c, sizeof(c));
	corpus_same(c, want, 256, sizeof(*c));
}

/*
 * Which element of the 16 x K matrix A, and of the K x 8 matrix B, is half `h` of register `r` in a
 * lane (PTX ISA: mma.m16n8k16, m16n8k8).  The sum that it writes after the product comes from
 * shared memory that nobody has written.
 */
static void run_mma(void)
{
	const int k_size = corpus_arch() >= 80 ? 16 : 8;
	const int ra = k_size / 4, rb = k_size / 8;
	int a[16][16], b[16][8], values[2][256];
	uint16_t ha[512] = {0}, hb[512] = {0}, codes[2][256];
	float c[232], want[128];
	random_ints(values[0], codes[0], 256);
	random_ints(values[1], codes[1], 256);
	for (int i = 0; i < 32 * 2 * ra; i++) {
		int lane = i / (2 * ra), r = i / 2 % ra;
		int row = lane / 4 + 8 * (r % 2), col = lane % 4 * 2 + i % 2 + 8 * (r / 2);
		a[row][col] = values[0][i];
		ha[i] = codes[0][i];
	}
	for (int i = 0; i < 32 * 2 * rb; i++) {
		int lane = i / (2 * rb), r = i / 2 % rb;
		b[lane % 4 * 2 + i % 2 + 8 * r][lane / 4] = values[1][i];
		hb[i] = codes[1][i];
	}
	for (int i = 0; i < 128; i++) {
		int lane = i / 4, sum = 0;
		int row = lane / 4 + 8 * (i % 4 / 2), col = lane % 4 * 2 + i % 2;
		for (int k = 0; k < k_size; k++) {
			sum += a[row][k] * b[k][col];
		}
		want[i] = (float)sum;
	}
	CUdeviceptr da = corpus_put(ha, sizeof(ha)), db = corpus_put(hb, sizeof(hb));
	CUdeviceptr dc = corpus_room(sizeof(c));
	corpus_launch("mm8", corpus_line(1, 32), (void *[]){&da, &db, &dc});
	corpus_get(dc, c, sizeof(want));
	corpus_same(c, want, 128, sizeof(*c));
}

const struct corpus_case corpus_warp[] = {
	{"06_warp", "w", run_warp, 0, 0},
	{"06_warp", "red", run_redux, 80, 0},
	{"06_warp", "itsched", run_itsched, 0, 0},
	{"16_wmma", "wm", run_wmma, 0, 0},
	{"16_wmma", "mm8", run_mma, 0, 0},
	{0},
};
