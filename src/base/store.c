/* SPDX-License-Identifier: MIT */
/*
 * A store: opening it, and reading and writing its entries.
 *
 * An entry is one file that tells all about itself: a head with both sizes and a hash over
 * everything, the whole key, the value.  In that hash the key is present by its own, which names the
 * file too: so a key that is the one wanted, byte for byte, is not read through once more.  It is written beside the others under a name of its own and
 * then renamed, so that a reader finds an old one, a new one or none.  Nothing is synced to the
 * disk, which would take several times as long as the rest: after a power failure a file may have
 * holes, and the hash finds those.  So whoever reads trusts no byte before the hash agrees, and
 * whoever writes may stop anywhere.
 *
 * A hit is four system calls: openat, fstat, readv, close (and once an hour a fifth, which notes
 * that the entry is in use).  A big one is some more, for it is read by its head and the key, in
 * pieces, and then the value.
 */
#include "base/store_inner.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	TOUCH_S = 3600,
	/* Above this, the head is read first, with the key or alone: the size of a strange file is not
	 * to be believed. */
	READ_AT_ONCE = 1 << 16,
	KEY_PIECE = 1 << 13, /* on the stack, which may be a small one */
};
#define DEFAULT_SIZE_MAX (INT64_C(1) << 30)
#define ENTRY_MAX (INT64_C(1) << 30)

/* Opening */

/* "512", "100M": false if it is something else, or does not fit. */
static bool parse_size(const char *text, int64_t *size)
{
	static const char units[] = "KMGT";
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (end == text || errno || value <= 0) {
		return false;
	}
	const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
	int64_t factor = unit ? INT64_C(1) << (10 * (unit - units + 1)) : 1;
	return (unit ? end[1] : end[0]) == '\0' && size64_mul(size, value, factor);
}

static const char *choose_size(struct store *store, const struct store_options *options)
{
	const char *text = env_get("KUDZU_CACHE_SIZE");
	store->size_max = DEFAULT_SIZE_MAX;
	if (options && options->size_max > 0) {
		store->size_max = options->size_max;
	} else if (text && text[0] && !parse_size(text, &store->size_max)) {
		return "KUDZU_CACHE_SIZE is no size: expected a number above 0, and K, M or G";
	}
	return NULL;
}

/* The folder's path, or why there is none. */
static const char *choose_folder(struct store *store, const struct store_options *options)
{
	const char *why = NULL;
	if (options && options->folder) {
		if (options->folder[0] != '/') {
			return "the folder is not an absolute path";
		}
		store->folder = mem_strdup(options->folder);
	} else {
		const char *wanted = env_get("KUDZU_CACHE");
		if (wanted && strcmp(wanted, "0") == 0) {
			return "KUDZU_CACHE is 0";
		}
		store->folder = file_cache_folder(&why);
	}
	if (!store->folder) {
		return why ? why : "out of memory";
	}
	for (size_t end = strlen(store->folder); end > 1 && store->folder[end - 1] == '/'; end--) {
		store->folder[end - 1] = '\0';
	}
	return NULL;
}

bool store_open(struct store **out, const struct store_options *options)
{
	*out = NULL;
	struct store *store = mem_zalloc(1, sizeof(*store));
	if (!store) {
		return false;
	}
	store->owner = geteuid();
	atomic_init(&store->fd, -1);
	pthread_mutex_init(&store->opening, NULL);
	const char *reason = choose_size(store, options);
	if (env_is_privileged() || getuid() != geteuid() || getgid() != getegid()) {
		reason = "the program runs with somebody else's rights (setuid)";
	}
	reason = reason ? reason : choose_folder(store, options);
	if (reason) {
		store_turn_off(store, reason);
	} else {
		store_folder_fd(store, false);
	}
	*out = store;
	return true;
}

const char *store_folder(const struct store *store)
{
	return store->folder;
}

