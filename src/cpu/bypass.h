/* SPDX-License-Identifier: MIT */
#ifndef CPU_BYPASS_H
#define CPU_BYPASS_H

/*
 * Stores that go past the cache (emit_bypass.c), for launches that read and write more than it
 * holds: what is written first would be gone before anybody reads it, and to write a line into the
 * cache it has to be read from memory.
 */
#include "../base/common.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#define BYPASS_NEVER UINT32_MAX

/* How many bytes each of so many threads, of warps of a width, may read and write before that is
 * too much for the caches of so many workers. */
uint32_t bypass_cached_bytes(uint64_t threads, uint32_t width, unsigned workers);

/* Such stores come to memory in any order, and later than others: wait for those of this thread. */
static inline void bypass_drain(void)
{
#if defined(__SSE__)
	_mm_sfence();
#endif
}

/* Tests: as if caches had room for so many bytes; UINT64_MAX: what they have. */
void bypass_fake_cache(uint64_t bytes);

#endif
