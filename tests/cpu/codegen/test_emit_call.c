/* SPDX-License-Identifier: MIT */
/*
 * Functions of kernels, through the driver: calls, recursion, pointers, and the functions that the
 * device provides.  Each test runs one lane at a time and as warps of 32.
 */
#include "cpu/support/api.h"

#include "base/str.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 64 };

#define HEAD ".version 8.0\n.target sm_89\n.address_size 64\n"

/* A kernel k(out, n): the words out[tid] get what is in %r0 at the end; %r1 is n, %r2 tid. */
#define KERNEL(body) \
	".visible .entry k(.param .u64 out, .param .u32 n)\n{\n" \
	"	.reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<30>; .reg .f32 %f<9>;\n" \
	"	.reg .b64 %out; .reg .b16 %h<9>;\n" \
	"	ld.param.u64 %out, [out]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n" \
	"	mad.wide.u32 %out, %r2, 4, %out;\n" \
	body "\n" \
	"	st.global.u32 [%out], %r0;\n	ret;\n}\n"

static CUmodule module;
static CUdeviceptr memory;
static uint32_t words[THREADS];

static const char *const widths[] = {"1", "32"};

static CUresult launch(const char *text, int width, uint32_t n)
{
	void *params[] = {&memory, &n};
	setenv("KUDZU_CPU_WIDTH", widths[width], 1);
	OK(cuModuleLoadData(&module, text));
	memory = alloc(sizeof(words));
	OK(cuMemsetD8_v2(memory, 0xee, sizeof(words)));
	OK(cuLaunchKernel(kernel(module, "k"), 1, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
	CUresult result = cuCtxSynchronize();
	if (result == CUDA_SUCCESS) {
		OK(cuMemcpyDtoH_v2(words, memory, sizeof(words)));
	}
	return result;
}

/* --- What calls compute --- */

#define FIB \
	".func (.param .b32 result) fib(.param .b32 n)\n{\n" \
	"	.reg .pred %p<2>; .reg .b32 %r<9>;\n" \
	"	ld.param.u32 %r8, [n];\n	setp.lt.s32 %p1, %r8, 2;\n	@%p1 bra $done;\n" \
	"	add.s32 %r4, %r8, -1;\n" \
	"	{ .param .b32 a; st.param.b32 [a+0], %r4; .param .b32 r;\n" \
	"	call.uni (r), fib, (a);\n	ld.param.b32 %r5, [r+0]; }\n" \
	"	add.s32 %r6, %r8, -2;\n" \
	"	{ .param .b32 a; st.param.b32 [a+0], %r6; .param .b32 r;\n" \
	"	call.uni (r), fib, (a);\n	ld.param.b32 %r7, [r+0]; }\n" \
	"	add.s32 %r8, %r7, %r5;\n$done:\n	st.param.b32 [result+0], %r8;\n	ret;\n}\n"

static uint32_t fib(uint32_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static uint32_t want_fib(uint32_t tid, uint32_t n)
{
	return fib((tid + n) % 16);
}

/* Two nested recursions: the argument of a call is the result of another, and registers live
 * across both. */
#define ACKERMANN \
	".func (.param .b32 result) ack(.param .b32 pm, .param .b32 pn)\n{\n" \
	"	.reg .pred %p<3>; .reg .b32 %m, %n, %r<9>;\n" \
	"	ld.param.b32 %m, [pm]; ld.param.b32 %n, [pn]; add.u32 %r1, %n, 1;\n" \
	"	st.param.b32 [result], %r1;\n	setp.eq.u32 %p1, %m, 0;\n	@%p1 ret;\n" \
	"	sub.u32 %r2, %m, 1; mov.u32 %r3, 1; setp.ne.u32 %p2, %n, 0; sub.u32 %r4, %n, 1;\n" \
	"	@%p2 call (%r3), ack, (%m, %r4);\n" \
	"	call (%r5), ack, (%r2, %r3);\n	st.param.b32 [result], %r5;\n	ret;\n}\n"

static uint32_t ackermann(uint32_t m, uint32_t n)
{
	return m == 0 ? n + 1 : ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}

static uint32_t want_ackermann(uint32_t tid, uint32_t n)
{
	return ackermann(tid % 4 % 3, n + tid % 3);
}

/* Each calls the other; the one that is declared first knows the other from its declaration. */
#define MUTUAL \
	".func (.param .b32 result) odd(.param .b32 n);\n" \
	".func (.param .b32 result) even(.param .b32 n)\n{\n" \
	"	.reg .pred %p; .reg .b32 %r<4>;\n	ld.param.b32 %r1, [n]; mov.u32 %r2, 1;\n" \
	"	setp.ne.u32 %p, %r1, 0; sub.u32 %r3, %r1, 1;\n	@%p call (%r2), odd, (%r3);\n" \
	"	st.param.b32 [result], %r2;\n	ret;\n}\n" \
	".func (.param .b32 result) odd(.param .b32 n)\n{\n" \
	"	.reg .pred %p; .reg .b32 %r<4>;\n	ld.param.b32 %r1, [n]; mov.u32 %r2, 0;\n" \
	"	setp.ne.u32 %p, %r1, 0; sub.u32 %r3, %r1, 1;\n	@%p call (%r2), even, (%r3);\n" \
	"	st.param.b32 [result], %r2;\n	ret;\n}\n"

static uint32_t want_even(uint32_t tid, uint32_t n)
{
	return (tid + n) % 2 == 0;
}

/* A predicate that lives across a recursive call: the bits of n, there and back. */
#define PREDICATES \
	".func (.param .b32 result) same(.param .b32 n)\n{\n" \
	"	.reg .pred %p<3>; .reg .b32 %r<9>;\n" \
	"	ld.param.b32 %r1, [n]; and.b32 %r2, %r1, 1;\n" \
	"	setp.ne.u32 %p1, %r2, 0; shr.u32 %r3, %r1, 1; setp.ne.u32 %p2, %r1, 0; " \
	"mov.u32 %r4, 0;\n" \
	"	@%p2 call (%r4), same, (%r3);\n	shl.b32 %r4, %r4, 1; @%p1 add.u32 %r4, %r4, 1;\n" \
	"	st.param.b32 [result], %r4;\n	ret;\n}\n"

static uint32_t want_same(uint32_t tid, uint32_t n)
{
	return tid * n;
}

/* A structure of 40 bytes by value, there and back; the callee changes one word of its copy. */
#define STRUCTURE \
	".func (.param .align 8 .b8 result[40]) make(.param .align 8 .b8 s[40], .param .b32 i)\n" \
	"{\n" \
	"	.local .align 8 .b8 copy[40]; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n" \
	"	ld.param.u32 %r1, [i]; ld.param.v4.u32 {%r2, %r3, %r4, %r5}, [s];\n" \
	"	st.local.v4.u32 [copy], {%r2, %r3, %r4, %r5}; ld.param.b64 %rd1, [s+32];\n" \
	"	mov.u64 %rd2, copy; mad.wide.u32 %rd3, %r1, 4, %rd2; ld.local.u32 %r6, [%rd3];\n" \
	"	add.u32 %r6, %r6, 100; st.local.u32 [%rd3], %r6;\n" \
	"	ld.local.v4.u32 {%r2, %r3, %r4, %r5}, [copy];\n" \
	"	st.param.v4.b32 [result], {%r2, %r3, %r4, %r5}; add.u64 %rd1, %rd1, 1;\n" \
	"	st.param.b64 [result+32], %rd1;\n	ret;\n}\n"

static uint32_t want_structure(uint32_t tid, uint32_t n)
{
	uint32_t s[4] = {tid, n, 7, 9};
	s[tid % 4] += 100;
	return s[0] + 3 * s[1] + 5 * s[2] + 7 * s[3] + 11 * (tid + 1);
}

/* Functions in a table, chosen by each thread; one of them calls a function itself. */
#define TABLE \
	".func (.param .b32 r) twice(.param .b32 x);\n" \
	".func (.param .b32 r) plus(.param .b32 x);\n" \
	".func (.param .b32 r) both(.param .b32 x);\n" \
	".func (.param .b64 r) other(.param .b64 x);\n" \
	".global .align 8 .u64 table[4] = {twice, plus, both, other};\n" \
	".func (.param .b32 r) twice(.param .b32 x)\n{\n	.reg .b32 %r<3>;\n" \
	"	ld.param.b32 %r1, [x]; shl.b32 %r1, %r1, 1; st.param.b32 [r], %r1;\n	ret;\n}\n" \
	".func (.param .b32 r) plus(.param .b32 x)\n{\n	.reg .b32 %r<3>;\n" \
	"	ld.param.b32 %r1, [x]; add.u32 %r1, %r1, 1; st.param.b32 [r], %r1;\n	ret;\n}\n" \
	".func (.param .b32 r) both(.param .b32 x)\n{\n	.reg .b32 %r<3>;\n" \
	"	ld.param.b32 %r1, [x];\n	call (%r1), plus, (%r1);\n" \
	"	call (%r1), twice, (%r1);\n	st.param.b32 [r], %r1;\n	ret;\n}\n" \
	".func (.param .b64 r) other(.param .b64 x)\n{\n	.reg .b64 %rd;\n" \
	"	ld.param.b64 %rd, [x]; neg.s64 %rd, %rd; st.param.b64 [r], %rd;\n	ret;\n}\n"

static uint32_t want_table(uint32_t tid, uint32_t n)
{
	uint32_t x = tid + n;
	return tid % 3 == 0 ? 2 * x : tid % 3 == 1 ? x + 1 : 2 * (x + 1);
}

static uint32_t want_guarded(uint32_t tid, uint32_t n)
{
	return tid % 3 ? fib(tid % 9) + n : 5 + n;
}

static uint32_t want_shared(uint32_t tid, uint32_t n)
{
	return (tid ^ 1) * 3 + ((tid + 1) % THREADS) * 3 + n;
}

static uint32_t want_sizes(uint32_t tid, uint32_t n)
{
	return (uint32_t)(int8_t)(tid * 5) + (uint16_t)(tid * 3000) + (n > 3 ? 7 : 0);
}

/* A pointer to a function that calls itself through it. */
#define THROUGH \
	".func (.param .b32 r) down(.param .b32 x, .param .b64 f)\n{\n" \
	"	.reg .b32 %r<5>; .reg .b64 %f; .reg .pred %p;\n" \
	"	ld.param.b32 %r1, [x]; ld.param.b64 %f, [f]; mov.u32 %r2, 0;\n" \
	"	setp.ne.u32 %p, %r1, 0; sub.u32 %r3, %r1, 1;\n" \
	"proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);\n" \
	"	@%p call (%r2), %f, (%r3, %f), proto;\n" \
	"	add.u32 %r2, %r2, %r1; st.param.b32 [r], %r2;\n	ret;\n}\n"

static uint32_t want_halves(uint32_t tid, uint32_t n)
{
	uint32_t x = tid % n;
	return x * (x + 1) / 2;
}

static uint32_t want_sum(uint32_t tid, uint32_t n)
{
	uint32_t x = tid + n;
	return x * (x + 1) / 2;
}

/* Two shared arrays of their own that are extern, but have sizes; vprintf without its result. */
static uint32_t want_declared(uint32_t tid, uint32_t n)
{
	return (tid ^ 1) * 3 + n;
}

/* Parameters by their address: one of four words of a structure, and the kernel's n. */
#define PICK \
	".func (.param .b32 r) pick(.param .align 8 .b8 a[16], .param .b32 i)\n{\n" \
	"	.reg .b32 %r<3>; .reg .b64 %rd<3>;\n" \
	"	ld.param.b32 %r1, [i]; mov.b64 %rd1, a; mad.wide.u32 %rd1, %r1, 4, %rd1;\n" \
	"	ld.param.b32 %r2, [%rd1+-4]; st.param.b32 [r], %r2;\n	ret;\n}\n"

static uint32_t want_picked(uint32_t tid, uint32_t n)
{
	const uint32_t from[] = {tid, n, 7, 9};
	return from[tid % 4] + n;
}

/* Parameters that are registers, of all classes, beside one that is not; declared before. */
#define FORMALS \
	".func (.reg .u32 r, .reg .pred q) half(.reg .u32 a, .reg .pred p, .reg .f64 d, " \
	".param .b16 s);\n" \
	".func (.reg .u32 r, .reg .pred q) half(.reg .u32 a, .reg .pred p, .reg .f64 d, " \
	".param .b16 s)\n" \
	"{\n	.reg .u32 t, %r; cvt.rni.u32.f64 t, d;\n" \
	"	@p add.u32 a, a, t; shr.u32 r, a, 1;\n" \
	"	ld.param.u16 %r, [s]; add.u32 r, r, %r; not.pred q, p;\n	ret;\n}\n"

static uint32_t want_half(uint32_t tid, uint32_t n)
{
	return tid > n ? (tid + 3) / 2 + 9 : tid / 2 + 9 + 100;
}

/* The same through a register, and in a function that calls itself with its own parameter. */
#define FORMALS_AGAIN \
	".func (.reg .b32 r) sum(.reg .b32 n, .reg .b64 f)\n{\n	.reg .pred %p; .reg .b32 m;\n" \
	"proto: .callprototype (.reg .b32 _) _ (.reg .b32 x, .reg .b64 _);\n" \
	"	mov.u32 r, 0; setp.eq.u32 %p, n, 0; @%p bra done; sub.u32 m, n, 1;\n" \
	"	call (r), f, (m, f), proto; add.u32 r, r, n;\ndone:	ret;\n}\n"

/* Parameters that are vectors in registers; declared before, and called through a register, too. */
#define VECTORS \
	".func (.reg .v2 .u32 o, .reg .u32 q) turn(.reg .u32 a, .reg .v4 .u32 v, " \
	".reg .v2 .f32 w);\n" \
	".func (.reg .v2 .u32 o, .reg .u32 q) turn(.reg .u32 a, .reg .v4 .u32 v, " \
	".reg .v2 .f32 w)\n" \
	"{\n	.reg .u32 t; sub.u32 o.x, v.w, v.x; mad.lo.u32 o.y, v.y, v.z, a;\n" \
	"	cvt.rni.u32.f32 q, w.x; cvt.rni.u32.f32 t, w.g; mad.lo.u32 q, q, 100, t;\n" \
	"	ret;\n" \
	"}\n"
#define TURN(before, callee, after) \
	".reg .v4 .u32 v; .reg .v2 .f32 w; .reg .v2 .u32 o; mov.u32 v.x, %r2; " \
	"mul.lo.u32 v.y, %r2, 3;\n" \
	"mov.u32 v.z, %r1; add.u32 v.w, %r1, 1000; mov.f32 w.x, 0f40400000; " \
	"mov.f32 w.y, 0f40E00000;\n" \
	before "call (o, %r3), " callee ", (%r1, v, w)" after ";\n" \
	"mad.lo.u32 %r0, o.x, 7, o.y; add.u32 %r0, %r0, %r3;"

static uint32_t want_turned(uint32_t tid, uint32_t n)
{
	return (n + 1000 - tid) * 7 + 3 * tid * n + n + 307;
}

/* Kernels in a table: their addresses are neither NULL nor those of other things. */
#define KERNELS \
	".entry e() { ret; }\n.func f() { ret; }\n" \
	".entry later();\n.global .u64 g[3] = {e, f, later};\n.entry later() { ret; }\n"

static uint32_t want_three(uint32_t tid, uint32_t n)
{
	return tid + n + 3;
}

/* The address of a variable of a function that calls itself, in two halves. */
#define HALVES \
	".func (.param .b32 r) halves(.param .b32 n)\n{\n" \
	"	.reg .pred %p; .reg .b32 %r<6>; .reg .b64 %a; .local .align 8 .b8 v[16];\n" \
	"	ld.param.b32 %r1, [n]; mov.b64 {%r2, %r3}, v+8; mov.b64 %a, {%r2, %r3};\n" \
	"	st.local.b32 [%a], %r1; mov.u32 %r4, 0; setp.eq.u32 %p, %r1, 0; " \
	"sub.u32 %r5, %r1, 1;\n" \
	"	@!%p call (%r4), halves, (%r5); ld.local.b32 %r5, [v+8]; add.u32 %r4, %r4, %r5;\n" \
	"	st.param.b32 [r], %r4;\n	ret;\n}\n"

static const struct program {
	const char *text;
	uint32_t n;
	uint32_t (*want)(uint32_t tid, uint32_t n);
} programs[] = {
	{HEAD FIB KERNEL("add.u32 %r3, %r1, %r2; and.b32 %r3, %r3, 15; call (%r0), fib, (%r3);"), 3,
		want_fib},
	{HEAD ACKERMANN KERNEL("and.b32 %r3, %r2, 3; rem.u32 %r3, %r3, 3; rem.u32 %r4, %r2, 3;\n"
		"add.u32 %r4, %r4, %r1; call (%r0), ack, (%r3, %r4);"), 2, want_ackermann},
	{HEAD MUTUAL KERNEL("add.u32 %r3, %r1, %r2; call (%r0), even, (%r3);"), 5, want_even},
	{HEAD PREDICATES KERNEL("mul.lo.u32 %r3, %r1, %r2; call (%r0), same, (%r3);"), 1234567,
		want_same},
	{HEAD STRUCTURE KERNEL(".param .align 8 .b8 a[40]; .param .align 8 .b8 b[40]; .param .b32 "
		"i;\n"
		"st.param.v2.b32 [a], {%r2, %r1}; st.param.v2.b32 [a+8], {7, 9};\n"
		"cvt.u64.u32 %rd1, %r2; st.param.b64 [a+32], %rd1; and.b32 %r3, %r2, 3;\n"
		"st.param.b32 [i], %r3; call.uni (b), make, (a, i);\n"
		"ld.param.v4.b32 {%r4, %r5, %r6, %r7}, [b]; ld.param.u32 %r8, [b+32];\n"
		"mad.lo.u32 %r0, %r5, 3, %r4; mad.lo.u32 %r0, %r6, 5, %r0;\n"
		"mad.lo.u32 %r0, %r7, 7, %r0; mad.lo.u32 %r0, %r8, 11, %r0;"), 50, want_structure},
	{HEAD TABLE KERNEL("rem.u32 %r3, %r2, 3; mov.u64 %rd1, table; mad.wide.u32 %rd1, %r3, 8, "
		"%rd1;\n"
		"ld.global.u64 %rd2, [%rd1]; add.u32 %r4, %r2, %r1;\n"
		"p: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
		"call (%r0), %rd2, (%r4), p;"), 12, want_table},
	{HEAD TABLE KERNEL("rem.u32 %r3, %r2, 3; setp.eq.u32 %p1, %r3, 0; setp.eq.u32 %p2, %r3, "
		"1;\n"
		"mov.u64 %rd1, twice; mov.u64 %rd2, plus; mov.u64 %rd3, both;\n"
		"selp.b64 %rd4, %rd1, %rd3, %p1; selp.b64 %rd4, %rd2, %rd4, %p2;\n"
		"t: .calltargets twice, plus, both;\n"
		"add.u32 %r4, %r2, %r1; call (%r0), %rd4, (%r4), t;"), 1, want_table},
	{HEAD FIB KERNEL("rem.u32 %r3, %r2, 3; setp.ne.u32 %p1, %r3, 0; rem.u32 %r4, %r2, 9;\n"
		"mov.u32 %r0, 5; @%p1 call (%r0), fib, (%r4); add.u32 %r0, %r0, %r1;"), 8,
		want_guarded},
	{HEAD PICK KERNEL(".param .align 8 .b8 a[16]; .param .b32 i;\n"
		"st.param.v4.b32 [a], {%r2, %r1, 7, 9}; and.b32 %r3, %r2, 3; add.u32 %r3, %r3, 1;\n"
		"st.param.b32 [i], %r3; call (%r4), pick, (a, i);\n"
		"mov.b64 %rd1, out; ld.param.u32 %r5, [%rd1+8]; add.u32 %r0, %r4, %r5;"), 50,
		want_picked},
	{HEAD ".extern .shared .align 4 .b8 x[256];\n.extern .shared .align 4 .b8 y[256];\n"
		".extern .func vprintf(.param .b64 f, .param .b64 a);\n.global .b8 empty[1];\n"
		KERNEL("mov.b64 %rd1, x; mul.lo.u32 %r3, %r2, 4; mov.b32 %r5, y;\n"
		"cvt.u64.u32 %rd2, %r3; add.u64 %rd1, %rd1, %rd2; add.u32 %r4, %r5, %r3;\n"
		"mul.lo.u32 %r3, %r2, 3; st.shared.u32 [%rd1], %r3; st.shared.u32 [%r4], %r1;\n"
		"bar.sync 0; mov.u64 %rd3, empty; call vprintf, (%rd3, %out);\n"
		"xor.b32 %r6, %r2, 1; shl.b32 %r6, %r6, 2; mov.b32 %r7, x; add.u32 %r6, %r6, %r7;\n"
		"ld.shared.u32 %r0, [%r6]; ld.shared.u32 %r8, [%r4]; add.u32 %r0, %r0, %r8;"), 3,
		want_declared},
	{HEAD ".shared .align 4 .u32 x[64];\n"
		".func (.param .b32 r) swap(.param .b32 v, .param .b32 i, .param .b32 from)\n{\n"
		"	.reg .b32 %r<9>;\n	ld.param.b32 %r1, [v]; ld.param.b32 %r2, [i];\n"
		"	ld.param.b32 %r3, [from]; mov.u32 %r4, x; mad.lo.u32 %r5, %r2, 4, %r4;\n"
		"	bar.sync 0;\n	st.shared.u32 [%r5], %r1;\n	bar.sync 0;\n"
		"	mad.lo.u32 %r5, %r3, 4, %r4; ld.shared.u32 %r6, [%r5];\n"
		"	st.param.b32 [r], %r6;\n	ret;\n}\n"
		KERNEL("mul.lo.u32 %r3, %r2, 3; xor.b32 %r4, %r2, 1; call (%r5), swap, (%r3, %r2, "
			"%r4);\n"
		"add.u32 %r6, %r2, 1; and.b32 %r6, %r6, 63; mov.u32 %r7, x;\n"
		"call (%r8), swap, (%r3, %r2, %r6);\n"
		"add.u32 %r0, %r5, %r8; add.u32 %r0, %r0, %r1;"), 4, want_shared},
	{HEAD ".func (.param .b8 r1, .param .b16 r2) small(.param .b8 a, .param .b16 b)\n{\n"
		"	.reg .b16 %h<3>; .reg .b32 %r;\n"
		"	ld.param.s8 %r, [a]; ld.param.u16 %h2, [b];\n"
		"	st.param.b8 [r1], %r; st.param.b16 [r2], %h2;\n	ret;\n}\n"
		".func nothing()\n{\n	ret;\n}\n"
		KERNEL(".param .b8 a; .param .b16 b; .param .b8 c; .param .b16 d;\n"
		"mul.lo.u32 %r3, %r2, 5; st.param.b8 [a], %r3; mul.lo.u32 %r4, %r2, 3000;\n"
		"cvt.u16.u32 %h1, %r4; st.param.b16 [b], %h1;\n"
		"call (c, d), small, (a, b); call nothing; call nothing, ();\n"
		"ld.param.s8 %r5, [c]; ld.param.u16 %r6, [d]; setp.gt.u32 %p1, %r1, 3;\n"
		"add.u32 %r0, %r5, %r6; @%p1 add.u32 %r0, %r0, 7;"), 4, want_sizes},
	{HEAD HALVES KERNEL("rem.u32 %r3, %r2, %r1; call (%r0), halves, (%r3);"), 7, want_halves},
	{HEAD FORMALS KERNEL("setp.gt.u32 %p1, %r2, %r1;\n"
		"call (%r0, %p2), half, (%r2, %p1, 0d4008000000000000, 9);\n"
		"@%p2 add.u32 %r0, %r0, 100;"), 20, want_half},
	{HEAD FORMALS_AGAIN KERNEL("add.u32 %r3, %r2, %r1; mov.u64 %rd1, sum;\n"
		".param .b32 a; st.param.b32 [a], %r3; call (%r0), sum, (a, %rd1);"), 9, want_sum},
	{HEAD VECTORS KERNEL(TURN("", "turn", "")), 17, want_turned},
	{HEAD VECTORS KERNEL(TURN("mov.u64 %rd1, turn; p: .callprototype (.reg .v2 .u32 _, .reg "
		".u32 _) _ (.reg .u32 _, .reg .v4 .u32 _, .reg .v2 .f32 _);\n", "%rd1", ", p")), 17,
		want_turned},
	{HEAD KERNELS KERNEL("ld.global.u64 %rd1, [g]; ld.global.u64 %rd2, [g+8];\n"
		"ld.global.u64 %rd3, [g+16]; add.u32 %r0, %r1, %r2; setp.ne.u64 %p1, %rd1, 0;\n"
		"@%p1 add.u32 %r0, %r0, 1; setp.ne.u64 %p1, %rd1, %rd2; @%p1 add.u32 %r0, %r0, 1;\n"
		"setp.ne.u64 %p1, %rd1, %rd3; setp.ne.and.u64 %p1, %rd3, 0, %p1;\n"
		"@%p1 add.u32 %r0, %r0, 1;"), 4, want_three},
	{HEAD THROUGH KERNEL("add.u32 %r3, %r2, %r1; mov.u64 %rd1, down;\n"
		"call (%r0), down, (%r3, %rd1);"), 9, want_sum},
};

START_TEST(calls_compute_what_c_does)
{
	const struct program *p = &programs[_i / 2];
	OK(launch(p->text, _i % 2, p->n));
	for (uint32_t i = 0; i < THREADS; i++) {
		ck_assert_msg(words[i] == p->want(i, p->n), "program %d, width %s, thread %u: %u, "
			"not %u", _i / 2, widths[_i % 2], i, words[i], p->want(i, p->n));
	}
}
END_TEST

/* --- How calls fail --- */

#define DEEP \
	".func (.param .b32 r) deep(.param .b32 n)\n{\n" \
	"	.reg .pred %p; .reg .b32 %r<4>; .local .b8 pad[64];\n" \
	"	ld.param.b32 %r1, [n]; mov.u32 %r2, 0; setp.ne.u32 %p, %r1, 0;\n" \
	"	sub.u32 %r3, %r1, 1; st.local.u32 [pad+4], %r1;\n" \
	"	@%p call (%r2), deep, (%r3);\n" \
	"	ld.local.u32 %r3, [pad+4]; add.u32 %r2, %r2, %r3; st.param.b32 [r], %r2;\n" \
	"	ret;\n" \
	"}\n"

static const char deep[] = HEAD DEEP KERNEL("call (%r0), deep, (%r1);");

START_TEST(recursion_goes_as_deep_as_the_limit_lets_it)
{
	FAILS(HARDWARE_STACK_ERROR, launch(deep, _i, 1000));
	FAILS(HARDWARE_STACK_ERROR, cuCtxSynchronize());
	check_log("stack overflow (see CU_LIMIT_STACK_SIZE)");
	reset();
	OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 64 * 1024));
	OK(launch(deep, _i, 1000));
	ck_assert_uint_eq(words[THREADS - 1], 1000 * 1001 / 2);
}
END_TEST

START_TEST(the_largest_stack_is_that_of_a_gpu)
{
	FAILS(INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_STACK_SIZE, SIZE_MAX / 2));
	OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 512 * 1024));
	OK(launch(deep, _i, 20000));
	ck_assert_uint_eq(words[0], 20000 * 20001 / 2);
}
END_TEST

