/* SPDX-License-Identifier: MIT */
#ifndef BASE_MAP_H
#define BASE_MAP_H

/* String -> pointer.  Keys are borrowed and must outlive the map.  Zero-initialized is empty. */
#include "base/common.h"

struct map {
	struct map_slot *slots;
	size_t count;
	size_t cap; /* a power of two, or 0 */
};

#define MAP_INIT                                                                                   \
	{                                                                                          \
		NULL, 0, 0                                                                         \
	}

void *map_get(const struct map *map, const char *key); /* NULL if it is not there */
void *map_getn(const struct map *map, const char *key, size_t len);
/* Add or replace; the value is not NULL.  False when memory runs out. */
bool map_put(struct map *map, const char *key, void *value);
/* Forget all keys and keep the memory for the next ones.  False, and nothing is changed, if
 * there is no memory, or so much that clearing it would take long. */
bool map_clear(struct map *map);
void map_free(struct map *map); /* the slots, not the keys and values */

#endif
