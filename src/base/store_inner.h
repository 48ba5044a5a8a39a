/* SPDX-License-Identifier: MIT */
#ifndef BASE_STORE_INNER_H
#define BASE_STORE_INNER_H

/*
 * What the files store*.c share; others include store.h.  From the lowest to the highest, each uses
 * only those before it: store_io.c, store_key.c, store_folder.c, store_walk.c, store_size.c,
 * store.c.
 */
#include "base/common.h"

#include "base/hash.h"
#include "base/store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/uio.h>

struct store {
	char *folder; /* NULL: off from the start */
	int64_t size_max;
	uid_t owner; /* whom the files must belong to */
	_Atomic(const char *) off;
	char reason[256]; /* what `off` points to, if it is no static text */

	/* The folder, -1 while there is none.  Everything is opened below it, so that whoever moves
	 * folders about cannot lead us to others. */
	atomic_int fd;
	atomic_uint opened; /* how often it was opened: grows when it is another one */
	pthread_mutex_t opening; /* for who changes fd; and for the two below */
	dev_t dev;
	ino_t ino;

	atomic_llong gets[STORE_RESULT_COUNT];
	atomic_llong stored, not_stored, evicted;
	atomic_int last_errno;
	atomic_llong swept; /* when abandoned files were last looked for, in seconds */
};

/* store_io.c: system calls that go on after a signal, and after a part. */
int store_openat(int folder, const char *name, int flags);
int store_lock_byte(int fd, int64_t byte, int wait_ms); /* 0, else an errno */
void store_unlock_byte(int fd, int64_t byte);
/* Whether all of it was read, or written; moves `parts` along. */
bool store_read(int fd, struct iovec *parts, int count);
bool store_write(int fd, struct iovec *parts, int count);
int64_t store_now(void); /* seconds since 1970 */

/* store_key.c: names.  An entry is "ab/" and 30 more digits of its key's hash, and the format's
 * version. */
enum {
	STORE_VERSION = 2, /* one digit of the name */
	STORE_NAME_SIZE = 48,
	STORE_BLOCK = 4096,
};
void store_name(char name[STORE_NAME_SIZE], struct hash hash);
struct hash store_key_hash(const void *key, size_t key_size);
struct hash store_shorten(struct hash hash); /* what a key is called by: tests make it short */
/* Whether these bytes are those of the key from `at` on. */
bool store_key_has(const struct store_key *key, size_t at, const char *bytes, size_t size);
bool store_is_entry_name(const char *name); /* without its folder; of any version */
bool store_is_temporary_name(const char *name);

/* What an entry's file begins with; then come the key and the value. */
#define STORE_MAGIC "KUDZU\r\n" /* with its zero */
struct store_head {
	char magic[8];
	uint32_t version;
	uint32_t zero;
	uint64_t key_size;
	uint64_t value_size;
	struct hash hash; /* of all before it, the key's hash and the value's */
};
/* It is one, for a file of this size, which is no less than its own. */
bool store_check_head(const struct store_head *head, off_t file_size);

/* Tests change these. */
extern struct store_tune {
	int hash_bits;        /* 128; fewer make keys collide */
	int lock_wait_ms;     /* how long store_lock waits */
	int abandoned_s;      /* the age at which an unfinished file is nobody's any more */
} store_tune;

/* store_folder.c: the descriptor of the folder, looked at again; opened again if it went away.  -1,
 * and errno, when there is none; `create` makes it. */
int store_folder_fd(struct store *store, bool create);
void store_close_folder(struct store *store);
/* It is ours, and nobody else can write it. */
bool store_is_ours(const struct store *store, const struct stat *st);
void store_turn_off(struct store *store, const char *reason);

/* store_walk.c: every file that has the name of an entry, until `each` returns false. */
struct store_file {
	int folder; /* the two-letter one */
	const char *folder_name;
	const char *name;
};
bool store_files(int folder, bool (*each)(void *arg, const struct store_file *file), void *arg);
/* Now and then, remove what processes that were killed have left. */
void store_sweep(struct store *store, int folder);

/* store_size.c: make room for an entry of `size` bytes.  False, and errno: there is none now. */
bool store_make_room(struct store *store, int folder, int64_t size);

#endif
