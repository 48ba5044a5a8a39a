/* SPDX-License-Identifier: MIT */
/* Asynchronous copies, and barriers in shared memory, from PTX, at both widths. */
#include "base/common.h"

#include "cpu/runtime/rt_mbarrier.h"
#include "cpu/support/grid.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const uint32_t widths[] = {1, 32};

/* Steps of one barrier: an operation, its argument, and what it says of the phase before and
 * after: parity, and threads and bytes to come. */
static const struct step {
	enum mbarrier_op op;
	uint64_t argument;
	unsigned parity, pending;
} steps[] = {
	{MBARRIER_INIT, 3, 0, 3}, {MBARRIER_ARRIVE, 1, 0, 2}, {MBARRIER_ARRIVE, 2, 1, 3},
	{MBARRIER_ARRIVE_TX, 64, 1, 2}, {MBARRIER_ARRIVE, 2, 1, 0}, {MBARRIER_COMPLETE, 60, 1, 0},
	{MBARRIER_COMPLETE, 4, 0, 3}, {MBARRIER_EXPECT, 8, 0, 3}, {MBARRIER_COMPLETE, 8, 0, 3},
	{MBARRIER_DROP, 1, 0, 2}, {MBARRIER_ARRIVE, 2, 1, 2}, {MBARRIER_COMPLETE, 16, 1, 2},
	{MBARRIER_ARRIVE, 1, 1, 1}, {MBARRIER_ARRIVE_TX, 16, 0, 2}, {MBARRIER_DROP_TX, 4, 0, 1},
	{MBARRIER_ARRIVE, 1, 0, 0}, {MBARRIER_COMPLETE, 4, 1, 1}, {MBARRIER_ARRIVE, 1, 0, 1},
	{MBARRIER_INIT, 0xfffff, 0, 0xfffff}, {MBARRIER_ARRIVE, 0xffffe, 0, 1},
	{MBARRIER_EXPECT, 0xfffff, 0, 1}, {MBARRIER_ARRIVE, 1, 0, 0},
	{MBARRIER_COMPLETE, 0xfffff, 1, 0xfffff},
};

START_TEST(barriers_count_threads_and_bytes)
{
	uint64_t bits = 0x1234567890abcdef;
	uint64_t before = 0;
	struct rt_warp warp = {.race = NULL};
	for (size_t i = 0; i < countof(steps); i++) {
		const struct step *s = &steps[i];
		uint64_t old = bits;
		uint64_t state = mbarrier_do(&warp, s->op, 0, &bits, s->argument);
		ck_assert_uint_eq(state, old);
		ck_assert_msg((bits >> MBARRIER_PENDING_SHIFT & MBARRIER_COUNT_MASK) == s->pending,
			"step %zu", i);
		bool over = s->parity != (before >> 63) && s->op != MBARRIER_INIT;
		ck_assert_uint_eq(mbarrier_do(&warp, MBARRIER_TEST_PARITY, 0, &bits, s->parity),
			0);
		ck_assert_uint_eq(mbarrier_do(&warp, MBARRIER_TEST_PARITY, 0, &bits, !s->parity),
			1);
		ck_assert_uint_eq(s->op != MBARRIER_INIT
			&& mbarrier_do(&warp, MBARRIER_TEST, 0, &bits, state), over);
		before = bits;
	}
}
END_TEST

#define BARRIER ".shared .align 8 .b64 bar; .shared .align 16 .b8 s[512];"

static void run(uint32_t width, uint32_t threads, const char *body)
{
	memset(grid.memory, 0xee, sizeof(grid.memory));
	grid_ok(width, threads, BARRIER, body);
}

/* Warp 1 waits for what warp 0 writes, round after round; nobody else is there. */
static const char *const waits[] = {
	"mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], %r5;",
	"mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p1, [bar], %r5;",
	"mbarrier.try_wait.parity.shared.b64 %p1, [bar], %r5, 100;",
	"mbarrier.test_wait.parity.b64 %p1, [%rd8], %r5;",
	"mbarrier.test_wait.parity.b64 %p1, [bar], %r5;",
};

