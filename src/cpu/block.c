/* SPDX-License-Identifier: MIT */
/*
 * One block.  A warp is a coroutine, so a barrier is only bookkeeping: who has arrived, and whom
 * to resume.  In most kernels all warps of a block stop at the same place for the whole block.
 * Then there is no bookkeeping either: block_run does round after round, each resuming all warps
 * where they all stopped.  The first round that ends otherwise goes to run_mixed, which handles
 * everything: barriers for some of the threads, threads that have exited or only arrive,
 * reductions, warps that spin, and warps that wait for what never comes.
 */
#include "../base/common.h"

#include "block.h"

#include <sched.h>
#include <string.h>

#define BARRIERS 16
#define GROUPS (BLOCK_MAX_THREADS / BLOCK_GROUP)

struct barrier {
	uint32_t arrived;  /* threads */
	uint32_t expected;
	bool is_whole;     /* for all threads of the block that have not exited */
	uint32_t all;
	uint32_t any;
	uint32_t count;    /* of true predicates */
};

/* What run_mixed keeps. */
struct books {
	struct block *block;
	uint32_t total;        /* threads, as weights */
	uint32_t gone;         /* of them, exited */
	uint32_t live;         /* warps */
	struct barrier barriers[BARRIERS];
	uint32_t absent[GROUPS]; /* threads of each CUDA warp that have exited or do not exist */
	uint32_t here[GROUPS];   /* threads of each CUDA warp that wait at bar.warp.sync */
};

static uint32_t group_bits(const struct slot *slot)
{
	return slot->warp.alive << slot->warp.first % BLOCK_GROUP;
}

/* Resume everybody who waits at a barrier if that is complete. */
static void check_barrier(struct books *b, uint32_t id)
{
	struct barrier *bar = &b->barriers[id];
	if (bar->arrived == 0
	    || bar->arrived + (bar->is_whole ? b->gone : 0) < bar->expected) {
		return;
	}
	const uint32_t results[] = {
		[RT_RED_NONE] = 0, [RT_RED_AND] = bar->all, [RT_RED_OR] = bar->any,
		[RT_RED_POPC] = bar->count
	};
	for (uint32_t i = 0; i < b->block->slot_count; i++) {
		struct slot *slot = &b->block->slots[i];
		if (slot->state == SLOT_BARRIER && slot->warp.bar_id == id) {
			slot->state = SLOT_READY;
			slot->warp.bar_value = results[slot->warp.bar_red % countof(results)];
		}
	}
	memset(bar, 0, sizeof(*bar));
}

static void arrive(struct books *b, struct slot *slot)
{
	const struct rt_warp *warp = &slot->warp;
	uint32_t id = warp->bar_id;
	struct barrier *bar = &b->barriers[id];
	uint32_t value = warp->bar_value & warp->alive;
	if (bar->arrived == 0) {
		bar->all = UINT32_MAX;
	}
	bar->is_whole = warp->bar_count == 0;
	bar->expected = bar->is_whole ? b->total : warp->bar_count;
	bar->arrived += slot->weight;
	bar->all &= value == warp->alive ? UINT32_MAX : 0;
	bar->any |= value != 0 ? UINT32_MAX : 0;
	bar->count += (uint32_t)__builtin_popcount(value);
	if (warp->yield == RT_YIELD_BARRIER) {
		slot->state = SLOT_BARRIER;
	}
	check_barrier(b, id);
}

/* Resume those in a CUDA warp whose partners at bar.warp.sync have all come. */
static void check_group(struct books *b, uint32_t group)
{
	uint32_t per_group = BLOCK_GROUP / b->block->width;
	uint32_t from = group * per_group;
	uint32_t to = from + per_group < b->block->slot_count ? from + per_group : b->block->slot_count;
	uint32_t present = b->here[group] | b->absent[group];
	for (uint32_t i = from; i < to; i++) {
		struct slot *slot = &b->block->slots[i];
		if (slot->state == SLOT_WARP && (slot->warp.bar_value & ~present) == 0) {
			slot->state = SLOT_READY;
			b->here[group] &= ~group_bits(slot);
		}
	}
}

static void leave(struct books *b, struct slot *slot)
{
	uint32_t group = slot->warp.first / BLOCK_GROUP;
	slot->state = SLOT_DONE;
	b->live--;
	b->gone += slot->weight;
	b->absent[group] |= group_bits(slot);
	for (uint32_t id = 0; id < BARRIERS; id++) {
		if (b->barriers[id].is_whole) {
			check_barrier(b, id);
		}
	}
	check_group(b, group);
}

