/* SPDX-License-Identifier: MIT */
/*
 * src/cpu/ir/uniformity.c: the uniformity of registers of small kernels.  A picture has each
 * register that a case names: `u` for uniform, `v` for a vector, else the offsets of lanes 1, 2, 16
 * and 31 from lane 0.
 */
#include "base/common.h"
#include "base/str.h"
#include "cpu/ir/cfg.h"
#include "cpu/ptx/check.h"
#include "cpu/ir/lower.h"
#include "cpu/ptx/parse.h"
#include "cpu/ir/uniformity.h"
#include "cpu/ir/yield.h"
#include "cpu/ir/team.h"
#include "support/suite.h"

#include <check.h>
#include <string.h>

#define HEADER ".version 9.0\n.target sm_89\n.address_size 64\n" \
	".entry k(.param .u64 in, .param .u32 n)\n{\n" \
	".reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<30>; .reg .f32 %f<9>;\n" \
	"mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [in]; ld.param.u32 %r9, [n];\n" \
	"setp.lt.u32 %p0, %r0, %r9;\n"

static struct ptx_module module;
static struct uniformity_info info;

static void teardown(void)
{
	uniformity_free(&info);
	parse_free(&module);
}

static void find_in(const char *body, unsigned class, unsigned lanes)
{
	static bool yield_points[100];
	struct ptx_diag diag;
	struct str text = STR_INIT;
	str_add(&text, HEADER);
	str_add(&text, body);
	str_add(&text, "\nret;\n}\n");
	ck_assert_msg(parse_module(&module, text.data, text.len, &diag)
		&& check_module(&module, &diag) && lower_func(&module, module.funcs[0], &diag)
		&& cfg_build(&module, module.funcs[0], &diag)
		&& cfg_find_live(&module.arena, module.funcs[0], &diag), "%d:%d: %s", diag.line,
		diag.column, diag.message);
	str_free(&text);
	ck_assert_uint_le(module.funcs[0]->block_count, countof(yield_points));
	memset(yield_points, 0, sizeof(yield_points));
	ck_assert(yield_find_points(module.funcs[0], yield_points));
	ck_assert(uniformity_analyze(&info, module.funcs[0], class, lanes, yield_points));
}

static void find(const char *body, const uint32_t block[3])
{
	find_in(body, block_class_base(block_class_of(block)), WARP_LANES);
}

static void draw_reg(struct str *out, const char *name)
{
	const struct ptx_func *func = module.funcs[0];
	unsigned reg = 0;
	while (reg < func->reg_count && strcmp(func->regs[reg].name, name) != 0) {
		reg++;
	}
	ck_assert_msg(reg < func->reg_count, "no register %s", name);
	const struct uniformity *lanes = &info.regs[reg];
	if (lanes->is_vector || !lanes->offsets) {
		str_addf(out, "%s", lanes->is_vector ? "v" : "u");
		return;
	}
	ck_assert_int_eq(lanes->offsets[0], 0);
	const int64_t *o = lanes->offsets;
	str_addf(out, "%lld,%lld,%lld,%lld", (long long)o[1], (long long)o[2], (long long)o[16],
		(long long)o[31]);
}

/* Of the registers in `names`, between blanks. */
static void draw(struct str *out, const char *names)
{
	char name[8];
	for (const char *at = names; *at != '\0'; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");
		ck_assert_uint_lt(len, sizeof(name));
		memcpy(name, at, len);
		name[len] = '\0';
		at += len;
		if (out->len > 0) {
			str_add(out, " ");
		}
		draw_reg(out, name);
	}
}

#define LINE "1,2,16,31"

