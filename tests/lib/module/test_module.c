/* SPDX-License-Identifier: MIT */
/* Modules on every device found: what compiles, what is found by which name, what errors say. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/module/image_cache.h"
#include "support/support.h"
#include "support/suite.h"

#include <kudzu/kudzu.h>

#include <check.h>
#include <string.h>
#include <unistd.h>

static const char two_kernels[] =
	"extern \"C\" __global__ void doublify(float *a) { a[threadIdx.x] *= 2; }\n"
	"__global__ void halve(float *a, int n) { if (threadIdx.x < n) a[threadIdx.x] /= 2; }\n";

static kz_device *dev;
static kz_module *mod;
static kz_kernel *kernel;
static kz_error err;

static void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	mod = NULL;
	kernel = NULL;
	dev = support_open(index);
}

static void teardown(void)
{
	kz_module_release(mod);
	kz_device_close(dev);
	kz_error_clear(&err);
}

/* The kernel writes one int; run it and return that. */
static int run_for_int(kz_kernel *k)
{
	int out = -1;
	ok(kz_launch(k, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(KZ_OUT(&out, sizeof(out)))));
	return out;
}

/* Compile, find, run. */
static int compile_and_run(const char *source, const kz_compile_options *options,
	const char *name)
{
	ok(kz_module_compile(&mod, dev, source, options, &err));
	ok(kz_module_kernel(&kernel, mod, name, &err));
	return run_for_int(kernel);
}

DEVICE_TEST(a_compile_error_says_where_and_shows_the_line)
{
	static const char source[] = "__global__ void k(int *p)\n{\n\tp[0] = nothing;\n}\n";
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.name = "my.cu";
	ck_assert_int_eq(kz_module_compile(&mod, dev, source, &options, &err), KZ_COMPILE);
	ck_assert_ptr_null(mod);
	ck_assert_str_eq(err.file, "my.cu");
	ck_assert_int_eq(err.line, 3);
	ck_assert_int_eq(err.column, 9);
	ck_assert_ptr_nonnull(strstr(err.message, "nothing"));
	ck_assert_ptr_nonnull(strstr(err.log, "my.cu:3:9: error: "));
	ck_assert_ptr_nonnull(strstr(err.log, "\tp[0] = nothing;\n"));
	ck_assert_ptr_nonnull(strstr(err.log, "^"));
}

/* Whether it is the assembler that refuses it, or the driver. */
DEVICE_TEST(an_error_in_inline_ptx_has_its_line_of_source)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.name = "inline.cu";
	options.line_info = 1;
	kz_status st = kz_module_compile(&mod, dev,
		"__global__ void k(int *p)\n{\n\t*p = 1;\n\tasm(\"nonsense;\");\n}\n", &options,
		&err);
	ck_assert(st == KZ_COMPILE || st == KZ_BAD_IMAGE || st == KZ_UNSUPPORTED);
	ck_assert_ptr_nonnull(err.file);
	ck_assert_msg(strstr(err.file, "inline.cu") != NULL, "%s", err.file);
	ck_assert_int_eq(err.line, 4);
	ck_assert_ptr_nonnull(strstr(err.log, "inline.cu:4:2: error: "));
	ck_assert_ptr_nonnull(strstr(err.log, "nonsense"));
}

DEVICE_TEST(a_function_that_is_nowhere_is_named)
{
	kz_status st = kz_module_compile(&mod, dev, "__device__ float f(float);\n"
		"__global__ void k(float *a) { *a = f(1); }\n", NULL, &err);
	ck_assert(st == KZ_COMPILE || st == KZ_BAD_IMAGE);
	ck_assert_ptr_nonnull(err.hint);
	ck_assert_ptr_nonnull(strstr(err.hint, "declared but not defined"));
	if (strcmp(support_device_name(_i), "cpu") == 0) {
		ck_assert_str_eq(err.message,
			"function 'f(float)' is called here and defined nowhere");
		ck_assert_ptr_nonnull(strstr(err.log, "'f(float)'"));
	}
}

/* As some editors write it. */
DEVICE_TEST(a_byte_order_mark_is_no_matter)
{
	ck_assert_int_eq(compile_and_run("\xef\xbb\xbf#define N 7\r\n"
		"__global__ void k(int *a) { *a = N; }\r\n", NULL, "k"), 7);
}

