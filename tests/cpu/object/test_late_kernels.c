/* SPDX-License-Identifier: MIT */
/*
 * Kernels of a big text, which are parsed when they are asked for (parse_declarations,
 * parse_kernel).  Such a kernel must be what it is when the whole text is parsed: each is written
 * as text both ways and compared.
 */
#include "cpu/support/big_text.h"

#include "base/str.h"
#include "cpu/jit/kernel_cache.h"
#include "cpu/ptx/parse.h"
#include "support/suite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

CUresult cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *options, void **values,
	unsigned count, CUlibraryOption *library_options, void **library_values,
	unsigned library_count);
CUresult cuLibraryUnload(CUlibrary library);
CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name);
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
	CUdevice device);
CUresult cuKernelGetFunction(CUfunction *out, CUkernel kernel);
CUresult cuModuleGetFunctionCount(unsigned *out, CUmodule module);
CUresult cuModuleEnumerateFunctions(CUfunction *out, unsigned count, CUmodule module);

/* Every kernel, the last one first, against the same one of the whole; how many there are. */
static size_t compare_kernels(const char *ptx, size_t size)
{
	struct ptx_module whole, late;
	struct ptx_diag diag = {0};
	struct str expected = STR_INIT, got = STR_INIT;
	size_t count = 0;
	big_parse(&whole, ptx, size);
	ck_assert(parse_declarations(&late, ptx, size, whole.text_hash, &diag));
	ck_assert_uint_eq(late.func_count, whole.func_count);
	ck_assert(!whole.is_separable || late.var_count == whole.var_count);
	for (size_t i = whole.func_count; i-- > 0 && whole.is_separable;) {
		if (late.funcs[i]->late) {
			ck_assert_uint_eq(late.funcs[i]->inst_count, 0);
			ck_assert_str_eq(late.funcs[i]->name, whole.funcs[i]->name);
			ck_assert(parse_kernel(&late, late.funcs[i], &diag));
			count++;
		}
	}
	for (size_t i = 0; i < whole.func_count && whole.is_separable; i++) {
		big_tell(&expected, whole.funcs[i]);
		big_tell(&got, late.funcs[i]);
	}
	ck_assert_uint_eq(got.len, expected.len);
	ck_assert(got.len == 0 || memcmp(got.data, expected.data, got.len) == 0);
	str_free(&expected);
	str_free(&got);
	parse_free(&whole);
	parse_free(&late);
	return count;
}

/* --- Texts --- */

START_TEST(a_late_kernel_is_what_the_whole_has)
{
	static const char marks[] = BIG_HEAD ".entry k() { // }\n/* }\n */ { .pragma \"}\"; } ret; "
		"}\n"
		".entry l() {ret;}.entry m()\n{//{\nret;/*}*/}//}\n.global .u32 after;\n.func "
		"f(){ret;}";
	big_write(8, ".extern .func f(); .global .u32 later; .visible .entry last() { ret; }\n");
	ck_assert_uint_eq(compare_kernels(big_text, strlen(big_text)), 9);
	ck_assert_uint_eq(compare_kernels(marks, strlen(marks)), 3);
}
END_TEST

START_TEST(a_late_kernel_of_what_nvrtc_makes_is_what_the_whole_has)
{
	size_t files;
	ck_assert_uint_gt(big_sum_of_files(compare_kernels, &files), 50);
	ck_assert_uint_gt(files, 20);
}
END_TEST

/* Labels of a name that the module gives away further down. */
START_TEST(what_comes_behind_a_kernel_is_not_seen_in_it)
{
	static const char good[] = BIG_HEAD
		".entry k() { bra after; after: ret; }\n.global .u32 after;\n.entry l() { ret; }\n";
	static const char bad[] = BIG_HEAD
		".entry k(.param .u64 p) { .reg .b64 %d; mov.u64 %d, after; ret; }\n"
		".global .u32 after;\n";
	struct ptx_module module;
	struct ptx_diag diag = {0};
	ck_assert_uint_eq(compare_kernels(good, strlen(good)), 2);
	ck_assert(parse_declarations(&module, bad, strlen(bad), hash_of(bad, strlen(bad)), &diag));
	for (int i = 0; i < 2; i++) {
		diag.message[0] = '\0';
		ck_assert(!parse_kernel(&module, module.funcs[0], &diag));
		ck_assert_str_eq(diag.message, "unknown variable 'after'");
		ck_assert_int_eq(diag.line, 5);
	}
	parse_free(&module);
}
END_TEST

