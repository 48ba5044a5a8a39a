/* SPDX-License-Identifier: MIT */
#ifndef CPU_EXEC_BYPASS_H
#define CPU_EXEC_BYPASS_H

/*
 * Stores that go past the cache (emit_bypass.c), for launches that read and write more than it
 * holds: what is written first would be gone before anybody reads it, and to write a line into the
 * cache it has to be read from memory.
 */
#include "base/common.h"

#include <stdatomic.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define BYPASS_NEVER UINT32_MAX

/* Fewer threads never move so much; at W = 1 each may be a long loop. */
enum { BYPASS_FEWEST_THREADS = 1 << 16, BYPASS_FEWEST_LOOPS = 256 };

/* How many bytes the caches of so many workers have room for. */
uint64_t bypass_room(unsigned workers);
/* Tests: as if it were so much; UINT64_MAX: what it is. */
extern atomic_ullong bypass_fake_room;

static inline bool bypass_is_fake(void)
{
	return atomic_load_explicit(&bypass_fake_room, memory_order_relaxed) != UINT64_MAX;
}

/* How many bytes each of so many threads, of warps of a width, may read and write before that is
 * too much for those. */
static inline uint32_t bypass_cached_bytes(uint64_t threads, uint32_t width, unsigned workers)
{
	if (threads < (width == 1 ? BYPASS_FEWEST_LOOPS : BYPASS_FEWEST_THREADS)
		&& !bypass_is_fake()) {
		return BYPASS_NEVER;
	}
	uint64_t bytes = bypass_room(workers) / threads;
	return bytes < BYPASS_NEVER ? (uint32_t)bytes : BYPASS_NEVER;
}

/* As memcpy, past the cache. */
void bypass_copy(void *to, const void *from, size_t size);

/* Such stores come to memory in any order, and later than others: wait for those of this thread. */
static inline void bypass_drain(void)
{
#if defined(__SSE2__)
	_mm_sfence();
#endif
}

#endif