void store_close(struct store *store)
{
	if (!store) {
		return;
	}
	store_close_folder(store);
	pthread_mutex_destroy(&store->opening);
	mem_free(store->folder);
	mem_free(store);
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

/* Reading */

/* The hash in the head. */
static struct hash hash_entry(const struct store_head *head, struct hash key, struct hash value)
{
	struct {
		char head[offsetof(struct store_head, hash)];
		struct hash key, value;
	} all;
	memcpy(all.head, head, sizeof(all.head));
	all.key = key;
	all.value = value;
	return hash_of(&all, sizeof(all));
}

/* An entry with another key than was looked for may have it end elsewhere. */
struct split {
	struct hash_state key, value;
	size_t key_left;
};

static void split_begin(struct split *split, const struct store_head *head)
{
	hash_begin(&split->key);
	hash_begin(&split->value);
	split->key_left = (size_t)head->key_size;
}

static void split_add(struct split *split, const char *data, size_t size)
{
	size_t of_key = size < split->key_left ? size : split->key_left;
	hash_add(&split->key, data, of_key);
	hash_add(&split->value, data + of_key, size - of_key);
	split->key_left -= of_key;
}

/* It may be an entry: a file of ours, and of a size that can be. */
static enum store_result check_file(const struct store *store, int fd, struct stat *st)
{
	if (fstat(fd, st) != 0) {
		return STORE_FAILED;
	}
	if (st->st_uid != store->owner) {
		return STORE_FOREIGN;
	}
	if (!S_ISREG(st->st_mode) || st->st_size < (off_t)sizeof(struct store_head)
		|| st->st_size > ENTRY_MAX) {
		return STORE_DAMAGED;
	}
	return store_is_ours(store, st) ? STORE_HIT : STORE_FOREIGN;
}

struct buffers {
	char *key;
	size_t key_size; /* of the wanted one, or all that there is */
	char *value;
	size_t size;
};

/* Whether the key that was read, of which there may be less, is the one wanted. */
static bool is_wanted(const struct store_head *head, const char *key, size_t size,
	const struct store_key *wanted)
{
	return size == wanted->size && head->key_size == size
		&& store_key_has(wanted, 0, key, size);
}

/* What an entry is, if the hash agrees with all that was read. */
static enum store_result judge(const struct store_head *head, struct hash key, struct hash value,
	enum store_result result)
{
	return hash_equal(head->hash, hash_entry(head, key, value)) ? result : STORE_DAMAGED;
}

static enum store_result read_parts(int fd, off_t file_size, struct buffers *b,
	const struct store_key *wanted)
{
	struct store_head head;
	if (file_size > READ_AT_ONCE
		&& (pread(fd, &head, sizeof(head), 0) != sizeof(head) || !store_check_head(&head, file_size))) {
		return STORE_DAMAGED;
	}
	struct iovec parts[] = {
		{&head, sizeof(head)}, {b->key, b->key_size}, {b->value, b->size}};
	mem_expect(b->value, b->size);
	if (!store_read(fd, parts, countof(parts))) {
		return STORE_FAILED;
	}
	if (!store_check_head(&head, file_size)) {
		return STORE_DAMAGED;
	}
	if (is_wanted(&head, b->key, b->key_size, wanted)) {
		return judge(&head, wanted->hash, hash_of(b->value, b->size), STORE_HIT);
	}
	struct split split;
	split_begin(&split, &head);
	split_add(&split, b->key, b->key_size);
	split_add(&split, b->value, b->size);
	return judge(&head, hash_end(&split.key), hash_end(&split.value), STORE_OTHER_KEY);
}

/* Whether the file goes on with the rest of the key, of which `done` bytes have been read. */
static bool has_key(int fd, char *piece, size_t piece_size, const struct store_key *wanted,
	size_t done)
{
	while (done < wanted->size) {
		size_t size = wanted->size - done;
		size = size < piece_size ? size : piece_size;
		struct iovec part = {piece, size};
		if (!store_read(fd, &part, 1) || !store_key_has(wanted, done, piece, size)) {
			return false;
		}
		done += size;
	}
	return true;
}

/* A big entry by its head and key, which is compared piece by piece, and the value: it needs no new
 * memory for the key, which is a source and what it includes, but that of the value.  ABSENT: it is
 * no such entry. */
static enum store_result read_value(int fd, off_t file_size, struct buffers *b,
	const struct store_key *wanted)
{
	struct store_head head;
	char piece[KEY_PIECE];
	size_t begun = wanted->size < sizeof(piece) ? wanted->size : sizeof(piece);
	struct iovec first[] = {{&head, sizeof(head)}, {piece, begun}};
	if (!store_read(fd, first, countof(first))) {
		return STORE_FAILED;
	}
	if (!store_check_head(&head, file_size) || head.key_size != wanted->size
		|| !store_key_has(wanted, 0, piece, begun)) {
		return STORE_ABSENT;
	}
	b->size = (size_t)head.value_size;
	b->value = mem_alloc(b->size + 1);
	if (!b->value) {
		errno = ENOMEM;
		return STORE_FAILED;
	}
	mem_expect(b->value, b->size);
	bool is_long = b->size > sizeof(piece);
	char *room = is_long ? b->value : piece;
	if (!has_key(fd, room, is_long ? b->size : sizeof(piece), wanted, begun)) {
		mem_free(b->value);
		b->value = NULL;
		return STORE_ABSENT;
	}
	struct iovec second[] = {{b->value, b->size}};
	if (!store_read(fd, second, countof(second))) {
		return STORE_FAILED;
	}
	b->value[b->size] = '\0';
	return judge(&head, wanted->hash, hash_of(b->value, b->size), STORE_HIT);
}

/* All of an entry; at the beginning of the file. */
static enum store_result read_all(int fd, off_t file_size, struct buffers *b,
	const struct store_key *wanted)
{
	size_t rest = (size_t)file_size - sizeof(struct store_head);
	b->key_size = wanted->size < rest ? wanted->size : rest;
	b->size = rest - b->key_size;
	b->key = mem_alloc(b->key_size);
	b->value = mem_alloc(b->size + 1);
	if (!b->key || !b->value) {
		errno = ENOMEM;
		return STORE_FAILED;
	}
	b->value[b->size] = '\0';
	return read_parts(fd, file_size, b, wanted);
}

static enum store_result read_file(const struct store *store, int fd,
	const struct store_key *wanted, struct buffers *b)
{
	struct stat st;
	enum store_result result = check_file(store, fd, &st);
	if (result != STORE_HIT) {
		return result;
	}
	bool is_big = st.st_size > READ_AT_ONCE;
	result = is_big ? read_value(fd, st.st_size, b, wanted) : STORE_ABSENT;
	if (result == STORE_ABSENT) {
		result = is_big && lseek(fd, 0, SEEK_SET) != 0 ? STORE_FAILED
			: read_all(fd, st.st_size, b, wanted);
	}
	int64_t age = store_now() - st.st_mtim.tv_sec;
	if (result == STORE_HIT && (age > TOUCH_S || age < -TOUCH_S)) {
		futimens(fd, NULL);
	}
	return result;
}

/* The file of a name; when it is not there because the folder is not, look for the folder once. */
static int open_file(struct store *store, const char *name)
{
	unsigned opened = atomic_load(&store->opened);
	int folder = atomic_load(&store->fd);
	int fd = folder >= 0 ? store_openat(folder, name, O_RDONLY) : -1;
	int why = folder >= 0 ? errno : ENOENT;
	if (fd >= 0 || (why != ENOENT && why != ENOTDIR && why != EBADF && why != ESTALE)) {
		return fd;
	}
	folder = store_folder_fd(store, false);
	if (folder >= 0 && atomic_load(&store->opened) != opened) {
		return store_openat(folder, name, O_RDONLY);
	}
	errno = why;
	return -1;
}

/* What it means that there is no such file to read. */
static enum store_result open_result(int why)
{
	switch (why) {
	case ENOENT:
	case ENOTDIR:
		return STORE_ABSENT;
	case EACCES:
	case EPERM:
		return STORE_FOREIGN;
	case ELOOP: /* a symbolic link */
	case ENXIO: /* a socket */
		return STORE_DAMAGED;
	default:
		return STORE_FAILED;
	}
}

static enum store_result get(struct store *store, const struct store_key *key, struct buffers *b)
{
	if (store_off(store)) {
		return STORE_IS_OFF;
	}
	char name[STORE_NAME_SIZE];
	store_name(name, store_shorten(key->hash));
	int fd = open_file(store, name);
	if (fd < 0) {
		return open_result(errno);
	}
	enum store_result result = read_file(store, fd, key, b);
	int why = errno;
	close(fd);
	errno = why;
	return result;
}

enum store_result store_find(struct store *store, const struct store_key *key, char **value,
	size_t *size)
{
	struct buffers b = {NULL, 0, NULL, 0};
	enum store_result result = get(store, key, &b);
	if (result == STORE_FAILED) {
		atomic_store(&store->last_errno, errno);
	}
	atomic_fetch_add(&store->gets[result], 1);
	mem_free(b.key);
	if (result != STORE_HIT) {
		mem_free(b.value);
		b.value = NULL;
		b.size = 0;
	}
	*value = b.value;
	*size = b.size;
	return result;
}

enum store_result store_get(struct store *store, const void *key, size_t key_size, char **value,
	size_t *size)
{
	struct store_key whole = store_whole_key(key, key_size);
	return store_find(store, &whole, value, size);
}

/* Writing */

/* Nobody else has it: 80 bits of it are random, or nearly so. */
static void temporary_name(char name[STORE_NAME_SIZE])
{
	static atomic_uint calls;
	uint64_t number;
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number)) {
		struct {
			int64_t pid, call, now;
		} seed = {getpid(), atomic_fetch_add(&calls, 1), store_now()};
		number = hash_of(&seed, sizeof(seed)).low;
	}
	snprintf(name, STORE_NAME_SIZE, "tmp-%03x-%016llx", (unsigned)getpid() & 0xfff,
		(unsigned long long)number);
}

