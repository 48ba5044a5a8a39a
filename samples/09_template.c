/* SPDX-License-Identifier: MIT */
/*
 * Kernels from a C++ template.  The program lists the instances that it needs by name, and finds
 * them by the same names.  White space in a name does not matter.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

static const char source[] =
	"template <class T, int FACTOR>\n"
	"__global__ void scale(T *x, int n)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (i < n) {\n"
	"		x[i] *= FACTOR;\n"
	"	}\n"
	"}\n";

/* Run one instance over 0, 1, 2, ... */
static void run(kz_device *dev, kz_module *mod, const char *name, kz_dtype dtype)
{
	kz_kernel *kernel = NULL;
	kz_array *x = NULL;
	CHECK(kz_module_kernel(&kernel, mod, name, &err));
	CHECK(kz_arange(&x, dev, dtype, 0, 6, 1, &err));
	CHECK(kz_launch_1d(kernel, kz_array_count(x), NULL, &err, KZ_ARGS(x, kz_array_count(x))));
	printf("%s: ", kz_kernel_signature(kernel));
	CHECK(kz_array_print(x, stdout, &err));
	kz_array_release(x);
}

int main(void)
{
	const char *const instances[] = {"scale<float, 4>", "scale<int, -1>", NULL};
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	CHECK(kz_device_open(&dev, NULL, &err));
	CHECK(kz_module_compile(&mod, dev, source,
		KZ_WITH(kz_compile_options, .instances = instances), &err));
	run(dev, mod, "scale<float,4>", KZ_F32);
	run(dev, mod, "scale<int, -1>", KZ_I32);
	kz_release_all(mod, dev);
	return 0;
}
