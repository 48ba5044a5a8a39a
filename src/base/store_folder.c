/* SPDX-License-Identifier: MIT */
/*
 * The folder of a store: whether it may be used, making it, and finding it again.
 *
 * Code that runs comes out of it, so nobody else may be able to write it: it belongs to us, and
 * neither group nor others may write.  That is asked of the open folder, not of its path, and again
 * of every file read, so that those above it need not be trusted; and yet
 *	- one that all may write (and rename in, without the sticky bit) is refused, as sshd does; one
 *	  that a group may write is not, since homes of users who are alone in their group, and the
 *	  shared folders of clusters, are like that;
 *	- root uses and makes nothing below other users' folders: under sudo, with the user's HOME, it
 *	  would leave them one that is not theirs.
 * The folder itself is no symbolic link; those above it may be.  There is no way to use the folder
 * of another user.
 */
#include "base/store_inner.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 1000 };

const char *store_off(const struct store *store)
{
	return atomic_load(&store->off);
}

void store_turn_off(struct store *store, const char *reason)
{
	const char *none = NULL;
	atomic_compare_exchange_strong(&store->off, &none, reason);
}

/* The caller has the lock: nobody else writes the text. */
static void turn_off(struct store *store, const char *reason)
{
	if (!store_off(store)) {
		snprintf(store->reason, sizeof(store->reason), "%.200s: %s", store->folder, reason);
		store_turn_off(store, store->reason);
	}
}

