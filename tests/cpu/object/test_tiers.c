/* SPDX-License-Identifier: MIT */
/*
 * Kernels of much code: the code that they start with, the best code that the background compiles,
 * and what becomes of that thread when its module, the process or its parent goes.
 */
#include "base/common.h"

#include "cpu/support/api.h"

#include "base/kudzu_abi.h"
#include "base/str.h"
#include "cpu/jit/jit.h"
#include "support/store_folder.h"
#include "support/suite.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 96, BLOCKS = 5, LINES = 900 };

static struct str text;

/* Each thread has x = its number, and so often x = x * 5 + 3, and x += 7 if x is odd; then what
 * `more` does with y. */
static void write_kernel_with(const char *more, unsigned lines)
{
	str_free(&text);
	text = (struct str)STR_INIT;
	str_add(&text, ".version 8.0\n.target sm_80\n.address_size 64\n"
		".entry k(.param .u64 p)\n{\n.reg .b64 %a, %b; .reg .b32 %x, %y; .reg .pred %p;\n"
		"ld.param.u64 %a, [p]; mov.u32 %x, %ctaid.x; mov.u32 %y, %ntid.x;\n"
		"mul.lo.u32 %x, %x, %y; mov.u32 %y, %tid.x; add.u32 %x, %x, %y;\n"
		"mul.wide.u32 %b, %x, 4; add.u64 %a, %a, %b;\n");
	for (unsigned i = 0; i < lines; i += 4) {
		str_add(&text, "mad.lo.u32 %x, %x, 5, 3;\nand.b32 %y, %x, 1;\n"
			"setp.ne.u32 %p, %y, 0;\n@%p add.u32 %x, %x, 7;\n");
		str_add(&text, more);
	}
	str_add(&text, "st.global.u32 [%a], %x; ret;\n}\n");
	ck_assert(!text.failed);
}

static void write_kernel(unsigned lines)
{
	write_kernel_with("", lines);
}

static uint32_t expected(uint32_t x, unsigned lines)
{
	for (unsigned i = 0; i < lines; i += 4) {
		x = x * 5 + 3;
		x += x & 1 ? 7 : 0;
	}
	return x;
}

static void tiers_setup(void)
{
	unsetenv("KUDZU_CPU_WIDTH");
	setup();
	write_kernel(LINES);
}

static void tiers_teardown(void)
{
	teardown();
	str_free(&text);
}

static int attribute(CUfunction function, CUfunction_attribute which)
{
	int value = -1;
	OK(cuFuncGetAttribute(&value, which, function));
	return value;
}

static int tier(CUfunction function)
{
	return attribute(function, CU_FUNC_ATTRIBUTE_KUDZU_TIER);
}

static int width(CUfunction function)
{
	return attribute(function, CU_FUNC_ATTRIBUTE_KUDZU_WIDTH);
}

static CUresult await_best(CUfunction function)
{
	return cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_KUDZU_TIER, JIT_TIER_BEST);
}

static void launch_blocks(CUfunction function, unsigned lines, unsigned threads)
{
	uint32_t got[BLOCKS * THREADS];
	CUdeviceptr address = alloc(sizeof(got));
	void *values[] = {&address};
	OK(cuLaunchKernel(function, BLOCKS, 1, 1, threads, 1, 1, 0, NULL, values, NULL));
	OK(cuMemcpyDtoH_v2(got, address, sizeof(got)));
	for (uint32_t i = 0; i < BLOCKS * threads; i++) {
		ck_assert_uint_eq(got[i], expected(i, lines));
	}
	OK(cuMemFree_v2(address));
}

static void launch(CUfunction function, unsigned lines)
{
	launch_blocks(function, lines, THREADS);
}

/* Twice: after the first launch has ended, the background may begin. */
static void launch_twice(CUfunction function)
{
	launch(function, LINES);
	launch(function, LINES);
}

static CUfunction load_kernel(CUmodule *module)
{
	OK(cuModuleLoadData(module, text.data));
	return kernel(*module, "k");
}

