/* SPDX-License-Identifier: MIT */
/*
 * Kernels that run fewer lanes of a warp at a time: which do, and that barriers, diverged threads,
 * indexes and columns of shared memory are the same for them.  The references are C loops.
 */
#include "base/common.h"

#include "cpu/ir/block_class.h"
#include "cpu/support/grid.h"
#include "support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* --- How many lanes --- */

static const struct {
	uint32_t block[3];
	unsigned lanes;
	bool is_exact;
} blocks[] = {
	{{16, 1, 1}, 16, true}, {{4, 4, 1}, 16, true}, {{1, 2, 8}, 16, true}, {{8, 1, 1}, 8, true},
	{{2, 2, 2}, 8, true}, {{1, 1, 8}, 8, true}, {{9, 1, 1}, 16, false}, {{5, 3, 1}, 16, false},
	{{7, 1, 1}, 8, false}, {{1, 1, 1}, 8, false}, {{2, 2, 1}, 8, false},
	{{17, 1, 1}, 32, false}, {{32, 1, 1}, 32, false}, {{16, 2, 1}, 32, false},
	{{65536, 65536, 1}, 32, false},
};

START_TEST(a_class_has_lanes_for_all_threads_of_a_small_block)
{
	const unsigned class = block_class_of(blocks[_i].block);
	ck_assert_uint_eq(block_class_lanes(class), blocks[_i].lanes);
	ck_assert_int_eq(block_class_is_exact(class), blocks[_i].is_exact);
	ck_assert_uint_eq(block_class_team(class), 0);
}
END_TEST

/* The threads of one half go round a loop, unless all do. */
#define HALF(compare, access) "setp." compare "; mov.u32 %r1, 0; @%p1 bra end;\n" \
	"next: add.u32 %r1, %r1, 1; mul.lo.u32 %r2, %r1, 3; mul.lo.u32 %r3, %r2, 5;\n" \
	"xor.b32 %r4, %r3, %r2; and.b32 %r5, %r4, %r1; min.u32 %r6, %r5, 0; " access "\n" \
	"add.u32 %r1, %r1, %r6; setp.lt.u32 %p2, %r1, %r0; @%p2 bra next;\n" \
	"end: st.u32 [%rd9], 1;"

static const struct {
	const char *body;
	uint32_t threads, width;
} kernels[] = {
	{HALF("lt.u32 %p1, %r0, 16", ""), 32, 16}, {HALF("lt.u32 %p1, %r0, 16", ""), 96, 16},
	{HALF("gt.s32 %p1, %r0, 47", ""), 64, 16}, {HALF("lt.u32 %p1, %r0, 32", ""), 64, 32},
	{HALF("lt.u32 %p1, %r0, 17", ""), 64, 32}, {HALF("eq.u32 %p1, %r0, 16", ""), 64, 32},
	{HALF("lt.u32 %p1, %r0, 16", "ld.volatile.u32 %r7, [%rd9];"), 32, 32},
	{HALF("lt.u32 %p1, %r0, 16", ""), 16, 16},
	{"st.u32 [%rd9], 1;", 16, 16}, {"st.u32 [%rd9], 1;", 10, 16}, {"st.u32 [%rd9], 1;", 8, 8},
	{"st.u32 [%rd9], 1;", 3, 8}, {"st.u32 [%rd9], 1;", 32, 32}, {"st.u32 [%rd9], 1;", 17, 32},
	{"bar.sync 0; st.u32 [%rd9], 1;", 16, 16}, {"bar.sync 1, 32; st.u32 [%rd9], 1;", 16, 32},
	{"bar.warp.sync -1; st.u32 [%rd9], 1;", 16, 32},
	{"activemask.b32 %r1; st.u32 [%rd9], 1;", 16, 32},
	{"shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xffff; add.u32 %r1, %r1, 1; st.u32 [%rd9], %r1;", 16,
		32},
	{"setp.eq.u32 %p1, %r0, 1; bar.red.popc.u32 %r1, 0, %p1; st.u32 [%rd9], 1;", 16, 32},
};

