/* SPDX-License-Identifier: MIT */
/*
 * KUDZU_CHECK=memory: the first wrong access is found, and reported with line, thread and address.
 */
#include "base/common.h"

#include "cpu/support/api_texture.h"

#include "cpu/check/report.h"
#include "cpu/ptx/line.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static const char *const widths[] = {"1", "32"};

/* 32 threads; %rd3 is a place in `in`, %rd4 one in `out`, %p1 says that it is below 20. */
static CUfunction make(const char *body)
{
	char text[2048];
	CUmodule module;
	setenv("KUDZU_CHECK_PRINT", "0", 1);
	snprintf(text, sizeof(text),
		".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".reg .b32 %%r<9>; .reg .b64 %%rd<9>; .reg .pred %%p<3>; .reg .f32 %%f<9>;\n"
		"ld.param.u64 %%rd1, [in]; ld.param.u64 %%rd2, [out]; mov.u32 %%r1, %%tid.x;\n"
		"mad.wide.u32 %%rd3, %%r1, 4, %%rd1; mad.wide.u32 %%rd4, %%r1, 4, %%rd2;\n"
		"setp.lt.u32 %%p1, %%r1, 20; and.b32 %%r2, %%r1, 1; setp.eq.u32 %%p2, %%r2, 1;\n"
		".loc 1 7 3\n%s\nret;\n}\n.file 1 \"k.cu\"\n", body);
	OK(cuModuleLoadData(&module, text));
	return kernel(module, "k");
}

static CUresult launch(CUfunction function, CUdeviceptr in, CUdeviceptr out)
{
	void *values[] = {&in, &out};
	CUresult result = cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, values, NULL);
	return result != CUDA_SUCCESS ? result : cuCtxSynchronize();
}

static CUresult run(const char *body, CUdeviceptr in, CUdeviceptr out)
{
	return launch(make(body), in, out);
}

static const char copy[] = "ld.global.u32 %r3, [%rd3];\nst.global.u32 [%rd4], %r3;";
static const char copy_odd[] = "@%p2 ld.global.u32 %r3, [%rd3];\n@%p2 st.global.u32 [%rd4], %r3;";
static const char copy_20[] = "@%p1 ld.global.u32 %r3, [%rd3];\n@%p1 st.global.u32 [%rd4], %r3;";
static const char copy_branch[] = "@!%p1 bra END;\nld.global.u32 %r3, [%rd3];\n"
	"st.global.u32 [%rd4], %r3;\nEND:";
static const char copy_backwards[] = "sub.u32 %r4, 31, %r1;\nmad.wide.u32 %rd3, %r4, 4, %rd1;\n"
	"ld.global.u32 %r3, [%rd3];\nst.global.u32 [%rd4], %r3;";
static const char copy_generic[] = "ld.u32 %r3, [%rd3];\nst.u32 [%rd4], %r3;";
static const char pairs[] = "mad.wide.u32 %rd3, %r1, 8, %rd1;\n"
	"ld.global.v2.u32 {%r3, %r4}, [%rd3];\nadd.u32 %r3, %r3, %r4;\nst.global.u32 [%rd4], %r3;";
static const char write[] = "st.global.u32 [%rd3], %r1;";
static const char write_byte[] = "st.global.u8 [%rd3], %r1;";
static const char add[] = "red.global.add.f32 [%rd3], 0f3f800000;";
static const char same[] = "ld.global.u32 %r3, [%rd1+80];\nst.global.u32 [%rd4], %r3;";

/* `in` has `size` bytes, and the kernel gets the address so many bytes after its start. */
static const struct {
	const char *body;
	size_t size;
	int shift;
	const char *what, *where; /* NULL: nothing is wrong */
} cases[] = {
	{copy, 128, 0, NULL, NULL},
	{copy_20, 80, 0, NULL, NULL},
	{copy_branch, 80, 0, NULL, NULL},
	{copy, 128, 0, NULL, NULL},
	{copy, 80, 0, ": read of 4 bytes at", "0 bytes past the end of the 80-byte"
		" allocation# thread (20,0,0); k.cu:7"},
	{copy_odd, 80, 0, ": read of 4 bytes at", "4 bytes past the end of the 80-byte"
		" allocation# thread (21,0,0); k.cu:7"},
	{copy_20, 80, 4, ": read of 4 bytes at", "0 bytes past the end of the 80-byte"
		" allocation# thread (19,0,0); k.cu:7"},
	{copy_branch, 80, 4, ": read of 4 bytes at", "0 bytes past the end of the 80-byte"
		" allocation# thread (19,0,0); k.cu:7"},
	{copy_backwards, 124, 0, ": read of 4 bytes at", "0 bytes past the end of the"
		" 124-byte allocation# thread (0,0,0); k.cu:7"},
	{copy_generic, 100, 0, ": read of 4 bytes at", "0 bytes past the end of the 100-byte"
		" allocation# thread (25,0,0); k.cu:7"},
	{pairs, 252, 0, ": read of 8 bytes at", "0 bytes past the end of the 252-byte"
		" allocation# thread (31,0,0); k.cu:7"},
	{write, 84, 0, ": write of 4 bytes at", "0 bytes past the end of the 84-byte"
		" allocation# thread (21,0,0); k.cu:7"},
	{write_byte, 5, 0, ": write of 1 byte at", "3 bytes past the end of the 5-byte"
		" allocation# thread (2,0,0); k.cu:7"},
	{add, 4, 0, ": atomic operation on 4 bytes at", "0 bytes past the end of the 4-byte"
		" allocation# thread (1,0,0); k.cu:7"},
	{same, 80, 0, ": read of 4 bytes at", "0 bytes past the end of the 80-byte"
		" allocation# thread (0,0,0); k.cu:7"},
	{copy, 128, -8, ": read of 4 bytes at", "8 bytes before the 128-byte"
		" allocation# thread (0,0,0); k.cu:7"},
	{copy_odd, 128, -8, ": read of 4 bytes at", "4 bytes before the 128-byte"
		" allocation# thread (1,0,0); k.cu:7"},
	{write, 64, -4, ": write of 4 bytes at", "4 bytes before the 64-byte"
		" allocation# thread (0,0,0); k.cu:7"},
};