/* Act on what a warp came back with. */
static enum block_end settle(struct books *b, struct slot *slot)
{
	if (slot->resume == RT_DONE) {
		leave(b, slot);
		return BLOCK_DONE;
	}
	switch ((enum rt_yield)slot->warp.yield) {
	case RT_YIELD_BARRIER:
	case RT_YIELD_ARRIVE:
		if (slot->warp.bar_id >= BARRIERS) {
			b->block->current = slot;
			return BLOCK_BAD_BARRIER;
		}
		arrive(b, slot);
		break;
	case RT_YIELD_WARP:
		slot->state = SLOT_WARP;
		b->here[slot->warp.first / BLOCK_GROUP] |= group_bits(slot);
		check_group(b, slot->warp.first / BLOCK_GROUP);
		break;
	case RT_YIELD_TRAP:
		b->block->current = slot;
		return BLOCK_TRAPPED;
	case RT_YIELD_NONE:
	case RT_YIELD_SPIN:
		break;
	}
	return BLOCK_DONE;
}

static uint32_t resume_warp(struct block *block, struct slot *slot)
{
	block->current = slot;
	slot->resume = block->run(&slot->warp, slot->frame, slot->resume);
	return slot->resume;
}

static void init_books(struct books *b, struct block *block)
{
	memset(b, 0, sizeof(*b));
	b->block = block;
	b->live = block->slot_count;
	b->total = (uint32_t)round_up(block->threads, BLOCK_GROUP);
	if (block->threads % BLOCK_GROUP != 0) {
		b->absent[block->threads / BLOCK_GROUP] =
			UINT32_MAX << block->threads % BLOCK_GROUP;
	}
	for (uint32_t i = 0; i < block->slot_count; i++) {
		block->slots[i].state = SLOT_READY;
	}
}

/* Resume all warps that are ready, once each. */
static enum block_end run_ready(struct books *b, bool *any_ran, bool *all_spin)
{
	*any_ran = false;
	*all_spin = true;
	for (uint32_t i = 0; i < b->block->slot_count; i++) {
		struct slot *slot = &b->block->slots[i];
		if (slot->state != SLOT_READY) {
			continue;
		}
		*any_ran = true;
		resume_warp(b->block, slot);
		*all_spin &= slot->resume != RT_DONE && slot->warp.yield == RT_YIELD_SPIN;
		enum block_end end = settle(b, slot);
		if (end != BLOCK_DONE) {
			return end;
		}
	}
	return BLOCK_DONE;
}

static enum block_end deadlock(struct block *block)
{
	block->current = block->slots;
	while (block->current->state == SLOT_DONE) {
		block->current++;
	}
	return BLOCK_DEADLOCKED;
}

static bool must_stop(const struct block *block)
{
	return atomic_load_explicit(block->stop, memory_order_relaxed) != 0;
}

/* Go on from where a round of all warps has come back. */
static enum block_end run_mixed(struct block *block)
{
	struct books books;
	enum block_end end = BLOCK_DONE;
	init_books(&books, block);
	for (uint32_t i = 0; i < block->slot_count && end == BLOCK_DONE; i++) {
		end = settle(&books, &block->slots[i]);
	}
	while (end == BLOCK_DONE && books.live > 0) {
		if (must_stop(block)) {
			return BLOCK_STOPPED;
		}
		bool any_ran;
		bool all_spin;
		end = run_ready(&books, &any_ran, &all_spin);
		if (!any_ran) {
			return deadlock(block);
		}
		if (all_spin) {
			// They wait for another block, whose worker may need this core.
			sched_yield();
		}
	}
	return end;
}

static bool at_whole_barrier(const struct rt_warp *warp, uint32_t id)
{
	return warp->yield == RT_YIELD_BARRIER && warp->bar_count == 0 && warp->bar_id == id
		&& id < BARRIERS && warp->bar_red == RT_RED_NONE;
}

/* Resume all warps.  True if all came back with the same number, and that is RT_DONE or they all
 * wait at one barrier for the whole block. */
static bool run_round(struct block *block)
{
	struct slot *first = &block->slots[0];
	uint32_t next = resume_warp(block, first);
	uint32_t id = first->warp.bar_id;
	bool same = next == RT_DONE || at_whole_barrier(&first->warp, id);
	for (uint32_t i = 1; i < block->slot_count; i++) {
		struct slot *slot = &block->slots[i];
		same &= resume_warp(block, slot) == next
			&& (next == RT_DONE || at_whole_barrier(&slot->warp, id));
	}
	return same;
}

enum block_end block_run(struct block *block, const uint32_t ctaid[3])
{
	for (uint32_t i = 0; i < block->slot_count; i++) {
		memcpy(block->slots[i].warp.ctaid, ctaid, sizeof(block->slots[i].warp.ctaid));
		block->slots[i].resume = 0;
	}
	do {
		if (must_stop(block)) {
			return BLOCK_STOPPED;
		}
		if (!run_round(block)) {
			return run_mixed(block);
		}
	} while (block->slots[0].resume != RT_DONE);
	return BLOCK_DONE;
}
