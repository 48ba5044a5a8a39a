/* SPDX-License-Identifier: MIT */
/*
 * To know a file by its times takes a look at it; to know it by what is in it takes fifty times as
 * long, and a few headers of CUDA are a thousand files.
 *
 * An entry has the value, a hash of what was there and the paths: each a byte that says with how much
 * of the one before it begins, the rest, and a zero.  The key has the library's build id, for what is
 * found out follows from its code as well.
 */
#include "base/common.h"

#include "cache/looked.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/store.h"

#include <limits.h>
#include <string.h>

static const char kind[] = "looked";

struct head {
	struct hash hash;
	uint64_t value_size; /* behind it the paths */
};

/* Of a file whatever changes with it; of a folder nothing, for what it holds is looked at by name. */
struct seen {
	uint64_t kind, device, inode, size;
	int64_t times[4];
};

static void add_seen(struct hash_state *state, const struct stat *id)
{
	struct seen seen = {.kind = id ? id->st_mode & S_IFMT : 0};
	if (id && S_ISREG(id->st_mode)) {
		seen = (struct seen){seen.kind, id->st_dev, id->st_ino, (uint64_t)id->st_size,
			{id->st_mtim.tv_sec, id->st_mtim.tv_nsec, id->st_ctim.tv_sec,
				id->st_ctim.tv_nsec}};
	}
	hash_add(state, &seen, sizeof(seen));
}

void looked_begin(struct looked *looked)
{
	*looked = (struct looked){.paths = STR_INIT, .last = STR_INIT};
	hash_begin(&looked->state);
}

void looked_add(struct looked *looked, const char *path, const struct stat *id)
{
	const char *last = looked->last.data ? looked->last.data : "";
	size_t shared = 0;
	while (shared < UINT8_MAX && path[shared] && path[shared] == last[shared]) {
		shared++;
	}
	str_addc(&looked->paths, (char)shared);
	str_addn(&looked->paths, path + shared, strlen(path + shared) + 1);
	str_clear(&looked->last);
	str_add(&looked->last, path);
	looked->paths.failed |= looked->last.failed;
	add_seen(&looked->state, id);
}

void looked_free(struct looked *looked)
{
	str_free(&looked->paths);
	str_free(&looked->last);
}

/* Whether all that is at the paths is what it was. */
static bool is_current(struct hash hash, const char *paths, size_t size)
{
	char path[PATH_MAX] = "";
	struct hash_state state;
	struct stat id;
	bool ok = size == 0 || paths[size - 1] == '\0';
	hash_begin(&state);
	for (size_t at = 0; ok && at < size;) {
		size_t shared = (uint8_t)paths[at++];
		size_t rest = at < size ? strlen(paths + at) : sizeof(path);
		ok = rest < sizeof(path) - shared;
		if (ok) {
			memcpy(path + shared, paths + at, rest + 1);
			add_seen(&state, stat(path, &id) == 0 ? &id : NULL);
		}
		at += rest + 1;
	}
	return ok && hash_equal(hash, hash_end(&state));
}

/* The store if it is of use, with the key; else NULL. */
static struct store *open_store(struct str *key, const char *what)
{
	uint8_t id[DL_BUILD_ID_SIZE];
	struct store *store = store_default();
	size_t id_size = store && !store_off(store) ? dl_build_id(id, kind) : 0;
	str_addn(key, kind, sizeof(kind));
	str_addn(key, (const char *)id, id_size);
	str_add(key, what);
	return id_size > 0 && !key->failed ? store : NULL;
}

void looked_keep(const struct looked *looked, const char *what, const void *value, size_t size)
{
	struct str key = STR_INIT, entry = STR_INIT;
	struct head head = {hash_end(&looked->state), size};
	struct store *store = open_store(&key, what);
	str_addn(&entry, (const char *)&head, sizeof(head));
	str_addn(&entry, value, size);
	str_addn(&entry, looked->paths.data, looked->paths.len);
	if (store && !entry.failed && !looked->paths.failed) {
		(void)store_put(store, key.data, key.len, entry.data, entry.len);
	}
	str_free(&key);
	str_free(&entry);
}

bool looked_find(const char *what, char **value, size_t *size)
{
	struct str key = STR_INIT;
	struct head head;
	char *entry = NULL;
	size_t entry_size = 0;
	struct store *store = open_store(&key, what);
	bool ok = store && store_get(store, key.data, key.len, &entry, &entry_size) == STORE_HIT
		&& entry_size >= sizeof(head);
	if (ok) {
		memcpy(&head, entry, sizeof(head));
		char *behind = entry + sizeof(head);
		size_t rest = entry_size - sizeof(head);
		ok = head.value_size <= rest
			&& is_current(head.hash, behind + head.value_size, rest - head.value_size);
		*size = ok ? (size_t)head.value_size : 0;
		memmove(entry, behind, *size);
	}
	if (!ok) {
		mem_free(entry);
		entry = NULL;
	}
	*value = entry;
	str_free(&key);
	return ok;
}
