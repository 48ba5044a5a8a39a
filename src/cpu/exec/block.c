/* SPDX-License-Identifier: MIT */
/*
 * One block.  A warp is a coroutine: a barrier records which warps have arrived, and which to
 * resume.  In most kernels all warps of a block stop at the same barrier of the whole block.  Such
 * a block needs no scheduler: round after round resumes all warps where they stopped.
 *
 * The first round that ends otherwise starts the scheduler (struct scheduler).  From then on it
 * handles everything, and thread by thread where the lanes of a warp have diverged: barriers for
 * some of the threads, threads that have exited or only arrive, reductions, collectives, warps that
 * spin, and deadlocks.
 */
#include "base/common.h"

#include "cpu/exec/block.h"

#include "cpu/check/sync.h"
#include "cpu/runtime/rt_collect.h"

#include <string.h>

/* Then others have their turn: of a block that waits, some warps may move all the same. */
#define ROUNDS_PER_STEP 1000

static uint32_t block_group_count(const struct block *block)
{
	return (block->threads + RT_GROUP - 1) / RT_GROUP;
}

static uint32_t block_group_of(const struct slot *slot)
{
	return slot->warp.first / RT_GROUP;
}

static uint32_t block_shift_of(const struct slot *slot)
{
	return slot->warp.first % RT_GROUP;
}

/* The last thread also counts for the threads that are missing to a whole CUDA warp. */
static uint32_t block_weight_of(const struct block *block, uint32_t group, uint32_t threads)
{
	uint32_t last = block->threads - 1;
	uint32_t weight = (uint32_t)__builtin_popcount(threads);
	if (group == last / RT_GROUP && (threads >> last % RT_GROUP & 1)) {
		weight += (uint32_t)round_up(block->threads, RT_GROUP) - block->threads;
	}
	return weight;
}

/* A thread that has exited has not come to a barrier of the whole block. */
static void block_report_gone(const struct block *block, uint32_t id)
{
	const struct scheduler *b = &block->scheduler;
	const struct barrier *bar = &b->barriers[id];
	const struct rt_warp *warp = &block->slots[0].warp;
	uint32_t thread = 0;
	while (!(b->gone[thread / RT_GROUP] >> thread % RT_GROUP & 1)) {
		thread++;
	}
	sync_report(warp, (struct sync_place){bar->thread, bar->line}, NULL, NULL,
		"%u of the %u threads of the block never come to this barrier: thread (%u,%u,%u) "
		"has exited", block->threads - b->live, block->threads,
		warp->launch->tid[0][thread], warp->launch->tid[1][thread],
		warp->launch->tid[2][thread]);
}

/* Some threads of a block come to another barrier instruction than the first one did. */
static void block_check_place(const struct slot *slot, uint32_t threads,
	struct barrier *bar)
{
	const struct sync_place place = {block_group_of(slot) * RT_GROUP
		+ (uint32_t)__builtin_ctz(threads), slot->warp.line};
	const struct sync_place first = {bar->thread, bar->line};
	if (bar->arrived == 0) {
		bar->line = place.line;
		bar->thread = place.thread;
	} else if (bar->line != place.line && bar->is_whole) {
		sync_report(&slot->warp, place, &first, "other threads wait at this one",
			"the threads of the block come to different barriers");
	}
}

/* For the checks of races and of barriers. */
static void block_note_met(struct block *block, uint32_t id)
{
	struct scheduler *b = &block->scheduler;
	const uint32_t missing = block->threads - b->live;
	if (b->barriers[id].is_whole && missing > b->missed
	    && sync_is_on(&block->slots[0].warp)) {
		block_report_gone(block, id);
		b->missed = missing; // the next barriers would only repeat it
	}
	if (b->barriers[id].is_whole) {
		race_meet_all(block->race);
	} else {
		race_meet(block->race,
			&(struct race_set){0, block_group_count(block), b->arrived[id]});
	}
	memset(b->arrived[id], 0, sizeof(b->arrived[id]));
}

