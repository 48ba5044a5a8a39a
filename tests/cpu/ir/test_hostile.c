/* SPDX-License-Identifier: MIT */
/*
 * Hostile PTX: cut off anywhere, damaged, deep, huge, ambiguous.  It is refused with its line, or
 * it loads and takes memory in proportion to its text.
 */
#include "cpu/support/api.h"
#include "cpu/random/gen.h"

#include "base/str.h"
#include "cpu/ir/flatten.h"
#include "cpu/ir/ssa.h"
#include "cpu/ptx/check.h"
#include "cpu/ptx/parse.h"
#include "support/count.h"
#include "support/suite.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define HEADER ".version 8.0\n.target sm_89\n.address_size 64\n"

/* What a text of this size may take, in all: structures of its parts, with their growth. */
static long bound(size_t size)
{
	return (long)(400 * size + (8 << 20));
}

/* As loading does it, all kernels.  A failure has a place and a reason. */
static void load_text(const char *text, size_t size)
{
	struct ptx_module module;
	struct ptx_diag diag = {.line = 0};
	mem_fail_beyond(bound(size));
	bool ok = parse_module(&module, text, size, &diag) && check_module(&module, &diag);
	for (size_t i = 0; ok && i < module.func_count; i++) {
		ok = ssa_prepare(&module, module.funcs[i], &diag);
	}
	mem_fail_beyond(-1);
	ck_assert(!diag.no_memory);
	ck_assert_msg(ok || (diag.line > 0 && diag.column > 0 && diag.message[0]),
		"%d:%d: %s in\n%s", diag.line, diag.column, diag.message, text);
	parse_free(&module);
}

static struct str read_file(const char *path)
{
	struct str text = STR_INIT;
	char part[4096];
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	for (size_t got; (got = fread(part, 1, sizeof(part), file)) > 0;) {
		str_addn(&text, part, got);
	}
	fclose(file);
	ck_assert(!text.failed);
	return text;
}

/* The samples, one after another. */
static void each_sample(void (*visit)(struct str *text))
{
	glob_t found;
	ck_assert_int_eq(glob(KZ_TEST_DIR "/data/ptx/*/*/input.ptx", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct str text = read_file(found.gl_pathv[i]);
		if (text.len > 0) {
			visit(&text);
		}
		str_free(&text);
	}
	globfree(&found);
}

/* In memory of just that size, so that a sanitizer sees a look beyond the end. */
static void load_copy(const char *text, size_t size)
{
	char *copy = malloc(size + 1);
	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, size);
	copy[size] = '\0';
	load_text(copy, size);
	free(copy);
}

static void cut_everywhere(struct str *text)
{
	/* The time grows with the square. */
	size_t step = 1 + text->len / (size_t)support_how_many(8192, 1024, 256);
	for (size_t size = 0; size < text->len; size += step) {
		load_copy(text->data, size);
	}
}

START_TEST(a_text_may_end_anywhere)
{
	each_sample(cut_everywhere);
}
END_TEST

/* Damage of one place: other bytes, a part left out, a part twice, a part of elsewhere. */
static void damage(struct str *out, const struct str *text, uint64_t *random)
{
	size_t at = gen_random(random) % text->len;
	size_t len = 1 + gen_random(random) % 12;
	size_t from = gen_random(random) % text->len;
	len = at + len > text->len ? text->len - at : len;
	len = from + len > text->len ? text->len - from : len;
	str_clear(out);
	str_addn(out, text->data, at);
	switch (gen_random(random) % 4) {
	case 0:
		for (size_t i = 0; i < len; i++) {
			str_addc(out, (char)(gen_random(random) | 1));
		}
		break;
	case 1:
		break;
	case 2:
		str_addn(out, text->data + at, len);
		str_addn(out, text->data + at, len);
		break;
	default:
		str_addn(out, text->data + from, len);
		break;
	}
	str_addn(out, text->data + at + len, text->len - at - len);
}

static void damage_often(struct str *text)
{
	struct str out = STR_INIT;
	uint64_t random = text->len;
	for (int i = 0; i < support_how_many(1000, 100, 20); i++) {
		damage(&out, text, &random);
		load_copy(out.data, out.len);
	}
	str_free(&out);
}