/* Whether this process may make files of such a size: else the kernel would end it (SIGXFSZ). */
static bool may_write(size_t size)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size) {
		errno = EFBIG;
		return false;
	}
	return true;
}

/* Write a new file below the folder; false leaves none. */
static bool write_file(int folder, const char *name, struct iovec *parts, int count)
{
	int fd = store_openat(folder, name, O_WRONLY | O_CREAT | O_EXCL);
	if (fd < 0) {
		return false;
	}
	bool written = store_write(fd, parts, count);
	int why = errno;
	if (close(fd) != 0 && written && errno != EINTR) {
		written = false; /* NFS tells only now that the disk is full */
		why = errno;
	}
	if (!written) {
		unlinkat(folder, name, 0);
		errno = why;
	}
	return written;
}

/* Give it its final name, making the two-letter folder. */
static bool publish(int folder, const char *temporary, const char *name)
{
	if (renameat(folder, temporary, folder, name) == 0) {
		return true;
	}
	if (errno == ENOENT) {
		char parent[3] = {name[0], name[1], '\0'};
		if (mkdirat(folder, parent, 0700) != 0 && errno != EEXIST) {
			return false;
		}
	} else if (errno != EISDIR || unlinkat(folder, name, AT_REMOVEDIR) != 0) {
		return false;
	}
	return renameat(folder, temporary, folder, name) == 0;
}