START_TEST(a_kernel_may_be_declared_first)
{
	static const char ptx[] = BIG_HEAD
		".entry k();\n.entry l() { ret; }\n.entry k() { ret; }\n";
	ck_assert_uint_eq(compare_kernels(ptx, strlen(ptx)), 2);
}
END_TEST

static const char *const whole_rows[] = {
	".entry k() { .global .u32 inside; ret; }",
	".func f() { ret; } .entry k() { .reg .b64 %d; mov.u64 %d, f; ret; }",
	".func f() { ret; } .global .u64 g = f; .entry k() { ret; }",
	".entry k() { ret; } .global .u64 g = k;",
};

START_TEST(what_depends_on_a_kernel_is_not_separable)
{
	char ptx[256];
	struct ptx_module module;
	snprintf(ptx, sizeof(ptx), BIG_HEAD "%s\n", whole_rows[_i]);
	big_parse(&module, ptx, strlen(ptx));
	ck_assert(!module.is_separable);
	parse_free(&module);
}
END_TEST

START_TEST(a_body_that_does_not_end_is_refused)
{
	static const char *const bodies[] = {"", "{", "{{}", "{ // }", "{ /* }", "{ \"}",
		"{ \"}\n\"}", "{ /* }*/"};
	for (size_t i = 0; i < countof(bodies); i++) {
		char ptx[256];
		struct ptx_module module;
		struct ptx_diag diag = {0};
		snprintf(ptx, sizeof(ptx), BIG_HEAD ".entry k() %s", bodies[i]);
		ck_assert_msg(!parse_declarations(&module, ptx, strlen(ptx), (struct hash){1, 2},
			&diag), "%s", ptx);
		ck_assert_msg(diag.message[0], "%s", ptx);
	}
}
END_TEST

/* --- Through the driver --- */

START_TEST(kernels_that_are_read_late_run)
{
	big_write(12, "");
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(big_is_known(big_text), round > 0);
		CUmodule module = big_load(big_text);
		for (int i = 11; i >= 0; i -= 3) {
			ck_assert_uint_eq(big_run(module, i), 2 * (unsigned)(i + 7));
		}
		OK(cuModuleUnload(module));
	}
}
END_TEST


START_TEST(kernels_that_are_read_late_are_found_and_counted)
{
	CUfunction functions[9], function = NULL;
	const char *name;
	unsigned count;
	big_write(8, "");
	OK(cuModuleUnload(big_load(big_text)));
	CUmodule module = big_load(big_text);
	OK(cuModuleGetFunctionCount(&count, module));
	ck_assert_uint_eq(count, 8);
	FAILS(NOT_FOUND, cuModuleGetFunction(&function, module, "k8"));
	FAILS(NOT_FOUND, cuModuleGetFunction(&function, module, "twice"));
	OK(cuModuleGetFunction(&function, module, "k5"));
	OK(cuModuleEnumerateFunctions(functions, 9, module));
	ck_assert_ptr_eq(functions[5], function);
	for (int i = 0; i < 8; i++) {
		char expected[16];
		snprintf(expected, sizeof(expected), "k%d", i);
		OK(cuFuncGetName(&name, functions[i]));
		ck_assert_str_eq(name, expected);
	}
	OK(cuModuleUnload(module));
}
END_TEST

/* The program may do what it likes with its text. */
START_TEST(the_text_of_late_kernels_is_a_copy)
{
	big_write(8, "");
	OK(cuModuleUnload(big_load(big_text)));
	ck_assert(big_is_known(big_text));
	CUmodule module = big_load(big_text);
	memset(big_text, 'x', sizeof(big_text));
	ck_assert_uint_eq(big_run(module, 3), 20);
	OK(cuModuleUnload(module));
}
END_TEST

