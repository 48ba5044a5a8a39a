/* SPDX-License-Identifier: MIT */
#ifndef BASE_STORE_FOLDER_H
#define BASE_STORE_FOLDER_H

/*
 * The cache folder: where it is, and everything that is opened, written and removed in it.  All
 * code that keeps files there (store.c, lib/rtc/keep.c, lib/cache/pch.c) goes through these
 * functions.
 *
 * Each folder and file is opened from the descriptor of the folder that it is in, never through a
 * symbolic link.  It is used only if it belongs to us and neither its group nor others may write
 * it.
 */
#include "base/common.h"

#include <sys/stat.h>
#include <sys/uio.h>

/*
 * The path of the cache folder, without a slash at its end: `wanted`, or if that is NULL
 * KUDZU_CACHE_DIR, else XDG_CACHE_HOME/kudzu, else HOME/.cache/kudzu, else the home folder of the
 * password database.  Never a shared temporary folder: NULL, with a reason in *why (static text),
 * when there is none.  Freed with mem_free.  Creates nothing.
 */
char *store_folder_path(const char *wanted, const char **why);

enum store_folder_use {
	STORE_FOLDER_READ,  /* look at the folder itself */
	STORE_FOLDER_CHECK, /* and at those above it, and at the rights of this process */
	STORE_FOLDER_MAKE   /* and make what is missing */
};

/* A descriptor of the cache folder, to be closed.  -1: errno says why, and *why (static text) if it
 * must not be used at all, else *why is NULL. */
int store_folder_open(const char *path, enum store_folder_use use, const char **why);
/* Likewise of a folder in one. */
int store_folder_enter(int folder, const char *name, bool make, const char **why);

/* A descriptor of a file, opened with the flags of open(2).  -1: errno is EPERM for one that is not
 * ours, EINVAL for what is no file. */
int store_folder_file(int folder, const char *name, int flags, struct stat *st);
/* Replace a file in one step: a reader finds the old one, the new one or none.  False: errno. */
bool store_folder_write(int folder, const char *name, const struct iovec *parts, int count);

/* The names in a folder, until `each` returns false.  False: it could not be read. */
bool store_folder_list(int folder, bool (*each)(void *arg, int folder, const char *name),
	void *arg);
/* Remove a folder with all that is in it, as far as that is ours. */
void store_folder_delete(int folder, const char *name);

/* What a file takes on a disk, at most. */
int64_t store_folder_size(int64_t size);
/* When it was used last.  A clock that was wrong must not keep a file forever: one from the future
 * is the oldest. */
int64_t store_folder_used_ns(const struct stat *st);

struct store_trimmed {
	int64_t left;    /* what the files take now */
	int64_t removed; /* how many went */
	bool failed;     /* one that should have gone did not */
};

/* Add up all files whose names `is_entry` accepts.  If they take more than `most`, remove those
 * that were used least recently until they take `leave`.  Files of store_folder_write that were
 * left unfinished for an hour go, too. */
struct store_trimmed store_folder_trim(int folder, bool (*is_entry)(const char *name), int64_t most,
	int64_t leave);

#endif
