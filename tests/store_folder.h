/* SPDX-License-Identifier: MIT */
#ifndef STORE_FOLDER_H
#define STORE_FOLDER_H

/* A new folder for the store of each test: a checked fixture, and short forms of what tests do. */
#include "../src/base/alloc.h"
#include "../src/base/store_inner.h"

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char store_outside[64]; /* a folder for the test alone, of mode 700 */
static char store_path[96];    /* the store's, in it; not there at first */
static char store_value[64];   /* what get_text found */

static inline void store_folder_create(void)
{
	strcpy(store_outside, "/tmp/kudzu-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(store_outside));
	snprintf(store_path, sizeof(store_path), "%s/cache", store_outside);
}

static inline int store_remove_one(const char *path, const struct stat *st, int kind,
	struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

static inline void store_folder_remove(void)
{
	nftw(store_outside, store_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline struct store *store_create_sized(int64_t size_max)
{
	struct store *store;
	ck_assert(store_open(&store, &(struct store_options){store_path, size_max}));
	ck_assert_msg(!store_off(store), "%s", store_off(store));
	return store;
}

static inline struct store *store_create(void)
{
	return store_create_sized(0);
}

static inline bool put_text(struct store *store, const char *key, const char *value)
{
	return store_put(store, key, strlen(key), value, strlen(value));
}

static inline enum store_result get_text(struct store *store, const char *key)
{
	char *value;
	size_t size;
	enum store_result result = store_get(store, key, strlen(key), &value, &size);
	snprintf(store_value, sizeof(store_value), "%s", value ? value : "");
	mem_free(value);
	return result;
}

#endif
