/* SPDX-License-Identifier: MIT */
/*
 * The lists of kernels of big texts on disk: what comes from there is what reading the text gives,
 * and whatever is there instead does no harm.  Each test has a folder of its own.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cache/cache.h"
#include "cache/listed.h"
#include "cache/pack.h"
#include "support/image_text.h"
#include "support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static char folder[512];
static struct str ptx;

/* Kernels with three lists of parameters, overloads among them, and a variable. */
static void write_ptx(size_t least)
{
	static const char *const params[] = {"(.param .u64 a, .param .f32 b)", "",
		"(.param .align 8 .b8 s[24])"};
	ptx = (struct str)STR_INIT;
	str_add(&ptx, ".version 8.0\n.target sm_75\n.address_size 64\n"
		".visible .const .align 4 .u32 table[4];\n.entry _Z1kf(.param .f32 a) {}\n"
		".entry _Z1ki(.param .u32 a) {}\n");
	for (int i = 0; ptx.len < least; i++) {
		str_addf(&ptx, ".entry plain%d%s { ret; }\n", i, params[i % 3]);
	}
	ck_assert(!ptx.failed);
}

static void setup(void)
{
	snprintf(folder, sizeof(folder), "%s/listed-test-XXXXXX", KZ_TEST_BUILD);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("KUDZU_CACHE_DIR", folder, 1);
	unsetenv("KUDZU_CACHE");
	write_ptx(70000);
}

static void teardown(void)
{
	char command[600];
	str_free(&ptx);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

/* Whether the text was not read; what is known of it must be what reading tells. */
static bool is_from_disk(void)
{
	struct rtc_image image, expected;
	ck_assert_int_eq(listed_inspect(&image, ptx.data, ptx.len, NULL), KZ_OK);
	ck_assert_int_eq(rtc_image_inspect(&expected, ptx.data, ptx.len, NULL), KZ_OK);
	char *texts[] = {image_text(&image), image_text(&expected)};
	ck_assert_str_eq(texts[0], texts[1]);
	ck_assert_uint_eq(image.size, expected.size);
	ck_assert_str_eq(image.data, expected.data);
	ck_assert_str_eq(image.arch, "compute_75");
	ck_assert(hash_equal(image.hash, expected.hash));
	ck_assert_uint_eq(image.variable_count, 1);
	ck_assert_str_eq(image.variables[0].name, "table");
	ck_assert_int_eq(image.variables[0].size, 16);
	bool from_disk = image.packed != NULL;
	mem_free(texts[0]);
	mem_free(texts[1]);
	rtc_image_free(&image);
	rtc_image_free(&expected);
	return from_disk;
}

START_TEST(a_big_text_is_read_once)
{
	ck_assert(!is_from_disk());
	ck_assert(is_from_disk());
	ck_assert(is_from_disk());
	str_add(&ptx, "// another text\n");
	ck_assert(!is_from_disk());
	ck_assert(is_from_disk());
}
END_TEST

START_TEST(a_small_text_is_read_each_time)
{
	str_free(&ptx);
	write_ptx(8000);
	ck_assert(!is_from_disk());
	ck_assert(!is_from_disk());
}
END_TEST

/* What an entry is replaced by. */
static struct str other;

static bool replace(void *arg, const struct store_entry *entry)
{
	int *count = arg;
	char *key = mem_alloc(entry->key_size);
	memcpy(key, entry->key, entry->key_size);
	*count += memcmp(key, "list", 5) == 0
		&& store_put(store_default(), key, entry->key_size, other.data, other.len);
	mem_free(key);
	return true;
}

static void pack_other(const char *data, size_t size, bool is_ptx, struct hash hash)
{
	struct rtc_image image = {.data = (char[]){"."}, .size = size, .is_ptx = is_ptx,
		.hash = hash};
	image.data[0] = data[0];
	str_free(&other);
	pack_image(&other, &image);
}

/* No list at all, and what is one of something else. */
START_TEST(an_entry_that_is_no_such_list_is_a_miss)
{
	struct hash hash = hash_of(ptx.data, ptx.len);
	for (int i = 0; i < 4; i++) {
		int count = 0;
		(void)is_from_disk();
		ck_assert(is_from_disk());
		pack_other(i == 0 ? "." : "", i == 0, i != 1, i == 2 ? (struct hash){1, 2} : hash);
		if (i == 3) {
			str_clear(&other);
			str_add(&other, "no list");
		}
		ck_assert(store_walk(store_default(), replace, &count));
		ck_assert_int_eq(count, 1);
		ck_assert(!is_from_disk());
	}
	str_free(&other);
}
END_TEST

START_TEST(other_formats_are_inspected_as_ever)
{
	struct rtc_image image;
	static char big[100000] = "neither";
	kz_error err = KZ_ERROR_INIT;
	ck_assert_int_eq(listed_inspect(&image, big, sizeof(big), &err), KZ_BAD_IMAGE);
	kz_error_clear(&err);
	ck_assert_int_eq(listed_inspect(&image, big, 0, &err), KZ_INVALID);
	kz_error_clear(&err);
	memcpy(big, "\xed\x43\x4e\x7f", 4);
	ck_assert_int_eq(listed_inspect(&image, big, sizeof(big), &err), KZ_OK);
	ck_assert(image.is_lto && image.size == sizeof(big));
	rtc_image_free(&image);
}
END_TEST

START_TEST(want_of_memory_is_survived)
{
	bool failed = true;
	ck_assert(!is_from_disk());
	for (long n = 0; failed; n++) {
		struct rtc_image image;
		kz_error err = KZ_ERROR_INIT;
		mem_fail_after(n);
		kz_status st = listed_inspect(&image, ptx.data, ptx.len, &err);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(st == KZ_OK || (failed && st == KZ_NO_MEMORY));
		if (st == KZ_OK) {
			ck_assert_uint_gt(image.kernel_count, 1000);
			rtc_image_free(&image);
		}
		kz_error_clear(&err);
	}
	ck_assert(is_from_disk());
}
END_TEST

SUITE(listed)
{
	Suite *suite = suite_create("listed");
	TCase *tc = tcase_create("listed");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_big_text_is_read_once);
	tcase_add_test(tc, a_small_text_is_read_each_time);
	tcase_add_test(tc, an_entry_that_is_no_such_list_is_a_miss);
	tcase_add_test(tc, other_formats_are_inspected_as_ever);
	tcase_add_test(tc, want_of_memory_is_survived);
	suite_add_tcase(suite, tc);
	return suite;
}