START_TEST(a_text_may_be_damaged_anywhere)
{
	each_sample(damage_often);
}
END_TEST

START_TEST(random_bytes_are_refused)
{
	uint64_t random = 1;
	for (int i = 0; i < 2000; i++) {
		char text[300] = HEADER;
		size_t start = i % 2 ? strlen(HEADER) : 0;
		for (size_t k = start; k + 1 < sizeof(text); k++) {
			text[k] = (char)(gen_random(&random) | 1);
		}
		load_copy(text, sizeof(text) - 1);
	}
}
END_TEST

/* A head, a part many times with its number, a tail. */
static const struct pile {
	const char *head;
	const char *part;
	int count;
	const char *tail;
	const char *error;    /* NULL: it loads */
	int line;
} piles[] = {
	{".entry k()\n{", "{", 300000, "", "expected '}'", 5},
	{".entry k() {", "{ }", 100000, " ret; }", NULL, 0},
	{".global .b32 a[2] = ", "{", 300000, "", "too many braces", 4},
	{".global .b32 a = ", "(", 300000, "1;", "nested too deeply", 4},
	{".entry k() { add", ".u32", 100000, " %a; }", "too many parts", 4},
	{".entry k() {\n", "L%d: ", 300000, "L7: ret; }", "L7", 5},
	{".entry k() {\n", "L%d: ", 300000, " ret; }", NULL, 0},
	{".entry k() {\n", ".reg .b32 %%r%d;", 100000, ".reg .b64 %r500; ret; }", "%r500", 5},
	{".entry k() {\n", ".reg .b32 %%r%d<65000>;", 5000, " ret; }", NULL, 0},
	{".entry k() { T: .branchtargets L", ", L", 200000, "; brx.idx 0, T; L: ret; }", NULL, 0},
	{".entry k() {\n.reg .pred %p; L0:", "@%%p bra L0;\n", 50000, "ret; }", NULL, 0},
	{"", ".global .u32 v%d;\n", 100000, ".global .u32 v9;\n", "v9", 100004},
	{"", ".entry k%d() { ret; }\n", 50000, ".entry k9() { ret; }", "k9", 50004},
	{".entry k(.param .u32 p", ", .param .u32 p%d", 50000, ") { ret; }",
		"bytes of parameters", 4},
	{"//", "/*", 300000, "\n$", "$", 5},
	{"/*", " /*", 300000, "", "comment", 4},
	{".entry k() { .reg .u64 %r; ld.u64 %r, [%r+", "9", 300000, "]; }", "not a valid number",
		4},
};

static void pile_up(struct str *text, const struct pile *pile)
{
	str_addf(text, HEADER "%s", pile->head);
	for (int i = 0; i < pile->count; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		str_addf(text, pile->part, i);
#pragma GCC diagnostic pop
	}
	str_add(text, pile->tail);
	ck_assert(!text->failed);
}

/* Through the driver: what it answers, what its log says, and within bounds. */
static void expect_load(const char *text, const char *error, int line)
{
	CUmodule module;
	char place[64];
	mem_fail_beyond(bound(strlen(text)));
	CUresult result = cuModuleLoadData(&module, text);
	mem_fail_beyond(-1);
	if (!error) {
		OK(result);
		OK(cuModuleUnload(module));
		return;
	}
	FAILS(INVALID_PTX, result);
	snprintf(place, sizeof(place), "line %d; error", line);
	check_log(place);
	check_log(error);
}

START_TEST(much_of_anything_takes_memory_in_proportion)
{
	struct str text = STR_INIT;
	pile_up(&text, &piles[_i]);
	expect_load(text.data, piles[_i].error, piles[_i].line);
	str_free(&text);
}
END_TEST

/* Functions that call each other in a row, the first in front of the others: each part has its
 * number and the number before it. */
