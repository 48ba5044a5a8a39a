/* SPDX-License-Identifier: MIT */
/*
 * src/base/store.c: what is put is found again, and nothing else is, whatever became of the files.
 * test_store_calls.c: when system calls fail; test_store_race.c: many processes;
 * test_store_owner.c: other users.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "calls.h"
#include "support/store_folder.h"
#include "support/suite.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

START_TEST(what_was_put_is_found_again)
{
	struct store *store = store_create(0);
	ck_assert_int_eq(get_text(store, "a"), STORE_ABSENT);
	ck_assert(put_text(store, "a", "one"));
	ck_assert(put_text(store, "b", "two"));
	ck_assert_int_eq(get_text(store, "a"), STORE_HIT);
	ck_assert_str_eq(store_value, "one");
	ck_assert(put_text(store, "a", ""));
	ck_assert_int_eq(get_text(store, "a"), STORE_HIT);
	ck_assert_str_eq(store_value, "");
	store_close(store);
	store = store_create(0);
	ck_assert_int_eq(get_text(store, "b"), STORE_HIT);
	ck_assert_str_eq(store_value, "two");
	ck_assert_int_eq(get_text(store, "c"), STORE_ABSENT);
	store_close(store);
	store_close(NULL);
}
END_TEST

START_TEST(keys_and_values_are_any_bytes)
{
	struct store *store = store_create(0);
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

static const size_t sizes[] = {0, 1, 4096, 8192, 1 << 16, (1 << 16) + 1, 8 << 20};

START_TEST(values_have_any_size)
{
	struct store *store = store_create(0);
	ck_assert(put_number(store, 7, sizes[_i]));
	ck_assert_int_eq(get_number(store, 7, sizes[_i]), STORE_HIT);
	store_close(store);
}
END_TEST

START_TEST(nothing_is_made_before_something_is_put)
{
	struct store *store = store_create(0);
	ck_assert_int_eq(get_text(store, "a"), STORE_ABSENT);
	ck_assert_int_ne(access(store_path, F_OK), 0);
	ck_assert(put_text(store, "a", "one"));
	struct stat st;
	ck_assert_int_eq(stat(store_path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0700);
	ck_assert_int_eq(stat(entry_path("a", 1), &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(count_temporary(), 0);
	store_close(store);
}
END_TEST

/* The folder and the file are opened, looked at and closed; the file is read. */
START_TEST(a_hit_is_seven_system_calls)
{
	struct store *store = store_create(0);
	char key[32], *value;
	size_t size, key_size = number_key(key, 1);
	ck_assert(put_number(store, 1, 8192));
	calls_begin(CALLS_PASS, 0, -1, false);
	enum store_result result = store_get(store, key, key_size, &value, &size);
	ck_assert_int_eq(calls_end(), 7);
	ck_assert_int_eq(result, STORE_HIT);
	mem_free(value);
	store_close(store);
}
END_TEST

START_TEST(a_hit_notes_the_use_once_an_hour)
{
	struct store *store = store_create(0);
	struct timespec old[2] = {{time(NULL) - 7200, 0}, {time(NULL) - 7200, 0}};
	struct stat st;
	ck_assert(put_text(store, "a", "one"));
	ck_assert_int_eq(utimensat(AT_FDCWD, entry_path("a", 1), old, 0), 0);
	ck_assert_int_eq(get_text(store, "a"), STORE_HIT);
	ck_assert_int_eq(stat(entry_path("a", 1), &st), 0);
	ck_assert_int_ge(st.st_mtim.tv_sec, time(NULL) - 60);
	old[1].tv_sec = time(NULL) - 1800;
	ck_assert_int_eq(utimensat(AT_FDCWD, entry_path("a", 1), old, 0), 0);
	ck_assert_int_eq(get_text(store, "a"), STORE_HIT);
	ck_assert_int_eq(stat(entry_path("a", 1), &st), 0);
	ck_assert_int_eq(st.st_mtim.tv_sec, old[1].tv_sec);
	store_close(store);
}
END_TEST

/* Damage */

enum { ENTRY_SIZE = 8192 };

