/* SPDX-License-Identifier: MIT */
/*
 * src/cpu/exec/seeded_schedule.c: threads and blocks run in a random order, so that a kernel
 * whose result depends on the order shows it.  Each scene is a kernel with one line that orders its
 * threads.  Without the line its result is wrong under some seeds; with it, it is right under all.
 */
#include "cpu/support/api.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS 256
#define SEEDS 12

static const char head[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .entry k(.param .u64 words)\n{\n"
	".reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>;\n"
	".shared .align 4 .b8 cells[512];\n"
	"ld.param.u64 %rd0, [words];\n"
	"mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;\n"
	"mad.lo.u32 %r3, %r1, %r2, %r0; mul.wide.u32 %rd1, %r3, 4; add.u64 %rd2, %rd0, %rd1;\n"
	"shl.b32 %r4, %r0, 2; mov.u32 %r5, cells; add.u32 %r6, %r5, %r4;\n"
	"add.u32 %r7, %r2, -1; sub.u32 %r7, %r7, %r0; shl.b32 %r7, %r7, 2;\n"
	"add.u32 %r8, %r5, %r7;\n"; /* the cell of the thread, and of the one across */

static uint32_t across(uint32_t i)
{
	return i < 128 ? 64 - i % 64 : 0;
}

static uint32_t across_warp(uint32_t i)
{
	return i < 32 ? 32 - i : 0;
}

static uint32_t count(uint32_t i)
{
	return i == 0 ? 128 : 0;
}

static uint32_t other_block(uint32_t i)
{
	return i < 128 ? 5 : i == 128 ? 1 : 0;
}

static uint32_t rounds(uint32_t i)
{
	return i < 64 ? i + 2 * 4 : 0;
}

static uint32_t sum(uint32_t i)
{
	return i == 0 ? 32 * 33 / 2 : 0;
}

static uint32_t whole_warp(uint32_t i)
{
	return i < 64 ? 32 : 0;
}

static const struct scene {
	const char *name;
	uint32_t blocks, threads;
	uint32_t (*want)(uint32_t i);
	const char *body; /* with one %s, */
	const char *line; /* which stands for this, */
	const char *instead; /* or for this */
} scenes[] = {
	{"threads of a block exchange values", 2, 64, across,
		"add.u32 %%r9, %%r0, 1; st.shared.u32 [%%r6], %%r9;\n%s"
		"ld.shared.u32 %%r10, [%%r8]; st.global.u32 [%%rd2], %%r10;\n",
		"bar.sync 0;\n", ""},
	{"threads of a warp exchange values", 1, 32, across_warp,
		"add.u32 %%r9, %%r0, 1; st.shared.u32 [%%r6], %%r9;\n%s"
		"ld.shared.u32 %%r10, [%%r8]; st.global.u32 [%%rd2], %%r10;\n",
		"bar.warp.sync -1;\n", ""},
	{"all threads count", 2, 64, count, "%s",
		"red.global.add.u32 [%rd0], 1;\n",
		"ld.global.u32 %r9, [%rd0]; add.u32 %r9, %r9, 1; st.global.u32 [%rd0], %r9;\n"},
	{"a block reads what another one writes", 2, 64, other_block,
		"setp.eq.u32 %%p1, %%r1, 0; mov.u32 %%r10, 5; @%%p1 bra WRITE;\n%s"
		"ld.global.u32 %%r10, [%%rd0+252]; st.global.u32 [%%rd2], %%r10; bra DONE;\n"
		"WRITE: st.global.u32 [%%rd2], %%r10; bar.sync 0; setp.ne.u32 %%p2, %%r0, 0;\n"
		"@%%p2 bra DONE; st.release.gpu.global.u32 [%%rd0+512], 1;\nDONE:\n",
		"WAIT: ld.acquire.gpu.global.u32 %r11, [%rd0+512]; setp.eq.u32 %p3, %r11, 0;\n"
		"@%p3 bra WAIT;\n", ""},
	{"a cell is read before it is written anew", 1, 64, rounds,
		"st.shared.u32 [%%r6], %%r0; mov.u32 %%r11, 0; bar.sync 0;\n"
		"LOOP: ld.shared.u32 %%r10, [%%r8]; add.u32 %%r10, %%r10, 2;\n%s"
		"st.shared.u32 [%%r6], %%r10; bar.sync 0;\n"
		"add.u32 %%r11, %%r11, 1; setp.lt.u32 %%p1, %%r11, 4; @%%p1 bra LOOP;\n"
		"ld.shared.u32 %%r10, [%%r6]; st.global.u32 [%%rd2], %%r10;\n",
		"bar.sync 0;\n", ""},
	{"a warp from before Volta adds up", 1, 32, sum,
		"add.u32 %%r9, %%r0, 1; st.shared.u32 [%%r6], %%r9; bar.sync 0;\n"
		"mov.u32 %%r11, 64;\n"
		"LOOP: add.u32 %%r12, %%r6, %%r11; ld.volatile.shared.u32 %%r13, [%%r12];\n"
		"ld.volatile.shared.u32 %%r10, [%%r6]; add.u32 %%r10, %%r10, %%r13;\n%1$s"
		"st.volatile.shared.u32 [%%r6], %%r10;\n%1$s"
		"shr.u32 %%r11, %%r11, 1; setp.ge.u32 %%p1, %%r11, 4; @%%p1 bra LOOP;\n"
		"setp.ne.u32 %%p2, %%r0, 0; @%%p2 bra DONE; st.global.u32 [%%rd0], %%r10;\nDONE:\n",
		"bar.warp.sync -1;\n", ""},
	{"a warp is whole after a branch", 1, 64, whole_warp,
		"and.b32 %%r9, %%r0, 1; setp.eq.u32 %%p1, %%r9, 0; @%%p1 bra EVEN;\n"
		"st.shared.u32 [%%r6], %%r0;\nEVEN: %s"
		"popc.b32 %%r11, %%r10; st.global.u32 [%%rd2], %%r11;\n",
		"setp.ne.u32 %p2, %r0, 64; vote.sync.ballot.b32 %r10, %p2, -1;\n",
		"activemask.b32 %r10;\n"},
};

static void run_scene(uint32_t words[WORDS], const struct scene *scene, const char *line,
	unsigned seed)
{
	char text[8192], number[16];
	snprintf(number, sizeof(number), "%u", seed);
	setenv("KUDZU_CPU_SCHEDULE", number, 1);
	size_t at = (size_t)snprintf(text, sizeof(text), "%s", head);
	at += (size_t)snprintf(text + at, sizeof(text) - at, scene->body, line);
	snprintf(text + at, sizeof(text) - at, "\nret;\n}\n");
	setup();
	CUmodule module;
	CUresult loaded = cuModuleLoadData(&module, text);
	ck_assert_msg(loaded == CUDA_SUCCESS, "%s: %s", scene->name, api_last_log());
	CUdeviceptr memory = alloc(WORDS * sizeof(*words));
	OK(cuMemsetD32_v2(memory, 0, WORDS));
	void *values[] = {&memory};
	OK(cuLaunchKernel(kernel(module, "k"), scene->blocks, 1, 1, scene->threads, 1, 1, 0, NULL,
		values, NULL));
	CUresult result = cuCtxSynchronize();
	ck_assert_msg(result == CUDA_SUCCESS, "%s: %s", scene->name, api_last_log());
	OK(cuMemcpyDtoH_v2(words, memory, WORDS * sizeof(*words)));
	teardown();
}

/* The first word that is wrong; WORDS: all are right. */
static uint32_t find_wrong(const uint32_t words[WORDS], const struct scene *scene)
{
	uint32_t i = 0;
	while (i < WORDS && words[i] == scene->want(i)) {
		i++;
	}
	return i;
}

START_TEST(a_kernel_that_orders_its_threads_is_right_in_every_order)
{
	const struct scene *scene = &scenes[_i];
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		uint32_t words[WORDS];
		run_scene(words, scene, scene->line, seed);
		const uint32_t at = find_wrong(words, scene);
		ck_assert_msg(at == WORDS, "%s, seed %u: word %u is %u, not %u", scene->name, seed,
			at, words[at % WORDS], scene->want(at));
	}
}
END_TEST

START_TEST(a_kernel_that_does_not_is_wrong_in_some)
{
	const struct scene *scene = &scenes[_i];
	unsigned wrong = 0;
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		uint32_t words[WORDS];
		run_scene(words, scene, scene->instead, seed);
		wrong += find_wrong(words, scene) < WORDS;
	}
	ck_assert_msg(wrong > 0, "%s: right under all seeds", scene->name);
}
END_TEST

