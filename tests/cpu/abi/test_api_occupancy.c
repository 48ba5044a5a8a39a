/* SPDX-License-Identifier: MIT */
/* Occupancy: the numbers of NVIDIA's calculator, cuda_occupancy.h, for compute capability 8.9. */
#include "cpu/support/api.h"

#include "base/str.h"
#include "support/suite.h"

#include <stdio.h>

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *out, CUfunction function, int blocks,
	int threads);

enum { MOST_SHARED = 99 * 1024 };

static const int counts[] = {16, 40, 41, 48, 64};
static CUmodule module;
static int cores;

/* Kernels with so many registers, and one with 10,000 bytes of shared memory. */
static void setup_kernels(void)
{
	struct str text = STR_INIT;
	str_add(&text, ".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry shared()\n{\n.shared .b8 s[10000];\n.reg .b32 %r<16>;\n"
		"st.shared.u32 [s], 1;\nret;\n}\n"
		".visible .entry most64() .maxntid 64, 1, 1\n{\n.reg .b32 %r<16>;\nret;\n}\n"
		".visible .entry most100() .maxntid 100, 1, 1\n{\n.reg .b32 %r<16>;\nret;\n}\n");
	for (size_t i = 0; i < countof(counts); i++) {
		str_addf(&text, ".visible .entry r%d()\n{\n.reg .b32 %%r<%d>;\n", counts[i],
			counts[i]);
		for (int r = 0; r < counts[i]; r++) {
			str_addf(&text, "mov.u32 %%r%d, %d;\n", r, r);
		}
		str_add(&text, "ret;\n}\n");
	}
	setup();
	OK(cuModuleLoadData(&module, text.data));
	OK(cuDeviceGetAttribute(&cores, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	str_free(&text);
}

/* "shared", or the one with that number of registers, with all the shared memory that there is. */
static CUfunction find(int registers, int shared)
{
	char name[16];
	int value;
	snprintf(name, sizeof(name), "r%d", registers);
	CUfunction function = kernel(module, shared > 0 ? "shared" : name);
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
	ck_assert_int_eq(value, registers);
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
	ck_assert_int_eq(value, shared);
	OK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
		MOST_SHARED - shared));
	return function;
}

static const struct {
	int registers; /* of a thread */
	int threads;
	int shared;    /* bytes, static and dynamic */
	int dynamic;
	int blocks;
} cases[] = {
	{16, 1, 0, 0, 24}, {16, 32, 0, 0, 24}, {16, 64, 0, 0, 24}, {16, 65, 0, 0, 16},
	{16, 128, 0, 0, 12}, {16, 250, 0, 0, 6}, {16, 256, 0, 0, 6}, {16, 512, 0, 0, 3},
	{16, 768, 0, 0, 2}, {16, 769, 0, 0, 1}, {16, 1024, 0, 0, 1}, {40, 256, 0, 0, 6},
	{40, 1024, 0, 0, 1}, {41, 256, 0, 0, 5}, {48, 256, 0, 0, 5}, {64, 32, 0, 0, 24},
	{64, 96, 0, 0, 10}, {64, 256, 0, 0, 4}, {64, 512, 0, 0, 2}, {64, 1024, 0, 0, 1},
	{16, 32, 0, 3072, 24}, {16, 32, 0, 3073, 24}, {16, 64, 0, 16384, 5}, {16, 256, 0, 49152, 2},
	{16, 256, 0, 50176, 2}, {16, 256, 0, 50177, 1}, {16, 256, 0, 101376, 1},
	{16, 256, 0, 101377, 0}, {16, 1025, 0, 0, 0}, {16, 128, 10000, 0, 9},
	{16, 128, 10000, 7000, 5}, {16, 32, 10000, 91376, 1}, {16, 32, 10000, 91377, 0},
};

