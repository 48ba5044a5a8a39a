/* SPDX-License-Identifier: MIT */
/*
 * Kernels for blocks of one thread, whose loops LLVM vectorises.  Each loop of the table runs over
 * memory that it reads and writes at distances where that matters, against the same loop in C.
 */
#include "base/common.h"

#include "cpu/support/machine.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096, MIDDLE = ROOM / 2, MOST = 150 };

/* What the loops get: where to write and read, how often, and a number. */
struct arguments {
	uint8_t *to;
	const uint8_t *from;
	int64_t count;
	int64_t by;
};

static void scale(const struct arguments *a)
{
	for (int64_t i = 0; i < a->count; i++) {
		float x;
		memcpy(&x, a->from + 4 * i, 4);
		x = x * 3;
		memcpy(a->to + 4 * i, &x, 4);
	}
}

static void backwards(const struct arguments *a)
{
	for (int64_t i = 0; i < a->count; i++) {
		double x, y;
		memcpy(&x, a->from - 8 * i, 8);
		memcpy(&y, a->to + 8 * i, 8);
		y = x + y;
		memcpy(a->to + 8 * i, &y, 8);
	}
}

static void add_bytes(const struct arguments *a)
{
	for (int64_t i = 0; i < a->count; i++) {
		a->to[i + a->by] = (uint8_t)(a->from[i + a->by] + a->by);
	}
}

static void every_other(const struct arguments *a)
{
	for (int64_t i = 0; i < a->count; i++) {
		uint16_t x;
		memcpy(&x, a->from + 4 * i, 2);
		x ^= 0x5a5a;
		memcpy(a->to + 4 * i, &x, 2);
	}
}

static void rows(const struct arguments *a)
{
	for (int64_t row = 0; row < 3; row++) {
		for (int64_t i = 0; i < a->count / 3; i++) {
			uint32_t x;
			memcpy(&x, a->from + row * a->by * 16 + 4 * i, 4);
			x += 7;
			memcpy(a->to + row * a->by * 16 + 4 * i, &x, 4);
		}
	}
}

static void sums(const struct arguments *a)
{
	float sum[4] = {0, 0, 0, 0};
	for (int64_t i = 0; i + 4 <= a->count; i += 4) {
		for (int k = 0; k < 4; k++) {
			float x;
			memcpy(&x, a->from + 4 * (i + k), 4);
			sum[k] = sum[k] + x;
		}
	}
	memcpy(a->to, sum, sizeof(sum));
}

/* Sums in local memory: of every 16th float, of the next ones, ... */
static void lanes(const struct arguments *a)
{
	float sum[16] = {0};
	for (int64_t i = 0; i < a->count; i++) {
		float x;
		memcpy(&x, a->from + 4 * i, 4);
		sum[i % 16] = sum[i % 16] + x;
	}
	memcpy(a->to, sum, sizeof(sum));
}

