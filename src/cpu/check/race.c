/* SPDX-License-Identifier: MIT */
/*
 * Shadow memory and the rules: which two accesses are a race.
 *
 * Each four bytes that a launch accesses have a cell: marks of the last write and of the last read.
 * Cells of global memory lie in chunks, a chunk for 4 KiB, which a hash table finds by address;
 * cells of shared memory lie in an array of the block.  Marks of other launches do not count, so
 * nothing has to be cleared between launches.
 *
 * A write of the value that is there already is a race, too: CUDA does not promise what memory then
 * holds.  Reads and writes that are atomic or volatile do not race with each other, if the scopes
 * of both reach the other thread.
 */
#include "base/common.h"

#include "cpu/check/race.h"

#include "base/alloc.h"
#include "cpu/check/report.h"
#include "cpu/check/sync.h"
#include "cpu/mem/fault.h"
#include "cpu/runtime/heap.h"
#include "cpu/runtime/rt_collect.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { CHUNK_BITS = 12, CHUNK_CELLS = 1 << (CHUNK_BITS - 2), CHUNKS_PER_PIECE = 256 };
#define CHUNK_MOST ((size_t)1 << 20) /* of global memory: 4 GiB that are accessed */
#define LINE_MOST ((1u << 20) - 1)
#define LAUNCH_MOST ((1u << 23) - 1)
#define PAIRS 1024           /* of lines that were reported */

struct race {
	struct race_order *order;
	const struct rt_launch *launch;
	uint32_t number;         /* of the launch */
	uint32_t now;
	uint32_t begun;          /* blocks */
	bool is_full;            /* no memory for more cells, which was reported */
	uint64_t *keys;          /* a table: page of memory, plus 1, to chunk */
	struct race_cell **chunks;
	size_t table_size;
	size_t count;
	struct race_cell *piece; /* the chunks that were mapped last, and how many are left */
	size_t piece_left;
	uint64_t last_key;
	struct race_cell *last_chunk;
	uint64_t pairs[PAIRS];   /* a table */
	size_t pair_count;
	bool is_noting;          /* for race_is_still, */
	bool has_moved;          /* which memory has, or may have, but for */
	uint32_t noted;          /* what these lanes, which write so many bytes, have found there */
	uint32_t noted_size;
	uint64_t noted_at[RT_GROUP];
	uint8_t noted_bytes[RT_GROUP][16];
};

struct race *race_create(void)
{
	struct race *race = mem_zalloc(1, sizeof(*race));
	if (race && !(race->order = race_order_create())) {
		mem_free(race);
		return NULL;
	}
	return race;
}

static void race_free_cells(struct race *race)
{
	/* chunks of a piece follow each other, so that the table tells all */
	for (size_t i = 0; i < race->table_size; i++) {
		if (race->keys[i] != 0) {
			munmap(race->chunks[i], CHUNK_CELLS * sizeof(struct race_cell));
		}
	}
	if (race->piece_left > 0) {
		munmap(race->piece, race->piece_left * CHUNK_CELLS * sizeof(struct race_cell));
	}
	mem_free(race->keys);
	mem_free(race->chunks);
	race->keys = NULL;
	race->chunks = NULL;
	race->piece = NULL;
	race->table_size = race->count = race->piece_left = 0;
	race->last_key = 0;
}

void race_release(struct race *race)
{
	if (race) {
		race_free_cells(race);
		race_order_release(race->order);
		mem_free(race);
	}
}

void race_begin(struct race *race, const struct rt_launch *launch)
{
	if (race->number == LAUNCH_MOST || race->count > CHUNK_MOST / 64) {
		race_free_cells(race);
		race->number = race->number == LAUNCH_MOST ? 0 : race->number;
	}
	race_order_begin(race->order);
	race->launch = launch;
	race->number++;
	race->now = 1;
	race->begun = 0;
	race->is_full = false;
	race->is_noting = false;
	race->noted = 0;
	race->pair_count = 0;
	memset(race->pairs, 0, sizeof(race->pairs));
}

/* --- Blocks --- */

