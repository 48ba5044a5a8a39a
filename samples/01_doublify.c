/* SPDX-License-Identifier: MIT */
/* A kernel from a string: compile it, launch it, read the result back.  Prints "0 2 ... 30". */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

static const char source[] =
	"__global__ void doublify(float *a)\n"
	"{\n"
	"	int i = threadIdx.x + threadIdx.y * 4;\n"
	"	a[i] *= 2;\n"
	"}\n";

int main(void)
{
	float host[4][4];
	for (int i = 0; i < 16; i++) {
		host[i / 4][i % 4] = i;
	}

	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *doublify = NULL;
	kz_array *a = NULL;
	CHECK(kz_device_open(&dev, NULL, &err));        /* the GPU, or else the CPU */
	CHECK(kz_module_compile(&mod, dev, source, NULL, &err));
	CHECK(kz_module_kernel(&doublify, mod, "doublify", &err));
	CHECK(kz_array_from(&a, dev, KZ_FROM(host), &err));
	CHECK(kz_launch(doublify, KZ_DIM(1), KZ_DIM(4, 4), NULL, &err, KZ_ARGS(a)));
	CHECK(kz_array_get(a, host, sizeof(host), &err));
	printf("%g %g ... %g\n", host[0][0], host[0][1], host[3][3]);
	kz_release_all(a, mod, dev);
	return 0;
}
