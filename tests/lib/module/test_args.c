/* SPDX-License-Identifier: MIT */
/* Kernel arguments against hand-made parameters: what converts, to which bytes, what is refused. */
#include "base/common.h"

#include "lib/array/texture.h"
#include "lib/module/module.h"
#include "support/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct kz_device here = {.tag = OBJECT_DEVICE, .name = "cuda:0"};
static struct kz_device elsewhere = {.tag = OBJECT_DEVICE, .name = "cpu", .ordinal = 1};
static struct kz_module module = {.device = &here};
static struct memory near_memory = {.device = &here, .address = 0x1000, .size = 64};
static struct memory far_memory = {.device = &elsewhere, .address = 0x2000, .size = 64};
static struct kz_buffer near_buffer = {.tag = OBJECT_BUFFER, .memory = &near_memory, .offset = 16,
	.size = 48};
static struct kz_buffer far_buffer = {.tag = OBJECT_BUFFER, .memory = &far_memory, .size = 64};

#define ARRAY_OF(memory) .tag = OBJECT_ARRAY, .buffer = &(memory), .dtype = KZ_F32
static struct kz_array f32_array = {ARRAY_OF(near_buffer), .offset = 4, .count = 2};
static struct kz_texture near_texture = {{OBJECT_TEXTURE, &near_memory, 0x77}};
static struct kz_texture far_texture = {{OBJECT_TEXTURE, &far_memory, 0x78}};
static struct kz_surface near_surface = {{OBJECT_SURFACE, &near_memory, 0x79}};
static struct kz_array columns = {ARRAY_OF(near_buffer), .count = 6, .shape = {2, {3, 2}},
	.strides = {4, 12}};
static struct kz_array no_columns = {ARRAY_OF(near_buffer), .count = 0, .shape = {2, {3, 0}},
	.strides = {4, 12}};
static struct kz_array one_row = {ARRAY_OF(near_buffer), .count = 2, .shape = {3, {1, 2, 1}},
	.strides = {400, 4, -8}};
static struct kz_array far_array = {ARRAY_OF(far_buffer), .count = 2};

struct point {
	int32_t x;
	double y;
};
static const struct point a_point = {3, 4.5};
static float host_floats[4];

/* Convert one argument for one parameter. */
static kz_status convert(uint64_t *slot, void **place, const struct rtc_param *as, kz_arg arg,
	kz_error *err)
{
	struct rtc_kernel info = {.name = "k"};
	struct param param = {as->kind, args_natural(as->kind, as->size), as->size, 0, false,
		as->type};
	param.dtypes = args_dtypes(&param);
	struct kz_kernel kernel = {.module = &module, .info = &info, .params = &param,
		.param_count = 1};
	return args_convert(slot, place, &kernel, 0, &arg, err);
}

static const struct rtc_param p_bool = {PARAM_BOOL, 1, -1, (char *)"bool"};
static const struct rtc_param p_i8 = {PARAM_INT, 1, -1, (char *)"signed char"};
static const struct rtc_param p_i32 = {PARAM_INT, 4, -1, (char *)"int"};
static const struct rtc_param p_i64 = {PARAM_INT, 8, -1, (char *)"long long"};
static const struct rtc_param p_u8 = {PARAM_UINT, 1, -1, (char *)"unsigned char"};
static const struct rtc_param p_u32 = {PARAM_UINT, 4, -1, (char *)"unsigned int"};
static const struct rtc_param p_u64 = {PARAM_UINT, 8, -1, (char *)"unsigned long"};
static const struct rtc_param p_f32 = {PARAM_FLOAT, 4, -1, (char *)"float"};
static const struct rtc_param p_f64 = {PARAM_FLOAT, 8, -1, (char *)"double"};
static const struct rtc_param p_floats = {PARAM_POINTER, 8, -1, (char *)"const float *"};
static const struct rtc_param p_doubles = {PARAM_POINTER, 8, -1, (char *)"double *"};
static const struct rtc_param p_reference = {PARAM_POINTER, 8, -1, (char *)"const point &"};
static const struct rtc_param p_void = {PARAM_POINTER, 8, -1, (char *)"void *"};
static const struct rtc_param p_point = {PARAM_STRUCT, 16, -1, (char *)"point"};
static const struct rtc_param p_enum = {PARAM_ENUM, 1, -1, (char *)"E"};
static const struct rtc_param p_half = {PARAM_FLOAT, 2, -1, (char *)"__half"};
static const struct rtc_param p_i128 = {PARAM_INT, 16, -1, (char *)"__int128"};
static const struct rtc_param p_any4 = {PARAM_UNKNOWN, 4, -1, NULL};
static const struct rtc_param p_any8 = {PARAM_UNKNOWN, 8, -1, NULL};

