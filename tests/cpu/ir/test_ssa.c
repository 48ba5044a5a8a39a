/* SPDX-License-Identifier: MIT */
/*
 * src/cpu/ir/ssa.c on small graphs.  A picture has one line for each block.  A phi is `2=phi(0,1)`,
 * with its arguments in the order of the predecessors.  An instruction is the values that it
 * writes, `<`, and those that it reads; `1!0` is a value with the one that a guard leaves.  `0z` is
 * a value that nothing has written.  The last line has the register of each value.
 */
#include "base/alloc.h"
#include "base/common.h"
#include "base/str.h"
#include "cpu/ir/cfg.h"
#include "cpu/ir/ssa.h"
#include "cpu/ptx/parse.h"
#include "cpu/support/blocks.h"
#include "support/suite.h"

#include <string.h>

static struct ptx_module module;
static struct ptx_diag diag;

static void teardown(void)
{
	parse_free(&module);
}

static bool to_ssa(const char *body)
{
	blocks_read(&module, body, true);
	return ssa_build(&module, module.funcs[0], &diag);
}

struct pen {
	struct str *out;
	bool written;
};

static void draw_value(void *data, unsigned *reg, unsigned *value)
{
	const struct pen *pen = data;
	const struct ptx_value *v = &module.funcs[0]->values[*value];
	ck_assert_uint_eq(*reg, v->reg);
	str_addf(pen->out, "%u%s", *value, v->is_zero ? "z" : "");
	if (pen->written && v->old != UINT32_MAX) {
		str_addf(pen->out, "!%u", v->old);
	}
	str_addc(pen->out, ' ');
}

static void draw_inst(struct str *out, struct ptx_inst *inst)
{
	cfg_visit(inst, true, draw_value, &(struct pen){out, true});
	str_addc(out, '<');
	cfg_visit(inst, false, draw_value, &(struct pen){out, false});
	str_addc(out, ';');
}

static void draw_block(struct str *out, const struct ptx_func *func, size_t index)
{
	const struct ptx_block *block = &func->blocks[index];
	for (size_t i = 0; i < block->phi_count; i++) {
		size_t count = block->pred_count + (index == 0);
		str_addf(out, "%u=phi(", block->phis[i].value);
		for (size_t k = 0; k < count; k++) {
			str_addf(out, "%s%u", k > 0 ? "," : "", block->phis[i].args[k]);
		}
		str_add(out, ");");
	}
	for (size_t i = block->first; i < block->end; i++) {
		draw_inst(out, &func->insts[i]);
	}
	str_addc(out, '\n');
}

static void draw(struct str *out)
{
	const struct ptx_func *func = module.funcs[0];
	for (size_t i = 0; i < func->block_count; i++) {
		draw_block(out, func, i);
	}
	for (size_t i = 0; i < func->value_count; i++) {
		str_addf(out, "%s%u", i > 0 ? " " : "", func->values[i].reg);
	}
}

static const char swap[] = "mov.b32 a, 0; mov.b32 b, 1; L: mov.b32 c, a; mov.b32 a, b; mov.b32 b, "
	"c; setp.lt.s32 p, a, 9; @p bra L;";
static const char swapped[] = "0 <;1 <;\n2=phi(0,5);3=phi(1,6);4 <2 ;5 <3 ;6 <4 ;7 <5 ;<7 ;\n<;\n"
	"0 1 0 1 2 0 1 3";

