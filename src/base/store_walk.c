/* SPDX-License-Identifier: MIT */
/*
 * Going through the files of a store: to list its entries, and for store_size.c, which counts and
 * removes them.  Others add and remove files meanwhile, so each step takes it that a file is gone.
 * Only names that a store gives are looked at: whatever else lies in the folder is not ours to
 * touch.
 */
#include "base/store_inner.h"

#include "base/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static DIR *open_list(int folder, const char *name)
{
	int fd = store_openat(folder, name, O_RDONLY | O_DIRECTORY);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	if (fd >= 0 && !list) {
		close(fd);
	}
	return list;
}

/* The files of one two-letter folder; *going is whether `each` wants more. */
static bool folder_files(int folder, const char *name, bool *going,
	bool (*each)(void *arg, const struct store_file *file), void *arg)
{
	DIR *list = open_list(folder, name);
	if (!list) {
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
	}
	for (struct dirent *entry; *going && (entry = readdir(list));) {
		if (store_is_entry_name(entry->d_name)) {
			struct store_file file = {dirfd(list), name, entry->d_name};
			*going = each(arg, &file);
		}
	}
	closedir(list);
	return true;
}

static bool is_folder_name(const char *name)
{
	return strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2;
}

bool store_files(int folder, bool (*each)(void *arg, const struct store_file *file), void *arg)
{
	bool going = true, complete = true;
	DIR *list = open_list(folder, ".");
	for (struct dirent *entry; list && going && (entry = readdir(list));) {
		if (is_folder_name(entry->d_name)) {
			complete &= folder_files(folder, entry->d_name, &going, each, arg);
		}
	}
	if (list) {
		closedir(list);
	}
	return list && complete;
}

void store_sweep(struct store *store, int folder)
{
	int64_t now = store_now(), swept = atomic_load(&store->swept);
	if (swept && now - swept < store_tune.abandoned_s && now >= swept) {
		return;
	}
	atomic_store(&store->swept, now);
	DIR *list = open_list(folder, ".");
	for (struct dirent *entry; list && (entry = readdir(list));) {
		struct stat st;
		if (store_is_temporary_name(entry->d_name)
			&& fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0
			&& now - st.st_mtim.tv_sec > store_tune.abandoned_s) {
			unlinkat(folder, entry->d_name, 0);
		}
	}
	if (list) {
		closedir(list);
	}
}

/* Listing */

struct walk {
	const struct store *store;
	bool (*each)(void *arg, const struct store_entry *entry);
	void *arg;
};

/* The key of an entry, from the beginning of its file; NULL if it is none. */
static char *read_key(int fd, const struct stat *st, struct store_head *head)
{
	struct iovec part = {head, sizeof(*head)};
	if (st->st_size < (off_t)sizeof(*head) || !store_read(fd, &part, 1)
		|| !store_check_head(head, st->st_size)) {
		return NULL;
	}
	char *key = mem_alloc(head->key_size);
	part = (struct iovec){key, head->key_size};
	if (key && !store_read(fd, &part, 1)) {
		mem_free(key);
		key = NULL;
	}
	return key;
}

/* The hash of the whole file is not looked at; that of the key is its name. */
static bool has_name_of_key(const struct store_file *file, const char *key, size_t key_size)
{
	char name[STORE_NAME_SIZE];
	store_name(name, store_key_hash(key, key_size));
	return strcmp(name + 3, file->name) == 0;
}

static bool show_entry(void *arg, const struct store_file *file)
{
	const struct walk *walk = arg;
	struct store_head head;
	struct stat st;
	bool going = true;
	int fd = store_openat(file->folder, file->name, O_RDONLY);
	if (fd < 0) {
		return true;
	}
	char *key = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && store_is_ours(walk->store, &st)
		? read_key(fd, &st, &head) : NULL;
	if (key && has_name_of_key(file, key, head.key_size)) {
		struct store_entry entry = {key, head.key_size, (int64_t)head.value_size,
			st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec};
		going = walk->each(walk->arg, &entry);
	}
	mem_free(key);
	close(fd);
	return going;
}

bool store_walk(struct store *store, bool (*each)(void *arg, const struct store_entry *entry),
	void *arg)
{
	struct walk walk = {store, each, arg};
	int folder = store_folder_fd(store, false);
	if (folder < 0) {
		return !store_off(store) && errno == ENOENT;
	}
	return store_files(folder, show_entry, &walk);
}
