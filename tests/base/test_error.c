/* SPDX-License-Identifier: MIT */
/* Error values: the first failure wins, ownership, and what a person sees. */
#include "base/common.h"

#include "base/error.h"

#include "base/alloc.h"
#include "support/suite.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct foreign_code fault = {KZ_DOMAIN_DRIVER, 700, "NAME", "call", KZ_ERROR_STICKY};

START_TEST(the_first_failure_wins)
{
	kz_error err = KZ_ERROR_INIT;
	ck_assert_int_eq(error_set(&err, KZ_RANGE, "first %d", 1), KZ_RANGE);
	ck_assert_int_eq(error_set(&err, KZ_IO, "second"), KZ_IO);
	ck_assert_int_eq(kz_error_status(&err), KZ_RANGE);
	ck_assert_str_eq(kz_error_message(&err), "first 1");
	kz_error_clear(&err);
}
END_TEST

START_TEST(printing_counts_the_failures_that_came_later)
{
	kz_error err = KZ_ERROR_INIT, other = KZ_ERROR_INIT, copy = KZ_ERROR_INIT;
	char text[400];
	error_set(&err, KZ_RANGE, "first");
	error_set(&err, KZ_IO, "second");
	kz_error_format(&err, text, sizeof(text));
	ck_assert_str_eq(text, "kudzu: first\nnote: 1 later failure came while this error was not "
		"cleared (kz_error_clear)\n");
	error_foreign(&err, KZ_FAULT, &fault, "third");
	error_os(&err, ENOENT, "open", "fourth");
	error_copy(&err, &other); /* KZ_OK is not a failure */
	error_set(&other, KZ_IO, "fifth");
	error_copy(&err, &other);
	kz_error_format(&err, text, sizeof(text));
	ck_assert_str_eq(text, "kudzu: first\nnote: 4 later failures came while this error was not "
		"cleared (kz_error_clear)\n");
	error_copy(&copy, &err);
	kz_error_format(&copy, text, sizeof(text));
	ck_assert_str_eq(text, "kudzu: first\n");
	kz_error_clear(&copy);
	kz_error_clear(&err);
	error_set(&err, KZ_RANGE, "again");
	kz_error_format(&err, text, sizeof(text));
	ck_assert_str_eq(text, "kudzu: again\n");
	kz_error_clear(&err);
	kz_error_clear(&other);
}
END_TEST

START_TEST(every_function_takes_no_error)
{
	char *log = mem_strdup("log");
	ck_assert_int_eq(error_set(NULL, KZ_RANGE, "x"), KZ_RANGE);
	ck_assert_int_eq(error_no_memory(NULL), KZ_NO_MEMORY);
	ck_assert_int_eq(error_os(NULL, ENOENT, "open", "x"), KZ_NOT_FOUND);
	ck_assert(!error_is_clean(NULL));
	error_add_hint(NULL, "hint");
	error_add_place(NULL, "file", 1, 1);
	error_take_log(NULL, log);
	kz_error_clear(NULL);
	ck_assert_int_eq(kz_error_status(NULL), KZ_OK);
	ck_assert_str_eq(kz_error_message(NULL), "");
	ck_assert_uint_eq(kz_error_format(NULL, NULL, 0), 0);
	ck_assert_int_eq(kz_native_code(NULL, NULL, KZ_DOMAIN_DRIVER, 700), KZ_FAULT);
}
END_TEST

START_TEST(a_failure_is_told_again_with_its_code)
{
	kz_error from = KZ_ERROR_INIT, err = KZ_ERROR_INIT;
	error_foreign(&from, KZ_FAULT, &fault, "a kernel failed");
	ck_assert_int_eq(error_retell(&err, &from, "lost: %s", from.message), KZ_FAULT);
	ck_assert_str_eq(err.message, "lost: a kernel failed");
	ck_assert_int_eq(err.domain, KZ_DOMAIN_DRIVER);
	ck_assert_int_eq(err.code, 700);
	ck_assert_str_eq(err.name, "NAME");
	ck_assert_str_eq(err.call, "call");
	ck_assert_uint_eq(err.flags, KZ_ERROR_STICKY);
	ck_assert_int_eq(error_retell(&err, &from, "again"), KZ_FAULT);
	ck_assert_str_eq(err.message, "lost: a kernel failed");
}
END_TEST

START_TEST(a_cleared_error_can_be_used_again)
{
	kz_error err = KZ_ERROR_INIT, fresh = KZ_ERROR_INIT;
	error_foreign(&err, KZ_FAULT, &fault, "message");
	error_add_place(&err, "a.cu", 3, 4);
	error_take_log(&err, mem_strdup("log"));
	kz_error_clear(&err);
	ck_assert_mem_eq(&err, &fresh, sizeof(err));
	ck_assert(error_is_clean(&err));
}
END_TEST

