/* SPDX-License-Identifier: MIT */
/*
 * Induction variables: pointers and counters to which loops add the same in all lanes, or not
 * quite.  Each program runs at both widths, for lanes whose elements are adjacent, in rows and
 * otherwise, against the same program in C.
 */
#include "base/common.h"

#include "cpu/support/grid.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* Words of the memory: results, numbers to read, then for each thread where it begins among
 * those. */
enum { NUMBERS = 32768, STARTS = 49152, THREADS = 128, SPACE = 4096 };

static uint32_t *const words = &grid.memory[0][0];

static uint32_t number(uint32_t i)
{
	return words[NUMBERS + i % SPACE];
}

/* %r1: where the thread begins, %rd1 the same as a pointer, %rd2 that of the numbers, %r2 counts
 * rounds, %r3 is the sum. */
#define BEGIN \
	"mad.wide.u32 %rd3, %r0, 4, %rd0; ld.u32 %r1, [%rd3+196608];\n" \
	"add.u64 %rd2, %rd0, 131072; mad.wide.u32 %rd1, %r1, 4, %rd2; mov.u32 %r2, 0; " \
	"mov.u32 %r3, 0;\n"
#define AGAIN(times) \
	"add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, " #times "; @%p1 bra next;\n"
#define READ(place) "ld.u32 %r4, [" place "]; mad.lo.u32 %r3, %r3, 3, %r4;\n"
#define END "st.u32 [%rd9], %r3; sub.u64 %rd4, %rd1, %rd2; st.u64 [%rd9+8], %rd4;"

/* In C `at` is what the pointer has passed, in bytes. */
struct lane {
	uint32_t thread, start, sum;
	uint64_t at;
};

static void read_at(struct lane *l, uint64_t at)
{
	l->sum = 3 * l->sum + number((uint32_t)at / 4);
}

static void walk(struct lane *l, unsigned times, uint64_t step)
{
	for (unsigned i = 0; i < times; i++, l->at += step) {
		read_at(l, l->at);
	}
}

static void forwards(struct lane *l)
{
	walk(l, 9, 64);
}

static void backwards(struct lane *l)
{
	l->at += 2048;
	walk(l, 9, (uint64_t)-64);
}

static void twice(struct lane *l)
{
	for (unsigned i = 0; i < 5; i++, l->at += 32) {
		read_at(l, l->at + 8);
		l->at += 128;
		read_at(l, l->at);
	}
}

static void nested(struct lane *l)
{
	for (unsigned i = 0; i < 4; i++, l->at += 512) {
		for (unsigned k = 0; k < 3; k++) {
			read_at(l, l->at + 64 * (uint64_t)k);
		}
	}
}

static void sometimes(struct lane *l)
{
	for (unsigned i = 0; i < 8; i++, l->at += 4) {
		read_at(l, l->at);
		l->at += i & 1 ? 128 : 0;
	}
}

static void some_lanes(struct lane *l)
{
	for (unsigned i = 0; i < 8; i++, l->at += 64) {
		read_at(l, l->at);
		l->at += l->thread % 5 == i % 5 ? 32 : 0;
	}
}

static void apart(struct lane *l)
{
	for (unsigned i = 0; i < 8; i++, l->at += 64) {
		read_at(l, l->at);
		l->at += l->sum & 1 ? 8 : 16;
	}
}

static void one_round(struct lane *l)
{
	for (unsigned i = 0; i < 8; i++, l->at += 64) {
		read_at(l, l->at);
		l->at += i == 3 && l->thread == 7 ? 256 : 0;
	}
}

static void own_times(struct lane *l)
{
	walk(l, 1 + l->thread % 7, 64);
}

static void wrapping(struct lane *l)
{
	uint32_t place = l->start - 512;
	for (unsigned i = 0; i < 8; i++, place += 128) {
		read_at(l, 4 * (uint64_t)(place % SPACE));
		l->at += 256;
	}
}

static void copies(struct lane *l)
{
	uint64_t last = l->at;
	for (unsigned i = 0; i < 8; i++) {
		uint64_t now = l->at;
		read_at(l, now);
		read_at(l, last);
		last = now;
		l->at += 64;
	}
}

static void there_and_back(struct lane *l)
{
	uint64_t start = l->at;
	walk(l, 8, 64);
	for (unsigned i = 8; i-- > 0;) {
		read_at(l, start + 64 * (uint64_t)i);
	}
}

static void two_speeds(struct lane *l)
{
	for (unsigned i = 0; i < 6; i++, l->at += 64) {
		read_at(l, l->at);
		read_at(l, 4 * (uint64_t)l->start + 1024 + 128 * (uint64_t)i);
	}
}

