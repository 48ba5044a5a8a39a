/* SPDX-License-Identifier: MIT */
/*
 * Compile without a device, for example on a build server.  For each architecture the source
 * becomes an image, PTX or a cubin.  The program inspects it and, if the argument is a folder,
 * writes it to a file.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

static const char source[] =
	"__constant__ float weights[4];\n"
	"__global__ void blend(float *out, const float *a, const float *b, int n)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (i < n) {\n"
	"		out[i] = weights[0] * a[i] + weights[1] * b[i];\n"
	"	}\n"
	"}\n"
	"__global__ void clear(float *out) { out[threadIdx.x] = 0; }\n";

static void show(const kz_image *image)
{
	char text[256];
	kz_variable_info variable = KZ_VARIABLE_INFO_INIT;
	printf("%s, %s:\n", kz_image_arch(image),
		kz_image_get_kind(image) == KZ_IMAGE_PTX ? "PTX" : "machine code");
	for (int64_t i = 0; i < kz_image_kernel_count(image); i++) {
		kz_image_kernel_signature(image, i, text, sizeof(text));
		printf("  %s\n", text);
	}
	for (int64_t i = 0; i < kz_image_variable_count(image); i++) {
		CHECK(kz_image_variable(image, i, &variable, &err));
		printf("  %s: %s, %lld bytes\n", variable.name,
			variable.type ? variable.type : "?", (long long)variable.byte_size);
	}
}

static void compile(const char *arch, const char *folder)
{
	kz_image *image = NULL;
	CHECK(kz_compile(&image, source, KZ_WITH(kz_compile_options, .arch = arch), &err));
	show(image);
	if (folder) {
		char path[512];
		snprintf(path, sizeof(path), "%s/blend.%s", folder, arch);
		CHECK(kz_image_save(image, path, &err));
	}
	kz_image_release(image);
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : NULL;
	compile("compute_75", folder);
	compile("sm_80", folder);
	return 0;
}
