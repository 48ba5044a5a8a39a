/* SPDX-License-Identifier: MIT */
#ifndef LIB_CACHE_KEY_H
#define LIB_CACHE_KEY_H

/*
 * The key of a compile: everything that its output depends on, as parts that have names.  Equal
 * keys mean equal outputs.
 */
#include "base/str.h"
#include "lib/cache/deps.h"

/* What the key of a compiled image begins with, as the store asks for; a zero follows. */
#define KEY_KIND "rtc"

struct key {
	struct str bytes;
	struct deps *deps;   /* the files in it; NULL: it depends on none */
	uint64_t missing_parts; /* of CUDA's headers, as in struct deps_head */
	bool has_paths;      /* the include folders are a part of it */
	bool is_unnamed;     /* nothing tells this build of Kudzu from others: it is for this
	                        process only */
	const char *why_not; /* the output depends on what no key can hold; static.  NULL: it does
	                        not */
};

/* Make it; the facts are those of the source.  False when memory runs out.  Free it whatever came
 * out. */
bool key_make(struct key *out, const struct rtc_request *request, const struct source_facts *facts,
	const struct compiler *compiler);
void key_free(struct key *key);

/* Append the include folders and the current one. */
void key_add_paths(struct str *out, const struct rtc_request *request);

/* What the caller asks for, and nothing that is in files.  False when memory runs out; free it
 * whatever came out. */
bool key_of_request(struct str *out, const struct rtc_request *request);

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
