/* SPDX-License-Identifier: MIT */
/* Linking: several PTX modules become one, or the log names what is missing. */
#include "cpu/support/api.h"

#include "base/alloc.h"
#include "base/file.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

CUresult cuLinkAddFile_v2(CUlinkState link, CUjitInputType type, const char *path, unsigned count,
	CUjit_option *options, void **values);

#define TOP ".version 7.0\n.target sm_75\n.address_size 64\n"

/* Stores what `value` is to where the kernel `k` is told. */
#define STORE(kernel, value) ".visible .entry " kernel "(.param .u64 " kernel "_p)\n{\n" \
	"\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<4>;\n\tld.param.u64 %rd1, [" kernel "_p];\n" \
	"\t" value "\n\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n"

/* The body of a function with a result r. */
#define RETURNS(value) "\n{\n\tst.param.b32 [r], " value ";\n\tret;\n}\n"

static struct {
	char error[1024];
	CUjit_option names[3];
	void *values[3];
} options;

static CUlinkState link_open(void)
{
	CUlinkState link = NULL;
	options.names[0] = CU_JIT_ERROR_LOG_BUFFER;
	options.names[1] = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
	options.names[2] = CU_JIT_WALL_TIME;
	options.values[0] = options.error;
	options.values[1] = (void *)sizeof(options.error);
	OK(cuLinkCreate_v2(3, options.names, options.values, &link));
	return link;
}

static CUresult add(CUlinkState link, const char *text, const char *name)
{
	return cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)text, strlen(text) + 1, name, 0,
		NULL, NULL);
}

static CUmodule finish(CUlinkState link)
{
	void *image = NULL;
	size_t size;
	CUmodule module;
	CUresult result = cuLinkComplete(link, &image, &size);
	ck_assert_msg(result == CUDA_SUCCESS, "%d: %s", result, options.error);
	ck_assert_uint_eq(strlen(image) + 1, size);
	OK(cuModuleLoadData(&module, image));
	return module;
}

