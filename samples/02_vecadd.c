/* SPDX-License-Identifier: MIT */
/*
 * Two modules and three arrays: 2a + b.  The kernels are strings.  With the names of files, as in
 * `02_vecadd kernels/doublify.cu kernels/vecadd.cu`, it compiles these files instead.
 */
#include <kudzu/kudzu.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

static const char doublify_source[] =
	"__global__ void doublify(float *a)\n"
	"{\n"
	"	int i = threadIdx.x + threadIdx.y * 4;\n"
	"	a[i] *= 2;\n"
	"}\n";

static const char vecadd_source[] =
	"__global__ void VecAdd(const float *A, const float *B, float *C)\n"
	"{\n"
	"	int i = threadIdx.x;\n"
	"	C[i] = A[i] + B[i];\n"
	"}\n";

/* Compile the file at `path`, or `source` where that is NULL. */
static void compile(kz_module **out, kz_device *dev, const char *source, const char *path)
{
	if (path) {
		CHECK(kz_module_compile_file(out, dev, path, NULL, &err));
	} else {
		CHECK(kz_module_compile(out, dev, source, NULL, &err));
	}
}

/* Compare with 2a + b by hand; a float carries seven digits of it. */
static int is_right(const float *c)
{
	static const double expected[4] = {0.12875084, -0.77346912, 4.4659699, 1.5209719};
	for (int i = 0; i < 4; i++) {
		if (!(fabs(c[i] - expected[i]) < 5e-7)) {
			fprintf(stderr, "element %d: expected %.8g, got %.8g\n", i, expected[i],
				c[i]);
			return 0;
		}
	}
	return 1;
}

int main(int argc, char **argv)
{
	const char *files[2] = {argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL};
	const float a[4][4] = {{0.75400907f, -0.45637074f, 1.3098347f, 0.386344f}};
	const float b[4] = {-1.3792673f, 0.13927236f, 1.8463005f, 0.7482839f};
	float c[4];
	kz_device *dev = NULL;
	kz_module *mods[2] = {NULL, NULL};
	kz_kernel *doublify = NULL, *vecadd = NULL;
	kz_array *A = NULL, *B = NULL, *C = NULL;

	CHECK(kz_device_open(&dev, NULL, &err));
	compile(&mods[0], dev, doublify_source, files[0]);
	compile(&mods[1], dev, vecadd_source, files[1]);
	CHECK(kz_module_kernel(&doublify, mods[0], "doublify", &err));
	CHECK(kz_module_kernel(&vecadd, mods[1], "VecAdd", &err));

	/* doublify works on 4x4 threads, so A has 16 elements; VecAdd adds its first row. */
	CHECK(kz_array_from(&A, dev, KZ_FROM(a), &err));
	CHECK(kz_array_from(&B, dev, KZ_FROM(b), &err));
	CHECK(kz_array_like(&C, B, &err));
	CHECK(kz_launch(doublify, KZ_DIM(1), KZ_DIM(4, 4), NULL, &err, KZ_ARGS(A)));
	CHECK(kz_launch(vecadd, KZ_DIM(1), KZ_DIM(4), NULL, &err, KZ_ARGS(A, B, C)));
	CHECK(kz_array_get(C, c, sizeof(c), &err));
	printf("2a + b = {%g, %g, %g, %g}\n", c[0], c[1], c[2], c[3]);
	kz_release_all(A, B, C, mods[0], mods[1], dev);
	return !is_right(c);
}