/* %rd1 and %rd2: where to write and read; %rd3: how often, at least once; %rd4: the number. */
static const struct loop {
	const char *name;
	void (*reference)(const struct arguments *a);
	const char *body;
} loops[] = {
	{"scale", scale, "L: ld.global.f32 %f1, [%rd2]; mul.f32 %f1, %f1, 0f40400000;\n"
		"st.global.f32 [%rd1], %f1; add.s64 %rd1, %rd1, 4; add.s64 %rd2, %rd2, 4;\n"
		"add.s64 %rd5, %rd5, 1; setp.lt.s64 %p1, %rd5, %rd3; @%p1 bra L;\n"},
	{"backwards", backwards, "L: shl.b64 %rd6, %rd5, 3; sub.s64 %rd7, %rd2, %rd6;\n"
		"add.s64 %rd8, %rd6, %rd1; ld.global.f64 %fd1, [%rd7]; "
		"ld.global.f64 %fd2, [%rd8];\n"
		"add.f64 %fd2, %fd1, %fd2; st.global.f64 [%rd8], %fd2;\n"
		"add.s64 %rd5, %rd5, 1; setp.ne.s64 %p1, %rd5, %rd3; @%p1 bra L;\n"},
	{"add_bytes", add_bytes, "cvt.u16.u64 %h2, %rd4;\n"
		"L: add.s64 %rd6, %rd4, %rd5; add.s64 %rd7, %rd6, %rd2; add.s64 %rd8, %rd6, %rd1;\n"
		"ld.global.u8 %h1, [%rd7]; add.s16 %h1, %h1, %h2; st.global.u8 [%rd8], %h1;\n"
		"add.s64 %rd5, %rd5, 1; setp.lt.s64 %p1, %rd5, %rd3; @%p1 bra L;\n"},
	{"every_other", every_other, "L: ld.global.u16 %h1, [%rd2]; xor.b16 %h1, %h1, 0x5a5a;\n"
		"st.global.u16 [%rd1], %h1; add.s64 %rd1, %rd1, 4; add.s64 %rd2, %rd2, 4;\n"
		"add.s64 %rd5, %rd5, 1; setp.lt.s64 %p1, %rd5, %rd3; @%p1 bra L;\n"},
	{"rows", rows, "div.s64 %rd3, %rd3, 3; shl.b64 %rd4, %rd4, 4; mov.u64 %rd9, 0;\n"
		"R: mul.lo.s64 %rd8, %rd9, %rd4; add.s64 %rd6, %rd1, %rd8; "
		"add.s64 %rd7, %rd2, %rd8;\n"
		"mov.u64 %rd5, 0; setp.eq.s64 %p1, %rd3, 0; @%p1 bra E;\n"
		"L: ld.global.u32 %r1, [%rd7]; add.u32 %r1, %r1, 7; st.global.u32 [%rd6], %r1;\n"
		"add.s64 %rd6, %rd6, 4; add.s64 %rd7, %rd7, 4;\n"
		"add.s64 %rd5, %rd5, 1; setp.lt.s64 %p1, %rd5, %rd3; @%p1 bra L;\n"
		"E: add.s64 %rd9, %rd9, 1; setp.lt.s64 %p1, %rd9, 3; @%p1 bra R;\n"},
	{"sums", sums, "mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, "
		"%f1;\n"
		"add.s64 %rd5, %rd5, 4; setp.gt.s64 %p1, %rd5, %rd3; @%p1 bra E;\n"
		"L: ld.global.f32 %f5, [%rd2]; ld.global.f32 %f6, [%rd2+4];\n"
		"ld.global.f32 %f7, [%rd2+8]; ld.global.f32 %f8, [%rd2+12];\n"
		"add.f32 %f1, %f1, %f5; add.f32 %f2, %f2, %f6; add.f32 %f3, %f3, %f7;\n"
		"add.f32 %f4, %f4, %f8; add.s64 %rd2, %rd2, 16;\n"
		"add.s64 %rd5, %rd5, 4; setp.le.s64 %p1, %rd5, %rd3; @%p1 bra L;\n"
		"E: st.global.f32 [%rd1], %f1; st.global.f32 [%rd1+4], %f2;\n"
		"st.global.f32 [%rd1+8], %f3; st.global.f32 [%rd1+12], %f4;\n"},
	{"scale, with parameters loaded each time", scale, "L: shl.b64 %rd6, %rd5, 2;\n"
		"ld.param.u64 %rd7, [from]; add.s64 %rd7, %rd7, %rd6; ld.global.f32 %f1, [%rd7];\n"
		"ld.param.u64 %rd7, [to]; add.s64 %rd7, %rd7, %rd6; mul.f32 %f1, %f1, 0f40400000;\n"
		"st.global.f32 [%rd7], %f1;\n"
		"add.s64 %rd5, %rd5, 1; setp.lt.s64 %p1, %rd5, %rd3; @%p1 bra L;\n"},
	{"lanes", lanes, ".local .align 4 .b8 sum[64]; mov.b64 %rd9, sum; mov.f32 %f2, "
		"0f00000000;\n"
		"Z: add.s64 %rd7, %rd9, %rd5; st.local.f32 [%rd7], %f2;\n"
		"add.s64 %rd5, %rd5, 4; setp.lt.s64 %p1, %rd5, 64; @%p1 bra Z;\n"
		"R: min.s64 %rd8, %rd3, 16; sub.s64 %rd3, %rd3, %rd8; mov.u64 %rd5, 0;\n"
		"L: shl.b64 %rd6, %rd5, 2; add.s64 %rd7, %rd6, %rd9; add.s64 %rd6, %rd6, %rd2;\n"
		"ld.global.f32 %f1, [%rd6]; ld.local.f32 %f2, [%rd7];\n"
		"add.f32 %f2, %f2, %f1; st.local.f32 [%rd7], %f2;\n"
		"add.s64 %rd5, %rd5, 1; setp.lt.s64 %p1, %rd5, %rd8; @%p1 bra L;\n"
		"add.s64 %rd2, %rd2, 64; setp.gt.s64 %p1, %rd3, 0; @%p1 bra R; mov.u64 %rd5, 0;\n"
		"S: add.s64 %rd7, %rd9, %rd5; ld.local.f32 %f2, [%rd7]; add.s64 %rd6, %rd1, %rd5;\n"
		"st.global.f32 [%rd6], %f2;\n"
		"add.s64 %rd5, %rd5, 4; setp.lt.s64 %p1, %rd5, 64; @%p1 bra S;\n"},
};

