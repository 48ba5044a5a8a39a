/* SPDX-License-Identifier: MIT */
/*
 * What people write by hand and no compiler makes: vectors of registers, elements of arrays,
 * aliases, tables of labels, old widths, registers wider than what they hold; guards on all kinds
 * of instructions.  Each program runs one lane at a time and as warps of 32, and its results are
 * compared with C.
 */
#include "cpu/support/api.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 40 };

#define HEAD ".version 8.8\n.target sm_89\n.address_size 64\n"

/* A kernel k(out): the words out[tid] get what is in %r0 at the end; %r1 is tid. */
#define KERNEL(body) \
	".visible .entry k(.param .u64 out)\n{\n" \
	"	.reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %d<9>; .reg .f32 %f<9>;\n" \
	"	.reg .b16 %h<9>; .reg .f64 %g<9>; .reg .b64 %out;\n" \
	"	ld.param.u64 %out, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d0, %r1, 4;\n" \
	"	add.u64 %out, %out, %d0; mov.u32 %r0, 0;\n" \
	body "\n" \
	"	st.global.u32 [%out], %r0;\n	ret;\n}\n"

#define FLOAT_IN_64 "// a float in 64 bits\n"
#define TABLE ".global .u32 table[8] = {3, 1, 4, 1, 5, 9, 2, 6};\n"

static uint32_t want_swapped(uint32_t tid)
{
	return (tid + 7) * 100 + tid;
}

static uint32_t want_block(uint32_t tid)
{
	return tid * 1000 + THREADS * 10 + 1;
}

static uint32_t want_tid(uint32_t tid)
{
	return tid;
}

static uint32_t want_nine(uint32_t tid)
{
	return 9 + (tid & 0);
}

static uint32_t want_four_one(uint32_t tid)
{
	return 4 * 10 + 1 + (tid & 0);
}

static uint32_t want_next(uint32_t tid)
{
	return tid + 1;
}

static uint32_t want_label(uint32_t tid)
{
	return (tid % 4) * 11;
}

static uint32_t want_one(uint32_t tid)
{
	return 1 + (tid & 0);
}

static uint32_t want_byte(uint32_t tid)
{
	return (tid * 3) & 0xff;
}

