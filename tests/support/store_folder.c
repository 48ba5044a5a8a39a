/* SPDX-License-Identifier: MIT */
/* What the tests of stores share: a folder, entries whose values tell what they are. */
#include "base/common.h"

#include "store_folder.h"

#include "base/alloc.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char store_outside[64];
char store_path[96];
char store_value[64];

void store_folder_create(void)
{
	unsetenv("KUDZU_CACHE"); /* what tests of others may need */
	unsetenv("KUDZU_CACHE_DIR");
	unsetenv("KUDZU_CACHE_SIZE");
	strcpy(store_outside, "/tmp/kudzu-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(store_outside));
	snprintf(store_path, sizeof(store_path), "%s/cache", store_outside);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

void remove_all(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void store_folder_remove(void)
{
	remove_all(store_outside);
}

struct store *store_create(int64_t size_max)
{
	struct store *store;
	ck_assert(store_open(&store, &(struct store_options){store_path, size_max}));
	ck_assert_msg(!store_off(store), "%s", store_off(store));
	return store;
}

bool put_text(struct store *store, const char *key, const char *value)
{
	return store_put(store, key, strlen(key), value, strlen(value));
}

enum store_result get_text(struct store *store, const char *key)
{
	char *value;
	size_t size;
	enum store_result result = store_get(store, key, strlen(key), &value, &size);
	snprintf(store_value, sizeof(store_value), "%s", value ? value : "");
	mem_free(value);
	return result;
}

void fill_value(char *value, size_t size, unsigned number)
{
	uint64_t word = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
	for (size_t i = 0; i < size; i++) {
		value[i] = (char)(word >> (i % 8 * 8));
		word += i % 8 == 7 ? UINT64_C(0xd1342543de82ef95) : 0;
	}
}

size_t number_key(char key[32], unsigned number)
{
	return (size_t)snprintf(key, 32, "key %u", number);
}

bool put_number(struct store *store, unsigned number, size_t size)
{
	char key[32], *value = malloc(size + 1);
	fill_value(value, size, number);
	bool stored = store_put(store, key, number_key(key, number), value, size);
	free(value);
	return stored;
}

enum store_result get_number(struct store *store, unsigned number, size_t size)
{
	char key[32], *value, *want;
	size_t got;
	enum store_result result = store_get(store, key, number_key(key, number), &value, &got);
	if (result != STORE_HIT) {
		return result;
	}
	want = malloc(size + 1);
	fill_value(want, size, number);
	result = got == size && memcmp(value, want, size) == 0 ? STORE_HIT : STORE_RESULT_COUNT;
	free(want);
	mem_free(value);
	return result;
}

const char *entry_path(const void *key, size_t key_size)
{
	static char path[sizeof(store_path) + HASH_TEXT_SIZE + 8];
	char name[HASH_TEXT_SIZE];
	hash_text(name, hash_of(key, key_size));
	snprintf(path, sizeof(path), "%s/%s.kz3", store_path, name);
	return path;
}

int count_temporary(void)
{
	int count = 0;
	DIR *list = opendir(store_path);
	for (struct dirent *entry; list && (entry = readdir(list));) {
		count += strncmp(entry->d_name, "tmp-", 4) == 0;
	}
	if (list) {
		closedir(list);
	}
	return count;
}

static int64_t bytes;

static int add_bytes(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	if (kind == FTW_F && strcmp(path + where->base, "lock") != 0) {
		bytes += divide_up(st->st_size, STORE_BLOCK) * STORE_BLOCK;
	}
	return 0;
}

int64_t count_bytes(void)
{
	bytes = 0;
	nftw(store_path, add_bytes, 16, FTW_PHYS);
	return bytes;
}

long test_count(const char *variable, long usual)
{
	const char *text = getenv(variable);
	return text ? atol(text) : usual;
}
