/* SPDX-License-Identifier: MIT */
/*
 * src/cpu/ir/flatten.c and flat_*.c: the memory, labels and instructions of the functions that a
 * kernel calls, after flattening.  test_emit_call.c tests what the result computes.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "cpu/ir/cfg.h"
#include "cpu/ptx/check.h"
#include "cpu/ir/flatten.h"
#include "cpu/ptx/parse.h"
#include "support/suite.h"

#include <check.h>
#include <string.h>

#define HEAD ".version 8.0\n.target sm_89\n.address_size 64\n"

static struct ptx_module module;
static struct ptx_diag diag;

static bool flatten(const char *text)
{
	diag = (struct ptx_diag){.line = 0};
	return parse_module(&module, text, strlen(text), &diag) && check_module(&module, &diag)
		&& flatten_module(&module, &diag);
}

/* The last function, which is the kernel. */
static const struct ptx_func *flat(const char *text)
{
	ck_assert_msg(flatten(text), "%d: %s", diag.line, diag.message);
	return module.funcs[module.func_count - 1];
}

static void teardown(void)
{
	parse_free(&module);
}

static size_t count_op(const struct ptx_func *func, enum ptx_op op)
{
	size_t count = 0;
	for (size_t i = 0; i < func->inst_count; i++) {
		count += func->insts[i].op == op;
	}
	return count;
}

#define WITH_LOCAL(name, size, body) \
	".func " name "()\n{\n	.local .align 16 .b8 l[" size "]; .reg .b64 %rd;\n" \
	"	mov.u64 %rd, l;\n" body "	ret;\n}\n"

START_TEST(functions_that_are_never_active_together_share_memory)
{
	const struct ptx_func *k = flat(HEAD WITH_LOCAL("leaf", "32", "") WITH_LOCAL("f", "128",
		"	call leaf;\n") WITH_LOCAL("g", "256", "")
		".entry k()\n{\n	.local .b8 l[64];\n	call f;\n	call g;\n"
		"	call leaf;\n"
		"	ret;\n"
		"}\n");
	ck_assert_uint_eq(k->local_size, 64 + 256);
	ck_assert(!k->uses_stack);
}
END_TEST

START_TEST(recursive_functions_are_on_the_stack)
{
	const struct ptx_func *k = flat(HEAD ".func g();\n" WITH_LOCAL("f", "128", "	call g;\n")
		WITH_LOCAL("g", "256", "	call f;\n")
		".entry k()\n{\n	.local .b8 l[64];\n	call f;\n	ret;\n}\n");
	ck_assert_uint_eq(k->local_size, 64);
	ck_assert(k->uses_stack);
}
END_TEST

START_TEST(scalar_arguments_need_no_memory)
{
	const struct ptx_func *k = flat(HEAD ".func (.param .b64 r) f(.param .b32 a, .param .b8 "
		"b)\n{\n"
		"	.reg .b32 %r; .reg .b64 %rd;\n"
		"	ld.param.b32 %r, [a]; cvt.u64.u32 %rd, %r;\n"
		"	ld.param.u8 %r, [b]; st.param.b64 [r], %rd;\n	ret;\n}\n"
		".entry k(.param .u32 n)\n{\n	.reg .b32 %r; .reg .b64 %rd;\n"
		"	.param .b32 x; .param .b8 y; .param .b64 z;\n	ld.param.u32 %r, [n];\n"
		"	st.param.b32 [x], %r; st.param.b8 [y], %r;\n	call (z), f, (x, y);\n"
		"	ld.param.b64 %rd, [z];\n	ret;\n}\n");
	ck_assert_uint_eq(k->local_size, 0);
	ck_assert_uint_eq(count_op(k, PTX_OP_LD), 1);
	ck_assert_uint_eq(count_op(k, PTX_OP_ST), 0);
	ck_assert_uint_eq(count_op(k, PTX_OP_CALL), 0);
}
END_TEST

/* An argument that is read in parts, or whose address is taken, keeps its memory. */
START_TEST(arguments_that_are_not_read_whole_stay_in_memory)
{
	const struct ptx_func *k = flat(HEAD ".func f(.param .b64 a, .param .b64 b, .param .b64 "
		"c)\n{\n"
		"	.reg .b32 %r; .reg .b64 %rd;\n	ld.param.b32 %r, [a+4];\n"
		"	mov.u64 %rd, b; ld.param.b64 %rd, [c];\n	ret;\n}\n"
		".entry k()\n{\n	call f, (1, 2, 3);\n	ret;\n}\n");
	ck_assert_uint_eq(k->local_size, 16);
}
END_TEST

START_TEST(shared_memory_is_laid_out_once_for_all)
{
	const struct ptx_func *k = flat(HEAD ".shared .align 4 .b8 a[20];\n.shared .align 8 .b8 "
		"b[8];\n"
		".extern .shared .align 16 .b8 rest[];\n"
		".func f()\n{\n	.shared .b32 own; .reg .b32 %r;\n"
		"	mov.u32 %r, b; mov.u32 %r, a;\n"
		"	mov.u32 %r, own; mov.u32 %r, rest;\n	ret;\n}\n"
		".entry k()\n{\n	.reg .b32 %r;\n	mov.u32 %r, a;\n	call f;\n"
		"	ret;\n"
		"}\n");
	size_t end = 0;
	ck_assert_uint_eq(k->shared_size, 32);
	ck_assert(k->uses_dynamic_shared);
	for (size_t i = 0; i < k->var_count; i++) {
		const struct ptx_var *var = k->vars[i];
		if (var->space == PTX_SHARED && !var->is_extern) {
			ck_assert_uint_ge(var->offset, end);
			end = var->offset + var->size;
		} else if (var->space == PTX_SHARED) {
			ck_assert_uint_eq(var->offset, 32);
		}
	}
	ck_assert_uint_eq(end, 32);
}
END_TEST

