/* SPDX-License-Identifier: MIT */
/*
 * The rules: which two accesses are a race.
 *
 * Each four bytes that a launch accesses have marks of the last write and of the last read, which
 * race_shadow.c keeps.  race_watch.c gives it the accesses of a warp to neighbours as rows.  All
 * others, and those that may be a race, come here, lane by lane, to the cells of single words.
 *
 * A write of the value that is there already is a race, too: CUDA does not promise what memory then
 * holds.  Reads and writes that are atomic or volatile do not race with each other, if the scopes
 * of both reach the other thread.
 */
#include "base/common.h"

#include "cpu/check/race.h"

#include "base/alloc.h"
#include "cpu/check/sync.h"
#include "cpu/mem/fault.h"

#include <string.h>

#define READS_MOST ((size_t)1 << 15) /* words that several warps have read since their block met */

struct race *race_create(void)
{
	struct race *race = mem_zalloc(1, sizeof(*race));
	if (race) {
		race->order = race_order_create();
		race->shadow = race_shadow_create();
	}
	if (race && (!race->order || !race->shadow)) {
		race_release(race);
		return NULL;
	}
	return race;
}

void race_release(struct race *race)
{
	if (race) {
		race_shadow_release(race->shadow);
		race_order_release(race->order);
		mem_free(race);
	}
}

void race_begin(struct race *race, const struct rt_launch *launch)
{
	const bool is_last = race->number == UINT32_MAX;
	race_shadow_begin(race->shadow, is_last);
	race_order_begin(race->order);
	memset(race->near, 0, sizeof(race->near));
	race->launch = launch;
	race->number = is_last ? 1 : race->number + 1;
	race->now = 1;
	race->begun = 0;
	race->is_full = false;
	race->is_apart = !launch->check->func->releases_beyond_block;
	race->has_releases = launch->check->func->releases;
	race->has_cells = false;
	race->is_noting = false;
	race->noted = 0;
	race->pair_count = 0;
	memset(race->pairs, 0, sizeof(race->pairs));
}

/* --- Blocks --- */