/* A store with one entry, whose file has ENTRY_SIZE bytes; the file, open to be changed. */
static struct store *store_with_entry(int *fd, size_t *value_size)
{
	struct store *store = store_create(0);
	char key[32];
	size_t key_size = number_key(key, 1);
	struct stat st;
	*value_size = ENTRY_SIZE - STORE_HEAD - key_size;
	ck_assert(put_number(store, 1, *value_size));
	*fd = open(entry_path(key, key_size), O_RDWR);
	ck_assert_int_eq(fstat(*fd, &st), 0);
	ck_assert_int_eq(st.st_size, ENTRY_SIZE);
	return store;
}

START_TEST(every_flipped_bit_is_found)
{
	unsigned char before[ENTRY_SIZE];
	size_t size;
	int fd, found = 0;
	struct store *store = store_with_entry(&fd, &size);
	ck_assert_int_eq(pread(fd, before, ENTRY_SIZE, 0), ENTRY_SIZE);
	for (int bit = 0; bit < 8 * ENTRY_SIZE; bit++) {
		unsigned char changed = before[bit / 8] ^ (unsigned char)(1 << bit % 8);
		if (pwrite(fd, &changed, 1, bit / 8) != 1) {
			break;
		}
		found += get_number(store, 1, size) == STORE_DAMAGED;
		if (pwrite(fd, &before[bit / 8], 1, bit / 8) != 1) {
			break;
		}
	}
	ck_assert_int_eq(found, 65536);
	ck_assert_int_eq(get_number(store, 1, size), STORE_HIT);
	close(fd);
	store_close(store);
}
END_TEST

START_TEST(every_truncation_is_found)
{
	char before[ENTRY_SIZE + 1] = {0};
	size_t size;
	int fd, wrong = 0;
	struct store *store = store_with_entry(&fd, &size);
	ck_assert_int_eq(pread(fd, before, ENTRY_SIZE, 0), ENTRY_SIZE);
	for (int length = ENTRY_SIZE - 1; length >= 0; length--) {
		wrong += ftruncate(fd, length) != 0 || get_number(store, 1, size) != STORE_DAMAGED;
	}
	ck_assert_int_eq(wrong, 0);
	ck_assert_int_eq(pwrite(fd, before, ENTRY_SIZE + 1, 0), ENTRY_SIZE + 1); /* and one more */
	ck_assert_int_eq(get_number(store, 1, size), STORE_DAMAGED);
	ck_assert(put_number(store, 1, size));
	ck_assert_int_eq(get_number(store, 1, size), STORE_HIT);
	close(fd);
	store_close(store);
}
END_TEST

START_TEST(every_sector_of_zeros_is_found)
{
	static const char zeros[512];
	char before[512];
	size_t size;
	int fd;
	struct store *store = store_with_entry(&fd, &size);
	for (off_t at = 0; at < ENTRY_SIZE; at += 512) {
		ck_assert_int_eq(pread(fd, before, 512, at), 512);
		ck_assert_int_eq(pwrite(fd, zeros, 512, at), 512);
		ck_assert_int_eq(get_number(store, 1, size), STORE_DAMAGED);
		ck_assert_int_eq(pwrite(fd, before, 512, at), 512);
	}
	ck_assert_int_eq(get_number(store, 1, size), STORE_HIT);
	close(fd);
	store_close(store);
}
END_TEST

enum { BIG_KEY = 20000, BIG_VALUE = 100000, OTHER_KEY_MAX = 80000 };

static enum store_result get_big(struct store *store, const char *key, size_t key_size)
{
	char *value, expected[BIG_VALUE];
	size_t size;
	memset(expected, 'v', BIG_VALUE);
	enum store_result result = store_get(store, key, key_size, &value, &size);
	if (result == STORE_HIT && (size != BIG_VALUE || memcmp(value, expected, size) != 0)) {
		result = STORE_RESULT_COUNT;
	}
	mem_free(value);
	return result;
}

static struct store *store_with_big(char key[OTHER_KEY_MAX])
{
	static char value[BIG_VALUE];
	struct store *store = store_create(0);
	memset(key, 'k', OTHER_KEY_MAX);
	memset(value, 'v', BIG_VALUE);
	ck_assert(store_put(store, key, BIG_KEY, value, BIG_VALUE));
	ck_assert_int_eq(get_big(store, key, BIG_KEY), STORE_HIT);
	return store;
}

