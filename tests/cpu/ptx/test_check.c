/* SPDX-License-Identifier: MIT */
/*
 * src/cpu/ptx/check.c, by golden folders: every tests/data/ptx/valid/NAME/input.ptx passes the
 * parser, the checker and the graph builder, and looks as `expected` says; every
 * tests/data/ptx/invalid/NAME/input.ptx fails with the place and message in `error`.
 * KUDZU_GOLDEN=write writes these files anew.
 */
#include "base/common.h"
#include "base/file.h"
#include "base/alloc.h"
#include "base/str.h"
#include "cpu/ir/cfg.h"
#include "cpu/ptx/check.h"
#include "cpu/ir/flatten.h"
#include "cpu/ptx/parse.h"
#include "support/suite.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef KZ_TEST_DIR
#define KZ_TEST_DIR "tests"
#endif
#define VALID KZ_TEST_DIR "/data/ptx/valid"
#define INVALID KZ_TEST_DIR "/data/ptx/invalid"

enum { MAX_CASES = 256 };

/* Names of the folders, sorted; filled in before Check forks. */
struct cases {
	char names[MAX_CASES][64];
	int count;
};

static struct cases valid, invalid;
static struct ptx_module module;

static void teardown(void)
{
	parse_free(&module);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void find_cases(struct cases *cases, const char *folder)
{
	DIR *dir = opendir(folder);
	cases->count = 0;
	for (struct dirent *e; dir && cases->count < MAX_CASES && (e = readdir(dir));) {
		size_t len = strlen(e->d_name);
		if (e->d_name[0] != '.' && len < sizeof(cases->names[0])) {
			memcpy(cases->names[cases->count++], e->d_name, len + 1);
		}
	}
	if (dir) {
		closedir(dir);
	}
	qsort(cases->names, (size_t)cases->count, sizeof(cases->names[0]), by_name);
}

/* The text of a file in a case's folder, NULL if there is none. */
static char *read_case(const char *folder, const char *name, const char *file)
{
	char path[512], *text = NULL;
	size_t size;
	snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file);
	return file_read(&text, &size, path, NULL) ? NULL : text;
}

static void compare(const char *folder, const char *name, const char *file, const char *got)
{
	const char *mode = getenv("KUDZU_GOLDEN");
	char path[512];
	snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file);
	if (mode && strcmp(mode, "write") == 0) {
		FILE *out = fopen(path, "w");
		ck_assert_ptr_nonnull(out);
		ck_assert_int_ge(fputs(got, out), 0);
		ck_assert_int_eq(fclose(out), 0);
		return;
	}
	char *expected = read_case(folder, name, file);
	ck_assert_msg(expected != NULL, "%s is missing", path);
	ck_assert_msg(strcmp(got, expected) == 0, "%s: got:\n%s", path, got);
	mem_free(expected);
}

/* Instructions of the kernels that have come as far as flatten.c, which replaces some. */
static bool seen[PTX_OP_COUNT];

static void see(const struct ptx_func *func)
{
	for (size_t i = 0; i < func->inst_count; i++) {
		seen[func->insts[i].op] = true;
	}
}

static bool run(const char *text, struct ptx_diag *diag)
{
	bool ok = parse_module(&module, text, strlen(text), diag) && check_module(&module, diag);
	for (size_t i = 0; ok && i < module.func_count; i++) {
		see(module.funcs[i]);
	}
	ok = ok && flatten_module(&module, diag);
	for (size_t i = 0; ok && i < module.func_count; i++) {
		ok = cfg_build(&module, module.funcs[i], diag);
	}
	return ok;
}

static void run_case(const char *folder, const char *name, bool want, struct ptx_diag *diag)
{
	char *text = read_case(folder, name, "input.ptx");
	ck_assert_msg(text != NULL, "%s/%s/input.ptx is missing", folder, name);
	*diag = (struct ptx_diag){.line = 0};
	bool ok = run(text, diag);
	mem_free(text);
	ck_assert_msg(ok == want, "%s/%s: %d:%d: %s", folder, name, diag->line, diag->column,
		ok ? "accepted" : diag->message);
}

static void dump_var(struct str *out, const struct ptx_var *var)
{
	static const char *const spaces[] = {"generic", "const", "global", "local", "param",
		"shared"};
	str_addf(out, "  %s %s .%s size %zu align %zu offset %zu%s%s", spaces[var->space],
		var->name, ptx_type_name(var->type), var->size, var->align, var->offset,
		var->is_extern ? " extern" : "", var->is_managed ? " managed" : "");
	for (size_t i = 0; var->init && i < var->size; i++) {
		str_addf(out, "%s%02x", i ? "" : " = ", var->init[i]);
	}
	for (size_t i = 0; i < var->reloc_count; i++) {
		str_addf(out, " @%zu:%s%+lld", var->relocs[i].offset, var->relocs[i].var->name,
			(long long)var->relocs[i].addend);
	}
	str_addc(out, '\n');
}

static void dump_func(struct str *out, const struct ptx_func *func)
{
	str_addf(out, "%s %s: params %zu local %zu shared %zu regs %zu\n",
		func->is_extern ? "extern" : func->is_entry ? "entry" : "func", func->name,
		func->param_size, func->local_size, func->shared_size, func->reg_count);
	for (size_t i = 0; i < func->param_count; i++) {
		dump_var(out, func->params[i]);
	}
	for (size_t i = 0; i < func->var_count; i++) {
		dump_var(out, func->vars[i]);
	}
	for (size_t i = 0; i < func->block_count; i++) {
		const struct ptx_block *block = &func->blocks[i];
		str_addf(out, "  block %zu: lines %d to %d ->", i, func->insts[block->first].line,
			func->insts[block->end - 1].line);
		for (size_t j = 0; j < block->succ_count; j++) {
			str_addf(out, " %zu", block->succ[j]);
		}
		str_addc(out, '\n');
	}
}

