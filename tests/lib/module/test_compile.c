/* SPDX-License-Identifier: MIT */
/* kz_compile: images without a device, and what becomes of them on every device found. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/module/image_cache.h"
#include "support/store_folder.h"
#include "support/support.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char doublify[] =
	"template<class T> __global__ void doublify(T *a) { a[threadIdx.x] *= 2; }\n"
	"__global__ void one(int *a) { int unused; *a = 1; }\n";

static kz_error err;

static void setup(void)
{
	err = (kz_error)KZ_ERROR_INIT;
	unsetenv("KUDZU_CHECK"); /* which asks for line information */
}

static void teardown(void)
{
	kz_error_clear(&err);
}

static kz_image *compile_doublify(void)
{
	kz_image *image = NULL;
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.instances = (const char *const[]){"doublify<float>", NULL};
	ok(kz_compile(&image, doublify, &options, &err));
	return image;
}

START_TEST(an_image_takes_no_device_and_no_driver)
{
	setenv("KUDZU_CUDA_DRIVER", "/nowhere", 1);
	setenv("KUDZU_CPU_DRIVER", "/nowhere", 1);
	kz_image *image = compile_doublify();
	int64_t size = 0;
	const char *data = kz_image_data(image, &size);
	ck_assert_int_eq(kz_image_get_kind(image), KZ_IMAGE_PTX);
	ck_assert_int_eq(size, (int64_t)strlen(data));
	ck_assert_int_eq(kz_image_size(image), size);
	ck_assert_ptr_nonnull(strstr(data, ".version"));
	ck_assert_int_eq(strncmp(kz_image_arch(image), "compute_", 8), 0);
	ck_assert_ptr_nonnull(strstr(data, kz_image_arch(image) + strlen("compute_")));
	ck_assert_ptr_nonnull(strstr(kz_image_log(image), "\"unused\" was declared"));
	ck_assert_int_eq(kz_image_kernel_count(image), 2);
	ck_assert_ptr_null(kz_image_kernel_name(image, 2));
	ck_assert_ptr_null(kz_image_kernel_name(image, -1));
	kz_image_release(image);
}
END_TEST

START_TEST(without_the_compiler_the_error_says_what_to_do)
{
	kz_image *image = NULL;
	setenv("KUDZU_NVRTC", "/nowhere", 1);
	fails(kz_compile(&image, "// new", NULL, &err), KZ_NO_COMPILER, "KUDZU_NVRTC='/nowhere'");
	ck_assert_ptr_null(image);
}
END_TEST

START_TEST(the_architecture_says_what_the_image_is)
{
	static const struct {
		const char *arch;
		kz_image_kind kind;
		const char *begins;
	} kinds[] = {
		{"compute_90", KZ_IMAGE_PTX, "//"},
		{"sm_90", KZ_IMAGE_CUBIN, "\177ELF"},
		{"lto_90", KZ_IMAGE_LTOIR, ""},
	};
	for (size_t i = 0; i < countof(kinds); i++) {
		kz_image *image = NULL;
		kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
		options.arch = kinds[i].arch;
		ok(kz_compile(&image, "__global__ void k() {}", &options, &err));
		ck_assert_int_eq(kz_image_get_kind(image), kinds[i].kind);
		ck_assert_str_eq(kz_image_arch(image), kinds[i].arch);
		ck_assert_int_eq(memcmp(kz_image_data(image, NULL), kinds[i].begins,
			strlen(kinds[i].begins)), 0);
		ck_assert_str_eq(kz_image_kernel_name(image, 0), "k");
		kz_image_release(image);
	}
}
END_TEST

static kz_image *compile_as(const char *source, const kz_compile_options *options)
{
	kz_image *image = NULL;
	ok(kz_compile(&image, source, options, &err));
	return image;
}

/* Whether the PTX has a text. */
static bool ptx_has(const char *source, const kz_compile_options *options, const char *text)
{
	kz_image *image = compile_as(source, options);
	bool has = strstr(kz_image_data(image, NULL), text) != NULL;
	kz_image_release(image);
	return has;
}

