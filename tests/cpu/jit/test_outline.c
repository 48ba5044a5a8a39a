/* SPDX-License-Identifier: MIT */
/*
 * src/cpu/jit/outline.c, parse_part.c, function.c: kernels that are read when they are asked for.  What
 * is read late must be what is read with all the rest: every part of a module is written as text
 * both ways and compared.
 */
#include "cpu/support/big_text.h"

#include "base/str.h"
#include "cpu/jit/outline.h"
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

/* A text of which nothing is there but what was asked for. */
struct sparse {
	const char *whole;
	char *text;
	size_t size;
	size_t bytes; /* that were asked for */
};

static void sparse_read(void *arg, size_t begin, size_t end)
{
	struct sparse *sparse = arg;
	end = end < sparse->size ? end : sparse->size;
	if (begin < end) {
		memcpy(sparse->text + begin, sparse->whole + begin, end - begin);
		sparse->bytes += end - begin;
	}
}

static struct kudzu_text sparse_create(struct sparse *out, const char *ptx, size_t size)
{
	struct hash hash = hash_of(ptx, size);
	*out = (struct sparse){ptx, malloc(size), size, 0};
	memset(out->text, 0xff, size);
	return (struct kudzu_text){size, hash.high, hash.low, sparse_read, out};
}

/* Every part, the last one first, against the same kernel in the whole; how many there are. */
static size_t compare_parts_of(const char *ptx, size_t size, const char *text,
	const struct kudzu_text *known)
{
	struct ptx_module whole, late;
	struct ptx_diag diag = {0};
	struct str expected = STR_INIT, got = STR_INIT;
	big_parse(&whole, ptx, size);
	size_t count = whole.is_separable ? whole.part_count : 0;
	ck_assert(parse_outline(&late, text, known, whole.parts, count, &diag));
	ck_assert_uint_eq(late.func_count, whole.func_count);
	ck_assert_uint_eq(late.var_count, whole.var_count);
	for (size_t i = count; i-- > 0;) {
		const struct ptx_part *part = &whole.parts[i];
		ck_assert_ptr_nonnull(parse_part(&late, part, &diag));
		ck_assert_str_eq(late.funcs[part->index]->name, whole.funcs[part->index]->name);
	}
	for (size_t i = 0; i < whole.func_count; i++) {
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

static size_t compare_parts(const char *ptx, size_t size)
{
	struct sparse sparse;
	struct kudzu_text known = {.size = size};
	size_t count = compare_parts_of(ptx, size, ptx, &known);
	known = sparse_create(&sparse, ptx, size);
	ck_assert_uint_eq(compare_parts_of(ptx, size, sparse.text, &known), count);
	free(sparse.text);
	return count;
}

/* --- Texts --- */

START_TEST(a_part_is_what_the_whole_has)
{
	big_write(8, ".extern .func f(); .global .u32 later; .visible .entry last() { ret; }\n");
	ck_assert_uint_eq(compare_parts(big_text, strlen(big_text)), 9);
}
END_TEST

START_TEST(a_part_of_what_nvrtc_makes_is_what_the_whole_has)
{
	size_t files;
	ck_assert_uint_gt(big_sum_of_files(compare_parts, &files), 50);
}
END_TEST

/* Labels of a name that the module gives away further down. */
START_TEST(what_comes_behind_a_kernel_is_not_seen_in_it)
{
	static const char ptx[] = BIG_HEAD
		".entry k(.param .u64 p) { .reg .b64 %d; mov.u64 %d, after;\n"
		"ld.param.u64 %d, [p]; ret; }\n.global .u32 after;\n";
	struct ptx_module module;
	struct ptx_diag diag = {0};
	ck_assert(!parse_module(&module, ptx, strlen(ptx), &diag));
	static const char good[] = BIG_HEAD
		".entry k() { bra after; after: ret; }\n.global .u32 after;\n.entry l() { ret; }\n";
	ck_assert_uint_eq(compare_parts(good, strlen(good)), 2);
}
END_TEST

static const char *const whole_rows[] = {
	".entry k(); .entry k() { ret; }",
	".entry k() { ret; } .entry l() { .reg .b64 %d; mov.u64 %d, k; ret; }",
	".entry k() { .global .u32 inside; ret; }",
};

START_TEST(what_depends_on_a_kernel_is_read_whole)
{
	char ptx[256];
	struct ptx_module module;
	snprintf(ptx, sizeof(ptx), BIG_HEAD "%s\n", whole_rows[_i]);
	big_parse(&module, ptx, strlen(ptx));
	ck_assert(!module.is_separable);
	parse_free(&module);
}
END_TEST

/* Parts of another text: said, and nothing is left behind. */
START_TEST(parts_that_do_not_fit_are_refused)
{
	struct ptx_module whole, late;
	struct ptx_diag diag = {0};
	big_write(4, "");
	big_parse(&whole, big_text, strlen(big_text));
	const struct kudzu_text known = {.size = strlen(big_text)};
	whole.parts[1].offset += 1;
	ck_assert(!parse_outline(&late, big_text, &known, whole.parts, 4, &diag));
	whole.parts[1].offset -= 1;
	ck_assert(parse_outline(&late, big_text, &known, whole.parts, 4, &diag));
	const struct ptx_part wrong[] = {{.offset = 0, .size = 20}, {.offset = 1 << 30, .size = 1},
		{.offset = 10, .size = UINT32_MAX}, {.offset = whole.parts[0].offset, .size = 60}};
	for (size_t i = 0; i < countof(wrong); i++) {
		diag = (struct ptx_diag){0};
		ck_assert_ptr_null(parse_part(&late, &wrong[i], &diag));
		ck_assert(diag.message[0]);
	}
	ck_assert_ptr_nonnull(parse_part(&late, &whole.parts[0], &diag));
	parse_free(&late);
	parse_free(&whole);
}
END_TEST

/* --- Through the driver --- */

/* In memory, and once more from disk. */
START_TEST(kernels_that_are_read_late_run)
{
	big_write(12, "");
	for (int round = 0; round < 3; round++) {
		ck_assert_int_eq(big_is_known(big_text), round > 0);
		CUmodule module = big_load(big_text);
		for (int i = 11; i >= 0; i -= 3) {
			ck_assert_uint_eq(big_run(module, i), 2 * (unsigned)(i + 7));
		}
		OK(cuModuleUnload(module));
		if (round == 1) {
			outline_forget();
		}
	}
}
END_TEST

/* Of the last name that is not there the hash has the 32 bits that k6 is found by. */
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
	FAILS(NOT_FOUND, cuModuleGetFunction(&function, module, "xumwkagc"));
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

/* Of a text that is not all there, once it is known: what is used. */
START_TEST(of_a_text_that_comes_as_it_is_read_little_is_read)
{
	CUjit_option option = CU_JIT_KUDZU_TEXT;
	struct sparse sparse;
	big_write(40, "");
	for (int round = 0; round < 3; round++) {
		CUmodule module = NULL;
		struct kudzu_text known = sparse_create(&sparse, big_text, strlen(big_text));
		void *value = &known;
		OK(cuModuleLoadDataEx(&module, sparse.text, 1, &option, &value));
		known.read = NULL; /* the driver has its own copy */
		ck_assert_uint_eq(big_run(module, 20), 2 * (20 + 7));
		if (round > 0) {
			ck_assert_uint_lt(sparse.bytes, sparse.size / 5);
		}
		for (int i = 39; i >= 0; i--) {
			ck_assert_uint_eq(big_run(module, i), 2 * (unsigned)(i + 7));
		}
		CUfunction function;
		FAILS(NOT_FOUND, cuModuleGetFunction(&function, module, "k40"));
		OK(cuModuleUnload(module));
		free(sparse.text);
		if (round == 1) {
			outline_forget();
		}
	}
}
END_TEST

/* Lines of it are told when a kernel goes out of bounds. */
START_TEST(a_text_whose_kernels_are_traced_is_there_as_a_whole)
{
	CUjit_option option = CU_JIT_KUDZU_TEXT;
	CUmodule module = NULL;
	struct sparse sparse;
	big_write(40, "");
	OK(cuModuleUnload(big_load(big_text)));
	setenv("KUDZU_CPU_GUARD", "end", 1);
	struct kudzu_text known = sparse_create(&sparse, big_text, strlen(big_text));
	void *value = &known;
	OK(cuModuleLoadDataEx(&module, sparse.text, 1, &option, &value));
	ck_assert_mem_eq(sparse.text, big_text, sparse.size);
	ck_assert_uint_eq(big_run(module, 20), 2 * (20 + 7));
	OK(cuModuleUnload(module));
	free(sparse.text);
}
END_TEST

/* A list of kernels that is of another text: the text is read whole. */
START_TEST(a_text_that_comes_as_it_is_read_may_be_another_one)
{
	CUjit_option option = CU_JIT_KUDZU_TEXT;
	CUmodule module = NULL;
	struct sparse sparse;
	big_write(8, "");
	OK(cuModuleUnload(big_load(big_text)));
	struct hash hash = hash_of(big_text, strlen(big_text));
	memmove(big_text + 20, big_text, strlen(big_text) - 20);
	memset(big_text, ' ', 20);
	struct kudzu_text known = sparse_create(&sparse, big_text, strlen(big_text));
	known.hash_high = hash.high;
	known.hash_low = hash.low;
	void *value = &known;
	OK(cuModuleLoadDataEx(&module, sparse.text, 1, &option, &value));
	ck_assert_uint_eq(big_run(module, 3), 20);
	ck_assert_uint_ge(sparse.bytes, sparse.size);
	OK(cuModuleUnload(module));
	free(sparse.text);
}
END_TEST

/* What the caller does to it afterwards is seen only where he has said that he does nothing. */
START_TEST(a_text_is_copied_unless_it_stays)
{
	CUjit_option option = CU_JIT_KUDZU_TEXT;
	CUmodule module = NULL;
	big_write(8, "");
	OK(cuModuleUnload(big_load(big_text)));
	struct hash hash = hash_of(big_text, strlen(big_text));
	struct kudzu_text known = {strlen(big_text), hash.high, hash.low, NULL, NULL};
	void *value = &known;
	OK(cuModuleLoadDataEx(&module, big_text, (unsigned)_i, &option, &value));
	char *number = strstr(big_text, "%r1, 3; st");
	ck_assert_ptr_nonnull(number);
	number[5] = '4';
	ck_assert_uint_eq(big_run(module, 3), _i ? 22 : 20);
	OK(cuModuleUnload(module));
}
END_TEST

/* Promise 5 holds for a text that is like a good one. */
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
			|| cuModuleEnumerateFunctions(functions, 12, shared) != CUDA_SUCCESS
			|| cuModuleGetFunction(functions, own, "k3") != CUDA_SUCCESS
			|| cuModuleUnload(own) != CUDA_SUCCESS ? "call" : NULL;
		if (turn % 2) {
			outline_forget();
		}
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

START_TEST(memory_may_run_out_when_a_kernel_is_read)
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

SUITE(outline)
{
	Suite *suite = suite_create("outline");
	TCase *parts = tcase_create("parts");
	tcase_add_test(parts, a_part_is_what_the_whole_has);
	tcase_add_test(parts, a_part_of_what_nvrtc_makes_is_what_the_whole_has);
	tcase_add_test(parts, what_comes_behind_a_kernel_is_not_seen_in_it);
	tcase_add_loop_test(parts, what_depends_on_a_kernel_is_read_whole, 0, countof(whole_rows));
	tcase_add_test(parts, parts_that_do_not_fit_are_refused);
	suite_add_tcase(suite, parts);
	TCase *driver = tcase_create("driver");
	tcase_add_checked_fixture(driver, big_setup, big_teardown);
	tcase_add_test(driver, kernels_that_are_read_late_run);
	tcase_add_test(driver, kernels_that_are_read_late_are_found_and_counted);
	tcase_add_test(driver, of_a_text_that_comes_as_it_is_read_little_is_read);
	tcase_add_test(driver, a_text_whose_kernels_are_traced_is_there_as_a_whole);
	tcase_add_test(driver, a_text_that_comes_as_it_is_read_may_be_another_one);
	tcase_add_loop_test(driver, a_text_is_copied_unless_it_stays, 0, 2);
	tcase_add_test(driver, what_is_set_for_a_kernel_of_a_library_holds_when_it_is_read_late);
	tcase_add_test(driver, threads_may_read_kernels_at_once);
	tcase_add_test(driver, memory_may_run_out_when_a_kernel_is_read);
	suite_add_tcase(suite, driver);
	return suite;
}
