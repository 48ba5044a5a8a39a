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
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

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

static void write_bundle(const char *path)
{
	static const char *const instances[] = {"saxpy<float>", NULL};
	kz_image *images[ARCHS] = {NULL, NULL, NULL};
	for (int i = 0; i < ARCHS; i++) {
		CHECK(kz_compile(&images[i], source, KZ_WITH(kz_compile_options,
			.arch = archs[i], .instances = instances), &err));
	}
	CHECK(kz_bundle_save(path, images, ARCHS, NULL, &err));
	kz_release_all(images[0], images[1], images[2]);
}

static void run_bundle(const char *path)
{
	float x[N] = {1, 2, 3, 4, 5}, y[N] = {10, 10, 10, 10, 10};
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *saxpy = NULL;
	CHECK(kz_device_open(&dev, NULL, &err));
	CHECK(kz_module_load_file(&mod, dev, path, &err));
	CHECK(kz_module_kernel(&saxpy, mod, "saxpy<float>", &err));
	CHECK(kz_launch(saxpy, KZ_DIM(1), KZ_DIM(32), NULL, &err,
		KZ_ARGS(KZ_INOUT(y, sizeof(y)), KZ_IN(x, sizeof(x)), 2.0f, N)));
	printf("%s: %g %g %g %g %g\n", kz_kernel_signature(saxpy), y[0], y[1], y[2], y[3], y[4]);
	kz_release_all(mod, dev);
}

static char own[64];

static void remove_own(void)
{
	remove(own);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "write") == 0) {
		write_bundle(argv[2]);
	} else if (argc == 3 && strcmp(argv[1], "run") == 0) {
		run_bundle(argv[2]);
	} else {
		snprintf(own, sizeof(own), "/tmp/kudzu-%lld-%p.kzb", (long long)time(NULL),
			(void *)own);
		atexit(remove_own); /* however the program ends */
		write_bundle(own);
		run_bundle(own);
	}
	return 0;
}
