/* SPDX-License-Identifier: MIT */
/*
 * The accesses of a warp, cut into rows.
 *
 * Compiled code says before each access what the lanes of a warp are about to do, and where.  Most
 * lanes are side by side or at one place, which is a row of a line: race_shadow.c notes it at once.
 * What is no row, and what a line has no room for, goes lane by lane to the cells of race.c.
 */
#include "base/common.h"

#include "cpu/check/race.h"

#include "cpu/check/sync.h"
#include "cpu/runtime/rt_collect.h"
#include "cpu/runtime/rt_mma.h"

#include <string.h>

#define LINE_MOST ((1u << 20) - 1)

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
	struct race_mark mark = {.is_there = 1,
		.block = block->number, .line = a->line & LINE_MOST,
		.is_volatile = (a->access & RT_ACCESS_VOLATILE) != 0,
		.is_cta = (a->access & RT_ACCESS_CTA) != 0,
		.is_atomic = (a->access & RT_ACCESS_KIND) == RT_CHANGES,
		.is_async = (a->access & RT_ACCESS_ASYNC) != 0,
		.is_mbarrier = (a->access & RT_ACCESS_MBARRIER) != 0};
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
static inline bool race_join_row(const struct race_line *line, struct race_row *old,
	struct race_row new)
{
	if (old->time != new.time || old->block != new.block || race_row_writes(old)) {
		return false;
	}
	const enum race_level level = race_row_level(old);
	const uint32_t warp = 1u << race_row_warp(&new);
	if (level == RACE_BLOCK) {
		old->members |= old->words == new.words ? warp : 0;
		return old->members & warp;
	}
	if (level != RACE_WARP) {
		return false;
	}
	if (race_row_warp(old) == race_row_warp(&new)) {
		return old->members == new.members && ((old->what ^ new.what) & RACE_STEP) == 0;
	}
	if (old->words != new.words || line->count > 1) { // another one may be a write
		return false;
	}
	old->members = 1u << race_row_warp(old) | warp;
	old->what = race_row_what(race_row_line(&new), race_row_warp(&new), RACE_BLOCK, false);
	return true;
}

/* Note a row in a line that is not split: what most accesses find is done here, on a row that is in
 * registers.  False: the line needs cells, and nothing has changed. */
static always_inline bool race_touch_row(const struct race_block *block, struct race_line *line,
	struct race_row new)
{
	struct race_row *old = &line->rows[0];
	if (line->count == 0) {
		line->rows[0] = new;
		line->words = new.words;
		line->count = 1;
		line->latest = new.time;
		return true;
	}
	if (!race_row_writes(&new) && (new.words & ~old->words) == 0
	    && (race_row_is_final(block->race, old) || race_join_row(line, old, new))) {
		return true;
	}
	if ((new.words & line->words) == 0 && race_row_is_twin(old, &new)) {
		old->words |= new.words;
		line->words |= new.words;
		return true;
	}
	struct race_row row = new;
	return race_shadow_touch(block->race->shadow, block, line, &row);
}

/* So many words of a line, from one on. */
static inline uint32_t race_words(uint32_t first, uint32_t count)
{
	return (uint32_t)(((UINT64_C(1) << count) - 1) << first);
}

/* The words that lanes access, of which a bit for each begins with the one at word 0, and whose
 * elements are words or more. */
static uint32_t race_spread(uint32_t lanes, uint32_t size)
{
	uint32_t words = lanes;
	if (size == 16) { // four words for each bit
		words = (words | words << 12) & 0x000f000f;
		words = (words | words << 6) & 0x03030303;
		words = ((words | words << 3) & 0x11111111) * 15;
	} else if (size == 8) {
		words = (words | words << 8) & 0x00ff00ff;
		words = (words | words << 4) & 0x0f0f0f0f;
		words = (words | words << 2) & 0x33333333;
		words = ((words | words << 1) & 0x55555555) * 3;
	}
	return words;
}

