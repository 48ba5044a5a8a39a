/* SPDX-License-Identifier: MIT */
/* The prelude: C habits compile, CUDA's headers still do, and a source may use its names. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/rtc/headers.h"
#include "lib/rtc/nvrtc.h"
#include "support/compile_test.h"
#include "support/suite.h"

#include <check.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define K "__global__ void "

static kz_error err;

static void clear(void)
{
	kz_error_clear(&err);
}

static void compiles(const char *source, bool no_prelude, kz_status want)
{
	struct rtc_request request = {
		.source = source,
		.arch = "compute_89",
		.no_prelude = no_prelude,
	};
	struct rtc_image image;
	kz_status status = support_compile(&image, &request, &err);
	ck_assert_msg(status == want, "%s: %d %s\n%s", source, (int)status, err.message,
		err.log ? err.log : "");
	ck_assert_msg(status || !image.log, "%s", image.log);
	rtc_image_free(&image);
}

/* Sources that plain NVRTC refuses. */
static const char *const habits[] = {
	K "k(uint32_t *restrict a, const int64_t *restrict b) { *a = (uint32_t)*b; }",
	K "k(float *a) { a[0] = M_PI; a[1] = INFINITY; a[2] = NAN; a[3] = FLT_MAX; }",
	K "k(_Bool b, int *a) { *a = b ? INT_MAX : INT_MIN; }",
	"#include <stdint.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include <limits.h>\n"
	"#include <float.h>\n#include <math.h>\n#include <assert.h>\n#include <stdio.h>\n"
	"#include <stdlib.h>\n#include <string.h>\n#include <inttypes.h>\n" K "k(uint8_t *a) "
	"{ assert(a); printf(\"%d\", *a); void *m = malloc(4); memset(m, 0, 4); free(m); }",
	"#include <stdarg.h>\n#include <ctype.h>\n#include <errno.h>\n#include <stdalign.h>\n"
	"__device__ int sum(int n, ...) { va_list l; va_start(l, n); int a = va_arg(l, int); "
	"va_end(l); return a; }\n" K "k(int *p) { alignas(8) int a = *p; *p = sum(1, a); }",
	K "k(int_least8_t *a, uint_least16_t *b, int_fast32_t *c, uint_fast64_t *d) { "
	"*a = INT8_C(1); *b = UINT16_C(2); *c = INT16_C(-3) + UINT8_C(4); "
	"*d = UINTMAX_C(5) + INTMAX_C(6); }",
	"struct S { char a; int b; };\n_Static_assert(offsetof(struct S, b) == 4, \"offset\");",
	"__device__ float lowest = -INFINITY;\n__constant__ double pi = M_PI;",
	"#if INT_MAX != 2147483647 || CHAR_BIT != 8 || UINT64_MAX < 1\n#error limits\n#endif\n",
	K "k(long long *a) { __int128 b = *a; *a = (long long)(b * b >> 64); }",
};

START_TEST(c_habits_compile)
{
	compiles(habits[_i], false, KZ_OK);
}
END_TEST

/* Sources that have names of the prelude for themselves. */
static const char *const own_names[] = {
	"typedef int int_fast8_t;\n#define FLT_ROUNDS x\n",
	"#define M_PI 3\n#define INFINITY __int_as_float(0x7f800000)\n"
	K "k(float *a) { *a = M_PI; }",
	"typedef unsigned int uint32_t;\ntypedef unsigned long long uint64_t;\n",
	"typedef unsigned long uint64_t;\n" K "k(uint64_t *a) { *a = sizeof(uint64_t); }",
	"__device__ const double M_PI = 3.0;\n" K "k(double *a) { *a = M_PI; }",
	"namespace my { enum { NAN, INT_MAX }; }\n",
	"template<class T> struct restrict { T t; };\n",
};

START_TEST(a_source_may_take_the_names_of_the_prelude)
{
	compiles(own_names[_i], false, KZ_OK);
}
END_TEST

START_TEST(without_the_prelude_nvrtc_is_bare)
{
	compiles("uint32_t a;", true, KZ_COMPILE);
	ck_assert_ptr_nonnull(strstr(err.message, "uint32_t"));
	kz_error_clear(&err);
	compiles("#define M_PI 3\n", true, KZ_OK);
}
END_TEST

