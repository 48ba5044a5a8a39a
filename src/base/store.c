/* SPDX-License-Identifier: MIT */
/*
 * A store; see store.h.
 *
 * An entry is one file: a head with both sizes and a hash, the whole key, the value.
 * The hash of the key is its name.  It is written under another name and then renamed, and nothing
 * is synced to the disk.  So after a power failure a file may have holes: a reader trusts
 * an entry only if its hash agrees, and a writer may stop anywhere.
 *
 * The file "lock" holds how many bytes all entries take.  Every process adds to that what it is
 * about to write, so nobody has to look at 100,000 files to know.  The sum errs upwards only
 * (writes that failed, entries that were replaced or removed), and is counted anew when it nears
 * the limit, and once a day.
 *
 * Bytes of that file are locked: the first one to change the sum, others for keys.  Such locks are
 * those of an open file (OFD).  They end with the process, hold between threads too, and leave
 * nothing to clean up.
 */
#include "base/store.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/store_folder.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	VERSION = 3,          /* a digit of the name; 2 had folders of two letters */
	HOUR_S = 3600,
	COUNT_S = 24 * HOUR_S, /* so long a sum is believed */
	LOCK_SUM = 0,
	LOCK_KEYS = 4096,
	SUM_WAIT_MS = 500,
	NAME_SIZE = HASH_TEXT_SIZE + 4,
};
#define DEFAULT_SIZE_MAX (INT64_C(1) << 30)
#define LOCK_NAME "lock"
#define MAGIC "KUDZU\r\n" /* with its zero */

int store_lock_wait_ms = 60000;

struct store {
	char *folder; /* NULL: off from the start */
	int64_t size_max;
	_Atomic(const char *) off; /* `reason`, once it is written */
	atomic_flag has_reason;
	char reason[256];
	atomic_llong gets[STORE_RESULT_COUNT];
	atomic_llong stored, not_stored, evicted;
	atomic_int last_errno;
};

/* What an entry's file begins with; then come the key and the value. */
struct store_head {
	char magic[8];
	uint32_t version;
	uint32_t zero;
	uint64_t key_size;
	uint64_t value_size;
	struct hash hash; /* see store_hash */
};

/* Variables */

static bool store_is_switch(const char *text)
{
	return strcmp(text, "0") == 0 || strcmp(text, "1") == 0;
}

static bool store_is_absolute(const char *text)
{
	return text[0] == '/';
}

static bool store_is_size(const char *text)
{
	int64_t size;
	return str_size(&size, text);
}

bool store_check_variables(char *why, size_t size)
{
	static const struct {
		const char *name;
		bool (*is_good)(const char *text);
		const char *expected;
	} rows[] = {
		{"KUDZU_CACHE", store_is_switch, "0 or 1"},
		{"KUDZU_CACHE_DIR", store_is_absolute, "an absolute path"},
		{"KUDZU_CACHE_SIZE", store_is_size, "bytes above 0, such as 500M or 1.5G"},
	};
	for (size_t i = 0; i < countof(rows); i++) {
		const char *text = env_get(rows[i].name);
		if (text && text[0] && !rows[i].is_good(text)) {
			snprintf(why, size, "%s is '%.80s': expected %s", rows[i].name, text,
				rows[i].expected);
			return false;
		}
	}
	return true;
}

/* Opening */

static void store_turn_off(struct store *store, const char *reason)
{
	if (!atomic_flag_test_and_set(&store->has_reason)) {
		snprintf(store->reason, sizeof(store->reason), "%.170s%s%s",
			store->folder ? store->folder : "", store->folder ? ": " : "", reason);
		atomic_store(&store->off, store->reason);
	}
}

/* A descriptor of the folder, or -1 and errno.  Each call opens it anew and closes it again:
 * programs close descriptors that they do not know, and users move folders. */
static int store_enter(struct store *store, enum store_folder_use use)
{
	const char *why;
	if (store_off(store)) {
		errno = EPERM;
		return -1;
	}
	int folder = store_folder_open(store->folder, use, &why);
	if (why) {
		store_turn_off(store, why);
	}
	return folder;
}

static void store_leave(int folder)
{
	int error = errno;
	if (folder >= 0) {
		close(folder);
	}
	errno = error;
}

