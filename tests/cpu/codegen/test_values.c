/* SPDX-License-Identifier: MIT */
/*
 * What registers hold: after guarded writes, in loops that exchange them, where control comes from
 * several places, and across yields.  Each body runs at both widths, in whole and partial warps.
 * It leaves three words, which a function of C computes, too.
 */
#include "base/common.h"

#include "cpu/support/grid.h"
#include "support/count.h"
#include "support/suite.h"

#include <string.h>

/* --- Guarded writes --- */

static uint32_t all_threads(uint32_t t)
{
	(void)t;
	return 1;
}

static uint32_t no_thread(uint32_t t)
{
	(void)t;
	return 0;
}

static uint32_t odd_threads(uint32_t t)
{
	return t & 1;
}

static uint32_t some_warps(uint32_t t)
{
	return t >= 32;
}

#define GUARDS 4
static const struct guard {
	const char *name;
	const char *text;       /* makes %p1 of the thread's number */
	uint32_t (*is)(uint32_t t);
} guard_table[GUARDS] = {
	{"all", "setp.ge.u32 %p1, %r0, 0;", all_threads},
	{"none", "setp.lt.u32 %p1, %r0, 0;", no_thread},
	{"odd ones", "and.b32 %r59, %r0, 1; setp.ne.u32 %p1, %r59, 0;", odd_threads},
	{"the second warp", "setp.ge.u32 %p1, %r0, 32;", some_warps},
};

typedef void want_fn(uint32_t want[3], uint32_t t, uint32_t g);

static void want_scalar(uint32_t want[3], uint32_t t, uint32_t g)
{
	want[0] = g ? t + 7 : 5;
	want[1] = g ? 9 : 0;
	want[2] = g ? 5 : t;
}

static void want_vector(uint32_t want[3], uint32_t t, uint32_t g)
{
	want[0] = g ? t : 100;
	want[1] = g ? t + 1 : 0;
	want[2] = g ? 3 * t : 102;
}

static void want_pair(uint32_t want[3], uint32_t t, uint32_t g)
{
	want[0] = g ? t >= 5 : 0;
	want[1] = g ? t < 5 : 1;
	want[2] = g ? t : 0;
}

static void want_atomic(uint32_t want[3], uint32_t t, uint32_t g)
{
	want[0] = g ? 2 * t : 50;
	want[1] = 2 * t + (g ? 3 : 0);
	want[2] = g ? 2 * t + 3 : 60;
}

static void want_unpacked(uint32_t want[3], uint32_t t, uint32_t g)
{
	want[0] = g ? 6 : t;
	want[1] = g ? 7 : 0;
	want[2] = g ? 7 : 8;
}

static void want_carry(uint32_t want[3], uint32_t t, uint32_t g)
{
	want[0] = g;
	want[1] = g ? 0 : t;
	want[2] = 1;
}

static void want_in_a_loop(uint32_t want[3], uint32_t t, uint32_t g)
{
	want[0] = g ? 5 * (t + 1) : 0;
	want[1] = g ? 4 : 77;
	want[2] = 5;
}

