/* SPDX-License-Identifier: MIT */
/*
 * Gathers and scatters: lanes that access memory each somewhere else.  An index may be of 32 or 64
 * bits, signed or not, times a step that the processor has or not; in global and shared memory.  At
 * both widths, by all lanes and by some, against the same in C; and each thread whose index leads
 * nowhere is named.
 */
#include "base/common.h"

#include "cpu/support/grid.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes from the start of the memory: what is read, and what is written.  The index of each thread
 * is at the start of its words. */
enum { SOURCE = 131072, TARGET = SOURCE + 65536, THREADS = 64, ELEMENTS = 128, PLACE = 16 };

/* From %rd1, the thread's index of 64 bits, and %r1, its lower half, to %rd3: where its element is,
 * from %rd2, the start, on. */
static const struct form {
	const char *text;
	int64_t step;
	int64_t bias;   /* what every index has added */
	bool is_shared; /* the place is %r3 */
	bool is_tame;   /* no index leads far away */
} forms[] = {
	{"mad.wide.s32 %rd3, %r1, 4, %rd2;", 4, 0, false, false},
	{"add.s64 %rd2, %rd2, 400; mad.wide.s32 %rd3, %r1, 4, %rd2;", 4, -100, false, false},
	{"mov.u64 %rd4, 8589934592; sub.u64 %rd2, %rd2, %rd4; mad.wide.u32 %rd3, %r1, 4, %rd2;", 4,
		INT64_C(1) << 31, false, false},
	{"cvt.s64.s32 %rd4, %r1; shl.b64 %rd4, %rd4, 3; add.s64 %rd3, %rd2, %rd4;", 8, 0, false,
		false},
	{"and.b32 %r1, %r1, 127; mul.wide.u32 %rd4, %r1, 8; add.s64 %rd3, %rd4, %rd2;", 8, 0,
		false, true},
	{"mad.wide.s32 %rd3, %r1, 24, %rd2;", 24, 0, false, false},
	{"shl.b64 %rd4, %rd1, 3; add.s64 %rd3, %rd2, %rd4;", 8, 0, false, false},
	{"and.b32 %r2, %r1, 1; mad.wide.s32 %rd3, %r2, 8, %rd2; sub.s32 %r2, %r1, %r2; "
		"cvt.s64.s32 %rd4, %r2; shl.b64 %rd4, %rd4, 3; add.s64 %rd3, %rd3, %rd4;", 8, 0,
		false, false},
	{"shl.b32 %r2, %r1, 3; mov.u32 %r3, sh; add.u32 %r3, %r3, %r2;", 8, 0, true, false},
	{"cvt.u32.u64 %r2, %rd1; mov.u32 %r3, sh; mad.lo.s32 %r3, %r2, 12, %r3; add.u32 %r3, %r3, "
		"1200;", 12, -100, true, false},
};

static const struct {
	const char *name, *reg;
	size_t size;
} types[] = {{"u32", "%r9", 4}, {"f32", "%f1", 4}, {"f64", "%fd1", 8}, {"b64", "%rd8", 8}};

/* Which threads access memory: all, all of two warps of which one is not whole, some. */
static const struct {
	const char *guard;
	uint32_t threads, least, every;
} masks[] = {
	{"", THREADS, 0, 1}, {"", 50, 0, 1},
	{"setp.lt.u32 %p1, %r0, 5; @%p1 bra END;", THREADS, 5, 1},
	{"and.b32 %r8, %r0, 1; setp.eq.u32 %p1, %r8, 0; @%p1 bra END;", THREADS, 1, 2},
};

/* In no order; the last two threads have the place of the first two. */
static uint32_t element_of(uint32_t thread)
{
	return (thread % 62 * 37 + 11) % ELEMENTS;
}

static void fill_memory(const struct form *form)
{
	uint8_t *bytes = (uint8_t *)grid.memory;
	memset(grid.memory, 0, sizeof(grid.memory));
	for (size_t i = 0; i < TARGET - SOURCE; i++) {
		bytes[SOURCE + i] = (uint8_t)(i * 7 + i / 256 * 31 + 1);
	}
	for (uint32_t t = 0; t < THREADS; t++) {
		int64_t index = element_of(t) + form->bias;
		memcpy(grid.memory[t], &index, sizeof(index));
	}
}