/* What a pointer to a function may not be: NULL, not one at all, in between, of another kind. */
static const char *const pointers[] = {
	"mov.u64 %rd1, 0;", "ld.param.u64 %rd1, [out];", "mov.u64 %rd1, plus; add.u64 %rd1, %rd1, "
	"8;", "mov.u64 %rd1, other;", "mov.u64 %rd1, both; add.u64 %rd1, %rd1, 16;",
	"mov.u64 %rd1, twice; sub.u64 %rd1, %rd1, 16;",
};

START_TEST(a_call_of_what_is_no_such_function_ends_the_launch)
{
	char text[4096];
	snprintf(text, sizeof(text), "%s%s%s", HEAD TABLE
		".visible .entry k(.param .u64 out, .param .u32 n)\n{\n"
		"	.reg .b32 %r; .reg .b64 %rd1;\n	mov.u32 %r, %tid.x;\n	", pointers[_i / 2],
		"\np:	.callprototype (.param .b32 _) _ (.param .b32 _);\n"
		"	call (%r), %rd1, (%r), p;\n	ret;\n}\n");
	FAILS(INVALID_PC, launch(text, _i % 2, 0));
	check_log("call of an address that is not a function");
	FAILS(INVALID_PC, cuCtxSynchronize());
}
END_TEST

