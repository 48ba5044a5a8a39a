/* SPDX-License-Identifier: MIT */
/* Functions that programs of the first versions of CUDA call. */
#include "cpu/support/api.h"
#include "support/suite.h"

CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z);
CUresult cuFuncSetSharedSize(CUfunction function, unsigned bytes);
CUresult cuParamSetSize(CUfunction function, unsigned size);
CUresult cuParamSeti(CUfunction function, int offset, unsigned value);
CUresult cuParamSetf(CUfunction function, int offset, float value);
CUresult cuParamSetv(CUfunction function, int offset, void *bytes, unsigned size);
CUresult cuLaunch(CUfunction function);
CUresult cuLaunchGrid(CUfunction function, int width, int height);
CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream);
CUresult cuCtxAttach(CUcontext *out, unsigned flags);
CUresult cuCtxDetach(CUcontext handle);

static CUfunction prepare(CUdeviceptr address, uint32_t n)
{
	CUfunction add = kernel(load(), "add");
	OK(cuFuncSetBlockShape(add, 32, 1, 1));
	OK(cuFuncSetSharedSize(add, 0));
	OK(cuParamSetv(add, 0, &address, 8));
	OK(cuParamSeti(add, 8, n));
	OK(cuParamSetSize(add, 12));
	return add;
}

START_TEST(launch_uses_what_was_set_before)
{
	uint32_t host[64];
	CUdeviceptr address = alloc(sizeof(host));
	CUfunction add = prepare(address, 64);
	OK(cuMemsetD32_v2(address, 0, 64));
	OK(cuLaunch(add));
	OK(cuLaunchGrid(add, 2, 1));
	OK(cuLaunchGridAsync(add, 1, 2, NULL));
	OK(cuParamSetf(add, 8, 0));
	OK(cuLaunchGrid(add, 2, 1));
	OK(cuMemcpyDtoH_v2(host, address, sizeof(host)));
	for (size_t i = 0; i < 64; i++) {
		ck_assert_uint_eq(host[i], i < 32 ? 28 : 7);
	}
}
END_TEST

START_TEST(launch_without_a_shape_or_parameters_is_refused)
{
	CUfunction add = kernel(load(), "add");
	FAILS(INVALID_VALUE, cuLaunch(add));
	check_log("block shape was not set");
	OK(cuFuncSetBlockShape(add, 1, 1, 1));
	FAILS(INVALID_VALUE, cuLaunch(add));
	OK(cuParamSetSize(add, 12));
	FAILS(INVALID_VALUE, cuLaunch(add));
	check_log("no parameter of kernel 'add'");
	FAILS(INVALID_VALUE, cuLaunchGrid(add, 0, 1));
	FAILS(INVALID_VALUE, cuLaunchGrid(add, 1, -1));
	FAILS(INVALID_VALUE, cuLaunchGridAsync(add, 1, 65536, NULL));
}
END_TEST

START_TEST(settings_out_of_range_are_refused)
{
	CUfunction add = kernel(load(), "add");
	char bytes[8] = {0};
	FAILS(INVALID_VALUE, cuFuncSetBlockShape(add, 0, 1, 1));
	FAILS(INVALID_VALUE, cuFuncSetBlockShape(add, 1025, 1, 1));
	FAILS(INVALID_VALUE, cuFuncSetBlockShape(add, 64, 64, 1));
	FAILS(INVALID_VALUE, cuFuncSetBlockShape(add, 1, 1, 65));
	FAILS(INVALID_VALUE, cuFuncSetSharedSize(add, 1 << 20));
	FAILS(INVALID_VALUE, cuParamSetSize(add, 1 << 16));
	FAILS(INVALID_VALUE, cuParamSeti(add, -1, 0));
	FAILS(INVALID_VALUE, cuParamSeti(add, 32762, 0));
	FAILS(INVALID_VALUE, cuParamSetv(add, 8, bytes, 32760));
	FAILS(INVALID_VALUE, cuParamSetv(add, 8, NULL, 4));
	FAILS(INVALID_HANDLE, cuParamSeti(NULL, 0, 0));
	FAILS(INVALID_HANDLE, cuLaunch((CUfunction)(uintptr_t)5));
}
END_TEST

START_TEST(attached_context_lives_until_it_is_detached)
{
	CUcontext again = NULL;
	CUcontext own = new_context();
	OK(cuCtxAttach(&again, 0));
	ck_assert_ptr_eq(again, own);
	FAILS(INVALID_VALUE, cuCtxAttach(&again, 1));
	OK(cuCtxDetach(own));
	(void)alloc(16);
	OK(cuCtxDetach(own));
	OK(cuCtxGetCurrent(&again));
	ck_assert_ptr_eq(again, context);
	FAILS(INVALID_CONTEXT, cuCtxDetach(own));
	FAILS(INVALID_CONTEXT, cuCtxDetach(context));
}
END_TEST

SUITE(api_old)
{
	Suite *suite = suite_create("api_old");
	TCase *tc = add_case(suite, "old", setup, teardown);
	tcase_add_tests(tc, 1, launch_uses_what_was_set_before,
		launch_without_a_shape_or_parameters_is_refused, settings_out_of_range_are_refused,
		attached_context_lives_until_it_is_detached);
	return suite;
}
