/* SPDX-License-Identifier: MIT */
#ifndef CACHE_LOOKED_H
#define CACHE_LOOKED_H

/* What was found out by looking at files, in the cache on disk as long as these stay as they are. */
#include "base/hash.h"
#include "base/str.h"

#include <sys/stat.h>

/* The paths that were looked at, and what was there. */
struct looked {
	struct str paths; /* one after the other, each less what it begins with as the last */
	struct str last;
	struct hash_state state;
};

/* Free it whatever comes. */
void looked_begin(struct looked *looked);
/* What stat has said of a path; NULL: there is nothing. */
void looked_add(struct looked *looked, const char *path, const struct stat *id);
void looked_free(struct looked *looked);

/* Keep what was found out; `what` says what it is.  Files whose times may not tell of another change
 * yet must not be among those that were looked at. */
void looked_keep(const struct looked *looked, const char *what, const void *value, size_t size);
/* It, in *value (freed with mem_free) and *size, if all that was looked at is as it was; else false. */
bool looked_find(const char *what, char **value, size_t *size);

#endif
