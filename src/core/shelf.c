/* SPDX-License-Identifier: MIT */
/* Free memory that one stream used last; see shelf.h. */
#include "base/common.h"

#include "base/alloc.h"
#include "core/memory.h"

static void shelf_put(struct shelf *shelf, struct block *block)
{
	block->shelf = shelf;
	bins_put(&shelf->bins[block->segment->is_large], block);
	shelf->count++;
}

void shelf_remove(struct block *block)
{
	bins_remove(&block->shelf->bins[block->segment->is_large], block);
	block->shelf->count--;
	block->shelf = NULL;
}

static struct block *shelf_any(const struct shelf *shelf)
{
	struct block *block = bins_find(&shelf->bins[0], 1);
	return block ? block : bins_find(&shelf->bins[1], 1);
}

/* `behind` becomes a part of the block before it. */
static void absorb(struct block *block, struct block *behind, struct block **spare)
{
	block->units += behind->units;
	block->behind = behind->behind;
	if (block->behind) {
		block->behind->before = block;
	}
	behind->more = *spare;
	*spare = behind;
}

void shelf_merge(struct shelf *shelf, struct block *block, struct block **spare)
{
	struct block *before = block->before, *behind = block->behind;
	if (behind && behind->shelf == shelf) {
		shelf_remove(behind);
		absorb(block, behind, spare);
	}
	if (before && before->shelf == shelf) {
		shelf_remove(before);
		absorb(before, block, spare);
		block = before;
	}
	shelf_put(shelf, block);
}

void shelf_empty(struct shelf *from, struct shelf *to, struct block **spare)
{
	while (from->count > 0) {
		struct block *block = shelf_any(from);
		shelf_remove(block);
		shelf_merge(to, block, spare);
	}
}

void shelf_cut(struct shelf *shelf, struct block *block, size_t units, struct block **spare)
{
	struct block *rest = *spare;
	*spare = rest->more;
	*rest = (struct block){
		.before = block, .behind = block->behind, .segment = block->segment,
		.address = block->address + units * MEMPOOL_UNIT, .units = block->units - units,
	};
	if (rest->behind) {
		rest->behind->before = rest;
	}
	block->behind = rest;
	block->units = units;
	shelf_put(shelf, rest);
}

void shelf_unpark(struct shelf *shelf, struct block **spare)
{
	for (size_t i = 0; shelf->parked_count > 0; i++) {
		for (struct block *block = shelf->parked[i], *next; block; block = next) {
			next = block->more;
			pthread_mutex_destroy(&block->memory->lock);
			mem_free(block->memory);
			block->segment->live--;
			shelf_merge(shelf, block, spare);
			shelf->parked_count--;
		}
		shelf->parked[i] = NULL;
	}
}
