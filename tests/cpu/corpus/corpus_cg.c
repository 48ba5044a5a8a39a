/* SPDX-License-Identifier: MIT */
/* Cases of the corpus: cooperative groups, and the block-wide algorithms of CUB. */
#include "base/common.h"

#include "corpus.h"

#include <stdlib.h>
#include <string.h>

/* More blocks than workers.  After the barrier each thread adds its right neighbour, before or
 * after that has added its own: not the same every time.  That all were doubled before is
 * certain. */
static void run_grid_sync(void)
{
	enum { MOST = 4, BLOCK = 33 };
	struct corpus_size size = corpus_line(MOST, BLOCK);
	float x[MOST * BLOCK] = {0}, got[MOST * BLOCK];
	int n = (int)size.grid[0] * BLOCK - 5;
	size.cooperative = true;
	for (int i = 0; i < n; i++) {
		x[i] = (float)(corpus_u32() % 1000);
	}
	CUdeviceptr d = corpus_put(x, sizeof(x));
	corpus_launch("gs", size, (void *[]){&d, &n});
	corpus_peek(d, got, sizeof(got));
	for (int i = 0; i < n; i++) {
		int next = (i + 1) % n;
		float early = 2 * x[i] + 2 * x[next], late = 2 * x[i] + got[next];
		ck_assert_msg(got[i] == early || got[i] == late,
			"%s: element %d: got %g, expected %g or %g", corpus_where(), i,
			(double)got[i], (double)early, (double)late);
	}
}

/* The leader of each coalesced group adds its size to x[0], which thread 0 of the block has just
 * written; with one warp the order is certain, and however the groups are, their sizes are 32. */
static void run_tiles(void)
{
	int x[32], got[32], want[32], sum = 0;
	for (int i = 0; i < 32; i++) {
		x[i] = (int)(corpus_u32() % 100) - 10;
		sum += x[i];
	}
	ck_assert_int_gt(sum, 0);
	for (int i = 0; i < 32; i++) {
		want[i] = 2 * sum + i + 32;
	}
	want[0] += 32;
	CUdeviceptr d = corpus_put(x, sizeof(x));
	corpus_launch("tile", corpus_line(1, 32), (void *[]){&d});
	corpus_get(d, got, sizeof(got));
	corpus_same(got, want, 32, sizeof(*got));
}

/* Collectives of 64 to 512 threads leave the kernel's own shared memory alone. */
static void run_tiles_of_warps(void)
{
	int bad[512] = {0}, none[512] = {0}, kept[30], want[30];
	struct corpus_size size = corpus_line(1, 512);
	size.shared = 10 * sizeof(int);
	for (int i = 0; i < 10; i++) {
		want[i] = i;
		want[10 + i] = -i;
		want[20 + i] = 7 * i;
	}
	CUdeviceptr dbad = corpus_put(bad, sizeof(bad)), dkept = corpus_room(sizeof(kept));
	corpus_launch("tiles", size, (void *[]){&dbad, &dkept});
	corpus_get(dbad, bad, sizeof(bad));
	corpus_same(bad, none, 512, sizeof(*bad));
	corpus_get(dkept, kept, sizeof(kept));
	corpus_same(kept, want, 30, sizeof(*kept));
}

/* The kernel itself has no shared memory. */
static void run_one_tile(void)
{
	int got = 0;
	CUdeviceptr out = corpus_room(sizeof(got));
	corpus_launch("one_tile", corpus_line(1, 64), (void *[]){&out});
	corpus_get(out, &got, sizeof(got));
	ck_assert_int_eq(got, 64 * 63 / 2);
}

static void run_block_sum(void)
{
	int x[128], sum = 0, got = 0;
	for (int i = 0; i < 128; i++) {
		x[i] = (int)(corpus_u32() >> 7);
		sum += x[i];
		x[i] = i % 2 ? x[i] : x[i] - 1000000;
		sum -= i % 2 ? 0 : 1000000;
	}
	CUdeviceptr dx = corpus_put(x, sizeof(x)), dout = corpus_room(sizeof(got));
	corpus_launch("br", corpus_line(1, 128), (void *[]){&dx, &dout});
	corpus_get(dout, &got, sizeof(got));
	ck_assert_int_eq(got, sum);
}

/* Of small integers, so that the order of the sums does not matter. */
static void run_block_scan(void)
{
	float x[256], got[256], want[256], sum = 0;
	for (int i = 0; i < 256; i++) {
		x[i] = (float)(corpus_u32() % 1001) - 500;
		want[i] = sum;
		sum += x[i];
	}
	CUdeviceptr dx = corpus_put(x, sizeof(x)), dout = corpus_room(sizeof(got));
	corpus_launch("bs", corpus_line(1, 256), (void *[]){&dx, &dout});
	corpus_get(dout, got, sizeof(got));
	for (int i = 0; i < 256; i++) {
		/* -0 is fine. */
		corpus_near("scan", (size_t)i, (double)got[i], (double)want[i], 0);
	}
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static void run_radix_sort(void)
{
	uint32_t x[512], got[512];
	for (int i = 0; i < 512; i++) {
		x[i] = i % 5 ? corpus_u32() : i % 2 ? UINT32_MAX : 0;
	}
	CUdeviceptr d = corpus_put(x, sizeof(x));
	corpus_launch("sort", corpus_line(1, 128), (void *[]){&d});
	corpus_get(d, got, sizeof(got));
	qsort(x, 512, sizeof(*x), compare_u32);
	corpus_same(got, x, 512, sizeof(*got));
}

static void run_warp_sum(void)
{
	double x[128], want[4] = {0}, got[4];
	for (int i = 0; i < 128; i++) {
		x[i] = (double)(corpus_u32() % 100000) / 8;
		want[i / 32] += x[i];
	}
	CUdeviceptr dx = corpus_put(x, sizeof(x)), dout = corpus_room(sizeof(got));
	corpus_launch("wr", corpus_line(1, 128), (void *[]){&dx, &dout});
	corpus_get(dout, got, sizeof(got));
	corpus_same(got, want, 4, sizeof(*got));
}

const struct corpus_case corpus_cg[] = {
	{"10_coop", "gs", run_grid_sync, 0, 0},
	{"10_coop", "tile", run_tiles, 0, 0},
	{"10_coop", "tiles", run_tiles_of_warps, 0, 0},
	{"10_coop", "one_tile", run_one_tile, 80, 0},
	{"11_cub", "br", run_block_sum, 0, 0},
	{"11_cub", "bs", run_block_scan, 0, 0},
	{"11_cub", "sort", run_radix_sort, 0, 0},
	{"11_cub", "wr", run_warp_sum, 0, 0},
	{0},
};