static const struct {
	const char *first;
	const char *part;
	int count;
} calls[] = {
	{".func f0() { ret; }\n", ".func f%d() { call f%d; ret; }\n", 20000},
	{".func f0() { ret; }\n", ".func f%1$d() { call f%2$d; call f%2$d; ret; }\n", 2500},
	{".func (.param .b32 r) f0(.param .b32 x) { ret; }\n",
		".func (.param .b32 r) f%d(.param .b32 x) { .reg .b32 %%r; .param .b32 a;\n"
		".param .b32 b; ld.param.b32 %%r, [x]; st.param.b32 [a], %%r; call (b), f%d, (a);\n"
		"ld.param.b32 %%r, [b]; add.s32 %%r, %%r, 1; st.param.b32 [r], %%r; ret; }\n",
		15000},
};

static void write_calls(struct str *text, int row, int count)
{
	static const char *const parts[] = {"", "", ".param .b32 a; .param .b32 b; "};
	static const char *const results[] = {"", "", "(b), "};
	static const char *const arguments[] = {"", "", ", (a)"};
	str_addf(text, HEADER "%s", calls[row].first);
	for (int i = 1; i <= count; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		str_addf(text, calls[row].part, i, i - 1);
#pragma GCC diagnostic pop
	}
	str_addf(text, ".entry k() { %scall %sf%d%s; ret; }", parts[row], results[row], count,
		arguments[row]);
}

/* What lives between blocks is the square of them, here. */
START_TEST(calls_take_memory_in_proportion)
{
	struct ptx_module module;
	struct ptx_diag diag = {.line = 0};
	struct str text = STR_INIT;
	write_calls(&text, _i, calls[_i].count);
	mem_fail_beyond(bound(text.len));
	bool ok = parse_module(&module, text.data, text.len, &diag) && check_module(&module, &diag)
		&& flatten_module(&module, &diag)
		&& ssa_prepare(&module, module.funcs[module.func_count - 1], &diag);
	mem_fail_beyond(-1);
	ck_assert_msg(ok, "%d: %s", diag.line, diag.message);
	parse_free(&module);
	str_free(&text);
}
END_TEST

/* With what LLVM takes, and what is lost between pieces of memory. */
START_TEST(a_chain_of_calls_is_compiled_in_memory_in_proportion)
{
	CUmodule small, module;
	CUfunction function;
	struct rusage before, after;
	struct str text = STR_INIT;
	write_calls(&text, 0, 8000);
	OK(cuModuleLoadData(&small, HEADER ".entry k() { ret; }"));
	OK(cuModuleGetFunction(&function, small, "k"));
	getrusage(RUSAGE_SELF, &before);
	OK(cuModuleLoadData(&module, text.data));
	OK(cuModuleGetFunction(&function, module, "k"));
	getrusage(RUSAGE_SELF, &after);
#ifndef __SANITIZE_ADDRESS__
	ck_assert_int_lt((after.ru_maxrss - before.ru_maxrss) * 1024, 100 * (long)text.len);
#endif
	OK(cuModuleUnload(module));
	OK(cuModuleUnload(small));
	str_free(&text);
}
END_TEST

/* Small texts that ask for much, or name what is not there. */
static const struct {
	const char *text;
	const char *error;
	int line;
} demands[] = {
	{".entry k() { .reg .b32 %r<4294967295>; ret; }", NULL, 0},
	{".entry k() {\n.reg .b32 %r<18446744073709551616>; ret; }", "18446744073709551616", 5},
	{".global .b64 a[4294967296][4294967296][16];", "does not fit", 4},
	{".global .b8 a[4294967296] = {1};", "too large", 4},
	{".global .align 1152921504606846976 .b8 a[1];", "alignment", 4},
	{".file 4294967295 \"a\"", "4294967295", 4},
	{".entry k()\n{\nbra L;\n}", "L", 6},
	{".entry k()\n{\n.reg .u32 %r; mov.u32 %r, a;\n}", "a", 6},
	{".entry k()\n{\nret;\n}\n.entry k()\n{\nret;\n}", "k", 8},
	{".global .u64 p = q;", "q", 4},
	{".entry k(.param .u32 a, .param .u32 a)\n{\nret;\n}", "a", 4},
};

START_TEST(absurd_demands_are_refused)
{
	char text[512];
	snprintf(text, sizeof(text), HEADER "%s\n", demands[_i].text);
	expect_load(text, demands[_i].error, demands[_i].line);
}
END_TEST

