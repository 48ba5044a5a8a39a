/* SPDX-License-Identifier: MIT */
/*
 * The size of the code of long kernels at 32 lanes: it is proportional to their length.  If it grew
 * faster, LLVM would need minutes and gigabytes.
 */
#include "base/common.h"

#include "base/str.h"
#include "cpu/config/features.h"
#include "cpu/support/machine.h"
#include "support/count.h"
#include "support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Many registers that live throughout: more than LLVM gets to see as values. */
#define SUMS 60

/* A loop over blocks that lanes skip where their number says so, twice.  Each block loads a word of
 * the memory into a register of its own, and adds that to one of the sums.  No lane has what
 * another has. */
static void write_kernel(struct str *text, unsigned blocks, unsigned sums)
{
	str_addf(text, HEAD ".entry k(.param .u64 p) {\n.reg .b64 %%a; .reg .b32 %%t, %%x<%u>;\n"
		".reg .b32 %%n, %%s<%u>; .reg .pred %%p<%u>;\nld.param.u64 %%a, [p];\n"
		"ld.global.u32 %%t, [%%a]; mov.u32 %%n, %%tid.x; add.u32 %%t, %%t, %%n;\n"
		"add.u32 %%n, %%t, 2;\n", blocks, sums, blocks + 1);
	for (unsigned i = 0; i < sums; i++) {
		str_addf(text, "mov.u32 %%s%u, %u;\n", i, i);
	}
	str_add(text, "again:\n");
	for (unsigned i = 0; i < blocks; i++) {
		str_addf(text, "setp.eq.u32 %%p%u, %%t, %u; @%%p%u bra L%u;\n"
			"ld.global.u32 %%x%u, [%%a+8]; add.u32 %%s%u, %%s%u, %%x%u;\nL%u:\n",
			i, i, i, i, i, i % sums, i % sums, i, i);
	}
	str_addf(text, "add.u32 %%t, %%t, 1; setp.lo.u32 %%p%u, %%t, %%n; @%%p%u bra again;\n",
		blocks, blocks);
	for (unsigned i = 1; i < sums; i++) {
		str_addf(text, "mad.lo.u32 %%s0, %%s0, 3, %%s%u;\n", i);
	}
	str_add(text, "st.global.u32 [%a+16], %s0; ret; }");
}

static uint32_t result(unsigned blocks, unsigned sums, uint32_t skipped, uint32_t word)
{
	uint32_t sum[SUMS];
	for (uint32_t i = 0; i < sums; i++) {
		sum[i] = i;
	}
	for (uint32_t i = 0; i < 2 * blocks; i++) {
		bool runs = i % blocks != skipped + i / blocks;
		sum[i % blocks % sums] += runs ? word : 0;
	}
	for (uint32_t i = 1; i < sums; i++) {
		sum[0] = sum[0] * 3 + sum[i];
	}
	return sum[0];
}

static size_t code_size(unsigned blocks, unsigned sums)
{
	struct str text = STR_INIT;
	write_kernel(&text, blocks, sums);
	ck_assert(!text.failed);
	machine_open(text.data);
	machine_compile("k");
	size_t size = machine.kernel.code_size;
	machine.memory[0] = 5;
	machine.memory[1] = 1000;
	machine.params[0] = (uintptr_t)machine.memory;
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	ck_assert_uint_eq(machine.memory[2], result(blocks, sums, 5, 1000));
	machine_close();
	str_free(&text);
	return size;
}

START_TEST(registers_of_one_block_do_not_live_in_others)
{
	size_t once = code_size(60, 1);
	size_t twice = code_size(120, 1);
	ck_assert_uint_lt(twice, once * 8 / 3); // what one block needs fits into fewer registers
}
END_TEST

START_TEST(many_registers_that_live_long_stay_in_memory)
{
	size_t once = code_size(120, SUMS);
	size_t twice = code_size(240, SUMS);
	ck_assert_uint_lt(twice, once * 5 / 2);
}
END_TEST

/* Registers by barriers, for one lane: each round adds one to the next. */
static size_t size_at_barriers(unsigned regs, unsigned barriers)
{
	struct str text = STR_INIT;
	str_addf(&text, HEAD ".entry k(.param .u64 p) { .reg .b64 %%a; .reg .b32 %%x<%u>;\n"
		"ld.param.u64 %%a, [p];\n", regs);
	for (unsigned i = 0; i < regs; i++) {
		str_addf(&text, "ld.u32 %%x%u, [%%a];\n", i);
	}
	for (unsigned i = 0; i < barriers; i++) {
		str_addf(&text, "bar.sync 0; add.u32 %%x%u, %%x%u, %%x%u;\n", i % regs, i % regs,
			(i + 1) % regs);
	}
	for (unsigned i = 1; i < regs; i++) {
		str_addf(&text, "add.u32 %%x0, %%x0, %%x%u;\n", i);
	}
	str_add(&text, "st.u32 [%a+8], %x0; ret; }");
	setenv("KUDZU_CPU_WIDTH", "1", 1);
	machine_open(text.data);
	machine_compile("k");
	size_t size = machine.kernel.code_size;
	machine_close();
	str_free(&text);
	return size;
}

START_TEST(what_lives_at_many_barriers_stays_in_memory)
{
	size_t few = size_at_barriers(150, 20);
	ck_assert_uint_lt(size_at_barriers(150, 210), 4 * few); // 190 * 150 more would be saved
}
END_TEST

