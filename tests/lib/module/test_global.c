/* SPDX-License-Identifier: MIT */
/* src/lib/module/global.c: parts of variables.  Whole ones are in suites module and inspect. */
#include "base/common.h"

#include "support/device_test.h"
#include "support/suite.h"

static const char source[] =
	"__device__ int d[2][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}};\n"
	"__constant__ short c[5] = {10, 11, 12, 13, 14};\n"
	"__managed__ double m[3] = {0.5, 1.5, 2.5};\n"
	"struct point { float x, y; };\n"
	"__device__ point p[3];\n"
	"__global__ void sum(long long *out)\n"
	"{\n"
	"	*out = 0;\n"
	"	for (int i = 0; i < 8; i++) { *out = *out * 10 + d[i / 4][i % 4]; }\n"
	"	for (int i = 0; i < 5; i++) { *out = *out * 100 + c[i]; }\n"
	"}\n";

static kz_module *mod;

static void open_module(int index)
{
	open_kernels(index);
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
}

static void close_module(void)
{
	kz_module_release(mod);
	teardown();
}

#define GLOBAL_TEST(name) TEST_BETWEEN(open_module(_i), close_module(), name)

static long long sum(void)
{
	long long value = 0;
	kz_kernel *kernel = NULL;
	ok(kz_module_kernel(&kernel, mod, "sum", &err));
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(KZ_INOUT(&value, sizeof(value)))));
	return value;
}

GLOBAL_TEST(a_part_is_written_and_the_rest_stays)
{
	const int ints[2] = {9, 8};
	const short shorts[2] = {77, 88};
	ck_assert_int_eq(sum() / 10000000000, 1234567);
	ok(kz_module_set_global_at(mod, "d", 12, ints, 8, &err)); /* over the end of a row */
	ok(kz_module_set_global_at(mod, "c", 8, shorts, 2, &err));
	ck_assert_int_eq(sum(), 1298567 * 10000000000 + 1011121377);
	ok(kz_module_set_values_at(mod, "d", 6, KZ_I32, ints, 2, &err));
	ok(kz_module_set_values_at(mod, "c", 0, KZ_I16, shorts, 2, &err));
	ck_assert_int_eq(sum(), 1298598 * 10000000000 + 7788121377);
	ok(kz_module_set_values_at(mod, "c", 5, KZ_I16, shorts, 0, &err)); /* nothing at the end */
	ok(kz_module_set_global_at(mod, "d", 32, ints, 0, &err));
	ck_assert_int_eq(sum(), 1298598 * 10000000000 + 7788121377);
}

GLOBAL_TEST(a_part_is_read)
{
	int ints[4] = {-1, -1, -1, -1};
	short one = 0;
	double doubles[2] = {0};
	const float points[2][2] = {{1, 2}, {3, 4}};
	float point[2] = {0};
	kz_dtype dtype = 0;
	ok(kz_module_get_global_at(mod, "d", 8, ints, 12, &err));
	ck_assert(ints[0] == 2 && ints[1] == 3 && ints[2] == 4 && ints[3] == -1);
	ok(kz_module_get_values_at(mod, "d", 7, KZ_U32, &ints[3], 1, &err));
	ck_assert(ints[2] == 4 && ints[3] == 7);
	ok(kz_module_get_global_at(mod, "c", 2, &one, 2, &err));
	ck_assert_int_eq(one, 11);
	ok(kz_module_get_values_at(mod, "m", 1, KZ_F64, doubles, 2, &err));
	ck_assert(doubles[0] == 1.5 && doubles[1] == 2.5);
	ok(kz_dtype_register(&dtype, "point", 8, &err));
	ok(kz_module_set_values_at(mod, "p", 1, dtype, points, 2, &err));
	ok(kz_module_get_values_at(mod, "p", 2, dtype, point, 1, &err));
	ck_assert(point[0] == 3 && point[1] == 4);
}

GLOBAL_TEST(a_part_beyond_the_variable_is_refused_before_it_is_copied)
{
	static const struct {
		int64_t offset, size;
		const char *text;
	} parts[] = {
		{25, 8, "variable 'd' has 32 bytes, got a part of 8 bytes at byte 25"},
		{33, 0, "0 bytes at byte 33"},
		{-4, 4, "4 bytes at byte -4"},
		{4, -4, "-4 bytes at byte 4"},
		{0, 33, "33 bytes at byte 0"},
		{INT64_MAX, 1, "at byte 9223372036854775807"},
		{1, INT64_MAX, "a part of 9223372036854775807 bytes"},
		{INT64_MIN, INT64_MAX, "at byte -9223372036854775808"},
	};
	char bytes[64] = {0};
	for (size_t i = 0; i < countof(parts); i++) {
		fails(kz_module_set_global_at(mod, "d", parts[i].offset, bytes, parts[i].size,
			&err), KZ_RANGE, parts[i].text);
		fails(kz_module_get_global_at(mod, "d", parts[i].offset, bytes, parts[i].size,
			&err), KZ_RANGE, parts[i].text);
	}
	fails(kz_module_set_values_at(mod, "d", 7, KZ_I32, bytes, 2, &err), KZ_RANGE,
		"a part of 8 bytes at byte 28");
	fails(kz_module_get_values_at(mod, "d", -1, KZ_I32, bytes, 1, &err), KZ_RANGE,
		"expected the index of a value, got -1");
	fails(kz_module_get_values_at(mod, "d", INT64_MAX, KZ_I32, bytes, 1, &err), KZ_RANGE,
		"the index of a value");
	fails(kz_module_get_values_at(mod, "d", 1, KZ_I32, bytes, INT64_MAX / 4, &err), KZ_RANGE,
		"at byte 4");
	fails(kz_module_get_values_at(mod, "d", 1, KZ_I32, bytes, -1, &err), KZ_RANGE,
		"a count of values, got -1");
	ck_assert_int_eq(sum(), 1234567 * 10000000000 + 1011121314);
}

GLOBAL_TEST(parts_of_what_is_not_there_are_refused)
{
	char bytes[8] = {0};
	fails(kz_module_set_values_at(mod, "d", 0, KZ_F32, bytes, 1, &err), KZ_ARGUMENT,
		"variable 'd' is int [2][4], got float32");
	fails(kz_module_set_global_at(mod, "e", 0, bytes, 1, &err), KZ_NOT_FOUND, "'e'");
	fails(kz_module_get_values_at(mod, "e", 0, KZ_I8, bytes, 1, &err), KZ_NOT_FOUND, "'e'");
	fails(kz_module_set_global_at(mod, "d", 0, NULL, 4, &err), KZ_INVALID, "NULL");
	fails(kz_module_get_global_at(mod, NULL, 0, bytes, 4, &err), KZ_INVALID, "variable");
	fails(kz_module_set_values_at(NULL, "d", 0, KZ_I32, bytes, 1, &err), KZ_INVALID, "module");
}

SUITE(global)
{
	Suite *s = suite_create("global");
	TCase *tc = suite_add_case(s, "parts");
	tcase_add_tests(tc, support_device_count(), a_part_is_written_and_the_rest_stays,
		a_part_is_read, a_part_beyond_the_variable_is_refused_before_it_is_copied,
		parts_of_what_is_not_there_are_refused);
	return s;
}
