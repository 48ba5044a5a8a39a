/* SPDX-License-Identifier: MIT */
/*
 * The parameters of kernels for the command line: names from the source, types from the compiler;
 * and the colours of what compilers say.
 */
#include "cli/parameters.h"
#include "cli/report.h"
#include "support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* A signature and a source, and the names and types that come of them. */
static const struct {
	const char *signature;
	const char *source;
	const char *expected;
} cases[] = {
	{"saxpy(float, const float *, float *, int)",
		"__global__ void saxpy(float a, const float *x,\n\tfloat *y, int n) {}",
		"a:float x:const float * y:float * n:int"},
	{"k()", "__global__ void k() {}", ""},
	{"k()", "__global__ void k(void) {}", ""},
	{"k(int *)", NULL, "arg1:int *"},
	{"k(int *)", "__global__ void other(int *x) {}", "arg1:int *"},
	{"k(int *)", "#define K __global__ void k(int *x)\nK {}", "x:int *"},
	{"k(int *, ? (16 bytes))", "__global__ void k(int *x, thing t) {}", "x:int * t:"},
	{"k(...)", "__global__ void k(int *x) {}", "unknown"},
	{"k(int *)", "__global__ void __launch_bounds__(256, 2) k(int *__restrict__ x) {}",
		"x:int *"},
	{"k(int *)", "// __global__ void k(int *a)\n/* __global__ void k(int *b) */\n"
		"__global__ void k(int * /* c */ x /* d */) {}", "x:int *"},
	{"k(int *)", "const char *s = \"__global__ void k(int *a)\"; __global__ void k(int *x)",
		"x:int *"},
	{"ns::scale<float, 4>(float *, pair<int, float>)",
		"template <class T, int N>\n__global__ void scale(T *data, pair<int, T> p) {}",
		"data:float * p:pair<int, float>"},
	{"k(int *, int)", "__global__ void k(int *a); __global__ void k(int *x, int n) {}",
		"x:int * n:int"},
	{"k(int *, int)", "__global__ void k(int *a) {} __global__ void k(int *x, int n) {}",
		"x:int * n:int"},
	{"k(int *, unsigned int)", "__global__ void k(int x[4], unsigned int) {}",
		"x:int * arg2:unsigned int"},
	{"k(particle, int)", "__global__ void k(const particle, int n) {}", "arg1:particle n:int"},
	{"k(ns::p, int)", "__global__ void k(ns::p, ns::q n) {}", "arg1:ns::p n:int"},
	{"k(int, int)", "__global__ void k(int a = f(1, 2), int b = 3) {}", "a:int b:int"},
	{"k(int)", "__global__ void k(int a", "arg1:int"},
	{"k(int (*)(int, int), int)", "__global__ void k(int (*f)(int, int), int n) {}",
		"arg1:int (*)(int, int) n:int"},
};

START_TEST(parameters_have_names_and_types)
{
	static struct parameters parameters;
	char text[512] = "";
	parameters_read(&parameters, cases[_i].signature, cases[_i].source);
	for (size_t i = 0; i < parameters.count; i++) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s:%s", i ? " " : "",
			parameters.items[i].name, parameters.items[i].type);
	}
	ck_assert_str_eq(parameters.known ? text : "unknown", cases[_i].expected);
	ck_assert_int_eq(parameters_find(&parameters, "none"), -1);
}
END_TEST

static void add_ints(char *text, int count)
{
	for (int i = 0; i < count; i++) {
		strcat(text, i ? ", int" : "int");
	}
	strcat(text, ")");
}

START_TEST(no_more_parameters_than_a_launch_takes)
{
	static struct parameters parameters;
	char text[1024] = "k(";
	add_ints(text, PARAMETERS_MAX);
	parameters_read(&parameters, text, NULL);
	ck_assert(parameters.known && parameters.count == PARAMETERS_MAX);
	ck_assert_int_eq(parameters_find(&parameters, "arg64"), 63);
	strcpy(text, "k(");
	add_ints(text, PARAMETERS_MAX + 1);
	parameters_read(&parameters, text, NULL);
	ck_assert(!parameters.known && parameters.count == 0);
}
END_TEST

static const char log_text[] = "k.cu:3:4: error: no 'a: b'\n\tx = y\n\t    ^\nk.cu:5: warning: "
"w\nhint: h";
static const char log_colours[] = "\033[1mk.cu:3:4:\033[0m \033[1;31merror:\033[0m no 'a: b'\n"
	"\tx = y\n\033[1;32m\t    ^\033[0m\n\033[1mk.cu:5:\033[0m \033[1;35mwarning:\033[0m "
	"w\nhint: h";

START_TEST(diagnostics_are_coloured)
{
	char *text = report_colour(log_text, true);
	ck_assert_str_eq(text, log_colours);
	free(text);
	text = report_colour(log_text, false);
	ck_assert_str_eq(text, log_text);
	free(text);
}
END_TEST

SUITE(parameters)
{
	Suite *s = suite_create("parameters");
	TCase *tc = tcase_create("parameters");
	tcase_add_loop_test(tc, parameters_have_names_and_types, 0,
		sizeof(cases) / sizeof(*cases));
	tcase_add_test(tc, no_more_parameters_than_a_launch_takes);
	tcase_add_test(tc, diagnostics_are_coloured);
	suite_add_tcase(s, tc);
	return s;
}
