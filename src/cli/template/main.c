/*
 * Launches the kernel of kernel.cu, on a GPU if there is one, else on the CPU.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

/* The Makefile makes kernel.inc from kernel.cu. */
static const char source[] =
#include "kernel.inc"
	;

enum { COUNT = 8 };

int main(void)
{
	const float x[COUNT] = {0, 1, 2, 3, 4, 5, 6, 7};
	const float y[COUNT] = {1, 1, 1, 1, 1, 1, 1, 1};
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *saxpy = NULL;
	kz_array *dx = NULL, *dy = NULL;
	CHECK(kz_device_open(&dev, NULL, &err));
	CHECK(kz_module_compile(&mod, dev, source,
		KZ_WITH(kz_compile_options, .name = "kernel.cu"), &err)); /* for messages */
	CHECK(kz_module_kernel(&saxpy, mod, "saxpy", &err));
	CHECK(kz_array_from(&dx, dev, KZ_FROM(x), &err));
	CHECK(kz_array_from(&dy, dev, KZ_FROM(y), &err));
	CHECK(kz_launch_1d(saxpy, COUNT, NULL, &err, KZ_ARGS(2.0f, dx, dy, (int)COUNT)));
	CHECK(kz_array_print(dy, stdout, &err));
	kz_release_all(dx, dy, mod, dev);
	return 0;
}
