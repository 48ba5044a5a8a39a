/* SPDX-License-Identifier: MIT */
/* Logs as lists of diagnostics: texts, and what the compiler says. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "support/support.h"
#include "support/suite.h"

#include <check.h>
#include <string.h>

static kz_error err;

static void clear(void)
{
	kz_error_clear(&err);
}

/* "E k.cu:4:5 (177-D) message | details | excerpt", a line for each. */
static char *list_text(const char *log)
{
	kz_diagnostics *list = NULL;
	struct str text = STR_INIT;
	ok(kz_diagnostics_create(&list, log, &err));
	for (int64_t i = 0; i < kz_diagnostics_count(list); i++) {
		const kz_diagnostic *d = kz_diagnostics_get(list, i);
		str_addf(&text, "%c %s:%d:%d (%s) %s | %s | %s\n", "?EWN"[d->severity],
			d->file ? d->file : "-", d->line, d->column, d->code ? d->code : "-",
			d->message, d->details ? d->details : "-", d->excerpt ? d->excerpt : "-");
	}
	ck_assert_ptr_null(kz_diagnostics_get(list, kz_diagnostics_count(list)));
	ck_assert_ptr_null(kz_diagnostics_get(list, -1));
	kz_diagnostics_release(list);
	return str_take(&text);
}

static const struct {
	const char *log;
	const char *list;
} logs[] = {
	{NULL, ""},
	{"", ""},
	{"\n\n  \n", ""},
	{"k.cu:4:7: error: expected a \";\"\n      a = 1\n        ^\n",
		"E k.cu:4:7 (-) expected a \";\" | - |     a = 1\n"},
	{"a b:c.cu:12:5: warning: variable [1] was declared [#177-D]\n  int y;\n      ^\n",
		"W a b:c.cu:12:5 (177-D) variable [1] was declared | - | int y;\n"},
	{"k.cu:2:1: error: no instance matches\n            argument types are: (int, int)\n"
	 "  f(1, 2);\n  ^\nk.cu:1:3: note: number of parameters [#3322-D]\n  T f(T);\n    ^\n"
	 "          detected during instantiation\n",
		"E k.cu:2:1 (-) no instance matches | argument types are: (int, int) | f(1, 2);\n"
		"N k.cu:1:3 (3322-D) number of parameters | detected during instantiation | "
		"T f(T);\n"},
	{"k.cu: error: Entry function 'k' uses too much\nptxas info    : Used 8 registers\n",
		"E k.cu:0:0 (-) Entry function 'k' uses too much | - | -\n"
		"N -:0:0 (-) ptxas info    : Used 8 registers | - | -\n"},
	{"k.cu:7: error: no caret: error: twice\n",
		"E k.cu:7:0 (-) no caret: error: twice | - | -\n"},
	{": error: \n  ^", "E -:0:0 (-)  | ^ | -\n"},
	{"k.cu:99999999999: error: m", "E k.cu:99999999999:0:0 (-) m | - | -\n"},
	{"k.cu:1:1: error: m [#]", "E k.cu:1:1 (-) m | - | -\n"},
};

START_TEST(a_log_is_read_as_it_was_written)
{
	char *text = list_text(logs[_i].log);
	ck_assert_str_eq(text, logs[_i].list);
	mem_free(text);
}
END_TEST

START_TEST(every_beginning_of_a_log_is_read_without_harm)
{
	for (size_t len = 0; logs[_i].log && len < strlen(logs[_i].log); len++) {
		char *part = mem_strndup(logs[_i].log, len);
		mem_free(list_text(part));
		mem_free(part);
	}
}
END_TEST

START_TEST(errors_of_a_compile_are_data)
{
	kz_image *image = NULL;
	const char *source = "__device__ int f(int a);\n"
		"__global__ void k(int *p)\n{\n\tint unused;\n\tp[0] = threadidx.x + f();\n}\n";
	ck_assert_int_eq(kz_compile(&image, source, NULL, &err), KZ_COMPILE);
	char *text = list_text(err.log);
	ck_assert_str_eq(text,
		"E kernel.cu:5:9 (-) identifier \"threadidx\" is undefined | - | "
		"\tp[0] = threadidx.x + f();\n"
		"E kernel.cu:5:25 (-) too few arguments in function call | - | "
		"\tp[0] = threadidx.x + f();\n"
		"W kernel.cu:4:6 (177-D) variable \"unused\" was declared but never referenced | - "
		"| \tint unused;\n");
	mem_free(text);
}
END_TEST