static const struct {
	const char *name;
	const char *body;
	const char *picture;
} graphs[] = {
	{"each write is a value, and registers that do not meet part",
		"mov.b32 a, 1; mov.b32 b, a; mov.b32 a, 2; mov.b32 b, a;",
		"0 <;1 <0 ;2 <;3 <2 ;<;\n0 1 2 3"},
	{"what nothing wrote is zero", "add.s32 b, a, a; mov.b32 a, b;",
		"1 <0z 0z ;2 <1 ;<;\n0 1 2"},
	{"a diamond", "@p bra L; mov.b32 a, 1; bra M; L: mov.b32 a, 2; M: mov.b32 b, a;",
		"<0z ;\n1 <;<;\n2 <;\n3=phi(1,2);4 <3 ;<;\n0 1 1 1 2"},
	{"a diamond whose end does not read it",
		"@p bra L; mov.b32 a, 1; bra M; L: mov.b32 a, 2; M: mov.b32 b, c;",
		"<0z ;\n2 <;<;\n3 <;\n4 <1z ;<;\n0 1 2 3 4"},
	{"one side writes", "mov.b32 a, 1; @p bra L; mov.b32 a, 2; L: mov.b32 b, a;",
		"0 <;<1z ;\n2 <;\n3=phi(0,2);4 <3 ;<;\n0 1 0 0 2"},
	{"a loop", "mov.b32 a, 0; L: add.s32 a, a, 1; setp.lt.s32 p, a, 9; @p bra L; mov.b32 b, a;",
		"0 <;\n1=phi(0,2);2 <1 ;3 <2 ;<3 ;\n4 <2 ;<;\n0 0 0 1 2"},
	{"a loop that swaps", swap, swapped},
	{"the first block is a loop",
		"add.s32 a, a, 1; setp.lt.s32 p, a, 9; @p bra L; ret; L: ret;",
		"1 <0z ;2 <1 ;<2 ;\n<;\n<;\n0 1 2"},
	{"the first block is its own successor", "L: add.s32 a, a, 1; setp.lt.s32 p, a, 9; @p bra "
		"L;", "0=phi(2,1);2 <0 ;3 <2 ;<3 ;\n<;\n0 0 0 1"},
	{"a guarded write keeps the old value", "mov.b32 a, 1; @p mov.b32 a, 2; mov.b32 b, a;",
		"0 <;2!0 <1z ;3 <2 ;<;\n0 1 0 2"},
	{"a guarded write of what nothing wrote", "@p mov.b32 a, 2; mov.b32 b, a;",
		"2!1 <0z ;3 <2 ;<;\n0 1 1 2"},
	{"both results of a pair", "setp.eq.s32 p|q, a, b; selp.b32 c, 1, 2, q;",
		"2 3 <0z 1z ;4 <3 ;<;\n0 1 2 3 4"},
	{"a vector", "mov.b64 {a, b}, 5; mov.b32 c, b;", "0 1 <;2 <1 ;<;\n0 1 2"},
	{"the condition code", "add.cc.u32 a, b, c; addc.cc.u32 a, b, c; addc.u32 d, b, c;",
		"2 3 <0z 1z ;4 5 <0z 1z 3 ;6 <0z 1z 5 ;<;\n0 1 2 3 4 5 6"},
	{"the halves of a wait", "mov.b32 a, 1; bar.red.popc.u32 a, 0, p; mov.b32 b, a;",
		"0 <;<1z ;\n2 <;3 <2 ;<;\n0 1 2 3"},
	{"two loops that share a block, entered in two places",
		"@p bra L; K: add.s32 a, a, 1; L: @q bra K; mov.b32 b, a;",
		"<0z ;\n5=phi(1,3);6 <5 ;\n3=phi(1,6);<2z ;\n4 <3 ;<;\n0 1 2 1 3 1 1"},
	{"what nothing reaches", "bra L; mov.b32 a, b; L: ret;", "<;\n1 <0z ;\n<;\n0 1"},
};

START_TEST(ssa_form_of)
{
	struct str picture = STR_INIT;
	ck_assert(to_ssa(graphs[_i].body));
	draw(&picture);
	ck_assert_msg(strcmp(picture.data, graphs[_i].picture) == 0, "%s:\n%s\nexpected:\n%s",
		graphs[_i].name, picture.data, graphs[_i].picture);
	str_free(&picture);
}
END_TEST

/* A loop in a loop and so on: n headers, whose frontiers are all those around. */
static void add_nest(struct str *body, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++) {
		str_addf(body, "L%u: add.s32 a, a, 1;\n", i);
	}
	for (unsigned i = depth; i-- > 0;) {
		str_addf(body, "@p bra L%u;\n", i);
	}
}

START_TEST(a_deep_nest_of_loops_has_a_phi_for_each)
{
	enum { DEPTH = 15000 };
	struct str body = STR_INIT;
	add_nest(&body, DEPTH);
	mem_fail_beyond((long)(100 * body.len));
	ck_assert_msg(to_ssa(body.data), "%s", diag.message);
	mem_fail_beyond(-1);
	size_t phis = 0;
	for (size_t i = 0; i < module.funcs[0]->block_count; i++) {
		phis += module.funcs[0]->blocks[i].phi_count;
	}
	ck_assert_uint_eq(phis, DEPTH);
	str_free(&body);
}
END_TEST

START_TEST(memory_that_runs_out_is_reported_and_it_can_be_tried_again)
{
	bool ok = false;
	for (long n = 0; !ok; n++) {
		struct str picture = STR_INIT;
		blocks_read(&module, swap, true);
		mem_fail_after(n);
		ok = ssa_build(&module, module.funcs[0], &diag);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(ok, !failed);
		ck_assert(ok || (diag.no_memory && !module.funcs[0]->blocks));
		ck_assert(ok || (cfg_build(&module, module.funcs[0], &diag)
			&& ssa_build(&module, module.funcs[0], &diag)));
		draw(&picture);
		ck_assert_str_eq(picture.data, swapped);
		str_free(&picture);
		parse_free(&module);
	}
}
END_TEST

SUITE(ssa)
{
	Suite *s = suite_create("ssa");
	TCase *tc = suite_add_case(s, "graphs");
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_loop_test(tc, ssa_form_of, 0, (int)countof(graphs));
	tcase_add_test(tc, a_deep_nest_of_loops_has_a_phi_for_each);
	tcase_add_test(tc, memory_that_runs_out_is_reported_and_it_can_be_tried_again);
	return s;
}
