/* SPDX-License-Identifier: MIT */
#ifndef STORE_FOLDER_H
#define STORE_FOLDER_H

/* A new folder for the store of each test: a checked fixture, and short forms of what tests do. */
#include "base/hash.h"
#include "base/store.h"

#include <check.h>
#include <sys/stat.h>

extern char store_outside[64]; /* a folder for the test alone, of mode 700 */
extern char store_path[96];    /* the store's, in it; not there at first */
extern char store_value[64];   /* what get_text found */

void store_folder_create(void);
void store_folder_remove(void);
/* Remove a folder and all that is in it. */
void remove_all(const char *path);

/* A store in store_path that is on; 0: of the default size. */
struct store *store_create(int64_t size_max);

bool put_text(struct store *store, const char *key, const char *value);
enum store_result get_text(struct store *store, const char *key);

/* Values that tell what they are: of a number, and of any size. */
void fill_value(char *value, size_t size, unsigned number);
bool put_number(struct store *store, unsigned number, size_t size);
/* STORE_HIT for the right value, STORE_RESULT_COUNT for a wrong one, else what store_get said. */
enum store_result get_number(struct store *store, unsigned number, size_t size);
/* The key of a number; its size. */
size_t number_key(char key[32], unsigned number);

/* What an entry's file has before its key, and the unit in which sizes are counted. */
enum { STORE_HEAD = 48, STORE_BLOCK = 4096 };
/* The path of the file of a key. */
const char *entry_path(const void *key, size_t key_size);
/* In the store's folder: unfinished files; bytes of all entries, in blocks. */
int count_temporary(void);
int64_t count_bytes(void);

/* A number from the environment, for tests that can be longer. */
long test_count(const char *variable, long usual);

#endif
