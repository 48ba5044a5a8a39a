/* SPDX-License-Identifier: MIT */
/*
 * Cooperative launches: blocks that wait for each other, as many as occupancy allows.
 */
#include "cpu/support/api.h"
#include "support/suite.h"

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
	unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_size,
	CUstream stream, void **values);

/* Each block counts itself, then waits until all have. */
static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry meet(.param .u64 p, .param .u32 n)\n{\n"
	"	.reg .b64 %rd<2>;\n	.reg .b32 %r<6>;\n	.reg .pred %p<3>;\n"
	"	ld.param.u64 %rd1, [p];\n	ld.param.u32 %r1, [n];\n"
	"	mov.u32 %r2, %tid.x;\n	setp.ne.u32 %p1, %r2, 0;\n	@%p1 bra WAIT;\n"
	"	atom.global.add.u32 %r3, [%rd1], 1;\n"
	"WAIT:\n	ld.volatile.global.u32 %r4, [%rd1];\n"
	"	setp.lt.u32 %p2, %r4, %r1;\n	@%p2 bra WAIT;\n	ret;\n}\n";

static int cores;
static CUfunction meet;
static CUdeviceptr counter;

static void setup_meet(void)
{
	CUmodule module;
	setup();
	OK(cuDeviceGetAttribute(&cores, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	OK(cuModuleLoadData(&module, ptx));
	meet = kernel(module, "meet");
	counter = alloc(4);
}

static void check_counter(uint32_t want)
{
	uint32_t value;
	OK(cuMemcpyDtoH_v2(&value, counter, sizeof(value)));
	ck_assert_uint_eq(value, want);
}

START_TEST(blocks_of_a_cooperative_launch_run_at_once)
{
	uint32_t n = (uint32_t)cores;
	void *values[] = {&counter, &n};
	OK(cuLaunchCooperativeKernel(meet, n, 1, 1, 64, 1, 1, 0, NULL, values));
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

START_TEST(cooperative_launches_are_as_big_as_occupancy_allows)
{
	uint32_t n = 0;
	void *values[] = {&counter, &n};
	unsigned many = (unsigned)cores + 1;
	FAILS(COOPERATIVE_LAUNCH_TOO_LARGE,
		cuLaunchCooperativeKernel(meet, many, 1, 1, 1, 1, 1, 0, NULL, values));
	check_log("blocks of kernel 'meet' at once");
	FAILS(COOPERATIVE_LAUNCH_TOO_LARGE,
		cuLaunchCooperativeKernel(meet, 65535, 65535, 65535, 1, 1, 1, 0, NULL, values));
	FAILS(INVALID_VALUE, cuLaunchCooperativeKernel(meet, 0, 1, 1, 1, 1, 1, 0, NULL, values));
	FAILS(INVALID_VALUE, cuLaunchCooperativeKernel(meet, 1, 1, 1, 1, 1, 1, 0, NULL, NULL));
	FAILS(INVALID_HANDLE, cuLaunchCooperativeKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, values));
	check_counter(0);
}
END_TEST

SUITE(api_coop)
{
	Suite *suite = suite_create("api_coop");
	TCase *tc = add_case(suite, "cooperative", setup_meet, teardown);
	tcase_add_tests(tc, 1, blocks_of_a_cooperative_launch_run_at_once,
		cooperative_launches_are_as_big_as_occupancy_allows);
	return suite;
}