/* Likewise of elements of which a word has several; false: some words in part. */
static bool race_squeeze(uint32_t lanes, uint32_t size, uint32_t *words)
{
	const uint32_t per = 4 / size, all = (1u << per) - 1;
	*words = 0;
	for (uint32_t word = 0; word < 32 / per; word++) {
		const uint32_t part = lanes >> word * per & all;
		if (part != 0 && part != all) {
			return false;
		}
		*words |= (part != 0 ? 1u : 0) << word;
	}
	return true;
}

/* A row of a warp: its lanes at word 0, rotated by so many. */
static struct race_row race_make_row(const struct race_access *a, uint32_t lanes, uint32_t turn,
	uint32_t words, uint32_t step)
{
	return (struct race_row){a->block->race->now, a->block->number,
		lanes << turn | lanes >> (32 - turn) % 32,
		race_row_what(a->line, a->warp->first / 32 % 32, RACE_WARP, a->writes) | step,
		words};
}

/* Lanes of a row, by cells. */
static void race_watch_split(const struct race_access *a, uint32_t lanes)
{
	race_watch_lanes(a, lanes);
	if (a->has_twins) {
		struct race_access twins = *a;
		twins.base -= 16 * a->stride;
		race_watch_lanes(&twins, lanes << 16);
	}
}

/* Bits to the left, or if there are less than none to the right. */
static uint32_t race_shift(uint32_t bits, int64_t by)
{
	return by >= 32 || by <= -32 ? 0 : by >= 0 ? bits << by : bits >> -by;
}

