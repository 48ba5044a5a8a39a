/* SPDX-License-Identifier: MIT */
/*
 * Cooperative launches: blocks that wait for each other, as many as memory holds, on any number of
 * workers.
 */
#include "cpu/support/api.h"

#include "support/count.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
	unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_size,
	CUstream stream, void **values);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags);
CUresult cuGraphExecDestroy(CUgraphExec exec);
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);

#define TOP ".version 7.0\n.target sm_75\n.address_size 64\n"

/* grid.sync() as NVRTC compiles it.  Thread 0 of each block, in %p1, counts the block at the
 * workspace; %r20 is the number of the block, %r21 that of all. */
#define GRID_SYNC(name) \
	"	bar.sync 0;\n	@!%p1 bra " name "_MET;\n" \
	"	mov.u32 %r30, %envreg2;\n	mov.u32 %r31, %envreg1;\n" \
	"	mov.b64 %rd9, {%r30, %r31};\n" \
	"	sub.u32 %r32, 0x80000001, %r21;\n	setp.eq.u32 %p9, %r20, 0;\n" \
	"	selp.u32 %r32, %r32, 1, %p9;\n" \
	"	atom.add.release.gpu.u32 %r33, [%rd9+4], %r32;\n" \
	name "_WAIT:\n	ld.acquire.gpu.u32 %r34, [%rd9+4];\n" \
	"	xor.b32 %r34, %r34, %r33;\n	setp.ge.s32 %p9, %r34, 0;\n	@%p9 bra " \
	name "_WAIT;\n" \
	name "_MET:\n	bar.sync 0;\n"

#define REGISTERS "	.reg .b64 %rd<20>;\n	.reg .b32 %r<40>;\n	.reg .pred %p<10>;\n"

