/* SPDX-License-Identifier: MIT */
/*
 * Warp interleaving: kernels whose warps run as a team have the results of warps that run by
 * themselves.  Warps that diverge on the way, failures, and which kernels can be a team.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "cpu/ir/cfg.h"
#include "cpu/ptx/check.h"
#include "cpu/ir/lower.h"
#include "cpu/ptx/parse.h"
#include "cpu/ir/team.h"
#include "cpu/support/grid.h"
#include "support/store_folder.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6 };

enum { WIDTH = 32 };
static const uint32_t blocks[] = {32, 64, 96, 100, 128, 256, 288};

static const char shared[] = ".shared .align 4 .b8 s[4096];";

/* Each round every thread adds what another one has put down: %r5 rounds from 0, %r6 is its sum,
 * %r7 its place in shared memory, %r8 the other's, %r10 is tid + ctaid. */
#define BEGIN \
	"mov.u32 %r1, %ntid.x; mov.u32 %r2, %ctaid.x; add.u32 %r10, %r0, %r2;\n" \
	"mov.u32 %r3, s; shl.b32 %r4, %r0, 2; add.u32 %r7, %r3, %r4;\n" \
	"add.u32 %r4, %r0, 37; rem.u32 %r4, %r4, %r1; shl.b32 %r4, %r4, 2; " \
	"add.u32 %r8, %r3, %r4;\n" \
	"mul.lo.u32 %r6, %r0, 3; mov.u32 %r5, 0;\n" \
	"next: st.shared.u32 [%r7], %r6; bar.sync 0;\n"
#define END \
	"ld.shared.u32 %r9, [%r8]; add.u32 %r6, %r6, %r9; bar.sync 0;\n" \
	"add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 6; @%p1 bra next;\n" \
	"st.u32 [%rd9], %r6; mov.u32 %r6, %laneid; st.u32 [%rd9+4], %r6;\n" \
	"mov.u32 %r6, %warpid; st.u32 [%rd9+8], %r6; st.u32 [%rd9+12], %r1;"

/* In round `round` threads [from, to) add 1000. */
static void sum_up(uint32_t *out, uint32_t threads, uint32_t round, uint32_t from, uint32_t to)
{
	uint32_t old[BLOCK_MAX_THREADS];
	for (uint32_t i = 0; i < threads; i++) {
		out[i] = 3 * i;
	}
	for (uint32_t r = 0; r < ROUNDS; r++) {
		memcpy(old, out, threads * sizeof(*old));
		for (uint32_t i = 0; i < threads; i++) {
			bool adds = r == round && i >= from && i < to;
			out[i] += old[(i + 37) % threads] + (adds ? 1000 : 0);
		}
	}
}

static void check_sums(uint32_t threads, uint32_t round, uint32_t from, uint32_t to)
{
	uint32_t want[BLOCK_MAX_THREADS], wrong = 0;
	sum_up(want, threads, round, from, to);
	for (uint32_t i = 0; i < threads; i++) {
		const uint32_t all[] = {want[i], i % 32, i / 32, threads};
		wrong += memcmp(grid.memory[i], all, sizeof(all)) != 0;
	}
	ck_assert_uint_eq(wrong, 0);
}

START_TEST(warps_exchange_values_at_barriers)
{
	uint32_t threads = blocks[_i];
	grid_ok(WIDTH, threads, shared, BEGIN END);
	check_sums(threads, ROUNDS, 0, 0);
}
END_TEST

/* Of whole warps, of all, of a part of one, of parts of two. */
static const uint32_t parts[][2] = {{32, 64}, {0, 128}, {3, 5}, {0, 1}, {30, 70}, {96, 128}};

START_TEST(warps_that_part_go_on_by_themselves)
{
	const uint32_t *part = parts[_i % (int)countof(parts)];
	uint32_t round = (uint32_t)_i / countof(parts);
	char body[2048];
	snprintf(body, sizeof(body), "%s"
		"setp.ne.u32 %%p2, %%r5, %u; @%%p2 bra on; sub.u32 %%r11, %%r10, %u;\n"
		"setp.ge.u32 %%p2, %%r11, %u; @%%p2 bra on; add.u32 %%r6, %%r6, 1000; on:\n%s",
		BEGIN, round, part[0], part[1] - part[0], END);
	grid_ok(WIDTH, 128, shared, body);
	check_sums(128, round, part[0], part[1]);
}
END_TEST

