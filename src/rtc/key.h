/* SPDX-License-Identifier: MIT */
#ifndef RTC_KEY_H
#define RTC_KEY_H

/*
 * The key of a compile: everything that its output depends on, as parts that have names.  Equal keys
 * mean equal outputs.
 */
#include "../base/hash.h"
#include "../base/str.h"
#include "compile.h"
#include "compiler.h"

/* What the key of a compiled image begins with, as the store asks for; a zero follows. */
#define KEY_KIND "rtc"

struct key {
	struct str bytes;
	bool on_disk;        /* it depends on files: they may be others the next time */
	bool has_paths;      /* the include folders are a part of it */
	bool is_borrowed;    /* the bytes are another's, up to the end of the request and beyond it */
	bool is_unnamed;     /* nothing tells this build of Kudzu from others: for this process only */
	const char *why_not; /* the output depends on what no key can hold; static.  NULL: it does not */
};

/* What a key begins with, which is as it is in memory: no file is looked at.  False when memory runs
 * out. */
bool key_add_request(struct str *out, const struct rtc_request *request);

/*
 * Make the key.  With `paths` the include folders are in it even if no path gets into the output as
 * far as the texts tell.  `begun`, which may be NULL, has the request already: the key may use its
 * memory, behind what is in there, and is good as long as that is, and until another key is made
 * so.  False when memory runs out.  Free it whatever came out.
 */
bool key_make(struct key *out, const struct rtc_request *request, const struct str *begun,
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