static const char ptx[] = TOP
	/* Each block counts itself, then waits until all have. */
	".visible .entry meet(.param .u64 p, .param .u32 n)\n{\n" REGISTERS
	"	ld.param.u64 %rd1, [p];\n	ld.param.u32 %r1, [n];\n"
	"	mov.u32 %r2, %tid.x;\n	setp.ne.u32 %p1, %r2, 0;\n	@%p1 bra WAIT;\n"
	"	atom.global.add.u32 %r3, [%rd1], 1;\n"
	"WAIT:\n	ld.volatile.global.u32 %r4, [%rd1];\n"
	"	setp.lt.u32 %p2, %r4, %r1;\n	@%p2 bra WAIT;\n	ret;\n}\n"
	/* Round after round each thread takes the element of the next block's thread, adds what the
	 * thread beside it took, three times, passes the sum through shared memory to the thread at
	 * the other end of the block, and stores it, plus the round, in the other array. */
	".visible .entry waves(.param .u64 a, .param .u64 b, .param .u32 rounds)\n{\n" REGISTERS
	"	.shared .align 4 .b32 s[1024];\n"
	"	ld.param.u64 %rd1, [a];\n	ld.param.u64 %rd2, [b];\n"
	"	ld.param.u32 %r1, [rounds];\n"
	"	mov.u32 %r2, %tid.x;\n	mov.u32 %r3, %ntid.x;\n"
	"	mov.u32 %r20, %ctaid.x;\n	mov.u32 %r21, %nctaid.x;\n"
	"	setp.eq.u32 %p1, %r2, 0;\n"
	"	mad.lo.u32 %r4, %r20, %r3, %r2;\n	mul.lo.u32 %r5, %r21, %r3;\n"
	"	add.u32 %r6, %r4, %r3;\n	rem.u32 %r6, %r6, %r5;\n"
	"	mov.u32 %r7, s;\n	shl.b32 %r8, %r2, 2;\n	add.u32 %r9, %r7, %r8;\n"
	"	sub.u32 %r10, %r3, %r2;\n	sub.u32 %r10, %r10, 1;\n"
	"	shl.b32 %r10, %r10, 2;\n"
	"	add.u32 %r10, %r7, %r10;\n	mov.u32 %r11, 0;\n"
	"	mul.wide.u32 %rd3, %r4, 4;\n	mul.wide.u32 %rd4, %r6, 4;\n"
	/* the threads that its warp has */
	"	and.b32 %r17, %r2, -32;\n	sub.u32 %r17, %r3, %r17;\n"
	"	min.u32 %r17, %r17, 32;\n	sub.u32 %r17, 32, %r17;\n"
	"	shr.u32 %r17, -1, %r17;\n"
	"ROUND:\n"
	"	add.u64 %rd5, %rd1, %rd4;\n	ld.global.u32 %r12, [%rd5];\n"
	"	shfl.sync.bfly.b32 %r13, %r12, 1, 31, %r17;\n	mad.lo.u32 %r14, %r13, 3, %r12;\n"
	"	st.shared.u32 [%r9], %r14;\n	bar.sync 0;\n	ld.shared.u32 %r15, [%r10];\n"
	"	add.u32 %r15, %r15, %r11;\n"
	"	add.u64 %rd6, %rd2, %rd3;\n	st.global.u32 [%rd6], %r15;\n"
	GRID_SYNC("ALL")
	"	mov.u64 %rd7, %rd1;\n	mov.u64 %rd1, %rd2;\n	mov.u64 %rd2, %rd7;\n"
	"	add.u32 %r11, %r11, 1;\n	setp.lt.u32 %p3, %r11, %r1;\n	@%p3 bra ROUND;\n"
	"	ret;\n}\n"
	/* Block `odd` does not come; with n threads missing at a barrier, it waits forever
	 * itself. */
	".visible .entry lonely(.param .u32 odd, .param .u32 n)\n{\n" REGISTERS
	"	ld.param.u32 %r1, [odd];\n	ld.param.u32 %r2, [n];\n"
	"	mov.u32 %r3, %tid.x;\n	setp.eq.u32 %p1, %r3, 0;\n"
	"	mov.u32 %r20, %ctaid.x;\n	mov.u32 %r21, %nctaid.x;\n"
	"	setp.eq.u32 %p2, %r20, %r1;\n	@%p2 bra ODD;\n"
	GRID_SYNC("ALL")
	"	ret;\n"
	"ODD:\n	setp.eq.u32 %p3, %r2, 0;\n	@%p3 ret;\n"
	"	bar.sync 1, %r2;\n	ret;\n}\n"
	/* Block `odd` writes to that offset of shared memory. */
	".visible .entry stray(.param .u32 odd, .param .u32 offset)\n{\n" REGISTERS
	"	.shared .align 4 .b32 s[1024];\n"
	"	ld.param.u32 %r1, [odd];\n	ld.param.u32 %r2, [offset];\n"
	"	mov.u32 %r20, %ctaid.x;\n"
	"	setp.ne.u32 %p1, %r20, %r1;\n	@%p1 ret;\n	mov.u32 %r3, s;\n"
	"	add.u32 %r3, %r3, %r2;\n	st.shared.u32 [%r3], %r2;\n	ret;\n}\n"
	/* 4 KiB of each thread's own memory. */
	".visible .entry big(.param .u64 p, .param .u32 i)\n{\n" REGISTERS
	"	.local .align 4 .b8 mine[4096];\n"
	"	ld.param.u64 %rd1, [p];\n	ld.param.u32 %r1, [i];\n"
	"	mul.wide.u32 %rd2, %r1, 4;\n"
	"	mov.u64 %rd3, mine;\n	add.u64 %rd3, %rd3, %rd2;\n	st.local.u32 [%rd3], %r1;\n"
	"	ld.local.u32 %r2, [mine+8];\n	red.global.add.u32 [%rd1], %r2;\n	ret;\n}\n";

static int cores;
static CUmodule module;
static CUdeviceptr counter;

