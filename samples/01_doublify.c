/* SPDX-License-Identifier: MIT */
/* A kernel from a string: compile it, launch it, read the result back.  Prints "0 2 ... 30". */
#include <kudzu/kudzu.h>
#include <stdio.h>

static const char source[] =
	"extern \"C\" __global__ void doublify(float *a)\n"
	"{\n"
	"	int i = threadIdx.x + threadIdx.y * 4;\n"
	"	a[i] *= 2;\n"
	"}\n";

int main(void)
{
	float host[16];
	for (int i = 0; i < 16; i++) {
		host[i] = i;
	}

	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_array *a = NULL;
	kz_kernel *doublify = NULL;

	if (kz_device_open(&dev, NULL, &err)                    /* the GPU, or else the CPU */
	    || kz_module_compile(&mod, dev, source, NULL, &err)
	    || kz_module_kernel(&doublify, mod, "doublify", &err)
	    || kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(4, 4), host, sizeof(host), &err)
	    || kz_launch(doublify, kz_dim(1, 1, 1), kz_dim(4, 4, 1), NULL, &err, KZ_ARGS(a))
	    || kz_array_get(a, host, sizeof(host), &err)) {
		kz_error_print(&err, stderr);
	} else {
		printf("%g %g ... %g\n", host[0], host[1], host[15]);
	}

	int failed = kz_error_status(&err) != KZ_OK;
	kz_error_clear(&err);
	kz_array_release(a);
	kz_module_release(mod);
	kz_device_close(dev);
	return failed;
}
