/* SPDX-License-Identifier: MIT */
/*
 * src/cpu/object/survey.c, parse_skim: big texts that nobody has seen.  What is wrong with one must be told as
 * of a small text, which is read as a whole.
 */
#include "cpu/support/big_text.h"

#include "cpu/jit/outline.h"
#include "cpu/ptx/parse.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>

/* Who skims a text finds the parts that the whole has, and what is no kernel is what the whole has. */
static size_t is_skim_wrong(const char *ptx, size_t size)
{
	struct ptx_module whole, skim;
	struct ptx_diag diag = {0};
	struct str expected = STR_INIT, got = STR_INIT;
	big_parse(&whole, ptx, size);
	bool same = parse_skim(&skim, ptx, size, whole.text_hash, &diag)
		&& skim.func_count == whole.func_count && skim.part_count == whole.part_count
		&& memcmp(skim.parts, whole.parts, whole.part_count * sizeof(*whole.parts)) == 0;
	for (size_t i = 0; same && i < skim.func_count; i++) {
		bool is_kernel = whole.funcs[i]->is_entry;
		big_tell(&expected, is_kernel ? skim.funcs[i] : whole.funcs[i]);
		big_tell(&got, skim.funcs[i]);
		same = !is_kernel || (skim.funcs[i]->inst_count == 0
			&& strcmp(skim.funcs[i]->name, whole.funcs[i]->name) == 0);
	}
	same = same && got.len == expected.len
		&& (got.len == 0 || memcmp(got.data, expected.data, got.len) == 0);
	str_free(&expected);
	str_free(&got);
	parse_free(&skim);
	parse_free(&whole);
	return !same;
}

START_TEST(who_skims_finds_what_the_whole_has)
{
	static const char marks[] = BIG_HEAD ".entry k() { // }\n/* }\n */ { .pragma \"}\"; } ret; }\n"
		".entry l() {ret;}.entry m()\n{//{\nret;/*}*/}//}\n.global .u32 after;\n.func f(){ret;}";
	big_write(9, ".visible .entry last() { ret; }\n");
	ck_assert_uint_eq(is_skim_wrong(big_text, strlen(big_text)), 0);
	ck_assert_uint_eq(is_skim_wrong(marks, strlen(marks)), 0);
}
END_TEST

START_TEST(who_skims_what_nvrtc_makes_finds_what_the_whole_has)
{
	size_t files;
	ck_assert_uint_eq(big_sum_of_files(is_skim_wrong, &files), 0);
	ck_assert_uint_gt(files, 20);
}
END_TEST

START_TEST(a_body_that_does_not_end_is_not_skimmed)
{
	static const char *const bodies[] = {"", "{", "{{}", "{ // }", "{ /* }", "{ \"}", "{ \"}\n\"}",
		"{ /* }*/"};
	for (size_t i = 0; i < countof(bodies); i++) {
		char ptx[256];
		struct ptx_module skim;
		struct ptx_diag diag = {0};
		snprintf(ptx, sizeof(ptx), BIG_HEAD ".entry k() %s", bodies[i]);
		ck_assert_msg(!parse_skim(&skim, ptx, strlen(ptx), (struct hash){1, 2}, &diag), "%s", ptx);
		ck_assert_msg(diag.message[0], "%s", ptx);
	}
}
END_TEST

/* --- Through the driver --- */

START_TEST(what_cannot_run_is_refused_each_time)
{
	CUmodule module = NULL;
	big_write(8, ".entry bad() { wgmma.fence.sync.aligned; ret; }\n");
	for (int i = 0; i < 3; i++) {
		FAILS(NOT_SUPPORTED, cuModuleLoadData(&module, big_text));
		ck_assert(!big_is_known(big_text));
	}
}
END_TEST

static const char *const faults[] = {
	".entry bad() { .reg .f32 %f; add.s32 %f, %f, 1; ret; }\n",
	".entry bad() { nonsense; }\n",
	".entry bad(.param .b8 a[40000]) { ret; }\n",
	".entry bad() { .shared .b8 a[999999]; ret; }\n",
	".entry bad() { wgmma.fence.sync.aligned; ret; }\n",
	".func no() { wgmma.fence.sync.aligned; ret; } .entry bad() { call no; ret; }\n",
	".entry bad() { call nobody; ret; }\n",
	".entry bad() { bra nowhere; }\n",
	".entry bad() { .reg .b64 %d; mov.u64 %d, bad; ret; }\n",
	".entry bad() {\n",
};

/* The driver's words without the line's number, which becomes *line. */
static void load_bad(char words[512], int *line, const char *ptx)
{
	static char log[1024];
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)sizeof(log)};
	CUmodule module = NULL;
	ck_assert_int_ne(cuModuleLoadDataEx(&module, ptx, 2, options, values), CUDA_SUCCESS);
	const char *number = strstr(log, "line ");
	ck_assert_msg(number, "%s", log);
	*line = (int)strtol(number + 5, NULL, 10);
	snprintf(words, 512, "%s", number + 5 + strspn(number + 5, "0123456789"));
}