static bool put(struct store *store, const struct store_key *key, const void *value, size_t size)
{
	size_t total = sizeof(struct store_head);
	if (!size_add(&total, total, key->size) || !size_add(&total, total, size)
		|| total > ENTRY_MAX || (int64_t)total > store->size_max / 2) {
		errno = EFBIG;
		return false;
	}
	int folder = may_write(total) ? store_folder_fd(store, true) : -1;
	if (folder < 0 || !store_make_room(store, folder, (int64_t)total)) {
		return false;
	}
	struct store_head head = {
		.version = STORE_VERSION, .key_size = key->size, .value_size = size};
	memcpy(head.magic, STORE_MAGIC, sizeof(head.magic));
	head.hash = hash_entry(&head, key->hash, hash_of(value, size));
	struct iovec parts[STORE_PIECES + 2] = {{&head, sizeof(head)}};
	for (int i = 0; i < STORE_PIECES; i++) {
		parts[i + 1] = (struct iovec){(void *)key->pieces[i].data, key->pieces[i].size};
	}
	parts[STORE_PIECES + 1] = (struct iovec){(void *)value, size};
	char name[STORE_NAME_SIZE], temporary[STORE_NAME_SIZE];
	store_name(name, store_shorten(key->hash));
	temporary_name(temporary);
	if (!write_file(folder, temporary, parts, countof(parts))) {
		return false;
	}
	if (!publish(folder, temporary, name)) {
		int why = errno;
		unlinkat(folder, temporary, 0);
		errno = why;
		return false;
	}
	return true;
}

bool store_keep(struct store *store, const struct store_key *key, const void *value, size_t size)
{
	if (store_off(store)) {
		return false;
	}
	bool stored = put(store, key, value, size);
	if (!stored) {
		atomic_store(&store->last_errno, errno);
	}
	atomic_fetch_add(stored ? &store->stored : &store->not_stored, 1);
	return stored;
}

bool store_put(struct store *store, const void *key, size_t key_size, const void *value,
	size_t size)
{
	struct store_key whole = store_whole_key(key, key_size);
	return store_keep(store, &whole, value, size);
}
