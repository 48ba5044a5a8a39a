/* SPDX-License-Identifier: MIT */
/*
 * KUDZU_CHECK in a program that uses the library as it is, pool and all: an access to the first
 * element beside an array is an error that names the array's memory, the thread and the line.
 */
#include "base/common.h"

#include "support/suite.h"
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

static kz_error err;
static kz_device *dev;
static kz_module *mod;
static kz_array *arrays[3]; /* the one in the middle is read */

static const char source[] = "extern \"C\" __global__ void pick(float *out, const float *in, int "
	"i)\n"
	"{\n"
	"	out[threadIdx.x] = in[(int)threadIdx.x + i];\n"
	"}\n";

/* The CPU device with arrays of 10 elements. */
static void array_check_open(const char *checks)
{
	setenv("KUDZU_CHECK", checks, 1);
	setenv("KUDZU_CHECK_PRINT", "0", 1);
	err = (kz_error)KZ_ERROR_INIT;
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.name = "pick.cu";
	ok(kz_device_open(&dev, "cpu", &err));
	ok(kz_module_compile(&mod, dev, source, &options, &err));
	for (size_t i = 0; i < countof(arrays); i++) {
		ok(kz_array_zeros(&arrays[i], dev, KZ_F32, KZ_SHAPE(10), &err));
	}
}

static void array_check_close(void)
{
	for (size_t i = 0; i < countof(arrays); i++) {
		kz_array_release(arrays[i]);
	}
	kz_module_release(mod);
	kz_device_close(dev);
	kz_error_clear(&err);
}

static bool array_check_is_cpu(int index)
{
	return strcmp(support_device_name(index), "cpu") == 0;
}

/* Thread 0 reads in[first], thread 1 the next element. */
static kz_status pick(int first)
{
	kz_kernel *kernel;
	ok(kz_module_kernel(&kernel, mod, "pick", &err));
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(2, 1, 1), NULL, &err,
		KZ_ARGS(arrays[0], arrays[1], first)));
	return kz_device_synchronize(dev, &err);
}

static void check_fault(const char *said)
{
	ck_assert_int_eq(err.status, KZ_FAULT);
	ck_assert_msg(strstr(err.log, said) != NULL, "'%s' is not in: %s", said, err.log);
	ck_assert_ptr_nonnull(strstr(err.log, "kernel 'pick': read of 4 bytes at address 0x"));
	ck_assert_int_eq(err.line, 3);
	ck_assert_ptr_nonnull(strstr(err.file, "pick.cu"));
}

static const struct {
	const char *checks;
	int use_pool; /* what the program says; -1: nothing */
	int good, bad;
	const char *said, *thread;
} rows[] = {
	{"memory", -1, 8, 9, "0 bytes past the end of the 40-byte allocation", "thread (1,0,0)"},
	{"memory,init", 1, 8, 10, "0 bytes past the end of the 40-byte allocation",
		"thread (0,0,0)"},
	{"all", 0, 8, 11, "4 bytes past the end of the 40-byte allocation", "thread (0,0,0)"},
	{"memory", -1, 0, -1, "4 bytes before the 40-byte allocation", "thread (0,0,0)"},
	{"memory", 1, 0, -3, "12 bytes before the 40-byte allocation", "thread (0,0,0)"},
};

START_TEST(an_element_beside_an_array_is_a_fault_that_names_the_array)
{
	const int row = _i % (int)countof(rows);
	if (!array_check_is_cpu(_i / (int)countof(rows))) {
		return;
	}
	array_check_open(rows[row].checks);
	if (rows[row].use_pool >= 0) {
		ok(kz_device_use_pool(dev, rows[row].use_pool, &err));
		kz_array_release(arrays[1]);
		ok(kz_array_zeros(&arrays[1], dev, KZ_F32, KZ_SHAPE(10), &err));
	}
	ok(pick(rows[row].good));
	ck_assert_int_eq(pick(rows[row].bad), KZ_FAULT);
	check_fault(rows[row].said);
	check_fault(rows[row].thread);
	char address[32];
	snprintf(address, sizeof(address), "allocation at 0x%llx",
		(unsigned long long)kz_array_address(arrays[1]));
	check_fault(address);
	array_check_close();
}
END_TEST

