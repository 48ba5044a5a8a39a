/* SPDX-License-Identifier: MIT */
/*
 * The rules: which two accesses are a race.
 *
 * Each four bytes that a launch accesses have marks of the last write and of the last read, which
 * race_shadow.c keeps.  Plain accesses of a warp to neighbours are rows there.  All others, and
 * those that may be a race, come lane by lane to the cells of single words.
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
#include "cpu/runtime/rt_collect.h"
#include "cpu/runtime/rt_mma.h"

#include <inttypes.h>
#include <string.h>

#define LINE_MOST ((1u << 20) - 1)
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
	const bool is_last = race->number == RACE_LAUNCHES;
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

/* --- Lines --- */

/* The line of an address, as an earlier access left it; NULL: it has none. */
static inline struct race_line *race_locate(const struct rt_warp *warp, uint64_t at,
	bool *is_shared)
{
	const struct race_block *block = warp->race;
	const uint64_t offset = at - (uintptr_t)warp->shared;
	*is_shared = offset < RT_SHARED_WINDOW;
	return !*is_shared ? race_shadow_find(block->race, at)
		: offset / RACE_LINE < block->line_count ? &block->lines[offset / RACE_LINE] : NULL;
}

/* Forget what does not count any more of a line's past. */
static inline void race_renew(const struct race_block *block, struct race_line *line,
	bool is_shared)
{
	const uint32_t launch = block->race->number;
	if (line->launch != launch || (is_shared && line->block != block->number)) {
		line->launch = launch;
		line->block = block->number;
		line->latest = 0;
		line->barriers = 0;
		line->has_copies = false;
	} else if (!is_shared || line->latest > block->met || line->has_copies) {
		return;
	}
	line->count = 0;
	line->is_split = false;
}