static uint32_t run(CUmodule module, const char *name)
{
	uint32_t value = 0;
	CUdeviceptr at = alloc(sizeof(value));
	void *arguments[] = {&at};
	OK(cuLaunchKernel(kernel(module, name), 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
	OK(cuMemcpyDtoH_v2(&value, at, sizeof(value)));
	OK(cuMemFree_v2(at));
	return value;
}

static const struct {
	const char *what;
	const char *a;
	const char *b;
	uint32_t k; /* what the kernels store */
	uint32_t l;
} good[] = {
	{"an extern variable that is defined later",
		TOP ".extern .global .align 4 .u32 x;\n" STORE("k", "ld.global.u32 %r1, [x];"),
		TOP ".visible .global .align 4 .u32 x = 5;\n" STORE("l", "mov.u32 %r1, 1;"), 5, 1},
	{"an extern variable that was defined before",
		TOP ".visible .global .align 4 .u32 x[2] = {3, 4};\n" STORE("k", "mov.u32 %r1, 1;"),
		TOP ".extern .global .align 4 .u32 x[2];\n" STORE("l", "ld.global.u32 %r1, [x+4];"),
		1, 4},
	{"local variables of the same name",
		TOP ".global .u32 x = 1;\n" STORE("k", "ld.global.u32 %r1, [x];"),
		TOP ".global .u32 x = 2;\n" STORE("l", "ld.global.u32 %r1, [x];"), 1, 2},
	{"a local variable and a shared one of its name",
		TOP ".visible .global .u32 x = 1;\n" STORE("k", "ld.global.u32 %r1, [x];"),
		TOP ".global .u32 x = 2;\n.global .u64 p = x;\n" STORE("l",
			"ld.global.u64 %rd2, [p];\n\tld.u32 %r1, [%rd2];"), 1, 2},
	{"weak variables: the first one",
		TOP ".weak .global .u32 x = 1;\n" STORE("k", "ld.global.u32 %r1, [x];"),
		TOP ".weak .global .u32 x = 2;\n" STORE("l", "ld.global.u32 %r1, [x];"), 1, 1},
	{"a weak variable and a strong one",
		TOP ".weak .global .u32 x = 1;\n" STORE("k", "ld.global.u32 %r1, [x];"),
		TOP ".visible .global .u32 x = 2;\n" STORE("l", "ld.global.u32 %r1, [x];"), 2, 2},
	{"a strong variable and a weak one",
		TOP ".visible .global .u32 x = 1;\n" STORE("k", "ld.global.u32 %r1, [x];"),
		TOP ".weak .global .u32 x = 2;\n" STORE("l", "ld.global.u32 %r1, [x];"), 1, 1},
	{"an extern name that nobody uses",
		TOP ".extern .global .u32 x;\n.visible .global .u32 x = 6;\n"
		".extern .func nobody(.param .u32 a);\n" STORE("k", "ld.global.u32 %r1, [x];"),
		TOP STORE("l", "mov.u32 %r1, 9;"), 6, 9},
	{"dynamic shared memory in both",
		TOP ".extern .shared .align 16 .b8 mem[];\n" STORE("k", "mov.u32 %r1, mem;"),
		TOP ".extern .shared .align 16 .b8 mem[];\n" STORE("l", "mov.u32 %r1, mem;"), 0, 0},
	{"files, lines and sections",
		TOP ".file 1 \"a.cu\"\n" STORE("k", ".loc 1 5 0\n\tmov.u32 %r1, 1;")
		".section .debug_str\n{\n$L:\n.b8 95, 90\n}\n",
		TOP ".file 1 \"b.cu\"\n.file 2 \"c.cu\"\n" STORE("l", ".loc 2 5 0, function_name"
			" $L, inlined_at 1 2 3\n\tmov.u32 %r1, 2;"), 1, 2},
	{"an alias of a local function",
		TOP ".extern .func (.param .b32 r) f();\n.func (.param .b32 r) g()" RETURNS("1")
		STORE("k", "call (%r1), f, ();\n\tcall (%r2), g, ();\n\tadd.u32 %r1, %r1, %r2;"),
		TOP ".func (.param .b32 r) g()" RETURNS("8")
		".visible .func (.param .b32 r) f();\n.alias f, g;\n"
		STORE("l", "call (%r1), f, ();"), 9, 8},
	{"weak aliases: the first one",
		TOP ".func (.param .b32 r) g()" RETURNS("3") ".weak .func (.param .b32 r) f();\n"
		".alias f, g;\n" STORE("k", "call (%r1), f, ();"),
		TOP ".func (.param .b32 r) h()" RETURNS("4") ".weak .func (.param .b32 r) f();\n"
		".alias f, h;\n" STORE("l", "call (%r1), f, ();"), 3, 3},
	{"local aliases",
		TOP ".func (.param .b32 r) g()" RETURNS("3") ".func (.param .b32 r) f();\n"
		".alias f, g;\n" STORE("k", "call (%r1), f, ();"),
		TOP ".func (.param .b32 r) g()" RETURNS("4") ".func (.param .b32 r) f();\n"
		".alias f, g;\n" STORE("l", "call (%r1), f, ();"), 3, 4},
	{"a newer version and target",
		TOP STORE("k", "mov.u32 %r1, 1;"),
		".version 8.3\n.target sm_90, debug\n.address_size 64\n"
		STORE("l", "mov.u32 %r1, 2;"), 1, 2},
};

START_TEST(names_are_resolved_across_modules)
{
	CUlinkState link = link_open();
	OK(add(link, good[_i].a, "a.ptx"));
	OK(add(link, good[_i].b, "b.ptx"));
	CUmodule module = finish(link);
	OK(cuLinkDestroy(link));
	ck_assert_msg(run(module, "k") == good[_i].k, "%s: k", good[_i].what);
	ck_assert_msg(run(module, "l") == good[_i].l, "%s: l", good[_i].what);
}
END_TEST

static const struct {
	const char *a;
	const char *b;
	CUresult add_b;
	CUresult complete;
	const char *log;
} bad[] = {
	{TOP ".visible .global .u32 x;\n", TOP ".visible .global .u32 x;\n",
		CUDA_ERROR_INVALID_SOURCE, CUDA_SUCCESS,
		"error   : Multiple definition of 'x' in 'b.ptx', first defined in 'a.ptx'\n"},
	{TOP STORE("k", "mov.u32 %r1, 1;"), TOP STORE("k", "mov.u32 %r1, 1;"),
		CUDA_ERROR_INVALID_SOURCE, CUDA_SUCCESS,
		"error   : Multiple definition of 'k' in 'b.ptx', first defined in 'a.ptx'\n"},
	{TOP ".extern .global .u32 x;\n" STORE("k", "ld.global.u32 %r1, [x];"), TOP,
		CUDA_SUCCESS, CUDA_ERROR_INVALID_SOURCE,
		"error   : Undefined reference to 'x' in 'a.ptx'\n"},
	{TOP ".extern .global .u32 x;\n" STORE("k", "ld.global.u32 %r1, [x];"),
		TOP ".global .u32 x;\n", CUDA_SUCCESS, CUDA_ERROR_INVALID_SOURCE,
		"error   : Undefined reference to 'x' in 'a.ptx'\n"},
	{TOP, TOP ".global .u32 x<4>;\n", CUDA_ERROR_NOT_SUPPORTED, CUDA_SUCCESS,
		"ptxas application ptx input, line 4; error   : variables declared as a range"},
	{TOP, TOP "bogus\n", CUDA_ERROR_INVALID_PTX, CUDA_SUCCESS,
		"ptxas application ptx input, line 4; error   : "},
};

START_TEST(names_that_cannot_be_resolved_are_logged)
{
	CUlinkState link = link_open();
	void *image;
	OK(add(link, bad[_i].a, "a.ptx"));
	ck_assert_int_eq(add(link, bad[_i].b, "b.ptx"), bad[_i].add_b);
	if (bad[_i].complete != CUDA_SUCCESS) {
		ck_assert_int_eq(cuLinkComplete(link, &image, NULL), bad[_i].complete);
	}
	ck_assert_msg(strncmp(options.error, bad[_i].log, strlen(bad[_i].log)) == 0, "%s",
		options.error);
	ck_assert_uint_eq((uintptr_t)options.values[1], strlen(options.error));
	OK(cuLinkDestroy(link));
}
END_TEST

START_TEST(a_refused_input_is_left_out)
{
	CUlinkState link = link_open();
	OK(add(link, TOP STORE("k", "mov.u32 %r1, 7;"), NULL));
	FAILS(INVALID_SOURCE, add(link, TOP STORE("k", "mov.u32 %r1, 8;"), NULL));
	ck_assert_ptr_nonnull(strstr(options.error, "in 'input 2', first defined in 'input 1'"));
	FAILS(INVALID_PTX, add(link, "rubbish", NULL));
	ck_assert_uint_eq(run(finish(link), "k"), 7);
	OK(cuLinkDestroy(link));
}
END_TEST

START_TEST(a_result_can_be_linked_again)
{
	CUlinkState first = link_open();
	OK(add(first, TOP ".visible .global .u32 x = 8;\n", NULL));
	void *image;
	void *again;
	size_t size;
	OK(cuLinkComplete(first, &image, &size));
	OK(cuLinkComplete(first, &again, NULL));
	ck_assert_ptr_eq(image, again);
	FAILS(INVALID_VALUE, add(first, TOP, NULL));
	CUlinkState second = link_open();
	OK(cuLinkAddData_v2(second, CU_JIT_INPUT_CUBIN, image, size, "x", 0, NULL, NULL));
	OK(cuLinkDestroy(first));
	OK(add(second, TOP ".extern .global .u32 x;\n" STORE("k", "ld.global.u32 %r1, [x];"),
		NULL));
	ck_assert_uint_eq(run(finish(second), "k"), 8);
	float ms;
	memcpy(&ms, &options.values[2], sizeof(ms));
	ck_assert(ms > 0);
	OK(cuLinkDestroy(second));
}
END_TEST

static int registers_of(CUmodule module, const char *name)
{
	int count = 0;
	OK(cuFuncGetAttribute(&count, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel(module, name)));
	return count;
}

/* It goes with the result; a limit that a kernel has of its own stays. */
START_TEST(a_link_limits_the_registers_of_its_kernels)
{
	CUjit_option option = CU_JIT_MAX_REGISTERS;
	void *limit = (void *)9, *image;
	CUlinkState link = NULL;
	CUmodule module;
	OK(cuLinkCreate_v2(1, &option, &limit, &link));
	OK(add(link, TOP ".func f() { ret; }\n.visible .entry k()\n{\n\tcall f;\n\tret;\n}\n",
		NULL));
	OK(add(link, TOP ".visible .entry own() .maxntid 64 .maxnreg 12 { ret; }\n", NULL));
	OK(cuLinkComplete(link, &image, NULL));
	OK(cuModuleLoadData(&module, image));
	ck_assert_int_eq(registers_of(module, "k"), 9);
	ck_assert_int_eq(registers_of(module, "own"), 12);
	OK(cuModuleUnload(module));
	limit = (void *)10;
	OK(cuModuleLoadDataEx(&module, image, 1, &option, &limit));
	ck_assert_int_eq(registers_of(module, "own"), 12);
	OK(cuLinkDestroy(link));
}
END_TEST

START_TEST(files_and_fat_binaries_can_be_linked)
{
	static const char sample[] = KZ_TEST_DIR "/data/fatbin/lz4.fatbin";
	CUlinkState link = link_open();
	CUjit_option level = CU_JIT_OPTIMIZATION_LEVEL;
	CUjit_option time = CU_JIT_WALL_TIME;
	void *value = (void *)3;
	OK(cuLinkAddFile_v2(link, CU_JIT_INPUT_FATBINARY, sample, 1, &level, &value));
	FAILS(INVALID_SOURCE,
		cuLinkAddFile_v2(link, CU_JIT_INPUT_FATBINARY, sample, 0, NULL, NULL));
	FAILS(FILE_NOT_FOUND,
		cuLinkAddFile_v2(link, CU_JIT_INPUT_PTX, "/no/such", 0, NULL, NULL));
	FAILS(INVALID_VALUE, cuLinkAddFile_v2(link, CU_JIT_INPUT_PTX, NULL, 0, NULL, NULL));
	FAILS(INVALID_VALUE,
		cuLinkAddFile_v2(link, CU_JIT_INPUT_PTX, sample, 1, &time, &value));
	FAILS(NO_BINARY_FOR_GPU, cuLinkAddFile_v2(link, CU_JIT_INPUT_CUBIN,
		KZ_TEST_DIR "/data/fatbin/cubin.fatbin", 0, NULL, NULL));
	FAILS(NO_BINARY_FOR_GPU, cuLinkAddFile_v2(link, CU_JIT_INPUT_NVVM, sample, 0, NULL, NULL));
	ck_assert_ptr_nonnull(strstr(options.error, "the CPU device links PTX, not LTO code"));
	FAILS(NO_BINARY_FOR_GPU,
		cuLinkAddFile_v2(link, CU_JIT_INPUT_LIBRARY, sample, 0, NULL, NULL));
	FAILS(INVALID_VALUE, cuLinkAddFile_v2(link, (CUjitInputType)9, sample, 0, NULL, NULL));
	kernel(finish(link), "twice");
	OK(cuLinkDestroy(link));
}
END_TEST

/* --- libcudadevrt.a --- */

/* An archive with one member of this name and no bytes, as ar writes it. */
static size_t write_archive(char *to, const char *name)
{
	int len = sprintf(to, "!<arch>\n%-16s%-12d%-6d%-6d%-8d%-10d`\n%s", "/", 0, 0, 0, 0, 4,
		"abcd");
	int names = (int)strlen(name) + 2;
	len += sprintf(to + len, "%-48s%-10d`\n%.63s/\n%s", "//", names, name,
		names % 2 ? "\n" : "");
	len += sprintf(to + len, "%-16s%-12d%-6d%-6d%-8d%-10d`\n", "/0", 0, 0, 0, 0644, 0);
	return (size_t)len;
}

static CUresult add_library(CUlinkState link, const char *data, size_t size)
{
	return cuLinkAddData_v2(link, CU_JIT_INPUT_LIBRARY, (void *)data, size, "libcudadevrt.a", 0,
		NULL, NULL);
}

static CUresult add_runtime(CUlinkState link)
{
	char archive[512];
	return add_library(link, archive, write_archive(archive, "cuda_device_runtime.o"));
}

/* Each thread stores what the functions say in the ten words of its own. */
static const char groups[] = TOP
	".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);\n"
	".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 h, .param .b32 f);\n"
	".extern .func (.param .b32 r) cudaCGSynchronizeGrid(.param .b64 h, .param .b32 f);\n"
	".extern .func (.param .b32 r) cudaCGGetSize(.param .b64 t, .param .b64 g, "
	".param .b64 h);\n"
	".extern .func (.param .b32 r) cudaCGGetRank(.param .b64 t, .param .b64 g, "
	".param .b64 h);\n"
	".visible .entry ask(.param .u64 out, .param .u32 scope)\n{\n"
	"	.reg .b32 %r<12>;\n	.reg .b64 %rd<8>;\n	.reg .pred %p<2>;\n"
	"	ld.param.u64 %rd1, [out];\n	ld.param.u32 %r10, [scope];\n"
	"	mov.u32 %r1, %ctaid.y;\n	mov.u32 %r2, %nctaid.x;\n"
	"	mov.u32 %r3, %ctaid.x;\n"
	"	mad.lo.u32 %r1, %r1, %r2, %r3;\n	mov.u32 %r2, %ntid.y;\n"
	"	mov.u32 %r3, %tid.y;\n"
	"	mad.lo.u32 %r1, %r1, %r2, %r3;\n	mov.u32 %r2, %ntid.x;\n"
	"	mov.u32 %r3, %tid.x;\n"
	"	mad.lo.u32 %r1, %r1, %r2, %r3;\n"
	"	mul.wide.u32 %rd2, %r1, 40;\n	add.u64 %rd2, %rd1, %rd2;\n"
	"	call (%rd3), cudaCGGetIntrinsicHandle, (%r10);\n"
	"	add.u64 %rd4, %rd2, 4;\n	add.u64 %rd5, %rd2, 8;\n	mov.u64 %rd6, 0;\n"
	"	call (%r4), cudaCGGetSize, (%rd4, %rd5, %rd3);\n"
	"	st.global.u32 [%rd2], %r4;\n"
	"	add.u64 %rd4, %rd2, 16;\n	add.u64 %rd5, %rd2, 20;\n"
	"	call (%r4), cudaCGGetRank, (%rd4, %rd5, %rd3);\n"
	"	st.global.u32 [%rd2+12], %r4;\n"
	"	call (%r4), cudaCGGetRank, (%rd6, %rd6, %rd3);\n"
	"	st.global.u32 [%rd2+24], %r4;\n"
	"	mov.u32 %r11, 0;\n"
	"	call (%r4), cudaCGSynchronize, (%rd3, %r11);\n	st.global.u32 [%rd2+28], %r4;\n"
	"	setp.ne.u32 %p1, %r4, 0;\n	@%p1 bra DONE;\n"
	/* What the thread at the other end has stored before. */
	"	ld.global.u32 %r5, [%rd2+4];\n	sub.u32 %r5, %r5, %r1;\n"
	"	sub.u32 %r5, %r5, 1;\n"
	"	mul.wide.u32 %rd4, %r5, 40;\n	add.u64 %rd4, %rd1, %rd4;\n"
	"	ld.global.u32 %r6, [%rd4+16];\n	st.global.u32 [%rd2+32], %r6;\n"
	"DONE:\n	call (%r4), cudaCGSynchronizeGrid, (%rd3, %r11);\n"
	"	st.global.u32 [%rd2+36], %r4;\n	ret;\n}\n";

enum { THREADS = 3 * 5 * 20 * 2, WORDS = 10 };

/* Where it fails, each call does. */
static void check_groups(const uint32_t *got, bool fails)
{
	const uint32_t code = fails ? 999 : 0;
	for (uint32_t rank = 0; rank < THREADS; rank++) {
		const uint32_t want[WORDS] = {code, fails ? 0 : THREADS, fails ? 0 : 1, code,
			fails ? 0 : rank, 0, code, code, fails ? 77 : THREADS - 1 - rank, code};
		for (int word = 0; word < WORDS; word++, got++) {
			ck_assert_msg(*got == want[word], "thread %u, word %d: got %u, expected %u",
				rank, word, *got, want[word]);
		}
	}
}

static void run_groups(CUmodule module, bool cooperative, uint32_t scope)
{
	static uint32_t got[THREADS * WORDS];
	CUdeviceptr at = alloc(sizeof(got));
	void *arguments[] = {&at, &scope};
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
		.value = {.cooperative = cooperative}};
	CUlaunchConfig config = {.gridDimX = 3, .gridDimY = 5, .gridDimZ = 1, .blockDimX = 20,
		.blockDimY = 2, .blockDimZ = 1, .attrs = &attribute, .numAttrs = 1};
	OK(cuMemsetD32_v2(at, 77, THREADS * WORDS));
	OK(cuLaunchKernelEx(&config, kernel(module, "ask"), arguments, NULL));
	OK(cuMemcpyDtoH_v2(got, at, sizeof(got)));
	OK(cuMemFree_v2(at));
	check_groups(got, !cooperative || scope != 1);
}

START_TEST(cooperative_groups_link_with_the_device_runtime)
{
	static const char *const widths[] = {"1", "32"}, *const workers[] = {"1", "2", "4"};
	setenv("KUDZU_CPU_WIDTH", widths[_i % 2], 1);
	setenv("KUDZU_CPU_THREADS", workers[_i / 2], 1);
	setup();
	CUlinkState link = link_open();
	OK(add(link, groups, "groups.ptx"));
	OK(add_runtime(link));
	OK(add_runtime(link));
	CUmodule module = finish(link);
	OK(cuLinkDestroy(link));
	run_groups(module, true, 1);
	run_groups(module, false, 1);
	run_groups(module, true, 2);
	run_groups(module, true, 1);
	teardown();
}
END_TEST

/* nvcc -rdc hands its PTX over, which calls NVIDIA's driver. */
START_TEST(the_device_runtime_may_come_as_ptx)
{
	static const char runtime[] = TOP
		".extern .func (.param .b64 r) __cuda_syscall_CGS_get_intrinsic_handle"
		"(.param .b32 scope);\n"
		".visible .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope)\n{\n"
		"	.reg .b32 %r;\n	.reg .b64 %rd;\n	ld.param.b32 %r, [scope];\n"
		"	call (%rd), __cuda_syscall_CGS_get_intrinsic_handle, (%r);\n"
		"	st.param.b64 [r], %rd;\n	ret;\n}\n";
	CUlinkState link = link_open();
	OK(add(link, groups, "groups.ptx"));
	OK(add(link, runtime, "a part"));
	CUmodule module = finish(link);
	OK(cuLinkDestroy(link));
	run_groups(module, true, 1);
}
END_TEST

START_TEST(the_device_runtime_has_to_be_linked)
{
	CUlinkState link = link_open();
	void *image;
	OK(add(link, groups, "groups.ptx"));
	FAILS(INVALID_SOURCE, cuLinkComplete(link, &image, NULL));
	ck_assert_ptr_nonnull(strstr(options.error,
		"Undefined reference to 'cudaCGSynchronize' in 'groups.ptx'"));
	OK(add_runtime(link));
	run_groups(finish(link), true, 1);
	OK(cuLinkDestroy(link));
}
END_TEST

START_TEST(a_function_of_the_program_beats_that_of_the_runtime)
{
	CUlinkState link = link_open();
	OK(add_runtime(link));
	OK(add(link, TOP ".visible .func (.param .b32 r) cudaCGSynchronize(.param .b64 h, .param "
		".b32 f)"
		RETURNS("5") STORE("k", "mov.u64 %rd2, 0;\n\tmov.u32 %r2, 0;\n"
			"\tcall (%r1), cudaCGSynchronize, (%rd2, %r2);"), "own.ptx"));
	ck_assert_uint_eq(run(finish(link), "k"), 5);
	OK(cuLinkDestroy(link));
}
END_TEST

/* Other libraries, and damaged ones. */
START_TEST(no_other_library_can_be_linked)
{
	CUlinkState link = link_open();
	char archive[512], copy[512];
	size_t size = write_archive(archive, "other_device_runtime.o");
	FAILS(NO_BINARY_FOR_GPU, add_library(link, archive, size));
	ck_assert_ptr_nonnull(strstr(options.error, "links PTX, not a library of host objects"));
	size = write_archive(archive, "cuda_device_runtime.o");
	const size_t named = (size_t)(strstr(archive, "cuda_device") - archive) + 23;
	for (size_t len = 1; len < named; len++) {
		memcpy(copy, archive, len);
		FAILS(NO_BINARY_FOR_GPU, add_library(link, copy, len));
	}
	OK(add_library(link, archive, size));
	memcpy(archive + 8 + 48, "9999999999", 10);
	FAILS(NO_BINARY_FOR_GPU, add_library(link, archive, size));
	OK(cuLinkDestroy(link));
}
END_TEST

/* An object of nvcc -dc, and a library with it and a member without device code. */
START_TEST(objects_and_libraries_of_the_host_have_device_code)
{
	static const char path[] = KZ_TEST_DIR "/data/fatbin/add_two.obj";
	char *object, library[4096];
	size_t size;
	ck_assert_int_eq(file_read(&object, &size, path, NULL), KZ_OK);
	ck_assert_uint_lt(size, sizeof(library) - 256);
	int len = sprintf(library, "!<arch>\n%-48s%-10d`\nabc\n%-48s%-10zu`\n", "text.o/", 3,
		"add_two.o/", size);
	memcpy(library + len, object, size);
	const struct {
		CUjitInputType type;
		const char *data;
		size_t size;
	} rows[] = {{CU_JIT_INPUT_OBJECT, object, size},
		{CU_JIT_INPUT_LIBRARY, library, (size_t)len + size}};
	for (size_t i = 0; i < countof(rows); i++) {
		CUlinkState link = link_open();
		OK(add(link, TOP ".extern .func (.param .b32 r) _Z7add_twoi(.param .b32 x);\n"
			STORE("k", "mov.u32 %r2, 5;\n\tcall (%r1), _Z7add_twoi, (%r2);"), NULL));
		OK(cuLinkAddData_v2(link, rows[i].type, (void *)rows[i].data, rows[i].size, "x", 0,
			NULL, NULL));
		ck_assert_uint_eq(run(finish(link), "k"), 7);
		OK(cuLinkDestroy(link));
		link = link_open();
		FAILS(NO_BINARY_FOR_GPU, cuLinkAddData_v2(link, rows[i].type,
			(void *)rows[i].data, rows[i].size / 2, "x", 0, NULL, NULL));
		ck_assert_ptr_nonnull(strstr(options.error, "without device code"));
		OK(cuLinkDestroy(link));
	}
	OK(cuLinkAddFile_v2(link_open(), CU_JIT_INPUT_OBJECT, path, 0, NULL, NULL));
	mem_free(object);
}
END_TEST

/* The toolkit's own, where there is one. */
/* It also has the machine code that nvcc linked of them, which is not linked again. */
START_TEST(a_program_of_the_host_has_the_code_of_its_objects)
{
	CUlinkState link = link_open();
	OK(add(link, TOP ".extern .func (.param .b32 r) _Z7add_twoi(.param .b32 x);\n"
		STORE("k", "mov.u32 %r2, 5;\n\tcall (%r1), _Z7add_twoi, (%r2);"), NULL));
	OK(cuLinkAddFile_v2(link, CU_JIT_INPUT_OBJECT, KZ_TEST_DIR "/data/fatbin/add_two.exe", 0,
		NULL, NULL));
	ck_assert_uint_eq(run(finish(link), "k"), 7);
	OK(cuLinkDestroy(link));
}
END_TEST

START_TEST(the_library_of_the_toolkit_is_known)
{
	static const char path[] = "/usr/local/cuda/lib64/libcudadevrt.a";
	if (!file_is_regular(path)) {
		return;
	}
	CUlinkState link = link_open();
	OK(add(link, groups, "groups.ptx"));
	OK(cuLinkAddFile_v2(link, CU_JIT_INPUT_LIBRARY, path, 0, NULL, NULL));
	run_groups(finish(link), true, 1);
	OK(cuLinkDestroy(link));
}
END_TEST

START_TEST(links_refuse_what_makes_no_sense)
{
	CUlinkState link = link_open();
	void *image;
	CUjit_option level = CU_JIT_OPTIMIZATION_LEVEL;
	FAILS(INVALID_VALUE, cuLinkCreate_v2(0, NULL, NULL, NULL));
	FAILS(INVALID_VALUE, cuLinkCreate_v2(1, &level, NULL, &link));
	FAILS(INVALID_IMAGE, cuLinkComplete(link, &image, NULL));
	FAILS(INVALID_VALUE, cuLinkComplete(link, NULL, NULL));
	FAILS(INVALID_IMAGE, add(link, "", NULL));
	FAILS(INVALID_VALUE, cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, NULL, 4, NULL, 0, NULL,
		NULL));
	OK(cuLinkDestroy(link));
	FAILS(INVALID_HANDLE, cuLinkDestroy(link));
	FAILS(INVALID_HANDLE, add(link, TOP, NULL));
	FAILS(INVALID_HANDLE, cuLinkComplete(NULL, &image, NULL));
}
END_TEST