START_TEST(an_error_without_the_prelude_is_not_shown_for_one_with_it)
{
	compiles(K "k(uint32_t *a) { *a = INT_MAX + y; }", false, KZ_COMPILE);
	ck_assert_str_eq(err.message, "identifier \"y\" is undefined");
	ck_assert_ptr_null(strstr(err.log, "uint32_t\" is undefined"));
}
END_TEST

static const char *const cuda_headers[] = {
	"cuda/std/cstdint", "cuda/std/climits", "cuda/std/cfloat", "cuda/std/cmath", "cuda_fp16.h",
	"cuda_bf16.h", "curand_kernel.h", "cooperative_groups.h", "cub/block/block_reduce.cuh",
	"cuda_runtime.h", "mma.h",
};

START_TEST(cuda_headers_compile_after_the_prelude_without_a_warning)
{
	const struct nvrtc *nvrtc;
	char source[128];
	bool there = false;
	if (!support_is_tried(_i, countof(cuda_headers), 6, 3)) {
		return;
	}
	ck_assert_int_eq(nvrtc_open(&nvrtc, &err), KZ_OK);
	for (size_t i = 0; i < nvrtc->include_count; i++) {
		snprintf(source, sizeof(source), "%s/%s", nvrtc->include_dirs[i], cuda_headers[_i]);
		there = there || access(source, R_OK) == 0;
	}
	snprintf(source, sizeof(source), "#include <%s>\n" K "k(float *a) { *a = FLT_MAX; }",
		cuda_headers[_i]);
	if (there) {
		compiles(source, false, KZ_OK);
	}
}
END_TEST

/* A number that a kernel would see is the host's. */
START_TEST(values_are_those_of_the_host)
{
	struct str source = STR_INIT;
#define FLOAT(name) str_addf(&source, "static_assert(" #name " == %a, \"\");\n", (double)name);
#define INTEGER(name) str_addf(&source, "static_assert(" #name " == %llullu, \"\");\n", \
	(unsigned long long)name);
	FLOAT(M_PI) FLOAT(M_E) FLOAT(M_SQRT2) FLOAT(M_LN2) FLOAT(M_2_SQRTPI) FLOAT(M_LOG10E)
	FLOAT(M_LOG2E) FLOAT(M_LN10) FLOAT(M_PI_2) FLOAT(M_PI_4) FLOAT(M_1_PI) FLOAT(M_2_PI)
	FLOAT(M_SQRT1_2) FLOAT(FLT_MAX) FLOAT(FLT_MIN) FLOAT(FLT_EPSILON) FLOAT(DBL_MAX)
	FLOAT(DBL_MIN) FLOAT(DBL_EPSILON) FLOAT(FLT_TRUE_MIN) FLOAT(DBL_TRUE_MIN)
	INTEGER(INT8_MAX) INTEGER(INT16_MAX) INTEGER(INT32_MAX) INTEGER(INT64_MAX)
	INTEGER(UINT8_MAX) INTEGER(UINT16_MAX) INTEGER(UINT32_MAX) INTEGER(UINT64_MAX)
	INTEGER(INT64_MIN) INTEGER(SIZE_MAX) INTEGER(LONG_MIN) INTEGER(ULONG_MAX) INTEGER(CHAR_BIT)
	INTEGER(FLT_DIG) INTEGER(DBL_DIG) INTEGER(FLT_MANT_DIG) INTEGER(DBL_MANT_DIG)
	INTEGER(FLT_MAX_EXP) INTEGER(DBL_MAX_EXP) INTEGER(INTPTR_MAX) INTEGER(UCHAR_MAX)
	INTEGER(FLT_MIN_10_EXP) INTEGER(FLT_MAX_10_EXP) INTEGER(DBL_MIN_10_EXP)
	INTEGER(DBL_MAX_10_EXP) INTEGER(FLT_DECIMAL_DIG) INTEGER(DBL_DECIMAL_DIG)
	INTEGER(FLT_EVAL_METHOD) INTEGER(FLT_ROUNDS)
#undef FLOAT
#undef INTEGER
	ck_assert(!source.failed);
	struct rtc_request request = {
		.source = source.data,
		.arch = "compute_89",
		.options = (const char *const[]){"-std=c++17", "-diag-suppress=68"},
		.option_count = 2,
	};
	struct rtc_image image;
	ck_assert_msg(support_compile(&image, &request, &err) == KZ_OK, "%s\n%s", err.message,
		err.log);
	rtc_image_free(&image);
	str_free(&source);
}
END_TEST