/* The lanes that begin in a line, as one row. */
static void race_watch_line(const struct race_access *a, struct race_line *line, uint64_t line_at)
{
	const uint32_t size = a->size;
	const int64_t lane = (int64_t)(line_at - a->base) >> __builtin_ctz(size); // at word 0
	const uint32_t most = RACE_LINE / size;
	const uint32_t before = lane > 0 ? race_shift(UINT32_MAX, lane) : UINT32_MAX;
	const uint32_t lanes = a->lanes & before & ~race_shift(UINT32_MAX, lane + most);
	uint32_t words;
	if (lanes == 0) {
		return;
	}
	bool fits = line && !line->is_split;
	if (size >= 4) {
		words = race_spread(race_shift(lanes, -lane), size);
	} else {
		fits &= race_squeeze(lanes, size, &words);
		words = race_shift(words, -lane * size / 4);
	}
	if (fits) {
		const uint32_t members = size < 4 ? (1u << 4 / size) - 1 : 1;
		struct race_row row = race_make_row(a, a->has_twins ? members * 0x10001 : members,
			(uint32_t)(a->warp->first + lane) % 32, words, race_row_step(size));
		if (race_touch_row(a->block, line, row)) {
			return;
		}
	}
	race_watch_split(a, lanes);
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
		race_words(at % RACE_LINE / 4, size / 4), 0);
	struct race_line *line = race_find_line(a->warp, at);
	if (!line || line->is_split || (a->writes && (lanes & (lanes - 1)) != 0)
	    || !race_touch_row(a->block, line, row)) {
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
	for (unsigned i = 0; i < 16; i += 4, base += 4 * stride) {
		off |= (at[i] ^ base) | (at[i + 1] ^ (base + stride))
			| (at[i + 2] ^ (base + 2 * stride)) | (at[i + 3] ^ (base + 3 * stride));
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

/* Lanes that are anywhere, each of which accesses words of one line.  All lines are fetched first,
 * then the cells of those that are split: the processor can wait for many of them at a time. */
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
	for (uint32_t left = a->block->race->has_cells ? lanes : 0; left != 0; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		if (likely(lines[lane]) && lines[lane]->is_split) {
			const struct race_cell *cell = &lines[lane]->cells[
				(warp->at[lane] + shift) % RACE_LINE / 4];
			__builtin_prefetch(&cell->write, 1);
			__builtin_prefetch(&cell->reads, 1);
		}
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
				race_words(at % RACE_LINE / 4, a->size / 4), 0);
			if (!line->is_split && race_touch_row(a->block, line, row)) {
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
	for (unsigned i = 0; i < RT_GROUP && lanes == UINT32_MAX; i++) {
		off |= at[i];
	}
	for (uint32_t left = lanes != UINT32_MAX ? lanes : 0; left != 0; left &= left - 1) {
		off |= at[__builtin_ctz(left)];
	}
	return (off & (size - 1)) == 0;
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
	const uint32_t what = race_row_what(warp->line, number, RACE_WARP, access == RT_WRITES)
		| race_row_step(4);
	uint64_t line_at = at - word * 4;
	for (places <<= word; places != 0; places >>= RACE_WORDS, line_at += RACE_LINE) {
		struct race_row row = {block->race->now, block->number,
			members << turn | members >> (32 - turn) % 32, what, (uint32_t)places};
		bool is_shared;
		struct race_line *line = race_locate(warp, line_at, &is_shared);
		if (row.words == 0) {
			continue;
		}
		if (unlikely(!line)) {
			return false;
		}
		if (!is_shared) { // the next warp often goes on here, and prefetchers do not see it
			__builtin_prefetch(line + 1, 1);
		}
		race_renew(block, line, is_shared);
		if (line->is_split || !race_touch_row(block, line, row)) {
			return false;
		}
	}
	return true;
}

static void race_watch_once(struct rt_warp *warp, uint32_t access, uint32_t pattern)
{
	const enum rt_access kind = (enum rt_access)(access & RT_ACCESS_KIND);
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

/* Likewise several rows that follow each other, if all lanes read them: line by line. */
static bool race_watch_words_of_rows(struct rt_warp *warp, uint32_t access, uint32_t pattern,
	uint32_t count)
{
	const struct race_block *block = warp->race;
	const uint64_t at = warp->at[0], word = at % RACE_LINE / 4;
	const bool are_twins = pattern == RT_WATCH_TWINS;
	const uint64_t end = at + (uint64_t)count * (are_twins ? 64 : 128);
	const uint32_t turn = (warp->first - (uint32_t)word) % 32;
	const uint32_t members = are_twins ? 0x10001 : 1;
	if (access != RT_READS || warp->access != 4 || at % 4 != 0 || warp->line > LINE_MOST
	    || warp->gathers != UINT32_MAX || block->race->is_noting || race_is_private(warp, at)) {
		return false;
	}
	struct race_row row = {block->race->now, block->number,
		members << turn | members >> (32 - turn) % 32,
		race_row_what(warp->line, warp->first / 32 % 32, RACE_WARP, false)
			| race_row_step(4), UINT32_MAX << word};
	for (uint64_t line_at = at - word * 4; line_at < end; line_at += RACE_LINE) {
		bool is_shared;
		struct race_line *line = race_locate(warp, line_at, &is_shared);
		if (unlikely(!line)) {
			return false;
		}
		if (end - line_at < RACE_LINE) {
			row.words &= race_words(0, (uint32_t)(end - line_at) / 4);
		}
		race_renew(block, line, is_shared);
		if (line->is_split || !race_touch_row(block, line, row)) {
			return false;
		}
		row.words = UINT32_MAX;
	}
	return true;
}

void race_watch(struct rt_warp *warp, uint32_t access, uint32_t pattern)
{
	const uint32_t count = pattern / RT_WATCH_MORE + 1;
	pattern %= RT_WATCH_MORE;
	if (warp->race->first == 0 && !warp->race->race->is_apart) {
		race_note_first(warp->race, warp, access, pattern);
	}
	if (likely(count == 1)) {
		race_watch_once(warp, access, pattern);
	} else if (!race_watch_words_of_rows(warp, access, pattern, count)) {
		for (uint32_t i = 0; i < count; i++) {
			race_watch_once(warp, access, pattern);
			warp->at[0] += warp->access * (pattern == RT_WATCH_TWINS ? 16 : 32);
		}
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
