/* SPDX-License-Identifier: MIT */
/*
 * KUDZU_CPU_GUARD in a program that uses the library as it is, pool and all: an access to the first
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
static void array_guard_open(const char *guard)
{
	setenv("KUDZU_CPU_GUARD", guard, 1);
	err = (kz_error)KZ_ERROR_INIT;
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.name = "pick.cu";
	ok(kz_device_open(&dev, "cpu", &err));
	ok(kz_module_compile(&mod, dev, source, &options, &err));
	for (size_t i = 0; i < countof(arrays); i++) {
		ok(kz_array_zeros(&arrays[i], dev, KZ_F32, KZ_SHAPE(10), &err));
	}
}

static void array_guard_close(void)
{
	for (size_t i = 0; i < countof(arrays); i++) {
		kz_array_release(arrays[i]);
	}
	kz_module_release(mod);
	kz_device_close(dev);
	kz_error_clear(&err);
}

static bool array_guard_is_cpu(int index)
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
	const char *guard;
	int use_pool; /* what the program says; -1: nothing */
	int good, bad;
	const char *said, *thread;
} rows[] = {
	{"end", -1, 8, 9, "0 bytes past the end of the 40-byte allocation", "thread (1,0,0)"},
	{"end", 1, 8, 10, "0 bytes past the end of the 40-byte allocation", "thread (0,0,0)"},
	{"1", 0, 8, 11, "4 bytes past the end of the 40-byte allocation", "thread (0,0,0)"},
	{"start", -1, 0, -1, "4 bytes before the 40-byte allocation", "thread (0,0,0)"},
	{"start", 1, 0, -3, "12 bytes before the 40-byte allocation", "thread (0,0,0)"},
};

START_TEST(an_element_beside_an_array_is_a_fault_that_names_the_array)
{
	const int row = _i % (int)countof(rows);
	if (!array_guard_is_cpu(_i / (int)countof(rows))) {
		return;
	}
	array_guard_open(rows[row].guard);
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
	array_guard_close();
}
END_TEST

START_TEST(memory_of_a_released_array_is_a_fault)
{
	if (!array_guard_is_cpu(_i)) {
		return;
	}
	array_guard_open("end");
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
	array_guard_close();
}
END_TEST

/* How a source comes to the device: with a name or without, compiled before, and where nothing can
 * be kept. */
enum way { WAY_NAMED, WAY_NAMELESS, WAY_IMAGE, WAY_NO_FOLDER, WAYS };

static void array_guard_compile(enum way way)
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
	if (!array_guard_is_cpu(_i / WAYS)) {
		return;
	}
	array_guard_open("end");
	if (way == WAY_NO_FOLDER) {
		setenv("KUDZU_CACHE_DIR", "/dev/null/none", 1);
	}
	array_guard_compile(way);
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
	array_guard_close();
}
END_TEST

static const char *const strange[] = {"on", "END", "2", "end ", "both"};

START_TEST(a_strange_guard_is_an_error_that_says_what_is_expected)
{
	char said[96];
	const char *value = strange[_i % (int)countof(strange)];
	if (!array_guard_is_cpu(_i / (int)countof(strange))) {
		return;
	}
	err = (kz_error)KZ_ERROR_INIT;
	setenv("KUDZU_CPU_GUARD", value, 1);
	ck_assert_int_eq(kz_device_open(&dev, "cpu", &err), KZ_INVALID);
	snprintf(said, sizeof(said), "KUDZU_CPU_GUARD is '%s': expected end or 1, start, init, "
		"or 0",
		value);
	ck_assert_msg(strstr(err.log, said) != NULL, "'%s' is not in: %s", said, err.log);
	kz_error_clear(&err);
}
END_TEST

/* An array of kz_array_create, of which only a part is assigned. */
START_TEST(an_element_that_was_never_written_is_told_when_it_is_read)
{
	static const float half[5];
	kz_array *begin = NULL;
	if (!array_guard_is_cpu(_i)) {
		return;
	}
	array_guard_open("init");
	kz_array_release(arrays[1]);
	ok(kz_array_create(&arrays[1], dev, KZ_F32, KZ_SHAPE(10), &err));
	ok(kz_array_slice(&begin, arrays[1], KZ_AT(KZ_SLICE(0, 5)), &err));
	ok(kz_array_set(begin, half, sizeof(half), &err));
	ok(pick(3));
	ck_assert_int_eq(pick(4), KZ_FAULT);
	ck_assert_ptr_nonnull(strstr(err.log, "kernel 'pick': read of 4 bytes at address 0x"));
	ck_assert_ptr_nonnull(strstr(err.log, " before anything was written there, which is inside "
		"the 40-byte allocation"));
	ck_assert_ptr_nonnull(strstr(err.log, "thread (1,0,0)"));
	ck_assert_int_eq(err.line, 3);
	kz_error_clear(&err);
	kz_array_release(begin);
	array_guard_close();
}
END_TEST

SUITE(array_guard)
{
	const int count = support_device_count();
	Suite *s = suite_create("array_guard");
	TCase *tc = suite_add_case(s, "guard");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, an_element_beside_an_array_is_a_fault_that_names_the_array, 0,
		count * (int)countof(rows));
	tcase_add_loop_test(tc, an_element_that_was_never_written_is_told_when_it_is_read, 0,
		count);
	tcase_add_loop_test(tc, memory_of_a_released_array_is_a_fault, 0, count);
	tcase_add_loop_test(tc, the_place_of_a_fault_is_in_a_file_that_exists, 0, count * WAYS);
	tcase_add_loop_test(tc, a_strange_guard_is_an_error_that_says_what_is_expected, 0,
		count * (int)countof(strange));
	return s;
}