DEVICE_TEST(an_instance_is_found_by_the_compilers_name_too)
{
	static const char *const instances[] = {"ns::k<uint32_t, 2 * 2>", NULL};
	static const char *const names[] = {"ns::k<uint32_t, 2*2>", "ns::k<unsigned int, 4>",
		"::ns :: k< unsigned int,4 >"};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.instances = instances;
	ok(kz_module_compile(&mod, dev, "namespace ns { template<class T, int n> __global__ "
		"void k(T *a) { *a = n; } }", &options, &err));
	for (size_t i = 0; i < countof(names); i++) {
		ok(kz_module_kernel(&kernel, mod, names[i], &err));
	}
	ck_assert_int_eq(kz_module_kernel(&kernel, mod, "ns::k<int, 4>", &err), KZ_NOT_FOUND);
}

/* One instance under names that the compiler does not give back: a typedef, default arguments. */
DEVICE_TEST(an_instance_has_each_name_by_which_it_was_asked_for)
{
	static const char *const instances[] = {"fill<word>", "fill<unsigned int>",
		"fill<uint32_t>", "count<2 + 2>", "count<4>", "count<>", NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_kernel *first = NULL;
	options.instances = instances;
	ok(kz_module_compile(&mod, dev, "typedef unsigned word;\n"
		"template<class T> __global__ void fill(T *a) { *a = 1; }\n"
		"template<int N = 4> __global__ void count(int *a) { *a = N; }", &options, &err));
	ck_assert_int_eq(kz_module_kernel_count(mod), 2);
	for (size_t i = 0; instances[i]; i++) {
		ok(kz_module_kernel(&kernel, mod, instances[i], &err));
		ck_assert_str_eq(kz_kernel_name(kernel), instances[i / 3 * 3]);
		ck_assert(i % 3 == 0 || kernel == first);
		first = kernel;
	}
	fails(kz_module_kernel(&kernel, mod, "fill<int>", &err), KZ_NOT_FOUND, "fill<int>");
}

DEVICE_TEST(an_inline_namespace_may_be_left_out)
{
	static const char *const kernels[] = {"k", "ns::k", "ns::v1::k", "v1::k", "ns::t<int>"};
	static const char *const variables[] = {"x", "ns::x", "ns::v1::x", "v1::x"};
	static const char *const instances[] = {"ns::t<int>", NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.instances = instances;
	ok(kz_module_compile(&mod, dev, "namespace ns { inline namespace v1 { __device__ int x = "
		"5;\n"
		"__global__ void k(int *a) { *a = x; } "
		"template<class T> __global__ void t(T *a) {} } }\n"
		"namespace other { __device__ int y; namespace more { __device__ int y; } }",
		&options, &err));
	for (size_t i = 0; i < countof(kernels); i++) {
		ok(kz_module_kernel(&kernel, mod, kernels[i], &err));
	}
	for (size_t i = 0; i < countof(variables); i++) {
		int32_t value = 6;
		ok(kz_module_set_global(mod, variables[i], &value, sizeof(value), &err));
	}
	int32_t value = 0;
	fails(kz_module_get_global(mod, "y", &value, 4, &err), KZ_NOT_FOUND, "no variable 'y'");
	fails(kz_module_get_global(mod, "v1::ns::x", &value, 4, &err), KZ_NOT_FOUND, "no variable");
	fails(kz_module_get_global(mod, "v2::x", &value, 4, &err), KZ_NOT_FOUND, "no variable");
	fails(kz_module_kernel(&kernel, mod, "v::k", &err), KZ_NOT_FOUND, "no kernel");
	ok(kz_module_get_global(mod, "more::y", &value, 4, &err));
	ok(kz_module_get_global(mod, "other::y", &value, 4, &err));
}

DEVICE_TEST(bad_arguments_are_refused)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	ck_assert_int_eq(kz_module_compile(&mod, dev, NULL, NULL, NULL), KZ_INVALID);
	ck_assert_int_eq(kz_module_compile(&mod, NULL, "", NULL, NULL), KZ_INVALID);
	ck_assert_int_eq(kz_module_compile(NULL, dev, "", NULL, NULL), KZ_INVALID);
	options.size = 3;
	ck_assert_int_eq(kz_module_compile(&mod, dev, "", &options, NULL), KZ_INVALID);
	ck_assert_int_eq(kz_module_load(&mod, dev, NULL, 1, NULL), KZ_INVALID);
	ck_assert_int_eq(kz_module_load(&mod, dev, "x", 0, NULL), KZ_INVALID);
	ck_assert_int_eq(kz_module_load(&mod, dev, "neither PTX nor cubin", 21, &err),
		KZ_BAD_IMAGE);
	ck_assert_int_eq(kz_module_kernel(&kernel, NULL, "k", NULL), KZ_INVALID);
	kz_error_clear(&err);
	fails(kz_module_load(&mod, dev, "x", -3, &err), KZ_INVALID, "got a size of -3");
	fails(kz_module_load(NULL, dev, "x", 1, &err), KZ_INVALID, "kz_module_load: out is NULL");
}

START_TEST(nothing_in_place_of_a_module_is_no_crash)
{
	int64_t size = 7;
	kz_buffer *buffer;
	err = (kz_error)KZ_ERROR_INIT;
	fails(kz_module_kernel(NULL, NULL, "k", &err), KZ_INVALID, "kz_module_kernel: out is NULL");
	fails(kz_module_global(NULL, NULL, "v", &err), KZ_INVALID, "kz_module_global: out is NULL");
	fails(kz_module_global(&buffer, NULL, "v", &err), KZ_INVALID,
		"expected a module, got NULL");
	fails(kz_module_set_global(NULL, "v", "x", 1, &err), KZ_INVALID, "expected a module");
	ck_assert_int_eq(kz_module_kernel_count(NULL), 0);
	ck_assert_ptr_null(kz_module_kernel_name(NULL, 0));
	ck_assert_str_eq(kz_module_log(NULL), "");
	ck_assert_str_eq(kz_module_arch(NULL), "");
	ck_assert_ptr_null(kz_module_image(NULL, &size));
	ck_assert_int_eq(size, 0);
	ck_assert_ptr_null(kz_module_device(NULL));
}
END_TEST

DEVICE_TEST(an_empty_source_is_a_module_without_kernels)
{
	ok(kz_module_compile(&mod, dev, "", NULL, &err));
	ck_assert_int_eq(kz_module_kernel_count(mod), 0);
	ck_assert_int_eq(kz_module_kernel(&kernel, mod, "k", &err), KZ_NOT_FOUND);
	ck_assert_str_eq(err.message, "no kernel 'k'; this module has no kernels");
}

DEVICE_TEST(a_missing_kernel_names_those_that_there_are)
{
	ok(kz_module_compile(&mod, dev, two_kernels, NULL, &err));
	ck_assert_int_eq(kz_module_kernel(&kernel, mod, "doublfy", &err), KZ_NOT_FOUND);
	ck_assert_ptr_null(kernel);
	ck_assert_str_eq(err.message, "no kernel 'doublfy'; this module has: doublify, halve "
		"(did you mean 'doublify'?)");
}

DEVICE_TEST(a_missing_kernel_of_one_is_easy)
{
	ok(kz_module_compile(&mod, dev, "__global__ void doublify(float *a) { *a *= 2; }", NULL,
		&err));
	ck_assert_int_eq(kz_module_kernel(&kernel, mod, "doublfy", &err), KZ_NOT_FOUND);
	ck_assert_str_eq(err.message,
		"no kernel 'doublfy'; this module has: doublify (did you mean it?)");
}

DEVICE_TEST(a_template_without_that_instance_is_told_from_a_misspelt_name)
{
	static const char source[] = "template <class T> __global__ void f(T *p) { *p = 1; }\n"
		"namespace ns { template <int N> __global__ void g(int *p) { *p = N; } }\n"
		"__global__ void h(int *p) { *p = 2; }\n";
	static const struct {
		const char *name;
		bool is_template;
	} rows[] = {{"f<float>", true}, {"f", true}, {"ns::g<4>", true}, {"::ns::g <4>", true},
		{"ff", false}, {"g<4>", false}, {"h<int>", false}};
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
	kz_module_release(mod);
	image_cache_clear(); /* what comes from disk, where there is a cache, knows it as well */
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
	for (size_t i = 0; i < countof(rows); i++) {
		ck_assert_int_eq(kz_module_kernel(&kernel, mod, rows[i].name, &err), KZ_NOT_FOUND);
		bool hinted = err.hint && strstr(err.hint, "kz_compile_options.instances");
		ck_assert_msg(hinted == rows[i].is_template, "%s", rows[i].name);
		ck_assert_ptr_nonnull(strstr(err.message, "this module has: h"));
		kz_error_clear(&err);
	}
}

DEVICE_TEST(another_instance_of_a_template_is_not_taken_for_a_misspelling)
{
	static const char source[] = "template <class T, int N> __global__ void product(T *p) "
		"{ *p = N; }\n";
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.instances = (const char *const[]){"product<float, 16>", NULL};
	ok(kz_module_compile(&mod, dev, source, &options, &err));
	ck_assert_int_eq(kz_module_kernel(&kernel, mod, "product<double, 8>", &err),
		KZ_NOT_FOUND);
	ck_assert_str_eq(err.message, "no kernel 'product<double, 8>'; this module has: "
		"product<float, 16>");
	ck_assert_str_eq(err.hint, "it is an instance of a template: list its name in "
		"kz_compile_options.instances");
	kz_error_clear(&err);
	ck_assert_int_eq(kz_module_kernel(&kernel, mod, "produkt<float, 16>", &err),
		KZ_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(err.message, "(did you mean it?)"));
	ck_assert_ptr_null(err.hint);
}

DEVICE_TEST(a_kernel_knows_its_parameters)
{
	kz_kernel_info info = KZ_KERNEL_INFO_INIT;
	ok(kz_module_compile(&mod, dev, two_kernels, NULL, &err));
	ok(kz_module_kernel(&kernel, mod, "halve", &err));
	ck_assert_str_eq(kz_kernel_name(kernel), "halve");
	ck_assert_str_eq(kz_kernel_signature(kernel), "halve(float *, int)");
	ok(kz_kernel_describe(kernel, &info, &err));
	ck_assert_int_eq(info.param_count, 2);
	ck_assert_int_ge(info.max_threads_per_block, 32);
	ck_assert_int_eq(info.tier > 0, strcmp(support_device_name(_i), "cpu") == 0);
	ck_assert_ptr_nonnull(kz_kernel_handle(kernel));
}

DEVICE_TEST(a_kernel_knows_its_occupancy_and_its_compile_time)
{
	const bool is_cpu = strcmp(support_device_name(_i), "cpu") == 0;
	kz_kernel_info info = KZ_KERNEL_INFO_INIT;
	int64_t blocks = 0;
	double share = 0;
	ok(kz_module_compile(&mod, dev, two_kernels, NULL, &err));
	ok(kz_module_kernel(&kernel, mod, "halve", &err));
	ok(kz_kernel_describe(kernel, &info, &err));
	ok(kz_kernel_occupancy(&blocks, &share, kernel, info.best_block, 0, &err));
	ck_assert_int_ge(info.best_block, 32);
	ck_assert_int_eq(info.best_block_count, blocks);
	ck_assert(share > 0.5 && info.occupancy == share);
	ck_assert(is_cpu ? info.compile_ms > 0 && info.compile_ms < 600000 : info.compile_ms == 0);
	/* LLVM does not tell; a GPU's kernel without a stack has none */
	ck_assert_int_eq(info.spill_stores, is_cpu ? -1 : 0);
	ck_assert_int_eq(info.spill_loads, is_cpu ? -1 : 0);
	ck_assert(is_cpu ? info.registers >= 16 && info.registers <= 64 : info.registers > 0);
}

/* The stub loads cubins, and what ptxas said of one is in its image. */
START_TEST(a_kernel_of_a_cubin_knows_its_spills)
{
	static const char *const options[] = {"-maxrregcount=24", "-Xptxas=-v", NULL};
	static const char source[] = "extern \"C\" __global__ void spill(float *a, int n)\n{\n"
		"\tfloat v[40];\n\t#pragma unroll\n"
		"\tfor (int i = 0; i < 40; i++) { v[i] = a[i * n]; }\n"
		"\t#pragma unroll\n\tfor (int i = 0; i < 40; i++) { v[i] += v[(i * 7 + 3) % 40]; "
		"}\n"
		"\t#pragma unroll\n\tfor (int i = 0; i < 40; i++) { a[i * n + 1] = v[i]; }\n}\n";
	kz_compile_options compile = KZ_COMPILE_OPTIONS_INIT;
	kz_kernel_info info = KZ_KERNEL_INFO_INIT;
	compile.arch = "sm_90";
	compile.nvrtc_options = options;
	dev = support_open_stub("cc=90");
	ok(kz_module_compile(&mod, dev, source, &compile, &err));
	ok(kz_module_kernel(&kernel, mod, "spill", &err));
	ok(kz_kernel_describe(kernel, &info, &err));
	ck_assert_int_gt(info.spill_stores, 0);
	ck_assert_int_gt(info.spill_loads, 0);
	kz_module_release(mod);
	support_close_stub(dev);
}
END_TEST

static const char long_kernel[] =
	"extern \"C\" __global__ void mix(unsigned *a)\n"
	"{\n"
	"	unsigned x = a[threadIdx.x];\n"
	"#pragma unroll\n"
	"	for (int i = 1; i <= 400; i++) { x = (x ^ x >> 7) * (2 * i + 1) + SALT; }\n"
	"	a[threadIdx.x] = x;\n"
	"}\n";

DEVICE_TEST(a_long_kernel_gets_its_best_code)
{
	const bool is_cpu = strcmp(support_device_name(_i), "cpu") == 0;
	kz_kernel_info info = KZ_KERNEL_INFO_INIT;
	unsigned values[64], got[64];
	const unsigned salt = (unsigned)getpid(); /* code that no earlier run has kept */
	char define[32];
	const char *const defines[] = {define, NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.defines = defines;
	snprintf(define, sizeof(define), "SALT=%uu", salt);
	unsetenv("KUDZU_CPU_WIDTH");
	unsetenv("KUDZU_CPU_TIER");
	ok(kz_module_compile(&mod, dev, long_kernel, &options, &err));
	ok(kz_module_kernel(&kernel, mod, "mix", &err));
	ok(kz_kernel_describe(kernel, &info, &err));
	ck_assert(!is_cpu || info.tier == 1);
	for (unsigned i = 0; i < 64; i++) {
		values[i] = i;
	}
	for (int round = 0; round < 2; round++) {
		ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(64, 1, 1), NULL, &err,
			KZ_ARGS(KZ_INOUT(memcpy(got, values, sizeof(got)), sizeof(got)))));
		for (unsigned i = 0; i < 64; i++) {
			unsigned x = i;
			for (unsigned k = 1; k <= 400; k++) {
				x = (x ^ x >> 7) * (2 * k + 1) + salt;
			}
			ck_assert_uint_eq(got[i], x);
		}
		ok(kz_kernel_optimize(kernel, &err));
		ok(kz_kernel_describe(kernel, &info, &err));
		ck_assert_int_eq(info.tier, is_cpu ? 2 : 0);
	}
	ck_assert_int_eq(kz_kernel_optimize(NULL, &err), KZ_INVALID);
	kz_error_clear(&err);
}

