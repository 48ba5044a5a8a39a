/* SPDX-License-Identifier: MIT */
/*
 * The code generator beyond single instructions: memory, atomics, control flow, and yields: what
 * survives one, and why there was one.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "cpu/support/machine.h"

#include "cpu/ir/ssa.h"
#include "cpu/ptx/check.h"
#include "cpu/ptx/parse.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory: a body, and what it must leave in the first words. */
static const struct access {
	const char *declarations;
	const char *body;
	uint64_t want[3];
} accesses[] = {
	{"", "mov.u32 %r1, 0x80; st.global.u8 [%rd0], %r1; ld.global.s8 %r2, [%rd0];\n"
		"st.u32 [%rd0+8], %r2; ld.u8 %rd1, [%rd0]; st.u64 [%rd0+16], %rd1;",
		{0x80, 0xffffff80, 0x80}},
	{"", "mov.u16 %h1, 0x8001; st.u16 [%rd0+2], %h1; ld.s16 %rd2, [%rd0+2];\n"
		"st.u64 [%rd0+8], %rd2;", {0x80010000, 0xffffffffffff8001, 0}},
	{"", "st.v4.u32 [%rd0], {1, 2, 3, 4}; ld.v2.u64 {%rd1, %rd2}, [%rd0];\n"
		"st.u64 [%rd0+16], %rd2;", {0x200000001, 0x400000003, 0x400000003}},
	{"", "add.u64 %rd3, %rd0, 8; st.u64 [%rd0], %rd3; st.u64 [%rd0+8], 9; mov.u64 %rd1, %rd0;\n"
		"ld.v2.u64 {%rd1, %rd2}, [%rd1]; st.u64 [%rd0], 0; st.u64 [%rd0+16], %rd2;",
		{0, 9, 9}},
	{"", "mov.f32 %f1, 0f3F800000; st.volatile.f32 [%rd0], %f1;\n"
		"ld.relaxed.gpu.f32 %f2, [%rd0]; add.f32 %f2, %f2, %f1;\n"
		"st.release.gpu.f32 [%rd0+8], %f2;\n"
		"ld.acquire.sys.u32 %r1, [%rd0+8]; st.relaxed.cta.u32 [%rd0+16], %r1;",
		{0x3f800000, 0x40000000, 0x40000000}},
	{".shared .align 8 .b8 pad[8]; .shared .align 4 .u32 s[4];",
		"st.shared.u32 [s+4], 77; mov.u32 %r1, s; ld.shared.u32 %r2, [%r1+4];\n"
		"mov.u64 %rd1, s; cvta.shared.u64 %rd2, %rd1; ld.u32 %r3, [%rd2+4];\n"
		"cvta.to.shared.u64 %rd3, %rd2; sub.u64 %rd3, %rd3, %rd1; add.u32 %r2, %r2, %r3;\n"
		"st.u32 [%rd0], %r2; st.u64 [%rd0+8], %rd3;", {154, 0, 0}},
	{"", ".local .align 8 .b8 l[16]; mov.u64 %rd1, l; cvta.local.u64 %rd2, %rd1;\n"
		"st.local.u32 [%rd1+4], 5; ld.u32 %r1, [%rd2+4]; ld.local.u32 %r2, [l+4];\n"
		"add.u32 %r1, %r1, %r2; st.u32 [%rd0], %r1;", {10, 0, 0}},
	{".global .u64 g0; .const .align 4 .b8 c1[8] = {1, 2, 3, 4, 5, 6, 7, 8};",
		"ld.global.u64 %rd1, [g0]; add.u64 %rd1, %rd1, 1; st.global.u64 [g0], %rd1;\n"
		"ld.const.u32 %r1, [c1+4]; st.u32 [%rd0], %r1; ld.global.u64 %rd2, [g0];\n"
		"st.u64 [%rd0+8], %rd2; mov.u64 %rd3, c1; ld.const.u8 %r2, [%rd3+1];\n"
		"st.u32 [%rd0+16], %r2;", {0x08070605, 8, 2}},
	{".shared .u32 s; .const .u32 c0; .global .u32 g;",
		".local .u32 l; mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1;\n"
		"mov.u64 %rd2, l; cvta.local.u64 %rd2, %rd2; mov.u64 %rd3, c0; mov.u64 %rd4, p;\n"
		"isspacep.shared %p0, %rd1; isspacep.shared %p1, %rd2; isspacep.local %p2, %rd2;\n"
		"isspacep.local %p3, %rd0; isspacep.global %p4, %rd0; isspacep.global %p5, %rd1;\n"
		"isspacep.const %p6, %rd3; isspacep.param %p7, %rd4;\n"
		"selp.u32 %r0, 1, 0, %p0; @%p1 add.u32 %r0, %r0, 2; @%p2 add.u32 %r0, %r0, 4;\n"
		"@%p3 add.u32 %r0, %r0, 8; @%p4 add.u32 %r0, %r0, 16; @%p5 add.u32 %r0, %r0, 32;\n"
		"@%p6 add.u32 %r0, %r0, 64; @%p7 add.u32 %r0, %r0, 128; st.u32 [%rd0], %r0;",
		{1 + 4 + 16 + 64 + 128, 0, 0}},
	{".shared .align 8 .b8 s[64];", "mov.u32 %r1, 0xfffffff8; st.shared.u32 [%r1+12], 7;\n"
		"mov.u64 %rd1, 0x700000004; ld.shared.u32 %r2, [%rd1]; st.u32 [%rd0], %r2;\n"
		"add.u32 %r1, %r1, 48; ld.shared.u32 %r2, [%r1+-36]; st.u32 [%rd0+8], %r2;",
		{7, 7, 0}},
	{"", ".reg .b128 %q; st.v2.u64 [%rd0], {0x0807060504030201, 0x100f0e0d0c0b0a09};\n"
		"ld.b128 %q, [%rd0+1]; st.b128 [%rd0+3], %q; ld.u64 %rd1, [%rd0+3];\n"
		"st.u64 [%rd0+16], %rd1; ld.u32 %r1, [%rd0+5]; st.u32 [%rd0+8], %r1;",
		{0x0605040302030201, 0x0e0d0c0b07060504, 0x0908070605040302}},
	{"", "mov.u64 %rd1, p; cvta.param.u64 %rd1, %rd1; ld.u64 %rd2, [%rd1];\n"
		"sub.u64 %rd2, %rd2, %rd0; st.u64 [%rd0], %rd2; mov.u32 %r1, %ntid.x;\n"
		"mov.u32 %r2, %laneid; add.u32 %r1, %r1, %r2;\n"
		"st.u32 [%rd0+8], %r1; mov.u32 %r3, %lanemask_ge; st.u32 [%rd0+16], %r3;",
		{0, 4, 0xffffffff}},
};