START_TEST(a_warp_waits_for_another)
{
	char body[1024];
	snprintf(body, sizeof(body), "setp.ne.u32 %%p0, %%r0, 0;\n"
		"@!%%p0 mbarrier.init.shared.b64 [bar], 32;\nbar.sync 0;\n"
		"mov.u64 %%rd8, bar; cvta.shared.u64 %%rd8, %%rd8;\n"
		"mov.u32 %%r5, 0; mov.u32 %%r6, 0; shl.b32 %%r8, %%r0, 2; "
		"and.b32 %%r8, %%r8, 127;\n"
		"mov.u32 %%r9, s; add.u32 %%r8, %%r8, %%r9; setp.lt.u32 %%p2, %%r0, 32;\n"
		"A: @!%%p2 bra W; add.u32 %%r7, %%r0, %%r6; st.shared.u32 [%%r8], %%r7;\n"
		"mbarrier.arrive.shared.b64 %%rd1, [bar]; bra N;\n"
		"W: %s @!%%p1 bra W;\nld.shared.u32 %%r7, [%%r8]; add.u32 %%r4, %%r4, %%r7;\n"
		"N: bar.sync 1; xor.b32 %%r5, %%r5, 1; add.u32 %%r6, %%r6, 1;\n"
		"setp.lt.u32 %%p3, %%r6, 5; @%%p3 bra A; st.u32 [%%rd9], %%r4;", waits[_i]);
	for (size_t w = 0; w < countof(widths); w++) {
		run(widths[w], 64, body);
		for (uint32_t t = 32; t < 64; t++) {
			ck_assert_uint_eq(grid.memory[t][0], 5 * (t - 32) + 10);
		}
	}
}
END_TEST

START_TEST(states_are_those_before_the_arrival)
{
	for (size_t w = 0; w < countof(widths); w++) {
		run(widths[w], 1, "mbarrier.init.shared.b64 [bar], 3;\n"
			"mbarrier.arrive.shared.b64 %rd1, [bar];\n"
			"mbarrier.arrive.noComplete.shared.b64 %rd2, [bar], 1;\n"
			"mbarrier.test_wait.shared.b64 %p1, [bar], %rd2;\n"
			"mbarrier.arrive_drop.shared::cta.b64 _, [bar];\n"
			"mbarrier.try_wait.shared::cta.b64 %p2, [bar], %rd2, 20;\n"
			"mbarrier.pending_count.b64 %r1, %rd1; "
			"mbarrier.pending_count.b64 %r2, %rd2;\n"
			"mbarrier.arrive.expect_tx.shared.b64 %rd3, [bar], 12;\n"
			"mbarrier.pending_count.b64 %r3, %rd3; "
			"mbarrier.arrive.shared.b64 _, [bar];\n"
			"mbarrier.test_wait.shared.b64 %p3, [bar], %rd3;\n"
			"mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 12;\n"
			"mbarrier.test_wait.shared.b64 %p4, [bar], %rd3; selp.u32 %r4, 1, 0, %p1;\n"
			"selp.u32 %r5, 1, 0, %p2; selp.u32 %r6, 1, 0, %p3; "
			"selp.u32 %r7, 1, 0, %p4;\n"
			"st.v4.u32 [%rd9], {%r1, %r2, %r3, %r4}; st.v2.u32 [%rd9+16], {%r5, %r6};\n"
			"st.u32 [%rd9+24], %r7; mbarrier.inval.shared.b64 [bar];");
		static const uint32_t want[] = {3, 2, 2, 0, 1, 0, 1};
		ck_assert_mem_eq(grid.memory[0], want, sizeof(want));
	}
}
END_TEST

