/* SPDX-License-Identifier: MIT */
/*
 * src/cpu/ir/cfg.c on small graphs.  A picture has one line for each block: its successors, its
 * immediate post-dominator, its place in reverse post-order, and the registers that are live at its
 * start.
 */
#include "base/alloc.h"
#include "base/common.h"
#include "base/str.h"
#include "cpu/ir/cfg.h"
#include "cpu/ptx/check.h"
#include "cpu/ptx/parse.h"
#include "cpu/support/blocks.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ptx_module module;

static void teardown(void)
{
	parse_free(&module);
}

static void draw(struct str *out, const struct ptx_func *func)
{
	for (size_t i = 0; i < func->block_count; i++) {
		const struct ptx_block *block = &func->blocks[i];
		for (size_t j = 0; j < block->succ_count; j++) {
			str_addf(out, "%s%zu", j ? "," : "", block->succ[j]);
		}
		str_addf(out, block->ipdom == SIZE_MAX ? " x" : " %zu", block->ipdom);
		str_addf(out, block->rpo == SIZE_MAX ? " -" : " %zu", block->rpo);
		str_add(out, block->in_loop ? "*" : "");
		for (unsigned r = 0; r < func->reg_count; r++) {
			if (cfg_is_live(block, r)) {
				str_addf(out, " %s", func->regs[r].name);
			}
		}
		str_addc(out, '\n');
	}
}

static const struct {
	const char *name;
	const char *body;
	const char *picture; /* successors ipdom rpo, * in a loop, live... */
} graphs[] = {
	{"empty", "", " x 0\n"},
	{"straight", "mov.b32 a, 1; add.s32 b, a, c;", " x 0 c\n"},
	{"diamond",
		"@p bra L; mov.b32 a, 1; bra M; L: mov.b32 a, 2; M: mov.b32 b, a;",
		"1,2 3 0 p\n3 3 1\n3 3 2\n x 3 a\n"},
	{"half a diamond", "@!p bra L; mov.b32 a, 1; L: mov.b32 b, a;",
		"1,2 2 0 p a\n2 2 1\n x 2 a\n"},
	{"loop", "mov.b32 a, 0; L: add.s32 a, a, b; setp.lt.s32 p, a, c; @p bra L; mov.b32 c, a;",
		"1 1 0 b c\n2,1 2 1* a b c\n x 2 a\n"},
	{"early exit", "@p ret; mov.b32 a, b; @q exit; mov.b32 b, a;",
		"1 x 0 p q b\n2 x 1 q b\n x 2 a\n"},
	{"guarded write reads the old value, even for nobody", "@p mov.b32 a, 1;", " x 0 p a\n"},
	{"guarded write keeps the old value", "@p mov.b32 a, 1; mov.b32 b, a;", " x 0 p a\n"},
	{"loop without end", "L: bra L;", "0 x 0*\n x -\n"},
	{"loop without end behind a branch", "@p bra L; ret; L: mov.b32 a, b; bra L;",
		"1,2 x 0 p b\n x 1\n2 x 2* b\n x -\n"},
	{"unreachable", "bra L; mov.b32 a, b; L: ret;", "2 2 0\n2 2 - b\n x 1\n"},
	{"branch to the next", "@p bra L; L: ret;", "1 1 0 p\n x 1\n"},
	{"pair", "setp.eq.s32 p|q, a, b; @q bra L; L: @p bra L;", "1 1 0 a b\n2,1 2 1* p\n x 2\n"},
	{"table", "t: .branchtargets L, M, L; brx.idx a, t; L: mov.b32 b, 1; M: mov.b32 c, b;",
		"1,2 2 0 a b\n2 2 1\n x 2 b\n"},
	{"two ways into a loop",
		"@p bra M; L: mov.b32 a, 1; M: mov.b32 b, a; @q bra L; ret;",
		"1,2 2 0 p q a\n2 2 3* q\n3,1 3 1* q a\n x 2\n"},
	{"a way out of a loop among its blocks",
		"L: mov.b32 a, 1; @p bra M; mov.b32 b, a; ret; M: mov.b32 c, a; bra L;",
		"1,2 1 0* p\n x 1 a\n0 0 2* p a\n x -\n"},
};

START_TEST(cfg_draws)
{
	struct str picture = STR_INIT;
	blocks_read(&module, graphs[_i].body, false);
	draw(&picture, module.funcs[0]);
	ck_assert_ptr_nonnull(picture.data);
	ck_assert_msg(strcmp(picture.data, graphs[_i].picture) == 0, "%s:\n%s", graphs[_i].name,
		picture.data);
	str_free(&picture);
}
END_TEST