/* Sizes that are valid, and that no device has. */
START_TEST(what_does_not_fit_the_device_is_refused_in_time)
{
	static const struct {
		const char *text;
		CUresult result;
	} giants[] = {
		{".global .b8 a[1152921504606846976];\n.entry k() { ret; }",
			CUDA_ERROR_OUT_OF_MEMORY},
		{".shared .b8 a[16777215];\n.entry k() { .reg .b64 %r; mov.u64 %r, a; "
			"st.u8 [%r], 1; ret; }", CUDA_ERROR_INVALID_PTX},
		{".entry k() { .local .b8 a[1125899906842624]; .reg .b64 %r; mov.u64 %r, a; "
			"st.u8 [%r], 1; ret; }", CUDA_ERROR_OUT_OF_MEMORY},
	};
	char text[512];
	CUmodule module;
	CUfunction function;
	snprintf(text, sizeof(text), HEADER "%s\n", giants[_i].text);
	CUresult result = cuModuleLoadData(&module, text);
	if (result == CUDA_SUCCESS) {
		result = cuModuleGetFunction(&function, module, "k");
	}
	if (result == CUDA_SUCCESS) {
		result = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	}
	if (result == CUDA_SUCCESS) {
		result = cuCtxSynchronize();
	}
	ck_assert_int_eq(result, giants[_i].result);
}
END_TEST

/* Leave one page free near the libraries, and then nothing for 16 GiB: what is bigger than a page
 * ends up far from what is not. */
static void scatter_memory(void)
{
	const size_t page = 4096, far = (size_t)1 << 34;
	char *hole = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *wall = mmap(NULL, far, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert(hole != MAP_FAILED && wall != MAP_FAILED);
	for (size_t size = far; size > page; size = size > 2 * page ? size / 2 : page) {
		char *filled = wall + 1;
		while (filled > wall) {
			filled = mmap(NULL, size, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
			ck_assert_ptr_ne(filled, MAP_FAILED);
		}
		munmap(filled, size);
	}
	munmap(hole + page, page);
}

/* Threads go on where they waited, by a branch among 200 places. */
START_TEST(code_and_its_data_may_be_far_apart)
{
	struct str text = STR_INIT;
	CUmodule module;
	CUdeviceptr out = alloc(8);
	uint64_t sum = 0;
	str_add(&text, HEADER ".visible .entry k(.param .u64 out) {\n"
		".reg .b64 %d<3>; ld.param.u64 %d0, [out]; mov.u64 %d1, 0;\n");
	for (int i = 0; i < 200; i++) {
		str_addf(&text, "bar.sync 0; add.u64 %%d1, %%d1, %d;\n", i);
	}
	str_add(&text, "st.u64 [%d0], %d1; ret; }\n");
	OK(cuModuleLoadData(&module, text.data));
	scatter_memory();
	OK(cuLaunchKernel(kernel(module, "k"), 1, 1, 1, 64, 1, 1, 0, NULL, (void *[]){&out}, NULL));
	OK(cuMemcpyDtoH_v2(&sum, out, 8));
	ck_assert_uint_eq(sum, 199 * 200 / 2);
	str_free(&text);
}
END_TEST

SUITE(hostile)
{
	Suite *suite = suite_create("hostile");
	TCase *tc = suite_add_case(suite, "damage");
	tcase_set_timeout(tc, 120);
	tcase_add_tests(tc, 1, a_text_may_end_anywhere, a_text_may_be_damaged_anywhere,
		random_bytes_are_refused);

	tc = add_case(suite, "size", setup, teardown);
	tcase_add_loop_test(tc, much_of_anything_takes_memory_in_proportion, 0, countof(piles));
	tcase_add_loop_test(tc, absurd_demands_are_refused, 0, countof(demands));
	tcase_add_loop_test(tc, calls_take_memory_in_proportion, 0, countof(calls));
	tcase_add_test(tc, a_chain_of_calls_is_compiled_in_memory_in_proportion);
	tcase_add_test(tc, code_and_its_data_may_be_far_apart);
	tcase_add_loop_test(tc, what_does_not_fit_the_device_is_refused_in_time, 0, 3);
	return suite;
}