/* Each thread copies 16 bytes of its own, as the row says; what 16 bytes of shared memory hold. */
static const struct copy {
	const char *text;
	uint32_t read, size; /* from %rd9+32 */
} copies[] = {
	{"cp.async.ca.shared.global [%r8], [%rd8], 4;", 4, 4},
	{"cp.async.ca.shared.global [%r8], [%rd8], 8, 8;", 8, 8},
	{"cp.async.cg.shared.global.L2::64B [%r8], [%rd8], 16;", 16, 16},
	{"cp.async.cg.shared.global [%r8], [%rd8], 16, 5;", 5, 16},
	{"mov.u32 %r7, 11; cp.async.ca.shared.global [%r8], [%rd8], 16, %r7;", 11, 16},
	{"mov.u64 %rd8, 16; cp.async.ca.shared.global [%r8], [%rd8], 8, 0;", 0, 8},
	{"setp.eq.u32 %p1, 0, 0; cp.async.ca.shared.global [%r8], [%rd8], 8, %p1;", 0, 8},
	{"setp.eq.u32 %p1, 0, 1; cp.async.ca.shared.global [%r8], [%rd8], 8, %p1;", 8, 8},
	{"setp.eq.u32 %p1, 0, 0; cp.async.ca.shared.global [%r8], [%rd8], 8, !%p1;", 8, 8},
	{"createpolicy.fractional.L2::evict_last.b64 %rd7;\n"
		"cp.async.ca.shared.global.L2::cache_hint [%r8], [%rd8], 8, %rd7;", 8, 8},
};

START_TEST(copies_fill_up_with_zeros)
{
	const struct copy *c = &copies[_i];
	char body[1024];
	snprintf(body, sizeof(body), "shl.b32 %%r8, %%r0, 4; mov.u32 %%r9, s;\n"
		"add.u32 %%r8, %%r8, %%r9; mov.u32 %%r7, 0xdddddddd; add.u64 %%rd8, %%rd9, 32;\n"
		"st.shared.v4.u32 [%%r8], {%%r7, %%r7, %%r7, %%r7};\n"
		"st.v4.u32 [%%rd8], {0x04030201, 0x08070605, 0x0c0b0a09, 0x100f0e0d};\n%s\n"
		"cp.async.commit_group; cp.async.wait_group 0; cp.async.wait_all;\n"
		"ld.shared.v4.u32 {%%r1, %%r2, %%r3, %%r4}, [%%r8];\n"
		"st.v4.u32 [%%rd9], {%%r1, %%r2, %%r3, %%r4};", c->text);
	for (size_t w = 0; w < countof(widths); w++) {
		run(widths[w], 20, body);
		for (uint32_t t = 0; t < 20; t++) {
			const uint8_t *got = (const uint8_t *)grid.memory[t];
			for (uint32_t i = 0; i < 16; i++) {
				ck_assert_uint_eq(got[i],
					i < c->read ? i + 1 : i < c->size ? 0 : 0xdd);
			}
		}
	}
}
END_TEST

START_TEST(copies_arrive_at_barriers)
{
	for (size_t w = 0; w < countof(widths); w++) {
		run(widths[w], 32, "setp.ne.u32 %p0, %r0, 0;\n"
			"@!%p0 mbarrier.init.shared.b64 [bar], 32;\nbar.sync 0;\n"
			"cp.async.mbarrier.arrive.shared.b64 [bar];\n"
			"mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; bar.warp.sync -1;\n"
			"cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];\n"
			"L: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra L;\n"
			"selp.u32 %r1, 1, 2, %p1; st.u32 [%rd9], %r1;");
		for (uint32_t t = 0; t < 32; t++) {
			ck_assert_uint_eq(grid.memory[t][0], 2);
		}
	}
}
END_TEST

/* Thread 0 has 256 words of what thread 63 and those before have copied to shared memory, while all
 * wait for as many bytes; then once more within shared memory, and back, to the words of thread 8
 * and up. */
