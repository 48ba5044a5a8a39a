/* SPDX-License-Identifier: MIT */
/*
 * Each pass can be left out, and has an effect: for each there is a kernel that gets other code
 * without it.  That the results stay the same is checked by tests of each pass, and by `make
 * fuzz-diff` with KUDZU_CPU_PASSES.
 */
#include "base/common.h"

#include "base/str.h"
#include "cpu/config/passes.h"
#include "cpu/ir/ssa.h"
#include "cpu/jit/jit.h"
#include "cpu/ptx/check.h"
#include "cpu/ptx/parse.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEAM_OF_4 (BLOCK_CLASS_ROWS + 4 * BLOCK_CLASS_TEAM)
#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

/* %a is this thread's word, %b and %c are what the other parameters point to, %t is tid.x. */
#define BEGIN(bounds) HEAD ".entry k(.param .u64 p, .param .u64 q, .param .u64 r, .param .u32 n) " \
	bounds \
	" {\n.reg .pred %p<9>; .reg .b32 %r<30>, %t, %n; .reg .b64 %a, %b, %c, %d<9>; " \
	".reg .f32 %f<9>;\n" \
	".reg .f64 %e<9>; .shared .align 8 .b8 s[4096]; .local .align 4 .b8 l[256];\n" \
	"ld.param.u64 %a, [p]; ld.param.u64 %b, [q]; ld.param.u64 %c, [r]; " \
	"ld.param.u32 %n, [n];\n" \
	"mov.u32 %t, %tid.x; mul.wide.u32 %d0, %t, 4; add.u64 %a, %a, %d0;\n"
#define END "ret; }\n"

static const char small_if[] = BEGIN("")
	"ld.global.u32 %r1, [%a]; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra L;\n"
	"add.u32 %r1, %r1, 5; st.global.u32 [%a], %r1; L:" END;
static const char chain[] = BEGIN("")
	"mov.u32 %r1, %t; mov.u32 %r6, 0; ld.global.u32 %r2, [%a];\n"
	"L: mad.wide.u32 %d3, %r1, 256, %b; ld.global.u32 %r4, [%d3+4]; ld.global.u32 %r1, [%d3];\n"
	"add.u32 %r6, %r6, %r4; setp.lt.u32 %p1, %r6, %r2; @%p1 bra L; st.global.u32 [%a], %r6;"
	END;
static const char barriers[] = BEGIN("")
	"shl.b32 %r1, %t, 2; mov.u32 %r2, s; add.u32 %r3, %r1, %r2; xor.b32 %r1, %r1, 64;\n"
	"add.u32 %r4, %r1, %r2; mov.u32 %r5, 0; mov.u32 %r6, %t;\n"
	"L: st.shared.u32 [%r3], %r6; bar.sync 0; ld.shared.u32 %r7, [%r4]; "
	"add.u32 %r6, %r6, %r7;\n"
	"bar.sync 0; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, %n; @%p1 bra L;\n"
	"st.global.u32 [%a], %r6;" END;
static const char fields[] = BEGIN("")
	"mul.wide.u32 %d1, %t, 8; add.u64 %d1, %d1, %b; ld.global.u32 %r1, [%d1];\n"
	"st.global.u32 [%a], %r1;" END;
static const char stride[] = BEGIN("")
	"mov.f32 %f1, 0f00000000; mul.wide.u32 %d1, %t, 4; add.u64 %d1, %d1, %b; mov.u32 %r1, %t;\n"
	"mul.wide.u32 %d2, %n, 4; L: ld.global.f32 %f2, [%d1]; add.f32 %f1, %f1, %f2;\n"
	"add.u64 %d1, %d1, %d2; add.u32 %r1, %r1, %n; setp.lt.u32 %p1, %r1, 99999; @%p1 bra L;\n"
	"st.global.f32 [%a], %f1;" END;
static const char copy[] = BEGIN("")
	"add.u64 %d1, %b, %d0; ld.global.u32 %r1, [%d1]; add.u64 %d2, %c, %d0;\n"
	"st.global.u32 [%d2], %r1;" END;
static const char lone[] = BEGIN(".maxntid 1, 1, 1")
	"cvt.u64.u32 %d5, %n; mov.u64 %d4, 0; setp.eq.u64 %p1, %d5, 0; @%p1 bra E;\n"
	"L: shl.b64 %d1, %d4, 2; add.s64 %d2, %b, %d1; add.s64 %d3, %c, %d1; "
	"ld.global.u32 %r1, [%d2];\n"
	"add.u32 %r1, %r1, %n; st.global.u32 [%d3], %r1; add.s64 %d4, %d4, 1;\n"
	"setp.lt.u64 %p1, %d4, %d5; @%p1 bra L; E:" END;
static const char indexes[] = BEGIN("")
	"mov.u32 %r1, %ctaid.y; mad.lo.s32 %r2, %r1, %n, %t; mul.wide.s32 %d1, %r2, 4;\n"
	"add.u64 %d1, %d1, %b; ld.global.u32 %r3, [%d1]; st.global.u32 [%a], %r3;" END;