static const struct {
	const char *name;
	uint32_t block[3];
	const char *body;
	const char *names;
	const char *picture;
} cases[] = {
	/* how threads lie in warps */
	{"rows", {256, 4, 1}, "mov.u32 %r1, %tid.y; mov.u32 %r2, %ntid.x;", "%r0 %r1 %r2",
		LINE " u u"},
	{"a line that is no multiple", {100, 1, 1}, "mov.u32 %r1, %tid.z;", "%r0 %r1", LINE " u"},
	{"tiles", {16, 16, 1}, "mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z;", "%r0 %r1 %r2",
		"1,2,0,15 0,0,1,1 u"},
	{"tiles in depth", {4, 4, 8}, "mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z;", "%r0 %r1 %r2",
		"1,2,0,3 0,0,0,3 0,0,1,1"},
	{"one thread along x", {1, 64, 1}, "mov.u32 %r1, %tid.y;", "%r0 %r1", "u " LINE},
	{"odd rows", {12, 8, 1}, "mov.u32 %r1, %tid.y; mov.u32 %r2, %laneid;", "%r0 %r1 %r2",
		"v v " LINE},
	{"rows of a power of two, an odd number of them", {16, 3, 2}, "", "%r0", "v"},
	/* arithmetic */
	{"sums and products", {32, 1, 1}, "add.s32 %r1, %r0, %r9; sub.s32 %r2, %r9, %r0;\n"
		"mul.lo.s32 %r3, %r0, 12; shl.b32 %r4, %r0, 3; sub.s32 %r5, %r1, %r0;\n"
		"mul.lo.s32 %r6, %r0, %r9; mul.hi.s32 %r7, %r0, 5; mad.lo.s32 %r8, %r0, 4, %r0;",
		"%r1 %r2 %r3 %r4 %r5 %r6 %r7 %r8",
		LINE " -1,-2,-16,-31 12,24,192,372 8,16,128,248 u v v 5,10,80,155"},
	{"a row's length in a tile is known", {16, 2, 1}, "mov.u32 %r1, %tid.y;\n"
		"mov.u32 %r2, %ntid.x; mad.lo.s32 %r3, %r1, %r2, %r0;", "%r3", LINE},
	{"and masks and shifts", {64, 1, 1}, "and.b32 %r1, %r0, 31; shr.u32 %r2, %r0, 5;\n"
		"and.b32 %r3, %r0, 1; shr.u32 %r4, %r0, 1; xor.b32 %r5, %r0, 1; "
		"or.b32 %r6, %r0, 64;\n"
		"add.s32 %r7, %r0, 1; and.b32 %r8, %r7, 31;", "%r1 %r2 %r3 %r4 %r5 %r6 %r8",
		LINE " u 1,0,0,1 0,1,8,15 -1,2,16,29 " LINE " v"},
	{"floats have no offsets", {32, 1, 1}, "mov.b32 %f1, %r0; cvt.rn.f32.u32 %f2, %r0;\n"
		"cvt.rn.f32.u32 %f3, %r9;", "%f1 %f2 %f3", "v v u"},
	/* 32 bits to 64: only where the sum cannot wrap around */
	{"extended", {32, 1, 1}, "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;\n"
		"mad.lo.s32 %r3, %r1, %r2, %r0; mul.wide.s32 %rd1, %r3, 4; "
		"add.s64 %rd2, %rd0, %rd1;\n"
		"add.s32 %r4, %r3, %r9; mul.wide.s32 %rd3, %r4, 4; cvt.u64.u32 %rd4, %r4;\n"
		"cvt.s64.s32 %rd5, %r0; mul.wide.u32 %rd6, %r9, 4;", "%rd2 %r4 %rd3 %rd4 %rd5 %rd6",
		"4,8,64,124 " LINE " v v " LINE " u"},
	{"extended, of a line that is no multiple", {100, 1, 1},
		"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.s32 %r3, %r1, %r2, %r0;\n"
		"mul.wide.s32 %rd1, %r3, 4;", "%r3 %rd1", LINE " v"},
	/* memory */
	{"loads", {32, 1, 1}, "ld.global.f32 %f1, [%rd0]; mul.wide.u32 %rd1, %r0, 4;\n"
		"add.s64 %rd2, %rd0, %rd1; ld.global.f32 %f2, [%rd2]; @%p0 ld.global.f32 %f3, "
		"[%rd0];", "%f1 %f2 %f3", "u v v"},
	{"guards", {32, 1, 1}, "setp.eq.u32 %p1, %r9, 1; mov.u32 %r1, 0; mov.u32 %r2, 0;\n"
		"@%p1 mov.u32 %r1, 1; @%p0 mov.u32 %r2, 1;", "%p0 %p1 %r1 %r2", "v u u v"},
	/* lanes that part */
	{"a warp is on one side of a multiple of its length", {64, 1, 1},
		"setp.lt.u32 %p1, %r0, 32; setp.ge.s32 %p2, %r0, 64; setp.le.u32 %p3, %r0, 31;\n"
		"setp.gt.s32 %p4, %r0, -1; setp.lo.u32 %p5, %r0, 0; setp.hi.u32 %p6, %r0, -1;",
		"%p1 %p2 %p3 %p4 %p5 %p6", "u u u u u u"},
	{"but not of half of it", {64, 1, 1},
		"setp.lt.u32 %p1, %r0, 16; setp.ge.s32 %p2, %r0, 31; setp.le.u32 %p3, %r0, 32;\n"
		"setp.gt.s32 %p4, %r0, 32; setp.eq.u32 %p5, %r0, 32; setp.lt.u32 %p6, %r0, %r9;",
		"%p1 %p2 %p3 %p4 %p5 %p6", "v v v v v v"},
	{"and not after a sum that may lead past it", {64, 1, 1},
		"add.u32 %r1, %r0, 1; setp.lt.u32 %p1, %r1, 32; add.u32 %r2, %r0, 64;\n"
		"setp.lt.u32 %p2, %r2, 96; shl.b32 %r3, %r0, 1; setp.lt.u32 %p3, %r3, 64;\n"
		"setp.lt.u32 %p4, %r3, 32; setp.lt.and.u32 %p5, %r0, 32, %p4;",
		"%p1 %p2 %p3 %p4 %p5", "v u u v v"},
	{"written in one arm, read behind", {32, 1, 1}, "mov.u32 %r1, 1;\n"
		"@%p0 bra L; mov.u32 %r1, 2; mov.u32 %r2, 3; add.u32 %r3, %r2, 1;\n"
		"L: add.u32 %r4, %r1, 1;", "%r1 %r2 %r3 %r4", "v u u v"},
	{"written in one arm, read in the other", {32, 1, 1}, "mov.u32 %r1, 1;\n"
		"@%p0 bra L; mov.u32 %r1, 2; bra M; L: add.u32 %r2, %r1, 1; M:", "%r1 %r2", "v v"},
	{"the arm that runs last writes", {32, 1, 1}, "mov.u32 %r1, 1;\n"
		"@%p0 bra L; add.u32 %r2, %r1, 1; bra M; L: mov.u32 %r1, 2; add.u32 %r3, %r1, 1; "
		"M:",
		"%r1 %r2 %r3", "u u u"},
	{"all lanes go one way", {32, 1, 1}, "setp.eq.u32 %p1, %r9, 1; mov.u32 %r1, 1;\n"
		"@%p1 bra L; mov.u32 %r1, 2; L: add.u32 %r4, %r1, 1;", "%r1 %r4", "u u"},
	{"what a loop counts by is dead behind it", {32, 1, 1},
		"mov.u32 %r1, %r0; mov.u32 %r2, 0;\n"
		"L: add.u32 %r2, %r2, 1; add.u32 %r1, %r1, 32; setp.lt.u32 %p1, %r1, %r9;\n"
		"@%p1 bra L;", "%r1 %r2 %p1", LINE " u v"},
	{"or is not", {32, 1, 1}, "mov.u32 %r1, %r0; mov.u32 %r2, 0;\n"
		"L: add.u32 %r2, %r2, 1; add.u32 %r1, %r1, 32; setp.lt.u32 %p1, %r1, %r9;\n"
		"@%p1 bra L; add.u32 %r3, %r2, 1;", "%r1 %r2 %r3", LINE " v v"},
	{"lanes go on with the loop while others wait", {32, 1, 1}, "mov.u32 %r2, 0;\n"
		"L: add.u32 %r2, %r2, 1; @%p0 bra M; bar.warp.sync 65535;\n"
		"M: setp.lt.u32 %p1, %r2, %r9; @%p1 bra L;", "%r2", "v"},
	{"the loop of a loop", {32, 1, 1}, "mov.u32 %r1, 0;\n"
		"L: mov.u32 %r2, %r0; M: add.u32 %r2, %r2, 32; setp.lt.u32 %p1, %r2, %r9; "
		"@%p1 bra M;\n"
		"add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, %r9; @%p2 bra L;", "%r1 %r2 %p2",
		"u " LINE " u"},
	{"a loop continued from within", {32, 1, 1}, "mov.u32 %r1, 0;\n"
		"L: add.u32 %r1, %r1, 1; setp.gt.u32 %p1, %r1, %r9; @%p1 bra E; @%p0 bra L;\n"
		"add.u32 %r2, %r1, 1; bra L; E:", "%r1", "v"},
};

