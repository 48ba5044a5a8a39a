/* SPDX-License-Identifier: MIT */
/*
 * Blocks of plain launches that wait for each other, also for later ones: all that fit on the
 * multiprocessors at once make progress, at both widths and with any number of workers.
 */
#include "cpu/support/api.h"

#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP ".version 7.0\n.target sm_75\n.address_size 64\n"
#define REGISTERS "	.reg .b64 %rd<20>;\n	.reg .b32 %r<40>;\n	.reg .pred %p<10>;\n"

static const char ptx[] = TOP
	/* Round after round thread 0 adds the number of its block, from 1 on, to shared memory, and
	 * waits until the thread 0 of each block has.  The last one that comes to p[0] counts p[1]
	 * up.  Each thread stores what the block has in the end after that. */
	".visible .entry rounds(.param .u64 p, .param .u32 n)\n{\n" REGISTERS
	"	.shared .align 4 .b32 sum;\n	.local .align 4 .b32 mine[4];\n"
	"	ld.param.u64 %rd1, [p];\n	ld.param.u32 %r1, [n];\n"
	"	mov.u32 %r2, %tid.x;\n	mov.u32 %r3, %ctaid.x;\n	mov.u32 %r4, %nctaid.x;\n"
	"	mov.u32 %r5, %ntid.x;\n	setp.ne.u32 %p1, %r2, 0;\n	mov.u32 %r6, 0;\n"
	"	sub.u32 %r7, %r4, 1;\n	add.u32 %r8, %r3, 1;\n	st.local.u32 [mine+8], %r2;\n"
	"	@%p1 bra ROUND;\n	st.shared.u32 [sum], 0;\n"
	"ROUND:\n	bar.sync 0;\n	@%p1 bra MET;\n"
	"	ld.shared.u32 %r10, [sum];\n	add.u32 %r10, %r10, %r8;\n"
	"	st.shared.u32 [sum], %r10;\n"
	"	atom.global.inc.u32 %r11, [%rd1], %r7;\n	setp.eq.u32 %p2, %r11, %r7;\n"
	"	@%p2 bra LAST;\n"
	"WAIT:\n	ld.volatile.global.u32 %r12, [%rd1+4];\n"
	"	setp.eq.u32 %p3, %r12, %r6;\n"
	"	@%p3 bra WAIT;\n	bra MET;\n"
	"LAST:\n	add.u32 %r13, %r6, 1;\n	st.volatile.global.u32 [%rd1+4], %r13;\n"
	"MET:\n	bar.sync 0;\n	add.u32 %r6, %r6, 1;\n	setp.lt.u32 %p4, %r6, %r1;\n"
	"	@%p4 bra ROUND;\n"
	"	ld.local.u32 %r20, [mine+8];\n	mad.lo.u32 %r21, %r3, %r5, %r20;\n"
	"	mul.wide.u32 %rd2, %r21, 4;\n	add.u64 %rd2, %rd2, %rd1;\n"
	"	ld.shared.u32 %r22, [sum];\n	st.global.u32 [%rd2+8], %r22;\n	ret;\n}\n"
	/* All blocks wait for the last one, which accesses that address. */
	".visible .entry wild(.param .u64 p, .param .u64 address)\n{\n" REGISTERS
	"	ld.param.u64 %rd1, [p];\n	ld.param.u64 %rd2, [address];\n"
	"	mov.u32 %r3, %ctaid.x;\n	mov.u32 %r4, %nctaid.x;\n"
	"	sub.u32 %r4, %r4, 1;\n"
	"	setp.eq.u32 %p1, %r3, %r4;\n	@%p1 bra LAST;\n"
	"WAIT:\n	ld.volatile.global.u32 %r12, [%rd1];\n	setp.eq.u32 %p3, %r12, 0;\n"
	"	@%p3 bra WAIT;\n	ret;\n"
	"LAST:\n	st.global.u32 [%rd2], 1;\n	ret;\n}\n";

static const char *const all_widths[] = {"1", "32"};
static const char *const all_workers[] = {"1", "2", "4"};
enum { WAYS = countof(all_widths) * countof(all_workers) };

static CUmodule module;

/* WAYS: under a schedule. */
static void setup_way(int way)
{
	if (way == WAYS) {
		setenv("KUDZU_CPU_SCHEDULE", "1", 1);
	} else {
		setenv("KUDZU_CPU_WIDTH", all_widths[way % 2], 1);
		setenv("KUDZU_CPU_THREADS", all_workers[way / 2], 1);
	}
	setup();
	OK(cuModuleLoadData(&module, ptx));
}

static void run_rounds(unsigned blocks, unsigned threads, uint32_t n)
{
	const size_t count = (size_t)blocks * threads;
	uint32_t *got = malloc((2 + count) * sizeof(*got));
	CUdeviceptr p = alloc((2 + count) * sizeof(*got));
	void *values[] = {&p, &n};
	OK(cuMemsetD32_v2(p, 0, 2 + count));
	OK(cuLaunchKernel(kernel(module, "rounds"), blocks, 1, 1, threads, 1, 1, 0, NULL, values,
		NULL));
	OK(cuMemcpyDtoH_v2(got, p, (2 + count) * sizeof(*got)));
	ck_assert_uint_eq(got[1], n);
	for (size_t i = 0; i < count; i++) {
		ck_assert_msg(got[2 + i] == n * (i / threads + 1),
			"block %zu of %u: %u after %u rounds", i / threads, blocks, got[2 + i], n);
	}
	OK(cuMemFree_v2(p));
	free(got);
}

START_TEST(blocks_meet_at_a_barrier_made_by_hand)
{
	setup_way(_i);
	run_rounds(3, 64, 5);
	run_rounds(20, 33, 3);
	run_rounds(3, 64, 2);
	teardown();
}
END_TEST

START_TEST(as_many_blocks_as_occupancy_promises_meet)
{
	setup_way(_i);
	int cores;
	OK(cuDeviceGetAttribute(&cores, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	for (int threads = 32; threads <= 1024; threads *= 4) {
		int blocks = 0;
		OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel(module, "rounds"),
			threads, 0));
		run_rounds((unsigned)(blocks * cores), (unsigned)threads, 2);
	}
	teardown();
}
END_TEST

START_TEST(the_fault_of_a_block_that_others_wait_for_names_it)
{
	CUdeviceptr address = 0x10;
	if (driver_lacks("other devices tell nothing about the block")) {
		return;
	}
	setup_way(_i);
	CUdeviceptr p = alloc(4);
	void *values[] = {&p, &address};
	OK(cuMemsetD32_v2(p, 0, 1));
	OK(cuLaunchKernel(kernel(module, "wild"), 6, 1, 1, 40, 1, 1, 0, NULL, values, NULL));
	FAILS(ILLEGAL_ADDRESS, cuCtxSynchronize());
	check_log("kernel 'wild': access to address 0x10");
	check_log("block (5,0,0)");
	reset();
	teardown();
}
END_TEST

SUITE(waiting_blocks)
{
	Suite *s = suite_create("waiting_blocks");
	TCase *tc = suite_add_case(s, "progress");
	tcase_add_loop_test(tc, blocks_meet_at_a_barrier_made_by_hand, 0, WAYS + 1);
	tcase_add_loop_test(tc, as_many_blocks_as_occupancy_promises_meet, 0, WAYS + 1);
	tcase_add_loop_test(tc, the_fault_of_a_block_that_others_wait_for_names_it, 0, WAYS + 1);
	return s;
}