/* Resume all threads that wait at a barrier if it is complete. */
static void block_check_barrier(struct block *block, uint32_t id)
{
	struct scheduler *b = &block->scheduler;
	struct barrier *bar = &b->barriers[id];
	if (bar->arrived == 0
	    || bar->arrived + (bar->is_whole ? b->gone_count : 0) < bar->expected) {
		return;
	}
	if (unlikely(block->race)) {
		block_note_met(block, id);
	}
	const uint32_t results[] = {
		[RT_RED_NONE] = 0, [RT_RED_AND] = bar->all, [RT_RED_OR] = bar->any,
		[RT_RED_POPC] = bar->count
	};
	for (uint32_t g = 0; g < block_group_count(block); g++) {
		b->ready[g] |= b->waits[id][g];
		for (uint32_t left = b->waits[id][g]; left != 0; left &= left - 1) {
			uint32_t i = (uint32_t)__builtin_ctz(left);
			uint32_t red = b->red[g * RT_GROUP + i];
			if (red != RT_RED_NONE) {
				block->exchanges[g].words[0][i] = results[red % 4];
			}
		}
		b->waits[id][g] = 0;
	}
	memset(bar, 0, sizeof(*bar));
}

/* Some threads of one warp arrive at one barrier; `values` are their predicates. */
static enum block_end block_arrive(struct block *block, const struct slot *slot, uint32_t threads,
	uint32_t values, uint32_t id, uint32_t count)
{
	struct scheduler *b = &block->scheduler;
	uint32_t group = block_group_of(slot);
	if (id >= BLOCK_BARRIERS) {
		return BLOCK_BAD_BARRIER;
	}
	struct barrier *bar = &b->barriers[id];
	if (unlikely(block->race) && sync_is_on(&slot->warp)) {
		block_check_place(slot, threads, bar);
	}
	if (bar->arrived == 0) {
		bar->all = UINT32_MAX;
	}
	bar->is_whole = count == 0;
	bar->expected = bar->is_whole ? (uint32_t)round_up(block->threads, RT_GROUP) : count;
	bar->arrived += block_weight_of(block, group, threads);
	bar->all &= values == threads ? UINT32_MAX : 0;
	bar->any |= values != 0 ? UINT32_MAX : 0;
	bar->count += (uint32_t)__builtin_popcount(values);
	b->arrived[id][group] |= threads;
	if (slot->warp.yield == RT_YIELD_BARRIER) {
		b->ready[group] &= ~threads;
		b->waits[id][group] |= threads;
		for (uint32_t left = threads; left != 0; left &= left - 1) {
			b->red[group * RT_GROUP + (uint32_t)__builtin_ctz(left)]
				= slot->warp.bar_red;
		}
	}
	block_check_barrier(block, id);
	return BLOCK_DONE;
}

/* `threads` of a warp have come to a barrier instruction. */
static enum block_end block_arrive_all(struct block *block, const struct slot *slot,
	uint32_t threads)
{
	const struct rt_warp *warp = &slot->warp;
	const struct rt_exchange *x = warp->exchange;
	uint32_t values = warp->bar_value << block_shift_of(slot) & threads;
	if (warp->bar_id != RT_BAR_EACH) {
		return block_arrive(block, slot, threads, values, warp->bar_id, warp->bar_count);
	}
	enum block_end end = BLOCK_DONE;
	for (uint32_t left = threads; left != 0 && end == BLOCK_DONE; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);
		end = block_arrive(block, slot, 1u << i, values & 1u << i, x->words[1][i],
			x->words[2][i]);
	}
	return end;
}

/* Threads have exited. */
static void block_leave(struct block *block, struct slot *slot, uint32_t threads)
{
	struct scheduler *b = &block->scheduler;
	uint32_t group = block_group_of(slot);
	b->ready[group] &= ~threads;
	b->gone[group] |= threads;
	b->live -= (uint32_t)__builtin_popcount(threads);
	b->gone_count += block_weight_of(block, group, threads);
	for (uint32_t id = 0; id < BLOCK_BARRIERS; id++) {
		if (b->barriers[id].is_whole) {
			block_check_barrier(block, id);
		}
	}
	slot->warp.exchange->absent |= threads;
	collect_recheck(&slot->warp);
}

