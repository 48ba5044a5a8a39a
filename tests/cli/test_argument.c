/* SPDX-License-Identifier: MIT */
/*
 * Arguments of kernels as words of the shell: what they come to, and what is said of a slip.
 */
#include "cli/argument.h"
#include "cli/numeral.h"
#include "support/suite.h"

#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct argument argument;
static struct argument_fault fault;

static void parse(const char *text)
{
	ck_assert_msg(argument_parse(&argument, text, &fault), "%s: %s", text, fault.message);
}

/* What an array or a scalar holds, freed by the next call. */
static void *filled(const char *text)
{
	static void *elements;
	parse(text);
	free(elements);
	elements = malloc((size_t)argument.count * NUMERAL_MAX_SIZE + 1);
	argument_fill(&argument, elements);
	return elements;
}

START_TEST(words_without_a_type)
{
	parse("null");
	ck_assert_int_eq(argument.kind, ARGUMENT_NULL);
	parse("@a/b.npy");
	ck_assert_int_eq(argument.kind, ARGUMENT_FILE);
	ck_assert_str_eq(argument.values, "a/b.npy");
	parse("-2.5e3");
	ck_assert_int_eq(argument.kind, ARGUMENT_NUMBER);
}
END_TEST

START_TEST(scalars_of_every_kind)
{
	ck_assert_int_eq(*(int32_t *)filled("i32:-5"), -5);
	ck_assert_int_eq(*(int64_t *)filled("i64:-9223372036854775808"), INT64_MIN);
	ck_assert_uint_eq(*(uint64_t *)filled("u64:18446744073709551615"), UINT64_MAX);
	ck_assert_uint_eq(*(uint16_t *)filled("u16:0xffff"), 65535);
	ck_assert_int_eq(*(int8_t *)filled("i8:-128"), -128);
	ck_assert_int_eq(*(uint8_t *)filled("bool:true"), 1);
	ck_assert_float_eq(*(float *)filled("f32:0.1"), 0.1f);
	ck_assert_double_eq(*(double *)filled("f64:0x1p-1074"), 0x1p-1074);
	ck_assert(isinf(*(float *)filled("f32:-inf")));
	ck_assert(isnan(*(double *)filled("f64:nan")));
	ck_assert_int_eq(argument.kind, ARGUMENT_SCALAR);
}
END_TEST

START_TEST(several_values_are_a_small_vector)
{
	const float *v = filled("f32:1,-2,3.5,4e1");
	ck_assert_int_eq(argument.count, 4);
	ck_assert(v[0] == 1 && v[1] == -2 && v[2] == 3.5f && v[3] == 40);
}
END_TEST

START_TEST(complex_numbers)
{
	const double *z = filled("c128[2]=1.5-2j,3");
	ck_assert(z[0] == 1.5 && z[1] == -2 && z[2] == 3 && z[3] == 0);
	const float *c = filled("c64:0+1j");
	ck_assert(c[0] == 0 && c[1] == 1);
}
END_TEST

/* By hand, from the formats: what rounds to even, subnormals, what carries. */
static const struct {
	const char *text;
	uint16_t bits;
} halves[] = {
	{"f16:1", 0x3c00}, {"f16:-2", 0xc000}, {"f16:0.1", 0x2e66}, {"f16:65504", 0x7bff},
	{"f16:65519", 0x7bff}, {"f16:0x1p-24", 0x0001}, {"f16:0x1.8p-24", 0x0002},
	{"f16:0x1p-25", 0x0000}, {"f16:0x1.ff8p-15", 0x03ff}, {"f16:0x1.fffp-15", 0x0400},
	{"f16:2049", 0x6800}, {"f16:2051", 0x6802}, {"f16:-0", 0x8000}, {"f16:inf", 0x7c00},
	{"f16:nan", 0x7e00}, {"bf16:1", 0x3f80}, {"bf16:3.14159", 0x4049}, {"bf16:257", 0x4380},
	{"bf16:259", 0x4382}, {"bf16:0x1p-133", 0x0001}, {"bf16:-inf", 0xff80},
	{"bf16:0x1.fep127", 0x7f7f},
	{"e4m3:1", 0x38}, {"e4m3:-448", 0xfe}, {"e4m3:464", 0x7e}, {"e4m3:nan", 0x7f},
	{"e4m3:inf", 0x7e}, {"e4m3:0x1p-9", 0x01}, {"e4m3:0x1p-10", 0x00}, {"e4m3:0x3p-10", 0x02},
	{"e4m3:17", 0x58}, {"e4m3:19", 0x5a}, {"e5m2:1", 0x3c}, {"e5m2:57344", 0x7b},
	{"e5m2:-0x1p-16", 0x81}, {"e5m2:9", 0x48}, {"e5m2:11", 0x4a},
};