enum color { RED, GREEN = 7 };

START_TEST(a_value_that_fits_becomes_the_parameters_bytes)
{
	const double tenth = 0.1;
	const float tenth_f = 0.1f;
	uint64_t tenth_bits;
	uint32_t tenth_f_bits;
	memcpy(&tenth_bits, &tenth, 8);
	memcpy(&tenth_f_bits, &tenth_f, 4);
	const struct {
		const struct rtc_param *param;
		kz_arg arg;
		uint64_t bits;
	} rows[] = {
		{&p_i32, KZ_ARG(5), 5},
		{&p_i32, KZ_ARG(-1), UINT32_MAX},
		{&p_i32, KZ_ARG(INT32_MIN), 0x80000000u},
		{&p_i32, KZ_ARG((long long)INT32_MAX), INT32_MAX},
		{&p_i32, KZ_ARG((_Bool)1), 1},
		{&p_i32, KZ_ARG((enum color)GREEN), 7},
		{&p_i32, KZ_ARG('a'), 'a'},
		{&p_i8, KZ_ARG(-128), 0x80},
		{&p_i64, KZ_ARG(INT64_MIN), (uint64_t)INT64_MIN},
		{&p_u8, KZ_ARG(255), 255},
		{&p_u32, KZ_ARG(UINT32_MAX), UINT32_MAX},
		{&p_u64, KZ_ARG(UINT64_MAX), UINT64_MAX},
		{&p_u64, KZ_ARG((size_t)9), 9},
		{&p_bool, KZ_ARG(0), 0},
		{&p_bool, KZ_ARG(1u), 1},
		{&p_f32, KZ_ARG(0.1f), tenth_f_bits},
		{&p_f32, KZ_ARG(KZ_F(0.1)), tenth_f_bits},
		{&p_f32, KZ_ARG(1 << 24), 0x4b800000u},
		{&p_f32, KZ_ARG(-2), 0xc0000000u},
		{&p_f32, KZ_ARG((long long)1 << 40), 0x53800000u},
		{&p_f64, KZ_ARG(0.1), tenth_bits},
		{&p_f64, KZ_ARG(1.0f), 0x3ff0000000000000u},
		{&p_f64, KZ_ARG(((int64_t)1 << 53) - 1), 0x433fffffffffffffu},
		{&p_floats, KZ_ARG(&f32_array), 0x1000 + 16 + 4},
		{&p_void, KZ_ARG(&f32_array), 0x1000 + 16 + 4},
		{&p_doubles, KZ_ARG(&near_buffer), 0x1000 + 16},
		{&p_floats, KZ_STRIDED(&f32_array), 0x1000 + 16 + 4},
		{&p_floats, KZ_STRIDED(&columns), 0x1000 + 16},
		{&p_floats, KZ_ARG(&no_columns), 0x1000 + 16},
		{&p_floats, KZ_ARG(&one_row), 0x1000 + 16},
		{&p_floats, KZ_ARG(NULL), 0},
		{&p_floats, KZ_DEVPTR(0x1234), 0x1234},
		{&p_floats, KZ_IN(host_floats, sizeof(host_floats)), 0},
		{&p_any4, KZ_ARG(0.1f), tenth_f_bits},
		{&p_any8, KZ_ARG(&near_buffer), 0x1000 + 16},
		{&p_any8, KZ_ARG(&f32_array), 0x1000 + 16 + 4},
		{&p_u64, KZ_ARG(&near_texture), 0x77},
		{&p_any8, KZ_ARG(&near_texture), 0x77},
		{&p_u64, KZ_ARG(&near_surface), 0x79},
		{&p_enum, KZ_ARG(200), 200},
		{&p_enum, KZ_ARG(-128), 0x80},
	};
	ck_assert_int_lt(_i, (int)countof(rows));
	kz_error err = KZ_ERROR_INIT;
	uint64_t slot = 0xeeeeeeeeeeeeeeeeu;
	void *place = NULL;
	uint64_t mask = rows[_i].param->size == 8 ? UINT64_MAX
		: ((uint64_t)1 << (8 * rows[_i].param->size)) - 1;
	kz_status st = convert(&slot, &place, rows[_i].param, rows[_i].arg, &err);
	ck_assert_msg(st == KZ_OK, "%s", err.message);
	ck_assert_ptr_eq(place, &slot);
	ck_assert_uint_eq(slot & mask, rows[_i].bits);
}
END_TEST