START_TEST(check_accepts)
{
	struct ptx_diag diag;
	struct str dump = STR_INIT;
	const char *name = valid.names[_i];
	run_case(VALID, name, true, &diag);
	str_addf(&dump, "version %d target %d\n", module.version, module.target);
	for (size_t i = 0; i < module.var_count; i++) {
		dump_var(&dump, module.vars[i]);
	}
	for (size_t i = 0; i < module.func_count; i++) {
		dump_func(&dump, module.funcs[i]);
	}
	compare(VALID, name, "expected", dump.data);
	str_free(&dump);
}
END_TEST

START_TEST(check_refuses)
{
	struct ptx_diag diag;
	char got[400];
	run_case(INVALID, invalid.names[_i], false, &diag);
	snprintf(got, sizeof(got), "%d:%d: %s%s\n", diag.line, diag.column,
		diag.unsupported ? "unsupported: " : "", diag.message);
	compare(INVALID, invalid.names[_i], "error", got);
}
END_TEST

START_TEST(check_has_an_example_of_every_instruction)
{
	struct ptx_diag diag;
	run_case(VALID, "every_instruction", true, &diag);
	for (size_t i = 0; i < PTX_OP_COUNT; i++) {
		bool is_internal = ptx_rows[i].spelling[0] == '#';
		ck_assert_msg(seen[i] || is_internal || ptx_rows[i].unsupported, "row %zu: %s", i,
			ptx_rows[i].spelling);
	}
}
END_TEST

/* With one instruction less or one token more, every example is still answered, not crashed on. */
START_TEST(check_survives_tokens_that_are_missing)
{
	char *text = read_case(VALID, "every_instruction", "input.ptx");
	ck_assert_ptr_nonnull(text);
	for (char *p = text; *p; p += strcspn(p, " \n") + 1) {
		size_t len = strcspn(p, " \n");
		char saved[128];
		if (len == 0 || len >= sizeof(saved)) {
			continue;
		}
		struct ptx_diag diag = {.line = 0};
		memcpy(saved, p, len);
		memset(p, ' ', len);
		ck_assert(run(text, &diag) || diag.line > 0);
		parse_free(&module);
		memcpy(p, saved, len);
		if (!p[len]) {
			break;
		}
	}
	mem_free(text);
}
END_TEST

/* The letters of operands tell what an instruction touches; the kind must agree. */
START_TEST(check_kinds_agree_with_the_operands)
{
	for (int i = 0; i < PTX_OP_COUNT; i++) {
		enum ptx_op op = (enum ptx_op)i;
		const char *operands = ptx_rows[i].operands;
		bool touches = strpbrk(operands, "mSTocgltfCO");
		bool warp = ptx_rows[i].kind
			& (PTX_KIND_WARP | PTX_KIND_EXCHANGE | PTX_KIND_MATRIX);
		ck_assert_msg(!touches || !ptx_needs_no_memory(op), "%s", ptx_rows[i].spelling);
		ck_assert_msg(!ptx_computes(op) || operands[0] != '!', "%s", ptx_rows[i].spelling);
		ck_assert_msg(operands[0] == '!' || (!warp && !ptx_is_barrier(op)), "%s",
			ptx_rows[i].spelling);
		ck_assert_int_eq(ptx_is_video(op), ptx_rows[i].spelling[0] == 'v'
			&& strchr(operands, 'v') && op != PTX_OP_VMAD);
	}
	ck_assert(ptx_computes(PTX_OP_VADD) && !ptx_computes(PTX_OP_ISSPACEP));
	ck_assert(ptx_is_barrier(PTX_OP_BARRIER_SYNC) && !ptx_is_barrier(PTX_OP_BAR_WARP_SYNC));
	ck_assert(ptx_is_collective(PTX_OP_MMA_F16) && !ptx_is_collective(PTX_OP_ACTIVEMASK));
	ck_assert(ptx_type_is_stored(PTX_BF16X2) && !ptx_type_is_stored(PTX_TF32));
}
END_TEST

START_TEST(check_names_every_type_and_finds_it_again)
{
	for (int i = PTX_PRED; i < PTX_TYPE_COUNT; i++) {
		const char *name = ptx_type_name((enum ptx_type)i);
		ck_assert_int_eq(ptx_type_find(name, strlen(name)), i);
		ck_assert_uint_eq(ptx_type_size((enum ptx_type)i) * 8,
			i == PTX_PRED ? 8 : ptx_type_bits((enum ptx_type)i));
	}
	ck_assert_int_eq(ptx_type_find("u3", 2), PTX_NONE);
	ck_assert_int_eq(ptx_type_find("", 0), PTX_NONE);
}
END_TEST

SUITE(check)
{
	Suite *s = suite_create("check");
	TCase *tc = tcase_create("golden");
	find_cases(&valid, VALID);
	find_cases(&invalid, INVALID);
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, check_accepts, 0, valid.count);
	tcase_add_loop_test(tc, check_refuses, 0, invalid.count);
	tcase_add_test(tc, check_has_an_example_of_every_instruction);
	tcase_add_test(tc, check_survives_tokens_that_are_missing);
	tcase_add_test(tc, check_names_every_type_and_finds_it_again);
	tcase_add_test(tc, check_kinds_agree_with_the_operands);
	suite_add_tcase(s, tc);
	return s;
}
