/* SPDX-License-Identifier: MIT */
/* KUDZU_CPU_DUMP: the IR and the assembly of a kernel, in files. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "cpu/support/machine.h"
#include "support/store_folder.h"
#include "support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char text[] = HEAD ".entry k(.param .u64 p) { .reg .b64 %a; .reg .f32 %f;\n"
	"ld.param.u64 %a, [p]; ld.f32 %f, [%a]; sqrt.rn.f32 %f, %f; st.f32 [%a+8], %f; ret; }";

static void setup(void)
{
	store_folder_create();
	setenv("KUDZU_CPU_DUMP", store_outside, 1);
}

static void run(void)
{
	float x = 9, y = 0;
	machine_open(text);
	machine_compile("k");
	memcpy(machine.memory, &x, sizeof(x));
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	memcpy(&y, &machine.memory[1], sizeof(y));
	ck_assert_float_eq(y, 3);
	machine_close();
}

static bool file_has(const char *name, const char *word)
{
	char *path = file_join(store_outside, name), *data = NULL;
	size_t size;
	bool found = file_read(&data, &size, path, NULL) == KZ_OK && strstr(data, word);
	mem_free(data);
	mem_free(path);
	return found;
}

START_TEST(a_kernel_leaves_its_ir_and_its_assembly)
{
	run();
	ck_assert(file_has("k.ll", "define "));
	ck_assert(file_has("k.ll", "llvm.sqrt"));
	ck_assert(file_has("k.s", "sqrtss"));
}
END_TEST

START_TEST(a_kernel_of_the_cache_is_compiled_again)
{
	unsetenv("KUDZU_CPU_DUMP");
	setenv("KUDZU_CACHE", "1", 1);
	setenv("KUDZU_CACHE_DIR", store_path, 1);
	run();
	ck_assert(!file_has("k.ll", ""));
	setenv("KUDZU_CPU_DUMP", store_outside, 1);
	run();
	ck_assert(file_has("k.ll", "define "));
}
END_TEST

START_TEST(a_folder_that_is_not_there_fails_the_compile)
{
	struct ptx_diag diag = {0};
	struct jit_kernel kernel;
	struct jit *jit = NULL;
	setenv("KUDZU_CPU_DUMP", "/nonexistent", 1);
	machine_open(text);
	ck_assert(jit_create(&jit, &machine.module, &diag));
	ck_assert(!jit_compile(&kernel, jit, machine.module.funcs[0], BLOCK_CLASS_ANY,
		JIT_TIER_BEST, &diag));
	ck_assert_msg(strstr(diag.message, "KUDZU_CPU_DUMP") && strstr(diag.message,
		"/nonexistent"), "%s", diag.message);
	jit_release(jit);
	machine_close();
}
END_TEST

SUITE(jit_dump)
{
	Suite *s = suite_create("jit_dump");
	TCase *tc = tcase_create("dump");
	tcase_add_checked_fixture(tc, setup, store_folder_remove);
	tcase_add_test(tc, a_kernel_leaves_its_ir_and_its_assembly);
	tcase_add_test(tc, a_kernel_of_the_cache_is_compiled_again);
	tcase_add_test(tc, a_folder_that_is_not_there_fails_the_compile);
	suite_add_tcase(s, tc);
	return s;
}