START_TEST(a_value_that_does_not_match_is_refused_with_both_types)
{
	struct point point = a_point;
	const struct {
		const struct rtc_param *param;
		kz_arg arg;
		const char *message;
	} rows[] = {
		{&p_i32, KZ_ARG((int64_t)INT32_MAX + 1), "2147483648 does not fit int (4 bytes)"},
		{&p_i32, KZ_ARG((int64_t)INT32_MIN - 1), "-2147483649 does not fit int"},
		{&p_i32, KZ_ARG(UINT32_MAX), "4294967295 does not fit int"},
		{&p_u32, KZ_ARG(-1), "-1 does not fit unsigned int"},
		{&p_u64, KZ_ARG(-1), "-1 does not fit unsigned long"},
		{&p_i64, KZ_ARG(UINT64_MAX), "18446744073709551615 does not fit long long"},
		{&p_u8, KZ_ARG(256), "256 does not fit unsigned char (1 byte)"},
		{&p_i8, KZ_ARG(128), "128 does not fit"},
		{&p_bool, KZ_ARG(2), "2 does not fit bool"},
		{&p_i32, KZ_ARG(1.0), "expected int (4 bytes), got double"},
		{&p_i32, KZ_ARG(1.0f), "got float"},
		{&p_i32, KZ_ARG(&f32_array), "got an array"},
		{&p_floats, KZ_ARG((char)'a'), "got signed char (1 byte)"},
		{&p_i32, KZ_VALUE(point), "got a value of 16 bytes"},
		{&p_f32, KZ_ARG(0.1), "expected float (4 bytes), got double"},
		{&p_f32, KZ_ARG((1 << 24) + 1), "16777217 is not exact in float"},
		{&p_f64, KZ_ARG(((int64_t)1 << 53) + 1), "is not exact in double"},
		{&p_f32, KZ_ARG(&near_buffer), "got a buffer"},
		{&p_floats, KZ_ARG(host_floats), "got a host pointer"},
		{&p_floats, KZ_ARG(&columns), "expected a contiguous array, got one with a stride "
			"of 12 bytes along axis 1, where row-major order has 4"},
		{&p_any8, KZ_ARG(&columns), "expected a contiguous array, got one with a stride of "
			"12"},
		{&p_doubles, KZ_STRIDED(&columns), "expected double *, got an array of float32"},
		{&p_floats, KZ_STRIDED(&far_array), "the array is on cpu, the kernel on cuda:0"},
		{&p_floats, KZ_STRIDED(NULL), "the kz_array is NULL"},
		{&p_i32, KZ_STRIDED(&columns), "expected int (4 bytes), got KZ_STRIDED"},
		{&p_floats, KZ_ARG((uint64_t)4096), "expected const float *, got unsigned long"},
		{&p_floats, KZ_ARG(3), "expected const float *, got int (4 bytes)"},
		{&p_floats, KZ_ARG(3.0f), "got float"},
		{&p_floats, KZ_VALUE(point), "got a value of 16 bytes"},
		{&p_reference, KZ_VALUE(point), "expected const point &, got a value of 16 bytes"},
		{&p_floats, KZ_ARG((kz_array *)NULL), "the kz_array is NULL"},
		{&p_floats, KZ_ARG((kz_buffer *)NULL), "the kz_buffer is NULL"},
		{&p_floats, KZ_ARG(&far_array), "the array is on cpu, the kernel on cuda:0"},
		{&p_floats, KZ_ARG(&far_buffer), "the buffer is on cpu"},
		{&p_u64, KZ_ARG(&far_texture), "the texture is on cpu, the kernel on cuda:0"},
		{&p_u64, KZ_ARG((kz_texture *)NULL), "the kz_texture is NULL"},
		{&p_u64, KZ_ARG(&f32_array), "expected unsigned long (8 bytes), got an array"},
		{&p_i64, KZ_ARG(&near_texture), "expected long long (8 bytes), got a texture"},
		{&p_floats, KZ_ARG(&near_surface), "expected const float *, got a surface"},
		{&p_any4, KZ_ARG(&near_surface), "expected 4 bytes, got a surface"},
		{&p_doubles, KZ_ARG(&f32_array), "expected double *, got an array of float32"},
		{&p_floats, KZ_IN(NULL, 4), "KZ_IN of 4 bytes at NULL"},
		{&p_floats, KZ_IN(NULL, 1), "KZ_IN of 1 byte at NULL"},
		{&p_floats, KZ_OUT(host_floats, -4), "KZ_OUT of -4 bytes"},
		{&p_floats, KZ_INOUT(host_floats, -4), "KZ_INOUT of -4 bytes"},
		{&p_point, KZ_ARG(1), "expected point (16 bytes), got int"},
		{&p_point, KZ_VALUE(host_floats[0]), "expected point (16 bytes), got a value of 4"},
		{&p_any4, KZ_ARG(1.0), "expected 4 bytes, got double"},
		{&p_any4, KZ_ARG(&near_buffer), "expected 4 bytes, got a buffer"},
		{&p_any8, KZ_ARG(host_floats), "got a host pointer"},
		{&p_any8, KZ_ARG(1), "expected 8 bytes, got int (4 bytes)"},
		{&p_enum, KZ_ARG(256), "256 does not fit E (1 byte"},
		{&p_half, KZ_ARG(1.0f), "expected __half (2 bytes), got float"},
		{&p_half, KZ_ARG(1), "expected __half (2 bytes), got int"},
		{&p_i128, KZ_ARG(5), "expected __int128 (16 bytes), got int"},
		{&p_bool, ((kz_arg){.kind = KZ_ARG_BOOL, .width = 1, .value.u = 7}),
			"7 does not fit"},
	};
	ck_assert_int_lt(_i, (int)countof(rows));
	kz_error err = KZ_ERROR_INIT;
	uint64_t slot = 0;
	void *place = NULL;
	kz_status st = convert(&slot, &place, rows[_i].param, rows[_i].arg, &err);
	ck_assert_int_eq(st, KZ_ARGUMENT);
	ck_assert_int_eq(err.status, KZ_ARGUMENT);
	ck_assert_msg(strncmp(err.message, "argument 1 of 'k': ", 19) == 0, "%s", err.message);
	ck_assert_msg(strstr(err.message, rows[_i].message) != NULL, "'%s' lacks '%s'",
		err.message, rows[_i].message);
	kz_error_clear(&err);
}
END_TEST

