/* SPDX-License-Identifier: MIT */
/* src/base: the heap's failure hook, strings, arenas, maps, shared objects. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/dl.h"
#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include "support/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

START_TEST(size_arithmetic_refuses_what_does_not_fit)
{
	size_t size = 7;
	int64_t size64 = 7;
	ck_assert(!size_add(&size, SIZE_MAX, 1));
	ck_assert(!size_mul(&size, SIZE_MAX / 2, 3));
	ck_assert_uint_eq(size, 7);
	ck_assert(!size64_mul(&size64, INT64_MAX / 2, 3));
	ck_assert(!size64_mul(&size64, -1, 3));
	ck_assert(!size64_add(&size64, INT64_MAX, 1));
	ck_assert_int_eq(size64, 7);
	ck_assert(size64_mul(&size64, 6, 7) && size64 == 42);
	ck_assert_uint_eq(round_up(513, 512), 1024);
}
END_TEST

START_TEST(the_nth_request_fails_and_the_next_one_passes)
{
	mem_fail_after(1);
	void *first = mem_alloc(1);
	ck_assert_ptr_nonnull(first);
	ck_assert(!mem_has_failed());
	ck_assert_ptr_null(mem_zalloc(1, 1));
	ck_assert(mem_has_failed());
	first = mem_realloc(first, 100);
	ck_assert_ptr_nonnull(first);
	mem_fail_after(-1);
	ck_assert(!mem_has_failed());
	mem_free(first);
}
END_TEST

START_TEST(an_array_grows_if_it_is_full)
{
	size_t cap = 0;
	uint64_t *items = NULL;
	for (size_t i = 0; i < 1000; i++) {
		uint64_t *grown = mem_grow(items, i, &cap, sizeof(*items));
		ck_assert_ptr_nonnull(grown);
		ck_assert(i == 0 || i % 8 == 0 || grown == items);
		ck_assert_uint_gt(cap, i);
		items = grown;
		items[i] = i;
	}
	for (size_t i = 0; i < 1000; i++) {
		ck_assert_uint_eq(items[i], i);
	}
	const size_t full = cap;
	mem_fail_after(0);
	ck_assert_ptr_null(mem_grow(items, full, &cap, sizeof(*items)));
	mem_fail_after(-1);
	ck_assert_uint_eq(cap, full);
	ck_assert_uint_eq(items[999], 999);
	cap = SIZE_MAX / 2 + 1;
	ck_assert_ptr_null(mem_grow(items, cap, &cap, 1));
	cap = SIZE_MAX / 16;
	ck_assert_ptr_null(mem_grow(items, cap, &cap, sizeof(*items) + 1));
	mem_free(items);
}
END_TEST

START_TEST(memory_of_no_bytes_is_memory)
{
	void *a = mem_alloc(0), *b = mem_zalloc(0, 8), *c = mem_realloc(NULL, 0);
	ck_assert(a && b && c);
	ck_assert_ptr_null(mem_zalloc(SIZE_MAX, 2));
	mem_free(a);
	mem_free(b);
	mem_free(c);
	mem_free(NULL);
}
END_TEST

START_TEST(a_text_is_duplicated_up_to_its_end)
{
	char *all = mem_strdup("kudzu"), *part = mem_strndup("kudzu", 3);
	char *whole = mem_strndup("kudzu", SIZE_MAX);
	ck_assert_str_eq(all, "kudzu");
	ck_assert_str_eq(part, "kud");
	ck_assert_str_eq(whole, "kudzu");
	mem_free(all);
	mem_free(part);
	mem_free(whole);
}
END_TEST

START_TEST(a_string_grows_by_what_is_added)
{
	struct str s = STR_INIT;
	char expected[2000] = "";
	for (int i = 0; i < 100; i++) {
		str_addf(&s, "%d,", i);
		sprintf(expected + strlen(expected), "%d,", i);
	}
	ck_assert_str_eq(s.data, expected);
	ck_assert_uint_eq(s.len, strlen(expected));
	str_clear(&s);
	str_addc(&s, 'x');
	str_addn(&s, "yz!", 2);
	str_add(&s, "");
	ck_assert_str_eq(s.data, "xyz");
	str_free(&s);
	ck_assert_ptr_null(s.data);
}
END_TEST

START_TEST(a_whole_number_is_added_in_decimal)
{
	static const int64_t numbers[] = {0, 7, 10, -1, -90, 1234567890123, INT64_MAX, INT64_MIN};
	for (size_t i = 0; i < countof(numbers); i++) {
		struct str s = STR_INIT;
		char expected[32];
		snprintf(expected, sizeof(expected), "n%lld", (long long)numbers[i]);
		str_addc(&s, 'n');
		str_addi(&s, numbers[i]);
		ck_assert_str_eq(s.data, expected);
		str_free(&s);
	}
}
END_TEST

START_TEST(a_string_that_ran_out_of_memory_stays_failed_and_gives_nothing)
{
	struct str s = STR_INIT;
	str_add(&s, "kept");
	mem_fail_after(0);
	str_addf(&s, "%200d", 1);
	str_add(&s, "ignored");
	mem_fail_after(-1);
	ck_assert(s.failed);
	ck_assert_str_eq(s.data, "kept");
	ck_assert_ptr_null(str_take(&s));
	ck_assert(!s.failed && !s.data);
}
END_TEST

START_TEST(a_text_becomes_a_string_of_json)
{
	struct str s = STR_INIT;
	str_add_json(&s, "");
	str_add_json(&s, "a\"b\\c\n\x1f\xc3\xa4");
	ck_assert_str_eq(s.data, "\"\"\"a\\\"b\\\\c\\u000a\\u001f\xc3\xa4\"");
	str_free(&s);
}
END_TEST

START_TEST(an_empty_string_is_taken_as_an_empty_text)
{
	struct str s = STR_INIT;
	char *text = str_take(&s);
	ck_assert_str_eq(text, "");
	mem_free(text);
}
END_TEST

START_TEST(a_string_is_copied_as_far_as_there_is_room)
{
	char out[8] = "12345";
	struct str s = STR_INIT;
	str_copy(out, 0, &s);
	ck_assert_str_eq(out, "12345");
	str_copy(out, sizeof(out), &s);
	ck_assert_str_eq(out, "");
	str_add(&s, "abcdefg");
	str_copy(out, sizeof(out), &s);
	ck_assert_str_eq(out, "abcdefg");
	str_copy(out, 3, &s);
	ck_assert_str_eq(out, "ab");
	s.failed = true;
	str_copy(out, sizeof(out), &s);
	ck_assert_str_eq(out, "");
	str_free(&s);
}
END_TEST

START_TEST(words_are_as_far_apart_as_letters_must_change)
{
	ck_assert_uint_eq(str_distance("", 0, "", 0), 0);
	ck_assert_uint_eq(str_distance("sin", 3, "sin", 3), 0);
	ck_assert_uint_eq(str_distance("sine", 4, "sin", 3), 1);
	ck_assert_uint_eq(str_distance("", 0, "abc", 3), 3);
	ck_assert_uint_eq(str_distance("kitten", 6, "sitting", 7), 3);
	ck_assert_uint_eq(str_distance("xsin", 1, "xsin", 4), 3);
}
END_TEST

START_TEST(the_characters_of_identifiers_are_those_of_c)
{
	static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	for (int c = -128; c < 128; c++) {
		ck_assert_int_eq(str_is_word((char)c), c != 0 && strchr(all, c) != NULL);
	}
}
END_TEST

START_TEST(arena_memory_is_cleared_aligned_and_apart)
{
	struct arena arena = ARENA_INIT;
	unsigned char *parts[300];
	for (size_t i = 0; i < countof(parts); i++) {
		size_t size = i * i % 7001; /* some larger than a block's share */
		parts[i] = arena_alloc(&arena, size, 1);
		ck_assert_ptr_nonnull(parts[i]);
		ck_assert_uint_eq((uintptr_t)parts[i] % 16, 0);
		for (size_t k = 0; k < size; k++) {
			ck_assert_uint_eq(parts[i][k], 0);
		}
		memset(parts[i], (int)(i % 255) + 1, size);
	}
	for (size_t i = 0; i < countof(parts); i++) {
		for (size_t k = 0; k < i * i % 7001; k++) {
			ck_assert_uint_eq(parts[i][k], i % 255 + 1);
		}
	}
	arena_free(&arena);
	ck_assert_ptr_null(arena.head);
}
END_TEST

