/* SPDX-License-Identifier: MIT */
/*
 * src/cpu/outline.c, parse_part.c, api_kernel.c: kernels that are read when they are asked for.  What
 * is read late must be what is read with all the rest: every part of a module is written as text
 * both ways and compared.
 */
#include "api.h"

#include "../src/base/file.h"
#include "../src/base/str.h"
#include "../src/cpu/outline.h"
#include "../src/cpu/parse.h"
#include "store_folder.h"

#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

Suite *outline_suite(void);

#define HEAD ".version 8.5\n.target sm_80\n.address_size 64\n.file 1 \"k.cu\"\n"

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

static char text[1 << 16];

static void setup_device(void)
{
	store_folder_create();
	setenv("KUDZU_CACHE", "1", 1);
	setenv("KUDZU_CACHE_DIR", store_path, 1);
	setup();
}

static void teardown_device(void)
{
	teardown();
	store_folder_remove();
}

/* --- A module as text --- */

static void tell_operand(struct str *out, const struct ptx_operand *o)
{
	str_addf(out, " (%d %d%d%d%d '%s' %u %u %d %u %lld %llx %s", o->kind, o->negated, o->minus,
		o->bracketed, o->has_base, o->select, o->reg, o->reg2, (int)o->sreg,
		o->real_width, (long long)o->value, (unsigned long long)o->real_bits,
		o->var ? o->var->name : o->func ? o->func->name : o->label ? o->label : "-");
	for (size_t i = 0; o->kind == PTX_VECTOR && i < o->count; i++) {
		tell_operand(out, &o->elements[i]);
	}
	str_addc(out, ')');
}

static void tell_vars(struct str *out, struct ptx_var *const *vars, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		str_addf(out, "%s: %d %d %zu %zu at %zu, line %d\n", vars[i]->name, vars[i]->space,
			vars[i]->type, vars[i]->size, vars[i]->align, vars[i]->offset,
			vars[i]->line);
	}
}

static void tell(struct str *out, const struct ptx_func *func)
{
	str_addf(out, "%zu %s line %d: %zu %zu %zu %d, %u %u\n", func->index, func->name,
		func->line, func->param_size, func->local_size, func->shared_size,
		func->uses_dynamic_shared, func->max_ntid[0], func->req_ntid[0]);
	tell_vars(out, func->params, func->param_count);
	tell_vars(out, func->vars, func->var_count);
	for (size_t i = 0; i < func->reg_count; i++) {
		str_addf(out, "%s %d\n", func->regs[i].name, func->regs[i].type);
	}
	for (size_t i = 0; i < func->label_count; i++) {
		str_addf(out, "%s %zu\n", func->labels[i].name, func->labels[i].inst);
	}
	for (size_t i = 0; i < func->inst_count; i++) {
		const struct ptx_inst *inst = &func->insts[i];
		str_addf(out, "%d:%d %s %d %d%d %u %d:%d", inst->line, inst->column, inst->text,
			inst->space, inst->has_guard, inst->guard_negated, inst->guard,
			inst->source_file, inst->source_line);
		for (size_t k = 0; k < inst->operand_count; k++) {
			tell_operand(out, &inst->operands[k]);
		}
		str_addc(out, '\n');
	}
}

static void parse(struct ptx_module *out, const char *ptx, size_t size)
{
	struct ptx_diag diag = {0};
	ck_assert_msg(parse_module(out, ptx, size, &diag), "%d: %s", diag.line, diag.message);
}