bool store_open(struct store **out, const struct store_options *options)
{
	const char *wanted = options ? options->folder : NULL, *why = NULL;
	struct store *store = *out = mem_zalloc(1, sizeof(*store));
	if (!store) {
		return false;
	}
	const char *size = env_get("KUDZU_CACHE_SIZE"), *on = env_get("KUDZU_CACHE");
	char bad[160];
	store->size_max = DEFAULT_SIZE_MAX;
	if (options && options->size_max > 0) {
		store->size_max = options->size_max;
	} else if (size) {
		(void)str_size(&store->size_max, size);
	}
	if (!store_check_variables(bad, sizeof(bad))) {
		why = bad;
	} else if (!wanted && on && strcmp(on, "0") == 0) {
		why = "KUDZU_CACHE is 0";
	} else {
		store->folder = store_folder_path(wanted, &why);
	}
	if (why) {
		store_turn_off(store, why);
	} else {
		store_leave(store_enter(store, STORE_FOLDER_CHECK));
	}
	return true;
}

const char *store_off(const struct store *store)
{
	return atomic_load(&store->off);
}

const char *store_folder(const struct store *store)
{
	return store->folder;
}

void store_close(struct store *store)
{
	if (store) {
		mem_free(store->folder);
		mem_free(store);
	}
}

struct store *store_default(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static struct store *store; /* stays as long as the process */
	pthread_mutex_lock(&mutex);
	if (!store && !store_open(&store, NULL)) {
		store = NULL;
	}
	struct store *opened = store;
	pthread_mutex_unlock(&mutex);
	return opened;
}

void store_stats(const struct store *store, struct store_stats *out)
{
	*out = (struct store_stats){
		.stored = atomic_load(&store->stored),
		.not_stored = atomic_load(&store->not_stored),
		.evicted = atomic_load(&store->evicted),
		.last_errno = atomic_load(&store->last_errno),
		.size_max = store->size_max,
	};
	for (int i = 0; i < STORE_RESULT_COUNT; i++) {
		out->gets[i] = atomic_load(&store->gets[i]);
	}
}

/* Names and hashes */

/* A key that is looked for. */
struct store_key {
	const void *data;
	size_t size;
	struct hash hash;
};

/* "0123456789abcdef0123456789abcdef.kz3" */
static void store_name(char name[NAME_SIZE], struct hash hash)
{
	static const char ending[] = {'.', 'k', 'z', '0' + VERSION, '\0'};
	hash_text(name, hash);
	memcpy(name + HASH_TEXT_SIZE - 1, ending, sizeof(ending));
}

/* Of any version: others go when they are old. */
static bool store_is_entry_name(const char *name)
{
	enum { DIGITS = HASH_TEXT_SIZE - 1 };
	return strlen(name) == DIGITS + 4 && strspn(name, "0123456789abcdef") == DIGITS
		&& strncmp(name + DIGITS, ".kz", 3) == 0 && name[DIGITS + 3] >= '0'
		&& name[DIGITS + 3] <= '9';
}

/* The hash in a head.  It contains the hash of the key, which the caller that looks for an entry
 * has. */
static struct hash store_hash(const struct store_head *head, struct hash key, const void *value)
{
	struct hash_state state;
	hash_begin(&state);
	hash_add(&state, head, offsetof(struct store_head, hash));
	hash_add(&state, &key, sizeof(key));
	hash_add(&state, value, head->value_size);
	return hash_end(&state);
}

/* Whether a head is valid in a file of this size, which is at least that of a head. */
static bool store_check_head(const struct store_head *head, int64_t file_size)
{
	uint64_t rest = (uint64_t)file_size - sizeof(*head);
	return memcmp(head->magic, MAGIC, sizeof(head->magic)) == 0 && head->version == VERSION
		&& head->zero == 0 && head->key_size <= rest
		&& head->value_size == rest - head->key_size;
}

/* Reading */

/* `key` and `value` have room for all that comes after the head, if the key is as long as that. */
static enum store_result store_read(int fd, int64_t file_size, const struct store_key *wanted,
	char *key, char *value)
{
	struct store_head head;
	size_t size = (size_t)file_size - sizeof(head) - wanted->size;
	struct iovec parts[] = {{&head, sizeof(head)}, {key, wanted->size}, {value, size}};
	if (preadv(fd, parts, 3, 0) != file_size) {
		return STORE_FAILED;
	}
	if (!store_check_head(&head, file_size)) {
		return STORE_DAMAGED;
	}
	if (head.key_size != wanted->size) {
		return STORE_OTHER_KEY;
	}
	bool equal = memcmp(key, wanted->data, wanted->size) == 0;
	struct hash key_hash = equal ? wanted->hash : hash_of(key, wanted->size);
	return !hash_equal(head.hash, store_hash(&head, key_hash, value)) ? STORE_DAMAGED
		: equal ? STORE_HIT : STORE_OTHER_KEY;
}

/* What it means that there is no such file to read. */
static enum store_result store_open_result(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		return STORE_ABSENT;
	case EACCES:
	case EPERM:
		return STORE_FOREIGN;
	case EINVAL: /* no file */
	case ELOOP:  /* a symbolic link */
	case ENXIO:  /* a socket */
		return STORE_DAMAGED;
	default:
		return STORE_FAILED;
	}
}

