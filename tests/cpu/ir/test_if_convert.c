/* SPDX-License-Identifier: MIT */
/* src/cpu/ir/if_convert.c: which branches at the end of the first block are small. */
#include "base/common.h"
#include "base/str.h"
#include "cpu/ir/if_convert.h"
#include "cpu/ptx/parse.h"
#include "cpu/support/blocks.h"
#include "support/suite.h"

static struct ptx_module module;

static void teardown(void)
{
	parse_free(&module);
}

static bool suits(const char *body)
{
	blocks_read(&module, body, true);
	return if_convert_suits(module.funcs[0], 0);
}

static const struct {
	const char *name;
	bool suits;
	const char *body;
} bodies[] = {
	{"if", true, "@p bra E; mov.b32 a, 1; E: ret;"},
	{"if, the other way", true, "@p bra A; bra E; A: mov.b32 a, 1; E: ret;"},
	{"if and else", true, "@p bra A; mov.b32 a, 1; bra E; A: mov.b32 a, 2; E: ret;"},
	{"no branch", false, "mov.b32 a, 1; ret;"},
	{"a branch of all", false, "bra E; E: ret;"},
	{"a side that returns", false, "@p bra E; ret; E: mov.b32 a, 1; ret;"},
	{"a side that exits under a guard", false, "@p bra E; @q exit; mov.b32 a, 1; E: ret;"},
	{"a trap", false, "@p bra E; trap; E: ret;"},
	{"a barrier", false, "@p bra E; bar.sync 0; E: ret;"},
	{"a shuffle", false, "@p bra E; shfl.sync.idx.b32 a, b, 0, 31, -1; E: ret;"},
	{"two conditions", true, "@p bra E; mov.b32 a, 1; @q bra E; mov.b32 a, 2; E: ret;"},
	{"if and else within", true, "@p bra E; @q bra A; mov.b32 a, 1; bra B; A: mov.b32 a, 2;\n"
		"B: mov.b32 b, 2; E: ret;"},
	{"either condition", true, "@p bra A; @q bra E; A: mov.b32 a, 1; E: ret;"},
	{"a loop within", false, "@p bra E; L: mov.b32 a, 1; @q bra L; E: ret;"},
	{"a longer loop within", false, "@p bra E; L: @p bra M; mov.b32 a, 1;\n"
		"M: mov.b32 b, 1; @q bra L; E: ret;"},
	{"a return within", false, "@p bra E; @q bra A; ret; A: mov.b32 a, 1; E: ret;"},
	{"a barrier within", false, "@p bra E; @q bra E; bar.sync 0; mov.b32 a, 1; E: ret;"},
	{"a side that is entered from elsewhere", false,
		"@p bra E; A: mov.b32 a, 1; E: @q bra A; ret;"},
	{"a loop around itself", false, "L: mov.b32 a, 1; @p bra L; ret;"},
	{"a side that goes back", false, "L: @p bra E; mov.b32 a, 1; bra L; E: ret;"},
};

START_TEST(a_branch_is_small)
{
	ck_assert_msg(suits(bodies[_i].body) == bodies[_i].suits, "%s: %s", bodies[_i].name,
		bodies[_i].body);
}
END_TEST

START_TEST(so_many_instructions_are_small)
{
	for (int count = 40; count < 60; count++) {
		struct str body = STR_INIT;
		str_add(&body, "@p bra E;\n");
		for (int i = 0; i < count; i++) {
			str_add(&body, "add.u32 a, a, b;\n");
		}
		str_add(&body, "E: ret;");
		ck_assert_int_eq(suits(body.data), count <= 48);
		parse_free(&module);
		str_free(&body);
	}
}
END_TEST

START_TEST(so_many_blocks_are_few)
{
	for (int count = 10; count < 20; count++) {
		struct str body = STR_INIT;
		for (int i = 0; i < count; i++) {
			str_add(&body, "@p bra E; mov.b32 a, 1;\n");
		}
		str_add(&body, "E: ret;");
		ck_assert_int_eq(suits(body.data), count <= IF_CONVERT_BLOCKS);
		parse_free(&module);
		str_free(&body);
	}
}
END_TEST

SUITE(if_convert)
{
	Suite *s = suite_create("if_convert");
	TCase *tc = suite_add_case(s, "branches");
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_loop_test(tc, a_branch_is_small, 0, (int)countof(bodies));
	tcase_add_test(tc, so_many_instructions_are_small);
	tcase_add_test(tc, so_many_blocks_are_few);
	return s;
}