START_TEST(the_first_access_out_of_bounds_is_told_exactly)
{
	char where[160];
	size_t at = (size_t)_i / countof(widths);
	setenv("KUDZU_CHECK", "memory", 1);
	setenv("KUDZU_CPU_WIDTH", widths[(size_t)_i % countof(widths)], 1);
	CUdeviceptr in = alloc(cases[at].size);
	CUresult result = run(cases[at].body, in + (CUdeviceptr)cases[at].shift, alloc(128));
	if (cases[at].what == NULL) {
		ck_assert_int_eq(result, CUDA_SUCCESS);
		return;
	}
	ck_assert_int_eq(result, CUDA_ERROR_ILLEGAL_ADDRESS);
	check_log(cases[at].what);
	snprintf(where, sizeof(where), "%s", cases[at].where);
	char *rest = strchr(where, '#');
	*rest++ = '\0';
	check_log(where);
	check_log(rest);
}
END_TEST

/* Thread 32 is in a warp of its own, which ends the launch after the others were run as one. */
START_TEST(the_thread_is_told_after_another_fault)
{
	static const struct {
		size_t shift; // from the 128 bytes
		const char *where;
	} rows[] = {{128, "thread (0,0,0)"}, {0, "thread (32,0,0)"}};
	setenv("KUDZU_CHECK", "memory", 1);
	setenv("KUDZU_CPU_WIDTH", "16", 1);
	setenv("KUDZU_CPU_TIER", "2", 1);
	reset();
	for (size_t i = 0; i < countof(rows); i++) {
		CUcontext own = new_context();
		CUdeviceptr in = alloc(128) + rows[i].shift;
		void *values[] = {&in, &in};
		OK(cuLaunchKernel(make(write), 1, 1, 1, 33, 1, 1, 0, NULL, values, NULL));
		FAILS(ILLEGAL_ADDRESS, cuCtxSynchronize());
		check_log(rows[i].where);
		OK(cuCtxDestroy_v2(own));
	}
}
END_TEST

START_TEST(what_was_freed_is_told_even_after_many_others)
{
	setenv("KUDZU_CHECK", "memory", 1);
	setenv("KUDZU_CPU_WIDTH", widths[_i], 1);
	reset();
	CUdeviceptr in = alloc(128);
	OK(cuMemFree_v2(in));
	for (int i = 0; i < 300; i++) {
		OK(cuMemFree_v2(alloc(128)));
	}
	FAILS(ILLEGAL_ADDRESS, run(copy, in, alloc(128)));
	check_log("inside the 128-byte allocation");
	check_log(", which was freed; block (0,0,0), thread (0,0,0); k.cu:7");
}
END_TEST

/* The memory below a texture or a surface that still exists. */
START_TEST(a_texture_whose_memory_was_freed_is_told)
{
	setenv("KUDZU_CHECK", "memory", 1);
	setenv("KUDZU_CPU_WIDTH", widths[_i], 1);
	reset();
	const CUdeviceptr memory = alloc(128);
	CUtexObject texture;
	const CUDA_TEXTURE_DESC sampling = {.flags = CU_TRSF_READ_AS_INTEGER};
	const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR,
		.res.linear = {memory, CU_AD_FORMAT_UNSIGNED_INT32, 1, 128}};
	OK(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
	const CUfunction fetch = make("tex.1d.v4.u32.s32 {%r3, %r4, %r5, %r6}, [%rd1, %r1];\n"
		"st.global.u32 [%rd4], %r3;");
	OK(launch(fetch, texture, alloc(128)));
	OK(cuMemFree_v2(memory));
	FAILS(ILLEGAL_ADDRESS, launch(fetch, texture, alloc(128)));
	check_log("read of 128 bytes at address 0x");
	check_log("inside the 128-byte allocation");
	check_log(", which was freed; block (0,0,0), thread (0,0,0); k.cu:7");
}
END_TEST