START_TEST(floats_of_16_and_8_bits_are_rounded_to_even)
{
	uint16_t bits = 0;
	const void *element = filled(halves[_i].text);
	memcpy(&bits, element, (size_t)kz_dtype_size(argument.dtype));
	ck_assert_msg(bits == halves[_i].bits, "%s is %04x", halves[_i].text, bits);
}
END_TEST

START_TEST(arrays_have_shapes)
{
	parse("f64[2x3x4]");
	ck_assert_int_eq(argument.kind, ARGUMENT_ARRAY);
	ck_assert_int_eq(argument.shape.ndim, 3);
	ck_assert_int_eq(argument.shape.dims[2], 4);
	ck_assert_int_eq(argument.count, 24);
	ck_assert_int_eq(argument.fill, FILL_ZEROS);
	parse("u8[0]");
	ck_assert_int_eq(argument.count, 0);
}
END_TEST

START_TEST(arrays_are_filled)
{
	const int16_t *row = filled("i16[300]=arange");
	ck_assert(row[0] == 0 && row[299] == 299);
	const float *same = filled("f32[3]=-1.5");
	ck_assert(same[0] == -1.5f && same[2] == -1.5f);
	const uint32_t *list = filled("u32[2x2]=1,2,3,4");
	ck_assert(list[0] == 1 && list[3] == 4);
	const double *eye = filled("f64[2x3]=eye");
	ck_assert(eye[0] == 1 && eye[1] == 0 && eye[3] == 0 && eye[4] == 1 && eye[5] == 0);
	parse("f32[2]=empty");
	ck_assert_int_eq(argument.fill, FILL_NONE);
	const uint16_t *half = filled("f16[3]=arange");
	ck_assert(half[0] == 0 && half[1] == 0x3c00 && half[2] == 0x4000);
}
END_TEST

START_TEST(random_numbers_are_the_same_every_time)
{
	float first[1000];
	double sum = 0;
	memcpy(first, filled("f32[1000]=random"), sizeof(first));
	ck_assert_mem_eq(first, filled("f32[1000]=random"), sizeof(first));
	ck_assert_mem_ne(first, filled("f32[1000]=random:7"), sizeof(first));
	for (int i = 0; i < 1000; i++) {
		sum += first[i] >= 0 && first[i] < 1 ? (double)first[i] : INFINITY;
	}
	ck_assert_double_eq_tol(sum / 1000, 0.5, 0.05);
	const int8_t *bytes = filled("i8[1000]=random");
	int low = 100, high = -1;
	for (int i = 0; i < 1000; i++) {
		low = bytes[i] < low ? bytes[i] : low;
		high = bytes[i] > high ? bytes[i] : high;
	}
	ck_assert(low == 0 && high == 99);
}
END_TEST

