/* SPDX-License-Identifier: MIT */
/*
 * The most common mistakes, on the CPU device, so that the output is the same on every machine.
 * The headings of docs/troubleshooting.md are lines of this output; `make check` compares them.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

static const char source[] =
	"extern __shared__ float cache[];\n"
	"__global__ void scale(float *a, float by, int n)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (i < n) {\n"
	"		a[i] *= by;\n"
	"	}\n"
	"}\n"
	"__global__ void cached(float *a)\n"
	"{\n"
	"	cache[threadIdx.x] = a[threadIdx.x];\n"
	"}\n"
	"template <class T> __global__ void fill(T *a)\n"
	"{\n"
	"	a[0] = 1;\n"
	"}\n"
	"__global__ void wild(float *a)\n"
	"{\n"
	"	a[1l << 40] = 1;\n"
	"}\n";

/* PTX that needs a cluster of blocks, which the CPU device does not have. */
static const char cluster[] =
	".version 8.0\n"
	".target sm_90\n"
	".address_size 64\n"
	".visible .entry far()\n"
	"{\n"
	"	barrier.cluster.arrive;\n"
	"	ret;\n"
	"}\n";

static int unnoticed;

/* Print a failure; there must be one. */
static void show(kz_status status, kz_error *err)
{
	unnoticed += status == KZ_OK;
	kz_error_print(err, stdout);
	kz_error_clear(err);
}

static void compile_wrong(kz_device *dev, kz_error *err)
{
	static const char *const texts[] = {
		"#include \"mine.h\"\n",
		"__global__ void f(float *a) { printf(\"%f\", a[n]); }\n",
		"int main() { f<<<1, 1>>>(); }\n__global__ void f() {}\n",
		"__global__ void f(int *a) { auto set = [=](auto x) { *a = x; }; set(1); }\n",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		kz_module *mod = NULL;
		show(kz_module_compile(&mod, dev, texts[i], NULL, err), err);
		kz_module_release(mod);
	}
	kz_module *mod = NULL;
	show(kz_module_load(&mod, dev, cluster, sizeof(cluster) - 1, err), err);
	kz_module_release(mod);
}

static void launch_wrong(kz_module *mod, kz_array *a, kz_error *err)
{
	kz_kernel *scale = NULL, *cached = NULL, *other = NULL;
	kz_array *rows = NULL, *turned = NULL;
	kz_dim3 one = kz_dim(1, 1, 1);
	float host[16] = {0};
	show(kz_module_kernel(&other, mod, "scales", err), err);
	show(kz_module_kernel(&other, mod, "fill<float>", err), err);
	if (kz_module_kernel(&scale, mod, "scale", err) || kz_module_kernel(&cached, mod, "cached", err)) {
		unnoticed++;
		return;
	}
	show(kz_launch(scale, one, one, NULL, err, KZ_ARGS(a, 2.0f)), err);
	show(kz_launch(scale, one, one, NULL, err, KZ_ARGS(a, 0.1, 16)), err);
	show(kz_launch(scale, one, one, NULL, err, KZ_ARGS(host, 2.0f, 16)), err);
	show(kz_launch(scale, one, one, NULL, err, KZ_ARGS(kz_array_address(a), 2.0f, 16)), err);
	if (kz_array_reshape(&rows, a, KZ_SHAPE(4, 4), err) || kz_array_transpose(&turned, rows, KZ_AXES(), err)) {
		unnoticed++;
	}
	show(kz_launch(scale, one, one, NULL, err, KZ_ARGS(turned, 2.0f, 16)), err);
	kz_array_release(turned);
	kz_array_release(rows);
	show(kz_launch(scale, one, one, NULL, err, KZ_ARGS(a, 2.0f, 5000000000)), err);
	show(kz_launch(scale, one, kz_dim(2048, 1, 1), NULL, err, KZ_ARGS(a, 2.0f, 16)), err);
	show(kz_launch(scale, kz_dim(0, 1, 1), one, NULL, err, KZ_ARGS(a, 2.0f, 16)), err);
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.shared_size = 1 << 20;
	show(kz_launch(cached, one, one, &options, err, KZ_ARGS(a)), err);
}

static void use_arrays_wrong(kz_device *dev, kz_array *a, kz_error *err)
{
	kz_array *row = NULL, *out = NULL;
	float host[16] = {0};
	show(kz_array_get(a, host, 16, err), err);
	show(kz_array_zeros(&out, dev, KZ_F32, KZ_SHAPE((int64_t)1 << 50), err), err);
	if (kz_array_zeros(&row, dev, KZ_F32, KZ_SHAPE(5), err)) {
		unnoticed++;
	}
	show(kz_add(&out, a, row, err), err);
	show(kz_sum(&out, a, KZ_AXES(2), err), err);
	show(kz_eval(&out, "2*a + b", NULL, err, KZ_VARS(a)), err);
	show(kz_eval(&out, "2*a +", NULL, err, KZ_VARS(a)), err);
	kz_array_release(row);
}

/* The last, since it loses the device. */
static void write_anywhere(kz_device *dev, kz_module *mod, kz_array *a, kz_error *err)
{
	kz_kernel *wild = NULL;
	kz_dim3 one = kz_dim(1, 1, 1);
	if (kz_module_kernel(&wild, mod, "wild", err)
	    || kz_launch(wild, one, one, NULL, err, KZ_ARGS(a))) {
		unnoticed++;
	}
	show(kz_device_synchronize(dev, err), err);
	show(kz_launch(wild, one, one, NULL, err, KZ_ARGS(a)), err);
}

int main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_array *a = NULL;
	show(kz_device_open(&dev, "gpu", &err), &err);
	show(kz_device_open(&dev, "cuda:99", &err), &err);
	if (kz_device_open(&dev, "cpu", &err)
	    || kz_array_zeros(&a, dev, KZ_F32, KZ_SHAPE(4, 4), &err)
	    || kz_module_compile(&mod, dev, source, NULL, &err)) {
		kz_error_print(&err, stderr);
		unnoticed++;
	} else {
		compile_wrong(dev, &err);
		launch_wrong(mod, a, &err);
		use_arrays_wrong(dev, a, &err);
		write_anywhere(dev, mod, a, &err);
	}
	kz_error_clear(&err);
	kz_array_release(a);
	kz_module_release(mod);
	kz_device_close(dev);
	return unnoticed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
