/* SPDX-License-Identifier: MIT */
/* Argument lists of users' kernels: what is read, and what is refused, with its place. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/ops/declare.h"
#include "support/suite.h"

#include <check.h>
#include <string.h>

static kz_error err;
static struct arena arena;
static struct declarations list;

static kz_status read_list(const char *text)
{
	kz_error_clear(&err);
	arena_free(&arena);
	arena = (struct arena)ARENA_INIT;
	return declare_read(&list, &arena, text, "k", &err);
}

static void done(void)
{
	kz_error_clear(&err);
	arena_free(&arena);
	arena = (struct arena)ARENA_INIT;
}

#define BIT(dtype) ((uint32_t)1 << (dtype))

static const struct {
	const char *text;
	const char *type;
	enum param_kind kind;
	int64_t size;
	uint32_t dtypes;
} types[] = {
	{"float", "float", PARAM_FLOAT, 4, BIT(KZ_F32)},
	{"double", "double", PARAM_FLOAT, 8, BIT(KZ_F64)},
	{"bool", "bool", PARAM_BOOL, 1, BIT(KZ_BOOL)},
	{"_Bool", "_Bool", PARAM_BOOL, 1, BIT(KZ_BOOL)},
	{"char", "char", PARAM_INT, 1, BIT(KZ_I8) | BIT(KZ_U8)},
	{"signed char", "signed char", PARAM_INT, 1, BIT(KZ_I8)},
	{"unsigned char", "unsigned char", PARAM_UINT, 1, BIT(KZ_U8) | BIT(KZ_BOOL)},
	{"short", "short", PARAM_INT, 2, BIT(KZ_I16)},
	{"short int", "short int", PARAM_INT, 2, BIT(KZ_I16)},
	{"unsigned short", "unsigned short", PARAM_UINT, 2, BIT(KZ_U16)},
	{"int", "int", PARAM_INT, 4, BIT(KZ_I32)},
	{"signed", "signed", PARAM_INT, 4, BIT(KZ_I32)},
	{"unsigned", "unsigned", PARAM_UINT, 4, BIT(KZ_U32)},
	{"unsigned int", "unsigned int", PARAM_UINT, 4, BIT(KZ_U32)},
	{"int unsigned", "int unsigned", PARAM_UINT, 4, BIT(KZ_U32)},
	{"long", "long", PARAM_INT, 8, BIT(KZ_I64)},
	{"long long", "long long", PARAM_INT, 8, BIT(KZ_I64)},
	{"long unsigned int", "long unsigned int", PARAM_UINT, 8, BIT(KZ_U64)},
	{"unsigned long long int", "unsigned long long int", PARAM_UINT, 8, BIT(KZ_U64)},
	{"int8_t", "int8_t", PARAM_INT, 1, BIT(KZ_I8)},
	{"uint16_t", "uint16_t", PARAM_UINT, 2, BIT(KZ_U16)},
	{"int32_t", "int32_t", PARAM_INT, 4, BIT(KZ_I32)},
	{"uint64_t", "uint64_t", PARAM_UINT, 8, BIT(KZ_U64)},
	{"size_t", "size_t", PARAM_UINT, 8, BIT(KZ_U64)},
	{"__half", "__half", PARAM_FLOAT, 2, BIT(KZ_F16)},
	{"__nv_bfloat16", "__nv_bfloat16", PARAM_FLOAT, 2, BIT(KZ_BF16)},
	{"kz_complex < float >", "kz_complex<float>", PARAM_STRUCT, 8, BIT(KZ_C64)},
	{"pycuda::complex<double>", "pycuda::complex<double>", PARAM_STRUCT, 16, BIT(KZ_C128)},
	{"float2", "float2", PARAM_STRUCT, 8, BIT(KZ_C64)},
	{"double2", "double2", PARAM_STRUCT, 16, BIT(KZ_C128)},
	{"float4", "float4", PARAM_STRUCT, 16, 0},
	{"uchar3", "uchar3", PARAM_STRUCT, 3, 0},
	{"longlong1", "longlong1", PARAM_STRUCT, 8, 0},
};

START_TEST(a_type_is_known_by_its_name)
{
	char text[100];
	snprintf(text, sizeof(text), "%s name", types[_i].text);
	ck_assert_msg(read_list(text) == KZ_OK, "%s: %s", text, err.message);
	ck_assert_uint_eq(list.count, 1);
	ck_assert_str_eq(list.items[0].name, "name");
	ck_assert_str_eq(list.items[0].type, types[_i].type);
	ck_assert(!list.items[0].is_pointer && !list.items[0].is_const && !list.items[0].is_raw);
	ck_assert_int_eq(list.items[0].kind, types[_i].kind);
	ck_assert_int_eq(list.items[0].size, types[_i].size);
	ck_assert_uint_eq(list.items[0].dtypes, types[_i].dtypes);
	ck_assert_str_eq(list.list, text);
	snprintf(text, sizeof(text), "const %s *name", types[_i].text);
	ck_assert_msg(read_list(text) == KZ_OK, "%s: %s", text, err.message);
	ck_assert(list.items[0].is_pointer && list.items[0].is_const);
	ck_assert_str_eq(list.items[0].type, types[_i].type);
	ck_assert_str_eq(list.items[0].text, text);
	done();
}
END_TEST

START_TEST(a_list_is_read_whatever_its_blanks)
{
	ck_assert_int_eq(
		read_list(" float a ,float const*__restrict__ x,\n\traw const int *  table, "
			  "volatile double*y "),
		KZ_OK);
	ck_assert_uint_eq(list.count, 4);
	ck_assert_str_eq(list.items[0].text, "float a");
	ck_assert(!list.items[0].is_pointer);
	ck_assert_str_eq(list.items[1].name, "x");
	ck_assert(list.items[1].is_pointer && list.items[1].is_const && !list.items[1].is_raw);
	ck_assert(list.items[2].is_pointer && list.items[2].is_const && list.items[2].is_raw);
	ck_assert_str_eq(list.items[2].text, "const int *  table");
	ck_assert(list.items[3].is_pointer && !list.items[3].is_const);
	ck_assert_str_eq(list.list, " float a ,float const*__restrict__ x,\n\t    const int *  "
		"table, volatile double*y ");
	ck_assert_uint_eq(list.dtypes, BIT(KZ_F32) | BIT(KZ_I32) | BIT(KZ_F64));
	done();
}
END_TEST

START_TEST(a_registered_struct_is_a_type)
{
	kz_dtype point, pair, four;
	ck_assert_int_eq(kz_dtype_register(&point, "struct declare_point", 12, NULL), KZ_OK);
	ck_assert_int_eq(kz_dtype_register(&pair, "ns::pair<int,float>", 8, NULL), KZ_OK);
	ck_assert_int_eq(kz_dtype_register(&four, "float4", 16, NULL), KZ_OK);
	ck_assert_int_eq(read_list("declare_point p, struct declare_point *q, "
		"const ns::pair < int, float > *r, float4 *s"), KZ_OK);
	ck_assert_uint_eq(list.items[0].dtype, point);
	ck_assert_int_eq(list.items[0].kind, PARAM_STRUCT);
	ck_assert_int_eq(list.items[0].size, 12);
	ck_assert_uint_eq(list.items[1].dtype, point);
	ck_assert_uint_eq(list.items[2].dtype, pair);
	ck_assert_str_eq(list.items[2].type, "ns::pair<int,float>");
	ck_assert_uint_eq(list.items[3].dtype, four);
	done();
}
END_TEST

START_TEST(a_letter_is_a_type_until_it_is_bound)
{
	struct declarations bound;
	kz_dtype dtypes[DECLARE_LETTERS] = {0};
	ck_assert_int_eq(read_list("T a, const T *x, int n_x, raw U *y"), KZ_OK);
	ck_assert_uint_eq(list.letters, 1u << 19 | 1u << 20);
	ck_assert(list.items[1].letter == 'T' && !list.items[1].size && !list.items[2].letter);
	dtypes['T' - 'A'] = KZ_F16;
	dtypes['U' - 'A'] = KZ_C64;
	ck_assert_int_eq(declare_bind(&bound, &arena, &list, dtypes, &err), KZ_OK);
	ck_assert_uint_eq(bound.letters, 0);
	ck_assert_uint_eq(bound.dtypes, BIT(KZ_F16) | BIT(KZ_I32) | BIT(KZ_C64));
	ck_assert(bound.items[0].kind == PARAM_FLOAT && bound.items[0].size == 2);
	ck_assert_str_eq(bound.items[3].type, "kz_complex<float>");
	ck_assert(list.items[0].size == 0 && bound.items[2].size == 4);
	done();
}
END_TEST

static const struct {
	const char *text;
	const char *message;
	int line, column;
} bad[] = {
	{"", "expected a type, got the end of the list", 1, 1},
	{"float a, ", "expected a type, got the end of the list", 1, 10},
	{", float a", "expected a type, got ','", 1, 1},
	{"const *x", "expected a type, got '*'", 1, 7},
	{"float a, flaot *x", "unknown type 'flaot'", 1, 10},
	{"float a,\n  const flaot *x", "unknown type 'flaot'", 2, 9},
	{"void *x", "unknown type 'void'", 1, 1},
	{"long float x", "unknown type 'long float'", 1, 1},
	{"long long long x", "unknown type 'long long long'", 1, 1},
	{"signed unsigned x", "unknown type 'signed unsigned'", 1, 1},
	{"short double x", "unknown type 'short double'", 1, 1},
	{"unsigned float x", "unknown type 'unsigned float'", 1, 1},
	{"char int x", "unknown type 'char int'", 1, 1},
	{"bool bool x", "unknown type 'bool bool'", 1, 1},
	{"float5 x", "unknown type 'float5'", 1, 1},
	{"float0 x", "unknown type 'float0'", 1, 1},
	{"float44 x", "unknown type 'float44'", 1, 1},
	{"x", "unknown type 'x'", 1, 1},
	{"t *x", "unknown type 't'", 1, 1},
	{"TT *x", "unknown type 'TT'", 1, 1},
	{"kz_complex<T> *x", "unknown type 'kz_complex<T>'", 1, 1},
	{"raw T x", "expected an array after 'raw', got a number", 1, 1},
	{"const T *x, U a, U b", "no array has the type 'U', so a call cannot give it", 1, 13},
	{"float", "expected a name after 'float', got the end of the list", 1, 6},
	{"float *", "expected a name after 'float *', got the end of the list", 1, 8},
	{"float, int b", "expected a name after 'float', got ','", 1, 6},
	{"float 3", "expected a name after 'float', got '3'", 1, 7},
	{"float **x", "expected a name after 'float *', got '*'", 1, 8},
	{"float &x", "expected a name after 'float', got '&'", 1, 7},
	{"float x[]", "expected a comma after 'x', got '['", 1, 8},
	{"float *x float *y", "expected a comma after 'x', got 'float'", 1, 10},
	{"float x; float y", "expected a comma after 'x', got ';'", 1, 8},
	{"float x /* y */", "expected a comma after 'x', got '/'", 1, 9},
	{"float x = 3", "expected a comma after 'x', got '='", 1, 9},
	{"float *x, float y, float *x", "'x' is already the name of argument 1", 1, 27},
	{"float *i", "'i' is reserved for the kernel", 1, 8},
	{"long long n", "'n' is reserved for the kernel", 1, 11},
	{"int *_ind", "'_ind' is reserved for the kernel", 1, 6},
	{"int tid", "'tid' is reserved for the kernel", 1, 5},
	{"int total_threads", "'total_threads' is reserved for the kernel", 1, 5},
	{"int kz_k", "names that begin with 'kz_' are reserved for the kernel", 1, 5},
	{"raw float x", "expected an array after 'raw', got a number", 1, 1},
	{"ns:: *x", "expected the name of a type, got '*'", 1, 6},
	{"pair<int x", "expected a '>' for this '<'", 1, 5},
	{"pair<int> x", "unknown type 'pair<int>'", 1, 1},
	{"float \xc3\xa4", "expected a name after 'float', got '", 1, 7},
};