START_TEST(a_refusal_says_what_to_do)
{
	kz_error err = KZ_ERROR_INIT;
	uint64_t slot;
	void *place;
	ck_assert_int_eq(convert(&slot, &place, &p_floats, KZ_ARG(host_floats), &err), KZ_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(err.hint, "KZ_IN"));
	kz_error_clear(&err);
	kz_array *array = &f32_array;
	ck_assert_int_eq(convert(&slot, &place, &p_floats, KZ_ARG(&array), &err), KZ_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(err.hint, "a kz_array itself, not its address"));
	kz_error_clear(&err);
	ck_assert_int_eq(convert(&slot, &place, &p_f32, KZ_ARG(0.5), &err), KZ_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(err.hint, "KZ_F"));
	kz_error_clear(&err);
	ck_assert_int_eq(convert(&slot, &place, &p_floats, KZ_ARG(&columns), &err), KZ_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(err.hint, "kz_array_contiguous"));
	ck_assert_ptr_nonnull(strstr(err.hint, "KZ_STRIDED(array)"));
	kz_error_clear(&err);
	ck_assert_int_eq(convert(&slot, &place, &p_floats, KZ_ARG((uint64_t)4096), &err),
		KZ_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(err.hint, "the kz_array or kz_buffer itself"));
	ck_assert_ptr_nonnull(strstr(err.hint, "KZ_DEVPTR(x)"));
	kz_error_clear(&err);
}
END_TEST

START_TEST(a_refusal_of_another_type_says_what_to_do)
{
	kz_error err = KZ_ERROR_INIT;
	struct point point = a_point;
	const struct {
		const struct rtc_param *param;
		kz_arg arg;
		const char *hint;
	} rows[] = {
		{&p_doubles, KZ_ARG(&f32_array), "convert it by kz_array_astype"},
		{&p_point, KZ_VALUE(host_floats[0]), "kz_layout_check"},
		{&p_floats, KZ_VALUE(point), "KZ_INOUT(pointer, bytes)"},
		{&p_floats, KZ_ARG(0.5f), "KZ_INOUT(pointer, bytes)"},
		{&p_reference, KZ_VALUE(point), "the value itself, without '&'"},
		{&p_reference, KZ_ARG(3), "the value itself, without '&'"},
		{&p_reference, KZ_ARG(0.5), "the value itself, without '&'"},
		{&p_reference, KZ_ARG(host_floats), "a kernel cannot read host memory"},
	};
	for (size_t i = 0; i < countof(rows); i++) {
		uint64_t slot;
		void *place;
		ck_assert_int_eq(convert(&slot, &place, rows[i].param, rows[i].arg, &err),
			KZ_ARGUMENT);
		ck_assert_msg(err.hint && strstr(err.hint, rows[i].hint), "%s: %s", rows[i].hint,
			err.hint ? err.hint : "no hint");
		kz_error_clear(&err);
	}
}
END_TEST

