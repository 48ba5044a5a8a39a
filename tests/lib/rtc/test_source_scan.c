/* SPDX-License-Identifier: MIT */
/* Finding kernels in source text. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/rtc/source_scan.h"
#include "support/suite.h"

#include <check.h>
#include <stdlib.h>

#define K "__global__ void "

/* Kernels are shown by name, with ! for extern "C", ~ for internal, <> for a template; the text
 * begins with * where the source is not complete. */
static const struct {
	const char *source;
	const char *kernels;
} sources[] = {
	{"", ""},
	{K "k(int *a) {}", "k"},
	{"extern \"C\" " K "k(int *a);\nextern \"C\" " K "k(int *a) { a[0] = 1; }", "k!"},
	{"extern \"C\" {\n" K "a() {}\n#include <x>\n" K "b() {}\n}\n" K "c() {}", "a! b! c"},
	{"#ifdef __cplusplus\nextern \"C\" {\n#endif\n" K "a() {}\n#ifdef __cplusplus\n}\n#endif\n",
		"a!"},
	{"extern \"C\" __device__ int f(int a) { return a; }\n" K "k() {}", "k"},
	{"namespace a::b { inline namespace c { " K "k() {} } " K "l() {} } " K "m() {}",
		"a::b::c::k a::b::l m"},
	{"namespace a { extern \"C\" " K "k() {} namespace { " K "l() {} } }", "a::k! a::l~"},
	{"static " K "k() {}", "k~"},
	{"template<class T, int N = (1 < 2)> " K "k(T *a) {}\ntemplate " K "k<int>(int *);", "k<>"},
	{"template<class T, template<class> class U> " K "k(T *a) {}", "k<>"},
	{K "__launch_bounds__(256, 2) k(int a) {}", "k"},
	{"extern \"C\" __global__ __launch_bounds__(N) void k(int (*f)(int), int b[4]) {}", "k!"},
	{"#define BOUNDS(x) __launch_bounds__(x)\n" K "BOUNDS(128) k() {}", "k"},
	{"#define GLOBAL extern \"C\" \\\n __global__\nGLOBAL void k(int) {}", "k!"},
	{"// " K "a() {}\n/* " K "b() {} */ const char *s = \"" K "c() {}\";\n" K "d() {}", "d"},
	{"const char *s = R\"x(\" " K "a() {} )\" )x\"; char c = '\"'; int n = 1'000; " K "b() {}",
		"b"},
	{"#if 0\n" K "a() {}\n#if 1\n#else\n#endif\n#else\n" K "b() {}\n#endif\n" K "c() {}",
		"b c"},
	{"#define X " K "a() {}\n#error don't /* " K "b() {}\n*/\n" K "c() {}", "c"},
	{"struct S { int f() { return 1; } } s; enum { A }; int a[] = {1, 2}; " K "k() {}", "k"},
	{"namespace n = a; using namespace a; " K "k() {}", "k"},
	{K "k(int a) {}\n" K "k(float a) {}", "k"},
	{K "k() {} // end \\\n still", "k"},
	/* Incomplete sources. */
	{K "k() {", "*k"},
	{"namespace a { " K "k() {}", "*a::k"},
	{K "k() {} /* end", "*k"},
	{K "k() {} }", "*k"},
	{"#if A\n" K "k() {\n#else\n" K "l() {\n#endif\n}\n", "*k"},
	{"\"", ""},
	{"R\"(", ""},
	{"#", ""},
	{"#if 0", ""},
	{"\\", ""},
	{"/", ""},
	{"template<", ""},
	{"namespace", ""},
	{K "k(", ""},
};

#define D "__device__ "

/* Variables, by name. */
static const struct {
	const char *source;
	const char *variables;
} declarations[] = {
	{D "int a; __constant__ float b[4] = {1, 2}; __managed__ double c{3};", "a b c"},
	{D "int f(int a) { return a; } " D "int g(void); __global__ void k() {}", ""},
	{"namespace n { static " D "const int a = 1 < 2; namespace { " D "int *b; } }",
		"n::a n::b"},
	{D "int a, *b = &a, c;", "a b"},
	{D "std::array<int, 4> a; " D "cuda::std::pair<int, float> b = {1, 2};", "a b"},
	{D "volatile unsigned long long int a, b[2][3];", "a b"},
	{"template<class T> " D "T a; " D "int S::b = 3; template<> " D "int a<int> = 4;", ""},
	{D "struct S { int a; } b; " D "enum { A } c; " D "struct T; " D "struct U : T { } d;", ""},
	{D "struct S a; __constant__ struct n::S b[2]; struct S " D "*d; " D "enum E e = A;",
		"a b d e"},
	{D "enum class E : int { A } a; " D "union U b;", "b"},
	{"#ifdef A\n" D "int a;\n#endif\n" D "int b;\n#if 0\n#else\n" D "int c;\n#endif\n" D
		"int d;", "b c d"},
	{"int f() { auto g = [] " D "{ return 1; }; return g(); } auto h = [] " D "{ };", ""},
	{"auto h = [] " D "(int a) -> int { return a; }; extern \"C\" { " D "int a; }", "a"},
	{D "__align__(16) float a[4]; " D "int (*b)(int) = f;", ""},
	{D "int a = f(1, 2), b;", "a"},
};

