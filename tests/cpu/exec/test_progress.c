/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for each other make progress: within a warp, between warps, between blocks, at
 * both widths.  Every kernel has one parameter, an array of 32-bit words that starts as zeros, and
 * says in a line of C what its word i must be in the end.
 */
#include "cpu/support/api.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>

#define WORDS 512

static const char head[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .entry k(.param .u64 words)\n{\n"
	".reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>;\n"
	".shared .align 4 .b8 flags[256];\n"
	"ld.param.u64 %rd0, [words];\n"
	"mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;\n"
	"mad.lo.u32 %r3, %r1, %r2, %r0; mul.wide.u32 %rd1, %r3, 4; add.u64 %rd2, %rd0, %rd1;\n"
	"mov.u32 %r4, %laneid; mov.u32 %r5, %warpid; shl.b32 %r6, %r0, 2;\n"
	"mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd0, %rd3;\n";

static uint32_t all_threads(uint32_t i)
{
	return i == 0 ? 4 * 64 : 0;
}

static uint32_t one_flag(uint32_t i)
{
	return i < 64 ? 7 : 0;
}

static uint32_t prefix(uint32_t i)
{
	return i < 100 ? i + 1 : 0;
}

static uint32_t halves(uint32_t i)
{
	return i < 64 ? (i + 32) % 64 + 1 : 0;
}

static uint32_t neighbours(uint32_t i)
{
	uint32_t lane = i % 32;
	uint32_t peer = lane < 16 ? (lane + 1) % 16 : 16 + (lane - 15) % 16;
	return i < 64 ? i / 32 * 32 + peer : 0;
}

static uint32_t ones(uint32_t i)
{
	return i < 64;
}

static uint32_t thirds(uint32_t i)
{
	return i < 96 ? i - i % 32 + (i + 1) % 32 : 0;
}

static uint32_t sum(uint32_t i)
{
	return i < 64 ? 64 * 65 / 2 : 0;
}

static uint32_t lanes_left(uint32_t i)
{
	return i < 64 && i % 4 != 3 ? 48 : 0;
}

static uint32_t halves_of_warp(uint32_t i)
{
	return i < 64 ? (i ^ 16) * (i % 32 < 16 ? 100 : 1) : 0;
}

static uint32_t thirds_of_warp(uint32_t i)
{
	const uint32_t peer = i / 32 * 32 + (i + 5) % 32;
	const uint32_t kind = peer % 32 % 3;
	return i < 64 ? (kind == 0 ? 7 : kind == 1 ? 100 * peer : peer) + 3 : 0;
}

static uint32_t whole_warps(uint32_t i)
{
	return i < 64 ? 32 : 0;
}

static uint32_t prefix_of_block(uint32_t i)
{
	return i < 192 ? (i % 64 + 1) * (i % 64 + 2) / 2 : 0;
}

static uint32_t three_rounds(uint32_t i)
{
	return i < 64 ? 3 : 0;
}

/* Of programs from before Volta: a warp adds up without __syncwarp(). */
#define ADD(distance) \
	"ld.volatile.shared.u32 %r12, [%r11]; ld.volatile.shared.u32 %r13, [%r11+" distance "];\n" \
	"add.u32 %r12, %r12, %r13; st.volatile.shared.u32 [%r11], %r12;\n"

static const struct scene {
	const char *name;
	uint32_t blocks, threads;
	uint32_t (*want)(uint32_t i);
	const char *body;
	bool needs_lockstep; /* which a schedule does not keep */
} scenes[] = {
	{"threads of a warp take a lock in turn", 4, 64, all_threads,
		"AGAIN: atom.global.cas.b32 %r10, [%rd0+4], 0, 1; setp.ne.u32 %p1, %r10, 0;\n"
		"@%p1 bra AGAIN;\n"
		"ld.global.u32 %r11, [%rd0]; add.u32 %r11, %r11, 1; st.global.u32 [%rd0], %r11;\n"
		"membar.gl; atom.global.exch.b32 %r12, [%rd0+4], 0;\n"},
	{"a lock with its work inside the loop", 4, 64, all_threads,
		"AGAIN: atom.global.cas.b32 %r10, [%rd0+4], 0, 1; setp.ne.u32 %p1, %r10, 0;\n"
		"@%p1 bra NEXT;\n"
		"ld.global.u32 %r11, [%rd0]; add.u32 %r11, %r11, 1; st.global.u32 [%rd0], %r11;\n"
		"membar.gl; atom.global.exch.b32 %r12, [%rd0+4], 0;\n"
		"NEXT: @%p1 bra AGAIN;\n"},
	{"a thread waits for one that comes later in its warp", 1, 64, one_flag,
		"setp.eq.u32 %p1, %r4, 31; st.shared.u32 [flags], 0; bar.sync 0;\n"
		"@%p1 bra PRODUCE;\n"
		"WAIT: ld.volatile.shared.u32 %r10, [flags]; setp.eq.u32 %p2, %r10, 0;\n"
		"@%p2 bra WAIT; bra DONE;\n"
		"PRODUCE: st.volatile.shared.u32 [flags], 7; mov.u32 %r10, 7;\n"
		"DONE: st.global.u32 [%rd2], %r10;\n"},
	{"one warp waits for the other", 1, 64, one_flag,
		"st.shared.u32 [flags], 0; bar.sync 0;\n"
		"setp.eq.u32 %p1, %r5, 1; @%p1 bra PRODUCE;\n"
		"WAIT: ld.relaxed.cta.shared.u32 %r10, [flags]; setp.ne.u32 %p2, %r10, 7;\n"
		"@%p2 bra WAIT; bra DONE;\n"
		"PRODUCE: mov.u32 %r10, 7; setp.ne.u32 %p3, %r0, 63;\n"
		"@%p3 bra DONE; st.release.cta.shared.u32 [flags], 7;\n"
		"DONE: st.global.u32 [%rd2], %r10;\n"},
	{"blocks look back", 100, 1, prefix,
		"setp.eq.u32 %p1, %r1, 0; mov.u32 %r10, 0; @%p1 bra FIRST;\n"
		"WAIT: ld.acquire.gpu.global.u32 %r10, [%rd4+-4]; setp.eq.u32 %p2, %r10, 0;\n"
		"@%p2 bra WAIT;\n"
		"FIRST: add.u32 %r10, %r10, 1; st.release.gpu.global.u32 [%rd4], %r10;\n"},
	{"both sides of a branch arrive at one barrier", 1, 64, halves,
		"add.u32 %r10, %r0, 1; mov.u32 %r11, flags; add.u32 %r11, %r11, %r6;\n"
		"st.shared.u32 [%r11], %r10; and.b32 %r12, %r4, 1; setp.eq.u32 %p1, %r12, 1;\n"
		"@%p1 bra ODD; bar.sync 0; bra BOTH; ODD: bar.sync 0;\n"
		"BOTH: xor.b32 %r13, %r6, 128; mov.u32 %r14, flags; add.u32 %r14, %r14, %r13;\n"
		"ld.shared.u32 %r15, [%r14]; st.global.u32 [%rd2], %r15;\n"},
	{"halves of a warp meet on either side of a branch", 1, 64, neighbours,
		"mov.u32 %r11, flags; add.u32 %r12, %r11, %r6; st.shared.u32 [%r12], %r0;\n"
		"setp.lt.u32 %p1, %r4, 16; @%p1 bra LOW;\n"
		"bar.warp.sync 0xffff0000; sub.u32 %r13, %r4, 15; and.b32 %r13, %r13, 15;\n"
		"add.u32 %r13, %r13, 16; bra READ;\n"
		"LOW: bar.warp.sync 0xffff; add.u32 %r13, %r4, 1; and.b32 %r13, %r13, 15;\n"
		"READ: shl.b32 %r14, %r5, 5; add.u32 %r13, %r13, %r14; shl.b32 %r13, %r13, 2;\n"
		"add.u32 %r13, %r13, %r11; ld.shared.u32 %r15, [%r13]; "
		"st.global.u32 [%rd2], %r15;\n"},
	{"threads of a warp leave a collective together", 1, 64, ones,
		"mov.u32 %r10, flags; shl.b32 %r11, %r5, 2; add.u32 %r10, %r10, %r11;\n"
		"setp.ge.u32 %p1, %r4, 8; @%p1 bra ALL;\n"
		"bar.warp.sync 0xff; st.relaxed.cta.shared.u32 [%r10], 0; "
		"vote.sync.all.pred %p3, %p1, 0xff;\n"
		"ALL: bar.warp.sync 0xffffffff;\n"
		"setp.ne.u32 %p2, %r4, 0; @%p2 bra READ; st.relaxed.cta.shared.u32 [%r10], 1;\n"
		"READ: ld.relaxed.cta.shared.u32 %r15, [%r10]; st.global.u32 [%rd2], %r15;\n",
		true},
	{"the barrier's number is in a register", 1, 96, thirds,
		"mov.u32 %r11, flags; and.b32 %r20, %r0, 63; setp.ge.u32 %p5, %r0, 64;\n"
		"add.u32 %r10, %r5, 3; st.global.u32 [%rd2+1024], %r0;\n"
		"bar.sync %r10, 32; add.u32 %r12, %r4, 1; and.b32 %r12, %r12, 31;\n"
		"shl.b32 %r13, %r5, 5; add.u32 %r12, %r12, %r13; mul.wide.u32 %rd10, %r12, 4;\n"
		"add.u64 %rd11, %rd0, %rd10; ld.global.u32 %r15, [%rd11+1024];\n"
		"st.global.u32 [%rd2], %r15; bar.sync 0; st.global.u32 [%rd2+1024], 0;\n"},
	{"threads that have left count as arrived", 1, 64, lanes_left,
		"and.b32 %r10, %r4, 3; setp.eq.u32 %p1, %r10, 3; @%p1 exit;\n"
		"setp.ne.u32 %p2, %r4, 33; bar.red.popc.u32 %r11, 0, %p2;\n"
		"st.global.u32 [%rd2], %r11;\n"},
	{"volatile shared memory keeps a warp in step", 1, 64, sum,
		"mov.u32 %r11, flags; add.u32 %r11, %r11, %r6; add.u32 %r10, %r0, 1;\n"
		"st.shared.u32 [%r11], %r10; bar.sync 0; setp.ge.u32 %p1, %r0, 32; @%p1 bra DONE;\n"
		ADD("128") ADD("64") ADD("32") ADD("16") ADD("8") ADD("4")
		"DONE: bar.sync 0; ld.shared.u32 %r15, [flags]; st.global.u32 [%rd2], %r15;\n",
		true},
	{"both sides of a branch store before either reads", 1, 64, halves_of_warp,
		"mov.u32 %r11, flags; add.u32 %r12, %r11, %r6; mul.lo.u32 %r10, %r0, 100;\n"
		"xor.b32 %r13, %r6, 64; add.u32 %r13, %r11, %r13;\n"
		"setp.lt.u32 %p1, %r4, 16; @%p1 bra LOW;\n"
		"st.volatile.shared.u32 [%r12], %r10; bra READ;\n"
		"LOW: st.volatile.shared.u32 [%r12], %r0;\n"
		"READ: ld.volatile.shared.u32 %r15, [%r13]; st.global.u32 [%rd2], %r15;\n",
		true},
	{"so do three, round after round", 1, 64, thirds_of_warp,
		"mov.u32 %r11, flags; add.u32 %r12, %r11, %r6; mov.u32 %r20, 0;\n"
		"add.u32 %r13, %r4, 5; and.b32 %r13, %r13, 31; shl.b32 %r13, %r13, 2;\n"
		"shl.b32 %r14, %r5, 7; add.u32 %r13, %r13, %r14; add.u32 %r13, %r13, %r11;\n"
		"rem.u32 %r16, %r4, 3; setp.eq.u32 %p1, %r16, 0; setp.eq.u32 %p2, %r16, 1;\n"
		"ROUND: @%p1 bra FIRST; @%p2 bra SECOND; add.u32 %r10, %r0, %r20;\n"
		"st.volatile.shared.u32 [%r12], %r10; bra READ;\n"
		"FIRST: add.u32 %r10, %r20, 7; st.volatile.shared.u32 [%r12], %r10; bra READ;\n"
		"SECOND: mad.lo.u32 %r10, %r0, 100, %r20;\n"
		"st.volatile.shared.u32 [%r12], %r10;\n"
		"READ: ld.volatile.shared.u32 %r15, [%r13]; st.global.u32 [%rd2], %r15;\n"
		"add.u32 %r20, %r20, 1; setp.lt.u32 %p3, %r20, 4; @%p3 bra ROUND;\n",
		true},
	{"a block scans volatile shared memory between barriers", 3, 64, prefix_of_block,
		"mov.u32 %r11, flags; add.u32 %r11, %r11, %r6; add.u32 %r10, %r0, 1;\n"
		"mov.u32 %r13, 4; st.volatile.shared.u32 [%r11], %r10;\n"
		"ROUND: bar.sync 0; mov.u32 %r12, 0; setp.lt.u32 %p1, %r6, %r13;\n"
		"sub.u32 %r14, %r11, %r13; @%p1 bra MEET; ld.volatile.shared.u32 %r12, [%r14];\n"
		"MEET: ld.volatile.shared.u32 %r10, [%r11]; bar.sync 0;\n"
		"add.u32 %r10, %r10, %r12; st.volatile.shared.u32 [%r11], %r10;\n"
		"shl.b32 %r13, %r13, 1; setp.lt.u32 %p2, %r13, 256; @%p2 bra ROUND;\n"
		"ld.volatile.shared.u32 %r15, [%r11]; st.global.u32 [%rd2], %r15;\n"},
	{"a loop waits for shared memory and passes a barrier only then", 1, 64, three_rounds,
		"mov.u32 %r10, 0; st.shared.u32 [flags], 0; bar.sync 0;\n"
		"setp.eq.u32 %p1, %r5, 1; @%p1 bra PRODUCE;\n"
		"WAIT: ld.volatile.shared.u32 %r11, [flags]; setp.le.u32 %p2, %r11, %r10;\n"
		"@%p2 bra NEXT; bar.sync 0; add.u32 %r10, %r10, 1;\n"
		"NEXT: setp.lt.u32 %p3, %r10, 3; @%p3 bra WAIT; bra DONE;\n"
		"PRODUCE: add.u32 %r10, %r10, 1; st.volatile.shared.u32 [flags], %r10;\n"
		"bar.sync 0; setp.lt.u32 %p3, %r10, 3; @%p3 bra PRODUCE;\n"
		"DONE: st.global.u32 [%rd2], %r10;\n"},
	{"a warp is whole after a branch with volatile stores", 1, 64, whole_warps,
		"mov.u32 %r11, flags; add.u32 %r12, %r11, %r6; and.b32 %r10, %r4, 1;\n"
		"setp.eq.u32 %p1, %r10, 0; @%p1 bra EVEN;\n"
		"st.volatile.shared.u32 [%r12], 1; bra MEET;\n"
		"EVEN: st.volatile.shared.u32 [%r12], 2;\n"
		"MEET: activemask.b32 %r15; popc.b32 %r15, %r15; st.global.u32 [%rd2], %r15;\n",
		true},
};

/* Threads wait for each other in every order, too. */
static const struct way {
	const char *variable, *value;
} ways[] = {
	{"KUDZU_CPU_WIDTH", "1"}, {"KUDZU_CPU_WIDTH", "32"}, {"KUDZU_CPU_SCHEDULE", "1"},
	{"KUDZU_CPU_SCHEDULE", "2"}, {"KUDZU_CPU_SCHEDULE", "3"},
};

START_TEST(threads_that_wait_make_progress)
{
	const struct scene *scene = &scenes[(size_t)_i / countof(ways)];
	const struct way *way = &ways[(size_t)_i % countof(ways)];
	static char text[8192];
	static uint32_t words[WORDS];
	if (strcmp(way->variable, "KUDZU_CPU_SCHEDULE") == 0 && scene->needs_lockstep) {
		return;
	}
	setenv(way->variable, way->value, 1);
	snprintf(text, sizeof(text), "%s%s\nret;\n}\n", head, scene->body);
	CUmodule module;
	CUresult loaded = cuModuleLoadData(&module, text);
	ck_assert_msg(loaded == CUDA_SUCCESS, "%s: %s", scene->name, api_last_log());
	CUdeviceptr memory = alloc(sizeof(words));
	OK(cuMemcpyHtoD_v2(memory, words, sizeof(words)));
	void *values[] = {&memory};
	OK(cuLaunchKernel(kernel(module, "k"), scene->blocks, 1, 1, scene->threads, 1, 1, 0, NULL,
		values, NULL));
	CUresult result = cuCtxSynchronize();
	ck_assert_msg(result == CUDA_SUCCESS, "%s: %s", scene->name, api_last_log());
	OK(cuMemcpyDtoH_v2(words, memory, sizeof(words)));
	words[1] = scene->want == all_threads ? 0 : words[1];
	for (uint32_t i = 0; i < WORDS; i++) {
		ck_assert_msg(words[i] == scene->want(i), "%s: word %u is %u, not %u", scene->name,
			i, words[i], scene->want(i));
	}
}
END_TEST

SUITE(progress)
{
	Suite *suite = suite_create("progress");
	TCase *tc = tcase_create("progress");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, threads_that_wait_make_progress, 0,
		(int)(countof(ways) * countof(scenes)));
	suite_add_tcase(suite, tc);
	return suite;
}
