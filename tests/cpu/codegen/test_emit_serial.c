/* SPDX-License-Identifier: MIT */
/*
 * Lane serialisation: loops that threads leave one by one, at both widths, in whole and partial
 * warps.  Each thread follows a chain through memory that all share.  The reference is the same
 * loop in C.
 */
#include "base/common.h"

#include "cpu/support/grid.h"
#include "support/suite.h"

#include <check.h>
#include <string.h>

/* Threads have the next one of the chain in word 0, a number in word 1, and how far they go in 4.
 * Across the branches live a vector, a predicate, one that is alike and one with offsets. */
static const char chains[] =
	"ld.global.u32 %r2, [%rd9+16]; mov.u32 %r1, %r0; mov.u32 %r6, 0; mov.u32 %r7, 0;\n"
	"mov.u32 %r9, %ntid.x; add.u32 %r8, %r0, 5; setp.gt.u32 %p3, %r0, 20;\n"
	"setp.gt.u32 %p4, %r2, 90; @%p4 bra FAR; setp.eq.u32 %p1, %r2, 0; @%p1 bra END;\n"
	"L: mad.wide.u32 %rd3, %r1, 256, %rd0; ld.global.u32 %r4, [%rd3+4];\n"
	"ld.global.u32 %r1, [%rd3];\n"
	"setp.gt.u32 %p2, %r4, 50; @%p2 bra SKIP; add.u32 %r6, %r6, %r4;\n"
	"st.global.u32 [%rd9+8], %r6;\n"
	"SKIP: @%p3 add.u32 %r6, %r6, 3; add.u32 %r7, %r7, 1;\n"
	"setp.lt.u32 %p1, %r7, %r2; @%p1 bra L;\n"
	"add.u32 %r6, %r6, %r9; xor.b32 %r6, %r6, %r8; st.global.u32 [%rd9+12], %r6; bra END;\n"
	"FAR: st.global.u32 [%rd9+12], %r8;\nEND:";

static uint32_t next_of(uint32_t thread, uint32_t threads)
{
	return (thread * 5 + 3) % threads;
}

static uint32_t number_of(uint32_t thread)
{
	return thread * 37 % 101;
}

static uint32_t length_of(uint32_t thread)
{
	return thread % 11 == 10 ? 91 : thread * 7 % 13;
}

static void fill(uint32_t threads)
{
	for (uint32_t t = 0; t < threads; t++) {
		const uint32_t words[] = {next_of(t, threads), number_of(t), 77, 78, length_of(t)};
		for (size_t i = 0; i < countof(words); i++) {
			grid.memory[t][i] = words[i];
		}
	}
}

/* Words 2 and 3. */
static void expect(uint32_t want[2], uint32_t thread, uint32_t threads)
{
	uint32_t at = thread, sum = 0, length = length_of(thread);
	want[0] = 77;
	want[1] = length > 90 ? thread + 5 : 78;
	for (uint32_t i = 0; i < length && length <= 90; i++) {
		if (number_of(at) <= 50) {
			sum += number_of(at);
			want[0] = sum;
		}
		at = next_of(at, threads);
		sum += thread > 20 ? 3 : 0;
		want[1] = (sum + threads) ^ (thread + 5);
	}
}

START_TEST(each_thread_follows_its_chain)
{
	static const uint32_t sizes[] = {1, 7, 32, 50, 64, 256};
	uint32_t threads = sizes[_i / 2], width = _i % 2 ? 32 : 1;
	fill(threads);
	grid_ok(width, threads, "", chains);
	for (uint32_t t = 0; t < threads; t++) {
		uint32_t want[2];
		expect(want, t, threads);
		ck_assert_msg(grid.memory[t][2] == want[0] && grid.memory[t][3] == want[1],
			"thread %u of %u, W=%u: %u and %u, expected %u and %u", t, threads, width,
			grid.memory[t][2], grid.memory[t][3], want[0], want[1]);
	}
}
END_TEST

START_TEST(the_message_of_a_fault_names_the_thread)
{
	if (driver_lacks("it does not say which thread failed")) {
		return;
	}
	for (uint32_t width = 1; width <= 32; width += 31) {
		fill(64);
		grid.memory[42][0] = UINT32_MAX; /* 256 of these are 1 TiB */
		grid.memory[42][4] = 5;
		for (uint32_t t = 0; t < 64; t++) {
			grid.memory[t][4] = t == 42 ? 5 : t % 2;
		}
		CUresult result = grid_run(width, 64, "", chains);
		ck_assert_int_eq(result, CUDA_ERROR_ILLEGAL_ADDRESS);
		ck_assert_ptr_nonnull(strstr(grid.failure.where, "thread (42,0,0)"));
	}
}
END_TEST

SUITE(emit_serial)
{
	Suite *suite = suite_create("emit_serial");
	TCase *tc = tcase_create("chains");
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_loop_test(tc, each_thread_follows_its_chain, 0, 12);
	tcase_add_test(tc, the_message_of_a_fault_names_the_thread);
	suite_add_tcase(suite, tc);
	return suite;
}
