/* SPDX-License-Identifier: MIT */
/* What images tell of kernels, variables and resources, and variables by name and type. */
#include "base/common.h"

#include "base/alloc.h"
#include "support/support.h"
#include "support/suite.h"

#include <kudzu/inspect.h>

#include <check.h>
#include <string.h>

static const char source[] =
	"struct P { float x; int id; };\n"
	"namespace ns { __device__ float table[2][8]; }\n"
	"__constant__ int c[3] = {1, 2, 3};\n"
	"__device__ P ps[2];\n"
	"__device__ unsigned long long big = 5;\n"
	"__global__ void sum(float *out, P p)\n"
	"{ *out = ns::table[1][7] + c[0] + ps[1].x + ps[1].id + big + p.x; }\n"
	"extern \"C\" __global__ void fill(int *a, unsigned n) { a[0] = n; }\n"
	"template <class T, int N> __global__ void scale(T *a) { *a *= N; }\n";

static const char *const instances[] = {"scale<float, 4>", NULL};

struct P {
	float x;
	int32_t id;
};

static kz_error err;
static kz_image *image;
static kz_device *dev;
static kz_module *mod;

static void setup(void)
{
	err = (kz_error)KZ_ERROR_INIT;
	image = NULL;
	dev = NULL;
	mod = NULL;
}

static void teardown(void)
{
	kz_module_release(mod);
	kz_image_release(image);
	if (dev) {
		support_close(dev);
	}
	kz_error_clear(&err);
}

static void compile(const char *arch)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.arch = arch;
	options.instances = instances;
	ok(kz_compile(&image, source, &options, &err));
}

static const kz_variable_info *find(const char *name)
{
	static kz_variable_info info;
	for (int64_t i = 0; i < kz_image_variable_count(image); i++) {
		info = (kz_variable_info)KZ_VARIABLE_INFO_INIT;
		ok(kz_image_variable(image, i, &info, &err));
		if (strcmp(info.name, name) == 0) {
			return &info;
		}
	}
	ck_abort_msg("no variable %s", name);
}

static const struct {
	const char *name, *symbol, *type;
	kz_variable_space space;
	int32_t align;
	int64_t size;
} variables[] = {
	{"ns::table", "_ZN2ns5tableE", "float [2][8]", KZ_VARIABLE_GLOBAL, 4, 64},
	{"c", "c", "int [3]", KZ_VARIABLE_CONSTANT, 4, 12},
	{"ps", "ps", "P [2]", KZ_VARIABLE_GLOBAL, 4, 16},
	{"big", "big", "unsigned long long", KZ_VARIABLE_GLOBAL, 8, 8},
};

static const char *const archs[] = {"compute_75", "sm_90"};

START_TEST(variables_are_listed_with_their_types)
{
	compile(archs[_i]);
	ck_assert_int_eq(kz_image_variable_count(image), (int64_t)countof(variables));
	for (size_t i = 0; i < countof(variables); i++) {
		const kz_variable_info *info = find(variables[i].name);
		ck_assert_str_eq(info->symbol, variables[i].symbol);
		ck_assert_str_eq(info->type, variables[i].type);
		ck_assert_int_eq(info->space, variables[i].space);
		ck_assert_int_eq(info->align, variables[i].align);
		ck_assert_int_eq(info->byte_size, variables[i].size);
	}
}
END_TEST

START_TEST(an_image_from_elsewhere_has_variables_without_types)
{
	compile(archs[_i]);
	kz_image *made = image;
	int64_t size;
	const void *data = kz_image_data(made, &size);
	ok(kz_image_create(&image, data, size, &err));
	kz_image_release(made);
	ck_assert_int_eq(kz_image_variable_count(image), (int64_t)countof(variables));
	const kz_variable_info *info = find("ns::table");
	ck_assert_ptr_null(info->type);
	ck_assert_int_eq(info->byte_size, 64);
	ck_assert_int_eq(find("c")->space, KZ_VARIABLE_CONSTANT);
}
END_TEST

START_TEST(kernels_are_listed_with_their_signatures)
{
	static const char *const signatures[][2] = {
		{"sum(float *, P)", "_Z3sumPf1P"}, {"fill(int *, unsigned int)", "fill"},
		{"scale<float, 4>(float *)", "_Z5scaleIfLi4EEvPT_"}};
	compile("compute_75");
	ck_assert_int_eq(kz_image_kernel_count(image), (int64_t)countof(signatures));
	for (size_t i = 0; i < countof(signatures); i++) {
		int64_t index = 0;
		while (strcmp(kz_image_kernel_symbol(image, index), signatures[i][1]) != 0) {
			index++;
			ck_assert_ptr_nonnull(kz_image_kernel_symbol(image, index));
		}
		char text[64] = "";
		int64_t len = (int64_t)strlen(signatures[i][0]);
		ck_assert_int_eq(kz_image_kernel_signature(image, index, text, 64), len);
		ck_assert_str_eq(text, signatures[i][0]);
		ck_assert_int_eq(kz_image_kernel_signature(image, index, text, 5), len);
		ck_assert_int_eq(strlen(text), 4);
		ck_assert_int_eq(kz_image_kernel_signature(image, index, NULL, 0), len);
	}
	ck_assert_int_eq(kz_image_kernel_signature(image, 3, NULL, 0), -1);
	ck_assert_ptr_null(kz_image_kernel_symbol(image, -1));
}
END_TEST

