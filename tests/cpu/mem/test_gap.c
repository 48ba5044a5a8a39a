/* SPDX-License-Identifier: MIT */
/*
 * Gaps around all memory that kernels address: no index of a kernel leads to the memory of the
 * program.  Where the process may have few addresses the gaps are small, and kernels run.
 */
#include "base/common.h"

#include "base/kudzu_abi.h"
#include "cpu/support/api.h"

#include "cpu/mem/gap.h"
#include "support/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

static const char *const widths[] = {"1", "32"};

/* --- Wild indexes --- */

/* Memory of 4096 bytes: how a kernel gets its address in %rd1, and what it declares for it.  Of
 * local memory thread 31 has the last piece. */
static const struct {
	const char *variable, *declarations, *address, *store, *found;
	size_t size;
} places[] = {
	{"", "", "ld.param.u64 %rd1, [memory];", "st.u8 [%rd1], 1;", "access to address 0x", 4096},
	{".global .b8 var[4096];", "", "mov.u64 %rd1, var;", "st.global.u8 [%rd1], 1;",
		"access to address 0x", 4096},
	{".const .b8 var[4096];", ".shared .b32 out;", "mov.u64 %rd1, var;",
		"ld.const.u8 %r1, [%rd1]; st.shared.u32 [out], %r1;",
		"access to address 0x", 4096},
	{"", ".shared .b8 var[4096];", "mov.u64 %rd1, var; cvta.shared.u64 %rd1, %rd1;",
		"st.u8 [%rd1], 1;", " of 4096 bytes of shared memory", 4096},
	{"", ".local .b8 var[4096];", "mov.u64 %rd1, var; cvta.local.u64 %rd1, %rd1;",
		"st.u8 [%rd1], 1;", "outside of the 4096 bytes of local memory of each thread",
		4096},
	// Parameters have pages for as many of them as there can be.
	{"", ".shared .b32 out;", "mov.b64 %rd1, memory; cvta.param.u64 %rd1, %rd1;",
		"ld.u8 %r1, [%rd1]; st.shared.u32 [out], %r1;",
		"access to address 0x", 32768},
};

/* Thread 0 accesses so many bytes before the memory, or thread 31 so many after it: 0 is
 * inside. */
static CUresult go_astray(size_t place, uint64_t distance, bool below, CUdeviceptr memory)
{
	char text[2048];
	CUmodule module;
	int64_t offset = below ? -(int64_t)distance : (int64_t)(places[place].size - 1 + distance);
	uint32_t thread = below ? 0 : 31;
	void *values[] = {&memory, &offset, &thread};
	snprintf(text, sizeof(text), ".version 7.0\n.target sm_75\n.address_size 64\n%s\n"
		".visible .entry k(.param .u64 memory, .param .u64 offset, .param .u32 thread)\n{\n"
		".reg .b32 %%r<9>; .reg .b64 %%rd<9>; .reg .pred %%p<3>;\n%s\n%s\n"
		"ld.param.u64 %%rd2, [offset]; ld.param.u32 %%r2, [thread]; "
		"mov.u32 %%r3, %%tid.x;\n"
		"add.s64 %%rd1, %%rd1, %%rd2; setp.ne.u32 %%p1, %%r2, %%r3; @%%p1 ret;\n%s\nret;\n"
		"}\n",
		places[place].variable, places[place].declarations, places[place].address,
		places[place].store);
	OK(cuModuleLoadData(&module, text));
	CUresult result = cuLaunchKernel(kernel(module, "k"), 1, 1, 1, 32, 1, 1, 0, NULL, values,
		NULL);
	return result != CUDA_SUCCESS ? result : cuCtxSynchronize();
}

START_TEST(a_wild_index_is_a_fault_however_far_it_leads)
{
	static const uint64_t distances[] = {1, 4096, 1 << 20, 1 << 30, UINT64_C(8) << 30,
		UINT64_C(16) << 30};
	size_t place = (size_t)_i / 4;
	bool below = _i / 2 % 2 == 0;
	setenv("KUDZU_CPU_WIDTH", widths[(size_t)_i % 2], 1);
	OK(go_astray(place, 0, below, place == 0 ? alloc(4096) : 0));
	for (size_t i = 0; i < countof(distances); i++) {
		reset();
		CUdeviceptr memory = place == 0 ? alloc(4096) : 0;
		FAILS(ILLEGAL_ADDRESS, go_astray(place, distances[i], below, memory));
		check_log(places[place].found);
		if (place == 0) {
			char address[32];
			snprintf(address, sizeof(address), "0x%" PRIx64,
				(uint64_t)(below ? memory - distances[i]
					: memory + 4095 + distances[i]));
			check_log(address);
		}
	}
}
END_TEST

START_TEST(variables_of_modules_are_far_from_other_memory)
{
	CUdeviceptr early = alloc(64), variable;
	size_t size;
	OK(cuModuleGetGlobal_v2(&variable, &size, load(), "step"));
	CUdeviceptr late = alloc(64);
	ck_assert_uint_ge(early > variable ? early - variable : variable - early, GAP_WIDE);
	ck_assert_uint_ge(late > variable ? late - variable : variable - late, GAP_WIDE);
}
END_TEST