/* The first threads copy what is read to shared memory; later all copy what was written back. */
#define ROUND "mov.u32 %%r4, sh; mad.lo.u32 %%r4, %%r0, 8, %%r4; cvt.u64.u32 %%rd4, %%r0; " \
	"mad.lo.u64 %%rd5, %%rd4, 8, %%rd0; mov.u32 %%r5, 0; "
#define TO_SHARED ROUND "R1: ld.global.u64 %%rd6, [%%rd5+131072]; st.shared.u64 [%%r4], %%rd6; " \
	"add.u32 %%r4, %%r4, %u; add.u64 %%rd5, %%rd5, %u; add.u32 %%r5, %%r5, 1; " \
	"setp.lt.u32 %%p2, %%r5, 16; @%%p2 bra R1; bar.sync 0;\n"

static void write_body(char *body, size_t size, const struct form *form, size_t type, size_t mask,
	bool is_store)
{
	const char *space = form->is_shared ? "shared" : "global";
	const char *place = form->is_shared ? "%r3" : "%rd3";
	const char *of = types[type].name, *reg = types[type].reg;
	int len = 0;
	if (form->is_shared) {
		len = snprintf(body, size, TO_SHARED, 8 * masks[mask].threads,
			8 * masks[mask].threads);
	}
	len += snprintf(body + len, size - (size_t)len, "ld.global.u64 %%rd1, [%%rd9]; "
		"cvt.u32.u64 %%r1, %%rd1; add.u64 %%rd2, %%rd0, %d;\n%s\n%s\n",
		is_store ? TARGET : SOURCE, masks[mask].guard, form->text);
	if (is_store) {
		len += snprintf(body + len, size - (size_t)len, "ld.global.%s %s, [%%rd9+131072]; "
			"st.%s.%s [%s], %s;\n", of, reg, space, of, place, reg);
	}
	snprintf(body + len, size - (size_t)len, "ld.%s.%s %s, [%s]; st.global.%s [%%rd9+%d], %s;\n"
		"END:", space, of, reg, place, of, PLACE, reg);
}

static void check_results(const struct form *form, size_t type, size_t mask, bool is_store)
{
	const uint8_t *bytes = (const uint8_t *)grid.memory;
	const size_t size = types[type].size;
	for (uint32_t t = masks[mask].least; t < masks[mask].threads; t += masks[mask].every) {
		const uint8_t *want = bytes + SOURCE + (int64_t)element_of(t) * form->step;
		if (is_store) {
			bool is_over = t < 2 && t + 62 < masks[mask].threads;
			want = bytes + SOURCE + (is_over ? t + 62 : t) * sizeof(grid.memory[0]);
		}
		ck_assert_msg(memcmp((const uint8_t *)grid.memory[t] + PLACE, want, size) == 0
			|| (is_store && t < 2), "%s, %s, mask %zu, %s: thread %u", form->text,
			types[type].name, mask, is_store ? "stored" : "loaded", t);
		if (is_store && !form->is_shared) {
			ck_assert_mem_eq(bytes + TARGET + (int64_t)element_of(t) * form->step, want,
				size);
		}
	}
}

START_TEST(each_lane_finds_its_element)
{
	const struct form *form = &forms[_i];
	for (size_t i = 0; i < countof(types) * countof(masks) * 2; i++) {
		size_t type = i % countof(types), mask = i / countof(types) % countof(masks);
		bool is_store = i >= countof(types) * countof(masks);
		char body[2048];
		bool overlap = is_store && (int64_t)types[type].size > form->step;
		if ((i + (size_t)_i) % 5 != 0 || overlap) {
			continue;
		}
		for (uint32_t width = 1; width <= 32; width += 31) {
			write_body(body, sizeof(body), form, type, mask, is_store);
			fill_memory(form);
			grid_ok(width, masks[mask].threads, ".shared .align 8 .b8 sh[8192];", body);
			check_results(form, type, mask, is_store);
		}
	}
}
END_TEST

