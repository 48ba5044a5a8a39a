/* SPDX-License-Identifier: MIT */
/*
 * XXH3 with 128 bits, compiled in from the header of libxxhash-dev.  It uses what every processor
 * of the architecture has, on x86 SSE2: code for AVX would leave the upper halves of the registers
 * set, which makes the caller's SSE code slow.  Nothing of that header is visible outside this
 * file.
 */
#include "base/hash.h"

#undef always_inline /* which that header writes as the attribute */
#define XXH_INLINE_ALL
#if defined(__x86_64__)
#define XXH_VECTOR XXH_SSE2
#endif
#include <xxhash.h>

_Static_assert(sizeof(XXH3_state_t) <= sizeof(struct hash_state)
		&& _Alignof(XXH3_state_t) <= 64,
	"struct hash_state has room for the state of XXH3");

static struct hash hash_from_xxh(XXH128_hash_t hash)
{
	return (struct hash){hash.high64, hash.low64};
}

struct hash hash_of(const void *data, size_t size)
{
	return hash_from_xxh(XXH3_128bits(size ? data : "", size));
}

void hash_begin(struct hash_state *state)
{
	XXH3_128bits_reset((XXH3_state_t *)state);
}

void hash_add(struct hash_state *state, const void *data, size_t size)
{
	if (size > 0) {
		XXH3_128bits_update((XXH3_state_t *)state, data, size);
	}
}

struct hash hash_end(const struct hash_state *state)
{
	return hash_from_xxh(XXH3_128bits_digest((const XXH3_state_t *)state));
}

void hash_text(char text[HASH_TEXT_SIZE], struct hash hash)
{
	static const char digits[] = "0123456789abcdef";
	for (int i = 15; i >= 0; i--) {
		text[i] = digits[hash.high & 15];
		text[i + 16] = digits[hash.low & 15];
		hash.high >>= 4;
		hash.low >>= 4;
	}
	text[HASH_TEXT_SIZE - 1] = '\0';
}