START_TEST(nobody_calls_through_a_pointer_where_no_address_is_taken)
{
	FAILS(INVALID_PC,
		launch(HEAD KERNEL("p: .callprototype (.param .b32 _) _ (); mov.u64 %rd1, 16;\n"
		"call (%r0), %rd1, (), p;"), _i, 0));
}
END_TEST

/* Only kernels that reach what is not supported are refused. */
START_TEST(what_no_kernel_calls_may_be_anything)
{
	static const char unused[] = HEAD ".func bad()\n{\n	.reg .u32 %r;\n"
		"	getctarank.u32 %r, %r;\n	ret;\n}\n.extern .func gone();\n"
		".func worse()\n{\n	call bad;\n	call gone;\n	ret;\n}\n"
		KERNEL("mov.u32 %r0, 3;");
	OK(launch(unused, _i, 0));
	ck_assert_uint_eq(words[0], 3);
}
END_TEST

/* --- What the device has built in --- */

#define BUILT_IN \
	".extern .func (.param .b64 r) malloc(.param .b64 size);\n" \
	".extern .func free(.param .b64 p);\n" \
	".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 args);\n"

START_TEST(memory_of_malloc_outlives_its_kernel)
{
	static const char text[] = HEAD BUILT_IN ".visible .global .u64 kept;\n"
		KERNEL("call (%rd1), malloc, (64); st.u32 [%rd1], %r2; ld.u32 %r0, [%rd1];\n"
		"setp.ne.u32 %p1, %r2, 5; @%p1 call free, (%rd1); "
		"@!%p1 st.global.u64 [kept], %rd1;");
	uint64_t address;
	uint32_t value;
	CUdeviceptr kept;
	OK(launch(text, _i, 0));
	for (uint32_t i = 0; i < THREADS; i++) {
		ck_assert_uint_eq(words[i], i);
	}
	OK(cuModuleGetGlobal_v2(&kept, NULL, module, "kept"));
	OK(cuMemcpyDtoH_v2(&address, kept, sizeof(address)));
	OK(cuMemcpyDtoH_v2(&value, address, sizeof(value)));
	ck_assert_uint_eq(value, 5);
	FAILS(INVALID_VALUE, cuMemFree_v2(address));
	FAILS(INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 1 << 20));
}
END_TEST

