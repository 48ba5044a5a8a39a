/* SPDX-License-Identifier: MIT */
/* src/lib/core/live.c: a wild access on the CPU device names the array or buffer that it missed. */
#include "base/common.h"

#include "support/suite.h"
#include "support/support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kz_error err;
static kz_device *dev;
static kz_module *mod;
static kz_array *arrays[3];

static const char source[] = "__device__ int table[4];\n"
	"extern \"C\" __global__ void peek(float *out, const float *in, long long i)\n"
	"{\n"
	"	*out = in[i];\n"
	"}\n"
	"extern \"C\" __global__ void look(int *out, int i)\n"
	"{\n"
	"	*out = table[i];\n"
	"}\n";

enum { ELEMENTS = 10, SIZE = 40, BUFFER_SIZE = 3 << 20 };

static bool live_open(int index)
{
	if (strcmp(support_device_name(index), "cpu") != 0) {
		return false;
	}
	err = (kz_error)KZ_ERROR_INIT;
	ok(kz_device_open(&dev, "cpu", &err));
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
	for (size_t i = 0; i < countof(arrays); i++) {
		ok(kz_array_zeros(&arrays[i], dev, KZ_F32, KZ_SHAPE(ELEMENTS), &err));
	}
	return true;
}

static void live_close(void)
{
	for (size_t i = 0; i < countof(arrays); i++) {
		kz_array_release(arrays[i]);
		arrays[i] = NULL;
	}
	kz_module_release(mod);
	kz_device_close(dev);
	kz_error_clear(&err);
}

/* Read a float of an address, which must fail. */
static void peek(uint64_t address)
{
	kz_kernel *kernel;
	ok(kz_module_kernel(&kernel, mod, "peek", &err));
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(arrays[0], KZ_DEVPTR(address), 0)));
	ck_assert_int_eq(kz_device_synchronize(dev, &err), KZ_FAULT);
	ck_assert_ptr_nonnull(strstr(err.log, "kernel 'peek': access to address 0x"));
}

static void says(const char *expected)
{
	ck_assert_msg(strstr(err.log, expected) != NULL, "'%s' is not in: %s", expected, err.log);
}

static void says_relation(uint64_t distance, const char *relation, int64_t size, uint64_t address,
	const char *what)
{
	char text[200];
	snprintf(text, sizeof(text), ", which is %" PRIu64 " bytes %s the %" PRId64
		"-byte allocation at 0x%" PRIx64 ", %s; block (0,0,0), thread (0,0,0)", distance,
		relation, size, address, what);
	says(text);
}

/* The first and the last array in memory. */
static void find_ends(uint64_t *first, uint64_t *last)
{
	*first = UINT64_MAX;
	*last = 0;
	for (size_t i = 0; i < countof(arrays); i++) {
		uint64_t address = arrays[i] ? kz_array_address(arrays[i]) : 0;
		*first = address && address < *first ? address : *first;
		*last = address > *last ? address : *last;
	}
}

/* The segment of the arrays has 2 MiB. */
static const int64_t beyond[] = {2500000, 3 << 20, (int64_t)5 << 30};

START_TEST(an_access_beyond_the_segment_names_the_last_array)
{
	if (live_open(_i / (int)countof(beyond))) {
		uint64_t first, last;
		const int64_t step = beyond[_i % (int)countof(beyond)];
		find_ends(&first, &last);
		peek(last + SIZE + (uint64_t)step);
		says_relation((uint64_t)step, "past the end of", SIZE, last,
			"an array of 10 float32");
		live_close();
	}
}
END_TEST

START_TEST(an_access_before_the_segment_names_the_first_array)
{
	if (live_open(_i / (int)countof(beyond))) {
		uint64_t first, last;
		const int64_t step = beyond[_i % (int)countof(beyond)];
		find_ends(&first, &last);
		peek(first - (uint64_t)step);
		says_relation((uint64_t)step, "before", SIZE, first, "an array of 10 float32");
		live_close();
	}
}
END_TEST

START_TEST(a_large_buffer_is_named_as_one)
{
	if (live_open(_i)) {
		kz_buffer *buffer = NULL;
		ok(kz_buffer_create(&buffer, dev, BUFFER_SIZE, &err));
		const uint64_t address = kz_buffer_address(buffer);
		peek(address + BUFFER_SIZE + (1 << 20));
		says_relation(1 << 20, "past the end of", BUFFER_SIZE, address, "a buffer");
		kz_buffer_release(buffer);
		live_close();
	}
}
END_TEST

