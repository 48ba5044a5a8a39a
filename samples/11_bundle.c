/* SPDX-License-Identifier: MIT */
/*
 * A bundle: kernels for several kinds of devices in one file.  To write it needs a compiler; to
 * run it does not.
 *
 *	11_bundle write FILE     needs NVRTC, but no device
 *	11_bundle run FILE       needs a device, but no NVRTC
 *	11_bundle                both, with a file of its own
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char source[] =
	"template <class T> __global__ void saxpy(T *y, const T *x, T a, int n)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (i < n)\n"
	"		y[i] += a * x[i];\n"
	"}\n";

enum { ARCHS = 3, N = 5 };

/* Cubins for two architectures, and PTX for every other one that is not older. */
static const char *const archs[ARCHS] = {"sm_80", "sm_90", "compute_75"};

static int write_bundle(const char *path, kz_error *err)
{
	static const char *const instances[] = {"saxpy<float>", NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_image *images[ARCHS] = {NULL, NULL, NULL};
	kz_status st = KZ_OK;
	options.instances = instances;
	for (int i = 0; i < ARCHS && st == KZ_OK; i++) {
		options.arch = archs[i];
		st = kz_compile(&images[i], source, &options, err);
	}
	if (st == KZ_OK) {
		st = kz_bundle_save(path, images, ARCHS, NULL, err);
	}
	for (int i = 0; i < ARCHS; i++) {
		kz_image_release(images[i]);
	}
	return st != KZ_OK;
}

static int run_bundle(const char *path, kz_error *err)
{
	float x[N] = {1, 2, 3, 4, 5}, y[N] = {10, 10, 10, 10, 10};
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *saxpy = NULL;
	int failed = kz_device_open(&dev, NULL, err)
		|| kz_module_load_file(&mod, dev, path, err)
		|| kz_module_kernel(&saxpy, mod, "saxpy<float>", err)
		|| kz_launch(saxpy, kz_dim(1, 1, 1), kz_dim(32, 1, 1), NULL, err,
			KZ_ARGS(KZ_INOUT(y, sizeof(y)), KZ_IN(x, sizeof(x)), 2.0f, N));
	if (!failed) {
		printf("%s: %g %g %g %g %g\n", kz_kernel_signature(saxpy),
			y[0], y[1], y[2], y[3], y[4]);
	}
	kz_module_release(mod);
	kz_device_close(dev);
	return failed;
}

int main(int argc, char **argv)
{
	kz_error err = KZ_ERROR_INIT;
	char own[64];
	int failed;
	snprintf(own, sizeof(own), "/tmp/kudzu-%lld-%p.kzb", (long long)time(NULL), (void *)own);
	if (argc == 3 && strcmp(argv[1], "write") == 0) {
		failed = write_bundle(argv[2], &err);
	} else if (argc == 3 && strcmp(argv[1], "run") == 0) {
		failed = run_bundle(argv[2], &err);
	} else {
		failed = write_bundle(own, &err) || run_bundle(own, &err);
		remove(own);
	}
	if (failed) {
		kz_error_print(&err, stderr);
		kz_error_clear(&err);
	}
	return failed;
}
