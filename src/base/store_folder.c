/* SPDX-License-Identifier: MIT */
/*
 * The cache folder; see store_folder.h.
 *
 * Code that runs comes out of it, so nobody else may be able to write it.  That is asked of the
 * open folder, not of its path, and again of every file.  So the folders above it need not be
 * trusted, with two exceptions:
 *	- One that all may write, without the sticky bit, is refused, as sshd does.  One that a
 *	  group may write is not: homes of users who are alone in their group are like that.
 *	- Root uses and makes nothing below other users' folders: under sudo, with the user's HOME,
 *	  it would leave them one that is not theirs.
 * The folder itself is not a symbolic link; those above it may be.  Others add and remove files at
 * any time, so each step expects that a file is gone.
 */
#include "base/store_folder.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH_MAX = 1000, BLOCK = 4096, ABANDONED_S = 3600, TEMPORARY_SIZE = 24 };

/* Where it is */

/* HOME/.cache/kudzu for the home of the password database. */
static char *folder_of_passwd(const char **why)
{
	struct passwd entry, *found = NULL;
	size_t size = 16384;
	char *buffer = mem_alloc(size);
	char *path = NULL;
	if (buffer) {
		*why = "there is no home folder";
		if (getpwuid_r(getuid(), &entry, buffer, size, &found) == 0 && found && entry.pw_dir
			&& entry.pw_dir[0] == '/') {
			*why = NULL;
			path = file_join(entry.pw_dir, ".cache/kudzu");
		}
	}
	mem_free(buffer);
	return path;
}

static char *folder_of_environment(const char **why)
{
	static const struct {
		const char *variable;
		const char *below;
	} places[] = {
		{"KUDZU_CACHE_DIR", ""},
		{"XDG_CACHE_HOME", "kudzu"},
		{"HOME", ".cache/kudzu"},
	};
	for (size_t i = 0; i < countof(places); i++) {
		const char *folder = env_get(places[i].variable);
		if (folder && folder[0] == '/') {
			return file_join(folder, places[i].below);
		}
		/* A relative one would make the cache follow the working directory.  XDG says to
		 * ignore it; ours is refused, since somebody meant something by it. */
		if (i == 0 && folder && folder[0]) {
			*why = "KUDZU_CACHE_DIR is not an absolute path";
			return NULL;
		}
	}
	return folder_of_passwd(why);
}

/* A privileged process has no cache: its caller could prepare the folder. */
static const char *folder_privilege(void)
{
	return env_is_privileged() || getuid() != geteuid() || getgid() != getegid()
		? "the program has rights that its user lacks (setuid, setgid or capabilities)"
		: NULL;
}

char *store_folder_path(const char *wanted, const char **why)
{
	*why = folder_privilege();
	if (*why) {
		return NULL;
	}
	if (wanted && wanted[0] != '/') {
		*why = "the folder is not an absolute path";
		return NULL;
	}
	char *path = wanted ? mem_strdup(wanted) : folder_of_environment(why);
	if (!path) {
		*why = *why ? *why : "out of memory";
		return NULL;
	}
	/* O_NOFOLLOW has no effect on a path that ends with a slash. */
	char *out = path;
	for (const char *in = path; *in; in++) {
		if (in[0] != '/' || (in[1] && in[1] != '/')) {
			*out++ = *in;
		}
	}
	strcpy(out, out == path ? "/" : "");
	return path;
}

/* Opening */

static int folder_openat(int folder, const char *name, int flags)
{
	/* O_NONBLOCK: a named pipe must not make us wait for its other end. */
	return openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
}

/* Close a descriptor, and give the error of before. */
static int folder_fail(int fd, int error)
{
	if (fd >= 0) {
		close(fd);
	}
	errno = error;
	return -1;
}

static bool folder_may_be_written(const struct stat *st)
{
	return (st->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/* What openat(2) gave, if it is a folder of ours. */
static int folder_look_at(int fd, const char **why)
{
	struct stat st;
	if (fd < 0) {
		*why = errno == ENOTDIR || errno == ELOOP ? "expected a folder"
			: errno == EACCES || errno == ENAMETOOLONG ? strerrordesc_np(errno) : *why;
		return -1;
	}
	if (fstat(fd, &st) != 0) {
		*why = "cannot be examined";
	} else if (st.st_uid != geteuid()) {
		*why = "belongs to another user";
	} else if (folder_may_be_written(&st)) {
		*why = "others can write to it, expected mode 700";
	} else {
		return fd;
	}
	return folder_fail(fd, EPERM);
}

/* What is wrong with the folder `name` in one, and with those above it up to the root; NULL if
 * nothing is. */
static const char *folder_wrong_above(int folder, const char *name)
{
	struct stat st, below = {.st_ino = 0};
	const char *wrong = NULL;
	int at = openat(folder, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int depth = 0; !wrong && depth < DEPTH_MAX; depth++) {
		if (at < 0 || fstat(at, &st) != 0) {
			wrong = "the folders above it cannot be examined";
			break;
		}
		if (st.st_dev == below.st_dev && st.st_ino == below.st_ino) {
			break;
		}
		below = st;
		if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX)) {
			wrong = "everybody can write to a folder above it";
		} else if (geteuid() == 0 && st.st_uid != 0) {
			wrong = "a folder above it belongs to another user, and we are root";
		}
		int above = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = above;
	}
	if (at >= 0) {
		close(at);
	}
	return wrong;
}

