/* SPDX-License-Identifier: MIT */
/* Reading, writing and replacing files, and taking paths apart. */
#include "base/file.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int64_t file_read_some(int fd, char *data, size_t size)
{
	size_t done = 0;
	while (done < size) {
		ssize_t got = read(fd, data + done, size - done);
		if (got == 0) {
			break;
		}
		if (got > 0) {
			done += (size_t)got;
		} else if (errno != EINTR) {
			return -1;
		}
	}
	return (int64_t)done;
}

static kz_status file_open_info(int *fd, struct stat *info, const char *path, kz_error *err)
{
	/* O_NONBLOCK: opening a named pipe must not wait for its writer. */
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0) {
		return error_os(err, errno, "open", "cannot open '%s'", path);
	}
	kz_status st = KZ_OK;
	if (fstat(*fd, info) != 0) {
		st = error_os(err, errno, "fstat", "cannot read '%s'", path);
	} else if (!S_ISREG(info->st_mode)) {
		st = error_set(err, KZ_IO, "cannot read '%s': expected a regular file", path);
	}
	if (st) {
		close(*fd);
	}
	return st;
}

kz_status file_open(int *fd, const char *path, kz_error *err)
{
	struct stat info;
	return file_open_info(fd, &info, path, err);
}

kz_status file_read(char **data, size_t *size, const char *path, kz_error *err)
{
	struct stat info;
	int fd;
	*data = NULL;
	*size = 0;
	kz_status st = file_open_info(&fd, &info, path, err);
	if (st) {
		return st;
	}
	char *text = mem_alloc((size_t)info.st_size + 1);
	const int64_t got = text ? file_read_some(fd, text, (size_t)info.st_size) : 0;
	if (!text) {
		st = error_no_memory(err);
	} else if (got < 0) {
		st = error_os(err, errno, "read", "cannot read '%s'", path);
		mem_free(text);
	} else {
		text[got] = '\0';
		*data = text;
		*size = (size_t)got;
	}
	close(fd);
	return st;
}

/* Writing */

uint64_t file_most(void)
{
	struct rlimit limit;
	bool limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
	return limited && limit.rlim_cur < INT64_MAX ? limit.rlim_cur : INT64_MAX;
}

/* Whether a file may have so many bytes.  The limit does not count for pipes and devices. */
static bool file_may_have(int fd, uint64_t size)
{
	struct stat info;
	if (size <= file_most() || (fstat(fd, &info) == 0 && !S_ISREG(info.st_mode))) {
		return true;
	}
	errno = EFBIG;
	return false;
}

bool file_write(int fd, const void *data, size_t size, int64_t offset)
{
	const char *from = data;
	size_t done = 0;
	if (offset >= 0 && !file_may_have(fd, (uint64_t)offset + size)) {
		return false;
	}
	while (done < size) {
		ssize_t wrote = offset < 0 ? write(fd, from + done, size - done)
			: pwrite(fd, from + done, size - done, (off_t)offset + (off_t)done);
		if (wrote == 0) {
			errno = EIO;
		}
		if (wrote == 0 || (wrote < 0 && errno != EINTR)) {
			return false;
		}
		done += wrote > 0 ? (size_t)wrote : 0;
	}
	return true;
}

bool file_extend(int fd, uint64_t size)
{
	if (!file_may_have(fd, size)) {
		return false;
	}
	int result;
	do {
		result = ftruncate(fd, (off_t)size);
	} while (result != 0 && errno == EINTR);
	return result == 0;
}

bool file_put(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		return false;
	}
	int error = file_write(fd, data, size, lseek(fd, 0, SEEK_CUR)) ? 0 : errno;
	if (close(fd) != 0 && !error && errno != EINTR) {
		error = errno;
	}
	errno = error ? error : errno;
	return !error;
}

/* Files of stdio */

/* The signals of a write that fails, which the calling thread does not get in between. */
struct file_signals {
	sigset_t held;    /* those that come are taken, */
	sigset_t before;  /* and the mask is what it was */
};

static void file_hold_signals(struct file_signals *signals)
{
	sigset_t pending;
	sigemptyset(&pending);
	sigpending(&pending);
	sigemptyset(&signals->held);
	if (!sigismember(&pending, SIGPIPE)) {
		sigaddset(&signals->held, SIGPIPE);
	}
	if (!sigismember(&pending, SIGXFSZ)) {
		sigaddset(&signals->held, SIGXFSZ);
	}
	pthread_sigmask(SIG_BLOCK, &signals->held, &signals->before);
}

static void file_let_signals(const struct file_signals *signals, int error)
{
	const struct timespec now = {0, 0};
	if (error == EPIPE || error == EFBIG) {
		while (sigtimedwait(&signals->held, NULL, &now) < 0 && errno == EINTR) {
		}
	}
	pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}

int file_print(FILE *file, const char *text, size_t size)
{
	struct file_signals signals;
	file_hold_signals(&signals);
	errno = EIO;
	int error = fwrite(text, 1, size, file) == size ? 0 : errno;
	file_let_signals(&signals, error);
	return error;
}

int file_flush(FILE *file)
{
	struct file_signals signals;
	file_hold_signals(&signals);
	errno = EIO;
	int error = fflush(file) == 0 ? 0 : errno;
	file_let_signals(&signals, error);
	return error;
}