/* Names that a message has already are not repeated, and the outermost call's stays. */
static const struct {
	const char *message, *name, *want;
} names[] = {
	{"axis 9 is out of range", "kz_sort", "kz_sort: axis 9 is out of range"},
	{"axis 9 is out of range", "sort", "kz_sort: axis 9 is out of range"},
	{"kz_scan: axis 9", "kz_cumsum", "kz_cumsum: axis 9"},
	{"kz_sort: axis 9", "kz_sort", "kz_sort: axis 9"},
	{"sort: axis 9", "kz_sort", "kz_sort: axis 9"},
	{"sort does not take a struct", "kz_sort", "kz_sort does not take a struct"},
	{"sorted: axis 9", "kz_sort", "kz_sort: sorted: axis 9"},
	{"kz_add takes 2 operands", "kz_add", "kz_add takes 2 operands"},
	{"kz_sort_options has size 3", "kz_sort", "kz_sort: kz_sort_options has size 3"},
	{"", "kz_sort", "kz_sort: "},
};

START_TEST(a_mistake_gets_the_name_of_the_call)
{
	kz_error err = KZ_ERROR_INIT;
	error_set(&err, KZ_INVALID, "%s", names[_i].message);
	error_name_call(&err, names[_i].name);
	ck_assert_str_eq(err.message, names[_i].want);
	kz_error_clear(&err);
	error_set(&err, KZ_INVALID, "%0400d", 1);
	error_name_call(&err, names[_i].name);
	ck_assert_uint_eq(strlen(err.message), sizeof(err.message) - 1);
	ck_assert_str_eq(err.message + sizeof(err.message) - 4, "...");
	kz_error_clear(&err);
	/* What failed is no mistake of the caller, or has a place in a text. */
	error_set(&err, KZ_IO, "x");
	error_name_call(&err, names[_i].name);
	ck_assert_str_eq(err.message, "x");
	kz_error_clear(&err);
	error_set(&err, KZ_INVALID, "x");
	error_add_place(&err, "expression", 1, 1);
	error_name_call(&err, names[_i].name);
	ck_assert_str_eq(err.message, "x");
	kz_error_clear(&err);
}
END_TEST

static kz_status fail_in_scope(kz_error *err)
{
	error_scope_of(err, "kz_outer");
	return error_set(err, KZ_RANGE, "too far");
}

START_TEST(a_scope_names_its_own_failure_only)
{
	kz_error err = KZ_ERROR_INIT;
	ck_assert_int_eq(fail_in_scope(NULL), KZ_RANGE);
	ck_assert_int_eq(fail_in_scope(&err), KZ_RANGE);
	ck_assert_str_eq(err.message, "kz_outer: too far");
	kz_error_clear(&err);
	error_set(&err, KZ_INVALID, "before");
	ck_assert_int_eq(fail_in_scope(&err), KZ_RANGE);
	ck_assert_str_eq(err.message, "before");
	kz_error_clear(&err);
}
END_TEST

START_TEST(functions_read_every_field)
{
	kz_error *err = kz_error_create();
	ck_assert(error_is_clean(err));
	ck_assert_str_eq(kz_error_name(err), "");
	ck_assert_str_eq(kz_error_file(err), "");
	ck_assert_str_eq(kz_error_log(err), "");
	error_foreign(err, KZ_FAULT, &fault, "message");
	error_add_place(err, "a.cu", 3, 4);
	error_add_hint(err, "hint");
	error_take_log(err, mem_strdup("log"));
	ck_assert_int_eq(kz_error_domain(err), KZ_DOMAIN_DRIVER);
	ck_assert_int_eq(kz_error_code(err), 700);
	ck_assert_uint_eq(kz_error_flags(err), KZ_ERROR_STICKY);
	ck_assert_str_eq(kz_error_name(err), "NAME");
	ck_assert_str_eq(kz_error_call(err), "call");
	ck_assert_str_eq(kz_error_hint(err), "hint");
	ck_assert_str_eq(kz_error_file(err), "a.cu");
	ck_assert_int_eq(kz_error_line(err), 3);
	ck_assert_int_eq(kz_error_column(err), 4);
	ck_assert_str_eq(kz_error_log(err), "log");
	kz_error_release(err);
	kz_error_release(NULL);
}
END_TEST

START_TEST(a_copy_owns_its_texts)
{
	kz_error err = KZ_ERROR_INIT, copy = KZ_ERROR_INIT;
	error_set(&err, KZ_COMPILE, "message");
	error_add_place(&err, "a.cu", 3, 4);
	error_take_log(&err, mem_strdup("log"));
	ck_assert_int_eq(error_copy(&copy, &err), KZ_COMPILE);
	kz_error_clear(&err);
	ck_assert_str_eq(copy.file, "a.cu");
	ck_assert_str_eq(copy.log, "log");
	ck_assert_str_eq(copy.message, "message");
	kz_error_clear(&copy);
}
END_TEST

