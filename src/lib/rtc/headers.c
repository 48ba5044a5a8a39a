/* SPDX-License-Identifier: MIT */
/*
 * The in-memory headers of a compile.
 *
 * NVRTC has no C library: uint32_t, INT_MAX, INFINITY, M_PI and restrict are errors, and so is the
 * #include <stdint.h> that would declare them.  The prelude has what a kernel can use of those
 * headers, and the headers themselves become empty.  It is included before the first line of the
 * source by -include, so no line number moves.  A source in which no word looks like one of the
 * prelude's goes without it.
 *
 * The types are libcu++'s (64 bits are long long), so that <cuda/std/cstdint> may follow.  A macro
 * that a source or a CUDA header defines again just gets the new value: diag.c drops the warning.
 */
#include "base/common.h"

#include "lib/rtc/headers.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"

#include <string.h>

static const char prelude[] =
	"#ifndef KUDZU_PRELUDE\n"
	"#define KUDZU_PRELUDE 1\n"
	"typedef signed char int8_t;\n"
	"typedef signed short int16_t;\n"
	"typedef signed int int32_t;\n"
	"typedef signed long long int64_t;\n"
	"typedef unsigned char uint8_t;\n"
	"typedef unsigned short uint16_t;\n"
	"typedef unsigned int uint32_t;\n"
	"typedef unsigned long long uint64_t;\n"
	"typedef int8_t int_least8_t, int_fast8_t;\n"
	"typedef int16_t int_least16_t, int_fast16_t;\n"
	"typedef int32_t int_least32_t, int_fast32_t;\n"
	"typedef int64_t int_least64_t, int_fast64_t;\n"
	"typedef uint8_t uint_least8_t, uint_fast8_t;\n"
	"typedef uint16_t uint_least16_t, uint_fast16_t;\n"
	"typedef uint32_t uint_least32_t, uint_fast32_t;\n"
	"typedef uint64_t uint_least64_t, uint_fast64_t;\n"
	"typedef signed long long intptr_t;\n"
	"typedef unsigned long long uintptr_t;\n"
	"typedef signed long long intmax_t;\n"
	"typedef unsigned long long uintmax_t;\n"
	"#define INT8_MIN (-128)\n"
	"#define INT8_MAX 127\n"
	"#define UINT8_MAX 255\n"
	"#define INT16_MIN (-32767 - 1)\n"
	"#define INT16_MAX 32767\n"
	"#define UINT16_MAX 65535\n"
	"#define INT32_MIN (-2147483647 - 1)\n"
	"#define INT32_MAX 2147483647\n"
	"#define UINT32_MAX 4294967295U\n"
	"#define INT64_MIN (-9223372036854775807LL - 1)\n"
	"#define INT64_MAX 9223372036854775807LL\n"
	"#define UINT64_MAX 18446744073709551615ULL\n"
	"#define INTPTR_MIN INT64_MIN\n"
	"#define INTPTR_MAX INT64_MAX\n"
	"#define UINTPTR_MAX UINT64_MAX\n"
	"#define INTMAX_MIN INT64_MIN\n"
	"#define INTMAX_MAX INT64_MAX\n"
	"#define UINTMAX_MAX UINT64_MAX\n"
	"#define PTRDIFF_MIN INT64_MIN\n"
	"#define PTRDIFF_MAX INT64_MAX\n"
	"#define SIZE_MAX UINT64_MAX\n"
	"#define INT8_C(x) x\n"
	"#define UINT8_C(x) x\n"
	"#define INT16_C(x) x\n"
	"#define UINT16_C(x) x\n"
	"#define INT32_C(x) x\n"
	"#define UINT32_C(x) x##U\n"
	"#define INT64_C(x) x##LL\n"
	"#define UINT64_C(x) x##ULL\n"
	"#define INTMAX_C(x) x##LL\n"
	"#define UINTMAX_C(x) x##ULL\n"
	"#define CHAR_BIT 8\n"
	"#define SCHAR_MIN INT8_MIN\n"
	"#define SCHAR_MAX INT8_MAX\n"
	"#define UCHAR_MAX UINT8_MAX\n"
	"#define CHAR_MIN ((char)-1 < 0 ? SCHAR_MIN : 0)\n"
	"#define CHAR_MAX ((char)-1 < 0 ? SCHAR_MAX : UCHAR_MAX)\n"
	"#define SHRT_MIN INT16_MIN\n"
	"#define SHRT_MAX INT16_MAX\n"
	"#define USHRT_MAX UINT16_MAX\n"
	"#define INT_MIN INT32_MIN\n"
	"#define INT_MAX INT32_MAX\n"
	"#define UINT_MAX UINT32_MAX\n"
	"#define LONG_MIN (-9223372036854775807L - 1)\n"
	"#define LONG_MAX 9223372036854775807L\n"
	"#define ULONG_MAX 18446744073709551615UL\n"
	"#define LLONG_MIN INT64_MIN\n"
	"#define LLONG_MAX INT64_MAX\n"
	"#define ULLONG_MAX UINT64_MAX\n"
	"#define FLT_RADIX 2\n"
	"#define FLT_ROUNDS 1\n"
	"#define FLT_EVAL_METHOD 0\n"
	"#define FLT_MANT_DIG 24\n"
	"#define FLT_DIG 6\n"
	"#define FLT_DECIMAL_DIG 9\n"
	"#define FLT_MIN_EXP (-125)\n"
	"#define FLT_MAX_EXP 128\n"
	"#define FLT_MIN_10_EXP (-37)\n"
	"#define FLT_MAX_10_EXP 38\n"
	"#define FLT_MIN 1.17549435e-38F\n"
	"#define FLT_MAX 3.40282347e+38F\n"
	"#define FLT_EPSILON 1.19209290e-7F\n"
	"#define FLT_TRUE_MIN 1.40129846e-45F\n"
	"#define DBL_MANT_DIG 53\n"
	"#define DBL_DIG 15\n"
	"#define DBL_DECIMAL_DIG 17\n"
	"#define DBL_MIN_EXP (-1021)\n"
	"#define DBL_MAX_EXP 1024\n"
	"#define DBL_MIN_10_EXP (-307)\n"
	"#define DBL_MAX_10_EXP 308\n"
	"#define DBL_MIN 2.2250738585072014e-308\n"
	"#define DBL_MAX 1.7976931348623157e+308\n"
	"#define DBL_EPSILON 2.2204460492503131e-16\n"
	"#define DBL_TRUE_MIN 4.9406564584124654e-324\n"
	"#define INFINITY (1.0F / 0.0F)\n"
	"#define HUGE_VALF (1.0F / 0.0F)\n"
	"#define HUGE_VAL (1.0 / 0.0)\n"
	"#define NAN (0.0F / 0.0F)\n"
	"#define M_E 2.7182818284590452354\n"
	"#define M_LOG2E 1.4426950408889634074\n"
	"#define M_LOG10E 0.43429448190325182765\n"
	"#define M_LN2 0.69314718055994530942\n"
	"#define M_LN10 2.30258509299404568402\n"
	"#define M_PI 3.14159265358979323846\n"
	"#define M_PI_2 1.57079632679489661923\n"
	"#define M_PI_4 0.78539816339744830962\n"
	"#define M_1_PI 0.31830988618379067154\n"
	"#define M_2_PI 0.63661977236758134308\n"
	"#define M_2_SQRTPI 1.12837916709551257390\n"
	"#define M_SQRT2 1.41421356237309504880\n"
	"#define M_SQRT1_2 0.70710678118654752440\n"
	"#define offsetof(type, member) ((size_t)__INTADDR__(&((type *)0)->member))\n"
	"#define restrict __restrict__\n"
	"#define _Bool bool\n"
	"#define _Static_assert static_assert\n"
	"#define _Alignas alignas\n"
	"#define _Alignof alignof\n"
	"#ifndef NULL\n"
	"#define NULL 0\n"
	"#endif\n"
	"#endif\n";

