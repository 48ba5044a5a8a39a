/* SPDX-License-Identifier: MIT */
/*
 * Comparisons of ordered lanes with a bound, also near the ends of the numbers, where additions
 * wrap, and logic of such predicates: each lane of a warp branches as it compares.
 */
#include "base/common.h"

#include "cpu/support/grid.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { CASES = 32, TABLE = 1000, THREADS = 64 };

/* From where lanes count, and up to where, in each case that a kernel goes through. */
static const uint32_t starts[] = {0, 0x7fffffe0, 0x7ffffff0, 0xffffffe0, 0xfffffff5, 0x80000000, 31,
	90};
static const uint32_t ends[] = {0, 31, 32, 64, 100, 0x7fffffff, 0x80000000, 0xffffffff};

static bool holds(unsigned relation, int64_t a, int64_t b)
{
	return relation == 0 ? a < b : relation == 1 ? a <= b : relation == 2 ? a > b : a >= b;
}

static int64_t number(uint32_t bits, bool sign)
{
	return sign ? (int32_t)bits : (int64_t)bits;
}

/* Case `i` of round `round`. */
static uint32_t start_of(unsigned round, unsigned i)
{
	return starts[round * (countof(starts) / 2) + i / countof(ends)];
}

static void run(unsigned width, unsigned round, const char *guard)
{
	char body[1024];
	for (unsigned i = 0; i < CASES; i++) {
		grid.memory[TABLE][2 * i] = start_of(round, i);
		grid.memory[TABLE][2 * i + 1] = ends[i % countof(ends)];
	}
	snprintf(body, sizeof(body), "mov.u32 %%r10, 0; mov.u32 %%r11, 0;\n"
		"add.u64 %%rd1, %%rd0, %d;\n"
		"loop: ld.u32 %%r1, [%%rd1]; ld.u32 %%r2, [%%rd1+4]; add.u32 %%r3, %%r0, %%r1;\n"
		"shl.b32 %%r10, %%r10, 1;\n%s bra yes; bra next;\n"
		"yes: add.u32 %%r10, %%r10, 1;\n"
		"next: add.u64 %%rd1, %%rd1, 8; add.u32 %%r11, %%r11, 1;\n"
		"setp.lt.u32 %%p8, %%r11, %d; @%%p8 bra loop;\nst.u32 [%%rd9], %%r10;",
		TABLE * GRID_WORDS * 4, guard, CASES);
	grid_ok(width, THREADS, "", body);
}

static const char *const relations[] = {"lt", "le", "gt", "ge"};

/* Of the loop's number: the relation, the sign, the order of the operands, and the round. */
START_TEST(lanes_branch_as_each_of_them_compares)
{
	unsigned relation = (unsigned)_i % 4, round = (unsigned)_i / 16, wrong = 0;
	bool sign = _i / 4 % 2, turned = _i / 8 % 2;
	char guard[128];
	snprintf(guard, sizeof(guard), "setp.%s.%c32 %%p1, %s; @%%p1", relations[relation],
		sign ? 's' : 'u', turned ? "%r2, %r3" : "%r3, %r2");
	run(RT_MAX_WIDTH, round, guard);
	for (uint32_t thread = 0; thread < THREADS; thread++) {
		uint32_t want = 0;
		for (unsigned i = 0; i < CASES; i++) {
			int64_t a = number(start_of(round, i) + thread, sign);
			int64_t b = number(ends[i % countof(ends)], sign);
			want = want << 1 | holds(relation, turned ? b : a, turned ? a : b);
		}
		wrong += grid.memory[thread][0] != want;
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* Predicates of three kinds: in order, the same for all lanes, and any. */
static const struct logic {
	const char *text;
	unsigned table; /* of p, q, r as bits of the index */
} logics[] = {
	{"or.pred %p4, %p1, %p2; @%p4", 0xee}, {"or.pred %p4, %p1, %p2; @!%p4", 0x11},
	{"and.pred %p4, %p1, %p2; @%p4", 0x88}, {"and.pred %p4, %p1, %p2; @!%p4", 0x77},
	{"not.pred %p4, %p1; @%p4", 0x55}, {"xor.pred %p4, %p1, %p2; @%p4", 0x66},
	{"or.pred %p4, %p1, %p3; @%p4", 0xfa}, {"and.pred %p4, %p3, %p1; @!%p4", 0x5f},
	{"or.pred %p4, %p1, %p2; and.pred %p4, %p4, %p3; @%p4", 0xe0},
	{"not.pred %p4, %p1; or.pred %p1, %p4, %p2; @!%p1", 0x22},
	{"setp.lt.u32 %p4, %r3, 3; xor.pred %p4, %p1, %p2; @%p4", 0x66},
	{"and.pred %p4, !%p1, %p2; @%p4", 0x44},
};

START_TEST(logic_of_predicates_is_that_of_each_lane)
{
	const struct logic *logic = &logics[_i / 2];
	unsigned round = (unsigned)_i % 2, wrong = 0;
	char guard[256];
	snprintf(guard, sizeof(guard), "setp.ge.u32 %%p1, %%r3, %%r2; shl.b32 %%r4, %%r0, 1;\n"
		"setp.lt.s32 %%p2, %%r4, %%r2; setp.gt.u32 %%p3, %%r1, 40;\n%s", logic->text);
	run(RT_MAX_WIDTH, round, guard);
	for (uint32_t thread = 0; thread < THREADS; thread++) {
		uint32_t want = 0;
		for (unsigned i = 0; i < CASES; i++) {
			uint32_t start = start_of(round, i), end = ends[i % countof(ends)];
			unsigned p = start + thread >= end,
				q = (int32_t)(2 * thread) < (int32_t)end;
			want = want << 1 | (logic->table >> (p | q << 1 | (start > 40u) << 2) & 1);
		}
		wrong += grid.memory[thread][0] != want;
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

SUITE(emit_cmp)
{
	Suite *s = suite_create("emit_cmp");
	TCase *tc = tcase_create("branches of a warp");
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_loop_test(tc, lanes_branch_as_each_of_them_compares, 0, 32);
	tcase_add_loop_test(tc, logic_of_predicates_is_that_of_each_lane, 0,
		(int)countof(logics) * 2);
	suite_add_tcase(s, tc);
	return s;
}