static_assert(countof(types) == countof(masks), "one type for each mask");

/* One thread's index leads far away. */
START_TEST(the_thread_of_a_wild_index_is_named)
{
	if (driver_lacks("it does not say which thread failed")) {
		return;
	}
	const struct form *form = &forms[_i];
	static const uint32_t bad[] = {5, 33, 49};
	for (size_t mask = 0; mask < countof(masks) && !form->is_tame; mask++) {
		char body[2048], where[64];
		uint32_t thread = bad[(mask + (size_t)_i) % countof(bad)];
		write_body(body, sizeof(body), form, mask, mask, (mask + (size_t)_i) % 2 == 1);
		fill_memory(form);
		int64_t wild = form->bias + (form->is_shared ? 100000000 : 600000000);
		memcpy(grid.memory[thread], &wild, sizeof(wild));
		snprintf(where, sizeof(where), "block (0,0,0), thread (%u,0,0)", thread);
		ck_assert_int_eq(grid_run(32, masks[mask].threads,
			".shared .align 8 .b8 sh[8192];", body), CUDA_ERROR_ILLEGAL_ADDRESS);
		ck_assert_msg(strcmp(grid.failure.where, where) == 0, "%s, mask %zu: %s, not %s",
			form->text, mask, grid.failure.where, where);
	}
}
END_TEST

/* Thread 20 of a warp goes over the end of the memory; others have elements close before it. */
static const struct {
	const char *place;  /* from %r1, the element */
	const char *access;
} at_end[] = {
	{"mad.wide.s32 %rd3, %r1, 4, %rd2;",
		"ld.global.u32 %r4, [%rd3]; st.global.u32 [%rd9], %r4;"},
	{"mad.wide.s32 %rd3, %r1, 4, %rd2;", "st.global.u32 [%rd3], %r0;"},
	{"mad.wide.s32 %rd3, %r1, 2, %rd2;", "st.global.u16 [%rd3], %h1;"},
	{"mad.wide.s32 %rd3, %r1, 8, %rd2;", "st.global.v2.u32 [%rd3], {%r0, %r0};"},
	{"shl.b32 %r2, %r1, 2; mov.u32 %r3, sh; add.u32 %r3, %r3, %r2; add.u32 %r3, %r3, 4096;",
		"red.shared.add.u32 [%r3], %r0;"},
	{"shl.b32 %r2, %r1, 2; mov.u32 %r3, sh; add.u32 %r3, %r3, %r2; add.u32 %r3, %r3, 4096;",
		"st.shared.u32 [%r3], %r0;"},
};

START_TEST(the_thread_at_the_end_of_memory_is_named)
{
	if (driver_lacks("it does not say which thread failed")) {
		return;
	}
	enum { BAD = 20 };
	const uint64_t end = grid_map_page();
	for (int64_t t = 0; t < 32; t++) {
		const int64_t index = t == BAD ? 0 : -1 - (t * 7 + 3) % 32;
		memcpy(&grid.memory[t][0], &index, sizeof(index));
		memcpy(&grid.memory[t][2], &end, sizeof(end));
	}
	char body[512];
	snprintf(body, sizeof(body), "ld.global.u64 %%rd1, [%%rd9]; cvt.u32.u64 %%r1, %%rd1; "
		"ld.global.u64 %%rd2, [%%rd9+8];\n%s\n%s\n", at_end[_i].place,
		at_end[_i].access);
	ck_assert_int_eq(grid_run(32, 32, ".shared .align 8 .b8 sh[4096];", body),
		CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_str_eq(grid.failure.where, "block (0,0,0), thread (20,0,0)");
	grid_unmap_page(end);
}
END_TEST

SUITE(gathers)
{
	Suite *suite = suite_create("gathers");
	TCase *tc = tcase_create("lanes");
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_loop_test(tc, each_lane_finds_its_element, 0, (int)countof(forms));
	tcase_add_loop_test(tc, the_thread_of_a_wild_index_is_named, 0, (int)countof(forms));
	tcase_add_loop_test(tc, the_thread_at_the_end_of_memory_is_named, 0,
		(int)countof(at_end));
	suite_add_tcase(suite, tc);
	return suite;
}