START_TEST(a_message_that_is_too_long_ends_between_characters)
{
	kz_error err = KZ_ERROR_INIT;
	char text[400];
	for (size_t shift = 0; shift < 2; shift++) {
		memset(text, 'x', shift);
		for (size_t i = shift; i + 2 < sizeof(text); i += 2) {
			memcpy(text + i, "\xc3\xa4", 3);
		}
		error_set(&err, KZ_INVALID, "%s", text);
		size_t len = strlen(err.message);
		ck_assert_uint_ge(len, sizeof(err.message) - 3);
		ck_assert_str_eq(err.message + len - 3, "...");
		ck_assert_int_eq((unsigned char)err.message[len - 4], 0xa4);
		kz_error_clear(&err);
	}
}
END_TEST

START_TEST(a_message_is_one_line_whatever_is_in_it)
{
	kz_error err = KZ_ERROR_INIT;
	error_set(&err, KZ_INVALID, "no kernel '%s'", "a\nb\033[31m");
	ck_assert_str_eq(err.message, "no kernel 'a b [31m'");
	kz_error_clear(&err);
}
END_TEST

static const struct {
	int code;
	kz_status status;
	const char *name;
} os_codes[] = {
	{ENOENT, KZ_NOT_FOUND, "ENOENT"},
	{EACCES, KZ_PERMISSION, "EACCES"},
	{ENOMEM, KZ_NO_MEMORY, "ENOMEM"},
	{EIO, KZ_IO, "EIO"},
};

START_TEST(a_system_error_has_its_name_and_reason)
{
	kz_error err = KZ_ERROR_INIT;
	int code = os_codes[_i].code;
	ck_assert_int_eq(
		error_os(&err, code, "open", "cannot open '%s'", "x"), os_codes[_i].status);
	ck_assert_int_eq(err.domain, KZ_DOMAIN_OS);
	ck_assert_int_eq(err.code, code);
	ck_assert_str_eq(err.name, os_codes[_i].name);
	ck_assert_ptr_nonnull(strstr(err.message, strerror(code)));
	kz_error_clear(&err);
}
END_TEST

/* Compare what is printed to a stream and what is formatted with the expected text. */
static void check_print(const kz_error *err, const char *expected)
{
	char *text = NULL, buffer[1024];
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	kz_error_print(err, stream);
	fclose(stream);
	ck_assert_str_eq(text, expected);
	ck_assert_uint_eq(kz_error_format(err, buffer, sizeof(buffer)), strlen(expected));
	ck_assert_str_eq(buffer, expected);
	free(text);
}

START_TEST(printing_says_what_where_and_what_to_do)
{
	kz_error err = KZ_ERROR_INIT;
	const struct foreign_code code = {KZ_DOMAIN_DRIVER, 700, "CUDA_ERROR_ILLEGAL_ADDRESS",
		"cuStreamSynchronize", KZ_ERROR_STICKY | KZ_ERROR_MAYBE_ASYNC};
	error_foreign(&err, KZ_FAULT, &code,
		"a kernel made an illegal memory access");
	error_add_place(&err, "scale.cu", 7, 3);
	error_add_hint(&err, "check the kernel's indexes");
	error_take_log(&err, mem_strdup("one\n\ntwo"));
	check_print(&err,
		"kudzu: a kernel made an illegal memory access\n"
		"  at:   scale.cu:7:3\n"
		"  call: cuStreamSynchronize -> CUDA_ERROR_ILLEGAL_ADDRESS (700)\n"
		"  note: the cause may be work that was started earlier\n"
		"  note: sticky: every later call on this device fails\n"
		"  hint: check the kernel's indexes\n"
		"  log:\n"
		"    one\n"
		"\n"
		"    two\n");
	kz_error_clear(&err);
}
END_TEST

START_TEST(a_failure_of_our_own_prints_as_one_line)
{
	kz_error err = KZ_ERROR_INIT;
	check_print(&err, "");
	error_set(&err, KZ_INVALID, "expected 4 bytes, got 8");
	kz_error_print(&err, NULL);
	check_print(&err, "kudzu: expected 4 bytes, got 8\n");
	kz_error_clear(&err);
}
END_TEST

START_TEST(a_compile_error_prints_as_a_compiler_does)
{
	static const char log[] = "a.cu:2:5: error: expected a \";\"\n"
				  "        x\n"
				  "        ^\n";
	kz_error err = KZ_ERROR_INIT;
	const struct foreign_code code = {KZ_DOMAIN_NVRTC, 6, "NVRTC_ERROR_COMPILATION",
		.call = "nvrtcCompileProgram"};
	error_foreign(&err, KZ_COMPILE, &code, "a.cu:2:5: error: expected a \";\"");
	error_add_place(&err, "a.cu", 2, 5);
	error_take_log(&err, mem_strdup(log));
	check_print(&err, log);
	kz_error_clear(&err);
}
END_TEST