START_TEST(occupancy_is_what_the_calculator_says)
{
	int blocks = -1;
	if (driver_lacks("other devices have another compute capability")) {
		return;
	}
	CUfunction function = find(cases[_i].registers, cases[_i].shared);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, cases[_i].threads,
		(size_t)cases[_i].dynamic));
	ck_assert_int_eq(blocks, cases[_i].blocks);
}
END_TEST

static size_t shared_of_block(int threads)
{
	return (size_t)threads * 64;
}

static const struct {
	const char *kernel;
	int limit;
	size_t dynamic;
	CUoccupancyB2DSize shared_of;
	int block;
	int blocks; /* of a multiprocessor */
} potentials[] = {
	{"r16", 0, 0, NULL, 768, 2}, {"r41", 0, 0, NULL, 640, 2}, {"r48", 0, 0, NULL, 640, 2},
	{"r64", 0, 0, NULL, 1024, 1}, {"most64", 0, 0, NULL, 64, 24},
	{"most100", 0, 0, NULL, 96, 16},
	{"r16", 100, 0, NULL, 96, 16}, {"r16", 5000, 0, NULL, 768, 2},
	{"r16", 0, 20000, NULL, 768, 2},
	{"r16", 0, 49153, NULL, 0, 0}, {"r16", 0, 0, shared_of_block, 768, 2},
};

START_TEST(the_best_block_has_the_most_threads_on_a_multiprocessor)
{
	int grid, block;
	if (driver_lacks("other devices have another compute capability")) {
		return;
	}
	OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel(module, potentials[_i].kernel),
		potentials[_i].shared_of, potentials[_i].dynamic, potentials[_i].limit));
	ck_assert_int_eq(block, potentials[_i].block);
	ck_assert_int_eq(grid, potentials[_i].blocks * cores);
}
END_TEST

/* So many bytes that the blocks fit, and 128 more do not. */
START_TEST(available_shared_memory_is_what_the_blocks_leave)
{
	const int threads = 128;
	if (driver_lacks("other devices have another compute capability")) {
		return;
	}
	for (int shared = 0; shared <= 10000; shared += 10000) {
		CUfunction function = find(16, shared);
		for (int blocks = 1; blocks <= (shared > 0 ? 9 : 12); blocks++) {
			size_t size;
			int fit;
			OK(cuOccupancyAvailableDynamicSMemPerBlock(&size, function, blocks,
				threads));
			OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&fit, function, threads,
				size));
			ck_assert_int_ge(fit, blocks);
			OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&fit, function, threads,
				size + 128));
			ck_assert_int_lt(fit, blocks);
		}
		size_t size;
		FAILS(INVALID_VALUE, cuOccupancyAvailableDynamicSMemPerBlock(&size, function,
			shared > 0 ? 10 : 13, threads));
		FAILS(INVALID_VALUE, cuOccupancyAvailableDynamicSMemPerBlock(&size, function, 0,
			threads));
	}
}
END_TEST

START_TEST(a_kernel_above_48_KiB_must_have_been_allowed_to)
{
	int blocks;
	CUfunction function = kernel(module, "r16");
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 32, 48 * 1024));
	ck_assert_int_ge(blocks, 1);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 32, 48 * 1024 + 1));
	ck_assert_int_eq(blocks, 0);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel(module, "most64"), 65, 0));
	ck_assert_int_eq(blocks, 0);
	FAILS(INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 0, 0));
	FAILS(INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, function, 1, 0));
}
END_TEST

SUITE(api_occupancy)
{
	Suite *suite = suite_create("api_occupancy");
	TCase *tc = add_case(suite, "occupancy", setup_kernels, teardown);
	tcase_add_loop_test(tc, occupancy_is_what_the_calculator_says, 0, (int)countof(cases));
	tcase_add_loop_test(tc, the_best_block_has_the_most_threads_on_a_multiprocessor, 0,
		(int)countof(potentials));
	tcase_add_tests(tc, 1, available_shared_memory_is_what_the_blocks_leave,
		a_kernel_above_48_KiB_must_have_been_allowed_to);
	return suite;
}
