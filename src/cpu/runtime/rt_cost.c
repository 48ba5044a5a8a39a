/* SPDX-License-Identifier: MIT */
/*
 * Counts what an access of a warp costs a GPU, for the checks `coalesce` and `bank`.
 *
 * Global memory moves in sectors of 32 bytes.  Each of the 32 banks of shared memory gives one word
 * of four bytes at a time, to all threads that want that one.  Wider accesses are made by a half or
 * a quarter of a warp at a time, so that 128 bytes are enough for each.  The least that an access
 * could take follows from how many different bytes its threads want.
 */
#include "base/common.h"

#include "cpu/runtime/rt.h"

enum { COST_SECTOR_SHIFT = 5, COST_BANKS = 32, COST_WORD = 4, COST_AT_ONCE = 128, COST_PARTS = 9 };

struct cost {
	uint64_t moved, least;
};

/* Add a number to a list if it is not there; the new length. */
static unsigned cost_put(uint64_t *list, unsigned count, uint64_t number)
{
	unsigned i = count;
	while (i > 0 && list[i - 1] != number) {
		i--;
	}
	if (i == 0) {
		list[count++] = number;
	}
	return count;
}

static struct cost cost_of_sectors(const struct rt_lanes *arrays, uint32_t lanes, uint32_t size)
{
	uint64_t sectors[COST_PARTS * RT_GROUP], places[RT_GROUP];
	unsigned sector_count = 0, place_count = 0;
	for (; lanes != 0; lanes &= lanes - 1) {
		const uint64_t at = arrays->at[__builtin_ctz(lanes)];
		const uint64_t last = (at + size - 1) >> COST_SECTOR_SHIFT;
		place_count = cost_put(places, place_count, at);
		for (uint64_t sector = at >> COST_SECTOR_SHIFT; sector <= last; sector++) {
			sector_count = cost_put(sectors, sector_count, sector);
		}
	}
	const uint64_t bytes = (uint64_t)place_count * size;
	return (struct cost){sector_count, (bytes + (1u << COST_SECTOR_SHIFT) - 1)
		>> COST_SECTOR_SHIFT};
}

/* The turns of some lanes: the most words that they want of one bank. */
static unsigned cost_of_turn(const struct rt_lanes *arrays, uint32_t lanes, uint32_t size)
{
	uint64_t words[COST_PARTS * RT_GROUP];
	unsigned counts[COST_BANKS] = {0}, count = 0, most = 0;
	for (; lanes != 0; lanes &= lanes - 1) {
		const uint64_t at = arrays->at[__builtin_ctz(lanes)];
		for (uint64_t word = at / COST_WORD; word <= (at + size - 1) / COST_WORD; word++) {
			const unsigned before = count;
			count = cost_put(words, count, word);
			counts[word % COST_BANKS] += count - before;
			most = counts[word % COST_BANKS] > most ? counts[word % COST_BANKS] : most;
		}
	}
	return most;
}

static struct cost cost_of_banks(const struct rt_lanes *arrays, uint32_t lanes, uint32_t size)
{
	struct cost cost = {0, 0};
	const unsigned each = size <= COST_WORD ? RT_GROUP : COST_AT_ONCE / size;
	for (unsigned first = 0; first < RT_GROUP; first += each) {
		const uint32_t some = lanes & UINT32_MAX >> (RT_GROUP - each) << first;
		cost.moved += cost_of_turn(arrays, some, size);
		cost.least += some != 0;
	}
	return cost;
}

/* The memory that each thread has for itself lies differently on a GPU. */
static bool cost_is_local(const struct rt_warp *warp, uint64_t at)
{
	return at - (uintptr_t)warp->local < RT_GROUP * warp->local_stride;
}

void rt_count_cost(struct rt_warp *warp, struct rt_lanes *arrays, uint32_t lanes,
	uint32_t counter, uint32_t size, uint32_t is_shared)
{
	uint64_t *counters = &warp->counters[counter];
	const uint64_t at = lanes != 0 ? arrays->at[__builtin_ctz(lanes)] : 0;
	if (lanes == 0 || size > COST_WORD * (COST_PARTS - 1) || cost_is_local(warp, at)) {
		return;
	}
	const bool in_shared = is_shared || at - (uintptr_t)warp->shared < RT_SHARED_WINDOW;
	const struct cost cost = in_shared ? cost_of_banks(arrays, lanes, size)
		: cost_of_sectors(arrays, lanes, size);
	const uint64_t more = cost.moved - cost.least;
	counters[0] += cost.moved;
	counters[1] += cost.least;
	counters[2] += in_shared;
	if (more > counters[3]) {
		counters[3] = more;
		counters[4] = warp->ctaid[0] | (uint64_t)warp->ctaid[1] << 32
			| (uint64_t)warp->ctaid[2] << 48;
		counters[5] = warp->first;
	}
}