START_TEST(the_code_of_lapack_prints_as_info)
{
	kz_error err = KZ_ERROR_INIT;
	const struct foreign_code code = {KZ_DOMAIN_LAPACK, 2, .call = "getrf"};
	error_foreign(&err, KZ_NUMERIC, &code, "message");
	check_print(&err, "kudzu: message\n  call: getrf -> info (2)\n");
	kz_error_clear(&err);
}
END_TEST

START_TEST(an_unknown_code_prints_its_number)
{
	kz_error err = KZ_ERROR_INIT;
	const struct foreign_code code = {KZ_DOMAIN_DRIVER, 12345, .call = "cuInit"};
	error_foreign(&err, KZ_UNKNOWN, &code, "message");
	check_print(&err, "kudzu: message\n  call: cuInit -> unknown code (12345)\n");
	kz_error_clear(&err);
}
END_TEST

START_TEST(formatting_into_a_small_buffer_cuts_and_tells_the_whole_length)
{
	kz_error err = KZ_ERROR_INIT;
	char buffer[8] = "-------";
	error_set(&err, KZ_INVALID, "0123456789");
	ck_assert_uint_eq(kz_error_format(&err, NULL, 0), 18);
	ck_assert_uint_eq(kz_error_format(&err, NULL, 8), 18);
	ck_assert_uint_eq(kz_error_format(&err, buffer, sizeof(buffer)), 18);
	ck_assert_str_eq(buffer, "kudzu: ");
	ck_assert_uint_eq(kz_error_format(&err, buffer, 1), 18);
	ck_assert_str_eq(buffer, "");
	kz_error_clear(&err);
}
END_TEST

START_TEST(each_status_and_domain_has_a_name_and_the_next_one_has_not)
{
	for (int i = 0; i <= KZ_UNKNOWN; i++) {
		ck_assert_int_eq(strncmp(kz_status_name((kz_status)i), "KZ_", 3), 0);
		ck_assert_uint_gt(strlen(kz_status_string((kz_status)i)), 0);
	}
	ck_assert_str_eq(kz_status_name((kz_status)(KZ_UNKNOWN + 1)), "KZ_UNKNOWN");
	ck_assert_str_eq(kz_status_name((kz_status)-1), "KZ_UNKNOWN");
	ck_assert_str_eq(kz_status_name(KZ_NUMERIC), "KZ_NUMERIC");
	for (int i = 0; i <= KZ_DOMAIN_LAPACK; i++) {
		ck_assert_str_ne(kz_domain_name((kz_domain)i), "unknown");
	}
	ck_assert_str_eq(kz_domain_name((kz_domain)(KZ_DOMAIN_LAPACK + 1)), "unknown");
}
END_TEST

SUITE(error)
{
	Suite *suite = suite_create("error");
	TCase *tc = tcase_create("values");
	tcase_add_test(tc, the_first_failure_wins);
	tcase_add_test(tc, printing_counts_the_failures_that_came_later);
	tcase_add_test(tc, every_function_takes_no_error);
	tcase_add_test(tc, a_failure_is_told_again_with_its_code);
	tcase_add_test(tc, a_cleared_error_can_be_used_again);
	tcase_add_test(tc, functions_read_every_field);
	tcase_add_loop_test(tc, a_mistake_gets_the_name_of_the_call, 0, countof(names));
	tcase_add_test(tc, a_scope_names_its_own_failure_only);
	tcase_add_test(tc, a_copy_owns_its_texts);
	tcase_add_test(tc, a_message_that_is_too_long_ends_between_characters);
	tcase_add_test(tc, a_message_is_one_line_whatever_is_in_it);
	tcase_add_loop_test(tc, a_system_error_has_its_name_and_reason, 0, countof(os_codes));
	tcase_add_test(tc, each_status_and_domain_has_a_name_and_the_next_one_has_not);
	suite_add_tcase(suite, tc);
	tc = tcase_create("printing");
	tcase_add_test(tc, printing_says_what_where_and_what_to_do);
	tcase_add_test(tc, a_failure_of_our_own_prints_as_one_line);
	tcase_add_test(tc, a_compile_error_prints_as_a_compiler_does);
	tcase_add_test(tc, the_code_of_lapack_prints_as_info);
	tcase_add_test(tc, an_unknown_code_prints_its_number);
	tcase_add_test(tc, formatting_into_a_small_buffer_cuts_and_tells_the_whole_length);
	suite_add_tcase(suite, tc);
	return suite;
}