START_TEST(a_changed_byte_of_a_big_entry_is_found)
{
	char key[OTHER_KEY_MAX];
	unsigned char byte;
	struct store *store = store_with_big(key);
	int found = 0, tried = 0, fd = open(entry_path(key, BIG_KEY), O_RDWR);
	const off_t end = STORE_HEAD + BIG_KEY + BIG_VALUE;
	for (off_t at = 0; at < end; at += at < 64 ? 1 : 227) {
		ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
		byte ^= 1;
		ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
		found += get_big(store, key, BIG_KEY) == STORE_DAMAGED;
		byte ^= 1;
		ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
		tried++;
	}
	ck_assert_int_eq(found, tried);
	ck_assert_int_eq(get_big(store, key, BIG_KEY), STORE_HIT);
	ck_assert_int_eq(ftruncate(fd, end - 1), 0);
	ck_assert_int_eq(get_big(store, key, BIG_KEY), STORE_DAMAGED);
	close(fd);
	store_close(store);
}
END_TEST

/* The entry of one key under the name of another, as if both had one hash. */
static void rename_entry(const char *from, size_t from_size, const char *to, size_t to_size)
{
	char path[160];
	snprintf(path, sizeof(path), "%s", entry_path(from, from_size));
	ck_assert_int_eq(rename(path, entry_path(to, to_size)), 0);
}

START_TEST(the_whole_key_of_a_big_entry_is_compared)
{
	static const size_t sizes_of_others[] = {0, 1, BIG_KEY - 1, BIG_KEY + 1, 60000,
		OTHER_KEY_MAX};
	static const size_t changes[] = {0, 8191, 8192, 16384, BIG_KEY - 1};
	char key[OTHER_KEY_MAX], other[OTHER_KEY_MAX];
	struct store *store = store_with_big(key);
	for (size_t i = 0; i < countof(sizes_of_others) + countof(changes); i++) {
		bool is_size = i < countof(sizes_of_others);
		size_t size = is_size ? sizes_of_others[i] : BIG_KEY;
		memcpy(other, key, sizeof(other));
		if (!is_size) {
			other[changes[i - countof(sizes_of_others)]] = 'x';
		}
		rename_entry(key, BIG_KEY, other, size);
		ck_assert_int_eq(get_big(store, other, size), STORE_OTHER_KEY);
		rename_entry(other, size, key, BIG_KEY);
		ck_assert_int_eq(get_big(store, key, BIG_KEY), STORE_HIT);
	}
	store_close(store);
}
END_TEST

/* Strange files in the place of an entry */

static void make_fifo(const char *path)
{
	ck_assert_int_eq(mkfifo(path, 0600), 0);
}

static void make_zero_link(const char *path)
{
	ck_assert_int_eq(symlink("/dev/zero", path), 0);
}

