/* SPDX-License-Identifier: MIT */
/*
 * Kernels that never yield, which run all whole warps of a block, and several blocks, in one call:
 * blocks of many sizes, warps that diverge in between, and failures, which must still name the
 * thread.
 */
#include "base/common.h"

#include "cpu/support/grid.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const uint32_t widths[] = {1, 32, 16, 8};
enum { WIDTHS = countof(widths) };
static const uint32_t blocks[] = {1, 31, 32, 33, 64, 100, 1023, 1024};

/* Some of warp 1 and all of warp 2 go another way; a register that nothing has written is zero. */
START_TEST(every_warp_runs_once)
{
	uint32_t threads = blocks[_i / WIDTHS], wrong = 0;
	memset(&grid.memory, 0, sizeof(grid.memory));
	grid_ok(widths[_i % WIDTHS], threads, "",
		"setp.ge.u32 %p1, %r0, 40; setp.lt.and.u32 %p1, %r0, 96, %p1;\n"
		"mov.u32 %r3, 0; mov.u32 %r4, 3; @%p1 bra other; mul.lo.u32 %r4, %r0, 5; "
		"add.u32 %r3, %r3, 1;\n"
		"other: ld.u32 %r5, [%rd9]; add.u32 %r5, %r5, 1; st.u32 [%rd9], %r5;\n"
		"st.u32 [%rd9+4], %r4; st.u32 [%rd9+8], %r3; mov.u32 %r6, %laneid;\n"
		"st.u32 [%rd9+12], %r6; mov.u32 %r6, %warpid; st.u32 [%rd9+16], %r6;");
	for (uint32_t i = 0; i < BLOCK_MAX_THREADS; i++) {
		bool is_other = i >= 40 && i < 96;
		uint32_t warp = driver_lacks("its warps have any number") ? grid.memory[i][4]
			: i / 32;
		const uint32_t want[] = {1, is_other ? 3 : i * 5, !is_other, i % 32, warp};
		static const uint32_t none[countof(want)];
		wrong += memcmp(grid.memory[i], i < threads ? want : none, sizeof(want)) != 0;
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* Conditions in a row, of lanes and of the block; the block that no lane comes to has an address
 * that would fail. */
START_TEST(lanes_part_again_where_they_have_parted)
{
	uint32_t threads = blocks[_i / WIDTHS], wrong = 0;
	grid_ok(widths[_i % WIDTHS], threads, "",
		"mov.u32 %r1, %ntid.x; setp.ge.u32 %p3, %r1, 64; setp.gt.u32 %p4, %r0, 5000;\n"
		"and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; and.b32 %r1, %r0, 8;\n"
		"setp.ne.u32 %p2, %r1, 0; mov.u32 %r3, 7; mov.u32 %r4, 1; @%p1 bra join;\n"
		"mul.lo.u32 %r3, %r0, 3; @%p2 bra join; @!%p4 bra sane; mov.u64 %rd1, 64;\n"
		"ld.u32 %r4, [%rd1];\n"
		"sane: @%p3 bra many; mov.u32 %r5, 9; bra both;\n"
		"many: mov.u32 %r5, 5;\n"
		"both: add.u32 %r3, %r3, %r5; xor.b32 %r4, %r4, %r3;\n"
		"join: st.u32 [%rd9], %r3; st.u32 [%rd9+4], %r4;");
	for (uint32_t i = 0; i < threads; i++) {
		bool all = i % 2 == 1 && (i & 8) == 0;
		uint32_t third = i % 2 == 0 ? 7 : 3 * i + (!all ? 0 : threads >= 64 ? 5 : 9);
		wrong += grid.memory[i][0] != third || grid.memory[i][1] != (all ? 1 ^ third : 1);
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

static const struct failing {
	const char *text;
	const char *what;
	CUresult code;
} failing[] = {
	{"@%p1 trap;", "trap (PTX line ", CUDA_ERROR_LAUNCH_FAILED},
	{"@%p1 mov.u64 %rd9, 64; st.u32 [%rd9], 1;", "access to address 0x40",
		CUDA_ERROR_ILLEGAL_ADDRESS},
	{"mov.u64 %rd1, 64; @%p1 ld.u32 %r1, [%rd1]; st.u32 [%rd9], %r1;",
		"access to address 0x40", CUDA_ERROR_ILLEGAL_ADDRESS},
};
static const uint32_t culprits[] = {0, 32, 70, 95, 99};

START_TEST(a_failure_names_the_thread_of_any_warp)
{
	if (driver_lacks("it does not say which thread failed")) {
		return;
	}
	const struct failing *f = &failing[(unsigned)_i / countof(culprits) / WIDTHS];
	uint32_t culprit = culprits[(unsigned)_i / WIDTHS % countof(culprits)];
	char body[256], where[64];
	snprintf(body, sizeof(body), "setp.eq.u32 %%p1, %%r0, %u;\n%s", culprit, f->text);
	snprintf(where, sizeof(where), "block (0,0,0), thread (%u,0,0)", culprit);
	ck_assert_int_eq(grid_run(widths[_i % WIDTHS], 100, "", body), f->code);
	ck_assert_msg(strncmp(grid.failure.what, f->what, strlen(f->what)) == 0, "%s",
		grid.failure.what);
	ck_assert_str_eq(grid.failure.where, where);
	grid_ok(widths[_i % WIDTHS], 100, "", "st.u32 [%rd9], 7;");
	ck_assert_uint_eq(grid.memory[0][0] + grid.memory[31][0] + grid.memory[99][0], 21);
}
END_TEST

/* So many that the launcher takes several at a time, in rows shorter than that, and longer. */
static const uint32_t grids[][3] = {{5, 7, 3}, {105, 1, 1}, {1, 105, 1}, {35, 1, 3}};

/* Each thread counts itself in the words of its block. */
START_TEST(every_block_of_a_grid_runs_once)
{
	const uint32_t *size = grids[_i / WIDTHS / 2];
	uint32_t threads = _i / WIDTHS % 2 == 0 ? 64 : 40, wrong = 0;
	memset(&grid.memory, 0, sizeof(grid.memory));
	memcpy(grid.size, size, sizeof(grid.size));
	grid_ok(widths[_i % WIDTHS], threads, "",
		"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;\n"
		"mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y; mad.lo.u32 %r6, %r3, %r5, %r2;\n"
		"mad.lo.u32 %r6, %r6, %r4, %r1; mad.wide.u32 %rd1, %r6, 256, %rd0;\n"
		"setp.eq.u32 %p1, %r0, 33; @%p1 bra end; red.add.u32 [%rd1], 1;\n"
		"red.max.u32 [%rd1+4], %r1; red.max.u32 [%rd1+8], %r2;\n"
		"red.max.u32 [%rd1+12], %r3; red.add.u32 [%rd1+16], %r0; end:");
	for (uint32_t i = 0; i < 105; i++) {
		const uint32_t want[] = {threads - 1, i % size[0], i / size[0] % size[1],
			i / size[0] / size[1], threads * (threads - 1) / 2 - 33};
		wrong += memcmp(grid.memory[i], want, sizeof(want)) != 0;
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

START_TEST(a_failure_names_the_block_of_any_grid)
{
	if (driver_lacks("it does not say which thread failed")) {
		return;
	}
	const struct failing *f = &failing[(unsigned)_i / countof(culprits) / WIDTHS];
	uint32_t culprit = culprits[(unsigned)_i / WIDTHS % countof(culprits)] % 64;
	char body[512], where[64];
	memcpy(grid.size, grids[0], sizeof(grid.size));
	snprintf(body, sizeof(body), "mov.u32 %%r1, %%ctaid.x; mov.u32 %%r2, %%ctaid.y;\n"
		"setp.eq.u32 %%p1, %%r0, %u; setp.eq.and.u32 %%p1, %%r1, 3, %%p1;\n"
		"setp.eq.and.u32 %%p1, %%r2, 4, %%p1; %s", culprit, f->text);
	snprintf(where, sizeof(where), "block (3,4,0), thread (%u,0,0)", culprit);
	ck_assert_int_eq(grid_run(widths[_i % WIDTHS], 64, "", body), f->code);
	ck_assert_msg(strncmp(grid.failure.what, f->what, strlen(f->what)) == 0, "%s",
		grid.failure.what);
	ck_assert_str_eq(grid.failure.where, where);
}
END_TEST

SUITE(emit_warps)
{
	Suite *s = suite_create("emit_warps");
	TCase *tc = tcase_create("warps that never wait");
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_loop_test(tc, every_warp_runs_once, 0, (int)(countof(blocks) * WIDTHS));
	tcase_add_loop_test(tc, lanes_part_again_where_they_have_parted, 0,
		(int)(countof(blocks) * WIDTHS));
	tcase_add_loop_test(tc, a_failure_names_the_thread_of_any_warp, 0,
		(int)(countof(failing) * countof(culprits) * WIDTHS));
	tcase_add_loop_test(tc, every_block_of_a_grid_runs_once, 0,
		(int)(countof(grids) * 2 * WIDTHS));
	tcase_add_loop_test(tc, a_failure_names_the_block_of_any_grid, 0,
		(int)(countof(failing) * countof(culprits) * WIDTHS));
	suite_add_tcase(s, tc);
	return s;
}