static const char *const bulk_ins[] = {
	"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%rd8], %r9, "
	"[bar];", "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s+0], [%rd8], "
	"1024, [bar];", "createpolicy.fractional.L2::evict_last.b64 %rd7; mov.u32 %r7, bar;\n@!%p0 "
		"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
		" [%r8], [%rd8], %r9, [%r7], %rd7;",
};

START_TEST(bulks_of_bytes_arrive_at_barriers)
{
	char body[2048];
	snprintf(body, sizeof(body), "setp.ne.u32 %%p0, %%r0, 0; mov.u32 %%r8, s; mov.u32 %%r9, "
		"1024;\n"
		"@!%%p0 mbarrier.init.shared.b64 [bar], 64;\nmov.u64 %%rd8, %%rd0;\n"
		"st.v2.u32 [%%rd9], {%%r0, 77}; bar.sync 0;\n@%%p0 bra W;\n"
		"cp.async.bulk.prefetch.L2.global [%%rd8], 1024;\n%s\n"
		"mbarrier.test_wait.parity.shared.b64 %%p1, [bar], 0; @%%p1 trap;\n"
		"mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [bar], %%r9; bra V;\n"
		"W: mbarrier.arrive.shared.b64 _, [bar];\n"
		"V: mbarrier.try_wait.parity.shared.b64 %%p1, [bar], 0; @!%%p1 bra V;\n"
		"shr.u32 %%r1, %%r0, 4; shl.b32 %%r2, %%r1, 8; add.u32 %%r2, %%r2, %%r8;\n"
		"ld.shared.v2.u32 {%%r3, %%r4}, [%%r2]; add.u32 %%r3, %%r3, %%r4;\n"
		"st.u32 [%%rd9+8], %%r3; bar.sync 0; @%%p0 bra E;\n"
		"mbarrier.init.shared.b64 [bar], 1; "
		"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 512;\n"
		"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
		" [s+1024], [s], 512, [bar];\nmbarrier.arrive.shared.b64 _, [bar];\n"
		"mbarrier.test_wait.parity.shared.b64 %%p1, [bar], 0; @!%%p1 trap;\n"
		"cp.async.bulk.global.shared::cta.bulk_group [%%rd8+2048], [s+1024], 512;\n"
		"cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\n"
		"cp.async.bulk.wait_group 0; mov.u32 %%r1, 0;\n"
		"cp.async.bulk.global.shared::cta.bulk_group [%%rd8+2048], [s+4], %%r1;\nE:",
		bulk_ins[_i]);
	for (size_t w = 0; w < countof(widths); w++) {
		memset(grid.memory, 0xee, sizeof(grid.memory));
		grid_ok(widths[w], 64, ".shared .align 8 .b64 bar; .shared .align 16 .b8 s[2048];",
			body);
		for (uint32_t t = 0; t < 64; t++) {
			bool copied = t == 8 || t == 9;
			ck_assert_uint_eq(grid.memory[t][0], copied ? t - 8 : t);
			ck_assert_uint_eq(grid.memory[t][2], copied ? 0xeeeeeeee : t / 16 + 77);
		}
	}
}
END_TEST

/* Thread 5 has 24 bytes of zeros stored, and then none. */
static const char *const st_bulks[] = {
	"st.bulk.weak.shared::cta [s+16], 24, 0;", "st.bulk.shared::cta [%r8], %rd1, 0;",
	"mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2; st.bulk [%rd2+16], 24, 0;",
};