/* What the driver says of a mistake, from the line on. */
static void load_bad(char words[512], const char *ptx)
{
	static char log[1024];
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)sizeof(log)};
	CUmodule module = NULL;
	ck_assert_int_ne(cuModuleLoadDataEx(&module, ptx, 2, options, values), CUDA_SUCCESS);
	const char *line = strstr(log, "line ");
	ck_assert_msg(line, "%s", log);
	snprintf(words, 512, "%s", line);
}

static const char *const faults[] = {
	".entry bad() { .reg .f32 %f; add.s32 %f, %f, 1; ret; }\n",
	".entry bad() { nonsense; }\n",
	".entry bad(.param .b8 a[40000]) { ret; }\n",
	".entry bad() { .shared .b8 a[999999]; ret; }\n",
	".entry bad() { wgmma.fence.sync.aligned; ret; }\n",
	".func no() { wgmma.fence.sync.aligned; ret; } .entry bad() { call no; ret; }\n",
	".entry bad() { call nobody; ret; }\n",
	".entry bad() { bra nowhere; }\n",
	".entry bad() {\n",
};

/* In the kernel that nobody asks for, each time that the text is loaded, and never remembered as
 * good. */
START_TEST(a_mistake_is_told_when_the_text_is_loaded)
{
	char words[2][512];
	big_write(8, faults[_i]);
	for (int i = 0; i < 2; i++) {
		load_bad(words[i], big_text);
		ck_assert(!big_is_known(big_text));
	}
	ck_assert_str_eq(words[0], words[1]);
}
END_TEST

/* As with a text that is made to have the hash of a good one: told when the kernel is asked for. */
START_TEST(a_mistake_in_a_text_that_is_taken_for_good_is_told)
{
	CUfunction function = NULL;
	big_write(8, faults[1]);
	kernel_cache_put_text(strlen(big_text), hash_of(big_text, strlen(big_text)));
	CUmodule module = big_load(big_text);
	for (int i = 0; i < 2; i++) {
		FAILS(INVALID_PTX, cuModuleGetFunction(&function, module, "bad"));
	}
	ck_assert_uint_eq(big_run(module, 3), 20);
	OK(cuModuleUnload(module));
}
END_TEST

/* Two kernels share a function that calls itself: what flattening the first one found out about it
 * must not outlast the first one, whose memory is used again. */
START_TEST(late_kernels_may_share_a_recursive_function)
{
#define DOWN(name) ".entry " name "(.param .u64 p) { .reg .b32 %r;\n" \
	"{ .param .b32 a; .param .b32 b; st.param.b32 [a], 3; call.uni (b), down, (a);\n" \
	"ld.param.b32 %r, [b]; } ret; }\n"
	CUfunction function = NULL;
	big_write(8, ".func (.param .b32 r) down(.param .b32 x) { .reg .b32 %r<4>; .reg .pred %p;\n"
		"ld.param.b32 %r1, [x]; setp.eq.u32 %p, %r1, 0; mov.u32 %r2, 0; @%p bra OUT;\n"
		"sub.u32 %r3, %r1, 1; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r3;\n"
		"call.uni (b), down, (a); ld.param.b32 %r2, [b]; } add.u32 %r2, %r2, %r1;\n"
		"OUT: st.param.b32 [r], %r2; ret; }\n" DOWN("d0") DOWN("d1") DOWN("d2"));
	for (int round = 0; round < 2; round++) {
		CUmodule module = big_load(big_text);
		OK(cuModuleGetFunction(&function, module, "d1"));
		OK(cuModuleGetFunction(&function, module, "d2"));
		OK(cuModuleUnload(module));
	}
}
END_TEST

START_TEST(what_is_set_for_a_kernel_of_a_library_holds_when_it_is_read_late)
{
	CUlibrary library;
	CUkernel found;
	CUfunction function;
	int value = 0;
	big_write(8, "");
	OK(cuModuleUnload(big_load(big_text)));
	OK(cuLibraryLoadData(&library, big_text, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&found, library, "k3"));
	OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1000, found, 0));
	OK(cuKernelGetFunction(&function, found));
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
	ck_assert_int_eq(value, 1000);
	OK(cuLibraryUnload(library));
}
END_TEST