/* Act on what a warp came back with. */
static enum block_end block_settle(struct block *block, struct slot *slot)
{
	struct scheduler *b = &block->scheduler;
	const struct rt_warp *warp = &slot->warp;
	uint32_t group = block_group_of(slot);
	uint32_t shift = block_shift_of(slot);
	uint32_t exited = (slot->resume == RT_DONE ? warp->alive : warp->exited) << shift;
	exited &= ~b->gone[group];
	if (exited != 0) {
		block_leave(block, slot, exited);
	}
	if (slot->resume == RT_DONE) {
		return BLOCK_DONE;
	}
	uint32_t threads = (slot->resume == RT_SWEEP ? warp->lanes : warp->alive) << shift;
	switch ((enum rt_yield)warp->yield) {
	case RT_YIELD_BARRIER:
	case RT_YIELD_ARRIVE:
		return block_arrive_all(block, slot, threads);
	case RT_YIELD_WARP:
		b->ready[group] &= ~threads;
		break;
	case RT_YIELD_TRAP:
		return BLOCK_TRAPPED;
	case RT_YIELD_NONE:
	case RT_YIELD_SPIN:
		break;
	}
	return BLOCK_DONE;
}

static void block_take_released(struct block *block, uint32_t group)
{
	block->scheduler.ready[group] |= block->exchanges[group].released;
	block->exchanges[group].released = 0;
}

static uint32_t block_resume_warp(struct block *block, struct slot *slot)
{
	block->current = slot;
	slot->resume = block->run(&slot->warp, slot->frame, slot->resume);
	return slot->resume;
}

/* The threads of a group that exist. */
static uint32_t block_existing(const struct block *block, uint32_t group)
{
	uint32_t left = block->threads - group * RT_GROUP;
	return left < RT_GROUP ? (1u << left) - 1 : UINT32_MAX;
}

/* All threads may go on. */
static void block_init_scheduler(struct block *block)
{
	struct scheduler *b = &block->scheduler;
	memset(b, 0, sizeof(*b));
	b->live = block->threads;
	for (uint32_t g = 0; g < block_group_count(block); g++) {
		b->ready[g] = block_existing(block, g);
	}
	block->is_mixed = true;
}

/* Go on from where a round of all warps has come back. */
static enum block_end block_start_scheduler(struct block *block)
{
	enum block_end end = BLOCK_DONE;
	block_init_scheduler(block);
	for (uint32_t i = 0; i < block->slot_count && end == BLOCK_DONE; i++) {
		block->current = &block->slots[i];
		end = block_settle(block, &block->slots[i]);
	}
	for (uint32_t g = 0; g < block_group_count(block); g++) {
		block_take_released(block, g);
	}
	return end;
}

/* What a pass over all groups has seen. */
struct block_pass {
	bool ran;
	bool moved;  /* something other than spinning */
};

/* Resume the warps of a group that have threads which are ready, once each. */
static enum block_end block_run_group(struct block *block, uint32_t group, struct block_pass *pass)
{
	struct scheduler *b = &block->scheduler;
	uint32_t per_group = RT_GROUP / block->width;
	bool moved = false;
	for (uint32_t todo = b->ready[group]; todo != 0;) {
		uint32_t index = (uint32_t)__builtin_ctz(todo) / block->width;
		struct slot *slot = &block->slots[group * per_group + index];
		todo &= ~(slot->warp.alive << block_shift_of(slot));
		slot->warp.ready = b->ready[group] >> block_shift_of(slot) & slot->warp.alive;
		block_resume_warp(block, slot);
		moved |= slot->resume == RT_DONE || slot->warp.yield != RT_YIELD_SPIN;
		pass->ran = true;
		enum block_end end = block_settle(block, slot);
		block_take_released(block, group);
		if (end != BLOCK_DONE) {
			return end;
		}
	}
	if (!moved && collect_release_open(&block->slots[group * per_group].warp)) {
		block_take_released(block, group);
		pass->ran = true;
		moved = true;
	}
	pass->moved |= moved;
	return BLOCK_DONE;
}

uint32_t block_waiting_lanes(const struct block *block)
{
	const struct slot *slot = block->current;
	return block->scheduler.ready[block_group_of(slot)] >> block_shift_of(slot)
		& slot->warp.alive;
}

const char *block_waits_at(const struct block *block)
{
	const struct slot *slot = block->current;
	uint32_t threads = slot->warp.alive << block_shift_of(slot);
	if (block_waiting_lanes(block) != 0) {
		return "waits in a loop for a change that no thread of the launch can make";
	}
	for (uint32_t id = 0; id < BLOCK_BARRIERS; id++) {
		if (block->scheduler.waits[id][block_group_of(slot)] & threads) {
			return "waits at a barrier for threads that never come";
		}
	}
	return "waits at a warp-wide operation for threads that never come";
}

bool block_find_waiting(struct block *block)
{
	for (uint32_t i = 0; i < block->slot_count && block->is_mixed; i++) {
		block->current = &block->slots[i];
		if (block_waiting_lanes(block) != 0) {
			return true;
		}
	}
	return false;
}