START_TEST(malloc_gives_null_when_the_heap_is_full)
{
	static const char text[] = HEAD BUILT_IN KERNEL("mov.u32 %r0, 0;\nagain:\n"
		"call (%rd1), malloc, (1000); setp.ne.u64 %p1, %rd1, 0;\n"
		"@%p1 add.u32 %r0, %r0, 1; @%p1 bra again;");
	OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 100 * 1008));
	uint32_t sum = 0;
	OK(launch(text, _i, 0));
	for (uint32_t i = 0; i < THREADS; i++) {
		sum += words[i];
	}
	ck_assert_uint_eq(sum, 100);
}
END_TEST

static const char *const frees[] = {
	"call (%rd1), malloc, (8); call free, (%rd1); call free, (%rd1);",
	"call (%rd1), malloc, (80); add.u64 %rd1, %rd1, 16; call free, (%rd1);",
	"mov.u64 %rd1, %out; call (%rd2), malloc, (8); call free, (%rd1);",
	"call free, (1);",
};

START_TEST(free_of_what_malloc_has_not_given_ends_the_launch)
{
	char text[2048];
	snprintf(text, sizeof(text), "%s%s%s", HEAD BUILT_IN
		".visible .entry k(.param .u64 out, .param .u32 n)\n{\n	.reg .b64 %rd<9>, %out;\n"
		"	ld.param.u64 %out, [out];\n	call free, (0);\n	", frees[_i / 2],
		"\n	ret;\n}\n");
	FAILS(ILLEGAL_ADDRESS, launch(text, _i % 2, 0));
	check_log("which malloc did not return");
}
END_TEST