static enum store_result store_load(struct store *store, const struct store_key *wanted,
	char **value, size_t *size)
{
	char name[NAME_SIZE];
	struct stat st;
	int folder = store_enter(store, STORE_FOLDER_READ);
	store_name(name, wanted->hash);
	int fd = folder >= 0 ? store_folder_file(folder, name, O_RDONLY, &st) : -1;
	store_leave(folder);
	if (fd < 0) {
		return store_off(store) ? STORE_IS_OFF : store_open_result(errno);
	}
	enum store_result result = STORE_DAMAGED;
	const int64_t least = (int64_t)(sizeof(struct store_head) + wanted->size);
	if (st.st_size >= least && st.st_size <= store->size_max / 2) {
		char *key = mem_alloc(wanted->size + 1);
		*size = (size_t)(st.st_size - least);
		*value = mem_alloc(*size + 1);
		result = STORE_FAILED;
		errno = ENOMEM;
		if (key && *value) {
			mem_expect(*value, *size);
			(*value)[*size] = '\0';
			result = store_read(fd, st.st_size, wanted, key, *value);
		}
		mem_free(key);
	}
	int64_t age_s = time(NULL) - st.st_mtim.tv_sec;
	if (result == STORE_HIT && (age_s > HOUR_S || age_s < -HOUR_S)) {
		futimens(fd, NULL); /* it is in use */
	}
	store_leave(fd);
	return result;
}

enum store_result store_get(struct store *store, const void *key, size_t key_size, char **value,
	size_t *size)
{
	const struct store_key wanted = {key, key_size, hash_of(key, key_size)};
	*value = NULL;
	*size = 0;
	enum store_result result = store_off(store) ? STORE_IS_OFF
		: store_load(store, &wanted, value, size);
	if (result == STORE_FAILED) {
		atomic_store(&store->last_errno, errno);
	}
	if (result != STORE_HIT) {
		mem_free(*value);
		*value = NULL;
		*size = 0;
	}
	atomic_fetch_add(&store->gets[result], 1);
	return result;
}

/* Locks */

/* 0, else an errno; EAGAIN: somebody has it.  A wait that can end has to ask again and again: first
 * soon, then less often. */
static int store_lock_byte(int fd, int64_t byte, int wait_ms)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
	int64_t left_us = (int64_t)wait_ms * 1000, pause_us = 20;
	while (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
		if (errno != EAGAIN || left_us <= 0) {
			return errno;
		}
		nanosleep(&(struct timespec){0, (long)pause_us * 1000}, NULL);
		left_us -= pause_us;
		pause_us = min64(pause_us * 2, 10000);
	}
	return 0;
}

/* Said, since a copy of the descriptor in a child would keep the lock. */
static void store_unlock_byte(int fd, int64_t byte)
{
	struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
	fcntl(fd, F_OFD_SETLK, &lock);
}

struct store_lock {
	int fd; /* its own: that is whom a lock belongs to */
	int64_t byte;
};

struct store_lock *store_lock(struct store *store, const void *key, size_t key_size)
{
	struct stat st;
	struct store_lock *lock = mem_alloc(sizeof(*lock));
	int folder = lock ? store_enter(store, STORE_FOLDER_MAKE) : -1;
	int fd = folder >= 0 ? store_folder_file(folder, LOCK_NAME, O_RDWR | O_CREAT, &st) : -1;
	store_leave(folder);
	if (fd >= 0) {
		*lock = (struct store_lock){fd, LOCK_KEYS
			+ (int64_t)(hash_of(key, key_size).high >> 2)};
		if (store_lock_byte(fd, lock->byte, store_lock_wait_ms) == 0) {
			return lock;
		}
	}
	store_leave(fd);
	mem_free(lock);
	return NULL;
}

void store_unlock(struct store_lock *lock)
{
	if (lock) {
		store_unlock_byte(lock->fd, lock->byte);
		close(lock->fd);
		mem_free(lock);
	}
}

/* Writing */

/* What the lock file holds. */
struct store_sum {
	int64_t bytes;
	int64_t counted_s;
	uint64_t check; /* a hash of those before */
};

/* Add the size of a file to the sum, with the lock for it.  If that would be too much, or nobody
 * knows the sum, count, and remove entries. */