/* A deadlock: find a thread that waits, for the message. */
static enum block_end block_find_deadlocked(struct block *block)
{
	for (uint32_t i = 0; i < block->slot_count; i++) {
		struct slot *slot = &block->slots[i];
		if (slot->warp.alive << block_shift_of(slot)
		    & ~block->scheduler.gone[block_group_of(slot)]) {
			block->current = slot;
			break;
		}
	}
	return BLOCK_DEADLOCKED;
}

static enum block_end block_run_mixed(struct block *block)
{
	struct block_pass pass = {.ran = false};
	for (uint32_t g = 0; g < block_group_count(block); g++) {
		enum block_end end = block_run_group(block, g, &pass);
		if (end != BLOCK_DONE) {
			return end;
		}
	}
	if (block->scheduler.live == 0 || pass.moved) {
		return BLOCK_DONE;
	}
	if (pass.ran) {
		return BLOCK_SPINS;
	}
	return block_find_deadlocked(block);
}

static void block_start_warp(const struct block *block, struct slot *slot)
{
	memcpy(slot->warp.ctaid, block->ctaid, sizeof(slot->warp.ctaid));
	slot->warp.exited = 0;
	slot->warp.lane = RT_GROUP;
	slot->warp.step = 0;
	slot->warp.team = 0;
	slot->warp.ready = slot->warp.alive;
}

/* Whether all warps have come back with the same number, and wait at one barrier for the whole
 * block. */
static bool block_is_at_one_barrier(const struct block *block)
{
	const struct slot *first = &block->slots[0];
	const uint32_t id = first->warp.bar_id;
	bool same = first->resume != RT_SWEEP;
	for (uint32_t i = 0; i < block->slot_count && same; i++) {
		const struct slot *slot = &block->slots[i];
		const struct rt_warp *warp = &slot->warp;
		same = slot->resume == first->resume && warp->yield == RT_YIELD_BARRIER
			&& warp->bar_count == 0 && warp->bar_id == id && id < BLOCK_BARRIERS
			&& warp->bar_red == RT_RED_NONE;
	}
	return same;
}

/* A team's warps have parted: from now on each runs by itself.  How many have ended. */
static uint32_t block_run_apart(struct block *block)
{
	uint32_t ends = 0;
	for (uint32_t i = 0; i < block->slot_count; i++) {
		block_start_warp(block, &block->slots[i]);
		block->slots[i].resume = RT_SWEEP;
		ends += block_resume_warp(block, &block->slots[i]) == RT_DONE;
	}
	return ends;
}

/* --- Blocks --- */

/* Whether a warp has trapped in place of the first one. */
static bool block_has_replaced(const struct block *block)
{
	const struct slot *slot = &block->slots[0];
	return slot->resume != RT_DONE && (slot->warp.first > 0 || block_count(block) > 1);
}

/* Resume all warps for the first time.  Each is set up just before it runs, since most run to their
 * end; the first may have others run in its place, up to one that traps.  How many have ended. */
static uint32_t block_run_first(struct block *block)
{
	rt_kernel *run = block->run;
	uint32_t ends = 0;
	struct slot *slots = block->slots;
	const unsigned shift = (unsigned)__builtin_ctz(block->width);

	/* What the first warp may run in place of others.  A warp that is not whole runs by itself,
	 * so that its block is the last one. */
	const uint32_t rest = block->threads & (block->width - 1); // a power of two
	slots[0].warp.first = 0;
	slots[0].warp.end = block->threads - rest;
	slots[0].warp.end_block = block->ctaid[0] + (rest == 0 ? block->most : 1);

	for (uint32_t i = 0, more = 0; i < block->slot_count; i += 1 + more) {
		struct slot *slot = &slots[i];
		block_start_warp(block, slot);
		block->current = slot;
		slot->resume = run(&slot->warp, slot->frame, 0);
		if (slot->resume == RT_APART) {
			return block_run_apart(block);
		}
		more = i == 0 ? slot->warp.first >> shift : 0;
		if (slot->resume == RT_DONE) {
			// Those that it has replaced still have what an earlier launch left there.
			for (uint32_t k = 1; k <= more; k++) {
				slots[k].resume = RT_DONE;
			}
			ends += 1 + more;
		} else if (block_has_replaced(block)) {
			break;
		}
	}
	return ends;
}

