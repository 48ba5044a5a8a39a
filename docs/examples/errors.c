/* SPDX-License-Identifier: MIT */
/*
 * Six mistakes, and the errors that Kudzu returns.  The README shows the output; `make check`
 * compares it.
 */
#include <kudzu/kudzu.h>

static const char broken[] =
	"__global__ void saxpy(float a, const float *x, float *y)\n"
	"{\n"
	"	int i = threadIdx.x;\n"
	"	y[i] += a * z[i];\n"
	"}\n";

static const char correct[] =
	"__global__ void saxpy(float a, const float *x, float *y)\n"
	"{\n"
	"	int i = threadIdx.x;\n"
	"	y[i] += a * x[i];\n"
	"}\n";

/* Show a call and its failure.  Returns 1 if there was none: a mistake that went unnoticed. */
static int show(const char *call, kz_status status, kz_error *err)
{
	printf("> %s\n", call);
	kz_error_print(err, stdout);
	kz_error_clear(err);
	return status == KZ_OK;
}

#define SHOW(call) show(#call, call, &err)

static int make_mistakes(kz_device *dev, kz_module *mod, kz_kernel *saxpy, kz_array *x,
	kz_array *y)
{
	kz_error err = KZ_ERROR_INIT;
	kz_module *none = NULL;
	kz_kernel *saxpi = NULL;
	kz_dim3 grid = kz_dim(1, 1, 1), block = kz_dim(4, 1, 1);
	float host[4] = {0};
	int unnoticed = SHOW(kz_module_compile(&none, dev, broken, NULL, &err));
	unnoticed += SHOW(kz_module_kernel(&saxpi, mod, "saxpi", &err));
	unnoticed += SHOW(kz_launch(saxpy, grid, block, NULL, &err, KZ_ARGS(2.0f, x)));
	unnoticed += SHOW(kz_launch(saxpy, grid, block, NULL, &err, KZ_ARGS(0.1, x, y)));
	unnoticed += SHOW(kz_launch(saxpy, grid, block, NULL, &err, KZ_ARGS(2.0f, host, y)));
	unnoticed += SHOW(kz_array_get(y, host, 100, &err));
	return unnoticed;
}

int main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *saxpy = NULL;
	kz_array *x = NULL, *y = NULL;
	int failed = kz_device_open(&dev, NULL, &err)
		|| kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(4), &err)
		|| kz_array_zeros(&y, dev, KZ_F32, KZ_SHAPE(4), &err)
		|| kz_module_compile(&mod, dev, correct, NULL, &err)
		|| kz_module_kernel(&saxpy, mod, "saxpy", &err)
		|| make_mistakes(dev, mod, saxpy, x, y);

	kz_error_print(&err, stderr);
	kz_error_clear(&err);
	kz_array_release(x);
	kz_array_release(y);
	kz_module_release(mod);
	kz_device_close(dev);
	return failed;
}