/* The line of an address, with what counts of its past; NULL: it has none. */
static struct race_line *race_find_line(const struct rt_warp *warp, uint64_t at)
{
	bool is_shared;
	struct race_line *line = race_locate(warp, at, &is_shared);
	if (likely(line)) {
		race_renew(warp->race, line, is_shared);
	}
	return line;
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

/* Whether a thread knows of all reads of a cell. */
static bool race_knows_reads(struct race_block *block, const struct race_cell *cell,
	uint32_t thread)
{
	struct race_mark mark = cell->read;
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
	if (old->launch == 0) {
		*is_ordered = true;
		return false;
	}
	*is_ordered = old_writes ? race_is_ordered(block, old, new->thread)
		: race_knows_reads(block, cell, new->thread);
	return !*is_ordered && (old->bytes & new->bytes)
		&& !race_is_strong(old, old_writes, new, new_writes);
}

/* Whether an atomic operation after a plain write of the same thread would hide that from threads
 * that do not know of it. */
static bool race_hides(const struct race_block *block, const struct race_mark *old,
	const struct race_mark *new)
{
	return old->launch != 0 && race_is_same(old, new) && !old->is_strong
		&& new->is_strong && old->time > block->met;
}

static void race_touch(struct rt_warp *warp, struct race_cell *cell, const struct race_mark *new,
	bool writes, uint64_t at)
{
	struct race_block *block = warp->race;
	bool after_write, after_read = true;
	const bool is_race = race_conflicts(block, cell, true, new, writes, &after_write);
	if (is_race) {
		race_report(warp, &cell->write, true, new, writes, at);
	}
	if (unlikely(cell->write.is_async || (is_race && cell->write.is_volatile))
	    && sync_is_on(warp)) {
		race_report_sync(warp, &cell->write, new, is_race, at);
	}
	if (writes) {
		if (race_conflicts(block, cell, false, new, true, &after_read)) {
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
	if (cell->read.launch == 0 || race_is_same(&cell->read, new)
	    || race_knows_reads(block, cell, new->thread)) {
		cell->read = *new;
	} else if (cell->read.is_strong || !new->is_strong) {
		const bool are_strong = cell->read.is_strong && new->is_strong;
		const bool is_mixed = cell->read.is_strong || cell->read.is_volatile;
		race_merge_reads(block, cell, new);
		race_merge(&cell->read, new);
		cell->read.is_strong = are_strong;
		cell->read.is_volatile = is_mixed || new->is_volatile;
	}
}

/* A barrier in shared memory begins, ends or is used.  It may not have begun, or begin twice. */
static void race_note_mbarrier(struct rt_warp *warp, const struct race_mark *mark, uint64_t at,
	uint32_t access)
{
	struct race_line *line = race_find_line(warp, at);
	const uint8_t bit = (uint8_t)(1u << at % RACE_LINE / 8);
	const bool begins = !(access & (RT_ACCESS_STRONG | RT_ACCESS_ENDS));
	if (!line) {
		return;
	}
	const bool is_there = line->barriers & bit;
	line->barriers &= (uint8_t)(access & RT_ACCESS_ENDS ? ~bit : UINT8_MAX);
	line->barriers |= begins ? bit : 0;
	if (is_there != begins || !sync_is_on(warp)
	    || race_is_reported(warp->race->race, (uint64_t)mark->line << 4 | 15)) {
		return;
	}
	sync_report(warp, (struct sync_place){mark->thread, mark->line}, NULL, NULL,
		"the mbarrier at byte %" PRIu64 " of shared memory is %s",
		at - (uintptr_t)warp->shared, begins
		? "initialized twice, without mbarrier.inval in between"
		: access & RT_ACCESS_ENDS ? "invalidated before it is initialized"
		: "used before it is initialized");
}

/* By the cells of a line: the accesses to so many bytes, which may go on in the next lines. */
static void race_touch_bytes(struct rt_warp *warp, struct race_mark *mark, bool writes,
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

/* Where a lane accesses memory. */
static uint64_t race_lane_at(const struct rt_warp *warp, uint32_t pattern, uint32_t lane)
{
	return pattern == RT_WATCH_ANY ? warp->at[lane]
		: warp->at[0] + (pattern == RT_WATCH_PLACE ? 0 : warp->access
			* (pattern == RT_WATCH_TWINS ? lane % 16 : lane));
}

/* Note when a block accesses global memory first after its threads have met; strong accesses are
 * those that wait for other blocks. */
static void race_note_first(struct race_block *block, const struct rt_warp *warp, uint32_t access,
	uint32_t pattern)
{
	const enum rt_access kind = (enum rt_access)(access & RT_ACCESS_KIND);
	if (kind > RT_CHANGES || (access & (RT_ACCESS_STRONG | RT_ACCESS_IDLE))) {
		return;
	}
	for (uint32_t left = warp->gathers; left != 0 && block->first == 0; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		const uint64_t at = race_lane_at(warp, pattern, lane);
		const bool is_plain = !(access & RT_ACCESS_VOLATILE)
			|| !race_is_flag(block, warp->first + lane, kind);
		const bool is_global = at - (uintptr_t)warp->shared >= RT_SHARED_WINDOW
			&& !race_is_private(warp, at);
		block->first = is_plain && is_global ? block->race->now : 0;
	}
	if (block->first != 0 && block->published_first) {
		*block->published_first = block->first;
	}
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
static void race_note(struct race *race, const struct rt_warp *warp, enum rt_access kind,
	uint32_t pattern)
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
		const uint64_t at = race_lane_at(warp, pattern, lane);
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

/* An access of some lanes of a warp: lane i's begins at base + i * stride. */
struct race_access {
	struct rt_warp *warp;
	struct race_block *block;
	uint32_t access;
	uint32_t line;           /* of PTX */
	bool writes;
	uint32_t lanes;
	bool has_twins;          /* the lane 16 later is at the same place as each of these */
	uint64_t base;
	uint64_t stride;         /* the size; 0: all lanes are at one place */
	uint32_t size;
};

/* By cells, one lane after the other. */
static void race_watch_lanes(const struct race_access *a, uint32_t lanes)
{
	struct rt_warp *warp = a->warp;
	struct race_block *block = a->block;
	struct race_mark mark = {.launch = block->race->number & RACE_LAUNCHES,
		.block = block->number, .line = a->line & LINE_MOST,
		.is_volatile = (a->access & RT_ACCESS_VOLATILE) != 0,
		.is_cta = (a->access & RT_ACCESS_CTA) != 0,
		.is_atomic = (a->access & RT_ACCESS_KIND) == RT_CHANGES,
		.is_async = (a->access & RT_ACCESS_ASYNC) != 0};
	for (uint32_t left = lanes; left != 0; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		const uint32_t thread = warp->first + lane;
		const uint64_t at = a->base + lane * a->stride;
		mark.thread = thread & 1023;
		mark.time = block->race->now;
		mark.is_strong = a->access & RT_ACCESS_STRONG
			|| (mark.is_volatile && race_is_flag(block, thread, a->writes
				? RT_WRITES : RT_READS));
		if (mark.is_strong) {
			race_synchronise(block, thread, at, a->access);
		}
		if (a->access & RT_ACCESS_MBARRIER) {
			race_note_mbarrier(warp, &mark, at, a->access);
		}
		race_touch_bytes(warp, &mark, a->writes, at, a->size);
	}
}

/* Whether the threads of a row that reads have read its words already, or now have, since threads
 * were ordered last: then nothing orders those that read the old row and these. */
static inline bool race_join_row(struct race_row *old, const struct race_row *new)
{
	if (old->time != new->time || old->block != new->block || race_row_writes(old)) {
		return false;
	}
	if (race_row_level(old) == RACE_BLOCK) {
		const uint32_t warp = 1u << race_row_warp(new);
		old->members |= old->words == new->words ? warp : 0;
		return old->members & warp;
	}
	return race_row_level(old) == RACE_WARP && old->members == new->members
		&& old->step == new->step
		&& race_row_warp(old) == race_row_warp(new);
}

/* Note a row in a line that is not split: what most accesses find is done here.  False: the line
 * needs cells, and nothing has changed. */
static inline bool race_touch_row(const struct race_block *block, struct race_line *line,
	struct race_row *new)
{
	struct race_row *old = &line->rows[0];
	if (line->count == 0) {
		line->rows[0] = *new;
		line->words = new->words;
		line->count = 1;
		line->latest = new->time;
		return true;
	}
	if (!race_row_writes(new) && (new->words & ~old->words) == 0
	    && (race_row_is_final(block->race, old) || race_join_row(old, new))) {
		return true;
	}
	return race_shadow_touch(block->race->shadow, block, line, new);
}

/* The words of a line that lanes access, of which a bit for each begins with the one at word 0;
 * false: some words in part. */
static bool race_row_words(uint32_t lanes, uint32_t size, uint32_t *words)
{
	uint32_t out = lanes, parts = 0;
	if (size == 16) { // four words for each bit
		out = (out | out << 6) & 0x0303;
		out = ((out | out << 3) & 0x1111) * 15;
	} else if (size == 8) {
		out = (out | out << 4) & 0x0f0f;
		out = (out | out << 2) & 0x3333;
		out = ((out | out << 1) & 0x5555) * 3;
	} else if (size < 4) {
		const uint32_t per = 4 / size, all = (1u << per) - 1;
		out = 0;
		for (uint32_t word = 0; word < 32 / per; word++) {
			const uint32_t part = lanes >> word * per & all;
			out |= (part == all ? 1u : 0) << word;
			parts |= (part != 0 && part != all ? 1u : 0) << word;
		}
	}
	*words = out;
	return parts == 0;
}

/* A row of a warp: its lanes at word 0, rotated by so many. */
static struct race_row race_make_row(const struct race_access *a, uint32_t lanes, uint32_t turn,
	uint32_t words, uint32_t step)
{
	return (struct race_row){a->block->race->now, a->block->number,
		lanes << turn | lanes >> (32 - turn) % 32,
		race_row_what(a->line, a->warp->first / 32 % 32, RACE_WARP, a->writes),
		(uint16_t)words, (uint16_t)step};
}

/* By cells, if a line cannot note a row: the lanes that begin in it, from the one at word 0 on. */
static void race_watch_split(const struct race_access *a, int64_t lane, uint64_t places)
{
	const uint32_t mine = (uint32_t)(lane >= 0 ? places << lane : places >> -lane);
	race_watch_lanes(a, mine);
	if (a->has_twins) {
		struct race_access twins = *a;
		twins.base -= 16 * a->stride;
		race_watch_lanes(&twins, mine << 16);
	}
}

/* The lanes that begin in a line, as one row. */
static void race_watch_line(const struct race_access *a, struct race_line *line, uint64_t line_at)
{
	const uint32_t size = a->size;
	const int64_t lane = (int64_t)(line_at - a->base) >> __builtin_ctz(size); // at word 0
	const uint32_t most = RACE_LINE / size;
	/* A bit for each place in the line, of which bytes have 64. */
	const uint64_t places = (lane >= 0 ? (uint64_t)a->lanes >> lane
			: (uint64_t)a->lanes << -lane)
		& (most < 64 ? (UINT64_C(1) << most) - 1 : UINT64_MAX);
	const uint32_t lanes = (uint32_t)places;
	uint32_t words;
	if (places == 0) {
		return;
	}
	if (line && !line->is_split && places == lanes
	    && race_row_words(lanes, size, &words)) {
		const uint32_t members = size < 4 ? (1u << 4 / size) - 1 : 1;
		struct race_row row = race_make_row(a, a->has_twins ? members * 0x10001 : members,
			(uint32_t)(a->warp->first + lane) % 32, words, 16 / size);
		if (race_touch_row(a->block, line, &row)) {
			return;
		}
	}
	race_watch_split(a, lane, places);
}

/* Lanes side by side.  The next warp often goes on where this one ends, so its lines are fetched,
 * too: prefetchers do not see that if each warp jumps from one row to the next. */
static void race_watch_rows(const struct race_access *a, uint64_t at, uint64_t end)
{
	uint64_t line_at = at & ~(uint64_t)(RACE_LINE - 1);
	bool is_shared;
	struct race_line *line = race_locate(a->warp, line_at, &is_shared);
	const uint64_t count = (end - line_at + RACE_LINE - 1) / RACE_LINE;
	for (uint64_t i = 1; i < 2 * count && line && !is_shared; i++) {
		__builtin_prefetch(line + i, 1);
	}
	while (line_at < end) {
		if (likely(line)) {
			race_renew(a->block, line, is_shared);
		}
		race_watch_line(a, line, line_at);
		line_at += RACE_LINE;
		if (line && !is_shared && line_at % RACE_CHUNK != 0) {
			line++;
		} else if (line_at < end) {
			line = race_locate(a->warp, line_at, &is_shared);
		}
	}
}

/* Lanes at one place, in one line. */
static void race_watch_place(struct race_access *a, uint64_t at, uint32_t size, uint32_t lanes)
{
	struct race_row row = race_make_row(a, lanes, a->warp->first % 32,
		((1u << size / 4) - 1) << at % RACE_LINE / 4, 0);
	struct race_line *line = race_find_line(a->warp, at);
	if (!line || line->is_split || (a->writes && (lanes & (lanes - 1)) != 0)
	    || !race_touch_row(a->block, line, &row)) {
		struct race_access part = *a;
		part.base = at;
		part.stride = 0;
		part.size = size;
		race_watch_lanes(&part, lanes);
	}
}

/* Lanes at one place, whose size is one of words. */
static void race_watch_words(struct race_access *a, uint64_t at, uint32_t lanes)
{
	const uint64_t end = at + a->size;
	while (at < end) {
		const uint64_t next = (at & ~(uint64_t)(RACE_LINE - 1)) + RACE_LINE;
		race_watch_place(a, at, (uint32_t)((next < end ? next : end) - at), lanes);
		at = next;
	}
}

/* An access to whole words, which is not more than that. */
static bool race_is_plain(const struct race_access *a)
{
	return (a->access & ~(uint32_t)RT_ACCESS_KIND) == 0 && a->base % 4 == 0;
}

/* Its lanes are side by side, with elements that lines are made of. */
static bool race_is_row(const struct race_access *a)
{
	const uint32_t size = a->size;
	return race_is_plain(a) && a->stride != 0 && size <= 16 && (size & (size - 1)) == 0
		&& (a->base & (size - 1)) == 0 && (size >= 4 || !a->writes);
}

static void race_watch_run(struct race_access *a)
{
	const uint32_t first = (uint32_t)__builtin_ctz(a->lanes);
	const uint32_t last = 31 - (uint32_t)__builtin_clz(a->lanes);
	const uint64_t at = a->base + first * a->stride, end = a->base + last * a->stride + a->size;
	const bool has_words = race_is_plain(a) && a->size % 4 == 0;
	if (race_is_private(a->warp, at)) {
		return;
	}
	if (has_words && (a->stride == 0 || (first == last && !a->has_twins))) {
		race_watch_words(a, at, a->lanes);
	} else if (race_is_row(a)) {
		race_watch_rows(a, at, end);
	} else if (has_words) {
		for (uint32_t left = a->lanes; left != 0; left &= left - 1) {
			const uint32_t lane = (uint32_t)__builtin_ctz(left);
			race_watch_words(a, a->base + lane * a->stride, left & -left);
		}
	} else {
		race_watch_lanes(a, a->lanes);
	}
}

/* Half warps at one row. */
static void race_watch_twins(struct race_access *a, uint32_t lanes)
{
	const uint32_t low = lanes & 0xffff, high = lanes >> 16;
	a->has_twins = low == high && !a->writes && race_is_row(a);
	a->lanes = low;
	if (low != 0) {
		race_watch_run(a);
	}
	if (high != 0 && !a->has_twins) {
		a->base -= 16 * a->stride;
		a->lanes = high << 16;
		race_watch_run(a);
	}
}

/* Whether all of 16 lanes are where they would be. */
static bool race_are_even(const uint64_t at[16], uint64_t base, uint64_t stride)
{
	uint64_t off = 0;
	for (unsigned i = 0; i < 16; i++) {
		off |= at[i] ^ base;
		base += stride;
	}
	return off == 0;
}

/* Lanes, from the first one on, that are side by side or at one place, so many bytes after where
 * they are. */
static void race_find_run(struct race_access *a, uint32_t lanes, uint64_t shift)
{
	const uint64_t *at = a->warp->at;
	const uint32_t first = (uint32_t)__builtin_ctz(lanes), half = first & 16;
	uint32_t left = lanes & (lanes - 1);
	uint64_t stride = a->size;
	if (left != 0) {
		const uint32_t next = (uint32_t)__builtin_ctz(left);
		stride = at[next] == at[first] ? 0 : stride;
	}
	const uint64_t base = at[first] - first * stride;
	uint32_t run = lanes ^ left;
	if (first % 16 == 0 && (lanes >> half & 0xffff) == 0xffff
	    && race_are_even(at + half, base + half * stride, stride)) {
		run = 0xffffu << half;
		left = lanes & ~run;
	}
	for (; left != 0; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		if (at[lane] != base + lane * stride) {
			break;
		}
		run |= left & -left;
	}
	a->lanes = run;
	a->base = base + shift;
	a->stride = stride;
}

/* Lanes that are anywhere, each of which accesses words of one line.  The lines come first, since
 * the processor can wait for all of them at a time. */
static void race_watch_scattered(const struct race_access *a, uint32_t lanes, uint64_t shift)
{
	struct rt_warp *warp = a->warp;
	struct race_line *lines[RT_GROUP];
	uint32_t shared = 0;
	for (uint32_t left = lanes; left != 0; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		bool is_shared;
		lines[lane] = race_locate(warp, warp->at[lane] + shift, &is_shared);
		shared |= (uint32_t)is_shared << lane;
		__builtin_prefetch(lines[lane], 1);
	}
	for (uint32_t left = lanes; left != 0; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		const uint64_t at = warp->at[lane] + shift;
		struct race_line *line = lines[lane];
		if (race_is_private(warp, at)) {
			continue;
		}
		if (likely(line)) {
			race_renew(a->block, line, shared >> lane & 1);
			struct race_row row = race_make_row(a, 1u << lane, warp->first % 32,
				((1u << a->size / 4) - 1) << at % RACE_LINE / 4, 0);
			if (!line->is_split && race_touch_row(a->block, line, &row)) {
				continue;
			}
		}
		struct race_access part = *a;
		part.base = at;
		part.stride = 0;
		race_watch_lanes(&part, 1u << lane);
	}
}

/* Whether a lane is side by side with the next one, or at one place. */
static bool race_are_near(const struct race_access *a, uint32_t lanes)
{
	const uint64_t *at = a->warp->at;
	const uint32_t rest = lanes & (lanes - 1);
	const uint64_t step = rest == 0 ? UINT64_MAX
		: at[__builtin_ctz(rest)] - at[__builtin_ctz(lanes)];
	return step == 0 || step == a->size;
}

/* Whether each lane accesses whole words of one line, and the first lanes are not near. */
static bool race_are_scattered(const struct race_access *a, uint32_t lanes)
{
	const uint64_t *at = a->warp->at;
	const uint32_t size = a->size;
	uint64_t off = 0;
	if ((a->access & ~(uint32_t)RT_ACCESS_KIND) != 0 || size < 4 || size > 16
	    || (size & (size - 1)) != 0 || race_are_near(a, lanes)
	    || (lanes & (lanes - 1) && race_are_near(a, lanes & (lanes - 1)))) {
		return false;
	}
	for (unsigned i = 0; i < RT_GROUP; i++) {
		off |= lanes >> i & 1 ? at[i] : 0;
	}
	return off % size == 0;
}

/* Lanes that are anywhere.  Loads that were joined overlap if a lane is closer to the next than it
 * reads: a row each. */
static void race_watch_any(struct race_access *a, uint32_t lanes)
{
	const uint64_t *at = a->warp->at;
	const uint32_t rest = lanes & (lanes - 1), size = a->size;
	const uint64_t step = rest != 0 ? at[__builtin_ctz(rest)] - at[__builtin_ctz(lanes)] : 0;
	const bool overlaps = step != 0 && step < size && size % step == 0;
	a->size = overlaps ? (uint32_t)step : size;
	const bool are_scattered = race_are_scattered(a, lanes);
	for (uint64_t shift = 0; shift < size; shift += a->size) {
		if (are_scattered) {
			race_watch_scattered(a, lanes, shift);
			continue;
		}
		for (uint32_t left = lanes; left != 0; left &= ~a->lanes) {
			race_find_run(a, left, shift);
			race_watch_run(a);
		}
	}
}

static void race_watch_others(struct rt_warp *warp, uint32_t access)
{
	const enum rt_access kind = (enum rt_access)(access & RT_ACCESS_KIND);
	if (kind == RT_FORGETS) {
		race_shadow_forget(warp->race->race, warp->at[0], warp->access);
	}
	for (uint32_t left = kind < RT_FORGETS ? warp->gathers : 0; left != 0; left &= left - 1) {
		const uint32_t thread = warp->first + (uint32_t)__builtin_ctz(left);
		if (kind == RT_FENCES) {
			race_fence(warp->race, thread, access & RT_ACCESS_CTA);
		} else {
			race_note_copies(warp->race, thread, kind, warp->access);
		}
	}
}

/* Words of four bytes that lanes read or write side by side: most accesses.  Row by row, for lines
 * that are not split.  False: what is here is not enough; to note a row again changes nothing. */
static bool race_watch_words_of_lanes(struct rt_warp *warp, uint32_t access, uint32_t pattern)
{
	const struct race_block *block = warp->race;
	const uint64_t at = warp->at[0], word = at % RACE_LINE / 4;
	const uint32_t lanes = warp->gathers, number = warp->first / 32 % 32;
	uint32_t members = 1, turn = (warp->first - (uint32_t)word) % 32;
	uint64_t places = lanes;
	if (access > RT_WRITES || warp->access != 4 || at % 4 != 0 || warp->line > LINE_MOST
	    || race_is_private(warp, at)) {
		return false;
	}
	if (pattern == RT_WATCH_TWINS) {
		members = 0x10001;
		places = lanes & 0xffff;
		if (places != lanes >> 16 || access != RT_READS) {
			return false;
		}
	} else if (pattern != RT_WATCH_ROW) {
		return false;
	}
	const uint32_t what = race_row_what(warp->line, number, RACE_WARP, access == RT_WRITES);
	uint64_t line_at = at - word * 4;
	for (places <<= word; places != 0; places >>= RACE_WORDS, line_at += RACE_LINE) {
		struct race_row row = {block->race->now, block->number,
			members << turn | members >> (32 - turn) % 32, what, (uint16_t)places, 4};
		bool is_shared;
		struct race_line *line = race_locate(warp, line_at, &is_shared);
		turn = (turn + RACE_WORDS) % 32;
		if (row.words == 0) {
			continue;
		}
		if (unlikely(!line)) {
			return false;
		}
		if (!is_shared) { // the next warp often goes on here, and prefetchers do not see it
			__builtin_prefetch(line + 2, 1);
		}
		race_renew(block, line, is_shared);
		if (line->is_split || !race_touch_row(block, line, &row)) {
			return false;
		}
	}
	return true;
}

void race_watch(struct rt_warp *warp, uint32_t access, uint32_t pattern)
{
	const enum rt_access kind = (enum rt_access)(access & RT_ACCESS_KIND);
	if (warp->race->first == 0 && !warp->race->race->is_apart) {
		race_note_first(warp->race, warp, access, pattern);
	}
	if (likely(!warp->race->race->is_noting)
	    && race_watch_words_of_lanes(warp, access, pattern)) {
		return;
	}
	if (unlikely(warp->race->race->is_noting)) {
		race_note(warp->race->race, warp, kind, pattern);
	}
	if (kind >= RT_FENCES) {
		race_watch_others(warp, access);
		return;
	}
	if (access & RT_ACCESS_IDLE) {
		return;
	}
	struct race_access a = {.warp = warp, .block = warp->race, .access = access,
		.line = warp->line < LINE_MOST ? warp->line : LINE_MOST,
		.writes = kind != RT_READS, .size = warp->access};
	if (pattern != RT_WATCH_ANY && warp->gathers != 0) {
		a.lanes = warp->gathers;
		a.base = warp->at[0];
		a.stride = pattern == RT_WATCH_PLACE ? 0 : a.size;
		if (pattern == RT_WATCH_TWINS) {
			race_watch_twins(&a, a.lanes);
		} else {
			race_watch_run(&a);
		}
		return;
	}
	if (warp->gathers != 0) {
		race_watch_any(&a, warp->gathers);
	}
}

/* The threads of a warp have met at a load or store of a matrix, and make it together. */
static void race_watch_matrix(const struct rt_warp *warp, uint32_t what, uint32_t set)
{
	struct matrix_access matrix;
	if (!matrix_find_access(&matrix, warp->exchange, what, set) || matrix.lanes == 0) {
		return;
	}
	struct rt_warp all = *warp; // which may be one thread
	all.first = warp->first / RT_GROUP * RT_GROUP;
	all.line = warp->exchange->lines[__builtin_ctz(matrix.lanes)];
	all.gathers = matrix.lanes;
	all.access = matrix.size;
	memcpy(all.at, matrix.at, sizeof(all.at));
	race_watch(&all, matrix.writes ? RT_WRITES : RT_READS, RT_WATCH_ANY);
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
	race_watch_matrix(warp, what, set);
}