/* A big text is surveyed, a small one is not: both tell the same, and where. */
START_TEST(a_fault_is_told_as_in_a_small_text)
{
	char big[512], small[512], ptx[2048];
	int big_line, small_line, lines = 0;
	bool open = strchr(faults[_i], '}') == NULL; /* goes on to the end */
	snprintf(ptx, sizeof(ptx), BIG_HEAD "%s%s%s", big_globals, faults[_i], open ? "// 0\n" : "");
	load_bad(small, &small_line, ptx);
	big_write(8, faults[_i]);
	load_bad(big, &big_line, big_text);
	ck_assert_str_eq(big, small);
	big_write(8, "");
	for (const char *at = strstr(big_text, "// kernel"); (at = strchr(at, '\n')) != NULL; at++) {
		lines++;
	}
	ck_assert_int_eq(big_line - small_line, lines - 1);
}
END_TEST

START_TEST(memory_may_run_out_in_a_survey)
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	bool failed = true;
	for (long n = 0; failed; n += 1 + n / 8) {
		char behind[64];
		CUmodule module = NULL;
		snprintf(behind, sizeof(behind), ".entry l%ld() { ret; }\n", n); /* a new big_text */
		big_write(8, behind);
		mem_fail_after(n);
		result = cuModuleLoadData(&module, big_text);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(result == CUDA_SUCCESS || (failed && result == CUDA_ERROR_OUT_OF_MEMORY));
		if (module) {
			ck_assert_uint_eq(big_run(module, 3), 20);
			OK(cuModuleUnload(module));
		}
	}
	ck_assert(big_is_known(big_text));
}
END_TEST

enum { MANY = 900 }; /* so much that several threads check them */

START_TEST(several_threads_check_a_big_text)
{
	setenv("KUDZU_CPU_THREADS", "4", 1);
	big_write(MANY, "");
	ck_assert_uint_gt(strlen(big_text), 3U << 17);
	CUmodule module = big_load(big_text);
	ck_assert(big_is_known(big_text));
	ck_assert_uint_eq(big_run(module, MANY - 1), 2 * (MANY + 6));
	OK(cuModuleUnload(module));
}
END_TEST

/* Which of them reads the kernel does not matter. */
START_TEST(several_threads_find_the_one_kernel_that_is_bad)
{
	static const int numbers[] = {0, 1, MANY / 2, MANY - 1};
	char head[32], words[512];
	int line, expected = 1;
	setenv("KUDZU_CPU_THREADS", "4", 1);
	big_write(MANY, "");
	snprintf(head, sizeof(head), ".entry k%d(", numbers[_i]);
	char *at = strstr(strstr(big_text, head), "setp.eq.u32");
	memcpy(at, "setp.eq.f32", 11);
	for (const char *end = big_text; (end = memchr(end, '\n', (size_t)(at - end))); end++) {
		expected++;
	}
	load_bad(words, &line, big_text);
	ck_assert_int_eq(line, expected);
	ck_assert_msg(strstr(words, "setp.eq.f32"), "%s", words);
	ck_assert(!big_is_known(big_text));
}
END_TEST

START_TEST(memory_may_run_out_in_several_threads)
{
	bool failed = true;
	setenv("KUDZU_CPU_THREADS", "4", 1);
	for (long n = 50; failed; n *= 3) {
		char behind[64];
		CUmodule module = NULL;
		snprintf(behind, sizeof(behind), ".entry l%ld() { ret; }\n", n); /* a new text */
		big_write(MANY, behind);
		mem_fail_after(n);
		CUresult result = cuModuleLoadData(&module, big_text);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(result == CUDA_SUCCESS || (failed && result == CUDA_ERROR_OUT_OF_MEMORY));
		if (module) {
			OK(cuModuleUnload(module));
		}
	}
	ck_assert(big_is_known(big_text));
}
END_TEST

SUITE(survey)
{
	Suite *suite = suite_create("survey");
	TCase *skim = tcase_create("skim");
	tcase_add_test(skim, who_skims_finds_what_the_whole_has);
	tcase_add_test(skim, who_skims_what_nvrtc_makes_finds_what_the_whole_has);
	tcase_add_test(skim, a_body_that_does_not_end_is_not_skimmed);
	suite_add_tcase(suite, skim);
	TCase *driver = tcase_create("driver");
	tcase_add_checked_fixture(driver, big_setup, big_teardown);
	tcase_add_test(driver, what_cannot_run_is_refused_each_time);
	tcase_add_loop_test(driver, a_fault_is_told_as_in_a_small_text, 0, countof(faults));
	tcase_add_test(driver, memory_may_run_out_in_a_survey);
	tcase_add_test(driver, several_threads_check_a_big_text);
	tcase_add_loop_test(driver, several_threads_find_the_one_kernel_that_is_bad, 0, 4);
	tcase_add_test(driver, memory_may_run_out_in_several_threads);
	suite_add_tcase(suite, driver);
	return suite;
}