START_TEST(each_function_is_there_once)
{
	const struct ptx_func *k = flat(HEAD ".func f()\n{\n	membar.gl;\n	ret;\n}\n"
		".func g()\n{\n	call f;\n	call f;\n	ret;\n}\n"
		".entry k()\n{\n	call f;\n	call g;\n	call g;\n	ret;\n}\n");
	ck_assert_uint_eq(count_op(k, PTX_OP_MEMBAR), 1);
	ck_assert_uint_eq(count_op(k, PTX_OP_BRX), 2);
	ck_assert_uint_eq(count_op(k, PTX_OP_RET), 1);
}
END_TEST

START_TEST(kernels_without_calls_stay_as_they_are)
{
	const struct ptx_func *k = flat(HEAD ".func f()\n{\n	ret;\n}\n"
		".entry k()\n{\n	.local .b32 l; .param .b32 p; st.param.b32 [p], 1;\n"
		"	ret;\n"
		"}\n");
	ck_assert_uint_eq(k->inst_count, 2);
	ck_assert_uint_eq(k->reg_count, 0);
	ck_assert_uint_eq(k->var_count, 2);
}
END_TEST

START_TEST(functions_of_one_kind_have_addresses_in_a_row)
{
	flat(HEAD ".func f(.param .b32 x);\n.func g(.param .b64 x);\n.func h(.param .b32 x);\n"
		".global .u64 t[3] = {f, g, h};\n.func f(.param .b32 x)\n{\n	ret;\n}\n"
		".func g(.param .b64 x)\n{\n	ret;\n}\n.func h(.param .b32 x)\n{\n	ret;\n}\n"
		".entry k()\n{\n	ret;\n}\n");
	ck_assert_uint_ne(module.funcs[0]->address, 0);
	ck_assert_uint_eq(module.funcs[2]->address, module.funcs[0]->address + 16);
	ck_assert_uint_ne(module.funcs[1]->address, 0);
	ck_assert_uint_eq(module.funcs[3]->address, 0);
}
END_TEST

/* No pass recurses, so a long chain of calls costs no stack. */
START_TEST(chains_of_calls_may_be_long)
{
	enum { LENGTH = 20000 };
	struct str text = STR_INIT;
	str_add(&text, HEAD ".func f0()\n{\n	ret;\n}\n");
	for (int i = 1; i <= LENGTH; i++) {
		str_addf(&text, ".func f%d()\n{\n	call f%d;\n	ret;\n}\n", i, i - 1);
	}
	str_addf(&text, ".entry k()\n{\n	call f%d;\n	ret;\n}\n", LENGTH);
	const struct ptx_func *k = flat(text.data);
	ck_assert_uint_gt(k->inst_count, LENGTH);
	ck_assert(!k->uses_stack);
	str_free(&text);
}
END_TEST

START_TEST(variables_that_do_not_fit_together_are_refused)
{
	ck_assert(!flatten(HEAD WITH_LOCAL("f", "0x3000000000000000", "")
		WITH_LOCAL("g", "0x3000000000000000", "	call f;\n")
		".entry k()\n{\n	call g;\n	ret;\n}\n"));
	ck_assert(!diag.unsupported && diag.line > 0);
}
END_TEST

static const char everything[] = HEAD
	".shared .b32 s;\n.func (.param .b32 r) h(.param .b32 x);\n.global .u64 t = h;\n"
	".func (.param .b32 r) h(.param .b32 x)\n{\n"
	"	.local .b8 l[8]; .reg .pred %p; .reg .b32 %r<3>;\n"
	"	.reg .b64 %rd;\n	mov.u32 %r1, s; mov.u64 %rd, t; ld.param.b32 %r2, [x];\n"
	"	setp.eq.u32 %p, %r2, 0;\np: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
	"	@%p call (%r1), %rd, (%r2), p;\n	st.param.b32 [r], %r1;\n	ret;\n}\n"
	".func (.param .b8 r[24]) g(.param .b8 x[24])\n{\n	ret;\n}\n"
	".extern .func free(.param .b64 p);\n"
	".entry k()\n{\n	.reg .b32 %r; .param .b8 a[24]; .param .b8 b[24];\n"
	"	call (a), g, (b);\n	call (%r), h, (3);\n	call free, (0);\n	ret;\n}\n";

START_TEST(memory_may_run_out_at_any_time)
{
	for (long n = 0;; n++) {
		mem_fail_after(n);
		bool ok = flatten(everything), failed = mem_has_failed();
		mem_fail_after(-1);
		parse_free(&module);
		ck_assert_msg(ok != failed, "after %ld: %s", n, diag.message);
		ck_assert(ok || diag.no_memory);
		if (ok) {
			break;
		}
	}
}
END_TEST

SUITE(flatten)
{
	Suite *s = suite_create("flatten");
	TCase *tc = suite_add_case(s, "flatten");
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, 1, functions_that_are_never_active_together_share_memory,
		recursive_functions_are_on_the_stack, scalar_arguments_need_no_memory,
		arguments_that_are_not_read_whole_stay_in_memory,
		shared_memory_is_laid_out_once_for_all, each_function_is_there_once,
		kernels_without_calls_stay_as_they_are,
		functions_of_one_kind_have_addresses_in_a_row, chains_of_calls_may_be_long,
		variables_that_do_not_fit_together_are_refused, memory_may_run_out_at_any_time);
	return s;
}
