/* SPDX-License-Identifier: MIT */
/*
 * alloca, stacksave and stackrestore, through the driver: in kernels, in functions, and in
 * recursive ones, one lane at a time and as warps of 32.
 */
#include "cpu/support/api.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 64 };

#define HEAD ".version 8.0\n.target sm_89\n.address_size 64\n"

/* A kernel k(out, n): the words out[tid] get what is in %r0 at the end; %r1 is n, %r2 tid. */
#define KERNEL(body) \
	".visible .entry k(.param .u64 out, .param .u32 n)\n{\n" \
	"	.reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<30>; .reg .b64 %out;\n" \
	"	ld.param.u64 %out, [out]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n" \
	"	mad.wide.u32 %out, %r2, 4, %out; mov.u32 %r0, 0; cvt.u64.u32 %rd0, %r2;\n" \
	body "\n	st.global.u32 [%out], %r0;\n	ret;\n}\n"

static CUmodule module;
static uint32_t words[THREADS];

static const char *const widths[] = {"1", "32"};

static CUresult launch(const char *text, int width, uint32_t n)
{
	CUdeviceptr memory = alloc(sizeof(words));
	void *params[] = {&memory, &n};
	setenv("KUDZU_CPU_WIDTH", widths[width], 1);
	OK(cuModuleLoadData(&module, text));
	OK(cuMemsetD8_v2(memory, 0xee, sizeof(words)));
	OK(cuLaunchKernel(kernel(module, "k"), 1, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
	CUresult result = cuCtxSynchronize();
	if (result == CUDA_SUCCESS) {
		OK(cuMemcpyDtoH_v2(words, memory, sizeof(words)));
	}
	return result;
}

/* Each thread takes as many words as it has to, fills them, and sums up. */
#define FILL_AND_SUM(array, count) \
	"	mov.u32 %r5, 0; mov.u64 %rd5, " array ";\n" \
	"fill: setp.ge.u32 %p1, %r5, " count "; @%p1 bra filled; mul.lo.u32 %r6, %r5, %r5;\n" \
	"	st.local.u32 [%rd5], %r6; add.u64 %rd5, %rd5, 4; add.u32 %r5, %r5, 1; bra fill;\n" \
	"filled: mov.u32 %r5, 0; mov.u64 %rd5, " array ";\n" \
	"sum: setp.ge.u32 %p1, %r5, " count "; @%p1 bra summed; ld.local.u32 %r6, [%rd5];\n" \
	"	add.u32 %r0, %r0, %r6; add.u64 %rd5, %rd5, 4; add.u32 %r5, %r5, 1; bra sum;\n" \
	"summed:\n"

static uint32_t squares(uint32_t count)
{
	uint32_t sum = 0;
	for (uint32_t i = 0; i < count; i++) {
		sum += i * i;
	}
	return sum;
}

static uint32_t want_squares(uint32_t tid, uint32_t n)
{
	return squares(tid % n);
}

/* A function frees what it took when it returns: called a hundred times, it must not run out. */
#define TAKES \
	".func (.param .b32 result) takes(.param .b32 count)\n{\n" \
	"	.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>; " \
	".local .align 4 .b8 own[4];\n" \
	"	ld.param.u32 %r1, [count]; mov.u32 %r0, 0; st.local.u32 [own], %r1;\n" \
	"	mul.wide.u32 %rd1, %r1, 4; alloca.u64 %rd2, %rd1;\n" \
	FILL_AND_SUM("%rd2", "%r1") \
	"	ld.local.u32 %r1, [own]; add.u32 %r0, %r0, %r1;\n" \
	"	st.param.b32 [result], %r0;\n	ret;\n}\n"

#define TAKEN_OFTEN \
	"and.b32 %r3, %r2, 31; mov.u32 %r4, 0;\n" \
	"again: call (%r5), takes, (%r3);\n" \
	"	add.u32 %r0, %r0, %r5; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, %r1;\n" \
	"	@%p1 bra again;\n"

static uint32_t want_often(uint32_t tid, uint32_t n)
{
	return n * (squares(tid % 32) + tid % 32);
}

/* What each level of a recursion takes stays its own. */
#define DEPTHS \
	".func (.param .b32 result) depths(.param .b32 n)\n{\n" \
	"	.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n" \
	"	ld.param.u32 %r1, [n]; mov.u32 %r3, 0; setp.eq.u32 %p2, %r1, 0; @%p2 bra done;\n" \
	"	cvt.u64.u32 %rd1, %r1; alloca.u64 %rd2, %rd1, 1; st.local.u8 [%rd2], %r1;\n" \
	"	sub.u32 %r2, %r1, 1; call (%r3), depths, (%r2);\n" \
	"	ld.local.u8 %r4, [%rd2]; mad.lo.u32 %r3, %r3, 3, %r4;\n" \
	"done:	st.param.b32 [result], %r3;\n	ret;\n}\n"

static uint32_t depths(uint32_t n)
{
	return n ? 3 * depths(n - 1) + n : 0;
}

static uint32_t want_depths(uint32_t tid, uint32_t n)
{
	return depths(tid % n);
}

/* A loop that gives back what it took. */
#define SAVED \
	"mov.u32 %r3, 0; stacksave.u64 %rd7;\n" \
	"again: stacksave.u64 %rd1; alloca.u64 %rd2, 1000; alloca.u64 %rd3, 3000, 64;\n" \
	"	st.local.u32 [%rd2+996], %r3; st.local.u32 [%rd3+2996], %r2;\n" \
	"	ld.local.u32 %r4, [%rd2+996]; ld.local.u32 %r5, [%rd3+2996];\n" \
	"	add.u32 %r0, %r0, %r4; add.u32 %r0, %r0, %r5; stackrestore.u64 %rd1;\n" \
	"	add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r1; @%p1 bra again;\n" \
	"	stacksave.u64 %rd8; setp.eq.u64 %p1, %rd7, %rd8; @!%p1 mov.u32 %r0, 0;"

static uint32_t want_saved(uint32_t tid, uint32_t n)
{
	return n * tid + n * (n - 1) / 2;
}

/* Alignments, 8 where none is named; and that two do not overlap.  A bit of the result each. */
#define ALIGNED \
	".local .align 2 .b8 odd[2]; st.local.u16 [odd], 7;\n" \
	"alloca.u64 %rd1, 3, 1; alloca.u64 %rd2, 1; alloca.u64 %rd3, 24, 512; " \
	"alloca.u64 %rd4, 0;\n" \
	"and.b64 %rd5, %rd2, 7; setp.eq.u64 %p1, %rd5, 0; @%p1 add.u32 %r0, %r0, 1;\n" \
	"and.b64 %rd5, %rd3, 511; setp.eq.u64 %p1, %rd5, 0; @%p1 add.u32 %r0, %r0, 2;\n" \
	"add.u64 %rd5, %rd1, 3; setp.ge.u64 %p1, %rd2, %rd5; @%p1 add.u32 %r0, %r0, 4;\n" \
	"add.u64 %rd5, %rd3, 24; setp.ge.u64 %p1, %rd4, %rd5; @%p1 add.u32 %r0, %r0, 8;\n" \
	"cvta.local.u64 %rd6, %rd3; isspacep.local %p1, %rd6; @%p1 add.u32 %r0, %r0, 16;\n" \
	"st.u32 [%rd6], %r2; ld.local.u32 %r3, [%rd3]; setp.eq.u32 %p1, %r3, %r2;\n" \
	"@%p1 add.u32 %r0, %r0, 32;"

static uint32_t want_aligned(uint32_t tid, uint32_t n)
{
	(void)tid;
	return n;
}

/* Half of the threads, under a guard; the others keep what they have in %rd2. */
#define GUARDED \
	"and.b32 %r3, %r2, 1; setp.eq.u32 %p2, %r3, 0; .local .align 4 .b8 own[4]; " \
	"mov.u64 %rd2, own;\n" \
	"@%p2 alloca.u64 %rd2, 16; st.local.u32 [own], 5; st.local.u32 [%rd2], %r1;\n" \
	"ld.local.u32 %r0, [own];"

static uint32_t want_guarded(uint32_t tid, uint32_t n)
{
	return tid % 2 ? n : 5;
}

static const struct program {
	const char *text;
	uint32_t n;
	uint32_t (*want)(uint32_t tid, uint32_t n);
} programs[] = {
	{HEAD KERNEL("rem.u32 %r3, %r2, %r1; mul.wide.u32 %rd1, %r3, 4; alloca.u64 %rd1, %rd1, "
		"16;\n"
		FILL_AND_SUM("%rd1", "%r3")), 50, want_squares},
	{HEAD TAKES KERNEL(TAKEN_OFTEN), 100, want_often},
	{HEAD DEPTHS KERNEL("rem.u32 %r3, %r2, %r1; call (%r0), depths, (%r3);"), 13, want_depths},
	{HEAD KERNEL(SAVED), 10, want_saved},
	{HEAD KERNEL(ALIGNED), 63, want_aligned},
	{HEAD KERNEL(GUARDED), 9, want_guarded},
};

START_TEST(every_thread_has_what_it_takes)
{
	const struct program *p = &programs[_i / 2];
	OK(launch(p->text, _i % 2, p->n));
	for (uint32_t i = 0; i < THREADS; i++) {
		ck_assert_msg(words[i] == p->want(i, p->n), "program %d, thread %u: %u, not %u",
			_i / 2, i, words[i], p->want(i, p->n));
	}
}
END_TEST

/* More than there is, in one step or many; sizes and alignments that wrap around; a place to go
 * back to that is none. */
static const char *const overflows[] = {
	"again: alloca.u64 %rd1, 64; st.local.u32 [%rd1], 1; bra again;",
	"alloca.u64 %rd1, 1000000; st.local.u32 [%rd1], 1;",
	"alloca.u64 %rd1, -1;",
	"alloca.u64 %rd1, 0xfffffffffffffff8, 8388608;",
	"sub.u64 %rd1, 0, %rd0; setp.eq.u32 %p1, %r2, 5; @%p1 alloca.u64 %rd1, %rd1;",
	"alloca.u64 %rd1, 0, 8388608; alloca.u64 %rd1, 0, 8388608;",
	"mov.u64 %rd1, 64; stackrestore.u64 %rd1;",
	"stacksave.u64 %rd1; sub.u64 %rd1, %rd1, 16; stackrestore.u64 %rd1;",
	"stacksave.u64 %rd1; add.u64 %rd1, %rd1, 1000000; stackrestore.u64 %rd1;",
	"call (%r0), depths, (%r1);",
};

START_TEST(what_does_not_fit_ends_the_launch)
{
	char text[4096];
	snprintf(text, sizeof(text), "%s%s%s", HEAD DEPTHS
		".visible .entry k(.param .u64 out, .param .u32 n)\n{\n	.reg .pred %p<3>;\n"
		"	.reg .b32 %r<5>; .reg .b64 %rd<5>; ld.param.u32 %r1, [n];\n"
		"	mov.u32 %r2, %tid.x; cvt.u64.u32 %rd0, %r2;\n	", overflows[_i / 2],
		"\n	ret;\n}\n");
	FAILS(HARDWARE_STACK_ERROR, launch(text, _i % 2, 200));
	check_log("stack overflow (see CU_LIMIT_STACK_SIZE)");
	FAILS(HARDWARE_STACK_ERROR, cuCtxSynchronize());
}
END_TEST

START_TEST(the_limit_of_the_stack_is_that_of_alloca)
{
	static const char text[] = HEAD KERNEL("cvt.u64.u32 %rd1, %r1; alloca.u64 %rd2, %rd1;\n"
		"add.u64 %rd2, %rd2, %rd1; st.local.u32 [%rd2-4], %r2; "
		"ld.local.u32 %r0, [%rd2-4];");
	OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 64 * 1024));
	OK(launch(text, _i, 60000));
	ck_assert_uint_eq(words[63], 63);
}
END_TEST

START_TEST(nothing_is_a_texture)
{
	OK(launch(HEAD KERNEL("istypep.texref %p1, %out; istypep.samplerref %p2, %out;\n"
		"istypep.surfref %p3, %rd0; or.pred %p1, %p1, %p2; or.pred %p1, %p1, %p3;\n"
		"selp.u32 %r0, 1, 2, %p1;"), _i, 0));
	ck_assert_uint_eq(words[0], 2);
}
END_TEST

SUITE(flat_stack)
{
	Suite *s = suite_create("flat_stack");
	TCase *tc = suite_add_case(s, "stack");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, every_thread_has_what_it_takes, 0, 2 * (int)countof(programs));
	tcase_add_loop_test(tc, what_does_not_fit_ends_the_launch, 0, 2 * (int)countof(overflows));
	tcase_add_tests(tc, 2, the_limit_of_the_stack_is_that_of_alloca, nothing_is_a_texture);
	return s;
}