enum { THREADS = 4, TURNS = 6 };

/* Load the module, with others; every kernel of one that all have, and a few of its own. */
static void *use(void *shared)
{
	char *wrong = NULL;
	if (cuCtxSetCurrent(context) != CUDA_SUCCESS) {
		return "context";
	}
	for (int turn = 0; turn < TURNS && !wrong; turn++) {
		CUmodule own = NULL;
		CUfunction functions[12];
		wrong = cuModuleLoadData(&own, big_text) != CUDA_SUCCESS
			|| cuModuleGetFunction(functions, shared, "k11") != CUDA_SUCCESS
			|| cuModuleEnumerateFunctions(functions, 12, shared) != CUDA_SUCCESS
			|| cuModuleGetFunction(functions, own, "k3") != CUDA_SUCCESS
			|| cuModuleUnload(own) != CUDA_SUCCESS ? "call" : NULL;
	}
	return wrong;
}

START_TEST(threads_may_read_kernels_at_once)
{
	pthread_t threads[THREADS];
	void *wrong = NULL, *said;
	big_write(12, "");
	OK(cuModuleUnload(big_load(big_text)));
	CUmodule shared = big_load(big_text);
	OK(cuCtxGetCurrent(&context)); /* for the threads */
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, use, shared), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &said);
		wrong = said ? said : wrong;
	}
	ck_assert_msg(!wrong, "%s", (const char *)wrong);
	for (int i = 0; i < 12; i++) {
		ck_assert_uint_eq(big_run(shared, i), 2 * (unsigned)(i + 7));
	}
	OK(cuModuleUnload(shared));
}
END_TEST

START_TEST(memory_may_run_out_when_a_kernel_is_parsed)
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	CUfunction functions[8];
	big_write(8, "");
	OK(cuModuleUnload(big_load(big_text)));
	for (long n = 0; result != CUDA_SUCCESS; n++) {
		CUmodule module = NULL;
		mem_fail_after(n);
		result = cuModuleLoadData(&module, big_text);
		if (result == CUDA_SUCCESS) {
			result = cuModuleEnumerateFunctions(functions, 8, module);
		}
		mem_fail_after(-1);
		ck_assert(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
		if (module) {
			ck_assert_uint_eq(big_run(module, 3), 20);
			OK(cuModuleUnload(module));
		}
	}
}
END_TEST

SUITE(late_kernels)
{
	Suite *suite = suite_create("late_kernels");
	TCase *texts = tcase_create("texts");
	tcase_add_test(texts, a_late_kernel_is_what_the_whole_has);
	tcase_add_test(texts, a_late_kernel_of_what_nvrtc_makes_is_what_the_whole_has);
	tcase_add_test(texts, what_comes_behind_a_kernel_is_not_seen_in_it);
	tcase_add_test(texts, a_kernel_may_be_declared_first);
	tcase_add_loop_test(texts, what_depends_on_a_kernel_is_not_separable, 0,
		countof(whole_rows));
	tcase_add_test(texts, a_body_that_does_not_end_is_refused);
	suite_add_tcase(suite, texts);
	TCase *driver = tcase_create("driver");
	tcase_add_checked_fixture(driver, big_setup, big_teardown);
	tcase_add_test(driver, kernels_that_are_read_late_run);
	tcase_add_test(driver, kernels_that_are_read_late_are_found_and_counted);
	tcase_add_test(driver, the_text_of_late_kernels_is_a_copy);
	tcase_add_loop_test(driver, a_mistake_is_told_when_the_text_is_loaded, 0, countof(faults));
	tcase_add_test(driver, a_mistake_in_a_text_that_is_taken_for_good_is_told);
	tcase_add_test(driver, late_kernels_may_share_a_recursive_function);
	tcase_add_test(driver, what_is_set_for_a_kernel_of_a_library_holds_when_it_is_read_late);
	tcase_add_test(driver, threads_may_read_kernels_at_once);
	tcase_add_test(driver, memory_may_run_out_when_a_kernel_is_parsed);
	suite_add_tcase(suite, driver);
	return suite;
}