/* What is said of in[i] of an array (2, 5) of int16, or of a scalar. */
static const struct {
	const char *checks, *said;
	int first;
	kz_shape shape;
	kz_status status;
} elements[] = {
	{"memory", ", element [2, 0] of an array (2, 5) of int16 [memory]", 10, {2, {2, 5}},
		KZ_FAULT},
	{"memory", ", element [2, 4] of an array (2, 5) of int16 [memory]", 14, {2, {2, 5}},
		KZ_FAULT},
	{"memory", ", element [-1, 4] of an array (2, 5) of int16 [memory]", -1, {2, {2, 5}},
		KZ_FAULT},
	{"memory", ", element [3, 0, 0] of an array (3, 1, 2) of int16 [memory]", 6,
		{3, {3, 1, 2}}, KZ_FAULT},
	{"memory", ", element [7] of an array (5) of int16 [memory]", 7, {1, {5}}, KZ_FAULT},
	{"init", ", element [1, 2] of an array (2, 5) of int16, before anything", 7, {2, {2, 5}},
		KZ_OK},
};

static void keep_text(void *user, const kz_report *report)
{
	snprintf(user, 1024, "%s", report->text);
}

START_TEST(an_element_is_named_in_each_report)
{
	static const char half[] = "extern \"C\" __global__ void pick(float *out, const short *in, "
		"int i)\n{\n	out[threadIdx.x] = in[i] + 1;\n}\n";
	const size_t row = (size_t)_i % countof(elements);
	kz_kernel *kernel;
	kz_array *array;
	char text[1024] = "";
	if (!array_check_is_cpu(_i / (int)countof(elements))) {
		return;
	}
	array_check_open(elements[row].checks);
	kz_module_release(mod);
	ok(kz_module_compile(&mod, dev, half, NULL, &err));
	ok(kz_module_kernel(&kernel, mod, "pick", &err));
	ok(kz_array_create(&array, dev, KZ_I16, elements[row].shape, &err));
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(arrays[0], array, elements[row].first)));
	ck_assert_int_eq(kz_device_synchronize(dev, &err), elements[row].status);
	ok(kz_device_reports(dev, keep_text, text, NULL));
	ck_assert_msg(strstr(text, elements[row].said) != NULL, "'%s' is not in: %s",
		elements[row].said, text);
	kz_array_release(array);
	array_check_close();
}
END_TEST

START_TEST(memory_of_a_released_array_is_a_fault)
{
	if (!array_check_is_cpu(_i)) {
		return;
	}
	array_check_open("memory");
	kz_kernel *kernel;
	uint64_t address = kz_array_address(arrays[1]);
	ok(kz_module_kernel(&kernel, mod, "pick", &err));
	kz_array_release(arrays[1]);
	arrays[1] = NULL;
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(2, 1, 1), NULL, &err,
		KZ_ARGS(arrays[0], KZ_DEVPTR(address), 0)));
	ck_assert_int_eq(kz_device_synchronize(dev, &err), KZ_FAULT);
	check_fault("inside the 40-byte allocation");
	check_fault(", which was freed; block (0,0,0), thread (0,0,0)");
	array_check_close();
}
END_TEST

/* How a source comes to the device: with a name or without, compiled before, and where nothing can
 * be kept. */
enum way { WAY_NAMED, WAY_NAMELESS, WAY_IMAGE, WAY_NO_FOLDER, WAYS };

static void array_check_compile(enum way way)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_image *image = NULL;
	options.name = way == WAY_NAMED || way == WAY_NO_FOLDER ? "pick.cu" : NULL;
	kz_module_release(mod);
	if (way == WAY_IMAGE) {
		ok(kz_compile(&image, source, NULL, &err));
		ok(kz_module_load_image(&mod, dev, image, &err));
		kz_image_release(image);
	} else {
		ok(kz_module_compile(&mod, dev, source, &options, &err));
	}
}

/* A user opens the file that a fault names. */
START_TEST(the_place_of_a_fault_is_in_a_file_that_exists)
{
	char text[sizeof(source)] = "";
	const enum way way = (enum way)(_i % WAYS);
	if (!array_check_is_cpu(_i / WAYS)) {
		return;
	}
	array_check_open("memory");
	if (way == WAY_NO_FOLDER) {
		setenv("KUDZU_CACHE_DIR", "/dev/null/none", 1);
	}
	array_check_compile(way);
	ck_assert_int_eq(pick(9), KZ_FAULT);
	ck_assert_int_eq(err.line, 3);
	if (way == WAY_NO_FOLDER) {
		ck_assert_str_eq(err.file, "/string of the program");
	} else {
		FILE *file = fopen(err.file, "r");
		ck_assert_msg(file != NULL, "%s", err.file);
		ck_assert_uint_eq(fread(text, 1, sizeof(text), file), sizeof(text) - 1);
		ck_assert_str_eq(text, source);
		fclose(file);
	}
	array_check_close();
}
END_TEST