static void make_folder(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void make_huge(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_eq(ftruncate(fd, (off_t)10 << 30), 0);
	close(fd);
}

static void make_large_of_zeros(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_eq(ftruncate(fd, (off_t)1 << 30), 0);
	close(fd);
}

static void make_empty(const char *path)
{
	close(open(path, O_CREAT | O_WRONLY, 0600));
}

static void make_dangling_link(const char *path)
{
	ck_assert_int_eq(symlink("nothing", path), 0);
}

static void (*const strange[])(const char *path) = {make_fifo, make_zero_link, make_folder,
	make_huge, make_large_of_zeros, make_empty, make_dangling_link};

START_TEST(what_is_no_entry_is_a_miss_and_is_replaced)
{
	struct store *store = store_create(0);
	ck_assert(put_text(store, "a", "one"));
	ck_assert_int_eq(unlink(entry_path("a", 1)), 0);
	strange[_i](entry_path("a", 1));
	alarm(10);
	ck_assert_int_eq(get_text(store, "a"), STORE_DAMAGED);
	ck_assert(put_text(store, "a", "two"));
	ck_assert_int_eq(get_text(store, "a"), STORE_HIT);
	ck_assert_str_eq(store_value, "two");
	ck_assert_int_eq(count_temporary(), 0);
	store_close(store);
}
END_TEST

static const struct {
	void (*make)(const char *path);
	const char *reason;
} no_folders[] = {
	{make_empty, "expected a folder"},
	{make_fifo, "expected a folder"},
	{make_dangling_link, "expected a folder"},
};

START_TEST(a_store_whose_folder_is_none_is_off)
{
	struct store *store;
	no_folders[_i].make(store_path);
	ck_assert(store_open(&store, &(struct store_options){store_path, 0}));
	ck_assert_ptr_nonnull(store_off(store));
	ck_assert_ptr_nonnull(strstr(store_off(store), no_folders[_i].reason));
	ck_assert_ptr_nonnull(strstr(store_off(store), store_path));
	ck_assert_int_eq(get_text(store, "a"), STORE_IS_OFF);
	ck_assert(!put_text(store, "a", "one"));
	ck_assert_ptr_null(store_lock(store, "a", 1));
	store_unlock(NULL);
	int64_t count;
	ck_assert(!store_clear(store, &count));
	store_close(store);
}
END_TEST

START_TEST(a_name_too_long_is_no_trouble)
{
	struct store *store;
	char path[6000];
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[_i ? 300 : sizeof(path) - 1] = '\0';
	ck_assert(store_open(&store, &(struct store_options){path, 0}));
	ck_assert_int_ne(get_text(store, "a"), STORE_HIT);
	ck_assert(!put_text(store, "a", "one"));
	ck_assert_ptr_null(store_lock(store, "a", 1));
	store_close(store);
}
END_TEST

/* The folder */

START_TEST(the_folder_may_go_away_and_come_again)
{
	struct store *store = store_create(0), *other;
	ck_assert(put_text(store, "a", "one"));
	remove_all(store_path);
	ck_assert_int_eq(get_text(store, "a"), STORE_ABSENT);
	ck_assert(put_text(store, "a", "two"));
	ck_assert_int_eq(get_text(store, "a"), STORE_HIT);
	remove_all(store_path);
	other = store_create(0);
	ck_assert(put_text(other, "b", "three"));
	ck_assert_int_eq(get_text(store, "b"), STORE_HIT);
	ck_assert_str_eq(store_value, "three");
	store_close(other);
	store_close(store);
}
END_TEST

/* Daemons close descriptors that they do not know; children inherit none. */
START_TEST(no_descriptor_stays_open)
{
	int before = dup(0), after;
	struct store *store = store_create(0);
	ck_assert(put_text(store, "a", "one"));
	ck_assert_int_eq(get_text(store, "a"), STORE_HIT);
	after = dup(0);
	ck_assert_int_eq(after, before + 1);
	close(before);
	close(after);
	store_close(store);
}
END_TEST

START_TEST(all_folders_of_the_path_are_made)
{
	char path[160];
	struct store *store;
	struct stat st;
	snprintf(path, sizeof(path), "%s/x//y/z///", store_path);
	ck_assert(store_open(&store, &(struct store_options){path, 0}));
	ck_assert(put_text(store, "a", "one"));
	ck_assert_int_eq(get_text(store, "a"), STORE_HIT);
	ck_assert_int_eq(stat(store_path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0700);
	store_close(store);
}
END_TEST

/* Settings */

static const struct {
	const char *text;
	int64_t size; /* 0: off */
} settings[] = {
	{"", 1 << 30}, {"5", 5}, {"4k", 4096}, {"1.5K", 1536}, {"3M", 3 << 20},
	{"2G", INT64_C(2) << 30},
	{"1T", INT64_C(1) << 40}, {"0", 0}, {"-5", 0}, {"5x", 0}, {"5KB", 0}, {"M", 0},
	{"99999999999999999999", 0}, {"9000000000T", 0},
};

START_TEST(the_size_follows_the_environment)
{
	struct store *store;
	struct store_stats stats;
	setenv("KUDZU_CACHE_SIZE", settings[_i].text, 1);
	ck_assert(store_open(&store, &(struct store_options){store_path, 0}));
	ck_assert_int_eq(store_off(store) == NULL, settings[_i].size != 0);
	store_stats(store, &stats);
	if (settings[_i].size) {
		ck_assert_int_eq(stats.size_max, settings[_i].size);
	}
	store_close(store);
}
END_TEST

START_TEST(the_environment_says_where_it_is_and_turns_it_off)
{
	struct store *store;
	setenv("KUDZU_CACHE_DIR", store_path, 1);
	ck_assert(store_open(&store, NULL));
	ck_assert_str_eq(store_folder(store), store_path);
	ck_assert(put_text(store, "a", "one"));
	store_close(store);
	setenv("KUDZU_CACHE", "0", 1);
	ck_assert(store_open(&store, NULL));
	ck_assert_str_eq(store_off(store), "KUDZU_CACHE is 0");
	ck_assert_int_eq(get_text(store, "a"), STORE_IS_OFF);
	store_close(store);
	unsetenv("KUDZU_CACHE");
	setenv("KUDZU_CACHE_DIR", "relative", 1);
	ck_assert(store_open(&store, NULL));
	ck_assert_ptr_nonnull(store_off(store));
	ck_assert_ptr_null(store_folder(store));
	store_close(store);
}
END_TEST

START_TEST(what_happened_is_counted)
{
	struct store *store = store_create(0);
	struct store_stats stats;
	get_text(store, "a");
	put_text(store, "a", "one");
	get_text(store, "a");
	get_text(store, "a");
	ck_assert(!store_put(store, "big", 3, "", SIZE_MAX - 10));
	store_stats(store, &stats);
	ck_assert_int_eq(stats.gets[STORE_ABSENT], 1);
	ck_assert_int_eq(stats.gets[STORE_HIT], 2);
	ck_assert_int_eq(stats.stored, 1);
	ck_assert_int_eq(stats.not_stored, 1);
	ck_assert_int_eq(stats.last_errno, EFBIG);
	ck_assert_int_eq(stats.evicted, 0);
	store_close(store);
}
END_TEST

/* Without the check the kernel would end the process. */
START_TEST(a_limit_on_file_sizes_is_respected)
{
	struct store *store = store_create(0);
	struct store_stats stats;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096}), 0);
	ck_assert(!put_number(store, 1, 8192));
	ck_assert(put_number(store, 2, 1000));
	ck_assert_int_eq(get_number(store, 2, 1000), STORE_HIT);
	store_stats(store, &stats);
	ck_assert_int_eq(stats.last_errno, EFBIG);
	store_close(store);
}
END_TEST