DEVICE_TEST(the_signature_of_an_overload_has_its_parameters_once)
{
	ok(kz_module_compile(&mod, dev, "__global__ void k(int *a) { *a = 1; }\n"
		"__global__ void k(float *a, int n) { *a = n; }\n", NULL, &err));
	ok(kz_module_kernel(&kernel, mod, "k(float*, int)", &err));
	ck_assert_str_eq(kz_kernel_signature(kernel), "k(float *, int)");
}

DEVICE_TEST(cxx_kernels_are_found_without_extern_c)
{
	static const char source[] =
		"namespace ns { __global__ void in_space(int *p) { *p = 7; } }\n"
		"template <class T, int N> __global__ void templated(T *p) { *p = N; }\n";
	static const char *const instances[] = {"templated<int, 5>", NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.instances = instances;
	ck_assert_int_eq(compile_and_run(source, &options, "ns::in_space"), 7);
	ok(kz_module_kernel(&kernel, mod, "templated<int,5>", &err));
	ck_assert_int_eq(run_for_int(kernel), 5);
}

DEVICE_TEST(c_habits_compile)
{
	static const char source[] =
		"__global__ void k(int32_t *restrict p)\n"
		"{\n"
		"\tuint8_t small = UINT8_MAX;\n"
		"\t_Bool yes = M_PI > 3 && INFINITY > FLT_MAX && INT_MAX > 0 && p != NULL;\n"
		"\t*p = (int32_t)small + yes;\n"
		"}\n";
	ck_assert_int_eq(compile_and_run(source, NULL, "k"), 256);
}

DEVICE_TEST(headers_in_memory_and_defines_reach_the_source)
{
	static const char source[] = "#include \"four.h\"\n"
		"__global__ void k(int *p) { *p = FOUR * N; }\n";
	static const char *const names[] = {"four.h", NULL};
	static const char *const texts[] = {"#define FOUR 4\n", NULL};
	static const char *const defines[] = {"N=10", NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.header_names = names;
	options.header_texts = texts;
	options.defines = defines;
	ck_assert_int_eq(compile_and_run(source, &options, "k"), 40);
	options.header_texts = NULL;
	kz_module *other = NULL;
	ck_assert_int_eq(kz_module_compile(&other, dev, source, &options, NULL), KZ_INVALID);
}

DEVICE_TEST(warnings_stay_with_the_module)
{
	static const char source[] = "__global__ void k(int *p) { int unused; *p = 1; }\n";
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
	ck_assert_ptr_nonnull(strstr(kz_module_log(mod), "kernel.cu:1:"));
	ck_assert_ptr_nonnull(strstr(kz_module_log(mod), "warning"));
	ck_assert_ptr_nonnull(strstr(kz_module_log(mod), "unused"));
}

static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
	"\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [n];\n"
	"\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n";

DEVICE_TEST(ptx_loads_and_runs)
{
	int out = 0;
	ok(kz_module_load(&mod, dev, ptx, sizeof(ptx) - 1, &err));
	ok(kz_module_kernel(&kernel, mod, "k", &err));
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(KZ_OUT(&out, sizeof(out)), 77)));
	ck_assert_int_eq(out, 77);
}