START_TEST(threads_that_exchange_nothing_run_in_as_few_lanes_as_they_need)
{
	uint32_t width = 0;
	if (driver_lacks(DRIVER_WIDTHS)) {
		return;
	}
	ck_assert_int_eq(grid_run_chosen(&width, kernels[_i].threads, "", kernels[_i].body),
		CUDA_SUCCESS);
	ck_assert_uint_eq(width, kernels[_i].width);
	ck_assert_uint_eq(grid.memory[kernels[_i].threads - 1][0], 1);
}
END_TEST

/* --- Barriers --- */

/* Threads, threads in a row (0: all), and lanes. */
static const uint32_t shapes[][3] = {{16, 0, 16}, {16, 4, 16}, {16, 2, 16}, {8, 0, 8}, {8, 4, 8},
	{16, 0, 8}, {16, 8, 8}, {5, 0, 8}, {13, 0, 16}, {40, 0, 16}, {40, 0, 8}, {64, 8, 16},
	{64, 16, 8}, {64, 4, 8}, {96, 3, 16}, {16, 0, 32}, {8, 2, 32}};

/* Each thread adds up what three others have put down, again and again; odd threads add one more
 * in some rounds, after as many steps as their number says. */
static const char exchange[] =
	"mov.u32 %r1, sh; shl.b32 %r2, %r0, 2; add.u32 %r2, %r1, %r2; mov.u32 %r10, %ntid.x;\n"
	"mov.u32 %r11, %ntid.y; mul.lo.u32 %r10, %r10, %r11; add.u32 %r3, %r0, 3;\n"
	"rem.u32 %r3, %r3, %r10; shl.b32 %r3, %r3, 2; add.u32 %r3, %r1, %r3;\n"
	"mov.u32 %r4, %r0; mov.u32 %r5, 0;\n"
	"round: st.shared.u32 [%r2], %r4; bar.sync 0; ld.shared.u32 %r6, [%r3]; bar.sync 0;\n"
	"mad.lo.u32 %r4, %r4, 3, %r6; and.b32 %r7, %r0, %r5; and.b32 %r7, %r7, 1;\n"
	"setp.eq.u32 %p1, %r7, 0; @%p1 bra even; mov.u32 %r8, %r0;\n"
	"steps: add.u32 %r4, %r4, 7; sub.u32 %r8, %r8, 1; setp.ne.u32 %p2, %r8, 0;\n"
	"@%p2 bra steps; bar.sync 0; bra on; even: bar.sync 0;\n"
	"on: add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 5; @%p3 bra round;\n"
	"st.u32 [%rd9], %r4; mov.u32 %r9, %laneid; st.u32 [%rd9+4], %r9;\n"
	"mov.u32 %r9, %lanemask_lt; st.u32 [%rd9+8], %r9; mov.u32 %r9, %warpid;\n"
	"st.u32 [%rd9+12], %r9;";

static void exchange_in_c(uint32_t *own, uint32_t threads)
{
	uint32_t put[96];
	for (uint32_t i = 0; i < threads; i++) {
		own[i] = i;
	}
	for (uint32_t round = 0; round < 5; round++) {
		memcpy(put, own, threads * sizeof(*put));
		for (uint32_t i = 0; i < threads; i++) {
			own[i] = own[i] * 3 + put[(i + 3) % threads] + (i & round & 1 ? 7 * i : 0);
		}
	}
}