START_TEST(memory_holds_what_was_stored)
{
	const struct access *a = &accesses[_i];
	uint64_t first = 7;
	uint8_t second[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	machine_body(a->declarations, a->body);
	machine.globals[0] = (uint8_t *)&first;
	machine.globals[1] = second;
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	for (size_t i = 0; i < countof(a->want); i++) {
		ck_assert_msg(machine.memory[i] == a->want[i], "%s: word %zu is %#llx", a->body, i,
			(unsigned long long)machine.memory[i]);
	}
	machine_close();
}
END_TEST

/* Atomics on a word that holds `old`, by `value` (and for cas, new): what memory holds after. */
static const struct atomic {
	const char *op;
	const char *type;
	uint64_t old, value, other, after;
} atomics[] = {
	{"add", "u32", 0xffffffff, 2, 0, 1},
	{"add", "u64", 0xffffffff, 2, 0, 0x100000001},
	{"add", "f32", 0x3f800000, 0x40000000, 0, 0x40400000},
	{"add", "f64", 0x3ff0000000000000, 0x4000000000000000, 0, 0x4008000000000000},
	{"and", "b32", 0xff0f, 0x0ff0, 0, 0x0f00},
	{"or", "b64", 0xff00000000, 0xff, 0, 0xff000000ff},
	{"xor", "b32", 0xff0f, 0x0ff0, 0, 0xf0ff},
	{"min", "s32", 5, 0xffffffff, 0, 0xffffffff},
	{"min", "u32", 5, 0xffffffff, 0, 5},
	{"max", "s64", 5, 0xffffffffffffffff, 0, 5},
	{"max", "u64", 5, 0xffffffffffffffff, 0, 0xffffffffffffffff},
	{"exch", "b32", 5, 9, 0, 9},
	{"inc", "u32", 5, 6, 0, 6},
	{"inc", "u32", 6, 6, 0, 0},
	{"inc", "u32", 9, 6, 0, 0},
	{"dec", "u32", 5, 6, 0, 4},
	{"dec", "u32", 0, 6, 0, 6},
	{"dec", "u32", 7, 6, 0, 6},
	{"cas", "b32", 5, 5, 9, 9},
	{"cas", "b64", 5, 6, 9, 5},
	{"cas", "b16", 5, 5, 9, 9},
};

static void try_atomic(const struct atomic *a, const char *space)
{
	static const struct {
		const char *type, *reg, *move;
	} banks[] = {{"32", "%r", "b32"}, {"64", "%rd", "b64"}, {"16", "%h", "b16"}};
	size_t bank = strstr(a->type, "64") ? 1 : strstr(a->type, "16") ? 2 : 0;
	const char *r = banks[bank].reg;
	const char *order = strcmp(space, ".global") ? "" : ".acq_rel.gpu";
	char third[16] = "";
	char body[512];
	if (!strcmp(a->op, "cas")) {
		snprintf(third, sizeof(third), ", %s7", r);
	}
	bool real = a->type[0] == 'f';
	const char *q = real ? bank ? "%fd" : "%f" : r;

	snprintf(body, sizeof(body), "ld.%s %s5, [%%rd0+8]; ld.%s %s6, [%%rd0+16];\n"
		"ld.%s %s7, [%%rd0+24]; st%s.%s [%%rd%d], %s5;\n"
		"atom%s%s.%s.%s %s1, [%%rd%d], %s6%s; st.%s [%%rd0+32], %s1;\n"
		"ld%s.%s %s2, [%%rd%d]; st.%s [%%rd0], %s2;",
		banks[bank].move, q, banks[bank].move, q, banks[bank].move, q,
		space, banks[bank].move, strcmp(space, ".shared") ? 0 : 9, q,
		order, space, a->op, a->type, q, strcmp(space, ".shared") ? 0 : 9, q, third,
		banks[bank].move, q, space, banks[bank].move, q, strcmp(space, ".shared") ? 0 : 9,
		banks[bank].move, q);
	char all[600];
	snprintf(all, sizeof(all), "mov.u64 %%rd9, s;\n%s", body);
	machine_body(".shared .align 8 .b8 s[8];", all);
	machine.memory[1] = a->old;
	machine.memory[2] = a->value;
	machine.memory[3] = a->other;
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	ck_assert_msg(machine.memory[0] == a->after && machine.memory[4] == a->old,
		"atom%s.%s.%s: %#llx, %#llx", space, a->op, a->type,
		(unsigned long long)machine.memory[0], (unsigned long long)machine.memory[4]);
	machine_close();
}

START_TEST(atomics_update_memory_and_give_the_old_value)
{
	try_atomic(&atomics[_i], "");
	try_atomic(&atomics[_i], ".global");
	try_atomic(&atomics[_i], ".shared");
}
END_TEST

START_TEST(red_updates_memory)
{
	machine_once("", "st.u32 [%rd0], 40; red.global.add.u32 [%rd0], 2; fence.acq_rel.gpu;\n"
		"membar.gl; red.shared.add.u32 [0], 1; prefetch.global.L2 [%rd0];");
	ck_assert_uint_eq(machine.memory[0], 42);
	machine_close();
}
END_TEST

START_TEST(atomics_may_ignore_the_old_value)
{
	machine_once("", "st.u32 [%rd0], 40; atom.global.add.u32 _, [%rd0], 2;\n"
		"atom.cas.b32 _, [%rd0], 42, 43;");
	ck_assert_uint_eq(machine.memory[0], 43);
	machine_close();
}
END_TEST

START_TEST(f32_atomics_flush_subnormals_in_global_memory_only)
{
	machine_once(".shared .u32 s;", "st.u32 [%rd0], 1; mov.b32 %f1, 1;\n"
		"atom.global.add.f32 %f2, [%rd0], %f1; st.shared.u32 [s], 1;\n"
		"atom.shared.add.f32 %f2, [s], %f1; ld.shared.u32 %r1, [s]; st.u32 [%rd0+8], %r1;\n"
		"mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1; red.add.f32 [%rd1], %f1;\n"
		"ld.shared.u32 %r1, [s]; st.u32 [%rd0+16], %r1; st.u32 [%rd0+24], 1;\n"
		"atom.add.f32 %f2, [%rd0+24], %f1;");
	ck_assert_uint_eq(machine.memory[0], 0);
	ck_assert_uint_eq(machine.memory[1], 2);
	ck_assert_uint_eq(machine.memory[2], 3);
	ck_assert_uint_eq(machine.memory[3], 0);
	machine_close();
}
END_TEST

/* Control. */

START_TEST(loops_and_branches_run)
{
	machine_once("", "mov.u32 %r1, 0; mov.u32 %r2, 0;\n"
		"L: setp.ge.u32 %p1, %r1, 10; @%p1 bra D; and.b32 %r3, %r1, 1;\n"
		"setp.eq.u32 %p2, %r3, 0; @!%p2 bra.uni N; add.u32 %r2, %r2, %r1;\n"
		"N: add.u32 %r1, %r1, 1; bra L;\n"
		"D: st.u32 [%rd0], %r2;");
	ck_assert_uint_eq(machine.memory[0], 20);
	machine_close();
}
END_TEST

START_TEST(indexed_branch_takes_its_target)
{
	machine_body("", "T: .branchtargets A, B, C;\nld.u32 %r1, [%rd0]; brx.idx %r1, T;\n"
		"A: st.u32 [%rd0+8], 10; ret;\nB: st.u32 [%rd0+8], 11; ret;\n"
		"C: st.u32 [%rd0+8], 12;");
	for (uint32_t i = 0; i < 3; i++) {
		machine.memory[0] = i;
		ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
		ck_assert_uint_eq(machine.memory[1], 10 + i);
	}
	machine_close();
}
END_TEST

START_TEST(guarded_exit_ends_the_thread)
{
	machine_body("", "ld.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 1; @%p1 exit;\n"
		"st.u32 [%rd0+8], 5;");
	machine.memory[0] = 1;
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	ck_assert_uint_eq(machine.memory[1], 0);
	machine.memory[0] = 0;
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	ck_assert_uint_eq(machine.memory[1], 5);
	machine_close();
}
END_TEST

/* Registers of every size must survive; each thread adds its neighbour's number, round by round. */
START_TEST(registers_survive_barriers_in_loops)
{
	machine_body(".shared .align 4 .u32 s[4];", "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2;\n"
		"mov.u32 %r3, 0; mov.u64 %rd5, 0x100000000; mov.f32 %f1, 0f3F000000;\n"
		"mov.f64 %fd1, 0.25; mov.u16 %h1, 3; setp.eq.u32 %p1, %r1, 2; mov.u32 %r4, 0;\n"
		"add.u32 %r5, %r1, 1; and.b32 %r5, %r5, 3; shl.b32 %r5, %r5, 2;\n"
		"L: add.u32 %r6, %r1, %r4; st.shared.u32 [%r2], %r6; bar.sync 3;\n"
		"ld.shared.u32 %r7, [%r5]; add.u32 %r3, %r3, %r7; barrier.sync 3, 32;\n"
		"add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 3; @%p2 bra L;\n"
		"cvt.rzi.u32.f32 %r8, %f1; cvt.rpi.u32.f64 %r9, %fd1; cvt.u32.u16 %r10, %h1;\n"
		"add.u32 %r3, %r3, %r8; add.u32 %r3, %r3, %r9; add.u32 %r3, %r3, %r10;\n"
		"@%p1 add.u32 %r3, %r3, 100; cvt.u64.u32 %rd1, %r3; add.u64 %rd1, %rd1, %rd5;\n"
		"shl.b32 %r2, %r1, 3; cvt.u64.u32 %rd2, %r2; add.u64 %rd2, %rd2, %rd0;\n"
		"st.u64 [%rd2], %rd1;");
	uint32_t point[4] = {0};
	for (int round = 0; round < 6; round++) {
		for (uint32_t t = 0; t < 4; t++) {
			point[t] = machine_resume(t, point[t]);
			ck_assert_uint_ne(point[t], RT_DONE);
			ck_assert_uint_eq(machine.warp.yield, RT_YIELD_BARRIER);
			ck_assert_uint_eq(machine.warp.bar_id, 3);
			ck_assert_uint_eq(machine.warp.bar_count, round % 2 ? 32 : 0);
		}
	}
	for (uint32_t t = 0; t < 4; t++) {
		ck_assert_uint_eq(machine_resume(t, point[t]), RT_DONE);
		ck_assert_uint_eq(machine.memory[t],
			0x100000000 + 3 * ((t + 1) % 4) + 3 + 1 + 3 + (t == 2 ? 100 : 0));
	}
	machine_close();
}
END_TEST

START_TEST(reducing_barriers_pass_the_result)
{
	machine_body("", "setp.eq.u32 %p1, 1, 1; bar.red.popc.u32 %r1, 1, 64, !%p1;\n"
		"st.u32 [%rd0], %r1; bar.red.or.pred %p2, 2, %p1; selp.u32 %r2, 7, 8, %p2;\n"
		"st.u32 [%rd0+8], %r2;");
	uint32_t point = machine_resume(0, 0);
	ck_assert_uint_eq(machine.warp.bar_red, RT_RED_POPC);
	ck_assert_uint_eq(machine.warp.bar_count, 64);
	ck_assert_uint_eq(machine.warp.bar_value & 1, 0);
	machine.exchange[0].words[0][0] = 33;
	point = machine_resume(0, point);
	ck_assert_uint_eq(machine.memory[0], 33);
	ck_assert_uint_eq(machine.warp.bar_red, RT_RED_OR);
	ck_assert_uint_eq(machine.warp.bar_id, 2);
	ck_assert_uint_eq(machine.warp.bar_value & 1, 1);
	ck_assert_uint_eq(machine_resume(0, point), RT_DONE);
	ck_assert_uint_eq(machine.memory[1], 7);
	machine_close();
}
END_TEST

START_TEST(other_yields_say_why)
{
	static const struct {
		const char *body;
		enum rt_yield why;
	} yields[] = {
		{"bar.arrive 1, 64;", RT_YIELD_ARRIVE},
		{"bar.warp.sync 0xff;", RT_YIELD_WARP},
		{"nanosleep.u32 20;", RT_YIELD_SPIN},
		{"trap;", RT_YIELD_TRAP},
		{"L: ld.volatile.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
			RT_YIELD_SPIN},
		{"L: atom.cas.b32 %r1, [%rd0+8], 0, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
			RT_YIELD_SPIN},
		{"L: atom.add.u32 %r1, [%rd0], 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
			RT_YIELD_SPIN},
		{"L: atom.max.u32 %r1, [%rd0], 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
			RT_YIELD_SPIN},
		{"L: ld.global.cv.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
			RT_YIELD_SPIN},
		{"L: ld.u32 %r1, [%rd0]; membar.gl; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
			RT_YIELD_SPIN},
	};
	machine_body("", yields[_i].body);
	uint32_t point = machine_resume(0, 0);
	ck_assert_uint_ne(point, RT_DONE);
	ck_assert_uint_eq(machine.warp.yield, yields[_i].why);
	ck_assert_uint_eq(machine.warp.line, 10);
	if (yields[_i].why != RT_YIELD_TRAP) {
		machine.memory[0] = 1;
		ck_assert_uint_eq(machine_resume(0, point), RT_DONE);
	}
	machine_close();
}
END_TEST

START_TEST(loops_that_wait_for_nobody_do_not_yield)
{
	static const char *const loops[] = {
		"L: atom.add.u32 %r1, [%rd0+8], 1;", "L: atom.add.u32 _, [%rd0+8], 1;",
		"L: ld.u32 %r1, [%rd0+8];"
	};
	char body[200];
	snprintf(body, sizeof(body), "mov.u32 %%r2, 0; %s add.u32 %%r2, %%r2, 1;\n"
		"setp.lt.u32 %%p1, %%r2, 5; @%%p1 bra L;", loops[_i]);
	machine_once("", body);
	ck_assert_uint_eq(machine.memory[1], _i < 2 ? 5 : 0);
	machine_close();
}
END_TEST

/* Without one, the thread would never let the others come to where they store. */
START_TEST(loops_over_shared_memory_yield_unless_they_pass_a_barrier)
{
	static const struct {
		const char *body;
		bool spins;
	} loops[] = {
		{"L: ld.volatile.shared.u32 %r1, [0]; bar.sync 0;", false},
		{"L: bar.sync 0; ld.volatile.shared.u32 %r1, [0];", false},
		{"L: ld.volatile.shared.u32 %r1, [0];", true},
		{"L: ld.volatile.shared.u32 %r1, [0]; @%p2 bra M; bar.sync 0; M:", true},
		{"L: ld.volatile.shared.u32 %r1, [0]; bar.sync 0, 64;", true},
		{"L: ld.volatile.u32 %r1, [%rd0]; bar.sync 0;", true},
	};
	char body[300];
	bool spins = false;
	snprintf(body, sizeof(body), "setp.eq.u32 %%p2, 0, 0; mov.u32 %%r2, 0; %s\n"
		"add.u32 %%r2, %%r2, 1; setp.lt.u32 %%p1, %%r2, 3; @%%p1 bra L;", loops[_i].body);
	machine_body("", body);
	uint32_t point = machine_resume(0, 0);
	for (int i = 0; i < 20 && point != RT_DONE; i++) {
		spins |= machine.warp.yield == RT_YIELD_SPIN;
		point = machine_resume(0, point);
	}
	ck_assert_uint_eq(point, RT_DONE);
	ck_assert_int_eq(spins, loops[_i].spins);
	machine_close();
}
END_TEST

START_TEST(carry_survives_a_barrier)
{
	machine_body("", "add.cc.u32 %r1, 0xffffffff, 1; bar.sync 0; addc.u32 %r2, 5, 0;\n"
		"st.u32 [%rd0], %r2;");
	uint32_t point = machine_resume(0, 0);
	machine.frame[1][0] = 0;
	ck_assert_uint_eq(machine_resume(0, point), RT_DONE);
	ck_assert_uint_eq(machine.memory[0], 6);
	machine_close();
}
END_TEST

START_TEST(clocks_go_forward)
{
	machine_once("", "mov.u64 %rd1, %clock64; mov.u64 %rd2, %globaltimer;\n"
		"setp.ge.u64 %p1, %rd2, %rd1; selp.u32 %r1, 1, 0, %p1; st.u32 [%rd0], %r1;");
	ck_assert_uint_eq(machine.memory[0], 1);
	machine_close();
}
END_TEST

START_TEST(a_kernel_may_have_any_name)
{
	machine_open(HEAD ".entry memcpy(.param .u64 p) { .reg .b64 %a; ld.param.u64 %a, [p];\n"
		"st.u32 [%a], 3; ret; }\n.entry $k_0() { ret; }");
	machine_compile("memcpy");
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	ck_assert_uint_eq(machine.memory[0], 3);
	ck_assert_uint_gt(machine.kernel.code_size, 0);
	ck_assert_uint_eq(machine.kernel.frame_size, machine.kernel.width > 1 ? 64 : 0);
	machine_compile("$k_0");
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	machine_close();
}
END_TEST

/* So long that its code is generated in a hurry. */
START_TEST(a_kernel_may_be_huge)
{
	struct str text = STR_INIT;
	str_add(&text, HEAD ".entry k(.param .u64 p) { .reg .b64 %a; .reg .b32 %r;\n"
		"ld.param.u64 %a, [p]; ld.u32 %r, [%a];\n");
	for (int i = 0; i < 12000; i++) {
		str_addf(&text, "mad.lo.u32 %%r, %%r, 3, %d;\n", i);
	}
	str_add(&text, "st.u32 [%a], %r; ret; }");
	machine_open(text.data);
	machine_compile("k");
	str_free(&text);
	machine.memory[0] = 7;
	uint32_t want = 7;
	for (uint32_t i = 0; i < 12000; i++) {
		want = want * 3 + i;
	}
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	ck_assert_uint_eq(machine.memory[0], want);
	machine_close();
}
END_TEST

START_TEST(running_out_of_memory_is_an_error)
{
	machine_open(HEAD ".entry k(.param .u64 p) { .reg .b64 %a; .reg .b32 %r; .reg .pred %p;\n"
		"ld.param.u64 %a, [p];\nL: ld.volatile.u32 %r, [%a]; setp.eq.u32 %p, %r, 0;\n"
		"@%p bra L; ret; }");
	struct ptx_func *func = machine.module.funcs[0];
	struct jit *jit = NULL;
	ck_assert(ssa_prepare(&machine.module, func, &machine.diag));
	long n = 0;
	for (bool done = false; !done; n++) {
		struct ptx_diag diag = {0};
		mem_fail_after(n);
		bool ok = jit_create(&jit, &machine.module, &diag)
			&& jit_compile(&machine.kernel, jit, func, BLOCK_CLASS_ANY, JIT_TIER_BEST,
				&diag);
		done = !mem_has_failed(); /* the cache can do without memory */
		mem_fail_after(-1);
		ck_assert(ok || (!done && diag.no_memory));
		jit_release(jit);
	}
	ck_assert_int_gt(n, 4);
	machine_close();
}
END_TEST

SUITE(emit_flow)
{
	Suite *suite = suite_create("emit_flow");
	TCase *tc = tcase_create("memory");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, memory_holds_what_was_stored, 0, countof(accesses));
	tcase_add_loop_test(tc, atomics_update_memory_and_give_the_old_value, 0, countof(atomics));
	tcase_add_test(tc, red_updates_memory);
	tcase_add_test(tc, atomics_may_ignore_the_old_value);
	tcase_add_test(tc, f32_atomics_flush_subnormals_in_global_memory_only);
	suite_add_tcase(suite, tc);

	tc = tcase_create("control");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, loops_and_branches_run);
	tcase_add_test(tc, indexed_branch_takes_its_target);
	tcase_add_test(tc, guarded_exit_ends_the_thread);
	tcase_add_test(tc, registers_survive_barriers_in_loops);
	tcase_add_test(tc, reducing_barriers_pass_the_result);
	tcase_add_loop_test(tc, other_yields_say_why, 0, 10);
	tcase_add_loop_test(tc, loops_that_wait_for_nobody_do_not_yield, 0, 3);
	tcase_add_loop_test(tc, loops_over_shared_memory_yield_unless_they_pass_a_barrier, 0, 6);
	tcase_add_test(tc, carry_survives_a_barrier);
	tcase_add_test(tc, clocks_go_forward);
	tcase_add_test(tc, a_kernel_may_have_any_name);
	tcase_add_test(tc, a_kernel_may_be_huge);
	tcase_add_test(tc, running_out_of_memory_is_an_error);
	suite_add_tcase(suite, tc);
	return suite;
}