static const char pointer[] = BEGIN("")
	"ld.global.u32 %r1, [%a]; mad.wide.u32 %d1, %r1, 4, %b; mov.u32 %r2, 0; mov.u32 %r3, 0;\n"
	"L: ld.global.u32 %r4, [%d1]; add.u32 %r3, %r3, %r4; add.u64 %d1, %d1, 64;\n"
	"add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %n; @%p1 bra L; st.global.u32 [%a], %r3;" END;

static const char pick[] = BEGIN("")
	"ld.global.s32 %r1, [%a]; mul.wide.s32 %d1, %r1, 4; add.u64 %d1, %d1, %b;\n"
	"ld.global.u32 %r2, [%d1]; st.global.u32 [%a], %r2;" END;

#define TERM(i) "ld.shared.f64 %e3, [%r5+" i "]; ld.shared.f64 %e4, [%r4+" i "];\n" \
	"fma.rn.f64 %e2, %e3, %e4, %e2;\n"
static const char sums[] = BEGIN("")
	"mov.u32 %r3, s; shl.b32 %r13, %t, 3; add.s32 %r4, %r3, %r13; mov.u32 %r5, s;\n"
	"cvt.rn.f64.u32 %e1, %t; st.shared.f64 [%r4], %e1; mov.f64 %e2, 0d0000000000000000;\n"
	"mov.u32 %r7, 0; L: bar.sync 0;\n"
	TERM("0") TERM("256") TERM("512") TERM("768") TERM("8") TERM("264") TERM("520") TERM("776")
	"bar.sync 0; add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, %n; @%p1 bra L;\n"
	"st.global.f64 [%a], %e2;" END;

static const struct {
	const char *text;
	unsigned class;
} kernels[PASS_COUNT] = {
	[PASS_IF_CONVERSION] = {small_if, BLOCK_CLASS_ROWS},
	[PASS_LANE_SERIALISATION] = {chain, BLOCK_CLASS_ROWS},
	[PASS_WARP_INTERLEAVING] = {barriers, TEAM_OF_4},
	[PASS_WARP_TURNS] = {sums, TEAM_OF_4 + 4 * BLOCK_CLASS_TEAM},
	[PASS_STRIDED_ACCESS] = {fields, BLOCK_CLASS_ROWS},
	[PASS_PREFETCH] = {stride, BLOCK_CLASS_ROWS},
	[PASS_NONTEMPORAL] = {copy, BLOCK_CLASS_ROWS},
	[PASS_BASE_ADDRESSES] = {lone, BLOCK_CLASS_ANY},
	[PASS_NO_WRAP] = {indexes, BLOCK_CLASS_ROWS},
	[PASS_INDUCTION] = {pointer, BLOCK_CLASS_ROWS},
	[PASS_GATHERS] = {pick, BLOCK_CLASS_ROWS},
	[PASS_LOOP_VECTORS] = {lone, BLOCK_CLASS_ANY},
	[PASS_NONTEMPORAL_LOOPS] = {lone, BLOCK_CLASS_ANY},
};

static const char *const names[] = {
#define X(symbol, name, file) name,
#include "cpu/config/passes.def"
#undef X
};

/* The machine code; from malloc. */
static uint8_t *compile(size_t *size, int which)
{
	struct ptx_module module = {.version = 0};
	struct ptx_diag diag = {.line = 0};
	struct jit *jit = NULL;
	struct jit_kernel kernel;
	const char *text = kernels[which].text;
	bool ok = parse_module(&module, text, strlen(text), &diag) && check_module(&module, &diag)
		&& jit_create(&jit, &module, &diag) && ssa_prepare(&module, module.funcs[0], &diag)
		&& jit_compile(&kernel, jit, module.funcs[0], kernels[which].class, JIT_TIER_BEST,
			&diag);
	ck_assert_msg(ok, "%s: %d:%d: %s", names[which], diag.line, diag.column, diag.message);
	*size = kernel.code_size;
	uint8_t *code = malloc(*size);
	ck_assert(*size > 0 && code);
	memcpy(code, (const void *)(uintptr_t)kernel.run, *size);
	jit_release(jit);
	parse_free(&module);
	return code;
}

static bool processor_gathers(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("avx2");
#else
	return false;
#endif
}

START_TEST(a_pass_has_an_effect_and_can_be_left_out)
{
	if (_i == PASS_GATHERS && !processor_gathers()) {
		return;
	}
	char left_out[40];
	size_t size, again_size, without_size;
	setenv("KUDZU_CPU_WIDTH", "32", 1);
	uint8_t *code = compile(&size, _i), *again = compile(&again_size, _i);
	snprintf(left_out, sizeof(left_out), "-%s", names[_i]);
	setenv("KUDZU_CPU_PASSES", left_out, 1);
	uint8_t *without = compile(&without_size, _i);
	ck_assert_msg(size == again_size && memcmp(code, again, size) == 0, "%s", names[_i]);
	ck_assert_msg(size != without_size || memcmp(code, without, size) != 0, "%s", names[_i]);
	free(code);
	free(again);
	free(without);
}
END_TEST

SUITE(passes)
{
	Suite *s = suite_create("passes");
	TCase *tc = tcase_create("passes");
	tcase_add_loop_test(tc, a_pass_has_an_effect_and_can_be_left_out, 0, PASS_COUNT);
	suite_add_tcase(s, tc);
	return s;
}
