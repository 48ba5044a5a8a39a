/* SPDX-License-Identifier: MIT */
/*
 * Keeping a store below its size, clearing it, and locks.
 *
 * The file "state.1" holds how many bytes all entries take, and every process adds to it what it
 * is about to write: so nobody has to look at 100,000 files to know.  When the sum nears the limit
 * one process, which has the lock for that, looks at all of them, removes those that were used least
 * recently until 85 % are left, and writes down the true sum.  The sum errs only upwards (writes
 * that failed, entries replaced), but for writes that are under way during the count; so the limit
 * holds, to within those.  If the file is lost or damaged, it is counted anew.
 *
 * Its first bytes are locked: the first one for changing the sum, the second for removing; those
 * from LOCK_KEYS on are the locks of keys.
 */
#include "base/store_inner.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	LOCK_SUM = 0,
	LOCK_EVICT = 1,
	LOCK_KEYS = 4096,
	SUM_WAIT_MS = 200,
	EVICT_WAIT_MS = 500,
	START_PERCENT = 95, /* of the limit: begin to remove there */
	LEAVE_PERCENT = 85,
	SUM_UNKNOWN = -1,
	SUM_FAILED = -2,
};

#define STATE_MAGIC UINT64_C(0x31657a6973647a6b) /* "kzdsize1" */

struct state {
	uint64_t magic;
	int64_t sum;
	uint64_t check;
};

static uint64_t state_check(int64_t sum)
{
	return ~(uint64_t)sum ^ STATE_MAGIC;
}

static int open_state(const struct store *store, int folder)
{
	struct stat st;
	int fd = store_openat(folder, "state.1", O_RDWR | O_CREAT);
	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !store_is_ours(store, &st))) {
		close(fd);
		errno = EPERM;
		fd = -1;
	}
	return fd;
}

/* The sum, SUM_UNKNOWN if there is none to be trusted. */
static int64_t read_sum(int fd)
{
	struct state state;
	if (pread(fd, &state, sizeof(state), 0) != sizeof(state) || state.magic != STATE_MAGIC
		|| state.sum < 0 || state.check != state_check(state.sum)) {
		return SUM_UNKNOWN;
	}
	return state.sum;
}

static bool write_sum(int fd, int64_t sum)
{
	struct state state = {STATE_MAGIC, sum, state_check(sum)};
	return pwrite(fd, &state, sizeof(state), 0) == sizeof(state);
}

/* Add to the sum; what it is then, SUM_UNKNOWN, or SUM_FAILED if it cannot be changed now. */
static int64_t add_to_sum(int fd, int64_t size)
{
	/* Where there are no locks it may go wrong a little, until it is counted anew. */
	if (store_lock_byte(fd, LOCK_SUM, SUM_WAIT_MS) == EAGAIN) {
		return SUM_FAILED;
	}
	int64_t sum = read_sum(fd);
	if (sum >= 0 && (!size64_add(&sum, sum, size) || !write_sum(fd, sum))) {
		sum = SUM_FAILED;
	}
	store_unlock_byte(fd, LOCK_SUM);
	return sum;
}

/* Removing */

struct victim {
	int64_t used_ns;
	int64_t size;
	char name[STORE_NAME_SIZE]; /* with its folder */
};

struct survey {
	struct victim *victims;
	size_t count;
	size_t cap;
	int64_t sum;
	int64_t now;
};

static bool survey_grow(struct survey *survey)
{
	size_t cap = survey->cap ? survey->cap * 2 : 1024, size;
	struct victim *victims = size_mul(&size, cap, sizeof(*victims))
		? mem_realloc(survey->victims, size) : NULL;
	if (victims) {
		survey->victims = victims;
		survey->cap = cap;
	}
	return victims != NULL;
}