START_TEST(memory_may_run_out_while_linking)
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	char archive[512];
	const size_t size = write_archive(archive, "cuda_device_runtime.o");
	void *image;
	for (long n = 0; result != CUDA_SUCCESS; n++) {
		CUlinkState link = NULL;
		mem_fail_after(n);
		result = cuLinkCreate_v2(0, NULL, NULL, &link);
		result = result == CUDA_SUCCESS ? add(link, good[3].a, "a") : result;
		result = result == CUDA_SUCCESS ? add(link, good[3].b, "b") : result;
		result = result == CUDA_SUCCESS ? add_library(link, archive, size) : result;
		result = result == CUDA_SUCCESS ? cuLinkComplete(link, &image, NULL) : result;
		mem_fail_after(-1);
		ck_assert(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
		if (link != NULL) {
			OK(cuLinkDestroy(link));
		}
	}
}
END_TEST

/* --- Nothing after the size --- */

/* A fat binary of one entry, as it is: test_image.c has compressed ones. */
static const char fatbin_path[] = KZ_TEST_DIR "/data/fatbin/plain.fatbin";

static const struct {
	CUjitInputType type;
	const char *text; /* NULL: the fat binary */
} behind[] = {
	{CU_JIT_INPUT_PTX, TOP STORE("k", "mov.u32 %r1, 7;")},
	{CU_JIT_INPUT_PTX, TOP "// a comment that does not end"},
	{CU_JIT_INPUT_PTX, TOP ".global .b8 x[4] = {1, 2"},
	{CU_JIT_INPUT_FATBINARY, NULL},
	{CU_JIT_INPUT_CUBIN, NULL},
	{CU_JIT_INPUT_LIBRARY, NULL},
	{CU_JIT_INPUT_LIBRARY, "!<arch>\n/               "},
};