/* Files of kernels/; the assembler includes them, and the build runs in the folder that has
 * kernels/. */
#define HEADER_TEXT(name) \
	__asm__(".section .rodata\n.hidden headers_" #name "\n.globl headers_" #name "\n" \
		"headers_" #name ":\n.incbin \"kernels/" #name ".cuh\"\n.byte 0\n.text\n"); \
	extern const char headers_##name[];
HEADER_TEXT(std)
HEADER_TEXT(std_math)
HEADER_TEXT(std_complex)
HEADER_TEXT(random)
/* The arrays' complex functions, with what they use. */
__asm__(".section .rodata\n.hidden headers_complex\n.globl headers_complex\nheaders_complex:\n"
	".incbin \"kernels/real.cuh\"\n.incbin \"kernels/elementary.cuh\"\n"
	".incbin \"kernels/complex.cuh\"\n.byte 0\n.text\n");
extern const char headers_complex[];

/* C++'s headers are those of libcu++, if it is installed, under the names of the standard. */
#define LIBCXX "cuda/std/"
#define LIBCXX_OR_OURS(name) "#if __has_include(<" LIBCXX name ">)\n#include <" LIBCXX name ">\n" \
	"namespace std { using namespace cuda::std; }\n#else\n#include <kudzu/std.h>\n#endif\n"
#define CXX(name) {name, LIBCXX_OR_OURS(name), LIBCXX name}
/* Functions are CUDA's, see std_math.cuh. */
#define CXX_MATH(name, header) \
	{name, LIBCXX_OR_OURS("type_traits") "#include <kudzu/" header ">\n", \
	LIBCXX "type_traits"}

/* The prelude or NVRTC itself (printf, malloc, va_arg) has what a kernel can use of C's headers.
 * Nothing in ctype.h and errno.h is of use to a kernel, but a source that includes them may not
 * need it. */
static const struct {
	const char *name;
	const char *text;
	const char *libcxx; /* NULL: it needs none */
} stand_ins[] = {
	{"assert.h", "", NULL}, {"ctype.h", "", NULL}, {"errno.h", "", NULL}, {"float.h", "", NULL},
	{"inttypes.h", "", NULL}, {"limits.h", "", NULL}, {"math.h", "", NULL},
	{"stdalign.h", "", NULL}, {"stdarg.h", "", NULL}, {"stdbool.h", "", NULL},
	{"stddef.h", "", NULL}, {"stdint.h", "", NULL}, {"stdio.h", "", NULL},
	{"stdlib.h", "", NULL}, {"string.h", "", NULL},
	CXX("array"), CXX("cstddef"), CXX("cstdint"), CXX("cstring"), CXX("limits"), CXX("tuple"),
	CXX("type_traits"), CXX("utility"),
	CXX_MATH("cmath", "std_math.h"), CXX_MATH("complex", "std_complex.h"),
	{"cassert", "", NULL}, {"cfloat", "", NULL}, {"climits", "", NULL},
	{"cstdio", "namespace std { using ::printf; }\n", NULL},
	{"cstdlib",
		"namespace std { using ::abs; using ::free; using ::malloc; using ::size_t; }\n",
		NULL},
	{"kudzu/std.h", headers_std, NULL}, {"kudzu/std_math.h", headers_std_math, NULL},
	{"kudzu/complex.h", headers_complex, NULL},
	{"kudzu/std_complex.h", headers_std_complex, NULL},
	{"kudzu/random.cuh", headers_random, NULL},
};

static bool request_has_header(const struct rtc_request *request, const char *name)
{
	for (size_t i = 0; i < request->header_count; i++) {
		if (strcmp(request->header_names[i], name) == 0) {
			return true;
		}
	}
	return false;
}

/* Whether an include folder of the caller has the file; false in *ok when memory runs out. */
static bool headers_are_in_folders(const struct rtc_request *request, const char *name, bool *ok)
{
	bool found = false;
	for (size_t i = 0; i < request->include_count && !found && *ok; i++) {
		char *path = file_join(request->include_dirs[i], name);
		*ok = path;
		found = path && file_is_regular(path);
		mem_free(path);
	}
	return found;
}

static void headers_add(struct headers *headers, const char *name, const char *text)
{
	headers->names[headers->count] = name;
	headers->texts[headers->count] = text;
	headers->count++;
}

static bool headers_add_prelude(struct headers *out, const struct rtc_request *request)
{
	bool ok = true;
	headers_add(out, HEADERS_PRELUDE, prelude);
	for (size_t i = 0; i < countof(stand_ins) && ok; i++) {
		const char *name = stand_ins[i].name;
		if (!request_has_header(request, name) && !headers_are_in_folders(request, name,
			&ok)) {
			headers_add(out, name, stand_ins[i].text);
		}
	}
	return ok;
}

kz_status headers_collect(struct headers *out, const struct rtc_request *request, bool with_prelude,
	kz_error *err)
{
	size_t room = request->header_count + countof(stand_ins) + 1;
	*out = (struct headers){
		.names = mem_zalloc(room, sizeof(*out->names)),
		.texts = mem_zalloc(room, sizeof(*out->texts)),
	};
	if (!out->names || !out->texts) {
		goto no_memory;
	}
	for (size_t i = 0; i < request->header_count; i++) {
		headers_add(out, request->header_names[i], request->header_texts[i]);
	}
	if (with_prelude && !headers_add_prelude(out, request)) {
		goto no_memory;
	}
	return KZ_OK;
no_memory:
	headers_free(out);
	return error_no_memory(err);
}

void headers_free(struct headers *headers)
{
	mem_free(headers->names);
	mem_free(headers->texts);
	*headers = (struct headers){0};
}

const char *headers_libcxx(const struct rtc_request *request, const char *name)
{
	const char *found = NULL;
	for (size_t i = 0; i < countof(stand_ins) && !request->no_prelude; i++) {
		if (strcmp(stand_ins[i].name, name) == 0) {
			found = stand_ins[i].libcxx;
		}
	}
	return found;
}

bool headers_has_macro(const char *word, size_t len)
{
	static const char define[] = "#define ";
	for (const char *at = prelude; (at = strstr(at, define));) {
		at += sizeof(define) - 1;
		if (strncmp(at, word, len) == 0 && (at[len] == ' ' || at[len] == '(')) {
			return true;
		}
	}
	return false;
}

/* Types end in _t, macros are in capitals; "include" may bring in words that we do not see. */
static bool headers_is_prelude_word(const char *word, size_t len)
{
	static const char *const others[] = {
		"include", "restrict", "offsetof", "_Bool", "_Static_assert", "_Alignas",
		"_Alignof",
	};
	for (size_t i = 0; i < countof(others); i++) {
		if (strncmp(word, others[i], len) == 0 && others[i][len] == '\0') {
			return true;
		}
	}
	size_t capitals = 0;
	while (capitals < len && (word[capitals] < 'a' || word[capitals] > 'z')) {
		capitals++;
	}
	return len >= 3 && (capitals == len || memcmp(word + len - 2, "_t", 2) == 0);
}

bool headers_has_prelude_word(const char *from, const char *to)
{
	while (from < to) {
		const char *word = from;
		while (from < to && str_is_word(*from)) {
			from++;
		}
		if (from > word && headers_is_prelude_word(word, (size_t)(from - word))) {
			return true;
		}
		from += from == word;
	}
	return false;
}

bool headers_want_prelude(const struct rtc_request *request, bool has_prelude_word)
{
	return !request->no_prelude && (has_prelude_word || request->define_count
		|| request->option_count || request->header_count || request->instance_count);
}
