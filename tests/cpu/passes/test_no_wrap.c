/* SPDX-License-Identifier: MIT */
/*
 * Indexes of 32 bits that become addresses of 64: neighbours, until they wrap around.  Each of 128
 * lanes reads the byte at its index, from both ends of a space of 4 GiB and from its middle, where
 * signed indexes wrap, and writes one byte there.  And comparisons of such indexes, on which lanes
 * branch.  The reference is in C.
 */
#include "base/common.h"

#include "cpu/support/grid.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { THREADS = 128, EDGE = 4096 };

static const uint64_t SPACE = UINT64_C(1) << 32;
static uint8_t *space;

/* Of what is read and what is written; the rest of the space is not touched. */
static const uint64_t edges[] = {0, (UINT64_C(1) << 31) - EDGE, UINT64_C(1) << 31,
	(UINT64_C(1) << 32) - EDGE};

static uint8_t byte_at(uint64_t place)
{
	return (uint8_t)(place * 7 + (place >> 31) * 50 + 1);
}

static void setup(void)
{
	grid_setup();
	space = mmap(NULL, SPACE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_ne(space, MAP_FAILED);
	for (size_t i = 0; i < countof(edges); i++) {
		for (uint64_t k = 0; k < EDGE; k++) {
			space[edges[i] + k] = byte_at(edges[i] + k);
		}
	}
}

static void teardown(void)
{
	munmap(space, SPACE);
	grid_teardown();
}

enum { MIXED = 1, MIX = 5 };

/* Indexes are `first` + the thread's number, or twice that minus 40 ...; from where they count. */
static const struct form {
	const char *text;    /* from %r1, the first one, and %r0 to %rd2 */
	uint32_t times, plus;
	bool is_signed;
	uint32_t stride;     /* %r7, from one row of a block to the next; MIXED: the thread is
	                        %r8 */
} forms[] = {
	{"add.u32 %r2, %r1, %r0; cvt.u64.u32 %rd2, %r2;", 1, 0, false, 0},
	{"add.s32 %r2, %r1, %r0; cvt.s64.s32 %rd2, %r2;", 1, 0, true, 0},
	{"add.u32 %r2, %r1, %r0; mul.wide.u32 %rd2, %r2, 1;", 1, 0, false, 0},
	{"add.s32 %r2, %r1, %r0; mul.wide.s32 %rd2, %r2, 1;", 1, 0, true, 0},
	{"add.s32 %r2, %r0, -40; add.u32 %r3, %r1, %r2; cvt.u64.u32 %rd2, %r3;", 1, (uint32_t)-40,
		false, 0},
	{"add.s32 %r2, %r0, -40; add.s32 %r3, %r1, %r2; cvt.s64.s32 %rd2, %r3;", 1, (uint32_t)-40,
		true, 0},
	{"mad.lo.u32 %r2, %r0, 2, %r1; cvt.u64.u32 %rd2, %r2;", 2, 0, false, 0},
	{"mad.lo.s32 %r2, %r0, 2, %r1; cvt.s64.s32 %rd2, %r2;", 2, 0, true, 0},
	{"cvt.u64.u32 %rd3, %r1; cvt.u64.u32 %rd4, %r0; add.u64 %rd5, %rd3, %rd4; and.b64 %rd2, "
		"%rd5, "
	 "0xffffffff;", 1, 0, false, 0},
	{"cvt.u64.u32 %rd3, %r1; cvt.u64.u32 %rd4, %r0; add.u64 %rd5, %rd3, %rd4;\n"
	 "cvt.u32.u64 %r2, %rd5; cvt.u64.u32 %rd2, %r2;", 1, 0, false, 0},
	{"cvt.s64.s32 %rd3, %r1; mul.wide.s32 %rd4, %r0, 2; add.s64 %rd5, %rd3, %rd4;\n"
	 "cvt.u32.u64 %r2, %rd5; cvt.s64.s32 %rd2, %r2;", 2, 0, true, 0},
};

static const uint32_t firsts[] = {0, 40, 41, 1000, 0x7fffff00, 0x7fffff80, 0x7fffff81, 0x7fffffe0,
	0x7fffffe1, 0x7fffffff, 0x80000000, 0x80000027, 0x80000028, 0xffffff00, 0xffffff80,
	0xffffff81, 0xffffffe0, 0xffffffe1, 0xffffffff};

/* Where a thread's byte is in the space. */
static uint64_t place_of(const struct form *f, uint32_t first, uint32_t thread)
{
	uint32_t place = f->stride == MIXED ? thread ^ MIX
		: f->stride > 0 ? thread % grid.row + thread / grid.row * f->stride : thread;
	uint32_t index = first + f->times * place + f->plus;
	return f->is_signed ? index ^ 0x80000000 : index;
}

static void run(const struct form *f, uint32_t first, uint32_t width)
{
	char body[600];
	uint64_t base = (uintptr_t)space + (f->is_signed ? SPACE / 2 : 0);
	/* not known when it is compiled */
	memcpy(grid.memory[1023], &base, sizeof(base));
	grid.memory[1023][2] = first;
	grid.memory[1023][3] = f->stride;
	for (uint32_t t = 0; t < THREADS; t++) {
		grid.memory[t][1] = t ^ MIX;
	}
	snprintf(body, sizeof(body), "ld.global.u64 %%rd1, [%%rd0+%d]; ld.global.u32 %%r1, "
		"[%%rd0+%d];\n"
		"ld.global.u32 %%r7, [%%rd0+%d]; ld.global.u32 %%r8, [%%rd9+4];\n%s\n"
		"add.u64 %%rd6, %%rd1, %%rd2; ld.global.u8 %%r5, [%%rd6]; "
		"st.global.u32 [%%rd9], %%r5;\n"
		"add.u32 %%r6, %%r5, %%r0; st.global.u8 [%%rd6], %%r6;",
		1023 * GRID_WORDS * 4, 1023 * GRID_WORDS * 4 + 8, 1023 * GRID_WORDS * 4 + 12,
		f->text);
	grid_ok(width, THREADS, "", body);
}

static void check(const struct form *f, uint32_t first, uint32_t width)
{
	size_t wrong = 0;
	for (uint32_t t = 0; t < THREADS; t++) {
		uint64_t place = place_of(f, first, t);
		wrong += grid.memory[t][0] != byte_at(place);
		wrong += space[place] != (uint8_t)(byte_at(place) + t);
		space[place] = byte_at(place);
	}
	ck_assert_msg(wrong == 0, "%s from %#x, W=%u: %zu", f->text, first, width, wrong);
}

START_TEST(indexes_wrap_as_ptx_says)
{
	const struct form *f = &forms[_i];
	for (size_t i = 0; i < countof(firsts); i++) {
		for (uint32_t width = 1; width <= 32; width += 31) {
			run(f, firsts[i], width);
			check(f, firsts[i], width);
		}
	}
}
END_TEST

/* In blocks of rows, of which each begins somewhere else: what one index is in front of the end of
 * the space, others are after it. */
static const struct form row_forms[] = {
	{"mov.u32 %r3, %tid.x; mov.u32 %r4, %tid.y; mad.lo.u32 %r2, %r4, %r7, %r3;\n"
	 "add.u32 %r2, %r2, %r1; mul.wide.u32 %rd2, %r2, 1;", 1, 0, false, 100},
	{"mov.u32 %r3, %tid.x; mov.u32 %r4, %tid.y; mad.lo.s32 %r2, %r4, %r7, %r3;\n"
	 "add.s32 %r2, %r2, %r1; mul.wide.s32 %rd2, %r2, 1;", 1, 0, true, 100},
	{"add.u32 %r2, %r0, %r1; cvt.u64.u32 %rd2, %r2;", 1, 0, false, 0},
	{"add.s32 %r2, %r1, %r0; cvt.s64.s32 %rd2, %r2;", 1, 0, true, 0},
	{"add.u32 %r2, %r8, %r1; cvt.u64.u32 %rd2, %r2;", 1, 0, false, MIXED},
	{"add.s32 %r2, %r8, %r1; mul.wide.s32 %rd2, %r2, 1;", 1, 0, true, MIXED},
};
static const uint32_t row_firsts[] = {40, 0x7fffff81, 0x7fffffe1, 0x7ffffff1, 0x80000000,
	0xffffff81, 0xffffffe0, 0xffffffe1, 0xfffffff8, 0xfffffff9};

START_TEST(indexes_of_rows_wrap_as_ptx_says)
{
	const struct form *f = &row_forms[_i / 2];
	grid.row = _i % 2 ? 8 : 16;
	for (size_t i = 0; i < countof(row_firsts); i++) {
		run(f, row_firsts[i], 32);
		check(f, row_firsts[i], 32);
	}
}
END_TEST

/* --- Branches --- */

static const struct comparison {
	const char *text;
	int order;             /* of a and b: -1 less, 1 greater, and whether they may be equal */
	bool equal, is_signed;
} comparisons[] = {
	{"lt.s32", -1, false, true}, {"le.s32", -1, true, true}, {"gt.s32", 1, false, true},
	{"ge.s32", 1, true, true}, {"lo.u32", -1, false, false}, {"ls.u32", -1, true, false},
	{"hi.u32", 1, false, false}, {"hs.u32", 1, true, false},
};

static bool holds(const struct comparison *c, uint32_t a, uint32_t b)
{
	const uint32_t flip = c->is_signed ? 0x80000000 : 0; /* orders signed numbers as others */
	int order = ((a ^ flip) > (b ^ flip)) - ((a ^ flip) < (b ^ flip));
	return order == c->order || (order == 0 && c->equal);
}

/* Each thread compares `first` plus its number, or twice that, with numbers around all of these. */
START_TEST(branches_compare_as_ptx_says)
{
	enum { ROUNDS = 57, TABLE = 512, SOME = 64 };
	const struct comparison *c = &comparisons[_i / 4];
	const uint32_t times = _i % 2 + 1, width = _i / 2 % 2 ? 32 : 16;
	char body[1024];
	uint32_t wrong = 0;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		static const uint32_t apart[] = {0, 31, 63};
		grid.memory[TABLE + i][0] = firsts[i / countof(apart)];
		grid.memory[TABLE + i][1] = firsts[i / countof(apart)] + apart[i % countof(apart)];
	}
	snprintf(body, sizeof(body), "add.u64 %%rd1, %%rd0, %u; mul.lo.u32 %%r1, %%r0, %u;\n"
		"mov.u32 %%r2, 0;\n"
		"next: ld.u32 %%r3, [%%rd1]; ld.u32 %%r4, [%%rd1+4]; add.u32 %%r5, %%r1, %%r3;\n"
		"setp.%s %%p1, %%r5, %%r4; mov.u32 %%r6, 1; @%%p1 bra so; mov.u32 %%r6, 2;\n"
		"so: st.u32 [%%rd9], %%r6; add.u64 %%rd9, %%rd9, 4; add.u64 %%rd1, %%rd1, %u;\n"
		"add.u32 %%r2, %%r2, 1; setp.lt.u32 %%p2, %%r2, %u; @%%p2 bra next;",
		TABLE * GRID_WORDS * 4, times, c->text, GRID_WORDS * 4, ROUNDS);
	grid_ok(width, SOME, "", body);
	for (uint32_t i = 0; i < ROUNDS * SOME; i++) {
		const uint32_t *row = grid.memory[TABLE + i % ROUNDS];
		bool so = holds(c, row[0] + i / ROUNDS * times, row[1]);
		wrong += grid.memory[i / ROUNDS][i % ROUNDS] != (so ? 1 : 2);
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

SUITE(no_wrap)
{
	Suite *s = suite_create("no_wrap");
	TCase *tc = tcase_create("indexes");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, indexes_wrap_as_ptx_says, 0, (int)countof(forms));
	tcase_add_loop_test(tc, indexes_of_rows_wrap_as_ptx_says, 0, 2 * (int)countof(row_forms));
	tcase_add_loop_test(tc, branches_compare_as_ptx_says, 0, 4 * (int)countof(comparisons));
	suite_add_tcase(s, tc);
	return s;
}
