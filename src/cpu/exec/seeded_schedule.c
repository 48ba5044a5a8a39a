/* SPDX-License-Identifier: MIT */
/* See seeded_schedule.h. */
#include "base/common.h"

#include "cpu/exec/seeded_schedule.h"

enum { ODDS = 32 };

/* splitmix64 (Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014). */
static uint64_t seeded_draw(struct seeded_schedule *schedule)
{
	uint64_t z = schedule->random += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t seeded_choose(struct seeded_schedule *schedule, uint64_t count)
{
	return (uint64_t)(((unsigned __int128)seeded_draw(schedule) * count) >> 64);
}

static uint64_t seeded_common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

void seeded_begin(struct seeded_schedule *schedule, uint64_t n, uint64_t blocks, bool in_order)
{
	static const uint32_t odds[] = {0, 1, ODDS / 4, ODDS};
	*schedule = (struct seeded_schedule){.seed = schedule->seed, .random = schedule->seed,
		.blocks = blocks, .stride = 1, .thread = UINT32_MAX};
	schedule->random = seeded_draw(schedule) + n;
	schedule->thread_odds = odds[seeded_choose(schedule, countof(odds))];
	schedule->block_odds = odds[seeded_choose(schedule, countof(odds))];
	if (!in_order) {
		schedule->first = seeded_choose(schedule, blocks);
		do {
			schedule->stride = 1 + seeded_choose(schedule, blocks);
		} while (seeded_common_divisor(schedule->stride, blocks) != 1);
	}
}

uint64_t seeded_take_block(struct seeded_schedule *schedule)
{
	schedule->idle = 0;
	const unsigned __int128 at = (unsigned __int128)schedule->begun++ * schedule->stride;
	return (uint64_t)((at + schedule->first) % schedule->blocks);
}

bool seeded_leaves_thread(struct seeded_schedule *schedule)
{
	return seeded_choose(schedule, ODDS) < schedule->thread_odds;
}

bool seeded_leaves_block(struct seeded_schedule *schedule)
{
	return seeded_choose(schedule, ODDS) < schedule->block_odds;
}

/* Threads that wait for as many others of their warp as come (activemask) go on with those that
 * have come when one of these spins, and else at times. */
enum block_end seeded_step(struct seeded_schedule *schedule, struct block *block)
{
	const uint32_t count = block_ready_count(block);
	if (count == 0) {
		return block_release_any(block);
	}
	if (schedule->thread == UINT32_MAX) {
		schedule->thread = block_ready_thread(block,
			(uint32_t)seeded_choose(schedule, count));
	}
	const uint32_t thread = schedule->thread;
	const enum block_end end = block_step_thread(block, thread);
	const bool is_ready = block_is_ready(block, thread);
	schedule->idle += end == BLOCK_SPINS;
	if (end == BLOCK_SPINS || (!is_ready && seeded_leaves_thread(schedule))) {
		block_release_open(block, thread);
	}
	if (end != BLOCK_MOVES || !is_ready || seeded_leaves_thread(schedule)) {
		schedule->thread = UINT32_MAX;
	}
	return end;
}
