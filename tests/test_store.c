/* SPDX-License-Identifier: MIT */
/* src/base/store.c: what is put is found again, and nothing else is. */
#include "../src/base/common.h"

#include "../src/base/alloc.h"
#include "../src/base/store_inner.h"
#include "store_folder.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

START_TEST(what_was_put_is_found_again)
{
	struct store *store = store_create();
	ck_assert_int_eq(get_text(store, "a"), STORE_ABSENT);
	ck_assert(put_text(store, "a", "one"));
	ck_assert(put_text(store, "b", "two"));
	ck_assert_int_eq(get_text(store, "a"), STORE_HIT);
	ck_assert_str_eq(store_value, "one");
	ck_assert(put_text(store, "a", ""));
	ck_assert_int_eq(get_text(store, "a"), STORE_HIT);
	ck_assert_str_eq(store_value, "");
	store_close(store);
	store = store_create();
	ck_assert_int_eq(get_text(store, "b"), STORE_HIT);
	ck_assert_str_eq(store_value, "two");
	ck_assert_int_eq(get_text(store, "c"), STORE_ABSENT);
	store_close(store);
}
END_TEST

START_TEST(keys_and_values_are_any_bytes)
{
	struct store *store = store_create();
	char *value;
	size_t size;
	ck_assert(store_put(store, "a\0b", 3, "x\0y", 3));
	ck_assert(store_put(store, "a\0c", 3, "z", 1));
	ck_assert(store_put(store, "", 0, "nothing", 7));
	ck_assert_int_eq(store_get(store, "a\0b", 3, &value, &size), STORE_HIT);
	ck_assert_uint_eq(size, 3);
	ck_assert_mem_eq(value, "x\0y", 4);
	mem_free(value);
	ck_assert_int_eq(store_get(store, "", 0, &value, &size), STORE_HIT);
	ck_assert_str_eq(value, "nothing");
	mem_free(value);
	ck_assert_int_eq(store_get(store, "a", 1, &value, &size), STORE_ABSENT);
	ck_assert_ptr_null(value);
	ck_assert_uint_eq(size, 0);
	store_close(store);
}
END_TEST

Suite *store_suite(void);
Suite *store_suite(void)
{
	Suite *suite = suite_create("store");
	TCase *tc = tcase_create("entries");
	tcase_add_checked_fixture(tc, store_folder_create, store_folder_remove);
	tcase_add_test(tc, what_was_put_is_found_again);
	tcase_add_test(tc, keys_and_values_are_any_bytes);
	suite_add_tcase(suite, tc);
	return suite;
}