/* An image without line information is the same with checks and without. */
static void array_check_open_image(const char *checks, kz_image *image)
{
	array_check_open(checks);
	kz_module_release(mod);
	ok(kz_module_load_image(&mod, dev, image, &err));
}

START_TEST(a_kernel_that_was_cached_without_checks_is_checked)
{
	kz_image *image;
	if (!array_check_is_cpu(_i)) {
		return;
	}
	err = (kz_error)KZ_ERROR_INIT;
	ok(kz_compile(&image, source, NULL, &err));
	array_check_open_image("", image);
	ok(pick(9));
	array_check_close();
	array_check_open_image("memory", image);
	ck_assert_int_eq(pick(9), KZ_FAULT);
	ck_assert_ptr_nonnull(strstr(err.log, "0 bytes past the end of the 40-byte allocation"));
	array_check_close();
	kz_image_release(image);
}
END_TEST

/* Which line of PTX has the first load from global memory. */
static int line_of_load(const kz_image *image)
{
	int line = 1;
	const char *at = kz_image_data(image, NULL);
	const char *load = strstr(at, "ld.global");
	ck_assert_ptr_nonnull(load);
	for (; at < load; at++) {
		line += *at == '\n';
	}
	return line;
}

/* The image was made without line information. */
START_TEST(a_report_without_line_information_names_the_line_of_the_ptx)
{
	kz_image *image;
	char text[1024] = "", said[64];
	if (!array_check_is_cpu(_i)) {
		return;
	}
	err = (kz_error)KZ_ERROR_INIT;
	ok(kz_compile(&image, source, NULL, &err));
	array_check_open_image("memory", image);
	snprintf(said, sizeof(said), "kernel 'pick', PTX line %d: error: read of 4 bytes at ",
		line_of_load(image));
	kz_image_release(image);
	ck_assert_int_eq(pick(9), KZ_FAULT);
	ok(kz_device_reports(dev, keep_text, text, NULL));
	ck_assert_msg(strstr(text, said) == text, "'%s' does not begin: %s", said, text);
	array_check_close();
}
END_TEST

static const char *const strange[] = {"on", "Memory", "1", "memory ", "init,"};

START_TEST(an_unknown_check_is_an_error_that_says_what_is_expected)
{
	char said[128];
	const char *value = strange[_i % (int)countof(strange)];
	if (!array_check_is_cpu(_i / (int)countof(strange))) {
		return;
	}
	err = (kz_error)KZ_ERROR_INIT;
	setenv("KUDZU_CHECK", value, 1);
	ck_assert_int_eq(kz_device_open(&dev, "cpu", &err), KZ_INVALID);
	snprintf(said, sizeof(said), "KUDZU_CHECK is '%s': expected a list of memory, init, race, "
		"sync, nan, int, coalesce, bank, or all", value);
	ck_assert_msg(strstr(err.log, said) != NULL, "'%s' is not in: %s", said, err.log);
	kz_error_clear(&err);
}
END_TEST

/* What kz_device_reports has told. */
static int told;
static kz_report last;
static char last_text[1024];

static void tell(void *user, const kz_report *report)
{
	ck_assert_ptr_eq(user, &told);
	last = *report;
	last.check = strcmp(report->check, "memory") == 0 ? "memory" : "";
	ck_assert_str_eq(report->kernel, "pick");
	ck_assert_ptr_nonnull(strstr(report->sides[0].file, "pick.cu"));
	snprintf(last_text, sizeof(last_text), "%s", report->text);
	told++;
}

