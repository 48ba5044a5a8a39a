/* SPDX-License-Identifier: MIT */
/*
 * The system calls of a store.  Signals interrupt some of them: they begin again, but not for ever,
 * since a file system that always says so must not hang us.
 *
 * Locks are those of an open file (OFD), on single bytes of it: they end with the process that has
 * them, they hold between threads too, and one file has as many as there are keys, so that there
 * are no stale ones and nothing to clean up.
 */
#include "base/store_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 100 };

int store_openat(int folder, const char *name, int flags)
{
	int fd = -1;
	for (int i = 0; i < TRIES; i++) {
		/* O_NONBLOCK: a named pipe must not make us wait for its other end. */
		fd = openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
		if (fd >= 0 || errno != EINTR) {
			break;
		}
	}
	return fd;
}

int64_t store_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec;
}

/* EAGAIN: somebody has it.  A wait that can end has to ask again and again: first soon, then less
 * often, up to 200 times a wait. */
int store_lock_byte(int fd, int64_t byte, int wait_ms)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
	int64_t left_us = (int64_t)wait_ms * 1000, pause_us = 20;
	int64_t pause_max_us = min64(left_us / 200 + 20, 20000);
	int interrupted = 0;
	while (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
		if (errno == EINTR && interrupted++ < TRIES) {
			continue;
		}
		if (errno != EAGAIN || left_us <= 0) {
			return errno;
		}
		nanosleep(&(struct timespec){0, (long)pause_us * 1000}, NULL);
		left_us -= pause_us;
		pause_us = min64(pause_us * 2, pause_max_us);
	}
	return 0;
}

/* Said, since a copy of the descriptor in a child would keep the lock. */
void store_unlock_byte(int fd, int64_t byte)
{
	struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
	fcntl(fd, F_OFD_SETLK, &lock);
}

/* Leave out the first `done` bytes; how many parts are left. */
static int skip(struct iovec **parts, int count, size_t done)
{
	while (count > 0 && done >= (*parts)->iov_len) {
		done -= (*parts)->iov_len;
		(*parts)++;
		count--;
	}
	if (count > 0) {
		(*parts)->iov_base = (char *)(*parts)->iov_base + done;
		(*parts)->iov_len -= done;
	}
	return count;
}

static bool move(int fd, struct iovec *parts, int count,
	ssize_t (*call)(int fd, const struct iovec *parts, int count))
{
	int interrupted = 0;
	count = skip(&parts, count, 0);
	while (count > 0) {
		ssize_t done = call(fd, parts, count);
		if (done > 0) {
			count = skip(&parts, count, (size_t)done);
		} else if (done == 0) {
			errno = EIO;
			return false;
		} else if (errno != EINTR || interrupted++ == TRIES) {
			return false;
		}
	}
	return true;
}

bool store_read(int fd, struct iovec *parts, int count)
{
	return move(fd, parts, count, readv);
}

bool store_write(int fd, struct iovec *parts, int count)
{
	return move(fd, parts, count, writev);
}
