/* SPDX-License-Identifier: MIT */
/* The table of element types, and the registration of structs. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/dtype.h"
#include "support/support.h"
#include "support/suite.h"

#include <pthread.h>
#include <string.h>

static kz_error err;

static const struct {
	kz_dtype dtype;
	uint32_t number;
	int64_t size;
	const char *name;
	const char *ctype;
} rows[] = {
	{KZ_BOOL, 1, 1, "bool", "bool"},
	{KZ_I8, 2, 1, "int8", "signed char"},
	{KZ_I16, 3, 2, "int16", "short"},
	{KZ_I32, 4, 4, "int32", "int"},
	{KZ_I64, 5, 8, "int64", "long long"},
	{KZ_U8, 6, 1, "uint8", "unsigned char"},
	{KZ_U16, 7, 2, "uint16", "unsigned short"},
	{KZ_U32, 8, 4, "uint32", "unsigned int"},
	{KZ_U64, 9, 8, "uint64", "unsigned long long"},
	{KZ_F16, 10, 2, "float16", "__half"},
	{KZ_BF16, 11, 2, "bfloat16", "__nv_bfloat16"},
	{KZ_F32, 12, 4, "float32", "float"},
	{KZ_F64, 13, 8, "float64", "double"},
	{KZ_C64, 14, 8, "complex64", "float2"},
	{KZ_C128, 15, 16, "complex128", "double2"},
	{KZ_F8_E4M3, 16, 1, "float8_e4m3fn", "__nv_fp8_e4m3"},
	{KZ_F8_E5M2, 17, 1, "float8_e5m2", "__nv_fp8_e5m2"},
};

START_TEST(every_built_in_type_has_its_number_size_and_names)
{
	ck_assert_uint_eq(rows[_i].dtype, rows[_i].number);
	ck_assert_int_eq(kz_dtype_size(rows[_i].dtype), rows[_i].size);
	ck_assert_str_eq(kz_dtype_name(rows[_i].dtype), rows[_i].name);
	ck_assert_str_eq(kz_dtype_ctype(rows[_i].dtype), rows[_i].ctype);
}
END_TEST

START_TEST(a_number_that_is_no_type_has_no_size_and_no_name)
{
	static const kz_dtype none[] = {0, 18, 0xffff, 0x10000, 0x10001, UINT32_MAX};
	for (size_t i = 0; i < countof(none); i++) {
		ck_assert_int_eq(kz_dtype_size(none[i]), 0);
		ck_assert_ptr_null(kz_dtype_name(none[i]));
		ck_assert_ptr_null(kz_dtype_ctype(none[i]));
	}
}
END_TEST

/* By numpy's names, which begin with the kind. */
START_TEST(a_kind_is_that_of_the_name)
{
	static const struct {
		const char *prefix;
		unsigned kind;
	} kinds[] = {{"bool", DTYPE_BOOL}, {"int", DTYPE_SIGNED}, {"uint", DTYPE_UNSIGNED},
		{"float8", DTYPE_STORAGE}, {"float", DTYPE_FLOAT}, {"bfloat", DTYPE_FLOAT},
		{"complex", DTYPE_COMPLEX}};
	const kz_dtype dtype = rows[_i].dtype;
	size_t k = 0;
	while (strncmp(rows[_i].name, kinds[k].prefix, strlen(kinds[k].prefix)) != 0) {
		k++;
	}
	ck_assert_uint_eq(dtype_kind(dtype), kinds[k].kind);
	ck_assert_int_eq(dtype_is_exact(dtype), kinds[k].kind < DTYPE_FLOAT);
	ck_assert_int_eq(dtype_is_inexact(dtype), kinds[k].kind == DTYPE_FLOAT
		|| kinds[k].kind == DTYPE_COMPLEX);
	ck_assert_int_eq(dtype_is_real(dtype), kinds[k].kind <= DTYPE_FLOAT);
	ck_assert_uint_eq(dtype_total(dtype), kinds[k].kind == DTYPE_UNSIGNED ? KZ_U64
		: kinds[k].kind < DTYPE_FLOAT ? KZ_I64 : dtype);
	ck_assert_int_eq(dtype_is_number(dtype), kinds[k].kind != DTYPE_STORAGE);
	ck_assert(!dtype_is_struct(dtype));
}
END_TEST

START_TEST(other_numbers_have_the_kind_of_structs_or_none)
{
	ck_assert_uint_eq(dtype_kind(0), 0);
	ck_assert_uint_eq(dtype_kind(DTYPE_BUILTIN), 0);
	ck_assert_uint_eq(dtype_kind(KZ_DTYPE_STRUCT - 1), 0);
	ck_assert_uint_eq(dtype_kind(KZ_DTYPE_STRUCT), DTYPE_STRUCT);
	ck_assert_uint_eq(dtype_kind(UINT32_MAX), DTYPE_STRUCT);
	ck_assert_uint_eq(dtype_bit(KZ_DTYPE_STRUCT), dtype_bit(UINT32_MAX));
	ck_assert_uint_eq(dtype_next(0, DTYPE_COMPLEX), KZ_C64);
	ck_assert_uint_eq(dtype_next(KZ_C128, DTYPE_COMPLEX), 0);
	ck_assert_uint_eq(dtype_unsigned(KZ_I16), KZ_U16);
	ck_assert_uint_eq(dtype_unsigned(KZ_F16), KZ_F16);
}
END_TEST