START_TEST(an_address_that_no_processor_has_is_told)
{
	setenv("KUDZU_CHECK", "memory", 1);
	setenv("KUDZU_CPU_WIDTH", widths[_i], 1);
	FAILS(ILLEGAL_ADDRESS, run(copy, UINT64_C(0x8000000000001000), alloc(128)));
	check_log("read of 4 bytes at address 0x8000000000001000, which is in no allocation");
	check_log("thread (0,0,0); k.cu:7");
}
END_TEST

/* No more than a little may be mapped from now on. */
static void limit_memory(void)
{
	unsigned long pages;
	FILE *file = fopen("/proc/self/statm", "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	const rlim_t most = (rlim_t)pages * 4096 + (4 << 20);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &(struct rlimit){most, most}), 0);
}

/* A lane writes a word in each of so many pages: `out` is their number. */
static const char pages[] = "setp.ne.u32 %p1, %r1, 0; @%p1 bra END; mov.u64 %rd5, 0;\n"
	"NEXT: st.global.u32 [%rd1], 1; add.u64 %rd1, %rd1, 4096; add.u64 %rd5, %rd5, 1;\n"
	"setp.lt.u64 %p1, %rd5, %rd2; @%p1 bra NEXT;\nEND:";

START_TEST(a_race_check_that_memory_runs_out_for_says_so)
{
	enum { PAGES = 16384 };
	static struct kudzu_report reports[2];
	setenv("KUDZU_CHECK", "race", 1);
	setenv("KUDZU_CPU_WIDTH", widths[_i], 1);
	reset();
	const CUdeviceptr in = alloc((size_t)PAGES * 4096);
	const CUfunction function = make(pages);
	OK(launch(function, in, 1)); // there is all that a launch needs besides
	ck_assert_uint_eq(report_list(reports, countof(reports)), 0);
	limit_memory();
	OK(launch(function, in, PAGES));
	ck_assert_uint_eq(report_list(reports, countof(reports)), 1);
	ck_assert_str_eq(reports[0].check, "race");
	ck_assert_ptr_nonnull(strstr(reports[0].text, "memory ran out: from here on not all"));
	unsigned last = 0;
	OK(cuMemcpyDtoH_v2(&last, in + (PAGES - 1) * UINT64_C(4096), sizeof(last)));
	ck_assert_uint_eq(last, 1);
}
END_TEST

/* What a line does, and where it comes from. */
START_TEST(a_line_of_ptx_is_described)
{
	static const char text[] = "{\n.loc 2 11 1\n  ld.param.u64 %rd1, [p];\n"
		"@%p1 ld.global.nc.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];\n\tst.b8 [%rd1], 0;\n}\n"
		"atom.global.add.noftz.f16x2 %r1, [%rd1], %r2;\nadd.s32 %r1, %r1, 1;\n"
		".file 1 \"a.cu\"\n.file 2 \"dir/b.cu\"\n";
	static const struct {
		unsigned line;
		const char *what;
		int number;
	} lines[] = {{3, "read of 8 bytes", 11}, {4, "read of 16 bytes", 11},
		{5, "write of 1 byte", 11}, {7, "atomic operation on 4 bytes", 0}, {8, "", 0}};
	struct line line;
	for (size_t i = 0; i < countof(lines); i++) {
		ck_assert(line_look_up(&line, text, lines[i].line));
		ck_assert_str_eq(line.what, lines[i].what);
		ck_assert_uint_eq(line.place_count, lines[i].number > 0);
		ck_assert_int_eq(line.places[0].number, lines[i].number);
		ck_assert(lines[i].number == 0
			|| strncmp(line.places[0].file, "dir/b.cu\"", 9) == 0);
	}
	ck_assert(!line_look_up(&line, text, 0));
	ck_assert(!line_look_up(&line, text, 99));
}
END_TEST

SUITE(check_memory)
{
	Suite *suite = suite_create("check_memory");
	TCase *tc = add_case(suite, "accesses", setup, teardown);
	tcase_add_loop_test(tc, the_first_access_out_of_bounds_is_told_exactly, 0,
		(int)(countof(cases) * countof(widths)));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // whose memory counts
	tcase_add_loop_test(tc, a_race_check_that_memory_runs_out_for_says_so, 0,
		(int)countof(widths));
#endif
	tcase_add_tests(tc, countof(widths), what_was_freed_is_told_even_after_many_others,
		a_texture_whose_memory_was_freed_is_told, an_address_that_no_processor_has_is_told);
	tcase_add_tests(tc, 1, the_thread_is_told_after_another_fault, a_line_of_ptx_is_described);
	return suite;
}