START_TEST(a_function_of_ours_with_other_parameters_is_refused)
{
	FAILS(INVALID_PTX, cuModuleLoadData(&module, HEAD ".extern .func malloc(.param .b32 x);\n"
		KERNEL("call malloc, (%r1);")));
	check_log("function 'malloc' has other parameters");
}
END_TEST

/* Strings that do not exist fault like any other access, and leave nothing locked. */
START_TEST(strings_that_do_not_exist_are_illegal_addresses)
{
	static const char *const bodies[] = {
		"call (%r0), vprintf, (%out, %out);", "call (%r0), vprintf, (64, 0);",
		"call __assertfail, (%rd1, %rd1, 1, 64, 1);",
		"call __assertfail, (64, %rd1, 1, %rd1, 1);",
	};
	char text[2048];
	snprintf(text, sizeof(text), "%s%s%s", HEAD BUILT_IN
		".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param "
		".b64 d, .param .b64 e);\n.global .b8 s[8] = {37, 115, 10, 0};\n"
		".visible .entry k(.param .u64 out, .param .u32 n)\n{\n"
		"	.reg .b64 %rd<9>, %out; .reg .b32 %r<3>;\n"
		"	mov.u64 %rd1, s; mov.u64 %out, 32;\n	", bodies[_i / 2], "\n	ret;\n}\n");
	FAILS(ILLEGAL_ADDRESS, launch(text, _i % 2, 0));
	fprintf(stderr, "%s", "");
	fflush(stdout);
}
END_TEST

