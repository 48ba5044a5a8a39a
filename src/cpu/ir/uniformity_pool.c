/* SPDX-License-Identifier: MIT */
/*
 * Lists of offsets.  A kernel has few different ones, so that a list of lists is searched.  There is
 * a limit, since they may be made without end: the offsets of i in `for (...) i += i` double.
 */
#include "base/common.h"

#include "cpu/ir/uniformity.h"

#include "base/alloc.h"

#include <string.h>

enum { MOST = 200 };

struct entry {
	int64_t offsets[WARP_LANES];
	struct entry *next;
};

struct uniformity_pool {
	struct entry *first;
	unsigned count;
	bool no_memory;
};

struct uniformity_pool *uniformity_pool_create(void)
{
	return mem_zalloc(1, sizeof(struct uniformity_pool));
}

void uniformity_pool_free(struct uniformity_pool *pool)
{
	while (pool && pool->first) {
		struct entry *next = pool->first->next;
		mem_free(pool->first);
		pool->first = next;
	}
	mem_free(pool);
}

bool uniformity_pool_had_memory(const struct uniformity_pool *pool)
{
	return !pool->no_memory;
}

bool uniformity_pool_get(struct uniformity_pool *pool, const int64_t **out, const int64_t *offsets)
{
	static const int64_t zero[WARP_LANES];
	const size_t size = sizeof(zero);
	struct entry *entry = pool->first;
	*out = NULL;
	if (memcmp(offsets, zero, size) == 0) {
		return true;
	}
	while (entry && memcmp(entry->offsets, offsets, size) != 0) {
		entry = entry->next;
	}
	if (!entry && pool->count < MOST) {
		entry = mem_alloc(sizeof(*entry));
		pool->no_memory |= !entry;
		if (entry) {
			memcpy(entry->offsets, offsets, size);
			entry->next = pool->first;
			pool->first = entry;
			pool->count++;
		}
	}
	*out = entry ? entry->offsets : NULL;
	return entry;
}