START_TEST(sources_give_their_variables)
{
	struct source_facts facts;
	struct str text = STR_INIT;
	ck_assert(source_scan(&facts, declarations[_i].source));
	str_add(&text, "");
	for (size_t i = 0; i < facts.variable_count; i++) {
		str_addf(&text, "%s%s", i ? " " : "", facts.variables[i]);
	}
	ck_assert_str_eq(text.data, declarations[_i].variables);
	str_free(&text);
	source_free(&facts);
}
END_TEST

static char *show(const struct source_facts *facts)
{
	struct str text = STR_INIT;
	str_add(&text, facts->is_complete ? "" : "*");
	for (size_t i = 0; i < facts->kernel_count; i++) {
		const struct source_kernel *kernel = &facts->kernels[i];
		str_addf(&text, "%s%s%s%s%s", i ? " " : "", kernel->name,
			kernel->is_template ? "<>" : "", kernel->extern_c ? "!" : "",
			kernel->internal ? "~" : "");
	}
	return str_take(&text);
}

START_TEST(sources_give_their_kernels)
{
	struct source_facts facts;
	ck_assert(source_scan(&facts, sources[_i].source));
	char *shown = show(&facts);
	ck_assert_str_eq(shown, sources[_i].kernels);
	mem_free(shown);
	source_free(&facts);
}
END_TEST

START_TEST(every_beginning_of_a_source_is_read_without_harm)
{
	for (size_t len = 0; sources[_i].source[len]; len++) {
		char *part = mem_strndup(sources[_i].source, len);
		struct source_facts facts;
		ck_assert(source_scan(&facts, part));
		source_free(&facts);
		mem_free(part);
	}
}
END_TEST

START_TEST(namespaces_beyond_the_limit_hide_their_kernels)
{
	struct str source = STR_INIT;
	for (int i = 0; i < 80; i++) {
		str_add(&source, "namespace a {");
	}
	str_add(&source, K "k() {}");
	for (int i = 0; i < 80; i++) {
		str_add(&source, "}");
	}
	str_add(&source, K "l() {}");
	struct source_facts facts;
	ck_assert(source_scan(&facts, source.data));
	char *shown = show(&facts);
	ck_assert_str_eq(shown, "l");
	mem_free(shown);
	source_free(&facts);
	str_free(&source);
}
END_TEST

START_TEST(want_of_memory_leaves_nothing)
{
	for (long n = 0;; n++) {
		struct source_facts facts;
		mem_fail_after(n);
		bool read = source_scan(&facts, D "int a; namespace a { " K "k() {} }");
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(read != failed);
		if (read) {
			source_free(&facts);
			break;
		}
		ck_assert_ptr_null(facts.kernels);
		ck_assert_ptr_null(facts.variables);
	}
}
END_TEST

static const struct {
	const char *text;
	int at; /* -1: none */
	bool is_open;
} texts[] = {
	{"", -1, false}, {"a = 1; { b; }", -1, false}, {"a; }", 3, false}, {"{ a", 0, true},
	{"{ { a }", 0, true}, {"} {", 0, false}, {"{ } }", 4, false}, {"a = '{';", -1, false},
	{"\"}\" { // }\n/* } */", 4, true}, {"#define E }\n{ }", -1, false},
	{"#if A\n{\n#else\n{ b;\n#endif\n}", -1, false}, {"R\"(})\"", -1, false},
	{"a \\\n\\\r\n} b", 7, false}, {"namespace { template<} }", 23, false},
	{"} \n#if A\n}", 0, false}, {"template\n#if A\n<class T>\n#endif\n{", -1, false},
};

START_TEST(a_brace_without_its_counterpart_is_found)
{
	struct source_facts facts;
	ck_assert(source_scan(&facts, texts[_i].text));
	ck_assert_int_eq(facts.brace, texts[_i].at < 0 ? SOURCE_BRACES_MATCH
		: texts[_i].is_open ? SOURCE_BRACE_OPENS : SOURCE_BRACE_CLOSES);
	ck_assert_uint_eq(facts.brace_at, texts[_i].at < 0 ? 0 : texts[_i].at);
	source_free(&facts);
}
END_TEST

SUITE(source_scan)
{
	Suite *suite = suite_create("source_scan");
	TCase *tc = suite_add_case(suite, "sources");
	tcase_add_loop_test(tc, sources_give_their_kernels, 0, (int)countof(sources));
	tcase_add_loop_test(tc, sources_give_their_variables, 0, (int)countof(declarations));
	tcase_add_loop_test(tc, every_beginning_of_a_source_is_read_without_harm, 0,
		(int)countof(sources));
	tcase_add_loop_test(tc, a_brace_without_its_counterpart_is_found, 0, (int)countof(texts));
	tcase_add_tests(tc, 1, namespaces_beyond_the_limit_hide_their_kernels,
		want_of_memory_leaves_nothing);
	return suite;
}