static bool store_add_size(struct store *store, int folder, int fd, int64_t size)
{
	struct store_sum sum;
	const int64_t most = store->size_max - store->size_max / 20, less = store->size_max / 10;
	const int64_t now = time(NULL);
	size = store_folder_size(size);
	if (pread(fd, &sum, sizeof(sum), 0) != sizeof(sum) || sum.bytes < 0
		|| sum.check != hash_of(&sum, offsetof(struct store_sum, check)).low
		|| sum.counted_s > now || now - sum.counted_s > COUNT_S
		|| sum.bytes > most - size) {
		struct store_trimmed trimmed = store_folder_trim(folder, store_is_entry_name,
			most - size, most - (size > less ? size : less));
		atomic_fetch_add(&store->evicted, trimmed.removed);
		sum.bytes = trimmed.left;
		sum.counted_s = now;
	}
	if (sum.bytes > store->size_max - size) {
		errno = ENOSPC;
		return false;
	}
	sum.bytes += size;
	sum.check = hash_of(&sum, offsetof(struct store_sum, check)).low;
	return sizeof(sum) <= file_most() && pwrite(fd, &sum, sizeof(sum), 0) == sizeof(sum);
}

static bool store_make_room(struct store *store, int folder, int64_t size)
{
	struct stat st;
	int fd = store_folder_file(folder, LOCK_NAME, O_RDWR | O_CREAT, &st);
	if (fd < 0) {
		return false;
	}
	/* Where there are no locks the sum may be wrong a little, until it is counted anew. */
	bool ok = store_lock_byte(fd, LOCK_SUM, SUM_WAIT_MS) != EAGAIN
		&& store_add_size(store, folder, fd, size);
	int error = errno;
	store_unlock_byte(fd, LOCK_SUM);
	close(fd);
	errno = error;
	return ok;
}

static bool store_save(struct store *store, const void *key, size_t key_size, const void *value,
	size_t size)
{
	struct store_head head = {
		.version = VERSION, .key_size = key_size, .value_size = size};
	const struct iovec parts[] = {{&head, sizeof(head)}, {(void *)key, key_size},
		{(void *)value, size}};
	const struct hash hash = hash_of(key, key_size);
	char name[NAME_SIZE];
	size_t total;
	if (!size_add(&total, sizeof(head) + key_size, size) || total > INT32_MAX
		|| (int64_t)total > store->size_max / 2) {
		errno = EFBIG;
		return false;
	}
	memcpy(head.magic, MAGIC, sizeof(head.magic));
	head.hash = store_hash(&head, hash, value);
	store_name(name, hash);
	int folder = store_enter(store, STORE_FOLDER_MAKE);
	bool ok = folder >= 0 && store_make_room(store, folder, (int64_t)total)
		&& store_folder_write(folder, name, parts, countof(parts));
	store_leave(folder);
	return ok;
}

bool store_put(struct store *store, const void *key, size_t key_size, const void *value,
	size_t size)
{
	if (store_off(store)) {
		return false;
	}
	bool stored = store_save(store, key, key_size, value, size);
	if (!stored) {
		atomic_store(&store->last_errno, errno);
	}
	atomic_fetch_add(stored ? &store->stored : &store->not_stored, 1);
	return stored;
}

/* All entries */

struct store_walking {
	bool (*each)(void *arg, const struct store_entry *entry);
	void *arg;
};

/* The hash is not looked at: that would be to read all. */
static bool store_show(void *arg, int folder, const char *name)
{
	const struct store_walking *walking = arg;
	struct store_head head;
	struct stat st;
	bool going = true;
	int fd = store_is_entry_name(name) ? store_folder_file(folder, name, O_RDONLY, &st) : -1;
	if (fd >= 0 && st.st_size >= (off_t)sizeof(head)
		&& pread(fd, &head, sizeof(head), 0) == sizeof(head)
		&& store_check_head(&head, st.st_size)) {
		char *key = mem_alloc(head.key_size + 1);
		if (key && pread(fd, key, head.key_size, sizeof(head)) == (ssize_t)head.key_size) {
			struct store_entry entry = {key, head.key_size, (int64_t)head.value_size,
				store_folder_used_ns(&st)};
			going = walking->each(walking->arg, &entry);
		}
		mem_free(key);
	}
	store_leave(fd);
	return going;
}

bool store_walk(struct store *store, bool (*each)(void *arg, const struct store_entry *entry),
	void *arg)
{
	struct store_walking walking = {each, arg};
	int folder = store_enter(store, STORE_FOLDER_READ);
	if (folder < 0) {
		return !store_off(store) && errno == ENOENT;
	}
	bool ok = store_folder_list(folder, store_show, &walking);
	store_leave(folder);
	return ok;
}

bool store_clear(struct store *store, int64_t *count)
{
	*count = 0;
	int folder = store_enter(store, STORE_FOLDER_READ);
	if (folder < 0) {
		return !store_off(store) && errno == ENOENT;
	}
	struct store_trimmed trimmed = store_folder_trim(folder, store_is_entry_name, -1, 0);
	store_leave(folder);
	*count = trimmed.removed;
	return !trimmed.failed;
}