/* printf counts its arguments, and is told when there is no format. */
START_TEST(vprintf_returns_what_cuda_says)
{
	static const char text[] = HEAD BUILT_IN ".global .b8 text[6] = {37, 100, 37, 100, 10, "
		"0};\n"
		KERNEL(".local .align 8 .b8 args[8]; st.local.v2.u32 [args], {%r1, %r2};\n"
		"mov.u64 %rd1, text; mov.u64 %rd2, args; cvta.local.u64 %rd2, %rd2; "
		"mov.u32 %r0, 0;\n"
		"setp.eq.u32 %p1, %r2, 3; @%p1 call (%r0), vprintf, (%rd1, %rd2);\n"
		"setp.eq.u32 %p2, %r2, 4; @%p2 call (%r0), vprintf, (0, %rd2);");
	char printed[64] = "";
	int pipes[2], saved = dup(STDOUT_FILENO);
	ck_assert_int_eq(pipe(pipes), 0);
	fflush(stdout);
	dup2(pipes[1], STDOUT_FILENO);
	CUresult result = launch(text, _i, 7);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(pipes[1]);
	ck_assert_int_eq(result, CUDA_SUCCESS);
	ck_assert_int_eq(read(pipes[0], printed, sizeof(printed) - 1), 3);
	ck_assert_str_eq(printed, "73\n");
	ck_assert_int_eq((int)words[3], 2);
	ck_assert_int_eq((int)words[4], -1);
	ck_assert_uint_eq(words[5], 0);
	// "must be performed before launching any kernel that uses the printf() device system call"
	FAILS(INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20));
	close(pipes[0]);
	close(saved);
}
END_TEST