/* All of the data, and each shorter part of it, ends where memory does. */
START_TEST(data_are_read_up_to_their_size)
{
	char *data;
	size_t size;
	ck_assert_int_eq(file_read(&data, &size, fatbin_path, NULL), KZ_OK);
	const char *from = behind[_i].text ? behind[_i].text : data;
	size = behind[_i].text ? strlen(from) : size;
	const size_t room = round_up(size, 4096);
	char *pages = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + room, 4096, PROT_NONE), 0);
	for (size_t length = size; length > 0; length -= length > 96 ? 1 + length / 48 : 1) {
		CUlinkState link = link_open();
		char *at = pages + room - length;
		memcpy(at, from, length);
		(void)cuLinkAddData_v2(link, behind[_i].type, at, length, "x", 0, NULL, NULL);
		OK(cuLinkDestroy(link));
	}
	munmap(pages, room + 4096);
	mem_free(data);
}
END_TEST

/* What nvcc puts beside a fat binary in a program is a pointer. */
START_TEST(a_pointer_in_data_is_not_followed)
{
	const uint64_t wrapper[] = {UINT64_C(1) << 32 | 0x466243b1, 0x4242424242424242, 0};
	for (size_t size = sizeof(wrapper); size >= 4; size -= 4) {
		CUlinkState link = link_open();
		FAILS(INVALID_IMAGE, cuLinkAddData_v2(link, CU_JIT_INPUT_FATBINARY, (void *)wrapper,
			size, "x", 0, NULL, NULL));
		check_log("holds a pointer to another");
		OK(cuLinkDestroy(link));
	}
}
END_TEST