static void setup_ptx(void)
{
	setup();
	OK(cuDeviceGetAttribute(&cores, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	OK(cuModuleLoadData(&module, ptx));
	counter = alloc(4);
}

static void check_counter(uint32_t want)
{
	uint32_t value;
	OK(cuMemcpyDtoH_v2(&value, counter, sizeof(value)));
	ck_assert_uint_eq(value, want);
}

static CUresult launch(CUfunction function, unsigned blocks, unsigned threads, void **values)
{
	return cuLaunchCooperativeKernel(function, blocks, 1, 1, threads, 1, 1, 0, NULL, values);
}

START_TEST(blocks_of_a_cooperative_launch_run_at_once)
{
	uint32_t n = (uint32_t)cores;
	void *values[] = {&counter, &n};
	CUfunction meet = kernel(module, "meet");
	OK(launch(meet, n, 64, values));
	check_counter(n);
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
		.value = {.cooperative = 1}};
	CUlaunchConfig config = {.gridDimX = 1, .gridDimY = n, .gridDimZ = 1, .blockDimX = 33,
		.blockDimY = 1, .blockDimZ = 1, .attrs = &attribute, .numAttrs = 1};
	n *= 2;
	OK(cuLaunchKernelEx(&config, meet, values, NULL));
	check_counter(n);
}
END_TEST

START_TEST(a_grid_as_occupancy_has_it_is_accepted)
{
	for (unsigned threads = 1; threads <= 1024; threads = 2 * threads + 1) {
		int blocks = 0;
		uint32_t n = 0;
		void *values[] = {&counter, &n};
		CUfunction meet = kernel(module, "meet");
		OK(cuMemsetD32_v2(counter, 0, 1));
		OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, meet, (int)threads, 0));
		n = (uint32_t)(blocks * cores);
		ck_assert_uint_gt(n, 0);
		OK(launch(meet, n, threads, values));
		check_counter(n);
	}
}
END_TEST

START_TEST(bad_cooperative_launches_are_refused)
{
	uint32_t n = 0;
	void *values[] = {&counter, &n};
	CUfunction meet = kernel(module, "meet");
	FAILS(COOPERATIVE_LAUNCH_TOO_LARGE,
		cuLaunchCooperativeKernel(meet, 65535, 65535, 65535, 1, 1, 1, 0, NULL, values));
	check_log("blocks of kernel 'meet' at once");
	FAILS(INVALID_VALUE, launch(meet, 0, 1, values));
	FAILS(INVALID_VALUE, launch(meet, 1, 1, NULL));
	FAILS(INVALID_HANDLE, launch(NULL, 1, 1, values));
	check_counter(0);
}
END_TEST

/* --- On any number of workers --- */

static const char *const all_widths[] = {"1", "32"};
static const char *const all_workers[] = {"1", "2", "4"};
static const struct {
	unsigned blocks;
	unsigned threads;
	unsigned rounds;
	const char *tier; /* NULL: as it comes */
} waves[] = {
	{4, 250, 9, "1"}, {4, 250, 9, "2"}, {1, 2, 3, NULL}, {7, 1024, 5, NULL}, {64, 32, 20, NULL},
	{4096, 250, 2, NULL}, {4096, 2, 3, NULL},
};

enum { BRIEF = 1 << 14 }; /* threads, of a brief run */
enum { WAYS = countof(all_widths) * countof(all_workers) };

/* What waves computes. */
static void compute_waves(uint32_t *a, uint32_t *b, unsigned blocks, unsigned threads,
	unsigned rounds)
{
	const size_t count = (size_t)blocks * threads;
	for (uint32_t round = 0; round < rounds; round++) {
		for (size_t i = 0; i < count; i++) {
			const size_t block = i / threads, other = threads - 1 - i % threads;
			const size_t at = (block + 1) % blocks * threads + other;
			const size_t beside = (block + 1) % blocks * threads + (other ^ 1);
			b[i] = a[at] + 3 * a[beside] + round;
		}
		uint32_t *next = a;
		a = b;
		b = next;
	}
}

/* WAYS: under a schedule. */
static void use_way(int way)
{
	if (way == WAYS) {
		setenv("KUDZU_CPU_SCHEDULE", "1", 1);
	} else {
		setenv("KUDZU_CPU_WIDTH", all_widths[way % 2], 1);
		setenv("KUDZU_CPU_THREADS", all_workers[way / 2], 1);
	}
}

/* The arrays of `waves` before and after it has run. */
struct arrays {
	size_t size;
	uint32_t *want[2];
	uint32_t *got;
	CUdeviceptr at[2];
};