/* Nobody reads the pipe: no signal comes, the kernel is told, and the log. */
START_TEST(a_text_that_is_lost_is_logged)
{
	static const char text[] = HEAD BUILT_IN ".global .b8 text[3] = {111, 10, 0};\n"
		KERNEL("mov.u64 %rd1, text; setp.eq.u32 %p1, %r2, 3; mov.u32 %r0, 7;\n"
		"@%p1 call (%r0), vprintf, (%rd1, 0);");
	int pipes[2], saved = dup(STDOUT_FILENO);
	ck_assert_int_eq(pipe(pipes), 0);
	fflush(stdout);
	setvbuf(stdout, NULL, _IONBF, 0);
	close(pipes[0]);
	dup2(pipes[1], STDOUT_FILENO);
	close(pipes[1]);
	CUresult result = launch(text, _i, 7);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	ck_assert_int_eq(result, CUDA_SUCCESS);
	ck_assert_int_eq((int)words[2], 7);
	ck_assert_int_eq((int)words[3], -2);
	check_log("kernel 'k': text that it printed is lost: Broken pipe");
}
END_TEST

SUITE(emit_call)
{
	Suite *s = suite_create("emit_call");
	TCase *tc = tcase_create("values");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, calls_compute_what_c_does, 0, 2 * (int)countof(programs));
	suite_add_tcase(s, tc);

	tc = tcase_create("failures");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, recursion_goes_as_deep_as_the_limit_lets_it, 0, 2);
	tcase_add_loop_test(tc, the_largest_stack_is_that_of_a_gpu, 0, 2);
	tcase_add_loop_test(tc, a_call_of_what_is_no_such_function_ends_the_launch, 0,
		2 * (int)countof(pointers));
	tcase_add_loop_test(tc, nobody_calls_through_a_pointer_where_no_address_is_taken, 0, 2);
	tcase_add_loop_test(tc, what_no_kernel_calls_may_be_anything, 0, 2);
	suite_add_tcase(s, tc);

	tc = tcase_create("built in");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, memory_of_malloc_outlives_its_kernel, 0, 2);
	tcase_add_loop_test(tc, malloc_gives_null_when_the_heap_is_full, 0, 2);
	tcase_add_loop_test(tc, free_of_what_malloc_has_not_given_ends_the_launch, 0,
		2 * (int)countof(frees));
	tcase_add_test(tc, a_function_of_ours_with_other_parameters_is_refused);
	tcase_add_loop_test(tc, strings_that_do_not_exist_are_illegal_addresses, 0, 8);
	tcase_add_loop_test(tc, vprintf_returns_what_cuda_says, 0, 2);
	tcase_add_loop_test(tc, a_text_that_is_lost_is_logged, 0, 2);
	suite_add_tcase(s, tc);
	return s;
}