START_TEST(headers_of_the_caller_come_before_the_stand_ins)
{
	char folder[] = "/tmp/kudzu-test-XXXXXX";
	char path[64];
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/math.h", folder);
	FILE *file = fopen(path, "w");
	fputs("#define MINE 1\n", file);
	fclose(file);
	struct rtc_request request = {
		.source = "#include <math.h>\n#include \"float.h\"\n"
			  "static_assert(MINE + TOO == 3, \"\");",
		.arch = "compute_89",
		.include_dirs = (const char *const[]){folder},
		.include_count = 1,
		.header_names = (const char *const[]){"float.h"},
		.header_texts = (const char *const[]){"#define TOO 2\n"},
		.header_count = 1,
	};
	struct rtc_image image;
	kz_status status = support_compile(&image, &request, &err);
	unlink(path);
	rmdir(folder);
	ck_assert_msg(status == KZ_OK, "%s", err.message);
	rtc_image_free(&image);
}
END_TEST

START_TEST(macros_of_the_prelude_are_known)
{
	static const char *const yes[] = {"INT64_C", "NAN", "restrict", "offsetof", "_Bool"};
	static const char *const no[] = {"M_", "int", "x", "PI", "uint64", "1", "uint64_t"};
	for (size_t i = 0; i < countof(yes); i++) {
		ck_assert(headers_has_macro(yes[i], strlen(yes[i])));
	}
	for (size_t i = 0; i < countof(no); i++) {
		ck_assert_msg(!headers_has_macro(no[i], strlen(no[i])), "%s", no[i]);
	}
}
END_TEST

START_TEST(a_source_goes_without_the_prelude_only_if_it_has_no_word_of_it)
{
	static const struct {
		const char *source;
		bool wanted;
	} rows[] = {
		{"__global__ void k(float *x) { x[threadIdx.x] *= 2; }", false},
		{"", false},
		{"__global__ void k(int N) {}", false},
		{"__global__ void k(uint8_t *x) {}", true},
		{"__global__ void k(float *x) { *x = NAN; }", true},
		{"__global__ void k(float *x) { *x = M_E; }", true},
		{"__global__ void k(float *restrict x) {}", true},
		{"struct s { _Bool b; };", true},
		{"int k = offsetof(s, b);", true},
		{"_Static_assert(1, \"\");", true},
		{"#include \"mine.h\"", true},
		{"/* NAN */ int a; /* open", true},
		{"} // int8\\\n_t", true},
		{"char a[] = \"NAN\"; #", true},
		{"#if 0\nINT_MAX\n#endif", true},
	};
	const char *one[] = {"T=int32_t"};
	struct rtc_request request = {.source = rows[_i].source};
	struct source_facts facts;
	ck_assert(source_scan(&facts, rows[_i].source));
	ck_assert(headers_want_prelude(&request, facts.has_prelude_word) == rows[_i].wanted);
	source_free(&facts);
	request.defines = one;
	request.define_count = 1;
	ck_assert(headers_want_prelude(&request, false));
	request.no_prelude = true;
	ck_assert(!headers_want_prelude(&request, true));
}
END_TEST

SUITE(headers)
{
	Suite *suite = suite_create("headers");
	TCase *tc = suite_add_case(suite, "prelude");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_source_goes_without_the_prelude_only_if_it_has_no_word_of_it, 0,
		11);
	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, c_habits_compile, 0, (int)countof(habits));
	tcase_add_loop_test(tc, a_source_may_take_the_names_of_the_prelude, 0,
		(int)countof(own_names));
	tcase_add_tests(tc, 1, without_the_prelude_nvrtc_is_bare,
		an_error_without_the_prelude_is_not_shown_for_one_with_it);
	tcase_add_loop_test(tc, cuda_headers_compile_after_the_prelude_without_a_warning, 0,
		(int)countof(cuda_headers));
	tcase_add_tests(tc, 1, values_are_those_of_the_host,
		headers_of_the_caller_come_before_the_stand_ins, macros_of_the_prelude_are_known);
	return suite;
}