START_TEST(barriers_join_all_threads_of_a_block)
{
	const uint32_t threads = shapes[_i][0];
	uint32_t own[96], wrong = 0;
	grid.row = shapes[_i][1];
	grid_ok(shapes[_i][2], threads, ".shared .align 4 .b8 sh[512];", exchange);
	exchange_in_c(own, threads);
	for (uint32_t i = 0; i < threads; i++) {
		const uint32_t want[] = {own[i], i % 32, (1u << i % 32) - 1, i / 32};
		wrong += memcmp(grid.memory[i], want, sizeof(want)) != 0;
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* --- Columns --- */

static const char *const levels[] = {"native", "avx2", "sse4"};
static const uint32_t widths[] = {32, 16, 8};

/* Each thread writes an element of a column of shared memory, and reads its own and the one of the
 * thread that is as far from the end. */
START_TEST(columns_of_shared_memory_are_accessed)
{
	const uint32_t threads = 64;
	uint32_t wrong = 0;
	setenv("KUDZU_CPU_FEATURES", levels[(size_t)_i / countof(widths)], 1);
	grid_ok(widths[(size_t)_i % countof(widths)], threads, ".shared .align 4 .b8 sh[16384];",
		"mov.u32 %r1, sh; mad.lo.u32 %r2, %r0, 132, %r1; mul.lo.u32 %r3, %r0, 5;\n"
		"st.shared.u32 [%r2], %r3; sub.u32 %r4, 63, %r0; mad.lo.u32 %r5, %r4, 132, %r1;\n"
		"bar.sync 0; ld.shared.u32 %r6, [%r2]; ld.shared.u32 %r7, [%r5];\n"
		"st.u32 [%rd9], %r6; st.u32 [%rd9+4], %r7;");
	for (uint32_t i = 0; i < threads; i++) {
		wrong += grid.memory[i][0] != 5 * i || grid.memory[i][1] != 5 * (63 - i);
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* Values that a loop with barriers does not change, that it changes, in some lanes, and that a loop
 * without a barrier within it changes. */
static const uint32_t barrier_blocks[] = {1, 33, 256, 1000, 1024};

START_TEST(values_survive_barriers_of_a_block)
{
	static const uint32_t lanes[] = {1, 32, 16, 8};
	const uint32_t n = barrier_blocks[_i / 4];
	uint32_t wrong = 0;
	grid_ok(lanes[_i % 4], n, ".shared .align 4 .b8 s[4096];",
		"mul.lo.u32 %r1, %r0, 3; mov.u32 %r2, 0; mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
		"and.b32 %r5, %r0, 1; setp.ne.u32 %p1, %r5, 0; rem.u32 %r5, %r0, 3;\n"
		"shl.b32 %r6, %r0, 2; mov.u32 %r7, s; add.u32 %r6, %r6, %r7;\n"
		"mov.u32 %r8, %ntid.x; add.u32 %r9, %r0, 1; rem.u32 %r9, %r9, %r8;\n"
		"shl.b32 %r9, %r9, 2; add.u32 %r9, %r9, %r7;\n"
		"L: add.u32 %r10, %r1, %r4; st.shared.u32 [%r6], %r10; bar.sync 0;\n"
		"ld.shared.u32 %r11, [%r9]; bar.sync 0; @%p1 add.u32 %r2, %r2, %r11;\n"
		"mov.u32 %r12, 0; U: add.u32 %r3, %r3, %r0; add.u32 %r12, %r12, 1;\n"
		"setp.le.u32 %p2, %r12, %r4; @%p2 bra U;\n"
		"mov.u32 %r12, 0; V: setp.ge.u32 %p2, %r12, %r5; @%p2 bra W;\n"
		"xor.b32 %r2, %r2, %r11; add.u32 %r12, %r12, 1; bra V;\n"
		"W: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 5; @%p2 bra L;\n"
		"st.v4.u32 [%rd9], {%r1, %r2, %r3, %r4};");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t want[] = {3 * i, 0, 0, 5};
		for (uint32_t round = 0; round < 5; round++) {
			const uint32_t other = (i + 1) % n * 3 + round;
			want[1] += i % 2 == 1 ? other : 0;
			want[1] ^= i % 3 == 1 ? other : 0; /* twice is not at all */
			want[2] += (round + 1) * i;
		}
		wrong += memcmp(grid.memory[i], want, sizeof(want)) != 0;
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

SUITE(emit_lanes)
{
	Suite *s = suite_create("emit_lanes");
	TCase *tc = tcase_create("fewer lanes");
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_loop_test(tc, a_class_has_lanes_for_all_threads_of_a_small_block, 0,
		(int)countof(blocks));
	tcase_add_loop_test(tc, threads_that_exchange_nothing_run_in_as_few_lanes_as_they_need, 0,
		(int)countof(kernels));
	tcase_add_loop_test(tc, barriers_join_all_threads_of_a_block, 0, (int)countof(shapes));
	tcase_add_loop_test(tc, values_survive_barriers_of_a_block, 0,
		(int)(4 * countof(barrier_blocks)));
	tcase_add_loop_test(tc, columns_of_shared_memory_are_accessed, 0,
		(int)(countof(levels) * countof(widths)));
	suite_add_tcase(s, tc);
	return s;
}
