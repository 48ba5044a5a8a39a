/* SPDX-License-Identifier: MIT */
#ifndef TESTS_API_H
#define TESTS_API_H

/* The driver API as the tests of the CPU driver use it: declarations, a module, a fixture. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/cuda_abi.h"
#include "driver.h"

#include <check.h>
#include <string.h>

#define X(name, symbol, since, need, parameters) CUresult symbol parameters;
#include "lib/cuda/cuda.def"
#undef X
CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice device);
CUresult cuCtxDestroy_v2(CUcontext context);
CUresult cuCtxGetLimit(size_t *out, CUlimit limit);
CUresult cuCtxSetLimit(CUlimit limit, size_t value);
CUresult cuCtxGetApiVersion(CUcontext context, unsigned int *out);
CUresult cuGetExportTable(const void **out, const CUuuid *id);
CUresult cuGetProcAddress(const char *symbol, void **out, int version, cuuint64_t flags);
CUresult cuGetProcAddress_v2(const char *symbol, void **out, int version, cuuint64_t flags,
	CUdriverProcAddressQueryResult *status);
CUresult cuMemAllocManaged(CUdeviceptr *out, size_t size, unsigned int flags);
CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
	unsigned int element);
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy);
CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
	size_t height);
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback function, void *data,
	unsigned int flags);
CUresult cuStreamGetFlags(CUstream stream, unsigned int *out);
CUresult cuFuncGetModule(CUmodule *out, CUfunction function);
CUresult cuProfilerStart(void);
CUresult cuGraphAddExternalSemaphoresSignalNode(void);

#define OK(call) ck_assert_int_eq(call, CUDA_SUCCESS)
#define FAILS(code, call) ck_assert_int_eq(call, CUDA_ERROR_##code)

static const char api_ptx[] =
	".version 7.0\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .global .align 4 .u32 step = 7;\n"
	".visible .global .align 8 .u64 where = step;\n"
	".visible .entry add(.param .u64 add_p, .param .u32 add_n)\n"
	"{\n"
	"	.reg .b32 %r<8>;\n"
	"	.reg .b64 %rd<5>;\n"
	"	.reg .pred %p<2>;\n"
	"	ld.param.u64 %rd1, [add_p];\n"
	"	ld.param.u32 %r1, [add_n];\n"
	"	mov.u32 %r2, %ctaid.x;\n"
	"	mov.u32 %r3, %ntid.x;\n"
	"	mov.u32 %r4, %tid.x;\n"
	"	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
	"	setp.ge.u32 %p1, %r5, %r1;\n"
	"	@%p1 bra DONE;\n"
	"	cvta.to.global.u64 %rd2, %rd1;\n"
	"	mul.wide.u32 %rd3, %r5, 4;\n"
	"	add.s64 %rd4, %rd2, %rd3;\n"
	"	ld.global.u32 %r6, [%rd4];\n"
	"	ld.global.u32 %r7, [step];\n"
	"	add.s32 %r6, %r6, %r7;\n"
	"	st.global.u32 [%rd4], %r6;\n"
	"DONE:\n"
	"	ret;\n"
	"}\n"
	".visible .entry stop()\n"
	"{\n"
	"	trap;\n"
	"	ret;\n"
	"}\n"
	".visible .entry small() .maxntid 64, 1, 1\n"
	"{\n"
	"	ret;\n"
	"}\n";

static CUcontext context; /* of the fixture */

static inline void init(void)
{
	OK(cuInit(0));
}

static inline void setup(void)
{
	init();
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
}

static inline void teardown(void)
{
	OK(cuDevicePrimaryCtxRelease_v2(0));
}

/* Go on with a primary context in which nothing has happened. */
static inline void reset(void)
{
	OK(cuDevicePrimaryCtxReset_v2(0));
	teardown();
	setup();
}

/* A context, which is then the current one. */
static inline CUcontext new_context(void)
{
	CUcontext made = NULL;
	OK(cuCtxCreate_v2(&made, 0, 0));
	return made;
}

static inline CUdeviceptr alloc(size_t size)
{
	CUdeviceptr address = 0;
	OK(cuMemAlloc_v2(&address, size));
	return address;
}

static inline CUmodule load(void)
{
	CUmodule module = NULL;
	OK(cuModuleLoadData(&module, api_ptx));
	return module;
}

static inline CUfunction kernel(CUmodule module, const char *name)
{
	CUfunction function = NULL;
	OK(cuModuleGetFunction(&function, module, name));
	return function;
}

static inline CUresult launch_add(CUfunction add, CUdeviceptr address, uint32_t n, CUstream stream)
{
	void *values[] = {&address, &n};
	return cuLaunchKernel(add, (n + 31) / 32, 1, 1, 32, 1, 1, 0, stream, values, NULL);
}

/* The last line of the driver's log. */
static inline const char *api_last_log(void)
{
	static char buffer[1 << 16];
	size_t size = sizeof(buffer);
	OK(cuLogsDumpToMemory(NULL, buffer, &size, 0));
	if (size == 0 && !driver_is_ours) {
		return "";
	}
	ck_assert_uint_gt(size, 0);
	buffer[size - 1] = '\0';
	const char *line = strrchr(buffer, '\n');
	return line != NULL ? line + 1 : buffer;
}

static inline void check_log(const char *part)
{
	if (driver_lacks("the words of its log are other ones")) {
		return;
	}
	const char *line = api_last_log();
	ck_assert_msg(strstr(line, part) != NULL, "'%s' is not in '%s'", part, line);
}

static inline TCase *add_case(Suite *suite, const char *name, SFun start, SFun end)
{
	TCase *tc = tcase_create(name);
	tcase_add_checked_fixture(tc, start, end);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return tc;
}

#endif