static const struct guarded {
	const char *name;
	const char *body;
	want_fn *want;
} guarded[] = {
	{"scalars", "mov.u32 %r10, 5; @%p1 add.u32 %r10, %r0, 7; @%p1 mov.u32 %r11, 9;\n"
		"mov.u32 %r12, %r0; @%p1 mov.u32 %r12, 5;", want_scalar},
	{"a vector load", "add.u32 %r5, %r0, 1; mul.lo.u32 %r6, %r0, 3;\n"
		"st.v4.u32 [%rd9+16], {%r0, %r5, %r6, %r6}; mov.u32 %r10, 100; mov.u32 %r12, 102;\n"
		"@%p1 ld.v4.u32 {%r10, %r11, %r12, %r13}, [%rd9+16];", want_vector},
	{"a pair of predicates", "setp.eq.u32 %p3, %r0, %r0; @%p1 setp.ge.u32 %p2|%p3, %r0, 5;\n"
		"selp.u32 %r10, 1, 0, %p2; selp.u32 %r11, 1, 0, %p3;\n"
		"@%p1 add.u32 %r12, %r0, 0;", want_pair},
	{"the result of an atomic", "shl.b32 %r5, %r0, 1; st.u32 [%rd9+16], %r5; mov.u32 %r10, "
		"50;\n"
		"@%p1 atom.add.u32 %r10, [%rd9+16], 3; ld.u32 %r11, [%rd9+16];\n"
		"mov.u32 %r12, 60; @%p1 atom.exch.b32 %r12, [%rd9+16], 1;", want_atomic},
	{"the halves of a register", "mov.b64 %rd5, {6, 7}; mov.u32 %r10, %r0; mov.u32 %r12, 8;\n"
		"@%p1 mov.b64 {%r10, %r11}, %rd5; @%p1 mov.b64 {%r13, %r12}, %rd5;", want_unpacked},
	{"the condition code", "add.cc.u32 %r5, %r0, 0; @%p1 add.cc.u32 %r6, 0xffffffff, 1;\n"
		"addc.u32 %r10, 0, 0; mov.u32 %r11, %r0; @%p1 mov.u32 %r11, 0;\n"
		"add.cc.u32 %r5, 0xffffffff, 5; addc.u32 %r12, 0, 0;", want_carry},
	{"in a loop", "mov.u32 %r11, 77; mov.u32 %r12, 0; L: @%p1 add.u32 %r10, %r10, %r0;\n"
		"@%p1 add.u32 %r10, %r10, 1; @%p1 mov.u32 %r11, %r12; add.u32 %r12, %r12, 1;\n"
		"setp.lt.u32 %p2, %r12, 5; @%p2 bra L;", want_in_a_loop},
};

static void check_words(uint32_t width, uint32_t threads, const char *name, const char *guard,
	want_fn *want, uint32_t (*is)(uint32_t t))
{
	for (uint32_t t = 0; t < threads; t++) {
		uint32_t words[3];
		want(words, t, is(t));
		for (uint32_t i = 0; i < 3; i++) {
			ck_assert_msg(grid.memory[t][i] == words[i],
				"%s, guard for %s, width %u, thread %u of %u: word %u is %u, "
				"expected %u", name, guard, width, t, threads, i, grid.memory[t][i],
				words[i]);
		}
	}
}

static const uint32_t thread_counts[] = {32, 33, 64, 1};
static const char store[] =
	"st.u32 [%rd9], %r10; st.u32 [%rd9+4], %r11; st.u32 [%rd9+8], %r12;";

static void try_body(uint32_t threads, const char *name, const struct guard *guard,
	const char *body, want_fn *want)
{
	struct str text = STR_INIT;
	str_addf(&text, "%s\n%s\n%s", guard->text, body, store);
	for (uint32_t width = 1; width <= 32; width += 31) {
		memset(grid.memory, 0, sizeof(grid.memory));
		grid_ok(width, threads, "", text.data);
		check_words(width, threads, name, guard->name, want, guard->is);
	}
	str_free(&text);
}

static void try_row(const struct guarded *row, const struct guard *guard)
{
	for (size_t i = 0; i < countof(thread_counts); i++) {
		try_body(thread_counts[i], row->name, guard, row->body, row->want);
	}
}

START_TEST(a_guarded_write_keeps_what_there_was)
{
	if (!support_is_tried(_i, countof(guarded) * GUARDS, 14, 7)) {
		return;
	}
	try_row(&guarded[(size_t)_i / GUARDS], &guard_table[_i % GUARDS]);
}
END_TEST

/* --- Sides of a branch, of which a warp whose lanes part does both --- */

static void want_masked_load(uint32_t want[3], uint32_t t, uint32_t g)
{
	want[0] = g ? t + 1 : 0;
	want[1] = g ? 4 : 2;
	want[2] = 8;
}

static void want_added(uint32_t want[3], uint32_t t, uint32_t g)
{
	want[0] = g ? t + 3 : t;
	want[1] = g ? t : 0;
	want[2] = g ? 1 : 3;
}

static void want_counts(uint32_t want[3], uint32_t t, uint32_t g)
{
	want[0] = g ? 5 * (t + 1) : 0;
	want[1] = g ? 0 : 10;
	want[2] = 5;
}

static void want_nested(uint32_t want[3], uint32_t t, uint32_t g)
{
	want[0] = g ? t >= 7 ? 3 : 2 : 1;
	want[1] = g ? 20 : 10;
	want[2] = g && t >= 7 ? t : 0;
}

static void want_exchange(uint32_t want[3], uint32_t t, uint32_t g)
{
	want[0] = g ? 2 : t;
	want[1] = g ? t : 2;
	want[2] = t + 2;
}