static void arrays_open(struct arrays *arrays, unsigned blocks, unsigned threads, unsigned rounds)
{
	const size_t count = (size_t)blocks * threads;
	arrays->size = count * sizeof(uint32_t);
	arrays->got = malloc(arrays->size);
	for (int i = 0; i < 2; i++) {
		arrays->want[i] = calloc(count, sizeof(uint32_t));
		arrays->at[i] = alloc(arrays->size);
	}
	for (size_t i = 0; i < count; i++) {
		arrays->want[0][i] = (uint32_t)(i * 2654435761u);
	}
	OK(cuMemcpyHtoD_v2(arrays->at[0], arrays->want[0], arrays->size));
	compute_waves(arrays->want[0], arrays->want[1], blocks, threads, rounds);
}

static void arrays_check(struct arrays *arrays)
{
	for (int i = 0; i < 2; i++) {
		OK(cuMemcpyDtoH_v2(arrays->got, arrays->at[i], arrays->size));
		for (size_t k = 0; k < arrays->size / sizeof(uint32_t); k++) {
			ck_assert_msg(arrays->got[k] == arrays->want[i][k],
				"array %d, element %zu: got %u, expected %u", i, k, arrays->got[k],
				arrays->want[i][k]);
		}
		OK(cuMemFree_v2(arrays->at[i]));
		free(arrays->want[i]);
	}
	free(arrays->got);
}

START_TEST(blocks_exchange_data_at_grid_sync)
{
	const int row = _i / WAYS;
	const unsigned blocks = waves[row].blocks, threads = waves[row].threads;
	unsigned rounds = waves[row].rounds;
	struct arrays arrays;
	if (driver_lacks("other devices hold fewer blocks")
	    || !support_is_tried(_i, WAYS * countof(waves), 11, 10)
	    || (getenv("KUDZU_TEST_BRIEF") && blocks * threads > BRIEF)) {
		return;
	}
	use_way(_i % WAYS);
	if (waves[row].tier) {
		setenv("KUDZU_CPU_TIER", waves[row].tier, 1);
	}
	setup_ptx();
	arrays_open(&arrays, blocks, threads, rounds);
	void *values[] = {&arrays.at[0], &arrays.at[1], &rounds};
	OK(launch(kernel(module, "waves"), blocks, threads, values));
	arrays_check(&arrays);
	teardown();
}
END_TEST

START_TEST(graphs_have_cooperative_launches)
{
	unsigned rounds = 4;
	CUstream stream;
	CUgraph graph;
	CUgraphExec exec;
	struct arrays arrays;
	use_way(_i);
	setup_ptx();
	arrays_open(&arrays, 4, 250, rounds);
	compute_waves(arrays.want[0], arrays.want[1], 4, 250, rounds);
	void *values[] = {&arrays.at[0], &arrays.at[1], &rounds};
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuLaunchCooperativeKernel(kernel(module, "waves"), 4, 1, 1, 250, 1, 1, 0, stream,
		values));
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	arrays_check(&arrays);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuStreamDestroy_v2(stream));
	teardown();
}
END_TEST

/* --- Blocks that never come --- */

START_TEST(a_deadlock_of_one_block_ends_the_grid)
{
	uint32_t odd = 5, missing = 512;
	void *values[] = {&odd, &missing};
	if (driver_lacks("other devices hang")) {
		return;
	}
	use_way(_i);
	setup_ptx();
	OK(launch(kernel(module, "lonely"), 9, 64, values));
	FAILS(LAUNCH_FAILED, cuCtxSynchronize());
	check_log("deadlock: waits at a barrier for threads that never come");
	check_log("block (5,0,0)");
	reset();
	teardown();
}
END_TEST

START_TEST(a_grid_that_waits_for_a_block_that_has_ended_runs_out_of_time)
{
	uint32_t odd = 5, missing = 0;
	void *values[] = {&odd, &missing};
	if (driver_lacks("other devices hang")) {
		return;
	}
	use_way(_i);
	setenv("KUDZU_CPU_TIMEOUT", "0.2", 1);
	setup_ptx();
	OK(launch(kernel(module, "lonely"), 9, 64, values));
	FAILS(LAUNCH_TIMEOUT, cuCtxSynchronize());
	reset();
	teardown();
}
END_TEST