START_TEST(no_file_may_have_a_byte)
{
	struct store *store = store_create(0);
	struct rlimit limit;
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	/* Check writes files, too, with each assertion. */
	bool limited = setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, limit.rlim_max}) == 0;
	bool stored = put_number(store, 1, 100);
	setrlimit(RLIMIT_FSIZE, &limit);
	ck_assert(limited && !stored);
	store_close(store);
}
END_TEST

START_TEST(without_memory_nothing_is_found_and_nothing_breaks)
{
	int64_t count;
	bool failed = true, opened;
	for (long n = 0; failed; n++) {
		struct store *store = NULL;
		mem_fail_after(n);
		opened = store_open(&store, &(struct store_options){store_path, 0});
		if (opened && !store_off(store)) {
			put_text(store, "a", "one");
			enum store_result result = get_text(store, "a");
			ck_assert(result != STORE_HIT || strcmp(store_value, "one") == 0);
			store_unlock(store_lock(store, "a", 1));
			store_clear(store, &count);
		}
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(opened == (store != NULL));
		store_close(store);
		ck_assert_int_lt(n, 100);
	}
}
END_TEST

/* All of it */

struct listing {
	int count;
	int stop_at;
	int64_t bytes;
	unsigned seen;
};

static bool list_one(void *arg, const struct store_entry *entry)
{
	struct listing *listing = arg;
	char key[32];
	listing->count++;
	listing->bytes += entry->size;
	memcpy(key, entry->key, entry->key_size);
	key[entry->key_size] = '\0';
	listing->seen |= 1U << atoi(key + 4);
	ck_assert_int_le(llabs(entry->used_ns / 1000000000 - time(NULL)), 60);
	return listing->count != listing->stop_at;
}

START_TEST(all_entries_are_listed_and_removed)
{
	struct store *store = store_create(0);
	struct listing all = {.stop_at = -1}, some = {.stop_at = 4}, none = {.stop_at = -1};
	int64_t count;
	ck_assert(store_walk(store, list_one, &none));
	for (unsigned i = 0; i < 10; i++) {
		ck_assert(put_number(store, i, 100 * i));
	}
	ck_assert(store_walk(store, list_one, &all));
	ck_assert_int_eq(all.count, 10);
	ck_assert_int_eq(all.bytes, 4500);
	ck_assert_uint_eq(all.seen, 0x3ff);
	ck_assert(store_walk(store, list_one, &some));
	ck_assert_int_eq(some.count, 4);
	ck_assert(store_clear(store, &count));
	ck_assert_int_eq(count, 10);
	ck_assert(store_walk(store, list_one, &none));
	ck_assert_int_eq(none.count, 0);
	ck_assert_int_eq(get_number(store, 3, 300), STORE_ABSENT);
	ck_assert(put_number(store, 3, 300));
	ck_assert_int_eq(get_number(store, 3, 300), STORE_HIT);
	store_close(store);
}
END_TEST