bool race_prepare_block(struct race_block *block, struct race *race, size_t shared_size)
{
	const size_t cells = round_up(shared_size, 4) / 4;
	const uint32_t threads = race->launch->threads;
	if (block->cell_count < cells || block->of_count < threads) {
		race_free_block(block);
		block->cells = mem_zalloc(cells + 1, sizeof(*block->cells));
		block->of = mem_zalloc(threads, sizeof(*block->of));
		if (!block->cells || !block->of) {
			return false;
		}
		block->cell_count = cells;
		block->of_count = threads;
	}
	block->race = race;
	return true;
}

void race_begin_block(struct race_block *block, const uint32_t ctaid[3])
{
	struct race *race = block->race;
	const uint32_t *grid = race->launch->nctaid;
	if (block->has_threads) {
		memset(block->of, 0, block->of_count * sizeof(*block->of));
	}
	block->number = (ctaid[2] * grid[1] + ctaid[1]) * grid[0] + ctaid[0];
	block->threads = race->launch->threads;
	block->met = 0;
	memset(block->warp_met, 0, sizeof(block->warp_met));
	block->know = NULL;
	block->has_threads = false;
	race->begun++;
	race->now++;
}

void race_free_block(struct race_block *block)
{
	mem_free(block->cells);
	mem_free(block->of);
	memset(block, 0, sizeof(*block));
}

void race_meet_all(struct race_block *block)
{
	struct race *race = block->race;
	block->met = race->now++;
	if (!block->has_threads) {
		return;
	}
	block->know = race_know_join_all(race->order, block);
	for (uint32_t t = 0; t < block->threads; t++) {
		block->of[t].know = NULL;
	}
}

void race_meet(struct race_block *block, const struct race_set *set)
{
	struct race *race = block->race;
	const uint32_t now = race->now++;
	const uint32_t left = block->threads - set->warp * 32;
	const uint32_t all = left < 32 ? (1u << left) - 1 : UINT32_MAX;
	if (set->words == 1 && (set->threads[0] & all) == all) {
		block->warp_met[set->warp] = now;
		if (!block->has_threads) {
			return;
		}
	}
	struct race_know *know = race_know_join(race->order, block, set, now);
	for (uint32_t w = 0; w < set->words; w++) {
		for (uint32_t more = set->threads[w]; more != 0; more &= more - 1) {
			block->of[(set->warp + w) * 32 + (uint32_t)__builtin_ctz(more)].know = know;
		}
	}
	block->has_threads = true;
}

/* --- Cells --- */

static size_t race_slot(const struct race *race, uint64_t key)
{
	size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (race->table_size - 1);
	while (race->keys[at] != 0 && race->keys[at] != key) {
		at = (at + 1) & (race->table_size - 1);
	}
	return at;
}

static bool race_grow_table(struct race *race)
{
	const size_t old_size = race->table_size, size = old_size > 0 ? 2 * old_size : 1024;
	uint64_t *old_keys = race->keys;
	struct race_cell **old_chunks = race->chunks;
	uint64_t *keys = mem_zalloc(size, sizeof(*keys));
	struct race_cell **chunks = mem_zalloc(size, sizeof(struct race_cell *));
	if (!keys || !chunks) {
		mem_free(keys);
		mem_free(chunks);
		return false;
	}
	race->keys = keys;
	race->chunks = chunks;
	race->table_size = size;
	for (size_t i = 0; i < old_size; i++) {
		if (old_keys[i] != 0) {
			size_t at = race_slot(race, old_keys[i]);
			keys[at] = old_keys[i];
			chunks[at] = old_chunks[i];
		}
	}
	mem_free(old_keys);
	mem_free(old_chunks);
	return true;
}

