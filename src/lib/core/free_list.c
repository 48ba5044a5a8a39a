/* SPDX-License-Identifier: MIT */
/*
 * Free lists: blocks by size class, merged with their neighbours; see free_list.h.
 *
 * This is segregated fit: a size names its class by its highest bits, and all blocks of a later
 * class are large enough.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/memory.h"

/* A class for each size up to 8 units, then eight for each power of two. */
static size_t free_list_class_of(size_t units)
{
	if (units < 8) {
		return units;
	}
	size_t top = 63 - (size_t)__builtin_clzll(units);
	return 8 * (top - 2) + (units >> (top - 3) & 7);
}

static bool free_list_comes_before(const struct free_block *a, const struct free_block *b)
{
	return a->units != b->units ? a->units < b->units : a->address < b->address;
}

static void free_list_class_put(struct size_classes *classes, struct free_block *block)
{
	size_t class = free_list_class_of(block->units);
	struct free_block *less = NULL, *more = classes->first[class];
	while (more && free_list_comes_before(more, block)) {
		less = more;
		more = more->more;
	}
	block->less = less;
	block->more = more;
	if (more) {
		more->less = block;
	}
	if (less) {
		less->more = block;
	} else {
		classes->first[class] = block;
		classes->filled[class / 64] |= (uint64_t)1 << class % 64;
	}
}

static void free_list_class_remove(struct size_classes *classes, struct free_block *block)
{
	if (block->more) {
		block->more->less = block->less;
	}
	if (block->less) {
		block->less->more = block->more;
		return;
	}
	size_t class = free_list_class_of(block->units);
	classes->first[class] = block->more;
	if (!block->more) {
		classes->filled[class / 64] &= ~((uint64_t)1 << class % 64);
	}
}

struct free_block *free_list_find(const struct free_list *list, bool is_large, size_t units)
{
	const struct size_classes *classes = &list->classes[is_large];
	size_t class = free_list_class_of(units);
	struct free_block *block = classes->first[class];
	while (block && block->units < units) {
		block = block->more;
	}
	if (block || ++class == SIZE_CLASSES) {
		return block;
	}
	/* All blocks of a later class are large enough, and its first one is the smallest. */
	size_t word = class / 64;
	uint64_t filled = classes->filled[word] & ~(uint64_t)0 << class % 64;
	while (!filled && ++word < SIZE_CLASS_WORDS) {
		filled = classes->filled[word];
	}
	return filled ? classes->first[64 * word + (size_t)__builtin_ctzll(filled)] : NULL;
}

static void free_list_put(struct free_list *list, struct free_block *block)
{
	block->list = list;
	free_list_class_put(&list->classes[block->segment->is_large], block);
	list->count++;
}

void free_list_remove(struct free_block *block)
{
	free_list_class_remove(&block->list->classes[block->segment->is_large], block);
	block->list->count--;
	block->list = NULL;
}

/* `behind` becomes a part of the block before it. */
static void free_list_absorb(struct free_block *block, struct free_block *behind,
	struct free_block **spare)
{
	block->units += behind->units;
	block->behind = behind->behind;
	if (block->behind) {
		block->behind->before = block;
	}
	behind->more = *spare;
	*spare = behind;
}

void free_list_merge(struct free_list *list, struct free_block *block, struct free_block **spare)
{
	struct free_block *before = block->before, *behind = block->behind;
	if (behind && behind->list == list) {
		free_list_remove(behind);
		free_list_absorb(block, behind, spare);
	}
	if (before && before->list == list) {
		free_list_remove(before);
		free_list_absorb(before, block, spare);
		block = before;
	}
	free_list_put(list, block);
}

void free_list_move(struct free_list *from, struct free_list *to, struct free_block **spare)
{
	while (from->count > 0) {
		struct free_block *block = free_list_find(from, false, 1);
		block = block ? block : free_list_find(from, true, 1);
		free_list_remove(block);
		free_list_merge(to, block, spare);
	}
}

void free_list_cut(struct free_list *list, struct free_block *block, size_t units,
	struct free_block **spare)
{
	struct free_block *rest = *spare;
	*spare = rest->more;
	*rest = (struct free_block){
		.before = block, .behind = block->behind, .segment = block->segment,
		.address = block->address + units * MEMPOOL_UNIT, .units = block->units - units,
	};
	if (rest->behind) {
		rest->behind->before = rest;
	}
	block->behind = rest;
	block->units = units;
	free_list_put(list, rest);
}

void free_list_unpark(struct free_list *list, struct free_block **spare)
{
	for (size_t i = 0; list->parked_count > 0; i++) {
		for (struct free_block *block = list->parked[i], *next; block; block = next) {
			next = block->more;
			pthread_mutex_destroy(&block->memory->lock);
			mem_free(block->memory);
			block->segment->live--;
			free_list_merge(list, block, spare);
			list->parked_count--;
		}
		list->parked[i] = NULL;
	}
}