START_TEST(options_change_what_is_compiled)
{
	const char *calls = "extern __device__ int f(int); __device__ int g(int i) { return i; }\n"
		"__global__ void k(float *a) { *a = __cplusplus / 100 * f(1) + *a / 3; }";
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	ck_assert(!ptx_has(calls, &options, "_Z1gi"));
	ck_assert(ptx_has(calls, &options, "2017"));
	ck_assert(ptx_has(calls, &options, "div.rn.f32"));
	ck_assert(!ptx_has(calls, &options, ".maxnreg"));
	ck_assert(!ptx_has(calls, &options, ".file"));
	options.relocatable = 1;
	ck_assert(ptx_has(calls, &options, "_Z1gi"));
	ck_assert(!ptx_has(calls, &options, "kudzu_probe"));
	options.std = "c++20";
	ck_assert(ptx_has(calls, &options, "2020"));
	options.fast_math = 1;
	ck_assert(!ptx_has(calls, &options, "div.rn.f32"));
	options.line_info = 1;
	ck_assert(ptx_has(calls, &options, ".file"));
	options.debug = 1;
	ck_assert(ptx_has(calls, &options, ".debug_info"));
}
END_TEST

/* Loops that the optimiser takes long to unroll. */
/* PyCUDA's DEFAULT_NVCC_FLAGS: for compiles that pass no options as they are. */
START_TEST(the_environment_has_options_for_those_who_pass_none)
{
	static const char *const own[] = {"--fmad=true", NULL}, *const none[] = {NULL};
	const char *source = "__global__ void k(float *a) { *a = *a / 3; }";
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_image *image = NULL;
	char why[200];
	setenv("KUDZU_NVRTC_OPTIONS", _i ? "--nonsense" : "  -lineinfo\t--use_fast_math ", 1);
	if (_i) {
		ck_assert_int_eq(kz_compile(&image, source, NULL, &err), KZ_INVALID);
		ck_assert_ptr_nonnull(strstr(err.hint, "correct KUDZU_NVRTC_OPTIONS"));
		fails(kz_compile(&image, source, NULL, &err), KZ_INVALID, "--nonsense");
		options.nvrtc_options = (const char *const[]){"--nonsense", NULL};
		ck_assert_int_eq(kz_compile(&image, source, &options, &err), KZ_INVALID);
		ck_assert_ptr_null(strstr(err.hint, "KUDZU_NVRTC_OPTIONS"));
		return;
	}
	ck_assert(ptx_has(source, NULL, ".file") && !ptx_has(source, NULL, "div.rn"));
	ok(kz_cache_why(why, sizeof(why), NULL, source, NULL, &err));
	ck_assert_msg(strcmp(why, "hit\n") == 0 || strncmp(why, "off", 3) == 0, "%s", why);
	options.nvrtc_options = none;
	ck_assert(ptx_has(source, &options, ".file"));
	options.nvrtc_options = own;
	ck_assert(!ptx_has(source, &options, ".file") && ptx_has(source, &options, "div.rn"));
}
END_TEST

START_TEST(include_folders_of_the_environment_are_named_where_a_header_is_missing)
{
	kz_image *image = NULL;
	setenv("KUDZU_CUDA_INCLUDE", "/nowhere", 1);
	ck_assert_int_eq(kz_compile(&image, "#include <cuda_nonsense.h>\n", NULL, &err),
		KZ_COMPILE);
	ck_assert_ptr_nonnull(strstr(err.log, "; KUDZU_CUDA_INCLUDE is '/nowhere'\n"));
	kz_error_clear(&err);
}
END_TEST

