/* SPDX-License-Identifier: MIT */
#ifndef BASE_HASH_H
#define BASE_HASH_H

/*
 * 128 bits that stand for any number of bytes: XXH3.  The same on every machine, so that they may
 * be kept in files.  They find damage and make names; they keep nobody out, since anyone can make
 * two texts with one hash.
 */
#include "base/common.h"

enum { HASH_TEXT_SIZE = 33 };

struct hash {
	uint64_t high;
	uint64_t low;
};

/* Of bytes that lie together; `data` may be NULL if there are none. */
struct hash hash_of(const void *data, size_t size);

/* Of bytes in many places: begin, add each, end.  It does not see where one part ends and the next
 * begins: add the sizes too where that matters. */
struct hash_state {
	_Alignas(64) unsigned char opaque[640];
};

void hash_begin(struct hash_state *state);
void hash_add(struct hash_state *state, const void *data, size_t size);
struct hash hash_end(const struct hash_state *state);

static inline bool hash_equal(struct hash a, struct hash b)
{
	return a.high == b.high && a.low == b.low;
}

/* As 32 hexadecimal digits, zero-terminated. */
void hash_text(char text[HASH_TEXT_SIZE], struct hash hash);

#endif
