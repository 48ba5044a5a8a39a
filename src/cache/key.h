/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KEY_H
#define CACHE_KEY_H

/*
 * The key of a compile: everything that its output depends on, as parts that have names.  Equal keys
 * mean equal outputs.
 */
#include "base/store.h"
#include "base/str.h"
#include "rtc/compile.h"
#include "cache/compiler.h"

/* What the key of a compiled image begins with, as the store asks for; a zero follows. */
#define KEY_KIND "rtc"

/* Bytes of a key.  A long source may stay where it is, the caller's: new memory for it takes longer
 * than all else that a hit does. */
struct key_bytes {
	struct str own;
	const char *source; /* NULL: it is in `own` */
	size_t source_size;
	size_t source_at;   /* how much of `own` is before it */
};

/* As the store takes them, and their hash, made anew each time; good as long as those are there. */
struct store_key key_pieces(const struct key_bytes *bytes);
struct hash key_hash(const struct key_bytes *bytes);
bool key_bytes_equal(const struct key_bytes *a, const struct key_bytes *b);

struct key {
	struct key_bytes bytes; /* none: there is no key */
	bool on_disk;        /* it depends on files: they may be others the next time */
	bool has_paths;      /* the include folders are a part of it */
	bool is_found;       /* by cache_compile, on the disk */
	bool is_unnamed;     /* nothing tells this build of Kudzu from others: for this process only */
	const char *why_not; /* the output depends on what no key can hold; static.  NULL: it does not */
};

/* What a key begins with, which is as it is in memory: no file is looked at.  A long source is left
 * where it is.  False when memory runs out. */
bool key_begin(struct key_bytes *out, const struct rtc_request *request);

/*
 * Make the key.  With `paths` the include folders are in it even if no path gets into the output as
 * far as the texts tell.  `begun`, which may be NULL, has the request already: the source stays
 * where that has it.  Without, it is in the key.  False when memory runs out.  Free it whatever came out.
 */
bool key_make(struct key *out, const struct rtc_request *request, const struct key_bytes *begun,
	const struct compiler *compiler, bool paths);
void key_free(struct key *key);

/* A part of a key, which may have come from a file. */
struct key_part {
	const char *name; /* "source", "options", ... */
	const char *data;
	size_t size;
};

/* Step through the parts: *at begins as 0.  False at the end, and where the bytes are no key. */
bool key_next(struct key_part *out, size_t *at, const void *key, size_t size);
/* The part of that name; false if there is none. */
bool key_find(struct key_part *out, const void *key, size_t size, const char *name);

#endif
