/* SPDX-License-Identifier: MIT */
/* Images as bytes: everything comes back, and no bytes do harm. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/cache/pack.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static kz_error err;

static void clear(void)
{
	kz_error_clear(&err);
}

/* Texts are not written to, and not freed. */
static char text[] = "const float *";
static struct rtc_param params[] = {
	{PARAM_POINTER, 8, 0, text},
	{PARAM_STRUCT, -1, -1, NULL},
	{PARAM_ENUM, 4, 12, text},
	{PARAM_INT, 126, 127, NULL},
	{PARAM_UINT, 128, 16383, NULL},
	{PARAM_STRUCT, INT64_MAX, INT64_MAX - 1, NULL},
};
static struct rtc_kernel kernels[] = {
	{(char[]){"ns::k<4>"}, (char[]){"_ZN2ns1kILi4EEEv"}, params, 6, true},
	{(char[]){""}, (char[]){"empty"}, NULL, 0, false},
	{(char[]){"plain"}, (char[]){"plain"}, params, 6, true},
};
enum { KERNELS = sizeof(kernels) / sizeof(*kernels) };
static struct rtc_variable variables[] = {
	{(char[]){"ns::v"}, (char[]){"_ZN2ns1vE"}, text, 64, 8, VARIABLE_CONSTANT, PARAM_POINTER,
		8},
	{(char[]){"w"}, (char[]){"w"}, NULL, 4, 0, VARIABLE_GLOBAL, PARAM_UNKNOWN, -1},
};
static struct rtc_image ptx = {(char[]){".version 9.0\n"}, 13, true, false, "compute_89",
	(char[]){"a warning\n"}, kernels, KERNELS, variables, 2,
	(char[]){"scale\n"}, (char[]){"ns::k<2 * 2>\n_ZN2ns1kILi4EEEv\n"}, NULL};
static struct rtc_image cubin = {(char[]){"\177ELF\0\1\2"}, 7, false, false, "sm_90a", NULL, NULL,
	0, NULL, 0, NULL, NULL, NULL};
static struct rtc_image lto = {(char[]){"lto"}, 3, false, true, "lto_90", NULL, NULL, 0, NULL, 0,
	NULL, NULL, NULL};

static void expect_same_text(const char *a, const char *b)
{
	ck_assert_int_eq(!a, !b);
	ck_assert_str_eq(a ? a : "", b ? b : "");
}

static void expect_same(const struct rtc_image *a, const struct rtc_image *b)
{
	ck_assert_uint_eq(a->size, b->size);
	ck_assert_mem_eq(a->data, b->data, a->size);
	ck_assert_int_eq(a->data[a->size], 0);
	ck_assert_int_eq(a->is_ptx, b->is_ptx);
	ck_assert_int_eq(a->is_lto, b->is_lto);
	ck_assert_str_eq(a->arch, b->arch);
	expect_same_text(a->log, b->log);
	expect_same_text(a->templates, b->templates);
	expect_same_text(a->aliases, b->aliases);
	ck_assert_uint_eq(a->kernel_count, b->kernel_count);
	for (size_t i = 0; i < a->kernel_count; i++) {
		const struct rtc_kernel *x = &a->kernels[i], *y = &b->kernels[i];
		expect_same_text(x->name, y->name);
		expect_same_text(x->lowered, y->lowered);
		ck_assert_int_eq(x->params_known, y->params_known);
		ck_assert_uint_eq(x->param_count, y->param_count);
		for (size_t j = 0; j < x->param_count; j++) {
			ck_assert_int_eq(x->params[j].kind, y->params[j].kind);
			ck_assert_int_eq(x->params[j].size, y->params[j].size);
			ck_assert_int_eq(x->params[j].offset, y->params[j].offset);
			expect_same_text(x->params[j].type, y->params[j].type);
		}
	}
	ck_assert_uint_eq(a->variable_count, b->variable_count);
	for (size_t i = 0; i < a->variable_count; i++) {
		const struct rtc_variable *x = &a->variables[i], *y = &b->variables[i];
		expect_same_text(x->name, y->name);
		expect_same_text(x->lowered, y->lowered);
		expect_same_text(x->type, y->type);
		ck_assert_int_eq(x->size, y->size);
		ck_assert_int_eq(x->align, y->align);
		ck_assert_int_eq(x->space, y->space);
		ck_assert_int_eq(x->kind, y->kind);
		ck_assert_int_eq(x->element_size, y->element_size);
	}
}