static const struct program {
	const char *text;
	void (*reference)(struct lane *l);
} programs[] = {
	{"next: " READ("%rd1") "add.s64 %rd1, %rd1, 64;\n" AGAIN(9), forwards},
	{"add.u64 %rd1, %rd1, 2048; next: " READ("%rd1") "add.s64 %rd1, %rd1, -64;\n" AGAIN(9),
		backwards},
	{"add.u64 %rd1, %rd1, 2048; next: " READ("%rd1") "sub.s64 %rd1, %rd1, 64;\n" AGAIN(9),
		backwards},
	{"next: " READ("%rd1+8") "add.u64 %rd1, %rd1, 128;" READ("%rd1") "add.u64 %rd1, %rd1, 32;\n"
		AGAIN(5), twice},
	{"next: mov.u64 %rd5, %rd1; mov.u32 %r5, 0;\n"
		"inner: " READ("%rd5") "add.u64 %rd5, %rd5, 64; add.u32 %r5, %r5, 1;\n"
		"setp.lt.u32 %p2, %r5, 3; @%p2 bra inner; add.u64 %rd1, %rd1, 512;\n" AGAIN(4),
		nested},
	{"next: " READ("%rd1") "and.b32 %r5, %r2, 1; setp.eq.u32 %p2, %r5, 1;\n"
		"@!%p2 bra on; add.u64 %rd1, %rd1, 128; on: add.u64 %rd1, %rd1, 4;\n" AGAIN(8),
		sometimes},
	{"next: " READ("%rd1") "and.b32 %r5, %r2, 1; setp.eq.u32 %p2, %r5, 1;\n"
		"@%p2 add.u64 %rd1, %rd1, 128; add.u64 %rd1, %rd1, 4;\n" AGAIN(8), sometimes},
	{"next: " READ("%rd1") "rem.u32 %r5, %r0, 5; rem.u32 %r6, %r2, 5; setp.eq.u32 %p2, %r5, "
		"%r6;\n"
		"@%p2 add.u64 %rd1, %rd1, 32; add.u64 %rd1, %rd1, 64;\n" AGAIN(8), some_lanes},
	{"next: " READ("%rd1") "and.b32 %r5, %r3, 1; setp.eq.u32 %p2, %r5, 1; @%p2 bra odd;\n"
		"add.u64 %rd1, %rd1, 16; bra on; odd: add.u64 %rd1, %rd1, 8;\n"
		"on: add.u64 %rd1, %rd1, 64;\n" AGAIN(8), apart},
	{"next: " READ("%rd1") "shl.b32 %r5, %r2, 8; add.u32 %r5, %r5, %r0; setp.ne.u32 %p2, %r5, "
		"775;\n"
		"@%p2 bra on; add.u64 %rd1, %rd1, 256; on: add.u64 %rd1, %rd1, 64;\n" AGAIN(8),
		one_round},
	{"rem.u32 %r7, %r0, 7; add.u32 %r7, %r7, 1;\n"
		"next: " READ("%rd1") "add.s64 %rd1, %rd1, 64;\n" AGAIN(%r7), own_times},
	{"sub.u32 %r5, %r1, 512;\n"
		"next: and.b32 %r6, %r5, 4095; mad.wide.u32 %rd5, %r6, 4, %rd2;" READ("%rd5")
		"add.u32 %r5, %r5, 128; add.u64 %rd1, %rd1, 256;\n" AGAIN(8), wrapping},
	{"mov.u64 %rd5, %rd1;\n"
		"next:" READ("%rd1") READ("%rd5") "mov.u64 %rd5, %rd1; add.u64 %rd1, %rd5, 64;\n"
		AGAIN(8), copies},
	{"add.u64 %rd6, %rd2, 1024; mad.wide.u32 %rd5, %r1, 4, %rd6;\n"
		"next: " READ("%rd1") READ("%rd5") "add.u64 %rd1, %rd1, 64; add.u64 %rd5, %rd5, "
		"128;\n"
		AGAIN(6), two_speeds},
	{"ld.u32 %r5, [%rd0+196608]; add.u32 %r5, %r5, 64; cvt.u64.u32 %rd5, %r5;\n"
		"next: " READ("%rd1") "bar.sync 0; add.u64 %rd1, %rd5, %rd1; bar.sync 0;\n"
		AGAIN(9), forwards},
	{"add.u64 %rd5, %rd1, 32768; mov.u32 %r5, 0;\n" /* puts down what it reads */
		"next: " READ("%rd1") "st.u32 [%rd5], %r4; add.u64 %rd1, %rd1, 64; bar.sync 0;\n"
		"add.u64 %rd5, %rd5, 2560; add.u32 %r5, %r5, 1;\n"
		"setp.lt.u32 %p1, %r5, 8; @%p1 bra next;\n"
		"next2: add.u64 %rd5, %rd5, -2560;" READ("%rd5") "add.u32 %r2, %r2, 1; bar.sync "
		"0;\n"
		"setp.lt.u32 %p1, %r2, 8; @%p1 bra next2;\n", there_and_back},
};