/* Before the mark one block is begun, none, or a full one; after it small and large pieces. */
START_TEST(an_arena_goes_back_to_a_mark)
{
	static const size_t before[] = {0, 100, 16384};
	struct arena arena = ARENA_INIT;
	char *kept = before[_i] ? arena_alloc(&arena, before[_i], 1) : NULL;
	struct arena_mark mark = arena_mark(&arena);
	int dirty = 0;
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < 40; i++) {
			size_t size = i % 5 == 4 ? 20000 : 1000;
			char *part = arena_alloc(&arena, size, 1);
			dirty += part[0] || part[size - 1];
			memset(part, 1, size);
		}
		arena_reset(&arena, &mark);
		ck_assert_ptr_eq(arena.head, mark.head);
		ck_assert(!arena.head || arena_mark(&arena).next == mark.next);
	}
	ck_assert_int_eq(dirty, 0);
	ck_assert(!kept || (kept[0] == 0 && kept[before[_i] - 1] == 0));
	arena_free(&arena);
}
END_TEST

START_TEST(an_arena_refuses_what_does_not_fit)
{
	struct arena arena = ARENA_INIT;
	ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX, 2));
	ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX, 1));
	mem_fail_after(0);
	ck_assert_ptr_null(arena_printf(&arena, "%d", 1));
	mem_fail_after(-1);
	ck_assert_str_eq(arena_printf(&arena, "%s-%d", "a", 1), "a-1");
	ck_assert_str_eq(arena_strndup(&arena, "abc", 2), "ab");
	arena_free(&arena);
}
END_TEST

