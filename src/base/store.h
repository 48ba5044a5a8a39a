/* SPDX-License-Identifier: MIT */
#ifndef BASE_STORE_H
#define BASE_STORE_H

/*
 * A folder of files on disk that keeps one value under each key, for processes and threads that use
 * it at once.  It may forget anything at any time, but never gives a wrong value, a part of one, or
 * bytes that another user could have written.  No trouble with the disk is the caller's.
 *
 * A key is any bytes; begin it with its kind ("rtc", "cpu") and a zero.  It is kept whole beside
 * the value, and compared whole.
 */
#include "base/common.h"

struct store; /* any thread may use it */

struct store_options {
	const char *folder; /* an absolute path; NULL: that of store_folder_path, unless
	                       KUDZU_CACHE=0 */
	/* How many bytes the files may take in all, as store_folder_size counts them.
	 * 0: KUDZU_CACHE_SIZE (a number, with K, M, G or T), else 1 GiB. */
	int64_t size_max;
};

enum store_result {
	STORE_HIT,
	STORE_ABSENT,    /* there is no such file */
	STORE_DAMAGED,   /* what is there is no entry, or changed since it was written */
	STORE_FOREIGN,   /* it belongs to another user, or others may write it */
	STORE_OTHER_KEY, /* it is an entry, of another key that has the same hash */
	STORE_FAILED,    /* the file could not be read, or memory ran out */
	STORE_IS_OFF,
	STORE_RESULT_COUNT
};

/* False: one of the variables KUDZU_CACHE... has a value that makes no sense, which `why` names.
 * Such a store is off, but the user has meant something: calls that need it fail. */
bool store_check_variables(char *why, size_t size);
/* False: no memory.  Creates nothing on disk; a store that cannot be used is off.  `options` may be
 * NULL. */
bool store_open(struct store **out, const struct store_options *options);
/* Why it is off, NULL if it is on; a store may find later that it must be off, and then stays
 * so. */
const char *store_off(const struct store *store);
/* The folder, NULL if there is none; as long as the store. */
const char *store_folder(const struct store *store);
/* May be NULL; nobody uses it any more. */
void store_close(struct store *store);

/* The store without options.  The first call opens it, and it stays as long as the process.  NULL
 * when memory runs out. */
struct store *store_default(void);

/* *value (freed with mem_free; a zero follows it) and *size on STORE_HIT, else NULL and 0. */
enum store_result store_get(struct store *store, const void *key, size_t key_size, char **value,
	size_t *size);
/* As well as it can: false when nothing was stored, which is no error. */
bool store_put(struct store *store, const void *key, size_t key_size, const void *value,
	size_t size);

/*
 * So that one process, or thread, makes what is missing while the others wait for it: after a miss
 * lock, look again, make, put, unlock.  NULL: go on without; nothing can be locked here, or
 * another holder keeps the lock for longer than store_lock_wait_ms.  The end of a process unlocks.
 */
struct store_lock *store_lock(struct store *store, const void *key, size_t key_size);
void store_unlock(struct store_lock *lock); /* may be NULL */
extern int store_lock_wait_ms; /* a minute; tests change it */

struct store_entry {
	const void *key; /* borrowed for the call */
	size_t key_size;
	int64_t size;    /* of the value */
	int64_t used_ns; /* when it was last used, to the hour; since 1970 */
};

/* Every entry, in no order, until `each` returns false.  False: the folder could not be read. */
bool store_walk(struct store *store, bool (*each)(void *arg, const struct store_entry *entry),
	void *arg);
/* Remove all entries; *count is how many went.  False: some could not be removed. */
bool store_clear(struct store *store, int64_t *count);

struct store_stats {
	int64_t gets[STORE_RESULT_COUNT]; /* by result */
	int64_t stored;
	int64_t not_stored; /* for any reason */
	int64_t evicted;    /* by this process */
	int last_errno;     /* of what failed last, 0 if nothing did */
	int64_t size_max;
};

/* Of this store in this process, since it was opened. */
void store_stats(const struct store *store, struct store_stats *out);

#endif