static uint32_t want_bits(uint32_t tid)
{
	float value = (float)tid;
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* --- What guarded instructions compute --- */

#define DOUBLE ".func (.param .b32 r) twice(.param .b32 a)\n{\n	.reg .b32 %r;\n" \
	"	ld.param.b32 %r, [a]; add.u32 %r, %r, %r; st.param.b32 [r], %r;\n	ret;\n}\n"

/* %p1: an odd tid */
#define ODD "and.b32 %r29, %r1, 1; setp.eq.u32 %p1, %r29, 1;\n"

/* Lanes of the warp that a thread belongs to, and the sum of its odd tids. */
static uint32_t lanes_of(uint32_t tid)
{
	return tid < 32 ? UINT32_MAX : (1u << (THREADS - 32)) - 1;
}

static uint32_t odd_sum(uint32_t tid)
{
	uint32_t sum = 0;
	for (uint32_t i = tid & ~31u; i < THREADS && i < (tid & ~31u) + 32; i++) {
		sum += i % 2 ? i : 0;
	}
	return sum;
}

static uint32_t want_guarded_call(uint32_t tid)
{
	return tid % 2 ? 10 : 2 * tid;
}

static uint32_t want_guarded_pointer(uint32_t tid)
{
	return tid % 2 ? 2 * tid : 7;
}

static uint32_t want_guarded_ret(uint32_t tid)
{
	return tid % 2 ? 1 : tid > 9 ? 2 : 3;
}

static uint32_t want_guarded_vectors(uint32_t tid)
{
	return tid % 2 ? tid + 18 : 8;
}

static uint32_t want_guarded_stores(uint32_t tid)
{
	return tid % 2 ? tid : 0xff00;
}

static uint32_t want_guarded_atomics(uint32_t tid)
{
	return odd_sum(0) + odd_sum(32) + (tid & 0);
}

static uint32_t want_lane(uint32_t tid)
{
	return tid % 32;
}

static uint32_t want_guarded_table(uint32_t tid)
{
	return tid % 2 == 0 ? 0 : tid % 4 == 1 ? 1110 : 1000;
}

static uint32_t want_guarded_shuffle(uint32_t tid)
{
	return tid % 2 ? (tid & 32) + 3 : tid ^ 2;
}

static uint32_t want_guarded_vote(uint32_t tid)
{
	uint32_t above = tid < 32 ? 0xfffffffe : lanes_of(tid);
	return tid % 2 ? above & lanes_of(tid) & 0xaaaaaaaa : tid < 32;
}

static uint32_t want_guarded_carry(uint32_t tid)
{
	return tid % 2 ? 0 : tid > 0;
}

static uint32_t want_guarded_pack(uint32_t tid)
{
	return tid % 2 ? tid * 65537 : 0x2345;
}

static uint32_t want_guarded_redux(uint32_t tid)
{
	return tid % 2 ? odd_sum(tid) : tid < 32 ? 30 : THREADS - 2;
}

static uint32_t want_guarded_compare(uint32_t tid)
{
	bool p = tid % 2 ? tid < 20 : !(tid > 30);
	bool q = tid % 2 ? !(tid < 20) : tid <= 30;
	return tid % 2 ? p + 2 * q : (tid > 30) + 2 * q;
}

static const struct program {
	const char *text;
	uint32_t (*want)(uint32_t tid);
} programs[] = {
	{HEAD KERNEL(".reg .v2 .u32 V; .reg .v4 .u32 W<2>;\n"
		"add.u32 V.y, %r1, 7; mov.u32 V.x, %r1; mov.v2.u32 V, {V.y, V.x};\n"
		"mov.v4.u32 W1, {V.r, V.g, V.x, 100}; mad.lo.u32 %r0, W1.b, W1.a, W1.g;"),
		want_swapped},
	{HEAD KERNEL("mov.v4.u32 {%r2, %r3, _, %r4}, %tid; mov.u32 %r6, %tid.z;\n"
		"add.u32 %r3, %r3, %r6;\n"
		".reg .v4 .b32 N; mov.v4.b32 N, %ntid; mov.u32 %r5, %tid.w; "
		"mad.lo.u32 %r0, %r2, 1000, %r3;\n"
		"mad.lo.u32 %r0, N.x, 10, %r0; add.u32 %r0, %r0, N.y; add.u32 %r0, %r0, %r4;\n"
		"add.u32 %r0, %r0, %r5; add.u32 %r0, %r0, N.w;"), want_block},
	{HEAD KERNEL(".reg .v2 .b32 V; .local .v2 .u32 l; mov.b32 V.x, %r1; mov.b32 V.y, 5;\n"
		"st.local.v2.b32 [l], V; mov.b64 %d1, V; mov.b64 V, %d1;\n"
		"ld.local.v2.b32 {_, %r2}, [l]; setp.eq.u32 %p1, %r2, 5; @%p1 mov.b32 %r0, V.x;"),
		want_tid},
	{HEAD KERNEL("mov.u16 %h1, %tid.x; mov.u16 %h2, %tid.y; add.u16 %h1, %h1, %h2;\n"
		"cvt.u32.u16 %r0, %h1; cvt.u32.u16 %r2, %ctaid.x; add.u32 %r0, %r0, %r2;"),
		want_tid},
	{HEAD KERNEL("mov.u32 %r2, %gridid; mov.u64 %d1, %gridid; cvt.u32.u64 %r3, %d1;\n"
		"setp.eq.u32 %p1, %r2, %r3; selp.u32 %r0, 1, 0, %p1;"), want_one},
	{HEAD TABLE KERNEL("mov.u64 %d1, table[5]; ld.global.u32 %r0, [%d1];"), want_nine},
	{HEAD TABLE KERNEL("ld.global.u32 %r2, table[1+1]; ld.global.u32 %r3, table[3];\n"
		"mad.lo.u32 %r0, %r2, 10, %r3;"), want_four_one},
	{HEAD TABLE KERNEL("cvta.global.u64 %d1, table[2]; ld.u32 %r2, [%d1].unified;\n"
		"ld.global.u32 %r3, [table+4*3]; mad.lo.u32 %r0, %r2, 10, %r3;"), want_four_one},
	{HEAD ".func (.param .b32 r) next(.param .b32 a)\n{\n	.reg .b32 %r;\n"
		"	ld.param.b32 %r, [a]; add.u32 %r, %r, 1; st.param.b32 [r], %r;\n"
		"	ret;\n"
		"}\n"
		".func (.param .b32 r) same(.param .b32 a);\n.alias same, next;\n"
		KERNEL("call (%r0), same, (%r1);"), want_next},
	{HEAD KERNEL("T: .branchtargets N<3>, M;\nand.b32 %r2, %r1, 3; brx.idx %r2, T;\n"
		"N0: bra END;\nN1: mov.u32 %r0, 11; bra END;\nN2: mov.u32 %r0, 22; bra END;\n"
		"M: mov.u32 %r0, 33;\nEND:"), want_label},
	{HEAD TABLE ".global .u8 bytes[8] = {0xff(table), 0xff00(table), 0xff0000(table),\n"
		"0xff000000(table), 0xff00000000(table), 0xff0000000000(table),\n"
		"0xff000000000000(table), 0xff00000000000000(table+0)};\n"
		KERNEL("mov.u64 %d1, table; mov.u64 %d2, 0; mov.u64 %d3, bytes; mov.u32 %r2, 0;\n"
		"AGAIN: ld.global.u8 %d4, [%d3]; shl.b32 %r3, %r2, 3; shl.b64 %d4, %d4, %r3;\n"
		"or.b64 %d2, %d2, %d4; add.u64 %d3, %d3, 1; add.u32 %r2, %r2, 1;\n"
		"setp.lt.u32 %p1, %r2, 8; @%p1 bra AGAIN;\n"
		"setp.eq.u64 %p2, %d1, %d2; selp.u32 %r0, 1, 0, %p2;"), want_one},
	{HEAD KERNEL("prefetch.global.L2::evict_last [%out]; prefetch.global.L2::evict_normal "
		"[%out];\n"
		"mov.u32 %r0, %r1;"), want_tid},
	{HEAD ".global .u32 g<3>;\n" KERNEL(".local .u32 l<2>, m; st.local.u32 [l0], %r1;\n"
		"st.local.u32 [l1], 1; st.local.u32 [m], 5; ld.local.u32 %r2, [l0];\n"
		"ld.local.u32 %r3, [l1]; ld.global.u32 %r4, [g2]; add.u32 %r0, %r2, %r3;\n"
		"add.u32 %r0, %r0, %r4;"), want_next},
	/* PTX ISA 9.4.1: of a wider register the lower part is stored, and the rest is cleared when
	 * it is loaded; b and f registers may stand for each other there */
	{HEAD KERNEL(".local .align 8 .b8 l[8]; mul.lo.u32 %r2, %r1, 3; or.b32 %r2, %r2, 0x100;\n"
		"mov.b32 %f1, %r2; mov.b64 %d1, -1; st.local.b64 [l], %d1; st.local.b8 [l], %f1;\n"
		"mov.b32 %f2, -1; ld.local.b8 %f2, [l]; mov.b32 %r0, %f2;"), want_byte},
	{HEAD KERNEL(FLOAT_IN_64 ".local .align 8 .b8 l[8]; mov.b64 %d1, -1; st.local.b64 [l], "
		"%d1;\n"
		"cvt.rn.f32.u32 %f1, %r1; mov.b32 %r2, %f1; mov.b64 %d2, {%r2, 7};\n"
		"st.local.f32 [l], %d2; ld.local.f32 %d3, [l]; mov.b64 {%r0, %r3}, %d3;\n"
		"add.u32 %r0, %r0, %r3;"), want_bits},
	{HEAD KERNEL(".local .align 8 .b8 l[8]; cvt.rn.f32.u32 %f1, %r1; mov.b32 %r2, %f1;\n"
		"st.local.u32 [l], %r2; ld.local.b32 %g1, [l]; mov.b64 {%r0, %r3}, %g1;\n"
		"add.u32 %r0, %r0, %r3; st.local.b32 [l], %g1; ld.local.u32 %r4, [l];\n"
		"sub.u32 %r4, %r4, %r2; add.u32 %r0, %r0, %r4;"), want_bits},
	{HEAD KERNEL("cvt.rn.f64.u32 %g1, %r1; cvt.rn.f32.f64 %d1, %g1;\n"
		"mov.b64 {%r0, %r3}, %d1; add.u32 %r0, %r0, %r3;"), want_bits},
	{HEAD KERNEL("cvt.rn.f32.u32 %f1, %r1; cvt.rn.f16.f32 %r2, %f1; shr.u32 %r3, %r2, 16;\n"
		"mov.b32 {%h1, %h2}, %r2; cvt.f32.f16 %f2, %h1; mov.b32 %r0, %f2;\n"
		"add.u32 %r0, %r0, %r3;"), want_bits},
	{HEAD DOUBLE KERNEL(ODD "@!%p1 call (%r0), twice, (%r1); @%p1 call (%r0), twice, (5);"),
		want_guarded_call},
	{HEAD DOUBLE KERNEL(ODD "mov.u32 %r0, 7; mov.u64 %d1, twice;\n"
		"P: .callprototype (.param .b32 _) _ (.param .b32 _); @%p1 call (%r0), %d1, (%r1), "
		"P;"), want_guarded_pointer},
	{HEAD KERNEL(ODD "st.global.u32 [%out], 1; @%p1 ret; st.global.u32 [%out], 2;\n"
		"setp.gt.u32 %p2, %r1, 9; @%p2 exit; mov.u32 %r0, 3;"), want_guarded_ret},
	{HEAD KERNEL(ODD ".local .align 16 .b8 l[16]; st.local.v4.u32 [l], {%r1, 5, 6, 7};\n"
		"mov.u32 %r2, 1; mov.u32 %r3, 1; mov.u32 %r4, 1; mov.u32 %r5, 1;\n"
		"@%p1 ld.local.v4.u32 {%r2, %r3, %r4, %r5}, [l]; "
		"@!%p1 ld.local.v2.u32 {_, %r5}, [l];\n"
		"add.u32 %r0, %r2, %r3; add.u32 %r0, %r0, %r4; add.u32 %r0, %r0, %r5;"),
		want_guarded_vectors},
	{HEAD KERNEL(ODD ".local .u32 l; st.local.u32 [l], 0; @%p1 st.local.u32 [l], %r1;\n"
		"@!%p1 st.local.u8 [l+1], 255; ld.local.u32 %r0, [l];"), want_guarded_stores},
	{HEAD KERNEL(ODD ".shared .u32 s; setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.u32 [s], 0;\n"
		"bar.sync 0; @%p1 atom.shared.add.u32 %r2, [s], %r1; "
		"@!%p1 red.shared.max.u32 [s], 0;\n"
		"bar.sync 0; ld.shared.u32 %r0, [s]; @!%p1 atom.shared.exch.b32 _, [s], %r0;"),
		want_guarded_atomics},
	{HEAD KERNEL("setp.lt.u32 %p1, %r1, 32; .shared .u32 s[64]; mov.u64 %d1, s;\n"
		"mad.wide.u32 %d1, %r1, 4, %d1; @%p1 bar.sync 1, 32; st.shared.u32 [%d1], %r1;\n"
		"@!%p1 bar.sync 2, 32; @%p1 bar.arrive 3, 64; @!%p1 bar.sync 3, 64;\n"
		"@!%p1 ld.shared.u32 %r0, [%d1+-128]; @%p1 mov.u32 %r0, %r1;"), want_lane},
	{HEAD KERNEL(ODD "and.b32 %r2, %r1, 3; T: .branchtargets A, B, C, D; @!%p1 bra E;\n"
		"brx.idx %r2, T;\nA: add.u32 %r0, %r0, 1;\nB: add.u32 %r0, %r0, 10;\n"
		"C: add.u32 %r0, %r0, 100;\nD: add.u32 %r0, %r0, 1000;\nE:"), want_guarded_table},
	{HEAD KERNEL(ODD "@%p1 shfl.sync.idx.b32 %r0|%p3, %r1, 3, 31, 0xaaaaaaaa;\n"
		"@!%p1 shfl.sync.bfly.b32 %r0, %r1, 2, 31, 0x55555555;"), want_guarded_shuffle},
	{HEAD KERNEL(ODD "setp.gt.u32 %p2, %r1, 0; @%p1 vote.sync.ballot.b32 %r0, %p2, "
		"0xaaaaaaaa;\n"
		"@!%p1 vote.sync.any.pred %p3, !%p2, 0x55555555; @!%p1 selp.u32 %r0, 1, 0, %p3;"),
		want_guarded_vote},
	{HEAD KERNEL(ODD "add.cc.u32 %r2, %r1, 0xffffffff; @%p1 add.cc.u32 %r2, %r1, 0;\n"
		"addc.u32 %r0, 0, 0;"), want_guarded_carry},
	{HEAD KERNEL(ODD "cvt.u16.u32 %h1, %r1; @%p1 mov.b32 %r0, {%h1, %h1};\n"
		"mov.b32 {%h2, %h3}, %r0; @!%p1 mov.b32 {%h2, _}, 0x12345; "
		"mov.b32 %r0, {%h2, %h3};"),
		want_guarded_pack},
	{HEAD KERNEL(ODD "@%p1 redux.sync.add.u32 %r0, %r1, 0xaaaaaaaa;\n"
		"@!%p1 redux.sync.max.s32 %r0, %r1, 0x55555555;"), want_guarded_redux},
	{HEAD KERNEL(ODD "setp.eq.u32 %p2, %r1, %r1; setp.ne.u32 %p3, %r1, %r1;\n"
		"@%p1 setp.lt.and.u32 %p2|%p3, %r1, 20, %p1; "
		"@!%p1 setp.gt.xor.s32 %p3|%p2, %r1, 30, !%p1;\n"
		"selp.u32 %r0, 1, 0, %p2; selp.u32 %r2, 2, 0, %p3; add.u32 %r0, %r0, %r2;"),
		want_guarded_compare},
	{HEAD KERNEL("setp.gt.u32 %p1, %r1, 1000; @%p1 trap; @%p1 brkpt; @%p1 exit; @%p1 "
		"nanosleep.u32 9;\n"
		"@%p1 fence.acq_rel.gpu; @%p1 prefetch.global.L2 [%out]; mov.u32 %r0, %r1;"),
		want_tid},
};

/* A float in a register of 64 bits, of which GPUs leave the upper half as it was. */
static bool is_open(const struct program *p)
{
	return strstr(p->text, FLOAT_IN_64) && driver_lacks("the upper half is open");
}

START_TEST(programs_by_hand_compute_what_c_does)
{
	if ((_i % 2 && driver_lacks(DRIVER_WIDTHS))
	    || (_i / 2 == 0 && driver_lacks("ptxas takes no vectors of names and numbers"))) {
		return;
	}
	static const char *const widths[] = {"1", "32"};
	const struct program *p = &programs[_i / 2];
	uint32_t words[THREADS];
	CUmodule module;
	CUdeviceptr memory = alloc(sizeof(words));
	void *params[] = {&memory};
	setenv("KUDZU_CPU_WIDTH", widths[_i % 2], 1);
	ck_assert_msg(cuModuleLoadData(&module, p->text) == CUDA_SUCCESS, "%d: %s", _i / 2,
		api_last_log());
	OK(cuLaunchKernel(kernel(module, "k"), 1, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH_v2(words, memory, sizeof(words)));
	for (uint32_t i = 0; i < THREADS && !is_open(p); i++) {
		ck_assert_msg(words[i] == p->want(i), "program %d, width %s, thread %u: %u, not %u",
			_i / 2, widths[_i % 2], i, words[i], p->want(i));
	}
}
END_TEST

SUITE(syntax)
{
	Suite *s = suite_create("syntax");
	TCase *tc = tcase_create("programs");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, programs_by_hand_compute_what_c_does, 0, 2 * countof(programs));
	suite_add_tcase(s, tc);
	return s;
}