START_TEST(what_is_no_list_is_refused_with_its_place)
{
	char place[64];
	ck_assert_msg(read_list(bad[_i].text) == KZ_INVALID, "%s", bad[_i].text);
	ck_assert_msg(strstr(err.message, bad[_i].message), "%s: %s", bad[_i].text, err.message);
	ck_assert_str_eq(err.file, "k: arguments");
	ck_assert_msg(err.line == bad[_i].line && err.column == bad[_i].column, "%s: %d:%d",
		bad[_i].text, err.line, err.column);
	snprintf(place, sizeof(place), "k: arguments:%d:%d: error: ", err.line, err.column);
	ck_assert_msg(strncmp(err.log, place, strlen(place)) == 0, "%s", err.log);
	ck_assert_ptr_nonnull(strstr(err.log, "^\n"));
	done();
}
END_TEST

START_TEST(more_than_64_arguments_are_refused)
{
	char text[2000] = "";
	for (int i = 0; i < 65; i++) {
		char one[24];
		snprintf(one, sizeof(one), "%sfloat x%d", i ? ", " : "", i);
		strcat(text, one);
		if (i == 63) {
			ck_assert_int_eq(read_list(text), KZ_OK);
			ck_assert_uint_eq(list.count, 64);
		}
	}
	ck_assert_int_eq(read_list(text), KZ_INVALID);
	ck_assert_str_eq(err.message, "expected at most 64 arguments");
	done();
}
END_TEST

