/* SPDX-License-Identifier: MIT */
/*
 * The tables of native codes: their counts and order, what every driver code becomes, and a
 * comparison with the text of the toolkit's headers where these are installed.
 */
#include "base/common.h"

#include "lib/cuda/codes.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/cuda_abi.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct domain {
	kz_domain domain;
	int count;
	const char *header;
	const char *start;  /* of the enum's text */
	const char *prefix; /* of its names */
} domains[] = {
	{KZ_DOMAIN_DRIVER, 106, "cuda.h", "typedef enum cudaError_enum", "CUDA_"},
	{KZ_DOMAIN_NVRTC, 18, "nvrtc.h", "NVRTC_SUCCESS =", "NVRTC_"},
	{KZ_DOMAIN_NVJITLINK, 19, "nvJitLink.h", "NVJITLINK_SUCCESS =", "NVJITLINK_"},
	{KZ_DOMAIN_CUBLAS, 10, "cublas_api.h", "CUBLAS_STATUS_SUCCESS =", "CUBLAS_STATUS_"},
	{KZ_DOMAIN_CUSOLVER, 25, "cusolver_common.h", "CUSOLVER_STATUS_SUCCESS",
		"CUSOLVER_STATUS_"},
	{KZ_DOMAIN_CUFFT, 18, "cufft.h", "typedef enum cufftResult_t", "CUFFT_"},
	{KZ_DOMAIN_NCCL, 8, NULL, NULL, NULL}, /* tests/lib/comm/nccl_real.c compares it */
};

START_TEST(each_domain_has_the_published_number_of_codes)
{
	const struct domain *d = &domains[_i];
	ck_assert_int_eq(kz_native_code_count(d->domain), d->count);
	ck_assert_int_eq(kz_native_code_count(KZ_DOMAIN_OS), 0);
}
END_TEST

/* The text of a header, NULL where it is not installed; freed with mem_free. */
static char *header_text(const char *name)
{
	char *text = NULL;
#ifdef KZ_TEST_CUDA_INCLUDE
	char path[4096];
	size_t size;
	snprintf(path, sizeof(path), "%s/%s", KZ_TEST_CUDA_INCLUDE, name);
	if (file_read(&text, &size, path, NULL)) {
		text = NULL;
	}
#endif
	if (!text) {
		fprintf(stderr, "skipped: no <%s> to compare codes with\n", name);
	}
	return text;
}

/* Take the comments out of C text, in place. */
static void strip_comments(char *text)
{
	for (char *at = text; (at = strstr(at, "/*")) != NULL;) {
		char *end = strstr(at, "*/");
		size_t len = end ? (size_t)(end + 2 - at) : strlen(at);
		memset(at, ' ', len);
	}
}

/* The enumerators between `at` and the closing brace; how many there are. */
static int compare_enum(const struct domain *d, const char *at)
{
	int count = 0, number = -1;
	const char *end = strchr(at, '}');
	while ((at = strstr(at, d->prefix)) != NULL && at < end) {
		char name[128];
		size_t len = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
		snprintf(name, sizeof(name), "%.*s", (int)len, at);
		at += len;
		const char *value = at + strspn(at, " \n");
		number = *value == '=' ? (int)strtol(value + 1, NULL, 0) : number + 1;
		const struct native_code *code = codes_find(d->domain, number);
		if (code) {
			ck_assert_str_eq(code->name, name);
		}
		count++;
	}
	return count;
}

START_TEST(each_name_and_number_is_that_of_the_header)
{
	const struct domain *d = &domains[_i];
	char *text = d->header ? header_text(d->header) : NULL;
	char *version_text = header_text("cuda.h");
	if (text) {
		strip_comments(text);
		const char *start = strstr(text, d->start);
		ck_assert_ptr_nonnull(start);
		int count = compare_enum(d, start);
		/* Other toolkits may have more or fewer; the one that we know has these. */
		if (version_text && strstr(version_text, "#define CUDA_VERSION 13050")) {
			ck_assert_int_eq(count, d->count);
		}
	}
	mem_free(version_text);
	mem_free(text);
}
END_TEST

static const int sticky[] = {
	214,
	220,
	226,
	700,
	702,
	710,
	714,
	715,
	716,
	717,
	718,
	719,
	721,
	810,
	911,
};

START_TEST(exactly_the_codes_that_lose_the_context_are_sticky)
{
	size_t next = 0;
	for (int number = 0; number < 1000; number++) {
		const struct native_code *code = codes_find(KZ_DOMAIN_DRIVER, number);
		bool expected = next < countof(sticky) && sticky[next] == number;
		next += expected;
		ck_assert_msg(!expected || code, "no code %d", number);
		ck_assert_msg(
			!code || !(code->flags & KZ_ERROR_STICKY) == !expected, "code %d", number);
	}
	ck_assert_uint_eq(next, countof(sticky));
}
END_TEST