START_TEST(a_long_kernel_starts_one_lane_at_a_time_and_then_runs_in_warps)
{
	CUmodule module;
	CUfunction k = load_kernel(&module);
	ck_assert_int_eq(tier(k), JIT_TIER_FIRST);
	ck_assert_int_eq(width(k), 1);
	launch(k, LINES);
	OK(await_best(k));
	ck_assert_int_eq(tier(k), JIT_TIER_BEST);
	ck_assert_int_eq(width(k), 32);
	launch(k, LINES);
	OK(cuModuleUnload(module));
}
END_TEST

START_TEST(a_kernel_whose_warps_often_exchange_values_starts_with_its_best_code)
{
	CUmodule module;
	write_kernel_with("shfl.sync.bfly.b32 %y, %x, 1, 31, -1;\n", LINES);
	CUfunction k = load_kernel(&module);
	ck_assert_int_eq(tier(k), JIT_TIER_BEST);
	ck_assert_int_eq(width(k), 32);
	launch(k, LINES);
	OK(cuModuleUnload(module));
}
END_TEST

/* A division of 64 bits is an instruction in code for one lane, and at least 32 for a warp. */
static void write_divisions(unsigned count)
{
	str_free(&text);
	text = (struct str)STR_INIT;
	str_add(&text, ".version 8.0\n.target sm_80\n.address_size 64\n"
		".entry k(.param .u64 p)\n{\n.reg .b64 %a, %b, %x, %y; .reg .b32 %t;\n"
		"ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; cvt.u64.u32 %x, %t;\n"
		"mul.wide.u32 %b, %t, 8; add.u64 %a, %a, %b;\n");
	for (unsigned i = 0; i < count; i++) {
		str_add(&text, "or.b64 %y, %x, 3;\nrem.u64 %y, 123456789, %y;\n"
			"mad.lo.u64 %x, %x, 5, %y;\n");
	}
	str_add(&text, "st.global.u64 [%a], %x; ret;\n}\n");
	ck_assert(!text.failed);
}

static void launch_divisions(CUfunction function, unsigned count)
{
	uint64_t got[THREADS];
	CUdeviceptr address = alloc(sizeof(got));
	void *values[] = {&address};
	OK(cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, 0, NULL, values, NULL));
	OK(cuMemcpyDtoH_v2(got, address, sizeof(got)));
	for (unsigned i = 0; i < countof(got); i++) {
		uint64_t x = i;
		for (unsigned k = 0; k < count; k++) {
			x = x * 5 + 123456789 % (x | 3);
		}
		ck_assert_uint_eq(got[i], x);
	}
	OK(cuMemFree_v2(address));
}

/* What becomes of so many divisions: the tier and width at first, the width of the best code, and
 * how often LLVM makes code. */
static const struct {
	unsigned divisions;
	int tier, width, best_width;
	unsigned long made;
} divided[] = {
	{0, JIT_TIER_BEST, 32, 32, 1},
	{2, JIT_TIER_FIRST, 1, 32, 2},
	{25, JIT_TIER_FIRST, 1, 32, 2},
	{2000, JIT_TIER_FIRST, 1, 1, 2}, /* so much code for a warp is not compiled at all */
};

START_TEST(the_size_of_the_code_decides_on_the_tier)
{
	CUmodule module;
	write_divisions(divided[_i].divisions);
	unsigned long before = jit_made_count();
	CUfunction k = load_kernel(&module);
	ck_assert_int_eq(tier(k), divided[_i].tier);
	ck_assert_int_eq(width(k), divided[_i].width);
	launch_divisions(k, divided[_i].divisions);
	OK(await_best(k));
	ck_assert_int_eq(tier(k), JIT_TIER_BEST);
	ck_assert_int_eq(width(k), divided[_i].best_width);
	launch_divisions(k, divided[_i].divisions);
	ck_assert_uint_eq(jit_made_count() - before, divided[_i].made);
	OK(cuModuleUnload(module));
}
END_TEST