START_TEST(cfg_writes_block_numbers_into_labels)
{
	blocks_read(&module, "@p bra L; mov.b32 a, 1; L: ret;", false);
	ck_assert_int_eq(module.funcs[0]->insts[0].operands[0].value, 2);
}
END_TEST

START_TEST(cfg_gives_predecessors_of_every_block)
{
	blocks_read(&module, "@p bra L; mov.b32 a, 1; L: ret;", false);
	const struct ptx_block *last = &module.funcs[0]->blocks[2];
	ck_assert_uint_eq(last->pred_count, 2);
	ck_assert_uint_eq(last->pred[0] + last->pred[1], 1);
}
END_TEST

/* Deep nesting and long chains: nothing may recurse or be quadratic. */
START_TEST(cfg_handles_a_hundred_thousand_lines)
{
	struct str body = STR_INIT;
	for (int i = 0; i < 50000; i++) {
		str_addf(&body, "@p bra L%d;\nadd.s32 a, a, b;\n", i);
	}
	for (int i = 50000; i-- > 0;) {
		str_addf(&body, "L%d:\n", i);
	}
	ck_assert(!body.failed);
	blocks_read(&module, body.data, false);
	ck_assert_uint_eq(module.funcs[0]->block_count, 50002);
	ck_assert_uint_eq(module.funcs[0]->blocks[0].ipdom, 50001);
	str_free(&body);
}
END_TEST

START_TEST(cfg_reports_every_failing_allocation)
{
	bool ok = false;
	for (long n = 0; !ok; n++) {
		struct ptx_diag diag = {.line = 0};
		static const char text[] = BLOCKS_HEADER "L: @p bra L; add.s32 a, a, b; }";
		ck_assert(parse_module(&module, text, sizeof(text) - 1, &diag));
		mem_fail_after(n);
		ok = cfg_build(&module, module.funcs[0], &diag)
			&& cfg_find_live(&module.arena, module.funcs[0], &diag);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(ok, !failed);
		ck_assert_int_eq(diag.no_memory, failed);
		parse_free(&module);
	}
}
END_TEST

/* Half of the predicates are live in a block, as many as there are blocks. */
static void write_ladder(struct str *text, int count)
{
	str_add(text, BLOCKS_HEADER);
	for (int i = 0; i < count; i++) {
		str_addf(text, ".reg .pred p%d; @p%d bra L%d; L%d:\n", i, i, i, i);
	}
	str_add(text, "}\n");
}

START_TEST(live_sets_take_memory_in_proportion_to_the_text)
{
	enum { COUNT = 20000 };
	struct ptx_diag diag = {.line = 0};
	struct str text = STR_INIT;
	write_ladder(&text, COUNT);
	ck_assert(parse_module(&module, text.data, text.len, &diag)
		&& check_module(&module, &diag));
	struct ptx_func *func = module.funcs[0];
	ck_assert(cfg_build(&module, func, &diag));
	mem_fail_beyond((long)(10 * text.len));
	ck_assert_msg(cfg_find_live(&module.arena, func, &diag), "%s", diag.message);
	mem_fail_beyond(-1);
	for (size_t i = 0; i < COUNT; i += 999) {
		size_t live = 0;
		for (size_t k = 0; k < func->reg_count; k++) {
			live += cfg_is_live(&func->blocks[i], k);
		}
		ck_assert_uint_eq(live, COUNT - i);
	}
	str_free(&text);
}
END_TEST

/* Numbers of registers as no text is long enough to have. */
START_TEST(a_kernel_too_big_for_live_sets_is_refused)
{
	struct ptx_diag diag = {.line = 0};
	struct str text = STR_INIT;
	write_ladder(&text, 20);
	ck_assert(parse_module(&module, text.data, text.len, &diag) && check_module(&module, &diag)
		&& cfg_build(&module, module.funcs[0], &diag));
	module.funcs[0]->reg_count = UINT32_MAX;
	ck_assert(!cfg_find_live(&module.arena, module.funcs[0], &diag));
	ck_assert(diag.unsupported);
	ck_assert_int_eq(diag.line, 4);
	ck_assert_str_eq(diag.message, "'k' is too big: 21 blocks with 4294967295 registers");
	str_free(&text);
}
END_TEST

SUITE(cfg)
{
	Suite *s = suite_create("cfg");
	TCase *tc = suite_add_case(s, "graphs");
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, cfg_draws, 0, countof(graphs));
	tcase_add_tests(tc, 1, cfg_writes_block_numbers_into_labels,
		cfg_gives_predecessors_of_every_block, cfg_handles_a_hundred_thousand_lines,
		cfg_reports_every_failing_allocation, a_kernel_too_big_for_live_sets_is_refused);
	tcase_add_test(tc, live_sets_take_memory_in_proportion_to_the_text);
	return s;
}