START_TEST(resources_are_those_of_the_cubin)
{
	kz_resources r = KZ_RESOURCES_INIT;
	compile("sm_90");
	ok(kz_image_resources(image, "scale<float,4>", &r, &err));
	ck_assert_int_ge(r.registers, 4);
	ck_assert_int_eq(r.stack_size, 0);
	ck_assert_int_eq(r.spill_stores, 0);
	ck_assert_int_gt(r.code_size, 0);
	fails(kz_image_resources(image, "scal", &r, &err), KZ_NOT_FOUND, "scale<float, 4>");
	r.size = 1;
	fails(kz_image_resources(image, "fill", &r, &err), KZ_INVALID, "KZ_RESOURCES_INIT");
}
END_TEST

START_TEST(what_is_no_machine_code_has_no_resources)
{
	static const char *const kinds[] = {"compute_90", "lto_90"};
	kz_resources r = KZ_RESOURCES_INIT;
	compile(kinds[_i]);
	ck_assert_int_eq(kz_image_resources(image, "fill", &r, &err), KZ_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.message, _i ? "LTO-IR" : "PTX"));
	ck_assert_ptr_nonnull(strstr(err.hint, "sm_90"));
}
END_TEST

START_TEST(nothing_in_place_of_an_image_is_no_crash)
{
	kz_variable_info info = KZ_VARIABLE_INFO_INIT;
	kz_resources r = KZ_RESOURCES_INIT;
	char text[4] = "abc";
	ck_assert_ptr_null(kz_module_get_image(NULL));
	ck_assert_int_eq(kz_image_variable_count(NULL), 0);
	ck_assert_ptr_null(kz_image_kernel_symbol(NULL, 0));
	ck_assert_int_eq(kz_image_kernel_signature(NULL, 0, text, 4), -1);
	ck_assert_str_eq(text, "");
	fails(kz_image_variable(NULL, 0, &info, &err), KZ_INVALID, "expected an image");
	fails(kz_image_resources(NULL, "k", &r, &err), KZ_INVALID, "expected an image");
	compile("compute_75");
	fails(kz_image_variable(image, 99, &info, &err), KZ_NOT_FOUND,
		"a variable index below 4, got 99");
	fails(kz_image_variable(image, 0, NULL, &err), KZ_INVALID, "KZ_VARIABLE_INFO_INIT");
	fails(kz_image_resources(image, NULL, &r, &err), KZ_INVALID, "the name of a kernel");
	fails(kz_module_set_values(NULL, "c", KZ_I32, "", 1, &err), KZ_INVALID,
		"expected a module");
}
END_TEST

static void load(int index)
{
	dev = support_open(index);
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.instances = instances;
	ok(kz_module_compile(&mod, dev, source, &options, &err));
}

START_TEST(values_of_the_right_type_go_in_and_out)
{
	static const int32_t ints[3] = {7, 0, 0};
	static const struct P points[2] = {{0, 0}, {0.5f, 3}};
	float table[16] = {0}, out = 0, back[16];
	kz_dtype point;
	kz_kernel *kernel;
	load(_i);
	table[15] = 100;
	ok(kz_dtype_register(&point, "struct P", sizeof(struct P), &err));
	ok(kz_module_set_values(mod, "c", KZ_I32, ints, 3, &err));
	ok(kz_module_set_values(mod, "ns::table", KZ_F32, table, 16, &err));
	ok(kz_module_set_values(mod, "ps", point, points, 2, &err));
	ok(kz_module_kernel(&kernel, mod, "sum", &err));
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(KZ_OUT(&out, sizeof(out)), KZ_VALUE(points[1]))));
	ck_assert(out == 100 + 7 + 0.5f + 3 + 5 + 0.5f);
	ok(kz_module_get_values(mod, "table", KZ_F32, back, 16, &err));
	ck_assert_mem_eq(back, table, sizeof(table));
	ok(kz_module_get_values(mod, "::ns::table", KZ_C64, back, 8, &err));
}
END_TEST

