/* SPDX-License-Identifier: MIT */
#ifndef LIB_CACHE_DEPS_H
#define LIB_CACHE_DEPS_H

/* The files that a compile may read: the dependency scan, and whether the files are still the
 * same. */
#include "base/hash.h"
#include "lib/cache/compiler.h"
#include "lib/rtc/compile.h"

#include <stdatomic.h>
#include <sys/stat.h>

/* What a scan has found.  It is on disk as it is here, the bytes after the head. */
struct deps_head {
	struct hash own_stats;  /* of the caller's folders: stat of each path that was looked at */
	struct hash cuda_stats; /* the same of CUDA's */
	struct hash cuda;       /* of CUDA's headers that are there: their names and contents */
	uint64_t cuda_count;
	uint64_t file_count;    /* all headers, the caller's too */
	uint64_t has_place;     /* a header may put the name of a file into the output */
	uint64_t missing_parts; /* parts of CUDA's headers (rtc/cuda_headers.h), as bits, of which a
	                         * header was found nowhere */
	uint64_t own_size, cuda_size, files_size; /* of the three parts in `bytes` */
};

struct deps {
	atomic_int refs;
	struct hash key;   /* of what the scan began with */
	bool is_rested;    /* stat tells of each further change */
	struct deps_head head;
	char *bytes;       /* the caller's paths, CUDA's paths, the caller's headers */
};

/* The caller's headers, a list in an order that depends on nothing else: which include folder and
 * the path there ("0:sub/my.h", "source:my.h") with a zero, the size as an int64_t, the hash of
 * what is in it. */
static inline const char *deps_files(const struct deps *deps)
{
	return deps->bytes + deps->head.own_size + deps->head.cuda_size;
}

struct deps_result {
	struct deps *deps;   /* NULL: the compile reads no file.  Give it back */
	bool has_place;      /* the name of a file may get into the output */
	const char *why_not; /* not all can be known; static.  NULL: it is */
	uint64_t missing_parts; /* as in the head; all of them if not all can be known */
};

/* Find them; the facts are those of the source.  False when memory runs out; then nothing is left
 * in *out. */
bool deps_find(struct deps_result *out, const struct rtc_request *request,
	const struct source_facts *facts, const struct compiler *compiler);
/* As deps_find, but where not all files can be known *out has the others; NULL: there are none.
 * For those who look for changes, and not for keys. */
bool deps_watch(struct deps **out, const struct rtc_request *request,
	const struct source_facts *facts, const struct compiler *compiler);
struct deps *deps_retain(struct deps *deps); /* may be NULL */
void deps_release(struct deps *deps);        /* may be NULL */

/* Whether all that was looked at in the caller's folders is as it was; with `all` in CUDA's,
 * too. */
bool deps_hold(const struct deps *deps, bool all);
/* A hash of the times of the caller's folders: a file that comes and goes changes those. */
struct hash deps_folders(const struct deps *deps);

/* Add to a hash all that stat tells of a file and that changes with it: device, inode, size, mtime
 * and ctime.  Of a folder only that it is there; NULL: nothing is. */
void deps_add_stat(struct hash_state *state, const struct stat *info);
/* Whether the file has not changed for so long that its ctime will tell of the next change. */
bool deps_is_rested(const struct stat *info);

#endif
