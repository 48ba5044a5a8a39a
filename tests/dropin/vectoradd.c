/* SPDX-License-Identifier: MIT */
/*
 * Add vectors, as a first program of the driver API does it: a context of its own, a module from a
 * fat binary, and the kernel launched both ways, with pointers to its parameters and with a buffer.
 * usage: vectoradd FATBIN
 */
#include "driver.h"

enum { N = 50000, BLOCK = 256 };

static float a[N], b[N], sum[N];

static void verify(const char *how)
{
	for (int i = 0; i < N; i++) {
		if (sum[i] != a[i] + b[i]) {
			fprintf(stderr, "%s: %d: %g + %g = %g?\n", how, i, a[i], b[i], sum[i]);
			exit(1);
		}
	}
	memset(sum, 0, sizeof(sum));
}

int main(int argc, char **argv)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction add;
	CUdeviceptr at_a, at_b, at_sum;
	int n = N;
	unsigned grid = (N + BLOCK - 1) / BLOCK;
	if (argc != 2) {
		return 2;
	}
	check(cuInit(0));
	check(cuDeviceGet(&device, 0));
	check(create_context(&context, 0, device));
	char *image = read_file(argv[1]);
	check(cuModuleLoadData(&module, image));
	free(image);
	check(cuModuleGetFunction(&add, module, "add"));
	for (int i = 0; i < N; i++) {
		a[i] = (float)(i % 1000) / 8;
		b[i] = (float)(N - i);
	}
	check(cuMemAlloc(&at_a, sizeof(a)));
	check(cuMemAlloc(&at_b, sizeof(b)));
	check(cuMemAlloc(&at_sum, sizeof(sum)));
	check(cuMemcpyHtoD(at_a, a, sizeof(a)));
	check(cuMemcpyHtoD(at_b, b, sizeof(b)));

	void *parameters[] = {&at_a, &at_b, &at_sum, &n};
	check(cuLaunchKernel(add, grid, 1, 1, BLOCK, 1, 1, 0, NULL, parameters, NULL));
	check(cuCtxSynchronize());
	check(cuMemcpyDtoH(sum, at_sum, sizeof(sum)));
	verify("pointers");

	struct {
		CUdeviceptr a, b, sum;
		int n;
	} block = {at_b, at_a, at_sum, N};
	size_t size = offsetof(__typeof__(block), n) + sizeof(int);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
		CU_LAUNCH_PARAM_END};
	check(cuLaunchKernel(add, grid, 1, 1, BLOCK, 1, 1, 0, NULL, NULL, extra));
	check(cuMemcpyDtoH(sum, at_sum, sizeof(sum)));
	verify("buffer");

	check(cuMemFree(at_a));
	check(cuMemFree(at_b));
	check(cuMemFree(at_sum));
	check(cuModuleUnload(module));
	check(cuCtxDestroy(context));
	puts("PASSED");
	return 0;
}