START_TEST(a_map_finds_what_was_put_and_nothing_else)
{
	struct map map = MAP_INIT;
	static char keys[1000][8];
	ck_assert_ptr_null(map_get(&map, "k0"));
	for (size_t i = 0; i < countof(keys); i++) {
		sprintf(keys[i], "k%zu", i);
		ck_assert(map_put(&map, keys[i], &keys[i]));
	}
	ck_assert_uint_eq(map.count, countof(keys));
	for (size_t i = 0; i < countof(keys); i++) {
		ck_assert_ptr_eq(map_get(&map, keys[i]), &keys[i]);
	}
	ck_assert_ptr_null(map_get(&map, "k1000"));
	ck_assert_ptr_null(map_get(&map, ""));
	ck_assert_ptr_eq(map_getn(&map, "k123", 2), &keys[1]);
	ck_assert(map_put(&map, "k7", &map));
	ck_assert_ptr_eq(map_get(&map, "k7"), &map);
	ck_assert_uint_eq(map.count, countof(keys));
	map_free(&map);
}
END_TEST

START_TEST(a_map_that_was_cleared_has_its_memory_and_no_keys)
{
	struct map map = MAP_INIT;
	ck_assert(!map_clear(&map));
	ck_assert(map_put(&map, "a", &map));
	ck_assert(map_clear(&map));
	ck_assert_ptr_null(map_get(&map, "a"));
	mem_fail_after(0);
	ck_assert(map_put(&map, "b", &map));
	mem_fail_after(-1);
	ck_assert_ptr_eq(map_get(&map, "b"), &map);
	map_free(&map);
}
END_TEST

START_TEST(a_map_that_cannot_grow_keeps_what_it_has)
{
	struct map map = MAP_INIT;
	mem_fail_after(0);
	ck_assert(!map_put(&map, "a", &map));
	mem_fail_after(-1);
	ck_assert_ptr_null(map_get(&map, "a"));
	ck_assert(map_put(&map, "a", &map));
	ck_assert_ptr_eq(map_get(&map, "a"), &map);
	map_free(&map);
}
END_TEST

START_TEST(an_object_that_is_not_there_has_a_reason)
{
	char why[256] = "";
	ck_assert_ptr_null(dl_open("libkudzu-no-such-thing.so", why, sizeof(why)));
	ck_assert_ptr_nonnull(strstr(why, "libkudzu-no-such-thing.so"));
	dl_close(NULL);
}
END_TEST

START_TEST(a_table_is_filled_and_the_first_missing_symbol_named)
{
	struct {
		double (*cos)(double);
		void (*absent)(void);
		void (*needed)(void);
	} table;
	const struct dl_row rows[] = {
		{"cos", 0, true},
		{"kudzu_absent", sizeof(void *), false},
		{"kudzu_needed", 2 * sizeof(void *), true},
	};
	char why[256];
	void *object = dl_open("libm.so.6", why, sizeof(why));
	ck_assert_ptr_nonnull(object);
	ck_assert_str_eq(dl_fill(object, rows, 3, &table), "kudzu_needed");
	ck_assert_ptr_null(dl_fill(object, rows, 2, &table));
	ck_assert(table.cos(0) == 1 && !table.absent && !table.needed);
	dl_close(object);
}
END_TEST