/* Its blocks are long, and code is replaced between two blocks. */
START_TEST(a_kernel_for_blocks_of_one_thread_starts_with_its_best_code)
{
	CUmodule module;
	write_kernel(LINES);
	char *entry = strstr(text.data, ")\n{");
	ck_assert_ptr_nonnull(entry);
	struct str lone = STR_INIT;
	str_addf(&lone, "%.*s)\n.maxntid 1\n{%s", (int)(entry - text.data), text.data, entry + 3);
	OK(cuModuleLoadData(&module, lone.data));
	CUfunction k = kernel(module, "k");
	ck_assert_int_eq(tier(k), JIT_TIER_BEST);
	ck_assert_int_eq(width(k), 1);
	OK(cuModuleUnload(module));
	str_free(&lone);
}
END_TEST

/* The module waits for what the background compiles. */
START_TEST(a_kernel_that_is_launched_once_is_compiled_once)
{
	CUmodule module;
	unsigned long before = jit_made_count();
	CUfunction k = load_kernel(&module);
	launch(k, LINES);
	ck_assert_int_eq(tier(k), JIT_TIER_FIRST);
	OK(cuModuleUnload(module));
	ck_assert_uint_eq(jit_made_count() - before, 1);
}
END_TEST

START_TEST(one_long_launch_is_enough_for_the_best_code)
{
	enum { MANY = 4096 };
	CUmodule module;
	CUfunction k = load_kernel(&module);
	CUdeviceptr address = alloc((size_t)MANY * THREADS * sizeof(uint32_t));
	void *values[] = {&address};
	OK(cuLaunchKernel(k, MANY, 1, 1, THREADS, 1, 1, 0, NULL, values, NULL));
	while (tier(k) == JIT_TIER_FIRST) {
		sched_yield();
	}
	OK(cuCtxSynchronize());
	OK(cuMemFree_v2(address));
	OK(cuModuleUnload(module));
}
END_TEST

/* Each thread gets the number of the next one in its block, by shared memory. */
static const char next_of_each[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
	".entry k(.param .u64 p)\n{\n.reg .b64 %a, %b; .reg .b32 %t, %n, %x; .shared .b32 s[256];\n"
	"ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %x, s;\n"
	"mad.lo.u32 %x, %t, 4, %x; st.shared.u32 [%x], %t; bar.sync 0;\n"
	"add.u32 %x, %t, 1; rem.u32 %x, %x, %n; mov.u32 %n, s; mad.lo.u32 %x, %x, 4, %n;\n"
	"ld.shared.u32 %x, [%x]; mul.wide.u32 %b, %t, 4; add.u64 %a, %a, %b;\n"
	"st.global.u32 [%a], %x; ret;\n}\n";

static void launch_next(CUfunction function, unsigned threads)
{
	uint32_t got[256];
	CUdeviceptr address = alloc(sizeof(got));
	void *values[] = {&address};
	OK(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, NULL, values, NULL));
	OK(cuMemcpyDtoH_v2(got, address, sizeof(got)));
	for (uint32_t i = 0; i < threads; i++) {
		ck_assert_uint_eq(got[i], (i + 1) % threads);
	}
	OK(cuMemFree_v2(address));
}

/* Code for a team of warps is for one size of blocks, which the launch tells. */
START_TEST(a_kernel_with_barriers_is_compiled_for_the_blocks_that_are_launched)
{
	CUmodule module;
	unsigned long before = jit_made_count();
	OK(cuModuleLoadData(&module, next_of_each));
	CUfunction k = kernel(module, "k");
	launch_next(k, 96);
	ck_assert_int_eq(tier(k), JIT_TIER_FIRST);
	ck_assert_uint_eq(jit_made_count() - before, 1);
	OK(await_best(k));
	launch_next(k, 96);
	ck_assert_int_eq(tier(k), JIT_TIER_BEST);
	ck_assert_int_eq(width(k), 32);
	ck_assert_uint_eq(jit_made_count() - before, 2);
	launch_next(k, 128); // the best code is wanted, so the launch waits for it
	ck_assert_uint_eq(jit_made_count() - before, 3);
	OK(cuModuleUnload(module));
}
END_TEST