START_TEST(other_files_in_the_folder_are_left_alone)
{
	static const char *const names[] = {"notes.txt", "ab", "00/notes", "tmp-1", "tmp-mine",
		"0123456789abcdef0123456789abcdef.kz", "0123456789abcdef0123456789abcdef.kz10",
		"0123456789abcdef0123456789abcde.kz1", "0123456789abcdeF0123456789abcdef.kz1"};
	struct store *store = store_create(0);
	char path[160];
	int64_t count;
	ck_assert(put_text(store, "a", "one"));
	snprintf(path, sizeof(path), "%s/00", store_path);
	mkdir(path, 0700);
	for (size_t i = 0; i < countof(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", store_path, names[i]);
		make_empty(path);
	}
	store_clear(store, &count);
	ck_assert_int_eq(count, 1);
	for (size_t i = 0; i < countof(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", store_path, names[i]);
		ck_assert_msg(access(path, F_OK) == 0, "%s is gone", names[i]);
	}
	store_close(store);
}
END_TEST

/* The size */

static void set_used(unsigned number, int64_t when)
{
	char key[32];
	size_t size = number_key(key, number);
	struct timespec times[2] = {{when, 0}, {when, 0}};
	ck_assert_int_eq(utimensat(AT_FDCWD, entry_path(key, size), times, 0), 0);
}

START_TEST(what_was_used_least_recently_goes_first)
{
	enum { KEPT = 40, SIZE = 3000, LIMIT = 100 * 4096 };
	struct store *store = store_create(LIMIT);
	int64_t now = time(NULL);
	int counts[2] = {0, 0};
	for (unsigned i = 0; i < 2 * KEPT; i++) {
		ck_assert(put_number(store, i, SIZE));
		/* One from the future is as old as can be. */
		set_used(i, i == 1 ? now + 100000 : now - (i % 2 ? 1000 : 100000));
	}
	for (unsigned i = 2 * KEPT; i < 3 * KEPT; i++) {
		ck_assert(put_number(store, i, SIZE));
		ck_assert_int_le(count_bytes(), LIMIT);
	}
	for (unsigned i = 0; i < 2 * KEPT; i++) {
		counts[i % 2] += get_number(store, i, SIZE) == STORE_HIT;
	}
	ck_assert_int_eq(counts[1], KEPT - 1);
	ck_assert_int_lt(counts[0], KEPT);
	ck_assert_int_ge(count_bytes(), LIMIT * 3 / 4);
	struct store_stats stats;
	store_stats(store, &stats);
	ck_assert_int_eq(stats.evicted, KEPT + 1 - counts[0]);
	store_close(store);
}
END_TEST

START_TEST(a_lost_or_damaged_sum_is_counted_anew)
{
	enum { SIZE = 3000, LIMIT = 50 * 4096 };
	struct store *store = store_create(LIMIT);
	char path[160];
	snprintf(path, sizeof(path), "%s/lock", store_path);
	for (unsigned i = 0; i < 300; i++) {
		ck_assert(put_number(store, i, SIZE));
		ck_assert_int_le(count_bytes(), LIMIT);
		if (i % 50 == 30) {
			unlink(path);
		} else if (i % 50 == 45) {
			int fd = open(path, O_WRONLY);
			ck_assert_int_eq(pwrite(fd, "", 1, i / 50 * 4), 1);
			ck_assert_int_eq(ftruncate(fd, i < 200 ? 24 : 20), 0);
			close(fd);
		}
	}
	ck_assert_int_ge(count_bytes(), LIMIT * 3 / 4);
	store_close(store);
}
END_TEST

/* Somebody has the lock for the sum, and does not get on: stopped, perhaps. */
START_TEST(the_limit_holds_while_nothing_can_be_removed)
{
	enum { SIZE = 3000, LIMIT = 50 * 4096 };
	struct store *store = store_create(LIMIT);
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	char path[160];
	ck_assert(put_number(store, 0, SIZE));
	snprintf(path, sizeof(path), "%s/lock", store_path);
	int fd = open(path, O_RDWR);
	ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
	ck_assert(!put_number(store, 1, SIZE));
	ck_assert_int_eq(get_number(store, 0, SIZE), STORE_HIT);
	close(fd);
	ck_assert(put_number(store, 1, SIZE));
	store_close(store);
}
END_TEST

START_TEST(what_is_larger_than_half_the_store_is_not_stored)
{
	struct store *store = store_create(100000);
	ck_assert(!put_number(store, 1, 50001));
	ck_assert(put_number(store, 1, 40000));
	store_close(store);
}
END_TEST

START_TEST(files_of_other_versions_are_kept_apart_and_go_when_they_are_old)
{
	enum { SIZE = 3000, LIMIT = 50 * 4096 };
	struct store *store = store_create(LIMIT);
	char old[128], key[32];
	ck_assert(put_number(store, 0, SIZE));
	snprintf(old, sizeof(old), "%s", entry_path(key, number_key(key, 0)));
	ck_assert_int_eq(strcmp(old + strlen(old) - 4, ".kz3"), 0);
	set_used(0, time(NULL) - 100000);
	strcpy(strrchr(old, '.'), ".kz2");
	ck_assert_int_eq(rename(entry_path(key, number_key(key, 0)), old), 0);
	ck_assert_int_eq(get_number(store, 0, SIZE), STORE_ABSENT);
	for (unsigned i = 1; i < 60; i++) {
		ck_assert(put_number(store, i, SIZE));
	}
	ck_assert_int_ne(access(old, F_OK), 0);
	store_close(store);
}
END_TEST

static void add_entries(TCase *tc)
{
	tcase_add_test(tc, what_was_put_is_found_again);
	tcase_add_test(tc, keys_and_values_are_any_bytes);
	tcase_add_loop_test(tc, values_have_any_size, 0, countof(sizes));
	tcase_add_test(tc, nothing_is_made_before_something_is_put);
	tcase_add_test(tc, a_hit_is_seven_system_calls);
	tcase_add_test(tc, a_hit_notes_the_use_once_an_hour);
	tcase_add_test(tc, every_flipped_bit_is_found);
	tcase_add_test(tc, a_changed_byte_of_a_big_entry_is_found);
	tcase_add_test(tc, the_whole_key_of_a_big_entry_is_compared);
	tcase_add_test(tc, every_truncation_is_found);
	tcase_add_test(tc, every_sector_of_zeros_is_found);
	tcase_add_loop_test(tc, what_is_no_entry_is_a_miss_and_is_replaced, 0, countof(strange));
}

static void add_folder(TCase *tc)
{
	tcase_add_loop_test(tc, a_store_whose_folder_is_none_is_off, 0, countof(no_folders));
	tcase_add_loop_test(tc, a_name_too_long_is_no_trouble, 0, 2);
	tcase_add_test(tc, the_folder_may_go_away_and_come_again);
	tcase_add_test(tc, no_descriptor_stays_open);
	tcase_add_test(tc, all_folders_of_the_path_are_made);
	tcase_add_loop_test(tc, the_size_follows_the_environment, 0, countof(settings));
	tcase_add_test(tc, the_environment_says_where_it_is_and_turns_it_off);
	tcase_add_test(tc, what_happened_is_counted);
	tcase_add_test(tc, a_limit_on_file_sizes_is_respected);
	tcase_add_test(tc, no_file_may_have_a_byte);
	tcase_add_test(tc, without_memory_nothing_is_found_and_nothing_breaks);
}

static void add_size(TCase *tc)
{
	tcase_add_test(tc, all_entries_are_listed_and_removed);
	tcase_add_test(tc, other_files_in_the_folder_are_left_alone);
	tcase_add_test(tc, what_was_used_least_recently_goes_first);
	tcase_add_test(tc, a_lost_or_damaged_sum_is_counted_anew);
	tcase_add_test(tc, the_limit_holds_while_nothing_can_be_removed);
	tcase_add_test(tc, what_is_larger_than_half_the_store_is_not_stored);
	tcase_add_test(tc, files_of_other_versions_are_kept_apart_and_go_when_they_are_old);
}

SUITE(store)
{
	static void (*const add[])(TCase *) = {add_entries, add_folder, add_size};
	static const char *const names[] = {"entries", "folder", "size"};
	Suite *suite = suite_create("store");
	for (size_t i = 0; i < countof(add); i++) {
		TCase *tc = tcase_create(names[i]);
		tcase_add_checked_fixture(tc, store_folder_create, store_folder_remove);
		add[i](tc);
		suite_add_tcase(suite, tc);
	}
	return suite;
}