START_TEST(an_image_comes_back_as_it_was)
{
	struct rtc_image *const images[] = {&ptx, &cubin, &lto};
	struct rtc_image back;
	struct str bytes = STR_INIT;
	pack_image(&bytes, images[_i]);
	ck_assert_int_eq(unpack_image(&back, bytes.data, bytes.len, &err), KZ_OK);
	expect_same(&back, images[_i]);
	/* Machine code is read as structs. */
	ck_assert_uint_eq((uintptr_t)back.data % 16, 0);
	rtc_image_free(&back);
	str_free(&bytes);
}
END_TEST

/* How many of the prefixes are taken for an image. */
static int count_taken_prefixes(const struct str *bytes)
{
	int taken = 0;
	for (size_t n = 0; n < bytes->len; n++) {
		struct rtc_image back;
		char *exact = mem_alloc(n + (n == 0));
		memcpy(exact, bytes->data, n);
		taken += unpack_image(&back, exact, n, NULL) == KZ_OK;
		taken += back.data || back.kernels || back.log;
		mem_free(exact);
	}
	return taken;
}

START_TEST(an_image_cut_short_or_with_more_behind_it_is_refused)
{
	struct rtc_image back;
	struct str bytes = STR_INIT;
	pack_image(&bytes, &ptx);
	ck_assert_int_eq(count_taken_prefixes(&bytes), 0);
	str_addc(&bytes, 'x');
	ck_assert_int_eq(unpack_image(&back, bytes.data, bytes.len, &err), KZ_BAD_IMAGE);
	ck_assert_str_eq(err.message, "the packed image is damaged");
	str_free(&bytes);
}
END_TEST

/* Whether the bytes are taken for an image, and for the very same that `bytes` are. */
static bool is_the_same_image(char *changed, const struct str *bytes)
{
	struct rtc_image back;
	struct str again = STR_INIT;
	bool same = false;
	if (unpack_image(&back, changed, bytes->len, NULL) == KZ_OK) {
		pack_image(&again, &back);
		same = again.len == bytes->len && memcmp(again.data, bytes->data, again.len) == 0;
	}
	rtc_image_free(&back);
	str_free(&again);
	return same;
}

START_TEST(any_changed_byte_makes_another_image_or_none)
{
	struct str bytes = STR_INIT;
	int bad = 0;
	pack_image(&bytes, &ptx);
	char *changed = mem_alloc(bytes.len);
	memcpy(changed, bytes.data, bytes.len);
	for (size_t i = 0; i < bytes.len; i++) {
		for (int value = 1; value < 256; value <<= 1) {
			changed[i] = (char)(bytes.data[i] ^ value);
			bad += is_the_same_image(changed, &bytes);
		}
		changed[i] = bytes.data[i];
	}
	ck_assert_int_eq(bad, 0);
	ck_assert(is_the_same_image(changed, &bytes));
	mem_free(changed);
	str_free(&bytes);
}
END_TEST

START_TEST(want_of_memory_leaves_nothing)
{
	struct str bytes = STR_INIT;
	struct rtc_image back;
	bool failed = true;
	pack_image(&bytes, &ptx);
	for (long n = 0; failed; n++) {
		mem_fail_after(n);
		kz_status st = unpack_image(&back, bytes.data, bytes.len, &err);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(st, failed ? KZ_NO_MEMORY : KZ_OK);
		ck_assert_int_eq(!back.data, failed);
		kz_error_clear(&err);
	}
	rtc_image_free(&back);
	str_free(&bytes);
}
END_TEST

SUITE(pack)
{
	Suite *suite = suite_create("pack");
	TCase *tc = tcase_create("pack");
	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, an_image_comes_back_as_it_was, 0, 3);
	tcase_add_test(tc, an_image_cut_short_or_with_more_behind_it_is_refused);
	tcase_add_test(tc, any_changed_byte_makes_another_image_or_none);
	tcase_add_test(tc, want_of_memory_leaves_nothing);
	suite_add_tcase(suite, tc);
	return suite;
}
