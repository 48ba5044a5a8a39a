/* SPDX-License-Identifier: MIT */
/*
 * Local memory, at both widths: elements of all sizes, at one offset in all threads and at
 * different ones, in whole and partial warps.  The reference is an array of bytes.
 */
#include "base/common.h"

#include "cpu/support/grid.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const uint32_t widths[] = {1, 32};

enum { BYTES = 64, THREADS = 70 };

static const struct element {
	const char *type; /* of ld and st, with its vector */
	const char *value; /* a list of registers, from %rd10 on */
	unsigned size, count;
} elements[] = {
	{"u8", "%rd10", 1, 1}, {"b16", "%rd10", 2, 1}, {"u32", "%r10", 4, 1},
	{"u64", "%rd10", 8, 1}, {"v2.u8", "{%rd10, %rd11}", 1, 2},
	{"v4.u16", "{%rd10, %rd11, %rd12, %rd13}", 2, 4},
	{"v2.b64", "{%rd10, %rd11}", 8, 2}, {"v4.u32", "{%r10, %r11, %r12, %r13}", 4, 4},
};

/* Ways to make the number of an element, %r8, from that of the thread and a constant %d. */
static const struct resident_place {
	const char *text;
	bool varies;
} places[] = {
	{"mov.u32 %%r8, %d;", false},
	{"min.u32 %%r8, %%r0, 0; add.u32 %%r8, %%r8, %d;", false},
	{"mad.lo.u32 %%r8, %%r0, 5, %d;", true},
};

/* Threads that take part: all, or those that are not a multiple of 3. */
static bool is_in(uint32_t thread, bool some)
{
	return !some || thread % 3 != 0;
}

static size_t offset_of(const struct element *of, const struct resident_place *place,
	uint32_t thread, uint32_t constant)
{
	size_t step = (size_t)of->size * of->count;
	uint32_t index = place->varies ? thread * 5 + constant : constant;
	return index % (BYTES / step) * step;
}

/* Fill the array, change an element at `write`, read one at `read`, and then all of it. */
static void run(uint32_t width, const struct element *of, const struct resident_place *place,
	bool some)
{
	unsigned step = of->size * of->count;
	char body[3000], write[128], read[128], at[200];
	snprintf(write, sizeof(write), place->text, 3);
	snprintf(read, sizeof(read), place->text, 7);
	snprintf(at, sizeof(at), "and.b32 %%r8, %%r8, %u; mul.wide.u32 %%rd8, %%r8, %u;\n"
		"add.u64 %%rd8, %%rd7, %%rd8;\n", BYTES / step - 1, step);
	snprintf(body, sizeof(body), ".local .align 16 .b8 area[64]; mov.u64 %%rd7, area; mov.u32 "
		"%%r8, 0;\n"
		"F: mul.wide.u32 %%rd8, %%r8, 4; add.u64 %%rd8, %%rd7, %%rd8;\n"
		"mad.lo.u32 %%r9, %%r0, 0x10101, %%r8; st.local.u32 [%%rd8], %%r9;\n"
		"add.u32 %%r8, %%r8, 1; setp.lt.u32 %%p1, %%r8, %d; @%%p1 bra F;\n"
		"rem.u32 %%r9, %%r0, 3; setp.eq.u32 %%p2, %%r9, 0; mov.u64 %%rd10, 0;\n"
		"mov.u64 %%rd11, 0; mov.u64 %%rd12, 0; mov.u64 %%rd13, 0; mov.u32 %%r10, 0;\n"
		"mov.u32 %%r11, 0; mov.u32 %%r12, 0; mov.u32 %%r13, 0; %s\n"
		"%s %s ld.local.%s %s, [%%rd8];\n%s %s st.local.%s [%%rd8], %s;\nE:\n"
		"mov.u32 %%r8, 0;\nR: mul.wide.u32 %%rd8, %%r8, 4; add.u64 %%rd6, %%rd7, %%rd8;\n"
		"ld.local.u32 %%r9, [%%rd6]; add.u64 %%rd6, %%rd9, %%rd8;\n"
		"st.u32 [%%rd6], %%r9; add.u32 %%r8, %%r8, 1; setp.lt.u32 %%p1, %%r8, %d;\n"
		"@%%p1 bra R;", BYTES / 4, some ? "@%p2 bra E;" : "", read, at, of->type, of->value,
		write, at, of->type, of->value, BYTES / 4);
	grid_ok(width, THREADS, "", body);
}

static void expect(uint32_t thread, const struct element *of, const struct resident_place *place,
	bool some, uint8_t *out)
{
	for (uint32_t i = 0; i < BYTES / 4; i++) {
		uint32_t word = thread * 0x10101 + i;
		memcpy(out + i * 4, &word, 4);
	}
	if (is_in(thread, some)) {
		memcpy(out + offset_of(of, place, thread, 3), out + offset_of(of, place, thread, 7),
			(size_t)of->size * of->count);
	}
}

START_TEST(elements_of_all_sizes_are_where_they_were_put)
{
	const struct element *of = &elements[(size_t)_i / countof(places)];
	const struct resident_place *place = &places[(size_t)_i % countof(places)];
	for (size_t w = 0; w < countof(widths) * 2; w++) {
		bool some = w % 2;
		run(widths[w / 2], of, place, some);
		for (uint32_t t = 0; t < THREADS; t++) {
			uint8_t want[BYTES];
			expect(t, of, place, some, want);
			ck_assert_msg(memcmp(grid.memory[t], want, BYTES) == 0,
				"W=%u thread %u: %s, %s", widths[w / 2], t, of->type, place->text);
		}
	}
}
END_TEST

