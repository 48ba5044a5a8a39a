/* SPDX-License-Identifier: MIT */
/*
 * Linking: several sources and libraries become one module that runs, whatever each was compiled
 * to; and what is missing, or there twice, is named.
 */
#include "../src/base/common.h"

#include "../src/base/alloc.h"
#include "../src/base/str.h"
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static kz_error err;

/* Three sources: a kernel that needs the other two. */
static const char main_source[] =
	"extern __device__ float twice(float x);\n"
	"namespace ns { extern __device__ float half_of(float x, const int *n); }\n"
	"extern __device__ int calls;\n"
	"extern __constant__ float offset[2];\n"
	"extern \"C\" __global__ void apply(float *out, const float *in, int n)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (i < n) {\n"
	"		out[i] = twice(in[i]) + ns::half_of(in[i], &n) + offset[i % 2];\n"
	"		atomicAdd(&calls, 1);\n"
	"	}\n"
	"}\n";
static const char twice_source[] =
	"__device__ int calls = 7;\n"
	"__device__ float twice(float x) { return 2 * x; }\n";
static const char half_source[] =
	"__constant__ float offset[2] = {100, 200};\n"
	"namespace ns { __device__ float half_of(float x, const int *n) { return x / 2 + *n; } }\n";

/* How a source becomes an input: the compiler makes PTX, a cubin or LTO-IR of it. */
static kz_image *compile(const char *source, const char *arch)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_image *image = NULL;
	options.arch = arch;
	options.relocatable = 1;
	ok(kz_compile(&image, source, &options, &err));
	return image;
}

/* What it computes is checked on the host, and that the variables are shared. */
static void check_module(kz_device *dev, kz_module *mod)
{
	enum { COUNT = 77 };
	float in[COUNT];
	float out[COUNT];
	kz_array *a = NULL;
	kz_array *b = NULL;
	kz_kernel *apply = NULL;
	int calls = 0;
	int bad = 0;
	for (int i = 0; i < COUNT; i++) {
		in[i] = (float)i;
	}
	ok(kz_module_kernel(&apply, mod, "apply", &err));
	ok(kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(COUNT), in, sizeof(in), &err));
	ok(kz_array_create(&b, dev, KZ_F32, KZ_SHAPE(COUNT), &err));
	ok(kz_launch(apply, kz_dim(3, 1, 1), kz_dim(32, 1, 1), NULL, &err,
		KZ_ARGS(b, a, (int)COUNT)));
	ok(kz_array_get(b, out, sizeof(out), &err));
	for (int i = 0; i < COUNT; i++) {
		bad += (double)out[i] != 2.0 * i + i / 2.0 + COUNT + (i % 2 ? 200 : 100);
	}
	ck_assert_int_eq(bad, 0);
	ok(kz_module_get_global(mod, "calls", &calls, sizeof(calls), &err));
	ck_assert_int_eq(calls, 7 + COUNT);
	kz_array_release(a);
	kz_array_release(b);
}

/* How each of the three is compiled. */
static const char *const ways[][3] = {
	{"compute_75", "compute_75", "compute_80"},
	{"lto_75", "lto_75", "lto_75"},
	{"lto_75", "compute_75", "compute_75"},
	{"lto_75", "lto_75", "compute_75"},
};

START_TEST(several_sources_become_one_module)
{
	for (int d = 0; d < support_device_count(); d++) {
		kz_device *dev = support_open(d);
		kz_link_input inputs[] = {{.name = "main"}, {.name = "twice"}, {.name = "half"}};
		kz_image *linked = NULL;
		kz_module *mod = NULL;
		inputs[0].image = compile(main_source, ways[_i][0]);
		inputs[1].image = compile(twice_source, ways[_i][1]);
		inputs[2].image = compile(half_source, ways[_i][2]);
		ok(kz_link(&linked, dev, inputs, 3, NULL, &err));
		ck_assert_str_ne(kz_image_linker(linked), "");
		for (int i = 0; i < 3; i++) {
			kz_image_release((kz_image *)inputs[i].image);
		}
		ok(kz_module_load_image(&mod, dev, linked, &err));
		check_module(dev, mod);
		kz_image_release(linked);
		kz_module_release(mod);
		support_close(dev);
	}
}
END_TEST

Suite *image_link_suite(void);
Suite *image_link_suite(void)
{
	Suite *suite = suite_create("image_link");
	TCase *tc = tcase_create("link");
	tcase_add_loop_test(tc, several_sources_become_one_module, 0, countof(ways));
	suite_add_tcase(suite, tc);
	return suite;
}
