/* SPDX-License-Identifier: MIT */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

/* Memory that is freed all at once: what a compiler pass builds. */
#include "base/common.h"

struct arena {
	struct arena_block *head;
	struct arena_block *spare; /* a cleared block for the next request */
	size_t size;               /* bytes of all blocks */
};

#define ARENA_INIT                                                                                 \
	{                                                                                          \
		NULL, NULL, 0                                                                      \
	}

/* Cleared memory, aligned to 16; NULL when memory runs out or count * size overflows. */
void *arena_alloc(struct arena *arena, size_t count, size_t size);
char *arena_strndup(struct arena *arena, const char *text, size_t len);
char *arena_printf(struct arena *arena, const char *format, ...) printf_like(2, 3);
void arena_free(struct arena *arena);

/* arena_mark notes what has been allocated so far.  arena_reset frees all that came after it. */
struct arena_mark {
	struct arena_block *head, *next;
	size_t used;
};
struct arena_mark arena_mark(const struct arena *arena);
void arena_reset(struct arena *arena, const struct arena_mark *mark);

#endif