/* PTX asks for addresses that are multiples of the size; here any will do. */
START_TEST(elements_may_lie_anywhere)
{
	if (driver_lacks("its elements are aligned")) {
		return;
	}
	for (size_t w = 0; w < countof(widths); w++) {
		grid_ok(widths[w], THREADS, "", ".local .align 16 .b8 area[64];\n"
			"mov.u64 %rd7, area; mov.u64 %rd6, 0x1122334455667788;\n"
			"st.local.u64 [%rd7+8], 0; st.local.u64 [%rd7+3], %rd6;\n"
			"ld.local.u32 %r1, [%rd7+5]; st.u32 [%rd9], %r1;\n"
			"ld.local.u32 %r1, [area+8]; st.u32 [%rd9+4], %r1;\n"
			"ld.local.u16 %r1, [area+9]; st.u32 [%rd9+8], %r1;");
		for (uint32_t t = 0; t < THREADS; t++) {
			ck_assert_uint_eq(grid.memory[t][0], 0x33445566);
			ck_assert_uint_eq(grid.memory[t][1], 0x00112233);
			ck_assert_uint_eq(grid.memory[t][2], 0x1122);
		}
	}
}
END_TEST

/* With an address that any load can take, or wild ones. */
START_TEST(generic_addresses_of_local_memory)
{
	for (size_t w = 0; w < countof(widths); w++) {
		grid_ok(widths[w], THREADS, "", ".local .align 16 .b8 area[64];\n"
			"st.local.u32 [area+4], %r0; mov.u64 %rd7, area; "
			"cvta.local.u64 %rd6, %rd7;\n"
			"ld.u32 %r1, [%rd6+4]; st.u32 [%rd9], %r1;");
		for (uint32_t t = 0; t < THREADS; t++) {
			ck_assert_uint_eq(grid.memory[t][0], t);
		}
	}
}
END_TEST

#define AREA ".local .align 8 .b8 area[8192]; "
START_TEST(an_access_outside_is_a_fault)
{
	if (driver_ends_with_a_fault()) {
		return;
	}
	static const char *const bodies[] = {
		AREA "mov.u64 %rd7, 0x7000000000; ld.local.u32 %r1, [%rd7]; st.u32 [%rd9], %r1;",
		AREA "mov.u64 %rd7, -8; st.local.u64 [%rd7+0x1000], %rd7; st.local.u32 "
		"[%rd7-0x40000000], %r0;", AREA "mul.wide.u32 %rd7, %r0, 0x10000000; add.u64 %rd7, "
		"%rd7, 0x1000000000;\n"
			"st.local.v2.u16 [%rd7], {%rd7, %rd7};",
		AREA "mov.u64 %rd7, 0x0800000000000008; ld.local.u32 %r1, [%rd7]; st.u32 [%rd9], "
		"%r1;", AREA "mul.wide.u32 %rd7, %r0, 8; add.u64 %rd7, %rd7, 0x0800000000000000;\n"
			"st.local.u16 [%rd7], %rd7;",
	};
	/* the last two are near the start if only the lower bits of 32 times as much count */
	for (size_t i = 0; i < countof(bodies) * countof(widths); i++) {
		CUresult result = grid_run(widths[i % 2], 32, "", bodies[i / 2]);
		ck_assert_int_eq(result, CUDA_ERROR_ILLEGAL_ADDRESS);
	}
}
END_TEST

/* ptxas takes the address of a variable with a constant added in place of a register.  Each thread
 * has local memory of its own, so addresses are compared with those that mov gives. */
START_TEST(sums_of_addresses_are_operands)
{
	for (size_t w = 0; w < countof(widths); w++) {
		memset(grid.memory, 0xee, sizeof(grid.memory));
		grid_ok(widths[w], THREADS, ".shared .align 8 .b8 s[24];",
			".local .align 8 .b8 area[64]; mov.u64 %rd1, area; mov.u64 %rd2, 100;\n"
			"add.s64 %rd3, %rd2, area + 4; sub.s64 %rd3, %rd3, %rd1;\n"
			"add.s64 %rd4, area + 8, 5; sub.s64 %rd4, %rd4, %rd1;\n"
			"st.local.u64 [area], area + 16; ld.local.u64 %rd5, [area];\n"
			"sub.s64 %rd5, %rd5, %rd1;\n"
			"mov.u64 %rd6, s; add.u64 %rd6, %rd6, 8; setp.eq.u64 %p1, %rd6, s + 8;\n"
			"selp.u32 %r1, 1, 0, %p1; st.u32 [%rd9], %r1;\n"
			"st.u32 [%rd9+4], %rd3; st.u32 [%rd9+8], %rd4; st.u32 [%rd9+12], %rd5;");
		for (size_t i = 0; i < THREADS; i++) {
			ck_assert_uint_eq(grid.memory[i][0], 1);
			ck_assert_uint_eq(grid.memory[i][1], 104);
			ck_assert_uint_eq(grid.memory[i][2], 13);
			ck_assert_uint_eq(grid.memory[i][3], 16);
		}
	}
}
END_TEST

SUITE(emit_local)
{
	Suite *suite = suite_create("emit_local");
	TCase *tc = tcase_create("local");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_loop_test(tc, elements_of_all_sizes_are_where_they_were_put, 0,
		countof(elements) * countof(places));
	tcase_add_test(tc, elements_may_lie_anywhere);
	tcase_add_test(tc, generic_addresses_of_local_memory);
	tcase_add_test(tc, sums_of_addresses_are_operands);
	tcase_add_test(tc, an_access_outside_is_a_fault);
	suite_add_tcase(suite, tc);
	return suite;
}