bool race_prepare_block(struct race_block *block, struct race *race, size_t shared_size)
{
	const size_t lines = round_up(shared_size, RACE_LINE) / RACE_LINE;
	const uint32_t threads = race->launch->threads;
	if (block->line_count < lines || block->of_count < threads) {
		race_free_block(block);
		block->lines = mem_zalloc(lines + 1, sizeof(*block->lines));
		block->cells = mem_zalloc(lines + 1, RACE_WORDS * sizeof(*block->cells));
		block->of = mem_zalloc(threads, sizeof(*block->of));
		if (!block->lines || !block->cells || !block->of) {
			return false;
		}
		for (size_t i = 0; i < lines; i++) {
			block->lines[i].cells = &block->cells[i * RACE_WORDS];
		}
		block->line_count = lines;
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
	if (++block->run == 0) { // lines may have such a number from long ago
		block->run = 1;
		for (size_t i = 0; i < block->line_count; i++) {
			block->lines[i].of = 0;
		}
	}
	block->number = (ctaid[2] * grid[1] + ctaid[1]) * grid[0] + ctaid[0];
	block->threads = race->launch->threads;
	block->met = 0;
	block->first = 0;
	block->published_first = NULL;
	memset(block->warp_met, 0, sizeof(block->warp_met));
	block->know = NULL;
	block->has_threads = false;
	block->read_count = 0;
	race->begun++;
	race->now++;
}

void race_free_block(struct race_block *block)
{
	mem_free(block->lines);
	mem_free(block->cells);
	mem_free(block->of);
	mem_free(block->reads);
	memset(block, 0, sizeof(*block));
}

void race_meet_all(struct race_block *block)
{
	struct race *race = block->race;
	block->met = race->now++;
	block->read_count = 0;
	if (block->first != 0) {
		block->first = 0;
		block->published_first = NULL;
	}
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

/* --- Who knows what --- */

bool race_is_ordered(struct race_block *block, const struct race_mark *mark, uint32_t thread)
{
	if (mark->block == block->number && mark->level != RACE_GRID) {
		if (mark->time <= block->met
		    || (mark->level == RACE_THREAD && mark->thread == thread)
		    || (mark->level <= RACE_WARP && mark->thread / 32 == thread / 32
			&& mark->time <= block->warp_met[thread / 32])) {
			return true;
		}
	}
	return race_knows(block->race->order, block, thread, mark);
}

/* The reads of a cell by several warps of the block since it met; NULL: none are known. */
static struct race_reads *race_find_reads(const struct race_block *block,
	const struct race_cell *cell)
{
	struct race_reads *reads = cell->reads - 1 < block->read_count
		? &block->reads[cell->reads - 1] : NULL;
	return reads && reads->cell == cell ? reads : NULL;
}

/* The mark of one byte of several that lanes of a warp have accessed. */
static struct race_mark race_of_byte(const struct race_mark *mark, unsigned byte)
{
	struct race_mark one = *mark;
	one.is_by_byte = 0;
	one.bytes = (1u << byte) & 15;
	one.level = RACE_THREAD;
	one.thread = (mark->thread / 32u * 32 + (mark->members >> byte * 8 & 31)) & 1023;
	return one;
}

/* Find the first of some bytes whose access a thread does not know of; false: it knows of all. */
static bool race_find_unknown(struct race_block *block, const struct race_mark *mark,
	uint32_t thread, uint32_t bytes, struct race_mark *out)
{
	bool knows = true;
	for (uint32_t left = mark->bytes & bytes; left != 0 && knows; left &= left - 1) {
		*out = race_of_byte(mark, (unsigned)__builtin_ctz(left));
		knows = race_is_ordered(block, out, thread);
	}
	return !knows;
}

/* Whether a thread knows of all reads of a cell, as far as lanes are known, of these bytes. */
static bool race_knows_reads(struct race_block *block, const struct race_cell *cell,
	uint32_t thread, uint32_t bytes)
{
	struct race_mark mark = cell->read;
	if (mark.is_by_byte) {
		return !race_find_unknown(block, &cell->read, thread, bytes, &mark);
	}
	const struct race_reads *reads = mark.level == RACE_BLOCK && mark.block == block->number
		&& mark.time > block->met ? race_find_reads(block, cell) : NULL;
	if (!reads) {
		return race_is_ordered(block, &mark, thread);
	}
	for (uint32_t left = cell->read.members; left != 0; left &= left - 1) {
		const uint32_t warp = (uint32_t)__builtin_ctz(left);
		mark.members = reads->lanes[warp];
		mark.level = (mark.members & (mark.members - 1)) == 0 ? RACE_THREAD : RACE_WARP;
		mark.thread = (warp * 32 + (uint32_t)__builtin_ctz(mark.members)) & 1023;
		mark.time = reads->time[warp];
		if (!race_is_ordered(block, &mark, thread)) {
			return false;
		}
	}
	return true;
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

/* --- Accesses --- */

/* A mark has the lanes of its bytes as a set. */
static void race_join_lanes(struct race_mark *mark)
{
	uint32_t lanes = 0;
	for (uint32_t left = mark->is_by_byte ? mark->bytes : 0; left != 0; left &= left - 1) {
		lanes |= 1u << (mark->members >> (unsigned)__builtin_ctz(left) * 8 & 31);
	}
	mark->members = mark->is_by_byte ? lanes : mark->members;
	mark->is_by_byte = 0;
}

/* Whether an access is to a byte that another thread has accessed, so that they are in a mark. */
static bool race_shares_bytes(const struct race_mark *old, const struct race_mark *new)
{
	const bool is_warp = old->block == new->block && old->thread / 32 == new->thread / 32;
	bool shares = false;
	for (uint32_t left = old->bytes & new->bytes; left != 0; left &= left - 1) {
		const unsigned shift = (unsigned)__builtin_ctz(left) * 8;
		shares |= !is_warp || !old->is_by_byte
			|| (old->members >> shift & 31) != new->thread % 32u;
	}
	return shares;
}

/*
 * An access to bytes that other threads have not accessed.  If one mark had all bytes and all
 * threads, one that writes the byte which it has read would race with the others.  So the mark says
 * who has accessed which byte, of lanes of a warp that do it at one time; else it forgets the older
 * access.
 */
static void race_merge_bytes(struct race_mark *mark, const struct race_mark *new)
{
	const bool is_lane = mark->is_by_byte || mark->level == RACE_THREAD;
	uint32_t lanes = mark->is_by_byte ? mark->members : mark->thread % 32u * 0x01010101;
	if (!is_lane || mark->block != new->block || mark->thread / 32 != new->thread / 32
	    || mark->time != new->time || mark->is_strong != new->is_strong
	    || mark->is_volatile != new->is_volatile || mark->is_cta != new->is_cta) {
		*mark = *new;
		return;
	}
	for (uint32_t left = new->bytes; left != 0; left &= left - 1) {
		const unsigned shift = (unsigned)__builtin_ctz(left) * 8;
		lanes = (lanes & ~(255u << shift)) | new->thread % 32u << shift;
	}
	const uint32_t bytes = mark->bytes | new->bytes;
	*mark = *new;
	mark->bytes = bytes & 15;
	mark->is_by_byte = 1;
	mark->level = RACE_WARP;
	mark->members = lanes;
}

/* A mark of several threads that nothing orders. */
static void race_merge(struct race_mark *mark, const struct race_mark *new)
{
	const uint32_t bytes = mark->bytes | new->bytes;
	const uint32_t warp = new->thread / 32, old_warp = mark->thread / 32;
	uint32_t level = mark->level, members = mark->members;
	if (level == RACE_GRID || mark->block != new->block) {
		level = RACE_GRID;
		members = mark->block != new->block ? mark->time : members;
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

/* Note who has read a cell so far, one warp or several of them; NULL: there is no room. */
static struct race_reads *race_add_reads(struct race_block *block, struct race_cell *cell)
{
	const struct race_mark *mark = &cell->read;
	struct race_reads *reads = race_find_reads(block, cell);
	if (!reads) {
		if (block->read_count == READS_MOST) {
			return NULL;
		}
		fault_hold();
		reads = mem_grow(block->reads, block->read_count, &block->read_cap, sizeof(*reads));
		fault_release();
		if (!reads) {
			return NULL;
		}
		block->reads = reads;
		reads += block->read_count++;
		cell->reads = (uint32_t)block->read_count;
		reads->cell = cell;
	}
	const uint32_t warps = mark->level == RACE_BLOCK ? mark->members : 1u << mark->thread / 32;
	for (uint32_t i = 0; i < 32; i++) {
		reads->time[i] = warps >> i & 1 ? mark->time : 0;
		reads->lanes[i] = mark->level == RACE_BLOCK ? UINT32_MAX
			: mark->level == RACE_WARP ? mark->members : 1u << mark->thread % 32;
	}
	return reads;
}

/* A read that is not ordered after those of a cell, by several warps of one block. */
static void race_merge_reads(struct race_block *block, struct race_cell *cell,
	const struct race_mark *new)
{
	const uint32_t warp = new->thread / 32;
	const bool is_first = cell->read.level != RACE_BLOCK;
	struct race_reads *reads;
	if (cell->read.level == RACE_GRID || cell->read.block != new->block
	    || (is_first && cell->read.thread / 32 == warp)) {
		return;
	}
	reads = is_first ? NULL : race_find_reads(block, cell);
	if (!reads && !(reads = race_add_reads(block, cell))) {
		cell->reads = 0;
		return;
	}
	const bool is_known = reads->time[warp] <= block->warp_met[warp];
	reads->lanes[warp] = (is_known ? 0 : reads->lanes[warp]) | 1u << new->thread % 32;
	reads->time[warp] = new->time;
}

static bool race_is_same(const struct race_mark *a, const struct race_mark *b)
{
	return a->block == b->block && a->thread == b->thread && a->level == RACE_THREAD;
}

/* Whether the old access of a cell, if there is one, is a race with the new one. */
static bool race_conflicts(struct race_block *block, const struct race_cell *cell, bool old_writes,
	const struct race_mark *new, bool new_writes, bool *is_ordered)
{
	const struct race_mark *old = old_writes ? &cell->write : &cell->read;
	if (!old->is_there) {
		*is_ordered = true;
		return false;
	}
	struct race_mark one;
	*is_ordered = old_writes && old->is_by_byte
		? !race_find_unknown(block, old, new->thread, new->bytes, &one)
		: old_writes ? race_is_ordered(block, old, new->thread)
		: race_knows_reads(block, cell, new->thread, new->bytes);
	return !*is_ordered && (old->bytes & new->bytes)
		&& !race_is_strong(old, old_writes, new, new_writes);
}

/* Whether an atomic operation after a plain write of the same thread would hide that from threads
 * that do not know of it. */
static bool race_hides(const struct race_block *block, const struct race_mark *old,
	const struct race_mark *new)
{
	return old->is_there && race_is_same(old, new) && !old->is_strong
		&& new->is_strong && old->time > block->met;
}

/* A read that is not ordered after those of a cell. */
static void race_add_read(struct race_block *block, struct race_cell *cell,
	const struct race_mark *new)
{
	struct race_mark *old = &cell->read;
	if (!race_shares_bytes(old, new)) {
		race_merge_bytes(old, new);
	} else if (old->is_strong || !new->is_strong) {
		const bool are_strong = old->is_strong && new->is_strong;
		const bool is_mixed = old->is_strong || old->is_volatile;
		race_join_lanes(old);
		race_merge_reads(block, cell, new);
		race_merge(old, new);
		old->is_strong = are_strong;
		old->is_volatile = is_mixed || new->is_volatile;
	}
}

/* Note a write, which comes after that of the cell or not. */
static void race_add_write(struct race_cell *cell, const struct race_mark *new, bool after)
{
	struct race_mark *old = &cell->write;
	if (old->is_there && new->bytes != 15 && !race_shares_bytes(old, new)) {
		race_merge_bytes(old, new);
	} else if (after || !old->is_strong || !new->is_strong || new->is_mbarrier) {
		*old = *new;
	} else {
		race_join_lanes(old);
		race_merge(old, new);
	}
}

/* Report a race with the access of a mark, or of one byte of it. */
static void race_tell(struct rt_warp *warp, const struct race_mark *old, bool old_writes,
	const struct race_mark *new, bool new_writes, uint64_t at)
{
	struct race_mark one = *old;
	if (old->is_by_byte) {
		race_find_unknown(warp->race, old, new->thread, new->bytes, &one);
	}
	race_report(warp, &one, old_writes, new, new_writes, at);
}

/* All reads of these bytes come before a write of them. */
static void race_end_reads(struct race_mark *read, uint32_t bytes)
{
	read->bytes = read->bytes & ~bytes & 15;
	read->is_there &= read->bytes != 0;
}

static void race_touch(struct rt_warp *warp, struct race_cell *cell, const struct race_mark *new,
	bool writes, uint64_t at)
{
	struct race_block *block = warp->race;
	bool after_write, after_read = true;
	const bool is_race = race_conflicts(block, cell, true, new, writes, &after_write);
	if (is_race) {
		race_tell(warp, &cell->write, true, new, writes, at);
	}
	if (unlikely(cell->write.is_async || (is_race && cell->write.is_volatile))
	    && sync_is_on(warp)) {
		race_report_sync(warp, &cell->write, new, is_race, at);
	}
	if (writes) {
		if (race_conflicts(block, cell, false, new, true, &after_read)) {
			race_tell(warp, &cell->read, false, new, true, at);
		}
		if (!race_hides(block, &cell->write, new)) {
			race_add_write(cell, new, after_write);
		}
		if (after_read) {
			race_end_reads(&cell->read, new->bytes);
		}
		return;
	}
	if (!cell->read.is_there || race_is_same(&cell->read, new)
	    || race_knows_reads(block, cell, new->thread, UINT32_MAX)) {
		cell->read = *new;
	} else {
		race_add_read(block, cell, new);
	}
}

void race_touch_bytes(struct rt_warp *warp, struct race_mark *mark, bool writes,
	uint64_t at, uint32_t size)
{
	struct race *race = warp->race->race;
	const uint64_t end = at + size;
	struct race_line *line = NULL;
	for (uint64_t cell = at & ~UINT64_C(3); cell < end; cell += 4) {
		const uint64_t from = at > cell ? at - cell : 0;
		const uint64_t to = end - cell < 4 ? end - cell : 4;
		if (!line || cell % RACE_LINE == 0) {
			line = race_find_line(warp, cell);
			if (line && !line->is_split && !race_shadow_split(race->shadow, line)) {
				line = NULL;
			}
			race->has_cells = true;
			if (unlikely(!line)) {
				race_report_full(warp, mark, cell);
				return;
			}
			line->latest = mark->time;
			line->has_copies |= mark->is_async & 1;
		}
		mark->bytes = ((1u << to) - (1u << from)) & 15;
		race_touch(warp, &line->cells[cell / 4 % RACE_WORDS], mark, writes, cell + from);
	}
}

void race_fence(struct race_block *block, uint32_t thread, bool is_cta)
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

void race_synchronise(struct race_block *block, uint32_t thread, uint64_t at,
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
	} else if (kind == RT_READS || (kind == RT_CHANGES && !(access & RT_ACCESS_MBARRIER))) {
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

void race_note_copies(struct race_block *block, uint32_t thread, enum rt_access kind,
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