/* Nowhere does it reach the memory of the block beside it. */
START_TEST(no_block_reaches_shared_memory_of_others)
{
	static const uint32_t offsets[] = {4096, 1 << 16, 1 << 24, INT32_MAX - 3, 1u << 31,
		UINT32_MAX - 3};
	uint32_t odd = 5, offset = offsets[_i];
	void *values[] = {&odd, &offset};
	if (driver_lacks("other devices have their own errors")) {
		return;
	}
	setup_ptx();
	OK(launch(kernel(module, "stray"), 9, 1, values));
	FAILS(ILLEGAL_ADDRESS, cuCtxSynchronize());
	check_log("of 4096 bytes of shared memory");
	check_log("block (5,0,0)");
	reset();
	teardown();
}
END_TEST

/* --- As many as memory holds --- */

/* Shared memory of each block takes addresses, which end before memory does. */
START_TEST(many_thousand_blocks_run_at_once)
{
	enum { SHARED = 12000, PLAIN = 20000, THREADS = 2 };
	uint32_t i = 2, all = PLAIN;
	unsigned rounds = 2;
	struct arrays arrays;
	if (driver_lacks("other devices have multiprocessors")) {
		return;
	}
	setup_ptx();
	arrays_open(&arrays, SHARED, THREADS, rounds);
	void *values[] = {&arrays.at[0], &arrays.at[1], &rounds};
	void *others[] = {&counter, &all}, *local[] = {&counter, &i};
	OK(launch(kernel(module, "waves"), SHARED, THREADS, values));
	OK(launch(kernel(module, "meet"), PLAIN, 1, others));
	check_counter(PLAIN);
	OK(launch(kernel(module, "big"), PLAIN, 1, local));
	check_counter(PLAIN + PLAIN * i);
	arrays_check(&arrays);
	FAILS(COOPERATIVE_LAUNCH_TOO_LARGE, launch(kernel(module, "waves"), 1 << 15, 1, values));
	check_log("32768 x 1 x 1 blocks of kernel 'waves' at once need more than ");
	teardown();
}
END_TEST

START_TEST(memory_limits_cooperative_launches)
{
	enum { BLOCK = 1024 * 4096, MOST = 12 };
	uint32_t i = 2;
	void *values[] = {&counter, &i};
	if (driver_lacks("other devices have multiprocessors")) {
		return;
	}
	setenv("KUDZU_CPU_MEMORY", "64M", 1);
	setup_ptx();
	CUfunction big = kernel(module, "big");
	FAILS(COOPERATIVE_LAUNCH_TOO_LARGE, launch(big, (64 << 20) / BLOCK, 1024, values));
	check_log("16 x 1 x 1 blocks of kernel 'big' at once need ");
	OK(launch(big, MOST, 1024, values));
	check_counter(MOST * 1024 * 2);
	CUdeviceptr half = alloc(32 << 20);
	FAILS(COOPERATIVE_LAUNCH_TOO_LARGE, launch(big, MOST, 1024, values));
	OK(cuMemFree_v2(half));
	OK(launch(big, MOST, 1024, values));
	check_counter(MOST * 1024 * 4);
	teardown();
}
END_TEST

SUITE(api_coop)
{
	Suite *suite = suite_create("api_coop");
	TCase *tc = add_case(suite, "cooperative", setup_ptx, teardown);
	tcase_add_tests(tc, 1, blocks_of_a_cooperative_launch_run_at_once,
		a_grid_as_occupancy_has_it_is_accepted, bad_cooperative_launches_are_refused);
	tc = add_case(suite, "workers", NULL, NULL);
	tcase_add_loop_test(tc, blocks_exchange_data_at_grid_sync, 0, WAYS * (int)countof(waves));
	tcase_add_loop_test(tc, graphs_have_cooperative_launches, 0, WAYS + 1);
	tcase_add_loop_test(tc, a_deadlock_of_one_block_ends_the_grid, 0, WAYS + 1);
	tcase_add_loop_test(tc, a_grid_that_waits_for_a_block_that_has_ended_runs_out_of_time, 0,
		WAYS);
	tcase_add_loop_test(tc, no_block_reaches_shared_memory_of_others, 0, 6);
	tcase_add_test(tc, memory_limits_cooperative_launches);
	tcase_add_test(tc, many_thousand_blocks_run_at_once);
	return suite;
}
