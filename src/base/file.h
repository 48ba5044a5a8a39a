/* SPDX-License-Identifier: MIT */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/common.h"
#include "base/str.h"

#include <kudzu/error.h>

#include <stdio.h>

/* Read a whole regular file; *data is zero-terminated beyond *size, freed with mem_free. */
kz_status file_read(char **data, size_t *size, const char *path, kz_error *err);

/* Open a regular file to read it from its beginning; close *fd. */
kz_status file_open(int *fd, const char *path, kz_error *err);
/* Read on; fewer bytes than `size` only at the end of the file.  -1: errno says why. */
int64_t file_read_some(int fd, char *data, size_t size);

/*
 * Write or extend a file, whatever the limit on the size of files is (RLIMIT_FSIZE): beyond it the
 * kernel sends SIGXFSZ, which ends a process.  These functions fail with EFBIG instead.  The limit
 * counts for files in memory, too.  False: errno says why.  `offset` is -1 for a pipe.
 */
bool file_write(int fd, const void *data, size_t size, int64_t offset);
bool file_extend(int fd, uint64_t size);
/* How large a file may become. */
uint64_t file_most(void);
/* Write text to a file of stdio, or what is in its buffer, without the signals of a limit on files
 * (SIGXFSZ) or of a pipe that nobody reads (SIGPIPE).  0, or the errno of what was lost. */
int file_print(FILE *file, const char *text, size_t size);
int file_flush(FILE *file);
/* Write a text to a stream of the program's, as the program would: with those signals.  `what` is
 * for the message: "an array". */
kz_status file_show(FILE *to, const struct str *text, const char *what, kz_error *err);
/* Create or empty a file and write it; a reader may find a part of it. */
bool file_put(const char *path, const void *data, size_t size);

/*
 * Create or empty a file that no other process has opened by these functions and has open yet; its
 * lock says so.  -1: errno, which is EWOULDBLOCK for such a file.  file_close_alone ends the lock,
 * also if a forked child has the file.
 */
int file_open_alone(const char *path);
bool file_close_alone(int fd);
/* Likewise for a path in the environment, where all processes have the same one.  "%p" in it is the
 * process's number; without it, the number is added after a dot to a name that is taken. */
int file_open_asked(const char *path);

/*
 * Replace a file in one step.  What is added goes to a second file beside it, which is renamed at
 * the end.  So a reader finds the old file or the new one, whole, and a failure leaves the old one.
 * After file_begin has succeeded, call file_commit or file_abandon once; a commit that fails
 * abandons.
 */
struct file_writer {
	int fd;
	const char *path; /* borrowed */
	char *temporary;
	int64_t size;     /* what was added so far */
};

kz_status file_begin(struct file_writer *file, const char *path, kz_error *err);
kz_status file_add(struct file_writer *file, const void *data, size_t size, kz_error *err);
kz_status file_commit(struct file_writer *file, kz_error *err);
void file_abandon(struct file_writer *file);
/* All of that for a file whose bytes are there. */
kz_status file_replace(const char *path, const void *data, size_t size, kz_error *err);

bool file_is_regular(const char *path);
bool file_is_folder(const char *path);
/* Whether two names lead to the same file or folder; false if there is none. */
bool file_is_same(const char *one, const char *other);
/* "folder/name", freed with mem_free; NULL when memory runs out. */
char *file_join(const char *folder, const char *name);
/* The folder part of a path, "." if it has none; freed with mem_free. */
char *file_folder(const char *path);

#endif
