/* SPDX-License-Identifier: MIT */
/*
 * Memory that is freed all at once.  The arena is a list of blocks; the head block is the one that
 * is being filled, and a request that does not fit starts a new one, so small requests cost an
 * addition.  A large request gets a block of its own after the head, which stays in use.
 */
#include "base/arena.h"

#include "base/alloc.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The first block is small, for most arenas hold little and all of a block is cleared. */
enum { ARENA_ALIGN = 16, ARENA_BLOCK = 16384, ARENA_FIRST = ARENA_BLOCK / 4 };

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t cap;
	_Alignas(ARENA_ALIGN) unsigned char bytes[];
};

/* A block of cleared memory with room for cap bytes. */
static struct arena_block *arena_block_create(struct arena *arena, size_t cap)
{
	size_t size;
	if (!size_add(&size, sizeof(struct arena_block), cap)) {
		return NULL;
	}
	struct arena_block *block = mem_zalloc(1, size);
	if (block) {
		block->cap = cap;
		arena->size += size;
	}
	return block;
}

static void *arena_block_take(struct arena_block *block, size_t size)
{
	void *memory = block->bytes + block->used;
	block->used += size;
	return memory;
}

void *arena_alloc(struct arena *arena, size_t count, size_t size)
{
	size_t total, padded;
	if (!size_mul(&total, count, size) || !size_add(&padded, total, ARENA_ALIGN - 1)) {
		return NULL;
	}
	total = total ? round_up(total, ARENA_ALIGN) : ARENA_ALIGN;
	struct arena_block *head = arena->head;
	if (head && total <= head->cap - head->used) {
		return arena_block_take(head, total);
	}
	bool large = total > ARENA_FIRST;
	struct arena_block *block = large ? NULL : arena->spare;
	if (block) {
		arena->spare = NULL;
	} else if (!(block = arena_block_create(arena, large ? total
				     : head           ? ARENA_BLOCK
						      : ARENA_FIRST))) {
		return NULL;
	}
	if (large && head) {
		block->next = head->next;
		head->next = block;
	} else {
		block->next = head;
		arena->head = block;
	}
	return arena_block_take(block, total);
}

char *arena_strndup(struct arena *arena, const char *text, size_t len)
{
	size_t size;
	len = strnlen(text, len);
	char *copy = size_add(&size, len, 1) ? arena_alloc(arena, size, 1) : NULL;
	if (copy) {
		memcpy(copy, text, len);
	}
	return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	char usual[256];
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int len = str_formatv(usual, sizeof(usual), format, args);
	char *text = len < 0 ? NULL : arena_alloc(arena, (size_t)len + 1, 1);
	if (text && (size_t)len < sizeof(usual)) {
		memcpy(text, usual, (size_t)len);
	} else if (text) {
		str_formatv(text, (size_t)len + 1, format, again);
	}
	va_end(again);
	va_end(args);
	return text;
}

void arena_free(struct arena *arena)
{
	struct arena_block *next;
	for (struct arena_block *block = arena->head; block; block = next) {
		next = block->next;
		mem_free(block);
	}
	mem_free(arena->spare);
	*arena = (struct arena)ARENA_INIT;
}

struct arena_mark arena_mark(const struct arena *arena)
{
	struct arena_block *head = arena->head;
	return (struct arena_mark){head, head ? head->next : NULL, head ? head->used : 0};
}

/* Free the blocks from *at up to `end`.  One of the usual size is kept as the spare block. */
static void arena_free_until(
	struct arena *arena, struct arena_block **at, const struct arena_block *end)
{
	while (*at != end) {
		struct arena_block *block = *at;
		*at = block->next;
		if (!arena->spare && block->cap == ARENA_BLOCK) {
			memset(block->bytes, 0, block->used);
			block->used = 0;
			arena->spare = block;
		} else {
			arena->size -= sizeof(*block) + block->cap;
			mem_free(block);
		}
	}
}

/* Blocks that were added since the mark stand in front of its head; large ones stand right
 * after the block that was the head at that time. */
void arena_reset(struct arena *arena, const struct arena_mark *mark)
{
	struct arena_block *head = mark->head;
	arena_free_until(arena, &arena->head, head);
	if (head) {
		arena_free_until(arena, &head->next, mark->next);
		memset(head->bytes + mark->used, 0, head->used - mark->used);
		head->used = mark->used;
	}
}