static const uint32_t culprits[] = {0, 31, 32, 70, 127};

/* A wild store, load and gather, and, in the round after, by one of them, a diverged one. */
static const char *const failing[] = {
	"@%p3 mov.u64 %rd9, 64; st.u32 [%rd9], 1;",
	"mov.u64 %rd1, %rd9; @%p3 mov.u64 %rd1, 64; ld.u32 %r12, [%rd1]; add.u32 %r6, %r6, %r12;",
	"mov.u64 %rd1, 64; @%p3 ld.u32 %r12, [%rd1]; add.u32 %r6, %r6, %r12;",
};

START_TEST(a_failure_names_the_thread_of_any_warp)
{
	uint32_t culprit = culprits[(unsigned)_i % countof(culprits)];
	char body[2048], where[64];
	snprintf(body, sizeof(body), "%ssetp.eq.u32 %%p3, %%r0, %u;\n%s\n%s", BEGIN, culprit,
		failing[(unsigned)_i / countof(culprits)], END);
	snprintf(where, sizeof(where), "block (0,0,0), thread (%u,0,0)", culprit);
	ck_assert_int_eq(grid_run(WIDTH, 128, shared, body), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_str_eq(grid.failure.what, "access to address 0x40");
	ck_assert_str_eq(grid.failure.where, where);
}
END_TEST

/* In a loop with a barrier all warps read or write a row of 16 elements for each 16 lanes, from the
 * third round on, by when 48 bytes have been added; one of the rows is nowhere. */
static const char *const row_accesses[] = {"ld.u32 %r6, [%rd1];", "st.u32 [%rd1], %r6;"};
static const uint32_t bad_rows[] = {0, 1, 2, 5, 7};

START_TEST(a_failure_of_a_row_names_a_thread_of_it)
{
	uint32_t bad = bad_rows[(unsigned)_i / 2];
	unsigned x = 0, y = 0, address = 0;
	char body[2048];
	grid.row = 16;
	snprintf(body, sizeof(body), "mov.u32 %%r1, %%tid.y; mov.u32 %%r5, 0; mov.u32 %%r6, 0;\n"
		"mad.wide.u32 %%rd1, %%r1, 256, %%rd0; mad.wide.u32 %%rd1, %%r0, 4, %%rd1;\n"
		"setp.eq.u32 %%p1, %%r1, %u; @%%p1 mad.wide.u32 %%rd1, %%r0, 4, 65000;\n"
		"next: bar.sync 0; setp.lt.u32 %%p2, %%r5, 3; @%%p2 bra on; %s\n"
		"on: add.u64 %%rd1, %%rd1, 16; add.u32 %%r5, %%r5, 1;\n"
		"setp.lt.u32 %%p3, %%r5, 6; @%%p3 bra next; st.u32 [%%rd9+8192], %%r6;",
		bad, row_accesses[_i % 2]);
	ck_assert_int_eq(grid_run(WIDTH, 128, shared, body), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_int_eq(sscanf(grid.failure.what, "access to address 0x%x", &address), 1);
	ck_assert_int_eq(sscanf(grid.failure.where, "block (0,0,0), thread (%u,%u,0)", &x, &y), 2);
	ck_assert_uint_eq(y, bad);
	ck_assert_uint_eq(address, 65000 + 48 + 4 * (16 * y + x));
}
END_TEST

/* Each thread a sum of products of its own row and what all rows have in common. */
enum { ROWS = 8, TERMS = 4 };

static void sum_products(void)
{
	char body[2048];
	int len = snprintf(body, sizeof(body), "mov.u32 %%r11, %%tid.x; mov.u32 %%r12, %%tid.y;\n"
		"mov.u32 %%r3, s; shl.b32 %%r13, %%r11, 2; shl.b32 %%r14, %%r12, 7;\n"
		"add.s32 %%r5, %%r3, %%r14;\n"
		"add.s32 %%r6, %%r5, %%r13; add.s32 %%r4, %%r3, %%r13; cvt.rn.f32.u32 %%f1, %%r0;\n"
		"st.shared.f32 [%%r6], %%f1;\n"
		"mov.f32 %%f2, 0f00000000; mov.u32 %%r7, %%ctaid.x;\n"
		"setp.gt.u32 %%p1, %%r7, 2; @%%p1 bra end; next: bar.sync 0;\n");
	for (unsigned i = 0; i < TERMS; i++) {
		len += snprintf(body + len, sizeof(body) - (size_t)len,
			"ld.shared.f32 %%f3, [%%r5+%u];\n"
			"ld.shared.f32 %%f4, [%%r4+%u]; fma.rn.f32 %%f%u, %%f3, %%f4, %%f%u;\n",
			4 * i, 128 * i, i + 1 < TERMS ? 10 + i : 2, i > 0 ? 9 + i : 2);
	}
	snprintf(body + len, sizeof(body) - (size_t)len, "bar.sync 0; add.u32 %%r7, %%r7, 1;\n"
		"setp.lt.u32 %%p1, %%r7, 3; @%%p1 bra next;\n"
		"end: st.u32 [%%rd9+4], %%r11; st.f32 [%%rd9], %%f2;");
	grid.row = WIDTH;
	grid_ok(WIDTH, WIDTH * ROWS, shared, body);
}

static char *read_ir(void)
{
	char *path = file_join(store_outside, "k.ll"), *data = NULL;
	size_t size;
	ck_assert_int_eq(file_read(&data, &size, path, NULL), KZ_OK);
	mem_free(path);
	return data;
}

static void setup_dump(void)
{
	store_folder_create();
	grid_setup();
	setenv("KUDZU_CPU_DUMP", store_outside, 1);
}

static void teardown_dump(void)
{
	grid_teardown();
	store_folder_remove();
}

START_TEST(what_rows_have_in_common_is_the_same_to_all)
{
	sum_products();
	for (unsigned t = 0; t < WIDTH * ROWS; t++) {
		unsigned row = t / WIDTH * WIDTH, want = 0;
		float have;
		for (unsigned i = 0; i < 3 * TERMS; i++) {
			want += (row + i % TERMS) * (i % TERMS * WIDTH + t % WIDTH);
		}
		memcpy(&have, &grid.memory[t][0], sizeof(have));
		ck_assert_float_eq(have, (float)want);
		ck_assert_uint_eq(grid.memory[t][1], t % WIDTH);
	}
}
END_TEST

/* How many sums are followed by one that waits for them. */
static unsigned count_waiting(const char *ir)
{
	static const char sum[] = "call <32 x float> @llvm.fma.v32f32(";
	unsigned count = 0;
	char last[40] = "";
	for (const char *at = ir; (at = strstr(at, sum)); at++) {
		const char *line = at, *end = at + strcspn(at, "\n");
		while (line[-1] != '\n') {
			line--;
		}
		const char *found = last[0] ? strstr(at, last) : NULL;
		count += found && found < end;
		line += strspn(line, " ");
		snprintf(last, sizeof(last), "%.*s)", (int)strcspn(line, " "), line);
	}
	return count;
}

START_TEST(sums_of_warps_take_turns)
{
	sum_products();
	char *ir = read_ir();
	ck_assert_ptr_nonnull(strstr(ir, "@llvm.fma.v32f32("));
	ck_assert_uint_lt(count_waiting(ir), ROWS * (TERMS - 1));
	mem_free(ir);
}
END_TEST

START_TEST(what_a_team_reads_in_common_is_read_once)
{
	setenv("KUDZU_CPU_PASSES", "-warp-turns", 1); /* each turn reads it again */
	sum_products();
	char *ir = read_ir();
	unsigned count = 0;
	for (const char *at = ir; (at = strstr(at, "= load <32 x float>")); at++) {
		count++;
	}
	/* by the team, by one warp, by one that has parted */
	ck_assert_uint_le(count, 3 * TERMS);
	mem_free(ir);
}
END_TEST

/* The same of doubles, with the squares of what rows have in common, and by way of memory. */
static void sum_doubles(void)
{
	char body[2048];
	int len = snprintf(body, sizeof(body), "mov.u32 %%r11, %%tid.x; mov.u32 %%r12, %%tid.y;\n"
		"mov.u32 %%r3, s; shl.b32 %%r13, %%r11, 3; shl.b32 %%r14, %%r12, 8;\n"
		"add.s32 %%r5, %%r3, %%r14; add.s32 %%r6, %%r5, %%r13; add.s32 %%r4, %%r3, %%r13;\n"
		"cvt.rn.f64.u32 %%fd1, %%r0; st.shared.f64 [%%r6], %%fd1; "
		"mov.f64 %%fd2, 0d0000000000000000;\n"
		"mov.u32 %%r7, %%ctaid.x; setp.gt.u32 %%p1, %%r7, 2; @%%p1 bra end; "
		"next: bar.sync 0;\n");
	for (unsigned i = 0; i < 2 * TERMS; i++) {
		len += snprintf(body + len, sizeof(body) - (size_t)len,
			"ld.shared.f64 %%fd3, [%%r5+%u];\n"
			"ld.shared.f64 %%fd4, [%%r4+%u]; mul.f64 %%fd4, %%fd4, %%fd4;\n"
			"fma.rn.f64 %%fd2, %%fd3, %%fd4, %%fd2;\n%s", 8 * (i % TERMS),
			256 * (i % TERMS), i + 1 != TERMS ? ""
			: "st.shared.f64 [%r6+2048], %fd2; add.f64 %fd2, %fd2, %fd1;\n"
			"ld.shared.f64 %fd5, [%r6+2048]; add.f64 %fd2, %fd2, %fd5;\n");
	}
	snprintf(body + len, sizeof(body) - (size_t)len, "bar.sync 0; add.u32 %%r7, %%r7, 1;\n"
		"setp.lt.u32 %%p1, %%r7, 3; @%%p1 bra next;\nend: st.f64 [%%rd9], %%fd2;");
	grid.row = WIDTH;
	grid_ok(WIDTH, WIDTH * ROWS, shared, body);
}

START_TEST(warps_take_turns_where_registers_do_not_hold_their_sums)
{
	sum_doubles();
	for (unsigned t = 0; t < WIDTH * ROWS; t++) {
		unsigned row = t / WIDTH * WIDTH, part = 0, want = 0;
		double have;
		for (unsigned i = 0; i < TERMS; i++) {
			unsigned other = i * WIDTH + t % WIDTH;
			part += (row + i) * other * other;
		}
		for (unsigned round = 0; round < 3; round++) {
			want = 2 * (want + part) + t + part;
		}
		memcpy(&have, &grid.memory[t][0], sizeof(have));
		ck_assert_double_eq(have, (double)want);
	}
	char *ir = read_ir();
	ck_assert_ptr_nonnull(strstr(ir, "fence syncscope(\"singlethread\")"));
	mem_free(ir);
}
END_TEST

START_TEST(rows_are_what_a_team_expects)
{
	grid_ok(WIDTH, WIDTH * ROWS, shared, "mad.lo.u32 %r1, %r0, %r0, 0; mul.wide.u32 %rd1, %r1, "
		"4;\n"
		"and.b64 %rd1, %rd1, 4092; add.u64 %rd1, %rd0, %rd1; bar.sync 0; "
		"ld.u32 %r2, [%rd1];\n"
		"st.u32 [%rd9+128], %r2;");
	char *ir = read_ir();
	ck_assert_ptr_nonnull(strstr(ir, "!\"branch_weights\", i32 1000, i32 1"));
	mem_free(ir);
}
END_TEST

/* A loop that carries %r7 and %r9, which come of what was read, and what the instructions read. */
#define LOOP(insts) \
	"ld.u32 %r7, [%rd9]; mov.u32 %r9, %r7; mov.u32 %r10, %r7; mov.u32 %r12, %r7;\n" \
	"mov.u32 %r13, %r7; " \
	"mov.u32 %r2, %ctaid.x; next: bar.sync 0; add.u32 %r7, %r7, 1; " insts "\n" \
	"add.u32 %r9, %r9, %r7; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 9; @%p1 bra next;"

static const struct kind {
	const char *body;
	bool possible;
} kinds[] = {
	{"bar.sync 0;", true},
	{"add.u32 %r1, %r0, 1;", false},
	{"bar.sync 0, 64;", false},
	{"bar.sync %r0;", false},
	{"bar.sync 0; shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;", false},
	{"bar.sync 0; atom.add.u32 %r1, [%rd0], 1;", false},
	{"bar.sync 0; ld.volatile.u32 %r1, [%rd0];", false},
	{"bar.sync 0; ld.u32 %r1, [%rd0]; add.u32 %r2, %r1, %r1;", true},
	{"bar.sync 0; setp.lt.u32 %p1, %r0, 16; @%p1 bra on; on:", false},
	{"bar.sync 0; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, 64, %r0;\n"
		"setp.lt.u32 %p1, %r1, 99; @%p1 bra on; on:", true},
	{"bar.sync 0; mov.u32 %r2, %ctaid.x; setp.lt.u32 %p1, %r2, 16; @%p1 bra on; on:", true},
	{"bar.sync 0; mov.u32 %r2, %ctaid.x; mad.wide.u32 %rd1, %r2, 4, %rd9; ld.u32 %r1, [%rd1];\n"
		"setp.lt.u32 %p1, %r1, 16; @%p1 bra on; on:", false},
	{"bar.sync 0; mov.u32 %r2, %ctaid.x; mad.wide.u32 %rd1, %r2, 4, %rd0; ld.u32 %r1, [%rd1];\n"
		"setp.lt.u32 %p1, %r1, 16; @%p1 bra on; on:", true},
	{LOOP("add.u32 %r8, %r9, %r10;"), true},
	{LOOP("add.u32 %r8, %r9, %r10; add.u32 %r11, %r0, %r12;"), true},
	{LOOP("add.u32 %r8, %r9, %r10; add.u32 %r11, %r12, %r13;"), false},
};

START_TEST(a_team_is_what_stays_together)
{
	const struct kind *kind = &kinds[_i];
	struct ptx_module module = {.version = 0};
	struct ptx_diag diag = {.line = 0};
	char text[1024];
	snprintf(text, sizeof(text), ".version 8.6\n.target sm_80\n.address_size 64\n"
		".visible .entry k(.param .u64 p)\n{\n"
		".reg .pred %%p<9>; .reg .b32 %%r<20>; .reg .b64 %%rd<20>;\n"
		"ld.param.u64 %%rd0, [p]; mov.u32 %%r0, %%tid.x; "
		"mad.wide.u32 %%rd9, %%r0, 4, %%rd0;\n"
		"%s\nret;\n}\n", kind->body);
	bool ok = parse_module(&module, text, strlen(text), &diag) && check_module(&module, &diag);
	ck_assert_msg(ok, "%d:%d: %s", diag.line, diag.column, diag.message);
	ck_assert_int_eq(team_is_possible(module.funcs[0]), kind->possible);
	ok = lower_func(&module, module.funcs[0], &diag)
		&& cfg_build(&module, module.funcs[0], &diag);
	ck_assert(ok);
	ck_assert_int_eq(team_is_possible(module.funcs[0]), kind->possible);
	parse_free(&module);
}
END_TEST

SUITE(emit_interleave)
{
	Suite *s = suite_create("emit_interleave");
	TCase *tc = tcase_create("teams");
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_loop_test(tc, warps_exchange_values_at_barriers, 0, countof(blocks));
	tcase_add_loop_test(tc, warps_that_part_go_on_by_themselves, 0, 2 * countof(parts));
	tcase_add_loop_test(tc, a_failure_names_the_thread_of_any_warp, 0,
		countof(culprits) * countof(failing));
	tcase_add_loop_test(tc, a_failure_of_a_row_names_a_thread_of_it, 0,
		countof(bad_rows) * countof(row_accesses));
	suite_add_tcase(s, tc);
	tc = tcase_create("code");
	tcase_add_checked_fixture(tc, setup_dump, teardown_dump);
	tcase_add_test(tc, what_rows_have_in_common_is_the_same_to_all);
	tcase_add_test(tc, sums_of_warps_take_turns);
	tcase_add_test(tc, what_a_team_reads_in_common_is_read_once);
	tcase_add_test(tc, warps_take_turns_where_registers_do_not_hold_their_sums);
	tcase_add_test(tc, rows_are_what_a_team_expects);
	suite_add_tcase(s, tc);
	tc = tcase_create("kinds");
	tcase_add_loop_test(tc, a_team_is_what_stays_together, 0, countof(kinds));
	suite_add_tcase(s, tc);
	return s;
}