START_TEST(registers_are_alike_in_these_lanes)
{
	struct str picture = STR_INIT;
	find(cases[_i].body, cases[_i].block);
	draw(&picture, cases[_i].names);
	ck_assert_ptr_nonnull(picture.data);
	ck_assert_msg(strcmp(picture.data, cases[_i].picture) == 0, "%s: %s: %s instead of %s",
		cases[_i].name, cases[_i].names, picture.data, cases[_i].picture);
	str_free(&picture);
}
END_TEST

/* In a team, whose warps have such numbers in common then. */
START_TEST(rows_of_one_warp_begin_at_0)
{
	const uint32_t blocks[][3] = {{32, 8, 1}, {32, 2, 4}, {64, 4, 1}, {32, 16, 1}, {32, 1, 1}};
	for (size_t i = 0; i < countof(blocks); i++) {
		unsigned class = team_class_of(blocks[i]);
		find_in("mov.u32 %r1, %ntid.x;", block_class_base(class), WARP_LANES);
		const struct uniformity *index = &info.regs[0], *length = &info.regs[1];
		for (unsigned reg = 0; reg < module.funcs[0]->reg_count; reg++) {
			const char *name = module.funcs[0]->regs[reg].name;
			ck_assert_ptr_nonnull(name);
			index = strcmp(name, "%r0") == 0 ? &info.regs[reg] : index;
			length = strcmp(name, "%r1") == 0 ? &info.regs[reg] : length;
		}
		ck_assert_int_eq(index->has_value && index->value == 0, i < 2);
		ck_assert_int_eq(length->has_value && length->value == 32, i < 2);
		ck_assert_int_eq(index->offsets[31], 31);
		teardown();
	}
	find("", blocks[0]);
}
END_TEST