/* Make a folder, and those above it that are missing. */
static int folder_make(const char *path, const char **why)
{
	char *above = file_folder(path);
	if (!above) {
		return folder_fail(-1, ENOMEM);
	}
	int at = openat(AT_FDCWD, above, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at >= 0) {
		*why = folder_wrong_above(at, ".");
		at = *why ? folder_fail(at, EPERM) : at;
	} else if (errno == ENOENT && above[1]) {
		at = folder_make(above, why);
	}
	int fd = -1, error = errno;
	if (at >= 0) {
		const char *name = strrchr(path, '/') + 1;
		if (mkdirat(at, name, 0700) == 0 || errno == EEXIST) {
			fd = folder_openat(at, name, O_RDONLY | O_DIRECTORY);
		}
		error = errno;
		close(at);
	}
	mem_free(above);
	errno = error;
	return fd;
}

int store_folder_open(const char *path, enum store_folder_use use, const char **why)
{
	*why = use == STORE_FOLDER_READ ? NULL : folder_privilege();
	if (*why) {
		return folder_fail(-1, EPERM);
	}
	int fd = folder_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0 && errno == ENOENT && use == STORE_FOLDER_MAKE) {
		fd = folder_make(path, why);
	}
	fd = folder_look_at(fd, why);
	if (fd >= 0 && use != STORE_FOLDER_READ) {
		*why = folder_wrong_above(fd, "..");
		fd = *why ? folder_fail(fd, EPERM) : fd;
	}
	return fd;
}

int store_folder_enter(int folder, const char *name, bool make, const char **why)
{
	*why = NULL;
	if (make && mkdirat(folder, name, 0700) != 0 && errno != EEXIST) {
		return -1;
	}
	return folder_look_at(folder_openat(folder, name, O_RDONLY | O_DIRECTORY), why);
}

/* Files */

int store_folder_file(int folder, const char *name, int flags, struct stat *st)
{
	int fd = folder_openat(folder, name, flags), error = 0;
	if (fd < 0) {
		return -1;
	}
	if (fstat(fd, st) != 0) {
		error = errno;
	} else if (st->st_uid != geteuid() || (S_ISREG(st->st_mode) && folder_may_be_written(st))) {
		error = EPERM;
	} else if (!S_ISREG(st->st_mode)) {
		error = EINVAL;
	}
	return error ? folder_fail(fd, error) : fd;
}

/* Nobody else has it; if they do, O_EXCL tells. */
static void folder_temporary_name(char name[TEMPORARY_SIZE])
{
	static atomic_uint calls;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t seed[] = {getpid(), atomic_fetch_add(&calls, 1), now.tv_sec, now.tv_nsec};
	snprintf(name, TEMPORARY_SIZE, "tmp-%016llx",
		(unsigned long long)hash_of(seed, sizeof(seed)).low);
}

static bool folder_is_temporary(const char *name)
{
	return strncmp(name, "tmp-", 4) == 0 && strlen(name) == 20
		&& strspn(name + 4, "0123456789abcdef") == 16;
}

bool store_folder_write(int folder, const char *name, const struct iovec *parts, int count)
{
	char temporary[TEMPORARY_SIZE];
	size_t size = 0;
	for (int i = 0; i < count; i++) {
		size += parts[i].iov_len;
	}
	if (size > file_most()) {
		errno = EFBIG; /* else the kernel would end this process */
		return false;
	}
	folder_temporary_name(temporary);
	int fd = folder_openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL);
	if (fd < 0) {
		return false;
	}
	ssize_t done = writev(fd, parts, count);
	int error = done < 0 ? errno : (size_t)done == size ? 0 : ENOSPC;
	if (close(fd) != 0 && !error && errno != EINTR) {
		error = errno; /* NFS tells only now that the disk is full */
	}
	/* A folder in its place, if it is empty, goes. */
	if (!error && renameat(folder, temporary, folder, name) != 0
		&& (errno != EISDIR || unlinkat(folder, name, AT_REMOVEDIR) != 0
			|| renameat(folder, temporary, folder, name) != 0)) {
		error = errno;
	}
	if (error) {
		unlinkat(folder, temporary, 0);
		errno = error;
	}
	return !error;
}

