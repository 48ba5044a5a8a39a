/* SPDX-License-Identifier: MIT */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "common.h"

#include <kudzu/error.h>

/* Read a whole regular file; *data is zero-terminated beyond *size, freed with mem_free. */
kz_status file_read(char **data, size_t *size, const char *path, kz_error *err);
bool file_is_regular(const char *path);
bool file_is_folder(const char *path);
/* "folder/name", freed with mem_free; NULL when memory runs out. */
char *file_join(const char *folder, const char *name);
/* The folder part of a path, "." if it has none; freed with mem_free. */
char *file_folder(const char *path);

/*
 * The folder for cached data: KUDZU_CACHE_DIR, else XDG_CACHE_HOME/kudzu, else HOME/.cache/kudzu,
 * else the home folder of the password database.  Never a shared temporary folder: NULL, with a
 * reason in *why (static text), when there is none.  Freed with mem_free.  Creates nothing.
 */
char *file_cache_folder(const char **why);

#endif