START_TEST(the_best_code_can_be_had_before_a_launch)
{
	CUmodule module;
	CUfunction k = load_kernel(&module);
	unsigned long before = jit_made_count();
	OK(await_best(k));
	ck_assert_int_eq(tier(k), JIT_TIER_BEST);
	launch(k, LINES);
	OK(await_best(k));
	ck_assert_uint_eq(jit_made_count() - before, 1);
	OK(cuModuleUnload(module));
}
END_TEST

/* Code for blocks of another class is compiled before their launch. */
START_TEST(the_best_code_can_be_had_for_all_blocks)
{
	CUmodule module;
	CUfunction k = load_kernel(&module);
	OK(await_best(k));
	unsigned long before = jit_made_count();
	launch(k, LINES);
	ck_assert_uint_eq(jit_made_count() - before, 0);
	launch_blocks(k, LINES, THREADS - 7);
	ck_assert_uint_eq(jit_made_count() - before, 1);
	launch_blocks(k, LINES, THREADS - 7);
	ck_assert_uint_eq(jit_made_count() - before, 1);
	OK(cuModuleUnload(module));
}
END_TEST

/* Launched while the background compiles, and after. */
START_TEST(launches_need_not_wait_for_the_best_code)
{
	CUmodule module;
	CUfunction k = load_kernel(&module);
	for (int i = 0; i < 100 && tier(k) == JIT_TIER_FIRST; i++) {
		launch(k, LINES);
	}
	OK(await_best(k));
	launch(k, LINES);
	OK(cuModuleUnload(module));
}
END_TEST

static const struct {
	const char *name, *value;
	unsigned lines;
	int tier, width;
} fixed[] = {
	{"KUDZU_CPU_TIER", "1", LINES, 1, 1}, {"KUDZU_CPU_TIER", "1", 40, 1, 1},
	{"KUDZU_CPU_TIER", "2", LINES, 2, 32}, {"KUDZU_CPU_WIDTH", "32", LINES, 2, 32},
	{"KUDZU_CPU_WIDTH", "1", LINES, 2, 1}, {"KUDZU_CPU_TIER", "", 0, 2, 32},
	{"KUDZU_CPU_TIER", "once", LINES, 1, 1}, {"KUDZU_CPU_TIER", "once", 0, 2, 32},
	{"KUDZU_CPU_TIER", "once", 20, 2, 32},
};

START_TEST(a_tier_can_be_fixed)
{
	CUmodule module;
	setenv(fixed[_i].name, fixed[_i].value, 1);
	write_kernel(fixed[_i].lines);
	CUfunction k = load_kernel(&module);
	unsigned long before = jit_made_count();
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(tier(k), fixed[_i].tier);
		ck_assert_int_eq(width(k), fixed[_i].width);
		launch(k, fixed[_i].lines);
		OK(await_best(k));
	}
	ck_assert_uint_eq(jit_made_count(), before);
	FAILS(INVALID_VALUE, cuFuncSetAttribute(k, CU_FUNC_ATTRIBUTE_KUDZU_TIER, JIT_TIER_FIRST));
	OK(cuModuleUnload(module));
}
END_TEST

START_TEST(the_best_code_is_in_the_cache)
{
	CUmodule module;
	store_folder_create();
	setenv("KUDZU_CACHE", "1", 1);
	setenv("KUDZU_CACHE_DIR", store_path, 1);
	OK(await_best(load_kernel(&module)));
	OK(cuModuleUnload(module));
	unsigned long before = jit_made_count();
	CUfunction k = load_kernel(&module);
	ck_assert_int_eq(tier(k), JIT_TIER_BEST);
	launch(k, LINES);
	OK(cuModuleUnload(module));
	ck_assert_uint_eq(jit_made_count(), before);
	store_folder_remove();
}
END_TEST