/* By a variable and by an option. */
START_TEST(a_report_is_a_value_and_a_text)
{
	const bool by_option = _i % 2;
	if (!array_check_is_cpu(_i / 2)) {
		return;
	}
	setenv("KUDZU_CHECK_PRINT", "0", 1);
	told = 0;
	if (by_option) {
		ok(kz_device_open(&dev, "cpu", &err));
		fails(kz_device_reports(dev, tell, &told, &err), KZ_STATE, "no check is on");
		ok(kz_device_set_option(dev, KZ_OPTION_CHECK, KZ_CHECK_MEMORY, &err));
	}
	array_check_open(by_option ? "" : "memory");
	ok(kz_device_reports(dev, tell, &told, &err));
	ck_assert_int_eq(told, 0);
	ck_assert_int_eq(pick(9), KZ_FAULT);
	kz_error_clear(&err);
	ok(kz_device_reports(dev, tell, &told, &err));
	ck_assert_int_eq(told, 1);
	ck_assert_str_eq(last.check, "memory");
	ck_assert_int_eq(last.count, 1);
	ck_assert_int_eq(last.side_count, 1);
	ck_assert_int_eq(last.sides[0].line, 3);
	ck_assert_int_eq(last.sides[0].column, 2);
	ck_assert_int_eq(last.sides[0].thread[0], 1);
	ck_assert_int_eq(last.sides[0].block[0], 0);
	ck_assert_ptr_nonnull(strstr(last_text,
		"pick.cu:3:2: error: read of 4 bytes at address 0x"));
	ck_assert_ptr_nonnull(strstr(last_text, "0 bytes past the end of the 40-byte allocation"));
	ck_assert_ptr_nonnull(strstr(last_text, "[memory]\n    3 | \tout[threadIdx.x] = in["));
	ck_assert_ptr_nonnull(strstr(last_text, ";\n      | \t^\nnote: kernel 'pick', block "
		"(0,0,0), thread (1,0,0)\n"));
	array_check_close();
}
END_TEST

START_TEST(a_check_on_a_gpu_is_an_error_that_names_compute_sanitizer)
{
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open_stub("cc=80");
	ck_assert_int_eq(kz_device_set_option(dev, KZ_OPTION_CHECK, KZ_CHECK_MEMORY, &err),
		KZ_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.hint, "compute-sanitizer --tool memcheck"));
	kz_error_clear(&err);
	ok(kz_device_set_option(dev, KZ_OPTION_CHECK, 0, &err));
	fails(kz_device_set_option(dev, KZ_OPTION_CHECK, 1 << 20, &err), KZ_INVALID,
		"expected a set of kz_check for KZ_OPTION_CHECK, got 1048576");
	fails(kz_device_reports(dev, tell, &told, &err), KZ_STATE, "no check is on");
	fails(kz_device_reports(dev, NULL, NULL, &err), KZ_INVALID, "expected a function");
	support_close_stub(dev);
	setenv("KUDZU_CHECK", "memory", 1);
	ck_assert_int_eq(kz_device_open(&dev, "cuda", &err), KZ_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.hint, "compute-sanitizer --tool memcheck"));
	kz_error_clear(&err);
}
END_TEST

START_TEST(a_profile_on_a_gpu_is_an_error_that_names_nsight_compute)
{
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open_stub("cc=80");
	support_close_stub(dev);
	setenv("KUDZU_PROFILE", "/dev/null", 1);
	ck_assert_int_eq(kz_device_open(&dev, "cuda", &err), KZ_UNSUPPORTED);
	ck_assert_msg(strstr(err.message, "cannot profile kernels"), "%s", err.message);
	ck_assert_ptr_nonnull(strstr(err.hint, "ncu --set full --import-source yes PROGRAM"));
	kz_error_clear(&err);
}
END_TEST

SUITE(array_check)
{
	const int count = support_device_count();
	Suite *s = suite_create("array_check");
	TCase *tc = suite_add_case(s, "checks");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, an_element_beside_an_array_is_a_fault_that_names_the_array, 0,
		count * (int)countof(rows));
	tcase_add_loop_test(tc, an_element_is_named_in_each_report, 0,
		count * (int)countof(elements));
	tcase_add_loop_test(tc, memory_of_a_released_array_is_a_fault, 0, count);
	tcase_add_loop_test(tc, the_place_of_a_fault_is_in_a_file_that_exists, 0, count * WAYS);
	tcase_add_loop_test(tc, a_kernel_that_was_cached_without_checks_is_checked, 0, count);
	tcase_add_loop_test(tc, a_report_without_line_information_names_the_line_of_the_ptx, 0,
		count);
	tcase_add_loop_test(tc, an_unknown_check_is_an_error_that_says_what_is_expected, 0,
		count * (int)countof(strange));
	tcase_add_loop_test(tc, a_report_is_a_value_and_a_text, 0, 2 * count);
	tcase_add_test(tc, a_check_on_a_gpu_is_an_error_that_names_compute_sanitizer);
	tcase_add_test(tc, a_profile_on_a_gpu_is_an_error_that_names_nsight_compute);
	return s;
}
