/*
 * Launches the kernel of kernel.cu, on a GPU if there is one, else on the CPU.
 */
#include <kudzu/kudzu.h>

#include <stdio.h>

/* The Makefile makes it of kernel.cu. */
static const char source[] =
#include "kernel.inc"
	;

enum { COUNT = 8 };

int main(void)
{
	const float x[COUNT] = {0, 1, 2, 3, 4, 5, 6, 7};
	const float y[COUNT] = {1, 1, 1, 1, 1, 1, 1, 1};

	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.name = "kernel.cu"; /* for the compiler's messages */

	/* The first failure is kept in err; what comes after it is not called. */
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *saxpy = NULL;
	kz_array *dx = NULL, *dy = NULL;
	if (kz_device_open(&dev, NULL, &err)
	    || kz_module_compile(&mod, dev, source, &options, &err)
	    || kz_module_kernel(&saxpy, mod, "saxpy", &err)
	    || kz_array_from(&dx, dev, KZ_FROM(x), &err)
	    || kz_array_from(&dy, dev, KZ_FROM(y), &err)
	    || kz_launch_1d(saxpy, COUNT, NULL, &err, KZ_ARGS(2.0f, dx, dy, (int)COUNT))
	    || kz_array_print(dy, stdout, &err)) {
		kz_error_print(&err, stderr);
	}

	int failed = kz_error_status(&err) != KZ_OK;
	kz_error_clear(&err);
	kz_release_all(dx, dy, mod, dev);
	return failed;
}