/* A new chunk, of no marks; NULL: no memory. */
static struct race_cell *race_map_chunk(struct race *race)
{
	const size_t size = CHUNK_CELLS * sizeof(struct race_cell);
	if (race->piece_left == 0) {
		void *piece = mmap(NULL, CHUNKS_PER_PIECE * size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (piece == MAP_FAILED) {
			return NULL;
		}
		race->piece = piece;
		race->piece_left = CHUNKS_PER_PIECE;
	}
	struct race_cell *chunk = race->piece;
	race->piece += CHUNK_CELLS;
	race->piece_left--;
	return chunk;
}

static struct race_cell *race_add_chunk(struct race *race, uint64_t key)
{
	struct race_cell *chunk = NULL;
	fault_hold();
	if (race->count < CHUNK_MOST
	    && (2 * (race->count + 1) <= race->table_size || race_grow_table(race))) {
		chunk = race_map_chunk(race);
	}
	fault_release();
	if (chunk) {
		const size_t at = race_slot(race, key);
		race->keys[at] = key;
		race->chunks[at] = chunk;
		race->count++;
	}
	return chunk;
}

/* The cells of the 4 KiB that an address is in; NULL: no memory. */
static struct race_cell *race_find_chunk(struct race *race, uint64_t address)
{
	const uint64_t key = (address >> CHUNK_BITS) + 1;
	if (likely(key == race->last_key)) {
		return race->last_chunk;
	}
	struct race_cell *chunk = NULL;
	if (race->table_size > 0) {
		chunk = race->chunks[race_slot(race, key)];
	}
	chunk = chunk ? chunk : race_add_chunk(race, key);
	race->last_key = chunk ? key : 0;
	race->last_chunk = chunk;
	return chunk;
}

/* --- Who knows what --- */

static bool race_is_ordered(struct race_block *block, const struct race_mark *mark, uint32_t thread)
{
	if (mark->block == block->number && mark->level != RACE_GRID) {
		if (mark->time <= block->met
		    || (mark->level == RACE_THREAD && mark->thread == thread)
		    || (mark->level <= RACE_WARP && mark->thread / 32 == thread / 32
			&& mark->time <= block->warp_met[thread / 32])) {
			return true;
		}
	}
	return race_knows(block->race->order, block, thread, mark, block->race->begun);
}

/* Whether two strong accesses reach each other. */
static bool race_is_strong(const struct race_mark *old, bool old_writes,
	const struct race_mark *new, bool new_writes)
{
	return old->is_strong && new->is_strong
		&& !(old_writes && new_writes && (old->is_volatile || new->is_volatile))
		&& ((!old->is_cta && !new->is_cta)
			|| (old->block == new->block && old->level != RACE_GRID));
}

/* --- Reports --- */

/* Whether this launch has reported these two lines so. */
static bool race_is_reported(struct race *race, uint64_t pair)
{
	size_t at = (size_t)(pair * UINT64_C(0x9e3779b97f4a7c15) >> 32) % PAIRS;
	while (race->pairs[at] != 0 && race->pairs[at] != pair) {
		at = (at + 1) % PAIRS;
	}
	if (race->pairs[at] == pair || race->pair_count == PAIRS - 1) {
		return true;
	}
	race->pairs[at] = pair;
	race->pair_count++;
	return false;
}

static void race_fill_thread(struct report_side *side, const struct race *race, uint32_t block,
	uint32_t thread)
{
	const uint32_t *grid = race->launch->nctaid;
	side->block[0] = block % grid[0];
	side->block[1] = block / grid[0] % grid[1];
	side->block[2] = block / grid[0] / grid[1];
	for (int axis = 0; axis < 3; axis++) {
		side->thread[axis] = race->launch->tid[axis][thread];
	}
}

static const char *race_verb(const struct race_mark *mark, bool is_write)
{
	return mark->is_atomic ? "atomic operation" : mark->is_async
		? "asynchronous copy" : is_write ? "write" : "read";
}

/* "shared memory, byte 12" or "address 0x10, byte 16 of the allocation at 0x0" */
static void race_write_where(char *out, size_t size, const struct rt_warp *warp, uint64_t at)
{
	struct memory_range range;
	struct heap *heap = warp->launch->host->heap;
	const uint64_t offset = at - (uintptr_t)warp->shared;
	char where[112];
	if (offset < RT_SHARED_WINDOW) {
		snprintf(out, size, "byte %" PRIu64 " of shared memory", offset);
	} else if (heap && heap_covers(heap, at)) {
		heap_describe(heap, at, where, sizeof(where));
		snprintf(out, size, "address 0x%" PRIx64 ", %s", at, where);
	} else if (memory_find(warp->race->race->launch->check->memory, at, &range)) {
		snprintf(out, size, "byte %" PRIu64 " of the %zu-byte allocation at 0x%" PRIx64,
			at - range.address, (size_t)range.size, range.address);
	} else {
		snprintf(out, size, "address 0x%" PRIx64, at);
	}
}

/* What orders the threads that it is about. */
static const char *race_missing(const struct race_mark *old, const struct race_mark *new,
	const struct race_block *block, uint32_t thread)
{
	if (old->block != block->number || old->level == RACE_GRID) {
		return old->is_strong && new->is_strong ? "by another block, beyond its scope"
			: "by another block";
	}
	const bool is_warp = old->level <= RACE_WARP && old->thread / 32 == thread / 32;
	return is_warp ? "by another thread of its warp" : "by another thread of its block";
}

/* A thread that made the old access, and if there were several not the one that makes the new. */
static uint32_t race_other_thread(const struct race_mark *old, const struct race_mark *new)
{
	if (old->level == RACE_WARP) {
		const uint32_t others = old->members & ~(1u << new->thread % 32);
		return old->thread / 32 * 32 + (uint32_t)__builtin_ctz(others);
	}
	if (old->level == RACE_BLOCK) {
		const uint32_t others = old->members & ~(1u << new->thread / 32);
		return 32 * (uint32_t)__builtin_ctz(others);
	}
	return old->thread;
}

static void race_report(struct rt_warp *warp, const struct race_mark *old, bool old_writes,
	const struct race_mark *new, bool new_writes, uint64_t at)
{
	struct race_block *block = warp->race;
	struct race *race = block->race;
	struct report report = {.check = CHECK_RACE, .kernel = race->launch->check,
		.side_count = 2};
	const uint64_t pair = (uint64_t)old->line << 32 | (uint64_t)new->line << 4
		| (uint64_t)old_writes << 1 | (uint64_t)new_writes << 2 | 1;
	char where[160];
	if (!(race->launch->check->checks & check_bit(CHECK_RACE))
	    || race_is_reported(race, pair)) {
		return;
	}
	fault_hold();
	race_write_where(where, sizeof(where), warp, at);
	snprintf(report.sides[0].what, sizeof(report.sides[0].what),
		"nothing orders this %s and a%s %s %s: %s", race_verb(new, new_writes),
		old->is_atomic || old->is_async ? "n" : "", race_verb(old, old_writes),
		race_missing(old, new, block, new->thread), where);
	snprintf(report.sides[1].what, sizeof(report.sides[1].what), "the %s is here",
		race_verb(old, old_writes));
	report.sides[0].line = new->line;
	report.sides[1].line = old->line;
	race_fill_thread(&report.sides[0], race, block->number, new->thread);
	race_fill_thread(&report.sides[1], race, old->block, race_other_thread(old, new));
	report_add(&report);
	fault_release();
}

/* Accesses to memory without cells are not checked, which the user has to know. */
static void race_report_full(struct rt_warp *warp, const struct race_mark *new)
{
	struct race *race = warp->race->race;
	struct report report = {.check = CHECK_RACE, .kernel = race->launch->check,
		.side_count = 1};
	if (race->is_full) {
		return;
	}
	race->is_full = true;
	fault_hold();
	snprintf(report.sides[0].what, sizeof(report.sides[0].what),
		"memory ran out: from here on not all accesses are checked");
	report.sides[0].line = new->line;
	race_fill_thread(&report.sides[0], race, new->block, new->thread);
	report_add(&report);
	fault_release();
}

/* Report what the check `sync` finds in an access: it comes before an asynchronous copy is done, or
 * threads of a warp trust that they run in step. */
static void race_check_sync(struct rt_warp *warp, const struct race_mark *old,
	const struct race_mark *new, bool is_race, uint64_t at)
{
	const struct race_block *block = warp->race;
	const struct sync_place place = {new->thread, new->line}, other = {old->thread, old->line};
	const uint64_t pair = (uint64_t)old->line << 32 | (uint64_t)new->line << 4 | 8 | 1;
	const bool is_own = old->launch == new->launch && old->block == new->block;
	const bool is_early = is_own && old->is_async && !new->is_async
		&& old->level == RACE_THREAD && block->of[old->thread].copies < old->time;
	const bool in_step = is_own && is_race && old->is_volatile && new->is_volatile
		&& old->level <= RACE_WARP && old->thread / 32 == new->thread / 32
		&& at - (uintptr_t)warp->shared < RT_SHARED_WINDOW;
	if ((!is_early && !in_step) || race_is_reported(block->race, pair)) {
		return;
	}
	if (is_early) {
		sync_report(warp, place, &other, "the copy is here",
			"the asynchronous copy to these bytes has not been waited for");
	} else {
		sync_report(warp, place, &other, "the other access is here",
			"threads of a warp do not run in step: __syncwarp() has to order this "
			"access and one of another lane");
	}
}

/* --- Accesses --- */

/* A mark of several threads that nothing orders. */
static void race_merge(struct race_mark *mark, const struct race_mark *new)
{
	const uint32_t bytes = mark->bytes | new->bytes;
	const uint32_t warp = new->thread / 32, old_warp = mark->thread / 32;
	uint32_t level = mark->level, members = mark->members;
	if (level == RACE_GRID || mark->block != new->block) {
		level = RACE_GRID;
	} else if (level == RACE_BLOCK || warp != old_warp) {
		members = (level == RACE_BLOCK ? members : 1u << old_warp) | 1u << warp;
		level = RACE_BLOCK;
	} else {
		members = (level == RACE_WARP ? members : 1u << mark->thread % 32)
			| 1u << new->thread % 32;
		level = RACE_WARP;
	}
	*mark = *new;
	mark->bytes = bytes & 15;
	mark->level = level & 3;
	mark->members = members;
}

static bool race_is_same(const struct race_mark *a, const struct race_mark *b)
{
	return a->block == b->block && a->thread == b->thread && a->level == RACE_THREAD;
}

/* Whether the old access, if there is one, is a race with the new one. */
static bool race_conflicts(struct race_block *block, const struct race_mark *old, bool old_writes,
	const struct race_mark *new, bool new_writes, bool *is_ordered)
{
	if (old->launch != new->launch) {
		*is_ordered = true;
		return false;
	}
	*is_ordered = race_is_ordered(block, old, new->thread);
	return !*is_ordered && (old->bytes & new->bytes)
		&& !race_is_strong(old, old_writes, new, new_writes);
}

/* Whether an atomic operation after a plain write of the same thread would hide that from threads
 * that do not know of it. */
static bool race_hides(const struct race_block *block, const struct race_mark *old,
	const struct race_mark *new)
{
	return old->launch == new->launch && race_is_same(old, new) && !old->is_strong
		&& new->is_strong && old->time > block->met;
}

static void race_touch(struct rt_warp *warp, struct race_cell *cell, const struct race_mark *new,
	bool writes, uint64_t at)
{
	struct race_block *block = warp->race;
	bool after_write, after_read = true;
	const bool is_race = race_conflicts(block, &cell->write, true, new, writes, &after_write);
	if (is_race) {
		race_report(warp, &cell->write, true, new, writes, at);
	}
	if (unlikely(cell->write.is_async || (is_race && cell->write.is_volatile))
	    && sync_is_on(warp)) {
		race_check_sync(warp, &cell->write, new, is_race, at);
	}
	if (writes) {
		if (race_conflicts(block, &cell->read, false, new, true, &after_read)) {
			race_report(warp, &cell->read, false, new, true, at);
		}
		if (!race_hides(block, &cell->write, new)) {
			if (after_write || !cell->write.is_strong || !new->is_strong) {
				cell->write = *new;
			} else {
				race_merge(&cell->write, new);
			}
		}
		if (after_read) {
			cell->read.launch = 0;
		}
		return;
	}
	if (cell->read.launch != new->launch || race_is_same(&cell->read, new)
	    || race_is_ordered(block, &cell->read, new->thread)) {
		cell->read = *new;
	} else if (cell->read.is_strong || !new->is_strong) {
		const bool is_strong = cell->read.is_strong && new->is_strong;
		race_merge(&cell->read, new);
		cell->read.is_strong = is_strong;
	}
}

/* A barrier in shared memory that nothing has made. */
static void race_check_mbarrier(struct rt_warp *warp, const struct race_mark *mark, uint64_t at)
{
	const struct race_block *block = warp->race;
	const uint64_t index = (at - (uintptr_t)warp->shared) / 4;
	const struct race_mark *write = index < block->cell_count ? &block->cells[index].write
		: NULL;
	if (write && (write->launch != mark->launch || write->block != mark->block)
	    && !race_is_reported(block->race, (uint64_t)mark->line << 4 | 15)) {
		sync_report(warp, (struct sync_place){mark->thread, mark->line}, NULL, NULL,
			"the mbarrier at byte %" PRIu64 " of shared memory is used before it is "
			"initialized", at - (uintptr_t)warp->shared);
	}
}

static void race_touch_bytes(struct rt_warp *warp, struct race_mark *mark, bool writes,
	uint64_t at, uint32_t size)
{
	struct race_block *block = warp->race;
	const uint64_t shared = (uintptr_t)warp->shared;
	const bool is_shared = at - shared < RT_SHARED_WINDOW;
	const uint64_t end = at + size;
	for (uint64_t cell = at & ~UINT64_C(3); cell < end; cell += 4) {
		const uint64_t from = at > cell ? at - cell : 0;
		const uint64_t to = end - cell < 4 ? end - cell : 4;
		struct race_cell *found = NULL;
		mark->bytes = ((1u << to) - (1u << from)) & 15;
		if (is_shared) {
			const uint64_t index = (cell - shared) / 4;
			found = index < block->cell_count ? &block->cells[index] : NULL;
			if (found && found->write.block != block->number) {
				found->write.launch = 0;
			}
			if (found && found->read.block != block->number) {
				found->read.launch = 0;
			}
		} else {
			struct race_cell *chunk = race_find_chunk(block->race, cell);
			if (unlikely(!chunk)) {
				race_report_full(warp, mark);
			}
			found = chunk ? &chunk[cell / 4 % CHUNK_CELLS] : NULL;
		}
		if (found) {
			race_touch(warp, found, mark, writes, cell + from);
		}
	}
}

/* Memory that malloc has just returned: what was done there before it was freed does not count. */
static void race_forget(struct race *race, uint64_t address, uint64_t size)
{
	const uint64_t end = address + size;
	for (uint64_t at = address & ~UINT64_C(3); at < end; at += 4) {
		struct race_cell *chunk = race_find_chunk(race, at);
		if (chunk) {
			chunk[at / 4 % CHUNK_CELLS] = (struct race_cell){{0}, {0}};
		}
	}
}

static void race_fence(struct race_block *block, uint32_t thread, bool is_cta)
{
	const uint32_t now = block->race->now++;
	struct race_thread *of = &block->of[thread];
	of->fence[0] = now;
	of->fence[1] = is_cta ? of->fence[1] : now;
	if (of->lock != 0) {
		race_acquire(block->race->order, block, thread, of->lock,
			is_cta || of->lock_is_cta);
		of->lock = 0;
	}
	block->has_threads = true;
}

/* A strong access of one thread is a release, an acquire, or both. */
static void race_synchronise(struct race_block *block, uint32_t thread, uint64_t at,
	uint32_t access)
{
	struct race *race = block->race;
	const enum rt_access kind = (enum rt_access)(access & RT_ACCESS_KIND);
	const bool is_cta = access & RT_ACCESS_CTA;
	struct race_thread *of = &block->of[thread];
	if (access & RT_ACCESS_LOCKS) {
		of->lock = at;
		of->lock_is_cta = is_cta;
		block->has_threads = true;
	} else if (kind != RT_WRITES) {
		race_acquire(race->order, block, thread, at, is_cta);
	}
	if (kind == RT_READS) {
		return;
	}
	if (access & RT_ACCESS_RELEASE) {
		race_publish(race->order, block, thread, at, race->now++, is_cta);
	} else if (of->fence[0] != 0) {
		const bool is_wide = !is_cta && of->fence[1] != 0;
		race_publish(race->order, block, thread, at, of->fence[is_wide], !is_wide);
	}
}

/* Groups of asynchronous copies end when the thread says so, and are done when it has waited. */
static void race_note_copies(struct race_block *block, uint32_t thread, enum rt_access kind,
	uint32_t count)
{
	struct race_thread *of = &block->of[thread];
	const uint32_t now = block->race->now++;
	if (kind == RT_COMMITS) {
		memmove(of->groups + 1, of->groups, sizeof(of->groups) - sizeof(*of->groups));
		of->groups[0] = now;
	} else {
		const uint32_t done = count == UINT32_MAX ? now
			: count < countof(of->groups) ? of->groups[count] : 0;
		of->copies = done > of->copies ? done : of->copies; // a later wait may ask for less
	}
	block->has_threads = true;
}

static bool race_is_private(const struct rt_warp *warp, uint64_t at)
{
	return at - (uintptr_t)warp->local < warp->local_stride * 32;
}

static bool race_is_flag(const struct race_block *block, uint32_t thread, enum rt_access kind)
{
	return kind == RT_READS || block->of[thread].fence[0] != 0;
}

/* --- Memory that stays as it is --- */

/* Whether the last access that was noted has changed memory. */
static void race_settle(struct race *race)
{
	for (uint32_t left = race->noted; left != 0; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		race->has_moved |= memcmp((const void *)(uintptr_t)race->noted_at[lane],
			race->noted_bytes[lane], race->noted_size) != 0;
	}
	race->noted = 0;
}

/* Note an access that is about to happen. */
static void race_note(struct race *race, const struct rt_warp *warp, enum rt_access kind)
{
	const uint32_t most = sizeof(*race->noted_bytes);
	const uint32_t size = warp->access < most ? warp->access : most;
	race_settle(race);
	if (kind > RT_CHANGES) {
		race->has_moved |= kind == RT_CLOCKS || kind == RT_FORGETS;
		return;
	}
	for (uint32_t left = warp->gathers; left != 0; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		const uint64_t at = warp->at[lane];
		struct memory_range range;
		if (at - (uintptr_t)warp->shared >= RT_SHARED_WINDOW
		    && memory_find(race->launch->check->memory, at, &range)
		    && range.kind != MEMORY_DEVICE && range.kind != MEMORY_MODULE) {
			race->has_moved = true;
		}
		if (kind != RT_READS) {
			race->noted_at[lane] = at;
			memcpy(race->noted_bytes[lane], (const void *)(uintptr_t)at, size);
			race->noted |= 1u << lane;
		}
	}
	race->noted_size = size;
}

bool race_is_still(struct race *race)
{
	race_settle(race);
	const bool is_still = race->is_noting && !race->has_moved;
	race->is_noting = true;
	race->has_moved = false;
	return is_still;
}

void race_watch(struct rt_warp *warp, uint32_t access)
{
	struct race_block *block = warp->race;
	struct race *race = block->race;
	const enum rt_access kind = (enum rt_access)(access & RT_ACCESS_KIND);
	const uint32_t size = warp->access;
	struct race_mark mark = {.launch = race->number & LAUNCH_MOST,
		.block = block->number, .line = (warp->line < LINE_MOST ? warp->line : LINE_MOST)
			& LINE_MOST,
		.is_volatile = (access & RT_ACCESS_VOLATILE) != 0,
		.is_cta = (access & RT_ACCESS_CTA) != 0, .is_atomic = kind == RT_CHANGES,
		.is_async = (access & RT_ACCESS_ASYNC) != 0};
	if (unlikely(race->is_noting)) {
		race_note(race, warp, kind);
	}
	if (kind >= RT_FORGETS) {
		if (kind == RT_FORGETS) {
			race_forget(race, warp->at[0], size);
		}
		return;
	}
	for (uint32_t left = warp->gathers; left != 0; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		const uint32_t thread = warp->first + lane;
		const uint64_t at = warp->at[lane];
		if (kind == RT_FENCES) {
			race_fence(block, thread, access & RT_ACCESS_CTA);
		} else if (kind > RT_FENCES) {
			race_note_copies(block, thread, kind, size);
		} else if (!race_is_private(warp, at)) {
			mark.thread = thread & 1023;
			mark.time = race->now;
			mark.is_strong = access & RT_ACCESS_STRONG || (mark.is_volatile
				&& race_is_flag(block, thread, kind));
			if (mark.is_strong) {
				race_synchronise(block, thread, at, access);
			}
			if (access & RT_ACCESS_MBARRIER && sync_is_on(warp)) {
				race_check_mbarrier(warp, &mark, at);
			}
			race_touch_bytes(warp, &mark, kind != RT_READS, at, size);
		}
	}
}

void race_collect(struct rt_warp *warp, uint32_t what, uint32_t set)
{
	if (what & COLLECT_OPEN) {
		return;
	}
	if (sync_is_on(warp)) {
		sync_check_collective(warp, what, set);
	}
	const uint32_t first = warp->first / RT_GROUP;
	const uint32_t left = warp->race->threads - first * RT_GROUP;
	const uint32_t all = left < RT_GROUP ? (1u << left) - 1 : UINT32_MAX;
	const uint32_t met = (set | warp->exchange->absent) & all;
	race_meet(warp->race, &(struct race_set){first, 1, &met});
}