/* In a process of its own, which has so many workers. */
static void run_with_workers(uint32_t *words, const char *workers, const struct scene *scene)
{
	int status;
	const pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		setenv("KUDZU_CPU_THREADS", workers, 1);
		run_scene(words, scene, scene->instead, 7);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}

START_TEST(a_seed_gives_one_result_with_any_number_of_workers)
{
	const struct scene *scene = &scenes[_i];
	uint32_t (*words)[WORDS] = mmap(NULL, 2 * sizeof(*words), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(words, MAP_FAILED);
	run_with_workers(words[0], "1", scene);
	run_with_workers(words[1], "3", scene);
	ck_assert_mem_eq(words[0], words[1], sizeof(words[0]));
	munmap(words, 2 * sizeof(*words));
}
END_TEST

SUITE(seeded_schedule)
{
	Suite *s = suite_create("seeded_schedule");
	TCase *tc = suite_add_case(s, "orders");
	tcase_add_loop_test(tc, a_kernel_that_orders_its_threads_is_right_in_every_order, 0,
		(int)countof(scenes));
	tcase_add_loop_test(tc, a_kernel_that_does_not_is_wrong_in_some, 0, (int)countof(scenes));
	tcase_add_loop_test(tc, a_seed_gives_one_result_with_any_number_of_workers, 0,
		(int)countof(scenes));
	return s;
}