START_TEST(a_released_array_is_not_named)
{
	if (live_open(_i)) {
		uint64_t first, last, all;
		find_ends(&first, &all);
		kz_array_release(arrays[2]);
		arrays[2] = NULL;
		find_ends(&first, &last);
		ck_assert_uint_lt(last, all);
		peek(last + SIZE + (3 << 20));
		says_relation(3 << 20, "past the end of", SIZE, last, "an array of 10 float32");
		live_close();
	}
}
END_TEST

START_TEST(what_is_near_no_array_is_not_said_to_be)
{
	if (live_open(_i)) {
		peek(64);
		says("address 0x40, which is in no allocation; block (0,0,0)");
		live_close();
	}
}
END_TEST

START_TEST(a_variable_of_a_module_is_no_array)
{
	if (live_open(_i)) {
		kz_kernel *kernel;
		ok(kz_module_kernel(&kernel, mod, "look", &err));
		ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
			KZ_ARGS(kz_array_buffer(arrays[0]), 10000)));
		ck_assert_int_eq(kz_device_synchronize(dev, &err), KZ_FAULT);
		says("39984 bytes past the end of the 16-byte allocation at 0x");
		ck_assert_ptr_null(strstr(err.log, "an array of"));
		live_close();
	}
}
END_TEST

START_TEST(the_message_names_the_kernel_and_the_hint_how_to_get_the_line)
{
	if (live_open(_i)) {
		peek(64);
		ck_assert_str_eq(err.message,
			"kernel 'peek' made an illegal memory access");
		ck_assert_str_eq(err.call, "cuCtxSynchronize");
		ck_assert_str_eq(err.hint, "set KUDZU_CHECK=memory, or use kudzu run --check, to "
			"get the line of the kernel");
		kz_error_clear(&err);
		ck_assert_int_eq(kz_device_check(dev, &err), KZ_FAULT);
		ck_assert_str_eq(err.message, "cpu was lost by an earlier failure: kernel 'peek' "
			"made an illegal memory access");
		live_close();
	}
}
END_TEST

START_TEST(a_launch_with_host_memory_fails_once_and_its_argument_is_named)
{
	if (live_open(_i)) {
		kz_kernel *kernel;
		float in[2] = {1, 2}, out[1];
		char text[4096];
		ok(kz_module_kernel(&kernel, mod, "peek", &err));
		ck_assert_int_eq(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
			KZ_ARGS(KZ_OUT(out, sizeof(out)), KZ_IN(in, sizeof(in)), 5 << 20)),
			KZ_FAULT);
		says("bytes past the end of the 8-byte allocation at 0x");
		says(", the buffer of argument 2; block (0,0,0)");
		kz_error_format(&err, text, sizeof(text));
		ck_assert_msg(!strstr(text, "later failure"), "%s", text);
		live_close();
	}
}
END_TEST

START_TEST(later_calls_repeat_it)
{
	if (live_open(_i)) {
		kz_array *more = NULL;
		peek(kz_array_address(arrays[2]) + (3 << 20));
		kz_error_clear(&err);
		ck_assert_int_eq(kz_array_zeros(&more, dev, KZ_F32, KZ_SHAPE(4), &err), KZ_FAULT);
		says(", an array of 10 float32; block (0,0,0)");
		live_close();
	}
}
END_TEST

SUITE(live)
{
	const int count = support_device_count();
	Suite *s = suite_create("live");
	TCase *tc = suite_add_case(s, "missed");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, an_access_beyond_the_segment_names_the_last_array, 0,
		count * (int)countof(beyond));
	tcase_add_loop_test(tc, an_access_before_the_segment_names_the_first_array, 0,
		count * (int)countof(beyond));
	tcase_add_tests(tc, count, a_large_buffer_is_named_as_one, a_released_array_is_not_named,
		what_is_near_no_array_is_not_said_to_be, a_variable_of_a_module_is_no_array,
		a_launch_with_host_memory_fails_once_and_its_argument_is_named,
		later_calls_repeat_it,
		the_message_names_the_kernel_and_the_hint_how_to_get_the_line);
	return s;
}