static uint32_t width_of(const char *line, unsigned count)
{
	struct str text = STR_INIT;
	str_add(&text, HEAD ".entry k(.param .u64 p) { .reg .b64 %a; .reg .f32 %f;\n"
		"ld.param.u64 %a, [p]; ld.f32 %f, [%a];\n");
	for (unsigned i = 0; i < count; i++) {
		str_add(&text, line);
	}
	str_add(&text, "st.f32 [%a+8], %f; ret; }");
	machine_open(text.data);
	machine_compile("k");
	float value = 0.0f;
	memcpy(machine.memory, &value, sizeof(value));
	machine.params[0] = (uintptr_t)machine.memory;
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	memcpy(&value, &machine.memory[1], sizeof(value));
	ck_assert_float_eq(value, (float)count);
	machine_close();
	str_free(&text);
	return machine.kernel.width;
}

/* Places that all go to each other, which LLVM would look at pair by pair. */
static uint32_t width_of_tangle(unsigned count)
{
	struct str text = STR_INIT;
	str_add(&text, HEAD ".entry k(.param .u64 p) { .reg .b64 %a; .reg .b32 %r;\n"
		"ld.param.u64 %a, [p]; ld.u32 %r, [%a];\nT: .branchtargets L0");
	for (unsigned i = 1; i < count; i++) {
		str_addf(&text, ", L%u", i);
	}
	str_add(&text, ";\n");
	for (unsigned i = 0; i < count; i++) {
		str_addf(&text, "brx.idx %%r, T;\nL%u: add.u32 %%r, %%r, 2;\n", i);
	}
	str_add(&text, "st.u32 [%a+8], %r; ret; }");
	machine_open(text.data);
	machine_compile("k");
	machine.memory[0] = 1; /* L1, L3, L5 ... */
	machine.params[0] = (uintptr_t)machine.memory;
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	ck_assert_uint_eq(machine.memory[1], count + 1);
	machine_close();
	str_free(&text);
	return machine.kernel.width;
}

START_TEST(tangled_kernels_run_one_lane_at_a_time)
{
	ck_assert_uint_eq(width_of_tangle(10), 32);
	ck_assert_uint_eq(width_of_tangle(60), 1);
}
END_TEST

START_TEST(huge_kernels_run_one_lane_at_a_time)
{
	static const char add[] = "add.f32 %f, %f, 0f3F800000;\n";
	static const char much[] = "fma.rp.f32 %f, %f, 0f3F800000, 0f3F800000;\n";
	ck_assert_uint_eq(width_of(add, 100), 32);
	ck_assert(!support_is_tried(0, 2, 1, 1) || width_of(add, 10000) == 1);
	ck_assert_uint_eq(width_of(much, 100), 32);
	ck_assert(!support_is_tried(1, 2, 1, 1) || width_of(much, 9000) == 1);
}
END_TEST

#ifdef __x86_64__
/* A call for each lane. */
START_TEST(many_fused_products_run_one_lane_at_a_time_where_there_are_none)
{
	static const char fma[] = "fma.rn.f32 %f, %f, 0f3F800000, 0f3F800000;\n";
	setenv("KUDZU_CPU_FEATURES", "sse2", 1);
	ck_assert_uint_eq(width_of(fma, 10), 32);
	ck_assert_uint_eq(width_of(fma, 150), 1);
	unsetenv("KUDZU_CPU_FEATURES");
	ck_assert_uint_eq(width_of(fma, 150), features_fuse(FEATURES_NATIVE) ? 32 : 1);
}
END_TEST
#endif

/* Refused before LLVM has seen any of it. */
START_TEST(kernels_that_memory_is_not_enough_for_are_refused)
{
	struct str text = STR_INIT;
	setenv("KUDZU_CPU_MEMORY", "100M", 1);
	str_add(&text, HEAD ".entry k() { .reg .f32 %f; mov.f32 %f, 0f00000000;\n");
	for (int i = 0; i < 20000; i++) {
		str_add(&text, "add.f32 %f, %f, 0f3F800000;\n");
	}
	str_add(&text, "ret; }");
	machine_open(text.data);
	ck_assert(!jit_compile(&machine.kernel, machine.jit, machine.module.funcs[0],
		BLOCK_CLASS_ANY, JIT_TIER_BEST, &machine.diag));
	ck_assert(machine.diag.no_memory);
	ck_assert_str_eq(machine.diag.message, "to compile 'k', of 20002 instructions, may take 78"
		" MiB of memory; half of what there is is 50");
	ck_assert_uint_eq(jit_made_count(), 0);
	machine_close();
	str_free(&text);
}
END_TEST

static void set_width(void)
{
	setenv("KUDZU_CPU_WIDTH", "32", 1);
}

SUITE(emit_size)
{
	Suite *suite = suite_create("emit_size");
	TCase *tc = tcase_create("long kernels");
	tcase_add_checked_fixture(tc, set_width, NULL);
	tcase_set_timeout(tc, 240);
	tcase_add_test(tc, registers_of_one_block_do_not_live_in_others);
	tcase_add_test(tc, many_registers_that_live_long_stay_in_memory);
	tcase_add_test(tc, what_lives_at_many_barriers_stays_in_memory);
	tcase_add_test(tc, tangled_kernels_run_one_lane_at_a_time);
	tcase_add_test(tc, kernels_that_memory_is_not_enough_for_are_refused);
	tcase_add_test(tc, huge_kernels_run_one_lane_at_a_time);
#ifdef __x86_64__
	tcase_add_test(tc, many_fused_products_run_one_lane_at_a_time_where_there_are_none);
#endif
	suite_add_tcase(suite, tc);
	return suite;
}
