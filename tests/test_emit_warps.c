/* SPDX-License-Identifier: MIT */
/*
 * Kernels that never yield, which run all whole warps of a block in one call: blocks of many sizes,
 * warps that part in between, and failures, which must name the thread all the same.
 */
#include "../src/base/common.h"

#include "grid.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

Suite *emit_warps_suite(void);

static const uint32_t widths[] = {1, 32};
static const uint32_t blocks[] = {1, 31, 32, 33, 64, 100, 1023, 1024};

/* Some of warp 1 and all of warp 2 go another way; a register that nothing has written is zero. */
START_TEST(every_warp_runs_once)
{
	uint32_t threads = blocks[_i / 2], wrong = 0;
	memset(&grid.memory, 0, sizeof(grid.memory));
	grid_ok(widths[_i % 2], threads, "",
		"setp.ge.u32 %p1, %r0, 40; setp.lt.and.u32 %p1, %r0, 96, %p1;\n"
		"mov.u32 %r4, 3; @%p1 bra other; mul.lo.u32 %r4, %r0, 5; add.u32 %r3, %r3, 1;\n"
		"other: ld.u32 %r5, [%rd9]; add.u32 %r5, %r5, 1; st.u32 [%rd9], %r5;\n"
		"st.u32 [%rd9+4], %r4; st.u32 [%rd9+8], %r3; mov.u32 %r6, %laneid;\n"
		"st.u32 [%rd9+12], %r6; mov.u32 %r6, %warpid; st.u32 [%rd9+16], %r6;");
	for (uint32_t i = 0; i < BLOCK_MAX_THREADS; i++) {
		bool is_other = i >= 40 && i < 96;
		const uint32_t want[] = {1, is_other ? 3 : i * 5, !is_other, i % 32, i / 32};
		static const uint32_t none[countof(want)];
		wrong += memcmp(grid.memory[i], i < threads ? want : none, sizeof(want)) != 0;
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
	const struct failing *f = &failing[(unsigned)_i / countof(culprits) / 2];
	uint32_t culprit = culprits[(unsigned)_i / 2 % countof(culprits)];
	char body[256], where[64];
	snprintf(body, sizeof(body), "setp.eq.u32 %%p1, %%r0, %u;\n%s", culprit, f->text);
	snprintf(where, sizeof(where), "block (0,0,0), thread (%u,0,0)", culprit);
	ck_assert_int_eq(grid_run(widths[_i % 2], 100, "", body), f->code);
	ck_assert_msg(strncmp(grid.failure.what, f->what, strlen(f->what)) == 0, "%s",
		grid.failure.what);
	ck_assert_str_eq(grid.failure.where, where);
	grid_ok(widths[_i % 2], 100, "", "st.u32 [%rd9], 7;");
	ck_assert_uint_eq(grid.memory[0][0] + grid.memory[31][0] + grid.memory[99][0], 21);
}
END_TEST

Suite *emit_warps_suite(void)
{
	Suite *s = suite_create("emit_warps");
	TCase *tc = tcase_create("warps that never wait");
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_loop_test(tc, every_warp_runs_once, 0, (int)(countof(blocks) * 2));
	tcase_add_loop_test(tc, a_failure_names_the_thread_of_any_warp, 0,
		(int)(countof(failing) * countof(culprits) * 2));
	suite_add_tcase(s, tc);
	return s;
}