static void open(const struct loop *loop, const char *bounds)
{
	static char text[4096];
	snprintf(text, sizeof(text), HEAD ".visible .entry k(.param .u64 to, .param .u64 from,"
		" .param .u64 count, .param .u64 by)\n%s\n{\n"
		".reg .pred %%p<2>; .reg .b32 %%r<2>; .reg .b64 %%rd<10>; .reg .f32 %%f<9>;\n"
		".reg .b16 %%h<3>; .reg .f64 %%fd<3>;\n"
		"ld.param.u64 %%rd1, [to]; ld.param.u64 %%rd2, [from];\n"
		"ld.param.u64 %%rd3, [count]; ld.param.u64 %%rd4, [by]; mov.u64 %%rd5, 0;\n"
		"%s ret;\n}\n", bounds, loop->body);
	machine_open(text);
	machine_compile("k");
}

static void fill(uint8_t *room)
{
	for (size_t i = 0; i < ROOM; i++) {
		room[i] = (uint8_t)(i * 11 + i / 256 * 3);
	}
	// As floats none of this is a NaN, whose bits may change.
	for (size_t i = 3; i < ROOM; i += 4) {
		room[i] &= 0x3f;
	}
}

static void run(const struct loop *loop, int64_t distance, int64_t count, int64_t by)
{
	static uint8_t want[ROOM], got[ROOM];
	fill(want);
	fill(got);
	loop->reference(&(struct arguments){want + MIDDLE + distance, want + MIDDLE, count, by});
	machine.params[0] = (uintptr_t)got + MIDDLE + (uint64_t)distance;
	machine.params[1] = (uintptr_t)got + MIDDLE;
	machine.params[2] = (uint64_t)count;
	machine.params[3] = (uint64_t)by;
	uint32_t end = machine_resume(0, 0);
	size_t i = 0;
	while (i < ROOM && want[i] == got[i]) {
		i++;
	}
	ck_assert_msg(end == RT_DONE && i == ROOM,
		"%s, distance %lld, %lld times: byte %zu is %#x, not %#x", loop->name,
		(long long)distance, (long long)count, i, got[i % ROOM], want[i % ROOM]);
}

