/* SPDX-License-Identifier: MIT */
/*
 * Misuse of an mbarrier, for the check `sync`.
 *
 * Too many arrivals are seldom more than a phase expects: the phase ends, and the next arrival
 * counts for the phase after it.  So an arrival is wrong if its thread does not know that the phase
 * before has ended, because it has not waited for that: in another order of the threads it would
 * have come in that phase.  And mbarrier.inval is wrong if its thread does not know of all waits
 * and arrivals: in another order they would come later.
 */
#include "base/common.h"

#include "cpu/check/race.h"

#include "cpu/check/sync.h"
#include "cpu/runtime/rt_mbarrier.h"

#include <inttypes.h>
#include <string.h>

/* Report a line once for each of these. */
enum mbarrier_bug { BUG_BEGIN = 12, BUG_END, BUG_ARRIVE, BUG_USE };

static bool mbarrier_is_reported(struct rt_warp *warp, uint32_t line, enum mbarrier_bug bug)
{
	return race_is_reported(warp->race->race, (uint64_t)line << 4 | bug);
}

static struct sync_place mbarrier_place(const struct race_mark *mark)
{
	return (struct sync_place){mark->thread, mark->line};
}

static uint64_t mbarrier_offset(const struct rt_warp *warp, uint64_t at)
{
	return at - (uintptr_t)warp->shared;
}

/* mbarrier.inval comes while another thread may still wait for the barrier or arrive. */
static void mbarrier_check_end(struct rt_warp *warp, const struct race_barrier *barrier,
	const struct race_mark *mark, uint64_t at)
{
	struct race_mark other = {.is_there = 1, .block = mark->block};
	for (uint32_t t = 0; t < warp->race->threads; t++) {
		other.thread = t & 1023;
		other.time = barrier->uses[t].time;
		if (other.time == 0 || race_is_ordered(warp->race, &other, mark->thread)) {
			continue;
		}
		if (!mbarrier_is_reported(warp, mark->line, BUG_END)) {
			sync_report(warp, mbarrier_place(mark),
				&(struct sync_place){t, barrier->uses[t].line},
				"another thread uses it here", "the mbarrier at byte %" PRIu64
				" of shared memory is invalidated, and nothing orders that after "
				"its last use", mbarrier_offset(warp, at));
		}
		return;
	}
}

/* The barrier begins, if `mark` is NULL, or ends there. */
static void mbarrier_reset(struct race_barrier *barrier, uint32_t threads,
	const struct race_mark *mark)
{
	memset(barrier->uses, 0, threads * sizeof(*barrier->uses));
	barrier->ended = (struct race_mark){.is_there = 0};
	barrier->invalid = mark ? *mark : barrier->ended;
}

void race_note_mbarrier(struct rt_warp *warp, const struct race_mark *mark, uint64_t at,
	uint32_t access)
{
	struct race_line *line = race_find_line(warp, at);
	struct race_barrier *barrier = race_barrier_at(warp->race->race->order, at,
		warp->race->threads);
	const uint16_t bit = (uint16_t)(1u << at % RACE_LINE / 8);
	const bool ends = access & RT_ACCESS_ENDS, begins = !(access & RT_ACCESS_STRONG) && !ends;
	if (!line || !barrier) {
		return;
	}
	const bool is_there = line->barriers & bit;
	line->barriers &= (uint16_t)(ends ? ~bit : UINT16_MAX);
	line->barriers |= begins ? bit : 0;
	if (sync_is_on(warp) && is_there && ends) {
		mbarrier_check_end(warp, barrier, mark, at);
	}
	if (sync_is_on(warp) && is_there == begins && !mbarrier_is_reported(warp, mark->line,
		begins ? BUG_BEGIN : BUG_USE)) {
		const bool is_late = !begins && barrier->invalid.is_there
			&& barrier->invalid.block == mark->block;
		const struct sync_place other = mbarrier_place(&barrier->invalid);
		sync_report(warp, mbarrier_place(mark), is_late ? &other : NULL,
			"mbarrier.inval is here", "the mbarrier at byte %" PRIu64
			" of shared memory is %s", mbarrier_offset(warp, at),
			begins ? "initialized twice, without mbarrier.inval in between"
			: is_late ? ends ? "invalidated twice" : "used after mbarrier.inval"
			: ends ? "invalidated before it is initialized"
			: "used before it is initialized");
	}
	if (begins || ends) {
		mbarrier_reset(barrier, warp->race->threads, ends ? mark : NULL);
	} else {
		barrier->uses[mark->thread] = (struct race_use){mark->time, mark->line};
	}
}

static void mbarrier_check_arrival(struct rt_warp *warp, const struct race_mark *mark,
	const struct race_barrier *barrier, const struct rt_arrival *arrival)
{
	const struct race_mark *ended = &barrier->ended;
	const bool is_early = ended->is_there && ended->block == mark->block
		&& !race_is_ordered(warp->race, ended, mark->thread);
	const struct sync_place other = mbarrier_place(ended);
	if ((!is_early && arrival->count <= arrival->pending)
	    || mbarrier_is_reported(warp, mark->line, BUG_ARRIVE)) {
		return;
	}
	sync_report(warp, mbarrier_place(mark), is_early ? &other : NULL,
		"the phase has ended here", is_early ? "too many arrivals at the mbarrier at byte %"
		PRIu64 " of shared memory: a phase has ended, and this thread has not waited for "
		"that" : "too many arrivals at the mbarrier at byte %" PRIu64 " of shared memory: "
		"%" PRIu64 " where %" PRIu64 " are left in the phase",
		mbarrier_offset(warp, arrival->at), arrival->count, arrival->pending);
}

void race_arrive(struct rt_warp *warp, uint32_t lane, const struct rt_arrival *arrival)
{
	struct race_block *block = warp->race;
	struct race_barrier *barrier = race_barrier_at(block->race->order, arrival->at,
		block->threads);
	const uint32_t thread = warp->first + lane;
	if (!barrier) {
		return;
	}
	const struct race_mark mark = {.is_there = 1,
		.time = race_released(block->race->order, block, thread, arrival->at),
		.block = block->number, .thread = thread & 1023, .line = warp->line & 0xfffff};
	if (sync_is_on(warp) && arrival->count > 0) {
		mbarrier_check_arrival(warp, &mark, barrier, arrival);
	}
	if (arrival->ends) {
		barrier->ended = mark;
	}
}
