/* SPDX-License-Identifier: MIT */
#ifndef CPU_EXEC_NONTEMPORAL_H
#define CPU_EXEC_NONTEMPORAL_H

/*
 * Non-temporal stores, which go past the cache (emit_nontemporal.c): for launches that read and
 * write more than the cache holds.  What such a launch writes first would be gone from the cache
 * before anybody reads it, and to write a line into the cache it has to be read from memory.
 */
#include "base/common.h"

#include <stdatomic.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define NONTEMPORAL_NEVER UINT32_MAX

/* Fewer threads never move so much; at W = 1 each may be a long loop. */
enum { NONTEMPORAL_FEWEST_THREADS = 1 << 16, NONTEMPORAL_FEWEST_LOOPS = 256 };

/* How many bytes the caches of so many workers have room for. */
uint64_t nontemporal_room(unsigned workers);
/* For tests: pretend that the cache has this size; UINT64_MAX: its real size. */
extern atomic_ullong nontemporal_fake_room;

static inline bool nontemporal_is_fake(void)
{
	return atomic_load_explicit(&nontemporal_fake_room, memory_order_relaxed) != UINT64_MAX;
}

/* How many bytes each of so many threads, of warps of a width, may read and write before that is
 * too much for those. */
static inline uint32_t nontemporal_cached_bytes(uint64_t threads, uint32_t width, unsigned workers)
{
	uint64_t fewest = width == 1 ? NONTEMPORAL_FEWEST_LOOPS : NONTEMPORAL_FEWEST_THREADS;
	if (threads == 0 || (threads < fewest && !nontemporal_is_fake())) {
		return NONTEMPORAL_NEVER;
	}
	uint64_t bytes = nontemporal_room(workers) / threads;
	return bytes < NONTEMPORAL_NEVER ? (uint32_t)bytes : NONTEMPORAL_NEVER;
}

/* As memcpy, past the cache. */
void nontemporal_copy(void *to, const void *from, size_t size);

/* Non-temporal stores reach memory in any order, and later than others: wait for those that this
 * thread has made. */
static inline void nontemporal_drain(void)
{
#if defined(__SSE2__)
	_mm_sfence();
#endif
}

#endif
