/* SPDX-License-Identifier: MIT */
/*
 * String -> pointer: open addressing with linear probing in a table that is never more than half
 * full.  Nothing is ever removed, so a probe ends at the first empty slot.
 */
#include "base/map.h"

#include "base/alloc.h"

#include <string.h>

struct map_slot {
	const char *key; /* NULL: empty */
	size_t len;
	uint64_t hash;
	void *value;
};

static uint64_t map_mix(uint64_t hash, uint64_t bytes)
{
	hash = (hash ^ bytes) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

/* Keys are short names.  They are read eight bytes at a time, and the rest as two pieces that may
 * overlap. */
static uint64_t map_hash(const char *key, size_t len)
{
	uint64_t hash = map_mix(0, len), bytes;
	for (; len >= sizeof(bytes); key += sizeof(bytes), len -= sizeof(bytes)) {
		memcpy(&bytes, key, sizeof(bytes));
		hash = map_mix(hash, bytes);
	}
	if (len >= sizeof(uint32_t)) {
		uint32_t first, last;
		memcpy(&first, key, sizeof(first));
		memcpy(&last, key + len - sizeof(last), sizeof(last));
		hash = map_mix(hash, (uint64_t)first << 32 | last);
	} else if (len > 0) {
		const unsigned char *at = (const unsigned char *)key;
		hash = map_mix(
			hash, (uint64_t)at[0] << 16 | (uint64_t)at[len / 2] << 8 | at[len - 1]);
	}
	return hash;
}

/* The slot of a key, or the empty one where it belongs. */
static struct map_slot *map_slot(const struct map *map, const char *key, size_t len, uint64_t hash)
{
	for (size_t i = hash & (map->cap - 1);; i = (i + 1) & (map->cap - 1)) {
		struct map_slot *slot = &map->slots[i];
		if (!slot->key
			|| (slot->hash == hash && slot->len == len
				&& memcmp(slot->key, key, len) == 0)) {
			return slot;
		}
	}
}

static bool map_grow(struct map *map)
{
	struct map bigger = {.count = map->count};
	if (!size_mul(&bigger.cap, map->cap ? map->cap : 8, 2)) {
		return false;
	}
	bigger.slots = mem_zalloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots) {
		return false;
	}
	for (size_t i = 0; i < map->cap; i++) {
		const struct map_slot *old = &map->slots[i];
		if (old->key) {
			*map_slot(&bigger, old->key, old->len, old->hash) = *old;
		}
	}
	mem_free(map->slots);
	*map = bigger;
	return true;
}

void *map_get(const struct map *map, const char *key)
{
	return map_getn(map, key, strlen(key));
}

void *map_getn(const struct map *map, const char *key, size_t len)
{
	return map->count ? map_slot(map, key, len, map_hash(key, len))->value : NULL;
}

bool map_put(struct map *map, const char *key, void *value)
{
	assert(value);
	if (map->count >= map->cap / 2 && !map_grow(map)) {
		return false;
	}
	size_t len = strlen(key);
	uint64_t hash = map_hash(key, len);
	struct map_slot *slot = map_slot(map, key, len, hash);
	map->count += !slot->key;
	*slot = (struct map_slot){key, len, hash, value};
	return true;
}

bool map_clear(struct map *map)
{
	enum { FEW = 256 };
	if (map->cap == 0 || map->cap > FEW) {
		return false;
	}
	memset(map->slots, 0, map->cap * sizeof(*map->slots));
	map->count = 0;
	return true;
}

void map_free(struct map *map)
{
	mem_free(map->slots);
	*map = (struct map)MAP_INIT;
}