START_TEST(each_error_has_its_own_hint)
{
	kz_image *image = NULL;
	kz_diagnostics *list = NULL;
	const char *source = "__global__ void k(int *p, float4 *q)\n{\n\tp[0] = threadidx.x;\n"
		"\tp[0] = nothing;\n\t*q = *q + *q;\n}\n";
	ck_assert_int_eq(kz_compile(&image, source, NULL, &err), KZ_COMPILE);
	ok(kz_diagnostics_create(&list, err.log, NULL));
	ck_assert_int_ge(kz_diagnostics_count(list), 3);
	ck_assert_str_eq(kz_diagnostics_get(list, 0)->hint, "did you mean 'threadIdx'?");
	ck_assert_str_eq(kz_diagnostics_get(list, 0)->hint, err.hint);
	ck_assert_ptr_null(kz_diagnostics_get(list, 1)->hint);
	ck_assert_ptr_nonnull(strstr(kz_diagnostics_get(list, 2)->details, "float4 + float4"));
	ck_assert_ptr_nonnull(strstr(kz_diagnostics_get(list, 2)->hint, "one by one"));
	kz_diagnostics_release(list);
}
END_TEST

START_TEST(overloads_that_do_not_fit_are_notes)
{
	kz_image *image = NULL;
	ck_assert_int_eq(kz_compile(&image,
		"__global__ void k(long long *a) { atomicAdd(a, 1); }", NULL, &err), KZ_COMPILE);
	char *text = list_text(err.log);
	ck_assert_ptr_nonnull(strstr(text, "| argument types are: (long long *, int) |"));
	ck_assert_ptr_nonnull(strstr(text, "\nN kernel.cu:0:0 (3326-D) function \"atomicAdd(int *, "
		"int)\" does not match"));
	mem_free(text);
}
END_TEST

START_TEST(warnings_of_a_module_are_data)
{
	kz_device *dev = support_open(_i);
	kz_module *mod = NULL;
	ok(kz_module_compile(&mod, dev, "__global__ void k() { int x; }", NULL, &err));
	char *text = list_text(kz_module_log(mod));
	ck_assert_str_eq(text, "W kernel.cu:1:27 (177-D) variable \"x\" was declared but never "
		"referenced | - | __global__ void k() { int x; }\n");
	mem_free(text);
	kz_module_release(mod);
	support_close(dev);
}
END_TEST

START_TEST(nothing_in_place_of_a_list_is_no_crash)
{
	fails(kz_diagnostics_create(NULL, "", &err), KZ_INVALID, "out is NULL");
	ck_assert_int_eq(kz_diagnostics_count(NULL), 0);
	ck_assert_ptr_null(kz_diagnostics_get(NULL, 0));
	kz_diagnostics_release(NULL);
}
END_TEST

START_TEST(want_of_memory_leaves_nothing)
{
	bool failed = true;
	for (long n = 0; failed; n++) {
		kz_diagnostics *list = NULL;
		mem_fail_after(n);
		kz_status st = kz_diagnostics_create(&list, logs[5].log, &err);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(st, failed ? KZ_NO_MEMORY : KZ_OK);
		ck_assert_int_eq(!list, failed);
		kz_diagnostics_release(list);
		kz_error_clear(&err);
	}
}
END_TEST

SUITE(diagnostic)
{
	Suite *suite = suite_create("diagnostic");
	TCase *tc = suite_add_case(suite, "lists");
	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_tests(tc, (int)countof(logs), a_log_is_read_as_it_was_written,
		every_beginning_of_a_log_is_read_without_harm);
	tcase_add_tests(tc, 1, errors_of_a_compile_are_data, each_error_has_its_own_hint,
		overloads_that_do_not_fit_are_notes);
	tcase_add_loop_test(tc, warnings_of_a_module_are_data, 0, support_device_count());
	tcase_add_tests(tc, 1, nothing_in_place_of_a_list_is_no_crash,
		want_of_memory_leaves_nothing);
	return suite;
}
