/* SPDX-License-Identifier: MIT */
/*
 * Kernels from a C++ template.  The program lists the instances that it needs by name, and finds
 * them by the same names.  White space in a name does not matter.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>

static const char source[] =
	"template <class T, int FACTOR>\n"
	"__global__ void scale(T *x, int n)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (i < n) {\n"
	"		x[i] *= FACTOR;\n"
	"	}\n"
	"}\n";

static const char *const instances[] = {"scale<float, 4>", "scale<int, -1>", NULL};

/* Run one instance over 0, 1, 2, ... */
static kz_status run(kz_device *dev, kz_module *mod, const char *name, kz_dtype dtype,
	kz_error *err)
{
	kz_kernel *kernel = NULL;
	kz_array *x = NULL;
	kz_status st;
	if (!(st = kz_module_kernel(&kernel, mod, name, err))
	    && !(st = kz_arange(&x, dev, dtype, 0, 6, 1, err))
	    && !(st = kz_launch_1d(kernel, kz_array_count(x), NULL, err,
			KZ_ARGS(x, kz_array_count(x))))) {
		printf("%s: ", kz_kernel_signature(kernel));
		st = kz_array_print(x, stdout, err);
	}
	kz_array_release(x);
	return st;
}

int main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;

	options.instances = instances;
	int failed = kz_device_open(&dev, NULL, &err)
		|| kz_module_compile(&mod, dev, source, &options, &err)
		|| run(dev, mod, "scale<float,4>", KZ_F32, &err)
		|| run(dev, mod, "scale<int, -1>", KZ_I32, &err);
	if (failed) {
		kz_error_print(&err, stderr);
	}
	kz_error_clear(&err);
	kz_module_release(mod);
	kz_device_close(dev);
	return failed;
}