START_TEST(bulks_of_zeros_are_stored)
{
	char body[1024];
	snprintf(body, sizeof(body), "mov.u32 %%r8, s; add.u32 %%r8, %%r8, 16; mov.u64 %%rd1, 24;\n"
		"shl.b32 %%r2, %%r0, 2; mov.u32 %%r3, s; add.u32 %%r2, %%r2, %%r3;\n"
		"st.shared.u32 [%%r2], %%r0; bar.sync 0; setp.eq.u32 %%p1, %%r0, 5; @!%%p1 bra N;\n"
		"%s\nmov.u64 %%rd1, 0; st.bulk.shared::cta [%%r8+40], %%rd1, 0;\n"
		"N: bar.sync 0; ld.shared.u32 %%r4, [%%r2]; st.u32 [%%rd9], %%r4;", st_bulks[_i]);
	for (size_t w = 0; w < countof(widths); w++) {
		run(widths[w], 64, body);
		for (uint32_t t = 0; t < 64; t++) {
			ck_assert_uint_eq(grid.memory[t][0], t >= 4 && t < 10 ? 0 : t);
		}
	}
}
END_TEST

/* Sizes that end past one of the two spaces, or wrap around. */
static const char *const bad_bulks[] = {
	"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%rd0], %r1, [bar];",
	"cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], %r1;",
	"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [s], [bar], %r1, "
	"[bar];", "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [s], 16;",
	"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%rd0], 16, [%r1];",
	"st.bulk.shared::cta [s], 0xfffffff8, 0;", "st.bulk.shared::cta [s], -8, 0;",
};

START_TEST(bulks_that_do_not_fit_are_faults)
{
	char body[512];
	snprintf(body, sizeof(body), "mov.u32 %%r1, 0xfffffff0; mov.u64 %%rd2, 64;\n%s",
		bad_bulks[_i]);
	for (size_t w = 0; w < countof(widths); w++) {
		ck_assert_int_eq(grid_run(widths[w], 1, BARRIER, body), CUDA_ERROR_ILLEGAL_ADDRESS);
	}
}
END_TEST

START_TEST(fences_and_hints_do_nothing_else)
{
	for (size_t w = 0; w < countof(widths); w++) {
		run(widths[w], 32, "fence.proxy.alias; fence.proxy.async; "
			"fence.proxy.async.global;\n"
			"fence.mbarrier_init.release.cluster; griddepcontrol.launch_dependents;\n"
			"griddepcontrol.wait; setmaxnreg.dec.sync.aligned.u32 24;\n"
			"mov.u64 %rd8, 64; prefetch.global.L1 [%rd8]; prefetch.L2 [%rd8+-128];\n"
			"prefetchu.L1 [%rd8]; prefetch.global.L2::evict_last [%rd9]; st.u32 "
			"[%rd9], 7;");
		ck_assert_uint_eq(grid.memory[31][0], 7);
	}
}
END_TEST

START_TEST(a_bad_copy_is_a_fault)
{
	for (size_t w = 0; w < countof(widths); w++) {
		CUresult result = grid_run(widths[w], 32, BARRIER, "mov.u64 %rd8, 64;\n"
			"cp.async.ca.shared.global [s], [%rd8], 4;");
		ck_assert_int_eq(result, CUDA_ERROR_ILLEGAL_ADDRESS);
	}
}
END_TEST

SUITE(emit_async)
{
	Suite *suite = suite_create("emit_async");
	TCase *tc = tcase_create("barriers");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_test(tc, barriers_count_threads_and_bytes);
	tcase_add_loop_test(tc, a_warp_waits_for_another, 0, countof(waits));
	tcase_add_test(tc, states_are_those_before_the_arrival);
	tcase_add_loop_test(tc, copies_fill_up_with_zeros, 0, countof(copies));
	tcase_add_test(tc, copies_arrive_at_barriers);
	tcase_add_loop_test(tc, bulks_of_bytes_arrive_at_barriers, 0, countof(bulk_ins));
	tcase_add_loop_test(tc, bulks_of_zeros_are_stored, 0, countof(st_bulks));
	tcase_add_loop_test(tc, bulks_that_do_not_fit_are_faults, 0, countof(bad_bulks));
	tcase_add_test(tc, fences_and_hints_do_nothing_else);
	tcase_add_test(tc, a_bad_copy_is_a_fault);
	suite_add_tcase(suite, tc);
	return suite;
}