START_TEST(a_code_becomes_an_error_that_says_what_and_what_to_do)
{
	kz_error err = KZ_ERROR_INIT;
	ck_assert_int_eq(
		codes_fail(KZ_DOMAIN_DRIVER, 2, "cuMemAlloc", "16 bytes", &err), KZ_DEVICE_MEMORY);
	ck_assert_str_eq(err.message, "16 bytes: out of device memory");
	ck_assert_str_eq(err.name, "CUDA_ERROR_OUT_OF_MEMORY");
	ck_assert_str_eq(err.call, "cuMemAlloc");
	ck_assert_int_eq(err.domain, KZ_DOMAIN_DRIVER);
	ck_assert_int_eq(err.code, 2);
	ck_assert_uint_eq(err.flags, KZ_ERROR_RETRYABLE);
	ck_assert_ptr_nonnull(err.hint);
	kz_error_clear(&err);
}
END_TEST

START_TEST(an_unknown_code_keeps_its_number)
{
	kz_error err = KZ_ERROR_INIT;
	ck_assert_int_eq(codes_fail(KZ_DOMAIN_NVRTC, 4711, "nvrtcVersion", NULL, &err), KZ_UNKNOWN);
	ck_assert_str_eq(err.message, "nvrtcVersion: unexpected code 4711");
	ck_assert_int_eq(err.code, 4711);
	ck_assert_ptr_nonnull(err.hint);
	ck_assert_ptr_null(err.name);
	kz_error_clear(&err);
}
END_TEST

START_TEST(a_failure_with_the_code_for_success_is_still_a_failure)
{
	kz_error err = KZ_ERROR_INIT;
	ck_assert_int_eq(codes_fail(KZ_DOMAIN_DRIVER, 0, "cuInit", NULL, &err), KZ_UNKNOWN);
	kz_error_clear(&err);
}
END_TEST

START_TEST(the_public_lookup_knows_a_code_and_its_status)
{
	const char *name, *text;
	ck_assert_int_eq(kz_native_code(&name, &text, KZ_DOMAIN_CUSOLVER, 30), KZ_NUMERIC);
	ck_assert_str_eq(name, "CUSOLVER_STATUS_IRS_MATRIX_SINGULAR");
	ck_assert_str_eq(text, "the matrix is singular");
	ck_assert_ptr_nonnull(strstr(kz_native_code_hint(KZ_DOMAIN_DRIVER, 2), "release arrays"));
	ck_assert_str_eq(kz_native_code_hint(KZ_DOMAIN_DRIVER, 0), "");
	ck_assert_str_eq(kz_native_code_hint(KZ_DOMAIN_DRIVER, -1), "");
	ck_assert_int_eq(kz_native_code(&name, &text, KZ_DOMAIN_CUSOLVER, -1), KZ_UNKNOWN);
	ck_assert_ptr_null(name);
	ck_assert_ptr_null(text);
}
END_TEST

START_TEST(each_code_of_a_failure_says_what_to_do)
{
	const struct domain *d = &domains[_i];
	int count = 0;
	for (int number = 1; number < 1000; number++) {
		const struct native_code *code = codes_find(d->domain, number);
		if (code) {
			size_t len = code->hint ? strlen(code->hint) : 0;
			ck_assert_msg(len > 0 && code->hint[len - 1] != '.'
				&& !strchr(code->hint, '\n'), "%s: %s", code->name, code->hint);
			count++;
		}
	}
	ck_assert_int_eq(count, d->count - 1);
}
END_TEST

/* One line, in lower case but for names, no period: what a message is made of. */
START_TEST(each_text_can_stand_in_a_message)
{
	const struct domain *d = &domains[_i];
	for (int number = 0; number < 1000; number++) {
		const struct native_code *code = codes_find(d->domain, number);
		if (code) {
			size_t len = strlen(code->text);
			ck_assert_msg(len > 0 && len < 80 && code->text[len - 1] != '.', "%s",
				code->name);
			ck_assert_msg(number == 0 || code->status != KZ_OK, "%s", code->name);
		}
	}
}
END_TEST

SUITE(codes)
{
	Suite *suite = suite_create("codes");
	TCase *tc = suite_add_case(suite, "tables");
	tcase_add_tests(tc, countof(domains), each_domain_has_the_published_number_of_codes,
		each_name_and_number_is_that_of_the_header, each_text_can_stand_in_a_message,
		each_code_of_a_failure_says_what_to_do);
	tcase_add_test(tc, exactly_the_codes_that_lose_the_context_are_sticky);
	tc = suite_add_case(suite, "failures");
	tcase_add_tests(tc, 1, a_code_becomes_an_error_that_says_what_and_what_to_do,
		an_unknown_code_keeps_its_number,
		a_failure_with_the_code_for_success_is_still_a_failure,
		the_public_lookup_knows_a_code_and_its_status);
	return suite;
}