/* Many files */

bool store_folder_list(int folder, bool (*each)(void *arg, int folder, const char *name), void *arg)
{
	int fd = folder_openat(folder, ".", O_RDONLY | O_DIRECTORY);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	bool going = true;
	if (!list) {
		folder_fail(fd, errno);
		return false;
	}
	for (struct dirent *entry; going && (entry = readdir(list));) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
			going = each(arg, folder, entry->d_name);
		}
	}
	closedir(list);
	return true;
}

static bool folder_remove_one(void *arg, int folder, const char *name)
{
	(void)arg;
	if (unlinkat(folder, name, 0) != 0 && errno == EISDIR) {
		store_folder_delete(folder, name);
	}
	return true;
}

void store_folder_delete(int folder, const char *name)
{
	const char *why;
	int fd = store_folder_enter(folder, name, false, &why);
	if (fd >= 0) {
		store_folder_list(fd, folder_remove_one, NULL);
		close(fd);
		unlinkat(folder, name, AT_REMOVEDIR);
	}
}

int64_t store_folder_size(int64_t size)
{
	return (size / BLOCK + 1) * BLOCK;
}

int64_t store_folder_used_ns(const struct stat *st)
{
	return st->st_mtim.tv_sec > time(NULL) + 3600 ? 0
		: st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec;
}

struct folder_use {
	int64_t used_ns;
	int64_t size;
};

struct folder_trim {
	bool (*is_entry)(const char *name);
	struct str uses; /* a struct folder_use for each entry */
	int64_t last_ns;   /* entries that were used later stay */
	int64_t last_size; /* of those used just then, so many bytes go */
	struct store_trimmed result;
};

static bool folder_count_one(void *arg, int folder, const char *name)
{
	struct folder_trim *trim = arg;
	struct stat st;
	bool is_temporary = folder_is_temporary(name);
	if ((!is_temporary && !trim->is_entry(name))
		|| fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return true;
	}
	if (is_temporary && time(NULL) - st.st_mtim.tv_sec > ABANDONED_S
		&& unlinkat(folder, name, 0) == 0) {
		return true;
	}
	struct folder_use use = {store_folder_used_ns(&st), store_folder_size(st.st_size)};
	trim->result.left += use.size;
	if (!is_temporary) {
		/* Without memory for all, some of those that there is memory for go. */
		str_addn(&trim->uses, (const char *)&use, sizeof(use));
	}
	return true;
}

static bool folder_trim_one(void *arg, int folder, const char *name)
{
	struct folder_trim *trim = arg;
	struct stat st;
	if (!trim->is_entry(name) || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return true;
	}
	int64_t used_ns = store_folder_used_ns(&st), size = store_folder_size(st.st_size);
	if (used_ns < trim->last_ns || (used_ns == trim->last_ns && trim->last_size > 0)) {
		bool is_removed = unlinkat(folder, name, 0) == 0;
		trim->result.removed += is_removed;
		trim->result.failed |= !is_removed && errno != ENOENT;
		trim->result.left -= is_removed || errno == ENOENT ? size : 0;
		trim->last_size -= used_ns == trim->last_ns ? size : 0;
	}
	return true;
}

static int folder_by_use(const void *left, const void *right)
{
	const struct folder_use *a = left, *b = right;
	return (a->used_ns > b->used_ns) - (a->used_ns < b->used_ns);
}

struct store_trimmed store_folder_trim(int folder, bool (*is_entry)(const char *name), int64_t most,
	int64_t leave)
{
	struct folder_trim trim = {.is_entry = is_entry, .uses = STR_INIT, .last_ns = -1};
	trim.result.failed = !store_folder_list(folder, folder_count_one, &trim);
	struct folder_use *uses = (void *)trim.uses.data;
	size_t count = trim.uses.len / sizeof(*uses), i = 0;
	if (trim.result.left > most && count > 0) {
		qsort(uses, count, sizeof(*uses), folder_by_use);
		for (int64_t left = trim.result.left; i < count && left > leave; i++) {
			left -= uses[i].size;
			trim.last_size = uses[i].size
				+ (uses[i].used_ns == trim.last_ns ? trim.last_size : 0);
			trim.last_ns = uses[i].used_ns;
		}
		/* Looked at again: one that was used meanwhile stays. */
		trim.result.failed |= !store_folder_list(folder, folder_trim_one, &trim);
	}
	trim.result.failed |= trim.uses.failed;
	str_free(&trim.uses);
	return trim.result;
}