DEVICE_TEST(malformed_ptx_is_refused_with_its_line)
{
	static const char bad[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry k()\n{\n\tnonsense.u32 %r1, %r2;\n\tret;\n}\n";
	ck_assert_int_eq(kz_module_load(&mod, dev, bad, sizeof(bad) - 1, &err), KZ_BAD_IMAGE);
	ck_assert_ptr_null(mod);
	ck_assert_int_eq(err.line, 6);
	ck_assert_ptr_nonnull(strstr(err.log, "nonsense.u32 %r1, %r2;"));
}

/* Valid PTX, which a GPU would take. */
DEVICE_TEST(what_the_cpu_cannot_run_is_unsupported_and_quoted)
{
	static const char source[] = "extern \"C\" __global__ void k(int *a)\n{\n"
		"\tasm(\"mapa.u64 %0, %0, 1;\" : \"+l\"(a));\n\t*a = 1;\n}\n";
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.line_info = 1;
	if (strcmp(support_device_name(_i), "cpu") == 0) {
		ck_assert_int_eq(kz_module_compile(&mod, dev, source, &options, &err),
			KZ_UNSUPPORTED);
		ck_assert_str_eq(err.message, "instruction 'mapa.u64' (kernel.cu:3) is not "
			"supported by the CPU device (clusters)");
		ck_assert_ptr_nonnull(strstr(err.hint, "another one"));
		ck_assert_ptr_nonnull(strstr(err.log, "mapa.u64 "));
	}
}

DEVICE_TEST(variables_are_read_and_written_by_name)
{
	static const char source[] = "__constant__ int c[3] = {1, 2, 3};\n__device__ int g = 9;\n"
		"__global__ void k(int *p) { g += 1; *p = c[0] + c[1] + c[2]; }\n";
	int c[3] = {10, 20, 30}, g = 0;
	ck_assert_int_eq(compile_and_run(source, NULL, "k"), 6);
	ok(kz_module_set_global(mod, "c", c, sizeof(c), &err));
	ck_assert_int_eq(run_for_int(kernel), 60);
	ok(kz_module_get_global(mod, "g", &g, sizeof(g), &err));
	ck_assert_int_eq(g, 11);
}

DEVICE_TEST(a_variable_of_another_size_or_name_is_refused)
{
	static const char source[] = "__device__ int g = 9;\n__global__ void k() { g++; }\n";
	char big[8] = {0};
	kz_buffer *buffer = NULL;
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
	ck_assert_int_eq(kz_module_set_global(mod, "g", big, sizeof(big), &err), KZ_RANGE);
	ck_assert_str_eq(err.message, "kz_module_set_global: variable 'g' has 4 bytes, the host "
		"memory 8");
	kz_error_clear(&err);
	ck_assert_int_eq(kz_module_global(&buffer, mod, "gg", &err), KZ_NOT_FOUND);
	ck_assert_ptr_null(buffer);
	ck_assert_ptr_nonnull(strstr(err.message, "no variable 'gg'"));
	ck_assert_ptr_nonnull(strstr(err.hint, "left out"));
}

DEVICE_TEST(a_missing_variable_names_those_that_there_are)
{
	static const char with[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
		".global .align 4 .u32 plain;\n.const .align 4 .b8 table[16];\n"
		"\t.visible .global .align 8 .f64 set=0d0000000000000000;\n"
		"// .global .u32 comment;\n"
		".visible .entry k(\n\t.param .u64 .ptr .global .align 4 param\n)\n"
		"{\n\t.reg .b64 %rd<2>;\n\tret;\n}\n";
	kz_buffer *buffer = NULL;
	ok(kz_module_load(&mod, dev, with, sizeof(with) - 1, &err));
	fails(kz_module_global(&buffer, mod, "plane", &err), KZ_NOT_FOUND,
		"no variable 'plane'; this module has: plain, table, set");
	kz_module_release(mod);
	ok(kz_module_load(&mod, dev, ptx, sizeof(ptx) - 1, &err));
	fails(kz_module_global(&buffer, mod, "plane", &err), KZ_NOT_FOUND,
		"no variable 'plane' in this module");
}

START_TEST(a_variable_keeps_its_module_alive)
{
	static const char source[] = "__device__ int g = 9;\n__global__ void k() { g++; }\n";
	kz_buffer *buffer = NULL;
	int g = 0;
	setup(_i);
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
	ok(kz_module_global(&buffer, mod, "g", &err));
	kz_device_close(dev);
	kz_module_release(mod);
	ok(kz_copy_dtoh(&g, sizeof(g), buffer, 0, &err));
	ck_assert_int_eq(g, 9);
	kz_buffer_release(buffer);
	kz_error_clear(&err);
}
END_TEST

DEVICE_TEST(every_failing_allocation_is_an_error_or_done_without)
{
	bool failed = true;
	long n;
	for (n = 0; failed && n < 10000; n++) {
		image_cache_clear();
		mem_fail_after(n);
		kz_status st = kz_module_compile(&mod, dev, two_kernels, NULL, &err);
		st = st ? st : kz_module_kernel(&kernel, mod, "halve", &err);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_msg(st == err.status, "%d but %s", (int)st, err.message);
		ck_assert(st == KZ_OK || (failed && st == KZ_NO_MEMORY));
		kz_module_release(mod);
		mod = NULL;
		kz_error_clear(&err);
	}
	ck_assert_int_gt(n, 10);
}

SUITE(module)
{
	Suite *s = suite_create("module");
	TCase *tc = suite_add_case(s, "each device");
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, support_device_count(), a_compile_error_says_where_and_shows_the_line,
		bad_arguments_are_refused, an_error_in_inline_ptx_has_its_line_of_source,
		a_function_that_is_nowhere_is_named, a_byte_order_mark_is_no_matter,
		an_instance_is_found_by_the_compilers_name_too,
		an_instance_has_each_name_by_which_it_was_asked_for,
		an_inline_namespace_may_be_left_out, an_empty_source_is_a_module_without_kernels,
		a_template_without_that_instance_is_told_from_a_misspelt_name,
		another_instance_of_a_template_is_not_taken_for_a_misspelling,
		a_missing_variable_names_those_that_there_are,
		a_missing_kernel_names_those_that_there_are, a_missing_kernel_of_one_is_easy,
		a_kernel_knows_its_parameters,
		a_kernel_knows_its_occupancy_and_its_compile_time, a_long_kernel_gets_its_best_code,
		the_signature_of_an_overload_has_its_parameters_once,
		cxx_kernels_are_found_without_extern_c, c_habits_compile,
		headers_in_memory_and_defines_reach_the_source, warnings_stay_with_the_module,
		ptx_loads_and_runs, malformed_ptx_is_refused_with_its_line,
		what_the_cpu_cannot_run_is_unsupported_and_quoted,
		variables_are_read_and_written_by_name,
		a_variable_of_another_size_or_name_is_refused, a_variable_keeps_its_module_alive,
		every_failing_allocation_is_an_error_or_done_without);
	tcase_add_test(tc, nothing_in_place_of_a_module_is_no_crash);
	tcase_add_test(tc, a_kernel_of_a_cubin_knows_its_spills);
	return s;
}
