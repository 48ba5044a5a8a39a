/* SPDX-License-Identifier: MIT */
/* System calls that go wrong when a test says so; see calls.h.  The Makefile names them too. */
#include "base/common.h"

#include "calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static struct {
	bool is_on;
	enum calls_action action;
	int error;
	long at;
	bool for_ever;
	long count;
	const char *victim;
} plan;

void calls_begin(enum calls_action action, int error, long at, bool for_ever)
{
	plan.action = action;
	plan.error = error;
	plan.at = at;
	plan.for_ever = for_ever;
	plan.count = 0;
	plan.victim = "";
	plan.is_on = true;
}

long calls_end(void)
{
	plan.is_on = false;
	return plan.count;
}

const char *calls_victim(void)
{
	return plan.victim;
}

/* What this call is to do. */
static enum calls_action next(const char *name)
{
	if (!plan.is_on || plan.action == CALLS_FULL) {
		return CALLS_PASS;
	}
	long index = plan.count++;
	if (index != plan.at && !(plan.for_ever && index > plan.at)) {
		return CALLS_PASS;
	}
	if (!plan.victim[0]) {
		plan.victim = name;
	}
	if (plan.action == CALLS_EXIT) {
		_exit(9);
	}
	return plan.action;
}

static long finish(enum calls_action action, long result)
{
	if (action == CALLS_EXIT_LATE) {
		_exit(9);
	}
	if (action == CALLS_FAIL_LATE) {
		errno = plan.error;
		return -1;
	}
	return result;
}

/* RESULT __wrap_NAME(PARAMETERS) for a call that returns a number, and -1 when it fails. */
#define WRAP(type, name, parameters, arguments)                                                   \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		enum calls_action action = next(#name);                                            \
		if (action == CALLS_FAIL) {                                                        \
			errno = plan.error;                                                        \
			return -1;                                                                 \
		}                                                                                  \
		return (type)finish(action, (long)__real_##name arguments);                        \
	}

WRAP(int, fstat, (int fd, struct stat *st), (fd, st))
WRAP(int, fstatat, (int at, const char *name, struct stat *st, int flags), (at, name, st, flags))
WRAP(int, mkdirat, (int at, const char *name, mode_t mode), (at, name, mode))
WRAP(int, unlinkat, (int at, const char *name, int flags), (at, name, flags))
WRAP(int, renameat, (int at, const char *name, int to, const char *new_name),
	(at, name, to, new_name))
WRAP(int, futimens, (int fd, const struct timespec times[2]), (fd, times))

/* Those below differ: what they open must not stay open, what they close is closed. */

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	enum calls_action action = next("close");
	int result = __real_close(fd);
	return (int)finish(action == CALLS_FAIL ? CALLS_FAIL_LATE : action, result);
}

int __real_openat(int at, const char *name, int flags, ...);
int __wrap_openat(int at, const char *name, int flags, ...);
int __wrap_openat(int at, const char *name, int flags, ...)
{
	va_list args;
	va_start(args, flags);
	mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	enum calls_action action = next("openat");
	if (action == CALLS_FAIL) {
		errno = plan.error;
		return -1;
	}
	int fd = __real_openat(at, name, flags, mode);
	if (fd >= 0 && action == CALLS_FAIL_LATE) {
		__real_close(fd);
	}
	return (int)finish(action, fd);
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...)
{
	va_list args;
	va_start(args, command);
	void *argument = va_arg(args, void *);
	va_end(args);
	enum calls_action action = next("fcntl");
	if (action == CALLS_FAIL) {
		errno = plan.error;
		return -1;
	}
	return (int)finish(action, __real_fcntl(fd, command, argument));
}

DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd)
{
	enum calls_action action = next("fdopendir");
	if (action == CALLS_FAIL || action == CALLS_FAIL_LATE) {
		errno = plan.error;
		return NULL;
	}
	DIR *list = __real_fdopendir(fd);
	finish(action, 0);
	return list;
}

struct dirent *__real_readdir(DIR *list);
struct dirent *__wrap_readdir(DIR *list);
struct dirent *__wrap_readdir(DIR *list)
{
	enum calls_action action = next("readdir");
	if (action == CALLS_FAIL || action == CALLS_FAIL_LATE) {
		errno = plan.error;
		return NULL;
	}
	struct dirent *entry = __real_readdir(list);
	finish(action, 0);
	return entry;
}

/* Half of the first part. */
static struct iovec half_of(const struct iovec *parts)
{
	return (struct iovec){parts[0].iov_base, (parts[0].iov_len + 1) / 2};
}

ssize_t __real_preadv(int fd, const struct iovec *parts, int count, off_t offset);
ssize_t __wrap_preadv(int fd, const struct iovec *parts, int count, off_t offset);
ssize_t __wrap_preadv(int fd, const struct iovec *parts, int count, off_t offset)
{
	enum calls_action action = next("preadv");
	struct iovec half = half_of(parts);
	if (action == CALLS_FAIL) {
		errno = plan.error;
		return -1;
	}
	return finish(action, action == CALLS_HALF ? __real_preadv(fd, &half, 1, offset)
		: __real_preadv(fd, parts, count, offset));
}

ssize_t __real_writev(int fd, const struct iovec *parts, int count);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count)
{
	enum calls_action action = next("writev");
	struct iovec half = half_of(parts);
	if (action == CALLS_FAIL) {
		errno = plan.error;
		return -1;
	}
	return finish(action, action == CALLS_HALF || action == CALLS_EXIT_LATE
		? __real_writev(fd, &half, 1) : __real_writev(fd, parts, count));
}

ssize_t __real_pread(int fd, void *data, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *data, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *data, size_t size, off_t offset)
{
	enum calls_action action = next("pread");
	if (action == CALLS_FAIL) {
		errno = plan.error;
		return -1;
	}
	return finish(action, __real_pread(fd, data, action == CALLS_HALF ? size / 2 : size,
		offset));
}

ssize_t __real_pwrite(int fd, const void *data, size_t size, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *data, size_t size, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *data, size_t size, off_t offset)
{
	enum calls_action action = next("pwrite");
	bool is_full = plan.is_on && plan.action == CALLS_FULL;
	if (is_full && offset >= plan.at) {
		action = CALLS_FAIL;
	} else if (is_full && offset + (off_t)size > plan.at) {
		size = (size_t)(plan.at - offset);
	}
	if (action == CALLS_FAIL) {
		errno = plan.error;
		return -1;
	}
	return finish(action,
		__real_pwrite(fd, data, action == CALLS_HALF ? size / 2 : size, offset));
}