static const struct guarded sides[] = {
	{"if", "mov.u32 %r10, 5; mov.u32 %r12, %r0; @!%p1 bra E;\n"
		"mov.u32 %r12, %r10; add.u32 %r10, %r0, 7; mov.u32 %r11, 9; E:", want_scalar},
	{"if, around an empty side", "mov.u32 %r10, 5; mov.u32 %r12, %r0; @%p1 bra A; bra E;\n"
		"A: mov.u32 %r12, %r10; add.u32 %r10, %r0, 7; mov.u32 %r11, 9; E:", want_scalar},
	{"if and else", "@%p1 bra A; mov.u32 %r10, 5; mov.u32 %r11, 0; mov.u32 %r12, %r0; bra E;\n"
		"A: add.u32 %r10, %r0, 7; mov.u32 %r11, 9; mov.u32 %r12, 5; E:", want_scalar},
	{"a load from where only some lanes may", "add.u32 %r5, %r0, 1; st.u32 [%rd9], %r5;\n"
		"selp.b64 %rd5, %rd9, 16, %p1; mov.u32 %r11, 2; @!%p1 bra E; ld.u32 %r10, [%rd5];\n"
		"mov.u32 %r11, 4; E: mov.u32 %r12, 8;", want_masked_load},
	{"an atomic, and guards within", "st.u32 [%rd9], %r0; mov.u32 %r12, 3; @!%p1 bra E;\n"
		"atom.add.u32 %r11, [%rd9], 3; setp.lt.u32 %p2, %r0, 7; @%p2 mov.u32 %r12, 1;\n"
		"@!%p2 sub.u32 %r12, %r12, 2; E: ld.u32 %r10, [%rd9];", want_added},
	{"in a loop", "L: @%p1 bra A; add.u32 %r11, %r11, 2; bra E; A: add.u32 %r10, %r10, %r0;\n"
		"add.u32 %r10, %r10, 1; E: add.u32 %r12, %r12, 1; setp.lt.u32 %p2, %r12, 5;\n"
		"@%p2 bra L;", want_counts},
	{"one within another", "mov.u32 %r10, 1; mov.u32 %r11, 10; @!%p1 bra E; mov.u32 %r10, 2;\n"
		"setp.lt.u32 %p2, %r0, 7; @%p2 bra D; mov.u32 %r10, 3; mov.u32 %r12, %r0;\n"
		"D: add.u32 %r11, %r11, 10; E:", want_nested},
	{"values change places", "mov.u32 %r10, %r0; mov.u32 %r11, 2; @!%p1 bra E; mov.u32 %r5, "
		"%r10;\n"
		"mov.u32 %r10, %r11; mov.u32 %r11, %r5; E: add.u32 %r12, %r10, %r11;",
		want_exchange},
	{"between barriers", "mov.u32 %r10, %r0; mov.u32 %r11, 2; bar.sync 0; @!%p1 bra E;\n"
		"mov.u32 %r5, %r10; mov.u32 %r10, %r11; mov.u32 %r11, %r5; E: bar.sync 0;\n"
		"add.u32 %r12, %r10, %r11;", want_exchange},
};

START_TEST(a_side_is_done_by_its_lanes)
{
	if (!support_is_tried(_i, countof(sides) * GUARDS, 17, 7)) {
		return;
	}
	try_row(&sides[(size_t)_i / GUARDS], &guard_table[_i % GUARDS]);
}
END_TEST

/* --- Control flow --- */

static void want_swapped(uint32_t want[3], uint32_t t, uint32_t g)
{
	(void)g;
	want[0] = t % 2 == 0 ? 3 : 4;
	want[1] = t % 2 == 0 ? 4 : 3;
	want[2] = t;
}

static void want_rotated(uint32_t want[3], uint32_t t, uint32_t g)
{
	(void)g;
	for (uint32_t i = 0; i < 3; i++) {
		want[i] = (t + i) % 3;
	}
}

static void want_last(uint32_t want[3], uint32_t t, uint32_t g)
{
	(void)g;
	want[0] = t;       /* the value before the last step */
	want[1] = t + 1;
	want[2] = t > 0 ? t - 1 : 0;
}

static void want_product(uint32_t want[3], uint32_t t, uint32_t g)
{
	uint64_t sum = (uint64_t)(t + 1) * UINT64_C(0x1fffffff1);
	(void)g;
	want[0] = (uint32_t)sum;
	want[1] = (uint32_t)(sum >> 32);
	want[2] = t + 1;
}