/* The reason, and the part of the text that is marked. */
static const struct {
	const char *text;
	const char *message;
	const char *part;
} slips[] = {
	{"", "expected an argument such as i32:5", ""},
	{"foo", "expected an argument such as i32:5", "foo"},
	{"5x", "expected a comma, got 'x'", "x"},
	{"1,2", "several numbers need a type", "1,2"},
	{"float:2", "'float' is called f32 here", "float"},
	{"int32[4]", "'int32' is called i32 here", "int32"},
	{"f33:2", "expected a type such as i32 or f32, got 'f33'", "f33"},
	{"i32:", "expected an integer", ""},
	{"i32:2.5", "expected an integer, got '2.5'", "2.5"},
	{"i32:1e3", "expected an integer, got '1e3'", "1e3"},
	{"i8:128", "128 does not fit int8, which goes from -128 to 127", "128"},
	{"u32:-1", "-1 does not fit uint32, which goes from 0 to 4294967295", "-1"},
	{"u64:18446744073709551616", "does not fit uint64", "18446744073709551616"},
	{"bool:2", "expected 0, 1, false or true, got '2'", "2"},
	{"f32:1e39", "1e39 does not fit float32", "1e39"},
	{"f16:65520", "65520 does not fit float16", "65520"},
	{"e4m3:464.1", "464.1 does not fit float8_e4m3fn", "464.1"},
	{"e5m2:61440", "61440 does not fit float8_e5m2", "61440"},
	{"f64:1e999", "1e999 does not fit float64", "1e999"},
	{"f32:abc", "expected a number, got 'abc'", "abc"},
	{"f32:1,,2", "expected a number", ","},
	{"f32:1, 2", "expected a number, got ' 2'", " 2"},
	{"c64:1+2", "expected a number such as 2.5 or 1+2j, got '1+2'", "1+2"},
	{"f32[", "expected an extent", ""},
	{"f32[]", "expected an extent", "]"},
	{"f32[4", "expected 'x' or ']'", ""},
	{"f32[4,4]", "expected 'x' or ']'", ","},
	{"f32[-4]", "expected an extent", "-"},
	{"f32[4]5", "expected '=' or the end", "5"},
	{"f32[4]=", "expected a number", ""},
	{"f32[4]=rand", "expected arange, random, eye, empty or numbers, got 'rand'", "rand"},
	{"f32[4]=random:x", "expected a seed", "x"},
	{"f32[4]=1,2,3", "expected 4 values, or one for all, got 3", "1,2,3"},
	{"f32[4]=1,two,3,4", "expected a number, got 'two'", "two"},
	{"f64[8]=eye", "eye is a matrix", "eye"},
	{"i8[200]=arange", "199 does not fit i8", "arange"},
	{"f32[99999999999999999999]", "the array is too large", "99999999999999999999"},
	{"f32[4294967296x4294967296]", "the array is too large", "4294967296"},
	{"u8[1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1]", "more than 16 extents", "1"},
	{"@", "expected a file after '@'", ""},
};

START_TEST(a_slip_is_told_with_its_place)
{
	const char *text = slips[_i].text;
	ck_assert(!argument_parse(&argument, text, &fault));
	ck_assert_msg(strncmp(fault.message, slips[_i].message, strlen(slips[_i].message)) == 0
		|| strstr(fault.message, slips[_i].message), "%s: %s", text, fault.message);
	ck_assert_msg(fault.length == strlen(slips[_i].part)
		&& fault.offset + fault.length <= strlen(text)
		&& strncmp(text + fault.offset, slips[_i].part, fault.length) == 0,
		"%s: %zu bytes at %zu", text, fault.length, fault.offset);
}
END_TEST

SUITE(argument)
{
	Suite *s = suite_create("argument");
	TCase *tc = tcase_create("words");
	tcase_add_test(tc, words_without_a_type);
	tcase_add_test(tc, scalars_of_every_kind);
	tcase_add_test(tc, several_values_are_a_small_vector);
	tcase_add_test(tc, complex_numbers);
	tcase_add_loop_test(tc, floats_of_16_and_8_bits_are_rounded_to_even, 0,
		sizeof(halves) / sizeof(*halves));
	tcase_add_test(tc, arrays_have_shapes);
	tcase_add_test(tc, arrays_are_filled);
	tcase_add_test(tc, random_numbers_are_the_same_every_time);
	tcase_add_loop_test(tc, a_slip_is_told_with_its_place, 0, sizeof(slips) / sizeof(*slips));
	suite_add_tcase(s, tc);
	return s;
}
