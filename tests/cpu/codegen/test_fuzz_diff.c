/* SPDX-License-Identifier: MIT */
/*
 * Random programs on the CPU device against an interpreter, at both widths: a fixed number of them.
 * `make fuzz-diff` tries others for as long as you like.
 */
#include "cpu/random/diff.h"
#include "cpu/support/driver.h"

#include "base/alloc.h"
#include "support/count.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define TESTS 6

static struct diff diff;

static void start(void)
{
	ck_assert_msg(diff_init(&diff, diff_ptx, GEN_HAS_PTX), "%s", diff.report.data);
}

static void start_cuda(diff_print *print)
{
	unsigned features = GEN_HAS_CUDA | GEN_HAS_PTX;
	ck_assert_msg(diff_init(&diff, print, features), "%s", diff.report.data);
}

static void try_programs(uint64_t seed)
{
	const uint64_t count = (uint64_t)support_how_many(16, 1, 1);
	for (uint64_t i = 0; i < count; i++) {
		if (!diff_try(&diff, seed + i)) {
			fputs(diff.report.data, stderr); /* Check takes no long messages */
			ck_abort_msg("%.500s", diff.report.data);
		}
	}
	printf("%d random programs from seed %d\n", (int)count, (int)seed);
	fflush(stdout);
	diff_free(&diff);
}

START_TEST(ptx_does_what_its_interpretation_does)
{
	if (!support_is_tried(_i, TESTS, TESTS, 1)) {
		return;
	}
	start();
	try_programs(1000 * (uint64_t)_i);
}
END_TEST

START_TEST(cuda_for_sm_75_does_what_its_interpretation_does)
{
	if (!support_is_tried(_i, 2, 2, 1)) {
		return;
	}
	start_cuda(diff_cuda_75);
	diff.options.features &= ~(unsigned)GEN_HAS_REDUX;
	try_programs(50000 + 1000 * (uint64_t)_i);
}
END_TEST

START_TEST(cuda_for_sm_100_does_what_its_interpretation_does)
{
	if (!driver_runs(100) || !support_is_tried(_i, 2, 2, 1)) {
		return;
	}
	start_cuda(diff_cuda_100);
	try_programs(60000 + 1000 * (uint64_t)_i);
}
END_TEST

/* What the proof stands on: the same seed is the same program. */
START_TEST(a_seed_names_a_program)
{
	struct str text[2] = {STR_INIT, STR_INIT};
	start();
	for (int i = 0; i < 2; i++) {
		struct gen_program program;
		ck_assert(gen_create(&program, 7, &diff.options));
		gen_print_ptx(&text[i], &program);
		gen_free(&program);
	}
	ck_assert_str_eq(text[0].data, text[1].data);
	str_free(&text[0]);
	str_free(&text[1]);
	diff_free(&diff);
}
END_TEST

START_TEST(programs_do_not_depend_on_the_order_of_threads)
{
	start();
	diff.options.features = GEN_HAS_PTX;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct gen_program program;
		struct gen_layout layout;
		ck_assert(gen_create(&program, seed, &diff.options));
		gen_layout(&layout, &program);
		uint8_t *output[2];
		for (int i = 0; i < 2; i++) {
			output[i] = mem_alloc(layout.size);
			gen_init_output(&program, output[i]);
			const char *why = gen_run(&program, output[i], i);
			ck_assert_msg(!why, "seed %d: %s", (int)seed, why);
		}
		ck_assert_mem_eq(output[0], output[1], layout.size);
		mem_free(output[0]);
		mem_free(output[1]);
		gen_free(&program);
	}
	diff_free(&diff);
}
END_TEST

/* How many instructions of 200 programs ptxas gets wrong. */
static unsigned count_traps(unsigned features)
{
	unsigned count = 0;
	diff.options.features = features;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct gen_program program;
		ck_assert(gen_create(&program, seed, &diff.options));
		const struct gen_func *f = &program.funcs[0];
		for (size_t i = 0; i < f->count; i++) {
			const char *ptx = gen_ops[f->insts[i].op].ptx;
			const struct gen_arg *by = &f->insts[i].src[1];
			bool wrong = strcmp(ptx, "bfe.s32") == 0 || strstr(ptx, "set.eq.f16.f16")
				|| (strcmp(ptx, "shl.b64") == 0 && by->kind == GEN_IMM
					&& by->value > 63)
				|| (f->insts[i].has_guard
				&& (strcmp(ptx, "testp.finite.f32") == 0
					|| strcmp(ptx, "set.lt.f16.s32") == 0));
			count += f->insts[i].kind == GEN_OP && wrong;
		}
		gen_free(&program);
	}
	return count;
}

START_TEST(programs_for_ptxas_have_nothing_that_it_gets_wrong)
{
	start();
	ck_assert_uint_eq(count_traps(GEN_HAS_PTX & ~(unsigned)GEN_HAS_TRAPS), 0);
	ck_assert(count_traps(GEN_HAS_PTX) > 0);
	diff_free(&diff);
}
END_TEST

SUITE(fuzz_diff)
{
	Suite *suite = suite_create("fuzz_diff");
	TCase *tc = tcase_create("generator");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_seed_names_a_program);
	tcase_add_test(tc, programs_do_not_depend_on_the_order_of_threads);
	tcase_add_test(tc, programs_for_ptxas_have_nothing_that_it_gets_wrong);
	suite_add_tcase(suite, tc);

	tc = tcase_create("ptx");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, ptx_does_what_its_interpretation_does, 0, TESTS);
	suite_add_tcase(suite, tc);

	tc = tcase_create("cuda");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, cuda_for_sm_75_does_what_its_interpretation_does, 0, 2);
	tcase_add_loop_test(tc, cuda_for_sm_100_does_what_its_interpretation_does, 0, 2);
	suite_add_tcase(suite, tc);
	return suite;
}