/* One compiles, and the others wait for it. */
START_TEST(modules_can_be_unloaded_while_the_background_compiles)
{
	for (int i = 0; i < 3; i++) {
		CUmodule modules[3];
		for (size_t m = 0; m < countof(modules); m++) {
			launch_twice(load_kernel(&modules[m]));
		}
		for (size_t m = 0; m < countof(modules); m++) {
			OK(cuModuleUnload(modules[(m + (size_t)i) % countof(modules)]));
		}
	}
}
END_TEST

static int end_of(pid_t child)
{
	int status = -1;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return status;
}

START_TEST(a_process_can_end_while_the_background_compiles)
{
	pid_t child = fork();
	if (child == 0) {
		CUmodule module;
		tiers_setup();
		launch_twice(load_kernel(&module));
		launch_twice(load_kernel(&module));
		exit(0);
	}
	ck_assert_int_eq(end_of(child), 0);
}
END_TEST

/* The first code is in the cache, so that the background is the first to need LLVM. */
START_TEST(a_process_can_end_while_the_background_starts_LLVM)
{
	static const char *const tiers[] = {"1", ""};
	store_folder_create();
	setenv("KUDZU_CACHE", "1", 1);
	setenv("KUDZU_CACHE_DIR", store_path, 1);
	for (size_t i = 0; i < countof(tiers); i++) {
		pid_t child = fork();
		if (child == 0) {
			CUmodule module;
			setenv("KUDZU_CPU_TIER", tiers[i], 1);
			tiers_setup();
			CUfunction k = load_kernel(&module);
			unsigned long made = jit_made_count();
			launch_twice(k);
			exit(made == 1 - i ? 0 : 1);
		}
		ck_assert_int_eq(end_of(child), 0);
	}
	store_folder_remove();
}
END_TEST

/* Of a child whose parent's thread had memory, which nobody can free. */
#ifdef __SANITIZE_ADDRESS__
#define END_CHILD _exit
#else
#define END_CHILD exit
#endif

START_TEST(a_process_can_be_forked_while_the_background_compiles)
{
	CUmodule module;
	tiers_setup();
	CUfunction k = load_kernel(&module);
	launch_twice(k);
	pid_t child = fork();
	if (child == 0) {
		END_CHILD(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
	}
	ck_assert_int_eq(end_of(child), 0);
	OK(await_best(k));
	launch(k, LINES);
	tiers_teardown();
}
END_TEST

SUITE(tiers)
{
	Suite *suite = suite_create("tiers");
	TCase *tc = add_case(suite, "tiers", tiers_setup, tiers_teardown);
	tcase_add_test(tc, a_long_kernel_starts_one_lane_at_a_time_and_then_runs_in_warps);
	tcase_add_test(tc, a_kernel_whose_warps_often_exchange_values_starts_with_its_best_code);
	tcase_add_loop_test(tc, the_size_of_the_code_decides_on_the_tier, 0, countof(divided));
	tcase_add_test(tc, a_kernel_for_blocks_of_one_thread_starts_with_its_best_code);
	tcase_add_test(tc, a_kernel_that_is_launched_once_is_compiled_once);
	tcase_add_test(tc, one_long_launch_is_enough_for_the_best_code);
	tcase_add_test(tc, a_kernel_with_barriers_is_compiled_for_the_blocks_that_are_launched);
	tcase_add_test(tc, the_best_code_can_be_had_before_a_launch);
	tcase_add_test(tc, the_best_code_can_be_had_for_all_blocks);
	tcase_add_test(tc, launches_need_not_wait_for_the_best_code);
	tcase_add_loop_test(tc, a_tier_can_be_fixed, 0, countof(fixed));
	tcase_add_test(tc, the_best_code_is_in_the_cache);
	tcase_add_test(tc, modules_can_be_unloaded_while_the_background_compiles);
	TCase *processes = tcase_create("processes");
	tcase_set_timeout(processes, 60);
	tcase_add_test(processes, a_process_can_end_while_the_background_compiles);
	tcase_add_test(processes, a_process_can_end_while_the_background_starts_LLVM);
	tcase_add_test(processes, a_process_can_be_forked_while_the_background_compiles);
	suite_add_tcase(suite, processes);
	return suite;
}