START_TEST(a_list_is_read_or_memory_ran_out)
{
	static const char *const texts[] = {
		"float a, const my::type<int> *x", "float a, raw int *x"};
	for (size_t i = 0; i < countof(texts); i++) {
		bool failed = true;
		for (long n = 0; failed; n++) {
			ck_assert_int_lt(n, 100);
			(void)read_list("");
			mem_fail_after(n);
			kz_error_clear(&err);
			kz_status st = declare_read(&list, &arena, texts[i], "k", &err);
			failed = mem_has_failed();
			mem_fail_after(-1);
			ck_assert_int_eq(st, err.status);
			ck_assert(st == KZ_NO_MEMORY || st == (i ? KZ_OK : KZ_INVALID));
			ck_assert(failed || st == (i ? KZ_OK : KZ_INVALID));
		}
	}
	done();
}
END_TEST

SUITE(declare)
{
	Suite *suite = suite_create("declare");
	TCase *good = suite_add_case(suite, "good");
	tcase_add_loop_test(good, a_type_is_known_by_its_name, 0, countof(types));
	tcase_add_tests(good, 1, a_list_is_read_whatever_its_blanks, a_registered_struct_is_a_type,
		a_letter_is_a_type_until_it_is_bound);
	TCase *refused = suite_add_case(suite, "refused");
	tcase_add_loop_test(refused, what_is_no_list_is_refused_with_its_place, 0, countof(bad));
	tcase_add_tests(refused, 1, more_than_64_arguments_are_refused,
		a_list_is_read_or_memory_ran_out);
	return suite;
}