static bool survey_add(void *arg, const struct store_file *file)
{
	struct survey *survey = arg;
	struct stat st;
	if (fstatat(file->folder, file->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return true;
	}
	int64_t size = divide_up(st.st_size, STORE_BLOCK) * STORE_BLOCK;
	survey->sum += size;
	/* Without memory for all, remove from those that there is memory for. */
	if (survey->count < survey->cap || survey_grow(survey)) {
		struct victim *victim = &survey->victims[survey->count++];
		/* A clock that went wrong and was set right must not keep a file for ever. */
		bool is_future = st.st_mtim.tv_sec > survey->now + 3600;
		victim->used_ns = is_future ? 0
			: st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
		victim->size = size;
		snprintf(victim->name, sizeof(victim->name), "%.2s/%.40s",
			file->folder_name, file->name);
	}
	return true;
}

static int by_use(const void *left, const void *right)
{
	const struct victim *a = left, *b = right;
	return (a->used_ns > b->used_ns) - (a->used_ns < b->used_ns);
}

/* Remove what was used least recently until no more than `leave` bytes are left. */
static void remove_oldest(struct store *store, int folder, struct survey *survey, int64_t leave)
{
	if (survey->count > 0) {
		qsort(survey->victims, survey->count, sizeof(*survey->victims), by_use);
	}
	for (size_t i = 0; i < survey->count && survey->sum > leave; i++) {
		int failed = unlinkat(folder, survey->victims[i].name, 0);
		if (!failed) {
			atomic_fetch_add(&store->evicted, 1);
		}
		if (!failed || errno == ENOENT) {
			survey->sum -= survey->victims[i].size;
		}
	}
}

static int64_t percent_of(int64_t size, int64_t percent)
{
	return size / 100 * percent + size % 100 * percent / 100;
}

/* Count all entries, remove some if they are too many, and write down what is left and what others
 * have added meanwhile.  The caller has LOCK_EVICT; `size` is what it is about to write. */
static int64_t count_anew(struct store *store, int folder, int fd, int64_t before, int64_t size)
{
	struct survey survey = {.now = store_now()};
	store_files(folder, survey_add, &survey);
	if (survey.sum > percent_of(store->size_max, START_PERCENT) - size) {
		remove_oldest(store, folder, &survey, percent_of(store->size_max, LEAVE_PERCENT));
	}
	mem_free(survey.victims);
	if (store_lock_byte(fd, LOCK_SUM, SUM_WAIT_MS) == EAGAIN) {
		return SUM_FAILED;
	}
	int64_t now = read_sum(fd), sum = survey.sum + size;
	sum += before >= 0 && now > before ? now - before : 0;
	bool written = write_sum(fd, sum);
	store_unlock_byte(fd, LOCK_SUM);
	return written ? sum : SUM_FAILED;
}

/* The sum afterwards; as it was when another one is at it. */
static int64_t evict(struct store *store, int folder, int fd, int64_t sum, int64_t size)
{
	/* While there is room there is no need to wait for who is making more. */
	int wait_ms = sum < 0 || sum > store->size_max ? EVICT_WAIT_MS : 0;
	if (store_lock_byte(fd, LOCK_EVICT, wait_ms) == EAGAIN) {
		return sum;
	}
	int64_t now = read_sum(fd);
	if (now >= 0 && now <= percent_of(store->size_max, START_PERCENT)) {
		/* Somebody else was faster. */
		sum = sum < 0 ? add_to_sum(fd, size) : now;
	} else {
		sum = count_anew(store, folder, fd, now, size);
	}
	store_unlock_byte(fd, LOCK_EVICT);
	return sum;
}

bool store_make_room(struct store *store, int folder, int64_t size)
{
	store_sweep(store, folder);
	int fd = open_state(store, folder);
	if (fd < 0) {
		return false;
	}
	size = divide_up(size, STORE_BLOCK) * STORE_BLOCK;
	int64_t sum = add_to_sum(fd, size);
	if (sum == SUM_UNKNOWN || sum > percent_of(store->size_max, START_PERCENT)) {
		sum = evict(store, folder, fd, sum, size);
	}
	close(fd);
	errno = ENOSPC;
	return sum >= 0 && sum <= store->size_max;
}

/* Clearing */

struct clearing {
	int64_t count;
	bool failed;
};

static bool remove_entry(void *arg, const struct store_file *file)
{
	struct clearing *clearing = arg;
	if (unlinkat(file->folder, file->name, 0) == 0) {
		clearing->count++;
	} else if (errno != ENOENT) {
		clearing->failed = true;
	}
	return true;
}

/* Count what there is, after it was changed by other ways. */
static void recount(struct store *store, int folder)
{
	int fd = open_state(store, folder);
	if (fd < 0) {
		return;
	}
	if (store_lock_byte(fd, LOCK_EVICT, EVICT_WAIT_MS) == 0) {
		count_anew(store, folder, fd, read_sum(fd), 0);
		store_unlock_byte(fd, LOCK_EVICT);
	}
	close(fd);
}

bool store_clear(struct store *store, int64_t *count)
{
	struct clearing clearing = {0, false};
	*count = 0;
	int folder = store_folder_fd(store, false);
	if (folder < 0) {
		return !store_off(store) && errno == ENOENT;
	}
	bool complete = store_files(folder, remove_entry, &clearing);
	for (unsigned i = 0; i <= 0xff; i++) {
		char name[3];
		snprintf(name, sizeof(name), "%02x", i & 0xff);
		unlinkat(folder, name, AT_REMOVEDIR); /* unless something came */
	}
	recount(store, folder);
	*count = clearing.count;
	return complete && !clearing.failed;
}

/* Locks of keys */

struct store_lock {
	int fd; /* its own: that is whom a lock belongs to */
	int64_t byte;
};

struct store_lock *store_lock_for(struct store *store, const struct store_key *key)
{
	int folder = store_off(store) ? -1 : store_folder_fd(store, true);
	struct store_lock *lock = folder >= 0 ? mem_alloc(sizeof(*lock)) : NULL;
	if (!lock) {
		return NULL;
	}
	lock->byte = LOCK_KEYS + (int64_t)(store_shorten(key->hash).high >> 2);
	lock->fd = open_state(store, folder);
	if (lock->fd < 0 || store_lock_byte(lock->fd, lock->byte, store_tune.lock_wait_ms) != 0) {
		if (lock->fd >= 0) {
			close(lock->fd);
		}
		mem_free(lock);
		return NULL;
	}
	return lock;
}

struct store_lock *store_lock(struct store *store, const void *key, size_t key_size)
{
	struct store_key whole = store_whole_key(key, key_size);
	return store_lock_for(store, &whole);
}

void store_unlock(struct store_lock *lock)
{
	if (lock) {
		store_unlock_byte(lock->fd, lock->byte);
		close(lock->fd);
		mem_free(lock);
	}
}