START_TEST(the_path_of_a_program_or_object_is_absolute)
{
	static int here;
	char *self = dl_path(&here), *libc = dl_path(stdout);
	ck_assert_ptr_nonnull(self);
	ck_assert_int_eq(self[0], '/');
	ck_assert_int_eq(libc[0], '/');
	ck_assert_ptr_null(dl_path((void *)1));
	mem_free(self);
	mem_free(libc);
}
END_TEST

START_TEST(a_build_id_is_that_of_the_object_with_the_address)
{
	static int here;
	uint8_t self[DL_BUILD_ID_SIZE], libc[DL_BUILD_ID_SIZE];
	size_t size = dl_build_id(self, &here);
	ck_assert_uint_ge(size, 8);
	ck_assert_uint_eq(dl_build_id(libc, stdout), size);
	ck_assert_mem_ne(self, libc, size);
	ck_assert_uint_eq(dl_build_id(libc, NULL), 0);

	char *data;
	size_t file_size;
	ck_assert_int_eq(file_read(&data, &file_size, "/proc/self/exe", NULL), KZ_OK);
	const char *found = memmem(data, file_size, self, size);
	ck_assert_ptr_nonnull(found);
	ck_assert_mem_eq(found - sizeof("GNU"), "GNU", sizeof("GNU"));
	mem_free(data);
}
END_TEST

START_TEST(the_build_id_of_a_file_is_that_of_the_object_it_is_loaded_as)
{
	uint8_t loaded[DL_BUILD_ID_SIZE], file[DL_BUILD_ID_SIZE];
	char *libc = dl_path(stdout);
	ck_assert_ptr_nonnull(libc);
	size_t size = dl_build_id(loaded, stdout);
	ck_assert_uint_eq(dl_file_id(file, libc), size);
	ck_assert_mem_eq(file, loaded, size);
	ck_assert_uint_eq(dl_file_id(file, "/dev/null"), 0);
	ck_assert_uint_eq(dl_file_id(file, "/nowhere"), 0);
	mem_free(libc);
}
END_TEST

static TCase *alloc_case(void)
{
	TCase *tc = tcase_create("alloc");
	tcase_add_test(tc, size_arithmetic_refuses_what_does_not_fit);
	tcase_add_test(tc, the_nth_request_fails_and_the_next_one_passes);
	tcase_add_test(tc, an_array_grows_if_it_is_full);
	tcase_add_test(tc, memory_of_no_bytes_is_memory);
	tcase_add_test(tc, a_text_is_duplicated_up_to_its_end);
	return tc;
}

static TCase *container_case(void)
{
	TCase *tc = tcase_create("containers");
	tcase_add_test(tc, a_string_grows_by_what_is_added);
	tcase_add_test(tc, a_whole_number_is_added_in_decimal);
	tcase_add_test(tc, a_string_that_ran_out_of_memory_stays_failed_and_gives_nothing);
	tcase_add_test(tc, a_text_becomes_a_string_of_json);
	tcase_add_test(tc, an_empty_string_is_taken_as_an_empty_text);
	tcase_add_test(tc, a_string_is_copied_as_far_as_there_is_room);
	tcase_add_test(tc, words_are_as_far_apart_as_letters_must_change);
	tcase_add_test(tc, the_characters_of_identifiers_are_those_of_c);
	tcase_add_test(tc, arena_memory_is_cleared_aligned_and_apart);
	tcase_add_loop_test(tc, an_arena_goes_back_to_a_mark, 0, 3);
	tcase_add_test(tc, an_arena_refuses_what_does_not_fit);
	tcase_add_test(tc, a_map_finds_what_was_put_and_nothing_else);
	tcase_add_test(tc, a_map_that_was_cleared_has_its_memory_and_no_keys);
	tcase_add_test(tc, a_map_that_cannot_grow_keeps_what_it_has);
	return tc;
}

SUITE(base)
{
	Suite *suite = suite_create("base");
	suite_add_tcase(suite, alloc_case());
	suite_add_tcase(suite, container_case());
	TCase *tc = tcase_create("dl");
	tcase_add_test(tc, an_object_that_is_not_there_has_a_reason);
	tcase_add_test(tc, a_table_is_filled_and_the_first_missing_symbol_named);
	tcase_add_test(tc, the_path_of_a_program_or_object_is_absolute);
	tcase_add_test(tc, a_build_id_is_that_of_the_object_with_the_address);
	tcase_add_test(tc, the_build_id_of_a_file_is_that_of_the_object_it_is_loaded_as);
	suite_add_tcase(suite, tc);
	return suite;
}