START_TEST(loops_of_one_thread_keep_their_order)
{
	static const int64_t counts[] = {1, 2, 3, 7, 8, 16, 31, 64, 65, 127, MOST};
	static const int64_t distances[] = {0, 1, 2, 4, 8, 12, 16, 32, 60, 64, 128, 260, 640};
	open(&loops[_i], ".maxntid 1, 1, 1");
	for (size_t c = 0; c < countof(counts); c++) {
		for (size_t d = 0; d < countof(distances); d++) {
			run(&loops[_i], distances[d], counts[c], 5);
			run(&loops[_i], -distances[d], counts[c], 40);
		}
	}
	machine_close();
}
END_TEST

/* Lane by lane, if it is not for blocks of one thread. */
static size_t code_size(const struct loop *loop, const char *bounds)
{
	setenv("KUDZU_CPU_WIDTH", "1", 1);
	open(loop, bounds);
	size_t size = machine.kernel.code_size;
	machine_close();
	return size;
}

/* Vectors of iterations need a loop of their own, and one for what is left. */
START_TEST(only_kernels_of_one_thread_get_vectors)
{
	size_t plain = code_size(&loops[0], "");
	ck_assert_uint_eq(code_size(&loops[0], ".maxntid 1, 2, 1"), plain);
	ck_assert_uint_gt(code_size(&loops[0], ".maxntid 1"), 2 * plain);
	ck_assert_uint_gt(code_size(&loops[0], ".reqntid 1, 1, 1"), 2 * plain);
}
END_TEST

START_TEST(loops_that_load_parameters_get_vectors)
{
	const struct loop *loop = &loops[countof(loops) - 2];
	ck_assert_uint_gt(code_size(loop, ".maxntid 1"), 2 * code_size(loop, ""));
}
END_TEST

/* More code, but no tests whether the two overlap. */
START_TEST(loops_over_local_memory_get_vectors)
{
	const struct loop *loop = &loops[countof(loops) - 1];
	size_t plain = code_size(loop, ""), vectors = code_size(loop, ".maxntid 1");
	ck_assert_uint_gt(4 * vectors, 5 * plain);
	ck_assert_uint_lt(vectors, 2 * plain);
}
END_TEST

/* What the user says; what the kernel says; the width. */
static const struct {
	const char *setting, *bounds;
	uint32_t width;
} widths[] = {
	{NULL, "", 32}, {NULL, ".maxntid 1", 1}, {NULL, ".maxntid 32", 32},
	{NULL, ".reqntid 1, 1, 1", 1}, {NULL, ".maxntid 1, 2, 1", 32}, {NULL, ".maxntid 64", 32},
	{"1", ".maxntid 32", 1}, {"32", ".maxntid 32", 32}, {"32", ".maxntid 64", 32},
	{"32", ".maxntid 1, 1, 1", 1}, {"32", ".reqntid 1", 1}, {"32", "", 32},
};

START_TEST(threads_of_a_block_decide_the_width)
{
	unsetenv("KUDZU_CPU_WIDTH");
	if (widths[_i].setting) {
		setenv("KUDZU_CPU_WIDTH", widths[_i].setting, 1);
	}
	open(&loops[0], widths[_i].bounds);
	ck_assert_uint_eq(machine.kernel.width, widths[_i].width);
	machine_close();
}
END_TEST

SUITE(base_addresses)
{
	Suite *suite = suite_create("base_addresses");
	TCase *tc = tcase_create("loops");
	tcase_add_loop_test(tc, loops_of_one_thread_keep_their_order, 0, countof(loops));
	tcase_add_test(tc, only_kernels_of_one_thread_get_vectors);
	tcase_add_test(tc, loops_that_load_parameters_get_vectors);
	tcase_add_test(tc, loops_over_local_memory_get_vectors);
	tcase_add_loop_test(tc, threads_of_a_block_decide_the_width, 0, countof(widths));
	suite_add_tcase(suite, tc);
	return suite;
}