START_TEST(a_struct_gets_the_same_number_each_time)
{
	kz_dtype point = 0, other = 0, again = 0;
	ok(kz_dtype_register(&point, "struct point", 12, &err));
	ck_assert_uint_eq(point, KZ_DTYPE_STRUCT);
	ok(kz_dtype_register(&other, "other", 1, &err));
	ck_assert_uint_eq(other, KZ_DTYPE_STRUCT + 1);
	ok(kz_dtype_register(&again, "struct point", 12, &err));
	ck_assert_uint_eq(again, point);
	ck_assert_int_eq(kz_dtype_size(point), 12);
	ck_assert_str_eq(kz_dtype_ctype(point), "struct point");
}
END_TEST

START_TEST(a_bad_registration_is_refused)
{
	kz_dtype out = 7;
	ok(kz_dtype_register(&out, "point", 12, &err));
	fails(kz_dtype_register(&out, "point", 16, &err), KZ_INVALID,
		"'point' is registered with 12 bytes, got 16");
	ck_assert_uint_eq(out, 0);
	fails(kz_dtype_register(NULL, "point", 12, &err), KZ_INVALID,
		"kz_dtype_register: out is NULL");
	fails(kz_dtype_register(&out, "", 16, &err), KZ_INVALID, "expected the name of a struct");
	fails(kz_dtype_register(&out, NULL, 16, &err), KZ_INVALID, "expected the name of a struct");
	fails(kz_dtype_register(&out, "empty", 0, &err), KZ_INVALID, "expected a size from 1");
	fails(kz_dtype_register(&out, "less", -1, &err), KZ_INVALID, "got -1");
	fails(kz_dtype_register(&out, "float", 4, &err), KZ_INVALID,
		"'float' is the built-in float32");
	fails(kz_dtype_register(&out, "long long", 8, &err), KZ_INVALID, "built-in int64");
	fails(kz_dtype_register(&out, "x; int y", 8, &err), KZ_INVALID,
		"the name of a struct, got 'x; i");
	fails(kz_dtype_register(&out, "x\ny", 8, &err), KZ_INVALID,
		"expected the name of a struct");
	ok(kz_dtype_register(&out, "ns::box<float *, 4>", 8, &err));
	ok(kz_dtype_register(&out, "float2", 8, &err));
}
END_TEST

START_TEST(a_registration_without_memory_leaves_nothing)
{
	kz_dtype out;
	for (long n = 0; n < 2; n++) {
		mem_fail_after(n);
		ck_assert_int_eq(kz_dtype_register(&out, "point", 12, &err), KZ_NO_MEMORY);
		kz_error_clear(&err);
		ck_assert_int_eq(kz_dtype_size(KZ_DTYPE_STRUCT), 0);
	}
	mem_fail_after(-1);
	ok(kz_dtype_register(&out, "point", 12, &err));
	ck_assert_uint_eq(out, KZ_DTYPE_STRUCT);
}
END_TEST

/* 100 structs, the same ones in every thread. */
static void *register_many(void *unused)
{
	for (int i = 0; i < 100; i++) {
		char name[32];
		kz_dtype dtype;
		snprintf(name, sizeof(name), "struct s%d", i);
		if (kz_dtype_register(&dtype, name, i + 1, NULL) || kz_dtype_size(dtype) != i + 1
		    || strcmp(kz_dtype_name(dtype), name) != 0) {
			return unused;
		}
	}
	return NULL;
}

START_TEST(threads_register_the_same_structs_once)
{
	pthread_t threads[4];
	for (size_t i = 0; i < countof(threads); i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, register_many, threads), 0);
	}
	for (size_t i = 0; i < countof(threads); i++) {
		void *failed;
		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
	}
	ck_assert_int_ne(kz_dtype_size(KZ_DTYPE_STRUCT + 99), 0);
	ck_assert_int_eq(kz_dtype_size(KZ_DTYPE_STRUCT + 100), 0);
}
END_TEST

SUITE(dtype)
{
	Suite *s = suite_create("dtype");
	TCase *tc = suite_add_case(s, "dtype");
	tcase_add_loop_test(tc, every_built_in_type_has_its_number_size_and_names, 0,
		countof(rows));
	tcase_add_loop_test(tc, a_kind_is_that_of_the_name, 0, countof(rows));
	tcase_add_tests(tc, 1, other_numbers_have_the_kind_of_structs_or_none,
		a_number_that_is_no_type_has_no_size_and_no_name,
		a_struct_gets_the_same_number_each_time, a_bad_registration_is_refused,
		a_registration_without_memory_leaves_nothing,
		threads_register_the_same_structs_once);
	return s;
}