/* --- What it costs; the tables of a sanitizer's own memory count, too --- */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* A number of /proc/self/status, in KiB. */
static long status_of(const char *key)
{
	char line[256];
	long value = -1;
	FILE *file = fopen("/proc/self/status", "re");
	ck_assert_ptr_nonnull(file);
	while (value < 0 && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)) == 0) {
			value = strtol(line + strlen(key), NULL, 10);
		}
	}
	fclose(file);
	ck_assert_int_ge(value, 0);
	return value;
}

START_TEST(gaps_take_no_memory_and_no_page_tables)
{
	struct gap_area areas[100];
	long tables = status_of("VmPTE:"), resident = status_of("VmRSS:");
	for (size_t i = 0; i < countof(areas); i++) {
		ck_assert(gap_alloc(&areas[i], 4096, GAP_WIDE));
		ck_assert_uint_eq(areas[i].gap, GAP_WIDE);
	}
	ck_assert_int_le(status_of("VmPTE:") - tables, 64);
	ck_assert_int_le(status_of("VmRSS:") - resident, 512);
	for (size_t i = 0; i < countof(areas); i++) {
		gap_release(&areas[i]);
		ck_assert_ptr_null(areas[i].data);
		gap_release(&areas[i]);
	}
}
END_TEST
#endif

START_TEST(an_area_that_cannot_be_had_is_all_zero)
{
	struct gap_area area = {.size = 1};
	ck_assert(!gap_reserve(&area, SIZE_MAX, GAP_WIDE));
	ck_assert_ptr_null(area.data);
	ck_assert(!gap_alloc(&area, (size_t)1 << 62, GAP_WIDE));
	ck_assert_ptr_null(area.data);
	gap_release(&area);
}
END_TEST

/* --- ulimit -v; the sanitizers themselves have more addresses than that --- */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void limit_addresses(size_t size)
{
	const struct rlimit limit = {size, size};
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

static int told_gap(void)
{
	int size = 0;
	OK(cuDeviceGetAttribute(&size, CU_DEVICE_ATTRIBUTE_KUDZU_GAP, 0));
	return size;
}

static const size_t limits[] = {1500000000, (size_t)12 << 30, 20000000000};
static const char *const threads[] = {"1", "2", "16"};

START_TEST(kernels_run_where_addresses_are_scarce)
{
	enum { COUNT = 1 << 18 };
	static uint32_t values[COUNT];
	setenv("KUDZU_CPU_THREADS", threads[(size_t)_i % countof(threads)], 1);
	init();
	ck_assert_int_eq(told_gap(), CU_DEVICE_KUDZU_GAP_WIDE);
	limit_addresses(limits[(size_t)_i / countof(threads)]);
	ck_assert_int_lt(told_gap(), CU_DEVICE_KUDZU_GAP_WIDE);
	ck_assert_int_gt(told_gap(), 1 << 10);
	setup();
	CUfunction add = kernel(load(), "add");
	CUdeviceptr memory = alloc(sizeof(values));
	for (int stream = 0; stream < 4; stream++) {
		CUstream handle;
		OK(cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING));
		OK(launch_add(add, memory, COUNT, handle));
		OK(cuStreamSynchronize(handle));
	}
	OK(cuMemcpyDtoH_v2(values, memory, sizeof(values)));
	size_t right = 0;
	for (size_t i = 0; i < COUNT; i++) {
		right += values[i] == 28;
	}
	ck_assert_uint_eq(right, COUNT);
	teardown();
}
END_TEST

START_TEST(a_wild_index_is_a_fault_where_addresses_are_scarce)
{
	const size_t place = (size_t)_i;
	limit_addresses((size_t)12 << 30);
	setup();
	CUdeviceptr memory = place == 0 ? alloc(4096) : 0;
	FAILS(ILLEGAL_ADDRESS, go_astray(place, 1 << 20, true, memory));
	reset();
	memory = place == 0 ? alloc(4096) : 0;
	FAILS(ILLEGAL_ADDRESS, go_astray(place, 1 << 20, false, memory));
	teardown();
}
END_TEST
#endif

SUITE(gap)
{
	Suite *suite = suite_create("gap");
	TCase *tc = add_case(suite, "wild indexes", setup, teardown);
	tcase_add_loop_test(tc, a_wild_index_is_a_fault_however_far_it_leads, 0,
		(int)countof(places) * 4);
	tcase_add_test(tc, variables_of_modules_are_far_from_other_memory);
	tc = add_case(suite, "costs", NULL, NULL);
	tcase_add_tests(tc, 1, an_area_that_cannot_be_had_is_all_zero);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	tcase_add_tests(tc, 1, gaps_take_no_memory_and_no_page_tables);
	tc = add_case(suite, "limits", NULL, NULL);
	tcase_add_loop_test(tc, kernels_run_where_addresses_are_scarce, 0,
		(int)(countof(limits) * countof(threads)));
	tcase_add_loop_test(tc, a_wild_index_is_a_fault_where_addresses_are_scarce, 0,
		(int)countof(places));
#endif
	return suite;
}