START_TEST(values_of_another_type_or_number_are_refused)
{
	static const char bytes[64];
	kz_dtype other;
	load(_i);
	ok(kz_dtype_register(&other, "struct Q", sizeof(struct P), &err));
	fails(kz_module_set_values(mod, "c", KZ_F32, bytes, 3, &err), KZ_ARGUMENT,
		"variable 'c' is int [3], got float32");
	fails(kz_module_set_values(mod, "big", KZ_F64, bytes, 1, &err), KZ_ARGUMENT,
		"variable 'big' is unsigned long long, got float64");
	fails(kz_module_set_values(mod, "ps", other, bytes, 2, &err), KZ_ARGUMENT,
		"variable 'ps' is P [2], got struct Q");
	fails(kz_module_set_values(mod, "c", other, bytes, 2, &err), KZ_ARGUMENT, "is int [3]");
	fails(kz_module_set_values(mod, "c", KZ_I32, bytes, 4, &err), KZ_RANGE,
		"variable 'c' has 12 bytes, the host memory 16");
	fails(kz_module_set_values(mod, "c", KZ_I32, bytes, -1, &err), KZ_RANGE, "got -1");
	fails(kz_module_set_values(mod, "c", KZ_I32, bytes, INT64_MAX, &err), KZ_RANGE, "a count");
	fails(kz_module_set_values(mod, "c", 99, bytes, 1, &err), KZ_INVALID, "expected a dtype");
	fails(kz_module_set_values(mod, "tabel", KZ_F32, bytes, 1, &err), KZ_NOT_FOUND,
		"no variable 'tabel'; this module has: ");
	ck_assert_int_eq(kz_module_get_values(mod, "bigg", KZ_F32, NULL, 1, &err), KZ_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(err.message, "(did you mean 'big'?)"));
}
END_TEST

START_TEST(a_module_has_the_image_that_it_was_made_of)
{
	load(_i);
	const kz_image *held = kz_module_get_image(mod);
	int64_t size;
	ck_assert_ptr_eq(kz_image_data(held, &size), kz_module_image(mod, NULL));
	ck_assert_int_eq(kz_image_kernel_count(held), 3);
	ck_assert_int_eq(kz_image_variable_count(held), 4);
}
END_TEST

START_TEST(a_kernel_tells_how_much_shared_memory_a_launch_can_ask_for)
{
	kz_kernel_info info = KZ_KERNEL_INFO_INIT;
	kz_device_info limits = KZ_DEVICE_INFO_INIT;
	kz_kernel *kernel;
	load(_i);
	ok(kz_device_describe(dev, &limits, &err));
	ok(kz_module_kernel(&kernel, mod, "fill", &err));
	ok(kz_kernel_describe(kernel, &info, &err));
	ck_assert_int_ge(info.dynamic_shared_size, limits.shared_per_block);
	ck_assert_int_eq(info.cluster_required, 0);
	ck_assert_int_eq(info.cluster[0] + info.cluster[1] + info.cluster[2], 0);
	bool is_cpu = strcmp(support_device_name(_i), "cpu") == 0;
	ck_assert(is_cpu ? info.code_size > 10 && info.code_size < 100000 : info.code_size == 0);
	ck_assert(is_cpu ? info.width >= 1 && info.width <= 32 : info.width == 0);
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.shared_size = info.dynamic_shared_size;
	int32_t out = 0;
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), &options, &err,
		KZ_ARGS(KZ_OUT(&out, sizeof(out)), 9)));
	ck_assert_int_eq(out, 9);
	options.shared_size++;
	ck_assert_int_ne(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), &options, &err,
		KZ_ARGS(KZ_OUT(&out, sizeof(out)), 9)), KZ_OK);
}
END_TEST

START_TEST(want_of_memory_leaves_nothing)
{
	static const int32_t ints[3] = {7, 8, 9};
	int32_t back[3] = {0};
	load(_i);
	for (long n = 0;; n++) {
		mem_fail_after(n);
		kz_status status = kz_module_set_values(mod, "c", KZ_I32, ints, 3, &err);
		status = status ? status : kz_module_get_values(mod, "c", KZ_I32, back, 3, &err);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		if (!failed) {
			ck_assert_int_eq(status, KZ_OK);
			break;
		}
		kz_error_clear(&err);
	}
	ck_assert_mem_eq(back, ints, sizeof(ints));
}
END_TEST

SUITE(inspect)
{
	Suite *suite = suite_create("inspect");
	TCase *tc = suite_add_case(suite, "images");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_tests(tc, (int)countof(archs), variables_are_listed_with_their_types,
		an_image_from_elsewhere_has_variables_without_types);
	tcase_add_tests(tc, 1, kernels_are_listed_with_their_signatures,
		resources_are_those_of_the_cubin);
	tcase_add_loop_test(tc, what_is_no_machine_code_has_no_resources, 0, 2);
	tcase_add_test(tc, nothing_in_place_of_an_image_is_no_crash);
	tc = suite_add_case(suite, "modules");
	int count = support_device_count();
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_tests(tc, count, values_of_the_right_type_go_in_and_out,
		values_of_another_type_or_number_are_refused,
		a_module_has_the_image_that_it_was_made_of,
		a_kernel_tells_how_much_shared_memory_a_launch_can_ask_for,
		want_of_memory_leaves_nothing);
	return suite;
}