SUITE(api_link)
{
	Suite *suite = suite_create("api_link");
	TCase *tc = add_case(suite, "link", setup, teardown);
	tcase_add_loop_test(tc, names_are_resolved_across_modules, 0, countof(good));
	tcase_add_loop_test(tc, names_that_cannot_be_resolved_are_logged, 0, countof(bad));
	tcase_add_tests(tc, 1, a_refused_input_is_left_out, a_result_can_be_linked_again,
		a_link_limits_the_registers_of_its_kernels,
		objects_and_libraries_of_the_host_have_device_code,
		a_program_of_the_host_has_the_code_of_its_objects,
		files_and_fat_binaries_can_be_linked, links_refuse_what_makes_no_sense,
		the_device_runtime_may_come_as_ptx, the_device_runtime_has_to_be_linked,
		a_function_of_the_program_beats_that_of_the_runtime, no_other_library_can_be_linked,
		the_library_of_the_toolkit_is_known, memory_may_run_out_while_linking,
		a_pointer_in_data_is_not_followed);
	tcase_add_loop_test(tc, data_are_read_up_to_their_size, 0, countof(behind));
	tc = add_case(suite, "groups", NULL, NULL);
	tcase_add_loop_test(tc, cooperative_groups_link_with_the_device_runtime, 0, 6);
	return suite;
}