START_TEST(options_of_the_environment_have_an_end)
{
	char text[1100];
	kz_image *image = NULL;
	memset(text, ' ', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	setenv("KUDZU_NVRTC_OPTIONS", text, 1);
	fails(kz_compile(&image, "", NULL, &err), KZ_INVALID,
		"KUDZU_NVRTC_OPTIONS: expected at most");
}
END_TEST

START_TEST(a_fast_compile_does_less)
{
	const char *source = "__global__ void k(float *a) {\n"
		"#pragma unroll\n"
		"for (int i = 0; i < 64; i++) a[i] = a[i] * 3 + a[63 - i]; }";
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_image *best = compile_as(source, &options);
	options.fast_compile = KZ_FAST_COMPILE_MAX;
	kz_image *fast = compile_as(source, &options);
	ck_assert_str_ne(kz_image_data(best, NULL), kz_image_data(fast, NULL));
	for (int level = 0; level < KZ_FAST_COMPILE_MAX; level++) {
		options.fast_compile = level;
		kz_image_release(compile_as(source, &options));
	}
	kz_image_release(best);
	kz_image_release(fast);
}
END_TEST

START_TEST(a_limit_of_registers_is_kept)
{
	const char *source = "__global__ void k(float *a) { float x[64];\n"
		"for (int i = 0; i < 64; i++) x[i] = a[i];\n"
		"__syncthreads();\n"
		"for (int i = 0; i < 64; i++) a[i] = x[63 - i]; }";
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.arch = "sm_90";
	kz_image *best = compile_as(source, &options);
	options.max_registers = 32;
	kz_image *few = compile_as(source, &options);
	ck_assert(kz_image_size(best) != kz_image_size(few)
		|| memcmp(kz_image_data(best, NULL), kz_image_data(few, NULL),
			(size_t)kz_image_size(best)) != 0);
	kz_image_release(best);
	kz_image_release(few);
}
END_TEST

START_TEST(code_for_the_linker_names_its_kernels)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.arch = "lto_90";
	options.instances = (const char *const[]){"t<int>", NULL};
	kz_image *image = compile_as("template<class T> __global__ void t(T *a) {}\n"
		"extern \"C\" __global__ void k(float *a) {}\nstatic __global__ void s() {}",
		&options);
	ck_assert_int_eq(kz_image_kernel_count(image), 3);
	ck_assert_str_eq(kz_image_kernel_name(image, 0), "t<int>");
	ck_assert_str_eq(kz_image_kernel_name(image, 1), "k");
	ck_assert_str_eq(kz_image_kernel_name(image, 2), "s");
	ck_assert_str_eq(kz_image_arch(image), "lto_90");
	kz_image_release(image);
}
END_TEST

/* Two elements become twice themselves. */
static void check_doublify(kz_module *mod)
{
	float values[2] = {1.5f, -4};
	kz_kernel *kernel = NULL;
	ok(kz_module_kernel(&kernel, mod, "doublify<float>", &err));
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(2, 1, 1), NULL, &err,
		KZ_ARGS(KZ_INOUT(values, sizeof(values)))));
	ck_assert(values[0] == 3 && values[1] == -8);
}

START_TEST(an_image_runs_and_is_shared)
{
	kz_device *dev = support_open(_i);
	kz_image *image = compile_doublify();
	kz_module *mods[2] = {NULL, NULL};
	for (int i = 0; i < 2; i++) {
		ok(kz_module_load_image(&mods[i], dev, image, &err));
		ck_assert_ptr_eq(kz_module_image(mods[i], NULL), kz_image_data(image, NULL));
	}
	kz_image_release(image);
	for (int i = 0; i < 2; i++) {
		check_doublify(mods[i]);
		ck_assert_ptr_nonnull(strstr(kz_module_log(mods[i]), "unused"));
		kz_module_release(mods[i]);
	}
	support_close(dev);
}
END_TEST

START_TEST(a_template_that_was_not_asked_for_is_told_of_an_image_too)
{
	kz_device *dev = support_open(_i);
	kz_image *image = compile_doublify();
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	ok(kz_module_load_image(&mod, dev, image, &err));
	ck_assert_int_eq(kz_module_kernel(&kernel, mod, "doublify<int>", &err), KZ_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(err.hint, "instances"));
	kz_module_release(mod);
	kz_image_release(image);
	support_close(dev);
}
END_TEST