START_TEST(a_struct_is_read_where_it_lies)
{
	struct point point = a_point;
	uint64_t slot = 1;
	void *place = NULL;
	ck_assert_int_eq(convert(&slot, &place, &p_point, KZ_VALUE(point), NULL), KZ_OK);
	ck_assert_ptr_eq(place, &point);
	float one = 1.5f;
	ck_assert_int_eq(convert(&slot, &place, &p_f32, KZ_VALUE(one), NULL), KZ_OK);
	ck_assert_ptr_eq(place, &one);
}
END_TEST

START_TEST(a_nan_keeps_its_bits)
{
	uint32_t bits = 0x7fa00001u;
	float nan;
	uint64_t slot = 0;
	void *place = NULL;
	memcpy(&nan, &bits, sizeof(nan));
	kz_arg arg = {.kind = KZ_ARG_F32, .width = 4};
	memcpy(&arg.value.f, &bits, sizeof(bits));
	ck_assert_int_eq(convert(&slot, &place, &p_f32, arg, NULL), KZ_OK);
	ck_assert_uint_eq((uint32_t)slot, bits);
}
END_TEST

START_TEST(an_argument_of_no_known_kind_is_refused_everywhere)
{
	static const struct rtc_param *const params[] = {&p_bool, &p_i32, &p_u64, &p_f32, &p_floats,
		&p_point, &p_any4, &p_any8};
	static const int kinds[] = {-1, 0, 14, 1000};
	for (size_t i = 0; i < countof(params); i++) {
		for (size_t k = 0; k < countof(kinds); k++) {
			kz_arg arg = {.kind = kinds[k], .width = (int32_t)params[i]->size,
				.size = params[i]->size};
			uint64_t slot;
			void *place;
			ck_assert_int_eq(convert(&slot, &place, params[i], arg, NULL), KZ_ARGUMENT);
		}
	}
}
END_TEST

START_TEST(an_array_may_lie_behind_pointers_of_its_own_kind_only)
{
	const struct {
		const char *type;
		kz_dtype dtype;
		bool fine;
	} rows[] = {
		{"float *", KZ_F32, true}, {"float *", KZ_C64, true}, {"float *", KZ_F64, false},
		{"float *", KZ_I32, false}, {"const double *", KZ_C128, true},
		{"unsigned int *", KZ_I32, true}, {"int *", KZ_I64, false},
		{"long *", KZ_U64, true}, {"unsigned short *", KZ_F16, true},
		{"char *", KZ_F64, true}, {"void *", KZ_F64, true}, {"float4 *", KZ_F32, true},
		{"__half *", KZ_F16, true}, {"bool *", KZ_U8, true}, {"bool *", KZ_I32, false},
		{"float **", KZ_U64, true}, {NULL, KZ_F32, true},
	};
	struct param param = {.kind = PARAM_POINTER, .size = 8, .type = rows[_i].type};
	const bool is_fine = args_dtypes(&param) >> rows[_i].dtype & 1;
	ck_assert_msg(is_fine == rows[_i].fine, "%s", rows[_i].type);
}
END_TEST

SUITE(args)
{
	Suite *s = suite_create("args");
	TCase *tc = suite_add_case(s, "convert");
	tcase_add_loop_test(tc, a_value_that_fits_becomes_the_parameters_bytes, 0, 41);
	tcase_add_loop_test(tc, a_value_that_does_not_match_is_refused_with_both_types, 0, 55);
	tcase_add_tests(tc, 1, a_refusal_says_what_to_do,
		a_refusal_of_another_type_says_what_to_do, a_struct_is_read_where_it_lies,
		a_nan_keeps_its_bits, an_argument_of_no_known_kind_is_refused_everywhere);
	tcase_add_loop_test(tc, an_array_may_lie_behind_pointers_of_its_own_kind_only, 0, 17);
	return s;
}