/* The index of a thread along an axis is a base, that of the first lane, and an offset. */
static const char *find_wrong(int64_t first, int64_t index, unsigned axis, unsigned lane)
{
	const struct ptx_operand sreg = {.kind = PTX_SREG,
		.sreg = (enum ptx_sreg)(PTX_SREG_TID_X + axis)};
	struct uniformity s = uniformity_of_operand(&info, &sreg);
	int64_t have = s.offsets ? s.offsets[lane] : 0;
	return s.is_vector ? NULL : have != index - first ? "offset"
		: s.has_value && (int64_t)s.value != first ? "base"
		: (uint64_t)first % (UINT64_C(1) << s.align) != 0 ? "alignment" : NULL;
}

/* Every class of blocks, against the indices of threads in the order of the block. */
START_TEST(offsets_are_those_of_the_threads)
{
	static const uint32_t sizes[] = {1, 2, 3, 4, 8, 12, 16, 32, 64};
	uint32_t block[] = {sizes[_i / 9 % 9], sizes[_i % 9], 0}, lanes = 8u << _i / 81;
	const char *wrong = NULL;
	for (block[2] = 1; block[2] <= 4; block[2]++) {
		find_in("mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z;",
			block_class_base(block_class_of(block)), lanes);
		uint32_t threads = block[0] * block[1] * block[2], row = block[0],
			plane = row * block[1];
		for (uint32_t t = 0; t < threads; t++) {
			const uint32_t f = t / lanes * lanes;
			const int64_t first[] = {f % row, f / row % block[1], f / plane};
			const int64_t index[] = {t % row, t / row % block[1], t / plane};
			for (unsigned axis = 0; axis < 3 && !wrong; axis++) {
				wrong = find_wrong(first[axis], index[axis], axis, t % lanes);
			}
		}
		teardown();
	}
	memset(&info, 0, sizeof(info));
	memset(&module, 0, sizeof(module));
	ck_assert_msg(wrong == NULL, "(%u,%u,...), %u lanes: %s", block[0], block[1], lanes, wrong);
}
END_TEST

SUITE(uniformity)
{
	Suite *suite = suite_create("uniformity");
	TCase *tcase = suite_add_case(suite, "lanes");
	tcase_add_checked_fixture(tcase, NULL, teardown);
	tcase_add_loop_test(tcase, registers_are_alike_in_these_lanes, 0, countof(cases));
	tcase_add_test(tcase, rows_of_one_warp_begin_at_0);
	tcase_add_loop_test(tcase, offsets_are_those_of_the_threads, 0, 3 * 81);
	return suite;
}