/* Every part, the last one first, against the same kernel in the whole; how many there are. */
static size_t compare_parts(const char *ptx, size_t size)
{
	struct ptx_module whole, late;
	struct ptx_diag diag = {0};
	struct str expected = STR_INIT, got = STR_INIT;
	parse(&whole, ptx, size);
	size_t count = whole.is_separable ? whole.part_count : 0;
	ck_assert(parse_outline(&late, ptx, size, whole.text_hash, whole.parts, count, &diag));
	ck_assert_uint_eq(late.func_count, whole.func_count);
	ck_assert_uint_eq(late.var_count, whole.var_count);
	for (size_t i = count; i-- > 0;) {
		const struct ptx_part *part = &whole.parts[i];
		ck_assert_ptr_nonnull(parse_part(&late, part, &diag));
		ck_assert_str_eq(late.funcs[part->index]->name, whole.funcs[part->index]->name);
	}
	for (size_t i = 0; i < whole.func_count; i++) {
		tell(&expected, whole.funcs[i]);
		tell(&got, late.funcs[i]);
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

static const char globals[] =
	".visible .global .align 4 .u32 step = 7;\n"
	".shared .align 4 .b32 common[16];\n"
	".func (.param .b32 r) twice(.param .b32 x)\n"
	"{ .reg .b32 %a; ld.param.b32 %a, [x]; add.s32 %a, %a, %a; st.param.b32 [r], %a; ret; }\n";

/* Writes 2 * (number + step) to where the parameter says, by way of a call and shared memory. */
static void write_kernel(struct str *out, int number)
{
	str_addf(out, "// kernel { %d\n.visible .entry k%d(.param .u64 p)\n{\n"
		".reg .b32 %%r<4>; .reg .b64 %%d<2>; .reg .pred %%q; .local .b32 spare[%d];\n"
		".loc 1 %d 3\n ld.param.u64 %%d1, [p];\n ld.global.u32 %%r1, [step];\n"
		"  add.s32 %%r1, %%r1, %d; st.shared.u32 [common+4], %%r1;\n"
		"{ .param .b32 a; .param .b32 b; st.param.b32 [a], %%r1;\n"
		"call (b), twice, (a); ld.param.b32 %%r2, [b]; }\n"
		"setp.eq.u32 %%q, %%r2, 0; @%%q bra later;\nst.global.u32 [%%d1], %%r2;\n"
		"later: ret;\n}\n", number, number, number + 1, number + 10, number);
}

/* With a comment that makes it as big as pays. */
static const char *write_module(int count, const char *behind)
{
	struct str out = STR_INIT;
	str_add(&out, HEAD);
	str_add(&out, globals);
	for (int i = 0; i < count; i++) {
		write_kernel(&out, i);
	}
	str_add(&out, behind);
	str_addf(&out, "// %08000d\n", 0);
	ck_assert_uint_lt(out.len, sizeof(text));
	memcpy(text, out.data, out.len + 1);
	str_free(&out);
	return text;
}

START_TEST(a_part_is_what_the_whole_has)
{
	write_module(8, ".extern .func f(); .global .u32 later; .visible .entry last() { ret; }\n");
	ck_assert_uint_eq(compare_parts(text, strlen(text)), 9);
}
END_TEST

/* What NVRTC makes of the sources in tests/cuda, as far as the parser takes it: the sum of what `count`
 * says of each; *files: how many there are. */
static size_t count_in_files(size_t (*count)(const char *ptx, size_t size), size_t *files)
{
	glob_t found = {.gl_pathc = 0};
	size_t sum = 0;
	*files = 0;
	ck_assert_int_eq(glob("build/ptx/*.75.ptx", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char *data = NULL;
		size_t size;
		struct ptx_module module;
		struct ptx_diag diag;
		ck_assert_int_eq(file_read(&data, &size, found.gl_pathv[i], NULL), KZ_OK);
		if (parse_module(&module, data, size, &diag)) {
			parse_free(&module);
			sum += count(data, size);
			++*files;
		}
		mem_free(data);
	}
	globfree(&found);
	return sum;
}

START_TEST(a_part_of_what_nvrtc_makes_is_what_the_whole_has)
{
	size_t files;
	ck_assert_uint_gt(count_in_files(compare_parts, &files), 50);
}
END_TEST

/* Labels of a name that the module gives away further down. */
START_TEST(what_comes_behind_a_kernel_is_not_seen_in_it)
{
	static const char ptx[] = HEAD
		".entry k(.param .u64 p) { .reg .b64 %d; mov.u64 %d, after;\n"
		"ld.param.u64 %d, [p]; ret; }\n.global .u32 after;\n";
	struct ptx_module module;
	struct ptx_diag diag = {0};
	ck_assert(!parse_module(&module, ptx, strlen(ptx), &diag));
	static const char good[] = HEAD
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
	snprintf(ptx, sizeof(ptx), HEAD "%s\n", whole_rows[_i]);
	parse(&module, ptx, strlen(ptx));
	ck_assert(!module.is_separable);
	parse_free(&module);
}
END_TEST

/* Parts of another text: said, and nothing is left behind. */
START_TEST(parts_that_do_not_fit_are_refused)
{
	struct ptx_module whole, late;
	struct ptx_diag diag = {0};
	write_module(4, "");
	parse(&whole, text, strlen(text));
	whole.parts[1].offset += 1;
	ck_assert(!parse_outline(&late, text, strlen(text), whole.text_hash, whole.parts, 4, &diag));
	whole.parts[1].offset -= 1;
	ck_assert(parse_outline(&late, text, strlen(text), whole.text_hash, whole.parts, 4, &diag));
	const struct ptx_part wrong[] = {{.offset = 0, .size = 20}, {.offset = 1 << 30, .size = 1},
		{.offset = 10, .size = SIZE_MAX}, {.offset = whole.parts[0].offset, .size = 60}};
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

/* Forget every other kernel. */
static enum parse_verdict judge_half(struct ptx_module *module, struct ptx_func *kernel,
	struct ptx_diag *diag)
{
	(void)module;
	(void)diag;
	return kernel->index % 2 ? PARSE_FORGET : PARSE_KEEP;
}

/* A survey finds the parts that the whole has, and what it keeps is what the whole has. */
static bool is_survey_right(const char *ptx, size_t size)
{
	struct ptx_module whole, survey;
	struct ptx_diag diag = {0};
	struct str expected = STR_INIT, got = STR_INIT;
	parse(&whole, ptx, size);
	bool same = parse_survey(&survey, ptx, size, whole.text_hash, judge_half, &diag);
	if (same) {
		same = survey.func_count == whole.func_count
			&& survey.part_count == whole.part_count
			&& memcmp(survey.parts, whole.parts,
				whole.part_count * sizeof(*whole.parts)) == 0;
	} else {
		same = !whole.is_separable && diag.message[0];
	}
	for (size_t i = 0; i < survey.func_count; i++) {
		bool forgotten = whole.funcs[i]->is_entry && i % 2;
		tell(&expected, forgotten ? survey.funcs[i] : whole.funcs[i]);
		tell(&got, survey.funcs[i]);
		same &= !forgotten || (survey.funcs[i]->inst_count == 0
			&& strcmp(survey.funcs[i]->name, whole.funcs[i]->name) == 0);
	}
	same = same && got.len == expected.len
		&& (got.len == 0 || memcmp(got.data, expected.data, got.len) == 0);
	str_free(&expected);
	str_free(&got);
	parse_free(&survey);
	parse_free(&whole);
	return same;
}

START_TEST(a_survey_finds_what_the_whole_has)
{
	char ptx[256];
	write_module(9, ".visible .entry last() { ret; }\n");
	ck_assert(is_survey_right(text, strlen(text)));
	for (size_t i = 0; i < countof(whole_rows); i++) {
		snprintf(ptx, sizeof(ptx), HEAD "%s\n", whole_rows[i]);
		ck_assert(is_survey_right(ptx, strlen(ptx)));
	}
}
END_TEST

static size_t is_survey_wrong(const char *ptx, size_t size)
{
	return !is_survey_right(ptx, size);
}

START_TEST(a_survey_of_what_nvrtc_makes_finds_what_the_whole_has)
{
	size_t files;
	ck_assert_uint_eq(count_in_files(is_survey_wrong, &files), 0);
	ck_assert_uint_gt(files, 20);
}
END_TEST

/* --- Through the driver --- */

static CUmodule load_text(const char *ptx)
{
	CUmodule module = NULL;
	OK(cuModuleLoadData(&module, ptx));
	return module;
}

/* What kernel `number` computes. */
static uint32_t run(CUmodule module, int number)
{
	char name[16];
	uint32_t value = 0;
	CUdeviceptr at = alloc(sizeof(value));
	void *params[] = {&at};
	snprintf(name, sizeof(name), "k%d", number);
	OK(cuLaunchKernel(kernel(module, name), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH_v2(&value, at, sizeof(value)));
	OK(cuMemFree_v2(at));
	return value;
}

static bool is_known(const char *ptx)
{
	struct outline *outline = outline_find(strlen(ptx), hash_of(ptx, strlen(ptx)));
	outline_release(outline);
	return outline != NULL;
}

/* In memory, and once more from disk. */
START_TEST(kernels_that_are_read_late_run)
{
	write_module(12, "");
	for (int round = 0; round < 3; round++) {
		ck_assert_int_eq(is_known(text), round > 0);
		CUmodule module = load_text(text);
		for (int i = 11; i >= 0; i -= 3) {
			ck_assert_uint_eq(run(module, i), 2 * (unsigned)(i + 7));
		}
		OK(cuModuleUnload(module));
		if (round == 1) {
			outline_forget();
		}
	}
}
END_TEST

START_TEST(kernels_that_are_read_late_are_found_and_counted)
{
	CUfunction functions[9], function = NULL;
	const char *name;
	unsigned count;
	write_module(8, "");
	OK(cuModuleUnload(load_text(text)));
	CUmodule module = load_text(text);
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

/* What the caller does to it afterwards is seen only where he has said that he does nothing. */
START_TEST(a_text_is_copied_unless_it_stays)
{
	CUjit_option option = CU_JIT_KUDZU_TEXT;
	CUmodule module = NULL;
	write_module(8, "");
	OK(cuModuleUnload(load_text(text)));
	struct hash hash = hash_of(text, strlen(text));
	struct kudzu_text known = {strlen(text), hash.high, hash.low};
	void *value = &known;
	OK(cuModuleLoadDataEx(&module, text, (unsigned)_i, &option, &value));
	char *number = strstr(text, "%r1, 3; st");
	ck_assert_ptr_nonnull(number);
	number[5] = '4';
	ck_assert_uint_eq(run(module, 3), _i ? 22 : 20);
	OK(cuModuleUnload(module));
}
END_TEST

/* Promise 5 holds for a text that is like a good one. */
START_TEST(what_cannot_run_is_refused_each_time)
{
	CUmodule module = NULL;
	write_module(8, ".entry bad() { wgmma.fence.sync.aligned; ret; }\n");
	for (int i = 0; i < 3; i++) {
		FAILS(NOT_SUPPORTED, cuModuleLoadData(&module, text));
		ck_assert(!is_known(text));
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
	snprintf(ptx, sizeof(ptx), HEAD "%s%s%s", globals, faults[_i], open ? "// 0\n" : "");
	load_bad(small, &small_line, ptx);
	write_module(8, faults[_i]);
	load_bad(big, &big_line, text);
	ck_assert_str_eq(big, small);
	write_module(8, "");
	for (const char *at = strstr(text, "// kernel"); (at = strchr(at, '\n')) != NULL; at++) {
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
		snprintf(behind, sizeof(behind), ".entry l%ld() { ret; }\n", n); /* a new text */
		write_module(8, behind);
		mem_fail_after(n);
		result = cuModuleLoadData(&module, text);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(result == CUDA_SUCCESS || (failed && result == CUDA_ERROR_OUT_OF_MEMORY));
		if (module) {
			ck_assert_uint_eq(run(module, 3), 20);
			OK(cuModuleUnload(module));
		}
	}
	ck_assert(is_known(text));
}
END_TEST

START_TEST(what_is_set_for_a_kernel_of_a_library_holds_when_it_is_read_late)
{
	CUlibrary library;
	CUkernel found;
	CUfunction function;
	int value = 0;
	write_module(8, "");
	OK(cuModuleUnload(load_text(text)));
	OK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
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
		wrong = cuModuleLoadData(&own, text) != CUDA_SUCCESS
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
	write_module(12, "");
	OK(cuModuleUnload(load_text(text)));
	CUmodule shared = load_text(text);
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, use, shared), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &said);
		wrong = said ? said : wrong;
	}
	ck_assert_msg(!wrong, "%s", (const char *)wrong);
	for (int i = 0; i < 12; i++) {
		ck_assert_uint_eq(run(shared, i), 2 * (unsigned)(i + 7));
	}
	OK(cuModuleUnload(shared));
}
END_TEST

START_TEST(memory_may_run_out_when_a_kernel_is_read)
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	CUfunction functions[8];
	write_module(8, "");
	OK(cuModuleUnload(load_text(text)));
	for (long n = 0; result != CUDA_SUCCESS; n++) {
		CUmodule module = NULL;
		mem_fail_after(n);
		result = cuModuleLoadData(&module, text);
		if (result == CUDA_SUCCESS) {
			result = cuModuleEnumerateFunctions(functions, 8, module);
		}
		mem_fail_after(-1);
		ck_assert(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
		if (module) {
			ck_assert_uint_eq(run(module, 3), 20);
			OK(cuModuleUnload(module));
		}
	}
}
END_TEST

Suite *outline_suite(void)
{
	Suite *suite = suite_create("outline");
	TCase *parts = tcase_create("parts");
	tcase_add_test(parts, a_part_is_what_the_whole_has);
	tcase_add_test(parts, a_part_of_what_nvrtc_makes_is_what_the_whole_has);
	tcase_add_test(parts, what_comes_behind_a_kernel_is_not_seen_in_it);
	tcase_add_loop_test(parts, what_depends_on_a_kernel_is_read_whole, 0, countof(whole_rows));
	tcase_add_test(parts, parts_that_do_not_fit_are_refused);
	tcase_add_test(parts, a_survey_finds_what_the_whole_has);
	tcase_add_test(parts, a_survey_of_what_nvrtc_makes_finds_what_the_whole_has);
	suite_add_tcase(suite, parts);
	TCase *driver = tcase_create("driver");
	tcase_add_checked_fixture(driver, setup_device, teardown_device);
	tcase_add_test(driver, kernels_that_are_read_late_run);
	tcase_add_test(driver, kernels_that_are_read_late_are_found_and_counted);
	tcase_add_loop_test(driver, a_text_is_copied_unless_it_stays, 0, 2);
	tcase_add_test(driver, what_cannot_run_is_refused_each_time);
	tcase_add_loop_test(driver, a_fault_is_told_as_in_a_small_text, 0, countof(faults));
	tcase_add_test(driver, memory_may_run_out_in_a_survey);
	tcase_add_test(driver, what_is_set_for_a_kernel_of_a_library_holds_when_it_is_read_late);
	tcase_add_test(driver, threads_may_read_kernels_at_once);
	tcase_add_test(driver, memory_may_run_out_when_a_kernel_is_read);
	suite_add_tcase(suite, driver);
	return suite;
}