bool store_is_ours(const struct store *store, const struct stat *st)
{
	return st->st_uid == store->owner && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* What is wrong with one of the folders above, NULL if nothing is. */
static const char *above_reason(const struct store *store, const struct stat *st)
{
	if ((st->st_mode & S_IWOTH) && !(st->st_mode & S_ISVTX)) {
		return "everybody can write a folder above it";
	}
	if (store->owner == 0 && st->st_uid != 0) {
		return "a folder above it belongs to another user, and we are root";
	}
	return NULL;
}

/* The same for all of them, from the one above `folder` to the root. */
static const char *all_above_reason(const struct store *store, int folder)
{
	struct stat below, st;
	const char *reason = fstat(folder, &below) == 0 ? NULL : "cannot be looked at";
	int at = folder;
	for (int depth = 0; !reason && depth < DEPTH_MAX; depth++) {
		int above = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (at != folder) {
			close(at);
		}
		at = above;
		if (above < 0 || fstat(above, &st) != 0) {
			reason = "the folders above it cannot be looked at";
		} else if (st.st_dev == below.st_dev && st.st_ino == below.st_ino) {
			break;
		} else {
			reason = above_reason(store, &st);
			below = st;
		}
	}
	if (at >= 0 && at != folder) {
		close(at);
	}
	return reason;
}

static const char *folder_reason(const struct store *store, int folder)
{
	struct stat st;
	if (fstat(folder, &st) != 0) {
		return "cannot be looked at";
	}
	if (st.st_uid != store->owner) {
		return "belongs to another user";
	}
	if (!store_is_ours(store, &st)) {
		return "can be written by others, expected mode 700";
	}
	return all_above_reason(store, folder);
}

/* Go down `path` from `at`, which it closes, making each folder that is not there. */
static int make_below(int at, char *path)
{
	char *rest = NULL;
	for (char *name = strtok_r(path, "/", &rest); name && at >= 0;
		name = strtok_r(NULL, "/", &rest)) {
		if (mkdirat(at, name, 0700) != 0 && errno != EEXIST) {
			close(at);
			return -1;
		}
		int below = store_openat(at, name, O_RDONLY | O_DIRECTORY);
		int saved = errno;
		close(at);
		errno = saved;
		at = below;
	}
	return at;
}

/* Open the deepest folder of the path that there is; *rest is what comes after it. */
static int open_deepest(char *path, char **rest)
{
	size_t end = strlen(path);
	*rest = path + end;
	int fd = -1;
	while (end > 0) {
		while (end > 0 && path[end - 1] != '/') {
			end--;
		}
		/* Cut there; what is before it stays as it is. */
		*rest = path + end;
		char first = path[end];
		path[end] = '\0';
		fd = openat(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		path[end] = first;
		if (fd >= 0 || errno != ENOENT) {
			break;
		}
		end -= end > 0;
	}
	return fd;
}

static int make_folder(struct store *store)
{
	char *path = mem_strdup(store->folder), *rest;
	if (!path) {
		errno = ENOMEM;
		return -1;
	}
	int fd = open_deepest(path, &rest);
	if (fd >= 0) {
		struct stat st;
		const char *reason = fstat(fd, &st) != 0 ? "cannot be looked at"
							 : above_reason(store, &st);
		reason = reason ? reason : all_above_reason(store, fd);
		if (reason) {
			turn_off(store, reason);
			close(fd);
			fd = -1;
			errno = EPERM;
		} else {
			fd = make_below(fd, rest);
		}
	}
	int saved = errno;
	mem_free(path);
	errno = saved;
	return fd;
}

/* Open it, and see whether it may be used. */
static int open_folder(struct store *store, bool create)
{
	int fd = store_openat(AT_FDCWD, store->folder, O_RDONLY | O_DIRECTORY);
	if (fd < 0 && errno == ENOENT && create) {
		fd = make_folder(store);
	}
	if (fd < 0) {
		if (errno == ENOTDIR || errno == ELOOP) {
			turn_off(store, "expected a folder");
		} else if (errno == EACCES || errno == ENAMETOOLONG) {
			turn_off(store, strerrordesc_np(errno));
		}
		return -1;
	}
	const char *reason = folder_reason(store, fd);
	if (reason) {
		turn_off(store, reason);
		close(fd);
		errno = EPERM;
		return -1;
	}
	return fd;
}

static bool is_folder_of(const struct store *store, const struct stat *st)
{
	return st->st_dev == store->dev && st->st_ino == store->ino;
}

/* Whether the descriptor is still that of our folder: programs close what they do not know, and
 * open other files under its number.  One that cannot be looked at (ESTALE) is open, and ours. */
static bool is_still_ours(const struct store *store, int fd)
{
	struct stat st;
	return fd >= 0 && (fstat(fd, &st) == 0 ? is_folder_of(store, &st) : errno != EBADF);
}

/* Whether the path still leads to it. */
static bool is_in_place(const struct store *store)
{
	struct stat st;
	return fstatat(AT_FDCWD, store->folder, &st, AT_SYMLINK_NOFOLLOW) == 0
		&& is_folder_of(store, &st);
}

/* Threads that look at the number meanwhile see the old folder or the new one: it stays the same. */
static int put_in_place(struct store *store, int old, bool old_is_ours, int new)
{
	struct stat st;
	if (fstat(new, &st) != 0) {
		close(new);
		return -1;
	}
	if (old_is_ours && dup3(new, old, O_CLOEXEC) == old) {
		close(new);
		new = old;
	}
	store->dev = st.st_dev;
	store->ino = st.st_ino;
	atomic_store(&store->fd, new);
	atomic_fetch_add(&store->opened, 1);
	return new;
}

static int look_again(struct store *store, bool create)
{
	int fd = atomic_load(&store->fd);
	bool ours = is_still_ours(store, fd);
	if (ours && is_in_place(store)) {
		return fd;
	}
	int opened = open_folder(store, create);
	if (opened >= 0) {
		return put_in_place(store, fd, ours, opened);
	}
	if (!ours) {
		atomic_store(&store->fd, -1);
	}
	return -1;
}

int store_folder_fd(struct store *store, bool create)
{
	pthread_mutex_lock(&store->opening);
	int fd = store_off(store) ? -1 : look_again(store, create);
	int saved = errno;
	pthread_mutex_unlock(&store->opening);
	errno = saved;
	return fd;
}

void store_close_folder(struct store *store)
{
	int fd = atomic_load(&store->fd);
	if (is_still_ours(store, fd)) {
		close(fd);
	}
}