/* Where threads begin: side by side, in rows, in rows that are not those of warps, the other way
 * round, all over the place. */
static const struct pattern {
	uint32_t row, gap, flip;
} patterns[] = {{THREADS, 0, 0}, {16, 48, 0}, {40, 24, 0}, {THREADS, 0, 127}, {1, 4, 64}};

static void fill(const struct pattern *p)
{
	memset(&grid.memory, 0, sizeof(grid.memory));
	for (uint32_t i = 0; i < SPACE; i++) {
		words[NUMBERS + i] = (i + 1) * 2654435761u >> 7;
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		uint32_t k = i ^ p->flip;
		words[STARTS + i] = k + k / p->row * p->gap;
	}
}

static unsigned count_wrong(const struct program *program, uint32_t threads)
{
	unsigned wrong = 0;
	for (uint32_t i = 0; i < threads; i++) {
		uint32_t start = words[STARTS + i];
		struct lane l = {.thread = i, .start = start, .at = 4 * (uint64_t)start};
		uint64_t end;
		program->reference(&l);
		memcpy(&end, &grid.memory[i][2], sizeof(end));
		wrong += grid.memory[i][0] != l.sum || end != l.at;
	}
	return wrong;
}

static void check_program(const struct program *program, const struct pattern *p, uint32_t width,
	uint32_t threads)
{
	char body[2048];
	snprintf(body, sizeof(body), "%s%s%s", BEGIN, program->text, END);
	fill(p);
	words[STARTS] = program->reference == forwards ? 0 : words[STARTS];
	grid_ok(width, threads, "", body);
	ck_assert_uint_eq(count_wrong(program, threads), 0);
}

START_TEST(loops_read_what_the_same_in_c_reads)
{
	const struct program *program = &programs[(unsigned)_i / countof(patterns)];
	const struct pattern *pattern = &patterns[(unsigned)_i % countof(patterns)];
	check_program(program, pattern, 32, _i % 2 ? 100 : THREADS);
}
END_TEST

START_TEST(one_lane_at_a_time_reads_the_same)
{
	check_program(&programs[_i], &patterns[1], 1, 64);
}
END_TEST

static const char *const accesses[] = {"ld.u32 %r3, [%rd1];", "st.u32 [%rd1], %r3;"};

/* From round 3 on there is an access, by which all pointers have advanced 48 bytes; without or with
 * a barrier in the loop.  Gives the thread that is named, and the address. */
static unsigned find_fault(const char *begin, int which, unsigned *address)
{
	char body[2048];
	unsigned thread = 0;
	snprintf(body, sizeof(body), "%s%s\nnext: %s setp.lt.u32 %%p3, %%r2, 3;\n"
		"@%%p3 bra on; %s\non: add.u64 %%rd1, %%rd1, 16;\n%s%s", BEGIN, begin,
		which / 2 ? "bar.sync 0;" : "", accesses[which % 2], AGAIN(6), END);
	fill(&patterns[0]);
	ck_assert_int_eq(grid_run(32, 64, "", body), CUDA_ERROR_ILLEGAL_ADDRESS);
	int found = sscanf(grid.failure.what, "access to address 0x%x", address);
	found += sscanf(grid.failure.where, "block (0,0,0), thread (%u,0,0)", &thread);
	ck_assert_int_eq(found, 2);
	return thread;
}

START_TEST(a_fault_names_the_thread_whose_pointer_is_wild)
{
	if (driver_lacks("it does not say which thread failed")) {
		return;
	}
	unsigned address, thread = find_fault("setp.eq.u32 %p2, %r0, 43; @%p2 mov.u64 %rd1, 64;",
		_i, &address);
	ck_assert_uint_eq(thread, 43);
	ck_assert_uint_eq(address, 64 + 48);
}
END_TEST

/* Any of them may be the first that the processor looks at. */
START_TEST(a_fault_of_neighbours_names_one_of_them)
{
	if (driver_lacks("it does not say which thread failed")) {
		return;
	}
	unsigned address, thread = find_fault("setp.ge.u32 %p2, %r0, 32;\n"
		"@%p2 mad.wide.u32 %rd1, %r1, 4, 65000;", _i, &address);
	ck_assert_uint_ge(thread, 32);
	ck_assert_uint_eq(address, 65000 + 48 + 4 * thread);
}
END_TEST

SUITE(induction)
{
	Suite *s = suite_create("induction");
	TCase *tc = tcase_create("loops");
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_loop_test(tc, loops_read_what_the_same_in_c_reads, 0,
		countof(programs) * countof(patterns));
	tcase_add_loop_test(tc, one_lane_at_a_time_reads_the_same, 0, countof(programs));
	tcase_add_loop_test(tc, a_fault_names_the_thread_whose_pointer_is_wild, 0, 4);
	tcase_add_loop_test(tc, a_fault_of_neighbours_names_one_of_them, 0, 4);
	suite_add_tcase(s, tc);
	return s;
}