kz_status file_show(FILE *to, const struct str *text, const char *what, kz_error *err)
{
	bool ok = fwrite(text->data, 1, text->len, to) == text->len && fflush(to) == 0;
	return ok ? KZ_OK : error_os(err, errno, "fwrite", "cannot print %s", what);
}

/* Files of one process alone */

int file_open_alone(const char *path)
{
	struct stat info;
	/* O_NONBLOCK: opening a named pipe must not wait for its reader. */
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
	if (fd < 0) {
		return -1;
	}
	fcntl(fd, F_SETFL, 0);
	bool is_file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
	/* Where there are no locks, it is as if nobody had one. */
	bool is_taken = is_file && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	if (is_taken || (is_file && ftruncate(fd, 0) != 0)) {
		int error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

bool file_close_alone(int fd)
{
	(void)flock(fd, LOCK_UN); /* a pipe has none */
	return close(fd) == 0;
}

/* The path with the process's number in it; after it, if `is_taken`.  NULL when memory runs
 * out. */
static char *file_number(const char *path, bool is_taken)
{
	struct str text = STR_INIT;
	for (const char *at; (at = strstr(path, "%p")); path = at + 2) {
		str_addn(&text, path, (size_t)(at - path));
		str_addf(&text, "%ld", (long)getpid());
	}
	str_add(&text, path);
	if (is_taken) {
		str_addf(&text, ".%ld", (long)getpid());
	}
	return str_take(&text);
}

int file_open_asked(const char *path)
{
	int fd = -1;
	errno = EWOULDBLOCK;
	for (int round = 0; round < 2 && fd < 0 && errno == EWOULDBLOCK; round++) {
		char *name = file_number(path, round > 0);
		fd = name ? file_open_alone(name) : -1;
		int error = name ? errno : ENOMEM;
		mem_free(name);
		errno = error;
	}
	return fd;
}

/* Replacing */

/* The name is unique: processes differ in the first number, calls of one process in the second. */
static char *file_temporary_name(const char *path)
{
	static atomic_uint calls;
	char suffix[48];
	snprintf(suffix, sizeof(suffix), ".%ld-%u.part", (long)getpid(),
		atomic_fetch_add(&calls, 1));
	size_t len = strlen(path);
	char *name = mem_alloc(len + strlen(suffix) + 1);
	if (name) {
		memcpy(name, path, len);
		strcpy(name + len, suffix);
	}
	return name;
}

kz_status file_begin(struct file_writer *file, const char *path, kz_error *err)
{
	struct stat found;
	if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) { /* a device must stay one */
		return error_set(err, KZ_IO, "cannot write '%s': expected a regular file", path);
	}
	file->path = path;
	file->size = 0;
	file->temporary = file_temporary_name(path);
	if (!file->temporary) {
		return error_no_memory(err);
	}
	file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (file->fd < 0) {
		kz_status st = error_os(err, errno, "open", "cannot write '%s'", path);
		mem_free(file->temporary);
		return st;
	}
	return KZ_OK;
}

kz_status file_add(struct file_writer *file, const void *data, size_t size, kz_error *err)
{
	if (!file_write(file->fd, data, size, file->size)) {
		return error_os(err, errno, "pwrite", "cannot write '%s'", file->path);
	}
	file->size += (int64_t)size;
	return KZ_OK;
}

kz_status file_commit(struct file_writer *file, kz_error *err)
{
	kz_status st = KZ_OK;
	if (fsync(file->fd) != 0 && errno != EINVAL) { /* some file systems have nothing to sync */
		st = error_os(err, errno, "fsync", "cannot write '%s'", file->path);
	} else if (rename(file->temporary, file->path) != 0) {
		st = error_os(err, errno, "rename", "cannot write '%s'", file->path);
	}
	if (st) {
		file_abandon(file);
		return st;
	}
	close(file->fd);
	mem_free(file->temporary);
	return KZ_OK;
}

void file_abandon(struct file_writer *file)
{
	close(file->fd);
	unlink(file->temporary);
	mem_free(file->temporary);
}

kz_status file_replace(const char *path, const void *data, size_t size, kz_error *err)
{
	struct file_writer file;
	kz_status st = file_begin(&file, path, err);
	if (st) {
		return st;
	}
	if ((st = file_add(&file, data, size, err))) {
		file_abandon(&file);
		return st;
	}
	return file_commit(&file, err);
}

bool file_is_regular(const char *path)
{
	struct stat info;
	return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool file_is_folder(const char *path)
{
	struct stat info;
	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool file_is_same(const char *one, const char *other)
{
	struct stat a, b;
	return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev
		&& a.st_ino == b.st_ino;
}

char *file_join(const char *folder, const char *name)
{
	size_t folder_len = strlen(folder), name_len = strlen(name);
	bool slash = name_len > 0 && folder_len > 0 && folder[folder_len - 1] != '/';
	char *path = mem_alloc(folder_len + slash + name_len + 1);
	if (path) {
		char *end = mempcpy(path, folder, folder_len);
		end = slash ? mempcpy(end, "/", 1) : end;
		memcpy(end, name, name_len + 1);
	}
	return path;
}

char *file_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash) {
		return mem_strdup(".");
	}
	return mem_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}