static void want_two_entries(uint32_t want[3], uint32_t t, uint32_t g)
{
	uint32_t n = t & 7, a = 0, b = 0;
	(void)g;
	bool at_b = t & 1;
	while (n > 0) {
		a += at_b ? 0 : n;
		b += at_b ? n : 0;
		n -= at_b;
		at_b = !at_b;
	}
	want[0] = a;
	want[1] = b;
	want[2] = 0;
}

static void want_exits(uint32_t want[3], uint32_t t, uint32_t g)
{
	uint32_t n = 0, how = 0;
	(void)g;
	while (how == 0) {
		n += 3;
		how = n >= t ? 1 : n % 7 == 0 ? 2 : 0;
	}
	want[0] = n;
	want[1] = how;
	want[2] = how == 1 ? n + t : 0;
}

static void want_table(uint32_t want[3], uint32_t t, uint32_t g)
{
	static const uint32_t add[] = {1, 10, 100, 1000};
	(void)g;
	want[0] = 5 + add[t % 4] + (t % 4 == 2 ? 1000 : 0);
	want[1] = t % 4 == 1 ? 0 : t;
	want[2] = t % 4;
}

static void want_straight(uint32_t want[3], uint32_t t, uint32_t g)
{
	(void)g;
	want[0] = 3 + t;
	want[1] = 4;
	want[2] = t;
}

/* Bodies that branch, by the thread's number and not by the guard. */
static const struct guarded flows[] = {
	{"two values change places", "mov.u32 %r10, 3; mov.u32 %r11, 4; mov.u32 %r12, 0;\n"
		"L: setp.ge.u32 %p2, %r12, %r0; @%p2 bra E; mov.u32 %r5, %r10; "
		"mov.u32 %r10, %r11;\n"
		"mov.u32 %r11, %r5; add.u32 %r12, %r12, 1; bra L; E:", want_swapped},
	{"three values go round", "mov.u32 %r10, 0; mov.u32 %r11, 1; mov.u32 %r12, 2;\n"
		"L: setp.ge.u32 %p2, %r6, %r0; @%p2 bra E; mov.u32 %r5, %r10; mov.u32 %r10, %r11;\n"
		"mov.u32 %r11, %r12; mov.u32 %r12, %r5; add.u32 %r6, %r6, 1; bra L; E:",
		want_rotated},
	{"the value before the last step is used behind the loop", "mov.u32 %r11, 0;\n"
		"L: mov.u32 %r12, %r10; mov.u32 %r10, %r11; add.u32 %r11, %r11, 1;\n"
		"setp.le.u32 %p2, %r11, %r0; @%p2 bra L;", want_last},
	{"a carry crosses blocks", "L: add.cc.u32 %r10, %r10, 0xfffffff1; setp.ge.u32 %p2, %r12, "
		"%r0;\n"
		"@%p2 bra A; bra B; A: mov.u32 %r5, 1; B: addc.u32 %r11, %r11, 1;\n"
		"add.u32 %r12, %r12, 1; setp.gt.u32 %p3, %r12, %r0; @!%p3 bra L;", want_product},
	{"a carry waits", "L: add.cc.u32 %r10, %r10, 0xfffffff1; bar.warp.sync -1;\n"
		"addc.u32 %r11, %r11, 1; add.u32 %r12, %r12, 1; setp.lt.u32 %p2, %r12, 1; "
		"@%p2 bra L;\n"
		"M: setp.gt.u32 %p3, %r12, %r0; @%p3 bra E; add.cc.u32 %r10, %r10, 0xfffffff1;\n"
		"addc.u32 %r11, %r11, 1; add.u32 %r12, %r12, 1; bra M; E:", want_product},
	{"a loop that is entered in two places", "and.b32 %r5, %r0, 7; and.b32 %r6, %r0, 1;\n"
		"setp.ne.u32 %p2, %r6, 0; @%p2 bra B; A: setp.eq.u32 %p3, %r5, 0; @%p3 bra E;\n"
		"add.u32 %r10, %r10, %r5; B: setp.eq.u32 %p3, %r5, 0; @%p3 bra E;\n"
		"add.u32 %r11, %r11, %r5; sub.u32 %r5, %r5, 1; bra A; E:", want_two_entries},
	{"a loop with two exits", "L: add.u32 %r10, %r10, 3; setp.ge.u32 %p2, %r10, %r0; @%p2 bra "
		"A;\n"
		"rem.u32 %r5, %r10, 7; setp.ne.u32 %p3, %r5, 0; @%p3 bra L; mov.u32 %r11, 2; "
		"bra E;\n"
		"A: mov.u32 %r11, 1; add.u32 %r12, %r10, %r0; E:", want_exits},
	{"a table of targets", "mov.u32 %r10, 5; mov.u32 %r11, %r0; and.b32 %r12, %r0, 3;\n"
		"T: .branchtargets A, B, C, D; brx.idx %r12, T; A: add.u32 %r10, %r10, 1; bra E;\n"
		"B: add.u32 %r10, %r10, 10; mov.u32 %r11, 0; bra E; C: add.u32 %r10, %r10, 100;\n"
		"D: add.u32 %r10, %r10, 1000; E:", want_table},
	{"both ways of a branch lead to one place", "mov.u32 %r10, 3; mov.u32 %r11, 4; and.b32 "
		"%r5, %r0, 1;\n"
		"setp.ne.u32 %p2, %r5, 0; @%p2 bra A; A: add.u32 %r10, %r10, %r0; mov.u32 %r12, "
		"%r0;", want_straight},
	{"all targets of a table are one", "mov.u32 %r10, 3; mov.u32 %r11, 4; and.b32 %r5, %r0, "
		"3;\n"
		"T: .branchtargets A, A, A, A; brx.idx %r5, T; A: add.u32 %r10, %r10, %r0;\n"
		"mov.u32 %r12, %r0;", want_straight},
};