START_TEST(a_saved_image_loads_again)
{
	char path[] = "/tmp/kudzu-image-XXXXXX";
	char data[20000];
	kz_image *image = compile_doublify();
	kz_image *again = NULL;
	int file = mkstemp(path);
	ck_assert_int_ge(file, 0);
	close(file);
	ok(kz_image_save(image, path, &err));
	FILE *stream = fopen(path, "r");
	size_t size = fread(data, 1, sizeof(data), stream);
	fclose(stream);
	unlink(path);
	ck_assert_int_eq((int64_t)size, kz_image_size(image));
	ok(kz_image_create(&again, data, (int64_t)size, &err));
	ck_assert_int_eq(kz_image_kernel_count(again), 2);
	ck_assert_str_eq(kz_image_log(again), "");
	fails(kz_image_save(image, "/nowhere/x", &err), KZ_NOT_FOUND, "/nowhere/x");
	kz_image_release(again);
	kz_image_release(image);
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
	kz_image *image = NULL;
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	fails(kz_compile(NULL, "", NULL, &err), KZ_INVALID, "kz_compile: out is NULL");
	fails(kz_compile(&image, NULL, NULL, &err), KZ_INVALID, "expected source text");
	fails(kz_image_create(NULL, "x", 1, &err), KZ_INVALID, "kz_image_create: out is NULL");
	fails(kz_image_create(&image, NULL, 1, &err), KZ_INVALID, "expected an image, got NULL");
	fails(kz_image_create(&image, "x", -1, &err), KZ_INVALID, "got a size of -1");
	fails(kz_image_create(&image, "x", 1, &err), KZ_BAD_IMAGE, "found neither");
	fails(kz_image_save(NULL, "x", &err), KZ_INVALID, "expected an image");
	options.size = 3;
	fails(kz_compile(&image, "", &options, &err), KZ_INVALID, "has size 3");
	options = (kz_compile_options)KZ_COMPILE_OPTIONS_INIT;
	options.std = "c99";
	fails(kz_compile(&image, "", &options, &err), KZ_INVALID, "invalid value for --std");
	options = (kz_compile_options)KZ_COMPILE_OPTIONS_INIT;
	options.fast_compile = 4;
	fails(kz_compile(&image, "", &options, &err), KZ_INVALID, "from 0 to 3, got 4");
	options.fast_compile = 0;
	options.max_registers = -1;
	fails(kz_compile(&image, "", &options, &err), KZ_INVALID, "max_registers of 0 or more");
	options.max_registers = 0;
	options.arch = "sm_13";
	fails(kz_compile(&image, "", &options, &err), KZ_VERSION, "does not know 'sm_13'");
	ck_assert_ptr_null(image);
}
END_TEST

START_TEST(nothing_in_place_of_an_image_is_no_crash)
{
	int64_t size = 7;
	kz_image_release(NULL);
	ck_assert_ptr_null(kz_image_retain(NULL));
	ck_assert_ptr_null(kz_image_data(NULL, &size));
	ck_assert_int_eq(size, 0);
	ck_assert_int_eq(kz_image_get_kind(NULL), KZ_IMAGE_NONE);
	ck_assert_str_eq(kz_image_arch(NULL), "");
	ck_assert_str_eq(kz_image_log(NULL), "");
	ck_assert_int_eq(kz_image_kernel_count(NULL), 0);
}
END_TEST

START_TEST(want_of_memory_leaves_nothing)
{
	kz_device *dev = support_open(_i);
	kz_image_release(compile_doublify()); /* loads NVRTC */
	long n;
	for (n = 0; n < 5000; n++) {
		kz_image *image = NULL;
		kz_module *mod = NULL;
		image_cache_clear();
		mem_fail_after(n);
		kz_status st = kz_compile(&image, doublify, NULL, &err);
		if (st == KZ_OK) {
			st = kz_module_load_image(&mod, dev, image, &err);
		}
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		kz_image_release(image);
		kz_module_release(mod);
		kz_error_clear(&err);
		ck_assert(st == KZ_OK || (failed && !mod));
		if (!failed) {
			break;
		}
	}
	ck_assert_int_gt(n, 10);
	ck_assert_int_lt(n, 5000);
	support_close(dev);
}
END_TEST

SUITE(compile)
{
	Suite *suite = suite_create("compile");
	TCase *tc = suite_add_case(suite, "images");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_tests(tc, 1, an_image_takes_no_device_and_no_driver,
		without_the_compiler_the_error_says_what_to_do,
		the_architecture_says_what_the_image_is, options_change_what_is_compiled);
	tcase_add_loop_test(tc, the_environment_has_options_for_those_who_pass_none, 0, 2);
	tcase_add_tests(tc, 1, options_of_the_environment_have_an_end,
		include_folders_of_the_environment_are_named_where_a_header_is_missing,
		a_fast_compile_does_less, a_limit_of_registers_is_kept,
		code_for_the_linker_names_its_kernels);
	tcase_add_tests(tc, support_device_count(), an_image_runs_and_is_shared,
		a_template_that_was_not_asked_for_is_told_of_an_image_too);
	tcase_add_tests(tc, 1, a_saved_image_loads_again, bad_arguments_are_refused,
		nothing_in_place_of_an_image_is_no_crash);
	tcase_add_loop_test(tc, want_of_memory_leaves_nothing, 0, support_device_count());
	return suite;
}