/* Resume all warps.  True if all have ended, or all are at one place. */
static bool block_run_round(struct block *block)
{
	uint32_t ends = 0;
	if (!block->has_begun) {
		block->has_begun = true;
		ends = block_run_first(block);
	} else {
		for (uint32_t i = 0; i < block->slot_count; i++) {
			ends += block_resume_warp(block, &block->slots[i]) == RT_DONE;
		}
	}
	return ends == 0 ? block_is_at_one_barrier(block) : ends == block->slot_count;
}

void block_start(struct block *block, const uint32_t ctaid[3], uint32_t most)
{
	const uint32_t last = block_group_count(block) - 1;
	memcpy(block->ctaid, ctaid, sizeof(block->ctaid));
	block->most = most;
	for (uint32_t g = 0; g <= last; g++) {
		block->exchanges[g].here = 0;
		block->exchanges[g].released = 0;
		block->exchanges[g].absent = 0;
		block->exchanges[g].swept = 0;
	}
	block->exchanges[last].absent = ~block_existing(block, last);
	block->has_begun = false;
	block->is_mixed = false;
	if (unlikely(block->race)) {
		race_begin_block(block->race, ctaid);
	}
}

enum block_end block_step(struct block *block)
{
	for (unsigned round = 0; round < ROUNDS_PER_STEP; round++) {
		if (atomic_load_explicit(block->stop, memory_order_relaxed) != 0) {
			return BLOCK_STOPPED;
		}
		enum block_end end = BLOCK_DONE;
		if (block->is_mixed) {
			end = block_run_mixed(block);
		} else if (!block_run_round(block)) {
			end = block_has_replaced(block) ? BLOCK_TRAPPED
				: block_start_scheduler(block);
		} else if (block->slots[0].resume == RT_DONE) {
			return BLOCK_DONE;
		} else if (unlikely(block->race)) {
			race_meet_all(block->race);
		}
		if (end != BLOCK_DONE || (block->is_mixed && block->scheduler.live == 0)) {
			return end;
		}
	}
	return BLOCK_SPINS;
}

/* --- Thread by thread --- */

void block_start_threads(struct block *block, const uint32_t ctaid[3])
{
	assert(block->width == 1);
	block_start(block, ctaid, 1);
	for (uint32_t i = 0; i < block->slot_count; i++) {
		block_start_warp(block, &block->slots[i]);
		block->slots[i].resume = 0;
	}
	block_init_scheduler(block);
}

uint32_t block_ready_count(const struct block *block)
{
	uint32_t count = 0;
	for (uint32_t g = 0; g < block_group_count(block); g++) {
		count += (uint32_t)__builtin_popcount(block->scheduler.ready[g]);
	}
	return count;
}

uint32_t block_ready_thread(const struct block *block, uint32_t n)
{
	const uint32_t *ready = block->scheduler.ready;
	uint32_t group = 0;
	for (uint32_t here; n >= (here = (uint32_t)__builtin_popcount(ready[group])); group++) {
		n -= here;
	}
	uint32_t left = ready[group];
	for (; n > 0; n--) {
		left &= left - 1;
	}
	return group * RT_GROUP + (uint32_t)__builtin_ctz(left);
}

bool block_is_ready(const struct block *block, uint32_t thread)
{
	return block->scheduler.ready[thread / RT_GROUP] >> thread % RT_GROUP & 1;
}

enum block_end block_step_thread(struct block *block, uint32_t thread)
{
	struct slot *slot = &block->slots[thread];
	slot->warp.ready = 1;
	block_resume_warp(block, slot);
	enum block_end end = block_settle(block, slot);
	block_take_released(block, thread / RT_GROUP);
	return end != BLOCK_DONE || block->scheduler.live == 0 ? end
		: slot->resume != RT_DONE && slot->warp.yield == RT_YIELD_SPIN ? BLOCK_SPINS
		: BLOCK_MOVES;
}

bool block_release_open(struct block *block, uint32_t thread)
{
	const bool any = collect_release_open(&block->slots[thread].warp);
	block_take_released(block, thread / RT_GROUP);
	return any;
}

enum block_end block_release_any(struct block *block)
{
	for (uint32_t g = 0; g < block_group_count(block); g++) {
		if (block_release_open(block, g * RT_GROUP)) {
			return BLOCK_MOVES;
		}
	}
	return block_find_deadlocked(block);
}