START_TEST(values_go_where_control_goes)
{
	try_row(&flows[_i], &guard_table[0]);
}
END_TEST

/* --- Yields --- */

static void want_barriers(uint32_t want[3], uint32_t t, uint32_t g)
{
	(void)g;
	want[0] = 4 * t + 0 + 1 + 2 + 3;
	want[1] = t >= 20 ? 3 : 103;
	want[2] = t * t;
}

static void want_spin(uint32_t want[3], uint32_t t, uint32_t g)
{
	(void)g;
	want[0] = t + 1;
	want[1] = 3 * t;
	want[2] = 11;
}

static const struct guarded yields[] = {
	{"values live across barriers in a loop", "mul.lo.u32 %r12, %r0, %r0; mov.u32 %r11, 100;\n"
		"L: bar.sync 0; add.u32 %r10, %r10, %r0; bar.sync 0; add.u32 %r10, %r10, %r5;\n"
		"add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 4; @%p2 bra L; "
		"setp.lt.u32 %p3, %r0, 20;\n"
		"@!%p3 mov.u32 %r11, 0; bar.sync 0; add.u32 %r11, %r11, 3;", want_barriers},
	{"a guarded write whose result nobody reads, behind a barrier",
		"mul.lo.u32 %r12, %r0, %r0; mov.u32 %r11, 100; bar.sync 0; "
		"@%p1 add.u32 %r20, %r20, 1;\n"
		"shl.b32 %r10, %r0, 2; add.u32 %r10, %r10, 6; setp.lt.u32 %p3, %r0, 20;\n"
		"@!%p3 mov.u32 %r11, 0; add.u32 %r11, %r11, 3;", want_barriers},
	{"threads wait for the one before", "mul.lo.u32 %r11, %r0, 3; mov.u32 %r12, 11;\n"
		"add.u64 %rd5, %rd0, 252; W: ld.volatile.u32 %r10, [%rd5]; "
		"setp.ne.u32 %p2, %r10, %r0;\n"
		"@%p2 bra W; add.u32 %r10, %r10, 1; st.volatile.u32 [%rd5], %r10;", want_spin},
};

START_TEST(values_survive_a_yield)
{
	try_row(&yields[_i], &guard_table[0]);
}
END_TEST

SUITE(values)
{
	Suite *s = suite_create("values");
	TCase *tc = suite_add_case(s, "values");
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_loop_test(tc, a_guarded_write_keeps_what_there_was, 0,
		(int)countof(guarded) * GUARDS);
	tcase_add_loop_test(tc, a_side_is_done_by_its_lanes, 0, (int)countof(sides) * GUARDS);
	tcase_add_loop_test(tc, values_go_where_control_goes, 0, (int)countof(flows));
	tcase_add_loop_test(tc, values_survive_a_yield, 0, (int)countof(yields));
	return s;
}
